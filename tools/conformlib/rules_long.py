# SPDX-License-Identifier: GPL-2.0
"""Section 4 as a whole: many messages both ways, with losses, cancels and freezes."""

import hashlib
import random
import time

from .content import message, number_of
from .frame import Stand
from .peer import new_peer
from .tap import check, rule


def sums(datas):
    """The sha256 of each, in hex."""
    return [hashlib.sha256(data).hexdigest() for data in datas]


def exchange(test, freezes, caps, **little):
    """All messages both ways with losses; the peer's programs and this end must agree on each.

    little: how little this end grants, see Peer.
    """
    test.knobs(sndq=256)
    test.quick(stall_min_us=30000, stall_max_us=300000, keepalive_ms=500, dead_ms=20000)
    before = test.far.stats()
    chance = random.Random(test.seed)
    link = new_peer(test.cable, test.vc(), caps=caps, **little)
    test.attach(link)
    link.open()
    test.cable.loss = test.loss
    ours, theirs = test.seed << 1, test.seed << 1 | 1
    test.far.flow(vc=link.vc, seed=theirs, count=test.messages, cancel_every=29)
    posted = []
    freeze_at = [test.messages * (n + 1) // (freezes + 1) for n in range(freezes)]

    look_at = time.monotonic()

    def told():
        """Does the peer's program know what became of each of its messages? Asked now and then."""
        nonlocal look_at
        if time.monotonic() < look_at:
            return False
        look_at = time.monotonic() + 0.2
        return test.far.flowed(vc=link.vc)["ended"] == test.messages

    def done():
        while len(posted) < test.messages and link.waiting < 24:
            posted.append(link.post(message(ours, len(posted))))
            if len(posted) % 100 == 0:
                test.note(f"{len(posted)} posted, {len(link.received)} came")
            if chance.random() < 0.05:
                link.cancel(chance.choice(posted[-8:]))
        if freeze_at and len(posted) >= freeze_at[0]:
            freeze_at.pop(0)
            link.freeze("by hand")
        return len(posted) == test.messages and link.idle and told()

    link.run(done, "messages", 20.0)
    test.cable.loss = 0.0
    end = link.post(b"end")
    link.run(lambda: link.idle and end.ending, "the end", 10.0)
    link.run(lambda: test.far.flowed(vc=link.vc)["done"], "the peer's programs", 10.0)
    after = test.far.stats()
    wrong = [name for name in ("impossible", "mismatch", "broken", "peer_new") if before[name] != after[name]]
    check(not wrong, "the peer has counted", *wrong)
    agree(test, link, posted, (ours, theirs))
    link.close()
    test.far.detach(vc=link.vc)
    test.gone(link)
    return link


def agree(test, link, posted, seeds):
    """What one end says was committed is what the other was given, once and in order."""
    ours, theirs = seeds
    trouble = test.far.flowed(vc=link.vc)["trouble"]
    check(not trouble, *trouble)
    received, endings = test.far.results(vc=link.vc)
    committed = [n for n, post in enumerate(posted) if post.ending == "committed"]
    check(all(post.ending in ("committed", "reversed") for post in posted), "not all have ended")
    check(received == sums(message(ours, n) for n in committed),
          f"the peer was given {len(received)} messages, committed are {len(committed)}")
    came = [number_of(theirs, data) for data in link.received]
    said = sorted(int(n) for n, ending in endings.items() if ending == "committed")
    check(came == said, f"{len(came)} messages came, the peer says that {len(said)} are committed;",
          "first:", next(((a, b) for a, b in zip(came, said) if a != b), None))
    check(set(endings.values()) <= {"committed", "reversed"} and len(endings) == test.messages,
          set(endings.values()))
    test.note(f"here {len(committed)} of {len(posted)} committed, there {len(said)} of {test.messages}; "
              f"{test.cable.lost} of {test.cable.sent} frames lost; {link.counts}")


@rule("4.2", "messages both ways with losses, some taken back: each once, in order, both ends agree")
def losses(test):
    link = exchange(test, 0, 0)
    check(test.messages < 500 or link.counts.get("voided") and link.counts.get("voided by the peer"),
          "nothing became VOID:", link.counts)


@rule("4.5", "the same with packs of the peer, and freezes in between")
def losses_and_freezes(test):
    exchange(test, 5, Stand.PACKS)


@rule("4.11", "the same, and both ends grant little")
def losses_and_little(test):
    test.knobs(rcvbuf=4096)
    link = exchange(test, 2, Stand.PACKS, rcvbuf=6000, read_every=0.02)
    check(test.messages < 500 or link.counts.get("blocked") and link.counts.get("READY"),
          "no end was ever blocked:", link.counts)
