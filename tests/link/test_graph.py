# SPDX-License-Identifier: GPL-2.0
"""Many hosts, cables between them at random, and nobody is told anything but dev=*."""

import os
import random
import time
from collections import Counter

import oaedev
from faults import say
from oaedev import ATTACH_OPEN, OaeFile
from oaetest import Cable, OaeTest, wait_for
from patience import SLOW

# Fewer where a host is looked at slowly; `make test-long` has 64.
NODES = max(int(float(os.environ.get("NODES", "16")) / SLOW), 8)
CABLES = 2 * NODES                  # four ports a host, on average
REST = float(os.environ.get("REST", "5"))       # seconds; `make test-long` has 60
SEED = int(os.environ.get("SEED") or random.getrandbits(31))
RESTING = 1                         # frames a second and host


def graph(roll):
    """Edges of a connected graph without parallel ones."""
    edges = {(roll.randrange(n), n) for n in range(1, NODES)}
    while len(edges) < CABLES:
        one, other = sorted(roll.sample(range(NODES), 2))
        edges.add((one, other))
    return sorted(edges)


class Graph(OaeTest):
    """Hosts n0, n1 ...; each has a port e0, e1 ... to each of its neighbours."""

    params = {"discover": None}     # as it is without
    one_cpu = False
    patience = 240 + int(REST)

    @classmethod
    def build(cls):
        oaedev.node()
        cls.hosts = [cls.host(f"n{n}") for n in range(NODES)]
        cls.degree = Counter()
        for one, other in graph(random.Random(SEED)):
            Cable(cls.hosts[one], f"e{cls.degree[one]}", cls.hosts[other], f"e{cls.degree[other]}")
            cls.degree.update((one, other))

    def setUp(self):
        super().setUp()
        self.files = {}             # (host, port, address): a file that opened the link

    def close(self):
        """All of them."""
        for file in self.files.values():
            file.close()

    def open_heard(self):
        """Each host opens a link to whomever it has heard and has none with."""
        for host in self.hosts:
            linked = {row["peer"] for row in host.tags()}
            for row in host.neighbours():
                key = host, row["port"], row["mac"]
                if row["mac"] not in linked and key not in self.files:
                    self.files[key] = OaeFile(host)
                    self.files[key].attach(row["mac"], port=row["port"], flags=ATTACH_OPEN)

    def links(self):
        """Ends that are open."""
        return sum(row["state"] == "OPEN" for host in self.hosts for row in host.tags())

    def sent(self):
        """Frames of discovery, by host."""
        return [host.stat("node_sent") for host in self.hosts]

    def test_graph(self):
        """All neighbours have links soon, by what they hear; then they say little."""
        say(f"    SEED={SEED}")
        self.addCleanup(self.close)
        begin = time.monotonic()
        for host in self.hosts:
            host.knob("dev", "*")
        bound = time.monotonic()

        def linked():
            self.open_heard()
            return self.links() == 2 * CABLES
        wait_for(linked, "links between all neighbours", 20)
        took = time.monotonic() - bound
        say(f"    {NODES} hosts, {CABLES} cables: dev=* took {bound - begin:.2f} s, all links were "
            f"open {took:.2f} s later")
        # A link that nothing comes by, and that nobody here has asked for, is closed after a while.
        for file in self.files.values():
            file.write(b"hello")
        wait_for(lambda: all(len(host.neighbours()) == self.degree[n]
                             for n, host in enumerate(self.hosts)), "all to know all theirs", 20)
        # Each port says it once more 3 s after it came up.
        wait_for(lambda: time.monotonic() > bound + 5, "them to come to rest", 8)
        start, before = time.monotonic(), self.sent()
        wait_for(lambda: time.monotonic() - start > REST, f"{REST} seconds", REST + 2, 0.1)
        seconds = time.monotonic() - start
        self.assertGreater(min(before), 0)
        rates = [(after - past) / seconds for after, past in zip(self.sent(), before)]
        say(f"    at rest, for {seconds:.0f} s: {sum(rates) / NODES:.3f} frames of discovery a host "
            f"and second, at most {max(rates):.3f}")
        self.assertEqual(self.links(), 2 * CABLES)
        self.assertLessEqual(max(rates), RESTING)


if __name__ == "__main__":
    raise SystemExit("tests/guest/run test_graph")
