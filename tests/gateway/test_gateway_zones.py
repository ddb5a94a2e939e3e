# SPDX-License-Identifier: GPL-2.0
"""Three zones: transfers between all hosts, the ways they take, and hosts and gateways that move."""

import errno
import socket
import struct

import oaewire as oae
from faults import Traffic
from gateway import GWIPS, MANY, Scripted, ThreeZones, finish
from oaeipwire import DATA, PORT, Datagram, Packet, Watch, hello, via
from oaepeer import ETH_P_ALL, SOL_PACKET
from oaetest import ip, wait_for
from oaewire import mac_bytes

PACKET_AUXDATA = 8

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
        rows = {gateway.name: gateway.zones() for gateway in self.gateways}
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
    def build(cls):
        super().build()
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


class Priority(Scripted):
    """
        AF_PACKET at host h       gateway g of zone 1       gateway of zone 2 by hand
        hz -------------------- zone   wan --------------- wan
                              zone.5: VLAN 5, the zone's device
    """

    @classmethod
    def build(cls):
        super().build()
        cls.g.sh("ip link add link zone name zone.5 up type vlan id 5 "
                 "ingress-qos-map 0:0 3:3 7:7 egress-qos-map 0:0 3:3 7:7")
        cls.g.knob("dev", "zone.5")
        with cls.h:
            cls.tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        cls.addClassCleanup(cls.tap.close)
        cls.tap.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        cls.tap.bind(("hz", ETH_P_ALL))

    def tagged(self, frame, priority):
        """Send a frame in VLAN 5."""
        raw = frame.pack()
        self.wire.send(raw[:12] + struct.pack(">HH", 0x8100, priority << 13 | 5) + raw[12:])

    def forget_all(self):
        """A class with one test."""

    def test_a_vlan_s_priority_crosses(self):
        """PCP to class selector, and back."""
        near, far = self.new_macs(2)
        self.tagged(hello(near, self.mac), 0)
        wait_for(lambda: near in self.g.mactbl(), "near to be known")
        self.remote(self.two, far)
        watch = Watch(self.w, "wan")
        self.addCleanup(watch.close)
        for priority in (0, 3, 7):
            self.tagged(via(oae.SYNC, self.mac, near, far), priority)
            packet = watch.next(lambda p: p.payload[0] & 15 == DATA and p.dst == "10.2.0.1",
                                "a frame")
            self.assertEqual(packet.tos, priority << 5)
            self.two.sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, priority << 5)
            self.two.data(via(oae.SYNC, self.mac, far, near))
            self.assertEqual(self.came(near), priority << 13 | 5)

    def came(self, mac):
        """The VLAN tag of the next frame for a node."""
        self.tap.settimeout(5)
        while True:
            raw, aux, _, _ = self.tap.recvmsg(2000, 100)
            if raw[:6] == mac_bytes(mac):
                return struct.unpack("IIIHHHH", aux[0][2])[5]
