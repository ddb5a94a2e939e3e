# SPDX-License-Identifier: GPL-2.0
"""tools/stage: what is counted, the JUnit that is written, what is said meanwhile."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
sys.path[:0] = [str(TOOLS), str(ROOT / "tests" / "guest")]
import testlog                                                          # noqa: E402
from oaetest import wait_for                                            # noqa: E402

UNITTEST = """\
test_a (test_x.First.test_a) ... ok
test_b (test_x.First.test_b) ...     test_b: it says something
ok
test_c (test_x.First.test_c)
What it is about. ... FAIL
test_d (test_x.First.test_d) ... skipped 'no such thing here'
test_e (test_x.First.test_e) ... expected failure
test_f (test_x.First.test_f) ...
  test_f (test_x.First.test_f) (i=2) ... ERROR
setUpClass (test_x.Second) ... ERROR

======================================================================
ERROR: test_f (test_x.First.test_f) (i=2)
----------------------------------------------------------------------
Traceback (most recent call last):
ValueError: <two> \x01

======================================================================
ERROR: setUpClass (test_x.Second)
----------------------------------------------------------------------
OSError: no class

======================================================================
FAIL: test_c (test_x.First.test_c)
What it is about.
----------------------------------------------------------------------
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 6 tests in 12.345s

FAILED (failures=1, errors=2, skipped=1, expected failures=1)
"""

CMOCKA = """\
# test_one
[==========] Running 3 test(s).
[ RUN      ] test_a
[       OK ] test_a
[ RUN      ] test_b
[  ERROR   ] --- 0x1 != 0x2
[   LINE   ] --- test_one.c:7: error: Failure!
[  FAILED  ] test_b
[ RUN      ] test_c
[  SKIPPED ] test_c
[==========] 3 test(s) run.
[  PASSED  ] 1 test(s).
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] test_b
# test_two
[==========] Running 1 test(s).
[ RUN      ] test_a
[       OK ] test_a
[==========] 1 test(s) run.
[  PASSED  ] 1 test(s).
"""

EXPLORER = """\
scenario              states       events    ends furthest  to end    MiB      s
confirm                24314       249752       2       41      20      5    0.1  good
one                    39707       423452       8       34      19      9    1.5  VIOLATED
  the story of it
chaos-pairs          1495585     14724787                       20           9.6  good, 480892 reported
figure: 10365088 distinct states
2 passed, 1 failed
"""

MUTANTS = """\
mutant                       rule      caught by                                                       seconds
frame-via-short              2.6       test_frame_bad: test_short                                          2.1
half-turn-kept               4.9 (2)   FAILED: SURVIVED                                                    0.5

half-turn-kept: A half goes before all else once it had its turn.
    SURVIVED
1 passed, 1 failed
"""

FUZZ = """\
fuzz_frame: 1000 executions, 50 a second; coverage 1, features 2, corpus 3
fuzz_link: 1000 executions, 50 a second; coverage 1, features 2, corpus 3
fuzz_link found something:
oh
41 passed, 1 failed
"""

STARVE = """\
    1 of 2: ok  skb.c:12 alloc_skb            failed     3 of     10  in scene_one
ok  skb.c:12 alloc_skb            failed     3 of     10  in scene_one
BAD tag.c:99 kzalloc              failed     0 of      0  in nowhere
figure: 2 allocation sites
1 passed, 1 failed
"""


def read(text, status=0):
    """A log, and the cases of the JUnit of it as (class, name): None or the failure."""
    log = testlog.Log()
    for number, line in enumerate(text.splitlines()):
        log.feed(line, number)
    root = ET.fromstring(testlog.junit("stage", log, status, 5.0, 7.0, "the tail").partition("?>")[2])
    cases = {}
    for case in root.iter("testcase"):
        failure, skipped = case.find("failure"), case.find("skipped")
        cases[case.get("classname").removeprefix("stage").lstrip("."), case.get("name")] = (
            failure.text if failure is not None else "skipped" if skipped is not None else None)
    suite = root.find("testsuite")
    assert int(suite.get("tests")) == len(cases)
    assert int(suite.get("failures")) == sum(text not in (None, "skipped")
                                             for text in cases.values())
    return log, cases


class Logs(unittest.TestCase):
    """What is read from logs."""

    def test_unittest(self):
        log, cases = read(UNITTEST, 1)
        self.assertEqual(log.closing.sums(1), (2, 3))
        self.assertEqual(log.closing.lines, ["Ran 6 tests in 12.345s", "FAILED (failures=1, "
                         "errors=2, skipped=1, expected failures=1)"])
        first = "test_x.First"
        for name in "abe":
            self.assertIsNone(cases[first, f"test_{name}"])
        self.assertIn("AssertionError: 1 != 2", cases[first, "test_c"])
        self.assertEqual(cases[first, "test_d"], "skipped")
        self.assertIn("ValueError: <two> ?", cases[first, "test_f"])
        self.assertIn("OSError: no class", cases["test_x.Second", "setUpClass"])
        self.assertEqual(len(cases), 7)

    def test_died(self):
        """The program died in a test: that one has failed."""
        log, cases = read("\n".join(UNITTEST.splitlines()[:2]), 123)
        self.assertEqual(log.closing.sums(123), (0, 1))
        self.assertEqual(cases, {("test_x.First", "test_a"): None,
                                 ("test_x.First", "test_b"): "no result"})
        self.assertEqual(log.progress(), "test_x.First.test_b (1 passed, 0 failed)")

    def test_died_at_the_end(self):
        """All tests passed, and then something went wrong, in the kernel, say."""
        log, cases = read("test_a (test_x.A.test_a) ... ok\n\n" + "-" * 70 +
                          "\nRan 1 test in 1.0s\n\nOK\na warning\n", 125)
        self.assertEqual(log.closing.sums(125), (1, 1))
        self.assertEqual(cases, {("test_x.A", "test_a"): None,
                                 ("", "stage"): "exit status 125\nthe tail"})

    def test_begun_anew(self):
        """A second guest: counted, and what failed in the first one has failed."""
        died = "tools/vm: begun anew: guest: died: QEMU was ended by SIGSEGV"
        second = ["test_z (test_x.First.test_z) ... ok", "Ran 1 test in 1.0s", "OK"]
        for first, failed in ((UNITTEST.splitlines()[:3], 0), (UNITTEST.splitlines()[:5], 1)):
            log = testlog.Log()
            for line in [*first, died, *second]:
                log.feed(line, 0)
            self.assertEqual((log.again, log.closing.sums(0)), (1, (1, failed)))

    def test_result_not_read(self):
        """Output without an end of line before the result; yet all is well."""
        log, cases = read("test_a (test_x.A.test_a) ... more ok\nRan 1 test in 1.0s\n\nOK\n")
        self.assertEqual(log.closing.sums(0), (1, 0))
        self.assertEqual(cases, {("test_x.A", "test_a"): None})

    def test_cmocka(self):
        log, cases = read(CMOCKA, 1)
        self.assertEqual(log.closing.sums(1), (2, 1))
        self.assertEqual(cases, {
            ("test_one", "test_a"): None, ("test_two", "test_a"): None,
            ("test_one", "test_c"): "skipped", ("test_one", "test_b"):
            "--- 0x1 != 0x2\n[   LINE   ] --- test_one.c:7: error: Failure!"})

    def test_explorer(self):
        log, cases = read(EXPLORER, 1)
        self.assertEqual(log.closing.sums(1), (2, 1))
        self.assertEqual(log.closing.lines, ["figure: 10365088 distinct states"])
        self.assertEqual(list(cases), [("", "confirm"), ("", "one"), ("", "chaos-pairs")])
        self.assertIn("VIOLATED", cases["", "one"])
        self.assertEqual([case.took for case in log.cases], [0.1, 1.5, 9.6])

    def test_tables(self):
        """Mutants, fuzzers, allocation sites."""
        log, cases = read(MUTANTS, 1)
        self.assertEqual(log.closing.sums(1), (1, 1))
        self.assertIsNone(cases["", "frame-via-short"])
        self.assertIn("SURVIVED", cases["", "half-turn-kept"])
        log, cases = read(STARVE, 1)
        self.assertEqual(log.closing.sums(1), (1, 1))
        self.assertIsNone(cases["", "skb.c:12 alloc_skb"])
        self.assertIn("BAD", cases["", "tag.c:99 kzalloc"])
        self.assertEqual(len(cases), 2)
        log = testlog.Log()
        for line in FUZZ.splitlines():
            log.feed(line, 0)
        self.assertEqual(log.closing.sums(1), (41, 1))
        self.assertEqual([(case.name, case.result) for case in log.cases],
                         [("fuzz_frame", "passed"), ("fuzz_link", "passed"),
                          ("fuzz_link", "failed")])

    def test_nobody_counts(self):
        """The stage itself is what passed or failed."""
        self.assertEqual(read("built\n")[1], {("", "stage"): None})
        log, cases = read("oh\n", 2)
        self.assertEqual(log.closing.sums(2), (0, 1))
        self.assertEqual(cases, {("", "stage"): "exit status 2\nthe tail"})

    def test_several_programs(self):
        """Their closing lines are added; a plain one is the sum of all."""
        log = read(CMOCKA + UNITTEST, 1)[0]
        self.assertEqual(log.closing.sums(1), (4, 4))
        log = read("3 passed, 1 failed\n4 passed, 0 failed\n", 1)[0]
        self.assertEqual(log.closing.sums(1), (7, 1))


class Stages(unittest.TestCase):
    """tools/stage itself, in a tree of its own."""

    def setUp(self):
        self.tree = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.tree)
        (self.tree / "tools").mkdir()
        for name in ("stage", "testlog.py"):
            shutil.copy2(TOOLS / name, self.tree / "tools")

    def hurry(self):
        """As if a minute were short."""
        stage = self.tree / "tools" / "stage"
        text = stage.read_text()
        self.assertEqual(text.count("REFRESH, MINUTE = 1, 60"), 1)
        stage.write_text(text.replace("REFRESH, MINUTE = 1, 60", "REFRESH, MINUTE = 0.3, 0.3"))

    def command(self, name, script):
        """A stage that is a shell script."""
        return [self.tree / "tools" / "stage", name, "sh", "-c", textwrap.dedent(script)]

    def run_stage(self, name, script, **env):
        """How it exits, and what it says, which is in $SAID meanwhile; whatever time it took."""
        path = self.tree / "said"
        with open(path, "w", encoding="ascii") as said:
            done = subprocess.run(self.command(name, script), stdout=said, check=False, timeout=600,
                                  env={**os.environ, "V": "", "SAID": str(path), **env})
        return done.returncode, re.sub(r"\(\d+ s, CPU", "(0 s, CPU", path.read_text())

    def results(self, name):
        """The results' root."""
        return ET.parse(self.tree / "build" / "results" / f"{name}.xml").getroot()

    def test_good(self):
        status, said = self.run_stage("one", "echo hello; echo figure: 7; echo 3 passed, 0 failed")
        self.assertEqual(status, 0)
        self.assertEqual(said, "figure: 7\nstage one: 3 passed, 0 failed (0 s, CPU 0 s)\n")
        self.assertEqual((self.tree / "build/log/one.log").read_text(),
                         "hello\nfigure: 7\n3 passed, 0 failed\n")
        self.assertEqual(self.results("one").find("testsuite").get("failures"), "0")

    def test_cpu(self):
        """What children of children used, too; and the table of several stages."""
        self.run_stage("busy", "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'\n"
                       "echo 2 passed, 0 failed")
        self.run_stage("bad", "echo 3 passed, 1 failed; exit 1")
        said = {each.get("name"): float(each.get("value"))
                for each in self.results("busy").iter("property")}
        self.assertGreater(said["cpu"], 0.02)
        self.assertEqual((said["passed"], said["again"]), (2, 0))
        done = subprocess.run([self.tree / "tools/stage", "--table", "busy", "bad", "none"],
                              text=True, check=False, stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        rows = [line.split() for line in done.stdout.splitlines()[1:]]
        self.assertEqual([row[0] for row in rows], ["busy", "bad", "none", "all"])
        self.assertEqual([row[-2:] for row in rows],
                         [["2", "0"], ["3", "1"], ["no", "result"], ["5", "2"]])
        self.assertEqual(subprocess.run([self.tree / "tools/stage", "--table", "busy"],
                                        check=False, stdout=subprocess.DEVNULL).returncode, 0)

    def test_said_anew(self):
        """The line of the stage says that a guest was begun anew."""
        said = self.run_stage("ten", "echo tools/vm: begun anew: x; echo 1 passed, 0 failed")[1]
        self.assertTrue(said.endswith("(0 s, CPU 0 s); 1 guest begun anew\n"), said)

    def test_bad(self):
        status, said = self.run_stage("two", "echo oh; exit 3")
        self.assertEqual((status, said), (1, "    oh\n    (all of it: build/log/two.log)\n"
                                             "stage two: 0 passed, 1 failed (0 s, CPU 0 s)\n"))
        self.assertEqual(self.results("two").find(".//failure").text, "exit status 3\noh")

    def test_guest_died(self):
        """Why, from its beginning and once more at the end; and in which test."""
        status, said = self.run_stage("nine", """\
            echo tools/vm: up after 3.0 s
            echo 'test_a (test_x.A.test_a) ... ok'
            echo 'test_b (test_x.A.test_b) ... tools/vm: ignored'
            echo 'tools/vm: guest: the kernel complained: BUG'
            for n in $(seq 200); do echo "    line $n"; done
            exit 125
            """)
        self.assertEqual(status, 1)
        said = said.splitlines()
        self.assertEqual(said[:2], ["    tools/vm: guest: the kernel complained: BUG",
                                    "        line 1"])
        self.assertEqual(said[-5:], [
            "        line 99",
            "    tools/vm: guest: the kernel complained: BUG",
            "    (all of it: build/log/nine.log)",
            "    ended within test_x.A.test_b (1 passed, 0 failed)",
            "stage nine: 0 passed, 1 failed (0 s, CPU 0 s)"])

    def test_verbose(self):
        status, said = self.run_stage("three", "echo hello; printf end", V="1")
        self.assertEqual((status, said), (0, "hello\nendstage three: 1 passed, 0 failed (0 s, CPU 0 s)\n"))

    def test_no_command(self):
        done = subprocess.run([self.tree / "tools/stage", "four", "no-such-program"], text=True,
                              check=False, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no-such-program", done.stderr)

    def test_a_line_a_minute(self):
        """What is no terminal hears now and then of the test that runs; nothing is mistaken."""
        self.hurry()
        begin = time.monotonic()
        said = self.run_stage("five", """\
            echo 'test_a (test_x.A.test_a) ... ok'
            printf 'test_b (test_x.A.test_b) ... '
            until grep -q test_b $SAID; do sleep 0.1; done
            sleep 2
            echo ok
            """)[1].splitlines()
        took = [float(case.get("time")) for case in self.results("five").iter("testcase")]
        self.assertLess(sum(took), time.monotonic() - begin)
        self.assertGreater(took[1], 1)
        first = next(n for n, line in enumerate(said) if "test_b" in line)
        for line in said[first:-1]:
            self.assertRegex(line, r"^    five, \d+:\d\d: test_x\.A\.test_b \(1 passed, 0 failed\)$")
        self.assertRegex(said[-1], r"^stage five: 1 passed, 0 failed \(0 s, CPU \d s\)$")
        wall, = re.findall(r"^stage five: .* \((\d+) s,", (self.tree / "said").read_text(), re.M)
        self.assertIn(int(wall), range(2, int(time.monotonic() - begin) + 2))

    def test_terminal(self):
        """One line for two stages, refreshed; and erased before what stays."""
        self.hurry()
        ours, theirs = pty.openpty()
        seen = self.tree / "seen"
        env = {**os.environ, "V": "", "TERM": "vt100", "COLUMNS": "60", "SEEN": str(seen)}
        stages = [subprocess.Popen(self.command(name, """\
                      echo at work
                      for n in $(seq 600); do [ -e $SEEN ] && exit; sleep 0.1; done
                      exit 1
                      """), env=env, stdout=theirs) for name in ("six", "seven")]
        os.close(theirs)
        said = b""
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:             # EIO: all have closed it
                break
            said += data
            if re.search(rb"seven \d+:\d\d at work \| six \d+:\d\d at work", said):
                seen.touch()
        os.close(ours)
        self.assertEqual([stage.wait() for stage in stages], [0, 0])
        pieces = said.decode().replace("\r\n", "\n").split("\r\033[K")
        for name in ("six", "seven"):
            self.assertTrue(any(piece.startswith(f"stage {name}: 1 passed, 0 failed (")
                                for piece in pieces), pieces)
        self.assertTrue(any(re.fullmatch(r"seven \d+:\d\d at work \| six \d+:\d\d at work", piece)
                            for piece in pieces), pieces)
        self.assertLess(max(map(len, pieces)), 60)

    def test_signal(self):
        """A stage that is ended ends what it runs, and says so."""
        with subprocess.Popen(self.command("eight", "echo $$; exec sleep 1000"), text=True,
                              env={**os.environ, "V": ""}, stdout=subprocess.PIPE) as stage:
            log = self.tree / "build/log/eight.log"
            wait_for(lambda: log.exists() and log.read_text().endswith("\n"), "it to run", 600)
            stage.send_signal(signal.SIGTERM)
            said, _ = stage.communicate(timeout=600)
        self.assertEqual(stage.returncode, 128 + signal.SIGTERM)
        self.assertTrue(said.endswith("stage eight: ended by SIGTERM\n"), said)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(log.read_text()), 0)


class Long(unittest.TestCase):
    """What `make test-long FROM=stage` goes on with."""

    @staticmethod
    def left(stage):
        """The stages that it would run, a list a lane."""
        lines = subprocess.run(["make", "-n", "-f", "tests/stages.mk", f"FROM={stage}", "long-in-guests", "long-beside"],
                               cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
        return [line.partition("tests/stages.mk")[2].split() for line in lines if "tests/stages.mk" in line]

    def test_guests(self):
        guests, beside = self.left("wirefuzz")
        self.assertEqual(guests[0], "wirefuzz")
        self.assertNotIn("storm", guests)
        self.assertIn("unit", beside)

    def test_beside(self):
        """Nothing in a guest is left."""
        self.assertEqual(self.left("long-mutants"), [["long-mutants", "long-fuzz"]])
