# SPDX-License-Identifier: GPL-2.0
"""A host and the gateway of its zone: HELLO, VIA, and the way that a link goes.

The gateway is a script on an AF_PACKET socket, and so are the peers behind it. What real gateways
do is tested elsewhere; here is what a host does, told the truth or lies.
"""

import errno
import random
import time

import oaewire as oae
from oaepeer import Peer, Wire
from oaetest import Cable, Host, load, wait_for
from shared import Shared
from topology import OneScript

BROADCAST = b"\xff" * 6
G, G2 = "02:0a:e0:04:00:01", "02:0a:e0:04:00:02"
MTU = 1400                      # what the gateways say
DIRECT, GW = "direct", "gw"


def way_of(frame):
    """How a frame of the host went."""
    return GW if frame.flags & oae.VIA else DIRECT


class Gateway(Peer):
    """A gateway: what it says, and the HELLOs that it hears."""

    def __init__(self, wire, to, mac=G):
        super().__init__(wire, to, mac=mac)
        self.gw_inc, self.epoch, self.gw_mtu = random.getrandbits(31) + 1, 7, MTU

    def packet(self, flags=0, dst=BROADCAST, src=None, vc=0, **given):
        """A HELLO, good but for what is given."""
        body = {"flags": oae.GATEWAY | flags, "zone": 1, "mtu": self.gw_mtu, "epoch": self.epoch,
                "inc": self.gw_inc, "life": 600, "node_life": 9000} | given
        return oae.Frame(oae.HELLO, dst=oae.mac_bytes(dst), src=oae.mac_bytes(src or self.mac),
                         vc=vc, payload=oae.hello_body(**body))

    def hello(self, flags=0, **given):
        """Say HELLO."""
        self.wire.send(self.packet(flags, **given))

    def about(self, peer, mtu, **given):
        """Say what mtu one peer has."""
        self.hello(oae.ABOUT, **({"dst": self.to, "about": peer.mac, "vc": peer.vc, "mtu": mtu} |
                                 given))

    def heard(self, **wanted):
        """The host's HELLO that has come, checked."""
        f = self.expect(oae.HELLO, src=oae.mac_bytes(self.to), dst=oae.mac_bytes(self.mac), vc=0,
                        via=b"", flags=0, src_ltag=0, dst_ltag=0)
        body = {"flags": 0, "zero": 0, "zone": 0, "mtu": 1500, "epoch": 0, "inc": 0, "life": 0,
                "node_life": 0, "about": bytes(6), "zero2": 0} | wanted
        if f.hello != body:
            raise AssertionError(f"expected {body}, got {f.hello}")
        return f


class HostTest(Shared, OneScript):
    """A gateway or two, and peers, on the cable or behind the gateway."""

    KNOBS = {"use_gw": "auto", "nhmac": "auto", "stranger_pps": 100000, "stall_min_us": 1000,
             "stall_max_us": 200000, "keepalive_ms": 600000, "dead_ms": 3600000, "linger_ms": 0,
             "vci": 0, "target": "", "shutdown": 0, "express": 0}
    numbers = iter(range(1, 1000))

    def setUp(self):
        super().setUp()
        self.a.knob("dev", "")          # no link, and no gateway, of the test before
        self.a.knobs(**self.KNOBS)
        self.a.knob("dev", "va")
        self.a.read_all()
        self.wire.frames()
        self.gw = Gateway(self.wire, self.cable.mac_a)
        self.before = self.a.stats()

    def peer(self, gateway=None, **kwargs):
        """One not known yet; behind a gateway if given."""
        n = next(self.numbers)
        return Peer(self.wire, self.cable.mac_a, mac=f"02:0a:e0:05:{n >> 8:02x}:{n & 255:02x}",
                    gateway=gateway, **kwargs)

    def patient(self):
        """Links do not fail by themselves, however slow this is."""
        self.a.knobs(stall_max_us=10000000, stall_min_us=1000000)

    def moved(self, *names):
        """What counters have moved by."""
        after = self.a.stats()
        got = [after[name] - self.before[name] for name in names]
        return got if len(got) > 1 else got[0]

    def meet(self, gateway=None, **given):
        """The host hears its gateway and answers."""
        gateway = gateway or self.gw
        gateway.hello(**given)
        gateway.heard()

    def in_use(self):
        """The gateway that the host says it uses."""
        text = self.a.knob("nhmac")
        return text.removeprefix("auto").strip() or None

    def way(self, peer):
        """The way of a peer's tag."""
        return self.a.tag(vc=peer.vc, peer=peer.mac)["way"]

    def settle(self):
        """All that was sent to the host has been dealt with."""
        self.wire.barrier(self.cable.mac_a)
        self.wire.pump()


class Hello(HostTest):
    """HELLO: which is heard, and which is answered."""

    def test_learned(self):
        """The first one makes a gateway: it is in use, and is answered."""
        self.assertEqual(self.a.knob("nhmac"), "auto")
        self.gw.hello()
        self.gw.heard()
        self.assertEqual(self.a.knob("nhmac"), f"auto {G}")
        self.assertEqual(self.moved("hello_heard", "hello_sent"), [1, 1])

    def test_unicast(self):
        """Not only by broadcast."""
        self.gw.hello(dst=self.cable.mac_a)
        self.gw.heard()
        self.assertEqual(self.in_use(), G)

    def test_answered_once(self):
        """What was answered is not answered again, but for ASK and for another incarnation."""
        self.meet()
        self.gw.hello()
        self.gw.silence()
        self.gw.hello(oae.HELLO_ASK)
        self.gw.heard()
        self.gw.hello(oae.HELLO_ASK, dst=self.cable.mac_a)
        self.gw.heard()
        self.gw.gw_inc += 1
        self.gw.hello()
        self.gw.heard()
        self.gw.hello()
        self.gw.silence()
        self.assertEqual(self.moved("hello_heard", "hello_sent"), [6, 4])

    def test_answered_again(self):
        """After a third of node_life, and not before."""
        begin = time.monotonic()
        self.meet()

        def answered():
            self.gw.hello(node_life=9)
            self.settle()
            return bool(self.gw.inbox)

        wait_for(answered, "another answer")
        self.assertGreater(time.monotonic() - begin, 0.28)
        self.gw.heard()

    def test_mtu_said(self):
        """The host's HELLO says its port's MTU."""
        self.a.mtu("va", 1300)
        self.addCleanup(self.a.mtu, "va", 1500)
        self.gw.hello()
        self.gw.heard(mtu=1300)

    def test_first_stays(self):
        """Another one is not listened to, as long as the first is there."""
        self.meet()
        other = Gateway(self.wire, self.cable.mac_a, G2)
        for flags in (0, oae.HELLO_ASK, oae.LEAVING):
            other.hello(flags)
            other.hello(flags, dst=self.cable.mac_a)
        other.silence()
        self.assertEqual(self.in_use(), G)
        self.assertEqual(self.moved("hello_heard", "no_tag"), [1, 6])

    def test_silent(self):
        """A gateway that was silent for its life makes room for another."""
        begin = time.monotonic()
        self.meet(life=4)
        other = Gateway(self.wire, self.cable.mac_a, G2)

        def taken():
            other.hello()
            self.settle()
            return self.in_use() == G2

        wait_for(taken, "the other gateway to be taken")
        self.assertGreater(time.monotonic() - begin, 0.38)
        other.heard()
        self.gw.hello()                 # too late
        self.gw.silence()
        self.assertEqual(self.in_use(), G2)

    def test_still_heard(self):
        """Silent means silent: each HELLO begins its life anew."""
        self.meet(life=1)
        begin = time.monotonic()
        self.gw.hello(life=600)
        wait_for(lambda: time.monotonic() > begin + 0.15, "the life of the first to be over")
        other = Gateway(self.wire, self.cable.mac_a, G2)
        other.hello()
        self.settle()
        self.assertEqual(self.in_use(), G)
        self.assertFalse(other.inbox)

    def test_leaving(self):
        """LEAVING: at once; but not if it is of an incarnation before."""
        self.meet()
        self.gw.hello(oae.LEAVING, inc=self.gw.gw_inc + 1)
        self.settle()
        self.assertEqual(self.in_use(), G)
        self.gw.hello(oae.LEAVING)
        self.settle()
        self.assertIsNone(self.in_use())
        self.meet(Gateway(self.wire, self.cable.mac_a, G2))
        self.assertEqual(self.in_use(), G2)

    def test_rate_limit(self):
        """Answers count against stranger_pps; what was not answered is the next time."""
        self.a.knob("stranger_pps", 0)
        for _ in range(5):
            self.gw.hello(oae.HELLO_ASK)
        wait_for(lambda: self.moved("hello_heard") == 5, "the HELLOs to be heard")
        self.assertEqual(self.moved("hello_sent", "stranger_quiet"), [0, 5])
        self.assertEqual(self.in_use(), G)
        self.a.knob("stranger_pps", 100000)
        self.gw.hello()
        self.gw.heard()

    def test_flood(self):
        """However often it asks, there are so many answers a second."""
        begin = time.monotonic()
        self.a.knob("stranger_pps", 10)
        for _ in range(300):
            self.gw.hello(oae.HELLO_ASK)
        wait_for(lambda: self.moved("hello_heard") == 300, "the HELLOs to be heard")
        sent, quiet = self.moved("hello_sent", "stranger_quiet")
        self.assertLessEqual(sent, 20 + 10 * (time.monotonic() - begin))
        self.assertEqual(sent + quiet, 300)

    def test_malformed(self):
        """What no gateway says is counted and has no effect."""
        bad = [{"zone": 0}, {"inc": 0}, {"life": 0}, {"mtu": 139}, {"mtu": 0},
               {"flags": 0x10}, {"flags": 0x80 | oae.HELLO_ASK}, {"src": "03:0a:e0:04:00:01"},
               {"src": bytes(6)}, {"flags": oae.ABOUT}, {"flags": oae.ABOUT, "about": BROADCAST},
               {"flags": oae.LEAVING, "zone": 0}, {"flags": oae.LEAVING, "inc": 0}]
        for n, given in enumerate(bad):
            for dst in (BROADCAST, self.cable.mac_a):
                self.gw.hello(dst=dst, **given)
            with self.subTest(given):
                self.gw.silence()
                self.assertEqual(self.moved("bad_field", "hello_heard"), [2 * n + 2, 0])
        self.assertIsNone(self.in_use())
        self.meet(mtu=140)
        for given in bad:
            self.gw.hello(**given)
        self.gw.silence()
        self.assertEqual(self.in_use(), G)

    def test_not_taken(self):
        """HELLO of hosts, with VIA, or of the host's own address: of no use to a host."""
        host = self.gw.packet()
        host.payload = oae.hello_body(flags=oae.HELLO_ASK, zone=1, inc=1, life=100, mtu=MTU)
        own = self.gw.packet(src=self.cable.mac_a, dst=BROADCAST)
        through = self.gw.packet(dst=self.cable.mac_a)
        through.flags, through.via = oae.VIA, oae.via(self.cable.mac_a, G)
        for frame in (host, own, through):
            self.wire.send(frame)
        self.gw.silence()
        self.assertEqual(self.moved("no_tag", "not_mine", "hello_heard", "hello_sent"),
                         [1, 2, 0, 0])
        self.assertIsNone(self.in_use())

    def test_not_used(self):
        """Who does not use gateways does not tell them of itself."""
        self.a.knob("use_gw", "0")
        self.gw.hello(oae.HELLO_ASK)
        self.gw.silence()
        self.assertEqual(self.moved("hello_heard", "hello_sent"), [1, 0])
        self.a.knob("use_gw", "auto")
        self.gw.hello()
        self.gw.heard()
        self.a.knob("use_gw", "0")
        self.gw.heard(flags=oae.LEAVING)

    def test_only_hello_by_broadcast(self):
        """Nothing else is."""
        peer = self.peer()
        for opcode in (*range(oae.SYNC, oae.NOLINK + 1), oae.ASK, oae.ACK):
            if opcode != oae.HELLO:
                peer.send(opcode, dst=BROADCAST)
        peer.silence()
        self.assertEqual(self.moved("not_mine"), 15)


class Leaving(HostTest):
    """A host that goes says so."""

    def test_released(self):
        """A port that is released."""
        self.meet()
        self.a.knob("dev", "")
        self.gw.heard(flags=oae.LEAVING)

    def test_no_gateway(self):
        """Nobody to tell."""
        self.a.knob("dev", "")
        self.a.knob("dev", "va")
        self.gw.silence()

    def test_namespace(self):
        """A namespace that ends."""
        host = Host("gone")
        cable = Cable(host, "vg", self.p, "vq")
        host.add_port("vg")
        wire = Wire(self.p, "vq")
        self.addCleanup(wire.close)
        gateway = Gateway(wire, cable.mac_a)
        self.meet(gateway)
        host.close()
        gateway.heard(flags=oae.LEAVING)

    def test_address(self):
        """Another address: the old one leaves, the new one is there at once."""
        self.meet()
        old, new = self.cable.mac_a, "02:0a:e0:06:00:01"
        self.a.sh(f"ip link set va address {new}")
        self.addCleanup(self.a.sh, f"ip link set va address {old}")
        self.gw.heard(flags=oae.LEAVING)
        self.gw.to = new
        self.gw.heard()
        self.gw.hello()
        self.gw.silence()               # it knows already
        self.a.sh(f"ip link set va address {new}")      # the same again is no news
        self.gw.silence()


class Ways(HostTest):
    """Which way a link goes."""

    def setUp(self):
        super().setUp()
        self.meet()

    def post(self, peer, data=b"by whatever way"):
        """The kernel gets something to send."""
        self.a.write(data, nonblock=True, target=peer.mac, vc=peer.vc)

    def ways(self, peer, n):
        """The ways of the next n SYNCs, and what MTU they say."""
        syncs = [peer.expect(oae.SYNC) for _ in range(n)]
        for sync in syncs:
            dst = G if sync.flags & oae.VIA else peer.mac
            self.assertEqual(sync.dst, oae.mac_bytes(dst))
            self.assertEqual(sync.src, oae.mac_bytes(self.cable.mac_a))
            self.assertIn(sync.via, (b"", oae.via(peer.mac, self.cable.mac_a)))
        return [way_of(sync) for sync in syncs], [sync.mtu for sync in syncs]

    def test_not_for_me(self):
        """VIA is taken from the gateway alone, and only what is for this port."""
        self.a.knob("nhmac", "auto")
        peer = self.peer(gateway=G)
        mine = self.cable.mac_a
        wrong = [{"src": oae.mac_bytes(G2)}, {"src": oae.mac_bytes(peer.mac)},
                 {"via": oae.via(G, peer.mac)}, {"via": oae.via(peer.mac, peer.mac)},
                 {"via": oae.via(BROADCAST, peer.mac)}, {"via": oae.via(mine, BROADCAST)},
                 {"via": oae.via(mine, bytes(6))}, {"via": oae.via(mine, mine)},
                 {"via": oae.via(mine, "03:0a:e0:00:00:01")}]
        for n, given in enumerate(wrong):
            with self.subTest(given):
                peer.send(oae.SYNC, dst_ltag=0, **given)
                peer.silence()
                self.assertEqual(self.moved("not_mine", "stranger"), [n + 1, n + 1])
        peer.open()

    def test_no_gateway_no_via(self):
        """Without a gateway there is no VIA at all."""
        self.gw.hello(oae.LEAVING)
        peer = self.peer(gateway=G)
        peer.send(oae.SYNC, dst_ltag=0)
        self.settle()
        self.assertFalse(peer.inbox)
        self.assertEqual(self.moved("not_mine"), 1)

    def test_peer_opens(self):
        """A peer behind the gateway opens: every answer goes back that way."""
        self.patient()
        peer = self.peer(gateway=G)
        peer.send(oae.SYNC, dst_ltag=0)
        cookie = peer.expect(oae.SYNC_CHK, flags=oae.VIA, dst=oae.mac_bytes(G),
                             via=oae.via(peer.mac, self.cable.mac_a))
        self.assertEqual(self.moved("tags_made"), 0)
        peer.send(oae.SYNC, dst_ltag=cookie.src_ltag)
        sync = peer.expect(oae.SYNC, flags=oae.VIA, mtu=MTU - 12)
        peer.far_ltag, peer.far_inc, peer.rx = sync.src_ltag, sync.inc, sync.start
        peer.send(oae.SYNC_ACK)
        peer.expect(oae.SYNC_ACK, flags=oae.VIA)
        self.assertEqual(self.way(peer), GW)
        peer.offered(b"from afar" * 500, slice_max=1300)
        peer.commit(flags=oae.WANT_DONE)
        peer.expect(oae.DONE, flags=oae.VIA)
        self.assertEqual(self.a.read_each(), [b"from afar" * 500])
        data = bytes(range(256)) * 20
        self.post(peer, data)
        first, slices = peer.take()
        self.assertEqual({len(s) for s in slices[:-1]}, {MTU - 12 - 48})
        self.assertEqual((first.dst, way_of(first)), (oae.mac_bytes(G), GW))
        peer.reflect(first, slices)
        self.assertEqual(b"".join(slices), data)
        peer.expect(oae.COMMIT)
        self.assertEqual(self.moved("way_changed", "note_broken"), [0, 0])

    def test_strangers_answered(self):
        """NOLINK, CLOSE_ACK and refusals go back the way of the question, too."""
        for gateway, way in ((None, DIRECT), (G, GW)):
            peer = self.peer(gateway=gateway)
            peer.far_ltag = peer.draw()
            for opcode, answer in ((oae.COMMIT, oae.NOLINK), (oae.CLOSE, oae.CLOSE_ACK)):
                peer.send(opcode)
                self.assertEqual(way_of(peer.expect(answer)), way)
            self.a.knob("accept", "none")
            peer.send(oae.SYNC)
            self.assertEqual(way_of(peer.expect(oae.CLOSE, reason=oae.POLICY)), way)
            self.a.knob("accept", "any")

    def asked(self, peer, way):
        """The next SYNC by this way, learned; what came before it is passed over."""
        sync = peer.expect(oae.SYNC)
        while way_of(sync) != way:
            sync = peer.expect(oae.SYNC)
        peer.far_ltag, peer.far_inc = sync.src_ltag, sync.inc
        return sync

    @staticmethod
    def answered(peer):
        """The SYNC_ACK that follows, after what was asked meanwhile."""
        answer = peer.next()
        while answer.opcode == oae.SYNC:
            answer = peer.next()
        if answer.opcode != oae.SYNC_ACK:
            raise AssertionError(f"expected SYNC_ACK, got {answer}")
        return answer

    def test_auto(self):
        """We open: two SYNCs direct, two through the gateway, and so on; then as it is answered."""
        self.a.knob("stall_max_us", 20000)
        peer = self.peer()
        self.post(peer)
        ways, mtus = self.ways(peer, 8)
        self.assertEqual(ways, [DIRECT, DIRECT, GW, GW] * 2)
        self.assertEqual(mtus, [1500, 1500, MTU - 12, MTU - 12] * 2)
        peer.rx = self.asked(peer, GW).start
        peer.gateway = G
        self.patient()
        peer.send(oae.SYNC)
        self.assertEqual(way_of(self.answered(peer)), GW)
        self.assertEqual(peer.accept(), b"by whatever way")
        self.assertEqual(self.way(peer), GW)

    def test_auto_direct(self):
        """Answered direct, it stays direct."""
        self.patient()
        peer = self.peer()
        self.post(peer)
        peer.answer_sync()
        self.assertEqual(peer.accept(), b"by whatever way")
        self.assertEqual((self.way(peer), self.moved("way_changed")), (DIRECT, 0))

    def test_auto_alone(self):
        """Without a gateway there is nothing to try."""
        self.gw.hello(oae.LEAVING)
        self.a.knob("stall_max_us", 20000)
        peer = self.peer()
        self.post(peer)
        self.assertEqual(self.ways(peer, 6)[0], [DIRECT] * 6)
        self.assertEqual(self.moved("no_gateway", "way_changed"), [0, 0])

    def test_always(self):
        """use_gw 1: through the gateway at once, and answers as well."""
        self.a.knobs(use_gw="1", stall_max_us=20000)
        peer = self.peer()
        self.post(peer)
        ways, mtus = self.ways(peer, 5)
        self.assertEqual((set(ways), set(mtus)), ({GW}, {MTU - 12}))
        stranger = self.peer()
        stranger.send(oae.CLOSE)
        self.assertEqual(way_of(stranger.expect(oae.CLOSE_ACK)), GW)

    def test_always_without(self):
        """use_gw 1 and no gateway: nothing is sent, and counted; one that comes is used."""
        self.gw.hello(oae.LEAVING)
        self.a.knobs(use_gw="1", stall_max_us=20000)
        self.settle_quietly()
        peer = self.peer()
        self.post(peer)
        wait_for(lambda: self.moved("no_gateway") >= 4, "frames not to be sent")
        self.wire.pump()
        self.assertFalse(peer.inbox)
        self.gw.hello()
        self.asked(peer, GW)
        self.patient()
        peer.gateway = G
        peer.send(oae.SYNC)
        self.answered(peer)
        self.assertEqual(peer.accept(), b"by whatever way")

    def settle_quietly(self):
        """The gateway has left."""
        wait_for(lambda: self.in_use() is None, "the gateway to be forgotten")

    def test_never(self):
        """use_gw 0: direct, and VIA is not taken."""
        self.a.knobs(use_gw="0", stall_max_us=20000)
        self.gw.heard(flags=oae.LEAVING)
        peer = self.peer()
        self.post(peer)
        self.assertEqual(self.ways(peer, 6)[0], [DIRECT] * 6)
        far = self.peer(gateway=G)
        far.send(oae.SYNC, dst_ltag=0)
        wait_for(lambda: self.moved("not_mine") == 1, "VIA to be refused")
        self.assertFalse(far.inbox)

    def test_knob_turned(self):
        """A link follows the knob at its next event, and its ends meet again."""
        self.patient()
        peer = self.peer().open()
        self.a.knob("use_gw", "1")
        self.post(peer, b"turned")
        sync = peer.expect(oae.SYNC, flags=oae.VIA, mtu=MTU - 12)
        peer.gateway = G
        peer.far_ltag = sync.src_ltag
        peer.ltag = peer.draw()
        peer.send(oae.SYNC)
        peer.expect(oae.SYNC_ACK, flags=oae.VIA)
        self.assertEqual(peer.accept(), b"turned")
        peer.expect(oae.COMMIT, flags=oae.VIA)
        self.assertEqual((self.way(peer), self.moved("way_changed")), (GW, 1))
        self.a.knob("use_gw", "auto")           # goes on as it went
        self.post(peer, b"auto again")
        self.assertEqual(peer.accept(flags=oae.VIA | oae.LAST), b"auto again")

    def test_moves_and_comes_back(self):
        """A link goes over to the gateway and back with a transaction in flight: once each."""
        self.patient()
        peer = self.peer().open()
        self.a.knobs(stall_min_us=1000, stall_max_us=50000)
        self.post(peer, b"offered direct")
        peer.take(seq=1)
        # Nobody answers: it freezes, and asks the two ways in turn.
        self.asked(peer, GW)
        self.patient()
        peer.gateway = G
        peer.ltag = peer.draw()
        peer.send(oae.SYNC)
        self.assertEqual(way_of(self.answered(peer)), GW)
        self.assertEqual(peer.accept(seq=1), b"offered direct")
        peer.expect(oae.COMMIT, tx=1, flags=oae.VIA)
        self.assertEqual(self.way(peer), GW)
        # One of the peer's is held when the peer comes back by the other way.
        peer.offered(b"held through the gateway")
        peer.gateway = None
        peer.ltag = peer.draw()
        peer.tx += 1
        peer.send(oae.SYNC)
        while (sync := peer.expect(oae.SYNC)).dst_ltag != peer.ltag:
            pass
        self.assertEqual((way_of(sync), sync.mtu), (DIRECT, 1500))
        peer.far_ltag = sync.src_ltag
        peer.send(oae.SYNC_ACK)
        self.answered(peer)
        peer.silence()
        self.assertEqual(self.a.read_each(), [b"held through the gateway"])
        self.assertEqual(self.way(peer), DIRECT)
        self.post(peer, b"direct again")
        self.assertEqual(peer.accept(seq=2), b"direct again")
        # One more than it was turned by these: it tried in vain before.
        self.assertEqual(self.moved("committed", "delivered", "reversed", "note_broken"),
                         [2, 1, 0, 0])
        self.assertGreaterEqual(self.moved("way_changed"), 2)

    def test_stranger_cannot_turn(self):
        """Only who names the current ltag turns a link; others get their answer, no more."""
        self.patient()
        for gateway, other in ((None, G), (G, None)):
            peer = self.peer(gateway=gateway).open()
            way = self.way(peer)
            peer.gateway = other
            right = peer.far_ltag
            for opcode in (*range(oae.SYNC, oae.NOLINK + 1), oae.ASK, oae.ACK):
                if oae.OPCODES[opcode - 1] not in (None, "HELLO"):
                    body = {oae.REFUSE: {"reason": oae.BUSY},
                            oae.REFLECT: {"payload": bytes(16)},
                            oae.ACK: {"payload": bytes(8)}}
                    peer.send(opcode, **{"dst_ltag": right ^ 0x100, "src_ltag": peer.ltag ^ 0x100}
                              | body.get(opcode, {}))
            peer.send(oae.SYNC, dst_ltag=0, src_ltag=peer.ltag ^ 0x200)
            # The two SYNCs are answered if they came from the peer's own address.
            for _ in range(0 if other else 2):
                chk = peer.expect(oae.SYNC_CHK, src_ltag=right)
                self.assertEqual(way_of(chk), DIRECT)
            peer.silence()
            self.assertEqual(self.way(peer), way)
            peer.gateway = gateway
            peer.offered(b"still here")
        self.assertEqual(self.moved("way_changed"), 0)

    def test_probe_turns(self):
        """A probe by the other way names both ltags: the link follows."""
        self.patient()
        peer = self.peer().open()
        peer.gateway = G
        peer.send(oae.SYNC)
        sync = peer.expect(oae.SYNC, flags=oae.VIA, mtu=MTU - 12)
        while peer.inbox:
            sync = peer.expect(oae.SYNC, flags=oae.VIA)
        peer.far_ltag, peer.ltag = sync.src_ltag, peer.draw()
        peer.send(oae.SYNC)
        self.assertEqual(peer.next().opcode, oae.SYNC_ACK)
        self.assertEqual((self.way(peer), self.moved("way_changed")), (GW, 1))

    def test_gateway_leaves(self):
        """Its gateway leaves: the link asks direct; comes back: it goes as before."""
        self.patient()
        peer = self.peer(gateway=G).open()
        self.gw.hello(oae.LEAVING)
        self.settle()
        self.post(peer)
        sync = peer.expect(oae.SYNC, mtu=1500)
        self.assertEqual(way_of(sync), DIRECT)
        self.gw.hello()
        peer.far_ltag, peer.ltag = sync.src_ltag, peer.draw()
        peer.send(oae.SYNC)
        answer = peer.expect(oae.SYNC_ACK)
        self.assertEqual(way_of(answer), GW)
        self.assertEqual(peer.accept(flags=oae.VIA | oae.LAST), b"by whatever way")

    def test_same_tag(self):
        """A tag is the peer and the vc, whichever way: no second one is made."""
        self.patient()
        peer = self.peer(gateway=G).open()
        kid = self.a.tag(peer=peer.mac)["kid"]
        self.assertEqual(kid, int(peer.mac.replace(":", ""), 16))
        peer.gateway = None
        peer.send(oae.CLOSE)
        self.assertEqual(self.moved("tags_made"), 1)

    def test_jumbo_payload(self):
        """Slices with VIA whose payload does not lie in the skb's head."""
        self.a.mtu("va", 9000)
        self.p.mtu("vp", 9000)
        self.addCleanup(self.a.mtu, "va", 1500)
        self.addCleanup(self.p.mtu, "vp", 1500)
        self.patient()
        peer = self.peer(gateway=G, mtu=8988).open()
        for size in (8900, 40000, 1, 53):
            data = random.randbytes(size)
            peer.offered(data, slice_max=8900)
            peer.commit(flags=oae.WANT_DONE)
            peer.expect(oae.DONE)
            self.assertEqual(self.a.read_each(), [data])


class Takeover(HostTest):
    """A host that has nothing but its own address, and says that it is the gateway.

    It says that the peer is behind it. What is sent to the peer, direct or through that gateway,
    is in the inbox of the true one.
    """

    def setUp(self):
        super().setUp()
        self.patient()
        self.true = self.peer()
        self.false = Peer(self.wire, self.cable.mac_a, mac=self.true.mac, gateway=G)
        self.wire.add(self.true)
        self.meet()

    def in_vain(self):
        """The false one asks in all the ways that it can without an ltag of this host's."""
        for opcode in range(oae.SYNC, oae.NOLINK + 1):
            if opcode not in (oae.HELLO, oae.OFFER, oae.REFLECT, oae.REFUSE):
                self.false.send(opcode, dst_ltag=0)
                self.false.send(opcode, dst_ltag=self.false.draw())
        self.true.silence()

    def heard_direct(self, opcode, **wanted):
        """The next frame, which does not go through the gateway."""
        return self.true.expect(opcode, dst=oae.mac_bytes(self.true.mac), via=b"", **wanted)

    def still_direct(self):
        """The link is the true one's."""
        self.true.offered(b"still here")
        self.true.commit()
        self.true.silence()
        self.assertEqual(self.a.read_each(), [b"still here"])
        self.assertEqual((self.way(self.true), self.moved("way_changed")), (DIRECT, 0))

    def test_open(self):
        """While the peer is heard direct nobody is answered elsewhere, and so learns no ltag."""
        self.true.open()
        self.in_vain()
        self.assertEqual(self.moved("note_stale_sync", "note_peer_froze"), [6, 0])
        self.still_direct()

    def test_ltag_guessed(self):
        """This end's ltag alone turns no link: it asks where the peer is."""
        self.true.open()
        for opcode in (oae.SYNC, oae.NOLINK):
            self.false.send(opcode, dst_ltag=self.true.far_ltag)
            sync = self.heard_direct(oae.SYNC)
            self.true.far_ltag = sync.src_ltag
            if sync.dst_ltag != self.true.ltag:
                self.true.send(oae.SYNC_CHK)
                self.heard_direct(oae.SYNC, dst_ltag=self.true.ltag)
            self.in_vain()
            self.true.send(oae.SYNC)
            self.heard_direct(oae.SYNC_ACK, dst_ltag=self.true.ltag)
        self.still_direct()

    def test_frozen(self):
        """Nor is it while the ends synchronise."""
        self.true.open()
        self.true.freeze()
        self.in_vain()
        self.true.resolve()
        self.still_direct()

    def test_opening(self):
        """Nor while a link is being opened from here, direct at first."""
        self.a.write(b"for the true one", nonblock=True, target=self.true.mac)
        sync = self.heard_direct(oae.SYNC)
        self.in_vain()
        self.true.far_ltag, self.true.far_inc, self.true.rx = sync.src_ltag, sync.inc, sync.start
        self.true.send(oae.SYNC)
        self.heard_direct(oae.SYNC_ACK)
        self.assertEqual(self.true.accept(), b"for the true one")

    def test_silent(self):
        """One probe without an answer proves nothing; after the second any way is as good."""
        self.true.open()
        self.a.knobs(stall_min_us=1000, stall_max_us=50000, keepalive_ms=200)

        def answered():
            self.false.send(oae.SYNC, dst_ltag=0)
            self.settle()
            return any(way_of(f) == GW for f in self.true.inbox)
        wait_for(answered, "an answer through the gateway")
        heard = [(f.opcode, way_of(f)) for f in self.true.inbox]
        first = heard.index((oae.SYNC_CHK, GW))
        self.assertGreaterEqual(heard[:first].count((oae.SYNC, DIRECT)), 2)

    def test_peer_comes_back(self):
        """A peer that was silent may be anybody behind a gateway, until it is heard direct."""
        self.true.open()
        self.a.knobs(stall_min_us=1000, stall_max_us=20000)
        self.a.write(b"nobody hears", nonblock=True, target=self.true.mac)
        wait_for(lambda: self.settle() or any(way_of(f) == GW for f in self.true.inbox),
                 "the gateway to be tried")
        self.patient()
        asked = [f for f in self.true.inbox if f.opcode == oae.SYNC][-1]
        self.false.send(oae.SYNC, dst_ltag=asked.src_ltag)
        wait_for(lambda: self.way(self.true) == GW and
                 self.a.tag(peer=self.true.mac)["state"] == "OPEN", "the false one to have it")
        self.settle()
        self.true.inbox.clear()
        # It is back, and knows nothing of that.
        self.true.ltag = self.true.draw()
        answer = None
        while not answer or answer.opcode != oae.SYNC_ACK:
            self.true.send(oae.SYNC)
            self.settle()
            answer = [f for f in self.true.inbox if f.dst_ltag == self.true.ltag and
                      f.opcode in (oae.SYNC, oae.SYNC_ACK, oae.SYNC_CHK)][-1]
            self.assertEqual(way_of(answer), DIRECT)
            self.true.far_ltag, self.true.far_inc = answer.src_ltag, answer.inc
            self.true.rx = answer.start
            while self.true.inbox.popleft() is not answer:
                pass
        self.assertEqual(self.way(self.true), DIRECT)
        self.assertEqual(self.true.accept(), b"nobody hears")
        self.heard_direct(oae.COMMIT)
        self.in_vain()


class Mtu(HostTest):
    """Slices fit what the gateway announces."""

    def setUp(self):
        super().setUp()
        self.patient()
        self.meet()
        self.peer_ = self.peer(gateway=G).open()

    def offer_slices(self, peer, data, **wanted):
        """The next offer's slices' length, and its frame; not answered."""
        first, slices = peer.take(**wanted)
        self.assertEqual(b"".join(slices), data)
        return first, slices, len(slices[0])

    def meet_again(self, peer, mtu):
        """The kernel has frozen because of its MTU: resolve."""
        sync = peer.expect(oae.SYNC, mtu=mtu - 12)
        peer.far_ltag, peer.ltag = sync.src_ltag, peer.draw()
        peer.send(oae.SYNC)
        peer.expect(oae.SYNC_ACK)

    def send(self, peer, mtu, data=bytes(range(250)) * 20):
        """One transaction, in slices as long as that MTU allows."""
        self.a.write(data, nonblock=True, target=peer.mac, vc=peer.vc)
        first, slices, length = self.offer_slices(peer, data)
        self.assertEqual(length, mtu - 12 - 48)
        peer.reflect(first, slices)
        peer.rx = first.seq
        peer.expect(oae.COMMIT)

    def test_about(self):
        """ABOUT one peer, in mid-transfer: cut anew, at once, nothing lost or doubled."""
        peer, data = self.peer_, bytes(range(250)) * 20
        self.a.write(data, nonblock=True, target=peer.mac, vc=peer.vc)
        self.assertEqual(self.offer_slices(peer, data)[2], MTU - 60)
        self.gw.about(peer, 600)
        self.meet_again(peer, 600)
        first, slices, length = self.offer_slices(peer, data, seq=1)
        self.assertEqual(length, 600 - 60)
        peer.reflect(first, slices)
        peer.rx = 1
        peer.expect(oae.COMMIT, tx=1)
        self.assertEqual(self.moved("committed", "reversed", "note_broken"), [1, 0, 0])
        self.gw.about(peer, 600)        # no news
        peer.silence()
        self.send(peer, 600)

    def test_about_another(self):
        """ABOUT another peer, or another vc, or by another gateway, is not about this one."""
        other, far = self.peer(), self.peer(gateway=G).open()
        self.gw.about(other, 600)
        self.gw.about(self.peer_, 600, vc=9)
        self.gw.about(self.peer_, 600, src=G2)
        self.peer_.silence()
        self.send(self.peer_, MTU)
        self.gw.about(self.peer_, 600)
        self.meet_again(self.peer_, 600)
        self.send(far, MTU)
        self.assertIsNone(self.a.tag(peer=other.mac))

    def test_about_direct(self):
        """What is said of a peer that goes direct holds once it does not."""
        peer = self.peer().open()
        self.gw.about(peer, 600)
        peer.silence()
        peer.gateway = G
        peer.send(oae.SYNC)             # a probe, which names both ltags
        sync = peer.expect(oae.SYNC, mtu=588)
        while peer.inbox:
            sync = peer.expect(oae.SYNC, mtu=588)
        peer.far_ltag, peer.ltag = sync.src_ltag, peer.draw()
        peer.send(oae.SYNC)
        peer.expect(oae.SYNC_ACK, mtu=588)
        self.send(peer, 600)

    def test_epoch(self):
        """Another epoch: what was said ABOUT is void."""
        peer = self.peer_
        self.gw.about(peer, 600)
        self.meet_again(peer, 600)
        self.gw.hello()                 # of the same epoch: it stays
        self.send(peer, 600)
        self.gw.epoch += 1
        self.gw.hello()
        self.settle()
        self.a.write(b"x", nonblock=True, target=peer.mac, vc=peer.vc)
        self.meet_again(peer, MTU)
        self.assertEqual(peer.accept(), b"x")
        peer.expect(oae.COMMIT)
        self.send(peer, MTU)

    def test_about_brings_epoch(self):
        """ABOUT of an epoch that no HELLO announced yet is good."""
        self.gw.epoch += 1
        self.gw.about(self.peer_, 700)
        self.meet_again(self.peer_, 700)
        self.gw.hello()
        self.send(self.peer_, 700)

    def test_new_gateway_forgets(self):
        """Nor does what another incarnation said hold."""
        peer = self.peer_
        self.gw.about(peer, 600)
        self.meet_again(peer, 600)
        self.gw.gw_inc += 1
        self.gw.hello()
        self.gw.heard()
        self.a.write(b"y", nonblock=True, target=peer.mac, vc=peer.vc)
        self.meet_again(peer, MTU)
        self.assertEqual(peer.accept(), b"y")

    def test_gateway_mtu(self):
        """The gateway's own MTU shrinks and grows: followed at the next event."""
        peer = self.peer_
        for mtu in (1000, 1300, 140, 1500):
            self.gw.gw_mtu = mtu
            self.gw.epoch += 1
            self.gw.hello()
            self.settle()
            self.a.write(b"event", nonblock=True, target=peer.mac, vc=peer.vc)
            self.meet_again(peer, mtu)
            self.assertEqual(peer.accept(), b"event")
            peer.expect(oae.COMMIT)
            self.send(peer, mtu, random.randbytes(3000))

    def test_grown_just_now(self):
        """A message too long for the slices of now waits: when they may be longer it is sent."""
        peer, data = self.peer_, random.randbytes(20000)
        self.gw.about(peer, 140)
        self.meet_again(peer, 140)
        self.a.write(data, nonblock=True, target=peer.mac, vc=peer.vc)
        self.gw.epoch += 1
        self.gw.hello()
        self.settle()
        self.a.write(b"behind it", nonblock=True, target=peer.mac, vc=peer.vc)
        self.meet_again(peer, MTU)
        self.assertEqual(self.offer_slices(peer, data)[2], MTU - 60)

    def test_shrinks_in_flight(self):
        """It shrinks while an offer is out: the answer is of no use, the rest is as ever."""
        peer, data = self.peer_, random.randbytes(4000)
        self.a.write(data, nonblock=True, target=peer.mac, vc=peer.vc)
        first, slices, _ = self.offer_slices(peer, data)
        self.gw.gw_mtu = 500
        self.gw.hello()
        self.settle()
        peer.reflect(first, slices)     # the next event: it is too late
        self.meet_again(peer, 500)
        first, slices, length = self.offer_slices(peer, data, seq=1)
        self.assertEqual(length, 440)
        peer.reflect(first, slices)
        peer.expect(oae.COMMIT, tx=1)
        self.assertEqual(self.moved("committed", "reversed"), [1, 0])

    def test_larger_than_port(self):
        """The port's own MTU counts, too."""
        self.gw.gw_mtu = 9000
        self.gw.hello()
        self.settle()
        self.a.write(b"z", nonblock=True, target=self.peer_.mac, vc=self.peer_.vc)
        self.meet_again(self.peer_, 1500)
        self.assertEqual(self.peer_.accept(), b"z")

    def test_port_mtu(self):
        """And when it changes, all its links meet again, on either way."""
        direct = self.peer().open()
        self.a.mtu("va", 1200)
        self.addCleanup(self.a.mtu, "va", 1500)
        self.peer_.expect(oae.SYNC, mtu=1188, flags=oae.VIA)
        direct.expect(oae.SYNC, mtu=1200, flags=0)

    def test_small_port(self):
        """A port too small for VIA does without a gateway."""
        self.a.mtu("va", 139)
        self.addCleanup(self.a.mtu, "va", 1500)
        peer = self.peer(gateway=G)
        peer.send(oae.SYNC, dst_ltag=0)
        self.settle()
        self.assertFalse(peer.inbox)
        self.a.mtu("va", 140)
        self.assertEqual(peer.ask().mtu, 128)


class Told(HostTest):
    """The knobs use_gw and nhmac."""

    def refused(self, knob, value):
        """EINVAL, one line that says why, and the old value stays."""
        before = self.a.knob(knob)
        self.log.lines()
        self.assert_errno(errno.EINVAL, self.a.knob, knob, value)
        lines = [line for line in self.log.lines() if "refused" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(f'{knob}: "{value}" refused (-{errno.EINVAL}): takes', lines[0])
        self.assertEqual(self.a.knob(knob), before)

    def test_use_gw(self):
        """0, 1, auto, and nothing else."""
        for value in ("0", "1", "auto"):
            self.a.knob("use_gw", value)
            self.assertEqual(self.a.knob("use_gw"), value)
        for value in ("2", "-1", "", "Auto", "yes", "01", "auto auto"):
            with self.subTest(value):
                self.refused("use_gw", value)

    def test_nhmac(self):
        """auto or a whole unicast address."""
        for value in ("", "2", "0x000002", f"va/{G}", "ff:ff:ff:ff:ff:ff", "03:0a:e0:00:00:01",
                      "00:00:00:00:00:00", "02:0a:e0:00:00", f"{G}:01", "auto auto",
                      f"{G} {G2}", self.cable.mac_a):
            with self.subTest(value):
                self.refused("nhmac", value)
        self.a.knob("nhmac", G.upper())
        self.assertEqual(self.a.knob("nhmac"), G)
        self.a.knob("nhmac", "auto")
        self.assertEqual(self.a.knob("nhmac"), "auto")

    def test_told(self):
        """Told which: only that one, known before it says a word."""
        self.a.knob("nhmac", G2)
        self.patient()
        peer = self.peer(gateway=G2)
        self.assertEqual(peer.ask().mtu, 1488)
        peer.send(oae.SYNC_ACK)
        peer.expect(oae.SYNC_ACK)
        self.gw.hello()
        self.gw.silence()
        told = Gateway(self.wire, self.cable.mac_a, G2)
        told.hello(life=1)
        told.heard()
        self.assertEqual(self.a.knob("nhmac"), G2)
        # Its HELLO says the MTU; silent or gone, it stays the one.
        self.a.write(b"x", nonblock=True, target=peer.mac)
        peer.expect(oae.SYNC, mtu=MTU - 12)
        told.hello(oae.LEAVING)
        self.gw.hello()
        self.gw.silence()
        self.assertEqual(self.a.knob("nhmac"), G2)

    def test_told_another(self):
        """Told another one than is in use; then told to learn again."""
        self.meet()
        self.a.knob("nhmac", G2)
        self.gw.hello(oae.HELLO_ASK)
        self.gw.silence()
        self.a.knob("nhmac", "auto")
        self.assertEqual(self.a.knob("nhmac"), "auto")      # G2 never said a word
        self.meet()
        self.a.knob("nhmac", G)
        self.a.knob("nhmac", "auto")
        self.assertEqual(self.a.knob("nhmac"), f"auto {G}")
        self.gw.hello()
        self.gw.silence()               # answered already

    def test_new_port(self):
        """A port bound later knows it as well; each learns its own."""
        Cable(self.a, "vc", self.p, "vd")
        self.addCleanup(self.a.sh, "ip link del vc")
        self.a.knob("nhmac", G)
        self.a.add_port("vc")
        self.a.knob("nhmac", "auto")
        wire = Wire(self.p, "vd")
        self.addCleanup(wire.close)
        self.assertEqual(self.a.knob("nhmac"), "auto")
        self.meet(Gateway(wire, self.a.mac("vc"), G2))
        self.assertEqual(self.a.knob("nhmac"), f"auto vc/{G2}")
        self.meet()
        self.assertEqual(self.a.knob("nhmac"), f"auto va/{G} vc/{G2}")


class AtLoad(Shared):
    """The knobs at insmod: for every namespace."""

    params = {"use_gw": "1", "nhmac": G}

    def test_template(self):
        """Every namespace begins so."""
        host = self.host("t")
        self.assertEqual((host.knob("use_gw"), host.knob("nhmac")), ("1", G))


class AtLoadBad(Shared):
    """Bad ones: no module."""

    def test_refused(self):
        """insmod fails and says why."""
        self._unload()
        for params in ({"use_gw": "2"}, {"nhmac": "x"}, {"nhmac": "ff:ff:ff:ff:ff:ff"}):
            with self.subTest(params):
                self.assert_errno(errno.EINVAL, load, **params)
