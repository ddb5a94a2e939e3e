# SPDX-License-Identifier: GPL-2.0
"""Who takes part in the life-cycle storm: each a process that does things at random, for ever.

                    host h1 ... h4   gateway g1         gateway g2   host h5
                      e1      e4       zone   wan      wan   zone      e5
    namespace sw:     p1 .... p4 ----- q1      w1 ---- w2     q2 ----- p5
                          br0                    br2             br1

What an actor does follows from the seed and its name; when, does not. It takes whatever error it
gets: only the kernel must not mind.
"""

import errno
import fcntl
import glob
import mmap
import os
import random
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
from functools import partial
from pathlib import Path

import oaedev as dev
import oaewire as oae
from devpump import compile_c
from gateway import MODULE as GATEWAY
from oaetest import CLONE_NEWNET, LIBC, NOC_DEBUG, fail_with_errno, load, unload

PR_SET_PDEATHSIG = 1
HOSTS = range(1, 6)
GATEWAYS = (1, 2)
FUZZ = ("devfuzz", "devfuzz_calls", "devfuzz_chaos", "devfuzz_values")
LINK = ("modoae", "/sys/module/modoae/parameters")
SLOT = struct.Struct("=QQd40s120s")
TOLERATED = (OSError, ValueError, subprocess.SubprocessError)


class Board:
    """Memory that all see: may files be open, and how each actor gets on."""

    def __init__(self, actors):
        self.memory = mmap.mmap(-1, 65536)
        self.places = {name: 64 + SLOT.size * n for n, name in enumerate(actors)}

    @property
    def quiet(self):
        """Is the module to be unloaded? Then nobody keeps a file open."""
        return self.memory[0]

    @quiet.setter
    def quiet(self, value):
        self.memory[0] = value

    def put(self, name, done, good, action, error=""):      # pylint: disable=R0913,R0917
        """An actor begins something."""
        # Not pack_into(): it clears the slot first, and who looks then finds a hang since boot.
        at = self.places[name]
        self.memory[at:at + SLOT.size] = SLOT.pack(done, good, time.monotonic(), action.encode(),
                                                   error.encode()[:120])

    def get(self, name):
        """How many things an actor has done, of these without an error, since when it does what;
        what the last error was."""
        done, good, since, *texts = SLOT.unpack_from(self.memory, self.places[name])
        return done, good, since, *(text.rstrip(b"\0").decode(errors="replace") for text in texts)


def die_with(parent):
    """This process does not outlive who has started it, nor one killed before this was asked."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)     # pylint: disable=protected-access


def mac(n):
    """Of a host's device."""
    return f"02:0a:e0:40:00:{n:02x}"


def enter(name):
    """This process is in a namespace from now on."""
    fd = os.open(f"/run/netns/{name}" if name else "/proc/1/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if LIBC.setns(fd, CLONE_NEWNET):
            fail_with_errno("setns")
    finally:
        os.close(fd)


def put(path, text):
    """Write to a file."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def knob(name, value, module="modoae"):
    """A parameter, in the namespace in which this process is."""
    put(f"/sys/module/{module}/parameters/{name}", f"{value}\n")


def sh(*words, text=None):
    """A program whose failure does not matter."""
    subprocess.run(words, input=text, text=True, check=False, timeout=60,
                   stdin=None if text else subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ip(where, *lines):
    """Commands of ip, one after the other, whatever becomes of each."""
    sh("ip", *(("-n", where) if where else ()), "-force", "-batch", "-",
       text="\n".join(lines) + "\n")


def device(name, request, data=b""):
    """An ioctl for a net device of this namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return fcntl.ioctl(sock, request, struct.pack("16s24s", name.encode(), data))


SIFFLAGS, SIFMTU, SIFHWADDR, SIFNAME = 0x8914, 0x8922, 0x8924, 0x8923


def up(name, is_up=True):
    """A device goes up, or down."""
    device(name, SIFFLAGS, struct.pack("H", is_up))


def build_switch():
    """The namespace that stays."""
    ip(None, "netns add sw")
    ip("sw", *(f"link add br{n} up type bridge mcast_snooping 0" for n in range(3)))


def build_host(n):
    """A host and its cable, whatever is there of them."""
    bridge = 1 if n == 5 else 0
    ip(None, f"netns add h{n}")
    ip("sw", f"link del p{n}",
       f"link add e{n} netns h{n} address {mac(n)} type veth peer name p{n}",
       f"link set p{n} up master br{bridge}")
    enter(f"h{n}")
    up(f"e{n}")
    bind(n)


def bind(n):
    """The port of a host whose namespace this process is in, and what it needs to live fast."""
    for name, value in (("dev", f"+e{n}"), ("dead_ms", 300), ("keepalive_ms", 50), ("linger_ms", 50),
                        ("stall_min_us", 300), ("max_tags", 8192),
                        ("target", mac(n % len(HOSTS) + 1))):
        try:
            knob(name, value)
        except OSError as e:
            if e.errno != errno.EEXIST:     # bound already
                raise


def build_gateway(n):
    """A gateway, its cables and addresses."""
    ip(None, f"netns add g{n}")
    ip("sw", f"link del q{n}", f"link del w{n}",
       f"link add zone netns g{n} type veth peer name q{n}",
       f"link add wan netns g{n} type veth peer name w{n}",
       f"link set q{n} up master br{n - 1}", f"link set w{n} up master br2")
    ip(f"g{n}", "link set zone up", "link set wan up", f"addr add 10.1.{n}.1/16 dev wan")
    enter(f"g{n}")
    serve()


def serve():
    """A gateway begins, or goes on."""
    for name, value in (("hello_ms", 100), ("refresh_ms", 500), ("node_life_ms", 2000),
                        ("gwips", "10.1.1.1,10.1.2.1"), ("dev", "zone")):
        knob(name, value, "modoaeip")


class Actor:
    """One of them. The methods that begin with do_ are what it does."""

    pause = 0.03            # seconds at most between two things
    holds = False           # it may have files open that keep the module

    def __init__(self, name, board, seed):
        self.name, self.board = name, board
        self.dice = random.Random(f"{seed} {name}")
        self.things = [getattr(self, at) for at in sorted(dir(self)) if at.startswith("do_")]
        self.pid = 0
        self.busy = False
        self.error = ""

    def start(self):
        """In a process of its own."""
        parent = os.getpid()
        self.board.put(self.name, 0, 0, "beginning")
        self.pid = os.fork()
        if self.pid:
            return
        try:
            die_with(parent)
            signal.alarm(0)
            signal.signal(signal.SIGALRM, self.too_long)
            self.live()
        except BaseException:       # pylint: disable=broad-except
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(1)     # pylint: disable=protected-access

    def too_long(self, *unused):
        """What may wait is interrupted."""
        if self.busy:
            raise InterruptedError(errno.EINTR, "too long")

    def attempt(self, thing):
        """Did it do it?"""
        try:
            try:
                self.busy = True
                signal.setitimer(signal.ITIMER_REAL, 20)
                thing()
            finally:
                self.busy = False
        except TOLERATED as e:      # perhaps the timer's, in the line before
            self.busy = False
            self.error = f"{thing.__name__[3:]}: {e!r}"
            return False
        return True

    def live(self):
        """Until killed."""
        done = good = 0
        while True:
            if self.holds and self.board.quiet:
                self.board.put(self.name, done, good, "quiet", self.error)
                self.let_go()
                time.sleep(0.01)
                continue
            thing = self.dice.choice(self.things)
            self.board.put(self.name, done, good, thing.__name__[3:], self.error)
            done += 1
            good += self.attempt(thing)
            time.sleep(self.dice.random() * self.pause)

    def let_go(self):
        """Of whatever keeps the module."""

    def host(self):
        """The number of any host; this process is there now."""
        n = self.dice.choice(HOSTS)
        enter(f"h{n}")
        return n

    def peer(self):
        """An address, perhaps of nobody."""
        return mac(self.dice.choice((*HOSTS, 99)))


class Namespaces(Actor):
    """Hosts go, and come again."""

    pause = 2

    def do_host(self):
        """First its namespace, then its cable."""
        n = self.dice.choice(HOSTS)
        enter("")
        ip(None, f"netns del h{n}")
        time.sleep(self.dice.random() * 0.1)
        build_host(n)

    def do_cable_first(self):
        """First its cable."""
        n = self.dice.choice(HOSTS)
        enter("")
        ip("sw", f"link del p{n}")
        ip(None, f"netns del h{n}")
        build_host(n)

    def do_many(self):
        """Namespaces in which nothing is."""
        enter("")
        names = [f"{self.name}-{i}" for i in range(self.dice.randrange(8))]
        ip(None, *(f"netns add {name}" for name in names))
        ip(None, *(f"netns del {name}" for name in names))

    def do_move(self):
        """A device moves to another host, and back."""
        n, m = self.host(), self.dice.choice(HOSTS)
        ip(f"h{n}", f"link set e{n} netns h{m}")
        enter(f"h{m}")
        up(f"e{n}")
        knob("dev", f"+e{n}")
        ip(f"h{m}", f"link set e{n} netns h{n}")
        enter(f"h{n}")
        up(f"e{n}")
        bind(n)


class Ports(Actor):
    """Ports come and go, their devices stay."""

    pause = 0.1

    def do_again(self):
        """Released, and bound again."""
        n = self.host()
        knob("linger_ms", self.dice.choice((0, 0, 20)))
        knob("dev", f"-e{n}")
        knob("dev", f"+e{n}")

    def do_set(self):
        """A list, good or bad."""
        n = self.host()
        knob("dev", self.dice.choice(("", f"e{n}", f"e{n},lo", f"e{n},m{n}", f"+m{n}", f"-m{n}",
                                      f"+e{n},+nosuch", "e" * 200, f"-e{n},+e{n}")))

    def do_bind(self):
        """Whatever it was."""
        bind(self.host())


class Devices(Actor):
    """Net devices change under their ports."""

    pause = 0.2

    def do_flap(self):
        """Down and up."""
        n = self.host()
        up(f"e{n}", False)
        time.sleep(self.dice.random() * 0.05)
        up(f"e{n}")

    def do_mtu(self):
        """Sometimes less than a port needs."""
        n = self.host()
        device(f"e{n}", SIFMTU, struct.pack("i", self.dice.choice((1500, 1500, 9000, 576, 128, 70))))

    def do_address(self):
        """Another, and the old one again."""
        n = self.host()
        for address in (f"02:0a:e0:41:00:{n:02x}", mac(n)):
            device(f"e{n}", SIFHWADDR, struct.pack("H", 1) + oae.mac_bytes(address))
            time.sleep(self.dice.random() * 0.05)

    def do_rename(self):
        """Another name, and the old one."""
        n = self.host()
        for old, new in ((f"e{n}", f"x{n}"), (f"x{n}", f"e{n}")):
            device(old, SIFNAME, new.encode())
            time.sleep(self.dice.random() * 0.02)

    def do_above(self):
        """A device on top of another is a port, too, and goes with it or alone."""
        n = self.host()
        kind = self.dice.choice(("macvlan mode bridge", "vlan id 7"))
        ip(f"h{n}", f"link add m{n} link e{n} type {kind}", f"link set m{n} up")
        knob("dev", f"+m{n}")
        time.sleep(self.dice.random() * 0.1)
        ip(f"h{n}", f"link del {self.dice.choice('mme')}{n}")

    def do_delete(self):
        """The cable goes, and another comes."""
        n = self.host()
        ip(f"h{n}", f"link del e{n}")
        build_host(n)

    def do_netem(self):
        """A bad cable, or a good one."""
        n = self.host()
        sh("tc", "qdisc", "replace", "dev", f"e{n}", "root", "netem", *self.dice.choice(
            ("loss 10% duplicate 5%", "delay 1ms 1ms", "corrupt 2%", "limit 1000")).split())


class Knobs(Actor):
    """Whatever can be written is written, good and bad."""

    VALUES = {
        "vci": (0, 1, 255, 256), "tag_seq": (0, 1, 0xffffffff), "verbose": (0, 0, 1, 2),
        "drop_pct": (0, 0, 0, 10, 100, -1), "express": (0, 1), "deadline_ms": (0, 20, 1000),
        "stall_min_us": (100, 1000, 50), "stall_max_us": (20000, 200000, 1),
        "keepalive_ms": (10, 50, 1000), "dead_ms": (50, 300, 1000), "linger_ms": (0, 20, 100),
        "max_tags": (1, 100, 8192, 1000000), "max_len": (1, 1000, 65536, 262144),
        "sndq": (1, 8, 64, 4096), "rcvbuf": (4096, 262144), "stranger_pps": (0, 200, 100000),
        "region_max": (8, 1048576), "paths": (8, 2, 1, 9), "accept": ("any", "any", "peers", "none"),
        "use_gw": ("0", "1", "auto", "auto"), "shutdown": (1, 0, 0), "wkstep": (1, "s", "s", 0, 0),
        "nhmac": ("auto", "auto", mac(98), mac(1)), "peers": ("", mac(1), "x" * 300),
        "target": (mac(1), mac(2), f"e1/{mac(3)}", "nonsense", ""), "stats": ("x",),
        "udp_peers": ("", "10.0.0.9", "10.0.0.9:7,fd00::1", "nonsense"),
    }

    def do_knob(self):
        """One of them; those that stop all traffic do so for a moment."""
        self.host()
        name = self.dice.choice(sorted(self.VALUES))
        knob(name, self.dice.choice(self.VALUES[name]))
        if name in ("shutdown", "drop_pct", "wkstep", "accept"):
            time.sleep(self.dice.random() * 0.05)
            knob(name, "any" if name == "accept" else 0)

    def do_close(self):
        """A link is closed by hand."""
        self.host()
        put("/proc/thread-self/net/modoae/tags", f"close {self.peer()} {self.dice.randrange(4)}\n")

    def do_sysctl(self):
        """What the kernel itself lets one change under a device."""
        n = self.host()
        put(f"/proc/sys/net/ipv6/conf/e{n}/disable_ipv6", self.dice.choice("01"))
        put(f"/proc/sys/net/ipv4/conf/e{n}/arp_ignore", self.dice.choice("01"))


class Readers(Actor):
    """Whoever looks does not disturb, and is not disturbed by what goes."""

    holds = True

    def __init__(self, *args):
        super().__init__(*args)
        self.open = []

    def let_go(self):
        while self.open:
            os.close(self.open.pop())

    def look(self, path):
        """Open it, read some of it, and perhaps keep it for later."""
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.open.append(fd)
        while os.read(fd, self.dice.choice((1, 100, 4096, 65536))) and self.dice.randrange(8):
            pass
        if len(self.open) > 6:
            os.close(self.open.pop(self.dice.randrange(6)))

    def do_proc(self):
        """Of the link, or of the gateway."""
        enter(self.dice.choice([f"h{n}" for n in HOSTS] + ["g1", "g2"]))
        self.look("/proc/thread-self/net/" + self.dice.choice(
            ("modoae/tags", "modoae/stats", "modoae/ev_log", "modoaeip/zones", "modoaeip/mactbl",
             "modoaeip/stats")))

    def do_again(self):
        """One that was opened some time ago, perhaps in a namespace that has gone."""
        fd = self.dice.choice(self.open or [-1])
        os.lseek(fd, 0, os.SEEK_SET)
        os.read(fd, 65536)

    def do_parameter(self):
        """Every one."""
        self.host()
        folder = self.dice.choice(("modoae", "modoaeip"))
        for name in os.listdir(f"/sys/module/{folder}/parameters"):
            with open(f"/sys/module/{folder}/parameters/{name}", "rb") as file:
                file.read()

    def do_noc(self):
        """What has arrived."""
        self.host()
        self.look(NOC_DEBUG)

    def do_trace(self):
        """Tracepoints, on and off."""
        for module in ("modoae", "modoaeip"):
            if self.dice.randrange(2):
                put(f"/sys/kernel/tracing/events/{module}/enable", self.dice.choice("01"))
        with open("/sys/kernel/tracing/trace", "rb") as file:
            file.read(65536)


class Tags(Actor):
    """Links by the thousand, of programs that end in all ways."""

    holds = True
    pause = 0.2

    def use(self, file):
        """A little of everything that needs no peer."""
        what = self.dice.randrange(8)
        if what == 0:
            file.write(bytes(self.dice.choice((1, 100, 5000, 60000))))
        elif what == 1:
            file.swap(b"half")
        elif what == 2:
            file.verb(self.dice.randrange(4), dev.add_op(0, 1))
        elif what == 3:
            file.expose(4096, self.dice.randrange(100), 7)
        elif what == 4:
            file.set_options(deadline_ms=self.dice.choice((0, 5, 50)),
                             linger_ms=self.dice.choice((0, 20, dev.LINGER_BACKGROUND)))
        elif what == 5:
            file.collect()

    def child(self, count):
        """Open many links. Ends with them open."""
        self.host()
        resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
        files = []
        for _ in range(count):
            try:
                files.append(dev.OaeFile(nonblock=self.dice.randrange(8) > 0))
                files[-1].attach(self.peer(), vc=self.dice.randrange(256),
                                 flags=self.dice.choice((0, dev.ATTACH_OPEN)))
                self.use(files[-1])
            except TOLERATED:
                pass
            if self.board.quiet:
                return
        if self.dice.randrange(2):
            for file in files:
                file.close()

    def do_many(self):
        """Another process does it, and may be killed in it."""
        count = self.dice.choice((3, 30, 300, 2000))
        seed, kill = self.dice.random(), self.dice.random() * 4
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            try:
                die_with(parent)
                self.dice.seed(seed)
                signal.setitimer(signal.ITIMER_REAL, 0)
                self.child(count)
            finally:
                os._exit(0)     # pylint: disable=protected-access
        end = time.monotonic() + kill
        try:
            while time.monotonic() < end and not self.board.quiet:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    return
                time.sleep(0.01)
        except InterruptedError:
            pass
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Noc(Actor):
    """echo and cat."""

    holds = True

    def do_write(self):
        """To whoever is the target."""
        self.host()
        fd = os.open(NOC_DEBUG, os.O_RDWR | self.dice.choice((0, os.O_NONBLOCK)))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            os.write(fd, bytes(self.dice.choice((1, 200, 20000))))
        finally:
            os.close(fd)

    def do_read(self):
        """All there is."""
        self.host()
        fd = os.open(NOC_DEBUG, os.O_RDONLY)
        try:
            while os.read(fd, 65536):
                pass
        finally:
            os.close(fd)


class Callers(Actor):
    """The random caller: programs of all kinds on three hosts, killed at random."""

    holds = True
    pause = 1
    program = None

    def do_fuzz(self):
        """For a while."""
        dev.node()
        hosts = [f"/run/netns/h{n}:e{n}:{mac(n).replace(':', '-')}"
                 for n in self.dice.sample((1, 2, 3, 4), 3)]
        end = time.monotonic() + 1 + self.dice.random() * 4
        signal.setitimer(signal.ITIMER_REAL, 0)
        with subprocess.Popen([Callers.program, str(self.dice.getrandbits(31)), "60", *hosts],
                              preexec_fn=partial(die_with, os.getpid()), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as running:
            while running.poll() is None and time.monotonic() < end and not self.board.quiet:
                time.sleep(0.02)
            running.kill()


class Flood(Actor):
    """Frames of strangers, and of nobody."""

    pause = 0.1

    def __init__(self, *args):
        super().__init__(*args)
        self.frames = [self.frame().pack() for _ in range(300)]

    def frame(self):
        """Any, well-formed."""
        d = self.dice
        opcode = d.choice((*range(oae.SYNC, oae.PATH), oae.ASK, oae.ACK))
        body = b""
        if opcode in (oae.SYNC, oae.SYNC_ACK, oae.SYNC_CHK):
            body = oae.sync_body(d.getrandbits(64), d.choice((0, d.getrandbits(64))))
        elif opcode == oae.OFFER:
            body = bytes(d.randrange(1, 1400))
        elif opcode == oae.ACK:
            body = bytes(8)
        elif opcode == oae.HELLO:
            body = oae.hello_body(flags=d.randrange(16), zone=d.randrange(3), inc=d.getrandbits(32),
                                  life=30, node_life=30)
        return oae.Frame(opcode, dst=mac(d.choice(HOSTS)),
                         src=f"02:0a:e0:5{d.randrange(2)}:00:{d.randrange(64):02x}",
                         vc=d.randrange(3), src_ltag=d.getrandbits(32), dst_ltag=d.getrandbits(32),
                         seq=d.randrange(3), flags=d.choice((0, 0, 2)), payload=body)

    def do_flood(self):
        """Many, back to back."""
        enter("sw")
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
            sock.bind((self.dice.choice(("br0", "br0", "br1")), 0))
            for _ in range(200):
                sock.send(self.dice.choice(self.frames))


class Gateways(Actor):
    """Gateways live just as dangerously."""

    pause = 0.5

    def gateway(self):
        """The number of one of them; this process is there now."""
        n = self.dice.choice(GATEWAYS)
        enter(f"g{n}")
        return n

    def do_namespace(self):
        """It goes, and another comes."""
        n = self.dice.choice(GATEWAYS)
        enter("")
        ip(None, f"netns del g{n}")
        build_gateway(n)

    def do_device(self):
        """Let go of, and taken again; or deleted."""
        n = self.gateway()
        knob("dev", self.dice.choice(("", "wan", "nosuch")), "modoaeip")
        if not self.dice.randrange(4):
            ip("sw", f"link del {self.dice.choice('qw')}{n}")
            build_gateway(n)
        knob("dev", "zone", "modoaeip")

    def do_address(self):
        """The address of the zone goes to nobody, and comes back."""
        n = self.gateway()
        ip(f"g{n}", f"addr del 10.1.{n}.1/16 dev wan")
        ip(f"g{n}", f"addr add 10.1.{n}.1/16 dev wan")

    def do_flap(self):
        """Either of its cables."""
        self.gateway()
        name = self.dice.choice(("zone", "wan"))
        up(name, False)
        up(name)

    def do_knob(self):
        """Good and bad; in the end it serves again."""
        self.gateway()
        name, value = self.dice.choice((
            ("gwips", ""), ("gwips", "10.1.1.1,10.1.2.1,10.1.3.1"), ("gwips", "x"),
            ("shutdown", 1), ("mactbl", "x"), ("mtu", 600), ("mtu", 0), ("max_nodes", 1),
            ("port", 40000), ("control_pps", 10), ("node_life_ms", 1000), ("verbose", 1)))
        try:
            knob(name, value, "modoaeip")
        finally:
            for at, usual in (("shutdown", 0), ("max_nodes", 16384), ("port", 34997)):
                knob(at, usual, "modoaeip")
            serve()


def in_use():
    """Who has what open that keeps the module: for whoever wonders why it stays."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if "oae" in os.readlink(path) or "noc_debug" in os.readlink(path):
                found.add(path.split("/")[2])
        except OSError:
            pass
    counter = Path("/sys/module/modoae/refcnt")
    if not counter.exists():
        return "not loaded"
    return f"{counter.read_text('ascii').strip()} times; processes {' '.join(sorted(found))}"


class Modules(Actor):
    """The modules go under all that, and come again."""

    pause = 3

    def do_link(self):
        """Whoever has a file open lets go; but frames, knobs and namespaces go on."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.board.quiet = 1
        try:
            if not self.unloaded("modoae", 10):
                raise TimeoutError("the module stays busy: " + in_use())
            time.sleep(self.dice.random() * 0.1)
            enter(self.dice.choice(("", "sw")))
            self.load()
        finally:
            self.board.quiet = 0
        for n in HOSTS:
            self.begin_in(f"h{n}", bind, n)

    @staticmethod
    def begin_in(name, begin, *args):
        """In a namespace, unless it is just being made, or destroyed."""
        try:
            enter(name)
            begin(*args)
        except OSError:
            pass

    @staticmethod
    def unloaded(name, seconds):
        """It is, within this time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                unload(name)
                return True
            except OSError as e:
                if e.errno == errno.ENOENT:
                    return True
            time.sleep(0.005)
        return False

    def load(self):
        """With good parameters, perhaps after bad ones."""
        if self.dice.randrange(2):
            try:
                load(**self.dice.choice(({"dev": "nosuch"}, {"drop_pct": "101"}, {"peers": "x"},
                                         {"dev": "br0,nosuch"}, {"ethertype": "1"})))
                unload()
            except OSError:
                pass
        load(**self.dice.choice(({}, {"linger_ms": "0"}, {"verbose": "1"}, {"wkstep": "0"})))
        dev.node()

    def do_gateway(self):
        """Nothing keeps that one."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.unloaded("modoaeip", 10)
        load(module=GATEWAY)
        for n in GATEWAYS:
            self.begin_in(f"g{n}", serve)


def cast(seed):
    """All actors, and their board."""
    kinds = (Namespaces, Namespaces, Ports, Devices, Devices, Knobs, Readers, Readers, Tags, Tags,
             Noc, Callers, Flood, Gateways, Modules)
    wanted = os.environ.get("ACTORS")
    if wanted:
        kinds = [kind for kind in kinds if kind.__name__ in wanted.split(",")]
    names = [f"{kind.__name__.lower()}{n}" for n, kind in enumerate(kinds)]
    Callers.program = compile_c("devfuzz", *(f"fuzz/{name}.c" for name in FUZZ),
                                flags=("-pthread",))
    board = Board(names)
    return board, [kind(name, board, seed) for kind, name in zip(kinds, names)]
