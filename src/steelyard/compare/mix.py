"""The ratio of the total times of a mix of cases (T. Hoefler and R. Belli 2015, Scientific Benchmarking, rule 4)."""

import math
from dataclasses import dataclass

import numpy as np

from steelyard.compare.launch_table import Flags, Indexes, LaunchTable, arrange_blocks
from steelyard.statistics.difference.block_sums import contrast, sum_up
from steelyard.statistics.difference.blocks import Judgement
from steelyard.statistics.samples.interval import Array

Compared = tuple[LaunchTable, Indexes]  # a side, and its cases


@dataclass(frozen=True)
class Mix:
    """Seconds of b / seconds of a for a mix in which each case has its weight of the time of a, with its 95 % interval."""

    ratio: float
    low: float
    high: float


def compare_mix(a: Compared, b: Compared, clean: Flags, weights: Array, judged: Judgement) -> Mix:
    """Returns the ratio of the total times. `weights` with the sum 1 are the shares of the cases in the time of a.

    The logarithm of the total changes with that of each case by its share in the time of b (delta method). The blocks of time,
    weighted by these shares, scatter more or less than those of the mean ratio in `judged`, and the interval is as much wider.
    It is never narrower.
    """
    times = [arrange_blocks(table, cases, clean) for table, cases in (a, b)]
    differences = np.nanmean(times[1], axis=1) - np.nanmean(times[0], axis=1)
    largest = float(differences.max())
    total = largest + math.log(float(weights @ np.exp(differences - largest)))
    groups = (a[0].is_group, b[0].is_group)
    plain, tilted = (
        contrast(sum_up(times[0], shares), sum_up(times[1], shares), groups).error
        for shares in (weights, weights * np.exp(differences - total))
    )
    wider = max(1.0, tilted / plain) if plain > 0 else 1.0
    low, high = (total + wider * math.log(end / judged.ratio) for end in (judged.low, judged.high))
    return Mix(*(math.exp(min(max(x, -700.0), 700.0)) for x in (total, low, high)))
