# SPDX-License-Identifier: GPL-2.0
"""What a module has in the kernel at this moment, and what is left of it once it has gone.

Memory is counted exactly, by who allocated it, on a kernel booted with slub_debug=FZPU.
"""

import os
import re
from collections import Counter
from pathlib import Path

CACHES = Path("/sys/kernel/debug/slab")
# Ranges of addresses, which the kernel keeps long after vfree(); others() sees what is not freed.
LAZY = "vmap_area"
# Heads of freed skbs, which each processor keeps for NAPI to use again: that many at most.
HEADS, HEADS_KEPT = "skbuff_head_cache", 64 * os.cpu_count()
RECORD = re.compile(r"^ *(\d+) (?=\S)")
# What the kernel allocates on the way for others than the module. An interrupt does while the module
# runs; tables of numbers and memory per processor grow for whoever comes, and stay for the next.
# The folder in debugfs of a slab stays for ever: Linux 6.1 keeps a reference to it.
BORDER = re.compile(r"\b(__do_softirq|do_softirq|handle_softirqs|asm_\w+|irq_exit_rcu|"
                    r"id[ar]_alloc_\w+|pcpu_create_chunk|debugfs_slab_add)\b")


def exact():
    """Does this kernel note who allocated what, and count what was freed as free at once?

    The debug kernel does not: KASAN keeps what was freed for a while, and kmemleak looks for the rest.
    """
    return bool(re.search(r"\bslub_debug=\w*U", Path("/proc/cmdline").read_text("ascii")))


def owner(trace, module):
    """The first function of the module on the way to an allocation, None if there is none."""
    for line in trace:
        if BORDER.search(line):
            return None
        if f"[{module}]" in line:
            return line.split("+")[0].split()[-1]
    return None


def records(path):
    """Of what a slab has in use: how many objects, and the lines that say who allocated them."""
    count, trace = 0, []
    for line in [*path.read_text("ascii").splitlines(), "1 end"]:
        record = RECORD.match(line)
        if record:
            if trace:
                yield count, trace
            count, trace = int(record[1]), []
        trace.append(line)


def objects(module):
    """Memory in use: function of the module and kind -> objects."""
    found = Counter()
    for path in CACHES.glob("*/alloc_traces"):
        if path.parent.name == LAZY:
            continue
        here = Counter()
        for count, trace in records(path):
            name = owner(trace, module)
            if name:
                here[f"{name} {path.parent.name}"] += count
        if path.parent.name != HEADS or sum(here.values()) > HEADS_KEPT:
            found += here
    return found


def traces(module, kinds):
    """Who allocated the objects of these kinds, for whoever wonders."""
    return "\n".join("\n".join([kind, *trace]) for kind in kinds
                     for path in CACHES.glob(f"{kind.split()[-1]}/alloc_traces")
                     for _, trace in records(path) if kind.split()[0] == owner(trace, module))


def others(module):
    """What is no slab: timers armed, memory of vmalloc()."""
    found = Counter()
    for line in Path("/proc/timer_list").read_text("ascii").splitlines():
        if f"[{module}]" in line or re.search(r"\boae_\w+_timer\b", line):
            found["timers"] += 1
    for line in Path("/proc/vmallocinfo").read_text("ascii").splitlines():
        if f"[{module}]" in line:
            found["vmalloc"] += 1
    return found


def all_of(module):
    """Both."""
    return (objects(module) if exact() else Counter()) + others(module)


def paths(module):
    """Its files, of those that should be gone with it."""
    files = (f"/sys/module/{module}", f"/proc/net/{module}", f"/sys/kernel/debug/{module}",
             f"/sys/kernel/tracing/events/{module}")
    if module == "modoae":
        files += ("/sys/class/misc/oae", "/dev/oae")
    return [path for path in files if Path(path).exists()]
