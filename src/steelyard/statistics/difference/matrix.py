"""Analysis of all pairs of ranks or nodes: the effects of nodes, links and switches on the time, and the slow ones.

Several nodes of one switch that are slow together look like slow nodes, unless it is known which nodes share a switch.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.statistics.difference import peers
from steelyard.statistics.difference.median_polish import Table, medians, polished, table
from steelyard.statistics.difference.peers import LEVEL, SMALLEST, Outlier, Scatter
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.launches import median_error

Pair = tuple[int, int]
LEAST_NODES, LEAST_LINKS = 3, 6  # in a group, and between two groups: fewer do not show which one is slow
LEAST_NODES_FOR_LINKS = 4  # three have three links: a slow link and two slow nodes look the same
LEAST_NODES_FOR_ONE_LAUNCH = 8  # whose residuals alone show the scatter
# The standard error of a node's effect times √(nodes − 2), and of a link's, both over that of a pair: simulated, at the
# quantiles that count here. Least squares gives 1 and √((N − 1) / (N − 3)), with lighter tails.
NODE_ERROR, NODE_ERROR_OF_FOUR, LINK_ERROR = 1.2, 1.0, 1.1
MAD_EFFICIENCY = 0.37  # degrees of freedom of each value in a median distance


@dataclass(frozen=True)
class Effects:
    """t(i, j) = `typical` · `nodes`[i] · `nodes`[j] · `groups`[group of i, group of j] · `links`[i, j].

    `typical` is in seconds, the others are factors: of a node over the median node of its group, of two groups over the
    typical pair (empty without groups), of a link over the rest. The lesser rank of a pair is first.
    """

    typical: float
    nodes: dict[int, float]
    links: dict[Pair, float]
    groups: dict[tuple[str, str], float]


@dataclass(frozen=True)
class Outliers:
    """Slow nodes and slow links, the slowest first; None if they cannot be determined.

    `scatter` is the relative standard deviation of a pair from one launch to the next; None: not known.
    """

    nodes: tuple[Outlier, ...] | None
    links: tuple[Outlier, ...] | None
    scatter: float | None


@dataclass(frozen=True)
class SlowGroups:
    """Slow switches by their names; what the times of their nodes have in common is slow, the slowest first.

    `inside`: the pairs of nodes of the switch; `across`: its pairs with nodes of all other switches. `links`: all pairs of nodes
    of two switches. None if it cannot be determined.
    """

    inside: tuple[tuple[str, Outlier], ...] | None
    across: tuple[tuple[str, Outlier], ...] | None
    links: tuple[tuple[tuple[str, str], Outlier], ...] | None


UNKNOWN_GROUPS = SlowGroups(None, None, None)


def rounds(nodes: int) -> tuple[tuple[Pair, ...], ...]:
    """Returns all pairs of `nodes` in rounds where each node is in at most one pair: N − 1 rounds, or N if N is odd.

    With N players (a phantom is added to an odd number), round k holds (N − 1, k) and ((k + i) mod (N − 1), (k − i)
    mod (N − 1)) for i = 1 … N/2 − 1. The lesser node of a pair is first. Empty for fewer than two nodes.
    """
    players = nodes + nodes % 2
    all_rounds = []
    for k in range(players - 1 if nodes > 1 else 0):
        pairs = [(players - 1, k)]
        pairs += [((k + i) % (players - 1), (k - i) % (players - 1)) for i in range(1, players // 2)]
        all_rounds.append(tuple((min(p), max(p)) for p in pairs if max(p) < nodes))
    return tuple(all_rounds)


def effects(seconds: Mapping[Pair, float], groups: Mapping[int, str] | None = None) -> Effects | None:
    """Returns the effects of nodes, links and switches on the time of each pair, by medians over partners.

    `groups` names the switch of each rank: what the pairs of two switches have in common then counts as theirs, not as
    their nodes'. None with fewer than three nodes, or where one was measured with fewer than two others. Raises
    ValueError for a time that is not positive and finite, and for a rank without a group.
    """
    times = table({pair: (value,) for pair, value in seconds.items()}, groups)
    if times is None:
        return None
    middle = medians(np.moveaxis(times.values, 0, -1))[np.newaxis]
    nodes, between = (part[0] for part in polished(times, middle))
    measured = times.measured
    typical = float(np.median(between[measured]))
    left = middle[0] - between - nodes[:, None] - nodes
    levels = {names: math.exp(between[mask][0] - typical) for names, mask in times.classes.items()}
    return Effects(
        math.exp(typical),
        dict(zip(times.ranks, np.exp(nodes).tolist(), strict=True)),
        dict(zip(times.pairs(measured), np.exp(left[measured]).tolist(), strict=True)),
        levels if groups else {},
    )


def outliers(
    seconds: Mapping[Pair, Sequence[float]],
    groups: Mapping[int, str] | None = None,
    smallest: float = SMALLEST,
    level: float = LEVEL,
) -> Outliers:
    """Returns the slow nodes and links among all pairs, measured in several launches (their times in the same order).

    The medians over the launches are analysed as in `effects`. A node or link is named if its factor exceeds 1 +
    `smallest` and the scatter: pooled between launches, or among the peers if that is wider. Student's t and Holm's
    correction over all nodes and links keep the chance of any false alarm below `level`. With one launch, the residuals
    give the scatter, from eight nodes on. A node needs a group of three or more, a link two groups with six pairs.
    `nodes` is None with fewer than three nodes, `links` with fewer than four, both if the scatter is unknown. The errors
    are those of `effects`.
    """
    times = table(seconds, groups)
    if times is None:
        return Outliers(None, None, None)
    measured = times.measured
    # The slowness of a whole launch belongs to no node or link.
    common = medians((times.values - medians(np.moveaxis(times.values, 0, -1)))[:, measured])
    steady = times.values - common[:, None, None]
    middle = medians(np.moveaxis(steady, 0, -1))
    nodes, between = (part[0] for part in polished(times, middle[np.newaxis]))
    left = middle - between - nodes[:, None] - nodes
    pairs = _estimate_scatter(times, steady, left)
    if pairs is None:
        return Outliers(None, None, None)
    fewest = int(np.isfinite(steady).sum(axis=0)[measured].min())
    shrunk = median_error(fewest) / math.sqrt(fewest)
    count = len(times.ranks)
    tests = count + (int(measured.sum()) if count >= LEAST_NODES_FOR_LINKS else 0)
    inflated = NODE_ERROR if count > 4 else NODE_ERROR_OF_FOUR
    error = max(pairs.deviation * inflated / math.sqrt(count - 2), _estimate_moving_error(times, steady)) * shrunk
    slow = _find_slow_nodes(times, nodes, error, pairs.freedom, tests, smallest, level)
    relative = pairs.deviation if fewest > 1 else None
    if count < LEAST_NODES_FOR_LINKS:
        return Outliers(slow, None, relative)
    error = pairs.deviation * LINK_ERROR * shrunk
    return Outliers(slow, _find_slow_links(times, left, error, pairs.freedom, tests, smallest, level), relative)


def slow_groups(
    seconds: Mapping[Pair, Sequence[float]],
    groups: Mapping[int, str],
    smallest: float = SMALLEST,
    level: float = LEVEL,
) -> SlowGroups:
    """Returns the slow switches among three or more, by what the pairs of their nodes have in common in each launch.

    `groups` names the switch of each rank. The effects of single nodes are removed before. The pairs within switches are
    compared like ranks, those between switches like all pairs of nodes. Each of the two may spend half of `level`. The errors
    are those of `outliers`.
    """
    times = table(seconds, groups)
    if times is None or len(times.names) < LEAST_NODES:
        return UNKNOWN_GROUPS
    nodes, _ = polished(times, medians(np.moveaxis(times.values, 0, -1))[np.newaxis])
    rest = times.values - nodes[0][:, None] - nodes[0]
    levels = {names: np.exp(medians(rest[:, mask])) for names, mask in times.classes.items()}
    levels = {names: row[np.isfinite(row)] for names, row in levels.items()}
    inner = [name for name in times.names if (name, name) in levels]
    slow = peers.slow_ranks([levels[name, name].tolist() for name in inner], smallest, level / 2)
    place = {name: number for number, name in enumerate(times.names)}
    between = {(place[a], place[b]): row.tolist() for (a, b), row in levels.items() if a != b}
    found = outliers(between, None, smallest, level / 2)
    return SlowGroups(
        inside=None if slow is None else tuple((inner[o.ranks[0]], o) for o in slow),
        across=None if found.nodes is None else tuple((times.names[o.ranks[0]], o) for o in found.nodes),
        links=None if found.links is None else tuple(
            ((times.names[o.ranks[0]], times.names[o.ranks[1]]), o) for o in found.links
        ),
    )  # fmt: skip


def _estimate_scatter(times: Table, steady: Array, left: Array) -> Scatter | None:
    """Returns the scatter of a pair between launches; with one launch, the scatter of the residuals of many pairs."""
    measured = times.measured
    rows = [row[np.isfinite(row)] for row in steady[:, measured].T]
    within = peers.scatter(rows)
    if within.freedom:
        # The common levels of the launches used as many degrees of freedom.
        return Scatter(within.deviation, max(1.0, within.freedom - (len(steady) - 1)))
    spent = len(times.ranks) - len(times.names) + len(times.classes)
    freedom = int(measured.sum()) - spent
    if len(times.ranks) < LEAST_NODES_FOR_ONE_LAUNCH or freedom < LEAST_NODES_FOR_ONE_LAUNCH:
        return None
    # Medians leave as many residuals at nothing as they took degrees of freedom.
    distances = np.sort(np.abs(left[measured]))[spent:]
    return Scatter(peers.MAD * float(np.median(distances)), MAD_EFFICIENCY * freedom)


def _estimate_moving_error(times: Table, steady: Array) -> float:
    """Returns the scatter of a node's effect between launches, which is greater if its pairs change together."""
    whole = steady[np.isfinite(steady[:, times.measured]).all(axis=1)]
    if len(whole) < 2:
        return 0.0
    return peers.scatter(polished(times, whole)[0].T).deviation


def _find_slow_nodes(
    times: Table, nodes: Array, error: float, freedom: float, tests: int, smallest: float, level: float
) -> tuple[Outlier, ...]:
    errors = np.full(len(nodes), math.inf)
    for members in (times.group == g for g in range(len(times.names))):
        if members.sum() >= LEAST_NODES:
            errors[members] = max(error, peers.spread(nodes[members]))
    ranks = [(rank,) for rank in times.ranks]
    return peers.beyond_chance(ranks, nodes, errors, freedom, tests, smallest, level)


def _find_slow_links(
    times: Table, left: Array, error: float, freedom: float, tests: int, smallest: float, level: float
) -> tuple[Outlier, ...]:
    errors = np.full(left.shape, math.inf)
    for mask in times.classes.values():
        if mask.sum() >= LEAST_LINKS:
            errors[mask] = max(error, peers.spread(left[mask]))
    measured = times.measured
    return peers.beyond_chance(times.pairs(measured), left[measured], errors[measured], freedom, tests, smallest, level)
