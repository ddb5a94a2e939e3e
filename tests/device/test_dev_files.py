# SPDX-License-Identifier: GPL-2.0
"""/dev/oae as a file: polling, sharing, closing, moving, permissions, listening."""

import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import oaedev as dev
import oaewire as oae
from devpump import compile_c
from devtest import HUP, IN, OUT, PRI, Call, OaeFile, TwoEnds, exit_code, in_process
from oaetest import LIBC, Cable, Host, run, unload, wait_for
from patience import SLOW

CLONE_NEWUSER = 0x10000000


class Polling(TwoEnds):
    __doc__ = TwoEnds.__doc__

    def test_masks(self):
        """What poll() says, at each moment of a link's life."""
        fresh = self.later(OaeFile(self.a))
        self.assertFalse(fresh.poll() & (IN | OUT | PRI))
        a, b = self.opened(nonblock=True)
        a.status()
        b.status()
        self.assertEqual(a.poll() & (IN | OUT | PRI | HUP), OUT)
        a.write(b"x")
        wait_for(lambda: a.poll() & PRI, "an outcome")
        wait_for(lambda: b.poll() & IN, "it to come")
        self.assertEqual(a.poll() & (IN | OUT | PRI | HUP), OUT | PRI)
        self.assertEqual(b.poll() & (IN | OUT | PRI | HUP), IN | OUT)
        a.collect()
        b.read()
        self.assertEqual([f.poll() & (IN | OUT | PRI | HUP) for f in (a, b)], [OUT, OUT])

    def waiting(self, wait):
        """wait(fd) in a thread is woken by what comes; the result."""
        a, b = self.opened()
        call = Call(wait, b.fd)
        a.write(b"wake up")
        found = call.result()
        self.assertEqual(b.read(), b"wake up")
        return found

    def test_poll_wakes(self):
        """poll()"""
        def wait(fd):
            p = select.poll()
            p.register(fd, select.POLLIN)
            return p.poll(10000)
        self.assertTrue(self.waiting(wait)[0][1] & IN)

    def test_select_wakes(self):
        """select()"""
        found = self.waiting(lambda fd: select.select([fd], [], [], 10))
        self.assertEqual(len(found[0]), 1)

    def test_epoll_wakes(self):
        """epoll"""
        def wait(fd):
            with select.epoll() as p:
                p.register(fd, select.EPOLLIN)
                return p.poll(10)
        self.assertTrue(self.waiting(wait)[0][1] & IN)

    def test_select_outcomes(self):
        """select() has outcomes and events as exceptional conditions."""
        a, _ = self.opened(nonblock=True)
        a.status()
        call = Call(select.select, [], [], [a.fd], 10)
        a.write(b"x")
        self.assertEqual(call.result()[2], [a.fd])

    def test_epoll_edge(self):
        """Edge-triggered: told when something comes, and not again until more does."""
        a, b = self.opened()
        a.status()
        b.status()
        with select.epoll() as p:
            p.register(b.fd, select.EPOLLIN | select.EPOLLET)
            for n in range(5):
                a.write(b"%d" % n)
                a.fsync()
                self.assertEqual(len(p.poll(5)), 1)
                self.assertEqual(p.poll(0), [])
            self.assertEqual(b.read_each(), [b"%d" % n for n in range(5)])
            self.assertEqual(p.poll(0), [])
            a.write(b"more")
            self.assertEqual(len(p.poll(5)), 1)
            self.assertEqual(b.read(), b"more")

    def test_epoll_room(self):
        """Edge-triggered: told when there is room again."""
        self.b.knob("rcvbuf", 4096)
        a, b = self.opened(nonblock=True)
        a.set_options(queue=4)
        count = 0
        with select.epoll() as p:
            p.register(a.fd, select.EPOLLOUT | select.EPOLLET)
            self.assertEqual(len(p.poll(5)), 1)
            while a.poll() & OUT or a.collect():
                try:
                    count += a.write(bytes(3000)) > 0
                except BlockingIOError:
                    pass
            while p.poll(0):
                pass
            while b.unread():
                b.read()
            wait_for(lambda: a.collect(), "an outcome")
            self.assertTrue(p.poll(5))
            self.assertTrue(a.poll() & OUT)
        self.assertGreater(count, 4)

    def test_io_uring(self):
        """Reads that wait, writes, polls, fsync, chains of them, and taking one back."""
        a, b = self.opened()
        program = compile_c("devuring", "device/devuring.c")
        done = subprocess.run([program, str(a.fd), str(b.fd)], pass_fds=(a.fd, b.fd), text=True,
                              capture_output=True, timeout=40 * SLOW, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Sharing(TwoEnds):
    __doc__ = TwoEnds.__doc__

    def test_fork(self):
        """Parent and child share the file: options, numbers, outcomes; it closes with the last."""
        a, b = self.opened()

        def child():
            a.set_options(deadline_ms=4321)
            a.nonblock()
            return 0 if a.write(b"of the child") == 12 else 1
        self.assertEqual(exit_code(in_process(child)), 0)
        self.assertEqual(a.options().deadline_ms, 4321)
        self.assertEqual([o.id for o in a.collect_all(1)], [2])
        self.assertEqual(b.read() if b.poll(5) & IN else b"", b"of the child")
        a.nonblock(False)
        a.write(b"of the parent")
        self.assertEqual(b.read(), b"of the parent")
        self.assertEqual(a.status().next_id, 4)

    def test_dup(self):
        """Likewise; closing one of two is not closing."""
        a, b = self.opened()
        other = os.dup(a.fd)
        os.write(other, b"one")
        a.nonblock()
        self.assertTrue(fcntl.fcntl(other, fcntl.F_GETFL) & os.O_NONBLOCK)
        a.write(b"two")
        os.close(other)
        self.assertEqual([o.id for o in a.collect_all(1)], [3])
        self.assertEqual([b.read(), b.read()], [b"one", b"two"])

    def test_threads(self):
        """Many threads on one file at each end: each transaction once, each told its outcome."""
        a, b = self.opened()
        writers = [Call(lambda t=t: [a.write(b"%d %d" % (t, n)) for n in range(25)])
                   for t in range(8)]
        readers = [Call(lambda: [b.read() for _ in range(40)]) for _ in range(5)]
        got = [reader.result(30) for reader in readers]
        self.assertEqual([len(writer.result()) for writer in writers], [25] * 8)
        found = sorted(tuple(map(int, g.split())) for some in got for g in some)
        self.assertEqual(found, [(t, n) for t in range(8) for n in range(25)])
        for some in got:
            last = {}
            for g in some:
                t, n = map(int, g.split())
                self.assertGreater(n, last.get(t, -1))
                last[t] = n

    def test_many_files_on_one_tag(self):
        """Each is told its own outcomes; what comes goes to whoever reads."""
        a_files = [self.at_a(nonblock=True) for _ in range(12)]
        b = self.at_b()
        for n, file in enumerate(a_files):
            for k in range(5 + n):
                file.write(b"%d %d" % (n, k))
        total = sum(5 + n for n in range(12))
        got = [tuple(map(int, b.read().split())) for _ in range(total)]
        for n, file in enumerate(a_files):
            self.assertEqual([o.id for o in file.collect_all(5 + n)],
                             list(range(1, 6 + n)))
            self.assertEqual([k for m, k in got if m == n], list(range(5 + n)))
        self.assertEqual(a_files[0].status().committed, total)

    def test_swaps_of_many_files(self):
        """Halves of several files at each end: each takes what was given to it, once."""
        a_files = [self.at_a() for _ in range(4)]
        b_files = [self.at_b() for _ in range(4)]
        calls = {}
        for side, files in ((b"a", a_files), (b"b", b_files)):
            for n, file in enumerate(files):
                give = [b"%s %d %d" % (side, n, k) for k in range(15)]
                calls[side, n] = (give, Call(lambda f=file, g=give: [f.swap(h) for h in g]))
        took = {}
        for give, call in calls.values():
            took.update(zip(give, call.result(30)))
        self.assertEqual(len(took), 120)
        for given, taken in took.items():
            self.assertEqual(took[taken], given)

    def test_two_processes_read(self):
        """Each transaction goes to one of them, and each sees what it gets in order."""
        a, b = self.opened()
        end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

        def child():
            got = []
            while True:
                data = b.read()
                if data == b"end":
                    break
                got.append(data)
            end[1].send(b" ".join(got) + b" .")
            return 0
        children = [in_process(child) for _ in range(2)]
        for n in range(150):
            a.write(b"%d" % n)
        a.write(b"end")
        a.write(b"end")
        self.assertEqual([exit_code(child) for child in children], [0, 0])
        lists = [[int(w) for w in end[0].recv(65536).split()[:-1]] for _ in range(2)]
        for sock in end:
            sock.close()
        self.assertEqual(sorted(lists[0] + lists[1]), list(range(150)))
        for some in lists:
            self.assertEqual(some, sorted(some))


class Closing(TwoEnds):
    __doc__ = TwoEnds.__doc__

    def test_background(self):
        """The default: what is queued goes on without the file."""
        a, b = self.opened(nonblock=True)
        for n in range(30):
            a.write(b"%d" % n)
        a.close()
        b.nonblock(False)
        self.assertEqual([b.read() for _ in range(30)], [b"%d" % n for n in range(30)])

    def test_background_nobody_there(self):
        """The same when the peer is back only later; the links closes in the end."""
        a, b = self.opened(nonblock=True)
        mend = self.lose()
        for n in range(5):
            a.write(b"%d" % n)
        begin = time.monotonic()
        a.close()
        self.assertLess(time.monotonic() - begin, 8 * SLOW)     # linger ends after 10
        mend()
        b.nonblock(False)
        self.assertEqual([b.read() for _ in range(5)], [b"%d" % n for n in range(5)])

    def test_not_at_all(self):
        """linger_ms 0: what is queued is reversed, and never delivered."""
        a, b = self.opened(nonblock=True)
        a.set_options(linger_ms=0)
        before = self.a.stats()
        mend = self.lose()
        for n in range(5):
            a.write(b"%d" % n)
        a.close()
        wait_for(lambda: self.a.stat("reversed") - before["reversed"] == 5, "all to be reversed")
        mend()
        c = self.at_a()
        c.write(b"after")
        b.nonblock(False)
        self.assertEqual(b.read(), b"after")
        self.assertEqual(self.a.stat("committed") - before["committed"], 1)

    def test_for_a_while(self):
        """linger_ms: waits as long, and no longer than it takes."""
        for lost in (False, True):
            a, b = self.at_a(vc=self.vc + 100 + lost), self.at_b(vc=self.vc + 100 + lost)
            a.write(b"open")
            b.read()
            a.set_options(linger_ms=400 if lost else 20000)
            a.nonblock()
            if lost:
                mend = self.lose()
            for n in range(10):
                a.write(b"%d" % n)
            begin = time.monotonic()
            a.close()
            seconds = time.monotonic() - begin
            if lost:
                mend()
                self.assertGreater(seconds, 0.35)
                self.assertLess(seconds, 8 * SLOW)
                c = self.at_a(vc=self.vc + 101)
                c.write(b"after")
                self.assertEqual(b.read(), b"after")
            else:
                self.assertLess(seconds, 8 * SLOW)
                self.assertEqual([b.read() for _ in range(10)], [b"%d" % n for n in range(10)])

    def test_not_for_ever(self):
        """However long linger_ms: whoever was passed the file waits for 10 s in its close()."""
        a, _ = self.opened(nonblock=True)
        self.a.knob("dead_ms", 600000)
        a.set_options(linger_ms=3600000)
        mend = self.lose()
        a.write(b"never")
        ours, theirs = socket.socketpair()

        def child():
            _, fds, _, _ = socket.recv_fds(theirs, 1, 1)
            os.close(a.fd)
            theirs.recv(1)      # nobody else has the file any more
            begin = time.monotonic()
            os.close(fds[0])
            return 0 if time.monotonic() - begin > 9 else 1
        pid = in_process(child)
        socket.send_fds(ours, [b"."], [a.fd])
        a.close()
        before = self.a.stat("reversed")
        ours.send(b".")
        self.assertEqual(exit_code(pid), 0)
        self.assertEqual(self.a.stat("reversed") - before, 1)
        for sock in (ours, theirs):
            sock.close()
        mend()

    def test_passed_and_killed(self):
        """A process that ends does not wait, whether it has the file, or was sent it only."""
        for received in (True, False):
            a = self.at_a(nonblock=True)
            a.set_options(linger_ms=3600000)
            mend = self.lose()
            a.write(b"never")
            ours, theirs = socket.socketpair()
            ready = os.pipe()

            def child(a=a, theirs=theirs, received=received, ready=ready):
                if received:
                    socket.recv_fds(theirs, 1, 1)
                os.close(a.fd)
                os.write(ready[1], b".")
                signal.pause()
            pid = in_process(child)
            socket.send_fds(ours, [b"."], [a.fd])
            os.read(ready[0], 1)
            theirs.close()
            a.close()
            before = self.a.stat("reversed")
            begin = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            self.assertEqual(exit_code(pid), -signal.SIGKILL)
            ours.close()
            wait_for(lambda before=before: self.a.stat("reversed") - before == 1,
                     "it to be reversed", 8)
            self.assertLess(time.monotonic() - begin, 8 * SLOW)
            for fd in ready:
                os.close(fd)
            mend()

    def test_express_in_flight(self):
        """One that is out is recalled, too late if it was delivered: then once."""
        a, b = self.opened(nonblock=True)
        a.set_options(flags=dev.OPT_EXPRESS, linger_ms=0)
        mend = self.lose(oae.REFLECT, oae.SYNC, oae.SYNC_ACK, oae.SYNC_CHK, of="b")
        a.write(b"express")
        wait_for(lambda: self.a.tag(self.vc)["offer"] == "out", "it to be out")
        a.close()
        mend()
        b.nonblock(False)
        self.assertEqual(b.read(), b"express")
        wait_for(lambda: self.a.tag(self.vc)["offer"] == "-", "its outcome")
        self.assertEqual(b.unread(), 0)

    def test_halves(self):
        """A half that is not lent is cancelled, whatever the linger setting."""
        for linger in (dev.LINGER_BACKGROUND, 0, 100):
            a, b = self.at_a(), self.at_b()
            a.set_options(linger_ms=linger)
            a.swap(b"withdrawn", flags=dev.NONBLOCK)
            a.close()
            b.swap(b"of b", flags=dev.NONBLOCK)
            c = self.at_a()
            self.assertEqual(c.swap(b"of c"), b"of b")
            self.assertEqual([o.data for o in b.collect_all(1)], [b"of c"])
            b.close()
            c.close()

    def test_exit(self):
        """A program that ends with data queued."""
        a, b = self.opened()

        def child():
            mine = OaeFile.to(self.a, self.cable.mac_b, vc=self.vc, nonblock=True)
            for n in range(20):
                mine.write(b"%d" % n)
            return 0
        self.assertEqual(exit_code(in_process(child)), 0)
        self.assertEqual([b.read() for _ in range(20)], [b"%d" % n for n in range(20)])
        self.assertEqual(a.collect(), [])

    def test_region(self):
        """Its region goes with the file, and not before its mappings do."""
        a, b = self.opened()
        b.expose(4096, 1, 7)
        shown = b.mmap(4096)
        a.verb(1, dev.add_op(8, 5))
        b.close()
        self.assertEqual(shown[8:16], (5).to_bytes(8, "little"))
        a.verb(1, dev.add_op(8, 5))     # a mapping keeps the file
        shown.close()
        self.fails(errno.ENXIO, a.verb, 1, dev.add_op(8, 5))


class Devices(TwoEnds):
    __doc__ = TwoEnds.__doc__

    def setUp(self):
        super().setUp()
        self.a.knob("linger_ms", 100)

    def test_port_deleted(self):
        """Whoever waits in whatever is told; attach anew, and it goes on."""
        a, b = self.opened()
        b.write(b"unread")
        wait_for(lambda: a.status().unread == 1, "it to be there")
        other = self.at_a(vc=self.vc + 1)
        mend = self.lose(oae.REFLECT, of="b")
        calls = {"read": Call(other.read), "poll": Call(other.poll, 20, IN)}
        # In this order: before the half the verb would be offered, and refused.
        for n, (name, *call) in enumerate((("write", a.write, b"never"), ("swap", a.swap, b"half"),
                                           ("verb", a.verb, 1, dev.read_op(0))), 1):
            calls[name] = Call(*call)
            wait_for(lambda n=n: a.status().pending == n, f"the {name} to be under way")
        self.a.knob("dev", "-va")
        # Those that wait are reversed when the link begins to close, the first when it freezes.
        for name in ("write", "swap", "verb"):
            self.assertIn(calls[name].error(), ("ECANCELED", "ESHUTDOWN"))
        self.assertEqual(calls["read"].result(), b"")
        self.assertTrue(calls["poll"].result() & HUP)
        self.assertEqual([a.read(), a.read()], [b"unread", b""])
        mend()
        self.a.add_port("va")
        self.fails(errno.ENODEV, a.write, b"x")
        c = self.at_a()
        c.write(b"anew")
        self.assertEqual(b.read(), b"anew")
        self.assertTrue(b.status().events & (dev.EVENT_PEER_NEW | dev.EVENT_CLOSED))

    def test_device_deleted(self):
        """The same when the device itself goes, both of them, under load."""
        c, d = Host("c"), Host("d")
        for host in (c, d):
            self.addCleanup(lambda host=host: host.name and host.close())
        for n in range(4):
            cable = Cable(c, "vx", d, "vy")
            c.add_port("vx")
            d.add_port("vy")
            one = OaeFile.to(c, cable.mac_b)
            other = OaeFile.to(d, cable.mac_a)
            other.expose(4096, 1, 7)
            calls = [Call(self.until_it_fails, one.write, b"x" * 3000),
                     Call(self.until_it_fails, other.write, b"y"),
                     Call(self.until_it_fails, one.swap, b"half"),
                     Call(self.until_it_fails, other.swap, b"half"),
                     Call(self.until_it_fails, one.verb, 1, dev.add_op(0, 1)),
                     Call(self.until_it_fails, other.read),
                     Call(self.until_it_fails, one.read)]
            wait_for(lambda one=one: one.status().committed > 30, "traffic")
            host, name = ((c, "vx"), (d, "vy"))[n % 2]
            run("ip", "-n", host.name, "link", "del", name, timeout=20 * SLOW)
            for call in calls:
                call.result(20)
            for file in (one, other):
                self.assertTrue(file.status().flags & dev.ST_DEAD)
                file.close()
            wait_for(lambda: not c.tags() and not d.tags(), "the tags to go")

    @staticmethod
    def until_it_fails(function, *args):
        """Again and again; the error is one that says that the port has gone."""
        while True:
            try:
                if not function(*args):
                    return
            except OSError as e:
                if e.errno not in (errno.ECANCELED, errno.ENODEV, errno.EOWNERDEAD, errno.EPIPE,
                                   errno.ENOLINK):
                    raise
                return

    def test_namespace_deleted(self):
        """A file keeps what it needs, and not the namespace for ever."""
        for at_once in (True, False):
            c = Host("c")
            self.addCleanup(lambda c=c: c.name and c.close())
            cable = Cable(c, "vx", self.b, "vz")
            c.add_port("vx")
            self.b.add_port("vz")
            one = OaeFile.to(c, cable.mac_b)
            other = OaeFile.to(self.b, cable.mac_a, port="vz")
            call = Call(other.read)
            one.write(b"hello")
            self.assertEqual(call.result(), b"hello")
            one.expose(4096, 1, 7)
            shown = one.mmap(4096)
            one.nonblock()
            one.write(b"queued")
            half = Call(other.swap, b"half")
            if at_once:
                one.close()
                shown.close()
            c.close()
            c.name = ""
            if not at_once:
                one.poll()
                one.status()
                one.close()
                self.assertEqual(shown[:8], bytes(8))
                shown.close()
            wait_for(lambda: not self.b.has_link("vz"), "the namespace to go", 20)
            self.assertIn(half.error(20), ("ECANCELED", "EPIPE", "EOWNERDEAD", "ENODEV"))
            other.close()

    def test_mtu(self):
        """The MTU changes under open files: status tells, transactions go on."""
        a, b = self.opened()
        for mtu in (600, 9000, 1500):
            for host, name in self.cable.ends:
                host.mtu(name, mtu)
            a.write(bytes(5000))
            self.assertEqual(b.read(), bytes(5000))
            wait_for(lambda mtu=mtu: a.status().mtu == b.status().mtu == mtu, f"an MTU of {mtu}")
            most = a.status().max_half
            self.assertLess(most, mtu)
            self.assertGreater(most, mtu - 100)
            call = Call(b.swap, b"small")
            self.assertEqual(a.swap(b"x" * most), b"small")
            self.assertEqual(call.result(), b"x" * most)
            self.fails(errno.EMSGSIZE, a.swap, b"x" * (most + 1))

    def test_mtu_shrinks_under_a_half(self):
        """A half that is queued and does not fit for dead_ms: EMSGSIZE, and those behind it go on."""
        self.set(self.a, dead_ms=500)
        a, b = self.opened()
        call = Call(a.swap, b"x" * a.status().max_half)
        wait_for(lambda: a.status().pending, "it to be queued")
        next_ = Call(a.swap, b"small")
        wait_for(lambda: a.status().pending == 2, "the next")
        for host, name in self.cable.ends:
            host.mtu(name, 600)
        try:
            self.assertEqual(b.swap(b"of b"), b"small")
            self.ends_in(call, errno.EMSGSIZE)
            self.assertEqual(next_.result(), b"of b")
        finally:
            for host, name in self.cable.ends:
                host.mtu(name, 1500)

    def test_address(self):
        """A port changes its address: its files go on under it, and so do the peer's."""
        a, b = self.opened()
        old, new = self.cable.mac_a, "02:0a:e0:77:00:01"
        try:
            self.a.sh(f"ip link set va address {new}")
            call = Call(a.write, b"under another name")
            self.assertEqual(call.result(), 18)
            self.assertEqual(b.read(), b"under another name")
            # By that it is the same link.
            other = self.later(OaeFile.to(self.b, new, vc=self.vc))
            other.write(b"to it")
            self.assertEqual(a.read(), b"to it")
            self.assertEqual(len(self.b.tags()), 1)
            other.close()
        finally:
            self.a.sh(f"ip link set va address {old}")
        a.write(b"and back")
        self.assertEqual(b.read(), b"and back")

    def test_module(self):
        """It cannot be unloaded with a file open, nor with one that is only mapped."""
        a, b = self.opened()
        fresh = self.later(OaeFile(self.a))
        self.assert_errno(errno.EAGAIN, unload)
        a.write(b"x")
        self.assertEqual(b.read(), b"x")
        b.expose(4096, 1, 7)
        shown = b.mmap(4096)
        for file in (a, b, fresh):
            file.close()
        self.assert_errno(errno.EAGAIN, unload)
        shown.close()


class Permissions(TwoEnds):
    __doc__ = TwoEnds.__doc__

    def without_caps(self, function, *args):
        """The error number of a function in a root that may nothing."""
        def child():
            header = (ctypes.c_uint32 * 2)(0x20080522, 0)
            LIBC.capset(header, (ctypes.c_uint32 * 6)())
            function(*args)
        return exit_code(in_process(child))

    def test_mode(self):
        """Only root may open it."""
        mode = os.stat(dev.node()).st_mode
        self.assertTrue(stat.S_ISCHR(mode))
        self.assertEqual(stat.S_IMODE(mode), 0o600)
        uevent = Path("/sys/class/misc/oae/uevent").read_text("ascii")
        self.assertIn("DEVNAME=oae", uevent)

        def child():
            os.setgid(65534)
            os.setuid(65534)
            os.close(os.open(dev.DEV, os.O_RDWR))
        self.assertEqual(exit_code(in_process(child)), errno.EACCES)

    def test_capability(self):
        """Attaching takes CAP_NET_RAW; using what is attached does not."""
        a, b = self.opened()
        fresh = self.later(OaeFile(self.a))
        self.assertEqual(self.without_caps(fresh.attach, self.cable.mac_b, self.vc), errno.EPERM)
        self.assertEqual(self.without_caps(fresh.listen), errno.EPERM)
        self.assertEqual(self.without_caps(a.write, b"x"), 0)
        self.assertEqual(b.read(), b"x")
        fresh.attach(self.cable.mac_b, self.vc)         # nothing of that has stuck

    def test_user_namespace(self):
        """Root of a user namespace has no say in a network namespace that is not its own."""
        fresh = self.later(OaeFile(self.a))

        def child():
            if LIBC.unshare(CLONE_NEWUSER):
                return 200
            fresh.attach(self.cable.mac_b, self.vc)
            return 0
        self.assertEqual(exit_code(in_process(child)), errno.EPERM)

    def test_own_network_namespace(self):
        """It has in its own, where there is no port, however: ENODEV and not EPERM."""
        def child():
            if LIBC.unshare(CLONE_NEWUSER | 0x40000000):
                return 200
            for name, text in (("setgroups", "deny"), ("uid_map", "0 0 1"), ("gid_map", "0 0 1")):
                Path(f"/proc/self/{name}").write_text(text, "ascii")
            OaeFile().attach(self.cable.mac_b, self.vc)
            return 0
        self.assertEqual(exit_code(in_process(child)), errno.ENODEV)

    def test_file_from_another_namespace(self):
        """A file belongs to where it was opened, whoever uses it."""
        fresh = OaeFile(self.a)
        ours, theirs = socket.socketpair()
        b = self.at_b()

        def child():
            with self.b:
                _, fds, _, _ = socket.recv_fds(theirs, 10, 1)
                file = object.__new__(OaeFile)
                file.fd = fds[0]
                file.attach(self.cable.mac_b, self.vc)
                file.write(b"from a")
                return 0 if file.status().port == "va" else 1
        pid = in_process(child)
        socket.send_fds(ours, [b"x"], [fresh.fd])
        fresh.close()
        self.assertEqual(b.read(), b"from a")
        self.assertEqual(exit_code(pid), 0)
        ours.close()
        theirs.close()


class Listening(TwoEnds):
    __doc__ = TwoEnds.__doc__

    def listener(self, **how):
        """A file at b that listens."""
        file = self.later(OaeFile(self.b, nonblock=True))
        file.listen(**how)
        return file

    def heard(self, file, count=1):
        """The vcs of what it reads."""
        found = []
        wait_for(lambda: file.poll() & IN and found.extend(file.peers()) or len(found) >= count,
                 "a peer to appear")
        for rec in found:
            self.assertEqual((rec.port, rec.peer, rec.zero), ("vb", self.cable.mac_a, 0))
        return [rec.vc for rec in found]

    def test_a_peer_appears(self):
        """Told once; what it sent is there for whoever attaches."""
        listener = self.listener(vc=self.vc)
        self.assertFalse(listener.poll() & IN)
        self.fails(errno.EAGAIN, listener.read)
        a = self.at_a()
        a.write(b"hello")
        self.assertEqual(self.heard(listener), [self.vc])
        self.assertFalse(listener.poll() & IN)
        self.fails(errno.EAGAIN, listener.read)
        b = self.at_b()
        self.assertEqual(b.read(), b"hello")
        b.write(b"hello yourself")
        self.assertEqual(a.read(), b"hello yourself")

    def test_wakes(self):
        """A blocking read, and poll."""
        listener = self.listener(vc=self.vc)
        polling = Call(listener.poll, 20, IN)
        other = self.listener(vc=self.vc)
        a = self.at_a(flags=dev.ATTACH_OPEN)
        self.assertTrue(polling.result() & IN)
        self.assertEqual(self.heard(other), [self.vc])
        self.fails(errno.EAGAIN, listener.read)     # one of them is told
        a.close()

    def test_blocking_read(self):
        """Waits for a peer, or a signal."""
        listener = self.listener(vc=self.vc)
        listener.nonblock(False)
        call = Call(listener.peers)
        wait_for(lambda: not call.signal() and call.done, "the read to return")
        self.ends_in(call, errno.EINTR)
        call = Call(listener.peers)
        self.at_a(flags=dev.ATTACH_OPEN)
        self.assertEqual([p.vc for p in call.result()], [self.vc])

    def test_only_what_it_listens_for(self):
        """vc, any vc, a peer, a port."""
        mine = self.listener(vc=self.vc)
        any_ = self.listener(any_vc=True)
        nobody = self.listener(peer="02:0a:e0:99:99:99", any_vc=True)
        self.at_a(vc=self.vc + 1, flags=dev.ATTACH_OPEN)
        self.assertEqual(self.heard(any_), [self.vc + 1])
        self.assertFalse(mine.poll() & IN)
        any_.close()
        self.at_a(flags=dev.ATTACH_OPEN)
        self.assertEqual(self.heard(mine), [self.vc])
        self.assertFalse(nobody.poll() & IN)

    def test_not_what_somebody_has(self):
        """A link that a file is attached to is nobody else's news."""
        listener = self.listener(any_vc=True)
        b = self.at_b()
        a = self.at_a()
        a.write(b"x")
        self.assertEqual(b.read(), b"x")
        self.assertFalse(listener.poll() & IN)

    def test_many(self):
        """As many as fit into a read; the others stay."""
        listener = self.listener(any_vc=True)
        vcs = list(range(self.vc + 100, self.vc + 120))
        for vc in vcs:
            self.at_a(vc=vc).write(b"x")
        found = [p.vc for p in listener.peers(3)]
        self.assertEqual(len(found), 3)
        # A byte less than four is three.
        data = listener.read(dev.PeerRec.size * 4 - 1)
        self.assertEqual(len(data), dev.PeerRec.size * 3)
        found += [dev.PeerRec.read(data[n:]).vc for n in range(0, len(data), dev.PeerRec.size)]
        found += self.heard(listener, 14)
        self.assertEqual(sorted(found), vcs)
        self.assertFalse(listener.poll() & IN)

    def test_again(self):
        """The peer's end is a new one and nobody has attached: it is told again."""
        listener = self.listener(any_vc=True)
        for _ in range(3):
            a = self.at_a()
            a.write(b"x")
            self.assertEqual(self.heard(listener), [self.vc])
            a.close()
            self.a.close_tag(self.cable.mac_b, self.vc)
            wait_for(lambda: not self.a.tag(self.vc), "it to be closed")

    def test_listener_goes(self):
        """Closed with something unread; another one that comes later is told."""
        listener = self.listener(any_vc=True)
        self.at_a().write(b"x")
        wait_for(lambda: listener.poll() & IN, "a peer")
        listener.close()
        self.at_a(vc=self.vc + 1).write(b"x")
        self.assertIn(self.vc + 1, self.heard(self.listener(any_vc=True)))

    def test_region(self):
        """A listener's words are for whomever it listens for."""
        listener = self.listener(any_vc=True)
        listener.expose(4096, 1, 7)
        shown = listener.mmap(4096)
        for n in range(4):
            a = self.at_a(vc=self.vc + n)
            self.assertEqual(a.verb(1, dev.add_op(0, 1)).old, [[n]])
        self.assertEqual(listener.settled(dev.read_op(0)).old, [[4]])
        self.assertEqual(shown[:8], (4).to_bytes(8, "little"))
        shown.close()
