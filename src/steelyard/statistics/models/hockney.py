"""Hockney's t = s + r·n of message times, a line for each protocol of the library, and where protocols change.

Source: R. W. Hockney 1994, Parallel Computing 20:389 (r∞, n½); that fit over all sizes at once is what mpptest prints.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.statistics.samples.interval import Array

MOST_PIECES = 4
LEAST_SIZES = 4  # in each of several pieces: two sizes for the line, two that may contradict it
PARAMETERS = 3  # parameters of a piece: its line and its end
# Of the criterion of J. Liu, S. Wu & J. V. Zidek 1997, Statist. Sinica 7:497, which lets fewer chance pieces through
# than Schwarz's, since a break is sought at every size.
WEIGHT, POWER = 0.299, 2.1
# Relative residuals that need no explanation: half of the usual width of an interval.
EXACT = 0.005
JUMP = 0.05  # relative: smaller jumps do not matter, and lines are seldom more accurate
SIGMAS = 3.0  # times by which a jump exceeds the residuals of both lines


@dataclass(frozen=True, kw_only=True)
class Region:
    """Sizes `first` … `last` (bytes), in which a message takes `startup` + `per_byte` · size seconds.

    `startup` is the line's value at size 0: no time that was observed unless `first` is 0, and negative where the line
    bends upward before. `per_byte` is None where time does not grow with size: then `startup` is their mean.
    `residuals` are (measured − line) / measured, by size; `worst` is the greatest of them without its sign.
    """

    first: float
    last: float
    startup: float
    per_byte: float | None
    worst: float
    residuals: tuple[float, ...]

    def seconds(self, size: float) -> float:
        """Returns the time of the line for a message of `size` bytes, within the region or beyond it."""
        return self.startup + (self.per_byte or 0.0) * size


@dataclass(frozen=True)
class Switch:
    """Above `after` bytes, at `size` at the latest, a message takes `factor` times as long: another protocol."""

    after: float
    size: float
    factor: float


@dataclass(frozen=True)
class Bandwidth:
    """`rate` is r∞ = 1/r in B/s, which long messages approach; `half` is n½ = s/r, the bytes that reach half of it.

    `half` is None if the line has no positive startup: no size is special then.
    """

    rate: float
    half: float | None


def fit_regions(points: Sequence[tuple[float, float]]) -> tuple[Region, ...]:
    """Returns the lines through `points`, (bytes, seconds) in any order, by size; a size may have several points.

    Least squares of relative residuals (weights 1/t²), one to four pieces that need not meet, since a change of
    protocol is a jump; their number has the least criterion of Liu, Wu & Zidek. Empty with fewer than three sizes.
    Raises ValueError for a size that is negative or not finite, a time that is not positive and finite.
    """
    for size, time in points:
        if not (math.isfinite(size) and size >= 0 and math.isfinite(time) and time > 0):
            raise ValueError(f"'({size}, {time})' is not a valid size and time: expected bytes >= 0 and seconds > 0")
    ordered = np.array(sorted(points), dtype=float).reshape(-1, 2)
    sizes = np.unique(ordered[:, 0])
    if len(sizes) < 3:
        return ()
    # Pieces end between two sizes: starts[k] is the first point of the k-th size.
    starts = [int(i) for i in np.searchsorted(ordered[:, 0], sizes)] + [len(ordered)]
    return tuple(_fit_region(ordered[a:b]) for a, b in _find_pieces(ordered, starts))


def switches(regions: Sequence[Region]) -> tuple[Switch, ...]:
    """Returns the sizes where a message becomes slower at once, because the protocol changes from eager to rendezvous.

    A jump is a change that no change of slope between the two sizes explains: the next line lies
    above the last one at both sizes, by more than 5 % and more than three times the residuals. `factor` is the lesser
    of the two: finer sizes show a jump that coarse ones hide.
    """
    jumps = []
    for before, after in pairwise(regions):
        ends = [(before.seconds(size), after.seconds(size)) for size in (before.last, after.first)]
        if min(min(end) for end in ends) <= 0:
            continue
        factor = min(late / early for early, late in ends)
        if factor > 1 + max(JUMP, SIGMAS * math.hypot(_estimate_scatter(before), _estimate_scatter(after))):
            jumps.append(Switch(before.last, after.first, factor))
    return tuple(jumps)


def half_bandwidth(region: Region) -> Bandwidth | None:
    """Returns r∞ and n½ of `region`; None if its time does not grow with size."""
    if region.per_byte is None:
        return None
    return Bandwidth(1 / region.per_byte, region.startup / region.per_byte if region.startup > 0 else None)


def fit_line(points: Array) -> tuple[float, float, Array]:
    """Returns s, r and the relative residuals of t = s + r·n through `points` (count × 2: n, t > 0); r is at least 0.

    The fit minimises the squares of the relative residuals, because the error of a time is relative.
    """
    size, time = points[:, 0], points[:, 1]
    weight = 1 / time**2
    weight = weight / weight.sum()
    middle, mean = float(weight @ size), float(weight @ time)
    variance = float(weight @ (size - middle) ** 2)
    per_byte = max(0.0, float(weight @ ((size - middle) * (time - mean))) / variance) if variance > 0 else 0.0
    startup = mean - per_byte * middle
    residuals: Array = (time - startup - per_byte * size) / time
    return startup, per_byte, residuals


def _find_pieces(ordered: Array, starts: Sequence[int]) -> list[tuple[int, int]]:
    """Returns the best division, by dynamic programming over the ends of the pieces for each number of pieces."""
    count, points = len(starts) - 1, len(ordered)
    costs = {
        (a, b): float((fit_line(ordered[starts[a] : starts[b]])[2] ** 2).sum())
        for a in range(count)
        for b in range(a + 1, count + 1)
        if b - a >= LEAST_SIZES or (a == 0 and b == count)
    }
    best: list[dict[int, tuple[float, tuple[int, ...]]]] = [{0: (0.0, (0,))}]
    chosen: tuple[int, ...] = (0, count)
    least = math.inf
    for pieces in range(1, MOST_PIECES + 1):
        ends: dict[int, tuple[float, tuple[int, ...]]] = {}
        for (a, b), cost in costs.items():
            if a in best[-1] and (b not in ends or best[-1][a][0] + cost < ends[b][0]):
                ends[b] = (best[-1][a][0] + cost, (*best[-1][a][1], b))
        best.append(ends)
        used = PARAMETERS * pieces - 1
        if count not in ends or points <= used:
            break
        variance = ends[count][0] / (points - used) + EXACT**2
        criterion = math.log(variance) + used * WEIGHT * math.log(points) ** POWER / points
        if criterion < least:
            least, chosen = criterion, ends[count][1]
    return [(starts[a], starts[b]) for a, b in pairwise(chosen)]


def _fit_region(points: Array) -> Region:
    startup, per_byte, residuals = fit_line(points)
    worst = float(np.abs(residuals).max())
    first, last = float(points[0, 0]), float(points[-1, 0])
    return Region(
        first=first,
        last=last,
        startup=startup,
        per_byte=per_byte if per_byte > 0 else None,
        worst=worst,
        residuals=tuple(residuals.tolist()),
    )


def _estimate_scatter(region: Region) -> float:
    """Returns the relative standard deviation of the residuals; the line takes two degrees of freedom."""
    return math.sqrt(sum(r * r for r in region.residuals) / max(1, len(region.residuals) - 2))
