# SPDX-License-Identifier: GPL-2.0
"""Rings of /dev/oae, word by word: see Rings in include/uapi/oae.h. For tests of the kernel."""

import errno
import mmap
import struct
from collections import namedtuple

from oaedev import ioc, record

Setup = record("Setup", "4I4Q", "tx_size rx_size flags link program kernel tx rx")
Add = record("Add", "iI", "fd link")
Bell = record("Bell", "Ii3Q", "flags timeout_ms filled taken ended")
RING, RING_ADD, RING_BELL = ioc(3, 13, Setup.size), ioc(3, 14, Add.size), ioc(1, 15, Bell.size)
FILLED, TAKEN, ENDED_AT = 1, 2, 4
EXPRESS, FORWARD, ENDED = 1, 2, 0x80
HEAD = struct.Struct("=IIIBBH")
Chunk = namedtuple("Chunk", "len link number flags result err")

# Offsets of the words in the program's page and in the kernel's, and their sizes.
PUBLISHED, WANTS_ROOM, PASSED, WANTS_DATA = (0, "Q"), (8, "I"), (64, "Q"), (72, "I")
TAKEN_TO, ENDED_TO, KERNEL_WANTS_DATA, ERROR = (0, "Q"), (8, "Q"), (16, "I"), (20, "I")
FILLED_TO, KERNEL_WANTS_ROOM = (64, "Q"), (72, "I")


def size_of(length):
    """The bytes that a chunk takes whose body has @length bytes."""
    return HEAD.size + (length + 7) // 8 * 8


class RawRing:
    """The rings of a file: what the program sees of them, without a library."""

    def __init__(self, file, tx=65536, rx=262144):
        """@file is an OaeFile; the sizes are in bytes."""
        self.file = file
        answer = Setup.read(file.ioctl(RING, Setup(tx, rx, 0, 0, 0, 0, 0, 0).bytes()))
        self.setup, self.link = answer, answer.link
        both = mmap.PROT_READ | mmap.PROT_WRITE
        self.program = self.map(4096, answer.program, both)
        self.kernel = self.map(4096, answer.kernel, mmap.PROT_READ)
        self.tx = self.map(2 * tx, answer.tx, both)
        self.rx = self.map(2 * rx, answer.rx, mmap.PROT_READ)
        self.published = self.ended = self.passed = 0

    def map(self, size, offset, prot, flags=mmap.MAP_SHARED):
        """A mapping of some of it."""
        return mmap.mmap(self.file.fd, size, flags, prot, offset=offset)

    def close(self):
        """Unmap them, and close the file."""
        for part in self.program, self.kernel, self.tx, self.rx:
            part.close()
        self.file.close()

    @staticmethod
    def _get(page, word):
        return struct.unpack_from("=" + word[1], page, word[0])[0]

    def word(self, word):
        """A word of the kernel."""
        return self._get(self.kernel, word)

    def set(self, word, value):
        """Write a word of the program."""
        # Not pack_into(), which clears the bytes first: the kernel would see a 0.
        data = struct.pack("=" + word[1], value)
        self.program[word[0]:word[0] + len(data)] = data

    def add(self, file):
        """Put the link of another file on; returns its handle."""
        return Add.read(self.file.ioctl(RING_ADD, Add(file.fd, 0).bytes())).link

    def bell(self, flags=0, timeout_ms=10000, filled=0, taken=0, ended=0):
        """OAE_RING_BELL."""
        self.file.ioctl(RING_BELL, Bell(flags, timeout_ms, filled, taken, ended).bytes())

    def put(self, data, link=None, flags=0, length=None):
        """Write a chunk behind the last one, unpublished; returns its position."""
        at = self.published % self.setup.tx_size
        length = len(data) if length is None else length
        link = self.link if link is None else link
        self.tx[at:at + HEAD.size] = HEAD.pack(length, link, 0, flags, 0, 0)
        self.tx[at + HEAD.size:at + HEAD.size + len(data)] = data
        position = self.published
        self.published += size_of(len(data))
        return position

    def forward(self, position, length, link):
        """Write a chunk whose bytes are at a position of rx."""
        return self.put(struct.pack("=Q", position), link, FORWARD, length)

    def publish(self, bell=True):
        """Publish what was put; ring the bell if the kernel waits for it, or @bell is not None."""
        self.set(PUBLISHED, self.published)
        if bell or self.word(KERNEL_WANTS_DATA):
            self.bell()

    def send(self, *messages, link=None, flags=0):
        """Put, publish, and wait until all have ended. Returns errors, 0 for none."""
        at = [self.put(data, link, flags) for data in messages]
        self.publish()
        self.wait_ended()
        return [self.outcome(position)[1] for position in at]

    def wait_ended(self, position=None):
        """Wait until all that is published has ended."""
        position = self.published if position is None else position
        self.bell(ENDED_AT, ended=position)
        if self.word(ENDED_TO) < position:
            raise TimeoutError(errno.ETIME, f"ended {self.word(ENDED_TO)} of {position}")

    def head(self, ring, position):
        """The header of a chunk."""
        size = len(ring) // 2
        return Chunk(*HEAD.unpack_from(ring, position % size))

    def outcome(self, position):
        """(result or None, error) of a chunk of tx."""
        chunk = self.head(self.tx, position)
        return (chunk.result & ~ENDED if chunk.result & ENDED else None), chunk.err

    def next(self, timeout_ms=10000):
        """The next chunk that is not passed, and its bytes; it is not passed yet."""
        self.bell(FILLED, timeout_ms, filled=self.passed)
        if self.word(FILLED_TO) == self.passed:
            raise TimeoutError(errno.ETIME, "nothing came")
        chunk = self.head(self.rx, self.passed)
        at = self.passed % self.setup.rx_size + HEAD.size
        position = self.passed
        self.passed += size_of(chunk.len)
        return chunk, bytes(self.rx[at:at + chunk.len]), position

    def pass_all(self, bell=True):
        """Pass all that next() gave."""
        self.set(PASSED, self.passed)
        if bell or self.word(KERNEL_WANTS_ROOM):
            self.bell()

    def recv(self, count=1, timeout_ms=10000):
        """The bytes of the next chunks, which are passed."""
        got = [self.next(timeout_ms)[1] for _ in range(count)]
        self.pass_all()
        return got
