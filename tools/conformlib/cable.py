# SPDX-License-Identifier: GPL-2.0
"""The cable between a test and its peer: an AF_PACKET socket, with losses of its own."""

from __future__ import annotations

import collections
import fcntl
import random
import select
import socket
import sys
import time
from typing import List, Optional

from .frame import ETHERTYPE, BadFrame, Frame

_OUTGOING = 4       # PACKET_OUTGOING
_SIOCGIFMTU, _SIOCGIFHWADDR = 0x8921, 0x8927


class Patience:
    """How much longer than usual is waited: `times` as long."""
    times = 1.0


def until(seconds: float) -> float:
    """The moment of time.monotonic() at which a wait of so many seconds is over."""
    return time.monotonic() + seconds * Patience.times


def parse_mac(text: str) -> bytes:
    """Six bytes of an address with colons; ValueError: it is none."""
    raw = bytes.fromhex(text.replace(":", ""))
    if len(raw) != 6:
        raise ValueError(f"{text}: not a MAC address")
    return raw


class Cable:
    """Frames to one peer and from it, through a device that is up. OSError: there is no such.

    loss        of the frames that are sent, and of those that come, so many are lost (0 to 1)
    """

    def __init__(self, device: str, peer: str, ethertype: int = ETHERTYPE, seed: int = 1):
        self.device = device
        self.peer = parse_mac(peer)
        self.loss = 0.0
        self.sent = self.lost = 0
        self.story = collections.deque(maxlen=40)       # the last frames, those that were lost too
        self._chance = random.Random(seed)
        self._type = ethertype.to_bytes(2, "big")
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ethertype))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self._socket.bind((device, ethertype))
        self.mac = self._ask(_SIOCGIFHWADDR)[2:8]
        self.mtu = int.from_bytes(self._ask(_SIOCGIFMTU)[:4], sys.byteorder)
        self._socket.setblocking(False)

    def _ask(self, request: int) -> bytes:
        """What an ioctl says of the device."""
        name = self.device.encode().ljust(16, b"\0")
        return fcntl.ioctl(self._socket, request, name + bytes(24))[16:]

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _is_lost(self) -> bool:
        self.sent += 1
        lost = self.loss > 0 and self._chance.random() < self.loss
        self.lost += lost
        return lost

    def send_raw(self, raw: bytes, source: Optional[bytes] = None, dest: Optional[bytes] = None) -> None:
        """Send the bytes of a frame, from another address and to another one if these are given."""
        lost = self._is_lost()
        self.story.append((time.monotonic(), ">" + "!" * lost, raw))
        if not lost:
            self._socket.send((dest or self.peer) + (source or self.mac) + self._type + raw)

    def send(self, frame: Frame) -> None:
        """Send a frame."""
        self.send_raw(frame.pack())

    def recv_raw(self, deadline: float) -> Optional[bytes]:
        """The next frame's bytes, or None: none came until then, a time of time.monotonic()."""
        while True:
            try:
                raw, where = self._socket.recvfrom(65536)
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                    return None
                continue
            if where[2] == _OUTGOING or raw[:6] != self.mac or raw[6:12] != self.peer:
                continue
            lost = self._is_lost()
            self.story.append((time.monotonic(), "<" + "!" * lost, raw[14:]))
            if not lost:
                return raw[14:]

    def tell(self, since: float) -> List[str]:
        """The last frames since a time of time.monotonic(), a line each."""
        lines = []
        for when, way, raw in self.story:
            try:
                text = str(Frame.parse(raw))
            except BadFrame as error:
                text = f"{error} {raw[:60].hex()}"
            if when >= since:
                lines.append(f"{(when - since) * 1000:8.1f} ms {way:2} {text}")
        return lines

    def recv(self, deadline: float) -> Optional[Frame]:
        """The next frame, or None: none came until then. BadFrame: the peer sent a malformed one."""
        raw = self.recv_raw(deadline)
        try:
            return None if raw is None else Frame.parse(raw)
        except BadFrame as error:
            raise BadFrame(f"the peer sent a malformed frame, {error}: {raw.hex()}") from None
