# SPDX-License-Identifier: GPL-2.0
"""tests/bench/counts: what is made of instructions that were counted."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests" / "bench"
sys.path.insert(0, str(BENCH))

loader = importlib.machinery.SourceFileLoader("counts", str(BENCH / "counts"))
counts = importlib.util.module_from_spec(importlib.util.spec_from_loader("counts", loader))
loader.exec_module(counts)


def found(transaction, ping=None, **more):
    """Two rows of two columns."""
    return {"kernel": "6.1.0 #1", "compiler": "GCC: (Debian) 12.2.0", "columns": ["ours", "TCP"],
            "rows": {"transaction": [transaction, None], "ping-pong": ping or [20000, 30000]}, **more}


class Rows(unittest.TestCase):
    """What is counted."""

    def test_a_cell_a_column(self):
        for row in counts.ROWS:
            self.assertEqual(len(row.contenders), len(counts.COLUMNS), row.name)

    def test_progbench_knows_them(self):
        source = (BENCH / "progbench.c").read_text("utf-8")
        for row in counts.ROWS:
            for contender in filter(None, row.contenders):
                if contender != counts.HOP:
                    self.assertIn(f'{{ "{contender}", ', source)


class Middle(unittest.TestCase):
    """Rounds, and what is left of them."""

    def test_median(self):
        self.assertEqual(counts.middle("x", [1000, 1002, 1001, 1003, 1000.4, *[1001] * 4]), 1001)

    def test_one_round_is_another(self):
        self.assertEqual(counts.middle("x", [*[1000] * 7, 5000, 900]), 1000)

    def test_rounds_of_no_one_mind(self):
        with self.assertRaisesRegex(counts.Failed, "x: rounds differ: 1000, 1030, 1060, 1090, 970"):
            counts.middle("x", [1000, 1030, 1060, 1090, 970, 940, 910, 1120, 1150])

    def test_rounds_missing(self):
        with self.assertRaisesRegex(counts.Failed, "4 rounds, not 9"):
            counts.middle("x", [1000] * 4)


class Job:
    """A program that answers."""

    def __init__(self, error=None):
        self.error, self.killed = error, False

    def wait_for(self, _text, _seconds):
        """Until it says so, or has ended."""
        if self.error:
            raise self.error

    def kill(self):
        """Nobody asks any more."""
        self.killed = True


class Ask(unittest.TestCase):
    """One contender."""

    def ask(self, output, status=0, error=None):
        """What is counted of what progbench says."""
        near, far, self.job = mock.Mock(), mock.Mock(), Job(error)
        far.machine.start.return_value = self.job
        far.program.return_value = near.program.return_value = ""
        near.machine.run.return_value = counts.vmlib.Result(status, output)
        return counts.ask(near, far, "udp", 400)

    def test_idle_does_not_count(self):
        lines = [f"count udp {30000 + idle:.1f} {idle:.1f}\n" for idle in (0, 0, 4000, 70000, 1, 0, 0, 2, 0)]
        self.assertEqual(self.ask("".join(lines)), 30000)
        self.assertTrue(self.job.killed)

    def test_fails(self):
        with self.assertRaisesRegex(counts.Failed, "udp: no route"):
            self.ask("no route\n", status=1)
        self.assertTrue(self.job.killed)

    def test_nobody_answers(self):
        with self.assertRaisesRegex(counts.Failed, "udp: ended without"):
            self.ask("", error=EOFError("ended without 'ready'"))


class Tables(unittest.TestCase):
    """For people."""

    def test_text(self):
        self.assertEqual(counts.text(found(9000)), ("               ours     TCP\n"
                                                    "transaction   9,000\n"
                                                    "ping-pong    20,000  30,000"))

    def test_markdown(self):
        self.assertEqual(counts.markdown(found(9000)), ("|  | ours | TCP |\n| --- | ---: | ---: |\n"
                                                        "| transaction | 9,000 |  |\n"
                                                        "| ping-pong | 20,000 | 30,000 |\n"))

    def test_into_the_page(self):
        begin, end = counts.MARKS
        page = f"before\n{begin}old\n{end}\nafter\n"
        self.assertEqual(counts.into(page, found(9000)),
                         f"before\n{begin}{counts.markdown(found(9000))}{end}\nafter\n")

    def test_no_place(self):
        for page in ("", counts.MARKS[0], counts.MARKS[1]):
            with self.assertRaises(counts.Failed):
                counts.into(page, found(9000))


class Compare(unittest.TestCase):
    """What a change costs."""

    def test_the_same(self):
        lines = counts.compare(found(10000), found(10100, [19900, None]))
        self.assertEqual(lines, ["instructions of all rows as in counts.json, within 2 %: +1.00 % at most"])

    def test_dearer_and_cheaper(self):
        lines = counts.compare(found(10000), found(10500, [18000, None]))
        self.assertEqual(lines, ["transaction, ours: 10,500 instructions, 5.0 % more than 10,000",
                                 "ping-pong, ours: 18,000 instructions, 10.0 % fewer than 20,000"])

    def test_another_kernel_or_compiler(self):
        for what, other in (("kernel", "6.2.0 #1"), ("compiler", "GCC: (Debian) 13.1.0")):
            lines = counts.compare(found(10000, **{what: other}), found(20000))
            self.assertEqual(len(lines), 1)
            self.assertTrue(lines[0].startswith(f"not compared: counts.json is of another {what}, {other}; here"))

    def test_a_row_that_was_not_known(self):
        for known in (found(None), {**found(1), "rows": {"ping-pong": [20000, 30000]}}):
            lines = counts.compare(known, found(9000))
            self.assertEqual(lines, ["transaction, ours: 9,000 instructions, not compared: counts.json has none"])


class Main(unittest.TestCase):
    """The exit status, and what is written."""

    def run_it(self, *words, failures=()):
        """Status and output, of 9,000 where 10,000 were known."""
        with tempfile.TemporaryDirectory() as directory:
            paths = Path(directory, "counts.json"), Path(directory, "page.md")
            paths[0].write_text(json.dumps(found(10000)))
            paths[1].write_text("".join(counts.MARKS))
            out = io.StringIO()
            with mock.patch.multiple(counts, JSON=paths[0], PAGE=paths[1],
                                     count=lambda ours: (found(9000), list(failures))), \
                    mock.patch.object(sys, "argv", ["counts", *words]), contextlib.redirect_stdout(out):
                status = counts.main()
            return status, out.getvalue(), json.loads(paths[0].read_text()), paths[1].read_text()

    def test_compare(self):
        status, out, known, page = self.run_it("--compare")
        self.assertEqual((status, known, page), (0, found(10000), "".join(counts.MARKS)))
        self.assertIn("\nfigure: transaction, ours: 9,000 instructions, 10.0 % fewer than 10,000\n", out)
        self.assertTrue(out.endswith("\n3 passed, 0 failed\n"), out)

    def test_write(self):
        status, _, known, page = self.run_it("--write")
        self.assertEqual((status, known), (0, found(9000)))
        self.assertIn("| transaction | 9,000 |  |\n", page)

    def test_a_row_fails(self):
        for word in ("--write", "--compare"):
            status, out, known, page = self.run_it(word, failures=["64 KB, ours: no"])
            self.assertEqual((status, known, page), (1, found(10000), "".join(counts.MARKS)))
            self.assertIn("\nFAILED: 64 KB, ours: no\n3 passed, 1 failed\n", out)


class Written(unittest.TestCase):
    """What the tree has."""

    def test_the_page_has_the_table(self):
        known = json.loads(counts.JSON.read_text("utf-8"))
        page = counts.PAGE.read_text("utf-8")
        self.assertEqual(counts.into(page, known), page)

    def test_every_cell_is_there(self):
        known = json.loads(counts.JSON.read_text("utf-8"))
        self.assertEqual(known["columns"], list(counts.COLUMNS))
        self.assertEqual({name: [value is not None for value in row] for name, row in known["rows"].items()},
                         {row.name: [bool(contender) for contender in row.contenders] for row in counts.ROWS})


if __name__ == "__main__":
    unittest.main()
