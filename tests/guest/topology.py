# SPDX-License-Identifier: GPL-2.0
"""The topologies that most tests have: a cable between two hosts, a script at its end, a switch."""

from oaepeer import Wire
from oaetest import Cable, OaeTest

# Nothing happens by itself.
CALM = {"stranger_pps": 100000, "stall_max_us": 10000000, "stall_min_us": 1000000,
        "keepalive_ms": 600000, "dead_ms": 3600000}


class OneCable(OaeTest):
    """
        host a             host b
        va ----------------- vb
    """

    names, devices = ("a", "b"), ("va", "vb")
    mtu = 1500
    ports = True            # both devices are bound
    targets = False         # and what is written goes to the other
    kind = Cable

    @classmethod
    def build(cls):
        hosts = [cls.host(name) for name in cls.names]
        for name, host in zip(cls.names, hosts):
            setattr(cls, name, host)
        cls.cable = cls.kind(hosts[0], cls.devices[0], hosts[1], cls.devices[1], mtu=cls.mtu)
        for n, (host, peer) in enumerate(zip(hosts, (cls.cable.mac_b, cls.cable.mac_a))):
            if cls.ports:
                cls.cable.bind(n)
            if cls.targets:
                host.knob("target", peer)


class OneScript(OaeTest):
    """
        host a                       AF_PACKET
        va --------------------------- vp
    """

    ports = False           # va is bound

    @classmethod
    def build(cls):
        cls.a, cls.p = cls.host("a"), cls.host("p")
        cls.cable = Cable(cls.a, "va", cls.p, "vp")
        if cls.ports:
            cls.a.add_port("va")
        cls.wire = Wire(cls.p, "vp")
        cls.addClassCleanup(cls.wire.close)


class OneSwitch(OaeTest):
    """
        host a     host b              host sw
        va --+     vb --+
             |          |
             pa ------- pb ------ ... (br0)
    """

    members = ()            # (name of a host, its device, the switch's)

    @classmethod
    def build(cls):
        cls.switch = switch = cls.host("sw")
        switch.sh("ip link add br0 type bridge; ip link set br0 up")
        cls.hosts, cls.cables = [], []
        for name, dev, port in cls.members:
            host = cls.host(name)
            cls.hosts.append(host)
            cls.cables.append(Cable(host, dev, switch, port))
            switch.set_master(port, "br0")
        cls.macs = [cable.mac_a for cable in cls.cables]
