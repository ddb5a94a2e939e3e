# SPDX-License-Identifier: GPL-2.0
"""What README.md says to type, typed: sessions at two hosts, and its programs."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from oaecmd import OAE
from oaetest import MODULE, REPO, Cable, OaeTest, loaded, unload, wait_for
from patience import SLOW
from readme import of_kind, pattern, typed

ADDRESSES = "02:0a:e0:00:00:01", "02:0a:e0:00:00:02"


class ReadmeTest(OaeTest):
    """
        node-01                                    node-02
        eth0 02:0a:e0:00:00:01 --- eth0 02:0a:e0:00:00:02
    """

    patience = 120

    @classmethod
    def build(cls):
        unload()        # the reader has not loaded it yet
        cls.nodes = {name: cls.host(name) for name in ("node-01", "node-02")}
        cls.one, cls.two = cls.nodes.values()
        cls.cable = Cable(cls.one, "eth0", cls.two, "eth0")
        for host, address in zip(cls.nodes.values(), ADDRESSES):
            host.sh(f"ip link set eth0 address {address}")
        cls.cable.mend()
        folder = tempfile.TemporaryDirectory(prefix="readme-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        # As if the module were installed; the README's modprobe is modprobe.
        (cls.folder / "modprobe.conf").write_text(
            f"install modoae /sbin/insmod {MODULE} $CMDLINE_OPTS\n")
        cls.env = {**os.environ, "PYTHONPATH": str(REPO / "lib"),
                   "PATH": f"{Path(OAE).parent}:{os.environ['PATH']}",
                   "MODPROBE_OPTIONS": f"-C {cls.folder / 'modprobe.conf'}"}

    @classmethod
    def type(cls, host, *command):
        """Run a command at a host; its status, and all that it said."""
        with host:
            done = subprocess.run(command, text=True, check=False, cwd=cls.folder, env=cls.env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=30 * SLOW)
        return done.returncode, done.stdout


class Sessions(ReadmeTest):
    """From the first modprobe on."""

    def setUp(self):
        super().setUp()
        self.assertFalse(loaded())

    def test_sessions(self):
        """Every console block, in order: each command says what the README has behind it."""
        for block in of_kind("console"):
            for command in typed(block):
                wanted = rf"\A{pattern(command.said)}\Z"
                if command.command.endswith(" &"):
                    self.start(self.nodes[command.node], command.command[:-2], wanted)
                    continue
                status, said = self.type(self.nodes[command.node], "bash", "-c", command.command)
                self.assertRegex(said, wanted, command.command)
                if not command.said:
                    self.assertEqual(status, 0, command.command)

    def start(self, host, command, wanted):
        """A command in the background, until the test ends; what it says at first."""
        path = self.folder / "background"
        with host, open(path, "w", encoding="utf-8") as file:
            process = subprocess.Popen(     # pylint: disable=consider-using-with
                ["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.env,
                stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for(lambda: re.search(wanted, path.read_text(encoding="utf-8")), command, 20)


class Programs(ReadmeTest):
    """Each is told that its transaction is committed; and, with the cable out, reversed."""

    @classmethod
    def build(cls):
        super().build()
        cls.type(cls.one, "modprobe", "modoae", "dead_ms=200")
        for host in cls.nodes.values():
            host.add_port("eth0")

    def both_ways(self, *command):
        """With the cable, and without."""
        self.assertEqual(self.type(self.one, *command), (0, "committed\n"))
        self.assertEqual(self.two.read_one(), b"job 17")
        self.cable.cut()
        self.addCleanup(self.cable.mend)
        self.assertRegex(self.type(self.one, *command)[1], r"(?m)^reversed\b")
        self.cable.mend()
        self.assertEqual(self.two.read(), b"")
        # The link is up again for the next one.
        wait_for(lambda: self.type(self.one, *command) == (0, "committed\n"), "the link to heal")
        self.assertEqual(self.two.read_one(), b"job 17")

    def file(self, kind, name):
        """The one block of a kind, as a file."""
        block, = of_kind(kind)
        path = self.folder / name
        path.write_text(block.text)
        return path

    def test_python(self):
        """Python's."""
        self.both_ways("python3", self.file("python", "job.py"))

    def test_c(self):
        """C's, compiled as the README says, but against the library in the tree."""
        self.file("c", "job.c")
        said = re.search(r"`(cc job\.c) \$\(pkg-config --cflags --libs oae\)`",
                         (REPO / "README.md").read_text(encoding="utf-8"))
        self.assertEqual(self.type(self.one, *said[1].split(), "-Wall", "-Werror", "-o", "job",
                                   f"-I{REPO / 'lib'}", f"-I{REPO / 'include'}",
                                   str(REPO / "build" / "lib" / "liboae.a")), (0, ""))
        self.both_ways("./job")

    def test_ring(self):
        """Python's, by rings."""
        self.both_ways("python3", self.file("python ring", "ring.py"))
