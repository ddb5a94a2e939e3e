# SPDX-License-Identifier: GPL-2.0
"""Small messages that wait go out together, and stay what they are for writer and reader."""

import errno

import oaedev
import oaewire as oae
from devtest import Scripted, TwoEnds
from oaepeer import Peer
from oaetest import wait_for


def messages(count, first=0):
    """So many, no two alike."""
    return [f"{n:08}".encode() * (1 + n % 8) for n in range(first, first + count)]


class Packing(Peer):
    """A peer that takes packs, and looks at no COMMIT."""

    def next(self, deadline=5.0):
        frame = super().next(deadline)
        while frame and frame.opcode == oae.COMMIT:
            frame = super().next(deadline)
        return frame


class OffersPacks(Scripted):
    """A host against a scripted peer that takes packs."""

    alone, window = 2, 1

    def link(self, caps=oae.CAPS_PACK, **knobs):
        """A file whose link is open."""
        self.set(self.a, window=self.window, **knobs)
        self.peer = Packing(self.wire, self.cable.mac_a, vc=self.vc, caps=caps | self.window - 1)
        return self.opened(nonblock=True)

    def queue(self, count=3, caps=oae.CAPS_PACK, data=messages, **knobs):
        """It has queued messages; the peer has taken those that went alone, self.sent have not."""
        file = self.link(caps, **knobs)
        first, self.sent = data(self.alone), data(count, self.alone)
        for each in first + self.sent:
            file.write(each)
        for each in first:
            self.assertEqual(self.peer.accept(kind=oae.MESSAGE), each)
        return file

    def assert_ended(self, file, *others):
        """All are committed, but these: (which of self.sent, errno)."""
        first = self.alone + 1
        ends = dict(others)
        self.assert_outcomes(file, *[(n, "C", 0) for n in range(1, first)],
                             *[(first + n, "R" if n in ends else "C", ends.get(n, 0))
                               for n in range(len(self.sent))])

    def counted(self, *names):
        """By how much counters have moved."""
        now = self.a.stats()
        return [now[name] - self.before[name] for name in names]

    def test_packed(self):
        """What waits behind the first is one transaction, and each has its outcome."""
        file = self.queue()
        self.assertEqual(self.peer.accept(kind=oae.PACK, seq=self.alone + 1),
                         oae.pack_body(self.sent))
        self.assert_ended(file)
        self.assertEqual(self.counted("packs", "packed", "committed"), [1, 3, self.alone + 3])

    def test_cancel(self):
        """One message of an offered pack is reversed: the others are offered without it, anew."""
        file = self.queue()
        seq = self.alone + 1
        offer, _ = self.peer.take(kind=oae.PACK, seq=seq)
        file.cancel(seq + 1)
        # The answer to the pack is late.
        self.peer.reflect(offer, [oae.pack_body(self.sent)])
        self.peer.accept_void(seq=seq)
        offer, slices = self.peer.take(kind=oae.PACK, seq=seq + 1)
        self.assertEqual(slices, [oae.pack_body([self.sent[0], self.sent[2]])])
        file.cancel(seq)
        self.peer.accept_void(seq=seq + 1)
        offer, slices = self.peer.take(kind=oae.MESSAGE, seq=seq + 2)
        self.assertEqual(slices, [self.sent[2]])
        self.peer.reflect(offer, slices)
        self.assert_ended(file, (0, errno.ECANCELED), (1, errno.ECANCELED))

    def test_refused(self):
        """A pack that is refused for good: its messages are offered one by one."""
        file = self.queue()
        offer, _ = self.peer.take(kind=oae.PACK)
        self.peer.send(oae.REFUSE, seq=offer.seq, kind=oae.PACK, reason=oae.KIND)
        self.peer.accept_void(seq=offer.seq)        # which its number is left to
        for data in self.sent:
            self.assertEqual(self.peer.accept(kind=oae.MESSAGE), data)
        self.assert_ended(file)

    def test_resolve(self):
        """The peer comes back with a smaller MTU, and then takes none any more."""
        file = self.queue(6, data=lambda n, first=0: [b"%016d" % (first + i) for i in range(n)])
        seq = self.alone + 1
        _, slices = self.peer.take(kind=oae.PACK, seq=seq)
        self.assertEqual(slices, [oae.pack_body(self.sent)])
        self.peer.mtu = 128             # 80 bytes in a frame
        self.peer.anew()
        self.assertEqual(self.peer.accept(kind=oae.PACK, seq=seq), oae.pack_body(self.sent[:4]))
        _, slices = self.peer.take(kind=oae.PACK, seq=seq + 1)
        self.assertEqual(slices, [oae.pack_body(self.sent[4:])])
        self.peer.caps = self.window - 1
        self.peer.anew()
        for data in self.sent[4:]:
            self.assertEqual(self.peer.accept(kind=oae.MESSAGE), data)
        self.assert_ended(file)


class OffersPacksInAWindow(OffersPacks):
    """The same, with two transactions under way."""

    alone, window = 3, 2


class Packs(OffersPacks):
    """What is the same in every window."""

    test_packed = test_cancel = test_refused = test_resolve = None

    def test_not_sent(self):
        """A peer that does not say so is sent none; nor is any other, if the knob is 0."""
        for caps, knob in (0, 1), (oae.CAPS_PACK, 0):
            with self.subTest(caps=caps, knob=knob):
                self.vc = next(self.vcs)
                file = self.queue(caps=caps, pack=knob)
                for data in self.sent:
                    self.assertEqual(self.peer.accept(kind=oae.MESSAGE), data)
                self.assert_ended(file)

    def test_not_all(self):
        """An express goes alone, and so does what is too long."""
        file = self.link()
        sent = messages(2) + [b"a", b"b", bytes(1452), b"c", b"d", b"e"]
        for data in sent[:-1]:
            file.write(data)
        file.set_options(flags=oaedev.OPT_EXPRESS)
        file.write(sent[-1])
        got = [self.peer.accept() for _ in range(6)]
        self.assertEqual(got, sent[:2] + [oae.pack_body(sent[2:4]), sent[4],
                                          oae.pack_body(sent[5:7]), sent[7]])
        self.assert_outcomes(file, *[(n, "C", 0) for n in range(1, 9)])

    def test_deadline(self):
        """The deadline of one message of a pack is its own."""
        file = self.link()
        sent = messages(5)
        for n, data in enumerate(sent):
            file.set_options(deadline_ms=500 if n == 3 else 0)
            file.write(data)
        for data in sent[:2]:
            self.assertEqual(self.peer.accept(), data)
        self.peer.take(kind=oae.PACK, seq=3)
        self.peer.accept_void(seq=3)
        offer, slices = self.peer.take(kind=oae.PACK, seq=4)
        self.assertEqual(slices, [oae.pack_body([sent[2], sent[4]])])
        self.peer.reflect(offer, slices)
        self.assert_outcomes(file, (1, "C", 0), (2, "C", 0), (3, "C", 0),
                             (4, "R", errno.ETIME), (5, "C", 0))

    def test_received(self):
        """The reader gets messages; the pack counts in rcvbuf until the last is read."""
        file = self.link(rcvbuf=4096)
        sent = messages(20)
        self.peer.offered(oae.pack_body(sent), kind=oae.PACK)
        self.peer.commit()
        wait_for(lambda: file.waits().unread == len(sent), "the pack to be delivered")
        room = file.waits().unread_bytes
        self.assertEqual(room, len(oae.pack_body(sent)) + 1024)
        self.assertEqual([file.read() for _ in sent[1:]], sent[:-1])
        self.assertEqual((file.waits().unread, file.waits().unread_bytes), (1, room))
        self.assertEqual(file.read(), sent[-1])
        self.assertEqual(file.waits().unread_bytes, 0)
        self.peer.offered(b"more")
        self.assertEqual(self.counted("delivered", "unpacked"), [20, 20])

    def test_malformed(self):
        """Whatever is wrong with a pack, it is refused, and nothing of it is delivered."""
        file = self.link()
        good = messages(3)
        wrong = {
            "no message": oae.pack_body([]),
            "one byte": b"\1",
            "more than 64": oae.pack_body([b"x"] * 65),
            "255, and no lengths": oae.pack_body([], count=255),
            "a count too small": oae.pack_body(good, count=2),
            "a count too great": oae.pack_body(good, count=4),
            "not zero": oae.pack_body(good, zero=1),
            "an empty message": oae.pack_body([b"a", b"", b"c"]),
            "a length too great": oae.pack_body(good, lengths=[8, 16, 25]),
            "a length too small": oae.pack_body(good, lengths=[8, 16, 23]),
            "lengths that wrap": oae.pack_body(good, lengths=[8, 65535, 25]),
        }
        for what, data in wrong.items():
            with self.subTest(what):
                self.wire.trafgen(self.peer.offer_frames(data, kind=oae.PACK))
                self.peer.expect(oae.REFUSE, kind=oae.PACK, reason=oae.KIND)
                self.peer.void()
                self.peer.commit()
        self.assertEqual(self.counted("delivered"), [0])
        self.peer.offered(oae.pack_body([b"x"] * 64), kind=oae.PACK)
        self.peer.commit()
        wait_for(lambda: self.counted("delivered") == [64], "all of it")
        self.assertEqual([file.read() for _ in range(64)], [b"x"] * 64)

    def test_not_taken(self):
        """With the knob at 0 a pack is refused, should one come."""
        self.link(pack=0)
        self.peer.offer(oae.pack_body([b"a", b"b"]), kind=oae.PACK)
        self.peer.expect(oae.REFUSE, kind=oae.PACK, reason=oae.KIND)


class Both(TwoEnds):
    """Two hosts."""

    def stream(self, write, count=600):
        """All arrive at b, in order, each by itself."""
        b = self.at_b()
        sent = messages(count)
        for data in sent:
            write(data)
        self.assertEqual([b.read() for _ in sent], sent)
        wait_for(lambda: self.a.stat("packed"), "packs")

    def test_device(self):
        """Written to /dev/oae without waiting."""
        for window in (1, 16):
            for host in (self.a, self.b):
                self.set(host, window=window, sndq=4096, rcvbuf=65536)
            with self.subTest(window=window):
                self.vc = next(self.vcs)
                a = self.at_a(queue=4096)
                a.nonblock()
                self.stream(a.write)
                self.assertEqual({o.result for o in a.collect_all(600)}, {0})

    def test_noc_debug(self):
        """The same by noc_debug."""
        self.set(self.a, sndq=4096, vci=self.vc)
        self.stream(lambda data: self.a.write(data, nonblock=True, target=self.cable.mac_b), 200)
