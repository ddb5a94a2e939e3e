# SPDX-License-Identifier: GPL-2.0
"""The family oaegw of generic netlink, and oae gateway on top of it."""

import re
import socket

import oaenlspec
import prometheus
from gateway import Gateway, GatewayTest
from oaecmd import OAE, Running, oae
from oaetest import REPO, wait_for

REFUSED = 6


class Netlink(GatewayTest):
    """
        gateways g and other, each with a device of its own
    """

    @classmethod
    def build(cls):
        super().build()
        cls.g, cls.other = cls.made(Gateway("g")), cls.made(Gateway("other"))
        for host in cls.g, cls.other:
            host.sh("ip link set lo up; ip link add zone0 type dummy; ip link set zone0 up;"
                    "ip addr add 10.9.0.1/32 dev lo")

    def knobs(self, host=None, names=("dev", "gwips", "port", "hello_ms", "mtu", "shutdown")):
        """Some of them, as sysfs has them."""
        return [(host or self.g).knob(name) for name in names]

    def test_show(self):
        """All parameters that are values, as sysfs has them."""
        seen = {knob["knob"]: knob for knob in oae(self.g, "-j", "gateway").json}
        names = set(self.g.sh("ls /sys/module/modoaeip/parameters").split())
        self.assertEqual(set(seen), names - {"mactbl", "ethertype"})
        for name, knob in seen.items():
            self.assertEqual(knob["value"], self.g.knob(name))
        self.assertEqual(seen["mtu"]["takes"], "0 or a number from 256 to 65535, bytes")
        self.assertEqual(oae(self.g, "gateway", "show", "port", "mtu").out, "port=34997\nmtu=0\n")
        self.assertRegex(oae(self.g, "gateway", "show").out, r"(?m)^KNOB +VALUE +TAKES$")

    def test_set(self):
        """Several at once, in this namespace alone; and back."""
        before, there = self.knobs(), self.knobs(self.other)
        oae(self.g, "gateway", "set", "dev=zone0", "gwips=10.9.0.1,10.9.0.2", "hello_ms=500")
        self.assertEqual(self.knobs()[:4], ["zone0", "10.9.0.1,10.9.0.2", "34997", "500"])
        self.assertEqual(self.g.mine(), 1)
        self.assertEqual(self.knobs(self.other), there)
        # A list that is longer than a page of messages is shown whole.
        longest = ",".join(f"10.200.0.{i}+fd00:1111:2222:3333:4444:5555:6666:{0x1000 + i:x}"
                           for i in range(1, 65))
        oae(self.g, "gateway", "set", f"gwips={longest}")
        seen = {knob["knob"]: knob["value"] for knob in oae(self.g, "-j", "gateway").json}
        self.assertEqual(seen["gwips"], longest)
        oae(self.g, "gateway", "set", "dev=", "gwips=", "hello_ms=1000")
        self.assertEqual(self.knobs(), before)

    def test_all_or_none(self):
        """What was set before one that fails is set back."""
        oae(self.g, "gateway", "set", "dev=zone0", "gwips=10.9.0.1,10.9.0.2")
        before = self.knobs()
        for wrong, words in (
                ("mtu=255", "ERANGE: takes 0 or a number from 256 to 65535, bytes"),
                ("gwips=10.9.0.1,", "EINVAL: takes A,B,... an item a zone: a unicast IPv4 or IPv6"
                                    " address, or one of each joined by +"),
                ("dev=nothere", "ENODEV: there is no such net device in this network namespace"),
                ("dev=lo", "EINVAL: takes an Ethernet device, not loopback nor in a bond or bridge,"
                           " with an MTU of at least 140"),
                ("mtuu=0", "ENOENT: there is no such knob; did you mean mtu?")):
            others = [one for one in ("port=4000", "gwips=10.9.0.7", "hello_ms=700", "dev=",
                                      "shutdown=1") if one.split("=")[0] != wrong.split("=")[0]]
            for at in (0, 2, len(others)):
                said = oae(self.g, "gateway", "set", *others[:at], wrong, *others[at:],
                           status=REFUSED)
                self.assertEqual(said.err, f"oae gateway: {wrong}: {words}\n")
                self.assertEqual(self.knobs(), before, (wrong, at))
        self.assertEqual(self.g.mine(), 1)
        oae(self.g, "gateway", "set", "dev=", "gwips=")

    def test_port_taken(self):
        """Whatever opens the tunnel says that its port is taken; nothing is changed."""
        oae(self.g, "gateway", "set", "dev=zone0", "port=40001")
        self.addCleanup(oae, self.g, "gateway", "set", "dev=", "gwips=", "port=34997", "shutdown=0")
        with self.g, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("0.0.0.0", 40001))
            before = self.knobs()
            said = oae(self.g, "gateway", "set", "gwips=10.9.0.1,10.9.0.2", status=REFUSED)
            self.assertEqual(self.knobs(), before)
        self.assertEqual(said.err, "oae gateway: gwips=10.9.0.1,10.9.0.2: EADDRINUSE: needs a UDP "
                         "port that is free at this gateway's addresses: see the knob port\n")

    def test_unprivileged(self):
        """Looking is for everybody, changing is not."""
        who = "setpriv --reuid 65534 --regid 65534 --clear-groups "
        self.assertEqual(self.g.sh(f"{who} {OAE} gateway show mtu"), "mtu=0\n")
        done = self.g.sh(f"{who} {OAE} gateway set mtu=300", check=False)
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("EPERM", done.stderr)
        self.assertEqual(self.g.knob("mtu"), "0")

    def test_events(self):
        """Serving and leaving are told, each with its number; oae monitor shows them."""
        running = Running(self.g, "-j", "monitor", "kind", "zone")
        self.addCleanup(running.kill)
        self.addCleanup(oae, self.g, "gateway", "set", "dev=", "gwips=", "hello_ms=1000")

        def listens():
            oae(self.g, "gateway", "set", "dev=zone0", "gwips=10.9.0.1,10.9.0.2")
            oae(self.g, "gateway", "set", "dev=", "gwips=")
            return running.lines
        wait_for(listens, "it to listen", 20, interval=0.1)
        seen = len(running.lines)
        oae(self.g, "gateway", "set", "dev=zone0", "gwips=10.9.0.3,10.9.0.1", "hello_ms=100")
        running.event(zone=2, what="serving", kind="zone")
        wait_for(lambda: {"silent", "unreachable"} &
                 {one["what"] for one in running.objects()[seen:] if one["zone"] == 1},
                 "the other zone to be silent", 20)
        oae(self.g, "gateway", "set", "dev=", "gwips=", "hello_ms=1000")
        running.event(zone=2, what="left")
        told = running.objects()
        self.assertGreaterEqual(len(told), seen + 3)
        self.assertEqual([one["number"] for one in told],
                         list(range(told[0]["number"], told[0]["number"] + len(told))))
        self.assertEqual(running.stop(), 0)

    def test_unit(self):
        """It serves, again with the same, anew with other zones, stands by, serves again."""
        read = (REPO / "tools" / "oae" / "oae-gateway.service.in").read_text()

        def unit(what, settings=""):
            commands = re.findall(rf"(?m)^Exec{what}=@BINDIR@/oae (.*)$", read)
            self.assertTrue(commands, what)
            for command in commands:
                oae(self.g, *command.replace("$GATEWAY", settings).split())
        self.addCleanup(oae, self.g, "gateway", "set", "dev=", "gwips=", "shutdown=0")
        for what, settings, mine in (("Start", "dev=zone0 gwips=10.9.0.1,10.9.0.2", 1),
                                     ("Reload", "dev=zone0 gwips=10.9.0.1,10.9.0.2", 1),
                                     ("Reload", "dev=zone0 gwips=10.9.0.2,10.9.0.1", 2)):
            unit(what, settings)
            self.assertEqual(self.g.mine(), mine)
        unit("Stop")
        self.assertEqual(self.g.knob("shutdown"), "1")
        unit("Start", settings)
        self.assertEqual((self.g.mine(), self.g.knob("shutdown")), (2, "0"))

    def test_asked(self):
        """The dashboard asks for metrics that there are."""
        self.addCleanup(oae, self.g, "gateway", "set", "dev=", "gwips=")
        oae(self.g, "gateway", "set", "dev=zone0", "gwips=10.9.0.1,10.9.0.2")
        asked = prometheus.check(self, "oaeip_", oae(self.g, "-j", "metrics").json)
        self.assertLessEqual({"oaeip_zone_up", "oaeip_zone_tx_frames_total"}, asked)

    def test_specification(self):
        """doc/netlink/oaegw.yaml says what the kernel says."""
        oaenlspec.check(self, self.g, "oaegw")
