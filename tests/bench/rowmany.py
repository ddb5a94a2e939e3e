# SPDX-License-Identifier: GPL-2.0
"""A row of very many links between two hosts of one kernel: 256 on each of as many cables as it takes.

    near [n0 02:0a:e0:01:00:00] ---- [02:0a:e0:02:00:00 f0] far
    near [n1 02:0a:e0:01:00:01] ---- [02:0a:e0:02:00:01 f1] far
    ...
"""

import re
import time

from rowcable import MODULES
from rowlib import SLOW, End, Failed, Space, batch, sh

WANTED = 100000
VCS = 256                   # links of a pair of ports
AT_ONCE = 60                # names in one write to the knob `dev`
COUNT = 1000                # transactions of each kind, a turn
# No link is to do anything by itself; and there is room for all that nobody reads meanwhile:
# two kinds of all turns on one link, less than 1 KB each. Hosts that take other paths have one
# link a channel, over all cables.
CALM = {"keepalive_ms": 600000, "dead_ms": 3600000, "stranger_pps": 100000, "rcvbuf": 16777216,
        "paths": 1}


def most_links(end):
    """How many the module can have, and what it says to more."""
    # Strangers have a part of it only, and to far near is one.
    for most in (4 * WANTED, 2 * WANTED, 131072, 65536):
        said = end.refuses("max_tags", most)
        if said is None:
            return most
    raise Failed(f"max_tags: {said}")


def memory(guest):
    """Bytes of slabs, vmalloc and what is kept for each processor."""
    text = sh(guest, "sync; echo 3 > /proc/sys/vm/drop_caches; echo 1 > /proc/sys/vm/stat_refresh; "
                     "cat /proc/meminfo")
    return 1024 * sum(map(int, re.findall(r"^(?:SUnreclaim|VmallocUsed|Percpu): +(\d+) kB", text,
                                          re.M)))


def cables(guest, ports):
    """So many, all of them bound at both ends."""
    near, far = (Space(guest, name) for name in ("near", "far"))

    def mac(side, i):
        return f"02:0a:e0:{side:02x}:{i >> 8:02x}:{i & 255:02x}"
    batch(guest, [f"link add n{i} netns near address {mac(1, i)} type veth peer name f{i} netns far "
                  f"address {mac(2, i)}" for i in range(ports)])
    for space, letter in ((near, "n"), (far, "f")):
        batch(space, [f"link set {letter}{i} up" for i in range(ports)])
    ends = [End(near, "n0", mac(1, 0), None), End(far, "f0", mac(2, 0), None)]
    near.run(f"insmod {MODULES}/modules/modoae/modoae.ko", check=True, timeout=60 * SLOW)
    for end in ends:
        for i in range(0, ports, AT_ONCE):
            end.knobs(dev=",".join(f"+{end.dev[0]}{n}" for n in range(i, min(i + AT_ONCE, ports))))
        end.knobs(**CALM)
    return ends


def close(near, ports):
    """Seconds to release all ports of an end, whose links close in order."""
    near.knobs(linger_ms=10000)
    names = [f"-{near.dev[0]}{n}" for n in range(ports)]
    changes = [",".join(names[i:i + AT_ONCE]) for i in range(0, ports, AT_ONCE)]
    before = near.stats()["tags_gone"]
    start = time.monotonic()
    for change in changes:
        near.knobs(dev=change)
    took = time.monotonic() - start
    gone = near.stats()["tags_gone"] - before
    if gone < WANTED:
        raise Failed(f"{gone} links went with their ports")
    return took


def many(guest, effort, taken):
    """What a frame costs among 100,000 links, and what an idle link takes."""
    sh(guest, "mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug")
    ports = -(-WANTED // VCS)
    near, far = cables(guest, ports)
    for end in (near, far):
        most = most_links(end)
        end.knobs(window=effort.window)
    links = WANTED
    # Part of max_tags is not for strangers.
    if most < WANTED:
        links = most // 2 // VCS * VCS
        taken.note(f"max_tags is {most} at most: measured with {links} links")
    before = memory(guest)
    near.sh("dmesg -C")
    near.machine.run(f"insmod {MODULES}/oaebench.ko dev={near.dev} peer={far.mac} bytes=64 "
                     f"links={links} count={COUNT} turns={effort.rounds}", timeout=400 * SLOW)
    log = near.sh("dmesg | grep oaebench: || true")
    opened = re.search(r"opened links=(\d+) ns=(\d+)", log)
    runs = {what: [int(ns) for name, ns in re.findall(r"oaebench: (\w+) bytes=.* p50=(\d+) ", log)
                   if name == what][1:] for what in ("alone", "first", "spread")}
    if not opened or any(len(each) != effort.rounds for each in runs.values()):
        raise Failed(f"{links} links do not open, or not all was measured: {log.strip()}")
    # What nobody has read is not what an idle link takes.
    far.sh("cat /sys/kernel/debug/modoae/noc_debug > /dev/null")
    there = int(far.sh("grep -c OPEN /proc/net/modoae/tags || true"))
    if there != links:
        raise Failed(f"{links} links were opened, and {there} are open at the other end")
    taken.values.update({what: [ns / 1000 for ns in each] for what, each in runs.items()})
    # Two frames make a transaction: the cost of either is half of it.
    taken.ratio("hot", "first", "alone")
    taken.ratio("cost", "spread", "alone")
    taken.add("bytes", (memory(guest) - before) / (2 * links))
    taken.add("open", int(opened[2]) / 1e9)
    taken.add("close", close(near, ports))
    if links < WANTED:
        raise Failed(f"{WANTED} links are more than the module has: what is measured is of {links}")
