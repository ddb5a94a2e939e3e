# SPDX-License-Identifier: GPL-2.0
"""A peer that lies, or says anything: its own link freezes, is down, or goes on by the rules; no other notices."""

import random
import time

from .cable import until
from .frame import (ANSWERS, HEADER, QUESTIONS, SYNCS, Flag, Kind, Mark, Op, Reason, add, cost,
                    transaction_digest)
from .old import refused_v1
from .rules_credit import open_granting
from .run import Heard, random_bits
from .script import LONG, PATIENCE
from .tap import check, rule

FRAMES = 20             # of rubbish, one after the other on a link


def steady(test, name, action):
    """The action does not move that counter."""
    test.counted(name, action, 0)


# --- ack, map, have, pn


@rule("4.16", "a lie: an ack of what was not asked; impossible each time, and the link goes on")
def ack_ahead(test):
    link = test.open()
    test.attach(link)
    for ahead in 1, 2, 1000, 0x7fffffff:
        before = test.far.stats()["impossible"]
        link.send(Op.READY, number=add(link.heard.newest, ahead))
        link.thaw(link.expect(Op.SYNC, lambda frame: frame.src_ltag != link.peer_ltag))
        check(test.far.stats()["impossible"] == before + 1, "impossible was not counted")
        test.post(link, LONG)
        check(link.take() == LONG, "another message")


@rule("4.16", "a lie: what a map, and an ACK, say is here; it is sent until it is reflected, and committed then")
def map_lies(test):
    chance = random.Random(test.seed)
    link = test.open()
    test.attach(link)
    number = test.post(link, LONG)
    parts = link.gather()

    def lies():
        for _ in range(200):
            link.send(Op.ACK, chance.randbytes(8), seq=add(link.rx, 1), number=chance.randint(0, link.heard.newest),
                      map=chance.getrandbits(32), marks=chance.choice((0, Mark.NOW)))
        link.probe()
    steady(test, "impossible", lies)
    check(test.far.tag(vc=link.vc)["state"] == "OPEN", "it is not OPEN")
    offers = [frame for frame in link.seen if frame.op == Op.OFFER]
    check(offers and all(frame.payload == parts[frame.slice] for frame in offers), "other slices are sent again")
    check(test.outcome(link, number, 0.0)[0] == "pending", "it has ended")
    link.take(parts)
    test.ends(link, number, "committed")


@rule("4.4", "a lie: all is here, and it is never reflected; the end freezes, each time anew, and goes on")
def never_reflects(test):
    test.quick()
    link = test.open()
    test.attach(link)
    number = test.post(link, b"reflect me")
    for _ in range(2):
        limit = until(PATIENCE)
        while (frame := link.recv_until(limit)) is not None and frame.op != Op.SYNC:
            check(frame.op in (Op.OFFER, Op.ASK), frame)
            link.send(Op.ACK, (1).to_bytes(8, "big"), newest=True, seq=frame.seq)
        check(frame is not None and frame.src_ltag != link.peer_ltag, "it does not freeze", frame)
        link.thaw(frame)
    check(link.take() == b"reflect me", "another message")
    test.ends(link, number, "committed")


@rule("4.16", "a lie: any pn; ack is the farthest ahead by distance, and nothing else follows from it")
def pn_lies(test):
    link = test.open()
    heard = Heard()
    numbers = (0x1000, 0x7fffff00, 0xfffffe00, 0xfffffe20, 0xfffffe01, 0, 3, 0xfffffff0, 0x70000000, 0x6ffffff0,
               0x6fffffd0, 0x90000000, 0x500)
    for number in numbers:
        newest = heard.hear(number)
        link.ask(number=number)
        answer = link.expect(Op.ACK)
        check((answer.number, answer.map, answer.marks) == (heard.newest, heard.map(), Mark.NOW if newest else 0),
              f"{number:x}: {heard.newest:x} {heard.map():x}", answer)
    link.asked = heard.newest
    link.message(b"and a message")


# --- grants


@rule("4.11", "a lie: grants that rise and fall; all is offered in order, and each once")
def grant_lies(test):
    chance = random.Random(test.seed)
    link = open_granting(test, 0)
    data = [bytes([n]) * 700 for n in range(24)]
    numbers = [test.post(link, each) for each in data]
    came = []
    while len(came) < len(data):
        link.grant = chance.choice((0, 1, 7, 100, 0xffff))
        link.send(Op.READY)
        link.grant = 0xffff
        link.send(Op.READY)
        came.append(link.take())
    check(came == data, "other messages")
    test.ends(link, numbers[-1], "committed")


@rule("4.11", "a lie: BLOCKED though much is granted; DONE each time, and never READY")
def blocked_lies(test):
    link = test.open()
    test.attach(link)
    for _ in range(300):
        link.send(Op.COMMIT, flags=Flag.WANT_DONE, marks=Mark.BLOCKED)
    number = link.asked
    link.expect(Op.DONE, lambda frame: frame.number == number)
    check(all(frame.op == Op.DONE for frame in link.seen), *link.seen)
    link.message(b"read")
    check(test.messages_of(link) == [b"read"], "another message")
    link.silent()


@rule("4.2", "a lie: more than was granted, on all numbers of the window; no more is kept, and the link goes on")
def more_than_granted(test):
    test.knobs(rcvbuf=8192)
    link = test.open()
    test.attach(link)
    before = test.far.stats()["not_granted"]
    parts = [bytes(link.slice_size)] * 4
    numbers = range(1, link.peer.window + 1)
    for index in range(len(parts)):
        for number in numbers:
            link.cable.send(link.offer_frame(add(link.tx, number), index, parts, marks=0))
    link.probe()
    kept = len(numbers) * len(parts) - (test.far.stats()["not_granted"] - before)
    check(0 < cost(parts[:1]) * kept <= 8192, "slices that were kept:", kept)
    link.resolve(link.freeze())
    link.message(b"goes on")
    check(test.messages_of(link) == [b"goes on"], "another message")


# --- SYNC, versions


@rule("4.1", "RESUME: the peer keeps some slices, as its SYNC says; only what is missing is sent, flagged RESUME")
def resume(test):
    link, parts, sync = kept_over(test)
    link.send_sync(Op.SYNC_ACK, link.stand(kept=0b101, hash=hash_of(parts, (0, 2)), last=255), dst_ltag=sync.src_ltag)
    link.expect(Op.SYNC_ACK)
    offers = [link.offered()]
    offers[:0] = [frame for frame in link.seen if frame.op == Op.OFFER]
    check([frame.slice for frame in offers] == [n for n in range(len(parts)) if n not in (0, 2)], *offers)
    check(all(frame.flags & Flag.RESUME for frame in offers), *offers)
    link.take(parts)


@rule("4.1", "a lie: what is kept, of another hash, behind the end, with another last; all is sent, without RESUME")
def resume_lies(test):
    link, parts, sync = kept_over(test)
    for lie in ({"kept": 0b101, "hash": 5, "last": 255}, {"kept": 1 << 63, "hash": 5, "last": 63},
                {"kept": 0b101, "hash": hash_of(parts, (0, 2)), "last": 2}, {"kept": (1 << 64) - 1, "last": 0},
                {"kept": 1 << len(parts), "hash": 0, "last": 255}):
        link.send_sync(Op.SYNC_ACK, link.stand(**lie), dst_ltag=sync.src_ltag)
        link.expect(Op.SYNC_ACK, lambda frame: frame.src_ltag == sync.src_ltag)     # pylint: disable=cell-var-from-loop
        offers = [link.offered()]
        offers[:0] = [frame for frame in link.seen if frame.op == Op.OFFER]
        check([frame.slice for frame in offers] == list(range(len(parts))), lie, *offers)
        check(not any(frame.flags & Flag.RESUME for frame in offers), lie, *offers)
        sync = link.freeze()
        link.learn(sync)


def hash_of(parts, kept):
    """As the digest of a transaction, of these slices alone: each under its own index."""
    return transaction_digest(parts, kept)


def kept_over(test):
    """A link whose peer has offered a message, and has frozen since: what was offered, its SYNC."""
    link = test.open()
    test.attach(link)
    test.post(link, LONG)
    parts = link.gather()
    sync = link.freeze()
    link.learn(sync)
    return link, parts, sync


@rule("2.3", "a lie: an mtu that carries nothing; less than 128 counts as 128")
def no_mtu(test):
    for mtu in 1, 48, 127:
        link = test.open(mtu=mtu)
        test.attach(link)
        test.post(link, bytes(1000))
        parts = link.gather_slowly()
        check({len(part) for part in parts[:-1]} == {128 - HEADER.size}, mtu, [*map(len, parts)])
        link.take(parts)


@rule("2.6", "an older version: its SYNC beside an OPEN link is refused, and the link goes on")
def older(test):
    link = test.open()
    refused_v1(test, link.vc)
    link.silent()
    link.message(b"goes on")


# --- anything


@rule("4.4", "a lie: noise is no answer; a frozen end is down after dead_ms, whatever else it hears")
def noise(test):
    link = test.open()
    test.attach(link)
    number = test.post(link, b"in vain")
    link.offered()
    test.quick(dead_ms=400, keepalive_ms=100)
    link.send(Op.NOLINK)
    limit = until(PATIENCE)
    while test.far.tag(vc=link.vc)["state"] != "DOWN":
        check(time.monotonic() < limit, "it is not down")
        link.ask()
        link.send(Op.DONE)
        link.send_sync(Op.SYNC_ACK, dst_ltag=random_bits(32))
        link.send_sync(Op.SYNC_CHK, dst_ltag=random_bits(32))
    test.ends(link, number, "reversed", "ENOLINK")


def anything(link, chance):
    """A frame of this run, well-formed, that says anything."""
    op = chance.choice([op for op in Op if op != Op.HELLO])     # which is about no link
    fields = {"tx": add(link.tx, chance.choice((0, 0, 0, 0, -1, 1, 5))),
              "rx": add(link.rx, chance.choice((0, 0, 0, 0, 0, -1, 1))),
              "seq": add(link.tx, chance.choice((0, 1, 1, 2, 3, 16, 17, -1, 1 << 31))),
              "flags": chance.getrandbits(8) & 0x0f,
              "reason": chance.choice((0, *Reason)), "kind": chance.choice(list(Kind))}
    payload = chance.randbytes(chance.choice((0, 1, 8, 16, 24, 32, 64, 400, 1452)))
    if op in SYNCS:
        stand = link.stand(inc=chance.choice((link.inc, link.inc, 7)), caps=chance.getrandbits(16),
                           max_len=chance.choice((0, 1, 65536, 0xffffffff)), start=chance.getrandbits(32),
                           mtu=chance.choice((0, 60, 1500, 0xffff)), kept=chance.getrandbits(64),
                           last=chance.choice((0, 3, 255)))
        payload = stand.pack()
        fields["src_ltag"] = chance.choice((link.ltag, link.ltag, 9))
    if op in QUESTIONS:
        fields["number"] = chance.choice((link.asked + 1, 0, chance.getrandbits(32)))
    if op in ANSWERS:
        fields |= {"number": chance.choice((link.heard.newest, link.heard.newest, chance.getrandbits(32))),
                   "map": chance.getrandbits(32), "marks": chance.getrandbits(1)}
    if op == Op.OFFER:
        fields |= {"slice": chance.choice((0, 0, 1, 63, 64, 255)), "marks": chance.choice((0, 2))}
    if op == Op.COMMIT:
        fields["marks"] = chance.choice((0, 4))
    return link.frame(op, payload, **fields)


@rule("4", "a peer that says anything: another link goes on meanwhile, and this one once it is opened anew")
def rubbish(test):
    chance = random.Random(test.seed)
    other = test.open()
    test.attach(other)
    for turn in range(test.messages // FRAMES):
        link = test.stranger()
        link.open()
        if turn % 3 == 0:
            test.attach(link)
            test.post(link, LONG)
        for _ in range(FRAMES):
            link.cable.send(anything(link, chance))
        link.cable.drain()
        data = b"%d" % turn
        other.message(data)
        check(test.messages_of(other) == [data], "the other link's message")
        test.hang_up(link)
        again = test.stranger()
        again.vc = link.vc
        again.open()
        again.message(data)
