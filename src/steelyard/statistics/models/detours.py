"""Noise of the operating system, from quanta of equal work: the lost time, the detours, and their cost.

A detour is time in which the processor did something else (P. Beckman et al. 2006, "The Influence of Operating Systems
on the Performance of Collective Operations at Extreme Scale").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.summary import Samples

LEAST = 100  # quanta, whose fastest tenth has a mode
FALSE_DETOUR = 0.01  # the chance that normal jitter makes any quantum of a measurement a detour
ROUNDING = 1e-9  # relative: smaller steps between times are those of arithmetic, not of a clock
BINS_PER_DECADE = 5


@dataclass(frozen=True, kw_only=True)
class Detours:
    """`base` is the time of an undisturbed quantum, in seconds; one longer than `threshold` was hit by a detour.

    `lost` is the share of the time above `base`, `lost_in_detours` the part of it in quanta that were hit; what is
    between is jitter. `durations` (seconds above `base`) are the detours in the order of time, as many as `count`, the
    `greatest` of them None if there is none. `indices` are the quanta that were hit, `seconds` the whole time.
    """

    base: float
    threshold: float
    lost: float
    lost_in_detours: float
    count: int
    durations: tuple[float, ...]
    greatest: float | None
    indices: tuple[int, ...]
    seconds: float


@dataclass(frozen=True)
class Bin:
    """`count` detours from `low` to below `high` seconds."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, kw_only=True)
class Slowdown:
    """The cost of detours for an operation that waits for all `ranks` after each has computed for `burst` seconds.

    `hit` is the chance that one rank is hit in a burst, `any_hit` that at least one of all is. `delay` is the expected
    longest delay (seconds), `slowdown` = `delay` / `burst`: 0.1 is 10 % slower. `linear` is what it would be if no two
    ranks were ever hit together: ranks · hit · mean duration / burst, which holds while ranks · hit is small.
    """

    ranks: int
    burst: float
    hit: float
    any_hit: float
    delay: float
    slowdown: float
    linear: float


def find_detours(quanta: Samples) -> Detours | None:
    """Returns the detours in the times (seconds) of consecutive equal quanta of work; None with fewer than 100.

    The base is the mode of the fastest tenth (halves that hold most: D. R. Bickel & R. Frühwirth 2006, Comput. Stat.
    Data Anal. 50:3500). The threshold lies so many deviations of the lower half above the median that normal jitter
    exceeds it once in a hundred measurements; jitter with a longer tail counts as many small detours. Noise that hits
    most quanta is part of the base: take quanta shorter than half of its period. Raises ValueError for a time that is
    not positive and finite.
    """
    row = np.asarray(quanta, dtype=float)
    bad = row[~(np.isfinite(row) & (row > 0))]
    if len(bad):
        raise ValueError(f"a quantum took '{bad[0]}' s; expected positive, finite seconds")
    if len(row) < LEAST:
        return None
    ordered = np.sort(row)
    base = _find_mode(ordered[: math.ceil(len(row) / 10)])
    threshold = _find_jitter_threshold(ordered)
    hit = np.flatnonzero(row > threshold)
    over = row[hit] - base
    total = float(row.sum())
    return Detours(
        base=base,
        threshold=threshold,
        lost=max(0.0, float((row - base).sum()) / total),
        lost_in_detours=float(over.sum()) / total,
        count=len(hit),
        durations=tuple(over.tolist()),
        greatest=float(over.max()) if len(hit) else None,
        indices=tuple(hit.tolist()),
        seconds=total,
    )


def histogram(durations: Sequence[float], per_decade: int = BINS_PER_DECADE) -> tuple[Bin, ...]:
    """Returns `durations` (seconds) in logarithmic bins from the least to the greatest, `per_decade` per factor of ten.

    The bins' borders are powers of 10^(1/`per_decade`), the same for every measurement, so that two can be compared.
    Empty without durations; those that are not positive do not count.
    """
    logs = np.floor(np.log10([d for d in durations if d > 0]) * per_decade + 1e-9).astype(int)
    if not len(logs):
        return ()
    counts = np.bincount(logs - logs.min())
    first = int(logs.min())
    return tuple(
        Bin(10 ** ((first + i) / per_decade), 10 ** ((first + i + 1) / per_decade), int(n))
        for i, n in enumerate(counts)
    )


def expected_collective_slowdown(detours_of_rank: Detours, ranks: int, burst: float) -> Slowdown:
    """Returns the expected cost of detours for `ranks` that synchronise after each `burst` of computing (seconds).

    Each rank independently has detours with the measured rate and durations: hit = 1 − exp(−rate ·
    burst) and any_hit = 1 − (1 − hit)^ranks. The delay is the expectation of the longest single detour, E = ∫ 1 − (1 −
    P(a rank is hit by one longer than x))^ranks dx; for one duration d that is d · any_hit. Where several detours fall
    into each burst it is at least what a rank loses on average. No detour longer than the greatest seen is expected:
    with many ranks the truth is worse, if rarer ones exist. Ranks whose detours come together lose no more than one.
    Raises ValueError for fewer than one rank or a burst that is not positive.
    """
    if ranks < 1 or not 0 < burst < math.inf:
        raise ValueError(f"'{ranks}' ranks and a burst of '{burst}' s; expected at least one rank and seconds > 0")
    per_burst = detours_of_rank.count / detours_of_rank.seconds * burst  # expected detours of a rank in a burst
    ordered = np.sort(np.asarray(detours_of_rank.durations, dtype=float))
    longer = per_burst * (1 - np.arange(len(ordered)) / max(1, len(ordered)))  # expected ones that reach ordered[i]
    steps = np.diff(ordered, prepend=0.0)
    longest = float((steps * -np.expm1(-ranks * longer)).sum())
    mean = float(ordered.mean()) if len(ordered) else 0.0
    delay = max(longest, per_burst * mean)
    hit = -math.expm1(-per_burst)
    return Slowdown(
        ranks=ranks,
        burst=burst,
        hit=hit,
        any_hit=-math.expm1(-ranks * per_burst),
        delay=delay,
        slowdown=delay / burst,
        linear=ranks * hit * mean / burst,
    )


def _find_jitter_threshold(ordered: Array) -> float:
    """Returns the threshold above the jitter of undisturbed quanta, from the lower half, if fewer than half were hit."""
    quarter, middle = np.quantile(ordered, (0.25, 0.5))
    steps = np.diff(ordered)
    step = float(steps[steps > ROUNDING * middle].min(initial=math.inf))
    step = step if step < middle else 0.0
    deviation = float(middle - quarter + step / 2) / NormalDist().inv_cdf(0.75)
    return float(middle) - deviation * NormalDist().inv_cdf(FALSE_DETOUR / len(ordered))


def _find_mode(ordered: Array) -> float:
    """Returns the half-sample mode: it repeatedly takes the shortest interval with half of the values."""
    while len(ordered) > 3:
        half = math.ceil(len(ordered) / 2)
        widths = ordered[half - 1 :] - ordered[: len(ordered) - half + 1]
        narrowest = np.flatnonzero(widths == widths.min())
        start = int(narrowest[len(narrowest) // 2])
        ordered = ordered[start : start + half]
    return float(np.median(ordered))
