#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""tools/oaesim: does it say the truth, the same every time, and nothing wrong?

    tests/sim/test_oaesim.py [unittest's options]

Also: a core that is broken on purpose is caught, with a story.
"""

import json
import os
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OAESIM = ROOT / "tools" / "oaesim"
BUILD = ROOT / "build" / "sim-test"

TOPOLOGIES = (["--pair"], ["--ring", "12"], ["--star", "12"], ["--torus", "4x3"],
              ["--torus", "2x2"], ["--mesh", "7"])
WORKLOADS = (["-w", "neighbours"], ["-w", "neighbours", "--think", "50us"],
             ["-w", "pairs", "--rate", "8k"], ["-w", "bursts", "--rate", "8k"])
BAD_WIRES = ["--loss", "2%", "--dup", "2%", "--reorder", "3%", "--corrupt", "1%",
             "--latency", "5us..50us"]
BAD_LUCK = ["--crash-rate", "60", "--flap-rate", "60", "--at", "1ms:crash:1:3ms",
            "--at", "2ms:flap:0-1", "--at", "6ms:cut:0-1:4ms", "--at", "12ms:close:0-1"]
MIXED = ["--express", "30%", "--cancel", "3%", "--confirm", "5%", "--size", "8..9000"]
KINDS = ["--swap", "15%", "--verb", "20%"]
EVERYTHING = [*BAD_WIRES, *BAD_LUCK, *MIXED, *KINDS]
WINDOW = ["--link-window", "8", "--window", "16"]

KNOBS = ["--keepalive", "5ms", "--dead", "50ms", "--stall-max", "20ms"]
CABLES = ["--cables", "2", *KNOBS, "--think", "500us"]
CABLE_FAULTS = ["--cable-rate", "30", "--cable-time", "10ms"]
FAULTS = ("carrier", "silent", "oneway", "lossy", "short")


def run(*args, program=OAESIM, env=None):
    """Runs the simulator; what it said and its status."""
    return subprocess.run([str(program), *map(str, args)], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                          env=env and {**os.environ, **env})


def build(name, opt, core=ROOT / "modoae" / "link"):
    """Builds another simulator: by other options, or around another core."""
    out = BUILD / name
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", "-s", "-C", ROOT / "tools" / "sim", f"OUT={out}",
                           f"OPT={opt}", f"CORE={core}"], text=True, check=False, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise RuntimeError(f"{name} was not built:\n{done.stdout}")
    return out / "oaesim"


def setUpModule():
    """What an earlier run has broken is not taken for the core."""
    for made in (BUILD / "mutant").glob("core-*.o"):
        made.unlink()


class SimTest(unittest.TestCase):
    def good(self, *args, **options):
        """The output of a run in which all went well."""
        done = run(*args, **options)
        self.assertEqual(done.returncode, 0, f"{args}\n{done.stdout[-5000:]}{done.stderr[-2000:]}")
        return done.stdout

    def report(self, *args, **options):
        return json.loads(self.good(*args, "--json", **options))


class Deterministic(SimTest):
    ARGS = ["--torus", "5x5", *EVERYTHING, "-n", "20k"]

    def test_same_seed_same_bytes(self):
        for form in ([], ["--json"], ["--trace", "0-1"]):
            first = self.good(*self.ARGS, *form, "--seed", 7)
            self.assertGreater(len(first), 1000)
            self.assertEqual(first, self.good(*self.ARGS, *form, "--seed", 7))

    def test_same_seed_same_picture(self):
        BUILD.mkdir(parents=True, exist_ok=True)
        pictures = []
        for name in ("1.svg", "2.svg"):
            self.good(*self.ARGS, "--svg", BUILD / name)
            pictures.append((BUILD / name).read_bytes())
        self.assertEqual(*pictures)

    def test_other_seed_other_run(self):
        reports = [self.report(*self.ARGS, "--seed", seed) for seed in (1, 2)]
        self.assertNotEqual(reports[0]["frames"], reports[1]["frames"])
        self.assertNotEqual(reports[0]["series"], reports[1]["series"])

    def test_bench_progress_and_trace_change_nothing(self):
        plain = self.good(*self.ARGS)
        self.assertEqual(plain, self.good(*self.ARGS, "--bench", "--quiet"))
        self.assertTrue(self.good(*self.ARGS, "--trace", "0-1").startswith(plain))

    def test_optimisation_changes_nothing(self):
        self.assertEqual(self.good(*self.ARGS, "--json"),
                         self.good(*self.ARGS, "--json", program=build("O0", "-O0")))

    def test_real_bytes_change_nothing(self):
        """What is built, flipped, parsed and verified is what was only said to be so."""
        self.assertEqual(self.good(*self.ARGS, "--json"), self.good(*self.ARGS, "--json", "--bytes"))


class Promises(SimTest):
    def check_sums(self, r, proofs=2):
        t = r["transactions"]
        self.assertEqual(t["posted"], t["committed"] + t["reversed"] + t["unknown"]
                         + t["lost_with_sender"])
        self.assertEqual(t["committed"], r["commit_ns"]["count"])
        windows = r["series"]["windows"]
        for name in ("committed", "reversed", "unknown", "lost_with_sender"):
            self.assertEqual(t[name], sum(w[name] for w in windows), name)
        self.assertEqual(r["links"]["resolved"], r["heal_ns"]["count"])
        self.assertEqual(r["links"]["resolved"], sum(w["resolved"] for w in windows))
        # what was committed was delivered, or excused; an express besides may have been
        self.assertGreaterEqual(t["delivered"] + t["died_undelivered"], t["committed"])
        self.assertLessEqual(t["delivered"], t["posted"] - t["reversed"])
        f = r["frames"]
        self.assertEqual(f["sent"] + f["doubled"], f["arrived"] + f["lost"] + f["port_down"]
                         + f["wire_cut"] + f["node_down"])
        c = r["commit_ns"]
        self.assertTrue(0 < c["p50"] <= c["p90"] <= c["p99"] <= c["p99.9"] <= c["max"])
        self.assertEqual(r["links"]["proven"], proofs * r["network"]["ends"])
        self.assertIsNone(r["violation"])

    def test_all_topologies_all_workloads(self):
        seen = {"crashes": 0, "flaps": 0, "cuts": 0, "closes": 0, "resolved": 0}
        outcomes = {"committed": 0, "reversed": 0, "unknown": 0, "lost_with_sender": 0,
                    "offered_again": 0, "cancelled_too_late": 0, "died_undelivered": 0,
                    "halves_taken": 0, "verbs_applied": 0, "verbs_conflict": 0}
        faults = {"lost": 0, "doubled": 0, "reordered": 0, "altered": 0, "port_down": 0,
                  "wire_cut": 0, "node_down": 0}
        for seed, topology in enumerate(TOPOLOGIES):
            for workload in WORKLOADS:
                with self.subTest(topology=topology, workload=workload):
                    r = self.report(*topology, *workload, *EVERYTHING, "-t", "60ms",
                                    "--seed", seed, "--read-time", "20us", "--rcvbuf", "2")
                    self.check_sums(r, proofs=4)
                    for counts, part in ((seen, "links"), (outcomes, "transactions"),
                                         (faults, "frames")):
                        for name in counts:
                            counts[name] += r[part][name]
        # the dice are good for nothing if something never happens
        for counts in (seen, outcomes, faults):
            for name, n in counts.items():
                self.assertGreater(n, 0, name)

    def test_windows(self):
        """Many under way: all of the above; without faults none fails, and it takes less time."""
        for seed, topology in enumerate(TOPOLOGIES):
            r = self.report(*topology, *EVERYTHING, "-t", "30ms", "--seed", seed, "--rcvbuf", "3",
                            "--read-time", "20us", "--window", "16", "--link-window",
                            (2, 3, 8)[seed % 3])
            self.check_sums(r, proofs=4)
        took = []
        for link_window in (1, 8):
            r = self.report("-n", "5k", "--window", "16", "--link-window", link_window)
            self.check_sums(r)
            self.assertEqual(r["transactions"]["committed"], 5000)
            self.assertEqual(r["links"]["resolved"], 0)
            took.append(r["commit_ns"]["p50"])
        self.assertLess(2 * took[1], took[0])

    def test_no_faults_no_failures(self):
        for topology in TOPOLOGIES:
            r = self.report(*topology, "-n", "5k", "--express", "20%")
            self.check_sums(r)
            self.assertEqual(r["transactions"]["posted"], 5000)
            self.assertEqual(r["transactions"]["committed"], 5000)
            self.assertEqual(r["transactions"]["delivered"], 5000)
            self.assertEqual(r["links"]["resolved"], 0)

    def test_swaps(self):
        """All that can be are; what is left over at one end of a link is taken back."""
        for topology in TOPOLOGIES:
            r = self.report(*topology, "-n", "5k", "--swap", "50%", "--express", "20%")
            self.check_sums(r, proofs=3)
            t = r["transactions"]
            self.assertEqual(t["posted"], t["committed"] + t["reversed"])
            self.assertEqual(t["delivered"], t["committed"])
            self.assertEqual(t["halves_taken"] % 2, 0)
            self.assertGreater(t["halves_taken"], 2000)
            self.assertLess(t["reversed"], 2 * r["network"]["ends"] + 1)
            self.assertEqual(r["links"]["resolved"], 0)
        # of one end alone: nothing to take
        r = self.report("--pair", "-n", "100", "--swap", "100%", "-w", "bursts", "--burst", "100",
                        "--sndq", "100")
        self.check_nothing_taken(r)

    def check_nothing_taken(self, r):
        t = r["transactions"]
        self.assertEqual((t["posted"], t["reversed"], t["halves_taken"]), (100, 100, 0))

    def test_swaps_while_ends_die(self):
        r = self.report("--mesh", "6", *BAD_WIRES, "-n", "50k", "--swap", "100%", "--cancel", "5%",
                        "--crash-rate", "60", "--flap-rate", "60")
        self.check_sums(r, proofs=3)
        t = r["transactions"]
        for name in ("halves_taken", "unknown", "reversed", "cancelled_too_late"):
            self.assertGreater(t[name], 0, name)
        for note in ("lent", "taken_back", "held_lost", "unconfirmed"):
            self.assertGreater(r["links"]["notes"][note], 0, note)

    def test_verbs(self):
        """Links of one node contend for its words; nobody waits for ever."""
        r = self.report("--star", "12", "-n", "20k", "--verb", "100%")
        self.check_sums(r, proofs=3)
        t = r["transactions"]
        self.assertEqual((t["committed"], t["verbs_applied"]), (20000, 20000))
        self.assertGreater(t["verbs_conflict"], 1000)
        self.assertEqual(r["links"]["resolved"], 0)
        # a pair has no one else to contend with
        r = self.report("--pair", "-n", "20k", "--verb", "100%")
        self.assertEqual(r["transactions"]["verbs_conflict"], 0)

    def test_two_frames_a_transaction(self):
        """OFFER and REFLECT; the next offer carries the commit."""
        r = self.report("--pair", "-n", "20k")
        self.assertAlmostEqual(r["frames"]["sent"] / r["transactions"]["committed"], 2, places=2)

    def test_loss_is_what_was_asked_for(self):
        f = self.report("--ring", "20", "--loss", "5%", "-n", "50k")["frames"]
        self.assertAlmostEqual(f["lost"] / f["sent"], 0.05, places=2)

    def test_big_network(self):
        r = self.report("--torus", "60x60", "--loss", "1%", "-n", "300k")
        self.check_sums(r)
        self.assertEqual(r["network"], {"nodes": 3600, "links": 7200, "ends": 14400})

    def test_schedule(self):
        r = self.report("--ring", "5", "-t", "30ms", "--at", "5ms:crash:2:4ms",
                        "--at", "10ms:flap:3-4:2ms", "--at", "15ms:cut:0-4:1ms")
        self.assertEqual([r["links"][x] for x in ("crashes", "flaps", "cuts")], [1, 1, 1])
        ms = r["series"]["width_ns"] / 1e6
        failed = [i * ms for i, w in enumerate(r["series"]["windows"]) if w["failures"]]
        # a crash is noticed when the node is back, a flap at once; what a short cut took is asked for
        for least, most in ((9 - ms, 9 + ms), (10 - ms, 10)):
            self.assertTrue(any(least <= at <= most for at in failed), failed)
        self.assertGreaterEqual(failed[0], 9 - ms)
        self.assertLess(failed[-1], 15)
        self.assertGreater(r["links"]["notes"]["asked"], 0)


class Cables(SimTest):
    """Several cables a link."""

    def check_frames(self, r):
        """Each has gone somewhere, but for probes that were on their way in the end."""
        f = r["frames"]
        gone = sum(f[x] for x in ("arrived", "lost", "port_down", "wire_cut", "node_down"))
        on_the_way = f["sent"] + f["doubled"] - gone - r["cables"]["frames_lost"]
        self.assertTrue(0 <= on_the_way <= r["network"]["ends"], on_the_way)

    def test_one_is_as_none_were_asked_for(self):
        args = ["--torus", "4x4", *EVERYTHING, "-n", "10k"]
        for form in ([], ["--json"]):
            plain = self.good(*args, *form)
            self.assertEqual(plain, self.good(*args, *form, "--cables", 1, "--cable-spare"))
            self.assertNotIn("cable", plain)

    def test_no_faults(self):
        """Nothing fails because there are several; each link uses the one that is its turn."""
        for n in (2, 3, 8):
            r = self.report("--ring", "16", "--cables", n, *KNOBS, "--think", "500us", "-t", "60ms")
            t, c = r["transactions"], r["cables"]
            self.assertEqual(t["committed"], t["posted"])
            self.assertEqual(r["links"]["resolved"], 0)
            self.assertEqual(c["cables"], 16 * n)
            # Each end counts its cables in the order in which it has found them, so ends may differ.
            del c["in_the_end"]["links_apart"]
            self.assertEqual(c["in_the_end"], {
                "ends_open": 32, "ends_frozen": 0, "ends_down": 0, "ends_without": 0,
                "ends_elsewhere": 32 - 32 // n if n != 3 else 20,
                "paths_good": 32 * n, "paths_silent": 0, "paths_unproven": 0,
                "paths_no_carrier": 0})

    def test_one_whole_is_enough(self):
        """All faults at random: all that is posted is committed, by another cable if need be."""
        r = self.report("--ring", "12", *CABLES, *CABLE_FAULTS, "--cables", 3, "--cable-spare",
                        "--size", "8..400", "-t", "400ms")
        t, c = r["transactions"], r["cables"]
        self.assertEqual((t["committed"], t["delivered"]), (t["posted"], t["posted"]))
        self.assertEqual((t["reversed"], t["unknown"]), (0, 0))
        self.assertEqual(r["links"]["notes"]["down"], 0)
        self.check_frames(r)
        for name in FAULTS:
            self.assertGreater(c["faults"][name], 0, name)
            self.assertLessEqual(c["failover_ns"][name]["count"] + c["over_before"][name],
                                 c["faults_in_use"][name])
            h = c["failover_ns"][name]
            self.assertEqual(h["count"], sum(n for _, n in h["classes"]), name)
            self.assertTrue(h["p50"] <= h["p99"] <= h["max"], h)
        for name in ("carrier", "silent"):
            self.assertGreater(c["failover_ns"][name]["count"], 0, name)
        for name in ("turns", "freezes", "probes"):
            self.assertGreater(c[name], 0, name)
        windows = r["series"]["windows"]
        self.assertEqual(sum(c["faults"].values()), sum(w["cable_faults"] for w in windows))
        self.assertEqual(sum(h["count"] for h in c["failover_ns"].values()),
                         sum(w["failovers"] for w in windows))
        self.assertEqual(c["in_the_end"]["ends_open"], 24)

    def test_all_cut(self):
        """Both ends say DOWN, and each transaction has its outcome; then all is well again."""
        for kinds in (("carrier", "carrier"), ("silent", "silent"), ("carrier", "oneway")):
            faults = [a for i, kind in enumerate(kinds)
                      for a in ("--at", f"50ms:{kind}:0-1/{i}:900ms")]
            r = self.report("--pair", *CABLES, *faults, "-t", "300ms")
            t, c = r["transactions"], r["cables"]
            self.assertEqual(c["at_stop"]["ends_down"], 2, kinds)
            self.assertGreaterEqual(r["links"]["notes"]["down"], 2)
            self.assertGreater(t["reversed"], 0)
            self.assertEqual(t["unknown"], 0)
            self.assertEqual(t["posted"], t["committed"] + t["reversed"])
            self.assertEqual(t["delivered"], t["committed"])
            self.assertEqual((c["in_the_end"]["ends_open"], r["links"]["proven"]), (2, 4))

    def test_in_use(self):
        """What fails is what is in use, which the first link's own path is: at once, or a stall later."""
        took = {}
        for kind in FAULTS[:3]:
            r = self.report("--pair", *CABLES, "--at", f"50ms:{kind}:0-1/0:50ms", "-t", "90ms")
            c = r["cables"]
            self.assertEqual((c["faults_in_use"][kind], c["failover_ns"][kind]["count"]), (1, 1))
            self.assertEqual(r["transactions"]["reversed"], 0)
            took[kind] = c["failover_ns"][kind]["max"]
            r = self.report("--pair", *CABLES, "--at", f"50ms:{kind}:0-1/1:50ms", "-t", "90ms")
            self.assertEqual(r["cables"]["faults"][kind], 1)
            self.assertEqual(r["cables"]["faults_in_use"][kind], 0)
            self.assertEqual(r["links"]["resolved"], 0)
        self.assertLess(took["carrier"], took["silent"])

    def test_short(self):
        """Neither cable carries long frames any more: padded ASK find out what they do, soon."""
        args = ["--pair", *CABLES, "--size", "3000", "--cable-short", "600", "-t", "150ms",
                "--at", "50ms:short:0-1/0:100ms", "--at", "50ms:short:0-1/1:100ms"]
        told = self.good(*args, "--bytes", "--trace", "0-1", "--trace-lines", "0")
        self.assertRegex(told, r"into the faulty cable ASK .* padded to 1280\n")
        self.assertRegex(told, r"sends ASK .* padded to 576\n")
        r = self.report(*args)
        self.assertEqual(r, self.report(*args, "--bytes"))
        t = r["transactions"]
        self.assertEqual(t["posted"], t["committed"])
        self.assertGreaterEqual(r["links"]["notes"]["cut"], 2)
        self.assertLess(r["commit_ns"]["max"], 20_000_000)

    def test_while_ends_die(self):
        """Reboots, flaps, cuts, bad wires, windows, halves and verbs besides: the promises hold."""
        seen = {"strays": 0, "turns": 0}
        for seed, topology in enumerate(TOPOLOGIES):
            r = self.report(*topology, *EVERYTHING, *KNOBS, *CABLE_FAULTS, "--cables", "1..4",
                            "--link-window", 1 + seed % 3, "--window", "4", "-t", "60ms",
                            "--seed", seed)
            t = r["transactions"]
            self.assertEqual(t["posted"], t["committed"] + t["reversed"] + t["unknown"]
                             + t["lost_with_sender"])
            self.check_frames(r)
            for name in seen:
                seen[name] += r["cables"][name]
        for name, n in seen.items():
            self.assertGreater(n, 0, name)

    def test_same_seed_same_bytes(self):
        args = ["--torus", "4x4", *EVERYTHING, *CABLES, *CABLE_FAULTS, "--cables", "1..4",
                "-t", "50ms"]
        BUILD.mkdir(parents=True, exist_ok=True)
        for form in ([], ["--json"], ["--trace", "0-1"]):
            first = self.good(*args, *form, "--seed", 3)
            self.assertEqual(first, self.good(*args, *form, "--seed", 3))
            self.assertNotEqual(first, self.good(*args, *form, "--seed", 4))
        here = self.good(*args, "--json")
        self.assertEqual(here, self.good(*args, "--json", "--bytes"))
        self.assertEqual(here, self.good(*args, "--json", program=build("O0", "-O0")))
        for name in ("3.svg", "4.svg"):
            self.good(*args, "--svg", BUILD / name)
        self.assertEqual((BUILD / "3.svg").read_bytes(), (BUILD / "4.svg").read_bytes())
        self.assertIn("faults of cables", (BUILD / "3.svg").read_text())

    def test_memory(self):
        """Links with one cable take none for paths."""
        args = ["--torus", "8x8", *KNOBS, "-n", "1k", "--cables"]
        some, all_of_them = (self.report(*args, n)["cables"] for n in ("1..2", "2"))
        self.assertLess(all_of_them["of_them_paths"], 2080)
        self.assertAlmostEqual(some["of_them_paths"] / all_of_them["of_them_paths"],
                               (some["cables"] - 128) / 128, places=2)
        self.assertEqual(all_of_them["bytes_a_link"] - all_of_them["of_them_paths"],
                         some["bytes_a_link"] - some["of_them_paths"])

    def test_told(self):
        told = self.good("--pair", *CABLES, "--at", "20ms:silent:0-1/0:9ms", "-t", "50ms",
                         "--trace", "0-1", "--trace-lines", "0")
        for words in ("cable 0: silent", "into the faulty cable", "uses cable 1", "cable 0: mended",
                      "cable 1: sends PATH", "failovers below", "links whose ends use two cables"):
            self.assertIn(words, told)


class Shown(SimTest):
    def test_svg(self):
        BUILD.mkdir(parents=True, exist_ok=True)
        file = BUILD / "test.svg"
        self.good("--ring", "10", *EVERYTHING, "-n", "20k", "--svg", file)
        root = ElementTree.parse(file).getroot()
        name = "{http://www.w3.org/2000/svg}"
        self.assertEqual(root.tag, name + "svg")
        texts = [t.text for t in root.iter(name + "text")]
        for word in ("p50", "p99.9", "committed", "reversed", "unknown", "simulated time, ms"):
            self.assertIn(word, texts)
        numbers = [float(n) for path in root.iter(name + "path")
                   for n in re.findall(r"-?[\d.]+|nan|inf", path.get("d"))]
        self.assertGreater(len(numbers), 100)
        self.assertTrue(all(0 <= n <= 960 for n in numbers))

    def test_svg_that_cannot_be_written(self):
        done = run("-n", "10", "--svg", "/nonexistent/file.svg")
        self.assertEqual(done.returncode, 3)
        self.assertIn("/nonexistent/file.svg", done.stderr)

    def test_bench(self):
        done = run("-n", "10k", "--bench")
        self.assertRegex(done.stderr, r"^bench: \d+ link events in [\d.]+ s of CPU: \d+ a second")
        self.assertNotIn("bench", done.stdout)

    def test_trace(self):
        told = self.good("--ring", "5", "-n", "1k", "--loss", "2%", "--trace", "3-2",
                         "--trace-lines", "0")
        lines = [line for line in told.splitlines() if re.match(r" *[\d.]+ us  node ", line)]
        self.assertGreater(len(lines), 1000)
        self.assertEqual({line.split()[3] for line in lines}, {"2:", "3:"})
        for word in ("OFFER", "REFLECT", "COMMITTED", "delivered", "lost "):
            self.assertIn(word, told)

    def test_help(self):
        told = self.good("--help")
        for option in ("--torus", "--at", "--seed", "--json", "EXIT STATUS", "EXAMPLES"):
            self.assertIn(option, told)


class Refused(SimTest):
    def test_bad_options(self):
        for args, words in (
                (["--loss", "2"], "at most 1"),
                (["--loss", "1%%"], "loss"),
                (["--swap", "2"], "at most 1"),
                (["--verb", "often"], "verb"),
                (["--latency", "10"], "10us"),
                (["--latency", "9us..3us"], "latency"),
                (["--torus", "5"], "100x100"),
                (["--torus", "1x1"], "100x100"),
                (["--ring", "1"], "from 2"),
                (["--mesh", "5000"], "to 2000"),
                (["-w", "nonsense"], "bursts"),
                (["-n", "0"], "from 1"),
                (["--size", "4"], "from 8"),
                (["--size", "100..50"], "larger last"),
                (["--size", "100k"], "max-len"),
                (["--size", "60000", "--slice", "100"], "64 slices"),
                (["--at", "5ms:burn:3"], "crash, flap, cut or close"),
                (["--at", "5ms:flap:3"], "3-4"),
                (["--at", "5:crash:1"], "5ms"),
                (["--at", "5ms:crash:1:2:3"], "TIME:WHAT:WHERE"),
                (["--at", "5ms:crash:2"], "no such node"),
                (["--ring", "5", "--at", "5ms:flap:1-3"], "no such link"),
                (["--ring", "5", "--trace", "1-3"], "no such link"),
                (["--at", "5ms:silent:0-1"], "3-4/0"),
                (["--at", "5ms:silent:0-1/0"], "--cables"),
                (["--cables", "2", "--at", "5ms:silent:0-1/2"], "no such cable"),
                (["--cables", "9"], "to 8"),
                (["--cables", "3..2"], "larger last"),
                (["--cable-rate", "1"], "--cables 2"),
                (["--cables", "2", "--cable-kinds", "silent,loud"], "oneway"),
                (["--stall-min", "1s"], "stall-max"),
                (["--seed", "99999999999999999999"], "seed"),
                (["--nonsense"], "nonsense"),
                (["17"], "17")):
            with self.subTest(args=args):
                done = run(*args)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stdout, "")


class Broken(SimTest):
    """The simulator around a core with one line broken on purpose."""

    ARGS = ()
    well = set()                # the arguments with which the unbroken core has passed

    def caught(self, file, old, new, words, *args):
        core = BUILD / "mutant" / "modoae" / "link"
        shutil.copytree(ROOT / "include", BUILD / "mutant" / "include", dirs_exist_ok=True)
        core.mkdir(parents=True, exist_ok=True)
        for source in (ROOT / "modoae" / "link").glob("*.[ch]"):
            shutil.copy2(source, core / source.name)
        # with the old dates this file alone is built anew, and once more for the next
        made = BUILD / "mutant" / f"core-{Path(file).stem}.o"
        made.unlink(missing_ok=True)
        self.addCleanup(made.unlink, missing_ok=True)
        text = (core / file).read_text()
        self.assertEqual(text.count(old), 1, f"{file} has changed: {old}")
        (core / file).write_text(text.replace(old, new))
        mutant = build("mutant", "-O1", core)

        done = run(*self.ARGS, *args, program=mutant)
        self.assertEqual(done.returncode, 1, done.stdout[-3000:] + done.stderr)
        self.assertRegex(done.stdout, rf"VIOLATION at [\d.]+ us, link \d+-\d+: {words}")
        story = done.stdout.split("the last of the link of nodes")[1].splitlines()[1:]
        self.assertGreater(len(story), 10)
        self.assertTrue(any("*** " in line for line in story[-10:]), story[-10:])
        # and as JSON, the same story
        violation = json.loads(run(*self.ARGS, *args, "--json", program=mutant).stdout)["violation"]
        self.assertEqual(violation["story"], story)
        self.assertRegex(violation["what"], words)
        # the same core unbroken has nothing to be caught at
        if (*self.ARGS, *args) not in self.well:
            self.good(*self.ARGS, *args)
            self.well.add((*self.ARGS, *args))


class Mutants(Broken):
    ARGS = ["--mesh", "6", *BAD_WIRES, *MIXED, "--reorder-by", "3ms", "--crash-rate", "50",
            "--flap-rate", "50", "-n", "100k"]

    def test_data_of_another_run(self):
        self.caught("link.c", "f->dst_ltag != l->ltag || f->src_ltag != l->peer.ltag", "0",
                    "between two honest ends: impossible")

    def test_commit_of_what_nothing_was_offered_for(self):
        """The answer to a content is taken for that to nothing in its place."""
        self.caught("answer.c", "f->kind != n->p.kind", "0",
                    "between two honest ends: mismatch")

    def test_commit_of_whatever_was_reflected(self):
        commits = "	answer_committed(l, now, a);\n	/* Of an express"
        self.caught("answer.c", commits,
                    "	oae_complete(a, oae_first_lane(l)->p.handle, OAE_REVERSED, EINTR),\n" + commits, "G3: ")

    def test_express_to_the_next_incarnation(self):
        self.caught("sync.c", "	/* The old incarnation may have delivered the express. */\n"
                    "	if (oae_express_out(l))", "	if (0)",
                    "G1: express #\\d+ offered to another incarnation")

    def test_reversed_but_sent(self):
        """A reversal that forgets to say so is found when the peer delivers."""
        drop = "		oae_offer_hand_back(l, seq + 1, false, a);\n"
        self.caught("lane.c", drop + "	oae_lane_clear(l, seq);", drop, "G3: |G2: |OFFER of")

    def test_express_reversed_at_once(self):
        """One that was offered may have been delivered."""
        self.caught("offer.c", "reversible = oae_lane_reversible(oae_lane(l, seq));", "reversible = true;",
                    "G\\d: #\\d+ ")

    def test_delivered_before_the_commit(self):
        self.caught("hold.c", "	if (h->express)\n		oae_hold_deliver",
                    "	if (1)\n		oae_hold_deliver", "G2: #\\d+ delivered, was not committed")

    def test_lent_half_is_not_the_next_ones(self):
        """Its peer has died, and may have used it: offered again it is taken twice."""
        self.caught("freeze.c", "	/* The peer may have committed the half. */\n"
                    "	if (l->half.state == OAE_HALF_LENT)", "	if (0)",
                    "G1: #\\d+ delivered|G2: #\\d+", "--swap", "60%")

    def test_verb_dropped_and_applied(self):
        self.caught("hold.c", "	if (h->state == OAE_HOLD_HELD)\n"
                    "		oae_note(a, OAE_N_DROPPED);",
                    "	if (h->state == OAE_HOLD_HELD && h->kind == OAE_VERB)\n"
                    "		oae_op(a, OAE_OP_APPLY)->seq = l->rx + 1;",
                    "G2: #\\d+ delivered, was reversed|G2: #\\d+ delivered, was not", "--verb", "40%")

    def test_commit_of_no_prefix(self):
        """All up to what is reflected are committed, reflected or not."""
        self.caught("answer.c", "oae_first_lane(l)->state == OAE_OFFER_REFLECTED)",
                    "n->state == OAE_OFFER_REFLECTED)",
                    "G2: |between two honest ends: impossible", *WINDOW)

    def test_reversed_and_reflected(self):
        """What was reflected is reversed, and so is what takes its place: reflected."""
        void = "		lane_void(l, seq);\n		l->nvoid++;\n"
        self.caught("lane.c", void,
                    "		if (oae_lane(l, seq)->state == OAE_OFFER_REFLECTED)\n"
                    "			return lane_void_post(&oae_lane(l, seq)->p);\n" + void,
                    "G\\d: ", *WINDOW, "--cancel", "60%", "--loss", "20%", "--express", "0%", "--rcvbuf", "128")

    def test_places_without_what_was_held(self):
        self.caught("lane.c", "		pair[seq & mask]->hold = *oae_hold_of(l, seq);",
                    "		;", "G6: slices kept", *WINDOW)

    def test_frozen_for_ever(self):
        """Not a broken promise at once: a link that never finds back."""
        again = "	oae_repeat(l, true, now);\n"
        self.caught("timer.c", again + "	oae_send_sync(l, OAE_SYNC, l->peer.ltag, a);", again, "not settled",
                    "--crash-rate", "0", "--flap-rate", "0", "--settle", "2s", "--loss", "30%")


class PathMutants(Broken):
    """The same, of the rules of paths: a link whose cable fails does not find the other."""

    ARGS = ["--ring", "8", *CABLES, "--cable-rate", "20", "--cable-time", "200ms",
            "--cable-spare", "--size", "8..400", "-t", "3s"]
    DOWN = "G4: the link is down, and cable \\d is whole"

    def test_asks_by_one_path(self):
        self.caught("path.c", "	return all ?: ps->path[ps->used].proven", "	return ps->path[ps->used].proven",
                    self.DOWN)

    def test_believes_none(self):
        self.caught("pathheard.c", "	} else if (!p->proven) {", "	} else if (i != OAE_PATH_OWN) {", self.DOWN)


if __name__ == "__main__":
    unittest.main(verbosity=2)
