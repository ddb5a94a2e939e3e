#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Has programs at the other end of a link do things; tools/conform runs it there, see --there.

Reads a line a request and answers each with a line, both JSON. A request is {"do": NAME, ...}; its
answer is {"ok": VALUE}, or {"error": TEXT, "errno": N}. Bytes are in hex. The requests are the methods
of Agent. Whoever tests another implementation writes another agent: tools/conform only knows these.
"""

import errno
import hashlib
import json
import os
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[2] / "lib")]

import oae                              # noqa: E402  pylint: disable=wrong-import-position
from conformlib.content import message  # noqa: E402  pylint: disable=wrong-import-position

PROC = Path("/proc/self/net/modoae")
NAMES = errno.errorcode | {errno.EOPNOTSUPP: "EOPNOTSUPP"}      # which Python calls ENOTSUP, too
PARAMETERS = Path("/sys/module/modoae/parameters")


class Flow:
    """Messages both ways on a link, in two threads: see content.py for what they hold."""

    def __init__(self, link: oae.Link, reader: oae.Link, seed: int, count: int, cancel_every: int):
        self.link, self.reader = link, reader
        self.seed, self.count, self.cancel_every = seed, count, cancel_every
        self.endings = {}           # number of the message -> "committed", ...
        self.received = []          # sha256 of each, in hex
        self.trouble = []
        self._posted = {}           # number of the transaction -> that of the message
        self._threads = [threading.Thread(target=self._guarded, args=(what,), daemon=True)
                         for what in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()

    def _guarded(self, function) -> None:
        try:
            function()
        except Exception as error:      # pylint: disable=broad-except
            self.trouble.append(repr(error))

    def _collect(self) -> None:
        for outcome in self.link.collect():
            self.endings[self._posted.pop(outcome.id)] = outcome.ending.name.lower()

    def _send(self) -> None:
        for number in range(self.count):
            data = message(self.seed, number)
            while True:
                try:
                    posted = self.link.queue(data)
                    break
                except BlockingIOError:
                    self.link.wait(1)
                    self._collect()
            self._posted[posted] = number
            if self.cancel_every and number % self.cancel_every == self.cancel_every - 1:
                try:
                    self.link.cancel(min(self._posted))     # that may have been offered
                except (FileNotFoundError, oae.Pending):
                    pass
        while self._posted:
            self.link.wait(1)
            self._collect()

    def _receive(self) -> None:
        while data := self.reader.recv():
            if data == b"end":
                return
            self.received.append(hashlib.sha256(data).hexdigest())

    def report(self) -> dict:
        """How far it is."""
        return {"ended": len(self.endings), "trouble": self.trouble,
                "done": not any(thread.is_alive() for thread in self._threads)}


class Agent:
    """The requests. Links are opened to `peer`, an address; each vc has one file."""

    def __init__(self, peer: str):
        self.peer = peer
        self.links = {}
        self.flows = {}

    def attach(self, vc: int, now: bool = False, express: bool = False, peer: str = "") -> None:
        """Open a file for the link on a vc, and with `now` the link. peer: another address, or id:HEX."""
        self.detach(vc)
        self.links[vc] = oae.Link(peer or self.peer, vc, now=now, blocking=False, express=express)
        self.links[vc].set_options(queue=256)

    def detach(self, vc: int) -> None:
        """Close that file, and that of a flow."""
        if vc in self.links:
            self.links.pop(vc).close()
        if vc in self.flows:
            self.flows.pop(vc).reader.close()

    def queue(self, vc: int, data: str) -> int:
        """Post a message; its number."""
        return self.links[vc].queue(bytes.fromhex(data))

    def queue_swap(self, vc: int, data: str) -> int:
        """Post a half; its number."""
        return self.links[vc].queue_swap(bytes.fromhex(data))

    def queue_add(self, vc: int, region: int, offset: int, add: int) -> int:
        """Post a FETCH_ADD; its number. offset: bytes."""
        return self.links[vc].verb(region).fetch_add(offset, add).queue()

    def cancel(self, vc: int, number: int) -> None:
        """Reverse a transaction."""
        self.links[vc].cancel(number)

    def outcome(self, vc: int, number: int, patience: float) -> list:
        """How a transaction ended: [ending, name of the errno or "", half in hex or None, old words or None]."""
        limit = time.monotonic() + patience
        while time.monotonic() < limit:
            for out in self.links[vc].collect():
                if out.id == number:
                    return [out.ending.name.lower(), NAMES.get(out.err, ""),
                            out.half.hex() if out.half is not None else None,
                            [list(words) for words in out.verb.old] if out.verb else None]
            self.links[vc].wait(limit - time.monotonic())
        return ["pending", "", None, None]

    def recv(self, vc: int) -> list:
        """All messages that are there, in hex."""
        got = []
        while True:
            try:
                got.append(self.links[vc].recv().hex())
            except BlockingIOError:
                return got

    def expose(self, vc: int, region: int, size: int) -> None:
        """Expose words to the peer for everything; size: bytes."""
        self.links[vc].expose(region, size, oae.Perm.READ | oae.Perm.WRITE | oae.Perm.ATOMIC)

    def close(self, vc: int) -> None:
        """Close the link."""
        with open(PROC / "tags", "w", encoding="ascii") as file:
            file.write(f"close {self.peer} {vc}")

    def stats(self) -> dict:
        """All counters, by the names of doc/protocol.md, which has no note_ before those of links."""
        return {words[0].removeprefix("note_"): int(words[1]) for line in (PROC / "stats").read_text("ascii").splitlines()
                if len(words := line.split()) > 1 and words[1].isdigit()}

    @staticmethod
    def _rows(table: str) -> list:
        """A table: a dict a line, all as text."""
        head, *lines = (PROC / table).read_text("ascii").splitlines()
        names = head.split()
        return [dict(zip(names, line.split(None, len(names) - 1))) for line in lines]

    def tag(self, vc: int, peer: str = "") -> dict:
        """The link on a vc as `tags` has it, all as text; {}: there is none. peer: by another address."""
        return next((row for row in self._rows("tags")
                     if int(row["vc"]) == vc and row["peer"].lower() == (peer or self.peer).lower()), {})

    def neighbours(self) -> list:
        """The entries of the table of neighbours (4.13), as text."""
        return self._rows("neighbours")

    def udp_port(self, address: str, there: bool) -> str:
        """Have a UDP port at this address, or have none; the name of its device."""
        devices = set(os.listdir("/sys/class/net"))
        with open(PARAMETERS / "dev", "w", encoding="ascii") as file:
            file.write(f"{'+' if there else '-'}udp:{address}")
        return " ".join(set(os.listdir("/sys/class/net")) - devices)

    def knobs(self, **values) -> dict:
        """Set knobs; what they were, as text. One may be refused before another is set: each is tried again."""
        before = {name: (PARAMETERS / name).read_text("ascii").strip() for name in values}
        for turns_left in range(len(values), -1, -1):
            for name, value in list(values.items()):
                try:
                    with open(PARAMETERS / name, "w", encoding="ascii") as file:
                        file.write(str(value))
                    del values[name]
                except OSError:
                    if not turns_left:
                        raise
        return before

    def flow(self, vc: int, seed: int, count: int, cancel_every: int) -> None:
        """Begin to send that many messages, and to read until one that is "end"."""
        self.flows[vc] = Flow(self.links[vc], oae.Link(self.peer, vc), seed, count, cancel_every)

    def flowed(self, vc: int) -> dict:
        """What has come of it so far."""
        return self.flows[vc].report()

    def results(self, vc: int) -> list:
        """The sha256 of each message that it has read, in hex; and how each that it sent has ended."""
        return [self.flows[vc].received, self.flows[vc].endings]


def main() -> None:
    """Answer requests until there are no more."""
    agent = Agent(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": getattr(agent, request.pop("do"))(**request)}
        except OSError as error:
            answer = {"error": str(error), "errno": errno.errorcode.get(error.errno, "")}
        except Exception as error:      # pylint: disable=broad-except
            answer = {"error": repr(error), "errno": ""}
        print(json.dumps(answer), flush=True)
    os._exit(0)                         # a thread may still wait for a message


if __name__ == "__main__":
    main()
