# SPDX-License-Identifier: GPL-2.0
"""/dev/oae and programs that are killed, whatever they are at: each transaction has one end."""

import os
import random
import signal
import threading
import time
from pathlib import Path

import oaedev as dev
import oaewire as oae
from devtest import IN, OUT, Call, OaeFile, TwoEnds, exit_code, in_process
from oaedev import SYS_CLOSE, SYS_FSYNC, SYS_IOCTL, SYS_POLL, SYS_READ, SYS_WRITE
from oaetest import wait_for
from patience import SLOW, times


def blocked_in(pid, number):
    """Wait until a process sleeps in a system call."""
    path = Path(f"/proc/{pid}/syscall")
    wait_for(lambda: path.read_text("ascii").split()[0] == str(number),
             f"{pid} to be in system call {number}")


class Killed(TwoEnds):
    __doc__ = TwoEnds.__doc__
    patience = 90

    def killed_in(self, number, function, *args, ready=None):
        """kill -9 for a child that is blocked in a system call: it dies at once."""
        child = in_process(function, *args)
        blocked_in(child, number)
        if ready:
            wait_for(ready, "it to be so far")
        os.kill(child, signal.SIGKILL)
        begin = time.monotonic()
        self.assertEqual(exit_code(child), -signal.SIGKILL)
        self.assertLess(time.monotonic() - begin, 8 * SLOW)     # linger ends after 10

    def still_works(self):
        """The link does, both ways."""
        a, b = self.at_a(), self.at_b()
        call = Call(b.read)
        a.write(b"still works")
        self.assertEqual(call.result(), b"still works")
        b.write(b"both ways")
        self.assertEqual(a.read(), b"both ways")

    def mine(self):
        """A file of the child's own."""
        return OaeFile.to(self.a, self.cable.mac_b, vc=self.vc)

    def out(self):
        """An offer is out."""
        return (self.a.tag(self.vc) or {}).get("offer") == "out"

    def test_write(self):
        """It is reversed: the sender is gone, the peer never sees it."""
        mend = self.lose(oae.REFLECT, of="b")
        self.killed_in(SYS_WRITE, lambda: self.mine().write(b"never"), ready=self.out)
        wait_for(lambda: not self.out(), "it to be reversed")
        mend()
        self.still_works()

    def test_write_express(self):
        """It may be delivered, once."""
        def child():
            file = self.mine()
            file.set_options(flags=dev.OPT_EXPRESS)
            file.write(b"express")
        a, b = self.opened()
        a.close()
        mend = self.lose(oae.REFLECT, oae.SYNC, oae.SYNC_ACK, oae.SYNC_CHK, of="b")
        self.killed_in(SYS_WRITE, child, ready=self.out)
        mend()
        self.assertEqual(b.read(), b"express")
        b.close()
        self.still_works()

    def test_write_waiting_for_room(self):
        """Nothing of it was taken."""
        self.b.knob("rcvbuf", 4096)
        a, b = self.opened(nonblock=True)
        a.set_options(queue=2)
        while a.poll() & OUT or a.collect():
            try:
                a.write(bytes(2000))
            except BlockingIOError:
                pass
        a.nonblock(False)
        self.killed_in(SYS_WRITE, a.write, b"never")
        b.nonblock(False)
        self.b.knob("rcvbuf", 262144)
        a.collect_all(2)
        a.write(b"last")
        got = b.read()
        while got != b"last":
            self.assertEqual(got, bytes(2000))
            got = b.read()

    def test_read(self):
        """What comes next is there for others."""
        b = self.at_b()
        self.killed_in(SYS_READ, b.read)
        a = self.at_a()
        a.write(b"next")
        self.assertEqual(b.read(), b"next")

    def test_swap(self):
        """Waiting for a partner: the half is gone."""
        self.killed_in(SYS_IOCTL, lambda: self.mine().swap(b"withdrawn"))
        a, b = self.both()
        call = Call(b.swap, b"of b")
        self.assertEqual(a.swap(b"of a"), b"of b")
        self.assertEqual(call.result(), b"of a")

    def test_swap_offered(self):
        """Its half is out, and the answer is lost: both or neither, and the survivor knows."""
        for _ in range(3):
            b = self.at_b()
            before = self.a.stat("committed")
            mend = self.lose(oae.REFLECT)
            call = Call(b.swap, b"of b")
            self.killed_in(SYS_IOCTL, lambda: self.mine().swap(b"of the dead"))
            mend()
            a = self.at_a()
            a.write(b"sync")
            a.fsync()
            swapped = self.a.stat("committed") - before - 1
            if swapped:
                self.assertEqual(call.result(), b"of the dead")
            else:
                self.assertFalse(call.done)
                self.assertEqual(a.swap(b"of another"), b"of b")
                self.assertEqual(call.result(), b"of another")
            b.read()
            a.close()
            b.close()

    def test_swapping(self):
        """A swapper killed at any moment, again and again: what the survivor took was given."""
        b = self.at_b()
        a_before, b_before = self.a.stat("committed"), self.b.stat("committed")
        stop = threading.Event()
        took = []

        def survive():
            n = 0
            while not stop.is_set():
                took.append((n, b.swap(b"b %d" % n)))
                n += 1

        def child(life):
            file = self.mine()
            n = 0
            while True:
                file.swap(b"a %d %d" % (life, n))
                n += 1
        survivor = Call(survive)
        for life in range(times(12)):
            pid = in_process(child, life)
            goal = len(took) + random.randrange(6)
            wait_for(lambda goal=goal: len(took) >= goal, "some swaps")
            os.kill(pid, signal.SIGKILL)
            exit_code(pid)
        stop.set()
        # One may be left that finds no partner; or none, then this one finds none.
        last = in_process(lambda: self.mine().swap(b"last"))
        wait_for(lambda: survivor.done, "the survivor's last half")
        os.kill(last, signal.SIGKILL)
        exit_code(last)
        survivor.result()
        self.assertEqual(self.a.stat("committed") - a_before, self.b.stat("committed") - b_before)
        self.assertEqual(self.b.stat("committed") - b_before, len(took))
        lives = {}
        for _, half in took:
            word = half.split()
            if word[0] == b"a":
                life, n = int(word[1]), int(word[2])
                self.assertEqual(n, lives.get(life, -1) + 1, f"half {n} of life {life}")
                lives[life] = n
        self.assertGreater(len(lives), 3)

    def test_verb(self):
        """Reversed, or done: the word is changed exactly if it was committed."""
        b = self.at_b()
        b.expose(64, 1, 7)
        shown = b.mmap(64)
        for n in range(4):
            before = self.a.stat("committed"), int.from_bytes(shown[:8], "little")
            mend = self.lose(oae.REFLECT if n % 2 else oae.OFFER, of="ba"[n % 2 == 0])
            self.killed_in(SYS_IOCTL, lambda: self.mine().verb(1, dev.add_op(0, 1)),
                           ready=self.out)
            mend()
            a = self.at_a()
            value = a.verb(1, dev.add_op(8, 1)).taken
            self.assertEqual(value, 1)
            a.fsync()
            committed = self.a.stat("committed") - before[0] - 1
            self.assertEqual(int.from_bytes(shown[:8], "little") - before[1], committed)
            a.close()
        shown.close()

    def test_fsync(self):
        """And nothing else."""
        a, b = self.opened()
        mend = self.lose(oae.DONE, oae.SYNC, oae.SYNC_ACK, oae.SYNC_CHK, oae.OFFER, of="b")
        a.write(b"x")
        self.killed_in(SYS_FSYNC, a.fsync)
        mend()
        a.fsync()
        self.assertEqual(b.read(), b"x")

    def test_close(self):
        """A task that is being killed does not wait in close(), nor does it in exit()."""
        for in_close in (True, False):
            mend = self.lose()

            def child(in_close=in_close):
                file = self.mine()
                file.set_options(linger_ms=60000)
                file.nonblock()
                file.write(b"never")
                if in_close:
                    os.close(file.fd)
                else:
                    time.sleep(60)
            before = self.a.stat("posted")
            pid = in_process(child)
            if in_close:
                blocked_in(pid, SYS_CLOSE)
            else:
                wait_for(lambda before=before: self.a.stat("posted") > before, "it to be queued")
            os.kill(pid, signal.SIGKILL)
            begin = time.monotonic()
            self.assertEqual(exit_code(pid), -signal.SIGKILL)
            self.assertLess(time.monotonic() - begin, 8 * SLOW)     # linger ends after 10
            mend()
        self.b.knob("rcvbuf", 262144)
        a, b = self.both()
        a.write(b"after")
        got = b.read()
        while got != b"after":
            self.assertEqual(got, b"never")     # it may have been left to go on
            got = b.read()

    def test_poll(self):
        """And nothing else."""
        b = self.at_b()
        self.killed_in(SYS_POLL, lambda: b.poll(60, IN))
        self.still_works()
