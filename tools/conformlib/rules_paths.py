# SPDX-License-Identifier: GPL-2.0
"""Section 4.14: paths. This end has several addresses on its device; all paths of the peer are by one port."""

import dataclasses
import time

from .cable import until
from .drops import dropped
from .frame import Frame, Op, Stand, add
from .path import Node, Path, Role, Way
from .rules_neighbours import say, settle, some_id
from .run import random_bits
from .script import LONG, PATIENCE
from .tap import check, rule


def probe_of(link, there, **other):
    """The payload of a right probe from another address; it names the link by that by which it was opened."""
    fields = {"role": Role.PROBE, "mtu": there.mtu, "to": there.peer, "own": link.cable.mac, "nonce": random_bits(64)}
    return Path(**(fields | other)).proven((link.inc, link.peer_inc), Way(there.mac, there.peer, link.vc))


def frame_of(link, body):
    """The frame with that payload."""
    return Frame(Op.PATH, body.pack(), vc=link.vc)


def path_at(there, role, patience=PATIENCE):
    """The next PATH of that role at an address: what it says."""
    limit = until(patience)
    while (frame := there.recv(limit)) is not None:
        if frame.op == Op.PATH and (body := Path.parse(frame.payload)).role == role:
            return body
    check(False, "no PATH of role", role)
    return None


def answer(link, there, body):
    """Answer a probe that came there."""
    reply = Path(Role.ANSWER, there.mtu, there.peer, there.mac, body.nonce)
    there.send(frame_of(link, reply.proven((link.inc, link.peer_inc), Way(there.mac, there.peer, link.vc))))


def prove(link, there):
    """The peer takes the path from there: it is proven; the answer to the probe."""
    body = probe_of(link, there)
    there.send(frame_of(link, body))
    said = path_at(there, Role.ANSWER)
    check(said.nonce == body.nonce, "it answers another probe", said)
    return said


def opened(test, **how):
    """A link whose ends both take other paths, and another address of this end.

    An end may spread its links over paths that are alike, by their vc: on an even one the own path stays.
    """
    test.knobs(paths=8)
    while not test.vc() % 2:
        pass
    link = test.open(**({"caps": Stand.PATHS} | how))
    check(link.peer.caps & Stand.PATHS, "the peer takes no other paths")
    return link, test.elsewhere()


def with_path(test, **how):
    """The same, and the path from there is proven."""
    link, there = opened(test, **how)
    prove(link, there)
    there.drain()
    return link, there


def thawed_by(link, there):
    """Resolve a frozen link by the path from there."""
    with link.by(there):
        sync = link.expect(Op.SYNC)
        link.thaw(sync)
    link.cable.drain()


def ops(frames):
    """Their opcodes, but for PATH and HELLO."""
    return {Op(frame.op) for frame in frames if frame.op not in (Op.PATH, Op.HELLO)}


@rule("4.14", "a probe with a right proof is answered there, with a right proof")
def answered(test):
    link, there = opened(test)
    said = prove(link, there)
    check((said.to, said.own, said.mtu) == (there.mac, there.peer, test.cable.mtu), said)
    check(said.proof == said.proof_of((link.inc, link.peer_inc), Way(there.peer, there.mac, link.vc)), said)


@rule("4.14", "bad_path: a wrong proof, another Ethernet source, an answer that nobody asked for, a link that is not")
def bad_proof(test):
    link, there = opened(test)
    right = probe_of(link, there)
    unasked = dataclasses.replace(right, role=Role.ANSWER).proven(
        (link.inc, link.peer_inc), Way(there.mac, there.peer, link.vc))
    dead = right.proven((link.inc, link.peer_inc ^ 1), Way(there.mac, there.peer, link.vc))
    wrong = [frame_of(link, body).pack() for body in (
        dataclasses.replace(right, proof=right.proof ^ 1), dataclasses.replace(right, mtu=right.mtu - 1),
        dataclasses.replace(right, nonce=right.nonce ^ 1), dead, unasked)]
    dropped(test, link, "bad_path", *wrong, source=there.mac)
    dropped(test, link, "bad_path", frame_of(link, right).pack(), source=test.elsewhere().mac)
    check(not there.drain(), "something was answered")
    prove(link, there)


@rule("4.14", "bad_path: an end did not take paths when the link was opened")
def no_paths(test):
    test.knobs(paths=8)
    for caps, knob in (0, 8), (Stand.PATHS, 1):
        test.knobs(paths=knob)
        link, there = test.open(caps=caps), test.elsewhere()
        check(bool(link.peer.caps & Stand.PATHS) == (knob > 1), "caps of the peer", link.peer.caps)
        dropped(test, link, "bad_path", frame_of(link, probe_of(link, there)).pack(), source=there.mac)
        check(not there.drain(), "something was answered")


@rule("4.14", "answers go back by the path by which the question came")
def answers_there(test):
    link, there = with_path(test)
    test.attach(link)
    with link.by(there):
        slices = link.offer(b"from there")
        link.reflected(slices)
        link.commit()
        link.ask()
        link.expect(Op.ACK)
    link.ask()
    link.expect(Op.ACK)
    check(test.messages_of(link) == [b"from there"], "another message")
    check(not ops(link.seen) and not ops(there.drain()), "more was answered")


@rule("4.14", "before the proof no frame of the link but a SYNC is taken from elsewhere: NOLINK")
def unproven(test):
    link, there = opened(test)
    with link.by(there):
        link.offer(b"from nowhere")
        link.expect(Op.NOLINK)
    link.silent()


@rule("4.14", "the peer asks by the path in use: an OFFER goes by no other")
def offers_home(test):
    link, there = with_path(test)
    test.attach(link)
    test.post(link, b"by the own path")
    check(link.take() == b"by the own path", "another message")
    check(not ops(there.drain()), "it went by another path as well")


@rule("4.14", "a SYNC that begins a freeze goes by all proven paths; each names the ltag that was heard there, or 0")
def echo(test):
    link, there = with_path(test)
    third = test.elsewhere()
    prove(link, third)
    with link.by(third):
        link.ask()
        link.expect(Op.ACK)
    link.send(Op.NOLINK)
    syncs = {}
    for place in link.cable, there, third:
        with link.by(place):
            syncs[place] = link.expect(Op.SYNC)
    check([sync.dst_ltag for sync in syncs.values()] == [link.ltag, 0, link.ltag], *syncs.values())
    check(len({sync.src_ltag for sync in syncs.values()}) == 1, "ltags", *syncs.values())


@rule("4.14", "a frozen end resolves by a path only with what names its ltag there; that path is in use then")
def resolves(test):
    link, there = with_path(test)
    test.attach(link)
    link.send(Op.NOLINK)
    link.expect(Op.SYNC)
    thawed_by(link, there)
    test.post(link, LONG)
    with link.by(there):
        check(link.take() == LONG, "another message")
    check(Op.OFFER not in ops(link.cable.drain()), "an OFFER went by the old path")


@rule("4.14", "what the timer asks for the second time goes by all; if the answer comes there, that path is in use")
def silent_path(test):
    link, there = with_path(test)
    test.attach(link)
    test.quick()
    number = test.post(link, b"is anybody there")
    offer = link.offered()
    with link.by(there):
        question = first = link.expect(Op.ASK)
        check((question.seq, question.src_ltag) == (offer.seq, link.peer_ltag), question)
        while question.op == Op.ASK:        # until the path in use has had its time
            link.send(Op.ACK, bytes(8), newest=True, seq=offer.seq)
            question = link.expect_any(lambda frame: frame.op in (Op.ASK, Op.OFFER))
        check(link.take([question.payload]) == b"is anybody there", "another message")
    asked = [frame for frame in link.cable.drain() if frame.op == Op.ASK]
    check(len(asked) >= 2 and asked[1].number == first.number, "by the other path went", *asked)
    test.ends(link, number, "committed")
    check(test.far.tag(vc=link.vc)["state"] == "OPEN", "it froze")


@rule("4.14", "a SYNC from elsewhere with a cookie and both incarnations: the link takes it, and the path is proven")
def sync_elsewhere(test):
    link, _ = with_path(test)
    there = test.elsewhere()
    test.attach(link)
    link.reflected(link.offer(b"committed"))
    link.tx = add(link.tx, 1)
    test.knobs(accept="none")
    link.new_run()
    link.peer_ltag = 0
    with link.by(there):
        link.send_sync()
        link.peer_ltag = cookie = link.expect(Op.SYNC_CHK).src_ltag
        link.send_sync()
        link.peer_ltag = link.expect(Op.SYNC_CHK, lambda frame: frame.src_ltag != cookie).src_ltag
        link.send_sync()
        sync = link.expect(Op.SYNC, lambda frame: frame.dst_ltag == link.ltag)
        check(Stand.parse(sync.payload).inc == link.peer_inc, "it is another link")
        link.resolve(sync)
    check(test.messages_of(link) == [b"committed"], "what was held was lost")
    check(not test.far.tag(vc=link.vc, peer=there.mac.hex(":")), "it has got a link of its own")
    with link.by(there):
        link.message(b"goes on")


@rule("4.14", "a new incarnation from elsewhere is put off: SYNC_CHK, id_conflict; the link asks there, and goes on")
def new_elsewhere(test):
    link, there = with_path(test)
    test.attach(link)
    link.reflected(link.offer(b"held"))
    other = test.stranger(caps=Stand.PATHS)
    other.vc = link.vc
    with other.by(there):
        other.send_sync()
        other.peer_ltag = other.expect(Op.SYNC_CHK).src_ltag

        def put_off():
            other.send_sync()
            check(other.expect(Op.SYNC_CHK).dst_ltag == other.ltag, "its ltag")
        test.counted("id_conflict", put_off)
        check(not test.far.tag(vc=link.vc, peer=there.mac.hex(":")), "it has got a link of its own")
    link.commit()
    check(test.messages_of(link) == [b"held"], "another message")


@rule("4.14", "a candidate is where else the id and incarnation were heard: it is probed; nothing else is taken there")
def candidate(test):
    test.knobs(discover=1, paths=8)
    home, there = test.elsewhere(), test.elsewhere()
    node = Node(some_id(), random_bits(64))
    say(home, node)
    settle(test)
    test.quick(keepalive_ms=200, dead_ms=20000)
    link = test.stranger(caps=Stand.PATHS, start=5)
    link.cable = home
    link.open()
    say(there, node)
    body = path_at(there, Role.PROBE)
    check((body.to, body.own) == (home.mac, there.peer), body)
    check(body.proof == body.proof_of((link.inc, link.peer_inc), Way(there.peer, there.mac, link.vc)), body)
    with link.by(there):
        before = test.far.stats()["stray_path"]
        link.ask()
        settle(test)
        check(test.far.stats()["stray_path"] == before + 1, "stray_path was not counted")
    answer(link, there, path_at(there, Role.PROBE))
    prove(link, there)
    with link.by(there):
        link.ask()
        link.expect(Op.ACK)


@rule("4.14", "each path that is not in use is probed every keepalive_ms, though the one in use is alive")
def probed(test):
    test.quick(keepalive_ms=50, dead_ms=20000)
    link, there = opened(test)
    prove(link, there)
    seen = set()
    limit = until(PATIENCE)
    while len(seen) < 3:
        check(time.monotonic() < limit, "probes:", len(seen))
        for frame in link.cable.drain():
            check(frame.op != Op.PATH or frame.vc != link.vc, "the path in use is probed", frame)
            if frame.op == Op.SYNC:
                link.send_sync(Op.SYNC_ACK)
        frame = there.recv(until(0.01))
        if frame is not None and frame.op == Op.PATH:
            body = Path.parse(frame.payload)
            check((body.role, body.to, body.own) == (Role.PROBE, link.cable.mac, there.peer), body)
            seen.add(body.nonce)
            answer(link, there, body)


@rule("4.14", "frames of a path that is left: answered there, and they do not turn the link back")
def left_path(test):
    link, there = with_path(test)
    test.attach(link)
    link.send(Op.NOLINK)
    link.expect(Op.SYNC)
    thawed_by(link, there)
    link.ask()
    link.expect(Op.ACK)
    test.post(link, b"by the path in use")
    with link.by(there):
        link.offered()
    check(Op.OFFER not in ops(link.cable.drain()), "an OFFER went by the path that was left")


@rule("4.14", "once a new incarnation has resolved no path but its own is proven: old proofs are bad_path, frames stray")
def proofs_end(test):
    test.quick(dead_ms=300, keepalive_ms=100)
    link, there = with_path(test)
    old = probe_of(link, there)
    test.wait(lambda: test.far.tag(vc=link.vc).get("state") in ("DOWN", None), "it is not down")
    link.new_run()
    link.inc, link.peer_inc, link.peer_ltag = random_bits(64), 0, 0
    link.tx = link.start
    link.cable.drain()
    link.send_sync()
    link.resolve(link.expect(Op.SYNC, lambda frame: frame.dst_ltag == link.ltag))
    test.quick(dead_ms=60000, keepalive_ms=60000)
    there.drain()
    dropped(test, link, "bad_path", frame_of(link, old).pack(), source=there.mac)
    with link.by(there):
        link.offer(b"stray")
    settle(test)
    check(not ops(there.drain()) - {Op.NOLINK}, "it was answered")
    link.message(b"goes on")
