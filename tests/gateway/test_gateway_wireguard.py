# SPDX-License-Identifier: GPL-2.0
"""Gateways whose addresses are on an encrypted path: nothing else changes."""

from faults import HostEnd, Traffic
from gateway import GatewayTest, Gateway, modprobe
from oaeipwire import Packet, Watch
from oaetest import Cable, run, wait_for


class Encrypted(GatewayTest):
    """
        a -- zone 1 -- g1 ================ g2 -- zone 2 -- b
                     wg0 10.1.0.1 ... 10.2.0.1 wg0
                     fd01::1          fd02::1     MTU 1420, inside of UDP 51820
                     wan 10.100.0.1 - 10.100.0.2 wan
    """

    @classmethod
    def build(cls):
        modprobe("wireguard")
        super().build()
        cls.a, cls.b = cls.host("a"), cls.host("b")
        cls.gateways = [cls.made(Gateway(name)) for name in ("g1", "g2")]
        cls.wan = Cable(cls.gateways[0], "wan", cls.gateways[1], "wan")
        keys = [run("wg", "genkey").strip() for _ in cls.gateways]
        public = [run("sh", "-c", f"echo {key} | wg pubkey").strip() for key in keys]
        for n, gateway in enumerate(cls.gateways):
            other = 1 - n
            gateway.sh(
                "ip link add wg0 mtu 1420 type wireguard; umask 77;"
                f"echo {keys[n]} > /tmp/wg-{n};"
                f"wg set wg0 listen-port 51820 private-key /tmp/wg-{n} peer {public[other]} "
                f"endpoint 10.100.0.{other + 1}:51820 "
                f"allowed-ips 10.{other + 1}.0.1/32,fd0{other + 1}::1/128")
            gateway.configure("wan", f"addr add 10.100.0.{n + 1}/24 dev wan")
            gateway.configure("wg0", "link set wg0 up",
                              f"addr add 10.{n + 1}.0.1/8 dev wg0",
                              f"addr add fd0{n + 1}::1/8 dev wg0 nodad")
        # Of two handshakes that cross, WireGuard keeps neither, and waits 5 seconds: one begins.
        cls.gateways[0].sh("ping -c 1 -W 8 10.2.0.1")
        cls.cables = [Cable(host, "eth0", gateway, "zone")
                      for host, gateway in zip((cls.a, cls.b), cls.gateways)]
        for host, gateway in zip((cls.a, cls.b), cls.gateways):
            host.add_port("eth0")
            gateway.serve(gwips="10.1.0.1,10.2.0.1")

    def over(self, gwips, overhead):
        """Transfers over it, in UDP of WireGuard only, as long as it carries."""
        for gateway in self.gateways:
            gateway.knob("gwips", gwips)
        wait_for(lambda: self.gateways[0].up_with(2) and self.gateways[1].up_with(1),
                 "both to be heard", 10)
        for n, gateway in enumerate(self.gateways):
            self.assertEqual(gateway.zone(2 - n)["mtu"], 1420 - overhead - 16)
            self.assertRegex(gateway.zone(2 - n)["route"], "^wg0 from ")
        watch = Watch(self.gateways[0], "wan")
        self.addCleanup(watch.close)
        traffic = Traffic(self, HostEnd(self.a), HostEnd(self.b))
        for end, cable in zip(traffic.ends, reversed(self.cables)):
            traffic.send(end, 40, sizes=(16, 20000), target=cable.mac_a)
        tally = traffic.finish(60)
        self.assertEqual(tally, {"C": 80, "got": 80, "lost": 0})
        raws = [raw for raw in watch.packets() if raw[12:14] in (b"\x08\x00", b"\x86\xdd")
                and not self.of_the_link(raw)]
        self.assertGreater(len(raws), 80)
        for packet in map(Packet.parse, raws):
            self.assertEqual((packet.sport, packet.dport), (51820, 51820))
        self.assertEqual({tag["way"] for tag in self.a.tags() + self.b.tags()}, {"gw"})

    @staticmethod
    def of_the_link(raw):
        """What IPv6 says to its neighbours of its own accord: ICMPv6, maybe behind options."""
        return raw[12:14] == b"\x86\xdd" and raw[20] in (0, 58)

    def test_four(self):
        """IPv4 inside."""
        self.over("10.1.0.1,10.2.0.1", 20)

    def test_six(self):
        """IPv6 inside."""
        self.over("fd01::1,fd02::1", 40)

    def test_narrower(self):
        """WireGuard's device gets a smaller MTU under way."""
        self.addCleanup(self.set_mtu, 1420)
        self.set_mtu(1300)
        for gateway in self.gateways:
            gateway.knob("gwips", "10.1.0.1,10.2.0.1")
        wait_for(lambda: self.gateways[0].zone(2)["mtu"] == 1300 - 36, "it to be noticed", 10)
        self.assertEqual(self.a.start_write(bytes(20000), target=self.cables[1].mac_a)
                         .result(20), 20000)
        self.assertEqual(len(self.b.read_one()), 20000)

    def set_mtu(self, mtu):
        """Of both ends of the tunnel."""
        for gateway in self.gateways:
            gateway.mtu("wg0", mtu)
