# SPDX-License-Identifier: GPL-2.0
"""Random callers of /dev/oae on three hosts, while everything changes under them: see
tests/fuzz/devfuzz.c. TIME=SECONDS, SEED=NUMBER to do the same again."""

import os
import random
import subprocess
import time
from pathlib import Path

import oaedev as dev
from devpump import compile_c
from devtest import Call, OaeFile
from faults import BAD_NETWORK, NEVER, say
from oaetest import forget_links, load, loaded, run
from patience import SLOW
from topology import OneSwitch

TIME = float(os.environ.get("TIME", "5"))
SOURCES = ("devfuzz", "devfuzz_calls", "devfuzz_chaos", "devfuzz_values")
# What may fail every time: it takes luck.
HARD = ("any_ioctl", "epoll", "other", "splice")


class Random(OneSwitch):
    """Three hosts at a switch."""

    one_cpu = False
    patience = int(TIME + 120)
    members = [(name, f"v{name}", f"p{name}") for name in "abc"]

    @classmethod
    def build(cls):
        dev.node()
        super().build()
        cls.bind()

    @classmethod
    def bind(cls):
        """The ports, and times as they are in calm: a machine may halt for a moment."""
        for host in cls.hosts:
            host.knobs(keepalive_ms=50, linger_ms=100, **BAD_NETWORK)
            host.add_port(f"v{host.name}")

    def fuzz(self, seed, seconds):
        """Run it; (done, good) a call. What hangs is shown."""
        program = compile_c("devfuzz", *(f"fuzz/{name}.c" for name in SOURCES), flags=("-pthread",))
        for host in self.hosts:
            host.knob("dead_ms", 300)
        hosts = [f"/run/netns/{host.name}:v{host.name}:{mac.replace(':', '-')}"
                 for host, mac in zip(self.hosts, self.macs)]
        with subprocess.Popen([program, str(seed), str(seconds), *hosts], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
            try:
                out, _ = running.communicate(timeout=(seconds + 60) * SLOW)
            except subprocess.TimeoutExpired:
                stacks = [f"{pid}: {path.read_text()}" for pid, path in
                          ((p.name, p / "stack") for p in Path("/proc").iterdir()
                           if p.name.isdigit() and (p / "comm").read_text() == "devfuzz\n")]
                running.kill()
                raise AssertionError("devfuzz does not end\n" + "\n".join(stacks)) from None
        self.assertEqual(running.returncode, 0, out)
        say("    " + out.replace("\n", "\n    ").rstrip())
        words = [line.split() for line in out.splitlines()[1:]]
        return {name: (int(done), int(good)) for name, done, good in words}

    def exchange(self, vc):
        """A message, a swap, a verb between each two hosts, which takes no time."""
        begin = time.monotonic()
        for n, (one, other) in enumerate(((0, 1), (1, 2), (2, 0))):
            a = OaeFile.to(self.hosts[one], self.macs[other], vc=vc)
            b = OaeFile.to(self.hosts[other], self.macs[one], vc=vc)
            b.expose(64, 1000 + n, 7)
            reading = Call(b.read)
            try:
                a.write(b"calm")
            except OSError as e:
                self.show()
                raise AssertionError("a write in calm") from e
            self.assertEqual(reading.result(), b"calm")
            swapping = Call(b.swap, b"of b")
            self.assertEqual(a.swap(b"of a"), b"of b")
            self.assertEqual(swapping.result(), b"of a")
            self.assertEqual(a.verb(1000 + n, dev.add_op(0, 7)).old, [[0]])
            self.assertEqual(a.verb(1000 + n, dev.read_op(0)).old, [[7]])
            a.close()
            b.close()
        seconds = time.monotonic() - begin
        say(f"    an exchange in calm: {1000 * seconds:.0f} ms")
        self.assertLess(seconds, 5 * SLOW)

    def show(self):
        """What may tell why; at once, since the kernel may not live to see the report."""
        for host in self.hosts:
            say(f"{host.name}:\n" + host.sh("cat /proc/net/modoae/tags; ip -s link; tc -s qdisc;"
                                            "grep -v ' 0 ' /proc/net/modoae/stats;"
                                            "tail -n 60 /proc/net/modoae/ev_log"))
        Path("/proc/sysrq-trigger").write_text("l", "ascii")    # what each processor does
        say(run("dmesg")[-20000:])

    def settle(self):
        """Nothing is left of any link; all that was posted has ended in one way."""
        try:
            forget_links(*self.hosts)
        except AssertionError:
            self.show()
            raise
        for host in self.hosts:
            stats = host.stats()
            self.assertEqual(stats["tags_made"], stats["tags_gone"])
            self.assertEqual(stats["posted"],
                             stats["committed"] + stats["reversed"] + stats["unknown"])
            self.assertEqual({name: stats[name] for name in NEVER if stats[name]}, {})
            host.knob("shutdown", 0)

    def test_random(self):
        """And afterwards all is as if nothing had been; the module goes, and comes again."""
        seed = int(os.environ.get("SEED") or random.getrandbits(31))
        say(f"    SEED={seed} TIME={TIME:g}")
        calls = self.fuzz(seed, TIME)
        failed = [name for name, (_, good) in calls.items() if not good and name not in HARD]
        self.assertEqual(failed, [], "these calls were never anything but errors")
        # The bad network changes bits: an address that is another's may be learnt from it.
        self.switch.sh("ip link set br0 type bridge fdb_flush")
        self.exchange(200)
        # One of them may have taken a single link for as long as all this took.
        self.assertGreater(sum(host.stat("committed") for host in self.hosts), 150 / SLOW)
        self.settle()
        self._unload()
        load()
        dev.node()
        self.bind()
        self.exchange(201)
        self.assertTrue(loaded())
