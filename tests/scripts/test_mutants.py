# SPDX-License-Identifier: GPL-2.0
"""The tables of tests/mutants: how they are read, when an entry applies, and how one build has all."""

import importlib.machinery
import importlib.util
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

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


PROGRAM = """\
#include <stdio.h>

#define LEAST 3

/* Adds, and says so to who asks. */
static int sum(const int n[2], void (*say)(int a, int b))
{
	int a = n[0];

	say(a, n[1]);
	return a + n[1];
}

static void print(int a, int b)
{
	printf("%d+%d ", a, b);
}

static int least(void)
{
	return LEAST;
}

int main(void)
{
	int n[2] = { 1, 2 };

	printf("%d %d %d\\n", sum(n, print), least(), __LINE__);
	return 0;
}
"""

EDITS = {
    "adds-one": ("-\treturn a + n[1];", "+\treturn a + n[1] + 1;"),
    "says-other": ('-\tprintf("%d+%d ", a, b);', '+\tprintf("%d-%d ", b, a);'),
    "both": ("-\treturn a + n[1];", "+\treturn 7;", "@@", "-\treturn LEAST;", "+\treturn 4;"),
    "again": ("-\treturn a + n[1];", "+\treturn n[0] < 9 ? sum((int[]){ 9, n[1] }, say) : 0;"),
    "least-more": ("-#define LEAST 3", "+#define LEAST 4"),
    "gone": ("-\treturn LESS;", "+\treturn 0;"),
    "junk": ("-\treturn LEAST;", "+\treturn MOST;"),
}


def mutants_of(*names):
    """Mutants of the program, numbered from 1."""
    mutants = []
    for number, name in enumerate(names or EDITS, 1):
        mutant = run.Mutant("core.mutants", "core.c", run.HEAD.fullmatch(f"{name} [1] Breaks."))
        mutant.number, mutant.edits = number, [run.Edit("")]
        for line in EDITS[name]:
            if line == "@@":
                mutant.edits.append(run.Edit(""))
            else:
                mutant.edits[-1].add(line)
        mutants.append(mutant)
    return mutants


class OneBuild(unittest.TestCase):
    """Many mutants in one source."""

    def built(self, mutants):
        """What the program says, given a number."""
        directory = tempfile.TemporaryDirectory()       # pylint: disable=consider-using-with
        self.addCleanup(directory.cleanup)
        out = Path(directory.name)
        (out / "oae_mutant.h").write_text(run.CHOOSER)
        text, fit = run.schemata("core.c", PROGRAM, mutants)
        (out / "core.c").write_text(text)
        status, said, _ = run.output("cc", "-w", "-o", out / "core", out / "core.c")
        if status:
            raise run.Failure(said)
        return fit, lambda number: subprocess.run(
            [out / "core"], env={"OAE_MUTANT": str(number)} if number else {}, check=True,
            stdout=subprocess.PIPE, text=True).stdout

    def test_each_is_called(self):
        mutants = mutants_of("adds-one", "says-other", "both", "again")
        fit, says = self.built(mutants)
        self.assertEqual(fit, mutants)
        line = PROGRAM[:PROGRAM.index("__LINE__")].count("\n") + 1
        self.assertEqual([says(number) for number in range(6)],
                         [f"{what} {line}\n" for what in (
                             "1+2 3 3", "1+2 4 3", "2-1 3 3", "1+2 7 4",
                             # it calls what is called without it: that is, itself
                             "1+2 9+2 0 3",
                             "1+2 3 3")])

    def test_what_has_its_own_build(self):
        """What is not in a function's body, and what no longer applies."""
        fit, _ = self.built(mutants_of("adds-one", "least-more", "gone"))
        self.assertEqual([mutant.name for mutant in fit], ["adds-one"])

    def test_not_compiled(self):
        """The compiler says which mutant it is; the others are built without it."""
        mutants = mutants_of("adds-one", "junk")
        with self.assertRaisesRegex(run.Failure, r"(?m)^mutant junk:3:\d+: error"):
            self.built(mutants)
        build = run.Build(run.PLAIN, mutants, 1)
        made = []

        def make_in(*_, **__):
            made.append([mutant.name for mutant in build.mutants])
            self.built(build.mutants)
        with mock.patch.object(build, "write"), mock.patch.object(run, "make_in", make_in):
            build.make("all")
        self.assertEqual(made, [["adds-one", "junk"], ["adds-one"]])

    def test_arguments(self):
        for signature, names in (("int f(void)\n", []), ("int f(int a, const u8 *b)\n", ["a", "b"]),
                                 ("void f(void (*done)(int a, int b),\n\t u8 mac[6])\n", ["done", "mac"]),
                                 ("struct f *f(struct f *f)\n", ["f"])):
            self.assertEqual(run.arguments(signature, "f"), names)


class Limits(unittest.TestCase):
    """How a test ends that does not pass."""

    def test_hangs(self):
        """By the processor's time, not the clock's."""
        mutant, = mutants_of("adds-one")
        build = run.Build(run.PLAIN, [mutant], 1)
        build.limits["test"] = 1
        for words, how in ((["sh", "-c", "while :; do :; done"], "test hangs"),
                           (["sh", "-c", "kill -SEGV $$"], "test: SIGSEGV"),
                           (["sh", "-c", "echo worse; exit $OAE_MUTANT"], "test: worse"),
                           (["sleep", "1.2"], None)):
            with mock.patch.object(run, "command", lambda *_, words=words: words):
                self.assertEqual(build.run("test", mutant), how)
