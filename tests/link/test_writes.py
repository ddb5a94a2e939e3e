# SPDX-License-Identifier: GPL-2.0
"""What a write to noc_debug says, and that it is true: G2 and G3 of the design.

After each test everything that was posted has ended in exactly one of committed, reversed,
unknown; what was said to be reversed has not been delivered.
"""

import ctypes
import errno
import os
import select
import threading

import oaewire as oae
from oaepeer import Peer
from oaetest import LIBC, NOC_DEBUG, PARAMETERS, wait_for
from topology import CALM, OneCable, OneScript

IN = select.POLLIN | select.POLLRDNORM
OUT = select.POLLOUT | select.POLLWRNORM


def without_caps(host, path, data=None):
    """What a root that may nothing gets from opening a file, or writing to it: 0 or an errno."""
    child = os.fork()
    if not child:
        code = 255
        try:
            with host:
                header = (ctypes.c_uint32 * 2)(0x20080522, 0)
                LIBC.capset(header, (ctypes.c_uint32 * 6)())
                fd = os.open(path, os.O_RDONLY if data is None else os.O_WRONLY)
                if data:
                    os.write(fd, data)
                code = 0
                os._exit(code)      # pylint: disable=protected-access
        except OSError as e:
            code = e.errno
        finally:
            os._exit(code)      # pylint: disable=protected-access
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Outcomes(OneScript):
    """What becomes of a write, by what the peer says."""

    vcs = iter(range(1, 250))
    KNOBS = CALM | {"linger_ms": 0, "deadline_ms": 0, "sndq": 64, "express": 0,
                    "max_len": 65536, "shutdown": 0}

    def setUp(self):
        super().setUp()
        self.vc = next(self.vcs)
        self.a.knobs(target="", **self.KNOBS, dev="va", vci=self.vc)
        self.a.aim(self.cable.mac_b)
        self.wire.barrier(self.cable.mac_a)     # what that link has sent may be on its way
        self.wire.frames()
        self.peer = Peer(self.wire, self.cable.mac_a, vc=self.vc)
        self.before = self.a.stats()

    def tearDown(self):
        self.a.knob("dev", "")
        self.a.read_all()
        moved = self.moved()
        self.assertEqual(moved["posted"], moved["committed"] + moved["reversed"] +
                         moved["unknown"], "each has one outcome")
        self.assertEqual(self.a.tags(), [])
        super().tearDown()

    def moved(self):
        """What the counters have moved by."""
        return {name: n - self.before[name] for name, n in self.a.stats().items()}

    def assert_outcomes(self, committed=0, reversed_=0, unknown=0):
        """So many ended so."""
        moved = self.moved()
        self.assertEqual([moved[n] for n in ("committed", "reversed", "unknown")],
                         [committed, reversed_, unknown])

    def out(self, data=b"data"):
        """A write whose offer is out."""
        writer = self.a.start_write(data)
        self.peer.take(seq=1)
        return writer

    # Not even posted.

    def test_nothing(self):
        """Nothing to write is nothing done."""
        self.assertEqual(self.a.write(b""), 0)
        self.assertEqual(self.a.tags(), [])

    def test_over_long(self):
        """EMSGSIZE: more than max_len."""
        self.a.knob("max_len", 1000)
        self.assert_errno(errno.EMSGSIZE, self.a.write, bytes(1001))
        self.assertEqual(self.moved()["posted"], 0)

    def test_no_target(self):
        """EDESTADDRREQ."""
        self.assert_errno(errno.EDESTADDRREQ, self.a.write, b"x", target="")

    def test_no_port(self):
        """ENODEV: none at all, or not the one that the target names."""
        self.assert_errno(errno.ENODEV, self.a.write, b"x", target=f"nosuch/{self.peer.mac}")
        self.a.knobs(target=self.peer.mac, dev="")
        self.assert_errno(errno.ENODEV, self.a.write, b"x")

    def test_to_oneself(self):
        """EINVAL: the target has become the port's own address."""
        self.a.knob("dev", "")
        self.a.knob("target", self.cable.mac_a)
        self.a.knob("dev", "va")
        self.assert_errno(errno.EINVAL, self.a.write, b"x")

    def test_bad_address(self):
        """EFAULT: what is to be written is not the writer's; nothing is sent of it."""
        self.peer.open()
        fd = self.a.open()
        for length in (1, 4096, 60000):
            self.assertEqual(LIBC.write(fd, ctypes.c_void_p(16), ctypes.c_size_t(length)), -1)
            self.assertEqual(ctypes.get_errno(), errno.EFAULT)
        os.close(fd)
        self.peer.silence()
        self.assertEqual(self.moved()["posted"], 0)

    def test_read_to_a_bad_address(self):
        """EFAULT, and what could not be read there can be read elsewhere."""
        self.peer.open()
        self.peer.offered(b"still here")
        self.peer.commit()
        self.peer.silence()
        fd = self.a.open()
        self.assertEqual(LIBC.read(fd, ctypes.c_void_p(16), ctypes.c_size_t(100)), -1)
        self.assertEqual(ctypes.get_errno(), errno.EFAULT)
        os.close(fd)
        self.assertEqual(self.a.read_all(), b"still here")

    def test_not_allowed(self):
        """EPERM: root without CAP_NET_ADMIN; nothing changes."""
        tags = "/proc/thread-self/net/modoae/tags"
        self.assertEqual(without_caps(self.a, NOC_DEBUG), errno.EPERM)
        self.assertEqual(without_caps(self.a, NOC_DEBUG, b"x"), errno.EPERM)
        for knob, value in (("vci", b"3"), ("dev", b"\n"), ("target", b"2"), ("shutdown", b"1")):
            self.assertEqual(without_caps(self.a, PARAMETERS / knob, value), errno.EPERM)
        self.assertEqual(without_caps(self.a, tags, b"close 2"), errno.EPERM)
        self.assertEqual((self.a.knob("vci"), self.a.knob("dev")), (str(self.vc), "va"))
        self.assertEqual(without_caps(self.a, PARAMETERS / "vci"), 0)
        self.assertEqual(without_caps(self.a, tags), 0)

    def test_shut(self):
        """ESHUTDOWN: the host takes no links."""
        self.a.knob("shutdown", 1)
        self.assert_errno(errno.ESHUTDOWN, self.a.write, b"x")

    # The queue.

    def fill(self):
        """Queue until it is full: how many went in."""
        count = 0
        while True:
            try:
                self.a.write(b"%d" % count, nonblock=True)
            except BlockingIOError:
                return count
            count += 1

    def test_full_queue(self):
        """EAGAIN: sndq are queued, and one is with the link; nothing of the last is sent."""
        self.a.knob("sndq", 5)
        count = self.fill()
        self.assertEqual(count, 6)
        self.assertEqual(self.a.tag(self.vc)["queue"], 5)
        self.peer.answer_sync()
        for n in range(count):
            self.assertEqual(self.peer.accept(seq=n + 1), b"%d" % n)
        self.peer.expect(oae.COMMIT, tx=count)
        self.assert_outcomes(committed=count)

    def test_waits_for_room(self):
        """Without O_NONBLOCK a write waits until there is room, and then for its outcome."""
        self.a.knob("sndq", 2)
        count = self.fill()
        writer = self.a.start_write(b"at last")
        self.peer.answer_sync()
        for _ in range(count):
            self.peer.accept()
        offer = self.peer.next()
        if offer.opcode == oae.COMMIT:      # the writer was late
            offer = self.peer.next()
        self.assertEqual((offer.seq, offer.payload), (count + 1, b"at last"))
        self.peer.reflect(offer, [b"at last"])
        self.assertEqual(writer.result(), 7)

    def test_signal_while_waiting_for_room(self):
        """EINTR: it was never queued."""
        self.a.knob("sndq", 1)
        count = self.fill()
        fd = self.a.open()
        wait_for(lambda: self.poll(fd) == 0, "no room")
        writer = self.a.start_write(b"never")
        os.close(fd)
        wait_for(lambda: writer.signal() or writer.done, "the write to return")
        self.assertEqual(writer.result(), -errno.EINTR)
        self.assertEqual(self.moved()["posted"], count)

    def test_signal_while_queued(self):
        """EINTR: taken out of the queue; the others go on."""
        self.a.write(b"first", nonblock=True)
        writer = self.a.start_write(b"never")
        wait_for(lambda: self.a.tag(self.vc)["queue"] == 1, "it to be queued")
        self.a.write(b"second", nonblock=True)
        self.interrupt(writer)
        self.peer.answer_sync()
        self.assertEqual(self.peer.accept(), b"first")
        self.assertEqual(self.peer.accept(), b"second")
        self.peer.expect(oae.COMMIT)
        self.assert_outcomes(committed=2, reversed_=1)

    # Reversed.

    def test_signal(self):
        """EINTR, at once; the peer is told."""
        self.peer.open()
        writer = self.out()
        self.interrupt(writer)
        self.peer.expect(oae.OFFER, seq=1, kind=oae.VOID)
        self.assert_outcomes(reversed_=1)

    def test_signal_while_opening(self):
        """EINTR: nobody has ever answered."""
        writer = self.a.start_write(b"hello?")
        self.peer.expect(oae.SYNC)
        self.interrupt(writer)
        self.assert_outcomes(reversed_=1)

    def test_deadline(self):
        """ETIME, and the peer is told."""
        self.peer.open()
        self.a.knob("deadline_ms", 30)
        writer = self.out()
        self.assertEqual(writer.result(), -errno.ETIME)
        self.peer.expect(oae.OFFER, seq=1, kind=oae.VOID)
        self.assert_outcomes(reversed_=1)

    def test_deadline_kept(self):
        """In time is in time."""
        self.peer.open()
        self.a.knob("deadline_ms", 60000)
        writer = self.a.start_write(b"data")
        self.peer.accept()
        self.assertEqual(writer.result(), 4)
        self.assert_outcomes(committed=1)

    def anyone(self):
        """Three writes that nobody answers, and then the peer is dead."""
        before = self.moved()
        writers = [self.a.start_write(b"anyone?") for _ in range(3)]
        wait_for(lambda: self.moved()["posted"] == before["posted"] + 3, "all to wait")
        self.a.knob("dead_ms", 100)
        self.assertEqual([w.result() for w in writers], [-errno.ENOLINK] * 3)
        after = self.moved()
        self.assertEqual([after[n] - before[n] for n in ("reversed", "note_down")], [3, 1])

    def test_dead_peer(self):
        """ENOLINK: nobody has ever answered. There is no link then."""
        self.a.knob("stall_min_us", 10000)
        self.anyone()
        self.assertEqual(self.a.tags(), [])

    def test_peer_died(self):
        """ENOLINK: a link that has worked is kept for a while, for it may be back."""
        self.peer.open()
        self.peer.offered(b"worked")
        self.peer.commit()
        self.peer.silence()
        self.a.knob("stall_min_us", 10000)
        self.anyone()
        self.assertEqual(self.a.tag(self.vc)["state"], "DOWN")
        self.a.knobs(stall_min_us=1000000, dead_ms=3600000)
        writer = self.a.start_write(b"back?")
        wait_for(lambda: self.moved()["posted"] == 4, "it to be posted")
        sync = self.peer.next()
        while sync.opcode != oae.SYNC or sync.src_ltag == self.peer.far_ltag:
            sync = self.peer.next()
        self.peer.far_ltag, self.peer.ltag = sync.src_ltag, self.peer.draw()
        self.peer.send(oae.SYNC)
        offer = self.peer.next()
        while offer.opcode != oae.OFFER or offer.dst_ltag != self.peer.ltag:
            offer = self.peer.next()
        self.peer.reflect(offer, [b"back?"])
        self.assertEqual(writer.result(), 5)
        self.assert_outcomes(committed=1, reversed_=3)
        self.assertEqual(self.moved()["note_up"], 1)

    def test_refused_by_policy(self):
        """ECONNREFUSED: the peer says CLOSE with a reason to the first SYNC."""
        for reason in (oae.POLICY, oae.FULL):
            writer = self.a.start_write(b"let me in")
            sync = self.peer.expect(oae.SYNC)
            # Anybody's; and one that answers another SYNC than this.
            self.peer.send(oae.CLOSE, reason=reason, dst_ltag=sync.src_ltag ^ 1,
                           src_ltag=sync.dst_ltag)
            self.peer.send(oae.CLOSE, reason=reason, dst_ltag=sync.src_ltag,
                           src_ltag=sync.dst_ltag ^ 1)
            self.wire.barrier(self.peer.to)
            self.assertFalse(writer.done)
            self.peer.send(oae.CLOSE, reason=reason, dst_ltag=sync.src_ltag,
                           src_ltag=sync.dst_ltag)
            self.assertEqual(writer.result(), -errno.ECONNREFUSED)
        self.assert_outcomes(reversed_=2)

    def test_closed_by_the_peer(self):
        """EPIPE: what waits; what is out still ends as it ends."""
        self.peer.open()
        first = self.out(b"first")
        second = self.a.start_write(b"second")
        third = self.a.start_write(b"third")
        wait_for(lambda: self.a.tag(self.vc)["queue"] == 1, "one to be queued")
        self.peer.send(oae.CLOSE, seq=1)        # the first is held
        self.assertEqual([second.result(), third.result()], [-errno.EPIPE] * 2)
        fourth = self.a.start_write(b"fourth")
        wait_for(lambda: self.moved()["posted"] == 4, "the fourth")
        self.peer.reflect(self.peer.frame(oae.OFFER, seq=1), [b"first"])
        self.assertEqual(first.result(), 5)
        self.peer.expect(oae.COMMIT, tx=1, flags=oae.WANT_DONE)
        self.peer.send(oae.DONE, rx=1, seq=1)
        self.peer.expect(oae.CLOSE_ACK)
        self.assertEqual(fourth.result(), -errno.EPIPE)
        self.assert_outcomes(committed=1, reversed_=3)

    def test_shutdown(self):
        """ESHUTDOWN: closed at this end; what is out still ends as it ends."""
        self.peer.open()
        first = self.out(b"first")
        second = self.a.start_write(b"second")
        wait_for(lambda: self.moved()["posted"] == 2, "the second")
        self.a.knob("shutdown", 1)
        self.assertEqual(second.result(), -errno.ESHUTDOWN)
        self.peer.reflect(self.peer.frame(oae.OFFER, seq=1), [b"first"])
        self.assertEqual(first.result(), 5)
        self.assert_outcomes(committed=1, reversed_=1)

    def test_port_removed(self):
        """ECANCELED: the port goes, with linger_ms over."""
        self.peer.open()
        writer = self.out()
        self.a.knob("dev", "")
        self.assertEqual(writer.result(), -errno.ECANCELED)
        self.assert_outcomes(reversed_=1)

    def test_refused_for_good(self):
        """EMSGSIZE and EOPNOTSUPP: the peer takes no such transaction; the next goes on."""
        self.peer.open()
        for seq, (reason, code) in enumerate(((oae.TOO_BIG, errno.EMSGSIZE),
                                              (oae.KIND, errno.EOPNOTSUPP)), 1):
            writer = self.a.start_write(b"take this")
            self.peer.take(seq=seq)
            self.peer.send(oae.REFUSE, seq=seq, reason=reason)
            self.assertEqual(writer.result(), -code)
            self.peer.voided(seq)
        writer = self.a.start_write(b"or this")
        self.assertEqual(self.peer.accept(seq=3), b"or this")
        self.assertEqual(writer.result(), 7)
        self.assert_outcomes(committed=1, reversed_=2)

    def test_peer_busy(self):
        """A parked one waits, and is not in the way of a signal."""
        self.peer.open()
        writer = self.out()
        self.peer.send(oae.REFUSE, seq=1, reason=oae.BUSY)
        self.peer.silence()
        self.assertFalse(writer.done)
        self.interrupt(writer)

    # Express.

    def test_express_and_a_signal(self):
        """EINPROGRESS, and it is recalled: the outcome is counted when it is known."""
        self.peer.open()
        self.a.knob("express", 1)
        writer = self.out()
        writer.signal()
        self.assertEqual(writer.result(), -errno.EINPROGRESS)
        self.peer.expect(oae.OFFER, seq=1, kind=oae.VOID)
        self.peer.silence()
        self.assert_outcomes()
        self.peer.rx = 1                # it has delivered it
        self.peer.reflect(self.peer.frame(oae.OFFER, seq=1), [b"data"])
        self.peer.silence()
        self.assert_outcomes(committed=1)

    def test_express_and_a_deadline(self):
        """The same with a deadline; the peer has not delivered it."""
        self.peer.open()
        self.a.knobs(express=1, deadline_ms=30)
        writer = self.out()
        self.assertEqual(writer.result(), -errno.EINPROGRESS)
        void, _ = self.peer.take(seq=1, kind=oae.VOID)
        self.assert_outcomes()
        self.peer.reflect(void, [b""])
        self.peer.expect(oae.COMMIT, tx=1)
        self.assert_outcomes(reversed_=1)

    def test_express_not_yet_out(self):
        """One that is not offered yet is reversed like any other."""
        self.a.knob("express", 1)
        writer = self.a.start_write(b"hello?")
        self.peer.expect(oae.SYNC)
        self.interrupt(writer)
        self.assert_outcomes(reversed_=1)

    def test_express_recalled_over_a_freeze(self):
        """What was recalled stays in doubt: the peer's counters tell, or it is recalled again."""
        self.a.knob("express", 1)
        for seq, delivered in (1, False), (2, True):
            if not delivered:
                self.peer.open()
            writer = self.a.start_write(b"data")
            self.peer.take(seq=seq, kind=oae.MESSAGE)
            writer.signal()
            self.assertEqual(writer.result(), -errno.EINPROGRESS)
            self.peer.take(seq=seq, kind=oae.VOID)
            self.peer.rx += delivered
            self.peer.anew()
            if not delivered:
                self.peer.voided(seq)
            self.peer.silence()
            self.assert_outcomes(committed=int(delivered), reversed_=1)

    def test_express_recalled_and_the_peer_died(self):
        """Nobody will ever know: that is counted, too."""
        self.peer.open()
        self.a.knob("express", 1)
        writer = self.out()
        writer.signal()
        self.assertEqual(writer.result(), -errno.EINPROGRESS)
        self.peer.take(seq=1, kind=oae.VOID)
        self.peer.inc += 1
        self.peer.far_inc = 0
        self.peer.anew(peer_inc=0)
        self.peer.silence()
        self.assert_outcomes(unknown=1)

    def test_express_and_the_end(self):
        """EOWNERDEAD: the port goes while it is out: nobody will ever know."""
        self.peer.open()
        self.a.knob("express", 1)
        writer = self.out()
        self.a.knob("dev", "")
        self.assertEqual(writer.result(), -errno.EOWNERDEAD)
        self.assert_outcomes(unknown=1)

    # poll.

    def test_poll(self):
        """Writable while the queue has room, readable while something is unread."""
        self.peer.open()
        fd = self.a.open()
        self.addCleanup(os.close, fd)
        self.assertEqual(self.poll(fd), select.POLLOUT)
        self.a.knob("sndq", 1)
        self.fill()
        self.peer.take(seq=1)
        self.assertEqual(self.poll(fd), 0)
        self.peer.offered(b"something")
        self.peer.commit()
        self.peer.inbox.clear()
        self.assertTrue(wait_for(lambda: self.poll(fd) & select.POLLIN, "something to read"))
        self.assertEqual(os.read(fd, 4), b"some")
        self.assertTrue(self.poll(fd) & select.POLLIN)
        self.assertEqual(os.read(fd, 100), b"thing")
        self.assertFalse(self.poll(fd) & select.POLLIN)

    def test_poll_wakes(self):
        """Whoever waits in poll() is woken by what comes."""
        self.peer.open()
        fd = self.a.open(flags=os.O_RDONLY)
        self.addCleanup(os.close, fd)
        ready = []

        def wait():
            p = select.poll()
            p.register(fd, select.POLLIN)
            ready.extend(p.poll(10000))

        thread = threading.Thread(target=wait)
        thread.start()
        self.peer.offered(b"wake up")
        self.assertEqual(ready, [])
        self.peer.commit()
        thread.join(10)
        self.assertEqual([r & select.POLLIN for _, r in ready], [select.POLLIN])

    def test_no_link_for_nothing(self):
        """A write that was refused before it was queued leaves no tag."""
        self.a.mtu("va", 128)
        try:
            self.assert_errno(errno.EMSGSIZE, self.a.write, bytes(64 * 80 + 1))
            self.assertEqual(self.a.tags(), [])
        finally:
            self.a.mtu("va", 1500)
        self.a.knob("shutdown", 1)
        self.assert_errno(errno.ESHUTDOWN, self.a.write, b"x")
        self.assertEqual(self.a.tags(), [])

    def test_poll_makes_no_link(self):
        """Only asking costs no tag."""
        self.a.aim("abcdef")
        fd = self.a.open()
        self.poll(fd)
        os.close(fd)
        self.assertEqual(self.a.tags(), [])

    def test_files(self):
        """They are where people look for them."""
        self.assertTrue(os.path.exists(NOC_DEBUG))
        self.assertTrue((PARAMETERS / "dev").exists())


class Reversed(OneCable):
    """b is single-stepped: what a has sent lies there, and may be let in at any time."""

    @classmethod
    def build(cls):
        super().build()
        cls.a.knobs(target=cls.cable.mac_b, stall_max_us=10000000, stall_min_us=1000000)

    def step_all(self):
        """Let everything in."""
        self.b.knob("wkstep", 0)

    def test_never_delivered(self):
        """A write that a signal reversed is never seen, however late its frames come."""
        self.a.write(b"open")
        self.assertEqual(self.b.read_one(), b"open")
        for round_ in range(5):
            for steps in range(3):      # what of it has been let in before the signal
                self.b.knob("wkstep", 1)
                writer = self.a.start_write(b"never" * 500)
                wait_for(lambda: self.a.tag()["offer"] == "out", "the offer to be out")
                for _ in range(steps if round_ % 2 else 0):
                    self.b.knob("wkstep", "s")
                if not writer.done:
                    writer.signal()
                result = writer.result()
                self.step_all()
                if result == -errno.EINTR:
                    self.assertEqual(self.a.write(b"next"), 4)
                    self.assertEqual(self.b.read_one(), b"next")
                else:
                    self.assertEqual(self.b.read_one(), b"never" * 500)
        self.assertEqual(self.b.read_all(), b"")
        self.assertGreater(self.a.stat("reversed"), 5)

    def test_storm_of_signals(self):
        """Signals at any moment: what was committed is there once, in order; nothing else."""
        os.sched_setaffinity(0, range(os.cpu_count()))
        self.a.knobs(stall_min_us=1000)
        committed = []
        for n in range(150):
            data = b"%d " % n * (1 + n % 7 * 50)
            writer = self.a.start_write(data)
            for _ in range(n % 5 * 20):
                if writer.done:
                    break
            writer.signal()
            if writer.result() > 0:
                committed.append(data)
        wait_for(lambda: self.b.stat("delivered") == self.a.stat("committed"), "the last commit")
        self.assertEqual(self.b.read_each(), committed)
