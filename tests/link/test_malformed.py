# SPDX-License-Identifier: GPL-2.0
"""Frames that no good end sends: each is counted under its cause, and changes nothing.

Every one is injected twice: into a link that has something offered, something held
and something unread, where the frame would mean a change if only it were good; and at a host that
has no link to its sender.
"""

import oaewire as oae
from oaepeer import Peer
from oaetest import wait_for
from topology import CALM, OneScript

VIA = bytes.fromhex("020ae00000aa" "020ae00000bb")


def cases(peer):
    """(what is wrong, the counter, the frame): the frames carry counters that would commit."""
    # Good but for what is said: it commits what is held, and would be answered with DONE.
    good = {"tx": peer.tx + 1, "seq": peer.tx + 1, "flags": oae.WANT_DONE}

    def commit(**bad):
        return peer.frame(oae.COMMIT, **(good | bad))

    def offer(**bad):
        return peer.frame(oae.OFFER, **({"seq": peer.tx + 1, "flags": oae.LAST,
                                         "payload": b"x" * 64} | bad))

    def reflect(**bad):
        return peer.frame(oae.REFLECT, **({"seq": peer.rx + 1, "payload":
                                           oae.reflect_body([b"offered"])} | bad))

    def refuse(**bad):
        return peer.frame(oae.REFUSE, **({"seq": peer.rx + 1,
                                          "reason": oae.BUSY} | bad))

    yield "nothing behind the Ethernet header", "short", commit().pack()[:14]
    yield "one byte", "short", commit().pack()[:15]
    yield "47 bytes of header", "short", commit().pack()[:61]
    yield "header only of a frame with payload", "short", offer().pack()[:62]
    yield "last byte of the payload missing", "short", offer().pack()[:-1]
    yield "via said, not there", "short", commit(ext=3, flags=oae.VIA).pack()[:62]
    yield "length beyond the frame", "short", offer(length=65)
    yield "length 65535", "short", offer(length=65535)
    yield "a byte behind a full frame", "long", offer(tail=b"\0")
    yield "much behind the payload", "long", commit(tail=bytes(100))
    yield "length too small", "long", offer(length=63)
    yield "length 0 with payload", "long", offer(length=0)
    for version in (0, 1, 3, 15):
        yield f"version {version}", "version", commit(version=version)
    for ext in (1, 3, 15):
        yield f"{ext} words without via", "hlen", commit(ext=ext, tail=bytes(60))
    yield "via in no extension", "hlen", commit(flags=oae.VIA)
    for opcode in (0, 11, 18, 128, 255):
        yield f"opcode {opcode}", "opcode", peer.frame(opcode, **good)
    yield "the reserved flag", "flags", commit(flags=0x80)
    yield "the free flag", "flags", commit(flags=0x10)
    yield "all flags", "flags", commit(flags=0xff)
    yield "keyed digest", "auth", commit(flags=oae.AUTH)
    for bit in (0, 31, 63):
        right = int.from_bytes(commit().pack()[54:62], "big")
        yield f"bit {bit} of the digest", "digest", commit(digest=right ^ 1 << bit)
    yield "digest 0", "digest", commit(digest=0)
    yield "payload of another slice", "digest", offer(
        digest=int.from_bytes(offer(slice=1).pack()[54:62], "big"))
    for at in (16, 22, 26, 33, 37, 41, 44, 49):
        packet = bytearray(commit().pack())
        packet[at] ^= 4
        yield f"header byte {at - 14} flipped", "digest", bytes(packet)
    packet = bytearray(offer().pack())
    packet[-1] ^= 1
    yield "payload flipped", "digest", bytes(packet)

    yield "grant of a HELLO", "field", peer.frame(oae.HELLO, payload=oae.hello_body(), grant=1)
    yield "grant of a NOLINK", "field", peer.frame(oae.NOLINK, grant=256)
    yield "grant of a PATH", "field", peer.frame(oae.PATH, payload=oae.path_body(peer.to, peer.mac),
                                                 grant=0x8000)
    yield "kind 255", "field", commit(kind=255)
    yield "OFFER of a VOID, two slices", "field", offer(kind=oae.VOID, slice=1, payload=b"")
    yield "OFFER of a VOID, express", "field", offer(kind=oae.VOID, payload=b"",
                                                     flags=oae.LAST | oae.EXPRESS)
    yield "OFFER of a VOID, not empty", "field", offer(kind=oae.VOID)
    yield "OFFER of a pack, two slices", "field", offer(kind=oae.PACK, slice=1)
    yield "OFFER of a pack, express", "field", offer(kind=oae.PACK, flags=oae.LAST | oae.EXPRESS)
    yield "OFFER of a pack, empty", "field", offer(kind=oae.PACK, payload=b"")
    yield "REFLECT of a pack, long body", "field", reflect(kind=oae.PACK, payload=bytes(17))
    yield "reason 13", "field", commit(reason=13)
    yield "OFFER of a half, two slices", "field", offer(kind=oae.SWAP, slice=1)
    yield "OFFER of a half, not the last", "field", offer(kind=oae.SWAP, flags=0)
    yield "OFFER of a half, express", "field", offer(kind=oae.SWAP, flags=oae.LAST | oae.EXPRESS)
    yield "OFFER of a half, empty", "field", offer(kind=oae.SWAP, payload=b"")
    yield "OFFER of a verb, resumed", "field", offer(kind=oae.VERB, flags=oae.LAST | oae.RESUME)
    yield "REFLECT of a swap, no half", "field", reflect(kind=oae.SWAP, payload=bytes(16))
    yield "REFLECT of a verb, no answer", "field", reflect(kind=oae.VERB, payload=bytes(16))
    yield "a slice of a COMMIT", "field", commit(slice=1)
    yield "a COMMIT with payload", "field", commit(payload=b"x")
    yield "OFFER, slice 64", "field", offer(slice=64)
    yield "OFFER, slice 255", "field", offer(slice=255)
    yield "a map of a COMMIT", "field", commit(map=1)
    yield "a mark of a COMMIT", "field", commit(marks=oae.NOW)
    yield "COMMIT, a mark that there is not", "field", commit(marks=8)
    yield "OFFER, a mark of a COMMIT", "field", offer(marks=oae.BLOCKED)
    yield "REFUSE, a mark that there is not", "field", refuse(marks=2)
    yield "a number of a CLOSE", "field", peer.frame(oae.CLOSE, pn=1)
    yield "REFLECT, short body", "field", reflect(payload=bytes(15))
    yield "REFLECT of a message, long body", "field", reflect(payload=bytes(17))
    yield "REFUSE, no reason", "field", refuse(reason=0)
    yield "REFUSE, a reason of CLOSE", "field", refuse(reason=oae.POLICY)
    yield "REFUSE, reason 2", "field", refuse(reason=2)
    yield "REFUSE BUSY with payload", "field", refuse(payload=bytes(8))
    yield "OFFER, a mark of an answer", "field", offer(marks=oae.NOW)
    yield "ASK, a mark of an OFFER", "field", peer.frame(oae.ASK, seq=1, marks=oae.ANSWER)
    yield "ACK, short", "field", peer.frame(oae.ACK, seq=1, payload=bytes(7))
    yield "ACK, long", "field", peer.frame(oae.ACK, seq=1, payload=bytes(16))
    yield "CLOSE with a reason of REFUSE", "field", peer.frame(oae.CLOSE, reason=oae.BUSY)
    yield "CLOSE with payload", "field", peer.frame(oae.CLOSE, payload=b"x")
    for opcode in (oae.CLOSE_ACK, oae.READY, oae.DONE, oae.NOLINK):
        name = oae.OPCODES[opcode - 1]
        yield f"{name} with payload", "field", peer.frame(opcode, payload=b"x")
    hello = oae.hello_body(flags=oae.GATEWAY, zone=1, inc=1, life=35)
    yield "HELLO, short", "field", peer.frame(oae.HELLO, payload=hello[:-1])
    yield "HELLO, long", "field", peer.frame(oae.HELLO, payload=hello + b"\0")
    yield "HELLO, empty", "field", peer.frame(oae.HELLO)
    path = oae.path_body(peer.to, peer.mac)
    yield "PATH, short", "field", peer.frame(oae.PATH, payload=path[:-1])
    yield "PATH, long", "field", peer.frame(oae.PATH, payload=path + b"\0")
    for opcode in (oae.SYNC, oae.SYNC_ACK, oae.SYNC_CHK):
        name = oae.OPCODES[opcode - 1]
        fresh = peer.ltag ^ 0x1000          # good, it would freeze the link
        body = oae.sync_body(peer.inc, peer.far_inc)
        yield f"{name} from ltag 0", "field", peer.frame(opcode, src_ltag=0)
        yield f"{name}, short", "field", peer.frame(opcode, src_ltag=fresh, payload=body[:-1])
        yield f"{name}, long", "field", peer.frame(opcode, src_ltag=fresh, payload=body + b"\0")
        for lie in ({"zero": b"\1"}, {"rest": bytes(6) + b"\1"}, {"last": 64}, {"last": 254}):
            yield f"{name}, {lie}", "field", peer.frame(
                opcode, src_ltag=fresh, payload=oae.sync_body(peer.inc, peer.far_inc, **lie))

    yield "via: not for this host", "not_mine", commit(flags=oae.VIA, via=VIA)
    yield "to a group address", "not_mine", commit(dst=bytes.fromhex("030ae0000001"))
    yield "broadcast", "not_mine", commit(dst=b"\xff" * 6)
    yield "from a group address", "not_mine", commit(src=bytes.fromhex("030ae0000002"))
    yield "from address 0", "not_mine", commit(src=bytes(6))
    yield "from this host's own address", "not_mine", commit(src=oae.mac_bytes(peer.to))
    yield "to another host", None, commit(dst=bytes.fromhex("020ae0ffffff"))
    yield "of another EtherType", None, commit(ethertype=0x88b6)


class Malformed(OneScript):
    """A link with one offered, one held, one unread."""

    ports = True

    @classmethod
    def build(cls):
        super().build()
        cls.a.knobs(linger_ms=0, **CALM)

    def forget(self):
        """No link stalls, and is counted, while another test looks."""
        self.a.knob("dev", "-va")
        self.a.add_port("va")

    def link(self, vc):
        """A link with all that a frame could change, patient for some seconds."""
        self.addCleanup(self.forget)
        self.a.read_all()
        peer = Peer(self.wire, self.cable.mac_a, vc=vc).open()
        peer.offered(b"unread")
        peer.commit()
        for _ in range(4):
            peer.anew()
        peer.offered(b"held")
        self.a.write(b"offered", nonblock=True, target=peer.mac, vc=vc)
        peer.take(seq=1)
        return peer

    def inject(self, peer, bad):
        """All frames, then a barrier; what every counter has moved by."""
        before = self.a.stats()
        self.wire.send_all([frame for _, _, frame in bad])
        peer.silence()
        return {name: value - before[name] for name, value in self.a.stats().items()}

    def check_counters(self, moved, bad):
        """Each cause as often as expected."""
        causes = ("short", "long", "version", "hlen", "opcode", "flags", "field", "auth", "digest")
        names = [f"bad_{cause}" for cause in causes] + ["not_mine"]
        wanted = dict.fromkeys(names, 0)
        for _, cause, _ in bad:
            if cause:
                wanted[cause if cause == "not_mine" else f"bad_{cause}"] += 1
        self.assertEqual({name: moved[name] for name in names}, wanted)
        allowed = set(names) | {"rx_frames", "rx_bytes", "tx_frames", "tx_bytes", "stranger"}
        self.assertEqual({name: n for name, n in moved.items() if n and name not in allowed}, {})

    def test_open_link(self):
        """All of them, at once: the link stands as it stood, and goes on."""
        peer = self.link(1)
        before = self.a.timeless(vc=1)
        bad = list(cases(peer))
        moved = self.inject(peer, bad)
        self.check_counters(moved, bad)
        self.assertEqual(moved["stranger"], 1, "only the barrier was answered")
        self.assertEqual(self.a.timeless(vc=1), before)
        self.assertEqual((before["offer"], before["hold"], before["unread"]), ("out", "held", 1))
        # It would have been committed by any of the good frames that these are not.
        peer.commit(flags=oae.WANT_DONE)
        peer.expect(oae.DONE, rx=2)
        self.assertEqual(self.a.read_each(), [b"unread", b"held"])

    def test_no_link(self):
        """All of them from a stranger: none is answered, none makes a tag."""
        peer = Peer(self.wire, self.cable.mac_a, vc=2)
        peer.far_ltag = peer.draw()
        bad = list(cases(peer))
        moved = self.inject(peer, bad)
        self.check_counters(moved, bad)
        self.assertEqual((moved["stranger"], moved["tags_made"]), (1, 0))
        self.assertIsNone(self.a.tag(vc=2))

    def test_short_in_pages(self):
        """As trafgen sends them: what is behind the Ethernet header is in pages."""
        peer = Peer(self.wire, self.cable.mac_a, vc=5)
        short = [frame for what, cause, frame in cases(peer) if cause == "short" and "nothing" not in what]
        before = self.a.stat("bad_short")
        self.wire.trafgen(short)
        wait_for(lambda: self.a.stat("bad_short") == before + len(short), "all to be counted")

    def test_each_cause_is_tried(self):
        """No cause is forgotten by the list above."""
        peer = Peer(self.wire, self.cable.mac_a, vc=3)
        tried = {cause for _, cause, _ in cases(peer) if cause}
        known = {name.removeprefix("bad_") for name in self.a.stats() if name.startswith("bad_")}
        self.assertEqual(tried, known - {"cookie", "path"} | {"not_mine"})

    def test_one_at_a_time(self):
        """One of each cause alone moves just that counter."""
        peer = self.link(4)
        seen = set()
        for what, cause, frame in cases(peer):
            if cause and cause not in seen:
                seen.add(cause)
                with self.subTest(what):
                    before = self.a.stats()
                    self.wire.send(frame)
                    peer.silence()
                    after = self.a.stats()
                    moved = {name for name in after if after[name] != before[name]}
                    name = cause if cause == "not_mine" else f"bad_{cause}"
                    self.assertEqual(moved - {"rx_frames", "rx_bytes", "tx_frames", "tx_bytes",
                                              "stranger"}, {name})

    def test_garbage(self):
        """Bytes that are no frame of anybody's: counted, nothing more."""
        peer = self.link(6)
        before, tag = self.a.stats(), self.a.timeless(vc=6)
        head = oae.mac_bytes(peer.to) + oae.mac_bytes(peer.mac) + b"\x88\xb5"
        shapes = [bytes((7 * n + m) % 256 for m in range(n)) for n in range(1, 1400, 23)]
        self.wire.send_all([head + shape for shape in shapes])

        def bad():
            after = self.a.stats()
            return sum(after[n] - before[n] for n in after if n.startswith("bad_"))

        wait_for(lambda: bad() >= len(shapes), "all to be counted")
        peer.silence()
        self.assertEqual(bad(), len(shapes))
        self.assertEqual(self.a.timeless(vc=6), tag)
