# SPDX-License-Identifier: GPL-2.0
"""The units of systemd as they are installed: systemd understands them, and they may do little."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"oae-port@.service", "oae-spread.service", "oae-gateway.service", "oae-metrics.service",
         "oae-metrics.timer"}


@unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd here")
class Units(unittest.TestCase):
    """What `make install` puts below a directory; the command is where they look for it."""

    @classmethod
    def setUpClass(cls):
        cls.directory = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.units = cls.directory / "units"
        command = cls.directory / "oae"
        shutil.copy("/bin/true", command)
        # -o: nothing is compiled for this.
        subprocess.run(["make", "-s", "-C", ROOT / "tools" / "oae", "-o", command, "install",
                        f"OUT={cls.directory}", f"PREFIX={cls.directory}/prefix",
                        f"UNITDIR={cls.units}"],
                       check=True, env={**os.environ, "MAKEFLAGS": ""}, stdout=subprocess.DEVNULL)

    def analyze(self, *args):
        """What systemd-analyze says, of those alone."""
        done = subprocess.run(["systemd-analyze", *map(str, args)], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def test_all(self):
        """They are there, and nothing is left to fill in."""
        self.assertEqual({path.name for path in self.units.iterdir()}, NAMES)
        for path in self.units.iterdir():
            self.assertNotRegex(path.read_text(), "@[A-Z]+@")

    def test_verify(self):
        """No name, value or command that systemd does not know."""
        for name in NAMES:
            name = name.replace("@.", "@eth0.")
            status, said = self.analyze("verify", "--man=no", self.units / name)
            said = [line for line in said.splitlines() if "oae" in line]
            self.assertEqual((status, said), (0, []), name)

    def test_security(self):
        """Exposure 2.0 of 10 at most, where nothing is set it is 9.6."""
        for name in "oae-spread.service", "oae-gateway.service", "oae-metrics.service":
            status, said = self.analyze("security", "--offline=true", "--threshold=20",
                                        self.units / name)
            if "unrecognized option" in said:
                self.skipTest("systemd is too old to tell")
            self.assertEqual(status, 0, said)

    def test_example(self):
        """gateway.conf is what the unit reads: KNOB=VALUE words for `oae gateway set`."""
        conf = self.directory / "prefix/share/oae-tools/gateway.conf"
        said = subprocess.run(["sh", "-c", '. "$1" && echo $GATEWAY', "sh", conf], text=True,
                              check=True, stdout=subprocess.PIPE).stdout
        self.assertRegex(said, r"^dev=\w+ gwips=[\d.]+,[\d.]+\n$")
        unit = (self.units / "oae-gateway.service").read_text()
        self.assertTrue(re.search(r"(?m)^EnvironmentFile=/etc/oae/gateway.conf$", unit))


if __name__ == "__main__":
    unittest.main()
