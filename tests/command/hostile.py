#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the command oae makes of files that no module writes.

    make -C tools/oae check        builds it with sanitizers, and runs this
    tests/command/hostile.py OAE       with that one; ROUNDS=50, SEED=1 in the environment

Whatever is in /proc: it ends with 0 or 1, its JSON is JSON, its metrics are lines of their
format, and nothing but printable ASCII goes to a terminal; in a locale of UTF-8 nothing but
letters and signs.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

OAE = sys.argv.pop() if len(sys.argv) > 1 else "build/oae-check/oae"
ROUNDS = int(os.environ.get("ROUNDS", "50"))

HEAD = ("port             vc state      offer   hold     peer              way            rx"
        "         tx unread queue   rtt_us minrtt_us kid                   age_s lanes window cwnd ssthresh"
        " repaired failures waits since_ms until_ms unread_bytes idle_ms says\n")
LINK = ("eth0              0 OPEN       -       -        02:0a:e0:00:00:01 direct          1"
        "          0      0     0     1821      1702 0x0000020ae0000001       12     3     16   12        6"
        "        2        1 answer    3200     1800            0       0 no answer since 3.2 s\n")
STATS = ("rx_frames                               12  # frames received\n"
         "bad_short                                0  # frames dropped: shorter than they say\n"
         "note_down                                3  # links down: no answer for dead_ms\n"
         "took_ns                         1500000000  # ns from offer to commit, all together\n"
         "took_4096ns                              5  # less than 4.1 us from offer to commit\n"
         "took_8192ns                              1  # 4.1 to 8.19 us from offer to commit\n"
         "took_longer                              2  # 1.07 s or longer from offer to commit\n")
LOG = ("     7.331922 0x0000020ae0000001 rcv SYNC                     CLOSED -> SYNC_RECD  seq 0\n"
       "     7.336900 0x0300020ae0000002 note down                      OPEN -> SYNC_SENT  seq 7\n"
       "     7.336901 0x0000020ae0000001 post                           OPEN -> OPEN       seq 1\n")
ZONES = ("zone state       address                                  nodes   mtu heard_ms  tx_frames"
         "  rx_frames route\n"
         "1    mine        10.1.0.1                                     1  1464        -          -"
         "          - eth1 02:0a:e0:00:01:01\n"
         "2    up          10.2.0.1                                     1  1464      336          5"
         "          4 eth0 from 10.1.0.1\n")
NODES = ("mac               zone where   age_ms left_ms\n"
         "02:0a:e0:00:00:01    1 local      592   29408\n")
PATHS = ("port             vc peer              path by              to                via               state  used "
         "  mtu   rtt_us loss_pct  since_s why     rank\n"
         "eth0              0 02:0a:e0:00:00:01    0 eth0            02:0a:e0:00:00:01 -                 down   -   "
         "  1500        0    0.000        - -       normal\n"
         "eth0              0 02:0a:e0:00:00:01    1 7               02:0a:e0:00:00:07 02:0a:e0:00:00:09 good   yes "
         "  9000      412    0.502       17 loss    preferred\n")
NEIGHBOURS = ("id               port            mac                 mtu heard_ms inc             \n"
              "0001020ae0000001 eth0            02:0a:e0:00:00:01  1500     1234 fedcba9876543210\n")
PLAIN = {"modoae/tags": HEAD + LINK, "modoae/paths": PATHS, "modoae/neighbours": NEIGHBOURS,
         "modoae/stats": STATS, "modoae/ev_log": LOG,
         "modoaeip/zones": ZONES, "modoaeip/mactbl": NODES, "modoaeip/stats": STATS,
         "sys/module/modoae/parameters/dev": "eth0,lo\n"}

# Which commands read a file; and those that print a value a line, the others print one.
STATS_LOOKS = ("stats", "stats -z", "stats -z note", "metrics")
LOOKS_AT = {"modoae/tags": ("show", "metrics", "top -b -c 1 -i 0.01"),
            "modoae/paths": ("show paths",), "modoae/neighbours": ("neighbours",),
            "modoae/stats": STATS_LOOKS, "modoae/ev_log": ("monitor -a -c 2",),
            "modoaeip/zones": ("show zones", "metrics"), "modoaeip/mactbl": ("show nodes",),
            "modoaeip/stats": STATS_LOOKS, "sys/module/modoae/parameters/dev": ("port",)}
LOOKS = tuple(dict.fromkeys(command for commands in LOOKS_AT.values() for command in commands))
LINES = ("top", "monitor")


class Hostile(unittest.TestCase):
    """One directory stands for /proc/self/net and /sys."""

    locale = "C"
    leaks = True        # what is not freed is looked for, which takes as long as all else

    def setUp(self):
        # pylint: disable=consider-using-with
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.write(PLAIN)

    def write(self, files):
        """Put files there."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def oae(self, *args, enough=True, status=None):
        """Run it. It may say no, but it does not crash. None: with whichever status."""
        env = {**os.environ, "LC_ALL": self.locale, "OAE_PROC_NET": str(self.root), "OAE_SYS": str(self.root / "sys"),
               "ASAN_OPTIONS": f"exitcode=99:detect_leaks={self.leaks:d}",
               "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99"}
        if "monitor" in args and not enough:
            # Nothing that it could print may be left: it would wait for ever. In the foreground:
            # else SIGCONT follows, and may undo the SIGSTOP by which the leak check at exit
            # attaches to it, and waits.
            args = ["timeout", "--foreground", "-s", "INT", "0.3", OAE, *args]
        else:
            args = [OAE, *args]
        done = subprocess.run(args, env=env, capture_output=True, check=False, timeout=600)
        self.assertIn(done.returncode, (0, 1, 124) if status is None else (status,), (args, done.stderr))
        self.assertNotIn(b"Sanitizer", done.stderr)
        self.assertNotIn(b"runtime error", done.stderr)
        return done.stdout

    def look(self, *files, enough=True):
        """Every command, or those that read one of these files, for people and for programs."""
        for command in LOOKS:
            if files and not any(command in LOOKS_AT[name] for name in files):
                continue
            args = command.split()
            text = self.oae(*args, enough=enough)
            if args[0] == "metrics":
                self.metrics(text)
            elif self.locale == "C":
                self.assertRegex(text, rb"\A[ -~\n]*\Z", command)
            else:
                for char in text.decode():      # UTF-8, or it fails
                    self.assertTrue(char == "\n" or char.isprintable(), (command, char))
            text = self.oae("-j", *args, enough=enough).decode()     # UTF-8, or it fails
            values = text.splitlines() if args[0] in LINES else [text] if text else []
            for value in values:
                json.loads(value)

    def metrics(self, text):
        """Lines of the format."""
        for line in text.decode().split("\n")[:-1]:
            self.assertRegex(line, r'\A(# (HELP|TYPE) [a-z0-9_]+ .*|[a-z_][a-z0-9_]*'
                             r'(\{([a-z]+="([^"\\\n]|\\["\\n])*",?)+\})? \d+(\.\d+)?)\Z')

    def test_plain(self):
        """What is meant to be there is shown as it is."""
        self.look()
        link, = json.loads(self.oae("-j", "show"))
        self.assertEqual(link, {
            "port": "eth0", "vc": 0, "state": "OPEN", "offer": "-", "hold": "-",
            "peer": "02:0a:e0:00:00:01", "way": "direct", "rx": 1, "tx": 0, "unread": 0,
            "queue": 0, "rtt_us": 1821, "minrtt_us": 1702, "kid": "0x0000020ae0000001", "age_s": 12,
            "lanes": 3, "window": 16, "cwnd": 12, "ssthresh": 6, "repaired": 2, "failures": 1,
            "waits": "answer", "since_ms": 3200, "until_ms": 1800, "unread_bytes": 0, "idle_ms": 0,
            "says": "no answer since 3.2 s"})
        self.assertRegex(self.oae("show", "links").decode(), r"3/16 +12 +2 +1  no answer since 3\.2 s\n$")
        neighbour, = json.loads(self.oae("-j", "neighbours"))
        self.assertEqual(neighbour, {
            "id": "id:0001020ae0000001", "port": "eth0", "address": "02:0a:e0:00:00:01",
            "mtu": 1500, "heard_ms": 1234, "inc": "0xfedcba9876543210"})
        # A module that has no window says nothing of one.
        old = "".join(line[:line.index(end)] + end + "\n"
                      for line, end in ((HEAD, "age_s"), (LINK, "       12")))
        self.write(PLAIN | {"modoae/tags": old})
        self.assertEqual(self.oae("show", "links").decode().split()[-5:], ["-"] * 5)
        self.assertNotIn("window", json.loads(self.oae("-j", "show"))[0])
        self.write(PLAIN)
        own, other = json.loads(self.oae("-j", "show", "paths", "peer", "1"))
        self.assertEqual(own, {
            "port": "eth0", "vc": 0, "peer": "02:0a:e0:00:00:01", "path": 0, "by": "eth0",
            "to": "02:0a:e0:00:00:01", "via": None, "state": "down", "used": "-", "mtu": 1500, "rtt_us": 0,
            "loss_pct": "0.000", "since_s": None, "why": None, "rank": "normal"})
        self.assertEqual((other["by"], other["used"], other["since_s"]), ("7", "yes", 17))
        for args in (), ("port", "eth0"), ("vc", "0"):
            self.assertEqual(self.oae("show", "paths", *args).decode().split()[-13:], [
                "02:0a:e0:00:00:07", "02:0a:e0:00:00:09", "good", "yes", "9000", "412", "us", "0.502", "%", "17", "s",
                "loss", "preferred"], args)
        for args in ("port", "eth1"), ("vc", "1"), ("peer", "7"):
            self.assertEqual(self.oae("show", "paths", *args), b"no link has more than one path\n")
            self.assertEqual(json.loads(self.oae("-j", "show", "paths", *args)), [])
        mine, other = json.loads(self.oae("-j", "show", "zones"))
        self.assertEqual((mine["heard_ms"], mine["route"]), (None, "eth1 02:0a:e0:00:01:01"))
        self.assertEqual((other["tx_frames"], other["route"]), (5, "eth0 from 10.1.0.1"))
        node, = json.loads(self.oae("-j", "show", "nodes"))
        self.assertEqual(node, {"mac": "02:0a:e0:00:00:01", "zone": 1, "where": "local",
                                "age_ms": 592, "left_ms": 29408})
        events = [json.loads(line) for line in self.oae("-j", "monitor", "-ac3").splitlines()]
        self.assertEqual(events[1], {
            "time_us": 7336900, "peer": "02:0a:e0:00:00:02", "vc": 3, "kind": "note",
            "what": "down", "before": "OPEN", "after": "SYNC_SENT", "seq": 7})
        self.assertEqual((events[2]["kind"], events[2]["what"]), ("post", ""))
        text = self.oae("metrics").decode()
        self.assertIn('oaeip_zone_up{zone="2"} 1\n', text)
        self.assertIn('oaeip_zone_rx_frames_total{zone="2"} 4\n', text)
        self.assertIn("oaeip_rx_frames_total 12\n", text)
        self.assertEqual(re.findall(r"(?m)^oae_commit_seconds_(.*)", text), [
            'bucket{le="0.000004096"} 5', 'bucket{le="0.000008192"} 6', 'bucket{le="+Inf"} 8',
            "sum 1.5", "count 8"])

    def test_output_file(self):
        """metrics -o: a file is replaced, also behind a link; what is no file is written to."""
        whole = self.oae("metrics")
        self.assertEqual(self.oae("metrics", "-o", "-"), whole)
        (self.root / "file").write_text("as it was before")
        inode = (self.root / "file").stat().st_ino
        (self.root / "link").symlink_to("target")
        os.mkfifo(self.root / "fifo")
        for name in "file", "new", "link", "link":
            self.assertEqual(self.oae("metrics", "-o", str(self.root / name)), b"", name)
            self.assertEqual((self.root / name).read_bytes(), whole)
        self.assertNotEqual((self.root / "file").stat().st_ino, inode)
        self.assertTrue((self.root / "link").is_symlink())
        with subprocess.Popen(["cat", self.root / "fifo"], stdout=subprocess.PIPE) as reader:
            self.addCleanup(reader.kill)
            self.oae("metrics", "-o", str(self.root / "fifo"))
            self.assertEqual(reader.stdout.read(), whole)
        self.oae("metrics", "-o", "/dev/null")
        self.assertTrue(Path("/dev/null").is_char_device())
        for where in "/dev/full", str(self.root), str(self.root / "no" / "such"):
            self.oae("metrics", "-o", where, status=1)
        self.assertEqual(sorted(path.name for path in self.root.iterdir()),
                         ["fifo", "file", "link", "modoae", "modoaeip", "new", "sys", "target"])

    def test_names(self):
        """Names of devices that are not for terminals, JSON or labels."""
        self.leaks = False
        for name in ('a"b', "back\\slash", "\033[2J", "\u00fcml\u00e4ut", b"\xff\xfe\xc3",
                     "7", "-", b"\xed\xa0\x80", "a" * 15, "a" * 5000, "%s%n", "$(id)"):
            self.locale = "C"
            raw = name if isinstance(name, bytes) else name.encode()
            self.write({"modoae/tags": HEAD.encode() + LINK.encode().replace(b"eth0", raw),
                        "sys/module/modoae/parameters/dev": raw + b",eth0\n"})
            self.look("modoae/tags", "sys/module/modoae/parameters/dev")
            link, = json.loads(self.oae("-j", "show").decode())
            if isinstance(name, str):
                self.assertEqual(link["port"], name)
            else:
                self.assertIn("\ufffd", link["port"])
        # Letters are, wide ones and those that are put together, too; what turns or hides text is not.
        self.locale = "C.UTF-8"
        for name, shown in (("\u00fcml\u00e4ut", True), ("\u65e5\u672c", True), ("\u0e01\u0e31", True), ("\u202eevil", False),
                            ("a\u200bb", False), ("\u009b2J", False), ("\U000e0041", False)):
            self.write({"modoae/tags": HEAD + LINK.replace("eth0", name)})
            self.look("modoae/tags")
            line = self.oae("show", "links").decode().splitlines()[-1]
            self.assertEqual(line.startswith(name + " "), shown, (name, line))
        # Columns are as wide as what is seen.
        self.write({"modoae/tags": HEAD + LINK.replace("eth0", "\u65e5\u672c") + LINK})
        head, wide, plain = self.oae("show", "links").decode().splitlines()
        self.assertEqual(wide.index("02:"), plain.index("02:") - 2)
        self.assertEqual(head.index("PEER"), plain.index("02:"))

    def test_columns(self):
        """Columns in another order, one more, one less."""
        words = [line.split() for line in (HEAD, LINK)]
        for order in (range(13, -1, -1), [*range(14), 3], range(1, 14), [0], []):
            self.write({"modoae/tags": "".join(
                " ".join(row[i] for i in order) + "\n" for row in words)})
            self.look("modoae/tags")
        self.write({"modoae/tags": "".join(
            " ".join(reversed(row[:19])) + "\n" for row in words)})
        self.assertEqual(json.loads(self.oae("-j", "show"))[0]["rtt_us"], 1821)
        self.assertIn(b"1.82 ms", self.oae("show"))

    def test_lengths(self):
        """Nothing, nearly nothing, far too much."""
        self.leaks = False
        for text in (b"", b"\n", b"\0", b"x" * 1000000, b"x " * 300000, b"0" * 400 + b"\n"):
            for name, commands in LOOKS_AT.items():
                self.write({**PLAIN, name: text})
                for command in commands:
                    self.oae(*command.split(), enough=False)
                    self.oae("-j", *command.split(), enough=False)
        for number in "9" * 20, "9" * 400, "-1", "0x10", "18446744073709551615":
            self.write({"modoae/tags": HEAD + re.sub(r" 1821 ", f" {number} ", LINK),
                        "modoae/stats": STATS.replace(" 12 ", f" {number} "),
                        "modoae/ev_log": LOG.replace("7.336900", number) + LOG,
                        "modoaeip/zones": ZONES.replace(" 1464 ", f" {number} ")})
            self.look("modoae/tags", "modoae/stats", "modoae/ev_log", "modoaeip/zones")

    def test_many(self):
        """Ten thousand links, as many events: the same log twice is no news."""
        links = "".join(LINK.replace("00:00:01", f"{i >> 16:02x}:{i >> 8 & 255:02x}:{i & 255:02x}")
                        for i in range(10000))
        self.write({"modoae/tags": HEAD + links, "modoae/ev_log": LOG * 4000})
        self.assertEqual(len(json.loads(self.oae("-j", "show"))), 10000)
        self.assertEqual(len(self.oae("monitor", "-a", "-c", "12000").splitlines()), 12000)
        self.look()

    def test_noise(self):
        """Bytes changed, cut out, doubled at random."""
        seed = int(os.environ.get("SEED", "1"))
        for i in range(ROUNDS):
            dice = random.Random(f"{seed} {i}")
            files = {}
            for name, text in PLAIN.items():
                text = bytearray(text.encode())
                for _ in range(dice.choice((0, 1, 3, 20))):
                    at = dice.randrange(len(text) + 1)
                    what = dice.randrange(4)
                    if what == 0:
                        text[at:at + 1] = bytes([dice.randrange(256)])
                    elif what == 1:
                        del text[at:at + dice.randrange(40)]
                    elif what == 2:
                        text[at:at] = text[:dice.randrange(200)]
                    else:
                        text[at:at] = dice.choice((b"\n", b" ", b"\0", b"-", b"9" * 20, b"\xc3\xa9",
                                                   b"\xf0\x9f", b"\"", b"\\", b"#"))
                files[name] = bytes(text)
            # Two events that are good, so that monitor ends.
            files["modoae/ev_log"] += b"\n" + LOG.encode()
            with self.subTest(seed=seed, i=i):
                self.write(files)
                command = dice.choice(LOOKS).split()
                text = self.oae(*command)
                if command[0] == "metrics":
                    self.metrics(text)
                else:
                    self.assertRegex(text, rb"\A[ -~\n]*\Z")
                text = self.oae("-j", *command).decode()
                for value in text.splitlines() if command[0] in LINES else [text] if text else []:
                    json.loads(value)


if __name__ == "__main__":
    unittest.main(verbosity=2)
