# SPDX-License-Identifier: GPL-2.0
"""The RPM packages: what is in them, that they install and run in a root that has nothing else of
ours, and the modules' specification with a stand-in for kmodtool.

This is no Fedora: dependencies are not checked, and nothing is known of akmods itself.
"""

import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from cleanroot import CleanRoot, output

REPO = Path(__file__).resolve().parents[2]
HERE = REPO / "tests" / "packages"
ROOT = REPO / "build" / "packages" / "root-rpm"

# By package: what it must have, below whatever the directories are here.
FILES = {
    "modoae-kmod-common": ["/etc/modprobe.d/modoae.conf", "/man4/oae.4", "/man4/modoae.4",
                           "/man4/modoaeip.4", "/README.md", "/secure-boot.md"],
    "oae-tools": ["bin/oae", "/man8/oae.8", "/completions/oae", "/site-functions/_oae",
                  "/vendor_completions.d/oae.fish", "/oae-tools/oae.lua",
                  "/oae-tools/oae-links.bt", "/oae-port@.service", "/wireshark.md", "bin/oaesim",
                  "/man1/oaesim.1", "/wireshark/plugins/oae.lua", "/oae-gateway.service",
                  "/oae-metrics.service", "/oae-metrics.timer", "/oae-tools/gateway.conf",
                  "/oae-tools/alerts.yml", "/oae-tools/dashboard.json"],
    "liboae": ["/liboae.so.1"],
    "liboae-devel": ["/include/oae.h", "/include/linux/oae.h", "/include/linux/oae_netlink.h",
                     "/liboae.a", "/liboae.so",
                     "/pkgconfig/oae.pc", "/man3/liboae.3", "/man3/oae_open.3", "/counter.c"],
    "python3-oae": ["/oae.py", "/workqueue.py"],
}


def built(directory, name):
    """The one package of that name."""
    found, = [path for path in Path(directory).glob(f"{name}-[0-9]*.rpm")
              if not path.name.endswith(".src.rpm")]
    return found


class Rpm(unittest.TestCase):
    """In the order of their names: what is built first is installed then."""

    directory = root = None

    @classmethod
    def setUpClass(cls):
        cls.directory = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        output(REPO / "tools" / "rpm", cls.directory,
               env={**os.environ, "PATH": f"{HERE}:{os.environ['PATH']}"})
        cls.root = CleanRoot(ROOT)
        cls.root.make()
        if not os.environ.get("KEEP"):
            cls.addClassCleanup(cls.root.remove)
        cls.root.apt("install", "python3", "gcc", "libc6-dev", "libmnl0", "pkgconf")

    def version(self):
        """What the sources say."""
        text = (REPO / "include/oae_version.h").read_text()
        return re.search(r'OAE_RELEASE\t"(.*)"', text).group(1)

    def test_0_contents(self):
        """Each has its files, and together they have each file once."""
        seen = []
        for name, wanted in FILES.items():
            package = built(self.directory, name)
            files = output("rpm", "-qpl", package).split()
            for end in wanted:
                self.assertTrue([path for path in files
                                 if path.endswith(end) or path.endswith(end + ".gz")],
                                f"{name} has no {end}: {files}")
            self.assertEqual([path for path in files
                              if path.startswith(("/root", "/tmp", "/usr/local"))], [])
            seen += [path for path in files
                     if not path.startswith(("/usr/share/", "/usr/lib/.build-id"))]
            self.assertEqual(output("rpm", "-qp", "--qf", "%{VERSION}", package), self.version())
            self.assertIn(f" - {self.version()}-1", output("rpm", "-qp", "--changelog", package))
        self.assertEqual(len(seen), len(set(seen)), seen)

    def test_1_lint(self):
        """Nothing to find fault with, but for what rpm/rpmlint.toml says and why."""
        packages = [path for path in sorted(self.directory.glob("*.rpm"))
                    if not path.name.startswith("akmod-")]      # the stand-in's own words
        said = output("rpmlint", "-c", REPO / "rpm" / "rpmlint.toml", *packages)
        self.assertRegex(said, r"\b0 errors, 0 warnings\b")

    def rpm(self, *words):
        """rpm in the root."""
        return output("rpm", "--root", self.root.path, "--nodeps", "--force-debian", *words)

    def folder_of(self, name):
        """Of the one file of that name in the root."""
        found, = self.root.path.rglob(name)
        return f"/{found.parent.relative_to(self.root.path)}"

    def test_2_install(self):
        """The command, the library and Python's module run there."""
        before = self.root.files()
        self.rpm("-i", *(built(self.directory, name) for name in FILES))
        self.assertEqual(self.root.run("oae", "--version").split()[-1], self.version())
        self.assertIn("--torus", self.root.run("oaesim", "--help"))
        shutil.copy(HERE / "hello.c", self.root.path / "root")
        # Not where Debian looks for libraries and modules.
        config = self.folder_of("oae.pc")
        self.root.run("sh", "-c", "cd /root && cc -o hello hello.c "
                                  "$(pkg-config --cflags --libs oae)", PKG_CONFIG_PATH=config)
        libraries = self.folder_of("liboae.so.1")
        self.assertIn(f"liboae.so.1 => {libraries}/",
                      self.root.run("ldd", "/root/hello", LD_LIBRARY_PATH=libraries))
        self.root.run("python3", "-c", "import oae; oae.Link", PYTHONPATH=self.folder_of("oae.py"))
        unit, = self.root.path.rglob("oae-port@.service")
        command = re.search(r"ExecStart=(\S*)/oae port add %I\n", unit.read_text()).group(1)
        self.assertTrue((self.root.path / command.lstrip("/") / "oae").exists())
        self.rpm("-e", *FILES)
        left = sorted(path for path in self.root.files() - before
                      if "rpmdb" not in path and "/lib/rpm" not in path and "__pycache__" not in path)
        self.assertEqual([path for path in left if "oae" in path], [])

    def kernel(self):
        """One that has headers here."""
        return output(REPO / "tools" / "setup", "--kernel").strip()

    def rebuild(self, source, *words):
        """rpmbuild from a source package; the packages."""
        top = self.directory / "rebuilt"
        shutil.rmtree(top, ignore_errors=True)
        output("rpmbuild", "--rebuild", "--nodeps", "--define", f"_topdir {top}", *words, source,
               env={**os.environ, "PATH": f"{HERE}:{os.environ['PATH']}"})
        return list((top / "RPMS").rglob("*.rpm"))

    def test_3_modules(self):
        """Of the source package, for one kernel: both modules, where modprobe looks."""
        source, = self.directory.glob("modoae-kmod-*.src.rpm")
        kernel = self.kernel()
        package, = self.rebuild(source, "--define", f"kernels {kernel}")
        self.assertTrue(package.name.startswith(f"kmod-modoae-{kernel}-{self.version()}-1"))
        files = output("rpm", "-qpl", package).split()
        where = tempfile.mkdtemp(dir=self.directory)
        output("sh", "-c", 'cd "$1" && rpm2cpio "$2" | cpio -id --quiet', "sh", where, package)
        for module in "modoae", "modoaeip":
            path = f"/usr/lib/modules/{kernel}/extra/modoae/{module}.ko"
            self.assertIn(path, files)
            self.assertRegex(output("modinfo", where + path), rf"vermagic: +{re.escape(kernel)} ")

    def test_4_akmod(self):
        """akmod-modoae has that source package in it, whole."""
        package = built(self.directory, "akmod-modoae")
        where = Path(tempfile.mkdtemp(dir=self.directory))
        output("sh", "-c", 'cd "$1" && rpm2cpio "$2" | cpio -id --quiet', "sh", where, package)
        source, = where.rglob("*.src.rpm")
        self.assertEqual(str(source.relative_to(where)),
                         f"usr/src/akmods/modoae-kmod-{self.version()}-1.src.rpm")
        files = output("rpm", "-qpl", source).split()
        self.assertEqual(sorted(files), [f"modoae-{self.version()}.tar.gz", "modoae-kmod.spec"])
        requires = output("rpm", "-qp", "--requires", package)
        self.assertIn("modoae-kmod-common >= ", requires)
        provides = output("rpm", "-qp", "--provides", built(self.directory, "modoae-kmod-common"))
        self.assertIn("modoae-kmod-common = ", provides)


if __name__ == "__main__":
    unittest.main()
