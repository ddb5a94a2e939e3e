# SPDX-License-Identifier: GPL-2.0
"""Zones, gateways and the IP network between them, for the tests of modoaeip.

    host a1 --+                                                     +-- host b
              + zone 1 -- g1 -- r1 ======= wan ======= r2 -- g2 -- zone 2
    host a2 --+                                         |
                                                        +--- g3 -- zone 3 -- host c

A zone's Ethernet is a bridge in the namespace sw. Each gateway has a cable to a router, with an
address of its own there (10.100.N.1, fd64:N::1), and besides it the address that gwips names, for
which the routers have routes: so it can go to another gateway.
"""

import os
import subprocess
import time
from pathlib import Path

from faults import HostEnd
from oaeipwire import BEAT, BYE, LEAVING, Hello, Speaker, Watch, hello
from oaepeer import Wire
from oaetest import REPO, Cable, Host, ip, load, wait_for
from oaewire import HELLO, SYNC, Frame, mac_bytes
from patience import until
from shared import Shared

MODULE = Path(os.environ.get("OAEIP_MODULE") or REPO / "modoaeip" / "modoaeip.ko")
NEEDS = ("udp_tunnel", "ip6_udp_tunnel", "sch_netem", "act_gact", "cls_u32")
GWIPS = "10.1.0.1+fd01::1,fd02::1,10.3.0.1+fd03::1"
# So that little time goes by until things are noticed.
QUICK = {"hello_ms": 100, "refresh_ms": 500, "node_life_ms": 3000}
MANY = 1000000          # more than a test ever sends: it stops the senders
V4, V6 = "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"


def stop(traffic):
    """The senders stop."""
    traffic.stop()
    wait_for(lambda: not traffic.running(), "the senders to stop", 20)


def finish(traffic):
    """The same; what they were told is true, and nothing is lost. The Tally."""
    stop(traffic)
    return traffic.finish(exact=False)


def modprobe(*modules):
    """Load modules of the distribution's kernel."""
    subprocess.run(["modprobe", "-a", *modules], check=True)


class IpHost(Host):
    """A namespace with addresses and routes. Its devices say nothing unless they have one."""

    _links = 0

    def configure(self, dev, *lines):
        """Commands of ip about a device that is to have addresses; usable at once."""
        base = Path(f"/proc/sys/net/ipv6/conf/{dev}")
        with self:
            for name in ("accept_dad", "router_solicitations", "disable_ipv6"):
                (base / name).write_text("0", "ascii")
            ip(*lines)

    @staticmethod
    def address(dev, address):
        """The command that adds one."""
        whole = "" if "/" in address else "/128" if ":" in address else "/32"
        return f"addr add {address}{whole} dev {dev}" + (" nodad" if ":" in address else "")

    def add_address(self, dev, address):
        """Add one to a device that has some."""
        with self:
            ip(self.address(dev, address))

    def del_address(self, dev, address):
        """Let go of it."""
        with self:
            ip(f"addr del {address}/{128 if ':' in address else 32} dev {dev}")

    def sysctl(self, *settings):
        """name=value, with dots."""
        with self:
            for setting in settings:
                name, value = setting.split("=")
                Path("/proc/sys/" + name.replace(".", "/")).write_text(value, "ascii")


class Router(IpHost):
    """It forwards, and knows where each gateway's address is."""

    def __init__(self, name):
        super().__init__(name)
        self.sysctl(V4, V6, "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0",
                    "net.ipv4.icmp_ratelimit=0", "net.ipv6.icmp.ratelimit=0")

    @staticmethod
    def _towards(address, gateway):
        return f"route replace {address} via " + (
            gateway.link6 if ":" in address else gateway.link4)

    def attach(self, gateway, *addresses):
        """A gateway's cable is there: addresses on it, and routes to what the gateway has."""
        n = gateway.number
        dev = gateway.name
        self.configure(dev, self.address(dev, f"10.100.{n}.254/24"),
                       self.address(dev, f"fd64:{n:x}::ff/64"),
                       *(self._towards(address, gateway) for address in addresses))

    def towards(self, gateway, *addresses):
        """Packets for these addresses go to this gateway of mine."""
        with self:
            ip(*(self._towards(address, gateway) for address in addresses))


class Gateway(IpHost):
    """A gateway: knob(), stats() and what else reads files are modoaeip's."""

    module = "modoaeip"
    dev = "zone"

    def __init__(self, name):
        super().__init__(name)
        IpHost._links += 1
        self.number = self._links
        self.link4, self.link6 = f"10.100.{self.number}.1", f"fd64:{self.number:x}::1"
        # A path that is better again is noticed soon.
        self.sysctl("net.ipv6.route.mtu_expires=2")
        try:
            self.sysctl("net.ipv4.route.mtu_expires=2")
        except FileNotFoundError:       # before 5.18 there is one for all namespaces
            Path("/proc/sys/net/ipv4/route/mtu_expires").write_text("2", "ascii")

    def plug(self, router, *addresses):
        """A cable to a router, and the addresses that gwips names."""
        self.cable = Cable(self, "wan", router, self.name)
        n = self.number
        self.configure("wan", *(self.address("wan", a) for a in
                                (f"{self.link4}/24", f"{self.link6}/64", *addresses)),
                       f"route add default via 10.100.{n}.254",
                       f"route add default via fd64:{n:x}::ff")
        router.attach(self, *addresses)

    def serve(self, **knobs):
        """Begin."""
        self.knobs(**(QUICK | {"gwips": GWIPS} | knobs))
        self.knob("dev", self.dev)

    def zones(self):
        """/proc/net/modoaeip/zones: zone -> a dict, numbers as numbers."""
        head, *lines = self._proc("zones").splitlines()
        names = head.split()
        found = {}
        for line in lines:
            row = dict(zip(names, line.split(None, len(names) - 1)))
            for name in ("zone", "nodes", "mtu", "heard_ms", "tx_frames", "rx_frames"):
                if row[name] != "-":
                    row[name] = int(row[name])
            found[row["zone"]] = row
        return found

    def zone(self, number):
        """One of them."""
        return self.zones()[number]

    def state(self, number):
        """Of one of them; None in the moment in which it begins anew."""
        return self.zones().get(number, {}).get("state")

    def mine(self):
        """The zone that it serves, None standing by."""
        return next((n for n, row in self.zones().items() if row["state"] == "mine"), None)

    def mactbl(self):
        """/proc/net/modoaeip/mactbl: mac -> a dict."""
        head, *lines = self._proc("mactbl").splitlines()
        rows = [dict(zip(head.split(), line.split())) for line in lines]
        for row in rows:
            for name in ("zone", "age_ms", "left_ms"):
                row[name] = int(row[name])
        return {row["mac"]: row for row in rows}

    def where(self):
        """The same in short: mac -> (zone, where)."""
        return {mac: (row["zone"], row["where"]) for mac, row in self.mactbl().items()}

    def up_with(self, *zones):
        """Are these all heard?"""
        rows = self.zones()
        return all(n in rows and rows[n]["state"] == "up" for n in zones)


class GatewayTest(Shared):
    """Both modules loaded, and a switch that makes the zones."""

    one_cpu = False

    @classmethod
    def load_gateways(cls):
        """insmod modoaeip.ko."""
        load(module=MODULE)

    @classmethod
    def unload_gateways(cls):
        """rmmod modoaeip."""
        cls._unload("modoaeip")

    _modules = False        # have those of NEEDS been loaded?

    @classmethod
    def setUpClass(cls):
        if not GatewayTest._modules:
            modprobe(*NEEDS)
            GatewayTest._modules = True
        super().setUpClass()

    @classmethod
    def build(cls):
        """Of topologies that are built here: cls.load_gateways() first."""
        cls.load_gateways()
        cls.addClassCleanup(lambda: Path("/sys/module/modoaeip").exists()
                            and cls.unload_gateways())

    @classmethod
    def made(cls, host):
        """It goes with the class, unless it has gone before."""
        cls.addClassCleanup(lambda: host.name and host.close())
        return host

    @staticmethod
    def destroy(host):
        """ip netns del, now."""
        host.close()
        host.name = ""

    @classmethod
    def zone_cable(cls, zone, host, dev, mtu=1500):
        """Plug a host or a gateway into the Ethernet of a zone."""
        cable = Cable(host, dev, cls.sw, f"p-{host.name}", mtu=mtu)
        with cls.sw:
            lines = [f"link set p-{host.name} master br{zone}"]
            if not os.path.exists(f"/proc/sys/net/ipv4/conf/br{zone}"):
                lines.insert(0, f"link add br{zone} up type bridge mcast_snooping 0")
            ip(*lines)
        return cable

    @classmethod
    def new_host(cls, name, zone, **knobs):
        """A host in a zone, with the module on its device."""
        host = cls.made(Host(name))
        cls.plug_host(host, zone)
        host.knobs(**knobs)
        return host

    @classmethod
    def plug_host(cls, host, zone):
        """Its cable, and its port."""
        host.cable = cls.zone_cable(zone, host, "eth0")
        host.mac_address = host.cable.mac_a
        host.add_port("eth0")

    @classmethod
    def new_gateway(cls, name, zone, router, *addresses, **knobs):
        """A gateway of a zone behind a router, with these addresses."""
        gateway = cls.made(Gateway(name))
        gateway.plug(router, *addresses)
        cls.zone_cable(zone, gateway, "zone")
        gateway.knobs(verbose=1)
        gateway.serve(**knobs)
        return gateway


class ThreeZones(GatewayTest):
    """The topology at the top of this file."""

    host_knobs = {}

    @classmethod
    def build(cls):
        super().build()
        cls.sw = cls.made(Host("sw"))
        cls.build_wan()
        cls.g1 = cls.new_gateway("g1", 1, cls.r1, "10.1.0.1", "fd01::1")
        cls.g2 = cls.new_gateway("g2", 2, cls.r2, "fd02::1")
        cls.g3 = cls.new_gateway("g3", 3, cls.r2, "10.3.0.1", "fd03::1")
        cls.gateways = [cls.g1, cls.g2, cls.g3]
        cls.a1, cls.a2 = cls.new_host("a1", 1), cls.new_host("a2", 1)
        cls.b, cls.c = cls.new_host("b", 2), cls.new_host("c", 3)
        cls.hosts = {"a1": cls.a1, "a2": cls.a2, "b": cls.b, "c": cls.c}

    @classmethod
    def begin_class(cls):
        """No link is left of the class before, and all know each other."""
        cls.g1, cls.g2, cls.g3 = cls.gateways
        for host in cls.hosts.values():
            before = {name: host.knob(name) for name in cls.host_knobs}
            cls.addClassCleanup(host.knobs, **before)
            host.knobs(**cls.host_knobs)
            host.knob("shutdown", 1)
            wait_for(lambda host=host: not host.tags(), f"the links of {host.name} to go", 30, 0.01)
            host.read_all()
            host.knobs(shutdown=0, vci=0)
        cls.wait_known()

    @classmethod
    def build_wan(cls):
        """Two routers and the link between them."""
        cls.r1, cls.r2 = cls.made(Router("r1")), cls.made(Router("r2"))
        cls.wan = Cable(cls.r1, "wan", cls.r2, "wan")
        for n, (router, other) in enumerate(((cls.r1, 2), (cls.r2, 1)), 1):
            router.configure("wan", router.address("wan", f"10.9.0.{n}/24"),
                             router.address("wan", f"fd09::{n}/64"),
                             f"route add default via 10.9.0.{other}",
                             f"route add default via fd09::{other}")

    @classmethod
    def macs(cls, *names):
        """Addresses of hosts."""
        return [cls.hosts[name].mac_address for name in names]

    @classmethod
    def wait_known(cls, deadline=10):
        """Until every gateway knows every host, and every host its gateway."""
        macs = set(cls.macs(*cls.hosts))
        for gateway in cls.gateways:
            wait_for(lambda gateway=gateway: macs <= set(gateway.mactbl()),
                     f"{gateway.name} to know all", deadline, 0.01)
        for host in cls.hosts.values():
            wait_for(lambda host=host: ":" in host.knob("nhmac"),
                     f"{host.name} to know its gateway", deadline, 0.01)

    def fragments(self):
        """A watch for IP fragments on the WAN; at the end there must have been none."""
        watch = Watch(self.r1, "wan", fragments=True)
        self.addCleanup(watch.close)
        return watch

    @staticmethod
    def spread(traffic, end, target, count, links, **how):
        """So many transactions to a host, over so many links at once, a stream each."""
        for vc in range(links):
            end.host.knob("vci", vc)
            share = count * (vc + 1) // links - count * vc // links
            traffic.send(end, share, target=target, **how)
        end.host.knob("vci", 0)

    @classmethod
    def end(cls, name):
        """A host to send from."""
        return HostEnd(cls.hosts[name])


# What a gateway drops, and why: at most one of them for a frame or a datagram.
DROPS = ("not_mine", "bad_frame", "bad_source", "bad_mac", "bad_peer", "bad_encap", "bad_zone",
         "bad_control", "bad_ecn", "control_limit", "standby", "unknown_dst", "loop",
         "unreachable", "too_big", "table_full", "conflict", "own_claimed", "old_control",
         "no_memory", "tx_errors")


class Scripted(GatewayTest):
    """
        AF_PACKET at host h       gateway g of zone 1       gateways of zones 2 and 3 by hand,
        hz -------------------- zone   wan --------------- wan  and strangers: namespace w
                               10.1.0.1 fd01::1        10.2.0.1 (2), fd03::1 (3), 10.66.0.1
    """

    one_cpu = True
    gwips = "10.1.0.1+fd01::1,10.2.0.1,fd03::1,10.4.0.1"
    knobs = {"hello_ms": 200, "refresh_ms": 1000, "node_life_ms": 60000, "control_pps": 100000}

    @classmethod
    def build(cls):
        super().build()
        cls.h, cls.g, cls.w = (cls.made(kind(name)) for kind, name in
                               ((Host, "h"), (Gateway, "g"), (IpHost, "w")))
        cls.inside = Cable(cls.h, "hz", cls.g, "zone")
        cls.outside = Cable(cls.g, "wan", cls.w, "wan")
        cls.g.configure("wan", *(cls.g.address("wan", a) for a in ("10.1.0.1/8", "fd01::1/8")))
        cls.w.configure("wan", *(cls.w.address("wan", a) for a in
                                 ("10.2.0.1/8", "10.66.0.1/8", "fd02::1/8", "fd03::1/8")))
        cls.mac = cls.inside.mac_b
        cls.wire = Wire(cls.h, "hz")
        cls.addClassCleanup(cls.wire.close)
        cls.two = cls.speaker("10.2.0.1", 2)
        cls.three = cls.speaker("fd03::1", 3)
        cls.g.knobs(**cls.knobs)
        cls.g.knobs(gwips=cls.gwips, dev="zone")

    @classmethod
    def speaker(cls, address, zone, **how):
        """A gateway by hand, or a stranger."""
        speaker = Speaker(cls.w, address, zone, "fd01::1" if ":" in address else "10.1.0.1", 1,
                          **how)
        cls.addClassCleanup(speaker.close)
        return speaker

    def setUp(self):
        super().setUp()
        self.addCleanup(self.forget_all)
        for speaker in (self.two, self.three):
            speaker.restart()
        self.all_up()
        self.quiet()

    def all_up(self):
        """Both gateways by hand are heard; one that says nothing more is silent again after a while."""
        def heard():
            for speaker in (self.two, self.three):
                speaker.control(BEAT)
            return self.g.up_with(2, 3)
        wait_for(heard, "both gateways to be heard", interval=0.01)

    def forget_all(self):
        """Nothing of one test is left for the next."""
        for mac, row in self.g.mactbl().items():
            if row["where"] == "local":
                self.wire.send(hello(mac, self.mac, flags=LEAVING))
        for speaker in (self.two, self.three):
            speaker.control(BYE)
        wait_for(lambda: not self.g.mactbl(), "the table to be empty")
        self.quiet()

    def quiet(self):
        """What has come so far is forgotten."""
        for speaker in (self.two, self.three):
            speaker.heard()
        while self.wire.raw():
            pass

    _names = 0

    @classmethod
    def new_macs(cls, count=1):
        """Addresses of nodes that were never there before."""
        Scripted._names += count
        return [f"02:77:00:{n >> 16:02x}:{n >> 8 & 255:02x}:{n & 255:02x}"
                for n in range(cls._names - count, cls._names)]

    def all_are(self, macs, *where):
        """Are these all there? The table is read once: a gateway is heard no more after a while."""
        table = self.g.where()
        return all(table.get(mac) == where for mac in macs)

    def local(self, *macs):
        """These nodes say HELLO in the zone, and are known."""
        said = 0

        def known():
            nonlocal said
            # A gateway that has begun anew since would have asked, and been answered.
            if time.monotonic() > said + 1:
                for mac in macs:
                    self.wire.send(hello(mac, self.mac))
                said = time.monotonic()
            return self.all_are(macs, 1, "local")
        wait_for(known, "nodes of the zone to be known")
        return macs

    def remote(self, speaker, *macs, **how):
        """A gateway says that it has these, and they are known."""
        speaker.nodes(*macs, **how)
        wait_for(lambda: self.all_are(macs, speaker.zone, "remote"),
                 "nodes of the other zone to be known")
        return macs

    def to_zone(self, mac, deadline=5.0):
        """The next frame in the zone for a node, but for HELLO."""
        end = until(deadline)
        while True:
            raw = self.wire.raw(max(end - time.monotonic(), 0))
            if raw is None:
                raise AssertionError(f"nothing for {mac} within {deadline} s")
            frame = Frame.parse(raw)
            if frame.dst == mac_bytes(mac) and frame.opcode != HELLO:
                return frame

    def to_hello(self, wanted=lambda frame, hello: True, deadline=5.0):
        """The next HELLO in the zone that wanted() likes: frame and payload."""
        end = until(deadline)
        while True:
            raw = self.wire.raw(max(end - time.monotonic(), 0))
            if raw is None:
                raise AssertionError(f"no such HELLO within {deadline} s")
            frame = Frame.parse(raw)
            if frame.opcode == HELLO:
                said = Hello.parse(frame.payload)
                if wanted(frame, said):
                    return frame, said

    def counted(self, action, **counters):
        """action() makes these counters go up by just that, and nothing else is dropped."""
        before = self.g.stats()
        action()

        def grown():
            now = self.g.stats()
            return {name: now[name] - before[name] for name in {*DROPS, *counters}
                    if now[name] != before[name]}
        try:
            wait_for(lambda: all(grown().get(name, 0) >= n for name, n in counters.items()), "")
        except AssertionError as e:
            raise AssertionError(f"expected {counters}, counted {grown()}") from e
        self.assertEqual(grown(), {name: n for name, n in counters.items() if n})

    def sync(self):
        """Until all that was said to the gateway before has been dealt with."""
        before = self.g.stats()
        self.two.control(BEAT)
        self.wire.send(Frame(SYNC, dst=mac_bytes(self.mac), src=b"\2\0\0\0\0\1"))
        wait_for(lambda: self.g.stat("control_rx") > before["control_rx"]
                 and self.g.stat("zone_rx") > before["zone_rx"], "it to be dealt with")
