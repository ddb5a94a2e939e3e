# SPDX-License-Identifier: GPL-2.0
"""doc/architecture.md, "How a message travels": ftrace sees the same."""

import os
import re
import sys
from pathlib import Path

from oaetest import Cable, OaeTest, run, wait_for

ROOT = Path(__file__).resolve().parents[2]
TRACING = Path("/sys/kernel/tracing")
# In a block of the page: a function, its file, and what it does.
STEP = re.compile(r"    (\w+)\(\) +(\w+/\w+\.c)( .*)?")


def page():
    """The steps in order: each a function and the file in which it is."""
    text = (ROOT / "doc" / "architecture.md").read_text()
    section = text.split("\n## How a message travels\n")[1].split("\n## ")[0]
    return [(found[1], found[2]) for found in map(STEP.fullmatch, section.splitlines()) if found]


class Travels(OaeTest):
    """
        host a             host b
        va ----------------- vb
    """

    @classmethod
    def build(cls):
        cls.a, cls.b = cls.host("a"), cls.host("b")
        cls.cable = Cable(cls.a, "va", cls.b, "vb")
        cls.a.add_port("va")
        cls.b.add_port("vb")
        cls.a.knobs(target=cls.cable.mac_b, keepalive_ms=600000)
        cls.b.knobs(target=cls.cable.mac_a, keepalive_ms=600000)

    def set(self, name, value):
        """One of tracefs' files."""
        (TRACING / name).write_text(value)

    def trace(self, functions=":mod:modoae"):
        """The functions, those of the module, in the order in which a message enters them."""
        if not TRACING.is_mount():
            run("mount", "-t", "tracefs", "none", str(TRACING))
        if "function" not in (TRACING / "available_tracers").read_text().split():
            self.skipTest("this kernel has no function tracer")
        self.set("set_ftrace_filter", functions)
        self.addCleanup(self.set, "set_ftrace_filter", "")
        self.set("current_tracer", "function")
        self.addCleanup(self.set, "current_tracer", "nop")
        self.set("trace", "")
        self.a.write(b"hello")
        wait_for(lambda: self.b.tag()["unread"] == 1, "it to be delivered")
        self.assertEqual(self.b.read_one(), b"hello")
        self.set("tracing_on", "0")
        self.addCleanup(self.set, "tracing_on", "1")
        return (TRACING / "trace").read_text()

    def test_page(self):
        """Each function of the page, in the page's order."""
        self.a.write(b"the link opens")
        self.assertEqual(self.b.read_one(), b"the link opens")
        text = self.trace()
        if os.environ.get("OAE_TRACE"):
            sys.__stdout__.write(text)
        seen = re.findall(r": (\w+)(?:\.\w+)* <-", text)
        steps = page()
        self.assertGreater(len(steps), 30)
        at = 0
        for number, (function, _) in enumerate(steps):
            self.assertIn(function, seen[at:], f"step {number} of the page, after "
                          f"{[name for name, _ in steps[:number]][-3:]}, is not in the trace")
            at = seen.index(function, at) + 1

    def test_spares(self):
        """A processor that has sent and received some frames builds further ones in their skbs."""
        self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        os.sched_setaffinity(0, {0})
        for _ in range(4):
            self.a.write(b"spare skbs")
            self.assertEqual(self.b.read_one(), b"spare skbs")
        seen = re.findall(r": (\w+) <-(\w+)", self.trace("__alloc_skb\noae_link_rcv"))
        self.assertIn("oae_link_rcv", [function for function, _ in seen])
        callers = {caller for function, caller in seen if function == "__alloc_skb"}
        self.assertFalse([name for name in callers if re.match("(oae_)?xmit_", name)])

    def test_files(self):
        """And each is where the page says."""
        for function, file in page():
            text = (ROOT / "modoae" / file).read_text()
            body = rf"^\w[^;(]*\b{function}\([^;{{]*\)(?:\n\t__\w+\(.*\))*\n\{{"
            self.assertTrue(re.search(body, text, re.M), f"{function}() is not in {file}")
