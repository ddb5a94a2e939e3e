# SPDX-License-Identifier: GPL-2.0
"""A frame may be built in the skb of one that was received: nothing is left of that in it."""

import socket
import struct
import time

import oaewire as oae
from bpf import SCHED_CLS, XDP, drop_with_metadata, metadata, pinned
from oaepeer import Peer, Wire
from oaetest import run, wait_for
from topology import CALM, OneCable, OneScript

SO_TXTIME = SCM_TXTIME = 61


class Later(Wire):
    """Whose frames are to depart in some minutes; a device without a queue sends them at once."""

    MINUTES = 10

    def __init__(self, host, dev):
        super().__init__(host, dev)
        self._sock.setsockopt(socket.SOL_SOCKET, SO_TXTIME,
                              struct.pack("iI", time.CLOCK_MONOTONIC, 0))

    def send(self, packet):
        at = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + self.MINUTES * 60 * 10**9
        self._sock.sendmsg([packet.pack()],
                           [(socket.SOL_SOCKET, SCM_TXTIME, struct.pack("Q", at))])


class Departure(OneScript):
    """
        host a                       AF_PACKET, with times of departure
        va --------------------------- vp
    """

    ports = True
    params = CALM

    def test_departure(self):
        """The peer's time of departure is not that of the answer, for which fq would keep it."""
        run("modprobe", "sch_fq")
        self.a.tc("qdisc replace dev va root fq")
        self.addCleanup(self.a.tc, "qdisc del dev va root")
        wire = Later(self.p, "vp")
        self.addCleanup(wire.close)
        peer = Peer(wire, self.cable.mac_a).open()
        for n in range(20):
            peer.offered(b"%d" % n)
            peer.commit()
        wait_for(lambda: self.a.stat("delivered") == 20, "all to be delivered")
        self.assertEqual(self.a.stat("tx_errors"), 0)


class Metadata(OneCable):
    """
        host a             host b
        va ----------------- vb      where XDP puts metadata before each frame
    """

    targets = True
    params = CALM
    BYTES = 32

    def filter(self, host, dev, hook):
        """What has metadata is dropped there, until the function that is returned is called."""
        host.tc(f"qdisc add dev {dev} clsact", f"filter add dev {dev} {hook} bpf da pinned {self.drop}")
        return lambda: host.tc(f"qdisc del dev {dev} clsact")

    def setUp(self):
        super().setUp()
        self.drop = pinned("oae_drop", SCHED_CLS, drop_with_metadata())
        self.addCleanup(self.drop.unlink)
        before = pinned("oae_metadata", XDP, metadata(self.BYTES))
        self.addCleanup(before.unlink)
        self.b.sh(f"ip link set vb xdpgeneric pinned {before}")
        self.addCleanup(self.b.sh, "ip link set vb xdpgeneric off")

    def test_metadata(self):
        """What both send has none: it would be read below the head of the skb."""
        seen = self.filter(self.b, "vb", "ingress")
        rx = self.b.stat("rx_frames")
        wire = Wire(self.a, "va")
        self.addCleanup(wire.close)
        wire.send(oae.Frame(oae.CLOSE, dst=oae.mac_bytes(self.cable.mac_b),
                            src=oae.mac_bytes(self.cable.mac_a)))
        wait_for(lambda: "dropped 1" in self.b.sh("tc -s qdisc show dev vb"), "one to have some")
        self.assertEqual(self.b.stat("rx_frames"), rx)
        seen()
        for host, dev in self.cable.ends:
            self.addCleanup(self.filter(host, dev, "egress"))
        self.set(self.a, deadline_ms=5000)
        for n in range(20):
            self.a.write(b"%d" % n)
            self.assertEqual([host.stat("tx_errors") for host in (self.a, self.b)], [0, 0])
            self.assertEqual(self.b.read_one(), b"%d" % n)
