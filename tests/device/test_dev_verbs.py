# SPDX-License-Identifier: GPL-2.0
"""Many verbs under way, on one link and on several, to the same words: each exactly once."""

import errno
import random

import oaedev as dev
from oaedev import OaeFile
from shared import Shared
from topology import OneCable

ALL = dev.PERM_READ | dev.PERM_WRITE | dev.PERM_ATOMIC
WINDOW = 16
LOSS = "delay 50us 50us loss 5% duplicate 2% reorder 20% 25%"


class Verbs(Shared, OneCable):
    """Words of b, and files of a."""

    vc = 0

    def setUp(self):
        super().setUp()
        for host in (self.a, self.b):
            host.knobs(window=WINDOW, sndq=1024, stall_min_us=2000)
        self.addCleanup(self.cable.netem, None)
        self.cable.netem("limit 1000")
        words = OaeFile(self.b)
        self.addCleanup(words.close)
        words.listen(self.cable.mac_a, any_vc=True)
        Verbs.vc += 8       # other links, and another region, for each test
        words.expose(64, self.vc, ALL)
        self.words = words

    def files(self, count):
        """So many links."""
        files = []
        for n in range(count):
            files.append(OaeFile.to(self.a, self.cable.mac_b, vc=self.vc + n, queue=1000))
            self.addCleanup(files[-1].close)
        return files

    def add(self, file, *ops):
        """Queue one; its number."""
        return file.verb(self.vc, *ops, flags=dev.NONBLOCK)

    def word(self, offset):
        """What a word is in the end: when the last commit is known here, and it is not reserved."""
        return self.words.settled(dev.read_op(offset)).old[0][0]


class ManyVerbs(Verbs):
    """Verbs that add to the words."""

    def test_row(self):
        """On one link: each sees what those before it have done, and they come in order."""
        file, = self.files(1)
        ids = [self.add(file, dev.add_op(0, n), dev.add_op(8 * (1 + n % 3), 1)) for n in range(500)]
        got = file.collect_all(500)
        self.assertEqual([c.id for c in got], ids)
        self.assertEqual([dev.verb_result(c.data)[2] for c in got],
                         [[n * (n - 1) // 2, n // 3] for n in range(500)])
        self.assertEqual(self.word(0), 500 * 499 // 2)

    def test_conflict(self):
        """Several links add to one word and to one of their own, while frames are lost."""
        files = self.files(3)
        joined = self.a.stat("joined")
        self.cable.netem(LOSS)
        for n in range(3 * 150):
            self.add(files[n % 3], dev.add_op(0, 1), dev.add_op(8 * (1 + n % 3), 1))
        common = []
        for file in files:
            got = file.collect_all(150, 30)
            self.assertEqual({c.result for c in got}, {dev.COMMITTED})
            old = [dev.verb_result(c.data)[2] for c in got]
            self.assertEqual([own for _, own in old], list(range(150)))
            self.assertEqual([one for one, _ in old], sorted(one for one, _ in old))
            common += [one for one, _ in old]
        self.assertEqual(sorted(common), list(range(450)))
        self.assertEqual([self.word(8 * n) for n in range(4)], [450, 150, 150, 150])
        self.assertGreater(self.a.stat("joined"), joined)

    def test_cancel(self):
        """Some are taken back meanwhile: the others add up, as if those had never been."""
        file, = self.files(1)
        dice = random.Random(1)
        joined = self.a.stat("joined")
        self.cable.netem(LOSS)
        left = []
        for _ in range(400):
            left.append(self.add(file, dev.add_op(0, 1)))
            if dice.randrange(4):
                continue
            try:
                file.cancel(dice.choice(left[-WINDOW:]))
            except OSError as e:
                self.assertEqual(e.errno, errno.ENOENT)
        got = file.collect_all(400, 30)
        old = [dev.verb_result(c.data)[2] for c in got if c.result == dev.COMMITTED]
        self.assertLess(len(old), 400)
        self.assertEqual(old, [[n] for n in range(len(old))])
        self.assertEqual({c.err for c in got if c.result != dev.COMMITTED}, {errno.ECANCELED})
        self.assertEqual(self.word(0), len(old))
        self.assertGreater(self.a.stat("joined"), joined)


class LongVerbs(Verbs):
    """Frames that hold verbs of many operations."""

    mtu = 9000

    def test_room(self):
        """What held a long verb is given back: afterwards messages have as much room as before."""
        for host in (self.a, self.b):
            host.knob("pack", 0)
        file, = self.files(1)
        for _ in range(4):
            file.verb(self.vc, *[dev.write_op(0, *range(8))] * 64)
        refused = self.b.stat("note_refused")
        file.nonblock()
        for _ in range(12):
            file.write(b"x")
        self.assertEqual({c.result for c in file.collect_all(12)}, {dev.COMMITTED})
        self.assertEqual(self.b.stat("note_refused"), refused)
