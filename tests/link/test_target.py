# SPDX-License-Identifier: GPL-2.0
"""The parameter `target` opens a link, before there is anything to send."""

import errno

from oaedev import OaeFile
from oaetest import load, unload, wait_for
from topology import OneCable

QUICK = {"dead_ms": 100, "keepalive_ms": 20, "stall_min_us": 2000, "stall_max_us": 20000}
USUAL = {"dead_ms": 5000, "keepalive_ms": 1000, "stall_min_us": 1000, "stall_max_us": 200000,
         "target": "", "vci": 0, "shutdown": 0, "verbose": 0}


class Target(OneCable):
    __doc__ = OneCable.__doc__
    ports = False

    def setUp(self):
        super().setUp()
        for host, dev in self.cable.ends:
            host.knobs(**USUAL, dev="")
            host.read_all()
            host.knob("dev", dev)
        self.before = self.a.stats()

    def moved(self, *names):
        """What counters of a have moved by."""
        after = self.a.stats()
        return [after[name] - self.before[name] for name in names]

    def is_in(self, state, host=None, **which):
        """A link gets into a state; what tags says of it."""
        host = host or self.a

        def there():
            tag = host.tag(**which)
            return tag and tag["state"] == state and tag
        return wait_for(there, f"{host} to be {state}")

    def is_gone(self, host, **which):
        """A link goes."""
        wait_for(lambda: not host.tag(**which), f"{host}'s link to go")

    def test_opens(self):
        """It is there at once, and open without anything sent."""
        self.a.knob("target", self.cable.mac_b)
        self.assertIn(self.a.tag()["state"], ("SYNC_SENT", "SYNC_RECD", "OPEN"))
        self.is_in("OPEN")
        self.is_in("OPEN", self.b)
        self.assertEqual(self.moved("posted", "tags_made", "note_opened"), [0, 1, 1])
        # The same again is nothing new.
        self.a.knob("target", self.cable.mac_b)
        self.assertEqual(self.moved("tags_made", "note_opened"), [1, 1])

    def test_channel(self):
        """It is on the channel vci of when target is written."""
        self.a.knobs(vci=9, target=self.cable.mac_b)
        self.is_in("OPEN", vc=9)
        self.a.knob("vci", 8)
        self.assertEqual([tag["vc"] for tag in self.a.tags()], [9])
        self.a.knob("target", self.cable.mac_b)
        self.is_in("OPEN", vc=8)
        self.is_in("OPEN", vc=9)
        self.a.knob("target", 0)
        self.is_gone(self.a, vc=8)
        self.is_in("OPEN", vc=9)

    def test_closes(self):
        """0 closes it, at both ends; then there is no target."""
        self.a.knob("target", self.cable.mac_b)
        self.is_in("OPEN", self.b)
        self.a.knob("target", 0)
        self.is_gone(self.a)
        self.is_gone(self.b)
        self.assertEqual(self.a.knob("target"), "")
        self.assert_errno(errno.EDESTADDRREQ, self.a.write, b"x")

    def test_program_has_it(self):
        """0 does not close what a program has open, too."""
        self.a.knob("target", self.cable.mac_b)
        with OaeFile.to(self.a, self.cable.mac_b) as file:
            self.a.knob("target", 0)
            self.assertEqual(file.write(b"still"), 5)
        self.assertEqual(self.b.read_one(), b"still")

    def test_another(self):
        """Another target leaves the link to the former one alone."""
        self.a.knob("target", self.cable.mac_b)
        self.is_in("OPEN")
        self.a.knob("target", "abcdef")
        self.assertEqual(sorted(tag["state"] for tag in self.a.tags()), ["OPEN", "SYNC_SENT"])

    def test_nobody_there(self):
        """It goes on asking, quietly, while nobody answers, and opens when somebody comes."""
        self.b.knob("dev", "")
        self.a.knobs(**QUICK)
        self.log.lines()
        self.a.knob("target", self.cable.mac_b)
        self.is_in("DOWN")
        sent = self.a.stat("tx_frames")
        # For longer than one that was open before is kept: eight times dead_ms.
        wait_for(lambda: self.a.stat("tx_frames") >= sent + 60, "it to ask", 20)
        self.assertEqual(self.a.tag()["state"], "DOWN")
        self.assertEqual(self.moved("note_down", "note_gone", "tags_gone", "posted"), [1, 0, 0, 0])
        self.assertEqual([line for line in self.log.lines() if "modoae" in line], [])
        # Whoever has something to send is told.
        self.assert_errno(errno.ENOLINK, self.a.write, b"never")
        self.assertEqual(self.a.tag()["state"], "DOWN")
        self.b.knob("dev", "vb")
        self.a.knobs(**{name: USUAL[name] for name in QUICK})
        self.is_in("OPEN")
        self.assertEqual(self.a.write(b"there"), 5)
        self.assertEqual(self.b.read_one(), b"there")

    def test_no_target_any_more(self):
        """One that never answered is not asked for ever once it is no target."""
        self.a.knobs(**QUICK)
        self.a.knob("target", "abcdef")
        self.is_in("DOWN")
        self.a.knob("target", self.cable.mac_b)
        wait_for(lambda: [tag["peer"] for tag in self.a.tags()] == [self.cable.mac_b],
                 "the former to be forgotten")
        self.a.knob("target", "abcdef")
        self.is_in("DOWN", peer=f"{self.cable.mac_a[:8]}:ab:cd:ef")
        self.a.knob("target", 0)
        self.assertIsNone(self.a.tag(peer=f"{self.cable.mac_a[:8]}:ab:cd:ef"))

    def test_port_later(self):
        """Without a port it opens once that is bound, and again when it comes back."""
        self.a.knob("dev", "")
        self.a.knob("target", self.cable.mac_b)
        self.assertEqual(self.a.tags(), [])
        self.a.knob("dev", "va")
        self.is_in("OPEN")
        self.a.knob("dev", "-va")
        self.assertEqual(self.a.tags(), [])
        self.a.knob("dev", "+va")
        self.is_in("OPEN")

    def test_closed_stays_closed(self):
        """What either end closes stays closed, until target is written anew."""
        self.a.sh("ip link add d0 type dummy")
        self.addCleanup(self.a.sh, "ip link del d0")
        for host, peer in ((self.a, self.cable.mac_b), (self.b, self.cable.mac_a)):
            self.a.knob("target", self.cable.mac_b)
            self.is_in("OPEN", self.b)
            host.close_tag(peer)
            self.is_gone(self.a)
            self.is_gone(self.b)
            self.a.knob("dev", "+d0")
            self.a.knob("dev", "-d0")
            self.assertEqual(self.a.tags(), [])

    def test_while_closing(self):
        """Written while its link is closing, it opens that again once it is closed: unless the
        target is given up, or that link closed once more, meanwhile."""
        self.addCleanup(self.b.knob, "drop_pct", 0)
        for n, then in enumerate(("none", "close", "open"), 1):
            self.a.knob("target", self.cable.mac_b)
            self.is_in("OPEN")
            self.is_in("OPEN", self.b)
            self.b.knob("drop_pct", 100)
            self.a.knob("target", 0)
            self.is_in("CLOSE_SENT")
            self.a.knob("target", self.cable.mac_b)
            if then == "none":
                self.a.knob("target", 0)
            elif then == "close":
                self.a.close_tag(self.cable.mac_b)
            self.assertEqual(self.a.tag()["state"], "CLOSE_SENT")
            self.b.knob("drop_pct", 0)
            wait_for(lambda n=n: self.moved("note_gone") == [n], "it to be closed")
            if then != "open":
                self.assertEqual(self.a.tags(), [], then)
        self.is_in("OPEN")
        self.is_in("OPEN", self.b)

    def test_shut(self):
        """A host that is shut opens none, until it no longer is."""
        self.a.knobs(shutdown=1, target=self.cable.mac_b)
        self.assertEqual(self.a.tags(), [])
        self.assertEqual(self.moved("tags_made"), [0])
        self.a.knob("shutdown", 0)
        self.is_in("OPEN")

    def test_full(self):
        """ENOBUFS: there is no room for its link; the old one stays the target."""
        self.a.knob("target", self.cable.mac_b)
        self.a.knob("max_tags", 1)
        self.addCleanup(self.a.knob, "max_tags", 1024)
        self.assert_errno(errno.ENOBUFS, self.a.knob, "target", "abcdef")
        self.assertEqual(self.a.knob("target"), self.cable.mac_b)
        self.is_in("OPEN")

    def test_insmod(self):
        """On the command line of insmod, in any order."""
        unload()
        load(self.a, target=self.cable.mac_b, vci=5, dev="va")
        self.assertEqual([tag["vc"] for tag in self.a.tags()], [5])
        self.b.knob("dev", "vb")
        self.is_in("OPEN", vc=5)
