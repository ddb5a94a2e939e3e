# SPDX-License-Identifier: GPL-2.0
"""A small generic netlink client: requests as bytes, so that wrong ones can be sent too."""

import errno
import os
import socket
import struct

NETLINK_GENERIC = 16
SOL_NETLINK, CAP_ACK, EXT_ACK, ADD_MEMBERSHIP = 270, 10, 11, 1
ERROR, DONE = 2, 3                                      # types of messages
REQUEST, ACK, DUMP = 1, 4, 0x300                        # flags of a request
CAPPED, ACK_TLVS, DUMP_INTR = 0x100, 0x200, 0x10        # flags of an answer
NESTED = 0x8000                                         # bit of an attribute's type
CTRL, GETFAMILY, GETPOLICY = 16, 3, 10                  # the family nlctrl


def attr(kind, value):
    """An attribute: of bytes, of text (with a NUL), of a list of attributes, or of a number."""
    if isinstance(value, str):
        value = value.encode() + b"\0"
    elif isinstance(value, (list, tuple)):
        kind, value = kind | NESTED, b"".join(value)
    elif isinstance(value, int):
        value = struct.pack("I", value)
    return struct.pack("HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def attrs(data):
    """The attributes of some bytes: a list of (type, value)."""
    found = []
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        if size < 4:
            break
        found.append((kind & 0x3fff, data[4:size]))
        data = data[size + 3 & ~3:]
    return found


def text(value):
    """The string of an attribute."""
    return value.rstrip(b"\0").decode()


class Refused(OSError):
    """An error of the kernel; `text` is the reason in its words, `offset` the attribute's."""

    def __init__(self, code, words, offset):
        super().__init__(code, f"{errno.errorcode.get(code, code)}: {words or os.strerror(code)}")
        self.text, self.offset = words, offset


class Netlink:
    """A socket for a family, in the namespace of a host."""

    def __init__(self, host, family="oae", rcvbuf=None, size=1 << 16):
        def make():
            return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC,
                                 NETLINK_GENERIC)
        if host:
            with host:
                self.sock = make()
        else:
            self.sock = make()
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.bind((0, 0))
        self.sock.settimeout(20)
        for option in CAP_ACK, EXT_ACK:
            self.sock.setsockopt(SOL_NETLINK, option, 1)
        self.seq, self.interrupted = 0, False
        self.size = size                # of the buffer: a dump comes in pieces of up to 32 KB
        self.family, self.groups = CTRL, {}
        try:
            found = dict(self.ask(GETFAMILY, attr(2, family))[0])
        except Refused:
            self.close()
            raise
        self.family, = struct.unpack("H", found[1])
        for _, group in attrs(found.get(7, b"")):
            one = dict(attrs(group))
            self.groups[text(one[1])], = struct.unpack("I", one[2])

    def close(self):
        """Done."""
        self.sock.close()

    def send(self, cmd, payload=b"", flags=ACK, version=1):
        """A request; its number."""
        self.seq += 1
        self.sock.send(struct.pack("IHHIIBBH", 20 + len(payload), self.family, REQUEST | flags,
                                   self.seq, 0, cmd, version, 0) + payload)
        return self.seq

    @staticmethod
    def _end(kind, flags, body):
        """Raise what an error, or the end of a dump, says."""
        code = -struct.unpack_from("i", body)[0] if len(body) >= 4 else 0
        if not code:
            return
        found = {}
        if flags & ACK_TLVS:
            skip = 4 if kind == DONE else 20
            if kind == ERROR and not flags & CAPPED:
                skip += struct.unpack_from("I", body, 4)[0] - 16
            found = dict(attrs(body[skip:]))
        raise Refused(code, text(found.get(1, b"")),
                      struct.unpack("I", found[2])[0] if 2 in found else None)

    def messages(self):
        """What has come: (type, flags, number, body) each."""
        data = self.sock.recv(self.size)
        while len(data) >= 16:
            length, kind, flags, seq, _ = struct.unpack_from("IHHII", data)
            yield kind, flags, seq, data[16:length]
            data = data[length + 3 & ~3:]

    def answer(self, seq):
        """The messages of an answer, as lists of (type, value); Refused says why not."""
        found = []
        while True:
            for kind, flags, number, body in self.messages():
                if number != seq:
                    continue
                self.interrupted |= bool(flags & DUMP_INTR)
                if kind in (ERROR, DONE):
                    self._end(kind, flags, body)
                    return found
                found.append(attrs(body[4:]))

    def ask(self, cmd, payload=b"", flags=ACK):
        """Send, and the answer."""
        return self.answer(self.send(cmd, payload, flags))

    def dump(self, cmd, payload=b""):
        """All there is, unless it was interrupted."""
        self.interrupted = False
        return self.ask(cmd, payload, DUMP)

    def join(self, group):
        """Hear what is sent to a group."""
        self.sock.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, self.groups[group])
