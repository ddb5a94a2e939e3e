# SPDX-License-Identifier: GPL-2.0
"""The manual pages: true to the sources, and whole."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAN = ROOT / "doc" / "man"
sys.path[:0] = [str(ROOT / "lib")]
import oae                                                              # noqa: E402


def read(*names):
    """A file of the tree."""
    return ROOT.joinpath(*names).read_text(encoding="utf-8")


def sources(module):
    """The C files of a module, in one."""
    return "".join(path.read_text(encoding="utf-8")
                   for path in sorted((ROOT / module).rglob("*.c")))


def entries(page):
    """The entries of a page that begin with a bold word and, in parentheses, what it may be."""
    found = re.findall(r'(?m)^\.TP\n\.BR (\w+) " \((.*)\)"$', read("doc", "man", page))
    return dict(found)


def numbers(header, *macros):
    """The rows of an X-macro table: name -> (minimum, maximum, default)."""
    rows = {}
    for name, values in re.findall(rf"(?m)^(?:{'|'.join(macros)})\((\w+), ([^\"]*?), \"", header):
        rows[name] = tuple(int(value, 0) for value in values.split(", "))
    return rows


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
        choices = re.findall(r'(?m)^OAE_CHOICE\((\w+), \w+,\s*"(?:[^"]*)\(default (\w+)\)"\)', header)
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
            for heading, part in zip(parts[::2], parts[1::2]):
                for line in re.findall(r"(?m)^\.TP\n\.BR? (E.*)$", part):
                    for name in re.findall(r"E[A-Z]+", line):
                        self.assertEqual(oae.outcome(getattr(oae.errno, name)), headings[heading],
                                         f"{page}: {name}")

    def test_simulator(self):
        """oaesim(1) has every option, and no other."""
        source = read("tools", "sim", "manual.c").partition("manual_options[]")[2]
        options = re.findall(r'\{ "([a-z-]+)", ', source)
        page = read("doc", "man", "oaesim.1").partition(".SH OPTIONS")[2].partition(".SH ")[0]
        listed = re.findall(r'(?m)^\.TP\n\.BR? (?:\\-\w ", " )?\\-\\-([a-z]+(?:\\-[a-z]+)*)', page)
        self.assertEqual([name.replace("\\-", "-") for name in listed], options)


if __name__ == "__main__":
    unittest.main()
