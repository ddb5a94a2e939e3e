# SPDX-License-Identifier: GPL-2.0
"""Section 4.15: UDP ports."""

import time

from .cable import until
from .frame import Frame, Op, Stand, add
from .old import sync_v1
from .path import Hello, Node, with_via
from .rules_neighbours import LEAST_ID
from .run import random_bits
from .script import LONG, PATIENCE
from .tap import check, rule
from .udp import PORT, datagram

ELSEWHERE = bytes.fromhex("02c0f1000001")       # an address that stands for no endpoint


def opened(test, line, **how):
    """A link over that line."""
    link = test.stranger(line, start=0xfffffff0, **how)
    link.open()
    return link


def settle(test, line):
    """All that was sent before by this line has been handled; the frames that came until then."""
    link = test.stranger(line)
    link.send(Op.CLOSE)
    frames = []
    limit = until(PATIENCE)
    while (frame := line.recv(limit)) is not None and frame.vc != link.vc:
        frames.append(frame)
    check(frame, "CLOSE is not answered")
    return frames


def sync_of(vc):
    """A SYNC of a stranger, as bytes."""
    stand = Stand(random_bits(64), 0, 0, 65536, 0, 1456)
    return Frame(Op.SYNC, stand.pack(), vc=vc, src_ltag=random_bits(32)).pack()


def refused(test, action, count=1):
    """What the action sends is dropped as udp_refused."""
    before = test.far.stats()["udp_refused"]
    action()
    test.wait(lambda: test.far.stats()["udp_refused"] == before + count, "udp_refused was not counted")


@rule("4.15", "each frame is a datagram with a head of 16 bytes; the MTU is 44 bytes less; messages both ways")
def over_udp(test):
    line = test.udp()
    link = opened(test, line)
    check(link.peer.mtu == line.mtu, "its mtu is", link.peer.mtu)
    test.attach(link, peer=line.mac.hex(":"))
    link.message(LONG)
    check(test.messages_of(link) == [LONG], "another message")
    test.post(link, LONG)
    check(link.take() == LONG, "another message")


@rule("4.15", "udp_bad: short, another version, type, byte at 1 or ethertype, dst or src that cannot be")
def bad(test):
    line = test.udp()
    raw = sync_of(test.vc())
    good = datagram(raw, line.peer, line.mac)
    wrong = [datagram(raw[:47], line.peer, line.mac), b"", b"\x11", b"\x21" + good[1:], b"\x12" + good[1:],
             good[:1] + b"\1" + good[2:], good[:14] + b"\x88\xb4" + good[16:], datagram(raw, line.mac, line.mac),
             datagram(raw, b"\xff" * 6, line.mac), datagram(raw, line.peer, line.peer),
             datagram(raw, line.peer, b"\x03" + line.mac[1:])]

    def all_of_them():
        for data in wrong:
            line.send_datagram(data)
        check(not settle(test, line), "something was answered")
    test.counted("udp_bad", all_of_them, len(wrong))
    line.send_datagram(good)
    check(settle(test, line), "what is right is not answered")


@rule("4.15", "udp_via: every HELLO, and every frame with VIA")
def via(test):
    line = test.udp()
    vc = test.vc()
    raws = [Frame(Op.HELLO, Hello().pack()).pack(), Frame(Op.HELLO, Node(LEAST_ID, 1).pack()).pack(),
            with_via(sync_of(vc), line.peer, ELSEWHERE)]

    def all_of_them():
        for raw in raws:
            line.send_raw(raw)
        check(not settle(test, line), "something was answered")
    test.counted("udp_via", all_of_them, len(raws))


@rule("4.15", "a SYNC of version 1 is not answered")
def old_version(test):
    line = test.udp()
    vc = test.vc()

    def one():
        line.send_raw(sync_v1(vc, 5))
        check(not settle(test, line), "it was answered")
    test.counted("bad_version", one)


@rule("4.15", "udp_refused: a peer that was heard is let in from there, and from nowhere else")
def stays(test):
    line, other = test.udp(mac=ELSEWHERE), test.udp(mac=ELSEWHERE)
    link = opened(test, line)

    def forged():
        link.send(Op.NOLINK)
        link.send(Op.COMMIT, tx=add(link.tx, 5))
        link.send_sync(src_ltag=random_bits(32))

    with link.by(other):
        refused(test, forged, 3)
    link.message(b"here still")
    check(not other.drain(), "it was answered there")
    check(not link.seen or all(frame.src_ltag == link.peer_ltag for frame in link.seen), *link.seen)


@rule("4.15", "from the endpoint that its MAC stands for a peer is always let in, and is there from then on")
def stands_for(test):
    line, home = test.udp(), test.udp(port=PORT)
    check(home.endpoint == (line.endpoint[0], PORT) and line.mac == home.mac, "endpoints", line.endpoint, home.endpoint)
    link = opened(test, line)
    with link.by(home):
        link.message(b"from home")
    refused(test, link.ask)
    check(not home.drain() and not line.drain(), "it was answered")
    link.cable = home


@rule("4.15", "a peer that is silent for three times keepalive_ms is let in from anywhere")
def moves(test):
    line, other = test.udp(mac=ELSEWHERE), test.udp(mac=ELSEWHERE)
    test.quick(keepalive_ms=100, dead_ms=20000)
    link = opened(test, line)
    before = test.far.stats()["udp_refused"]
    link.probe()
    with link.by(other):
        limit = until(PATIENCE)
        while True:
            link.ask()
            frame = link.recv_until(until(0.03))
            if frame is not None:
                break
            check(time.monotonic() < limit, "it is not let in")
    check(test.far.stats()["udp_refused"] > before, "it was let in at once")
    link.cable = other


@rule("4.15", "what the peer asks for by itself goes to the endpoint that the MAC stands for")
def asked_there(test):
    home = test.udp(port=PORT)
    link = test.stranger(home)
    test.attach(link, peer=f"{test.udp_device}/{home.mac.hex(':')}", now=True)
    check(link.expect(Op.SYNC).dst_ltag == 0, "it knows an ltag")


@rule("4.15", "udp_peers names the endpoint of a MAC: frames go there, and from nowhere else it is let in")
def named(test):
    line, home = test.udp(), test.udp(port=PORT)
    test.knobs(udp_peers=f"{line.endpoint[0]}:{line.endpoint[1]}")
    refused(test, lambda: home.send_raw(sync_of(test.vc())))
    link = test.stranger(line)
    test.attach(link, peer=f"{test.udp_device}/{line.mac.hex(':')}", now=True)
    check(link.expect(Op.SYNC).dst_ltag == 0, "it knows an ltag")
    check(not home.drain(), "something went to another endpoint")
