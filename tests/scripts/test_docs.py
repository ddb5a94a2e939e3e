# SPDX-License-Identifier: GPL-2.0
"""The README, the manual pages and the pictures: true to the sources, and whole."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAN = ROOT / "doc" / "man"
sys.path[:0] = [str(ROOT / "lib"), str(ROOT / "tests" / "command")]
import oae                                                              # noqa: E402
import readme                                                           # noqa: E402


def read(*names):
    """A file of the tree."""
    return ROOT.joinpath(*names).read_text(encoding="utf-8")


def sources(module):
    """The C files of a module, in one."""
    return "".join(path.read_text(encoding="utf-8")
                   for path in sorted((ROOT / module).rglob("*.c")))


# What runs the commands that are for the reader's own host: a file, and what stands in it.
HOST = {
    "make": ("tests/packages/test_install.py", '"install"'),        # which it begins with
    "make demo": ("tools/demo", "The promise was not kept"),        # which fails if it was not
    "make demo-failover": ("tools/demo-failover", "The promise was not kept"),
    "make demo-gateway": ("tools/demo-gateway", "demo.Broken"),
    "make test": (".ci/run", "target test"),
    "sudo make install": ("tests/packages/test_install.py", 'self.make("install")'),
    "make deps": ("tests/scripts/test_setup.py", "install"),
    "make deb": ("tests/packages/run", ""),
    "sudo apt install ./build/deb/*.deb": ("tests/packages/test_packages.py", "install"),
}


class Readme(unittest.TestCase):
    """README.md, but for what tests/command/test_readme.py runs."""

    def test_size(self):
        """Short enough to be read."""
        self.assertLessEqual(len(readme.README.read_bytes()), 9 * 1024)

    def test_units(self):
        """The units of systemd that are named, there and in --help, are there; boot and monitoring are said."""
        units = {re.match(r"oae-[a-z]+(@|\.timer)?", path.name)[0] for folder in ("oae", "metrics")
                 for path in (ROOT / "tools" / folder).glob("oae-*.*")}
        text = readme.README.read_text(encoding="utf-8")
        for where in text, read("tools", "oae", "port.c"), read("doc", "install.md"):
            named = re.findall(r"systemctl enable (?:--now )?(oae-[a-z]+(?:@|\.timer)?)", where)
            self.assertTrue(named)
            self.assertLessEqual(set(named), units)
        self.assertIn("`oae metrics`", text)

    def test_blocks(self):
        """There is one of each kind, and whatever else it had would be noticed."""
        self.assertEqual({block.kind for block in readme.blocks()}, set(readme.KINDS))
        for text in ("```\nls\n```\n", "```bash\nls\n```\n", "a\n\n    # ls\n", "```sh\nls\n"):
            with self.assertRaises(ValueError):
                readme.blocks(text)

    def test_host(self):
        """Every command for the host is known here, and something runs it."""
        targets = set(re.findall(r"(?m)^([a-z-]+):", read("Makefile")))
        for block in readme.of_kind("sh host"):
            for line in block.lines:
                command = line.partition("#")[0].rstrip(" ,")
                self.assertIn(command, HOST)
                name, words = HOST[command]
                self.assertIn(words, read(name))
                target = re.match(r"(?:sudo )?make ?([a-z-]*)$", command)
                if target:
                    self.assertIn(target[1] or "all", targets)

    def test_demo(self):
        """Twelve lines of `make demo`, in the words of tools/demo."""
        block, = readme.of_kind("text demo")
        self.assertEqual(len(block.lines), 12)
        self.check_words(block, "demo", ("write error", "Timer expired"))

    def test_failover(self):
        """Six lines of `make demo-failover`, in the words of tools/demo-failover."""
        block, = readme.of_kind("text failover")
        self.assertEqual(len(block.lines), 6)
        self.check_words(block, "demo-failover")

    def check_words(self, block, program, others=()):
        """The program says so; what it runs has other words. Which device it is about is no word of it."""
        said = re.sub(r'"\s*\n\s*f?"', "", read("tools", program))
        for line in block.lines:
            line = re.sub(r"\beth\d", "0", line)
            for words in re.findall(r"[A-Za-z][A-Za-z',]*(?: [A-Za-z',]+)+", line):
                words = words.removeprefix("s, ")
                if words not in others:
                    self.assertIn(words, said, line)


class Links(unittest.TestCase):
    """From one text to another."""

    @staticmethod
    def anchor(heading):
        """As GitHub makes one."""
        return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")

    def test_links(self):
        """What a text refers to is there."""
        for path in sorted([ROOT / "README.md", *ROOT.glob("doc/**/*.md")]):
            text = re.sub(r"(?ms)^```.*?^```", "", path.read_text(encoding="utf-8"))
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                name, _, anchor = target.partition("#")
                if re.match(r"https?:", target):
                    continue
                where = (path.parent / name).resolve() if name else path
                self.assertTrue(where.exists(), f"{path.relative_to(ROOT)}: {target}")
                if anchor:
                    headings = re.findall(r"(?m)^#+ (.*)$", where.read_text(encoding="utf-8"))
                    self.assertIn(anchor, map(self.anchor, headings), f"{path.name}: {target}")

    def test_targets(self):
        """doc/testing.md has each target that tests something, and no other."""
        text = read("doc", "testing.md")
        targets = set(re.findall(r"(?m)^([a-z-]+):[^#\n]*## ", read("Makefile")))
        named = set(re.findall(r"`make ([a-z-]+)", text))
        others = {"programs", "install", "dkms", "uninstall", "deb", "clean", "help", "all", "deps",
                  "rpm"}
        self.assertEqual(named - targets, set())
        self.assertEqual(targets - named - others, set())
        for stage in re.findall(r"(?m)^(?:IN_GUESTS|IN_TWO|BESIDE) := (.*)$", read("tests", "stages.mk")):
            for name in stage.split():
                self.assertIn(f"`{name}`", text)


def entries(page):
    """The entries of a page that begin with a bold word and, in parentheses, what it may be."""
    found = re.findall(r'(?m)^\.TP\n\.BR (\w+) " \((.*)\)"$', read("doc", "man", page))
    return dict(found)


def numbers(header, *macros):
    """The rows of an X-macro table: name -> (minimum, maximum, default)."""
    rows = {}
    for name, values in re.findall(rf"(?m)^(?:{'|'.join(macros)})\((\w+), ([^\"]*?), (?:OAE_BYTES,\s+)?\"", header):
        rows[name] = tuple(int(value, 0) for value in values.split(", "))
    return rows


class Mutants(unittest.TestCase):
    """What breaks without a rule: the tables that name mutants, and scenarios of the explorer."""

    def test_there(self):
        """Each that the last column of a table names is there."""
        there = set(re.findall(r'^\s*\{ "([\w-]+)"', read("tests", "model", "scenario.c"), re.M))
        for path in (ROOT / "tests" / "mutants").glob("*.mutants"):
            there.update(re.findall(r"^([a-z][\w-]*) \[", path.read_text(encoding="utf-8"), re.M))
        named = set()
        for page in ("protocol.md", "guarantees.md", "architecture.md"):
            for row in re.findall(r"^\|.*\|([^|]*)\|$", read("doc", page), re.M):
                named.update(re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", row))
        self.assertGreater(len(named), 100)
        self.assertEqual(named - there, set())


class Pages(unittest.TestCase):
    """doc/man."""

    def test_lint(self):
        """mandoc and groff have nothing to say."""
        for page in sorted(MAN.glob("*.[1-8]")):
            for command in (["mandoc", "-Tlint", "-Wwarning"],
                            ["groff", "-man", "-Tutf8", "-ww", "-z"]):
                done = subprocess.run([*command, page], text=True, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual((done.stdout, done.returncode), ("", 0), page.name)

    def check_numbers(self, page, rows):
        """Each has its entry, with its range and its default. What is left of the entries."""
        left = entries(page)
        for name, (least, most, default) in rows.items():
            said = left.pop(name, None)
            ranges = [f"{least} to {most}, default {default}"]
            if default < least:
                ranges = [f"0, {least} to {most}; default {default}"]
            self.assertIn(said, ranges, f"{page}: {name}")
        return left

    def test_knobs_of_links(self):
        """modoae(4) has all parameters, and their ranges and defaults."""
        header = read("modoae", "base", "knobs.h")
        left = self.check_numbers("modoae.4", numbers(header, "OAE_KNOB"))
        choices = re.findall(r'(?ms)^OAE_CHOICE\((\w+),.*?\(default (\w+)\)"\)', header)
        self.assertEqual({name for name, _ in choices}, {"accept", "use_gw"})
        source = sources("modoae")
        for name, default in choices:
            table = re.search(rf"oae_{name}_words\[\] = {{(.*?)}};", source, re.S)[1]
            words = ", ".join(re.findall(r'"(\w+)"', table))
            self.assertEqual(left.pop(name), f"{words}; default {default}")
        self.assertEqual(set(left), set(re.findall(r"(?m)^MODULE_PARM_DESC\((\w+),", source)))

    def test_knobs_of_gateways(self):
        """modoaeip(4), the same."""
        header = read("modoaeip", "base", "knobs.h")
        left = self.check_numbers("modoaeip.4", numbers(header, "OAEIP_KNOB", "OAEIP_KNOB_OR_0"))
        self.assertEqual(set(left), set(re.findall(
            r"(?m)^(?:MODULE_PARM_DESC|OAEIP_OTHER)\((\w+),", sources("modoaeip"))))

    def test_errors(self):
        """modoae(4) and oae(4) have each errno under what it means."""
        headings = {"COMMITTED": oae.Ending.COMMITTED, "REVERSED": oae.Ending.REVERSED,
                    "UNKNOWN": oae.Ending.UNKNOWN, "Not yet known": oae.Ending.NOT_YET,
                    "Nothing was begun": oae.Ending.NOTHING}
        for page in "modoae.4", "oae.4":
            text = re.search(r"(?ms)^\.SH ERRORS$(.*?)^\.SH ", read("doc", "man", page))[1]
            parts = re.split(r"(?m)^\.SS (.*)$", text)[1:]
            self.assertEqual(set(parts[::2]), set(headings), page)
            named = set()
            for heading, part in zip(parts[::2], parts[1::2]):
                for line in re.findall(r"(?m)^\.TP\n\.BR? (E.*)$", part):
                    for name in re.findall(r"E[A-Z]+", line):
                        named.add(name)
                        self.assertEqual(oae.outcome(getattr(oae.errno, name)), headings[heading],
                                         f"{page}: {name}")
            header = read("include", "uapi", "oae.h").partition("How a transaction ends")[2]
            known = set(re.findall(r"\bE[A-Z]{3,}\b", header.partition("*/")[0]))
            self.assertLessEqual(named, known, page)
            if page == "oae.4":
                self.assertEqual(named, known)

    def test_simulator(self):
        """oaesim(1) has every option, and no other."""
        source = read("tools", "sim", "manual.c").partition("manual_options[]")[2]
        options = re.findall(r'\{ "([a-z-]+)", ', source)
        page = read("doc", "man", "oaesim.1").partition(".SH OPTIONS")[2].partition(".SH ")[0]
        listed = re.findall(r'(?m)^\.TP\n\.BR? (?:\\-\w ", " )?\\-\\-([a-z]+(?:\\-[a-z]+)*)', page)
        self.assertEqual([name.replace("\\-", "-") for name in listed], options)


class Pictures(unittest.TestCase):
    """doc/pictures."""

    def test_drawn(self):
        """Each picture is what its source says."""
        done = subprocess.run([ROOT / "doc" / "pictures" / "draw", "--check"], text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((done.stdout, done.returncode), ("", 0))

    def test_changed(self):
        """A source that was changed and not drawn, and a picture without a source, are found."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "pictures"
            shutil.copytree(ROOT / "doc" / "pictures", copy)
            text = (copy / "states.txt").read_text(encoding="utf-8")
            (copy / "states.txt").write_text(text.replace("no link", "none"), encoding="utf-8")
            (copy / "zones.txt").unlink()
            done = subprocess.run([copy / "draw", "--check"], text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("states.svg: not what states.txt says", done.stdout)
        self.assertIn("zones.svg: has no source", done.stdout)
        self.assertEqual(len(done.stdout.splitlines()), 2, done.stdout)

    def test_states(self):
        """The states in the picture are those of a link."""
        drawn = re.findall(r"\| `([A-Z_]+)", read("doc", "pictures", "states.txt"))
        self.assertEqual(set(drawn), {state.name for state in oae.State})

    def test_errors(self):
        """What the picture makes of an errno is what the library does."""
        text = read("doc", "pictures", "errno.txt")
        names = {"COMMITTED": "COMMITTED", "UNKNOWN": "UNKNOWN", "NOT YET KNOWN": "NOT_YET"}
        asked = dict(re.findall(r"(?m)^box (\w+) .*\| `(E[A-Z]+)", text))
        told = dict(re.findall(r"(?m)^box (\w+) .*?\| ([A-Z ]+) \|", text))
        arrows = dict(re.findall(r"(?m)^arrow (\w+)\.r (\w+)\.l.*yes", text))
        self.assertEqual(len(asked), 3)
        for box, name in asked.items():
            self.assertEqual(oae.outcome(getattr(oae.errno, name)).name, names[told[arrows[box]]])
        for name in set(re.findall(r"\bE[A-Z]{3,}\b", text)) - set(asked.values()):
            self.assertIn(oae.outcome(getattr(oae.errno, name)),
                          (oae.Ending.REVERSED, oae.Ending.NOTHING), name)


if __name__ == "__main__":
    unittest.main()
