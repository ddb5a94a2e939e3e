# SPDX-License-Identifier: GPL-2.0
"""Holds RTNL for as long as a test wants, so that tasks queue for it in an order that the test chooses."""

import ctypes
import fcntl
import mmap
import os
import select
import struct
from contextlib import contextmanager

from oaedev import Call
from oaetest import LIBC, fail_with_errno, wait_for

SYS_USERFAULTFD = 323                                   # x86-64
API, REGISTER, ZEROPAGE = 0xc018aa3f, 0xc020aa00, 0xc020aa04
MISSING = 1
TUNGETSNDBUF = 0x800454d3                               # answered under RTNL


class Rtnl:
    """RTNL for as long as a test wants: an ioctl keeps it whose answer goes to a missing page."""

    def __init__(self, host, name="rtnl0"):
        """It is free yet: a device of this name needs it."""
        self._host, self._name = host, name
        self._page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._where = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        self._faults = LIBC.syscall(SYS_USERFAULTFD, os.O_CLOEXEC | os.O_NONBLOCK)
        if self._faults < 0:
            fail_with_errno("userfaultfd")
        self._tap = host.tap(name)
        fcntl.ioctl(self._faults, API, struct.pack("QQQ", 0xaa, 0, 0))
        fcntl.ioctl(self._faults, REGISTER,
                    struct.pack("QQQQ", self._where, mmap.PAGESIZE, MISSING, 0))
        self._call = None

    def queue(self):
        """Take it, once it is free and all have had it that queue already."""
        self._call = Call(LIBC.ioctl, self._tap, ctypes.c_ulong(TUNGETSNDBUF),
                          ctypes.c_void_p(self._where))

    def queued(self):
        """It is not free, and this one is next but for those that have queued already."""
        wait_for(self._call.queues, "the ioctl to wait for RTNL")

    def taken(self):
        """Nobody else has it now."""
        fault = select.poll()
        fault.register(self._faults, select.POLLIN)
        wait_for(lambda: fault.poll(0), "the ioctl to hold RTNL")

    def free(self):
        """Give it back."""
        fcntl.ioctl(self._faults, ZEROPAGE, struct.pack("QQQq", self._where, mmap.PAGESIZE, 0, 0))
        self._call.result()

    def close(self):
        """Its device goes."""
        os.close(self._faults)
        os.close(self._tap)
        self._host.sh(f"ip link del {self._name}")


@contextmanager
def held_rtnl(host):
    """Nobody else has RTNL in the block."""
    rtnl = Rtnl(host)
    try:
        rtnl.queue()
        rtnl.taken()
        try:
            yield
        finally:
            rtnl.free()
    finally:
        rtnl.close()
