# SPDX-License-Identifier: GPL-2.0
"""A peer of atomic links in Python, written from doc/protocol.md alone; tools/conform runs it.

    xxh64.py    the hash of the digests
    frame.py    what frames look like: section 2
    path.py     PATH, VIA and HELLO, and an address behind a gateway; siphash.py: the hash of proofs
    cable.py    a line to the peer, with losses of its own: an AF_PACKET socket; udp.py: to a UDP port
    run.py      one end as far as every frame needs it: ltags, counters, numbers of frames
    script.py   an end that does only what a test tells it
    peer.py     an end that keeps all rules: both roles, loss, freezing, closing
    content.py  what messages of the long test hold
    agent.py    runs beside the other end, and has programs there do things; far.py talks to it
    drops.py    frames that only move a counter
    tap.py      tests, and the lines that tell of them
    rules_*.py  the tests, each named after the section of the rule; in rules_lies.py the peer lies
"""
