# SPDX-License-Identifier: GPL-2.0
"""noc_debug in /proc, which is the same as the one in debugfs."""

import errno
import os
import select

from oaetest import NOC_DEBUG, unload, wait_for
from test_writes import without_caps
from topology import OneCable

NOC_PROC = "/proc/thread-self/net/modoae/noc_debug"


class NocDebug(OneCable):
    __doc__ = OneCable.__doc__
    targets = True

    def open(self, host, flags=os.O_RDWR):
        """The file in /proc."""
        with host:
            fd = os.open(NOC_PROC, flags)
        self.addCleanup(os.close, fd)
        return fd

    def test_same(self):
        """It is the same as the one in debugfs, and each namespace has its own."""
        at_a, at_b = self.open(self.a), self.open(self.b)
        self.assertEqual(os.write(at_a, b"by proc"), 7)
        self.assertEqual(self.b.read_one(), b"by proc")
        self.assertEqual(self.b.write(b"by debugfs" * 1000), 10000)
        self.assertTrue(wait_for(lambda: self.poll(at_a) & select.POLLIN, "something to read"))
        self.assertEqual(os.read(at_a, 5), b"by de")
        self.assertEqual(os.read(at_a, 65536), (b"by debugfs" * 1000)[5:])
        self.assertEqual((os.read(at_a, 1), os.read(at_b, 1)), (b"", b""))
        self.assertEqual(self.poll(at_a), select.POLLOUT)
        self.assert_errno(errno.EMSGSIZE, os.write, at_a, bytes(70000))

    def test_nonblock(self):
        """O_NONBLOCK queues, as there."""
        fd = self.open(self.a, os.O_WRONLY | os.O_NONBLOCK)
        self.assertEqual(os.write(fd, b"queued"), 6)
        self.assertEqual(self.b.read_one(), b"queued")

    def test_not_allowed(self):
        """It takes CAP_NET_ADMIN."""
        self.assertEqual(without_caps(self.a, NOC_PROC), errno.EPERM)
        self.assertEqual(without_caps(self.a, NOC_DEBUG), errno.EPERM)

    def test_holds_the_module(self):
        """An open file holds it."""
        with self.a:
            fd = os.open(NOC_PROC, os.O_RDONLY)
        try:
            self.assert_errno(errno.EAGAIN, unload)
        finally:
            os.close(fd)
