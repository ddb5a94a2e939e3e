# SPDX-License-Identifier: GPL-2.0
"""SipHash-2-4, the hash of the proofs of paths (4.14)."""

_ALL = (1 << 64) - 1


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & _ALL


def _rounds(v0: int, v1: int, v2: int, v3: int, count: int) -> tuple:
    for _ in range(count):
        v0 = v0 + v1 & _ALL
        v1 = _rotated(v1, 13) ^ v0
        v0 = _rotated(v0, 32)
        v2 = v2 + v3 & _ALL
        v3 = _rotated(v3, 16) ^ v2
        v0 = v0 + v3 & _ALL
        v3 = _rotated(v3, 21) ^ v0
        v2 = v2 + v1 & _ALL
        v1 = _rotated(v1, 17) ^ v2
        v2 = _rotated(v2, 32)
    return v0, v1, v2, v3


def siphash(key0: int, key1: int, data: bytes) -> int:
    """The hash of the data under a key of two words."""
    v0, v1 = key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d
    v2, v3 = key0 ^ 0x6c7967656e657261, key1 ^ 0x7465646279746573
    whole = len(data) & ~7
    for at in range(0, whole + 1, 8):
        word = int.from_bytes(data[at:at + 8], "little")
        if at == whole:
            word |= (len(data) & 0xff) << 56
        v0, v1, v2, v3 = _rounds(v0, v1, v2, v3 ^ word, 2)
        v0 ^= word
    v0, v1, v2, v3 = _rounds(v0, v1, v2 ^ 0xff, v3, 4)
    return v0 ^ v1 ^ v2 ^ v3


# The example of the paper that describes it.
assert siphash(0x0706050403020100, 0x0f0e0d0c0b0a0908, bytes(range(15))) == 0xa129ca6149be45e5
