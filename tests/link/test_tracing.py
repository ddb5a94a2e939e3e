# SPDX-License-Identifier: GPL-2.0
"""The tracepoints say in words what happens, and tools/bpftrace shows it."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from oaetest import MODULE, REPO, load, run, unload, wait_for
from topology import OneCable

TRACING = Path("/sys/kernel/tracing")


class Tracing(OneCable):
    __doc__ = OneCable.__doc__
    targets = True
    patience = 120

    def set(self, name, value):
        """One of tracefs' files."""
        (TRACING / name).write_text(value, "ascii")

    def setUp(self):
        super().setUp()
        if not TRACING.is_mount():
            run("mount", "-t", "tracefs", "none", str(TRACING))

    def test_words(self):
        """Which link, what, and from which state to which."""
        self.set("events/modoae/oae_event/filter", 'word == "OFFER" || word == "committed"')
        self.addCleanup(self.set, "events/modoae/oae_event/filter", "0")
        self.set("trace", "")
        self.set("events/modoae/enable", "1")
        self.addCleanup(self.set, "events/modoae/enable", "0")
        self.assertEqual(self.a.write(b"hello", vc=9), 5)
        self.assertEqual(self.b.read_one(), b"hello")
        with self.a:
            netns = os.stat("/proc/thread-self/ns/net").st_ino
        mine = f"netns={netns} port=va peer={self.cable.mac_b} vc=9"
        said = [line.split(": ", 1)[1].replace("SYNC_RECD", "SYNC_SENT") for line in (TRACING / "trace").read_text("ascii").splitlines()
                if f"netns={netns} " in line]
        self.assertEqual(said, [
            f"oae_event: {mine} event=send word=OFFER state=SYNC_SENT->OPEN seq=1",
            f"oae_event: {mine} event=outcome word=committed state=OPEN->OPEN seq=1",
            f"oae_outcome: {mine} outcome=committed err=0 seq=1"])

    def test_types(self):
        """The fields of a record have types of C: a kernel without BTF tells bpftrace no others."""
        formats = list((TRACING / "events/modoae").glob("*/format"))
        self.assertGreaterEqual(len(formats), 2)
        for path in formats:
            types = re.findall(r"field:([\w ]+) \w+(?:\[\d*\])?;", path.read_text("ascii"))
            self.assertLessEqual(set(" ".join(types).split()),
                                 {"unsigned", "signed", "char", "short", "int", "long"}, path)

    def traced(self, name, work, last=None):
        """What a script of tools/bpftrace says of what work() does, down to a line with `last`."""
        if not Path("/proc/sys/kernel/perf_event_paranoid").exists():
            self.skipTest("bpftrace needs perf events, which this kernel has not")
        if not Path("/sys/kernel/btf/vmlinux").exists():
            self.skipTest("this kernel does not say its types")
        if not shutil.which("bpftrace"):
            raise unittest.SkipTest("there is no bpftrace here")
        with subprocess.Popen([REPO / "tools" / "bpftrace" / name], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            self.addCleanup(process.kill)
            said = line = ""
            while not re.match("Tracing|TIME", line):
                line = process.stdout.readline()
                said += line
                self.assertTrue(line, f"{name}: {said}")
            work()
            said = ""
            # What it has not printed when it is interrupted is lost.
            while last and not re.search(last, line):
                line = process.stdout.readline()
                said += line
                self.assertTrue(line, f"{name}: {said}")
            process.send_signal(signal.SIGINT)
            said += process.communicate()[0]
        self.assertEqual(process.returncode, 0, said)
        return said

    def test_latency(self):
        """A histogram for each link, and each outcome."""
        def work():
            for n in range(5):
                self.a.write(b"%d" % n, vc=10)
                self.assertEqual(self.b.read_one(), b"%d" % n)
        said = self.traced("oae-latency.bt", work)
        with self.a:
            netns = os.stat("/proc/thread-self/ns/net").st_ino
        self.assertIn("@outcomes[committed, 0]: 5\n", said)
        self.assertIn(f"@us[{netns}, va, 10]: \n", said)
        self.assertEqual(sum(map(int, re.findall(r"\)\s+(\d+) \|", said))), 5)

    def test_links(self):
        """A line when a link opens, and when it closes."""
        def work():
            self.a.write(b"x", vc=11)
            self.assertEqual(self.b.read_one(), b"x")
            self.a.close_tag(self.cable.mac_b, 11)
            wait_for(lambda: not self.a.tag(11), "the link to close")
        said = self.traced("oae-links.bt", work, r" va .*\bgone\b")
        for what, states in (("opened", "SYNC_(SENT|RECD) -> OPEN"), ("gone", "CLOSE_SENT -> CLOSED")):
            self.assertRegex(said, rf"(?m)^[\d:]+ +\d+ +va +{self.cable.mac_b} +11 {what} +{states}$")


class Types(unittest.TestCase):
    """tools/btf: the kernel takes what it has made."""

    def loaded(self, module):
        """The module, with its types; some kernels take it without, and some not at all."""
        refused = False
        try:
            load(module=module)
        except OSError:
            refused = True
        else:
            self.addCleanup(unload)
        said = run("dmesg")
        if "BTF mismatch detected" in said or "failed to validate module [modoae] BTF" in said:
            raise unittest.SkipTest("pahole here is older than what made this kernel's types")
        self.assertFalse(refused, said[-1000:])

    def test_btf(self):
        """Of the kernel that runs, and the module's own types and functions are in it."""
        if not shutil.which("pahole"):
            raise unittest.SkipTest("there is no pahole here")
        if os.uname().release.startswith("5.10.") or not Path("/sys/kernel/btf/vmlinux").exists():
            raise unittest.SkipTest("this kernel has no types, or none of modules")
        with tempfile.TemporaryDirectory() as directory:
            module = Path(shutil.copy(MODULE, directory))
            other = Path(directory) / "vmlinux"
            other.write_bytes(b"nothing")
            with self.assertRaises(AssertionError):
                run(str(REPO / "tools" / "btf"), str(module), env={**os.environ, "BTF": str(other)})
            run(str(REPO / "tools" / "btf"), str(module))
            self.loaded(module)
        types = Path("/sys/kernel/btf/modoae").read_bytes()
        for name in b"oae_tag", b"oae_tag_rcv", b"oae_link":
            self.assertIn(b"\0" + name + b"\0", types)


if __name__ == "__main__":
    unittest.main()
