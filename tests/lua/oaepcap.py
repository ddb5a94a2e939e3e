# SPDX-License-Identifier: GPL-2.0
"""Captures for the dissector: made of frames, and read through tshark.

A Capture is what the tests write: link-level bytes with times. tshark() gives what tools/oae.lua
says of each frame, as a dict: field name -> list of the values, as text, in their order.
"""

import functools
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "oae.lua"
sys.path.insert(0, str(ROOT / "tests" / "guest"))
sys.dont_write_bytecode = True

A, B, C, G1 = (bytes.fromhex(f"020ae000000{n}") for n in (1, 2, 3, 9))


class Capture:
    """Frames, 10 us apart."""

    def __init__(self):
        self.records = []

    def add(self, raw, wire=None, time=None):
        """One frame; wire: its length before it was cut off. Its number."""
        time = 10 * len(self.records) if time is None else time     # us
        self.records.append((time, wire or len(raw), raw))
        return len(self.records)

    def __len__(self):
        return len(self.records)

    def write(self, path):
        """As pcap."""
        with open(path, "wb") as file:
            file.write(struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
            for time, wire, raw in self.records:
                file.write(struct.pack("<IIII", 1000000000 + time // 1000000, time % 1000000,
                                       len(raw), wire) + raw)


def udp4(payload, sport=50000, dport=34997, src="10.1.0.1", dst="10.2.0.1"):
    """A UDP packet over IPv4, on Ethernet."""
    udp = struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0x4000, 64, 17, 0,
                     socket.inet_aton(src), socket.inet_aton(dst))
    return bytes.fromhex("020000000001" "020000000002" "0800") + ip + udp


def icmp4(quoted):
    """A packet that says of another one, as on Ethernet, that it was too long."""
    icmp = struct.pack(">BBHHH", 3, 4, 0, 0, 1280) + quoted[14:]
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(icmp), 1, 0, 64, 1, 0,
                     socket.inet_aton("10.9.0.1"), socket.inet_aton("10.1.0.1"))
    return bytes.fromhex("020000000001" "020000000002" "0800") + ip + icmp


def udp6(payload, sport=50000, dport=34997):
    """The same over IPv6."""
    udp = struct.pack(">HHHH", sport, dport, 8 + len(payload), 0xffff) + payload
    ip = struct.pack(">IHBB16s16s", 6 << 28, len(udp), 17, 64,
                     socket.inet_pton(socket.AF_INET6, "fd01::1"),
                     socket.inet_pton(socket.AF_INET6, "fd02::1"))
    return bytes.fromhex("020000000001" "020000000002" "86dd") + ip + udp


def _run(*arguments):
    """What tshark prints, with the dissector; it must not complain of it."""
    env = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": "/nonexistent"}
    done = subprocess.run(["tshark", *arguments, "-X", f"lua_script:{SCRIPT}"], env=env,
                          text=True, errors="replace", check=False, timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = [line for line in done.stderr.splitlines() if "Running as user" not in line]
    if done.returncode or said:
        raise AssertionError(f"tshark {' '.join(arguments)}: status {done.returncode}\n"
                             + "\n".join(said[:20]))
    return done.stdout


def run_tshark(capture, *options, names=False):
    """What tshark prints of a capture, a Capture or the path of one; with names for addresses."""
    options = options if names else ("-n", *options)
    if not isinstance(capture, Capture):
        return _run("-r", str(capture), *options)
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "capture.pcap"
        capture.write(path)
        return _run("-r", str(path), *options)


@functools.cache
def field_names():
    """All fields that the dissector has."""
    rows = (line.split("\t") for line in _run("-G", "fields").splitlines())
    return sorted({row[2] for row in rows if row[0] == "F" and row[2].startswith(("oae.", "oaeip.", "oaeudp."))})


def tshark(capture, *options):
    """A dict a frame: field -> values; `info` is the column. Two passes unless told otherwise."""
    wanted = [word for name in ("_ws.col.Protocol", "_ws.col.Info", "eth.src",
                                   *field_names())
              for word in ("-e", name)]
    frames = []
    for packet in json.loads(run_tshark(capture, *(options or ("-2",)), "-T", "json", *wanted)):
        fields = packet["_source"]["layers"]
        fields["protocol"], fields["info"] = (fields.pop(f"_ws.col.{name}")[0]
                                              for name in ("Protocol", "Info"))
        frames.append(fields)
    return frames
