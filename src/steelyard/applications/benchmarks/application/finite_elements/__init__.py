"""Finite elements: Poisson's equation by assembly and conjugate gradients

The program solves Poisson's equation implicitly, as engineering programs do. The unit cube is divided into elements with six
faces (hexahedra), and each element has a slightly different shape. The program calculates a small matrix for each element and
adds all of them to one sparse matrix with 27 entries in each row (the assembly). It sets the known values on the faces of the
cube. Then the method of conjugate gradients solves the system of equations until the residual is 1e-10 of the first one. There
are three kernels: `program` is the whole program, `assembly` is the assembly alone, and `solver` runs a fixed number of
iterations (`iterations`). Each rank has a box of the mesh. The ranks exchange the values at their borders before each product
of the matrix and a vector, and calculate two sums over all ranks in each iteration.

Reading: The arithmetic of the cores limits the assembly, so its speed grows with the number of cores. The solver reads the
whole matrix in each iteration, with two floating-point operations for twelve bytes. Therefore the memory limits its speed, and
an additional core helps only if it adds bandwidth. Which of the two matters more depends on how often a program assembles its
matrix. Steelyard checks every run: the difference from the exact solution must be as small as a method of second order allows,
and the residual is computed again with and without the matrix.

Caution: There is no preconditioner, so the number of iterations grows with the edge of the mesh. Weak scaling is therefore
possible for assembly and solver, but not for the whole program. Elements at a border are computed by all ranks that share the
border, so small parts are a few per cent slower. If the matrix fits into the last-level cache, the result shows the cache, not
the memory; the matrix of 64³ elements has 89 MB. The bandwidth counts the bytes that must move at least. Ranks may have threads
(`--set model=mpi --set threads=2`), pinned to the next processors. Steelyard detects disturbances on the first thread of each
rank only.

Source: The definition is our own. Books on finite elements describe the method, for example G. Strang, G. Fix, An Analysis of
the Finite Element Method (1973). Conjugate gradients: M. Hestenes, E. Stiefel, J. Res. NBS 49 (1952). The problem is similar to
that of miniFE.
"""

from dataclasses import replace

from steelyard.applications.benchmarks.application import npb
from steelyard.applications.benchmarks.application.molecular_dynamics.blocks import list_factors
from steelyard.measure.benchmarks.axes import with_openmp
from steelyard.measure.benchmarks.figures import against, select
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.words import find_words

parallel = ("mpi",)
openmp = True
MODELS = ("threads", "mpi")
ITERATIONS = 50  # of the solver alone: takes about 10 times as long as the start of a case
QUICK, USUAL = 32**3, 64**3  # elements: the usual matrix is larger than most last-level caches, and a run takes seconds
MOST = 128**3  # of a full run
BYTES = 500  # of memory for an element, with all vectors
MEMORY_SHARE = 0.5  # of the machine's memory: larger sizes run only on request
# Rough times of one core, in seconds: assembly of one element, one row of an iteration.
ASSEMBLY, ITERATION = 4e-7, 4e-8
CACHED = 2  # times the last-level caches: a smaller matrix is partly read from them, so memory is not its limit
demands = {"each rank needs 2 elements in each direction": lambda p: _is_cut(p["elements"], p.get("ranks", 1))}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes for each model and kernel. The work of assembly and solver is proportional to the elements."""
    sizes = {"quick": (QUICK,), "standard": (USUAL,)}.get(effort.name, (USUAL, MOST))
    fitting = tuple(n for n in sizes if n * BYTES <= MEMORY_SHARE * machine.memory) or sizes[:1]
    blocks = []
    loads = {m: npb.loads(m in parallel, lambda ranks: _is_cut(fitting[0], ranks), machine, effort) for m in MODELS}
    for model, workers in [(m, workers) for m in MODELS for workers in loads[m]]:
        for kernel in ("program", "assembly", "solver"):
            steps: dict[str, tuple[Scalar, ...]] = {"iterations": (ITERATIONS,)} if kernel == "solver" else {}
            values = {"kernel": (kernel,), "model": (model,), "elements": fitting, **steps, **workers}
            block = _make_block(kernel, values, machine, effort)
            blocks += with_openmp(block) if model == "threads" else [replace(block, further=("threads",))]
    return tuple(blocks)


def _is_cut(elements: int, ranks: int) -> bool:
    z = int(elements ** (1 / 3) + 1e-9)  # the edges as in problem.h
    y = int((elements / z) ** 0.5 + 1e-9)
    edges = (z, y, int(elements / z / y + 1e-9))
    return any(all(2 * parts <= edge for parts, edge in zip(cut, edges, strict=True)) for cut in list_factors(ranks))


def _make_block(kernel: str, values: dict[str, tuple[Scalar, ...]], machine: Machine, effort: Effort) -> Axes:
    def expected(point: Parameters) -> tuple[Sampling, float]:
        return _estimate_start(kernel, point, machine, effort)

    bounds = {"elements": (64.0, 2.0**40), **({"iterations": (1.0, 1e5)} if kernel == "solver" else {})}
    return Axes(values, expected=expected, bounds=bounds, weak=None if kernel == "program" else "elements")


def _estimate_start(kernel: str, point: Parameters, machine: Machine, effort: Effort) -> tuple[Sampling, float]:
    """Returns the sampling of a case and the seconds of set-up and independent check."""
    elements = float(point["elements"])
    shared = min(npb.count_threads(point), npb.count_cores(machine))
    whole = 2.7 * elements ** (1 / 3) * ITERATION + ASSEMBLY
    steps = float(point.get("iterations", 1))
    one = {"assembly": ASSEMBLY, "solver": steps * ITERATION}.get(kernel, whole)
    seconds, around = one * elements / shared, (whole + 8 * ASSEMBLY) * elements / shared
    if effort.name == "quick":
        return Sampling(effort.sampling.width, max(0.2, 3 * seconds), 3, 10), around
    return Sampling(effort.sampling.width, max(1.0, 2.5 * seconds), 3, 30), around


def rate(seconds: float, record: Record) -> float | None:
    """Returns unknowns times iterations per second, for the solver only."""
    return record.work["operations"] / seconds if record.kernel == "solver" else None


def assembly(seconds: float, record: Record) -> float | None:
    """Returns the seconds that all threads or ranks together need for one element."""
    return seconds / record.work["elements"] if record.kernel == "assembly" else None


def time(seconds: float, record: Record) -> float:
    """Returns the time of one operation, in seconds."""
    return seconds


def flops(seconds: float, record: Record) -> float | None:
    """Returns the floating-point operations of the source loops per second."""
    return record.work["flops"] / seconds if record.work.get("flops") else None


def bandwidth(seconds: float, record: Record) -> float | None:
    """Returns the least bytes that the solver must move, per second."""
    return record.work["bytes"] / seconds if record.kernel == "solver" else None


metrics = (
    Metric("rate", "unknown/s", "higher", "speed of the solver: unknowns times iterations", rate),
    Metric("assembly_time", "s", "lower", "time of assembly for each element", assembly),
    Metric("time", "s", "lower", "time of an operation", time),
    Metric("flops", "flop/s", "higher", "speed by floating-point operations", flops),
    Metric("bandwidth", "B/s", "higher", "bandwidth of the solver (bytes that must be moved)", bandwidth),
)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the peak of arithmetic or memory if all processors work; of memory only if no cache holds the matrix."""
    if npb.count_workers(result) != len(machine.cpus) or machine.hosts:
        return None
    if metric == "bandwidth":
        last = max((c.level for c in machine.caches), default=0)
        caches = sum(c.size for c in machine.caches if c.level == last)
        sizes = [record.work.get("working_set", 0) for record in result.attempts if record.work]
        return machine.limits.get("memory_bandwidth") if sizes and min(sizes) > CACHED * caches else None
    return machine.limits.get("flops") if metric == "flops" else None


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the solver's speed, the assembly's time and the program's time against threads or ranks."""
    plans = (
        ("solver", "rate", "speed", "unknown/s", "A line becomes level when the memory bandwidth is used up."),
        (
            "assembly",
            "assembly_time",
            "time of an element",
            "s",
            "Ideal scaling halves the time with twice as many threads or ranks.",
        ),
        (
            "program",
            "time",
            "time",
            "s",
            "The time includes structure, assembly, boundary conditions and all iterations until convergence.",
        ),
    )
    drawn = []
    for kernel, metric, words, unit, caption in plans:
        lines = _make_lines(select(results, kernel=kernel), metric)
        x, y = Axis("threads or ranks", log=True), Axis(words, unit, log=True)
        title = f"Finite elements: {kernel}"
        if lines:
            drawn.append(Figure(f"finite-elements-{kernel}", title, "lines", x, y, lines, caption=caption))
    return tuple(drawn)


def _make_lines(results: tuple[Result, ...], metric: str) -> tuple[Series, ...]:
    lines: list[Series] = []
    names = ("elements", "iterations", "threads", "wait_policy", "toolchain", "mpi", "ranks_per_node", "transport")
    for model, counted in (("threads", "threads"), ("openmp", "threads"), ("mpi", "ranks")):
        of_model = select(results, model=model)
        varying = [n for n in names if n != counted and len({r.parameters.get(n) for r in of_model}) > 1]
        word = str(find_words("model", model))
        for line in against(counted, metric, of_model, varying, label=word):
            name = word if line.name == word else f"{word}, {line.name}"
            lines.append(replace(line, name=name))
    return tuple(lines)
