"""Finite elements: Poisson's equation by assembly and conjugate gradients

This is an implicit solver as in engineering codes. The unit cube is divided into hexahedra, each bent differently. The program
integrates their matrices, adds them to one sparse matrix with 27 entries in each row, and imposes the known values on the
faces. Conjugate gradients solve the system until the residual is 1e-10 of the first one. There are three kernels: `program` is
all of it, `assembly` the integrals alone, `solver` a fixed number of iterations (`iterations`). Ranks have boxes of the mesh.
They exchange the values at their borders before each product, and add two sums over all ranks in each iteration.

Reading: The assembly is vector arithmetic and scales with cores. The solver reads the whole matrix in each iteration, with two
floating-point operations for twelve bytes. So the memory sets its speed, and a further core helps only if it adds bandwidth.
The share of both depends on how often a program assembles. Every run is checked: its error against the analytic solution is
within that of second order, and the residual is computed again with and without the matrix.

Caution: There is no preconditioner, so the number of iterations grows with the edge of the mesh. Weak scaling is therefore
possible for assembly and solver, but not for the whole program. All ranks that share a border compute its elements, which costs
small parts some per cent. A matrix that fits into the last-level cache shows the cache; that of 64³ elements has 89 MB. Bytes
are counted as the least that must move. Ranks may have threads (`--set model=mpi --set threads=2`), pinned to the processors
that follow. Disturbances are observed on the first thread of each rank only.

Source: The definition is this project's; the method stands in every book on finite elements, as G. Strang, G. Fix, An Analysis
of the Finite Element Method (1973), and M. Hestenes, E. Stiefel, J. Res. NBS 49 (1952). The problem is of the kind of miniFE.
"""

from dataclasses import replace

from steelyard.applications.benchmarks.application import npb
from steelyard.benchmarks.axes import thread_counts, with_openmp
from steelyard.benchmarks.figures import against, select
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series
from steelyard.words import said

parallel = ("mpi",)
openmp = True
MODELS = ("threads", "mpi")
ITERATIONS = 50  # of the solver alone: some 10 times as long as a case's start
QUICK, USUAL = 32**3, 64**3  # elements: the usual matrix is larger than most last caches, and a run takes seconds
MOST = 128**3  # of a full run
BYTES = 500  # of memory for an element, with all vectors
MEMORY_SHARE = 0.5  # of the machine's memory: what a size may need to be planned without being asked for
# Rough, of one core: an element's assembly (s), a row's share of an iteration (s).
ASSEMBLY, ITERATION = 4e-7, 4e-8
CACHED = 2  # times the last caches: a smaller matrix is in part read from them, and the memory sets it no limit


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """A block for each model and kernel; the work of assembly and solver is in proportion to the elements."""
    quick = effort.name == "quick"
    counts = thread_counts(machine)
    counts = counts[-1:] if quick else counts
    sizes = {"quick": (QUICK,), "standard": (USUAL,)}.get(effort.name, (USUAL, MOST))
    fitting = tuple(n for n in sizes if n * BYTES <= MEMORY_SHARE * machine.memory) or sizes[:1]
    blocks = []
    for model in MODELS:
        workers: dict[str, tuple[Scalar, ...]] = {"threads": counts, "pinning": ("compact",)}
        if model == "mpi":
            workers = {"ranks": counts, "placement": ("compact",)}
        for kernel in ("program", "assembly", "solver"):
            own: dict[str, tuple[Scalar, ...]] = {"iterations": (ITERATIONS,)} if kernel == "solver" else {}
            values = {"kernel": (kernel,), "model": (model,), "elements": fitting, **own, **workers}
            block = _block(kernel, values, machine, effort)
            blocks += with_openmp(block) if model == "threads" else [replace(block, further=("threads",))]
    return tuple(blocks)


def _block(kernel: str, values: dict[str, tuple[Scalar, ...]], machine: Machine, effort: Effort) -> Axes:
    def expected(point: Parameters) -> tuple[Sampling, float]:
        return _expected(kernel, point, machine, effort)

    bounds = {"elements": (64.0, 2.0**40), **({"iterations": (1.0, 1e5)} if kernel == "solver" else {})}
    return Axes(values, expected=expected, bounds=bounds, weak=None if kernel == "program" else "elements")


def _expected(kernel: str, point: Parameters, machine: Machine, effort: Effort) -> tuple[Sampling, float]:
    """The sampling of a case, and what it takes besides: setting up, and the check by other ways."""
    elements = float(point["elements"])
    shared = min(npb.workers_in(point), max(1, len(machine.cpus)))
    whole = 2.7 * elements ** (1 / 3) * ITERATION + ASSEMBLY
    steps = float(point.get("iterations", 1))
    one = {"assembly": ASSEMBLY, "solver": steps * ITERATION}.get(kernel, whole)
    each, around = one * elements / shared, (whole + 8 * ASSEMBLY) * elements / shared
    if effort.name == "quick":
        return Sampling(effort.sampling.width, max(0.2, 3 * each), 3, 10), around
    return Sampling(effort.sampling.width, max(1.0, 2.5 * each), 3, 30), around


def rate(seconds: float, record: Record) -> float | None:
    """Unknowns times iterations in a second, of the solver alone."""
    return record.work["operations"] / seconds if record.kernel == "solver" else None


def assembly(seconds: float, record: Record) -> float | None:
    """Time of all threads or ranks together for one element."""
    return seconds / record.work["elements"] if record.kernel == "assembly" else None


def time(seconds: float, record: Record) -> float:
    """Of one operation."""
    return seconds


def flops(seconds: float, record: Record) -> float | None:
    """By the operations of the loops as they are written."""
    return record.work["flops"] / seconds if record.work.get("flops") else None


def bandwidth(seconds: float, record: Record) -> float | None:
    """By the bytes that the solver must move at least."""
    return record.work["bytes"] / seconds if record.kernel == "solver" else None


metrics = (
    Metric("rate", "unknown/s", "higher", "speed of the solver: unknowns times iterations", rate),
    Metric("assembly_time", "s", "lower", "time of assembly for each element", assembly),
    Metric("time", "s", "lower", "time of an operation", time),
    Metric("flops", "flop/s", "higher", "speed by floating-point operations", flops),
    Metric("bandwidth", "B/s", "higher", "bandwidth of the solver (bytes that must be moved)", bandwidth),
)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """The peaks of arithmetic and of the memory, where all processors work; the memory's only where no cache holds the matrix."""
    if npb.workers(result) != len(machine.cpus) or machine.hosts:
        return None
    if metric == "bandwidth":
        last = max((c.level for c in machine.caches), default=0)
        caches = sum(c.size for c in machine.caches if c.level == last)
        sizes = [record.work.get("working_set", 0) for record in result.records if record.work]
        return machine.limits.get("memory_bandwidth") if sizes and min(sizes) > CACHED * caches else None
    return machine.limits.get("flops") if metric == "flops" else None


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """The solver's speed and the assembly's time against threads or ranks, and the time of the whole program."""
    made = (
        ("solver", "rate", "speed", "unknown/s", "A line levels off where the memory's bandwidth is used up."),
        ("assembly", "assembly_time", "time of an element", "s", "Half the time with twice as many: nothing is lost."),
        (
            "program",
            "time",
            "time",
            "s",
            "Structure, assembly, boundary conditions and all iterations to the residual.",
        ),
    )
    found = []
    for kernel, metric, words, unit, caption in made:
        lines = _lines(select(results, kernel=kernel), metric)
        x, y = Axis("threads or ranks", log=True), Axis(words, unit, log=True)
        title = f"Finite elements: {kernel}"
        if lines:
            found.append(Figure(f"finite-elements-{kernel}", title, "lines", x, y, lines, caption=caption))
    return tuple(found)


def _lines(results: tuple[Result, ...], metric: str) -> tuple[Series, ...]:
    lines: list[Series] = []
    names = ("elements", "iterations", "threads", "wait_policy", "toolchain", "mpi", "ranks_per_node", "transport")
    for model, counted in (("threads", "threads"), ("openmp", "threads"), ("mpi", "ranks")):
        mine = select(results, model=model)
        own = [n for n in names if n != counted and len({r.parameters.get(n) for r in mine}) > 1]
        word = str(said("model", model))
        for line in against(counted, metric, mine, own, label=word):
            name = word if line.name == word else f"{word}, {line.name}"
            lines.append(Series(name=name, x=line.x, y=line.y, low=line.low, high=line.high))
    return tuple(lines)
