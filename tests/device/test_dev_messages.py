# SPDX-License-Identifier: GPL-2.0
"""Messages through /dev/oae: what a program is told, every error number of the table, and that it
is true."""

import errno
import mmap
import os
import signal
from ctypes import c_size_t, c_void_p
from operator import ne

import oaedev as dev
import oaewire as oae
from devtest import (BAND, ERR, HUP, IN, OUT, PRI, Call, Memory, OaeFile, Scripted, TwoEnds,
                     in_process)
from oaedev import SYS_FSYNC, SYS_WRITE
from oaepeer import Peer, Wire
from oaetest import LIBC, wait_for
from patience import SLOW, times


class Told(Scripted):
    __doc__ = Scripted.__doc__

    def out(self, file, data=b"data", seq=1):
        """A write under way, its offer out."""
        call = Call(file.write, data)
        self.peer.take(seq=seq)
        return self.waits(call)

    def reflect(self, data=b"data", **given):
        """Say that it was heard."""
        self.peer.reflect(self.peer.frame(oae.OFFER, seq=1), [data], **given)

    def express(self, **how):
        """A file whose first write, an express, is out, and the call."""
        file = self.opened(**how)
        file.set_options(flags=dev.OPT_EXPRESS)
        return file, self.out(file)

    def again(self):
        """Another link."""
        self.vc = next(self.vcs)
        self.peer = Peer(self.wire, self.cable.mac_a, vc=self.vc)

    # Committed.

    def test_committed(self):
        """Not before the peer has reflected it, and then at once."""
        file = self.opened()
        call = self.out(file)
        self.reflect()
        self.assertEqual(call.result(), 4)
        self.peer.expect(oae.COMMIT, tx=1)
        self.assertEqual((file.status().tx, file.status().committed), (1, 1))

    def test_opens_the_link(self):
        """Writing does, or OAE_ATTACH_OPEN; attaching alone sends nothing."""
        file = self.file()
        self.silent()
        self.assertEqual(file.state, "CLOSED")
        call = Call(file.write, b"data")
        self.peer.answer_sync()
        self.assertEqual(self.peer.accept(seq=1), b"data")
        self.assertEqual(call.result(), 4)

    def test_attach_open(self):
        """The link opens without waiting for anybody to write."""
        file = self.file(flags=dev.ATTACH_OPEN)
        self.peer.answer_sync()
        wait_for(lambda: file.state == "OPEN", "the link to open")

    # Reversed: each error number, and that the peer is told or need not be.

    def test_eintr(self):
        """A signal; the peer is told."""
        file = self.opened()
        call = self.out(file)
        call.signal()
        self.ends_in(call, errno.EINTR)
        self.peer.voided(1)
        self.assertEqual(file.status().reversed, 1)
        self.assertEqual(file.collect(), [])        # it was told already

    def test_ecanceled(self):
        """OAE_CANCEL by somebody else: this one, or all."""
        file = self.opened()
        for seq, which in enumerate((file.status().next_id, 0), 1):
            call = self.out(file, seq=seq)
            file.cancel(which)
            self.ends_in(call, errno.ECANCELED)
            self.peer.voided(seq)

    def test_ecanceled_port(self):
        """The port is removed."""
        file = self.opened()
        call = self.out(file)
        self.a.knob("dev", "")
        self.ends_in(call, errno.ECANCELED)
        self.assertTrue(file.status().flags & dev.ST_DEAD)

    def test_etime(self):
        """The deadline."""
        file = self.opened(deadline_ms=30)
        call = self.out(file)
        self.ends_in(call, errno.ETIME)
        self.peer.voided(1)

    def test_etime_queued(self):
        """The deadline of one that nobody waits for."""
        file = self.opened(deadline_ms=30, nonblock=True)
        file.write(b"data")
        file.write(b"more")
        self.peer.take(seq=1)
        self.assert_outcomes(file, (1, "R", errno.ETIME), (2, "R", errno.ETIME))
        self.peer.voided(1)
        self.silent()

    def test_deadline_kept(self):
        """In time is in time; and it counts anew for each."""
        file = self.opened(deadline_ms=5000)
        for n in range(1, 4):
            call = Call(file.write, b"data")
            self.assertEqual(self.peer.accept(seq=n), b"data")
            self.assertEqual(call.result(), 4)
            self.peer.expect(oae.COMMIT)

    def test_enolink(self):
        """No answer for dead_ms."""
        file = self.opened()
        call = self.out(file)
        self.a.knobs(stall_min_us=10000, dead_ms=100)
        self.peer.send(oae.READY)        # any frame of the link, lest it look later
        self.ends_in(call, errno.ENOLINK)
        self.assertTrue(file.status().flags & dev.ST_DOWN)

    def test_eshutdown(self):
        """The link is closed at this end: what waits; what is out ends as it ends."""
        file = self.opened()
        first = self.out(file)
        second = Call(file.write, b"second")
        wait_for(lambda: file.status().pending == 2, "the second")
        Call(self.a.close_tag, self.cable.mac_b, self.vc)
        self.ends_in(second, errno.ESHUTDOWN)
        self.reflect()
        self.assertEqual(first.result(), 4)

    def test_epipe(self):
        """It is closed by the peer."""
        file = self.opened()
        first = self.out(file)
        second = Call(file.write, b"second")
        wait_for(lambda: file.status().pending == 2, "the second")
        self.peer.send(oae.CLOSE, seq=1)        # the first is held
        self.ends_in(second, errno.EPIPE)
        self.reflect()
        self.assertEqual(first.result(), 4)
        self.peer.expect(oae.COMMIT, tx=1, flags=oae.WANT_DONE)
        self.peer.send(oae.DONE, rx=1, seq=1)
        self.peer.expect(oae.CLOSE_ACK)

    def test_econnrefused(self):
        """The peer's policy."""
        for reason in (oae.POLICY, oae.FULL):
            file = self.file()
            call = Call(file.write, b"let me in")
            sync = self.peer.expect(oae.SYNC)
            self.peer.send(oae.CLOSE, reason=reason, dst_ltag=sync.src_ltag,
                           src_ltag=sync.dst_ltag)
            self.ends_in(call, errno.ECONNREFUSED)

    def test_emsgsize(self):
        """More than this end's max_len, than the peer's, than 64 slices; or the peer says so."""
        self.peer.max_len = 5000
        file = self.opened()
        self.a.knob("max_len", 10000)
        self.fails(errno.EMSGSIZE, file.write, bytes(10001))
        self.fails(errno.EMSGSIZE, file.write, bytes(5001))
        call = self.out(file)
        self.peer.send(oae.REFUSE, seq=1, reason=oae.TOO_BIG)
        self.ends_in(call, errno.EMSGSIZE)
        self.assertEqual(file.status().max_len, 5000)

    def test_refused_for_good(self):
        """EOPNOTSUPP, and what a peer says of verbs: each has a number of its own."""
        file = self.opened()
        call = self.out(file)
        self.peer.send(oae.REFUSE, seq=1, reason=oae.KIND)
        self.ends_in(call, errno.EOPNOTSUPP)
        self.peer.voided(1)
        for seq, (reason, code) in enumerate((
                (9, errno.ENXIO), (10, errno.ERANGE), (11, errno.EACCES), (12, errno.EBADMSG),
                (oae.KIND, errno.EOPNOTSUPP), (oae.TOO_BIG, errno.EMSGSIZE)), 2):
            call = Call(file.verb, 1, dev.read_op(0))
            self.peer.take(seq=seq, kind=oae.VERB)
            self.peer.send(oae.REFUSE, seq=seq, kind=oae.VERB, reason=reason)
            self.ends_in(call, code)
            self.peer.voided(seq)

    def test_parked(self):
        """Refused as BUSY it waits, and is reversed freely."""
        file = self.opened()
        call = self.out(file)
        self.peer.send(oae.REFUSE, seq=1, reason=oae.BUSY)
        self.silent()
        self.waits(call, file)
        call.signal()
        self.ends_in(call, errno.EINTR)
        self.peer.voided(1)

    # Unknown, and not yet known.

    def test_eownerdead(self):
        """An express is out, and the peer's end is a new one: it may have been delivered."""
        file = self.opened(flags=0)
        file.set_options(flags=dev.OPT_EXPRESS)
        call = self.out(file)
        self.peer.inc, self.peer.tx = self.peer.inc ^ 1, 0
        self.peer.anew()
        self.ends_in(call, errno.EOWNERDEAD)
        status = file.status()
        self.assertEqual((status.unknown, status.committed, status.reversed), (1, 0, 0))
        self.assertTrue(status.events & dev.EVENT_PEER_NEW)

    def test_einprogress_signal(self):
        """An express is out and a signal comes: its outcome is collected when it is known."""
        file, call = self.express()
        call.signal()
        self.ends_in(call, errno.EINPROGRESS)
        self.peer.expect(oae.OFFER, seq=1, kind=oae.VOID)
        self.assertEqual(file.collect(), [])
        status = file.status()
        self.assertEqual((status.pending, status.uncollected), (1, 0))
        self.assertFalse(file.poll() & PRI)
        self.reflect(rx=1)
        wait_for(lambda: file.poll() & PRI, "POLLPRI")
        self.assert_outcomes(file, (1, "C", 0))
        self.assertEqual(file.status().pending + file.status().uncollected, 0)

    def test_einprogress_deadline(self):
        """The same with a deadline, blocking or not; cancelling it says the same."""
        file, call = self.express(deadline_ms=int(100 * SLOW))
        self.ends_in(call, errno.EINPROGRESS)
        self.fails(errno.EINPROGRESS, file.cancel, 1)
        self.reflect(rx=1)
        self.assert_outcomes(file, (1, "C", 0))
        self.fails(errno.ENOENT, file.cancel, 1)

    def test_express_recalled(self):
        """It was not delivered: it is reversed, when the peer has said so, for what recalled it."""
        for how, code in (("signal", errno.EINTR), ("cancel", errno.ECANCELED),
                          ("deadline", errno.ETIME)):
            with self.subTest(how):
                self.again()
                file, call = self.express(**{"deadline_ms": 100} if how == "deadline" else {})
                if how == "signal":
                    call.signal()
                elif how == "cancel":
                    self.fails(errno.EINPROGRESS, file.cancel, 1)
                    self.waits(call)
                if how != "cancel":
                    self.ends_in(call, errno.EINPROGRESS)
                self.assertEqual(file.status().reversed, 0)
                self.peer.voided(1)
                if how == "cancel":
                    self.ends_in(call, code)
                else:
                    self.assert_outcomes(file, (1, "R", code))
                self.assertEqual(file.status().reversed, 1)

    def test_express_parked_and_recalled(self):
        """The peer takes nothing now, but may have delivered an earlier copy: that is asked, too."""
        for delivered in False, True:
            with self.subTest(delivered=delivered):
                self.again()
                file, call = self.express()
                self.peer.send(oae.REFUSE, seq=1, reason=oae.BUSY)
                wait_for(lambda: self.a.tag(self.vc)["offer"] == "parked", "it to be parked")
                self.fails(errno.EINPROGRESS, file.cancel)
                self.fails(errno.EINPROGRESS, file.cancel, 1)
                self.waits(call)
                void, _ = self.peer.take(seq=1, kind=oae.VOID)
                if delivered:
                    self.reflect(rx=1)
                    self.assertEqual(call.result(), 4)
                else:
                    self.peer.reflect(void, [b""])
                    self.ends_in(call, errno.ECANCELED)

    def test_express_behind_a_recalled_one(self):
        """It waits until it is known what became of the first."""
        file = self.opened(nonblock=True)
        file.set_options(flags=dev.OPT_EXPRESS)
        file.write(b"first")
        self.peer.take(seq=1)
        file.write(b"second")
        self.fails(errno.EINPROGRESS, file.cancel, 1)
        void, _ = self.peer.take(seq=1, kind=oae.VOID)
        self.silent()
        self.peer.reflect(void, [b""])
        self.peer.rx = 1
        self.assertEqual(self.peer.accept(seq=2, flags=oae.EXPRESS | oae.LAST), b"second")
        self.assert_outcomes(file, (1, "R", errno.ECANCELED), (2, "C", 0))

    def test_express_not_yet_out(self):
        """One that was not offered is reversed like any other."""
        file = self.file()
        file.set_options(flags=dev.OPT_EXPRESS)
        call = Call(file.write, b"hello?")
        self.peer.expect(oae.SYNC)
        call.signal()
        self.ends_in(call, errno.EINTR)

    # Nothing was begun.

    def test_not_attached(self):
        """ENOTCONN, whatever is asked of a file that is an end of nothing."""
        file = self.later(OaeFile(self.a))
        for function, *args in ((file.write, b"x"), (file.read,), (file.fsync,), (file.collect,),
                                (file.cancel,), (file.swap, b"x"), (file.status,), (file.unread,),
                                (file.verb, 1, dev.read_op(0)), (file.expose, 8, 1, 7)):
            self.fails(errno.ENOTCONN, function, *args)
        self.fails(errno.ENXIO, file.local, dev.read_op(0))
        self.assertEqual(file.poll(), ERR)

    def test_nobody_there(self):
        """ENODEV: no such port, or none."""
        for port in ("nosuch", "lo", "x" * 15):
            self.fails(errno.ENODEV, self.file, port=port)
        self.a.knob("dev", "")
        self.fails(errno.ENODEV, self.file)

    def test_bad_addresses(self):
        """EINVAL, or EDESTADDRREQ for none at all."""
        for mac in ("ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", self.cable.mac_a):
            file = self.later(OaeFile(self.a))
            self.fails(errno.EINVAL, file.attach, mac, self.vc)
        file = self.later(OaeFile(self.a))
        with self.assertRaises(OSError) as caught:
            file.attach(bytes(6), self.vc)
        self.assertIn(caught.exception.errno, (errno.EINVAL, errno.EDESTADDRREQ))

    def test_twice(self):
        """EISCONN"""
        file = self.file()
        self.fails(errno.EISCONN, file.attach, self.cable.mac_b, self.vc)
        self.fails(errno.EISCONN, file.listen)

    def test_max_tags(self):
        """ENOBUFS"""
        self.a.knob("max_tags", 1)
        self.file()
        file = self.later(OaeFile(self.a))
        self.fails(errno.ENOBUFS, file.attach, self.cable.mac_b, self.vc + 1)
        file.attach(self.cable.mac_b, self.vc)      # the same link: no more tags

    def test_shut(self):
        """ESHUTDOWN: the host takes no links."""
        file = self.file()
        self.a.knob("shutdown", 1)
        self.fails(errno.ESHUTDOWN, file.write, b"x")

    def test_shut_while_waiting(self):
        """ESHUTDOWN, too, for who waits for room in the file, the link being CLOSED."""
        file = self.file(nonblock=True, queue=1)
        file.write(b"not collected")
        self.a.close_tag(self.cable.mac_b, self.vc)
        wait_for(lambda: file.state == "CLOSED", "the link to be closed")
        file.nonblock(False)
        call = Call(file.write, b"waits")
        wait_for(lambda: call.sleeps(SYS_WRITE), "it to wait")
        self.a.knob("shutdown", 1)
        self.ends_in(call, errno.ESHUTDOWN)

    def attach_and_close(self, turns, n):
        """Again and again, slowly, in a process; turns[n] says how often, modulo 256."""
        os.nice(19)
        while True:
            turns[n] = (turns[n] + 1) % 256
            try:
                OaeFile.to(self.a, self.cable.mac_b, vc=self.vc, flags=dev.ATTACH_OPEN).close()
            except OSError as e:
                if e.errno != errno.ESHUTDOWN:
                    raise

    def test_shut_while_attaching(self):
        """Once `shutdown` is set no link is opened any more, not by an attach under way either."""
        self.preemptible()

        def busy():
            os.kill(os.getpid(), signal.SIGSTOP)
            while True:
                pass
        # Those that attach are interrupted anywhere, and for long.
        turns = mmap.mmap(-1, 6)
        children = [in_process(self.attach_and_close, turns, n) for n in range(6)]
        hogs = [in_process(busy) for _ in range(2)]
        for pid in children + hogs:
            self.addCleanup(os.waitpid, pid, 0)
            self.addCleanup(os.kill, pid, signal.SIGKILL)
        for _ in range(times(6)):
            wait_for(lambda: self.a.tag(self.vc), "one to be attached")
            for pid in hogs:
                os.kill(pid, signal.SIGCONT)
            self.a.knob("shutdown", 1)
            for pid in hogs:
                os.kill(pid, signal.SIGSTOP)
            before = bytes(turns)
            wait_for(lambda before=before: all(map(ne, before, bytes(turns))), "each to have attached", 20)
            self.assertEqual([t for t in self.a.tags() if t["state"] != "CLOSED"], [])
            self.a.knob("shutdown", 0)
        self.a.knob("shutdown", 1)

    def test_ebadf(self):
        """Opened for the other thing."""
        for flags, wrong in ((os.O_RDONLY, "write"), (os.O_WRONLY, "read")):
            file = self.later(OaeFile(self.a, flags))
            file.attach(self.cable.mac_b, self.vc)
            self.fails(errno.EBADF, getattr(file, wrong), *([b"x"] if wrong == "write" else []))

    def test_nothing(self):
        """A write of nothing does nothing."""
        file = self.file()
        try:
            self.assertEqual(file.write(b""), 0)
        except OSError as e:
            self.assertEqual(e.errno, errno.EINVAL)
        self.silent()
        self.assertEqual(file.status().pending, 0)

    def test_dead(self):
        """ENODEV once the port is gone; reads give what is unread, then 0; POLLHUP."""
        file = self.opened()
        self.peer.offered(b"unread")
        self.peer.commit()
        self.peer.inbox.clear()
        wait_for(lambda: file.status().unread == 1, "it to be there")
        self.a.knob("dev", "")
        self.assertTrue(file.poll() & HUP)
        status = file.status()
        self.assertTrue(status.flags & dev.ST_DEAD)
        self.assertTrue(status.events & dev.EVENT_DEAD)
        self.fails(errno.ENODEV, file.write, b"x")
        self.fails(errno.ENODEV, file.swap, b"x")
        self.fails(errno.ENODEV, file.verb, 1, dev.read_op(0))
        self.assertEqual([file.read(), file.read(), file.read()], [b"unread", b"", b""])
        self.a.knob("dev", "va")
        self.fails(errno.ENODEV, file.write, b"x")      # attach anew
        self.fails(errno.EISCONN, file.attach, self.cable.mac_b, self.vc)

    # Reading.

    def test_read(self):
        """Boundaries kept; too small a buffer loses nothing; FIONREAD tells the size."""
        file = self.opened(nonblock=True)
        self.fails(errno.EAGAIN, file.read)
        self.assertEqual(file.unread(), 0)
        for data in (b"first", b"the second", bytes(5000)):
            self.peer.offered(data)
            self.peer.commit()
        self.peer.inbox.clear()
        wait_for(lambda: file.status().unread == 3, "three to read")
        self.assertTrue(file.poll() & IN)
        self.assertEqual(file.unread(), 5)
        self.fails(errno.EMSGSIZE, file.read, 4)
        self.assertEqual(file.unread(), 5)
        self.assertEqual(file.read(5), b"first")
        self.fails(errno.EMSGSIZE, file.read, 5)
        self.assertEqual(file.read(10000), b"the second")
        self.fails(errno.EMSGSIZE, file.read, 4999)
        parts = [bytearray(n) for n in (1, 999, 3000, 1000)]
        self.assertEqual(os.readv(file.fd, parts), 5000)
        self.assertEqual(b"".join(parts), bytes(5000))
        self.fails(errno.EAGAIN, file.read)
        self.assertFalse(file.poll() & IN)

    def test_read_bad_address(self):
        """EFAULT, and it is there all the same for who asks better."""
        file = self.opened()
        self.peer.offered(b"still here" * 300)
        self.peer.commit()
        self.silent()
        for address in (0, 16, 1 << 47, (1 << 64) - 100):
            self.assertEqual(LIBC.read(file.fd, c_void_p(address), c_size_t(4000)), -1)
        self.assertEqual(file.read(), b"still here" * 300)

    def test_read_waits(self):
        """For the next, or a signal."""
        file = self.opened()
        call = Call(file.read)
        wait_for(lambda: not call.signal() and call.done, "the read to return")
        self.ends_in(call, errno.EINTR)
        call = Call(file.read)
        self.peer.offered(b"at last")
        self.peer.commit()
        self.assertEqual(call.result(), b"at last")

    def test_not_for_noc_debug(self):
        """What comes for a file is its own; what it has not read is noc_debug's when it closes."""
        file = self.opened()
        for data in (b"one", b"two"):
            self.peer.offered(data)
            self.peer.commit()
        self.silent()
        self.assertEqual(self.a.read_all(), b"")
        self.assertEqual(file.read(), b"one")
        file.close()
        self.assertEqual(self.a.read_one(), b"two")

    def test_attached_later(self):
        """What was unread when it attaches is there for it."""
        self.peer.open()
        self.peer.offered(b"early")
        self.peer.commit()
        self.silent()
        file = self.file(nonblock=True)
        self.assertEqual(file.read(), b"early")
        self.assertEqual(self.a.read_all(), b"")

    # The queue of a file.

    def test_queue(self):
        """Not blocking: queued, outcomes in order, many at a time."""
        file = self.opened(nonblock=True)
        for n in range(20):
            self.assertEqual(file.write(b"%d" % n), len(b"%d" % n))
        self.assertEqual(file.status().pending, 20)
        self.assertEqual(file.collect(), [])
        self.assertFalse(file.poll() & PRI)
        for n in range(20):
            self.assertEqual(self.peer.accept(seq=n + 1), b"%d" % n)
        self.peer.expect(oae.COMMIT, tx=20)
        wait_for(lambda: file.status().uncollected == 20, "all outcomes")
        self.assertTrue(file.poll() & PRI)
        got = [file.collect(most) for most in (1, 5, 100)]
        self.assertEqual([len(some) for some in got], [1, 5, 14])
        self.assertEqual([o.id for some in got for o in some], list(range(1, 21)))
        self.assertEqual({(o.result, o.err, o.kind, o.data) for some in got for o in some},
                         {(dev.COMMITTED, 0, dev.MESSAGE, b"")})
        self.assertFalse(file.poll() & PRI)
        self.assertEqual(file.status().next_id, 21)

    def test_queue_limit(self):
        """As many as `queue`, collected or not; then EAGAIN, and no POLLOUT."""
        file = self.opened(nonblock=True, queue=3)
        for _ in range(3):
            file.write(b"x")
        self.fails(errno.EAGAIN, file.write, b"x")
        self.assertFalse(file.poll() & OUT)
        for n in range(3):
            self.peer.accept(seq=n + 1)
        self.peer.expect(oae.COMMIT)
        wait_for(lambda: file.status().uncollected == 3, "all outcomes")
        self.fails(errno.EAGAIN, file.write, b"x")      # not collected
        self.assertFalse(file.poll() & OUT)
        self.assertEqual(len(file.collect(2)), 2)
        self.assertTrue(file.poll() & OUT)
        file.write(b"x")
        file.write(b"x")
        self.fails(errno.EAGAIN, file.write, b"x")

    def test_queue_bytes(self):
        """And bytes of them, which one may pass: else it would be kept out for ever."""
        file = self.opened(nonblock=True, queue_bytes=1000)
        file.write(bytes(600))
        self.assertTrue(file.poll() & OUT)
        file.write(bytes(3000))
        self.fails(errno.EAGAIN, file.write, b"x")
        self.assertFalse(file.poll() & OUT)
        file.cancel()
        file.collect_all(2)
        self.assertTrue(file.poll() & OUT)

    def test_blocks_at_the_limit(self):
        """A blocking write waits for room; a signal then: EINTR, and it never was."""
        file = self.opened(queue=1)
        first = self.out(file)
        second = Call(file.write, b"second")
        wait_for(lambda: not second.signal() and second.done, "the second to return")
        self.ends_in(second, errno.EINTR)
        third = Call(file.write, b"third")
        self.reflect()
        self.assertEqual(first.result(), 4)
        self.peer.rx = 1
        f = self.peer.next()
        while f.opcode != oae.OFFER:
            f = self.peer.next()
        self.assertEqual((f.seq, f.payload), (2, b"third"))
        self.peer.reflect(f, [b"third"])
        self.assertEqual(third.result(), 5)

    def test_ids(self):
        """All transactions are numbered, blocking or not; blocking ones are not collected."""
        file = self.opened()
        self.assertEqual(file.status().next_id, 1)
        call = Call(file.write, b"one")
        self.peer.accept(seq=1)
        call.result()
        self.peer.expect(oae.COMMIT)
        file.nonblock()
        file.write(b"two")
        self.peer.accept(seq=2)
        self.peer.expect(oae.COMMIT)
        self.assert_outcomes(file, (2, "C", 0))
        self.assertEqual(file.swap(b"half"), 3)
        self.assertEqual(file.verb(1, dev.read_op(0)), 4)
        file.cancel()
        self.assertEqual(sorted((o.id, o.err) for o in file.collect_all(2)),
                         [(3, errno.ECANCELED), (4, errno.ECANCELED)])
        self.fails(errno.ENOENT, file.cancel, 2)
        self.fails(errno.ENOENT, file.cancel, 99)

    def test_cancel_one_of_many(self):
        """The others go on."""
        file = self.file(nonblock=True)
        for n in range(5):
            file.write(b"%d" % n)
        file.cancel(2)
        file.cancel(4)
        self.peer.answer_sync()
        for n, data in enumerate((b"0", b"2", b"4"), 1):
            self.assertEqual(self.peer.accept(seq=n), data)
        self.assert_outcomes(file, (1, "C", 0), (2, "R", errno.ECANCELED), (3, "C", 0),
                             (4, "R", errno.ECANCELED), (5, "C", 0))

    def test_outcomes_keep_order(self):
        """What ended early waits for what was queued before it."""
        file = self.opened(nonblock=True)
        file.write(b"first")
        self.peer.take(seq=1)
        file.write(b"second")
        file.cancel(2)
        self.assertEqual(file.collect(), [])
        self.reflect(b"first")
        self.assert_outcomes(file, (1, "C", 0), (2, "R", errno.ECANCELED))

    # fsync.

    def fsync(self, file):
        """fsync() of a transaction that is committed, and perhaps not delivered."""
        call = Call(file.write, b"data")
        self.peer.accept(seq=1)
        call.result()
        self.peer.expect(oae.COMMIT)
        return Call(file.fsync)

    def test_fsync(self):
        """Returns when the last that was committed is known to be delivered, not before."""
        file = self.opened()
        file.fsync()        # nothing was
        call = self.fsync(file)
        self.waits(call)
        f = self.peer.next()            # whatever it asks with
        self.waits(call)
        self.assertTrue(f.flags & oae.WANT_DONE or f.opcode == oae.SYNC, f)
        self.peer.send(oae.DONE, seq=1, rx=1)
        call.result()

    def test_fsync_interrupted(self):
        """EINTR, unless the handler has SA_RESTART."""
        file = self.opened()
        call = self.fsync(file)
        self.peer.next()
        call.restart(SYS_FSYNC)
        self.waits(call)
        call.signal()
        self.ends_in(call, errno.EINTR)

    def test_fsync_dead(self):
        """It will never be known."""
        file = self.opened()
        call = self.fsync(file)
        self.peer.next()
        self.a.knob("dev", "")
        self.assertNotIn(call.error(), ("0", "EINTR"))
        self.assertTrue(file.status().events & dev.EVENT_LOST)

    # Events.

    def test_events(self):
        """up, doubt, settled, a new peer, closed: told once each, and poll says so."""
        file = self.file(flags=dev.ATTACH_OPEN, nonblock=True)
        self.peer.answer_sync()
        wait_for(lambda: file.poll() & BAND, "an event")
        self.assertTrue(file.poll() & PRI)
        self.assertEqual(file.status().events, dev.EVENT_UP)
        self.assertFalse(file.poll() & (BAND | PRI))
        self.assertEqual(file.status().events, 0)
        file.write(b"data")
        self.peer.take(seq=1)
        self.peer.freeze()
        wait_for(lambda: file.poll() & BAND, "an event")
        status = file.status()
        self.assertEqual(status.events, dev.EVENT_DOUBT)
        self.assertTrue(status.flags & dev.ST_DOUBT)
        self.peer.resolve()
        wait_for(lambda: file.poll() & BAND, "an event")
        status = file.status()
        self.assertEqual(status.events & ~dev.EVENT_UP, dev.EVENT_SETTLED)
        self.assertFalse(status.flags & dev.ST_DOUBT)
        self.assertEqual(status.failures, 1)
        self.assertEqual(self.peer.accept(seq=1), b"data")
        self.peer.expect(oae.COMMIT)
        self.peer.send(oae.CLOSE)
        self.peer.expect(oae.CLOSE_ACK)
        wait_for(lambda: file.state == "CLOSED", "it to be closed")

    def test_event_closed(self):
        """CLOSED, and the file can go on: the link opens again, as a new one."""
        file = self.opened()
        file.status()
        self.peer.send(oae.CLOSE)
        self.peer.expect(oae.CLOSE_ACK)
        wait_for(lambda: file.poll() & BAND, "an event")
        self.assertEqual(file.status().events, dev.EVENT_CLOSED)
        self.peer = type(self.peer)(self.wire, self.cable.mac_a, vc=self.vc)
        call = Call(file.write, b"again")
        self.peer.answer_sync()
        self.assertEqual(self.peer.accept(seq=1), b"again")
        self.assertEqual(call.result(), 5)
        self.assertEqual(file.status().events & dev.EVENT_UP, dev.EVENT_UP)

    def test_event_each_file(self):
        """Each file is told; one that asks does not take them from the others."""
        files = [self.file(flags=dev.ATTACH_OPEN) for _ in range(3)]
        self.peer.answer_sync()
        for file in files:
            wait_for(lambda file=file: file.poll() & BAND, "an event")
            self.assertEqual(file.status().events, dev.EVENT_UP)

    def test_event_peer_new(self):
        """The peer's end is a new one; what was committed and not confirmed is LOST."""
        file = self.opened()
        call = Call(file.write, b"data")
        self.peer.accept(seq=1)
        call.result()
        self.peer.expect(oae.COMMIT)
        file.status()
        self.peer.inc, self.peer.tx, self.peer.rx = self.peer.inc ^ 1, 0, 0
        self.peer.anew()
        wait_for(lambda: file.state == "OPEN", "the link to be open")
        events = 0

        def told():
            nonlocal events
            events |= file.status().events
            return self.a.stat("note_peer_new") > self.before["note_peer_new"]
        wait_for(told, "the peer to be new")
        # The first look above may have taken some of them.
        self.assertEqual(self.a.stat("note_unconfirmed") - self.before["note_unconfirmed"], 1)


class Delivered(TwoEnds):
    __doc__ = TwoEnds.__doc__

    def test_sizes(self):
        """1 to max_len, write and writev, read and readv: whole, unaltered, in order."""
        a, b = self.opened()
        sizes = [1, 2, 7, 8, 9, 1451, 1452, 1453, 2904, 4095, 4096, 4097, 8192, 65535, 65536]
        for n, size in enumerate(sizes):
            data = os.urandom(size)
            if n % 2:
                self.assertEqual(a.write(data), size)
            else:
                third = size // 3
                parts = [data[:third], b"", data[third:2 * third], data[2 * third:]]
                self.assertEqual(os.writev(a.fd, parts), size)
            if n % 3:
                got = b.read()
            else:
                bufs = [bytearray(1 + size // 2), bytearray(0), bytearray(size)]
                size = os.readv(b.fd, bufs)
                got = b"".join(bufs)[:size]
            self.assertEqual(got, data)
        self.fails(errno.EMSGSIZE, a.write, bytes(65537))
        self.fails(errno.EMSGSIZE, os.writev, a.fd, [bytes(65536), b"x"])

    def test_bad_memory_is_not_sent(self):
        """EFAULT, though all but the end of it can be read: nothing is sent of it."""
        a, b = self.opened(nonblock=True)
        with Memory(3) as memory:
            memory.protect(2)
            for length in (8193, 9000):
                self.assertEqual(LIBC.write(a.fd, c_void_p(memory.at), c_size_t(length)), -1)
            self.assertEqual(LIBC.write(a.fd, c_void_p(memory.at), c_size_t(8192)), 8192)
        self.assert_outcomes(a, (2, "C", 0))
        wait_for(lambda: b.poll() & IN, "it to come")
        self.assertEqual(b.read(), bytes(8192))
        self.assertEqual(b.read_each(), [])

    def test_order(self):
        """Blocking, queued, express, from many at once: each writer's in its order, each once."""
        a, b = self.opened()
        express = self.at_a()
        express.set_options(flags=dev.OPT_EXPRESS)
        queued = self.at_a(nonblock=True)
        calls = [Call(lambda f=f, t=t: [f.write(b"%s %d" % (t, n)) for n in range(60)])
                 for f, t in ((a, b"atomic"), (a, b"other"), (express, b"express"),
                              (queued, b"queued"))]
        got = [b.read() for _ in range(240)]
        for call in calls:
            call.result()
        queued.collect_all(60)
        for who in (b"atomic", b"other", b"express", b"queued"):
            self.assertEqual([int(g.split()[1]) for g in got if g.split()[0] == who],
                             list(range(60)), who)
        self.assertEqual(b.unread(), 0)

    def test_reversed_is_never_delivered(self):
        """Signals, deadlines and cancelling at any moment: what was committed came once, in order,
        and nothing else did."""
        a, b = self.opened()
        self.cable.netem("delay 3ms 1ms")       # so that there is a moment
        self.addCleanup(self.cable.netem, None)
        committed = []
        for n in range(90):
            data = b"%d " % n * (1 + n % 7 * 80)
            a.set_options(deadline_ms=1 if n % 3 == 1 else 0)
            call = Call(a.write, data)
            for _ in range(n % 5 * 10 * (n % 2)):
                if call.done:
                    break
            if n % 10 in (3, 9):
                wait_for(lambda: call.done, "it to end in time")    # pylint: disable=W0640
            if n % 3 == 0:
                call.signal()
            elif n % 3 == 2:
                try:
                    a.cancel()
                except OSError as e:
                    self.assertEqual(e.errno, errno.ENOENT)
            how = call.error()
            self.assertIn(how, ("0", "EINTR", "ETIME", "ECANCELED"))
            if how == "0":
                committed.append(data)
        self.assertEqual(a.collect(), [])
        a.set_options(deadline_ms=0)
        a.write(b"last")
        got = []
        while not got or got[-1] != b"last":
            got.append(b.read())
        self.assertEqual(got, committed + [b"last"])
        self.assertGreater(len(committed), 10)
        self.assertLess(len(committed), 80)

    def test_enolink(self):
        """Nobody answers for dead_ms: reversed, and never delivered; the link comes up again."""
        a, b = self.opened()
        self.a.knobs(dead_ms=200, keepalive_ms=100)
        a.status()
        mend = self.lose()
        calls = [Call(a.write, b"never") for _ in range(3)]
        for call in calls:
            self.ends_in(call, errno.ENOLINK)
        status = a.status()
        self.assertTrue(status.events & dev.EVENT_DOWN)
        # It is forgotten some time after that.
        self.assertTrue(status.flags & dev.ST_DOWN or status.events & dev.EVENT_CLOSED, status)
        self.a.knobs(**self.knobs)
        mend()
        a.write(b"after")
        self.assertEqual(b.read(), b"after")
        self.assertFalse(a.status().flags & dev.ST_DOWN)

    def test_fsync(self):
        """When it returns the peer has delivered all; also many, express, over a lossy network."""
        a, b = self.opened()
        self.cable.netem("loss 10%")
        self.addCleanup(self.cable.netem, None)
        done = self.b.stat("delivered")
        for n in range(10):
            if n == 5:
                a.set_options(flags=dev.OPT_EXPRESS)
            for _ in range(n):
                a.write(b"data")
            a.fsync()
            done += n
            self.assertEqual(self.b.stat("delivered"), done)
        while b.unread():
            b.read()

    def test_fsync_down(self):
        """The peer cannot say that it has: it waits, down or not, until it hears."""
        a, b = self.opened()
        self.a.knobs(stall_max_us=1000000, stall_min_us=1000000)
        mend = self.lose(oae.DONE, oae.SYNC, oae.SYNC_ACK, oae.SYNC_CHK, of="b")
        down = self.a.stat("note_down")
        a.write(b"data")
        self.a.knobs(dead_ms=200, keepalive_ms=100)     # not before: it may take that long
        call = Call(a.fsync)
        wait_for(lambda: self.a.stat("note_down") > down or call.done, "a to give up")
        if call.done:
            self.assertNotIn(call.error(), ("0", "EINTR"))
        self.a.knobs(**self.knobs)
        mend()
        if not call.done:
            call.result()
        a.fsync()
        self.assertEqual(b.read(), b"data")

    def test_closed_and_opened_again(self):
        """By either end, time and again, with files attached: numbers begin anew, nothing lost."""
        a, b = self.opened()
        for n in range(6):
            host, peer = ((self.a, self.cable.mac_b), (self.b, self.cable.mac_a))[n % 2]
            host.close_tag(peer, self.vc)
            wait_for(lambda: a.state == b.state == "CLOSED", "both to be closed")
            end, other = ((a, b), (b, a))[n % 4 // 2]
            end.write(b"%d" % n)
            self.assertEqual(other.read(), b"%d" % n)
            self.assertEqual((end.status().tx, other.status().rx), (1, 1))

    def test_read_after_close(self):
        """What was delivered stays readable when the link is closed."""
        a, b = self.opened()
        a.write(b"one")
        a.write(b"two")
        wait_for(lambda: b.status().unread == 2, "both to be there")
        self.a.close_tag(self.cable.mac_b, self.vc)
        wait_for(lambda: b.state == "CLOSED", "it to be closed")
        self.assertEqual([b.read(), b.read()], [b"one", b"two"])

    def test_slow_reader(self):
        """No room at the reader: the writer waits, nothing is lost, memory is bounded."""
        self.b.knob("rcvbuf", 16384)
        a, b = self.opened()
        call = Call(lambda: [a.write(b"%d" % n + bytes(2000)) for n in range(30)])
        wait_for(lambda: b.status().unread >= 2, "some to be there")
        wait_for(lambda: a.status().pending == 1 and self.a.tag(self.vc)["waits"] == "room",
                 "the next not to be granted")
        self.assertLess(b.status().unread, 8)
        for n in range(30):
            self.assertEqual(b.read(), b"%d" % n + bytes(2000))
        call.result()

    def test_room_is_never_missed(self):
        """A reader makes room just when the peer says that it is blocked: the peer is told, each time.

        Nothing else would tell it for ten minutes.
        """
        for host in (self.a, self.b):
            host.knobs(keepalive_ms=600000, dead_ms=3600000)
        self.b.knob("rcvbuf", 4096)
        a, b = self.opened()
        sent = [b"%d" % n + bytes(2000) for n in range(times(500))]
        reader = Call(lambda: [b.read() for _ in sent])
        wire = Wire(self.b, "vb")
        self.addCleanup(wire.close)
        for message in sent:
            a.write(message)
        self.assertEqual(reader.result(60), sent)
        self.assertTrue([f for f in wire.frames() if f.opcode == oae.COMMIT and f.marks & oae.BLOCKED])

    def test_express_and_atomic_do_not_overtake(self):
        """One file's order is kept whatever its options were when."""
        a, b = self.opened(nonblock=True)
        for n in range(40):
            a.set_options(flags=dev.OPT_EXPRESS if n % 3 else 0)
            a.write(b"%d" % n)
        a.collect_all(40)
        got = []
        wait_for(lambda: got.extend(b.read_each()) or len(got) == 40, "all to come")
        self.assertEqual(got, [b"%d" % n for n in range(40)])
