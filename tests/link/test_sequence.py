# SPDX-License-Identifier: GPL-2.0
"""seq, tx and rx: the bookkeeping of section 4, as it is seen on the wire.

A scripted peer loses, repeats and takes back what it likes, and says what the kernel must say.
"""

import errno

import oaewire as oae
from oaepeer import Peer
from oaetest import wait_for
from topology import CALM, OneScript

BIG = bytes(range(256)) * 20        # four slices in 1500

class Sequence(OneScript):
    """A link a test, told apart by vc."""

    ports = True

    vcs = iter(range(1, 250))

    @classmethod
    def build(cls):
        super().build()
        cls.a.knobs(**CALM, target=cls.cable.mac_b)

    def peer(self, **kwargs):
        """A peer not yet known, on a channel of its own."""
        self.a.read_all()
        return Peer(self.wire, self.cable.mac_a, vc=next(self.vcs), **kwargs)

    def post(self, peer, data):
        """Queue a transaction to a peer."""
        self.a.write(data, nonblock=True, vc=peer.vc)

    def tag(self, peer):
        """The kernel's end."""
        return self.a.tag(vc=peer.vc)

    def reflected(self, peer, offer, slices):
        """The peer reflects it; it is committed."""
        peer.reflect(offer, slices)
        peer.expect(oae.COMMIT, tx=offer.seq)

    def accepted(self, peer, data, seq, **wanted):
        """The kernel offers this; it is reflected and committed."""
        self.assertEqual(peer.accept(seq=seq, **wanted), data)
        peer.expect(oae.COMMIT, tx=seq)

    def committed(self, peer, *wanted):
        """The peer commits; this is delivered."""
        peer.commit()
        self.delivered(peer, *wanted)

    def delivered(self, peer, *wanted):
        """This can be read, and the peer is told nothing more."""
        peer.silence()
        self.assertEqual(self.a.read_each(), list(wanted))

    # The kernel offers.

    def test_numbers_go_up(self):
        """seq is tx + 1, from 1 on, and its low bit alternates."""
        peer = self.peer().open()
        for seq in range(1, 6):
            self.post(peer, b"message %d" % seq)
            offer, _ = peer.take(seq=seq, tx=seq - 1, rx=0, flags=oae.LAST)
            self.assertEqual(offer.seq & 1, seq & 1)
            peer.reflect(offer, [offer.payload])
            peer.rx = seq
            peer.expect(oae.COMMIT, tx=seq, seq=seq, flags=0)
        peer.silence()

    def test_next_offer_carries_the_commit(self):
        """With something queued there is no COMMIT frame: the next OFFER's tx says it."""
        peer = self.peer().open()
        for n in range(3):
            self.post(peer, b"queued %d" % n)
        for seq in (1, 2, 3):
            self.assertEqual(peer.accept(seq=seq, tx=seq - 1), b"queued %d" % (seq - 1))
        peer.expect(oae.COMMIT, tx=3)
        peer.silence()

    def test_one_in_flight(self):
        """The second offer waits for the outcome of the first."""
        peer = self.peer().open()
        self.post(peer, b"first")
        self.post(peer, b"second")
        offer, slices = peer.take(seq=1)
        peer.silence()
        peer.reflect(offer, slices)
        peer.take(seq=2, tx=1)

    def test_slices(self):
        """Back to back, in order, LAST on the last; the reflection covers the whole."""
        peer = self.peer().open()
        self.post(peer, BIG)
        offer, slices = peer.take(seq=1, slice=0)
        self.assertEqual([len(s) for s in slices], [1452, 1452, 1452, 764])
        self.assertEqual(b"".join(slices), BIG)
        self.reflected(peer, offer, slices)

    def test_smaller_mtu_of_the_peer(self):
        """Slices are no longer than both ends can carry."""
        peer = self.peer(mtu=600).open()
        self.post(peer, BIG)
        _, slices = peer.take(seq=1)
        self.assertEqual({len(s) for s in slices[:-1]}, {552})

    def test_wrong_reflection(self):
        """What is reflected is not what was said: nothing is committed, and the run ends."""
        peer = self.peer().open()
        self.post(peer, b"say after me")
        before = self.a.stat("note_mismatch")
        for wrong in [b"say after he"], [b"say after me "], [b"Say"]:
            offer, slices = peer.take(seq=1, tx=0)
            peer.reflect(offer, wrong)
            peer.follow()
        offer, slices = peer.take(seq=1, tx=0)
        self.assertEqual(self.a.stat("note_mismatch") - before, 3)
        self.assertEqual(self.tag(peer)["tx"], 0)
        self.reflected(peer, offer, slices)

    def test_wrong_first_bytes(self):
        """The digest alone is not enough: the first bytes must be right, too."""
        peer = self.peer().open()
        self.post(peer, b"say after me")
        offer, slices = peer.take(seq=1)
        body = oae.reflect_body(slices)
        peer.reflect(offer, slices, payload=body[:-1] + b"?")
        peer.follow()
        offer, slices = peer.take(seq=1)
        self.reflected(peer, offer, slices)

    def test_old_reflections(self):
        """A reflection of another seq or kind commits nothing."""
        peer = self.peer().open()
        self.post(peer, b"mine")
        offer, slices = peer.take(seq=1)
        before = self.a.stats()
        for other in ({"seq": 0}, {"seq": 2}, {"kind": oae.VOID}, {"kind": oae.PACK}):
            peer.reflect(offer, slices, **other)
        peer.silence()
        after = self.a.stats()
        self.assertEqual(self.tag(peer)["tx"], 0)
        self.assertEqual([after[f"note_old_{n}"] - before[f"note_old_{n}"]
                          for n in ("seq", "content")], [2, 2])
        self.reflected(peer, offer, slices)
        peer.reflect(offer, slices)     # and again: it has not heard of the commit
        peer.expect(oae.COMMIT, tx=1)
        peer.rx = 1
        peer.reflect(offer, slices)     # a late one
        peer.silence()
        self.assertEqual(self.tag(peer)["tx"], 1)

    def test_what_is_missing(self):
        """ACK says which slices are there: the others come."""
        peer = self.peer().open()
        self.post(peer, BIG)
        first, slices = peer.take(seq=1)
        peer.have(first, (1, 3))
        for n, marks in ((0, 0), (2, oae.ANSWER)):
            f = peer.expect(oae.OFFER, seq=1, slice=n, flags=0, marks=marks)
            self.assertEqual(f.payload, slices[n])
        peer.silence()
        peer.have(first, (1, 3), pn=4, map=0b111)       # sent before these were heard
        peer.silence()
        peer.have(first, (0, 1, 3))
        peer.expect(oae.OFFER, seq=1, slice=2, flags=0, marks=oae.ANSWER)
        self.reflected(peer, first, slices)

    def test_nothing_came(self):
        """ACK of nothing: what was sent is sent again."""
        peer = self.peer().open()
        self.post(peer, BIG)
        first, slices = peer.take(seq=1)
        peer.have(first, ())
        self.assertEqual(peer.take(seq=1, slice=0)[1], slices)
        self.reflected(peer, first, slices)

    # It is not granted.

    def blocked(self, peer):
        """It says so, and asks what is."""
        return peer.expect(oae.COMMIT, flags=oae.WANT_DONE, marks=oae.BLOCKED)

    def test_blocked(self):
        """A grant for less than two: the second waits until the first is delivered."""
        peer = self.peer()
        peer.grant = 5              # 1280 bytes
        peer.open()
        for text in b"one", b"two":
            self.post(peer, text)
        self.assertEqual(peer.accept(seq=1), b"one")
        self.assertEqual(self.blocked(peer).tx, 1)
        peer.silence()
        peer.send(oae.DONE, grant=0)
        peer.silence()
        peer.send(oae.READY)
        self.accepted(peer, b"two", seq=2)
        peer.silence()

    def test_blocked_until_done(self):
        """DONE alone will do if it grants something."""
        peer = self.peer()
        peer.grant = 5
        peer.open()
        for text in b"one", b"two":
            self.post(peer, text)
        self.assertEqual(peer.accept(seq=1), b"one")
        self.blocked(peer)
        peer.send(oae.DONE)
        self.accepted(peer, b"two", seq=2)

    def test_granted_above_another(self):
        """What was granted above an rx of before does not count."""
        peer = self.peer()
        peer.grant = 8              # one of 1000 bytes, and less than 256 more
        peer.open()
        for _ in range(3):
            self.post(peer, bytes(1000))
        self.assertEqual(peer.accept(seq=1), bytes(1000))
        self.blocked(peer)
        peer.send(oae.DONE, grant=0)
        peer.send(oae.DONE, rx=0, grant=0xffff)
        peer.silence()
        peer.send(oae.DONE, grant=18)
        for seq in 2, 3:
            peer.accept(seq=seq)

    def test_blocked_and_ready_lost(self):
        """READY was lost: it is said again at the keepalive interval."""
        self.set(self.a, keepalive_ms=50)
        peer = self.peer()
        peer.grant = 0
        peer.open()
        self.post(peer, b"later")
        said = 0
        while not (f := peer.next()).opcode == oae.OFFER:
            if f.opcode != oae.SYNC:        # which is a probe
                self.assertEqual((f.opcode, f.marks), (oae.COMMIT, oae.BLOCKED))
                said += 1
                peer.grant = 5 * (said > 3)
                peer.send(oae.DONE)
        self.assertEqual((said, f.seq, f.payload), (4, 1, b"later"))

    def test_whatever_it_costs(self):
        """If nothing is charged, and something granted, one may cost more."""
        peer = self.peer()
        peer.grant = 1
        peer.open()
        self.post(peer, BIG)
        self.accepted(peer, BIG, seq=1)
        peer.silence()

    def test_busy_and_ready(self):
        """REFUSE BUSY parks; READY brings it again."""
        peer = self.peer().open()
        self.post(peer, b"later")
        peer.take(seq=1)
        peer.send(oae.REFUSE, seq=1, reason=oae.BUSY)
        peer.silence()
        self.assertEqual(self.tag(peer)["offer"], "parked")
        peer.send(oae.READY)
        self.accepted(peer, b"later", seq=1)

    def test_busy_and_taken(self):
        """Refused for now, and a late copy of it was taken after all: that is as good."""
        peer = self.peer().open()
        self.post(peer, b"later")
        offer, slices = peer.take(seq=1)
        peer.send(oae.REFUSE, seq=1, reason=oae.BUSY)
        self.reflected(peer, offer, slices)

    def test_busy_is_late(self):
        """A refusal for now that has not heard the last offer is of the one before."""
        peer = self.peer().open()
        self.post(peer, b"later")
        first, _ = peer.take(seq=1)
        peer.send(oae.REFUSE, seq=1, reason=oae.BUSY)
        peer.send(oae.READY)
        offer, slices = peer.take(seq=1)
        before = self.a.stat("note_old_content")
        peer.send(oae.REFUSE, seq=1, reason=oae.BUSY, pn=first.pn, map=0)
        peer.silence()
        self.assertEqual(self.tag(peer)["offer"], "out")
        self.assertEqual(self.a.stat("note_old_content") - before, 1)
        self.reflected(peer, offer, slices)

    def test_busy_and_ready_lost(self):
        """READY was lost: it is offered again at the keepalive interval."""
        self.set(self.a, keepalive_ms=50)
        peer = self.peer().open()
        self.post(peer, b"later")
        peer.take(seq=1)
        peer.send(oae.REFUSE, seq=1, reason=oae.BUSY)
        f = peer.next()
        while f.opcode != oae.OFFER:        # probes may come first
            f = peer.next()
        self.assertEqual((f.seq, f.payload), (1, b"later"))

    def test_void(self):
        """A signal reverses what is out: nothing takes its place, and the next waits for that."""
        peer = self.peer().open()
        writer = self.a.start_write(b"never mind", vc=peer.vc)
        offer, slices = peer.take(seq=1)
        self.interrupt(writer)
        void, _ = peer.take(seq=1, kind=oae.VOID, flags=oae.LAST, payload=b"", tx=0)
        self.post(peer, b"but this")
        peer.reflect(offer, slices)     # too late
        peer.silence()
        peer.reflect(void, [b""])
        peer.rx = 1
        self.accepted(peer, b"but this", seq=2, tx=1)
        peer.silence()

    def test_void_for_what_is_parked(self):
        """What is parked is reversed freely; its number was given, and is nothing's then."""
        peer = self.peer().open()
        writer = self.a.start_write(b"never mind", vc=peer.vc)
        peer.take(seq=1)
        peer.send(oae.REFUSE, seq=1, reason=oae.BUSY)
        wait_for(lambda: self.tag(peer)["offer"] == "parked", "the offer to be parked")
        self.interrupt(writer)
        peer.voided(1)
        peer.send(oae.READY)
        peer.silence()

    def test_void_for_what_is_refused(self):
        """Refused for good likewise; a refusal of nothing, or a late one, is none."""
        peer = self.peer().open()
        writer = self.a.start_write(b"too much", vc=peer.vc)
        peer.take(seq=1)
        peer.send(oae.REFUSE, seq=1, reason=oae.TOO_BIG)
        self.assertEqual(writer.result(), -errno.EMSGSIZE)
        void, _ = peer.take(seq=1, kind=oae.VOID)
        before = self.a.stat("note_old_content")
        peer.send(oae.REFUSE, seq=1, reason=oae.TOO_BIG)
        peer.send(oae.REFUSE, seq=1, reason=oae.KIND, kind=oae.VOID)
        peer.silence()
        self.assertEqual(self.a.stat("note_old_content") - before, 2)
        self.reflected(peer, void, [b""])

    def test_void_for_what_never_went(self):
        """A number that was not given has none: what waits moves up."""
        peer = self.peer().open()
        self.post(peer, b"first")
        offer, slices = peer.take(seq=1)
        posted = self.a.stat("posted")
        writer = self.a.start_write(b"never", vc=peer.vc)
        wait_for(lambda: self.a.stat("posted") > posted, "it to be posted")
        self.interrupt(writer)
        self.post(peer, b"third")
        peer.reflect(offer, slices)
        peer.rx = 1
        self.accepted(peer, b"third", seq=2)

    # A run ends, what is in flight is resolved.

    def test_offer_again_after_a_freeze(self):
        """Not delivered there: offered again as for the first time, under the same seq."""
        peer = self.peer().open()
        self.post(peer, b"once more")
        peer.take(seq=1)
        peer.anew()
        self.accepted(peer, b"once more", seq=1)

    def test_commit_lost(self):
        """The COMMIT was lost: the kernel's SYNC says tx, and that is enough to deliver."""
        peer = self.peer().open()
        self.post(peer, b"committed")
        offer, slices = peer.take(seq=1)
        peer.reflect(offer, slices)
        peer.expect(oae.COMMIT, tx=1)       # and lost
        self.assertEqual(peer.freeze().tx, 1)
        peer.resolve(rx=1)                  # delivered on hearing that
        peer.rx = 1
        peer.silence()
        self.assertEqual(self.tag(peer)["state"], "OPEN")

    def test_resume_what_is_kept(self):
        """After a freeze only what the peer does not keep is sent, with RESUME; at least LAST."""
        peer = self.peer().open()
        self.post(peer, BIG)
        first, slices = peer.take(seq=1)
        peer.freeze()
        peer.resolve(**oae.kept(slices, (0, 2)))
        peer.expect(oae.OFFER, seq=1, slice=1, flags=oae.RESUME)
        peer.expect(oae.OFFER, seq=1, slice=3, flags=oae.RESUME | oae.LAST)
        peer.freeze()
        peer.resolve(**oae.kept(slices, range(4), 3))
        peer.expect(oae.OFFER, seq=1, slice=3, flags=oae.RESUME | oae.LAST)
        peer.silence()
        peer.reflect(first, slices)
        peer.expect(oae.COMMIT, tx=1)

    def test_no_resume_of_another_content(self):
        """What the peer keeps is of another content, or of a longer one: all slices are sent."""
        peer = self.peer().open()
        self.post(peer, b"something before it")
        peer.accept(seq=1)
        peer.expect(oae.COMMIT)
        writer = self.a.start_write(BIG[::-1], vc=peer.vc)
        _, slices = peer.take(seq=2)
        peer.freeze()
        self.interrupt(writer)
        self.post(peer, BIG)
        peer.resolve(**oae.kept(slices, (0, 1)))
        _, slices = peer.take(seq=2, slice=0, flags=0)
        self.assertEqual(b"".join(slices), BIG)
        peer.freeze()
        peer.resolve(**oae.kept(slices, (0, 1), 4))
        self.assertEqual(peer.accept(seq=2, slice=0, flags=0), BIG)

    def test_asked(self):
        """The answer is missing: it is asked for, and no slice is sent again."""
        self.set(self.a, stall_min_us=20000)
        peer = self.peer().open()
        self.post(peer, BIG)
        offer, slices = peer.take(seq=1)
        asked = peer.expect(oae.ASK, seq=1, kind=oae.MESSAGE, flags=0, payload=b"")
        self.assertGreater(asked.pn, offer.pn + 3)
        self.reflected(peer, offer, slices)

    def test_stall(self):
        """No answer at all: the link freezes by itself, and offers again in the next run."""
        self.set(self.a, stall_min_us=20000)
        peer = self.peer().open()
        self.post(peer, b"echo?")
        peer.take(seq=1)
        for _ in range(6):
            peer.expect(oae.ASK, seq=1)
        wait_for(lambda: self.tag(peer)["state"] == "SYNC_SENT", "the link to freeze", 10)
        old = peer.far_ltag
        peer.ltag = peer.draw()
        sync = peer.expect(oae.SYNC, tx=0, rx=0)
        self.assertNotEqual(sync.src_ltag, old)
        peer.far_ltag = sync.src_ltag
        peer.inbox.clear()
        peer.send(oae.SYNC)
        f = peer.next()
        while f.opcode == oae.SYNC:         # asked more than once
            f = peer.next()
        self.assertEqual(f.opcode, oae.SYNC_ACK)
        self.accepted(peer, b"echo?", seq=1)

    # The peer offers.

    def test_delivered_on_commit_only(self):
        """Held and reflected is not delivered; tx == rx + 1 on any frame of the run delivers."""
        peer = self.peer().open()
        carriers = (oae.COMMIT, oae.OFFER, oae.READY, oae.DONE, oae.ASK, oae.SYNC)
        for n, opcode in enumerate(carriers):
            peer.offered(b"by %d" % opcode)
            self.assertEqual(self.a.read_all(), b"", oae.OPCODES[opcode - 1])
            peer.commit(send=False)
            if opcode == oae.OFFER:
                peer.offered(b"carries")
                self.assertEqual(self.a.read_all(), b"by %d" % opcode)
                peer.commit(send=False)
                peer.send(oae.COMMIT)
                self.assertEqual(wait_for(self.a.read_all, "the carrier"), b"carries")
                continue
            peer.send(opcode, seq=peer.tx + 1)
            if opcode == oae.SYNC:
                peer.expect(oae.SYNC_ACK, rx=n + 2)
            if opcode == oae.ASK:
                peer.expect(oae.ACK, have=0)
            peer.silence()
            self.assertEqual(self.a.read_all(), b"by %d" % opcode, oae.OPCODES[opcode - 1])

    def test_same_offer_again(self):
        """The same offer again gets the same reflection again."""
        peer = self.peer().open()
        peer.offered(b"twice")
        peer.offered(b"twice")
        peer.commit()
        peer.offer(b"twice", seq=1)      # delivered long since
        self.delivered(peer, b"twice")

    def test_one_content(self):
        """A number has one content: of another nothing is used, and what is held is told again."""
        peer = self.peer().open()
        peer.offered(b"first thought")
        peer.offer(b"second thought")
        peer.expect(oae.REFLECT, seq=1, payload=oae.reflect_body([b"first thought"]))
        self.committed(peer, b"first thought")

    def test_void_absorbs(self):
        """Nothing takes the place of what is held, for good: late copies of that are dropped."""
        peer = self.peer().open()
        peer.offered(b"not this")
        before = self.a.stats()
        peer.void()
        peer.offer(b"not this")         # a copy that was delayed
        peer.send(oae.ASK, seq=1)
        peer.silence()
        after = self.a.stats()
        self.assertEqual([after[f"note_{n}"] - before[f"note_{n}"]
                          for n in ("dropped", "old_content")], [1, 2])
        peer.void()                     # the same offer again
        peer.commit()
        peer.offered(b"but this")
        self.committed(peer, b"but this")

    def test_void_overtakes(self):
        """It comes before the offer that it takes back: that is never held."""
        peer = self.peer().open()
        peer.void()
        peer.offer(b"too late")
        peer.silence()
        peer.commit()
        peer.offered(b"fresh")
        self.committed(peer, b"fresh")

    def test_void_replaces(self):
        """Whatever became of what it takes back: some slices are here, or it was refused."""
        peer = self.peer().open()
        peer.offer(BIG, only=[0, 2])
        peer.expect(oae.ACK, have=0b0101)
        peer.send(oae.ASK, seq=1, kind=oae.VOID)        # of nothing, nothing has come
        peer.expect(oae.ACK, seq=1, kind=oae.VOID, have=0)
        peer.void()
        peer.offer(BIG, only=[1, 3])
        peer.silence()
        peer.commit()
        for kind, reason in (oae.SWAP, oae.NO_HALF), (oae.VERB, oae.NO_REGION):
            peer.offer(b"\0\0\0\7\1\0\0\0\1\1" + bytes(6), kind=kind)
            peer.expect(oae.REFUSE, kind=kind, reason=reason)
            peer.void()
            peer.commit()
        self.delivered(peer)
        self.assertEqual(self.tag(peer)["rx"], 3)

    def test_refused_for_good(self):
        """It stays so in this run: who asks is told again, others are not."""
        self.set(self.a, max_len=3000)
        peer = self.peer().open()
        peer.offer(BIG, only=[0, 1, 2])
        peer.expect(oae.REFUSE, seq=1, reason=oae.TOO_BIG)
        peer.offer(BIG, only=[3], marks=0)
        peer.silence()
        for opcode in oae.ASK, oae.OFFER:
            peer.send(opcode, seq=1)
            peer.expect(oae.REFUSE, seq=1, reason=oae.TOO_BIG)
        self.assertEqual(self.tag(peer)["hold"], "refused")
        peer.anew()
        peer.offered(b"less")

    def test_not_granted(self):
        """What is not granted is dropped, whether it asks for an answer or not."""
        self.set(self.a, rcvbuf=4096)
        peer = self.peer().open()
        first, data = bytes(2900), BIG[:4000]
        before = self.a.stat("note_not_granted")
        self.assertEqual(peer.offered(first).grant, 4096 // 256)
        peer.commit()
        for marks in 0, oae.ANSWER:
            peer.offer(data, only=[0], marks=marks)
            peer.silence()
        self.assertEqual(self.a.stat("note_not_granted") - before, 2)
        peer.send(oae.COMMIT, flags=oae.WANT_DONE, marks=oae.BLOCKED)
        peer.expect(oae.DONE, rx=1, grant=0)
        peer.silence()
        self.assertEqual(self.a.read_each(), [first])
        peer.expect(oae.READY, seq=0, rx=1, grant=4096 // 256)
        # As much as no rcvbuf of that size leaves, since nothing else is here.
        peer.offer(data, only=[2], marks=0)
        peer.offer(data, only=[0, 1])
        peer.expect(oae.REFLECT, seq=2, payload=oae.reflect_body(oae.cut(data, 1452)))

    def test_wrong_seq(self):
        """An offer of a seq that is not in the window which this end has said is dropped."""
        peer = self.peer().open()
        before = self.a.stat("note_old_seq")
        for seq in (0, 17, 65, 0x80000000, 0xffffffff):
            peer.offer(b"?", seq=seq)
        peer.silence()
        self.assertEqual(self.a.stat("note_old_seq") - before, 5)
        self.assertEqual(self.tag(peer)["hold"], "-")

    def test_slices_in_any_order(self):
        """What wants an answer comes first: ACK says what is here; the rest fills it."""
        peer = self.peer().open()
        frames = peer.offer_frames(BIG)
        self.wire.send(frames[3])
        peer.expect(oae.ACK, seq=1, have=0b1000)
        for n in (2, 0):
            self.wire.send(frames[n])
        peer.silence()
        self.wire.send(frames[1])
        peer.expect(oae.REFLECT, payload=oae.reflect_body(oae.cut(BIG, 1452)))
        self.committed(peer, BIG)

    def test_duplicate_slices(self):
        """A slice that is there already is counted and dropped."""
        peer = self.peer().open()
        before = self.a.stat("note_dup_slice")
        frames = peer.offer_frames(BIG)
        for frame in frames[:3] + frames[:3] + frames[3:]:
            self.wire.send(frame)
        peer.expect(oae.REFLECT, payload=oae.reflect_body(oae.cut(BIG, 1452)))
        self.assertEqual(self.a.stat("note_dup_slice") - before, 3)

    def test_the_rest(self):
        """Only what was missing comes; what is whole is told at once."""
        peer = self.peer().open()
        peer.offer(BIG, only=[0, 3])
        peer.expect(oae.ACK, have=0b1001)
        peer.offer(BIG, only=[1, 2], marks=0)
        peer.expect(oae.REFLECT, payload=oae.reflect_body(oae.cut(BIG, 1452)))
        self.committed(peer, BIG)

    def test_asks(self):
        """ASK is answered by what is so, whatever was asked before."""
        peer = self.peer().open()
        ask = {"seq": 1}
        peer.send(oae.ASK, **ask)
        peer.expect(oae.ACK, **ask, have=0)
        peer.offer(BIG, only=[0, 2], marks=0)
        peer.silence()
        peer.send(oae.ASK, **ask)
        peer.expect(oae.ACK, **ask, have=0b0101)
        peer.offer(BIG, only=[1, 3])
        peer.expect(oae.REFLECT, **ask)
        peer.send(oae.ASK, **ask)
        peer.expect(oae.REFLECT, **ask, payload=oae.reflect_body(oae.cut(BIG, 1452)))
        self.committed(peer, BIG)
        peer.send(oae.ASK, **ask)           # delivered long since
        peer.silence()

    def test_resume_in_the_same_run(self):
        """RESUME is about what an earlier run has left; what this one has counts anyway."""
        peer = self.peer().open()
        peer.offer(BIG, only=[0, 1, 3])
        peer.expect(oae.ACK, have=0b1011)
        peer.offer(BIG, only=[2], flags=oae.RESUME)
        peer.expect(oae.REFLECT, payload=oae.reflect_body(oae.cut(BIG, 1452)))

    def test_a_wrong_piece_shows(self):
        """A slice of other content: the reflected digest covers the whole."""
        peer = self.peer().open()
        peer.offer(BIG, only=[0, 1, 3])
        peer.expect(oae.ACK)
        peer.offer(BIG[::-1], only=[2])
        mixed = oae.cut(BIG, 1452)
        mixed[2] = oae.cut(BIG[::-1], 1452)[2]
        peer.expect(oae.REFLECT, payload=oae.reflect_body(mixed))

    def test_resume_after_freeze(self):
        """After a freeze the slices kept are told of, and serve an offer with RESUME."""
        peer = self.peer().open()
        peer.offer(BIG, only=[0, 1, 3])
        peer.expect(oae.ACK, have=0b1011)
        told = oae.kept(oae.cut(BIG, 1452), (0, 1, 3), 3)
        for frame in (peer.freeze(), peer.resolve()):
            self.assertEqual({name: getattr(frame, name) for name in told}, told)
        self.assertEqual(self.tag(peer)["hold"], "kept")
        peer.send(oae.ASK, seq=1)       # in this run nothing of it has come
        peer.expect(oae.ACK, have=0)
        peer.offer(BIG, only=[3], flags=oae.RESUME)
        peer.expect(oae.ACK, have=0b1011)
        peer.offer(BIG, only=[2], flags=oae.RESUME)
        peer.expect(oae.REFLECT, payload=oae.reflect_body(oae.cut(BIG, 1452)))

    def test_kept_is_dropped(self):
        """The first OFFER without RESUME drops what was kept, for the whole run."""
        peer = self.peer().open()
        peer.offer(BIG, only=[0, 1])
        peer.expect(oae.ACK, have=0b0011)
        peer.anew()
        peer.offer(BIG[::-1], only=[3])
        peer.expect(oae.ACK, have=0b1000)
        peer.offer(BIG[::-1], only=[2], flags=oae.RESUME)
        peer.expect(oae.ACK, have=0b1100)
        peer.offer(BIG[::-1], only=[0, 1])
        peer.expect(oae.REFLECT, payload=oae.reflect_body(oae.cut(BIG[::-1], 1452)))

    def test_slices_that_disagree(self):
        """A slice beyond LAST, or another LAST, is counted and dropped."""
        peer = self.peer().open()
        before = self.a.stat("note_bad_slice")
        peer.offer(BIG, only=[1, 3])
        peer.expect(oae.ACK, have=0b1010)
        peer.send(oae.OFFER, seq=1, slice=4, payload=b"beyond")
        peer.send(oae.OFFER, seq=1, slice=2, flags=oae.LAST, payload=b"another last")
        peer.send(oae.OFFER, seq=1, slice=0, flags=oae.LAST, payload=b"another last")
        peer.silence()
        self.assertEqual(self.a.stat("note_bad_slice") - before, 3)
        peer.offer(BIG, only=[0, 2])
        peer.expect(oae.REFLECT, payload=oae.reflect_body(oae.cut(BIG, 1452)))

    def test_64_slices(self):
        """A transaction has at most 64 slices, and may have all of them."""
        peer = self.peer().open()
        data = bytes(range(64)) * 4
        peer.offered(data, slice_max=4)
        self.committed(peer, data)

    def test_resolve_delivers(self):
        """A freeze after the commit: resolving against tx == rx + 1 delivers what is held."""
        peer = self.peer().open()
        peer.offered(b"held over")
        peer.commit(send=False)
        sync = peer.freeze()
        self.assertEqual((sync.rx, sync.flags), (0, 0))
        peer.resolve()
        self.delivered(peer, b"held over")
        self.assertEqual(self.tag(peer)["rx"], 1)

    def test_resolve_drops(self):
        """A freeze before the commit: resolving against tx == rx drops what is held."""
        peer = self.peer().open()
        peer.offered(b"undecided")
        peer.anew()
        self.assertEqual(self.a.read_all(), b"")
        peer.offered(b"decided")
        self.committed(peer, b"decided")

    def test_impossible_tx(self):
        """A tx that no legal state sends delivers nothing: the link freezes, and is resolved."""
        peer = self.peer().open()
        before = self.a.stats()
        peer.send(oae.COMMIT, tx=1, seq=1)      # commits what was never offered
        peer.follow()
        self.assertEqual(self.a.stat("note_impossible") - before["note_impossible"], 1)
        peer.offered(b"well again")

    def test_broken_counters(self):
        """Counters that do not fit when resolving: counted, and both begin again, new."""
        peer = self.peer().open()
        peer.offered(b"one")
        peer.commit()
        before = self.a.stats()
        peer.freeze()
        peer.send(oae.SYNC_ACK, tx=5)
        sync = peer.expect(oae.SYNC)
        self.assertNotEqual(sync.inc, peer.far_inc)
        self.assertEqual(self.a.stat("note_broken") - before["note_broken"], 1)

    # Numbers wrap.

    def test_wrap_sending(self):
        """tag_seq near 2^32: seq goes through 0 and on."""
        self.set(self.a, tag_seq=0xfffffffe)
        peer = self.peer()
        self.post(peer, b"first")
        sync = peer.answer_sync(rx=0xfffffffd)
        self.assertEqual(sync.start, 0xfffffffd)
        for seq in (0xfffffffe, 0xffffffff, 0, 1):
            offer, slices = peer.take(seq=seq, tx=seq - 1 & 0xffffffff)
            peer.reflect(offer, slices, rx=seq - 1 & 0xffffffff)
            peer.rx = seq
            peer.expect(oae.COMMIT, tx=seq)
            self.post(peer, b"next")
        self.assertEqual(self.tag(peer)["tx"], 1)

    def test_wrap_receiving(self):
        """The peer's start near 2^32: what it says is delivered through the wrap."""
        peer = self.peer(start=0xfffffffd).open()
        for n in range(5):
            peer.offered(b"%d" % n)
            peer.commit()
        self.delivered(peer, b"0", b"1", b"2", b"3", b"4")
        self.assertEqual(self.tag(peer)["rx"], 2)

    def test_wrap_freeze(self):
        """A freeze at the wrap: -1 and 0 are neighbours when resolving, too."""
        peer = self.peer(start=0xffffffff).open()
        peer.offered(b"number 0")
        peer.commit(send=False)
        self.assertEqual(peer.tx, 0)
        self.assertEqual(peer.freeze().rx, 0xffffffff)
        peer.resolve()
        self.delivered(peer, b"number 0")

    # Express.

    def test_express_received(self):
        """Delivered when held; no COMMIT; the offer again is only reflected again."""
        peer = self.peer().open()
        peer.offered(b"at once", flags=oae.EXPRESS)
        self.assertEqual(self.a.read_each(), [b"at once"])
        self.assertEqual(self.tag(peer)["rx"], 1)
        peer.offered(b"at once", flags=oae.EXPRESS)
        peer.send(oae.ASK, seq=1, flags=oae.EXPRESS)
        peer.expect(oae.REFLECT, seq=1)
        # Nor is it taken back.
        peer.send(oae.OFFER, seq=1, kind=oae.VOID, flags=oae.LAST)
        peer.expect(oae.REFLECT, seq=1, kind=oae.MESSAGE, rx=1, payload=oae.reflect_body([b"at once"]))
        peer.commit(send=False)
        peer.offered(b"and on", flags=oae.EXPRESS)
        self.assertEqual(self.a.read_each(), [b"and on"])

    def test_express_sent(self):
        """EXPRESS in the OFFER; committed on the reflection, without a COMMIT."""
        peer = self.peer().open()
        self.set(self.a, express=1)
        self.post(peer, b"quick")
        self.post(peer, b"quicker")
        peer.accept(seq=1, flags=oae.EXPRESS | oae.LAST)
        peer.accept(seq=2, tx=1, flags=oae.EXPRESS | oae.LAST)
        peer.silence()
        self.assertEqual(self.tag(peer)["tx"], 2)

    def test_express_resolved(self):
        """The peer has delivered the express and its reflection is lost: rx == tx + 1 commits."""
        peer = self.peer().open()
        self.set(self.a, express=1)
        writer = self.a.start_write(b"quick", vc=peer.vc)
        peer.take(seq=1)
        peer.rx = 1
        peer.anew()
        self.assertEqual(writer.result(), 5)
        self.assertEqual(self.tag(peer)["tx"], 1)
        peer.silence()

    def test_express_to_a_peer_that_died(self):
        """Offered to an incarnation that died: UNKNOWN, and never offered to the next."""
        peer = self.peer().open()
        self.set(self.a, express=1)
        writer = self.a.start_write(b"quick", vc=peer.vc)
        peer.take(seq=1)
        before = self.a.stats()
        peer.inc += 1
        peer.rx = 0
        peer.far_inc = 0
        peer.anew(peer_inc=0)
        self.assertEqual(writer.result(), -errno.EOWNERDEAD)
        peer.silence()
        self.assertEqual(self.a.stat("unknown") - before["unknown"], 1)

    def test_atomic_to_a_peer_that_died(self):
        """What was offered atomically is offered anew to the next incarnation."""
        peer = self.peer().open()
        writer = self.a.start_write(b"safe", vc=peer.vc)
        peer.take(seq=1)
        peer.inc += 1
        peer.anew(peer_inc=0)
        self.accepted(peer, b"safe", seq=1)
        self.assertEqual(writer.result(), 4)

    def test_held_from_a_peer_that_died(self):
        """Its sender died undecided: what is held is dropped, counted, never delivered."""
        peer = self.peer().open()
        peer.offered(b"half said")
        before = self.a.stat("note_held_lost")
        peer.inc += 1
        peer.anew(peer_inc=0)
        peer.silence()
        self.assertEqual(self.a.stat("note_held_lost") - before, 1)
        self.assertEqual(self.a.read_all(), b"")

    # DONE.

    def test_want_done(self):
        """WANT_DONE is answered with DONE once delivered, each time."""
        peer = self.peer().open()
        peer.offered(b"tell me")
        peer.commit(flags=oae.WANT_DONE)
        peer.expect(oae.DONE, rx=1, seq=1)
        peer.send(oae.COMMIT, seq=1, flags=oae.WANT_DONE)
        peer.expect(oae.DONE, rx=1)

    def test_close_waits_for_delivery(self):
        """Closing first asks whether what was committed has been delivered; then CLOSE has LAST."""
        peer = self.peer().open()
        self.post(peer, b"last words")
        offer, slices = peer.take(seq=1)
        self.a.close_tag(peer.mac, peer.vc)
        peer.expect(oae.CLOSE, reason=0, flags=0)
        peer.silence()
        peer.reflect(offer, slices)
        peer.expect(oae.COMMIT, tx=1, flags=oae.WANT_DONE)
        peer.silence()
        peer.rx = 1
        peer.send(oae.DONE, seq=1)
        peer.expect(oae.CLOSE, reason=0, flags=oae.LAST)
        peer.send(oae.CLOSE_ACK)
        peer.silence()
        self.assertIsNone(self.tag(peer))
