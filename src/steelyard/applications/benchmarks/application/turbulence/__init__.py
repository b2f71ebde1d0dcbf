"""Turbulence: the Taylor-Green vortex by Fourier transforms

The program simulates a flow in a periodic cube, in which a large vortex breaks up into smaller ones (a direct simulation of
turbulence). It stores the velocities as Fourier modes. A step has three stages. Each stage transforms velocity and vorticity
(the rotation of the flow) from modes to points in space, multiplies them there, and transforms the product back. This needs
nine three-dimensional transforms of real fields. Along each axis, the program uses only the lower two thirds of the modes, so
the products have no aliasing error. A rank first has columns of modes along z, and then planes of constant z. Six times in a
step, each rank sends data to each other rank (all-to-all). The speed is the number of grid points times the number of steps,
per second.

Reading: Fourier transforms do few operations for each number that they move. Therefore the caches and the memory limit the
speed of a core, and with a large cube the memory alone limits it. With many ranks, the all-to-all exchange depends on the
bandwidth between the halves of the network (bisection). No other application here needs so much of this bandwidth. With
`phases=on`, the record has the time of the columns, the planes and the exchanges between them.

Caution: The program computes only the first steps. In these steps, the flow is smooth and its energy is known. Later steps
would take the same time. `flops` counts the operations that the program carries out. It skips lines that contain only zeros;
programs that transform the whole cube do not skip them. The number of points along each axis is a power of two. Steelyard
rounds another number down to a power of two.

Source: The definition is our own. The flow: G. Taylor, A. Green, Proc. R. Soc. A 158 (1937), with a Reynolds number of 1600.
The method in space: S. Orszag, Stud. Appl. Math. 50 (1971). The method in time, of third order: J. Williamson, J. Comput. Phys.
35 (1980). Steelyard checks every run: the divergence must be zero, and energy and enstrophy (the mean square of the vorticity)
must agree with their power series in time, which M. Brachet and others, J. Fluid Mech. 130 (1983), computed first. In this
program all ranks communicate with each other. In molecular dynamics and finite elements, only neighbours do.
"""

from dataclasses import replace

from steelyard.applications.benchmarks.application import npb
from steelyard.benchmarks.axes import with_openmp
from steelyard.benchmarks.figures import against
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series

parallel = ("mpi",)
openmp = True
MODELS = {"threads": "threads", "openmp": "OpenMP", "mpi": "MPI"}
SIZES = {"quick": (2**15,), "standard": (2**21,), "full": (2**21, 2**24)}
STEPS = 8
SPEED = 3e6  # point-steps a second of one core: rough, for the planned time
BYTES = 300  # of memory for a point
BOUNDS: dict[str, tuple[float, float]] = {"points": (2.0**15, 2.0**40), "steps": (1, 1e6)}
demands = {
    "each rank needs a plane of the grid": lambda p: usable(p["points"], p.get("ranks", 1)),
    "steps must be at most half of the planes": lambda p: usable(p["points"], 2 * p["steps"]),
}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes for each programming model and each number of loaded cores per node."""
    every = SIZES.get(effort.name, SIZES["standard"])
    sizes = tuple(n for n in every if n * BYTES <= npb.MEMORY_SHARE * machine.memory) or every[:1]

    def expected(point: Parameters) -> tuple[Sampling, float]:
        return _expected(point, machine, effort)

    common: dict[str, tuple[Scalar, ...]] = {"kernel": ("flow",), "points": sizes, "steps": (STEPS,)}
    blocks = []
    for model in ("threads", "mpi"):
        for workers in npb.loads(model in parallel, lambda ranks: usable(sizes[0], ranks), machine, effort):
            values = {**common, "model": (model,), **workers}
            block = Axes(values, expected=expected, bounds=BOUNDS, weak="points")
            blocks += with_openmp(block) if model == "threads" else [replace(block, further=("threads",))]
    return tuple(blocks)


def usable(points: int, ranks: int) -> bool:
    """Returns whether each rank has a plane of the grid."""
    return ranks <= 1 << -(-(points.bit_length() - 1) // 3)


def _expected(point: Parameters, machine: Machine, effort: Effort) -> tuple[Sampling, float]:
    """Returns the sampling of a case and the seconds of set-up and check."""
    one = float(point["points"]) * float(point.get("steps", STEPS)) / SPEED
    seconds = one / min(npb.workers_in(point), npb.cores_of(machine))
    if effort.name == "quick":
        return Sampling(effort.sampling.width, max(0.2, 3 * seconds), 3, 5), 0.1 * one + 0.1
    return Sampling(effort.sampling.width, max(1.0, 2.5 * seconds), 2, 30), 0.1 * one + 0.1


def workers(record: Record | Result) -> int:
    """Returns the number of threads of all ranks."""
    return int(record.parameters.get("ranks", 1)) * int(record.parameters.get("threads", 1))


def rate(seconds: float, record: Record) -> float:
    """Returns the steps of single grid points per second."""
    return record.work["operations"] / seconds


def rate_each(seconds: float, record: Record) -> float:
    """Returns the speed of each thread or rank, per second."""
    return rate(seconds, record) / workers(record)


def time(seconds: float, record: Record) -> float:
    """Returns the time of all steps, in seconds."""
    return seconds


def flops(seconds: float, record: Record) -> float:
    """Returns the executed floating-point operations per second."""
    return record.work["flops"] / seconds


metrics = (
    Metric("rate", "point-step/s", "higher", "grid points × steps per second", rate),
    Metric("rate_each", "point-step/s", "higher", "speed of each thread or rank", rate_each),
    Metric("time", "s", "lower", "time of all steps", time),
    Metric("flops", "flop/s", "higher", "speed by floating-point operations", flops),
)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the peak of arithmetic if all processors of one machine work."""
    if metric != "flops" or workers(result) != len(machine.cpus) or machine.hosts:
        return None
    return machine.limits.get("flops")


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the speed of each thread or rank, and of all, against their number. Lines: model, size and load."""
    of_each = Figure(
        name="turbulence-each",
        title="Turbulence: speed of each thread or rank",
        kind="lines",
        x=Axis("threads or ranks", log=True),
        y=Axis("speed of each", "point-step/s"),
        series=_lines(results, "rate_each"),
        caption="If a line is level, the scaling is ideal. A line falls if the threads or ranks share the memory "
        "bandwidth, or if the all-to-all exchange takes more time.",
    )
    together = Figure(
        name="turbulence-all",
        title="Turbulence: speed of all together",
        kind="lines",
        x=Axis("threads or ranks", log=True),
        y=Axis("speed", "point-step/s", log=True),
        series=_lines(results, "rate"),
        caption="Both axes are logarithmic. If a line stays as steep as at its start, the scaling is ideal.",
    )
    return of_each, together


def _lines(results: tuple[Result, ...], metric: str) -> tuple[Series, ...]:
    series: list[Series] = []
    for model, words in MODELS.items():
        of_model = [r for r in results if r.parameters.get("model") == model]
        over, other = ("ranks", "threads") if model in parallel else ("threads", "ranks_per_node")
        names = tuple(dict.fromkeys(("points", "ranks_per_node", "steps", "wait_policy", "toolchain", other)))
        lines = against(over, metric, of_model, names=names, label=words)
        series += [line if line.name == words else _renamed(line, f"{words}, {line.name}") for line in lines]
    return tuple(series)


def _renamed(line: Series, name: str) -> Series:
    return Series(name, line.x, line.y, line.low, line.high)
