# SPDX-License-Identifier: GPL-2.0
"""Sections 4.5 to 4.7: synchronising, admission, closing."""

from .frame import Flag, Frame, Op, Reason, Stand, add
from .run import random_bits
from .tap import check, rule

# --- 4.5 Synchronising, OPEN


@rule("4.5", "OPEN, SYNC with the known ltag: SYNC_ACK, and nothing changes")
def open_known(test):
    link = test.open()
    for dst in link.peer_ltag, 0, link.peer_ltag ^ 1:
        link.send_sync(dst_ltag=dst)
        answer = link.expect(Op.SYNC_ACK, lambda frame: frame.dst_ltag == link.ltag)
        check(answer.src_ltag == link.peer_ltag, "another ltag", answer)
    link.message(b"the same run")


@rule("4.5", "OPEN, SYNC with a new ltag that names the own one: the end freezes, too")
def open_new_named(test):
    link = test.open()
    old = link.peer_ltag
    sync = link.freeze()
    check(sync.src_ltag not in (old, 0), "the ltag is", sync.src_ltag, "and was", old)
    link.resolve(sync)
    link.message(b"the next run")


@rule("4.5", "OPEN, SYNC with a new ltag that does not name the own one: SYNC_CHK, stays OPEN")
def open_new_unnamed(test):
    link = test.open()
    for dst in 0, link.peer_ltag ^ 1:
        ltag = link.send_sync(src_ltag=random_bits(32), dst_ltag=dst).src_ltag
        answer = link.expect(Op.SYNC_CHK)
        check((answer.src_ltag, answer.dst_ltag) == (link.peer_ltag, ltag), answer)
    link.message(b"the same run")


@rule("4.5", "OPEN, SYNC_ACK or SYNC_CHK that names another ltag: stale_sync, nothing changes")
def open_stale(test):
    link = test.open()
    before = test.far.stats()["stale_sync"]
    for op in Op.SYNC_ACK, Op.SYNC_CHK:
        link.send_sync(op, dst_ltag=link.peer_ltag ^ 1)
        link.silent()
    check(test.far.stats()["stale_sync"] == before + 2, "stale_sync was not counted")
    link.message(b"the same run")


@rule("4.5", "OPEN, SYNC_ACK of another run or SYNC_CHK that names the own ltag: ignored if nothing was asked")
def open_unasked(test):
    link = test.open()
    for op in Op.SYNC_ACK, Op.SYNC_CHK:
        link.send_sync(op, src_ltag=link.ltag ^ 1)
        link.silent()
    link.message(b"the same run")


@rule("4.5", "OPEN, NOLINK that names its ltag: the end freezes")
def open_nolink(test):
    link = test.open()
    link.send(Op.NOLINK, dst_ltag=link.peer_ltag ^ 1)
    link.silent()
    link.send(Op.NOLINK)
    sync = link.expect(Op.SYNC)
    check(sync.src_ltag != link.peer_ltag, "it has not frozen")
    link.thaw(sync)
    link.message(b"the next run")


# --- 4.5, frozen


def frozen(test, **how):
    """A link whose peer is frozen and has not heard of the new ltag of this end; its last SYNC."""
    link = test.open(**how)
    link.send(Op.NOLINK)
    return link, link.expect(Op.SYNC)


@rule("4.5", "frozen, SYNC that names another ltag: the end learns the ltag, and sends SYNC")
def frozen_unnamed(test):
    link, sync = frozen(test)
    link.new_run()
    link.send_sync(dst_ltag=sync.src_ltag ^ 1)
    answer = link.expect(Op.SYNC, lambda frame: frame.dst_ltag == link.ltag)
    check(answer.src_ltag == sync.src_ltag, "it has frozen once more")
    link.resolve(answer)
    link.message(b"goes on")


@rule("4.5", "frozen, SYNC_CHK that names the own ltag: the end learns the ltag, and sends SYNC")
def frozen_chk(test):
    link, sync = frozen(test)
    link.new_run()
    link.learn(sync)
    link.send_sync(Op.SYNC_CHK)
    answer = link.expect(Op.SYNC, lambda frame: frame.dst_ltag == link.ltag)
    link.resolve(answer)
    link.message(b"goes on")


@rule("4.5", "frozen, SYNC_ACK or SYNC_CHK that names another ltag: ignored")
def frozen_stale(test):
    link, sync = frozen(test)
    link.learn(sync)
    for op in Op.SYNC_ACK, Op.SYNC_CHK:
        link.send_sync(op, dst_ltag=link.peer_ltag ^ 1)
    check(test.far.tag(vc=link.vc)["state"].startswith("SYNC_"), "it is not frozen any more")
    link.thaw(sync)
    link.message(b"goes on")


@rule("4.5", "frozen, SYNC_ACK that names the own ltag: resolves, and is answered with SYNC_ACK")
def frozen_ack(test):
    link, sync = frozen(test)
    link.new_run()
    link.learn(sync)
    link.send_sync(Op.SYNC_ACK)
    link.expect(Op.SYNC_ACK, lambda frame: (frame.src_ltag, frame.dst_ltag) == (sync.src_ltag, link.ltag))
    link.message(b"goes on")


@rule("4.5", "frozen, data of the run before: counted as `frozen`, and dropped")
def frozen_data(test):
    link, sync = frozen(test)
    before = test.far.stats()["frozen"]
    slices = link.offer(b"too early")
    check(test.far.stats()["frozen"] == before + 1, "`frozen` was not counted")
    link.thaw(sync)
    check(not any(frame.op == Op.REFLECT for frame in link.seen), "it was reflected")
    link.message(b"".join(slices))


@rule("4.5", "a data frame that overtakes the SYNC_ACK resolves as the SYNC_ACK would")
def overtakes(test):
    link, sync = frozen(test)
    link.new_run()
    link.learn(sync)
    link.send_sync(Op.SYNC_CHK)
    link.expect(Op.SYNC, lambda frame: frame.dst_ltag == link.ltag)
    link.reflected(link.offer(b"overtakes"))
    link.commit()


@rule("4.5", "resolve, in 0: what was held is not committed, and is offered again")
def resolve_held(test):
    link = test.open()
    test.attach(link)
    link.reflected(link.offer(b"held"))
    link.resolve(link.freeze())
    check(test.far.tag(vc=link.vc)["hold"] != "held", "it is held still")
    link.message(b"another")
    check(test.messages_of(link) == [b"another"], "there is something else")


@rule("4.5", "resolve, in n: what was held and the peer has committed is delivered")
def resolve_committed(test):
    link = test.open()
    test.attach(link)
    for number in 1, 2:
        link.reflected(link.offer(b"held %d" % number, add(link.tx, number)), add(link.tx, number))
    sync = link.freeze()
    link.tx = add(link.tx, 2)
    answer = link.resolve(sync)
    check(answer.rx == link.tx, "its rx is", answer.rx)
    check(test.messages_of(link) == [b"held 1", b"held 2"], "it was not delivered")


@rule("4.5", "resolve, out -1: the peer delivers it by resolving; what was offered is offered again")
def resolve_out(test):
    link = test.open()
    test.attach(link)
    numbers = [test.far.queue(vc=link.vc, data=data.encode().hex()) for data in ("one", "two")]
    slices = link.gather()
    link.reflect(slices)
    link.committed()            # of which this end then knows nothing
    test.ends(link, numbers[0], "committed")
    link.rx = add(link.rx, -1)
    sync = link.freeze()
    link.rx = add(link.rx, 1)
    check(sync.tx == link.rx, "its tx is", sync.tx)
    link.resolve(sync)
    check(b"two" in link.take(), "another message")
    test.ends(link, numbers[1], "committed")


@rule("4.5", "resolve, what is kept over a freeze counts for an OFFER with RESUME")
def resolve_resume(test):
    link = test.open()
    test.attach(link)
    data = bytes(range(256)) * 20
    slices = link.offer(data)
    link.reflected(slices)
    link.resolve(link.freeze())
    last = link.offer_frame(add(link.tx, 1), len(slices) - 1, slices, flags=Flag.RESUME)
    link.cable.send(last)
    link.reflected(slices)
    link.commit()
    check(test.messages_of(link) == [data], "another message")


@rule("4.5", "resolve: a new incarnation of the peer: what was held is dropped, the counters begin anew")
def new_incarnation(test):
    link = test.open()
    test.attach(link)
    link.message(b"before")
    link.reflected(link.offer(b"undecided"))
    before = test.far.stats()
    link.inc, link.peer_inc, link.start = random_bits(64), 0, 77
    link.tx = link.start
    sync = link.freeze()
    link.peer_inc = 0
    link.resolve(sync)
    after = test.far.stats()
    for name in "peer_new", "held_lost":
        check(after[name] == before[name] + 1, name, "went from", before[name], "to", after[name])
    link.message(b"after")
    check(test.messages_of(link) == [b"before", b"after"], "other messages")


@rule("4.5", "resolve: counters that cannot be: it starts again, with another incarnation")
def start_again(test):
    link = test.open()
    link.message(b"one")
    before = test.far.stats()["broken"]
    sync = link.freeze()
    inc = Stand.parse(sync.payload).inc
    link.tx = add(link.tx, 5)
    link.send_sync(Op.SYNC_ACK, dst_ltag=sync.src_ltag)
    again = link.expect(Op.SYNC, lambda frame: frame.src_ltag != sync.src_ltag)
    stand = Stand.parse(again.payload)
    check(stand.inc != inc and stand.peer_inc == 0, "its incarnations are", stand)
    check(test.far.stats()["broken"] == before + 1, "broken was not counted")


# --- 4.6 Admission


def barrier(test, vc=None):
    """All that was sent before has been handled; the frames that came until then, but for the last."""
    link = test.stranger()
    link.send(Op.CLOSE)
    frames = []
    while (frame := test.next_frame()).op != Op.CLOSE_ACK or frame.vc != link.vc:
        frames.append(frame)
    return [frame for frame in frames if vc in (None, frame.vc)]


@rule("4.6", "SYNC of a stranger: SYNC_CHK whose src_ltag is a cookie, and no tag")
def cookie(test):
    link = test.stranger()
    link.send_sync()
    answer = link.expect(Op.SYNC_CHK)
    check(answer.dst_ltag == link.ltag and answer.src_ltag, answer)
    check(answer.payload == bytes(64), "its payload is", answer.payload.hex())
    check(not test.far.tag(vc=link.vc), "a tag was made")


@rule("4.6", "a valid cookie: a tag is made, which has an ltag of its own and sends SYNC")
def valid_cookie(test):
    link = test.stranger()
    link.send_sync()
    link.peer_ltag = link.expect(Op.SYNC_CHK).src_ltag
    link.send_sync()
    sync = link.expect(Op.SYNC)
    check(sync.dst_ltag == link.ltag and sync.src_ltag not in (0, link.peer_ltag), sync)
    check(test.far.tag(vc=link.vc), "no tag was made")
    link.resolve(sync)
    link.message(b"open")


@rule("4.6", "a cookie of another ltag, or another vc: bad_cookie, SYNC_CHK again")
def bad_cookie(test):
    link, other = test.stranger(), test.stranger()
    link.send_sync()
    link.peer_ltag = other.peer_ltag = link.expect(Op.SYNC_CHK).src_ltag
    before = test.far.stats()["bad_cookie"]
    other.ltag = link.ltag
    link.ltag ^= 1
    for end in link, other:
        end.send_sync()
        check(end.expect(Op.SYNC_CHK).dst_ltag == end.ltag, "its ltag")
        check(not test.far.tag(vc=end.vc), "a tag was made")
    check(test.far.stats()["bad_cookie"] == before + 2, "bad_cookie was not counted")


@rule("4.6", "CLOSE without a reason, of a stranger: CLOSE_ACK with the ltags crossed")
def stranger_close(test):
    link = test.stranger()
    link.send(Op.CLOSE, dst_ltag=5)
    answer = link.expect(Op.CLOSE_ACK)
    check((answer.src_ltag, answer.dst_ltag) == (5, link.ltag), answer)


@rule("4.6", "data of a stranger: NOLINK with the ltags crossed")
def stranger_data(test):
    link = test.stranger()
    link.peer_ltag = 5
    more = {Op.OFFER: {"payload": b"x", "flags": Flag.LAST}, Op.REFLECT: {"payload": bytes(16)},
            Op.REFUSE: {"reason": Reason.BUSY}, Op.ACK: {"payload": bytes(8)}}
    for op in (Op.OFFER, Op.REFLECT, Op.COMMIT, Op.REFUSE, Op.READY, Op.DONE, Op.ASK, Op.ACK):
        link.send(op, **more.get(op, {}))
        answer = link.expect(Op.NOLINK)
        check((answer.src_ltag, answer.dst_ltag) == (5, link.ltag), answer)


@rule("4.6", "SYNC_ACK, SYNC_CHK, CLOSE_ACK, NOLINK, a CLOSE with a reason of a stranger: no_tag, no answer")
def stranger_others(test):
    link = test.stranger()
    before = test.far.stats()["no_tag"]
    link.send_sync(Op.SYNC_ACK)
    link.send_sync(Op.SYNC_CHK)
    link.send(Op.CLOSE_ACK)
    link.send(Op.NOLINK)
    link.send(Op.CLOSE, reason=Reason.POLICY)
    check(not barrier(test, link.vc), "something was answered")
    check(test.far.stats()["no_tag"] == before + 5, "no_tag was not counted")


@rule("4.6", "PATH of a stranger: bad_path, no answer")
def stranger_path(test):
    link = test.stranger()
    before = test.far.stats()["bad_path"]
    payload = (bytes([1, 0]) + test.cable.mtu.to_bytes(2, "big") + test.cable.peer + test.cable.mac +
               random_bits(64).to_bytes(8, "big") + bytes(8))
    test.cable.send(Frame(Op.PATH, payload, vc=link.vc))
    check(not barrier(test, link.vc), "something was answered")
    check(test.far.stats()["bad_path"] == before + 1, "bad_path was not counted")


@rule("4.6", "accept forbids it: CLOSE with POLICY and the ltags crossed")
def not_accepted(test):
    test.knobs(accept="none")
    link = test.stranger()
    link.send_sync(dst_ltag=5)
    answer = link.expect(Op.CLOSE)
    check((answer.src_ltag, answer.dst_ltag, answer.reason) == (5, link.ltag, Reason.POLICY), answer)


@rule("4.6", "an end that is turned away ends: ECONNREFUSED")
def turned_away(test):
    link = test.stranger()
    test.attach(link)
    number = test.far.queue(vc=link.vc, data="00")
    sync = link.expect(Op.SYNC)
    link.send(Op.CLOSE, reason=Reason.POLICY, dst_ltag=sync.src_ltag, src_ltag=7)   # of an earlier SYNC
    check(test.outcome(link, number, 0.0)[0] == "pending", "ended by what is to be ignored")
    link.send(Op.CLOSE, reason=Reason.POLICY, dst_ltag=sync.src_ltag, src_ltag=0)
    test.ends(link, number, "reversed", "ECONNREFUSED")


@rule("4.5", "the peer opens the link: its SYNC is answered, and its message comes")
def peer_opens(test):
    link = test.stranger(start=0x7ffffffe)
    test.attach(link)
    number = test.far.queue(vc=link.vc, data=b"first".hex())
    sync = link.expect(Op.SYNC)
    check(sync.dst_ltag == 0 and Stand.parse(sync.payload).peer_inc == 0, sync)
    link.learn(sync)
    link.peer_inc, link.rx = link.peer.inc, link.peer.start
    link.send_sync()
    link.expect(Op.SYNC_ACK, lambda frame: frame.dst_ltag == link.ltag)
    link.send_sync(Op.SYNC_ACK)
    check(link.take() == b"first", "another message")
    test.ends(link, number, "committed")


# --- 4.7 Closing


@rule("4.7", "CLOSE of this end: CLOSE_ACK, and the tag is gone")
def close_here(test):
    link = test.open()
    link.message(b"last")
    link.close()
    test.gone(link)
    link.send(Op.CLOSE)
    link.expect(Op.CLOSE_ACK)


@rule("4.7", "CLOSE of the peer has LAST, and is forgotten with the CLOSE_ACK")
def close_there(test):
    link = test.open()
    test.far.close(vc=link.vc)
    said = link.expect(Op.CLOSE, lambda frame: (frame.src_ltag, frame.dst_ltag) == (link.peer_ltag, link.ltag))
    check((said.seq, said.flags) == (link.tx, Flag.LAST), "it says", said)
    check(test.far.tag(vc=link.vc), "the tag is gone before the CLOSE_ACK")
    link.send(Op.CLOSE_ACK)
    test.gone(link)


@rule("4.7", "an end that closes says what it holds without a gap, and takes nothing above that")
def close_holds(test):
    link = test.open()
    test.attach(link)
    first, third = add(link.tx, 1), add(link.tx, 3)
    link.reflected(link.offer(b"held", first), first)
    link.reflected(link.offer(b"above a gap", third), third)
    test.far.close(vc=link.vc)
    said = link.expect(Op.CLOSE)
    check(said.seq == first, "it says", said)
    for number in add(link.tx, 2), third:
        link.offer(b"too late", number)
        link.offer(b"", number, kind=3)
        link.send(Op.ASK, seq=number)
    link.send(Op.ASK, seq=first)
    answer = link.expect(Op.REFLECT)
    check(answer.seq == first, "it answers", answer)
    check(link.expect(Op.CLOSE).seq == first, "it says something else")
    link.commit(first, done=False)
    link.send(Op.CLOSE_ACK)
    barrier(test)
    check(test.messages_of(link) == [b"held"], "another message")


@rule("4.7", "an end that closes ends first what it has offered: LAST follows, and no CLOSE_ACK counts before")
def close_offers(test):
    link = test.open()
    test.attach(link)
    number = test.far.queue(vc=link.vc, data=b"last words".hex())
    slices = link.gather()
    test.far.close(vc=link.vc)
    said = link.expect(Op.CLOSE)
    check(not said.flags & Flag.LAST, "it says", said)
    link.send(Op.CLOSE_ACK)
    link.reflect(slices)
    link.committed()
    test.ends(link, number, "committed")
    said = link.expect(Op.CLOSE, lambda frame: frame.flags & Flag.LAST)
    link.send(Op.CLOSE_ACK)
    test.gone(link)


@rule("4.7", "what the peer has waiting is reversed when the link closes: EPIPE")
def close_epipe(test):
    link = test.open()
    test.attach(link)
    number = test.far.queue(vc=link.vc, data=b"never".hex())
    link.offered()
    link.send(Op.CLOSE, flags=0)
    test.ends(link, number, "reversed", "EPIPE")
    link.send(Op.CLOSE)
    link.expect(Op.CLOSE_ACK)


@rule("4.7", "what the peer holds may be committed yet; its writer is told so")
def close_held_there(test):
    link = test.open()
    test.attach(link)
    test.far.queue(vc=link.vc, data=b"held".hex())
    slices = link.gather()
    second = test.far.queue(vc=link.vc, data=b"not held".hex())
    link.offered(add(link.rx, 2))
    link.send(Op.CLOSE, seq=add(link.rx, 1), flags=0)
    link.reflect(slices)
    link.committed()
    test.ends(link, second, "reversed", "EPIPE")        # in the order of posting
    link.send(Op.CLOSE)
    link.expect(Op.CLOSE_ACK)


@rule("4.7", "CLOSE with a number that is not committed, or not offered: impossible")
def close_impossible(test):
    for ahead in -1, 1:
        link = test.open()
        link.send(Op.CLOSE, seq=add(link.rx, ahead))
        link.expect(Op.SYNC, lambda frame, old=link.peer_ltag: frame.src_ltag != old)


@rule("4.7", "a peer that does not say CLOSE again does not close: the link freezes, and it gets messages")
def close_reopens(test):
    test.quick(keepalive_ms=100, dead_ms=20000)
    link = test.open()
    test.attach(link)
    link.send(Op.CLOSE, flags=0)
    link.resolve(link.expect(Op.SYNC, lambda frame, old=link.peer_ltag: frame.src_ltag != old))
    test.far.queue(vc=link.vc, data=b"on we go".hex())
    link.offered()
