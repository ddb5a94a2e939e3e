# SPDX-License-Identifier: GPL-2.0
"""The Debian packages in a clean root, from installing to purging. Each test goes on
where the one before it has left off."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from cleanroot import CleanRoot, output

REPO = Path(__file__).resolve().parents[2]
HERE = REPO / "tests" / "packages"
BUILT = REPO / "build" / "deb"
ROOT = REPO / "build" / "packages" / "root"
NAMES = ["modoae-dkms", "oae-tools", "liboae1", "liboae-dev", "python3-oae"]
CONFIG = "etc/modprobe.d/modoae.conf"
NEWER = "9.9"

# What the packages' dependencies leave of themselves when they are purged.
NOT_OURS = re.compile(r"^/(var/lib/dkms(/mok\.\w+)?|etc/ssl.*|etc/ld\.so\.cache|usr/share/info.*"
                      r"|var/lib/(dpkg|systemd|ucf|python|initramfs-tools|shells\.state).*"
                      r"|usr/lib/python3.*/__pycache__.*|etc/alternatives/.*"
                      r"|run/.*|etc/[^/]*-|usr/share/man/.*)$")


def setUpModule():                                      # pylint: disable=invalid-name
    """A root of the kernel that the guest will boot."""
    kernel = output(REPO / "tools" / "setup", "--kernel").strip()
    Packages.root, Packages.kernel = CleanRoot(ROOT), kernel
    Packages.root.with_kernel(kernel)


def tearDownModule():                                   # pylint: disable=invalid-name
    """Three gigabytes."""
    if not os.environ.get("KEEP"):
        Packages.root.remove()


class Packages(unittest.TestCase):
    """In the order of their names."""

    root = kernel = None
    other = None                # a second kernel
    before = packages_before = None     # all there was, when nothing of ours was there

    def put(self, directory):
        """Copy packages into the root; their names there."""
        target = self.root.path / "tmp" / "debs"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for file in Path(directory).glob("*.deb"):
            shutil.copy(file, target)
        names = sorted(f"/tmp/debs/{file.name}" for file in target.iterdir())
        self.assertEqual(len(names), len(NAMES), names)
        return names

    def module_files(self):
        """Those of our modules, wherever they are."""
        return sorted(str(path.relative_to(self.root.path))
                      for path in (self.root.path / "lib/modules").rglob("modoae*.ko*"))

    def check_built(self, kernel, version):
        """DKMS has built and installed both modules for this kernel, and modprobe finds them."""
        status = self.root.run("dkms", "status", "-k", kernel)
        self.assertRegex(status, rf"modoae/{re.escape(version)}, .*: installed")
        self.assertEqual(len(re.findall("^modoae/", status, re.M)), 1, status)
        for module in "modoae", "modoaeip":
            info = self.root.run("modinfo", "-k", kernel, module)
            self.assertRegex(info, rf"filename: +/lib/modules/{re.escape(kernel)}/updates/dkms/")
            self.assertRegex(info, rf"vermagic: +{re.escape(kernel)} ")
            self.assertRegex(info, rf"(?m)^version: +{re.escape(version)}$")
        log, = (self.root.path / f"var/lib/dkms/modoae/{version}/{kernel}").glob("*/log/make.log")
        warnings = [line for line in log.read_text().splitlines() if "warning:" in line
                    and "compiler differs" not in line]
        self.assertEqual(warnings, [])

    def test_0_lintian(self):
        """Nothing to find fault with, but for what is overridden and why."""
        changes, = BUILT.glob("*.changes")
        text = output("lintian", "--allow-root", "-I", "--fail-on", "error,warning,info", changes)
        self.assertEqual(text, "")

    def test_1_install(self):
        """apt finds all that they depend on; DKMS builds for the kernel that is there."""
        Packages.before, Packages.packages_before = self.root.files(), self.root.packages()
        self.root.apt("install", *self.put(BUILT))
        states = self.root.packages()
        self.assertEqual({name: states.get(name) for name in NAMES},
                         {name: "ii" for name in NAMES})
        self.check_built(self.kernel, self.version())

    def test_1_unknown_headers(self):
        """Headers that the modules do not know: the log is named, and apt goes on."""
        common = re.sub("-[^-]*$", "-common", self.kernel)
        header = self.root.path / f"usr/src/linux-headers-{common}/include/linux/hrtimer.h"
        text = header.read_text()
        version = self.version()
        deb, = (self.root.path / "tmp/debs").glob("modoae-dkms_*.deb")
        header.write_text(re.sub(r"\bhrtimer_(init|setup)\(", r"hrtimer_\1_gone(", text))
        try:
            said = self.root.apt("install", "--reinstall", f"/tmp/debs/{deb.name}")
        finally:
            header.write_text(text)
        name = f"/var/lib/dkms/modoae/{version}/build/make.log"
        self.assertIn(f"this log says why: {name}", said)
        self.assertIn("*** modoae: these kernel headers have hrtimer_setup in no form",
                      (self.root.path / name[1:]).read_text())
        self.assertEqual(self.root.packages()["modoae-dkms"], "ii")
        self.assertEqual(self.root.run("dpkg", "--audit"), "")
        self.assertEqual(self.module_files(), [])
        self.root.run("dkms", "autoinstall", "-k", self.kernel)
        self.check_built(self.kernel, version)

    def version(self):
        """Of the packages in build/deb."""
        package, = BUILT.glob("modoae-dkms_*.deb")
        return package.name.split("_")[1]

    def test_2_second_kernel(self):
        """When another kernel's headers come, DKMS builds for that one too."""
        if not self.root.has_backports():
            self.skipTest("the mirror has no backports, where a second kernel would be")
        machine = output("dpkg", "--print-architecture").strip()
        had = self.root.files()
        self.root.apt("install", "-t", f"{self.root.codename}-backports",
                      f"linux-headers-{machine}")
        # It wants newer versions of libraries: it is not by us that files of the older are missing.
        Packages.before -= had - self.root.files()
        Packages.other, = [path.name for path in (self.root.path / "lib/modules").iterdir()
                           if path.name != self.kernel and (path / "build").is_symlink()]
        print("second kernel:", self.other)
        self.check_built(self.other, self.version())
        self.check_built(self.kernel, self.version())

    def test_3_programs(self):
        """The command runs, a program compiles against the library and runs, Python imports."""
        self.assertEqual(self.root.run("oae", "--version").split()[-1], self.version())
        self.assertIn("modoae is not loaded", self.fails("oae", "port", "add", "eth0"))
        self.root.apt("install", "gcc", "libc6-dev", "make", "pkgconf")
        shutil.copy(HERE / "hello.c", self.root.path / "root")
        self.root.run("sh", "-c", "cd /root && cc -Wall -Wextra -Werror -o hello hello.c "
                                  "$(pkg-config --cflags --libs oae)")
        self.assertIn("liboae.so.1", self.root.run("ldd", "/root/hello"))
        self.assertIn("not begun:", self.fails("/root/hello", "02:0a:e0:00:00:02", "x"))
        self.root.run("sh", "-c", "cp -r /usr/share/doc/liboae-dev/examples /root && "
                                  "make -C /root/examples PKG=1 OUT=/root/examples")
        self.assertIn("counter", self.fails("/root/examples/counter"))
        self.root.run("sh", "-c", "cd /root && cc -o static hello.c -static "
                                  "$(pkg-config --static --cflags --libs oae)")
        self.assertIn("Link", self.root.run("python3", "-c", "import oae; print(oae.Link)"))

    def fails(self, *command):
        """What a command says that must not succeed."""
        with self.assertRaises(AssertionError) as caught:
            self.root.run(*command)
        return str(caught.exception)

    def test_4_guest(self):
        """The modules that DKMS has built carry transactions of the packaged programs."""
        config = self.root.path / CONFIG
        with open(config, "a", encoding="utf-8") as file:
            file.write("options modoae max_tags=99\n")
        self.root.run("depmod", self.kernel)
        done = subprocess.run([REPO / "tools" / "vm", "run", "--time-limit", "400", "--",
                               HERE / "guest", ROOT], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "KERNEL": self.kernel})
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_5_upgrade(self):
        """A newer version takes the place of this one, for all kernels; settings stay."""
        with tempfile.TemporaryDirectory() as directory:
            tree = Path(directory) / "tree"
            names = output("git", "-C", REPO, "ls-files", "-co", "--exclude-standard")
            for name in names.splitlines():
                if (REPO / name).is_file():
                    (tree / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(REPO / name, tree / name)
            version, changes = tree / "include/oae_version.h", tree / "debian/changelog"
            text = version.read_text()
            newer = re.sub(r'OAE_RELEASE\t".*"', f'OAE_RELEASE\t"{NEWER}"', text)
            self.assertNotEqual(text, newer)
            version.write_text(newer)
            text = changes.read_text()
            changes.write_text(re.sub(r"\(.*?\)", f"({NEWER})", text, count=1) + "\n" + text)
            output(tree / "tools" / "deb", Path(directory) / "deb")
            self.root.apt("install", *self.put(Path(directory) / "deb"))
        for kernel in filter(None, (self.kernel, self.other)):
            self.check_built(kernel, NEWER)
        self.assertEqual(self.root.run("oae", "--version").split()[-1], NEWER)
        self.assertIn("max_tags=99", (self.root.path / CONFIG).read_text())
        self.assertEqual(self.left_of(self.version()), [])

    def left_of(self, version):
        """What DKMS and dpkg have of a version."""
        return [path for path in (f"usr/src/modoae-{version}", f"var/lib/dkms/modoae/{version}")
                if (self.root.path / path).exists()]

    def test_6_remove(self):
        """Modules and programs are gone; what was set in /etc stays, by hand or by systemctl."""
        self.root.apt("remove", *NAMES)
        self.assertEqual(self.module_files(), [])
        self.assertEqual(self.root.run("dkms", "status"), "")
        self.assertEqual(self.left_of(NEWER), [])
        self.assertIn("max_tags=99", (self.root.path / CONFIG).read_text())
        states = self.root.packages()
        self.assertEqual({name: states[name] for name in NAMES if name in states},
                         {"modoae-dkms": "rc", "oae-tools": "rc"})

    def test_7_purge(self):
        """Nothing is left, not even of what came along; nothing that was there is missing."""
        enabled = self.root.path / "etc/systemd/system" / \
            "sys-subsystem-net-devices-eth0.device.wants" / "oae-port@eth0.service"
        enabled.parent.mkdir(parents=True)
        enabled.symlink_to("/lib/systemd/system/oae-port@.service")
        # Of the others nothing is left that apt would know.
        self.root.apt("purge", *(name for name in NAMES if name in self.root.packages()))
        states = self.root.packages()
        self.assertEqual([name for name in states if "oae" in name], [])
        after = self.root.files()
        self.assertEqual(sorted(path for path in after if "oae" in path), [])
        for kernel in filter(None, (self.kernel, self.other)):
            modules = self.root.path / "lib/modules" / kernel
            self.assertFalse((modules / "updates").exists(), kernel)
            self.assertNotIn("oae", (modules / "modules.dep").read_text())
        self.root.apt("purge", *sorted(set(states) - set(self.packages_before)))
        after = self.root.files()
        self.assertEqual(sorted(self.before - after), [])
        theirs = self.root.run("dpkg", "-L", *sorted(self.packages_before)).splitlines()
        left = sorted(path for path in after - self.before - set(theirs)
                      if not NOT_OURS.match(path))
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main()
