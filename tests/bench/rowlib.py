# SPDX-License-Identifier: GPL-2.0
"""What the rows of tests/bench/aims are measured with: ends, streams, TCP, and what came of them.

All runs on the host; ends are guests, or network namespaces in one of them.
"""

import itertools
import json
import os
import re
import statistics
import sys
import time
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools")]

import vmlib            # noqa: E402  pylint: disable=wrong-import-position

MODULE = ROOT / "modoae" / "modoae.ko"
PROGBENCH = ROOT / "build" / "bench" / "progbench"
KNOBS = "/sys/module/modoae/parameters"
TODAY = {"window": 1, "pack": 0}    # one transaction under way at a time, each in frames of its own
BULK = 65536                        # bytes of a long transaction
SLOW = float(os.environ.get("OAE_SLOW") or 1)
PIPE_MB = 64                    # that a second of a row is worth
IPERF_PORT = 5201

# How long and how often: rounds, seconds that do not count, and that do, of a measurement.
Effort = namedtuple("Effort", "rounds warm seconds window")


class Failed(Exception):
    """A row has no result, or a wrong one: what is wrong."""


class Taken:
    """What a row has measured: for each key a list, an item a round; and what is to be said of it."""

    def __init__(self):
        self.values, self.notes = {}, []

    def add(self, key, value):
        """One round of one figure."""
        self.values.setdefault(key, []).append(value)

    def note(self, text):
        """Said below the row, once."""
        if text not in self.notes:
            self.notes.append(text)

    def ratio(self, key, of, to, scale=1):
        """That of two figures, round by round, so that the machine's moods drop out."""
        self.values[key] = [scale * a / b for a, b in zip(self.values[of], self.values[to])]


class Space(vmlib.Machine):
    """A network namespace of a guest: as good as a machine."""

    def __init__(self, guest, name):
        self.guest, self.name = guest, name
        # A host that says nothing of its own accord.
        sh(guest, f"ip netns add {name} && ip -n {name} link set lo up && nsenter "
                  f"--net=/run/netns/{name} sysctl -qw net.ipv6.conf.default.disable_ipv6=1")

    def start(self, command, **options):    # pylint: disable=arguments-differ
        if isinstance(command, str):
            command = ["/bin/sh", "-c", command]
        return self.guest.start(["nsenter", f"--net=/run/netns/{self.name}", *command], **options)


def batch(guest, lines):
    """Many commands of ip, in one process."""
    sh(guest, "ip -batch - <<'END'\n" + "\n".join(lines) + "\nEND")


def sh(machine, command):
    """What a command prints; if it fails, so does the row."""
    done = machine.run(command, timeout=120 * SLOW)
    if done.status:
        raise Failed(f"{command.splitlines()[0]}: {done.output.strip()}")
    return done.output


class End:
    """One end of a cable: a machine, its device there, addresses, the processor for programs."""

    def __init__(self, machine, dev, mac, address, cpu=None, tipc=None):    # pylint: disable=too-many-arguments
        self.machine, self.dev, self.mac, self.address = machine, dev, mac, address
        self.cpu, self.tipc = cpu, tipc

    def sh(self, command):
        """What a command prints."""
        return sh(self.machine, command)

    def load(self, module):
        """The module, for all hosts of this kernel; this device is a port."""
        self.sh(f"insmod {module} dev={self.dev}")

    def knobs(self, **values):
        """Set knobs."""
        self.sh(set_knobs(values))

    def packing(self, taken):
        """How the module packs by itself: to be asked before that is changed; {} not at all."""
        value = self.sh(f"cat {KNOBS}/pack 2>/dev/null || true").strip()
        taken.note(f"pack={value}" if value else "the module does not pack: it has no knob `pack`")
        return {"pack": value} if value else {}

    def refuses(self, name, value):
        """What the module says about a value of a knob; None: it takes it."""
        done = self.machine.run(f"dmesg -C; echo {value} > {KNOBS}/{name} || "
                                "{ dmesg | tail -n 1; false; }", timeout=30 * SLOW)
        return done.output.strip().splitlines()[-1] if done.status else None

    def stats(self):
        """The counters of the module."""
        return {name: int(value) for name, value in
                re.findall(r"^(\w+) +(\d+)", self.sh("cat /proc/net/modoae/stats"), re.M)}

    def tags(self):
        """The links of the module, a dict each of what /proc/net/modoae/tags has in its columns."""
        head, *lines = self.sh("cat /proc/net/modoae/tags").splitlines()
        return [dict(zip(head.split(), line.split())) for line in lines]

    def program(self, other, *words):
        """A command line of progbench, with knobs that are set before it starts."""
        line = [PROGBENCH, "-d", self.dev, "-p", other.mac]
        if self.address:
            line += ["-a", self.address, "-b", other.address]
        if self.tipc:
            line += ["-t", self.tipc]
        if self.cpu is not None:
            line += ["-c", self.cpu]
        return " ".join(map(str, [*line, *words]))

    def pinned(self):
        """In front of other programs."""
        return "" if self.cpu is None else f"taskset -c {self.cpu} "


def set_knobs(values):
    """A command that does it; a module that cannot pack takes no `pack`, and does not pack."""
    return " && ".join((f"{{ ! test -e {KNOBS}/{name} || echo {value} > {KNOBS}/{name}; }}"
                        if name == "pack" else f"echo {value} > {KNOBS}/{name}")
                       for name, value in values.items())


# --- streams of messages ---------------------------------------------------------------

_numbers = itertools.count(1)


class Stream:   # pylint: disable=too-many-instance-attributes
    """Messages one way, from one end to another, over a link or a connection of their own.

    The knobs are set at both ends before either opens the link: it keeps what it began with.
    Links spread over paths by their number: one that is even has the first of two.
    """

    def __init__(self, near, far, way, size=64, queue=1024, knobs=None,     # pylint: disable=too-many-arguments
                 beats=None, even=False):
        self.near, self.far, self.way, self.size, self.queue = near, far, way, size, queue
        self.number = next(_numbers) % 255 + 1
        while even and self.number % 2:
            self.number = next(_numbers) % 255 + 1
        self.knobs = knobs or {}
        self.beats = [beats] if beats else []       # a file: when each was read
        self.taking = self.sending = None

    def take(self):
        """The end that takes, until it can be sent to."""
        if self.knobs:
            self.near.knobs(**self.knobs)
            self.far.knobs(**self.knobs)
        self.taking = self.far.machine.start(
            "exec " + self.far.program(self.near, "take", self.way, self.number, *self.beats))
        self._wait(self.taking, "ready", 60)

    def send(self, warm, seconds):
        """The end that sends."""
        self.sending = self.near.machine.start(
            "exec " + self.near.program(self.far, "stream", self.way, self.number, warm, seconds,
                                        self.size, self.queue))

    def _wait(self, job, text, seconds):
        try:
            job.wait_for(text, seconds * SLOW)
        except (EOFError, TimeoutError) as error:
            said = " ".join(job.output.split()) or f"nothing after {seconds * SLOW:.0f} s"
            raise Failed(f"{self.way}, messages of {self.size} bytes: {said}") from error

    def end(self, seconds):
        """Messages a second that were read, and the share of those that were sent and were not."""
        sent = self.sending.wait((seconds + 90) * SLOW)
        if sent.status:
            raise Failed(f"{self.way}, messages of {self.size} bytes: {sent.output.strip()}")
        self._wait(self.taking, "\ntook ", 30)
        self._wait(self.taking, "\n", 1)
        count, missing, ns = map(int, re.search(r"^took (\d+) (\d+) (\d+)$", self.taking.output,
                                                re.M).groups())
        if not count or not ns:
            raise Failed(f"{self.way}: no message came in {seconds} s")
        return count * 1e9 / ns, missing / (count + missing)

    def close(self):
        """Nothing of it stays: what is unread would be read by who takes next by this number."""
        self._kill(self.sending)
        if self.way == "oae":
            self.near.machine.run(f"echo close {self.far.mac} {self.number} > /proc/net/modoae/tags",
                                  timeout=30 * SLOW)
            self._drain()
        self._kill(self.taking)

    @staticmethod
    def _kill(job):
        if job and job.status is None:
            job.kill()
            job.wait(30 * SLOW)

    def _drain(self):
        deadline = time.monotonic() + 30 * SLOW
        while self.taking and self.taking.status is None and self._comes():
            if time.monotonic() > deadline:
                raise Failed(f"{self.way}: not closed, or not read, within {30 * SLOW:.0f} s")
            time.sleep(0.02)

    def _comes(self):
        """Whether the far end is to get more messages, or has some that nobody has read."""
        return any(row["state"] != "CLOSED" or row["unread"] != "0" for row in self.far.tags()
                   if row["vc"] == str(self.number) and row["peer"] == self.near.mac)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


def stream(near, far, way, effort, **how):
    """Messages a second of one stream, and the share that was lost."""
    with Stream(near, far, way, **how) as one:
        one.take()
        one.send(effort.warm, effort.seconds)
        return one.end(effort.warm + effort.seconds)


def bulk(near, far, effort, **knobs):
    """Mbit/s of payload in transactions of 64 KB."""
    rate, _ = stream(near, far, "oae", effort, size=BULK, queue=2 * effort.window,
                     knobs={"window": effort.window, **knobs})
    return rate * BULK * 8 / 1e6


def pipe_once(near, far, megabytes):
    """Seconds that a stream by `oae pipe` takes, until all is committed and both ends know."""
    oae = ROOT / "build" / "oae" / "oae"
    end = far.machine.start(far.pinned() + f"{oae} pipe -q -w 60 {near.mac} </dev/null >/dev/null")
    try:
        done = near.machine.run(
            f"begin=$(date +%s%N); head -c {megabytes << 20} /dev/zero | {near.pinned()} {oae} pipe -q -w 60 "
            f"{far.mac} >/dev/null && echo $(($(date +%s%N) - begin))", timeout=120 * SLOW)
    finally:
        if end.status is None:
            end.kill()
    if done.status:
        raise Failed(f"oae pipe: {done.output.strip()}")
    return float(done.output) / 1e9


def pipe(near, far, effort):
    """Mbit/s of a stream by `oae pipe`; what a short one takes, with its beginning and end, does not count."""
    megabytes = max(8, round(effort.seconds * PIPE_MB))
    short = pipe_once(near, far, 1)
    return ((megabytes - 1) << 20) * 8 / 1e6 / (pipe_once(near, far, megabytes) - short)


def iperf(near, far, effort):
    """Mbit/s of payload of one TCP connection, as its receiver counts them."""
    # It takes whole seconds.
    warm, seconds = max(1, round(effort.warm)), max(1, round(effort.seconds))
    server = far.machine.start(far.pinned() + "iperf3 --server --one-off --forceflush --port "
                               f"{IPERF_PORT}")
    try:
        server.wait_for("Server listening", 30 * SLOW)
        done = near.machine.run(
            near.pinned() + f"iperf3 --client {far.address} --port {IPERF_PORT} --time {seconds} "
            f"--omit {warm} --json", timeout=(warm + seconds + 60) * SLOW)
        said = json.loads(done.output[done.output.index("{"):])
        bits = said["end"]["sum_received"]["bits_per_second"]
    except (EOFError, TimeoutError, ValueError, KeyError) as error:
        raise Failed(f"iperf3: {error}") from error
    finally:
        if server.status is None:
            server.kill()
    if done.status or not bits:
        raise Failed(f"iperf3: {said.get('error', 'nothing was received')}")
    return bits / 1e6


# --- what many share -------------------------------------------------------------------

def jain(rates):
    """1: all have the same; 1 / their number: one has it all."""
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def median(values):
    """Of a list, or None of none."""
    return statistics.median(values) if values else None
