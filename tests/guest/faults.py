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
import time
from array import array
from collections import Counter
from pathlib import Path

from devpump import compile_c
from oaetest import PARAMETERS, REPO, wait_end, wait_for
from oaewire import ETHERTYPE
from patience import SLOW, times

# What a peer that keeps to the protocol never makes a node count.
NEVER = ("note_broken", "note_impossible", "note_mismatch", "no_memory")

# A tenth lost, 5 % doubled, 1 % altered; a third goes ahead of all that waits, and what waits is
# shuffled, since the delay differs more than frames are apart.
# Frames overtake each other where they come faster than these delays differ: a slow kernel sends
# them that much slower, and takes that much longer to send many.
DELAY = int(20 * max(SLOW, 1) ** 2)
NETEM = f"delay {DELAY}us {DELAY}us reorder 33% 25% loss 10% duplicate 5% corrupt 1%"
# What one would set for such a network: no progress for longer than this is a frame lost.
BAD_NETWORK = {"stall_min_us": 100}


# Where the module's objects are, and nobody else's much.
WATCHED = re.compile(r"kmalloc-(rcl-)?[0-9]+k?$|:?skbuff|net_namespace")


def say(text):
    """Tell the user how far it is, past unittest's buffer."""
    print(text, file=sys.__stderr__, flush=True)


def build_pump(path):
    """Compile pump.c."""
    subprocess.run(["gcc", "-O2", "-o", str(path), str(REPO / "tests/guest/pump.c")],
                   check=True)
    return str(path)


class HostEnd:
    """A namespace."""

    interval = 0.005            # between two looks at it
    _pump = None

    def __init__(self, host):
        self.host, self.name = host, host.name
        if not HostEnd._pump:
            HostEnd._pump = compile_c("pump", "guest/pump.c")

    def start(self, *args, target=None):
        """Run the pump; its process."""
        fd = self.host.open(os.O_RDWR, target=target)
        # The pump lets them in when it is ready for them.
        signals = {signal.SIGTERM, signal.SIGUSR1}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        try:
            with self.host:
                pump = subprocess.Popen([self._pump, *map(str, args)], pass_fds=(fd,),
                                        env={"NOC_FD": str(fd)}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)
            # Eight of them on one processor left the test a tenth of it, and sent meanwhile.
            os.setpriority(os.PRIO_PROCESS, pump.pid, 10)
            return pump
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
            os.close(fd)

    def stats(self):
        """The counters of the node."""
        return self.host.stats()

    def drain(self):
        """Read what nobody wants any more."""
        if Path(PARAMETERS).exists():
            self.host.read_all()

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

    def kill(self):
        """End it, whatever it is doing."""
        if self.running():
            self.signal(signal.SIGKILL)
            wait_for(lambda: not self.running(), "a pump to be gone")

    def running(self):
        """Is it?"""
        return self.process.poll() is None

    def begun(self):
        """Has it had an outcome?"""
        path = Path(self.path)
        return path.exists() and path.stat().st_size > 0

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


def by_stream(logs, ordered=True):
    """The numbers that came of each stream; at each reader they must be in order."""
    numbers = {}
    for log in logs:
        both = array("I", log)
        for stream in set(both[::2]):
            mine = array("I", (n for s, n in zip(both[::2], both[1::2]) if s == stream))
            at = next((i for i, two in enumerate(zip(mine, mine[1:])) if two[0] >= two[1]), None)
            if ordered and at is not None:
                raise AssertionError(f"stream {stream}: doubled or out of order: "
                                     f"{mine[max(at - 3, 0):at + 5].tolist()}")
            numbers.setdefault(stream, array("I")).extend(mine)
    for stream, mine in numbers.items():
        if len(set(mine)) != len(mine):
            raise AssertionError(f"stream {stream}: came twice: "
                                 f"{[n for n, c in Counter(mine).items() if c > 1][:10]}")
    return numbers


def check_promise(sent, got, express=False, died=False, ordered=True):
    """G1 to G3, from the logs; the Tally.

    sent: stream -> a byte an outcome; got: the readers' logs. died: an end of a link died, so
    UNKNOWN may be said of an express; what was committed and did not arrive is counted in `lost`,
    and the caller knows whether that is too much. ordered: each stream kept to one link.
    """
    numbers = by_stream(got, ordered)
    tally = Tally()
    for stream in numbers:
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
    if tally["U"] and not (died and express):
        raise AssertionError(f"{tally['U']} unknown: died {died}, express {express}")
    if tally["P"] and not express:
        raise AssertionError(f"{tally['P']} in progress, and none was express")
    return tally


class Traffic:
    """Readers and senders at some ends; finish() waits for them and checks everything.

    Made when nothing is under way: the counters are compared with those at that moment.
    """

    _stream = 0

    def __init__(self, test, *ends, what=""):
        self.test, self.ends, self.what = test, ends, what or test.id().rsplit(".", 1)[-1]
        test.addCleanup(self.close)
        self.readers = [Pump(end, "recv", 1 << 30) for end in ends]
        self.senders = {}           # stream -> Pump
        self.goal = self.done = 0
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
            self.done = self.counted("committed")
            self.test.gets_on(self.done)
            say(f"    {self.what}: {self.done} of {self.goal} "
                f"committed, {self.counted('note_resolved') // 2} failures resolved, "
                f"{self.said - self.begin:.0f} s")
        return any(pump.running() for pump in self.senders.values())

    def close(self):
        """Whatever happened, leave nothing behind."""
        left = [pump for pump in [*self.senders.values(), *self.readers] if pump.running()]
        for pump in left:
            pump.kill()
        if left:
            for end in self.ends:
                end.drain()

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
        """Wait until so many more are committed, or all are sent. deadline: of finish()."""
        goal = self.counted("committed") + n
        wait_end(lambda: self.counted("committed") < goal and self.running(), lambda: self.done,
                 f"{n} transactions to be committed", deadline, self.ends[0].interval)

    def begun(self, deadline=30):
        """Wait until each sender has had an outcome: so each has found its link."""
        wait_for(lambda: all(pump.begun() for pump in self.senders.values()),
                 "each sender to have sent", deadline, self.ends[0].interval)

    def finish(self, deadline=30, exact=True, **how):
        """Wait for the end, check the promise and what the kernel counts; the Tally.

        deadline: how long nothing may be committed.
        exact: all that the senders call reversed was taken by the kernel before.
        """
        wait_end(self.running, lambda: self.done, "all to be sent", deadline)
        sent = {stream: pump.result() for stream, pump in self.senders.items()}
        seconds = time.monotonic() - self.begin
        if not how.get("died"):
            wait_for(lambda: self.counted("delivered") >= self.counted("committed"),
                     "what is committed to be delivered", 10, self.ends[0].interval)
        for reader in self.readers:
            reader.signal(signal.SIGTERM)
        got = [reader.result() for reader in self.readers]
        tally = check_promise(sent, got, **how)
        self._check_counters(tally, got, exact)
        if tally["lost"] > self.counted("note_unconfirmed"):
            raise AssertionError(f"{tally['lost']} committed and lost, of which the kernel owns up "
                                 f"to {self.counted('note_unconfirmed')}")
        say(f"    {self.what}: " + ", ".join(f"{k} {v}" for k, v in tally.items())
            + f"; {self.counted('note_resolved') // 2} failures resolved, {seconds:.1f} s")
        return tally

    def _check_counters(self, tally, got, exact):
        """The kernel's counts are those of the programs."""
        told = {"committed": tally["C"], "reversed": tally["R"], "unknown": tally["U"]}
        counted = {name: self.counted(name) for name in told}
        if not exact:
            counted["reversed"] = max(counted["reversed"], told["reversed"])
        late = {name: counted[name] - told[name] for name in told}
        if sum(late.values()) != tally["P"] or min(late.values()) < 0:
            raise AssertionError(f"senders were told {dict(tally)}, the kernel counts {counted}")
        for end, log in zip(self.ends, got):
            read, delivered = self.counted("read", end), self.counted("delivered", end)
            if not len(log) // 8 == read == delivered:
                raise AssertionError(f"{end.name}: {delivered} delivered, {read} read in the "
                                     f"kernel, {len(log) // 8} by the program")
        for name in NEVER:
            if self.counted(name):
                raise AssertionError(f"{name} is {self.counted(name)}")


class Losing:
    """Frames of some opcodes, or all, are lost on their way out of a device."""

    def __init__(self, host, dev, *opcodes):
        self.host, self.dev = host, dev
        host.tc(f"qdisc add dev {dev} clsact", *(
            f"filter add dev {dev} egress protocol 0x{ETHERTYPE:x} pref {n + 1} u32 "
            + (f"match u8 {opcode} 0xff at 1" if opcode else "match u8 0 0 at 0") + " action drop"
            for n, opcode in enumerate(opcodes or (0,))))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.end()

    def end(self):
        """They are lost no more; once is enough."""
        if self.dev:
            self.host.tc(f"qdisc del dev {self.dev} clsact")
        self.dev = None


def slabs():
    """Objects in use in the caches that the module allocates from: name -> number."""
    found = re.findall(r"^([\w-]+) +(\d+)", Path("/proc/slabinfo").read_text("ascii"), re.M)
    # There the debug kernel notes what is to be freed by RCU: CONFIG_SLUB_RCU_DEBUG.
    notes = "kmalloc-32" if SLOW > 1 else None
    return {name: int(number) for name, number in found if WATCHED.match(name) and name != notes}


def free_kilobytes():
    """Memory that the kernel does not use, but to make notes of others' for its instruments.

    Also what each CPU keeps of free pages, up to 30 MB at times.
    """
    words = dict(re.findall(r"^(\w+): +(\d+)", Path("/proc/meminfo").read_text("ascii"), re.M))
    kept = re.findall(r"^ +count: +(\d+)", Path("/proc/zoneinfo").read_text("ascii"), re.M)
    return sum(map(int, kept)) * 4 + int(words["MemAvailable"]) + int(words["AnonPages"]) + noted()


def noted():
    """kB in which the debug kernel notes who allocated what; stack traces stay for good."""
    found = 0
    depot = Path("/sys/kernel/debug/stackdepot/stats")
    if depot.exists():
        found += int(re.search(r"persistent_bytes: (\d+)", depot.read_text("ascii"))[1]) // 1024
    objects = re.search(r"^kmemleak_object +\d+ +(\d+) +(\d+)",
                        Path("/proc/slabinfo").read_text("ascii"), re.M)
    return found + (int(objects[1]) * int(objects[2]) // 1024 if objects else 0)


def check_leaks(cycle, number):
    """cycle() leaves nothing behind: after some to warm up, many do not cost an object each."""
    number = times(number)
    for _ in range(3):
        cycle()
    before, memory = slabs(), free_kilobytes()
    for _ in range(number):
        cycle()
    grown = {}
    # Others leave a few for a while.
    many = max(number * 3 // 4, min(number - 1, 6))

    def settled():
        now = slabs()
        grown.clear()
        grown.update({name: now[name] - before.get(name, 0) for name in now
                      if now[name] - before.get(name, 0) >= many})
        return not grown
    try:
        wait_for(settled, "memory to be given back", 15)
    except AssertionError as e:
        raise AssertionError(f"{number} times, and more objects in use: {grown}") from e
    less = memory - free_kilobytes()
    say(f"    {less} kB less after {number} times")
    if less > 64 * number + 16384:
        raise AssertionError(f"{less} kB less after {number} times")
