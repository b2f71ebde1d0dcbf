"""The pace of cores and memory in two runs of one machine: if it differs, their times do not compare."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from steelyard.model.units import percent
from steelyard.statistics.samples.interval import Array

# Relative. A step of a turbo clock is 3 %, and another thread on the core takes up to half; the readings scatter by less.
UNLIKE = 0.04
# Relative, of the bandwidth that a reading of the memory reaches; single readings scatter by 15 % where nobody else reads.
UNLIKE_MEMORY = 0.15
# Relative, between the slow and the fast tenth of the records of a run. Above it, the pace of the machine is not constant.
UNSTEADY = 0.10
DECILES = 10
CORES = "The cores themselves issued {} additions per second"
OTHER_PROGRAMS = "other programs that use it"
CAUSES = "the clock, other hardware threads on them, or other programs"
REMEDY = "So the cause of the difference is not clear. Measure both in turn (--in-turn)."


@dataclass(frozen=True)
class Readings:
    """The pace beside the launches: additions per second that the cores gave the samples, and B/s that the memory gave."""

    rates: Array
    streams: Array


def measure_unsteadiness(readings: Iterable[Readings]) -> float:
    """Returns how much faster the fast tenth of the launches is than the slow tenth (relative); 0.0 with few readings."""
    rates = np.sort(np.concatenate([of_run.rates for of_run in readings]))
    tenth = len(rates) // DECILES
    return float(rates[-1 - tenth] / rates[tenth] - 1) if len(rates) >= DECILES else 0.0


@dataclass(frozen=True)
class OtherPace:
    """A pace that differs between two runs: that of b over that of a, and a sentence without its end."""

    ratio: float
    text: str

    @property
    def sentence(self) -> str:
        """Returns why a difference beside this pace is not clear, and what to do."""
        return f"{self.text}. {REMEDY}"

    @property
    def note(self) -> str:
        """Returns what this pace means for the comparison of whole runs."""
        return f"{self.text}. No call is possible for programs that follow this pace."


def state_pace(ratio: float, words: str = CORES, lower: str = "fewer", causes: str = CAUSES) -> str:
    """Returns how the pace of the second run differs, with what can cause that; a sentence without its end."""
    change = f"{percent(abs(ratio - 1))} {'more' if ratio > 1 else lower}" if ratio < 2 else f"{ratio:.1f} times the"
    return f"{words.format(change)} in the second run ({causes})"


def find_other_pace(a: Readings, b: Readings) -> OtherPace | None:
    """Returns the pace of the cores, or of the memory, if its median differs between two runs; None if it is alike."""
    measures = (
        (a.rates, b.rates, UNLIKE, CORES, "fewer", CAUSES),
        (a.streams, b.streams, UNLIKE_MEMORY, "Readings of the memory reached {} bandwidth", "less", OTHER_PROGRAMS),
    )
    for first, second, unlike, words, lower, causes in measures:
        ratio = float(np.median(second) / np.median(first)) if len(first) and len(second) else 1.0
        if abs(math.log(ratio)) > unlike:
            return OtherPace(ratio, state_pace(ratio, words, lower, causes))
    return None
