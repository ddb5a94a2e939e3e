# SPDX-License-Identifier: GPL-2.0
"""Hosts that find each other: HELLO NODE, the table of neighbours, ids as addresses."""

import errno
import os
import tempfile
import time

import oaewire as oae
from oaecmd import Running
from oaecmd import oae as oae_command
from oaedev import OaeFile
from oaenl import Netlink, attrs, text
from oaepeer import Wire
from oaetest import Cable, load, unload, wait_for
from oaewire import HELLO_NODE, LEAVING, Frame, mac_bytes, node_body
from topology import OneSwitch

MOST, AN_ID, NEW_PPS = 1024, 16, 100
ALL = "ff:ff:ff:ff:ff:ff"
LEAST = 1 << 48


def id_of(mac):
    """The id of a host that was given none."""
    return LEAST | int(mac.replace(":", ""), 16)


class Neighbours(OneSwitch):
    """
        host a          host b     host c     host p: AF_PACKET
        va --+  wa --+  vb --+     vc --+     vp --+
             |       |       |          |          |
             pa ---- qa ---- pb ------- pc ------- pp (br0 in sw)
    """

    members = (("a", "va", "pa"), ("b", "vb", "pb"), ("c", "vc", "pc"), ("p", "vp", "pp"))
    params = {"discover": None}     # as it is without

    @classmethod
    def build(cls):
        super().build()
        cls.a, cls.b, cls.c, cls.p = cls.hosts
        second = Cable(cls.a, "wa", cls.switch, "qa")
        cls.switch.sh("ip link set qa master br0")
        cls.mac_va, cls.mac_vb, cls.mac_vc, cls.mac_vp = cls.macs
        cls.mac_wa = second.mac_a
        cls.wire = Wire(cls.p, "vp")
        cls.addClassCleanup(cls.wire.close)

    def setUp(self):
        super().setUp()
        for host in (self.a, self.b, self.c):
            host.knobs(dev="", id=0, discover=1, peers="", accept="any", target=0, linger_ms=0)
        self.count = 0

    def bind(self, **ports):
        """Bind ports, a="va,wa"; all speak when all are there."""
        for name, port in ports.items():
            getattr(self, name).knobs(discover=0, dev=port)
        for name in ports:
            getattr(self, name).knob("discover", 1)

    @staticmethod
    def known(host, port=None):
        """Whom a host knows: (id, address)."""
        return {(row["id"], row["mac"]) for row in host.neighbours()
                if port in (None, row["port"])}

    def hears(self, host, *macs, port=None):
        """A host comes to know exactly these; each an address, or an id and one."""
        want = {mac if isinstance(mac, tuple) else (id_of(mac), mac) for mac in macs}
        wait_for(lambda: self.known(host, port) == want, f"{host} to know {macs}", 8)

    def say(self, id_, inc, mac=None, dst=ALL, **fields):
        """A HELLO NODE of the script."""
        self.wire.send(Frame(oae.HELLO, mac_bytes(dst), mac_bytes(mac or self.mac_vp),
                             payload=node_body(id_, inc, **fields)))
        self.count += 1

    def moved(self, host, *names):
        """A function that says by how much counters have moved since now."""
        before = host.stats()

        def since():
            after = host.stats()
            return [after[name] - before[name] for name in names]
        return since

    def heard(self, host, number=1):
        """A function that waits until so many HELLOs more have been heard at one port."""
        before = host.stat("node_heard")
        return lambda: wait_for(lambda: host.stat("node_heard") >= before + number, "HELLOs")

    # Finding each other.

    def test_three(self):
        """Three hosts know each other soon, and for as long as they are there."""
        self.bind(a="va", b="vb", c="vc")
        self.hears(self.a, self.mac_vb, self.mac_vc)
        self.hears(self.b, self.mac_va, self.mac_vc)
        self.hears(self.c, self.mac_va, self.mac_vb)
        row = next(row for row in self.a.neighbours() if row["mac"] == self.mac_vb)
        self.assertEqual((row["port"], row["mtu"]), ("va", 1500))
        self.assertLess(row["heard_ms"], 10000)
        self.b.knob("dev", "")
        self.hears(self.a, self.mac_vc)
        self.hears(self.c, self.mac_va)
        self.assertEqual(self.known(self.b), set())

    def test_two_ports(self):
        """Two ports of one host have one id, and it does not hear itself."""
        self.bind(a="va,wa", b="vb")
        self.hears(self.b, self.mac_va, (id_of(self.mac_va), self.mac_wa))
        self.hears(self.a, self.mac_vb, port="va")
        self.hears(self.a, self.mac_vb, port="wa")
        rows = self.b.neighbours()
        self.assertEqual(len({row["inc"] for row in rows}), 1)
        self.a.knob("dev", "-va")
        self.hears(self.b, (id_of(self.mac_va), self.mac_wa))

    def test_flapping(self):
        """A port that goes up and down all the time says HELLO once a second at most."""
        self.bind(a="va")
        since, start = self.moved(self.a, "node_sent"), time.monotonic()
        while time.monotonic() - start < 1:
            self.a.up("va", False)
            self.a.up("va")
        self.assertLessEqual(since()[0], time.monotonic() - start + 2)

    def test_mtu(self):
        """A port's MTU is told when it changes."""
        self.bind(a="va", b="vb")
        self.hears(self.b, self.mac_va)
        self.a.mtu("va", 1400)
        self.addCleanup(self.a.mtu, "va", 1500)
        wait_for(lambda: [row["mtu"] for row in self.b.neighbours()] == [1400], "the new MTU")

    def test_address(self):
        """A port with a new address is known by that; the id stays."""
        self.bind(a="va", b="vb")
        self.hears(self.b, self.mac_va)
        self.wire.frames()
        new = "02:00:00:00:77:01"
        self.a.sh(f"ip link set va address {new}")
        self.addCleanup(self.a.sh, f"ip link set va address {self.mac_va}")
        self.hears(self.b, (id_of(self.mac_va), new))
        # It is known at each moment.
        said = [(frame.src, frame.payload[0] & LEAVING) for frame in self.wire.frames()
                if frame.opcode == oae.HELLO and frame.src in map(mac_bytes, (new, self.mac_va))]
        self.assertEqual(said[:2], [(mac_bytes(new), 0), (mac_bytes(self.mac_va), LEAVING)])

    def test_address_refused(self):
        """A device that refuses an address keeps what it has, and its port stays known."""
        self.a.sh("ip link add link wa name mv0 type macvlan mode bridge && ip link set mv0 up")
        self.addCleanup(self.a.sh, "ip link del mv0")
        mac = self.a.mac("mv0")
        self.bind(a="mv0", b="vb")

        def knows(*macs):
            return {at for _, at in self.known(self.b)} - {self.mac_vp} == set(macs)
        wait_for(lambda: knows(mac), "b to know it")
        # The address of the device below.
        done = self.a.sh(f"ip link set mv0 address {self.mac_wa}", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.a.mac("mv0"), mac)
        # All that was said before this has been heard.
        self.say(LEAST + 77, 7)
        wait_for(lambda: (LEAST + 77, self.mac_vp) in self.known(self.b), "the next HELLO")
        self.assertTrue(knows(mac))
        # One that is taken: the old one is left.
        self.a.sh("ip link set mv0 address 02:00:00:00:77:02")
        wait_for(lambda: knows("02:00:00:00:77:02"), "b to know the new one, and no other")

    def test_device_goes(self):
        """What a device heard goes with it."""
        self.a.sh("ip link add link wa name mv0 type macvlan && ip link set mv0 up")
        self.bind(a="va,mv0", b="vb")
        self.hears(self.a, self.mac_vb, port="mv0")
        self.a.sh("ip link del mv0")
        self.assertEqual(self.known(self.a, "mv0"), set())
        self.hears(self.a, self.mac_vb)

    def test_addresses_asked(self):
        """Addresses that may be those of the target's peer: it is asked there, nobody waits."""
        self.bind(a="va")
        self.set(self.a, dead_ms=3600000)
        self.addCleanup(self.a.knob, "target", 0)
        macs = [f"02:00:00:00:89:{n:02x}" for n in range(6)]
        heard = self.heard(self.a, 6)
        for mac in macs:
            self.say(LEAST + 0x89, 0x89, mac=mac)
        heard()
        start = time.monotonic()
        for mac in macs:
            self.a.knob("target", mac)
        # It would be a second for each but the first.
        self.assertLess(time.monotonic() - start, len(macs) - 1.5)
        self.assertEqual({tag["peer"] for tag in self.a.tags()}, {macs[0]})
        # There is no answer: it is another peer, perhaps.
        wait_for(lambda: self.a.tag(peer=macs[-1]), "a link of its own", 5)
        self.assertEqual({tag["peer"] for tag in self.a.tags()}, {macs[0], macs[-1]})

    def test_off(self):
        """discover=0: others forget this host, and it knows none; what it hears is no_tag."""
        self.bind(a="va", b="vb")
        self.hears(self.b, self.mac_va)
        self.a.knob("discover", 0)
        self.hears(self.b)
        self.assertEqual(self.a.neighbours(), [])
        since = self.moved(self.a, "no_tag", "node_heard", "bad_field")
        self.say(LEAST + 5, 7)
        # Another host's own HELLO may come in between: it is no_tag as well.
        wait_for(lambda: since()[0] >= 1, "the HELLO")
        self.assertEqual(since()[1:], [0, 0])
        self.a.knob("discover", 1)
        self.hears(self.a, self.mac_vb)
        self.hears(self.b, self.mac_va, (LEAST + 5, self.mac_vp))

    # Ids.

    def test_id(self):
        """An id can be given while no port is bound; one that a MAC could be is none."""
        self.assertRegex(self.a.knob("id"), "^(0|[0-9a-f]{16})$")
        for bad in "1", "ffffffffffff", "10000000000000000", "x", "-1":
            self.assert_errno(errno.EINVAL, self.a.knob, "id", bad)
        self.a.knob("id", "abcdef0123456789")
        self.bind(a="va", b="vb")
        self.assertEqual(self.a.knob("id"), "abcdef0123456789")
        self.hears(self.b, (0xabcdef0123456789, self.mac_va))
        self.assert_errno(errno.EBUSY, self.a.knob, "id", "abcdef0123456788")
        self.assert_errno(errno.EBUSY, self.a.knob, "id", "0")
        self.a.knob("id", "abcdef0123456789")
        self.a.knob("dev", "")
        self.a.knob("id", 0)
        # The first port that was ever bound, here or by another test.
        self.assertIn(int(self.a.knob("id"), 16), (id_of(self.mac_va), id_of(self.mac_wa)))

    def test_id_twice(self):
        """Two hosts with one id: a third one knows that which was first, and they say so."""
        self.a.knob("id", "1111111111111111")
        self.b.knob("id", "1111111111111111")
        self.bind(c="vc", a="va")
        self.hears(self.c, (0x1111111111111111, self.mac_va))
        since, own = self.moved(self.c, "id_conflict"), self.moved(self.a, "id_conflict")
        self.bind(b="vb")
        wait_for(lambda: since()[0] and own()[0], "the conflict")
        self.hears(self.c, (0x1111111111111111, self.mac_va))

    def send_by_id(self):
        """A message from a to b by b's id."""
        self.a.knob("target", f"id:{id_of(self.mac_vb):x}")
        self.a.write(b"to an id")
        self.assertEqual(self.b.read_one(), b"to an id")

    def test_target(self):
        """target takes an id, also with a port; it is the same link as by address."""
        self.bind(a="va", b="vb")
        self.hears(self.a, self.mac_vb)
        self.send_by_id()
        self.assertEqual(self.a.knob("target"), f"id:{id_of(self.mac_vb):016x}")
        self.assertEqual([tag["peer"] for tag in self.a.tags()], [self.mac_vb])
        self.a.knob("target", f"va/id:{id_of(self.mac_vb):x}")
        self.a.write(b"with a port", target=None)
        self.assertEqual(self.b.read_one(), b"with a port")
        for bad in "id:", "id:1", "id:xyz", f"id:{LEAST:x}/va", "nodev/id:", "id:00:11":
            self.assert_errno(errno.EINVAL, self.a.knob, "target", bad)
        # The node's own.
        self.assert_errno(errno.EINVAL, self.a.knob, "target", f"id:{self.a.knob('id')}")
        self.a.close_tag(f"id:{id_of(self.mac_vb):x}")
        wait_for(lambda: not self.a.tags(), "the link to close")

    def test_target_later(self):
        """An id that was not heard yet is a target; writing to it is EHOSTUNREACH until then."""
        self.bind(a="va")
        self.a.knob("target", f"id:{id_of(self.mac_vb):x}")
        self.assert_errno(errno.EHOSTUNREACH, self.a.write, b"x")
        self.bind(b="vb")
        wait_for(lambda: (self.a.tag() or {}).get("state") == "OPEN", "the link", 8)
        self.a.write(b"now")
        self.assertEqual(self.b.read_one(), b"now")

    def test_attach(self):
        """A file is attached to an id."""
        self.bind(a="va", b="vb")
        self.hears(self.a, self.mac_vb)
        with OaeFile(self.a) as file:
            self.assert_errno(errno.EHOSTUNREACH, file.attach_id, LEAST + 99)
            self.assert_errno(errno.EHOSTUNREACH, file.attach_id, LEAST + 99, port="va")
            file.attach_id(id_of(self.mac_vb))
            file.write(b"by a file")
            self.assertEqual(self.b.read_one(), b"by a file")

    def test_peers(self):
        """accept=peers with an id in peers."""
        self.bind(a="va", b="vb", c="vc")
        self.hears(self.a, self.mac_vb, self.mac_vc)
        self.hears(self.b, self.mac_va, self.mac_vc)
        self.hears(self.c, self.mac_va, self.mac_vb)
        self.a.knobs(peers=f"id:{id_of(self.mac_vb):x}", accept="peers")
        self.b.write(b"accepted", target=self.mac_va)
        self.assertEqual(self.a.read_one(), b"accepted")
        self.assert_errno(errno.ECONNREFUSED, self.c.write, b"not", target=self.mac_va)

    # For people and programs.

    def test_command(self):
        """oae neighbours, and oae send to an id and to names."""
        self.bind(a="va,wa", b="vb")
        self.hears(self.b, self.mac_va, (id_of(self.mac_va), self.mac_wa))
        self.hears(self.a, self.mac_vb, port="va")
        self.hears(self.a, self.mac_vb, port="wa")
        text = f"id:{id_of(self.mac_vb):016x}"
        rows = oae_command(self.a, "-j", "neighbours").json
        self.assertEqual([(row["id"], row["port"], row["address"], row["mtu"]) for row in rows],
                         [(text, "va", self.mac_vb, 1500), (text, "wa", self.mac_vb, 1500)])
        self.assertEqual({int(row["inc"], 16) for row in rows},
                         {row["inc"] for row in self.a.neighbours()})
        shown = oae_command(self.a, "neighbours").out.splitlines()
        self.assertRegex(shown[0], r"^ID +PORT +ADDRESS +MTU +HEARD$")
        self.assertRegex(shown[1], rf"^{text} +va +{self.mac_vb} +1500 +\d.*s$")
        self.assertIn("no neighbours", oae_command(self.c, "neighbours").out)
        oae_command(self.a, "send", text, data=b"by id")
        self.assertEqual(self.b.read_one(), b"by id")
        # As long as there is a link by the other port, it is that.
        either = ("va", self.mac_vb), ("wa", self.mac_vb)
        sent = oae_command(self.a, "-j", "send", f"wa/{text}", data=b"by a port and an id").json[0]
        self.assertIn((sent["port"], sent["peer"]), either)
        self.assertEqual(self.b.read_one(), b"by a port and an id")
        with tempfile.NamedTemporaryFile("w") as hosts:
            hosts.write(f"# who is who\nb {text}\nb2\twa/{self.mac_vb}\n")
            hosts.flush()
            os.environ["OAE_HOSTS"] = hosts.name
            try:
                oae_command(self.a, "send", "b", data=b"by name")
                self.assertEqual(self.b.read_one(), b"by name")
                sent = oae_command(self.a, "-j", "send", "b2", data=b"by another").json[0]
                self.assertIn((sent["port"], sent["peer"]), either)
                self.assertEqual(self.b.read_one(), b"by another")
                oae_command(self.a, "send", "nobody", data=b"x", status=64)
            finally:
                del os.environ["OAE_HOSTS"]
        said = oae_command(self.a, "send", f"id:{LEAST + 77:x}", data=b"x", status=1)
        self.assertIn("EHOSTUNREACH: no neighbour has this id", said.err)
        self.assertIn("2 addresses", oae_command(self.b, "listen", f"id:{id_of(self.mac_va):x}",
                                                 "-w", 1, status=1).err)
        oae_command(self.a, "close", text)
        wait_for(lambda: not self.a.tags(), "the links to close")

    def test_events(self):
        """Events of neighbours, as oae monitor has them."""
        self.bind(a="va")
        monitor = Running(self.a, "-j", "monitor", "kind", "neighbour")
        self.addCleanup(monitor.kill)

        def listens():
            self.say(LEAST + 9, 1)
            self.say(LEAST + 9, 1, flags=HELLO_NODE | LEAVING)
            # What a test before has left may still be told.
            said = {"id": f"id:{LEAST + 9:016x}", "address": self.mac_vp}
            return [row for row in monitor.objects() if said.items() <= row.items()]
        wait_for(listens, monitor.said, 20, interval=0.1)
        self.say(LEAST + 3, 1)
        self.say(LEAST + 3, 2)
        self.say(LEAST + 3, 2)
        self.say(LEAST + 3, 2, flags=HELLO_NODE | LEAVING)
        about = {"kind": "neighbour", "port": "va", "id": f"id:{LEAST + 3:016x}",
                 "address": self.mac_vp}
        monitor.event(what="gone", **about)
        self.assertEqual([row["what"] for row in monitor.objects() if about.items() <= row.items()],
                         ["new", "changed", "gone"])

    def test_dump(self):
        """A dump of netlink has what the file has."""
        self.bind(a="va")
        for n in range(200):
            self.say(LEAST + n, n + 1, mac=f"02:00:00:00:86:{n:02x}")
        # As many as a second allows, but for those of another test.
        wait_for(lambda: len(self.a.neighbours()) > NEW_PPS / 2, "many of them")
        self.a.up("va", False)
        netlink = Netlink(self.a)
        self.addCleanup(netlink.close)
        found = {(int.from_bytes(row[1], "little"), row[3].hex(":"))
                 for row in map(dict, netlink.dump(11))}
        self.a.up("va")
        self.assertEqual(found, self.known(self.a))

    # Strangers.

    def test_malformed(self):
        """What a HELLO NODE must not be is bad_field, and nothing comes of it."""
        self.bind(a="va")
        since = self.moved(self.a, "bad_field", "node_heard")
        bad = [{"id_": LEAST - 1}, {"id_": 0}, {"inc": 0}, {"mtu": 127}, {"mtu": 0},
               {"flags": HELLO_NODE | oae.HELLO_ASK}, {"flags": HELLO_NODE | oae.ABOUT},
               {"flags": HELLO_NODE | 0x20}, {"flags": HELLO_NODE | 0x80},
               {"flags": HELLO_NODE | oae.GATEWAY}]
        for fields in bad:
            self.say(**({"id_": LEAST + 1, "inc": 1} | fields))
        wait_for(lambda: since() == [len(bad), 0], "the counters")
        self.assertEqual(self.a.neighbours(), [])
        # What is not said is not looked at; unicast is as good.
        self.say(LEAST + 1, 1, dst=self.mac_va, rest=0xffff)
        self.hears(self.a, (LEAST + 1, self.mac_vp))

    def test_not_its_id(self):
        """Nobody takes an id that is in use, nor an address with another id."""
        self.bind(a="va", b="vb")
        self.hears(self.a, self.mac_vb)
        inc = self.a.neighbours()[0]["inc"]
        since = self.moved(self.a, "id_conflict")
        self.say(id_of(self.mac_vb), 77)
        wait_for(lambda: since() == [1], "the conflict")
        self.hears(self.a, self.mac_vb)
        # The script is somebody itself: it does not become b, even with b's incarnation.
        self.say(LEAST + 3, 77)
        self.hears(self.a, self.mac_vb, (LEAST + 3, self.mac_vp))
        self.say(id_of(self.mac_vb), inc)
        self.say(id_of(self.mac_vb), 77)
        wait_for(lambda: since() == [3], "the conflicts")
        self.hears(self.a, self.mac_vb, (LEAST + 3, self.mac_vp))
        # Nor a.
        self.say(id_of(self.mac_va), 78, mac="02:00:00:00:99:01")
        wait_for(lambda: since() == [4], "the conflict")
        self.hears(self.a, self.mac_vb, (LEAST + 3, self.mac_vp))

    def test_leaving(self):
        """Nobody makes another leave without its address, id and incarnation."""
        self.bind(a="va", b="vb")
        self.hears(self.a, self.mac_vb)
        inc = self.a.neighbours()[0]["inc"]
        heard = self.heard(self.a, 4)
        self.say(id_of(self.mac_vb), inc, flags=HELLO_NODE | LEAVING)
        self.say(id_of(self.mac_vb), inc, flags=HELLO_NODE | LEAVING, mac="02:00:00:00:99:02")
        self.say(id_of(self.mac_vb), inc + 1, flags=HELLO_NODE | LEAVING, mac=self.mac_vb)
        self.say(id_of(self.mac_vb) + 1, inc, flags=HELLO_NODE | LEAVING, mac=self.mac_vb)
        heard()
        self.hears(self.a, self.mac_vb)

    def test_back(self):
        """A host that comes back at its address is known by its new incarnation."""
        self.bind(a="va")
        self.say(LEAST + 3, 1)
        self.hears(self.a, (LEAST + 3, self.mac_vp))
        self.say(LEAST + 3, 2)
        wait_for(lambda: [row["inc"] for row in self.a.neighbours()] == [2], "the incarnation")
        self.say(LEAST + 3, 1, flags=HELLO_NODE | LEAVING)
        self.say(LEAST + 3, 2, flags=HELLO_NODE | LEAVING)
        self.hears(self.a)

    def test_answered(self):
        """Many who are new are answered together."""
        self.bind(a="va")
        wait_for(lambda: self.a.stat("node_sent") >= 1, "the first HELLO")
        since, heard = self.moved(self.a, "node_sent"), self.heard(self.a, 20)
        for n in range(20):
            self.say(LEAST + n, 5, mac=f"02:00:00:00:88:{n:02x}")
        heard()
        wait_for(lambda: since()[0], "an answer")
        # The port's own second HELLO may come in between.
        self.assertLessEqual(since()[0], 3)

    def test_one_id(self):
        """One id does not fill the table."""
        self.bind(a="va")
        since = self.moved(self.a, "neighbour_full", "node_heard")
        for n in range(40):
            self.say(LEAST + 9, 9, mac=f"02:00:00:00:87:{n:02x}")
        wait_for(lambda: since() == [40 - AN_ID, 40], "all of them")
        self.assertEqual(len(self.a.neighbours()), AN_ID)

    def test_changes(self):
        """Who changes all the time is no more news than who is new."""
        self.bind(a="va")
        since, start, many = self.moved(self.a, "node_heard", "neighbour_full"), time.monotonic(), 1500
        for n in range(many):
            self.say(LEAST + 5, 5, mac="02:00:00:00:88:01", mtu=1000 + n)
        wait_for(lambda: since()[0] >= many, "them")
        took = time.monotonic() - start
        self.assertGreaterEqual(since()[1], many - NEW_PPS * (took + 2))
        self.assertGreater(since()[1], 0)

    def test_flood(self):
        """A flood of strangers: the table is bounded, and who was there before stays."""
        self.bind(a="va", b="vb", c="vc")
        self.hears(self.a, self.mac_vb, self.mac_vc)
        self.hears(self.b, self.mac_va, self.mac_vc)
        self.a.write(b"a link", target=self.mac_vc)
        # Both are heard once more: they are no strangers to a.
        for host, dev in (self.b, "vb"), (self.c, "vc"):
            heard = self.heard(self.a)
            host.knob("discover", 1)
            heard()
        before, start = self.a.stats(), time.monotonic()
        frame = Frame(oae.HELLO, mac_bytes(ALL), mac_bytes(self.mac_vp))
        n = 0

        def full():
            nonlocal n
            for n in range(n + 1, n + NEW_PPS // 2):
                frame.src = mac_bytes(f"02:00:{n >> 24 & 255:02x}:{n >> 16 & 255:02x}:"
                                      f"{n >> 8 & 255:02x}:{n & 255:02x}")
                frame.payload = node_body(LEAST + n, n)
                self.wire.send(frame)
            return len(self.known(self.a)) >= MOST
        wait_for(full, "the table to be full", MOST / NEW_PPS + 20, 0.2)
        full()
        took = time.monotonic() - start
        wait_for(lambda: self.a.stat("node_heard") - before["node_heard"] >= n, "all of them")
        after, known = self.a.stats(), self.known(self.a)
        self.assertEqual(len(known), MOST)
        self.assertIn((id_of(self.mac_vb), self.mac_vb), known)
        self.assertIn((id_of(self.mac_vc), self.mac_vc), known)
        new = n - (after["neighbour_full"] - before["neighbour_full"])
        self.assertLessEqual(new, NEW_PPS * (took + 2))
        self.assertLessEqual(after["node_sent"] - before["node_sent"], took / 2 + 2)
        self.assertGreater(after["neighbour_full"], before["neighbour_full"])
        # The table can be read whole, each once.
        rows = [(row["port"], row["mac"]) for row in self.a.neighbours()]
        self.assertEqual(len(rows), len(set(rows)))
        self.spares_linked(frame, n)
        # All of them go just after a link has begun to close, and do not push out that news.
        netlink = Netlink(self.a, rcvbuf=1 << 20)
        self.addCleanup(netlink.close)
        netlink.join("link")
        self.addCleanup(self.a.knob, "shutdown", 0)
        oae_command(self.a, "set", "shutdown=1", "discover=0")
        seen = set()
        while ("link", "close") not in seen:
            for said in [dict(attrs(body[4:])) for kind, _, _, body in netlink.messages()
                         if kind == netlink.family]:
                seen.add((text(said[4]), text(said[5])))

    def spares_linked(self, frame, n):
        """All are heard more than once, strangers too: the oldest gives way, unless it has a link."""
        def say(id_):
            frame.src, frame.payload = mac_bytes(f"02:00:{id_ & 0xffffffff:08x}"), node_body(id_, id_ - LEAST)
            self.wire.send(frame)
        # These two say no more.
        for dev in "pb", "pc":
            self.switch.sh(f"ip link set {dev} down")
            self.addCleanup(self.switch.sh, f"ip link set {dev} up")
        before = self.a.stat("node_heard")
        strangers = [id_ for id_, mac in self.known(self.a) if mac.startswith("02:00:")]
        for id_ in strangers:
            say(id_)
        wait_for(lambda: self.a.stat("node_heard") - before >= len(strangers), "all of them again")

        def pushed_out():
            nonlocal n
            n += 1
            say(LEAST + n)
            say(LEAST + n)
            return len(set(strangers) - {id_ for id_, _ in self.known(self.a)}) > 3
        wait_for(pushed_out, "some to give way", 20, 0.05)
        known = {mac for _, mac in self.known(self.a)}
        self.assertEqual([mac for mac in (self.mac_vb, self.mac_vc) if mac in known], [self.mac_vc])

    def test_load(self):
        """insmod dev=* and an id: that of the namespace only. rmmod with the timer running."""
        unload()
        load(self.a, dev="*", id="2222222222222222", discover=None)
        try:
            self.assertEqual(self.a.knob("id"), "2222222222222222")
            self.assertEqual(self.b.knob("id"), "0")
            self.b.knob("dev", "vb")
            self.hears(self.b, (0x2222222222222222, self.mac_va), (0x2222222222222222, self.mac_wa))
            self.hears(self.a, self.mac_vb, port="va")
            self.send_by_id()
            unload()
        finally:
            if not os.path.exists("/sys/module/modoae"):
                load(**self.params)


if __name__ == "__main__":
    raise SystemExit("tests/guest/run test_neighbours")
