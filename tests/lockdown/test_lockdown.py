# SPDX-License-Identifier: GPL-2.0
"""What works in a kernel that is locked down, as Secure Boot leaves it (doc/secure-boot.md).

A kernel that boots with lockdown=integrity takes signed modules only, and no guest has a key
enrolled. So the module is loaded first, and lockdown raised then. It stays until the guest is
gone: these tests are the last ones in it.
    tools/vm run -- tests/guest/run test_lockdown
"""

import errno
import hashlib
import os
import unittest
from pathlib import Path

from oaecmd import Running, oae
from oaetest import NOC_DEBUG, PARAMETERS, REPO, load, run, wait_for
from topology import OneCable

LOCKDOWN = Path("/sys/kernel/security/lockdown")
NOC_PROC = "/proc/net/modoae/noc_debug"


def raise_lockdown():
    """From none to integrity: there is no way back."""
    if not os.path.ismount("/sys/kernel/security"):
        run("mount", "-t", "securityfs", "none", "/sys/kernel/security")
    if not LOCKDOWN.exists():
        raise unittest.SkipTest("this kernel knows no lockdown")
    if "[none]" in LOCKDOWN.read_text("ascii"):
        LOCKDOWN.write_text("integrity", "ascii")


class Lockdown(OneCable):
    """
        host a             host b
        va ----------------- vb
    """

    targets = True

    @classmethod
    def build(cls):
        super().build()
        raise_lockdown()

    def fails(self, host, command, words):
        """A shell command that must fail, and what it says."""
        done = host.sh(command, check=False)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(words, done.stderr)

    def test_it_is_locked(self):
        """No unsigned module, and of debugfs nothing that can be written."""
        self.assertIn("[integrity]", LOCKDOWN.read_text("ascii"))
        self.assert_errno(errno.EPERM, load, module=REPO / "modoaeip" / "modoaeip.ko")
        self.fails(self.a, f"cat {NOC_DEBUG}", "Operation not permitted")
        self.fails(self.a, f"echo x > {NOC_DEBUG}", "Operation not permitted")

    def test_a_session(self):
        """The session of the README, with the file of /proc; first, on a link that is new."""
        a, b = self.a, self.b
        self.addCleanup(a.knobs, deadline_ms=0)
        a.sh(f"echo 'hello from node-01' > {NOC_PROC}")
        self.assertEqual(b.sh(f"cat {NOC_PROC}"), "hello from node-01\n")
        tag, = b.tags()
        self.assertEqual((tag["state"], tag["rx"]), ("OPEN", 1))
        self.assertEqual([row["kind"] for row in b.ev_log()][-1], "rcv")
        self.assertIn("opened", [row["what"] for row in b.ev_log()])
        big = os.urandom(65536)
        Path("/tmp/big").write_bytes(big)
        a.sh(f"dd if=/tmp/big of={NOC_PROC} bs=64k")
        self.assertEqual(b.sh(f"cat {NOC_PROC} | sha256sum").split()[0],
                         hashlib.sha256(big).hexdigest())
        a.sh("echo 1500 > /sys/module/modoae/parameters/deadline_ms")
        self.cable.cut()
        self.fails(a, f"/bin/echo 'never to be seen' > {NOC_PROC}", "Timer expired")
        self.cable.mend()
        a.sh(f"echo 'close {self.cable.mac_b}' > /proc/net/modoae/tags")
        wait_for(lambda: not a.tags() and not b.tags(), "the link to be closed")
        self.assertEqual(b.sh(f"cat {NOC_PROC}"), "")

    def test_command(self):
        """oae: ports, messages, words of the peer's memory, and all that shows something."""
        a, b, peer = self.a, self.b, self.cable.mac_b
        oae(a, "port", "del", "va")
        oae(a, "port", "add", "va")
        self.addCleanup(a.knobs, deadline_ms=0)
        oae(a, "set", "deadline_ms=5000")
        self.assertIn("5000", oae(a, "get", "deadline_ms").out)
        receiver = Running(b, "recv", self.cable.mac_a, "--timeout", 20000)
        self.addCleanup(receiver.kill)
        oae(a, "send", peer, "by oae")
        receiver.line("by oae")
        exposed = Running(b, "expose", 4096, "--region", 1, "--perm", "r,w,a")
        self.addCleanup(exposed.kill)
        wait_for(lambda: oae(a, "add", peer, 1, 0, 5, status=None).status == 0, "a word", 20)
        self.assertRegex(oae(a, "read", peer, 1, 0).out, r"\b5\b")
        self.assertEqual(len(oae(a, "-j", "show").json), 1)
        self.assertRegex(oae(a, "stats").out, r"(?m)^\s*committed\b")
        self.assertRegex(oae(a, "metrics").out, r"(?m)^oae_\w+")

    def python(self, host, peer, what):
        """What a line of Python does with a link."""
        with host:
            return run("python3", "-Bc", f"import oae\nwith oae.Link('{peer}', vc=9) as link:\n"
                       f"    {what}", env={**os.environ, "PYTHONPATH": f"{REPO}/lib"})

    def test_python(self):
        """/dev/oae by the Python module."""
        self.python(self.a, self.cable.mac_b, "link.send(b'by python')")
        self.assertEqual(self.python(self.b, self.cable.mac_a, "print(link.recv())"),
                         "b'by python'\n")

    def test_knobs(self):
        """Every knob that can be written takes what it shows."""
        for path in sorted(PARAMETERS.iterdir()):
            if path.stat().st_mode & 0o200:
                value = self.a.knob(path.name)
                with self.subTest(path.name, value=value):
                    self.a.knob(path.name, value)
