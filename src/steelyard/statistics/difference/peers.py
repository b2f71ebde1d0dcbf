"""Search for slow peers by their own scatter, corrected for their number, without fixed limits."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.statistics.samples.interval import Array, correlations
from steelyard.statistics.samples.launches import median_error

# The chance that quiet peers give any false alarm shall stay below 1 %; half of it is left for what the normal theory
# of medians gets wrong (tests/core/test_network_statistics.py).
LEVEL = 0.005
SMALLEST = 0.05  # relative: equal nodes differ by a few percent
CLIP = 3.0  # robust deviations: values further out count as this distance
LEAST_PEERS = 3  # two do not show which one is slow
LEAST_FOR_DEPENDENCE = 10  # repetitions of a rank that show whether they depend on each other
LEAST_FOR_SPREAD = 8  # the median distance of so many is uncertain by a third
MAD = 1.4826  # a standard deviation over the median distance from the median, for normal values


@dataclass(frozen=True)
class Outlier:
    """`ranks` (one, or the two of a link) take `factor` times as long as their peers.

    `p` is the chance that any of so many equal peers looks so slow.
    """

    ranks: tuple[int, ...]
    factor: float
    p: float


@dataclass(frozen=True)
class Scatter:
    """The standard deviation of a logarithm from one repetition to the next, and the degrees of freedom behind it."""

    deviation: float
    freedom: float


def slow_ranks(
    per_rank: Sequence[Sequence[float]], smallest: float = SMALLEST, level: float = LEVEL
) -> tuple[Outlier, ...] | None:
    """Returns the ranks that are slower than their peers with the same work, the slowest first.

    `per_rank` holds the repetitions (seconds) of each rank in the order of time; they may depend on each other. A rank
    is named if its median exceeds the ranks' median by more than `smallest` and by more than their scatter explains:
    Student's t with the repetitions' pooled scatter, or with the spread of the ranks' medians where that is wider;
    Holm's correction keeps the chance of any false alarm below `level`. None if it cannot be determined: fewer than three
    ranks, a rank without two repetitions. Raises ValueError for a time that is not positive and finite.
    """
    rows = [logarithms(row, f"rank {rank}") for rank, row in enumerate(per_rank)]
    if len(rows) < LEAST_PEERS or min(map(len, rows)) < 2:
        return None
    sizes = np.array([len(row) for row in rows])
    share = _estimate_independent_share(rows)
    within = scatter(rows)
    values = np.array([float(np.median(row)) for row in rows])
    # The variances of a rank's own median, and of the ranks' median with which it is compared.
    errors = within.deviation * np.array([median_error(n) for n in sizes]) / np.sqrt(share * sizes)
    errors = np.maximum(errors * math.sqrt(1 + math.pi / 2 / len(rows)), spread(values))
    freedom = max(1.0, within.freedom * share)
    ranks = [(rank,) for rank in range(len(rows))]
    return beyond_chance(ranks, values - np.median(values), errors, freedom, len(rows), smallest, level)


def _estimate_independent_share(rows: Sequence[Array]) -> float:
    """Returns the share of independent repetitions, from the rows that are long enough to show their dependence."""
    long = [row for row in rows if len(row) >= LEAST_FOR_DEPENDENCE]
    if not long:
        return 1.0
    return sum(float(correlations(row[np.newaxis, :])[1][0]) for row in long) / sum(map(len, long))


def slower_of_two(rows: Sequence[Sequence[float]], smallest: float = SMALLEST, level: float = LEVEL) -> Outlier | None:
    """Returns the slower of two that do the same work, or None if chance or less than `smallest` may explain the difference.

    `rows` holds the repetitions of each in seconds. The test is Student's t of the two medians, two-sided, with the pooled
    scatter of the repetitions. Which of the two is unusual cannot be said. Raises ValueError for a time that is not positive
    and finite.
    """
    from steelyard.statistics.samples.distribution_functions import stdtr

    logs = [logarithms(row, f"side {side}") for side, row in enumerate(rows)]
    if min(map(len, logs)) < 2:
        return None
    within = scatter(logs)
    share = _estimate_independent_share(logs)
    difference = float(np.median(logs[1]) - np.median(logs[0]))
    error = within.deviation * math.sqrt(sum(median_error(len(row)) ** 2 / (share * len(row)) for row in logs))
    chance = 2 * float(stdtr(max(1.0, within.freedom * share), -abs(difference) / error)) if error else 0.0
    if chance >= level or abs(difference) <= math.log1p(smallest):
        return None
    return Outlier((int(difference > 0),), math.exp(abs(difference)), chance)


def beyond_chance(
    ranks: Sequence[tuple[int, ...]],
    excess: Array,
    errors: Array,
    freedom: float,
    tests: int,
    smallest: float,
    level: float,
) -> tuple[Outlier, ...]:
    """Returns the peers whose `excess` (logarithm of their time over their peers') exceeds chance and `smallest`.

    `errors` are its standard errors, of `freedom` degrees; `tests` is among how many was looked (S. Holm 1979, Scand.
    J. Statist. 6:65). The slowest is first.
    """
    from steelyard.statistics.samples.distribution_functions import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(excess > 0, excess / errors, 0.0)
    chances = stdtr(freedom, -ratios)
    outliers, greatest = [], 0.0
    for rank, index in enumerate(np.argsort(chances, kind="stable")):
        greatest = max(greatest, min(1.0, (tests - rank) * float(chances[index])))
        if greatest < level and excess[index] > math.log1p(smallest):
            outliers.append(Outlier(ranks[index], math.exp(excess[index]), greatest))
    return tuple(sorted(outliers, key=lambda outlier: -outlier.factor))


def scatter(rows: Iterable[Array]) -> Scatter:
    """Returns the scatter within rows (logarithms of the repetitions of a peer), pooled around the medians of the rows.

    Values further out than `CLIP` robust deviations count as this distance, so that one disturbed repetition does not
    hide the scatter of the others. Returns 0 with 0 degrees if no row has two values.
    """
    several = [row for row in rows if len(row) > 1]
    if not several:
        return Scatter(0.0, 0.0)
    distances = np.abs(np.concatenate([row - np.median(row) for row in several]))
    differences = np.concatenate([np.abs(np.diff(row)) for row in several])
    border = CLIP * MAD / math.sqrt(2) * float(np.median(differences))
    squares = np.minimum(distances, border if border > 0 else math.inf) ** 2
    # Around its median a row's squares come to more than n − 1 variances.
    expected = sum(len(row) - 2 + median_error(len(row)) ** 2 for row in several)
    return Scatter(math.sqrt(float(squares.sum()) / expected), float(len(distances) - len(several)))


def spread(values: Array) -> float:
    """Returns a robust standard deviation of the values of the peers: 1.4826 × the median distance from their median.

    0 for fewer than `LEAST_FOR_SPREAD`, of which it would be a guess.
    """
    if len(values) < LEAST_FOR_SPREAD:
        return 0.0
    return MAD * float(np.median(np.abs(values - np.median(values))))


def logarithms(seconds: Sequence[float], where: str) -> Array:
    """Returns the logarithms of times. Raises ValueError, which names `where`, unless all are positive and finite."""
    row = np.asarray(seconds, dtype=float)
    bad = row[~(np.isfinite(row) & (row > 0))]
    if len(bad):
        raise ValueError(f"a time of {where} is '{bad[0]}'; expected positive, finite seconds")
    logs: Array = np.log(row)
    return logs
