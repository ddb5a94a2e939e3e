# SPDX-License-Identifier: GPL-2.0
"""Many under way, small and large, in a network that changes between good and as bad as they get.

`make faults WINDOW=32 MESSAGES=1000000` has a million of them, PACK=1 for packed ones only.
"""

import os
import random
import signal
import subprocess
import time

from devpump import DevPump, compile_c
from faults import NETEM, NEVER, say
from oaetest import PARAMETERS, wait_for
from patience import times
from topology import CALM, OneCable

MESSAGES = int(os.environ.get("WINDOW_MESSAGES", times(8000)))  # both ways together
WINDOW = int(os.environ.get("FAULT_WINDOW", "32"))
PACK = os.environ.get("FAULT_PACK")                             # 0, 1, or both
SEED = int(os.environ.get("SEED") or random.getrandbits(31))
LONGEST = 60 + MESSAGES // 500      # seconds
CANCEL = 30                         # of 1000
# What comes after what, and at most how long, in messages. A good network uses all of the window,
# and a bad one, which uses little, is as slow as a hundredth of it.
WEATHER = (("delay 100us loss 0.1% duplicate 0.1%", 20000),
           ("delay 50us 50us reorder 10% 25% loss 1% duplicate 1% corrupt 0.2%", 8000),
           (NETEM, 500))


class Window(OneCable):
    """Two hosts and a cable."""

    one_cpu = False
    patience = LONGEST
    knobs = {"window": WINDOW, "dead_ms": 60000, "keepalive_ms": 1000, "stall_min_us": 200,
             "stall_max_us": 50000}

    def setUp(self):
        super().setUp()
        for host in (self.a, self.b):
            host.knobs(**self.knobs)
        self.pumps = []
        self.random = random.Random(SEED)
        self.addCleanup(self.close)
        self.hosts = (self.a, self.b)
        self.base = [host.stats() for host in self.hosts]

    def close(self):
        """Whatever happened, leave nothing behind."""
        for pump in self.pumps:
            pump.kill()
        self.cable.netem("delay 0")

    def counted(self, name):
        """A counter's sum over both since the beginning."""
        return sum(host.stat(name) - base[name] for host, base in zip(self.hosts, self.base))

    def pump(self, host, role, **how):
        """Start one."""
        self.pumps.append(DevPump(host, role, **how).wait_ready())
        return self.pumps[-1]

    def flap(self):
        """The interface of one end goes down and up."""
        host, dev = self.random.choice(self.cable.ends)
        before = host.stat("note_port")
        host.up(dev, False)
        wait_for(lambda: host.stat("note_port") > before or host.tag()["state"] != "OPEN",
                 "the link to freeze")
        host.up(dev)

    def lanes(self):
        """How many each end has under way."""
        return [host.tag()["lanes"] if host.tag() else 0 for host in self.hosts]

    def silence(self):
        """A link that is open and patient, and carries nothing: what is sent is under way until a flap."""
        for host in self.hosts:
            host.knobs(**CALM)
        self.a.knob("target", self.cable.mac_b)
        wait_for(lambda: all(host.tag() and host.tag()["state"] == "OPEN" for host in self.hosts),
                 "the link to open")
        self.cable.netem("loss 100%")

    def through_it_all(self, sizes):
        """All kinds of weather, flaps and cancels; what was told is held against what came."""
        say(f"    SEED={SEED}")
        readers, senders = [], {}
        self.silence()
        for host, peer in ((self.a, self.cable.mac_b), (self.b, self.cable.mac_a)):
            readers.append(self.pump(host, "recv", peer=peer))
            for share, (least, most) in sizes:
                stream = len(senders) + 1
                senders[stream] = self.pump(host, "send", peer=peer, queue=1, stream=stream,
                                            count=int(MESSAGES * share / 2), min=least, max=most,
                                            cancel=CANCEL, depth=256, seed=SEED)
        wait_for(lambda: max(self.lanes()) > 1, "several to be under way")
        for host in self.hosts:
            host.knobs(**self.knobs)
        self.flap()
        begin = said = time.monotonic()
        widest, flaps = max(self.lanes()), 1

        def running():
            nonlocal widest, said
            widest = max(widest, *self.lanes())
            if time.monotonic() - said > 10:
                said = time.monotonic()
                self.gets_on(self.counted("committed"))
                say(f"    {self.counted('committed')} committed, {self.counted('reversed')} "
                    f"reversed, {self.counted('note_repaired')} repaired, "
                    f"{self.counted('note_resolved') // 2} failures, {said - begin:.0f} s")
            return any(sender.running() for sender in senders.values())

        turn = 0
        while running():
            weather, most = WEATHER[turn % len(WEATHER)]
            self.cable.netem(weather)
            turn += 1
            goal = self.counted("committed") + self.random.randrange(1, min(most, MESSAGES // 10))
            wait_for(lambda: not running() or self.counted("committed") >= goal,
                     "messages to be committed", LONGEST, 0.02)
            if running():
                self.flap()
                flaps += 1
        seconds = time.monotonic() - begin
        told = {stream: sender.result() and sender.path for stream, sender in senders.items()}
        wait_for(lambda: self.counted("delivered") >= self.counted("committed"),
                 "what is committed to be delivered", 20, 0.02)
        for reader in readers:
            reader.signal(signal.SIGTERM)
        for reader in readers:
            reader.result()
        done = subprocess.run([compile_c("ledger", "guest/ledger.c"),
                               *(f"{stream}={path}" for stream, path in told.items()), "--",
                               *(reader.path for reader in readers)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        committed, reversed_, unknown, read = map(int, done.stdout.split())
        say(f"    {committed} committed, {reversed_} reversed, {flaps} flaps, {turn} kinds of "
            f"weather, at most {widest} under way, {self.counted('note_repaired')} lost frames "
            f"repaired, {self.counted('note_resolved') // 2} failures, {seconds:.1f} s, "
            f"{(committed + reversed_) / seconds:.0f}/s")
        self.assertEqual(unknown, 0)
        self.assertEqual(read, committed)
        self.assertEqual(committed + reversed_, sum(int(MESSAGES * share / 2) * 2
                                                    for share, _ in sizes))
        self.assertEqual([self.counted(name) for name in ("committed", "reversed", "delivered")],
                         [committed, reversed_, committed])
        self.assertGreater(reversed_, 0)
        self.assertGreater(self.counted("note_repaired"), 0)
        self.assertGreater(self.counted("note_resolved"), 0)
        self.assertLessEqual(widest, WINDOW)
        for name in NEVER:
            self.assertEqual(self.counted(name), 0, name)
        return widest

    def pack(self, how):
        """Are messages to be packed? True: that is as they are to be."""
        here = (PARAMETERS / "pack").exists()
        if PACK not in (None, str(how)) or (how and not here):
            self.skipTest("PACK says no" if here else "this module packs nothing")
        if here:
            for host in self.hosts:
                host.knob("pack", how)

    def test_unpacked(self):
        """Each message is a transaction, some of them have many slices."""
        self.pack(0)
        widest = self.through_it_all(((0.33, (16, 200)), (0.33, (16, 1400)), (0.33, (16, 64)),
                                      (0.01, (3000, 20000))))
        self.assertGreater(widest, 1)

    def test_packed(self):
        """Small ones are packed; between them are some that are not."""
        self.pack(1)
        self.through_it_all(((0.33, (16, 200)), (0.33, (16, 32)), (0.33, (16, 64)),
                             (0.01, (1000, 9000))))
        self.assertGreater(self.counted("packed"), 0)
