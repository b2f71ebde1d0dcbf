"""The computing phases of a trace: how many there are by rank and length, and why some are longer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.model.units import percent, quantity
from steelyard.model.words import plural
from steelyard.whatif.engine import Traced

PS, NS = 1e12, 1e-9
FEW = 0.01  # share of the computing time below which outliers do not matter


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Phases of similar length in s. `typical` is the median phase of the median rank; phases above `limit` are outliers.

    The bins of `rows` have equal widths and begin at `edges`.
    """

    count: int
    outliers: int
    computing: float
    typical: float
    limit: float
    edges: tuple[float, ...]
    rows: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Counts by row of ranks and by bin of length. Times are in s; `waited` is the wait for a processor, in traces of ours.

    `clusters` are the groups of phases with similar lengths, the shortest first; each has its own outliers. The trace has the
    wait of `looked` of the outliers, and `explained` of them would not be outliers without it.
    """

    count: int
    computing: float
    waited: float
    outliers: int
    looked: int
    explained: int
    outlying: float
    outlying_ranks: int
    edges: tuple[float, ...]  # where each bin of `rows` begins, ten in each factor of ten
    together: int  # neighbouring ranks in a row
    rows: tuple[tuple[int, ...], ...]
    clusters: tuple[Cluster, ...]

    @property
    def main(self) -> Cluster | None:
        """Returns the cluster in which the ranks compute longest; None if there are no phases."""
        return max(self.clusters, key=lambda c: c.computing, default=None)


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
        looked=reply["looked"],
        explained=reply["explained"],
        outlying=reply["outlying"] / PS,
        outlying_ranks=reply["outlying_ranks"],
        edges=tuple(edge(first + i) for i in range(len(rows[0]) if rows else 0)),
        together=reply["together"],
        rows=rows,
        clusters=tuple(map(_read_cluster, reply["clusters"])),
    )


def _read_cluster(reply: Mapping[str, Any]) -> Cluster:
    rows = tuple(map(tuple, reply["rows"]))
    return Cluster(
        count=reply["count"],
        outliers=reply["outliers"],
        computing=reply["computing"] / PS,
        typical=reply["typical"] / PS,
        limit=reply["limit"] / PS,
        edges=tuple((reply["least"] + i * reply["width"]) / PS for i in range(len(rows[0]))),
        rows=rows,
    )


def _describe_common_waits(phases: Phases, without_waits: bool) -> Iterator[str]:
    """Reports interference that affects all ranks alike and therefore makes no outliers."""
    whole = phases.computing + (phases.waited if without_waits else 0.0)
    share = phases.waited / whole if whole else 0.0
    if share >= FEW:
        left_out = " The replay leaves these waits out." if without_waits else ""
        yield (
            f"In their longer phases, all ranks together waited {quantity(phases.waited, 's')} for a processor. This is "
            f"{percent(share, 1)} of their time between calls of MPI ({quantity(whole, 's')}). The cause is interference by "
            f"other processes.{left_out}"
        )


def describe_phases(phases: Phases | None, ranks: int, traced: Traced | None) -> Iterator[str]:
    """Says whether outliers are imbalance or interference. `traced`: the run, if the trace has the waits for a processor."""
    if phases is None or not phases.count or ranks < 2:
        return
    if not phases.outliers:
        yield "No computing phase of the trace is an outlier: none is much longer than the other phases of its group usually are."
        yield from _describe_common_waits(phases, traced is not None and traced.without_waits)
        return
    usual = sum(c.outliers * c.typical for c in phases.clusters)
    share = max(0.0, phases.outlying - usual) / phases.computing
    verb, they = ("is an outlier", "it lasts") if phases.outliers == 1 else ("are outliers", "they last")
    yield (
        f"A computing phase is the time of a rank between two calls of MPI in the trace. {phases.outliers} of {phases.count} "
        f"phases, on {plural(phases.outlying_ranks, 'rank')}, {verb}. Beyond the typical length, {they} "
        f"{percent(share, 1)} of the computing time{', which is too little to matter' if share < FEW else ''}."
    )
    if share < FEW:
        return
    for cluster in phases.clusters:
        if cluster.outliers:
            yield (
                f"Of the {plural(cluster.count, 'phase')} of about {quantity(cluster.typical, 's')}, {cluster.outliers} "
                f"{'lasts' if cluster.outliers == 1 else 'last'} longer than {quantity(cluster.limit, 's')}."
            )
    # Where the replay leaves out the waits, the outliers that they explain are none any more.
    removed = traced is not None and traced.without_waits
    explained, known = (0, phases.looked - phases.explained) if removed else (phases.explained, phases.looked)
    yield _find_cause(phases.outliers, known if traced else 0, explained, removed)


def _find_cause(outliers: int, known: int, explained: int, removed: bool) -> str:
    """Names the cause of most outliers, if the trace has the waits of enough of them (`known`)."""
    if 2 * explained >= outliers:
        return (
            "The cause is interference: other processes used the processors. Without the waits for a processor, "
            f"{explained} of the {plural(outliers, 'outlier')} would disappear."
        )
    if 2 * (known - explained) > outliers:
        without = (
            f"Without the waits for a processor, only {explained} of the {plural(outliers, 'outlier')} would disappear."
        )
        left_out = "The replay already leaves out the waits for a processor."
        return (
            f"The cause is imbalance: these ranks have more work, or slower cores. {left_out if removed else without}"
        )
    which = f" in {outliers - known} of these outliers" if known else ""
    return (
        f"The trace does not say how long the ranks waited for a processor{which}. So it is unknown whether the cause is "
        "imbalance or interference."
    )
