# SPDX-License-Identifier: GPL-2.0
"""The frame format of include/oae_wire.h, once more and on its own.

Nothing here is taken from the module's code, so that a mistake on one side shows.
"""

import struct
from dataclasses import dataclass, field, fields, replace

ETHERTYPE = 0x88B5
VERSION = 2
HDR_LEN = 48
MAX_SLICES = 64
NO_LAST = 255               # of a SYNC: the last slice is not kept

SYNC, SYNC_ACK, SYNC_CHK, CLOSE, CLOSE_ACK, OFFER, REFLECT, COMMIT, REFUSE, READY = range(1, 11)
DONE, HELLO, NOLINK, PATH, ASK, ACK = range(12, 18)     # 11 is free
OPCODES = ("SYNC", "SYNC_ACK", "SYNC_CHK", "CLOSE", "CLOSE_ACK", "OFFER", "REFLECT", "COMMIT",
           "REFUSE", "READY", None, "DONE", "HELLO", "NOLINK", "PATH", "ASK", "ACK")

QUESTIONS = (OFFER, COMMIT, ASK)                # these have a number
ANSWERS = (REFLECT, REFUSE, READY, DONE, ACK)   # and these say which were heard

EXPRESS, LAST, RESUME, WANT_DONE = (1 << n for n in range(4))
VIA, AUTH = 0x20, 0x40
MESSAGE, SWAP, VERB, VOID, PACK = range(5)
CAPS_PACK = 0x40
NOW, ANSWER, BLOCKED = 1, 2, 4      # marks: of an answer, of an OFFER, of a COMMIT
GATEWAY, LEAVING, HELLO_ASK, ABOUT, HELLO_NODE = (1 << n for n in range(5))     # flags of HELLO
BUSY = 1                    # reasons; 2 is none
NO_HALF, CONFLICT, TOO_BIG, KIND, POLICY, FULL, NO_REGION, RANGE, ACCESS, BAD_VERB = range(3, 13)

_M = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = (11400714785074694791, 14029467366897019727, 1609587929392839161,
                           9650029242287828579, 2870177450012600261)


def _rotl(x, n):
    return (x << n | x >> 64 - n) & _M


def _round(acc, lane):
    acc = acc + lane * _P2 & _M
    return (acc << 31 | acc >> 33) * _P1 & _M


def xxh64(data, seed=0):
    """XXH64 of some bytes."""
    data = bytes(data)
    length = len(data)
    stripes = length // 32
    if stripes:
        a, b = seed + _P1 + _P2 & _M, seed + _P2 & _M
        c, d = seed, seed - _P1 & _M
        for lanes in struct.iter_unpack("<4Q", data[:stripes * 32]):
            a, b = _round(a, lanes[0]), _round(b, lanes[1])
            c, d = _round(c, lanes[2]), _round(d, lanes[3])
        h = _rotl(a, 1) + _rotl(b, 7) + _rotl(c, 12) + _rotl(d, 18) & _M
        for acc in (a, b, c, d):
            h = (h ^ _round(0, acc)) * _P1 + _P4 & _M
    else:
        h = seed + _P5 & _M
    h = h + length & _M
    pos = stripes * 32
    while pos + 8 <= length:
        h ^= _round(0, int.from_bytes(data[pos:pos + 8], "little"))
        h = _rotl(h, 27) * _P1 + _P4 & _M
        pos += 8
    if pos + 4 <= length:
        h ^= int.from_bytes(data[pos:pos + 4], "little") * _P1 & _M
        h = _rotl(h, 23) * _P2 + _P3 & _M
        pos += 4
    for byte in data[pos:]:
        h = _rotl(h ^ byte * _P5 & _M, 11) * _P1 & _M
    h = (h ^ h >> 33) * _P2 & _M
    h = (h ^ h >> 29) * _P3 & _M
    return h ^ h >> 32


def mac_bytes(mac):
    """Six bytes of "02:0a:e0:00:00:01", or of six bytes."""
    return mac if isinstance(mac, bytes) else bytes.fromhex(mac.replace(":", ""))


def mac_text(mac):
    """The other way."""
    return mac if isinstance(mac, str) else mac.hex(":")


def whole_digest(slices):
    """What REFLECT says of a transaction heard as these slices."""
    return xxh64(b"".join(xxh64(s, n).to_bytes(8, "big") for n, s in enumerate(slices)))


def first_bytes(slices):
    """And the first 8 bytes that it repeats."""
    return int.from_bytes(slices[0][:8].ljust(8, b"\0"), "big")


def cut(data, slice_max):
    """The slices of a transaction."""
    return [data[n:n + slice_max] for n in range(0, len(data), slice_max)]


_SYNC = struct.Struct(">QQIIIH10sQQB7s")
_HELLO = struct.Struct(">BBHHHIHH6sH")
_HEADER = struct.Struct(">BBBBHBBIIIIIHBBIIQ")


def sync_body(inc, peer_inc=0, max_len=65536, start=0, mtu=1500,      # pylint: disable=R0913,R0917
              caps=0, kept=0, hash_=0, last=0, zero=b"", rest=b""):
    """The payload of a SYNC, SYNC_ACK or SYNC_CHK; zero, rest: what should be zeros."""
    return _SYNC.pack(inc, peer_inc, caps, max_len, start, mtu, zero, kept, hash_, last, rest)


def kept(slices, only, last=NO_LAST):
    """What a SYNC tells if these slices are kept."""
    return {"kept": sum(1 << n for n in only), "last": last, "hash_": xxh64(
        b"".join(xxh64(slices[n], n).to_bytes(8, "big") for n in sorted(only)))}


def pack_body(messages, count=None, lengths=None, zero=0):
    """The payload of a PACK; count, lengths and zero as given, right or wrong."""
    lengths = [len(m) for m in messages] if lengths is None else lengths
    count = len(messages) if count is None else count
    return (bytes([count, zero]) + b"".join(n.to_bytes(2, "big") for n in lengths) +
            b"".join(messages))


def hello_body(flags=0, zone=0, mtu=1500, epoch=0, inc=0,      # pylint: disable=R0913,R0917
               life=0, node_life=0, about=bytes(6)):
    """The payload of a HELLO; times in units of 100 ms."""
    return _HELLO.pack(flags, 0, zone, mtu, epoch, inc, life, node_life, mac_bytes(about), 0)


def node_body(id_, inc, mtu=1500, flags=HELLO_NODE, rest=0):
    """The payload of a HELLO NODE; rest: what should be 0."""
    return struct.pack(">BBHHHQQ", flags, 0, rest, mtu, rest, id_, inc)


def path_body(to, from_, role=1, mtu=1500, nonce=1, proof=0):      # pylint: disable=R0913,R0917
    """The payload of a PATH, of the link between two addresses."""
    return struct.pack(">BBH6s6sQQ", role, 0, mtu, mac_bytes(to), mac_bytes(from_), nonce, proof)


def via(dst, src):
    """The extension VIA: who is to have it, and who sent it."""
    return mac_bytes(dst) + mac_bytes(src)


def reflect_body(slices):
    """The payload of a REFLECT."""
    return struct.pack(">QQ", whole_digest(slices), first_bytes(slices))


# A frame of version 1, and the payload of its SYNC (protocol 2.6).
_OLDER = "1a{0:02x}5a00{1:04x}0000{2}{3}0000000000000000000000000000{4:04x}"
OLDER_SYNC = "1020304050607080" + 24 * "00"


def older_frame(opcode, body="", ltags=("11223344", "55667788"), reason=0):
    """The bytes of a frame of version 1, from behind the Ethernet header; body and ltags in hex."""
    head = bytes.fromhex(_OLDER.format(opcode, len(body) // 2, *ltags, reason))
    payload = bytes.fromhex(body)
    return head + xxh64(head + bytes(8), xxh64(payload)).to_bytes(8, "big") + payload


VERB_READ = 1


def verb_op(code, index, *words, cmp=()):
    """An operation of a verb; READ: words is how many."""
    count = words[0] if code == VERB_READ else len(words)
    values = () if code == VERB_READ else (*cmp, *words)
    return struct.pack(">BBHI", code, count, 0, index) + struct.pack(f">{len(values)}Q", *values)


def verb_request(region, *ops):
    """The payload of a verb."""
    return struct.pack(">IB3x", region, len(ops)) + b"".join(ops)


def verb_answer(*old, taken=1, failed=0):
    """And what answers it, behind the body of the REFLECT."""
    return struct.pack(f">BB6x{len(old)}Q", taken, failed, *old)


@dataclass
class Frame:  # pylint: disable=too-many-instance-attributes
    """One frame. What is None is derived when it is packed; set it to lie."""

    opcode: int
    dst: bytes = bytes(6)
    src: bytes = bytes(6)
    vc: int = 0
    flags: int = 0
    slice: int = 0
    src_ltag: int = 0
    dst_ltag: int = 0
    tx: int = 0
    rx: int = 0
    seq: int = 0
    grant: int = 0          # what all above rx may cost, 256 bytes each
    kind: int = 0
    reason: int = 0
    marks: int = 0
    pn: int = 0             # of a question; of an answer the newest that it has heard
    map: int = 0            # and which before that
    payload: bytes = b""
    via: bytes = b""
    version: int = VERSION
    ethertype: int = ETHERTYPE
    ext: int = None         # words of extensions
    length: int = None
    digest: int = None
    tail: bytes = field(default=b"", repr=False)    # behind the payload

    def pack(self):
        """The whole frame, from the Ethernet header on."""
        ext = len(self.via) // 4 if self.ext is None else self.ext
        length = len(self.payload) if self.length is None else self.length

        def header(digest):
            return _HEADER.pack(self.version << 4 | ext, self.opcode, self.vc, self.flags,
                                length, self.slice, self.kind, self.src_ltag, self.dst_ltag,
                                self.tx, self.rx, self.seq, self.grant, self.reason,
                                self.marks, self.pn, self.map, digest) + self.via

        digest = self.digest
        if digest is None:
            digest = xxh64(header(0), xxh64(self.payload, self.slice))
        return (mac_bytes(self.dst) + mac_bytes(self.src) + self.ethertype.to_bytes(2, "big") +
                header(digest) + self.payload + self.tail)

    @classmethod
    def parse(cls, raw):
        """What some bytes from the wire say; ValueError if they are not a good frame."""
        if len(raw) < 14 + HDR_LEN:
            raise ValueError("short frame")
        (first, opcode, vc, flags, length, slice_, kind, src_ltag, dst_ltag, tx, rx, seq,
         grant, reason, marks, pn, map_, digest) = _HEADER.unpack_from(raw, 14)
        begin = 14 + HDR_LEN
        at = begin + (first & 15) * 4
        f = cls(opcode=opcode, dst=raw[:6], src=raw[6:12], vc=vc, flags=flags, slice=slice_,
                src_ltag=src_ltag, dst_ltag=dst_ltag, tx=tx, rx=rx, seq=seq,
                kind=kind, reason=reason, grant=grant, marks=marks, pn=pn, map=map_,
                payload=raw[at:at + length], via=raw[begin:at],
                version=first >> 4, ethertype=int.from_bytes(raw[12:14], "big"),
                ext=first & 15, length=length, digest=digest)
        if len(raw) != at + length:
            raise ValueError(f"length does not fit: {f}")
        if replace(f, digest=None).pack()[begin - 8:begin] != raw[begin - 8:begin]:
            raise ValueError(f"wrong digest: {f}")
        return f

    @property
    def name(self):
        """The opcode's name."""
        known = 0 < self.opcode <= len(OPCODES) and OPCODES[self.opcode - 1]
        return known or f"opcode {self.opcode}"

    def _sync(self, n):
        return _SYNC.unpack(self.payload)[n]

    inc = property(lambda self: self._sync(0), doc="SYNC*: own incarnation")
    peer_inc = property(lambda self: self._sync(1), doc="SYNC*: the peer's, as known")
    max_len = property(lambda self: self._sync(3), doc="SYNC*: largest transaction")
    start = property(lambda self: self._sync(4), doc="SYNC*: tx before the first")
    mtu = property(lambda self: self._sync(5), doc="SYNC*: bytes after the Ethernet header")
    kept = property(lambda self: self._sync(7), doc="SYNC*: slices of rx + 1 that are kept")
    hash_ = property(lambda self: self._sync(8), doc="SYNC*: the hash of their hashes")
    last = property(lambda self: self._sync(9), doc="SYNC*: the last of them, or NO_LAST")
    have = property(lambda self: int.from_bytes(self.payload, "big"), doc="ACK: slices that are here")

    @property
    def hello(self):
        """HELLO: its fields."""
        names = ("flags", "zero", "zone", "mtu", "epoch", "inc", "life", "node_life", "about",
                 "zero2")
        return dict(zip(names, _HELLO.unpack(self.payload)))

    def __str__(self):
        said = " ".join(f"{f.name}={getattr(self, f.name):#x}" for f in fields(self)[3:17]
                        if getattr(self, f.name))
        return f"<{self.name} {said} {len(self.payload)} bytes>"
