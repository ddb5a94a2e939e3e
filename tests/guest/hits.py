# SPDX-License-Identifier: GPL-2.0
"""What functions of the kernel do, by kprobes: how often they are called, and in which order."""

import os
import re
import threading
import unittest
from pathlib import Path

from oaetest import run

TRACING = Path("/sys/kernel/tracing")
ALLOCATIONS = "kmalloc", "kmalloc_node", "kmem_cache_alloc", "kmem_cache_alloc_node", "mm_page_alloc"
INTERRUPT = set("hHsZz")                                # in the flags of a line of `trace`


def command(text):
    """A line for kprobe_events."""
    fd = os.open(TRACING / "kprobe_events", os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, text.encode() + b"\n")
    finally:
        os.close(fd)


class Hits:
    """How often functions of the kernel are called, by kprobes."""

    def __init__(self, **functions):
        self.mounted()
        self.names = list(functions)
        for name, where in functions.items():
            command(f"p:oaetest/{name} {where}")
        self._enable(1)

    @staticmethod
    def mounted():
        """Where kprobes are to be had; a test is skipped elsewhere."""
        if not TRACING.exists() or not os.path.ismount(TRACING):
            try:
                run("mount", "-t", "tracefs", "none", str(TRACING))
            except (AssertionError, OSError) as e:
                raise unittest.SkipTest("no tracing here") from e
        if not (TRACING / "kprobe_events").exists():
            raise unittest.SkipTest("no kprobes here")

    @staticmethod
    def _enable(on):
        (TRACING / "events/oaetest/enable").write_text(str(on), "ascii")

    def count(self, name):
        """Of one of them, until now."""
        text = (TRACING / "kprobe_profile").read_text("ascii")
        return int(re.search(rf"^\s*{name}\s+(\d+)\s", text, re.M)[1])

    def end(self):
        """No more."""
        self._enable(0)
        for name in self.names:
            command(f"-:oaetest/{name}")

    @staticmethod
    def allocations(on):
        """Whether each allocation of the kernel is noted, too; the names of those events."""
        events = [TRACING / "events/kmem" / name for name in ALLOCATIONS]
        events = [event for event in events if event.exists()]
        for event in events:
            (event / "enable").write_text(str(int(on)), "ascii")
        return [event.name for event in events]

    @staticmethod
    def _trace():
        """Thread and name of each that is in the trace, in order. What interrupts a thread is not its own."""
        for line in (TRACING / "trace").read_text("ascii").splitlines():
            found = re.match(r"\s*\S.*-(\d+)\s+\[\d+\]\s+(\S+)\s+\S+: (\w+): ", line)
            if found and not set(found[2]) & INTERRUPT:
                yield found[1], found[3]

    @classmethod
    def by_this_thread(cls, what, action):
        """How often one of them is called by the thread that calls action(), meanwhile."""
        (TRACING / "trace").write_text("", "ascii")
        action()
        return sum(one == (str(threading.get_native_id()), what) for one in cls._trace())

    @classmethod
    def by_hold(cls, what, lock, free):
        """Most often of one of them, by one thread, between `lock` and the `free` after it."""
        most, held = 0, {}
        for thread, name in cls._trace():
            if name == lock:
                held[thread] = 0
            elif name == free:
                most = max(most, held.pop(thread, 0))
            elif name == what and thread in held:
                held[thread] += 1
        return most
