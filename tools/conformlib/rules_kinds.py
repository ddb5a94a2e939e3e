# SPDX-License-Identifier: GPL-2.0
"""Sections 4.9, 4.10 and 4.12: swaps, verbs, packs."""

import struct

from .frame import Kind, Op, Reason, Stand, add, pack, unpack
from .tap import check, rule

READ, WRITE, EXCHANGE, FETCH_ADD, CAS = 1, 2, 3, 4, 5
WORDS = 64


def operation(code, index, *values, words=1):
    """An operation of a request (4.10)."""
    return struct.pack(">BBHI", code, words, 0, index) + b"".join(value.to_bytes(8, "big") for value in values)


def request(*operations, region=7, count=None):
    """A request (4.10) of these operations."""
    return struct.pack(">IB3x", region, len(operations) if count is None else count) + b"".join(operations)


def answered(link, data, slices=None):
    """What the REFLECT of a request has behind its 16 bytes: taken, failed, the old words."""
    frame = link.reflected(link.offer(data, kind=Kind.VERB) if slices is None else slices, kind=Kind.VERB)
    taken, failed = frame.payload[16], frame.payload[17]
    check(not any(frame.payload[18:24]), "bytes that are 0 are", frame.payload[18:24].hex())
    old = frame.payload[24:]
    return taken, failed, list(struct.unpack(f">{len(old) // 8}Q", old))


def exposed(test):
    """A link to a peer that exposes region 7 of 64 words to it."""
    link = test.open()
    test.attach(link)
    test.far.expose(vc=link.vc, region=7, size=WORDS * 8)
    return link


# --- 4.9 Swap


@rule("4.9", "a half, and the peer has none: REFUSE with NO_HALF")
def no_half(test):
    link = test.open()
    link.offer(b"half", kind=Kind.SWAP)
    answer = link.expect(Op.REFUSE)
    check((answer.reason, answer.kind) == (Reason.NO_HALF, Kind.SWAP), answer)
    link.reflected(link.offer(b"", kind=Kind.VOID), kind=Kind.VOID)
    link.commit()


@rule("4.9", "the peer's half is lent in the REFLECT, and committed with this one")
def lent(test):
    link = test.open()
    test.attach(link)
    number = test.far.queue_swap(vc=link.vc, data=b"theirs".hex())
    link.offered(kind=Kind.SWAP)
    link.send(Op.REFUSE, newest=True, seq=add(link.rx, 1), kind=Kind.SWAP, reason=Reason.NO_HALF)
    link.offered(kind=Kind.VOID)
    link.reflect([b""], kind=Kind.VOID)
    link.committed()
    answer = link.reflected(link.offer(b"ours", kind=Kind.SWAP), kind=Kind.SWAP)
    check(answer.payload[16:] == b"theirs", "its half is", answer.payload[16:])
    link.commit()
    test.ends(link, number, "committed", "", b"ours".hex(), None)


@rule("4.9", "the half that is offered: this end's goes back in the REFLECT")
def offered_half(test):
    link = test.open()
    test.attach(link)
    number = test.far.queue_swap(vc=link.vc, data=b"theirs".hex())
    check(link.offered(kind=Kind.SWAP).payload == b"theirs", "another half")
    link.reflect([b"theirs"], kind=Kind.SWAP, more=b"ours")
    link.committed()
    test.ends(link, number, "committed", "", b"ours".hex(), None)


@rule("4.9", "a half that is lent, and whose partner becomes VOID, is posted again")
def lent_back(test):
    link = test.open()
    test.attach(link)
    test.far.queue_swap(vc=link.vc, data=b"theirs".hex())
    link.offered(kind=Kind.SWAP)
    link.send(Op.REFUSE, newest=True, seq=add(link.rx, 1), kind=Kind.SWAP, reason=Reason.NO_HALF)
    link.offered(kind=Kind.VOID)
    link.reflect([b""], kind=Kind.VOID)
    link.committed()
    link.reflected(link.offer(b"ours", kind=Kind.SWAP), kind=Kind.SWAP)
    link.reflected(link.offer(b"", kind=Kind.VOID), kind=Kind.VOID)
    link.commit()
    check(link.offered(kind=Kind.SWAP).payload == b"theirs", "another half")


@rule("4.9", "both offer: the senior end, of the higher address, refuses; the junior lends")
def both_offer(test):
    link = test.open()
    test.attach(link)
    number = test.far.queue_swap(vc=link.vc, data=b"theirs".hex())
    link.offered(kind=Kind.SWAP)
    slices = link.offer(b"ours", kind=Kind.SWAP)
    if test.cable.mac < test.cable.peer:
        check(link.expect(Op.REFUSE).reason == Reason.NO_HALF, "another reason")
        link.reflect([b"theirs"], kind=Kind.SWAP, more=b"ours")
    else:
        answer = link.reflected(slices, kind=Kind.SWAP)
        check(answer.payload[16:] == b"theirs", "another half")
        if not any(frame.kind == Kind.VOID for frame in link.seen):
            link.offered(kind=Kind.VOID)
        link.reflect([b""], kind=Kind.VOID)
        link.commit()
    test.ends(link, number, "committed", "", b"ours".hex())


# --- 4.10 Verbs


@rule("4.10", "operations in order on a copy, the answer with the REFLECT, the words with the commit")
def verbs(test):
    link = exposed(test)
    check(answered(link, request(operation(WRITE, 3, 10, 20, words=2), operation(FETCH_ADD, 3, 5),
                                 operation(EXCHANGE, 4, 7), operation(READ, 3, words=2))) ==
          (1, 0, [10, 20, 15, 7]), "another answer")
    link.commit()
    check(answered(link, request(operation(READ, 3, words=2))) == (1, 0, [15, 7]), "other words")
    link.commit()
    check(answered(link, request(operation(FETCH_ADD, 3, (1 << 64) - 16))) == (1, 0, [15]), "other words")
    link.commit()
    check(answered(link, request(operation(READ, 3))) == (1, 0, [(1 << 64) - 1]), "not modulo 2^64")
    link.commit()


@rule("4.10", "CAS that does not hold: taken 0, failed is its index, what is behind reads 0, nothing changes")
def cas(test):
    link = exposed(test)
    check(answered(link, request(operation(FETCH_ADD, 0, 9), operation(CAS, 0, 8, 1),
                                 operation(READ, 1))) == (0, 1, [0, 9, 0]), "another answer")
    link.commit()
    check(answered(link, request(operation(CAS, 0, 0, 0, 4, 5, words=2))) == (1, 0, [0, 0]), "not taken")
    link.commit()
    check(answered(link, request(operation(READ, 0, words=2))) == (1, 0, [4, 5]), "other words")


@rule("4.10", "the same REFLECT again has the same answer")
def same_answer(test):
    link = exposed(test)
    data = request(operation(FETCH_ADD, 0, 1))
    check(answered(link, data) == answered(link, data) == (1, 0, [0]), "another answer")
    link.commit()
    check(answered(link, request(operation(READ, 0))) == (1, 0, [1]), "it was computed twice")


@rule("4.10", "what is dropped undecided has changed nothing")
def verb_dropped(test):
    link = exposed(test)
    answered(link, request(operation(WRITE, 0, 1)))
    link.reflected(link.offer(b"", kind=Kind.VOID), kind=Kind.VOID)
    link.commit()
    check(answered(link, request(operation(READ, 0))) == (1, 0, [0]), "the word has changed")


@rule("4.10", "reasons: NO_REGION, BAD_VERB, RANGE, in that order; CONFLICT while a word is reserved")
def verb_refused(test):
    link = exposed(test)
    read = operation(READ, 0)
    for data, reason in ((request(read, region=8), Reason.NO_REGION),
                         (request(operation(READ, WORDS)), Reason.RANGE),
                         (request(operation(READ, WORDS - 1, words=2)), Reason.RANGE),
                         (request(operation(6, 0)), Reason.BAD_VERB),
                         (request(operation(READ, 0, words=9)), Reason.BAD_VERB),
                         (request(read, count=2), Reason.BAD_VERB),
                         (request(read, read, count=1), Reason.BAD_VERB),
                         (request(), Reason.BAD_VERB),
                         (request(read) + b"\0", Reason.BAD_VERB),
                         (request()[:7], Reason.NO_REGION)):
        link.offer(data, kind=Kind.VERB)
        answer = link.expect(Op.REFUSE)
        check((answer.reason, answer.kind) == (reason, Kind.VERB), data.hex(), Reason(answer.reason).name)
        link.reflected(link.offer(b"", kind=Kind.VOID), kind=Kind.VOID)
        link.commit()


@rule("4.10", "a verb above one that is missing waits: ACK has all of it; then both are computed in order")
def verb_waits(test):
    link = exposed(test)
    first, second = add(link.tx, 1), add(link.tx, 2)
    link.offer(request(operation(READ, 0)), second, kind=Kind.VERB)
    check(link.expect(Op.ACK).payload == (1).to_bytes(8, "big"), "another map")
    link.offer(request(operation(WRITE, 0, 6)), first, kind=Kind.VERB)
    answers = {}
    while len(answers) < 2:
        frame = link.expect(Op.REFLECT)
        answers[frame.seq] = frame.payload[24:]
    check(answers == {first: b"", second: (6).to_bytes(8, "big")}, answers)


@rule("4.10", "the peer's verb: a request as it should be, refused for good: ENXIO; else its answer comes")
def verb_there(test):
    link = test.open()
    test.attach(link)
    number = test.far.queue_add(vc=link.vc, region=5, offset=16, add=3)
    want = request(operation(FETCH_ADD, 2, 3), region=5)
    check(link.offered(kind=Kind.VERB).payload == want, "another request")
    link.send(Op.REFUSE, newest=True, seq=add(link.rx, 1), kind=Kind.VERB, reason=Reason.NO_REGION)
    test.ends(link, number, "reversed", "ENXIO")
    link.offered(kind=Kind.VOID)
    link.reflect([b""], kind=Kind.VOID)
    link.committed()
    number = test.far.queue_add(vc=link.vc, region=5, offset=16, add=3)
    link.offered(kind=Kind.VERB)
    link.reflect([want], kind=Kind.VERB, more=bytes([1]) + bytes(7) + (40).to_bytes(8, "big"))
    link.committed()
    test.ends(link, number, "committed", "", None, [[40]])


# --- 4.12 Packs


@rule("4.12", "a pack is delivered as its messages, in order")
def packs(test):
    link = test.open()
    test.attach(link)
    messages = [b"one", b"t", b"three" * 9]
    check(link.peer.caps & Stand.PACKS, "the peer takes no packs")
    link.reflected(link.offer(pack(messages), kind=Kind.PACK), kind=Kind.PACK)
    check(not test.messages_of(link), "delivered before it was committed")
    link.commit()
    check(test.messages_of(link) == messages, "other messages")


@rule("4.12", "a malformed pack, or any if none are taken: REFUSE with KIND")
def packs_refused(test):
    good = pack([b"one", b"two"])
    link = test.open()
    bad = b"\0\0", b"\x01", b"\1\0\0\0", good + b"x", good[:-1], b"\2\1" + good[2:], b"\x41\0" + b"\0\1" * 65 + bytes(65)
    test.knobs(pack=0)
    other = test.open()
    check(not other.peer.caps & Stand.PACKS, "the peer takes packs")
    for end, data in *((link, data) for data in bad), (other, good):
        end.offer(data, kind=Kind.PACK)
        answer = end.expect(Op.REFUSE)
        check((answer.reason, answer.kind) == (Reason.KIND, Kind.PACK), data.hex(), answer)
        end.reflected(end.offer(b"", kind=Kind.VOID), kind=Kind.VOID)
        end.commit()


def taken(link, count):
    """The next messages of the peer, so many, and the kinds of the transactions that they came in."""
    messages, kinds = [], []
    while len(messages) < count:
        offer = link.offered()
        kinds.append(offer.kind)
        link.reflect([offer.payload], kind=offer.kind)
        link.committed()
        messages += unpack(offer.payload) if offer.kind == Kind.PACK else [offer.payload]
    return messages, kinds


@rule("4.12", "the peer makes packs of messages that wait, for an end that takes them and no other")
def packs_there(test):
    messages = [bytes([n]) * (n + 1) for n in range(10)]
    for caps in 0, Stand.PACKS:
        link = test.open(caps=caps, window=1)
        test.attach(link)
        numbers = [test.far.queue(vc=link.vc, data=data.hex()) for data in messages]
        came, kinds = taken(link, len(messages))
        check(came == messages and (Kind.PACK in kinds) == bool(caps), came, kinds)
        test.ends(link, numbers[-1], "committed")


@rule("4.12", "a pack that is refused for good is dissolved, and its messages come by themselves")
def dissolved(test):
    link = test.open(caps=Stand.PACKS, window=1)
    test.attach(link)
    messages = [bytes([n]) for n in range(6)]
    for data in messages:
        test.far.queue(vc=link.vc, data=data.hex())
    came = []
    while (offer := link.offered()).kind != Kind.PACK:
        came.append(link.take([offer.payload]))
    link.send(Op.REFUSE, newest=True, seq=offer.seq, kind=Kind.PACK, reason=Reason.KIND)
    link.offered(kind=Kind.VOID)
    link.reflect([b""], kind=Kind.VOID)
    link.committed()
    more, kinds = taken(link, len(messages) - len(came))
    check(came + more == messages and set(kinds) == {Kind.MESSAGE}, came, more, kinds)
