# SPDX-License-Identifier: GPL-2.0
"""Storms in short: strangers at full rate beside a link at work. tests/storm/run has them at length,
and what the link keeps of its rate.

    near [bench0] ---- [bench1] far [bench2] ---- [bench3] strangers
"""

import storm as st
from fare import storm
from faults import say
from oaetest import OaeTest, wait_for
from patience import SLOW
from report import SLACK

# Frames of a storm that arrive, and transactions of the link beside it that are committed meanwhile.
FRAMES, TRANSACTIONS = 5000, 100
# Answers a second to strangers, far's stranger_pps: few beside what comes, on a slow kernel too.
STRANGERS = int(400 / max(SLOW, 1) ** 2)


class Storm(OaeTest):
    """What a storm must not do. The victim's programs are on the processor that has no storm."""

    patience = 120

    @classmethod
    def build(cls):
        cls.scene = st.Scene(accept="any", linger_ms=100)
        cls.addClassCleanup(cls.scene.close)
        cls.far = cls.scene.far

    def setUp(self):
        super().setUp()
        self.scene.forget()
        self.quiet = self.far.stat("stranger_quiet")
        self.far.knobs(max_tags=1024, rcvbuf=262144, stranger_pps=STRANGERS)

    def victim(self, **how):
        """The link at work; its books are right when it has ended."""
        victim = self.scene.victim(**how)
        self.addCleanup(victim.kill)
        return victim

    def within(self, memory, limit):
        """No more KB than that; but a kernel with KASAN keeps for long what is freed."""
        if SLOW == 1:
            self.assertLess(memory, limit + SLACK)

    def weather(self, *storms, **how):
        """The victim goes on in each of these; what far counted."""
        before = self.far.stats()
        victim = self.victim(**how)
        most = st.limit(self.far, 1) + st.limit(self.scene.near, 1) + st.queue_limit(self.scene.near)
        for weather in storms:
            watch = st.Watch()
            program = weather.begin()
            self.addCleanup(program.kill)
            frames, received = self.far.stat("rx_frames"), victim.received()
            seen = {}

            def enough(frames=frames, received=received, seen=seen):
                # Each of the victim's transactions is two frames as well.
                seen.update(transactions=victim.received() - received,
                            frames=self.far.stat("rx_frames") - frames)
                return (seen["transactions"] > TRANSACTIONS and
                        seen["frames"] > FRAMES + 2 * seen["transactions"])
            wait_for(enough, lambda seen=seen, weather=weather:
                     f"{weather.name} to arrive, and the victim to go on: {seen}", 30, 0.02)
            program.kill()
            self.within(watch.end(), most)
        self.assertEqual({tag["peer"] for tag in self.far.tags()}, {self.scene.own.mac_a})
        self.assertGreater(victim.end(), 0)
        after = self.far.stats()
        return {name: after[name] - before[name] for name in after}

    def test_strangers(self):
        """All kinds from 2^20 addresses: no tag, few answers, no memory."""
        moved = self.weather(storm(self.scene, "all kinds", "all"), storm(self.scene, "SYNC", "sync"),
                             storm(self.scene, "SYNC by trafgen", "trafgen"), min=64, max=64)
        self.assertEqual((moved["tags_made"], moved["no_memory"]), (1, 0))
        self.assertGreater(moved["stranger_quiet"], moved["stranger"])
        for name in ("bad_version", "bad_opcode", "bad_field", "bad_digest", "bad_cookie", "no_tag"):
            self.assertGreater(moved[name], 0, name)

    def test_as_the_peer(self):
        """All kinds over the link's own cable and as if its peer had sent them; and an older run."""
        path = "/tmp/older-run.pcap"
        older = self.victim(queue=1, min=16, max=3000)
        self.scene.record(path, 0.3)
        older.end()
        self.scene.forget()
        moved = self.weather(storm(self.scene, "forged", "all", "forged"),
                             storm(self.scene, "own cable", "all", "own"),
                             storm(self.scene, "replayed", "replay", "own", pcap=path),
                             queue=1, min=16, max=3000)
        for name in ("note_old_run", "note_stale_sync"):
            self.assertGreater(moved[name], 0, name)
        self.assertEqual({name: moved[name] for name in ("note_impossible", "note_broken")
                          if moved[name]}, {})

    def test_open(self):
        """Answers to strangers are rationed; a peer that is configured gets its link all the same."""
        self.far.knob("peers", self.scene.own.mac_a)
        self.addCleanup(self.far.knob, "peers", "")
        program = self.scene.storm("sync")
        self.addCleanup(program.kill)
        wait_for(lambda: self.far.stat("stranger_quiet") > self.quiet, "answers to be used up")
        victim = self.victim(min=64, max=64)
        program.kill()
        self.assertGreater(victim.end(), 0)

    def occupied(self, greedy):
        """Peers get the memory that is there for peers, and no more; what was beyond the grants."""
        tags = 16
        self.far.knobs(max_tags=tags, rcvbuf=65536, stranger_pps=100000)
        dropped = self.far.stat("note_not_granted")
        limit = st.limit(self.far)
        victim = self.victim(min=64, max=64)
        watch = st.Watch()
        said = self.scene.occupy(100, greedy)
        memory = watch.end()
        # Three quarters are for strangers, and one the victim's receiver has.
        share = 3 * tags // 4
        self.assertEqual(len(self.far.tags()), share + 1)
        self.assertGreater(self.far.stat("no_room_tag"), 0)
        self.within(memory, limit)
        # Or it was no attempt worth the name: each has filled its rcvbuf.
        self.assertEqual(said["held"], share)
        self.assertGreater(memory, share * 64)
        received = victim.received()
        wait_for(lambda: victim.received() > received + TRANSACTIONS, "the victim to go on")
        victim.end()
        say(f"    {memory} KB of {limit} KB")
        self.assertEqual(said["beyond"], 0)
        return self.far.stat("note_not_granted") - dropped

    def test_occupied(self):
        """Peers that follow the rules: nothing of what they send is more than was granted."""
        self.assertEqual(self.occupied(0), 0)

    def test_greedy(self):
        """Some send more than was granted."""
        self.assertGreater(self.occupied(16), 0)
