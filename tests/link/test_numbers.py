# SPDX-License-Identifier: GPL-2.0
"""The numbers of frames as they are on the wire (protocol 4.16), and a peer of version 1 (2.6)."""

import oaewire as oae
from oaepeer import Peer
from oaetest import wait_for
from topology import CALM, OneScript

BIG = bytes(range(256)) * 20        # four slices in 1500


class Numbers(OneScript):
    """A link a test, told apart by vc."""

    ports = True
    vcs = iter(range(1, 250))

    @classmethod
    def build(cls):
        super().build()
        cls.a.knobs(**CALM, target=cls.cable.mac_b)

    def open(self):
        """A peer whose link is open."""
        self.a.read_all()
        return Peer(self.wire, self.cable.mac_a, vc=next(self.vcs)).open()

    def test_questions(self):
        """Each slice has a number, and so has what follows; with a new run they begin anew."""
        peer = self.open()
        for begin in (1, 6), (1, 6):
            self.a.write(BIG, nonblock=True, vc=peer.vc)
            frames = [peer.expect(oae.OFFER, slice=n) for n in range(4)]
            peer.reflect(frames[0], [f.payload for f in frames])
            peer.rx += 1
            frames.append(peer.expect(oae.COMMIT, tx=peer.rx))
            self.assertEqual([f.pn for f in frames], list(range(*begin)))
            self.assertEqual([f.map for f in frames], [0] * 5)
            # Of what a window of 10 frames has, every second one asks for an answer.
            self.assertEqual([f.marks for f in frames], [0, oae.ANSWER, 0, oae.ANSWER, 0])
            peer.anew()

    def test_answers(self):
        """An answer names the newest question and those before it; NOW if it was heard just now."""
        peer = self.open()
        frames = peer.offer_frames(BIG)
        for n in 0, 1, 3, 2:
            self.wire.send(frames[n])
        # The last one wants an answer, and came before the one that misses, which completes it.
        peer.expect(oae.ACK, have=0b1011, pn=4, map=0b110, marks=oae.NOW)
        peer.expect(oae.REFLECT, pn=4, map=0b111, marks=0)
        peer.commit(flags=oae.WANT_DONE)
        peer.expect(oae.DONE, pn=5, map=0b1111, marks=oae.NOW)
        peer.send(oae.COMMIT, flags=oae.WANT_DONE, pn=5)        # a copy
        peer.expect(oae.DONE, pn=5, map=0b1111, marks=0)

    def test_impossible(self):
        """A peer that has heard what was never sent: counted, frozen, and nothing else is believed."""
        peer = self.open()
        self.a.write(b"mine", nonblock=True, vc=peer.vc)
        offer = peer.expect(oae.OFFER)
        before = self.a.stats()["note_impossible"]
        peer.reflect(offer, [b"mine"], pn=2)
        peer.expect(oae.SYNC)
        self.assertEqual(self.a.stats()["note_impossible"], before + 1)
        self.assertEqual(self.a.tag(vc=peer.vc)["tx"], 0)


class Older(OneScript):
    """A peer that speaks version 1."""

    ports = True

    @classmethod
    def build(cls):
        super().build()
        cls.a.knobs(**CALM)

    def answers(self, *frames):
        """What comes back for these."""
        head = oae.mac_bytes(self.cable.mac_a) + oae.mac_bytes(self.cable.mac_b) + b"\x88\xb5"
        before = self.a.stats()
        self.wire.send_all(head + frame for frame in frames)
        # Without a payload they are shorter than any header of today.
        wait_for(lambda: sum(self.a.stats()[name] - before[name] for name in (
            "bad_version", "bad_short")) == len(frames), "all to be counted")
        self.moved = self.a.stats()["stranger"] - before["stranger"]
        return [raw[14:14 + 40] for raw in iter(self.wire.raw, None)]

    def test_sync(self):
        """It is told in its own words that it is turned away, and the log says why."""
        self.a.sh("dmesg -C")
        turned = oae.older_frame(oae.CLOSE, "", ("55667788", "11223344"), oae.POLICY)
        self.assertEqual(self.answers(oae.older_frame(oae.SYNC, oae.OLDER_SYNC)), [turned])
        self.assertEqual(self.moved, 1)
        self.assertIn(f"va: {self.cable.mac_b} speaks version 1", self.a.sh("dmesg"))

    def test_silence(self):
        """Nothing else is answered, not even what turned it away; nor more than stranger_pps."""
        sync = oae.older_frame(oae.SYNC, oae.OLDER_SYNC)
        self.assertEqual(self.answers(
            oae.older_frame(oae.CLOSE, "", reason=oae.POLICY), oae.older_frame(oae.OFFER, "00"),
            oae.older_frame(oae.SYNC_ACK, oae.OLDER_SYNC), sync[:-1], sync + b"\0",
            b"\x1b" + sync[1:], sync[:-1] + b"\1", b"\x30" + sync[1:]), [])
        self.set(self.a, stranger_pps=0)
        self.assertEqual(self.answers(sync), [])
