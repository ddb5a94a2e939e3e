# SPDX-License-Identifier: GPL-2.0
"""Atomic links to other hosts, over /dev/oae: see oae(4).

A transaction is on both hosts or on neither, and its sender is told which:

    import oae

    with oae.Link("02:0a:e0:00:00:02", vc=1) as link:
        link.send(b"hello")                 # returns: committed
        print(link.recv())                  # what the peer has sent, whole
        theirs = link.swap(b"my half")      # both have both, or nobody has anything
        old = link.fetch_add(7, 0, 1)       # a word in region 7 of the peer

What does not end committed is an exception that says so: Reversed (it never was and
never will be), Unknown (an end of the link died at the one moment at which nobody can
tell), Pending (its outcome will be collected). Any other OSError: nothing was begun.

A signal reverses what can be; as everywhere in Python, it is then posted again unless
the signal's handler raises, with the time that is left of its deadline.

A Link is a file descriptor with methods: select, selectors and asyncio take it as it
is. It may be used by several threads. It is independent of the C library.

>>> outcome(errno.ENOLINK).name, outcome(errno.EOWNERDEAD).name, outcome(errno.EAGAIN).name
('REVERSED', 'UNKNOWN', 'NOTHING')
>>> strerror(errno.ETIME)
'the deadline passed'
>>> format_peer(parse_peer("02-0A-E0-00-00-01"))
'02:0a:e0:00:00:01'
"""

from __future__ import annotations

import array
import ctypes
import dataclasses
import enum
import errno
import fcntl
import math
import mmap
import os
import re
import select
import struct
import termios
import threading
import time
import warnings
from typing import Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

__version__ = "0.1"
__all__ = ["Link", "Listener", "Verb", "VerbResult", "Outcome", "Status", "Options", "Peer",
           "LinkError", "NotLoaded", "Reversed", "Unknown", "Pending", "Ending", "Kind", "State", "Flag",
           "Event", "Perm", "Why", "Waits", "outcome", "strerror", "parse_peer", "format_peer",
           "LINGER_BACKGROUND"]

DEVICE = "/dev/oae"
LINGER_BACKGROUND = 0xffffffff

Data = Union[bytes, bytearray, memoryview]
Words = Union[int, Sequence[int]]

# --- include/uapi/oae.h, as struct has it ------------------------------------------

_ATTACH = struct.Struct("16s6sBBII")
_PEER = struct.Struct("16s6sBB")
_OPTIONS = struct.Struct("6I")
_SWAP = struct.Struct("QQIIIIQ")
_OP = struct.Struct("BBHI8Q8Q8Q")
_VERB = struct.Struct("QIIIIIIQ")
_RESULT = struct.Struct("IIII")
_EXPOSE = struct.Struct("QIIII")
_RECORD = struct.Struct("QBBHiII")
_COLLECT = struct.Struct("QQIIII")
_STATUS = struct.Struct("16s6sBB8IQ4I6Q")
_WAITS = struct.Struct("2I2Q4I6sBB224s")

_IOC = 0xb5


def _request(direction: int, number: int, size: int) -> int:
    """The number of an ioctl: 1 writes, 2 reads, 3 both."""
    if os.uname().machine.startswith(("ppc", "mips", "sparc", "alpha")):
        direction = {1: 4, 2: 2, 3: 6}[direction]
        return direction << 29 | size << 16 | _IOC << 8 | number
    return direction << 30 | size << 16 | _IOC << 8 | number


_IOC_ATTACH = _request(1, 1, _ATTACH.size)
_IOC_SET_OPTIONS = _request(1, 2, _OPTIONS.size)
_IOC_GET_OPTIONS = _request(2, 3, _OPTIONS.size)
_IOC_STATUS = _request(2, 4, _STATUS.size)
_IOC_COLLECT = _request(3, 5, _COLLECT.size)
_IOC_CANCEL = _request(1, 6, 8)
_IOC_SWAP = _request(3, 7, _SWAP.size)
_IOC_VERB = _request(3, 8, _VERB.size)
_IOC_EXPOSE = _request(1, 9, _EXPOSE.size)
_IOC_LOCAL = _request(3, 10, _VERB.size)
_IOC_DONE = _request(0, 11, 0)
_IOC_WAITS = _request(3, 12, _WAITS.size)

_ATTACH_LISTEN, _ATTACH_ANY_VC, _ATTACH_OPEN, _ATTACH_ID = 1, 2, 4, 8
_NONBLOCK = 1
_OPT_EXPRESS, _OPT_TAKE = 1, 2
_WAITS_LAST = 1
_READ, _WRITE, _EXCHANGE, _FETCH_ADD, _CAS = 1, 2, 3, 4, 5
_WORDS = 8                  # of an operation, at most
_MASK = (1 << 64) - 1


# Python's own write() and ioctl() may begin again after a signal: with the whole deadline.
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.write.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
_LIBC.write.restype = ctypes.c_ssize_t
_LIBC.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]


class Kind(enum.IntEnum):
    """Of a transaction."""
    MESSAGE = 0
    SWAP = 1
    VERB = 2


class State(enum.IntEnum):
    """Of a link."""
    CLOSED = 0
    SYNC_SENT = 1
    SYNC_RECD = 2
    OPEN = 3
    CLOSE_SENT = 4
    CLOSE_RECD = 5


class Flag(enum.IntFlag):
    """How a link is: Status.flags."""
    DOWN = 0x01             # no answer for dead_ms
    DOUBT = 0x02            # something is offered, held or lent, and the link is frozen
    DEAD = 0x04             # the port is gone
    HALF = 0x08             # a half is posted here


class Event(enum.IntFlag):
    """What has happened to a link: Link.events()."""
    UP = 0x01
    DOWN = 0x02
    DOUBT = 0x04
    SETTLED = 0x08
    PEER_NEW = 0x10
    CLOSED = 0x20
    DEAD = 0x40
    LOST = 0x80


class Perm(enum.IntFlag):
    """What peers may do with words that are exposed."""
    READ = 0x01
    WRITE = 0x02
    ATOMIC = 0x04           # exchange, fetch_add, cas


class Why(enum.IntEnum):
    """What a link waits for: Waits.why."""
    NOTHING = 0
    PORT = 1                # the port here is down
    CARRIER = 2             # the port here has no carrier
    GATEWAY = 3             # the gateway is not known
    ANSWER = 4              # no answer of the peer
    SETTLING = 5            # what is in doubt is settled first
    ROOM = 6                # there is no room at the peer
    WORDS = 7               # words are reserved at the peer
    HALF = 8                # there is no half at the peer
    FLIGHT = 9              # what is under way
    CONFIRM = 10            # that the last commit is confirmed


# --- errors ---------------------------------------------------------------------------

class Ending(enum.Enum):
    """What an error number says of a transaction."""
    COMMITTED = "committed"
    REVERSED = "reversed"
    UNKNOWN = "unknown"
    NOT_YET = "not yet known"
    NOTHING = "nothing was begun"


# The table of include/uapi/oae.h, each number once.
_MEANING = {
    0: (Ending.COMMITTED, "committed"),
    errno.EOVERFLOW: (Ending.COMMITTED, "committed; its result did not fit, collect it"),

    errno.EINTR: (Ending.REVERSED, "a signal came"),
    errno.ECANCELED: (Ending.REVERSED, "cancelled"),
    errno.ETIME: (Ending.REVERSED, "the deadline passed"),
    errno.ENOLINK: (Ending.REVERSED, "the link is down"),
    errno.ESHUTDOWN: (Ending.REVERSED, "the link was closed at this end"),
    errno.EPIPE: (Ending.REVERSED, "the link was closed by the peer"),
    errno.ECONNREFUSED: (Ending.REVERSED, "the peer does not accept a link"),
    errno.EMSGSIZE: (Ending.REVERSED, "larger than an end allows"),
    errno.EOPNOTSUPP: (Ending.REVERSED, "the peer does not serve this kind of transaction"),
    errno.ENXIO: (Ending.REVERSED, "the peer exposes no such region to this end"),
    errno.ERANGE: (Ending.REVERSED, "words behind the end of the peer's region"),
    errno.EACCES: (Ending.REVERSED, "the peer's region does not permit it"),
    errno.EBADMSG: (Ending.REVERSED, "the peer cannot read the request"),

    errno.EOWNERDEAD: (Ending.UNKNOWN,
                       "an end of the link died; nobody can tell what became of it"),

    errno.EINPROGRESS: (Ending.NOT_YET, "it can no longer be reversed; collect its outcome"),

    errno.EAGAIN: (Ending.NOTHING, "not now: it would have to wait"),
    errno.EFAULT: (Ending.NOTHING, "bad address"),
    errno.EINVAL: (Ending.NOTHING, "invalid argument"),
    errno.ENOMEM: (Ending.NOTHING, "out of memory"),
    errno.ENOTCONN: (Ending.NOTHING, "not attached to a link"),
    errno.ENODEV: (Ending.NOTHING, "no such port, or it is gone"),
    errno.EBADF: (Ending.NOTHING, "not an open file"),
    errno.EPERM: (Ending.NOTHING, "not permitted: it takes CAP_NET_RAW"),
    errno.ENOTTY: (Ending.NOTHING, "not a file of /dev/oae, or no such request"),
    errno.EEXIST: (Ending.NOTHING, "this file exposes a region already"),
    errno.EISCONN: (Ending.NOTHING, "attached already"),
    errno.EADDRINUSE: (Ending.NOTHING, "the number of the region is taken"),
    errno.ENOBUFS: (Ending.NOTHING, "no room for another link"),
    errno.ENOENT: (Ending.NOTHING, "no such transaction, or no /dev/oae"),
    errno.EDESTADDRREQ: (Ending.NOTHING, "a listening file has no peer"),
    errno.EHOSTUNREACH: (Ending.NOTHING, "no neighbour has this id"),
}


def outcome(err: int) -> Ending:
    """What an error number says of the transaction; UNKNOWN for one the device has not."""
    return _MEANING.get(err, (Ending.UNKNOWN, ""))[0]


def strerror(err: int) -> str:
    """An error in words, as far as it concerns a transaction."""
    return _MEANING.get(err, (None, "an error that the device does not have"))[1]


class LinkError(OSError):
    """A transaction that is not committed. errno says why, so does .why in words.

    .waits is what the link waited for, a Waits; None if that is not why, or not known.
    """

    def __init__(self, err: int, text: Optional[str] = None, waits: Optional[Waits] = None):
        self.why = text or strerror(err)
        self.waits = waits
        super().__init__(err, f"{self.why}; {waits}" if waits else self.why)


class NotLoaded(OSError):
    """The module is not loaded, or there is no /dev/oae."""


class Reversed(LinkError):
    """It was not and never will be seen by the peer."""


class Unknown(LinkError):
    """An end of the link died inside the window in which no protocol can tell."""


class Pending(LinkError):
    """Not yet known: Link.collect() will say. .id is its number, None if not known."""

    def __init__(self, err: int, text: Optional[str] = None, number: Optional[int] = None):
        super().__init__(err, text)
        self.id = number


def _vc(vc: int) -> int:
    """A virtual channel."""
    if not 0 <= vc <= 255:
        raise ValueError(f"not a virtual channel: {vc}: 0 to 255")
    return vc


def _port(port: str) -> bytes:
    """The name of a device."""
    name = port.encode()
    if len(name) > 15:
        raise ValueError(f"not the name of a device: {port!r}")
    return name


def _failure(err: int) -> OSError:
    """The exception for an error number."""
    ending = outcome(err)
    if err in _MEANING and ending is Ending.REVERSED:
        return Reversed(err)
    if err in _MEANING and ending is Ending.UNKNOWN:
        return Unknown(err)
    if ending is Ending.NOT_YET:
        return Pending(err)
    if err in _MEANING:
        return OSError(err, strerror(err))
    return OSError(err, os.strerror(err))


# --- addresses --------------------------------------------------------------------------

def parse_peer(text: Union[str, bytes]) -> bytes:
    """An address from text: six bytes in hex, between them ":" or "-". Bytes stay.

    >>> parse_peer("02:0a:e0:00:00:01").hex()
    '020ae0000001'
    >>> parse_peer("02:0a:e0")
    Traceback (most recent call last):
    ValueError: not an address: '02:0a:e0'
    """
    if isinstance(text, bytes) and len(text) == 6:
        return text
    if not isinstance(text, str) or not re.fullmatch(
            r"[0-9a-fA-F]{2}([:-])[0-9a-fA-F]{2}(\1[0-9a-fA-F]{2}){4}", text):
        raise ValueError(f"not an address: {text!r}")
    return bytes.fromhex(text.replace(":", "").replace("-", ""))


def format_peer(peer: bytes) -> str:
    """An address as text."""
    return peer.hex(":")


def _plain_address(text: str, port: str) -> Tuple[str, bytes, int]:
    """[PORT/]MAC or [PORT/]id:HEX: the port, the last six bytes of it, and what is before."""
    before, slash, address = text.rpartition("/")
    if slash and (not before or "/" in before or len(before) > 15 or port not in ("", before)):
        raise ValueError(f"not an address: {text!r}")
    found = re.fullmatch(r"id:0*([1-9a-fA-F][0-9a-fA-F]{12,15})", address)
    if not found:
        return before or port, parse_peer(address), 0
    number = int(found.group(1), 16)
    return before or port, (number & (1 << 48) - 1).to_bytes(6, "big"), number >> 48


def _hosts(name: str) -> Optional[str]:
    """The address of a name in /etc/oae/hosts, or the file that OAE_HOSTS names."""
    try:
        with open(os.environ.get("OAE_HOSTS") or "/etc/oae/hosts", encoding="utf-8",
                  errors="replace") as file:
            for line in file:
                words = line.partition("#")[0].split()
                if len(words) > 1 and words[0] == name:
                    return words[1]
    except OSError:
        pass
    return None


def _address(text: Union[str, bytes], port: str) -> Tuple[str, bytes, int]:
    """The same, and of names."""
    if isinstance(text, bytes):
        return port, parse_peer(text), 0
    try:
        return _plain_address(text, port)
    except ValueError:
        before, slash, name = text.rpartition("/")
        known = None if not name or ":" in name or "/" in before else _hosts(name)
        if known is None or (slash and (not before or port not in ("", before))):
            raise
        return _plain_address(known, before or port)


class Peer(NamedTuple):
    """A link, by its names: Link(*peer) attaches to it."""
    peer: str
    vc: int
    port: str

    @classmethod
    def _unpack(cls, record: bytes) -> Peer:
        port, peer, vc, _zero = _PEER.unpack(record)
        return cls(format_peer(peer), vc, port.rstrip(b"\0").decode())


# --- verbs ---------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class VerbResult:
    """What a verb did. It is true if it was taken: every comparison held."""
    taken: bool
    failed: Optional[int]           # the first operation whose comparison did not hold
    old: List[Tuple[int, ...]]      # for each operation what its words were; WRITE: ()

    def __bool__(self) -> bool:
        return self.taken


def _words(values: Words) -> List[int]:
    """One word or several, as a list; negative ones modulo 2^64."""
    values = [values] if isinstance(values, int) else list(values)
    if not 1 <= len(values) <= _WORDS:
        raise ValueError(f"{len(values)} words: an operation has 1 to {_WORDS}")
    return [value & _MASK for value in values]


class Verb:
    """Operations on words, in order, all or nothing; made by Link.verb() and .local().

    Each operation adds itself and returns the verb, so that they can be written in a row:

        link.verb(7).cas(0, old, new).fetch_add(8, 1).commit()

    Offsets are in bytes, multiples of 8. A word is an int; several in a row, up to 8,
    a sequence of ints.

    >>> verb = Verb(None, 7).cas(0, [1, 2], [3, 4]).fetch_add(16, -1).read(24)
    >>> verb
    <Verb on region 7: cas 0+2, fetch_add 16, read 24>
    """

    _NAMES = {_READ: "read", _WRITE: "write", _EXCHANGE: "exchange", _FETCH_ADD: "fetch_add",
              _CAS: "cas"}

    def __init__(self, file: Optional[_File], region: Optional[int]):
        self._file = file
        self._region = region           # None: here
        self._ops: List[Tuple[int, int, int, List[int], List[int]]] = []

    def __repr__(self) -> str:
        where = "here" if self._region is None else f"on region {self._region}"
        ops = ", ".join(f"{self._NAMES[code]} {offset}" + (f"+{words}" if words > 1 else "")
                        for code, words, offset, _arg, _cmp in self._ops)
        return f"<Verb {where}: {ops or 'nothing'}>"

    def _add(self, code: int, offset: int, words: int, arg: List[int], cmp: List[int]) -> Verb:
        self._ops.append((code, words, offset, arg, cmp))
        return self

    def read(self, offset: int, words: int = 1) -> Verb:
        """Have what the words are."""
        if not 1 <= words <= _WORDS:
            raise ValueError(f"{words} words: an operation has 1 to {_WORDS}")
        return self._add(_READ, offset, words, [], [])

    def write(self, offset: int, values: Words) -> Verb:
        """Write words, whatever they were."""
        values = _words(values)
        return self._add(_WRITE, offset, len(values), values, [])

    def exchange(self, offset: int, values: Words) -> Verb:
        """Write words, and have what they were."""
        values = _words(values)
        return self._add(_EXCHANGE, offset, len(values), values, [])

    def fetch_add(self, offset: int, add: Words = 1) -> Verb:
        """Add modulo 2^64, and have what it was."""
        add = _words(add)
        return self._add(_FETCH_ADD, offset, len(add), add, [])

    def cas(self, offset: int, expected: Words, values: Words) -> Verb:
        """Write words if all of them are as expected; otherwise the whole verb does nothing."""
        expected, values = _words(expected), _words(values)
        if len(expected) != len(values):
            raise ValueError("as many words to compare as to write")
        return self._add(_CAS, offset, len(values), values, expected)

    def _pack(self) -> array.array:
        def full(words):
            return words + [0] * (_WORDS - len(words))
        return array.array("B", b"".join(
            _OP.pack(code, words, 0, offset, *full(arg), *full(cmp), *[0] * _WORDS)
            for code, words, offset, arg, cmp in self._ops))

    def _shape(self) -> List[int]:
        """How many old words each operation yields."""
        return [0 if code == _WRITE else words for code, words, _off, _arg, _cmp in self._ops]

    def _call(self, flags: int) -> Tuple[int, bool, int, array.array]:
        ops = self._pack()
        region = 0 if self._region is None else self._region
        head = bytearray(_VERB.pack(ops.buffer_info()[0], len(self._ops), region, flags,
                                    0, 0, 0, 0))
        if self._region is None:
            self._file._ioctl(_IOC_LOCAL, head)
        else:
            self._file._transact(_IOC_VERB, head)
        _ops, _nops, _region, _flags, taken, failed, _zero, number = _VERB.unpack(head)
        return number, bool(taken), failed, ops

    def commit(self, patience: float = 0) -> VerbResult:
        """Do it, and return what it did.

        Here (Link.local()) it never waits: BlockingIOError, if a peer's transaction that is
        not decided has reserved some of the words for longer than `patience` seconds.
        """
        if self._region is not None:
            self._file._must_block(True)
        end = time.monotonic() + patience
        while True:
            try:
                _number, taken, failed, ops = self._call(0)
                break
            except BlockingIOError:
                if self._region is not None or time.monotonic() >= end:
                    raise
                time.sleep(0.001)
        data = ops.tobytes()
        old = [_OP.unpack_from(data, n * _OP.size)[-_WORDS:][:words]
               for n, words in enumerate(self._shape())]
        return VerbResult(taken, None if taken else failed, old)

    def queue(self) -> int:
        """Queue it, and return its number; its result comes with its outcome."""
        if self._region is None:
            raise ValueError("here there is nothing to wait for: commit()")
        return self._file._queue_verb(self)


def _unpack_result(data: bytes, shape: Optional[List[int]]) -> VerbResult:
    """struct oae_verb_result; without a shape all old words are one tuple."""
    taken, failed, count, _zero = _RESULT.unpack_from(data)
    words = struct.unpack_from(f"{count}Q", data, _RESULT.size)
    old, at = [], 0
    for n in [count] if shape is None or sum(shape) != count else shape:
        old.append(words[at:at + n])
        at += n
    return VerbResult(bool(taken), None if taken else failed, old)


# --- what a link is and does -------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a transaction that was queued has ended."""
    id: int
    ending: Ending              # COMMITTED, REVERSED or UNKNOWN
    kind: Kind
    err: int                    # 0, or an error number that says why
    half: Optional[bytes]       # a swap that is committed: the other half
    verb: Optional[VerbResult]  # a verb that is committed

    @property
    def committed(self) -> bool:
        """Is it?"""
        return self.ending is Ending.COMMITTED

    @property
    def why(self) -> str:
        """In words."""
        return strerror(self.err)

    def check(self) -> Outcome:
        """Itself if it is committed; otherwise raise Reversed or Unknown."""
        if self.committed:
            return self
        raise (Reversed if self.ending is Ending.REVERSED else Unknown)(self.err)


_ENDINGS = (Ending.COMMITTED, Ending.REVERSED, Ending.UNKNOWN)


@dataclasses.dataclass(frozen=True)
class Status:       # pylint: disable=too-many-instance-attributes
    """A link, and what has happened to it; see struct oae_status in oae(4)."""
    port: str
    peer: str
    vc: int
    state: State
    flags: Flag
    events: Event           # since the last Link.events()
    tx: int
    rx: int
    mtu: int
    max_len: int
    max_half: int
    max_verb: int
    srtt_ns: int
    queued: int
    unread: int
    pending: int
    uncollected: int
    committed: int
    reversed: int
    unknown: int
    delivered: int
    failures: int
    next_id: int


@dataclasses.dataclass(frozen=True)
class Waits:        # pylint: disable=too-many-instance-attributes
    """What a link waits for, and what its peer may wait for here; see struct oae_waits in oae(4)."""
    why: Why
    since_ns: int           # for so long, ns; 0 not known
    until_ns: int           # after so long it is given up, ns; 0 never
    unread: int             # transactions that can be read here
    unread_bytes: int       # memory that they take
    rcvbuf: int             # the knob, the limit of that
    idle_ms: int            # nothing was read for so long though something is unread, ms
    holder: Optional[Tuple[str, int]]   # peer and vc of the link that reserves the peer's words
    text: str               # all this in a sentence

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Options:
    """Of an open file; see struct oae_options in oae(4)."""
    express: bool = False
    deadline_ms: int = 0
    linger_ms: int = LINGER_BACKGROUND
    queue: int = 1
    queue_bytes: int = 0
    take: bool = False


class _File:
    """An open file of the device: what links and listeners have in common."""

    def __init__(self, fd: int):
        self._fd = fd
        self._map: Optional[mmap.mmap] = None
        self._view: Optional[memoryview] = None

    @staticmethod
    def _open(attach: bytes, blocking: bool) -> int:
        try:
            fd = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC | (0 if blocking else os.O_NONBLOCK))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENXIO, errno.ENODEV):
                raise NotLoaded(error.errno, "the module modoae is not loaded; as root: modprobe modoae",
                                DEVICE) from None
            raise
        try:
            fcntl.ioctl(fd, _IOC_ATTACH, attach)
        except OSError as error:
            os.close(fd)
            raise _failure(error.errno) from None
        return fd

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __reduce_ex__(self, protocol):
        # Nor copy.copy(): two that close one descriptor. os.dup() and from_fd() make another.
        raise TypeError(f"{type(self).__name__}: a descriptor cannot be copied")

    def __del__(self):
        if getattr(self, "_fd", -1) >= 0:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self)
            try:
                self.close()
            except BufferError:         # a slice of a view is still about, and keeps the file
                os.close(self._fd)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'closed' if self._fd < 0 else f'fd {self._fd}'}>"

    def close(self) -> None:
        """Close it, and what it exposes. BufferError: slices of that view are still in use."""
        if self._view is not None:
            self._view.release()
            self._view = None
        if self._map is not None:
            self._map.close()
            self._map = None
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def detach(self) -> int:
        """The descriptor, which is then yours to close."""
        fd, self._fd = self._fd, -1
        return fd

    def fileno(self) -> int:
        """The descriptor: for select, selectors, asyncio."""
        return self._fd

    @property
    def blocking(self) -> bool:
        """Do calls wait?"""
        return os.get_blocking(self._fd)

    def _must_block(self, blocking: bool) -> None:
        # The device says the same of what is committed and of what is only queued.
        if os.get_blocking(self._fd) != blocking:
            raise ValueError("this descriptor does not block: queue it instead" if blocking else
                             "this descriptor blocks: open it with blocking=False to queue")

    def _ioctl(self, request: int, data: bytearray) -> None:
        """One that does not wait."""
        try:
            fcntl.ioctl(self._fd, request, data, True)
        except OSError as error:
            raise _failure(error.errno) from None

    def expose(self, region: int, size: int, perm: Perm) -> memoryview:
        """Expose words to the peer (a Listener: to all its peers) under a number.

        Returns them, 64-bit words. Read them there; change them with local(), which heeds
        what peers are about. Once for a file, until it is closed.
        """
        self._ioctl(_IOC_EXPOSE, bytearray(_EXPOSE.pack(size, region, perm, 0, 0)))
        self._map = mmap.mmap(self._fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        with memoryview(self._map) as whole:
            self._view = whole.cast("Q")
        return self._view

    def local(self) -> Verb:
        """Operations on the words exposed here: add some, then commit()."""
        return Verb(self, None)

    def _transact(self, request: int, data: bytearray) -> None:
        raise ValueError("a listener has no peer")

    def _queue_verb(self, verb: Verb) -> int:
        raise ValueError("a listener has no peer")


class Listener(_File):
    """Links that peers open and nobody here is attached to.

    peer None: anybody; vc None: any. fileno() is readable when one is there.
    """

    def __init__(self, peer: Union[str, bytes, None] = None, vc: Optional[int] = None,
                 port: str = "", *, blocking: bool = True):
        flags = _ATTACH_LISTEN | (_ATTACH_ANY_VC if vc is None else 0)
        super().__init__(self._open(_ATTACH.pack(
            _port(port), parse_peer(peer) if peer is not None else bytes(6), _vc(vc or 0), 0,
            flags, 0), blocking))

    def next_peer(self) -> Peer:
        """The next, waiting for it. BlockingIOError: none, and it does not wait. EOFError: the
        port is gone."""
        record = os.read(self._fd, _PEER.size)
        if not record:
            raise EOFError("the port is gone")
        return Peer._unpack(record)

    def accept(self, **options) -> Link:
        """Attach to the next; options as Link has them."""
        return Link(*self.next_peer(), **options)

    def __iter__(self) -> Iterator[Peer]:
        while True:
            try:
                yield self.next_peer()
            except EOFError:
                return


class Link(_File):
    """An end of the link with a peer: its address, a virtual channel, a port ("": where that is).

    peer        [PORT/]MAC, [PORT/]id:HEX (a neighbour's, at any port unless one is named), or a
                name of /etc/oae/hosts
    now         open the link now, not with the first transaction
    blocking    False: what is posted is queued, and recv() does not wait
    express     messages are delivered at once
    take        what recv() gives goes back to the queue unless done() or the next recv() follows
    """

    def __init__(self, peer: Union[str, bytes], vc: int = 0, port: str = "", *,
                 now: bool = False, blocking: bool = True, express: bool = False,
                 take: bool = False):
        port, low, high = _address(peer, port)
        flags = (_ATTACH_OPEN if now else 0) | (_ATTACH_ID if high else 0)
        super().__init__(self._open(_ATTACH.pack(_port(port), low, _vc(vc), 0, flags, high),
                                    blocking))
        self._begin()
        if express or take:
            self.set_options(express=express, take=take)

    @classmethod
    def from_fd(cls, fd: int) -> Link:
        """Of a descriptor that is attached, say an inherited one; it is closed with the Link."""
        link = cls.__new__(cls)
        _File.__init__(link, fd)
        link._begin()
        return link

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._shortened = threading.Lock()      # held while deadline_ms is what is left
        self._shapes = {}               # number of a queued verb -> old words of each operation
        self._events = Event(0)         # not asked for yet
        self._epoll: Optional[select.epoll] = None

    def close(self) -> None:
        """Close it. What is queued goes on without it, or as Options.linger_ms says."""
        if getattr(self, "_epoll", None) is not None:
            self._epoll.close()
            self._epoll = None
        super().close()

    # Messages.

    def send(self, *data: Data) -> None:
        """One transaction, of one piece or several; returns when it is committed."""
        self._must_block(True)
        self._post(data)

    def queue(self, *data: Data) -> int:
        """Queue one and return its number; BlockingIOError: the queue is full.

        The number is right as long as nobody posts through a copy of the descriptor.
        """
        self._must_block(False)
        with self._lock:
            number = self._status().next_id
            self._post(data)
            return number

    def _post(self, data: Sequence[Data]) -> None:
        whole = b"".join(data)
        self._again(lambda: _LIBC.write(self._fd, whole, len(whole)))

    def _transact(self, request: int, data: bytearray) -> None:
        where = (ctypes.c_char * len(data)).from_buffer(data)
        self._again(lambda: _LIBC.ioctl(self._fd, request, where))

    def _again(self, call: Callable[[], int]) -> None:
        """A call, and what is left of it after signals whose handlers return: a deadline is a moment."""
        began = time.monotonic()

        def interrupted() -> bool:
            if call() >= 0:
                return False
            if ctypes.get_errno() != errno.EINTR:
                raise self._failed(ctypes.get_errno())
            return True

        while interrupted():
            deadline_ms = self.options().deadline_ms
            if not deadline_ms:
                continue
            left = began + deadline_ms / 1000 - time.monotonic()
            if not self._shortened.acquire(timeout=max(left, 0)):
                raise self._failed(errno.ETIME)
            try:
                self._go_on(interrupted, began)
            finally:
                self._shortened.release()
            return

    def _failed(self, err: int) -> OSError:
        """The exception for an error number of a transaction, with what it waited for."""
        failure = _failure(err)
        if err not in (errno.EINTR, errno.ECANCELED, errno.ETIME, errno.ENOLINK):
            return failure
        try:
            waits = self.waits(last=True)
        except OSError:             # an older module, or a descriptor that is closed
            return failure
        if waits.why is Why.NOTHING:
            return failure
        return Reversed(err, waits=waits)

    def _go_on(self, interrupted: Callable[[], bool], began: float) -> None:
        usual = self.options().deadline_ms
        try:
            while True:
                left_ms = math.ceil((began - time.monotonic()) * 1000) + usual
                if left_ms <= 0:
                    raise self._failed(errno.ETIME)
                self.set_options(deadline_ms=left_ms)
                if not interrupted():
                    return
        finally:
            self.set_options(deadline_ms=usual)

    def recv(self) -> bytes:
        """The next message, whole; b"" if the port is gone and all is read.

        BlockingIOError: there is none, and this descriptor does not block.
        """
        size = 65536
        while True:
            try:
                return os.read(self._fd, size)
            except OSError as error:
                if error.errno != errno.EMSGSIZE:
                    raise
            # Somebody else may read it meanwhile: then the next is another size.
            size = max(size, self.recv_size())

    def done(self) -> None:
        """With take: what the last recv() gave is dealt with.

        FileNotFoundError: nothing is kept.
        """
        self._ioctl(_IOC_DONE, bytearray(1))

    def recv_size(self) -> int:
        """Bytes of the next message; 0 if there is none."""
        size = bytearray(4)
        fcntl.ioctl(self._fd, termios.FIONREAD, size, True)
        return struct.unpack("i", size)[0]

    def __iter__(self) -> Iterator[bytes]:
        """All messages, until the port is gone."""
        return iter(self.recv, b"")

    def confirm(self) -> None:
        """Wait until all that is committed is known to be delivered (fsync)."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise OSError(error.errno, strerror(error.errno)) from None

    def cancel(self, number: int = 0) -> None:
        """Reverse a transaction, or all of this file.

        FileNotFoundError: no such, or it has ended. Pending: it cannot be reversed any more.
        """
        self._ioctl(_IOC_CANCEL, bytearray(struct.pack("Q", number)))

    # Outcomes.

    def collect(self, most: int = 64) -> List[Outcome]:
        """Outcomes of what was queued, as many as there are; never waits.

        select for an exceptional condition, or poll for POLLPRI, says when; so does
        outcomes_fileno() to whoever only knows "readable". Events say so, too: they are taken
        here, and kept for events().
        """
        recs = array.array("B", bytes(most * _RECORD.size))
        room = 4096
        while True:
            buf = array.array("B", bytes(room))
            head = bytearray(_COLLECT.pack(recs.buffer_info()[0], buf.buffer_info()[0], most, 0,
                                           room, 0))
            with self._lock:
                try:
                    self._ioctl(_IOC_COLLECT, head)
                except OSError as error:
                    room = _COLLECT.unpack(head)[-1]
                    if error.errno == errno.EOVERFLOW and room > len(buf):
                        continue
                    raise
                self._status()
                got = _COLLECT.unpack(head)[3]
                records, results = recs.tobytes(), buf.tobytes()
                return [self._outcome(_RECORD.unpack_from(records, n * _RECORD.size), results)
                        for n in range(got)]

    def _outcome(self, record: Tuple[int, ...], results: bytes) -> Outcome:
        number, result, kind, _zero, err, offset, size = record
        shape = self._shapes.pop(number, None)
        half = verb = None
        if _ENDINGS[result] is Ending.COMMITTED:
            data = results[offset:offset + size]
            if kind == Kind.SWAP:
                half = data
            elif kind == Kind.VERB:
                verb = _unpack_result(data, shape)
        return Outcome(number, _ENDINGS[result], Kind(kind), err, half, verb)

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Wait until there are outcomes or events; False: not within `timeout` seconds."""
        poll = select.poll()
        poll.register(self._fd, select.POLLPRI)
        return bool(poll.poll(None if timeout is None else timeout * 1000))

    def outcomes_fileno(self) -> int:
        """A descriptor that is readable when outcomes or events are there: for asyncio."""
        if self._epoll is None:
            self._epoll = select.epoll()
            self._epoll.register(self._fd, select.EPOLLPRI)
        return self._epoll.fileno()

    # Swaps.

    def swap(self, half: Data) -> bytes:
        """Give a half and take the peer's, waiting for it: both or neither."""
        self._must_block(True)
        return self._swap(half, 0)[1]

    def queue_swap(self, half: Data) -> int:
        """Post a half and return its number; the other half comes with the outcome."""
        return self._swap(half, _NONBLOCK)[0]

    def _swap(self, half: Data, flags: int) -> Tuple[int, bytes]:
        give = array.array("B", bytes(half))
        take = array.array("B", bytes(0 if flags else 65536))
        head = bytearray(_SWAP.pack(give.buffer_info()[0] if give else 0,
                                    take.buffer_info()[0] if take else 0,
                                    len(give), len(take), flags, 0, 0))
        try:
            self._transact(_IOC_SWAP, head)
        except Pending as error:
            error.id = _SWAP.unpack(head)[-1] or None
            raise
        _give, _take, _len, size, _flags, _zero, number = _SWAP.unpack(head)
        return number, b"" if flags else take.tobytes()[:size]

    # Words of the peer.

    def verb(self, region: int) -> Verb:
        """Operations on words of the peer's: add some, then commit() or queue()."""
        return Verb(self, region)

    def _queue_verb(self, verb: Verb) -> int:
        with self._lock:
            number = verb._call(_NONBLOCK)[0]
            self._shapes[number] = verb._shape()
            return number

    def read(self, region: int, offset: int) -> int:
        """Read a word."""
        return self.verb(region).read(offset).commit().old[0][0]

    def read_words(self, region: int, offset: int, words: int) -> Tuple[int, ...]:
        """Read up to 8 words in one step."""
        return self.verb(region).read(offset, words).commit().old[0]

    def write(self, region: int, offset: int, value: Words) -> None:
        """Write a word, or up to 8 in one step."""
        self.verb(region).write(offset, value).commit()

    def exchange(self, region: int, offset: int, value: int) -> int:
        """Write a word, and return what it was."""
        return self.verb(region).exchange(offset, value).commit().old[0][0]

    def fetch_add(self, region: int, offset: int, add: int = 1) -> int:
        """Add to a word modulo 2^64, and return what it was."""
        return self.verb(region).fetch_add(offset, add).commit().old[0][0]

    def cas(self, region: int, offset: int, expected: int, value: int) -> Tuple[bool, int]:
        """Write a word if it is as expected. Returns whether it was, and what it was."""
        result = self.verb(region).cas(offset, expected, value).commit()
        return result.taken, result.old[0][0]

    def compare_and_commit(self, region: int, offset: int, expected: Sequence[int],
                           values: Sequence[int]) -> Tuple[bool, Tuple[int, ...]]:
        """The same of up to 8 words in a row, all or nothing."""
        result = self.verb(region).cas(offset, expected, values).commit()
        return result.taken, result.old[0]

    # How it is.

    def _status(self) -> Status:
        data = bytearray(_STATUS.size)
        self._ioctl(_IOC_STATUS, data)
        port, peer, vc, state, flags, events, *numbers = _STATUS.unpack(data)
        self._events |= Event(events)
        return Status(port.rstrip(b"\0").decode(), format_peer(peer), vc, State(state),
                      Flag(flags), self._events, *numbers)

    def waits(self, last: bool = False) -> Waits:
        """What the link waits for, since when and until when; last: what it waited for when a
        transaction of this file was last reversed."""
        data = bytearray(_WAITS.size)
        struct.pack_into("I", data, 0, _WAITS_LAST if last else 0)
        self._ioctl(_IOC_WAITS, data)
        _flags, why, *numbers, holder, vc, known, text = _WAITS.unpack(data)
        return Waits(Why(why), *numbers, (format_peer(holder), vc) if known else None,
                     text.rstrip(b"\0").decode())

    def status(self) -> Status:
        """The link as it is."""
        with self._lock:
            return self._status()

    def events(self) -> Event:
        """What has happened to the link since the last time that this was asked."""
        with self._lock:
            self._status()
            events, self._events = self._events, Event(0)
            return events

    def options(self) -> Options:
        """Of this file."""
        data = bytearray(_OPTIONS.size)
        self._ioctl(_IOC_GET_OPTIONS, data)
        flags, deadline_ms, linger_ms, queue, queue_bytes, _zero = _OPTIONS.unpack(data)
        return Options(bool(flags & _OPT_EXPRESS), deadline_ms, linger_ms, queue, queue_bytes,
                       bool(flags & _OPT_TAKE))

    def set_options(self, **changes) -> Options:
        """Set some of them: express, deadline_ms, linger_ms, queue, queue_bytes, take."""
        new = dataclasses.replace(self.options(), **changes)
        self._ioctl(_IOC_SET_OPTIONS, bytearray(_OPTIONS.pack(
            (_OPT_EXPRESS if new.express else 0) | (_OPT_TAKE if new.take else 0),
            new.deadline_ms, new.linger_ms, new.queue, new.queue_bytes, 0)))
        return new
