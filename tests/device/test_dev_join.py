# SPDX-License-Identifier: GPL-2.0
"""Verbs that wait go out as one request, and stay what they are to who asked (protocol 4.12)."""

import errno

import oaedev as dev
import oaewire as oae
from devtest import Call, Scripted
from oaepeer import Peer
from oaetest import wait_for
from oaewire import verb_answer, verb_op, verb_request

REGION = 5


def adds(*words):
    """A request that adds one to each of these words, on the wire."""
    return verb_request(REGION, *[verb_op(dev.FETCH_ADD, word, 1) for word in words])


class Answering(Peer):
    """A peer that looks at no COMMIT."""

    def next(self, deadline=5.0):
        frame = super().next(deadline)
        while frame and frame.opcode == oae.COMMIT:
            frame = super().next(deadline)
        return frame

    def answered(self, data, *old, **wanted):
        """A verb of the kernel, which must be this one, is taken."""
        offer, slices = self.take(kind=oae.VERB, **wanted)
        if slices != [data]:
            raise AssertionError(f"expected {data.hex()}, got {slices[0].hex()}")
        self.answer(offer, slices, *old)

    def answer(self, offer, slices, *old, **answer):
        """It is taken, but for what `answer` says."""
        self.reflect(offer, slices, payload=oae.reflect_body(slices) + verb_answer(*old, **answer))
        self.rx = offer.seq


class Joins(Scripted):
    """A host against a scripted peer, in a window of one: the first goes out, the others wait."""

    window, alone = 1, 2

    def setUp(self):
        super().setUp()
        self.a.knobs(window=self.window)
        self.peer = Answering(self.wire, self.cable.mac_a, vc=self.vc, caps=self.window - 1)
        self.asker = self.opened(nonblock=True)
        self.before = self.a.stats()
        for _ in range(self.alone):
            self.ask(dev.add_op(0, 1))

    def ask(self, *ops):
        """Queue a verb."""
        return self.asker.verb(REGION, *ops, flags=dev.NONBLOCK)

    def first(self):
        """Those that went alone, since nothing waited before them."""
        for n in range(self.alone):
            self.peer.answered(adds(0), n)

    def voids(self, count=1):
        """Nothing stands where something was."""
        for _ in range(count):
            self.peer.accept_void()

    def results(self, *wanted):
        """What those behind the first were answered: the words, or the errno."""
        got = self.asker.collect_all(self.alone + len(wanted))[self.alone:]
        self.assertEqual([o.err or dev.verb_result(o.data) for o in got],
                         [w if isinstance(w, int) else (1, 0, list(w)) for w in wanted])

    def test_joined(self):
        """Each has its words; a WRITE has none, an answer of several words its own."""
        self.ask(dev.add_op(8, 1))
        self.ask(dev.write_op(16, 7))
        self.ask(dev.read_op(24, 2), dev.exchange_op(40, 9))
        self.ask(dev.add_op(8, 1))
        self.first()
        self.peer.answered(verb_request(
            REGION, verb_op(dev.FETCH_ADD, 1, 1), verb_op(dev.WRITE, 2, 7),
            verb_op(dev.READ, 3, 2), verb_op(dev.EXCHANGE, 5, 9), verb_op(dev.FETCH_ADD, 1, 1)),
            70, 3, 4, 5, 71, seq=self.alone + 1)
        self.results([70], [], [3, 4, 5], [71])
        now = self.a.stats()
        self.assertEqual([now[name] - self.before[name] for name in ("joined", "packs")], [4, 0])

    def test_waiting(self):
        """Calls that wait are told their own words."""
        file = self.file()
        calls = [Call(file.verb, REGION, dev.add_op(8 * n, 1)) for n in range(1, 4)]
        wait_for(lambda: file.status().pending == 3, "all to be queued")
        self.first()
        offer, slices = self.peer.take(kind=oae.VERB)
        self.assertEqual(slices[0][4], 3)
        words = [int.from_bytes(slices[0][8 + 16 * n + 4:][:4], "big") for n in range(3)]
        self.peer.answer(offer, slices, *[100 + word for word in words])
        self.assertEqual([call.result().old for call in calls], [[[101]], [[102]], [[103]]])

    def test_not_all(self):
        """A CAS goes alone, and so does a message; another region, and a 65th operation, too."""
        self.ask(dev.add_op(8, 1))
        self.ask(dev.add_op(16, 1))
        self.ask(dev.cas_op(8, 0, 1))
        self.ask(dev.add_op(24, 1))
        self.ask(dev.add_op(32, 1))
        self.asker.verb(REGION + 1, dev.add_op(0, 1), flags=dev.NONBLOCK)
        self.ask(*[dev.add_op(0, 1)] * 64)
        self.ask(dev.add_op(40, 1))
        self.asker.write(b"m")
        self.ask(dev.add_op(48, 1))
        self.first()
        self.peer.answered(adds(1, 2), 1, 2)
        offer, slices = self.peer.take(kind=oae.VERB)
        self.assertEqual(slices, [verb_request(REGION, verb_op(dev.CAS, 1, 1, cmp=(0,)))])
        self.peer.answer(offer, slices, 9, taken=0)
        self.peer.answered(adds(3, 4), 3, 4)
        self.peer.answered(verb_request(REGION + 1, verb_op(dev.FETCH_ADD, 0, 1)), 5)
        self.peer.answered(adds(*[0] * 64), *range(64))
        self.peer.answered(adds(5), 6)
        self.assertEqual(self.peer.accept(kind=oae.MESSAGE), b"m")
        self.peer.answered(adds(6), 7)
        got = self.asker.collect_all(self.alone + 10)[self.alone:]
        self.assertEqual({o.result for o in got}, {dev.COMMITTED})
        self.assertEqual(dev.verb_result(got[2].data), (0, 0, [9]))

    def test_knob(self):
        """With pack=0 each goes alone."""
        self.a.knob("pack", 0)
        self.addCleanup(self.a.knob, "pack", 1)
        self.ask(dev.add_op(8, 1))
        self.ask(dev.add_op(16, 1))
        self.first()
        self.peer.answered(adds(1), 1)
        self.peer.answered(adds(2), 2)
        self.results([1], [2])

    def test_refused(self):
        """One is not permitted: the others have what they asked for."""
        for word in (1, 2, 3):
            self.ask(dev.add_op(8 * word, 1))
        self.first()
        offer, slices = self.peer.take(kind=oae.VERB)
        self.assertEqual(slices, [adds(1, 2, 3)])
        self.peer.send(oae.REFUSE, seq=offer.seq, kind=oae.VERB, reason=oae.RANGE)
        self.voids()
        self.peer.answered(adds(1), 10)
        offer, _ = self.peer.take(kind=oae.VERB)
        self.peer.send(oae.REFUSE, seq=offer.seq, kind=oae.VERB, reason=oae.RANGE)
        if self.window > 1:             # it is under way already, and goes out anew
            _, slices = self.peer.take(kind=oae.VERB)
            self.assertEqual(slices, [adds(3)])
        self.voids(self.window)
        self.peer.answered(adds(3), 30)
        self.results([10], errno.ERANGE, [30])

    def test_reserved(self):
        """A word is reserved: each goes by itself, so that none waits for several at once."""
        self.ask(dev.add_op(8, 1))
        self.ask(dev.add_op(16, 1))
        self.first()
        offer, _ = self.peer.take(kind=oae.VERB)
        self.peer.send(oae.REFUSE, seq=offer.seq, kind=oae.VERB, reason=oae.CONFLICT)
        self.voids()
        self.peer.answered(adds(1), 5)
        self.peer.answered(adds(2), 6)
        self.results([5], [6])

    def test_cancel(self):
        """One is taken back that is offered: the others are offered without it, anew."""
        ids = [self.ask(dev.add_op(8 * word, 1)) for word in (1, 2, 3)]
        self.first()
        offer, slices = self.peer.take(kind=oae.VERB)
        self.asker.cancel(ids[1])
        # What was said of all is late.
        self.peer.reflect(offer, slices,
                          payload=oae.reflect_body(slices) + verb_answer(1, 2, 3))
        self.voids()
        self.peer.answered(adds(1, 3), 11, 13)
        self.results([11], errno.ECANCELED, [13])

    def test_new_run(self):
        """The answer fits no more: as many as fit."""
        for word in range(1, 9):
            self.ask(dev.read_op(8 * word, 8))
        self.first()
        _, slices = self.peer.take(kind=oae.VERB)
        self.assertEqual(slices[0][4], 8)
        self.peer.mtu = 200             # 160 bytes in a frame: 136 of words and header
        self.peer.anew()
        for word in range(1, 9, 2):
            offer, slices = self.peer.take(kind=oae.VERB)
            self.assertEqual(slices, [verb_request(
                REGION, *[verb_op(dev.READ, w, 8) for w in (word, word + 1)])])
            self.peer.answer(offer, slices, *range(16))
        self.results(*[list(range(8)), list(range(8, 16))] * 4)


class JoinsInAWindow(Joins):
    """The same, with two transactions under way."""

    window, alone = 2, 3
