# SPDX-License-Identifier: GPL-2.0
"""tests/bench/cutter and rowpath: what is made of the times when messages came."""

import argparse
import importlib.machinery
import importlib.util
import socket
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

BENCH = Path(__file__).resolve().parents[2] / "tests" / "bench"
sys.path.insert(0, str(BENCH))
import rowpath          # noqa: E402  pylint: disable=wrong-import-position

loader = importlib.machinery.SourceFileLoader("cutter", str(BENCH / "cutter"))
cutter = importlib.util.module_from_spec(importlib.util.spec_from_loader("cutter", loader))
loader.exec_module(cutter)

MS = 1_000_000


def link(**columns):
    """A link at rest, as End.tags() has it, but for these columns."""
    return {"peer": "02:0a:e0:00:00:02", "offer": "-", "queue": "0", **columns}


def ring(times):
    """Beats, as progbench has written them."""
    slots = [0] * cutter.BEATS
    for n, ns in enumerate(times):
        slots[n % cutter.BEATS] = ns
    with tempfile.NamedTemporaryFile() as file:
        file.write(struct.pack("=Q", len(times)) + struct.pack(f"={cutter.BEATS}Q", *slots))
        file.flush()
        return cutter.Beats(file.name)


class Script:
    """A switch that does nothing at times that are known."""

    devices = ()

    def __init__(self, at, over, mended):
        self.at, self.over, self.mended = at, over, mended

    def cut(self):
        """When it was."""
        return self.at, self.over, None

    def mend(self):
        """When it was mended."""
        return self.mended

    def known(self):
        """When the kernels said so."""
        return self.mended + MS


class Path_(unittest.TestCase):     # pylint: disable=invalid-name
    """One cut, one ring, one percentile at a time."""

    def figures(self, times, at, over):
        """What is said of a cut."""
        args = argparse.Namespace(hold=0, whole="oae", slots=False)
        with mock.patch.dict(cutter.WHOLE, oae=lambda: True):
            return cutter.one(args, Script(at, over, 3000 * MS), ring(times))

    def test_ring(self):
        """The last ones, in their order, also when it has come round."""
        self.assertEqual(list(ring([]).last()), [])
        self.assertEqual(list(ring([1, 2, 3]).last()), [1, 2, 3])
        self.assertEqual(list(ring([1, 2, 3]).last(1)), [3])
        with mock.patch.object(cutter, "BEATS", 4):
            for n in range(4, 14):
                self.assertEqual(list(ring(list(range(n))).last(3)), list(range(n - 3, n)), n)
                self.assertEqual(list(ring(list(range(n))).last(4)), list(range(n - 4, n)), n)

    def test_outage(self):
        """From the cut to the end of the longest gap that began before it was over, and no other."""
        times = [n * MS for n in (0, 100, 901, 903, 904, 911, 912, 999)]
        said = self.figures(times, 902 * MS, 905 * MS)
        self.assertEqual(said["outage"], 9 * MS)
        self.assertEqual(said["known"], MS)
        self.assertIsNone(said["told"])
        # It is over at once.
        said = self.figures(times, 905 * MS, 906 * MS)
        self.assertEqual(said["outage"], 6 * MS)

    def test_known(self):
        """A cable carries once all that has to say so has; what was said before does not count."""
        switch, here, there = object.__new__(cutter.Switch), *(socket.socketpair(type=socket.SOCK_DGRAM)
                                                               for _ in range(2))
        self.addCleanup(lambda: [end.close() for end in here + there])
        switch.news, switch.news_there = here[1], there[1]
        switch.runs, switch.missing = {}, {"eth0", "p0"}

        def say(end, name, flags):
            end.send(bytes(24) + struct.pack("II", flags, 0) + struct.pack("HH", 4 + len(name), 3) + name)
        for end, name, flags in ((here[0], b"eth1\0", 0x10040), (here[0], b"eth0\0", 0x10000),
                                 (there[0], b"p0\0", 0x10040), (there[0], b"p01\0", 0x10040)):
            say(end, name, flags)
            self.assertIsNone(switch.known())
        say(here[0], b"eth0\0", 0x10040)
        before = cutter.now()
        self.assertGreater(switch.known(), before)
        # Nobody tells of a silent one.
        switch.forget()
        self.assertIsNone(switch.known())

    def test_slots(self):
        """The cut is where the sixth slot begins."""
        said = self.figures([n * 10 * MS for n in range(300)], 1000 * MS, 1100 * MS)
        self.assertEqual(said["slots"], [10] * (cutter.BEFORE + cutter.AFTER))

    def test_by_cable(self):
        """Between two looks a beat counts for the cables as they had frames; where none had any, for none."""
        times = [n * MS for n in (1, 2, 11, 12, 21, 31)]
        seen = [(0, 0, 0), (10 * MS, 6, 0), (20 * MS, 7, 3), (30 * MS, 7, 3), (40 * MS, 7, 9)]
        self.assertEqual(cutter.by_cable(times, seen, 0, 10 * MS, 4), [[2, 0.5, 0, 0], [0, 1.5, 0, 1]])
        # Slots that begin later, and end earlier.
        self.assertEqual(cutter.by_cable(times, seen, 10 * MS, 2 * MS, 1), [[0.25], [0.75]])

    def test_longest(self):
        """A gap that is on when it begins, or begins before it ends; none before, none behind."""
        times = [0, 900, 1000, 1010, 1040, 1045, 2000]
        for begin, end, wanted in ((1001, 1045, 30), (1000, 1046, 955), (950, 1000, 100), (901, 902, 100)):
            self.assertEqual(cutter.longest(times, begin, end), wanted, (begin, end))

    def test_under_way(self):
        """A link to that peer which offers, or has messages that wait."""
        idle, other = link(), link(peer="02:0a:e0:00:00:03", offer="out", queue="7")
        for rows, wanted in (([idle, other], False), ([link(offer="out"), other], True),
                             ([link(queue="1"), other], True), ([], False)):
            end = mock.Mock(tags=mock.Mock(return_value=rows))
            self.assertIs(rowpath.under_way(end, idle["peer"]), wanted, rows)

    def test_drain(self):
        """It waits for what is under way and for what nobody has read, and gives up at last."""
        near, far = mock.Mock(), mock.Mock(mac=link()["peer"])
        beat = rowpath.Beat.__new__(rowpath.Beat)
        beat.twin, beat.contender = mock.Mock(ends=(near, far)), "send-atomic"
        near.tags.side_effect = [[link(offer="out")], [link()], [link()]]
        far.stats.side_effect = [{"delivered": 7, "read": 6}, {"delivered": 7, "read": 7}]
        beat.drain()
        self.assertEqual((near.tags.call_count, far.stats.call_count), (3, 2))
        near.tags.side_effect, far.stats.side_effect = None, None
        near.tags.return_value, far.stats.return_value = [link()], {"delivered": 7, "read": 6}
        with mock.patch.object(rowpath, "SLOW", 0.001), self.assertRaises(rowpath.Failed):
            beat.drain()

    def test_percentile(self):
        """As many as that are not above it."""
        self.assertEqual(rowpath.percentile(range(1, 101), 99), 99)
        self.assertEqual(rowpath.percentile(range(1, 101), 50), 50)
        self.assertEqual(rowpath.percentile([7], 99), 7)
        self.assertEqual(rowpath.percentile([3, 1, 2], 50), 2)


if __name__ == "__main__":
    unittest.main()
