"""The median polish of all pairs: a level for each two groups, an effect of each node, and residuals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.statistics.difference.peers import logarithms
from steelyard.statistics.samples.interval import Array

STEPS, CLOSE = 200, 1e-6  # at most so many, until no logarithm moves further
LEAST_NODES, LEAST_PARTNERS = 3, 2  # fewer equations than effects otherwise


@dataclass(frozen=True)
class Table:
    """Logarithms of seconds by launch and two nodes, symmetric (NaN: not measured); `group` by node, by number."""

    ranks: tuple[int, ...]
    values: Array
    group: NDArray[np.int64]
    names: tuple[str, ...]

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Returns a mask of the measured pairs, each once (nodes × nodes)."""
        mask: NDArray[np.bool_] = np.triu(np.isfinite(self.values).any(axis=0))
        return mask

    @property
    def classes(self) -> dict[tuple[str, str], NDArray[np.bool_]]:
        """Returns the mask of the measured pairs between each two groups."""
        low, high = np.minimum.outer(self.group, self.group), np.maximum.outer(self.group, self.group)
        masks = {
            (a, b): self.measured & (low == i) & (high == j)
            for i, a in enumerate(self.names)
            for j, b in enumerate(self.names[i:], i)
        }
        return {names: mask for names, mask in masks.items() if mask.any()}

    def pairs(self, mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
        """Returns the ranks of the pairs of `mask`, in the order of its true elements."""
        return [(self.ranks[i], self.ranks[j]) for i, j in zip(*np.nonzero(mask), strict=True)]


def table(seconds: Mapping[tuple[int, int], Sequence[float]], groups: Mapping[int, str] | None) -> Table | None:
    """Returns the table of `seconds` (times of the launches by pair); both directions of a pair count as further launches.

    Returns None with fewer than three nodes, or if a node was measured with fewer than two others. Raises ValueError for a pair
    of a rank with itself, a time that is not positive and finite, a rank without a group.
    """
    rows: dict[tuple[int, int], list[float]] = {}
    for (a, b), times in seconds.items():
        if a == b:
            raise ValueError(f"pair '({a}, {b})' is a rank with itself; expected two ranks")
        rows.setdefault((min(a, b), max(a, b)), []).extend(logarithms(times, f"pair ({a}, {b})").tolist())
    ranks = tuple(sorted({rank for pair in rows for rank in pair}))
    place = {rank: i for i, rank in enumerate(ranks)}
    values = np.full((max(map(len, rows.values()), default=0), len(ranks), len(ranks)), np.nan)
    for (a, b), row in rows.items():
        values[: len(row), place[a], place[b]] = values[: len(row), place[b], place[a]] = row
    if len(ranks) < LEAST_NODES or np.isfinite(values).any(axis=0).sum(axis=1).min() < LEAST_PARTNERS:
        return None
    lost = [rank for rank in ranks if groups is not None and rank not in groups]
    if lost:
        raise ValueError(f"rank '{lost[0]}' has no group; expected one for each of the {len(ranks)} ranks")
    names = tuple(sorted({groups[rank] for rank in ranks})) if groups is not None else ("",)
    group = np.array([names.index(groups[rank]) if groups is not None else 0 for rank in ranks])
    return Table(ranks, values, group, names)


def polished(table: Table, values: Array) -> tuple[Array, Array]:
    """Returns the effects of nodes (launches × nodes) and the levels between them (launches × nodes × nodes) of `values`.

    By turns the median of each class of pairs and of each node's pairs is taken away (J. W. Tukey 1977, Exploratory
    Data Analysis), half a step at a time, since all nodes move at once. Nodes of a group have the median 0.
    """
    nodes = np.zeros(values.shape[:2])
    between = np.zeros(values.shape)
    classes, groups = table.classes.values(), [table.group == g for g in range(len(table.names))]
    for _ in range(STEPS):
        rest = values - nodes[:, :, None] - nodes[:, None, :]
        for mask in classes:
            level = medians(rest[:, mask])
            between[:, mask] = between[:, mask.T] = level[:, None]
        moved = nodes + (medians(values - between - nodes[:, None, :]) - nodes) / 2
        for members in groups:
            moved[:, members] -= medians(moved[:, members])[:, None]
        if np.nanmax(np.abs(moved - nodes)) < CLOSE:
            break
        nodes = moved
    return nodes, between


def medians(values: Array) -> Array:
    """Returns the medians along the last axis without NaN. It equals numpy.nanmedian, but is fast on many short rows."""
    ordered = np.sort(values, axis=-1)
    count = np.isfinite(values).sum(axis=-1, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=-1)
    high = np.take_along_axis(ordered, np.minimum(count // 2, values.shape[-1] - 1), axis=-1)
    middle: Array = ((low + high) / 2)[..., 0]
    return middle
