# SPDX-License-Identifier: GPL-2.0
"""What leads from one end to the other: PATH (4.14), VIA (2.1), and HELLO (4.8, 4.13)."""

from __future__ import annotations

import dataclasses
import enum
import struct
from typing import NamedTuple, Optional, Tuple

from .cable import Cable
from .frame import HEADER, VERSION, BadFrame, Flag, frame_digest, seal
from .siphash import siphash

_PATH = struct.Struct(">BxH6s6sQQ")                 # 32 bytes
_PROVEN = struct.Struct(">BxH6s6sQ6s6sB")
_GATEWAY = struct.Struct(">BxHHHIHH6s2x")           # 24 bytes
_NODE = struct.Struct(">B3xH2xQQ")                  # the same
_VIA_BYTES, _VIA_WORDS = 12, 3
_WITH_VIA = 128


class Role(enum.IntEnum):
    """Of a PATH."""
    PROBE = 1
    ANSWER = 2
    PLACE = 3


class Way(NamedTuple):
    """What the proof of a PATH is over beside its payload: where it goes from, and to, and vc."""
    source: bytes
    dest: bytes
    vc: int
    via: bool = False


@dataclasses.dataclass
class Path:
    """The payload of PATH."""
    role: int
    mtu: int
    to: bytes
    own: bytes          # from
    nonce: int
    proof: int = 0

    def pack(self) -> bytes:
        """Its 32 bytes."""
        return _PATH.pack(self.role, self.mtu, self.to, self.own, self.nonce, self.proof)

    @classmethod
    def parse(cls, payload: bytes) -> Path:
        """The one of these bytes; struct.error: they are not 32."""
        return cls(*_PATH.unpack(payload))

    def proof_of(self, incs: Tuple[int, int], way: Way) -> int:
        """The proof that it should have between ends with these incarnations."""
        return siphash(min(incs), max(incs), _PROVEN.pack(
            self.role | (_WITH_VIA if way.via else 0), self.mtu, self.to, self.own, self.nonce, way.source,
            way.dest, way.vc))

    def proven(self, incs: Tuple[int, int], way: Way) -> Path:
        """The same with that."""
        return dataclasses.replace(self, proof=self.proof_of(incs, way))


def with_via(raw: bytes, dest: bytes, source: bytes) -> bytes:
    """The bytes of a frame that goes through a gateway to its final destination."""
    head = bytes([VERSION << 4 | _VIA_WORDS]) + raw[1:3] + bytes([raw[3] | Flag.VIA]) + raw[4:HEADER.size]
    return seal(head + dest + source + raw[HEADER.size:], HEADER.size + _VIA_BYTES)


def without_via(raw: bytes) -> Tuple[bytes, bytes, bytes]:
    """The frame that it would be without, its final destination, its original source; BadFrame: it has none."""
    whole = HEADER.size + _VIA_BYTES
    if len(raw) < whole or raw[0] != VERSION << 4 | _VIA_WORDS or not raw[3] & Flag.VIA:
        raise BadFrame("bad_hlen")
    if frame_digest(raw[:whole], raw[whole:]) != int.from_bytes(raw[40:48], "big"):
        raise BadFrame("bad_digest")
    bare = bytes([VERSION << 4]) + raw[1:3] + bytes([raw[3] & ~Flag.VIA]) + raw[4:HEADER.size] + raw[whole:]
    return seal(bare), raw[HEADER.size:HEADER.size + 6], raw[HEADER.size + 6:whole]


class Says(enum.IntFlag):
    """Flags of HELLO."""
    GATEWAY = 0x01
    LEAVING = 0x02
    ASK = 0x04
    ABOUT = 0x08
    NODE = 0x10


@dataclasses.dataclass
class Hello:        # pylint: disable=too-many-instance-attributes
    """The payload of a HELLO without NODE; what is given is as a gateway says it."""
    flags: int = Says.GATEWAY
    zone: int = 1
    mtu: int = 1500
    epoch: int = 0
    inc: int = 1
    life: int = 600
    node_life: int = 600
    about: bytes = bytes(6)

    def pack(self) -> bytes:
        """Its 24 bytes."""
        return _GATEWAY.pack(*dataclasses.astuple(self))

    @classmethod
    def parse(cls, payload: bytes) -> Hello:
        """The one of these bytes; struct.error: they are not 24."""
        return cls(*_GATEWAY.unpack(payload))


LEAST_ID = 1 << 48


@dataclasses.dataclass
class Node:
    """The payload of a HELLO with NODE."""
    id: int
    inc: int
    mtu: int = 1500
    flags: int = Says.NODE

    def pack(self) -> bytes:
        """Its 24 bytes."""
        return _NODE.pack(self.flags, self.mtu, self.id, self.inc)

    @classmethod
    def parse(cls, payload: bytes) -> Node:
        """The one of these bytes; struct.error: they are not 24."""
        flags, mtu, number, inc = _NODE.unpack(payload)
        return cls(number, inc, mtu, flags)


class Behind(Cable):
    """An address of this end behind a gateway, which is another address here."""

    def __init__(self, cable: Cable, gateway: bytes, mac: bytes):
        super().__init__(cable.device, cable.peer.hex(":"), mac=gateway)
        self._gateway, self.mac = gateway, mac
        self.story = cable.story

    def _put(self, raw: bytes, source: bytes, dest: bytes) -> None:
        super()._put(with_via(raw, dest, source), self._gateway, self.peer)

    def _get(self) -> Optional[bytes]:
        raw = super()._get()
        if raw is None or not raw[3] & Flag.VIA:
            return None
        bare, dest, source = without_via(raw)
        return bare if (dest, source) == (self.mac, self.peer) else None
