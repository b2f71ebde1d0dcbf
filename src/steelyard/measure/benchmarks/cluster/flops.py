"""Speed of all nodes at once (Flops on many ranks)

Both kernels split a known number of operations evenly over all ranks, one rank on each processor. The ranks compute in
registers: the integral of a fraction by the trapezoidal rule, 14 operations for each interval (module 1 of core.flops). The
calculation time is that of the slowest rank. The speed of the cluster is the number of all operations divided by this time.

In the kernel "flops", the ranks are independent after a common start, and no rank sends a message. The kernel "task" is a
parallel task: rank 0 sends each rank its part of the data, and collects the results and adds them. The data are 8 bytes in each
direction for a strip of 1024 intervals, the parameter "strip". The difference between both kernels is the cost of communication.

Over several hosts Steelyard measures one node, then two, and so on up to all nodes, each with all its processors.

Reading: Independent ranks do not wait for each other, so their speed should grow in proportion to the ranks. If it lies below
the ideal line, the slowest rank is the cause, or cores share arithmetic units, clock or power, or other programs use the
machine. Nodes of the same kind should have the same speed. A slower node delays every program that waits for all nodes. If the
parallel task is slower than the independent ranks, communication is the cause. Its share of the time grows with the ranks,
because the computing of each rank becomes shorter.

Caution: The result is not the peak speed. The work is the same for all numbers of ranks. If the part of a rank takes less than a
millisecond, the time of the start makes the result less accurate. The cost of communication depends on the amount of data: a
program that sends more data for each operation loses more.

Source: The MPI program Flops of evaluations of clusters, which state the speed of each node and of the slowest node. Its total
work was constant, about 1800 million operations. How much data it distributed is not published; the strips are our own choice.
Operations after A. Aburto's flops.c, version 2.0, module 1.
"""

from steelyard.measure.benchmarks.cluster import flops_figures
from steelyard.measure.benchmarks.cluster.flops_figures import INDEPENDENT, TASK
from steelyard.measure.benchmarks.cluster.rates import slowest_rank, sum_of_ranks
from steelyard.measure.benchmarks.network.sizes import rank_counts
from steelyard.measure.benchmarks.rates import elapsed, per_second
from steelyard.model import Axes, Effort, Machine, Metric, Record, Sampling, Scalar
from steelyard.model.roles import Witness

parallel = True
MOST_NODES = 16  # with more nodes, the sweep doubles their number
INTERVALS = 1 << 25  # 14 operations each: 470 million in all, about 50 ms on one core
STRIP = 1024  # intervals for which the task sends a number there and one back: 14,336 operations


def counts(machine: Machine, effort: Effort) -> tuple[int, ...]:
    """Returns 1, 2, 4 … and all ranks; in a quick run one and all."""
    every = (1, *rank_counts(machine, effort))
    return every if effort.name != "quick" else tuple(sorted({1, every[-1]}))


def node_counts(nodes: int, effort: Effort) -> tuple[int, ...]:
    """Returns 1 … all nodes; with many nodes 1, 2, 4 … and all; in a quick run one and all."""
    if effort.name == "quick":
        return tuple(sorted({1, nodes}))
    if nodes <= MOST_NODES:
        return tuple(range(1, nodes + 1))
    return tuple(sorted({*(1 << k for k in range(nodes.bit_length()) if 1 << k <= nodes), nodes}))


demands = {
    "each rank needs 100 intervals": lambda p: 100 * p["ranks"] <= p["intervals"] <= 1 << 40,
    "the intervals may have 2^24 strips": lambda p: p["intervals"] <= p.get("strip", 1 << 40) << 24,
}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: the same work on one rank and on more; with several hosts, on one node and on more."""
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 0.8 if quick else 2.0, 6 if quick else 10, 100)
    sweeps: list[dict[str, tuple[Scalar, ...]]] = [{"ranks": counts(machine, effort)}]
    if len(machine.hosts) > 1:
        slots = min(host.slots for host in machine.hosts)
        ranks = tuple(slots * nodes for nodes in node_counts(len(machine.hosts), effort))
        sweeps.append({"ranks": ranks, "ranks_per_node": (slots,)})
    shared: dict[str, tuple[Scalar, ...]] = {"placement": ("compact",), "intervals": (INTERVALS,)}
    kernels: tuple[dict[str, tuple[Scalar, ...]], ...] = (
        {"kernel": (INDEPENDENT,)},
        {"kernel": (TASK,), "strip": (STRIP,)},
    )
    return tuple(
        Axes({**kernel, **shared, **sweep}, sampling, 0.05, weak="intervals") for sweep in sweeps for kernel in kernels
    )


def communication(seconds: float, record: Record) -> float | None:
    """Returns the seconds of the distribution and the collection, without the computing of the slowest rank."""
    return _read_part_seconds(record).get("communication")


def communication_share(seconds: float, record: Record) -> float | None:
    """Returns the share of the task's time that passes without computing on the slowest rank."""
    parts = _read_part_seconds(record)
    whole = sum(parts.values())
    return parts["communication"] / whole if whole else None


def _read_part_seconds(record: Record) -> dict[str, float]:
    """Returns the medians of both parts of the task's time, in seconds; empty if the ranks are independent."""
    details = record.surroundings.details or {}
    parts = {name: details.get(name) for name in ("computing", "communication")}
    return {name: float(value) for name, value in parts.items() if isinstance(value, int | float)}


metrics = (
    Metric(
        "flops",
        "flop/s",
        "higher",
        "speed of all ranks together, timed until the slowest rank has finished",
        per_second("flops"),
    ),
    Metric("time", "s", "lower", "calculation time", elapsed),
    Metric("total", "flop/s", "higher", "sum of the speeds of all ranks, each by its own time", sum_of_ranks("flops")),
    Metric("slowest", "flop/s", "higher", "speed of the slowest rank", slowest_rank("flops")),
    Metric("communication", "s", "lower", "time of the distribution and the collection of the data", communication),
    Metric(
        "communication_share", "%", "lower", "share of the calculation time that is communication", communication_share
    ),
)

roles = (Witness(INDEPENDENT),)


figures = flops_figures.figures
