# SPDX-License-Identifier: GPL-2.0
"""Rings of programs that are killed at random and begun again, by a bad network.

    a: ringend ==== ring, link, ring ==== b: ringend        records both ways
         |                                   |
       ledger                              ledger           files that outlive the programs
"""

import itertools
import os
import random
import signal
import struct
import subprocess
import tempfile
from pathlib import Path

from faults import BAD_NETWORK, NETEM, NEVER, say
from oaetest import REPO, wait_for
from patience import SLOW
from topology import OneCable

PROGRAM = REPO / "build" / "lib-test" / "ringend"
RECORDS = int(os.environ.get("RING_RECORDS") or 8000)       # both ways together
HEAD = struct.Struct("=6Q")
PUBLISHED, COMMITTED, REVERSED = 1, 2, 3


class End:
    """An end: its program, begun again and again, and the ledger."""

    def __init__(self, host, peer, vc, path):
        self.host, self.path = host, path
        self.count = RECORDS // 2
        self.args = [str(PROGRAM), peer, str(vc), str(path), str(self.count)]
        self.process = None
        self.restarts = []          # (passed, passing, got) of a program that was killed
        path.write_bytes(bytes(HEAD.size + self.count * 17))
        self.start()

    def start(self):
        """Begin it."""
        with self.host:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(self.args, stdin=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE)

    def head(self):
        """Its ledger: count, next, got, passing, passed, under_way."""
        with self.path.open("rb") as file:
            return HEAD.unpack(file.read(HEAD.size))

    def progress(self):
        """Records that have ended, or that nobody will hear of; and those that came."""
        self.check()
        _, sent, got, _, _, under_way = self.head()
        return sent - under_way + got

    def check(self):
        """It runs."""
        if self.process.poll() is not None:
            raise AssertionError(f"{self.args}: status {self.process.returncode}: "
                                 f"{self.process.stderr.read().decode()}")

    def kill(self):
        """Wherever it is."""
        self.check()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stderr.close()
        _, _, got, passing, passed, _ = self.head()
        self.restarts.append((passed, passing, got))

    def close(self):
        """For addCleanup."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()

    def tables(self):
        """Serials in the order in which they came; what became of each of its own."""
        data = self.path.read_bytes()
        got = self.head()[2]
        serials = struct.unpack_from(f"={got}Q", data, HEAD.size)
        became = data[HEAD.size + 16 * self.count:][:self.count]
        return serials, became

    def once(self):
        """What came, without what came twice; and how many did: only what nobody had passed."""
        serials, _ = self.tables()
        result, twice, begin = [], 0, 0
        restarts = [*self.restarts, None]
        for restart, following in zip([None, *self.restarts], restarts):
            end = following[2] if following else len(serials)
            came = list(serials[begin:end])
            begin = end
            if restart:
                passed, passing, got = restart
                # Either the kernel knows what the dead one was about to pass, or it does not.
                for known in {passed, max(passed, passing)}:
                    again = list(serials[known:got])
                    if again and came[:1] == again[:1]:
                        n = min(len(again), len(came))
                        assert came[:n] == again[:n], f"after a kill: {came[:n]}, not {again[:n]}"
                        came = came[n:]
                        twice += n
                        break
            result += came
        return result, twice


class RingKill(OneCable):
    """Two hosts, a link, a program with rings at each end."""

    one_cpu = False
    patience = 60 + RECORDS // 100
    knobs = BAD_NETWORK

    def setUp(self):
        super().setUp()
        for host in self.a, self.b:
            host.knobs(dead_ms=5000, keepalive_ms=1000, **self.knobs)
        self.cable.netem(NETEM)
        self.addCleanup(self.cable.netem, None)
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        (host_a, dev_a), (host_b, dev_b) = self.cable.ends
        self.ends = [End(host_a, f"{dev_a}/{self.cable.mac_b}", 1, Path(place.name) / "a"),
                     End(host_b, f"{dev_b}/{self.cable.mac_a}", 1, Path(place.name) / "b")]
        for end in self.ends:
            self.addCleanup(end.close)

    def over(self):
        """All is published and has ended, and nothing is unread."""
        for end in self.ends:
            end.check()
            _, sent, got, _, passed, under_way = end.head()
            if sent < end.count or under_way or got > passed:
                return False
        return not any(row["queue"] or row["unread"]
                       for host in (self.a, self.b) for row in host.tags())

    def moved(self, n):
        """Wait until so many records more have been published or taken at both ends together."""
        goal = sum(end.progress() for end in self.ends) + n
        wait_for(lambda: sum(end.progress() for end in self.ends) >= goal or self.over(),
                 lambda: f"{n} records more: {[end.head() for end in self.ends]}", 60 * SLOW, 0.002)

    def test_killed(self):
        """Each record that was committed came once, in order; again only if it was not passed."""
        kills = 0
        while not self.over():
            self.moved(random.randrange(min(RECORDS // 20, 4000)))
            for end in random.choice((self.ends, self.ends[:1], self.ends[1:])):
                end.kill()
                kills += 1
                end.start()
        self.assertGreater(kills, 10)
        for one, other in (self.ends, self.ends[::-1]):
            self.compare(one, other, kills)
        for host in self.a, self.b:
            for name in NEVER:
                self.assertEqual(host.stat(name), 0, name)

    def compare(self, sender, reader, kills):
        """What one end was told, and what the other has seen."""
        came, twice = reader.once()
        _, became = sender.tables()
        disorder = [pair for pair in itertools.pairwise(came) if pair[0] >= pair[1]]
        self.assertEqual(disorder[:5], [], "came out of order, or twice")
        seen = set(came)
        committed = {n for n, state in enumerate(became) if state == COMMITTED}
        not_done = {n for n, state in enumerate(became) if state == REVERSED}
        # Its program was killed before it was told.
        doubt = sum(state == PUBLISHED for state in became)
        self.assertEqual(len(committed) + len(not_done) + doubt, len(became), "known, or in doubt")
        self.assertEqual(sorted(committed - seen)[:5], [], "committed, and did not come")
        self.assertEqual(sorted(not_done & seen)[:5], [], "reversed, and came")
        say(f"    {kills} kills: {len(committed)} committed, {len(not_done)} reversed, "
            f"{doubt} in doubt; {len(came)} came, {twice} twice")
