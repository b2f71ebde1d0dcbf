"""Scaling of a program: speed-up, efficiency, serial fraction, fitted laws, and the largest count worth using."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from steelyard.statistics.difference.compare import LONE_SPREAD, compare
from steelyard.statistics.difference.sides import Launches, median_errors
from steelyard.statistics.models.scaling_models import (
    AMDAHL,
    DRAWS,
    GUSTAFSON,
    SEED,
    USL,
    Costs,
    Estimate,
    Fit,
    Law,
    explain_refusal,
    fit,
)
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.launches import combine, median_error, moderate_variance

Worth = Literal["worth", "not worth", "not distinguished"]
# Share of the speed of a core that one more core must add. If it adds less, two runs side by side finish more work than
# one run on all cores.
HALF = 0.5


@dataclass(frozen=True)
class Step:
    """The step from one count to a greater one: the speed that each further core adds, in units of a core's speed at the base."""

    start: int
    end: int
    adds: Estimate
    call: Worth


@dataclass(frozen=True)
class Stop:
    """The greatest count to which further cores still add, on average from the last such count, `HALF` of a core's worth.

    `into` is the step that leads there, `beyond` that to the next count measured; None if there is none. `certain`: the
    intervals of both tell them apart from `HALF`.
    """

    count: int
    into: Step | None
    beyond: Step | None
    certain: bool


@dataclass(frozen=True, kw_only=True)
class Point:
    """One count. `time` in seconds as measured; `speedup` against the base, of the work done in a second.

    `efficiency` is the speed-up over the ideal one, count / base. `serial` is the fraction of the work that, if it were the
    only loss, would explain the speed-up: Karp and Flatt's of the same work, Gustafson's of work that grows; None at the
    base, and where no fraction does. `step`: from the count before. Not so where the processors were shared (`crowded`).
    """

    count: int
    time: Estimate
    speedup: Estimate
    efficiency: Estimate
    serial: Estimate | None
    step: Step | None
    crowded: bool


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """All of it. `weak`: the work grows with the count. `base`: the count that speed-ups refer to, the least one measured.

    `refused` has the reason for each law that was not fitted. `stop` is None where fewer than two counts can be compared.
    """

    weak: bool
    base: int
    points: tuple[Point, ...]
    fits: tuple[Fit, ...]
    refused: Mapping[str, str]
    stop: Stop | None


def scaling(
    launches: Mapping[int, Launches],
    work: Mapping[int, float] | None = None,
    weak: bool = False,
    crowded: Collection[int] = (),
) -> Scaling:
    """Returns the scaling of a program from the samples (s) of the launches at each count.

    `work` is the work of an operation at each count, in any unit; None: always the same. `crowded` counts had no processor for
    each thread or rank: they are shown, but no law and no advice rests on them. Speed-ups come with the interval of
    `compare`, and what follows from a speed-up with what follows from its ends.

    Raises ValueError for fewer than two counts, a count below 1, work or samples that are not positive and finite.
    """
    counts = sorted(launches)
    if len(counts) < 2 or counts[0] < 1:
        raise ValueError(f"the counts are {counts}; scaling needs at least two, each at least 1")
    done = {count: 1.0 if work is None else float(work[count]) for count in counts}
    if not all(math.isfinite(w) and w > 0 for w in done.values()):
        raise ValueError(f"the work is {done}; expected positive, finite values")
    for count in counts:
        rows = [np.asarray(row, dtype=np.float64) for row in launches[count]]
        if not rows or not all(row.size and np.isfinite(row).all() and (row > 0).all() for row in rows):
            raise ValueError(f"count {count} has no launches, or some of its samples are not positive and finite")
    uncrowded = [count for count in counts if count not in crowded]
    base = min(uncrowded or counts)
    per_unit = {c: [np.asarray(row, dtype=np.float64) / done[c] for row in launches[c]] for c in counts}
    costs = _estimate_costs({count: per_unit[count] for count in uncrowded}) if uncrowded else None
    steps = _list_steps(costs, base) if costs else {}
    points = []
    for count in counts:
        spread = combine(launches[count])
        gained = _estimate_speedup(per_unit[base], per_unit[count]) if count != base else Estimate(1.0)
        points.append(
            Point(
                count=count,
                time=Estimate(spread.value, spread.low, spread.high),
                speedup=gained,
                efficiency=_divide_estimate(gained, count / base),
                serial=_estimate_serial_fraction(gained, count, base, weak),
                step=steps.get(count),
                crowded=count in crowded,
            )
        )
    fits, not_fitted = _laws((GUSTAFSON, USL) if weak else (AMDAHL, USL), costs, uncrowded)
    return Scaling(
        weak=weak,
        base=base,
        points=tuple(points),
        fits=fits,
        refused=not_fitted,
        stop=_find_stop(costs, base) if costs else None,
    )


def serial_fraction(speedup: float, count: float, base: float = 1) -> float | None:
    """Returns the serial fraction s with which Amdahl's law gives this speed-up of `count` over `base`; None if none does.

    A. Karp and H. Flatt, CACM 33:539, 1990: (1/S − 1/p) / (1 − 1/p); here for any base. More than 1 is a slowdown, less
    than 0 a speed-up beyond the ideal.
    """
    below = speedup * (1 - 1 / count) - (1 - 1 / base)
    return (1 / base - speedup / count) / below if below > 0 else None


def scaled_serial_fraction(speedup: float, count: float, base: float = 1) -> float | None:
    """Returns the serial fraction by Gustafson's law, S(p) = p − s·(p − 1), for work that grows with the count."""
    below = (count - 1) - speedup * (base - 1)
    return (count - speedup * base) / below if below > 0 else None


def _divide_estimate(speedup: Estimate, by: float) -> Estimate:
    low, high = (None if end is None else end / by for end in (speedup.low, speedup.high))
    return Estimate(speedup.value / by, low, high)


def _estimate_serial_fraction(speedup: Estimate, count: int, base: int, weak: bool) -> Estimate | None:
    if count <= base:
        return None
    law = scaled_serial_fraction if weak else serial_fraction
    value = law(speedup.value, count, base)
    if value is None:
        return None
    # The faster, the smaller the fraction.
    low, high = (None if end is None else law(end, count, base) for end in (speedup.high, speedup.low))
    return Estimate(value, low, high)


def _estimate_speedup(base: Launches, other: Launches) -> Estimate:
    comparison = compare(other, base)
    return Estimate(comparison.ratio, comparison.low, comparison.high)


def _estimate_costs(per_unit: Mapping[int, Launches]) -> Costs:
    """Returns the median of the launches' medians at each count and its error, with one spread of launches for all
    counts and the prior of `compare`."""
    counts = tuple(per_unit)
    rows = [[np.log(np.asarray(row, dtype=np.float64)) for row in per_unit[count]] for count in counts]
    medians = [np.array([float(np.median(row)) for row in of_count]) for of_count in rows]
    within = [error**2 for of_count in rows for error in median_errors(of_count).tolist()]
    variance, freedom = moderate_variance(medians, LONE_SPREAD, float(np.mean(within)))
    errors = [math.sqrt(variance / len(m)) * median_error(len(m)) for m in medians]
    random = np.random.default_rng(SEED)
    # Multivariate t: the common variance is as uncertain for all counts at once.
    chi = random.chisquare(freedom, (DRAWS, 1)) / freedom
    scatter = random.standard_normal((DRAWS, len(counts))) / np.sqrt(chi)
    return Costs(counts, np.array([float(np.median(m)) for m in medians]), np.array(errors), scatter)


def _laws(laws: Sequence[Law], costs: Costs | None, counts: Sequence[int]) -> tuple[tuple[Fit, ...], dict[str, str]]:
    not_fitted = {law.name: why for law in laws if (why := explain_refusal(law, counts))}
    all_fits = [fit(law, costs) for law in laws if costs and law.name not in not_fitted]
    # A law needs a part of the time that falls with the count.
    odd = [f.law for f in all_fits if not all(math.isfinite(e.value) for e in f.parameters.values())]
    not_fitted |= dict.fromkeys(odd, "no part of the time falls as the count rises")
    return tuple(f for f in all_fits if f.law not in odd), not_fitted


# --------------------------------------------------------------------------- where to stop


def _list_steps(costs: Costs, base: int) -> dict[int, Step]:
    """Returns the step between neighbouring counts, by the greater count."""
    pairs = zip(costs.counts, costs.counts[1:], strict=False)
    return {end: _make_step(costs, base, start, end) for start, end in pairs}


def _make_step(costs: Costs, base: int, start: int, end: int) -> Step:
    """Returns the speed gained per added core, in units of a core's speed at the base."""
    first, low, high = (costs.counts.index(count) for count in (base, start, end))

    def adds(logs: Array) -> Array:
        gained: Array = np.exp(logs[..., first] - logs[..., high]) - np.exp(logs[..., first] - logs[..., low])
        return base * gained / (end - start)

    value = float(adds(costs.logs))
    ends = np.quantile(adds(costs.logs + costs.errors * costs.scatter), (0.025, 0.975))
    adding = Estimate(value, min(value, float(ends[0])), max(value, float(ends[1])))
    assert adding.low is not None
    assert adding.high is not None
    call: Worth = "worth" if adding.low >= HALF else "not worth" if adding.high < HALF else "not distinguished"
    return Step(start, end, adding, call)


def _find_stop(costs: Costs, base: int) -> Stop | None:
    """Returns the last count worth using. A step that adds too little is skipped if a longer one from the same count adds
    enough, so that a single slow count (that does not fit caches or nodes) does not hide the following ones."""
    if len(costs.counts) < 2:
        return None
    kept, into = base, None
    while True:
        further = [_make_step(costs, base, kept, count) for count in costs.counts if count > kept]
        paying = next((step for step in further if step.adds.value >= HALF), None)
        if paying is None:
            break
        kept, into = paying.end, paying
    beyond = further[0] if further else None
    certain = (into is None or into.call == "worth") and (beyond is None or beyond.call == "not worth")
    return Stop(kept, into, beyond, certain)
