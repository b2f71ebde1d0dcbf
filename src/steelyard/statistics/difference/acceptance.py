"""May a node go back? A sequential comparison of its launches with those of its peers, or of its own past.

After each round of launches the answer may be given. The chances of error are divided among all rounds, however many follow, so
that neither looking often nor trying again changes them: look k may spend 6/(π²k²) of each. The looks become rarer, since each
one has its price.

The freedom of the two errors together is that of B. L. Welch 1947, Biometrika 34:28.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from steelyard.statistics.difference import peers
from steelyard.statistics.samples.distribution_functions import stdtrit
from steelyard.statistics.samples.launches import median_error

Answer = Literal["as usual", "slower", "undecided"]
SLOW = 0.05  # relative: what must not pass
SMALLEST = 0.02  # relative: a smaller slowness refuses nobody
UNUSUAL = 0.01  # chance that a healthy node lies beyond the usual range
ERROR = 0.04  # chance that the launches mislead, in each direction, over all rounds
LEAST_LEVELS = 5  # peers, or earlier runs, that show how equal ones differ
LEAST_LAUNCHES = 3
LATER = 1.25  # from one look to the next


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The time of a node over the usual one, with the range `low` … `high` that holds at each look.

    `usual` is how many times as long a healthy node may take; below `border`, a node passes. `slowest`: a node that takes so many
    times as long might pass by chance, since peers differ as much; None if nothing slower than asked for passes.
    """

    answer: Answer
    ratio: float
    low: float
    high: float
    usual: float
    border: float
    launches: int

    @property
    def slowest(self) -> float | None:
        """Returns the slowness up to which nodes pass, if this is more than was asked for."""
        return self.border if self.border <= self.usual else None


def count_looks(rounds: int) -> int:
    """Returns how often an answer is looked for in so many rounds: after each of the first ones, then a quarter later each."""
    looks, at = 0, 0
    while (at := max(at + 1, math.ceil(LATER * at))) <= rounds:
        looks += 1
    return looks


def decide_promised(rows: Sequence[Sequence[float]], promised: float, slow: float = SLOW) -> list[Decision]:
    """Returns for each node whether it takes at most the promised time, by the launches of each, in seconds.

    The scatter of the launches of all nodes counts, so two of each are enough, and the chance of a wrong answer holds for all
    nodes together. ValueError for a time that is not positive and finite.
    """
    logs = [peers.logarithms(row, f"node {number}") for number, row in enumerate(rows)]
    scatter = peers.scatter(logs)
    goal, refused, border = math.log(promised), math.log1p(SMALLEST), math.log1p(slow)
    quantile = float(stdtrit(scatter.freedom, 1 - ERROR / max(1, len(logs)))) if scatter.freedom else math.inf
    found = []
    for row in logs:
        ratio = float(np.median(row)) - goal
        half = math.inf
        if scatter.freedom:
            half = quantile * scatter.deviation * median_error(len(row)) / math.sqrt(len(row))
        answer: Answer = "undecided"
        if ratio - half > refused:
            answer = "slower"
        elif ratio + half < border:
            answer = "as usual"
        low, high = (math.exp(ratio - half), math.exp(ratio + half)) if half < math.inf else (0.0, math.inf)
        found.append(Decision(answer=answer, ratio=math.exp(ratio), low=low, high=high, usual=1.0, border=1 + slow,
                              launches=len(row)))  # fmt: skip
    return found


def decide(
    reference: Sequence[Sequence[float]],
    launches: Sequence[float],
    look: int,
    *,
    figures: int = 1,
    slow: float = SLOW,
    given: bool = False,
) -> Decision:
    """Returns the answer for one of so many figures. `reference` has the launches of each peer or earlier run, in seconds.

    `given`: somebody has set its only time by hand, so healthy nodes have no range. `look` counts from 1 how often the launches
    were looked at, earlier tries included. ValueError for fewer than five peers, or for a time that is not positive and finite.
    """
    rows = [peers.logarithms(row, f"reference {number}") for number, row in enumerate(reference) if len(row)]
    if len(rows) < (1 if given else LEAST_LEVELS):
        raise ValueError(f"{len(rows)} peers or runs are too few to know how equal ones differ; needed: {LEAST_LEVELS}")
    own = peers.logarithms(launches, "this node")
    levels = np.array([float(np.median(row)) for row in rows])
    scatter = peers.scatter([*rows, own])
    within = np.mean([(scatter.deviation * median_error(len(row))) ** 2 / len(row) for row in rows])
    observed = 0.0 if given else float(levels.std(ddof=1))
    # How equal ones differ, without what the few launches of each add.
    between = math.sqrt(max(observed**2 - float(within), 0.0))
    usual = 0.0 if given else float(stdtrit(len(levels) - 1, 1 - UNUSUAL / figures)) * between
    refused = max(usual, math.log1p(SMALLEST))
    border = max(math.log1p(slow), usual)
    center = float(np.median(levels))
    if len(own) < LEAST_LAUNCHES:
        ratio = math.exp(float(np.median(own)) - center) if len(own) else math.nan
        return Decision(answer="undecided", ratio=ratio, low=0.0, high=math.inf, usual=math.exp(usual),
                        border=math.exp(border), launches=len(own))  # fmt: skip
    # The variances of two medians: that of this node, and that of the reference.
    of_node = (scatter.deviation * median_error(len(own))) ** 2 / len(own)
    of_reference = (observed * median_error(len(levels))) ** 2 / len(levels)
    freedom = scatter.freedom
    if of_reference:
        parts = of_node**2 / scatter.freedom + of_reference**2 / (len(levels) - 1)
        freedom = (of_node + of_reference) ** 2 / parts
    chance = ERROR / figures * 6 / (math.pi * look) ** 2
    half = float(stdtrit(freedom, 1 - chance)) * math.sqrt(of_node + of_reference)
    ratio = float(np.median(own)) - center
    answer: Answer = "undecided"
    if ratio - half > refused:
        answer = "slower"
    elif ratio + half < border:
        answer = "as usual"
    return Decision(
        answer=answer,
        ratio=math.exp(ratio),
        low=math.exp(ratio - half),
        high=math.exp(ratio + half),
        usual=math.exp(usual),
        border=math.exp(border),
        launches=len(own),
    )
