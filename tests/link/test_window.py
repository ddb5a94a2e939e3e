# SPDX-License-Identifier: GPL-2.0
"""The window: peers without one."""

import struct

import oaewire as oae
from devtest import Scripted


class Older(Scripted):
    """The peer is from before there was a window: its SYNC says none, its rules have none."""

    knobs = {"window": 16}

    def open_link(self):
        """Open; the peer takes this end's SYNC as its own frame.c would."""
        sync = self.peer.ask()
        self.assertEqual(len(sync.payload), 32)
        # caps: the window less 1, and nothing that such a peer could not ignore.
        self.assertEqual(struct.unpack_from(">I", sync.payload, 16)[0] & 0x3f, 15)
        self.peer.send(oae.SYNC_ACK)
        self.peer.expect(oae.SYNC_ACK)
        return self.file(nonblock=True)

    def test_one_at_a_time(self):
        """The next is offered with the commit of the one before, not earlier."""
        file = self.open_link()
        texts = [b"one", b"two", b"three"]
        for text in texts:
            file.write(text)
        for n, text in enumerate(texts):
            offer, slices = self.peer.take(seq=n + 1, tx=n, attempt=1)
            self.silent()
            self.assertEqual(b"".join(slices), text)
            row = self.a.tag(self.vc)
            self.assertEqual((row["lanes"], row["cwnd"], row["window"]), (1, 1, 1))
            self.peer.reflect(offer, slices)
            self.peer.rx = offer.seq
        self.peer.expect(oae.COMMIT, seq=3)
        self.assert_outcomes(file, *((n, "C", 0) for n in (1, 2, 3)))

    def test_reversed(self):
        """There is a REVERSE, no VOID: the number goes to the next."""
        file = self.open_link()
        file.write(b"never")
        file.write(b"next")
        self.peer.expect(oae.OFFER, seq=1, attempt=1)
        file.cancel(1)
        self.peer.expect(oae.REVERSE, seq=1, attempt=1)
        offer, slices = self.peer.take(seq=1, attempt=2)
        self.assertEqual((offer.kind, slices), (oae.MESSAGE, [b"next"]))
        self.peer.reflect(offer, slices)
        self.peer.expect(oae.COMMIT, seq=1)
        self.assertEqual(self.a.stat("note_voided") - self.before["note_voided"], 0)

    def test_beyond(self):
        """What it may not offer is not taken: only its next number is."""
        self.open_link()
        self.peer.offer(b"too early", seq=self.peer.tx + 2)
        self.silent()
        self.peer.attempt = 0
        self.peer.offered(b"the next")
        self.peer.commit()
        self.silent()
        self.assertEqual(self.a.tag(self.vc)["unread"], 1)

    def test_ready(self):
        """Refused for now: READY of the number brings it back, as a new attempt."""
        file = self.open_link()
        file.write(b"wait")
        file.write(b"behind")
        self.peer.expect(oae.OFFER, seq=1, attempt=1)
        self.peer.send(oae.REFUSE, seq=1, attempt=1, reason=oae.BUSY)
        self.silent()
        self.peer.send(oae.READY, seq=1)
        self.assertEqual(self.peer.accept(seq=1, attempt=2), b"wait")
        self.assertEqual(self.peer.accept(seq=2, attempt=1), b"behind")
        self.peer.expect(oae.COMMIT, seq=2)
