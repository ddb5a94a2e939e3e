# SPDX-License-Identifier: GPL-2.0
"""An end that keeps the rules of section 4 by itself: both roles, loss, freezing, resolving, closing.

It takes and gives messages, several under way. It takes packs if caps says so, and makes none. It has
neither halves nor regions, and one path. What it hears is handled in step(), which also does what time asks for.
What it has received is read at once, or now and then: until then that takes of what it grants.
"""

from __future__ import annotations

import time
from typing import Dict, List, Optional, Set

from .cable import until
from .frame import (FOR_NOW, GRANT_UNIT, MOST_GRANT, QUESTIONS, SYNCS, Flag, Frame, Kind, Mark, Op,
                    Reason, Stand, add, cost, cut, distance, reflection, unpack)
from .run import End, random_bits
from .tap import Failed, check

PTO = 0.03              # s that an answer may take, before anything is doubled
MOST_PTO = 0.3
ASKS = 6                # after so many without an answer the end freezes
PASSED = 3              # numbers by which a lane is passed
_VOID = [b""]


class Message:
    """One that this end sends. `ending` is None, "committed", "reversed" or "unknown"."""

    def __init__(self, data: bytes):
        self.data = data
        self.ending: Optional[str] = None


class Lane:
    """A number that was given: its content, and how far that is."""

    def __init__(self, message: Message, slices: List[bytes]):
        self.message: Optional[Message] = message       # None: VOID
        self.slices = slices
        self.first = self.last = 0      # pn of the content's first question, of the last one about it
        self.last_offer = 0
        self.reflected = self.parked = False
        self.ready = False              # READY came since it was offered

    @property
    def kind(self) -> int:
        """As frames say it."""
        return Kind.MESSAGE if self.message else Kind.VOID


class Gather:
    """A number that the peer offers: the slices that are here."""

    def __init__(self, kind: int, express: bool):
        self.kind, self.express = kind, express
        self.slices: Dict[int, bytes] = {}
        self.last: Optional[int] = None
        self.kept = False       # from before a freeze

    @property
    def held(self) -> bool:
        """Is all of it here, in this run?"""
        return self.last is not None and len(self.slices) == self.last + 1 and not self.kept

    @property
    def have(self) -> int:
        """A bit for each slice that is here."""
        return sum(1 << n for n in self.slices)

    @property
    def cost(self) -> int:
        """What of it is here in this run costs."""
        return 0 if self.kept or self.kind == Kind.VOID else cost(list(self.slices.values()))

    def whole(self) -> List[bytes]:
        """All slices."""
        return [self.slices[n] for n in range(len(self.slices))]


class Peer(End):        # pylint: disable=too-many-instance-attributes
    """An end of a link. received: the messages that came, in order; counts: what has happened.

    rcvbuf is what unread and held messages may cost; read_every: s from one reading of all to the next.
    """

    def __init__(self, *where, rcvbuf: int = 262144, read_every: float = 0.0, **how):
        super().__init__(*where, **how)
        self.rcvbuf, self.read_every = rcvbuf, read_every
        self._unread = 0                    # what that costs
        self._read_at = 0.0
        self._granted = rcvbuf              # above rx
        self._owes_ready = False
        self._costs: Dict[int, int] = {}    # of numbers above the peer's rx that are charged
        self._may_cost = 0                  # what the peer grants for all of them
        self._blocked = self._said_blocked = False
        self._say_blocked_at = 0.0
        self._free()
        self.state = "CLOSED"
        self.closing = self.peer_closing = self.peer_last = False
        self._top: Optional[int] = None     # what CLOSE has said in this run: nothing above it is taken
        self.received: List[bytes] = []
        self.counts: Dict[str, int] = {}
        self._queue: List[Message] = []
        self._lanes: Dict[int, Lane] = {}
        self._gathers: Dict[int, Gather] = {}
        self._confirmed = self.tx
        self._asks = 0                      # questions without an answer
        self._next_ask = 0.0
        self._news = 0.0                    # when an answer told something new
        self._acked = 0                     # the newest ack
        self._known: Set[int] = set()       # questions that were heard
        self._reflect_at = 0.0
        self._reflects = 0
        self._sync_at = 0.0
        self._syncs = 0
        self._close_at = 0.0
        self._stand: Optional[Stand] = None

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    # --- what its user asks for

    def open(self, patience: float = 10.0) -> None:
        """Open the link; Failed: it is not in time."""
        self.freeze("open")
        self.run(lambda: self.state == "OPEN", "open", patience)

    def post(self, data: bytes) -> Message:
        """Queue a message."""
        message = Message(data)
        self._queue.append(message)
        self._give()
        return message

    def cancel(self, message: Message) -> bool:
        """Reverse a message; False: it has ended already."""
        if message.ending:
            return False
        message.ending = "reversed"
        if message in self._queue:
            self._queue.remove(message)
            return True
        number = next(number for number, lane in self._lanes.items() if lane.message is message)
        self._void(number)
        return True

    def close(self, patience: float = 20.0) -> None:
        """Close the link once all is committed and confirmed; Failed: it is not in time."""
        self.closing = True
        self.run(lambda: self.state == "CLOSED", "close", patience)

    @property
    def waiting(self) -> int:
        """How many messages have not ended."""
        return len(self._queue) + sum(lane.message is not None for lane in self._lanes.values())

    @property
    def idle(self) -> bool:
        """Has all that was posted ended, and does the peer know?"""
        return self.state == "OPEN" and not self._queue and not self._lanes and \
            self._confirmed == self.tx

    def run(self, done, what: str, patience: float) -> None:
        """step() until a condition holds; Failed: it does not within `patience` seconds of no progress."""
        seen, limit = None, until(patience)
        while not done():
            now = self.tx, self.rx, self.state, self._confirmed
            if now != seen:
                seen, limit = now, until(patience)
            if time.monotonic() > limit:
                raise Failed(f"{what}: no progress for {patience} s: {self}")
            self.step(limit)

    def __str__(self) -> str:
        return (f"{self.state} tx {self.tx} rx {self.rx} confirmed {self._confirmed} queue "
                f"{len(self._queue)} lanes {sorted(self._lanes)} gathers {sorted(self._gathers)} "
                f"{self.counts}")

    def step(self, limit: float) -> None:
        """Handle one frame, or what time asks for, until `limit`, a time of time.monotonic(), at most."""
        frame = self.cable.recv(min(limit, self._wake()))
        if frame is not None and frame.vc == self.vc:
            self._handle(frame)
        now = time.monotonic()
        if now >= self._read_at:
            self._read(now)
        self._timer(now)

    # --- credit (4.11)

    def _read(self, now: float) -> None:
        """Read all; READY if the peer waits for that."""
        self._read_at = now + self.read_every
        self._unread = 0
        self._free()
        if self._owes_ready and self.grant and self.state == "OPEN":
            self._owes_ready = False
            self._count("READY")
            self.send(Op.READY)

    def _free(self) -> None:
        """Grant what rcvbuf leaves, if that is more than is granted already."""
        self._granted = max(self._granted, self.rcvbuf - self._unread)
        self.grant = min(self._granted // GRANT_UNIT, MOST_GRANT)

    def _check_granted(self, frame: Frame, gather: Gather) -> None:
        """Failed: the peer offers a slice that is not here, and was not granted."""
        if frame.kind == Kind.VOID or frame.slice in gather.slices:
            return
        gathered = sum(other.cost for other in self._gathers.values())
        check(gathered + cost([frame.payload]) <= self._granted or gathered == gather.cost and self.grant,
              gathered, "bytes are here, granted are", self._granted, "there came", frame)

    def _granted_in(self, frame: Frame) -> None:
        """Take what a frame of the run grants, after its rx."""
        if frame.rx == self._confirmed:
            self._may_cost = max(self._may_cost, frame.grant * GRANT_UNIT)

    def _delivered_upto(self, number: int) -> None:
        """The peer has delivered up to that number, and grants so much less above it."""
        while self._confirmed != number:
            self._confirmed = add(self._confirmed, 1)
            self._may_cost = max(0, self._may_cost - self._costs.pop(self._confirmed, 0))

    def _may_give(self, slices: List[bytes]) -> bool:
        charged = sum(self._costs.values())
        return charged + cost(slices) <= self._may_cost or not charged and self._may_cost >= GRANT_UNIT

    def _say_blocked(self) -> None:
        """Once nothing is in flight, and now and then as READY may be lost."""
        if self._lanes or self._said_blocked:
            return
        self._said_blocked = True
        self._count("blocked")
        self._say_blocked_at = time.monotonic() + 8 * PTO
        self._say_commit(Flag.WANT_DONE)

    def _say_commit(self, flags: int = 0) -> None:
        self.send(Op.COMMIT, flags=flags, marks=Mark.BLOCKED if self._blocked else 0)

    # --- time (4.4)

    def _asking(self) -> bool:
        """Does this end wait for an answer?"""
        lane = self._lanes.get(add(self.tx, 1))
        return (lane is not None and not lane.parked) or self._confirmed != self.tx

    def _wake(self) -> float:
        if self.state != "OPEN":
            return self._sync_at
        times = [time.monotonic() + MOST_PTO]
        if self._unread:
            times.append(self._read_at)
        if self._said_blocked:
            times.append(self._say_blocked_at)
        if self._asking():
            times.append(self._next_ask)
        if any(gather.held for gather in self._gathers.values()):
            times.append(self._reflect_at)
        if self.closing:
            times.append(self._close_at)
        return min(times)

    def _timer(self, now: float) -> None:
        if self.state == "CLOSED":
            return
        if self.state != "OPEN":
            if now >= self._sync_at:
                self._say_sync()
            return
        if self._asking() and now >= self._next_ask:
            self._ask_again(now)
        if self._said_blocked and now >= self._say_blocked_at and self.state == "OPEN":
            self._said_blocked = False
            self._give()
        held = sorted((n for n, gather in self._gathers.items() if gather.held),
                      key=lambda n: distance(n, self.rx))
        if held and now >= self._reflect_at:
            self._reflects += 1
            self._reflect_at = now + min(2 * PTO * 2 ** self._reflects, 4 * MOST_PTO)
            self._reflect(held[0])
            self._count("reflected again")
        if self.closing and now >= self._close_at and self._may_close():
            self.send(Op.CLOSE, seq=self._stop(), flags=Flag.LAST)
            if self._close_at:
                self.send_sync()
            self._close_at = now + MOST_PTO

    def _ask_again(self, now: float) -> None:
        self._asks += 1
        if self._asks > ASKS:
            self.freeze("no answer")
            return
        self._next_ask = now + min(PTO * 2 ** self._asks, MOST_PTO)
        number = add(self.tx, 1)
        lane = self._lanes.get(number)
        if lane is not None and not lane.parked:
            self._ask(number, lane)
        else:
            self._say_commit(Flag.WANT_DONE)

    def _moved(self) -> None:
        """The wait for an answer begins anew."""
        self._asks = 0
        self._next_ask = time.monotonic() + PTO

    def _stop(self) -> int:
        """Up to which number all is held; what is above that is dropped."""
        if self._top is None:
            self._top = self.rx
            while (gather := self._gathers.get(add(self._top, 1))) and gather.held:
                self._top = add(self._top, 1)
            for number in [n for n in self._gathers if distance(n, self._top) > 0]:
                del self._gathers[number]
        return self._top

    def _may_close(self) -> bool:
        return not self._lanes and not self._queue and self._confirmed == self.tx

    # --- synchronising (4.5)

    def freeze(self, why: str) -> None:
        """Draw a new ltag, and send SYNC."""
        self._count(f"froze: {why}")
        self.new_run()
        self.peer_closing = self.peer_last = False
        self.state = "SYNC_SENT"
        self._syncs = 0
        for gather in self._gathers.values():
            gather.kept = True
        self._top = None
        self._say_sync()

    def _say_sync(self) -> None:
        self._sync_at = time.monotonic() + min(PTO * 2 ** self._syncs, MOST_PTO)
        self._syncs += 1
        self.send_sync()

    def _handle(self, frame: Frame) -> None:
        if frame.op in SYNCS:
            self._handle_sync(frame)
        elif frame.op == Op.NOLINK:
            if self.state == "OPEN" and frame.dst_ltag == self.ltag:
                self.freeze("NOLINK")
        elif frame.op not in (Op.HELLO, Op.PATH):
            self._handle_data(frame)

    def _handle_sync(self, frame: Frame) -> None:
        if self.state == "CLOSED":
            return
        names, known = frame.dst_ltag == self.ltag, frame.src_ltag == self.peer_ltag
        if self.state == "OPEN":
            if frame.op == Op.SYNC and known or frame.op == Op.SYNC_ACK and known and names:
                if names and Stand.parse(frame.payload).peer_inc == self.inc:
                    self._examine(frame)
                if frame.op == Op.SYNC and self.state == "OPEN":
                    self.send_sync(Op.SYNC_ACK)
            elif frame.op == Op.SYNC and names:
                self._learn(frame)
                self.freeze("the peer froze")
            elif frame.op == Op.SYNC:
                self.send_sync(Op.SYNC_CHK, dst_ltag=frame.src_ltag)
            return
        if names and frame.op in (Op.SYNC, Op.SYNC_ACK):
            self._learn(frame)
            self._resolve(frame)
            self.send_sync(Op.SYNC_ACK)
            self._give()
        elif frame.op == Op.SYNC or names and frame.op == Op.SYNC_CHK:
            self._learn(frame)
            self.state = "SYNC_RECD"
            self._say_sync()

    def _learn(self, frame: Frame) -> None:
        self._stand = self.learn(frame)

    def _resolve(self, frame: Frame) -> None:
        """Compare where the peer stands with where this end does, and be OPEN; Failed: that cannot be."""
        stand, tx, rx = self._stand, frame.tx, frame.rx
        old_rx = self.rx
        if stand.peer_inc != self.inc:
            tx, rx = stand.start, self.start
        if stand.inc != self.peer_inc:
            self.tx, self.rx, self.peer_inc = self.start, stand.start, stand.inc
            self._gathers.clear()
        came, went = distance(tx, self.rx), distance(rx, self.tx)
        check(came >= 0 and all(self._was_held(add(old_rx, n + 1)) for n in range(came)),
              "in", came, "cannot be:", self)
        check(-self.window <= went <= 0 and distance(rx, self._confirmed) >= 0 or went == 0,
              "out", went, "cannot be:", self)
        for gather in self._gathers.values():
            gather.kept = False
        self._deliver_upto(tx)
        self._gathers = {number: gather for number, gather in self._gathers.items()
                         if gather.kind == Kind.MESSAGE and len(gather.slices) > 1}
        for gather in self._gathers.values():
            gather.kept = True
        # What is not delivered there is, before any other frame of this run is heard.
        self._may_cost = max(0, frame.grant * GRANT_UNIT - sum(
            self._costs.get(add(rx, n + 1), 0) for n in range(distance(self.tx, rx))))
        self._costs.clear()
        self._confirmed = self.tx
        self._said_blocked = self._owes_ready = False
        back = [self._lanes[number].message for number in
                sorted(self._lanes, key=lambda n: distance(n, self.tx)) if self._lanes[number].message]
        self._lanes.clear()
        self._queue[:0] = back
        self._acked, self._known = 0, set()
        self.state = "OPEN"
        self._moved()

    def _was_held(self, number: int) -> bool:
        gather = self._gathers.get(number)
        return gather is not None and gather.last is not None and len(gather.slices) == gather.last + 1

    # --- every frame of the run (3)

    def _handle_data(self, frame: Frame) -> None:
        if frame.op == Op.CLOSE and self.state == "CLOSED":
            self.send(Op.CLOSE_ACK, src_ltag=frame.dst_ltag, dst_ltag=frame.src_ltag)
            return
        ours = (frame.src_ltag, frame.dst_ltag) == (self.peer_ltag, self.ltag)
        if self.state == "SYNC_RECD" and ours and self._stand and \
                frame.op in (Op.OFFER, Op.ASK, Op.COMMIT):
            self._count("data overtook SYNC_ACK")
            self._resolve(frame)
        if self.state != "OPEN" or not ours:
            return
        if frame.op == Op.CLOSE_ACK:
            self.state = "CLOSED" if self.closing else self.state
            return
        check(frame.op != Op.CLOSE or not frame.reason, "turned away:", frame)
        self._examine(frame)
        if frame.op == Op.CLOSE:
            self._peer_holds(frame.seq)
            self.peer_closing = True
            self.peer_last |= bool(frame.flags & Flag.LAST)
        elif frame.op in QUESTIONS:
            self._question(frame)
        else:
            self._answer(frame)
        self._give()

    def _examine(self, frame: Frame) -> None:
        """Take the frame's tx and rx."""
        if distance(frame.tx, self.rx) > 0:
            self._deliver_upto(frame.tx)
        ahead = distance(frame.rx, self.tx)
        check(ahead <= 0, "the peer has delivered what is not committed:", frame)
        if distance(frame.rx, self._confirmed) > 0:
            self._delivered_upto(frame.rx)
            self._moved()
        self._granted_in(frame)

    def _deliver_upto(self, number: int) -> None:
        while self.rx != number:
            gather = self._gathers.pop(add(self.rx, 1), None)
            check(gather is not None and gather.held, "committed, and not held:", number, self)
            self.rx = add(self.rx, 1)
            self._unread += gather.cost
            self._granted = max(0, self._granted - gather.cost)
            self._free()
            if gather.kind == Kind.PACK:
                self._count("packs")
                self.received += unpack(gather.slices[0])
            elif gather.kind == Kind.MESSAGE:
                self.received.append(b"".join(gather.whole()))
            self._held_moves()

    def _held_moves(self) -> None:
        self._reflects = 0
        self._reflect_at = time.monotonic() + 2 * PTO

    # --- the responder (4.2)

    def _question(self, frame: Frame) -> None:
        if frame.op == Op.COMMIT:
            newest = self.heard.hear(frame.number)
            if frame.marks & Mark.BLOCKED:
                self._owes_ready = not self.grant
            if frame.flags & Flag.WANT_DONE:
                self.send(Op.DONE, newest=newest)
            return
        ahead = distance(frame.seq, self.rx)
        if ahead < 1 or ahead > self.window or \
                self._top is not None and distance(frame.seq, self._top) > 0:
            self._count("old_seq")
            return
        gather = self._gathers.get(frame.seq)
        if frame.op == Op.ASK:
            self._reply(frame, gather, self.heard.hear(frame.number))
            return
        if not self._serves(frame):
            self.send(Op.REFUSE, newest=self.heard.hear(frame.number), seq=frame.seq, kind=frame.kind,
                      reason=Reason.KIND)
            return
        if gather is not None and gather.kept:
            gather = self._keep(frame, gather)
        if frame.kind == Kind.VOID and gather is not None and gather.kind != Kind.VOID:
            self._count("voided by the peer")
            gather = None
        elif gather is not None and gather.kind != frame.kind:
            self._count("old_content")
            return
        if gather is None:
            gather = self._gathers[frame.seq] = Gather(frame.kind, bool(frame.flags & Flag.EXPRESS))
        self._take(frame, gather)

    def _serves(self, frame: Frame) -> bool:
        """Is an OFFER of a kind that is taken here?"""
        if frame.kind == Kind.PACK and self.caps & Stand.PACKS:
            unpack(frame.payload)
            return True
        return frame.kind in (Kind.MESSAGE, Kind.VOID)

    def _keep(self, frame: Frame, gather: Gather) -> Optional[Gather]:
        """What was kept over a freeze, if that counts for this OFFER."""
        fits = gather.kind == frame.kind and gather.express == bool(frame.flags & Flag.EXPRESS)
        if frame.flags & Flag.LAST:
            fits = fits and gather.last in (None, frame.slice) and max(gather.slices) <= frame.slice
        elif gather.last is not None:
            fits = fits and frame.slice < gather.last
        if not fits or not frame.flags & Flag.RESUME:
            return None
        gather.kept = False
        self._count("resumed")
        return gather

    def _take(self, frame: Frame, gather: Gather) -> None:
        was_held = gather.held
        if gather.last is not None and (frame.slice > gather.last or
                                        frame.flags & Flag.LAST and frame.slice != gather.last):
            self._count("bad_slice")
            return
        newest = self.heard.hear(frame.number)
        self._check_granted(frame, gather)
        gather.slices.setdefault(frame.slice, frame.payload)
        if frame.flags & Flag.LAST:
            gather.last = frame.slice
        if gather.held and not was_held:
            self._held_moves()
        if gather.held and not was_held or frame.marks & Mark.ANSWER:
            self._reply(frame, gather, newest)

    def _reply(self, frame: Frame, gather: Optional[Gather], newest: bool) -> None:
        other = frame.kind == Kind.VOID and gather is not None and gather.kind != Kind.VOID
        if gather is not None and gather.held and not other:
            self._reflect(frame.seq, newest)
        else:
            have = gather.have if gather and not gather.kept and not other else 0
            self.send(Op.ACK, have.to_bytes(8, "big"), newest=newest, seq=frame.seq, kind=frame.kind)

    def _reflect(self, number: int, newest: bool = False) -> None:
        gather = self._gathers[number]
        self.send(Op.REFLECT, reflection(gather.whole()), newest=newest, seq=number, kind=gather.kind)

    # --- the initiator (4.1)

    def _give(self) -> None:
        """Offer what may be offered; answer CLOSE once nothing is left."""
        if self.state != "OPEN":
            return
        if self.peer_closing:
            for message in self._queue:
                message.ending = "reversed"
            self._queue.clear()
            if self.peer_last and not self._lanes and self._confirmed == self.tx and not self._gathers:
                self.send(Op.CLOSE_ACK)
                self.state = "CLOSED"
                return
        most = min(self.window, self.peer.window)
        parked = any(lane.parked for lane in self._lanes.values())
        self._blocked = False
        while self._queue and len(self._lanes) < most and not parked:
            slices = cut(self._queue[0].data, self.slice_size)
            if not self._may_give(slices):
                self._blocked = True
                self._say_blocked()
                break
            message = self._queue.pop(0)
            self._said_blocked = False
            number = add(self.tx, len(self._lanes) + 1)
            self._costs[number] = cost(slices)
            lane = self._lanes[number] = Lane(message, slices)
            lane.first = add(self.asked, 1)
            self._offer(number, lane, range(len(slices)))

    def _offer(self, number: int, lane: Lane, parts) -> None:
        """Send slices; the last that is sent asks for an answer."""
        parts = list(parts)
        for part in parts:
            marks = Mark.ANSWER if part == parts[-1] else 0
            frame = self.offer_frame(number, part, lane.slices, kind=lane.kind, marks=marks)
            self.cable.send(frame)
            lane.last = lane.last_offer = frame.number
        lane.ready = False
        if number == add(self.tx, 1):
            self._moved()

    def _ask(self, number: int, lane: Lane) -> None:
        self._count("asked")
        lane.last = self.send(Op.ASK, seq=number, kind=lane.kind).number

    def _void(self, number: int) -> None:
        lane = self._lanes[number]
        self._count("voided")
        lane.message, lane.slices = None, _VOID
        lane.reflected = lane.parked = False
        lane.first = add(self.asked, 1)
        if self.state == "OPEN":
            self._offer(number, lane, [0])

    def _peer_holds(self, number: int) -> None:
        """The peer closes, and takes nothing above a number: that is reversed, and nothing takes its place."""
        check(0 <= distance(number, self.tx) <= len(self._lanes), "it holds up to", number)
        while len(self._lanes) > distance(number, self.tx):
            lane = self._lanes.pop(last := add(self.tx, len(self._lanes)))
            self._costs.pop(last, None)
            if lane.message:
                lane.message.ending = "reversed"

    def _answer(self, frame: Frame) -> None:
        self._hear_answer(frame)
        if self.state != "OPEN" or frame.op == Op.DONE:
            return
        if frame.op == Op.READY:
            self._said_blocked = False
            for number, lane in self._lanes.items():
                lane.ready = True
                if lane.parked:
                    lane.parked = False
                    self._offer(number, lane, range(len(lane.slices)))
            return
        lane = self._lanes.get(frame.seq)
        if lane is None:
            if frame.op == Op.REFLECT and distance(self.tx, frame.seq) >= 0 > \
                    distance(self._confirmed, frame.seq):
                self._say_commit(Flag.WANT_DONE)
            return
        if frame.kind != lane.kind or distance(frame.number, lane.first) < 0:
            self._count("old_content")
            return
        if frame.op == Op.REFLECT:
            check(frame.payload == reflection(lane.slices), "mismatch:", frame)
            lane.reflected, lane.parked = True, False
            if lane.kind == Kind.VOID:
                self._costs.pop(frame.seq, None)
            self._commit()
        elif not lane.reflected:
            (self._refused if frame.op == Op.REFUSE else self._missing)(frame, lane)

    def _hear_answer(self, frame: Frame) -> None:
        """Take ack and map, and find what was lost."""
        if distance(frame.number, self.asked) > 0:
            raise Failed(f"an ack of what was not asked: {frame}")
        if distance(frame.number, self._acked) > 0:
            self._acked = frame.number
            self._moved()
        if frame.number:
            self._known.add(frame.number)
        self._known.update(add(frame.number, -1 - n) for n in range(32) if frame.map >> n & 1)
        for number, lane in self._lanes.items():
            if lane.reflected or lane.parked or distance(self._acked, lane.last) < PASSED or \
                    number == frame.seq and frame.op != Op.READY:
                continue
            if lane.last in self._known or lane.last != lane.last_offer:
                self._ask(number, lane)
            else:
                self._count("lost")
                self._offer(number, lane, [len(lane.slices) - 1])

    def _missing(self, frame: Frame, lane: Lane) -> None:
        """ACK: send what it has not."""
        if distance(frame.number, lane.last_offer) < 0:
            return
        have = int.from_bytes(frame.payload, "big")
        parts = [n for n in range(len(lane.slices)) if not have >> n & 1]
        if parts:
            self._count("slices missed")
            self._offer(frame.seq, lane, parts)

    def _refused(self, frame: Frame, lane: Lane) -> None:
        if frame.reason not in FOR_NOW:
            check(lane.message, "nothing was refused for good:", frame)
            lane.message.ending = "reversed"
            self._void(frame.seq)
        elif distance(frame.number, lane.last_offer) >= 0:
            lane.parked = not lane.ready
            if lane.ready:
                self._offer(frame.seq, lane, range(len(lane.slices)))

    def _commit(self) -> None:
        """tx becomes the last number up to which all are reflected; a COMMIT, if no OFFER says it."""
        before, asked = self.tx, self.asked
        while (number := add(self.tx, 1)) in self._lanes and self._lanes[number].reflected:
            lane = self._lanes.pop(number)
            self.tx = number
            if lane.message:
                lane.message.ending = "committed"
        if self.tx == before:
            return
        self._moved()
        self._give()
        if self.asked == asked:
            self._say_commit()


def new_peer(cable, vc: int, **how) -> Peer:
    """An end at a number from which it soon wraps."""
    return Peer(cable, vc, **({"start": random_bits(32) | 0xffffff00} | how))
