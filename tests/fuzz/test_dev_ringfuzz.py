# SPDX-License-Identifier: GPL-2.0
"""Hostile programs with rings, killed at random, beside those that must not notice: see
tests/fuzz/ringfuzz.c. TIME=SECONDS, SEED=NUMBER to do the same again.

    a va ---- vb b
"""

import os
import random
import subprocess

import oaedev as dev
from devpump import compile_c
from faults import say
from oaetest import forget_links, loaded
from patience import SLOW
from topology import OneCable

TIME = float(os.environ.get("TIME", "5"))
SOURCES = ("ringfuzz", "ringfuzz_do", "ringfuzz_watch", "devfuzz_values", "devfuzz_chaos")
# What may fail every time.
HARD = ("lend", "mremap", "mlock")


class Rings(OneCable):
    """Two hosts and a cable. Host a has the rings."""

    one_cpu = False
    patience = int(TIME + 120)

    @classmethod
    def build(cls):
        dev.node()
        super().build()

    def fuzz(self, seed):
        """Run it; its status, what it printed, and {word: (done, good)}."""
        program = compile_c("ringfuzz", *(f"fuzz/{name}.c" for name in SOURCES),
                            flags=("-pthread",))
        hosts = [f"/run/netns/{host.name}:{port}:{mac.replace(':', '-')}" for host, port, mac in
                 ((self.a, "va", self.cable.mac_a), (self.b, "vb", self.cable.mac_b))]
        done = subprocess.run([program, str(seed), str(TIME), *hosts], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=(TIME + 80) * SLOW)
        say("    " + done.stdout.replace("\n", "\n    ").rstrip())
        rows = [line.split() for line in done.stdout.splitlines()]
        return done, {row[0]: (int(row[1]), int(row[2])) for row in rows
                      if len(row) == 3 and row[1].isdigit()}

    def test_hostile_rings(self):
        """Nothing of them reaches another ring, another file, or the kernel's memory."""
        seed = int(os.environ.get("SEED") or random.getrandbits(31))
        say(f"    SEED={seed} TIME={TIME:g}")
        done, counts = self.fuzz(seed)
        self.assertEqual(done.returncode, 0, done.stdout)
        watchers = {name: count for name, count in counts.items() if name.startswith("watcher")}
        self.assertEqual(len(watchers), 5)
        for name, (sent, seen) in watchers.items():
            self.assertGreater(min(sent, seen), 5 * TIME / SLOW, name)
        self.assertEqual(counts["outcomes"][0], counts["watcher-0"][0])
        failed = [name for name, (tried, good) in counts.items()
                  if tried > 50 and not good and name not in HARD]
        self.assertEqual(failed, [], "these were never anything but errors")
        # The rings stand still of those that broke the rules, and of no others.
        self.assertGreater(self.a.stat("rings_broken"), 0)
        self.assertEqual(self.b.stat("rings_broken"), 0)
        forget_links(self.a, self.b)
        for host in (self.a, self.b):
            stats = host.stats()
            self.assertEqual(stats["tags_made"], stats["tags_gone"])
            self.assertEqual(stats["posted"],
                             stats["committed"] + stats["reversed"] + stats["unknown"])
        self._unload()
        self.assertFalse(loaded())
