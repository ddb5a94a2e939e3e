# SPDX-License-Identifier: GPL-2.0
"""The command oae: what it shows is what is in /proc, what it says is how it ended."""

import errno
import fnmatch
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import prometheus
from oaecmd import OAE, Running, oae
from devtest import IdlePair
from oaedev import OaeFile
from oaetest import REPO, run, wait_for
from patience import SLOW

class CommandTest(IdlePair):
    """The command at two hosts."""

    def start(self, host, *args, **kwargs):
        """The command in the background, until the test ends."""
        running = Running(host, *args, **kwargs)
        self.addCleanup(running.kill)
        return running


class Usage(CommandTest):
    """What every command has. manner.py has what needs no module."""

    def test_namespace(self):
        """-n is the namespace that is looked at, before the command and behind it."""
        for args in ["-j", "-n", "b", "port"], ["port", "show", "-jn", "b"]:
            self.assertEqual([port["port"] for port in oae(self.a, *args).json], ["vb"])

    def test_refused(self):
        """What is well-formed, and not to be had: a line, a status, and nothing is changed."""
        names = ("dev", "target", "peers", "max_tags", "accept")

        def state():
            return ([self.a.knob(name) for name in names],
                    [(tag["port"], tag["peer"], tag["vc"], tag["state"]) for tag in self.a.tags()])
        before = state()
        mac, low = self.cable.mac_b, self.cable.mac_b[9:].replace(":", "")
        for status, args, said in (
                (6, ["set", "dead_sm=5"], "ENOENT: there is no such knob; did you mean dead_ms?"),
                (6, ["get", "max_tag"], "ENOENT: there is no such knob; did you mean max_tags?"),
                (6, ["get", "colour"], "ENOENT: there is no such knob; `oae get` lists them, "
                 "`oae gateway` those of the gateway"),
                (6, ["set", "max_tags=many"], "EINVAL: takes a number from 1 to 1000000, links"),
                (6, ["set", "max_tags=0", "accept=none"], "ERANGE: takes a number from 1 to"),
                (6, ["set", "target=" + self.cable.mac_a], "EINVAL: takes another address than"),
                (6, ["close", mac, "-v", "77"], "ENOENT: there is no such link; `oae show`"),
                (69, ["gateway", "set", "mtu=0"], "modoaeip is not loaded"),
                (1, ["send", "lo/2", "x"], "ENODEV: no such port"),
                (1, ["send", low, "--port", "vb", "x"], "ENODEV: no such port"),
                (1, ["ping", mac, "--port", "vb"], "ENODEV: no such port"),
                (1, ["recv", self.cable.mac_a], "own?"),
                (1, ["listen", "--port", "vb"], "ENODEV: no such port"),
                (1, ["expose", "8", "-P", "r", "--port", "vb"], "ENODEV: no such port"),
                (1, ["expose", "4294967296", "-P", "r"], "knob region_max"),
                (1, ["stats", "nothing_of_it"], "no counter matches")):
            done = oae(self.a, *args, status=status)
            self.assertEqual((done.out, done.err.count("\n")), ("", 1), done)
            self.assertIn(said, done.err)
            self.assertTrue(done.err.startswith(f"oae {args[0]}: "), done)
            self.assertEqual(state(), before, args)

    def test_output_gone(self):
        """Whoever reads the output may go."""
        self.assertEqual(self.a.sh(f"{OAE} stats -z | head -n 1"), "modoae\n")
        for command in "monitor", "top -i 0.05":
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
        def measured():     # what was said twice on a slow machine says nothing of the way
            self.a.write(b"and again")
            self.b.read_one()
            return all(tag["rtt_us"] and (tag["minrtt_us"] or coarse) for tag in self.a.tags())
        coarse = SLOW > 1   # the debug kernel's clock: what takes less than a tick takes no time
        wait_for(measured, "a round trip", interval=0.01)
        seen, proc = self.steady(lambda: oae(self.a, "-j", "show").json, self.a.tags)
        for row in proc:
            row["kid"] = f"0x{row['kid']:016x}"
        self.assertEqual(seen, proc)
        self.assertTrue(all((row["minrtt_us"] or coarse) and row["minrtt_us"] <= row["rtt_us"] for row in proc), proc)
        self.assertEqual(seen[0]["peer"], self.cable.mac_b)
        text = oae(self.a, "show").out
        self.assertIn(f"port va: {self.cable.mac_a} up, mtu 1500\n", text)
        head, line = text.splitlines()[1:]
        self.assertEqual(head.split(), "PORT PEER VC STATE WAY OFFER HOLD TX RX QUEUE UNREAD RTT"
                         " AGE WINDOW CWND REPAIRED FAILURES WAITS FOR".split())
        self.assertEqual(line.split()[:4], ["va", self.cable.mac_b, "0", "OPEN"])
        window = "{lanes}/{window} +{cwnd} +{repaired} +{failures}".format(**proc[0])
        self.assertRegex(line, r" [\d.]+ [mu]s +\d+ s +" + window + " +nothing$")

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

    def test_show_states(self):
        """state says which links, too."""
        dead = self.a.knob("dead_ms")
        self.addCleanup(self.a.knobs, dead_ms=dead, vci=0, target=self.cable.mac_b)
        self.a.knob("dead_ms", 600000)
        self.a.write(b"to nobody", nonblock=True, target="abcdef", vc=4)

        def vcs(*args):
            return sorted(link["vc"] for link in oae(self.a, "-j", "show", *args).json)
        self.assertEqual(vcs("state", "open"), [0])
        self.assertEqual(vcs("state", "opening"), [4])
        self.assertEqual(vcs("state", "opening", "vc", "0"), [])
        self.assertEqual((vcs("state", "down"), vcs("state", "closing")), ([], []))
        self.a.close_tag("abcdef", 4)

    def test_owners(self):
        """-p says which processes have a link open; fdinfo says what it goes by."""
        self.assertEqual([link["owners"] for link in oae(self.a, "-j", "show", "-p").json], [[]])
        with OaeFile.to(self.a, self.cable.mac_b) as file, OaeFile.to(self.b, self.cable.mac_a):
            link, = oae(self.a, "-j", "show", "-p").json
            owner, = link["owners"]
            self.assertEqual((owner["pid"], owner["fd"]), (os.getpid(), file.fileno()))
            name = Path("/proc/self/comm").read_text("ascii").strip()
            self.assertEqual(owner["command"], name)
            line = oae(self.a, "show", "-p", "vc", 0).out.splitlines()[-1]
            self.assertTrue(line.endswith(f" {name}/{os.getpid()}"), line)
            said = dict(line.split(":\t", 1) for line in Path(
                f"/proc/self/fdinfo/{file.fileno()}").read_text("ascii").splitlines())
            status = file.status()
            for key, wanted in (
                    ("oae", "attached"), ("port", "va"), ("peer", self.cable.mac_b), ("vc", "0"),
                    ("state", "OPEN"), ("tx", str(status.tx)), ("rx", str(status.rx)),
                    ("committed", str(status.committed)), ("unread", "0")):
                self.assertEqual(said[key], wanted, key)
            with self.a:
                self.assertEqual(int(said["netns"]), os.stat("/proc/thread-self/ns/net").st_ino)
        with OaeFile(self.a) as file:
            file.listen(vc=7)
            *_, row = oae(self.a, "-j", "show", "-p").json
            owner, = row.pop("owners")
            self.assertEqual(row, {"port": None, "vc": 7, "state": "LISTEN", "peer": None})
            self.assertEqual((owner["pid"], owner["fd"]), (os.getpid(), file.fileno()))
            line = oae(self.a, "show", "-p", "vc", 7).out.splitlines()[-1]
            self.assertRegex(line, rf"^\* +\* +7 +LISTEN .* {name}/{os.getpid()}$")
            self.assertIn("no links", oae(self.a, "show", "-p", "vc", 8).out)

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

    def test_port(self):
        """add, del and show act on the knob dev. test_dev_netlink.py has what is refused."""
        self.a.sh("ip link add dummy0 type dummy && ip link set dummy0 mtu 1400")
        self.addCleanup(self.a.sh, "ip link del dummy0")
        oae(self.a, "port", "add", "dummy0")
        oae(self.a, "port", "add", "dummy0")     # as a unit of systemd does, where it is one already
        self.assertEqual(self.a.knob("dev"), "va,dummy0")
        seen = {port["port"]: port for port in oae(self.a, "port", "show", "-j").json}
        self.assertEqual(seen["va"], {
            "port": "va", "address": self.cable.mac_a, "state": "up", "mtu": 1500,
            "links": len(self.a.tags())})
        self.assertEqual((seen["dummy0"]["state"], seen["dummy0"]["mtu"]), ("down", 1400))
        self.assertRegex(oae(self.a, "port").out, r"(?m)^dummy0 +\S+ +down +1400 +0$")
        oae(self.a, "port", "del", "dummy0")
        self.assertEqual(self.a.knob("dev"), "va")

    def test_top(self):
        """Rates are what was done between two looks, by the clock."""
        running = self.start(self.a, "top", "-j", "-i", "0.5")
        running.event()
        done = 0
        seen = len(running.lines)
        while len(running.lines) < seen + 2:
            self.a.write(b"x")
            self.b.read_one()
            done += 1
        wait_for(lambda: not running.objects()[-1]["committed_per_s"], "it to see the end", 20)
        self.assertEqual(running.stop(), 0)
        refreshes = running.objects()
        self.assertGreaterEqual(min(one["seconds"] for one in refreshes), 0.5)
        link = refreshes[-1]["links"][0]
        self.assertEqual((link["port"], link["peer"], link["vc"], link["state"]),
                         ("va", self.cable.mac_b, 0, "OPEN"), refreshes[-1]["links"])
        # All that was committed while it looked, and nothing else.
        for total in (sum(one["committed_per_s"] * one["seconds"] for one in refreshes),
                      sum(one["links"][0]["tx_per_s"] * one["seconds"] for one in refreshes)):
            self.assertAlmostEqual(total, done, delta=0.5 + done / 100)

    def test_top_batch(self):
        """Batch mode: as many refreshes as asked for, no escape sequence."""
        text = oae(self.a, "top", "-b", "-c", "2", "-i", "0.05").out
        self.assertNotIn("\033", text)
        self.assertEqual(len(re.findall(r"(?m)^committed \S+/s  reversed ", text)), 2)
        self.assertEqual(len(re.findall(rf"(?m)^va +{self.cable.mac_b} +0 +OPEN ", text)), 2)

    def test_top_terminal(self):
        """On a terminal it redraws, ends with q, and leaves the terminal as it was."""
        script = ("import os, pty, select, sys\n"
                  "pid, fd = pty.fork()\n"
                  "if not pid: os.execv(sys.argv[1], [sys.argv[1], 'top', '-i', '0.05'])\n"
                  "seen = b''\n"
                  "while seen.count(b'committed') < 3: seen += os.read(fd, 4096)\n"
                  "os.write(fd, b'q')\n"
                  "try:\n"
                  "    while (more := os.read(fd, 4096)): seen += more\n"
                  "except OSError: pass\n"
                  "assert os.waitpid(pid, 0)[1] == 0\n"
                  "sys.stdout.buffer.write(seen)\n")
        with self.a:
            seen = subprocess.run(["python3", "-c", script, OAE], capture_output=True,
                                  timeout=30 * SLOW, check=True).stdout
        self.assertTrue(seen.startswith(b"\033[?1049h\033[?25l"))
        self.assertTrue(seen.endswith(b"\033[?25h\033[?1049l"))
        self.assertGreaterEqual(seen.count(b"\033[H\033[2J"), 3)


class Parses(CommandTest):
    """The text format of Prometheus."""

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
            m = re.fullmatch(rf"# TYPE ({self.NAME}) (counter|gauge|histogram)", line)
            if m:
                self.assertEqual(m[1], current)
                self.assertIsNone(families[current][0])
                families[current][0] = m[2]
                continue
            m = re.fullmatch(rf"({self.NAME})(?:\{{((?:{self.LABEL},?)+)\}})? (\d+(?:\.\d+)?)",
                             line)
            self.assertTrue(m, line)
            labels = frozenset(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', m[2] or ""))
            if families[current][0] == "histogram":
                self.assertRegex(m[1], rf"^{current}_(bucket|sum|count)$")
                labels |= {("name", m[1])}
            else:
                self.assertEqual(m[1], current, "a sample stands under its own heading")
            self.assertNotIn(labels, families[current][2], "twice")
            families[current][2][labels] = float(m[4])
        for name, (kind, text_, _) in families.items():
            self.assertTrue(kind and text_)
            # What promtool's linter asks for.
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            self.assertNotRegex(name, r"_(count|sum|bucket)$|_(ms|us|ns|kb|mb)(_|$)"
                                r"|milliseconds|counter|gauge|histogram")
            if kind == "histogram":
                self.histogram(name, families[name][2])
        return families

    def histogram(self, name, samples):
        """Its classes are in order, and add up."""
        buckets = [(float(dict(labels)["le"]), value) for labels, value in samples.items()
                   if ("name", f"{name}_bucket") in labels]
        self.assertEqual(buckets, sorted(set(buckets)))
        self.assertEqual([value for _, value in buckets], sorted(value for _, value in buckets))
        self.assertEqual(buckets[-1], (float("inf"), samples[frozenset({("name", f"{name}_count")})]))
        self.assertEqual(len(buckets) + 2, len(samples))
        self.assertGreaterEqual(samples[frozenset({("name", f"{name}_sum")})], 0)


class Metrics(Parses):
    """oae metrics is the text format of Prometheus, and says what /proc says."""

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
            if name.startswith("took_"):
                self.assertNotIn(f"oae_{name}_total", families)
                continue
            kind, _, samples = families[f"oae_{name}_total"]
            self.assertEqual((kind, samples), ("counter", {frozenset(): value}))
        labels = frozenset({("port", "va"), ("peer", self.cable.mac_b), ("vc", "0")})
        tag, = tags
        for name, value in (("open", 1), ("committed_total", tag["tx"]),
                            ("delivered_total", tag["rx"]),
                            ("queued_transactions", tag["queue"]),
                            ("unread_transactions", tag["unread"]),
                            ("rtt_seconds", tag["rtt_us"] / 1e6),
                            ("minrtt_seconds", tag["minrtt_us"] / 1e6),
                            ("age_seconds", tag["age_s"]),
                            ("lanes", tag["lanes"]), ("window", tag["window"]),
                            ("cwnd", tag["cwnd"]), ("ssthresh", tag["ssthresh"]),
                            ("repaired_total", tag["repaired"]),
                            ("failures_total", tag["failures"])):
            self.assertEqual(families[f"oae_link_{name}"][2], {labels: value}, name)
        self.assertEqual(families["oae_link_info"][2],
                         {labels | {("state", "OPEN"), ("way", "direct")}: 1})
        self.assertEqual(families["oae_port_up"][2], {frozenset({("port", "va")}): 1})
        self.assertEqual(families["oae_links"][2], {frozenset(): 1})
        self.assertEqual(families["oae_link_waits_seconds"][2], {})

        same = {family["name"]: [family["type"], family["help"], {
            frozenset({**sample["labels"], **({"name": sample["name"]} if "name" in sample else {})}
                      .items()): sample["value"]
            for sample in family["samples"]}] for family in oae(self.a, "metrics", "-j").json}
        self.assertEqual({name: family[:2] for name, family in same.items()},
                         {name: family[:2] for name, family in families.items()})

    def test_asked(self):
        """The alerts and the dashboard ask for what there is."""
        self.a.write(b"hello")
        asked = prometheus.check(self, "oae_", oae(self.a, "-j", "metrics").json)
        self.assertEqual([rule["alert"] for rule in prometheus.alerts()],
                         ["OaeLinkDown", "OaeOutcomeUnknown", "OaeCommitSlow"])
        self.assertLessEqual({"oae_link_open", "oae_commit_seconds", "oae_unknown_total"}, asked)

    def test_closed_is_no_alert(self):
        """OaeLinkDown is about links that should be open, not about those that were closed."""
        def firing():
            families = self.parse(oae(self.a, "metrics").out)
            links = {name: {frozenset((key, value) for key, value in labels if key in ("port", "peer", "vc"))
                            for labels, value in families[name][2].items() if wanted(labels, value)}
                     for name, wanted in (("oae_link_open", lambda _, value: value == 0),
                                          ("oae_link_info", lambda labels, _: dict(labels)["state"].startswith("CLOSE")))}
            return links["oae_link_open"] - links["oae_link_info"]
        rule = next(rule for rule in prometheus.alerts() if rule["alert"] == "OaeLinkDown")
        self.assertEqual(" ".join(rule["expr"].split()), "oae_link_open == 0 unless on (instance, port, peer, vc) "
                         'oae_link_info{state=~"CLOSE.*"}')
        self.a.write(b"hello")
        with OaeFile(self.a) as file:
            file.attach(self.cable.mac_b)
            oae(self.a, "close", self.cable.mac_b)
            wait_for(lambda: not any(tag["state"] == "OPEN" for tag in self.a.tags()), "the link to be closed")
            self.assertEqual(firing(), set())
        self.b.read_all()

    def test_file(self):
        """-o: the whole, and nothing beside it; what was there stays if it fails."""
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "oae.prom"
            file.write_text("old")
            self.assertEqual(oae(self.a, "metrics", "-o", file).out, "")
            self.assertEqual(self.parse(file.read_text()).keys(),
                             self.parse(oae(self.a, "metrics").out).keys())
            self.assertEqual(file.stat().st_mode & 0o777, 0o644)
            before = file.read_bytes()
            said = oae(self.a, "metrics", "-o", file, env={"OAE_PROC_NET": directory},
                       status=69)
            self.assertIn("modoae is not loaded", said.err)
            self.assertEqual(file.read_bytes(), before)
            self.assertEqual(os.listdir(directory), ["oae.prom"])
            # A disk that is full.
            run("mount", "-t", "tmpfs", "-o", "size=4k", "none", directory)
            try:
                said = oae(self.a, "metrics", "-o", file, status=1)
                self.assertEqual(said.err, f"oae metrics: {file}: ENOSPC: No space left on device\n")
                self.assertEqual(os.listdir(directory), [])
            finally:
                run("umount", directory)

    def took(self):
        """The histogram of the time from offer to commit: {le: count}, the sum, the count."""
        samples = self.parse(oae(self.a, "metrics").out)["oae_commit_seconds"][2]
        named = {name: {dict(labels).get("le"): value for labels, value in samples.items()
                        if dict(labels)["name"] == f"oae_commit_seconds_{name}"}
                 for name in ("bucket", "sum", "count")}
        return named["bucket"], named["sum"][None], named["count"][None]

    def test_histogram(self):
        """How long transactions took, each of them once; none that was reversed."""
        self.a.write(b"open")
        before, stats = self.took(), self.a.stats()
        self.cable.netem("delay 40ms", ends=(0,))
        self.addCleanup(self.cable.netem, None, ends=(0,))
        self.set(self.a, stall_max_us=1000000, stall_min_us=1000000)
        for n in range(3):
            self.a.write(b"%d" % n)
        self.b.knob("drop_pct", 100)
        self.addCleanup(self.b.knob, "drop_pct", 0)
        self.a.knob("deadline_ms", 30)
        self.addCleanup(self.a.knob, "deadline_ms", 0)
        self.assert_errno(errno.ETIME, self.a.write, b"lost")
        after = self.took()
        classes = {float(le): after[0][le] - before[0][le] for le in before[0]}
        self.assertEqual(classes.keys(),
                         {2 ** n / 1e9 for n in range(12, 31)} | {float("inf")})
        self.assertEqual([classes[2 ** n / 1e9] for n in range(12, 26)], 14 * [0], classes)
        self.assertEqual((classes[float("inf")], after[2] - before[2]), (3, 3))
        self.assertTrue(3 * 0.04 <= after[1] - before[1] < 100, (before, after))
        self.assertEqual(self.a.stats()["reversed"], stats["reversed"] + 1)

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
        self.a.write(b"before")
        self.b.read_one()
        running = self.start(self.a, "-j", "monitor", "kind", "note,outcome")
        people = self.start(self.a, "monitor", "kind", "outcome,note", "peer", self.cable.mac_b)
        # Both look already when they have seen something that began after they did.
        wait_for(lambda: (self.a.write(b"x"), self.b.read_one()) and running.lines and
                 people.lines, "both to look", 20, interval=0.05)
        # Not before: a machine that is busy for as long takes the link for down.
        for host in self.a, self.b:
            self.set(host, keepalive_ms=50, dead_ms=300)
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


class Messages(Parses):
    """send, recv, listen and ping --message: what they say is what happened."""

    def setUp(self):
        super().setUp()
        # The link is open, and nothing is left over.
        oae(self.a, "send", "-q", self.cable.mac_b, "begin")
        wait_for(self.b.read, "the first message")

    def receiver(self, *args):
        """oae recv at b, attached: what is sent now is for it."""
        before = self.b.read_all()
        self.assertEqual(before, b"")
        return self.start(self.b, "recv", *args)

    def test_send(self):
        """TEXT, standard input; the outcome and how long it took."""
        said = oae(self.a, "send", self.cable.mac_b, "hello")
        self.assertRegex(said.out, r"\Acommitted: 5 bytes in [\d.]+ [mu]?s\n\Z")
        self.assertEqual(self.b.read_one(), b"hello")
        for data in (b"\0\xff" * 3000, b"x"):
            said = oae(self.a, "send", "-j", self.cable.mac_b, "-", data=data)
            result, = said.json
            self.assertEqual((result["result"], result["bytes"], result["peer"], result["vc"]),
                             ("committed", len(data), self.cable.mac_b, 0))
            self.assertGreater(result["time_us"], 1)
            self.assertNotIn("errno", result)
            self.assertEqual(self.b.read_one(), data)
        said = oae(self.a, "send", "-q", self.cable.mac_b, data=b"in")
        self.assertEqual(said.out, "")
        self.assertEqual(self.b.read_one(), b"in")

    def test_addresses(self):
        """A whole MAC, 24 bits of it, with a port."""
        low = self.cable.mac_b[9:].replace(":", "")
        for peer in (self.cable.mac_b, low, low.lstrip("0"), f"va/{low}", f"va/{self.cable.mac_b}",
                     self.cable.mac_b.upper()):
            result, = oae(self.a, "-j", "send", peer, peer).json
            self.assertEqual(result["peer"], self.cable.mac_b)
            self.assertEqual(self.b.read_one(), peer.encode())

    def test_vc(self):
        """--vc is another link."""
        oae(self.a, "send", "--vc", "9", "-q", self.cable.mac_b, "nine")
        self.assertEqual(self.b.read_one(), b"nine")
        self.assertEqual(self.a.tag(9)["tx"], 1)

    def test_reversed(self):
        """Exit code 2, and why: a deadline, a link that is down, a message too long."""
        usual = self.a.knob("dead_ms")
        self.addCleanup(self.a.knob, "dead_ms", usual)
        self.cable.cut()
        self.addCleanup(self.cable.mend)
        said = oae(self.a, "send", self.cable.mac_b, "late", "--deadline", "100", status=2)
        self.assertRegex(said.err, r"reversed: ETIME: its deadline passed; the port here is down "
                                   r"since 0\.\d s, given up in .* s$")
        self.assertEqual(said.out, "")
        result, = oae(self.a, "-j", "send", self.cable.mac_b, "late", "-w", "0.1", status=2).json
        self.assertEqual((result["result"], result["errno"], result["waits"]),
                         ("reversed", "ETIME", "port"))
        self.a.knob("dead_ms", 300)
        said = oae(self.a, "send", self.cable.mac_b, "down", status=2)
        self.assertIn("reversed: ENOLINK: the link is down; the port here is down", said.err)
        self.a.knob("dead_ms", usual)
        self.cable.mend()
        said = oae(self.a, "send", self.cable.mac_b, data=b"x" * 65537, status=2)
        self.assertIn("reversed: EMSGSIZE", said.err)
        oae(self.a, "send", self.cable.mac_b, "there again")
        self.assertEqual(self.b.read_one(), b"there again")
        self.assertEqual(self.b.read_all(), b"")

    def test_interrupted(self):
        """An interrupt reverses what is not committed."""
        self.cable.cut()
        self.addCleanup(self.cable.mend)
        posted = self.a.stat("posted")
        sending = self.start(self.a, "send", self.cable.mac_b, "never")
        wait_for(lambda: self.a.stat("posted") > posted, "it to be posted", 20)
        self.assertEqual(sending.stop(), 2)
        self.assertIn("reversed: EINTR", sending.errors[0])
        self.cable.mend()
        oae(self.a, "send", self.cable.mac_b, "after")
        self.assertEqual(self.b.read_one(), b"after")
        self.assertEqual(self.b.read_all(), b"")

    def test_not_known(self):
        """Exit code 4: an express that a deadline met; 3: one that its port took along."""
        self.addCleanup(self.b.knob, "drop_pct", 0)
        self.b.knob("drop_pct", 100)
        said = oae(self.a, "send", "-e", "-w", "0.1", self.cable.mac_b, "late",
                   status=4)
        self.assertIn("pending: EINPROGRESS", said.err)
        self.b.knob("drop_pct", 0)
        # It was recalled: nothing was delivered in its place.
        oae(self.a, "send", "-q", self.cable.mac_b, "still")
        self.assertEqual(self.b.read_one(20), b"still")
        self.b.knob("drop_pct", 100)
        offered = self.a.stat("note_offered")
        sending = self.start(self.a, "send", "-j", "--express", self.cable.mac_b, "lost")
        wait_for(lambda: self.a.stat("note_offered") > offered, "it to be offered", 20)
        oae(self.a, "port", "del", "va")
        self.addCleanup(self.a.add_port, "va")
        self.assertEqual(sending.end(), 3)
        result, = json.loads(sending.lines[0])
        self.assertEqual((result["result"], result["errno"]), ("unknown", "EOWNERDEAD"))

    def test_no_room(self):
        """An express for which there is no room: what it waited for is said."""
        usual = self.b.knob("rcvbuf")
        self.addCleanup(self.b.read_all)
        self.addCleanup(self.b.knob, "rcvbuf", usual)
        self.b.knob("rcvbuf", 4096)
        # On a channel of its own: more was granted on those that are open.
        oae(self.a, "send", "-q", "--vc", 9, self.cable.mac_b, "x" * 5000)
        said = oae(self.a, "send", "-e", "-w", "0.3", "--vc", 9, self.cable.mac_b, "no", status=2)
        self.assertRegex(said.err, r"reversed: ETIME: its deadline passed; no room there since ")

    def test_recv(self):
        """From one peer: text, what is no text, raw."""
        for args, data, shown in (
                ([], b"hello", "hello"), ([], b"line\n", "line"), ([], b"\033[2J\n\xff", None),
                (["-j"], "\u00fc\n".encode(), None), (["-j"], b"\xff\0", None)):
            receiver = self.receiver(self.cable.mac_a, *args)
            oae(self.a, "send", self.cable.mac_b, data=data)
            self.assertEqual(receiver.end(), 0)
            line, = receiver.lines
            if not args:
                self.assertEqual(line, shown or r"\x1b[2J\x0a\xff")
                continue
            got = json.loads(line)
            self.assertEqual((got["port"], got["peer"], got["vc"], got["bytes"]),
                             ("vb", self.cable.mac_a, 0, len(data)))
            self.assertEqual(got.get("data", "").encode() or bytes.fromhex(got["hex"]), data)
        data = bytes(range(256)) * 200
        out = self.b.sh(f"{OAE} recv -r {self.cable.mac_a} -w 20 >/tmp/got & "
                        f"ip netns exec a sh -c 'head -c 51200 </dev/zero | tr \\\\0 x | {OAE} "
                        f"send -q {self.cable.mac_b}'; wait; wc -c </tmp/got")
        self.assertEqual(out.split(), ["51200"])
        del data

    def test_waits(self):
        """What a link waits for is one sentence, whoever says it."""
        self.addCleanup(self.a.knob, "dead_ms", self.a.knob("dead_ms"))
        self.a.knob("dead_ms", 60000)
        self.addCleanup(self.cable.mend)
        self.cable.cut()
        sentence = r"the port here is down since [\d.]+ s, given up in [\d.]+ s"
        sender = self.start(self.a, "send", self.cable.mac_b, "late")
        wait_for(lambda: re.search(sentence + "$", oae(self.a, "show").out), "it to wait")
        self.assertRegex(oae(self.a, "top", "-b", "-c", "1", "-i", "0.05").out, sentence)
        families = self.parse(oae(self.a, "metrics").out)
        waited = {dict(labels)["vc"]: (dict(labels)["why"], seconds) for labels, seconds in
                  families["oae_link_waits_seconds"][2].items()}["0"]
        self.assertEqual(waited[0], "port")
        self.assertGreater(waited[1], 0)
        for command in (("send", self.cable.mac_b, "x"), ("swap", self.cable.mac_b, "half"),
                        ("read", self.cable.mac_b, "1", "0"),
                        ("ping", self.cable.mac_b, "-c", "1")):
            said = oae(self.a, *command, "-w", "0.2", status=2)
            self.assertRegex(said.err + said.out, "ETIME: its deadline passed; " + sentence)
        self.cable.mend()
        self.assertEqual(sender.end(), 0)
        self.assertEqual(self.b.read_one(), b"late")

    def test_recv_many(self):
        """-c: so many, each whole; the rest stays for the next that reads."""
        receiver = self.receiver(self.cable.mac_a, "-c", "3")
        for i in range(5):
            oae(self.a, "send", "-q", self.cable.mac_b, f"message {i}")
        self.assertEqual(receiver.end(), 0)
        self.assertEqual(receiver.lines, ["message 0", "message 1", "message 2"])
        said = oae(self.b, "recv", self.cable.mac_a, "-c", 2, "-w", 10)
        self.assertEqual(said.out, "message 3\nmessage 4\n")
        said = oae(self.b, "recv", self.cable.mac_a, "-w", 0.1, status=1)
        self.assertIn("nothing came for 100 ms", said.err)

    def test_recv_anybody(self):
        """Without a peer: whoever opens a link, on any channel."""
        receiver = self.receiver("-c", "2")
        oae(self.a, "send", "-q", "--vc", "21", self.cable.mac_b, "one")
        receiver.line(f"^{self.cable.mac_a} vc 21: one$")
        oae(self.a, "send", "-q", "--vc", "22", self.cable.mac_b, "two")
        receiver.line(f"^{self.cable.mac_a} vc 22: two$")
        self.assertEqual(receiver.end(), 0)

    def test_listen(self):
        """Peers as they appear, each once."""
        listener = self.start(self.b, "listen", "-j")
        for vc in (31, 32):
            oae(self.a, "send", "-q", "--vc", vc, self.cable.mac_b, "knock")
            listener.event(port="vb", peer=self.cable.mac_a, vc=vc)
        self.assertEqual(listener.stop(), 0)
        seen = [o["vc"] for o in listener.objects()]
        self.assertEqual(len(seen), len(set(seen)))
        oae(self.a, "send", "-q", "--vc", 34, self.cable.mac_b, "knock")
        said = oae(self.b, "listen", "-c", 1, "--vc", 34)
        self.assertEqual(said.out, f"vb {self.cable.mac_a} 34\n")
        said = oae(self.b, "listen", "-w", 0.1, "--vc", 33, status=1)
        self.assertIn("nobody came", said.err)
        self.b.read_all()

    def test_ping_message(self):
        """Messages are delivered, and counted."""
        before = self.b.stat("delivered")
        result, = oae(self.a, "ping", "-j", "-c", 10, "-i", 0, "--message", "-s", 100,
                      self.cable.mac_b).json
        self.assertEqual((result["kind"], result["bytes"], result["answered"]),
                         ("message", 100, 10))
        self.assertEqual(sum(line["count"] for line in result["histogram"]), 10)
        self.delivered()
        self.assertEqual(self.b.stat("delivered") - before, 10)
        self.assertEqual([len(m) for m in self.b.read_each()], [100] * 10)
        result, = oae(self.a, "ping", "-j", "-c", 3, "-i", 0, "--express", self.cable.mac_b).json
        self.assertEqual((result["kind"], result["bytes"], result["answered"]),
                         ("express", 64, 3))
        self.delivered()
        self.assertEqual(len(self.b.read_each()), 3)

    def test_ping_pending(self):
        """The outcome of an express that is not known in time is not taken for that of the next."""
        self.addCleanup(self.b.knob, "drop_pct", 0)
        self.b.knob("drop_pct", 100)
        pings = self.start(self.a, "ping", "-c", 2, "-i", 1, "-w", "0.2", "--express",
                           self.cable.mac_b)
        pings.line("^pending 1: EINPROGRESS")
        self.b.knob("drop_pct", 0)
        self.assertEqual(pings.end(), 4)
        pings.line("^committed 2: ")
        self.assertEqual(len(self.b.read_each()), 1)


class Verbs(CommandTest):
    """ping, expose, and the words that it exposes."""

    def exposed(self, *args):
        """oae expose at b, ready."""
        running = self.start(self.b, "expose", *args)
        running.line("^region |^{.region.:")
        return running

    def words(self, command, *args, status=0):
        """The old words."""
        said = oae(self.a, command, self.cable.mac_b, *args, status=status)
        return [int(word, 0) for word in said.out.split()]

    def test_ping(self):
        """Round trips; the histogram adds up; nothing is delivered to anybody."""
        before = self.b.stat("delivered_bytes")
        said = oae(self.a, "ping", "-j", "-c", 200, "-i", 0, self.cable.mac_b)
        result, = said.json
        self.assertEqual((result["kind"], result["sent"], result["answered"], result["reversed"]),
                         ("verb", 200, 200, 0))
        lines = result["histogram"]
        self.assertEqual(sum(line["count"] for line in lines), 200)
        self.assertLessEqual(lines[0]["from_us"], result["min_us"])
        self.assertLess(result["min_us"], lines[0]["to_us"])
        self.assertLessEqual(lines[-1]["from_us"], result["max_us"])
        self.assertLess(result["max_us"], lines[-1]["to_us"])
        self.assertTrue(0 < result["min_us"] <= result["median_us"] <= result["p99_us"] <=
                        result["max_us"], result)
        for line, after in zip(lines, lines[1:]):
            self.assertLessEqual(line["to_us"], after["from_us"])
        # The median is where half of them are.
        below = sum(line["count"] for line in lines if line["to_us"] <= result["median_us"])
        upto = sum(line["count"] for line in lines if line["from_us"] <= result["median_us"])
        self.assertTrue(below <= 100 <= upto, result)
        self.assertEqual(self.b.read_all(), b"")
        self.assertEqual(self.b.stat("delivered_bytes"), before)
        text = oae(self.a, "ping", "-c", 3, "-i", "0.01", self.cable.mac_b).out
        self.assertEqual(len(re.findall(r"(?m)^answer \d: [\d.]+ [mu]s$", text)), 3)
        self.assertRegex(text, rf"(?m)^--- {self.cable.mac_b} vc 0: 3 sent, 3 answered, 0 rev")
        bars = re.findall(r"(?m)^ *[\d.]+ [mun]?s to +[\d.]+ [mun]?s +(\d+)", text)
        self.assertEqual(sum(map(int, bars)), 3)

    def test_ping_nobody(self):
        """No answer is exit code 2, and said."""
        oae(self.a, "ping", "-c", 1, self.cable.mac_b)
        self.cable.cut()
        self.addCleanup(self.cable.mend)
        said = oae(self.a, "ping", "-c", 2, "-i", 0, "-w", "0.2", self.cable.mac_b, status=2)
        self.assertIn("2 sent, 0 answered, 2 reversed", said.out)
        self.assertIn("reversed 1: ETIME", said.out)

    def test_ping_interrupted(self):
        """An interrupt ends it, with the sum."""
        running = self.start(self.a, "ping", "-i", "0.01", self.cable.mac_b)
        running.line("^answer 3: ")
        self.assertEqual(running.stop(), 0)
        running.line("^--- .* 0 reversed$")
        running.line("^round trip: min ")

    def test_words(self):
        """Each verb, one word and several; the watcher sees what changes."""
        holder = self.exposed("64", "-R", "5", "--perm", "r,w,a", "--set", "8=17")
        self.assertEqual(self.words("read", 5, 8), [17])
        said = oae(self.a, "write", self.cable.mac_b, 5, 0, "0x10,-1")
        self.assertEqual(said.out, "committed\n")
        self.assertEqual(self.words("read", 5, 0, 3), [16, 2 ** 64 - 1, 0])
        self.assertEqual(self.words("xchg", 5, 0, 7), [16])
        self.assertEqual(self.words("add", 5, 8, 2), [2 ** 64 - 1])
        self.assertEqual(self.words("add", 5, 8, -3), [1])
        self.assertEqual(self.words("read", 5, 0, 2), [7, 2 ** 64 - 2])
        self.assertEqual(self.words("cas", 5, 0, 7, 8), [7])
        self.assertEqual(self.words("cas", 5, 0, 7, 9, status=5), [8])
        self.assertEqual(self.words("cas", 5, 16, "0,0,0", "1,2,3"), [0, 0, 0])
        self.assertEqual(self.words("cas", 5, 16, "1,2,4", "5,5,5", status=5), [1, 2, 3])
        self.assertEqual(oae(self.a, "read", "-x", self.cable.mac_b, 5, 16, 2).out,
                         "0x0000000000000001 0x0000000000000002\n")
        self.assertEqual(self.words("read", 5, 0, 8), [8, 2 ** 64 - 2, 1, 2, 3, 0, 0, 0])
        holder.line("^0: .* -> 8$")
        holder.line("^32: 0 -> 3$")
        self.assertEqual(holder.stop(), 0)
        said = oae(self.a, "read", self.cable.mac_b, 5, 0, status=2)
        self.assertIn("reversed: ENXIO: the peer exposes no such region", said.err)

    def test_json(self):
        """The same for programs."""
        holder = self.exposed("-j", "128", "-R", "6", "-P", "ra", "-c", "1")
        self.assertEqual(holder.objects()[0], {"region": 6, "size": 128, "perm": "ra"})
        result, = oae(self.a, "-j", "read", self.cable.mac_b, 6, 0, 16).json
        self.assertEqual(result, {"peer": self.cable.mac_b, "vc": 0, "result": "committed",
                                  "region": 6, "offset": 0, "taken": True, "old": [0] * 16})
        result, = oae(self.a, "-j", "cas", self.cable.mac_b, 6, 64, 1, 2, status=5).json
        self.assertEqual((result["taken"], result["old"]), (False, [0]))
        result, = oae(self.a, "-j", "write", self.cable.mac_b, 6, 0, 1, status=2).json
        self.assertEqual((result["result"], result["errno"]), ("reversed", "EACCES"))
        result, = oae(self.a, "-j", "read", self.cable.mac_b, 6, 128, status=2).json
        self.assertEqual((result["result"], result["errno"]), ("reversed", "ERANGE"))
        result, = oae(self.a, "-j", "add", self.cable.mac_b, 6, 120, 5).json
        self.assertEqual(result["old"], [0])
        holder.event(offset=120, old=0, new=5)
        self.assertEqual(holder.end(), 0)

    def test_expose_errors(self):
        """A number that is taken; a region that is for somebody else."""
        self.exposed("8", "-R", "7", "-P", "r")
        said = oae(self.b, "expose", "8", "-R", "7", "-P", "r", status=1)
        self.assertIn("region 7: EADDRINUSE", said.err)
        self.exposed("8", "-R", "8", "-P", "r", "--for", "02:0a:e0:00:99:99")
        said = oae(self.a, "read", self.cable.mac_b, 8, 0, status=2)
        self.assertIn("ENXIO", said.err)


class Swaps(CommandTest):
    """oae swap: both or neither."""

    def test_swap(self):
        """Each prints the other's half."""
        for args in [], ["-j"], ["-r"]:
            waiting = self.start(self.a, "swap", *args, self.cable.mac_b, "from a")
            said = oae(self.b, "swap", *args, self.cable.mac_a, "-", data=b"from\0b\n")
            self.assertEqual(waiting.end(), 0)
            if args == ["-j"]:
                mine, theirs = said.json[0], json.loads(waiting.lines[0])[0]
                self.assertEqual((mine["result"], mine["data"], mine["gave"], mine["took"]),
                                 ("committed", "from a", 7, 6))
                self.assertEqual((theirs["data"], theirs["peer"]), ("from\0b\n",
                                                                   self.cable.mac_b))
            elif args:
                self.assertEqual((said.out, waiting.lines), ("from a", ["from\0b"]))
            else:
                self.assertEqual((said.out, waiting.lines), ("from a\n", [r"from\x00b"]))

    def test_alone(self):
        """Nobody gives a half: it is taken back, in time or by an interrupt."""
        said = oae(self.a, "swap", self.cable.mac_b, "mine", "-w", "0.2", status=2)
        self.assertIn("reversed: ETIME", said.err)
        posted = self.a.stat("posted")
        waiting = self.start(self.a, "swap", self.cable.mac_b, "mine")
        wait_for(lambda: self.a.stat("posted") > posted, "the half to be posted", 20)
        self.assertEqual(waiting.stop(), 2)
        self.assertIn("reversed: EINTR", waiting.errors[0])
        said = oae(self.b, "swap", "-j", self.cable.mac_a, "late", "--timeout", "200", status=2)
        self.assertEqual(said.json[0]["result"], "reversed")


class Completion(CommandTest):
    """oae.bash in bash, as readline calls it."""

    def complete(self, *lines):
        """What it offers for each line."""
        script = (f". {REPO}/tools/oae/oae.bash; complete -p oae >/dev/null || exit 1; "
                  f'PATH={os.path.dirname(OAE)}:$PATH; COMP_WORDS=(oae); for line; do COMP_LINE=$line '
                  'COMP_POINT=${#line} COMPREPLY=(); _oae; echo "${COMPREPLY[*]}"; done')
        with self.a:
            done = subprocess.run(["bash", "-c", script, "bash", *lines], text=True, check=True,
                                  capture_output=True)
        self.assertEqual(done.stderr, "")
        return [set(line.split()) for line in done.stdout.splitlines()]

    def test_completion(self):
        """Ports, peers, knobs, counters, namespaces. manner.py has what needs no module."""
        self.a.write(b"hello")
        self.b.read_one()
        mac = self.cable.mac_b
        wanted = {"oae get dead_": {"dead_ms"}, "oae set peers=1 dead_": {"dead_ms="},
                  "oae port del ": {"va"}, "oae show port ": {"va"}, "oae ping --port ": {"va"},
                  "oae show peer ": {mac}, "oae send 02": {mac},
                  # readline has taken what is before the last colon already
                  f"oae ping {mac[:10]}": {mac[9:]}, "oae stats rx_": {"rx_frames", "rx_bytes"}}
        *got, names = self.complete(*wanted, "oae -n ")
        self.assertEqual(dict(zip(wanted, got)), wanted)
        self.assertLessEqual({"a", "b"}, names)

    def test_hostile_names(self):
        """A device whose name a shell would expand is not offered, and does no harm."""
        name = "$(id>$T)"
        with self.a:
            subprocess.run(["ip", "link", "add", "name", name, "type", "dummy"], check=True)
            self.addCleanup(self.a.sh, "ip link del name '$(id>$T)'")
            subprocess.run([OAE, "port", "add", name], check=True)
        os.environ["T"] = "/tmp/harm"
        self.assertEqual(self.complete("oae port del "), [{"va"}])
        self.assertFalse(os.path.exists("/tmp/harm"))
        self.assertIn(name, [port["port"] for port in oae(self.a, "-j", "port").json])
        self.assertIn(json.dumps(name), oae(self.a, "-j", "port").out)
        self.assertIn(f'oae_port_up{{port="{name}"}} 0', oae(self.a, "metrics").out)
