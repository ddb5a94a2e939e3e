# SPDX-License-Identifier: GPL-2.0
"""The least that must work."""

import oaewire as oae
from oaepeer import Peer
from oaetest import wait_for
from topology import OneCable, OneScript


class TwoHosts(OneCable):
    """Two hosts and a cable."""

    targets = True

    def test_echo_and_cat(self):
        """What one host writes, the other reads, once."""
        self.assertEqual(self.a.write(b"hello atomic\n"), 13)
        self.assertEqual(self.b.read_one(), b"hello atomic\n")
        self.assertEqual(self.b.read_all(), b"")
        self.assertEqual(self.a.tag()["state"], "OPEN")

    def test_cut_and_mend(self):
        """A link outlives its cable."""
        self.a.write(b"one")
        self.cable.cut()
        w = self.a.start_write(b"two")
        wait_for(lambda: self.a.tag()["state"] == "SYNC_SENT", "the link to freeze")
        self.cable.mend()
        self.assertEqual(w.result(), 3)
        self.assertEqual(self.b.read_each(2), [b"one", b"two"])


class Scripted(OneScript):
    """A host, and frames made by hand."""

    ports = True

    @classmethod
    def build(cls):
        super().build()
        # A busy machine takes seconds to start trafgen: no probe meanwhile.
        cls.a.knobs(target=cls.cable.mac_b, stranger_pps=100000, stall_max_us=10000000,
                    stall_min_us=1000000, keepalive_ms=60000)

    def test_peer_opens(self):
        """A scripted peer opens a link, and its transaction arrives."""
        peer = Peer(self.wire, self.cable.mac_a, vc=1).open()
        peer.offered(b"from user space")
        self.assertEqual(self.a.read_all(), b"")
        peer.commit()
        peer.silence()
        self.assertEqual(self.a.read_one(), b"from user space")
        tag = self.a.tag(vc=1)
        self.assertEqual((tag["state"], tag["rx"], tag["tx"]), ("OPEN", 1, 0))

    def test_kernel_opens(self):
        """The kernel opens a link, and commits what the peer reflects."""
        peer = Peer(self.wire, self.cable.mac_a, vc=2)
        w = self.a.start_write(b"to user space" * 200, vc=2)
        peer.answer_sync()
        self.assertEqual(peer.accept(seq=1), b"to user space" * 200)
        peer.expect(oae.COMMIT, tx=1)
        self.assertEqual(w.result(), 2600)

    def test_trafgen(self):
        """Frames really can be injected with trafgen."""
        peer = Peer(self.wire, self.cable.mac_a, vc=3).open()
        self.wire.trafgen(peer.offer_frames(b"x" * 3000))
        peer.expect(oae.REFLECT, seq=1)
