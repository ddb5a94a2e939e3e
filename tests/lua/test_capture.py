# SPDX-License-Identifier: GPL-2.0
"""Captures of the real modules (tests/lua/capture): what the dissector makes of them is what the
modules have counted."""

import json
import unittest
from collections import Counter
from pathlib import Path

from oaepcap import tshark
import oaewire as oae

HERE = Path(__file__).resolve().parent


def read(name):
    """A capture as (frames by number, hosts by address)."""
    hosts = json.loads((HERE / f"{name}.json").read_text("ascii"))
    frames = tshark(HERE / f"{name}.pcap", "-2")
    return [None, *frames], {host["mac"]: Counter({k: v for k, v in host.items() if k != "mac"})
                             for host in hosts.values()}


def transactions(frames):
    """By number: who offered it, how long it is, and what is said of it at last."""
    found = {}
    for frame in frames[1:]:
        if "oae.transaction" not in frame:
            continue
        t = found.setdefault(int(frame["oae.transaction"][0]), {})
        t.update((k, v) for k, v in frame.items() if k not in t or k == "oae.outcome")
        if "oae.reassembled.length" in frame:
            t["length"] = int(frame["oae.reassembled.length"][0])
    for t in found.values():
        offer = frames[int(t["oae.offered_in"][0])]
        t["offer"], t["from"] = offer, sender(offer)
    return found


def sender(frame):
    """The address of who sent it first."""
    return frame.get("oae.via.src", frame.get("eth.src"))[0]


class CaptureTest:
    """What every capture is held to."""

    maxDiff = None
    name = None

    @classmethod
    def setUpClass(cls):
        cls.frames, cls.hosts = read(cls.name)
        found = transactions(cls.frames)
        cls.voids = [t for t in found.values() if t["oae.kind"] == [str(oae.VOID)]]
        cls.found = {n: t for n, t in found.items() if t not in cls.voids}

    def of(self, opcode):
        """The frames with an opcode."""
        return [f for f in self.frames[1:] if f.get("oae.opcode") == [str(opcode)]]

    def test_frames(self):
        """Every digest is good, and nothing else is wrong."""
        for n, frame in enumerate(self.frames[1:], 1):
            self.assertFalse("oae.bad" in frame or "oaeip.bad" in frame, f"frame {n}: {frame}")
            if "oae.opcode" in frame:
                self.assertEqual(frame["oae.digest.status"], ["1"], f"frame {n}: {frame}")

    def test_transactions(self):
        """As many were committed, and so many bytes delivered, as the ends have counted."""
        for mac, counted in self.hosts.items():
            mine = [t for t in self.found.values() if t["from"] == mac]
            outcomes = Counter(t["oae.outcome"][0] for t in mine)
            self.assertEqual(set(outcomes) - {"committed", "reversed", "refused", "withdrawn, lent"},
                             set())
            lent = counted["note_lent"] - counted["note_taken_back"]    # committed as well
            self.assertEqual(outcomes["committed"], counted["committed"] - lent, mac)
            self.assertEqual(outcomes["reversed"] + outcomes["refused"], counted["reversed"], mac)
        for t in self.found.values():
            if t["oae.outcome"] == ["committed"]:
                commit = self.frames[int(t["oae.committed_in"][0])]
                self.assertEqual(sender(commit), t["from"])
                self.assertIn(t["oae.transaction"][0], commit["oae.commits"])
                # Numbers wrap, not in these.
                self.assertGreaterEqual(int(commit["oae.tx"][0]), int(t["offer"]["oae.seq"][0]))
                if t["offer"]["oae.flags.express"] == ["0"]:
                    self.assertIn("oae.reflected_in", t)

    def test_one_pass(self):
        """In one pass each frame knows what came before it, and nothing else is different."""
        for n, (once, twice) in enumerate(zip(
                tshark(HERE / f"{self.name}.pcap", "-o", "oae.follow:TRUE"), self.frames[1:],
                strict=True), 1):
            for name in set(once) | set(twice):
                if name.endswith("_in") or name == "oae.slice.frame":
                    self.assertEqual(once.get(name, []), [v for v in twice.get(name, [])
                                                          if int(v) <= n], f"frame {n}: {name}")
                elif name in ("oae.transaction", "oae.commits", "oae.delivers", "oae.link",
                              "oae.reflect.match", "oae.reassembled.length"):
                    self.assertEqual(once.get(name), twice.get(name), f"frame {n}: {name}")


class Link(CaptureTest, unittest.TestCase):
    name = "link"

    def test_all_of_it_is_in_there(self):
        """The session had what it was made for."""
        opcodes = Counter(int(f["oae.opcode"][0]) for f in self.frames[1:])
        for name in ("SYNC", "SYNC_ACK", "CLOSE", "CLOSE_ACK", "OFFER", "REFLECT", "COMMIT",
                     "READY", "DONE", "ASK", "ACK"):
            self.assertGreater(opcodes[oae.OPCODES.index(name) + 1], 0, name)
        express = [t for t in self.found.values() if t["offer"]["oae.flags.express"] == ["1"]]
        self.assertGreater(len(express), 20)
        self.assertTrue(all(t["oae.outcome"] == ["committed"] for t in express))
        resolved = Counter(how for f in self.frames[1:] for how in f.get("oae.resolved_as", ()))
        self.assertLessEqual({"committed", "not taken: offered again or reversed"}, set(resolved))
        self.assertGreater(sum("oae.note.again" in f for f in self.frames[1:]), 2)
        self.assertGreater(sum("oae.frozen_in" in t for t in self.found.values()), 5)
        self.assertTrue(self.voids)
        self.assertTrue(all(t["oae.outcome"] == ["committed"] for t in self.voids))
        self.assertIn("1", {f["oae.marks.blocked"][0] for f in self.of(oae.COMMIT)})

    def test_bytes(self):
        """What was put together of slices is as long as what was delivered."""
        for mac, counted in self.hosts.items():
            sent = sum(t["length"] for t in self.found.values() if t["from"] != mac
                       and t["oae.outcome"] == ["committed"] and t["oae.kind"] == ["0"])
            self.assertEqual(sent, counted["delivered_bytes"])

    def test_reflections(self):
        """Everybody heard what was said."""
        reflections = [f for f in self.of(oae.REFLECT) if "oae.transaction" in f]
        self.assertGreater(len(reflections), 200)
        for f in reflections:
            self.assertEqual(f.get("oae.reflect.match"), ["1"], f)

    def test_failures(self):
        """Every new ltag is seen; each freeze draws one, and few are lost altogether."""
        for mac, counted in self.hosts.items():
            froze = sum(counted[f"note_{why}"] for why in ("stall", "peer_froze", "port", "nolink",
                                                           "mismatch", "down"))
            seen = sum("oae.note.freeze" in f and sender(f) == mac for f in self.frames[1:])
            self.assertLessEqual(seen, froze)
            self.assertGreater(seen, froze * 9 // 10)

    def test_offers(self):
        """Each transaction is known as one, however often it was offered."""
        for mac, counted in self.hosts.items():
            mine = [t for t in self.found.values() if t["from"] == mac]
            self.assertEqual(len(mine), counted["note_offered"])


class Programs(CaptureTest, unittest.TestCase):
    name = "programs"

    def test_all_of_it_is_in_there(self):
        reasons = {int(f["oae.reason"][0]) for f in self.of(oae.REFUSE)}
        self.assertLessEqual({oae.NO_HALF, 9, 10}, reasons)     # NO_REGION, RANGE
        self.assertEqual({t["oae.kind"][0] for t in self.found.values()}, set("012"))

    def test_swaps(self):
        """Whoever lent a half did so to a swap that is committed; the halves are those of both."""
        swaps = [t for t in self.found.values() if t["oae.kind"] == ["1"]]
        done = [t for t in swaps if t["oae.outcome"] == ["committed"]]
        self.assertEqual(len(done), 21)
        for mac, counted in self.hosts.items():
            self.assertEqual(sum(t["from"] != mac for t in done),
                             counted["note_lent"] - counted["note_taken_back"])
        for t in done:
            mine = bytes.fromhex(t["offer"]["oae.swap.half"][0].replace(":", ""))
            theirs = bytes.fromhex(self.frames[int(t["oae.reflected_in"][0])]["oae.swap.half"][0]
                                   .replace(":", ""))
            self.assertEqual(mine.split()[-1], theirs.split()[-1]) if b"of" in mine else (
                self.assertEqual({mine, theirs}, {b"here already", b"here at last"}))

    def test_verbs(self):
        """Each FETCH_ADD found what the one before had left."""
        adds = [t for t in self.found.values() if t["oae.kind"] == ["2"] and
                t["offer"]["oae.verb.op"] == ["4"] and t["oae.outcome"] == ["committed"]]
        old = [int(self.frames[int(t["oae.reflected_in"][0])]["oae.answer.word"][0], 16) for t in adds]
        self.assertEqual(old, list(range(20)))
        taken = Counter(f["oae.answer.taken"][0] for f in self.of(oae.REFLECT)
                        if "oae.answer.taken" in f)
        self.assertGreater(taken["0"], 0)
        refused = [t for t in self.found.values() if t["oae.outcome"] == ["refused"]]
        self.assertEqual(len(refused), 2)
        self.assertFalse(any("oae.note.verb" in f for f in self.frames[1:]))


class Gateway(CaptureTest, unittest.TestCase):
    name = "gateway"

    def test_all_of_it_is_in_there(self):
        ops = Counter(f["oaeip.op"][0] for f in self.frames[1:] if "oaeip.op" in f)
        self.assertLessEqual(set("1245"), set(ops), "BEAT, NODES, BYE, PROBE")
        zones = {(f["oaeip.src_zone"][0], f["oaeip.dst_zone"][0]) for f in self.frames[1:]}
        self.assertLessEqual({("1", "2"), ("2", "1"), ("1", "3"), ("3", "1")}, zones)
        data = [f for f in self.frames[1:] if "oae.opcode" in f]
        self.assertGreater(len(data), 20)
        self.assertTrue(all(f["oae.flags.via"] == ["1"] for f in data))


if __name__ == "__main__":
    unittest.main()
