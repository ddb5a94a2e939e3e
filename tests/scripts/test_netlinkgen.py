# SPDX-License-Identifier: GPL-2.0
"""What tools/netlinkgen makes is in the tree as it makes it."""

import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class NetlinkGen(unittest.TestCase):
    """Policies and operations are those of doc/netlink."""

    def test_tree(self):
        ran = subprocess.run([ROOT / "tools" / "netlinkgen", "--check"], text=True, check=False,
                             capture_output=True)
        self.assertEqual((ran.stdout + ran.stderr, ran.returncode), ("", 0))
