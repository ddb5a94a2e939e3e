# SPDX-License-Identifier: GPL-2.0
"""What a test is given: the cable, the agent at the other end, and links."""

from __future__ import annotations

import contextlib
import time
from typing import Any, Callable, Optional

from .cable import Cable, Line, Patience, until
from .far import Far, FarError
from .frame import Frame, Op, Reason, Stand
from .run import random_bits
from .script import PATIENCE, Script
from .tap import Skipped, Test, check
from .udp import UdpLine

# Nothing happens by itself.
CALM = {"stranger_pps": 100000, "stall_max_us": 10000000, "stall_min_us": 1000000,
        "keepalive_ms": 600000, "dead_ms": 3600000}

QUICK = {"stall_min_us": 20000, "stall_max_us": 20000, "dead_ms": 5000}


class Scene:
    """The cable to the peer; a context in which knobs are set. OSError: there is no such device."""

    def __init__(self, args):
        self.seed, self.messages, self.loss = args.seed, args.messages, args.loss
        Patience.times = args.slow
        self._vc = args.vc - 1
        self._used, self._attached, self._links = set(), set(), []
        self._knobs = {}            # what they were before the first test
        self._changed = set()       # by this test
        self._udp, self._has_udp = args.udp, False
        self.udp_device = ""       # of the peer, while it has that port
        self._places = 0
        self._later = contextlib.ExitStack()
        self.cable = Cable(args.iface, args.peer, seed=args.seed)
        self.far = Far(args.there, self.cable.mac, args.agent)

    def __enter__(self) -> Scene:
        self.knobs(**CALM)
        self._changed.clear()
        return self

    def __exit__(self, *unused: Any) -> None:
        self._hang_up()
        self.far.knobs(**self._knobs)
        self.far.end()
        self.cable.close()

    def call(self, test: Test) -> None:
        """Make a test; its links are closed and its knobs set back."""
        try:
            test.function(self)
        finally:
            self.cable.loss = 0.0
            changed, self._changed = self._changed, set()
            if changed:
                self.far.knobs(**{name: CALM.get(name, self._knobs[name]) for name in changed})
            for vc in self._attached:
                self.far.detach(vc=vc)
            self._attached.clear()
            for link in self._links:
                self.hang_up(link)
            for link in self._links:
                self._read_away(link)
            self._links.clear()
            self._later.close()

    def hang_up(self, link: Script) -> None:
        """End a link at the peer, whatever state it is in: it freezes, asks, and is turned away."""
        if link.caps & Stand.PATHS:     # which is believed by the path in use alone, if that is its home
            link.new_run()
            link.send_sync()
            if (sync := self._asked(link)) is not None:
                link.learn(sync)
                link.send_sync(Op.SYNC_ACK)
                self._asked(link, Op.SYNC_ACK)
        link.send(Op.NOLINK)
        link.ltag = random_bits(32)
        link.send_sync(dst_ltag=0)
        if (sync := self._asked(link)) is not None:
            link.send(Op.CLOSE, dst_ltag=sync.src_ltag, reason=Reason.POLICY)

    def _read_away(self, link: Script) -> None:
        """Read what no program of the peer has: the next link of this channel and address would give it."""
        peer = link.cable.mac.hex(":")
        limit = until(1)
        while self.far.tag(vc=link.vc, peer=peer).get("unread", "0") != "0" and time.monotonic() < limit:
            self.far.attach(vc=link.vc, peer=peer)
            self.far.recv(vc=link.vc)
            self.far.detach(vc=link.vc)

    @staticmethod
    def _asked(link: Script, op: int = Op.SYNC) -> Optional[Frame]:
        """The next frame that names the ltag of this end, if it has that opcode; a second at most."""
        limit = until(1)
        while (frame := link.recv_until(limit)) is not None and frame.dst_ltag != link.ltag:
            pass
        return frame if frame is not None and frame.op == op else None

    def _hang_up(self) -> None:
        """Close all links that tests have left, whatever state they are in; a second at most."""
        for vc in self._used:
            try:
                self.far.close(vc=vc)
            except FarError:
                pass
        limit = until(1)
        while any(self.far.tag(vc=vc) for vc in self._used) and time.monotonic() < limit:
            frame = self.cable.recv(time.monotonic() + 0.01)
            answer = {Op.SYNC: Op.CLOSE, Op.CLOSE: Op.CLOSE_ACK}.get(frame and frame.op)
            if answer is not None:
                self.cable.send(Frame(answer, vc=frame.vc, src_ltag=frame.dst_ltag, dst_ltag=frame.src_ltag,
                                      reason=Reason.POLICY if answer == Op.CLOSE else 0))

    def knobs(self, **values: Any) -> None:
        """Set knobs of the peer until the test is over."""
        for name, before in self.far.knobs(**values).items():
            self._knobs.setdefault(name, before)
            self._changed.add(name)

    def later(self, function: Callable[..., Any], *args: Any, **words: Any) -> None:
        """Call it once the test is over."""
        self._later.callback(function, *args, **words)

    def elsewhere(self, broadcast: bool = False) -> Cable:
        """Another address of this end, until the test is over. broadcast: what goes to all comes there, too."""
        self._places += 1
        place = self.cable.at(bytes.fromhex("02c0f0") + self._places.to_bytes(3, "big"), broadcast)
        self.later(place.close)
        return place

    def udp(self, **how: Any) -> UdpLine:
        """A line to a UDP port that the peer has until the test is over; Skipped: it cannot have one."""
        if not self._udp:
            raise Skipped("no --udp")
        if not self._has_udp:
            self.udp_device = self.far.udp_port(address=self._udp, there=True)
            self.later(self._no_udp)
            self._has_udp = True
        line = UdpLine(self._udp, self.cable.mtu, **how)
        line.story = self.cable.story
        self.later(line.close)
        return line

    def _no_udp(self) -> None:
        self.far.udp_port(address=self._udp, there=False)
        self._has_udp = False

    def quick(self, **more: float) -> None:
        """Set knobs of time so that what takes time takes little: ms, us as each knob has it."""
        self.knobs(**{name: int(value * Patience.times) for name, value in (QUICK | more).items()})

    def vc(self) -> int:
        """The next channel."""
        self._vc = self._vc + 1 & 255
        self._used.add(self._vc)
        return self._vc

    def stranger(self, cable: Optional[Line] = None, **how: Any) -> Script:
        """An end that knows nothing of the peer, on a channel of its own. cable: another one than the first."""
        link = Script(cable or self.cable, self.vc(), **how)
        self._links.append(link)
        return link

    def open(self, **how: Any) -> Script:
        """An OPEN link with a start of its own that was opened from here."""
        link = self.stranger(**({"start": 0xfffffff0} | how))
        link.open()
        return link

    def attach(self, link: Script, **how: Any) -> None:
        """A program at the peer opens a file for the link."""
        self._attached.add(link.vc)
        self.far.attach(vc=link.vc, **how)

    def post(self, link: Script, data: bytes) -> int:
        """A program at the peer posts a message; its number there."""
        return self.far.queue(vc=link.vc, data=data.hex())

    def counted(self, name: str, action: Callable[[], Any], change: int = 1) -> None:
        """The action moves this counter of the peer by so much."""
        before = self.far.stats()[name]
        action()
        after = self.far.stats()[name]
        check(after == before + change, name, "went from", before, "to", after)

    def messages_of(self, link: Script) -> list:
        """All messages that the peer's program can read now, as bytes."""
        return [bytes.fromhex(data) for data in self.far.recv(vc=link.vc)]

    def outcome(self, link: Script, number: int, patience: float = 10.0) -> list:
        """How a transaction of the peer's program ended: see agent.Agent.outcome."""
        return self.far.outcome(vc=link.vc, number=number, patience=patience)

    def next_frame(self) -> Frame:
        """The next frame of the peer on any channel; Failed: none came."""
        frame = self.cable.recv(until(PATIENCE))
        check(frame, "the peer says nothing")
        return frame

    def wait(self, condition: Callable[[], Any], words: str, patience: float = PATIENCE) -> Any:
        """What the condition says once that is true; Failed with these words: it never was in that time."""
        limit = until(patience)
        while not (holds := condition()):
            check(time.monotonic() < limit, words)
        return holds

    def ends(self, link: Script, number: int, *how: Any) -> None:
        """A transaction of the peer's program ends like this; `how` is the beginning of outcome()."""
        outcome = self.outcome(link, number)
        check(outcome[:len(how)] == list(how), "it ended", *outcome, "and not", *how)

    def gone(self, link: Script) -> None:
        """The peer has forgotten the link: there is no tag, or a CLOSED one with what nobody has read."""
        self.wait(lambda: self.far.tag(vc=link.vc).get("state", "CLOSED") == "CLOSED", "the link is there still")

    def note(self, text: str) -> None:
        """A line that is printed with the test's."""
        print(f"# {text}", flush=True)
