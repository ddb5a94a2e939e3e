# SPDX-License-Identifier: GPL-2.0
"""The command oae: what it shows is what is in /proc, what it says is how it ended."""

import fnmatch
import json
import os
import re
import subprocess

from oaecmd import OAE, Running, oae
from oaetest import REPO, Cable, OaeTest, wait_for

COMMANDS = ("show stats monitor top metrics port ping send recv listen swap read write xchg add"
            " cas expose").split()


class CommandTest(OaeTest):
    """
        host a             host b
        va ----------------- vb
    """

    @classmethod
    def build(cls):
        cls.a, cls.b = cls.host("a"), cls.host("b")
        cls.cable = Cable(cls.a, "va", cls.b, "vb")
        cls.a.add_port("va")
        cls.b.add_port("vb")
        # An idle link says nothing: /proc stands still.
        cls.a.knobs(target=cls.cable.mac_b, keepalive_ms=600000)
        cls.b.knobs(target=cls.cable.mac_a, keepalive_ms=600000)

    def start(self, host, *args, **kwargs):
        """The command in the background, until the test ends."""
        running = Running(host, *args, **kwargs)
        self.addCleanup(running.kill)
        return running


class Usage(CommandTest):
    """What every command has, and what it does with what it does not understand."""

    def test_help(self):
        """--help of each has examples, and says what JSON and exit codes are."""
        said = oae(self.a, "--help")
        for command in COMMANDS:
            self.assertRegex(said.out, rf"(?m)^  {command} +\w")
            text = oae(self.a, command, "--help").out
            self.assertIn("Examples:\n  oae ", text)
            self.assertIn("JSON", text)
            self.assertEqual(text, oae(self.a, "help", command).out)
            for example in re.findall(r"(?m)^  (oae .*?)(?:  |$)", text):
                self.assertIn(command, example)

    def test_wrong(self):
        """Wrong usage is exit code 1, with a line that names what was wrong."""
        for args, named in (
                ([], "Usage"), (["nonsense"], "nonsense"), (["show", "prot"], "prot"),
                (["show", "vc", "256"], "256"), (["show", "peer"], "peer"),
                (["show", "--colour"], "colour"), (["monitor", "kind", "rvc"], "rvc"),
                (["monitor", "-c", "0"], '"0"'), (["top", "-d", "x"], '"x"'),
                (["port", "add"], "which device"), (["port", "up", "va"], "up"),
                (["port", "add", "a,b"], "a,b"), (["metrics", "x"], '"x"'),
                (["ping"], "whom"), (["ping", "02:0a"], "02:0a"), (["ping", "2", "-s", "9"], "-s"),
                (["send"], "whom"), (["send", "2", "a", "b"], '"b"'), (["send", "2", ""], "byte"),
                (["swap", "2"], "what"), (["read", "2", "1"], "OFFSET"),
                (["read", "2", "1", "4"], "4"), (["write", "2", "1", "0"], "VALUE"),
                (["add", "2", "1", "0", "one"], "one"), (["cas", "2", "1", "0", "1"], "EXPECTED"),
                (["cas", "2", "1", "0", "1,2", "3"], "as many"), (["expose", "9", "-P", "r"], "9"),
                (["expose", "8"], "perm"), (["expose", "8", "-P", "q"], "q"),
                (["-n", "nowhere", "show"], "nowhere")):
            said = oae(self.a, *args, status=1)
            self.assertIn(named, said.err, args)
            self.assertEqual(said.out, "", args)

    def test_not_loaded(self):
        """Without the module each says so."""
        for command in ("show", "stats", "monitor", "top", "metrics", "port"):
            said = oae(self.a, command, status=1, env={"OAE_PROC_NET": "/nowhere"})
            self.assertIn("modprobe modoae", said.err)
        said = oae(self.a, "show", "zones", status=1)
        self.assertIn("modoaeip is not loaded", said.err)

    def test_namespace(self):
        """-n is the namespace that is looked at."""
        self.assertEqual([port["port"] for port in oae(self.a, "-j", "-n", "b", "port").json],
                         ["vb"])

    def test_output_gone(self):
        """Whoever reads the output may go."""
        self.assertEqual(self.a.sh(f"{OAE} stats -z | head -n 1"), "modoae\n")
        for command in "monitor", "top -d 0.05":
            self.assertEqual(self.a.sh(f"{OAE} {command} | true"), "")


class Looking(CommandTest):
    """show, stats, top, metrics and port, against /proc."""

    def setUp(self):
        super().setUp()
        self.a.write(b"hello")
        self.assertEqual(self.b.read_one(), b"hello")

    def steady(self, look, proc):
        """Both, of a moment in which /proc did not change."""
        def both():
            before = proc()
            seen = look()
            return proc() == before and (seen, before)
        return wait_for(both, "/proc to stand still", interval=0.01)

    def test_show(self):
        """Every column of every link, as in tags."""
        seen, proc = self.steady(lambda: oae(self.a, "-j", "show").json, self.a.tags)
        for row in proc:
            row["kid"] = f"0x{row['kid']:016x}"
        self.assertEqual(seen, proc)
        self.assertEqual(seen[0]["peer"], self.cable.mac_b)
        text = oae(self.a, "show").out
        self.assertIn(f"port va: {self.cable.mac_a} up, mtu 1500\n", text)
        head, line = text.splitlines()[1:]
        self.assertEqual(head.split(), "PORT PEER VC STATE WAY OFFER HOLD TX RX QUEUE UNREAD RTT"
                         " AGE".split())
        self.assertEqual(line.split()[:4], ["va", self.cable.mac_b, "0", "OPEN"])
        self.assertRegex(line, r" [\d.]+ [mu]s +\d+ s$")

    def test_show_some(self):
        """port, peer and vc say which links."""
        self.a.write(b"three", vc=3)
        self.a.knob("vci", 0)
        self.assertEqual(self.b.read_one(), b"three")

        def vcs(*args):
            return sorted(link["vc"] for link in oae(self.a, "-j", "show", *args).json)
        self.assertEqual(vcs(), [0, 3])
        self.assertEqual(vcs("vc", 3), [3])
        self.assertEqual(vcs("port", "va", "vc", "0"), [0])
        self.assertEqual(vcs("port", "vb"), [])
        self.assertEqual(vcs("peer", self.cable.mac_b.upper()), [0, 3])
        self.assertEqual(vcs("peer", self.cable.mac_b[9:].replace(":", "")), [0, 3])
        self.assertEqual(vcs("peer", self.cable.mac_a), [])
        self.assertIn("no links", oae(self.a, "show", "vc", 200).out)
        self.a.close_tag(self.cable.mac_b, 3)
        wait_for(lambda: not self.a.tag(3) and not self.b.tag(3), "the link to close")

    def test_stats(self):
        """Every counter, its value and its meaning."""
        seen, proc = self.steady(lambda: oae(self.a, "stats", "-j").json, self.a.stats)
        self.assertEqual({one["name"]: one["value"] for one in seen}, proc)
        texts = dict(re.findall(r"(?m)^(\w+) +\d+  # (.*)$", self.a.sh(
            "cat /proc/net/modoae/stats")))
        self.assertEqual({one["name"]: one["text"] for one in seen}, texts)
        self.assertEqual({one["module"] for one in seen}, {"modoae"})

        def names(*args):
            return set(re.findall(r"(?m)^  (\w+) +\d+  ", oae(self.a, "stats", *args).out))
        self.assertEqual(names("-z"), set(proc))
        self.assertEqual(names("-z", "bad_*"), set(fnmatch.filter(proc, "bad_*")))
        self.assertEqual(names("-z", "slice"), {name for name in proc if "slice" in name})
        self.assertNotIn("bad_version", names())
        self.assertLessEqual({"committed", "note_opened"}, names())
        self.assertIn("no counter", oae(self.a, "stats", "nothing_of_it", status=1).err)

    def test_port(self):
        """add, del and list act on the knob dev; errors are in words."""
        self.a.sh("ip link add dummy0 type dummy && ip link set dummy0 mtu 1400")
        self.addCleanup(self.a.sh, "ip link del dummy0")
        oae(self.a, "port", "add", "dummy0")
        self.assertEqual(self.a.knob("dev"), "va,dummy0")
        seen = {port["port"]: port for port in oae(self.a, "port", "list", "-j").json}
        self.assertEqual(seen["va"], {
            "port": "va", "address": self.cable.mac_a, "state": "up", "mtu": 1500,
            "links": len(self.a.tags())})
        self.assertEqual((seen["dummy0"]["state"], seen["dummy0"]["mtu"]), ("down", 1400))
        self.assertRegex(oae(self.a, "port").out, r"(?m)^dummy0 +\S+ +down +1400 +0$")
        oae(self.a, "port", "del", "dummy0")
        self.assertEqual(self.a.knob("dev"), "va")
        said = oae(self.a, "port", "del", "dummy0", status=1)
        self.assertIn("ENODEV: it is no port", said.err)
        said = oae(self.a, "port", "add", "nothere", status=1)
        self.assertIn("ENODEV: there is no such device", said.err)
        said = oae(self.a, "port", "add", "lo", status=1)
        self.assertIn("EINVAL: it is no Ethernet device", said.err)

    def test_top(self):
        """Rates are what was done between two looks, by the clock."""
        running = self.start(self.a, "top", "-j", "-d", "0.5")
        running.event()
        done = 0
        seen = len(running.lines)
        while len(running.lines) < seen + 2:
            self.a.write(b"x")
            self.b.read_one()
            done += 1
        first, last = running.objects()[seen - 1:][:2][-1], running.objects()[-1]
        self.assertEqual(running.stop(), 0)
        for refresh in (first, last):
            self.assertGreaterEqual(refresh["seconds"], 0.45)
        link = last["links"][0]
        self.assertEqual((link["port"], link["peer"], link["vc"], link["state"]),
                         ("va", self.cable.mac_b, 0, "OPEN"))
        # All that was committed while it looked, and nothing else.
        total = sum(one["committed_per_s"] * one["seconds"] for one in running.objects())
        self.assertLessEqual(total, done + 0.5)
        self.assertGreater(total, 0)
        self.assertAlmostEqual(total, sum(one["links"][0]["tx_per_s"] * one["seconds"]
                                          for one in running.objects()), delta=2)

    def test_top_batch(self):
        """Batch mode: as many refreshes as asked for, no escape sequence."""
        text = oae(self.a, "top", "-b", "-n", "2", "-d", "0.05").out
        self.assertNotIn("\033", text)
        self.assertEqual(len(re.findall(r"(?m)^committed \S+/s  reversed ", text)), 2)
        self.assertEqual(len(re.findall(rf"(?m)^va +{self.cable.mac_b} +0 +OPEN ", text)), 2)

    def test_top_terminal(self):
        """On a terminal it redraws, ends with q, and leaves the terminal as it was."""
        script = ("import os, pty, select, sys\n"
                  "pid, fd = pty.fork()\n"
                  "if not pid: os.execv(sys.argv[1], [sys.argv[1], 'top', '-d', '0.05'])\n"
                  "seen = b''\n"
                  "while seen.count(b'committed') < 3: seen += os.read(fd, 4096)\n"
                  "os.write(fd, b'q')\n"
                  "try:\n"
                  "    while (more := os.read(fd, 4096)): seen += more\n"
                  "except OSError: pass\n"
                  "assert os.waitpid(pid, 0)[1] == 0\n"
                  "sys.stdout.buffer.write(seen)\n")
        with self.a:
            seen = subprocess.run(["python3", "-c", script, OAE], capture_output=True, timeout=30,
                                  check=True).stdout
        self.assertTrue(seen.startswith(b"\033[?1049h\033[?25l"))
        self.assertTrue(seen.endswith(b"\033[?25h\033[?1049l"))
        self.assertGreaterEqual(seen.count(b"\033[H\033[2J"), 3)


class Metrics(CommandTest):
    """oae metrics is the text format of Prometheus, and says what /proc says."""

    NAME = r"[a-z_][a-z0-9_]*"
    LABEL = r'[a-z_]+="((?:[^"\\\n]|\\["\\n])*)"'

    def parse(self, text):
        """The text format, strictly: {name: (type, help, {labels: value})}."""
        families, current = {}, None
        self.assertTrue(text.endswith("\n"))
        for line in text.splitlines():
            m = re.fullmatch(rf"# HELP ({self.NAME}) (\S.*)", line)
            if m:
                current = m[1]
                self.assertNotIn(current, families, "twice")
                families[current] = [None, m[2], {}]
                continue
            m = re.fullmatch(rf"# TYPE ({self.NAME}) (counter|gauge)", line)
            if m:
                self.assertEqual(m[1], current)
                self.assertIsNone(families[current][0])
                families[current][0] = m[2]
                continue
            m = re.fullmatch(rf"({self.NAME})(?:\{{((?:{self.LABEL},?)+)\}})? (\d+(?:\.\d+)?)",
                             line)
            self.assertTrue(m, line)
            self.assertEqual(m[1], current, "a sample stands under its own heading")
            labels = frozenset(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', m[2] or ""))
            self.assertNotIn(labels, families[current][2], "twice")
            families[current][2][labels] = float(m[4])
        for name, (kind, text_, _) in families.items():
            self.assertTrue(kind and text_)
            # What promtool's linter asks for.
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            self.assertNotRegex(name, r"_(count|sum|bucket)$|_(ms|us|ns|kb|mb)(_|$)"
                                r"|milliseconds|counter|gauge")
        return families

    def test_metrics(self):
        """Counters, links and ports."""
        self.a.write(b"hello")
        self.assertEqual(self.b.read_one(), b"hello")

        def both():
            before = self.a.stats(), self.a.tags()
            text = oae(self.a, "metrics").out
            return (self.a.stats(), self.a.tags()) == before and (text, *before)
        text, stats, tags = wait_for(both, "/proc to stand still", interval=0.01)
        families = self.parse(text)
        for name, value in stats.items():
            kind, _, samples = families[f"oae_{name}_total"]
            self.assertEqual((kind, samples), ("counter", {frozenset(): value}))
        labels = frozenset({("port", "va"), ("peer", self.cable.mac_b), ("vc", "0")})
        tag, = tags
        for name, value in (("open", 1), ("committed_total", tag["tx"]),
                            ("delivered_total", tag["rx"]),
                            ("queued_transactions", tag["queue"]),
                            ("unread_transactions", tag["unread"]),
                            ("rtt_seconds", tag["rtt_us"] / 1e6), ("age_seconds", tag["age_s"])):
            self.assertEqual(families[f"oae_link_{name}"][2], {labels: value}, name)
        self.assertEqual(families["oae_link_info"][2],
                         {labels | {("state", "OPEN"), ("way", "direct")}: 1})
        self.assertEqual(families["oae_port_up"][2], {frozenset({("port", "va")}): 1})
        self.assertEqual(families["oae_links"][2], {frozenset(): 1})

        same = {family["name"]: [family["type"], family["help"], {
            frozenset(sample["labels"].items()): sample["value"]
            for sample in family["samples"]}] for family in oae(self.a, "metrics", "-j").json}
        self.assertEqual({name: family[:2] for name, family in same.items()},
                         {name: family[:2] for name, family in families.items()})

    def test_down(self):
        """A link that is not open, a port that is down: 0."""
        self.a.write(b"hello")
        self.b.read_one()
        self.cable.cut()
        self.addCleanup(self.cable.mend)
        wait_for(lambda: self.a.tag()["state"] != "OPEN", "the link to freeze")
        families = self.parse(oae(self.a, "metrics").out)
        self.assertEqual(set(families["oae_link_open"][2].values()), {0})
        self.assertEqual(set(families["oae_port_up"][2].values()), {0})


class Monitor(CommandTest):
    """oae monitor prints what is new in ev_log, once."""

    def test_down_and_up(self):
        """A link that goes down and comes back."""
        for host in self.a, self.b:
            self.addCleanup(host.knobs, keepalive_ms=600000, dead_ms=host.knob("dead_ms"))
            host.knobs(keepalive_ms=50, dead_ms=300)
        self.a.write(b"before")
        self.b.read_one()
        running = self.start(self.a, "-j", "monitor", "kind", "note,outcome")
        people = self.start(self.a, "monitor", "kind", "outcome,note", "peer", self.cable.mac_b)
        # Both look already when they have seen something that began after they did.
        wait_for(lambda: (self.a.write(b"x"), self.b.read_one()) and running.lines and
                 people.lines, "both to look", 20, interval=0.05)
        self.cable.cut()
        down = running.event(what="down", vc=0)
        self.cable.mend()
        up = running.event(what="up", vc=0)
        self.assertGreater(up["time_us"], down["time_us"])
        self.assertEqual((down["peer"], down["kind"]), (self.cable.mac_b, "note"))
        people.line(rf"{self.cable.mac_b} vc 0 note down .*# links down: no answer for dead_ms")
        people.line(rf"{self.cable.mac_b} vc 0 note up ")
        self.assertEqual(running.stop(), 0)
        self.assertEqual({o["kind"] for o in running.objects()}, {"note", "outcome"})

    def test_each_once(self):
        """What it prints of a link is what is in the log, each event once."""
        running = self.start(self.a, "monitor", "-j", "vc", "77")
        # It looks already when it has told of something.
        wait_for(lambda: (self.a.write(b"x", vc=77), self.b.read_one()) and running.lines,
                 "it to look", interval=0.05)
        first = running.objects()[0]["time_us"]
        for i in range(15):
            self.a.write(b"%d" % i)
            self.b.read_one()
        self.a.knob("vci", 0)
        want = [(round(e["time"] * 1e6), e["kind"], e["what"], e["before"], e["after"], e["seq"])
                for e in self.a.ev_log() if e["kid"] >> 56 == 77]
        want = [e for e in want if e[0] >= first]
        self.assertGreater(len(want), 60)
        wait_for(lambda: len(running.lines) >= len(want), "all of them")
        self.assertEqual(running.stop(), 0)
        got = [(o["time_us"], o["kind"], o["what"], o["before"], o["after"], o["seq"])
               for o in running.objects()]
        self.assertEqual(sorted(got), sorted(want))

    def test_count(self):
        """-c ends it; without -a it begins with what is new."""
        self.a.write(b"old")
        self.b.read_one()
        running = self.start(self.a, "monitor", "-c", "1", "kind", "outcome", "-j")
        tx = self.a.tag()["tx"]

        def done():
            self.a.write(b"new")
            self.b.read_one()
            return running.process.poll() is not None
        wait_for(done, "it to end", interval=0.05)
        self.assertEqual(running.end(), 0)
        event, = running.objects()
        self.assertEqual((event["what"], event["kind"]), ("committed", "outcome"))
        self.assertGreater(event["seq"], tx)

    def test_missed(self):
        """When more happens than the log holds, it says so."""
        running = self.start(self.a, "-j", "monitor")
        # Not so quick that it could look in between: it stands still meanwhile.
        wait_for(lambda: (self.a.write(b"x"), self.b.read_one()) and running.lines, "it to look",
                 interval=0.05)
        os.kill(running.process.pid, 19)        # SIGSTOP
        for i in range(100):
            self.a.write(b"%d" % i)
            self.b.read_one()
        os.kill(running.process.pid, 18)        # SIGCONT
        running.event(missed=True)
        self.assertEqual(running.stop(), 0)


class Completion(CommandTest):
    """oae.bash in bash, as readline calls it."""

    def complete(self, line):
        """What it offers for a line."""
        script = (f". {REPO}/tools/oae/oae.bash; complete -p oae >/dev/null || exit 1; "
                  f'PATH={os.path.dirname(OAE)}:$PATH COMP_LINE=$1 COMP_POINT=${{#1}} '
                  'COMP_WORDS=(oae); _oae; printf "%s\\n" "${COMPREPLY[@]}"')
        with self.a:
            done = subprocess.run(["bash", "-c", script, "bash", line], text=True, check=True,
                                  capture_output=True)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_completion(self):
        """Commands, options, ports, peers, counters."""
        self.a.write(b"hello")
        self.b.read_one()
        mac = self.cable.mac_b
        self.assertEqual(self.complete("oae "), {*COMMANDS, "help"})
        self.assertEqual(self.complete("oae re"), {"recv", "read"})
        self.assertEqual(self.complete("oae -j sh"), {"show"})
        self.assertLessEqual({"--count", "--message", "-i", "--json"}, self.complete("oae ping -"))
        self.assertEqual(self.complete("oae port "), {"add", "del", "list"})
        self.assertEqual(self.complete("oae port del "), {"va"})
        self.assertEqual(self.complete("oae show port "), {"va"})
        self.assertEqual(self.complete("oae ping -p "), {"va"})
        self.assertEqual(self.complete("oae show peer "), {mac})
        self.assertEqual(self.complete("oae send 02"), {mac})
        # readline has taken what is before the last colon already
        self.assertEqual(self.complete(f"oae ping {mac[:10]}"), {mac[9:]})
        self.assertEqual(self.complete("oae stats rx_"), {"rx_frames", "rx_bytes"})
        self.assertEqual(self.complete("oae monitor kind o"), {"outcome"})
        self.assertLessEqual({"a", "b"}, self.complete("oae -n "))

    def test_hostile_names(self):
        """A device whose name a shell would expand is not offered, and does no harm."""
        name = "$(id>$T)"
        with self.a:
            subprocess.run(["ip", "link", "add", "name", name, "type", "dummy"], check=True)
            self.addCleanup(self.a.sh, "ip link del name '$(id>$T)'")
            subprocess.run([OAE, "port", "add", name], check=True)
        os.environ["T"] = "/tmp/harm"
        self.assertEqual(self.complete("oae port del "), {"va"})
        self.assertFalse(os.path.exists("/tmp/harm"))
        self.assertIn(name, [port["port"] for port in oae(self.a, "-j", "port").json])
        self.assertIn(json.dumps(name), oae(self.a, "-j", "port").out)
        self.assertIn(f'oae_port_up{{port="{name}"}} 0', oae(self.a, "metrics").out)
