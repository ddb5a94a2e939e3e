# SPDX-License-Identifier: GPL-2.0
"""Gateways come and go under traffic: the module, its device, its namespace, a host."""

import signal
import time
from unittest import skipIf

from faults import HostEnd, Traffic, check_promise, say
from gateway import MANY, ThreeZones, finish, stop
from oaetest import Host, ip, meanwhile, run, wait_for
from patience import SLOW
from test_gateway_zones import TOPOLOGY
from test_life import only_streams


class Life(ThreeZones):
    __doc__ = TOPOLOGY

    host_knobs = {"dead_ms": 20000}
    patience = 120

    def traffic(self):
        """Endless, between all zones."""
        traffic = Traffic(self, *(self.end(name) for name in ("a1", "b", "c")))
        macs = self.macs("a1", "b", "c")
        for end, there in ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2)):
            traffic.send(traffic.ends[end], MANY, target=macs[there], sizes=(16, 4000))
        self.crossed(10)
        return traffic

    def crossed(self, n=20):
        """Until every link has moved on so much."""
        def moved():
            return [host.tag(peer=mac)[way] for host, mac in
                    ((self.b, self.macs("a1")[0]), (self.c, self.macs("a1")[0]))
                    for way in ("rx", "tx")] + [self.c.tag(peer=self.macs("b")[0])["rx"]]
        wait_for(lambda: all(host.tags() for host in (self.b, self.c)), "links")
        wait_for(lambda: self.c.tag(peer=self.macs("b")[0]) and
                 self.c.tag(peer=self.macs("a1")[0]) and self.b.tag(peer=self.macs("a1")[0]),
                 "links", 10)
        before = moved()
        wait_for(lambda: all(now >= was + n for now, was in zip(moved(), before)),
                 "transactions on all links", 30, 0.01)

    def done(self, traffic):
        """All of it exactly once, and nobody was told anything."""
        self.crossed()
        self.assertLessEqual(finish(traffic)["R"], 5)
        self.assertEqual(traffic.counted("note_down"), 0)

    def serve_again(self):
        """After the module was loaded."""
        for gateway in self.gateways:
            gateway.serve()

    def test_module(self):
        """rmmod and insmod, all gateways at once."""
        traffic = self.traffic()
        for _ in range(2):
            begin = time.monotonic()
            self.unload_gateways()
            seconds = time.monotonic() - begin
            self.assertLess(seconds, 5 * SLOW)
            say(f"    rmmod under traffic: {seconds:.2f} s")
            self.load_gateways()
            self.serve_again()
            self.crossed(10)
        self.done(traffic)
        self.wait_known()

    @skipIf(SLOW > 1, "what a namespace costs besides grace periods is as much there")
    def test_module_and_many_namespaces(self):
        """rmmod waited for two grace periods in each namespace: 20 ms."""
        def seconds():
            times = []
            for _ in range(3):
                begin = time.monotonic()
                self.unload_gateways()
                times.append(time.monotonic() - begin)
                self.load_gateways()
            return min(times)

        few = seconds()
        names = [f"many{n}" for n in range(20)]
        ip(*(f"netns add {name}" for name in names))
        self.addCleanup(ip, *(f"netns del {name}" for name in names))
        many = seconds()
        self.serve_again()
        self.wait_known()
        say(f"    rmmod: {1000 * few:.0f} ms, with {len(names)} namespaces more {1000 * many:.0f} ms")
        self.assertLess(many - few, len(names) * 0.008)

    def test_shutdown(self):
        """One gateway after the other shuts down and serves again."""
        traffic = self.traffic()
        for gateway in self.gateways:
            gateway.knob("shutdown", 1)
            self.assertEqual(gateway.mactbl(), {})
            gateway.knob("shutdown", 0)
            self.crossed(5)
        self.done(traffic)
        self.wait_known()

    def test_device_released(self):
        """One gateway lets go of its device and takes it again."""
        traffic = self.traffic()
        for gateway in self.gateways:
            gateway.knob("dev", "")
            gateway.knob("dev", "zone")
            self.crossed(5)
        self.done(traffic)
        self.wait_known()

    def test_device_down(self):
        """Its device goes down and up."""
        traffic = self.traffic()
        for gateway in self.gateways:
            gateway.up("zone", False)
            gateway.up("zone")
            self.crossed(5)
        self.done(traffic)

    def test_device_deleted(self):
        """Its device is deleted; another takes its place."""
        traffic = self.traffic()
        for zone, gateway in enumerate(self.gateways, 1):
            run("ip", "-n", gateway.name, "link", "del", "zone", timeout=20 * SLOW)
            wait_for(lambda gateway=gateway: gateway.knob("dev") == "", "it to be let go")
            self.zone_cable(zone, gateway, "zone")
            gateway.knob("dev", "zone")
            self.crossed(5)
        self.done(traffic)
        self.wait_known()

    def test_many_at_once(self):
        """All knobs at once, again and again, while frames are forwarded."""
        traffic = self.traffic()
        wrong = []

        def turn(over, gateway, knob, values):
            n = 0
            while not over.is_set():
                try:
                    gateway.knob(knob, values[n % len(values)])
                except OSError as e:
                    wrong.append(e)
                n += 1
                over.wait(0.02)
            gateway.knob(knob, values[0])

        with meanwhile(turn, (self.g1, "mtu", (0, 600)), (self.g1, "mactbl", ("", "x")),
                       (self.g2, "max_nodes", (16384, 1)), (self.g2, "hello_ms", (100, 200)),
                       (self.gateways[2], "verbose", (1, 0))):
            end = time.monotonic() + 2
            while time.monotonic() < end:
                for gateway in self.gateways:
                    gateway.zones()
                    gateway.mactbl()
                    gateway.stats()
                    gateway.knob("mactbl")
        self.assertEqual(wrong, [])
        self.done(traffic)

    def test_namespace_of_a_gateway(self):
        """A gateway's namespace goes under traffic; another one takes its place."""
        traffic = Traffic(self, self.end("a1"), self.end("c"))
        mac_a, mac_c = self.macs("a1", "c")
        traffic.send(traffic.ends[0], MANY, target=mac_c, sizes=(16, 4000))
        traffic.send(traffic.ends[1], MANY, target=mac_a, sizes=(16, 4000))
        for n in range(2):
            traffic.moved(50)
            begin = time.monotonic()
            self.destroy(self.gateways[2])
            wait_for(lambda n=n: not self.r2.has_link(("g3", "h3")[n]), "its devices to go")
            say(f"    namespace gone in {time.monotonic() - begin:.2f} s")
            self.gateways[2] = self.new_gateway(("h3", "i3")[n], 3, self.r2, "10.3.0.1", "fd03::1")
            before = self.c.tag(peer=mac_a)["rx"]
            wait_for(lambda before=before: self.c.tag(peer=mac_a)["rx"] > before + 20,
                     "c to hear of a1", 20, 0.01)
        self.assertLessEqual(finish(traffic)["R"], 2)

    def test_namespace_of_a_host(self):
        """A host's namespace goes while others send to it through gateways, and it to them."""
        sent, got = {}, []
        at_b = Traffic(self, self.end("b"))
        for n in range(2):
            d = self.made(Host(f"d{n}"))
            d.knobs(rcvbuf=4096)
            cable = self.zone_cable(1, d, "eth0")
            d.up("eth0")
            d.add_port("eth0")
            at_d = Traffic(self, HostEnd(d))
            at_d.send(at_d.ends[0], MANY, target=self.macs("b")[0])
            at_b.send(at_b.ends[0], MANY, target=cable.mac_a)
            at_d.moved(50)
            at_b.moved(50)
            stop(at_d)
            sent.update({s: pump.result() for s, pump in at_d.senders.items()})
            at_d.readers[0].signal(signal.SIGTERM)
            got.append(at_d.readers[0].result())
            begin = time.monotonic()
            self.destroy(d)
            wait_for(lambda n=n: not self.sw.has_link(f"p-d{n}"), "its devices to go")
            say(f"    namespace gone in {time.monotonic() - begin:.2f} s")
        stop(at_b)
        sent.update({s: pump.result() for s, pump in at_b.senders.items()})
        at_b.readers[0].signal(signal.SIGTERM)
        got.append(at_b.readers[0].result())
        tally = check_promise(sent, [only_streams(log, sent) for log in got], died=True)
        # Delivered and not read when a namespace went: rcvbuf, and one.
        self.assertLessEqual(tally["lost"], 2 * 9)
        self.addCleanup(self.b.knob, "shutdown", 0)
        self.b.knob("shutdown", 1)
        # A namespace gives its links half a second to close: those that could not are given up.
        wait_for(lambda: not self.b.tags(), "b's tags to go",
                 self.host_knobs["dead_ms"] / 1000 + 10)
