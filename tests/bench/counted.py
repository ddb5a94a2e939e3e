# SPDX-License-Identifier: GPL-2.0
"""A guest with one processor, whose clock counts the instructions of that, one a ns.

So what else this machine has to do is not in what is measured; nor is what a cable and a device take.
"""

from rowlib import vmlib

# What it is given in place of what other guests have.
WORDS = {
    "tcg,thread=multi": "tcg,thread=single",
    # The same features with each version of QEMU: the kernel chooses by them how it copies.
    vmlib.CPU: "Nehalem",
}


class Counted(vmlib.Guest):
    """One whose time is what it has done. While it has nothing to do, its clock goes on to when it has."""

    def __init__(self, **options):
        super().__init__(accel="tcg", smp=1, append="tsc_early_khz=1000000", **options)

    def _qemu(self, *args):
        return [WORDS.get(word, word) for word in super()._qemu(*args)] + ["-icount", "shift=0,sleep=off"]
