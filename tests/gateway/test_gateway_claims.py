# SPDX-License-Identifier: GPL-2.0
"""Who has which node: what a gateway learns, tells, forgets, refuses and lets go.

Everything around the one real gateway is by hand, so every step of it is seen.
"""

import time

import oaewire as oae
from gateway import Scripted
from oaeipwire import (ABOUT, ASK, ASK_ME, BEAT, BROADCAST, BYE, CLAIM, CONTROL, GATEWAY, GONE,
                       LEAVING, MAX_NODES, NODES, Control, hello, same, via)
from oaetest import wait_for
from oaewire import mac_bytes


class Claims(Scripted):     # pylint: disable=too-many-public-methods
    __doc__ = Scripted.__doc__

    # Nodes of the zone.

    def test_hello_in_the_zone(self):
        """It says who it is, every hello_ms, to all."""
        first, one = self.to_hello()
        _, two = self.to_hello()
        self.assertEqual(first.dst, BROADCAST)
        self.assertEqual(first.src, mac_bytes(self.mac))
        self.assertEqual((one.flags & ~ASK_ME, one.zone, one.zero, one.zero2),
                         (GATEWAY, 1, 0, 0))
        self.assertEqual((one.life, one.node_life), (7, 600))
        self.assertEqual(one.mtu, 1500 - 20 - 16)       # the widest of all
        self.assertNotEqual(one.inc, 0)
        self.assertEqual((one.inc, one.epoch), (two.inc, two.epoch))

    def test_learned_from_hello(self):
        """A node that says HELLO is told to all gateways, at once and again and again."""
        self.set(self.g, refresh_ms=600000)
        mac, = self.local(*self.new_macs())
        for speaker in (self.two, self.three):
            speaker.expect_nodes(mac)
        self.g.knob("refresh_ms", 500)
        for speaker in (self.two, self.three):
            again = speaker.expect(NODES, match=lambda c: (mac, 0) in c.nodes and c.life < 100)
            self.assertEqual(again.life, 17)
        self.wire.send(hello(mac, self.mac))
        self.sync()
        row = self.g.mactbl()[mac]
        self.assertLessEqual(row["age_ms"] + row["left_ms"], 60000)
        self.assertGreater(row["left_ms"], 50000)

    def test_learned_from_a_frame(self):
        """A node that sends by way of it is learned, even if what it sends goes nowhere."""
        mac, nobody = self.new_macs(2)
        self.counted(lambda: self.wire.send(via(oae.SYNC, self.mac, mac, nobody)),
                     nodes_learned=1, unknown_dst=1)
        self.two.expect_nodes(mac)

    def test_leaving(self):
        """A node that leaves is told as gone."""
        mac, = self.local(*self.new_macs())
        self.counted(lambda: self.wire.send(hello(mac, self.mac, flags=LEAVING)), nodes_gone=1)
        self.assertEqual(self.g.mactbl(), {})
        for speaker in (self.two, self.three):
            speaker.expect_nodes(mac, flags=GONE)

    def test_silent(self):
        """A node that says nothing for node_life_ms is forgotten; one that does is not."""
        self.set(self.g, node_life_ms=1000)
        silent, there = self.local(*self.new_macs(2))
        self.g.knob("node_life_ms", 60000)

        def refreshed():
            self.wire.send(hello(there, self.mac))
            return self.g.mactbl().get(there, {"left_ms": 0})["left_ms"] > 10000
        wait_for(refreshed, "its life to begin anew", interval=0.01)
        wait_for(lambda: silent not in self.g.mactbl(), "it to be forgotten", interval=0.01)
        self.assertEqual(set(self.g.mactbl()), {there})
        self.two.expect_nodes(silent, flags=GONE)
        self.assertGreater(self.g.stat("nodes_expired"), 0)

    def test_asked(self):
        """ASK is answered with all nodes, in messages that fit every path; not too often."""
        macs = set(self.local(*self.new_macs(400)))
        self.set(self.g, refresh_ms=600000)
        self.two.expect_nodes(*macs)
        self.three.control(BEAT)
        self.two.control(ASK)
        heard = []
        while len(heard) < len(macs):
            message = self.two.expect(NODES)
            self.assertLessEqual(len(message.nodes), MAX_NODES)
            heard += message.nodes
        self.assertEqual(sorted(heard), sorted((mac, 0) for mac in macs))
        self.quiet()
        told, begin = 0, time.monotonic()

        def asked():
            nonlocal told
            for _ in range(20):
                self.two.control(ASK)
            told += sum(len(Control.parse(d.body).nodes) for d in self.two.heard()
                        if d.kind == CONTROL)
            return told >= 4 * len(macs)
        wait_for(asked, "four answers", interval=0.01)
        # Four times in hello_ms, which is 200, by a clock that may be late.
        self.assertGreater(time.monotonic() - begin, 0.1)

    def test_the_knob_mactbl_asks(self):
        """Any write: the zone and all gateways are asked anew."""
        self.local(*self.new_macs())
        self.quiet()
        self.g.knob("mactbl", "again")
        self.to_hello(lambda frame, said: said.flags & ASK_ME and frame.dst == BROADCAST)
        self.two.expect(ASK)
        self.three.expect(ASK)

    # Nodes of other zones.

    def both_ways(self, speaker, near, far):
        """A frame each way between a node here and one there, unchanged."""
        out = via(oae.OFFER, self.mac, near, far, vc=3, seq=7, payload=b"abc" * 100,
                  flags=oae.LAST)
        self.wire.send(out)
        self.assertTrue(same(speaker.expect_data(), out))
        back = via(oae.REFLECT, "02:00:00:00:00:99", far, near, seq=7, payload=bytes(16))
        speaker.data(back)
        came = self.to_zone(near)
        self.assertEqual(came.src, mac_bytes(self.mac))
        self.assertTrue(same(came, back))

    def test_forwarded(self):
        """Frames go to the gateway that has said NODES, and come from it, over both families."""
        near, = self.local(*self.new_macs())
        for speaker in (self.two, self.three):
            far, = self.remote(speaker, *self.new_macs())
            self.both_ways(speaker, near, far)

    def test_learned_from_data(self):
        """The source of a frame from a gateway is in its zone."""
        near, far = self.new_macs(2)
        self.local(near)
        self.two.data(via(oae.SYNC, BROADCAST, far, near))
        self.to_zone(near)
        self.assertEqual(self.g.where()[far], (2, "remote"))
        self.both_ways(self.two, near, far)

    def test_life(self):
        """What a message says is good for as long as it says; refreshed it stays."""
        short, kept = self.new_macs(2)

        def known():
            self.two.nodes(short, kept, life=5)
            return self.all_are((short, kept), 2, "remote")
        wait_for(known, "both to be known", interval=0.05)
        self.two.nodes(kept, life=600)
        wait_for(lambda: short not in self.g.mactbl(), "it to be forgotten", interval=0.01)
        self.assertIn(kept, self.g.mactbl())
        self.two.nodes(kept, life=1)
        wait_for(lambda: not self.g.mactbl(), "the other, too", interval=0.01)

    def test_gone(self):
        """GONE, and BYE."""
        one, two, three = self.new_macs(3)
        self.remote(self.two, one, two)
        self.remote(self.three, three)
        self.two.nodes(one, flags=GONE)
        wait_for(lambda: set(self.g.mactbl()) == {two, three}, "one to go")
        self.two.control(BYE)
        wait_for(lambda: set(self.g.mactbl()) == {three}, "all of its zone to go")

    def test_reborn(self):
        """A new incarnation of a gateway: its nodes go, it is asked."""
        old, new, other = self.new_macs(3)
        self.remote(self.two, old)
        self.remote(self.three, other)
        self.quiet()
        self.two.restart()
        self.two.nodes(new)
        wait_for(lambda: set(self.g.mactbl()) == {new, other}, "the old nodes to go")
        self.two.expect(ASK)

    def test_heard_again(self):
        """A gateway that was silent is asked when it is heard again."""
        wait_for(lambda: self.g.state(2) == "silent", "zone 2 to be silent", interval=0.01)
        self.quiet()
        self.two.control(BEAT)
        self.two.expect(ASK)
        self.all_up()

    def test_old_messages(self):
        """What was overtaken on the way does not undo what is newer."""
        mac, = self.remote(self.two, *self.new_macs())
        serial = self.two.serial
        self.two.nodes(mac, flags=GONE)
        wait_for(lambda: not self.g.mactbl(), "it to go")
        old = self.g.stat("old_control")
        self.two.nodes(mac, serial=serial)
        self.sync()
        self.assertGreater(self.g.stat("old_control"), old)
        self.assertEqual(self.g.mactbl(), {})

    def test_two_zones_claim_one(self):
        """The first stays, until it says that the node is gone."""
        mac, = self.remote(self.two, *self.new_macs())
        near, = self.local(*self.new_macs())
        self.counted(lambda: self.three.nodes(mac), conflict=1)
        self.counted(lambda: self.three.data(via(oae.SYNC, self.mac, mac, near)), conflict=1)
        self.assertEqual(self.g.where()[mac], (2, "remote"))
        self.both_ways(self.two, near, mac)
        self.two.nodes(mac, flags=GONE)
        wait_for(lambda: mac not in self.g.mactbl(), "it to go")
        self.remote(self.three, mac)
        self.both_ways(self.three, near, mac)

    def test_gone_from_another_zone(self):
        """That a zone's node is gone is for that zone to say."""
        mac, = self.remote(self.two, *self.new_macs())
        self.three.nodes(mac, flags=GONE)
        self.three.control(BYE)
        self.sync()
        self.assertEqual(self.g.where(), {mac: (2, "remote")})

    # Both say that they have it.

    def asked(self, mac):
        """The node is asked whether it is there."""
        return self.to_hello(lambda frame, said: frame.dst == mac_bytes(mac)
                             and said.flags & ASK_ME)

    def test_claimed(self):
        """Nodes of mine that another zone claims: who does not answer is let go, and is the other's;
        who answers stays."""
        there, gone = self.local(*self.new_macs(2))
        self.quiet()
        self.counted(lambda: self.two.nodes(there), own_claimed=1)
        self.asked(there)
        self.wire.send(hello(there, self.mac))
        self.sync()
        self.counted(lambda: self.two.nodes(gone), own_claimed=1)
        self.asked(gone)
        told = []

        def let_go(c):
            told.extend(c.nodes)
            return (gone, GONE) in c.nodes
        self.two.expect(NODES, match=let_go)
        self.assertNotIn((there, GONE), told)
        self.assertEqual(self.g.where(), {there: (1, "local"), gone: (2, "remote")})

    def test_claimed_without_a_word(self):
        """GONE or BYE of another zone does nothing to a node of mine."""
        mac, = self.local(*self.new_macs())
        self.two.nodes(mac, flags=GONE)
        self.two.control(BYE)
        self.sync()
        self.assertEqual(self.g.where(), {mac: (1, "local")})

    def test_speaks_here_and_is_elsewhere(self):
        """A node that the table has elsewhere: its frames are dropped, and it is claimed."""
        mac, = self.remote(self.two, *self.new_macs())
        other, = self.remote(self.three, *self.new_macs())
        self.quiet()
        frame = via(oae.SYNC, self.mac, mac, other)
        begin = time.monotonic()
        self.counted(lambda: self.wire.send(frame), conflict=1)
        claim = self.two.expect(NODES, 2)
        self.assertEqual([node for node, _ in claim.nodes], [mac])
        self.assertIn(claim.nodes[0][1], (0, CLAIM))
        claims = 0

        def claimed():
            nonlocal claims
            for _ in range(20):
                self.wire.send(frame)
            claims += sum((mac, claim.nodes[0][1]) in Control.parse(d.body).nodes
                          for d in self.two.heard() if d.kind == CONTROL)
            return claims >= 2
        wait_for(claimed, "it to be claimed again, twice", interval=0.01)
        # Once in hello_ms, which is 200, by a clock that may be late.
        self.assertGreater(time.monotonic() - begin, 0.25)
        self.assertEqual(self.g.where()[mac], (2, "remote"))
        self.two.nodes(mac, flags=GONE)
        wait_for(lambda: mac not in self.g.mactbl(), "it to be let go")
        self.wire.send(frame)
        self.assertTrue(same(self.three.expect_data(), frame))
        self.assertEqual(self.g.where()[mac], (1, "local"))

    def test_loop_in_the_zone(self):
        """A frame for a node of the zone it came from is not sent back into it."""
        one, two = self.local(*self.new_macs(2))
        self.counted(lambda: self.wire.send(via(oae.SYNC, self.mac, one, two)), loop=1)

    def test_loop_in_the_tunnel(self):
        """A frame from a gateway, of a node of mine or for a node of another zone, ends here."""
        near, = self.local(*self.new_macs())
        one, = self.remote(self.two, *self.new_macs())
        other, = self.remote(self.three, *self.new_macs())
        self.quiet()
        self.counted(lambda: self.two.data(via(oae.SYNC, self.mac, near, near[:-2] + "f0")),
                     loop=1)
        drops = [self.g.stat(name) for name in ("loop", "unknown_dst")]
        self.two.data(via(oae.SYNC, self.mac, one, other))
        self.two.data(via(oae.SYNC, self.mac, one, one[:-2] + "f1"))
        wait_for(lambda: sum(self.g.stat(name) for name in ("loop", "unknown_dst"))
                 == sum(drops) + 2, "both to be dropped")
        self.assertFalse([d for d in self.three.heard() + self.two.heard() if d.kind != CONTROL])

    def test_unknown(self):
        """Nobody has it."""
        mac, nobody = self.new_macs(2)
        self.local(mac)
        self.counted(lambda: self.wire.send(via(oae.SYNC, self.mac, mac, nobody)), unknown_dst=1)

    def test_about(self):
        """A link to a zone with a narrower path is told so when it synchronises."""
        near, = self.local(*self.new_macs())
        wide, = self.remote(self.two, *self.new_macs())
        narrow, = self.remote(self.three, *self.new_macs())
        self.quiet()
        for kind in (oae.SYNC, oae.SYNC_ACK):
            self.wire.send(via(kind, self.mac, near, wide, vc=6, payload=bytes(32)))
            self.wire.send(via(kind, self.mac, near, narrow, vc=9, payload=bytes(32)))
            frame, said = self.to_hello(lambda frame, said: said.flags & ABOUT)
            self.assertEqual((frame.dst, frame.vc), (mac_bytes(near), 9))
            self.assertEqual((said.about, said.mtu), (mac_bytes(narrow), 1500 - 40 - 16))
            self.three.expect_data()

    def test_too_big(self):
        """Longer than the path carries: dropped, and the sender is told what it does carry."""
        near, = self.local(*self.new_macs())
        narrow, = self.remote(self.three, *self.new_macs())
        room = 1500 - 40 - 16 - 60
        self.quiet()
        self.wire.send(via(oae.OFFER, self.mac, near, narrow, vc=9, payload=bytes(room)))
        self.assertEqual(len(self.three.expect_data().payload), room)
        self.counted(lambda: self.wire.send(via(oae.OFFER, self.mac, near, narrow, vc=9,
                                                payload=bytes(room + 1))),
                     too_big=1, too_big_told=1)
        frame, said = self.to_hello(lambda frame, said: said.flags & ABOUT)
        self.assertEqual((frame.dst, frame.vc, said.about, said.mtu),
                         (mac_bytes(near), 9, mac_bytes(narrow), 1500 - 40 - 16))

    def test_black_hole(self):
        """BEATs that have seen BEATs and no PROBE: what fits 1280 bytes; one that has seen all: all."""
        near, = self.local(*self.new_macs())
        narrow, = self.remote(self.three, *self.new_macs())

        def narrowed():
            self.three.control(BEAT, seen=100)
            return self.g.zone(3)["mtu"] == 1280 - 40 - 16
        wait_for(narrowed, "the path to be narrow", interval=0.05)
        self.assertEqual(self.g.zone(2)["mtu"], 1500 - 20 - 16)
        self.counted(lambda: self.wire.send(via(oae.OFFER, self.mac, near, narrow,
                                                payload=bytes(1280 - 56 - 51))),
                     too_big=1, too_big_told=1)
        self.three.control(BEAT)
        wait_for(lambda: self.g.zone(3)["mtu"] == 1500 - 40 - 16, "the path to be wide")

    def test_heard_by_nobody(self):
        """BEATs that have seen nothing at all say nothing of long datagrams."""
        before = self.g.stat("control_tx")

        def beaten():
            self.three.control(BEAT, seen=0)
            return self.g.stat("control_tx") >= before + 40
        wait_for(beaten, "ten BEATs and PROBEs to each zone", interval=0.05)
        self.assertEqual(self.g.zone(3)["mtu"], 1500 - 40 - 16)

    def test_burst_of_beats(self):
        """BEATs that waited for a handshake and came at once were taken for a black hole."""
        self.set(self.g, hello_ms=60000)        # no PROBE meanwhile
        for _ in range(20):
            self.three.control(BEAT, seen=100)
        self.sync()
        self.assertEqual(self.g.zone(3)["mtu"], 1500 - 40 - 16)
        self.three.control(BEAT)
