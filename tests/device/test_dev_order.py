# SPDX-License-Identifier: GPL-2.0
"""/dev/oae: what is true once a program has read, if another processor delivers."""

import os
import time
import unittest

from devtest import Call, TwoEnds
from oaetest import MODULE, wait_for
from patience import SLOW, times
from stretch import stretched

DELIVERS, READS = 0, 1                  # processors
STILL = 5_000_000                       # ns, after each lock: longer than a reader takes to look


@unittest.skipIf(os.cpu_count() < 2, "needs two processors")
class Counted(TwoEnds):
    __doc__ = TwoEnds.__doc__
    MESSAGES = times(48)

    def read(self, b, delivered, ready):
        """Without a pause: (how many it has read, how many were delivered when it looked)."""
        os.sched_setaffinity(0, {READS})
        end, before, found = time.monotonic() + 50 * SLOW, delivered(), []
        ready.append(True)
        while len(found) < self.MESSAGES and time.monotonic() < end:
            try:
                b.read()
            except BlockingIOError:
                continue
            found.append((len(found) + 1, delivered() - before))
        return found

    def test_delivered(self):
        """Nothing is read before it is counted, alone or in a pack."""
        a, b = self.opened()
        b.nonblock()
        ready = []
        self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        os.sched_setaffinity(0, {DELIVERS})
        with self.b.counter("delivered") as delivered:
            reader = Call(self.read, b, delivered, ready)
            wait_for(lambda: ready, "the reader")
            with stretched("modoae", MODULE, DELIVERS, STILL):
                begin = time.monotonic()
                for n in range(self.MESSAGES):
                    a.nonblock(n >= self.MESSAGES // 2)
                    a.write(b"%d" % n)
                found = reader.result(60)
                took = time.monotonic() - begin
        self.assertEqual([n for n, _ in found], list(range(1, self.MESSAGES + 1)))
        self.assertEqual([pair for pair in found if pair[1] < pair[0]], [])
        # Else nothing stood still.
        self.assertGreater(took, self.MESSAGES // 2 * STILL / 1e9)
