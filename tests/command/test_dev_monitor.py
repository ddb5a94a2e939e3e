# SPDX-License-Identifier: GPL-2.0
"""oae monitor when much happens: each event is seen or counted as missed, none is missed silently.
The tracepoint oae_event, which has them all, says how many there were.

    EVENTS=1000000 LINKS=200    that many, as `make test-long` has it
"""

import os
import re
import signal
import struct
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import test_dev_netlink
from faults import say
from oaecmd import OAE
from oaenl import Netlink
from oaetest import run, wait_for
from topology import OneCable

EVENTS = int(os.environ.get("EVENTS", "2000"))
LINKS = int(os.environ.get("LINKS", "20"))
TRACING = Path("/sys/kernel/tracing")
TRIGGER = "hist:keys=netns,word:size=2048 if kind == 5"       # OAE_EV_NOTE


class Reader:
    """oae monitor, and a thread that holds what it prints against the numbers of the events."""

    LINE = re.compile(rb'"kind":"link","what":"(\w+)".*"number":(\d+)\}|\{"missed":(\d+)\}')

    def __init__(self, host):
        with host:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen([OAE, "-j", "monitor", "kind", "link"],
                                            stdout=subprocess.PIPE)
        self.first = self.last = None           # numbers of events
        self.seen, self.missed, self.gaps = Counter(), 0, 0
        self.wrong = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        rest = b""
        while data := os.read(self.process.stdout.fileno(), 1 << 18):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._line(line)

    def _line(self, line):
        match = self.LINE.search(line)
        if not match:
            self.wrong.append(line)
        elif match[3]:
            self.missed += int(match[3])
            self.gaps += 1
            self.last = (self.last or 0) + int(match[3])
        else:
            number = int(match[2])
            if self.first is None:
                self.first, self.last = number, number - 1
            self.last += 1
            self.seen[match[1].decode()] += 1
            if number != self.last:
                self.wrong.append(line)

    def stop(self):
        """Interrupt it, and read what is left."""
        self.process.terminate()
        self._thread.join()
        self.process.stdout.close()
        return self.process.wait()


class Monitor(OneCable):
    """
        host a                   host b
        va ======= LINKS ======= vb

    A new MTU freezes all links of a port at once; they resolve at once, too.
    """

    one_cpu = False
    patience = 60 + EVENTS / 200

    @classmethod
    def build(cls):
        super().build()
        for host in cls.a, cls.b:
            host.knobs(keepalive_ms=600000, stranger_pps=100000)
        cls.a.knob("target", cls.cable.mac_b)
        # Used, or they would be closed one day.
        for vc in range(LINKS):
            cls.a.write(b"x", vc=vc)
        cls.b.read_all()

    @classmethod
    def all_open(cls):
        """Are they?"""
        return [tag["state"] for tag in cls.a.tags()] == LINKS * ["OPEN"]

    def setUp(self):
        super().setUp()
        if not TRACING.is_mount():
            run("mount", "-t", "tracefs", "none", str(TRACING))
        self.bytes = 1500
        self.addCleanup(self.cable.mtu, 1500)
        self.netlink = Netlink(self.a)
        self.addCleanup(self.netlink.close)
        self.reader = Reader(self.a)
        self.addCleanup(self.reader.process.kill)
        wait_for(self.heard, "the monitor to listen", 20)
        self.settled()

    def number(self):
        """Of the last event that was sent."""
        return struct.unpack("Q", dict(self.netlink.ask(test_dev_netlink.EVENT_GET)[0])[1])[0]

    def freeze(self):
        """All links, and wait until as many have resolved."""
        before = self.a.stat("note_resolved")
        self.bytes = 2900 - self.bytes
        self.a.mtu("va", self.bytes)
        wait_for(lambda: self.a.stat("note_resolved") >= before + LINKS, "the links to resolve",
                 20)

    def heard(self):
        """Make events; has it told of one?"""
        self.freeze()
        return self.reader.first

    def settled(self):
        """The number of the last event: nothing happens, and it has told of all up to there."""
        wait_for(self.all_open, "the links to be open", 20, 0.05)
        seen = []

        def no_more():
            seen.append(self.number())
            return seen[-5:] == 5 * seen[-1:]
        wait_for(no_more, "events to be sent", 20, 0.02)
        wait_for(lambda: self.reader.last == seen[-1] or self.reader.wrong,
                 f"all of {seen[-1]} to be told of", 60, 0.01)
        self.assertEqual(self.reader.wrong, [])
        return seen[-1]

    def trace(self):
        """Count notes from here on."""
        event = TRACING / "events/modoae/oae_event"
        if not (event / "hist").exists():
            self.skipTest("no histograms of events in this kernel")
        (event / "trigger").write_text(TRIGGER, "ascii")
        self.addCleanup((event / "trigger").write_text, "!" + TRIGGER, "ascii")

    def traced(self):
        """How many there were at host a, by name: those that are events of a link."""
        text = (TRACING / "events/modoae/oae_event/hist").read_text("ascii")
        self.assertIn("Dropped: 0\n", text)
        with self.a:
            netns = os.stat("/proc/thread-self/ns/net").st_ino
        found = re.findall(rf"netns: +{netns}, word: (\w+) +\}} hitcount: +(\d+)", text)
        return {name: int(count) for name, count in found
                if name in test_dev_netlink.Events.NOTES}

    def test_all_seen(self):
        """No more at once than it reads: it misses none, and has each as often as the tracepoint."""
        self.trace()
        begin, before, missed = self.reader.last, Counter(self.reader.seen), self.reader.missed
        for _ in range(10):
            self.freeze()
            end = self.settled()
        self.assertEqual(self.reader.missed, missed)
        self.assertEqual(self.reader.seen - before, self.traced())
        self.assertEqual(end - begin, sum(self.traced().values()))

    def test_flood(self):
        """As many as there can be: what it missed it says, one by one."""
        self.trace()
        begin, before = self.reader.last, Counter(self.reader.seen)
        missed, gaps, start = self.reader.missed, self.reader.gaps, time.monotonic()
        # More than a socket holds, while it does not read.
        self.reader.process.send_signal(signal.SIGSTOP)
        while self.number() - begin < 1000:
            self.freeze()
        self.reader.process.send_signal(signal.SIGCONT)
        while self.number() - begin < EVENTS:
            self.freeze()
        seconds = time.monotonic() - start
        happened = self.settled() - begin
        seen, traced = self.reader.seen - before, self.traced()
        missed, gaps = self.reader.missed - missed, self.reader.gaps - gaps
        say(f"    {happened} events in {seconds:.1f} s, {happened / seconds:.0f}/s: "
            f"{sum(traced.values())} by the tracepoint, {seen.total()} seen, {missed} missed in "
            f"{gaps} places")
        self.assertEqual(sum(traced.values()), happened)
        self.assertEqual(seen.total() + missed, happened)
        self.assertEqual(seen - Counter(traced), Counter())
        self.assertGreaterEqual(happened, EVENTS)
        self.assertGreater(missed, 100)
        self.assertEqual(self.reader.stop(), 0)
