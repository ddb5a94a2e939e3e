# SPDX-License-Identifier: GPL-2.0
"""The promise through gateways, over an IP network as bad as they get."""

import os
import time

from faults import Traffic, say
from gateway import MANY, ThreeZones, finish
from oaeipwire import BEAT, Control, Speaker
from oaetest import wait_for
from patience import SLOW, times
from test_gateway_zones import TOPOLOGY

MESSAGES = int(os.environ.get("GATEWAY_MESSAGES", "20000"))     # in each direction
LINKS = int(os.environ.get("GATEWAY_LINKS", "40"))
LONGEST = 300       # seconds for those, on a busy machine
WAN = "delay 20ms 4ms reorder 5% 50% loss 1%"


class BadWan(ThreeZones):
    __doc__ = TOPOLOGY

    patience = LONGEST
    # What one would set for such a network, and for as many writers as links.
    host_knobs = {"stall_min_us": 50000, "stall_max_us": 400000, "dead_ms": int(5000 * SLOW)}

    @classmethod
    def begin_class(cls):
        super().begin_class()
        cls.wan.netem(WAN)
        cls.addClassCleanup(cls.wan.netem, None)

    def test_a_the_network_is_bad(self):
        """It loses, shuffles and takes its time: datagrams of our own show it."""
        here = Speaker(self.r1, "10.9.0.1", 1, "10.9.0.2", 3, port=40000)
        there = Speaker(self.r2, "10.9.0.2", 3, "10.9.0.1", 1, port=40000)
        self.addCleanup(here.close)
        self.addCleanup(there.close)
        begin = time.monotonic()
        here.control(BEAT, serial=0)
        there.expect(BEAT)
        self.assertGreater(time.monotonic() - begin, 0.015)
        sent, came = 2000, []
        for n in range(sent):
            here.control(BEAT)
            if not n % 20:
                came += there.heard()
        wait_for(lambda: not came.extend(there.heard()) and len(came) > sent * 9 // 10,
                 "most to arrive")
        time_out = time.monotonic() + 0.1
        wait_for(lambda: came.extend(there.heard()) or time.monotonic() > time_out, "the rest")
        serials = [Control.parse(datagram.body).serial for datagram in came]
        self.assertGreater(sent - len(set(serials)), 3)
        self.assertGreater(sum(b < a for a, b in zip(serials, serials[1:])), 20)

    def test_all_arrives(self):
        """20,000 each way over links that have one in flight each: once, in order, unaltered."""
        watch = self.fragments()
        a, b = self.end("a1"), self.end("b")
        traffic = Traffic(self, a, b)
        for end, there in ((a, "b"), (b, "a1")):
            mac, = self.macs(there)
            self.spread(traffic, end, mac, MESSAGES - MESSAGES // 100, LINKS)
            self.spread(traffic, end, mac, MESSAGES // 100, 5, sizes=(1000, 9000))
        tally = traffic.finish(LONGEST)
        self.assertEqual(tally, {"C": 2 * MESSAGES, "got": 2 * MESSAGES, "lost": 0})
        self.assertGreater(sum(map(traffic.counted, ("note_asked", "note_repaired", "note_resolved"))), 0)
        self.assertEqual(watch.packets(), [])
        say("    " + self.figures())

    def figures(self):
        """What the gateways counted."""
        one, two = self.g1.stats(), self.g2.stats()
        return (f"datagrams g1 {one['tunnel_tx']} sent, g2 {two['tunnel_rx']} heard; "
                f"g2 {two['tunnel_tx']} sent, g1 {one['tunnel_rx']} heard")

    def test_express_and_signals(self):
        """Express ones, and writers who are interrupted."""
        a, c = self.end("a1"), self.end("c")
        traffic = Traffic(self, a, c)
        for end, there in ((a, "c"), (c, "a1")):
            self.spread(traffic, end, self.macs(there)[0], 400, 20)
        while traffic.running():
            traffic.interrupt()
            wait_for(lambda: True, "nothing")
        tally = traffic.finish(60)
        self.assertEqual(tally["C"] + tally["R"], 800)


class CutWan(ThreeZones):
    __doc__ = TOPOLOGY

    host_knobs = {"dead_ms": 60000, "keepalive_ms": 200}     # longer than any cut here

    def traffic(self):
        """Endless, between zones 1 and 2 and within zone 1."""
        traffic = Traffic(self, *(self.end(name) for name in ("a1", "a2", "b")))
        mac_a, mac_b = self.macs("a1", "b")
        for end, target in zip((0, 2, 1), (mac_b, mac_a, mac_a)):
            traffic.send(traffic.ends[end], MANY, target=target, sizes=(16, 4000))
        return traffic

    def cross(self):
        """How far the link over the WAN is, both ways."""
        tag = self.a1.tag(peer=self.macs("b")[0])
        return tag["rx"], tag["tx"]

    def crossed(self, n=20):
        """Until so many have gone each way."""
        wait_for(lambda: self.a1.tag(peer=self.macs("b")[0]), "the link")
        before = self.cross()
        wait_for(lambda: min(now - was for now, was in zip(self.cross(), before)) >= n,
                 "transactions over the WAN", 20, 0.01)

    def silent(self):
        """Until the gateways on both sides miss each other."""
        for gateway, zone in ((self.g1, 2), (self.g2, 1)):
            wait_for(lambda gateway=gateway, zone=zone:
                     gateway.state(zone) in ("silent", "unreachable"),
                     f"{gateway.name} to miss zone {zone}", 10, 0.01)

    def test_shorter_than_dead(self):
        """The WAN is away for a while: nobody is told, nothing is lost."""
        traffic = self.traffic()
        for _ in range(times(1)):
            self.crossed()
            self.wan.netem("loss 100%")
            self.silent()
            within = traffic.counted("committed")
            wait_for(lambda within=within: traffic.counted("committed") > within + 20,
                     "the link within the zone to go on")
            self.wan.netem(None)
        self.crossed()
        self.assertLessEqual(finish(traffic)["R"], 3)
        self.assertEqual(traffic.counted("note_down"), 0)

    def test_longer_than_dead(self):
        """Writers are told that it was reversed, and it never arrives; then all goes on."""
        for host in (self.a1, self.b):
            self.set(host, dead_ms=700)
        traffic = self.traffic()
        for _ in range(times(1)):
            self.crossed()
            down = self.a1.stat("note_down"), self.b.stat("note_down")
            self.wan.netem("loss 100%")
            wait_for(lambda down=down: self.a1.stat("note_down") > down[0]
                     and self.b.stat("note_down") > down[1], "the link to be down", 15, 0.01)
            self.wan.netem(None)
        self.crossed()
        self.assertGreaterEqual(finish(traffic)["R"], 2)

    def test_cut_with_the_routes(self):
        """The routers' link is down: no route, the routers say so; and mended."""
        traffic = self.traffic()
        self.crossed()
        self.wan.cut()
        self.silent()
        self.wan.mend()
        for n, router in enumerate((self.r1, self.r2), 1):
            router.configure("wan", f"addr replace fd09::{n}/64 dev wan nodad",
                             f"route replace default via 10.9.0.{3 - n}",
                             f"route replace default via fd09::{3 - n}")
        self.crossed()
        finish(traffic)
