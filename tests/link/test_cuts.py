# SPDX-License-Identifier: GPL-2.0
"""Messages both ways while one of two cables fails, again and again, in every way that there is.

`make cuts MESSAGES=1000000 CUTS=10000 SEED=...` has that many; by itself it is a small part of it.
"""

import os
import random
import signal
import subprocess
import time
from collections import Counter

from devpump import DevPump, compile_c
from faults import NEVER, say
from oaetest import wait_for
from patience import SLOW
from test_paths import LONGER, TwoCables

MESSAGES = int(os.environ.get("CUT_MESSAGES", "3000"))         # both ways together, at least
CUTS = int(os.environ.get("CUTS", "20"))                        # at least
SEED = int(os.environ.get("SEED") or random.getrandbits(31))
WINDOW = 16
MANY = 100                          # more than are under way when a cable fails
HEALS = 30                          # seconds within which something is committed, whatever was cut
# Sizes of messages, a stream each, and at both ends: in a pack or a frame; of many slices.
SIZES = ((16, 200), (16, 1400), (3000, 20000))
# What must not have happened: neither end has died, and neither was ever without a cable.
NOTHING = (*NEVER, "note_peer_new", "note_down", "note_gone", "note_unconfirmed", "tags_gone", "unknown")


class Control:
    """Traffic control at a host, by one process that stays: a fault is there at once."""

    def __init__(self, host):
        with host:
            self._process = subprocess.Popen(["tc", "-batch", "-"], stdin=subprocess.PIPE, text=True,
                                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def do(self, line):
        """One command; the first that fails ends it, and is the last that is taken."""
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def close(self):
        """What went wrong, or nothing."""
        said = self._process.communicate(timeout=20)[0]
        return said if self._process.returncode else ""


class Cuts(TwoCables):
    """Two hosts and two cables, of which one is whole at any time."""

    one_cpu = False
    patience = 120 + 3 * CUTS + MESSAGES // 200

    def setUp(self):
        super().setUp()
        for host in (self.a, self.b):
            host.knobs(window=WINDOW, keepalive_ms=50, dead_ms=int(60000 * SLOW))
        self.random = random.Random(SEED)
        self.pumps = []
        self.controls = {host: Control(host) for host in (self.a, self.b)}
        for cable in (self.first, self.second):
            for host, dev in cable.ends:
                self.controls[host].do(f"qdisc add dev {dev} clsact")
        self.addCleanup(self.close)

    def close(self):
        """Whatever happened, leave nothing behind."""
        for pump in self.pumps:
            pump.kill()
        said = [control.close() for control in self.controls.values()]
        for cable in (self.first, self.second):
            for host, dev in cable.ends:
                host.sh(f"tc qdisc del dev {dev} clsact")
        self.assertEqual(said, ["", ""], "tc")

    # Ways to fail; each returns what mends it.

    def pull(self, *ends):
        """The devices at these ends go down; at the other end the carrier goes."""
        for host, dev in ends:
            host.up(dev, False)

        def mend():
            for host, dev in ends:
                host.up(dev)
        return mend

    def spoil(self, netem, *ends):
        """What these ends send is treated as netem has it."""
        for host, dev in ends:
            self.controls[host].do(f"qdisc replace dev {dev} root netem {netem}")

        def mend():
            for host, dev in ends:
                self.controls[host].do(f"qdisc del dev {dev} root")
        return mend

    def shorten(self, *ends):
        """Of what these ends send only short frames get through."""
        for host, dev in ends:
            self.controls[host].do(f"filter add dev {dev} egress pref 1 protocol all bpf "
                                   f"bytecode '{LONGER}' action drop")

        def mend():
            for host, dev in ends:
                self.controls[host].do(f"filter del dev {dev} egress pref 1")
        return mend

    def strike(self, cable):
        """One of them happens to a cable: which, and what mends it."""
        a, b = cable.ends
        how, act = self.random.choice((
            ("pulled", lambda: self.pull(a, b)),
            ("pulled at a", lambda: self.pull(a)),
            ("pulled at b", lambda: self.pull(b)),
            ("silent", lambda: self.spoil("loss 100%", a, b)),
            ("silent from a", lambda: self.spoil("loss 100%", a)),
            ("silent from b", lambda: self.spoil("loss 100%", b)),
            ("loses a third", lambda: self.spoil("loss 33%", a, b)),
            ("short only", lambda: self.shorten(a, b)),
            ("short only from a", lambda: self.shorten(a)),
            ("doubles, shuffles", lambda: self.spoil(
                "delay 100us 100us reorder 25% 25% duplicate 25%", a, b))))
        return how, act()

    # The run.

    def counted(self, name):
        """A counter's sum over both ends since the beginning."""
        return sum(host.stat(name) - base[name] for host, base in self.base.items())

    def moved(self, n, what):
        """Until so many more are committed; the seconds that it took."""
        start, goal = time.monotonic(), self.counted("committed") + n
        try:
            wait_for(lambda: self.counted("committed") >= goal, "messages to be committed", HEALS,
                     0.005)
        except AssertionError as error:
            state = [(host.tags(), host.paths(), host.ev_log()[-30:]) for host in (self.a, self.b)]
            raise AssertionError(f"SEED={SEED}, {what}: {error}: {state}") from error
        return time.monotonic() - start

    def cable(self):
        """The next to fail: mostly the one in use."""
        second = self.a.used_path() == "wa"
        if self.random.random() < 0.2:
            second = not second
        return self.second if second else self.first

    def run_cuts(self):
        """All of them: how many of each kind; and by kind how long MANY commits took at most."""
        tally, worst = Counter(), Counter()
        # Or all that is sent meanwhile keeps the processors from whoever cuts.
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        self.addCleanup(os.setpriority, os.PRIO_PROCESS, 0, 0)
        begin = said = time.monotonic()
        share = max(MESSAGES // CUTS // 3, 1)
        while sum(tally.values()) < CUTS or self.counted("committed") < MESSAGES:
            cable = self.cable()
            how, mend = self.strike(cable)
            tally[how] += 1
            worst[how] = max(worst[how], self.moved(MANY, how))
            self.moved(self.random.randint(1, share), how)
            mend()
            self.moved(self.random.randint(1, share), f"after {how}")
            if time.monotonic() - said > 10:
                said = time.monotonic()
                self.gets_on(sum(tally.values()))
                say(f"    {sum(tally.values())} cuts, {self.counted('committed')} committed, "
                    f"{self.counted('path_turned')} turns, {said - begin:.0f} s")
        return tally, worst

    def read_ledgers(self, senders, readers):
        """Committed, reversed, unknown and read, all of it in order and once, or it fails."""
        done = subprocess.run([compile_c("ledger", "guest/ledger.c"),
                               *(f"{stream}={sender.path}" for stream, sender in senders.items()),
                               "--", *(reader.path for reader in readers)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"SEED={SEED}: {done.stdout}{done.stderr}")
        return map(int, done.stdout.split())

    def test_cuts(self):
        """Nothing is lost, doubled, out of order, reversed or unknown."""
        say(f"    SEED={SEED}")
        self.link()
        self.base = {host: host.stats() for host in (self.a, self.b)}
        readers, senders = [], {}
        for host, dev, peer in ((self.a, "va", self.first.mac_b), (self.b, "vb", self.first.mac_a)):
            readers.append(DevPump(host, "recv", peer=peer, port=dev).wait_ready())
            self.pumps.append(readers[-1])
            for least, most in SIZES:
                stream = len(senders) + 1
                senders[stream] = DevPump(host, "send", peer=peer, port=dev, queue=1, stream=stream,
                                          count=1 << 30, min=least, max=most, depth=64).wait_ready()
                self.pumps.append(senders[stream])
        begin = time.monotonic()
        tally, worst = self.run_cuts()
        seconds = time.monotonic() - begin
        for sender in senders.values():
            sender.signal(signal.SIGTERM)
        for sender in senders.values():
            sender.result(HEALS)
        wait_for(lambda: self.counted("delivered") >= self.counted("committed"),
                 "what is committed to be delivered", HEALS, 0.02)
        for reader in readers:
            reader.signal(signal.SIGTERM)
        for reader in readers:
            reader.result()
        committed, reversed_, unknown, read = self.read_ledgers(senders, readers)
        say(f"    {committed} committed, {sum(tally.values())} cuts, {self.counted('path_turned')} "
            f"turns, {self.counted('note_resolved') // 2} failures resolved, {seconds:.0f} s; of each "
            f"kind, and how long {MANY} commits took at most:")
        for how, number in sorted(tally.items()):
            say(f"      {how:18}{number:6}{worst[how] * 1000:8.0f} ms")
        self.assertEqual((reversed_, unknown, read), (0, 0, committed))
        self.assertEqual([self.counted(name) for name in ("committed", "delivered", "reversed")],
                         [committed, committed, 0])
        self.assertEqual({name: self.counted(name) for name in NOTHING}, dict.fromkeys(NOTHING, 0))
        self.assertGreater(self.counted("path_turned"), CUTS // 4)


if __name__ == "__main__":
    raise SystemExit("tests/guest/run test_cuts")
