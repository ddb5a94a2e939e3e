# SPDX-License-Identifier: GPL-2.0
"""Who gets a link: cookies, replays, the accept policy, limits. A stranger costs no memory."""

import errno
from collections import deque

import oaewire as oae
from oaedev import OaeFile
from oaepeer import Peer, Wire
from oaetest import Cable, wait_for
from topology import CALM, OneScript


def address(n):
    """One of many."""
    return f"02:0a:e0:02:{n >> 8:02x}:{n & 255:02x}"


class Admission(OneScript):
    """A peer a test, told apart by its address."""

    numbers = iter(range(1, 5000))
    KNOBS = CALM | {"linger_ms": 0, "accept": "any", "peers": "", "max_tags": 1024, "shutdown": 0,
                    "target": "", "dev": "va", "vci": 0, "doubt_s": 3600}

    def setUp(self):
        super().setUp()
        self.a.knob("dev", "")      # no link of the test before
        self.a.knobs(**self.KNOBS)
        self.a.read_all()
        self.wire.frames()
        self.before = self.a.stats()

    def peer(self, **kwargs):
        """One not known yet."""
        return Peer(self.wire, self.cable.mac_a, mac=address(next(self.numbers)), **kwargs)

    def moved(self, *names):
        """What counters have moved by."""
        after = self.a.stats()
        return [after[name] - self.before[name] for name in names]

    def cookie(self, peer, **given):
        """Ask for one."""
        peer.send(oae.SYNC, **({"dst_ltag": 0} | given))
        return peer.expect(oae.SYNC_CHK, dst_ltag=given.get("src_ltag", peer.ltag)).src_ltag

    # Cookies.

    def test_cookie(self):
        """A SYNC gets a cookie and no tag; a SYNC naming it gets a tag, with an ltag of its own."""
        peer = self.peer()
        cookie = self.cookie(peer)
        self.assertEqual(self.a.tags(), [])
        self.assertEqual(self.cookie(peer), cookie, "the same to the same question")
        self.assertEqual(self.moved("tags_made", "bad_cookie"), [0, 0])
        peer.send(oae.SYNC, dst_ltag=cookie)
        sync = peer.expect(oae.SYNC, dst_ltag=peer.ltag)
        self.assertNotIn(sync.src_ltag, (0, cookie))
        self.assertEqual(self.a.tag()["state"], "SYNC_RECD")
        self.assertEqual(self.moved("tags_made", "tags_gone"), [1, 0])

    def test_wrong_cookies(self):
        """Any other number, or a cookie for another ltag, channel or address: no tag."""
        peer, other = self.peer(), self.peer()
        cookie = self.cookie(peer)
        wrong = ({"dst_ltag": cookie ^ 1}, {"dst_ltag": 1}, {"dst_ltag": 0xffffffff},
                 {"dst_ltag": cookie, "src_ltag": peer.ltag ^ 1})
        for given in wrong:
            self.cookie(peer, **given)
        self.cookie(other, dst_ltag=cookie, src_ltag=peer.ltag)
        channel = Peer(self.wire, peer.to, vc=9, mac=peer.mac)
        self.cookie(channel, dst_ltag=cookie, src_ltag=peer.ltag)
        self.assertEqual(self.a.tags(), [])
        self.assertEqual(self.moved("bad_cookie", "tags_made"), [6, 0])

    def test_old_cookie(self):
        """A cookie is good for 4 to 8 seconds."""
        peer = self.peer()
        cookie = self.cookie(peer)
        wait_for(lambda: self.cookie(peer) != cookie, "the next cookie", 6)
        second = self.cookie(peer)
        wait_for(lambda: self.cookie(peer) != second, "the one after it", 6)
        self.cookie(peer, dst_ltag=cookie)
        self.assertEqual(self.a.tags(), [])
        self.assertEqual(self.moved("bad_cookie"), [1])
        peer.send(oae.SYNC, dst_ltag=second)
        peer.expect(oae.SYNC)

    def test_each_host_has_its_own(self):
        """A cookie of one host is no good at another."""
        b = self.host("b")
        cable = Cable(b, "vb", self.p, "vq")
        b.knobs(dev="vb", stranger_pps=100000)
        wire = Wire(self.p, "vq")
        self.addCleanup(wire.close)
        peer = self.peer()
        twin = Peer(wire, cable.mac_a, mac=peer.mac)
        twin.ltag = peer.ltag
        self.cookie(twin, dst_ltag=self.cookie(peer))
        self.assertEqual(b.tags(), [])

    # Replays.

    def test_replay_into_the_open_link(self):
        """The SYNCs that opened a link, again: nothing changes but that they are answered."""
        peer = self.peer()
        cookie = self.cookie(peer)
        peer.open()
        peer.offered(b"held")
        before = self.a.timeless()
        for dst in (0, cookie):
            peer.send(oae.SYNC, dst_ltag=dst, tx=0, rx=0)
            peer.expect(oae.SYNC_ACK, dst_ltag=peer.ltag, src_ltag=peer.far_ltag)
        self.assertEqual(self.a.timeless(), before)

    def test_replay_into_the_next_run(self):
        """A SYNC of the run before: SYNC_CHK, and the link stays as it is."""
        peer = self.peer().open()
        old, old_far = peer.ltag, peer.far_ltag
        peer.anew()
        peer.offered(b"held")
        for dst in (0, old_far):
            peer.send(oae.SYNC, src_ltag=old, dst_ltag=dst)
            peer.expect(oae.SYNC_CHK, dst_ltag=old, src_ltag=peer.far_ltag)
        self.assertEqual((self.a.tag()["state"], self.a.tag()["hold"]), ("OPEN", "held"))

    def test_replay_of_a_life(self):
        """All that a peer once said, said again after the link is gone: nothing is delivered."""
        peer = self.peer()
        said = []
        send = self.wire.send
        self.wire.send = lambda frame: (said.append(frame), send(frame))
        try:
            peer.open()
            peer.offered(b"once")
            peer.commit()
            peer.offered(b"and for all", flags=oae.EXPRESS)
            peer.silence()
            peer.send(oae.CLOSE)
            peer.expect(oae.CLOSE_ACK)
        finally:
            self.wire.send = send
        self.assertEqual(self.a.read_each(), [b"once", b"and for all"])
        self.assertEqual(self.a.tags(), [])
        for _ in range(3):
            self.wire.send_all(said)
            self.wire.barrier(peer.to)
        self.assertEqual(self.a.read_all(), b"")
        self.assertEqual(self.moved("delivered"), [2])
        tag = self.a.tag()      # the cookie still holds: half a link, which opens to nobody
        self.assertIn(tag and tag["state"], (None, "SYNC_RECD"))

    def test_half_links_end(self):
        """A tag whose peer never comes back is forgotten after dead_ms."""
        self.a.knobs(stall_min_us=5000, stall_max_us=50000, dead_ms=100)
        for _ in range(5):
            peer = self.peer()
            peer.send(oae.SYNC, dst_ltag=self.cookie(peer))
        self.wire.barrier(peer.to)
        self.assertEqual(self.moved("tags_made"), [5])
        wait_for(lambda: not self.a.tags(), "all to be forgotten")

    # Strangers' frames.

    def test_answers_name_what_they_answer(self):
        """A data frame for no tag: NOLINK, with its ltags crossed, on its channel."""
        peer = self.peer(vc=5)
        for opcode in (oae.OFFER, oae.REFLECT, oae.COMMIT, oae.REFUSE, oae.READY,
                       oae.DONE, oae.ASK, oae.ACK):
            given = {"seq": 77}
            if opcode in (oae.REFLECT, oae.ACK):
                given["payload"] = bytes(16 if opcode == oae.REFLECT else 8)
            if opcode == oae.REFUSE:
                given["reason"] = oae.BUSY
            peer.send(opcode, dst_ltag=1234, **given)
            peer.expect(oae.NOLINK, dst_ltag=peer.ltag, src_ltag=1234, seq=77)
        self.assertEqual(self.a.tags(), [])

    def test_a_forgotten_link_is_noticed(self):
        """A peer that has lost its tag says NOLINK: the kernel freezes, and opens it anew."""
        peer = self.peer().open()
        peer.offered(b"before")
        peer.commit()
        peer.silence()
        writer = self.a.start_write(b"after", target=peer.mac)
        peer.expect(oae.OFFER, seq=1)
        peer.send(oae.NOLINK)
        peer.inc += 1                       # it knows nothing any more
        peer.far_inc = 0
        peer.ltag, peer.tx, peer.rx = peer.draw(), 0, 0
        peer.answer_sync(peer_inc=0)
        self.assertEqual(peer.accept(seq=1), b"after")
        self.assertEqual(writer.result(), 5)
        self.assertEqual(self.a.read_each(), [b"before"])

    def test_rate(self):
        """All answers to strangers together are limited, whatever they ask."""
        self.a.knob("stranger_pps", 50)
        ask = []
        for n in range(0, 300, 3):
            peers = [Peer(self.wire, self.cable.mac_a, mac=address(5000 + n + k))
                     for k in range(3)]
            ask += [peers[0].frame(oae.SYNC), peers[1].frame(oae.CLOSE),
                    peers[2].frame(oae.COMMIT)]
        self.wire.send_all(ask)
        wait_for(lambda: sum(self.moved("stranger", "stranger_quiet")) == 300, "all to be seen")
        answered = self.moved("stranger")[0]
        self.assertEqual(len(self.wire.frames()), answered)
        self.assertIn(answered, range(20, 151))     # seconds begin when they like
        self.a.knob("stranger_pps", 0)
        peer = self.peer()
        peer.send(oae.SYNC)
        wait_for(lambda: sum(self.moved("stranger", "stranger_quiet")) == 301, "the last one")
        self.assertEqual(self.wire.frames(), [])

    def test_rate_spares_links(self):
        """The limit is for strangers: a link is not held up by it."""
        peer = self.peer().open()
        self.a.knob("stranger_pps", 0)
        peer.offered(b"free")
        peer.commit(flags=oae.WANT_DONE)
        peer.expect(oae.DONE)
        peer.anew()

    def test_flood(self):
        """SYNCs from a thousand addresses cost no tag, and leave room for who means it."""
        self.a.knobs(max_tags=4)
        flood = [Peer(self.wire, self.cable.mac_a, mac=address(8000 + n)).frame(
            oae.SYNC, dst_ltag=n % 2 * 99) for n in range(1000)]
        self.wire.send_all(flood)
        wait_for(lambda: self.moved("stranger") == [1000], "all to be answered")
        self.assertEqual(self.moved("tags_made", "bad_cookie", "no_room_tag"), [0, 500, 0])
        self.assertEqual(self.a.tags(), [])
        self.wire.frames()
        for _ in range(3):
            self.peer().open()

    # Policy and limits.

    def refused(self, peer, reason, **given):
        """A SYNC that is answered with CLOSE and a reason."""
        peer.send(oae.SYNC, **({"dst_ltag": 0} | given))
        peer.expect(oae.CLOSE, dst_ltag=peer.ltag, reason=reason)

    def test_accept_none(self):
        """Nobody may open a link here; one that is opened from here is one."""
        self.a.knob("accept", "none")
        peer = self.peer()
        self.refused(peer, oae.POLICY)
        self.a.knob("peers", peer.mac)
        self.refused(peer, oae.POLICY)
        self.assertEqual(self.moved("not_accepted", "tags_made"), [2, 0])
        self.a.write(b"mine", nonblock=True, target=peer.mac)
        peer.answer_sync()
        self.assertEqual(peer.accept(), b"mine")

    def test_accept_peers(self):
        """Those in peers and target, by a whole address or 24 bits."""
        self.a.knob("accept", "peers")
        stranger, named, short, target, elsewhere = (self.peer() for _ in range(5))
        self.a.knobs(target=target.mac, peers=",".join(
            (named.mac, short.mac.replace(":", "")[6:], f"nosuch/{elsewhere.mac}")))
        for peer in (stranger, elsewhere):
            self.refused(peer, oae.POLICY)
        # On another channel than the link that is opened from here.
        other = Peer(self.wire, target.to, vc=1, mac=target.mac)
        for peer in (named, short, other):
            peer.open()
        self.assertEqual(self.moved("not_accepted", "tags_made"), [2, 4])

    def test_open_links_stay(self):
        """A policy is for opening: links there are go on, through a freeze, too."""
        peer = self.peer().open()
        self.a.knob("accept", "none")
        peer.offered(b"still")
        peer.anew()
        peer.offered(b"still")

    def test_shut(self):
        """A host that is shut refuses like a policy."""
        self.a.knob("shutdown", 1)
        self.refused(self.peer(), oae.POLICY)

    def test_max_tags(self):
        """CLOSE FULL to whoever is one too many; ENOBUFS here. There is room again later."""
        self.a.knob("max_tags", 3)
        peers = [self.peer() for _ in range(4)]
        self.a.knob("peers", ",".join(peer.mac for peer in peers))
        late = peers.pop()
        for peer in peers:
            peer.open()
        self.refused(late, oae.FULL, dst_ltag=self.cookie(late))
        self.assertEqual(self.moved("no_room_tag", "tags_made"), [1, 3])
        self.assert_errno(errno.ENOBUFS, self.a.write, b"x", target=late.mac)
        peers[0].send(oae.CLOSE)
        peers[0].expect(oae.CLOSE_ACK)
        late.open()
        self.assertEqual(len(self.a.tags()), 3)

    # The strangers' share of max_tags.

    def strangers(self, most, use=lambda peer: None):
        """Strangers get links and use them, until one is told that there is no room."""
        there = []
        while True:
            peer = self.peer()
            cookie = self.cookie(peer)
            peer.send(oae.SYNC, dst_ltag=cookie)
            answer = peer.next()
            if answer.opcode == oae.CLOSE:
                self.assertEqual(answer.reason, oae.FULL)
                return there
            peer.inbox.appendleft(answer)
            # By now it has its tag: the same again opens it.
            peer.open_asked()
            use(peer)
            there.append(peer)
            self.assertLessEqual(len(there), most, "nobody says stop")

    @staticmethod
    def leave_held(peer):
        """Something is held, and its outcome is never said."""
        peer.offered(b"never decided")

    def leave_unread(self, peer):
        """Something is delivered; then the link is closed."""
        peer.offered(peer.mac.encode())
        peer.commit()
        peer.silence()
        peer.send(oae.CLOSE)
        peer.expect(oae.CLOSE_ACK)

    def others_get_theirs(self):
        """A configured peer and a user here still get links."""
        named, wanted = self.peer(), self.peer()
        self.a.knob("peers", named.mac)
        named.open()
        named.offered(b"named")
        self.a.write(b"wanted", nonblock=True, target=wanted.mac)
        wanted.answer_sync()
        self.assertEqual(wanted.accept(), b"wanted")

    def test_share(self):
        """Strangers that have left something undecided leave room for those who are meant."""
        self.a.knob("max_tags", 8)
        there = self.strangers(8, self.leave_held)
        self.others_get_theirs()
        self.assertEqual(len(there), 6)

    def test_share_of_few(self):
        """There is one for a stranger, and from two on one for the others."""
        for most, share in ((1, 1), (2, 1), (3, 2), (4, 3), (5, 4), (16, 12)):
            self.a.knob("dev", "")
            self.a.knobs(max_tags=most, dev="va")
            self.assertEqual(len(self.strangers(most)), share)

    def test_away_in_doubt(self):
        """A stranger in doubt gives way once it has been down for doubt_s, if another wants it."""
        self.a.knobs(max_tags=4, doubt_s=1)
        self.assertEqual(len(self.strangers(4, self.leave_held)), 3)
        self.a.knobs(keepalive_ms=50, dead_ms=100)
        wait_for(lambda: self.moved("note_down") == [3], "all to be down")
        self.assertEqual(self.strangers(0), [])
        self.assertEqual(len(self.a.tags()), 3)
        self.a.knobs(keepalive_ms=600000, dead_ms=3600000)
        wait_for(lambda: self.strangers(3, self.leave_held), "one to give way", 10, 0.1)
        gone = self.moved("gave_way")[0]
        self.assertIn(gone, (1, 2, 3))
        self.assertEqual(self.moved("note_held_lost"), [gone])
        self.assertEqual(len(self.a.tags()), 3)

    def test_away_in_doubt_for_ever(self):
        """doubt_s 0: what is in doubt is kept, and strangers have to wait."""
        self.a.knobs(max_tags=8, doubt_s=0)
        self.strangers(8, self.leave_held)
        self.a.knobs(keepalive_ms=50, dead_ms=50)
        wait_for(lambda: self.moved("note_down") == [6], "all to be down")
        for _ in range(3):
            self.assertEqual(self.strangers(0), [])
        self.assertEqual(self.moved("gave_way", "note_held_lost"), [0, 0])
        self.a.knobs(keepalive_ms=600000, dead_ms=3600000)
        self.others_get_theirs()

    def test_closed_with_something_unread(self):
        """What a stranger has left unread keeps its place only while nobody else wants that."""
        self.a.knob("max_tags", 8)
        there = self.strangers(8, self.leave_unread)
        self.others_get_theirs()
        self.assertEqual(len(there), 6)
        self.a.knob("dead_ms", 200)
        wait_for(lambda: self.strangers(6), "one to give way", 10, 0.1)
        self.a.knob("dead_ms", 3600000)
        gone, lost = self.moved("gave_way", "unread_lost")
        self.assertGreaterEqual(gone, 1)
        self.assertEqual(lost, gone)
        self.assertEqual(sorted(self.a.read_each()), sorted(peer.mac.encode()
                                                            for peer in there[gone:]))

    def test_unread_of_the_dead(self):
        """What is unread when a port goes counts as a link: the oldest gives way, and is counted."""
        self.a.knob("max_tags", 4)
        said = []
        for _ in range(3):
            for _ in range(3):
                peer = self.peer()
                self.a.knob("peers", peer.mac)
                peer.open()
                peer.offered(peer.mac.encode())
                peer.commit()
                peer.silence()
                said.append(peer.mac.encode())
            self.a.knob("dev", "")
            self.a.knob("dev", "va")
        self.assertEqual(self.moved("unread_lost"), [5])
        got = self.a.read_each()
        self.assertEqual(len(got), 4)
        self.assertEqual(set(got) - set(said[3:]), set())
        self.assertEqual(set(said[6:]) - set(got), set())
        self.assertEqual(self.moved("unread_lost"), [5])
        # What was read takes no room.
        for _ in range(3):
            self.peer().open()
        self.assertEqual(self.a.knob("stats").split()[:2], ["tags", "3"])

    # Peers that are expected.

    def test_forged(self):
        """A SYNC with the address of a configured peer makes nothing, on any channel."""
        named = self.peer()
        self.a.knob("peers", named.mac)
        self.a.aim(named.mac)
        self.wire.frames()
        self.wire.send_all([Peer(self.wire, named.to, vc=vc, mac=named.mac).frame(
            oae.SYNC, dst_ltag=vc % 2 * 77) for vc in range(256)])
        wait_for(lambda: self.moved("stranger", "bad_cookie") == [256, 128], "all to be answered")
        self.assertEqual(self.a.tags(), [])
        self.assertEqual({frame.opcode for frame in self.wire.frames()}, {oae.SYNC_CHK})
        Peer(self.wire, named.to, vc=7, mac=named.mac).open()

    def test_expected(self):
        """Strangers have used up all answers: who is configured, or waited for, gets a link."""
        named, waited, stranger = (self.peer() for _ in range(3))
        file = OaeFile(self.a)
        self.addCleanup(file.close)
        file.attach(waited.mac, vc=0)
        self.a.knobs(peers=named.mac, stranger_pps=0)
        stranger.send(oae.SYNC, dst_ltag=0)
        named.open()
        waited.open()
        self.assertEqual((stranger.inbox, self.moved("stranger_quiet")), (deque(), [1]))

    def test_never_used(self):
        """A link that a peer opened, and nobody uses, is closed; one that was used stays."""
        unused, used, waited = (self.peer() for _ in range(3))
        file = OaeFile(self.a)
        self.addCleanup(file.close)
        file.attach(waited.mac, vc=0)
        self.a.knobs(peers=unused.mac, keepalive_ms=100, dead_ms=1000, stall_max_us=1000000)
        peers = [unused, used, waited]
        for peer in peers:
            peer.open()
        used.offered(b"use")
        used.commit()
        closed = []

        def answer():
            self.wire.pump(0.01)
            for peer in peers:
                while peer.inbox:
                    frame = peer.inbox.popleft()
                    if frame.opcode == oae.SYNC:
                        peer.send(oae.SYNC_ACK)
                    elif frame.opcode == oae.CLOSE:
                        peer.send(oae.CLOSE_ACK)
                        closed.append(peer)
            # And longer: what is to stay does.
            return self.moved("note_probe")[0] >= 320 and closed
        wait_for(answer, "the link to be closed", 60)
        self.assertEqual(closed, [unused])
        self.assertEqual(self.moved("never_used", "note_gone", "note_down"), [1, 1, 0])
        self.assertEqual({tag["peer"] for tag in self.a.tags()}, {used.mac, waited.mac})

    def test_rcvbuf(self):
        """Nobody reads: nothing is granted; READY when something is again."""
        self.a.knob("rcvbuf", 4096)
        peer = self.peer().open()
        for grant in 4096, 4096 - 2024:
            self.assertEqual(peer.offered(b"x" * 1000).grant, grant // 256)
            peer.commit()
        peer.send(oae.COMMIT, flags=oae.WANT_DONE, marks=oae.BLOCKED)
        peer.expect(oae.DONE, rx=2, grant=0)
        self.assertEqual((self.a.tag()["unread"], self.a.tag()["unread_bytes"]), (2, 4048))
        peer.offer(b"x")
        peer.silence()
        self.assertEqual(len(self.a.read_each()), 2)
        peer.expect(oae.READY, rx=2, grant=(4096 - 2024) // 256)    # once the first was read
        peer.offered(b"y")
        peer.commit()
        peer.silence()
        self.assertEqual(self.a.read_each(), [b"y"])
        self.a.knob("rcvbuf", 262144)

    def test_max_len(self):
        """More than this end takes: REFUSE TOO_BIG, and nothing of it is kept."""
        self.a.knob("max_len", 3000)
        peer = self.peer().open()
        peer.offer(b"x" * 3001)
        peer.expect(oae.REFUSE, reason=oae.TOO_BIG, seq=1)
        self.assertEqual(self.a.tag()["hold"], "refused")
        peer.void()
        peer.commit()
        peer.offered(b"x" * 3000)
        peer.commit()
        peer.silence()
        self.assertEqual(self.a.read_each(), [b"x" * 3000])
        self.a.knob("max_len", 65536)

    def test_other_kinds(self):
        """No half is posted here and no word exposed: a swap waits, a verb is refused for good."""
        peer = self.peer().open()
        request = bytes.fromhex("00000007 01000000 01010000 00000000")     # READ one of region 7
        for seq, kind, data, reason in ((1, oae.SWAP, b"x", oae.NO_HALF),
                                        (2, oae.VERB, request, oae.NO_REGION)):
            peer.offer(data, kind=kind)
            peer.expect(oae.REFUSE, reason=reason, seq=seq, kind=kind)
            peer.void()
            peer.commit()
        peer.offered(b"x")
