"""Slow nodes among equal ones, without limits that somebody typed: each is compared with its peers and with their spread.

B. Rosner 1983, Technometrics 25:165 (several outliers by generalized extreme Studentized deviates). Distances between the
greatest values: I. Weissman 1978, J. Amer. Statist. Assoc. 73:812.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.statistics.difference import peers
from steelyard.statistics.samples.distribution_functions import ndtri, stdtr, stdtrit
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.launches import median_error

LEVEL = 0.01  # the chance that any healthy node of a sweep is accused
SMALLEST = 0.02  # relative: a smaller difference accuses nobody
ENOUGH = 8  # nodes, whose own spread is known well enough; of fewer, only the scatter of their launches is
FOUND = 0.95  # with this chance a node of the stated slowness is found
SHARE_OF_SLOW = 0.25  # of the nodes: more slow ones are a second kind of node
SEARCHED = 0.4  # of the nodes, so that a second kind is recognized
ENOUGH_FOR_TAIL = 200  # nodes, whose slowest ones show whether few healthy nodes are far slower than most
TAIL = 0.1  # of the nodes
SURE = 4.0  # over the root of the number of values in the tail: by so much it is longer than that of normal values


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node in one figure: its time over that of its peers, and the chance that any of so many equal nodes looks so.

    `p` is corrected for the number of nodes and figures; 1 for a node that is not slower. `slow`: it is, for sure.
    """

    name: str
    ratio: float
    p: float
    launches: int
    slow: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """All nodes in one figure. `between` and `within` are the relative standard deviations of nodes and of their launches.

    `detectable`: a node so many times as slow would have been named (with `FOUND`). `needed` is by relative slowness the number
    of launches of each node that would show it; None if no number does, because equal nodes differ as much.
    """

    nodes: tuple[Node, ...]
    between: float
    within: float | None
    detectable: float | None
    needed: Mapping[float, int | None]


QUESTIONS = (0.1, 0.05, 0.03, 0.01)
MOST_LAUNCHES = 1000


def judge_nodes(
    times: Mapping[str, Sequence[float]], tests: int = 1, smallest: float = SMALLEST, level: float = LEVEL
) -> Sweep | None:
    """Returns the nodes of one figure. `times` has the launches of each node, in seconds for equal work.

    `tests` is the number of figures of the sweep, among which `level` is divided. None for fewer than three nodes. Raises
    ValueError for a time that is not positive and finite.
    """
    names = [name for name, row in times.items() if len(row)]
    if len(names) < peers.LEAST_PEERS:
        return None
    rows = [peers.logarithms(times[name], f"node {name}") for name in names]
    values = np.array([float(np.median(row)) for row in rows])
    launches = min(map(len, rows))
    pooled = peers.scatter(rows)
    within = pooled.deviation if pooled.freedom else None
    if len(names) < ENOUGH:
        return _judge_few(names, rows, values, within, smallest, level / tests)
    chances = _find_extremes(values)
    if np.count_nonzero(chances < level / tests) > max(1, SHARE_OF_SLOW * len(values)):
        chances = np.ones(len(values))
    chances = np.maximum(chances, _weigh_tail(values))
    kept = chances >= level / tests
    center, spread = float(values[kept].mean()), float(values[kept].std(ddof=1))
    variance = spread**2 - within**2 * median_error(launches) ** 2 / launches if within is not None else spread**2
    between = math.sqrt(max(variance, 0.0))
    border = float(stdtrit(len(names) - 2, 1 - level / tests / len(names) / 2))
    smallest_log = math.log1p(smallest)
    nodes = [
        Node(name=name, ratio=math.exp(value - center), p=min(1.0, p * tests), launches=len(row),
             slow=p < level / tests and value - center > smallest_log)
        for name, value, p, row in zip(names, values.tolist(), chances.tolist(), rows, strict=True)
    ]  # fmt: skip

    power = float(stdtrit(len(names) - 2, FOUND))
    # Launches of a node that differ more than the nodes do are not independent of each other: their mean counts.
    scatter = None if within is None else min(within, spread * math.sqrt(launches) / median_error(launches))

    def detectable(error: float) -> float:
        return max(smallest_log, (border + power) * error * math.sqrt(1 + 1 / len(names)))

    return Sweep(
        nodes=tuple(sorted(nodes, key=lambda node: -node.ratio)),
        between=between,
        within=within,
        detectable=math.exp(detectable(spread)),
        needed={} if scatter is None else {q: _count_needed(q, between, scatter, detectable) for q in QUESTIONS},
    )


def _find_extremes(values: Array) -> Array:
    """Returns for each value the chance that any of so many normal values lies as far out; 1 for all but the outermost ones.

    A value counts with the further ones that a test finds beside it, because several extreme values hide each other.
    """
    left = np.ones(len(values), dtype=bool)
    order: list[int] = []
    chances: list[float] = []
    for _ in range(max(1, int(SEARCHED * len(values)))):
        rest = values[left]
        m, deviation = len(rest), float(rest.std(ddof=1))
        if deviation == 0:
            break
        distances = np.where(left, np.abs(values - rest.mean()), 0.0) / deviation
        place = int(np.argmax(distances))
        room = (m - 1) ** 2 / m - float(distances[place]) ** 2  # no value of m can be further out than this
        t = float(distances[place]) * math.sqrt((m - 2) / room) if room > 0 else math.inf
        order.append(place)
        chances.append(min(1.0, 2 * m * float(stdtr(m - 2, -t))))
        left[place] = False
    every = np.ones(len(values))
    every[order] = np.minimum.accumulate(np.array(chances[::-1]))[::-1]
    return every


def _weigh_tail(values: Array) -> Array:
    """Returns for each value the chance by the distances between the greatest values; 0 if these have a normal tail.

    In an exponential tail, the distance between the values of ranks r and r + 1, times r, is exponential with one mean.
    """
    n = len(values)
    size = int(TAIL * n)
    if n < ENOUGH_FOR_TAIL:
        return np.zeros(n)
    begin = float(ndtri(1 - size / n))
    usual = math.exp(-(begin**2) / 2) / math.sqrt(2 * math.pi) * n / size - begin  # of normal values, in deviations
    order = np.argsort(-values)
    distances = -np.diff(values[order]) * np.arange(1, n)
    excess = float(np.median(distances[:size])) / math.log(2)  # which a few slow nodes hardly change
    if excess <= (1 + SURE / math.sqrt(size)) * usual * peers.spread(values):
        return np.zeros(n)
    every, least = np.ones(n), 1.0
    for rank in range(int(SHARE_OF_SLOW * n), 0, -1):
        ratio = float(distances[rank - 1]) / excess
        # F with 2 and 2 · size degrees, as one of as many ranks as are looked at: 6/(π²r²) of the chance.
        least = min(least, (1 + ratio / size) ** -size * (math.pi * rank) ** 2 / 6)
        every[order[rank - 1]] = least
    return every


def _judge_few(
    names: Sequence[str], rows: Sequence[Array], values: Array, within: float | None, smallest: float, level: float
) -> Sweep:
    """Compares a few nodes by the scatter of their launches. How equal nodes differ is unknown, so less than 5 % is nothing."""
    least = max(smallest, peers.SMALLEST)
    found = peers.slow_ranks([np.exp(row).tolist() for row in rows], least, level) or ()
    slow = {outlier.ranks[0]: outlier for outlier in found}
    center = float(np.median(values))
    nodes = [
        Node(name=name, ratio=math.exp(value - center), p=slow[place].p if place in slow else 1.0,
             launches=len(rows[place]), slow=place in slow)
        for place, (name, value) in enumerate(zip(names, values.tolist(), strict=True))
    ]  # fmt: skip
    return Sweep(
        nodes=tuple(sorted(nodes, key=lambda node: -node.ratio)),
        between=float(values.std(ddof=1)),
        within=within,
        detectable=None,
        needed={},
    )


def _count_needed(question: float, between: float, within: float, detectable: Callable[[float], float]) -> int | None:
    """Returns the least number of launches of each node that shows a node slower by `question`."""
    for launches in (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, MOST_LAUNCHES):
        error = math.hypot(between, within * median_error(launches) / math.sqrt(launches))
        if detectable(error) <= math.log1p(question):
            return launches
    return None
