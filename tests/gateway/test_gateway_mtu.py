# SPDX-License-Identifier: GPL-2.0
"""The path between gateways gets narrower and wider under long transactions."""

from faults import Traffic
from gateway import MANY, ThreeZones, finish
from oaetest import wait_for
from test_gateway_zones import TOPOLOGY


class PathMtu(ThreeZones):
    __doc__ = TOPOLOGY

    host_knobs = {"dead_ms": 20000}
    patience = 90

    def setUp(self):
        super().setUp()
        self.watch = self.fragments()
        self.addCleanup(self.mend)

    wide_again = True

    def mend(self):
        """The path is as it was."""
        self.wan.mtu(1500)
        if self.wide_again:
            self.wait_mtu(1500)

    @staticmethod
    def frame(mtu, six):
        """An OAE frame's bytes in such a path."""
        return mtu - 16 - (40 if six else 20)

    def traffic(self):
        """Endless and long, over IPv6 (zones 1 and 2) and IPv4 (1 and 3)."""
        traffic = Traffic(self, *(self.end(name) for name in ("a1", "b", "c")))
        mac_a, mac_b, mac_c = self.macs("a1", "b", "c")
        for end, target in zip((0, 0, 1, 2), (mac_b, mac_c, mac_a, mac_a)):
            traffic.send(traffic.ends[end], MANY, target=target, sizes=(3000, 20000))
        return traffic

    def wait_mtu(self, mtu, deadline=15):
        """Until all gateways know how narrow the WAN is, and hosts' links of it."""
        for gateway, zone, six in ((self.g1, 2, True), (self.g2, 1, True),
                                   (self.g1, 3, False), (self.g3, 1, False)):
            wait_for(lambda gateway=gateway, zone=zone, six=six:
                     gateway.zone(zone)["mtu"] == self.frame(mtu, six),
                     f"{gateway.name}: {self.frame(mtu, six)} bytes to zone {zone}", deadline, 0.01)

    def moving(self, n=15):
        """Until every link over the WAN has moved on so much, both ways."""
        peer, = self.macs("a1")
        hosts = [self.hosts[name] for name in ("b", "c")]
        wait_for(lambda: all(host.tag(peer=peer) for host in hosts), "the links", 10)
        before = [host.tag(peer=peer) for host in hosts]
        wait_for(lambda: all(now["rx"] >= was["rx"] + n and now["tx"] >= was["tx"] + n
                             for now, was in zip((host.tag(peer=peer) for host in hosts),
                                                 before)),
                 "transactions over the WAN", 40, 0.01)

    def done(self, traffic):
        """Nothing lost, nothing cut up."""
        self.assertLessEqual(finish(traffic)["R"], 4)
        self.assertEqual(self.watch.packets(), [])

    def test_narrower_and_wider(self):
        """1280 in mid-transfer at the routers in the middle, then 1500 again."""
        traffic = self.traffic()
        self.moving()
        for mtu in (1280, 1500, 1400, 1300):
            self.wan.mtu(mtu)
            self.moving()
            self.wait_mtu(mtu)
            self.moving()
        self.done(traffic)
        for gateway in (self.g1, self.g2, self.g3):
            self.assertGreater(gateway.stat("mtu_changed"), 0)

    def test_only_the_links_it_is_about(self):
        """What goes to zone 3 from zone 2 stays as it was."""
        mac_c, = self.macs("c")
        self.b.write(bytes(20000), target=mac_c)
        self.assertEqual(len(self.c.read_one()), 20000)
        self.wan.mtu(1280)
        self.wait_mtu(1280)
        self.assertEqual(self.g2.zone(3)["mtu"], self.frame(1500, True))
        # 14 slices of 1392 bytes, and not 17 of 1172; a few answers, and what a slow end repeats.
        self.assertLess(min(self.frames_of(20000, mac_c) for _ in range(5)), 17)

    def frames_of(self, size, mac):
        """How many go to zone 3 for a transaction to c."""
        before = self.g2.zone(3)["tx_frames"]
        self.b.write(bytes(size), target=mac)
        self.assertEqual(len(self.c.read_one()), size)
        return self.g2.zone(3)["tx_frames"] - before

    def test_knob(self):
        """mtu: not more than this, for all zones, at once."""
        traffic = self.traffic()
        self.moving()
        for mtu, wanted in ((600, 600), (0, None)):
            for gateway in self.gateways:
                gateway.knob("mtu", mtu)
            for gateway, zone, six in ((self.g1, 2, True), (self.g3, 1, False)):
                frame = wanted or self.frame(1500, six)
                wait_for(lambda gateway=gateway, zone=zone, frame=frame:
                         gateway.zone(zone)["mtu"] == frame, f"{frame} bytes", 10, 0.01)
            self.moving()
        self.done(traffic)

    def test_z_a_black_hole(self):
        """Nobody says that it got narrower: that probes do not arrive shows it."""
        self.wide_again = False         # it is, after a minute
        traffic = self.traffic()
        self.moving()
        routers = ((self.r1, "g1"), (self.r2, "g2"), (self.r2, "g3"))
        for router, dev in routers:
            router.drop_icmp(dev)
            self.addCleanup(router.sh, f"tc qdisc del dev {dev} clsact")
        self.wan.mtu(1280)
        self.wait_mtu(1280)
        self.moving()
        self.done(traffic)
