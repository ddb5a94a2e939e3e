# SPDX-License-Identifier: GPL-2.0
"""The knobs: what each accepts, what it refuses and how, and that it does what it says.

A bad value gets an error number and exactly one line in the kernel log, which names the knob, the
value and what would be accepted; the old value stays.
"""

import errno
import os
import re
import time

import oaewire as oae
from oaedev import OaeFile
from oaepeer import Peer, Wire
from oaetest import PARAMETERS, Cable, OaeTest, load, loaded, unload, wait_for
from topology import OneCable
from udp import address_of, port_mac

STEP_MAX = 512          # OAE_STEP_MAX

# name: (least, greatest)
NUMBERS = {
    "vci": (0, 255),
    "tag_seq": (0, 0xffffffff),
    "verbose": (0, 2),
    "drop_pct": (0, 100),
    "express": (0, 1),
    "deadline_ms": (0, 3600000),
    "stall_min_us": (50, 1000000),
    "stall_max_us": (1000, 10000000),
    "keepalive_ms": (10, 600000),
    "dead_ms": (50, 3600000),
    "linger_ms": (0, 10000),
    "max_tags": (1, 1000000),
    "max_len": (1, 262144),
    "sndq": (1, 4096),
    "rcvbuf": (4096, 16777216),
    "stranger_pps": (0, 100000),
    "doubt_s": (0, 604800),
    "region_max": (8, 67108864),
    "window": (1, 64),
    "pack": (0, 1),
    "paths": (1, 8),
    "discover": (0, 1),
}
DEFAULTS = {
    "vci": "0", "tag_seq": "1", "verbose": "0", "drop_pct": "0", "express": "0",
    "deadline_ms": "0", "stall_min_us": "1000", "stall_max_us": "200000",
    "keepalive_ms": "1000", "dead_ms": "5000", "linger_ms": "500", "max_tags": "1024",
    "max_len": "65536", "sndq": "64", "rcvbuf": "262144", "stranger_pps": "200",
    "accept": "any", "target": "", "peers": "", "wkstep": "0", "shutdown": "0",
    "ethertype": "0x88b5", "dev": "", "use_gw": "auto", "nhmac": "auto",
    "udp_peers": "",
    "region_max": "1048576", "doubt_s": "3600", "window": "16", "pack": "1",
    "paths": "8",
    "discover": "0",        # as load() has it; test_neighbours is without
    "id": "0",
}


class KnobTest(OaeTest):
    """What tests of knobs share."""

    module = "modoae"

    def refusals(self):
        """The lines of the module about values it did not take."""
        return [line for line in self.log.lines() if line.startswith(f"{self.module}: ") and
                "refused" in line]

    def assert_refused(self, code, knob, value, function, said=None):
        """function() fails with the error number, and one line says all there is to say."""
        self.log.lines()
        self.assert_errno(code, function)
        lines = self.refusals()
        self.assertEqual(len(lines), 1, lines)
        said = re.escape(value.strip() if said is None else said)
        self.assertRegex(lines[0], rf'^{self.module}: {knob}: "{said}" refused \(-{code}\): '
                                   r'[a-z]+ .+')
        return lines[0]

    def refused(self, code, host, knob, value, said=None):
        """A write to a knob fails like this, and changes nothing."""
        before = host.knob(knob)
        line = self.assert_refused(code, knob, value, lambda: host.knob(knob, value), said)
        self.assertEqual(host.knob(knob), before, "the old value stays")
        return line


class Values(KnobTest):
    """
        host a             host b
    """

    @classmethod
    def build(cls):
        cls.a, cls.b = cls.host("a"), cls.host("b")
        cls.a.sh("ip link add br0 type bridge")

    def test_defaults(self):
        """What each is when nobody has said anything."""
        host = self.host("fresh")
        self.assertEqual({name: host.knob(name) for name in DEFAULTS}, DEFAULTS)

    def test_all_are_tried(self):
        """No parameter is forgotten by this file."""
        self.assertEqual({p.name for p in PARAMETERS.iterdir()}, set(DEFAULTS) | {"stats"})

    def test_numbers(self):
        """Each number: its limits and a value between are taken, in decimal and in hex."""
        host = self.host("n")
        host.knob("stall_max_us", 10000000)
        for knob, (low, high) in NUMBERS.items():
            with self.subTest(knob=knob):
                for value in (low, high, (low + high) // 2):
                    if knob == "stall_max_us" and value < 10000000:
                        host.knob("stall_min_us", 50)
                    if knob == "stall_min_us":
                        host.knob("stall_max_us", 10000000)
                    host.knob(knob, value)
                    self.assertEqual(host.knob(knob), str(value))
                    host.knob(knob, f"{value:#x}\n")
                    self.assertEqual(host.knob(knob), str(value))
        self.assertEqual(self.refusals(), [])

    def test_sizes(self):
        """K, M and G behind bytes, 1,024 each; behind nothing else, and not beyond 32 bits."""
        host = self.host("sizes")
        for text, value in ("64K", 65536), ("8k", 8192), ("16M", 16777216), ("0x10K", 16384), ("8192", 8192):
            host.knob("rcvbuf", text)
            self.assertEqual(host.knob("rcvbuf"), str(value), text)
        for code, knob, text in ((errno.EINVAL, "rcvbuf", "K"), (errno.EINVAL, "rcvbuf", "64Kx"),
                                 (errno.ERANGE, "rcvbuf", "17M"), (errno.ERANGE, "rcvbuf", "4194308K"),
                                 (errno.EINVAL, "rcvbuf", "0000000000000000064K"), (errno.EINVAL, "max_tags", "1K")):
            self.refused(code, host, knob, text)

    def test_bad_numbers(self):
        """What is no number is EINVAL, what is out of range ERANGE; the line says the range."""
        for knob, (low, high) in NUMBERS.items():
            with self.subTest(knob=knob):
                # Not more than 100 a class: the module limits what it logs.
                bad = ("", "x", "-1", "1 2", "1.5", "0x", "12h") if knob == "vci" else ("1x",)
                for value in bad:
                    self.refused(errno.EINVAL, self.a, knob, value)
                bad = [str(high + 1)] + ([str(low - 1)] if low else ["99999999999999999999"])
                for value in bad:
                    line = self.refused(errno.ERANGE, self.a, knob, value)
                    self.assertIn(f"from {low} to {high}", line)

    def test_stall_min_and_max(self):
        """stall_min_us is not above stall_max_us, from whatever side."""
        self.refused(errno.EINVAL, self.a, "stall_min_us", "200001")
        self.a.knob("stall_min_us", 5000)
        self.refused(errno.EINVAL, self.a, "stall_max_us", "4999")
        self.a.knob("stall_min_us", 1000)

    def test_accept(self):
        """any, peers, none."""
        for value in ("peers", "none", "any"):
            self.a.knob("accept", value)
            self.assertEqual(self.a.knob("accept"), value)
        for value in ("", "all", "0", "1", "ANY", "any peers"):
            line = self.refused(errno.EINVAL, self.a, "accept", value)
            self.assertIn("any, peers or none", line)

    def test_wkstep(self):
        """0, 1 to 100, and s while stepping."""
        for value in ("1", "100", "s", "0"):
            self.a.knob("wkstep", value)
        self.assertEqual(self.a.knob("wkstep"), "0")
        for value in ("s", "101", "-1", "S", "", "x"):
            self.refused(errno.EINVAL, self.a, "wkstep", value)

    def test_bad_shutdown(self):
        """0 or 1."""
        for value in ("", "2", "-1", "yes", "01"):
            self.refused(errno.EINVAL, self.a, "shutdown", value)

    def test_read_only(self):
        """stats and ethertype are for reading."""
        for knob in ("stats", "ethertype"):
            self.assert_errno(errno.EACCES, self.a.knob, knob, "0x88b6")
        self.assertRegex(self.a.knob("stats"), r"^tags \d+ rx_frames \d+ tx_frames \d+ ")

    def test_namespaces(self):
        """A knob acts on the namespace of whoever touches it, and on no other."""
        for knob, (low, high) in NUMBERS.items():
            before = self.b.knob(knob)
            value = high if str(high) != before else low
            if knob == "stall_min_us":
                self.a.knob("stall_max_us", 10000000)
            self.a.knob(knob, value)
            self.assertEqual((self.a.knob(knob), self.b.knob(knob)), (str(value), before))
            self.a.knob(knob, DEFAULTS[knob])
        for knob, value in (("accept", "none"), ("target", "0x000077"), ("id", "1234567890123456"), ("peers", "0x000078"),
                            ("wkstep", "5"), ("dev", "br0"), ("shutdown", "1")):
            self.a.knob(knob, value)
            self.assertEqual((self.a.knob(knob), self.b.knob(knob)), (value, DEFAULTS[knob]))
            self.a.knob(knob, DEFAULTS[knob])


class Addresses(KnobTest, OneCable):
    """A bridge, a tunnel and a device with a small MTU besides."""

    ports = False

    @classmethod
    def build(cls):
        super().build()
        cls.a.tun("tun0")
        cls.a.sh("ip link add br0 type bridge;"
                 "ip link add small mtu 127 type veth peer name small2")

    def test_target(self):
        """24 bits in hex under the port's OUI, or a whole address; with a device or not."""
        for value, shown in (("2", "0x000002"), ("0x000002", "0x000002"), ("ffffff", "0xffffff"),
                             ("02:0a:e0:11:22:33", "02:0a:e0:11:22:33"),
                             ("02:0A:E0:11:22:AB\n", "02:0a:e0:11:22:ab"),
                             ("va/2", "va/0x000002"), ("nowhere/02:0a:e0:11:22:33",
                                                       "nowhere/02:0a:e0:11:22:33"), ("", ""), ("3", "0x000003"),
                             ("id:1000000000000", "id:0001000000000000"),
                             ("va/id:FFFFffffFFFFffff", "va/id:ffffffffffffffff"),
                             ("0", "")):
            self.a.knob("target", value)
            self.assertEqual(self.a.knob("target"), shown)

    def test_bad_target(self):
        """No address, or one that no peer can have."""
        self.a.knob("target", "1234")
        for value in ("00", "va/0", "1000000", "xyz", "0x", "-2", "02:0a:e0:11:22", "02:0a:e0:11:22:33:44",
                      "02:0a:e0:11:22:3g", "03:0a:e0:11:22:33", "ff:ff:ff:ff:ff:ff",
                      "00:00:00:00:00:00", "/2", "va/", "a b/2", "va/va/2",
                      "averyveryverylongname/2", "2,3", "id:", "id:0", "id:ffffffffffff",
                      "id:10000000000000000", "id:1g", "id:/2", "ID:1000000000000"):
            self.refused(errno.EINVAL, self.a, "target", value)
        self.a.knob("target", "")

    def test_id(self):
        """64 bits in hex that no MAC can be; 0: none was given, and no port bound yet."""
        host = self.host("i")
        for value, shown in (("1000000000000", "0001000000000000"),
                             ("FEDCBA9876543210\n", "fedcba9876543210"),
                             ("0x1000000000001", "0001000000000001"), ("0", "0"),
                             ("7000000000000000", "7000000000000000"), ("", "0")):
            host.knob("id", value)
            self.assertEqual(host.knob("id"), shown)
        self.assertEqual(self.host("j").knob("id"), "0")
        for value in ("1", "ffffffffffff", "10000000000000000", "x", "-1", "0x", "1,2",
                      "00:01:02:03:04:05:06:07"):
            self.refused(errno.EINVAL, host, "id", value)

    def test_id_of_a_port(self):
        """Without one it is that of the first port; with a port it is not set any more."""
        own = "0001" + self.cable.mac_b.replace(":", "")
        self.b.knob("dev", "vb")
        self.assertEqual(self.b.knob("id"), own)
        self.refused(errno.EBUSY, self.b, "id", "1234567890123456")
        self.b.knob("id", own)
        self.b.knob("id", 0)
        self.b.knobs(dev="", id="1234567890123456")
        self.b.knob("dev", "vb")
        self.assertEqual(self.b.knob("id"), "1234567890123456")
        self.refused(errno.EBUSY, self.b, "id", "0")
        self.b.knobs(dev="", id=0)
        self.assertEqual(self.b.knob("id"), own)

    def test_target_is_oneself(self):
        """The port's own address is no peer."""
        self.a.add_port("va")
        try:
            self.refused(errno.EINVAL, self.a, "target", self.cable.mac_a)
            self.refused(errno.EINVAL, self.a, "target", f"va/{self.cable.mac_a}")
            low = self.cable.mac_a.replace(":", "")[6:]
            self.refused(errno.EINVAL, self.a, "target", low)
        finally:
            self.a.knob("dev", "-va")

    def test_peers(self):
        """A list of addresses, each written like target."""
        for value, shown in (("1", "0x000001"), ("1,va/2, 02:0a:e0:00:00:03 ",
                                                 "0x000001,va/0x000002,02:0a:e0:00:00:03"),
                             (",".join(f"{n:x}" for n in range(1, 65)),
                              ",".join(f"{n:#08x}" for n in range(1, 65))), ("", "")):
            self.a.knob("peers", value)
            self.assertEqual(self.a.knob("peers"), shown)

    def test_bad_peers(self):
        """One that is no address, or too many: the list stays as it was."""
        self.a.knob("peers", "1,2")
        self.refused(errno.EINVAL, self.a, "peers", "1,zzz,3", said="zzz")
        self.refused(errno.EINVAL, self.a, "peers", "1,,3", said="")
        self.refused(errno.EINVAL, self.a, "peers", "1,", said="")
        many = ",".join(f"{n:x}" for n in range(1, 66))
        self.refused(errno.E2BIG, self.a, "peers", many, said="41")
        self.a.knob("peers", "")

    def test_dev(self):
        """a,b: these and no others; +a and -a: one more, one less."""
        host = self.a
        for value, shown in (("va", "va"), ("+br0", "va,br0"), ("-va", "br0"),
                             ("va,br0", "br0,va"), ("+small_", None), ("va", "va"), ("", "")):
            if shown is None:
                self.refused(errno.ENODEV, host, "dev", value, said=value.lstrip("+"))
            else:
                host.knob("dev", value)
                self.assertEqual(host.knob("dev"), shown)

    def test_bad_dev(self):
        """Missing, not Ethernet, too small, bound already, not bound, not a list."""
        host = self.a
        host.knob("dev", "va")
        for code, value, said in (
                (errno.ENODEV, "nosuch", "nosuch"), (errno.ENODEV, "vb", "vb"),
                (errno.EINVAL, "lo", "lo"), (errno.EINVAL, "+tun0", "tun0"),
                (errno.EINVAL, "+small", "small"), (errno.EEXIST, "+va", "va"),
                (errno.ENODEV, "-br0", "br0"), (errno.EINVAL, "va,va", "va"),
                (errno.EINVAL, "va,", ""), (errno.EINVAL, "va,+br0", "br0"),
                (errno.EINVAL, "+br0,va", "va"), (errno.EINVAL, "+", ""),
                (errno.EINVAL, "an/impossible/name", "an/impossible/name"),
                (errno.EINVAL, "averyveryverylongname", "averyveryverylongname"),
                (errno.ENODEV, "br0,nosuch", "nosuch"), (errno.ENODEV, "+br0,-nosuch", "nosuch")):
            with self.subTest(value=value):
                self.refused(code, host, "dev", value, said)
        host.knob("dev", "")

    def test_quoting(self):
        """What is logged of a value is readable, and one line, whatever is in it."""
        self.log.lines()
        self.assert_errno(errno.EINVAL, self.a.knob, "accept", "a\nb\x1b[31m")
        self.assertEqual(self.refusals()[0].split(" refused")[0],
                         r'modoae: accept: "a\nb\x1b[31m"'.replace(r"\x1b", r"\e"))
        self.assert_errno(errno.EINVAL, self.a.knob, "accept", "x" * 4000)
        self.assertLess(len(self.refusals()[0]), 200)

    def test_tags_command(self):
        """What is no command, or closes no link, is refused in the same way."""
        path = "/proc/thread-self/net/modoae/tags"

        def say(text):
            with self.a, open(path, "wb", buffering=0) as f:
                f.write(text.encode())

        for text in ("\n", "open 2", "close", "close ", "close zz", "close 2 256", "close 2 x",
                     "close 2 1 1", "close 03:00:00:00:00:01"):
            with self.subTest(text):
                self.assert_refused(errno.EINVAL, "tags", text.strip(), lambda t=text: say(t))
        self.assert_refused(errno.ENOENT, "tags", "close 2 1", lambda: say("close 2 1"))


class Insmod(KnobTest, OneCable):
    """The module is loaded by the tests themselves."""

    ports = False

    @classmethod
    def build(cls):
        unload()
        super().build()
        cls.a.tun("tun0")

    def tearDown(self):
        if loaded():
            unload()
        super().tearDown()

    def test_bad_values(self):
        """insmod fails with the error number of the knob at fault, and one line says why."""
        for code, knob, value, said in (
                (errno.ERANGE, "vci", "256", None), (errno.ERANGE, "tag_seq", "0x100000000", None),
                (errno.ERANGE, "drop_pct", "101", None), (errno.EINVAL, "verbose", "loud", None),
                (errno.EINVAL, "accept", "some", None), (errno.EINVAL, "wkstep", "s", None),
                (errno.EINVAL, "wkstep", "101", None), (errno.EINVAL, "shutdown", "2", None),
                (errno.EINVAL, "target", "03:00:00:00:00:00", None),
                (errno.EINVAL, "id", "ffffffffffff", None), (errno.ERANGE, "discover", "2", None),
                (errno.EINVAL, "peers", "1,x", "x"), (errno.EPERM, "stats", "1", None),
                (errno.EINVAL, "ethertype", "0x5ff", None), (errno.EINVAL, "ethertype", "x", None),
                (errno.EINVAL, "ethertype", "0x10000", None),
                (errno.EINVAL, "stall_min_us", "500000", None),
                (errno.ENODEV, "dev", "nosuch", None), (errno.ENODEV, "dev", "va,vb", "vb"),
                (errno.EINVAL, "dev", "lo", None), (errno.EINVAL, "dev", "tun0", None),
                (errno.EINVAL, "dev", "va,va", "va"), (errno.EINVAL, "dev", "va,lo", "lo")):
            with self.subTest(f"{knob}={value}"):
                self.assert_refused(code, knob, value,
                                    lambda k=knob, v=value: load(self.a, **{k: v}), said)
                self.assertFalse(loaded())

    def test_oneself(self):
        """target may not be the port that insmod binds."""
        self.assert_refused(errno.EINVAL, "target", self.cable.mac_a,
                            lambda: load(self.a, dev="va", target=self.cable.mac_a))

    def test_nothing_is_left(self):
        """An insmod that fails once its ports are bound leaves none of them, and no device."""
        self.addCleanup(self.a.sh, "ip addr flush dev va")
        address_of(self.a, "va", "10.9.0.1")
        before = self.a.sh("ip -o link")
        for dev in ("udp:10.9.0.1", "va,udp:10.9.0.1", "*,+udp:10.9.0.1"):
            with self.subTest(dev):
                self.assert_errno(errno.EINVAL, load, self.a, dev=dev,
                                  target="oaeudp0/" + port_mac("10.9.0.1"))
                self.assertEqual(self.a.sh("ip -o link"), before)

    def test_long_dev(self):
        """A list of devices that is longer than insmod takes."""
        self.assert_errno(errno.EINVAL, load, self.a, dev="v" * 512)
        self.assertFalse(loaded())

    def test_shut(self):
        """shutdown=1 from the beginning: no link in any namespace."""
        load(self.a, dev="va", shutdown=1)
        self.assertEqual([host.knob("shutdown") for host in (self.a, self.b)], ["1", "1"])
        self.a.knob("target", self.cable.mac_b)
        self.assertEqual(self.a.tags(), [])
        self.a.knob("shutdown", 0)
        self.assertEqual(len(self.a.tags()), 1)

    def test_lingers(self):
        """Unloading waits for a link to close whose peer does not answer, linger_ms and no more."""
        load(self.a, dev="va", linger_ms=300)
        self.b.knob("dev", "vb")
        self.a.write(b"open", target=self.cable.mac_b)
        self.assertEqual(self.b.read_one(), b"open")
        self.cable.netem("loss 100%")
        self.addCleanup(self.cable.netem, None)
        begin = time.monotonic()
        unload()
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)

    def test_twice(self):
        """The second insmod is EEXIST, and harms nothing."""
        load(self.a, dev="va")
        self.assert_errno(errno.EEXIST, load, self.a, dev="va")
        self.assertEqual(self.a.knob("dev"), "va")

    def test_good_values(self):
        """Numbers are for every namespace, those there are and those to come; dev for one."""
        load(self.a, dev="va", id="1234567890123456", target="2", peers="3,4", vci=7, tag_seq=1000, drop_pct=5, sndq=9,
             accept="peers", wkstep=3, verbose=1, ethertype="0x88b6")
        self.assertEqual(self.a.knob("target"), "0x000002")
        for host in (self.a, self.b, self.host("later")):
            got = [host.knob(k) for k in ("vci", "tag_seq", "drop_pct", "sndq", "accept", "wkstep",
                                          "verbose", "ethertype")]
            self.assertEqual(got, ["7", "1000", "5", "9", "peers", "3", "1", "0x88b6"])
            self.assertEqual(host.knob("dev"), "va" if host is self.a else "")
            self.assertEqual(host.knob("id"), "1234567890123456" if host is self.a else "0")

    def test_another_ethertype(self):
        """Frames are sent and heard under it."""
        load(self.a, dev="va", ethertype="0x9999", target=self.cable.mac_b)
        self.b.knobs(dev="vb")
        self.assertEqual(self.a.write(b"hello"), 5)
        self.assertEqual(self.b.read_one(), b"hello")

    def test_says_so(self):
        """Loading and unloading is one line each."""
        self.log.lines()
        load(self.a, dev="va")
        unload()
        said = [line for line in self.log.lines() if line.startswith("modoae: ")]
        self.assertEqual(said, [f"modoae: loaded, port va {self.cable.mac_a}",
                                "modoae: unloaded"])

    def test_in_use(self):
        """An open file holds the module; a link or a port does not."""
        load(self.a, dev="va", target=self.cable.mac_b)
        self.b.knob("dev", "vb")
        self.a.write(b"open")
        fd = self.a.open()
        self.assert_errno(errno.EAGAIN, unload)
        os.close(fd)
        unload()

    def test_under_a_link(self):
        """Unloading closes the links first: nothing is left that would not end."""
        load(self.a, dev="va", target=self.cable.mac_b)
        self.b.knob("dev", "vb")
        for vc in range(20):
            self.a.write(b"open", vc=vc)
        unload()


class AtWork(KnobTest, OneCable):
    """
        host a             host b             AF_PACKET
        va ----------------- vb
        vc ----------------------------------- vp
    """

    ports = False
    targets = True

    @classmethod
    def build(cls):
        super().build()
        cls.p = cls.host("p")
        cls.cable2 = Cable(cls.a, "vc", cls.p, "vp")
        cls.a.knob("dev", "va,vc")
        cls.b.add_port("vb")
        # No probe of another test's link among the frames that are counted here.
        cls.a.knobs(stranger_pps=100000, keepalive_ms=600000)
        cls.b.knobs(keepalive_ms=600000)
        cls.wire = Wire(cls.p, "vp")
        cls.addClassCleanup(cls.wire.close)

    def setUp(self):
        super().setUp()
        self.b.read_all()

    def test_vci(self):
        """A file sends on the channel of when it was opened."""
        fd = self.a.open(vc=33)
        self.a.knob("vci", 34)
        os.write(fd, b"on 33")
        os.close(fd)
        self.a.write(b"on 34")
        self.a.knob("vci", 0)
        self.assertEqual({self.b.tag(vc)["rx"] for vc in (33, 34)}, {1})
        self.assertEqual(self.b.tag(33)["kid"] >> 56, 33)

    def test_target_of_when_opened(self):
        """And to the target of then."""
        fd = self.a.open(vc=35)
        self.a.aim("abcdef")
        os.write(fd, b"still there")
        os.close(fd)
        self.a.knobs(target=self.cable.mac_b, vci=0)
        self.assertEqual(self.b.read_one(), b"still there")

    def test_target_names_a_port(self):
        """DEV/ADDR goes out through that port; without DEV through the first."""
        self.have_patience()
        peer = Peer(self.wire, self.cable2.mac_a, vc=36)
        self.a.write(b"this way", nonblock=True, target=f"vc/{peer.mac}", vc=36)
        peer.answer_sync()
        self.assertEqual(peer.accept(), b"this way")
        self.a.knobs(target=self.cable.mac_b, vci=0)

    def test_target_low24(self):
        """24 bits stand under the port's own OUI."""
        low = self.cable.mac_b.replace(":", "")[6:]
        self.a.write(b"short address", target=low, vc=37)
        self.a.knobs(target=self.cable.mac_b, vci=0)
        self.assertEqual(self.b.read_one(), b"short address")

    def test_tag_seq(self):
        """The number of the first transaction of a new link."""
        self.a.knob("tag_seq", 4242)
        self.a.write(b"x", vc=38)
        self.a.knobs(tag_seq=1, vci=0)
        self.assertEqual((self.a.tag(38)["tx"], self.b.tag(38)["rx"]), (4242, 4242))

    def test_drop_pct(self):
        """Frames received are dropped, counted, and nothing is lost for it."""
        self.b.knob("drop_pct", 30)
        try:
            for n in range(20):
                self.assertEqual(self.a.write(b"through %d" % n, vc=39), 9 + (n > 9))
        finally:
            self.b.knob("drop_pct", 0)
            self.a.knob("vci", 0)
        self.assertGreater(self.b.stat("fault_drop"), 0)
        wait_for(lambda: self.b.tag(39)["unread"] == 20, "all to be delivered")
        self.assertEqual(self.b.read_each(), [b"through %d" % n for n in range(20)])

    def test_drop_all(self):
        """100 percent is all."""
        self.a.knob("drop_pct", 100)
        before = self.a.stat("fault_drop")
        peer = Peer(self.wire, self.cable2.mac_a, vc=40)
        peer.send(oae.SYNC)
        wait_for(lambda: self.a.stat("fault_drop") > before, "the frame to be dropped")
        self.a.knob("drop_pct", 0)
        self.assertIsNone(peer.next(0))

    def have_patience(self):
        """Nothing is said a second time before a slow test has answered."""
        self.set(self.a, stall_max_us=10000000, stall_min_us=1000000)

    def open_to_step(self, vc):
        """A link whose other end waits for whoever steps through this one."""
        self.have_patience()
        self.addCleanup(self.a.knob, "vci", 0)
        self.addCleanup(self.b.knob, "wkstep", 0)
        self.a.write(b"open", vc=vc)
        self.b.read_one()

    def step(self, host):
        """One frame in, as soon as there is one: who waits is woken before frames are sent."""
        before = host.stat("rx_frames")

        def one():
            host.knob("wkstep", "s")
            return host.stat("rx_frames") > before
        wait_for(one, "a frame to step")

    def test_wkstep(self):
        """Frames received wait; each `s` lets one step of them in, in order."""
        self.open_to_step(41)
        self.b.knob("wkstep", 1)
        before = self.b.stat("rx_frames")
        writer = self.a.start_write(b"x" * 3000, vc=41)
        wait_for(lambda: self.a.tag(41)["offer"] == "out", "the offer to be out")
        holds = []
        for _ in range(3):
            holds.append(self.b.tag(41)["hold"])
            self.step(self.b)
        self.assertEqual(holds, ["-", "partial", "partial"])
        self.assertEqual(self.b.tag(41)["hold"], "held")
        self.assertEqual(self.b.stat("rx_frames") - before, 3)
        self.assertEqual(self.b.read_all(), b"")
        self.assertEqual(writer.result(), 3000)      # its reflection was not held up
        self.step(self.b)
        self.assertEqual(self.b.read_one(), b"x" * 3000)

    def test_wkstep_sizes(self):
        """A step of 2 lets two in; 0 lets in what waits, and runs freely again."""
        self.open_to_step(42)
        self.b.knob("wkstep", 2)
        self.a.write(b"x" * 4000, nonblock=True, vc=42)
        self.a.write(b"y", nonblock=True, vc=42)
        wait_for(lambda: self.a.tag(42)["offer"] == "out", "the offer to be out")
        before = self.b.stat("rx_frames")
        self.b.knob("wkstep", "s")
        self.assertEqual(self.b.stat("rx_frames") - before, 2)
        self.assertEqual(self.b.tag(42)["hold"], "partial")
        self.b.knob("wkstep", 0)
        wait_for(lambda: self.b.tag(42)["unread"] == 2, "the others to run freely")
        self.assertEqual(self.b.read_each(), [b"x" * 4000, b"y"])

    def wait_to_step(self, count):
        """So many frames of nobody come to a, which steps; the counters as they were then."""
        # A frame that waits counts for the socket that has sent it.
        wires = [Wire(self.p, "vp") for _ in range(1 + count // 100)]
        self.addCleanup(lambda: [wire.close() for wire in wires])
        self.addCleanup(self.a.knob, "wkstep", 0)
        self.a.knob("wkstep", 1)
        before = self.a.stats()
        for n in range(count):
            wires[n // 100].send(oae.Frame(99, self.cable2.mac_a, "02:00:00:00:99:99"))
        return before

    def test_wkstep_most(self):
        """So many frames wait for whoever steps, and no more."""
        before = self.wait_to_step(STEP_MAX + 7)
        wait_for(lambda: self.a.stat("step_drop") == before["step_drop"] + 7, "the others to be dropped")
        self.a.knob("wkstep", 0)
        self.assertEqual(self.a.stat("bad_opcode"), before["bad_opcode"] + STEP_MAX)

    def test_wkstep_port_goes(self):
        """What has come to a port that goes is let in no more; what waits of others is."""
        self.have_patience()
        self.addCleanup(self.a.knobs, dev="+vc", linger_ms=500)
        before = self.wait_to_step(3)
        with OaeFile.to(self.b, self.cable.mac_a, vc=46, nonblock=True) as file:
            file.write(b"by another port")
            wait_for(lambda: self.b.tag(46)["state"] == "SYNC_SENT", "it to be asked")
            self.a.knobs(linger_ms=0, dev="-vc")
            self.a.knob("wkstep", 0)
            with OaeFile.to(self.a, self.cable.mac_b, vc=46) as there:
                self.assertEqual(there.read(), b"by another port")
        self.assertEqual(self.a.stat("bad_opcode"), before["bad_opcode"])

    def test_wkstep_is_no_failure(self):
        """Whoever steps is slow: the link does not freeze for it."""
        self.a.write(b"open", vc=43)
        self.b.read_one()
        for host in (self.a, self.b):
            self.set(host, wkstep=10)
        before = self.a.stat("note_stall")
        writer = self.a.start_write(b"slowly", vc=43)
        wait_for(lambda: self.a.tag(43)["offer"] == "out", "the offer to be out")
        age = self.a.tag(43)["age_s"]
        wait_for(lambda: self.a.tag(43)["age_s"] > age + 1, "more than the stall time")
        self.assertEqual(self.a.stat("note_stall"), before)
        self.b.knob("wkstep", "s")
        self.a.knob("wkstep", "s")
        self.assertEqual(writer.result(), 6)

    def said(self, level, function):
        """What the module logs at a level while function() runs, without its prefix."""
        self.set(self.a, verbose=level)
        self.log.lines()
        function()
        return [line.removeprefix("modoae: ") for line in self.log.lines()
                if line.startswith("modoae: ")]

    def test_verbose_ports(self):
        """0 says nothing of ports that come and go, 1 does."""
        def again():
            self.a.knob("dev", "-vc")
            self.a.knob("dev", "+vc")

        self.a.knob("dev", "-vc")       # what links it had are told of in any case
        self.a.knob("dev", "+vc")
        self.assertEqual(self.said(0, again), [])
        self.assertEqual(self.said(1, again), ["port vc released",
                                               f"port vc {self.cable2.mac_a} bound"])

    def test_verbose_links(self):
        """1 tells of a link that opens and ends, 2 of what befalls it, 0 of nothing."""
        def life():
            peer = Peer(self.wire, self.cable2.mac_a, vc=57).open()
            peer.anew()
            peer.send(oae.CLOSE)
            peer.expect(oae.CLOSE_ACK)

        self.have_patience()
        causes = {0: [], 1: ["opened", "gone"], 2: ["opened", "peer_froze", "resolved", "gone"]}
        for level, wanted in causes.items():
            mine = f"port vc peer {self.wire.mac} vc 57: "
            got = [line.removeprefix(mine).split(":")[0] for line in self.said(level, life)
                   if line.startswith(mine)]
            self.assertEqual(got, wanted)

    def test_shutdown(self):
        """1 closes all links here and at the peers, and refuses new ones; 0 lets them again."""
        for vc in range(44, 50):
            self.a.write(b"x", vc=vc)
        self.a.knob("shutdown", 1)
        self.assertEqual(self.a.knob("shutdown"), "1")
        wait_for(lambda: not self.a.tags(), "all links to close")
        # What is unread stays readable.
        wait_for(lambda: all(t["state"] == "CLOSED" for t in self.b.tags()), "the peers' ends")
        self.assertEqual(self.b.read_each(), [b"x"] * 6)
        self.assertEqual(self.b.tags(), [])
        self.assert_errno(errno.ESHUTDOWN, self.a.write, b"no")
        self.b.knob("deadline_ms", 2000)
        self.assert_errno(errno.ECONNREFUSED, self.b.write, b"no")
        self.b.knob("deadline_ms", 0)
        self.a.knob("shutdown", 0)
        self.assertEqual(self.a.write(b"yes", vc=0), 3)
        self.assertEqual(self.b.write(b"yes"), 3)

    def test_close_command(self):
        """`close ADDR VC` closes that one, at both ends, and leaves the others."""
        for vc in (50, 51):
            self.a.write(b"x", vc=vc)
        self.b.read_all()
        self.a.close_tag(self.cable.mac_b, 50)
        wait_for(lambda: not self.a.tag(50) and not self.b.tag(50), "the link to be gone")
        self.assertEqual(self.a.tag(51)["state"], "OPEN")
        self.a.write(b"opens it anew", vc=50)
        self.assertEqual(self.a.tag(50)["tx"], 1)
        self.a.close_tag(f"va/{self.cable.mac_b}", "0x32")
        wait_for(lambda: not self.a.tag(50), "the link to be gone")
        self.a.knob("vci", 0)

    def test_close_command_often(self):
        """Closing what is closing, again and again, takes nothing away that is needed."""
        self.have_patience()
        peer = Peer(self.wire, self.cable2.mac_a, vc=52).open()
        for _ in range(20):
            self.a.close_tag(peer.mac, 52)
        peer.expect(oae.CLOSE)
        self.assertEqual(self.a.tag(52)["state"], "CLOSE_SENT")
        peer.send(oae.CLOSE_ACK)
        wait_for(lambda: not self.a.tag(52), "the link to be gone")

    def test_release_a_device(self):
        """-dev closes its links gracefully, and leaves those of other ports."""
        self.have_patience()
        peer = Peer(self.wire, self.cable2.mac_a, vc=53).open()
        self.a.write(b"x", vc=53)
        with self.subTest("a peer that does not answer costs linger_ms, no more"):
            self.a.knob("linger_ms", 50)
            self.a.knob("dev", "-vc")
            self.assertEqual(peer.next().opcode, oae.CLOSE)
        self.assertEqual([t["port"] for t in self.a.tags() if t["vc"] == 53], ["va"])
        self.a.knobs(dev="+vc", linger_ms=500, vci=0)

    def test_stats(self):
        """Every counter has a name of its own and says what it counts."""
        lines = self.a.sh("cat /proc/net/modoae/stats").splitlines()
        for line in lines:
            self.assertRegex(line, r"^[a-z_][a-z0-9_]* +\d+  # \S")
        self.assertEqual(len({line.split()[0] for line in lines}), len(lines))

    def test_stats_agree(self):
        """What one end sends the other receives; what one commits the other delivers."""
        before = self.a.stats(), self.b.stats()
        for n in range(10):
            self.a.write(b"x" * 100 * n or b"y", vc=54)
        wait_for(lambda: self.b.tag(54)["rx"] == 10, "the last commit")
        self.b.read_all()
        moved = [{k: v - b[k] for k, v in host.stats().items()}
                 for host, b in zip((self.a, self.b), before)]
        self.assertEqual((moved[0]["posted"], moved[0]["committed"]), (10, 10))
        self.assertEqual((moved[1]["delivered"], moved[1]["read"]), (10, 10))
        self.assertEqual(moved[1]["delivered_bytes"], 4501)
        self.a.knob("vci", 0)

    def test_tags_file(self):
        """A line a link, which says where it stands."""
        self.a.write(b"x", vc=55)
        row = self.a.tag(55)
        self.assertEqual((row["port"], row["state"], row["peer"], row["tx"], row["rx"]),
                         ("va", "OPEN", self.cable.mac_b, 1, 0))
        self.assertEqual(row["kid"], 55 << 56 | int(self.cable.mac_b.replace(":", ""), 16))
        self.assertEqual((row["offer"], row["hold"], row["queue"]), ("-", "-", 0))
        self.assertEqual(self.b.tag(55)["unread"], 1)
        self.a.knob("vci", 0)

    def test_many_tags(self):
        """The tags file is whole when it takes more than one read."""
        for vc in range(60, 160):
            self.a.write(b"x", vc=vc)
        self.a.knob("vci", 0)
        text = self.a.sh("dd bs=700 if=/proc/net/modoae/tags 2>/dev/null")
        vcs = [int(line.split()[1]) for line in text.splitlines()[1:]]
        self.assertEqual(len(vcs), len(set(vcs)))
        self.assertTrue(set(range(60, 160)) <= set(vcs))

    def test_ev_log(self):
        """The last events, oldest first: what came, what was sent, and what became of it."""
        self.a.write(b"x", vc=56)
        self.a.knob("vci", 0)
        log = [e for e in self.a.ev_log() if e["kid"] >> 56 == 56]
        story = [f"{e['kind']} {e['what']}".strip() for e in log]
        self.assertEqual(story, ["post", "send SYNC", "rcv SYNC_CHK", "send SYNC", "rcv SYNC",
                                 "note opened", "send SYNC_ACK", "send OFFER", "rcv SYNC_ACK",
                                 "rcv REFLECT", "outcome committed", "send COMMIT"])
        self.assertEqual([e["time"] for e in log], sorted(e["time"] for e in log))
        self.assertEqual((log[0]["before"], log[0]["after"]), ("CLOSED", "SYNC_SENT"))
        self.assertEqual(log[-1]["after"], "OPEN")


class UsersNamespace(OaeTest):
    """A namespace that any user can create, and with what insmod was given for all."""

    params = {"max_tags": 1000000, "rcvbuf": 16777216}
    MOST = {"max_tags": 4096, "rcvbuf": 1048576}
    module = "modoae"
    command = "unshare -Urn sh -c"

    @classmethod
    def build(cls):
        cls.a = cls.host("a")

    def test_most(self):
        """It has less, and takes no more; others have what was given."""
        for name, most in self.MOST.items():
            where = f"/sys/module/{self.module}/parameters/{name}"
            for value, code in ((most, 0), (most + 1, 1)):
                done = self.a.sh(f"{self.command} 'cat {where}; echo {value} >{where}'",
                                 check=False)
                self.assertEqual((done.stdout.split(), bool(done.returncode)),
                                 ([str(most)], bool(code)), (name, value, done.stderr))
            self.assertGreater(int(self.a.sh(f"cat {where}")), most)
