# SPDX-License-Identifier: GPL-2.0
"""Three zones: transfers between all hosts, the ways they take, paths that get narrower, floods, and
hosts, gateways and the module that move, come and go under traffic."""

import errno
import os
import re
import signal
import socket
import struct
import threading
import time
from pathlib import Path

from faults import HostEnd, Traffic, check_promise, free_kilobytes, say
from gateway import GWIPS, MANY, ThreeZones, finish, stop
from oaeipwire import CONTROL, DATA, NODES, PORT, Control, Datagram, Packet, Watch, hello
from oaetest import Host, ip, meanwhile, run, wait_for
from oaewire import mac_bytes
from patience import SLOW, times
from test_life import only_streams

STRANGERS = int(os.environ.get("GATEWAY_STRANGERS", "100000"))
TRACING = Path("/sys/kernel/tracing")

PAIRS = (("a1", "b"), ("a1", "c"), ("a2", "b"), ("a2", "c"), ("b", "c"))
TOPOLOGY = """
        a1 --+                                                 +-- b
             + zone 1 -- g1 -- r1 ==== wan ==== r2 -- g2 -- zone 2 (IPv6 only)
        a2 --+   (v4, v6)                       |
                                                +--- g3 -- zone 3 (v4, v6) -- c
    """


class Zones(ThreeZones):
    __doc__ = TOPOLOGY

    host_knobs = {"dead_ms": 20000}

    def setUp(self):
        super().setUp()
        for host in self.hosts.values():
            host.knob("vci", 0)

    def test_all_pairs(self):
        """Between all hosts at once, both ways; those of one zone directly."""
        watch = self.fragments()
        ends = {name: self.end(name) for name in self.hosts}
        traffic = Traffic(self, *ends.values())
        each = 60
        for a, b in (*PAIRS, ("a1", "a2")):
            for here, there in ((a, b), (b, a)):
                traffic.send(ends[here], each, sizes=(16, 6000), target=self.macs(there)[0])
        tally = traffic.finish(60)
        self.assertEqual(tally, {"C": each * 12, "got": each * 12, "lost": 0})
        ways = {(name, tag["peer"]): tag["way"] for name, host in self.hosts.items()
                for tag in host.tags()}
        for a, b in (*PAIRS, ("a1", "a2")):
            way = "direct" if (a, b) == ("a1", "a2") else "gw"
            for here, there in ((a, b), (b, a)):
                self.assertEqual(ways[here, self.macs(there)[0]], way, (here, there))
        self.assertEqual(watch.packets(), [])

    def test_ways(self):
        """Each two zones talk over the family that they share; the table says so."""
        for gateway in self.gateways:
            wait_for(lambda gateway=gateway: sum(row["nodes"] for row in
                                                 gateway.zones().values()) == 4
                     and gateway.zone(1)["nodes"] == 2, f"{gateway.name} to know all")

        rows = {}

        def looked():       # until a PROBE is answered a zone has what fits 1280 bytes
            rows.update((gateway.name, gateway.zones()) for gateway in self.gateways)
            others = [row for zones in rows.values() for row in zones.values()
                      if row["state"] != "mine"]
            return all(row["state"] == "up" and row["mtu"] > 1280 for row in others)
        wait_for(looked, lambda: f"all to have heard of all: {rows}", interval=0.01)
        for name, mine in (("g1", 1), ("g2", 2), ("g3", 3)):
            self.assertEqual(set(rows[name]), {1, 2, 3})
            for zone, row in rows[name].items():
                self.assertEqual(row["state"], "mine" if zone == mine else "up")
                self.assertEqual(row["nodes"], 2 if zone == 1 else 1)
                self.assertEqual(row["address"], GWIPS.split(",")[zone - 1])
        source = {(1, 2): "fd01::1", (1, 3): "10.1.0.1", (2, 1): "fd02::1", (2, 3): "fd02::1",
                  (3, 1): "10.3.0.1", (3, 2): "fd03::1"}
        for (here, there), address in source.items():
            row = rows[f"g{here}"][there]
            self.assertEqual(row["route"], f"wan from {address}")
            overhead = 16 + (40 if ":" in address else 20)
            self.assertEqual(row["mtu"], 1500 - overhead)
            self.assertLess(row["heard_ms"], 1000)
        for gateway in self.gateways:
            self.assertRegex(gateway.zone(gateway.mine())["route"], "^zone 02:")
        where = {mac: zone for names, zone in ((("a1", "a2"), 1), (("b",), 2), (("c",), 3))
                 for mac in self.macs(*names)}
        for number, gateway in enumerate(self.gateways, 1):
            wanted = {mac: (zone, "local" if zone == number else "remote")
                      for mac, zone in where.items()}
            wait_for(lambda gateway=gateway, wanted=wanted: gateway.where() == wanted,
                     f"the table of {gateway.name}")
            self.assertEqual({mac for mac in where if mac in gateway.knob("mactbl")}, set(where))

    def test_the_same_zone_through_the_gateway(self):
        """It does not send back into the zone it came from."""
        self.set(self.a1, use_gw=1, deadline_ms=200)
        before = self.g1.stat("loop")
        writer = self.a1.start_write(b"round", target=self.macs("a2")[0], vc=77)
        self.assertEqual(writer.result(), -errno.ETIME)
        self.assertGreater(self.g1.stat("loop"), before)
        self.assertEqual(self.a2.read_all(), b"")
        self.a1.knobs(use_gw="auto", deadline_ms=0)
        self.assertEqual(self.a1.start_write(b"straight", target=self.macs("a2")[0],
                                             vc=77).result(), 8)
        self.assertEqual(self.a2.read_one(), b"straight")
        self.a1.close_tag(self.macs("a2")[0], 77)

    def test_never_through_the_gateway(self):
        """use_gw 0: not sent that way, and not taken."""
        mac_a, mac_b = self.macs("a2", "b")
        self.set(self.a2, use_gw=0, deadline_ms=200)
        self.assertEqual(self.a2.start_write(b"never", target=mac_b, vc=78).result(),
                         -errno.ETIME)
        self.set(self.b, deadline_ms=500)
        self.assertEqual(self.b.start_write(b"never", target=mac_a, vc=79).result(),
                         -errno.ETIME)
        self.assertEqual(self.b.read_all() + self.a2.read_all(), b"")
        self.a2.knob("use_gw", "auto")
        self.wait_known()

    def test_always_through_the_gateway(self):
        """use_gw 1 to another zone, and a writer who finds no gateway."""
        mac_c, = self.macs("c")
        self.set(self.a2, use_gw=1)
        self.assertEqual(self.a2.start_write(b"by way of", target=mac_c, vc=80).result(), 9)
        self.assertEqual(self.c.read_one(), b"by way of")
        self.assertEqual(self.a2.tag(80, mac_c)["way"], "gw")
        self.a2.close_tag(mac_c, 80)

    def test_dont_fragment_and_priority(self):
        """DF on all; a frame's priority is the class selector, and control is CS6."""
        self.g1.sh("tc qdisc add dev zone clsact; tc filter add dev zone ingress protocol 0x88b5 "
                   "matchall action skbedit priority 5")
        self.addCleanup(self.g1.sh, "tc qdisc del dev zone clsact")
        watch = Watch(self.r1, "wan")
        self.addCleanup(watch.close)
        self.assertEqual(self.a1.start_write(bytes(5000), target=self.macs("c")[0]).result(), 5000)
        self.assertEqual(len(self.c.read_one()), 5000)
        seen = {"data": set(), "control": set()}

        def look():
            for raw in watch.packets():
                packet = Packet.parse(raw)
                if packet is None or PORT not in (packet.sport, packet.dport):
                    continue
                self.assertTrue(packet.dont_fragment, packet)
                datagram = Datagram.parse(packet.payload)
                if datagram.kind != DATA:
                    seen["control"].add(packet.tos)
                elif datagram.src_zone == 1:
                    seen["data"].add(packet.tos)
            return all(seen.values())
        wait_for(look, "frames and control messages")
        self.assertEqual(seen, {"data": {5 << 5}, "control": {6 << 5}})

    def replug(self, host, zone):
        """Pull a host's cable out of one zone's switch and plug it into another's."""
        with self.sw:
            ip(f"link set p-{host.name} nomaster", f"link set p-{host.name} master br{zone}")

    def test_moving_host(self):
        """From zone 1 to zone 2 and back in mid-transfer: the same links go on, exactly once."""
        traffic = Traffic(self, *(self.end(name) for name in ("a1", "b", "c")))
        mac_a, mac_b, mac_c = self.macs("a1", "b", "c")
        traffic.send(traffic.ends[0], MANY, target=mac_c)
        traffic.send(traffic.ends[2], MANY, target=mac_a, sizes=(16, 4000))
        traffic.send(traffic.ends[0], MANY, target=mac_b)
        traffic.send(traffic.ends[1], MANY, target=mac_a, sizes=(16, 4000))
        traffic.moved(100)
        made = [host.stat("tags_made") for host in (self.a1, self.b, self.c)]
        kids = sorted(tag["kid"] for tag in self.a1.tags())
        for zone in (2, 1):
            self.replug(self.a1, zone)
            for gateway in self.gateways:
                wait_for(lambda gateway=gateway: gateway.where().get(mac_a, (0,))[0] == zone,
                         f"{gateway.name} to know where a1 is", 15, 0.01)
            # Both its links move on, the one within the zone, too.
            for end, mac in ((self.b, mac_a), (self.c, mac_a)):
                before = end.tag(peer=mac)["rx"]
                wait_for(lambda end=end, mac=mac, before=before: end.tag(peer=mac)["rx"]
                         > before + 20, f"{end} to hear of a1", 20, 0.01)
        self.assertLessEqual(finish(traffic)["R"], 4)         # those that stop() interrupted
        self.assertEqual([host.stat("tags_made") for host in (self.a1, self.b, self.c)], made)
        self.assertEqual(sorted(tag["kid"] for tag in self.a1.tags()), kids)
        self.assertGreater(self.a1.stat("way_changed"), 0)

    @staticmethod
    def way_of(host, peer, way):
        """A link goes that way, as soon as it has settled."""
        wait_for(lambda: host.tag(peer=peer)["way"] == way, f"{host.name} to go {way}")

    def test_moving_there_and_back(self):
        """A link goes another way when the one it went is silent, and back."""
        mac_a, mac_b = self.macs("a2", "b")
        self.addCleanup(self.b.read_all)
        self.assertEqual(self.a2.start_write(b"1", target=mac_b).result(), 1)
        self.way_of(self.a2, mac_b, "gw")
        self.replug(self.b, 1)
        self.addCleanup(self.wait_known)
        self.addCleanup(self.replug, self.b, 2)
        self.assertEqual(self.a2.start_write(b"2", target=mac_b).result(20), 1)
        self.way_of(self.a2, mac_b, "direct")
        self.way_of(self.b, mac_a, "direct")
        self.replug(self.b, 2)
        self.assertEqual(self.a2.start_write(b"3", target=mac_b).result(20), 1)
        self.way_of(self.a2, mac_b, "gw")
        self.assertEqual([self.b.read_one() for _ in range(3)], [b"1", b"2", b"3"])


class Roles(ThreeZones):
    """
        a1, a2 -- zone 1 -- g1 --- r1 ==== wan ==== r2 --- g2, g3 as in the others
                     |             |
                     +------ gy ---+      stands by: another gateway of zone 1
    """

    host_knobs = {"dead_ms": 20000}

    @classmethod
    def begin_class(cls):
        super().begin_class()
        cls.gy = cls.new_gateway("gy", 1, cls.r1)

    def traffic(self):
        """Endless, between zones 1 and 2, 1 and 3."""
        traffic = Traffic(self, *(self.end(name) for name in ("a1", "b", "c")))
        mac_a, mac_b, mac_c = self.macs("a1", "b", "c")
        for end, target in zip((0, 0, 1, 2), (mac_b, mac_c, mac_a, mac_a)):
            traffic.send(traffic.ends[end], MANY, target=target, sizes=(16, 4000))
        traffic.moved(100)
        return traffic

    def done(self, traffic):
        """All of it exactly once."""
        self.wait_known()
        for name in ("b", "c"):
            host, mac = self.hosts[name], self.macs("a1")[0]
            before = host.tag(peer=mac)["rx"]
            wait_for(lambda host=host, mac=mac, before=before: host.tag(peer=mac)["rx"]
                     > before + 20, f"{name} to hear of a1", 20, 0.01)
        self.assertLessEqual(finish(traffic)["R"], 4)

    def move(self, old, new, address, router=None):
        """A gateway's address goes to another gateway."""
        old.del_address("wan", address)
        new.add_address("wan", address)
        (router or self.r1).towards(new, address)

    def test_a_standby_takes_over(self):
        """Zone 1's addresses go to the gateway that stands by, and back."""
        self.assertEqual((self.gy.mine(), self.gy.mactbl()), (None, {}))
        traffic = self.traffic()
        old, new = self.g1, self.gy
        for _ in range(2):
            for address in ("10.1.0.1", "fd01::1"):
                self.move(old, new, address)
            wait_for(lambda new=new: new.mine() == 1, "the other to serve")
            wait_for(lambda old=old: old.mine() is None, "the first to stand by")
            self.gateways[0] = new
            mac = new.mac("zone")
            wait_for(lambda mac=mac: mac in self.a1.knob("nhmac"), "a1 to know", 5, 0.01)
            self.wait_known()
            old, new = new, old
        self.done(traffic)

    def test_a_standby_takes_over_from_a_dead_one(self):
        """The gateway of zone 1 says nothing any more; its addresses go to the other."""
        traffic = self.traffic()
        self.g1.up("zone", False)
        self.g1.up("wan", False)
        self.r1.towards(self.gy, "10.1.0.1", "fd01::1")
        for address in ("10.1.0.1", "fd01::1"):
            self.gy.add_address("wan", address)
        wait_for(lambda: self.gy.mine() == 1, "the other to serve")
        self.gateways[0] = self.gy
        self.done(traffic)
        for address in ("10.1.0.1", "fd01::1"):
            self.gy.del_address("wan", address)
        self.g1.up("wan")
        self.g1.up("zone")
        n = self.g1.number
        with self.g1:
            ip(f"route replace default via 10.100.{n}.254",
               *(f"addr replace {a} dev wan nodad" for a in ("fd01::1/128", f"fd64:{n:x}::1/64")),
               f"route replace default via fd64:{n:x}::ff")
        self.r1.towards(self.g1, "10.1.0.1", "fd01::1")
        self.gateways[0] = self.g1
        self.wait_known()

    def test_two_gateways_swap(self):
        """The gateways of zones 1 and 3 swap their addresses: each serves the other's zone."""
        traffic = self.traffic()
        mac_a, mac_c = self.macs("a1", "c")
        ones, threes = ("10.1.0.1", "fd01::1"), ("10.3.0.1", "fd03::1")
        for old, new, zone in ((ones, threes, 3), (threes, ones, 1)):
            for gateway, mine in ((self.g1, old), (self.g3, new)):
                for address in mine:
                    gateway.del_address("wan", address)
            for router, gateway, gone, come in ((self.r1, self.g1, old, new),
                                                (self.r2, self.g3, new, old)):
                router.towards(gateway, *come)
                with router:
                    ip(*(f"route del {address}" for address in gone))
                for address in come:
                    gateway.add_address("wan", address)
            wait_for(lambda zone=zone: (self.g1.mine(), self.g3.mine()) == (zone, 4 - zone),
                     "both to serve")
            wait_for(lambda zone=zone: [self.g2.where().get(mac, (0,))[0]
                                        for mac in (mac_a, mac_c)] == [zone, 4 - zone],
                     "g2 to know", 10, 0.01)
            self.wait_known()
        self.done(traffic)


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
        for _ in range(times(1)):
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

    def grace_periods(self):
        """How many rmmod waits for; the module is loaded again."""
        def trace(name, value):
            (TRACING / name).write_text(value, "ascii")
        trace("set_ftrace_pid", str(threading.get_native_id()))
        trace("set_ftrace_filter", "synchronize_rcu*")
        trace("current_tracer", "function")
        trace("trace", "")
        try:
            self.unload_gateways()
            return len(re.findall(r": synchronize_rcu\w* <-", (TRACING / "trace").read_text()))
        finally:
            for name, value in (("current_tracer", "nop"), ("set_ftrace_filter", ""),
                                ("set_ftrace_pid", "")):
                trace(name, value)
            self.load_gateways()

    def test_module_and_many_namespaces(self):
        """rmmod waited for two grace periods in each namespace."""
        if not TRACING.is_mount():
            run("mount", "-t", "tracefs", "none", str(TRACING))
        if "function" not in (TRACING / "available_tracers").read_text("ascii").split():
            self.skipTest("this kernel has no function tracer")
        few = self.grace_periods()
        names = [f"many{n}" for n in range(10)]
        ip(*(f"netns add {name}" for name in names))
        self.addCleanup(ip, *(f"netns del {name}" for name in names))
        many = self.grace_periods()
        self.serve_again()
        self.wait_known()
        say(f"    rmmod: {few} grace periods, with {len(names)} namespaces more {many}")
        self.assertGreater(few, 0)
        self.assertLess(many - few, len(names))

    def shut_down(self, _, gateway):
        """It shuts down, and serves again."""
        gateway.knob("shutdown", 1)
        self.assertEqual(gateway.mactbl(), {})
        gateway.knob("shutdown", 0)

    @staticmethod
    def release(_, gateway):
        """It lets go of its device, and takes it again."""
        gateway.knob("dev", "")
        gateway.knob("dev", "zone")

    @staticmethod
    def device_down(_, gateway):
        """Its device goes down and up."""
        gateway.up("zone", False)
        gateway.up("zone")

    @classmethod
    def device_deleted(cls, zone, gateway):
        """Its device is deleted; another takes its place."""
        run("ip", "-n", gateway.name, "link", "del", "zone", timeout=20 * SLOW)
        wait_for(lambda: gateway.knob("dev") == "", "it to be let go")
        cls.zone_cable(zone, gateway, "zone")
        gateway.knob("dev", "zone")

    def test_stops(self):
        """One gateway after the other stops and serves again, each in another way."""
        traffic = self.traffic()
        for n, stops in enumerate(times(1) * (self.shut_down, self.release, self.device_down,
                                              self.device_deleted)):
            stops(n % 3 + 1, self.gateways[n % 3])
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
            for _ in range(times(10)):
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
        for _ in range(times(1)):
            traffic.moved(50)
            begin = time.monotonic()
            self.destroy(self.gateways[2])
            wait_for(lambda: not self.r2.has_link("g3") and not self.sw.has_link("p-g3"),
                     "its devices to go")
            say(f"    namespace gone in {time.monotonic() - begin:.2f} s")
            self.gateways[2] = self.topology().new_gateway("g3", 3, self.r2, "10.3.0.1", "fd03::1")
            before = self.c.tag(peer=mac_a)["rx"]
            wait_for(lambda before=before: self.c.tag(peer=mac_a)["rx"] > before + 20,
                     "c to hear of a1", 20, 0.01)
        self.assertLessEqual(finish(traffic)["R"], 2)

    def test_namespace_of_a_host(self):
        """A host's namespace goes while others send to it through gateways, and it to them."""
        sent, got, turns = {}, [], times(1)
        at_b = Traffic(self, self.end("b"))
        for n in range(turns):
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
        self.assertLessEqual(tally["lost"], turns * 9)
        self.addCleanup(self.b.knob, "shutdown", 0)
        self.b.knob("shutdown", 1)
        # A namespace gives its links half a second to close: those that could not are given up.
        wait_for(lambda: not self.b.tags(), "b's tags to go",
                 self.host_knobs["dead_ms"] / 1000 + 10)


class PathMtu(ThreeZones):
    __doc__ = TOPOLOGY

    host_knobs = {"dead_ms": 20000}
    patience = 90

    def setUp(self):
        super().setUp()
        self.watch = self.fragments()
        self.addCleanup(self.mend)

    def mend(self):
        """The path is as it was."""
        self.wan.mtu(1500)
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
        for mtu in (1280, 1500, 1400):
            self.wan.mtu(mtu)
            self.moving()
            self.wait_mtu(mtu)
            self.moving()
        self.done(traffic)
        for gateway in self.gateways:
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


class Floods(ThreeZones):
    """
        a1, a2 -- zone 1 -- g1 -- r1 ==== wan ==== r2 -- g2 -- zone 2 -- b
        many more in zone 1        strangers
    """

    host_knobs = {"dead_ms": 20000}

    def traffic(self):
        """Endless between a1 and b."""
        traffic = Traffic(self, self.end("a1"), self.end("b"))
        for end, there in zip(traffic.ends, ("b", "a1")):
            traffic.send(end, MANY, target=self.macs(there)[0])
        traffic.moved(50)
        return traffic

    def done(self, traffic):
        """Nothing lost by it."""
        traffic.moved(50)
        self.assertLessEqual(finish(traffic)["R"], 2)

    def flood(self, host, dev, packet, count):
        """Send what trafgen makes of that so often."""
        path = f"/tmp/flood-{os.getpid()}"
        with open(path, "w", encoding="ascii") as f:
            f.write("{ " + packet + " }\n")
        # The socket's share is fixed when it is made.
        room = Path("/proc/sys/net/core/wmem_default")
        before = room.read_text("ascii")
        self.addCleanup(room.write_text, before, "ascii")
        room.write_text(str(16 << 20), "ascii")
        with host:
            run("trafgen", "--conf", path, "--dev", dev, "--num", str(count), "--cpus", "1",
                "--no-sock-mem", "--no-cpu-stats", "--notouch-irq", "--qdisc-path")

    @staticmethod
    def hexed(data):
        """For trafgen."""
        return ", ".join(f"0x{byte:02x}" for byte in data)

    def test_strangers(self):
        """100,000 strangers, each with another address, all announcing nodes."""
        body = Datagram(CONTROL, 2, 1, Control(
            NODES, 7, 8, nodes=tuple((f"02:66:00:00:00:{n:02x}", 0) for n in range(20))).pack())
        udp = struct.pack(">HHHH", PORT, PORT, 8 + len(body.pack()), 0) + body.pack()
        head = mac_bytes(self.g1.mac("wan")) + mac_bytes(self.r1.mac("g1")) + b"\x08\0"
        start = struct.pack(">BBHHHBB", 0x45, 0, 20 + len(udp), 0, 0, 64, 17)
        packet = (f"{self.hexed(head + start)}, csumip(14, 33), 0x0a, 0x42, drnd(), drnd(), "
                  f"{self.hexed(socket.inet_aton('10.1.0.1') + udp)}")
        traffic = self.traffic()
        self.wait_known()       # test_sources may have left somebody no room
        before, table = self.g1.stats(), set(self.g1.mactbl())
        memory = free_kilobytes()
        self.flood(self.r1, "g1", packet, STRANGERS)
        wait_for(lambda: self.g1.stat("bad_peer") - before["bad_peer"] > STRANGERS * 9 // 10,
                 "strangers to be counted", 20)
        self.assertLess(memory - free_kilobytes(), 16384)
        self.assertLessEqual(set(self.g1.mactbl()), table)
        # Whom the flood drowns out for long is forgotten and, heard again, learned again.
        now = self.g1.stats()
        learned, gone, expired = (now[name] - before[name] for name in (
            "nodes_learned", "nodes_gone", "nodes_expired"))
        self.assertLessEqual(learned, gone + expired)
        self.done(traffic)

    def test_sources(self):
        """Tens of thousands of new sources in the zone: max_nodes of them, a1's link goes on."""
        # None is too old before the last has come.
        self.set(self.g1, max_nodes=500, node_life_ms=30000)
        traffic = self.traffic()
        gateway = mac_bytes(self.g1.mac("zone"))
        packet = (f"{self.hexed(gateway + bytes((2, 0x55, 0, 0)))}, drnd(), drnd(), "
                  + self.hexed(hello("02:55:00:00:00:00", self.g1.mac("zone")).pack()[12:]))
        self.flood(self.sw, "p-g1", packet, int(20000 / max(SLOW, 1)))
        wait_for(lambda: self.g1.zone(1)["nodes"] == 500, "the table to be full", 10)
        self.assertGreater(self.g1.stat("table_full"), 1000)
        self.assertIn(self.macs("a1")[0], self.g1.mactbl())
        self.done(traffic)
        self.g1.knob("shutdown", 1)     # nothing is left of them
        self.g1.knob("shutdown", 0)
        # A HELLO that the flood has drowned is said again after a third of the life.
        self.wait_known(30)
