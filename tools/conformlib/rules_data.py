# SPDX-License-Identifier: GPL-2.0
"""Sections 4.1 to 4.4, 4.11 and 4.16: messages, express, timers, the window, the numbers of frames."""

from .frame import GRANT_UNIT, QUESTIONS, Flag, Kind, Mark, Op, Reason, add, cost, reflection
from .script import is_now
from .tap import check, rule

LONG = bytes(range(256)) * 24       # several slices


def ask(link, seq=None, **other):
    """Send ASK for tx + 1, or another number; its number."""
    return link.send(Op.ASK, seq=add(link.tx, 1) if seq is None else seq, **other).number


def have(frame):
    """The slices that an ACK says are there, as a set."""
    bits = int.from_bytes(frame.payload, "big")
    return {n for n in range(64) if bits >> n & 1}


def post(test, link, data):
    """A program at the peer posts a message; its number there."""
    return test.far.queue(vc=link.vc, data=data.hex())


def counted(test, name, action, change=1):
    """The action moves this counter of the peer by so much."""
    before = test.far.stats()[name]
    action()
    after = test.far.stats()[name]
    check(after == before + change, name, "went from", before, "to", after)


# --- 4.1 The initiator


@rule("4.1", "an OFFER of several slices: all full but the last, which is LAST and marked ANSWER")
def offer_slices(test):
    link = test.open()
    test.attach(link)
    number = post(test, link, LONG)
    last = link.offered()
    frames = [*[frame for frame in link.seen if frame.op == Op.OFFER], last]
    check([frame.slice for frame in frames] == list(range(len(frames))), "slices in another order")
    check(all(len(frame.payload) == link.slice_size for frame in frames[:-1]), "their sizes")
    check(all(not frame.flags & Flag.LAST for frame in frames[:-1]), "their flags")
    check(last.marks == Mark.ANSWER, "marks", last.marks)
    check(link.take([frame.payload for frame in frames]) == LONG, "another message")
    test.ends(link, number, "committed")


@rule("4.1", "slices are no longer than the smaller of both MTUs allows")
def offer_mtu(test):
    link = test.open(mtu=1000)
    test.attach(link)
    post(test, link, LONG)
    check({len(part) for part in link.gather()[:-1]} == {952}, "their sizes")


def sent_again(link, last):
    """The slices that are sent until that one has been."""
    sent = []
    while not sent or sent[-1].slice != last:
        sent.append(link.expect(Op.OFFER))
    return sent


@rule("4.1", "ACK: all slices that are missing are sent, and no others")
def ack_missing(test):
    link = test.open()
    test.attach(link)
    post(test, link, LONG)
    parts = link.gather()
    link.send(Op.ACK, (1 << 1 | 1 << 3).to_bytes(8, "big"), newest=True, seq=add(link.rx, 1))
    sent = sent_again(link, len(parts) - 1)
    check([frame.slice for frame in sent] == [n for n in range(len(parts)) if n not in (1, 3)],
          "slices", [frame.slice for frame in sent])
    check(all(frame.payload == parts[frame.slice] for frame in sent), "other content")


@rule("4.1", "an ACK says nothing of slices that were sent behind the newest question that it has heard")
def ack_early(test):
    link = test.open()
    test.attach(link)
    post(test, link, LONG)
    parts = link.gather()
    early = add(link.heard.newest, 3 - len(parts))      # slice 2
    link.send(Op.ACK, (1 << 0 | 1 << 1 | 1 << 2).to_bytes(8, "big"), seq=add(link.rx, 1), number=early,
              map=(1 << early - 1) - 1)
    link.silent(Op.OFFER)


@rule("4.1", "REFUSE with TOO_BIG or KIND: reversed for good, and VOID takes its place")
def refused_for_good(test):
    link = test.open()
    test.attach(link)
    for reason, name in (Reason.TOO_BIG, "EMSGSIZE"), (Reason.KIND, "EOPNOTSUPP"):
        number = post(test, link, b"no")
        link.offered(kind=Kind.MESSAGE)
        link.send(Op.REFUSE, newest=True, seq=add(link.rx, 1), reason=reason)
        link.offered(kind=Kind.VOID)
        test.ends(link, number, "reversed", name)
        link.reflect([b""], kind=Kind.VOID)
        link.committed()


@rule("4.1", "REFUSE with BUSY: parked, and offered again, all slices, upon READY")
def parked(test):
    link = test.open()
    test.attach(link)
    number = post(test, link, LONG)
    parts = link.gather()
    link.send(Op.REFUSE, newest=True, seq=add(link.rx, 1), reason=Reason.BUSY)
    link.silent(Op.OFFER)
    link.send(Op.READY)
    check(link.gather() == parts, "other slices")
    link.take(parts)
    test.ends(link, number, "committed")


@rule("4.1", "READY that overtakes its REFUSE: offered again at once")
def ready_first(test):
    link = test.open()
    test.attach(link)
    post(test, link, b"soon")
    parts = link.gather()
    link.send(Op.READY)
    link.send(Op.REFUSE, newest=True, seq=add(link.rx, 1), reason=Reason.BUSY)
    check(link.gather() == parts, "other slices")
    link.take(parts)


@rule("4.1", "a parked transaction is offered again without READY, all slices")
def parked_timer(test):
    test.quick()
    link = test.open()
    test.attach(link)
    post(test, link, LONG)
    parts = link.gather()
    link.send(Op.REFUSE, newest=True, seq=add(link.rx, 1), reason=Reason.BUSY)
    check(link.gather() == parts, "other slices")


@rule("4.1", "REFLECT that says something else: mismatch, and the end freezes")
def mismatch(test):
    link = test.open()
    test.attach(link)
    post(test, link, b"this")
    link.gather()
    before = test.far.stats()["mismatch"]
    link.reflect([b"that"])
    sync = link.expect(Op.SYNC)
    check(test.far.stats()["mismatch"] == before + 1, "mismatch was not counted")
    link.thaw(sync)
    check(link.take() == b"this", "it is not offered again")


@rule("4.1", "an answer to a number that is not in flight: old_seq; of another kind: old_content")
def old_answers(test):
    link = test.open()
    test.attach(link)
    post(test, link, b"this")
    link.gather()
    counted(test, "old_seq", lambda: link.reflect([b"this"], add(link.rx, 2)))
    counted(test, "old_content", lambda: link.reflect([b"this"], kind=Kind.VOID))
    link.silent(Op.COMMIT, Op.OFFER)
    link.take([b"this"])


@rule("4.1", "a REFLECT of what is committed and not delivered is answered with COMMIT")
def reflect_committed(test):
    link = test.open()
    test.attach(link)
    post(test, link, b"this")
    parts = link.gather()
    for _ in range(2):
        link.reflect(parts)
        frame = link.expect(Op.COMMIT)
        check(frame.tx == add(link.rx, 1), frame)


@rule("4.1", "what is reversed while it is offered becomes VOID under its number")
def cancelled(test):
    link = test.open()
    test.attach(link)
    number = post(test, link, b"take it back")
    link.offered(kind=Kind.MESSAGE)
    test.far.cancel(vc=link.vc, number=number)
    test.ends(link, number, "reversed", "ECANCELED")
    void = link.offered(kind=Kind.VOID)
    check((void.slice, void.flags, void.payload) == (0, Flag.LAST, b""), void)
    counted(test, "old_content", lambda: link.reflect([b"take it back"]))
    link.reflect([b""], kind=Kind.VOID)
    link.committed()
    post(test, link, b"the next")
    check(link.take() == b"the next", "another message")


@rule("4.1", "what is longer than max_len of the peer is reversed: EMSGSIZE")
def too_long(test):
    link = test.open(max_len=100)
    test.attach(link)
    number = post(test, link, bytes(101))
    test.ends(link, number, "reversed", "EMSGSIZE")
    post(test, link, bytes(100))
    check(link.take() == bytes(100), "another message")


# --- 4.2 The responder


@rule("4.2", "REFLECT: the digest, and the first 8 bytes, filled with zeros; nothing is delivered before the commit")
def reflected(test):
    link = test.open()
    test.attach(link)
    for data in b"x", b"12345678", b"123456789", LONG:
        slices = link.offer(data)
        link.reflected(slices)
        check(not test.messages_of(link), "delivered before it was committed")
        link.commit()
        check(test.messages_of(link) == [data], "another message")


@rule("4.2", "slices in any order; one that is there already is ignored: dup_slice")
def any_order(test):
    link = test.open()
    test.attach(link)
    parts = [LONG[at:at + 1000] for at in range(0, len(LONG), 1000)]
    seq = add(link.tx, 1)

    def two():
        for part in 5, 1, 6, 3, 1, 2, 4, 5:
            link.cable.send(link.offer_frame(seq, part, parts, marks=0))
        link.silent()
    counted(test, "dup_slice", two, 2)
    link.cable.send(link.offer_frame(seq, 0, parts, marks=0))
    link.reflected(parts)
    link.commit()
    check(test.messages_of(link) == [LONG], "another message")


@rule("4.2", "a slice behind LAST, a LAST of another index: bad_slice, dropped")
def bad_slice(test):
    link = test.open()
    seq = add(link.tx, 1)
    parts = [b"a" * 9, b"b" * 9, b"c" * 9]
    link.cable.send(link.offer_frame(seq, 1, parts[:2], marks=0))
    counted(test, "bad_slice", lambda: [link.cable.send(link.offer_frame(seq, 2, parts, marks=0)),
                                        link.cable.send(link.offer_frame(seq, 0, parts[:1], marks=0)),
                                        link.silent()], 2)
    link.cable.send(link.offer_frame(seq, 0, parts[:2], marks=0))
    link.reflected(parts[:2])


@rule("4.2", "an OFFER marked ANSWER, or ASK, that is not complete: ACK with what is here; nothing: have 0")
def acked(test):
    link = test.open()
    seq = add(link.tx, 1)
    parts = [b"%d" % n for n in range(64)]
    number = ask(link)
    answer = link.expect(Op.ACK)
    check(answer.seq == seq and not have(answer) and is_now(answer, number), answer)
    for part in 0, 7, 62:
        link.cable.send(link.offer_frame(seq, part, parts))
    link.silent()
    ask(link)
    check(have(link.expect(Op.ACK)) == {0, 7, 62}, "other slices")
    link.cable.send(link.offer_frame(seq, 63, parts))
    check(have(link.expect(Op.ACK)) == {0, 7, 62, 63}, "other slices")


@rule("4.2", "what is held is reflected again when asked, with the same digest")
def asked_held(test):
    link = test.open()
    slices = link.offer(LONG)
    link.reflected(slices)
    number = ask(link)
    check(is_now(link.reflected(slices), number), "not NOW")
    link.offer(LONG)
    link.reflected(slices)


@rule("4.2", "VOID is asked for, and something else is held: have 0, of the kind VOID")
def asked_void(test):
    link = test.open()
    link.reflected(link.offer(b"held"))
    ask(link, kind=Kind.VOID)
    answer = link.expect(Op.ACK)
    check(answer.kind == Kind.VOID and not have(answer), answer)


@rule("4.2", "an OFFER of rx, or beyond the window: old_seq, not answered")
def out_of_window(test):
    link = test.open()
    link.message(b"one")
    window = link.peer.window
    counted(test, "old_seq", lambda: [link.offer(b"x", add(link.tx, 0)),
                                      link.offer(b"x", add(link.tx, window + 1)), link.silent()], 2)
    slices = link.offer(b"the last of the window", add(link.tx, window))
    link.reflected(slices, add(link.tx, window))


@rule("4.2", "more bytes than max_len: REFUSE with TOO_BIG, until VOID comes")
def too_big(test):
    test.knobs(max_len=2000)
    link = test.open()
    for _ in range(2):
        link.offer(bytes(2001))
        answer = link.expect(Op.REFUSE)
        check(answer.reason == Reason.TOO_BIG and answer.seq == add(link.tx, 1), answer)
        link.silent(Op.REFLECT)
    link.reflected(link.offer(b"", kind=Kind.VOID), kind=Kind.VOID)
    link.commit()
    link.message(bytes(2000))


@rule("4.2", "VOID takes the place of what is gathered or held; what comes of that then is dropped: old_content")
def void(test):
    link = test.open()
    test.attach(link)
    slices = link.offer(b"held")
    link.reflected(slices)
    link.reflected(link.offer(b"", kind=Kind.VOID), kind=Kind.VOID)
    counted(test, "old_content", lambda: [link.offer(b"held"), link.silent(Op.REFLECT)])
    link.commit()
    link.cable.send(link.offer_frame(add(link.tx, 1), 0, [b"some", b"of it"]))
    link.reflected(link.offer(b"", kind=Kind.VOID), kind=Kind.VOID)
    link.commit()
    link.message(b"the next")
    check(test.messages_of(link) == [b"the next"], "other messages")


@rule("4.2", "any frame of the run whose tx is above rx commits, here an ASK and an OFFER")
def committed_by(test):
    link = test.open()
    test.attach(link)
    for op in Op.ASK, Op.OFFER:
        link.reflected(link.offer(b"by another frame"))
        link.tx = add(link.tx, 1)
        if op == Op.ASK:
            ask(link)
            check(link.expect(Op.ACK).rx == link.tx, "its rx")
        else:
            link.reflected(link.offer(b"carries it"))
    check(len(test.messages_of(link)) == 2, "it was not delivered")


@rule("4.2", "COMMIT with WANT_DONE: DONE, also when it comes again")
def done(test):
    link = test.open()
    link.message(b"one")
    number = link.send(Op.COMMIT, flags=Flag.WANT_DONE).number
    answer = link.expect(Op.DONE)
    check(answer.rx == link.tx and is_now(answer, number), answer)
    link.send(Op.COMMIT, tx=add(link.tx, -1), flags=Flag.WANT_DONE)
    check(link.expect(Op.DONE).rx == link.tx, "one that is late is not answered")
    link.send(Op.COMMIT)
    link.silent(Op.DONE)


# --- 4.3 Express


@rule("4.3", "an express is delivered at the OFFER, and rx is its number")
def express(test):
    link = test.open()
    test.attach(link)
    for data in b"at once", LONG:
        answer = link.reflected(link.offer(data, flags=Flag.EXPRESS))
        check(answer.rx == add(link.tx, 1), "its rx is", answer.rx)
        check(test.messages_of(link) == [data], "it was not delivered")
        link.tx = add(link.tx, 1)
    link.message(b"atomic")


@rule("4.3", "an express that was delivered is asked for again: the same REFLECT, delivered once")
def express_again(test):
    link = test.open()
    test.attach(link)
    slices = link.offer(b"once", flags=Flag.EXPRESS)
    link.reflected(slices)
    link.offer(b"once", flags=Flag.EXPRESS)
    link.reflected(slices)
    ask(link, flags=Flag.EXPRESS)
    link.reflected(slices)
    link.offer(b"", kind=Kind.VOID)                 # it is recalled
    answer = link.expect(Op.REFLECT)
    check(answer.payload == reflection(slices), "another REFLECT")
    check(test.messages_of(link) == [b"once"], "other messages")


@rule("4.3", "the peer's express: EXPRESS is flagged, the REFLECT commits it, no COMMIT is sent")
def express_there(test):
    link = test.open()
    test.attach(link, express=True)
    number = post(test, link, b"at once")
    check(link.offered().flags & Flag.EXPRESS, "it is not flagged")
    link.rx = add(link.rx, 1)
    link.reflect([b"at once"], link.rx)
    test.ends(link, number, "committed")
    link.silent(Op.COMMIT)


@rule("4.3", "an express that is recalled is offered as VOID; its REFLECT says that it was not delivered")
def express_recalled(test):
    link = test.open()
    test.attach(link, express=True)
    number = post(test, link, b"perhaps")
    link.offered(kind=Kind.MESSAGE)
    try:
        test.far.cancel(vc=link.vc, number=number)
    except Exception as error:      # pylint: disable=broad-except
        check(getattr(error, "errno", "") == "EINPROGRESS", error)
    link.offered(kind=Kind.VOID)
    link.reflect([b""], kind=Kind.VOID)
    test.ends(link, number, "reversed", "ECANCELED")


# --- 4.4 Timers


@rule("4.4", "what is not answered is asked for: ASK of tx + 1, then ACK makes it be sent again")
def asks(test):
    test.quick()
    link = test.open()
    test.attach(link)
    post(test, link, b"lost")
    offer = link.offered()
    question = link.expect(Op.ASK)
    check(question.seq == offer.seq and question.kind == offer.kind, question)
    link.send(Op.ACK, bytes(8), newest=True, seq=offer.seq)
    check(link.take() == b"lost", "another message")


@rule("4.4", "six questions without an answer: the end freezes")
def stall(test):
    test.quick()
    link = test.open()
    test.attach(link)
    post(test, link, b"silence")
    link.offered()
    sync = link.expect(Op.SYNC, lambda frame: frame.src_ltag != link.peer_ltag)
    check(sum(frame.op == Op.ASK for frame in link.seen) == 6, "ASK", len(link.seen))
    link.thaw(sync)
    check(link.take() == b"silence", "it is not offered again")


@rule("4.4", "what is held and makes no progress is reflected again")
def held(test):
    test.quick()
    link = test.open()
    slices = link.offer(b"held")
    link.reflected(slices)
    again = link.reflected(slices)
    check(not again.marks & Mark.NOW, "marked NOW")
    link.commit()


@rule("4.4", "silence: a probe, SYNC with the ltags of this run")
def keepalive(test):
    test.quick(keepalive_ms=50)
    link = test.open()
    for _ in range(2):
        sync = link.expect(Op.SYNC)
        check((sync.src_ltag, sync.dst_ltag) == (link.peer_ltag, link.ltag), sync)
        link.send_sync(Op.SYNC_ACK)


@rule("4.4", "down: what was offered is reversed, ENOLINK; what is held is kept")
def down(test):
    test.quick(dead_ms=300, keepalive_ms=100)
    link = test.open()
    test.attach(link)
    slices = link.offer(b"in doubt")
    link.reflected(slices)
    number = post(test, link, b"nobody is there")
    test.ends(link, number, "reversed", "ENOLINK")
    test.wait(lambda: test.far.tag(vc=link.vc).get("state") == "DOWN", "it is not down")
    sync = link.expect(Op.SYNC, lambda frame: frame.src_ltag != link.peer_ltag)
    link.tx = add(link.tx, 1)
    link.thaw(sync)
    test.wait(lambda: test.messages_of(link) == [b"in doubt"], "what was held was not delivered")


# --- 4.11 The window


@rule("4.11", "the peer has no more under way than both ends say, in order")
def window(test):
    link = test.open(window=3)
    test.attach(link)
    test.knobs(pack=0)
    for number in range(8):
        post(test, link, b"%d" % number)
    for taken in range(8):
        link.take()
        under_way = {frame.seq for frame in link.seen if frame.op == Op.OFFER}
        check(all(add(seq, -link.rx) <= 3 for seq in under_way), taken, under_way)


@rule("4.11", "numbers are reflected out of order; the commit of one commits all up to it")
def lanes(test):
    link = test.open()
    test.attach(link)
    for n in 3, 1, 2:
        link.reflected(link.offer(b"%d" % n, add(link.tx, n)), add(link.tx, n))
    link.commit(add(link.tx, 3))
    check(test.messages_of(link) == [b"1", b"2", b"3"], "other messages")


@rule("4.11", "loss: what three later numbers have overtaken, and was not heard, is sent again")
def passed(test):
    link = test.open()
    test.attach(link)
    test.knobs(pack=0)
    for number in range(5):
        post(test, link, b"%d" % number)
    first = link.offered()
    lost = first.number
    for ahead in range(2, 5):
        offer = link.offered(add(link.rx, ahead))
        heard = sum(1 << n for n in range(32) if add(offer.number, -1 - n) not in (lost, 0))
        heard &= (1 << offer.number - 1) - 1
        link.send(Op.REFLECT, reflection([offer.payload]), seq=offer.seq, number=offer.number,
                  map=heard, marks=Mark.NOW)
    again = link.expect(Op.OFFER, lambda frame: frame.seq == first.seq)
    check(again.payload == first.payload and again.number != lost, again)


# --- 4.11 Credit

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
    counted(test, "not_granted", lambda: [link.cable.send(link.offer_frame(other, 1, long)), link.silent()])
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
    numbers = [post(test, link, PART) for _ in range(3)]
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
    post(test, link, PART)
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
    post(test, link, PART)
    for _ in range(3):
        blocked(link)
        link.send(Op.DONE, newest=True)


@rule("4.11", "what was granted above another rx does not count; of two grants above one the larger does")
def grants_above(test):
    link = open_granting(test, COST + GRANT_UNIT)
    for _ in range(3):
        post(test, link, PART)
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
    post(test, link, LONG)
    check(link.take() == LONG, "another message")


@rule("4.11", "what became VOID is charged until that is reflected")
def void_charged(test):
    link = open_granting(test, 2 * COST)
    number = post(test, link, PART)
    link.gather()
    test.far.cancel(vc=link.vc, number=number)
    link.offered(kind=Kind.VOID)
    post(test, link, PART + PART)
    link.silent(Op.OFFER)
    link.reflect([b""], kind=Kind.VOID)
    link.rx = add(link.rx, 1)
    check(link.take() == PART + PART, "another message")


# --- 4.16 Numbers of frames


@rule("4.16", "questions are counted from 1 in each run, without a gap; what is not one has none")
def counts(test):
    link = test.open()
    test.attach(link)
    frames = []
    for data in LONG, b"one":
        post(test, link, data)
        last = link.offered()
        frames += [*link.seen, last]
        link.reflect([frame.payload for frame in frames if frame.seq == last.seq])
        frames.append(link.committed())
    numbers = [frame.number for frame in frames if frame.op in QUESTIONS]
    check(numbers == list(range(1, len(numbers) + 1)), numbers)


@rule("4.16", "ack is the newest question, map the 32 before it; NOW: heard for the first time in this event")
def ack_map(test):
    link = test.open()
    for _ in range(3):
        ask(link)
        link.expect(Op.ACK)
    link.asked = add(link.asked, 2)         # two are lost
    number = ask(link)
    answer = link.expect(Op.ACK)
    check(is_now(answer, number) and answer.map == 0b11100, answer)
    late = link.frame(Op.ASK, seq=add(link.tx, 1), number=add(number, -1))
    link.cable.send(late)
    answer = link.expect(Op.ACK)
    check(answer.number == number and not answer.marks and answer.map == 0b11101, answer)
    link.asked = number
    for _ in range(40):
        number = ask(link)
    answer = link.expect(Op.ACK, lambda frame: frame.number == number)
    check(answer.map == 0xffffffff, answer)


@rule("4.16", "numbers begin at 1 again in the next run")
def counts_anew(test):
    link = test.open()
    ask(link)
    link.expect(Op.ACK)
    link.resolve(link.freeze())
    number = ask(link)
    answer = link.expect(Op.ACK)
    check(number == 1 and is_now(answer, 1) and answer.map == 0, answer)


@rule("4.16", "every question of the run was heard, whatever became of it; one of another run was not")
def heard(test):
    link = test.open()
    seq = add(link.tx, 1)
    link.message(b"one")                                        # 1, 2
    parts = [b"a", b"b", b"c"]
    link.cable.send(link.offer_frame(link.tx, 0, [b"x"]))       # 3: old_seq
    link.cable.send(link.offer_frame(add(seq, 1), 1, parts[:2], marks=0))       # 4
    link.cable.send(link.offer_frame(add(seq, 1), 1, parts[:2], marks=0))       # 5: dup_slice
    link.cable.send(link.offer_frame(add(seq, 1), 2, parts, marks=0))           # 6: bad_slice
    link.send(Op.ASK, seq=add(link.tx, 1), dst_ltag=link.peer_ltag ^ 1)         # 7: old_run
    link.send(Op.ASK, seq=add(link.tx, 100))                    # 8: old_seq
    ask(link)
    answer = link.expect(Op.ACK)
    check(answer.number == 9 and answer.map == 0b11111101, answer)


@rule("3", "a frame whose tx is below rx is handled all the same")
def late_tx(test):
    link = test.open()
    link.message(b"one")
    slices = link.offer(b"two", seq=add(link.tx, 1), tx=add(link.tx, -1))
    link.reflected(slices)


@rule("2.2", "flags that an opcode has no use for are not looked at")
def other_flags(test):
    link = test.open()
    link.reflected(link.offer(b"one", flags=Flag.WANT_DONE))
    link.tx = add(link.tx, 1)
    link.send(Op.COMMIT, flags=Flag.LAST | Flag.EXPRESS | Flag.RESUME | Flag.WANT_DONE)
    link.expect(Op.DONE, lambda frame: frame.rx == link.tx)
    check(not any(frame.op == Op.DONE for frame in link.seen), "DONE twice")


@rule("2.6", "seq, kind and reason are not looked at where they mean nothing, if they are in range")
def other_fields(test):
    link = test.open()
    slices = link.offer(b"one", reason=Reason.BUSY)
    link.reflected(slices)
    ask(link, reason=Reason.BAD_VERB)
    link.reflected(slices)
    link.tx = add(link.tx, 1)
    link.send(Op.COMMIT, flags=Flag.WANT_DONE, seq=5, kind=Kind.PACK, reason=Reason.FULL)
    link.expect(Op.DONE, lambda frame: frame.rx == link.tx)
