# SPDX-License-Identifier: GPL-2.0
"""What of liboae, the Python module and their manual can be seen without the module.

The names are the same everywhere, so are the layouts and the meaning of each error; what is
installed is enough to build a program with.
"""

import ctypes
import doctest
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
OUT = Path(os.environ.get("OUT", REPO / "build" / "lib-test"))
LIB = REPO / "build" / "lib"
sys.path.insert(0, str(REPO / "lib"))

import oae      # noqa: E402  pylint: disable=wrong-import-position

HEADER = (REPO / "lib" / "oae.h").read_text("utf-8")
UAPI = (REPO / "include" / "uapi" / "oae.h").read_text("utf-8")
MANUAL = (REPO / "doc" / "man" / "liboae.3").read_text("utf-8")
VERSION = re.search(r'OAE_RELEASE\t"(.*)"', (REPO / "include/oae_version.h").read_text()).group(1)
DEVICE = (REPO / "doc" / "man" / "oae.4").read_text("utf-8")


def run(*command, **options):
    """Run a program; what it printed."""
    done = subprocess.run([str(word) for word in command], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def table(what):
    """What test_pure prints: a list of fields a line."""
    return [line.split("\t") for line in run(OUT / "test_shared", what).splitlines()]


class Module(unittest.TestCase):
    """oae.py by itself."""

    def test_version(self):
        self.assertEqual(oae.__version__, VERSION)

    def test_found(self):
        """make install says which Python does not look where the module goes."""
        def looks(where):
            return run("make", "-s", "-C", REPO / "lib", "python-looks", f"PYTHON={sys.executable}",
                       f"PYTHONDIR={where}", env={**os.environ, "PATH": f"{Path(sys.executable).parent}:"
                                                  + os.environ["PATH"]})
        self.assertEqual(looks(next(path for path in sys.path if path.endswith("-packages"))), "")
        self.assertEqual(looks("/nowhere").count("does not look in /nowhere, where oae.py is"), 2)

    @unittest.skipIf(os.path.exists("/dev/oae"), "the module is loaded")
    def test_not_loaded(self):
        with self.assertRaisesRegex(oae.NotLoaded, "the module modoae is not loaded"):
            oae.Link("02:0a:e0:00:00:01")


class Names(unittest.TestCase):
    """Of functions: what is exported is declared, described, and nothing else is."""

    maxDiff = None

    def setUp(self):
        listed = (REPO / "lib" / "liboae.map").read_text("utf-8")
        self.listed = sorted(re.findall(r"^\t(oae_\w+);", listed, re.M))

    def test_exported(self):
        lines = run("nm", "-D", "--defined-only", LIB / "liboae.so").splitlines()
        names = [line.split()[-1].partition("@")[0] for line in lines if " A " not in line]
        self.assertEqual(sorted(names), self.listed)

    def test_declared(self):
        names = re.findall(r"^OAE_API [^(]*?(oae_\w+)\(", HEADER, re.M)
        self.assertEqual(sorted(names), self.listed)

    def test_documented(self):
        """Each has a comment of its own in the header, and its parameters are in it."""
        declared = re.findall(r"/\*\*\n \* (oae_\w+)\(\) - (.*?)\*/\n(?:OAE_API) ([^;]*);", HEADER,
                              re.S)
        self.assertEqual(sorted(name for name, _, _ in declared), self.listed)
        for name, comment, declaration in declared:
            self.assertIn(name + "(", declaration)
            for word in re.search(r"\((.*)\)", declaration, re.S)[1].split(","):
                parameter = re.sub(r"\[.*", "", word).split()[-1].lstrip("*")
                self.assertIn(f" * @{parameter}:", comment, name)

    def test_manual(self):
        synopsis, _, text = MANUAL.partition(".SH DESCRIPTION")
        for name in self.listed:
            self.assertEqual(len(re.findall(rf"\b{name}\(", synopsis)), 1, name)
            self.assertTrue(re.search(rf"\b{name} \(\)", text), name)

    def test_manual_of_the_device(self):
        """It has every request, every flag, every error."""
        for name in re.findall(r"^#define\s+(OAE_\w+)\s+(?:_IO|0x)", UAPI, re.M):
            if not name.startswith(("OAE_IOC", "OAE_ST_", "OAE_NONBLOCK")):
                self.assertTrue(re.search(rf"\b{name}\b", DEVICE), name)
        told = set(re.findall(r"(?m)^\.TP\n\.B (E[A-Z0-9]+)$", DEVICE.partition(".SH ERRORS")[2]))
        self.assertEqual({getattr(errno, name) for name in told},
                         set(oae._MEANING) - {0})       # pylint: disable=protected-access

    def test_nothing_kept(self):
        """The library has no data of its own that could change."""
        lines = run("nm", LIB / "liboae.a").splitlines()
        self.assertEqual([line for line in lines if re.search(r" [dDbBcC] ", line)
                          # a table of pointers is relocated, then read only
                          and not re.search(r" d (table|names)(\.\d+)?$", line)], [])


class Python(unittest.TestCase):
    """The module says the same as the C library."""

    def test_doctests(self):
        failed, tried = doctest.testmod(oae)
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 4)

    def test_layouts(self):
        layouts = {"oae_attach": oae._ATTACH, "oae_peer": oae._PEER, "oae_options": oae._OPTIONS,
                   "oae_swap": oae._SWAP, "oae_verb_op": oae._OP, "oae_verb": oae._VERB,
                   "oae_verb_result": oae._RESULT, "oae_expose": oae._EXPOSE,
                   "oae_outcome_rec": oae._RECORD, "oae_collect": oae._COLLECT,
                   "oae_status": oae._STATUS, "oae_ring": oae._RING,
                   "oae_ring_add": oae._RING_ADD, "oae_bell": oae._BELL,
                   "oae_chunk": oae._CHUNK}             # pylint: disable=protected-access
        requests = {"SWAP_HALF": "SWAP", "DO_VERB": "VERB"}
        seen = set()
        for name, number in table("layout"):
            if name in layouts:
                self.assertEqual(layouts[name].size, int(number), name)
            else:
                self.assertEqual(getattr(oae, "_IOC_" + requests.get(name, name)), int(number))
            seen.add(name)
        self.assertEqual(len(seen), len(layouts) + 13)

    def test_errors(self):
        rows = table("errors")
        self.assertEqual(len(rows), len(oae._MEANING))  # pylint: disable=protected-access
        for number, ending, text in rows:
            self.assertEqual(oae.outcome(int(number)).value, ending)
            self.assertEqual(oae.strerror(int(number)), text)

    def test_the_table_of_the_header(self):
        """Every number there means what the table says, and there is no other."""
        text = UAPI.partition("How a transaction ends.")[2].partition("*/")[0]
        parts = re.split(r"(?m)^ \*  ?(?=REVERSED|UNKNOWN|not yet|COMMITTED|nothing)", text)[1:]
        endings = (oae.Ending.REVERSED, oae.Ending.UNKNOWN, oae.Ending.NOT_YET,
                   oae.Ending.COMMITTED, oae.Ending.NOTHING)
        self.assertEqual(len(parts), len(endings))
        found = {0}
        for part, ending in zip(parts, endings):
            # EINPROGRESS ... EAGAIN: names of numbers; EINVAL may be named in words
            for name in re.findall(r"\bE[A-Z0-9]{3,}\b", part):
                self.assertIs(oae.outcome(getattr(errno, name)), ending, name)
                found.add(getattr(errno, name))
        self.assertEqual(found, set(oae._MEANING))      # pylint: disable=protected-access

    def test_exceptions(self):
        for code, kind in ((errno.ENOLINK, oae.Reversed), (errno.EACCES, oae.Reversed),
                           (errno.EOWNERDEAD, oae.Unknown), (errno.EINPROGRESS, oae.Pending),
                           (errno.EAGAIN, BlockingIOError), (errno.EPERM, PermissionError),
                           (errno.ENOSPC, OSError)):
            error = oae._failure(code)                  # pylint: disable=protected-access
            self.assertIs(type(error), kind)
            self.assertEqual(error.errno, code)
        self.assertEqual(oae.Reversed(errno.ETIME).why, "the deadline passed")
        self.assertIsInstance(oae.Reversed(errno.ETIME), OSError)

    def test_verbs(self):
        """The bytes of a verb, as C lays them out."""
        verb = oae.Verb(None, 7).cas(16, [1, 2], [3, -1]).read(8)
        data = verb._pack().tobytes()                   # pylint: disable=protected-access
        words = [int.from_bytes(data[n:n + 8], sys.byteorder) for n in range(0, len(data), 8)]
        self.assertEqual(data[:2], bytes([5, 2]))
        self.assertEqual(int.from_bytes(data[4:8], sys.byteorder), 16)
        self.assertEqual(words[1:9], [3, (1 << 64) - 1, 0, 0, 0, 0, 0, 0])
        self.assertEqual(words[9:17], [1, 2, 0, 0, 0, 0, 0, 0])
        self.assertEqual(words[17:25], [0] * 8)
        self.assertEqual(data[200:202], bytes([1, 1]))
        for bad in (lambda: verb.write(0, []), lambda: verb.write(0, range(9)),
                    lambda: verb.cas(0, 1, [1, 2]), lambda: verb.read(0, 0)):
            self.assertRaises(ValueError, bad)
        self.assertRaises(TypeError, verb.write, 0, ["x"])

    def test_results(self):
        """struct oae_verb_result, with and without knowing what was asked."""
        data = b"".join(n.to_bytes(4, sys.byteorder) for n in (1, 0, 3, 0)) \
            + b"".join(n.to_bytes(8, sys.byteorder) for n in (7, 8, 9))
        unpack = oae._unpack_result                     # pylint: disable=protected-access
        self.assertEqual(unpack(data, [1, 0, 2]), oae.VerbResult(True, None, [(7,), (), (8, 9)]))
        self.assertEqual(unpack(data, None).old, [(7, 8, 9)])
        refused = b"".join(n.to_bytes(4, sys.byteorder) for n in (0, 1, 0, 0))
        self.assertEqual(unpack(refused, None), oae.VerbResult(False, 1, [()]))
        self.assertFalse(unpack(refused, None))

    def test_addresses(self):
        for text in ("", "02:0a:e0:00:00", "02:0a-e0:00:00:01", "020ae0000001",
                     "02:0a:e0:00:00:01\n", " 02:0a:e0:00:00:01", b"\1\2", None):
            self.assertRaises(ValueError, oae.parse_peer, text)
        self.assertEqual(oae.parse_peer(b"\2\0\0\0\0\1"), b"\2\0\0\0\0\1")

    def test_another_file(self):
        """A Link of a file that is none says so, and is closed."""
        end, other = os.pipe()
        os.close(end)
        with oae.Link.from_fd(other) as link:
            for call in (link.status, link.options, link.collect, link.cancel,
                         lambda: link.expose(1, 8, oae.Perm.READ), link.local().read(0).commit):
                with self.assertRaises(OSError) as caught:
                    call()
                self.assertEqual(caught.exception.errno, errno.ENOTTY)
            self.assertRaises(ValueError, link.queue, b"x")
            os.set_blocking(other, False)
            self.assertRaises(ValueError, link.send, b"x")
            self.assertRaises(ValueError, link.swap, b"x")
            self.assertRaises(ValueError, link.verb(1).read(0).commit)
        with self.assertRaises(OSError):
            os.fstat(other)


class Manual(unittest.TestCase):
    """The pages format without a word of complaint."""

    def test_pages(self):
        for page in ("doc/man/liboae.3", "doc/man/oae.4"):
            self.assertEqual(run("groff", "-man", "-Tutf8", "-ww", "-z", REPO / page), "")
            if shutil.which("mandoc"):
                self.assertEqual(run("mandoc", "-Tlint", REPO / page), "")


class Installed(unittest.TestCase):
    """What `make install` puts somewhere is all that a program needs."""

    @classmethod
    def setUpClass(cls):
        cls.root = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.root)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "OUT"))}
        cls.env = {**clean, "PKG_CONFIG_PATH": f"{cls.root}/stage/usr/lib/pkgconfig",
                   "PKG_CONFIG_SYSROOT_DIR": f"{cls.root}/stage",
                   # or it leaves out what it thinks the compiler knows
                   "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}
        run("make", "-s", "-C", REPO / "lib", f"OUT={cls.root}/lib", "PREFIX=/usr",
            f"DESTDIR={cls.root}/stage", "install", env=cls.env)

    def test_files(self):
        usr = self.root / "stage" / "usr"
        for name in ("include/oae.h", "include/linux/oae.h",
                     "include/linux/oae_netlink.h", "lib/liboae.so", "lib/liboae.so.1",
                     "lib/liboae.a", "lib/pkgconfig/oae.pc", "share/man/man3/liboae.3",
                     "share/man/man4/oae.4", "share/man/man3/oae_send.3"):
            self.assertTrue((usr / name).exists(), name)
        self.assertEqual(len(list(usr.rglob("oae.py"))), 1)
        self.assertEqual(run("pkg-config", "--modversion", "oae", env=self.env),
                         VERSION + "\n")
        self.assertIn("[liboae.so.1]", run("readelf", "-d", usr / "lib/liboae.so"))
        # a page for each function says where to look
        for page in (usr / "share/man/man3").glob("oae_*.3"):
            self.assertEqual(page.read_text("ascii"), ".so man3/liboae.3\n")

    def test_program(self):
        """An example, built by what pkg-config says, runs with the shared library."""
        out = self.root / "examples"
        run("make", "-s", "-C", REPO / "examples", "PKG=1", f"OUT={out}", env=self.env)
        env = {**self.env, "LD_LIBRARY_PATH": f"{self.root}/stage/usr/lib"}
        self.assertIn("usage: counter", run(out / "counter", "--help", env=env))
        self.assertIn("liboae.so.1 => " + str(self.root), run("ldd", out / "counter", env=env))

    def test_cxx(self):
        """The header is good C++, too."""
        if not shutil.which("g++"):
            self.skipTest("no g++")
        program = self.root / "x.cc"
        program.write_text('#include <oae.h>\nint main() { return oae_outcome(0); }\n', "ascii")
        flags = run("pkg-config", "--cflags", "--libs", "oae", env=self.env).split()
        run("g++", "-Wall", "-Wextra", "-Werror", program, "-o", self.root / "x", *flags)
        run(self.root / "x", env={"LD_LIBRARY_PATH": f"{self.root}/stage/usr/lib"})

    def test_loads(self):
        """And so does the library, by hand."""
        library = ctypes.CDLL(f"{self.root}/stage/usr/lib/liboae.so.1")
        library.oae_strerror.restype = ctypes.c_char_p
        self.assertEqual(library.oae_strerror(errno.ETIME), b"the deadline passed")


if __name__ == "__main__":
    unittest.main()
