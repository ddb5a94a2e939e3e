# SPDX-License-Identifier: GPL-2.0
"""tools/vm: which guests are begun anew. A shell script stands in for QEMU, so nothing boots."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The console is a file; each start leaves a line in $STARTS.
QEMU = """\
#!/bin/sh
echo started >> "$STARTS"
for word in "$@"; do
	case $word in file,id=console,path=*) console=${word##*path=} ;; esac
done
echo "vm: user space" > "$console"
"""


class Anew(unittest.TestCase):
    """Once, and only if QEMU itself was ended by a signal and the kernel had not complained."""

    def run_vm(self, script):
        """How `tools/vm run` ends, what it says, and how often it started a QEMU that ends so."""
        place = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, place)
        qemu, starts = place / "qemu-system-x86_64", place / "starts"
        qemu.write_text(QEMU + script + "\n")
        qemu.chmod(0o755)
        env = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}", "STARTS": str(starts),
               "VM_ACCEL": "tcg", "VM": ""}
        done = subprocess.run([ROOT / "tools/vm", "run", "--", "true"], env=env, text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=600)
        for log in re.findall(r"its log: (\S+)/console\.log", done.stdout):
            shutil.rmtree(ROOT / log)
        return done.returncode, done.stdout, starts.read_text().count("started")

    def test_signal(self):
        status, said, starts = self.run_vm("kill -SEGV $$")
        self.assertEqual((status, starts), (123, 2))
        self.assertEqual(said.count("tools/vm: begun anew: "), 1)
        self.assertIn("SIGSEGV", said)

    def test_ended_by_itself(self):
        """So does a guest that panics: its QEMU does not start it again."""
        status, said, starts = self.run_vm("exit 0")
        self.assertEqual((status, starts), (123, 1))
        self.assertNotIn("begun anew", said)

    def test_complaint(self):
        for line in ("Kernel panic - not syncing", "Oops: 0002 [#1]", "rcu: INFO: a stall"):
            with self.subTest(line=line):
                status, said, starts = self.run_vm(f'echo "{line}" >> "$console"; kill -SEGV $$')
                self.assertEqual((status, starts), (125, 1))
                self.assertNotIn("begun anew", said)


if __name__ == "__main__":
    unittest.main()
