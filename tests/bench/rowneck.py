# SPDX-License-Identifier: GPL-2.0
"""Rows of a bottleneck: hosts at a switch, whose port to the one that all send to is slow.

    s0 [eth0] ---- [p0]
    s1 [eth0] ---- [p1] sw [br0] [neck] ---- [eth0] sink
    ...                            tbf: 100 Mbit/s, a short queue

What the sink was delivered in the same seconds is counted there, for all senders at once. A flood
tells what the bottleneck really lets pass: on a machine that is too busy its timer comes too late.
"""

import re
import time
from collections import namedtuple

from rowlib import BULK, MODULE, SLOW, End, Failed, Space, Stream, batch, jain, median, sh

RATE = 100                  # Mbit/s
QUEUE = 64                  # frames of 1514 bytes
BURST = 50000               # bytes: 4 ms, so late may the timer of the bucket be
PASSES = 0.9                # of the rate, at least, or nothing is measured here
SENDERS = 16
ONE_FRAME = 1400            # bytes of a transaction in one frame
FROZE = ("stall", "peer_froze", "nolink", "worn", "port", "impossible", "mismatch")

# What the sink had been delivered at a time: a number for each flow, counters of the module, and
# bytes of its device.
Look = namedtuple("Look", "time flows stats bytes")


class Neck:
    """The hosts, all bound."""

    def __init__(self, guest, senders):
        sh(guest, "modprobe -a bridge sch_tbf sch_netem")
        self.switch, sink = Space(guest, "sw"), Space(guest, "sink")
        hosts = [Space(guest, f"s{i}") for i in range(senders)]
        self.ends = [End(host, "eth0", f"02:0a:e0:00:01:{i:02x}", f"10.10.0.{i + 10}")
                     for i, host in enumerate(hosts)]
        self.sink = End(sink, "eth0", "02:0a:e0:00:00:01", "10.10.0.1")
        batch(guest, [f"link add eth0 netns {end.machine.name} address {end.mac} type veth "
                      f"peer name {port} netns sw" for end, port in self._ports()])
        sh(self.switch, "ip link add br0 type bridge; ip link set br0 up; " +
           "; ".join(f"ip link set {port} master br0; ip link set {port} up"
                     for _, port in self._ports()) +
           f"; tc qdisc add dev neck root tbf rate {RATE}mbit burst {BURST} limit {QUEUE * 1514}")
        for end, _ in self._ports():
            # Frames as they are on a wire: a queue is short in frames, not in what is still to be cut.
            end.sh(f"ip addr add {end.address}/24 dev eth0; ip link set eth0 gso_max_segs 1 up")
        self.sink.load(MODULE)
        for end in self.ends:
            end.knobs(dev="eth0")

    def _ports(self):
        return [*((end, f"p{i}") for i, end in enumerate(self.ends)), (self.sink, "neck")]

    def delay(self, ms):
        """So many ms of round trip for each sender."""
        for end, each in zip(self.ends, ms):
            end.sh(f"tc qdisc add dev eth0 root netem delay {each}ms limit 20000")

    def look(self):
        """What was delivered by now."""
        text = self.sink.sh("cat /proc/uptime /proc/net/dev /proc/net/modoae/tags "
                            "/proc/net/modoae/stats; ss -Htin state established")
        head = next(words for words in map(str.split, text.splitlines()) if {"peer", "rx"} <= {*words})
        flows = {}
        for line in text.splitlines():
            words = dict(zip(head, line.split()))
            if words.get("rx", "").isdigit() and words.get("peer", "").count(":") == 5:
                flows[words["peer"], int(words["vc"])] = int(words["rx"])
        # Two lines a connection: addresses, and what there is to say of it.
        for here, count in re.findall(r"10\.10\.0\.1:\d+ +(10\.10\.0\.\d+):\d+[^\n]*\n[^\n]*"
                                      r"bytes_received:(\d+)", text):
            flows[here, "tcp"] = int(count)
        stats = {name: int(value) for name, value in re.findall(r"^([a-z]\w*) +(\d+)", text, re.M)}
        return Look(float(text.split()[0]), flows, stats,
                    int(re.search(r"^ *eth0: *(\d+)", text, re.M)[1]))

    def flood(self, effort, taken):
        """What the bottleneck lets pass of one sender that sends as fast as it can."""
        before, after = self._between([(0, "udp", ONE_FRAME, 0, 1)], effort)[1:]
        taken.add("flood", (after.bytes - before.bytes) * 8 / 1e6 / (after.time - before.time) / RATE)

    @staticmethod
    def judge(taken):
        """Said at the end, so that the figures are there, with what is wrong with them."""
        passes = median(taken.values["flood"])
        if passes < PASSES:
            raise Failed(f"the bottleneck lets pass {passes:.2f} of its rate, whoever sends: this "
                         "machine is too slow or too busy")

    def run(self, flows, effort):
        """Mbit/s of each of the flows, in order; and the module's counters of that time."""
        streams, before, after = self._between(flows, effort)
        return self._rates(streams, before, after), {name: after.stats[name] - before.stats[name]
                                                     for name in after.stats}

    def _between(self, flows, effort):
        """Flows at work, each (sender, way, bytes, queue, window); a look, and one later."""
        streams = [Stream(self.ends[sender], self.sink, way, size=size, queue=queue,
                          knobs={"window": window} if way == "oae" else None)
                   for sender, way, size, queue, window in flows]
        try:
            for one in streams:
                one.take()
            for one in streams:
                one.send(0, 600)
            time.sleep(effort.warm * SLOW)
            before = self.look()
            time.sleep(effort.seconds)
            after = self.look()
            ended = [one for one in streams if one.sending.status is not None or
                     one.taking.status is not None]
            if ended:
                raise Failed((ended[0].sending.output + ended[0].taking.output).strip())
        finally:
            for one in streams:
                one.close()
        return streams, before, after

    @staticmethod
    def _rates(streams, before, after):
        rates = []
        for one in streams:
            key = ((one.near.address, "tcp") if one.way == "tcp" else (one.near.mac, one.number))
            if key not in after.flows or key not in before.flows:
                raise Failed(f"the sink has no {one.way} from {one.near.machine.name}")
            each = 1 if one.way == "tcp" else one.size
            rates.append((after.flows[key] - before.flows[key]) * each * 8 / 1e6 /
                         (after.time - before.time))
        return rates


def incast(guest, effort, taken):
    """Sixteen senders, one receiver."""
    neck = Neck(guest, SENDERS)
    for _ in range(effort.rounds):
        neck.flood(effort, taken)
        for key, way, size, queue in (("short", "oae", ONE_FRAME, 2 * effort.window),
                                      ("long", "oae", BULK, 4), ("tcp", "tcp", BULK, 0)):
            rates, stats = neck.run([(i, way, size, queue, effort.window) for i in range(SENDERS)],
                                    effort)
            if not sum(rates):
                raise Failed(f"{way}, {size} bytes: nothing came through the bottleneck")
            taken.add(f"{key} share", sum(rates) / RATE)
            taken.add(f"{key} jain", jain(rates))
            if way == "oae":
                taken.add(f"{key} froze", 100 * sum(stats[f"note_{name}"] for name in FROZE) /
                          stats["delivered"])
    taken.note(f"{SENDERS} senders, each with one link, {ONE_FRAME} bytes: {2 * effort.window} queued; "
               f"64 KB: 4 queued; the queue before the bottleneck is {QUEUE} frames")
    neck.judge(taken)


def two_ways(guest, effort, taken):
    """Two links of different round trips through one bottleneck; and two of TCP."""
    neck = Neck(guest, 2)
    near, far = 2, 20
    neck.delay((near, far))
    for _ in range(effort.rounds):
        neck.flood(effort, taken)
        for key, way in (("oae", "oae"), ("tcp", "tcp")):
            rates, _ = neck.run([(i, way, BULK, 2 * effort.window, effort.window) for i in range(2)],
                                effort)
            if not rates[0]:
                raise Failed(f"{way}: nothing came of the nearer one")
            taken.add(f"{key} near", rates[0])
            taken.add(f"{key} far", rates[1])
            taken.add(f"{key} share", sum(rates) / RATE)
            taken.add(f"{key} far / near", rates[1] / rates[0])
    taken.note(f"round trips of {near} and {far} ms without the queue; no aim is set")
    neck.judge(taken)


def beside(guest, effort, taken):
    """A link beside a TCP connection; and two TCP connections, for comparison."""
    neck = Neck(guest, 2)
    neck.delay((4, 4))
    for _ in range(effort.rounds):
        neck.flood(effort, taken)
        for key, way in (("oae", "oae"), ("tcp", "tcp")):
            rates, _ = neck.run([(0, way, BULK, 2 * effort.window, effort.window),
                                 (1, "tcp", BULK, 0, 1)], effort)
            taken.add(f"{key} share", sum(rates) / RATE)
            taken.add(f"{key} mine", rates[0] / RATE)
            taken.add(f"{key} other", rates[1] / RATE)
    taken.note("both with a round trip of 4 ms without the queue; no aim is set")
    neck.judge(taken)
