# SPDX-License-Identifier: GPL-2.0
"""Rings by the Python module, over the real device: what a program sees, and loses.

    n1 e1 ---- e2 n2
"""

import errno
import os
import pickle
import select
import signal
import struct
import sys
import threading
import time

from devtest import exit_code, in_process
from oaetest import REPO, wait_for
from patience import SLOW
from test_dev_lib import LibTest, Thread

sys.path.insert(0, str(REPO / "lib"))
import oae      # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order
from oae import Ready       # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order

SMALL, LARGE = 1 << 16, 1 << 18     # rx holds two transactions of 64 KiB
LONG = 20 * SLOW                    # seconds: something hangs


def pattern(number, size):
    """Bytes that tell which transaction they are of."""
    return struct.pack("=I", number) + bytes((number + n) & 0xff for n in range(size - 4))


class RingTest(LibTest):
    """Two hosts; what is opened is closed."""

    def ring(self, host, tx=SMALL, rx=LARGE, **options):
        """The rings of an end of this test's link; .file is the link."""
        link = self.link(host, **options)
        ring = oae.Ring(link, tx, rx)
        ring.file = link
        self.addCleanup(ring.close)
        return ring

    def rings(self, **how):
        """Both ends, whose queues do not limit anything."""
        ends = self.ring(self.n1, **how), self.ring(self.n2, **how)
        for end in ends:
            end.file.set_options(queue=65536)
        return ends

    @staticmethod
    def put(ring, *messages, **how):
        """Stage and publish; there is room."""
        for message in messages:
            ring.reserve(len(message))[:] = message
            ring.stage(**how)
        ring.flush()

    @staticmethod
    def take(ring, count=1):
        """So many, copied, and passed."""
        got = []
        while len(got) < count:
            if not ring.wait(Ready.DATA, timeout=LONG):
                raise AssertionError(f"{got} and no more: {ring.position()}")
            got += [bytes(data) for data, _chunk in ring]
            ring.done()
        return got

    @staticmethod
    def outcomes(ring, count=1):
        """So many: (ending, errno)."""
        got = []
        while len(got) < count:
            if not ring.wait(Ready.OUTCOME, timeout=LONG):
                raise AssertionError(f"{got} and no more: {ring.position()}")
            got += [(ended.ending.name[0], errno.errorcode.get(ended.err, 0))
                    for ended in iter(ring.ended, None)]
        return got


class Stream(RingTest):
    """One link, and several."""

    def test_one_link(self):
        a, b = self.rings()
        self.put(a, b"one", b"two", b"three")
        self.assertTrue(b.wait(Ready.DATA, timeout=LONG))
        data, chunk = b.next()
        self.assertEqual((bytes(data), chunk.link, chunk.number, chunk.len), (b"one", b.link, 1, 3))
        self.assertTrue(data.readonly)
        del data
        b.done()
        self.assertEqual(self.take(b, 2), [b"two", b"three"])
        self.assertEqual(self.outcomes(a, 3), [("C", 0)] * 3)
        p = a.position()
        self.assertEqual({p.staged, p.published, p.taken, p.ended, p.seen}, {3 * 24})
        q = b.position()
        self.assertEqual({q.filled, q.next, q.passed}, {3 * 24})
        self.assertIsNone(a.ended())
        self.assertIsNone(b.next())

    def test_round_and_round(self):
        """Both rings many times, in both directions at once; all of it, in order."""
        ends, total = self.rings(), 600
        sizes = [5 + n * 7919 % (30000 if n % 50 == 0 else 2000) for n in range(total)]

        def pump(ring):
            out = seen = got = 0
            while got < total or seen < total:
                try:
                    while out < total:
                        self.put(ring, pattern(out, sizes[out]))
                        out += 1
                except BlockingIOError:
                    pass
                for ended in iter(ring.ended, None):
                    self.assertTrue(ended.committed, ended)
                    self.assertEqual(ended.len, sizes[seen])
                    seen += 1
                for data, chunk in ring:
                    self.assertEqual(bytes(data), pattern(got, sizes[got]))
                    got += 1
                    self.assertEqual(chunk.number, got)
                ring.done()
                what = Ready.DATA | (Ready.ROOM if out < total else Ready.OUTCOME)
                if got < total or seen < total:
                    self.assertTrue(ring.wait(what, sizes[min(out, total - 1)], LONG), ring.position())
        threads = [Thread(pump, end) for end in ends]
        for thread in threads:
            thread.join(120)
        for end in ends:
            self.assertGreater(end.position().passed, 4 * SMALL)

    def test_many_links(self):
        """One pair of rings for several; each has its handle, and none is used again."""
        with self.n2:
            server = oae.Ring(None, SMALL, LARGE)
        self.addCleanup(server.close)
        self.assertEqual(server.link, 0)
        clients = {}
        for _ in range(5):
            LibTest.vc += 1
            link = self.link(self.n2)
            clients[server.add(link)] = (self.link(self.n1), link)
        self.assertEqual(len(clients), 5)
        for handle, (client, _link) in clients.items():
            client.send(b"to %d" % handle)
        for _ in clients:
            server.wait(Ready.DATA, timeout=LONG)
            data, chunk = server.next()
            self.assertEqual(bytes(data), b"to %d" % chunk.link)
            self.put(server, b"back to %d" % chunk.link, link=chunk.link)
            server.done()
        for handle, (client, _link) in clients.items():
            self.assertEqual(client.recv(), b"back to %d" % handle)
        self.assertEqual(self.outcomes(server, 5), [("C", 0)] * 5)
        # one goes, and comes again as another
        first, (client, link) = next(iter(clients.items()))
        link.close()
        self.put(server, b"lost", link=first)
        self.assertEqual(self.outcomes(server), [("R", "ENOTCONN")])
        again = self.link_of(client)
        self.assertNotIn(server.add(again), clients)

    def link_of(self, client):
        """An end at n2 of the link that a client at n1 has."""
        with self.n2:
            link = oae.Link(self.cable.mac_a, client.status().vc)
        self.addCleanup(link.close)
        return link

    def test_forward(self):
        """What came by one link goes on by another, without a copy; parts of it, too."""
        a, b = self.rings()
        LibTest.vc += 1
        there, other = self.link(self.n2), self.link(self.n1)
        handle = b.add(there)
        total = 300
        sent = [pattern(n, 1000 + n) for n in range(total)]

        def feed():
            for message in sent:
                while True:
                    try:
                        self.put(a, message)
                        break
                    except BlockingIOError:
                        a.wait(Ready.ROOM, len(message), LONG)
                        list(iter(a.ended, None))
        feeder = Thread(feed)
        got = []
        reader = Thread(lambda: got.extend(other.recv() for _ in range(total)))
        count = 0
        while count < total:
            self.assertTrue(b.wait(Ready.DATA, timeout=LONG), b.position())
            data, chunk = b.next()
            while True:
                try:
                    b.forward(chunk.at + 4, chunk.len - 4, handle)
                    break
                except BlockingIOError:
                    b.wait(Ready.ROOM, 8, LONG)
                    for ended in iter(b.ended, None):
                        self.assertTrue(ended.committed)
            self.assertRaises(OSError, b.forward, chunk.at, chunk.len + 8, handle)
            b.done()
            count += 1
        b.flush()
        feeder.join(60)
        reader.join(60)
        del data
        self.assertEqual(got, [message[4:] for message in sent])
        # the last that was held up is passed when it is looked for
        wait_for(lambda: b.next() is None and b.position().passed == b.position().filled,
                 "all to be passed")


class Outcomes(RingTest):
    """How each has ended."""

    def test_reversed(self):
        """Its deadline: those behind it have theirs, in order; and the bytes are there still."""
        a, b = self.rings()
        self.put(a, b"before")
        self.assertEqual(self.take(b), [b"before"])
        self.assertEqual(self.outcomes(a), [("C", 0)])
        a.file.set_options(deadline_ms=100)
        mend = self.cut()
        self.put(a, b"never", b"neither")
        self.assertTrue(a.wait(Ready.OUTCOME, timeout=LONG))
        ended = a.ended()
        self.assertEqual((ended.ending, ended.err, bytes(ended.data), ended.link),
                         (oae.Ending.REVERSED, errno.ETIME, b"never", a.link))
        self.assertEqual(ended.why, "the deadline passed")
        self.assertFalse(ended.committed)
        del ended
        self.assertEqual(self.outcomes(a), [("R", "ETIME")])
        mend()
        a.file.set_options(deadline_ms=0)
        self.put(a, b"after")
        self.assertEqual(self.take(b), [b"after"])

    def test_each_its_own(self):
        """Too long for the link, for no link, good: in their order."""
        a, b = self.rings(tx=1 << 17)
        self.put(a, b"good")
        self.put(a, b"nobody", link=99)
        self.put(a, bytes(70000))
        self.put(a, b"quick", express=True)
        self.assertEqual(self.outcomes(a, 4),
                         [("C", 0), ("R", "ENOTCONN"), ("R", "EMSGSIZE"), ("C", 0)])
        self.assertEqual(self.take(b, 2), [b"good", b"quick"])

    def test_room_is_what_was_seen(self):
        """An outcome that was not looked at keeps its room."""
        a, b = self.rings()
        self.put(a, bytes(40000))
        self.take(b)
        a.wait(Ready.ROOM, 40000, LONG)
        self.assertRaises(BlockingIOError, a.reserve, 40000)
        self.assertTrue(a.ended().committed)
        a.reserve(40000).release()


class Waiting(RingTest):
    """wait(), arm() and poll()."""

    def test_wait(self):
        a, b = self.rings()
        self.assertEqual(a.wait(Ready.ROOM, 100, 0), Ready.ROOM)
        self.assertEqual(b.wait(Ready.DATA, timeout=0.05), Ready(0))
        with self.assertRaises(OSError) as caught:
            a.wait(Ready.OUTCOME)
        self.assertEqual(caught.exception.errno, errno.ENOENT)
        with self.assertRaises(OSError) as caught:
            a.wait(Ready.ROOM, SMALL)
        self.assertEqual(caught.exception.errno, errno.EMSGSIZE)
        reader = Thread(b.wait, Ready.DATA, 1, LONG)
        wait_for(lambda: b._program_flags[18], "the reader to wait")  # pylint: disable=protected-access
        self.put(a, b"x")
        self.assertEqual(reader.join(), Ready.DATA)
        # read ahead: what was given is not passed, and more is waited for
        self.assertEqual(bytes(b.next()[0]), b"x")
        self.assertEqual(b.wait(Ready.DATA, timeout=0.05), Ready(0))
        self.put(a, b"y")
        self.assertEqual(b.wait(Ready.DATA, timeout=LONG), Ready.DATA)
        self.assertEqual(b.position().passed, 0)

    def test_room(self):
        """It comes as transactions end; what is staged is published by the wait itself."""
        a, b = self.rings()
        b.file.set_options(queue=1)
        for _ in range(15):
            a.reserve(4000).release()
            a.stage()
        self.assertRaises(BlockingIOError, a.reserve, 8000)
        self.assertTrue(a.wait(Ready.ROOM, 8000, LONG))
        self.assertEqual(len(self.take(b, 15)), 15)
        self.assertEqual(self.outcomes(a, 15), [("C", 0)] * 15)

    def test_signal(self):
        """A handler that returns: it goes on with the time that is left; one that raises ends it."""
        a, _b = self.rings()
        self.addCleanup(signal.signal, signal.SIGUSR1, signal.getsignal(signal.SIGUSR1))
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        main = threading.main_thread().ident

        def shoot():
            wait_for(lambda: a._program_flags[18], "it to wait")    # pylint: disable=protected-access
            signal.pthread_kill(main, signal.SIGUSR1)
        shooter = Thread(shoot)
        begin = time.monotonic()
        self.assertEqual(a.wait(Ready.DATA, timeout=0.5), Ready(0))
        shooter.join()
        self.assertEqual(seen, [1])
        self.assertGreaterEqual(time.monotonic() - begin, 0.5)

        def stop(*_unused):
            raise KeyboardInterrupt
        signal.signal(signal.SIGUSR1, stop)
        shooter = Thread(shoot)
        with self.assertRaises(KeyboardInterrupt):
            a.wait(Ready.DATA, timeout=LONG)
        shooter.join()
        self.assertEqual(a._program_flags[18], 0)       # pylint: disable=protected-access

    def test_poll(self):
        """Several descriptors: armed, poll() wakes."""
        a, b = self.rings()
        poll = select.poll()
        poll.register(b, select.POLLIN)
        self.assertEqual(b.arm(Ready.DATA), Ready(0))
        waiter = Thread(poll.poll, LONG * 1000)
        self.put(a, b"x")
        self.assertEqual(waiter.join(), [(b.fileno(), select.POLLIN)])
        b.disarm()
        self.assertEqual(b.arm(Ready.DATA), Ready.DATA)
        self.assertEqual(self.take(b), [b"x"])
        self.assertEqual(poll.poll(0), [])
        # room: half of the ring
        poll = select.poll()
        poll.register(a, select.POLLOUT)
        mend = self.cut()
        for _ in range(15):
            self.put(a, bytes(4000))
        self.assertEqual(a.arm(Ready.ROOM, 8000), Ready(0))
        self.assertEqual(poll.poll(0), [])
        mend()
        self.assertEqual(poll.poll(LONG * 1000), [(a.fileno(), select.POLLOUT)])
        a.disarm()
        self.assertEqual(len(self.take(b, 15)), 15)

    def test_gone(self):
        """The port of its link goes: what waits is told."""
        a, _b = self.rings()
        self.put(a, b"x")
        self.outcomes(a)
        waiter = Thread(a.wait, Ready.DATA, 1, LONG)
        wait_for(lambda: a._program_flags[18], "it to wait")        # pylint: disable=protected-access
        ports = self.n1.knob("dev")
        self.addCleanup(self.n1.knob, "dev", ports)
        self.n1.knob("dev", "")
        with self.assertRaises(OSError) as caught:
            waiter.join()
        self.assertEqual(caught.exception.errno, errno.ENODEV)


class Ends(RingTest):
    """What is left of a program that is gone."""

    def reader(self, count, passed):
        """A child that takes `count`, passes `passed` of them, and waits to be killed."""
        link = self.link(self.n2)
        done, told = os.pipe()

        def child():
            ring = oae.Ring(link, SMALL, LARGE)
            for n in range(count):
                ring.wait(Ready.DATA)
                ring.next()
                if n + 1 == passed:
                    ring.done()
            os.write(told, b"x")
            signal.pause()
        child = in_process(child)
        link.close()
        os.read(done, 1)
        os.close(done)
        os.close(told)
        return child

    def test_killed_reader(self):
        """What it had not passed is the next reader's: once more what it had seen, in order."""
        a = self.link(self.n1)
        for n in range(5):
            a.send(b"%d" % n)
        child = self.reader(4, 2)
        os.kill(child, signal.SIGKILL)
        self.assertEqual(exit_code(child), -signal.SIGKILL)
        ring = self.ring(self.n2)
        heads = []
        while len(heads) < 3:
            self.assertTrue(ring.wait(Ready.DATA, timeout=LONG))
            heads += [(bytes(data), chunk.number) for data, chunk in ring]
            ring.done()
        self.assertEqual(heads, [(b"2", 3), (b"3", 4), (b"4", 5)])

    def test_killed_writer(self):
        """What was published and not taken never happened; the peer sees the first ones."""
        b = self.link(self.n2)
        link = self.link(self.n1)
        link.set_options(queue=2)
        b.send(b"open")
        mend = self.cut()
        done, told = os.pipe()

        def child():
            ring = oae.Ring(link, SMALL, LARGE)
            for n in range(20):
                self.put(ring, b"%d" % n)
            ring.wait(Ready.DATA, timeout=1)        # that the kernel has looked
            os.write(told, struct.pack("Q", ring.position().taken))
            signal.pause()
        child = in_process(child)
        link.close()
        taken = struct.unpack("Q", os.read(done, 8))[0] // 24
        os.close(done)
        os.close(told)
        self.assertEqual(taken, 2)
        os.kill(child, signal.SIGKILL)
        exit_code(child)
        mend()
        with self.n1:
            again = oae.Link(self.cable.mac_b, self.vc)
        self.addCleanup(again.close)
        again.send(b"end")
        got = []
        while b"end" not in got:
            got.append(b.recv())
        self.assertIn(got, ([b"end"], [b"0", b"end"], [b"0", b"1", b"end"]))

    def test_child_has_no_rings(self):
        """After fork() its pages are not there: it dies of touching them, and harms nobody."""
        a, b = self.rings()
        child = in_process(lambda: self.put(a, b"from a child"))
        self.assertEqual(exit_code(child), -signal.SIGSEGV)
        self.put(a, b"from the parent")
        self.assertEqual(self.take(b), [b"from the parent"])


class Broken(RingTest):
    """Programs that do not keep the rules lose their rings, and nobody else anything."""

    def stands_still(self, do, room=16):
        """What `do` does to a ring stops it; another link goes on."""
        self.vc_up()
        a, b = self.rings()
        self.put(a, b"first")
        self.assertEqual(self.take(b), [b"first"])
        self.outcomes(a)
        a.reserve(room)[:] = bytes(room)
        a.stage()
        with self.assertRaises(OSError) as caught:
            do(a)
            a._bell()           # pylint: disable=protected-access
            a.wait(Ready.DATA, timeout=0)
        self.assertEqual(caught.exception.errno, errno.EPROTO)
        for call in (lambda: a.wait(Ready.DATA), a.next, a.ended, a._bell):  # pylint: disable=protected-access
            with self.assertRaises(OSError) as caught:
                call()
            self.assertEqual(caught.exception.errno, errno.EPROTO)
        a.close()
        a.file.close()
        self.put(b, b"nothing of this")
        with self.n1:
            again = oae.Link(self.cable.mac_b, self.vc)
        self.addCleanup(again.close)
        again.send(b"goes on")
        self.assertEqual(self.take(b), [b"goes on"])
        self.assertEqual(again.recv(), b"nothing of this")

    @staticmethod
    def vc_up():
        """Another link for the next."""
        LibTest.vc += 1

    def word(self, index, value):
        """A store into the program's page."""
        def do(ring):
            ring._program[index] = value(ring) & (1 << 64) - 1  # pylint: disable=protected-access
        self.stands_still(do)

    def test_published(self):
        """Behind the ring, back, odd, in a header, in a chunk."""
        for value in (lambda r: r.position().ended + SMALL + 8, lambda r: r.position().taken - 8,
                      lambda r: r.position().staged - 1, lambda r: r.position().taken + 8,
                      lambda r: r.position().taken + 24, lambda r: -1, lambda r: 1 << 63):
            self.word(0, value)

    def test_passed(self):
        """More than there is, back, odd, in a header: seen when room is looked for. Nothing that
        was delivered is lost by it."""
        for value in (lambda r: r.position().filled + 8, lambda r: -8, lambda r: 1,
                      lambda r: 8, lambda r: 1 << 63):
            self.vc_up()
            a, b = self.rings(tx=1 << 19)
            messages = [pattern(n, 60000) for n in range(5)]
            self.put(b, *messages)
            wait_for(lambda a=a: a._kernel_flags[18], "rx to be full")  # pylint: disable=protected-access
            a._program[8] = value(a) & (1 << 64) - 1        # pylint: disable=protected-access
            with self.assertRaises(OSError) as caught:
                a._bell()       # pylint: disable=protected-access
                while a.next():
                    pass
            self.assertEqual(caught.exception.errno, errno.EPROTO)
            a.close()
            a.file.close()
            with self.n1:
                again = oae.Link(self.cable.mac_b, self.vc)
            self.addCleanup(again.close)
            for message in messages:
                self.assertEqual(again.recv(), message)
            self.assertEqual(self.outcomes(b, 5), [("C", 0)] * 5)

    def test_headers(self):
        """Of every chunk each member that the kernel looks at."""
        def head(**change):
            def do(ring):
                known = {"len": 16, "link": ring.link, "number": 0, "flags": 0, "result": 0, "err": 0}
                struct.pack_into("=3IBBH", ring._tx, ring.position().published % SMALL,  # pylint: disable=protected-access
                                 *(known | change).values())
                ring.flush()
            self.stands_still(do)
        for change in ({"len": 0}, {"len": 17 + 8}, {"len": 0xffffffff}, {"len": 0xfffffff0},
                       {"flags": 4}, {"flags": 0x80}):
            with self.subTest(**change):
                head(**change)

    def test_forward(self):
        """Bytes that are not in rx."""
        for at, length in ((0, 16), (8, 1 << 20), (1 << 63, 16), ((1 << 64) - 8, 16), (1 << 20, 16)):
            def do(ring, at=at, length=length):
                where = ring.position().published % SMALL
                struct.pack_into("=3IBBHQ", ring._tx, where, length, ring.link, 0, 2, 0, 0, at)  # pylint: disable=protected-access
                ring.flush()
            with self.subTest(at=at, length=length):
                self.stands_still(do, room=8)


class Opening(RingTest):
    """What making them refuses."""

    def refused(self, code, function, *args):
        with self.assertRaises(OSError) as caught:
            function(*args)
        self.assertEqual(caught.exception.errno, code, caught.exception)

    def test_sizes(self):
        link = self.link(self.n1)
        for tx, rx in ((0, LARGE), (SMALL - 1, LARGE), (SMALL, LARGE + 1), (1 << 27, LARGE),
                       (SMALL // 2, LARGE), (SMALL, 1 << 27), (1 << 32, LARGE)):
            self.refused(errno.EINVAL, oae.Ring, link, tx, rx)
        self.refused(errno.EMSGSIZE, oae.Ring, link, SMALL, SMALL)
        oae.Ring(link, SMALL, LARGE).close()
        self.refused(errno.EEXIST, oae.Ring, link, SMALL, LARGE)

    def test_one_use(self):
        """A file has rings or read() and write(); a link is on one ring."""
        ring = self.ring(self.n1)
        self.refused(errno.EBUSY, ring.file.recv)
        self.refused(errno.EBUSY, ring.file.send, b"x")
        second = self.link(self.n1)
        self.refused(errno.EBUSY, oae.Ring, second, SMALL, LARGE)
        LibTest.vc += 1
        other = self.link(self.n1)
        ring.add(other)
        self.refused(errno.EBUSY, ring.add, other)
        self.refused(errno.EBUSY, other.send, b"x")
        LibTest.vc += 1
        self.refused(errno.EXDEV, ring.add, self.link(self.n2))
        with self.n1:
            listener = oae.Listener()
        self.addCleanup(listener.close)
        self.refused(errno.EDESTADDRREQ, oae.Ring, listener, SMALL, LARGE)

    def test_views(self):
        """Each is released when the bytes are no longer the program's; a slice keeps the rings."""
        ring, other = self.rings()
        view = ring.reserve(8)
        ring.publish()
        self.assertRaises(ValueError, view.__setitem__, 0, 1)
        ring.wait(Ready.OUTCOME, timeout=LONG)
        data = ring.ended().data
        self.assertEqual(len(data), 8)
        ring.reserve(8)
        self.assertRaises(ValueError, len, data)
        other.wait(Ready.DATA, timeout=LONG)
        data, _chunk = other.next()
        self.assertRaises(TypeError, data.__setitem__, 0, 1)
        other.done()
        self.assertRaises(ValueError, bytes, data)
        part = ring.reserve(8)[1:]
        self.assertRaises(BufferError, ring.close)
        part.release()
        ring.close()
        ring.close()

    def test_exported(self):
        """As long as somebody holds the bytes of one, as numpy does, they stay the program's."""
        ring, other = self.rings()
        view = ring.reserve(8)
        array = pickle.PickleBuffer(view)
        for call in 2 * (ring.publish, ring.ended, lambda: ring.reserve(8), ring.close):
            self.assertRaises(BufferError, call)
        self.assertEqual(ring.position().staged, 0)
        view[:] = b"exported"
        array.release()
        ring.publish(length=8)
        other.wait(Ready.DATA, timeout=LONG)
        data, _chunk = other.next()
        self.assertEqual(bytes(data), b"exported")
        other.close()
        ring.close()
