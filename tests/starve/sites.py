# SPDX-License-Identifier: GPL-2.0
"""The switch, oaestarve.ko: which sites there are, and which is to fail."""

from collections import namedtuple
from pathlib import Path

DIR = Path("/sys/kernel/debug/oaestarve")
ALWAYS = 4000000000


class Site(namedtuple("Site", "number module where function call asked failed")):
    """A call that may fail, and how often it was asked whether to, and did."""

    def __str__(self):
        return f"{self.where:<26} {self.function}(): {self.call}()"


def sites():
    """All that the modules had that were loaded so far: number -> Site."""
    found = {}
    for line in (DIR / "sites").read_text("ascii").splitlines():
        number, module, where, function, call, asked, failed = line.split()
        found[int(number)] = Site(int(number), module, where, function, call, int(asked),
                                  int(failed))
    return found


def fail(number, skip=0, count=1, also=()):
    """A site is granted what it asks for `skip` times, then refused `count` times.

    Until then the sites of `also` are refused whenever they ask.
    """
    (DIR / "fail").write_text(f"site {number} {skip} {count}\n", "ascii")
    for other in also:
        (DIR / "fail").write_text(f"also {other}\n", "ascii")


def fail_random(per_mille, seed):
    """Any site, at random."""
    (DIR / "fail").write_text(f"random {per_mille} {seed}\n", "ascii")


def move():
    """None fails, but the head of an skb moves wherever it may."""
    (DIR / "fail").write_text("move\n", "ascii")


def off():
    """None fails."""
    (DIR / "fail").write_text("off\n", "ascii")
