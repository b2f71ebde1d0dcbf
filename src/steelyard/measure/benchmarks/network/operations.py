"""Cost of the basic operations of MPI (Mpitest)

The kernel times a read of the clock, the barrier, the latency of an empty message, messages between neighbours, and the
collective operations on 1, 10 and 100 integers of 32 bits. It measures each operation in a loop with a barrier after the
operation. It also measures the barrier alone, so you can see both parts of the time.

Reading: As in the program Mpitest, the time contains the operation and the synchronisation after it. The cost of the operation
is this time minus the time of the barrier alone. Mpitest calls these operations "fast": synchronisation (the barrier), latency
(half of the round trip of an empty message between neighbours) and reading the clock. It calls these operations "slow":
computing (reduce, allreduce), transfers (messages between neighbours, gather, scatter, allgather, alltoall) and broadcasts. The
time should be nearly the same for 1 and 100 integers, because starting an operation takes longer than moving so few bytes.

Caution: The difference is an estimate. A barrier after an operation may find the ranks further apart or closer together than a
barrier after another barrier, so it may take more or less time. If the difference is not above zero, the report shows no value.
The clock and the latency are timed without a barrier. Both ends of a message between neighbours wait for the same barrier, so
sending and receiving are not separate.

Source: Test mpitest of the Research Computing Centre of Moscow State University (parallel.ru), as the measurement of a cluster
of eight nodes used it: its classes of operations, and S = T / 2N for the latency. The list of the operations of each class is
our own. Mpitest repeats the slow operations 100 times and the fast ones 100 000 times; here the number depends on the requested
interval. It is the number of samples times the operations per sample, both in the record.
"""

from collections.abc import Mapping, Sequence

from steelyard.measure.benchmarks.figures import select
from steelyard.measure.benchmarks.network.sizes import rank_counts
from steelyard.measure.benchmarks.rates import seconds_for_each
from steelyard.model import Axes, Effort, Machine, Metric, Result, Sampling
from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.model.numbers import GREATEST
from steelyard.model.words import plural

parallel = True
FAST = ("wtime", "barrier", "latency")
COMPUTING, BROADCASTS = ("reduce", "allreduce"), ("bcast",)
TRANSFERS = ("send_recv", "sendrecv", "isend_irecv", "gather", "scatter", "allgather", "alltoall")
SLOW = (*COMPUTING, *TRANSFERS, *BROADCASTS)
ALONE = FAST  # without a barrier after them, and without integers
INTEGERS = (1, 10, 100)
SETTING = ("transport", "placement", "mpi", "toolchain")


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: each operation with each number of integers, at the fewest and the most ranks; a longer run has all numbers."""
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 0.05 if quick else 0.3, effort.sampling.least, 2000)
    counts = rank_counts(machine, effort)
    ranks = tuple(sorted({counts[0], counts[-1]})) if quick else counts
    moved = tuple(kernel for kernel in (*FAST, *SLOW) if kernel not in ALONE)
    return (
        Axes({"kernel": ALONE, "ranks": ranks}, sampling, 0.02),
        Axes(
            {"kernel": moved, "ranks": ranks, "integers": INTEGERS},
            sampling,
            0.02,
            choices={"buffers": ("host", "device")},
            bounds={"integers": (0, GREATEST)},
            further=("buffers",),
        ),
    )


# The time of an operation contains its barrier. That of wtime, of the barrier itself and of an empty message has no other.
time = seconds_for_each("operations")
metrics = (Metric("time", "s", "lower", "operation and synchronisation", time),)


def subtract_barrier(results: Sequence[Result]) -> Mapping[tuple[str, int], float | None]:
    """Returns the seconds that an operation adds to its barrier, by kernel and integers; None if not above zero.

    The results must have one setting (ranks, MPI …). Empty if the barrier was not measured.
    """
    barrier = next((r.metrics["time"].value for r in select(results, kernel="barrier") if "time" in r.metrics), None)
    if barrier is None:
        return {}
    added = {
        (r.kernel, int(r.parameters["integers"])): r.metrics["time"].value - barrier
        for r in results
        if "time" in r.metrics and r.kernel not in ALONE
    }
    return {key: value if value > 0 else None for key, value in added.items()}


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns bars at the most ranks, with and without the synchronisation; two figures for each MPI."""
    ranks = max((int(r.parameters["ranks"]) for r in results), default=0)
    settings: dict[tuple[object, ...], list[Result]] = {}
    for result in select(results, ranks=ranks):
        settings.setdefault(tuple(result.parameters.get(name) for name in SETTING), []).append(result)
    drawn: list[Figure] = []
    for number, (setting, members) in enumerate(sorted(settings.items(), key=str), 1):
        ending = f", {', '.join(str(word) for word in setting if word)}" if len(settings) > 1 else ""
        drawn += _bars(members, ranks, ending, f"-{number}" if len(settings) > 1 else "")
    return tuple(drawn)


def _bars(results: Sequence[Result], ranks: int, ending: str, number: str) -> list[Figure]:
    barrier = next((r.metrics["time"].value for r in select(results, kernel="barrier") if "time" in r.metrics), None)
    measured = [r for r in results if "time" in r.metrics]
    both = {(r.kernel, int(r.parameters.get("integers", 0))): r.metrics["time"].value for r in measured}
    x, log = Axis("operation"), Axis("time", "s", log=True)
    return [
        Figure(
            name=f"operations-cost{number}",
            title=f"Operation and synchronisation, {ranks} ranks{ending}",
            kind="bars",
            x=x,
            y=log,
            series=_series(both),
            marks=(Mark("y", barrier, "synchronisation alone"),) if barrier else (),
            caption="The time of each operation includes the barrier after it. The clock, the barrier and the "
            "latency are measured alone. The program Mpitest divides operations into fast and slow ones.",
        ),
        Figure(
            name=f"operations-difference{number}",
            title=f"Time that an operation adds to the synchronisation, {ranks} ranks{ending}",
            kind="bars",
            x=x,
            y=log,
            series=_series(subtract_barrier(results)),
            caption="The bars show the time with the barrier minus the time of the barrier alone. There is no bar if "
            "the difference is not above 0.",
        ),
    ]


def _series(values: Mapping[tuple[str, int], float | None]) -> tuple[Series, ...]:
    """Returns a series for each number of integers, with the operations in order and with their class."""
    kernels = [k for k in (*FAST, *SLOW) if any(kernel == k for kernel, _ in values)]
    labels = tuple(f"{k} ({'fast' if k in FAST else 'slow'})" for k in kernels)
    return tuple(
        Series(_name_size(count), labels, tuple(values.get((k, count)) for k in kernels))
        for count in sorted({count for _, count in values})
    )


def _name_size(integers: int) -> str:
    return "no data" if integers == 0 else plural(integers, "integer")
