# SPDX-License-Identifier: GPL-2.0
"""What the benchmark of programs has measured, as tables for people."""

import re
import statistics

# What progbench calls it: what it is.
NAMES = {
    "send-atomic": "write to committed, /dev/oae atomic",
    "send-express": "write to committed, /dev/oae express",
    "oae-atomic": "ping-pong, /dev/oae atomic",
    "oae-atomic-queued": "ping-pong, /dev/oae atomic, not blocking",
    "oae-express": "ping-pong, /dev/oae express",
    "oae-express-queued": "ping-pong, /dev/oae express, not blocking",
    "tipc": "ping-pong, TIPC SEQPACKET",
    "tipc-cable": "ping-pong, TIPC SEQPACKET, over the cable",
    "udp": "ping-pong, UDP",
    "tcp": "ping-pong, TCP_NODELAY",
    "swap": "swap of two halves",
    "add-1": "FETCH_ADD, one a transaction",
    "add-1-polled": "FETCH_ADD, one a transaction, polled",
    "add-8": "8 FETCH_ADDs, one transaction",
    "add-32": "32 FETCH_ADDs, one transaction",
    "add-64": "64 FETCH_ADDs, one transaction",
    # of perftest
    "rxe-send": "ib_send_lat: half a ping-pong, rxe",
    "rxe-atomic": "ib_atomic_lat: FETCH_AND_ADD, rxe",
}
HALF = "half of: "


class Figures:
    """For each contender a list of (10th, 50th, 90th percentile), one a round; microseconds."""

    def __init__(self):
        self.rounds = {}

    def add(self, name, percentiles):
        """One round of one contender."""
        self.rounds.setdefault(name, []).append(tuple(percentiles))

    def add_samples(self, name, samples):
        """The same, from all its times."""
        tenths = statistics.quantiles(samples, n=10)
        self.add(name, (tenths[0], statistics.median(samples), tenths[8]))

    def parse(self, text):
        """What `progbench ask` printed."""
        for name, *ns in re.findall(r"^round \d+ (\S+) (\d+) (\d+) (\d+)$", text, re.M):
            self.add(name, [int(number) / 1000 for number in ns])

    def ratio(self, name, to, scale=1):
        """Of medians, round by round, so that the machine's moods drop out: the median of them."""
        return statistics.median(scale * a[1] / b[1]
                                 for a, b in zip(self.rounds[name], self.rounds[to]))

    def head(self, what, to):
        """The line above the figures."""
        print(f"{what:52}{'p10':>9}{'median':>9}{'p90':>9}{'/ ' + to:>15}")

    def line(self, name, to, per=1, half=False):
        """A contender, or a part of it: over its rounds the median of each percentile."""
        scale = (0.5 if half else 1) / per
        label = "  each of them" if per > 1 else (HALF if half else "") + NAMES[name]
        cells = "".join(f"{scale * statistics.median(column):9.1f}"
                        for column in zip(*self.rounds[name]))
        print(f"  {label:50}{cells}{self.ratio(name, to, scale):15.2f}", flush=True)


def aim(what, value, most=None, least=None):
    """A line that says whether an aim was met."""
    met = value <= most if least is None else value >= least
    wanted = f"at most {most:.1f}" if least is None else f"at least {least:.1f}"
    print(f"  {what:60}{value:6.2f}, {wanted}: {'met' if met else 'MISSED'}", flush=True)
