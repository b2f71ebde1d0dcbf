"""Compares readings of the processors by turns with the best of the same processor or memory node."""

import numpy as np
from numpy.typing import NDArray

from steelyard.model.proofs import Slow
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.plateau import Levels
from steelyard.statistics.validity.measures import Measure
from steelyard.statistics.validity.pace import Mask

Places = NDArray[np.intp]

STEADY = 0.9  # share of the readings that must be slow, and near each other, so that the slowness does not come and go
DEVIATIONS = 4  # of a number of readings, and one reading: above this it is not chance that so many are slow
ONE_PLACE = 0.1  # scatter within the processors relative to all scatter, below which the processors differ


def compare(readings: Array, measure: Measure, earlier: float | None, places: Places) -> tuple[Mask, Slow]:
    """Returns which readings are within bounds of the best of their place (processor or node), and a summary of the others.

    Places with far fewer readings within bounds than the others have another kind of core or of memory: they are compared among
    themselves. `earlier` is a value of the best ones. The readings come from the `places` by turns.
    """
    whose = np.resize(places, readings.size)
    taken = readings > 0
    paces = np.where(taken, readings if measure.higher else 1 / np.where(taken, readings, 1), np.nan)
    best, left, known = np.full(paces.size, np.nan), taken.copy(), 0.0
    if earlier:
        known = earlier if measure.higher else 1 / earlier
    while left.any():
        level = max(_plateau(paces[left], measure), known)
        times = np.bincount(whose[left], minlength=whose.max() + 1)
        within = np.bincount(whose[left & (paces >= level * (1 - measure.loss))], minlength=times.size)
        other_kind = left & _differ(within, times)[whose]
        best[left & ~other_kind] = level
        left, known = other_kind, 0.0
    slow = taken & (paces < best * (1 - measure.loss))
    share = float(slow.sum() / taken.sum())
    if not share:
        return ~slow, Slow(share=0.0)
    typical, its_best = float(np.median(paces[slow])), float(np.median(best[slow]))
    steady = share > STEADY and bool(np.quantile(paces[slow], 1 - STEADY) >= typical * (1 - measure.loss))
    figures = (typical, its_best) if measure.higher else (1 / typical, 1 / its_best)
    return ~slow, Slow(share=share, typical=figures[0], best=figures[1], steady=steady)


def _plateau(paces: Array, measure: Measure) -> float:
    levels = Levels()
    levels.add(paces)
    return levels.plateau(measure.scatter, higher=True) or 0.0


def _differ(within: Places, times: Places) -> Mask:
    """Returns the places with too few of their readings within bounds for chance, compared with the best places."""
    rate = within / np.maximum(times, 1)
    good = (rate >= rate.max() / 2) & (rate > 0)
    usual = within[good].sum() / max(1, times[good].sum())
    missing, scatter = usual * times - within, np.sqrt(times * usual * (1 - usual))
    return np.asarray(missing > 1 + DEVIATIONS * scatter)


def find_places(paces: Array) -> Places:
    """Returns a number for each processor, if processors that are read by turns differ; else one number for all."""
    for turns in range(2, paces.size // 2 + 1):  # so that each processor was read twice
        whose = np.arange(paces.size) % turns
        means = np.bincount(whose, paces) / np.bincount(whose)
        within = float(((paces - means[whose]) ** 2).sum()) / (paces.size - turns)
        if within < ONE_PLACE * paces.var():
            return np.arange(turns)
    return np.arange(1)
