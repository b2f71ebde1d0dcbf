"""Throughput of logical topologies: star, ring, chaos (Nettest)

A logical topology says which ranks exchange messages; each such pair is a channel. All channels carry a message each way at the
same time. The channels of the star connect the first rank with each other rank, those of the ring connect each rank with the
next, and those of chaos connect every pair. In one-way mode, the second rank of a channel answers after it has received the
message. In two-way mode, both directions run at once. The throughput is the number of all bytes divided by the time of the
slowest rank.

Reading: The star measures the link of the first rank. The ring measures all links at the same time. Chaos measures the switch
under its highest load. With full-duplex links of B bytes per second, the star cannot exceed 2 B for any number of ranks. Ring
and chaos cannot exceed P · B for P ranks on P nodes. If the ring is near this bound and chaos is far below it, the switch
cannot carry the traffic of all links. With two ranks, all three topologies are the same pair, so their lines must agree within
the scatter. The caption names the steadiest topology: its throughput varies least with the message size (standard deviation
divided by mean). Only those sizes count from which on all topologies reach 80 % of their best throughput.

Caution: If no system file gives the network bandwidth, B is the best one-way throughput of two ranks in this run. The bounds
then hold for equal, independent links; they are not physical limits. Within one machine the ranks share the memory and copy
with their own processors. A rank starts at most `outstanding` requests at the same time. With very many ranks, chaos therefore
sends its messages in several rounds.

Source: Test nettest of the Research Computing Centre of Moscow State University (parallel.ru), as the measurement of a cluster
of eight nodes used it. In one-way mode, each rank begins with the ranks that follow it, so not all ranks begin with the same
partner. The bounds follow from the bytes that each port must send and receive.
"""

from collections.abc import Sequence

from steelyard.measure.benchmarks.figures import against, select
from steelyard.measure.benchmarks.network.room import bytes_per_rank
from steelyard.measure.benchmarks.network.sizes import TWO_RANKS, message_sizes, rank_counts
from steelyard.measure.benchmarks.rates import elapsed, per_second
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Parameters, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Mark
from steelyard.model.numbers import GREATEST
from steelyard.model.units import binary_size, quantity
from steelyard.statistics.results.messages import hosts_of
from steelyard.statistics.results.steadiness import steadiness

parallel = True
LARGEST = 4 << 20  # bytes; larger messages exceed the caches many times, and chaos needs P of them
OUTSTANDING = 256  # requests of one rank, two for each channel: with up to 128 ranks, all are in flight at once
NAMES = ("topology", "direction", "outstanding", "transport", "placement", "mpi", "toolchain")
demands = TWO_RANKS


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: three topologies, two directions, all sizes, 2, 4, 8 … ranks; on several hosts, one rank on each and all ranks.

    Cases that do not fit into memory are left out.
    """
    sampling = Sampling(effort.sampling.width, 0.03 if effort.name == "quick" else 0.3, effort.sampling.least, 2000)
    nodes, all_ranks = len(machine.hosts), rank_counts(machine, effort)
    choices: dict[str, tuple[Scalar, ...]] = {
        "topology": ("star", "ring", "chaos"),
        "direction": ("one-way", "two-way"),
    }
    bounds = {"outstanding": (4, GREATEST)}  # at least the requests of two channels
    values: dict[str, tuple[Scalar, ...]] = {
        "kernel": ("nettest",),
        "ranks": all_ranks,
        **choices,
        "message_bytes": message_sizes(effort, least=8, largest=LARGEST)[:: 2 if effort.name == "quick" else 1],
        "outstanding": (OUTSTANDING,),
    }

    def fits(point: Parameters) -> bool:
        ranks = int(point["ranks"])
        slots = min(ranks - 1, int(point["outstanding"]) // 2)
        return 2 * slots * int(point["message_bytes"]) <= bytes_per_rank(machine, ranks)

    def one_each(point: Parameters) -> bool:
        return int(point["ranks"]) <= nodes and fits(point)

    def crowded(point: Parameters) -> bool:
        return int(point["ranks"]) > nodes and fits(point)

    if nodes < 2:
        return (Axes(values, sampling, 0.02, fits, choices=choices, bounds=bounds),)
    spread = {**values, "ranks": tuple(sorted({*all_ranks, nodes})), "ranks_per_node": (1,)}
    full = {**values, "ranks": all_ranks[-1:]}
    return (
        Axes(spread, sampling, 0.02, one_each, choices=choices, bounds=bounds),
        Axes(full, sampling, 0.02, crowded, choices=choices, bounds=bounds),
    )


metrics = (
    Metric("throughput", "B/s", "higher", "throughput of all channels", per_second("bytes")),
    Metric("time", "s", "lower", "time of one message each way on each channel", elapsed),
)


def bound(topology: str, ranks: int, link: float) -> float:
    """Returns the highest throughput of `ranks`, each with a full-duplex link of `link` B/s for each direction.

    Star: 2 (P-1) L bytes count, and the first rank's link carries (P-1) L each way. Ring: 2 P L and 2 L. Chaos: P (P-1) L
    and (P-1) L.
    """
    return link * (2 if topology == "star" else ranks)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the bound by the link rate of a system file, if each rank has its own host."""
    link, hosts = machine.limits.get("network_bandwidth"), hosts_of(result.attempts)
    ranks = int(result.parameters.get("ranks", 0))
    if metric != "throughput" or link is None or ranks < 2 or len(set(hosts)) != ranks:
        return None
    topology = str(result.parameters["topology"])
    factor = "2" if topology == "star" else f"{ranks} ranks"
    return Limit(
        bound(topology, ranks, link.value),
        "B/s",
        f"{factor} × {quantity(link.value, 'B/s')} for each link ({link.source})",
    )


def link_of(results: Sequence[Result], machine: Machine, spread: bool) -> tuple[float, str] | None:
    """Returns B and its source: a system file, or the best one-way throughput of two ranks (on two hosts if `spread`)."""
    given = machine.limits.get("network_bandwidth")
    if given and spread:
        return given.value, given.source
    pairs = [
        r.metrics["throughput"].value
        for r in select(results, ranks=2, direction="one-way")
        if "throughput" in r.metrics and (len(set(hosts_of(r.attempts))) > 1) == spread
    ]
    return (max(pairs), "the best one-way throughput of two ranks in this run") if pairs else None


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of the throughput against the size for each number of ranks, with bounds, and against the ranks."""
    counts = sorted({int(r.parameters["ranks"]) for r in results if "ranks" in r.parameters})
    by_size = [_draw_sizes(results, machine, ranks) for ranks in counts]
    return *by_size, *((_draw_ranks(results),) if len(counts) > 1 else ())


def _draw_sizes(results: tuple[Result, ...], machine: Machine, ranks: int) -> Figure:
    shown = select(results, ranks=ranks)
    link = link_of(results, machine, any(len(set(hosts_of(r.attempts))) > 1 for r in shown))
    origin = (
        f" B = {quantity(link[0], 'B/s')}: {link[1]}."
        if link
        else " There is no bound: the bandwidth B of a link is unknown, because this run did not measure two ranks."
    )
    lines = against("message_bytes", "throughput", shown, names=NAMES)
    best = draw_printed("network.nettest", "nettest", "throughput", "message_bytes", lines, words="best of all sizes")
    return Figure(
        name=f"nettest-{ranks}",
        title=f"Throughput of {ranks} ranks against the size of the message",
        kind="lines",
        x=Axis("message size", "B", log=True),
        y=Axis("throughput of all channels", "B/s", log=True),
        series=(*lines, *best),
        marks=_bounds(ranks, link[0]) if link else (),
        caption="The throughput counts both directions of all channels." + origin + _describe_variation(shown),
    )


def _describe_variation(shown: Sequence[Result]) -> str:
    """Returns a sentence on the variation with a leading space; "" if there is none."""
    words = [f"{s.topology} {quantity(s.variation, '%', 2)}" for rows in steadiness(shown)[:1] for s in rows]
    return (
        f" Variation of the throughput with the message size, the smallest variation first: {', '.join(words)}."
        if words
        else ""
    )


def _bounds(ranks: int, link: float) -> tuple[Mark, ...]:
    if ranks == 2:
        return (Mark("y", bound("star", 2, link), "all three: 2 B"),)
    return (
        Mark("y", bound("star", ranks, link), "star: 2 B"),
        Mark("y", bound("ring", ranks, link), f"ring and chaos: {ranks} B"),
    )


def _draw_ranks(results: tuple[Result, ...]) -> Figure:
    """Draws the throughput against ranks, at the largest message that all numbers of ranks have."""
    measured = [r for r in results if "throughput" in r.metrics]
    sizes = [{int(r.parameters["message_bytes"]) for r in select(measured, ranks=p)} for p in _ranks(measured)]
    common = max(set.intersection(*sizes), default=0) if sizes else 0
    lines = against("ranks", "throughput", select(measured, message_bytes=common), names=NAMES)
    return Figure(
        name="nettest-ranks",
        title=f"Throughput against the number of ranks, messages of {binary_size(common)}",
        kind="lines",
        x=Axis("ranks"),
        y=Axis("throughput of all channels", "B/s"),
        series=(*lines, *draw_printed("network.nettest", "nettest", "throughput", "ranks", lines)),
        caption="The link of the first rank limits the star. Ring and chaos grow until the bandwidth of the network "
        "is used up.",
    )


def _ranks(results: Sequence[Result]) -> list[int]:
    return sorted({int(r.parameters["ranks"]) for r in results})
