# SPDX-License-Identifier: GPL-2.0
"""Section 4.11, credit: what each end grants, and what is offered for it."""

from .frame import GRANT_UNIT, Flag, Kind, Mark, Op, Reason, add, cost, have
from .rules_kinds import FETCH_ADD, operation, request
from .script import LONG, is_now
from .tap import check, rule

PART = bytes(1000)
COST = cost([PART])


def granted(grant):
    """Bytes, as a frame says them."""
    return grant // GRANT_UNIT


def asked(link, grant, marks=0):
    """COMMIT with WANT_DONE, and the DONE that says what is granted."""
    number = link.send(Op.COMMIT, flags=Flag.WANT_DONE, marks=marks).number
    answer = link.expect(Op.DONE, lambda frame: frame.number == number)
    check(answer.rx == link.tx and answer.grant == granted(grant), answer, "should grant", granted(grant))


@rule("4.11", "each frame says what rcvbuf leaves beside what is unread; a slice costs its bytes and 1024")
def grants(test):
    test.knobs(rcvbuf=8192)
    link = test.open()
    test.attach(link)
    check(link.probe().grant == granted(8192), "what the SYNC_ACK grants")
    slices = link.offer(PART)
    check(link.reflected(slices).grant == granted(8192), "what is held is above rx")
    link.commit()
    asked(link, 8192 - COST)
    slices = link.offer(PART + PART)
    link.reflected(slices)
    link.commit()
    asked(link, 8192 - COST - cost(slices))
    test.messages_of(link)
    asked(link, 8192)


@rule("4.11", "when a number is delivered the grant falls by no more than it costs, though rcvbuf is lower now")
def grants_less(test):
    test.knobs(rcvbuf=16384)
    link = test.open()
    test.attach(link)
    asked(link, 16384)
    test.knobs(rcvbuf=4096)
    link.message(PART)
    asked(link, 16384 - COST)
    test.messages_of(link)


@rule("4.2", "a slice that would cost more than was granted is dropped: not_granted, and not answered")
def not_granted(test):
    test.knobs(rcvbuf=4096)
    link = test.open()
    test.attach(link)
    one, other = add(link.tx, 1), add(link.tx, 2)
    link.reflected(link.offer(PART, one), one)
    long = [bytes(1400), bytes(1400)]
    test.counted("not_granted", lambda: [link.cable.send(link.offer_frame(other, 1, long)), link.silent()])
    link.commit()
    check(test.messages_of(link) == [PART], "another message")
    asked(link, 4096)
    for part in 0, 1:       # which costs more than 4096
        link.cable.send(link.offer_frame(other, part, long))
    link.reflected(long, other)


@rule("4.11", "nothing is granted: a COMMIT with BLOCKED is owed a READY, which comes once a reader makes room")
def owes_ready(test):
    test.knobs(rcvbuf=4096)
    link = test.open()
    test.attach(link)
    link.message(bytes(4000))
    asked(link, 0)
    asked(link, 0, Mark.BLOCKED)
    link.silent(Op.READY)
    test.messages_of(link)
    ready = link.expect(Op.READY)
    check(ready.rx == link.tx and ready.grant == granted(4096) and not ready.seq, ready)
    asked(link, 4096, Mark.BLOCKED)
    link.message(PART)
    test.messages_of(link)
    link.silent(Op.READY)


def open_granting(test, grant):
    """A link whose peer is granted so many bytes, and has a program."""
    link = test.stranger(start=0xfffffff0)
    link.grant = granted(grant)
    link.open()
    test.attach(link)
    return link


def blocked(link):
    """The COMMIT that says so."""
    return link.expect(Op.COMMIT, lambda frame: frame.marks == Mark.BLOCKED and frame.flags == Flag.WANT_DONE)


@rule("4.11", "no number is given beyond what is granted; once nothing is in flight: COMMIT, BLOCKED, WANT_DONE")
def charged(test):
    link = open_granting(test, 2 * COST + GRANT_UNIT)
    numbers = [test.post(link, PART) for _ in range(3)]
    parts = [link.gather(add(link.rx, n)) for n in (1, 2)]
    link.silent(Op.OFFER, Op.COMMIT)
    for n in 0, 1:
        link.reflect(parts[n], add(link.rx, n + 1))
    while (frame := blocked(link)).tx != add(link.rx, 2):
        pass
    link.rx = frame.tx
    link.send(Op.DONE, newest=True)
    link.take()
    test.ends(link, numbers[-1], "committed")


@rule("4.11", "blocked, and DONE grants nothing: it waits for READY")
def ready_grants(test):
    link = open_granting(test, 0)
    test.post(link, PART)
    blocked(link)
    link.send(Op.DONE, newest=True)
    link.silent(Op.OFFER, Op.COMMIT)
    link.grant = granted(COST) + 1
    link.send(Op.READY)
    check(link.take() == PART, "another message")


@rule("4.11", "READY may be lost: the COMMIT with BLOCKED is sent again")
def blocked_again(test):
    test.quick()
    link = open_granting(test, 0)
    test.post(link, PART)
    for _ in range(3):
        blocked(link)
        link.send(Op.DONE, newest=True)


@rule("4.11", "what was granted above another rx does not count; of two grants above one the larger does")
def grants_above(test):
    link = open_granting(test, COST + GRANT_UNIT)
    for _ in range(3):
        test.post(link, PART)
    link.reflect(link.gather())
    link.rx = blocked(link).tx
    link.send(Op.DONE, newest=True, grant=0)
    link.send(Op.READY, rx=add(link.rx, -1), grant=0xffff)
    link.silent(Op.OFFER)
    link.send(Op.READY, grant=granted(2 * COST) + 1)
    link.send(Op.READY, grant=0)
    parts = [link.gather(add(link.rx, n)) for n in (1, 2)]
    check(parts == [[PART], [PART]], "other messages")


@rule("4.11", "if nothing is charged, and something granted, a content is given a number whatever it costs")
def whatever(test):
    link = open_granting(test, GRANT_UNIT)
    test.post(link, LONG)
    check(link.take() == LONG, "another message")


@rule("4.11", "what became VOID is charged until that is reflected")
def void_charged(test):
    link = open_granting(test, 2 * COST)
    number = test.post(link, PART)
    link.gather()
    test.far.cancel(vc=link.vc, number=number)
    link.offered(kind=Kind.VOID)
    test.post(link, PART + PART)
    link.silent(Op.OFFER)
    link.reflect([b""], kind=Kind.VOID)
    link.rx = add(link.rx, 1)
    check(link.take() == PART + PART, "another message")


@rule("4.11", "VOID, SWAP and VERB cost nothing: they go though nothing is granted")
def free_there(test):
    link = open_granting(test, 0)
    test.far.queue_swap(vc=link.vc, data=b"half".hex())
    link.offered(kind=Kind.SWAP)
    link.send(Op.REFUSE, newest=True, seq=add(link.rx, 1), kind=Kind.SWAP, reason=Reason.NO_HALF)
    link.offered(kind=Kind.VOID)
    link.reflect([b""], kind=Kind.VOID)
    link.committed()
    test.far.queue_add(vc=link.vc, region=5, offset=0, add=1)
    link.offered(kind=Kind.VERB)


@rule("4.11", "SWAP, VERB and VOID are taken though nothing is granted")
def free_here(test):
    test.knobs(rcvbuf=4096)
    link = test.open()
    test.attach(link)
    test.far.expose(vc=link.vc, region=7, size=64)
    link.message(bytes(4000))
    asked(link, 0)
    link.reflected(link.offer(request(operation(FETCH_ADD, 0, 1)), kind=Kind.VERB), kind=Kind.VERB)
    link.reflected(link.offer(b"", kind=Kind.VOID), kind=Kind.VOID)
    link.commit()
    link.offer(b"half", kind=Kind.SWAP)
    check(link.expect(Op.REFUSE).reason == Reason.NO_HALF, "another reason")


@rule("4.11", "a half does not wait for what is blocked")
def half_passes(test):
    link = open_granting(test, 0)
    test.post(link, PART)
    blocked(link)
    link.send(Op.DONE, newest=True)
    test.far.queue_swap(vc=link.vc, data=b"half".hex())
    link.offered(kind=Kind.SWAP)


@rule("4.11", "the DONE that BLOCKED waits for is asked for, BLOCKED each time, though all is delivered; then it freezes")
def blocked_asks(test):
    test.quick()
    link = open_granting(test, 0)
    test.post(link, PART)
    sync = link.expect(Op.SYNC, lambda frame: frame.src_ltag != link.peer_ltag)
    check([(frame.op, frame.marks, frame.flags) for frame in link.seen] ==
          7 * [(Op.COMMIT, Mark.BLOCKED, Flag.WANT_DONE)], *link.seen)
    link.grant = granted(COST) + 1
    link.thaw(sync)
    check(link.take() == PART, "it is not offered")


@rule("4.16", "what was not granted was heard, and its ACK misses it")
def not_granted_heard(test):
    test.knobs(rcvbuf=4096)
    link = test.open()
    one, other = add(link.tx, 1), add(link.tx, 2)
    link.reflected(link.offer(PART, one), one)
    long = [bytes(1400), bytes(1400)]
    link.cable.send(link.offer_frame(other, 1, long))
    number = link.ask(other)
    answer = link.expect(Op.ACK)
    check(is_now(answer, number) and answer.map == 0b11 and not have(answer), answer)
