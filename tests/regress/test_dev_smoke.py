# SPDX-License-Identifier: GPL-2.0
"""/dev/oae: the least that must work of everything that an open file is for."""

import errno
import os
import select

import oaedev as dev
from oaedev import Call, OaeFile
from oaetest import Cable, OaeTest, wait_for

IN, OUT, PRI = select.POLLIN, select.POLLOUT, select.POLLPRI
BAND, HUP, ERR = select.POLLRDBAND, select.POLLHUP, select.POLLERR


class TwoHosts(OaeTest):
    """
        host a             host b
        va ----------------- vb
    """

    vc = 0

    @classmethod
    def build(cls):
        cls.a, cls.b = cls.host("a"), cls.host("b")
        cls.cable = Cable(cls.a, "va", cls.b, "vb")
        cls.a.add_port("va")
        cls.b.add_port("vb")

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
                    dev.Attach(peer=dev.mac_bytes(peer), zero2=1)):
            self.assert_errno(errno.EINVAL, f.ioctl, dev.ATTACH, bad.bytes())
        self.assert_errno(errno.EFAULT, dev.call, f.fd, dev.ATTACH, 8)
        self.assert_errno(errno.ENOTTY, f.ioctl, dev.ioc(1, 99, 8), bytes(8))
        self.assertEqual(self.a.tags(), before)
        f.attach(peer, vc=self.vc)
        self.assert_errno(errno.EISCONN, f.attach, peer)
        self.assert_errno(errno.EISCONN, f.listen)

    def test_not_attached(self):
        """A file that is an end of nothing."""
        f = self.file(self.a)
        for call in (lambda: f.write(b"x"), f.read, f.fsync, f.status, f.unread, f.collect,
                     f.cancel):
            self.assert_errno(errno.ENOTCONN, call)
        self.assertEqual(f.poll(), ERR)

    def test_max_tags(self):
        """No room for a tag."""
        f = self.file(self.a)
        most = self.a.knob("max_tags")
        self.addCleanup(self.a.knob, "max_tags", most)
        self.a.knob("max_tags", len(self.a.tags()) or 1)
        others = []
        for vc in range(200, 203):
            g = self.file(self.a)
            try:
                g.attach(self.cable.mac_b, vc=vc)
            except OSError as e:
                others.append(e.errno)
        self.assertIn(errno.ENOBUFS, others)
        self.a.knob("max_tags", most)
        f.attach(self.cable.mac_b, vc=self.vc)

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

    def test_open_at_once(self):
        """OAE_ATTACH_OPEN opens the link."""
        f = self.end(self.a, flags=dev.ATTACH_OPEN)
        wait_for(lambda: f.state == "OPEN", "the link to open")

    def test_options(self):
        """They are kept, and bad ones refused."""
        f = self.file(self.a)
        o = f.options()
        self.assertEqual((o.flags, o.deadline_ms, o.linger_ms, o.queue_bytes),
                         (0, 0, dev.LINGER_BACKGROUND, 0))
        f.set_options(flags=dev.OPT_EXPRESS, deadline_ms=5, linger_ms=6, queue=7, queue_bytes=8)
        self.assertEqual(tuple(f.options()), (1, 5, 6, 7, 8, 0))
        for bad in ({"flags": 2}, {"queue": 0}, {"queue": 65537}, {"zero": 1}):
            self.assert_errno(errno.EINVAL, f.set_options, **bad)
        self.assertEqual(tuple(f.options()), (1, 5, 6, 7, 8, 0))


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
        f, g = self.pair()
        f.write(b"for whoever")
        wait_for(lambda: g.status().unread == 1, "it to arrive")
        self.assertEqual(self.b.read(), b"")
        g.close()
        self.assertEqual(self.b.read_one(), b"for whoever")


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

    def test_signal(self):
        """A signal reverses it."""
        f = self.silent()
        w = Call(f.write, b"x")
        wait_for(lambda: f.status().pending, "it to be queued")
        w.signal()
        self.assertEqual(w.error(), "EINTR")
        self.assertEqual(f.status().pending, 0)

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
                          s.committed), (3, 0, dev.EVENT_UP, 1, 1500, 65536, 1444, 1))
        self.assertGreater(s.srtt_ns, 0)
        self.assertEqual(f.status().events, 0)
        self.assert_errno(errno.EFAULT, dev.call, g.fd, dev.STATUS, 8)
        self.assertEqual(g.status().events, dev.EVENT_UP)

    def test_events(self):
        """In doubt, settled, closed: poll tells, status says."""
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
        self.assertIn(self.vc, [p.vc for p in ear.peers()])
        TwoHosts.vc += 1
        r = Call(ear.peers)
        self.end(self.a, flags=dev.ATTACH_OPEN)
        self.assertEqual([p.vc for p in r.result()], [self.vc])

    def test_linger(self):
        """close() waits, reverses, or leaves it going."""
        self.b.knob("rcvbuf", 4096)
        self.addCleanup(self.b.knob, "rcvbuf", 262144)
        before = self.a.stats()

        def change(name):
            return self.a.stat(name) - before[name]
        for linger, reversed_ in ((50, True), (0, True), (dev.LINGER_BACKGROUND, False)):
            TwoHosts.vc += 1
            f, g = self.end(self.a, nonblock=True, linger_ms=linger), self.end(self.b)
            before = self.a.stats()
            f.write(b"x" * 8192)
            wait_for(lambda f=f: f.collect(), "the first to be committed")
            f.write(b"y")               # refused: BUSY
            f.close()
            self.assertEqual(change("reversed"), reversed_)
            self.assertEqual(g.read(), b"x" * 8192)
            if not reversed_:
                self.assertEqual(g.read(), b"y")
                wait_for(lambda: change("committed") == 2, "the second")

    def test_linger_waits(self):
        """What is committed meanwhile ends the wait."""
        self.b.knob("rcvbuf", 4096)
        self.addCleanup(self.b.knob, "rcvbuf", 262144)
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
