# SPDX-License-Identifier: GPL-2.0
"""A line to a UDP port (4.15): each frame is a datagram."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import Optional

from .cable import Line
from .frame import ETHERTYPE, BadFrame

PORT = 34998
_HEAD = bytes([0x11, 0])                # version 1, a frame; 0
_HEAD_BYTES = 16
_OVERHEAD = {4: 20 + 8 + _HEAD_BYTES, 6: 40 + 8 + _HEAD_BYTES}


def mac_of(address: str) -> bytes:
    """The MAC of a UDP port at this address."""
    return bytes.fromhex("020ae0") + ip_address(address).packed[-3:]


def datagram(raw: bytes, dest: bytes, source: bytes) -> bytes:
    """What carries the bytes of a frame."""
    return _HEAD + dest + source + ETHERTYPE.to_bytes(2, "big") + raw


class UdpLine(Line):
    """Datagrams to the UDP port at an address, and from it, by a UDP port here: PORT, 0 for any.

    device_mtu  of the device that has the address; mac: of this end, if it is not that of its address
    """

    def __init__(self, address: str, device_mtu: int, *, port: int = 0, mac: Optional[bytes] = None):
        version = ip_address(address).version
        own = socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
        own.bind(("", port))
        own.connect((address, PORT))
        self.endpoint = own.getsockname()[:2]
        super().__init__(own, mac or mac_of(self.endpoint[0]), mac_of(address), device_mtu - _OVERHEAD[version])

    def send_datagram(self, data: bytes) -> None:
        """Send whatever it is."""
        self._socket.send(data)

    def _put(self, raw: bytes, source: bytes, dest: bytes) -> None:
        self.send_datagram(datagram(raw, dest, source))

    def _get(self) -> Optional[bytes]:
        data = self._socket.recv(65536)
        if data[:_HEAD_BYTES] != datagram(b"", self.mac, self.peer):
            raise BadFrame(f"a datagram with another head: {data[:_HEAD_BYTES].hex()}")
        return data[_HEAD_BYTES:]
