# SPDX-License-Identifier: GPL-2.0
"""/dev/oae, and peers by hand: what one of them may cost this end, and the others."""

import oaedev as dev
import oaewire as oae
from oaedev import SYS_READ, Call, OaeFile
from oaepeer import Peer
from oaetest import wait_for
from shared import Shared
from topology import CALM, OneScript

ALL = dev.PERM_READ | dev.PERM_WRITE | dev.PERM_ATOMIC


class OnePeer(Shared, OneScript):
    """Peers, told apart by address."""

    ports = True

    numbers = iter(range(1, 250))

    @classmethod
    def build(cls):
        super().build()
        cls.a.knobs(**CALM)

    def setUp(self):
        super().setUp()
        self.vc = next(self.numbers)
        self.peers = 0

    def peer(self):
        """One more peer, on this test's channel."""
        self.peers += 1
        return Peer(self.wire, self.cable.mac_a, vc=self.vc,
                    mac=f"02:0a:e0:00:{self.vc:02x}:{self.peers:02x}").open()

    def exposed(self, words):
        """A file that exposes words to all of this test's channel."""
        file = OaeFile(self.a)
        self.addCleanup(file.close)
        file.listen(vc=self.vc)
        file.expose(8 * words, self.vc, ALL)
        return file

    def ask(self, peer, *ops):
        """A verb of a peer; nothing is expected."""
        peer.offer(oae.verb_request(self.vc, *[oae.verb_op(*op) for op in ops]),
                   kind=oae.VERB)

    def held(self, peer, *ops):
        """A verb of a peer is held."""
        self.ask(peer, *ops)
        return peer.expect(oae.REFLECT, kind=oae.VERB)


class Verbs(OnePeer):
    """Verbs that never end."""

    def test_others_are_not_troubled(self):
        """A word that a peer has reserved for good: only who wants that one waits."""
        file, stuck, waits, other = self.exposed(8), self.peer(), self.peer(), self.peer()
        self.held(stuck, (dev.WRITE, 0, 1))
        self.ask(waits, (dev.WRITE, 0, 2))
        waits.expect(oae.REFUSE, reason=oae.CONFLICT)
        for n in range(3):
            self.held(other, (dev.WRITE, 1, n))
            other.commit()
        self.held(other, (dev.READ, 1, 1))
        other.commit()
        waits.silence()
        stuck.commit()
        waits.expect(oae.READY)
        self.held(waits, (dev.WRITE, 0, 3))
        waits.commit()
        waits.silence()
        self.assertEqual(file.local(dev.read_op(0, 2)).old, [[3, 2]])

    def test_closed_while_held(self):
        """The words go with the file; who held or waited goes on."""
        file, holds, waits = self.exposed(8), self.peer(), self.peer()
        self.held(holds, (dev.WRITE, 0, 1))
        self.ask(waits, (dev.WRITE, 0, 2))
        waits.expect(oae.REFUSE, reason=oae.CONFLICT)
        file.close()
        waits.expect(oae.READY)
        self.ask(waits, (dev.WRITE, 0, 2))
        waits.expect(oae.REFUSE, reason=9)
        holds.commit()
        waits.silence()
        holds.silence()


class Readers(OnePeer):
    """Who waits to read."""

    def test_two_at_once(self):
        """A frame that commits one message and brings an express: two are delivered, two wake."""
        peer = self.peer()
        files = [OaeFile.to(self.a, peer.mac, vc=self.vc) for _ in range(2)]
        for file in files:
            self.addCleanup(file.close)
        calls = [Call(file.read) for file in files]
        for call in calls:
            wait_for(lambda call=call: call.sleeps(SYS_READ), "a reader to sleep")
        peer.offered(b"held")
        peer.commit(send=False)
        peer.offer(b"express", flags=oae.EXPRESS)
        peer.expect(oae.REFLECT)
        self.assertEqual(sorted(call.result() for call in calls), [b"express", b"held"])


class Queues(OnePeer):
    """Halves and the others have a queue each."""

    @staticmethod
    def full(file, call):
        """Queue until there is no room; how many it took."""
        for n in range(10):
            try:
                call(file, b"x")
            except BlockingIOError:
                return n
        return None

    def test_neither_fills_the_other(self):
        """As many of each as sndq, and what the link has itself."""
        self.set(self.a, sndq=2)
        for calls in (((OaeFile.swap, 3), (OaeFile.write, 3)),
                      ((OaeFile.write, 4), (OaeFile.swap, 3))):
            peer = self.peer()
            file = OaeFile.to(self.a, peer.mac, vc=self.vc, nonblock=True)
            self.addCleanup(file.close)
            for call, most in calls:
                self.assertEqual(self.full(file, call), most)
            self.assertEqual(file.status().queued, sum(most for _, most in calls))
            file.cancel()
            self.assertEqual(file.status().queued, 0)
