# SPDX-License-Identifier: GPL-2.0
"""How fast this host's time-stamp counter runs, for a guest that cannot find out.

A guest compares its TSC, under TCG that of the host, with its emulated timers. On a busy host it
gets that wrong by as much as ten times, and from then on all its seconds are too short: timeouts
run out, and its watchdogs panic.
"""

import ctypes
import mmap
import time

# rdtsc; shl $32,%rdx; or %rdx,%rax; ret
RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")


def reader():
    """A function that reads the counter."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(RDTSC)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    read.code = code            # lives as long as the function
    return read


def instant(read, tries=20):
    """The counter and the nanoseconds of one moment: of some looks the quickest."""
    looks = []
    for _ in range(tries):
        begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        ticks = read()
        took = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - begin
        looks.append((took, ticks, begin + took // 2))
    return min(looks)[1:]


def khz(seconds=0.1):
    """The counter's frequency; 0 if it does not count evenly, or may not be read."""
    try:
        read = reader()
    except OSError:
        return 0
    marks = [instant(read)]
    for _ in range(2):
        time.sleep(seconds / 2)
        marks.append(instant(read))
    rates = [(t1 - t0) * 1000000 / (n1 - n0) for (t0, n0), (t1, n1) in zip(marks, marks[1:])]
    if min(rates) <= 0 or max(rates) > 1.001 * min(rates):
        return 0
    (t0, n0), (t1, n1) = marks[0], marks[-1]
    return round((t1 - t0) * 1000000 / (n1 - n0))
