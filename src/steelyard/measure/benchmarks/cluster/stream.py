"""Memory bandwidth of all nodes at once (STREAM on many ranks)

Every rank runs the triad a = b + s·c over long vectors at the same time, from a common start, one rank on each processor. No
rank sends a message meanwhile. The sum is the bandwidth of all memories of the cluster together. The spread of the ranks shows
a node with less bandwidth. The kernel is based on a variant of the STREAM benchmark.

Reading: All ranks of equal nodes should have the same bandwidth. Check a node that is slower than the others: a memory module
may be missing, the clock may be low, or another process may run. The sum uses the own time of each rank. The other bandwidth
uses the time of the slowest rank, as in a program where all ranks wait for each other.

Caution: When the first ranks have ended, the others have more memory bandwidth, so their last passes are faster. The sum is
therefore a little higher than the bandwidth while all ranks work. Bytes are counted as in STREAM; with ordinary stores, the
memory moves a third more.

Source: J. D. McCalpin, Memory Bandwidth and Machine Balance in Current High Performance Computers, IEEE TCCA, 1995; the size of
the vectors follows the rule of its MPI version: four times all last-level caches of each node, divided among its ranks.
"""

from statistics import median

from steelyard.measure.benchmarks.cluster.rates import rates_of_ranks, slowest_rank, sum_of_ranks
from steelyard.measure.benchmarks.figures import against, select
from steelyard.measure.benchmarks.memory.stream import elements
from steelyard.measure.benchmarks.network.sizes import rank_counts
from steelyard.measure.benchmarks.rates import per_second
from steelyard.measure.machine.rank_placement import ranks_here
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.roles import Witness
from steelyard.statistics.results import messages

parallel = True


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: one rank for each processor on all hosts, and fewer; a quick run has only all ranks and ordinary stores."""
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 1.0 if quick else 4.0, 6 if quick else 10, 50)
    stores = ("ordinary",) if quick else ("ordinary", "streaming")
    counts = rank_counts(machine, effort)
    blocks = [_block(machine, ranks, None, stores, sampling) for ranks in (counts[-1:] if quick else counts)]
    if len(machine.hosts) > 1:  # one rank on each node: the bandwidth of a single core
        blocks.append(_block(machine, len(machine.hosts), 1, stores, sampling))
    return tuple(blocks)


def _block(
    machine: Machine, ranks: int, ranks_per_node: int | None, stores: tuple[str, ...], sampling: Sampling
) -> Axes:
    here = ranks_here(machine, ranks, ranks_per_node)
    values: dict[str, tuple[Scalar, ...]] = {
        "kernel": ("triad",),
        "ranks": (ranks,),
        "placement": ("compact",),
        "stores": stores,
        "elements": (elements(machine) // here // 8 * 8,),
    }
    if ranks_per_node:
        values["ranks_per_node"] = (ranks_per_node,)
    return Axes(values, sampling, 1.0, choices={"stores": ("ordinary", "streaming")}, weak="")


def spread(seconds: float, record: Record) -> float | None:
    """Returns (fastest − slowest) / median of the ranks; None with a single rank, or without spread."""
    rates = rates_of_ranks(record, "bytes")
    return (max(rates) - min(rates)) / median(rates) or None if len(rates) > 1 else None


bandwidth = per_second("bytes")  # if all ranks wait for the slowest
total = sum_of_ranks("bytes")
slowest = slowest_rank("bytes")

metrics = (
    Metric(
        "bandwidth",
        "B/s",
        "higher",
        "bandwidth of all ranks together, timed until the slowest rank has finished",
        bandwidth,
    ),
    Metric("total", "B/s", "higher", "sum of the bandwidths of all ranks, each by its own time", total),
    Metric("slowest", "B/s", "higher", "bandwidth of the slowest rank", slowest),
    Metric("spread", "%", "lower", "spread of the ranks", spread),
)

roles = (Witness("triad"),)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the memory peak of all nodes, if all are like this one."""
    peak = machine.limits.get("memory_bandwidth")
    if metric not in ("bandwidth", "total") or peak is None:
        return None
    nodes = max(1, len(machine.hosts))
    return Limit(peak.value * nodes, peak.unit, f"{nodes} nodes: {peak.source}" if nodes > 1 else peak.source)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of the sum against the number of ranks, and of each rank's bandwidth."""
    shown = select(results, kernel="triad")
    names = ("stores", "ranks_per_node", "mpi", "toolchain")
    growth = Figure(
        name="cluster-triad-ranks",
        title="Triad bandwidth of all ranks together",
        kind="lines",
        x=Axis("ranks"),
        y=Axis("bandwidth", "B/s"),
        series=against("ranks", "bandwidth", shown, names=names),
        caption="The time ends when the slowest rank ends. Bytes by STREAM's count.",
    )
    most = max((int(r.parameters["ranks"]) for r in shown), default=0)
    ranks = Figure(
        name="cluster-triad-each",
        title=f"Triad bandwidth of each of {most} ranks",
        kind="bars",
        x=Axis("rank"),
        y=Axis("bandwidth", "B/s"),
        series=tuple(_rank_bars(r) for r in select(shown, ranks=most) if r.metrics),
        caption="The bandwidth of each rank uses its own time. The values are from the first record of each result.",
    )
    return growth, ranks


def _rank_bars(result: Result) -> Series:
    record = next(r for r in result.records if r.samples)
    hosts = messages.hosts(record)
    several = len(set(hosts)) > 1
    rates = rates_of_ranks(record, "bytes")
    names = tuple(f"{rank} ({hosts[rank]})" if several else str(rank) for rank in range(len(rates)))
    by = [str(result.parameters.get(name, "")) for name in ("stores", "ranks_per_node", "mpi")]
    return Series(", ".join(filter(None, by)), names, rates)
