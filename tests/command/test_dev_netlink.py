# SPDX-License-Identifier: GPL-2.0
"""The family oae of generic netlink, and the commands that change something with it."""

import contextlib
import errno
import os
import random
import re
import signal
import struct
import threading

import oaenlspec
from devtest import IdlePair, exit_code, in_process
from hits import TRACING, Hits
from oaecmd import OAE, Running, oae
from oaedev import Call, unhurried
from oaenl import DONE, DUMP, DUMP_INTR, NESTED, Netlink, Refused, attr, attrs, text
from oaetest import OaeTest, load, unload, wait_for
from patience import times
from rtnl import held_rtnl

LINK_GET, LINK_CLOSE, KNOB_GET, KNOB_SET, PORT_GET, PORT_ADD, PORT_DEL, STATS_GET, EVENT_GET = range(1, 10)
NAME, VALUE, TAKES, SETTING = 1, 2, 3, 4
PATH_SET = 12
NEWFAMILY = 1                                           # of the family nlctrl
PORT, PEER, VC = 1, 2, 3
REFUSED = 6


class NetlinkTest(IdlePair):
    """Two hosts; the links do nothing of themselves."""

    def netlink(self, host=None):
        """A socket at host a, or another."""
        netlink = Netlink(host or self.a)
        self.addCleanup(netlink.close)
        return netlink

    def restore(self, *knobs, host=None):
        """What these are now, they will be."""
        host = host or self.a
        for knob in knobs:
            self.addCleanup(host.knob, knob, host.knob(knob))


class Knobs(NetlinkTest):
    """oae get, oae set."""

    def test_get(self):
        """Every parameter is there, with the value that sysfs shows."""
        seen = {knob["knob"]: knob for knob in oae(self.a, "-j", "get").json}
        names = set(self.a.sh("ls /sys/module/modoae/parameters").split())
        self.assertEqual(set(seen), names)
        for name in names - {"stats"}:
            self.assertEqual(seen[name]["value"], self.a.knob(name), name)
        self.assertEqual(seen["verbose"]["takes"], "a number from 0 to 2")
        self.assertEqual(seen["dead_ms"]["takes"],
                         "a number from 50 to 3600000, ms")
        table = oae(self.a, "get").out
        self.assertRegex(table, r"(?m)^KNOB +VALUE +TAKES$")
        self.assertRegex(table, r"(?m)^accept +any +any, peers or none$")
        self.assertEqual(oae(self.a, "get", "accept", "vci").out, "accept=any\nvci=0\n")
        said = oae(self.a, "get", "no_such", status=REFUSED)
        self.assertEqual(said.err, "oae get: no_such: ENOENT: there is no such knob; `oae get` "
                         "lists them, `oae gateway` those of the gateway\n")

    def test_set(self):
        """What is set is there, for sysfs too, and here alone."""
        self.restore("dead_ms", "accept", "peers")
        there = self.b.knob("dead_ms")
        oae(self.a, "set", "dead_ms= 0x1000 ", "accept=peers", "peers=2, eth9/02:0a:e0:00:00:07")
        self.assertEqual([self.a.knob(knob) for knob in ("dead_ms", "accept", "peers")],
                         ["4096", "peers", "0x000002,eth9/02:0a:e0:00:00:07"])
        self.assertEqual(self.b.knob("dead_ms"), there)
        said = oae(self.a, "-j", "set", "peers=", "accept=any")
        self.assertEqual([(knob["knob"], knob["value"]) for knob in said.json],
                         [("peers", ""), ("accept", "any")])
        oae(self.b, "-n", "a", "set", "dead_ms=7000")
        self.assertEqual(self.a.knob("dead_ms"), "7000")
        again = oae(self.a, "get", "dead_ms", "target", "accept").out.split()
        oae(self.a, "set", *again)

    def test_all_or_none(self):
        """One that is refused: nothing is set, and it is named."""
        names = ("dead_ms", "linger_ms", "stall_min_us", "stall_max_us", "shutdown", "target")
        self.restore(*names)
        before = [self.a.knob(name) for name in names]
        for n, (wrong, words) in enumerate((
                ("verbose=3", "ERANGE: takes a number from 0 to 2"),
                ("accept=all", "EINVAL: takes any, peers or none"),
                ("peers=2,,3", "EINVAL: takes a comma-separated list of [DEV/]ADDR, ADDR being 24"
                               " bits in hex, a whole unicast MAC, or id: and an id in hex"),
                ("nhmac=" + self.cable.mac_a, "EINVAL: takes another address than a port's own"),
                ("stall_min_us=300000", "EINVAL: takes stall_min_us not above stall_max_us"),
                ("ethertype=0x88b6", "EOPNOTSUPP: is set when the module is loaded"),
                ("dev=", "EOPNOTSUPP: is changed by adding and deleting ports"),
                ("linger_ms=3", "EINVAL: is in the request twice"),
                ("dead_s=9", "ENOENT: there is no such knob; did you mean dead_ms?"))):
            args = ["dead_ms=1234", "shutdown=1", "target=0x77", "linger_ms=77"]
            if wrong.startswith("linger"):
                args.append(wrong)
            else:
                args.insert(n % 4, wrong)
            said = oae(self.a, "set", *args, status=REFUSED)
            self.assertEqual(said.err, f"oae set: {wrong}: {words}\n")
            self.assertEqual([self.a.knob(name) for name in names], before, args)
        # Neither alone, both together.
        oae(self.a, "set", "stall_min_us=300000", "stall_max_us=400000")
        self.assertEqual(self.a.knob("stall_min_us"), "300000")
        oae(self.a, "set", "stall_max_us=9000", "stall_min_us=900")
        self.assertEqual(self.a.knob("stall_max_us"), "9000")

    def test_together(self):
        """What a request sets goes together; one that fails when it is applied undoes the others."""
        self.restore("target", "vci", "peers", "max_tags", "shutdown")
        oae(self.a, "set", "target=0x77", "vci=7")
        self.assertTrue(self.a.tag(vc=7), self.a.tags())
        self.a.knobs(vci=0, target=self.cable.mac_b, max_tags=1)
        before = [self.a.knob(name) for name in ("target", "vci", "peers")]
        for args in (["peers=5", "vci=9", "target=0x99"], ["target=0x99", "vci=9", "peers=5"]):
            said = oae(self.a, "set", *args, status=REFUSED)
            self.assertEqual(said.err, "oae set: target=0x99: ENOBUFS: there are max_tags links: "
                                       "close some, or set max_tags higher\n")
            self.assertEqual([self.a.knob(name) for name in ("target", "vci", "peers")], before)
        self.a.knobs(shutdown=1, max_tags=1024)
        wait_for(lambda: not self.a.tags(), "the links to close")
        oae(self.a, "set", "shutdown=0", "target=0x77")
        self.assertEqual(len(self.a.tags()), 1)
        self.a.knob("target", "")
        wait_for(lambda: not self.a.tags(), "the link to close")

    def test_undone(self):
        """An id goes with what is refused behind it: a port is bound between the two, whose own
        address is no target. Nothing is allocated for that: memory may be what lacks."""
        if not self.preemptible():
            self.skipTest("a kernel that cannot be preempted where this happens")
        self.addCleanup(self.a.knobs, dev="va")
        self.restore("target")
        self.a.knob("target", "")
        before, (setter, binder) = self.a.knob("id"), (self.netlink(), self.netlink())
        request = b"".join(attr(SETTING, [attr(NAME, name), attr(VALUE, value)]) for name, value in
                           (("id", "0123456789abcdef"), ("target", self.cable.mac_a)))

        hits = Hits(tried="modoae:oae_target_set%return", set_back="modoae:oae_node_swap_id",
                    over="modoae:oae_knobs_set%return")
        self.addCleanup(hits.end)
        allocations = hits.allocations(True)
        self.addCleanup(hits.allocations, False)

        def refused():
            self.a.knob("dev", "")
            self.a.knobs(id=0, target="")
            (TRACING / "trace").write_text("", "ascii")
            with held_rtnl(self.a):
                setting = Call(unhurried, setter.ask, KNOB_SET, request)
                wait_for(setting.queues, "the id to be set next")
                binding = Call(binder.ask, PORT_ADD, attr(NAME, "va"))
                wait_for(binding.queues, "va to be bound then")
            self.assertEqual(binding.error(), "0")
            return setting.error() == "EINVAL"
        wait_for(refused, "the port to be bound before the target is set")
        hits.allocations(False)
        self.assertEqual([self.a.knob(name) for name in ("id", "target", "dev")], [before, "", "va"])
        self.assertEqual({name: hits.by_hold(name, "tried", "over") for name in ("set_back", *allocations)},
                         {"set_back": 1} | dict.fromkeys(allocations, 0), "undone with what is at hand")

    def test_same_words(self):
        """The reason is the one that a write to sysfs has in the kernel log."""
        netlink = self.netlink()
        for name, value in (("verbose", "nine"), ("tag_seq", "-1"), ("accept", ""), ("vci", "256"),
                            ("target", "02:0a"), ("peers", "1,x"), ("nhmac", "ff:ff:ff:ff:ff:ff"),
                            ("wkstep", "101"), ("shutdown", "2"), ("doubt_s", "604801"),
                            ("use_gw", "2")):
            self.log.lines()
            with self.assertRaises(OSError) as sysfs:
                self.a.knob(name, value)
            line, = (line for line in self.log.lines() if line.startswith(f"modoae: {name}: "))
            with self.assertRaises(Refused) as refused:
                netlink.ask(KNOB_SET, attr(SETTING, [attr(NAME, name), attr(VALUE, value)]))
            self.assertEqual(line.split("): ", 1)[1], refused.exception.text)
            self.assertEqual(sysfs.exception.errno, refused.exception.errno)
            self.assertEqual(refused.exception.offset, 20)
            self.assertEqual(self.log.lines(), [], "netlink logs nothing")


class Links(NetlinkTest):
    """oae close, and dumps."""

    def open_links(self, vcs):
        """A link for each channel."""
        for vc in vcs:
            self.a.write(b"x", vc=vc)
            self.b.read_one()
        self.a.knob("vci", 0)

    def vcs(self, host=None):
        """The channels of the links that are there."""
        return sorted(tag["vc"] for tag in (host or self.a).tags())

    def close_all(self):
        """No link is left."""
        self.a.knob("shutdown", 1)
        wait_for(lambda: not self.vcs() and not self.vcs(self.b), "the links to close")
        self.a.knob("shutdown", 0)

    def test_close(self):
        """One link, by peer and channel, perhaps port; what is not there is said."""
        self.open_links((0, 3, 4))
        oae(self.a, "close", self.cable.mac_b)
        wait_for(lambda: self.vcs() == [3, 4] == self.vcs(self.b), "it to close at both ends")
        low = self.cable.mac_b[9:].replace(":", "")
        said = oae(self.a, "-j", "close", low, "--vc", 3, "--port", "va")
        self.assertEqual(said.json, [{"peer": low, "vc": 3, "result": "closing"}])
        wait_for(lambda: self.vcs() == [4] == self.vcs(self.b), "it to close at both ends")
        for args in ([self.cable.mac_b], [self.cable.mac_b, "--vc", 4, "--port", "nowhere"],
                     [self.cable.mac_a, "--vc", 4], ["77", "--vc", 4]):
            said = oae(self.a, "close", *args, status=REFUSED)
            self.assertEqual(said.err, f"oae close: {args[0]}: ENOENT: there is no such link; "
                             "`oae show` has those that are there\n")
        self.assertEqual(self.vcs(), [4])
        self.close_all()

    def test_dump(self):
        """A dump has what tags has; port, peer and vc say which."""
        self.open_links((0, 1, 2))
        netlink = self.netlink()
        rows = {row["vc"]: row for row in self.a.tags()}
        for link in map(dict, netlink.dump(LINK_GET)):
            row = rows.pop(link[VC][0])
            self.assertEqual(text(link[PORT]), row["port"])
            self.assertEqual(link[PEER].hex(":"), row["peer"])
            self.assertEqual([text(link[kind]) for kind in (4, 5, 6, 7)],
                             [row[name] for name in ("state", "offer", "hold", "way")])
            self.assertEqual([struct.unpack("I", link[kind])[0] for kind in (8, 9, 10, 11)],
                             [row[name] for name in ("rx", "tx", "unread", "queue")])
            self.assertEqual(struct.unpack("Q", link[13])[0], row["kid"])
            self.assertEqual([link[kind][0] for kind in (16, 18)],
                             [row[name] for name in ("lanes", "window")])
            self.assertEqual([struct.unpack("I", link[kind])[0] for kind in (17, 27)],
                             [row[name] for name in ("cwnd", "ssthresh")])
            self.assertEqual([struct.unpack("Q", link[kind])[0] // 1000 for kind in (12, 28)],
                             [row[name] for name in ("rtt_us", "minrtt_us")])
            self.assertEqual([struct.unpack("Q", link[kind])[0] for kind in (19, 20)],
                             [row[name] for name in ("repaired", "failures")])
            self.assertEqual([text(link[kind]) for kind in (21, 26)],
                             [row[name] for name in ("waits", "says")])
        self.assertEqual(rows, {})
        peer = bytes.fromhex(self.cable.mac_b.replace(":", ""))
        for wanted, some in (
                ([1], [attr(VC, b"\1")]), ([], [attr(VC, b"\7")]), ([], [attr(PORT, "vb")]),
                ([0, 1, 2], [attr(PORT, "va"), attr(PEER, peer)]),
                ([], [attr(PEER, peer[::-1])])):
            seen = netlink.dump(LINK_GET, b"".join(some))
            self.assertEqual(sorted(dict(link)[VC][0] for link in seen), wanted)
        self.close_all()

    def test_dump_under_change(self):
        """Links come and go: a dump has those that stay, once, or says that it was interrupted."""
        stay = set(range(0, 60))
        self.open_links(stay)
        netlink, stop = self.netlink(), threading.Event()

        def change():
            while not stop.is_set():
                for vc in range(100, 140):
                    self.a.write(b"y", vc=vc)
                    self.b.read_one()
                for vc in range(100, 140):
                    self.a.close_tag(self.cable.mac_b, vc)
        thread = threading.Thread(target=change)
        thread.start()
        try:
            whole = 0
            for _ in range(40):
                seen = [dict(link)[VC][0] for link in netlink.dump(LINK_GET)]
                if not netlink.interrupted:
                    whole += 1
                    self.assertLessEqual(stay, set(seen))
                    self.assertEqual(len(seen), len(set(seen)), seen)
            self.assertGreater(whole, 0)
        finally:
            stop.set()
            thread.join()
        self.close_all()

    def test_dump_resized(self):
        """The table grows between two messages of a dump: that is flagged; the next is whole."""
        self.restore("target", "vci")

        def more(vcs):
            for vc in vcs:
                self.a.write(b"z", nonblock=True, target="02:0a:e0:66:66:66", vc=vc)
        more(range(60))
        netlink = Netlink(self.a, size=4096)
        self.addCleanup(netlink.close)
        seq, seen, flagged, over = netlink.send(LINK_GET, b"", DUMP), [], False, False
        while not over:
            for kind, flags, number, body in netlink.messages():
                self.assertEqual(number, seq)
                flagged |= bool(flags & DUMP_INTR)
                over |= kind == DONE
                if kind == netlink.family:
                    seen.append(dict(attrs(body[4:]))[VC][0])
            if len(seen) < 60 and not over:
                more(range(60, 250))
        self.assertTrue(flagged, seen)
        # On a slow machine the first links have gone by now, since nobody answers.
        wait_for(lambda: sorted(dict(link)[VC][0] for link in netlink.dump(LINK_GET)) ==
                 self.vcs() and not netlink.interrupted, "a dump that is whole")
        self.a.knob("shutdown", 1)
        self.addCleanup(self.a.knob, "shutdown", 0)
        wait_for(lambda: not self.a.tags(), "the links to close")

    def test_dump_stopped(self):
        """The link at which a dump stopped is gone: that is flagged, as one behind it may be missed."""
        self.restore("target", "vci", "dead_ms")
        self.a.knob("dead_ms", 60000)
        nobody, others = "02:0a:e0:66:66:66", "02:0a:e0:66:66:67"
        # As many others stay that the table does not shrink: that is flagged in any case.
        for peer, n in ((others, 200), (nobody, 60)):
            for vc in range(n):
                self.a.write(b"z", nonblock=True, target=peer, vc=vc)
        self.a.knob("target", "")
        netlink = Netlink(self.a, size=4096)
        self.addCleanup(netlink.close)
        wanted = attr(PEER, bytes.fromhex(nobody.replace(":", "")))
        wait_for(lambda: netlink.dump(LINK_GET, wanted) and not netlink.interrupted,
                 "the table to be as large as it gets")
        netlink.send(LINK_GET, wanted, DUMP)
        seen, flagged, over = set(), False, False
        while not over:
            for kind, flags, _, body in netlink.messages():
                flagged |= bool(flags & DUMP_INTR)
                over |= kind == DONE
                if kind == netlink.family:
                    seen.add(dict(attrs(body[4:]))[VC][0])
            for tag in self.a.tags():
                if tag["peer"] == nobody and tag["vc"] not in seen:
                    with contextlib.suppress(FileNotFoundError):    # gone already: nobody answers
                        self.a.close_tag(nobody, tag["vc"])
        self.assertTrue(flagged, seen)
        self.a.knob("shutdown", 1)
        self.addCleanup(self.a.knob, "shutdown", 0)
        wait_for(lambda: not self.a.tags(), "the links to close")

    def test_counters(self):
        """STATS_GET has the counters of /proc."""
        seen = {text(dict(one)[1]): struct.unpack("Q", dict(one)[2])[0]
                for one in self.netlink().dump(STATS_GET)}
        self.assertEqual(seen, self.a.stats())


class Ports(NetlinkTest):
    """oae port."""

    def test_ports(self):
        """add, del, show; the kernel's own reasons."""
        self.a.sh("ip link add dummy0 type dummy && ip link set dummy0 mtu 1400")
        self.addCleanup(self.a.sh, "ip link del dummy0")
        oae(self.a, "port", "add", "dummy0")
        self.assertEqual(self.a.knob("dev"), "va,dummy0")
        ports = [dict(port) for port in self.netlink().dump(PORT_GET)]
        self.assertEqual([(text(port[1]), port[2].hex(":"), text(port[3]),
                           struct.unpack("I", port[4])[0]) for port in ports],
                         [("va", self.cable.mac_a, "up", 1500),
                          ("dummy0", self.a.mac("dummy0"), "down", 1400)])
        for verb, dev, words in (
                ("add", "nothere", "ENODEV: there is no such net device in this network namespace"),
                ("add", "lo", "EINVAL: takes an Ethernet device, not loopback"),
                ("del", "nothere", "ENODEV: is not a port")):
            said = oae(self.a, "port", verb, dev, status=REFUSED)
            self.assertEqual(said.err, f"oae port: {verb} {dev}: {words}\n")
        oae(self.a, "port", "del", "dummy0")
        self.assertEqual(self.a.knob("dev"), "va")

    def test_closes_links(self):
        """A port that is deleted tells its peers."""
        self.a.write(b"x")
        self.assertEqual(self.b.read_one(), b"x")
        oae(self.a, "port", "del", "va")
        self.addCleanup(self.a.knob, "target", self.cable.mac_b)
        self.addCleanup(self.a.add_port, "va")
        wait_for(lambda: not self.b.tags(), "the peer to hear of it")


class Loading(OaeTest):
    """The module alone, which is loaded again and again."""

    def test_dump(self):
        """None begins before the module is loaded: if that failed, the module would go, and the dump not."""
        if not self.preemptible():
            self.skipTest("a kernel that cannot be preempted where this happens")
        families = Netlink(None, "nlctrl")
        self.addCleanup(families.close)
        families.join("notify")

        def dumped():
            netlink = Netlink(None)
            with contextlib.closing(netlink):
                netlink.dump(LINK_GET)

        def refused():
            unload()
            loading = Call(unhurried, load)
            while not any(body[0] == NEWFAMILY for *_, body in families.messages()):
                pass
            try:
                dumped()
            except Refused as e:
                return e.errno == errno.ENODEV
            finally:
                loading.result()
            return False
        wait_for(refused, "a dump to be asked for while the module is being loaded")
        dumped()


class Specification(NetlinkTest):
    """doc/netlink/oae.yaml."""

    def test_specification(self):
        """It says what the kernel says: commands, flags, policies; and what answers have."""
        for host in self.a, self.b:
            host.knob("discover", 1)
            self.addCleanup(host.knob, "discover", 0)
        wait_for(self.a.neighbours, "a neighbour", 8)
        self.a.write(b"x")
        self.assertEqual(self.b.read_one(), b"x")
        oaenlspec.check(self, self.a, "oae")

    def test_header(self):
        """Every enumerator of the header is in one of the files."""
        files = [oaenlspec.Spec(name).header() for name in ("oae", "oaegw")]
        named = {name for name in oaenlspec.header() if not name.endswith("_MAX")}
        self.assertEqual(named, set().union(*files))


class Events(NetlinkTest):
    """The group link: what becomes of links and ports, each event with its number."""

    NOTES = ("opened resolved stall peer_froze nolink mismatch worn port impossible down up"
             " peer_new broken unconfirmed held_lost rejected close gone").split()

    def noted(self):
        """How many events of links there were, by the counters."""
        stats = self.a.stats()
        return sum(stats[f"note_{note}"] for note in self.NOTES)

    def listener(self, **kwargs):
        """A socket that hears them."""
        netlink = Netlink(self.a, **kwargs)
        self.addCleanup(netlink.close)
        netlink.join("link")
        return netlink

    @staticmethod
    def number(netlink):
        """Of the last event that was sent."""
        return struct.unpack("Q", dict(netlink.ask(EVENT_GET)[0])[1])[0]

    def last(self, netlink):
        """The same, once all that happened has been sent."""
        seen = []

        def no_more():
            seen.append((self.noted(), self.number(netlink)))
            return seen[-3:] == 3 * seen[-1:]
        wait_for(no_more, "events to be sent", 20, interval=0.05)
        return seen[-1][1]

    @staticmethod
    def event(body):
        """A message, by name."""
        found = dict(attrs(body[4:]))
        return {"number": struct.unpack("Q", found[1])[0],
                "missed": struct.unpack("Q", found[2])[0],
                **{name: text(found[kind]) for kind, name in
                   ((4, "kind"), (5, "what"), (6, "port"), (9, "before"), (10, "after"))
                   if kind in found},
                **({"peer": found[7].hex(":"), "vc": found[8][0]} if 7 in found else {})}

    def events(self, netlink, last):
        """All up to this number."""
        found = []
        while not found or found[-1]["number"] < last:
            try:
                found += [self.event(body) for kind, _, _, body in netlink.messages()
                          if kind == netlink.family]
            except OSError as e:
                if e.errno != errno.ENOBUFS:
                    raise
        return found

    def flap(self, times):
        """A port goes down and up; how many events that makes."""
        before = self.noted()
        for _ in range(times):
            self.a.up("va", False)
            self.a.up("va")
        wait_for(lambda: self.a.ready("va"), "the port to be up")

        def settled():
            count = self.noted()
            states = {link["state"] for link in self.a.tags()}
            return states == {"OPEN"} and count == self.noted() and count
        return wait_for(settled, "the link to heal") - before + 2 * times

    def test_events(self):
        """In order, with what there is to say, and none between."""
        for host in self.a, self.b:     # a busy machine is no failure of the link
            self.set(host, stall_max_us=10000000, stall_min_us=300000)
        self.a.knob("target", "")
        wait_for(lambda: not self.a.tags(), "no link to be there")
        netlink = self.listener()
        self.addCleanup(self.a.knob, "target", self.cable.mac_b)
        # News are sent later than they happen: behind this one there are none of before.
        self.a.up("va", False)
        self.a.up("va")
        seen = []
        while "up" not in [event["what"] for event in seen]:
            seen += self.events(netlink, 0)
        first = seen[-1]["number"]
        self.a.write(b"x", target=self.cable.mac_b, vc=9)
        self.addCleanup(self.a.knob, "vci", 0)
        self.assertEqual(self.b.read_one(), b"x")
        before = self.a.stat("note_resolved")
        self.a.up("va", False)
        self.a.up("va")
        wait_for(lambda: self.a.stat("note_resolved") > before, "the link to heal")
        before = self.a.stat("note_gone")
        self.a.close_tag(self.cable.mac_b, 9)
        wait_for(lambda: not self.a.tag(9), "the link to close")
        wait_for(lambda: self.a.stat("note_gone") > before, "it to be gone")
        seen = []
        while "gone" not in [event["what"] for event in seen]:
            seen += self.events(netlink, 0)
        self.assertEqual([event["number"] for event in seen],
                         list(range(first + 1, first + 1 + len(seen))))
        self.assertEqual({event["missed"] for event in seen}, {0})
        words = [f"{event['kind']} {event['what']}" for event in seen]
        # The peer may be heard before the kernel tells that the port is up.
        for wanted in (["link opened", "port down", "link port", "link resolved", "link gone"],
                       ["link opened", "port down", "port up", "link gone"]):
            self.assertEqual([word for word in words if word in wanted], wanted, words)
        opened = seen[words.index("link opened")]
        self.assertEqual((opened["port"], opened["peer"], opened["vc"], opened["after"]),
                         ("va", self.cable.mac_b, 9, "OPEN"))
        self.assertEqual(seen[words.index("port up")]["port"], "va")

    def test_slow_listener(self):
        """What it missed is exactly the gaps in the numbers; another missed nothing."""
        self.a.write(b"x")
        self.assertEqual(self.b.read_one(), b"x")
        wait_for(lambda: self.number(self.netlink()), "events to be sent")
        slow, ask = self.listener(rcvbuf=4096), self.netlink()
        start = self.last(ask)
        made = self.flap(60)
        wait_for(lambda: self.number(ask) == start + made, "all to be sent")
        self.a.close_tag(self.cable.mac_b)
        wait_for(lambda: self.number(ask) > start + made, "one more")
        got, missed, last = [], 0, start
        with self.assertRaises(OSError) as full:
            while True:
                for kind, _, _, body in slow.messages():
                    got.append(self.event(body)["number"])
        self.assertEqual(full.exception.errno, errno.ENOBUFS)
        end = self.number(ask)
        slow.sock.setblocking(False)
        try:
            while True:
                for kind, _, _, body in slow.messages():
                    if kind == slow.family:
                        got.append(self.event(body)["number"])
        except BlockingIOError:
            pass
        for number in got:
            missed, last = missed + number - last - 1, number
        missed += end - last
        self.assertEqual(len(got) + missed, end - start)
        self.assertGreater(missed, 20)

    def test_monitor(self):
        """It says how many it missed, even if nothing follows: it was stopped meanwhile."""
        self.a.write(b"x")
        self.assertEqual(self.b.read_one(), b"x")
        running = Running(self.a, "-j", "monitor", "kind", "port,link")
        self.addCleanup(running.kill)
        wait_for(lambda: self.number(self.netlink()), "an event to be sent")

        def listens():
            self.flap(1)
            return running.lines
        wait_for(listens, "it to listen")
        ask = self.netlink()
        running.process.send_signal(signal.SIGSTOP)
        before = self.last(ask)
        made = self.flap(150)
        wait_for(lambda: self.number(ask) == before + made, "all to be sent")
        running.process.send_signal(signal.SIGCONT)

        def all_told():
            told = running.objects()
            first = next(one["number"] for one in told if "number" in one)
            return before + made + 1 - first == sum(one.get("missed", 1) for one in told)
        wait_for(all_told, f"all to be told: {running.objects()[-3:]}", 20)
        self.assertTrue([one for one in running.objects() if "missed" in one])
        self.assertEqual(running.stop(), 0)


class Hostile(NetlinkTest):
    """Who may not, and what is not understood."""

    UNPRIVILEGED = "setpriv --reuid 65534 --regid 65534 --clear-groups "

    def test_unprivileged(self):
        """Looking is for everybody, changing is not."""
        shown = self.a.sh(f"{self.UNPRIVILEGED} {OAE} get dead_ms")
        self.assertEqual(shown, f"dead_ms={self.a.knob('dead_ms')}\n")
        before = self.a.knob("dev"), self.a.knob("verbose")
        done = self.a.sh(f"{self.UNPRIVILEGED} {OAE} set verbose=1", check=False)
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertIn("EPERM: needs CAP_NET_ADMIN in this network namespace; be root", done.stderr)

        def nobody():
            with self.a:
                os.setgroups([])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
                netlink = Netlink(None)
                for cmd, payload in (
                        (KNOB_SET, attr(SETTING, [attr(NAME, "verbose"), attr(VALUE, "1")])),
                        (PORT_ADD, attr(NAME, "va")), (PORT_DEL, attr(NAME, "va")),
                        (LINK_CLOSE, attr(PEER, bytes(6))),
                        (PATH_SET, attr(PEER, bytes(6)) + attr(4, "va") + attr(6, "avoid"))):
                    self.refused(netlink, errno.EPERM, cmd, payload)
        self.assertEqual(exit_code(in_process(nobody)), 0)
        self.assertEqual((self.a.knob("dev"), self.a.knob("verbose")), before)

    def test_user_namespace(self):
        """Root of a user namespace sets what is of its own network namespace, and no other's."""
        self.a.sh("sysctl -qw kernel.unprivileged_userns_clone=1 2>/dev/null || true")
        said = self.a.sh(f"{self.UNPRIVILEGED} unshare -Urn {OAE} -j set dead_ms=999")
        self.assertIn('"value":"999"', said)
        done = self.a.sh(f"{self.UNPRIVILEGED} unshare -Ur {OAE} set dead_ms=999", check=False)
        self.assertIn("EPERM", done.stderr)
        self.assertNotEqual(self.a.knob("dead_ms"), "999")

    def refused(self, netlink, code, cmd, payload, flags=4):
        """It is, with this error."""
        with self.assertRaises(Refused, msg=(cmd, payload)) as refused:
            netlink.ask(cmd, payload, flags)
        self.assertEqual(errno.errorcode[refused.exception.errno], errno.errorcode[code],
                         (cmd, payload))

    def test_malformed(self):
        """Each attribute too short, too long, without its end, unknown, in the wrong place."""
        netlink = self.netlink()
        before = {knob["knob"]: knob["value"] for knob in oae(self.a, "-j", "get").json}
        peer = attr(PEER, bytes(6))
        for code, cmd, payload in (
                (errno.EINVAL, LINK_CLOSE, b""),
                (errno.EINVAL, LINK_CLOSE, attr(VC, b"\0")),
                (errno.ERANGE, LINK_CLOSE, attr(PEER, bytes(5))),
                (errno.ERANGE, LINK_CLOSE, attr(PEER, bytes(7))),
                (errno.EINVAL, LINK_CLOSE, peer + attr(VC, b"")),
                (errno.EINVAL, LINK_CLOSE, peer + attr(PORT, b"va")),
                (errno.EINVAL, LINK_CLOSE, peer + attr(PORT, "x" * 16)),
                (errno.EINVAL, LINK_CLOSE, peer + attr(4, "OPEN")),
                (errno.EINVAL, LINK_CLOSE, peer + attr(99, b"")),
                (errno.EINVAL, LINK_CLOSE, peer + b"\x03\0\x03\0"),
                (errno.EINVAL, PATH_SET, b""),
                (errno.EINVAL, PATH_SET, peer + attr(4, "va")),
                (errno.EINVAL, PATH_SET, peer + attr(4, "va") + attr(6, "best")),
                (errno.ENOENT, PATH_SET, peer + attr(4, "nowhere") + attr(6, "avoid")),
                (errno.ERANGE, PATH_SET, peer + attr(4, "va") + attr(6, "avoid") + attr(5, bytes(5))),
                (errno.EINVAL, PATH_SET, peer + attr(4, "va") + attr(6, "avoid") + attr(7, b"")),
                (errno.EINVAL, KNOB_GET, b""),
                (errno.EINVAL, KNOB_GET, attr(NAME, "x" * 64)),
                (errno.EINVAL, KNOB_GET, attr(NAME, b"verbose")),
                (errno.EINVAL, KNOB_SET, b""),
                (errno.EINVAL, KNOB_SET, attr(SETTING, b"")),
                (errno.EINVAL, KNOB_SET, attr(SETTING, [attr(NAME, "verbose")])),
                (errno.EINVAL, KNOB_SET, attr(SETTING, [attr(VALUE, "1")])),
                (errno.EINVAL, KNOB_SET, attr(NAME, "verbose") + attr(VALUE, "1")),
                (errno.EINVAL, KNOB_SET,
                 attr(SETTING, b"".join((attr(NAME, "verbose"), attr(VALUE, "1"))))),
                (errno.EINVAL, KNOB_SET,
                 attr(SETTING, [attr(NAME, "verbose"), attr(VALUE, "1" * 4096)])),
                (errno.EINVAL, KNOB_SET,
                 attr(SETTING, [attr(NAME, "verbose"), attr(VALUE, "1"), attr(9, b"")])),
                (errno.EINVAL, PORT_ADD, b""),
                (errno.EINVAL, PORT_ADD, attr(NAME, "")),
                (errno.EINVAL, PORT_ADD, attr(NAME, "va,vb")),
                (errno.EINVAL, PORT_DEL, attr(NAME, "a b")),
                (errno.EINVAL, PORT_DEL, attr(NAME, "x" * 16)),
                (errno.EOPNOTSUPP, 99, b""),
                (errno.EOPNOTSUPP, LINK_GET, b"")):
            self.refused(netlink, code, cmd, payload)
        for cmd in PORT_GET, STATS_GET:
            self.refused(netlink, errno.EINVAL, cmd, attr(1, b""), 0x300)
        self.refused(netlink, errno.ERANGE, LINK_GET, attr(PEER, bytes(5)), 0x300)
        after = {knob["knob"]: knob["value"] for knob in oae(self.a, "-j", "get").json}
        for one in before, after:
            del one["stats"]
        self.assertEqual(after, before)

    def test_random(self):
        """Bytes at random: the kernel says no, and goes on."""
        netlink, dice = self.netlink(), random.Random(18)
        for _ in range(times(500)):
            payload = b"".join(
                attr(dice.choice((1, 2, 3, 4, 5, 9)) | dice.choice((0, 0, NESTED)),
                     dice.choice((b"", b"verbose\0", b"va", bytes(6), dice.randbytes(4),
                                  attr(1, "verbose") + attr(2, "9"), b"\xff" * dice.randrange(99))))
                for _ in range(dice.randrange(4)))
            if payload and not dice.randrange(4):
                payload = payload[:-dice.randrange(1, len(payload) + 1)]
            try:
                netlink.ask(dice.randrange(12), payload, dice.choice((4, 4, 0x300, 0x304)))
            except Refused as refused:
                self.assertNotEqual(refused.errno, errno.ENOMEM)
        self.assertEqual(re.sub("=.*", "", oae(self.a, "get", "verbose").out), "verbose\n")
