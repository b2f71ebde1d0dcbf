"""Molecular dynamics: Lennard-Jones particles

The program simulates particles that attract and repel each other (Lennard-Jones potential, cut off at 2.5 diameters and
shifted), in double precision. All values are in the reduced units of this potential. The density is 0.8442. At the start, the
particles are on a face-centred cubic lattice and have random velocities. The program computes 100 steps of 0.005 by the method
velocity Verlet. For the forces, each particle has a list of its neighbours within the cut-off plus 0.3 diameters (the skin).
The program makes new lists when a particle has moved by half of the skin. Each rank has a block of the box. In every step, the
ranks exchange the particles near their borders. A particle that leaves a block moves to another rank. The speed is the number
of particles times the number of steps, per second.

Reading: The cores limit this program, not the memory. For each of about 78 neighbours of a particle, a core loads the
coordinates from a cache, sorts them into vectors, and does 22 floating-point operations, one of them a division. The program
does 3 operations for each byte (`flops` and `bytes` of the record), so the memory limits it only if many cores share the
memory. With many ranks, the blocks are smaller and have more surface for their volume. Then the ranks need more copies of
particles and more messages for the same work. In every step, all ranks decide together, by a reduction, whether the lists are
still valid.

Caution: The program computes every pair twice, once for each of its particles, so threads need no common sums. The flop/s count
the operations that the program carries out. A program that computes each pair once needs only half of them for the same steps.
The program computes only the first steps after the lattice, in which half of the temperature becomes potential energy. The
number of particles must be a multiple of 4, and the particles must fill a box of whole cells. Steelyard refuses a prime number
of cells. Ranks may have threads (`--set model=mpi --set threads=2`), pinned to the next processors. Steelyard detects
disturbances on the first thread of each rank only.

Source: The definition is our own, with the usual parameters of this fluid. Lists and integration: L. Verlet, Phys. Rev. 159
(1967). Cells: M. P. Allen, D. J. Tildesley, Computer Simulation of Liquids (2017). Steelyard checks every run. The energy must
stay the same, except for the known second-order error of a step (E. Hairer, C. Lubich, G. Wanner, Acta Numerica 12, 2003). The
momentum must stay the same. The forces on 32 particles must agree with sums over all particles. The program is new.
"""

from dataclasses import replace

from steelyard.applications.benchmarks.application import npb
from steelyard.applications.benchmarks.application.molecular_dynamics.blocks import usable
from steelyard.benchmarks.axes import with_openmp
from steelyard.benchmarks.figures import against
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series

parallel = ("mpi",)
openmp = True
MODELS = {"threads": "threads", "openmp": "OpenMP", "mpi": "MPI"}
SIZES = {"quick": (16_384,), "standard": (256_000,), "full": (256_000, 2_048_000)}
STEPS = 100
SPEED = 4e6  # particle-steps a second of one core: rough, for the planned time
BYTES = 1200  # of memory for a particle, with its list and the images around it
BOUNDS: dict[str, tuple[float, float]] = {"temperature": (0.01, 5), "steps": (1, 1_000_000)}
demands = {
    "this number of particles does not fill a box of cells that the ranks can share": lambda p: (
        p["particles"] % 4 == 0 and usable(p["particles"], p.get("ranks", 1))
    ),
}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes for each programming model and each number of loaded cores per node."""
    every = SIZES.get(effort.name, SIZES["standard"])
    sizes = tuple(n for n in every if n * BYTES <= npb.MEMORY_SHARE * machine.memory) or every[:1]

    def expected(point: Parameters) -> tuple[Sampling, float]:
        return _expected(point, machine, effort)

    common: dict[str, tuple[Scalar, ...]] = {
        "kernel": ("dynamics",),
        "particles": sizes,
        "steps": (STEPS,),
        "temperature": (0.72,),
    }
    blocks = []
    for model in ("threads", "mpi"):
        for workers in npb.loads(model in parallel, lambda ranks: usable(sizes[0], ranks), machine, effort):
            values = {**common, "model": (model,), **workers}
            block = Axes(values, expected=expected, bounds=BOUNDS, weak="particles")
            blocks += with_openmp(block) if model == "threads" else [replace(block, further=("threads",))]
    return tuple(blocks)


def _expected(point: Parameters, machine: Machine, effort: Effort) -> tuple[Sampling, float]:
    """Returns the sampling of a case and the seconds of lattice and check, some tenths of a run on one core."""
    one = float(point["particles"]) * float(point.get("steps", STEPS)) / SPEED
    seconds = one / min(npb.workers_in(point), npb.cores_of(machine))
    if effort.name == "quick":
        return Sampling(effort.sampling.width, max(0.2, 3 * seconds), 3, 5), 0.2 * one + 0.2
    return Sampling(effort.sampling.width, max(1.0, 2.5 * seconds), 2, 30), 0.2 * one + 0.2


def workers(record: Record | Result) -> int:
    """Returns the number of threads of all ranks."""
    ranks = int(record.parameters.get("ranks", 1))
    return ranks * int(record.parameters.get("threads", 1))


def rate(seconds: float, record: Record) -> float:
    """Returns the steps of single particles per second."""
    return record.work["particle_steps"] / seconds


def rate_each(seconds: float, record: Record) -> float:
    """Returns the speed of each thread or rank, per second."""
    return rate(seconds, record) / workers(record)


def time(seconds: float, record: Record) -> float:
    """Returns the time of all steps, in seconds."""
    return seconds


def flops(seconds: float, record: Record) -> float:
    """Returns the executed operations per second: 22 for each list entry, 12 for each particle step."""
    return record.work["flops"] / seconds


metrics = (
    Metric("rate", "particle-step/s", "higher", "particles × steps per second", rate),
    Metric("rate_each", "particle-step/s", "higher", "speed of each thread or rank", rate_each),
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
        name="molecular-dynamics-each",
        title="Molecular dynamics: speed of each thread or rank",
        kind="lines",
        x=Axis("threads or ranks", log=True),
        y=Axis("speed of each", "particle-step/s"),
        series=_lines(results, "rate_each"),
        caption="If a line is level, the scaling is ideal. A line falls if the blocks have a large surface, if some "
        "ranks wait for others, or if the clock is lower when all cores work.",
    )
    together = Figure(
        name="molecular-dynamics-all",
        title="Molecular dynamics: speed of all together",
        kind="lines",
        x=Axis("threads or ranks", log=True),
        y=Axis("speed", "particle-step/s", log=True),
        series=_lines(results, "rate"),
        caption="Both axes are logarithmic. If a line stays as steep as at its start, the scaling is ideal.",
    )
    return of_each, together


def _lines(results: tuple[Result, ...], metric: str) -> tuple[Series, ...]:
    series: list[Series] = []
    for model, words in MODELS.items():
        of_model = [r for r in results if r.parameters.get("model") == model]
        over, other = ("ranks", "threads") if model in parallel else ("threads", "ranks_per_node")
        names = ("particles", "ranks_per_node", "steps", "temperature", "wait_policy", "toolchain", other)
        lines = against(over, metric, of_model, names=tuple(dict.fromkeys(names)), label=words)
        series += [line if line.name == words else _renamed(line, f"{words}, {line.name}") for line in lines]
    return tuple(series)


def _renamed(line: Series, name: str) -> Series:
    return Series(name, line.x, line.y, line.low, line.high)
