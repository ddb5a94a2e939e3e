# SPDX-License-Identifier: GPL-2.0
"""What must not get in, from outside and from the zone: each is counted, and does nothing else."""

import os
import random
import socket
import struct
from pathlib import Path

import oaewire as oae
from faults import Traffic, free_kilobytes
from gateway import MANY, Scripted, ThreeZones, finish
from oaeipwire import (ASK, BEAT, BYE, CONTROL, DATA, GATEWAY, HDR_LEN, LEAVING, MAX_NODES,
                       NODES, PORT, PROBE, Control, Datagram, Watch, hello, through, via)
from oaetest import CUT_TCP, CUT_UDP, cut_up, run, wait_for
from oaewire import Frame, mac_bytes
from patience import SLOW

STRANGERS = int(os.environ.get("GATEWAY_STRANGERS", "100000"))


class Bad(Scripted):
    """What the tests of bad input share."""

    def setUp(self):
        super().setUp()
        self.near, = self.local(*self.new_macs())
        self.far, = self.remote(self.two, *self.new_macs(), life=600)
        self.frame = via(oae.SYNC, self.mac, self.far, self.near, payload=bytes(32))
        self.quiet()

    def nothing_happened(self):
        """No frame came out anywhere, and the table is what it was."""
        self.sync()
        self.assertEqual(self.g.where(), {self.near: (1, "local"), self.far: (2, "remote")})
        for speaker in (self.two, self.three):
            self.assertEqual([d for d in speaker.heard() if d.kind == DATA], [])
        came = [frame for frame in self.wire.frames() if frame.opcode != oae.HELLO]
        self.assertEqual(came, [])

    def all_dropped(self, send, items, *counters):
        """Each of these, sent with send(), is counted in one of the counters; nothing happens."""
        for item in items:
            before = self.g.stats()

            def grown(before=before):
                now = self.g.stats()
                return sum(now[name] - before[name] for name in counters)
            send(item)
            try:
                wait_for(grown, "")
            except AssertionError as e:
                now = self.g.stats()
                raise AssertionError(f"{item}: none of {counters}, but " + str(
                    {name: now[name] - before[name] for name in now
                     if now[name] != before[name]})) from e
            self.assertEqual(grown(), 1, item)
        self.nothing_happened()


class Guest(Scripted):
    """
        a guest: tap zt at gateway g       the rest as below
    """
    __doc__ += Scripted.__doc__

    def test_cut_up(self):
        """A frame that is to be cut up as if it were UDP or TCP is dropped, and counted."""
        tap = self.g.tap("zt")
        self.addCleanup(self.g.sh, "ip link del zt")
        self.addCleanup(os.close, tap)
        self.g.up("zt")
        self.addCleanup(self.g.knob, "dev", "zone")
        self.g.knob("dev", "zt")
        mac = self.g.mac("zt")
        self.two.control(BEAT)
        near, far = self.new_macs(2)

        def known():
            os.write(tap, cut_up(hello(near, mac)))
            return self.g.where().get(near) == (1, "local")
        wait_for(known, "the guest to be known")
        self.remote(self.two, far)
        frame = via(oae.SYNC, mac, near, far, payload=bytes(1000))
        self.quiet()
        watch = Watch(self.w, "wan", fragments=True)
        self.addCleanup(watch.close)
        os.write(tap, cut_up(frame))
        wait_for(lambda: self.g.zone(2)["tx_frames"] == 1, "it to be forwarded")
        before = self.g.stat("bad_frame")
        for kind in CUT_UDP, CUT_TCP:
            os.write(tap, cut_up(frame, kind, 8))
        fragments = []

        def dealt_with():
            fragments.extend(watch.packets())
            return fragments or self.g.stat("bad_frame") == before + 2
        wait_for(dealt_with, "both to be dropped")
        self.assertEqual((len(fragments), self.g.zone(2)["tx_frames"]), (0, 1))


class Dropped(Bad):         # pylint: disable=too-many-public-methods
    __doc__ = Scripted.__doc__

    # From outside.

    def test_strangers(self):
        """From an address that no zone has: whatever it says, no answer, nothing learned."""
        mac, = self.new_macs()
        strangers = [self.speaker("10.66.0.1", 2), self.speaker("fd02::1", 2),
                     self.speaker("10.66.0.1", 3, port=40000)]
        bodies = [(CONTROL, Control(op, 5, 6, nodes=((mac, 0),) if op == NODES else ()).pack())
                  for op in (BEAT, NODES, ASK, BYE, PROBE)]
        bodies += [(DATA, through(self.frame)), (DATA, b""), (9, b"x" * 1000)]
        for stranger in strangers:
            stranger.port = PORT
            self.all_dropped(lambda body, s=stranger: s.send(*body), bodies, "bad_peer")
            self.all_dropped(stranger.raw, (b"", b"\0", os.urandom(1400)), "bad_peer")
            self.assertEqual(stranger.heard(), [])

    def test_any_port(self):
        """A gateway's address is enough: the port it sends from is its own affair."""
        other = self.speaker("10.2.0.1", 2, port=50000)
        other.port = PORT
        other.inc, other.serial = self.two.inc, self.two.serial
        other.data(self.frame)
        self.to_zone(self.near)

    def test_zones(self):
        """Zones that are not the speaker's and mine."""
        pairs = [(src, dst) for src in (0, 1, 2, 3, 4, 5, 64, 65, 0xffff)
                 for dst in (0, 1, 2, 3, 4, 5, 64, 65, 0xffff) if (src, dst) != (2, 1)]
        for kind, body in ((DATA, through(self.frame)), (CONTROL, Control(ASK, 1, 1).pack())):
            self.all_dropped(lambda z, k=kind, b=body:
                             self.two.send(k, b, src_zone=z[0], dst_zone=z[1]),
                             pairs, "bad_zone", "bad_encap")

    def test_encapsulation(self):
        """Every field of the header at what it must not be; every length."""
        body = through(self.frame)
        good = Datagram(DATA, 2, 1, body).pack()
        bad = [Datagram(DATA, 2, 1, body, **lie).pack() for lie in
               [{"version": v} for v in (0, 2, 15)] + [{"flags": 1 << n} for n in range(8)] +
               [{"length": n} for n in (0, 1, len(body) - 1, len(body) + 1, 0x7fff, 0xffff)]]
        bad += [Datagram(kind, 2, 1, body).pack() for kind in (0, *range(3, 16))]
        bad += [good[:n] for n in (*range(HDR_LEN + 1), len(good) - 1)] + [good + b"\0"]
        self.all_dropped(self.two.raw, bad, "bad_encap")
        self.two.raw(good)
        self.to_zone(self.near)

    def test_frames(self):
        """DATA whose frame is no frame with VIA."""
        good = through(self.frame)
        plain = Frame(oae.SYNC, payload=bytes(32))
        bad = [Datagram(DATA, 2, 1, good[:n]).pack() for n in (0, 1, 39, 40, 51, 52, 83)]
        bad += [Datagram(DATA, 2, 1, good + bytes(n)).pack() for n in (1, 12, 1000)]
        bad += [Datagram(DATA, 2, 1, through(f)).pack() for f in (
            plain, hello(self.far, self.near), self.changed(flags=0),
            *(self.changed(version=v) for v in (0, 2, 15)),
            *(self.changed(hlen=n) for n in (*range(13), 14, 15)),
            *(self.changed(opcode=n) for n in (0, oae.HELLO, 16, 255)),
            *(self.changed(length=n) for n in (0, 31, 33, 0xffff)))]
        self.all_dropped(self.two.raw, bad, "bad_frame")

    def changed(self, **fields):
        """The good frame with something else in it."""
        f = via(oae.SYNC, self.mac, self.far, self.near, payload=bytes(32))
        for name, value in fields.items():
            setattr(f, name, value)
        return f

    def test_addresses(self):
        """DATA of or for what no node can have."""
        none, many = "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"
        pairs = [(none, self.near), (many, self.near), ("01:00:5e:00:00:01", self.near),
                 (self.far, none), (self.far, many), (self.far, "33:33:00:00:00:01"),
                 (self.mac, self.near), (self.far, self.mac), (self.far, self.far)]
        self.all_dropped(lambda p: self.two.data(via(oae.SYNC, self.mac, *p)), pairs,
                         "bad_mac", "bad_frame", "unknown_dst")

    def test_control(self):
        """Every field of a control message at what it must not be; every length."""
        mac, = self.new_macs()
        nodes = ((mac, 0),)
        serial = self.two.serial + 100
        bad = [Control(op, 7, serial).pack() for op in (0, 6, 7, 8, 127, 128, 254, 255)]
        bad += [Control(op, 7, serial, **lie).pack() for op in (BEAT, ASK, BYE, PROBE)
                for lie in ({"zero": 1}, {"zero": 255}, {"life": 0}, {"count": 1},
                            {"count": 0xffff}, {"nodes": nodes})]
        bad += [Control(op, 0, serial).pack() for op in (BEAT, ASK, BYE, PROBE)]
        bad += [Control(op, 7, serial, pad=n).pack() for op in (BEAT, ASK, BYE) for n in (1, 8)]
        bad += [Control(op, 7, serial, seen=n).pack() for op in (ASK, BYE, PROBE)
                for n in (1, 0xffff)]
        bad += [Control(NODES, 7, serial, nodes=nodes, **lie).pack() for lie in
                ({"zero": 1}, {"life": 0}, {"count": 0}, {"count": 2}, {"count": 0xffff},
                 {"seen": 1}, {"pad": 1}, {"pad": 8})]
        bad += [Control(NODES, 0, serial, nodes=nodes).pack(), Control(NODES, 7, serial).pack()]
        many = tuple((n, 0) for n in self.new_macs(MAX_NODES + 1))
        bad += [Control(NODES, 7, serial, nodes=many).pack()]
        good = Control(NODES, 7, serial, nodes=nodes).pack()
        bad += [good[:n] for n in range(len(good))]
        self.all_dropped(lambda b: self.two.send(CONTROL, b), bad, "bad_control")

    def test_nodes_that_cannot_be(self):
        """NODES with a bad entry: that entry, or the message, is not taken."""
        mac, = self.new_macs()
        for entry in (("00:00:00:00:00:00", 0), ("01:00:00:00:00:01", 0),
                      ("ff:ff:ff:ff:ff:ff", 0), (self.mac, 0)):
            before = self.g.stats()
            self.two.control(NODES, nodes=(entry,))
            wait_for(lambda before=before: sum(self.g.stat(n) - before[n] for n in
                                               ("bad_control", "bad_mac", "own_claimed")) == 1,
                     f"{entry} to be dropped")
        for flags, zero in ((4, 0), (0x80, 0), (0xff, 0), (0, 1), (0, 255)):
            self.counted(lambda flags=flags, zero=zero:
                         self.two.control(NODES, nodes=((mac, flags),), node_zero=zero),
                         bad_control=1)
        self.nothing_happened()

    def test_random(self):
        """Thousands of datagrams of a gateway with something altered: it lives, and serves."""
        rng = random.Random(1)
        mac, = self.new_macs()
        models = [Datagram(DATA, 2, 1, through(self.frame)).pack(),
                  Datagram(CONTROL, 2, 1, Control(NODES, 7, 8, nodes=((mac, 0),)).pack()).pack(),
                  Datagram(CONTROL, 2, 1, Control(BEAT, 7, 9).pack()).pack()]
        for n in range(3000):
            raw = bytearray(rng.choice(models))
            for _ in range(rng.randint(1, 4)):
                raw[rng.randrange(min(len(raw), 60))] = rng.randrange(256)
            self.two.raw(bytes(raw[:rng.randint(0, len(raw))] if n % 4 == 0 else raw))
        self.two.restart()
        self.two.control(BEAT)
        self.sync()
        self.wire.send(hello(self.near, self.mac))
        wait_for(lambda: self.g.where().get(self.near) == (1, "local"), "near to be known")
        self.quiet()
        self.two.nodes(self.far)
        self.two.data(self.frame)
        self.to_zone(self.near)

    def test_congestion(self):
        """CE on what is not ECN-capable: dropped. DSCP alone is fine."""
        self.two.sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 3)
        self.addCleanup(self.two.sock.setsockopt, socket.IPPROTO_IP, socket.IP_TOS, 0)
        self.three.sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, 3)
        self.addCleanup(self.three.sock.setsockopt, socket.IPPROTO_IPV6, socket.IPV6_TCLASS, 0)
        mac, = self.new_macs()
        for speaker in (self.two, self.three):
            self.counted(lambda s=speaker: s.data(via(oae.SYNC, self.mac, mac, self.near)),
                         bad_ecn=1)
        self.two.sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0xa0)
        self.nothing_happened()
        self.two.data(self.frame)
        self.to_zone(self.near)

    def test_control_pps(self):
        """No more control messages than control_pps are dealt with."""
        self.set(self.g, control_pps=10)
        before = self.g.stats()
        for _ in range(1000):
            self.two.control(BEAT)
        self.two.data(self.frame)
        self.to_zone(self.near)
        now = self.g.stats()
        self.assertGreater(now["control_limit"] - before["control_limit"], 900)
        for _ in range(1000):
            self.wire.send(hello(self.near, self.mac))
        wait_for(lambda: self.g.stat("control_limit") - before["control_limit"] > 1800,
                 "HELLOs to be limited, too")

    def test_budgets(self):
        """A flood of HELLOs kept other gateways from being heard: zone and gateways have their own."""
        self.set(self.g, control_pps=100)
        before = self.g.stat("control_limit")
        for n in range(1, 6):
            while self.g.stat("control_limit") - before < 150 * n:
                for _ in range(200):
                    self.wire.send(hello(self.near, self.mac))
            mac, = self.new_macs()
            self.two.nodes(mac)
            wait_for(lambda mac=mac: mac in self.g.mactbl(), "NODES to be heard")

    # From the zone.

    def altered(self, **fields):
        """A good frame from the zone with something else in it."""
        f = via(oae.SYNC, self.mac, self.near, self.far, payload=bytes(32))
        for name, value in fields.items():
            setattr(f, name, value)
        return f

    def test_malformed_frames(self):
        """Frames in the zone that are no frames."""
        good = self.altered().pack()
        bad = [good[:n] for n in (14 + 52, len(good) - 1)] + [good + bytes(n) for n in (1, 100)]
        bad += [self.altered(**lie).pack() for lie in
                [{"version": v} for v in (0, 2, 15)] +
                [{"hlen": n} for n in (*range(10), 11, 12, 14, 15)] +
                [{"opcode": n} for n in (0, oae.HELLO, 16, 255)] +
                [{"length": n} for n in (0, 31, 33, 0xffff)]]
        self.all_dropped(self.wire.send, bad, "bad_frame")

    def test_not_for_a_gateway(self):
        """Neither VIA nor HELLO, or to all."""
        plain = Frame(oae.SYNC, dst=mac_bytes(self.mac), src=mac_bytes(self.near),
                      payload=bytes(32))
        self.all_dropped(self.wire.send, [plain, self.altered(dst=b"\xff" * 6),
                                          self.altered(dst=b"\x01\0\x5e\0\0\1")], "not_mine")

    def test_for_somebody_else(self):
        """What a switch floods is not forwarded."""
        self.wire.send(self.altered(dst=b"\2\xee\0\0\0\1"))
        self.nothing_happened()

    def test_sources(self):
        """An Ethernet source that is not VIA's; addresses that no node can have."""
        self.all_dropped(self.wire.send, [
            via(oae.SYNC, self.mac, other, self.far).pack()[:6] + mac_bytes(self.near)
            + via(oae.SYNC, self.mac, other, self.far).pack()[12:]
            for other in self.new_macs(2)], "bad_source")
        none, many = "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"
        self.all_dropped(self.wire.send, [via(oae.SYNC, self.mac, *p) for p in (
            (none, self.far), (many, self.far), ("03:00:00:00:00:01", self.far),
            (self.near, none), (self.near, many), (self.near, self.mac), (self.mac, self.far),
            (self.near, self.near))], "bad_mac", "bad_frame", "unknown_dst")

    def test_hellos(self):
        """HELLO in the zone that is malformed: other lengths, a wrong digest."""
        mac, = self.new_macs()
        bad = [hello(mac, self.mac)]
        bad[0].digest = 1
        for n in (0, 1, 23, 25, 100):
            f = hello(mac, self.mac)
            f.payload = f.payload[:n].ljust(n, b"\0")
            bad.append(f)
        self.all_dropped(self.wire.send, bad, "bad_frame")

    def test_another_gateway(self):
        """Another gateway in the zone is no node."""
        mac, = self.new_macs()
        self.wire.send(hello(mac, self.mac, flags=GATEWAY, zone=1, inc=5, life=35, node_life=300))
        self.wire.send(hello(mac, "ff:ff:ff:ff:ff:ff", flags=GATEWAY, zone=9, inc=5, life=35,
                             node_life=300))
        self.wire.send(hello(mac, self.mac, flags=GATEWAY | LEAVING, zone=1, inc=5, life=35,
                             node_life=300))
        self.nothing_happened()

    def test_random_frames(self):
        """Thousands of frames with something altered."""
        rng = random.Random(2)
        models = [self.altered().pack(), hello(self.near, self.mac).pack()]
        for _ in range(3000):
            raw = bytearray(rng.choice(models))
            for _ in range(rng.randint(1, 4)):
                raw[rng.randrange(14, len(raw))] = rng.randrange(256)
            self.wire.send(bytes(raw[:rng.randint(14, len(raw))] if rng.random() < .25 else raw))
        self.sync()
        self.wire.send(hello(self.near, self.mac))
        self.two.nodes(self.far)
        wait_for(lambda: self.near in self.g.mactbl() and self.far in self.g.mactbl(), "both")
        self.quiet()
        self.wire.send(self.altered())
        self.two.expect_data()


class Full(Scripted):
    __doc__ = Scripted.__doc__

    def setUp(self):
        super().setUp()
        self.set(self.g, max_nodes=50)

    def test_nodes(self):
        """A gateway that says more than max_nodes: so many are learned, another zone's as ever."""
        self.counted(lambda: self.two.nodes(*self.new_macs(120)), nodes_learned=50, table_full=70)
        self.assertEqual(self.g.zone(2)["nodes"], 50)
        self.remote(self.three, *self.new_macs(50))
        self.local(*self.new_macs(50))
        self.assertEqual(len(self.g.mactbl()), 150)

    def test_data(self):
        """The same with the sources of frames: who cannot be answered is not heard."""
        near, = self.local(*self.new_macs())
        before, frames = self.g.stats(), self.g.zone(2)["rx_frames"]
        for mac in self.new_macs(120):
            self.two.data(via(oae.SYNC, self.mac, mac, near))
        self.sync()
        now = self.g.stats()
        self.assertEqual(now["nodes_learned"] - before["nodes_learned"], 50)
        self.assertEqual(now["table_full"] - before["table_full"], 70)
        self.assertEqual(self.g.zone(2)["rx_frames"] - frames, 50)
        self.assertEqual(self.g.zone(2)["nodes"], 50)

    def test_zone(self):
        """Thousands of sources in the zone."""
        far, = self.remote(self.two, *self.new_macs())
        before = self.g.stats()
        for mac in self.new_macs(3000):
            self.wire.send(via(oae.SYNC, self.mac, mac, far))
        self.sync()
        now = self.g.stats()
        self.assertEqual(now["nodes_learned"] - before["nodes_learned"], 50)
        self.assertEqual(now["table_full"] - before["table_full"], 2950)
        self.assertEqual(self.g.zone(1)["nodes"], 50)


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


del Bad
