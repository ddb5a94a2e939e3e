# SPDX-License-Identifier: GPL-2.0
"""Peers that know the protocol and mean no good, against the live module: tests/fuzz/wirefuzz.c.

TIME=SECONDS; SEED=NUMBER for the same sort of trouble again; PCAP=FILE keeps the last frames.
"""

import os
import signal
from collections import Counter

import oaedev
from devpump import DevPump
from faults import say
from oaepeer import Peer, Wire
from oaetest import Cable, OaeTest, forget_links, wait_for
from patience import SLOW
from udp import UdpWire, address_of, port_mac
from wirefuzz import TIME, Fuzzer, Programs, seed

# At least one turn of TIME, if that is given; else short ones until it has got far.
TURN, TURNS = (TIME, 4) if os.environ.get("TIME") else (TIME / 4, 16)
# What must have come about, or it did not get far.
DEEP = ("opened", "offered", "reflected", "committed", "swapped", "verbs", "taken")


class WireFuzz(OaeTest):
    """
        host b vb --------- va host a vz --------- vp wirefuzz: 16 peers
        a link at work         programs that talk to half of them
    """

    one_cpu = False
    patience = int(TURNS * TURN + 150)
    seconds = TURN
    port = "vz"
    fuzzer = {"dev": "vp"}
    # A slow kernel's peers take longer to answer, too: or nothing comes of any offer.
    knobs = {"stranger_pps": 100000, "max_tags": 64} | {
        name: int(value * max(SLOW, 1)) for name, value in (
            ("stall_min_us", 1000), ("stall_max_us", 20000), ("keepalive_ms", 50),
            ("dead_ms", 300), ("linger_ms", 100))}

    @classmethod
    def build(cls):
        oaedev.node()
        cls.a, cls.b, cls.p = cls.host("a"), cls.host("b"), cls.host("p")
        cls.work = Cable(cls.a, "va", cls.b, "vb")
        cls.fuzzed = Cable(cls.a, "vz", cls.p, "vp")
        for host in cls.a, cls.b:
            host.knobs(**cls.knobs)
        cls.bind()

    @classmethod
    def bind(cls):
        """The ports, and to whom the fuzzer speaks."""
        cls.a.knob("dev", "va,vz")
        cls.b.knob("dev", "vb")
        cls.to = cls.fuzzed.mac_a

    def wire(self):
        """One for a peer that keeps to the rules."""
        return Wire(self.p, "vp")

    def start_work(self):
        """A link between a and b, with a program at each end that keeps books."""
        self.receiver = DevPump(self.b, "recv", self.work.mac_a, port="vb").wait_ready()
        self.sender = DevPump(self.a, "send", self.work.mac_b, port="va", count=1 << 30, queue=1,
                              min=16, max=5000).wait_ready()
        for pump in (self.sender, self.receiver):
            self.addCleanup(pump.kill)
        wait_for(lambda: self.b.stat("delivered") > 10, "the link beside to be at work")

    def end_work(self):
        """All that was committed was delivered, once, in order, unaltered; nothing else was."""
        self.sender.signal(signal.SIGTERM)
        sent = self.sender.result(30)
        self.assertEqual(set(sent), {ord("C")}, "nothing of it was in the fuzzer's way")
        wait_for(lambda: not any(tag["unread"] for tag in self.b.tags()), "all to be read", 20)
        self.receiver.signal(signal.SIGTERM)
        got = self.receiver.result(30)
        want = b"".join(b"\1\0\0\0" + n.to_bytes(4, "little") for n in range(len(sent)))
        self.assertTrue(got == want, f"{len(got) // 8} delivered of {len(sent)} committed")
        return len(sent)

    def settle(self):
        """Each transaction has ended in one way; each tag that was made is gone."""
        forget_links(self.a, self.b)
        for host in (self.a, self.b):
            stats = host.stats()
            self.assertEqual(stats["tags_made"], stats["tags_gone"])
            self.assertEqual(stats["posted"],
                             stats["committed"] + stats["reversed"] + stats["unknown"])
            self.assertEqual(stats["no_memory"], 0)
            host.knob("shutdown", 0)

    def a_link_works(self):
        """A peer that keeps to the rules, by the same way."""
        wire = self.wire()
        self.addCleanup(wire.close)
        # What claimed to be a gateway is to be forgotten, or it would be heard first.
        # This peer offers once and commits once: what stalls meanwhile would stay undecided.
        self.a.knobs(use_gw=0, stall_max_us=10000000, stall_min_us=1000000, dead_ms=20000,
                     keepalive_ms=1000)
        peer = Peer(wire, self.to, vc=77)
        peer.open()
        peer.offered(b"all is well")
        peer.commit()
        self.assertEqual(self.a.read_one(), b"all is well")
        self.a.knobs(use_gw="auto", **self.knobs)

    def fuzz(self, number):
        """Once; what came of it."""
        how = {"pcap": os.environ["PCAP"]} if "PCAP" in os.environ else {}
        fuzzer = Fuzzer(self.p, "wirefuzz", to=self.to, seed=number, seconds=self.seconds,
                        **self.fuzzer, **how)
        self.addCleanup(fuzzer.kill)
        tally, said = fuzzer.result(self.seconds + 30)
        say(f"    {said}")
        return tally

    def test_link(self):
        """The link beside works on; afterwards all is as if nothing had been."""
        number = seed()
        say(f"    SEED={number} TIME={self.seconds:g}")
        self.start_work()
        programs = Programs(self.a, self.port, [(f"02:0f:00:00:00:{n:02x}", vc) for n in range(4)
                                     for vc in range(2)], number)
        self.addCleanup(programs.end)
        tally = Counter()
        for turn in range(TURNS):       # on a busy machine it may not get far in one
            tally.update(self.fuzz(number + turn))
            if all(tally[name] for name in DEEP):
                break
        programs.end()
        committed = self.end_work()
        self.settle()
        self.a_link_works()
        say(f"    programs: {programs.done}; beside it {committed} committed, all delivered")
        self.assertEqual([name for name in DEEP if not tally[name]], [],
                         "the fuzzer never got so far")


class RouteFuzz(WireFuzz):
    """
        host b vb --------- va host a vz 10.9.0.1 --------- 10.9.0.2 vp wirefuzz: 16 peers
        a link at work         a UDP port; programs that talk to half of them
    """

    seconds = TIME / 4
    port = "oaeudp0"
    fuzzer = {"own": "10.9.0.2", "at": "10.9.0.1"}

    @classmethod
    def bind(cls):
        address_of(cls.a, "vz", "10.9.0.1")
        address_of(cls.p, "vp", "10.9.0.2")
        cls.a.knobs(dev="va,udp:10.9.0.1", discover=1)
        cls.b.knob("dev", "vb")
        cls.to = port_mac("10.9.0.1")

    def wire(self):
        return UdpWire(self.p, "10.9.0.2", "10.9.0.1")

    def test_link(self):
        """The same, of strangers with a route: and none of them is a gateway, or a neighbour."""
        super().test_link()
        self.assertGreater(self.a.stat("udp_via"), 0)
        self.assertEqual(self.a.stat("hello_heard"), 0)
        self.assertEqual([row for row in self.a.neighbours() if row["port"] == "oaeudp0"], [])
