# SPDX-License-Identifier: GPL-2.0
"""/dev/oae for the regression tests: every ioctl of include/uapi/oae.h as a method, nothing hidden.

Errors are OSErrors with the error number of the kernel. What may block runs in a thread with
Call, which a signal or another thread can interrupt.
"""

import array
import ctypes
import errno
import fcntl
import os
import select
import signal
import stat
import struct
import termios
import threading
from collections import namedtuple
from pathlib import Path

from oaetest import LIBC, wait_for

DEV = "/dev/oae"
MINOR = Path("/sys/class/misc/oae/dev")

# enum oae_result, enum oae_uapi_kind
COMMITTED, REVERSED, UNKNOWN = range(3)
MESSAGE, SWAP, VERB = range(3)

ATTACH_LISTEN, ATTACH_ANY_VC, ATTACH_OPEN, ATTACH_ID = 1, 2, 4, 8
OPT_EXPRESS, OPT_TAKE = 1, 2
LINGER_BACKGROUND = 0xffffffff
NONBLOCK = 1
PERM_READ, PERM_WRITE, PERM_ATOMIC = 1, 2, 4

ST_DOWN, ST_DOUBT, ST_DEAD, ST_HALF = 1, 2, 4, 8
(EVENT_UP, EVENT_DOWN, EVENT_DOUBT, EVENT_SETTLED, EVENT_PEER_NEW, EVENT_CLOSED, EVENT_DEAD,
 EVENT_LOST) = (1 << n for n in range(8))
STATES = ("CLOSED", "SYNC_SENT", "SYNC_RECD", "OPEN", "CLOSE_SENT", "CLOSE_RECD")

READ, WRITE, EXCHANGE, FETCH_ADD, CAS = range(1, 6)
VERB_WORDS, VERB_OPS = 8, 64


def record(name, layout, fields):
    """A structure: a named tuple that knows its bytes. What is not given is 0, or no bytes."""
    class Record(namedtuple(name, fields)):
        """One of them."""
        format = struct.Struct("=" + layout)
        size = format.size

        @classmethod
        def read(cls, data):
            """From its bytes."""
            return cls(*cls.format.unpack_from(data))

        def bytes(self):
            """Its bytes."""
            return self.format.pack(*self)
    blank = Record.format.unpack(bytes(Record.size))
    Record.__new__.__defaults__ = blank
    Record.__name__ = name
    return Record


Attach = record("Attach", "16s6sBBII", "port peer vc zero flags id_high")
PeerRec = record("PeerRec", "16s6sBB", "port peer vc zero")
Options = record("Options", "6I", "flags deadline_ms linger_ms queue queue_bytes spin_us")
SwapArg = record("SwapArg", "QQIIIIQ", "give take give_len take_len flags zero id")
VerbOp = record("VerbOp", "BBHI192s", "code words zero offset rest")
VerbArg = record("VerbArg", "Q6IQ", "ops nops region flags taken failed zero id")
Expose = record("Expose", "QIIII", "size region perm flags zero")
Outcome = record("Outcome", "QBBHiII", "id result kind zero err off len")
CollectArg = record("CollectArg", "QQIIII", "recs buf max got buf_len buf_used")
Status = record("Status", "16s6sBB8IQ4I6Q", """port peer vc state flags events tx rx mtu max_len
                max_half max_verb srtt_ns queued unread pending uncollected committed reversed
                unknown delivered failures next_id""")
Waits = record("Waits", "2I2Q4I6sBB224s", """flags why since_ns until_ns unread unread_bytes rcvbuf
               idle_ms holder holder_vc holder_set text""")


def ioc(direction, number, size):
    """The number of an ioctl, as _IOC() makes it: 1 we write to it, 2 we read."""
    return direction << 30 | size << 16 | 0xb5 << 8 | number


ATTACH = ioc(1, 1, Attach.size)
SET_OPTIONS = ioc(1, 2, Options.size)
GET_OPTIONS = ioc(2, 3, Options.size)
STATUS = ioc(2, 4, Status.size)
COLLECT = ioc(3, 5, CollectArg.size)
CANCEL = ioc(1, 6, 8)
SWAP_HALF = ioc(3, 7, SwapArg.size)
DO_VERB = ioc(3, 8, VerbArg.size)
EXPOSE = ioc(1, 9, Expose.size)
LOCAL = ioc(3, 10, VerbArg.size)
DONE = ioc(0, 11, 0)
WAITS = ioc(3, 12, Waits.size)
WAITS_LAST = 1


def mac_bytes(mac):
    """02:0a:... or bytes, as bytes."""
    return bytes.fromhex(mac.replace(":", "")) if isinstance(mac, str) else mac


def node():
    """/dev/oae, made where no udev does."""
    wanted = tuple(map(int, MINOR.read_text("ascii").split(":")))
    try:
        have = os.stat(DEV)
        if stat.S_ISCHR(have.st_mode) and (os.major(have.st_rdev), os.minor(have.st_rdev)) == wanted:
            return DEV
        os.unlink(DEV)
    except FileNotFoundError:
        pass
    os.mknod(DEV, stat.S_IFCHR | 0o600, os.makedev(*wanted))
    return DEV


def call(fd, request, arg):
    """ioctl() with an address or a number, exactly as given. OSError says why not.

    Without the lock of the interpreter, and not begun again after a signal.
    """
    n = LIBC.ioctl(fd, ctypes.c_ulong(request), ctypes.c_void_p(arg))
    if n < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return n


class Op(namedtuple("Op", "code offset words arg cmp", defaults=(1, (), ()))):
    """An operation of a verb. See read_op() and its neighbours."""

    def bytes(self):
        """As struct oae_verb_op."""
        return (struct.pack("=BBHI", self.code, self.words, 0, self.offset) +
                struct.pack("=8Q", *self.arg, *[0] * (8 - len(self.arg))) +
                struct.pack("=8Q", *self.cmp, *[0] * (8 - len(self.cmp))) + bytes(64))


U64 = (1 << 64) - 1


def read_op(offset, words=1):
    """READ"""
    return Op(READ, offset, words)


def write_op(offset, *values):
    """WRITE"""
    return Op(WRITE, offset, len(values), [v & U64 for v in values])


def exchange_op(offset, *values):
    """EXCHANGE"""
    return Op(EXCHANGE, offset, len(values), [v & U64 for v in values])


def add_op(offset, *values):
    """FETCH_ADD"""
    return Op(FETCH_ADD, offset, len(values), [v & U64 for v in values])


def cas_op(offset, expected, values):
    """CAS; both are lists of the same length, or numbers."""
    if isinstance(expected, int):
        expected, values = [expected], [values]
    return Op(CAS, offset, len(values), [v & U64 for v in values], [v & U64 for v in expected])


VerbAnswer = namedtuple("VerbAnswer", "taken failed old id")
# x86_64's system calls, as /proc shows them.
SYS_READ, SYS_WRITE, SYS_CLOSE, SYS_POLL, SYS_IOCTL, SYS_FSYNC = 0, 1, 3, 7, 16, 74

Collected = namedtuple("Collected", "id result kind err data")


def verb_result(data):
    """A struct oae_verb_result, as collected: (taken, failed, old words in a row)."""
    taken, failed, nwords, zero = struct.unpack_from("=4I", data)
    assert zero == 0
    return taken, failed, list(struct.unpack_from(f"={nwords}Q", data, 16))


class Call:
    """function(*args) in a thread of its own: what it returns, or the error number.

    The thread is told SIGUSR1 by signal(); OaeTest has a handler for it. restart() tells it SIGUSR2,
    whose handler has SA_RESTART.
    """

    def __init__(self, function, *args, **kwargs):
        self._what = (function, args, kwargs)
        self._result = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        function, args, kwargs = self._what
        try:
            self._result = (function(*args, **kwargs), 0, None)
        except OSError as e:
            self._result = (None, e.errno, None)
        except BaseException as e:      # pylint: disable=broad-except
            self._result = (None, 0, e)

    def signal(self):
        """Interrupt it once."""
        signal.pthread_kill(self._thread.ident, signal.SIGUSR1)

    def restart(self, call):
        """Have a signal begin the system call again, of the numbers above, in which it sleeps."""
        handled = []
        signal.signal(signal.SIGUSR2, lambda *unused: handled.append(True))
        signal.siginterrupt(signal.SIGUSR2, False)
        wait_for(lambda: self.sleeps(call), "the call to sleep")
        signal.pthread_kill(self._thread.ident, signal.SIGUSR2)
        wait_for(lambda: handled and (self.done or self.sleeps(call)), "the signal to be handled")
        return self

    @property
    def done(self):
        """Has it returned?"""
        return self._result is not None

    @property
    def task(self):
        """The kernel's number of its thread."""
        return self._thread.native_id

    def sleeps(self, call):
        """Does it sleep in that system call, of the numbers above?"""
        try:
            task = Path(f"/proc/self/task/{self.task}/syscall").read_text("ascii")
        except OSError:         # it has ended
            return False
        return task.split()[0] == str(call)

    def queues(self):
        """Does it sleep in a way that no signal interrupts, as for a lock?"""
        stat = Path(f"/proc/self/task/{self.task}/stat").read_text("ascii")
        return stat.rpartition(")")[2].split()[0] == "D"

    def _wait(self, deadline):
        wait_for(lambda: self.done, "a call to return", deadline)
        self._thread.join()
        if self._result[2]:
            raise self._result[2]

    def result(self, deadline=10.0):
        """What it returned; the OSError it raised."""
        self._wait(deadline)
        if self._result[1]:
            raise OSError(self._result[1], os.strerror(self._result[1]))
        return self._result[0]

    def error(self, deadline=10.0):
        """The name of the error number with which it failed, "0" if it did not."""
        self._wait(deadline)
        return errno.errorcode.get(self._result[1], "0")


def unhurried(function, *args):
    """For a Call, where the kernel is preemptible: whoever the function wakes goes first."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))      # this thread
    return function(*args)


class OaeFile:      # pylint: disable=too-many-public-methods
    """An open file of /dev/oae."""

    def __init__(self, host=None, flags=os.O_RDWR, nonblock=False):
        """Opened in the namespace of a host, if there is one."""
        flags |= os.O_CLOEXEC | (os.O_NONBLOCK if nonblock else 0)
        if host:
            with host:
                self.fd = os.open(node(), flags)
        else:
            self.fd = os.open(node(), flags)

    @classmethod
    def to(cls, host, peer, vc=0, port="", flags=0, nonblock=False, express=False, **options):
        """Open, set options, attach; flags are OAE_ATTACH_*."""
        file = cls(host, nonblock=nonblock)
        try:
            if express:
                options["flags"] = OPT_EXPRESS
            if options:
                file.set_options(**options)
            file.attach(peer, vc=vc, port=port, flags=flags)
        except BaseException:
            file.close()
            raise
        return file

    def fileno(self):
        """For select and others."""
        return self.fd

    def close(self):
        """Close it. May wait: linger_ms."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def ioctl(self, request, data):
        """An ioctl with a structure: its bytes afterwards."""
        buf = ctypes.create_string_buffer(bytes(data), len(data))
        call(self.fd, request, ctypes.addressof(buf))
        return buf.raw

    def nonblock(self, on=True):
        """Set O_NONBLOCK, or take it off."""
        flags = fcntl.fcntl(self.fd, fcntl.F_GETFL)
        flags = flags | os.O_NONBLOCK if on else flags & ~os.O_NONBLOCK
        fcntl.fcntl(self.fd, fcntl.F_SETFL, flags)

    # What link, and how.

    def attach(self, peer=bytes(6), vc=0, port="", flags=0):
        """OAE_ATTACH"""
        self.ioctl(ATTACH, Attach(port.encode(), mac_bytes(peer), vc, 0, flags).bytes())

    def attach_id(self, peer, vc=0, port="", flags=0):
        """OAE_ATTACH with ID"""
        self.ioctl(ATTACH, Attach(port.encode(), (peer & (1 << 48) - 1).to_bytes(6, "big"), vc, 0,
                                  flags | ATTACH_ID, peer >> 48).bytes())

    def listen(self, peer=bytes(6), vc=0, port="", any_vc=False):
        """OAE_ATTACH with LISTEN"""
        self.attach(peer, vc, port, ATTACH_LISTEN | (ATTACH_ANY_VC if any_vc else 0))

    def options(self):
        """OAE_GET_OPTIONS"""
        return Options.read(self.ioctl(GET_OPTIONS, bytes(Options.size)))

    def set_options(self, **changes):
        """OAE_SET_OPTIONS, the others as they are."""
        self.ioctl(SET_OPTIONS, self.options()._replace(**changes).bytes())

    def status(self):
        """OAE_STATUS; its events are gone then."""
        s = Status.read(self.ioctl(STATUS, bytes(Status.size)))
        return s._replace(port=s.port.rstrip(b"\0").decode(), peer=s.peer.hex(":"))

    def waits(self, flags=0):
        """OAE_WAITS; its text is a string."""
        w = Waits.read(self.ioctl(WAITS, Waits(flags=flags).bytes()))
        return w._replace(text=w.text.rstrip(b"\0").decode(), holder=w.holder.hex(":"))

    @property
    def state(self):
        """The link's, in a word. Takes the events."""
        return STATES[self.status().state]

    # Data.

    def write(self, data):
        """One write(), which no signal begins again."""
        n = LIBC.write(self.fd, bytes(data), ctypes.c_size_t(len(data)))
        if n < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return n

    def read(self, size=262144):
        """One read(), likewise."""
        buf = ctypes.create_string_buffer(size)
        n = LIBC.read(self.fd, buf, ctypes.c_size_t(size))
        if n < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return buf.raw[:n]

    def read_each(self):
        """All that can be read at once, a transaction an item."""
        got = []
        while self.poll() & select.POLLIN and self.unread():
            got.append(self.read())
        return got

    def peers(self, most=16):
        """What a listening file reads: PeerRecs, ports and addresses as text."""
        data = self.read(PeerRec.size * most)
        recs = [PeerRec.read(data[n:]) for n in range(0, len(data), PeerRec.size)]
        return [r._replace(port=r.port.rstrip(b"\0").decode(), peer=r.peer.hex(":")) for r in recs]

    def done(self):
        """OAE_DONE"""
        call(self.fd, DONE, 0)

    def unread(self):
        """FIONREAD"""
        n = array.array("i", [0])
        fcntl.ioctl(self.fd, termios.FIONREAD, n)
        return n[0]

    def fsync(self):
        """fsync()"""
        if LIBC.fsync(self.fd):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def poll(self, timeout=0.0, events=None):
        """What poll() says, now or within a timeout in seconds."""
        p = select.poll()
        if events is None:
            events = select.POLLIN | select.POLLOUT | select.POLLPRI | select.POLLRDBAND
        p.register(self.fd, events)
        ready = p.poll(timeout * 1000)
        return ready[0][1] if ready else 0

    # Outcomes.

    def collect(self, most=64, room=65536):
        """OAE_COLLECT: what there is, as Collected."""
        recs = ctypes.create_string_buffer(Outcome.size * most)
        buf = ctypes.create_string_buffer(max(room, 8))
        arg = CollectArg(ctypes.addressof(recs), ctypes.addressof(buf), most, 0, room, 0)
        arg = CollectArg.read(self.ioctl(COLLECT, arg.bytes()))
        all_ = []
        for n in range(arg.got):
            r = Outcome.read(recs.raw[n * Outcome.size:])
            all_.append(Collected(r.id, r.result, r.kind, r.err, buf.raw[r.off:r.off + r.len]))
        return all_

    def collect_all(self, count, deadline=10.0):
        """Collect until there are so many."""
        all_ = []

        def enough():
            all_.extend(self.collect())
            return len(all_) >= count
        wait_for(enough, f"{count} outcomes", deadline)
        return all_

    def cancel(self, id_=0):
        """OAE_CANCEL: one, or all."""
        self.ioctl(CANCEL, struct.pack("=Q", id_))

    # Swaps and verbs.

    def swap(self, give, room=65536, flags=0):
        """OAE_SWAP_HALF: the other half; with NONBLOCK the id."""
        src = ctypes.create_string_buffer(bytes(give), max(len(give), 1))
        dst = ctypes.create_string_buffer(max(room, 1))
        arg = SwapArg(ctypes.addressof(src), ctypes.addressof(dst) if room else 0, len(give), room,
                      flags)
        arg = SwapArg.read(self.ioctl(SWAP_HALF, arg.bytes()))
        if flags & NONBLOCK or fcntl.fcntl(self.fd, fcntl.F_GETFL) & os.O_NONBLOCK:
            return arg.id
        return dst.raw[:arg.take_len]

    def verb(self, region, *ops, flags=0, request=DO_VERB):
        """OAE_DO_VERB: a VerbAnswer; with NONBLOCK the id."""
        buf = ctypes.create_string_buffer(b"".join(op.bytes() for op in ops))
        arg = VerbArg(ctypes.addressof(buf), len(ops), region, flags)
        arg = VerbArg.read(self.ioctl(request, arg.bytes()))
        if request == DO_VERB and (flags & NONBLOCK or
                                   fcntl.fcntl(self.fd, fcntl.F_GETFL) & os.O_NONBLOCK):
            return arg.id
        old = [list(struct.unpack_from(f"={op.words}Q", buf.raw, n * 200 + 136))
               for n, op in enumerate(ops)]
        return VerbAnswer(arg.taken, arg.failed, old, arg.id)

    def local(self, *ops):
        """OAE_LOCAL"""
        return self.verb(0, *ops, request=LOCAL)

    def settled(self, *ops):
        """OAE_LOCAL, as soon as no word is reserved: a peer's verb is committed before this end knows."""
        def tried():
            try:
                return self.local(*ops)
            except BlockingIOError:
                return None
        return wait_for(tried, "words to be free")

    def expose(self, size, region, perm, flags=0):
        """OAE_EXPOSE"""
        self.ioctl(EXPOSE, Expose(size, region, perm, flags).bytes())

    def mmap(self, size):
        """The region, as a writable memory map."""
        import mmap     # pylint: disable=import-outside-toplevel
        return mmap.mmap(self.fd, size, mmap.MAP_SHARED)
