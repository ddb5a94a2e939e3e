# SPDX-License-Identifier: GPL-2.0
"""What is told of storms: the victim's rate in them, and the memory that they take."""

import storm as st
from fare import Fare, quiet, storm, unheard

LEAST = 0.5             # of its rate without a storm, an established link keeps this
SLACK = 2048            # KB that the kernel's memory differs by, whatever happens

ABOUT = """\
A link at work from near to far, and strangers that send to far as fast as a processor can. The link's
programs are on one processor; the storm is sent, and what comes of it received, on the other one.
Medians of {turns} turns of {seconds:g} s. `kept`: the rate against that of the same turn without a storm,
while that other processor is as busy with a program that sends nothing. `storm`: frames of it a second
that arrived at the module. `memory`: the kernel's, the high-water mark above before, with what the
link at work itself has under way.
"""
VICTIMS = (
    ("64 bytes, each written until committed", {"min": 64, "max": 64}),
    ("1400 bytes, queued as many as it takes", {"queue": 1, "min": 1400, "max": 1400}),
)
# name, kind, where
STORMS = (
    ("all kinds, another port", "all", "other"),
    ("all kinds, the link's own cable", "all", "own"),
    ("all kinds, as if from the peer", "all", "forged"),
    ("SYNC from 2^20 addresses", "sync", "other"),
    ("SYNC by trafgen", "trafgen", "other"),
)
EACH = [(f"{kind}, {text}", kind, where) for kind in
        ("guess", "sync-ack", "sync-chk", "close", "close-ack", "offer", "swap", "verb", "reflect",
         "commit", "refuse", "ready", "done", "hello", "nolink", "path", "extremes", "garbage")
        for text, where in (("strangers", "other"), ("as the peer", "forged"))]
REPLAY = ("an older run of the link, replayed", "replay", "own")


def row(name, *cells):
    """A line of a table."""
    print(f"  {name:40}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, (10, 7, 11, 11))),
          flush=True)


class Storms:
    """The measurement of some storms, and what must hold in all of them."""

    def __init__(self, scene, turns, seconds):
        self.scene, self.turns, self.seconds = scene, turns, seconds
        self.failed = []
        self.committed = 0

    def measure(self, title, how, storms, pcap=None):
        """One table."""
        scene = self.scene
        pcap = pcap or self.older_run(how)
        victim = scene.victim(**how)
        fare = Fare(scene, victim)
        calm, idle = quiet(scene), unheard(scene)
        more = [storm(scene, name, kind, where, **({"pcap": pcap} if kind == "replay" else {}))
                for name, kind, where in storms]
        try:
            fare.turns([calm, idle, *more], self.turns, self.seconds)
            self.committed += victim.end()
        finally:
            victim.kill()
        print(title)
        row("", "per s", "kept", "storm /s", "memory KB")
        for weather in (calm, idle, *more):
            kept = fare.ratio(weather.name, calm.name)
            row(weather.name, f"{fare.rate(weather.name):.0f}", f"{kept:.2f}",
                "-" if weather is calm else f"{fare.storm_rate(weather.name):.0f}",
                fare.memory[weather.name])
            if weather in more:
                self.judge(weather.name, kept, fare.memory[weather.name])
        self.only_the_victim()
        print(flush=True)
        return fare

    def judge(self, name, kept, memory):
        """What fails is said at the end."""
        if kept < LEAST:
            self.failed.append(f"{name}: the link kept {kept:.2f} of its rate")
        if memory > self.allowed():
            self.failed.append(f"{name}: {memory} KB of memory")

    def allowed(self):
        """KB that the link at work may have under way at far, and near: strangers get none."""
        far, near = self.scene.far, self.scene.near
        return (st.limit(far, tags=1) + st.limit(near, tags=1) + st.queue_limit(near)) + SLACK

    def only_the_victim(self):
        """No stranger has a tag."""
        peers = {tag["peer"] for tag in self.scene.far.tags()}
        if peers - {self.scene.own.mac_a}:
            self.failed.append(f"{len(peers) - 1} strangers have a tag")

    def older_run(self, how):
        """A run of the link that is over and its tags gone: what went to far, as a file."""
        path = "/tmp/older-run.pcap"
        victim = self.scene.victim(**how)
        try:
            self.scene.record(path)
            self.committed += victim.end()
        finally:
            victim.kill()
        self.scene.forget()
        return path

    def steered(self, how):
        """The same where both are handled by one processor: to be known, not to be judged."""
        victim = self.scene.victim(**how)
        fare = Fare(self.scene, victim)
        weathers = [quiet(self.scene), unheard(self.scene, True),
                    storm(self.scene, "all kinds, another port", "all", steered=True)]
        try:
            fare.turns(weathers, self.turns, self.seconds)
            self.committed += victim.end()
        finally:
            victim.kill()
        print("The same, but all frames are received on the processor of the link's programs")
        row("", "per s", "kept", "storm /s")
        for weather in weathers:
            row(weather.name, f"{fare.rate(weather.name):.0f}",
                f"{fare.ratio(weather.name, weathers[0].name):.2f}",
                f"{fare.storm_rate(weather.name):.0f}" if weather is not weathers[0] else "-")
        print(flush=True)

    def occupied(self, max_tags=384, rcvbuf=65536, peers=272, greedy=16):
        """Peers that get all the memory there is for peers, and some that send more than is granted.

        Three quarters of max_tags are for strangers: there is a link for each.
        """
        scene = self.scene
        scene.forget()
        scene.far.knobs(max_tags=max_tags, rcvbuf=rcvbuf, stranger_pps=100000)
        limit = st.limit(scene.far)
        victim = scene.victim(min=64, max=64)
        try:
            watch = st.Watch()
            said = scene.occupy(peers, greedy)
            tags = len(scene.far.tags())
            memory = watch.end()
            dropped = scene.far.stat("note_not_granted")
            self.committed += victim.end()
        finally:
            victim.kill()
        print(f"{peers - greedy} peers that follow the rules, and {greedy} greedy ones, fill the memory there "
              f"is for peers: max_tags={max_tags} rcvbuf={rcvbuf}")
        print(f"  links {tags} of {max_tags} at most; {said['held']:.0f} peers have all they can get; "
              f"{dropped} frames were more than was granted")
        print(f"  memory: high-water mark {memory} KB, limit {limit} KB "
              f"(doc/guarantees.md, G6)\n", flush=True)
        if tags != peers + 1 or said["held"] != peers or memory > limit + SLACK:
            self.failed.append(f"occupied: {tags} links, {memory} KB of {limit} KB")
        if not dropped or said["beyond"]:
            self.failed.append(f"occupied: {dropped} frames dropped, {said['beyond']:.0f} numbers taken beyond")

    def end(self):
        """What is to be said at the end; True: all was well."""
        print(f"{self.committed} transactions of the link committed, each delivered once, in order and "
              "whole; nothing else was delivered")
        for line in self.failed:
            print("FAILED:", line)
        return not self.failed
