# SPDX-License-Identifier: GPL-2.0
"""Sections 4.11 and 4.16: the window, the numbers of frames."""

from .frame import QUESTIONS, Mark, Op, add, reflection
from .script import LONG, is_now
from .tap import check, rule

# --- 4.11 The window


@rule("4.11", "the peer has no more under way than both ends say, in order")
def window(test):
    link = test.open(window=3)
    test.attach(link)
    test.knobs(pack=0)
    for number in range(8):
        test.post(link, b"%d" % number)
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
        test.post(link, b"%d" % number)
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


# --- 4.16 Numbers of frames


@rule("4.16", "questions are counted from 1 in each run, without a gap; what is not one has none")
def counts(test):
    link = test.open()
    test.attach(link)
    frames = []
    for data in LONG, b"one":
        test.post(link, data)
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
        link.ask()
        link.expect(Op.ACK)
    link.asked = add(link.asked, 2)         # two are lost
    number = link.ask()
    answer = link.expect(Op.ACK)
    check(is_now(answer, number) and answer.map == 0b11100, answer)
    late = link.frame(Op.ASK, seq=add(link.tx, 1), number=add(number, -1))
    link.cable.send(late)
    answer = link.expect(Op.ACK)
    check(answer.number == number and not answer.marks and answer.map == 0b11101, answer)
    link.asked = number
    for _ in range(40):
        number = link.ask()
    answer = link.expect(Op.ACK, lambda frame: frame.number == number)
    check(answer.map == 0xffffffff, answer)


@rule("4.16", "numbers begin at 1 again in the next run")
def counts_anew(test):
    link = test.open()
    link.ask()
    link.expect(Op.ACK)
    link.resolve(link.freeze())
    number = link.ask()
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
    link.ask()
    answer = link.expect(Op.ACK)
    check(answer.number == 9 and answer.map == 0b11111101, answer)
