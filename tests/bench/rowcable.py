# SPDX-License-Identifier: GPL-2.0
"""Rows of one cable between two hosts of one kernel.

    near [bench0 02:0a:e0:00:00:01] ---- [02:0a:e0:00:00:02 bench1] far
              10.10.0.1                       10.10.0.2
"""

import re

from rowlib import BULK, MODULE, ROOT, TODAY, End, Failed, Space, bulk, iperf, pipe, sh, stream

MAC = ("02:0a:e0:00:00:01", "02:0a:e0:00:00:02")
DEV = ("bench0", "bench1")
MODULES = ROOT / "build" / "bench"
TRIPS = 4000                # round trips of each kind in the kernel


def cable(guest, module=MODULE, tipc=False):
    """The two hosts, a processor each."""
    sh(guest, "modprobe -a tipc sch_netem sch_ingress cls_u32 act_pedit; "
              "mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug")
    spaces = [Space(guest, name) for name in ("near", "far")]
    sh(guest, f"ip link add {DEV[0]} netns near address {MAC[0]} type veth "
              f"peer name {DEV[1]} netns far address {MAC[1]}")
    ends = [End(space, DEV[i], MAC[i], f"10.10.0.{i + 1}", cpu=i) for i, space in enumerate(spaces)]
    for end in ends:
        end.sh(f"ip link set {end.dev} up; ip addr add {end.address}/24 dev {end.dev}")
    if tipc:
        tipc_bearers(guest, ends)
    ends[0].load(module)
    ends[1].knobs(dev=DEV[1])
    return ends


def steer(guest, ends):
    """Each host receives on its own processor, as hosts do: a veth pair has the sender's do it."""
    for end in ends:
        sh(guest, f"ip netns exec {end.machine.name} sh -c "
                  f"'echo {1 << end.cpu:x} > /sys/class/net/{end.dev}/queues/rx-0/rps_cpus'")


def tipc_bearers(guest, ends):
    """On the cable; and in two more hosts whose TIPC does not see that they share a kernel.

    See tests/bench/programs.
    """
    for end in ends:
        end.tipc = f"/run/netns/{end.machine.name}-tipc"
        end.sh(f"tipc bearer enable media eth device {end.dev}")
    sh(guest, "ip netns add near-tipc && ip netns add far-tipc && "
              "ip link add tipc0 netns near-tipc type veth peer name tipc0 netns far-tipc")
    for name in ("near-tipc", "far-tipc"):
        sh(guest, f"ip -n {name} link set tipc0 up && tc -n {name} qdisc add dev tipc0 clsact && "
                  f"tc -n {name} filter add dev tipc0 ingress protocol 0x88ca u32 "
                  "match u32 0x1a000000 0x1e000000 at 0 action pedit munge offset 52 u32 set 0 && "
                  f"nsenter --net=/run/netns/{name} tipc bearer enable media eth device tipc0")


# --- a transaction in the kernel ---------------------------------------------------------

def kernel(guest, effort, taken):
    """Against a bare echo: as it always was measured, and with the default window."""
    near, far = cable(guest, MODULES / "modules" / "modoae" / "modoae.ko")
    for end in (near, far):
        end.knobs(rcvbuf=16777216, sndq=4096)
    # A link keeps the window that it began with, and the bench's link is always that of vc 0.
    many = {"window": effort.window, **near.packing(taken)}
    for key, single, knobs in (("w1", 0, TODAY), ("wn", 1, many)):
        for end in (near, far):
            end.knobs(**knobs)
        for _ in range(effort.rounds):
            echo, transaction = kernel_once(near, far, single)
            taken.add(key, transaction / echo)
            taken.add("echo", echo / 1000)
            taken.add("us", transaction / 1000)
        near.sh(f"echo close {far.mac} 0 > /proc/net/modoae/tags")
        for end in (near, far):
            end.sh("for i in $(seq 100); do grep -q OPEN /proc/net/modoae/tags || exit 0; "
                   "sleep 0.1; done; false")


def kernel_once(near, far, single):
    """The medians of echo and transaction, ns: both warmed up."""
    near.sh("dmesg -C")
    # It measures while it loads and never stays loaded.
    near.machine.run(f"insmod {MODULES}/oaebench.ko dev={near.dev} peer={far.mac} bytes=64 "
                     f"count={TRIPS} single={single}", timeout=200)
    log = near.sh("dmesg")
    far.sh("cat /sys/kernel/debug/modoae/noc_debug > /dev/null")
    runs = re.findall(r"oaebench: (\w+) bytes=.* p50=(\d+) ", log)
    if [what for what, _ in runs] != ["bounce", "echo", "transaction"] * 2:
        raise Failed(f"the kernel's bench says: {log.strip()}")
    return int(runs[4][1]), int(runs[5][1])


# --- small messages, one way ---------------------------------------------------------------

WAYS = (("wn", "oae"), ("w1", "oae"), ("cable", "tipc-cable"), ("tipc", "tipc"), ("udp", "udp"))


def small(steered):
    """A row: who receives, the processor of the receiving host or the sender's, as veth has it."""
    def measure(guest, effort, taken):
        near, far = cable(guest, tipc=True)
        if steered:
            steer(guest, (near, far))
        near.knobs(sndq=1024)
        many = {"window": effort.window, **near.packing(taken)}
        for _ in range(effort.rounds):
            for key, way in WAYS:
                knobs = {"wn": many, "w1": TODAY}.get(key)
                rate, lost = stream(near, far, way, effort, knobs=knobs)
                taken.add(key, rate)
                if way == "udp":
                    taken.add("udp lost", 100 * lost)
        for key in ("w1", "cable", "tipc", "udp"):
            taken.ratio("/ " + key, "wn", key)
    return measure


# --- 64 KB transactions ---------------------------------------------------------------------

def offloads(ends, on):
    """Segmentation on and off. Checksums are always the device's: a veth pair computes none."""
    word = "on" if on else "off"
    for end in ends:
        end.sh(f"ethtool -K {end.dev} tso {word} gso {word}")


def against_tcp(ends, effort, taken, key):
    """One round of both, on the same devices as they are now."""
    taken.add(f"oae {key}", bulk(*ends, effort))
    taken.add(f"pipe {key}", pipe(*ends, effort))
    taken.add(f"tcp {key}", iperf(*ends, effort))


def mtu1500(guest, effort, taken):
    """The largest frame of ordinary Ethernet."""
    ends = cable(guest)
    for _ in range(effort.rounds):
        for word, on in (("off", False), ("on", True)):
            offloads(ends, on)
            against_tcp(ends, effort, taken, word)
    for word in ("off", "on"):
        taken.ratio(f"/ {word}", f"oae {word}", f"tcp {word}")
        taken.ratio(f"pipe / {word}", f"pipe {word}", f"tcp {word}")


def mtu9000(guest, effort, taken):
    """Jumbo frames."""
    ends = cable(guest)
    for end in ends:
        end.sh(f"ip link set {end.dev} mtu 9000")
    offloads(ends, True)
    for _ in range(effort.rounds):
        against_tcp(ends, effort, taken, "on")
    taken.ratio("/ on", "oae on", "tcp on")
    taken.ratio("pipe / on", "pipe on", "tcp on")


def loss(percent):
    """A row on a cable that loses that many of the frames of either end, each for itself."""
    def measure(guest, effort, taken):
        ends = cable(guest)
        for end in ends:
            end.sh(f"tc qdisc add dev {end.dev} root netem loss {percent}% limit 20000")
        for _ in range(effort.rounds):
            taken.add("oae", bulk(*ends, effort))
            for key, segments in (("tcp", 1), ("tcp big", 65535)):
                for end in ends:
                    end.sh(f"ip link set {end.dev} gso_max_segs {segments}")
                taken.add(key, iperf(*ends, effort))
        taken.ratio("/ tcp", "oae", "tcp")
        taken.ratio("/ tcp big", "oae", "tcp big")
        resolved = ends[0].stats()["note_resolved"]
        committed = ends[0].stats()["committed"]
        taken.note(f"{committed} transactions of {BULK >> 10} KB were committed; links froze and "
                   f"resolved {resolved} times meanwhile")
    return measure
