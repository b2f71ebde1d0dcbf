"""Collective operations, blocking and nonblocking

The kernel measures broadcast, reductions, gather, scatter, all-gather, all-to-all, prefix sums, barrier, and the variants with
a different size for each rank (v). It measures each operation blocking and nonblocking, with several sizes and numbers of
ranks. All ranks start at the same moment of a common clock. The time lasts from the first start to the last end. Each
nonblocking operation also runs while the processor computes. The computation lasts as long as the operation alone.

Reading: The size is the size of one block: the data that a rank sends to one other rank. If all ranks have the same data
(broadcast, reduce, allreduce, scan), it is the size of all these data. If the time jumps between two sizes, the MPI changes to
another algorithm there. If a larger size is faster than a smaller one, the MPI chose the wrong algorithm. For small blocks, the
time should grow with the logarithm of the number of ranks. For large blocks in broadcast and allreduce, it should hardly grow.
With an overlap of 0, the operation makes no progress while the processor computes. With 100 %, the operation adds no time to
the computation.

Caution: A sample contains several short operations without a pause between them. Each operation has another rank as its root.
With the same root in all operations, the root would start the next operation before the others end the last one, and the
operations would overlap (`--set root=fixed` shows this: half of the time on two ranks). Scan and exscan have no root, and their
first rank may start early in the same way. `bandwidth` counts the bytes that must move at least, not those that an algorithm
sends. For the overlap, the kernel calls MPI_Test `tests` times during the computation. These calls cost time, and the operation
makes progress in them. The two formulas for the overlap differ here: the formula of IMB counts this time as time of the
operation, the formula of OSU does not. The kernel reuses its buffers, so small ones lie in the caches.
`--set buffers=device` uses the memory of devices, if the MPI can send it.

Source: MPI 3.1; the definition of the time as in ReproMPI with global clocks (S. Hunold and A. Carpen-Amarie, IEEE TPDS 27,
2016). Overlap: IMB-NBC, max(0, min(1, (t_pure + t_CPU - t_ovrl) / max(t_pure, t_CPU))); OSU micro-benchmarks, max(0, 1 -
(t_overall - (t_compute - t_test)) / t_pure), both of the means over the ranks.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from steelyard.measure.benchmarks.figures import against, select, table
from steelyard.measure.benchmarks.network.room import bytes_per_rank
from steelyard.measure.benchmarks.network.sizes import message_sizes, rank_counts
from steelyard.measure.benchmarks.rates import elapsed, per_second
from steelyard.model import Axes, Effort, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.numbers import GREATEST
from steelyard.model.roles import Waiting, Witness

parallel = True
ROOTED = ("bcast", "reduce", "gather", "scatter", "gatherv", "scatterv")
UNROOTED = ("allreduce", "allgather", "alltoall", "reduce_scatter_block", "scan", "exscan", "allgatherv", "alltoallv")
MOVING = ("bcast", "scatter", "gather", "allgather", "alltoall", "scatterv", "gatherv", "allgatherv", "alltoallv")
ADDING = ("reduce", "allreduce", "reduce_scatter_block", "scan", "exscan")
MAPPED = (
    "bcast",
    "allreduce",
    "alltoall",
)  # operations with a heat map: one to all, all to all with equal data, all to all with different data
MANY_BLOCKS = (
    "gather",
    "scatter",
    "gatherv",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "reduce_scatter_block",
)
LARGEST = 1 << 20
FEWEST = 6  # samples: with more ranks than processors, one can take seconds, and a case has half a minute
TESTS = 10  # calls of MPI_Test during the computation
NAMES = ("kernel", "root", "transport", "placement", "mpi", "toolchain")
demands = {
    "reductions need a multiple of 4 bytes": lambda p: (
        p["kernel"].removeprefix("i") not in ADDING or p["message_bytes"] % 4 == 0
    ),
    "the blocks of all ranks must be below 2 GiB": lambda p: p.get("message_bytes", 0) * p["ranks"] < 1 << 31,
}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: all operations over sizes and ranks; few sizes in a quick run; no cases that do not fit into memory."""
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 0.02 if quick else 0.05, FEWEST, 1000)
    sizes = (8, 1 << 12, 1 << 16, 1 << 19) if quick else message_sizes(effort, least=4, largest=LARGEST)
    fewer = (1 << 12, 1 << 18) if quick else sizes[::2]
    ranks = rank_counts(machine, effort)

    def fits(point: Parameters) -> bool:
        count, kernel = int(point["ranks"]), str(point["kernel"])
        blocks = 2 * (count if kernel.removeprefix("i") in MANY_BLOCKS else 1)
        return blocks * int(point["message_bytes"]) <= bytes_per_rank(machine, count)

    def block(kernels: Iterable[str], rooted: bool, waits: bool) -> Axes:
        values: dict[str, tuple[Scalar, ...]] = {
            "kernel": tuple(kernels) if waits else tuple(f"i{kernel}" for kernel in kernels),
            "ranks": ranks,
            "message_bytes": sizes if waits else fewer,
        }
        values |= {"root": ("rotating",)} if rooted else {}
        values |= {} if waits else {"tests": (TESTS,)}
        choices: dict[str, tuple[Scalar, ...]] = {"root": ("rotating", "fixed")} if rooted else {}
        choices["buffers"] = ("host", "device")
        return Axes(
            values,
            sampling,
            0.01 if waits else 0.03,
            fits,
            choices=choices,
            bounds={"tests": (0, GREATEST)},
            further=("buffers",),
        )

    return (
        Axes({"kernel": ("barrier",), "ranks": ranks}, sampling, 0.01),
        Axes({"kernel": ("ibarrier",), "ranks": ranks, "tests": (TESTS,)}, sampling, 0.03),
        *(block(kernels, kernels is ROOTED, waits) for kernels in (ROOTED, UNROOTED) for waits in (True, False)),
    )


def time_together(seconds: float, record: Record) -> float | None:
    """Returns the seconds of a nonblocking operation with a computation of equal length; full overlap halves the sum."""
    value = _details(record).get("together")
    return float(value) if value else None


metrics = (
    Metric("time", "s", "lower", "time of the operation", elapsed),
    Metric("bandwidth", "B/s", "higher", "bandwidth, counting the bytes that must move at least", per_second("bytes")),
    Metric("together", "s", "lower", "time together with a computation of the same length", time_together),
)


def _details(record: Record) -> dict[str, Any]:
    return dict(record.surroundings.details or {})


roles = (Waiting("barrier"), Waiting("allreduce"), Witness("alltoall"))


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of the time against the size, maps of size and ranks, and the overlap by both formulas."""
    ranks = max((int(r.parameters["ranks"]) for r in results), default=0)
    largest = select(results, ranks=ranks)
    drawn = [
        _curves(largest, MOVING, "moving", f"Operations that move data, {ranks} ranks"),
        _curves(largest, ADDING, "adding", f"Operations that add, {ranks} ranks"),
    ]
    drawn += [figure for kernel in MAPPED for figure in _maps(select(results, kernel=kernel), kernel)]
    drawn += [_overlaps(largest, formula, words) for formula, words in (("imb", "IMB"), ("osu", "OSU"))]
    return tuple(drawn)


def _curves(results: Sequence[Result], kernels: Sequence[str], name: str, title: str) -> Figure:
    shown = [r for r in results if r.kernel in kernels]
    roots = {r.parameters["root"] for r in shown if "root" in r.parameters}
    names = NAMES if len(roots) > 1 else tuple(n for n in NAMES if n != "root")  # operations without a root have none
    return Figure(
        name=f"collectives-{name}",
        title=title,
        kind="lines",
        x=Axis("size of one block", "B", log=True),
        y=Axis("time", "s", log=True),
        series=against("message_bytes", "time", shown, names=names),
        caption="The time lasts from the first start to the last end. The figure shows the blocking operations, the "
        "table also the nonblocking ones.",
    )


def _maps(results: Sequence[Result], kernel: str) -> list[Figure]:
    """Draws a map for each setting (MPI, toolchain …) in which the operation was measured."""
    settings: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        settings.setdefault(tuple(result.parameters.get(name) for name in NAMES[1:]), []).append(result)
    maps = []
    for number, (setting, members) in enumerate(sorted(settings.items(), key=str), 1):
        several = len(settings) > 1
        columns, rows, z = table(members, "message_bytes", "ranks", "time")
        maps.append(
            Figure(
                name=f"collectives-{kernel}" + (f"-{number}" if several else ""),
                title=f"{kernel}: time against block size and number of ranks"
                + (f", {', '.join(str(word) for word in setting if word)}" if several else ""),
                kind="heat",
                x=Axis("size of one block", "B", log=True),
                y=Axis("ranks", "", log=True),
                columns=columns,
                rows=rows,
                z=z,
                value=Axis("time", "s", log=True),
            )
        )
    return maps


def overlap(result: Result, formula: str) -> float | None:
    """Returns the hidden share of the operation's time by "imb" or "osu": mean over the launches; None if not measured."""
    shares = [(r.surroundings.details or {}).get(formula) for r in result.attempts]
    measured = [float(share) for share in shares if share is not None]
    return fmean(measured) if measured else None


def _overlaps(results: Sequence[Result], formula: str, words: str) -> Figure:
    lines: dict[str, list[tuple[float, float]]] = {}
    several = len({(r.parameters.get("mpi"), r.parameters.get("toolchain")) for r in results}) > 1
    for result in results:
        share = overlap(result, formula)
        if share is not None and "message_bytes" in result.parameters:
            mpi = f", {result.parameters.get('mpi')}, {result.parameters.get('toolchain')}" if several else ""
            lines.setdefault(result.kernel + mpi, []).append((float(result.parameters["message_bytes"]), share))
    return Figure(
        name=f"collectives-overlap-{formula}",
        title=f"Share of a nonblocking operation that a computation hides, formula of {words}",
        kind="lines",
        x=Axis("size of one block", "B", log=True),
        y=Axis("hidden share", "%"),
        series=tuple(
            Series(name, tuple(x for x, _ in sorted(points)), tuple(y for _, y in sorted(points)))
            for name, points in sorted(lines.items())
        ),
        caption=f"The kernel calls MPI_Test {TESTS} times during the computation. The end of this page gives both "
        "formulas.",
    )
