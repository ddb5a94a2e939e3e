# SPDX-License-Identifier: GPL-2.0
"""liboae and the Python module over /dev/oae: every function of theirs, and what it says.

Build first: make -C tests/lib programs.

    n1 e1 ---- e2 n2            jumbo frames, so that halves are large
"""

import asyncio
import copy
import errno
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time

import oaedev
from oaetest import REPO, wait_for
from patience import SLOW

sys.path.insert(0, str(REPO / "lib"))
import oae      # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order
from shared import Shared
from topology import OneCable

PROGRAM = REPO / "build" / "lib-test" / "test_device"
REGION = 7
ALL = oae.Perm.READ | oae.Perm.WRITE | oae.Perm.ATOMIC


class Thread(threading.Thread):
    """A call in a thread; join() gives what it returned, or raises what it raised."""

    def __init__(self, function, *args):
        super().__init__(daemon=True)
        self._call, self._value, self._error = (function, args), None, None
        self.start()

    def run(self):
        function, args = self._call
        try:
            self._value = function(*args)
        except OSError as error:
            self._error = error

    def join(self, timeout=10.0):
        super().join(timeout * SLOW)
        if self.is_alive():
            raise AssertionError(f"not within {timeout} s: {self._call}")
        if self._error:
            raise self._error
        return self._value


class LibTest(Shared, OneCable):
    """Two hosts; each test has a vc of its own."""

    vc = 100
    names, devices = ("n1", "n2"), ("e1", "e2")
    mtu = 9000

    @classmethod
    def build(cls):
        oaedev.node()
        super().build()

    def setUp(self):
        super().setUp()
        LibTest.vc += 1

    def link(self, host, **options):
        """An end of this test's link, at n1 or n2."""
        peer = self.cable.mac_b if host is self.n1 else self.cable.mac_a
        with host:
            link = oae.Link(peer, self.vc, **options)
        self.addCleanup(link.close)
        return link

    def ends(self, **options):
        """Both."""
        return self.link(self.n1, **options), self.link(self.n2, **options)

    def lose(self, percent):
        """So many of the frames that come are dropped at both ends."""
        for host in self.n1, self.n2:
            host.knob("drop_pct", percent)

    def cut(self):
        """Cut the cable, n1 giving up soon: what mends it."""
        self.addCleanup(self.cable.mend)
        usual = self.n1.knob("dead_ms")
        self.addCleanup(self.n1.knob, "dead_ms", usual)
        self.n1.knob("dead_ms", 500)
        self.cable.cut()

        def mend():
            self.n1.knob("dead_ms", usual)
            self.cable.mend()
        return mend


class C(LibTest):
    """The library, by a program that is both ends."""

    def test_functions(self):
        done = subprocess.run([PROGRAM, "/run/netns/n1", self.cable.mac_a, "/run/netns/n2",
                               self.cable.mac_b], text=True, check=False, timeout=50 * SLOW,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("9 test(s) run", done.stdout)


class Messages(LibTest):
    """Sending, receiving, outcomes."""

    def test_send(self):
        a, b = self.ends()
        a.send(b"hello")
        self.assertEqual(b.recv(), b"hello")
        b.send(b"in ", bytearray(b"three "), memoryview(b"pieces"))
        self.assertEqual(a.recv_size(), 15)
        self.assertEqual(a.recv(), b"in three pieces")
        self.assertEqual(a.recv_size(), 0)
        a.confirm()
        self.assertRaises(ValueError, a.queue, b"x")
        for nothing in ([], [b""]):
            self.assert_errno(errno.EINVAL, a.send, *nothing)

    def test_take(self):
        """What was received goes back with the link, unless it is done."""
        a, b = self.ends()
        other = self.link(self.n2, take=True)
        self.assertTrue(other.options().take)
        self.assertFalse(b.options().take)
        for job in (b"1", b"2"):
            a.send(job)
        self.assertEqual(other.recv(), b"1")
        other.done()
        self.assertRaises(FileNotFoundError, other.done)
        self.assertEqual(other.recv(), b"2")
        other.close()
        self.assertEqual(b.recv(), b"2")

    def test_large(self):
        """Larger than recv() first thinks."""
        self.set(self.n1, max_len=200000)
        self.set(self.n2, max_len=200000)
        a, b = self.ends()
        data = os.urandom(190000)
        a.send(data)
        self.assertEqual(b.recv(), data)

    def test_queue(self):
        a, b = self.ends(blocking=False)
        self.assertRaises(ValueError, a.send, b"x")
        self.assertRaises(BlockingIOError, b.recv)
        self.assertEqual(a.set_options(queue=4).queue, 4)
        numbers = [a.queue(b"%d" % n) for n in range(4)]
        self.assertEqual(numbers, [1, 2, 3, 4])
        self.assertRaises(BlockingIOError, a.queue, b"x")
        outcomes = []
        while len(outcomes) < 4:
            self.assertTrue(a.wait(10))
            a.events()
            outcomes += a.collect(most=3)
        self.assertEqual([o.id for o in outcomes], numbers)
        for o in outcomes:
            self.assertTrue(o.committed)
            self.assertEqual((o.kind, o.err, o.half, o.verb), (oae.Kind.MESSAGE, 0, None, None))
            self.assertIs(o.check(), o)
        got = []
        while len(got) < 4:
            select.select([b], [], [], 10)
            got.append(b.recv())
        self.assertEqual(got, [b"0", b"1", b"2", b"3"])
        self.assertFalse(a.wait(0))

    def test_reversed(self):
        """A deadline on a cable that is cut; and what was posted behind is posted again."""
        a, b = self.ends()
        a.send(b"x")
        mend = self.cut()
        a.set_options(deadline_ms=50)
        with self.assertRaises(oae.Reversed) as caught:
            a.send(b"never")
        self.assertEqual(caught.exception.errno, errno.ETIME)
        self.assertEqual(caught.exception.why, "the deadline passed")
        self.assertIs(caught.exception.waits.why, oae.Why.PORT)
        self.assertRegex(str(caught.exception),
                         r"the deadline passed; the port here is down since 0\.\d s, given up in ")
        a.set_options(deadline_ms=0)
        with self.assertRaises(oae.Reversed) as caught:
            a.send(b"never")
        self.assertEqual(caught.exception.errno, errno.ENOLINK)
        self.assertIs(caught.exception.waits.why, oae.Why.PORT)
        self.assertIs(a.waits().why, oae.Why.PORT)
        self.assertEqual(a.waits(last=True), caught.exception.waits)
        mend()
        a.send(b"y")
        self.assertEqual((b.recv(), b.recv()), (b"x", b"y"))

    def test_pending_and_unknown(self):
        """An express on its way when its peer's end dies: nobody can tell."""
        a, b = self.ends(express=True)
        self.assertTrue(a.options().express)
        a.set_options(deadline_ms=200)
        self.addCleanup(self.lose, 0)
        number = self._on_its_way(a, b)
        self.assertEqual(a.collect(), [])
        with self.assertRaises(oae.Pending):
            a.cancel(number)
        b.close()
        self.n2.knob("dev", "-e2")      # its links are gone
        self.n2.knob("dev", "+e2")
        self.lose(0)
        b = self.link(self.n2)
        wait_for(lambda: a.status().uncollected, "the outcome")
        outcome, = a.collect()
        self.assertEqual((outcome.id, outcome.ending), (number, oae.Ending.UNKNOWN))
        self.assertEqual(outcome.err, errno.EOWNERDEAD)
        self.assertRaises(oae.Unknown, outcome.check)
        self.assertIn(oae.Event.PEER_NEW, a.events())
        a.send(b"new")
        self.assertEqual(b.recv(), b"new")

    def _on_its_way(self, a, b):
        """Leave an express in flight; its number. A link that is just healing takes another try."""
        for _ in range(50):
            self.lose(0)
            a.send(b"x")
            self.assertEqual(b.recv(), b"x")
            number = a.status().next_id
            self.lose(100)
            try:
                a.send(b"?")
            except oae.Pending as error:
                self.assertEqual(error.errno, errno.EINPROGRESS)
                return number
            except oae.Reversed:
                continue
        return self.fail("never on its way")

    def test_port_gone(self):
        a, b = self.ends()
        a.send(b"last")
        self.n2.knob("dev", "-e2")
        self.addCleanup(self.n2.knob, "dev", "+e2")
        self.assertEqual(list(b), [b"last"])
        with self.assertRaises(OSError) as caught:
            b.send(b"x")
        self.assertEqual(caught.exception.errno, errno.ENODEV)
        self.assertIn(oae.Flag.DEAD, b.status().flags)
        self.assertIn(oae.Event.DEAD, b.events())

    def test_interrupted(self):
        """A signal whose handler raises reverses; one whose handler returns does not show."""
        a, b = self.ends()
        hits = []

        def handler(*unused):
            hits.append(1)
            if len(hits) == 2:
                raise KeyboardInterrupt
        old = signal.signal(signal.SIGUSR2, handler)
        self.addCleanup(signal.signal, signal.SIGUSR2, old)
        main = threading.main_thread().ident

        def disturb():
            for count in (1, 2):
                wait_for(lambda: oae.Flag.HALF in a.status().flags, "the half to be there")
                signal.pthread_kill(main, signal.SIGUSR2)
                wait_for(lambda count=count: len(hits) >= count, "the signal")
        thread = Thread(disturb)
        self.assertRaises(KeyboardInterrupt, a.swap, b"mine")
        thread.join()
        self.assertNotIn(oae.Flag.HALF, a.status().flags)
        # so the next half of the peer meets nobody
        b.set_options(deadline_ms=50)
        self.assertRaises(oae.Reversed, b.swap, b"yours")


    def test_moment(self):
        """A deadline is a moment: signals whose handlers return do not put it off."""
        a, _b = self.ends()
        a.send(b"x")
        self.addCleanup(self.lose, 0)
        self.lose(100)
        a.set_options(deadline_ms=200)
        old = signal.signal(signal.SIGALRM, lambda *_: None)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        for call in (lambda: a.send(b"never"), lambda: a.swap(b"never"), lambda: a.fetch_add(1, 0)):
            began = time.monotonic()
            with self.assertRaises(oae.Reversed) as caught:
                call()
            self.assertEqual(caught.exception.errno, errno.ETIME)
            self.assertGreaterEqual(time.monotonic() - began, 0.2)
            self.assertEqual(a.options().deadline_ms, 200)


class Listening(LibTest):
    """Peers that come."""

    def test_accept(self):
        with self.n2:
            listener = oae.Listener(blocking=False)
        self.addCleanup(listener.close)
        try:
            while True:
                listener.next_peer()        # of the tests before
        except BlockingIOError:
            pass
        a = self.link(self.n1, now=True)
        self.assertEqual(select.select([listener], [], [], 10)[0], [listener])
        with self.n2, listener.accept() as b:
            status = b.status()
            self.assertEqual((status.peer, status.vc, status.port),
                             (self.cable.mac_a, self.vc, "e2"))
            b.send(b"hello")
        self.assertEqual(a.recv(), b"hello")

    def test_one_peer(self):
        """A listener for one vc is told of that, by its names."""
        with self.n2:
            listener = oae.Listener(self.cable.mac_a, self.vc, "e2")
        self.addCleanup(listener.close)
        self.link(self.n1, now=True)
        peer = next(iter(listener))
        self.assertEqual(peer, oae.Peer(self.cable.mac_a, self.vc, "e2"))
        self.assertRaises(OSError, listener.local().read(0).commit)

    def test_words(self):
        """What a listener exposes is for all it listens for."""
        with self.n2:
            listener = oae.Listener(vc=self.vc)
        self.addCleanup(listener.close)
        words = listener.expose(REGION, 64, oae.Perm.READ)
        listener.local().write(8, 5).commit()
        self.assertEqual(words[1], 5)
        self.assertEqual(self.link(self.n1).read(REGION, 8), 5)


class Swaps(LibTest):
    """Halves."""

    def test_swap(self):
        a, b = self.ends()
        thread = Thread(a.swap, b"a's")
        self.assertEqual(b.swap(b"b's"), b"a's")
        self.assertEqual(thread.join(), b"b's")

    def test_queued(self):
        a, b = self.ends(blocking=False)
        self.assertRaises(ValueError, a.swap, b"x")
        half = os.urandom(8000)
        b.queue(b"open it")
        wait_for(lambda: b.status().max_half >= 8000, "an open link")
        self.assertEqual(a.queue_swap(b"one"), 1)
        self.assertEqual(a.queue_swap(b"two"), 2)
        b.queue_swap(half)
        b.queue_swap(b"2nd")
        outcomes = []
        while len(outcomes) < 2:
            a.wait(10)
            a.events()
            outcomes += a.collect()
        self.assertEqual([o.half for o in outcomes], [half, b"2nd"])
        self.assertEqual([o.kind for o in outcomes], [oae.Kind.SWAP] * 2)

    def test_cancel(self):
        a, b = self.ends()
        number = a.queue_swap(b"nobody's")
        a.cancel(number)
        outcome, = a.collect()
        self.assertEqual((outcome.id, outcome.ending, outcome.err),
                         (number, oae.Ending.REVERSED, errno.ECANCELED))
        self.assertIsNone(outcome.half)
        with self.assertRaises(oae.Reversed) as caught:
            outcome.check()
        self.assertEqual(caught.exception.why, "cancelled")
        self.assertRaises(FileNotFoundError, a.cancel, number)
        del b


class Verbs(LibTest):
    """Words."""

    def setUp(self):
        super().setUp()
        self.a, self.b = self.ends()
        self.words = self.b.expose(REGION, 4096, ALL)

    def test_one_each(self):
        a, words = self.a, self.words
        self.assertEqual(len(words), 512)
        a.write(REGION, 8, 5)
        self.assertEqual(words[1], 5)
        self.assertEqual(a.exchange(REGION, 8, 7), 5)
        self.assertEqual(a.fetch_add(REGION, 8, -1), 7)
        self.assertEqual(a.read(REGION, 8), 6)
        self.assertEqual(a.cas(REGION, 8, 5, 1), (False, 6))
        self.assertEqual(a.cas(REGION, 8, 6, 1), (True, 6))
        a.write(REGION, 64, range(8))
        self.assertEqual(a.read_words(REGION, 64, 8), tuple(range(8)))
        self.assertEqual(a.compare_and_commit(REGION, 64, [0] * 8, [9] * 8),
                         (False, tuple(range(8))))
        self.assertEqual(a.compare_and_commit(REGION, 64, range(8), [9] * 8),
                         (True, tuple(range(8))))
        self.assertEqual(list(words[8:16]), [9] * 8)
        self.assertEqual(a.fetch_add(REGION, 8, -1), 1)
        self.assertEqual(a.fetch_add(REGION, 8, -1), 0)
        self.assertEqual(words[1], (1 << 64) - 1)

    def test_several(self):
        verb = self.a.verb(REGION).fetch_add(0, 3).write(8, 4).cas(16, [0, 0], [1, 2]).read(24)
        result = verb.commit()
        self.assertTrue(result)
        self.assertEqual(result, oae.VerbResult(True, None, [(0,), (), (0, 0), (2,)]))
        # again: the words are others now, so nothing is done
        result = verb.commit()
        self.assertFalse(result)
        self.assertEqual((result.failed, result.old[0], result.old[2]), (2, (3,), (1, 2)))
        self.assertEqual(list(self.words[:4]), [3, 4, 1, 2])

    def test_queued(self):
        verb = self.a.verb(REGION).fetch_add(0).write(8, 1).read(0, 2)
        numbers = [verb.queue() for _ in range(10)]
        self.assertEqual(numbers, list(range(1, 11)))
        wait_for(lambda: self.a.status().uncollected == 10, "ten outcomes")
        for n, outcome in enumerate(self.a.collect()):
            self.assertEqual(outcome.verb.old, [(n,), (), (n + 1, 1)])
            self.assertEqual(outcome.kind, oae.Kind.VERB)

    def test_refused(self):
        a = self.a
        self.assertRaisesRegex(oae.Reversed, "no such region", a.read, REGION + 1, 0)
        self.assertRaisesRegex(oae.Reversed, "behind the end", a.read, REGION, 4096)
        self.assertRaises(OSError, a.read, REGION, 4)
        self.assertRaises(OSError, self.b.expose, REGION + 1, 8, ALL)
        with self.assertRaises(OSError) as caught:
            a.expose(REGION, 12, ALL)
        self.assertEqual(caught.exception.errno, errno.EINVAL)
        a.expose(REGION, 8, oae.Perm.READ)      # n1 has numbers of its own
        self.assertRaisesRegex(oae.Reversed, "does not permit", self.b.write, REGION, 0, 1)

    def test_local(self):
        b = self.b
        self.assertEqual(b.local().fetch_add(0, 5).commit().old, [(0,)])
        self.assertEqual(self.a.fetch_add(REGION, 0, 5), 5)
        self.assertEqual(b.local().read(0).commit(patience=1).old, [(10,)])
        self.assertRaises(ValueError, b.local().read(0).queue)

    def test_reserved(self):
        """Words of a transaction that is not decided: EAGAIN here, and patience helps."""
        self.a.write(REGION, 0, 1)
        # n1 hears nothing, so it does not commit; n2 holds the words for it.
        self.set(self.n1, wkstep=1)
        self.a.verb(REGION).fetch_add(0).queue()

        def reserved():
            try:
                self.b.local().read(0).commit()
            except BlockingIOError:
                return True
            return False
        wait_for(reserved, "a reserved word")
        with self.assertRaises(BlockingIOError):
            self.b.local().write(0, 7).commit(patience=0.05)
        self.assertEqual(self.words[0], 1)
        self.n1.knob("wkstep", 0)
        wait_for(lambda: self.words[0] == 2, "the addition", 20)
        self.assertEqual(self.b.local().read(0).commit(patience=10).old, [(2,)])
        outcome = wait_for(self.a.collect, "its outcome")[0]
        self.assertEqual(outcome.check().verb.old, [(1,)])

    def test_close(self):
        """A slice of the view that is still about is an error, and the region stays till then."""
        part = self.words[2:4]
        self.assertRaises(BufferError, self.b.close)
        part.release()
        self.b.close()
        self.assertRaises(oae.Reversed, self.a.read, REGION, 0)


class Waiting(LibTest):
    """Files, statuses, events."""

    def test_status(self):
        a, b = self.ends()
        a.send(b"x")
        b.recv()
        status = a.status()
        self.assertEqual((status.port, status.peer, status.vc), ("e1", self.cable.mac_b, self.vc))
        self.assertEqual((status.state, status.committed, status.next_id), (oae.State.OPEN, 1, 2))
        self.assertEqual(status.flags, oae.Flag(0))
        # a status does not take them from events()
        self.assertIn(oae.Event.UP, status.events)
        self.assertIn(oae.Event.UP, a.events())
        self.assertEqual(a.events(), oae.Event(0))

    def test_events(self):
        a, b = self.ends()
        a.send(b"x")
        a.events()
        mend = self.cut()
        self.assertRaises(oae.Reversed, a.send, b"y")
        self.assertIn(oae.Event.DOWN, a.events())
        self.assertIn(oae.Flag.DOWN, a.status().flags)
        mend()
        a.send(b"z")
        self.assertIn(oae.Event.UP, a.events())
        self.assertEqual((b.recv(), b.recv()), (b"x", b"z"))

    def test_options(self):
        a, _b = self.ends()
        default = a.options()
        self.assertEqual((default.express, default.deadline_ms, default.linger_ms),
                         (False, 0, oae.LINGER_BACKGROUND))
        changed = a.set_options(express=True, linger_ms=5, queue_bytes=100000)
        self.assertEqual(a.options(), changed)
        self.assertEqual((changed.queue, changed.linger_ms), (default.queue, 5))
        self.assertRaises(TypeError, a.set_options, nonsense=1)

    def test_from_fd(self):
        a, b = self.ends()
        with oae.Link.from_fd(os.dup(a.fileno())) as copy:
            copy.send(b"1")
        a.send(b"2")
        self.assertEqual((b.recv(), b.recv()), (b"1", b"2"))
        fd = a.detach()
        a.close()
        os.write(fd, b"3")
        os.close(fd)
        self.assertEqual(b.recv(), b"3")

    def test_asyncio(self):
        """A link is readable to an event loop, and so are its outcomes."""
        a, b = self.ends(blocking=False)

        async def main():
            loop, got, ended = asyncio.get_running_loop(), asyncio.Queue(), asyncio.Queue()
            loop.add_reader(b, lambda: got.put_nowait(b.recv()))

            def outcomes():
                a.events()
                for outcome in a.collect():
                    ended.put_nowait(outcome)
            loop.add_reader(a.outcomes_fileno(), outcomes)
            a.queue(b"one")
            a.queue(b"two")
            messages = [await got.get(), await got.get()]
            numbers = [(await ended.get()).id, (await ended.get()).id]
            loop.remove_reader(b)
            loop.remove_reader(a.outcomes_fileno())
            return messages, numbers
        self.assertEqual(asyncio.run(asyncio.wait_for(main(), 20)), ([b"one", b"two"], [1, 2]))

    def test_waiting_ends(self):
        """collect() takes what wakes: nobody spins, and no event is lost."""
        a, b = self.ends(blocking=False)
        a.queue(b"x")
        heard = []
        wait_for(lambda: heard or (a.wait(10) and heard.extend(a.collect())) or heard, "the outcome")
        wait_for(lambda: not (a.wait(0) and a.collect() == []) and not a.wait(0), "it to be quiet")
        self.assertIn(oae.Event.UP, a.events())
        b.close()

    def test_one_owner(self):
        """A descriptor is not copied, and one that is forgotten is said."""
        a, _b = self.ends()
        for function in copy.copy, copy.deepcopy, pickle.dumps:
            self.assertRaises(TypeError, function, a)
        self.assertRaises(ValueError, oae.Link, self.cable.mac_b, 300)
        self.assertRaises(ValueError, oae.Link, self.cable.mac_b, 0, "p" * 16)
        with self.assertWarns(ResourceWarning), self.n1:
            oae.Link(self.cable.mac_b, self.vc).__del__()

    def test_not_there(self):
        """Errors of opening are in words."""
        with self.n1:
            with self.assertRaisesRegex(OSError, "no such port"):
                oae.Link(self.cable.mac_b, port="none")
            self.assertRaises(ValueError, oae.Link, "nonsense")
        before = len(os.listdir("/proc/self/fd"))
        with self.n1:
            self.assertRaises(OSError, oae.Link, bytes(6))
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)
