"""Speed of all nodes at once (Flops on many ranks)

The kernel splits a known number of operations evenly over all ranks, one rank on each processor. They compute it in registers
from a common start: the integral of a fraction by the trapezoidal rule, 14 operations for each interval (module 1 of
core.flops). No rank sends a message meanwhile. The calculation time is that of the slowest rank. The speed of the cluster is
the number of all operations divided by this time.

Over several hosts Steelyard measures one node, then two, and so on up to all nodes, each with all its processors.

Reading: After the common start, the ranks do not depend on each other, so the speed should grow in proportion to the ranks. If
it lies below the ideal line, the slowest rank is the cause, or cores share arithmetic units, clock or power, or other programs
use the machine. Nodes of the same kind should have the same speed. A slower node delays every program that waits for all nodes.

Caution: The result is not the peak speed, and the kernel does not communicate: it shows the part of the scaling that does not
depend on the network. The work is the same for all numbers of ranks. If the part of a rank takes less than a millisecond, the
time of the start makes the result less accurate.

Source: The MPI program Flops of evaluations of clusters, which state the speed of each node and of the slowest node. Its total
work was constant, about 1800 million operations. Operations after A. Aburto's flops.c, version 2.0, module 1.
"""

from collections.abc import Sequence
from statistics import median

from steelyard.benchmarks.cluster.rates import rates_of_ranks
from steelyard.benchmarks.figures import against, cell, published, select
from steelyard.benchmarks.network.sizes import rank_counts
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.roles import Counterpart, Witness
from steelyard.statistics.results import messages
from steelyard.statistics.results.node_table import rates_of_nodes
from steelyard.statistics.results.result import rests_on
from steelyard.units import quantity

parallel = True
MOST_COLUMNS = 16  # of a table: with more nodes, it shows the slowest and the fastest
MOST_NODES = 16  # with more nodes, the sweep doubles their number
INTERVALS = 1 << 25  # 14 operations each: 470 million in all, about 50 ms on one core


def counts(machine: Machine, effort: Effort) -> tuple[int, ...]:
    """Returns 1, 2, 4 … and all ranks; in a quick run one and all."""
    every = (1, *rank_counts(machine))
    return every if effort.name != "quick" else tuple(sorted({1, every[-1]}))


def node_counts(nodes: int, effort: Effort) -> tuple[int, ...]:
    """Returns 1 … all nodes; with many nodes 1, 2, 4 … and all; in a quick run one and all."""
    if effort.name == "quick":
        return tuple(sorted({1, nodes}))
    if nodes <= MOST_NODES:
        return tuple(range(1, nodes + 1))
    return tuple(sorted({*(1 << k for k in range(nodes.bit_length()) if 1 << k <= nodes), nodes}))


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: the same work on one rank and on more; with several hosts, on one node and on more."""
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 0.8 if quick else 2.0, 6 if quick else 10, 100)
    values: dict[str, tuple[Scalar, ...]] = {"kernel": ("flops",), "placement": ("compact",), "intervals": (INTERVALS,)}
    blocks = [Axes({**values, "ranks": counts(machine, effort)}, sampling, 0.05, weak="intervals")]
    if len(machine.hosts) > 1:
        slots = min(host.slots for host in machine.hosts)
        ranks = tuple(slots * nodes for nodes in node_counts(len(machine.hosts), effort))
        blocks.append(Axes({**values, "ranks": ranks, "ranks_per_node": (slots,)}, sampling, 0.05, weak="intervals"))
    return tuple(blocks)


def rates_by_host(record: Record) -> dict[str, float]:
    """Returns the speed of each node (flop/s) by host: the sum over its ranks."""
    return dict(rates_of_nodes(record, "flops"))


def speeds(result: Result, ranks: bool = True) -> dict[str, float]:
    """Returns the median speed of each node over the valid records; with one node and `ranks`, of each rank."""
    nodes = [(rates, record) for record in rests_on(result) if (rates := rates_by_host(record))]
    rows = [rates if len(rates) > 1 or not ranks else _rates_by_rank(record) for rates, record in nodes]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: median(row[name] for row in rows if name in row) for name in names}


def _rates_by_rank(record: Record) -> dict[str, float]:
    return {f"rank {rank}": rate for rank, rate in enumerate(rates_of_ranks(record, "flops"))}


def nodes_of(result: Result) -> int:
    """Returns the number of nodes by the records; 1 if it is not recorded."""
    return max((len(set(messages.hosts(record))) for record in result.records), default=1) or 1


def time(seconds: float, record: Record) -> float:
    """Returns the seconds of all the work, until the slowest rank ends."""
    return seconds


def flops(seconds: float, record: Record) -> float:
    """Returns the operations per second of all ranks, if all wait for the slowest."""
    return record.work["flops"] / seconds


def total(seconds: float, record: Record) -> float | None:
    """Returns the sum of the ranks' speeds, each by its own time; None if it is not recorded."""
    return sum(rates_of_ranks(record, "flops")) or None


def slowest(seconds: float, record: Record) -> float | None:
    """Returns the speed of the slowest rank."""
    return min(rates_of_ranks(record, "flops"), default=None)


metrics = (
    Metric(
        "flops", "flop/s", "higher", "speed of all ranks together, timed until the slowest rank has finished", flops
    ),
    Metric("time", "s", "lower", "calculation time", time),
    Metric("total", "flop/s", "higher", "sum of the speeds of all ranks, each by its own time", total),
    Metric("slowest", "flop/s", "higher", "speed of the slowest rank", slowest),
)

roles = (Witness("flops"), Counterpart("flops", "flops"))


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns None: the time of an addition limits a sum in a fixed order, and no table lists it."""
    return None


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of speed and efficiency against ranks and nodes, the speed of each node, and a table."""
    by_ranks = tuple(r for r in results if "ranks_per_node" not in r.parameters)
    by_nodes = tuple(r for r in results if "ranks_per_node" in r.parameters and nodes_of(r) * _load(r) == _ranks(r))
    loaded = tuple(r for r in by_nodes if _load(r) == max(map(_load, by_nodes)))
    most = max(map(_ranks, results), default=0)
    bars = Figure(
        name="cluster-flops-nodes",
        title=f"Speed of each node, or of each rank of a single node ({most} ranks)",
        kind="bars",
        x=Axis("node or rank"),
        y=Axis("speed", "flop/s"),
        series=tuple(_rank_bars(r) for r in select(results, ranks=most) if r.metrics and speeds(r)),
        caption="The speed of each rank uses its own time. The speed of a node is the sum of its ranks. The values "
        "are medians over the launches.",
    )
    over_nodes = _growth(loaded, "nodes") if len({nodes_of(r) for r in loaded}) > 1 else ()
    return *_growth(by_ranks, "ranks"), *over_nodes, bars, _table(loaded or by_ranks, "nodes" if loaded else "ranks")


def _ranks(result: Result) -> int:
    return int(result.parameters["ranks"])


def _load(result: Result) -> int:
    return int(result.parameters["ranks_per_node"])


def _growth(results: Sequence[Result], over: str) -> tuple[Figure, Figure]:
    """Draws speed and efficiency over ranks, or over nodes with equal numbers of ranks."""
    scale = 1 / _load(results[0]) if over == "nodes" else 1
    lines = against("ranks", "flops", results, names=("mpi", "toolchain"), scale=scale, label="measured")
    others = published("cluster.flops", "cluster_speed", "nodes") if over == "nodes" else ()
    load = f" Each node has {_load(results[0])} ranks." if over == "nodes" else ""
    growth = Figure(
        name=f"cluster-flops-{'ranks' if over == 'ranks' else 'speed-nodes'}",
        title="Speed of all ranks together" if over == "ranks" else "Speed of the cluster against its nodes",
        kind="lines",
        x=Axis(over),
        y=Axis("speed", "flop/s"),
        series=(*lines, *(_ideal(line) for line in lines[:1] if line.y[0]), *others),
        caption=f"The time ends when the slowest rank ends. The work is the same for all numbers of {over}.{load}",
    )
    efficiency = Figure(
        name=f"cluster-flops-efficiency{'' if over == 'ranks' else '-nodes'}",
        title=f"Efficiency against {over}",
        kind="lines",
        x=Axis(over),
        y=Axis("efficiency", "%"),
        series=tuple(_efficiency(line) for line in lines if line.y[0]),
        caption="The efficiency is the speed divided by the ideal speed. The ideal speed grows in proportion to the "
        f"number of {over}, from the speed of the fewest {over}.",
    )
    return growth, efficiency


def _table(results: Sequence[Result], over: str) -> Figure:
    """Tabulates time, speed of the cluster and speed of each node, as the evaluation of the Celeron cluster does."""
    settings = [n for n in ("mpi", "toolchain") if len({r.parameters.get(n) for r in results}) > 1]
    shown = sorted((r for r in results if r.metrics), key=_ranks)
    rows_of_rates = [speeds(r, ranks=over == "ranks") for r in shown]
    names = list(dict.fromkeys(name for row in rows_of_rates for name in row))
    columns = names if len(names) <= MOST_COLUMNS else ["slowest", "fastest"]
    rows = [
        (
            str(nodes_of(r) if over == "nodes" else _ranks(r)),
            *(str(r.parameters.get(n, "")) for n in settings),
            cell(r, "time"),
            cell(r, "flops"),
            *_cells(row, columns),
        )
        for r, row in zip(shown, rows_of_rates, strict=True)
    ]
    return Figure(
        name="cluster-flops-table",
        title=f"Time, speed of the cluster and of each {over.removesuffix('s')}",
        kind="table",
        x=Axis(over),
        y=Axis("speed", "flop/s"),
        headings=(over, *settings, "calculation time", "cluster speed", *columns),
        cells=tuple(rows),
        caption="The values are medians. The time is the time of the slowest rank. The speed of each node or rank "
        "uses its own time.",
    )


def _cells(rates: dict[str, float], names: Sequence[str]) -> list[str]:
    ends = {"slowest": min(rates.values(), default=None), "fastest": max(rates.values(), default=None)}
    values = (rates.get(name, ends.get(name)) for name in names)
    return ["" if value is None else quantity(value, "flop/s") for value in values]


def _ideal(line: Series) -> Series:
    first = line.y[0]
    assert first is not None
    ends = (line.x[0], line.x[-1])
    return Series("ideal", ends, tuple(first * float(count) / float(line.x[0]) for count in ends))


def _efficiency(line: Series) -> Series:
    first = line.y[0]
    assert first is not None

    def over(values: tuple[float | None, ...]) -> tuple[float | None, ...]:
        pairs = zip(values, line.x, strict=True)
        return tuple(None if v is None else v / first * float(line.x[0]) / float(count) for v, count in pairs)

    return Series(line.name, line.x, over(line.y), over(line.low), over(line.high))


def _rank_bars(result: Result) -> Series:
    rates = speeds(result)
    return Series(str(result.parameters.get("mpi", "measured")), tuple(rates), tuple(rates.values()))
