# SPDX-License-Identifier: GPL-2.0
"""Swaps and verbs by the hundred thousand, on links that fail: exactly once, whatever happens.

    make soak                   100,000 swaps, 1,000,000 FETCH_ADDs
    OAE_SOAK=10                 a tenth of that, as `make test` has it; needs build/soak
"""

import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from array import array
from collections import Counter
from pathlib import Path

from faults import NEVER, say
from oaetest import REPO, Cable, OaeTest, wait_end, wait_for
from topology import OneCable

PERCENT = int(os.environ.get("OAE_SOAK", "100"))
PROGRAMS = REPO / "build/soak"
RECORD = struct.Struct("=IIQQ8x")
SEED = int(os.environ.get("SEED", random.randrange(1 << 30)))


def records(path):
    """What a program has logged: what, program, mine, other. Nothing, if killed before."""
    if not Path(path).exists():
        return iter(())
    return RECORD.iter_unpack(Path(path).read_bytes())


class Soak(OaeTest):
    """Programs in hosts, and what they have logged."""

    patience = 900
    one_cpu = False
    params = {"stall_min_us": 500}

    def setUp(self):
        super().setUp()
        self.dice = random.Random(SEED)
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        say(f"    {self.id().rsplit('.', 1)[-1]}: SEED={SEED} OAE_SOAK={PERCENT}")

    def start(self, host, *args, **how):
        """A program of tests/soak."""
        with host:
            process = subprocess.Popen([PROGRAMS / args[0], *map(str, args[1:])], **how)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def path(self, name):
        """A file for a log."""
        return f"{self.dir.name}/{name}"

    def step(self):
        """What has become more if the work goes on."""
        return 0

    def ended_well(self, *processes):
        """All of them end, with status 0; or by the signal, if they had not quite begun."""
        for process in processes:
            wait_end(lambda process=process: process.poll() is None, self.step, "a program to end",
                     self.patience, 0.2)
            self.assertIn(process.returncode, (0, -signal.SIGTERM),
                          f"{process.args}: 3 is a promise broken")

    def never(self, host, base):
        """The kernel has counted nothing that it must not."""
        now = host.stats()
        self.assertEqual({name: now[name] - base[name] for name in NEVER if now[name] != base[name]},
                         {}, f"at {host.name}")


class Swaps(Soak, OneCable):
    """a -- b"""

    VCS = 6

    def setUp(self):
        super().setUp()
        self.next_program = 1
        self.logs = {0: [], 1: []}          # by side
        self.killed = set()                 # numbers of programs

    def halves(self, side, vc):
        """One of the two programs of a vc: side, vc, its number, its process."""
        host, peer = ((self.a, self.cable.mac_b), (self.b, self.cable.mac_a))[side]
        number, self.next_program = self.next_program, self.next_program + 1
        path = self.path(f"halves-{number}")
        self.logs[side].append(path)
        return side, vc, number, self.start(host, "halves", peer, vc, number, path)

    def disturb(self, running):
        """Kill one, or cut the cable for a moment, or neither."""
        what = self.dice.randrange(10)
        if what < 4:
            n = self.dice.randrange(len(running))
            side, vc, number, process = running[n]
            process.kill()
            process.wait()
            self.killed.add(number)
            running[n] = self.halves(side, vc)
        elif what < 6:
            self.cable.cut()
            time.sleep(self.dice.random() * 0.05)       # how long it is cut
            self.cable.mend()

    def test_swaps(self):
        """5 % lost, 5 % doubled, reordered, links flapping, programs killed: both or neither."""
        goal = 1000 * PERCENT
        base = self.a.stats(), self.b.stats()
        self.cable.netem("delay 20us 20us reorder 33% 25% loss 5% duplicate 5%")
        running = [self.halves(side, vc) for vc in range(self.VCS) for side in (0, 1)]
        begin = said = time.monotonic()
        done = 0
        while done < goal:
            time.sleep(self.dice.random() * 0.3)        # between two disturbances
            self.disturb(running)
            done = self.a.stats()["committed"] - base[0]["committed"]
            for program in running:
                self.assertIsNone(program[3].poll(), "a program ended by itself")
            if time.monotonic() - said > 10:
                said = time.monotonic()
                self.gets_on(done)
                say(f"    swaps: {done} of {goal}, {len(self.killed)} killed, "
                    f"{said - begin:.0f} s")
        self.cable.netem(None)
        self.none_stuck(running)
        # One side ends first, so that the other has halves that nobody wants.
        for side in (0, 1):
            for program in running:
                if program[0] == side:
                    program[3].send_signal(signal.SIGTERM)
            self.ended_well(*(p[3] for p in running if p[0] == side))
        tally = self.compare()
        for host, before in zip((self.a, self.b), base):
            self.never(host, before)
        now = self.a.stats()
        say(f"    swaps: {tally['C']} told at a or b, {tally['swapped']} swapped, "
            f"{tally['R']} halves reversed, {len(self.killed)} programs killed with "
            f"{tally['open']} halves out, of which {tally['used']} were swapped; "
            f"{now['note_resolved'] - base[0]['note_resolved']} failures resolved, "
            f"{time.monotonic() - begin:.0f} s")
        self.assertGreaterEqual(tally["swapped"], goal)

    def none_stuck(self, running):
        """In a calm network every pair of programs goes on swapping."""
        for side, vc, number, _ in running:
            path = self.path(f"halves-{number}")
            wait_for(lambda path=path: Path(path).exists(), "a program to have begun", 20)
            size = Path(path).stat().st_size

            def swapped(path=path, size=size):
                with open(path, "rb") as log:
                    log.seek(size)
                    left = log.read()
                return any(what == ord("C") for what, *_ in
                           RECORD.iter_unpack(left[:len(left) // RECORD.size * RECORD.size]))
            wait_for(swapped, f"a swap on vc {vc}, at {'ab'[side]}", 20, 0.01)

    def read_logs(self, side, tally):
        """given: half -> the one taken for it; ended: what was told; and those begun."""
        given, ended, begun = {}, {}, set()
        for path in self.logs[side]:
            for what, _, mine, other in records(path):
                what = chr(what)
                if what == "B":
                    begun.add(mine)
                    continue
                self.assertIn(what, "CRU", f"half {mine:x}: altered, or told {other}")
                self.assertNotIn(mine, ended, f"half {mine:x}: told twice")
                ended[mine] = what
                tally[what] += 1
                if what == "C":
                    given[mine] = other
        return given, ended, begun

    def compare(self):
        """The halves taken on one side are those given on the other."""
        tally = Counter()
        sides = [self.read_logs(side, tally) for side in (0, 1)]
        self.assertEqual(tally["U"], 0, "unknown, and no end of a link died")
        for side, (given, ended, begun) in enumerate(sides):
            there_given, there_ended, there_begun = sides[1 - side]
            self.assertEqual(len(set(given.values())), len(given), "a half was taken twice")
            for mine, other in given.items():
                if other in there_given:
                    self.assertEqual(there_given[other], mine, f"{other:x} was given for another")
                    continue
                # Its program was killed before it could note it.
                self.assertIn(other, there_begun, f"{other:x}: nobody gave it")
                self.assertNotIn(other, there_ended, f"{other:x}: told otherwise")
                self.assertIn(other >> 32, self.killed, f"{other:x}: never told")
                tally["used"] += 1
            left = begun - set(ended)
            tally["open"] += len(left)
            for mine in left:
                self.assertIn(mine >> 32, self.killed, f"{mine:x}: begun, and nothing was told")
        tally["swapped"] = (len(sides[0][0]) + len(sides[1][0]) + tally["used"]) // 2
        return tally


class Verbs(Soak):
    """Four peers around a hub that has exposed words.

    p0 --\\          /-- p2
            == hub ==
    p1 --/          \\-- p3
    """

    PEERS = 4

    @classmethod
    def build(cls):
        cls.hub = cls.host("hub")
        cls.peers = [cls.host(f"p{n}") for n in range(cls.PEERS)]
        cls.cables = []
        for n, peer in enumerate(cls.peers):
            cls.cables.append(Cable(cls.hub, f"h{n}", peer, f"p{n}"))
            cls.hub.add_port(f"h{n}")
            peer.add_port(f"p{n}")

    def setUp(self):
        super().setUp()
        self.base = [host.stats() for host in (self.hub, *self.peers)]
        for cable in self.cables:
            cable.netem("loss 1%")
            self.addCleanup(cable.netem, None)

    def step(self):
        done = self.hub.stat("committed")
        self.gets_on(done)
        return done

    def expose(self, tries):
        """The hub's program, once it has exposed the words."""
        hub = self.start(self.hub, "words", "expose", 4096, tries, stdout=subprocess.PIPE,
                         text=True)
        self.addCleanup(hub.stdout.close)
        self.assertEqual(hub.stdout.readline(), "exposed\n")
        return hub

    def words(self, hub):
        """What the words are in the end, and how often the hub itself has changed them."""
        hub.send_signal(signal.SIGTERM)
        said = hub.stdout.read().split()
        self.ended_well(hub)
        return [int(word) for word in said[:8]], int(said[9])

    def healed(self):
        """How many failures were resolved, at the hub."""
        for host, before in zip((self.hub, *self.peers), self.base):
            self.never(host, before)
        return self.hub.stats()["note_resolved"] - self.base[0]["note_resolved"]

    def add(self, count, batch):
        """All peers add at once: `count` in all, and nothing is lost or doubled."""
        begin = time.monotonic()
        hub = self.expose(0)
        paths = [self.path(f"add-{n}") for n in range(self.PEERS)]
        self.ended_well(*[
            self.start(peer, "words", "add", cable.mac_a, 0,
                       count * (n + 1) // self.PEERS - count * n // self.PEERS, batch, path)
            for n, (peer, cable, path) in enumerate(zip(self.peers, self.cables, paths))])
        word = self.words(hub)[0][0]
        took = time.monotonic() - begin
        old = array("Q")
        for path in paths:
            old.frombytes(Path(path).read_bytes())
        self.assertEqual(len(old), count, "as many committed as wanted")
        self.assertEqual(word, count, "the word is not the number of committed ones")
        self.assertEqual(array("Q", sorted(old)), array("Q", range(count)),
                         "the returned values are not all different, from 0 up")
        say(f"    FETCH_ADD, {batch} a transaction: {count} committed, word {word}, "
            f"{len(old)} distinct values, {self.healed()} failures resolved, {took:.0f} s")

    def test_add(self):
        """One FETCH_ADD a transaction, four peers, one word, 1 % lost."""
        self.add(10000 * PERCENT, 1)

    def test_add_many(self):
        """16 of them a transaction."""
        self.add(5000 * PERCENT, 16)

    def test_commit(self):
        """Compare-and-commit of 64 bytes, two peers and the hub itself: no torn or lost update."""
        begin, count = time.monotonic(), 50 * PERCENT
        hub = self.expose(20 * PERCENT)
        paths = [self.path(f"commit-{n}") for n in range(2)]
        self.ended_well(*[
            self.start(self.peers[n], "words", "commit", self.cables[n].mac_a, 0, count, n + 1,
                       paths[n]) for n in range(2)])
        words, local = self.words(hub)
        made = Counter()
        for n, path in enumerate(paths):
            for what, program, version, _ in records(path):
                self.assertEqual((chr(what), program), ("C", n + 1))
                made[version] += 1
        self.assertEqual(sum(made.values()), 2 * count)
        self.assertEqual(max(made.values()), 1, "a version was made twice")
        self.assertEqual(words[0], 2 * count + local, "an update was lost")
        say(f"    compare-and-commit: {2 * count} by two peers, {local} by the hub, version "
            f"{words[0]}, {self.healed()} failures resolved, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    sys.exit(unittest.main())
