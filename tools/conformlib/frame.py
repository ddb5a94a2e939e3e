# SPDX-License-Identifier: GPL-2.0
"""What frames look like: section 2 of doc/protocol.md. All fields are big-endian."""

from __future__ import annotations

import dataclasses
import enum
import struct
from typing import List, Optional, Sequence, Set

from .xxh64 import xxh64

VERSION = 2
ETHERTYPE = 0x88B5
HEADER = struct.Struct(">BBBBHBBIIIIIHBBIIQ")       # 48 bytes
SYNC = struct.Struct(">QQIIIH10xQQB7x")             # 64 bytes
MOST_SLICES = 64
MOST_GRANT = 0xffff     # that a frame can say, in units of
GRANT_UNIT = 256        # bytes
SLICE_COST = 1024       # bytes that a slice costs beside its own (4.11)
_DIGEST_AT = 40


class Op(enum.IntEnum):
    """Opcodes (2.3)."""
    SYNC = 1
    SYNC_ACK = 2
    SYNC_CHK = 3
    CLOSE = 4
    CLOSE_ACK = 5
    OFFER = 6
    REFLECT = 7
    COMMIT = 8
    REFUSE = 9
    READY = 10
    DONE = 12
    HELLO = 13
    NOLINK = 14
    PATH = 15
    ASK = 16
    ACK = 17


SYNCS = Op.SYNC, Op.SYNC_ACK, Op.SYNC_CHK
QUESTIONS = Op.OFFER, Op.COMMIT, Op.ASK
ANSWERS = Op.REFLECT, Op.ACK, Op.REFUSE, Op.READY, Op.DONE
GRANTLESS = Op.HELLO, Op.NOLINK, Op.PATH


class Kind(enum.IntEnum):
    """Kinds of transactions."""
    MESSAGE = 0
    SWAP = 1
    VERB = 2
    VOID = 3
    PACK = 4


class Flag(enum.IntFlag):
    """Flags (2.2)."""
    EXPRESS = 0x01
    LAST = 0x02
    RESUME = 0x04
    WANT_DONE = 0x08
    VIA = 0x20
    AUTH = 0x40


class Mark(enum.IntFlag):
    """Marks of an answer, of an OFFER, and of a COMMIT (2.1)."""
    NOW = 0x01
    ANSWER = 0x02
    BLOCKED = 0x04


class Reason(enum.IntEnum):
    """Why something is refused (2.4)."""
    BUSY = 1
    NO_HALF = 3
    CONFLICT = 4
    TOO_BIG = 5
    KIND = 6
    POLICY = 7
    FULL = 8
    NO_REGION = 9
    RANGE = 10
    ACCESS = 11
    BAD_VERB = 12


FOR_NOW = Reason.BUSY, Reason.NO_HALF, Reason.CONFLICT


class BadFrame(ValueError):
    """Bytes that are no frame; its text is the counter that 2.6 has for it."""


def distance(one: int, other: int) -> int:
    """How far a number of 32 bits is ahead of another, from -2^31 to 2^31 - 1."""
    return (one - other + (1 << 31) & 0xffffffff) - (1 << 31)


def add(number: int, more: int) -> int:
    """A number of 32 bits, so many further on."""
    return number + more & 0xffffffff


def frame_digest(head: bytes, payload: bytes) -> int:
    """The digest (2.5) of a frame: `head` is its header with extensions, of any content."""
    bare = head[:_DIGEST_AT] + bytes(8) + head[_DIGEST_AT + 8:]
    return xxh64(bare, xxh64(payload, head[6]))


def seal(raw: bytes, head: int = HEADER.size) -> bytes:
    """The same frame with the digest that fits it; `head` is bytes of header and extensions."""
    right = frame_digest(raw[:head], raw[head:])
    return raw[:_DIGEST_AT] + right.to_bytes(8, "big") + raw[_DIGEST_AT + 8:]


def transaction_digest(slices: Sequence[bytes], kept: Optional[Sequence[int]] = None) -> int:
    """The digest (2.5) of a transaction that was cut into these slices, or of those of them that are kept."""
    return xxh64(b"".join(xxh64(part, n).to_bytes(8, "big") for n, part in enumerate(slices)
                          if kept is None or n in kept))


def cut(data: bytes, size: int) -> List[bytes]:
    """A transaction as slices of `size` bytes, the last one shorter; nothing is one of no bytes."""
    return [data[at:at + size] for at in range(0, len(data), size)] or [b""]


def reflection(slices: Sequence[bytes]) -> bytes:
    """The first 16 bytes of the payload of the REFLECT of a transaction."""
    first = b"".join(slices)[:8] if len(slices[0]) < 8 else slices[0][:8]
    return transaction_digest(slices).to_bytes(8, "big") + first.ljust(8, b"\0")


def pack(messages: Sequence[bytes]) -> bytes:
    """The payload of a pack (4.12) of 1 to 64 messages."""
    return bytes([len(messages), 0]) + b"".join(len(data).to_bytes(2, "big") for data in messages) + \
        b"".join(messages)


def unpack(payload: bytes) -> List[bytes]:
    """The messages of a pack; ValueError: it is malformed."""
    count = payload[0] if payload else 0
    sizes = [int.from_bytes(payload[at:at + 2], "big") for at in range(2, 2 + 2 * count, 2)]
    if not 1 <= count <= 64 or payload[1:2] != b"\0" or 0 in sizes or \
            len(payload) != 2 + 2 * count + sum(sizes):
        raise ValueError("a malformed pack")
    messages, at = [], 2 + 2 * count
    for size in sizes:
        messages.append(payload[at:at + size])
        at += size
    return messages


def have(frame: Frame) -> Set[int]:
    """The slices that an ACK says are there."""
    bits = int.from_bytes(frame.payload, "big")
    return {n for n in range(MOST_SLICES) if bits >> n & 1}


def cost(slices: Sequence[bytes]) -> int:
    """What slices of a message, or a pack, cost (4.11)."""
    return sum(len(part) + SLICE_COST for part in slices)


@dataclasses.dataclass
class Frame:        # pylint: disable=too-many-instance-attributes
    """A frame behind its Ethernet header; `number` is pn of a question, ack of an answer."""
    op: int
    payload: bytes = b""
    vc: int = 0
    flags: int = 0
    slice: int = 0
    kind: int = 0
    src_ltag: int = 0
    dst_ltag: int = 0
    tx: int = 0
    rx: int = 0
    seq: int = 0
    grant: int = 0
    reason: int = 0
    marks: int = 0
    number: int = 0
    map: int = 0

    def pack(self) -> bytes:
        """Its bytes, with the digest; struct.error: a field is out of its range."""
        head = HEADER.pack(VERSION << 4, self.op, self.vc, self.flags, len(self.payload), self.slice,
                           self.kind, self.src_ltag, self.dst_ltag, self.tx, self.rx, self.seq,
                           self.grant, self.reason, self.marks, self.number, self.map, 0)
        return seal(head + self.payload)

    @classmethod
    def parse(cls, raw: bytes) -> Frame:
        """The frame of these bytes, which has no VIA; BadFrame says what is wrong."""
        if len(raw) < HEADER.size:
            raise BadFrame("bad_short")
        (first, op, vc, flags, length, part, kind, src, dst, tx, rx, seq, grant, reason, marks,
         number, heard, digest) = HEADER.unpack_from(raw)
        payload = raw[HEADER.size:]
        for wrong, counter in ((first >> 4 != VERSION, "bad_version"), (flags & 0x90, "bad_flags"),
                               (op not in list(Op), "bad_opcode"),
                               (first & 15 or flags & Flag.VIA, "bad_hlen"),
                               (len(payload) < length, "bad_short"),
                               (len(payload) > length, "bad_long"),
                               (grant and op in GRANTLESS, "bad_field"),
                               (flags & Flag.AUTH, "bad_auth"),
                               (frame_digest(raw[:HEADER.size], payload) != digest, "bad_digest")):
            if wrong:
                raise BadFrame(counter)
        return cls(op, payload, vc, flags, part, kind, src, dst, tx, rx, seq, grant, reason, marks,
                   number, heard)

    def __str__(self) -> str:
        name = Op(self.op).name if self.op in list(Op) else f"opcode {self.op}"
        return (f"{name} vc {self.vc} {self.src_ltag:08x}>{self.dst_ltag:08x} tx {self.tx} rx {self.rx} "
                f"seq {self.seq} slice {self.slice} kind {self.kind} flags {self.flags:02x} "
                f"reason {self.reason} marks {self.marks} no {self.number} map {self.map:x} "
                f"grant {self.grant}, {len(self.payload)} bytes")


@dataclasses.dataclass
class Stand:
    """The payload of SYNC, SYNC_ACK and SYNC_CHK (2.3): where an end stands."""
    inc: int
    peer_inc: int
    caps: int
    max_len: int
    start: int
    mtu: int
    kept: int = 0
    hash: int = 0
    last: int = 0

    PACKS = 1 << 6      # bits of caps
    PATHS = 1 << 7
    GATEWAYS = 1 << 8   # paths through them

    @property
    def window(self) -> int:
        """How many transactions the sender takes at a time, 1 to 64."""
        return (self.caps & 63) + 1

    def pack(self) -> bytes:
        """Its 64 bytes."""
        return SYNC.pack(*dataclasses.astuple(self))

    @classmethod
    def parse(cls, payload: bytes) -> Stand:
        """The one of these 64 bytes; struct.error: they are not 64."""
        return cls(*SYNC.unpack(payload))
