# SPDX-License-Identifier: GPL-2.0
"""What must not get in, from outside and from the zone: each is counted, and does nothing else; and
what of a frame outside of itself gets through: its priority."""

import functools
import os
import socket
import struct

import oaewire as oae
from gateway import Scripted
from hits import Hits
from oaeipwire import (ASK, BEAT, BYE, CONTROL, DATA, GATEWAY, HDR_LEN, LEAVING, MAX_NODES,
                       NODES, PORT, PROBE, Control, Datagram, Watch, hello, through, via)
from oaepeer import ETH_P_ALL, SOL_PACKET
from oaetest import CUT_TCP, CUT_UDP, cut_up, wait_for
from oaewire import Frame, mac_bytes

PACKET_AUXDATA = 8


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
        pairs = ((0, 1), (1, 1), (3, 1), (5, 1), (65, 1), (2, 0), (2, 2), (2, 3), (2, 65))
        for kind, body in ((DATA, through(self.frame)), (CONTROL, Control(ASK, 1, 1).pack())):
            self.all_dropped(lambda z, k=kind, b=body:
                             self.two.send(k, b, src_zone=z[0], dst_zone=z[1]),
                             pairs, "bad_zone", "bad_encap")

    def test_encapsulation(self):
        """Each field of the header at what it must not be, and lengths: all values are unit tests'."""
        body = through(self.frame)
        good = Datagram(DATA, 2, 1, body).pack()
        bad = [Datagram(DATA, 2, 1, body, **lie).pack() for lie in
               ({"version": 2}, {"flags": 1}, {"length": len(body) - 1}, {"length": len(body) + 1})]
        bad += [Datagram(kind, 2, 1, body).pack() for kind in (0, 3)]
        bad += [good[:n] for n in (0, 1, HDR_LEN - 1, HDR_LEN, len(good) - 1)] + [good + b"\0"]
        self.all_dropped(self.two.raw, bad, "bad_encap")
        self.two.raw(good)
        self.to_zone(self.near)

    def test_frames(self):
        """DATA whose frame is no frame with VIA."""
        good = through(self.frame)
        plain = Frame(oae.SYNC, payload=bytes(64))
        bad = [Datagram(DATA, 2, 1, good[:n]).pack() for n in (0, 59, 91)]
        bad += [Datagram(DATA, 2, 1, good + bytes(n)).pack() for n in (1, 1000)]
        bad += [Datagram(DATA, 2, 1, through(f)).pack() for f in (
            plain, hello(self.far, self.near), self.changed(flags=0), self.changed(version=1),
            self.changed(ext=0), self.changed(opcode=oae.HELLO), self.changed(length=65))]
        self.all_dropped(self.two.raw, bad, "bad_frame")

    def changed(self, **fields):
        """The good frame with something else in it."""
        f = via(oae.SYNC, self.mac, self.far, self.near, payload=bytes(64))
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
        """Each field of a control message at what it must not be, and lengths: see test_encapsulation."""
        mac, = self.new_macs()
        nodes = ((mac, 0),)
        serial = self.two.serial + 100
        bad = [Control(op, 7, serial).pack() for op in (0, 6)] + [Control(BEAT, 0, serial).pack()]
        bad += [Control(BEAT, 7, serial, **lie).pack() for lie in
                ({"zero": 1}, {"life": 0}, {"count": 1}, {"nodes": nodes}, {"pad": 8})]
        bad += [Control(op, 7, serial, seen=1).pack() for op in (ASK, BYE, PROBE)]
        bad += [Control(NODES, 7, serial, nodes=nodes, **lie).pack() for lie in
                ({"zero": 1}, {"life": 0}, {"count": 0}, {"count": 2}, {"seen": 1}, {"pad": 8})]
        many = tuple((n, 0) for n in self.new_macs(MAX_NODES + 1))
        bad += [Control(NODES, 7, serial, nodes=many).pack()]
        good = Control(NODES, 7, serial, nodes=nodes).pack()
        bad += [good[:n] for n in (0, 15, len(good) - 1)]
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
        bad = [good[:n] for n in (14 + 60, len(good) - 1)] + [good + bytes(n) for n in (1, 100)]
        bad += [self.altered(**lie).pack() for lie in
                ({"version": 1}, {"ext": 2}, {"opcode": oae.HELLO}, {"length": 65})]
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


class Large(Scripted):
    __doc__ = Scripted.__doc__

    MANY = 20 * MAX_NODES

    def setUp(self):
        super().setUp()
        self.addCleanup(self.all_up)
        self.addCleanup(self.g.knob, "shutdown", 0)

    def test_begins_anew(self):
        """Whoever stops the gateway does not wait for its nodes; whoever reads them reads on."""
        macs = self.new_macs(self.MANY)
        for n in range(0, self.MANY, MAX_NODES):
            self.two.nodes(*macs[n:n + MAX_NODES])
        wait_for(lambda: self.g.zone(2)["nodes"] == self.MANY, "all to be known")
        hits = Hits(node="modoaeip:mactbl_free_node")
        self.addCleanup(hits.end)
        with self.g:
            reader = open("/proc/thread-self/net/modoaeip/mactbl", "rb", buffering=0)
        self.addCleanup(reader.close)
        text = reader.read(1000)
        stop = functools.partial(self.g.knob, "shutdown", 1)
        self.assertEqual(hits.by_this_thread("node", stop), 0)
        self.assertEqual(self.g.mactbl(), {})
        while part := reader.read(65536):
            text += part
        read = {line.split()[0] for line in text.decode("ascii").splitlines()[1:]}
        self.assertEqual((read, hits.count("node")), (set(macs), 0))
        self.assertEqual(hits.by_this_thread("node", reader.close), 0)
        wait_for(lambda: hits.count("node") == self.MANY, "the table to be freed")


    def test_reads_again(self):
        """Who keeps the file open, and begins anew, reads the table of now, and keeps no other one."""
        hits = Hits(node="modoaeip:mactbl_free_node")
        self.addCleanup(hits.end)
        with self.g:
            reader = open("/proc/thread-self/net/modoaeip/mactbl", "rb", buffering=0)
        self.addCleanup(reader.close)
        far, = self.remote(self.two, *self.new_macs())
        reader.seek(0)
        self.assertIn(far.encode(), reader.read(65536))
        self.g.knob("shutdown", 1)
        self.g.knob("shutdown", 0)
        self.all_up()
        near, = self.remote(self.two, *self.new_macs())
        reader.seek(0)
        text = reader.read(65536)
        self.assertEqual((far.encode() in text, near.encode() in text), (False, True))
        wait_for(lambda: hits.count("node") == 1, "the table of before to be freed")


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



del Bad
