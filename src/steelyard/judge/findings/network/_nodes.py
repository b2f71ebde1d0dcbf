"""Times of ranks, grouped by their nodes."""

from collections.abc import Mapping, Sequence
from statistics import median

from steelyard.statistics.difference.matrix import Pair


def group_ranks_by_host(hosts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Returns the ranks of each host, in the order of the ranks."""
    ranks_of: dict[str, list[int]] = {}
    for rank, host in enumerate(hosts):
        ranks_of.setdefault(host, []).append(rank)
    return {host: tuple(ranks) for host, ranks in ranks_of.items()}


def summarise_node_pairs(seconds: Mapping[Pair, Sequence[float]], hosts: Sequence[str]) -> dict[Pair, list[float]]:
    """Returns for two nodes (by their places in `group_ranks_by_host`) the median time of their pairs of ranks in each launch.

    `seconds` holds the launches' times of each pair of ranks, in the same order; pairs within a node are left out.
    """
    place = {rank: n for n, ranks in enumerate(group_ranks_by_host(hosts).values()) for rank in ranks}
    together: dict[Pair, list[Sequence[float]]] = {}
    for (a, b), launches in seconds.items():
        if place[a] != place[b]:
            together.setdefault((min(place[a], place[b]), max(place[a], place[b])), []).append(launches)
    return {pair: [median(launch) for launch in zip(*rows, strict=False)] for pair, rows in sorted(together.items())}


def summarise_nodes(rows: Sequence[Sequence[float]], hosts: Sequence[str]) -> list[list[float]]:
    """Returns the times of each node: the median of each sample over its ranks; empty for a node without active ranks."""
    return [
        [median(sample) for sample in zip(*(rows[r] for r in ranks if rows[r]), strict=False)]
        for ranks in group_ranks_by_host(hosts).values()
    ]
