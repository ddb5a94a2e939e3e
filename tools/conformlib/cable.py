# SPDX-License-Identifier: GPL-2.0
"""Lines between a test and its peer, with losses of their own; a cable is an AF_PACKET socket."""

from __future__ import annotations

import collections
import fcntl
import random
import select
import socket
import struct
import sys
import time
from typing import List, Optional

from .frame import ETHERTYPE, BadFrame, Frame

BROADCAST = b"\xff" * 6
_OUTGOING = 4                                   # PACKET_OUTGOING
_PACKET, _ADD_MEMBERSHIP, _PROMISC = 263, 1, 1  # SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC
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


class Line:
    """Frames to one peer and from it. A kind of line says how: _put(), _get().

    mac, peer   addresses of this end and of the peer
    mtu         bytes behind the Ethernet header that a frame may have
    loss        of the frames that are sent, and of those that come, so many are lost (0 to 1)
    """

    def __init__(self, own: socket.socket, mac: bytes, peer: bytes, mtu: int, seed: int = 1):
        self.mac, self.peer, self.mtu = mac, peer, mtu
        self.loss = 0.0
        self.sent = self.lost = 0
        self.story = collections.deque(maxlen=40)       # the last frames, those that were lost too
        self._chance = random.Random(seed)
        self._socket = own
        own.setblocking(False)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _put(self, raw: bytes, source: bytes, dest: bytes) -> None:
        """Send the bytes of a frame."""
        raise NotImplementedError

    def _get(self) -> Optional[bytes]:
        """The bytes of a frame that has come, None if it is not for this line. BlockingIOError: none has."""
        raise NotImplementedError

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
            self._put(raw, source or self.mac, dest or self.peer)

    def send(self, frame: Frame) -> None:
        """Send a frame."""
        self.send_raw(frame.pack())

    def recv_raw(self, deadline: float) -> Optional[bytes]:
        """The next frame's bytes, or None: none came until then, a time of time.monotonic()."""
        while True:
            try:
                raw = self._get()
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                    return None
                continue
            if raw is None:
                continue
            lost = self._is_lost()
            self.story.append((time.monotonic(), "<" + "!" * lost, raw))
            if not lost:
                return raw

    def drain(self) -> List[Frame]:
        """All frames that are here."""
        frames = []
        while (frame := self.recv(0.0)) is not None:
            frames.append(frame)
        return frames

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


class Cable(Line):
    """A device that is up, on which the peer has an address. OSError: there is no such device.

    mac         another address of this end than the device's
    broadcast   is what the peer sends to all heard as well?
    """

    def __init__(self, device: str, peer: str, ethertype: int = ETHERTYPE, seed: int = 1, *,
                 mac: Optional[bytes] = None, broadcast: bool = False):
        own = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ethertype))
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        own.bind((device, ethertype))
        if mac:
            own.setsockopt(_PACKET, _ADD_MEMBERSHIP, struct.pack("iHH8x", socket.if_nametoindex(device), _PROMISC, 0))

        def ask(request: int) -> bytes:
            """What an ioctl says of the device."""
            return fcntl.ioctl(own, request, device.encode().ljust(16, b"\0") + bytes(24))[16:]

        super().__init__(own, mac or ask(_SIOCGIFHWADDR)[2:8], parse_mac(peer),
                         int.from_bytes(ask(_SIOCGIFMTU)[:4], sys.byteorder), seed)
        self.device, self._ethertype = device, ethertype
        self._hears = {self.mac, BROADCAST} if broadcast else {self.mac}

    def at(self, mac: bytes, broadcast: bool = False) -> Cable:
        """Another address of this end, with the same peer."""
        there = Cable(self.device, self.peer.hex(":"), self._ethertype, mac=mac, broadcast=broadcast)
        there.story = self.story
        return there

    def _put(self, raw: bytes, source: bytes, dest: bytes) -> None:
        self._socket.send(dest + source + self._ethertype.to_bytes(2, "big") + raw)

    def _get(self) -> Optional[bytes]:
        raw, where = self._socket.recvfrom(65536)
        if where[2] == _OUTGOING or raw[:6] not in self._hears or raw[6:12] != self.peer:
            return None
        return raw[14:]
