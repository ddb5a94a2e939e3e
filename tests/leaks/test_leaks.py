# SPDX-License-Identifier: GPL-2.0
"""Nothing is left behind: memory in use, before and after many lives and deaths.

Not among the others, since it wants a kernel that counts exactly:
    tools/vm run --append slub_debug=F -- tests/guest/run test_leaks
"""

import errno
import os
from pathlib import Path

import oaewire as oae
from faults import Losing, check_leaks
from oaedev import OaeFile
from oaetest import load, run, unload, wait_for
from patience import SLOW, TIMES
import test_life
from test_life import MAC_A, MAC_B


class Leaks(test_life.Life):
    """Life, many times over."""

    patience = int(150 * max(TIMES, 1))

    def setUp(self):
        if "slub_debug" not in Path("/proc/cmdline").read_text("ascii"):
            self.fail("what each CPU keeps of a cache counts as in use: boot with slub_debug=F")
        super().setUp()

    # Only the tests here, not Life's.
    for name in dir(test_life.Life):
        if name.startswith("test_"):
            locals()[name] = None
    del name

    def exchange(self):
        """Of everything a little, some of it lost."""
        self.a.write(b"x" * 40000)
        self.b.write(b"y" * 100)
        with Losing(self.b, "vb", oae.REFLECT):
            writer = self.a.start_write(b"z" * 20000)
            wait_for(lambda: self.b.tag()["hold"] == "held", "it to be held")
        self.assertEqual(writer.result(), 20000)
        self.assertEqual(len(self.b.read_each()), 2)
        self.assertEqual(self.a.read_each(), [b"y" * 100])

    def test_devices(self):
        """Devices come and go, with something held, queued and unread."""
        # A message lost for longer than that is too big for the path, and no port was removed.
        self.a.knob("dead_ms", 60000)

        def cycle():
            self.exchange()
            self.b.write(b"never read")
            with Losing(self.b, "vb", oae.REFLECT):
                writers = [self.a.start_write(b"never delivered" * 1000) for _ in range(3)]
                wait_for(lambda: self.b.tag()["hold"] == "held", "it to be held")
                run("ip", "-n", "a", "link", "del", "va", timeout=20 * SLOW)
                for writer in writers:
                    self.assertEqual(writer.result(), -errno.ECANCELED)
                self.plug()
                self.b.sh("tc qdisc add dev vb clsact")
            self.a.read_each()
        check_leaks(cycle, 8)

    def test_read_by_files(self):
        """Links that peers open are read by files: nobody reads noc_debug, nothing is left."""
        def cycle():
            self.b.write(b"for a file")
            wait_for(lambda: self.a.tag()["unread"] == 1, "it to be there")
            with OaeFile.to(self.a, MAC_B) as file:
                self.assertEqual(file.read(), b"for a file")
            self.b.close_tag(MAC_A)
            wait_for(lambda: not self.a.tags() and not self.b.tags(), "the link to go")
        check_leaks(cycle, 20)

    def test_never_read(self):
        """Ports go with something unread, which nobody reads: there is an end to what is kept."""
        self.a.knobs(max_tags=4, linger_ms=0, target="")

        def cycle():
            self.b.write(b"never read")
            self.a.knob("dev", "-va")
            self.a.add_port("va")
            wait_for(lambda: not self.b.tags(), "the link to go")
        check_leaks(cycle, 20)

    def test_namespaces(self):
        """Namespaces come and go, with something held, queued and unread."""
        def cycle():
            self.exchange()
            self.b.write(b"never read")
            fd = self.a.open(os.O_WRONLY | os.O_NONBLOCK)
            with Losing(self.b, "vb", oae.REFLECT):
                os.write(fd, b"never delivered" * 100)
                os.write(fd, b"never delivered" * 1000)
                wait_for(lambda: self.b.tag()["hold"] == "held", "it to be held")
                os.close(fd)
                self.destroy(self.a)
                wait_for(lambda: not self.b.has_link("vb"), "the cable to go")
                self.a = self.new_host("a")
                self.plug()
                self.b.sh("tc qdisc add dev vb clsact")
        check_leaks(cycle, 7)

    def test_module(self):
        """The module comes and goes, with something held, queued and unread."""
        def cycle():
            self.exchange()
            self.b.write(b"never read")
            fd = self.a.open(os.O_WRONLY | os.O_NONBLOCK)
            with Losing(self.b, "vb", oae.REFLECT):
                os.write(fd, b"never delivered" * 1000)
                wait_for(lambda: self.b.tag()["hold"] == "held", "it to be held")
                os.close(fd)
                self.a.knob("linger_ms", 0)
                self.b.knob("linger_ms", 0)
                unload()
                load()
                self.bind(self.a, "va", MAC_B)
                self.bind(self.b, "vb", MAC_A)
        check_leaks(cycle, 7)
