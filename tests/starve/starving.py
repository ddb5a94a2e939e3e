# SPDX-License-Identifier: GPL-2.0
"""What the scenes share: attempts that may be refused, and the promise kept all the same."""

import errno
import struct
from collections import Counter

from oaenl import Netlink, attr
from oaetest import wait_for

# What a call may answer when there is no memory, here or at the peer.
REFUSALS = {getattr(errno, name) for name in (
    "ENOMEM", "ETIME", "ENOLINK", "ECONNREFUSED", "EPIPE", "EAGAIN", "ENOTCONN", "ENXIO",
    "ENODEV", "ESHUTDOWN", "ECANCELED")}
# Counters that say so when a frame, a node or a link was lost for want of memory.
COUNTERS = ("no_memory", "tx_errors", "no_room_tag")


class Finding(AssertionError):
    """Something went wrong that may not."""


class Scene:
    """One run of something; what was refused in it, and is still to be heard of."""

    def __init__(self):
        self.refused = Counter()
        self.in_a_row = 0
        self.late = []

    def attempt(self, function, *args, **kwargs):
        """function(...), or None if it was refused.

        Where nothing works any more, only the first few are worth their deadlines.
        """
        if self.in_a_row == 3:
            return None
        try:
            result = function(*args, **kwargs)
        except OSError as e:
            if e.errno not in REFUSALS:
                raise Finding(f"{function.__name__}: {errno.errorcode[e.errno]}") from e
            self.refused[errno.errorcode[e.errno]] += 1
            self.in_a_row += 1
            return None
        self.in_a_row = 0
        return result

    def attempt_bound(self, file, function, data, late):
        """The same for what cannot be reversed once it is under way.

        late(Collected) is told the outcome when there is memory again, if it comes so late.
        """
        def tried():
            try:
                return function(data)
            except OSError as e:
                if e.errno != errno.EINPROGRESS:
                    raise
            self.late.append((file, late))
            self.refused["EINPROGRESS"] += 1
            return None
        return self.attempt(tried)

    def set_knob(self, host, name, value):
        """Set it; if that is refused, it must be what it was."""
        before = host.knob(name)
        if self.attempt(lambda: (host.knob(name, value), True)):
            return
        if host.knob(name) != before:
            raise Finding(f"{name}: {value!r} was refused, and {before!r} has become "
                          f"{host.knob(name)!r}")

    def set_knobs(self, host, request, knobs):
        """Set them together; if that is refused, all must be what they were."""
        before = {name: host.knob(name) for name in knobs}
        settings = b"".join(attr(4, [attr(1, name), attr(2, value)])
                            for name, value in knobs.items())
        if self.attempt(lambda: (request(settings), True)):
            return
        now = {name: host.knob(name) for name in knobs}
        if now != before:
            raise Finding(f"KNOB_SET of {knobs} was refused, and {before} has become {now}")

    def settle(self):
        """There is memory again: all outcomes are known."""
        self.in_a_row = 0
        for file, late in self.late:
            late(file.collect_all(1, 20)[0])
        self.late.clear()


class Ledger:
    """What was sent one way, what its sender was told, and what came."""

    _count = 0

    def __init__(self, scene):
        self.scene = scene
        self.committed, self.open = [], []
        self.came = []

    @classmethod
    def payload(cls, size):
        """No two are the same."""
        Ledger._count += 1
        head = b"%d " % cls._count
        return head + bytes(n & 255 for n in range(size - len(head)))

    def send(self, write, size):
        """write(payload) commits it, or it must never come."""
        data = self.payload(size)
        if self.scene.attempt(write, data) is not None:
            self.committed.append(data)

    def check(self):
        """All that was committed came, once and in order, and nothing else did."""
        if self.came != self.committed:
            raise Finding(f"committed {[d[:12] for d in self.committed]}, "
                          f"came {[d[:12] for d in self.came]}")


def counted(hosts):
    """The counters of nodes and gateways, all together."""
    total = Counter()
    for host in hosts:
        stats = host.stats()
        total.update({name: stats[name] for name in COUNTERS if name in stats})
    return sum(total.values())


class Events:
    """EVENT_GET of hosts: the kernel has all namespaces send what is heard in one of them."""

    def __init__(self, hosts, family, command):
        self._netlinks = [Netlink(host, family) for host in hosts]
        self._command = command
        self._missed = self.missed()

    def _ask(self, netlink, attribute):
        return struct.unpack("Q", dict(netlink.ask(self._command)[0])[attribute])[0]

    def sent(self):
        """The number of the last one of the first host."""
        return self._ask(self._netlinks[0], 1)

    def missed(self):
        """How many got lost for want of memory."""
        return sum(self._ask(netlink, 2) for netlink in self._netlinks)

    def close(self, scene):
        """Those that a scene has lost since are counted."""
        lost = self.missed() - self._missed
        if lost:
            scene.refused["event"] += lost
        for netlink in self._netlinks:
            netlink.close()


def patiently(condition, what, seconds=10):
    """wait_for(), with more patience than for what is not starved."""
    return wait_for(condition, what, seconds, 0.005)


def both_ways(one, other):
    """A message goes either way, whatever it was just now."""
    def once(writer, reader):
        data = Ledger.payload(100)
        try:
            writer.write(data, vc=0)
        except OSError:
            return False
        return data in reader.read_each()
    for host in (one, other):
        host.read_each()
    patiently(lambda: once(one, other), f"{one.name} to reach {other.name}")
    patiently(lambda: once(other, one), f"{other.name} to reach {one.name}")
