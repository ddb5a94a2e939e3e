# SPDX-License-Identifier: GPL-2.0
"""The programs of examples/ that send streams, by rings and by read and write. MESSAGES=NUMBER.

Build first: make -C examples.

    n1 e1 ---- e2 n2
"""

import os
import re

from faults import say
from test_dev_examples import BUILT, ExamplesTest

MESSAGES = int(os.environ.get("MESSAGES", "3000"))
MANNERS = ("ring", "files")


class Streams(ExamplesTest):
    """What each program is for, in both manners, and between them."""

    def run_program(self, host, name, manner, role, *peers, count=MESSAGES):
        """One of them, at a host; peers are virtual channels of the other host."""
        mac = self.cable.mac_b if host is self.n1 else self.cable.mac_a
        return self.start(host, BUILT / name, "-m", manner, "-n", count, role,
                          *(f"{mac}@{vc}" for vc in peers))

    def finish(self, what, program):
        """All that it printed, but for its last line, which is how fast it was."""
        self.assertEqual(program.wait(), 0, what)
        lines = []
        while line := program.line():
            lines.append(line)
        self.assertRegex(lines[-1], rf"^{program.count} messages in ")
        say(f"    {what}: {lines[-1]}")
        return lines[:-1]

    def start(self, host, *command, **options):
        program = super().start(host, *command, **options)
        program.count = command[command.index("-n") + 1]
        return program

    def both(self, name, server, client, vc):
        """A server and a client, by all pairs of manners; what they printed."""
        for n, (one, other) in enumerate((a, b) for a in MANNERS for b in MANNERS):
            with self.subTest(f"{name}, {one} and {other}"):
                at = self.run_program(self.n1, name, one, server, vc + n)
                of = self.run_program(self.n2, name, other, client, vc + n)
                said = self.finish(f"{name}: {client} by {other}, for {server} by {one}", of)
                self.assertEqual(
                    self.finish(f"{name}: {server} by {one}, for {client} by {other}", at), said)

    def test_echo(self):
        """Each number comes back as the next."""
        self.both("echo", "serve", "ask", 0)

    def test_kv(self):
        """Each GET finds what was put last."""
        self.both("kv", "serve", "ask", 10)

    def test_logscan(self):
        """The monitor has seen the lines that were logged."""
        self.both("logscan", "watch", "log", 20)

    def test_balancer(self):
        """Each message reaches one worker, those of a key the same, in order."""
        for n, manner in enumerate(MANNERS):
            with self.subTest(manner):
                vc = 30 + 10 * n
                # How the keys fall: as hash() of balancer.c has it.
                to = [(key * 0x9e3779b97f4a7c15 & 2 ** 64 - 1) >> 32 & 0xffffffff
                      for key in range(1000)]
                counts = [sum(to[i % 1000] % 2 == worker for i in range(MESSAGES))
                          for worker in (0, 1)]
                sinks = [self.run_program(self.n2, "balancer", manner, "sink", vc + 1 + worker,
                                          count=counts[worker]) for worker in (0, 1)]
                split = self.run_program(self.n1, "balancer", manner, "split", vc, vc + 1, vc + 2)
                source = self.run_program(self.n2, "balancer", manner, "source", vc)
                for what, program in (("source", source), ("split", split),
                                      *(("sink", sink) for sink in sinks)):
                    self.finish(f"balancer {what}, {manner}", program)

    def test_help(self):
        """Each says what it takes."""
        for name in "echo", "kv", "logscan", "balancer":
            program = super().start(self.n1, BUILT / name, "-h")
            text = program.line()
            self.assertTrue(re.match(rf"usage: {name} ", text), text)
            self.assertEqual(program.wait(), 0)
