"""Hockney's r∞ and n½ of a loop: its time over the length of its vectors as a straight line, one for each regime.

Source: R. W. Hockney and C. R. Jesshope 1988, Parallel Computers 2: t = q·(n + n½)/r∞ with q flops an element.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.statistics.models.hockney import fit_line

LEAST_LENGTHS = 3  # two points fit any line
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Lengths `first` … `last` (elements), which take `startup` + `per_element` · n seconds.

    `half` is n½, the length at which half of the rate of endless vectors is reached. None, with the `reason`, where the
    line has none: time does not grow with the length (`per_element` is None, too), or `startup` is negative.
    `r_squared` is the share of the weighted variance that the line explains; None where all times are the same.
    `uncertain`: the startup is less than twice what the timer resolves, so that n½ may be nothing but the timer.
    """

    first: float
    last: float
    startup: float
    per_element: float | None
    half: float | None
    reason: str
    r_squared: float | None
    uncertain: bool


def fit(points: Points, resolution: float = 0.0) -> Curve | None:
    """Returns the line through `points`, (elements, seconds per pass) in any order; None with fewer than three lengths.

    Weights are 1/t², because the error of a time is relative. `resolution` is that of the timer, in seconds per pass.
    ValueError for a length or a time that is not positive and finite, or a negative resolution.
    """
    for length, time in points:
        if not (math.isfinite(length) and length > 0 and math.isfinite(time) and time > 0):
            raise ValueError(
                f"'({length}, {time})' is not a valid length and time: expected elements > 0 and seconds > 0"
            )
    if not (math.isfinite(resolution) and resolution >= 0):
        raise ValueError(f"the resolution of the timer is '{resolution}'; expected seconds >= 0")
    ordered = np.array(sorted(points), dtype=float).reshape(-1, 2)
    if len(np.unique(ordered[:, 0])) < LEAST_LENGTHS:
        return None
    startup, slope, residuals = fit_line(ordered)
    half, reason = _find_half_length(startup, slope)
    weights = 1 / ordered[:, 1] ** 2
    mean = float(weights @ ordered[:, 1] / weights.sum())
    spread = float(weights @ (ordered[:, 1] - mean) ** 2)
    return Curve(
        first=float(ordered[0, 0]),
        last=float(ordered[-1, 0]),
        startup=startup,
        per_element=slope if slope > 0 else None,
        half=half,
        reason=reason,
        r_squared=1 - float(residuals @ residuals) / spread if spread > 0 else None,
        uncertain=abs(startup) < 2 * resolution,
    )


def rate(curve: Curve, per_element: float = 1.0) -> float | None:
    """Returns r∞ in flops (or the unit of `per_element`) per second; None if the time does not grow with the length."""
    return per_element / curve.per_element if curve.per_element else None


def select_regime(points: Points, first: float, last: float) -> list[tuple[float, float]]:
    """Returns the points of one regime, since each cache has a different slope."""
    return [(length, time) for length, time in points if first <= length <= last]


def _find_half_length(startup: float, slope: float) -> tuple[float | None, str]:
    if slope <= 0:
        return None, "the time does not grow with the length"
    if startup < 0:
        return None, "the line is below zero at length 0, because short vectors come from a nearer cache"
    return startup / slope, ""
