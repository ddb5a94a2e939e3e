# SPDX-License-Identifier: GPL-2.0
"""Rows of two cables between two hosts of one kernel, one of which fails.

    near [eth0] ---- [p0] br0 [q0] ---- [eth0] far      br0 and br1 are in one more namespace
    near [eth1] ---- [p1] br1 [q1] ---- [eth1] far

Each contender has such hosts of its own, and all wait while one is measured. tests/bench/cutter makes the
first cable fail: *pulled*, the ports at both hosts lose their carrier; *silent*, all frames are lost and
nobody is told.
"""

import json
import re
import time

from rowlib import BULK, HERE, MODULE, SLOW, End, Failed, Space, Stream, batch, median, sh

STALL = 10                  # ms: a link's stall time here, whatever its round trip
KEEPALIVE = 100             # ms
BRISK = 20                  # ms: the same where the first cable is to be back soon
MIIMON = 100                # ms, as the kernel's documentation has it; the same between two ARPs
# Of each kind, a round. Those that take seconds are for comparison, and are fewer.
CUTS = {"oae": {"pulled": 20, "silent": 20}, "tipc": {"pulled": 5, "silent": 3},
        "bond": {"pulled": 5, "silent": 3}}
HOW = ("pulled", "silent")
SETTLED = 16                # keepalive times after which a path that has failed is like any other
PAUSE = 0.7                 # seconds on average between cuts, at least half: longer than that
FLAP = 30                   # seconds
RATE = 100                  # Mbit/s of a cable
LINKS = 64
BEFORE = 5                  # times 100 ms before a cut, as in cutter
PIECE = 16384               # bytes of a transaction of many links
QUEUE = 1000                # frames before a cable, as a device has it
PASSES = 0.9                # of the rate of both cables: what a flood passes on a machine that has time


class Twin:
    """Two hosts with two cables."""

    count = 0

    def __init__(self, guest, name, tipc=False):
        Twin.count += 1
        self.guest, self.name, number = guest, name, Twin.count
        self.switch = Space(guest, f"{name}-sw")
        spaces = [Space(guest, f"{name}-{side}") for side in ("near", "far")]
        self.cables = [[End(space, f"eth{n}", f"02:0a:e0:{number:02x}:{n:02x}:{side + 1:02x}",
                            f"10.{number}.{n}.{side + 1}", cpu=side)
                        for side, space in enumerate(spaces)] for n in range(2)]
        self.near, self.far = self.ends = self.cables[0]
        batch(guest, [f"link add {end.dev} netns {end.machine.name} address {end.mac} type veth "
                      f"peer name {port} netns {self.switch.name}" for end, port in self.ports()])
        for n in range(2):
            sh(self.switch, f"ip link add br{n} type bridge mcast_snooping 0; ip link set br{n} up; " +
               "; ".join(f"ip link set {side}{n} master br{n} up" for side in "pq"))
        for end, _ in self.ports():
            if not tipc:
                end.sh(f"ip addr add {end.address}/24 dev {end.dev}")
            end.sh(f"ip link set {end.dev} up")

    def ports(self):
        """Each device of a host, and the switch's port that it is connected to."""
        return [(end, f"{'pq'[side]}{n}") for n, cable in enumerate(self.cables)
                for side, end in enumerate(cable)]

    def module(self, **knobs):
        """Both devices of both are ports."""
        self.near.load(MODULE)
        for end in self.ends:
            end.knobs(dev="eth0,eth1", **knobs)

    def bearers(self):
        """Of TIPC: the second stands by. That both hosts are one kernel it is not to see, as in rowcable.py."""
        for n, cable in enumerate(self.cables):
            for end in cable:
                end.sh(f"tc qdisc add dev {end.dev} clsact; "
                       f"tc filter add dev {end.dev} ingress protocol 0x88ca u32 "
                       "match u32 0x1a000000 0x1e000000 at 0 action pedit munge offset 52 u32 set 0; "
                       f"tipc bearer enable media eth device {end.dev} priority {20 - 10 * n}")

    def bond(self, watch):
        """One device of both, which has the first one's address; the switches are one network."""
        sh(self.guest, f"ip link add x0 netns {self.switch.name} type veth peer name x1 "
                       f"netns {self.switch.name}")
        sh(self.switch, "; ".join(f"ip link set x{n} master br{n} up" for n in range(2)))
        for end, other in zip(self.ends, reversed(self.ends)):
            end.sh("for dev in eth0 eth1; do ip addr flush dev $dev; ip link set $dev down; done; "
                   f"ip link add bond0 type bond mode active-backup {watch.format(peer=other.address)} && "
                   "ip link set eth0 master bond0 && ip link set eth1 master bond0 && "
                   "ip link set bond0 type bond primary eth0 && ip link set bond0 up && "
                   f"ip addr add {end.address}/24 dev bond0")

    def cutter(self, whole, beats, how, *more):
        """What it says: a dict a line."""
        seconds = 900 * SLOW
        try:
            done = self.near.machine.run(
                [HERE / "cutter", "--switch", self.switch.name, "--whole", whole, "--beats", beats,
                 "--fail", how, *map(str, more)], timeout=seconds)
        except TimeoutError as error:
            raise Failed(f"{self.name}, {how}: not within {seconds:.0f} s") from error
        if done.status:
            raise Failed(f"{self.name}, {how}: {done.output.strip()}")
        return [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]


class Beat:
    """A program that asks, and one that answers, one trip after the other."""

    def __init__(self, twin, contender):
        self.file = f"/tmp/{twin.name}.beats"
        self.answering = twin.far.machine.start("exec " + twin.far.program(
            twin.near, "answer", contender))
        self.asking, self.twin, self.contender = None, twin, contender

    def __enter__(self):
        try:
            self.answering.wait_for("ready", 60 * SLOW)
        except (EOFError, TimeoutError) as error:
            raise Failed(f"{self.contender}: {self.answering.output.strip()}") from error
        self.asking = self.twin.near.machine.start("exec " + self.twin.near.program(
            self.twin.far, "beat", self.contender, self.file))
        return self

    def __exit__(self, *unused):
        said = [job.output.strip() for job in (self.asking, self.answering) if job and job.status]
        link = self.contender.startswith("send-")
        try:
            self.end(self.asking)
            if link and self.answering.status is None:
                self.drain()
        finally:
            self.end(self.answering)
        if link:
            self.twin.near.machine.run(f"echo close {self.twin.far.mac} 0 > /proc/net/modoae/tags")
        self.twin.guest.run(f"rm -f {self.file}")
        if said:
            raise Failed(f"{self.contender}: {' '.join(said)}")

    @staticmethod
    def end(job):
        """Of a program, if there is one and it has not ended."""
        if job and job.status is None:
            job.kill()
            job.wait(30 * SLOW)

    def drain(self):
        """Until what was under way is over, and what has arrived is read: the next one who answers would get it."""
        near, far = self.twin.ends
        deadline = time.monotonic() + 30 * SLOW
        while under_way(near, far.mac) or unread(far.stats()):
            if time.monotonic() > deadline:
                raise Failed(f"{self.contender}: not over, or not read within {30 * SLOW:.0f} s")
            time.sleep(0.02)


def under_way(end, peer):
    """Whether the links of an end to a peer have anything to send."""
    return any(row["offer"] != "-" or row["queue"] != "0" for row in end.tags() if row["peer"] == peer)


def unread(stats):
    """How many messages nobody has read."""
    return stats["delivered"] - stats["read"]


def contenders(guest):
    """Hosts of each: (key, how it is watched, way, contender of progbench, twin)."""
    sh(guest, "modprobe -a bridge tipc bonding sch_ingress cls_u32 act_pedit sch_netem")
    oae, tipc, mii, arp = (Twin(guest, name, name == "tipc") for name in ("oae", "tipc", "mii", "arp"))
    oae.module(keepalive_ms=BRISK, stall_min_us=1000 * STALL, stall_max_us=1000 * STALL)
    tipc.bearers()
    mii.bond(f"miimon {MIIMON}")
    arp.bond(f"arp_interval {MIIMON} arp_ip_target {{peer}}")
    return (("oae", "oae", "oae", "send-atomic", {"pulled": oae, "silent": oae}),
            ("tipc", "tipc", "tipc", "tipc", {"pulled": tipc, "silent": tipc}),
            ("bond", "bond", "tcp", "tcp", {"pulled": mii, "silent": arp}))


def percentile(values, p):
    """Of a list, the value that is at least as large as p percent of them."""
    ordered = sorted(values)
    return ordered[max(-(-len(ordered) * p // 100) - 1, 0)]


WHO = f"""\
the second cable of TIPC is a bearer of lower priority, whose link stands by (tolerance 1500 ms, as it is by itself);
bonding is active-backup, primary eth0, pulled: miimon {MIIMON}, silent: arp_interval {MIIMON}, and TCP over it"""


def failover(guest, effort, taken):
    """A cable fails under a program that sends one message after the other."""
    cuts = {}
    all_of = contenders(guest)
    for _ in range(effort.rounds):
        for key, whole, _, contender, twins in all_of:
            for how in HOW:
                with Beat(twins[how], contender) as beat:
                    trip, *rows = twins[how].cutter(whole, beat.file, how, "--cuts", CUTS[key][how],
                                                    "--pause", PAUSE)
                cuts.setdefault((key, how), []).extend(rows)
                taken.add(f"{key} trip", trip["trip"] / 1e3)
    for (key, how), rows in cuts.items():
        outages = [row["outage"] / 1e6 for row in rows]
        for name, value in (("p50", percentile(outages, 50)), ("p99", percentile(outages, 99)),
                            ("max", max(outages))):
            taken.add(f"{key} {how} {name}", value)
    told = [row["told"] / 1e6 for row in cuts["oae", "pulled"]]
    taken.add("told p50", percentile(told, 50))
    taken.add("told p99", percentile(told, 99))
    trip = percentile(taken.values["oae trip"], 50) / 1e3
    taken.add("pulled trips", taken.values["oae pulled p99"][0] / trip)
    taken.add("silent trips", (taken.values["oae silent p99"][0] - STALL) / trip)
    number = {(key, how): len(rows) for (key, how), rows in cuts.items()}
    taken.note("cuts: " + ", ".join(f"{key} {how} {n}" for (key, how), n in number.items()) +
               "; where they are fewer than 100, the 99th percentile is the worst")
    taken.note(f"a round trip is what a message takes when nothing "
               f"fails: /dev/oae to committed, others there and back; a link's stall time is {STALL} ms, "
               f"keepalive_ms={BRISK}")
    taken.note(WHO.replace("\n", " "))


def dying(guest, effort, taken):
    """A cable fails under a stream of 64 KB messages."""
    slots = {}
    for key, whole, way, _, twins in contenders(guest):
        for how in ("nothing", *HOW):
            twin = twins["pulled" if how == "nothing" else how]
            path = f"/tmp/{twin.name}.beats"
            # Even: it goes by the cable that fails.
            with Stream(twin.near, twin.far, way, size=BULK, queue=2 * effort.window, beats=path,
                        even=True) as one:
                one.take()
                one.send(0, 900)
                rows = twin.cutter(whole, path, how, "--cuts", effort.rounds, "--pause", effort.warm,
                                   "--hold", 1.5, "--slots")[1:]
            # Mbit/s in each 100 ms.
            rates = [[n * BULK * 8 / 1e5 for n in row["slots"]] for row in rows]
            slots[key, how] = [median(each) for each in zip(*rates)]
            for rate in rates:
                # Against what it was until then, since the machine has moods.
                before = sum(rate[:BEFORE]) / BEFORE
                if not before:
                    raise Failed(f"{key}: nothing came before the cut")
                taken.add(f"{key} usual", before)
                taken.add(f"{key} {how} worst", min(rate[BEFORE:]))
                taken.add(f"{key} {how} lost", sum(before - each for each in rate[BEFORE:]) / before * 100)
    for (key, how), rates in slots.items():
        taken.note(f"{key}, {how}: " + " ".join(f"{rate:.0f}" for rate in rates))
    taken.note(f"the lines above: Mbit/s in 100 ms each, medians of the cuts; {BEFORE} of them are before the cut")
    taken.note(WHO.replace("\n", " "))


class Sink:
    """What the receiver has been delivered by now."""

    def __init__(self, end):
        text = end.sh("cat /proc/uptime /proc/net/modoae/stats /proc/net/dev")
        self.time = float(text.split()[0])
        self.delivered = int(re.search(r"^delivered +(\d+)", text, re.M)[1])
        self.bytes = sum(map(int, re.findall(r"^ *eth\d: *(\d+)", text, re.M)))


def share_of(streams, far, effort):
    """Transactions and bytes of frames a second that come of some streams at once."""
    try:
        # One after the other: a link that nobody here has asked for and nothing comes by is closed.
        for one in streams:
            one.take()
            one.send(0, 600)
        time.sleep(effort.warm * SLOW)
        before = Sink(far)
        time.sleep(effort.seconds)
        after = Sink(far)
        ended = [job for one in streams for job in (one.sending, one.taking) if job.status is not None]
        if ended:
            raise Failed(ended[0].output.strip())
    finally:
        for one in streams:
            one.close()
    seconds = after.time - before.time
    return (after.delivered - before.delivered) / seconds, (after.bytes - before.bytes) / seconds


def spread(guest, effort, taken):
    """Many links over two cables, and over one."""
    sh(guest, "modprobe -a bridge sch_tbf")
    twin = Twin(guest, "oae")
    twin.module()
    near, far = twin.ends
    for port in ("q0", "q1"):
        sh(twin.switch, f"tc qdisc add dev {port} root tbf rate {RATE}mbit burst 50000 limit {QUEUE * 1514}")
    for _ in range(effort.rounds):
        flood = [Stream(*cable, "udp", size=1400) for cable in twin.cables]
        taken.add("flood", share_of(flood, far, effort)[1] * 8 / 1e6 / (2 * RATE))
        for key, paths in (("one", 1), ("two", 8)):
            streams = [Stream(near, far, "oae", size=PIECE, queue=4, knobs={"paths": paths})
                       for _ in range(LINKS)]
            rate, _ = share_of(streams, far, effort)
            if not rate:
                raise Failed(f"nothing came over {key}")
            taken.add(key, rate * PIECE * 8 / 1e6)
    taken.ratio("two / one", "two", "one")
    taken.note(f"{LINKS} links, {PIECE >> 10} KB transactions, 4 queued on each; {QUEUE} frames fit into the queue "
               "before a cable; over one: paths=1")
    passes = median(taken.values["flood"])
    if passes < PASSES:
        taken.note(f"a flood passes {passes:.2f} of the rate of the cables: this machine is too slow or too busy "
                   "for a ratio that means much")


def back(guest, effort, taken):
    """How soon the first cable is used again, and how often when it comes and goes."""
    sh(guest, "modprobe -a bridge sch_netem")
    twin = Twin(guest, "oae")
    twin.module(keepalive_ms=2 * KEEPALIVE, stall_min_us=1000 * STALL, stall_max_us=1000 * STALL)
    with Beat(twin, "send-atomic") as beat:
        for how in HOW:
            rows = twin.cutter("oae", beat.file, how, "--cuts", CUTS["oae"][how] if effort.rounds > 1 else 3,
                               "--hold", 0.3, "--pause", 4 * SETTLED * KEEPALIVE / 1000)[1:]
            # Nobody can act before the kernel says that there is a carrier.
            times = [(row["back"] - (row["known"] or 0)) / 1e6 / (2 * KEEPALIVE) for row in rows]
            if how == "pulled":
                known = [(row["known"] or 0) / 1e6 / (2 * KEEPALIVE) for row in rows]
                taken.add("known", percentile(known, 50))
            taken.add(f"{how} p50", percentile(times, 50))
            taken.add(f"{how} max", max(times))
    for end in twin.ends:
        end.knobs(keepalive_ms=KEEPALIVE)
    with Beat(twin, "send-atomic") as beat:
        told = twin.cutter("oae", beat.file, "pulled", "--flap", FLAP)[0]
    taken.add("cuts", told["cuts"])
    taken.add("turns", told["path_turned"])
    if not told["committed"]:
        raise Failed("nothing was committed while a cable came and went")
    taken.note(f"keepalive_ms={2 * KEEPALIVE}, and {KEEPALIVE} for the cable that comes and goes each 100 ms for "
               f"{FLAP} s; a cut after the path was in use for {SETTLED} keepalive times at least")
