# SPDX-License-Identifier: GPL-2.0
"""Section 4.13: neighbours."""

from .cable import BROADCAST, until
from .drops import dropped
from .frame import Frame, Op
from .path import LEAST_ID, Node, Says
from .run import random_bits
from .tap import check, rule

HELLO_SOON = 4.0        # s within which a host that was just heard is answered, and more


def mac_id(mac):
    """The id that a node has by itself, of the MAC of its first port."""
    return LEAST_ID + int.from_bytes(mac, "big")


def some_id():
    """An id that nobody has."""
    return LEAST_ID + random_bits(60)


def say(place, node, dest=BROADCAST):
    """A HELLO of that node from an address here."""
    place.send_raw(Frame(Op.HELLO, node.pack()).pack(), dest=dest)


def heard(place, where=lambda node: True):
    """The next HELLO of the peer of which that holds: its frame, and what it says."""
    limit = until(HELLO_SOON)
    while (frame := place.recv(limit)) is not None:
        if frame.op == Op.HELLO and where(node := Node.parse(frame.payload)):
            return frame, node
    check(False, "no HELLO")
    return None


def entries(test, place):
    """What the peer's table has of an address: ids and incarnations."""
    return [(int(row["id"], 16), int(row["inc"], 16)) for row in test.far.neighbours()
            if row["mac"] == place.mac.hex(":")]


def discovering(test):
    """A second address here, and a peer that looks for neighbours."""
    place = test.elsewhere(broadcast=True)
    test.knobs(discover=1)
    return place


@rule("4.13", "a host that is new is answered by HELLO to all; discover 0: HELLO with LEAVING")
def hello(test):
    place = discovering(test)
    say(place, Node(some_id(), random_bits(64)))
    frame, node = heard(place)
    check(node.flags == Says.NODE and node.id == mac_id(test.cable.peer) and node.inc and
          node.mtu == test.cable.mtu, frame, node)
    check(frame.payload == node.pack(), "bytes that are 0 are", frame.payload.hex())
    check(not any((frame.vc, frame.src_ltag, frame.dst_ltag, frame.tx, frame.rx, frame.seq, frame.kind, frame.grant,
                   frame.reason)), frame)
    own = test.elsewhere()
    test.counted("id_conflict", lambda: [say(own, Node(node.id, node.inc)), settle(test)], 0)
    check(not entries(test, own), "this node is a neighbour of its own")
    place.drain()
    test.knobs(discover=0)
    leaving = heard(place)[1]
    check(leaving.flags == Says.NODE | Says.LEAVING and (leaving.id, leaving.inc) == (node.id, node.inc), leaving)


@rule("4.13", "with discover 0 a HELLO with NODE is a frame like any other: no_tag")
def hello_off(test):
    test.knobs(discover=0)
    link = test.open()
    hello_frame = Frame(Op.HELLO, Node(some_id(), random_bits(64)).pack())
    dropped(test, link, "no_tag", hello_frame.pack(), dest=BROADCAST)


@rule("4.13", "bad_field: other flags, an id below 2^48, no incarnation, an mtu below 128")
def hello_bad(test):
    test.knobs(discover=1)
    link = test.open()
    good = {"id": some_id(), "inc": random_bits(64)}
    dropped(test, link, "bad_field",
            *(Frame(Op.HELLO, Node(**(good | bad)).pack()).pack() for bad in (
                {"flags": Says.NODE | Says.GATEWAY}, {"flags": Says.NODE | Says.ASK},
                {"flags": Says.NODE | 0x20}, {"id": LEAST_ID - 1}, {"inc": 0}, {"mtu": 127})), dest=BROADCAST)


@rule("4.13", "an entry is made; LEAVING with its id and inc removes it, with others it does not")
def entry(test):
    place = discovering(test)
    node = Node(some_id(), random_bits(64))
    test.counted("node_heard", lambda: [say(place, node), known(test, place, node)])
    for other in Node(node.id, node.inc ^ 1), Node(node.id ^ 1, node.inc):
        other.flags |= Says.LEAVING
        test.counted("node_heard", lambda: [say(place, other), settle(test)])   # pylint: disable=cell-var-from-loop
        check(entries(test, place) == [(node.id, node.inc)], "the entry is gone")
    say(place, Node(node.id, node.inc, flags=Says.NODE | Says.LEAVING))
    settle(test)
    check(not entries(test, place), "the entry is there still")


def settle(test):
    """All that was sent before has been handled."""
    link = test.stranger()
    link.send(Op.CLOSE)
    link.expect(Op.CLOSE_ACK)


def known(test, place, node):
    """The peer's table has that of this address."""
    settle(test)
    check(entries(test, place) == [(node.id, node.inc)], entries(test, place), "is known of", node)


@rule("4.13", "id_conflict: another id and inc than the entry's, an id of this node or of another entry")
def conflicts(test):
    place, other = discovering(test), test.elsewhere()
    node = Node(some_id(), random_bits(64))
    say(place, node)
    known(test, place, node)
    own = mac_id(test.cable.peer)
    for at, said in ((place, Node(some_id(), random_bits(64))), (other, Node(own, random_bits(64))),
                     (place, Node(own, node.inc)), (other, Node(node.id, random_bits(64)))):
        def one(at=at, said=said):
            say(at, said)
            settle(test)
        test.counted("id_conflict", one)
        known(test, place, node)
        check(not entries(test, other), "there is an entry of", said)


@rule("4.13", "a host that comes back at its address, or is at a second one, is believed")
def believed(test):
    place, other = discovering(test), test.elsewhere()
    node = Node(some_id(), random_bits(64))
    say(place, node)
    for at, said in ((place, Node(node.id, random_bits(64))), (place, node), (other, node),
                     (place, Node(node.id, random_bits(64))), (other, Node(some_id(), node.inc))):
        def one(at=at, said=said):
            say(at, said)
            known(test, at, said)
        test.counted("id_conflict", one, 0)


@rule("4.13", "an id is an address: a link to it is asked for where that node was heard")
def id_address(test):
    place = discovering(test)
    node = Node(some_id(), random_bits(64))
    say(place, node)
    known(test, place, node)
    link = test.stranger()
    with link.by(place):
        test.attach(link, peer=f"id:{node.id:x}", now=True)
        check(link.expect(Op.SYNC).dst_ltag == 0, "it knows an ltag")
