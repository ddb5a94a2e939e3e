# SPDX-License-Identifier: GPL-2.0
"""Every field of every frame is shown as what it is, and what is wrong with a frame by its name."""

import random
import struct
import unittest
from dataclasses import replace

from oaepcap import A, B, C, G1, Capture, icmp4, run_tshark, tshark, udp4, udp6
import oaeipwire as ip
import oaewire as oae
from oaewire import Frame

REASONS = ("none", "BUSY", None, "NO_HALF", "CONFLICT", "TOO_BIG", "KIND", "POLICY", "FULL",
           "NO_REGION", "RANGE", "ACCESS", "BAD_VERB")


def frame(opcode, **given):
    """A frame from A to B, of a run unless it says otherwise, that is good."""
    given = {"src": A, "dst": B, "src_ltag": 0x11111111, "dst_ltag": 0x22222222} | given
    if opcode <= 3:
        given = {"payload": oae.sync_body(7, 8)} | given
    elif opcode == oae.HELLO:
        given = {"payload": oae.hello_body()} | given
    elif opcode == oae.PATH:
        given = {"payload": oae.path_body(B, A)} | given
    elif opcode == oae.ACK:
        given = {"payload": bytes(8)} | given
    elif opcode == oae.REFLECT:
        given = {"payload": oae.reflect_body([b"hello"])} | given
    elif opcode == oae.REFUSE:
        given = {"reason": oae.BUSY} | given
    return Frame(opcode, **given)


def opcodes():
    """Numbers and names."""
    return [(n, name) for n, name in enumerate(oae.OPCODES, 1) if name]


class FieldTest(unittest.TestCase):
    """Frames are gathered with what is expected of them, then tshark is run once."""

    maxDiff = None
    options = ()

    def setUp(self):
        self.capture, self.expected = Capture(), []

    def see(self, raw, what="", wire=None, **fields):
        """This frame shows these fields; __ for a dot, None: not there, True: somehow."""
        self.capture.add(raw.pack() if isinstance(raw, Frame) else raw, wire)
        self.expected.append((what, {"oae." + k.replace("__", "."): v for k, v in fields.items()}))

    def see_ip(self, raw, what="", wire=None, **fields):
        """The same, of a datagram; fields of the frame in it by their own names."""
        self.capture.add(raw, wire)
        self.expected.append((what, {
            ("oae." if k.startswith("in__") else "oaeip.") + k.removeprefix("in__").replace("__", "."): v
            for k, v in fields.items()}))

    def text(self):
        """All of it as people see it."""
        return run_tshark(self.capture, "-2", "-V", "-O", "oae,oaeip")

    def check(self):
        """All of them."""
        self.assertTrue(self.expected)
        for n, (got, (what, fields)) in enumerate(
                zip(tshark(self.capture, *self.options), self.expected, strict=True), 1):
            got["oae.info"] = got["oaeip.info"] = [got["info"]]
            for name, value in fields.items():
                if value is None:
                    self.assertNotIn(name, got, f"frame {n} {what}")
                    continue
                here = got.get(name)
                value = value if isinstance(value, list) else [value]
                if value[0] is True:
                    value = here or ["something"]
                if isinstance(value[0], bytes) and here:
                    here = [v.replace(":", "") for v in here]
                value = [v.hex() if isinstance(v, bytes) else str(v) for v in value]
                self.assertEqual(here, value, f"frame {n} {what}: {name} of {got}")


class Header(FieldTest):
    def test_every_opcode_and_field(self):
        for n, name in opcodes():
            given = {"vc": 200 + n, "tx": 16909060, "rx": 84281096, "seq": 3735928559}
            self.see(frame(n, **given), name, opcode=n, version=2, ext=0, vc=200 + n,
                     flags="0x00", length=len(frame(n).payload), slice=0, src_ltag="0x11111111",
                     dst_ltag="0x22222222", tx=16909060, rx=84281096, seq=3735928559,
                     kind=0, reason=int(n == oae.REFUSE), grant=0, marks="0x00",
                     **({"ack": 0, "map": "0x00000000", "pn": None}
                        if n in oae.ANSWERS else
                        {"pn": 0, "ack": None, "map": None}),
                     digest__status=1, digest__expected=None, bad=None, excess=None)
        self.check()
        for got, (_, name) in zip(tshark(self.capture), opcodes(), strict=True):
            self.assertRegex(got["info"], rf"^vc \d+: {name}: ")
            self.assertEqual(got["protocol"], "OAE")

    def test_names_are_shown(self):
        for n, _ in opcodes():
            self.see(frame(n))
        text = self.text()
        for n, name in opcodes():
            self.assertIn(f"Opcode: {name} ({n})", text)

    def test_every_flag(self):
        names = ("express", "last", "resume", "want_done", "free", "via", "auth", "reserved")
        for n, name in enumerate(names):
            f = frame(oae.OFFER, flags=1 << n, payload=b"x",
                      via=oae.via(B, A) if 1 << n == oae.VIA else b"")
            self.see(f, name, flags=f"0x{1 << n:02x}", **{
                f"flags__{other}": int(other == name) for other in names},
                bad={"auth": "bad_auth", "free": "bad_flags", "reserved": "bad_flags"}.get(name))
        self.check()
        self.assertIn("Flags: 0x08 (WANT_DONE)", self.text())

    def test_kinds_and_reasons(self):
        for kind in range(6):
            self.see(frame(oae.DONE, kind=kind), kind=kind, bad=None if kind < 5 else "bad_field")
        for reason in range(1, 14):
            opcode = oae.CLOSE if reason in (oae.POLICY, oae.FULL) else oae.REFUSE
            self.see(frame(opcode, reason=reason), reason=reason,
                     bad=None if REASONS[reason:] and REASONS[reason] else "bad_field")
        self.check()
        text = self.text()
        for kind, name in enumerate(("MESSAGE", "SWAP", "VERB", "VOID", "PACK")):
            self.assertIn(f"Kind: {name} ({kind})", text)
        for reason, name in enumerate(REASONS):
            if name:
                self.assertIn(f"Reason: {name} ({reason})", text)

    def test_via(self):
        f = frame(oae.OFFER, dst=G1, flags=oae.VIA | oae.LAST, via=oae.via(B, A), payload=b"hello")
        self.see(f, ext=3, via__dst=B, via__src=A, payload=b"hello", digest__status=1, bad=None,
                 info="OFFER: #0, 5 bytes (02:0a:e0:00:00:01 to 02:0a:e0:00:00:02)")
        self.check()

    def test_excess(self):
        self.see(frame(oae.OFFER, payload=b"abcdef"), excess=None, bad=None)
        self.see(frame(oae.OFFER, payload=b"abcdef", tail=b"!"), excess=b"!", bad="bad_long")
        self.check()

    def test_numbers(self):
        self.see(frame(oae.COMMIT, pn=3735928559), pn=3735928559, ack=None, bad=None)
        self.see(frame(oae.DONE, pn=4294967295, map=0x80000001, marks=oae.NOW), pn=None,
                 ack=4294967295, map="0x80000001", marks="0x01", marks__now=1, bad=None)
        self.check()
        self.assertIn("Marks: 0x01 (NOW)", self.text())

    def test_cut_off_when_captured(self):
        raw = frame(oae.OFFER, payload=bytes(range(100))).pack()
        self.see(raw[:104], wire=len(raw), bad=None, digest__status=2, payload=bytes(range(42)))
        self.see(raw[:62], wire=len(raw), bad=None, digest__status=2, payload=None)
        self.see(raw[:40], wire=len(raw), bad=None, opcode=None)
        raw = frame(oae.SYNC, payload=oae.sync_body(1, mtu=1500)).pack()
        self.see(raw[:78], wire=126, bad=None, digest__status=2, sync__inc=None)
        self.see(raw[:91], wire=126, bad=None, sync__inc=None, sync__mtu=None, payload=raw[62:91])
        self.see(raw[:92], wire=126, bad=None, sync__mtu=1500, sync__zero=None, payload=None)
        self.see(raw[:96], wire=126, bad=None, sync__mtu=1500, sync__zero=bytes(4), payload=None)
        self.see(raw[:118], wire=126, bad=None, sync__zero=bytes(10), sync__kept=None)
        self.see(raw[:119], wire=126, bad=None, sync__kept="0x0000000000000000", sync__last=0)
        self.check()
        self.assertTrue(all("oae.note.cut" in got for got in tshark(self.capture)))


class Bodies(FieldTest):
    def test_sync(self):
        for opcode in (oae.SYNC, oae.SYNC_ACK, oae.SYNC_CHK):
            self.see(frame(opcode, payload=oae.sync_body(
                0x0123456789abcdef, 0xfedcba9876543210, 65536, 4294967295, 9000, 5)),
                sync__inc="0x0123456789abcdef", sync__peer_inc="0xfedcba9876543210", sync__caps=
                "0x00000005", sync__window=5, sync__packs=0, sync__paths=0, sync__gateway=0,
                sync__met=0, sync__max_len=65536, sync__start=4294967295,
                sync__mtu=9000, sync__kept="0x0000000000000000", sync__last=0,
                sync__hash="0x0000000000000000", sync__zero=[bytes(10), bytes(7)])
        self.see(frame(oae.SYNC_ACK, tx=4, rx=9, payload=oae.sync_body(
            1, **oae.kept([b"a", b"b", b"c"], (0, 2), 2))),
            sync__kept="0x0000000000000005", sync__last=2,
            sync__hash=f"0x{oae.kept([b'a', b'', b'c'], (0, 2))['hash_']:016x}",
            info="SYNC_ACK: my ltag 11111111, yours 22222222, committed #4, "
            "delivered #9, I keep slices 0 2 (from 0) of #10")
        self.see(frame(oae.SYNC, rx=9, payload=oae.sync_body(1, **oae.kept([b"a", b"b"], (1,)))),
                 bad=None, sync__kept="0x0000000000000002", sync__last=255)
        self.see(frame(oae.SYNC, tx=4, rx=9, payload=oae.sync_body(1, caps=0xffffffff)),
                 sync__window=63, sync__packs=1, sync__paths=1, sync__gateway=1, sync__met=1,
                 info="SYNC: my ltag 11111111, yours 22222222, committed #4, "
                 "delivered #9, window 64")
        self.see(frame(oae.SYNC, dst_ltag=0, tx=4, rx=9), info=
                 "SYNC: my ltag 11111111, yours unknown, committed #4, delivered #9")
        self.check()

    def test_void(self):
        f = frame(oae.OFFER, kind=oae.VOID, flags=oae.LAST, seq=7)
        self.see(f, bad=None, payload=None,
                 info="OFFER: #7, nothing, in place of what was reversed")
        for given in ({"flags": 0}, {"slice": 1}, {"flags": oae.LAST | oae.EXPRESS},
                      {"flags": oae.LAST | oae.RESUME}, {"payload": b"x"}):
            self.see(replace(f, **given), str(given), bad="bad_field")
        self.see(frame(oae.REFLECT, kind=oae.VOID, payload=oae.reflect_body([b""])), bad=None)
        self.see(frame(oae.REFLECT, kind=oae.VOID, payload=oae.reflect_body([b""]) + b"x"),
                 bad="bad_field")
        self.check()

    def test_reflect(self):
        slices = [b"hello"]
        self.see(frame(oae.REFLECT, payload=oae.reflect_body(slices)),
                 reflect__digest=f"0x{oae.whole_digest(slices):016x}",
                 reflect__first=b"hello\0\0\0", reflect__match=None)
        self.see(frame(oae.REFLECT, kind=oae.SWAP, payload=oae.reflect_body(slices) + b"my half"),
                 swap__half=b"my half", bad=None)
        self.see(frame(oae.REFLECT, kind=oae.SWAP, payload=oae.reflect_body(slices)),
                 bad="bad_field")
        self.check()

    def test_have(self):
        def ack(have, **given):
            return frame(oae.ACK, payload=have.to_bytes(8, "big"), **given)
        self.see(ack(0x8000000000000017, seq=7), ack__have="0x8000000000000017",
                 ack__slice=[0, 1, 2, 4, 63], info="ACK: #7, I have slices 0-2 4 63 (from 0)")
        self.see(ack(4, seq=7), info="ACK: #7, I have slice 2 (from 0)")
        self.see(ack(0, seq=7), ack__have="0x0000000000000000", ack__slice=None,
                 info="ACK: #7, I have nothing of it")
        rng = random.Random(1)
        for _ in range(20):
            have = rng.getrandbits(64) | 1
            self.see(ack(have), ack__slice=[n for n in range(64) if have >> n & 1])
        self.check()

    def test_hello(self):
        self.see(frame(oae.HELLO, dst=ip.BROADCAST, src_ltag=0, dst_ltag=0, payload=oae.hello_body(
            ip.GATEWAY | ip.ABOUT, zone=3, mtu=1464, epoch=5, inc=0xdeadbeef, life=35,
            node_life=175, about=C)),
            hello__flags="0x09", hello__flags__gateway=1, hello__flags__leaving=0,
            hello__flags__ask=0, hello__flags__about=1, hello__zone=3, hello__mtu=1464,
            hello__epoch=5, hello__inc="0xdeadbeef", hello__life=35, hello__node_life=175,
            hello__about=C, hello__zero=0, hello__zero2=0, bad=None,
            info="HELLO: gateway of zone 3, MTU 1464 to 02:0a:e0:00:00:03")
        self.see(frame(oae.HELLO, dst=G1, payload=oae.hello_body(ip.LEAVING, mtu=1500)),
                 hello__flags__leaving=1, info="HELLO: host, MTU 1500, leaving")
        self.see(frame(oae.HELLO, payload=oae.hello_body(ip.GATEWAY | ip.ASK_ME, 1, inc=1, life=1)),
                 info="HELLO: gateway of zone 1, MTU 1500, answer now")
        self.check()

    def test_path(self):
        self.see(frame(oae.PATH, src_ltag=0, dst_ltag=0, payload=oae.path_body(
            B, A, mtu=9000, nonce=0x123456789abcdef8, proof=0xfedcba9876543210)),
            path__role=1, path__zero=0, path__mtu=9000, path__to=B, path__from=A,
            path__nonce="0x123456789abcdef8", path__proof="0xfedcba9876543210", bad=None,
            info="PATH: does this lead to you? MTU 9000, of the link 02:0a:e0:00:00:01 to "
            "02:0a:e0:00:00:02")
        self.see(frame(oae.PATH, payload=oae.path_body(B, A, role=2)), path__role=2,
                 info="PATH: yes, it does; MTU 1500, of the link 02:0a:e0:00:00:01 to "
                 "02:0a:e0:00:00:02")
        self.see(frame(oae.PATH, payload=oae.path_body("00:00:00:00:00:00", A, role=3,
                                                       nonce=0x1020ae0000001)),
                 path__role=3, bad=None,
                 info="PATH: behind a gateway I am at 02:0a:e0:00:00:01; MTU 1500, id "
                 "0x0001020ae0000001")
        self.see(frame(oae.PATH, payload=oae.path_body(B, A), flags=oae.VIA, via=oae.via(B, A)),
                 path__role=1, bad=None)
        self.see(frame(oae.PATH, payload=oae.path_body(B, A, role=7)), path__role=7,
                 info="PATH: role 7; MTU 1500, of the link 02:0a:e0:00:00:01 to 02:0a:e0:00:00:02")
        self.check()

    def test_sentences(self):
        for opcode, given, info in (
                (oae.SYNC_CHK, {}, "SYNC_CHK: my ltag is 11111111, ask again"),
                (oae.CLOSE, {"seq": 5}, "CLOSE: I close, and take nothing above #5"),
                (oae.CLOSE, {"seq": 5, "flags": oae.LAST},
                 "CLOSE: I close, and take nothing above #5; all of mine is decided"),
                (oae.CLOSE, {"reason": oae.POLICY}, "CLOSE: you are turned away, POLICY"),
                (oae.CLOSE_ACK, {}, "CLOSE_ACK: I have forgotten the link"),
                (oae.OFFER, {"seq": 4, "slice": 2, "payload": b"12", "flags": 5},
                 "OFFER: #4, slice 3 of ?, 2 bytes, express, what you keep is of this"),
                (oae.COMMIT, {"tx": 4, "flags": oae.WANT_DONE},
                 "COMMIT: #4, say when it is delivered"),
                (oae.REFUSE, {"seq": 4}, "REFUSE: #4, BUSY: I settle, and take nothing now"),
                (oae.COMMIT, {"tx": 4, "flags": oae.WANT_DONE, "marks": oae.BLOCKED},
                 "COMMIT: #4, say when it is delivered, what is next is not granted"),
                (oae.READY, {"rx": 4, "grant": 5}, "READY: granted above #4: 1280 bytes; or words are free"),
                (oae.DONE, {"rx": 4}, "DONE: #4 is delivered, granted above it: nothing"),
                (oae.ASK, {"seq": 4}, "ASK: #4, what do you have of it?"),
                (oae.ASK, {"seq": 4, "payload": bytes(1452)},
                 "ASK: #4, what do you have of it? probe of length 1500 bytes"),
                (oae.NOLINK, {}, "NOLINK: I have no link for your ltag 22222222")):
            self.see(frame(opcode, **given), info=info)
        self.check()


def request(region, *ops, nops=None, zero=0):
    """The payload of a verb: (code, index, operands...), a CAS (5, index, must be..., operands...)."""
    body = struct.pack(">IBBH", region, len(ops) if nops is None else nops, 0, zero)
    for code, index, *words in ops:
        count = {1: words[0], 5: len(words) // 2}.get(code, len(words))
        body += struct.pack(">BBHI", code, count, 0, index)
        body += b"".join(w.to_bytes(8, "big") for w in (() if code == 1 else words))
    return body


def answer(taken, failed, *words):
    """What is behind the body of its REFLECT."""
    return struct.pack(">BB6x", taken, failed) + b"".join(w.to_bytes(8, "big") for w in words)


class SwapAndVerb(FieldTest):
    def offer(self, payload, kind=oae.VERB, seq=1, **given):
        """The OFFER of a verb."""
        return frame(oae.OFFER, flags=oae.LAST, seq=seq, kind=kind, payload=payload, **given)

    def test_every_operation(self):
        body = request(9, (1, 100, 2), (2, 200, 0xaa), (3, 300, 0xbb), (4, 400, 1),
                       (5, 500, 0x11, 0x22, 0x33, 0x44))
        self.see(self.offer(body), verb__region=9, verb__nops=5, verb__op=[1, 2, 3, 4, 5],
                 verb__words=[2, 1, 1, 1, 2], verb__index=[100, 200, 300, 400, 500],
                 verb__op__zero=[0] * 5,
                 verb__operand=["0x" + f"{n:016x}" for n in (0xaa, 0xbb, 1, 0x33, 0x44)],
                 verb__compare=["0x0000000000000011", "0x0000000000000022"], bad=None, info=
                 "OFFER: #1, verb on region 9: READ words 100 to 101, WRITE word 200, "
                 "EXCHANGE word 300, and 2 more")
        words = answer(0, 4, 1, 2, 3, 4, 5, 6)
        self.see(frame(oae.REFLECT, src=B, dst=A, src_ltag=0x22222222, dst_ltag=0x11111111, seq=1,
                       kind=oae.VERB, payload=oae.reflect_body([body]) + words),
                 answer__taken=0, answer__failed=4, answer__zero=bytes(6),
                 answer__word=[f"0x{n:016x}" for n in range(1, 7)], reflect__match=1, info=
                 "REFLECT: #1, not taken, operation 4 failed, was 0x0000000000000001 and 5 words "
                 "more, this is what I heard")
        self.check()
        text = self.text()
        for line in ("Operation 1: WRITE word 200", "Operation: FETCH_ADD (4)",
                     "(operation 0, READ words 100 to 101, word 2)", "(operation 2, EXCHANGE word 300)",
                     "(operation 4, CAS words 500 to 501, word 2)"):
            self.assertIn(line, text)

    def test_malformed_verbs(self):
        good = request(1, (4, 0, 1))
        bad = [b"1234567", request(1), request(1, (4, 0, 1), nops=2), good + b"!", good[:-1],
               request(1, (4, 0, 1), zero=1), request(1, (6, 0, 1)), request(1, (1, 0, 9)),
               request(1, (1, 0, 0)), request(1, *[(1, n, 1) for n in range(65)]),
               good[:10] + b"\1" + good[11:]]
        for seq, body in enumerate([good, *bad]):
            self.see(self.offer(body, seq=seq), **{"note__verb": None} if body == good else
                     {"note__verb": True}, bad=None)
        ask = len(self.expected)
        self.see(self.offer(good, seq=99))
        for payload, fine in ((answer(1, 0, 7), True), (answer(2, 0, 7), False), (answer(1, 1, 7), False),
                              (answer(1, 0), False), (answer(1, 0, 7, 8), False),
                              (answer(1, 0, 7) + b"!", False), (b"\1\0\0\1" + bytes(12), False)):
            self.see(frame(oae.REFLECT, src=B, dst=A, src_ltag=0x22222222, dst_ltag=0x11111111,
                           seq=99, kind=oae.VERB, payload=oae.reflect_body([good]) + payload),
                     f"answer {payload.hex()}, asked in {ask}", note__verb=None if fine else True)
        self.check()

    def test_packs(self):
        good = oae.pack_body([b"one", b"two", b"three"])
        self.see(self.offer(good, oae.PACK), pack__count=3, pack__zero=0, pack__len=[3, 3, 5],
                 pack__message=[b"one", b"two", b"three"], note__pack=None, bad=None,
                 info="OFFER: #1, a pack of 3 messages")
        for body in (b"\1", oae.pack_body([]), oae.pack_body([b"x"] * 65), good + b"!", good[:-1],
                     oae.pack_body([b"a", b"b"], zero=1), oae.pack_body([b"a", b""]),
                     oae.pack_body([b"a"], count=255)):
            self.see(self.offer(body, oae.PACK), note__pack=True, bad=None)
        self.see(self.offer(b"", oae.VOID), bad=None, info="OFFER: #1, nothing, in place of what was reversed")
        self.see(self.offer(b"x", oae.VOID), bad="bad_field")
        self.check()

    def test_grant(self):
        """All frames but HELLO, NOLINK and PATH say what is granted."""
        grantless = oae.HELLO, oae.NOLINK, oae.PATH
        for n, name in opcodes():
            for grant in 0, 1, 1024, 65535:
                self.see(frame(n, grant=grant), name, grant=grant,
                         bad="bad_field" if grant and n in grantless else None)
        self.check()
        for text in ("0 (nothing)", "1 (256 bytes)", "1024 (262144 bytes)", "65535 (16776960 bytes)"):
            self.assertIn("Grant, what all numbers above rx may cost, in 256 bytes: " + text, self.text())

    def test_shape(self):
        """One slice, LAST, neither EXPRESS nor RESUME, not empty."""
        for kind in (oae.SWAP, oae.VERB):
            body = request(1, (4, 0, 1))
            self.see(self.offer(body, kind), bad=None)
            for given in ({"slice": 1}, {"flags": 0}, {"flags": 3}, {"flags": 6}, {"payload": b""}):
                self.see(replace(self.offer(body, kind), **given), str(given), bad="bad_field")
            self.see(frame(oae.REFLECT, kind=kind, payload=bytes(16)), bad="bad_field")
            self.see(frame(oae.REFLECT, kind=kind, payload=bytes(17)), bad=None)
        self.check()


class Bad(FieldTest):
    """The causes of protocol.md 2.6, by the names of the counters, the first of several."""

    def test_every_cause(self):
        def offer(opcode=oae.OFFER, **given):
            return replace(frame(oae.OFFER, payload=b"0123456789"), opcode=opcode, **given)

        for cause, f in (
                ("bad_short", offer().pack()[:61]), ("bad_short", offer().pack()[:14]),
                ("bad_version", offer(version=1)), ("bad_version", offer(version=0, ext=1, flags=255)),
                ("bad_flags", offer(flags=0x80)), ("bad_flags", offer(flags=0xff, opcode=0)),
                ("bad_opcode", offer(opcode=0)), ("bad_opcode", offer(opcode=11)), ("bad_opcode", offer(opcode=18, ext=3)),
                ("bad_hlen", offer(ext=3)), ("bad_hlen", offer(flags=oae.VIA)),
                ("bad_short", offer(length=11)), ("bad_short", offer(length=65535, pn=1)),
                ("bad_short", frame(oae.OFFER, flags=oae.VIA, via=b"", ext=3, length=0)),
                ("bad_long", offer(length=9)), ("bad_long", offer(tail=b"!", map=1)),
                ("bad_field", offer(kind=4)), ("bad_field", offer(kind=oae.VOID, flags=oae.LAST)),
                ("bad_field", offer(reason=13)), ("bad_field", frame(oae.PATH, grant=1)),
                ("bad_field", offer(marks=1)), ("bad_field", offer(map=1)),
                ("bad_field", offer(marks=3)), ("bad_field", frame(oae.COMMIT, marks=2)),
                ("bad_field", frame(oae.COMMIT, marks=1)), ("bad_field", offer(marks=4)),
                ("bad_field", frame(oae.DONE, marks=4)), ("bad_field", frame(oae.DONE, marks=2)),
                ("bad_field", frame(oae.CLOSE, pn=1)),
                ("bad_field", frame(oae.SYNC, payload=oae.sync_body(1, 2, zero=b"\1"))),
                ("bad_field", frame(oae.SYNC, payload=oae.sync_body(1, 2, rest=bytes(6) + b"\1"))),
                ("bad_field", frame(oae.SYNC_ACK, payload=oae.sync_body(1, 2, last=64))),
                ("bad_field", frame(oae.HELLO, grant=255)), ("bad_field", frame(oae.NOLINK, grant=256)),
                ("bad_field", offer(slice=64)),
                ("bad_field", frame(oae.COMMIT, slice=1)), ("bad_field", frame(oae.SYNC, src_ltag=0)),
                ("bad_field", frame(oae.SYNC, payload=bytes(63))),
                ("bad_field", frame(oae.COMMIT, payload=b"1")),
                ("bad_field", frame(oae.REFLECT, payload=bytes(17))),
                ("bad_field", frame(oae.REFUSE, reason=0)),
                ("bad_field", frame(oae.REFUSE, reason=oae.POLICY)),
                ("bad_field", frame(oae.REFUSE, reason=2)),
                ("bad_field", frame(oae.REFUSE, payload=bytes(8))),
                ("bad_field", frame(oae.ACK, payload=b"")),
                ("bad_field", frame(oae.CLOSE, reason=oae.BUSY)),
                ("bad_field", frame(oae.CLOSE, reason=9)),
                ("bad_field", frame(oae.HELLO, payload=bytes(23))),
                ("bad_field", frame(oae.PATH, payload=bytes(31))),
                ("bad_field", offer(flags=oae.AUTH, kind=3)),
                ("bad_auth", offer(flags=oae.AUTH, digest=1)), ("bad_digest", offer(digest=1))):
            self.see(f, f"{cause} {f}", bad=cause, **{cause: True})
        self.check()

    def test_gateways_hello(self):
        good = {"flags": ip.GATEWAY, "zone": 1, "inc": 1, "life": 1, "mtu": 140}
        for given, cause in (({}, None), ({"flags": 0x11}, "bad_field"), ({"zone": 0}, "bad_field"),
                             ({"inc": 0}, "bad_field"), ({"life": 0}, "bad_field"),
                             ({"mtu": 139}, "bad_field"), ({"flags": ip.GATEWAY | ip.ABOUT}, "bad_field"),
                             ({"flags": ip.GATEWAY | ip.ABOUT, "about": b"\1" + bytes(5)}, "bad_field"),
                             ({"flags": ip.GATEWAY | ip.LEAVING, "life": 0, "mtu": 0}, None),
                             ({"flags": ip.GATEWAY | ip.LEAVING, "inc": 0}, "bad_field"),
                             ({"flags": 0x20, "zone": 0}, None)):
            self.see(frame(oae.HELLO, payload=oae.hello_body(**(good | given))), str(given), bad=cause)
        self.see(frame(oae.HELLO, src=b"\3" + A[1:], payload=oae.hello_body(**good)), bad="bad_field")
        self.see(frame(oae.HELLO, src=bytes(6), payload=oae.hello_body(**good)), bad="bad_field")
        self.check()

    def test_nodes_hello(self):
        good = {"id_": 0x1020ae0000002, "inc": 0xfedcba9876543210, "mtu": 1500}
        see = {"hello__id": "0x0001020ae0000002", "hello__node_inc": "0xfedcba9876543210",
               "hello__mtu": 1500, "hello__flags__node": 1, "hello__zone": 0, "hello__epoch": 0}
        self.see(frame(oae.HELLO, dst=ip.BROADCAST, payload=oae.node_body(**good)), bad=None,
                 info="HELLO: id:0001020ae0000002, MTU 1500", **see)
        flags = oae.HELLO_NODE | oae.LEAVING
        self.see(frame(oae.HELLO, payload=oae.node_body(**good, flags=flags)), bad=None,
                 info="HELLO: id:0001020ae0000002, MTU 1500, leaving", **see)
        for given in ({"id_": 0xffffffffffff}, {"inc": 0}, {"mtu": 127}, {"flags": 0x11},
                      {"flags": 0x14}, {"flags": 0x18}, {"flags": 0x30}, {"flags": 0x90}):
            self.see(frame(oae.HELLO, payload=oae.node_body(**(good | given))), str(given),
                     bad="bad_field")
        for given in ({"id_": 1 << 48}, {"inc": 1}, {"inc": 1 << 63}, {"mtu": 128}):
            self.see(frame(oae.HELLO, payload=oae.node_body(**(good | given))), str(given), bad=None)
        self.see(frame(oae.HELLO, src=b"\3" + A[1:], payload=oae.node_body(**good)), bad="bad_field")
        self.see(frame(oae.HELLO, src=bytes(6), payload=oae.node_body(**good)), bad="bad_field")
        self.check()

    def test_digest(self):
        """Of every length, with and without VIA; each bit that is wrong is seen."""
        rng = random.Random(3)
        for n in (*range(0, 100), 1000, 1460, 9000):
            f = frame(oae.OFFER, payload=rng.randbytes(n), slice=rng.randrange(64),
                      seq=rng.getrandbits(32), tx=rng.getrandbits(32))
            if n % 3 == 0:
                f.flags, f.via = oae.VIA, oae.via(B, A)
            self.see(f, digest__status=1, bad=None)
            raw = bytearray(f.pack())
            at = rng.choice((*range(14 + 8, 14 + 28), *range(14 + 40, len(raw))))
            raw[at] ^= 1 << rng.randrange(8)
            self.see(bytes(raw), f"bit of byte {at}", digest__status=0, bad="bad_digest")
        self.check()

    def test_right_digest_is_told(self):
        f = frame(oae.OFFER, payload=b"hello")
        right = oae.Frame.parse(f.pack()).digest
        f.digest = right ^ 0xffffffff00000000
        self.see(f, digest__expected=f"0x{right:016x}", digest=f"0x{f.digest:016x}")
        self.check()


class Unchecked(FieldTest):
    options = "-2", "-o", "oae.check_digest:FALSE"

    def test_digest_not_checked(self):
        self.see(frame(oae.OFFER, digest=1, payload=b"x"), bad=None, digest__status=2)
        self.check()


class UdpPorts(FieldTest):
    def see_udp(self, data, what="", wire=None, dport=34998, **fields):
        """A datagram to a UDP port, by both families; in__ before a name of the frame's fields."""
        for udp in udp4, udp6:
            self.capture.add(udp(data, dport=dport), wire)
            self.expected.append((what, {
                ("oae." if k.startswith("in__") else "oaeudp.") +
                k.removeprefix("in__").replace("__", "."): v for k, v in fields.items()}))

    def test_frame(self):
        f = frame(oae.OFFER, seq=5, payload=b"hello")
        self.see_udp(b"\x11\0" + f.pack(), version=1, type=1, zero=0, bad=None, in__opcode=6,
                     in__payload=b"hello", in__digest__status=1, in__bad=None)
        self.see_udp(b"\x11\0" + f.pack()[:-1] + b"x", bad=None, in__bad="bad_digest")
        self.check()

    def test_bad(self):
        good = b"\x11\0" + frame(oae.COMMIT).pack()
        for cause, data in (("short", b""), ("short", b"\x11"), ("short", good[:55]),
                            ("version", b"\x21" + good[1:]), ("type", b"\x12" + good[1:]),
                            ("zero", b"\x11\1" + good[2:]),
                            ("ethernet", good[:14] + b"\x08\0" + good[16:]),
                            ("ethernet", good[:2] + b"\3" + good[3:]),
                            ("ethernet", good[:8] + bytes(6) + good[14:])):
            if data:            # UDP shows nothing of an empty one
                self.see_udp(data, cause, bad=cause, in__opcode=None)
        self.check()


class OtherUdpPort(UdpPorts):
    options = "-2", "-o", "oaeudp.port:5000"

    def test_frame(self):
        data = b"\x11\0" + frame(oae.COMMIT).pack()
        self.see_udp(data, type=None, in__opcode=None)
        self.see_udp(data, dport=5000, type=1, in__opcode=oae.COMMIT)
        self.check()

    test_bad = None


class OtherEthertype(FieldTest):
    options = "-2", "-o", "oae.ethertype:34998", "-o", "oaeip.port:5000"

    def test_knobs(self):
        self.see(frame(oae.COMMIT), opcode=None)
        self.see(frame(oae.COMMIT, ethertype=34998), opcode=oae.COMMIT)
        self.see_ip(udp4(ip.Datagram(1, 1, 2, bytes(40)).pack()), type=None)
        self.see_ip(udp4(ip.Datagram(1, 1, 2, bytes(40)).pack(), dport=5000), type=1)
        self.check()


def data(f, src=1, dst=2, **given):
    """A frame between gateways."""
    return ip.Datagram(ip.DATA, src, dst, ip.through(f), **given).pack()


def control(op, inc=7, serial=1, **given):
    """A control message from zone 2 to zone 1."""
    return ip.Datagram(ip.CONTROL, 2, 1, ip.Control(op, inc, serial, **given).pack()).pack()


class Gateways(FieldTest):
    def test_data(self):
        f = ip.via(oae.OFFER, G1, A, B, seq=5, src_ltag=1, dst_ltag=2, payload=b"hello")
        for udp in (udp4, udp6):
            self.see_ip(udp(data(f)), version=1, type=1, flags="0x00", src_zone=1, dst_zone=2,
                        length=65, bad=None, in__opcode=6, in__payload=b"hello", in__via__src=A,
                        in__digest__status=1, in__bad=None, info="zone 1 to 2: OFFER: #5, slice 1 of "
                        "?, 5 bytes (02:0a:e0:00:00:01 to 02:0a:e0:00:00:02)")
        f.digest = 1
        self.see_ip(udp4(data(f)), in__bad="bad_digest")
        f = ip.via(oae.COMMIT, G1, A, B, src_ltag=1, dst_ltag=2)
        self.see_ip(udp4(data(f)), bad=None, in__bad=None)
        f.length = 1
        self.see_ip(udp4(data(f)), in__bad="bad_short")
        f.length, f.tail = None, b"!"
        self.see_ip(udp4(data(f)), in__bad="bad_long")
        self.see_ip(udp4(data(frame(oae.COMMIT))), bad="via")
        self.check()

    def test_control(self):
        self.see_ip(udp4(control(ip.BEAT, 0xea3748b4, 27, seen=1472)), type=2, op=1, zero=0, count=0,
                    inc="0xea3748b4", serial=27, life=35, seen=1472, bad=None,
                    info="zone 2 to 1: BEAT: I am here; longest BEAT or PROBE heard 1472 bytes")
        self.see_ip(udp4(control(ip.NODES, nodes=((A, 0), (B, ip.GONE), (C, ip.CLAIM)))), op=2, count=3,
                    node=[A, B, C], node__flags=["0x00", "0x01", "0x02"], node__gone=[0, 1, 0],
                    node__claim=[0, 0, 1], bad=None,
                    info="zone 2 to 1: NODES: 1 here, 1 gone, 1 claimed")
        self.see_ip(udp4(control(ip.ASK)), op=3, bad=None)
        self.see_ip(udp4(control(ip.BYE)), op=4, info="zone 2 to 1: BYE: forget me and my nodes")
        self.see_ip(udp4(control(ip.PROBE, pad=100)), op=5, probe=bytes(100), bad=None,
                    info="zone 2 to 1: PROBE of 124 bytes: does this arrive?")
        self.see_ip(udp6(control(ip.BEAT)), op=1)
        self.check()

    def test_bad_encapsulation(self):
        whole = {"kind": 2, "src_zone": 2, "dst_zone": 1, "body": control(ip.BEAT)[8:]}
        for given, cause in (({"version": 2}, "version"), ({"kind": 3}, "type"), ({"kind": 0}, "type"),
                             ({"flags": 1}, "flags"), ({"src_zone": 0}, "zone"), ({"dst_zone": 65}, "zone"),
                             ({"dst_zone": 2}, "zone"), ({"length": 17}, "short"), ({"length": 15}, "long"),
                             ({"version": 3, "kind": 9, "flags": 1}, "version")):
            self.see_ip(udp4(ip.Datagram(**(whole | given)).pack()), str(given), bad=cause,
                        **{"bad_" + cause: True})
        self.see_ip(udp4(b"1234567"), bad="short")
        self.check()

    def test_bad_control(self):
        node = ((A, 0),)
        for op, given, cause in (
                (0, {}, "op"), (6, {}, "op"), (ip.BEAT, {"count": 1}, "count"),
                (ip.NODES, {}, "count"), (ip.NODES, {"count": 151}, "count"),
                (ip.BEAT, {"zero": 1}, "field"), (ip.BEAT, {"inc": 0}, "field"),
                (ip.BEAT, {"life": 0}, "field"), (ip.ASK, {"seen": 1}, "field"),
                (ip.NODES, {"nodes": node, "count": 2}, "short"), (ip.BEAT, {"pad": 1}, "long"),
                (ip.NODES, {"nodes": ((b"\1" + A[1:], 0),)}, "mac"),
                (ip.NODES, {"nodes": ((bytes(6), 0),)}, "mac"), (ip.NODES, {"nodes": ((A, 3),)}, "flags"),
                (ip.NODES, {"nodes": node, "node_zero": 1}, "field")):
            self.see_ip(udp4(control(op, **({"inc": 1} | given))), f"{op} {given}", bad=cause)
        self.see_ip(udp4(ip.Datagram(2, 2, 1, bytes(15)).pack()), bad="short")
        self.check()

    def test_quoted_in_an_error(self):
        """What ICMP quotes is shown, but is no frame of the link."""
        f = ip.via(oae.OFFER, G1, A, B, seq=5, src_ltag=1, dst_ltag=2, payload=b"hello",
                   flags=oae.LAST)
        self.see_ip(udp4(data(f)), in__transaction=1, in__opcode=6)
        self.see_ip(icmp4(udp4(data(f))), in__opcode=6, in__transaction=None)
        self.check()


class Addresses(unittest.TestCase):
    """How addresses are shown by a tshark that has names for them."""

    def setUp(self):
        self.capture = Capture()
        for f in frame(oae.SYNC, src=A, dst=B), frame(oae.SYNC, src=B, dst=A):
            self.capture.add(f.pack())

    def columns(self, *options):
        """Source and destination of each frame."""
        said = run_tshark(self.capture, *options, "-T", "fields", "-e", "_ws.col.Source",
                          "-e", "_ws.col.Destination", "-e", "oae.link", names=True)
        return [line.split("\t") for line in said.splitlines()]

    def test_numbers(self):
        """Both are of one link, and nobody's else."""
        a, b = A.hex(":"), B.hex(":")
        for passes in (), ("-2",):
            self.assertEqual(self.columns(*passes), [[a, b, "1"], [b, a, "1"]])

    def test_names(self):
        """As Wireshark has them, if that is wanted."""
        self.assertNotIn(A.hex(":"), self.columns("-o", "oae.mac_names:TRUE")[1])


if __name__ == "__main__":
    unittest.main()
