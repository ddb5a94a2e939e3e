# SPDX-License-Identifier: GPL-2.0
"""Payloads of every size that is near a limit, over cables of several MTUs.

What is written is what is read: whole, unaltered, a transaction a read.
"""

import errno
import os
import random
import threading
import time

from faults import say
from oaetest import BIGGEST, Cable, OaeTest, wait_for
from patience import SLOW
from topology import OneCable, OneSwitch

SIZES = (1, 7, 8, 13, 500, 1451, 1452, 1453, 2904, 2905, 4096, 9000, 65535, 65536)
HDR_LEN = 48


def payload(size, seed=0):
    """Bytes that are nowhere the same."""
    return random.Random(size << 8 | seed).randbytes(size)


class Sizes:
    """Transactions of all sizes, with OneCable."""

    targets = True
    sizes = SIZES

    def setUp(self):
        super().setUp()
        for host in (self.a, self.b):
            host.read_all()

    def test_one_way(self):
        """Each size there, then nothing more to read."""
        for size in self.sizes:
            with self.subTest(size=size):
                data = payload(size)
                self.assertEqual(self.a.write(data), size)
                self.assertEqual(self.b.read_one(), data)
                self.assertEqual(self.b.read_all(), b"")

    def test_both_ways(self):
        """Each size in both directions at once."""
        for size in self.sizes:
            with self.subTest(size=size):
                writers = [host.start_write(payload(size, n))
                           for n, host in enumerate((self.a, self.b))]
                self.assertEqual([w.result() for w in writers], [size, size])
                self.assertEqual(self.b.read_one(), payload(size, 0))
                self.assertEqual(self.a.read_one(), payload(size, 1))

    def test_boundaries(self):
        """Transactions queued one behind the other stay apart when they are read."""
        self.b.knob("rcvbuf", 4 << 20)      # it counts what they take, not what they say
        sizes = [n for n in self.sizes if n < 5000] * 2
        for n, size in enumerate(sizes):
            self.a.write(payload(size, n), nonblock=True)
        wait_for(lambda: self.b.tag()["unread"] == len(sizes), "all to be delivered")
        self.assertEqual(self.b.read_each(), [payload(size, n) for n, size in enumerate(sizes)])

    def test_over_long(self):
        """A transaction that does not fit into 64 slices, or into max_len, is EMSGSIZE."""
        most = min(64 * (self.mtu - HDR_LEN), 65536)
        self.assertEqual(self.a.write(payload(most)), most)
        self.assertEqual(self.b.read_one(), payload(most))
        self.assert_errno(errno.EMSGSIZE, self.a.write, payload(most + 1))
        self.assertEqual(self.a.write(b"and on"), 6)
        self.assertEqual(self.b.read_one(), b"and on")


class Mtu1500(Sizes, OneCable):
    __doc__ = Sizes.__doc__

    def test_small_buffers(self):
        """A read smaller than a transaction gets the rest with the next, and no more."""
        self.a.write(payload(4000, 1))
        self.a.write(b"next")
        parts = [self.b.read(n) for n in (1, 1458, 1, 1, 2000, 4000)]
        self.assertEqual([len(p) for p in parts], [1, 1458, 1, 1, 2000, 539])
        self.assertEqual(b"".join(parts), payload(4000, 1))
        self.assertEqual(self.b.read(), b"next")

    def test_larger_limit(self):
        """max_len raised at both ends: 64 slices are the limit then."""
        for host in (self.a, self.b):
            host.knobs(max_len=BIGGEST, rcvbuf=4 * BIGGEST)
        most = 64 * 1452
        self.assertEqual(self.a.write(payload(most), vc=9), most)
        self.assertEqual(self.b.read_one(), payload(most))
        self.assert_errno(errno.EMSGSIZE, self.a.write, payload(most + 1), vc=9)
        for host in (self.a, self.b):
            host.knobs(max_len=65536, vci=0)

    def test_peer_takes_less(self):
        """The peer's max_len counts, too: EMSGSIZE, and the link goes on."""
        self.b.knob("max_len", 1000)
        try:
            self.assert_errno(errno.EMSGSIZE, self.a.write, payload(1001), vc=10)
            self.assertEqual(self.a.write(payload(1000), vc=10), 1000)
        finally:
            self.b.knob("max_len", 65536)
            self.a.knob("vci", 0)
        self.assertEqual(self.b.read_one(), payload(1000))


class Jumbo(Sizes, OneCable):
    __doc__ = Sizes.__doc__
    mtu = 9000
    sizes = SIZES + (8951, 8952, 8953)

    def test_largest(self):
        """The largest transaction there is."""
        for host in (self.a, self.b):
            host.knobs(max_len=BIGGEST, rcvbuf=4 * BIGGEST)
        self.assertEqual(self.a.write(payload(BIGGEST), vc=9), BIGGEST)
        self.assertEqual(self.b.read_one(), payload(BIGGEST))
        for host in (self.a, self.b):
            host.knobs(max_len=65536, vci=0)


class Smallest(Sizes, OneCable):
    __doc__ = Sizes.__doc__
    mtu = 128
    sizes = tuple(n for n in SIZES if n <= 64 * 80) + (79, 80, 81, 64 * 80)


class Mixed(OneCable):
    """
        host a (MTU 9000)     host b (MTU 1500)
        va -------------------- vb
    """

    ports = False
    targets = True

    @classmethod
    def build(cls):
        super().build()
        cls.a.mtu("va", 9000)
        cls.a.add_port("va")
        cls.b.add_port("vb")

    def test_smaller_counts(self):
        """Slices fit the smaller MTU, from the first transaction on."""
        for n in range(3):
            self.assertEqual(self.a.write(payload(20000, n)), 20000)
            self.assertEqual(self.b.read_one(), payload(20000, n))
            self.assertEqual(self.b.write(payload(20000, n)), 20000)
            self.assertEqual(self.a.read_one(), payload(20000, n))

    def test_change_at_run_time(self):
        """The MTU changes both ways under a link in use: nothing is lost, nothing twice."""
        sent = []
        for n, mtu in enumerate((1500, 600, 1500, 4000, 128, 1500)):
            self.cable.mtu(mtu)
            data = payload(3000, n)
            self.assertEqual(self.a.write(data), 3000)
            sent.append(data)
        self.assertEqual(self.b.read_each(len(sent)), sent)


class Between(OneSwitch):
    """
        host a (MTU 9000)     host sw (MTU 1500)     host b (MTU 9000)
        va ------------------ p0 --- (br0) --- p1 ------------------ vb
    """

    one_cpu = False
    members = (("a", "va", "p0"), ("b", "vb", "p1"))

    @classmethod
    def build(cls):
        super().build()
        cls.a, cls.b = cls.hosts
        for (host, dev), peer in zip(((cls.a, "va"), (cls.b, "vb")), reversed(cls.macs)):
            host.mtu(dev, 9000)
            host.add_port(dev)
            host.knobs(target=peer, stall_max_us=20000, dead_ms=60000)

    def test_cut_smaller(self):
        """SYNC gets through and long frames do not: shorter ones do, atomic and express."""
        self.addCleanup(self.a.knob, "express", 0)
        for express in (0, 1):
            self.a.knob("express", express)
            for size in (20000, 4000, 1000, 65536):
                self.assertEqual(self.a.start_write(payload(size, express)).result(60), size)
                self.assertEqual(self.b.read_one(), payload(size, express))
        self.assertEqual(self.b.start_write(payload(30000)).result(60), 30000)
        self.assertEqual(self.a.read_one(), payload(30000))
        self.assertGreaterEqual(self.a.stat("note_cut"), 1)
        self.assertEqual(self.b.read_all(), b"")

    def test_soon(self):
        """64 KB get through within some round trips: what the path carries is asked at once."""
        before = self.a.stat("note_cut")
        begin = time.monotonic()
        self.assertEqual(self.a.start_write(payload(65536), vc=1).result(2 * SLOW), 65536)
        say(f"    64 KB took {1000 * (time.monotonic() - begin):.0f} ms")
        self.assertEqual(self.b.read_one(), payload(65536))
        self.assertEqual(self.a.stat("note_cut"), before + 1)


class Many(OaeTest):
    """
        hub --- h00   h01   ...   h11
        v00 ..... va, one cable each; 4 channels a cable, each in both directions
    """

    one_cpu = False
    HOSTS, CHANNELS = 12, 4

    @classmethod
    def build(cls):
        cls.hub = cls.host("hub")
        cls.hub.knobs(rcvbuf=1 << 20)
        cls.hosts = [cls.host(f"h{n:02}") for n in range(cls.HOSTS)]
        cls.cables = [Cable(cls.hub, f"v{n:02}", host, "va") for n, host in enumerate(cls.hosts)]
        for n, host in enumerate(cls.hosts):
            cls.hub.add_port(f"v{n:02}")
            host.add_port("va")
            host.knob("target", cls.cables[n].mac_a)

    def message(self, n, vc, k):
        """Who sends, on which channel, which of its messages; of any length."""
        return b"%d %d %d " % (n, vc, k) + payload((n * 977 + vc * 389 + k * 61) % 4000)

    def test_all_at_once(self):
        """Many tags, in both directions: everything arrives once, a channel's in order."""
        rounds = 3
        fds, back = {}, {}
        for n, host in enumerate(self.hosts):
            for vc in range(self.CHANNELS):
                fds[n, vc] = host.open(vc=vc)
                back[n, vc] = self.hub.open(target=f"v{n:02}/{self.hosts[n].mac('va')}", vc=vc)
        results = []

        def write(n, vc, fd):
            for k in range(rounds):
                results.append(os.write(fd, self.message(n, vc, k)) ==
                               len(self.message(n, vc, k)))
            os.close(fd)

        threads = [threading.Thread(target=write, args=(n, vc, fd))
                   for table in (fds, back) for (n, vc), fd in table.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        total = rounds * self.HOSTS * self.CHANNELS
        self.assertEqual(results.count(True), 2 * total)
        self.assertEqual(len(self.hub.tags()), self.HOSTS * self.CHANNELS)
        self.check(self.hub.read_each(total), range(self.HOSTS), rounds)
        for n, host in enumerate(self.hosts):
            self.check(host.read_each(total // self.HOSTS), [n], rounds)
        self.assertEqual(self.hub.stat("reversed") + self.hub.stat("unknown"), 0)

    def check(self, got, who, rounds):
        """All there, each once, in order within its channel."""
        by_channel = {}
        for data in got:
            n, vc, k = (int(word) for word in data.split(b" ", 3)[:3])
            self.assertEqual(data, self.message(n, vc, k))
            by_channel.setdefault((n, vc), []).append(k)
        wanted = {(n, vc): list(range(rounds)) for n in who for vc in range(self.CHANNELS)}
        self.assertEqual(by_channel, wanted)
