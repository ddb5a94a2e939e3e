# SPDX-License-Identifier: GPL-2.0
"""/dev/oae: the least that must work of everything that an open file is for."""

import errno
import os
import random
import select
import signal

import oaedev as dev
from devtest import exit_code, in_process
from oaedev import SYS_IOCTL, SYS_READ, SYS_WRITE, Call, OaeFile
from oaetest import Cable, wait_for
from patience import times
from shared import Shared
from topology import OneCable

IN, OUT, PRI = select.POLLIN, select.POLLOUT, select.POLLPRI
BAND, HUP, ERR = select.POLLRDBAND, select.POLLHUP, select.POLLERR


class TwoHosts(Shared, OneCable):
    """Two hosts and a cable."""

    vc = 0

    def setUp(self):
        super().setUp()
        TwoHosts.vc += 1        # a link of its own for each test

    def file(self, host, **how):
        """A file that is closed when the test ends."""
        file = OaeFile(host, **how)
        self.addCleanup(file.close)
        return file

    def end(self, host, **how):
        """An end of this test's link: attached to the other host."""
        peer = self.cable.mac_b if host is self.a else self.cable.mac_a
        file = OaeFile.to(host, peer, vc=self.vc, **how)
        self.addCleanup(file.close)
        return file

    def pair(self, **how):
        """Both ends."""
        return self.end(self.a, **how), self.end(self.b)


class Attaching(TwoHosts):
    """OAE_ATTACH and options."""

    def test_bad(self):
        """What cannot be attached to; and nothing comes of it."""
        f = self.file(self.a)
        peer = self.cable.mac_b
        before = self.a.tags()
        for code, args in ((errno.EINVAL, {"peer": bytes(6)}),
                           (errno.EINVAL, {"peer": "01:00:00:00:00:01"}),
                           (errno.EINVAL, {"peer": self.cable.mac_a}),
                           (errno.EINVAL, {"peer": peer, "flags": 8}),
                           (errno.EINVAL, {"peer": peer, "flags": dev.ATTACH_ANY_VC}),
                           (errno.EINVAL, {"peer": peer, "flags": dev.ATTACH_LISTEN |
                                                                  dev.ATTACH_OPEN}),
                           (errno.EINVAL, {"peer": peer, "vc": 1,
                                           "flags": dev.ATTACH_LISTEN | dev.ATTACH_ANY_VC}),
                           (errno.EINVAL, {"peer": peer, "port": "x" * 16}),
                           (errno.ENODEV, {"peer": peer, "port": "nosuch"}),
                           (errno.ENODEV, {"peer": peer, "port": "nosuch",
                                           "flags": dev.ATTACH_LISTEN})):
            self.assert_errno(code, f.attach, **args)
        for bad in (dev.Attach(peer=dev.mac_bytes(peer), zero=1),
                    dev.Attach(peer=dev.mac_bytes(peer), id_high=1)):
            self.assert_errno(errno.EINVAL, f.ioctl, dev.ATTACH, bad.bytes())
        self.assert_errno(errno.EFAULT, dev.call, f.fd, dev.ATTACH, 8)
        self.assert_errno(errno.ENOTTY, f.ioctl, dev.ioc(1, 99, 8), bytes(8))
        self.assertEqual(self.a.tags(), before)
        f.attach(peer, vc=self.vc)
        self.assert_errno(errno.EISCONN, f.attach, peer)
        self.assert_errno(errno.EISCONN, f.listen)

    def test_permission(self):
        """Attaching takes CAP_NET_RAW."""
        f = self.file(self.a)
        pid = os.fork()
        if not pid:
            try:
                os.setresuid(65534, 65534, 65534)
                f.attach(self.cable.mac_b, vc=self.vc)
            except OSError as e:
                os._exit(e.errno)
            os._exit(0)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), errno.EPERM)

    def test_pins_its_tag(self):
        """As long as a file is attached its tag is there, then it goes."""
        f = self.end(self.a)
        self.assertEqual(self.a.tag(self.vc)["state"], "CLOSED")
        f.close()
        self.assertIsNone(self.a.tag(self.vc))

    def test_options(self):
        """They are kept, and bad ones refused."""
        f = self.file(self.a)
        o = f.options()
        self.assertEqual((o.flags, o.deadline_ms, o.linger_ms, o.queue_bytes),
                         (0, 0, dev.LINGER_BACKGROUND, 0))
        f.set_options(flags=dev.OPT_EXPRESS, deadline_ms=5, linger_ms=6, queue=7, queue_bytes=8,
                      spin_us=9)
        self.assertEqual(tuple(f.options()), (1, 5, 6, 7, 8, 9))
        for bad in ({"flags": 4}, {"queue": 0}, {"queue": 65537}, {"spin_us": 10001}):
            self.assert_errno(errno.EINVAL, f.set_options, **bad)
        self.assertEqual(tuple(f.options()), (1, 5, 6, 7, 8, 9))


class Messages(TwoHosts):
    """Writing and reading."""

    def test_write_and_read(self):
        """What one end writes the other reads, once and whole."""
        f, g = self.pair()
        for data in (b"x", b"hello atomic\n", os.urandom(5000), os.urandom(65536)):
            self.assertEqual(f.write(data), len(data))
            self.assertEqual(g.read(), data)
            self.assertEqual(g.write(data[::-1]), len(data))
            self.assertEqual(f.read(), data[::-1])
        s = f.status()
        self.assertEqual((s.committed, s.tx, s.next_id), (4, 4, 5))
        self.assertEqual(f.collect(), [])

    def test_express(self):
        """The same with the option EXPRESS."""
        f, g = self.end(self.a, express=True), self.end(self.b)
        self.assertEqual(f.write(b"fast"), 4)
        self.assertEqual(g.read(), b"fast")

    def test_vectors(self):
        """writev() and readv()."""
        f, g = self.pair()
        self.assertEqual(os.writev(f.fd, [b"a" * 10, b"b" * 5000, b"c"]), 5011)
        parts = [bytearray(7), bytearray(9000)]
        self.assertEqual(os.readv(g.fd, parts), 5011)
        self.assertEqual(b"".join(parts)[:5011], b"a" * 10 + b"b" * 5000 + b"c")

    def test_bad_lengths(self):
        """Nothing, and too much."""
        f, _ = self.pair()
        self.assert_errno(errno.EINVAL, f.write, b"")
        self.assert_errno(errno.EMSGSIZE, f.write, bytes(65537))
        self.assertEqual(f.status().next_id, 1)

    def test_small_buffer(self):
        """Too small a buffer loses nothing."""
        f, g = self.pair()
        g.nonblock()
        self.assertEqual(g.unread(), 0)
        self.assert_errno(errno.EAGAIN, g.read)
        f.write(b"x" * 3000)
        f.write(b"second")
        wait_for(lambda: g.status().unread == 2, "both to arrive")
        self.assertEqual(g.unread(), 3000)
        self.assert_errno(errno.EMSGSIZE, g.read, 2999)
        self.assertEqual(g.read(3000), b"x" * 3000)
        self.assertEqual(g.unread(), 6)
        self.assertEqual(g.read(6), b"second")

    def test_bad_buffer(self):
        """A buffer that is not there loses nothing either."""
        f, g = self.pair()
        f.write(b"still here")
        f.write(b"and this")
        wait_for(lambda: g.status().unread == 2, "both to arrive")
        self.assertEqual(dev.LIBC.read(g.fd, 8, dev.ctypes.c_size_t(100)), -1)
        self.assertEqual(dev.ctypes.get_errno(), errno.EFAULT)
        self.assertEqual(dev.LIBC.write(f.fd, 8, dev.ctypes.c_size_t(100)), -1)
        self.assertEqual(dev.ctypes.get_errno(), errno.EFAULT)
        self.assertEqual([g.read(), g.read()], [b"still here", b"and this"])

    def test_blocking_read(self):
        """A reader waits; each transaction wakes one of them."""
        f, g = self.pair()
        readers = [Call(g.read) for _ in range(3)]
        for data in (b"1", b"2", b"3"):
            f.write(data)
        self.assertEqual(sorted(r.result() for r in readers), [b"1", b"2", b"3"])

    def test_reader_signal(self):
        """A signal ends a read."""
        _, g = self.pair()
        r = Call(g.read)
        wait_for(lambda: r.signal() or r.done, "the reader to notice", interval=0.01)
        self.assertEqual(r.error(), "EINTR")

    def test_noc_debug(self):
        """What is unread when the last file goes is for noc_debug."""
        self.b.read_all()               # what another test left unread
        f, g = self.pair()
        f.write(b"for whoever")
        wait_for(lambda: g.status().unread == 1, "it to arrive")
        self.assertEqual(self.b.read(), b"")
        g.close()
        self.assertEqual(self.b.read_one(), b"for whoever")


class Taking(TwoHosts):
    """What a file has read stays its own until it reads again, and goes back if it is closed."""

    def taker(self, *sent):
        """A file that takes, and another beside it; these are unread."""
        f, g = self.pair()
        other = self.end(self.b)
        for data in sent:
            f.write(data)
        wait_for(lambda: g.status().unread == len(sent), "all to arrive")
        g.set_options(flags=dev.OPT_TAKE)
        return f, g, other

    def test_read_again(self):
        """The next read ends what the last one gave, also if it gets nothing; so does OAE_DONE."""
        f, g, other = self.taker(b"1", b"2", b"3")
        before = self.b.stat("read")
        g.nonblock()
        self.assertEqual([g.read(), g.read()], [b"1", b"2"])
        self.assertEqual(self.b.stat("read") - before, 1)
        g.done()
        self.assert_errno(errno.ENOENT, g.done)
        self.assert_errno(errno.ENOENT, f.done)
        self.assert_errno(errno.ENOTCONN, self.file(self.b).done)
        self.assertEqual(g.read(), b"3")
        self.assert_errno(errno.EAGAIN, g.read)
        self.assertEqual(self.b.stat("read") - before, 3)
        g.close()
        self.assertEqual(other.status().unread, 0)

    def test_closed(self):
        """It goes back to the head of the queue, and whoever waits gets it."""
        _, g, other = self.taker(b"1", b"2")
        self.assertEqual(g.read(), b"1")
        self.assertEqual(other.status().unread, 1)
        g.close()
        self.assertEqual(other.status().unread, 2)
        self.assertEqual([other.read(), other.read()], [b"1", b"2"])
        third = self.end(self.b)
        other.set_options(flags=dev.OPT_TAKE)
        self.end(self.a).write(b"3")
        self.assertEqual(other.read(), b"3")
        waits = Call(third.read)
        wait_for(lambda: waits.sleeps(SYS_READ), "it to wait")
        other.close()
        self.assertEqual(waits.result(), b"3")

    def test_last(self):
        """The last file's is for noc_debug."""
        self.b.read_all()
        _, g, other = self.taker(b"for whoever")
        self.assertEqual(g.read(), b"for whoever")
        other.close()
        g.close()
        self.assertEqual(self.b.read_one(), b"for whoever")

    def test_killed(self):
        """A program that dies gives back what it had."""
        self.pair()[0].write(b"job")
        worker = in_process(self.works_on_it)
        other = self.end(self.b, nonblock=True)
        wait_for(lambda: not other.status().unread, "it to be taken")
        os.kill(worker, signal.SIGKILL)
        self.assertEqual(exit_code(worker), -signal.SIGKILL)
        wait_for(lambda: other.status().unread, "it to be given back")
        self.assertEqual(other.read(), b"job")

    def works_on_it(self):
        """For ever."""
        worker = self.end(self.b)
        worker.set_options(flags=dev.OPT_TAKE)
        worker.read()
        signal.pause()

    def test_room(self):
        """What is kept takes room of the link, until it is done."""
        self.set(self.b, rcvbuf=4096)
        f, g, other = self.taker(bytes(4000))
        self.assertEqual(len(g.read()), 4000)
        call = Call(f.write, b"next")
        wait_for(lambda: self.a.tag(self.vc)["waits"] == "room" or call.done, "it not to be granted")
        self.assertFalse(call.done)
        g.done()
        self.assertEqual(call.result(), 4)
        self.assertEqual(other.read(), b"next")

    def test_bad_buffer(self):
        """It was never taken."""
        _, g, other = self.taker(b"data")
        self.assertEqual(dev.LIBC.read(g.fd, 8, dev.ctypes.c_size_t(100)), -1)
        self.assertEqual(dev.ctypes.get_errno(), errno.EFAULT)
        self.assert_errno(errno.ENOENT, g.done)
        self.assertEqual(other.read(), b"data")

    def test_port_goes(self):
        """What is kept of a link that is gone."""
        _, g, other = self.taker(b"1", b"2")
        self.assertEqual(g.read(), b"1")
        dev_b = self.b.knob("dev")
        self.addCleanup(self.b.knob, "dev", dev_b)
        self.b.knob("dev", "")
        g.close()
        self.assertEqual([other.read(), other.read(), other.read()], [b"1", b"2", b""])

    def test_port_goes_and_max_tags(self):
        """What is given back to a link that is gone counts there, and gives way as what is unread."""
        _, g, other = self.taker(b"1")
        self.assertEqual(g.read(), b"1")
        dev_b = self.b.knob("dev")
        self.addCleanup(self.b.knob, "dev", dev_b)
        self.b.knob("dev", "")
        other.close()
        before = self.b.stat("unread_lost")
        g.close()
        self.set(self.b, max_tags=1)
        self.b.knob("dev", dev_b)
        self.end(self.b, flags=dev.ATTACH_OPEN)
        self.assertEqual(self.b.stat("unread_lost"), before + 1)

    def test_workers(self):
        """Many files, some of which are closed over their work: each job is done once."""
        sender = self.end(self.a)
        first = self.end(self.b)        # there is always one
        jobs = [b"%d" % n for n in range(times(200))]
        done = []

        def work():
            while len(done) < len(jobs):
                file = OaeFile.to(self.b, self.cable.mac_a, vc=self.vc, nonblock=True)
                file.set_options(flags=dev.OPT_TAKE)
                for left in range(random.randrange(1, 9), 0, -1):
                    try:
                        job = file.read()
                    except BlockingIOError:
                        break
                    if left > 1:
                        done.append(job)
                        file.done()
                file.close()
        workers = [Call(work) for _ in range(4)]
        for job in jobs:
            sender.write(job)
        for worker in workers:
            worker.result(60)
        self.assertEqual(sorted(done), sorted(jobs))
        self.assertEqual(first.status().unread, 0)


class Signals(TwoHosts):
    """A signal whose handler has SA_RESTART, as one that only stops and continues a program."""

    def cut_off(self, **options):
        """A file of a link that is open, and whose cable is cut; the other end."""
        f, g = self.pair()
        f.write(b"begin")
        self.assertEqual(g.read(), b"begin")
        f.set_options(**options)
        self.cable.cut()
        self.addCleanup(self.cable.mend)
        return f, g

    def test_read(self):
        """It waits on."""
        f, g = self.pair()
        call = Call(g.read).restart(SYS_READ)
        f.write(b"data")
        self.assertEqual(call.result(), b"data")

    def test_listen(self):
        """So does a listener."""
        ear = self.file(self.b)
        ear.listen(vc=self.vc)
        call = Call(ear.peers).restart(SYS_READ)
        self.end(self.a, flags=dev.ATTACH_OPEN)
        self.assertEqual([p.vc for p in call.result()], [self.vc])

    def test_write(self):
        """What was posted is reversed, and posted again: it is delivered once."""
        f, g = self.cut_off()
        call = Call(f.write, b"data").restart(SYS_WRITE)
        self.assertEqual(f.status().reversed, 1)
        self.cable.mend()
        self.assertEqual(call.result(), 4)
        self.assertEqual(g.read(), b"data")
        self.assertEqual((f.status().committed, f.status().reversed, g.unread()), (2, 1, 0))

    def test_swap(self):
        """So is a half."""
        f, g = self.pair()
        call = Call(f.swap, b"1").restart(SYS_IOCTL)
        self.assertEqual(f.status().reversed, 1)
        self.assertEqual(g.swap(b"2"), b"1")
        self.assertEqual(call.result(), b"2")

    def test_no_room(self):
        """Nothing was posted yet."""
        self.set(self.a, sndq=1)
        f, g = self.cut_off()
        other = self.end(self.a, nonblock=True)
        count = 0
        with self.assertRaises(BlockingIOError):
            while True:
                other.write(b"other")
                count += 1
        call = Call(f.write, b"last").restart(SYS_WRITE)
        self.cable.mend()
        self.assertEqual(call.result(), 4)
        self.assertEqual([g.read() for _ in range(count + 1)], count * [b"other"] + [b"last"])
        self.assertEqual(f.status().reversed, 0)

    def test_deadline(self):
        """Not with a deadline, which it would have anew: EINTR, and reversed for sure."""
        f, _ = self.cut_off(deadline_ms=60000)
        self.assertEqual(Call(f.write, b"data").restart(SYS_WRITE).error(), "EINTR")
        self.assertEqual(Call(f.swap, b"1").restart(SYS_IOCTL).error(), "EINTR")
        self.assertEqual(f.status().reversed, 2)


class Outcomes(TwoHosts):
    """Queueing without waiting."""

    def silent(self, **how):
        """An end whose peer does not answer."""
        self.b.up("vb", False)
        self.addCleanup(lambda: wait_for(lambda: self.a.ready("va"), "the cable"))
        self.addCleanup(self.b.up, "vb")
        return self.end(self.a, **how)

    def test_collect(self):
        """Outcomes come in order, with their numbers; poll tells when."""
        f, g = self.pair(nonblock=True)
        for n in range(20):
            self.assertEqual(f.write(b"%d" % n), len(b"%d" % n))
        self.assertTrue(f.poll(5, PRI) & PRI)
        got = f.collect_all(20)
        self.assertEqual([(c.id, c.result, c.kind, c.err) for c in got],
                         [(n, dev.COMMITTED, dev.MESSAGE, 0) for n in range(1, 21)])
        self.assertEqual([g.read() for _ in range(20)], [b"%d" % n for n in range(20)])
        self.assertEqual(f.status().uncollected, 0)

    def test_queue_limits(self):
        """Of the file, in number and bytes, and of the link."""
        f = self.silent(nonblock=True, queue=3)
        for _ in range(3):
            f.write(b"x")
        self.assertFalse(f.poll() & OUT)
        self.assert_errno(errno.EAGAIN, f.write, b"x")
        f.set_options(queue=10, queue_bytes=100)
        self.assertTrue(f.poll() & OUT)
        f.write(b"x" * 200)
        self.assert_errno(errno.EAGAIN, f.write, b"x")
        f.set_options(queue=1000, queue_bytes=0)
        with self.assertRaises(BlockingIOError):
            for _ in range(100):
                f.write(b"x")
        self.assertGreaterEqual(self.a.tag(self.vc)["queue"], int(self.a.knob("sndq")))
        f.cancel()
        got = f.collect_all(4)
        self.assertEqual({(c.result, c.err) for c in got}, {(dev.REVERSED, errno.ECANCELED)})

    def test_collect_some(self):
        """As many as asked for; a bad address loses none."""
        f = self.silent(nonblock=True)
        for _ in range(5):
            f.write(b"x")
        f.cancel(2)
        self.assert_errno(errno.ENOENT, f.cancel, 2)
        self.assert_errno(errno.ENOENT, f.cancel, 77)
        self.assertEqual(f.collect(), [])           # the first has not ended
        self.assertFalse(f.poll() & PRI)
        f.cancel()
        arg = dev.CollectArg(recs=8, max=3)
        self.assert_errno(errno.EFAULT, f.ioctl, dev.COLLECT, arg.bytes())
        self.assertEqual(f.status().uncollected, 5)
        self.assertEqual([c.id for c in f.collect(3)], [1, 2, 3])
        self.assertEqual([c.id for c in f.collect(3)], [4, 5])

    def test_cancel_blocking(self):
        """A call that waits is cancelled by another."""
        f = self.silent()
        w = Call(f.write, b"x")
        wait_for(lambda: f.status().pending, "it to be queued")
        f.cancel(1)
        self.assertEqual(w.error(), "ECANCELED")
        self.assertEqual(f.status().uncollected, 0)

    def test_deadline(self):
        """It passes, for who waits and for what is queued."""
        f = self.silent(deadline_ms=20)
        self.assert_errno(errno.ETIME, f.write, b"x")
        f.nonblock()
        for _ in range(3):
            f.write(b"x")
        self.assertTrue(f.poll(5, PRI) & PRI)
        self.assertEqual([(c.id, c.err) for c in f.collect_all(3)],
                         [(n, errno.ETIME) for n in (2, 3, 4)])

    def test_room(self):
        """A blocking call waits for room, until its deadline too."""
        f = self.silent(nonblock=True, queue=1)
        f.write(b"x")
        f.nonblock(False)
        w = Call(f.write, b"y")
        wait_for(lambda: w.sleeps(SYS_WRITE), "it to wait, without a deadline")
        f.set_options(deadline_ms=20)
        self.assert_errno(errno.ETIME, f.write, b"z")
        f.cancel(1)
        self.assertFalse(w.done)
        self.assertEqual([c.id for c in f.collect()], [1])
        wait_for(lambda: f.status().pending, "it to be queued")
        f.cancel()
        self.assertEqual(w.error(), "ECANCELED")


class Links(TwoHosts):
    """Status, events, fsync, listening, closing."""

    def test_fsync(self):
        """All that is committed is delivered."""
        f, g = self.pair()
        f.fsync()
        for n in range(5):
            f.write(b"x")
            f.fsync()
            self.assertEqual(g.status().delivered, n + 1)

    def test_status(self):
        """What it says of the link."""
        f, g = self.pair()
        s = f.status()
        self.assertEqual((s.port, s.peer, s.vc, s.state, s.flags, s.events, s.max_len, s.next_id),
                         ("va", self.cable.mac_b, self.vc, 0, 0, 0, 0, 1))
        f.write(b"x")
        s = f.status()
        self.assertEqual((s.state, s.flags, s.events, s.tx, s.mtu, s.max_len, s.max_half,
                          s.committed), (3, 0, dev.EVENT_UP, 1, 1500, 65536, 1436, 1))
        # What was said twice on a slow machine says nothing of the way.
        wait_for(lambda: s.srtt_ns or f.write(b"x") and f.status().srtt_ns, "a round trip")
        self.assertEqual(f.status().events, 0)
        self.assert_errno(errno.EFAULT, dev.call, g.fd, dev.STATUS, 8)
        self.assertEqual(g.status().events, dev.EVENT_UP)

    def test_events(self):
        """In doubt, settled, closed: poll tells, status says."""
        for host in self.a, self.b:     # a busy machine puts nothing in doubt
            self.set(host, stall_max_us=10000000, stall_min_us=300000)
        f, g = self.pair()
        f.write(b"x")
        f.status()
        self.assertEqual(f.poll(), OUT)
        self.cable.cut()
        self.addCleanup(self.cable.mend)
        w = Call(f.write, b"y")
        wait_for(lambda: f.status().pending, "it to be queued")
        self.cable.mend()
        self.assertEqual(w.result(), 1)
        wait_for(lambda: f.status().failures, "it to heal")
        f.status()
        self.assertEqual([g.read(), g.read()], [b"x", b"y"])
        self.b.close_tag(self.cable.mac_a, self.vc)
        self.assertEqual(f.poll(5, PRI), PRI)
        wait_for(lambda: f.status().events & dev.EVENT_CLOSED, "it to be told")
        self.assertEqual(f.poll(0, PRI | BAND), 0)
        self.assertEqual(f.write(b"opened again"), 12)
        self.assertEqual(g.read(), b"opened again")

    def test_listen(self):
        """A peer that opens a link appears, once."""
        quiet, ear = self.file(self.b), self.file(self.b, nonblock=True)
        quiet.listen(vc=self.vc + 100)
        ear.listen(vc=self.vc)
        self.assertEqual(ear.poll(), 0)
        self.assert_errno(errno.EAGAIN, ear.peers)
        self.assert_errno(errno.EDESTADDRREQ, ear.write, b"x")
        f = self.end(self.a, flags=dev.ATTACH_OPEN)
        self.assertEqual(ear.poll(5), IN)
        self.assertEqual(ear.unread(), 24)
        self.assert_errno(errno.EMSGSIZE, ear.read, 23)
        (peer,) = ear.peers()
        self.assertEqual((peer.port, peer.peer, peer.vc), ("vb", self.cable.mac_a, self.vc))
        self.assert_errno(errno.EAGAIN, ear.peers)
        self.assertEqual(quiet.poll(), 0)
        g = OaeFile.to(self.b, peer.peer, vc=peer.vc, port=peer.port)
        f.write(b"x")
        self.assertEqual(g.read(), b"x")
        g.close()
        # Heard of again, it is news again.
        self.assertEqual(ear.poll(), 0)
        f.write(b"y")
        self.assertEqual(ear.poll(5), IN)
        ear.nonblock(False)
        self.assertEqual(ear.peers()[0].vc, self.vc)

    def test_listen_before_and_blocking(self):
        """Who was there before, and who comes."""
        f = self.end(self.a, flags=dev.ATTACH_OPEN)
        wait_for(lambda: f.state == "OPEN", "the link to open")
        ear = self.file(self.b)
        ear.listen(peer=self.cable.mac_a, any_vc=True, port="vb")
        self.assertIn(self.vc, [p.vc for p in ear.peers(256)])
        TwoHosts.vc += 1
        r = Call(ear.peers)
        self.end(self.a, flags=dev.ATTACH_OPEN)
        self.assertEqual([p.vc for p in r.result()], [self.vc])

    def test_linger(self):
        """close() waits, reverses, or leaves it going."""
        self.set(self.b, rcvbuf=4096)
        before = self.a.stats()

        def change(name):
            return self.a.stat(name) - before[name]
        for linger, reversed_ in ((50, True), (0, True), (dev.LINGER_BACKGROUND, False)):
            TwoHosts.vc += 1
            f, g = self.end(self.a, nonblock=True, linger_ms=linger), self.end(self.b)
            before = self.a.stats()
            f.write(b"x" * 8192)
            wait_for(lambda f=f: f.collect(), "the first to be committed")
            f.write(b"y")               # not granted
            f.close()
            self.assertEqual(change("reversed"), reversed_)
            self.assertEqual(g.read(), b"x" * 8192)
            if not reversed_:
                self.assertEqual(g.read(), b"y")
                wait_for(lambda: change("committed") == 2, "the second")

    def test_linger_waits(self):
        """What is committed meanwhile ends the wait."""
        self.set(self.b, rcvbuf=4096)
        f, g = self.end(self.a, nonblock=True, linger_ms=30000), self.end(self.b)
        f.write(b"x" * 8192)
        wait_for(f.collect, "the first to be committed")
        f.write(b"y")
        c = Call(f.close)
        self.assertEqual(g.read(), b"x" * 8192)
        self.assertEqual(g.read(), b"y")
        c.result(5)

    def test_port_goes(self):
        """What is unread can be read, then it is over."""
        a, b = self.host("a2"), self.host("b2")
        cable = Cable(a, "va", b, "vb")
        a.add_port("va")
        b.add_port("vb")
        f = OaeFile.to(a, cable.mac_b, vc=1)
        g = OaeFile.to(b, cable.mac_a, vc=1)
        ear = OaeFile(b)
        ear.listen(port="vb")
        f.write(b"x")
        wait_for(lambda: g.status().unread, "it to arrive")
        heard, more = Call(ear.peers), Call(f.read)
        b.knob("dev", "-vb")
        self.assertEqual(heard.result(), [])
        self.assertTrue(g.poll() & HUP)
        s = g.status()
        self.assertTrue(s.events & dev.EVENT_DEAD and s.flags & dev.ST_DEAD)
        self.assertEqual(s.port, "vb")
        self.assertEqual([g.read(), g.read()], [b"x", b""])
        self.assert_errno(errno.ENODEV, g.write, b"y")
        b.add_port("vb")
        h = OaeFile.to(b, cable.mac_a, vc=1)
        h.write(b"anew")
        self.assertEqual(more.result(), b"anew")
        for file in (f, g, h, ear):
            file.close()


class Swaps(TwoHosts):
    """OAE_SWAP_HALF."""

    def test_swap(self):
        """Each takes what the other gives."""
        f, g = self.pair()
        for n in range(5):
            w = Call(f.swap, b"from a %d" % n)
            self.assertEqual(g.swap(b"and from b" * n or b"x"), b"from a %d" % n)
            self.assertEqual(w.result(), b"and from b" * n or b"x")
        self.assertEqual((f.status().committed, g.status().committed), (5, 5))

    def test_collect(self):
        """Not waited for; messages do not wait for it either."""
        f, g = self.pair(nonblock=True)
        self.assertEqual(f.swap(b"half"), 1)
        f.write(b"message")
        wait_for(lambda: f.status().uncollected, "the message to be committed")
        self.assertEqual([c.id for c in f.collect()], [2])
        self.assertTrue(f.status().flags & dev.ST_HALF)
        self.assertEqual(g.swap(b"the other"), b"half")
        self.assertTrue(f.poll(5, PRI) & PRI)
        self.assert_errno(errno.EOVERFLOW, f.collect, room=8)
        self.assertEqual([tuple(c) for c in f.collect(room=9)],
                         [(1, dev.COMMITTED, dev.SWAP, 0, b"the other")])
        self.assertEqual(g.read(), b"message")

    def test_too_long_to_take(self):
        """Swapped all the same, and collected."""
        f, g = self.pair()
        w = Call(f.swap, b"x", room=3)
        self.assertEqual(g.swap(b"four"), b"x")
        self.assertEqual(w.error(), "EOVERFLOW")
        self.assertEqual([(c.id, c.data) for c in f.collect()], [(1, b"four")])

    def test_bad(self):
        """What is no swap; nothing is posted."""
        f, _ = self.pair()
        most = f.status().max_half
        self.assert_errno(errno.EINVAL, f.swap, b"")
        self.assert_errno(errno.EMSGSIZE, f.swap, bytes(most + 1))
        self.assert_errno(errno.EINVAL, f.swap, b"x", flags=2)
        buf = dev.ctypes.create_string_buffer(100)
        good = dev.ctypes.addressof(buf)
        for code, arg in ((errno.EFAULT, dev.SwapArg(8, good, 4, 4)),
                          (errno.EFAULT, dev.SwapArg(good, 8, 4, 4)),
                          (errno.EINVAL, dev.SwapArg(good, 0, 4, 4)),
                          (errno.EINVAL, dev.SwapArg(good, good, 4, 4, zero=1))):
            self.assert_errno(code, f.ioctl, dev.SWAP_HALF, arg.bytes())
        self.assert_errno(errno.EFAULT, dev.call, f.fd, dev.SWAP_HALF, 8)
        self.assertEqual(f.status().next_id, 1)

    def test_back(self):
        """A half that nobody takes comes back: signal, deadline, cancel, close."""
        f, g = self.pair()
        w = Call(f.swap, b"1")
        wait_for(lambda: f.status().pending, "it to be posted")
        w.signal()
        self.assertEqual(w.error(), "EINTR")
        f.set_options(deadline_ms=20)
        self.assert_errno(errno.ETIME, f.swap, b"2")
        self.assertEqual(f.swap(b"3", flags=dev.NONBLOCK), 3)
        self.assertEqual([(c.id, c.err) for c in f.collect_all(1)], [(3, errno.ETIME)])
        f.set_options(deadline_ms=0)
        f.swap(b"4", flags=dev.NONBLOCK)
        before = self.a.stat("reversed")
        f.close()
        wait_for(lambda: self.a.stat("reversed") > before, "it to be reversed")
        f = self.end(self.a)
        w = Call(f.swap, b"5")
        self.assertEqual(g.swap(b"y"), b"5")
        self.assertEqual(w.result(), b"y")


class Verbs(TwoHosts):
    """OAE_EXPOSE, OAE_DO_VERB, OAE_LOCAL, mmap."""

    ALL = dev.PERM_READ | dev.PERM_WRITE | dev.PERM_ATOMIC

    def exposed(self, size=64, perm=ALL):
        """Two ends, the second of which exposes words as a number of its own."""
        f, g = self.pair()
        g.expose(size, self.vc, perm)
        return f, g

    def test_each(self):
        """Each operation, and what they see of each other."""
        f, g = self.exposed()
        v = f.verb(self.vc, dev.write_op(0, 5, 6), dev.read_op(0, 2), dev.add_op(8, 10),
                   dev.exchange_op(0, 1), dev.cas_op(8, 16, 17), dev.read_op(0, 2))
        self.assertEqual((v.taken, v.failed, v.old),
                         (1, 0, [[0, 0], [5, 6], [6], [5], [16], [1, 17]]))
        v = f.verb(self.vc, dev.write_op(0, 99), dev.cas_op(8, 16, 18), dev.read_op(0))
        self.assertEqual((v.taken, v.failed, v.old[1:]), (0, 1, [[17], [0]]))
        with g.mmap(64) as m:
            self.assertEqual([int.from_bytes(m[n:n + 8], "little") for n in (0, 8, 16)],
                             [1, 17, 0])
        self.assertEqual(f.verb(self.vc, dev.add_op(16, -1)).old, [[0]])
        self.assertEqual(g.settled(dev.read_op(16)).old, [[dev.U64]])
        self.assertEqual(g.local(dev.cas_op(16, dev.U64, 3), dev.add_op(0, 1)).old,
                         [[dev.U64], [1]])
        self.assertEqual(f.verb(self.vc, dev.read_op(0, 3)).old, [[2, 17, 3]])

    def test_collect(self):
        """In order, with old words."""
        f, _ = self.exposed()
        ids = [f.verb(self.vc, dev.add_op(0, n), dev.write_op(8, n), flags=dev.NONBLOCK)
               for n in range(1, 11)]
        self.assertEqual(ids, list(range(1, 11)))
        got = f.collect_all(10)
        self.assertEqual([(c.id, c.result, c.kind) for c in got],
                         [(n, dev.COMMITTED, dev.VERB) for n in ids])
        self.assertEqual([dev.verb_result(c.data) for c in got],
                         [(1, 0, [n * (n - 1) // 2]) for n in ids])

    def test_refused(self):
        """By the peer, for good."""
        f, _ = self.exposed(perm=dev.PERM_READ)
        self.assert_errno(errno.ENXIO, f.verb, self.vc + 1, dev.read_op(0))
        self.assert_errno(errno.ERANGE, f.verb, self.vc, dev.read_op(64))
        self.assert_errno(errno.ERANGE, f.verb, self.vc, dev.read_op(56, 2))
        self.assert_errno(errno.EACCES, f.verb, self.vc, dev.write_op(0, 1))
        self.assert_errno(errno.EACCES, f.verb, self.vc, dev.add_op(0, 1))
        self.assertEqual(f.verb(self.vc, dev.read_op(56)).old, [[0]])

    def test_not_for_all(self):
        """An attached file exposes to its peer on its vc only; a listener to more."""
        _, g = self.exposed()
        region = self.vc
        TwoHosts.vc += 1
        f = self.end(self.a)
        self.assert_errno(errno.ENXIO, f.verb, region, dev.read_op(0))
        g.close()
        ear = self.file(self.b)
        ear.listen(any_vc=True)
        ear.expose(8, region, self.ALL)
        self.assertEqual(f.verb(region, dev.add_op(0, 1)).old, [[0]])
        ear.close()
        self.assert_errno(errno.ENXIO, f.verb, region, dev.read_op(0))

    def test_bad_verbs(self):
        """What is no verb; nothing is begun."""
        f, g = self.exposed()
        good = dev.read_op(0)
        for op in (good._replace(code=0), good._replace(code=6), good._replace(words=0),
                   good._replace(words=9), good._replace(offset=4)):
            self.assert_errno(errno.EINVAL, f.verb, self.vc, op)
            self.assert_errno(errno.EINVAL, g.local, op)
        self.assert_errno(errno.EINVAL, f.verb, self.vc)
        self.assert_errno(errno.EINVAL, f.verb, self.vc, *[good] * 65)
        self.assert_errno(errno.EINVAL, f.verb, self.vc, good, flags=2)
        self.assert_errno(errno.EMSGSIZE, f.verb, self.vc, *[dev.write_op(0, *range(8))] * 64)
        self.assert_errno(errno.EMSGSIZE, f.verb, self.vc, *[dev.read_op(0, 8)] * 64)
        self.assert_errno(errno.EINVAL, g.verb, 1, good, request=dev.LOCAL)
        self.assert_errno(errno.EFAULT, f.ioctl, dev.DO_VERB, dev.VerbArg(8, 1, self.vc).bytes())
        self.assert_errno(errno.EFAULT, dev.call, f.fd, dev.DO_VERB, 8)
        self.assert_errno(errno.EINVAL, f.ioctl, dev.DO_VERB,
                          dev.VerbArg(8, 1, self.vc, zero=1).bytes())
        self.assert_errno(errno.ENXIO, f.local, good)
        self.assert_errno(errno.ERANGE, g.local, dev.read_op(64))
        self.assertEqual(f.status().next_id, 1)

    def test_bad_regions(self):
        """What cannot be exposed; nothing is."""
        f, g = self.pair()
        most = int(self.a.knob("region_max"))
        for size, perm, flags in ((0, 7, 0), (7, 7, 0), (most + 8, 7, 0), (8, 8, 0), (8, 7, 1),
                                  (1 << 63, 7, 0)):
            self.assert_errno(errno.EINVAL, f.expose, size, self.vc, perm, flags)
        self.assert_errno(errno.ENXIO, f.mmap, 4096)
        f.expose(most, self.vc, 0)
        self.assert_errno(errno.EEXIST, f.expose, 8, self.vc + 1, 0)
        h = self.end(self.a)
        self.assert_errno(errno.EADDRINUSE, h.expose, 8, self.vc, 0)
        g.expose(8, self.vc, 0)             # another namespace
        self.assert_errno(errno.EINVAL, f.mmap, most + 4096)
        self.assert_errno(errno.ENOTCONN, self.file(self.a).expose, 8, 12345, 0)
        f.close()
        h.expose(8, self.vc, 0)

    def test_read_only(self):
        """Swaps, verbs and regions take a file that is open both ways."""
        f = self.file(self.a, flags=os.O_RDONLY)
        f.attach(self.cable.mac_b, vc=self.vc)
        self.assert_errno(errno.EBADF, f.swap, b"x")
        self.assert_errno(errno.EBADF, f.verb, 1, dev.read_op(0))
        self.assert_errno(errno.EBADF, f.expose, 8, 1, 0)
        self.assert_errno(errno.EBADF, f.write, b"x")

    def test_map_outlives_close(self):
        """The words are there as long as they are mapped, by a child too."""
        f, g = self.exposed()
        m = g.mmap(64)
        g.close()
        self.assertEqual(f.verb(self.vc, dev.write_op(0, 7)).taken, 1)
        self.assertEqual(m[0], 7)
        m.close()
        self.assert_errno(errno.ENXIO, f.verb, self.vc, dev.read_op(0))
