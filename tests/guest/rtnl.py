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


@contextmanager
def held_rtnl(host):
    """Nobody else has RTNL in the block: an ioctl keeps it whose answer goes to a missing page."""
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    where = ctypes.addressof(ctypes.c_char.from_buffer(page))
    faults = LIBC.syscall(SYS_USERFAULTFD, os.O_CLOEXEC | os.O_NONBLOCK)
    if faults < 0:
        fail_with_errno("userfaultfd")
    tap = host.tap("rtnl0")
    try:
        fcntl.ioctl(faults, API, struct.pack("QQQ", 0xaa, 0, 0))
        fcntl.ioctl(faults, REGISTER, struct.pack("QQQQ", where, mmap.PAGESIZE, MISSING, 0))
        call = Call(LIBC.ioctl, tap, ctypes.c_ulong(TUNGETSNDBUF), ctypes.c_void_p(where))
        fault = select.poll()
        fault.register(faults, select.POLLIN)
        wait_for(lambda: fault.poll(0), "the ioctl to hold RTNL")
        try:
            yield
        finally:
            fcntl.ioctl(faults, ZEROPAGE, struct.pack("QQQq", where, mmap.PAGESIZE, 0, 0))
            call.result()
    finally:
        os.close(faults)
        os.close(tap)
        host.sh("ip link del rtnl0")
