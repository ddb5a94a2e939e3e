# SPDX-License-Identifier: GPL-2.0
"""What the regression tests are written with: hosts, cables, the module, a deadline.

A host is a network namespace, a cable a pair of veth devices; one loaded module serves all hosts.
Runs as root inside the test machine (tools/vm run -- tests/guest/run).
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import threading
import time
import unittest
from contextlib import contextmanager
from pathlib import Path

from patience import SLOW, until

REPO = Path(__file__).resolve().parents[2]
MODULE = Path(os.environ.get("OAE_MODULE") or REPO / "modoae" / "modoae.ko")
PARAMETERS = Path("/sys/module/modoae/parameters")
NOC_DEBUG = "/sys/kernel/debug/modoae/noc_debug"

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
MS_BIND, MS_REC, MS_SHARED, MNT_DETACH = 0x1000, 0x4000, 0x100000, 2
NETNS = Path("/run/netns")
SYS_INIT_MODULE, SYS_DELETE_MODULE = 175, 176       # x86-64
BIGGEST = 262144


def fail_with_errno(what):
    """Raise the OSError of the last call into LIBC."""
    code = ctypes.get_errno()
    raise OSError(code, f"{what}: {os.strerror(code)}")


def mount(what, where, flags):
    """mount(2), of what is there already."""
    if LIBC.mount(what and os.fsencode(what), os.fsencode(where), None, ctypes.c_ulong(flags), None):
        fail_with_errno(f"mount {where}")


def wait_for(condition, what, deadline=15.0, interval=0.001):
    """What condition() returns once it is true; what() else says. The only place that ever sleeps."""
    end = until(deadline)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline} s: {what() if callable(what) else what}")
        time.sleep(interval)


def wait_end(running, done, what, deadline=15.0, interval=0.01):
    """Wait until running() is over. Between two steps of done() there may be as much as the deadline."""
    while running():
        before = done()
        wait_for(lambda before=before: not running() or done() != before, what, deadline, interval)


def run(*command, **kwargs):
    """Run a program; what it printed. Its failure is an exception that says what it said."""
    done = subprocess.run(command, text=True, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kwargs)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def ip(*lines, program="ip"):
    """Several commands of ip in one go."""
    done = subprocess.run([program, "-batch", "-"], input="\n".join(lines) + "\n", text=True,
                          capture_output=True, check=False)
    if done.returncode:
        raise AssertionError(f"{program}: {lines}\n{done.stderr}")


def attribute(kind, data):
    """One of rtnetlink's."""
    return struct.pack("HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def ask_link(*attributes, index=0, flags=0):
    """RTM_NEWLINK in this thread's namespace, as ip has it; a process costs a tenth of a second."""
    body = struct.pack("BxHiII", 0, 0, index, 0, 0) + b"".join(attributes)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.send(struct.pack("IHHII", 16 + len(body), 16, flags | 5, 1, 0) + body)
        code = -struct.unpack_from("i", sock.recv(65536), 16)[0]
    if code:
        raise OSError(code, os.strerror(code))


@contextmanager
def meanwhile(function, *each):
    """function(stop, ...) in a thread for each of the argument lists, one if there is none; the
    event `stop` is set at the end of the block."""
    stop = threading.Event()
    threads = [threading.Thread(target=function, args=(stop, *args)) for args in each or ((),)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


class Writer:
    """A write to noc_debug in a thread, which may be interrupted by a signal."""

    def __init__(self, fd, data):
        self._fd, self._data = fd, data
        self._result = None
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self):
        # Not os.write(), which begins again after a signal.
        n = LIBC.write(self._fd, self._data, ctypes.c_size_t(len(self._data)))
        self._result = n if n >= 0 else -ctypes.get_errno()
        os.close(self._fd)

    def signal(self):
        """Interrupt it once."""
        signal.pthread_kill(self._thread.ident, signal.SIGUSR1)

    @property
    def done(self):
        """Has it returned?"""
        return self._result is not None

    def result(self, deadline=10.0):
        """The bytes written, or minus the error number."""
        wait_for(lambda: self.done, "a write to return", deadline)
        self._thread.join()
        return self._result


CUT_TCP, CUT_UDP = 1, 3


def cut_up(frame, kind=0, size=0):
    """A frame with its struct virtio_net_hdr: to be cut into pieces of so many bytes."""
    raw = frame.pack().ljust(60, b"\0")
    return struct.pack("BBHHHH", bool(kind), kind, len(raw), size, 34,
                       16 if kind == CUT_TCP else 6) + raw


class Host:     # pylint: disable=too-many-public-methods
    """A network namespace, for the module a node of its own; for ip one of its named ones."""

    module = "modoae"       # whose files and parameters are meant
    _inside = threading.local()

    def __init__(self, name):
        self.name = name
        self._fd = self._new(NETNS / name)
        self._sock = self._netlink = None
        # A host that says nothing of its own accord.
        with self:
            Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1", "ascii")

    @staticmethod
    def _new(path):
        """`ip netns add`, without a process; the namespace's file."""
        NETNS.mkdir(parents=True, exist_ok=True)
        try:
            mount(None, NETNS, MS_SHARED | MS_REC)      # it goes for all when it goes for one
        except OSError:                                 # the first
            mount(NETNS, NETNS, MS_BIND | MS_REC)
            mount(None, NETNS, MS_SHARED | MS_REC)
        path.touch(mode=0, exist_ok=False)
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if LIBC.unshare(CLONE_NEWNET):
                fail_with_errno("unshare")
            mount("/proc/thread-self/ns/net", path, MS_BIND)
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        finally:
            LIBC.setns(before, CLONE_NEWNET)
            os.close(before)

    def close(self):
        """Forget it, if it is there: its devices go with it."""
        if self._fd is None:
            return
        for sock in (self._sock, self._netlink):
            if sock:
                sock.close()
        os.close(self._fd)
        self._fd = None
        path = NETNS / self.name
        if LIBC.umount2(os.fsencode(path), MNT_DETACH):
            fail_with_errno(f"umount {path}")
        path.unlink()

    def __enter__(self):
        """Be in the namespace: this thread, and the processes it starts."""
        stack = self._inside.__dict__.setdefault("stack", [])
        stack.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        if LIBC.setns(self._fd, CLONE_NEWNET):
            fail_with_errno("setns")
        return self

    def __exit__(self, *unused):
        fd = self._inside.stack.pop()
        LIBC.setns(fd, CLONE_NEWNET)
        os.close(fd)

    def __repr__(self):
        return f"Host({self.name})"

    def fileno(self):
        """The namespace's."""
        return self._fd

    # Programs.

    def sh(self, cmd, check=True):
        """Run a shell command line; what it printed, or its CompletedProcess with check=False."""
        with self:
            if check:
                return run("sh", "-c", cmd)
            return subprocess.run(["sh", "-c", cmd], text=True, check=False, capture_output=True)

    def tc(self, *lines):
        """Several commands of tc in one go."""
        with self:
            ip(*lines, program="tc")

    def has_link(self, name):
        """Is there a device of that name?"""
        return re.search(rf"^\d+: {re.escape(name)}[@:]", self.sh("ip -o link"), re.M) is not None

    # The module's files.

    def _path(self, name):
        return f"/proc/thread-self/net/{self.module}/{name}"

    def _proc(self, name):
        with self, open(self._path(name), encoding="ascii") as f:
            return f.read()

    def knob(self, name, value=None):
        """A parameter of the module: what it is, or set it (OSError says why not)."""
        with self:
            fd = os.open(f"/sys/module/{self.module}/parameters/{name}",
                         os.O_RDONLY if value is None else os.O_WRONLY)
            try:
                if value is None:
                    return os.read(fd, 65536).decode().removesuffix("\n")
                # A write of nothing would not get as far as the module.
                os.write(fd, str(value).encode() or b"\n")
            finally:
                os.close(fd)
        return None

    def tun(self, name, mode="tun"):
        """A device of a program's; by itself one that is not Ethernet."""
        if not os.path.exists("/dev/net/tun"):
            run("modprobe", "tun")
            os.makedirs("/dev/net", exist_ok=True)
            if not os.path.exists("/dev/net/tun"):
                os.mknod("/dev/net/tun", stat.S_IFCHR | 0o600, os.makedev(10, 200))
        self.sh(f"ip tuntap add {name} mode {mode}")

    def tap(self, name):
        """An Ethernet device as a virtual machine has it; its file, for frames from cut_up()."""
        self.tun(name, "tap vnet_hdr")
        with self:
            fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        # TUNSETIFF; IFF_TAP, IFF_NO_PI, IFF_VNET_HDR
        fcntl.ioctl(fd, 0x400454ca, struct.pack("16sH22x", name.encode(), 2 | 0x1000 | 0x4000))
        return fd

    def knobs(self, **values):
        """Set several."""
        for name, value in values.items():
            self.knob(name, value)

    def add_port(self, dev):
        """Bind one more device."""
        self.knob("dev", f"+{dev}")

    def tags(self):
        """/proc/net/modoae/tags: a dict a line, numbers as numbers."""
        head, *lines = self._proc("tags").splitlines()
        names = head.split()
        rows = [dict(zip(names, line.split(None, len(names) - 1))) for line in lines]
        for row in rows:
            for name in ("vc", "rx", "tx", "unread", "queue", "rtt_us", "minrtt_us", "age_s",
                         "lanes", "window", "cwnd", "ssthresh", "repaired", "failures", "since_ms",
                         "until_ms", "unread_bytes", "idle_ms"):
                row[name] = int(row[name])
            row["kid"] = int(row["kid"], 16)
        return rows

    def tag(self, vc=0, peer=None):
        """One of them, or None."""
        for row in self.tags():
            if row["vc"] == vc and peer in (None, row["peer"]):
                return row
        return None

    def timeless(self, vc=0):
        """One of them, without what passes by itself."""
        passes = "age_s", "since_ms", "until_ms", "idle_ms", "says"
        return {name: value for name, value in self.tag(vc).items() if name not in passes}

    def neighbours(self):
        """/proc/net/modoae/neighbours: a dict a line, numbers as numbers."""
        head, *lines = self._proc("neighbours").splitlines()
        rows = [dict(zip(head.split(), line.split())) for line in lines]
        for row in rows:
            row.update(id=int(row["id"], 16), inc=int(row["inc"], 16), mtu=int(row["mtu"]),
                       heard_ms=int(row["heard_ms"]))
        return rows

    def paths(self):
        """/proc/net/modoae/paths: a dict a line, numbers as numbers."""
        head, *lines = self._proc("paths").splitlines()
        rows = [dict(zip(head.split(), line.split())) for line in lines]
        for row in rows:
            for name in ("vc", "path", "mtu", "rtt_us"):
                row[name] = int(row[name])
        return rows

    def used_path(self, vc=0):
        """The port that a link's own frames go by, None if it has no other than its own."""
        return next((row["by"] for row in self.paths()
                     if row["vc"] == vc and row["used"] == "yes"), None)

    def close_tag(self, peer, vc=0):
        """`close` written to tags."""
        with self, open(self._path("tags"), "wb", buffering=0) as f:
            f.write(f"close {peer} {vc}\n".encode())

    def stats(self):
        """/proc/net/modoae/stats: name -> number."""
        words = (line.split(None, 2) for line in self._proc("stats").splitlines())
        return {word[0]: int(word[1]) for word in words}

    def stat(self, name):
        """One of them."""
        return self.stats()[name]

    @contextlib.contextmanager
    def counter(self, name):
        """What reads one of them at once, in any thread: its file stays open."""
        with contextlib.ExitStack() as stack:
            with self:
                file = stack.enter_context(open(self._path("stats"), "rb", buffering=0))
            line = re.compile(rb"^" + name.encode() + rb" +(\d+)", re.M)
            yield lambda: int(line.search(os.pread(file.fileno(), 65536, 0))[1])

    def ev_log(self):
        """/proc/net/modoae/ev_log: a dict a line."""
        line = re.compile(r" *([\d.]+) 0x(\w+) (\w+) ?(\w*) +(\w+) -> (\w+) +seq (\d+)$")
        rows = []
        for text in self._proc("ev_log").splitlines():
            time_, kid, kind, what, before, after, seq = line.match(text).groups()
            rows.append({"time": float(time_), "kid": int(kid, 16), "kind": kind, "what": what,
                         "before": before, "after": after, "seq": int(seq)})
        return rows

    # Data.

    def aim(self, target):
        """Whom noc_debug writes to, without the link that this opens."""
        self.knob("target", target)
        try:
            self.close_tag(target, self.knob("vci"))
        except OSError as e:
            if e.errno != errno.ENOENT:
                raise

    def open(self, flags=os.O_RDWR, target=None, vc=None):
        """A file descriptor of noc_debug; target and vc are set first if given."""
        if vc is not None:              # the link to the target is opened on it
            self.knob("vci", vc)
        if target is not None:
            self.knob("target", target)
        with self:
            return os.open(NOC_DEBUG, flags)

    def write(self, data, nonblock=False, **where):
        """One transaction, to its outcome; nonblock: only queued."""
        fd = self.open(os.O_WRONLY | (os.O_NONBLOCK if nonblock else 0), **where)
        try:
            return os.write(fd, data)
        finally:
            os.close(fd)

    def start_write(self, data, **where):
        """The same in a thread: see Writer."""
        return Writer(self.open(os.O_WRONLY, **where), data)

    def read(self, size=BIGGEST):
        """One read: what has arrived of one transaction, b"" for nothing."""
        fd = self.open(os.O_RDONLY)
        try:
            return os.read(fd, size)
        finally:
            os.close(fd)

    def read_each(self, least=0):
        """All that has arrived, a transaction an item; so many are waited for. (A writer knows of its
        commit before the peer has delivered.)"""
        got = [self.read_one() for _ in range(least)]
        fd = self.open(os.O_RDONLY)
        try:
            return got + list(iter(lambda: os.read(fd, BIGGEST), b""))
        finally:
            os.close(fd)

    def read_all(self):
        """All that has arrived, in one."""
        return b"".join(self.read_each())

    def read_one(self, timeout=15.0):
        """The next transaction, waiting for it."""
        return wait_for(self.read, f"something to read at {self.name}", timeout)

    # Devices.

    def _ioctl(self, request, dev, data=b""):
        if not self._sock:
            with self:
                self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        ifreq = struct.pack("16s24s", dev.encode(), data)
        return fcntl.ioctl(self._sock, request, ifreq)[16:]

    def up(self, dev, up=True):
        """Set a device up, or down."""
        flags = struct.unpack("H", self._ioctl(0x8913, dev)[:2])[0] & ~1    # SIOCGIFFLAGS
        self._ioctl(0x8914, dev, struct.pack("H", flags | up))              # SIOCSIFFLAGS

    def ready(self, dev):
        """Is a device up, its carrier seen, its queue in use? Before, it drops what is sent.

        Asked by netlink, under RTNL: so that is over which does all this. The flag IFF_RUNNING is
        set before anybody has looked at the carrier, too.
        """
        if not self._netlink:
            with self:
                self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        name = dev.encode() + b"\0"
        name = struct.pack("HH", 4 + len(name), 3) + name + bytes(-len(name) % 4)   # IFLA_IFNAME
        self._netlink.send(struct.pack("IHHII16x", 32 + len(name), 18, 1, 0, 0) + name)
        answer, at = self._netlink.recv(65536), 32
        while at + 4 <= len(answer):
            size, kind = struct.unpack_from("HH", answer, at)
            if kind == 16:                                                  # IFLA_OPERSTATE
                return answer[at + 4] == 6                                  # up
            at += (size + 3 & ~3) or len(answer)
        raise OSError(errno.ENODEV, dev)

    def mtu(self, dev, mtu):
        """Set a device's MTU."""
        self._ioctl(0x8922, dev, struct.pack("i", mtu))                     # SIOCSIFMTU

    def set_master(self, dev, master):
        """Put a device into a bridge."""
        with self:
            dev, master = map(socket.if_nametoindex, (dev, master))
            ask_link(attribute(10, struct.pack("I", master)), index=dev)        # IFLA_MASTER

    def mac(self, dev):
        """A device's address."""
        return self._ioctl(0x8927, dev)[2:8].hex(":")                       # SIOCGIFHWADDR

    def set_mac(self, dev, mac):
        """Set it."""
        self._ioctl(0x8924, dev, struct.pack("H", 1) + bytes.fromhex(mac.replace(":", "")))

    def move(self, dev, host):
        """Move a device to another host."""
        with self:
            ask_link(attribute(28, struct.pack("I", host.fileno())),            # IFLA_NET_NS_FD
                     index=socket.if_nametoindex(dev))


class Cable:
    """A pair of veth devices, up, with addresses that count up from 02:0a:e0:00:00:01."""

    _count = 0

    def __init__(self, host_a, dev_a, host_b, dev_b, mtu=1500):
        self.ends = ((host_a, dev_a), (host_b, dev_b))
        self.faulty = set()         # ends with netem
        self.mac_a, self.mac_b = self._next_mac(), self._next_mac()
        one = self._device(host_a, dev_a, self.mac_a, mtu)
        other = bytes(16) + self._device(host_b, dev_b, self.mac_b, mtu)
        # IFLA_LINKINFO: IFLA_INFO_KIND, IFLA_INFO_DATA: VETH_INFO_PEER; NLM_F_CREATE, NLM_F_EXCL
        ask_link(one, attribute(18, attribute(1, b"veth") + attribute(2, attribute(1, other))),
                 flags=0x600)
        self.mend()

    @staticmethod
    def _device(host, dev, mac, mtu):
        """IFLA_IFNAME, IFLA_ADDRESS, IFLA_MTU, IFLA_NET_NS_FD"""
        return (attribute(3, dev.encode() + b"\0") + attribute(1, bytes.fromhex(mac.replace(":", ""))) +
                attribute(4, struct.pack("I", mtu)) + attribute(28, struct.pack("I", host.fileno())))

    @classmethod
    def _next_mac(cls):
        Cable._count += 1
        return f"02:0a:e0:00:{Cable._count >> 8:02x}:{Cable._count & 255:02x}"

    def cut(self):
        """Pull the cable: both devices go down."""
        for host, dev in self.ends:
            host.up(dev, False)

    def mend(self):
        """Plug it in, and see that it carries: a cable that is not ready lost a first frame."""
        for host, dev in self.ends:
            host.up(dev)
        for host, dev in self.ends:
            wait_for(lambda host=host, dev=dev: host.ready(dev), f"{dev} to be ready")

    def bind(self, n):
        """The device at one end becomes a port."""
        host, dev = self.ends[n]
        host.add_port(dev)

    def netem(self, args, ends=(0, 1)):
        """Faults, as tc netem has them, on what the ends send: "loss 10%"; None: no more."""
        for n in ends:
            host, dev = self.ends[n]
            if args is None:
                host.tc(f"qdisc del dev {dev} root")
                self.faulty.discard((host, dev))
            else:
                host.tc(f"qdisc replace dev {dev} root netem {args}")
                self.faulty.add((host, dev))

    def mtu(self, mtu):
        """Set the MTU of both ends."""
        for host, dev in self.ends:
            host.mtu(dev, mtu)


# The module.

_images = {}


def forget_links(*hosts):
    """No link of these hosts is left, nor anything unread; they open none until `shutdown` is 0 again."""
    for host in hosts:
        host.knob("shutdown", 1)
    for host in hosts:
        wait_for(lambda host=host: host.read_all() == b"" and not host.tags(),
                 f"the links of {host.name} to go", 20)


def _module_image(module):
    if module not in _images:
        # Without what a debugger wants it loads in a tenth of the time.
        small = f"/tmp/{module.stem}-{os.getpid()}.ko"
        run("objcopy", "--strip-debug", str(module), small)
        _images[module] = Path(small).read_bytes()
        os.unlink(small)
    return _images[module]


def load(host=None, module=MODULE, **params):
    """insmod modoae.ko in the namespace of a host; OSError says why not.

    Its hosts say nothing of their own accord, discover being 0 unless it is given, None for the
    module's default.
    """
    if host:
        with host:
            load(module=module, **params)
        return
    image = _module_image(module)
    if module == MODULE:
        params = {"discover": 0} | params
    args = " ".join(f'{name}="{value}"' for name, value in params.items()
                    if value is not None).encode()
    if LIBC.syscall(SYS_INIT_MODULE, image, ctypes.c_ulong(len(image)), args):
        fail_with_errno("insmod")


def unload(name="modoae"):
    """rmmod modoae."""
    if LIBC.syscall(SYS_DELETE_MODULE, name.encode(), os.O_NONBLOCK):
        fail_with_errno("rmmod")


def loaded():
    """Is it there?"""
    return PARAMETERS.exists()


class KernelLog:
    """What the kernel says from now on."""

    COMPLAINT = re.compile(r"\bBUG\b|\bWARNING\b|\bOops\b|Call Trace|general protection|refcount_t"
                           r"|\bINFO: |possible recursive|inconsistent lock|still has|leak"
                           r"|unregister_netdevice: waiting|scheduling while atomic|slab-")

    def __init__(self):
        self._fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self._fd, 0, os.SEEK_END)
        self.complaints = []

    def lines(self):
        """The lines since the last time."""
        lines = []
        while True:
            try:
                record = os.read(self._fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return lines
            except OSError as e:
                if e.errno != errno.EPIPE:      # some were overwritten
                    raise
                continue
            line = record.split(";", 1)[1].split("\n", 1)[0]
            line = re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), line)
            lines.append(line)
            if self.COMPLAINT.search(line):
                self.complaints.append(line)

    def close(self):
        """Done."""
        os.close(self._fd)


class OaeTest(unittest.TestCase):
    """A test case with the module loaded and hosts of its own, the same for all its tests.

    build() makes the topology drawn above the class; hosts made with cls.host() go by themselves.
    After each test the kernel must not have complained.
    """

    maxDiff = None
    params = {}             # for insmod, which runs in the first namespace
    one_cpu = True          # frames then stay in order from end to end
    patience = 60           # seconds for one test, or for a step of gets_on(); then it has failed
    log = None
    shares = False          # its topology with other classes of its file: Shared

    @classmethod
    def build(cls):
        """Make hosts and cables."""

    @classmethod
    def host(cls, name):
        """A host that lives as long as the class."""
        host = Host(name)
        cls.addClassCleanup(host.close)
        return host

    @classmethod
    def setUpClass(cls):
        if not cls.shares:              # then what others share may have hosts of the same names
            unittest.doModuleCleanups()
        signal.signal(signal.SIGUSR1, lambda *unused: None)
        os.sched_setaffinity(0, {0} if cls.one_cpu else range(os.cpu_count()))
        cls.log = KernelLog()
        cls.addClassCleanup(cls._end_class)
        load(**cls.params)
        cls.addClassCleanup(lambda: loaded() and cls._unload())
        cls.build()

    @classmethod
    def _unload(cls, name="modoae"):
        """As soon as nobody uses it any more: a thread may be on its way out of a write."""
        def gone():
            try:
                unload(name)
            except OSError as e:
                if e.errno != errno.EAGAIN:
                    raise
                return False
            return True
        wait_for(gone, "the module to be free")

    @classmethod
    def _end_class(cls):
        cls.log.lines()
        complaints, cls.log.complaints = cls.log.complaints, []
        cls.log.close()
        if complaints:
            raise AssertionError("the kernel complained: " + "; ".join(complaints))

    def shortDescription(self):
        """One line a test."""

    def _too_long(self, *unused):
        raise AssertionError(f"not done within {self.patience} s")

    def gets_on(self, done):
        """So much is done by now: whenever it has changed, the test's patience begins anew."""
        if done != self._done:
            self._done = done
            signal.alarm(int(self.patience * max(SLOW, 1)))

    def setUp(self):
        self._done = None
        signal.signal(signal.SIGALRM, self._too_long)
        self.gets_on(0)
        self.addCleanup(signal.alarm, 0)
        self.log.lines()

    def tearDown(self):
        self.log.lines()
        complaints, self.log.complaints = self.log.complaints, []
        self.assertEqual(complaints, [], "the kernel complained")

    def assert_errno(self, code, function, *args, **kwargs):
        """function(...) fails with this error number."""
        with self.assertRaises(OSError) as caught:
            function(*args, **kwargs)
        self.assertEqual(errno.errorcode[caught.exception.errno], errno.errorcode[code])

    def set(self, host, **knobs):
        """Set knobs of a host, which are what they were when the test is over."""
        before = {name: host.knob(name) for name in reversed(knobs)}
        self.addCleanup(host.knobs, **before)
        host.knobs(**knobs)

    def preemptible(self):
        """The kernel can be preempted anywhere until the test is over; False: this one cannot."""
        preempt = Path("/sys/kernel/debug/sched/preempt")
        # It patches itself: see QUIET_TRACERS in tools/vmlib.py.
        emulated = "TCG" in Path("/proc/cpuinfo").read_text("ascii")
        if not preempt.exists() or (emulated and os.cpu_count() > 1):
            return False
        mode = re.search(r"\((\w+)\)", preempt.read_text("ascii")).group(1)
        preempt.write_text("full", "ascii")
        self.addCleanup(preempt.write_text, mode, "ascii")
        return True

    def interrupt(self, writer):
        """A signal, and the write is reversed."""
        writer.signal()
        self.assertEqual(writer.result(), -errno.EINTR)

    @staticmethod
    def poll(fd, timeout=0):
        """What poll() says of a file right now, or within a timeout in seconds."""
        p = select.poll()
        p.register(fd, select.POLLIN | select.POLLOUT)
        ready = p.poll(timeout * 1000)
        return ready[0][1] if ready else 0
