# SPDX-License-Identifier: GPL-2.0
"""Devices that stand on other devices, devices that change their kind, and whose log it is.

A port hears the frames of its own device: not those of a VLAN, a macvlan or a bond that stands on
it, which may be another namespace's. The same of a gateway's device.
"""

import errno
import fcntl
import os
import select
import struct
from pathlib import Path

import oaewire as oae
from gateway import Gateway, GatewayTest, Scripted, modprobe
from oaeipwire import hello, via
from oaepeer import Peer, Wire
from oaetest import (CUT_TCP, CUT_UDP, LIBC, Cable, Host, OaeTest, cut_up, ip, run, wait_for)
from oaewire import Frame, mac_bytes
from topology import CALM, OneScript

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
G = "02:0a:e0:04:00:01"
BROADCAST = b"\xff" * 6
VLAN = 7
NOBODY = 65534


def tagged(frame, vlan=VLAN):
    """The bytes of a frame in a VLAN."""
    raw = frame.pack()
    return raw[:12] + struct.pack(">HH", 0x8100, vlan) + raw[12:]


def gateways_hello():
    """A HELLO of a gateway to all."""
    body = {"flags": oae.GATEWAY, "zone": 1, "mtu": 1400, "epoch": 1, "inc": 9, "life": 600,
            "node_life": 9000}
    return Frame(oae.HELLO, dst=BROADCAST, src=mac_bytes(G), payload=oae.hello_body(**body))


class Tap(Wire):
    """The wire of a guest, which says of its frames that they are to be cut up.

    Nobody else looks on: what two have is not used again for the answer.
    """

    kind = 0

    def __init__(self, host, dev):      # pylint: disable=super-init-not-called
        self._tap = host.tap(dev)
        host.up(dev)
        self.host, self.dev, self.mac = host, dev, host.mac(dev)
        self._peers, self._barriers = {}, 0

    def send(self, packet):
        os.write(self._tap, cut_up(packet, self.kind, 4))

    def raw(self, timeout=0.0):
        while select.select([self._tap], [], [], timeout)[0]:
            raw = os.read(self._tap, 65600)[10:]
            if raw[12:14] == oae.ETHERTYPE.to_bytes(2, "big"):
                return raw
        return None

    def close(self):
        os.close(self._tap)


class Above(OaeTest):
    """
        host a                        AF_PACKET at host p
        va, and what stands on it ------ vp, vp.7
        host b: some of that
    """

    numbers = iter(range(1, 1000))

    @classmethod
    def build(cls):
        modprobe("8021q", "macvlan", "bridge")
        run("modprobe", "bonding", "max_bonds=0")
        cls.a, cls.b, cls.p = cls.host("a"), cls.host("b"), cls.host("p")
        cls.cable = Cable(cls.a, "va", cls.p, "vp")
        cls.p.sh(f"ip link add link vp name vp.{VLAN} up type vlan id {VLAN}")
        cls.wire, cls.wire7 = Wire(cls.p, "vp"), Wire(cls.p, f"vp.{VLAN}")
        for wire in (cls.wire, cls.wire7):
            cls.addClassCleanup(wire.close)

    def setUp(self):
        super().setUp()
        for host in (self.a, self.b):
            host.knob("dev", "")
            host.knobs(stranger_pps=100000, nhmac="auto", linger_ms=0, stall_max_us=10000000,
                       stall_min_us=1000000, keepalive_ms=600000)
        self.a.knob("dev", "va")
        self.b.read_all()
        for wire in (self.wire, self.wire7):
            wire.frames()
        self.before = self.a.stats()
        self.addCleanup(self.cable.mend)

    def add(self, host, name, *lines):
        """A device for this test, up in a host, made by ip in a."""
        with self.a:
            ip(*lines)
        if host is not self.a:
            run("ip", "-n", "a", "link", "set", name, "netns", host.name)
        self.addCleanup(host.sh, f"ip link del {name} 2>/dev/null || true")
        host.up(name)
        wait_for(lambda: host.ready(name), f"{name} to be ready")
        return host.mac(name)

    def peer(self, to, wire=None):
        """One not known yet."""
        n = next(self.numbers)
        return Peer(wire or self.wire, to, mac=f"02:0a:e0:07:{n >> 8:02x}:{n & 255:02x}")

    def nothing_heard(self):
        """The port of a has heard nothing but the question whether it has."""
        self.wire.barrier(self.cable.mac_a)
        after = self.a.stats()
        self.assertEqual([after[name] - self.before[name] for name in
                          ("rx_frames", "stranger", "hello_heard", "tags_made", "not_mine")],
                         [1, 1, 0, 0, 0])
        self.assertEqual(self.a.knob("nhmac"), "auto")

    def vlan(self, host):
        """va.7, in a host."""
        name = f"va.{VLAN}"
        return self.add(host, name, f"link add link va name {name} type vlan id {VLAN}")

    def say_in_vlan(self, to):
        """All that could be meant for the port, in the VLAN; tagged by hand and by the device."""
        peer = self.peer(to)
        for opcode in (oae.SYNC, oae.COMMIT, oae.CLOSE):
            frame = peer.frame(opcode)
            self.wire.send(tagged(frame))
            self.wire7.send(frame)
        for wire, packet in ((self.wire, tagged(gateways_hello())), (self.wire7, gateways_hello())):
            wire.send(packet)

    def test_vlan(self):
        """What is said in a VLAN is not for the port below it."""
        self.say_in_vlan(self.vlan(self.a))
        self.nothing_heard()

    def test_vlan_that_is_not_there(self):
        """Nor is it if nobody has that VLAN."""
        self.say_in_vlan(self.cable.mac_a)
        self.nothing_heard()

    def test_vlan_elsewhere(self):
        """The VLAN is another namespace's, and has a port there: each answers for itself."""
        mac = self.vlan(self.b)
        self.b.knob("dev", f"va.{VLAN}")
        peer = self.peer(mac, self.wire7).open()
        peer.offered(b"in the VLAN")
        peer.commit()
        peer.silence()
        self.wire7.send(gateways_hello())
        wait_for(lambda: self.b.knob("nhmac") == f"auto {G}", "b to hear its gateway")
        self.assertEqual(self.b.read_each(1), [b"in the VLAN"])
        self.nothing_heard()

    def test_priority_tag(self):
        """VLAN 0 is no VLAN, but a priority."""
        peer = self.peer(self.cable.mac_a)
        self.wire.send(tagged(peer.frame(oae.SYNC), 0xe000))
        peer.expect(oae.SYNC_CHK)

    def test_ration(self):
        """Strangers in the VLAN do not use up what the port has for strangers."""
        mac = self.vlan(self.b)
        self.b.knob("dev", f"va.{VLAN}")
        self.set(self.a, stranger_pps=5)
        other = self.peer(self.cable.mac_a)

        def answered():
            other.send(oae.CLOSE)
            return self.wire.pump(0.1)
        # The limit counts the answers of the whole second, those before it was set too.
        wait_for(answered, "a to answer strangers")
        self.before = self.a.stats()
        peer = self.peer(mac, self.wire7)
        for _ in range(20):
            peer.send(oae.COMMIT)
            peer.expect(oae.NOLINK)
        self.nothing_heard()

    def test_macvlan(self):
        """A macvlan, of another namespace: what is for it is not for the port below it."""
        mac = self.add(self.b, "mv", "link add link va name mv address 02:0a:e0:07:ff:01 "
                                     "type macvlan mode bridge")
        stranger = self.peer(mac)
        stranger.send(oae.SYNC)
        self.nothing_heard()
        self.assertFalse(stranger.inbox)
        self.b.knob("dev", "mv")
        peer = self.peer(mac).open()
        peer.offered(b"to the macvlan")
        peer.commit()
        peer.silence()
        self.before = self.a.stats()
        self.nothing_heard()

    def test_bond(self):
        """The bond has the frames of its devices; one of these is no port, nor goes on as one."""
        mac = self.cable.mac_a
        self.a.up("va", False)
        self.add(self.a, "bond9", "link add bond9 type bond mode active-backup miimon 10",
                 "link set va master bond9", "link set bond9 up", "link set va up")
        self.a.add_port("bond9")
        self.assertEqual(self.a.mac("bond9"), mac)
        peer = self.peer(mac)
        peer.send(oae.COMMIT)
        peer.expect(oae.NOLINK)
        peer.silence()                  # but for one answer
        self.a.knob("dev", "-va")
        for name in ("+va", "va,bond9"):
            self.assert_errno(errno.EINVAL, self.a.knob, "dev", name)
        peer.open()
        peer.offered(b"to the bond")

    def test_bridge(self):
        """A bridge hears what is for it, not what is for the devices in it."""
        mac = self.add(self.a, "br9", "link add br9 address 02:0a:e0:07:ff:02 type bridge "
                                      "mcast_snooping 0", "link set br9 up",
                       "link set va master br9")
        self.a.knob("dev", "br9")
        self.before = self.a.stats()
        stranger = self.peer(self.cable.mac_a)
        stranger.send(oae.COMMIT)
        peer = self.peer(mac).open()
        peer.offered(b"to the bridge")
        peer.silence()
        self.assertFalse(stranger.inbox)
        self.assert_errno(errno.EINVAL, self.a.knob, "dev", "+va")


    def test_cut_up(self):
        """A guest's frames that are to be cut up are answered as any other."""
        tap = Tap(self.a, "zt")
        self.addCleanup(self.a.sh, "ip link del zt")
        self.addCleanup(tap.close)
        self.a.add_port("zt")
        for tap.kind in 0, CUT_UDP, CUT_TCP:
            peer = self.peer(tap.mac, tap).open()
            peer.offered(b"cut up")
            peer.commit(flags=oae.WANT_DONE)
            peer.expect(oae.DONE)


class Going(OneScript):
    """
        host a                        AF_PACKET
        va, on it mv ------------------ vp
    """

    @classmethod
    def build(cls):
        super().build()
        modprobe("macvlan", "bridge")

    def setUp(self):
        super().setUp()
        self.a.knobs(dev="", linger_ms=0, **CALM)
        self.a.sh("ip link add mv link va type macvlan mode bridge")
        self.addCleanup(self.a.sh, "ip link del mv 2>/dev/null || true")
        self.a.up("mv")
        wait_for(lambda: self.a.ready("mv"), "mv to be ready")
        self.a.knob("dev", "mv")
        self.wire.frames()
        self.log.lines()

    def peer(self, last, dev="mv"):
        """One with a link, with which nothing is under way."""
        return Peer(self.wire, self.a.mac(dev), mac=f"02:0a:e0:07:f0:{last:02x}").open()

    def commit(self, peer, data, dev="mv"):
        """A transaction of the kernel, committed, of which the peer has not said that it has it."""
        self.a.write(data, nonblock=True, target=f"{dev}/{peer.mac}")
        self.assertEqual(peer.accept(), data)
        peer.expect(oae.COMMIT, tx=peer.rx, flags=0)

    def committed(self):
        """Two links, one of them in doubt."""
        peer, idle = self.peer(1), self.peer(2)
        self.commit(peer, b"committed")
        return peer, idle

    def said(self, peer, idle):
        """The one in doubt has said what it has committed; nobody has said anything else."""
        peer.expect(oae.COMMIT, tx=peer.rx, rx=peer.tx, flags=oae.WANT_DONE)
        self.wire.pump()
        self.assertEqual((list(peer.inbox), list(idle.inbox)), ([], []))

    def test_deleted(self):
        """A device is deleted: what is committed is said while it sends yet; this end is to blame."""
        peer, idle = self.committed()
        self.a.sh("ip link del mv")
        self.said(peer, idle)
        self.assertEqual([line.rsplit(" ", 2)[1:] for line in self.log.lines()
                          if ": unconfirmed: " in line], [["(this", "end)"]])

    def test_confirmed(self):
        """The peer has said that it has it: nothing is in doubt, and nothing said."""
        peer, idle = self.committed()
        peer.send(oae.DONE)
        peer.silence()
        self.a.sh("ip link del mv")
        self.wire.pump()
        self.assertEqual((list(peer.inbox), list(idle.inbox)), ([], []))
        self.assertEqual([line for line in self.log.lines() if ": unconfirmed: " in line], [])

    def test_other_namespace(self):
        """The same if it leaves the namespace."""
        peer, idle = self.committed()
        self.a.sh(f"ip link set mv netns {self.p.name}")
        self.addCleanup(self.p.sh, "ip link del mv")
        self.said(peer, idle)

    def test_taken(self):
        """With `*` a device that a bridge takes is released, and sends all the while."""
        self.a.sh("ip link del mv; ip link add br9 type bridge")
        self.a.knob("dev", "*")
        self.addCleanup(self.a.sh, "ip link del br9")
        peer = self.peer(3, "va")
        self.commit(peer, b"committed", "va")
        self.a.set_master("va", "br9")
        peer.expect(oae.COMMIT, tx=peer.rx, flags=oae.WANT_DONE)

    def test_down_and_up(self):
        """It is only set down: the link goes on as before when it is up again."""
        peer, idle = self.committed()
        self.a.up("mv", False)
        self.said(peer, idle)
        self.a.up("mv")
        peer.answer_sync()
        self.commit(peer, b"as before")


class AboveGateway(Scripted):
    __doc__ = Scripted.__doc__

    @classmethod
    def build(cls):
        super().build()
        modprobe("8021q", "macvlan")
        cls.g.sh(f"ip link add link zone name zone.{VLAN} up type vlan id {VLAN};"
                 "ip link add link zone name mv address 02:0a:e0:07:ff:03 up type macvlan "
                 "mode bridge")

    def test_above(self):
        """Nodes of a VLAN or of a macvlan on the zone's device are not of the zone."""
        near, strange, other = self.new_macs(3)
        self.local(near)
        self.remote(self.two, other)
        before = self.g.stats()
        for to, send in (("02:0a:e0:07:ff:03", self.wire.send),
                         (self.g.mac(f"zone.{VLAN}"), lambda f: self.wire.send(tagged(f)))):
            send(hello(strange, to))
            send(via(oae.SYNC, to, strange, other))
        self.wire.send(tagged(gateways_hello()))
        self.sync()
        self.assertNotIn(strange, self.g.mactbl())
        after = self.g.stats()
        self.assertEqual([after[name] - before[name] for name in
                          ("nodes_learned", "other_gateway", "not_mine")], [0, 0, 1])


TUNSETLINK, ARPHRD_ETHER, ARPHRD_NONE = 0x400454cd, 1, 0xfffe


class OtherKind(GatewayTest):
    """
        host a and gateway g: an empty bond each, which becomes what its first device is
    """

    @classmethod
    def build(cls):
        super().build()
        run("modprobe", "bonding", "max_bonds=0")
        cls.a, cls.g = cls.made(Host("a")), cls.made(Gateway("g"))

    def bond(self, host):
        """An empty bond, and a device that is not Ethernet."""
        host.sh("ip link add bond9 type bond mode active-backup")
        self.addCleanup(host.sh, "ip link del bond9; ip link del tun9")
        host.tun("tun9")

    def test_port(self):
        """A port whose device is to be of another kind is let go, its links end."""
        self.bond(self.a)
        self.a.up("bond9")
        self.a.knobs(dev="bond9", linger_ms=0)
        self.a.write(b"to nobody", nonblock=True, target="02:0a:e0:07:00:01")
        self.assertEqual(len(self.a.tags()), 1)
        self.a.sh("ip link set tun9 master bond9")
        self.assertNotIn("link/ether", self.a.sh("ip link show bond9"))
        self.assertEqual((self.a.knob("dev"), self.a.tags()), ("", []))
        self.assert_errno(errno.EINVAL, self.a.knob, "dev", "bond9")

    def test_stays(self):
        """The kind stays Ethernet, or somebody objects to another: the port stays, and its links."""
        tap = self.a.tap("tap9")
        self.addCleanup(self.a.sh, "ip link del tap9")
        self.addCleanup(os.close, tap)
        self.a.knobs(dev="tap9", linger_ms=0, dead_ms=10000)
        self.a.write(b"to nobody", nonblock=True, target="02:0a:e0:07:00:01")
        fcntl.ioctl(tap, TUNSETLINK, ARPHRD_ETHER)
        # Whatever stands on it; it hears of the change after the port has.
        run("modprobe", "macvlan")
        self.a.sh("ip link add mac9 link tap9 type macvlan")
        try:
            fcntl.ioctl(tap, TUNSETLINK, ARPHRD_NONE)
            self.skipTest("this kernel asks nobody")    # before 5.11
        except PermissionError:
            pass
        self.assertEqual((self.a.knob("dev"), len(self.a.tags())), ("tap9", 1))
        sent = self.a.stat("tx_frames")
        self.a.up("tap9")
        wait_for(lambda: self.a.stat("tx_frames") > sent, "it to go on asking")
        self.a.up("tap9", False)
        self.a.sh("ip link del mac9")
        fcntl.ioctl(tap, TUNSETLINK, ARPHRD_NONE)
        self.assertEqual((self.a.knob("dev"), self.a.tags()), ("", []))

    def test_gateway_stays(self):
        """So does the device of a gateway, which goes on serving."""
        tap = self.g.tap("tap9")
        self.addCleanup(self.g.sh, "ip link del tap9; ip link del dummy9")
        self.addCleanup(os.close, tap)
        self.g.sh("ip link add dummy9 type dummy; ip addr add 10.9.9.1 dev dummy9")
        self.g.knobs(gwips="10.9.9.1,10.9.9.2", dev="tap9", hello_ms=100)
        self.addCleanup(self.g.knobs, gwips="", dev="")
        fcntl.ioctl(tap, TUNSETLINK, ARPHRD_ETHER)
        run("modprobe", "macvlan")
        self.g.sh("ip link add mac9 link tap9 type macvlan")
        try:
            fcntl.ioctl(tap, TUNSETLINK, ARPHRD_NONE)
            self.skipTest("this kernel asks nobody")    # before 5.11
        except PermissionError:
            pass
        self.assertEqual(self.g.knob("dev"), "tap9")
        sent = self.g.stat("zone_tx")
        self.g.up("tap9")
        wait_for(lambda: self.g.stat("zone_tx") > sent, "it to go on serving")
        self.g.up("tap9", False)
        self.g.sh("ip link del mac9")
        fcntl.ioctl(tap, TUNSETLINK, ARPHRD_NONE)
        self.assertEqual(self.g.knob("dev"), "")

    def test_gateway(self):
        """A gateway stands by."""
        self.bond(self.g)
        self.g.knobs(dev="bond9")
        self.assertEqual(self.g.knob("dev"), "bond9")
        self.g.sh("ip link set tun9 master bond9")
        self.assertEqual(self.g.knob("dev"), "")
        self.assertTrue(any("bond9" in line for line in self.log.lines()))


def owned(kind):
    """A kind of host whose namespace is a user namespace's, not the machine's."""

    class Owned(kind):      # pylint: disable=too-many-public-methods
        """Made by nobody, who stays in it as its root."""

        def __init__(self, name):
            ready, go = os.pipe(), os.pipe()
            self.pid = os.fork()
            if not self.pid:
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                LIBC.prctl(4, 1, 0, 0, 0)       # PR_SET_DUMPABLE: /proc/self is one's own
                failed = LIBC.unshare(CLONE_NEWUSER)
                for what, text in (("setgroups", "deny"), ("uid_map", f"0 {NOBODY} 1"),
                                   ("gid_map", f"0 {NOBODY} 1")):
                    Path(f"/proc/self/{what}").write_text(text, "ascii")
                # Its files in /proc are its root's, for there is one by now.
                failed |= LIBC.unshare(CLONE_NEWNET)
                os.write(ready[1], b"n" if failed else b"y")
                os.close(go[1])
                try:
                    while command := os.read(go[0], 64):
                        os.write(ready[1], str(flood("self", int(command))).encode())
                finally:
                    os._exit(0)
            os.close(go[0])
            os.close(ready[1])
            self._ready, self._go = ready[0], go[1]
            if os.read(self._ready, 1) != b"y":
                raise AssertionError("no user namespace")
            run("ip", "netns", "attach", name, str(self.pid))
            self._adopt(name)

        def _adopt(self, name):
            """As Host does, but for making it."""
            self.name = name
            self._fd = os.open(f"/run/netns/{name}", os.O_RDONLY | os.O_CLOEXEC)
            self._sock = self._netlink = None

        def flood(self, count):
            """Its root writes nonsense."""
            os.write(self._go, str(count).encode())
            return int(os.read(self._ready, 64))

        def close(self):
            os.close(self._go)
            os.close(self._ready)
            os.waitpid(self.pid, 0)
            super().close()

    return Owned


def flood(who, count):
    """Write nonsense to the tags of a process's namespace; how many were refused as nonsense."""
    refused = 0
    for n in range(count):
        fd = os.open(f"/proc/{who}/net/modoae/tags", os.O_WRONLY)
        try:
            os.write(fd, b"nonsense %d" % n)
        except OSError as e:
            refused += e.errno == errno.EINVAL
        finally:
            os.close(fd)
    return refused


class Log(GatewayTest):
    """
        host a and gateway g: the machine's own      host u and gateway v: a user namespace's
    """

    @classmethod
    def build(cls):
        super().build()
        cls.a, cls.g = cls.made(Host("a")), cls.made(Gateway("g"))
        cls.u, cls.v = cls.made(owned(Host)("u")), cls.made(owned(Gateway)("v"))

    def said(self):
        """What the modules have said."""
        return [line for line in self.log.lines() if line.startswith("modoae")]

    def heard_of_a(self):
        """The administrator's mistakes are logged."""
        self.said()
        self.assert_errno(errno.ENODEV, self.a.knob, "dev", "nosuch")
        self.assertTrue(any('dev: "nosuch" refused' in line for line in self.said()))

    def test_nonsense(self):
        """Who is root in a user namespace of his own writes no line of the kernel's log."""
        self.said()
        self.assertEqual(self.u.flood(300), 300)
        self.assertEqual(self.said(), [])
        self.heard_of_a()

    def test_nonsense_from_outside(self):
        """Nor does the user who made it, from outside."""
        self.said()
        pid = os.fork()
        if not pid:
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os._exit(0 if flood(self.u.pid, 300) == 300 else 1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(self.said(), [])
        self.heard_of_a()

    def test_ports(self):
        """What happens to devices there is not logged either; here it is."""
        for host, logged in ((self.u, False), (self.a, True)):
            host.knob("verbose", 2)
            host.sh("ip link add d0 up type dummy")
            self.addCleanup(host.sh, "ip link del d0")
            host.add_port("d0")
            host.mtu("d0", 100)
            host.mtu("d0", 1500)
            host.write(b"x", nonblock=True, target="02:0a:e0:07:00:01")
            host.up("d0", False)
            host.knob("dev", "")
            with self.subTest(host):
                self.assertEqual(bool(self.said()), logged)

    def test_gateways(self):
        """The same of a gateway."""
        for gateway, logged in ((self.v, False), (self.g, True)):
            gateway.knob("verbose", 2)
            gateway.sh("ip link add d0 up type dummy; ip link add d1 up type dummy;"
                       "ip addr add 10.1.0.1/24 dev d1; ip link set lo up")
            self.addCleanup(gateway.sh, "ip link del d1")
            gateway.knobs(gwips="10.1.0.1,10.1.0.2", dev="d0")
            gateway.knob("gwips", "10.1.0.1,10.2.0.2")
            gateway.sh("ip link del d0")
            with self.subTest(gateway):
                self.assertEqual(bool(self.said()), logged)
