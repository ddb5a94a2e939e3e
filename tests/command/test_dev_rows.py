# SPDX-License-Identifier: GPL-2.0
"""Every command of oae, and what may happen to any of them: a table of commands, a test a row.

Each row has each command, or NO_MEANING says in a word why not. Rows.cells() looks that no cell is left out.
manner.py has more of the rows that need no module: what is wrong usage, not loaded.
"""

import errno
import itertools
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import gateway
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
    "pipe": "-w 20 {b} -v 42",
    "spread": "", "expose": "8 -P rw -R 8 --set 0=-5 -c 1", "perf": "-c 1 {b} -v 40", "gateway": "show", "close": "{b} -v 41",
}
# Of those that print nothing before something happens: what the other end does then.
NEEDS = {"swap": "swap {a} theirs", "recv": "send {a} hello", "pipe": "pipe {a} -v 42 -w 20", "listen": "send {a} -v {vc} knock",
         "expose": "write {a} 8 0 1"}
DATA = {"pipe": b"hello"}       # and what is on its standard input
# Whoever asks may look; for the others a capability is lacking.
LOOKS = {"show", "stats", "metrics", "neighbours", "get", "monitor", "top", "port", "gateway"}
CHANGES = {"set", "close", "spread"}
# Those that wait for the other end, which may be silent; and those that have a -w for that.
WAITS = {"ping", "send", "swap", "read", "write", "xchg", "add", "cas", "recv", "listen", "perf", "pipe"}
# Those that look whether anybody reads before they begin, and what their status is.
LOOKS_FIRST = {"monitor": 0, "top": 0, "recv": 1, "listen": 1, "perf": 1}
AT_ONCE = {"show", "stats", "metrics", "neighbours", "get", "set", "port", "path", "spread", "gateway", "close"}
# Words that may begin with - and a digit, by their place behind the command.
VALUES = {"send": [1], "swap": [1], "write": [3], "xchg": [3], "add": [3], "cas": [3, 4]}

NO_MEANING = {
    "stdin": {command: "it reads none" for command in (AT_ONCE | WAITS | {"monitor", "top", "expose"}) - {"send", "swap"}} |
             {"pipe": "it sends what there is"},
    "stopped": {command: "it does not wait" for command in AT_ONCE},
    "misspelt": {command: "it has no PEER" for command in (AT_ONCE - {"path", "close", "show"}) | {"expose"}},
    "not root": {"path": "a link with one path is refused first"},
}


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
        gateway.modprobe(*gateway.NEEDS)
        load(module=gateway.MODULE)
        cls.addClassCleanup(unload, "modoaeip")
        cls.a.write(b"open", vc=41)
        wait_for(lambda: oae(cls.a, "read", cls.places["b"], 9, 0, status=None).status == 0, "the region")

    def words(self, command):
        """A command line of the table. A listener is told of a link once."""
        self.places["vc"] += command == "listen"
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
        wait_for(lambda: process.poll() is not None or not oae(self.b, *args, data=DATA.get(command, b""), status=None).status,
                 f"{command} to be there")

    def each(self, row, check):
        """check(command) of each command that the row has, as a test of its own."""
        without = NO_MEANING.get(row, {})
        self.assertLessEqual(set(without), set(COMMANDS))
        for command in COMMANDS:
            if command in without:
                continue
            with self.subTest(row=row, command=command):
                check(command)
            if command == "close":
                self.open41()

    def test_table(self):
        """Every command is in it; and what takes no PEER, as --help says, is said to have none."""
        listed = re.findall(r"(?m)^  ([a-z]+) {2,}\S", oae(None, "--help").out)
        self.assertEqual(sorted(COMMANDS), sorted(listed))
        for command in COMMANDS:
            said = oae(None, command, "--help").out
            self.assertEqual(command in WAITS, "--wait" in said, command)

    def test_full(self):
        """Standard output is full: a line, and a status that is not 0."""
        def check(command):
            with open("/dev/full", "w", encoding="ascii") as full:
                status, said = self.run_at_a(command, stdout=full)
            self.assertEqual(status, REFUSED if command == "path" else OUTPUT, said)
            line = "standard output: ENOSPC: No space left on device: not all was written"
            self.assertIn(f'"error":"{line}"' if command == "pipe" else f"oae {command}: {line}\n", said)
            if command == "recv":
                self.assertIn("5 bytes were received, and are left for the next reader\n", said)
                self.assertEqual(oae(self.a, "recv", self.places["b"]).out, "hello\n")
        self.each("full", check)

    def test_closed(self):
        """Nobody reads it: the command ends, whether or not anything comes, and not as if all were well."""
        def check(command):
            reader, writer = os.pipe()
            os.close(reader)
            # A half that was posted is not taken back for that.
            status, said = self.run_at_a(command, command == "swap", stdout=writer, restore_signals=False)
            os.close(writer)
            # It looks before it begins, and has nothing to say.
            if command in LOOKS_FIRST:
                self.assertEqual((status, said), (LOOKS_FIRST[command], ""))
            else:
                self.assertEqual(status, {"path": REFUSED, "ping": 1}.get(command, OUTPUT), said)
                self.assertIn("standard output: EPIPE", said)
        self.each("closed", check)
        self.b.read_all()
        self.a.read_all()

    def test_stdin(self):
        """Standard input is empty, closed, or no file: nothing is sent."""
        def check(command):
            for word, stdin, status, said in (("-", "</dev/null", 64, "a byte"), ("-", "<&-", 64, "a byte"),
                                              ("-", "</", 1, "stdin: EISDIR: Is a directory")):
                done = self.a.sh(f"{OAE} {command} {self.places['b']} {word} {stdin}", check=False)
                self.assertEqual(done.returncode, status, done)
                self.assertIn(said, done.stderr)
        self.each("stdin", check)
        self.assertEqual(oae(self.a, "send", self.places["b"], status=64).err.count("a byte"), 1)
        # No descriptor that is closed is that of the device.
        self.a.sh(f"{OAE} send {self.places['b']} -5 >&- 2>&- <&-", check=False)
        self.assertEqual(self.b.read_each(), [b"-5"])

    def test_minus(self):
        """-5 in each place of each command, and behind all: wrong, in the word that was typed, or the value."""
        def check(command):
            words = self.words(command)[2:]
            for place in range(len(words) + 1):
                if place in VALUES.get(command, ()):
                    continue
                args = [*words[:place], "-5", *words[place + 1:]]
                done = oae(self.a, command, *args, status=None)
                self.assertIn(done.status, (64, REFUSED, 1), done)
                self.assertRegex(done.err, r"\Aoae [^\n]*(?<![0-9])-5[^\n]*\n\Z", done)
                self.assertEqual(done.out, "", done)
        self.each("minus", check)
        self.assertEqual(self.b.read_each(), [])

    def test_misspelt(self):
        """A peer that is misspelt: said with the word, and nothing is sent."""
        def check(command):
            for wrong in "bad", "node-o2", "va/bad", "02:0a:e0:00:00:0", "id:2", "":
                args = [wrong if word == self.places["b"] else word for word in self.words(command)[2:]]
                if wrong not in args:
                    args = [wrong] if command == "listen" else ["peer", wrong]
                done = oae(self.a, command, *args, status=64)
                self.assertRegex(done.err, rf'\Aoae {command}: [^\n]*"{wrong}" is (no peer|neither a MAC)[^\n]*\n\Z')
                self.assertEqual(done.out, "")
        self.each("misspelt", check)
        self.assertEqual(self.b.read_each(), [])

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

        def waits(proc):
            # Not every kernel knows where it sleeps.
            where = (proc / "wchan").read_text()
            return re.search("poll|ring", where) or (
                (where == "0" or SLOW > 1) and "State:\tS" in (proc / "status").read_text())
        for _ in range(2):
            wait_for(lambda: waits(proc), f"{args} to wait")
            process.send_signal(signal.SIGSTOP)
            wait_for(lambda: "State:\tT" in (proc / "status").read_text(), f"{args} to stop")
            process.send_signal(signal.SIGCONT)
        wait_for(lambda: waits(proc), f"{args} to wait again")
        self.assertIsNone(process.poll())
        if args[0] == "monitor":
            self.b.write(b"news")
        elif args[0] in NEEDS:
            self.other_end(args[0], process)
        else:
            self.b.knob("drop_pct", 0)
        out, _ = process.communicate(timeout=30 * SLOW)
        return process.returncode, out

    def test_stopped(self):
        """SIGSTOP and SIGCONT, with a deadline and without: it goes on, and nothing is reversed or missed."""
        self.addCleanup(self.b.knob, "drop_pct", 0)
        longer = {"top": "-c 2 -i 2", "monitor": "-c 1 kind outcome,rcv"}

        def check(command):
            for wait in ([], ["-w", "60"]) if command in WAITS else ([],):
                if command in WAITS and command not in NEEDS:
                    self.b.knob("drop_pct", 100)
                words = longer[command].split() if command in longer else self.words(command)[2:]
                args = [word for word in words if word not in ("-w", "20")]
                status, out = self.stopped_and_goes_on(command, *args, *wait)
                self.assertEqual(status, 0, out)
                self.assertTrue(out)
                self.assertNotRegex(out, r'"reversed":[1-9]|"result":"(?!committed)')
            self.a.read_all()
        self.each("stopped", check)
        self.b.read_all()
        self.a.read_all()

    def test_not_root(self):
        """Looking is for everybody; else the capability that lacks is named, or the device's mode."""
        def check(command):
            status, said = self.run_at_a(command, False, stdout=subprocess.DEVNULL, user=65534,
                                         group=65534, extra_groups=[])
            if command in LOOKS:
                self.assertEqual((status, said), (0, ""))
                return
            lacks = "EPERM: needs CAP_NET_ADMIN" if command in CHANGES else "/dev/oae: EACCES: not permitted; be root"
            self.assertIn(lacks, said)
            self.assertEqual(said.count("\n"), 1)
        self.each("not root", check)
        self.a.read_all()
        self.b.read_all()
        # The device may be his, and the capability not.
        os.chmod("/dev/oae", 0o666)
        self.addCleanup(os.chmod, "/dev/oae", 0o600)
        self.assertIn("EPERM: needs CAP_NET_RAW in this network namespace; be root", self.run_at_a(
            "send", False, stdout=subprocess.DEVNULL, user=65534, group=65534, extra_groups=[])[1])


# What takes something of the other end, which Rows has.
ABSENT = {command: "its other end is of a region, a server or a program" for command in (
    "swap", "read", "write", "xchg", "add", "cas", "recv", "listen", "expose", "perf", "gateway", "close", "pipe")}


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
        receiver = Running(self.a, "recv", self.cable.mac_b)
        self.addCleanup(receiver.kill)
        wait_for(lambda: any(link["owners"] for link in oae(self.a, "-j", "show", "-p").json), "it to have the device open")
        self.assert_errno(errno.EWOULDBLOCK, unload)
        receiver.stop()
        unload()
        self.assertEqual(top.end(), 69, top.errors)
        kinds.event(module="modoae", loaded=False)
        both.line(r"^\(the module modoae is not loaded any more\)$")
        places = {"a": self.cable.mac_a, "b": self.cable.mac_b, "vc": 1}
        for command, args in COMMANDS.items():
            module = "modoaeip" if command == "gateway" else "modoae"
            with self.subTest(row="gone", command=command):
                self.assertEqual(oae(self.a, command, *args.format(**places).split(), status=69).err,
                                 f"oae {command}: the module {module} is not loaded; as root: modprobe {module}\n")
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
        self.b.read_all()
        for command in COMMANDS.keys() - ABSENT.keys():
            with self.subTest(row="back", command=command):
                args = COMMANDS[command].format(**places).split()
                oae(self.a, command, *args, status=REFUSED if command == "path" else 0)
