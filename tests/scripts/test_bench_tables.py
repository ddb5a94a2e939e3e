# SPDX-License-Identifier: GPL-2.0
"""tests/bench/tables: what `make bench` prints is read as it is meant, or said to be missing."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests" / "bench"
sys.path.insert(0, str(BENCH))
import progreport           # noqa: E402  pylint: disable=wrong-import-position

loader = importlib.machinery.SourceFileLoader("tables", str(BENCH / "tables"))
tables = importlib.util.module_from_spec(importlib.util.spec_from_loader("tables", loader))
loader.exec_module(tables)

KERNEL = """\
Round trips in the kernel over one veth pair, microseconds
 payload                median      p90      p99     median / echo
    64 B echo             5.49     6.15    10.38              1.00
    64 B transaction     10.31    14.34    49.46              1.88
One hop through two gateways, in the kernel: a frame goes from near to far and back
"""
GATEWAY = """\
{} bytes behind the Ethernet header, {} of them payload
  echo         5.66   0.16
  gateway     14.45   0.48     4629    153   2314      0.82      0.64      0.56
  gateway6    15.53   0.41     5084    154   2542      0.89      0.63
  gateway's hop / vxlan's without what mirred costs: 0.70
"""
TABLE = """\
A gateway's table: look-ups of random nodes, one behind the other.
           nodes      median      ±      median      ±      median      ±   / first
        10 of 10        71.6    1.3        29.9    0.4        12.8    0.2     1.00
The aim is a ratio of at most 1.2 for 10000 of 10000
Memory: 123 bytes a node, measured, hash buckets included; sizeof(struct oaeip_node) 88
"""
RATES = """\

FETCH_ADDs a second, as many under way as are queued. rxe has one in each frame and up to 128 of
                                                       median    least     most  / best of rxe
  /dev/oae, links: 1, operations: 1, queue: 64           3633     3430     3892           0.21

"""
STORM = """\
64 bytes, each written until committed
                                               per s   kept   storm /s  memory KB
  no storm                                      5882   1.00          -        144
  SYNC from 2^20 addresses                      6014   0.98     118207         48

1400 bytes, queued as many as it takes
                                               per s   kept   storm /s  memory KB
  no storm                                      4875   1.00          -        116

256 peers, 16 of them greedy, fill the memory there is for peers: max_tags=64 rcvbuf=65536
  links 49 of 64 at most; turned away 208 times; 48 peers have all they can get
  memory: high-water mark 10176 KB, limit 22656 KB (doc/guarantees.md, G6)

743616 transactions of the link committed, each delivered once, in order and whole; nothing else
bench: 31873353 link events in 4.96 s of CPU: 6427387 a second; 2032672 transactions a second; 74 MB
"""
AIMS = """\
Aims: medians of rounds
  row                                                                  median     least      most  aim
small: 64 B messages a second, one link, queued; two hosts of one kernel
  small    messages a second                                             8605      8105      9605
  small    / window 1, not packed                                       10.89      9.89     12.89  at least 10   ok
    a note

wan: 64 KB transactions over 20 ms and two gateways
  wan      window 8: / (8 × 64 KB / 20 ms)                                  -         -         -  at least 0.7  FAILED
    FAILED: nothing

The window is 64. What is promised:
"""


def programs(heading, what, to, names):
    """As progreport.py prints it."""
    figures = progreport.Figures()
    for i, name in enumerate(names, 1):
        figures.parse(f"round 0 {name} {i}1000 {i}2000 {i}3000\n")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(heading)
        figures.head(what, to)
        for name in names:
            figures.line(name, names[0])
        figures.line("add-8", names[0], per=8)
        figures.line("udp", names[0], half=True)
    return out.getvalue()


NAMES = ("tipc", "oae-express-queued", "add-8", "udp")
ALL = "".join((
    KERNEL, GATEWAY.format(116, 64), GATEWAY.format(1452, 1400), TABLE,
    programs("The two programs on a processor each, as two hosts have it", "64-byte messages",
             "TIPC", NAMES),
    "Aims, as ratios of medians to TIPC's ping-pong:\n",
    "  write to committed, /dev/oae atomic                           0.32, at most 0.6: met\n",
    programs("The two programs on one processor: a write", "64-byte messages", "TIPC", NAMES),
    "Two programs on two guests of a processor each, virtio-net between them.\n",
    programs("", "64-byte messages", "rxe's", NAMES),
    programs("Words at the other end", "", "rxe's", NAMES),
    RATES, STORM, AIMS))


class Tables(unittest.TestCase):
    """Of a run whose every table has a row or two."""

    def test_read(self):
        """Each figure stands where it belongs."""
        found, rest, missing = tables.read(ALL)
        self.assertEqual(missing, [])
        self.assertEqual(found["kernel"]["rows"], [
            ["64 B echo", 5.49, 6.15, 10.38, 1.0], ["64 B transaction", 10.31, 14.34, 49.46, 1.88]])
        self.assertEqual(found["gateway-1400"]["rows"], [
            ["echo", 5.66, 0.16] + [None] * 6,
            ["gateway", 14.45, 0.48, 4629, 153, 2314, 0.82, 0.64, 0.56],
            ["gateway6", 15.53, 0.41, 5084, 154, 2542, 0.89, 0.63, None]])
        self.assertEqual(found["look-up"]["rows"],
                         [["10 of 10", 71.6, 1.3, 29.9, 0.4, 12.8, 0.2, 1.0]])
        for name in "programs-apart", "programs-together", "pair-messages", "pair-words":
            self.assertEqual(found[name]["rows"], [
                ["ping-pong, TIPC SEQPACKET", 11.0, 12.0, 13.0, 1.0],
                ["ping-pong, /dev/oae express, not blocking", 21.0, 22.0, 23.0, 1.83],
                ["8 FETCH_ADDs, one transaction", 31.0, 32.0, 33.0, 2.67],
                ["ping-pong, UDP", 41.0, 42.0, 43.0, 3.5], ["each of them", 3.9, 4.0, 4.1, 0.33],
                ["half of: ping-pong, UDP", 20.5, 21.0, 21.5, 1.75]], name)
        self.assertEqual(found["pair-rates"]["rows"],
                         [["/dev/oae, links: 1, operations: 1, queue: 64", 3633, 3430, 3892, 0.21]])
        self.assertEqual(found["storm-64"]["rows"], [
            ["no storm", 5882, 1.0, None, 144],
            ["SYNC from 2^20 addresses", 6014, 0.98, 118207, 48]])
        self.assertEqual(found["storm-1400"]["rows"], [["no storm", 4875, 1.0, None, 116]])
        self.assertEqual(found["simulator"]["rows"],
                         [["bench", 31873353, 4.96, 6427387, 2032672, 74]])
        self.assertEqual(found["aims"]["rows"], [
            ["small: messages a second", "8605", "8105", "9605", "", ""],
            ["small: / window 1, not packed", "10.89", "9.89", "12.89", "at least 10", "ok"],
            ["wan: window 8: / (8 × 64 KB / 20 ms)", "-", "-", "-", "at least 0.7", "FAILED"]])
        self.assertEqual(rest["facts"]["occupied-memory"], {"kb": 10176, "limit_kb": 22656})
        self.assertEqual(rest["aims"], [{"what": "write to committed, /dev/oae atomic",
                                         "value": 0.32, "aim": "at most 0.6", "met": True}])

    def test_missing(self):
        """A table that is not there, or ends before its first row, is named."""
        for what, name in ((KERNEL, "kernel"), (RATES, "pair-rates"),
                           (GATEWAY.format(1452, 1400), "gateway-1400"),
                           ("  no storm                                      4875", "storm-1400"),
                           ("bench: ", "simulator"), ("Aims: medians", "aims"), ("Memory: 123", "gateway-memory")):
            self.assertIn(what, ALL)
            self.assertEqual(tables.read(ALL.replace(what, ""))[2], [name])
        self.assertEqual(len(tables.read("")[2]), len(tables.TABLES) + len(tables.FACTS))

    def test_files(self):
        """--run passes output and status on; JSON, pictures, a document."""
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory)
            doc = out / "page.md"
            doc.write_text("before\n<!-- table kernel -->\nold\n<!-- end -->\nbehind\n", "utf-8")
            done = subprocess.run(
                [BENCH / "tables", "--out", out / "report", "--doc", doc, "--run",
                 "sh", "-c", 'printf "%s" "$0"; exit 7', ALL],
                capture_output=True, text=True, check=False, timeout=600)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (7, ALL, ""))
            self.assertEqual(json.loads((out / "report/storm-1400.json").read_text("utf-8"))["rows"],
                             [["no storm", 4875, 1.0, None, 116]])
            self.assertEqual(doc.read_text("utf-8"), """before
<!-- table kernel -->
|  | median, µs | p90, µs | p99, µs | median / echo |
| --- | ---: | ---: | ---: | ---: |
| 64 B echo | 5.49 | 6.15 | 10.38 | 1.00 |
| 64 B transaction | 10.31 | 14.34 | 49.46 | 1.88 |
<!-- end -->
behind
""")
            for folder in "report", "page":
                pictures = list((out / folder).glob("*.svg"))
                self.assertEqual(len(pictures), len(tables.PLOTS))
                for picture in pictures:
                    ET.parse(picture)
            # A bar is as long as its figure, beside the longest: 10.31, whose whisker is 14.34.
            text = (out / "page/kernel.svg").read_text("utf-8")
            wide = [float(w) for w in re.findall(r'width="([\d.]+)" height="16"', text)]
            self.assertAlmostEqual(wide[0] / wide[1], 5.49 / 10.31, places=2)

    def test_document(self):
        """doc/performance.md has only tables and pictures that there are, and all are filled."""
        doc = ROOT / "doc" / "performance.md"
        text = doc.read_text("utf-8")
        names = re.findall(r"<!-- table (\S+) -->\n\|", text)
        self.assertEqual(sorted(names), sorted(table.name for table in tables.TABLES))
        self.assertEqual({f"performance/{plot.table}.svg" for plot in tables.PLOTS},
                         set(re.findall(r"!\[\]\((.*?)\)", text)))
        for plot in tables.PLOTS:
            self.assertTrue((doc.parent / "performance" / f"{plot.table}.svg").exists())


if __name__ == "__main__":
    unittest.main()
