# SPDX-License-Identifier: GPL-2.0
"""Messages, packs, verbs, expresses and halves of two files on one link, taken back at random."""

import errno
import random
import select

import oaedev as dev
from devtest import TwoEnds
from oaetest import wait_for
from patience import times

KINDS = ("message",) * 6 + ("verb",) * 4 + ("express", "half")
# What may have reversed it: who took it back.
BACK = (0, errno.ECANCELED, errno.ETIME)


class TakenBack(TwoEnds):
    __doc__ = TwoEnds.__doc__
    STEPS = times(400)

    def setUp(self):
        super().setUp()
        # Of the fewest bytes of room, so that the reader is too slow for what is sent.
        for host in self.a, self.b:
            host.knobs(rcvbuf=8192, keepalive_ms=200)

    def tearDown(self):
        for host in self.a, self.b:
            host.knobs(window=16, drop_pct=0)
        super().tearDown()

    def begin(self, window, seed):
        """Two writers at a, and a reader at b that exposes a word."""
        self.vc = self.region = next(self.vcs)
        for host in self.a, self.b:
            host.knob("window", window)
        self.dice = random.Random(seed)
        self.writers = [self.at_a(nonblock=True, queue=100) for _ in range(2)]
        self.reader = self.at_b(nonblock=True)
        self.reader.expose(4096, self.region, dev.PERM_READ | dev.PERM_WRITE | dev.PERM_ATOMIC)
        self.sent = [{}, {}]            # id: (kind, data)
        self.ended = [{}, {}]           # id: its outcome
        self.got = []

    def post(self, which):
        """One transaction. False: there is no room for it."""
        file, kind = self.writers[which], self.dice.choice(KINDS)
        number = file.status().next_id
        data = b"%d %d " % (which, number)
        data += bytes(self.dice.choice((0, 0, 10, 300, 3000)))
        deadline = self.dice.choice((0, 0, 0, 20))
        file.set_options(flags=dev.OPT_EXPRESS if kind == "express" else 0, deadline_ms=deadline)
        try:
            if kind == "verb":
                file.verb(self.region, dev.add_op(0, 1), flags=dev.NONBLOCK)
            elif kind == "half":
                file.swap(b"half", flags=dev.NONBLOCK)
            else:
                file.write(data)
        except BlockingIOError:
            return False
        self.sent[which][number] = kind, data
        return True

    def cancel(self, which):
        """One of those that are under way."""
        under_way = list(self.sent[which].keys() - self.ended[which].keys())
        if not under_way:
            return
        try:
            oldest = sorted(under_way)[:self.dice.choice((3, 100))]
            self.writers[which].cancel(self.dice.choice(oldest))
        except OSError as e:
            self.assertIn(e.errno, (errno.ENOENT, errno.EINPROGRESS))

    def collect(self):
        """What has ended."""
        for file, ended in zip(self.writers, self.ended):
            for o in file.collect():
                self.assertNotIn(o.id, ended)
                ended[o.id] = o

    def read(self):
        """The next message."""
        if self.reader.poll(events=select.POLLIN):
            self.got.append(self.reader.read())

    def step(self):
        """Something of it all."""
        which = self.dice.randrange(2)
        if not self.post(which):
            self.read()
            self.collect()
        if self.dice.random() < 0.2:
            self.cancel(which)
        if self.dice.random() < 0.1:
            for _ in range(self.dice.randrange(8)):
                self.read()
        if self.dice.random() < 0.05:
            self.collect()

    def finish(self):
        """All has ended, of halves since they are taken back."""
        def over():
            self.read()
            self.collect()
            for file, sent, ended in zip(self.writers, self.sent, self.ended):
                for id_ in sent.keys() - ended.keys():
                    if sent[id_][0] == "half":
                        try:
                            file.cancel(id_)
                        except OSError as e:
                            self.assertIn(e.errno, (errno.ENOENT, errno.EINPROGRESS))
            return all(sent.keys() == ended.keys() for sent, ended in zip(self.sent, self.ended))
        wait_for(over, "all to end", 60)
        self.writers[0].fsync()
        while self.reader.poll(events=select.POLLIN):
            self.read()

    def committed(self, which, *kinds):
        """The numbers of those that are, in order."""
        return [id_ for id_, (kind, _) in sorted(self.sent[which].items())
                if kind in kinds and self.ended[which][id_].result == dev.COMMITTED]

    def check(self):
        """Each has the outcome that fits what is to be seen at the peer."""
        for ended in self.ended:
            for o in ended.values():
                self.assertIn(o.err, BACK)
                self.assertEqual(o.result, dev.REVERSED if o.err else dev.COMMITTED)
        olds = []
        for which, sent in enumerate(self.sent):
            mine = b"%d " % which
            taken = self.committed(which, "message", "express")
            got = [m for m in self.got if m.startswith(mine)]
            self.assertEqual([int(m.split()[1]) for m in got], taken)
            self.assertEqual(got, [sent[id_][1] for id_ in taken])
            words = [dev.verb_result(self.ended[which][id_].data)
                     for id_ in self.committed(which, "verb")]
            self.assertTrue(all(word[0] == 1 for word in words))
            words = [word[2][0] for word in words]
            self.assertEqual(words, sorted(words))
            olds += words
        self.assertEqual(sorted(olds), list(range(len(olds))))
        self.assertEqual(self.reader.settled(dev.read_op(0)).old, [[len(olds)]])
        wait_for(lambda: not self.writers[0].status().queued, "nothing to be queued", 5)
        status = self.writers[0].status()
        self.assertEqual(status.unknown, 0)
        self.assertEqual(status.committed + status.reversed, sum(map(len, self.sent)))

    def mixed(self, window, seed):
        """All of it."""
        self.begin(window, seed)
        for _ in range(self.STEPS):
            self.step()
        self.finish()
        self.check()
        for file in (*self.writers, self.reader):
            file.close()

    def test_window_of_one(self):
        """What comes back waits for VOID each time."""
        for seed in range(times(3)):
            with self.subTest(seed=seed):
                self.mixed(1, seed)

    def test_window(self):
        """With others under way above it."""
        for window in 2, 16:
            with self.subTest(window=window):
                self.mixed(window, window)

    def test_losses(self):
        """Frames are lost, so that links freeze, too."""
        for window in 1, 16:
            for host in self.a, self.b:
                host.knob("drop_pct", 5)
            with self.subTest(window=window):
                self.mixed(window, window + 100)
