# SPDX-License-Identifier: GPL-2.0
"""Transactions are followed from frame to frame: what is told of each, and where."""

import unittest
from dataclasses import replace

from oaepcap import A, B, G1, Capture, tshark, udp4
import oaeipwire as ip
import oaewire as oae
from oaewire import (ACK, ASK, COMMIT, DONE, EXPRESS, LAST, OFFER, PATH, READY, REFLECT, REFUSE, RESUME,
                     SWAP, SYNC, SYNC_ACK, VERB, VOID, Frame)

INC_A, INC_B = 0xa1, 0xb1


class Link:     # pylint: disable=too-many-instance-attributes
    """Both ends of a link, which say what they are told to say."""

    def __init__(self, capture=None, vc=0):
        self.capture = capture or Capture()
        self.vc = vc
        self.inc = {A: INC_A, B: INC_B}
        self.ltag = {A: 0xa0000001, B: 0xb0000001}
        self.tx, self.rx = {A: 0, B: 0}, {A: 0, B: 0}

    def say(self, src, opcode, raw=None, **given):
        """A frame from one end; its number."""
        dst = B if src is A else A
        given = {"src": src, "dst": dst, "src_ltag": self.ltag[src], "dst_ltag": self.ltag[dst],
                 "tx": self.tx[src], "rx": self.rx[src], "vc": self.vc} | given
        f = Frame(opcode, **given)
        return self.capture.add(raw(f) if raw else f.pack())

    def sync(self, src, opcode=SYNC, knows=True, **given):
        """A SYNC of one end, which knows the other or not."""
        dst = B if src is A else A
        body = oae.sync_body(self.inc[src], self.inc[dst] if knows else 0)
        return self.say(src, opcode, payload=body, **({} if knows else {"dst_ltag": 0}) | given)

    def open(self):
        """As a link opens."""
        self.sync(A, knows=False)
        self.sync(B)
        return self.sync(A, SYNC_ACK)

    def freeze(self, src):
        """It draws a new ltag and asks."""
        self.ltag[src] += 1
        return self.sync(src)

    def offer(self, src, seq, *slices, only=None, flags=0, **given):
        """Slices of a transaction, all of them or only some; the first frame's number."""
        numbers = [self.say(src, OFFER, seq=seq, slice=n, payload=slices[n],
                            flags=flags | (LAST if n == len(slices) - 1 else 0), **given)
                   for n in (range(len(slices)) if only is None else only)]
        return numbers[0]

    def reflect(self, src, seq, *slices, more=b"", **given):
        """What it heard."""
        return self.say(src, REFLECT, seq=seq,
                        payload=oae.reflect_body(slices) + more, **given)

    def commit(self, src, seq, **given):
        """It commits."""
        self.tx[src] = seq
        return self.say(src, COMMIT, **given)


class FollowTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.link = Link()

    def open(self):
        """The link, open."""
        self.link.open()
        return self.link

    def run_tshark(self, *options):
        """By frame number, and by transaction: what the last of its frames says."""
        self.frames = [None, *tshark(self.link.capture, *options)]
        self.found = {}
        for frame in self.frames[1:]:
            if "oae.transaction" in frame:
                self.found[int(frame["oae.transaction"][0])] = frame
        return self.found

    def told(self, number, **expected):
        """That frame, or dict, says this, None: nothing, of its transaction."""
        frame = self.frames[number] if isinstance(number, int) else number
        for name, value in expected.items():
            value = value if isinstance(value, list) or value is None else [value]
            self.assertEqual(frame.get("oae." + name.replace("__", ".")),
                             value and [str(v) for v in value], f"{name} of {number}: {frame}")


class Message(FollowTest):
    def test_commit(self):
        link = self.open()
        o = link.offer(A, 1, b"hello")
        r = link.reflect(B, 1, b"hello")
        c = link.commit(A, 1, flags=oae.WANT_DONE)
        link.rx[B] = 1
        d = link.say(B, DONE)
        self.run_tshark()
        for n in (o, r, c, d):
            self.told(n, transaction=1, outcome="committed", offered_in=o,
                      reflected_in=r, committed_in=c, delivered_in=d, refused_in=None,
                      reversed_in=None, resolved_in=None, reflect_time="0.000010000",
                      commit_time="0.000020000", link=1)
        self.told(r, reflect__match=1)
        self.told(c, commits=1, commits__offered_in=o)
        self.told(d, delivers=1)
        self.told(o, reassembled__length=5, slice_of=None)

    def test_one_pass_tells_what_was_before(self):
        link = self.open()
        o = link.offer(A, 1, b"hello")
        r = link.reflect(B, 1, b"hello")
        c = link.commit(A, 1)
        self.run_tshark("-o", "oae.follow:TRUE")
        self.told(o, offered_in=o, reflected_in=None, outcome="undecided")
        self.told(r, offered_in=o, reflected_in=r, outcome="undecided")
        self.told(c, offered_in=o, reflected_in=r, committed_in=c, outcome="committed")

    def test_next_offer_commits(self):
        link = self.open()
        first = link.offer(A, 1, b"one")
        link.reflect(B, 1, b"one")
        link.tx[A] = 1
        second = link.offer(A, 2, b"two")
        found = self.run_tshark()
        self.told(first, outcome="committed", committed_in=second)
        self.told(second, transaction=2, commits=1, outcome="undecided", committed_in=None)
        self.assertEqual(self.frames[second]["info"], "OFFER: #2, 3 bytes; commits #1")
        self.assertEqual(len(found), 2)

    def test_express(self):
        link = self.open()
        o = link.offer(A, 1, b"now", flags=EXPRESS)
        link.rx[B] = 1
        r = link.reflect(B, 1, b"now")
        link.tx[A] = 1
        probe = link.sync(A)
        self.run_tshark()
        self.told(o, delivered_in=r, committed_in=probe, outcome="committed", resolved_in=None)

    def test_slices(self):
        link = self.link
        slices = [bytes([n]) * 100 for n in range(5)]
        link.open()
        o = link.offer(A, 1, *slices, only=(0, 2, 4))
        ack = link.say(B, ACK, seq=1, payload=(0b10101).to_bytes(8, "big"))
        again = link.offer(A, 1, *slices, only=(1, 3))
        ask = link.say(A, ASK, seq=1)
        r = link.reflect(B, 1, *slices)
        found = self.run_tshark()
        self.assertEqual(len(found), 1)
        for n in (o, o + 2, ack, again, again + 1, ask):
            self.told(n, reflected_in=r, offered_in=o)
        self.told(o + 1, slice_of="3 of 5", reassembled_in=again + 1)
        self.told(again + 1, reassembled__length=500, reassembled_in=None,
                  slice__frame=[o, again, o + 1, again + 1, o + 2])
        self.assertEqual(self.frames[again + 1]["oae.reassembled.data"][0].replace(":", ""),
                         b"".join(slices).hex())
        self.told(r, reflect__match=1)
        self.told(again, slice_of="2 of 5")
        self.assertEqual(self.frames[again]["info"], "OFFER: #1, slice 2 of 5, 100 bytes")
        self.assertNotIn("oae.note.again", self.frames[again])
        self.assertNotIn("oae.note.copy", self.frames[again])

    def test_repeated(self):
        """What was not heard is sent again with another number; a copy has the same."""
        link = self.link
        link.open()
        o = link.offer(A, 1, b"hello", pn=1)
        again = link.offer(A, 1, b"hello", pn=2)
        copy = link.offer(A, 1, b"hello", pn=2)
        r = link.reflect(B, 1, b"hello", pn=2)
        self.run_tshark()
        for n in (o, again, copy):
            self.told(n, reflected_in=r, offered_in=o)
        self.assertNotIn("oae.note.again", self.frames[o])
        self.assertIn("oae.note.again", self.frames[again])
        self.assertNotIn("oae.note.copy", self.frames[again])
        self.assertNotIn("oae.note.again", self.frames[copy])
        self.told(copy, copy_of=again)
        self.assertIn("oae.note.copy", self.frames[copy])

    def test_out_of_order_and_doubled(self):
        link = self.link
        slices = [bytes([n]) * 10 for n in range(3)]
        link.open()
        link.offer(A, 1, *slices, only=(2, 0, 2, 1))
        r = link.reflect(B, 1, *slices)
        self.assertEqual(len(self.run_tshark()), 1)
        self.told(4, slice_of="3 of 3", reassembled_in=7)
        self.told(7, slice__frame=[5, 7, 4])
        self.assertIn("oae.note.copy", self.frames[6])
        self.assertNotIn("oae.note.copy", self.frames[4])
        self.told(r, reflect__match=1)

    def test_another_last(self):
        """A slice that contradicts the first LAST is dropped by the receiver."""
        link = self.open()
        o = link.offer(A, 1, b"0", b"1", b"2", only=(2, 0))
        link.offer(A, 1, b"0", b"1")
        n = link.offer(A, 1, b"0", b"1", b"2", only=(1,))
        self.run_tshark()
        self.told(o, slice_of="3 of 3")
        self.assertEqual(self.frames[n]["oae.slice_of"], ["2 of 3"])

    def test_mismatch(self):
        link = self.open()
        link.offer(A, 1, b"hello")
        digest = link.reflect(B, 1, b"hellO")
        first = link.say(B, REFLECT, seq=1, payload=oae.reflect_body([b"hello"])[:15] + b"!")
        self.run_tshark()
        for n in (digest, first):
            self.told(n, reflect__match=0)
            self.assertIn("oae.note.mismatch", self.frames[n])
            self.assertIn("heard something else", self.frames[n]["info"])

    def test_both_directions_and_channels(self):
        link = self.open()
        other = Link(link.capture, vc=9)
        other.ltag = link.ltag          # not likely, but no reason to confuse them
        other.open()
        a = link.offer(A, 1, b"from a")
        b = link.offer(B, 1, b"from b")
        c = other.offer(A, 1, b"channel 9")
        ca = link.commit(A, 1)
        cb = link.commit(B, 1)
        found = self.run_tshark()
        self.assertEqual(len(found), 3)
        self.told(a, committed_in=ca, link=1)
        self.told(b, committed_in=cb, link=1)
        self.told(c, outcome="undecided", link=2)

    def test_numbers_wrap(self):
        link = self.link
        link.tx[A] = link.rx[B] = 0xfffffffe
        link.open()
        link.offer(A, 0xffffffff, b"last")
        link.tx[A] = 0xffffffff
        zero = link.offer(A, 0, b"zero")
        c = link.commit(A, 0)
        link.rx[B] = 0
        d = link.say(B, DONE)
        self.run_tshark()
        self.told(4, committed_in=zero, delivered_in=d)
        self.told(zero, committed_in=c, delivered_in=d)


class Window(FollowTest):
    """Several under way: any frame may commit, or confirm, more than one."""

    def test_commit(self):
        link = self.open()
        o = [link.offer(A, n, b"no %d" % n) for n in (1, 2, 3)]
        r = [link.reflect(B, n, b"no %d" % n) for n in (3, 2, 1)]
        c = link.commit(A, 3)
        link.rx[B] = 2
        done = link.say(B, DONE)
        link.rx[B] = 3
        more = link.reflect(B, 9, b"late")
        self.run_tshark()
        for n in range(3):
            self.told(o[n], transaction=n + 1, outcome="committed", reflected_in=r[2 - n],
                      committed_in=c, delivered_in=done if n < 2 else more)
        self.told(c, commits=[1, 2, 3], commits__offered_in=o, transaction=3)
        self.told(done, delivers=[1, 2])
        self.told(more, delivers=3)

    def test_void(self):
        link = self.open()
        first, second = link.offer(A, 1, b"one"), link.offer(A, 2, b"two")
        link.reflect(B, 1, b"one")
        void = link.offer(A, 1, b"", kind=VOID)
        link.reflect(B, 2, b"two")
        r = link.reflect(B, 1, b"", kind=VOID)
        c = link.commit(A, 2)
        self.run_tshark()
        self.told(first, outcome="reversed", reversed_in=void, committed_in=None)
        self.told(void, transaction=3, outcome="committed", reflected_in=r, committed_in=c)
        self.told(r, reflect__match=1)
        self.told(second, outcome="committed", committed_in=c)

    def test_moves_down(self):
        """The numbers are given anew in the next run."""
        link = self.open()
        link.offer(A, 1, b"one")
        void = link.offer(A, 1, b"", kind=VOID)
        second, third = link.offer(A, 2, b"two"), link.offer(A, 3, b"three")
        link.freeze(A)
        link.ltag[B] += 1
        link.sync(B)
        link.sync(A, SYNC_ACK)
        again = link.offer(A, 1, b"two")
        other = link.offer(A, 2, b"three")
        link.reflect(B, 1, b"two")
        link.reflect(B, 2, b"three")
        c = link.commit(A, 2)
        self.run_tshark()
        self.told(void, outcome="gone with its run", replaced_in=again)
        self.told(second, transaction=3, outcome="committed", committed_in=c)
        self.told(again, transaction=3)
        self.told(third, transaction=4, outcome="committed", committed_in=c)
        self.told(other, transaction=4)


class NotCommitted(FollowTest):
    def test_reversed(self):
        """Nothing takes its place; late copies of it, and of the answer, change nothing."""
        link = self.open()
        o = link.offer(A, 1, b"never")
        link.reflect(B, 1, b"never")
        v = link.offer(A, 1, b"", kind=VOID)
        late = link.offer(A, 1, b"never", pn=9)
        answer = link.reflect(B, 1, b"never")
        link.reflect(B, 1, b"", kind=VOID)
        c = link.commit(A, 1)
        link.rx[B] = 1
        d = link.say(B, DONE)
        self.assertEqual(len(self.run_tshark()), 2)
        for frame in (o, late, answer):
            self.told(frame, transaction=1, outcome="reversed", reversed_in=v, committed_in=None,
                      delivered_in=None)
        self.told(v, transaction=2, outcome="committed", committed_in=c, delivered_in=d)
        self.assertIn("oae.note.reversed", self.frames[v])
        self.assertNotIn("oae.note.differs", self.frames[late])

    def test_another_content(self):
        """Under a number of a run there is none: it is told, and not followed."""
        link = self.open()
        o = link.offer(A, 1, b"hello")
        for given in ({"payload": b"hallo"}, {"kind": SWAP}, {"flags": LAST | EXPRESS}):
            n = link.say(A, OFFER, **{"seq": 1, "flags": LAST, "payload": b"hello"} | given)
        self.assertEqual(len(self.run_tshark()), 1)
        for n in (o + 1, o + 2, o + 3):
            self.told(n, transaction=1)
            self.assertIn("oae.note.differs", self.frames[n])

    def test_what_was_reversed_is_not_committed(self):
        """Though it was reflected, and of what was offered instead no REFLECT was captured."""
        link = self.open()
        o = link.offer(A, 1, b"never")
        link.reflect(B, 1, b"never")
        v = link.offer(A, 1, b"", kind=VOID)
        c = link.commit(A, 1)
        self.run_tshark()
        self.told(o, outcome="reversed", committed_in=None)
        self.told(v, outcome="committed", committed_in=c)

    def test_late_copy_of_what_was_before(self):
        """The first frame of it that is seen, in this run or at all."""
        link = self.open()
        v = link.offer(A, 1, b"", kind=VOID)
        late = link.offer(A, 1, b"never")
        c = link.commit(A, 1)
        o = link.offer(A, 2, b"neither")
        link.freeze(A)
        link.ltag[B] += 1
        link.sync(B)
        link.sync(A, SYNC_ACK)
        v2 = link.offer(A, 2, b"", kind=VOID)
        late2 = link.offer(A, 2, b"neither")
        self.assertEqual(len(self.run_tshark()), 4)
        self.told(v, outcome="committed", committed_in=c)
        self.told(late, outcome="reversed", reversed_in=v)
        for n in (o, late2):
            self.told(n, transaction=3, outcome="reversed", reversed_in=v2)

    def test_answers_of_another_kind(self):
        """What is said of a number is said of what has its kind."""
        link = self.open()
        o = link.offer(A, 1, b"hello")
        for opcode, given in ((REFLECT, {"payload": oae.reflect_body([b"hello"]) + b"x"}),
                              (REFUSE, {"reason": oae.NO_HALF}), (ACK, {"payload": bytes(8)})):
            n = link.say(B, opcode, seq=1, kind=SWAP, **given)
        self.run_tshark()
        self.told(o, outcome="undecided", reflected_in=None, refused_in=None)
        for n in (o + 1, o + 2, o + 3):
            self.told(n, transaction=None)

    def recalled(self):
        """An express is offered, and then nothing; the numbers of both frames."""
        link = self.open()
        return link.offer(A, 1, b"now", flags=EXPRESS), link.offer(A, 1, b"", kind=VOID)

    def test_recalled(self):
        """It was not delivered: nothing is reflected."""
        o, v = self.recalled()
        r = self.link.reflect(B, 1, b"", kind=VOID)
        c = self.link.commit(A, 1)
        self.link.rx[B] = 1
        self.link.say(B, DONE)
        self.run_tshark()
        self.told(o, outcome="reversed", reversed_in=r, delivered_in=None)
        self.told(v, outcome="committed", committed_in=c)
        self.assertIn("oae.note.reversed", self.frames[v])

    def test_recalled_unknown(self):
        """Until one of the two is reflected."""
        o, v = self.recalled()
        self.run_tshark()
        self.told(o, outcome="undecided")
        self.told(v, outcome="undecided")

    def test_recalled_too_late(self):
        """It was delivered, and that is what is reflected."""
        o, v = self.recalled()
        self.link.rx[B] = 1
        r = self.link.reflect(B, 1, b"now")
        c = self.link.commit(A, 1)
        self.run_tshark()
        self.told(o, outcome="committed", reflected_in=r, committed_in=c, delivered_in=r)
        self.told(v, outcome="too late", committed_in=None, delivered_in=None)

    def test_recalled_resolved(self):
        """The same, as a SYNC says it; of both."""
        for delivered in (False, True):
            self.link = Link()
            o, v = self.recalled()
            link = self.link
            link.freeze(A)
            link.rx[B] = int(delivered)
            sync = link.freeze(B)
            link.tx[A] = int(delivered)
            c = link.sync(A, SYNC_ACK)
            if not delivered:
                again = link.offer(A, 1, b"", kind=VOID)
                r = link.reflect(B, 1, b"", kind=VOID)
                c = link.commit(A, 1)
            self.assertEqual(len(self.run_tshark()), 2)
            if delivered:
                self.told(o, outcome="committed", committed_in=c, delivered_in=sync)
                self.told(v, outcome="too late")
            else:
                self.told(o, outcome="reversed", reversed_in=r)
                for n in (v, again):
                    self.told(n, transaction=2, outcome="committed", committed_in=c)

    def test_parked(self):
        link = self.open()
        o = link.offer(A, 1, b"hello")
        refused = link.say(B, REFUSE, seq=1, reason=oae.BUSY)
        link.say(B, READY)
        again = link.offer(A, 1, b"hello")
        r = link.reflect(B, 1, b"hello")
        c = link.commit(A, 1)
        self.assertEqual(len(self.run_tshark()), 1)
        for n in (o, refused, again, r, c):
            self.told(n, outcome="committed", offered_in=o, refused_in=refused,
                      reflect_time="0.000010000", commit_time="0.000050000")
        self.assertIn("oae.note.refused", self.frames[refused])

    def test_refused_for_good(self):
        for reason in (5, 6, 9, 10, 11, 12):
            self.link = link = Link()
            link.open()
            o = link.offer(A, 1, b"hello")
            n = link.say(B, REFUSE, seq=1, reason=reason)
            c = link.offer(A, 1, b"", kind=VOID)
            link.commit(A, 1)
            self.assertEqual(len(self.run_tshark()), 2)
            self.told(o, outcome="refused", refused_in=n, reversed_in=None)
            self.told(c, outcome="committed", transaction=2)

    def test_link_closed(self):
        link = self.open()
        o = link.offer(A, 1, b"parked")
        link.say(B, REFUSE, seq=1, reason=oae.BUSY)
        link.say(A, oae.CLOSE)
        ack = link.say(B, oae.CLOSE_ACK)
        self.run_tshark()
        self.told(o, outcome="reversed", ended_in=ack)


class Failures(FollowTest):
    def failed(self, src, opcode=SYNC_ACK):
        """Both freeze and resolve, with their counters as they are; the frames' numbers."""
        other = B if src is A else A
        return self.freeze_both(src, other), self.sync_ack(src, opcode)

    def freeze_both(self, src, other):
        """First one, then the other."""
        first = self.link.freeze(src)
        self.link.freeze(other)
        return first

    def sync_ack(self, src, opcode):
        """It has resolved."""
        return self.link.sync(src, opcode)

    def test_offered_again(self):
        link = self.open()
        o = link.offer(A, 1, b"hello")
        frozen, _ = self.failed(A)
        again = link.offer(A, 1, b"hello")
        r = link.reflect(B, 1, b"hello")
        c = link.commit(A, 1)
        self.assertEqual(len(self.run_tshark()), 1)
        self.told(o, outcome="committed", frozen_in=frozen, resolved_in=frozen + 1,
                  resolved_as="not taken: offered again or reversed", committed_in=c, reflected_in=r)
        for n in (frozen, frozen + 1):
            self.assertIn("oae.note.freeze", self.frames[n])
        self.assertIn("oae.note.again", self.frames[again])
        self.assertNotIn("oae.note.freeze", self.frames[1])

    def test_committed_by_sync(self):
        """The COMMIT was lost: the SYNC says it."""
        link = self.open()
        o = link.offer(A, 1, b"hello")
        link.reflect(B, 1, b"hello")
        frozen = link.freeze(B)
        link.tx[A] = 1
        sync = link.freeze(A)
        link.rx[B] = 1
        ack = link.sync(B, SYNC_ACK)
        self.run_tshark()
        self.told(o, outcome="committed", committed_in=sync, resolved_in=sync,
                  resolved_as="committed", frozen_in=frozen, delivered_in=ack)
        self.assertIn("commits #1", self.frames[sync]["info"])

    def test_express_delivered_by_sync(self):
        """The REFLECT was lost: the peer's rx says it."""
        link = self.open()
        o = link.offer(A, 1, b"hello", flags=EXPRESS)
        link.freeze(A)
        link.rx[B] = 1
        sync = link.freeze(B)
        link.tx[A] = 1
        ack = link.sync(A, SYNC_ACK)
        self.run_tshark()
        self.told(o, outcome="committed", committed_in=ack, delivered_in=sync, resolved_in=sync,
                  resolved_as="delivered")

    def test_cut_anew(self):
        """Offered again after the way has become narrower: in more slices, under another digest."""
        link = self.link
        whole = bytes(range(200))
        link.open()
        o = link.offer(A, 1, whole[:100], whole[100:])
        self.failed(A)
        pieces = [whole[n:n + 50] for n in range(0, 200, 50)]
        again = link.offer(A, 1, *pieces)
        r = link.reflect(B, 1, *pieces)
        link.commit(A, 1)
        self.assertEqual(len(self.run_tshark()), 1)
        self.told(o, slice_of="1 of 2", reassembled_in=o + 1, outcome="committed")
        self.told(again, slice_of="1 of 4", reassembled_in=again + 3)
        self.told(again + 3, slice__frame=[again, again + 1, again + 2, again + 3],
                  reassembled__length=200)
        self.told(r, reflect__match=1)

    def test_another_after_a_failure(self):
        link = self.open()
        o = link.offer(A, 1, b"reversed meanwhile")
        self.failed(A)
        n = link.offer(A, 1, b"next")
        link.commit(A, 1)
        self.assertEqual(len(self.run_tshark()), 2)
        self.told(o, outcome="reversed", replaced_in=n)
        self.told(n, outcome="committed")

    def test_resumed_after_a_failure(self):
        link = self.link
        slices = [bytes([n]) * 9 for n in range(3)]
        link.open()
        o = link.offer(A, 1, *slices)
        self.failed(B)
        last = link.offer(A, 1, *slices, only=(2,), flags=RESUME)
        r = link.reflect(B, 1, *slices)
        self.assertEqual(len(self.run_tshark()), 1)
        self.told(last, slice_of="3 of 3", reassembled_in=o + 2)
        self.told(r, reflect__match=1)

    def test_peer_died(self):
        """What was offered atomically is offered anew, an express is unknown."""
        for flags, outcome in ((0, "offered anew"), (EXPRESS, "unknown")):
            self.link = link = Link()
            link.tx[A] = link.rx[B] = 5
            link.open()
            o = link.offer(A, 6, b"hello", flags=flags)
            link.inc[B], link.rx[B], link.ltag[B] = 0xb2, 0, 0xb7
            died = link.sync(B, knows=False)
            link.tx[A] = 0
            link.freeze(A)
            link.sync(B, SYNC_ACK)
            n = link.offer(A, 1, b"hello", flags=flags)
            link.commit(A, 1)
            self.run_tshark()
            self.told(o, outcome=outcome, ended_in=died, committed_in=None)
            self.told(n, outcome="committed", transaction=2)
            self.assertIn("oae.note.new_inc", self.frames[died])

    def test_sender_died(self):
        link = self.open()
        o = link.offer(A, 1, b"hello")
        link.inc[A], link.ltag[A] = 0xa2, 0xa7
        died = link.sync(A, knows=False)
        self.run_tshark()
        self.told(o, outcome="lost with its sender", ended_in=died)

    def test_a_late_sync_of_the_dead(self):
        """It does not bring back anything."""
        link = self.link
        old = link.capture.records[link.open() - 3][2]
        link.inc[A], link.ltag[A] = 0xa2, 0xa7
        link.sync(A, knows=False)
        link.freeze(B)
        link.sync(A, SYNC_ACK)
        o = link.offer(A, 1, b"hello")
        link.capture.add(old)
        link.commit(A, 1)
        self.run_tshark()
        self.told(o, outcome="committed", resolved_in=None, frozen_in=None, ended_in=None)

    def test_counters_about_another_incarnation(self):
        """A SYNC that speaks of an incarnation that is no more commits nothing."""
        link = self.open()
        o = link.offer(A, 1, b"hello")
        link.say(A, SYNC, tx=1, payload=oae.sync_body(INC_A, 0xbad))
        self.run_tshark()
        self.told(o, outcome="undecided")

    def test_capture_begins_in_the_middle(self):
        link = self.link
        link.tx[A] = link.rx[B] = 6
        o = link.offer(A, 7, b"hello")
        link.reflect(B, 7, b"hello")
        frozen = link.freeze(B)
        link.tx[A] = 7
        sync = link.freeze(A)
        self.run_tshark()
        self.told(o, outcome="committed", committed_in=sync, frozen_in=frozen)

    def test_a_frame_of_an_old_run(self):
        """A COMMIT that was delayed past a failure says nothing new, but nothing wrong either."""
        link = self.open()
        before = dict(link.ltag)
        o = link.offer(A, 1, b"hello")
        self.failed(A)
        link.say(A, OFFER, src_ltag=before[A], dst_ltag=before[B], seq=1, flags=LAST,
                 payload=b"hello")
        self.assertEqual(len(self.run_tshark()), 1)
        self.told(o, outcome="undecided")


class SwapAndVerb(FollowTest):
    def test_swap(self):
        link = self.open()
        o = link.offer(A, 1, b"half of a", kind=SWAP)
        r = link.reflect(B, 1, b"half of a", kind=SWAP, more=b"half of b")
        c = link.commit(A, 1)
        self.run_tshark()
        self.told(o, swap__half=b"half of a".hex(), outcome="committed", reflected_in=r)
        self.told(r, swap__half=b"half of b".hex(), committed_in=c, reflect__match=1)
        self.assertEqual(self.frames[r]["info"],
                         "REFLECT: #1, this is what I heard, and my half of 9 bytes")

    def test_crossing_swaps(self):
        """The junior end withdraws its offer and lends its half to the senior's."""
        link = self.open()
        mine = link.offer(A, 1, b"half of a", kind=SWAP)
        yours = link.offer(B, 1, b"half of b", kind=SWAP)
        no = link.say(B, REFUSE, seq=1, kind=SWAP, reason=oae.NO_HALF)
        lent = link.reflect(A, 1, b"half of b", kind=SWAP, more=b"half of a")
        link.commit(B, 1)
        self.assertEqual(len(self.run_tshark()), 2)
        self.told(mine, outcome="withdrawn, lent", lent_in=lent, partner=2, refused_in=no)
        self.told(yours, outcome="committed", partner=1)

    def test_half_that_waits(self):
        """The peer has none: nothing takes the number, and the half is lent, or offered again."""
        for lends in True, False:
            self.link = link = Link()
            link.open()
            o = link.offer(A, 1, b"half of a", kind=SWAP)
            no = link.say(B, REFUSE, seq=1, kind=SWAP, reason=oae.NO_HALF)
            v = link.offer(A, 1, b"", kind=VOID)
            link.reflect(B, 1, b"", kind=VOID)
            c = link.commit(A, 1)
            if lends:
                link.offer(B, 1, b"half of b", kind=SWAP)
                n = link.reflect(A, 1, b"half of b", kind=SWAP, more=b"half of a")
                link.commit(B, 1)
            else:
                n = link.offer(A, 2, b"half of a", kind=SWAP)
                link.reflect(B, 2, b"half of a", kind=SWAP, more=b"half of b")
                again = link.commit(A, 2)
            self.assertEqual(len(self.run_tshark()), 3 if lends else 2)
            self.assertNotIn("oae.note.reversed", self.frames[v])
            self.told(v, outcome="committed", committed_in=c)
            if lends:
                self.told(o, outcome="withdrawn, lent", lent_in=n, refused_in=no, partner=3)
            else:
                self.told(n, transaction=1, outcome="committed", committed_in=again, offered_in=o)

    def test_verb(self):
        link = self.open()
        body = bytes.fromhex("00000001 01000000 04010000 00000005 0000000000000003")
        o = link.offer(A, 1, body, kind=VERB)
        r = link.reflect(B, 1, body, kind=VERB, more=bytes.fromhex("0100000000000000 000000000000002a"))
        c = link.commit(A, 1)
        self.run_tshark()
        self.told(r, offered_in=o, committed_in=c, answer__taken=1, answer__word="0x000000000000002a")
        self.assertEqual(self.frames[o]["info"], "OFFER: #1, verb on region 1: FETCH_ADD word 5")
        self.assertEqual(self.frames[r]["info"],
                         "REFLECT: #1, taken, was 0x000000000000002a, this is what I heard")


class Ways(FollowTest):
    def test_through_gateways(self):
        """One link, whichever way its frames go: direct, with VIA, between gateways."""
        link = self.open()

        def by_host(f):
            return replace(f, dst=G1, flags=f.flags | oae.VIA, via=oae.via(f.dst, f.src)).pack()

        def between(f):
            f = replace(f, flags=f.flags | oae.VIA, via=oae.via(f.dst, f.src))
            return udp4(ip.Datagram(ip.DATA, 1, 2, ip.through(f)).pack())

        o = link.say(A, OFFER, by_host, seq=1, flags=LAST, payload=b"hello")
        again = link.say(A, OFFER, between, seq=1, flags=LAST, payload=b"hello")
        link.say(B, REFLECT, between, seq=1, payload=oae.reflect_body([b"hello"]))
        link.tx[A] = 1
        c = link.say(A, COMMIT)
        self.assertEqual(len(self.run_tshark()), 1)
        self.told(o, outcome="committed", committed_in=c, link=1)
        self.told(again, offered_in=o)
        self.assertIn("oae.note.copy", self.frames[again])

    def test_by_other_paths(self):
        """One link, whichever path its frames go by, once there was an answer to a probe."""
        link, other = self.open(), {A: "02:0a:e0:00:01:01", B: "02:0a:e0:00:01:02"}

        def by_path(f):
            return replace(f, src=other[f.src], dst=other[f.dst]).pack()

        for src, dst, role in (A, B, 1), (B, A, 2):
            n = link.say(src, PATH, by_path, src_ltag=0, dst_ltag=0, tx=0, rx=0,
                         payload=oae.path_body(dst, src, role))
        o = link.say(A, OFFER, by_path, seq=1, flags=LAST, payload=b"hello")
        link.say(B, REFLECT, by_path, seq=1, payload=oae.reflect_body([b"hello"]))
        link.tx[A] = 1
        c = link.say(A, COMMIT)
        self.assertEqual(len(self.run_tshark()), 1)
        self.told(n, link=1)
        self.told(o, outcome="committed", committed_in=c, link=1)

    def test_bad_frames_are_not_followed(self):
        link = self.open()
        link.offer(A, 1, b"hello")
        link.tx[A] = 1
        bad = link.say(A, COMMIT, digest=1)
        self.run_tshark()
        self.told(4, outcome="undecided")
        self.told(bad, transaction=None, commits=None)

    def test_cut_off_frames_are(self):
        """tcpdump -s 62: no digest, no content, but what became of it."""
        link = self.open()
        o = link.offer(A, 1, b"1" * 100, b"2" * 100)
        r = link.reflect(B, 1, b"1" * 100, b"2" * 100)
        c = link.commit(A, 1)
        link.capture.records = [(time, wire, raw[:62]) for time, wire, raw in link.capture.records]
        self.run_tshark()
        self.told(o, outcome="committed", reflected_in=r, committed_in=c, reassembled_in=None,
                  slice_of="1 of 2")

    def test_not_followed(self):
        self.link.open()
        self.link.offer(A, 1, b"hello")
        self.assertEqual(self.run_tshark("-2", "-o", "oae.follow:FALSE"), {})


if __name__ == "__main__":
    unittest.main()
