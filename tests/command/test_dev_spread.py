# SPDX-License-Identifier: GPL-2.0
"""oae spread: with RPS the links of one device go to several processors."""

import os
import socket
import unittest

from oaecmd import oae
from oaedev import OaeFile
from oaetest import Cable, OaeTest

LINKS, MESSAGES = 16, 12
SINCE = (6, 1)          # BPF_FLOW_DISSECTOR_CONTINUE
KERNEL = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])


def frames():
    """What each processor has taken from its queues so far."""
    with open("/proc/net/softnet_stat", encoding="ascii") as f:
        return [int(line.split()[0], 16) for line in f]


@unittest.skipIf(os.cpu_count() < 2, "needs two processors")
class Spread(OaeTest):
    """
        host a                          host b
        va ------------------------------ vb (RPS: two processors)
    """

    vc = 0

    @classmethod
    def build(cls):
        cls.a, cls.b = cls.host("a"), cls.host("b")
        cls.cable = Cable(cls.a, "va", cls.b, "vb")
        cls.cable.bind(0)
        cls.cable.bind(1)
        for host in cls.a, cls.b:
            host.knob("keepalive_ms", 600000)   # links that were there before are silent
        # What answers goes by the processor that has the question.
        cls.b.sh("unshare -m sh -c 'mount -t sysfs none /sys && "
                 "echo 3 > /sys/class/net/vb/queues/rx-0/rps_cpus'")
        cls.a.sh("ip addr add 192.0.2.1/24 dev va")
        cls.b.sh("ip addr add 192.0.2.2/24 dev vb")

    def setUp(self):
        super().setUp()
        self.addCleanup(oae, self.b, "spread", "off")

    def of_links(self, dev="", peer=None):
        """What share of the frames of 16 new links the less busy processor has."""
        Spread.vc += LINKS
        before = frames()
        for vc in range(self.vc - LINKS, self.vc):
            with OaeFile.to(self.a, peer or self.cable.mac_b, vc=vc, port=dev) as file:
                for n in range(MESSAGES):
                    file.write(b"message %d" % n)
        self.b.read_all()
        done = sorted(after - first for first, after in zip(before, frames()))
        return done[0] / sum(done)

    def of_datagrams(self):
        """The same of datagrams from 64 UDP ports."""
        with self.b:
            to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with to:
            to.bind(("192.0.2.2", 0))
            before = frames()
            for _ in range(64):
                with self.a:
                    by = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                with by:
                    for _ in range(8):
                        by.sendto(b"datagram", to.getsockname())
            done = sorted(after - first for first, after in zip(before, frames()))
        return done[0] / sum(done)

    def within(self, least, most, share, *args):
        """
        One of a few tries has such a share: 16 links are rarely uneven by chance, and something
        else may go on at the same time.
        """
        tries = []
        while not tries or not least <= tries[-1] <= most:
            self.assertLess(len(tries), 4, tries)
            tries.append(share(*args))

    def alone(self, share, *args):
        """One processor has nearly all."""
        self.within(0, 0.1, share, *args)

    def evenly(self, share, *args):
        """Either has a quarter."""
        self.within(0.25, 0.5, share, *args)

    def shown(self, host):
        """Is it on?"""
        return oae(host, "-j", "spread").json[0]["spread"]

    @unittest.skipIf(KERNEL < SINCE, "the kernel is older than Linux 6.1")
    def test_spread(self):
        """All on one processor without it, and on both with it; so it is with a VLAN's tag."""
        self.assertEqual(self.shown(self.b), "off")
        self.alone(self.of_links)
        oae(self.b, "spread", "on")
        self.assertEqual((self.shown(self.b), self.shown(self.a)), ("on", "off"))
        self.evenly(self.of_links)
        for host, dev in self.cable.ends:
            # The tag is in the frame, as a card without offload sends it.
            host.sh(f"ethtool -K {dev} txvlan off")
            host.sh(f"ip link add link {dev} name {dev}.5 type vlan id 5 && ip link set {dev}.5 up")
            self.addCleanup(host.sh, f"ip link del {dev}.5; ethtool -K {dev} txvlan on")
            host.add_port(f"{dev}.5")
            self.addCleanup(host.knob, "dev", dev)
        self.evenly(self.of_links, "va.5", self.b.mac("vb.5"))
        oae(self.b, "spread", "off")
        self.assertEqual(self.shown(self.b), "off")
        self.alone(self.of_links)

    @unittest.skipIf(KERNEL < SINCE, "the kernel is older than Linux 6.1")
    def test_others(self):
        """The kernel goes on to tell flows of IP apart; on is on, and off is off."""
        self.evenly(self.of_datagrams)
        for _ in range(2):
            oae(self.b, "spread", "on")
            self.evenly(self.of_datagrams)
        for _ in range(2):
            oae(self.b, "spread", "off")
        said = oae(self.b, "spread", "on", env={"LANG": "C"})
        self.assertEqual((said.out, said.err), ("", ""))

    @unittest.skipIf(KERNEL >= SINCE, "the kernel is not older than Linux 6.1")
    def test_refused(self):
        """An older kernel would dissect nothing else any more."""
        said = oae(self.b, "spread", "on", status=1)
        self.assertIn("needs Linux 6.1", said.err)
        self.assertEqual(self.shown(self.b), "off")
        self.evenly(self.of_datagrams)
