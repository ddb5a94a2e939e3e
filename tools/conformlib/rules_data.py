# SPDX-License-Identifier: GPL-2.0
"""Sections 4.1 to 4.4: messages, express, timers."""

from .frame import Flag, Kind, Mark, Op, Reason, add, have, reflection
from .script import LONG, is_now
from .tap import check, rule

# --- 4.1 The initiator


@rule("4.1", "an OFFER of several slices: all full but the last, which is LAST and marked ANSWER")
def offer_slices(test):
    link = test.open()
    test.attach(link)
    number = test.post(link, LONG)
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
    test.post(link, LONG)
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
    test.post(link, LONG)
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
    test.post(link, LONG)
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
        number = test.post(link, b"no")
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
    number = test.post(link, LONG)
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
    test.post(link, b"soon")
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
    test.post(link, LONG)
    parts = link.gather()
    link.send(Op.REFUSE, newest=True, seq=add(link.rx, 1), reason=Reason.BUSY)
    check(link.gather() == parts, "other slices")


@rule("4.1", "REFLECT that says something else: mismatch, and the end freezes")
def mismatch(test):
    link = test.open()
    test.attach(link)
    test.post(link, b"this")
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
    test.post(link, b"this")
    link.gather()
    test.counted("old_seq", lambda: link.reflect([b"this"], add(link.rx, 2)))
    test.counted("old_content", lambda: link.reflect([b"this"], kind=Kind.VOID))
    link.silent(Op.COMMIT, Op.OFFER)
    link.take([b"this"])


@rule("4.1", "a REFLECT of what is committed and not delivered is answered with COMMIT")
def reflect_committed(test):
    link = test.open()
    test.attach(link)
    test.post(link, b"this")
    parts = link.gather()
    for _ in range(2):
        link.reflect(parts)
        frame = link.expect(Op.COMMIT)
        check(frame.tx == add(link.rx, 1), frame)


@rule("4.1", "what is reversed while it is offered becomes VOID under its number")
def cancelled(test):
    link = test.open()
    test.attach(link)
    number = test.post(link, b"take it back")
    link.offered(kind=Kind.MESSAGE)
    test.far.cancel(vc=link.vc, number=number)
    test.ends(link, number, "reversed", "ECANCELED")
    void = link.offered(kind=Kind.VOID)
    check((void.slice, void.flags, void.payload) == (0, Flag.LAST, b""), void)
    test.counted("old_content", lambda: link.reflect([b"take it back"]))
    link.reflect([b""], kind=Kind.VOID)
    link.committed()
    test.post(link, b"the next")
    check(link.take() == b"the next", "another message")


@rule("4.1", "what is longer than max_len of the peer is reversed: EMSGSIZE")
def too_long(test):
    link = test.open(max_len=100)
    test.attach(link)
    number = test.post(link, bytes(101))
    test.ends(link, number, "reversed", "EMSGSIZE")
    test.post(link, bytes(100))
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
    test.counted("dup_slice", two, 2)
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
    test.counted("bad_slice", lambda: [link.cable.send(link.offer_frame(seq, 2, parts, marks=0)),
                                        link.cable.send(link.offer_frame(seq, 0, parts[:1], marks=0)),
                                        link.silent()], 2)
    link.cable.send(link.offer_frame(seq, 0, parts[:2], marks=0))
    link.reflected(parts[:2])


@rule("4.2", "an OFFER marked ANSWER, or ASK, that is not complete: ACK with what is here; nothing: have 0")
def acked(test):
    link = test.open()
    seq = add(link.tx, 1)
    parts = [b"%d" % n for n in range(64)]
    number = link.ask()
    answer = link.expect(Op.ACK)
    check(answer.seq == seq and not have(answer) and is_now(answer, number), answer)
    for part in 0, 7, 62:
        link.cable.send(link.offer_frame(seq, part, parts))
    link.silent()
    link.ask()
    check(have(link.expect(Op.ACK)) == {0, 7, 62}, "other slices")
    link.cable.send(link.offer_frame(seq, 63, parts))
    check(have(link.expect(Op.ACK)) == {0, 7, 62, 63}, "other slices")


@rule("4.2", "what is held is reflected again when asked, with the same digest")
def asked_held(test):
    link = test.open()
    slices = link.offer(LONG)
    link.reflected(slices)
    number = link.ask()
    check(is_now(link.reflected(slices), number), "not NOW")
    link.offer(LONG)
    link.reflected(slices)


@rule("4.2", "VOID is asked for, and something else is held: have 0, of the kind VOID")
def asked_void(test):
    link = test.open()
    link.reflected(link.offer(b"held"))
    link.ask(kind=Kind.VOID)
    answer = link.expect(Op.ACK)
    check(answer.kind == Kind.VOID and not have(answer), answer)


@rule("4.2", "an OFFER of rx, or beyond the window: old_seq, not answered")
def out_of_window(test):
    link = test.open()
    link.message(b"one")
    window = link.peer.window
    test.counted("old_seq", lambda: [link.offer(b"x", add(link.tx, 0)),
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
    test.counted("old_content", lambda: [link.offer(b"held"), link.silent(Op.REFLECT)])
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
            link.ask()
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
    link.ask(flags=Flag.EXPRESS)
    link.reflected(slices)
    link.offer(b"", kind=Kind.VOID)                 # it is recalled
    answer = link.expect(Op.REFLECT)
    check(answer.payload == reflection(slices), "another REFLECT")
    check(test.messages_of(link) == [b"once"], "other messages")


@rule("4.3", "the peer's express: EXPRESS is flagged, the REFLECT commits it, no COMMIT is sent")
def express_there(test):
    link = test.open()
    test.attach(link, express=True)
    number = test.post(link, b"at once")
    check(link.offered().flags & Flag.EXPRESS, "it is not flagged")
    link.rx = add(link.rx, 1)
    link.reflect([b"at once"], link.rx)
    test.ends(link, number, "committed")
    link.silent(Op.COMMIT)


@rule("4.3", "an express that is recalled is offered as VOID; its REFLECT says that it was not delivered")
def express_recalled(test):
    link = test.open()
    test.attach(link, express=True)
    number = test.post(link, b"perhaps")
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
    test.post(link, b"lost")
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
    test.post(link, b"silence")
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
    number = test.post(link, b"nobody is there")
    test.ends(link, number, "reversed", "ENOLINK")
    test.wait(lambda: test.far.tag(vc=link.vc).get("state") == "DOWN", "it is not down")
    sync = link.expect(Op.SYNC, lambda frame: frame.src_ltag != link.peer_ltag)
    link.tx = add(link.tx, 1)
    link.thaw(sync)
    test.wait(lambda: test.messages_of(link) == [b"in doubt"], "what was held was not delivered")
