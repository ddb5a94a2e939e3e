# SPDX-License-Identifier: GPL-2.0
"""XXH64: 64 bits of hash over bytes, with a seed.

>>> f"{xxh64(b''):016x} {xxh64(b'abc'):016x}"
'ef46db3751d8e999 44bc2cf5ad770999'
"""

import struct

_P1 = 0x9E3779B185EBCA87
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x165667B19E3779F9
_P4 = 0x85EBCA77C2B2AE63
_P5 = 0x27D4EB2F165667C5
_MASK = (1 << 64) - 1
_LANES = sum(_MASK << 128 * n for n in range(4))


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _round(lane: int, word: int) -> int:
    lane = lane + word * _P2 & _MASK
    return (lane << 31 | lane >> 33) * _P1 & _MASK


def _stripes(data: bytes, seed: int) -> int:
    """The 32-byte stripes of `data`, of which there is at least one.

    The four lanes are in one integer, each in 128 bits of it, so that a product has room.
    """
    size = len(data) // 32 * 32
    room = bytearray(2 * size)
    memoryview(room).cast("Q")[::2] = memoryview(data)[:size].cast("Q")
    words = (int.from_bytes(room, "little") * _P2).to_bytes(2 * size, "little")
    state = sum(lane << 128 * n for n, lane in enumerate((
        seed + _P1 + _P2 & _MASK, seed + _P2 & _MASK, seed, seed - _P1 & _MASK)))
    for at in range(0, 2 * size, 64):
        state = state + int.from_bytes(words[at:at + 64], "little") & _LANES
        state = (state << 31 | state >> 33) & _LANES
        state = state * _P1 & _LANES
    a, b, c, d = (state >> 128 * n & _MASK for n in range(4))
    hashed = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18) & _MASK
    for lane in a, b, c, d:
        hashed = (hashed ^ _round(0, lane)) * _P1 + _P4 & _MASK
    return hashed


def xxh64(data: bytes, seed: int = 0) -> int:
    """The hash of `data`, an integer of 64 bits; the seed is one as well."""
    hashed = _stripes(data, seed) if len(data) >= 32 else seed + _P5 & _MASK
    hashed = hashed + len(data) & _MASK
    at = len(data) & ~31
    while at + 8 <= len(data):
        word, = struct.unpack_from("<Q", data, at)
        hashed = _rotate(hashed ^ _round(0, word), 27) * _P1 + _P4 & _MASK
        at += 8
    if at + 4 <= len(data):
        word, = struct.unpack_from("<I", data, at)
        hashed = _rotate(hashed ^ word * _P1 & _MASK, 23) * _P2 + _P3 & _MASK
        at += 4
    for byte in data[at:]:
        hashed = _rotate(hashed ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    hashed = (hashed ^ hashed >> 33) * _P2 & _MASK
    hashed = (hashed ^ hashed >> 29) * _P3 & _MASK
    return hashed ^ hashed >> 32
