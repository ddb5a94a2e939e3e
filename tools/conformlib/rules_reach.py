# SPDX-License-Identifier: GPL-2.0
"""Section 4.17: what a path carries."""

import time

from .cable import until
from .frame import HEADER, Kind, Op, Stand, add
from .script import PATIENCE
from .tap import Failed, check, rule

SIZES = 1500, 1400, 1280, 576, 256, 128
SAYS = 1400             # bytes of a message, which is one long frame


def size(frame):
    """Bytes behind the Ethernet header."""
    return HEADER.size + len(frame.payload)


def lose(link):
    """Say of each question that comes through that nothing is here; the SYNC once the peer freezes."""
    limit = until(PATIENCE)
    while (frame := link.recv_until(limit)) is not None:
        if frame.op == Op.SYNC and frame.src_ltag != link.peer_ltag:
            return frame
        if frame.op == Op.ASK:
            link.send(Op.ACK, bytes(8), newest=True, seq=frame.seq, kind=frame.kind)
            check(not any(frame.payload), "it is not padded with zeros:", frame)
            check(len(frame.payload) in (0, 1) or frame.payload, frame)
    raise Failed(f"it does not freeze; lost are {[*map(str, link.lost[-10:])]}")


def searched(link):
    """The sizes that were asked for and did not come through."""
    return [size(frame) for frame in link.lost if frame.op == Op.ASK]


def cut(test, link, longest, begin):
    """What is longer does not come through, once `begin` has been called; the SYNC that says so, resolved."""
    link.longest = longest
    before = test.far.stats()["cut"]
    begin()
    sync = lose(link)
    found = max(each for each in SIZES if each <= longest)
    asked = searched(link)      # neither was heard in time: once more
    check(asked == sorted(asked, reverse=True) and
          all(asked.count(each) >= 3 for each in SIZES if each > longest), asked)
    check(Stand.parse(sync.payload).mtu == found, "its mtu is", Stand.parse(sync.payload).mtu)
    check(test.far.stats()["cut"] == before + 1, "note_cut was not counted")
    link.thaw(sync)
    return found


@rule("4.17", "long frames are not heard, short ones are: three tries of each size; it freezes, and cuts for what is heard")
def search(test):
    link = test.open()
    test.attach(link)
    test.quick()
    found = cut(test, link, 600, lambda: test.post(link, bytes(SAYS)))
    parts = link.gather_slowly()        # few may be under way: what was lost has halved that
    check({len(part) for part in parts[:-1]} == {found - HEADER.size}, [*map(len, parts)])
    check(link.take(parts) == bytes(SAYS), "another message")


@rule("4.17", "not even 128 is heard: nothing is known, and no MTU changes")
def search_nothing(test):
    link = test.open()
    test.attach(link)
    test.quick()
    link.longest = 120
    test.post(link, bytes(SAYS))
    asked = [each for each in SIZES for _ in range(3)]
    while len(link.lost) < 40 and not (searched(link) == asked and link.lost[-1].op == Op.OFFER):
        question = link.expect(Op.ASK)
        link.send(Op.ACK, bytes(8), newest=True, seq=question.seq)
    check(searched(link) == asked and len(link.lost[-1].payload) == SAYS, searched(link))


@rule("4.17", "a REFUSE ends the row of what was not heard: no size is asked for")
def row_ends(test):
    link = test.open()
    test.attach(link)
    test.quick()
    link.longest = 600
    test.post(link, bytes(SAYS))
    for _ in range(4):
        for _ in range(2):      # each is three of nine
            question = link.expect(Op.ASK)
            check(len(question.payload) == 0, "it searches", question)
            link.send(Op.ACK, bytes(8), newest=True, seq=question.seq)
        link.longest = 65536
        link.offered()
        link.send(Op.REFUSE, newest=True, seq=add(link.rx, 1), reason=1)
        link.longest = 600
        link.send(Op.READY)
    check(not searched(link), searched(link))


@rule("4.17", "a REFLECT that is long, and is reflected again for the second time: the responder searches")
def responder(test):
    link = test.open()
    test.attach(link)
    half = bytes(range(200)) * 7
    number = test.far.queue_swap(vc=link.vc, data=half.hex())
    link.offered(kind=Kind.SWAP)
    link.send(Op.REFUSE, newest=True, seq=add(link.rx, 1), kind=Kind.SWAP, reason=3)
    link.offered(kind=Kind.VOID)
    link.reflect([b""], kind=Kind.VOID)
    link.committed()
    test.quick(dead_ms=600)
    cut(test, link, 600, lambda: link.offer(b"ours", kind=Kind.SWAP))
    test.ends(link, number, "reversed", "EMSGSIZE")


@rule("4.17", "a probe is answered as any other ASK, and what it is padded with is not looked at")
def probe_answered(test):
    link = test.open()
    for op in Op.ACK, Op.REFLECT:
        for payload in bytes(1), bytes(link.slice_size), b"\xff" * link.slice_size:
            number = link.ask(payload=payload)
            answer = link.expect(op)
            check((answer.seq, answer.number) == (add(link.tx, 1), number), answer)
        if op == Op.ACK:
            link.reflected(link.offer(b"held"))


@rule("4.17", "an end that hears a probe longer than what it has found searches, too")
def longer_heard(test):
    link = test.open()
    test.attach(link)
    test.quick(keepalive_ms=200, dead_ms=20000)
    cut(test, link, 600, lambda: test.post(link, bytes(SAYS)))
    link.take(link.gather_slowly())
    link.longest = 65536
    limit = until(PATIENCE)
    while time.monotonic() < limit:
        link.ask(payload=bytes(test.cable.mtu - HEADER.size))
        frame = link.recv_until(until(0.05))
        if frame and frame.op == Op.ASK:
            link.send(Op.ACK, bytes(8), newest=True, seq=frame.seq)
        if frame and frame.op == Op.SYNC and frame.src_ltag != link.peer_ltag:
            break
    else:
        raise Failed("it does not search")
    check(Stand.parse(frame.payload).mtu == test.cable.mtu, "its mtu is", Stand.parse(frame.payload).mtu)
