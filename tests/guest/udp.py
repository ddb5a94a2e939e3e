# SPDX-License-Identifier: GPL-2.0
"""UDP ports: a cable that carries IP only, and datagrams made by hand."""

import select
import socket
from collections import deque
from ipaddress import ip_address

import oaewire as oae
from oaepeer import Wire
from oaetest import Cable
from oaewire import Frame

PORT = 34998
HEAD = b"\x11\0"            # version 1, a frame; 0
OVERHEAD = {4: 20 + 8 + 16, 6: 40 + 8 + 16}


def port_mac(address):
    """The MAC of a UDP port."""
    return "02:0a:e0:" + ip_address(address).packed[-3:].hex(":")


def low24(address):
    """A peer as `target` has it."""
    return "0x" + ip_address(address).packed[-3:].hex()


def address_of(host, dev, address):
    """Give a device an address, in /24 or /64."""
    length = 64 if ":" in address else 24
    nodad = " nodad" if ":" in address else ""
    host.sh(f"echo 0 >/proc/sys/net/ipv6/conf/{dev}/disable_ipv6;"
            f"ip addr add {address}/{length} dev {dev}{nodad}")


class UdpCable(Cable):
    """A cable between two devices that are no ports; the ports are UDP ports on it.

    mac_a and mac_b are theirs, so that a test for a cable need not know: `kind = UdpCable` in a
    class of tests that derives from OneCable.
    """

    addresses = "10.0.0.1", "10.0.0.2"

    def __init__(self, host_a, dev_a, host_b, dev_b, mtu=1500):     # pylint: disable=R0913,R0917
        overhead = OVERHEAD[ip_address(self.addresses[0]).version]
        super().__init__(host_a, dev_a, host_b, dev_b, mtu + overhead)
        for (host, dev), address in zip(self.ends, self.addresses):
            address_of(host, dev, address)
        self.mac_a, self.mac_b = map(port_mac, self.addresses)

    def bind(self, n):
        self.ends[n][0].add_port(f"udp:{self.addresses[n]}")


class UdpCable6(UdpCable):
    """The same over IPv6."""

    addresses = "fd00::1", "fd00::2"


class UdpWire(Wire):
    """A UDP socket for Peers by hand: what a program can do that has an address."""

    def __init__(self, host, address, to, port=PORT):       # pylint: disable=W0231
        self.host, self.to = host, to
        self.mac = port_mac(address)
        with host:
            self._sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET,
                                       socket.SOCK_DGRAM)
        self._sock.bind((address, port))
        self._peers, self._barriers = {}, 1
        self.others = deque()       # what came and is no frame

    def datagram(self, data):
        """Send bytes."""
        self._sock.sendto(data, (self.to, PORT))

    def send(self, packet):
        self.datagram(HEAD + (packet.pack() if isinstance(packet, Frame) else packet))

    def raw(self, timeout=0.0):
        while select.select([self._sock], [], [], timeout)[0]:
            data = self._sock.recv(65600)
            if data[:2] == HEAD and data[14:16] == oae.ETHERTYPE.to_bytes(2, "big"):
                return data[2:]
            self.others.append(data)
        return None


class Capture:
    """All that a device sends and receives, from the IP header on."""

    def __init__(self, host, dev):
        with host:
            self._sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        self._sock.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)       # SO_RCVBUFFORCE
        self._sock.bind((dev, 3))                                   # ETH_P_ALL
        self._sock.setblocking(False)

    def packets(self):
        """(EtherType, bytes) of each since the last time."""
        found = []
        while True:
            try:
                data, where = self._sock.recvfrom(65600)
            except BlockingIOError:
                return found
            found.append((where[1], data))

    def close(self):
        """Done."""
        self._sock.close()
