"""Speed of all nodes at once (Flops on many ranks)

A known number of operations is split evenly over all ranks, one a processor, which compute it in registers from a common start:
the integral of a fraction by the trapezoidal rule, 14 operations an interval (module 1 of core.flops). No message is sent
meanwhile. The calculation time is the slowest rank's, the cluster's speed is all operations over that time.

Reading: Nothing is shared but the moment of the start, so that the speed must grow with the ranks: what it stays behind the
ideal line is lost to the slowest rank, to cores that share pipes, clock or power, or to other programs. Equal nodes have equal
speed; one that is slower holds up every program that waits for all.

Caution: This is neither the peak nor a program that communicates: it is the part of the scaling for which no network is to
blame. The work stays the same for all numbers of ranks: where a rank's share lasts less than a millisecond, the start itself
begins to show.

Source: The MPI program Flops of the cluster evaluations in which each node's speed and the speed of the slowest are told; its
total work was constant, about 1800 million operations. Operations after A. Aburto's flops.c, version 2.0, module 1.
"""

from steelyard.benchmarks.cluster.rates import of_ranks
from steelyard.benchmarks.figures import against, select
from steelyard.benchmarks.network.sizes import rank_counts
from steelyard.figure import Axis, Figure, Series
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Record, Result, Sampling, Scalar

parallel = True
INTERVALS = 1 << 25  # 14 operations each: 470 million in all, some 50 ms of one core


def counts(machine: Machine, effort: Effort) -> tuple[int, ...]:
    """1, 2, 4 … and all ranks; in a quick run one and all of them."""
    every = (1, *rank_counts(machine))
    return every if effort.name != "quick" else tuple(sorted({1, every[-1]}))


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """The same work on one rank and on more."""
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 0.8 if quick else 2.0, 6 if quick else 10, 100)
    values: dict[str, tuple[Scalar, ...]] = {"kernel": ("flops",), "placement": ("compact",), "intervals": (INTERVALS,)}
    return (Axes({**values, "ranks": counts(machine, effort)}, sampling, 0.05, weak="intervals"),)


def of_nodes(record: Record) -> dict[str, float]:
    """Each node's speed (flop/s): the sum of its ranks', by host."""
    hosts = (record.surroundings.get("ranks") or {}).get("hosts") or ()
    rates, found = of_ranks(record, "flops"), dict[str, float]()
    for host, rate in zip(hosts, rates, strict=len(hosts) == len(rates)):
        found[host] = found.get(host, 0.0) + rate
    return found


def time(seconds: float, record: Record) -> float:
    """Of all the work, until the slowest rank is done."""
    return seconds


def flops(seconds: float, record: Record) -> float:
    """Of all ranks together, where all wait for the slowest."""
    return record.work["flops"] / seconds


def total(seconds: float, record: Record) -> float | None:
    """Every rank with its own time; None where the record has none."""
    return sum(of_ranks(record, "flops")) or None


def slowest(seconds: float, record: Record) -> float | None:
    """Of one rank."""
    return min(of_ranks(record, "flops"), default=None)


metrics = (
    Metric("flops", "flop/s", "higher", "speed of all ranks until the slowest is done", flops),
    Metric("time", "s", "lower", "calculation time", time),
    Metric("total", "flop/s", "higher", "sum over the ranks, each by its own time", total),
    Metric("slowest", "flop/s", "higher", "speed of the slowest rank", slowest),
)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """None: a sum in a fixed order is bound by the time of an addition, which no table tells."""
    return None


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """The speed against ranks beside the ideal, the efficiency, and each node's speed."""
    names = ("mpi", "toolchain")
    lines = against("ranks", "flops", results, names=names, label="measured")
    ideal = tuple(_ideal(line) for line in lines[:1] if line.y[0])
    growth = Figure(
        name="cluster-flops-ranks",
        title="Speed of all ranks together",
        kind="lines",
        x=Axis("ranks"),
        y=Axis("speed", "flop/s"),
        series=(*lines, *ideal),
        caption="Until the slowest rank is done; the same work for all numbers of ranks.",
    )
    efficiency = Figure(
        name="cluster-flops-efficiency",
        title="Efficiency against ranks",
        kind="lines",
        x=Axis("ranks"),
        y=Axis("efficiency", "%"),
        series=tuple(_efficiency(line) for line in lines if line.y[0]),
        caption="The speed over that of the fewest ranks times their number.",
    )
    most = max((int(r.parameters["ranks"]) for r in results), default=0)
    nodes = Figure(
        name="cluster-flops-nodes",
        title=f"Speed of each node, or of each rank where there is one node ({most} ranks)",
        kind="bars",
        x=Axis("node or rank"),
        y=Axis("speed", "flop/s"),
        series=tuple(_each(r, names[0]) for r in select(results, ranks=most) if r.metrics),
        caption="By each rank's own times, the ranks of a node added: the first record of each result.",
    )
    return growth, efficiency, nodes


def _ideal(line: Series) -> Series:
    first = line.y[0]
    assert first is not None
    ends = (line.x[0], line.x[-1])
    return Series("ideal", ends, tuple(first * float(ranks) / float(line.x[0]) for ranks in ends))


def _efficiency(line: Series) -> Series:
    first = line.y[0]
    assert first is not None

    def over(values: tuple[float | None, ...]) -> tuple[float | None, ...]:
        pairs = zip(values, line.x, strict=True)
        return tuple(None if v is None else v / first * float(line.x[0]) / float(ranks) for v, ranks in pairs)

    return Series(line.name, line.x, over(line.y), over(line.low), over(line.high))


def _each(result: Result, name: str) -> Series:
    record = next(r for r in result.records if r.samples)
    nodes = of_nodes(record)
    label = str(result.parameters.get(name, "measured"))
    if len(nodes) > 1:
        return Series(label, tuple(nodes), tuple(nodes.values()))
    rates = of_ranks(record, "flops")
    return Series(label, tuple(str(rank) for rank in range(len(rates))), rates)
