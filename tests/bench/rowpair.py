# SPDX-License-Identifier: GPL-2.0
"""Rows of two guests on a cable, of a processor each but for `steered`: see tests/bench/programs-pair."""

import contextlib
import statistics
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from rowlib import HERE, ROOT, TODAY, End, Stream, stream


def load(name):
    """A program that has no ending to import it by."""
    loader = SourceFileLoader(name.replace("-", "_"), str(HERE / name))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


programs = load("programs-pair")
OAE = ROOT / "build" / "oae" / "oae"


def ends_of(bench):
    """As rows have them."""
    return [End(machine, "eth0", programs.MAC[i], programs.IP[i])
            for i, machine in enumerate((bench.a, bench.b))]


def pair_small(pair, effort, taken):
    """64-byte messages a second, one link, as many queued as it takes."""
    near, far = ends_of(programs.Bench(pair, 0))
    near.knobs(sndq=1024)
    many = {"window": effort.window, **near.packing(taken)}
    for _ in range(effort.rounds):
        for key, way, knobs in (("wn", "oae", many), ("w1", "oae", TODAY), ("tipc", "tipc", None),
                                ("udp", "udp", None)):
            rate, lost = stream(near, far, way, effort, knobs=knobs)
            taken.add(key, rate)
            if way == "udp":
                taken.add("udp lost", 100 * lost)
    for key in ("w1", "tipc", "udp"):
        taken.ratio("/ " + key, "wn", key)


def messages(near, far, effort, links):
    """64-byte messages a second of so many links together, one of each under way at a time."""
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(Stream(near, far, "oae", queue=16, knobs=TODAY))
                   for _ in range(links)]
        for one in streams:
            one.take()
        for one in streams:
            one.send(effort.warm, effort.seconds)
        return sum(one.end(effort.warm + effort.seconds)[0] for one in streams)


def steered(pair, effort, taken):
    """16 links over one queue: RPS gives it to two processors, and to one."""
    near, far = ends_of(programs.Bench(pair, 0))
    for end in (near, far):
        end.sh(f"{OAE} spread on")
    for _ in range(effort.rounds):
        for key, mask in (("one", 1), ("two", 3)):
            for end in (near, far):
                end.sh(f"echo {mask} > /sys/class/net/eth0/queues/rx-0/rps_cpus")
            taken.add(key, messages(near, far, effort, 16))
    taken.ratio("two / one", "two", "one")


def words(pair, effort, taken):
    """FETCH_ADD, one a transaction, against rdma_rxe."""
    bench = programs.Bench(pair, 400)
    for end in ends_of(bench):
        end.knobs(window=effort.window, sndq=1024)
    one_each = [how for how in programs.RATES if how[1] == 1]
    for _ in range(effort.rounds):
        bench.ask(names=("add-1", "add-1-polled"), rates=one_each)
        bench.latency("rxe-atomic", "ib_atomic_lat", "-A", "FETCH_AND_ADD")
        for pairs in programs.PAIRS:
            bench.rxe_rate(pairs)
    rxe = [max(rates) for rates in zip(*(bench.rates["rxe", n] for n in programs.PAIRS))]
    # The way that is the best in the median, not the luckiest of each round.
    best = max(one_each, key=lambda how: statistics.median(bench.rates[how]))
    taken.values.update({
        "rxe": rxe, "oae": bench.rates[best], "one link": bench.rates[1, 1, 64],
        "lat": [row[1] for row in bench.figures.rounds["add-1-polled"]],
        "lat asleep": [row[1] for row in bench.figures.rounds["add-1"]],
        "rxe lat": [row[1] for row in bench.figures.rounds["rxe-atomic"]]})
    taken.ratio("/ rxe", "oae", "rxe")
    taken.ratio("one link / rxe", "one link", "rxe")
    taken.ratio("lat / rxe", "lat", "rxe lat")
    taken.ratio("lat asleep / rxe", "lat asleep", "rxe lat")
    taken.note(f"the best of {len(one_each)} ways to have many under way: {best[0]} links, {best[2]} "
               f"transactions queued on each{', polled' * (len(best) > 3)}; rxe's best of "
               f"{' and '.join(map(str, programs.PAIRS))} queue pairs, whose programs poll")
