# SPDX-License-Identifier: GPL-2.0
"""A row of a wide area network: two zones, a gateway each, 10 ms each way between them.

    near [eth0] ---- [zone] g1 [wan] ------------ [wan] g2 [zone] ---- [eth0] far
    10.1.0.1      10.1.0.254  10.9.0.1      10.9.0.2  10.2.0.254       10.2.0.1

Frames of /dev/oae go through the tunnel of the gateways, TCP is routed by the same two hosts.
"""

from rowlib import BULK, MODULE, ROOT, SLOW, End, Failed, Space, batch, bulk, iperf, sh

GATEWAY = ROOT / "modoaeip" / "modoaeip.ko"
GATEWAY_KNOBS = "/sys/module/modoaeip/parameters"
MS = 10                     # each way
FEW = 8                     # transactions under way that this machine can have the network carry
BUFFER = 16777216           # bytes, of a link's reader and of a TCP connection's ends
WAN_MTU = 1600              # so that frames of 1500 bytes fit into the tunnel
# Frames that may wait for a processor of the guest; 1000 by itself. A veth device has no ring of its
# own, and a window of 64 KB transactions is thousands of frames, where TCP has one for 64 KB.
BACKLOG = 100000


def build(guest):
    """The hosts, and all that makes frames find their way."""
    sh(guest, "modprobe -a udp_tunnel ip6_udp_tunnel sch_netem; "
              f"sysctl -qw net.core.netdev_max_backlog={BACKLOG}")
    near, g1, g2, far = (Space(guest, name) for name in ("near", "g1", "g2", "far"))
    lines = ["link add wan netns g1 mtu {0} type veth peer name wan netns g2 mtu {0}".format(WAN_MTU)]
    ends = []
    for n, host, gateway in ((1, near, "g1"), (2, far, "g2")):
        mac = f"02:0a:e0:00:00:0{n}"
        lines += [f"link add eth0 netns {host.name} address {mac} type veth peer name zone "
                  f"netns {gateway}"]
        ends.append(End(host, "eth0", mac, f"10.{n}.0.1", cpu=n - 1))
    batch(guest, lines)
    for n, gateway in ((1, g1), (2, g2)):
        sh(gateway, f"ip addr add 10.{n}.0.254/24 dev zone; ip addr add 10.9.0.{n}/24 dev wan; "
                    "ip link set zone up; ip link set wan up; "
                    f"ip route add 10.{3 - n}.0.0/24 via 10.9.0.{3 - n}; "
                    "sysctl -qw net.ipv4.ip_forward=1; "
                    f"tc qdisc add dev wan root netem delay {MS}ms limit 100000")
    for n, end in enumerate(ends, 1):
        end.sh(f"ip addr add {end.address}/24 dev eth0; ip link set eth0 up; "
               f"ip route add default via 10.{n}.0.254; "
               f"sysctl -qw net.ipv4.tcp_rmem='4096 131072 {BUFFER}' "
               f"net.ipv4.tcp_wmem='4096 65536 {BUFFER}'")
    load(guest, ends, (g1, g2))
    return ends


def load(guest, ends, gateways):
    """The modules; until the gateways know both hosts, and the hosts their gateways."""
    ends[0].load(MODULE)
    ends[1].knobs(dev="eth0")
    sh(guest, f"insmod {GATEWAY}")
    for end in ends:
        end.knobs(use_gw=1, rcvbuf=BUFFER, sndq=256)
    for gateway in gateways:
        sh(gateway, f"echo zone > {GATEWAY_KNOBS}/dev; "
                    f"echo 10.9.0.1,10.9.0.2 > {GATEWAY_KNOBS}/gwips")
    for end in ends:
        try:
            end.machine.run("until grep -q : /sys/module/modoae/parameters/nhmac; do sleep 0.1; done",
                            check=True, timeout=30 * SLOW)
        except TimeoutError as error:
            raise Failed(f"{end.machine.name} does not hear its gateway") from error


def wan(guest, effort, taken):
    """Against what the window lets pass in a round trip, and against TCP."""
    ends = build(guest)
    for _ in range(effort.rounds):
        for key, window in (("oae", effort.window), ("few", FEW)):
            taken.add(key, bulk(*ends, effort._replace(window=window)))
            taken.values.setdefault(f"{key} / limit", []).append(
                taken.values[key][-1] * 1e6 / (window * BULK * 8 / (2 * MS / 1000)))
        taken.add("tcp", iperf(*ends, effort))
    taken.ratio("/ tcp", "oae", "tcp")
    taken.note(f"window {effort.window}: {effort.window} x 64 KB a round trip are "
               f"{effort.window * BULK * 8 / (2 * MS / 1000) / 1e6:.0f} Mbit/s, whether or not this "
               "machine can carry that without a delay")
