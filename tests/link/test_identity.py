# SPDX-License-Identifier: GPL-2.0
"""Two hosts have one link on a channel, whichever of their ports and addresses it is opened by,
and it goes on when these change or go."""

import os
import random
import select
import time

import oaewire as oae
from faults import Traffic
from oaedev import OaeFile
from oaepeer import Peer, Wire
from oaetest import wait_for
from patience import SLOW, times
from test_paths import KEEPALIVE, TwoCables, passed

SAME = "note_peer_new", "note_down", "note_gone", "note_unconfirmed", "unknown"


class OneLink(TwoCables):
    """Whoever opens it, and by which addresses."""

    def links(self):
        """The links of both hosts, by port and peer."""
        return [[(row["port"], row["peer"]) for row in host.tags()] for host in (self.a, self.b)]

    def test_by_either(self):
        """Opened by one address, it is what is meant by the other, at either end."""
        self.known()
        self.a.write(b"first", target=f"va/{self.first.mac_b}", vc=0)
        self.a.write(b"second", target=f"wa/{self.second.mac_b}", vc=0)
        self.assertEqual([self.b.read_one(), self.b.read_one()], [b"first", b"second"])
        self.b.write(b"back", target=f"wb/{self.second.mac_a}", vc=0)
        self.assertEqual(self.a.read_one(), b"back")
        self.assertEqual(self.links(), [[("va", self.first.mac_b)], [("vb", self.first.mac_a)]])
        # Another channel is another link.
        self.a.write(b"other", target=f"wa/{self.second.mac_b}", vc=1)
        self.assertEqual(self.b.read_one(), b"other")
        self.assertEqual(len(self.a.tags()), 2)

    def test_both_at_once(self):
        """Each opens it by another cable, at the same time."""
        for n in range(times(8)):
            self.known()
            for cable in (self.first, self.second):
                cable.netem(f"delay {random.choice((0, 1, 5))}ms")
            one = self.a.start_write(b"from a", target=f"va/{self.first.mac_b}", vc=0)
            other = self.b.start_write(b"from b", target=f"wb/{self.second.mac_a}", vc=0)
            self.assertEqual((one.result(10 * SLOW), other.result(10 * SLOW)), (6, 6), n)
            self.assertEqual((self.a.read_one(), self.b.read_one()), (b"from b", b"from a"))
            self.assertEqual([len(links) for links in self.links()], [1, 1], n)
            # A target whose peer is still being asked would open the link again.
            for host in (self.a, self.b):
                host.knobs(target="", shutdown=1)
            wait_for(lambda: not self.a.tags() and not self.b.tags(), "the link to close")
            for host in (self.a, self.b):
                host.knob("shutdown", 0)

    def test_not_opened(self):
        """Whoever has a link to the peer, and does not open it, puts off no SYNC from elsewhere."""
        for vc in range(4):
            self.known()
            before = self.a.stat("id_conflict")
            with OaeFile.to(self.a, self.first.mac_b, vc=vc, port="va"):
                self.b.write(b"at once", target=f"wb/{self.second.mac_a}", vc=vc)
                self.assertEqual(self.a.stat("id_conflict"), before)
            self.assertEqual(self.a.read_one(), b"at once")

    def test_opened_by_strangers(self):
        """With paths=1 each pair of addresses has a link of its own, as before."""
        for host in (self.a, self.b):
            host.knob("paths", 1)
        self.known()
        self.a.write(b"first", target=f"va/{self.first.mac_b}", vc=0)
        self.a.write(b"second", target=f"wa/{self.second.mac_b}", vc=0)
        self.assertEqual(len(self.a.tags()), 2)
        self.assertEqual({self.b.read_one(), self.b.read_one()}, {b"first", b"second"})


    def test_one_takes_no_paths(self):
        """One end takes no other paths: it has a link for each pair of addresses."""
        self.b.knob("paths", 1)
        self.known()
        self.a.write(b"first", target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"first")
        self.assertEqual(self.b.start_write(b"back", target=f"wb/{self.second.mac_a}",
                                            vc=0).result(5 * SLOW), 4)
        self.assertEqual(self.a.read_one(), b"back")

    def test_closed_with_unread(self):
        """A tag that stays for what is unread is not the link, if there is one elsewhere."""
        self.known()
        self.b.write(b"unread", target=f"vb/{self.first.mac_a}", vc=0)
        self.b.close_tag(self.first.mac_a)
        wait_for(lambda: not self.b.tags(), "the link to close")
        self.b.write(b"second", target=f"wb/{self.second.mac_a}", vc=0)
        self.assertEqual(self.a.start_write(b"back", target=f"va/{self.first.mac_b}",
                                            vc=0).result(5 * SLOW), 4)
        self.assertEqual(self.b.read_one(), b"back")
        self.assertEqual({self.a.read_one(), self.a.read_one()}, {b"unread", b"second"})


class AtWork(TwoCables):
    """A link that is at work."""

    def traffic(self):
        """Messages both ways. Whom they are for is said by an id, which stays."""
        self.known()
        for host, other in ((self.a, self.b), (self.b, self.a)):
            host.knob("target", f"id:{other.knob('id')}")
        traffic = Traffic(self, self.end_a, self.end_b)
        for end in (self.end_a, self.end_b):
            traffic.send(end, 1000000, streams=3)
        traffic.moved(20, 60 * SLOW)
        return traffic

    def same(self, before):
        """The same link: neither end has met a new one."""
        for host, stats in zip((self.a, self.b), before):
            after = host.stats()
            for name in SAME:
                self.assertEqual(stats[name], after[name], (host.name, name))
        self.assertEqual([len(self.a.tags()), len(self.b.tags())], [1, 1])

    def stats(self):
        """The counters of both."""
        return [host.stats() for host in (self.a, self.b)]


class Changes(AtWork):
    """Addresses and ports of a link that is at work."""

    def test_address(self):
        """The own port's address changes, and the other one's, again and again."""
        self.link()
        self.addCleanup(self.a.sh, f"ip link set va address {self.first.mac_a}")
        self.addCleanup(self.b.sh, f"ip link set wb address {self.second.mac_b}")
        before, traffic = self.stats(), self.traffic()
        for n in range(times(3)):
            self.a.sh(f"ip link set va address 02:0a:e0:77:00:{n:02x}")
            traffic.moved(20, 60 * SLOW)
            self.b.sh(f"ip link set wb address 02:0a:e0:78:00:{n:02x}")
            traffic.moved(20, 60 * SLOW)
        self.same(before)
        # Nothing came from an address before the other end was asked from there.
        for now, stats in zip(self.stats(), before):
            self.assertEqual(now["note_nolink"], stats["note_nolink"])
        traffic.moved(20, 60 * SLOW)
        self.nothing_lost(traffic)

    def test_port_released(self):
        """The own port is released: the link is one by the other port from then on."""
        self.link()
        before, traffic = self.stats(), self.traffic()
        moved = self.a.stat("links_moved")
        self.a.knob("dev", "-va")
        traffic.moved(20, 60 * SLOW)
        self.assertEqual(self.a.stat("links_moved"), moved + 1)
        self.assertEqual(self.a.tag()["port"], "wa")
        self.a.knob("dev", "+va")
        self.found(self.a)
        self.found(self.b)
        self.known()
        self.a.knob("dev", "-wa")
        traffic.moved(20, 60 * SLOW)
        self.assertEqual(self.a.tag()["port"], "va")
        self.same(before)
        traffic.moved(20, 60 * SLOW)
        self.nothing_lost(traffic)

    def test_poll(self):
        """A file of noc_debug that has sent by a link polls that, wherever it is now."""
        self.link()
        fd = self.a.open(os.O_WRONLY | os.O_NONBLOCK, f"va/{self.first.mac_b}", 0)
        self.addCleanup(os.close, fd)
        self.addCleanup(self.a.knob, "sndq", self.a.knob("sndq"))
        os.write(fd, b"by va")
        self.assertEqual(self.b.read_one(), b"by va")
        self.a.knob("dev", "-va")
        self.assertEqual(self.poll(fd), select.POLLOUT)
        self.second.cut()
        self.a.knob("sndq", 1)
        queued = 0
        with self.assertRaises(BlockingIOError):
            for queued in range(100):
                os.write(fd, b"by wa")
        self.assertEqual(self.poll(fd), 0)
        self.second.mend()
        self.assertEqual({self.b.read_one() for _ in range(queued)}, {b"by wa"})

    def test_port_refuses_nobody(self):
        """As long as it hears frames, it says nothing about a link that has left it."""
        self.link()
        wire = Wire(self.a, "va")
        self.addCleanup(wire.close)
        # A link whose end is not confirmed, so the port is there for longer.
        Peer(wire, self.first.mac_b, vc=5, mac="02:66:00:00:00:05").open()
        self.b.knobs(accept="none", linger_ms=int(1000 * SLOW))
        self.addCleanup(self.b.knob, "accept", "any")
        self.second.netem("delay 30ms")
        before, refused = self.a.stats(), self.b.stat("not_accepted")
        self.b.knob("dev", "-vb")
        self.assertEqual(self.b.stat("not_accepted"), refused)
        self.same_carries()
        for name in ("note_gone", "note_peer_new", "tags_gone"):
            self.assertEqual(before[name], self.a.stat(name), name)

    def bound_anew(self):
        """Its own port is bound anew at b, which lets nobody in, and then the second cable is cut."""
        for host in (self.a, self.b):
            host.knob("keepalive_ms", 600000)   # so none asks by the own path meanwhile
        self.b.knobs(accept="none", discover=0)
        self.addCleanup(self.b.knob, "accept", "any")
        self.b.knob("dev", "-vb")
        self.same_carries()
        before = [(host, host.stats()) for host in (self.a, self.b)]
        self.b.knob("dev", "+vb")
        self.second.cut()
        # It may be gone, and that is found below.
        wait_for(lambda: not self.a.tags() or not self.b.tags() or
                 (self.a.used_path(), self.b.used_path()) == ("va", "vb"),
                 "the link to go on by the first", 10 * SLOW)
        self.second.mend()
        self.same_carries()
        for host, stats in before:
            for name in ("note_gone", "note_peer_new", "tags_gone", "not_accepted"):
                self.assertEqual(stats[name], host.stat(name), (host.name, name))

    def test_port_bound_anew(self):
        """The peer has left the own path, and is there once more, and knows nothing of it."""
        self.link()
        self.bound_anew()

    def test_port_bound_anew_beside(self):
        """The same while the second is in use: nothing has failed by the own path."""
        self.link()
        self.rank("preferred", "wa")
        wait_for(lambda: (self.a.used_path(), self.b.used_path()) == ("wa", "wb"),
                 "both to use the second", 10 * SLOW)
        self.found(self.a)
        self.bound_anew()

    def test_closed_beside(self):
        """What a holds when it closes comes, though nobody has the link at the own path any more."""
        self.link()
        self.rank("preferred", "wa")
        wait_for(lambda: (self.a.used_path(), self.b.used_path()) == ("wa", "wb"),
                 "both to use the second", 10 * SLOW)
        for host in (self.a, self.b):
            host.knobs(keepalive_ms=600000, stall_max_us=10000000, stall_min_us=1000000)
        self.b.knob("discover", 0)
        self.b.knob("dev", "-vb")
        self.same_carries()
        self.b.knob("dev", "+vb")
        # Once b has committed, a does not know it for half a second.
        self.second.netem("delay 500ms", (1,))
        lost = self.a.stat("note_held_lost")
        self.b.write(b"held", target=f"wb/{self.second.mac_a}", vc=0)
        self.a.close_tag(self.first.mac_b)
        wait_for(lambda: not self.a.tags() or self.a.tag()["state"] == "CLOSED", "the link to close", 10 * SLOW)
        self.assertEqual(self.a.stat("note_held_lost"), lost)
        self.assertEqual(self.a.read_one(), b"held")

    def same_carries(self):
        """It carries; the addresses of the first cable still mean this link."""
        self.a.write(b"there", target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"there")

    def test_port_deleted(self):
        """The device of the own port goes."""
        self.a.sh("ip link add link va name mv0 type macvlan && ip link set mv0 up")
        self.addCleanup(self.a.sh, "ip link del mv0 2>/dev/null || true")
        self.a.knob("dev", "+mv0")
        self.a.write(b"begin", target=f"mv0/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"begin")
        self.found(self.a, 3)
        self.found(self.b, 3)
        self.assertEqual(self.a.tag()["port"], "mv0")
        before, traffic = self.stats(), self.traffic()
        self.a.sh("ip link del mv0")
        traffic.moved(20, 60 * SLOW)
        self.assertIn(self.a.tag()["port"], ("va", "wa"))
        self.same(before)
        traffic.moved(20, 60 * SLOW)
        self.nothing_lost(traffic)

    def test_all_go(self):
        """If all ports are released together the link closes."""
        self.link()
        self.a.knob("dev", "")
        self.assertEqual(self.a.tags(), [])
        wait_for(lambda: not self.b.tags(), "the other end to close", 10 * SLOW)


class Single(AtWork):
    """Hosts with one cable only."""

    def setUp(self):
        super().setUp()
        self.a.knob("dev", "va")
        self.b.knob("dev", "vb")

    def test_address(self):
        """The only port has another address: the same link, and nothing is lost."""
        self.addCleanup(self.a.sh, f"ip link set va address {self.first.mac_a}")
        self.a.write(b"begin", target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"begin")
        before = [host.stats() for host in (self.a, self.b)]
        traffic = self.traffic()
        for n in range(times(4)):
            traffic.moved(20, 60 * SLOW)
            self.a.sh(f"ip link set va address 02:0a:e0:77:00:{n:02x}")
        traffic.moved(20, 60 * SLOW)
        self.same(before)
        traffic.moved(20, 60 * SLOW)
        self.nothing_lost(traffic)

    def test_address_no_pause(self):
        """It settles before, for two seconds if it must, and not any more once it goes on."""
        self.a.knob("stall_max_us", 1000000)
        self.addCleanup(self.a.sh, f"ip link set va address {self.first.mac_a}")
        self.a.write(b"begin", target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"begin")
        traffic = self.traffic()
        pauses = []
        for n in range(4):
            traffic.moved(20, 60 * SLOW)
            self.a.sh(f"ip link set va address 02:0a:e0:77:00:{n:02x}")
            start = time.monotonic()
            traffic.moved(20, 60 * SLOW)
            pauses.append(time.monotonic() - start)
        # A slow machine, or a lost probe, may make one of them long; settling made all.
        self.assertLess(min(pauses), 1, pauses)
        self.nothing_lost(traffic)

    def with_traffic(self):
        """A link that has traffic, and whose ends know each other's ids."""
        for host, dev, mac in ((self.a, "va", self.first.mac_a), (self.b, "vb", self.first.mac_b)):
            self.addCleanup(host.sh, f"ip link set {dev} address {mac}")
        self.a.write(b"begin", target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"begin")
        before = [host.stats() for host in (self.a, self.b)]
        traffic = self.traffic()
        passed(3 * KEEPALIVE / 1000 * SLOW, "both timers")
        return before, traffic

    def rename(self, mac_a, mac_b):
        """Both have another address before either hears of the other's."""
        self.first.netem("delay 300ms")
        sent = [host.stat("node_sent") for host in (self.a, self.b)]
        self.a.set_mac("va", mac_a)
        self.b.set_mac("vb", mac_b)
        # The delayed frames are lost with the delay, and the next HELLO may come later than dead_ms.
        for host, before in zip((self.a, self.b), sent):
            wait_for(lambda host=host, before=before: host.stat("node_sent") > before,
                     f"{host.name} to say its new address")
        passed(0.6, "what was under way")
        self.first.netem(None)

    def test_both_addresses(self):
        """Both ends have other addresses at the same time."""
        before, traffic = self.with_traffic()
        for n in range(3):
            self.rename(f"02:0a:e0:77:00:{n:02x}", f"02:0a:e0:78:00:{n:02x}")
            traffic.moved(20, 60 * SLOW)
        self.same(before)
        traffic.moved(20, 60 * SLOW)
        self.nothing_lost(traffic)

    def test_addresses_swapped(self):
        """Each end has the address that the other had."""
        before, traffic = self.with_traffic()
        self.rename(self.first.mac_b, self.first.mac_a)
        traffic.moved(20, 60 * SLOW)
        self.same(before)
        traffic.moved(20, 60 * SLOW)
        self.nothing_lost(traffic)

    def test_two_paths(self):
        """The address changes again and again where there is room for two paths only."""
        for host in (self.a, self.b):
            host.knob("paths", 2)
        before, traffic = self.with_traffic()
        for n in range(4):
            self.b.sh(f"ip link set vb address 02:0a:e0:78:00:{n:02x}")
            traffic.moved(20, 20 * SLOW)
        self.same(before)
        traffic.moved(20, 60 * SLOW)
        self.nothing_lost(traffic)

    def test_another_cable(self):
        """The only cable is out, and then another one is plugged in: the link goes on."""
        self.a.write(b"begin", target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"begin")
        before = [host.stats() for host in (self.a, self.b)]
        for host in (self.a, self.b):
            wait_for(host.neighbours, "the peer to be a neighbour")
        self.first.cut()
        self.a.knob("dev", "+wa")
        self.b.knob("dev", "+wb")
        self.carries()
        for host, stats in zip((self.a, self.b), before):
            self.assertEqual(stats["note_peer_new"], host.stat("note_peer_new"))


class Reboot(TwoCables):
    """A peer that has forgotten everything, while a cable is out."""

    def forget(self):
        """Host b begins anew, by its second port alone."""
        self.b.knobs(linger_ms=0)
        # The one that the link does not use first: else it may go over to that in between.
        for cable in (self.second, self.first):
            cable.netem("loss 100%")
        self.b.knob("dev", "")
        self.first.netem(None)
        self.second.netem(None)
        self.first.cut()

    def test_by_the_path_in_use(self):
        """The new incarnation comes by the path that the link has used: heard at once."""
        self.link()
        self.first.cut()
        self.carries()
        self.assertEqual(self.a.used_path(), "wa")
        before = self.a.stat("id_conflict")
        self.forget()
        self.b.knob("dev", "wb")
        self.b.write(b"anew", target=f"wb/{self.second.mac_a}", vc=0)
        self.assertEqual(self.a.read_one(10 * SLOW), b"anew")
        self.assertEqual((len(self.a.tags()), self.a.stat("id_conflict")), (1, before))

    def test_from_elsewhere(self):
        """It comes by another one: heard when the old one was silent for long enough."""
        for host in (self.a, self.b):
            host.knob("dead_ms", int(800 * SLOW))
        self.link()
        before = self.a.stat("id_conflict")
        self.forget()
        self.b.knob("dev", "wb")
        self.b.write(b"anew", target=f"wb/{self.second.mac_a}", vc=0)
        self.assertEqual(self.a.read_one(10 * SLOW), b"anew")
        self.assertEqual(len(self.a.tags()), 1)
        self.assertGreaterEqual(self.a.stat("id_conflict"), before)

    def test_put_off(self):
        """It comes by another one, and is expected: it is not answered as fast as it asks."""
        self.link()
        self.a.knobs(target=f"id:{self.b.knob('id')}", dead_ms=int(60000 * SLOW))
        self.b.knobs(linger_ms=0, dead_ms=int(500 * SLOW))
        # The one that the link does not use first: else it may go over to that in between.
        for cable in (self.second, self.first):
            cable.netem("loss 100%")
        self.b.knob("dev", "")
        self.second.netem(None)
        self.b.knobs(dev="wb", dead_ms=int(60000 * SLOW))
        before = self.a.stat("id_conflict")
        writer = self.b.start_write(b"anew", target=f"wb/{self.second.mac_a}", vc=0)
        wait_for(lambda: self.a.stat("id_conflict") > before, "it to be put off", 10)
        before, begin = self.a.stat("id_conflict"), time.monotonic()
        passed(1, "a second")
        self.assertLess((self.a.stat("id_conflict") - before) / (time.monotonic() - begin),
                        3 * int(self.a.knob("stranger_pps")))
        self.a.knob("dead_ms", 500)
        self.assertEqual(self.a.read_one(30 * SLOW), b"anew")
        self.assertEqual(writer.result(), 4)

    def test_by_the_own_path(self):
        """It comes by the link's own path while another one is in use."""
        for host in (self.a, self.b):
            host.knob("dead_ms", int(800 * SLOW))
        self.link()
        self.first.cut()
        self.carries()
        self.assertEqual(self.a.used_path(), "wa")
        self.forget()
        # A host that has booted has another incarnation: nobody knows it by its other port.
        self.a.knob("discover", 0)
        self.a.knob("discover", 1)
        self.first.mend()
        self.second.cut()
        self.b.knob("dev", "vb")
        self.b.write(b"anew", target=f"vb/{self.first.mac_a}", vc=0)
        self.assertEqual(self.a.read_one(10 * SLOW), b"anew")
        self.assertEqual(len(self.a.tags()), 1)


class Anew(TwoCables):
    """A host whose only port is deleted, and is there again with another address, says the same id."""

    def setUp(self):
        super().setUp()
        self.a.knobs(dev="", dead_ms=int(60000 * SLOW))
        self.b.knob("dev", "vb")

    def anew(self, n):
        """A port with another address, which is heard before a link is opened there."""
        mac = f"02:0a:e0:09:00:{n:02x}"
        self.a.sh("ip link del mv 2>/dev/null || true")
        self.a.knob("target", "")       # else the link is opened before that
        self.a.sh(f"ip link add mv link va address {mac} type macvlan mode bridge;"
                  "ip link set mv up")
        self.addCleanup(self.a.sh, "ip link del mv 2>/dev/null || true")
        self.a.knob("dev", "mv")
        wait_for(lambda: mac in {row["mac"] for row in self.b.neighbours()}, "b to hear of it")
        return mac

    def carries_soon(self, data):
        """A transaction goes there; within a time that is far below dead_ms."""
        writer = self.a.start_write(data, target=f"mv/{self.first.mac_b}", vc=0)
        self.assertEqual(writer.result(10 * SLOW), len(data))
        self.assertEqual(self.b.read_one(), data)

    def test_soon(self):
        """It is heard soon, by the same link, and nothing is lost."""
        self.b.knob("dead_ms", int(60000 * SLOW))
        before = self.b.stats()
        for n in range(1, 4):
            self.anew(n)
            self.carries_soon(b"%d" % n)
            self.assertEqual(len(self.b.tags()), 1)
        self.assertEqual([self.b.stat(name) - before[name] for name in
                          ("note_peer_new", "note_down", "note_held_lost", "note_unconfirmed")],
                         [2, 0, 0, 0])

    def test_forgotten(self):
        """Where it was before is forgotten, and the link is found by where it is."""
        for n in range(1, 4):
            mac = self.anew(n)
            self.carries_soon(b"%d" % n)
        wait_for(lambda: [(row["peer"], row["to"]) for row in self.b.paths()] == [(mac, mac)],
                 "the old addresses to be forgotten", 20 * SLOW)
        self.b.write(b"back", target=f"vb/{mac}", vc=0)
        self.assertEqual(self.a.read_one(), b"back")


class Thief(TwoCables):
    """Somebody on the segment has heard the peer's id and incarnation, and says them as his own."""

    def stolen(self, caps):
        """He opens a link before the peer does, with these capabilities."""
        for host in (self.a, self.b):
            wait_for(lambda host=host: len(host.neighbours()) >= 2, "both to be neighbours")
        row = next(row for row in self.a.neighbours() if row["mac"] == self.first.mac_b)
        wire = Wire(self.b, "vb")
        self.addCleanup(wire.close)
        mac = "02:66:00:00:00:01"
        wire.send(oae.Frame(oae.HELLO, oae.mac_bytes("ff:ff:ff:ff:ff:ff"), oae.mac_bytes(mac),
                            payload=oae.node_body(row["id"], row["inc"])))
        wait_for(lambda: mac in {row["mac"] for row in self.a.neighbours()},
                 "the stranger to be a neighbour")
        thief = Peer(wire, self.first.mac_a, mac=mac, caps=caps).open()
        writer = self.a.start_write(b"secret", target=f"va/{self.first.mac_b}", vc=0)
        self.assertEqual(writer.result(10 * SLOW), 6)
        self.assertEqual(self.b.read_one(), b"secret")
        # The link probes him as long as it is there.
        heard = [thief.next(1.0) for _ in range(5)]
        self.assertNotIn(oae.OFFER, [frame.opcode for frame in heard if frame])

    def test_without_paths(self):
        """What is for the peer's address goes there."""
        self.stolen(0)

    def test_with_paths(self):
        """The same, of one that says that he takes paths, and answers no probe."""
        self.stolen(0x80)
