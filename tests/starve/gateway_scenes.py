# SPDX-License-Identifier: GPL-2.0
"""Gateways while memory lacks: loading, serving, learning, forwarding, unloading.

    host x --- zone 1 --- gateway g1 ===== wan ===== gateway g2 --- zone 2 --- host y
"""

import errno
import itertools
from pathlib import Path

import gateway
from gateway import Gateway
from link_scenes import Links
from oaenl import Netlink, attr
from oaetest import Cable, Host, load, unload
from patience import SLOW
from starving import Events, Finding, Ledger, Scene, both_ways, counted, patiently

LISTS = ("10.1.0.1+fd01::1,10.1.0.2+fd01::2", "fd01::1+10.1.0.1,fd01::2+10.1.0.2")
KNOBS = {"hello_ms": int(100 * max(SLOW, 1)), "refresh_ms": 500, "node_life_ms": 60000}


class Gateways:
    """Two zones of one host each; modoaeip comes and goes, modoae stays."""

    name = "modoaeip"

    def __init__(self):
        gateway.modprobe(*gateway.NEEDS[:2])
        self.x, self.y = Host("x"), Host("y")
        self.g1, self.g2 = Gateway("g1"), Gateway("g2")
        self.gateways = [self.g1, self.g2]
        self.inside = (Cable(self.x, "eth0", self.g1, "zone"),
                       Cable(self.y, "eth0", self.g2, "zone"))
        self.wan = Cable(self.g1, "wan", self.g2, "wan")
        for n, g in enumerate(self.gateways, 1):
            g.configure("wan", g.address("wan", f"10.1.0.{n}/24"),
                        g.address("wan", f"fd01::{n}/64"))
        self._vcs = itertools.cycle(range(1, 250))
        self._lists = itertools.cycle(LISTS)
        self.scenes = [self.loading, self.namespace, self.knobs, self.netlink, self.serving,
                       self.forwarding]
        self.together = []

    def up(self):
        """Loaded, and each host can be reached from the other zone."""
        load()
        load(module=gateway.MODULE)
        for host, peer in ((self.x, self.inside[1].mac_a), (self.y, self.inside[0].mac_a)):
            host.knobs(dead_ms=60000, keepalive_ms=50, stall_max_us=50000, linger_ms=300,
                       deadline_ms=int(700 + 300 * SLOW), use_gw=1, dev="eth0", target=peer)
        self._serve()

    def _serve(self):
        for g in self.gateways:
            g.knobs(**KNOBS, gwips=LISTS[0], dev="zone")
        patiently(self._known, "the gateways to know both hosts")

    def _known(self):
        macs = {cable.mac_a for cable in self.inside}
        try:
            return all(macs <= set(g.where()) for g in self.gateways)
        except OSError as e:            # reading wants memory, too
            if e.errno != errno.ENOMEM:
                raise
            return False

    def down(self):
        """Unloaded, in time."""
        for name in ("modoaeip", "modoae"):
            def gone(name=name):
                try:
                    unload(name)
                except BlockingIOError:
                    return False
                return True
            patiently(gone, f"{name} to be free")
        if Path("/proc/net/modoaeip").exists():
            raise Finding("unloaded, and something of it is there")

    def counted(self):
        """The counters of all four, those of both modules."""
        return counted([self.x, self.y, *self.gateways])

    def works(self):
        """Both ways, and everybody is known."""
        patiently(self._known, "the gateways to know both hosts", 15)
        both_ways(self.x, self.y)

    # Scenes.

    def loading(self):
        """insmod; nothing is left if it is refused."""
        scene = Scene()
        patiently(lambda: unload("modoaeip") is None, "modoaeip to be free")
        yield scene
        scene.attempt(load, module=gateway.MODULE, hello_ms=200, dev="", gwips="10.1.0.1")
        if Path("/sys/module/modoaeip").exists():
            unload("modoaeip")
        elif Path("/proc/net/modoaeip").exists():
            raise Finding("refused, and something of it is there")
        yield scene
        load(module=gateway.MODULE)
        self._serve()

    namespace = Links.namespace
    _first_port = Links._first_port             # pylint: disable=protected-access
    _unshare = staticmethod(Links._unshare)     # pylint: disable=protected-access

    def knobs(self):
        """A value that is refused is as if it had never been written."""
        scene = Scene()
        yield scene
        for name, value in (("dev", ""), ("dev", "zone"), ("gwips", LISTS[1]), ("gwips", LISTS[0]),
                            ("shutdown", 1), ("shutdown", 0), ("port", 40000), ("port", 34997),
                            ("hello_ms", KNOBS["hello_ms"])):
            scene.set_knob(self.g1, name, value)
        for read in (self.g1.mactbl, self.g1.zones, self.g1.stats):
            scene.attempt(read)
        scene.attempt(self.g1.knob, "mactbl")
        yield scene
        self.g1.knobs(port=34997, gwips=LISTS[0], dev="zone", shutdown=0)

    def netlink(self):
        """Requests and dumps of netlink. One that is refused has set nothing."""
        scene, netlink = Scene(), Netlink(self.g1, "oaegw")
        listener = Netlink(self.g1, "oaegw")
        listener.join("gateway")        # shutdown and gwips are events
        events = Events(self.gateways, "oaegw", 3)
        yield scene
        # A knob that fails undoes those set before it: the last, dev, undoes all the others.
        for knobs in ({"gwips": LISTS[1], "port": "40000", "hello_ms": "900", "dev": ""},
                      {"shutdown": "1", "gwips": LISTS[0]},
                      {"shutdown": "0", "port": "34997", "dev": "zone"}):
            scene.set_knobs(self.g1, lambda settings: netlink.ask(2, settings), knobs)
        scene.attempt(netlink.ask, 1, attr(1, "gwips"))
        scene.attempt(netlink.dump, 1)
        scene.attempt(netlink.ask, 3)
        yield scene
        events.close(scene)
        netlink.close()
        listener.close()
        self.g1.knobs(**KNOBS, shutdown=0, port=34997, gwips=LISTS[0], dev="zone")

    def serving(self):
        """It begins to serve when an address comes, and learns; without being told twice."""
        scene = Scene()
        yield scene
        self.g1.sh("ip addr del 10.1.0.1/24 dev wan; ip addr add 10.1.0.1/24 dev wan")
        self._lapse()
        yield scene
        patiently(self._known, "the gateway to serve again", 15)

    def _lapse(self):
        """Until g1 has come as far as it gets: a few periods of g2, told in two ways, since what
        one of them wants may be what is refused."""
        def said():
            return self.g2.stat("hello_tx") + self.g2.stat("control_tx")
        before = said()
        patiently(lambda: said() >= before + 8, "some periods of the other gateway")

    def forwarding(self):
        """Traffic both ways, over IPv4 and IPv6, with tables that are learnt anew."""
        scene = Scene()
        for g in self.gateways:
            g.knob("gwips", LISTS[1])
        patiently(self._known, "the gateways to know both hosts, over IPv6")
        ledgers = Ledger(scene), Ledger(scene)
        vc = next(self._vcs)
        for host in (self.x, self.y):
            host.read_each()
        yield scene
        self._send(ledgers, vc)
        for g in self.gateways:
            scene.attempt(g.knob, "gwips", LISTS[0])
        try:
            patiently(self._known, "", 0.5)
        except AssertionError:
            pass
        self._send(ledgers, vc)
        self._lapse()
        yield scene
        for ledger, host in zip(ledgers, (self.y, self.x)):
            Links._collect(ledger, host.read_each)  # pylint: disable=protected-access
        self.g1.knob("gwips", LISTS[0])
        self.g2.knob("gwips", LISTS[0])

    def _send(self, ledgers, vc):
        for ledger, host in zip(ledgers, (self.x, self.y)):
            for size in (100, 20000):
                ledger.send(lambda data, host=host: host.write(data, vc=vc), size)
