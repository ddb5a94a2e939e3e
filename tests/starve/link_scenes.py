# SPDX-License-Identifier: GPL-2.0
"""Links while memory lacks: loading, ports, opening, traffic, swaps, verbs, unloading.

    host a             host b
    va ----------------- vb      MTU 9000
    wa ----------------- wb      the same; only of the scene about paths
"""

import ctypes
import errno
import itertools
import os
from pathlib import Path

import oaedev
from devtest import exit_code, in_process
from oaedev import Call, OaeFile, add_op, cas_op, read_op
from oaenl import Netlink, attr
from oaepeer import Wire
from oaetest import CLONE_NEWNET, LIBC, PARAMETERS, Cable, Host, load, loaded, run, unload
from oaewire import CLOSE, ETHERTYPE, OLDER_SYNC, POLICY, SYNC, mac_bytes, older_frame
from patience import SLOW
from ring_scenes import Rings
from starving import Events, Finding, Ledger, Scene, both_ways, counted, patiently
from udp import address_of, low24

# Failures are noticed, and got over, soon. What is queued at once needs places of a window.
QUICK = {"dead_ms": 60000, "keepalive_ms": 50, "stall_max_us": 50000, "linger_ms": 300,
         "window": 16, "sndq": 128, "deadline_ms": int(700 + 300 * SLOW)}
DEADLINE = {"deadline_ms": int(700 + 300 * SLOW), "linger_ms": 0}
STRANGER = "02:0a:e0:66:66:66"
PIECES = (100, 3000, 60000)     # a fragment; a page; many


class Swap:
    """Each of two has the other's half, or each its own, perhaps later."""

    def __init__(self, scene, ends, size):
        self.halves = Ledger.payload(size), Ledger.payload(size)
        self.got = {}
        other = Call(self._give, scene, ends[1], 1)
        self._give(scene, ends[0], 0)
        other.result(30)
        self._check()

    def _give(self, scene, file, n):
        def late(done):
            self._took(n, done.data if done.result == oaedev.COMMITTED else None)
        pending = len(scene.late)
        got = scene.attempt_bound(file, file.swap, self.halves[n], late)
        if got is not None or len(scene.late) == pending:
            self._took(n, got)

    def _took(self, n, half):
        self.got[n] = half
        self._check()

    def _check(self):
        if len(self.got) == 2 and [self.got[0], self.got[1]] not in (
                [None, None], [self.halves[1], self.halves[0]]):
            raise Finding("swap: " + " and ".join(str(got and got[:12])
                                                  for got in self.got.values()))


class Links(Rings):
    """Two hosts; the module comes and goes."""

    name = "modoae"

    def __init__(self):
        self.a, self.b = Host("a"), Host("b")
        self.hosts = [self.a, self.b]
        self.cable = Cable(self.a, "va", self.b, "vb", mtu=9000)
        self.second = Cable(self.a, "wa", self.b, "wb", mtu=9000)
        self._vcs = itertools.cycle(range(1, 250))
        # A site is refused in the first few of those that ask it.
        self.scenes = [self.loading, self.namespace, self.knobs, self.netlink, self.noc,
                       self.rings, self.files, self.attached, self.many, self.both,
                       self.packed, self.left, self.strangers, self.older, self.udp, self.udp6,
                       self.neighbours, self.paths]
        self.together = [("tag/inbox.c", self.both)]

    # Coming and going.

    def up(self):
        """Loaded, and ready."""
        load()
        oaedev.node()
        for host, dev, peer in ((self.a, "va", self.cable.mac_b), (self.b, "vb", self.cable.mac_a)):
            host.knobs(**QUICK, dev=dev, target=peer)

    def down(self):
        """Unloaded, in time."""
        def gone():
            try:
                unload()
            except BlockingIOError:
                return False
            return True
        patiently(gone, "modoae to be free")
        if loaded() or Path("/proc/net/modoae").exists() or oaedev.MINOR.exists():
            raise Finding("unloaded, and something of it is there")

    def counted(self):
        """The counters of both."""
        return counted(self.hosts)

    def works(self):
        """Both ways, by noc_debug and by /dev/oae; whatever it was just now."""
        both_ways(self.a, self.b)
        with OaeFile.to(self.a, self.cable.mac_b, vc=0) as file:
            file.write(b"works")
        patiently(lambda: b"works" in self.b.read_each(), "a file of a to reach b")

    # Scenes. Each is run with the module up, and leaves it up.

    def loading(self):
        """insmod with a port of each kind; nothing is left if it is refused."""
        scene = Scene()
        self.down()
        address_of(self.a, "va", "10.9.0.1")
        # The first to ask is to be insmod: see Starve.once().
        yield scene
        scene.attempt(load, self.a, tag_seq=5, peers="1", dev="va,udp:10.9.0.1",
                      udp_peers="10.9.0.9", target=self.cable.mac_b)
        yield scene
        if loaded():
            lost = counted([self.a])                # frames, of a link that goes with the module
            if lost:
                scene.refused["frame"] += lost
            self.down()
        elif Path("/proc/net/modoae").exists() or Path("/sys/kernel/debug/modoae").exists():
            raise Finding("refused, and something of it is there")
        if self.a.has_link("oaeudp0"):
            raise Finding("no module, and the device of its UDP port is there")
        self.a.sh("ip addr del 10.9.0.1/24 dev va")
        self.up()

    @staticmethod
    def _unshare():
        if LIBC.unshare(CLONE_NEWNET):
            return ctypes.get_errno()
        return 0

    def _first_port(self):
        code = self._unshare()
        if code:
            return code
        run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        (PARAMETERS / "dev").write_text("v0", "ascii")
        return 0

    def namespace(self):
        """A namespace comes, has its first port, and goes."""
        scene = Scene()
        yield scene

        def made():
            code = exit_code(in_process(self._first_port))
            if code:
                raise OSError(code, os.strerror(code))
        scene.attempt(made)
        yield scene

    def knobs(self):
        """Devices are released and bound; knobs written; what there is to read, read.

        A value that is refused is as if it had never been written.
        """
        scene = Scene()
        yield scene
        for name, value in (("dev", ""), ("dev", "va"), ("target", self.cable.mac_b),
                            ("peers", "1,2,3"), ("peers", ""), ("nhmac", "auto"),
                            ("id", self.a.knob("id")),
                            ("keepalive_ms", 50)):
            scene.set_knob(self.a, name, value)
        for name in ("dev", "peers", "stats"):
            scene.attempt(self.a.knob, name)
        for read in (self.a.tags, self.a.ev_log, self.a.stats):
            scene.attempt(read)
        yield scene
        if not self.a.knob("dev"):
            self.a.knob("dev", "va")

    def netlink(self):
        """Requests and dumps of netlink. One that is refused has set nothing."""
        scene, netlink, listener = Scene(), Netlink(self.a), Netlink(self.a)
        listener.join("link")
        before = {name: self.a.knob(name) for name in ("peers", "keepalive_ms")}
        events = Events(self.hosts, "oae", 9)
        sent = events.sent()
        yield scene
        # target is the one that may fail when it is applied: it opens a link.
        scene.set_knobs(self.a, lambda settings: netlink.ask(4, settings),
                        {"peers": "7,8", "keepalive_ms": "51", "target": STRANGER})
        scene.attempt(netlink.ask, 3, attr(1, "peers"))
        for dump in 1, 3, 5, 8:
            scene.attempt(netlink.dump, dump)
        for value in "", "va":          # events, for the listener
            scene.set_knob(self.a, "dev", value)
        try:
            patiently(lambda: (scene.attempt(events.sent) or sent) > sent, "an event", 2)
        except AssertionError:
            pass                                    # none happened, as the scene tells
        yield scene
        events.close(scene)
        netlink.close()
        listener.close()
        if not self.a.knob("dev"):
            self.a.knob("dev", "va")
        if self.a.knob("target") == STRANGER:
            self.a.knob("target", "")       # closes that link
        self.a.knobs(**before, target=self.cable.mac_b)

    def noc(self):
        """noc_debug, both ways at once."""
        scene = Scene()
        ledgers = Ledger(scene), Ledger(scene)
        vc = next(self._vcs)
        self._clear(vc)
        yield scene
        for ledger, host in zip(ledgers, self.hosts):
            for size in PIECES:
                ledger.send(lambda data, host=host: host.write(data, vc=vc), size)
        yield scene
        for ledger, host in zip(ledgers, (self.b, self.a)):
            self._collect(ledger, host.read_each)
        self._closed(vc)

    @staticmethod
    def _collect(ledger, read_each):
        def all_there():
            ledger.came += read_each()
            return len(ledger.came) >= len(ledger.committed)
        try:
            patiently(all_there, "what was committed to come", 5)
        except AssertionError:
            pass                                    # check() says what is missing
        ledger.check()

    def _clear(self, vc):
        for host in self.hosts:
            host.read_each()
            if host.tag(vc):
                raise Finding(f"vc {vc} is in use: {host.tags()}")

    def _closed(self, vc):
        """Nothing is left of a link, at neither end."""
        def gone():
            for host, peer in zip(self.hosts, (self.cable.mac_b, self.cable.mac_a)):
                host.read_each()
                try:
                    host.close_tag(peer, vc)
                except FileNotFoundError:
                    pass
            return not any(host.tag(vc) for host in self.hosts)
        patiently(gone, f"vc {vc} to be closed")

    def strangers(self):
        """A link that the other end opens, over and over: made in softirq."""
        scene = Scene()
        yield scene
        used = [next(self._vcs) for _ in range(4)]
        for vc in used:
            scene.attempt(self.b.write, b"hello", vc=vc)
        yield scene
        self.a.read_each()
        for vc in used:
            self._closed(vc)

    def older(self):
        """A peer of version 1 is turned away in its own words, when there is memory for them."""
        scene = Scene()
        wire = Wire(self.b, "vb")
        a, b = mac_bytes(self.cable.mac_a), mac_bytes(self.cable.mac_b)
        sync = a + b + ETHERTYPE.to_bytes(2, "big") + older_frame(SYNC, OLDER_SYNC)
        turned = b + a + ETHERTYPE.to_bytes(2, "big") + older_frame(
            CLOSE, ltags=("55667788", "11223344"), reason=POLICY)

        def answered():
            wire.send(sync)
            # There are other frames, too: those of works().
            return any((wire.raw(0.1) or b"").startswith(turned) for _ in range(10))
        yield scene
        for _ in range(3):
            answered()
        yield scene
        patiently(answered, "a peer of version 1 to be turned away")
        wire.close()

    def udp(self):
        """A UDP port comes, carries, and goes; its peer's stays."""
        yield from self._udp("10.9.0.1", "10.9.0.2")

    def udp6(self):
        """The same over IPv6."""
        yield from self._udp("fd00:9::1", "fd00:9::2")

    def _udp(self, own, peer):
        scene, vc = Scene(), next(self._vcs)
        ledger = Ledger(scene)
        self._clear(vc)
        for host, dev, address in (self.a, "va", own), (self.b, "vb", peer):
            address_of(host, dev, address)
        self.b.knob("dev", f"+udp:{peer}")
        yield scene
        scene.set_knob(self.a, "udp_peers", peer)
        scene.set_knob(self.a, "dev", f"va,udp:{own}")
        if "udp" in self.a.knob("dev"):
            for size in PIECES:
                ledger.send(lambda data: self.a.write(data, vc=vc,
                                                      target=f"oaeudp0/{low24(peer)}"), size)
        yield scene
        self._collect(ledger, self.b.read_each)
        for host, dev, address, target in ((self.a, "va", own, self.cable.mac_b),
                                           (self.b, "vb", peer, self.cable.mac_a)):
            host.knobs(dev=dev, udp_peers="", vci=0, target=target)
            host.sh(f"ip addr del {address}/{64 if ':' in address else 24} dev {dev}")
            if host.has_link("oaeudp0"):
                raise Finding("a UDP port was released, and its device is there")

    def paths(self):
        """A link finds and proves a second cable, and moves there when the port of the first one
        goes; without memory it has the first one alone."""
        scene, vc = Scene(), next(self._vcs)
        ledger = Ledger(scene)
        self._clear(vc)
        for host, dev in (self.a, "wa"), (self.b, "wb"):
            host.knob("discover", 1)
            host.add_port(dev)
        patiently(lambda: all(len(host.neighbours()) >= 2 for host in self.hosts),
                  "both cables to be known")
        before = [host.stat("no_memory") for host in self.hosts]

        def decided():
            return any(row["vc"] == vc and row["path"] and row["state"] == "good"
                       for row in self.a.paths()) or \
                [host.stat("no_memory") for host in self.hosts] != before

        def read_each():
            try:
                return self.b.read_each()
            except OSError as e:                    # the file is not opened, and nothing read
                if e.errno != errno.ENOMEM:
                    raise
                scene.refused["ENOMEM"] += 1
                return []
        yield scene
        ledger.send(lambda data: self.a.write(data, vc=vc, target=f"wa/{self.second.mac_b}"), 100)
        try:
            patiently(lambda: scene.attempt(decided), "a path, or why there is none", 2)
        except AssertionError:
            pass                                    # it was refused, as the scene tells
        self._collect(ledger, read_each)
        scene.set_knob(self.a, "dev", "-wa")
        yield scene
        for host, dev, peer in (self.a, "wa", self.cable.mac_b), (self.b, "wb", self.cable.mac_a):
            if dev in host.knob("dev"):
                host.knob("dev", f"-{dev}")
            host.knobs(discover=0, vci=0, target=peer)
        self._closed(vc)

    def neighbours(self):
        """Each hears of the other, if not at once, then when that is repeated."""
        scene, netlink = Scene(), Netlink(self.a)
        yield scene
        heard = [host.stat("node_heard") for host in self.hosts]
        for host in self.hosts:
            scene.set_knob(host, "discover", 1)
        try:
            patiently(lambda: all(host.stat("node_heard") > before
                                  for host, before in zip(self.hosts, heard)), "HELLOs", 1)
        except AssertionError:
            pass                                    # there was no memory for one
        scene.attempt(self.a.neighbours)
        scene.attempt(netlink.dump, 11)
        yield scene
        netlink.close()
        for host in self.hosts:
            host.knob("discover", 1)                    # it may have been refused
        patiently(lambda: all(host.neighbours() for host in self.hosts), "each to know the other")
        for host in self.hosts:
            host.knob("discover", 0)
        if any(host.neighbours() for host in self.hosts):
            raise Finding("discover=0, and there are neighbours")

    def attached(self):
        """A file is attached where there is no link, and closed: no tag is left."""
        scene, vc = Scene(), next(self._vcs)
        self._clear(vc)
        yield scene
        file = self._file(scene, self.a, self.cable.mac_b, vc)
        yield scene
        if file:
            file.close()
        patiently(lambda: not self.a.tag(vc), f"no tag to be left of vc {vc}")

    def files(self):
        """All that /dev/oae can do."""
        scene, vc = Scene(), next(self._vcs)
        self._clear(vc)
        yield scene
        files = [self._file(scene, host, peer, vc) for host, peer in
                 ((self.a, self.cable.mac_b), (self.b, self.cable.mac_a))]
        opened = [file for file in files if file]
        try:
            if len(opened) == 2:
                yield from self._play(scene, *files)
            else:
                yield scene
        finally:
            for file in opened:
                file.close()
        self._closed(vc)

    @staticmethod
    def _file(scene, host, peer, vc):
        file = scene.attempt(OaeFile, host)
        if not file:
            return None
        file.set_options(**DEADLINE)
        if scene.attempt(lambda: (file.attach(peer, vc=vc), 1)):
            return file
        file.close()
        return None

    def many(self):
        """More at once than a window has places: many under way, and many in a pack."""
        scene, vc = Scene(), next(self._vcs)
        ledger = Ledger(scene)
        self._clear(vc)
        yield scene
        file = self._file(scene, self.a, self.cable.mac_b, vc)
        if file:
            try:
                ledger.send(file.write, 100)
                self.a.up("va", False)
                queued = self._queue(file, ledger, 60, 50) + self._queue(file, ledger, 20, 5000)
                self.a.up("va")
                self._ended(file, ledger, queued)
            finally:
                self.a.up("va")
                file.close()
        yield scene
        self._collect(ledger, self.b.read_each)
        self._closed(vc)

    def both(self):
        """Long messages both ways at once: more than go without places, no more than fit unread.

        All are queued before the link opens, so both ends offer before either has lost a frame.
        As from most cards, frames come in one piece: such a one may carry what is sent next.
        """
        scene, vc = Scene(), next(self._vcs)
        ledgers = Ledger(scene), Ledger(scene)
        self._clear(vc)
        self._in_one_piece(True)
        yield scene
        files = [self._file(scene, host, peer, vc) for host, peer in
                 ((self.a, self.cable.mac_b), (self.b, self.cable.mac_a))]
        if all(files):
            self.a.up("va", False)
            queued = [self._queue(file, ledger, 4, 20000) for file, ledger in zip(files, ledgers)]
            self.a.up("va")
            for file, ledger, sent in zip(files, ledgers, queued):
                self._ended(file, ledger, sent)
        yield scene
        for file, ledger in zip(files, reversed(ledgers)):
            if file:
                self._collect(ledger, file.read_each)
        for file in filter(None, files):
            file.close()
        self._closed(vc)
        self._in_one_piece(False)

    def _in_one_piece(self, on):
        """Whether the ends of the cable copy what they send into one piece."""
        for host, dev in (self.a, "va"), (self.b, "vb"):
            host.sh(f"ethtool -K {dev} sg {'off' if on else 'on'}")

    def _play(self, scene, a, b):
        ledger, back = Ledger(scene), Ledger(scene)
        for size in PIECES:
            ledger.send(a.write, size)
            back.send(b.write, size)
        self._express(a, ledger)
        self._ended(a, ledger, self._queue(a, ledger, 8, 5000))
        self._swap(scene, a, b)
        added = self._verbs(scene, a, b)
        yield scene
        scene.settle()
        self._collect(ledger, b.read_each)
        self._collect(back, a.read_each)
        if added is not None:
            sum_ = b.settled(read_op(0)).old[0][0]
            if sum_ != added:
                raise Finding(f"{added} additions committed, {sum_} in the word")

    @staticmethod
    def _express(a, ledger):
        """Not reversible: what is in progress at the deadline has an outcome later."""
        a.set_options(flags=oaedev.OPT_EXPRESS)
        data = Ledger.payload(200)

        def late(done):
            if done.result != oaedev.COMMITTED:
                ledger.committed.remove(data)
        ledger.committed.append(data)
        ended = ledger.scene.attempt_bound(a, a.write, data, late)
        if ended is None and not ledger.scene.late:
            ledger.committed.remove(data)
        a.set_options(flags=0)

    @staticmethod
    def _queue(a, ledger, number, size):
        """So many, without waiting; those that were taken."""
        a.nonblock()
        queued = []
        for _ in range(number):
            data = Ledger.payload(size)
            if ledger.scene.attempt(a.write, data):
                queued.append(data)
        a.nonblock(False)
        return queued

    @staticmethod
    def _ended(a, ledger, queued):
        """Their outcomes."""
        if ledger.scene.late:
            queued_behind = ledger.scene.late[-1][1]
            ledger.scene.late.pop()
            queued_behind(a.collect_all(1, 20)[0])
        for data, done in zip(queued, a.collect_all(len(queued), 20)):
            if done.result == oaedev.COMMITTED:
                ledger.committed.append(data)
            else:
                ledger.scene.refused["queued"] += 1

    @staticmethod
    def _swap(scene, a, b):
        """Each has the other's half, or each its own."""
        for size in (50, 5000):
            if scene.in_a_row == 3 or scene.late:
                return
            Swap(scene, (a, b), size)

    @staticmethod
    def _verbs(scene, a, b):
        """Additions are counted; the number of those that are committed, if they were exposed."""
        region = b.status().vc
        if not scene.attempt(lambda: (b.expose(4096, region, 7), 1)):
            return None
        memory = scene.attempt(b.mmap, 4096)
        if memory:
            memory.close()
        added = 0
        for _ in range(2):
            if scene.attempt(a.verb, region, add_op(0, 1)):
                added += 1
        # Longer than what a tag keeps of a request.
        long = [cas_op(64 + 64 * n, [0] * 8, [0] * 8) for n in range(26)]
        if scene.attempt(a.verb, region, add_op(0, 1), *long):
            added += 1
        # More words than have room on the stack.
        scene.attempt(b.settled, *(cas_op(64 + 64 * n, [0] * 8, [0] * 8) for n in range(2)))
        scene.attempt(b.settled, read_op(0))
        return added


__all__ = ["Links"]
