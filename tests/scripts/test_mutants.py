# SPDX-License-Identifier: GPL-2.0
"""The tables of tests/mutants: how they are read, and when an entry applies."""

import importlib.machinery
import importlib.util
import tempfile
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parents[1] / "mutants" / "run"
LOADER = importlib.machinery.SourceFileLoader("mutants_run", str(RUN))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants_run", LOADER))
LOADER.exec_module(run)

SOURCE = """\
static int first(int a)
{
	if (a)
		return 1;

	return 0;
}

/* Of several lines. */
static int second(int a,
		  int b)
{
	if (a)
		return 1;
	return b;
}
"""


class Tables(unittest.TestCase):
    """One table, one source."""

    def read(self, *entry):
        """The mutants of a table with one entry, or what is wrong with it."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "core.mutants"
            path.write_text("\n".join(["# a comment", "source modoae/link/core.c", "",
                                       "it-breaks [4.2 (1)] What it breaks.", *entry]) + "\n")
            return run.read_table(path)

    def broken(self, *entry, source=SOURCE):
        """A source, broken by one entry."""
        mutant, = self.read(*entry)
        return mutant.apply(source)

    def fails(self, words, *entry, source=SOURCE):
        """It does not apply, and says why."""
        with self.assertRaisesRegex(run.Failure, words):
            self.broken(*entry, source=source)

    def test_head(self):
        mutant, = self.read("Needs: explorer one two", "-\treturn b;")
        self.assertEqual((mutant.name, mutant.rule, mutant.about, mutant.source),
                         ("it-breaks", "4.2 (1)", "What it breaks.", "modoae/link/core.c"))
        self.assertEqual((mutant.needs, mutant.scenarios), ("explorer", ["one", "two"]))

    def test_edits(self):
        self.assertEqual(self.broken("-\treturn b;", "+\treturn a;"),
                         SOURCE.replace("return b;", "return a;"))
        self.assertEqual(self.broken("-", "-\treturn 0;"), SOURCE.replace("\n\treturn 0;\n", ""))
        # a line that stays tells which is meant
        self.assertEqual(self.broken(" \t\treturn 1;", "-\treturn b;", "+\treturn 0;"),
                         SOURCE.replace("return b;", "return 0;"))
        # two places
        self.assertEqual(self.broken("-\treturn b;", "+\treturn a;", "@@", "-\treturn 0;",
                                     "+\treturn 2;"),
                         SOURCE.replace("return b", "return a").replace("return 0", "return 2"))

    def test_function(self):
        head, tail = SOURCE.split("/* Of")
        entry = "-\t\treturn 1;", "+\t\treturn 2;"
        self.fails("found 2 times instead of once: return 1;", *entry)
        self.assertEqual(self.broken("@@ first", *entry),
                         head.replace("1", "2") + "/* Of" + tail)
        self.assertEqual(self.broken("@@ second", *entry),
                         head + "/* Of" + tail.replace("1", "2"))
        self.fails("0 functions called third", "@@ third", *entry)
        self.fails("2 functions called first", "@@ first", *entry, source=SOURCE + head)
        self.fails("found 0 times in first", "@@ first", "-\treturn b;")

    def test_moved(self):
        """Lines around it may change, and it may move."""
        entry = "@@ second", "-\treturn b;"
        for old, new in (("\t\treturn 1;\n\treturn b;", "\t\treturn 7;\n\n\treturn b;"),
                         ("second(int a,\n", "second(int c, int a,\n")):
            source = SOURCE.replace(old, new)
            self.assertNotEqual(source, SOURCE)
            self.assertEqual(self.broken(*entry, source=source), source.replace("\treturn b;\n", ""))

    def test_whole_lines(self):
        self.fails("found 0 times", "-return b;")
        self.fails("found 0 times", "-\treturn b")
        self.fails("found 0 times", "-    return b;")

    def test_breaks_nothing(self):
        self.fails("breaks nothing", "-\treturn b;", "+\treturn b;")
        self.fails("breaks nothing")

    def test_cannot_be_read(self):
        for entry in (["junk"], ["-\treturn b;", "Needs: explorer"], ["Needs: luck"]):
            with self.assertRaises(run.Failure):
                self.read(*entry)
