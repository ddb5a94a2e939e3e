# SPDX-License-Identifier: GPL-2.0
"""A link with a direct cable and a way through gateways goes by either, and loses nothing."""

import random
import time
from dataclasses import replace

import oaewire as oae
from faults import HostEnd, Traffic
from gateway import GatewayTest, ThreeZones
from oaeipwire import Hello, Watch
from oaepeer import Wire
from oaetest import Cable, Host, meanwhile, wait_for
from oaewire import GATEWAY, LEAVING, Frame, mac_bytes
from patience import SLOW
from shared import Shared

KEEPALIVE = 100                                 # ms
NEVER = ("note_peer_new", "unknown", "note_broken", "note_impossible")


class CableAndGateway:
    """What both topologies below do."""

    @staticmethod
    def states(host):
        """Of the paths: (port, through a gateway) -> state."""
        return {(row["by"], row["via"] != "-"): row["state"] for row in host.paths()}

    @staticmethod
    def used(host):
        """The path in use, likewise."""
        return next(((row["by"], row["via"] != "-") for row in host.paths()
                     if row["used"] == "yes"), None)

    def wait_used(self, *path):
        """Until both ends use it."""
        for host in (self.a, self.b):
            wait_for(lambda host=host: self.used(host) == path,
                     f"{host.name} to use {path}", 30 * SLOW)

    def wait_good(self, *paths):
        """Until these paths are good at both ends."""
        for host in (self.a, self.b):
            wait_for(lambda host=host: all(self.states(host).get(path) == "good"
                                           for path in paths),
                     f"{paths} to be good at {host.name}", 20 * SLOW)

    def begin(self):
        """Ports without a link, and quick to notice."""
        for host in (self.a, self.b):
            host.knobs(dev="", linger_ms=0, target="", window=16, use_gw="auto", discover=1,
                       keepalive_ms=KEEPALIVE, stall_min_us=int(5000 * SLOW),
                       stall_max_us=int(40000 * SLOW), dead_ms=int(5000 * SLOW))

    def bind(self, devices):
        """These devices of both hosts become ports."""
        for host in (self.a, self.b):
            host.knob("dev", devices)

    def link(self, dev, mac):
        """A link from a to that address of b; both ends write to each other by it."""
        self.a.write(b"begin", target=f"{dev}/{mac}", vc=0)
        self.assertEqual(self.b.read_one(10), b"begin")

    def traffic(self, dev, macs):
        """Both ways, until it is stopped."""
        both = Traffic(self, HostEnd(self.a), HostEnd(self.b))
        for end, mac in zip(both.ends, reversed(macs)):
            both.send(end, 10000000, streams=2, sizes=(16, 6000), target=f"{dev}/{mac}")
        return both

    def goes_on(self, traffic, n=50):
        """Until so many more are committed."""
        before = traffic.counted("committed")
        wait_for(lambda: traffic.counted("committed") > before + n, "more to be committed",
                 20 * SLOW)

    def nothing_lost(self, traffic):
        """What was committed is there, once and in order, and nothing is in doubt."""
        self.assertTrue(traffic.running())
        traffic.stop()
        tally = traffic.finish(120 * SLOW)
        self.assertEqual(set(tally) | {"R"}, {"C", "R", "got", "lost"})
        self.assertEqual((tally["got"], tally["lost"]), (tally["C"], 0))


class Paths(CableAndGateway, GatewayTest):
    """
        a eth0 -- zone 1 -- g1 -- r1 ==== wan ==== r2 -- g2 -- zone 2 -- eth0 b
          cable -------------------------------------------------------- cable
    """

    patience = 240

    @classmethod
    def build(cls):
        super().build()
        cls.sw = cls.made(Host("sw"))
        ThreeZones.build_wan.__func__(cls)
        cls.g1 = cls.new_gateway("g1", 1, cls.r1, "10.1.0.1", "fd01::1")
        cls.g2 = cls.new_gateway("g2", 2, cls.r2, "fd02::1")
        cls.a, cls.b = cls.made(Host("a")), cls.made(Host("b"))
        cls.zone_a = cls.zone_cable(1, cls.a, "eth0")
        cls.zone_b = cls.zone_cable(2, cls.b, "eth0")
        cls.cable = Cable(cls.a, "cable", cls.b, "cable")
        cls.far = cls.zone_a.mac_a, cls.zone_b.mac_a
        cls.near = cls.cable.mac_a, cls.cable.mac_b

    def setUp(self):
        super().setUp()
        self.begin()
        self.addCleanup(self.whole)

    def whole(self):
        """The cable carries, and nothing else happens there."""
        self.cable.mend()
        for host, dev in self.cable.ends:
            host.sh(f"tc qdisc del dev {dev} root 2>/dev/null || true")
        for host in (self.a, self.b):
            host.knobs(dev="", target="", use_gw="auto")

    def known(self):
        """Until the gateways know both hosts, and each host its own."""
        for gateway in (self.g1, self.g2):
            wait_for(lambda gateway=gateway: set(self.far) <= set(gateway.mactbl()),
                     f"{gateway.name} to know both", 10, 0.01)
        for host in (self.a, self.b):
            wait_for(lambda host=host: ":" in host.knob("nhmac"),
                     f"{host.name} to know its gateway", 10, 0.01)

    def counted(self):
        """What is never to happen, at both ends."""
        return [(host.name, name, host.stats().get(name)) for host in (self.a, self.b)
                for name in NEVER]

    def mtus(self):
        """What each path of a carries, VIA not counted."""
        return {row["by"]: row["mtu"] for row in self.a.paths()}

    def test_cable_first(self):
        """The cable is silent, or pulled: the link goes on through the gateways, and comes back."""
        self.bind("cable,eth0")
        self.known()
        self.link("cable", self.near[1])
        self.wait_good(("cable", False), ("eth0", True))
        self.assertEqual(self.used(self.a), ("cable", False))
        # What the gateway's HELLO says is of IPv4: 8 bytes of the tunnel, 8 of UDP, 20 of IP.
        self.assertEqual(self.mtus(), {"cable": 1500, "eth0": 1500 - 36 - 12})
        # By whichever address it is the same link.
        self.a.write(b"x", target=f"eth0/{self.far[1]}", vc=0)
        self.assertEqual(self.b.read_one(10), b"x")
        before = self.counted()
        traffic = self.traffic("cable", self.near)
        self.goes_on(traffic)
        for fault in ("silent", "pulled"):
            with self.subTest(fault):
                if fault == "silent":
                    self.cable.netem("loss 100%")
                else:
                    self.cable.cut()
                self.wait_used("eth0", True)
                self.goes_on(traffic)
                # ABOUT b, since SYNC has gone there: 40 of IPv6.
                self.assertEqual(self.mtus()["eth0"], 1500 - 56 - 12)
                if fault == "silent":
                    self.cable.netem(None)
                else:
                    self.cable.mend()
                self.wait_used("cable", False)
                self.goes_on(traffic)
        self.nothing_lost(traffic)
        self.assertEqual(self.counted(), before)
        self.assertEqual([len(host.tags()) for host in (self.a, self.b)], [1, 1])

    def test_gateway_first(self):
        """The link begins through the gateways: the cable is found, left, and found again."""
        self.bind("eth0")
        self.known()
        self.link("eth0", self.far[1])
        self.assertEqual(self.a.tag()["way"], "gw")
        self.bind("+cable")
        self.wait_good(("cable", False), ("eth0", True))
        self.wait_used("cable", False)
        before = self.counted()
        traffic = self.traffic("eth0", self.far)
        self.goes_on(traffic)
        self.cable.netem("loss 100%")
        self.wait_used("eth0", True)
        self.goes_on(traffic)
        self.cable.netem(None)
        self.wait_used("cable", False)
        self.goes_on(traffic)
        self.nothing_lost(traffic)
        self.assertEqual(self.counted(), before)
        self.assertEqual([len(host.tags()) for host in (self.a, self.b)], [1, 1])

    def test_use_gw(self):
        """use_gw 0: nothing through a gateway; 1: nothing direct. Not longer than it is set."""
        self.bind("cable,eth0")
        self.known()
        self.link("cable", self.near[1])
        self.wait_good(("cable", False), ("eth0", True))
        self.a.knob("use_gw", 0)
        wait_for(lambda: self.states(self.a)["eth0", True] == "down", "no way through a gateway")
        self.a.knob("use_gw", "auto")
        self.wait_good(("cable", False), ("eth0", True))
        self.bind("")
        for host in (self.a, self.b):
            host.knob("use_gw", 1)
        self.bind("cable,eth0")
        self.known()
        self.link("eth0", self.far[1])
        end = time.monotonic() + 10 * KEEPALIVE / 1000
        wait_for(lambda: time.monotonic() > end, "some keepalive times", 60)
        self.assertLessEqual(set(self.states(self.a)), {("eth0", True)})

    def test_gateway_leaves(self):
        """The gateway in use has left: the cable is taken, and the gateway again once it is back."""
        self.bind("cable,eth0")
        self.known()
        self.link("cable", self.near[1])
        self.wait_good(("cable", False), ("eth0", True))
        self.cable.netem("loss 100%")
        self.link("cable", self.near[1])
        self.wait_used("eth0", True)
        self.cable.netem(None)
        self.g1.knob("dev", "")
        self.wait_used("cable", False)
        self.g1.knob("dev", "zone")
        self.known()
        self.wait_good(("cable", False), ("eth0", True))


class OneGateway(CableAndGateway, Shared):
    """
        a eth0 -------- xa   x   xb -------- eth0 b      x says that it is the gateway
          cable ---------------------------- cable
    """

    patience = 120

    @classmethod
    def build(cls):
        cls.a, cls.b, cls.x = cls.host("a"), cls.host("b"), cls.host("x")
        cls.zone_a = Cable(cls.a, "eth0", cls.x, "xa")
        cls.zone_b = Cable(cls.b, "eth0", cls.x, "xb")
        cls.cable = Cable(cls.a, "cable", cls.b, "cable")
        cls.far = cls.zone_a.mac_a, cls.zone_b.mac_a
        cls.near = cls.cable.mac_a, cls.cable.mac_b

    def setUp(self):
        super().setUp()
        self.begin()
        self.addCleanup(self.whole)

    def whole(self):
        """The cable carries."""
        self.cable.mend()
        for host, dev in self.cable.ends:
            host.sh(f"tc qdisc del dev {dev} root 2>/dev/null || true")
        for host in (self.a, self.b):
            host.knobs(dev="", target="", use_gw="auto")

    def listen(self):
        """x hears all that is sent to it; wires, its own address and the host's."""
        ends = []
        for zone in (self.zone_a, self.zone_b):
            wire = Wire(self.x, zone.ends[1][1])
            self.addCleanup(wire.close)
            ends.append((wire, zone.mac_b, zone.mac_a))
        return ends

    @staticmethod
    def hello(ends, flags=0):
        """What a gateway says."""
        for n, (wire, own, _) in enumerate(ends, 1):
            wire.send(Frame(oae.HELLO, dst=b"\xff" * 6, src=mac_bytes(own), payload=Hello(
                flags=GATEWAY | flags, zone=n, mtu=1500, inc=n, life=6000,
                node_life=6000).pack()))

    def believed(self, known=True):
        """Until both hosts have a gateway, or none."""
        for host in (self.a, self.b):
            wait_for(lambda host=host: (":" in host.knob("nhmac")) == known,
                     "x to be believed" if known else "x to be forgotten")

    @staticmethod
    def through(wire):
        """The frames with VIA that have come."""
        frames = []
        while raw := wire.raw():
            frame = oae.Frame.parse(raw)
            if frame.flags & oae.VIA:
                frames.append(frame)
        return frames

    def pass_on(self, ends):
        """What has come is passed on, as a gateway does."""
        for n, (wire, _, _) in enumerate(ends):
            other, own, _ = ends[not n]
            for frame in self.through(wire):
                other.send(replace(frame, dst=frame.via[:6], src=mac_bytes(own)))


class FalseGateway(OneGateway):
    """x is the gateway of both, and passes nothing on unless it is said."""

    def claims(self):
        """x is believed; its ends."""
        ends = self.listen()
        self.bind("cable,eth0")
        self.hello(ends)
        self.believed()
        return ends

    def test_no_data(self):
        """It is asked whether it leads to the peer, cannot answer, and gets nothing else."""
        ends = self.claims()
        watch = Watch(self.b, "cable")
        self.addCleanup(watch.close)
        self.link("cable", self.near[1])
        for host in (self.a, self.b):
            wait_for(lambda host=host: ("eth0", True) in self.states(host), "to be tried",
                     10 * SLOW)
        traffic = self.traffic("cable", self.near)
        self.goes_on(traffic)
        asked = self.replay(ends, watch)
        self.cable.netem("loss 100%")
        goal = len(asked) + 20

        def attacked():
            asked.extend(self.replay(ends, watch))
            self.forge(ends)
            return len(asked) > goal
        wait_for(attacked, "the ends to ask for the other path", 60)
        self.cable.netem(None)
        self.goes_on(traffic)
        self.nothing_lost(traffic)
        asked += self.replay(ends, watch)
        # But for what a stranger is told by whom he has no link with.
        self.assertEqual({frame.opcode for frame in asked} - {oae.NOLINK, oae.CLOSE_ACK},
                         {oae.PATH})
        for host in (self.a, self.b):
            self.assertNotIn(self.states(host).get(("eth0", True)), ("good", "silent", "lossy"))
            self.assertEqual(len(host.tags()), 1)
            self.assertGreater(host.stat("bad_path"), 0)

    @staticmethod
    def overheard(watch, most=300):
        """Some of what has come; under load there is always more."""
        for _ in range(most):
            try:
                yield oae.Frame.parse(watch.sock.recv(65600))
            except BlockingIOError:
                return

    def test_other_gateway(self):
        """A path that one gateway has proven is not gone by when there is another one."""
        ends = self.claims()
        self.link("cable", self.near[1])

        def is_known(ends, state):
            self.pass_on(ends)
            return all(self.states(host).get(("eth0", True)) == state
                       for host in (self.a, self.b))
        wait_for(lambda: is_known(ends, "good"), "the path through x to be good", 20 * SLOW)
        self.hello(ends, LEAVING)
        others = [(wire, own[:-2] + "fe", mac) for wire, own, mac in ends]
        self.hello(others)
        wait_for(lambda: is_known(ends, "trying"), "it to be as good as unknown", 20 * SLOW)
        self.cable.netem("loss 100%")
        writer = self.a.start_write(b"late", target=f"cable/{self.near[1]}", vc=0)
        seen = []

        def asked():
            seen.extend((frame.opcode, oae.mac_text(frame.dst)) for wire, _, _ in ends
                        for frame in self.through(wire))
            return len(seen) > 10
        wait_for(asked, "the other gateway to be tried", 60)
        self.assertEqual({opcode for opcode, _ in seen}, {oae.PATH})
        self.assertEqual({gateway for _, gateway in seen}, {own for _, own, _ in others})
        # It proves itself, and so gets the rest.
        wait_for(lambda: is_known(others, "good") and writer.done, "it to be proven", 20 * SLOW)
        self.assertEqual(writer.result(), 4)
        self.assertEqual(wait_for(lambda: self.pass_on(others) or self.b.read(), "it to come"),
                         b"late")

    def replay(self, ends, watch):
        """x sends back what it was asked, and to both what it has overheard; what it was asked."""
        heard = [frame for frame in self.overheard(watch) if frame.opcode == oae.PATH]
        asked = []
        for n, (wire, own, mac) in enumerate(ends):
            mine = self.through(wire)
            for frame in heard + [f for f in mine if f.opcode == oae.PATH]:
                wire.send(Frame(oae.PATH, dst=mac_bytes(mac), src=mac_bytes(own), flags=oae.VIA,
                                via=oae.via(mac, ends[not n][2]), payload=frame.payload))
            asked += mine
        return asked

    def forge(self, ends):
        """And frames of a link, as if the peer were behind it."""
        for n, (wire, own, mac) in enumerate(ends):
            for opcode in (oae.SYNC_CHK, oae.COMMIT, oae.CLOSE):
                body = oae.sync_body(random.getrandbits(60) + 1) if opcode == oae.SYNC_CHK else b""
                wire.send(Frame(opcode, dst=mac_bytes(mac), src=mac_bytes(own), flags=oae.VIA,
                                src_ltag=7, dst_ltag=random.getrandbits(31) + 1,
                                via=oae.via(mac, ends[not n][2]), payload=body))


class Elsewhere(OneGateway):
    """The way of the own path changes while the cable is used; x is a gateway, or a switch."""

    @classmethod
    def begin_class(cls):
        super().begin_class()
        cls.x.sh("ip link add br0 type bridge mcast_snooping 0 && ip link set br0 up")
        cls.addClassCleanup(cls.x.sh, "ip link del br0")

    def setUp(self):
        super().setUp()
        for host in (self.a, self.b):
            host.knob("dead_ms", int(500 * SLOW))
        self.switch(False)
        self.ends = self.listen()
        passing = meanwhile(self.gateway)
        passing.__enter__()
        self.addCleanup(passing.__exit__, None, None, None)

    def gateway(self, stop):
        """x passes on what it gets, if it is not a switch."""
        while not stop.wait(0.001):
            self.pass_on(self.ends)

    def switch(self, on):
        """Is x a switch?"""
        for dev in ("xa", "xb"):
            self.x.sh(f"ip link set {dev} " + ("master br0" if on else "nomaster"))

    def begin_by_gateway(self):
        """A link that was opened through the gateway, and goes by the cable."""
        self.bind("eth0")
        self.hello(self.ends)
        self.believed()
        self.link("eth0", self.far[1])
        self.assertEqual(self.a.tag()["way"], "gw")
        self.bind("+cable")
        self.wait_used("cable", False)

    def heals(self):
        """The cable is pulled: the link is OPEN again, and carries."""
        self.cable.cut()
        self.a.knob("target", f"eth0/{self.far[1]}")
        wait_for(lambda: self.a.tag()["state"] == "OPEN" and self.used(self.a) != ("cable", False),
                 "the link to be OPEN", 20)
        self.link("eth0", self.far[1])

    def test_gateway_gone(self):
        """The gateway has left, and the zones are one: all is direct from then on."""
        self.begin_by_gateway()
        self.hello(self.ends, LEAVING)
        self.believed(False)
        self.switch(True)
        self.heals()

    def test_behind_gateway(self):
        """The zones are two now, with a gateway in between: the link goes through that."""
        self.switch(True)
        self.bind("eth0")
        self.link("eth0", self.far[1])
        self.assertEqual(self.a.tag()["way"], "direct")
        self.bind("+cable")
        self.wait_good(("eth0", False), ("cable", False))
        self.switch(False)
        self.hello(self.ends)
        self.believed()
        self.wait_used("cable", False)
        self.heals()

    def test_use_gw_0(self):
        """use_gw 0: nothing more goes through the gateway, and all is direct."""
        self.begin_by_gateway()
        for host in (self.a, self.b):
            host.knob("use_gw", 0)
        self.switch(True)
        # A switch takes what comes before all but a tap on everything.
        wire = Wire(self.x, "xa", outgoing=True)
        self.addCleanup(wire.close)
        self.heals()
        self.assertEqual([frame.name for frame in self.through(wire)], [])
