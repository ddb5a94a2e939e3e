# SPDX-License-Identifier: GPL-2.0
"""Rings of /dev/oae: what the kernel promises of them, by their words."""

import contextlib
import errno
import mmap
import os
import random
import resource
import select
import signal
import struct
import unittest

import oaering as ring
from devtest import exit_code, in_process
from oaedev import SYS_IOCTL, SYS_READ, Call, OaeFile
from oaering import RawRing
from oaetest import wait_for
from test_dev_smoke import TwoHosts

KERNEL = tuple(int(part) for part in os.uname().release.split(".")[:2])
NOBODY = 65534
IN, OUT, HUP, ERR = select.POLLIN, select.POLLOUT, select.POLLHUP, select.POLLERR


class RingTest(TwoHosts):
    """Two hosts; rings are closed when the test ends."""

    def ring(self, host, **sizes):
        """The rings of an end of this test's link."""
        rings = RawRing(self.end(host), **sizes)
        self.addCleanup(rings.close)
        return rings

    def rings(self, **sizes):
        """Those of both ends."""
        return self.ring(self.a, **sizes), self.ring(self.b, **sizes)


class Streams(RingTest):
    """What goes through rings."""

    def test_there_and_back(self):
        """Messages of many lengths, both ways, around both rings several times."""
        a, b = self.rings()
        rand = random.Random(1)
        for _ in range(40):
            there = [rand.randbytes(rand.choice((1, 7, 8, 9, 64, 1400, 9000)))
                     for _ in range(rand.randint(1, 6))]
            self.assertEqual(a.send(*there), [0] * len(there))
            self.assertEqual(b.recv(len(there)), there)
            self.assertEqual(b.send(*there), [0] * len(there))
            self.assertEqual(a.recv(len(there)), there)
        self.assertGreater(a.published, 2 * a.setup.tx_size)
        self.assertEqual(a.word(ring.TAKEN_TO), a.published)

    def test_numbers(self):
        """Chunks have the handle of their link, and count what was delivered."""
        a, b = self.rings()
        a.send(*[bytes([i]) for i in range(5)])
        heads = [b.next()[0] for _ in range(5)]
        self.assertEqual([head.number for head in heads], [1, 2, 3, 4, 5])
        self.assertEqual({head.link for head in heads}, {b.link})

    def test_ring_and_file(self):
        """A ring at one end, read() and write() at the other."""
        a, f = self.ring(self.a), self.end(self.b)
        self.assertEqual(a.send(b"one", b"two"), [0, 0])
        self.assertEqual([f.read(), f.read()], [b"one", b"two"])
        f.write(b"three")
        self.assertEqual(a.recv(), [b"three"])

    def test_unread_before(self):
        """What is unread when rings are made is in them."""
        f, g = self.pair()
        f.write(b"early")
        wait_for(lambda: g.status().unread == 1, "it to arrive")
        b = RawRing(g)
        self.addCleanup(b.close)
        self.assertEqual(b.recv(), [b"early"])

    def test_no_room(self):
        """A program that does not pass: nothing is lost, and the sender waits for room."""
        a, f = self.end(self.a, nonblock=True), self.ring(self.b)
        a.set_options(queue=65536)
        sent = 0
        payload = bytes(4096)

        def fills():
            nonlocal sent
            while True:
                try:
                    a.write(struct.pack("=I", sent) + payload)
                except OSError as error:
                    self.assertEqual(error.errno, errno.EAGAIN)
                    break
                sent += 1
            return f.word(ring.KERNEL_WANTS_ROOM)
        wait_for(fills, "rx to be full")
        for i in range(sent):
            data = f.recv()[0]
            self.assertEqual(struct.unpack_from("=I", data)[0], i)

    def test_several_links(self):
        """One pair of rings serves several links; each has its handle."""
        vcs = range(200, 216)
        server = RawRing(self.file(self.b))
        self.addCleanup(server.close)
        clients = {}
        for vc in vcs:
            end = OaeFile.to(self.b, self.cable.mac_a, vc=vc)
            self.addCleanup(end.close)
            handle = server.add(end)
            clients[handle] = OaeFile.to(self.a, self.cable.mac_b, vc=vc)
            self.addCleanup(clients[handle].close)
        self.assertEqual(len(clients), len(vcs))
        for handle, client in clients.items():
            client.write(b"to %d" % handle)
        for _ in clients:
            chunk, data, _ = server.next()
            self.assertEqual(data, b"to %d" % chunk.link)
            server.put(b"from %d" % chunk.link, chunk.link)
        server.publish()
        server.wait_ended()
        for handle, client in clients.items():
            self.assertEqual(client.read(), b"from %d" % handle)

    def test_forward(self):
        """Bytes of rx go on by another link without a copy in the program."""
        a, b = self.rings()
        end = OaeFile.to(self.b, self.cable.mac_a, vc=217)
        self.addCleanup(end.close)
        other = OaeFile.to(self.a, self.cable.mac_b, vc=217)
        self.addCleanup(other.close)
        handle = b.add(end)
        for data in (b"x" * 3000, b"short"):
            self.assertEqual(a.send(data), [0])
            chunk, _, position = b.next()
            b.forward(position + ring.HEAD.size, chunk.len, handle)
            b.publish()
            b.wait_ended()
            b.pass_all()
            self.assertEqual(other.read(), data)

    def test_outcomes(self):
        """Each chunk says how it ended; one for no link, and one that is too long, too."""
        a = self.ring(self.a, tx=131072)
        self.ring(self.b)
        at = [a.put(b"good"), a.put(b"nobody", link=77), a.put(bytes(70000)), a.put(b"good", flags=1)]
        a.publish()
        a.wait_ended()
        self.assertEqual([a.outcome(position) for position in at],
                         [(0, 0), (1, errno.ENOTCONN), (1, errno.EMSGSIZE), (0, 0)])

    def test_deadline(self):
        """What a peer that is not there does not take is reversed at the deadline."""
        self.end(self.b).close()
        self.b.knob("shutdown", 1)
        self.addCleanup(self.b.knob, "shutdown", 0)
        file = self.end(self.a)
        file.set_options(deadline_ms=300)
        a = RawRing(file)
        self.addCleanup(a.close)
        for error in a.send(b"1", b"2"):
            self.assertIn(error, (errno.ETIME, errno.ECONNREFUSED))

    def test_refused_at_once(self):
        """What no link takes ends at once, and makes room for what is behind it: one bell does."""
        file = self.end(self.a)
        file.set_options(queue=1)
        a = RawRing(file)
        self.addCleanup(a.close)
        self.set(self.a, shutdown=1)
        at = [a.put(b"%d" % i) for i in range(4)]
        a.publish()
        wait_for(lambda: a.word(ring.ENDED_TO) == a.published, "all to have ended", 3)
        self.assertEqual({a.outcome(position) for position in at}, {(1, errno.ESHUTDOWN)})
        wait_for(lambda: a.word(ring.KERNEL_WANTS_DATA), "the kernel to wait for more", 3)


class Waiting(RingTest):
    """Who waits is woken, and nobody else."""

    def test_bell(self):
        """A call that waits for what is delivered, and for what ends."""
        a, b = self.rings()
        waits = Call(b.next)
        wait_for(lambda: waits.sleeps(SYS_IOCTL), "it to wait")
        a.put(b"wake up")
        a.publish()
        self.assertEqual(waits.result()[1], b"wake up")
        a.wait_ended()
        self.assert_errno(errno.EINVAL, a.bell, 8)

    def test_poll(self):
        """poll() with the words set."""
        a, b = self.rings()
        b.set(ring.WANTS_DATA, 1)
        self.assertEqual(b.file.poll(events=IN | OUT), OUT)
        waits = Call(b.file.poll, 10.0, IN)
        wait_for(lambda: waits.sleeps(None) or True, "it to begin")
        a.send(b"x")
        self.assertEqual(waits.result() & IN, IN)

    def test_gone(self):
        """The bell ends when the port of the only link goes."""
        b = RawRing(self.file(self.b))
        self.addCleanup(b.close)
        self.assert_errno(errno.ENODEV, b.bell, ring.FILLED)


class Spinning(RingTest):
    """A call that looks again and again before it sleeps: it waits as any other."""

    def test_calls(self):
        """read(), write() and the bell: they get what comes, and end when they must."""
        f, g = self.end(self.a), self.end(self.b)
        for file in f, g:
            file.set_options(spin_us=10000)
        reads = Call(g.read)
        f.write(b"one")
        self.assertEqual(reads.result(), b"one")
        reads = Call(g.read)
        wait_for(lambda: reads.sleeps(SYS_READ), "it to sleep after all")
        f.write(b"two")
        self.assertEqual(reads.result(), b"two")
        a = RawRing(f)
        self.addCleanup(a.close)
        waits = Call(a.next)
        g.write(b"three")
        self.assertEqual(waits.result()[1], b"three")
        self.assertRaises(TimeoutError, a.next, 50)


class Rules(RingTest):
    """What a program may not do; it costs that program its rings."""

    def test_setup(self):
        """Sizes, files, and what a file with rings has no longer."""
        f, g = self.pair()
        for tx, rx, error in ((4096, 262144, errno.EINVAL), (65536, 65536, errno.EMSGSIZE),
                              (65537, 262144, errno.EINVAL), (1 << 27, 262144, errno.EINVAL)):
            self.assert_errno(error, RawRing, f, tx, rx)
        a = RawRing(f)
        self.addCleanup(a.close)
        self.assert_errno(errno.EEXIST, RawRing, f)
        self.assert_errno(errno.EBUSY, f.read)
        self.assert_errno(errno.EBUSY, f.write, b"x")
        self.assert_errno(errno.EBUSY, RawRing, self.end(self.a))
        self.assert_errno(errno.EBUSY, a.add, self.end(self.a))
        self.assert_errno(errno.EEXIST, a.add, f)
        self.assert_errno(errno.EXDEV, a.add, g)
        self.assert_errno(errno.ENOTCONN, a.add, self.file(self.a))
        with open("/dev/null", encoding="ascii") as null:
            null.fd = null.fileno()
            self.assert_errno(errno.EINVAL, a.add, null)
        listener = self.file(self.a)
        listener.listen()
        self.assert_errno(errno.EDESTADDRREQ, RawRing, listener)
        lone = RawRing(self.file(self.a))
        self.addCleanup(lone.close)
        self.assert_errno(errno.EBUSY, lone.file.attach, self.cable.mac_b)

    def test_map(self):
        """What the kernel writes cannot be written; mappings are shared."""
        a = self.ring(self.a)
        both = mmap.PROT_READ | mmap.PROT_WRITE
        for offset in a.setup.kernel, a.setup.rx:
            with self.assertRaises(PermissionError):
                a.map(4096, offset, both)
        with self.assertRaises(OSError):
            a.map(4096, a.setup.rx, mmap.PROT_READ, mmap.MAP_PRIVATE)
        for size, offset in ((8192, a.setup.program), (4096, a.setup.rx + 2 * a.setup.rx_size),
                             (4096, 9 << 40)):
            with self.assertRaises(OSError):
                a.map(size, offset, mmap.PROT_READ)

    def test_words(self):
        """A word that cannot be: EPROTO, counted, and the link goes on for others."""
        good = self.end(self.a)
        before = self.a.stat("rings_broken")
        bad = [(ring.PUBLISHED, 1 << 40), (ring.PUBLISHED, 3), (ring.PUBLISHED, 8),
               (ring.PASSED, 8), (ring.PASSED, 1 << 63)]
        for word, value in bad:
            a = RawRing(OaeFile.to(self.a, self.cable.mac_b, vc=self.vc))
            self.addCleanup(a.close)
            a.put(b"first")
            a.set(*((ring.PUBLISHED, a.published) if word is ring.PASSED else (word, value)))
            if word is ring.PASSED:
                a.set(word, value)
                peer = self.end(self.b)
                peer.nonblock()
                peer.set_options(queue=1000)
                self.fill(peer, a)
            self.assert_errno(errno.EPROTO, a.bell)
            self.assertEqual(a.word(ring.ERROR), errno.EPROTO)
            self.assertTrue(a.file.poll() & ERR)
            a.close()
        for head in ((0, None, 0), (8, None, 4), (1 << 20, None, 0)):
            a = RawRing(OaeFile.to(self.a, self.cable.mac_b, vc=self.vc))
            self.addCleanup(a.close)
            a.put(b"x" * 8, length=head[0], flags=head[2])
            a.set(ring.PUBLISHED, a.published)
            self.assert_errno(errno.EPROTO, a.bell)
            a.close()
        self.assertEqual(self.a.stat("rings_broken") - before, len(bad) + 3)
        self.end(self.b)
        good.write(b"still there")

    @staticmethod
    def fill(peer, rings):
        """Send to a ring until it looks at what was passed."""
        def stuck():
            try:
                while not rings.word(ring.ERROR):
                    peer.write(bytes(4096))
            except BlockingIOError:
                # It was full of what the ring before gave back, and looked before that was set.
                if rings.word(ring.KERNEL_WANTS_ROOM) and not rings.word(ring.ERROR):
                    with contextlib.suppress(OSError):
                        rings.bell()
            return rings.word(ring.ERROR)
        wait_for(stuck, "the ring to be broken")


class Memory(RingTest):
    """What rings take is somebody's."""

    @unittest.skipUnless(KERNEL < (5, 11), "the cgroup pays for them: test_costs.Charged")
    def test_locked(self):
        """It is a user's locked memory, until they are closed."""
        self.assertEqual(exit_code(in_process(self.locks)), 0)

    def locks(self):
        """No more than one pair of rings has memory."""
        files = [self.end(host) for host in (self.a, self.b)]
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536 + 262144, 65536 + 262144))
        os.setresuid(NOBODY, NOBODY, NOBODY)
        rings = RawRing(files[0])
        self.assert_errno(errno.ENOMEM, RawRing, files[1])
        rings.close()

        def made():
            try:
                RawRing(files[1]).close()
            except OSError as error:
                if error.errno != errno.ENOMEM:
                    raise
                return False
            return True
        wait_for(made, "the memory of rings that are closed to be given back")


class Left(RingTest):
    """What a program had not passed goes to the next reader."""

    def test_left(self):
        """In order, before what came later; and once."""
        a = self.end(self.a)
        b, later = self.ring(self.b), self.end(self.b, nonblock=True)
        for i in range(10):
            a.write(b"%d" % i + bytes(i * 999))
        self.assertEqual([data[:1] for data in b.recv(3)], [b"0", b"1", b"2"])
        b.next()
        before = self.b.stat("given_back")
        b.close()
        self.assertEqual(self.b.stat("given_back") - before, 7)
        a.write(b"last")
        wait_for(lambda: later.status().unread == 8, "what was left")
        got = [later.read() for _ in range(8)]
        self.assertEqual(got, [b"%d" % i + bytes(i * 999) for i in range(3, 10)] + [b"last"])
        self.assert_errno(errno.EAGAIN, later.read)

    def test_next_ring(self):
        """Another ring gets it, with the same numbers."""
        a, b = self.rings()
        a.send(*[b"%d" % i for i in range(6)])
        b.recv(2)
        wait_for(lambda: b.word(ring.FILLED_TO) == 6 * ring.size_of(1), "all to be filled in")
        b.close()
        c = self.ring(self.b)
        heads = [c.next() for _ in range(4)]
        self.assertEqual([(head.number, data) for head, data, _ in heads],
                         [(i + 1, b"%d" % i) for i in range(2, 6)])

    def test_killed(self):
        """A program that is killed."""
        a = self.end(self.a)
        child = in_process(self.reads_two)
        for i in range(5):
            a.write(b"%d" % i)
        os.waitpid(child, 0)
        other = self.end(self.b)
        self.assertEqual([other.read() for _ in range(3)], [b"2", b"3", b"4"])

    def reads_two(self):
        """Pass two of what comes, read a third, and die."""
        rings = RawRing(self.end(self.b))
        rings.recv(2)
        rings.next()
        os.kill(os.getpid(), signal.SIGKILL)

    def test_dropped(self):
        """What nobody reads goes with the link, and is counted."""
        a = self.end(self.a)
        b = self.ring(self.b)
        a.write(b"nobody")
        b.next()
        b.close()
        self.assertEqual(self.b.read_one(), b"nobody")
