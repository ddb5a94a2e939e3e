# SPDX-License-Identifier: GPL-2.0
"""`make install`, `make dkms` and `make uninstall` do in a clean root what doc/install.md says."""

import os
import re
import shutil
import unittest
from pathlib import Path

from cleanroot import CleanRoot, output

REPO = Path(__file__).resolve().parents[2]
HERE = REPO / "tests" / "packages"
ROOT = REPO / "build" / "packages" / "root-install"
TREE = "root/modoae"            # in it


def setUpModule():                                      # pylint: disable=invalid-name
    """A root with a copy of this tree and all that the targets would install there."""
    kernel = output(REPO / "tools" / "setup", "--kernel").strip()
    root = CleanRoot(ROOT)
    root.with_kernel(kernel)
    names = output("git", "-C", REPO, "ls-files", "-co", "--exclude-standard")
    for name in names.splitlines():
        if (REPO / name).is_file():
            (root.path / TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPO / name, root.path / TREE / name)
    root.apt("install", "make", "python3", "pkgconf")
    root.run(f"/{TREE}/tools/setup", "install", "dkms")
    Install.root, Install.kernel = root, kernel
    Install.before = root.files()


def tearDownModule():                                   # pylint: disable=invalid-name
    """It is large."""
    if not os.environ.get("KEEP"):
        Install.root.remove()


class Install(unittest.TestCase):
    """Each target, and what `make uninstall` makes of it."""

    root = kernel = before = None

    def make(self, *words):
        """In the tree; what it prints."""
        return self.root.run("make", "-C", f"/{TREE}", *words, KERNEL=self.kernel)

    def module_version(self):
        """What the sources say."""
        text = (REPO / "include/oae_version.h").read_text()
        return re.search(r'OAE_RELEASE\t"(.*)"', text).group(1)

    def check_module(self, directory):
        """modprobe would find them there."""
        for module in "modoae", "modoaeip":
            info = self.root.run("modinfo", "-k", self.kernel, module)
            self.assertRegex(info, rf"filename: +/lib/modules/{re.escape(self.kernel)}/{directory}")
            self.assertRegex(info, rf"(?m)^version: +{re.escape(self.module_version())}$")

    def check_nothing_left(self):
        """As before the first target, but for empty directories, and Python's own files."""
        after = self.root.files()
        self.assertEqual(sorted(self.before - after), [])
        self.assertEqual(sorted(path for path in after - self.before
                                if not self.is_empty(path)
                                and ("__pycache__" not in path or "oae" in path)), [])
        self.assertNotIn("oae", (self.root.path / "lib/modules" / self.kernel /
                                 "modules.dep").read_text())

    def is_empty(self, path):
        """A directory below /usr/local, as every `make uninstall` leaves them?"""
        place = self.root.path / path.lstrip("/")
        return path.startswith("/usr/local/") and place.is_dir() and not place.is_symlink() \
            and all(child.is_dir() for child in place.rglob("*"))

    def test_install(self):
        """The modules, the library, the command, Python's module, manual pages; and away."""
        said = self.make("install")
        self.assertIn(f"installed for {self.kernel}", said)
        self.check_module("extra/")
        self.assertEqual(self.root.run("oae", "--version").split()[-1], self.module_version())
        shutil.copy(HERE / "hello.c", self.root.path / "root")
        self.root.run("sh", "-c", "cd /root && cc -o hello hello.c "
                                  "$(pkg-config --cflags --libs oae)")
        self.assertIn("/usr/local/lib/liboae.so.1", self.root.run("ldd", "/root/hello"))
        self.root.run("python3", "-c", "import oae")
        unit = (self.root.path /
                "usr/local/lib/systemd/system/oae-port@.service").read_text()
        self.assertIn("ExecStart=/usr/local/bin/oae port add %I\n", unit)
        for name in "gateway.conf", "alerts.yml", "dashboard.json", "oae.lua", "oae-links.bt":
            self.assertTrue((self.root.path / "usr/local/share/oae-tools" / name).exists(), name)
        for page in "man3/liboae.3", "man3/oae_open.3", "man4/oae.4", "man4/modoae.4", \
                "man4/modoaeip.4", "man8/oae.8", "man1/oaesim.1":
            self.assertTrue((self.root.path / "usr/local/share/man" / page).exists(), page)
        for name, match in (("etc/udev/rules.d/60-oaeudp.rules", 'ENV{DEVTYPE}=="oaeudp"'),
                            ("usr/local/lib/systemd/network/10-oaeudp.network", "\nType=oaeudp\n"),
                            ("usr/local/lib/systemd/network/11-oaeudp.network", "\nName=oaeudp*\n")):
            self.assertIn(match, (self.root.path / name).read_text())
        for name in "bash-completion/completions/oae", "zsh/site-functions/_oae", \
                "fish/vendor_completions.d/oae.fish":
            self.assertTrue((self.root.path / "usr/local/share" / name).exists(), name)
        self.assertIn("violations: 0", self.root.run("oaesim", "--pair", "-n", "100"))
        self.make("uninstall")
        self.check_nothing_left()

    def test_dkms(self):
        """DKMS builds them, also a second time; make install leaves that alone; and away."""
        for _ in range(2):
            said = self.make("dkms")
            self.assertRegex(said, rf"modoae/{self.module_version()}, {self.kernel}, .*installed")
        self.check_module("updates/dkms/")
        with self.assertRaisesRegex(AssertionError, "DKMS has it"):
            self.make("install")
        self.make("uninstall")
        self.assertEqual(self.root.run("dkms", "status"), "")
        self.assertFalse((self.root.path / "var/lib/dkms/modoae").exists())
        self.check_nothing_left()

    def test_destdir(self):
        """Below a directory, for who makes packages; and away."""
        self.make("install", "DESTDIR=/tmp/dest")
        dest = self.root.path / "tmp/dest"
        for name in (f"lib/modules/{self.kernel}/extra/modoae.ko", "usr/local/bin/oae",
                     "usr/local/lib/liboae.so.1"):
            self.assertTrue(list(dest.glob(name + "*")), name)
        self.check_nothing_left()
        self.make("uninstall", "DESTDIR=/tmp/dest")
        self.assertEqual([path for path in dest.rglob("*oae*")], [])


if __name__ == "__main__":
    unittest.main()
