# SPDX-License-Identifier: GPL-2.0
"""UDP ports: links where the network carries IP only (doc/protocol.md 4.15)."""

import errno
import os
import socket
import struct
import tempfile
import threading
import unittest
from pathlib import Path

import oaewire as oae
import test_faults
import test_sizes
from oaedev import OaeFile
from oaenl import Netlink, attr, text
from oaepeer import Peer, Wire
from oaetest import Cable, Host, OaeTest, load, meanwhile, unload, wait_for
from patience import SLOW
from topology import OneCable
from udp import HEAD, OVERHEAD, PORT, Capture, UdpCable, UdpCable6, UdpWire, address_of, low24, port_mac

A, B, C = "10.0.0.1", "10.0.0.2", "10.0.0.77"
ETH_IP, ETH_IPV6 = 0x0800, 0x86dd
PORT_ADD, PORT_DEL, PORT_GET, PORT_NAME = 6, 7, 5, 1


class UdpTest(OneCable):
    """
        host a                        host b
        va 10.0.0.1 ----------- vb 10.0.0.2      IP only
        oaeudp0 - - - - - - - - - - oaeudp0
    """

    kind = UdpCable
    targets = True

    def carries(self, size=65536):
        """A long transaction each way."""
        for source, sink in ((self.a, self.b), (self.b, self.a)):
            data = os.urandom(size)
            self.assertEqual(source.write(data), size)
            self.assertEqual(sink.read_one(), data)


class Ports(UdpTest):
    __doc__ = UdpTest.__doc__

    def test_carries(self):
        """Short and long, and nothing of it is Ethernet's."""
        capture = Capture(self.b, "vb")
        self.carries(5)
        self.carries()
        self.assertEqual(self.a.tag()["state"], "OPEN")
        packets = capture.packets()
        capture.close()
        self.assertNotIn(oae.ETHERTYPE, {kind for kind, _ in packets})
        datagrams = [data for kind, data in packets if kind == ETH_IP]
        self.assertGreater(len(datagrams), 90)
        for data in datagrams:
            self.assertEqual(data[9], socket.IPPROTO_UDP)
            self.assertEqual(data[6:8], b"\x40\0", "DF, and no fragment")
            self.assertEqual(struct.unpack(">HH", data[20:24]), (PORT, PORT))
            self.assertEqual(data[28:30], HEAD)
            ends = tuple(data[n:n + 6].hex(":") for n in (30, 36))
            self.assertIn(ends, {(self.cable.mac_a, self.cable.mac_b),
                                 (self.cable.mac_b, self.cable.mac_a)})
            self.assertNotEqual(data[26:28], b"\0\0", "a checksum")
            oae.Frame.parse(data[30:])

    def test_device(self):
        """Its name, its MAC, its MTU; what `dev` says; it has no other frames."""
        self.assertEqual(self.a.knob("dev"), f"udp:{A}")
        self.assertEqual(self.a.mac("oaeudp0"), "02:0a:e0:00:00:01")
        said = self.a.sh("ip -d link show oaeudp0")
        self.assertIn(" mtu 1500 ", said)
        self.assertRegex(said, r"\n +oaeudp ")
        self.assertIn("oaeudp0", self.a.sh("ip link show type oaeudp"))
        self.assertIn("DEVTYPE=oaeudp\n", self.a.sh(
            "unshare -m sh -c 'mount -t sysfs none /sys; cat /sys/class/net/oaeudp0/uevent'"))
        self.assertEqual(self.a.tag()["port"], "oaeudp0")
        before = self.a.stat("tx_frames")
        self.a.sh("ip addr add 192.168.7.1/24 dev oaeudp0;"
                  "ping -c 1 -W 1 192.168.7.2 >/dev/null || true;"
                  "ip addr del 192.168.7.1/24 dev oaeudp0")
        self.assertEqual(self.b.stat("udp_bad"), 0)
        self.assertLess(self.a.stat("tx_frames") - before, 100)

    def test_link_del(self):
        """Its life is not up to ip: the knob makes and releases it."""
        for line in ("add oaeudp7 type oaeudp", "del oaeudp0"):
            self.assertIn("not supported", self.a.sh(f"ip link {line} 2>&1", check=False).stdout, line)
        for line in ("del oaeudp0", "set oaeudp0 netns b", "set oaeudp0 address 02:00:00:00:00:09"):
            self.assertNotEqual(self.a.sh(f"ip link {line}", check=False).returncode, 0, line)
        self.carries(10)

    def test_down(self):
        """Set down, it is a port that is down."""
        self.a.up("oaeudp0", False)
        w = self.a.start_write(b"later")
        wait_for(lambda: self.a.tag()["state"] != "OPEN", "the link to freeze")
        self.a.up("oaeudp0")
        self.assertEqual(w.result(), 5)
        self.assertEqual(self.b.read_one(), b"later")

    def test_not_first(self):
        """An address that was heard there means the UDP port, though it is not the first port."""
        self.addCleanup(self.a.knob, "dev", f"udp:{A}")
        self.a.knob("dev", "va")
        self.a.knob("dev", f"+udp:{A}")
        with OaeFile.to(self.b, self.cable.mac_a, vc=7) as file:
            file.write(b"here I am")
        self.assertEqual(self.a.read_one(), b"here I am")
        with OaeFile.to(self.a, self.cable.mac_b, vc=8) as file:
            self.assertEqual(file.status().port, "oaeudp0")
            file.write(b"found")
        self.assertEqual(self.b.read_one(), b"found")

    def test_cut(self):
        """A cable that is pulled and plugged in again."""
        self.carries(10)
        self.cable.cut()
        w = self.a.start_write(b"two")
        wait_for(lambda: self.a.tag()["state"] == "SYNC_SENT", "the link to freeze")
        self.cable.mend()
        self.assertEqual(w.result(30), 3)
        self.assertEqual(self.b.read_one(), b"two")

    def test_address_goes(self):
        """The address is removed, and comes back."""
        self.carries(10)
        self.a.sh(f"ip addr del {A}/24 dev va")
        w = self.a.start_write(b"three")
        wait_for(lambda: self.a.tag()["state"] == "SYNC_SENT", "the link to freeze")
        wait_for(lambda: self.a.stat("udp_no_route") > 0, "frames without a route")
        address_of(self.a, "va", A)
        self.assertEqual(w.result(30), 5)
        self.assertEqual(self.b.read_one(), b"three")

    def test_refused(self):
        """What is no address, or not free: nothing is left of it."""
        before = self.a.sh("ip -o link")
        with self.a:
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((A, 4000))
        self.addCleanup(sock.close)
        for code, value in ((errno.EINVAL, "+udp:"), (errno.EINVAL, "+udp:10.0.0"),
                            (errno.EINVAL, "+udp:10.0.0.1:"), (errno.EINVAL, "+udp:10.0.0.1:0"),
                            (errno.EINVAL, "+udp:10.0.0.1:65536"), (errno.EINVAL, "+udp:0.0.0.0"),
                            (errno.EINVAL, "+udp:224.0.0.1"), (errno.EINVAL, "+udp:fe80::1"),
                            (errno.EINVAL, "+udp:[fd00::1"), (errno.EINVAL, "+udp:[fd00::1]x"),
                            (errno.EINVAL, "+udp:::ffff:10.0.0.1"), (errno.EINVAL, "+udp:::"),
                            (errno.EINVAL, f"+udp:{A}:5,+udp:{A}:5"),
                            (errno.EADDRNOTAVAIL, "+udp:10.9.9.9"),
                            (errno.EADDRNOTAVAIL, f"+udp:{A}:4001,+udp:10.9.9.9"),
                            (errno.ENODEV, f"+udp:{A}:4001,+nosuch"),
                            (errno.EADDRINUSE, f"+udp:{A}:4000"),
                            (errno.EEXIST, f"+udp:{A}"), (errno.EEXIST, f"+udp:{A}:{PORT}"),
                            (errno.ENODEV, f"-udp:{A}:4000")):
            with self.subTest(value):
                self.assert_errno(code, self.a.knob, "dev", value)
                self.assertEqual(self.a.knob("dev"), f"udp:{A}")
                self.assertEqual(self.a.sh("ip -o link"), before)
        self.carries(10)

    def test_more(self):
        """Several on one address, with other devices; each goes by either name."""
        self.a.knob("dev", f"+udp:{A}:4001,+va")
        self.assertEqual(self.a.knob("dev"), f"udp:{A},udp:{A}:4001,va")
        self.assertTrue(self.a.has_link("oaeudp1"))
        self.a.knob("dev", "-oaeudp1")
        self.assertEqual(self.a.knob("dev"), f"udp:{A},va")
        self.assertFalse(self.a.has_link("oaeudp1"))
        self.a.knob("dev", f"udp:{A}:4001,udp:{A}")         # a set: va goes
        self.assertEqual(self.a.knob("dev"), f"udp:{A},udp:{A}:4001")
        self.a.knob("dev", f"-udp:{A}:4001")
        self.assertEqual(self.a.knob("dev"), f"udp:{A}")
        self.carries(10)

    def test_netlink(self):
        """By the requests of `oae port`, too."""
        netlink = Netlink(self.a)
        self.addCleanup(netlink.close)

        def ports():
            return [text(dict(port)[PORT_NAME]) for port in netlink.dump(PORT_GET)]
        netlink.ask(PORT_ADD, attr(PORT_NAME, f"udp:{A}:4002\0".encode()))
        self.assertEqual(ports(), ["oaeudp0", "oaeudp1"])
        netlink.ask(PORT_DEL, attr(PORT_NAME, f"udp:{A}:4002\0".encode()))
        self.assertEqual(ports(), ["oaeudp0"])
        for bad in ("udp:", "udp:1.2.3.4,va", "udp:" + "1" * 80):
            with self.subTest(bad), self.assertRaises(OSError):
                netlink.ask(PORT_ADD, attr(PORT_NAME, bad.encode() + b"\0"))

    def test_every(self):
        """`*` makes none, and keeps none that is not named."""
        self.a.knob("dev", f"*,-va,+udp:{A}")
        self.assertEqual(self.a.knob("dev"), f"*,-va,+udp:{A}")
        self.carries(10)
        self.a.knob("dev", f"+udp:{A}:4001")
        self.assertEqual(self.a.knob("dev"), f"*,-va,+udp:{A},+udp:{A}:4001")
        self.a.knob("dev", self.a.knob("dev"))
        self.assertEqual(self.a.knob("dev"), f"*,-va,+udp:{A},+udp:{A}:4001")
        self.a.knob("dev", f"-udp:{A}:4001")
        self.a.knob("dev", "*,-va")
        self.assertEqual(self.a.knob("dev"), "*,-va")
        self.assertFalse(self.a.has_link("oaeudp0"))
        self.a.knob("dev", f"udp:{A}")
        self.carries(10)


class Coming(UdpTest):
    """Ports, namespaces and the module come and go."""

    def traffic(self, stop):
        """Writes, whatever becomes of them."""
        while not stop.is_set():
            try:
                self.a.write(b"x" * 20000, nonblock=True)
            except OSError:
                pass
            self.b.read_all()

    def test_release(self):
        """Released and made again while messages are under way."""
        self.set(self.a, linger_ms=0)
        with meanwhile(self.traffic):
            for _ in range(10):
                self.a.knob("dev", f"-udp:{A}")
                self.assertFalse(self.a.has_link("oaeudp0"))
                self.a.knob("dev", f"+udp:{A}")
                self.a.write(b"there", target=low24(B))
        wait_for(lambda: self.b.tag() and self.b.tag()["state"] == "OPEN", "a link")

    def test_release_peer(self):
        """The other end as well, which has learned where this end is."""
        self.set(self.b, linger_ms=0)
        with meanwhile(self.traffic):
            for _ in range(10):
                self.b.knob("dev", "")
                self.b.knob("dev", f"udp:{B}")
        self.b.knob("target", low24(A))
        # What is queued goes first, and somebody has to read it.
        writer = self.a.start_write(b"there", target=low24(B))

        def ended():
            self.b.read_all()
            return writer.done
        wait_for(ended, "the last one to be committed", 30 * SLOW)
        self.assertEqual(writer.result(), 5)

    def test_namespace(self):
        """A namespace goes with its UDP ports, and with a link."""
        for _ in range(3):
            c = Host("c")
            self.addCleanup(c.close)
            Cable(c, "vc", self.b, "vbc")
            address_of(c, "vc", "10.1.0.1")
            address_of(self.b, "vbc", "10.1.0.2")
            c.knob("dev", "udp:10.1.0.1:5000")
            self.b.knob("dev", "+udp:10.1.0.2:5000")
            self.assertEqual(self.b.write(b"from b", target="oaeudp1/" + low24("10.1.0.1")), 6)
            self.assertEqual(c.read_one(), b"from b")
            c.close()
            self.b.knob("dev", "-udp:10.1.0.2:5000")
            wait_for(lambda: not self.b.has_link("vbc"), "the cable to go")
        self.b.knob("target", low24(A))

    def test_module(self):
        """Unloaded with ports; and loaded with one."""
        self.carries(100)
        unload()
        self.assertFalse(self.a.has_link("oaeudp0"))
        load(self.a, dev=f"udp:{A}", target=low24(B), udp_peers=B)
        self.assertEqual(self.a.knob("dev"), f"udp:{A}")
        self.assertEqual(self.a.knob("udp_peers"), B)
        self.b.knobs(dev=f"udp:{B}", target=low24(A))
        self.carries(100)
        unload()
        self.assert_errno(errno.EADDRNOTAVAIL, load, self.a, dev="udp:10.9.9.9")
        load()
        for host, own, peer in ((self.a, A, B), (self.b, B, A)):
            host.knobs(dev=f"udp:{own}", target=low24(peer), udp_peers="")
        self.carries(100)


class Hostile(UdpTest):
    """Datagrams of others: 10.0.0.77 is one more address at b's end of the cable."""

    @classmethod
    def build(cls):
        super().build()
        address_of(cls.b, "vb", C)
        cls.a.knobs(stranger_pps=100000, keepalive_ms=300)
        cls.b.knobs(keepalive_ms=300)

    def wire(self, address, port=PORT):
        """A socket of a program."""
        wire = UdpWire(self.b, address, A, port)
        self.addCleanup(wire.close)
        return wire

    def refused(self, counter, act, host=None):
        """What the counter has more after act(), as soon as it has."""
        host = host or self.a
        before = host.stat(counter)
        act()
        wait_for(lambda: host.stat(counter) > before, counter)

    def test_malformed(self):
        """What is no frame for the port is counted, and nothing else."""
        wire = self.wire(C)
        peer = Peer(wire, self.cable.mac_a, vc=5)
        good = HEAD + peer.frame(oae.CLOSE).pack()
        for bad in (b"", b"\x11", good[:10], good[:55], b"\x21" + good[1:], b"\x12" + good[1:],
                    good[:1] + b"\x01" + good[2:],
                    good[:2] + b"\xff" * 6 + good[8:],              # broadcast
                    good[:2] + b"\x02\x0a\xe0\0\0\x09" + good[8:],     # another's
                    good[:8] + b"\x03" + good[9:],                  # from a multicast address
                    good[:8] + good[2:8] + good[14:],               # from itself
                    good[:14] + b"\x08\0" + good[16:]):             # another EtherType
            with self.subTest(bad.hex()):
                self.refused("udp_bad", lambda bad=bad: wire.datagram(bad))
        self.refused("bad_digest", lambda: wire.datagram(good[:-1] + bytes([good[-1] ^ 1])))
        self.assertEqual(list(wire.frames()), [])
        wire.datagram(good)
        peer.expect(oae.CLOSE_ACK)
        self.carries(10)

    def test_stranger(self):
        """A program with an address opens a link: it is answered where it is."""
        self.set(self.a, stall_max_us=1000000, stall_min_us=1000000)     # or it is asked, if slow
        wire = self.wire(C, 7777)
        # Not the address of the other tests' peer, which is at another UDP port.
        peer = Peer(wire, self.cable.mac_a, vc=6, mac="02:0a:e0:01:00:17").open()
        peer.offered(b"from a program")
        peer.commit()
        peer.silence()
        wait_for(lambda: b"from a program" in self.a.read_each(), "it to arrive")
        self.assertEqual(self.a.knob("peers"), "")

    def test_no_segment(self):
        """Who has a route is no gateway and no neighbour, whatever he says; nor is one asked for."""
        self.carries(10)
        self.set(self.a, discover=1)
        wire = self.wire(C)
        peer = Peer(wire, self.cable.mac_a, vc=4)
        hellos = [oae.hello_body(oae.GATEWAY, zone=1, inc=7, life=100, node_life=100),
                  oae.hello_body(oae.GATEWAY | oae.LEAVING, inc=7), oae.node_body(0x123456789, 5)]
        through = oae.via(self.cable.mac_a, "02:0a:e0:00:55:55")
        frames = [oae.Frame(oae.HELLO, dst=self.cable.mac_a, src=peer.mac, payload=body)
                  for body in hellos]
        frames += [peer.frame(opcode, via=through, flags=oae.VIA)
                   for opcode in (oae.SYNC, oae.CLOSE, oae.NOLINK)]
        for frame in frames:
            self.refused("udp_via", lambda frame=frame: wire.send(frame))
        self.assertEqual(self.a.knob("nhmac"), "auto")
        self.assertEqual(self.a.neighbours(), [])
        self.set(self.a, nhmac=peer.mac, use_gw=1)
        self.carries(10)
        self.assertEqual(list(wire.frames()), [])
        stats = self.a.stats()
        self.assertEqual([stats[name] for name in ("hello_heard", "hello_sent", "node_sent")], [0] * 3)

    def test_spoofed(self):
        """Who has b's MAC and not its address gets nowhere, and b loses nothing."""
        self.carries(10)
        wire = self.wire(C)
        peer = Peer(wire, self.cable.mac_a, vc=0, mac=self.cable.mac_b)
        frozen = self.a.tag()["failures"]
        for opcode in (oae.SYNC, oae.CLOSE, oae.NOLINK, oae.OFFER):
            self.refused("udp_refused", lambda opcode=opcode: peer.send(opcode))
        self.assertEqual(wire.frames(), [])
        self.carries(1000)
        self.assertEqual(self.a.tag()["failures"], frozen)

    def test_first_spoofed(self):
        """Who was first with b's MAC has to give way to b, whose address it is."""
        vc = 9
        for host in (self.a, self.b):
            host.knob("dev", "")
        wire = self.wire(C)
        self.a.knob("dev", f"udp:{A}")
        peer = Peer(wire, self.cable.mac_a, vc=vc, mac=self.cable.mac_b)
        peer.send(oae.CLOSE)
        peer.expect(oae.CLOSE_ACK)
        self.b.knobs(dev=f"udp:{B}", target=low24(A))
        self.assertEqual(self.b.write(b"mine"), 4)
        self.assertEqual(self.a.read_one(), b"mine")
        self.refused("udp_refused", lambda: peer.send(oae.CLOSE))
        self.a.knob("target", low24(B))
        self.carries(10)

    def test_moved(self):
        """One whose MAC stands for no address of its own moves once it was silent."""
        mac = port_mac("192.168.5.6")           # a host behind a NAT
        first, second = self.wire(C, 1001), self.wire(C, 1002)
        peer = Peer(first, self.cable.mac_a, vc=7, mac=mac)
        peer.send(oae.CLOSE)
        peer.expect(oae.CLOSE_ACK)
        moved = Peer(second, self.cable.mac_a, vc=7, mac=mac)
        self.refused("udp_refused", lambda: moved.send(oae.CLOSE))

        def answered():
            moved.send(oae.CLOSE)
            second.pump(0.1)
            return moved.inbox
        wait_for(answered, "the new endpoint to be believed", 10)

    def test_configured(self):
        """udp_peers: from there and nowhere else; and written as it is read."""
        self.addCleanup(self.a.knob, "udp_peers", "")
        for value in (f"{B}:5000", f"{B},10.7.7.7:1,fd00::1,[fd00::2]:9", ""):
            self.a.knob("udp_peers", value)
            self.assertEqual(self.a.knob("udp_peers"), value)
        for code, value in ((errno.EINVAL, "x"), (errno.EINVAL, f"{B},"), (errno.EINVAL, "0.0.0.0"),
                            (errno.EEXIST, f"{B},11.0.0.2"),
                            (errno.E2BIG, ",".join(f"10.0.1.{n}" for n in range(1, 66)))):
            self.assert_errno(code, self.a.knob, "udp_peers", value)
        self.a.knob("udp_peers", f"{C}:5000")
        mac = port_mac(C)
        wrong, right = self.wire(C), self.wire(C, 5000)
        peer = Peer(wrong, self.cable.mac_a, vc=8, mac=mac)
        self.refused("udp_refused", lambda: peer.send(oae.CLOSE))
        peer = Peer(right, self.cable.mac_a, vc=8, mac=mac)
        peer.send(oae.CLOSE)
        peer.expect(oae.CLOSE_ACK)
        # Nor is a peer believed that was elsewhere before it was configured.
        self.carries(10)
        self.a.knob("udp_peers", f"{B}:5000")
        self.refused("udp_refused", lambda: self.b.write(b"?", nonblock=True))
        self.a.knob("udp_peers", "")
        wait_for(lambda: self.a.read_all().endswith(b"?"), "what b has sent", 30)
        self.carries(10)

    def test_flood(self):
        """Thousands of MACs: the peers with a link stay where they are."""
        self.carries(10)
        wire = self.wire(C)
        known = Peer(self.wire(C, 1003), self.cable.mac_a, vc=6, mac=port_mac("192.168.9.9"))
        known.open()
        refused = self.a.stat("udp_refused")
        learned = self.a.stat("udp_learned")
        for n in range(3000):
            mac = f"02:0a:e0:99:{n >> 8:02x}:{n & 255:02x}"
            wire.send(Peer(wire, self.cable.mac_a, vc=1, mac=mac).frame(oae.CLOSE))
        wait_for(lambda: self.a.stat("udp_learned") - learned > 2500, "most to be heard")
        self.assertEqual(self.a.stat("udp_refused"), refused)
        # It said nothing meanwhile, and is still asked where it was.
        known.wire.frames()
        known.inbox.clear()
        known.expect(oae.SYNC)
        self.carries(1000)


class BesideSegment(UdpTest):
    """
        host a                        host b
        va 10.0.0.1 ----------- vb 10.0.0.2, 10.0.0.77
        oaeudp0 - - - - - - - - - - - - whoever has a route
        wa -------------------- wb     Ethernet
    """

    targets = False

    @classmethod
    def build(cls):
        super().build()
        address_of(cls.b, "vb", C)
        cls.segment = Cable(cls.a, "wa", cls.b, "wb")
        for host, udp, dev in ((cls.a, A, "wa"), (cls.b, B, "wb")):
            host.knobs(stranger_pps=100000, dev=f"{dev},udp:{udp}", discover=1)

    def test_neighbour_spoofed(self):
        """Who has a route says that he is a neighbour: its links go to the segment all the same."""
        peer = self.segment.mac_b
        wait_for(lambda: peer in {row["mac"] for row in self.a.neighbours()}, "it to be heard")
        with OaeFile.to(self.a, peer, vc=1) as file:
            self.assertEqual(file.status().port, "wa")
        wire = UdpWire(self.b, C, A)
        self.addCleanup(wire.close)
        stranger = Peer(wire, self.cable.mac_a, vc=2, mac=peer)
        stranger.send(oae.CLOSE)
        stranger.expect(oae.CLOSE_ACK)
        with OaeFile.to(self.a, peer, vc=3) as file:
            self.assertEqual(file.status().port, "wa")
            file.write(b"for the neighbour")
        self.assertEqual(self.b.read_one(), b"for the neighbour")

    def test_configured(self):
        """Nor does he take the place of a neighbour who is in `peers`, or is the `target`."""
        peer = self.segment.mac_b
        wait_for(lambda: peer in {row["mac"] for row in self.a.neighbours()}, "it to be heard")
        wire = UdpWire(self.b, C, A)
        self.addCleanup(wire.close)
        self.a.knob("vci", 9)
        self.addCleanup(self.a.knob, "vci", 0)
        for vc, knob in ((5, "peers"), (6, "target")):
            with self.subTest(knob):
                self.a.knob(knob, peer)
                self.addCleanup(self.a.knob, knob, "")
                Peer(wire, self.cable.mac_a, vc=vc, mac=peer).open()
                with OaeFile.to(self.a, peer, vc=vc) as file:
                    self.assertEqual(file.status().port, "wa")

    def test_waiting(self):
        """A link that the neighbour does not answer yet does not go to him who asks in that name."""
        peer = self.segment.mac_b
        wait_for(lambda: peer in {row["mac"] for row in self.a.neighbours()}, "it to be heard")
        self.segment.netem("loss 100%", (1,))
        self.addCleanup(self.segment.netem, None, (1,))
        file = OaeFile.to(self.a, peer, vc=4, nonblock=True)
        self.addCleanup(file.close)
        file.write(b"to nobody else")
        wire = UdpWire(self.b, C, A)
        self.addCleanup(wire.close)
        Peer(wire, self.cable.mac_a, vc=4, mac=peer).open()
        self.assertEqual((file.status().port, file.state), ("wa", "SYNC_SENT"))


class Routed(OaeTest):
    """
        host a                router r                host b
        va 10.1.0.1 --- 10.1.0.9   10.2.0.9 --- vb 10.2.0.2     IP only; MTU 1500
    """

    addresses = (("10.1.0.1", "10.1.0.9"), ("10.2.0.2", "10.2.0.9"))
    all = "10.0.0.0/8"
    version = 4

    @classmethod
    def build(cls):
        cls.a, cls.b, cls.r = (cls.host(name) for name in "abr")
        cls.cables = []
        cls.r.sh("cd /proc/sys/net; echo 1 >ipv4/ip_forward; echo 0 >ipv4/conf/all/rp_filter;"
                 "echo 0 >ipv4/conf/default/rp_filter; echo 1 >ipv6/conf/all/forwarding;"
                 "echo 0 >ipv4/icmp_ratelimit; echo 0 >ipv6/icmp/ratelimit")
        for host, dev, (own, router) in zip((cls.a, cls.b), "ab", cls.addresses):
            cls.cables.append(Cable(host, f"v{dev}", cls.r, f"r{dev}"))
            address_of(host, f"v{dev}", own)
            address_of(cls.r, f"r{dev}", router)
            host.sh(f"ip route add {cls.all} via {router}")
        cls.start()

    @classmethod
    def start(cls):
        """The ports."""
        for host, (own, _), (peer, _) in zip((cls.a, cls.b), cls.addresses,
                                             reversed(cls.addresses)):
            host.knobs(dev=f"udp:{own}", target=low24(peer))

    def carries(self, size=65536):
        """A long transaction each way."""
        for source, sink in ((self.a, self.b), (self.b, self.a)):
            data = os.urandom(size)
            self.assertEqual(source.start_write(data).result(30), size)
            self.assertEqual(sink.read_one(), data)

    def fragments(self, packets):
        """Those that are fragments."""
        return [data for kind, data in packets
                if (kind == ETH_IP and int.from_bytes(data[6:8], "big") & 0x3fff) or
                (kind == ETH_IPV6 and data[6] == 44)]

    def test_a_carries(self):
        """The MAC stands for the address, behind the router, too."""
        self.carries()
        self.assertEqual(self.a.tag()["state"], "OPEN")

    def test_path_mtu(self):
        """A narrow path is noticed, and used as it is; nothing is fragmented."""
        self.carries()
        capture = Capture(self.b, "vb")
        self.addCleanup(capture.close)
        self.cables[1].mtu(1280)
        self.carries()
        self.carries()
        packets = capture.packets()
        self.assertGreater(len(packets), 100)
        self.assertEqual(self.fragments(packets), [])
        self.assertLessEqual(max(len(data) for _, data in packets), 1280)
        wait_for(lambda: f"mtu {1280 - OVERHEAD[self.version]} " in
                 self.a.sh("ip link show oaeudp0"), "the device to have the MTU of the path")
        self.assertGreater(self.a.stat("udp_too_long"), 0)
        # What the user sets is the MTU from then on.
        self.a.mtu("oaeudp0", 600)
        self.carries(30000)
        self.a.mtu("oaeudp0", 1200)
        self.carries()


class Routed6(Routed):
    """The same over IPv6."""

    addresses = (("fd00:1::aa:1", "fd00:1::9"), ("fd00:2::bb:2", "fd00:2::9"))
    all = "fd00::/16"
    version = 6

    @classmethod
    def start(cls):
        # The upper bits are not the same: the MAC does not say where the peer is.
        for host, (own, _), (peer, _) in zip((cls.a, cls.b), cls.addresses,
                                             reversed(cls.addresses)):
            host.knobs(dev=f"udp:{own}", udp_peers=peer, target=low24(peer))

    def test_names(self):
        """In brackets if there is a port."""
        own = self.addresses[0][0]
        self.assertEqual(self.a.knob("dev"), f"udp:{own}")
        self.a.knob("dev", f"+udp:[{own}]:77")
        self.assertEqual(self.a.knob("dev"), f"udp:{own},udp:[{own}]:77")
        self.a.knob("dev", f"-udp:[{own}]:77")
        self.assertEqual(self.a.mac("oaeudp0"), port_mac(own))


class Translated(Routed):
    """
        host a            router r, a NAT             host b
        va 192.168.1.5 --- 192.168.1.9   10.2.0.9 --- vb 10.2.0.2       a outside: 10.3.0.1
    """

    addresses = (("192.168.1.5", "192.168.1.9"), ("10.2.0.2", "10.2.0.9"))
    all = "10.0.0.0/8"
    test_path_mtu = None        # this NAT does not pass ICMP on

    @classmethod
    def translate(cls, port):
        """Outside, a is that port of 10.3.0.1. Stateless, so that it can change at any time."""
        cls.r.sh(f"""nft '
            table ip t
            delete table ip t
            table ip t {{
                chain c {{
                    type filter hook prerouting priority raw;
                    iifname ra udp sport {PORT} ip saddr set 10.3.0.1 udp sport set {port}
                    iifname rb udp dport {port} ip daddr set 192.168.1.5 udp dport set {PORT}
                }}
            }}'""")

    @classmethod
    def start(cls):
        try:
            cls.translate(20000)
        except AssertionError as e:
            raise unittest.SkipTest(f"nft: {e}") from e
        for host in (cls.a, cls.b):
            host.knobs(keepalive_ms=300, dead_ms=60000)
        cls.b.knob("dev", "udp:10.2.0.2")
        cls.a.knobs(dev="udp:192.168.1.5", udp_peers="10.2.0.2", target=low24("10.2.0.2"))
        cls.a.write(b"here I am")       # b cannot know before
        cls.b.read_one()
        cls.b.knob("target", port_mac("192.168.1.5"))

    def test_b_moved(self):
        """The NAT has another port for a: a pause, and the link goes on."""
        self.carries(1000)
        before = self.b.stats()
        self.translate(30000)
        self.carries(1000)
        after = self.b.stats()
        self.assertGreater(after["udp_refused"], before["udp_refused"])
        self.assertEqual(after["udp_learned"], before["udp_learned"] + 1)


class SlowModprobe(OneCable):
    """
        host a             host b
        va ----------------- vb          and modprobe, which the first UDP port needs
    """

    ports = False

    def setUp(self):
        super().setUp()
        self.a.sh("rmmod ip6_udp_tunnel udp_tunnel", check=False)
        if " setup_udp_tunnel_sock" in Path("/proc/kallsyms").read_text("ascii"):
            self.skipTest("udp_tunnel is in use, or built in")
        helper = Path("/proc/sys/kernel/modprobe")
        before = helper.read_text("ascii").strip()
        folder = Path(tempfile.mkdtemp())
        self.called, self.go = folder / "called", folder / "go"
        script = folder / "modprobe"
        script.write_text(f"#!/bin/sh\n: >{self.called}\n"
                          f"until [ -e {self.go} ]; do sleep 0.01; done\n"
                          f'exec {before} "$@"\n', "ascii")
        script.chmod(0o755)
        helper.write_text(str(script), "ascii")
        self.addCleanup(helper.write_text, before, "ascii")

    @staticmethod
    def start(function, *args, **kwargs):
        """In a thread."""
        thread = threading.Thread(target=function, args=args, kwargs=kwargs, daemon=True)
        thread.start()
        return thread

    def soon(self, what, function, *args, **kwargs):
        """It returns, whoever waits for modprobe."""
        thread = self.start(function, *args, **kwargs)
        wait_for(lambda: not thread.is_alive(), what, 5)

    def heard(self, host, id_):
        """A host that waits for the id of its target hears it, and has a link to that."""
        wire = Wire(self.a, "va")
        self.addCleanup(wire.close)
        wire.send(oae.Frame(oae.HELLO, b"\xff" * 6, oae.mac_bytes(self.cable.mac_a),
                            payload=oae.node_body(id_, 1)))
        wait_for(host.tags, "the link to the target", 5)

    def test_others_go_on(self):
        """Meanwhile knobs, a target that is heard, and the end of a namespace wait for nobody."""
        address_of(self.a, "va", A)
        c = Host("c")
        self.addCleanup(c.close)
        Cable(c, "vc", self.b, "wb")
        c.knob("target", "id:1000000000002")
        self.b.knobs(discover=1, dev="vb", target="id:1000000000001")
        binding = self.start(self.a.knob, "dev", f"udp:{A}")
        try:
            wait_for(self.called.exists, "modprobe to be called")
            self.soon("a write in another namespace", self.b.knob, "verbose", 0)
            self.soon("a read in the same", self.a.knob, "dead_ms")
            self.soon("a write in the same", self.a.knob, "dead_ms", 4999)
            self.soon("a list", Netlink(self.b).dump, PORT_GET)
            self.heard(self.b, 0x1000000000001)
            self.soon("a namespace to be left", c.close)
            wait_for(lambda: not self.b.has_link("wb"), "it to be gone", 10)
        finally:
            self.go.touch()
            binding.join(30)
        self.assertEqual(self.a.knob("dev"), f"udp:{A}")


class SizesOverUdp(test_sizes.Sizes):
    """What any cable carries, over UDP ports: MTU 1456."""
    kind = UdpCable
    mtu = 1456
    sizes = (1, 8, 1415, 1416, 1417, 2833, 4096, 9000, 65535, 65536)


class SizesOverUdp6(SizesOverUdp):
    """And over IPv6, long ones."""
    kind = UdpCable6
    mtu = 8900
    sizes = (1, 8859, 8860, 8861, 65536)


class BadNetworkOverUdp(test_faults.BadNetwork):
    """A bad network, over UDP ports."""

    kind = UdpCable

    messages = min(test_faults.MESSAGES, 3000)
    test_a_the_network_is_bad = test_all_arrives_with_the_interface_down_and_up = None
    test_express = test_signals = test_signals_express = test_deadlines = test_slow_readers = None

    def test_all_arrives(self):
        """Some thousands in each direction at once: each once, in order, unaltered."""
        tally = self.both_ways(self.messages).finish(test_faults.LONGEST)
        self.assertEqual(tally, {"C": 2 * self.messages, "got": 2 * self.messages, "lost": 0})


del UdpTest, OneCable       # no tests of their own
