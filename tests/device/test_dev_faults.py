# SPDX-License-Identifier: GPL-2.0
"""Messages, swaps and verbs on the same links at once, both ways, in networks as bad as they get."""

import os
import random
import signal
import time

import oaewire as oae
from devpump import (DevPump, check_adds, check_cas, check_moves, check_swaps, outcomes, owned)
from faults import BAD_NETWORK, NETEM, NEVER, Losing, check_promise, say
from oaetest import wait_end, wait_for
from patience import TIMES
from topology import OneCable

SCALE = float(os.environ.get("DEV_FAULT_SCALE", "1"))    # of the counts below
MESSAGES, SWAPS, VERBS = (int(n * SCALE) for n in (700, 500, 250))
PART = 0.3 * TIMES                                       # of them, in `make test`
ADD_AT, CAS_AT, MOVE_AT = 0, 64, 128                     # in every region
REGION = 1


class Mix:
    """Everything at once between two hosts; finish() waits for it and compares the ledgers.

    On each of the vcs, at each end: two senders of messages, a reader, a swapper, and one for each
    kind of verb, at work on the region of the other end, which all vcs share.
    """

    program = DevPump

    def __init__(self, test, cable, vcs=(0, 1), scale=1.0, deadlines=(0, 0), **how):
        self.test, self.begin = test, time.monotonic()
        test.addCleanup(self.close)
        self.pumps, self.what = [], test.id().rsplit(".", 1)[-1]
        (host_a, _), (host_b, _) = cable.ends
        self.sides = ((host_a, cable.mac_b), (host_b, cable.mac_a))
        self.base = [host.stats() for host, _ in self.sides]
        self.owners = [self.pump(host, "own", region=REGION, size=4096, offset=ADD_AT,
                                 local=int(VERBS * scale)) for host, _ in self.sides]
        for owner in self.owners:
            owner.wait_ready(b"exposed")
        self.readers, self.senders, self.swappers, self.verbs = {}, {}, {}, {}
        stream = 0
        for n, (host, peer) in enumerate(self.sides):
            for vc in vcs:
                at = {"peer": peer, "vc": vc, "deadline": deadlines[vc], **how}
                self.readers[n, vc] = self.pump(host, "recv", **at)
                for more in ({}, {"queue": 1, "max": 4000}, {"express": 1}):
                    stream += 1
                    self.senders[stream] = self.pump(
                        host, "send", stream=stream, count=int(MESSAGES * scale), **at | more)
                self.swappers[n, vc] = self.pump(host, "swap", stream=stream, max=1200,
                                                 count=int(SWAPS * scale), **at)
                for role, offset in (("add", ADD_AT), ("cas", CAS_AT), ("move", MOVE_AT)):
                    self.verbs[n, vc, role] = self.pump(
                        host, role, region=REGION, offset=offset, stream=stream,
                        count=int(VERBS * scale), **at)
        for pump in self.pumps:
            if pump not in self.owners:
                pump.wait_ready()
        self.workers = [*self.senders.values(), *self.swappers.values(), *self.verbs.values()]
        self.said, self.done = time.monotonic(), 0

    def pump(self, host, role, **how):
        """Start one."""
        self.pumps.append(self.program(host, role, **how))
        return self.pumps[-1]

    def close(self):
        """Whatever happened, leave nothing behind."""
        for pump in self.pumps:
            pump.kill()

    def counted(self, name):
        """A counter's sum since the beginning."""
        return sum(host.stat(name) - base[name] for (host, _), base in zip(self.sides, self.base))

    def running(self):
        """Is anybody at work? A swapper whose partner has ended is asked to stop."""
        for (n, vc), swapper in self.swappers.items():
            if swapper.running() and not self.swappers[1 - n, vc].running():
                swapper.signal(signal.SIGTERM)
        busy = [pump for pump in self.workers if pump.running()]
        if time.monotonic() - self.said > 5:
            self.said = time.monotonic()
            self.done = self.counted("committed")
            self.test.gets_on(self.done)
            say(f"    {self.what}: {len(busy)} of {len(self.workers)} at work, "
                f"{self.done} committed, "
                f"{self.counted('note_resolved') // 2} failures resolved")
        return bool(busy)

    def interrupt(self):
        """A signal for one of them."""
        pump = random.choice(self.workers)
        if pump.running():
            pump.signal(signal.SIGUSR1)

    def moved(self, n, deadline=60):
        """Wait until so many more are committed, or all is done. deadline: of finish()."""
        goal = self.counted("committed") + n
        wait_end(lambda: self.counted("committed") < goal and self.running(), lambda: self.done,
                 f"{n} transactions to be committed", deadline, 0.005)

    def wait_idle(self):
        """Nothing is queued, offered or held at either end.

        What was reversed last may say so in hold until something else comes.
        """
        hosts = [host for host, _ in self.sides]
        try:
            wait_for(lambda: not any(row["queue"] or row["offer"] != "-" or row["hold"] == "held"
                                     for host in hosts for row in host.tags()),
                     "the links to be idle", 10)
        except AssertionError as e:
            seen = "\n".join(host.sh("cat /proc/net/modoae/tags /proc/net/modoae/stats; "
                                     "tail -n 60 /proc/net/modoae/ev_log") for host in hosts)
            raise AssertionError(f"{e}\n{seen}") from e

    def finish(self, deadline=60):
        """Wait for the end, and check the promise; a Counter of outcomes a kind.

        deadline: how long nothing may be committed.
        """
        wait_end(self.running, lambda: self.done, "all to be done", deadline)
        seconds = time.monotonic() - self.begin
        sent = {stream: pump.result() for stream, pump in self.senders.items()}
        self.wait_idle()
        for pump in (*self.readers.values(), *self.owners):
            pump.signal(signal.SIGTERM)
        got = [pump.result() for pump in self.readers.values()]
        # An end that was down for long may have been forgotten: an express in flight is unknown.
        died = bool(self.counted("note_peer_new"))
        tally = {"message": check_promise(sent, got, express=died, died=died)}
        self.test.assertLessEqual(tally["message"]["lost"], self.counted("note_unconfirmed"))
        for n, vc in self.swappers:
            if not n:
                tally["swap"] = tally.get("swap", outcomes(())) + check_swaps(
                    self.swappers[0, vc].result(), self.swappers[1, vc].result())
        for n, owner in enumerate(self.owners):
            local, words = owned(owner.result())
            ledgers = {role: [pump.result() for (side, _, does), pump in self.verbs.items()
                              if side != n and does == role] for role in ("add", "cas", "move")}
            for role, how in (("add", check_adds(words[ADD_AT // 8], local, ledgers["add"])),
                              ("cas", check_cas(words[CAS_AT // 8:], ledgers["cas"])),
                              ("move", check_moves(words[MOVE_AT // 8:], ledgers["move"]))):
                tally[role] = tally.get(role, outcomes(())) + how
        for name in NEVER:
            self.test.assertEqual(self.counted(name), 0, name)
        self.test.assertEqual(self.counted("unknown"), tally["message"]["U"])
        told = sum(tally[kind]["C"] for kind in tally)
        self.test.assertEqual(self.counted("committed"), told, "the kernel counts as they do")
        say(f"    {self.what}: " + "; ".join(
            f"{kind} " + " ".join(f"{k} {v}" for k, v in how.items())
            for kind, how in tally.items())
            + f"; {self.counted('note_resolved') // 2} failures resolved, {seconds:.1f} s")
        return tally


class DevFaults(OneCable):
    """Two hosts, all at once between them."""

    one_cpu = False
    patience = int(120 * max(SCALE * TIMES, 1))
    knobs = BAD_NETWORK

    def setUp(self):
        super().setUp()
        for host in (self.a, self.b):
            host.knobs(dead_ms=5000, keepalive_ms=1000, **self.knobs)

    def netem(self, args):
        """The cable is bad for this test."""
        self.cable.netem(args)
        self.addCleanup(self.cable.netem, None)

    def all_committed(self, tally, scale):
        """Nothing was reversed, but halves that found no partner."""
        for kind, how in tally.items():
            if kind == "swap":
                self.assertGreater(how["C"], 0)
                self.assertLessEqual(how["R"], 8)
            else:
                self.assertEqual(how["R"], 0, kind)
        self.assertEqual(tally["message"]["got"], 12 * int(MESSAGES * scale))

    def test_bad_network(self):
        """A tenth lost, doubled, shuffled, altered."""
        self.netem(NETEM)
        mix = Mix(self, self.cable, scale=PART)
        self.all_committed(mix.finish(self.patience), PART)

    def test_flaps(self):
        """The same, and the interfaces go down and up."""
        self.netem(NETEM)
        mix = Mix(self, self.cable, scale=PART / 2)
        for n in range(12):
            mix.moved(50)
            host, dev = self.cable.ends[n % 2]
            host.up(dev, False)
            mix.running()
            host.up(dev)
        self.all_committed(mix.finish(self.patience), PART / 2)

    def test_signals(self):
        """Whoever blocks is interrupted at random: reversed is reversed at both ends."""
        # A way so long that a signal finds something under way.
        self.netem("delay 1ms 1ms loss 10% duplicate 5% corrupt 1%")
        mix = Mix(self, self.cable, scale=PART)
        while mix.running():
            mix.interrupt()
            mix.moved(2)        # or on a slow machine nothing gets as far as its end
        tally = mix.finish(self.patience)
        for kind in ("message", "swap", "add", "move"):
            self.assertGreater(tally[kind]["R"], 0, kind)
            self.assertGreater(tally[kind]["C"], 0, kind)

    def test_deadlines(self):
        """Deadlines shorter than many a failure takes, on one of two links; none on the other."""
        self.netem("loss 20% delay 100us 100us")
        mix = Mix(self, self.cable, scale=PART, deadlines=(2, 0))
        tally = mix.finish(self.patience)
        self.assertGreater(sum(how["R"] for how in tally.values()), 20)
        for kind in ("message", "add", "cas", "move"):
            self.assertGreater(tally[kind]["C"], 0, kind)

    def cut_one_way(self):
        """Everything at once, and eight cuts if it lasts so long; how many were told of one."""
        mix = Mix(self, self.cable, scale=PART)
        for n in range(8):
            mix.moved(60)
            if not mix.running():
                break
            host, dev = self.cable.ends[n % 2]
            before = {h: h.stat("note_down") for h in (self.a, self.b)}
            reversed_before = mix.counted("reversed")

            def given_up(before=before, so_far=reversed_before):
                """By an end, and somebody there has been told, if anybody was left to be."""
                down = [h for h in before if h.stat("note_down") > before[h]]
                return not mix.running() or down and (
                    mix.counted("reversed") > so_far or
                    # Of an express in flight nobody can be told anything yet.
                    any(row["offer"] == "out" for h in down for row in h.tags()) or
                    not any(pump.running() for pump in mix.workers if pump.host in down))

            some = () if n % 4 < 2 else (oae.COMMIT, oae.SYNC, oae.SYNC_ACK, oae.SYNC_CHK)
            with Losing(host, dev, *some):
                wait_for(given_up, "an end to give up", 10)
        tally = mix.finish(self.patience)
        self.assertGreater(tally["message"]["C"], 0)
        return sum(how["R"] for how in tally.values())

    def test_one_way_cuts(self):
        """Now one end is not heard, now the other, longer than dead_ms: ENOLINK, and no harm."""
        for host in (self.a, self.b):
            host.knobs(dead_ms=200, keepalive_ms=50)
        self.netem("loss 3% duplicate 3% delay 20us 20us")
        for _ in range(5):      # all may be over before a cut is noticed
            if self.cut_one_way():
                return
        self.fail("nobody was ever told of a cut")
