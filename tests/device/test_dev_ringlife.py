# SPDX-License-Identifier: GPL-2.0
"""Rings of /dev/oae, whose links and programs come and go while they are full."""

import errno
import select
from pathlib import Path

import oaering as ring
from oaedev import Call, OaeFile
from oaering import RawRing
from oaetest import wait_for
from test_dev_rings import RingTest

BIG = bytes(65536)
SYS_POLL = 7


class RingLinks(RingTest):
    """One ring at host b that serves several links."""

    channel = 0

    def server(self, **sizes):
        """Rings of a file without a link of its own."""
        rings = RawRing(self.file(self.b), **sizes)
        self.addCleanup(rings.close)
        return rings

    def link(self, server=None):
        """Both ends of another link, the one at b on rings."""
        RingLinks.channel = RingLinks.channel % 255 + 1
        ends = []
        for host, peer in ((self.a, self.cable.mac_b), (self.b, self.cable.mac_a)):
            ends.append(OaeFile.to(host, peer, vc=RingLinks.channel, port=""))
            self.addCleanup(ends[-1].close)
        return ends[0], ends[1], server.add(ends[1]) if server else None

    @staticmethod
    def freed():
        """What was freed by kfree_rcu() is: its shrinker sees to that."""
        for _ in range(3):
            Path("/proc/sys/vm/drop_caches").write_text("2", encoding="ascii")

    def full(self, server, *clients):
        """Fill rx, but for less than one message; each client has one more delivered."""
        while True:
            before = server.word(ring.FILLED_TO)
            clients[0].write(BIG)
            wait_for(lambda: server.word(ring.FILLED_TO) > before or
                     server.word(ring.KERNEL_WANTS_ROOM), "it to be filled in, or rx to be full")
            if server.word(ring.FILLED_TO) == before:
                break
        for client in clients[1:]:
            client.write(BIG)


class Gone(RingLinks):
    """A link that is taken off."""

    def test_full(self):
        """While others wait for room: its last chunk is passed, and it goes."""
        server = self.server()
        small, end, _ = self.link(server)
        clients = [self.link(server)[0] for _ in range(3)]
        small.write(b"first")
        wait_for(lambda: server.word(ring.FILLED_TO), "it to be filled in")
        self.full(server, *clients)
        end.close()
        # Not a bell more than one, so the links that wait stay before it on the list.
        server.passed = ring.size_of(len(b"first"))
        server.pass_all()
        self.freed()
        for client in clients:
            server.bell()
            client.write(b"last")
        got = []
        while got.count(b"last") < len(clients):
            got += server.recv()
        self.assertEqual({bytes(8), b"last"}, {data[:8] for data in got})


class Closing(RingLinks):
    """The file of rings is closed."""

    def stuck(self, server):
        """The handle of a link to nobody: what is posted to it waits."""
        end = OaeFile.to(self.b, "02:0a:e0:ff:ff:01", vc=1)
        self.addCleanup(end.close)
        return server.add(end)

    def test_lingers(self):
        """While it waits for what was taken, what was not passed is read already, in order."""
        file = self.file(self.b)
        file.set_options(linger_ms=4000)
        server = RawRing(file)
        self.addCleanup(server.close)
        client, end, _ = self.link(server)
        server.put(b"nobody", self.stuck(server))
        server.publish()
        client.write(b"1")
        client.write(b"2")
        wait_for(lambda: server.word(ring.FILLED_TO) == 2 * ring.size_of(1), "both to be filled in")
        self.assert_errno(errno.EBUSY, end.read)
        closing = Call(server.close)
        got = []

        def reads():
            try:
                got.append(end.read())
            except OSError as error:
                if error.errno == errno.EBUSY:
                    return False
                if error.errno != errno.EAGAIN:
                    raise
            return True
        end.nonblock()
        wait_for(reads, "the file to have read() again")
        client.write(b"3")
        wait_for(lambda: reads() and len(got) == 3, "all to be read")
        self.assertEqual(got, [b"1", b"2", b"3"])
        closing.result()

    def test_polled(self):
        """A file whose link was on them: poll() tells of what is unread since before."""
        server = self.server()
        clients = [self.link(server) for _ in range(2)]
        self.full(server, *[client for client, _, _ in clients])
        _, end, _ = clients[1]
        self.assertEqual(end.poll(events=select.POLLIN), 0)
        polls = Call(end.poll, 60.0, select.POLLIN)
        wait_for(lambda: polls.sleeps(SYS_POLL), "it to wait")
        server.close()
        self.assertEqual(polls.result(2.0), select.POLLIN)
