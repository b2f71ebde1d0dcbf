"""Finds the published systems that are nearest to a run, by the figures that both have."""

import math
from dataclasses import dataclass, replace
from statistics import fmean

from steelyard.compare.like import find_like
from steelyard.compare.published_side import make_side
from steelyard.compare.side import Side, SideRun
from steelyard.measure.published.system_library import list_systems
from steelyard.model.units import significant
from steelyard.model.words import joined, plural

# A system with a single common figure can agree by chance. So each has one more figure, which differs by this factor.
CHANCE = 4.0
NAMED = 3  # figures that the reason names

Meaning = tuple[str, str, str]  # benchmark, kernel, metric


@dataclass(frozen=True)
class Near:
    """A published system and its distance to a run. `factors` has the geometric mean of run / system for each quantity."""

    side: Side
    distance: float
    factors: dict[Meaning, float]


def find_nearest(run: SideRun, count: int = 3) -> list[Side]:
    """Returns the published systems nearest to the run, the nearest first. The first note of each says why it was chosen.

    Several figures with the same meaning count as one. Systems without a common figure are omitted.
    """
    near = sorted(
        filter(None, (_compare(run, make_side(system)) for system in list_systems())), key=lambda n: n.distance
    )
    return [_explain(one) for one in near[:count]]


def _compare(run: SideRun, side: Side) -> Near | None:
    logs: dict[Meaning, list[float]] = {}
    for case in side.runs[0].cases:
        like = find_like(case, run)
        metric, theirs = next(iter(case.metrics.items()))
        if like and like.value.value > 0 and theirs.value > 0:
            meaning = (case.benchmark, case.kernel, metric)
            logs.setdefault(meaning, []).append(math.log(like.value.value / theirs.value))
    if not logs:
        return None
    means = {meaning: fmean(values) for meaning, values in logs.items()}
    distance = (sum(map(abs, means.values())) + math.log(CHANCE)) / (len(means) + 1)
    return Near(side, distance, {meaning: math.exp(mean) for meaning, mean in means.items()})


def _explain(near: Near) -> Side:
    typical = math.exp(fmean(abs(math.log(factor)) for factor in near.factors.values()))
    ordered = sorted(near.factors.items(), key=lambda item: abs(math.log(item[1])))
    named = joined(
        f"{' '.join(meaning).replace('_', ' ')} {significant(factor)} times" for meaning, factor in ordered[:NAMED]
    )
    reason = (
        f"Chosen because it is near: {plural(len(near.factors), 'kind')} of figures are on both sides, and they typically "
        f"differ by a factor of {significant(typical)}. This run has: {named}."
    )
    run = near.side.runs[0]
    return replace(near.side, runs=(replace(run, notes=(reason, *run.notes)),))
