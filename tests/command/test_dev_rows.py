# SPDX-License-Identifier: GPL-2.0
"""Every command of oae, and what may happen to any of them: a table of commands, a test a row.

manner.py has the rows that need no module: -5 in each place, a peer that is misspelt, not loaded.
"""

import itertools
import json
import os
import re
import signal
import subprocess
from pathlib import Path

from oaecmd import OAE, Running, oae
from oaetest import load, unload, wait_for
from patience import SLOW
from topology import OneCable

REFUSED, OUTPUT = 6, 74         # a link with one path has no rank to be set

# What each command does here, at a; {b} is the other end. JSON, so that each prints something.
COMMANDS = {
    "show": "", "stats": "-z", "metrics": "", "neighbours": "", "get": "", "set": "verbose=0",
    "monitor": "-a -c 1", "top": "-c 1 -i 0.01", "port": "show", "path": "set va normal peer {b}",
    "ping": "-c 1 {b}", "send": "{b} -5", "swap": "{b} mine", "read": "{b} 9 0", "write": "{b} 9 8 -5",
    "xchg": "{b} 9 8 -5", "add": "{b} 9 0 0", "cas": "{b} 9 0 0 0", "recv": "-w 20 {b}", "listen": "-c 1 -w 20 -v {vc}",
    "spread": "", "expose": "8 -P rw -R 8 --set 0=-5 -c 1", "perf": "-c 1 {b} -v 40", "gateway": "show", "close": "{b} -v 41",
}
# Of those that print nothing before something happens: what the other end does then.
NEEDS = {"swap": "swap {a} theirs", "recv": "send {a} hello", "listen": "send {a} -v {vc} knock",
         "expose": "write {a} 8 0 1"}
# Whoever asks may look; for the others a capability is lacking.
LOOKS = {"show", "stats", "metrics", "neighbours", "get", "monitor", "top", "port"}
CHANGES = {"set", "close", "spread"}


class Rows(OneCable):
    """
        host a             host b
        va ----------------- vb        b exposes region 9, and serves oae perf
    """

    targets = True

    @classmethod
    def build(cls):
        super().build()
        cls.places = {"a": cls.cable.mac_a, "b": cls.cable.mac_b, "vc": 50}
        for args in ("expose 64 -P rwa -R 9", "perf --server -v 40"):
            running = Running(cls.b, *args.split())
            cls.addClassCleanup(running.kill)
        cls.a.write(b"open", vc=41)
        wait_for(lambda: oae(cls.a, "read", cls.places["b"], 9, 0, status=None).status == 0, "the region")

    def words(self, command):
        """A command line of the table. A listener is told of a link once."""
        self.places["vc"] += 1
        return ["-j", command, *COMMANDS[command].format(**self.places).split()]

    def setUp(self):
        super().setUp()
        self.open41()

    def open41(self):
        """The link that oae close closes, and that oae path is about."""
        self.a.write(b"open", vc=41)
        self.a.write(b"open", vc=0)
        self.b.read_all()

    def run_at_a(self, command, needs=True, **kwargs):
        """It, to its end; and what the other end has to do for it. Its status, and stderr."""
        with self.a:
            # pylint: disable=consider-using-with
            process = subprocess.Popen([OAE, *self.words(command)], stdin=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True, **kwargs)
        self.addCleanup(process.kill)
        if command in NEEDS and needs:
            self.other_end(command, process)
        _, said = process.communicate(timeout=30 * SLOW)
        return process.returncode, said

    def other_end(self, command, process):
        """What it needs; a region may not be there yet."""
        args = NEEDS[command].format(**self.places).split()
        wait_for(lambda: process.poll() is not None or not oae(self.b, *args, status=None).status,
                 f"{command} to be there")

    def each(self, check):
        """check(command) of each command, as a test of its own."""
        for command in COMMANDS:
            if command == "gateway":
                continue
            with self.subTest(command=command):
                check(command)
            if command == "close":
                self.open41()

    def test_table(self):
        """Every command is in it."""
        listed = re.findall(r"(?m)^  ([a-z]+) {2,}\S", oae(None, "--help").out)
        self.assertEqual(sorted(COMMANDS), sorted(listed))

    def test_full(self):
        """Standard output is full: a line, and a status that is not 0."""
        def check(command):
            with open("/dev/full", "w", encoding="ascii") as full:
                status, said = self.run_at_a(command, stdout=full)
            self.assertEqual(status, REFUSED if command == "path" else OUTPUT, said)
            self.assertIn(f"oae {command}: standard output: ENOSPC: No space left on device: not all was written\n",
                          said)
            if command == "recv":
                self.assertIn("5 bytes were received, and are left for the next reader\n", said)
                self.assertEqual(oae(self.a, "recv", self.places["b"]).out, "hello\n")
        self.each(check)

    def test_closed(self):
        """Nobody reads it: the command ends, and not as if all were well with what it has printed."""
        def check(command):
            reader, writer = os.pipe()
            os.close(reader)
            status, said = self.run_at_a(command, stdout=writer, restore_signals=False)
            os.close(writer)
            if command in ("monitor", "top", "recv", "listen", "ping", "perf", "expose"):
                self.assertIn(status, (0, 1, OUTPUT), said)     # it may have looked first, and done nothing
            else:
                self.assertEqual(status, REFUSED if command == "path" else OUTPUT, said)
                self.assertIn("EPIPE", said)
        self.each(check)
        self.b.read_all()
        self.a.read_all()

    def test_empty(self):
        """Standard input is empty, closed, or no file: nothing is sent."""
        for args, stdin, status, said in (
                ("send {b} -", "</dev/null", 64, "a byte"), ("swap {b} -", "</dev/null", 64, "a byte"),
                ("send {b}", "</dev/null", 64, "a byte"), ("send {b} -", "<&-", 64, "a byte"),
                ("swap {b} -", "</", 1, "stdin: EISDIR")):
            done = self.a.sh(f"{OAE} {args.format(**self.places)} {stdin}", check=False)
            self.assertEqual(done.returncode, status, done)
            self.assertIn(said, done.stderr)
        # No descriptor that is closed is that of the device.
        self.a.sh(f"{OAE} send {self.places['b']} -5 >&- 2>&- <&-", check=False)
        self.assertEqual(self.b.read_each(), [b"-5"])

    def test_negative(self):
        """What begins with - and a digit is what it looks like."""
        oae(self.a, "send", self.places["b"], "-5")
        self.assertEqual(self.b.read_one(), b"-5")
        oae(self.a, "write", self.places["b"], 9, 16, "-5,-0x10")
        self.assertEqual(oae(self.a, "-j", "read", self.places["b"], 9, 16, 2).json[0]["old"],
                         [2 ** 64 - 5, 2 ** 64 - 16])
        status, out = self.stopped_and_goes_on("swap", self.places["b"], "-5")
        self.assertEqual((status, json.loads(out)[0]["data"]), (0, "theirs"))

    def stopped_and_goes_on(self, *args):
        """Stop it while it waits, let it go on, and only then give it what it waits for."""
        with self.a:
            # pylint: disable=consider-using-with
            process = subprocess.Popen([OAE, "-j", *args], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.kill)
        proc = Path(f"/proc/{process.pid}")
        for _ in range(2):
            wait_for(lambda: "poll" in (proc / "wchan").read_text(), f"{args} to wait")
            process.send_signal(signal.SIGSTOP)
            wait_for(lambda: "State:\tT" in (proc / "status").read_text(), f"{args} to stop")
            process.send_signal(signal.SIGCONT)
        wait_for(lambda: "poll" in (proc / "wchan").read_text(), f"{args} to wait again")
        self.assertIsNone(process.poll())
        if args[0] in NEEDS:
            self.other_end(args[0], process)
        else:
            self.b.knob("drop_pct", 0)
        out, _ = process.communicate(timeout=30 * SLOW)
        return process.returncode, out

    def test_stopped(self):
        """SIGSTOP and SIGCONT, with a deadline and without: no transaction is reversed."""
        self.addCleanup(self.b.knob, "drop_pct", 0)
        for wait in [], ["-w", "60"]:
            for command in "send", "swap", "read", "add", "ping", "recv", "listen":
                with self.subTest(command=command, wait=wait):
                    if command not in NEEDS:
                        self.b.knob("drop_pct", 100)
                    args = [word for word in self.words(command)[2:] if word not in ("-w", "20")]
                    status, out = self.stopped_and_goes_on(command, *args, *wait)
                    self.assertEqual(status, 0, out)
                    self.assertNotIn("revers", out.replace('"reversed":0', ""))
        self.b.read_all()

    def test_not_root(self):
        """Looking is for everybody; else the capability that lacks is named, or the device's mode."""
        def check(command):
            status, said = self.run_at_a(command, False, stdout=subprocess.DEVNULL, user=65534,
                                         group=65534, extra_groups=[])
            if command == "path":       # says first that there is none
                return
            if command in LOOKS:
                self.assertEqual((status, said), (0, ""))
                return
            lacks = "EPERM: needs CAP_NET_ADMIN" if command in CHANGES else "/dev/oae: EACCES: not permitted; be root"
            self.assertIn(lacks, said)
            self.assertEqual(said.count("\n"), 1)
        self.each(check)
        self.a.read_all()
        self.b.read_all()
        # The device may be his, and the capability not.
        os.chmod("/dev/oae", 0o666)
        self.addCleanup(os.chmod, "/dev/oae", 0o600)
        self.assertIn("EPERM: needs CAP_NET_RAW in this network namespace; be root", self.run_at_a(
            "send", False, stdout=subprocess.DEVNULL, user=65534, group=65534, extra_groups=[])[1])


class Reload(OneCable):
    """
        host a             host b
        va ----------------- vb
    """

    targets = True

    def test_reload(self):
        """The module goes and comes back: who listens is told, and hears the new one."""
        kinds = Running(self.a, "-j", "monitor", "kind", "link,port")
        both = Running(self.a, "monitor")
        top = Running(self.a, "-j", "top", "-i", "0.02")
        for running in kinds, both, top:
            self.addCleanup(running.kill)
        top.line("seconds")
        vcs = itertools.count()
        wait_for(lambda: self.a.write(b"x", vc=next(vcs)) and any(
            o["what"] == "opened" for o in kinds.objects()), "the monitor to hear")
        unload()
        self.assertEqual(top.end(), 69, top.errors)
        kinds.event(module="modoae", loaded=False)
        both.line(r"^\(the module modoae is not loaded any more\)$")
        self.assertEqual(oae(self.a, "show", status=69).err,
                         "oae show: the module modoae is not loaded; as root: modprobe modoae\n")
        load()
        kinds.event(module="modoae", loaded=True)
        both.line(r"^\(the module modoae is loaded again\)$")
        for n in (0, 1):
            self.cable.bind(n)
        before = len(kinds.lines)
        self.a.write(b"y", target=self.cable.mac_b)
        wait_for(lambda: any(json.loads(line).get("what") == "opened" for line in kinds.lines[before:]),
                 "the new link")
        both.line(r"outcome committed|note opened")
        self.assertEqual((kinds.stop(), both.stop()), (0, 0))
