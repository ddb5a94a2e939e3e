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
import sys
import termios
import threading
import time
import warnings
from typing import Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

__version__ = "0.1"
__all__ = ["Link", "Listener", "Verb", "VerbResult", "Outcome", "Status", "Options", "Peer",
           "LinkError", "NotLoaded", "Reversed", "Unknown", "Pending", "Ending", "Kind", "State", "Flag",
           "Event", "Perm", "Why", "Waits", "outcome", "strerror", "parse_peer", "format_peer",
           "LINGER_BACKGROUND", "Ring", "Chunk", "Ended", "Position", "Ready"]

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
_RING = struct.Struct("4I4Q")
_RING_ADD = struct.Struct("iI")
_BELL = struct.Struct("Ii3Q")
_CHUNK = struct.Struct("3IBBH")

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
_IOC_RING = _request(3, 13, _RING.size)
_IOC_RING_ADD = _request(3, 14, _RING_ADD.size)
_IOC_RING_BELL = _request(1, 15, _BELL.size)

_ATTACH_LISTEN, _ATTACH_ANY_VC, _ATTACH_OPEN, _ATTACH_ID = 1, 2, 4, 8
_NONBLOCK = 1
_OPT_EXPRESS, _OPT_TAKE = 1, 2
_WAITS_LAST = 1
_CHUNK_EXPRESS, _CHUNK_FORWARD, _CHUNK_ENDED = 0x01, 0x02, 0x80
_BELL_FILLED, _BELL_TAKEN, _BELL_ENDED = 0x01, 0x02, 0x04
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

    errno.EINPROGRESS: (Ending.NOT_YET, "not known yet, the peer may have it; collect its outcome"),

    errno.EAGAIN: (Ending.NOTHING, "not now: it would have to wait"),
    errno.EFAULT: (Ending.NOTHING, "bad address"),
    errno.EINVAL: (Ending.NOTHING, "invalid argument"),
    errno.ENOMEM: (Ending.NOTHING, "out of memory"),
    errno.ENOTCONN: (Ending.NOTHING, "not attached to a link"),
    errno.ENODEV: (Ending.NOTHING, "no such port, or it is gone"),
    errno.EBADF: (Ending.NOTHING, "not an open file"),
    errno.EPERM: (Ending.NOTHING, "not permitted: it takes CAP_NET_RAW"),
    errno.ENOTTY: (Ending.NOTHING, "not a file of /dev/oae, or no such request"),
    errno.EEXIST: (Ending.NOTHING, "this file exposes a region, or has rings, already"),
    errno.EISCONN: (Ending.NOTHING, "attached already"),
    errno.EADDRINUSE: (Ending.NOTHING, "the number of the region is taken"),
    errno.ENOBUFS: (Ending.NOTHING, "no room for another link"),
    errno.ENOENT: (Ending.NOTHING, "no such transaction, or no /dev/oae"),
    errno.EDESTADDRREQ: (Ending.NOTHING, "a listening file has no peer"),
    errno.EHOSTUNREACH: (Ending.NOTHING, "no neighbour has this id"),
    errno.EBUSY: (Ending.NOTHING, "the link is on a ring, or in use for read() and write()"),
    errno.EXDEV: (Ending.NOTHING, "a link of another network namespace"),
    errno.EPROTO: (Ending.NOTHING, "the program broke the rules of its rings"),
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
    unread_bytes: int       # what they cost, and what a reader keeps (take): 1024 a slice beside its bytes
    rcvbuf: int             # the knob, the limit of that
    idle_ms: int            # nothing was read for so long though something is unread, or kept, ms
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
    spin_us: int = 0            # a call that is to wait looks again and again for so long first


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

        FileNotFoundError: no such, or it has ended. Pending: not known yet, the outcome is collected.
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
        flags, deadline_ms, linger_ms, queue, queue_bytes, spin_us = _OPTIONS.unpack(data)
        return Options(bool(flags & _OPT_EXPRESS), deadline_ms, linger_ms, queue, queue_bytes,
                       bool(flags & _OPT_TAKE), spin_us)

    def set_options(self, **changes) -> Options:
        """Set some of them: express, deadline_ms, linger_ms, queue, queue_bytes, take, spin_us."""
        new = dataclasses.replace(self.options(), **changes)
        self._ioctl(_IOC_SET_OPTIONS, bytearray(_OPTIONS.pack(
            (_OPT_EXPRESS if new.express else 0) | (_OPT_TAKE if new.take else 0),
            new.deadline_ms, new.linger_ms, new.queue, new.queue_bytes, new.spin_us)))
        return new


# --- rings ----------------------------------------------------------------------------------

class Ready(enum.IntFlag):
    """What Ring.wait() waits for, and returns."""
    DATA = 0x01             # next() gives something
    ROOM = 0x02             # reserve() gives so many bytes, once ended() has given all there is
    OUTCOME = 0x04          # ended() gives something


class Chunk(NamedTuple):
    """The header of a transaction of rx."""
    link: int               # handle of its link
    number: int             # among those of this direction of the link
    len: int                # bytes
    at: int                 # position of its first byte in rx, for Ring.forward()


class Ended(NamedTuple):
    """How a transaction of tx has ended."""
    link: int               # handle of its link
    ending: Ending          # COMMITTED, REVERSED or UNKNOWN
    err: int                # 0, or an error number that says why
    len: int                # bytes
    data: Optional[memoryview]      # them; None: it was forwarded

    @property
    def committed(self) -> bool:
        """Is it?"""
        return self.ending is Ending.COMMITTED

    @property
    def why(self) -> str:
        """In words."""
        return strerror(self.err)


@dataclasses.dataclass(frozen=True)
class Position:     # pylint: disable=too-many-instance-attributes
    """How far the rings are, in bytes since they were made; see struct oae_ring_position."""
    staged: int             # tx: what stage() was told
    published: int          # tx: what the kernel may take
    taken: int              # tx: what the kernel has taken: it will have an outcome
    ended: int              # tx: what has ended, and all before it
    seen: int               # tx: what ended() gave
    filled: int             # rx: what has been delivered
    next: int               # rx: what next() gave
    passed: int             # rx: what the kernel knows to be done with


# Words of the two pages: of 8 bytes, and of 4.
_PUBLISHED, _PASSED, _P_WANTS_ROOM, _P_WANTS_DATA = 0, 8, 2, 18
_TAKEN, _ENDED, _FILLED, _K_WANTS_DATA, _K_ERROR, _K_WANTS_ROOM = 0, 1, 8, 4, 5, 18

# Numbers of futex(2), whose wake is a full barrier, where a lock of Python's is none.
_FUTEX = {"x86_64": None, "aarch64": 98, "riscv64": 98, "loongarch64": 98, "ppc64le": 221,
          "s390x": 238}
_FUTEX_WAKE_PRIVATE = 1 | 128


def _make_fence() -> Callable[[], None]:
    """A full barrier. OSError: EOPNOTSUPP, not on this machine."""
    number = _FUTEX.get(os.uname().machine, -1)
    if number is None:
        lock = threading.Lock()

        def locked() -> None:
            with lock:
                pass
        return locked
    if number < 0:
        raise OSError(errno.EOPNOTSUPP, "no full barrier is known here: use liboae")
    word = ctypes.c_uint32()

    def woken() -> None:
        _LIBC.syscall(ctypes.c_long(number), ctypes.byref(word), _FUTEX_WAKE_PRIVATE, 1)
    return woken


def _extent(length: int) -> int:
    """Bytes that a chunk takes."""
    return _CHUNK.size + length + 7 & ~7


def _ring_failure(err: int) -> OSError:
    """The exception for an error number, not of a transaction."""
    return OSError(err, os.strerror(err) if err == errno.EMSGSIZE else strerror(err))


class Ring:     # pylint: disable=too-many-instance-attributes
    """A stream of transactions out of the program (tx) and into it (rx), as oae(4) draws it.

    While both the program and the kernel are busy there is no system call, and no copy: reserve()
    and next() give memoryviews of the rings.

        with oae.Link(peer) as link, oae.Ring(link) as ring:
            ring.reserve(5)[:] = b"hello"
            ring.publish()
            ring.wait(oae.Ready.OUTCOME)
            print(ring.ended().ending)

    link        its link is on the rings, and it is not for send() and recv() any more; it stays the
                caller's to close. None: no link; add() puts others on the rings
    tx, rx      bytes of each, a power of two from 64 KiB to 64 MiB; rx at least two transactions

    For one thread at a time, and not for a child after fork(). OSError: EBUSY, the link is on a
    ring or in use; EMSGSIZE, rx is too small; EPROTO, by any call: the rings stand still for good.
    BufferError: somebody holds the bytes of a memoryview that is to be released, as numpy does; as
    long as he does so, the call changes nothing.
    """

    def __init__(self, link: Optional[Link] = None, tx: int = 1 << 20, rx: int = 1 << 20):
        self._maps: List[mmap.mmap] = []
        self._views: List[memoryview] = []
        self._out: List[memoryview] = []        # of reserve() and ended()
        self._in: List[memoryview] = []         # of next()
        self._own = -1
        self._fence = _make_fence()
        if not (0 <= tx < 1 << 32 and 0 <= rx < 1 << 32):
            raise _ring_failure(errno.EINVAL)
        if link is None:
            self._own = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
        self._fd = self._own if link is None else link.fileno()
        how = bytearray(_RING.pack(tx, rx, 0, 0, 0, 0, 0, 0))
        try:
            self._ioctl(_IOC_RING, how)
            *_sizes, self.link, program, kernel, out, into = _RING.unpack(how)
            both, read = mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_READ
            words = self._map(mmap.PAGESIZE, both, program)
            self._program, self._program_flags = self._cast(words, "Q"), self._cast(words, "I")
            words = self._map(mmap.PAGESIZE, read, kernel)
            self._kernel, self._kernel_flags = self._cast(words, "Q"), self._cast(words, "I")
            self._tx, self._rx = self._map(2 * tx, both, out), self._map(2 * rx, read, into)
        except BaseException:
            self.close()
            raise
        self._tx_size, self._rx_size = tx, rx
        # The program's own, which no other word changes: see lib/ring.c.
        self._staged = self._published = self._taken = self._ended = self._seen = 0
        self._filled = self._next = self._done = self._passed = 0
        self._reserved = self._forward = self._hold_tx = self._hold_rx = 0

    def _map(self, size: int, prot: int, offset: int) -> memoryview:
        self._maps.append(mmap.mmap(self._fd, size, mmap.MAP_SHARED, prot, offset=offset))
        self._views.append(memoryview(self._maps[-1]))
        return self._views[-1]

    def _cast(self, view: memoryview, kind: str) -> memoryview:
        self._views.append(view.cast(kind))
        return self._views[-1]

    @staticmethod
    def _release(views: List[memoryview]) -> None:
        """Nobody reads or writes by them any more."""
        while views:
            views[-1].release()
            views.pop()

    @staticmethod
    def _give(views: List[memoryview], view: memoryview) -> memoryview:
        views.append(view)
        return view

    def __enter__(self) -> Ring:
        return self

    def __exit__(self, *unused) -> None:
        self.close()

    def close(self) -> None:
        """Unmap them. BufferError: a slice of what reserve(), next() or ended() gave is about.

        The rings go when the Link is closed, too. What was published and not taken then never
        happened; what was not passed goes to the next reader.
        """
        self._release(self._out)
        self._release(self._in)
        self._release(self._views)
        while self._maps:
            self._maps[-1].close()
            self._maps.pop()
        if self._own >= 0:
            fd, self._own = self._own, -1
            os.close(fd)

    def fileno(self) -> int:
        """The descriptor: for poll() between arm() and disarm()."""
        return self._fd

    def _ioctl(self, request: int, data: bytearray) -> None:
        where = (ctypes.c_char * len(data)).from_buffer(data)
        if _LIBC.ioctl(self._fd, request, where) < 0:
            raise _ring_failure(ctypes.get_errno())

    def _bell(self, flags: int = 0, timeout_ms: int = 0, ended: int = 0) -> None:
        self._ioctl(_IOC_RING_BELL, bytearray(_BELL.pack(flags, timeout_ms, self._next,
                                                         self._hold_tx, ended)))

    def _announce(self, word: int, value: int, wants: int) -> None:
        """A position of the program, and then whether the kernel waits for it."""
        self._program[word] = value
        self._fence()
        if self._kernel_flags[wants]:
            self._bell()

    def _stopped(self) -> None:
        """Raises what stops the rings for good, if something does."""
        if self._kernel_flags[_K_ERROR]:
            raise _ring_failure(self._kernel_flags[_K_ERROR])

    def _position(self, word: int) -> int:
        """A position of the kernel. What it wrote before is seen after."""
        value = self._kernel[word]
        self._fence()
        return value

    def add(self, link: Link) -> int:
        """Put the link of another Link on the rings, and return its handle, never used again.

        It is not for send() and recv() any more, and closing it takes it off. OSError: EBUSY, it
        is on a ring; EXDEV, it is of another network namespace.
        """
        data = bytearray(_RING_ADD.pack(link.fileno(), 0))
        self._ioctl(_IOC_RING_ADD, data)
        return _RING_ADD.unpack(data)[1]

    def position(self) -> Position:
        """How far each ring is."""
        return Position(self._staged, self._published, self._position(_TAKEN),
                        self._position(_ENDED), self._seen, self._position(_FILLED), self._next,
                        self._passed)

    # Out.

    def reserve(self, length: int) -> memoryview:
        """Room for a transaction of so many bytes, in one piece; stage() or publish() it next,
        which release the memoryview.

        BlockingIOError: no room until ended() has given outcomes. OSError: EMSGSIZE, more than
        the ring can ever hold.
        """
        self._release(self._out)
        self._reserved = 0
        if length < 1:
            raise _ring_failure(errno.EINVAL)
        if length > self._tx_size - _CHUNK.size:
            raise _ring_failure(errno.EMSGSIZE)
        if self._staged + _extent(length) > self._seen + self._tx_size:
            self._stopped()
            raise BlockingIOError(errno.EAGAIN, "no room in the ring")
        self._reserved = length
        at = self._staged % self._tx_size + _CHUNK.size
        return self._give(self._out, self._tx[at:at + length])

    def _put_head(self, link: Optional[int], length: int, flags: int, size: int) -> None:
        self._release(self._out)
        _CHUNK.pack_into(self._tx, self._staged % self._tx_size, length,
                         self.link if link is None else link, 0, flags, 0, 0)
        self._staged += _extent(size)
        self._reserved = 0

    def stage(self, link: Optional[int] = None, length: Optional[int] = None,
              express: bool = False) -> None:
        """What was reserved, or `length` bytes of it, is a transaction; flush() publishes it.

        link        handle of its link; None: that of this Ring's Link
        """
        length = self._reserved if length is None else length
        if not 0 < length <= self._reserved:
            raise _ring_failure(errno.EINVAL)
        self._put_head(link, length, _CHUNK_EXPRESS if express else 0, length)

    def forward(self, at: int, length: int, link: Optional[int] = None,
                express: bool = False) -> None:
        """Stage a transaction whose bytes are at a position of rx (Chunk.at), without a copy.

        done() may follow at once: those bytes are passed when the kernel has taken them.
        BlockingIOError: no room in tx. OSError: EINVAL, they are not in what next() gave.
        """
        if not 0 < length <= self._rx_size or not self._done <= at <= self._next - length:
            raise _ring_failure(errno.EINVAL)
        self.reserve(8)[:] = at.to_bytes(8, sys.byteorder)
        self._put_head(link, length, _CHUNK_FORWARD | (_CHUNK_EXPRESS if express else 0), 8)
        self._forward = self._staged

    def flush(self) -> None:
        """Publish all that is staged; a system call only if the kernel sleeps."""
        if self._published != self._staged:
            self._published = self._staged
            self._announce(_PUBLISHED, self._published, _K_WANTS_DATA)

    def publish(self, link: Optional[int] = None, length: Optional[int] = None,
                express: bool = False) -> None:
        """stage() and flush()."""
        self.stage(link, length, express)
        self.flush()

    def _has_ended(self) -> bool:
        if self._seen == self._ended:
            self._ended = self._position(_ENDED)
        return self._seen != self._ended

    def ended(self) -> Optional[Ended]:
        """How the next transaction of tx has ended, in the order of staging; None: none has.

        Its room is free then, and not before. Its bytes stay until the next ended(), reserve() or
        stage(), which release the memoryview. OSError: EPROTO also, the program has written over
        its own chunks.
        """
        self._release(self._out)
        if not self._has_ended():
            self._stopped()
            return None
        at = self._seen % self._tx_size
        length, link, _number, flags, result, err = _CHUNK.unpack_from(self._tx, at)
        forward = flags & _CHUNK_FORWARD
        size = _extent(8 if forward else length)
        result -= _CHUNK_ENDED
        if not 0 <= result < len(_ENDINGS) or size > self._ended - self._seen:
            raise _ring_failure(errno.EPROTO)
        self._seen += size
        at += _CHUNK.size
        return Ended(link, _ENDINGS[result], err, length,
                     None if forward else self._give(self._out, self._tx[at:at + length]))

    # In.

    def _has_data(self) -> bool:
        if self._next == self._filled:
            self._filled = self._position(_FILLED)
        return self._next != self._filled

    def _is_held(self) -> bool:
        """The chunks that forward and are not taken hold up what they were staged before."""
        if self._taken < self._hold_tx:
            self._taken = self._position(_TAKEN)
        return self._taken < self._hold_tx

    def _pass(self) -> None:
        passed = self._passed
        while passed != self._done:
            if self._hold_rx == passed:
                self._hold_rx, self._hold_tx = self._done, self._forward
            if self._is_held():
                break
            passed = self._hold_rx
        if passed != self._passed:
            self._passed = passed
            self._announce(_PASSED, passed, _K_WANTS_ROOM)

    def next(self) -> Optional[Tuple[memoryview, Chunk]]:
        """The bytes of the next transaction of rx, and its header; None: there is none now.

        The bytes are read-only, and stay until done(), which releases the memoryview.
        """
        if not self._has_data():
            self._pass()
            self._stopped()
            return None
        at = self._next % self._rx_size
        length, link, number, _flags, _result, _err = _CHUNK.unpack_from(self._rx, at)
        if _extent(length) > self._filled - self._next:
            raise _ring_failure(errno.EPROTO)
        chunk = Chunk(link, number, length, self._next + _CHUNK.size)
        self._next += _extent(length)
        at += _CHUNK.size
        return self._give(self._in, self._rx[at:at + length]), chunk

    def __iter__(self) -> Iterator[Tuple[memoryview, Chunk]]:
        """What is there now: next() until there is none."""
        return iter(self.next, None)

    def done(self) -> None:
        """The program is done with all that next() gave; a program that dies before leaves it to
        the next reader."""
        self._release(self._in)
        self._done = self._next
        self._pass()

    # Waiting.

    def _there(self, what: Ready, room: int) -> Ready:
        found = Ready(0)
        if what & Ready.DATA and self._has_data():
            found |= Ready.DATA
        if what & Ready.OUTCOME and self._has_ended():
            found |= Ready.OUTCOME
        if what & Ready.ROOM and self._staged + _extent(room) <= (
                self._position(_ENDED) + self._tx_size):
            found |= Ready.ROOM
        return found

    def _look(self, what: Ready, room: int) -> Ready:
        """What is there, without sleeping; raises if nothing will be."""
        if what & Ready.ROOM and not 0 < room <= self._tx_size - _CHUNK.size:
            raise _ring_failure(errno.EMSGSIZE)
        if not what or (what == Ready.OUTCOME and self._seen == self._staged):
            raise OSError(errno.ENOENT, "nothing is under way")
        self.flush()
        self._pass()
        found = self._there(what, room)
        if not found:
            self._stopped()
        return found

    def arm(self, what: Ready, room: int = 1) -> Ready:
        """Before a poll() of several descriptors: that the kernel wakes it. See wait().

        What is there already is returned. If nothing is, poll() wakes: POLLIN for Ready.DATA,
        POLLOUT for the others; then disarm(), and look.
        """
        found = self._look(what, room)
        if found:
            return found
        self._program_flags[_P_WANTS_DATA] = bool(what & Ready.DATA)
        self._program_flags[_P_WANTS_ROOM] = (what != Ready.DATA or self._passed != self._done)
        self._fence()
        found = self._there(what, room)
        if found:
            self.disarm()
        return found

    def disarm(self) -> None:
        """After that poll()."""
        self._program_flags[_P_WANTS_DATA] = self._program_flags[_P_WANTS_ROOM] = 0

    def _bell_for(self, what: Ready, room: int) -> Tuple[int, int]:
        """The bell's flags, and the position that is to end."""
        flags, ended = _BELL_FILLED if what & Ready.DATA else 0, []
        if self._passed != self._done:      # held up by a chunk that is not taken
            flags |= _BELL_TAKEN
        if what & Ready.OUTCOME:
            ended.append(self._seen + 1)
        if what & Ready.ROOM:
            ended.append(self._staged + _extent(room) - self._tx_size)
        return flags | (_BELL_ENDED if ended else 0), min(ended, default=0)

    def wait(self, what: Ready = Ready.DATA, room: int = 1,
             timeout: Optional[float] = None) -> Ready:
        """Publish what is staged, and sleep until something of `what` is there; what it is.

        room        with Ready.ROOM: bytes of the transaction
        timeout     seconds, then Ready(0); None: however long

        OSError: ENOENT, Ready.OUTCOME alone and nothing is under way; EMSGSIZE, room is more than
        the ring can ever hold; ENODEV, the port of each link is gone.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            found = self.arm(what, room)
            left = -1 if end is None else math.ceil((end - time.monotonic()) * 1000)
            if found or (end is not None and left <= 0):
                self.disarm()
                return found
            flags, ended = self._bell_for(what, room)
            try:
                self._bell(flags, left, ended)
            except InterruptedError:        # its handler has not raised
                pass
            finally:
                self.disarm()
