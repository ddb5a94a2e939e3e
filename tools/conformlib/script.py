# SPDX-License-Identifier: GPL-2.0
"""An end that does only what a test tells it: it sends what is asked for, and waits for what is to come."""

from __future__ import annotations

import contextlib
from typing import Callable, Iterator, List, Optional

from .cable import Line, until
from .frame import HEADER, QUESTIONS, SYNCS, Flag, Frame, Kind, Mark, Op, add, cut, reflection
from .run import End
from .tap import Failed, check

PATIENCE = 10.0     # s that a frame may take
LONG = bytes(range(256)) * 24       # several slices


class Script(End):
    """An end in the hands of a test. `seen` has the frames that the last expect() passed over.

    longest     frames that are longer, in bytes, do not come through; `lost` has them
    """

    def __init__(self, *where, **how):
        super().__init__(*where, **how)
        self.seen: List[Frame] = []
        self.longest = 65536
        self.lost: List[Frame] = []
        self._passed: List[Frame] = []      # OFFERs that came while something else was waited for

    def new_run(self) -> None:
        super().new_run()
        self._passed = []

    def recv_until(self, limit: float) -> Optional[Frame]:
        """The next frame on this vc; None: none came until then. A question of this run is heard."""
        while (frame := self.cable.recv(limit)) is not None:
            if frame.vc == self.vc and frame.op not in (Op.HELLO, Op.PATH):
                if HEADER.size + len(frame.payload) > self.longest:
                    self.lost.append(frame)
                    continue
                if frame.op in QUESTIONS and frame.dst_ltag == self.ltag:
                    self.heard.hear(frame.number)
                return frame
        return None

    def expect(self, op: int, where: Callable[[Frame], object] = lambda frame: True,
               patience: float = PATIENCE) -> Frame:
        """The next frame with this opcode of which `where` holds; Failed: none came in time."""
        self.seen = []
        limit = until(patience)
        while (frame := self.recv_until(limit)) is not None:
            if frame.op == op and where(frame):
                return frame
            self.seen.append(frame)
            if frame.op == Op.OFFER:
                self._passed.append(frame)
        raise Failed("\n".join([f"no {Op(op).name} as it should be within {patience} s; there came",
                                *map(str, self.seen[-20:])]))

    @contextlib.contextmanager
    def by(self, cable: Line) -> Iterator[Script]:
        """Meanwhile all goes, and comes, by another cable."""
        before, self.cable = self.cable, cable
        try:
            yield self
        finally:
            self.cable = before

    # --- beginning and end

    def open(self) -> Frame:
        """Open the link from here, by SYNC (4.5, 4.6); the SYNC_ACK by which the peer is OPEN."""
        self.send_sync()
        answer = self.expect(Op.SYNC_CHK, lambda frame: frame.dst_ltag == self.ltag)
        self.peer_ltag = answer.src_ltag            # a cookie
        self.send_sync()
        return self.resolve(self.expect(Op.SYNC, lambda frame: frame.dst_ltag == self.ltag))

    def resolve(self, sync: Frame) -> Frame:
        """Answer a SYNC that names the own ltag; the SYNC_ACK that answers. The peer is new or as it was."""
        stand = self.learn(sync)
        if stand.inc != self.peer_inc:
            self.peer_inc, self.rx = stand.inc, stand.start
        self.send_sync(Op.SYNC_ACK)
        return self.expect(Op.SYNC_ACK, lambda frame: (frame.src_ltag, frame.dst_ltag) ==
                           (self.peer_ltag, self.ltag))

    def thaw(self, sync: Frame) -> Frame:
        """Freeze as well after a SYNC of a peer that froze, and resolve; the SYNC_ACK of the peer."""
        self.new_run()
        self.learn(sync)
        self.send_sync()
        answer = self.expect(Op.SYNC_ACK, lambda frame: (frame.src_ltag, frame.dst_ltag) ==
                             (self.peer_ltag, self.ltag))
        self.send_sync(Op.SYNC_ACK)
        return answer

    def freeze(self) -> Frame:
        """Draw a new ltag and synchronise anew; the SYNC by which the frozen peer answers."""
        self.new_run()
        self.send_sync()
        return self.expect(Op.SYNC, lambda frame: frame.dst_ltag == self.ltag)

    def probe(self) -> Frame:
        """SYNC with the ltags of this run; the SYNC_ACK. `seen` has what the peer sent before that."""
        self.send_sync()
        return self.expect(Op.SYNC_ACK, lambda frame: (frame.src_ltag, frame.dst_ltag) ==
                           (self.peer_ltag, self.ltag))

    def silent(self, *ops: int) -> Frame:
        """Failed if what was sent before made the peer send one of these opcodes, any if none are given."""
        answer = self.probe()
        said = [str(frame) for frame in self.seen if not ops or frame.op in ops]
        check(not said, "the peer should not have said", *said)
        return answer

    def close(self) -> None:
        """Close the link, and wait until the peer has forgotten it."""
        self.send(Op.CLOSE)
        self.expect(Op.CLOSE_ACK)

    # --- transactions from here

    def ask(self, seq: Optional[int] = None, **other: int) -> int:
        """Send ASK for tx + 1, or another number; its number."""
        return self.send(Op.ASK, seq=add(self.tx, 1) if seq is None else seq, **other).number

    def offer(self, data: bytes, seq: Optional[int] = None, **other: int) -> List[bytes]:
        """Send a transaction, all slices; what it was cut into. seq: tx + 1 if it is not given."""
        slices = cut(data, self.slice_size)
        for part in range(len(slices)):
            self.cable.send(self.offer_frame(add(self.tx, 1) if seq is None else seq, part, slices,
                                             **other))
        return slices

    def reflected(self, slices: List[bytes], seq: Optional[int] = None, **other: int) -> Frame:
        """The REFLECT of that, which must say what was offered."""
        number = add(self.tx, 1) if seq is None else seq
        frame = self.expect(Op.REFLECT, lambda frame: frame.seq == number)
        check(frame.payload[:16] == reflection(slices), "REFLECT says", frame.payload[:16].hex(),
              "of what is", reflection(slices).hex())
        check(frame.kind == other.get("kind", Kind.MESSAGE), "the kind is", frame.kind)
        return frame

    def commit(self, upto: Optional[int] = None, done: bool = True) -> Optional[Frame]:
        """COMMIT of tx + 1, or of all up to a number; with `done` the DONE."""
        self.tx = add(self.tx, 1) if upto is None else upto
        self.send(Op.COMMIT, flags=Flag.WANT_DONE if done else 0)
        return self.expect(Op.DONE, lambda frame: frame.rx == self.tx) if done else None

    def message(self, data: bytes) -> None:
        """One message from here, committed and delivered."""
        self.reflected(self.offer(data))
        self.commit()

    # --- transactions of the peer

    def offered(self, seq: Optional[int] = None, **fields: int) -> Frame:
        """The OFFER that ends in LAST, of rx + 1 if no number is given."""
        number = add(self.rx, 1) if seq is None else seq

        def fits(frame: Frame) -> bool:
            return frame.seq == number and bool(frame.flags & Flag.LAST) and \
                all(getattr(frame, name) == value for name, value in fields.items())

        before, self._passed = self._passed, []
        for at, frame in enumerate(before):
            if fits(frame):
                self.seen, self._passed = before[:at], before[at + 1:]
                break
        else:
            frame = self.expect(Op.OFFER, fits)
            self.seen[:0], self._passed = before, []
        self._passed[:0] = [other for other in self.seen if other.op == Op.OFFER and other.seq != number]
        return frame

    def gather(self, seq: Optional[int] = None) -> List[bytes]:
        """All slices of the peer's OFFER of a number, in order, each without a gap."""
        last = self.offered(seq)
        parts = {frame.slice: frame.payload for frame in [*self.seen, last]
                 if frame.op == Op.OFFER and frame.seq == last.seq}
        check(sorted(parts) == list(range(last.slice + 1)), "slices", sorted(parts), "of", last.slice + 1)
        return [parts[n] for n in sorted(parts)]

    def gather_slowly(self) -> List[bytes]:
        """The same of rx + 1, where more slices than may be under way are sent as ACKs come."""
        number, parts, count = add(self.rx, 1), {}, None
        while count is None or len(parts) < count:
            frame = self.expect(Op.OFFER, lambda frame: frame.seq == number)
            parts[frame.slice] = frame.payload
            count = frame.slice + 1 if frame.flags & Flag.LAST else count
            if frame.marks & Mark.ANSWER and len(parts) != count:
                self.send(Op.ACK, sum(1 << n for n in parts).to_bytes(8, "big"), newest=True, seq=number)
        return [parts[n] for n in range(count)]

    def reflect(self, slices: List[bytes], seq: Optional[int] = None, more: bytes = b"",
                **other: int) -> None:
        """Send the REFLECT of what was gathered."""
        number = add(self.rx, 1) if seq is None else seq
        self.send(Op.REFLECT, reflection(slices) + more, newest=True, seq=number, **other)

    def take(self, slices: Optional[List[bytes]] = None) -> bytes:
        """The next message of the peer, reflected and committed."""
        slices = slices or self.gather()
        self.reflect(slices)
        self.committed()
        return b"".join(slices)

    def committed(self) -> Frame:
        """The frame of this run that commits rx + 1, which is then delivered here.

        If that is the next OFFER, offered() still has it.
        """
        number = add(self.rx, 1)
        frame = self.expect_any(lambda frame: frame.tx == number and frame.dst_ltag == self.ltag)
        self.rx = number
        if frame.flags & Flag.WANT_DONE and frame.op == Op.COMMIT:
            self.send(Op.DONE, newest=True)
        if frame.op == Op.OFFER:
            self._passed.append(frame)
        return frame

    def expect_any(self, where: Callable[[Frame], object]) -> Frame:
        """The next frame of this run of which `where` holds."""
        limit = until(PATIENCE)
        seen = []
        while (frame := self.recv_until(limit)) is not None:
            if frame.op not in SYNCS and where(frame):
                return frame
            seen.append(str(frame))
            if frame.op == Op.OFFER:
                self._passed.append(frame)
        raise Failed("\n".join(["what should come has not; there came", *seen[-20:]]))


def is_now(frame: Frame, number: int) -> bool:
    """Does an answer say that it was sent in the event that heard this question first?"""
    return frame.number == number and bool(frame.marks & Mark.NOW)
