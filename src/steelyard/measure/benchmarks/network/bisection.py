"""Bandwidth across the middle of the network (bisection)

The kernel divides the P ranks into two halves and pairs rank i with rank i + P/2. Some or all of the pairs exchange messages at
the same time. There are three kinds of exchange: a round trip with blocking sends, a round trip with a nonblocking send for the
answer, and messages in both directions at once (head to head). With more than two nodes there are also random pairings; their
mean is the effective bisection bandwidth.

Reading: A single pair does not share the network with others. If twice the pairs reach twice the rate, the network has
bandwidth left. If the rate stays the same, the bandwidth of the link, the adapter or the memory is used up. The network hides
its latency as long as the rate grows with the pairs. Many pairs fill a full-duplex link in both directions, although each round
trip uses one direction at a time. The random pairings show the bandwidth of irregular communication. If it is far below the
bandwidth between the halves, the pairs share paths of the network.

Caution: The rate uses the time of the slowest pair. The program mpptest prints the rate of rank 0 only, so it does not show a
slow pair of other ranks. Steelyard shows this rate as an additional metric. The messages cross the middle of the network only
if the first half of the ranks is on one side of it. Within one machine, this benchmark does not measure a network.

Source: mpptest of W. Gropp and E. Lusk (Reproducible measurements of MPI performance characteristics, EuroPVM/MPI 1999), option
-bisect with -roundtrip and -head; rate = 2 · pairs · length / time. Effective bisection bandwidth: T. Hoefler, T. Schneider and
A. Lumsdaine, Multistage switches are not crossbars, Cluster 2008.
"""

from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from steelyard.measure.benchmarks.figures import against, select
from steelyard.measure.benchmarks.network.pairs_tolerance import tolerance_figure
from steelyard.measure.benchmarks.network.sizes import ANYWHERE, RANKS_FOR_PAIRS, message_sizes, rank_counts
from steelyard.measure.benchmarks.rates import per_second
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.roles import PairsPoint
from steelyard.model.units import binary_size, quantity
from steelyard.statistics.results.messages import hosts_of, rank_seconds

parallel = True
KERNELS = {
    "round_trip": "round trip",
    "round_trip_nonblocking": "round trip, nonblocking",
    "head_to_head": "head to head, nonblocking",
}
LARGEST = 4 << 20
PAIRS_FOR_MORE_RANKS = 8  # planned also with fewer processors, for numbers of ranks that the user sets
MATCHINGS = {"quick": 5, "standard": 20, "full": 50}  # the error of the mean falls with the square root
NAMES = ("pairs", "ranks", "buffers", "transport", "placement", "mpi", "toolchain")
demands = {
    **RANKS_FOR_PAIRS,
    "matching must be 'halves' or a whole number": lambda p: (
        p["matching"] == "halves" or isinstance(p["matching"], int)
    ),
}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: all ranks; 1, 2, 4 … pairs; three exchanges; all sizes. From three nodes, also random matchings of the nodes."""
    sampling = Sampling(effort.sampling.width, 0.05 if effort.name == "quick" else 0.3, effort.sampling.least, 2000)
    sizes = message_sizes(effort, least=8, largest=LARGEST)
    ranks = rank_counts(machine, effort)[-1]
    values: dict[str, tuple[Scalar, ...]] = {
        "kernel": tuple(KERNELS),
        "ranks": (ranks,),
        "pairs": pair_counts(ranks),
        "matching": ("halves",),
        "buffers": ("reused",),
        "message_bytes": sizes[::2] if effort.name == "quick" else sizes,
    }
    blocks = [Axes(values, sampling, 0.02, choices={"buffers": ANYWHERE})]
    if len(machine.hosts) > 2:
        chance: dict[str, tuple[Scalar, ...]] = {
            **values,
            "kernel": ("round_trip",),
            "ranks": (len(machine.hosts),),
            "ranks_per_node": (1,),
            "pairs": (len(machine.hosts) // 2,),
            "matching": tuple(range(1, MATCHINGS[effort.name] + 1)),
            "message_bytes": (8, 1 << 14, 1 << 20),
        }
        blocks.append(Axes(chance, sampling, 0.02))
    return tuple(blocks)


def pair_counts(ranks: int) -> tuple[int, ...]:
    """Returns 1, 2, 4 … and half of the ranks."""
    powers = [1 << k for k in range(20) if 1 << k <= max(ranks // 2, PAIRS_FOR_MORE_RANKS)]
    return tuple(sorted({*powers, max(1, ranks // 2)}))


rate = per_second("bytes")  # of all pairs, by the time of the slowest one
message_rate = per_second("messages")


def rank0_rate(seconds: float, record: Record) -> float | None:
    """Returns all pairs' bytes over the time of rank 0, as mpptest does; None if rank 0 takes no part."""
    seconds_of_rank0 = next(iter(rank_seconds(record)), ())
    return record.work["bytes"] * record.operations / median(seconds_of_rank0) or None if seconds_of_rank0 else None


def time(seconds: float, record: Record) -> float:
    """Returns half of the time of an exchange, in seconds."""
    return seconds / 2


metrics = (
    Metric("rate", "B/s", "higher", "rate of all pairs", rate),
    Metric("rank0_rate", "B/s", "higher", "rate by the time of rank 0 (as in mpptest)", rank0_rate),
    Metric("message_rate", "1/s", "higher", "messages per second of all pairs", message_rate),
    Metric("time", "s", "lower", "half of an exchange, of the slowest pair", time),
)

roles = (PairsPoint("round_trip", "bisection bandwidth"),)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the capacity of the links if a system file gives their rate and each pair lies on two hosts.

    Each host sends at most B. A round trip has one message in flight, so a pair adds at most B; head to head, 2 B.
    """
    link, hosts, met = machine.limits.get("network_bandwidth"), hosts_of(result.attempts), pairs_of(result)
    if metric not in ("rate", "rank0_rate") or link is None or not hosts or not met:
        return None
    if any(hosts[a] == hosts[b] for a, b in met):
        return None
    count = len({hosts[rank] for pair in met for rank in pair})
    links = min(count, len(met) * (2 if result.kernel == "head_to_head" else 1))
    return Limit(links * link.value, "B/s", f"{links} × {quantity(link.value, 'B/s')} for each link ({link.source})")


def pairs_of(result: Result) -> tuple[tuple[int, int], ...]:
    """Returns the pairs of ranks, by the halves or from the record of a random matching; empty if unknown."""
    if result.parameters.get("matching", "halves") == "halves":
        half = int(result.parameters["ranks"]) // 2
        return tuple((i, i + half) for i in range(int(result.parameters["pairs"])))
    details: dict[str, Any] = next((d for r in result.attempts if (d := r.surroundings.details)), {})
    return tuple((int(a), int(b)) for a, b in details.get("pairs", ()))


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of the rate against size and pairs, and of the effective bisection if matchings are random."""
    halves = select(results, matching="halves")
    by_size = [_draw_sizes(select(halves, kernel=kernel), kernel, words) for kernel, words in KERNELS.items()]
    effective = _draw_effective(results)
    return (
        *by_size,
        _draw_pairs(halves),
        *tolerance_figure(select(results, kernel="round_trip"), "network.bisection"),
        *((effective,) if effective else ()),
    )


def _draw_sizes(results: Sequence[Result], kernel: str, words: str) -> Figure:
    return Figure(
        name=f"bisection-{kernel.replace('_', '-')}",
        title=f"Bisection bandwidth against the size of the message: {words}",
        kind="lines",
        x=Axis("message size", "B", log=True),
        y=Axis("rate of all pairs", "B/s", log=True),
        series=against("message_bytes", "rate", results, names=NAMES, label="one pair" if _one_pair(results) else ""),
        caption="The rate is 2 · pairs · message size / time of the slowest pair.",
    )


def _one_pair(results: Sequence[Result]) -> bool:
    return {r.parameters.get("pairs") for r in results} == {1}


def _draw_pairs(halves: Sequence[Result]) -> Figure:
    """Draws the rate of the smallest, a middle and the largest message against the number of pairs."""
    sizes = sorted({int(r.parameters["message_bytes"]) for r in halves if "rate" in r.metrics})
    kernels = {r.kernel for r in halves}
    series: list[Series] = []
    for size in sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]}) if sizes else ():
        of_size = select(halves, message_bytes=size)
        for line in against("pairs", "rate", of_size, names=("kernel", *NAMES[1:]), label=min(kernels)):
            words = KERNELS.get(line.name, line.name).replace("_", " ")
            series.append(Series(f"{binary_size(size)}, {words}", line.x, line.y, line.low, line.high))
    return Figure(
        name="bisection-pairs",
        title="Bisection bandwidth against the number of pairs",
        kind="lines",
        x=Axis("pairs"),
        y=Axis("rate of all pairs", "B/s", log=True),
        series=tuple(series),
        caption="If a line rises straight, the pairs do not slow each other down. If it becomes flat, the bandwidth "
        "of a part of the network is used up.",
    )


def summarise_matchings(results: Sequence[Result]) -> dict[int, tuple[float, float, float]]:
    """Returns for each size the mean, least and greatest rate over all random matchings."""
    rates: dict[int, list[float]] = {}
    for r in results:
        if isinstance(r.parameters.get("matching"), int) and "rate" in r.metrics:
            rates.setdefault(int(r.parameters["message_bytes"]), []).append(r.metrics["rate"].value)
    return {size: (fmean(values), min(values), max(values)) for size, values in sorted(rates.items())}


def _draw_effective(results: Sequence[Result]) -> Figure | None:
    rates = summarise_matchings(results)
    if not rates:
        return None
    names = ("mean: effective bisection bandwidth", "lowest of the matchings", "highest of the matchings")
    sizes = tuple(float(size) for size in rates)
    return Figure(
        name="bisection-effective",
        title="Effective bisection bandwidth: random matchings of the nodes",
        kind="lines",
        x=Axis("message size", "B", log=True),
        y=Axis("rate of all pairs", "B/s", log=True),
        series=tuple(Series(name, sizes, tuple(v[i] for v in rates.values())) for i, name in enumerate(names)),
        caption="The kernel measures round trips with one rank on each node. Each matching divides the nodes into "
        "random pairs.",
    )
