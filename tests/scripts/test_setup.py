# SPDX-License-Identifier: GPL-2.0
"""tools/setup, make and make programs, on machines of other kinds than this one.

Such a machine is a PATH with few programs in it, some of which only note that they were called,
and a mount namespace in which /lib/modules and /usr/src have what the test puts there.
"""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
RELEASE = "6.4.0-150600.21-default"             # of the kernel that `uname -r` names
OTHER = "6.1.0-9-other"

# What every system has, and what builds C. No python3, no dpkg, no sudo.
BASE = ("awk basename cat chmod cp cut dirname env expr find flock grep head id install ln ls mkdir "
        "mktemp mv nproc printf pwd rm rmdir sed sh sort tail tar test touch tr true uname").split()
COMPILER = "ar as cc gcc ld make ranlib".split()

# What installs or fetches something: each notes its arguments, and fails if it is told to.
MANAGERS = ("apt apt-get apt-cache dpkg dpkg-query dpkg-deb dnf yum zypper rpm pacman sudo "
            "curl wget").split()
STUB = """#!/bin/sh
echo "${0##*/} $*" >>%s
exit %d
"""

# $1: files for /lib/modules; the rest is the command.
ENTER = """
mount -t tmpfs none /lib/modules && mount -t tmpfs none /usr/src || exit 125
cp -a "$1/." /lib/modules
shift
exec "$@"
"""


def can_enter():
    """May this user have a mount namespace?"""
    return subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/lib/modules"],
                          check=False, stderr=subprocess.DEVNULL).returncode == 0


@unittest.skipUnless(can_enter(), "no mount namespace for this user")
class Machine(unittest.TestCase):
    """A copy of the tree, and a machine to make it on."""

    def setUp(self):
        self.top = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.top)
        self.tree, self.bin, self.modules = (self.top / name for name in ("tree", "bin", "modules"))
        self.calls = self.top / "calls"
        for path in self.tree, self.bin, self.modules:
            path.mkdir()
        self.program("uname", f"#!/bin/sh\necho {RELEASE}\n")
        self.give(*BASE, *COMPILER)

    def give(self, *names):
        """This machine's programs."""
        for name in names:
            if not (self.bin / name).exists():
                found = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
                self.assertIsNotNone(found, name)
                (self.bin / name).symlink_to(found)

    def take(self, *names):
        """Not there after all."""
        for name in names:
            (self.bin / name).unlink()

    def program(self, name, text):
        """A script in place of a program."""
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def stubs(self, *names, status=1):
        """Programs that only note that they were called."""
        for name in names:
            self.program(name, STUB % (self.calls, status))

    def called(self):
        """What they were called with."""
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def copy(self, *folders):
        """The tree, or these folders and files of it."""
        names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *folders], cwd=REPO,
                               check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
        for name in names:
            if (REPO / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(REPO / name, self.tree / name)

    def kernel(self, release=RELEASE, place=None):
        """The build files of a kernel that builds any module by touching it."""
        kdir = place or self.modules / release / "build"
        (kdir / "include/generated").mkdir(parents=True)
        (kdir / "include/generated/utsrelease.h").write_text(f'#define UTS_RELEASE "{release}"\n')
        (kdir / "Makefile").write_text("modules:\n\techo made >$(M)/$(notdir $(M)).ko\n")
        return kdir

    def run_there(self, *command, **env):
        """Runs a command on that machine; its status, and all it says."""
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", ENTER, "sh", self.modules,
             "env", "-i", f"PATH={self.bin}", *(f"{name}={value}" for name, value in env.items()),
             *command],
            cwd=self.tree, check=False, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=600)
        self.assertNotIn(done.returncode, (125, 127), done.stdout)
        return done.returncode, done.stdout

    def make(self, *words, **env):
        """Runs make there."""
        return self.run_there("make", *words, **env)


class Programs(Machine):
    """`make programs`."""

    def test_a_compiler_is_enough(self):
        """On a machine without dpkg, apt, python3 and kernel headers."""
        self.copy()
        status, said = self.make("-j2", "programs", CFLAGS="-O0")
        self.assertEqual(status, 0, said)
        version = re.search(r'OAE_RELEASE\t"(.*)"',
                            (REPO / "include/oae_version.h").read_text()).group(1)
        said = subprocess.run([self.tree / "build/oae/oae", "--version"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        self.assertEqual(said.split()[-1], version)
        for name in "lib/liboae.so.1", "lib/liboae.a", "examples/counter":
            self.assertTrue((self.tree / "build" / name).exists(), name)

    def test_no_compiler(self):
        """Said in one line, with what would install it; nothing is installed."""
        self.copy("Makefile", "tools/setup")
        self.take("cc", "gcc")
        self.stubs(*MANAGERS)
        status, said = self.make("programs")
        self.assertEqual(status, 2, said)
        self.assertIn("tools/setup: missing: a C compiler (cc)\n"
                      "tools/setup: install with: apt-get install gcc\n", said)
        self.assertEqual(self.called(), [])

    def test_no_headers(self):
        """A compiler that has no C library."""
        self.copy("Makefile", "tools/setup")
        self.take("cc")
        self.program("cc", "#!/bin/sh\nexit 1\n")
        self.stubs("dnf")
        status, said = self.make("programs")
        self.assertEqual(status, 2, said)
        self.assertIn("missing: the C library's headers", said)
        self.assertIn("install with: dnf install glibc-devel libmnl-devel\n", said)

    def test_no_libmnl(self):
        """The one library that the command takes."""
        self.copy("Makefile", "tools/setup")
        self.take("cc")
        self.program("cc", "#!/bin/sh\n! grep -q libmnl\n")
        self.stubs("apt-get")
        status, said = self.make("programs")
        self.assertEqual(status, 2, said)
        self.assertIn("tools/setup: missing: the headers of libmnl (libmnl/libmnl.h)\n"
                      "tools/setup: install with: apt-get install libmnl-dev\n", said)

    def test_other_compiler(self):
        """CC= is the one that is looked for."""
        self.copy("Makefile", "tools/setup")
        status, said = self.make("programs", "CC=no-such-cc -m32")
        self.assertEqual(status, 2, said)
        self.assertIn("missing: a C compiler (no-such-cc -m32)", said)


class Modules(Machine):
    """`make`: for which kernel, and that it installs nothing."""

    def setUp(self):
        super().setUp()
        self.copy("Makefile", "tools", "include", "modoae", "modoaeip")

    def made(self):
        """Have both modules been built?"""
        return all((self.tree / name / f"{name}.ko").exists() for name in ("modoae", "modoaeip"))

    def test_headers_only(self):
        """With a compiler and the running kernel's headers; not asked: any manager of packages."""
        self.kernel()
        self.kernel("9.9.9-newer")
        self.stubs(*MANAGERS)
        status, said = self.make()
        self.assertEqual(status, 0, said)
        self.assertEqual(said, f"built modoae/modoae.ko for {RELEASE}\n"
                               f"built modoaeip/modoaeip.ko for {RELEASE}\n")
        self.assertTrue(self.made())
        self.assertEqual(self.called(), [])

    def test_no_headers(self):
        """What is missing, its package here, and that another kernel's would do."""
        for manager, package in (("apt-get", f"linux-headers-{RELEASE}"),
                                 ("dnf", f"kernel-devel-{RELEASE}"),
                                 ("zypper", "kernel-default-devel")):
            with self.subTest(manager):
                self.stubs(manager)
                status, said = self.make()
                self.assertEqual(status, 2, said)
                self.assertIn(f"missing: the headers of the running kernel, {RELEASE}\n"
                              f"tools/setup: install with: {manager} install {package}\n", said)
                self.assertIn("make KDIR=DIR", said)
                self.assertEqual(self.called(), [])
                self.take(manager)
        status, said = self.make()
        self.assertEqual(status, 2, said)
        self.assertIn("install that with what this system has for it", said)
        self.assertFalse(self.made())

    def test_other_kernel(self):
        """The newest with headers, if the running one has none; and that is said."""
        self.kernel(OTHER)
        self.kernel("6.1.0-10-other")
        self.stubs("dnf")
        status, said = self.make()
        self.assertEqual(status, 0, said)
        self.assertIn("tools/setup: building for 6.1.0-10-other, the newest kernel with headers here: "
                      f"the running one, {RELEASE}, has none (package kernel-devel-{RELEASE}); "
                      "or KDIR=DIR\n", said)
        self.assertIn("built modoae/modoae.ko for 6.1.0-10-other\n", said)
        self.assertEqual(self.called(), [])

    def test_kdir(self):
        """KDIR= is that and no other; a wrong one gets one line that says what would be right."""
        self.kernel()
        kdir = self.kernel(OTHER, self.top / "kdir")
        status, said = self.make(f"KDIR={kdir}")
        self.assertEqual(status, 0, said)
        self.assertIn(f"built modoae/modoae.ko for {OTHER}\n", said)
        for name, complaint in (("include/generated/utsrelease.h", "modules_prepare"),
                                ("Makefile", "no Makefile there")):
            (kdir / name).unlink()
            status, said = self.make(f"KDIR={kdir}")
            self.assertEqual(status, 2, said)
            lines = [line for line in said.splitlines() if line.startswith("tools/setup:")]
            self.assertEqual(len(lines), 1, said)
            self.assertIn(f"KDIR={kdir}: ", lines[0])
            self.assertIn(complaint, lines[0])


class Deps(Machine):
    """`make deps`, and what installs by itself."""

    def setUp(self):
        super().setUp()
        self.copy("Makefile", "tools", "tests")

    def test_dnf(self):
        """Fedora's names; the headers by themselves, since they may not be there."""
        self.stubs("dnf", status=0)
        self.stubs("rpm")
        status, said = self.make("deps")
        self.assertEqual(status, 0, said)
        self.assertEqual([call for call in self.called() if call.startswith("dnf ")],
                         ["dnf -qy install gcc glibc-devel libmnl-devel make",
                          f"dnf -qy install kernel-devel-{RELEASE}"])

    def test_zypper(self):
        """openSUSE's."""
        self.stubs("zypper", status=0)
        self.stubs("rpm")
        self.kernel()
        status, said = self.make("deps", "WHAT=programs rpm")
        self.assertEqual(status, 0, said)
        self.assertEqual([call for call in self.called() if call.startswith("zypper ")],
                         ["zypper -nq install --no-recommends gcc glibc-devel libmnl-devel "
                          "make python-rpm-macros python3 rpm-build systemd-rpm-macros"])

    def test_apt(self):
        """Debian's; what is installed is left alone, and so are headers that are there."""
        self.stubs("apt-get", status=0)
        self.program("dpkg-query", '#!/bin/sh\n[ "$4" != gcc ] || echo install ok installed\n')
        self.kernel()
        status, said = self.make("deps")
        self.assertEqual(status, 0, said)
        self.assertEqual(self.called(), ["apt-get -q update", "apt-get -qy install "
                                         "--no-install-recommends libc6-dev libmnl-dev make"])

    def test_apt_fails(self):
        """The manager's own words, and which packages were wanted."""
        self.program("apt-get", "#!/bin/sh\necho E: no such mirror\nexit 100\n")
        self.stubs("dpkg-query")
        status, said = self.make("deps", "WHAT=programs")
        self.assertEqual(status, 2, said)
        self.assertIn("E: no such mirror\n"
                      "tools/setup: could not install: gcc libc6-dev libmnl-dev make", said)

    def test_no_manager(self):
        """Says what would be needed."""
        status, said = self.make("deps", "WHAT=programs")
        self.assertEqual(status, 2, said)
        self.assertIn("no apt-get, dnf or zypper here", said)
        self.assertIn("make gcc libc6-dev", said)

    def test_no_such_group(self):
        status, said = self.make("deps", "WHAT=everything")
        self.assertEqual(status, 2, said)
        self.assertIn("no such group: everything (programs build ", said)

    def test_who_installs(self):
        """The demos and tests by themselves, first of all; what builds for this host never.

        `make -n` does run lines with $(MAKE): a make below it would begin the stages.
        """
        self.give("python3")
        for target, group in {"demo": "demo", "demo-gateway": "demo",
                              "demo-failover": "demo", "test": "test", "quick": "test",
                              "check": "check", "bench": "bench"}.items():
            first = self.make("-n", target, "MAKE=true")[1].splitlines()[0]
            self.assertEqual(first, f"tools/setup {group}")
        for target in "all", "programs", "install", "dkms", "deb", "rpm":
            said = self.make("-n", target, "MAKE=true")[1]
            self.assertEqual(said.splitlines()[0],
                             f"tools/setup --check {'build' if target == 'all' else target}")
            self.assertNotRegex(said, r"tools/setup [^-]")


if __name__ == "__main__":
    unittest.main()
