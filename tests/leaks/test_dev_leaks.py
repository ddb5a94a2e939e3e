# SPDX-License-Identifier: GPL-2.0
"""/dev/oae leaves nothing behind: memory in use, before and after many random callers.

Not among the others, since it wants a kernel that counts exactly:
    tools/vm run --append slub_debug=F -- tests/guest/run test_dev_leaks
"""

import os
import random
from pathlib import Path

import test_dev_random
import test_dev_ringlife
from faults import check_leaks, say, slabs
from oaetest import wait_for
from patience import TIMES


class Leaks(test_dev_random.Random):
    """A little, again and again."""

    test_random = None
    patience = int(300 * max(TIMES, 1))

    def test_leaks(self):
        """No object is left of what was called, whoever was killed in it."""
        if "slub_debug" not in Path("/proc/cmdline").read_text("ascii"):
            self.fail("what each CPU keeps of a cache counts as in use: boot with slub_debug=F")
        seed = int(os.environ.get("SEED") or random.getrandbits(31))
        say(f"    SEED={seed}")
        seeds = iter(range(seed, seed + 1000))

        def cycle():
            self.fuzz(next(seeds), 0.5)
            self.exchange(200)
            self.settle()
        check_leaks(cycle, 7)


class Rings(test_dev_ringlife.Packs):
    """Packs of records that a ring had taken one by one."""

    test_mtu = test_no_packs = test_lossy = test_deadline = None

    def test_reversed(self):
        """The records are reversed at their deadlines: of the packs in which they waited nothing is left."""
        before = slabs()
        a, _, at, _ = self.queued(deadline_ms=300, single=200)
        a.wait_ended()
        wait_for(lambda: not [name for name, n in slabs().items() if n - before.get(name, n) > len(at) / 2],
                 "the packs to be freed")
