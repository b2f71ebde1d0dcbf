"""Highest speed of floating-point arithmetic

The kernel runs independent chains of multiplications and additions in registers. There are enough chains to keep all arithmetic
units (pipes) of a core busy. The kernel uses scalars and vectors of every width of the processor, in double and in single
precision. A multiplication and an addition are fused into one instruction (fma) or separate (add_mul). It runs on one core, on
a socket, and on all cores.

Reading: No program computes faster than this. The limit is cores × true clock × numbers in a vector × pipes × 2. Many
processors lower their clock while they use wide vectors, and raise it again at once. Steelyard therefore measures the clock at
most one microsecond after the load. The scalar value is the limit of programs that the compiler did not vectorise. The add_mul
value is the limit of programs without fused operations.

Caution: Real programs must also move their data; other benchmarks measure that. Separate multiplications and additions reach
half of the limit if both use the same pipes, and up to all of it if each kind has its own pipes. Two hardware threads of a core
share its pipes. If no table lists the pipes of a processor, Steelyard measures 128 bits and the widest vectors that the
compiler knows, and states no limit.

Source: The product of cores, clock, width, pipes and 2 is the usual definition of the theoretical peak. (The Rpeak of the
TOP500 list uses the nominal clock instead of the true one.) The chains and their check are our own.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from statistics import fmean, median

from steelyard.measure.benchmarks.axes import thread_counts
from steelyard.measure.benchmarks.cycles import core_clock
from steelyard.measure.benchmarks.figures import against, draw_values, select
from steelyard.measure.published.our_case import DATA_SHEET, MACHINE
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.model.roles import Headline, Peak
from steelyard.model.units import quantity
from steelyard.statistics.results.result import rests_on

WIDTHS = ("scalar", "128", "256", "512", "widest")
BITS = {"double": 64, "single": 32}
CHOICES: dict[str, tuple[Scalar, ...]] = {
    "vector_width": WIDTHS,
    "precision": tuple(BITS),
    "operation": ("fma", "add_mul"),
}


def widths(machine: Machine) -> tuple[str, ...]:
    """Returns the vector widths of the processor; of an unknown processor, the widths that are always possible."""
    if machine.fma_width is None:
        return ("scalar", "128", "widest") if machine.architecture in ("x86_64", "aarch64") else ("scalar", "widest")
    # On Arm, vectors of more than 128 bits have no fixed width, and are left out.
    most = machine.fma_width * 64 if machine.architecture == "x86_64" else 128
    return ("scalar", *(str(bits) for bits in (128, 256, 512) if bits <= most))


unread = ("page_size", "memory_policy")


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: each width on one core and on all; the widest with each number of threads, and on one socket."""
    quick = effort.name == "quick"
    vectors, every = widths(machine), thread_counts(machine)
    ends = tuple(sorted({1, every[-1]}))
    counts = tuple(sorted({*every, socket_threads(machine)}))
    sampling = Sampling(effort.sampling.width, 0.1 if quick else 0.5, 10, 400)

    # The compiler's usual flags are for this processor.
    possible = tuple(w for w in WIDTHS if machine.fma_width is None or w in (*vectors, "widest"))

    def block(widths: tuple[str, ...], operations: tuple[str, ...], threads: tuple[int, ...]) -> Axes:
        values: dict[str, tuple[Scalar, ...]] = {
            "kernel": ("peak",),
            "vector_width": widths,
            "precision": ("double", "single"),
        }
        values |= {"operation": operations, "threads": threads, "pinning": ("compact",)}
        return Axes(values, sampling, 0.01, choices={**CHOICES, "vector_width": possible})

    return (
        block(vectors, ("fma",), ends),
        block(vectors[-1:], ("fma",), counts),
        block(vectors[-1:] if quick else vectors, ("add_mul",), ends),
    )


def socket_threads(machine: Machine) -> int:
    """Returns the number of usable cores of the first socket, which compact pinning fills with threads."""
    allowed = [core.socket for core in machine.cores if set(machine.cpus).intersection(core.cpus)]
    return max(1, allowed.count(min(allowed, default=0)))


def clock_under_load(record: Record) -> float | None:
    """Returns the true core clock (Hz) under load, the mean over threads; if unknown, the clock between the samples."""
    under_load = _list_positive((record.surroundings.details or {}).get("clock"))
    if under_load:
        return fmean(under_load)
    between = _list_positive(record.surroundings.samples.core_clock)
    return median(between) if between else core_clock(record)


def _list_positive(values: object) -> list[float]:
    numbers: Iterable[object] = values if isinstance(values, list | array) else ()
    return [float(v) for v in numbers if isinstance(v, int | float) and math.isfinite(v) and v > 0]


def flops(seconds: float, record: Record) -> float:
    """Returns the floating-point operations per second of all threads."""
    return record.work["flops"] / seconds


def flops_per_cycle(seconds: float, record: Record) -> float | None:
    """Returns the operations of one thread per cycle of the clock under this load; None if the clock is unknown."""
    clock = clock_under_load(record)
    return flops(seconds, record) / clock / int(record.parameters.get("threads", 1)) if clock else None


def clock(seconds: float, record: Record) -> float | None:
    """Returns the true core clock under this load, in Hz."""
    return clock_under_load(record)


metrics = (
    Metric("flops", "flop/s", "higher", "speed", flops),
    Metric("flops_per_cycle", "flop/cycle", "higher", "operations per cycle and thread", flops_per_cycle),
    Metric("clock", "Hz", "higher", "true core clock under this load", clock),
)

roles = (
    Headline(
        name="peak",
        title="Arithmetic peak",
        unit="flop/s",
        order=40,
        most=("threads",),
        usual=(("precision", "double"), ("operation", "fma")),
    ),
    Peak(),
)


def lanes(result: Result) -> int | None:
    """Returns the numbers in each vector of this case; None if neither parameters nor records contain it."""
    width = str(result.parameters.get("vector_width", "widest"))
    bits = BITS.get(str(result.parameters.get("precision", "double")))
    if width == "scalar" or bits is None:
        return 1 if bits else None
    if width.isdigit():
        return int(width) // bits
    counts = ((r.surroundings.details or {}).get("lanes") for r in result.attempts)
    return next((lanes for lanes in counts if isinstance(lanes, int)), None)


def pipes(machine: Machine, doubles: int) -> int | None:
    """Returns how many fused multiply-adds on vectors of `doubles` a core starts each cycle; None: unknown."""
    if machine.fma_width is None or machine.fma_units is None or doubles > machine.fma_width:
        return None
    if machine.fma_width in (doubles, 2):
        return machine.fma_units
    # Each x86 processor of the table with wider vectors has two pipes for narrower ones: two narrow pipes form a wide one.
    # An Arm processor with 256-bit pipes has four of 128 bits.
    return 2 if machine.architecture == "x86_64" else None


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the limit by the cores, clock and vectors of this case; None if the pipes or the clock are unknown."""
    count = lanes(result)
    bits = BITS.get(str(result.parameters.get("precision", "double")), 64)
    wide = pipes(machine, max(1, (count or 0) * bits // 64))
    clocks = [hertz for r in rests_on(result) if (hertz := clock_under_load(r))]
    if metric not in ("flops", "flops_per_cycle") or count is None or wide is None or not clocks:
        return None
    cores, threads, hertz = cores_of(result, machine), int(result.parameters.get("threads", 1)), median(clocks)
    numbers = "1 number" if count == 1 else f"{count} numbers in each vector"
    apart = "" if result.parameters.get("operation", "fma") == "fma" else " (if they were fused)"
    if metric == "flops_per_cycle":
        return Limit(cores / threads * count * wide * 2, "flop/cycle", f"{numbers} × {wide} units × 2{apart}")
    named = f"{cores:g} core{'' if cores == 1 else 's'}"
    source = f"{named} × {quantity(hertz, 'Hz')} true clock under this load × {numbers} × {wide} units × 2{apart}"
    return Limit(cores * hertz * count * wide * 2, "flop/s", source)


def cores_of(result: Result, machine: Machine) -> float:
    """Returns the number of cores of a case's threads: fewer if threads share a core or a control group allows fewer."""
    threads = int(result.parameters.get("threads", 1))
    core = {cpu: (c.socket, c.number) for c in machine.cores for cpu in c.cpus}
    cpus = next((pinned for r in result.attempts if (pinned := r.surroundings.cpus)), None)
    used = len({core.get(cpu, (-1, cpu)) for cpu in cpus}) if cpus else threads
    cores = min(threads, used, len(machine.cores) or threads)
    return min(cores, machine.cpu_quota) if machine.cpu_quota is not None else cores


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of the speed by width, the speed against threads, and the clock under each width."""
    results = tuple(r for r in results if r.metrics and str(r.parameters.get("vector_width")) in WIDTHS)
    fused = select(results, operation="fma")
    most = max((int(r.parameters["threads"]) for r in results), default=1)
    by_width = Figure(
        name="peak-widths",
        title="Highest speed by vector width, one thread",
        kind="bars",
        x=Axis("vector width (bits)"),
        y=Axis("speed", "flop/s"),
        series=_draw_by_width(select(results, threads=1), "flops", ("precision", "operation", "toolchain")),
        caption="fma means fused multiplications and additions; add_mul means separate ones.",
    )
    widest = [r for r in fused if str(r.parameters["vector_width"]) == _find_widest(fused)]
    double = select(widest, precision="double", threads=most)
    bound = limit("flops", double[0], machine) if double else None
    lines = against("threads", "flops", widest, names=("precision", "toolchain"))
    threads = Figure(
        name="peak-threads",
        title="Highest speed against threads",
        kind="lines",
        x=Axis("threads"),
        y=Axis("speed", "flop/s"),
        series=(*lines, *draw_printed(MACHINE, DATA_SHEET, "flops", "threads", lines)),
        marks=(Mark("y", bound.value, f"double: {bound.source}"),) if bound else (),
        caption="The kernel uses fused multiplications and additions on the widest vectors.",
    )
    clocks = Figure(
        name="peak-clock",
        title="True core clock under each load",
        kind="bars",
        x=Axis("vector width (bits)"),
        y=Axis("core clock", "Hz"),
        series=_draw_by_width(select(fused, precision="double"), "clock", ("threads", "toolchain")),
        caption="Steelyard measures the clock at most one microsecond after the load. If the clock is lower for wider "
        "vectors, the processor lowers it for these vectors.",
    )
    return by_width, threads, clocks


def _find_widest(results: Sequence[Result]) -> str | None:
    named = [str(r.parameters["vector_width"]) for r in results]
    return max(named, key=WIDTHS.index, default=None)


def _draw_by_width(results: Sequence[Result], metric: str, names: Sequence[str]) -> tuple[Series, ...]:
    """Returns bars for each combination of `names`. Names that are equal in all are left out."""
    groups: dict[tuple[str, ...], dict[str, Result]] = {}
    for result in results:
        if metric in result.metrics:
            key = tuple(_describe_parameter(name, result.parameters.get(name)) for name in names)
            groups.setdefault(key, {})[str(result.parameters["vector_width"])] = result
    varying = [i for i in range(len(names)) if len({key[i] for key in groups}) > 1]
    order = tuple(width for width in WIDTHS if any(width in members for members in groups.values()))
    series = []
    for key, members in sorted(groups.items()):
        values = [members[width].metrics[metric] if width in members else None for width in order]
        series.append(draw_values(", ".join(key[i] for i in varying) or metric, order, values))
    return tuple(series)


def _describe_parameter(name: str, value: object) -> str:
    return f"{value} thread{'' if value == 1 else 's'}" if name == "threads" else str(value)
