# SPDX-License-Identifier: GPL-2.0
"""A processor that stands still each time a module has unlocked something: others see what they may see then."""

import contextlib
import ctypes
import fcntl
import os
import struct
import unittest
from pathlib import Path

from bpf import EXIT, KPROBE, insn, loaded_program, move
from hits import TRACING, Hits, command
from oaetest import LIBC, fail_with_errno

SYS_PERF_EVENT_OPEN = 298                               # x86-64
TRACEPOINT, CLOEXEC = 2, 8
EVENT = "oaetest/unlocked"
ENABLE, SET_BPF = 0x2400, 0x40042408                    # ioctl(2)
KTIME, PROCESSOR = 5, 8                                 # helpers
LOOKS = 20000                                           # at the clock, at most: the verifier follows each
UNLOCK = b"_raw_spin_unlock"
# Of ELF, 64 bits, little-endian.
SECTION, SYMBOL, RELA = map(struct.Struct, ("<IIQQQQIIQQ", "<IBBHQQ", "<QQq"))
FUNCTION = 2


def calls(module, function):
    """Where calls of a function return to in an object file: (its function there, offset)."""
    data = Path(module).read_bytes()
    at, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    sections = [SECTION.unpack_from(data, at + n * size) for n in range(count)]

    def name(table, offset):
        start = sections[table][4] + offset
        return data[start:data.index(b"\0", start)]

    def content(section):
        return data[section[4]:section[4] + section[5]]
    found = {name(names, section[0]): section for section in sections}
    rela, symbols = found[b".rela.text"], found[b".symtab"]
    table = [(name(symbols[6], string), kind & 15 == FUNCTION and home == rela[7], value, length)
             for string, kind, _, home, value, length in SYMBOL.iter_unpack(content(symbols))]
    returns = [offset + 4 for offset, info, _ in RELA.iter_unpack(content(rela))
               if table[info >> 32][0] == function]
    return [(caller.decode(), site - value) for site in returns
            for caller, here, value, length in table if here and value <= site < value + length]


def program(processor, nanoseconds):
    """KPROBE: waits so long, if it runs on that processor."""
    wait = (insn(0x85, imm=KTIME) +
            insn(0xbf, 6, 0) +                          # r6 = r0
            insn(0x07, 6, imm=nanoseconds) +
            move(7, LOOKS) +
            insn(0x07, 7, imm=-1) +                     # the loop
            insn(0x15, 7, off=2) +                      # often enough
            insn(0x85, imm=KTIME) +
            insn(0x2d, 6, 0, -4))                       # not yet
    return (insn(0x85, imm=PROCESSOR) +
            insn(0x55, 0, off=len(wait) // 8, imm=processor) + wait + move(0, 0) + EXIT)


def attached(stack, program_fd, cpu):
    """The event runs the program from now on."""
    number = int((TRACING / "events" / EVENT / "id").read_text("ascii"))
    attr = ctypes.create_string_buffer(struct.pack("<IIQQ", TRACEPOINT, 112, number, 1), 112)
    event = LIBC.syscall(SYS_PERF_EVENT_OPEN, attr, -1, cpu, -1, CLOEXEC)
    if event < 0:
        fail_with_errno("perf_event_open")
    stack.callback(os.close, event)
    fcntl.ioctl(event, SET_BPF, program_fd)
    fcntl.ioctl(event, ENABLE, 0)


@contextlib.contextmanager
def stretched(name, module, processor, nanoseconds):
    """Each unlocking by the module there takes so long, from when others can have the lock."""
    Hits.mounted()
    sites = calls(module, UNLOCK)
    if not sites:
        raise unittest.SkipTest("here locks are unlocked by no function")
    with contextlib.ExitStack() as stack:
        code = stack.enter_context(loaded_program(KPROBE, program(processor, nanoseconds)))
        for n, (caller, offset) in enumerate(sites):
            command(f"p:{EVENT} {name}:{caller}+{offset}")
            if not n:
                stack.callback(command, f"-:{EVENT}")
        attached(stack, code, processor)
        yield
