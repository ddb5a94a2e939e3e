# SPDX-License-Identifier: GPL-2.0
"""The rows of tests/bench/aims: what is measured, how, and what it should come to.

Row: a name; where: a guest of two processors, or a pair of guests (pair2: of two each); how: a function of (guest or pair,
Effort, Taken); MB of memory; seconds after which it is given up; rounds, and for each measurement
seconds that warm up and seconds that count; figures.

Figure: a key of Taken.values, a list of a value a round whose median counts; what it is; an aim, or
None: said for comparison.
"""

from collections import namedtuple

import rowcable as cable
import rowmany
import rowneck as neck
import rowpair as pair
import rowpath as path
import rowwan as wan

WINDOW = 64                 # transactions under way, but where a row says otherwise

Row = namedtuple("Row", "name about where how mem limit rounds warm seconds figures")
Figure = namedtuple("Figure", "key text aim", defaults=(None,))
Aim = namedtuple("Aim", "how bound")


def least(bound):
    """It should be that, or more."""
    return Aim("at least", bound)


def most(bound):
    """It should be that, or less."""
    return Aim("at most", bound)


def row(name, about, how, figures, mem=1024, limit=300, rounds=5, warm=0.5, seconds=1.5, where="guest"):
    """A row, most of whose settings are those of others."""
    # pylint: disable=too-many-arguments
    return Row(name, about, where, how, mem, limit, rounds, warm, seconds, figures)


def neck_figures(key, what, aims=True):
    """What is to be said of senders of one kind at a bottleneck."""
    return (Figure(f"{key} share", f"{what}: payload / rate of the bottleneck", least(0.9) if aims else None),
            Figure(f"{key} jain", f"{what}: Jain's index of the senders", least(0.95) if aims else None),
            *((Figure(f"{key} froze", f"{what}: freezes per 100 transactions", most(1)),)
              if aims else ()))


def failover_figures():
    """Of each contender and kind of cut."""
    names = {"oae": "/dev/oae", "tipc": "TIPC, two bearers", "bond": "TCP over bonding"}
    return (Figure("pulled trips", "pulled: the 99th percentile / round trip", most(3)),
            Figure("silent trips", "silent: (99th - stall time) / round trip", most(3)),
            *(Figure(f"{key} {how} {what}", f"{name}, {how}: {what}, ms")
              for how in path.HOW for key, name in names.items() for what in ("p50", "p99", "max")),
            Figure("told p50", "pulled: the kernel says it has no carrier, p50, ms"),
            Figure("told p99", "pulled: the kernel says it has no carrier, p99, ms"),
            *(Figure(f"{key} trip", f"{name}: round trip, µs") for key, name in names.items()))


def dying_figures():
    """Of each contender and kind of cut."""
    names = {"oae": "/dev/oae", "tipc": "TIPC", "bond": "TCP over bonding"}
    return tuple(figure for key, name in names.items() for figure in (
        Figure(f"{key} usual", f"{name}: before the cut, Mbit/s"),
        *(Figure(f"{key} {how} {what}", f"{name}, {how}: {text}") for how in ("nothing", *path.HOW)
          for what, text in (("worst", "worst 100 ms, Mbit/s"), ("lost", "lost, ms of its rate")))))


FLOOD = Figure("flood", "a flood of UDP: frames / rate of the bottleneck")

ROWS = (
    row("kernel", "A 64 B transaction in the kernel, from offer to commit, against a bare echo",
        cable.kernel, rounds=7, figures=(
            Figure("w1", "transaction / echo, window 1, all queued", most(1.3)),
            Figure("wn", "transaction / echo, the window, one at a time", most(1.3)),
            Figure("echo", "echo, µs"),
            Figure("us", "transaction, µs"))),
    *(row(name, f"64 B messages a second, one link, queued; two hosts of one kernel, {who}",
          cable.small(steered), figures=(
              Figure("wn", "messages a second"),
              Figure("/ w1", "/ window 1, not packed", least(10)),
              Figure("/ cable", "/ TIPC SEQPACKET, over the cable", least(1)),
              Figure("/ tipc", "/ TIPC SEQPACKET, past the cable", least(1)),
              Figure("/ udp", "/ UDP, what is read", least(1)),
              Figure("w1", "window 1, not packed, a second"),
              Figure("cable", "TIPC over the cable, a second"),
              Figure("tipc", "TIPC past the cable, a second"),
              Figure("udp", "UDP, read a second"),
              Figure("udp lost", "UDP, lost, percent")))
      for name, steered, who in (("small", True, "each receives on its own processor"),
                                 ("veth", False, "the sender's processor receives"))),
    row("mtu1500", "64 KB transactions, one link, MTU 1500, against TCP",
        cable.mtu1500, seconds=2, limit=400, figures=(
            Figure("/ off", "/ TCP, both with offloads off", least(1.5)),
            Figure("/ on", "/ TCP, both with offloads on", least(0.9)),
            Figure("pipe / off", "oae pipe / TCP, both with offloads off", least(1.5)),
            Figure("pipe / on", "oae pipe / TCP, both with offloads on"),
            Figure("pipe off", "oae pipe, offloads off, Mbit/s"),
            Figure("pipe on", "oae pipe, offloads on, Mbit/s"),
            Figure("oae off", "offloads off, Mbit/s"),
            Figure("tcp off", "TCP, offloads off, Mbit/s"),
            Figure("oae on", "offloads on, Mbit/s"),
            Figure("tcp on", "TCP, offloads on, Mbit/s"))),
    row("mtu9000", "64 KB transactions, one link, MTU 9000, against TCP",
        cable.mtu9000, seconds=2, figures=(
            Figure("/ on", "/ TCP, both with offloads on", least(0.9)),
            Figure("pipe / on", "oae pipe / TCP, both with offloads on", least(1)),
            Figure("pipe on", "oae pipe, Mbit/s"),
            Figure("oae on", "offloads on, Mbit/s"),
            Figure("tcp on", "TCP, offloads on, Mbit/s"))),
    *(row(f"loss{percent}", f"64 KB transactions, one link, {percent} % of the frames of either end lost",
          cable.loss(percent), seconds=3, limit=400, figures=(
              Figure("/ tcp", "/ TCP", least(bound)),
              Figure("/ tcp big", "/ TCP, where 64 KB are lost or not as one frame"),
              Figure("oae", "Mbit/s"),
              Figure("tcp", "TCP, Mbit/s"),
              Figure("tcp big", "TCP, 64 KB as one frame, Mbit/s")))
      for percent, bound in ((1, 1), (10, 3))),
    row("wan", "64 KB transactions over 20 ms and two gateways",
        wan.wan, rounds=3, warm=3, seconds=4, limit=400, figures=(
            Figure("oae / limit", "/ (window × 64 KB / 20 ms)", least(0.7)),
            Figure("/ tcp", "/ TCP", least(1)),
            Figure("few / limit", "window 8: / (8 × 64 KB / 20 ms)"),
            Figure("oae", "Mbit/s"),
            Figure("few", "window 8, Mbit/s"),
            Figure("tcp", "TCP, Mbit/s"))),
    row("pair", "64 B messages a second, one link, queued; two guests on a cable",
        pair.pair_small, where="pair", figures=(
            Figure("wn", "messages a second"),
            Figure("/ w1", "/ window 1, not packed", least(8)),
            Figure("/ tipc", "/ TIPC SEQPACKET"),
            Figure("/ udp", "/ UDP, what is read"),
            Figure("w1", "window 1, not packed, a second"),
            Figure("tipc", "TIPC, a second"),
            Figure("udp", "UDP, read a second"),
            Figure("udp lost", "UDP, lost, percent"))),
    row("steered", "64 B messages a second, 16 links, one queue; two guests of two processors",
        pair.steered, where="pair2", limit=400, figures=(
            Figure("two / one", "RPS on two processors / on one", least(1.6)),
            Figure("two", "on two, messages a second"),
            Figure("one", "on one, messages a second"))),
    row("words", "FETCH_ADD, one a transaction; two guests on a cable, against rdma_rxe",
        pair.words, where="pair", limit=500, figures=(
            Figure("/ rxe", "a second / rxe's best", least(2)),
            Figure("lat / rxe", "latency / ib_atomic_lat, both polled", most(1)),
            Figure("lat asleep / rxe", "latency of a program that sleeps / ib_atomic_lat"),
            Figure("one link / rxe", "a second, on one link / rxe's best"),
            Figure("oae", "a second"),
            Figure("rxe", "rxe, a second"),
            Figure("lat", "latency, polled, µs"),
            Figure("lat asleep", "latency of a program that sleeps, µs"),
            Figure("rxe lat", "ib_atomic_lat, µs"))),
    row("incast", "16 senders, one receiver behind 100 Mbit/s and a short queue",
        neck.incast, rounds=3, warm=2, seconds=5, limit=500, figures=(
            *neck_figures("short", "1,400 B"), *neck_figures("long", "64 KB"),
            *neck_figures("tcp", "TCP", aims=False), FLOOD)),
    row("ways", "Two links of different round trips through one bottleneck of 100 Mbit/s",
        neck.two_ways, rounds=3, warm=2, seconds=5, figures=(
            Figure("oae share", "payload / rate of the bottleneck"),
            Figure("oae far / near", "the farther one / the nearer one"),
            Figure("tcp share", "TCP: payload / rate of the bottleneck"),
            Figure("tcp far / near", "TCP: the farther one / the nearer one"), FLOOD)),
    row("beside", "A link beside a TCP connection through one bottleneck of 100 Mbit/s",
        neck.beside, rounds=3, warm=2, seconds=5, figures=(
            Figure("oae share", "both together / rate of the bottleneck"),
            Figure("oae mine", "the link's share"),
            Figure("oae other", "the TCP connection's share"),
            Figure("tcp mine", "a second TCP connection's share in place of the link"),
            Figure("tcp other", "the TCP connection's share beside that"), FLOOD)),
    row("failover", "A cable fails under a program that writes 64 B at a time: until the next is committed",
        path.failover, limit=2400, figures=failover_figures()),
    row("dying", "A cable fails under a stream of 64 KB messages",
        path.dying, warm=1, limit=1200, figures=dying_figures()),
    row("spread", "64 links over two cables of 100 Mbit/s, and over one",
        path.spread, rounds=3, warm=3, seconds=5, limit=1200, figures=(
            Figure("two / one", "payload over two / over one", least(1.8)),
            Figure("two", "over two, Mbit/s"),
            Figure("one", "over one, Mbit/s"),
            Figure("flood", "floods of UDP over both: frames / rate of both"))),
    row("back", "A cable that failed is back: until it is used again; and one that comes and goes",
        path.back, limit=900, figures=(
            *(Figure(f"{how} {what}", f"{how}: {text}, in keepalive times", most(2))
              for how in path.HOW for what, text in (("p50", "the median"), ("max", "the longest"))),
            Figure("known", "pulled: the kernel says it has its carrier, median"),
            Figure("turns", "comes and goes for 30 s: turns of the link", most(22)),
            Figure("cuts", "comes and goes for 30 s: so often"))),
    row("many", "100,000 links between two hosts of one kernel",
        rowmany.many, mem=2600, limit=600, figures=(
            Figure("hot", "a transaction's frames: on one of them / the only one", most(1.2)),
            Figure("cost", "a transaction's frames: on each in turn / the only one", most(1.2)),
            Figure("bytes", "memory of an idle link at an end, bytes", most(1024)),
            Figure("alone", "a transaction on the only link, µs"),
            Figure("first", "a transaction, always on the same of them, µs"),
            Figure("spread", "a transaction, each on another link, µs"),
            Figure("open", "to open them all, s"),
            Figure("close", "to close them all, ports released 60 at a time, s"))),
)

# What is compared, and what each of them promises.
PROMISES = (
    ("/dev/oae", "each message once, in order, whole (a digest of 64 bits, computed by the processor), and "
     "the sender is told of each that the peer has it; all that counts here was"),
    ("TIPC SEQPACKET", "in order and whole, retransmitted; the sender is not told"),
    ("UDP", "nothing; what is read counts, with what was lost beside it"),
    ("TCP", "bytes in order, retransmitted, no boundaries; the sender is not told. One connection of "
     "iperf3, cubic; at bottlenecks of a program that writes 64 KB at a time"),
    ("rdma_rxe", "each operation once, the result comes back; its programs poll"),
)
FAIR = """\
By turns, in the same guest, on the same devices; each warms up before it counts. Of two programs
each has a processor of its own, sender and receiver of all that is compared alike; in a pair of
guests each guest has one. Payload is what the receiver has read. Ratios are taken round by round;
the median of the rounds counts. `window 1, not packed` is one
transaction of a link under way at a time."""
