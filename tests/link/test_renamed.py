# SPDX-License-Identifier: GPL-2.0
"""A port's address changes while the peer is not reached: both ends live, and nothing is lost."""

import errno
import os

from oaedev import OaeFile
from oaetest import Cable, OaeTest, wait_for
from patience import SLOW

# Classic BPF: the opcode is COMMIT ? all : 0.
COMMITS = "4,48 0 0 15,21 0 1 8,6 0 0 4294967295,6 0 0 0"
NEW = "02:0a:e0:78:00:00"


class Renamed(OaeTest):
    """
        host a                 host b
        va -------------------- vb
    """

    params = {"discover": 1}
    patience = 60

    @classmethod
    def build(cls):
        cls.a, cls.b = cls.host("a"), cls.host("b")
        cls.cable = Cable(cls.a, "va", cls.b, "vb")
        for host, dev in ((cls.a, "va"), (cls.b, "vb")):
            host.knobs(dev=dev, keepalive_ms=1000, dead_ms=int(1500 * SLOW), linger_ms=0)

    def setUp(self):
        super().setUp()
        for host, dev in ((self.a, "va"), (self.b, "vb")):
            host.knobs(dev="", target="")
            host.knobs(dev=dev, keepalive_ms=1000, dead_ms=int(1500 * SLOW), linger_ms=0)
        self.addCleanup(self.b.sh, f"ip link set vb address {self.cable.mac_b}")
        self.before = self.lost()

    def held(self):
        """a has committed what b holds, and both are down; then b has another address, and they can meet."""
        self.a.write(b"begin", target=f"va/{self.cable.mac_b}", vc=0)
        self.assertEqual(self.b.read_one(), b"begin")
        self.a.sh("tc qdisc add dev va clsact; tc filter add dev va egress pref 1 protocol all "
                  f"bpf bytecode '{COMMITS}' action drop")
        self.a.write(b"in doubt")
        self.cable.netem("loss 100%")
        self.assertEqual(self.b.tag()["hold"], "held")
        for host in (self.a, self.b):
            wait_for(lambda host=host: host.tag()["state"] == "DOWN", "the link to be down", 20 * SLOW)
        self.b.sh(f"ip link set vb address {NEW}")
        self.a.sh("tc qdisc del dev va clsact")

    def lost(self):
        """What either has counted of losses, and of ends that began anew."""
        return [[host.stat(f"note_{name}") for name in
                 ("held_lost", "unconfirmed", "peer_new", "broken")] for host in (self.a, self.b)]

    def nothing_lost(self):
        """Neither takes the other for a new one, and b delivers."""
        self.assertEqual(self.b.read_one(), b"in doubt")
        self.assertEqual(self.lost(), self.before)

    def test_asks(self):
        """A program writes at once, so b asks from its new address before it has probed from there."""
        self.held()
        fd = self.b.open(target=f"vb/{self.cable.mac_a}", vc=0)
        self.addCleanup(os.close, fd)
        self.cable.netem(None)
        os.write(fd, b"from there")
        self.nothing_lost()
        self.assertEqual(self.a.read_one(), b"from there")

    def test_asked(self):
        """A program at a opens a link to the new address, which it does not get: it is the same node."""
        self.held()
        with OaeFile.to(self.a, NEW, vc=0) as file:
            self.cable.netem(None)
            with self.assertRaises(OSError) as caught:
                file.write(b"to the new address")
        self.assertEqual(caught.exception.errno, errno.ENOLINK)
        self.nothing_lost()

    def test_asked_again(self):
        """But if nothing would be lost with the link that is down, it opens."""
        with OaeFile.to(self.a, self.cable.mac_b, vc=0) as file:
            file.write(b"begin")
            self.assertEqual(self.b.read_one(), b"begin")
            os.fsync(file.fd)
        self.cable.netem("loss 100%")
        for host in (self.a, self.b):
            wait_for(lambda host=host: host.tag()["state"] == "DOWN", "the link to be down", 20 * SLOW)
        self.b.sh(f"ip link set vb address {NEW}")
        with OaeFile.to(self.a, NEW, vc=0) as file:
            self.cable.netem(None)
            self.assertEqual(file.write(b"to the new address"), 18)
        self.assertEqual(self.b.read_one(), b"to the new address")
