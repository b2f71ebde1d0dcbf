"""The computing phases of a trace: how many there are by rank and length, and why some are longer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.units import percent, quantity
from steelyard.words import plural

PS, NS = 1e12, 1e-9
FEW = 0.01  # of the computing: outliers that take less are worth no work


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Counts by row of ranks and by bin of length. Times in s, `waited` for a processor: what a trace of ours says of it.

    Outliers are at least `limit` long: in a longer bin than the longest phase of the median rank. Without their wait the
    `explained` are none.
    """

    count: int
    computing: float
    waited: float
    outliers: int
    explained: int
    outlying: float
    outlying_ranks: int
    limit: float
    edges: tuple[float, ...]  # where each bin begins
    together: int  # neighbouring ranks in a row
    rows: tuple[tuple[int, ...], ...]


def of(found: Mapping[str, Any]) -> Phases:
    """From the engine's words."""

    def edge(number: int) -> float:
        return float(NS * 10 ** (number / found["bins"]))

    first, rows = found["first"], tuple(map(tuple, found["rows"]))
    return Phases(
        count=found["count"],
        computing=found["computing"] / PS,
        waited=found["waited"] / PS,
        outliers=found["outliers"],
        explained=found["explained"],
        outlying=found["outlying"] / PS,
        outlying_ranks=found["outlying_ranks"],
        limit=edge(found["limit"]),
        edges=tuple(edge(first + i) for i in range(len(rows[0]) if rows else 0)),
        together=found["together"],
        rows=rows,
    )


def _waits(phases: Phases) -> Iterator[str]:
    """What interferes with all ranks alike makes no outliers."""
    share = phases.waited / phases.computing
    if share >= FEW:
        yield (
            f"In longer phases the ranks waited {quantity(phases.waited, 's')} for a processor in all, {percent(share, 1)} of "
            "the computing: interference, by whatever else ran there."
        )


def sentences(phases: Phases | None, ranks: int, measured: bool) -> Iterator[str]:
    """Imbalance or interference? `measured`: whether the trace knows who waited for a processor."""
    if phases is None or not phases.count or ranks < 2:
        return
    if not phases.outliers:
        yield "No computing phase of any rank is an outlier, longer than the longest of the median rank."
        yield from _waits(phases)
        return
    share = phases.outlying / phases.computing
    where = f"{plural(phases.outliers, 'outlier')} on {plural(phases.outlying_ranks, 'rank')}"
    yield (
        f"The {phases.count} computing phases have {where}, at least {quantity(phases.limit, 's')} long and longer than the "
        f"longest of the median rank: {percent(share, 1)} of the computing{', too little to matter' if share < FEW else ''}."
    )
    if not measured:
        yield "Whether they are imbalance or interference the trace does not say: it has no waits for a processor."
    elif 2 * phases.explained >= phases.outliers:
        yield (
            f"They are interference: {phases.explained} of {phases.outliers} would be none had their ranks not waited for a "
            "processor, which something else had."
        )
    else:
        yield (
            f"They are imbalance: without their waits for a processor {phases.explained} of {phases.outliers} would be none; "
            "their ranks have more to compute, or compute more slowly."
        )
