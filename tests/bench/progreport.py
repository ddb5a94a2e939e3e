# SPDX-License-Identifier: GPL-2.0
"""What progbench prints, as tables for people."""

import re
import statistics

# What progbench calls it: how it is written, and what it is.
MESSAGES = {
    "send-atomic": "write to committed, /dev/oae atomic",
    "send-express": "write to committed, /dev/oae express",
    "oae-atomic": "ping-pong, /dev/oae atomic",
    "oae-express": "ping-pong, /dev/oae express",
    "oae-atomic-queued": "ping-pong, /dev/oae atomic, writes queue",
    "oae-express-queued": "ping-pong, /dev/oae express, writes queue",
    "tipc": "ping-pong, TIPC SEQPACKET",
    "tipc-cable": "ping-pong, TIPC SEQPACKET, over the cable",
    "udp": "ping-pong, UDP",
    "tcp": "ping-pong, TCP_NODELAY",
}
VERBS = {
    "swap": "swap of two halves",
    "add-1": "FETCH_ADD",
    "add-8": "FETCH_ADD, 8 a transaction",
    "add-32": "FETCH_ADD, 32 a transaction",
    "add-64": "FETCH_ADD, 64 a transaction",
}
ALL = {**MESSAGES, **VERBS}


class Table:
    """One run of `progbench ask`; times in ns."""

    def __init__(self, text):
        self.rounds = {}        # name: a median a round
        self.overall = {}       # name: 10th, 50th and 90th percentile of all trips
        for name, median in re.findall(r"^round \d+ (\S+) (\d+)$", text, re.M):
            self.rounds.setdefault(name, []).append(int(median))
        for name, *figures in re.findall(r"^all (\S+) \d+ (\d+) (\d+) (\d+)$", text, re.M):
            self.overall[name] = tuple(map(int, figures))

    def ratio(self, name, to):
        """Round by round, so that the machine's moods drop out; the median."""
        return statistics.median(a / b for a, b in zip(self.rounds[name], self.rounds[to]))

    def show(self, to="tipc"):
        """A line a contender."""
        print(f"{'':44}{'p10':>9}{'median':>9}{'p90':>9}" + (f"{'/ ' + to:>9}" if to in self.rounds else ""))
        for name, figures in self.overall.items():
            print(f"{ALL[name]:44}" + "".join(f"{ns / 1000:9.1f}" for ns in figures) +
                  (f"{self.ratio(name, to):9.2f}" if to in self.rounds else ""), flush=True)
