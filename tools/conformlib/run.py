# SPDX-License-Identifier: GPL-2.0
"""One end of a link as far as every frame needs it: ltags, counters, the numbers of frames (4.16)."""

import random
from typing import Optional

from .cable import Line
from .frame import (ANSWERS, GRANTLESS, MOST_GRANT, QUESTIONS, Flag, Frame, Mark, Op, Stand, add,
                    distance)

_TOLD = 33          # an answer tells of so many questions


def random_bits(bits: int) -> int:
    """A random number of so many bits that is not 0."""
    return random.SystemRandom().randrange(1, 1 << bits)


class Heard:
    """Which questions of a run were heard: what answers say of them."""

    def __init__(self) -> None:
        self.newest = 0
        self._numbers = set()

    def hear(self, number: int) -> bool:
        """A question was handled. Returns: is it the newest, and new?"""
        new = number not in self._numbers
        self._numbers.add(number)
        if len(self._numbers) == 1 or distance(number, self.newest) > 0:
            self.newest = number
            return new
        return False

    def map(self) -> int:
        """32 bits: bit n is set if newest - 1 - n was heard."""
        return sum(1 << n for n in range(_TOLD - 1)
                   if add(self.newest, -1 - n) in self._numbers) if self._numbers else 0


class End:      # pylint: disable=too-many-instance-attributes
    """An end of the link on one vc; what it sends has its ltags, counters and numbers."""

    def __init__(self, cable: Line, vc: int, *, window: int = 16, caps: int = 0, start: int = 0,
                 max_len: int = 65536, mtu: Optional[int] = None):
        self.cable, self.vc = cable, vc
        self.window, self.caps, self.max_len, self.start = window, caps, max_len, start
        self.mtu = mtu or cable.mtu
        self.inc = random_bits(64)
        self.peer_inc = 0
        self.peer: Optional[Stand] = None       # what the peer said in its last SYNC*
        self.peer_ltag = 0
        self.tx, self.rx = start, 0
        self.grant = MOST_GRANT     # of each frame
        self.ltag = self.asked = 0
        self.heard = Heard()
        self.new_run()

    def new_run(self) -> None:
        """Draw another ltag; questions are counted anew."""
        self.ltag = random_bits(32)
        self.asked = 0              # pn of the last question
        self.heard = Heard()

    @property
    def slice_size(self) -> int:
        """Bytes of payload that a frame of this link may have."""
        return min(self.mtu, self.peer.mtu if self.peer else self.mtu) - 48

    def stand(self, **other: int) -> Stand:
        """What a SYNC says of this end, but for the members that are given."""
        members = {"inc": self.inc, "peer_inc": self.peer_inc, "caps": self.caps | self.window - 1,
                   "max_len": self.max_len, "start": self.start, "mtu": self.mtu}
        return Stand(**(members | other))

    def frame(self, op: int, payload: bytes = b"", newest: bool = False, **other: int) -> Frame:
        """A frame with all that every frame says, but for the fields that are given.

        A question is the next one. newest: an answer in the event that heard the newest question.
        """
        fields = {"vc": self.vc, "src_ltag": self.ltag, "dst_ltag": self.peer_ltag, "tx": self.tx,
                  "rx": self.rx, "grant": 0 if op in GRANTLESS else self.grant}
        if op in QUESTIONS:
            self.asked = add(self.asked, 1)
            fields["number"] = self.asked
        if op in ANSWERS:
            fields |= {"number": self.heard.newest, "map": self.heard.map(),
                       "marks": Mark.NOW if newest else 0}
        if op == Op.CLOSE and not other.get("reason"):      # nothing is held, and nothing undecided
            fields |= {"seq": self.rx, "flags": Flag.LAST}
        return Frame(op, payload, **(fields | other))

    def send(self, op: int, payload: bytes = b"", **other: int) -> Frame:
        """Send such a frame, and return it."""
        frame = self.frame(op, payload, **other)
        self.cable.send(frame)
        return frame

    def send_sync(self, op: int = Op.SYNC, stand: Optional[Stand] = None, **other: int) -> Frame:
        """Send SYNC, SYNC_ACK or SYNC_CHK."""
        return self.send(op, (stand or self.stand()).pack(), **other)

    def learn(self, frame: Frame) -> Stand:
        """Take the peer's ltag, and what it says, from a SYNC*."""
        self.peer = Stand.parse(frame.payload)
        self.peer_ltag = frame.src_ltag
        return self.peer

    def offer_frame(self, seq: int, part: int, slices, **other: int) -> Frame:
        """The OFFER of one slice of a transaction, flagged LAST and marked ANSWER if it is the last one."""
        last = part == len(slices) - 1
        flags = other.pop("flags", 0) | (Flag.LAST if last else 0)
        marks = other.pop("marks", Mark.ANSWER if last else 0)
        return self.frame(Op.OFFER, slices[part], seq=seq, slice=part, flags=flags, marks=marks, **other)
