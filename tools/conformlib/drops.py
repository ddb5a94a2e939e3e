# SPDX-License-Identifier: GPL-2.0
"""Frames that are dropped: one counter says so, and nothing else changes."""

from .frame import Op, seal
from .tap import check

# What a link shows that no time changes.
STEADY = "state", "offer", "hold", "rx", "tx", "unread", "queue", "lanes", "failures"


def look(test, vc):
    """Counters of the peer, and its link on this vc."""
    tag = test.far.tag(vc=vc)
    return test.far.stats(), {name: tag.get(name) for name in STEADY}


def moved(test, link, raws, where):
    """Counters that these frames have moved, by how much; what they changed of the link, or were answered
    with, in words."""
    link.probe()
    before, tag = look(test, link.vc)
    for raw in raws:
        link.cable.send_raw(raw, **where)
    link.probe()
    answers = [f"was answered: {frame}" for frame in link.seen]
    after, tag_after = look(test, link.vc)
    counters = {name: after[name] - before.get(name, 0) for name in after}
    return {name: change for name, change in counters.items()
            if change and name.startswith(("bad_", "old_", "not_mine", "dup_", "stale_", "impossible",
                                           "frozen", "no_tag", "mismatch", "stray_", "idle_", "id_",
                                           "udp_", "broken"))}, \
        answers + ([f"the link was {tag} and is {tag_after}"] if tag != tag_after else [])


def dropped(test, link, counter, *raws, **where):
    """Each of these frames moves that counter, and nothing else; sent one by one only to say which does not."""
    if moved(test, link, raws, where) == ({counter: len(raws)}, []):
        return
    for raw in raws:
        change, others = moved(test, link, [raw], where)
        check(change == {counter: 1} and not others,
              f"{raw[:48].hex()} moved {change or 'no counter'}, not {counter}", *others)
    check(False, "not each of these frames moved", counter)


def header(link, op=Op.COMMIT, **fields):
    """A frame's bytes; a number of its own is not used up."""
    asked = link.asked
    raw = link.frame(op, **fields).pack()
    link.asked = asked
    return raw


def put(raw, at, byte):
    """The frame with another byte in its header, and the digest that fits."""
    return seal(raw[:at] + bytes([byte]) + raw[at + 1:])
