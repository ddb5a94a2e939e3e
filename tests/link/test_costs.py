# SPDX-License-Identifier: GPL-2.0
"""What is kept for whom and who pays for it; who is woken, and who waits for whom."""

import contextlib
import errno
import mmap
import os
import platform
import re
import resource
import select
import statistics
import struct
import tempfile
import threading
import time
import unittest
from pathlib import Path

import oaewire as oae
from devtest import (PATIENT, Call, DevTest, OaeFile, Scripted, TwoEnds, exit_code,
                     in_process)
from faults import noted
from hits import Hits
from oaedev import SYS_POLL, SYS_WRITE
from oaepeer import Peer
from oaering import RawRing
from oaetest import LIBC, PARAMETERS, OaeTest, ip, load, run, unload, wait_for
from patience import SLOW
from topology import OneScript

CLONE_NEWNET = 0x40000000
PAGE = mmap.PAGESIZE
MEGA = 1 << 20
STOCK = 64 * PAGE * os.cpu_count()      # what processors take at once, counted before it is used
NOBODY = "02:0a:e0:55:55:55"
KERNEL = tuple(map(int, platform.release().split(".")[:2]))
# Before 5.11 what a program maps is not counted: the half of a region that verbs change.
REGION_HALVES = 2 if KERNEL >= (5, 11) else 1


class Cgroup:
    """A memory cgroup, and what is counted in it."""

    root = None

    @classmethod
    def mounted(cls):
        """The root of the hierarchy; a test is skipped where there is none."""
        if not cls.root:
            root = tempfile.mkdtemp(prefix="cgroup")
            try:
                run("mount", "-t", "cgroup2", "none", root)
                cls.root = Path(root)
                (cls.root / "cgroup.subtree_control").write_text("+memory", "ascii")
            except (AssertionError, OSError) as e:
                raise unittest.SkipTest("no memory cgroups here") from e
        return cls.root

    def __init__(self, name):
        self.path = self.mounted() / name
        self.path.mkdir()
        # Open already: who is at the limit may be killed for what it takes to open a file.
        self._max = os.open(self.path / "memory.max", os.O_WRONLY | os.O_CLOEXEC)

    def limit(self, size):
        """memory.max"""
        os.write(self._max, str(size).encode())

    def join(self):
        """Who calls is a member from now on."""
        (self.path / "cgroup.procs").write_text("0", "ascii")

    def used(self):
        """memory.current"""
        return int((self.path / "memory.current").read_text("ascii"))

    def stat(self, name):
        """A line of memory.stat. The kernel sums up now and then."""
        return int(re.search(rf"^{name} (\d+)$", (self.path / "memory.stat").read_text("ascii"),
                             re.M)[1])

    def killed(self):
        """How often somebody was killed for it."""
        return int(re.search(r"^oom_kill (\d+)$", (self.path / "memory.events").read_text("ascii"),
                             re.M)[1])

    def remove(self):
        """Nobody is in it any more."""
        os.close(self._max)
        wait_for(self._gone, "the cgroup to be empty")

    def _gone(self):
        try:
            self.path.rmdir()
        except OSError as e:
            if e.errno != errno.EBUSY:
                raise
            return False
        return True


def meminfo(name):
    """A line of /proc/meminfo, bytes."""
    return int(re.search(rf"^{name}: *(\d+) kB$", Path("/proc/meminfo").read_text("ascii"),
                         re.M)[1]) * 1024


class Charged(TwoEnds):
    __doc__ = TwoEnds.__doc__
    patience = 120
    knobs = TwoEnds.knobs | {"sndq": 4096, "region_max": 67108864}

    def setUp(self):
        super().setUp()
        self.cgroup = Cgroup(self.id().rsplit(".", 1)[1])
        self.addCleanup(self.cgroup.remove)

    def within(self, function):
        """function() in a process of the cgroup, and what it said."""
        r, w = os.pipe()

        def child():
            LIBC.mlockall(1)        # no more of its own memory counts, now that it is there
            self.cgroup.join()
            os.write(w, struct.pack("q", function()))
        self.assertEqual(exit_code(in_process(child)), 0)
        os.close(w)
        said = os.read(r, 8)
        os.close(r)
        self.assertEqual(self.cgroup.killed(), 0)
        return struct.unpack("q", said)[0]

    def nowhere(self, vc, **options):
        """A file whose messages stay queued for good."""
        return OaeFile.to(self.a, NOBODY, vc=vc, nonblock=True, linger_ms=0, **options)

    def test_byte(self):
        """A byte that is queued keeps no more than is counted."""
        if noted():
            self.skipTest("instruments keep what was freed, and notes of what was not")
        def child():
            kept, passing = self.nowhere(1, queue=4096), self.nowhere(2)
            for _ in range(32):     # what else is needed is there then
                passing.write(bytes(2048))
            passing.cancel()
            passing.collect_all(32)
            free, used = meminfo("MemFree"), self.cgroup.used()
            for _ in range(512):
                kept.write(b"1")
                for _ in range(16):
                    passing.write(bytes(2000))
                passing.cancel()
                passing.collect_all(16)

            def more():
                return free - meminfo("MemFree") - (self.cgroup.used() - used)
            # Freed memory is free a while later.
            wait_for(lambda: more() < 4 * MEGA, lambda: f"{more()} bytes to be free")
            kept.close()
            passing.close()
            return 0
        self.within(child)

    def test_bytes(self):
        """Short messages are counted, and no longer than they are there."""
        def child():
            file = self.nowhere(3, queue=4096)
            file.write(b"0")
            used = self.cgroup.used()
            for _ in range(2000):
                file.write(bytes(1000))
            used = self.cgroup.used() - used
            file.close()
            return used
        used = self.within(child)
        self.assertGreaterEqual(used, 2000 * 1000 - STOCK)
        self.assertLess(used, 2000 * PAGE)
        wait_for(lambda: self.cgroup.used() < 2 * MEGA, "the memory to be free again")

    def test_limit(self):
        """ENOMEM when the cgroup is full; nobody is killed for it."""
        def child():
            file = self.nowhere(4, queue=4096)
            file.write(bytes(65536))
            self.cgroup.limit(self.cgroup.used() + 16 * MEGA)
            for n in range(1000):
                try:
                    file.write(bytes(65536))
                except OSError as e:
                    self.cgroup.limit("max")    # to say so takes memory, too
                    return n if e.errno == errno.ENOMEM else -e.errno
            return -1
        n = self.within(child)
        self.assertGreater(n, 100)
        self.assertLess(n, 16 * MEGA // 65536 + 1)

    def test_region(self):
        """Both halves of a region are counted, where that can be."""
        size = 16 * MEGA

        def child():
            file = self.nowhere(5)
            used = self.cgroup.used()
            file.expose(size, 7, 7)
            return self.cgroup.used() - used
        used = self.within(child)
        self.assertGreaterEqual(used, REGION_HALVES * size - STOCK)
        self.assertLess(used, (REGION_HALVES + 0.5) * size)

    def test_region_limit(self):
        """ENOMEM: three quarters of what is counted would have fitted."""
        def child():
            file = self.nowhere(6)
            self.cgroup.limit(self.cgroup.used() + REGION_HALVES * 12 * MEGA)
            try:
                file.expose(16 * MEGA, 7, 7)
            except OSError as e:
                self.cgroup.limit("max")
                return e.errno
            return 0
        self.assertEqual(self.within(child), errno.ENOMEM)

    @unittest.skipIf(KERNEL < (5, 11), "they are locked memory: test_dev_rings.Memory")
    def test_rings(self):
        """Each page of rings is counted once."""
        def child():
            file = self.nowhere(7)
            used = self.cgroup.used()
            RawRing(file, 8 * MEGA, 8 * MEGA)
            return self.cgroup.used() - used
        used = self.within(child)
        self.assertGreaterEqual(used, 16 * MEGA - STOCK)
        self.assertLess(used, 17 * MEGA)

    def test_links(self):
        """A link is paid for by the program that makes it."""
        peers, vcs = 4, 200

        def child():
            os.sched_setaffinity(0, {0})
            resource.setrlimit(resource.RLIMIT_NOFILE, (2 * peers * vcs, 2 * peers * vcs))
            files = [OaeFile(self.a) for _ in range(peers * vcs)]
            used = self.cgroup.used()
            for n, file in enumerate(files):
                file.attach(NOBODY[:-2] + f"{n // vcs:02x}", n % vcs)
            used = self.cgroup.used() - used
            for file in files:
                file.close()
            return used
        # With one processor the first 260 links may be in stock. The others are the larger part.
        # Two processors would have as much in stock as that.
        self.assertGreaterEqual(self.within(child), peers * vcs * 640)

    def test_first_port(self):
        """The counters and the log of a namespace are paid for by who binds its first port."""
        if KERNEL < (5, 13):
            self.skipTest("memory.stat does not show what is less than 32 pages a processor")
        def child():
            LIBC.unshare(CLONE_NEWNET)
            run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
            before = self.cgroup.stat("percpu")
            (PARAMETERS / "dev").write_text("v0", "ascii")
            wait_for(lambda: self.cgroup.stat("percpu") - before > os.cpu_count() * 8192,
                     "the log to be counted")
            return 0
        self.within(child)


class Named(OneScript):
    """A frame of a stranger that names a link by the address of very many ports."""

    PORTS, FRAMES = 300, 100
    SAME, OTHER = "02:00:00:00:90:01", "02:00:00:00:90:02"

    @classmethod
    def build(cls):
        super().build()
        run("modprobe", "dummy")
        ip(*(f"link add d{n} netns a address {cls.SAME} type dummy" for n in range(cls.PORTS)))
        cls.a.knob("dev", "*")

    def took(self, to):
        """Seconds that frames take which name a link by this address."""
        frame = oae.Frame(opcode=oae.PATH, src="02:00:00:00:90:03", dst=self.cable.mac_a,
                          payload=oae.path_body(to, "02:00:00:00:90:04")).pack()
        before, start = self.a.stat("bad_path"), time.monotonic()
        for _ in range(self.FRAMES):
            self.wire.send(frame)
        wait_for(lambda: self.a.stat("bad_path") >= before + self.FRAMES, "all to be dropped")
        return time.monotonic() - start

    def test_many_ports(self):
        """It takes about as long as one that names no port."""
        each = [self.took(self.SAME) / self.took(self.OTHER) for _ in range(7)]
        self.assertLess(statistics.median(each), 2, each)


class Unused(OaeTest):
    """Namespaces of others."""

    COUNT = 100

    def namespaces(self):
        """Make many, and hold them."""
        def hold():
            LIBC.unshare(CLONE_NEWNET)
            ready.release()
            done.wait()
        ready, done = threading.Semaphore(0), threading.Event()
        threads = [threading.Thread(target=hold) for _ in range(self.COUNT)]
        for thread in threads:
            thread.start()
        for _ in threads:
            self.assertTrue(ready.acquire(timeout=30 * SLOW))

        def end():
            done.set()
            for thread in threads:
                thread.join()
        self.addCleanup(end)

    def test_percpu(self):
        """They cost nothing for each processor."""
        self.namespaces()
        unload()
        before = {name: meminfo(name) for name in ("Percpu", "SUnreclaim")}
        load()
        cost = {name: (meminfo(name) - before[name]) / self.COUNT for name in before}
        self.assertLess(cost["Percpu"], 1024, cost)
        # With what the module itself takes, once.
        if not noted():             # instruments take some for each object
            self.assertLess(cost["SUnreclaim"], 16384, cost)

    def test_files(self):
        """Their files are there, and say that nothing has happened."""
        host = self.host("idle")
        self.assertEqual(set(host.stats().values()), {0})
        self.assertEqual(host.ev_log(), [])
        self.assertEqual(host.tags(), [])
        self.assertEqual(host.knob("stats").split()[:2], ["tags", "0"])
        ip("link add x0 netns idle type veth peer name x1 netns idle")
        host.knob("dev", "x0")
        host.knob("dev", "")
        self.assertEqual(host.stats().keys(), self.host("other").stats().keys())


def sleeps(task):
    """How often a thread of this process has gone to sleep so far."""
    text = Path(f"/proc/self/task/{task}/status").read_text("ascii")
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", text, re.M)[1])


class Crowd(list):
    """Threads that each call a function, in a system call that blocks."""

    def __init__(self, count, function, *args):
        super().__init__(Call(function, *args) for _ in range(count))
        for call in self:
            wait_for(lambda call=call: call.done or call.sleeps(SYS_WRITE), "a writer to sleep")

    @property
    def waiting(self):
        """Those that have not returned."""
        return [call for call in self if not call.done]

    def sleeps(self):
        """How often each of those has gone to sleep so far."""
        found = {}
        for call in self.waiting:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):    # just returned
                found[call] = sleeps(call.task)
        return found

    def woken_since(self, before):
        """How often each of those was woken since sleeps() said `before`, if it was at all."""
        return [n - before[call] for call, n in self.sleeps().items() if n > before[call]]


class Woken(TwoEnds):
    __doc__ = TwoEnds.__doc__
    CROWD = 40
    patience = 120

    def full(self, **options):
        """A link whose queue is full: the peer reads nothing. Each transaction is `size` long."""
        self.a.knob("sndq", 1)
        self.b.knob("rcvbuf", 4096)
        a, b = self.opened(**options)
        return a, b

    def test_one(self):
        """Room for one wakes one of those that wait for it."""
        a, b = self.full()
        crowd = Crowd(self.CROWD, a.write, bytes(3000))
        wait_for(lambda: a.status().queued > 1, "the queue to fill")
        self.read_some(crowd, b)
        self.drain(crowd, b)

    def read_some(self, crowd, b):
        """Who gets into the queue is woken once for it. Nobody who does not get in is woken."""
        before = crowd.sleeps()
        rounds = 15
        for _ in range(rounds):
            self.assertEqual(b.read(), bytes(3000))
            left = len(crowd.waiting)
            wait_for(lambda left=left: len(crowd.waiting) < left or b.unread(), "the next")
        woken = crowd.woken_since(before)
        self.assertLess(sum(woken), 3 * rounds, f"{len(crowd.waiting)} waited")
        # Of those that wait still, the few in the queue were woken. One woken in vain for each
        # message is a fault: the writer wakes the next one before it has taken the room.
        self.assertLess(len(woken), rounds, f"{len(crowd.waiting)} waited")

    def drain(self, crowd, b):
        """All get through."""
        reader = Call(self.read_until, b, crowd)
        for call in crowd:
            self.assertEqual(call.result(60), 3000)
        reader.result()

    @staticmethod
    def read_until(b, crowd):
        """Read as long as there is somebody who writes."""
        def over():
            waiting = crowd.waiting
            while b.unread():
                b.read()
            return not waiting
        wait_for(over, "all to be written", 60)

    def test_file(self):
        """The same for the room of a file."""
        self.b.knob("rcvbuf", 4096)
        a, b = self.opened(queue=1)
        crowd = Crowd(self.CROWD, a.write, bytes(3000))
        self.read_some(crowd, b)
        self.drain(crowd, b)

    def test_full_file(self):
        """Who waits for the room of his file does not sleep through that of another's."""
        a, b = self.full()
        other = self.at_a(queue=1)
        other.nonblock()
        other.write(bytes(3000))        # stays on it until it is collected
        other.nonblock(False)
        stuck = Crowd(5, other.write, bytes(3000))
        crowd = Crowd(5, a.write, bytes(3000))
        self.drain(crowd, b)
        self.assertEqual(len(stuck.waiting), 5)
        other.collect_all(1)
        self.drain(stuck, b)

    def test_noc_debug(self):
        """noc_debug stands in the same line."""
        a, b = self.full()
        self.a.knobs(target=self.cable.mac_b, vci=self.vc)
        fd = self.a.open()
        self.addCleanup(os.close, fd)
        crowd = Crowd(5, a.write, bytes(3000))
        crowd.extend(Crowd(5, os.write, fd, bytes(3000)))
        self.drain(crowd, b)

    def test_sndq_grows(self):
        """A greater sndq is room for those that wait for it; who polls is told."""
        a, _ = self.full()
        crowd = Crowd(6, a.write, bytes(3000))
        wait_for(lambda: a.status().queued > 1, "the queue to fill")
        self.assertGreater(len(crowd.waiting), a.status().queued)
        poller = select.poll()
        poller.register(a.fd, select.POLLOUT)
        self.assertEqual(poller.poll(0), [])
        told = Call(poller.poll)
        wait_for(lambda: told.sleeps(SYS_POLL), "it to poll")
        self.a.knob("sndq", 16)
        self.assertEqual(told.result(), [(a.fd, select.POLLOUT)])
        wait_for(lambda: a.status().queued == len(crowd.waiting), "all to be queued")

    def test_leaving(self):
        """Deadlines and signals take some out of the line, often as they are woken: none is forgotten."""
        a, b = self.full()
        hasty = self.at_a(deadline_ms=30)

        def one(file):
            try:
                return file.write(bytes(3000))
            except OSError as e:
                self.assertIn(e.errno, (errno.ETIME, errno.EINTR), e)
                return 3000
        crowd = Crowd(0, None)
        crowd.extend(Call(one, file) for _ in range(self.CROWD) for file in (a, hasty, hasty))
        reader = Call(self.read_until, b, crowd)
        for n, call in enumerate(crowd):
            if n % 5 == 0 and not call.done:
                call.signal()
        for call in crowd:
            self.assertEqual(call.result(60), 3000)
        reader.result()

    def test_shutdown(self):
        """Who waits for room is told of shutdown=1 at once, all of them."""
        a, _ = self.full()
        full = self.at_a(queue=1)
        full.nonblock()
        full.write(bytes(3000))
        full.nonblock(False)
        crowd = [*Crowd(10, a.write, bytes(3000)), *Crowd(10, full.write, bytes(3000))]
        self.a.knob("shutdown", 1)
        ends = [call.error(10) for call in crowd]
        self.assertEqual(set(ends) - {"ESHUTDOWN", "ECONNRESET", "ECANCELED", "0"}, set())
        self.assertGreaterEqual(ends.count("ESHUTDOWN"), 15, ends)

    def test_shutdown_closed(self):
        """The same where the link is closed already, and its file full of outcomes."""
        a, b = self.opened(queue=1)
        a.nonblock()
        a.write(b"not collected")
        self.assertEqual(b.read() if b.poll(5) else None, b"not collected")
        a.nonblock(False)
        self.a.close_tag(self.cable.mac_b, self.vc)
        wait_for(lambda: a.state == "CLOSED", "the link to close")
        crowd = Crowd(5, a.write, b"never")
        self.a.knob("shutdown", 1)
        self.assertEqual({call.error(10) for call in crowd}, {"ESHUTDOWN"})


class Hashed(Scripted):
    __doc__ = Scripted.__doc__
    knobs = {"sndq": 1}

    def test_once(self):
        """A payload is hashed once, however often its writer tries for room."""
        hits = Hits(cut="modoae:oae_whole_digest")
        self.addCleanup(hits.end)
        file = self.opened()
        crowd = Crowd(12, file.write, bytes(20000))
        wait_for(lambda: file.status().queued == 3, "the queue to fill")
        for _ in crowd:
            self.peer.accept()
        self.peer.expect(oae.COMMIT)
        for call in crowd:
            self.assertEqual(call.result(), 20000)
        self.assertEqual(hits.count("cut"), len(crowd))


class Lingering(DevTest, OneScript):
    """
        host a             AF_PACKET            host b
        va ----------------- vp                 w0, w1, ...
    """

    PORTS = 12

    @classmethod
    def build(cls):
        super().build()
        cls.b = cls.host("b")
        for n in range(0, cls.PORTS, 2):
            ip(f"link add w{n} netns b type veth peer name w{n + 1} netns b")

    def lingering(self, seconds=10):
        """Host a waits so long for its link to close; the call."""
        self.a.knobs(**PATIENT | {"linger_ms": seconds * 1000}, dev="va")
        self.wire.frames()
        self.peer = Peer(self.wire, self.cable.mac_a, vc=self.vc).open()
        call = Call(self.a.knob, "dev", "-va")
        self.peer.expect(oae.CLOSE)
        return call

    def test_others(self):
        """Parameters are set at once while another namespace waits for its links to close."""
        call = self.lingering()
        self.b.knob("vci", 5)
        self.assertEqual(self.b.knob("vci"), "5")
        self.b.knob("dev", "w0")
        self.b.knob("dev", "")
        self.assertEqual(self.a.knob("dev"), "")
        self.a.knob("verbose", 0)
        self.assertFalse(call.done)
        self.peer.send(oae.CLOSE_ACK)
        call.result()

    def test_same(self):
        """The next change of the same namespace's ports comes after it."""
        first = self.lingering()
        second = Call(self.a.knob, "dev", "+va")
        wait_for(lambda: second.sleeps(SYS_WRITE), "it to wait")
        self.assertEqual(self.a.knob("dev"), "")
        self.peer.send(oae.CLOSE_ACK)
        first.result()
        second.result()
        self.assertEqual(self.a.knob("dev"), "va")
        self.a.knobs(linger_ms=0, dev="")

    def test_unload_while_another_waits(self):
        """A change that waits for the one before it hears that the module goes."""
        first = self.lingering(2)
        second = Call(self.a.knob, "dev", "+va")
        wait_for(lambda: second.sleeps(SYS_WRITE), "it to wait")
        unload()
        first.result()
        self.assertEqual(second.error(), "ENODEV")

    def test_unload(self):
        """The module goes when it is over, not before."""
        call = self.lingering(1)
        unload()
        self.assertTrue(call.done)
        call.result()
        load()

    def test_together(self):
        """Ports that go together wait together, for processors as for peers."""
        hits = Hits(sync="synchronize_net")
        self.addCleanup(hits.end)
        self.b.knob("dev", ",".join(f"w{n}" for n in range(self.PORTS)))
        before = hits.count("sync")
        self.b.knob("dev", "")
        self.assertLess(hits.count("sync") - before, 6)


if __name__ == "__main__":
    unittest.main()
