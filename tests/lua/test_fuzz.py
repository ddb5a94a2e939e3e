# SPDX-License-Identifier: GPL-2.0
"""No bytes make the dissector stumble: frames at random, and good ones altered and cut off."""

import os
import random
import unittest

from oaepcap import A, B, Capture, run_tshark, udp4, udp6
import oaeipwire as ip
import oaewire as oae

COUNT = int(os.environ.get("OAE_FRAMES") or 1500)


def good_frame(rng):
    """A frame with a right digest, whose fields are likely but need not fit together."""
    def small():
        return rng.choice((0, 1, 2, 3, 0xffffffff, rng.getrandbits(32)))

    opcode = rng.randint(1, 15)
    kind = rng.choice((0, 0, 1, 2))
    payload = rng.randbytes(rng.choice((0, 1, 8, 16, 17, 24, 32, 40, rng.randint(0, 300))))
    if opcode <= 3:
        payload = oae.sync_body(rng.randint(0, 2), rng.randint(0, 2), start=small())
    elif opcode == oae.HELLO:
        payload = oae.hello_body(rng.randint(0, 15), rng.randint(0, 2), inc=rng.randint(0, 2),
                                 life=1, about=rng.choice((A, B, bytes(6))))
    elif opcode == oae.PATH:
        payload = oae.path_body(rng.choice((A, B)), rng.choice((A, B)), rng.randint(0, 3), nonce=small(),
                                proof=rng.getrandbits(64))
    elif opcode == oae.REFLECT:
        payload = rng.randbytes(16) + (payload if kind else b"")
    elif kind == 2:
        payload = verb(rng)
    reason = rng.choice((0, 0, rng.randint(0, 13)))
    if opcode == oae.REFUSE:
        reason = rng.choice((1, *range(3, 13)))
    if opcode == oae.ACK:
        payload = rng.randbytes(8)
    if opcode in (oae.CLOSE, oae.CLOSE_ACK, oae.COMMIT, oae.REFUSE, oae.READY, oae.DONE,
                  oae.NOLINK):
        payload = b""
    if opcode == oae.ASK:
        payload = bytes(rng.choice((0, 1, 1452)))
    src, dst = rng.choice(((A, B), (B, A)))
    via = rng.random() < .1
    return oae.Frame(opcode, src=src, dst=dst, vc=rng.choice((0, 0, 0, 7)),
                     flags=rng.choice((0, 2, 2, 3, 6, rng.getrandbits(5))) | (oae.VIA if via else 0),
                     via=oae.via(dst, src) if via else b"",
                     slice=rng.choice((0, 0, 1, 63)) if opcode == oae.OFFER and not kind else 0,
                     src_ltag=rng.randint(0, 3), dst_ltag=rng.randint(0, 3), tx=small(), rx=small(),
                     seq=small(), kind=kind, reason=reason,
                     payload=payload)


def verb(rng):
    """A request, or something like one."""
    body = bytearray(rng.getrandbits(4).to_bytes(4, "big") + bytes((rng.choice((1, 2, 64, 0)), 0, 0, 0)))
    for _ in range(body[4]):
        code, words = rng.randint(0, 6), rng.choice((1, 1, 8, 9, 0, 255))
        body += bytes((code, words, 0, 0)) + rng.getrandbits(8).to_bytes(4, "big")
        body += rng.randbytes(8 * words * {1: 0, 5: 2}.get(code, 1))[:rng.choice((4000, 4000, 9))]
    return bytes(body[:1400])


def mutated(rng, raw):
    """Some of its bytes are others, and some behind the Ethernet header are missing or too many."""
    raw = bytearray(raw)
    for _ in range(rng.choice((0, 1, 1, 2, 10))):
        raw[rng.randrange(12, len(raw))] = rng.choice((0, 1, 255, rng.getrandbits(8)))
    how = rng.random()
    if how < .2:
        del raw[rng.randrange(14, len(raw) + 1):]
    elif how < .3:
        raw += rng.randbytes(rng.randint(1, 60))
    return bytes(raw)


def datagram(rng, frame):
    """What gateways say, or something like it."""
    if rng.random() < .5:
        d = ip.Datagram(ip.DATA, rng.randint(0, 3), rng.randint(0, 3), ip.through(frame))
    else:
        nodes = tuple((rng.randbytes(6), rng.randint(0, 3)) for _ in range(rng.randint(0, 5)))
        d = ip.Datagram(rng.choice((2, 2, 3)), 1, 2, ip.Control(
            rng.randint(0, 6), rng.randint(0, 1), 1, nodes=nodes, pad=rng.choice((0, 3)),
            count=rng.choice((None, 151, 65535))).pack())
    raw = bytearray(d.pack())
    if rng.random() < .3:
        raw[rng.randrange(len(raw))] = rng.getrandbits(8)
    if rng.random() < .2:
        del raw[rng.randrange(len(raw) + 1):]
    return rng.choice((udp4, udp6))(bytes(raw))


def capture(seed):
    """Frames of all these sorts."""
    rng, frames = random.Random(seed), Capture()
    for _ in range(COUNT):
        how, frame = rng.random(), good_frame(rng)
        if how < .4:
            raw = frame.pack()
        elif how < .7:
            raw = mutated(rng, frame.pack())
        elif how < .9:
            raw = datagram(rng, frame)
        else:
            raw = A + B + b"\x88\xb5" + rng.randbytes(rng.choice((0, 5, 39, 40, 52, 200)))
        cut = rng.random() < .1
        frames.add(raw[:rng.randint(14, len(raw))] if cut else raw, len(raw))
    return frames


class Fuzz(unittest.TestCase):
    def test_random_frames(self):
        seed = random.randrange(1 << 32)
        frames = capture(seed)
        for options in (["-2"], []):
            text = run_tshark(frames, *options, "-V", "-O", "oae,oaeip")
            self.assertGreater(text.count("Atomic Link"), COUNT // 2)
            for complaint in ("Lua Error", "[Dissector bug"):
                at = text.find(complaint)
                self.assertEqual(at, -1, f"seed {seed}: " + text[max(at - 2000, 0):at + 300])


if __name__ == "__main__":
    unittest.main()
