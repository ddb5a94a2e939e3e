# SPDX-License-Identifier: GPL-2.0
"""The life-cycle storm: modules, namespaces, devices, ports, knobs, links and programs come and
go, all at random and at once; afterwards nothing is left, and links work. See life_actors.py.

Not among the others, since it takes minutes:
    tools/vm run --append slub_debug=FZPU --time-limit 900 -- env TIME=180 tests/guest/run test_life_storm
SEED=NUMBER has every actor do the same again, though not at the same time; ACTORS=Ports,Knobs
has only these take part.
"""

import errno
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import leftovers
import oaedev as dev
from devtest import Call, OaeFile
from faults import say, slabs
from gateway import MODULE as GATEWAY
from gateway import NEEDS, modprobe
from life_actors import (GATEWAYS, HOSTS, build_gateway, build_host, build_switch, cast, enter,
                         in_use, ip)
from oaetest import Cable, OaeTest, load, loaded, run, unload, wait_for
from patience import SLOW

TIME = float(os.environ.get("TIME", "60"))
STUCK = 90 * SLOW       # seconds after which one thing that an actor does hangs


class LifeStorm(OaeTest):
    """The topology in life_actors.py; hosts x and y for what comes after."""

    one_cpu = False
    patience = int(TIME + 600)

    @classmethod
    def setUpClass(cls):
        modprobe(*NEEDS, "macvlan", "8021q", "bridge", "veth")
        cls.modules = (("modoae", {}), ("modoaeip", {"module": GATEWAY}))
        super().setUpClass()

    @classmethod
    def build(cls):
        dev.node()
        load(module=GATEWAY)
        cls.addClassCleanup(lambda: Path("/sys/module/modoaeip").exists()
                            and cls._unload("modoaeip"))

    @classmethod
    def _unload(cls, name="modoae"):
        """Whoever was killed in the storm may take his time to close a thousand files."""
        def gone():
            try:
                unload(name)
            except OSError as e:
                return e.errno == errno.ENOENT
            return True
        wait_for(gone, f"{name} to be free", 60, 0.02)

    @staticmethod
    def namespaces():
        """How many the kernel still knows: those that are on their way out, too.

        It frees the last that went once the next one has gone, so one comes and goes now, which
        takes it a moment.
        """
        ip(None, "netns add last", "netns del last")
        counts = []
        while len(counts) < 20:
            time.sleep(0.05)
            counts.append(slabs().get("net_namespace", 0))
        return min(counts)

    def fresh(self):
        """Both modules loaded anew, no namespace but the switch: what they have then."""
        for name, how in self.modules:
            if Path(f"/sys/module/{name}").exists():
                self._unload(name)
            load(**how)
        dev.node()
        return {name: leftovers.all_of(name) for name, _ in self.modules}

    def stage(self):
        """The topology, from nothing."""
        for n in HOSTS:
            build_host(n)
        for n in GATEWAYS:
            build_gateway(n)
        enter("")

    def storm(self, seed, seconds):
        """All actors for so long. The board, once all have gone."""
        board, actors = cast(seed)
        for actor in actors:
            actor.start()
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(1)
                self.look_at(board, actors)
        finally:
            self.stop(actors)
        for actor in actors:
            done, good, _, action, error = board.get(actor.name)
            say(f"    {actor.name:<14} {done:>7} things done, {good:>7} without an error; in "
                f"{action}; the last error was {error or 'none'}")
            self.assertTrue(good or done < 20, f"{actor.name}: nothing but errors")
        return board

    @staticmethod
    def stop(actors):
        """Whatever they are doing. What they have started goes with them."""
        for act in (lambda pid: os.kill(pid, signal.SIGKILL), lambda pid: os.waitpid(pid, 0)):
            for actor in actors:
                try:
                    act(actor.pid)
                except (ProcessLookupError, ChildProcessError):
                    pass        # it has ended before

    def look_at(self, board, actors):
        """Does anybody hang, or has anybody ended who should not?"""
        self.log.lines()
        self.assertEqual(self.log.complaints, [], "the kernel complained")
        now = time.monotonic()
        for actor in actors:
            self.assertEqual(os.waitpid(actor.pid, os.WNOHANG)[0], 0, f"{actor.name} has ended")
            _, _, since, action, _ = board.get(actor.name)
            if now - since > STUCK:
                raise AssertionError(f"{actor.name} hangs in {action} for {now - since:.0f} s\n"
                                     + self.stacks())

    @staticmethod
    def stacks():
        """Where everybody waits."""
        found = []
        for pid in (path for path in Path("/proc").iterdir() if path.name.isdigit()):
            try:
                found.append(f"{pid.name} {(pid / 'comm').read_text()}{(pid / 'stack').read_text()}")
            except OSError:
                pass
        return "\n".join(text for text in found if "oae" in text or "rtnl" in text)

    @staticmethod
    def unname():
        """All but the switch; a program that was killed may still be on its way to one more."""
        names = set(os.listdir("/run/netns")) - {"sw"}
        for name in sorted(names):
            subprocess.run(["ip", "netns", "del", name], check=False, timeout=60)
        return not names

    def sweep(self):
        """All that the storm has left outside the modules goes, as a user would remove it."""
        enter("")
        for name in os.listdir("/sys/kernel/tracing/events"):
            if name.startswith("modoae"):
                Path(f"/sys/kernel/tracing/events/{name}/enable").write_text("0", "ascii")
        wait_for(self.unname, "the names of namespaces to go", 60)
        for n in HOSTS:
            subprocess.run(["ip", "-n", "sw", "link", "del", f"p{n}"], check=False,
                           stderr=subprocess.DEVNULL, timeout=60)
        for n in GATEWAYS:
            for kind in "qw":
                subprocess.run(["ip", "-n", "sw", "link", "del", f"{kind}{n}"], check=False,
                               stderr=subprocess.DEVNULL, timeout=60)

    def wait_namespaces(self, before):
        """The last of those that the storm has made is gone."""
        try:
            wait_for(lambda: self.namespaces() <= before, "the namespaces to go", 120, 1)
        except AssertionError as e:
            raise AssertionError(f"{e}: {self.namespaces()} instead of {before}; named "
                                 f"{os.listdir('/run/netns')}; in use: {in_use()}; processes:\n" +
                                 run("ps", "-N", "--ppid", "2", "-o",
                                     "pid,ppid,stat,wchan:24,netns,args") +
                                 run("cat", "/proc/mounts") + self.stacks()) from e

    def assert_nothing_left(self, wanted):
        """The modules have no more than when they were loaded: no object, no timer, no map."""
        for name, _ in self.modules:
            more = {}

            def settled(name=name, more=more):
                more.clear()
                more.update(leftovers.all_of(name) - wanted[name])
                return not more
            try:
                wait_for(settled, "what is left to go", 30, 0.5)
            except AssertionError as e:
                raise AssertionError(f"left of {name}: {more}\n" +
                                     leftovers.traces(name, more)) from e

    def exchange(self):
        """On a new cable between new hosts all works."""
        x, y = self.host("x"), self.host("y")
        cable = Cable(x, "vx", y, "vy")
        x.add_port("vx")
        y.add_port("vy")
        x.write(b"noc", target=cable.mac_b)
        self.assertEqual(y.read_one(), b"noc")
        a, b = OaeFile.to(x, cable.mac_b, vc=7), OaeFile.to(y, cable.mac_a, vc=7)
        b.expose(64, 1, 7)
        for size in (1, 1500, 60000):
            reading = Call(b.read)
            a.write(bytes(size))
            self.assertEqual(len(reading.result()), size)
        swapping = Call(b.swap, b"of y")
        self.assertEqual((a.swap(b"of x"), swapping.result()), (b"of y", b"of x"))
        self.assertEqual(a.verb(1, dev.add_op(0, 3)).old, [[0]])
        a.close()
        b.close()

    def test_storm(self):
        """For TIME seconds; then what was before the storm is again."""
        seed = int(os.environ.get("SEED") or random.getrandbits(31))
        say(f"    SEED={seed} TIME={TIME:g}")
        build_switch()
        self.addClassCleanup(run, "ip", "netns", "del", "sw")
        before = self.namespaces()
        wanted = self.fresh()
        self.stage()
        self.storm(seed, TIME)
        self.sweep()
        if leftovers.exact():
            self.wait_namespaces(before)
        for name, how in self.modules:          # the storm may have ended without them
            if not Path(f"/sys/module/{name}").exists():
                load(**how)
        self.assert_nothing_left(wanted)
        for name, _ in self.modules:
            self._unload(name)
            self.assertEqual(leftovers.paths(name), [])
            self.assertEqual(leftovers.all_of(name), {})
        for _, how in self.modules:
            load(**how)
        dev.node()
        self.exchange()
        self.assertTrue(loaded())
