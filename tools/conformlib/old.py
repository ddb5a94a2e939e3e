# SPDX-License-Identifier: GPL-2.0
"""Version 1 of the protocol, as far as 2.6 tells of it: a header of 40 bytes, a SYNC of 32 more."""

from typing import Optional

from .cable import until
from .frame import Op, Reason
from .run import random_bits
from .script import PATIENCE
from .tap import check
from .xxh64 import xxh64

_HEAD = 40


def sync_v1(vc: int, ltag: int) -> bytes:
    """A SYNC of version 1 with no counters: digest at 32, over header and payload as in 2.5."""
    payload = random_bits(64).to_bytes(8, "big") + bytes(24)
    head = (bytes([0x1a, Op.SYNC, vc, 0]) + len(payload).to_bytes(2, "big") + bytes(2) +
            ltag.to_bytes(4, "big") + bytes(_HEAD - 12))
    return head[:32] + xxh64(head, xxh64(payload)).to_bytes(8, "big") + payload


def refused_v1(test, vc: Optional[int] = None) -> None:
    """The CLOSE that answers such a SYNC, and its counter."""
    before = test.far.stats()["bad_version"]
    vc = test.vc() if vc is None else vc
    ltag = random_bits(32)
    test.cable.send_raw(sync_v1(vc, ltag))
    limit = until(PATIENCE)
    while (raw := test.cable.recv_raw(limit)) is not None:
        if raw[0] == 0x1a and raw[2] == vc:
            break
    check(raw, "no answer of version 1")
    check(raw[1] == Op.CLOSE and raw[30:32] == bytes([0, Reason.POLICY]), "it is", raw.hex())
    check(raw[12:16] == ltag.to_bytes(4, "big") and raw[8:12] == bytes(4), "its ltags", raw[8:16].hex())
    check(int.from_bytes(raw[32:40], "big") == xxh64(raw[:32] + bytes(8), xxh64(b"")), "its digest")
    check(test.far.stats()["bad_version"] == before + 1, "bad_version was not counted")
