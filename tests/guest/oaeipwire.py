# SPDX-License-Identifier: GPL-2.0
"""The datagrams between gateways (include/oaeip_wire.h), once more and on its own.

Nothing here is taken from the modules' code, so that a mistake on one side shows. A Speaker is a
gateway by hand: a UDP socket, from which anything can be said.
"""

import ctypes
import random
import select
import socket
import struct
import time
from collections import deque
from dataclasses import dataclass, replace

import oaewire as oae
from oaewire import mac_bytes
from patience import until

PORT = 34997
VERSION = 1
DATA, CONTROL = 1, 2
BEAT, NODES, ASK, BYE, PROBE = range(1, 6)
OPS = ("BEAT", "NODES", "ASK", "BYE", "PROBE")
GONE, CLAIM = 0x01, 0x02
MAX_NODES = 150
HDR_LEN, CTL_LEN, NODE_LEN = 8, 16, 8

# HELLO, inside a zone.
GATEWAY, LEAVING, ASK_ME, ABOUT = 0x01, 0x02, 0x04, 0x08
BROADCAST = b"\xff" * 6

_HDR = struct.Struct(">BBHHH")
_CTL = struct.Struct(">BBHIIHH")
_NODE = struct.Struct(">6sBB")
_HELLO = struct.Struct(">BBHHHIHH6sH")


@dataclass
class Hello:    # pylint: disable=too-many-instance-attributes
    """The payload of a HELLO."""

    flags: int = 0
    zone: int = 0
    mtu: int = 1500
    epoch: int = 0
    inc: int = 0
    life: int = 0
    node_life: int = 0
    about: bytes = bytes(6)
    zero: int = 0
    zero2: int = 0

    def pack(self):
        """Its 24 bytes."""
        return _HELLO.pack(self.flags, self.zero, self.zone, self.mtu, self.epoch, self.inc,
                           self.life, self.node_life, mac_bytes(self.about), self.zero2)

    @classmethod
    def parse(cls, payload):
        """What 24 bytes say."""
        flags, zero, zone, mtu, epoch, inc, life, node_life, about, zero2 = _HELLO.unpack(payload)
        return cls(flags, zone, mtu, epoch, inc, life, node_life, about, zero, zero2)


def hello(src, dst, vc=0, **said):
    """A HELLO as a frame."""
    return oae.Frame(oae.HELLO, dst=mac_bytes(dst), src=mac_bytes(src), vc=vc,
                     payload=Hello(**said).pack())


def via(opcode, gateway, src, dst, **given):
    """A frame from src to the node dst, by way of the gateway with that address."""
    return oae.Frame(opcode, dst=mac_bytes(gateway), src=mac_bytes(src),
                     flags=given.pop("flags", 0) | oae.VIA,
                     via=mac_bytes(dst) + mac_bytes(src), **given)


def through(frame):
    """The frame as it is between gateways: without its Ethernet header."""
    return (frame.pack() if isinstance(frame, oae.Frame) else frame)[14:]


@dataclass
class Datagram:
    """The encapsulation, and what is in it. length: None is derived; set it to lie."""

    kind: int
    src_zone: int
    dst_zone: int
    body: bytes = b""
    version: int = VERSION
    flags: int = 0
    length: int = None

    def pack(self):
        """UDP payload."""
        length = len(self.body) if self.length is None else self.length
        return _HDR.pack(self.version << 4 | self.kind, self.flags, self.src_zone, self.dst_zone,
                         length) + self.body

    @classmethod
    def parse(cls, raw):
        """What a datagram says; ValueError if it is not well-formed."""
        if len(raw) < HDR_LEN:
            raise ValueError(f"short datagram: {raw.hex()}")
        first, flags, src, dst, length = _HDR.unpack_from(raw)
        d = cls(first & 15, src, dst, raw[HDR_LEN:], first >> 4, flags, length)
        if (d.version, d.flags, d.length) != (VERSION, 0, len(d.body)) or d.kind not in (1, 2):
            raise ValueError(f"bad encapsulation: {d}")
        return d


@dataclass
class Control:      # pylint: disable=too-many-instance-attributes
    """A control message. count: None is derived."""

    op: int
    inc: int
    serial: int
    life: int = 35
    seen: int = 0
    nodes: tuple = ()       # (mac, flags)
    zero: int = 0
    count: int = None
    node_zero: int = 0
    pad: int = 0            # zeros behind it

    def pack(self):
        """Behind the encapsulation header."""
        count = len(self.nodes) if self.count is None else self.count
        return (_CTL.pack(self.op, self.zero, count, self.inc, self.serial, self.life, self.seen)
                + b"".join(_NODE.pack(mac_bytes(mac), flags, self.node_zero)
                           for mac, flags in self.nodes) + bytes(self.pad))

    @classmethod
    def parse(cls, raw):
        """What it says; ValueError if it is not well-formed."""
        if len(raw) < CTL_LEN:
            raise ValueError(f"short control message: {raw.hex()}")
        op, zero, count, inc, serial, life, seen = _CTL.unpack_from(raw)
        rest = raw[CTL_LEN:]
        if op != PROBE and len(rest) != count * NODE_LEN or op == PROBE and any(rest):
            raise ValueError(f"bad control message: {raw.hex()}")
        if zero or not inc or not life or not 1 <= op <= 5 or (op == NODES) != bool(count) or (
                count > MAX_NODES):
            raise ValueError(f"bad control message: {raw.hex()}")
        nodes = []
        for n in range(count):
            mac, flags, zero = _NODE.unpack_from(rest, n * NODE_LEN)
            if zero or flags & ~(GONE | CLAIM):
                raise ValueError(f"bad node: {raw.hex()}")
            nodes.append((mac.hex(":"), flags))
        return cls(op, inc, serial, life, seen, tuple(nodes),
                   pad=len(rest) - count * NODE_LEN)

    @property
    def name(self):
        """The op's name."""
        return OPS[self.op - 1] if 0 < self.op <= 5 else f"op {self.op}"


class Speaker:
    """Zone `zone`'s gateway by hand, at an address of a namespace; it talks to `to`'s zone."""

    def __init__(self, host, address, zone, to, to_zone, port=PORT, rcvbuf=4 << 20):
        self.host, self.address, self.zone = host, address, zone
        self.to, self.to_zone, self.port = to, to_zone, port
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with host:
            self.sock = socket.socket(family, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, 33, rcvbuf)     # SO_RCVBUFFORCE
        self.sock.setsockopt(socket.SOL_SOCKET, 32, 8 << 20)    # SO_SNDBUFFORCE
        self.sock.bind((address, port))
        self.inc, self.serial = random.getrandbits(31) + 1, 0
        self.inbox = deque()

    def close(self):
        """Done."""
        self.sock.close()

    # Saying.

    def raw(self, data):
        """Any bytes."""
        self.sock.sendto(data, (self.to, self.port))

    def send(self, kind, body, **given):
        """An encapsulated anything."""
        given = {"src_zone": self.zone, "dst_zone": self.to_zone} | given
        self.raw(Datagram(kind, body=body, **given).pack())

    def control(self, op, **given):
        """The next control message. A BEAT has seen all PROBEs, unless told otherwise."""
        self.serial += 1
        given = {"inc": self.inc, "serial": self.serial,
                 "seen": 0xffff if op == BEAT else 0} | given
        self.send(CONTROL, Control(op, **given).pack())

    def nodes(self, *macs, flags=0, **given):
        """These are in my zone, or gone."""
        self.control(NODES, nodes=tuple((mac, flags) for mac in macs), **given)

    def data(self, frame, **given):
        """A frame."""
        self.send(DATA, through(frame), **given)

    def restart(self):
        """A new incarnation."""
        self.inc, self.serial = random.getrandbits(31) + 1, 0

    # Hearing.

    def _take(self, timeout):
        if not select.select([self.sock], [], [], timeout)[0]:
            return False
        self.inbox.append(Datagram.parse(self.sock.recvfrom(65600)[0]))
        return True

    def heard(self):
        """All that is here now."""
        while self._take(0):
            pass
        found = list(self.inbox)
        self.inbox.clear()
        return found

    def next(self, wanted, what, deadline=5.0):
        """The next datagram that wanted() likes; what comes before it is forgotten."""
        end = until(deadline)
        while True:
            while self.inbox:
                d = self.inbox.popleft()
                found = wanted(d)
                if found:
                    return found
            left = end - time.monotonic()
            if left <= 0 or not self._take(left):
                raise AssertionError(f"not heard within {deadline} s: {what}")

    def expect(self, op, deadline=5.0, match=lambda c: True):
        """The next control message of that kind."""
        def wanted(d):
            if d.kind != CONTROL:
                return None
            c = Control.parse(d.body)
            right = (d.src_zone, d.dst_zone) == (self.to_zone, self.zone)
            return c if right and c.op == op and match(c) else None
        return self.next(wanted, OPS[op - 1], deadline)

    def expect_nodes(self, *macs, flags=0, deadline=5.0):
        """Until all these have been told, as being there or as gone."""
        left = set(macs)

        def match(c):
            left.difference_update(mac for mac, f in c.nodes if f == flags)
            return not left
        return self.expect(NODES, deadline, match)

    def expect_data(self, deadline=5.0):
        """The next frame: as it would be on an Ethernet from nobody to nobody."""
        def wanted(d):
            if d.kind != DATA:
                return None
            head = bytes(12) + oae.ETHERTYPE.to_bytes(2, "big")
            return oae.Frame.parse(head + d.body)
        return self.next(wanted, "a frame", deadline)


def same(frame, other):
    """Are they the same but for the Ethernet header?"""
    return through(replace(frame)) == through(replace(other))


# Watching the path between gateways.

class _Fprog(ctypes.Structure):     # pylint: disable=too-few-public-methods
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


# IPv4 UDP with MF, an offset or no DF; IPv6 with a fragment header.
_FRAGMENTS = ((0x28, 0, 0, 12), (0x15, 0, 4, 0x0800), (0x30, 0, 0, 23), (0x15, 0, 5, 17),
              (0x28, 0, 0, 20), (0x15, 3, 4, 0x4000),
              (0x15, 0, 2, 0x86dd), (0x30, 0, 0, 20), (0x15, 1, 0, 44),
              (0x06, 0, 0, 0), (0x06, 0, 0, 0xffff))


class Watch:
    """What passes a device, each packet as bytes; or only what there should be none of."""

    def __init__(self, host, dev, fragments=False):
        with host:
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)
        if fragments:
            code = b"".join(struct.pack("HBBI", *line) for line in _FRAGMENTS)
            self._code = ctypes.create_string_buffer(code, len(code))
            prog = _Fprog(len(_FRAGMENTS), ctypes.addressof(self._code))
            self.sock.setsockopt(socket.SOL_SOCKET, 26, bytes(prog))    # SO_ATTACH_FILTER
        self.sock.bind((dev, 3))                                        # ETH_P_ALL
        self.sock.setblocking(False)

    def packets(self):
        """All that is here now."""
        found = []
        while True:
            try:
                found.append(self.sock.recv(65600))
            except BlockingIOError:
                return found

    def next(self, wanted, what, deadline=5.0):
        """The next packet for which wanted(ip, udp payload) is true; its Packet."""
        end = until(deadline)
        while True:
            if not select.select([self.sock], [], [], max(end - time.monotonic(), 0))[0]:
                raise AssertionError(f"not seen within {deadline} s: {what}")
            packet = Packet.parse(self.sock.recv(65600))
            if packet and wanted(packet):
                return packet

    def close(self):
        """Done."""
        self.sock.close()


@dataclass
class Packet:
    """A UDP packet."""

    tos: int            # DSCP and ECN
    dont_fragment: bool
    src: str
    dst: str
    sport: int
    dport: int
    payload: bytes
    checksum: int

    @classmethod
    def parse(cls, raw):
        """Of an Ethernet frame; None if it is something else."""
        kind = raw[12:14]
        if kind == b"\x08\x00" and raw[23] == 17:
            tos, frag = raw[15], int.from_bytes(raw[20:22], "big")
            df, src, dst = frag == 0x4000, *(socket.inet_ntop(socket.AF_INET, raw[n:n + 4])
                                             for n in (26, 30))
            udp = raw[14 + (raw[14] & 15) * 4:14 + int.from_bytes(raw[16:18], "big")]
        elif kind == b"\x86\xdd" and raw[20] == 17:
            tos = (raw[14] & 15) << 4 | raw[15] >> 4
            df, src, dst = True, *(socket.inet_ntop(socket.AF_INET6, raw[n:n + 16])
                                   for n in (22, 38))
            udp = raw[54:54 + int.from_bytes(raw[18:20], "big")]
        else:
            return None
        sport, dport, _, checksum = struct.unpack_from(">HHHH", udp)
        return cls(tos, df, src, dst, sport, dport, udp[8:], checksum)
