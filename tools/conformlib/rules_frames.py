# SPDX-License-Identifier: GPL-2.0
"""Sections 2 and 3: what is dropped, by which counter, and that nothing else changes."""

from .cable import BROADCAST
from .drops import dropped, header, put
from .frame import HEADER, SYNC, Flag, Kind, Op, Reason, add, seal
from .tap import check, rule

MULTICAST = bytes.fromhex("01005e000001")


@rule("2.6", "bad_short: less than a header, or less than header and payload say")
def bad_short(test):
    link = test.open()
    offer = header(link, Op.OFFER, payload=bytes(100), seq=add(link.tx, 1), flags=Flag.LAST)
    dropped(test, link, "bad_short", header(link)[:47], bytes([0x20, 8]), offer[:-1], offer[:48])


@rule("2.6", "bad_version: neither version 2, nor a SYNC of version 1")
def bad_version(test):
    link = test.open()
    dropped(test, link, "bad_version", *(put(header(link), 0, version << 4) for version in (0, 1, 3, 15)))


@rule("2.6", "bad_flags: a reserved flag")
def bad_flags(test):
    link = test.open()
    dropped(test, link, "bad_flags", *(put(header(link), 3, flag) for flag in (0x10, 0x80)))


@rule("2.6", "bad_opcode: 0, 11, or above 17")
def bad_opcode(test):
    link = test.open()
    dropped(test, link, "bad_opcode", *(put(header(link), 1, op) for op in (0, 11, 18, 255)))


@rule("2.6", "bad_hlen: extensions without VIA, or VIA without them")
def bad_hlen(test):
    link = test.open()
    commit = header(link)
    long = seal(bytes([0x23]) + commit[1:] + bytes(12), 60)
    dropped(test, link, "bad_hlen", long, put(commit, 3, Flag.VIA), put(commit, 0, 0x21))


@rule("2.6", "bad_long: longer than header and payload say")
def bad_long(test):
    link = test.open()
    dropped(test, link, "bad_long", header(link) + b"\0" * 20)


@rule("2.6", "bad_field: kind, reason, marks, slice, pn and map out of their range; a NOLINK that grants")
def bad_field(test):
    link = test.open()
    seq = add(link.tx, 1)
    offer = header(link, Op.OFFER, payload=b"x", seq=seq, flags=Flag.LAST)
    commit, ask = header(link), header(link, Op.ASK, seq=seq)
    sync = header(link, Op.SYNC, payload=link.stand().pack())
    dropped(test, link, "bad_field",
            put(offer, 7, 5), put(commit, 7, 5), header(link, Op.NOLINK, grant=1),
            header(link, Op.NOLINK, grant=256), header(link, Op.PATH, payload=bytes(32), grant=1),
            put(offer, 30, 13), put(ask, 30, 13), put(offer, 31, 1), put(offer, 31, 4), put(commit, 31, 2),
            put(offer, 6, 64), put(commit, 31, 1), put(commit, 6, 1), put(ask, 6, 1), put(sync, 35, 1),
            put(sync, 39, 1), put(offer, 39, 1))


@rule("2.6", "bad_field: a wrong length, a REFUSE without a reason it may have, a SYNC without a src_ltag")
def bad_field_more(test):
    link = test.open()
    seq = add(link.tx, 1)
    reflect = header(link, Op.REFLECT, payload=bytes(16), seq=seq)
    refuse = header(link, Op.REFUSE, seq=seq, reason=Reason.BUSY)
    dropped(test, link, "bad_field", put(reflect, 31, 2), put(reflect, 31, 4), put(refuse, 30, 0),
            put(refuse, 30, 2), put(refuse, 30, Reason.POLICY), put(refuse, 30, 13),
            header(link, Op.SYNC, payload=link.stand().pack(), src_ltag=0),
            header(link, Op.REFLECT, payload=bytes(15), seq=seq),
            header(link, Op.ACK, payload=bytes(9), seq=seq), header(link, Op.COMMIT, payload=b"x"),
            header(link, Op.SYNC, payload=bytes(SYNC.size - 1)))


@rule("2.3", "bad_field: a VOID with a payload or EXPRESS, a half of two slices, an OFFER of no bytes")
def bad_offer(test):
    link = test.open()
    seq = add(link.tx, 1)
    dropped(test, link, "bad_field",
            header(link, Op.OFFER, payload=b"x", seq=seq, flags=Flag.LAST, kind=3),
            header(link, Op.OFFER, seq=seq, flags=Flag.LAST | Flag.EXPRESS, kind=3),
            header(link, Op.OFFER, seq=seq, kind=3),
            *(header(link, Op.OFFER, payload=b"x", seq=seq, kind=kind) for kind in (1, 2, 4)),
            *(header(link, Op.OFFER, payload=b"x", seq=seq, kind=kind, slice=1, flags=Flag.LAST)
              for kind in (1, 2, 3, 4)),
            *(header(link, Op.OFFER, payload=b"x", seq=seq, kind=kind, flags=Flag.LAST | Flag.EXPRESS)
              for kind in (1, 2, 4)),
            header(link, Op.OFFER, seq=seq, flags=Flag.LAST, kind=1))


@rule("2.6", "bad_auth: a keyed digest is not understood")
def bad_auth(test):
    link = test.open()
    dropped(test, link, "bad_auth", put(header(link), 3, Flag.AUTH))


@rule("2.6", "bad_digest: of header or payload")
def bad_digest(test):
    link = test.open()
    offer = header(link, Op.OFFER, payload=b"hello", seq=add(link.tx, 1), flags=Flag.LAST)
    dropped(test, link, "bad_digest", offer[:-1] + b"?", offer[:24] + b"\x7f" + offer[25:],
            offer[:40] + bytes(8) + offer[48:])


@rule("2.6", "a frame counts at the first thing that is wrong")
def bad_order(test):
    link = test.open()
    commit = header(link)
    for raw, counter in ((bytes([0x30, 0]) + commit[2:], "bad_version"),
                         (bytes([0x20, 0, 0, 0x80]) + commit[4:], "bad_flags"),
                         (bytes([0x23, 0]) + commit[2:], "bad_opcode"),
                         (commit[:3] + bytes([Flag.VIA]) + commit[4:] + b"long", "bad_hlen"),
                         (commit[:7] + b"\5" + commit[8:] + b"long", "bad_long"),
                         (commit[:3] + bytes([Flag.AUTH]) + commit[4:7] + b"\5" + commit[8:], "bad_field"),
                         (commit[:3] + bytes([Flag.AUTH]) + commit[4:], "bad_auth")):
        dropped(test, link, counter, raw)


@rule("2.6", "not_mine: multicast, broadcast, and from an address that is not unicast or is the port's")
def not_mine(test):
    link = test.open()
    sync = header(link, Op.SYNC, payload=link.stand().pack())
    dropped(test, link, "not_mine", sync, dest=MULTICAST)
    dropped(test, link, "not_mine", sync, dest=BROADCAST)
    dropped(test, link, "not_mine", sync, source=MULTICAST)
    dropped(test, link, "not_mine", sync, source=test.cable.peer)


@rule("2.6", "a SYNC of version 1 is refused in its own format: CLOSE, POLICY, both ltags crossed")
def version_1(test):
    from .old import refused_v1     # pylint: disable=import-outside-toplevel
    refused_v1(test)


@rule("2.1", "every frame of the peer is well-formed, and has the length that its opcode has")
def own_frames(test):
    link = test.open()
    test.attach(link)
    test.far.queue(vc=link.vc, data=(b"0123456789" * 500).hex())
    link.take()
    link.message(b"hello")
    sync = link.probe()
    check(len(sync.payload) == 64 and not sync.number and not sync.map, sync)


@rule("3", "old_run: a data frame must match both ltags")
def old_run(test):
    link = test.open()
    seq = add(link.tx, 1)
    other = {"dst_ltag": link.peer_ltag ^ 1}, {"src_ltag": link.ltag ^ 1}, {"dst_ltag": 0}
    for ltags in other:
        dropped(test, link, "old_run",
                header(link, Op.OFFER, payload=b"x", seq=seq, flags=Flag.LAST, **ltags),
                header(link, Op.COMMIT, tx=seq, **ltags), header(link, Op.ASK, seq=seq, **ltags),
                header(link, Op.REFLECT, payload=bytes(16), seq=seq, **ltags),
                header(link, Op.DONE, rx=seq, **ltags), header(link, Op.READY, **ltags),
                header(link, Op.CLOSE_ACK, **ltags))


@rule("3", "impossible: a tx above what is held freezes the end")
def impossible_tx(test):
    link = test.open()
    before = test.far.stats()["impossible"]
    link.send(Op.COMMIT, tx=add(link.tx, 1))
    frozen(test, link, before)


@rule("3", "impossible: an rx above what was committed freezes the end")
def impossible_rx(test):
    link = test.open()
    before = test.far.stats()["impossible"]
    link.send(Op.COMMIT, rx=add(link.rx, 1))
    frozen(test, link, before)


@rule("3", "the counters of a SYNC that shows another incarnation of the receiver are not looked at")
def other_receiver(test):
    link = test.open()
    link.message(b"one")
    link.send_sync(stand=link.stand(peer_inc=0), tx=add(link.tx, 9), rx=add(link.rx, 9))
    link.expect(Op.SYNC_ACK, lambda frame: (frame.src_ltag, frame.dst_ltag) == (link.peer_ltag, link.ltag))
    link.message(b"the same run")


@rule("3", "impossible: a SYNC of this run with another incarnation freezes the end")
def impossible_inc(test):
    link = test.open()
    before = test.far.stats()["impossible"]
    link.send_sync(stand=link.stand(inc=link.inc ^ 1))
    frozen(test, link, before)


@rule("4.16", "impossible: an ack of what was not asked freezes the end")
def impossible_ack(test):
    link = test.open()
    before = test.far.stats()["impossible"]
    link.send(Op.DONE, number=7)
    frozen(test, link, before)


def frozen(test, link, before):
    """The peer has counted `impossible` and asks with a new ltag; the link is resolved again."""
    sync = link.expect(Op.SYNC, lambda frame: frame.dst_ltag == link.ltag)
    check(sync.src_ltag != link.peer_ltag, "the same ltag again")
    check(test.far.stats()["impossible"] == before + 1, "impossible was not counted")
    link.thaw(sync)
    link.message(b"and goes on")


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
    link.ask(reason=Reason.BAD_VERB)
    link.reflected(slices)
    link.tx = add(link.tx, 1)
    link.send(Op.COMMIT, flags=Flag.WANT_DONE, seq=5, kind=Kind.PACK, reason=Reason.FULL)
    link.expect(Op.DONE, lambda frame: frame.rx == link.tx)


assert HEADER.size == 48
