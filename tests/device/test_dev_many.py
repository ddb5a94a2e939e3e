# SPDX-License-Identifier: GPL-2.0
"""/dev/oae with as many transactions as may be: nothing takes longer the more of them there are."""

import errno
import random
import re
import statistics
import time
from pathlib import Path

import oaedev as dev
import oaewire as oae
from devtest import OaeFile, Scripted
from oaepeer import Peer
from oaetest import wait_for
from patience import SLOW

FEW, MANY = 200, 20000
# What costs the same with MANY as with FEW; a walk over all of them costs 100 times as much.
FLAT = 4
SNDQ = 4096
TRACING = Path("/sys/kernel/debug/tracing")


def quickest(function, tries=30):
    """Seconds that a call takes when nothing else happens."""
    best = 1e9
    for _ in range(tries):
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return best


class Graph:
    """The calls of a function of the kernel: how long each takes, or how often it calls another one."""

    def __init__(self, function, callee=""):
        self._function, self._callee = function, callee

    @staticmethod
    def available():
        """Has this kernel a tracer for it?"""
        tracers = TRACING / "available_tracers"
        return tracers.exists() and "function_graph" in tracers.read_text("ascii").split()

    def __enter__(self):
        (TRACING / "set_ftrace_filter").write_text(f"{self._function} {self._callee}", "ascii")
        (TRACING / "set_graph_function").write_text(self._function, "ascii")
        (TRACING / "current_tracer").write_text("function_graph", "ascii")
        (TRACING / "options/funcgraph-tail").write_text("1", "ascii")
        return self

    def __exit__(self, *unused):
        (TRACING / "current_tracer").write_text("nop", "ascii")
        for file in ("set_graph_function", "set_ftrace_filter"):
            (TRACING / file).write_text("\n", "ascii")

    def seconds(self):
        """Of each call since it was entered."""
        line = re.compile(rf" ([\d.]+) us +\|.* {self._function} ")
        return [float(found) / 1e6 for found in line.findall((TRACING / "trace").read_text("ascii"))]

    def calls(self):
        """How often each call since it was entered has called the other function."""
        done, counts = [], {}
        for line in (TRACING / "trace").read_text("ascii").splitlines():
            cpu, _, what = line.partition(")")
            if f"  {self._callee} " in what:
                counts[cpu] = counts.get(cpu, 0) + 1
            elif f"  {self._function} " in what or f"/* {self._function} " in what:
                count = counts.pop(cpu, 0)
                if "{" not in what:
                    done.append(count)
        return done


class Many(Scripted):
    __doc__ = Scripted.__doc__
    # The peer is silent: nothing ends but what is cancelled.
    knobs = {"sndq": SNDQ}

    def filled(self, total):
        """A file with so many outcomes to be collected."""
        count = total
        file = self.file(nonblock=True, queue=65536)
        while count:
            n = min(count, SNDQ)
            for _ in range(n):
                file.write(b"x")
            file.cancel(0)
            count -= n
        self.assertEqual(file.status().uncollected, total)
        return file

    def assert_flat(self, few, many, function):
        """function(file), seconds, is about the same with many outcomes waiting as with few."""
        # The machine may be busy for a while: what counts is the quickest.
        wait_for(lambda: function(many) < function(few) * FLAT, "it to be as quick with many")

    def test_flat(self):
        """Each call on a file takes as long with MANY outcomes waiting as with FEW."""
        few, many = self.filled(FEW), self.filled(MANY)
        with self.subTest("OAE_STATUS"):
            self.assert_flat(few, many, lambda file: quickest(file.status))
        with self.subTest("poll()"):
            self.assert_flat(few, many, lambda file: quickest(file.poll))
        with self.subTest("OAE_CANCEL of one, behind all that have ended"):
            self.assert_flat(few, many, self.cancel)
        if not Graph.available():
            self.skipTest("no function_graph")
        with self.subTest("a deadline that passes, in softirq"):
            self.assert_flat(few, many, self.deadline)

    @staticmethod
    def cancel(file):
        """Seconds that it takes to cancel the last."""
        first = file.status().next_id
        for _ in range(50):
            file.write(b"x")
        ids = iter(range(first, first + 50))
        return quickest(lambda: file.cancel(next(ids)), 50)

    @staticmethod
    def deadline(file):
        """Seconds of a deadline that passes."""
        file.set_options(deadline_ms=1, queue=65536)
        with Graph("oae_file_timer") as graph:
            for _ in range(20):
                ended = file.status().uncollected
                file.write(b"x")
                wait_for(lambda ended=ended: file.status().uncollected > ended, "it to end")
            return statistics.median(graph.seconds())

    def test_cancel_each(self):
        """OAE_CANCEL of each of those queued, the newest first: not slower the more are queued."""
        file = self.file(nonblock=True, queue=65536)
        for _ in range(SNDQ):
            file.write(b"x")
        spent = []
        for id_ in range(SNDQ, 0, -1):
            begin = time.perf_counter()
            file.cancel(id_)
            spent.append(time.perf_counter() - begin)
        # Who else wants the processor delays some, and never makes one quicker.
        self.assertLess(min(spent[:400]), 2 * min(spent[-400:]))
        self.assertEqual([o.id for o in file.collect_all(SNDQ)], list(range(1, SNDQ + 1)))

    def test_cancel_all(self):
        """OAE_CANCEL of all: as many at once take as long as in four parts."""
        def cost(count):
            file = self.file(nonblock=True, queue=65536)
            for _ in range(count):
                file.write(b"x")
            begin = time.perf_counter()
            file.cancel(0)
            spent = time.perf_counter() - begin
            status = file.status()
            self.assertEqual((status.pending, status.uncollected), (0, count))
            file.close()
            return spent
        # Who else wants the processor delays some, and never makes one quicker.
        parts = min(sum(cost(SNDQ // 4) for _ in range(4)) for _ in range(8))
        whole = min(cost(SNDQ) for _ in range(8))
        self.assertLess(whole, 2 * parts)

    def test_deadlines(self):
        """All that are queued are due at once: each ends with ETIME, and is collected in order."""
        file = self.file(nonblock=True, queue=65536, deadline_ms=int(1500 * SLOW))
        for _ in range(SNDQ):
            file.write(b"x")
        self.assertEqual(file.status().pending, SNDQ)
        wait_for(lambda: not file.status().pending, "all to end", 10)
        got = file.collect_all(SNDQ)
        self.assertEqual([o.id for o in got], list(range(1, SNDQ + 1)))
        self.assertEqual({(o.result, o.err) for o in got}, {(dev.REVERSED, errno.ETIME)})

    def test_deadline_order(self):
        """The first to be due is the first to end, not the first that was queued."""
        file = self.file(nonblock=True, queue=65536)
        for ms in (3600000, 0, int(800 * SLOW), 1800000, 1):
            file.set_options(deadline_ms=ms)
            file.write(b"x")
        wait_for(lambda: file.status().pending == 4, "the last to end")
        self.assertEqual(file.status().uncollected, 0)
        wait_for(lambda: file.status().pending == 3, "the third to end")
        file.cancel(1)
        self.assertEqual(file.status().uncollected, 1)
        file.cancel(2)
        self.assertEqual(file.status().uncollected, 3)
        file.cancel(0)
        self.assert_outcomes(file, (1, "R", errno.ECANCELED), (2, "R", errno.ECANCELED),
                             (3, "R", errno.ETIME), (4, "R", errno.ECANCELED),
                             (5, "R", errno.ETIME))

    def all_end(self, codes, end, swaps=True):
        """end() reverses all that is queued, with these error numbers."""
        file, other = (self.file(nonblock=True, queue=65536) for _ in range(2))
        for n in range(SNDQ):
            (other if n % 8 == 5 else file).write(b"x")
            if swaps and n % 16 == 0:
                file.swap(b"half", flags=dev.NONBLOCK)
        end()
        wait_for(lambda: not file.status().pending and not other.status().pending, "all to end")
        for one, count in ((file, SNDQ * 7 // 8 + swaps * SNDQ // 16), (other, SNDQ // 8)):
            got = one.collect_all(count)
            self.assertEqual(len({o.id for o in got}), count)
            self.assertEqual({o.result for o in got}, {dev.REVERSED})
            self.assertLessEqual({o.err for o in got}, codes)
        return file

    def test_closed(self):
        """The link is closed."""
        file = self.all_end({errno.ESHUTDOWN}, lambda: self.a.close_tag(self.cable.mac_b, self.vc))
        file.write(b"anew")
        self.assertEqual(file.status().pending, 1)
        file.cancel(0)

    def parked(self, vc):
        """A file whose first write the peer has refused for now: what comes behind it waits."""
        peer = Peer(self.wire, self.cable.mac_a, vc=vc)
        peer.open()
        file = self.later(OaeFile.to(self.a, self.cable.mac_b, vc=vc, nonblock=True, queue=65536))
        file.write(b"first")
        offer = peer.expect(oae.OFFER)
        peer.send(oae.REFUSE, seq=offer.seq, reason=oae.BUSY)
        wait_for(lambda: self.a.tag(vc)["offer"] == "parked", "it to be parked")
        return peer, file

    def test_peer_closed(self):
        """The peer closes it."""
        peer, first = self.parked(self.vc)
        self.all_end({errno.EPIPE}, lambda: peer.send(oae.CLOSE), swaps=False)
        self.assert_outcomes(first, (1, "R", errno.EPIPE))

    def test_peer_closed_at_once(self):
        """Its CLOSE, in softirq, reverses a few of all that are queued; later events do the others."""
        if not Graph.available():
            self.skipTest("no function_graph")
        peer, file = self.parked(self.vc)
        for _ in range(SNDQ):
            file.write(b"x")
        with Graph("oae_tag_rcv", "oae_tell_ended") as graph:
            peer.send(oae.CLOSE)
            wait_for(lambda: not file.status().pending, "all to end")
            most = max(graph.calls())
        self.assertGreater(most, 0)
        self.assertLess(most, SNDQ // 16)

    def test_port(self):
        """The port goes: the link begins to close, and then there is no time left."""
        self.all_end({errno.ESHUTDOWN, errno.ECANCELED}, lambda: self.a.knob("dev", "-va"))

    def test_close_file(self):
        """A file with all that may be goes: what it had queued goes on, and the tag is free."""
        file = self.filled(SNDQ)
        for _ in range(SNDQ):
            file.write(b"x")
        file.close()
        self.assertEqual(self.a.tag(self.vc)["queue"] > 4000, True)
        self.a.close_tag(self.cable.mac_b, self.vc)
        wait_for(lambda: not self.a.tags(), "the tag to go")

    def collected(self, file, model, count):
        """Collect some; the model's first outcomes of each stream, elder first."""
        got = [o.id for o in file.collect(count, 65536)]
        wanted = []
        while len(wanted) < count:
            firsts = [s[0] for s in model if s and s[0][1]]
            if not firsts:
                break
            first = min(firsts)
            for s in model:
                if s and s[0] is first:
                    s.pop(0)
            wanted.append(first[0])
        self.assertEqual(got, wanted)

    def test_random(self):
        """Queued, cancelled and collected at random: what can be collected is counted rightly."""
        for seed in range(6):
            dice = random.Random(seed)
            file = self.file(nonblock=True, queue=65536)
            model = [[], []]        # of each stream: [number, has it ended]
            for n in range(1, 400):
                swap = dice.random() < 0.3
                if swap:
                    file.swap(b"half", flags=dev.NONBLOCK)
                else:
                    file.write(b"x")
                model[swap].append([n, False])
                pending = [txn for s in model for txn in s if not txn[1]]
                for txn in dice.sample(pending, min(len(pending), dice.choice((0, 0, 1, 3)))):
                    file.cancel(txn[0])
                    txn[1] = True
                ready = 0
                for s in model:
                    for txn in s:
                        if not txn[1]:
                            break
                        ready += 1
                self.assertEqual(file.status().uncollected, ready, f"seed {seed}, step {n}")
                if dice.random() < 0.2:
                    # No memory to tell it: it stays.
                    if ready:
                        self.fails(errno.EFAULT, file.ioctl, dev.COLLECT,
                                   dev.CollectArg(8, 0, 1).bytes())
                        self.assertEqual(file.status().uncollected, ready)
                    self.collected(file, model, dice.randrange(1, 5))
            file.close()


class Walks(Scripted):
    __doc__ = Scripted.__doc__

    def test_tags(self):
        """Each link of a port hears what happens to the port, however many there are."""
        self.a.knob("max_tags", 4096)
        files = [self.later(OaeFile.to(self.a, f"02:0a:e1:00:{n // 250:02x}:{n % 250:02x}", vc=n % 3,
                                       nonblock=True)) for n in range(1000)]
        for file in files:
            file.write(b"x")
        self.assertEqual(len(self.a.tags()), 1000)
        self.a.knob("shutdown", 1)
        # Of so many a work closes the last ones.
        wait_for(lambda: {(f.status().pending, dev.STATES[f.status().state]) for f in files} ==
                 {(0, "CLOSED")}, "all links to be closed")
        self.a.knob("shutdown", 0)
        for file in files:
            file.write(b"y")
        self.a.knob("dev", "-va")
        self.assertEqual(self.a.tags(), [])
        self.assertEqual({(f.status().pending, f.status().uncollected,
                           bool(f.status().flags & dev.ST_DEAD)) for f in files}, {(0, 2, True)})
