# SPDX-License-Identifier: GPL-2.0
"""tests/bench/aims: a result that is absent or wrong fails its row, and is never made up."""

import contextlib
import importlib.machinery
import importlib.util
import io
import sys
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests" / "bench"
sys.path.insert(0, str(BENCH))


def load(name):
    """A program that has no ending to import it by."""
    loader = importlib.machinery.SourceFileLoader(name, str(BENCH / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


aims, tables = load("aims"), load("tables")
import rowlib           # noqa: E402  pylint: disable=wrong-import-position
import rowneck          # noqa: E402  pylint: disable=wrong-import-position
import rows             # noqa: E402  pylint: disable=wrong-import-position

# What the sink of a bottleneck prints: the time, devices, links, counters, TCP connections.
LOOK = """\
101.50 190.00
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets
    lo:       0       0    0    0    0     0          0         0        0       0
  eth0: 1514000    1000    0    0    0     0          0         0    60000    1000
port             vc state      offer   hold     peer              way            rx         tx
eth0              7 OPEN       IDLE    IDLE     02:0a:e0:00:01:00 direct       1234          0
eth0              8 OPEN       IDLE    IDLE     02:0a:e0:00:01:01 direct         99          0
delivered                        1333  transactions delivered here
note_stall                          3  froze: no answer, or no progress
0      0      10.10.0.1:2794 10.10.0.11:40000
\t cubic wscale:7,7 rto:201 bytes_received:65536000 segs_in:1000 rcv_space:14480
"""


def row(how):
    """A row of two figures with an aim, and one without."""
    return rows.row("row1", "About", how, (
        rows.Figure("a", "the 1st of 2", rows.least(2)), rows.Figure("b", "the second", rows.most(1.2)),
        rows.Figure("c", "and no aim")))


def run(*hows):
    """What aims prints for such rows, and its exit status."""
    out = io.StringIO()
    known = tuple(row(how)._replace(name=f"row{i}") for i, how in enumerate(hows))
    with mock.patch.object(rows, "ROWS", known), \
            mock.patch.object(aims, "machine", lambda row: contextlib.nullcontext()), \
            mock.patch.object(sys, "argv", ["aims"]), contextlib.redirect_stdout(out):
        status = aims.main()
    return out.getvalue(), status


def measured(values, error=None):
    """A row's function that measures these, and then fails or not."""
    def how(where, effort, taken):
        taken.values.update(values)
        if error:
            raise error
    return how


class Aims(unittest.TestCase):
    """Without a guest."""

    def test_verdicts(self):
        """An aim is judged by the median; the table is what tests/bench/tables reads."""
        text, status = run(measured({"a": [1, 2, 9], "b": [1, 1.21, 2], "c": [1234.5]}))
        self.assertEqual(status, 0)
        found = tables.read(text)[0]["aims"]["rows"]
        self.assertEqual(found, [
            ["row0: the 1st of 2", "2.00", "1.00", "9.00", "at least 2", "ok"],
            ["row0: the second", "1.21", "1.00", "2.00", "at most 1.2", "missed"],
            ["row0: and no aim", "1234", "1234", "1234", "", ""]])
        self.assertIn("1 aims reached, 1 missed, 0 not measured", text)

    def test_failed(self):
        """A row that fails reaches no aim, whatever it has measured; the next is measured all the same."""
        good = measured({"a": [3], "b": [1], "c": [1]})
        for error in (rowlib.Failed("it broke"), SystemExit("it broke"), TimeoutError("it broke")):
            text, status = run(measured({"a": [3], "b": [1], "c": [1]}, error), good)
            self.assertEqual(status, 1)
            self.assertIn("FAILED: it broke", text)
            self.assertIn("2 aims reached, 0 missed, 2 not measured", text)

    def test_absent(self):
        """A figure that is not there fails the row, and stands as -."""
        text, status = run(measured({"a": [3], "b": [1]}))
        self.assertEqual(status, 1)
        self.assertIn("FAILED: not measured: and no aim", text)
        self.assertIn(["row0: and no aim", "-", "-", "-", "", ""],
                      tables.read(text)[0]["aims"]["rows"])

    def test_ratio(self):
        """Ratios are taken round by round."""
        taken = rowlib.Taken()
        taken.values.update({"a": [1, 20, 3], "b": [2, 10, 1]})
        taken.ratio("/", "a", "b")
        self.assertEqual(taken.values["/"], [0.5, 2, 3])

    def test_jain(self):
        """1 if all have the same, 1/n if one has it all."""
        self.assertAlmostEqual(rowlib.jain([5, 5, 5, 5]), 1)
        self.assertAlmostEqual(rowlib.jain([7, 0, 0, 0]), 0.25)

    def test_froze(self):
        """What is counted as a freeze are the notes that say so."""
        text = (ROOT / "modoae" / "link" / "notes.h").read_text("utf-8")
        for name in rowneck.FROZE:
            self.assertRegex(text, rf'"{name}", "froze: ')
        self.assertEqual(text.count('"froze: '), len(rowneck.FROZE))

    def test_look(self):
        """A look at the sink: every flow, counters, the device."""
        neck = object.__new__(rowneck.Neck)
        neck.sink = mock.Mock(sh=lambda command: LOOK)
        look = neck.look()
        self.assertEqual((look.time, look.bytes), (101.5, 1514000))
        self.assertEqual(look.flows, {("02:0a:e0:00:01:00", 7): 1234, ("02:0a:e0:00:01:01", 8): 99,
                                      ("10.10.0.11", "tcp"): 65536000})
        self.assertEqual((look.stats["delivered"], look.stats["note_stall"]), (1333, 3))

    def test_judge(self):
        """A bottleneck that does not keep its rate fails its row; one that does, does not."""
        taken = rowlib.Taken()
        taken.values["flood"] = [0.97, 0.2, 0.95]
        rowneck.Neck.judge(taken)
        taken.values["flood"] = [0.97, 0.2, 0.3]
        with self.assertRaises(rowlib.Failed):
            rowneck.Neck.judge(taken)

    def test_rows(self):
        """Names tell rows apart; each figure has a place."""
        names = [row.name for row in rows.ROWS]
        self.assertEqual(len(set(names)), len(names))
        self.assertLessEqual(max(map(len, names)), 8)
        for one in rows.ROWS:
            keys = [figure.key for figure in one.figures]
            self.assertEqual(len(set(keys)), len(keys), one.name)
            for figure in one.figures:
                self.assertLessEqual(len(figure.text), 55, figure.text)


if __name__ == "__main__":
    unittest.main()
