# SPDX-License-Identifier: GPL-2.0
"""devpumps: programs at work on /dev/oae, and what their ledgers must say when it is over.

Every message, half and verb leaves a line in its program's ledger: what it was told. check_*()
hold the ledgers of both ends against each other.
"""

import functools
import signal
import struct
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from oaetest import REPO, wait_for

EXPRESS = {"express": 1}


@functools.cache
def compile_c(name, *sources, flags=()):
    """A helper in C, compiled once; its path. That of the Makefile here, if it is up to date."""
    found = REPO / "build/guest" / name
    sources = [REPO / "tests" / source for source in sources]
    used = [*sources, *REPO.glob("tests/*/*.h"), *(REPO / "include").rglob("*.h")]
    if found.exists() and found.stat().st_mtime > max(path.stat().st_mtime for path in used):
        return str(found)
    path = Path(tempfile.mkdtemp()) / name
    subprocess.run(["gcc", "-O1", "-Wall", "-o", str(path), *flags, *map(str, sources)],
                   check=True)
    return str(path)


class DevPump:
    """One of them under way."""

    _program = None
    _count = 0

    def __init__(self, host, role, peer=None, **how):
        if not DevPump._program:
            DevPump._program = compile_c("devpump", "guest/devpump.c")
        DevPump._count += 1
        self.host, self.role, self.how = host, role, how
        self.path = f"/tmp/devpump-{DevPump._count}"
        args = {"role": role, "log": self.path, **({"peer": peer} if peer else {}), **how}
        # The pump lets them in when it is ready for them.
        signals = {signal.SIGTERM, signal.SIGUSR1}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        try:
            with host:
                self.process = subprocess.Popen(
                    [self._program, *(f"{k}={v}" for k, v in args.items())],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)

    def wait_ready(self, *words):
        """Until it has said so."""
        for word in (b"ready", *words):
            line = self.process.stdout.readline().strip()
            if line != word:
                raise AssertionError(f"{self}: said {line}, ended with {self.process.wait()}")
        return self

    def __repr__(self):
        return f"devpump {self.role} at {self.host.name} {self.how}"

    def running(self):
        """Is it?"""
        return self.process.poll() is None

    def signal(self, number):
        """Send it a signal."""
        self.process.send_signal(number)

    def kill(self):
        """End it, whatever it is doing."""
        if self.running():
            self.process.kill()
        self.process.wait(20)
        self.process.stdout.close()

    def result(self, deadline=20):
        """Its ledger, once it has ended, which it must have done well."""
        wait_for(lambda: not self.running(), f"{self} to end", deadline, 0.005)
        if self.process.returncode:
            raise AssertionError(f"{self} ended with {self.process.returncode} "
                                 "(3: something altered or torn, 4: order)")
        return Path(self.path).read_bytes()


def outcomes(column):
    """Counts of outcomes, which may be C and R, and nothing else here."""
    tally = Counter(map(chr, column))
    if set(tally) - set("CR"):
        raise AssertionError(f"outcomes that nothing explains: {dict(tally)}")
    return tally


def swaps(ledger):
    """(number, outcome, stream taken, number taken) a half."""
    return list(struct.iter_unpack("<4I", ledger))


def check_swaps(one, other):
    """Two swappers, one at each end of a link: the same pairs in the same order, or nothing."""
    one, other = swaps(one), swaps(other)
    tally = outcomes(how for _, how, _, _ in one) + outcomes(how for _, how, _, _ in other)
    here = [(mine, its) for mine, how, _, its in one if how == ord("C")]
    there = [(its, mine) for mine, how, _, its in other if how == ord("C")]
    if here != there:
        at = next((n for n, two in enumerate(zip(here, there)) if two[0] != two[1]),
                  min(len(here), len(there)))
        raise AssertionError(f"halves taken are not those given: swap {at}: one end says "
                             f"{here[at:at + 3]}, the other {there[at:at + 3]}; "
                             f"{len(here)} and {len(there)} in all")
    return tally


def check_swaps_of_many(ones, others):
    """Several swappers at each end: every half that was taken was given to that very taker."""
    def pairs(ledgers, turned=False):
        found = Counter()
        for stream, ledger in ledgers.items():
            for mine, how, its_stream, its in swaps(ledger):
                if how == ord("C"):
                    pair = (stream, mine), (its_stream, its)
                    found[pair[::-1] if turned else pair] += 1
        return found
    here, there = pairs(ones), pairs(others, True)
    if here != there or any(n != 1 for n in here.values()):
        raise AssertionError(f"halves taken are not those given: {here - there} {there - here}")
    return sum(here.values())


def pairs_of(ledger):
    """The lines of a verb's ledger."""
    return list(struct.iter_unpack("<2Q", ledger))


def check_adds(word, local, ledgers):
    """FETCH_ADDs of 1 at a word, `local` of them by its owner."""
    lines = [pairs_of(ledger) for ledger in ledgers]
    tally = Counter()
    for mine in lines:
        tally += outcomes(how for how, _ in mine)
        old = [value for how, value in mine if how == ord("C")]
        if old != sorted(old):
            raise AssertionError("old words of one adder go back")
    old = [value for mine in lines for how, value in mine if how == ord("C")]
    if len(set(old)) != len(old):
        raise AssertionError(f"the same old word twice: "
                             f"{[v for v, n in Counter(old).items() if n > 1][:10]}")
    if word != len(old) + local:
        raise AssertionError(f"the word is {word}, {len(old)} adds were committed, "
                             f"{local} made by the owner")
    if old and max(old) >= word:
        raise AssertionError(f"an old word of {max(old)}, and the word is {word}")
    return tally


def check_cas(words, ledgers):
    """Compare-and-commits of 64 bytes: each version made once."""
    tally, made = Counter(), []
    for ledger in ledgers:
        lines = pairs_of(ledger)
        tally += outcomes(how for how, _ in lines)
        made += [version for _, version in lines if version]
    if sorted(made) != list(range(1, len(made) + 1)):
        raise AssertionError(f"versions made twice, or missing: "
                             f"{[v for v, n in Counter(made).items() if n > 1][:10]}, "
                             f"{len(made)} made, {max(made, default=0)} the last")
    if words[0] != len(made):
        raise AssertionError(f"{len(made)} versions were made, the words are of {words[0]}")
    tally["taken"] = len(made)
    return tally


def check_moves(words, ledgers):
    """What is taken from one word is given to the other: the sum stays 0, always."""
    tally = Counter()
    for ledger in ledgers:
        tally += outcomes(how for how, _ in pairs_of(ledger))
    if words[0] + words[1] & (1 << 64) - 1:
        raise AssertionError(f"the sum of {words[:2]} is not 0")
    return tally


def owned(ledger):
    """What the owner added, and its region's words."""
    return struct.unpack_from("<Q", ledger)[0], struct.unpack_from("<512Q", ledger, 8)
