# SPDX-License-Identifier: GPL-2.0
"""Traffic under faults, and the promise checked when it is over.

    a: pump send ----\             /---- b: pump send
                      noc_debug ===
    a: pump recv ----/   a link    \---- b: pump recv

Every transaction has a stream and a number. The senders log what they were told of each, the
readers what came, and check_promise() compares the two. An End is whatever runs pumps and has a
node: a namespace here, a whole guest in `pair`.
"""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from array import array
from collections import Counter
from operator import lt
from pathlib import Path

from oaetest import REPO, wait_for

# What a peer that keeps to the protocol never makes a node count.
NEVER = ("note_broken", "note_impossible", "note_mismatch", "no_memory")

# 10 % lost, 5 % doubled, 1 % altered. A third goes ahead of what waits in the queue.
NETEM = "delay 60us 40us loss 10% duplicate 5% reorder 33% 25% corrupt 1%"


def say(text):
    """Tell the user how far it is, past unittest's buffer."""
    print(text, file=sys.__stderr__, flush=True)


def build_pump(path):
    """Compile pump.c."""
    subprocess.run(["gcc", "-O2", "-o", str(path), str(REPO / "tests/regress/pump.c")],
                   check=True)
    return str(path)


class HostEnd:
    """A namespace."""

    _pump = None

    def __init__(self, host):
        self.host, self.name = host, host.name
        if not HostEnd._pump:
            HostEnd._pump = build_pump(Path(tempfile.mkdtemp()) / "pump")

    def start(self, *args, target=None):
        """Run the pump; its process."""
        fd = self.host.open(os.O_RDWR, target=target)
        try:
            with self.host:
                return subprocess.Popen([self._pump, *map(str, args)], pass_fds=(fd,),
                                        env={"NOC_FD": str(fd)}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)
        finally:
            os.close(fd)

    def stats(self):
        """The counters of the node."""
        return self.host.stats()

    @staticmethod
    def log(path):
        """What a pump has logged."""
        return Path(path).read_bytes()


class Pump:
    """A pump under way."""

    _count = 0

    def __init__(self, end, *args, target=None):
        Pump._count += 1
        self.end, self.path = end, f"/tmp/pump-{os.getpid()}-{Pump._count}"
        self.process = end.start(*args, self.path, target=target)

    def running(self):
        """Is it?"""
        return self.process.poll() is None

    def signal(self, number):
        """Send it a signal."""
        self.process.send_signal(number)

    def result(self, deadline=20):
        """Its log, once it has ended. It must have ended well."""
        wait_for(lambda: not self.running(), f"a pump at {self.end.name} to end", deadline)
        if self.process.returncode:
            raise AssertionError(f"a pump at {self.end.name} ended with {self.process.returncode}"
                                 + " (3: it read something altered)")
        return self.end.log(self.path)


class Tally(Counter):
    """What the senders were told: C, R, U, P; and `got` and `lost` at the readers."""


def check_promise(sent, got, express=False, died=False):
    """G1 to G3, from the logs; the Tally.

    sent: stream -> a byte an outcome; got: the readers' logs. died: an end of a link died, so
    UNKNOWN may be said; what was committed and did not arrive is counted in `lost`, and the
    caller knows whether that is too much.
    """
    numbers = {}
    for log in got:
        both = array("I", log)
        for stream in set(both[::2]):
            mine = both[1::2] if len(set(both[::2])) == 1 else \
                array("I", (n for s, n in zip(both[::2], both[1::2]) if s == stream))
            if stream in numbers:
                mine = numbers[stream] + mine
            numbers[stream] = mine

    tally = Tally()
    for stream, mine in numbers.items():
        if not all(map(lt, mine, mine[1:])):
            at = next(i for i in range(1, len(mine)) if mine[i - 1] >= mine[i])
            raise AssertionError(f"stream {stream}: doubled or out of order: "
                                 f"{mine[max(at - 3, 0):at + 3].tolist()}")
        if stream not in sent:
            raise AssertionError(f"stream {stream}: nobody sent it")
    for stream, outcomes in sent.items():
        mine = numbers.get(stream, array("I"))
        told = Counter(outcomes[n:n + 1] for n in mine)
        tally.update(outcomes.decode("ascii"))
        tally["got"] += len(mine)
        if told[b"R"] or told[b""]:
            raise AssertionError(
                f"stream {stream}: delivered, and its sender was told that it was reversed: "
                f"{[n for n in mine if outcomes[n:n + 1] in (b'R', b'')][:10]}")
        lost = outcomes.count(b"C") - told[b"C"]
        tally["lost"] += lost
        if lost and not died:
            here = set(mine)
            raise AssertionError(
                f"stream {stream}: {lost} committed and not delivered: "
                f"{[n for n, o in enumerate(outcomes) if o == ord('C') and n not in here][:10]}")
    if tally["U"] and not died:
        raise AssertionError(f"{tally['U']} unknown, and nobody died")
    if tally["P"] and not express:
        raise AssertionError(f"{tally['P']} in progress, and none was express")
    return tally


class Traffic:
    """Readers and senders at some ends; finish() waits for them and checks everything.

    Made when nothing is under way: the counters are compared with those at that moment.
    """

    _stream = 0

    def __init__(self, *ends, what=""):
        self.ends, self.what = ends, what
        self.readers = [Pump(end, "recv", 1 << 30) for end in ends]
        self.senders = {}           # stream -> Pump
        self.goal = 0
        self.base = [end.stats() for end in ends]
        self.begin = self.said = time.monotonic()

    def send(self, end, count, sizes=(16, 200), streams=1, target=None):
        """`count` transactions from an end, in so many streams."""
        for n in range(streams):
            share = count * (n + 1) // streams - count * n // streams
            Traffic._stream += 1
            self.goal += share
            self.senders[self._stream] = Pump(end, "send", self._stream, share, *sizes,
                                              target=target)

    def counted(self, name, end=None):
        """A counter's sum over all ends, or at one, since the beginning."""
        return sum(e.stats()[name] - base[name] for e, base in zip(self.ends, self.base)
                   if end in (None, e))

    def running(self):
        """Is anybody sending? Says every few seconds how far it is."""
        if time.monotonic() - self.said > 5:
            self.said = time.monotonic()
            say(f"    {self.what or 'traffic'}: {self.counted('committed')} of {self.goal} "
                f"committed, {self.counted('note_resolved') // 2} failures resolved, "
                f"{self.said - self.begin:.0f} s")
        return any(pump.running() for pump in self.senders.values())

    def stop(self):
        """Ask the senders to stop."""
        for pump in self.senders.values():
            if pump.running():
                pump.signal(signal.SIGTERM)

    def interrupt(self):
        """One sender's transaction is to be reversed."""
        pump = random.choice(list(self.senders.values()))
        if pump.running():
            pump.signal(signal.SIGUSR1)

    def moved(self, n, deadline=30):
        """Wait until so many more are committed, or all are sent."""
        goal = self.counted("committed") + n
        wait_for(lambda: self.counted("committed") >= goal or not self.running(),
                 f"{n} transactions to be committed", deadline)

    def finish(self, deadline=30, **how):
        """Wait for the end, check the promise and what the kernel counts; the Tally."""
        wait_for(lambda: not self.running(), "all to be sent", deadline)
        sent = {stream: pump.result() for stream, pump in self.senders.items()}
        seconds = time.monotonic() - self.begin
        if not how.get("died"):
            wait_for(lambda: self.counted("delivered") >= self.counted("committed"),
                     "what is committed to be delivered")
        for reader in self.readers:
            reader.signal(signal.SIGTERM)
        got = [reader.result() for reader in self.readers]
        tally = check_promise(sent, got, **how)
        self._check_counters(tally, got)
        say(f"    {self.what or 'traffic'}: " + ", ".join(f"{k} {v}" for k, v in tally.items())
            + f"; {self.counted('note_resolved') // 2} failures resolved, {seconds:.1f} s")
        return tally

    def _check_counters(self, tally, got):
        """The kernel's counts are those of the programs."""
        told = {"committed": tally["C"], "reversed": tally["R"], "unknown": tally["U"]}
        counted = {name: self.counted(name) for name in told}
        late = {name: counted[name] - told[name] for name in told}
        if not tally["P"] and any(late.values()) or sum(late.values()) != tally["P"] or \
                min(late.values()) < 0:
            raise AssertionError(f"senders were told {dict(tally)}, the kernel counts {counted}")
        for end, log in zip(self.ends, got):
            read, delivered = self.counted("read", end), self.counted("delivered", end)
            if not len(log) // 8 == read == delivered:
                raise AssertionError(f"{end.name}: {delivered} delivered, {read} read in the "
                                     f"kernel, {len(log) // 8} by the program")
        for name in NEVER:
            if self.counted(name):
                raise AssertionError(f"{name} is {self.counted(name)}")


def slabs():
    """/proc/slabinfo: name -> objects in use."""
    text = Path("/proc/slabinfo").read_text("ascii")
    return {m[1]: int(m[2]) for m in re.finditer(r"^([\w-]+) +(\d+)", text, re.M)}
