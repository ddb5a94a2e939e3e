# SPDX-License-Identifier: GPL-2.0
"""The filters of doc/wireshark.md: those of tcpdump and of Wireshark find the same frames."""

import re
import shutil
import subprocess
import unittest

from oaepcap import ROOT, run_tshark

HERE = ROOT / "tests" / "lua"
ROWS = [re.findall(r"`([^`]*)`", line) for line in
        (ROOT / "doc" / "wireshark.md").read_text("utf-8").splitlines() if line.startswith("|")]
BOTH = [row for row in ROWS if len(row) == 2 and ("ether[" in row[0] or "udp" in row[0])]
ALONE = [row[0] for row in ROWS if len(row) == 1 and row[0].startswith("oae.")]


def tcpdump(name, what):
    """How many frames a filter finds."""
    done = subprocess.run(["tcpdump", "-n", "-tt", "-r", HERE / f"{name}.pcap", what], text=True,
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return sum(bool(re.match(r"\d+\.\d+ ", line)) for line in done.stdout.splitlines())


def wireshark(name, filters):
    """How many frames each of these filters finds, in one go."""
    text = run_tshark(HERE / f"{name}.pcap", "-2", "-q", "-z", ",".join(["io,stat", "0", *filters]))
    # | 0.000 <> 7.891 | frames | bytes | frames | bytes ...
    row = next(line for line in text.splitlines() if "<>" in line)
    counts = [int(word) for word in row.split("|")[2:-1]][::2]
    return dict(zip(filters, counts, strict=True))


class Filters(unittest.TestCase):
    maxDiff = None

    def test_both_find_the_same(self):
        self.assertTrue(shutil.which("tcpdump"), "no tcpdump")
        self.assertGreater(len(BOTH), 20)
        for name, rows in (("link", [row for row in BOTH if "ether[" in row[0]]),
                           ("gateway", [row for row in BOTH if "ether[" not in row[0]])):
            told = wireshark(name, [long for _, long in rows])
            own = "ether proto 0x88b5 and " if name == "link" else ""
            self.assertEqual({long: tcpdump(name, own + short) for short, long in rows}, told)
            self.assertGreater(sum(map(bool, told.values())), len(rows) // 2, told)

    def test_others(self):
        """What one of a capture's frames shows is found; tshark refuses a filter that is wrong."""
        self.assertGreater(len(ALONE), 10)
        told = wireshark("link", ALONE)
        self.assertEqual((told["oae.bad"], told['oae.digest.status == "Bad"']), (0, 0))
        for what in ('oae.outcome && oae.outcome != "committed"', "oae.note.again", "oae.commits",
                     "oae.resolved_in", "oae.note.freeze", "oae.transaction == 17",
                     "oae.commit_time > 0.01"):
            self.assertGreater(told[what], 0, what)


if __name__ == "__main__":
    unittest.main()
