# SPDX-License-Identifier: GPL-2.0
"""What an address means that names no port, whoever gives it, on hosts with several ports."""

import errno
import itertools
import select
import sys
import time

from oaecmd import oae as oae_command
from oaedev import PERM_READ, PERM_WRITE, REVERSED, ST_DEAD, Call, OaeFile, read_op, write_op
from oaepeer import Wire
from oaetest import REPO, Cable, OaeTest, wait_for
from oaewire import HELLO, Frame, mac_bytes, node_body
from patience import SLOW

sys.path.insert(0, str(REPO / "lib"))
import oae      # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order

STRANGER, ITS_ID = "02:00:00:00:77:01", (1 << 48) + 7
USUAL = {"dev": "", "target": "", "vci": 0, "paths": 8, "linger_ms": 0, "keepalive_ms": 100,
         "discover": 0}


class TwoCables(OaeTest):
    """
        host a                 host b
        va -------------------- vb
        wa -------------------- wb
    """

    vc = 0

    @classmethod
    def build(cls):
        cls.a, cls.b = cls.host("a"), cls.host("b")
        cls.first = Cable(cls.a, "va", cls.b, "vb")
        cls.second = Cable(cls.a, "wa", cls.b, "wb")
        cls.wire = {dev: Wire(cls.b, dev) for dev in ("vb", "wb")}
        for wire in cls.wire.values():
            cls.addClassCleanup(wire.close)

    def setUp(self):
        super().setUp()
        TwoCables.vc += 10
        self.begin()
        self.addCleanup(self.begin)

    def begin(self):
        """No port, no link, no neighbour."""
        for host in (self.a, self.b):
            host.knobs(**USUAL)

    def every(self):
        """All that either host is told is dev=*; each hears the other at both ports."""
        for host in (self.a, self.b):
            host.knob("dev", "*")
        for host in (self.a, self.b):
            host.knob("discover", 1)
        for host in (self.a, self.b):
            wait_for(lambda host=host: len(host.neighbours()) == 2, f"{host} to hear both ports", 8)

    def port_of(self, peer, vc):
        """At which port of a a file is that is attached to an address."""
        with OaeFile.to(self.a, peer, vc=vc) as file:
            return file.status().port

    def by_noc_debug(self, peer, vc, data):
        """Written to noc_debug."""
        self.a.write(data, target=peer, vc=vc)

    def by_file(self, peer, vc, data):
        """By a file of /dev/oae."""
        with OaeFile.to(self.a, peer, vc=vc) as file:
            file.write(data)

    def by_command(self, peer, vc, data):
        """By the command, which uses liboae."""
        oae_command(self.a, "send", "-v", vc, peer, data=data)

    def by_python(self, peer, vc, data):
        """By the Python module."""
        with self.a:
            link = oae.Link(peer, vc)
        with link:
            link.send(data)

    def hello(self, dev, mac=STRANGER, id_=ITS_ID, mtu=1500):
        """A stranger is heard at b's end of a cable: at the other end of that."""
        self.wire[dev].send(Frame(HELLO, mac_bytes("ff:ff:ff:ff:ff:ff"), mac_bytes(mac),
                                  payload=node_body(id_, 1, mtu)))

    def heard(self):
        """How long ago the stranger was heard at each port of a."""
        return {row["port"]: row["heard_ms"] for row in self.a.neighbours()
                if row["mac"] == STRANGER}


class NoPort(TwoCables):
    """Where an address is that names no port."""

    def test_heard(self):
        """The port where it was heard, for all who send; so each of the peer's addresses works."""
        self.every()
        for n, send in enumerate((self.by_noc_debug, self.by_file, self.by_command, self.by_python)):
            for cable in (self.second, self.first):
                with self.subTest(send.__doc__, peer=cable.mac_b):
                    send(cable.mac_b, self.vc + n, b"no port")
                    self.assertEqual(self.b.read_one(), b"no port")
            # And that is one link.
            self.assertEqual([tag["port"] for tag in self.a.tags() if tag["vc"] == self.vc + n],
                             ["wa"])

    def test_low24(self):
        """24 bits stand under the OUI of each port."""
        self.every()
        self.a.sh("ip link set va address 52:54:00:00:00:01")
        self.addCleanup(self.a.sh, f"ip link set va address {self.first.mac_a}")
        low = self.second.mac_b.replace(":", "")[6:]
        for n, send in enumerate((self.by_noc_debug, self.by_command)):
            send(f"0x{low}", self.vc + n, b"24 bits")
            self.assertEqual(self.b.read_one(), b"24 bits")

    def begun(self, send, vc):
        """Somebody sends to the address behind the second port before that is heard."""
        call = Call(send, self.second.mac_b, vc, b"later")
        wait_for(lambda: any(tag["vc"] == vc for tag in self.a.tags()), "it to ask")
        self.assertEqual([tag["port"] for tag in self.a.tags() if tag["vc"] == vc], ["va"])
        return call

    def test_heard_later(self):
        """The first port, until the peer is heard at another one: then that, for all who send."""
        senders = self.by_noc_debug, self.by_file, self.by_command, self.by_python
        for host in (self.a, self.b):
            host.knob("dev", "*")
        calls = [self.begun(send, self.vc + n) for n, send in enumerate(senders)]
        # These wait for the peer to open the link; to the last one somebody has named the port.
        waiting, named = [OaeFile.to(self.a, self.second.mac_b, vc=self.vc + n) for n in (4, 5)]
        self.addCleanup(waiting.close)
        self.addCleanup(named.close)
        OaeFile.to(self.a, self.second.mac_b, vc=self.vc + 5, port="va").close()
        low = Call(self.by_noc_debug, "0x" + self.second.mac_b.replace(":", "")[6:], self.vc + 6,
                   b"later")
        self.every()
        for call in (*calls, low):
            call.result(10 * SLOW)
        for _ in range(len(senders) + 1):
            self.assertEqual(self.b.read_one(), b"later")
        wait_for(lambda: waiting.status().port == "wa", "it to be at the other port")
        self.assertEqual(named.status().port, "va")
        self.b.write(b"opened there", target=f"wb/{self.second.mac_a}", vc=self.vc + 4)
        self.assertEqual(waiting.read(), b"opened there")

    def test_path(self):
        """The link that has it as a proven path, whether that is heard now or not."""
        self.every()
        self.a.write(b"begin", target=f"va/{self.first.mac_b}", vc=self.vc)
        self.assertEqual(self.b.read_one(), b"begin")
        wait_for(lambda: sum(row["state"] == "good" for row in self.a.paths()
                             if row["vc"] == self.vc) == 2, "both paths")
        # Nobody hears anybody any more.
        for host in (self.a, self.b):
            host.knob("discover", 0)
            wait_for(lambda host=host: not host.neighbours(), "the neighbours to be forgotten")
        for send in self.by_noc_debug, self.by_file, self.by_command, self.by_python:
            send(self.second.mac_b, self.vc, b"the same link")
            self.assertEqual(self.b.read_one(), b"the same link")
        self.assertEqual([tag["peer"] for tag in self.a.tags() if tag["vc"] == self.vc],
                         [self.first.mac_b])
        # On another channel there is no such link.
        self.assertEqual(self.port_of(self.second.mac_b, self.vc + 1), "va")
        # It is that one which is closed, too.
        oae_command(self.a, "close", "-v", self.vc, self.second.mac_b)
        wait_for(lambda: not any(tag["vc"] == self.vc for tag in self.a.tags()), "it to close")

    def test_path_alone(self):
        """With paths=1, too, a link that is open is meant, at whichever port it is."""
        for host in (self.a, self.b):
            host.knobs(paths=1, dev="*")
        self.a.write(b"begin", target=f"wa/{self.second.mac_b}", vc=self.vc)
        self.assertEqual(self.b.read_one(), b"begin")
        self.by_file(self.second.mac_b, self.vc, b"the same")
        self.assertEqual(self.b.read_one(), b"the same")
        self.assertEqual([tag["port"] for tag in self.a.tags()], ["wa"])

    def test_listen(self):
        """What a listener is told of a peer is enough: its address and the channel."""
        for host in (self.a, self.b):
            host.knob("dev", "*")
        with OaeFile(self.b) as listener:
            listener.listen(vc=self.vc)
            with OaeFile.to(self.a, self.second.mac_b, vc=self.vc, port="wa") as file:
                file.write(b"whoever listens")
                peer, = listener.peers()
                with OaeFile.to(self.b, peer.peer, vc=peer.vc) as other:
                    self.assertEqual(other.status().port, "wb")
                    self.assertEqual(other.read(), b"whoever listens")

    def test_target(self):
        """A target that is heard only later is opened there, once it is."""
        self.a.knobs(dev="*", discover=1, vci=self.vc, target=self.second.mac_b)
        self.assertEqual(self.a.tag(vc=self.vc)["port"], "va")
        self.b.knobs(dev="*", discover=1)

        def there():
            return any(tag["port"] == "wa" and tag["state"] == "OPEN" for tag in self.a.tags())
        wait_for(there, "the link to open where it was heard", 8)
        self.a.write(b"there")
        self.assertEqual(self.b.read_one(), b"there")

    def test_last(self):
        """Of two ports that where it was heard last; of none the first, unless one is named."""
        self.a.knobs(dev="*", discover=1)
        self.assertEqual(self.port_of(STRANGER, self.vc), "va")
        for n, dev in enumerate(("wb", "vb", "wb"), 1):
            port = f"{dev[0]}a"
            for at in "va", "wa":
                wait_for(lambda at=at: self.heard().get(at) != 0, "a millisecond to pass")
            self.hello(dev)
            wait_for(lambda port=port: self.heard() and
                     min(self.heard().items(), key=lambda at: at[1])[0] == port, "it to be heard")
            with self.subTest(port=port):
                self.assertEqual(self.port_of(STRANGER, self.vc + n), port)
        with OaeFile.to(self.a, STRANGER, vc=self.vc, port="va") as file:
            self.assertEqual(file.status().port, "va")


    def test_id(self):
        """Of two ports where an id was heard that which carries more; at a port that is named, there."""
        self.a.knobs(dev="*", discover=1)
        for more, less in (("va", "wa"), ("wa", "va")):
            for port, mtu in ((more, 1500), (less, 1400)):
                self.hello(port.replace("a", "b"), mtu=mtu)
                wait_for(lambda port=port, mtu=mtu: mtu in [row["mtu"] for row in self.a.neighbours()
                                                            if row["port"] == port], "it to be heard")
            for name, where in ("", more), (f"{less}/", less):
                with self.subTest(name, more=more):
                    self.a.knobs(vci=self.vc, target=f"{name}id:{ITS_ID:x}")
                    self.assertEqual([tag["port"] for tag in self.a.tags()], [where])
                    self.a.knob("target", "")
                    wait_for(lambda: not self.a.tags(), "the link to go")


class Guess(TwoCables):
    """A link whose port is a guess, until its peer is heard."""

    def attach(self, peer=STRANGER, vc=None, **how):
        """A file of a that names no port; at which it is."""
        file = OaeFile.to(self.a, peer, vc=self.vc if vc is None else vc, nonblock=True, **how)
        self.addCleanup(file.close)
        return file

    def goes(self, file, port):
        """The file's link is, or gets, to a port."""
        wait_for(lambda: file.status().port == port, f"the link to be at {port}", 5)

    def test_order(self):
        """All that was written before the peer was heard arrives, in order, by whichever file."""
        for host in (self.a, self.b):
            host.knob("dev", "*")
        files = [self.attach(self.second.mac_b) for _ in range(3)]
        for n in range(12):
            files[n % 3].write(b"%d" % n)
        files.pop().close()
        self.every()
        self.assertEqual([self.b.read_one() for _ in range(12)], [b"%d" % n for n in range(12)])
        for file in files:
            self.assertEqual([x.result for x in file.collect_all(4)], [0] * 4)

    def test_again(self):
        """Said as before, but at another port than last: the link goes there."""
        self.a.knobs(dev="*", discover=1)
        self.hello("wb")
        wait_for(lambda: "wa" in self.heard(), "it to be heard")
        self.hello("vb")
        wait_for(lambda: "va" in self.heard(), "it to be heard there")
        file = self.attach()
        self.assertEqual(file.status().port, "va")
        self.hello("wb")
        self.goes(file, "wa")
        self.hello("vb")
        self.goes(file, "va")

    def test_whole(self):
        """What a file says to an address goes to no other, though somebody names 24 bits of it."""
        whole, other = "02:0a:e0:00:99:01", "52:54:00:00:99:01"
        self.a.knob("dev", "*")
        self.a.sh("ip link set wa address 52:54:00:00:00:01")
        self.addCleanup(self.a.sh, f"ip link set wa address {self.second.mac_a}")
        file = self.attach(whole)
        file.write(b"to nobody else")
        bits = Call(self.by_noc_debug, "0x009901", self.vc, b"24 bits")
        wait_for(lambda: self.a.tag(vc=self.vc)["queue"] == 1, "the second to wait")
        self.a.knob("discover", 1)
        self.hello("wb", other)
        # A link that goes by 24 bits alone does go there.
        self.a.knobs(target="", vci=self.vc + 1)
        later = Call(self.by_noc_debug, "0x009901", self.vc + 1, b"24 bits")
        wait_for(lambda: [tag["port"] for tag in self.a.tags() if tag["vc"] == self.vc + 1] == ["wa"],
                 "those to go there")
        status = file.status()
        self.assertEqual((status.port, status.peer), ("va", whole))
        self.a.knob("dev", "")
        self.assertNotIn("0", [call.error() for call in (bits, later)])

    def test_id(self):
        """Whoever names an id stays where that was heard."""
        self.a.knobs(dev="*", discover=1)
        self.hello("vb")
        wait_for(self.heard, "it to be heard")
        file = OaeFile(self.a)
        self.addCleanup(file.close)
        file.attach_id(ITS_ID, vc=self.vc)
        also, other = self.attach(), self.attach(vc=self.vc + 1)
        self.hello("wb", id_=ITS_ID + 1)
        self.goes(other, "wa")
        self.assertEqual([file.status().port, also.status().port], ["va", "va"])

    def test_port_gone(self):
        """It has moved, and its port goes: a file says where it was."""
        self.a.knobs(dev="*", discover=1)
        file = self.attach()
        self.assertEqual(file.status().port, "va")
        self.hello("wb")
        self.goes(file, "wa")
        self.a.knob("dev", "*,-wa")
        wait_for(lambda: file.status().flags & ST_DEAD, "the link to end", 5)
        self.assertEqual(file.status().port, "wa")

    def test_asked_first(self):
        """The peer opens the link before it has said HELLO: it is that of the file that waits."""
        for host in (self.a, self.b):
            host.knobs(dev="*")
        waits, asks = self.attach(self.second.mac_b), self.attach(self.second.mac_b, self.vc + 1)
        asks.write(b"from here, too")
        for n, file in enumerate((waits, asks)):
            self.assertEqual(file.status().port, "va")
            with OaeFile.to(self.b, self.second.mac_a, vc=self.vc + n, port="wb") as peer:
                peer.write(b"asked")
                wait_for(lambda file=file: file.poll() & select.POLLIN, "it to arrive")
                self.assertEqual((file.read(), file.status().port), (b"asked", "wa"))
                if n:
                    self.assertEqual(peer.read(), b"from here, too")
        self.assertEqual(len(self.a.tags()), 2)

    def test_asked_elsewhere(self):
        """But a link whose port somebody has named stays there."""
        for host in (self.a, self.b):
            host.knobs(dev="*")
        file = self.attach(self.second.mac_b)
        self.a.knobs(vci=self.vc, target=f"va/{self.second.mac_b}")
        named, also = (self.attach(self.second.mac_b, self.vc + 1, port=port) for port in ("va", ""))
        for n in range(2):
            self.b.write(b"at the other port", target=f"wb/{self.second.mac_a}", vc=self.vc + n)
            self.assertEqual(self.a.read_one(), b"at the other port")
        self.assertEqual([at.status().port for at in (file, named, also)], ["va"] * 3)

    def test_to_and_fro(self):
        """Whoever is heard here and there, and answers nowhere, keeps nobody waiting for longer."""
        self.a.knobs(dev="*", discover=1, dead_ms=1000)
        self.addCleanup(self.a.knob, "dead_ms", 5000)
        file, seen, ports = self.attach(), set(), itertools.cycle(("wb", "vb"))
        file.write(b"to nobody")
        begin = time.monotonic()

        def ended():
            # The HELLO before this one has had an interval to move the link.
            seen.add(file.status().port)
            self.hello(next(ports))
            return file.collect()
        outcome, = wait_for(ended, "it to be reversed", 5 * SLOW, interval=0.03)
        self.assertEqual((outcome.result, errno.errorcode[outcome.err]), (REVERSED, "ENOLINK"))
        self.assertGreaterEqual(time.monotonic() - begin, 0.9)
        self.assertEqual(seen, {"va", "wa"})

    def test_all_kinds(self):
        """A half, a verb, words that are exposed, and chunks of a ring, from before the peer was heard."""
        for host in (self.a, self.b):
            host.knob("dev", "*")
        half, verb, words = (self.attach(self.second.mac_b, self.vc + n) for n in range(3))
        words.expose(4096, 0, PERM_READ | PERM_WRITE)
        half.swap(b"from a")
        verb.verb(0, write_op(0, 7))
        with self.a:
            link = oae.Link(self.second.mac_b, self.vc + 3)
            ring = oae.Ring(link)
        self.addCleanup(link.close)
        self.addCleanup(ring.close)
        ring.reserve(5)[:] = b"chunk"
        ring.publish()
        peer = [OaeFile.to(self.b, self.second.mac_a, vc=self.vc + n, port="wb") for n in range(4)]
        for file in peer:
            self.addCleanup(file.close)
        peer[1].expose(4096, 0, PERM_READ | PERM_WRITE)
        self.every()
        self.assertEqual(peer[0].swap(b"from b"), b"from a")
        self.assertEqual([half.collect_all(1)[0].data, verb.collect_all(1)[0].result], [b"from b", 0])
        self.assertEqual(peer[1].settled(read_op(0)).old, [[7]])
        peer[2].verb(0, write_op(8, 9))
        self.assertEqual(words.settled(read_op(8)).old, [[9]])
        self.assertEqual(peer[3].read(), b"chunk")
        for file in half, verb, words:
            self.assertEqual(file.status().port, "wa")
