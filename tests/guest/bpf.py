# SPDX-License-Identifier: GPL-2.0
"""Small programs of eBPF, as bytes: what a driver, or a program on a frame's way, may do to it."""

import contextlib
import ctypes
import os
import struct
from pathlib import Path

from oaetest import LIBC, fail_with_errno, run

SYS_BPF = 321                                           # x86-64
PROG_LOAD, OBJ_PIN = 5, 6
KPROBE, SCHED_CLS, XDP = 2, 3, 6
PASS, DROP = 0, 2                                       # of SCHED_CLS
XDP_PASS, XDP_ADJUST_META = 2, 54
SKB_DATA, SKB_DATA_META = 76, 140                       # in struct __sk_buff
BPFFS = Path("/sys/fs/bpf")


def insn(code, dst=0, src=0, off=0, imm=0):
    """One instruction."""
    return struct.pack("<BBhi", code, src << 4 | dst, off, imm)


def move(reg, imm):
    """reg = imm"""
    return insn(0xb7, reg, imm=imm)


EXIT = insn(0x95)


def metadata(size):
    """XDP: puts so many bytes of metadata before each frame."""
    return move(2, -size) + insn(0x85, imm=XDP_ADJUST_META) + move(0, XDP_PASS) + EXIT


def drop_with_metadata():
    """SCHED_CLS: drops frames that have any."""
    return (insn(0x61, 2, 1, SKB_DATA) + insn(0x61, 3, 1, SKB_DATA_META) + move(0, PASS) +
            insn(0x1d, 2, 3, off=1) + move(0, DROP) + EXIT)


def bpf(command, attr):
    """bpf(2)"""
    buf = ctypes.create_string_buffer(attr, 128)
    got = LIBC.syscall(SYS_BPF, command, buf, len(buf))
    if got < 0:
        fail_with_errno("bpf")
    return got


@contextlib.contextmanager
def loaded_program(kind, program):
    """Its descriptor. It stays loaded where it is attached or pinned meanwhile."""
    code, gpl = ctypes.create_string_buffer(program), ctypes.create_string_buffer(b"GPL")
    fd = bpf(PROG_LOAD, struct.pack("<IIQQ", kind, len(program) // 8, ctypes.addressof(code),
                                    ctypes.addressof(gpl)))
    try:
        yield fd
    finally:
        os.close(fd)


def pinned(name, kind, program):
    """Load a program; its path, for ip and tc. It goes with whoever unlinks that."""
    if not os.path.ismount(BPFFS):
        run("mount", "-t", "bpf", "bpf", str(BPFFS))
    path = BPFFS / name
    where = ctypes.create_string_buffer(os.fsencode(path))
    with loaded_program(kind, program) as fd:
        bpf(OBJ_PIN, struct.pack("<QI", ctypes.addressof(where), fd))
    return path
