# SPDX-License-Identifier: GPL-2.0
"""Rings of /dev/oae, whose links and programs come and go while they are full."""

import errno
import mmap
import random
import re
import select
from pathlib import Path

import oaedev as dev
import oaering as ring
from oaedev import Call, OaeFile
from oaering import RawRing
from oaetest import wait_for
from test_dev_rings import RingTest

BIG = bytes(65536)
SYS_POLL = 7


class RingLinks(RingTest):
    """One ring at host b that serves several links."""

    channel = 0

    def server(self, **sizes):
        """Rings of a file without a link of its own."""
        rings = RawRing(self.file(self.b), **sizes)
        self.addCleanup(rings.close)
        return rings

    def link(self, server=None):
        """Both ends of another link, the one at b on rings."""
        RingLinks.channel = RingLinks.channel % 255 + 1
        ends = []
        for host, peer in ((self.a, self.cable.mac_b), (self.b, self.cable.mac_a)):
            ends.append(OaeFile.to(host, peer, vc=RingLinks.channel, port=""))
            self.addCleanup(ends[-1].close)
        return ends[0], ends[1], server.add(ends[1]) if server else None

    @staticmethod
    def freed():
        """What was freed by kfree_rcu() is: its shrinker sees to that."""
        for _ in range(3):
            Path("/proc/sys/vm/drop_caches").write_text("2", encoding="ascii")

    def full(self, server, *clients):
        """Fill rx, but for less than one message; each client has one more delivered."""
        while True:
            before = server.word(ring.FILLED_TO)
            clients[0].write(BIG)
            wait_for(lambda: server.word(ring.FILLED_TO) > before or
                     server.word(ring.KERNEL_WANTS_ROOM), "it to be filled in, or rx to be full")
            if server.word(ring.FILLED_TO) == before:
                break
        for client in clients[1:]:
            client.write(BIG)


class Gone(RingLinks):
    """A link that is taken off."""

    def test_full(self):
        """While others wait for room: its last chunk is passed, and it goes."""
        server = self.server()
        small, end, _ = self.link(server)
        clients = [self.link(server)[0] for _ in range(3)]
        small.write(b"first")
        wait_for(lambda: server.word(ring.FILLED_TO), "it to be filled in")
        self.full(server, *clients)
        end.close()
        # Not a bell more than one, so the links that wait stay before it on the list.
        server.passed = ring.size_of(len(b"first"))
        server.pass_all()
        self.freed()
        for client in clients:
            server.bell()
            client.write(b"last")
        got = []
        while got.count(b"last") < len(clients):
            got += server.recv()
        self.assertEqual({bytes(8), b"last"}, {data[:8] for data in got})


class Closing(RingLinks):
    """The file of rings is closed."""

    def stuck(self, server):
        """The handle of a link to nobody: what is posted to it waits."""
        end = OaeFile.to(self.b, "02:0a:e0:ff:ff:01", vc=1)
        self.addCleanup(end.close)
        return server.add(end)

    def test_lingers(self):
        """While it waits for what was taken, what was not passed is read already, in order."""
        file = self.file(self.b)
        file.set_options(linger_ms=4000)
        server = RawRing(file)
        self.addCleanup(server.close)
        client, end, _ = self.link(server)
        server.put(b"nobody", self.stuck(server))
        server.publish()
        # So many that it takes a while to give them back.
        sent = [b"%03d" % i for i in range(300)]
        for data in sent:
            client.write(data)
        wait_for(lambda: server.word(ring.FILLED_TO) == len(sent) * ring.size_of(3), "all to be filled in")
        self.assert_errno(errno.EBUSY, end.read)
        end.nonblock()
        closing = Call(server.close)
        got = []

        def reads():
            try:
                got.append(end.read())
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
            return got
        # Once there is read() again, nothing is missing: EAGAIN would be wrong.
        wait_for(reads, "the file to have read() again", interval=0)
        client.write(b"end")
        end.nonblock(False)
        while got[-1] != b"end":
            got.append(end.read())
        self.assertEqual(got, sent + [b"end"])
        closing.result()

    def test_polled(self):
        """A file whose link was on them: poll() tells of what is unread since before."""
        server = self.server()
        clients = [self.link(server) for _ in range(2)]
        self.full(server, *[client for client, _, _ in clients])
        _, end, _ = clients[1]
        self.assertEqual(end.poll(events=select.POLLIN), 0)
        polls = Call(end.poll, 60.0, select.POLLIN)
        wait_for(lambda: polls.sleeps(SYS_POLL), "it to wait")
        server.close()
        self.assertEqual(polls.result(2.0), select.POLLIN)

    def test_polled_to_write(self):
        """A file whose link was on them: poll() tells that there is write() again."""
        server = self.server()
        client, end, _ = self.link(server)
        client.write(b"opens")
        self.assertEqual(end.poll(events=select.POLLOUT), 0)
        polls = Call(end.poll, 60.0, select.POLLOUT)
        wait_for(lambda: polls.sleeps(SYS_POLL), "it to wait")
        server.close()
        self.assertEqual(polls.result(2.0), select.POLLOUT)


class Taken(RingLinks):
    """A file that keeps what it has read, when its link is put on rings."""

    def taker(self):
        """Both ends of a link; the one at b keeps the first message."""
        client, end, _ = self.link()
        end.set_options(flags=dev.OPT_TAKE)
        client.write(b"1")
        self.assertEqual(end.read(), b"1")
        return client, end

    def test_goes_back(self):
        """The ring has it, before all that is newer."""
        client, end = self.taker()
        client.write(b"2")
        server = self.server()
        server.add(end)
        got = []
        while len(got) < 2:
            got += server.recv()
        self.assertEqual(got, [b"1", b"2"])

    def test_stays(self):
        """Not if the link is on rings already: it is the file's still."""
        _, end = self.taker()
        beside = OaeFile.to(self.b, self.cable.mac_a, vc=RingLinks.channel, port="")
        self.addCleanup(beside.close)
        server = self.server()
        server.add(beside)
        self.assert_errno(errno.EBUSY, server.add, end)
        self.assertEqual(server.word(ring.FILLED_TO), 0)
        end.done()


class Bounds(RingLinks):
    """What a program can have the kernel allocate."""

    def test_forwards(self):
        """What is forwarded and waits takes no more memory than the rings."""
        self.forwards(BIG)

    def test_pages(self):
        """Nor do the pages, if none of them is full."""
        self.forwards(bytes(mmap.PAGESIZE // 2 + 1))

    def forwards(self, data):
        """Some message, very many times."""
        file = self.file(self.b)
        file.set_options(queue=65536)
        server = RawRing(file)
        self.addCleanup(server.close)
        client, _, _ = self.link(server)
        client.write(data)
        wait_for(lambda: server.word(ring.FILLED_TO), "it to be filled in")
        handle = Closing.stuck(self, server)
        for _ in range(1000):
            server.forward(ring.HEAD.size, len(data), handle)
        server.publish()

        def stands():
            before = server.word(ring.TAKEN_TO)
            server.bell()
            return before and server.word(ring.TAKEN_TO) == before
        # After some rounds a timer goes on.
        wait_for(stands, "no more to be taken")
        taken = server.word(ring.TAKEN_TO) // ring.size_of(8)
        self.assertGreater(taken, 0)
        rings = server.setup.tx_size + server.setup.rx_size
        pages = -(-len(data) // mmap.PAGESIZE) * mmap.PAGESIZE
        self.assertLessEqual(taken * pages, rings + pages)


    @staticmethod
    def free():
        """Bytes that the machine has free."""
        found = re.search(r"^MemFree: +(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.M)
        return int(found[1]) * 1024

    def between(self, count, *lengths):
        """Short ones wait, so many; between them others of these lengths end at once."""
        file = self.file(self.b)
        file.set_options(queue=65536)
        server = RawRing(file, tx=1 << 21, rx=1 << 21)
        self.addCleanup(server.close)
        client, _, _ = self.link(server)
        client.write(bytes(max(lengths)))
        wait_for(lambda: server.word(ring.FILLED_TO), "it to be filled in")
        handle, nobody = Closing.stuck(self, server), 12345
        for _ in range(count):
            server.put(b"x", handle)
            for length in lengths:
                server.forward(ring.HEAD.size, length, nobody)
        self.freed()
        before = self.free()
        server.publish()

        def stands():
            before = server.word(ring.TAKEN_TO)
            server.bell()
            return before and server.word(ring.TAKEN_TO) == before
        wait_for(stands, "no more to be taken", 60)
        rings = server.setup.tx_size + server.setup.rx_size
        self.assertLess(before - self.free(), 2 * rings)

    def test_shared_pages(self):
        """Nor do pages of which a short one that waits keeps each, beside others that have filled it."""
        self.between(16000, mmap.PAGESIZE // 2, mmap.PAGESIZE // 2 - 64)

    def test_ended(self):
        """Nor do long ones that have ended between short ones that wait."""
        self.between(1000, 60000)


class Packs(RingLinks):
    """Packs that cannot be sent as they are."""

    mtu = 9000

    def setUp(self):
        super().setUp()
        self.rand = random.Random(5)
        self.a.knobs(pack=1)
        self.cable.mtu(9000)

    def records(self, count):
        """That many, short ones."""
        return [b"%d " % i + self.rand.randbytes(self.rand.randint(0, 300)) for i in range(count)]

    def queued(self, deadline_ms=0, single=0, few=()):
        """
        Rings of both ends; records that are taken and wait, their positions and bytes: all are
        taken at once, or so many single ones, or these few.
        """
        file = self.end(self.a)
        file.set_options(queue=65536, deadline_ms=deadline_ms)
        a = RawRing(file, tx=1 << 20)
        self.addCleanup(a.close)
        b = self.ring(self.b)
        a.send(b"opens")
        b.recv()
        self.addCleanup(self.b.knob, "drop_pct", 0)
        self.b.knob("drop_pct", 100)
        records, at = few or self.records(single or 2000), []
        for n, data in enumerate(records, 1):
            at.append(a.put(data))
            if single or n == len(records):
                a.publish()
                wait_for(lambda: a.word(ring.TAKEN_TO) == a.published, "what is published to be taken")
        return a, b, at, records

    def check(self, a, b, at, records):
        """All are committed, and come in order."""
        self.b.knob("drop_pct", 0)
        self.assertEqual([b.recv()[0] for _ in records], records)
        a.wait_ended()
        self.assertEqual({a.outcome(position) for position in at}, {(0, 0)})

    def test_mtu(self):
        """They are longer than a frame by now."""
        queued = self.queued()
        self.cable.mtu(1280)
        self.check(*queued)

    def test_alone(self):
        """One that is out alone becomes its records; what it took is free then, and more is taken."""
        queued = self.queued(few=[b"%d " % n + bytes(350) for n in range(5)])
        self.cable.mtu(1280)
        self.check(*queued)
        a, b, _, _ = queued
        later = self.records(10)
        self.assertEqual(a.send(*later), [0] * 10)
        self.assertEqual(b.recv(10), later)

    def test_no_packs(self):
        """There are none any more; then there are."""
        queued = self.queued()
        self.a.knobs(pack=0)
        self.check(*queued)

    def test_deadline(self):
        """Each record of a pack is reversed at its deadline, and what comes later goes on."""
        a, b, at, _ = self.queued(deadline_ms=300)
        a.wait_ended()
        self.assertEqual({a.outcome(position) for position in at}, {(1, errno.ETIME)})
        self.b.knob("drop_pct", 0)
        # The link may be about to look whether its peer is there for longer than that.
        a.file.set_options(deadline_ms=0)
        later = self.records(10)
        self.assertEqual(a.send(*later), [0] * 10)
        self.assertEqual(b.recv(10), later)

    def test_lossy(self):
        """The MTU shrinks and grows while frames are lost."""
        queued = self.queued()
        self.b.knob("drop_pct", 10)
        for mtu in 1280, 9000, 1500, 1280, 9000:
            self.cable.mtu(mtu)
        self.check(*queued)
