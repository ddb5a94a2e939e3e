# SPDX-License-Identifier: GPL-2.0
"""A link outlives its cable: other paths are found, and taken when the one in use fails."""

import itertools
import json
import os
import random
import time

import oaewire as oae
from faults import HostEnd, Traffic, say
from oaecmd import OAE
from oaedev import PERM_READ, PERM_WRITE, Call, OaeFile, write_op
from oaenl import Netlink, attr
from oaepeer import Wire
from oaetest import Cable, OaeTest, run, wait_for
from oaewire import mac_bytes
from patience import SLOW, times
from rtnl import Rtnl

KEEPALIVE = 100                                 # ms
PATH_SET = 12                                   # include/uapi/oae_netlink.h
CUTS = int(os.environ.get("PATH_CUTS", "8"))
MIXED = float(os.environ.get("MIXED", "6"))    # seconds of long transactions among short ones
CALM = float(os.environ.get("CALM", "6"))      # seconds of traffic on good cables
SHORT = 300                     # bytes of the longest frame that gets through, where long ones do not
# Classic BPF, which every kernel of ours has: A = len; A > SHORT ? all : 0.
LONGER = f"4,128 0 0 0,37 0 1 {SHORT},6 0 0 4294967295,6 0 0 0"


def passed(seconds, what):
    """So long that this is over, which nobody tells."""
    end = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() > end, what, seconds + 1)


class TwoCables(OaeTest):
    """
        host a                 host b
        va -------------------- vb
        wa -------------------- wb
    """

    params = {"discover": 1}
    patience = 240
    mtu = 1500, 1500

    @classmethod
    def build(cls):
        cls.a, cls.b = cls.host("a"), cls.host("b")
        cls.first = Cable(cls.a, "va", cls.b, "vb", mtu=cls.mtu[0])
        cls.second = Cable(cls.a, "wa", cls.b, "wb", mtu=cls.mtu[1])
        cls.end_a, cls.end_b = HostEnd(cls.a), HostEnd(cls.b)

    def setUp(self):
        super().setUp()
        self.begin()
        self.addCleanup(self.whole)

    def begin(self):
        """Both cables are ports, and there is no link."""
        for host in (self.a, self.b):
            host.knobs(dev="", linger_ms=0, target="", paths=8, window=16, discover=0)
        for host, devices in ((self.a, "va,wa"), (self.b, "vb,wb")):
            host.knobs(dev=devices, keepalive_ms=KEEPALIVE,
                       stall_min_us=int(5000 * SLOW), stall_max_us=int(40000 * SLOW),
                       dead_ms=int(5000 * SLOW))
        # A host that is heard before all are there is answered seconds later.
        for host in (self.a, self.b):
            host.knob("discover", 1)

    def whole(self):
        """Both cables carry, and nothing else happens there."""
        for cable in (self.first, self.second):
            cable.mend()
            for n in (0, 1):
                host, dev = cable.ends[n]
                if (host, dev) in cable.faulty:
                    cable.netem(None, (n,))
        for host in (self.a, self.b):
            host.knobs(dev="", target="")

    def link(self, by="va"):
        """A link over the first cable that has found the second."""
        self.a.knob("target", f"va/{self.first.mac_b}")
        self.a.write(b"begin", target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"begin")
        self.found(self.a)
        self.found(self.b)
        wait_for(lambda: self.a.used_path() == by, f"{by} to be used")

    @staticmethod
    def found(host, n=2):
        """Until so many paths are good."""
        wait_for(lambda: sum(row["state"] in ("good", "lossy") for row in host.paths()) >= n,
                 f"{n} good paths at {host.name}", 10 * SLOW)

    def known(self):
        """Each host hears the other at each of its cables: so the other's id is known, whichever goes."""
        for host in (self.a, self.b):
            wait_for(lambda host=host: len(host.neighbours()) >= min(2, len(host.knob("dev").split(","))),
                     "the other to be a neighbour at each port")

    def carries(self):
        """A transaction each way is committed."""
        for one, other in ((self.a, self.b), (self.b, self.a)):
            data = random.randbytes(20)
            mac = self.first.mac_b if one is self.a else self.first.mac_a
            one.write(data, target=f"{self.first.ends[one is self.b][1]}/{mac}", vc=0)
            self.assertEqual(other.read_one(), data)

    def rank(self, rank, by):
        """At both ends, each of which chooses for itself."""
        for host in (self.a, self.b):
            name = by if host is self.a else by.replace("a", "b")
            peer = host.paths()[0]["peer"]
            nl = Netlink(host)
            nl.ask(PATH_SET, attr(2, bytes.fromhex(peer.replace(":", ""))) + attr(4, name) +
                   attr(6, rank))
            nl.close()

    def nothing_lost(self, traffic):
        """What was committed is there, once and in order, and nothing is in doubt."""
        self.assertTrue(traffic.running())
        traffic.stop()
        tally = traffic.finish(120 * SLOW)
        # What is under way when the senders are asked to stop may be reversed; nothing is unknown.
        self.assertEqual(set(tally) | {"R"}, {"C", "R", "got", "lost"})
        self.assertEqual((tally["got"], tally["lost"]), (tally["C"], 0))


class Failover(TwoCables):
    """One of two cables fails in every way that there is."""

    patience = TwoCables.patience + int(2 * CALM)

    def test_found(self):
        """Two cables, two paths; none is the other's link, and one is the link's own."""
        self.link()
        rows = [(row["by"], row["to"], row["mtu"]) for row in self.a.paths()]
        self.assertEqual(rows, [("va", self.first.mac_b, 1500), ("wa", self.second.mac_b, 1500)])
        self.assertEqual(len(self.a.tags()), 1)
        self.assertEqual(len(self.b.tags()), 1)

    def test_carrier(self):
        """The cable is pulled and put back, then the other: the same link goes on."""
        self.link()
        before = self.a.stats()
        for cable, by, other in ((self.first, "wa", "va"), (self.second, "va", "wa")):
            cable.cut()
            self.carries()
            self.assertEqual(self.a.used_path(), by)
            cable.mend()
            self.found(self.a)
            self.found(self.b)
        wait_for(lambda: self.a.used_path() == "va", "the own path to be used again", 30 * SLOW)
        self.carries()
        after = self.a.stats()
        for name in ("note_peer_new", "note_down", "tags_gone", "unknown"):
            self.assertEqual(before[name], after[name], name)

    def test_silent(self):
        """What is sent by the first is lost: in both directions, in one, in the other."""
        for ends in ((0, 1), (0,), (1,)):
            with self.subTest(ends):
                self.link()
                self.first.netem("loss 100%", ends)
                self.carries()
                # The answers come by the other path before the silent one is left.
                wait_for(lambda: self.a.used_path() == "wa", "to leave it", 20 * SLOW)
                self.first.netem(None, ends)
                wait_for(lambda: self.a.used_path() == "va", "to go back", 30 * SLOW)
                self.carries()

    def test_comes_back(self):
        """To the preferred path within a few keepalive times, which the probes count."""
        self.link()
        self.first.cut()
        self.carries()
        self.first.mend()
        before = self.a.stat("path_probes")

        def back():
            probes = self.a.stat("path_probes") - before
            there = self.a.used_path() == "va"
            # A probe and an answer every keepalive time.
            self.assertTrue(there or probes < 2 * 8, f"{probes} probes and answers, and not back")
            return there
        wait_for(back, "to go back")

    def test_crosswise(self):
        """One-way crosswise: no link, in bounded time, and every write has its outcome."""
        for host in (self.a, self.b):
            host.knob("dead_ms", int(500 * SLOW))
        self.link()
        # The one that is not used first: a silent path would be left for it.
        self.second.netem("loss 100%", (1,))
        self.first.netem("loss 100%", (0,))
        writer = self.a.start_write(b"never", target=f"va/{self.first.mac_b}", vc=0)
        self.assertLess(writer.result(20 * SLOW), 0)
        wait_for(lambda: self.a.tag()["state"] == "DOWN", "the link to be down", 20 * SLOW)
        self.first.netem(None, (0,))
        self.second.netem(None, (1,))
        self.carries()

    def test_none(self):
        """paths=1 at either end: no other path, and the link freezes with its cable."""
        for host in (self.a, self.b):
            with self.subTest(host.name):
                host.knobs(dev="", paths=1)
                host.knobs(dev="va,wa" if host is self.a else "vb,wb")
                self.a.write(b"x", target=f"va/{self.first.mac_b}", vc=0)
                self.b.read_one()
                made = self.a.stat("path_probes")
                wait_for(lambda: len(self.a.neighbours()) == 2, "the neighbour to be known")
                passed(0.5, "several keepalive times")
                self.assertEqual(self.a.paths(), [])
                self.assertEqual(self.a.stat("path_probes"), made)
                self.a.close_tag(self.first.mac_b)
                wait_for(lambda: not self.a.tags(), "the link to close")
                host.knobs(paths=8)

    def lose(self, ends):
        """One frame in 200 of the first cable is lost: it is found, said, and left."""
        self.link()
        before = self.lossy()
        traffic = Traffic(self, self.end_a, self.end_b)
        traffic.send(self.end_a, 10000000, streams=3)
        begin = time.monotonic()
        self.first.netem("loss 0.5%", ends)
        # It takes frames, not seconds: a busy machine needs many times as long.
        wait_for(lambda: self.lossy() > before, "the path to be found lossy", 300 * SLOW)
        say(f"    found lossy after {time.monotonic() - begin:.1f} s, "
            f"{traffic.counted('committed')} committed")
        rows = [row for row in self.a.paths() + self.b.paths() if row["state"] == "lossy"]
        self.assertLessEqual({row["by"] for row in rows}, {"va", "vb"})
        # What is shown is of thousands of frames, of which some were sent before.
        self.assertGreater(max(float(row["loss_pct"]) for row in rows), 0.05)
        wait_for(lambda: self.a.used_path() == "wa", "the sender to use the second", 30 * SLOW)
        traffic.stop()
        traffic.finish(60 * SLOW)
        self.first.netem(None, ends)
        # 64 keepalive times, and the second time twice that.
        wait_for(lambda: self.a.used_path() == "va", "to try the first again", 30 * SLOW)

    def test_lossy(self):
        """What the first cable loses are offers."""
        self.lose((0,))

    def test_lossy_back(self):
        """What it loses are reflections."""
        self.lose((1,))

    def test_lossy_becomes_own(self):
        """A lossy path that becomes the own one is not found once more."""
        self.link()
        self.first.cut()
        before = self.a.stat("note_path_lossy")
        traffic = Traffic(self, self.end_a, self.end_b)
        traffic.send(self.end_a, 10000000, streams=3)
        self.second.netem("loss 2%")
        wait_for(lambda: self.a.stat("note_path_lossy") > before, "the path to be found lossy", 30 * SLOW)
        self.second.netem(None)
        traffic.stop()
        traffic.finish(60 * SLOW)
        before = self.a.stat("note_path_lossy")
        self.a.knob("dev", "-va")
        self.assertEqual([(row["by"], row["state"]) for row in self.a.paths()], [("wa", "lossy")])
        self.a.write(b"begin", target=f"wa/{self.second.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"begin")
        self.assertEqual(self.a.stat("note_path_lossy"), before)

    def test_not_lossy(self):
        """Traffic on two good cables: neither is said to be lossy."""
        self.link()
        before = self.lossy()
        self.b.knob("target", f"vb/{self.first.mac_a}")
        deadline = time.monotonic() + CALM
        for sizes in itertools.cycle(((16, 200), (1000, 4000), (20000, 60000))):
            traffic = Traffic(self, self.end_a, self.end_b)
            for end in (self.end_a, self.end_b):
                traffic.send(end, 10000000, sizes, streams=3)
            passed(min(CALM / 3, 30), "a while of traffic")
            traffic.stop()
            traffic.finish(60 * SLOW)
            self.assertEqual(self.lossy(), before, sizes)
            if time.monotonic() > deadline:
                break
        self.assertEqual(self.a.used_path(), "va")

    def test_mixed_lengths(self):
        """Long transactions among short ones, both ways, over slow cables: nothing is lost."""
        for cable in (self.first, self.second):
            for host, dev in cable.ends:
                with host:
                    run("tc", "qdisc", "replace", "dev", dev, "root", "tbf", "rate", "100mbit",
                        "burst", "3200", "limit", "6000000")
                self.addCleanup(self.plain, host, dev)
        for host in (self.a, self.b):
            host.knobs(stall_min_us=1000, stall_max_us=100000, keepalive_ms=1000)
        self.link()
        self.b.knob("target", f"vb/{self.first.mac_a}")
        lossy = self.lossy()
        traffic = Traffic(self, self.end_a, self.end_b)
        traffic.send(self.end_a, 10000000, (64, 65536, 20))
        traffic.send(self.end_b, 10000000, (64, 64))
        # How long a round trip may be is learned by the first that are.
        traffic.moved(1000, 60 * SLOW)
        before = traffic.counted("note_resolved")
        passed(MIXED, "a while of traffic")
        failures = (traffic.counted("note_resolved") - before) // 2
        say(f"    {traffic.counted('committed')} committed, {before // 2} failures at first, "
            f"{failures} then, {self.lossy() - lossy} lossy")
        self.assertEqual(self.lossy(), lossy)
        self.assertLess(failures, 3)
        self.nothing_lost(traffic)

    @staticmethod
    def plain(host, dev):
        """The device sends as fast as it can."""
        with host:
            run("tc", "qdisc", "del", "dev", dev, "root")

    def lossy(self):
        """How often a path was found lossy, by either end."""
        return self.a.stat("note_path_lossy") + self.b.stat("note_path_lossy")

    def test_rank(self):
        """By hand: preferred, avoid, normal again; it is shown, and outlives the path."""
        self.link()
        for rank, by in (("preferred", "wa"), ("normal", "va"), ("avoid", "wa")):
            self.rank(rank, "va" if rank == "avoid" else "wa")
            wait_for(lambda by=by: self.a.used_path() == by, f"{rank}: {by} to be used", 10 * SLOW)
            self.carries()
        self.assertEqual([row["rank"] for row in self.a.paths()], ["avoid", "normal"])
        self.rank("normal", "va")
        self.rank("avoid", "wa")
        wait_for(lambda: self.a.used_path() == "va", "to go back", 10 * SLOW)
        self.a.knob("dev", "-wa")
        self.a.knob("dev", "+wa")
        self.found(self.a)
        self.assertEqual([row["rank"] for row in self.a.paths()], ["normal", "avoid"])

    def test_knob_lowered(self):
        """paths=1 on a link that goes by its second path: by its own again, with no other."""
        self.link()
        self.first.cut()
        self.carries()
        self.first.mend()
        for host in (self.a, self.b):
            host.knob("paths", 1)
            self.addCleanup(host.knob, "paths", 8)
        wait_for(lambda: len(self.a.paths()) <= 1 and len(self.b.paths()) <= 1,
                 "the second path to be forgotten", 10 * SLOW)
        self.carries()

    def test_port_goes(self):
        """The second device is released, and deleted: the link stays by the first."""
        self.link()
        self.first.cut()
        self.carries()
        self.first.mend()
        self.a.knob("dev", "-wa")
        self.carries()
        self.assertEqual(self.a.tag()["state"], "OPEN")

    def test_refused_elsewhere(self):
        """Who does not know the second path any more refuses, or closes, no link that the first has."""
        self.link()
        self.first.cut()
        self.carries()
        self.first.mend()
        wait_for(lambda: self.a.used_path() == "va", "to go back", 30 * SLOW)
        self.found(self.a)
        self.found(self.b)
        # It must not find out by a probe first.
        self.a.knob("keepalive_ms", int(3000 * SLOW))
        self.b.knobs(accept="none", discover=0)
        self.addCleanup(self.b.knob, "accept", "any")
        self.b.knob("dev", "-wb")
        self.b.knob("dev", "+wb")
        before, refused = self.a.stats(), self.b.stat("not_accepted")
        self.first.cut()
        wait_for(lambda: (self.a.used_path(), self.b.used_path()) == ("wa", "wb"),
                 "the link to go on by the second", 10 * SLOW)
        self.assertEqual(self.b.stat("not_accepted"), refused)
        self.first.mend()
        self.carries()
        after = self.a.stats()
        for name in ("note_gone", "note_peer_new", "tags_gone"):
            self.assertEqual(before.get(name), after.get(name), name)

    def forgotten(self, **knobs):
        """b forgets the second path, which is all that is left then, and of which a knows."""
        self.link()
        # No timer is to tell the other end first.
        for host in (self.a, self.b):
            host.knob("keepalive_ms", 60000)
        self.carries()
        passed(0.5 * SLOW, "timers that were armed before")
        self.b.knob("discover", 0)
        self.b.knob("dev", "-wb")
        self.b.knob("dev", "+wb")
        self.b.knobs(**knobs)
        before = self.a.stats()
        # Written before the cable is cut: soon after that the link may be one by the second cable alone.
        self.first.netem("loss 100%")
        writer = self.a.start_write(b"on", target=f"va/{self.first.mac_b}", vc=0)
        wait_for(lambda: self.a.tag()["offer"] != "-", "it to be offered")
        self.first.cut()
        self.assertEqual(self.b.read_one(10 * SLOW), b"on")
        self.assertEqual(writer.result(10 * SLOW), 2)
        self.assertEqual([len(host.tags()) for host in (self.a, self.b)], [1, 1])
        after = self.a.stats()
        for name in ("note_gone", "note_peer_new", "tags_gone", "note_held_lost"):
            self.assertEqual(before.get(name), after.get(name), name)

    def test_forgotten(self):
        """A path that one end has forgotten, and where it hears nobody, is one again: who asks there
        names the link."""
        self.forgotten()

    def test_forgotten_one(self):
        """The same, though that end takes no paths any more."""
        self.addCleanup(self.b.knob, "paths", 8)
        self.forgotten(paths=1)

    def test_one_alone(self):
        """paths=1 where there is one path anyway: the peer is told, so with a new address it begins
        anew, and does not wait to be found there."""
        self.a.knob("dev", "-wa")
        self.b.knob("dev", "-wb")
        self.a.write(b"begin", target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"begin")
        told, down = self.b.stat("note_port"), self.a.stat("note_down")
        self.b.knob("paths", 1)
        self.addCleanup(self.b.knob, "paths", 8)
        wait_for(lambda: self.b.stat("note_port") > told, "b to say so", 10 * SLOW)
        wait_for(lambda: self.a.tag()["state"] == "OPEN", "a to know", 10 * SLOW)
        self.addCleanup(self.a.sh, f"ip link set va address {self.first.mac_a}")
        self.a.sh("ip link set va address 02:0a:e0:77:00:00")
        self.a.write(b"again", target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"again")
        self.assertEqual(self.a.stat("note_down"), down)

    def test_closes(self):
        """A link that closes by its second path leaves nothing."""
        self.link()
        self.first.cut()
        self.carries()
        self.a.close_tag(self.first.mac_b)
        wait_for(lambda: not self.a.tags() and not self.b.tags(), "both ends to close", 10 * SLOW)
        self.assertEqual((self.a.paths(), self.b.paths()), ([], []))

    def test_traffic(self):
        """Messages both ways while cables are cut, silent and mended at random."""
        self.link()
        self.b.knob("target", f"vb/{self.first.mac_a}")
        traffic = Traffic(self, self.end_a, self.end_b)
        for end in (self.end_a, self.end_b):
            traffic.send(end, 1000000, streams=3)
            traffic.send(end, 10000, sizes=(1000, 9000))
        cuts = 0
        while cuts < CUTS:
            cable = random.choice((self.first, self.second))
            how = random.choice(("cut", "loss", "oneway"))
            cuts += 1
            ends = random.choice(((0,), (1,))) if how == "oneway" else (0, 1)
            if how == "cut":
                cable.cut()
            else:
                cable.netem("loss 100%", ends)
            traffic.moved(20, 60 * SLOW)
            if how == "cut":
                cable.mend()
            else:
                cable.netem(None, ends)
            traffic.moved(20, 60 * SLOW)
        self.nothing_lost(traffic)


class Own(TwoCables):
    """The own path: that which a link was opened by, or has moved to."""

    def differ(self):
        """A link, of which the own path is the second at a, and the first at b."""
        self.link()
        self.a.knob("dev", "-va")
        self.a.knob("dev", "+va")
        for host, own in ((self.a, "wa"), (self.b, "vb")):
            self.found(host)
            self.assertEqual([row["by"] for row in host.paths() if not row["path"]], [own])

    def test_lowered(self):
        """paths=1 at both ends, whose own paths differ: the link goes on, and nothing is lost."""
        for cable in (self.first, self.second) * times(1):
            self.begin()
            for one in (self.first, self.second):
                one.netem("delay 2ms")
            self.differ()
            # By another address than the path in use has, it would be another link then.
            ports = [dev for _, dev in cable.ends]
            self.rank("preferred", ports[0])
            wait_for(lambda ports=ports: [host.used_path() for host in (self.a, self.b)] == ports,
                     "both to use one cable", 20)
            traffic = Traffic(self, self.end_a, self.end_b)
            for end, n in ((self.end_a, 0), (self.end_b, 1)):
                traffic.send(end, 10000000, streams=3,
                             target=f"{cable.ends[n][1]}/{(cable.mac_b, cable.mac_a)[n]}")
            traffic.moved(100)
            # Whoever begins later takes the address for that of another link.
            traffic.begun()
            for host in (self.a, self.b):
                host.knob("paths", 1)
            traffic.moved(500, 30)
            self.assertEqual([len(host.tags()) for host in (self.a, self.b)], [1, 1])
            self.assertEqual(traffic.counted("note_peer_new"), 0)
            self.nothing_lost(traffic)

    def test_peer_anew_twice(self):
        """The peer begins anew by the second cable, then by the first alone, where it is asked
        for: the link is OPEN again."""
        self.anew_twice()

    def test_peer_anew_long_after(self):
        """The same; meanwhile the first one is not the own path any more."""
        self.anew_twice(forgotten=True)

    def anew_twice(self, forgotten=False):
        """The peer begins anew by the second cable, then by the first alone."""
        for host in (self.a, self.b):
            host.knob("dead_ms", int(500 * SLOW))
        self.link()
        self.first.cut()
        # b wants no link: it is a that asks.
        self.a.write(b"on", target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"on")
        self.second.netem("loss 100%")
        self.b.knob("dev", "")
        self.second.netem(None)
        self.b.knob("dev", "vb,wb")
        wait_for(lambda: self.a.tag()["state"] == "OPEN" and self.b.tags(),
                 "a link by the second", 20)
        if forgotten:
            # A link that a peer has opened, and nobody uses, is closed.
            self.a.write(b"used", target=f"wa/{self.second.mac_b}", vc=0)
            self.assertEqual(self.b.read_one(), b"used")
            self.b.knob("dev", "-vb")
            self.first.mend()
            wait_for(lambda: self.a.tag()["port"] == "wa", "the first to be forgotten", 20)
        self.second.netem("loss 100%")
        self.b.knob("dev", "")
        self.first.mend()
        self.b.knob("dev", "vb,wb")
        wait_for(lambda: self.a.tag()["state"] == "DOWN" or self.b.tags(),
                 "the link to be DOWN, or asked for by the first", 20)
        self.second.cut()
        wait_for(lambda: self.a.tag()["state"] == "OPEN" and self.b.tags(),
                 "a link by the first", 20)
        self.carries()


class Lowered(TwoCables):
    """The knob `paths` becomes 1 while an end uses, or is about to use, another path than the other
    end keeps."""

    def whole(self):
        super().whole()
        for host in (self.a, self.b):
            host.knob("paths", 8)

    def seldom(self):
        """From now on paths are probed seldom."""
        for host in (self.a, self.b):
            host.knob("keepalive_ms", 3000)

    def roles(self):
        """(host, end, its place on a cable), twice; which is the senior their incarnations say, by chance."""
        return (self.a, self.end_a, 0), (self.b, self.end_b, 1)

    def one_path(self, *hosts):
        """Until they have forgotten all paths but one."""
        for host in hosts:
            wait_for(lambda host=host: len(host.paths()) <= 1, f"one path at {host.name}", 20)

    def same_link(self, traffic):
        """There is one link, and it is the one of before, and goes on."""
        traffic.moved(200, 30)
        seen = [len(host.tags()) for host in (self.a, self.b)], traffic.counted("note_peer_new")
        self.nothing_lost(traffic)
        self.assertEqual(seen, ([1, 1], 0))

    def test_one_end(self):
        """At one end alone, just before the other goes back to a cable that is faster."""
        self.link()
        (goer, _, there), (lowered, _, _) = self.roles()
        self.seldom()
        self.second.netem("delay 20ms")
        self.first.cut()
        traffic = Traffic(self, self.end_a, self.end_b)
        for end, n in ((self.end_a, 0), (self.end_b, 1)):
            traffic.send(end, 10000000, streams=3, target=f"{self.first.ends[n][1]}/"
                         f"{(self.first.mac_b, self.first.mac_a)[n]}")
        traffic.moved(50)
        traffic.begun()
        self.first.mend()
        first = self.first.ends[there][1]
        wait_for(lambda: [row for row in goer.paths()
                          if row["by"] == first and row["state"] == "good"],
                 "the first to be found again", 10)
        self.assertEqual(goer.used_path(), self.second.ends[there][1])
        lowered.knob("paths", 1)
        self.one_path(lowered)
        # If the other end does not know, it goes back now.
        passed(5, "the other end to have gone back")
        self.same_link(traffic)

    def test_apart(self):
        """At both ends, while one is not heard by the path that it has just taken."""
        self.link()
        (goer, _, there), (other, end, here) = self.roles()
        self.seldom()
        traffic = Traffic(self, self.end_a, self.end_b)
        traffic.send(end, 10000000, streams=3, target=f"{self.first.ends[here][1]}/"
                     f"{(self.first.mac_b, self.first.mac_a)[here]}")
        traffic.moved(50)
        traffic.begun()
        self.second.netem("loss 100%", (there,))
        nl = Netlink(goer)
        peer = (self.first.mac_b, self.first.mac_a)[there]
        nl.ask(PATH_SET, attr(2, bytes.fromhex(peer.replace(":", ""))) +
               attr(4, self.second.ends[there][1]) + attr(6, "preferred"))
        nl.close()
        wait_for(lambda: goer.used_path() == self.second.ends[there][1],
                 "the second to be used", 10)
        self.assertEqual(other.used_path(), self.first.ends[here][1])
        for host in (goer, other):
            host.knob("paths", 1)
        self.one_path(goer, other)
        self.same_link(traffic)

    def test_swap(self):
        """An end has another address, and then there is one path: crossing halves are swapped."""
        self.addCleanup(self.a.sh, f"ip link set va address {self.first.mac_a}")
        self.link()
        files = []
        for host, port, peer in ((self.a, "va", self.first.mac_b), (self.b, "vb", self.first.mac_a)):
            files.append(OaeFile.to(host, peer, port=port))
            self.addCleanup(files[-1].close)
        # The higher address is that of a now.
        self.a.sh("ip link set va address 02:0a:e0:77:00:00")
        self.found(self.a)
        self.found(self.b)
        for host in (self.a, self.b):
            host.knob("paths", 1)
        self.one_path(self.a, self.b)
        self.assertEqual([len(host.tags()) for host in (self.a, self.b)], [1, 1])
        # The link freezes once more.
        by = self.a.tag()["port"]
        cable = self.first if by == "va" else self.second
        cable.cut()
        wait_for(lambda: self.a.tag()["state"] != "OPEN" != self.b.tag()["state"], "to freeze", 10)
        cable.mend()
        self.a.write(b"on", target=f"{by}/{self.a.tag()['peer']}", vc=0)
        cable.netem("delay 5ms")
        for n in range(10):
            calls = [Call(file.swap, b"from %d" % i) for i, file in enumerate(files)]
            self.assertEqual([call.result(20) for call in calls], [b"from 1", b"from 0"], n)


class Answers(TwoCables):
    """A REFLECT that carries an answer and is repeated, by all paths."""

    region = 0

    def held(self):
        """A verb of b is held at a, whose answers are lost; and what b sends from now on. Its call."""
        self.link()
        server = OaeFile.to(self.a, self.first.mac_b)
        client = OaeFile.to(self.b, self.first.mac_a, port="vb")
        for file in server, client:
            self.addCleanup(file.close)
        Answers.region += 1
        server.expose(64, self.region, PERM_READ | PERM_WRITE)
        # Seldom enough: nothing else happens meanwhile.
        for host in (self.a, self.b):
            host.knobs(keepalive_ms=60000, dead_ms=600000, stall_max_us=1000000, stall_min_us=200000)
        for cable in (self.first, self.second):
            cable.netem("loss 100%", (0,))
        call = Call(client.verb, self.region, write_op(0, 1))
        wait_for(lambda: self.a.tag()["hold"] == "held", "it to be held")
        for cable in (self.first, self.second):
            cable.netem("loss 100%", (1,))
        return call

    def test_by_all(self):
        """It goes by each path, whichever of them carries frames."""
        for cable in (self.first, self.second):
            with self.subTest(by=cable.ends[0][1]):
                self.whole()
                self.begin()
                call = self.held()
                again = self.a.stat("note_reflected_again")
                cable.netem(None, (0,))
                wait_for(lambda again=again: self.a.stat("note_reflected_again") > again,
                         "it to be reflected again", 20)
                self.assertEqual(call.result(1).taken, 1)

    def test_port_goes(self):
        """Of one path the port is about to go, and the link does not know yet."""
        call = self.held()
        holders = [Rtnl(self.a, name) for name in ("rtnl0", "rtnl1")]
        for rtnl in holders:
            self.addCleanup(rtnl.close)
        holders[0].queue()
        holders[0].taken()
        # It marks the port first, and has the links told later: each under RTNL.
        going = Call(self.a.knob, "dev", "-wa")
        wait_for(going.queues, "the knob to wait for RTNL")
        holders[1].queue()
        holders[1].queued()
        holders[0].free()
        holders[1].taken()
        again = self.a.stat("note_reflected_again")
        wait_for(lambda: self.a.stat("note_reflected_again") > again, "it to be reflected again", 20)
        self.assertEqual(len(self.a.paths()), 2)
        self.assertEqual(self.a.knob("dev"), "va")
        holders[1].free()
        going.result()
        self.first.netem(None)
        self.assertEqual(call.result(20).taken, 1)


class Mtu(TwoCables):
    """The second cable carries shorter frames."""

    mtu = 9000, 1500

    def test_shorter(self):
        """A long message goes by either."""
        self.link()
        for cable in (None, self.first):
            if cable:
                cable.cut()
            data = random.randbytes(60000)
            self.a.write(data, target=f"va/{self.first.mac_b}", vc=0)
            self.assertEqual(self.b.read_one(10 * SLOW), data)
        self.first.mend()
        wait_for(lambda: self.a.used_path() == "va", "to go back", 30 * SLOW)
        data = random.randbytes(60000)
        self.a.write(data, target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(10 * SLOW), data)


class Longer(TwoCables):
    """The second cable carries longer frames, so it is in use."""

    mtu = 1500, 9000

    def test_said(self):
        """When it is out, a SYNC by the first says what that carries."""
        self.link(by="wa")
        wait_for(lambda: self.b.used_path() == "wb", "b to follow", 10 * SLOW)
        wire = Wire(self.b, "vb")
        self.addCleanup(wire.close)
        self.a.sh("ip link set wa down")
        self.addCleanup(self.a.sh, "ip link set wa up")
        said = []

        def asked():
            said.extend(frame.mtu for frame in wire.frames() if frame.opcode == oae.SYNC)
            return said
        wait_for(asked, "a to ask by the first", 10 * SLOW)
        self.assertEqual(set(said), {1500})
        self.carries()


class Short(TwoCables):
    """The first cable begins to carry short frames only, as a switch does that was set so."""

    def shorten(self, cable, ends):
        """Of what these ends send only short frames get through."""
        for host, dev in (cable.ends[n] for n in ends):
            host.sh(f"tc qdisc add dev {dev} clsact; tc filter add dev {dev} egress pref 1 protocol all "
                    f"bpf bytecode '{LONGER}' action drop")
            self.addCleanup(host.sh, f"tc qdisc del dev {dev} clsact")

    def short(self, ends):
        """The link goes on, and then by the other cable, which carries more."""
        self.link()
        self.b.knob("target", f"vb/{self.first.mac_a}")
        traffic = Traffic(self, self.end_a, self.end_b)
        for end in (self.end_a, self.end_b):
            traffic.send(end, 10000000, (400, 20000), streams=3)
        traffic.moved(100, 30 * SLOW)
        self.shorten(self.first, ends)
        begin = time.monotonic()
        for end in (self.end_a, self.end_b):
            goal = traffic.counted("committed", end) + 200
            wait_for(lambda end=end, goal=goal: traffic.counted("committed", end) >= goal,
                     f"{end.name} to go on", 30 * SLOW)
        say(f"    both went on within {time.monotonic() - begin:.1f} s, by {self.a.used_path()}")
        wait_for(lambda: self.a.used_path() == "wa", "the cable that carries more", 10 * SLOW)
        traffic.stop()
        tally = traffic.finish(120 * SLOW)
        self.assertEqual((tally["got"], tally["lost"]), (tally["C"], 0))

    def cuts(self, data):
        """A message is sent, for which so many lengths are found."""
        before = self.a.stat("note_cut")
        self.a.write(data, target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(10 * SLOW), data)
        return self.a.stat("note_cut") - before

    def shown(self):
        """What `oae show paths` says that each cable carries."""
        rows = json.loads(self.a.sh(f"{OAE} -j show paths"))
        return {row["by"]: row["mtu"] for row in rows}

    def test_stays_cut(self):
        """What a path carries is asked once, shown, and kept while another one is in use."""
        self.link()
        self.assertEqual(self.shown(), {"va": 1500, "wa": 1500})
        self.second.cut()
        self.shorten(self.first, (0,))
        self.assertEqual(self.cuts(bytes(1400)), 1)
        self.assertEqual(self.cuts(bytes(1400)), 0)
        self.assertEqual(self.shown(), {"va": 256, "wa": 1500})
        self.second.mend()
        wait_for(lambda: self.a.used_path() == "wa", "the cable that carries more", 30 * SLOW)
        self.assertEqual(self.cuts(bytes(14000)), 0)
        self.second.cut()
        self.assertEqual(self.cuts(bytes(1400)), 0)
        self.assertEqual(self.shown(), {"va": 256, "wa": 1500})

    def test_from_one(self):
        """What a sends is lost if it is long."""
        self.short((0,))

    def test_from_both(self):
        """What either sends is."""
        self.short((0, 1))


class Strangers(TwoCables):
    """Who hears everything but the probes."""

    def test_forged(self):
        """A probe without a proof makes no path, and gets no answer."""
        self.link()
        wire = Wire(self.b, "wb")
        self.addCleanup(wire.close)
        before = self.a.stats()
        for n in range(20):
            body = oae.path_body(self.first.mac_a, self.first.mac_b, nonce=random.getrandbits(64),
                                 proof=random.getrandbits(64))
            wire.send(oae.Frame(opcode=oae.PATH, payload=body, dst=self.second.mac_a,
                                src=f"02:66:00:00:00:{n:02x}"))
        wait_for(lambda: self.a.stat("bad_path") >= before["bad_path"] + 20, "all to be dropped")
        self.assertEqual(self.a.stat("paths_made"), before["paths_made"])
        self.assertEqual(len(self.a.paths()), 2)


class Segment(OaeTest):
    """One port of host a and eight of host b, all on one segment."""

    params = {"discover": 1}
    patience = 240

    @classmethod
    def build(cls):
        cls.a, cls.b, cls.s = cls.host("a"), cls.host("b"), cls.host("s")
        cls.one = Cable(cls.a, "va", cls.s, "sa")
        cls.many = [Cable(cls.b, f"vb{n}", cls.s, f"sb{n}") for n in range(8)]
        cls.s.sh("ip link add name br0 type bridge && ip link set br0 up && "
                 "for dev in sa sb0 sb1 sb2 sb3 sb4 sb5 sb6 sb7; do "
                 "ip link set $dev master br0; done")

    def test_port_of_all(self):
        """The one port that all paths go by goes down and up: one SYNC begins the end of it."""
        for host, devices in ((self.a, "va"), (self.b, ",".join(f"vb{n}" for n in range(8)))):
            host.knobs(linger_ms=0, paths=8, keepalive_ms=KEEPALIVE,
                       dead_ms=int(5000 * SLOW), discover=1, dev=devices)
        peer = self.many[0].mac_a
        self.a.write(b"begin", target=f"va/{peer}", vc=0)
        self.assertEqual(self.b.read_one(), b"begin")
        TwoCables.found(self.a, 8)
        for _ in range(3):
            self.a.up("va", False)
            wait_for(lambda: self.a.tag()["state"] != "OPEN", "the link to freeze")
            self.a.up("va")
            self.a.write(b"on", target=f"va/{peer}", vc=0)
            self.assertEqual(self.b.read_one(20 * SLOW), b"on")


class Oneself(OaeTest):
    """
        host a                 s                 host b
        va ------------------ br0 ---------------- vb
        wa -------------------/ \\---------------- vx host x
    """

    params = {"discover": 1}
    patience = 120

    @classmethod
    def build(cls):
        cls.a, cls.b, cls.x, cls.s = (cls.host(name) for name in "abxs")
        cls.va, cls.wa = (Cable(cls.a, dev, cls.s, f"s{dev}") for dev in ("va", "wa"))
        cls.vb, cls.vx = (Cable(host, dev, cls.s, f"s{dev}")
                          for host, dev in ((cls.b, "vb"), (cls.x, "vx")))
        # Places are learned from a and b, whatever the stranger says.
        cls.s.sh("ip link add name br0 type bridge mcast_snooping 0 && ip link set br0 up && "
                 "for dev in sva swa svb svx; do ip link set $dev master br0; done; "
                 "ip link set svx type bridge_slave learning off")

    def keepalives(self, n):
        """So many keepalive times."""
        end = time.monotonic() + n * KEEPALIVE / 1000
        wait_for(lambda: time.monotonic() > end, f"{n} keepalive times", 60)

    def test_forged(self):
        """A stranger says that b is at a's own ports: no path leads there, and none reads there
        what is for b."""
        for host, devices in ((self.a, "va,wa"), (self.b, "vb")):
            host.knobs(linger_ms=0, keepalive_ms=KEEPALIVE, dead_ms=int(500 * SLOW), discover=1,
                       dev=devices)
        to_b = {"target": f"va/{self.vb.mac_a}", "vc": 0}
        self.a.write(b"begin", **to_b)
        self.assertEqual(self.b.read_one(), b"begin")
        TwoCables.found(self.a)
        b = wait_for(lambda: [row for row in self.a.neighbours() if row["mac"] == self.vb.mac_a],
                     "b to be heard", 10)[0]
        wire = Wire(self.x, "vx")
        self.addCleanup(wire.close)
        own = {self.va.mac_a, self.wa.mac_a}

        def believed():
            for src in own:
                dst, = own - {src}
                wire.send(oae.Frame(oae.HELLO, dst=mac_bytes(dst), src=mac_bytes(src),
                                    payload=oae.node_body(b["id"], b["inc"])))
            return own <= {row["mac"] for row in self.a.neighbours() if row["id"] == b["id"]}
        wait_for(believed, "the stranger to be believed", 10, 0.1)
        self.keepalives(20)
        self.assertEqual({row["to"] for row in self.a.paths()}, {self.vb.mac_a})
        self.vb.netem("loss 100%")
        wait_for(lambda: self.a.tag()["state"] == "DOWN", "the link to be DOWN", 20)
        self.keepalives(20)
        self.assertLess(self.a.start_write(b"for b", **to_b).result(20), 0)
        self.assertEqual(self.a.read_all(), b"")
        self.vb.netem(None)
        self.a.write(b"again", **to_b)
        self.assertEqual(self.b.read_one(), b"again")
