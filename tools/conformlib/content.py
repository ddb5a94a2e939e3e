# SPDX-License-Identifier: GPL-2.0
"""What the messages of the long test hold: both ends can tell from a number what it is."""

import random
from typing import Optional

_SIZES = ((0.85, 4, 120), (0.95, 120, 1400), (0.995, 1400, 6000), (1.0, 6000, 20000))


def message(seed: int, number: int) -> bytes:
    """Message `number` (from 0) of a direction: 4 bytes of number, and 0 to 20000 more at random."""
    chance = random.Random(seed << 32 | number)
    roll = chance.random()
    low, high = next((low, high) for upto, low, high in _SIZES if roll < upto)
    return number.to_bytes(4, "big") + chance.randbytes(chance.randint(low, high) - 4)


def number_of(seed: int, data: bytes) -> Optional[int]:
    """The number of a message that has arrived; None: it is none of this direction."""
    number = int.from_bytes(data[:4], "big")
    return number if len(data) >= 4 and data == message(seed, number) else None
