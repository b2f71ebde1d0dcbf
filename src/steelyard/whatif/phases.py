"""The computing phases of a trace: how many there are by rank and length, and why some are longer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.units import percent, quantity
from steelyard.words import plural

PS, NS = 1e12, 1e-9
FEW = 0.01  # share of the computing time below which outliers do not matter


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Counts by row of ranks and by bin of length. Times are in s; `waited` is the wait for a processor, in traces of ours.

    Outliers are at least `limit` long: in a longer bin than the longest phase of the median rank. `explained` of them would
    not be outliers without that wait.
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


def read_phases(reply: Mapping[str, Any]) -> Phases:
    """Returns the phases in a reply of the engine."""

    def edge(number: int) -> float:
        return float(NS * 10 ** (number / reply["bins"]))

    first, rows = reply["first"], tuple(map(tuple, reply["rows"]))
    return Phases(
        count=reply["count"],
        computing=reply["computing"] / PS,
        waited=reply["waited"] / PS,
        outliers=reply["outliers"],
        explained=reply["explained"],
        outlying=reply["outlying"] / PS,
        outlying_ranks=reply["outlying_ranks"],
        limit=edge(reply["limit"]),
        edges=tuple(edge(first + i) for i in range(len(rows[0]) if rows else 0)),
        together=reply["together"],
        rows=rows,
    )


def _waits(phases: Phases) -> Iterator[str]:
    """Reports interference that affects all ranks alike and therefore makes no outliers."""
    share = phases.waited / phases.computing
    if share >= FEW:
        yield (
            f"In their longer phases, all ranks together waited {quantity(phases.waited, 's')} for a processor. This "
            f"is {percent(share, 1)} of the computing time. The cause is interference by other processes."
        )


def sentences(phases: Phases | None, ranks: int, measured: bool) -> Iterator[str]:
    """Says whether outliers are imbalance or interference. `measured`: the trace has the waits for a processor."""
    if phases is None or not phases.count or ranks < 2:
        return
    if not phases.outliers:
        yield "No computing phase is an outlier: no phase is longer than the longest phase of a typical (median) rank."
        yield from _waits(phases)
        return
    share = phases.outlying / phases.computing
    where = f"{plural(phases.outliers, 'outlier')} on {plural(phases.outlying_ranks, 'rank')}"
    yield (
        f"A computing phase is the time of a rank between two calls of MPI. Of {phases.count} phases, {where} take "
        f"{percent(share, 1)} of the computing time{', which is too little to matter' if share < FEW else ''}. An outlier "
        f"is at least {quantity(phases.limit, 's')} long, longer than the longest phase of a typical (median) rank."
    )
    if not measured:
        yield (
            "The trace does not say how long the ranks waited for a processor. So it is unknown whether the cause is "
            "imbalance or interference."
        )
    elif 2 * phases.explained >= phases.outliers:
        yield (
            "The cause is interference: other processes used the processors. Without the waits for a processor, "
            f"{phases.explained} of the {phases.outliers} outliers would disappear."
        )
    else:
        yield (
            "The cause is imbalance: these ranks have more work, or slower cores. Without the waits for a processor, "
            f"only {phases.explained} of the {phases.outliers} outliers would disappear."
        )
