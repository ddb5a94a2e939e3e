# SPDX-License-Identifier: GPL-2.0
"""Halves and words against a peer that follows a script: what is lent, what is reserved, and what
a program is told of it (protocol 4.9 and 4.10)."""

import errno

import oaedev as dev
import oaewire as oae
from devtest import PRI, Call, OaeFile, Scripted
from oaepeer import Peer
from oaetest import wait_for
from oaewire import BAD_VERB, NO_REGION, RANGE
from oaewire import verb_answer as answer
from oaewire import verb_op as op
from oaewire import verb_request as request


class Halves(Scripted):
    __doc__ = Scripted.__doc__

    def posted(self, file, give=b"of a", seq=1):
        """A half of the kernel, offered."""
        call = Call(file.swap, give)
        offer, data = self.peer.take(seq=seq, kind=oae.SWAP, flags=oae.LAST)
        self.assertEqual(data, [give])
        return call, offer

    def none(self, offer):
        """The peer has none: the half waits, and leaves its number to nothing."""
        self.peer.send(oae.REFUSE, seq=offer.seq, kind=oae.SWAP, reason=oae.NO_HALF)
        self.peer.voided(offer.seq)

    def lent(self, file):
        """A half of the kernel that was lent to an offer of the peer, which it holds."""
        call, offer = self.posted(file)
        self.none(offer)
        self.offer()
        return self.waits(call, file)

    def offer(self, data=b"of the peer", lent=b"of a"):
        """The peer offers its half, and is lent the kernel's."""
        self.peer.offer(data, kind=oae.SWAP)
        self.peer.expect(oae.REFLECT, kind=oae.SWAP, seq=self.peer.tx + 1, payload=oae.reflect_body([data]) + lent)

    def test_initiator(self):
        """Committed by the REFLECT, which brings the other half."""
        file = self.opened()
        call, offer = self.posted(file)
        self.peer.reflect(offer, [b"of a"], payload=oae.reflect_body([b"of a"]) + b"other")
        self.assertEqual(call.result(), b"other")
        self.peer.expect(oae.COMMIT, tx=1)

    def test_responder(self):
        """Lent: committed by the peer's commit, and not before."""
        file = self.opened()
        call = self.lent(file)
        self.assertTrue(file.status().flags & dev.ST_HALF)
        self.peer.commit()
        self.assertEqual(call.result(), b"of the peer")
        self.assertFalse(file.status().flags & dev.ST_HALF)
        self.assertEqual(file.status().unread, 0)

    def test_crossing_junior(self):
        """Both offer: this end has the lower address, and lends."""
        self.assertLess(self.cable.mac_a, self.peer.mac)
        file = self.opened()
        call, _ = self.posted(file)
        self.offer()
        self.peer.voided(1)
        self.peer.commit()
        self.assertEqual(call.result(), b"of the peer")

    def test_crossing_senior(self):
        """This end has the higher address: it refuses, and its own offer stands."""
        self.peer = Peer(self.wire, self.cable.mac_a, vc=self.vc, mac="02:00:00:00:00:01").open()
        file = self.later(OaeFile.to(self.a, self.peer.mac, vc=self.vc))
        call, offer = self.posted(file)
        self.peer.offer(b"of the peer", kind=oae.SWAP)
        self.peer.expect(oae.REFUSE, kind=oae.SWAP, reason=oae.NO_HALF)
        self.peer.reflect(offer, [b"of a"], payload=oae.reflect_body([b"of a"]) + b"of the peer")
        self.assertEqual(call.result(), b"of the peer")

    def test_none(self):
        """The peer offers, and there is no half here; once there is, this end offers."""
        file = self.opened()
        self.peer.offer(b"of the peer", kind=oae.SWAP)
        self.peer.expect(oae.REFUSE, kind=oae.SWAP, reason=oae.NO_HALF)
        call, offer = self.posted(file)
        self.peer.reflect(offer, [b"of a"], payload=oae.reflect_body([b"of a"]) + b"of the peer")
        self.assertEqual(call.result(), b"of the peer")

    def test_waiting_is_reversed_freely(self):
        """EINTR, ETIME, ECANCELED; and nobody is lent it then."""
        file = self.opened()
        for seq, (code, act) in enumerate((
                (errno.EINTR, lambda call: call.signal()),
                (errno.ECANCELED, lambda call: file.cancel())), 1):
            call, offer = self.posted(file, seq=seq)
            self.none(offer)
            self.silent()
            act(call)
            self.ends_in(call, code)
            self.assertFalse(file.status().flags & dev.ST_HALF)
        self.peer.offer(b"too late", kind=oae.SWAP)
        self.peer.expect(oae.REFUSE, kind=oae.SWAP, reason=oae.NO_HALF)

    def test_offered_and_interrupted(self):
        """EINTR, and the peer is told; its REFLECT comes too late."""
        file = self.opened()
        call, offer = self.posted(file)
        call.signal()
        self.ends_in(call, errno.EINTR)
        void, _ = self.peer.take(seq=1, kind=oae.VOID)
        self.peer.reflect(offer, [b"of a"], payload=oae.reflect_body([b"of a"]) + b"other")
        self.silent()
        self.peer.reflect(void, [b""])
        self.peer.expect(oae.COMMIT, tx=1)
        self.assertEqual((file.status().committed, file.status().reversed), (0, 1))
        self.assertEqual(file.collect(), [])

    def test_lent_and_interrupted(self):
        """EINPROGRESS: it is the peer's to decide. Committed: it is collected, with the other."""
        file = self.opened()
        call = self.lent(file)
        call.signal()
        self.ends_in(call, errno.EINPROGRESS)
        self.fails(errno.EINPROGRESS, file.cancel, 1)
        self.assertEqual(file.collect(), [])
        self.peer.commit()
        wait_for(lambda: file.poll() & PRI, "an outcome")
        got = self.assert_outcomes(file, (1, "C", 0))
        self.assertEqual((got[0].kind, got[0].data), (dev.SWAP, b"of the peer"))

    def test_lent_and_reversed(self):
        """EINPROGRESS, and then the peer takes its own back: reversed, never offered again."""
        for how in ("signal", "cancel", "deadline"):
            self.vc = next(self.vcs)
            self.peer = Peer(self.wire, self.cable.mac_a, vc=self.vc)
            file = self.opened(**{"deadline_ms": 300} if how == "deadline" else {})
            call = self.lent(file)
            if how == "signal":
                call.signal()
            elif how == "cancel":
                self.fails(errno.EINPROGRESS, file.cancel)
            if how != "cancel":
                self.ends_in(call, errno.EINPROGRESS)
            self.peer.void()
            if how == "cancel":
                self.ends_in(call, errno.ECANCELED)
            else:
                self.assert_outcomes(file, (1, "R", {"signal": errno.EINTR,
                                                     "deadline": errno.ETIME}[how]))
            self.silent()
            self.assertFalse(file.status().flags & dev.ST_HALF)

    def test_lent_and_back(self):
        """The peer takes its own back, nobody has asked for this one: it is offered again."""
        file = self.opened()
        call = self.lent(file)
        self.peer.void()
        offer, data = self.peer.take(seq=2, kind=oae.SWAP)
        self.assertEqual(data, [b"of a"])
        self.peer.reflect(offer, data, payload=oae.reflect_body(data) + b"other")
        self.assertEqual(call.result(), b"other")

    def test_lent_and_the_peer_dies(self):
        """EOWNERDEAD: the dead may have used it."""
        file = self.opened()
        call = self.lent(file)
        self.peer.inc, self.peer.tx, self.peer.rx = self.peer.inc ^ 1, 0, 0
        self.peer.anew()
        self.ends_in(call, errno.EOWNERDEAD)
        self.assertEqual(file.status().unknown, 1)

    def test_lent_and_the_port_goes(self):
        """EOWNERDEAD likewise; one that waits behind it is only reversed."""
        file = self.opened()
        call = self.lent(file)
        second = Call(file.swap, b"second")
        wait_for(lambda: file.status().pending == 2, "the second")
        self.a.knob("dev", "")
        self.ends_in(call, errno.EOWNERDEAD)
        self.assertIn(second.error(), ("ECANCELED", "ESHUTDOWN"))

    def test_messages_pass(self):
        """A half that waits for its partner holds no message up, nor the other way."""
        file = self.opened()
        call, offer = self.posted(file)
        self.none(offer)
        writing = Call(file.write, b"message")
        offer, data = self.peer.take(seq=2, kind=oae.MESSAGE)
        self.peer.reflect(offer, data)
        self.assertEqual(writing.result(), 7)
        self.peer.rx = 2
        self.peer.expect(oae.COMMIT)
        self.offer()
        self.peer.commit()
        self.assertEqual(call.result(), b"of the peer")


class Words(Scripted):
    __doc__ = Scripted.__doc__

    REGION = 5

    def setUp(self):
        super().setUp()
        self.file = self.later(OaeFile(self.a))
        self.file.listen(any_vc=True)
        self.file.expose(4096, self.REGION, 7)
        self.shown = self.file.mmap(4096)
        self.addCleanup(self.shown.close)
        self.other = Peer(self.wire, self.cable.mac_a, vc=self.vc, mac="02:0a:e0:01:00:09")
        self.peer.open()
        self.other.open()

    def word(self, index):
        """As the mapping shows it."""
        return int.from_bytes(self.shown[index * 8:index * 8 + 8], "little")

    def ask(self, peer, data, wanted):
        """A peer offers a request: its answer, or the reason why not."""
        peer.offer(data, kind=oae.VERB)
        where = {"kind": oae.VERB, "seq": peer.tx + 1}
        if isinstance(wanted, int):
            peer.expect(oae.REFUSE, reason=wanted, **where)
        else:
            peer.expect(oae.REFLECT, payload=oae.reflect_body([data]) + wanted, **where)

    def back(self):
        """The peer takes back what it has asked: nothing takes its place, and is committed."""
        self.peer.void()
        self.peer.commit()

    def add(self, index=0, much=1):
        """A request for FETCH_ADD."""
        return request(self.REGION, op(dev.FETCH_ADD, index, much))

    def test_applied_by_the_commit(self):
        """And not before; to whoever has mapped it, too."""
        self.ask(self.peer, self.add(much=3), answer(0))
        self.assertEqual(self.word(0), 0)
        self.peer.commit()
        wait_for(lambda: self.word(0) == 3, "it to be applied")

    def test_reversed_changes_nothing(self):
        """What is dropped has never been."""
        self.ask(self.peer, self.add(), answer(0))
        self.back()
        self.ask(self.peer, self.add(), answer(0))
        self.peer.commit()
        wait_for(lambda: self.word(0) == 1, "the second to be applied")

    def test_reserved(self):
        """Others are refused until it is decided, and then told; the owner gets EAGAIN."""
        self.ask(self.peer, self.add(), answer(0))
        for bad in (self.add(), request(self.REGION, op(dev.READ, 0, 1)),
                    request(self.REGION, op(dev.WRITE, 7, 1), op(dev.READ, 0, 2)),
                    request(self.REGION, op(dev.CAS, 0, 1, cmp=(9,)))):
            self.ask(self.other, bad, oae.CONFLICT)
        for mine in (dev.read_op(0), dev.add_op(0, 1), dev.write_op(0, 1), dev.cas_op(0, 0, 1)):
            self.fails(errno.EAGAIN, self.file.local, mine)
        self.assertEqual(self.file.local(dev.add_op(8, 1)).old, [[0]])      # a neighbour is free
        self.peer.commit()
        self.other.expect(oae.READY)
        self.ask(self.other, self.add(), answer(1))
        self.other.commit()
        wait_for(lambda: self.word(0) == 2, "both to be applied")
        self.assertEqual(self.file.local(dev.read_op(0)).old, [[2]])

    def test_reserved_and_reversed(self):
        """Whoever was refused is told that the words are free again."""
        self.ask(self.peer, self.add(), answer(0))
        self.ask(self.other, self.add(), oae.CONFLICT)
        self.peer.void()
        self.other.expect(oae.READY)
        self.ask(self.other, self.add(), answer(0))
        self.other.commit()
        wait_for(lambda: self.word(0) == 1, "one to be applied")

    def test_reading_reserves_nothing(self):
        """And the answer to the same offer stays what it was."""
        reading = request(self.REGION, op(dev.READ, 0, 2))
        self.ask(self.peer, reading, answer(0, 0))
        self.ask(self.other, self.add(much=7), answer(0))
        self.other.commit()
        wait_for(lambda: self.word(0) == 7, "it to be applied")
        self.ask(self.peer, reading, answer(0, 0))      # the same one
        self.back()
        self.ask(self.peer, reading, answer(7, 0))

    def test_failed_comparison(self):
        """Nothing changes, nothing is reserved; what is behind it yields 0."""
        self.file.local(dev.write_op(0, 1, 2, 3))
        data = request(self.REGION, op(dev.EXCHANGE, 3, 9), op(dev.CAS, 0, 8, 8, cmp=(1, 9)),
                       op(dev.READ, 0, 1))
        self.ask(self.peer, data, answer(0, 1, 2, 0, taken=0, failed=1))
        self.assertEqual(self.file.local(dev.exchange_op(0, 5, 5, 5, 5)).old, [[1, 2, 3, 0]])
        self.peer.commit()
        self.silent()
        self.assertEqual([self.word(n) for n in range(4)], [5, 5, 5, 5])

    def test_each_sees_those_before(self):
        """Operations of one request are in order, all or nothing."""
        data = request(self.REGION, op(dev.WRITE, 0, 10, 20), op(dev.FETCH_ADD, 1, 1),
                       op(dev.CAS, 0, 30, 40, cmp=(10, 21)), op(dev.READ, 0, 3))
        self.ask(self.peer, data, answer(20, 10, 21, 30, 40, 0))
        self.assertEqual(self.word(0), 0)
        self.peer.commit()
        wait_for(lambda: (self.word(0), self.word(1)) == (30, 40), "all to be applied")

    def test_bad(self):
        """Each with its reason, and nothing is reserved by it."""
        good = op(dev.FETCH_ADD, 0, 1)
        for data, reason in (
                (request(6, good), NO_REGION), (request(0, good), NO_REGION),
                (request(self.REGION, good, op(dev.FETCH_ADD, 512, 1)), RANGE),
                (request(self.REGION, op(dev.READ, 511, 2)), RANGE),
                (request(self.REGION, op(dev.READ, 0xffffffff, 1)), RANGE),
                (request(self.REGION), BAD_VERB), (request(self.REGION, good)[:-1], BAD_VERB),
                (request(self.REGION, good) + b"\0", BAD_VERB), (b"\0", NO_REGION),
                (request(self.REGION, good, b"\0" * 8), BAD_VERB),
                (request(self.REGION, b"\6" + good[1:]), BAD_VERB),
                (request(self.REGION, good[:1] + b"\0" + good[2:]), BAD_VERB),
                (request(self.REGION, good[:1] + b"\x09" + good[2:]), BAD_VERB),
                (request(self.REGION, good[:2] + b"\1" + good[3:]), BAD_VERB),
                (request(self.REGION, good)[:5] + b"\1" + request(self.REGION, good)[6:],
                 BAD_VERB)):
            with self.subTest(data.hex()):
                self.ask(self.peer, data, reason)
                self.back()
        self.assertEqual(self.file.local(dev.read_op(0, 8)).old, [[0] * 8])

    def test_the_region_goes(self):
        """While a verb is held: it is committed all the same, unseen; the next finds none, and a
        peer that waits for its words is told to come again at once."""
        self.ask(self.peer, self.add(), answer(0))
        self.ask(self.other, self.add(), oae.CONFLICT)
        self.shown.close()
        self.file.close()
        self.other.expect(oae.READY)
        self.peer.commit()
        self.ask(self.peer, self.add(), NO_REGION)
        self.ask(self.other, self.add(), NO_REGION)

    def test_the_peer_goes(self):
        """Who holds words and is cut off keeps them until its tag is closed."""
        self.ask(self.peer, self.add(), answer(0))
        self.fails(errno.EAGAIN, self.file.local, dev.add_op(0, 1))
        self.a.knobs(stall_min_us=10000, dead_ms=100)
        self.a.close_tag(self.peer.mac, self.vc)
        self.assertTrue(self.file.settled(dev.add_op(0, 1)).taken)
        self.assertEqual(self.word(0), 1)
