# SPDX-License-Identifier: GPL-2.0
"""The gateway's knobs: what each takes, what it refuses and how, and that it does what it says."""

import errno
import os
import socket
import time
from pathlib import Path

import oaewire as oae
from devtest import exit_code, in_process
from gateway import MODULE, Gateway, GatewayTest, Scripted
from oaeipwire import (ASK, ASK_ME, BEAT, BROADCAST, BYE, LEAVING, PROBE, PORT, Hello, hello, same,
                       via)
from oaetest import CLONE_NEWNET, LIBC, ip, load, wait_for
from oaewire import mac_bytes
from test_costs import KERNEL, Cgroup
import test_knobs

# name: (least, greatest)
NUMBERS = {
    "verbose": (0, 2),
    "port": (1, 65535),
    "hello_ms": (100, 60000),
    "refresh_ms": (500, 600000),
    "node_life_ms": (1000, 3600000),
    "max_nodes": (1, 1048576),
    "mtu": (256, 65535),
    "control_pps": (10, 100000),
}
DEFAULTS = {
    "verbose": "0", "port": "34997", "hello_ms": "1000", "refresh_ms": "5000",
    "node_life_ms": "30000", "max_nodes": "16384", "mtu": "0", "control_pps": "2000", "dev": "",
    "gwips": "", "shutdown": "0", "ethertype": "0x88b5",
}


class Values(test_knobs.KnobTest, GatewayTest):
    """
        gateways g and other, which have no addresses
    """

    module = "modoaeip"

    @classmethod
    def build(cls):
        super().build()
        cls.g, cls.other = cls.made(Gateway("g")), cls.made(Gateway("other"))
        cls.g.sh("ip link add br0 type bridge; ip link set lo up;"
                 "ip link add small mtu 139 type veth peer name enough mtu 140")
        cls.g.tun("tun0")

    def test_defaults(self):
        """What each is when nobody has said anything."""
        host = self.made(Gateway("fresh"))
        self.assertEqual({name: host.knob(name) for name in DEFAULTS}, DEFAULTS)
        self.assertEqual(host.knob("mactbl"), "")
        self.assertEqual((host.zones(), host.mactbl()), ({}, {}))
        self.assertEqual(set(host.stats().values()), {0})

    def test_all_are_tried(self):
        """No parameter is forgotten by this file."""
        self.assertEqual({p.name for p in Path("/sys/module/modoaeip/parameters").iterdir()},
                         set(DEFAULTS) | {"mactbl"})

    def test_numbers(self):
        """Each number: its limits and a value between are taken, in decimal and in hex."""
        for knob, (low, high) in NUMBERS.items():
            with self.subTest(knob=knob):
                for value in (low, high, (low + high) // 2):
                    self.g.knob(knob, value)
                    self.assertEqual(self.g.knob(knob), str(value))
                    self.assertEqual(self.other.knob(knob), DEFAULTS[knob])
                    self.g.knob(knob, f"{value:#x}\n")
                    self.assertEqual(self.g.knob(knob), str(value))
                self.g.knob(knob, DEFAULTS[knob])
        self.assertEqual(self.refusals(), [])

    def test_bad_numbers(self):
        """What is no number is EINVAL, what is out of range ERANGE; the line says the range."""
        for knob, (low, high) in NUMBERS.items():
            with self.subTest(knob=knob):
                bad = ("", "x", "-1", "1 2", "1.5", "0x", "12h") if knob == "port" else ("1x",)
                for value in bad:
                    self.refused(errno.EINVAL, self.g, knob, value)
                below = 255 if knob == "mtu" else low - 1
                for value in [str(high + 1), "99999999999999999999"] + [str(below)] * bool(low):
                    line = self.refused(errno.ERANGE, self.g, knob, value)
                    self.assertIn(f"from {low} to {high}", line)

    def test_gwips(self):
        """One item a zone: IPv4, IPv6, or one of each."""
        most = ",".join(f"10.0.{n}.1+fd00::{n + 1:x}" for n in range(64))
        for value, shown in (("10.1.0.1", None), ("fd00::1", None), ("10.1.0.1,10.1.0.2", None),
                             (" 10.1.0.1 , fd00:0:0::2 + 10.1.0.2\n", "10.1.0.1,fd00::2+10.1.0.2"),
                             ("FD00::A", "fd00::a"), (most, None), ("", None)):
            self.g.knob("gwips", value)
            self.assertEqual(self.g.knob("gwips"), value if shown is None else shown)
            self.assertEqual(len(self.g.zones()), len(self.g.knob("gwips").split(","))
                             if value else 0)
        self.assertEqual(self.other.knob("gwips"), "")

    def test_bad_gwips(self):
        """Not an address, one that no gateway can have, one twice, too many."""
        self.g.knob("gwips", "10.1.0.1,fd00::2")
        for value in ("x", "10.1.0", "10.1.0.256", "10.1.0.1,", ",10.1.0.1", "10.1.0.1,,10.1.0.2",
                      "10.1.0.1+10.1.0.2", "fd00::1+fd00::2", "10.1.0.1+", "10.1.0.1/24",
                      "10.1.0.1+fd00::1+10.1.0.2", "224.0.0.1", "0.0.0.0", "127.0.0.1",
                      "255.255.255.255", "::", "::1", "ff02::1", "fe80::1", "fd00::1%eth0",
                      "10.1.0.1;10.1.0.2"):
            self.refused(errno.EINVAL, self.g, "gwips", value)
        for value in ("10.1.0.1,10.1.0.1", "10.1.0.1+fd00::1,fd00::1"):
            self.refused(errno.EEXIST, self.g, "gwips", value)
        too_many = ",".join(f"10.0.{n}.1" for n in range(65))
        self.refused(errno.E2BIG, self.g, "gwips", too_many, too_many[:64])
        self.g.knob("gwips", "")

    def test_dev(self):
        """One Ethernet device of the namespace."""
        for value in ("br0", "enough", "br0\n", ""):
            self.g.knob("dev", value)
            self.assertEqual(self.g.knob("dev"), value.strip())
        self.g.knob("dev", "br0")
        for value in ("nowhere", "br0,enough", "+br0", "x" * 40):
            self.refused(errno.ENODEV, self.g, "dev", value)
        for value in ("lo", "tun0", "small"):
            self.refused(errno.EINVAL, self.g, "dev", value)
        self.assertEqual(self.other.knob("dev"), "")
        self.g.knob("dev", "")

    def test_shutdown(self):
        """0 or 1."""
        self.g.knob("shutdown", 1)
        self.assertEqual((self.g.knob("shutdown"), self.other.knob("shutdown")), ("1", "0"))
        self.g.knob("shutdown", 0)
        for value in ("", "2", "-1", "yes", "01"):
            self.refused(errno.EINVAL, self.g, "shutdown", value)

    def test_read_only(self):
        """ethertype is for reading, and so are the files of /proc."""
        self.assert_errno(errno.EACCES, self.g.knob, "ethertype", "0x88b6")
        with self.g:
            for name in ("zones", "mactbl", "stats"):
                path = f"/proc/thread-self/net/modoaeip/{name}"
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o444)

    def test_stats(self):
        """A counter a line, with its meaning."""
        with self.g, open("/proc/thread-self/net/modoaeip/stats", encoding="ascii") as f:
            lines = f.read().splitlines()
        for line in lines:
            self.assertRegex(line, r"^[a-z_]+ +\d+ +# \w.*")
        self.assertEqual(len({line.split()[0] for line in lines}), len(lines))


class AtLoad(test_knobs.KnobTest, GatewayTest):
    """
        host g, loaded there with parameters, and host other
    """

    module = "modoaeip"

    @classmethod
    def build(cls):
        cls.g, cls.other = cls.made(Gateway("g")), cls.made(Gateway("other"))
        cls.g.sh("ip link add br0 address 02:0a:e0:99:00:01 up type bridge;"
                 "ip link add d0 up type dummy; ip addr add 10.1.0.1/24 dev d0")

    def insmod(self, **params):
        """In g's namespace."""
        load(self.g, module=MODULE, **params)
        self.addCleanup(self.unload_gateways)

    def test_values(self):
        """dev and gwips are for the namespace of insmod, numbers for all; the log says what is."""
        self.insmod(dev="br0", gwips="10.1.0.1,10.1.0.2,fd00::3", hello_ms=200, max_nodes=7)
        log = "\n".join(self.log.lines())
        self.assertEqual([self.g.knob(name) for name in ("dev", "gwips", "hello_ms")],
                         ["br0", "10.1.0.1,10.1.0.2,fd00::3", "200"])
        self.assertEqual([self.other.knob(name) for name in
                          ("dev", "gwips", "hello_ms", "max_nodes")], ["", "", "200", "7"])
        self.assertIn("zone 1 is mine: gateway 10.1.0.1, device br0 02:0a:e0:99:00:01", log)
        self.assertIn("zone 2: gateway 10.1.0.2 by d0 from 10.1.0.1, 1464 bytes", log)
        self.assertRegex(log, "zone 3: gateway fd00::3.*unreachable")
        self.assertEqual(self.g.mine(), 1)
        self.assertEqual(self.g.zone(3)["state"], "unreachable")

    def test_bad_values(self):
        """insmod fails as a write would, and leaves nothing behind."""
        for knob, value, code in (("dev", "nowhere", errno.ENODEV), ("gwips", "x", errno.EINVAL),
                                  ("gwips", "10.1.0.1,10.1.0.1", errno.EEXIST),
                                  ("hello_ms", "99", errno.ERANGE), ("port", "0", errno.ERANGE),
                                  ("shutdown", "2", errno.EINVAL)):
            self.assert_refused(code, knob, value,
                                lambda k=knob, v=value: load(self.g, module=MODULE, **{k: v}))
            self.assertFalse(Path("/sys/module/modoaeip").exists())

    def test_stands_by(self):
        """shutdown at load."""
        self.insmod(dev="br0", gwips="10.1.0.1,10.1.0.2", shutdown=1)
        self.assertEqual((self.g.knob("shutdown"), self.g.mine()), ("1", None))
        self.g.knob("shutdown", 0)
        self.assertEqual(self.g.mine(), 1)


class Effects(Scripted):
    __doc__ = Scripted.__doc__

    def setUp(self):
        with self.g:
            ip(*(f"addr replace {address}" for address in
                 ("10.1.0.1/8 dev wan", "fd01::1/8 dev wan nodad")))
        super().setUp()

    def serves(self):
        """It forwards both ways."""
        near, = self.local(*self.new_macs())
        far, = self.remote(self.two, *self.new_macs())
        out = via(oae.SYNC, self.mac, near, far, payload=bytes(32))
        self.wire.send(out)
        self.assertTrue(same(self.two.expect_data(), out))
        self.two.data(via(oae.SYNC, self.mac, far, near))
        self.to_zone(near)

    def silent(self):
        """It says nothing in the zone and to nobody, and takes nothing."""
        self.quiet()
        before = self.g.stats()
        end = time.monotonic() + 0.5
        wait_for(lambda: time.monotonic() > end, "a while")
        self.assertEqual(self.wire.frames(), [])
        self.assertEqual(self.two.heard() + self.three.heard(), [])
        now = self.g.stats()
        self.assertEqual((now["hello_tx"], now["control_tx"]),
                         (before["hello_tx"], before["control_tx"]))
        self.wire.send(hello(*self.new_macs(), self.mac))
        wait_for(lambda: self.g.stat("standby") > before["standby"], "it to be dropped")
        self.assertEqual(self.g.mactbl(), {})

    def test_last_word(self):
        """No HELLO comes behind LEAVING, though one was asked for just before."""
        rounds = 40
        for _ in range(rounds):
            self.g.knobs(mactbl=1, shutdown=1)
            self.g.knob("shutdown", 0)
        left = {0}
        for frame in self.wire.frames():
            if frame.opcode == oae.HELLO:
                said = Hello.parse(frame.payload)
                self.assertNotIn(said.inc, left)
                if said.flags & LEAVING:
                    left.add(said.inc)
        self.assertEqual(len(left), 1 + rounds)

    def begins(self):
        """It says HELLO under a new inc, asks all, and serves."""
        _, said = self.to_hello(lambda frame, said: not said.flags & LEAVING)
        self.two.expect(ASK)
        self.three.expect(ASK)
        for speaker in (self.two, self.three):
            speaker.control(BEAT)
        self.serves()
        return said.inc

    def test_shutdown(self):
        """1: good-bye to all; 0: a new incarnation."""
        self.local(*self.new_macs())
        _, said = self.to_hello()
        self.quiet()
        self.g.knob("shutdown", 1)
        self.to_hello(lambda frame, said: said.flags & LEAVING and frame.dst == BROADCAST)
        self.two.expect(BYE)
        self.three.expect(BYE)
        self.silent()
        self.g.knob("shutdown", 0)
        self.assertNotEqual(self.begins(), said.inc)

    def test_no_address(self):
        """The address goes: it stands by; it comes: it serves. One of two: the other family."""
        self.g.sh("ip addr del 10.1.0.1/8 dev wan")
        wait_for(lambda: self.g.state(2) == "unreachable", "zone 2 to be out of reach")
        self.assertEqual(self.g.mine(), 1)
        self.g.sh("ip addr del fd01::1/8 dev wan")
        wait_for(lambda: self.g.mine() is None, "it to stand by")
        self.silent()
        self.g.sh("ip addr add 10.1.0.1/8 dev wan; ip addr add fd01::1/8 dev wan nodad")
        wait_for(lambda: self.g.mine() == 1, "it to serve")
        wait_for(lambda: {self.g.state(n) for n in (2, 3)} <= {"up", "silent"},
                 "both to be in reach")
        self.begins()

    def test_another_zone(self):
        """It serves the zone whose address it has."""
        self.g.sh("ip addr del 10.1.0.1/8 dev wan; ip addr del fd01::1/8 dev wan;"
                  "ip addr add 10.4.0.1/8 dev wan")
        wait_for(lambda: self.g.mine() == 4, "it to serve zone 4")
        self.to_hello(lambda frame, said: said.zone == 4)
        self.g.sh("ip addr del 10.4.0.1/8 dev wan; ip addr add 10.1.0.1/8 dev wan;"
                  "ip addr add fd01::1/8 dev wan nodad")
        wait_for(lambda: self.g.mine() == 1, "it to serve zone 1")
        wait_for(lambda: {self.g.state(n) for n in (2, 3)} <= {"up", "silent"},
                 "both to be in reach")
        self.begins()

    def test_device_released(self):
        """No device: it stands by; the device again: it serves."""
        self.quiet()
        self.g.knob("dev", "")
        self.to_hello(lambda frame, said: said.flags & LEAVING)
        self.two.expect(BYE)
        self.assertIsNone(self.serving())
        self.g.knob("dev", "zone")
        self.begins()

    def serving(self):
        """What its zones file says of a device, None standing by."""
        row = self.g.zone(1)
        return row["route"] if row["route"].startswith("zone ") else None

    def test_device_address(self):
        """The device gets another address: the zone hears of it."""
        self.g.sh("ip link set zone address 02:0a:e0:77:00:01")
        frame, _ = self.to_hello(lambda frame, said:
                                 frame.src == mac_bytes("02:0a:e0:77:00:01"))
        self.assertEqual(frame.dst, BROADCAST)
        self.g.sh(f"ip link set zone address {self.mac}")
        self.begins()

    def test_port(self):
        """The port of all gateways; one that is in use is refused, the old one goes on."""
        with self.g, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as six, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as four:
            six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            four.bind(("0.0.0.0", 40001))
            six.bind(("::", 40002))
            for port in (40001, 40002):
                self.assert_errno(errno.EADDRINUSE, self.g.knob, "port", port)
                self.assertEqual(self.g.knob("port"), str(PORT))
                for speaker in (self.two, self.three):
                    speaker.control(BEAT)
                self.serves()
        self.g.knob("port", 40003)
        there = self.speaker("10.2.0.1", 2, port=40003)
        there.expect(BEAT)
        there.control(BEAT)
        there.nodes(*self.new_macs())
        wait_for(self.g.mactbl, "a node to be known")
        there.control(BYE)
        wait_for(lambda: not self.g.mactbl(), "it to go")
        self.g.knob("port", PORT)
        self.begins()

    def test_mtu(self):
        """An upper bound for all zones, and in what HELLO says."""
        _, before = self.to_hello()
        self.g.knob("mtu", 600)
        _, said = self.to_hello(lambda frame, said: said.mtu == 600)
        self.assertNotEqual(said.epoch, before.epoch)
        wait_for(lambda: [self.g.zone(n)["mtu"] for n in (2, 3)] == [600, 600], "both")
        self.g.knob("mtu", 0)
        self.to_hello(lambda frame, said: said.mtu == before.mtu)

    def test_device_mtu(self):
        """What the zone's device carries is a bound, too."""
        self.addCleanup(self.g.mtu, "zone", 1500)
        self.g.mtu("zone", 900)
        self.to_hello(lambda frame, said: said.mtu == 900)
        self.g.mtu("zone", 1500)
        self.to_hello(lambda frame, said: said.mtu == 1464)

    def test_hello_ms(self):
        """How often it speaks, and for how long that is good."""
        self.addCleanup(self.g.knob, "hello_ms", self.knobs["hello_ms"])
        self.g.knob("hello_ms", 100)
        for _ in range(5):
            self.to_hello(lambda frame, said: said.life == 3)
            self.two.expect(BEAT, match=lambda c: c.life == 3)
        self.g.knob("hello_ms", 60000)
        self.to_hello(lambda frame, said: said.life == 2100)
        self.silence_for(0.4)
        self.g.knob("hello_ms", self.knobs["hello_ms"])
        self.to_hello(lambda frame, said: said.life == 7)

    def silence_for(self, seconds):
        """No HELLO for so long."""
        self.quiet()
        end = time.monotonic() + seconds
        wait_for(lambda: time.monotonic() > end, "a while")
        self.assertEqual(self.wire.frames(), [])

    def test_node_life_ms(self):
        """HELLO says it."""
        self.addCleanup(self.g.knob, "node_life_ms", self.knobs["node_life_ms"])
        self.g.knob("node_life_ms", 12000)
        self.to_hello(lambda frame, said: said.node_life == 120)

    def test_probes(self):
        """As long as the path carries, to each."""
        for speaker, mtu in ((self.two, 1464), (self.three, 1444)):
            probe = speaker.expect(PROBE)
            self.assertEqual(16 + probe.pad, mtu)

    def test_seen(self):
        """A BEAT names the longest BEAT or PROBE that has come lately."""
        for op, pad in ((BEAT, 0), (PROBE, 1000), (BEAT, 0)):
            def named(op=op, pad=pad):
                self.three.control(op, pad=pad)
                return self.three.expect(BEAT).seen == 8 + 16 + pad
            wait_for(named, f"{8 + 16 + pad} bytes to be named")

    def test_verbose(self):
        """1: zones and nodes; 0: not."""
        self.log.lines()

        def said():
            mac, = self.new_macs(1)
            self.local(mac)
            return [line for line in self.log.lines() if mac in line]
        self.assertFalse(said())
        self.set(self.g, verbose=1)
        # The limit of such lines is one for the whole kernel: others may have used it up.
        wait_for(said, "a line", interval=0.3)

    def test_gwips(self):
        """The list changes: it begins anew, with the zones as they are now."""
        self.set(self.g, gwips="10.2.0.1,10.1.0.1+fd01::1,fd03::1")
        self.assertEqual(self.g.mine(), 2)
        _, said = self.to_hello(lambda frame, said: said.zone == 2)
        self.assertEqual(said.flags & ~ASK_ME, 1)
        before = self.g.stat("bad_zone")
        self.two.control(BEAT)
        wait_for(lambda: self.g.stat("bad_zone") == before + 1, "the other list to be noticed")

    def test_zones_file(self):
        """Columns line up, whatever the addresses."""
        self.set(self.g,
                 gwips="10.1.0.1+fd01::1,10.255.255.254+fd01:2345:6789:abcd:ef01:2345:6789:a")
        with self.g, open("/proc/thread-self/net/modoaeip/zones", encoding="ascii") as f:
            head, one, two = f.read().splitlines()
        at = head.index("route")
        self.assertEqual(one[at:at + 5], "zone ")
        self.assertEqual((one[at - 1], two[at - 1]), (" ", " "))
        self.assertNotEqual(two[at], " ")


class UsersNamespace(test_knobs.UsersNamespace, GatewayTest):
    """The same of the gateway's."""

    params = {}
    MOST = {"max_nodes": 4096}
    module = "modoaeip"

    @classmethod
    def build(cls):
        GatewayTest.build.__func__(cls)
        test_knobs.UsersNamespace.build.__func__(cls)


class Charged(GatewayTest):
    """Gateways of a memory cgroup."""

    def test_zones(self):
        """What a zone has for each processor is paid for by who sets gwips."""
        if KERNEL < (5, 13):
            self.skipTest("memory.stat does not show what is less than 32 pages a processor")
        cgroup = Cgroup("zones")
        self.addCleanup(cgroup.remove)

        def child():
            cgroup.join()
            LIBC.unshare(CLONE_NEWNET)
            before = cgroup.stat("percpu")
            Path("/sys/module/modoaeip/parameters/gwips").write_text(
                ",".join(f"10.0.0.{n}" for n in range(1, 65)), "ascii")
            wait_for(lambda: cgroup.stat("percpu") - before > 64 * 16 * os.cpu_count(),
                     "the zones to be counted")
        self.assertEqual(exit_code(in_process(child)), 0)
