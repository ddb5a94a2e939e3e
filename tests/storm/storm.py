# SPDX-License-Identifier: GPL-2.0
"""Storms: a link at work, strangers that send as fast as a processor can, and what is watched.

    near [bench0] ---- [bench1] far [bench2] ---- [bench3] strangers

The link at work, the victim, is from near to far. A storm comes to far from strangers over a port
of its own, or over the victim's own cable, as from somebody else on that segment; it may claim to
come from near.

The victim's programs are on one processor, and the blaster is on the other one, on which all that
it sends is received as well: as with a device whose interrupts go there. A blaster takes a whole
processor, so what a storm costs the victim is told against a time in which that processor is as busy
with a program that sends nothing; what the frames cost the machine, whatever becomes of them, is
told by the same frames of an EtherType that nobody listens to.
"""

import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "guest"))
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import oaedev  # noqa: E402
import oaewire as oae  # noqa: E402
from devpump import DevPump, compile_c  # noqa: E402
from oaepeer import Wire  # noqa: E402
from oaetest import Cable, Host, forget_links, load, loaded, unload, wait_for  # noqa: E402

VICTIM_CPU, STORM_CPU = 1, 0
UNHEARD = "0x88b6"
# A slice that veth hands over takes so many bytes, the kernel's truesize.
TRUESIZE = 2304
TAG_KB, PLACES_KB, HELD_KB = 2, 16, 64 * TRUESIZE // 1024
SYNCS = 512             # frames that trafgen sends by turns


def program(name):
    """One of those here."""
    return compile_c(name, f"storm/{name}.c", "guest/wire.c")


class Background:
    """A program that runs beside, with all its children: started, ready, ended; what it said."""

    def __init__(self, host, *words, cpu=STORM_CPU):
        with host:
            self.process = subprocess.Popen(
                ["taskset", "-c", str(cpu), *words], stdout=subprocess.PIPE, text=True,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        line = self.process.stdout.readline()
        if line != "ready\n":
            raise AssertionError(f"{words[0]}: {line}{self.process.stdout.read()}")

    def line(self):
        """The next that it says."""
        return self.process.stdout.readline()

    def end(self):
        """SIGTERM; all that it has said."""
        self.process.terminate()
        said, _ = self.process.communicate(timeout=20)
        return said

    def kill(self):
        """Whatever of it is still there."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(20)
        self.process.stdout.close()


def blaster(host, dev, to, kind, **how):
    """A storm, from now on until end()."""
    words = {"dev": dev, "to": to, "kind": kind, "cpu": STORM_CPU, **how}
    return Background(host, program("blaster"),
                      *(f"{k.rstrip('_')}={v}" for k, v in words.items()))


def spinner(host):
    """Nothing but a busy processor."""
    return Background(host, "sh", "-c", "echo ready; while :; do :; done")


class Trafgen(Background):
    """SYNCs of strangers by trafgen, which sends from a ring that it shares with the kernel."""

    def __init__(self, host, dev, to):
        dice = random.Random(1)
        with tempfile.NamedTemporaryFile("w", suffix=".trafgen", delete=False) as conf:
            for _ in range(SYNCS):
                who = bytes((2, 11)) + dice.getrandbits(20).to_bytes(4, "big")
                frame = oae.Frame(oae.SYNC, dst=oae.mac_bytes(to), src=who,
                                  vc=dice.getrandbits(8), src_ltag=dice.getrandbits(31) + 1,
                                  payload=oae.sync_body(dice.getrandbits(62) + 1)).pack()
                conf.write("{ " + ", ".join(f"0x{byte:02x}" for byte in frame) + " }\n")
        # It ends at EAGAIN: what fits the ring has to fit the socket's share of memory, too.
        super().__init__(host, "sh", "-c", f"echo ready; exec trafgen --conf {conf.name} --dev {dev} "
                         "--cpus 1 --ring-size 128KiB --no-sock-mem --no-cpu-stats --notouch-irq "
                         ">/dev/null 2>&1")


def counts(said):
    """`name=number ...` of a line: a dict."""
    return {k: float(v) for k, v in re.findall(r"(\w+)=([\d.]+)", said)}


def kernel_memory():
    """KB of the kernel's own: slabs that it cannot give back, vmalloc, per-CPU."""
    Path("/proc/sys/vm/stat_refresh").write_text("1", "ascii")
    found = re.findall(r"^(?:SUnreclaim|VmallocUsed|Percpu): +(\d+) kB",
                       Path("/proc/meminfo").read_text("ascii"), re.M)
    return sum(map(int, found))


def limit(host, tags=None):
    """KB that peers can make a host hold by its knobs: doc/guarantees.md, G6."""
    tags = tags or int(host.knob("max_tags"))
    return tags * (TAG_KB + PLACES_KB + int(host.knob("rcvbuf")) // 1024 + HELD_KB)


def queue_limit(host):
    """KB that one of its own programs can have queued."""
    return (int(host.knob("sndq")) + 2) * (int(host.knob("max_len")) // 1024 + 1)


def give_back():
    """What is free in the caches of frames goes back, or it would be used again, unseen."""
    for cache in ("kmalloc-*", "skbuff_*"):
        for shrink in Path("/sys/kernel/slab").glob(f"{cache}/shrink"):
            shrink.write_text("1", "ascii")


class Watch:
    """The high-water mark of the kernel's memory while it lives, KB above before."""

    def __init__(self, interval=0.05):
        give_back()
        self.before = self.most = kernel_memory()
        self._stop = threading.Event()
        self._interval = interval
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._stop.wait(self._interval):
            self.most = max(self.most, kernel_memory())

    def end(self):
        """It."""
        self._stop.set()
        self._thread.join()
        self.most = max(self.most, kernel_memory())
        return self.most - self.before


def write_pcap(path, packets):
    """A capture, so that others can read it too."""
    with open(path, "wb") as file:
        file.write(struct.pack("=IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for n, packet in enumerate(packets):
            file.write(struct.pack("=IIII", n, 0, len(packet), len(packet)) + packet)


class Victim:
    """A link at work from one host to another, and its books."""

    def __init__(self, near, far, near_mac, far_mac, **how):
        self.near, self.far, self.near_mac = near, far, near_mac
        self.how = how
        before = self.received()
        cpus = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {VICTIM_CPU})
        try:
            vc = how.get("vc", 0)
            self.receiver = DevPump(far, "recv", near_mac, vc=vc).wait_ready()
            self.sender = DevPump(near, "send", far_mac, count=1 << 30, **how).wait_ready()
        finally:
            os.sched_setaffinity(0, cpus)
        wait_for(lambda: self.received() > before + 10, "the victim to be at work", 20)

    def received(self):
        """How many transactions its receiver was given, as the node counts."""
        return self.far.stat("delivered")

    def window(self, seconds):
        """Transactions a second, for so long."""
        began, before = time.monotonic(), self.received()
        time.sleep(seconds)
        return (self.received() - before) / (time.monotonic() - began)

    def end(self):
        """Stop both, and hold their ledgers against each other; how many were committed."""
        self.sender.signal(signal.SIGTERM)
        sent = self.sender.result(60)

        def all_there():
            tag = self.far.tag(self.how.get("vc", 0), self.near_mac)
            return not tag or not tag["unread"]
        wait_for(all_there, "the victim's receiver to read all", 30)
        self.receiver.signal(signal.SIGTERM)
        got = self.receiver.result(30)
        return check_ledgers(sent, got, self.how.get("stream", 1))

    def kill(self):
        """Whatever they are doing."""
        self.sender.kill()
        self.receiver.kill()


def check_ledgers(sent, got, stream):
    """All that was committed came, once and in order; nothing else but what is UNKNOWN."""
    got = list(struct.iter_unpack("<II", got))
    if any(s != stream for s, _ in got):
        raise AssertionError(f"delivered, and nobody sent it: "
                             f"{[x for x in got if x[0] != stream][:5]}")
    got = [n for _, n in got]
    committed = [n for n, how in enumerate(sent) if how == ord("C")]
    unknown = {n for n, how in enumerate(sent) if how == ord("U")}
    if [n for n in got if n not in unknown] != committed or got != sorted(set(got)):
        at = next((i for i, two in enumerate(zip(got, committed)) if two[0] != two[1]), None)
        raise AssertionError(f"{len(committed)} were committed, {len(unknown)} unknown, "
                             f"{len(got)} delivered; the first that differs: {at}")
    return len(committed)


class Scene:
    """The hosts, cables and ports drawn above, and the module."""

    def __init__(self, **knobs):
        self.near, self.far, self.out = (Host(name) for name in ("near", "far", "strangers"))
        self.own = Cable(self.near, "bench0", self.far, "bench1")
        self.other = Cable(self.far, "bench2", self.out, "bench3")
        if not loaded():
            load()
            oaedev.node()
        for host, devices in ((self.near, "bench0"), (self.far, "bench1,bench2")):
            host.knobs(**knobs)
            host.knob("dev", devices)

    def close(self):
        """All gone, the module too."""
        for host in (self.near, self.far):
            host.knob("linger_ms", 0)
            host.knob("dev", "")
        wait_for(lambda: self._unloaded(), "the module to be free", 20, 0.05)
        for host in (self.near, self.far, self.out):
            host.close()

    @staticmethod
    def _unloaded():
        try:
            unload()
        except OSError:
            return False
        return True

    def steer(self, cpu=None):
        """What comes in at far is handled by this processor, wherever it came in; None: there."""
        mask = "0" if cpu is None else f"{1 << cpu:x}"
        lines = "".join(f"echo {mask} > /sys/class/net/{dev}/queues/rx-0/rps_cpus;"
                        for dev in ("bench1", "bench2"))
        # /sys shows the devices of the namespace in which it was mounted.
        self.far.sh(f"unshare -m sh -ec 'mount -t sysfs none /sys; {lines}'")

    def storm(self, kind, where="other", **how):
        """One: over the `other` port, over the victim's `own` cable, or `forged` there."""
        if kind == "trafgen":
            return self._trafgen()
        if where == "other":
            return blaster(self.out, "bench3", self.far.mac("bench2"), kind, **how)
        if where == "forged":
            how = {"from": self.own.mac_a, "vc": 0} | how
        return blaster(self.near, "bench0", self.own.mac_b, kind, **how)

    def _trafgen(self):
        """It says nothing when it begins, and it takes a while."""
        def strangers():
            stats = self.far.stats()
            return stats["stranger"] + stats["stranger_quiet"]
        before = strangers()
        program_ = Trafgen(self.out, "bench3", self.far.mac("bench2"))
        wait_for(lambda: strangers() > before + SYNCS, "trafgen to send", 60, 0.05)
        return program_

    def victim(self, **how):
        """The link at work."""
        return Victim(self.near, self.far, self.own.mac_a, self.own.mac_b, **how)

    def occupy(self, peers, greedy=0):
        """Peers from outside take all that they can get, and stay silent then; what they say.

        So many of them, all over, take no notice of what is granted.
        """
        program_ = Background(self.out, program("occupier"), "dev=bench3",
                              f"to={self.far.mac('bench2')}", f"peers={peers}",
                              f"greedy={greedy}")
        try:
            return counts(program_.line())
        finally:
            program_.kill()

    def forget(self):
        """No link is left of what was before, nor anything that was not read."""
        forget_links(self.near, self.far)
        for host in (self.near, self.far):
            host.knob("shutdown", 0)

    def record(self, path, seconds=0.5):
        """What goes over the victim's cable meanwhile, to be replayed in a later run of it."""
        wire = Wire(self.far, "bench1")
        time.sleep(seconds)
        write_pcap(path, iter(wire.raw, None))
        wire.close()
