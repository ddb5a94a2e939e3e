# SPDX-License-Identifier: GPL-2.0
"""Section 4.8: ways. The gateway, and who is behind it, are addresses here."""

from .cable import until
from .drops import dropped, header
from .frame import Frame, Op, Stand
from .path import Behind, Hello, Says, with_via
from .rules_neighbours import settle
from .run import random_bits
from .script import LONG, PATIENCE
from .tap import check, rule

FAR = bytes.fromhex("02c0f2000001")     # an address behind a gateway
VIA_BYTES = 12


def hello(gateway, said, vc=0):
    """Send that HELLO."""
    gateway.send(Frame(Op.HELLO, said.pack(), vc=vc))


def zone(test, **says):
    """A gateway that the peer takes until the test is over: its address here, what it says."""
    test.knobs(use_gw="auto", discover=0)
    gateway = test.elsewhere()
    said = Hello(**({"inc": random_bits(32), "mtu": test.cable.mtu} | says))
    test.later(lambda: [hello(gateway, Hello(flags=Says.GATEWAY | Says.LEAVING, inc=said.inc)), settle(test)])
    hello(gateway, said)
    settle(test)
    return gateway, said


def behind(test, gateway, mac=FAR):
    """The line to the peer through that gateway."""
    line = Behind(test.cable, gateway.mac, mac)
    test.later(line.close)
    return line


def answers(test, gateway):
    """The HELLOs that have come there, once all that was sent has been handled."""
    settle(test)
    return [Hello.parse(frame.payload) for frame in gateway.drain() if frame.op == Op.HELLO]


@rule("4.8", "a host answers HELLO of its gateway with a new inc, or with ASK, by what its port carries")
def host(test):
    gateway, said = zone(test)
    own = Hello(0, 0, test.cable.mtu, 0, 0, 0, 0)
    check(answers(test, gateway) == [own], "the answers to a new inc")
    hello(gateway, said)
    check(not answers(test, gateway), "one that is known is answered")
    said.flags |= Says.ASK
    hello(gateway, said)
    check(answers(test, gateway) == [own], "the answers to ASK")
    test.knobs(use_gw=0)
    check([each.flags for each in answers(test, gateway)] == [Says.LEAVING], "it does not leave")
    hello(gateway, said)
    check(not answers(test, gateway), "it answers, and uses no gateway")


@rule("4.8", "bad_field: HELLO GATEWAY with NODE or another flag, zone 0, inc 0, life 0, mtu below 140, ABOUT a group")
def hello_bad(test):
    test.knobs(use_gw="auto", discover=0)
    link = test.open()
    bad = ({"flags": Says.GATEWAY | Says.NODE}, {"flags": Says.GATEWAY | 0x20}, {"zone": 0}, {"inc": 0}, {"life": 0},
           {"mtu": 139}, {"flags": Says.GATEWAY | Says.ABOUT, "about": b"\x03" + FAR[1:]})
    dropped(test, link, "bad_field", *(Frame(Op.HELLO, Hello(**each).pack()).pack() for each in bad),
            source=test.elsewhere().mac)


@rule("4.8", "through the gateway: a link of its own, whose SYNC says 12 bytes less than both carry")
def through(test):
    gateway, said = zone(test, mtu=1300)
    link = test.stranger(behind(test, gateway))
    link.open()
    check(link.peer.mtu == said.mtu - VIA_BYTES, "its mtu is", link.peer.mtu)
    test.attach(link, peer=FAR.hex(":"))
    link.message(LONG)
    check(test.messages_of(link) == [LONG], "another message")
    test.post(link, LONG)
    check(link.take() == LONG, "another message")


@rule("4.8", "not_mine: VIA from another than the gateway, to another than this port, with use_gw 0, of one that has left")
def not_let_in(test):
    gateway, said = zone(test)
    link = test.open()
    raw = header(link, Op.CLOSE, src_ltag=5, dst_ltag=0, vc=test.vc())
    right = with_via(raw, test.cable.peer, FAR)
    dropped(test, link, "not_mine", right, source=test.elsewhere().mac)
    dropped(test, link, "not_mine", with_via(raw, FAR, FAR), with_via(raw, test.cable.peer, test.cable.peer),
            source=gateway.mac)
    test.knobs(use_gw=0)
    dropped(test, link, "not_mine", right, source=gateway.mac)
    test.knobs(use_gw="auto")
    hello(gateway, said)
    line = behind(test, gateway)
    line.send_raw(raw)
    check(line.recv(until(PATIENCE)).op == Op.CLOSE_ACK, "what is right is not answered")
    hello(gateway, Hello(flags=Says.GATEWAY | Says.LEAVING, inc=said.inc ^ 1))
    line.send_raw(raw)
    check(line.recv(until(PATIENCE)).op == Op.CLOSE_ACK, "LEAVING of another incarnation counts")
    hello(gateway, Hello(flags=Says.GATEWAY | Says.LEAVING, inc=said.inc))
    dropped(test, link, "not_mine", right, source=gateway.mac)


@rule("4.8", "the first gateway stays: HELLO of another one is no_tag, and no answer")
def first(test):
    gateway, _ = zone(test)
    other = test.elsewhere()
    link = test.open()
    dropped(test, link, "no_tag", Frame(Op.HELLO, Hello(inc=5).pack()).pack(), source=other.mac)
    check(not answers(test, other), "it was answered")
    dropped(test, link, "not_mine", with_via(header(link, Op.CLOSE), test.cable.peer, FAR), source=other.mac)
    check(answers(test, gateway), "the first was not answered")


@rule("4.8", "HELLO ABOUT a peer that says less: an OPEN end of a link through the gateway freezes, and says so")
def about(test):
    gateway, said = zone(test)
    link = test.stranger(behind(test, gateway))
    link.open()
    said.flags |= Says.ABOUT
    said.about, said.mtu = FAR, 1000
    hello(gateway, said, vc=link.vc ^ 1)
    link.silent()
    hello(gateway, said, vc=link.vc)
    sync = link.expect(Op.SYNC, lambda frame: frame.src_ltag != link.peer_ltag)
    check(Stand.parse(sync.payload).mtu == 1000 - VIA_BYTES, "its mtu is", Stand.parse(sync.payload).mtu)
    link.thaw(sync)
    link.message(b"goes on")


@rule("4.8", "two SYNCs that are not answered: the next two go the other way, and so on")
def lost_way(test):
    gateway, _ = zone(test)
    test.quick(stall_min_us=60000, stall_max_us=60000)      # all that came before is seen before the next
    direct = test.elsewhere()
    line = behind(test, gateway, direct.mac)
    link = test.stranger(direct)
    test.attach(link, peer=direct.mac.hex(":"), now=True)
    with link.by(line):
        check(link.expect(Op.SYNC).dst_ltag == 0, "it knows an ltag")
    asked = direct.drain()
    check(len(asked) >= 2, "before that there went direct", *asked)
    with link.by(direct):
        link.expect(Op.SYNC)
    asked = line.drain()
    check(asked, "the gateway had one")


@rule("4.8", "an answer never goes through a gateway while the peer is heard direct: a SYNC that knows nothing is stale")
def heard_direct(test):
    gateway, _ = zone(test)
    link = test.open()
    line = behind(test, gateway, test.cable.mac)
    with link.by(line):
        before = test.far.stats()["stale_sync"]
        link.send_sync(src_ltag=random_bits(32), dst_ltag=0)
        settle(test)
        check(test.far.stats()["stale_sync"] == before + 1, "stale_sync was not counted")
        link.send_sync(src_ltag=random_bits(32))
    link.expect(Op.SYNC)
    check(not line.drain(), "it was answered through the gateway")


@rule("4.8", "a frame that came the other way and names both ltags turns the link")
def turns(test):
    gateway, _ = zone(test)
    link = test.open(mtu=1000)
    test.attach(link)
    with link.by(behind(test, gateway, test.cable.mac)):
        link.ask()
        if (frame := link.recv_until(until(PATIENCE))).op == Op.SYNC:      # it carries less
            link.thaw(frame)
        test.post(link, b"through the gateway")
        check(link.take() == b"through the gateway", "another message")
