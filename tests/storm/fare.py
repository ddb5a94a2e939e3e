# SPDX-License-Identifier: GPL-2.0
"""How the victim fares: its rate in one weather after the other, by turns, and the memory it took.

What the machine is up to besides changes from second to second, so each storm is held against the
quiet of the same turn, and of these ratios the median is told.
"""

import statistics
import time
from collections import defaultdict

from storm import UNHEARD, VICTIM_CPU, Watch, spinner


class Weather:
    """One kind of it: a name, and how it begins."""

    def __init__(self, name, begin=None, steered=False):
        self.name, self.begin, self.steered = name, begin, steered


def quiet(scene):
    """The processor of the storms is as busy, and sends nothing."""
    return Weather("no storm", lambda: spinner(scene.out))


def unheard(scene, steered=False):
    """As many frames, of an EtherType that nobody listens to: what they cost the machine."""
    return Weather("frames nobody listens to", lambda: scene.storm("all", type=UNHEARD), steered)


def storm(scene, name, kind, where="other", steered=False, **how):
    """The real thing."""
    return Weather(name, lambda: scene.storm(kind, where, **how), steered)


class Fare:
    """Figures of turns: rates of the victim, frames that arrived, memory."""

    def __init__(self, scene, victim):
        self.scene, self.victim = scene, victim
        self.rates, self.arrived = defaultdict(list), defaultdict(list)
        self.memory = defaultdict(int)

    def once(self, weather, seconds, settle=0.2):
        """One window in it."""
        far = self.scene.far
        if weather.steered:
            self.scene.steer(VICTIM_CPU)
        watch = Watch()
        program = weather.begin() if weather.begin else None
        time.sleep(settle)
        frames = far.stat("rx_frames")
        rate = self.victim.window(seconds)
        frames = far.stat("rx_frames") - frames
        self.memory[weather.name] = max(self.memory[weather.name], watch.end())
        if program:
            program.kill()
        if weather.steered:
            self.scene.steer()
        self.rates[weather.name].append(rate)
        # Two frames of each of the victim's transactions arrive as well.
        self.arrived[weather.name].append(max(frames / seconds - 2 * rate, 0))
        return rate

    def turns(self, weathers, turns, seconds):
        """All of them by turns, every other turn the other way round."""
        for turn in range(turns):
            for weather in weathers if turn % 2 == 0 else weathers[::-1]:
                self.once(weather, seconds)

    def ratio(self, name, to):
        """The median of the ratios of each turn; 0 if in all of them nothing moved at all."""
        return statistics.median([a / b for a, b in zip(self.rates[name], self.rates[to]) if b]
                                 or [0])

    def rate(self, name):
        """Transactions a second."""
        return statistics.median(self.rates[name])

    def storm_rate(self, name):
        """Frames of the storm a second that arrived at the module."""
        return statistics.median(self.arrived[name])
