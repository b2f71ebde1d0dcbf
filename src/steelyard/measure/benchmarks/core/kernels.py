"""Loops of 31 kinds in ten groups (vector lengths, strides, vectorised or not)

One core runs simple loops over vectors of doubles. The ten groups are: data movement, dyads (operations on two vectors), a
scalar and a vector, linked triads, reductions, recurrences, differences, polynomials, square root and exponential function, and
the plane rotation. The polynomials have more and more operations for each memory access. The vectors have from one element to
more than any cache can hold, and some have strides. Each loop runs twice: as the compiler optimises it (vectors "yes"), and
without vector instructions ("no"). The list is our own. It follows the module mod1ac of EuroBen, whose kernels are not public.

Reading: A pass over n elements with q operations for each element takes q·(n + n½)/r∞ seconds. r∞ is the speed for very long
vectors, and n½ is the length of a vector that reaches half of this speed. Steelyard fits both numbers twice: for vectors within
the first-level cache, and for vectors larger than all caches. A loop was vectorised if it is faster than its version without
vector instructions; Steelyard does not read the report of the compiler. The polynomials show how the speed grows with the
operations for each word of memory, until the core limits it.

Caution: Each operation of a formula counts as one flop, although a division or a root takes far longer than an addition.
Reductions use eight partial sums, because a compiler that follows IEEE arithmetic may not change the order of a sum. They show
the speed of the processor, not the speed that a compiler reaches with a plain loop. With strides, only the bytes of the used
words count, but the memory moves whole cache lines. The time of a pass includes one function call, as in a library routine.

Source: The list is this project's own. Method of r∞ and n½: R. W. Hockney and C. R. Jesshope, Parallel Computers 2, 1988;
groups of tests after A. J. van der Steen's EuroBen.
"""

from collections.abc import Callable

from steelyard.measure.benchmarks.core import groups, kernel_figures
from steelyard.measure.benchmarks.cycles import cycles_of
from steelyard.measure.benchmarks.rates import per_second
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.cores import usable_cores

figures = kernel_figures.figures
STRIDES = (3, 4, 8, 128, 1024)
SPLIT = (3, 4, 8)  # strides of the strided copy
FITTED = ("copy", "triad", "dot", "horner9")  # kernels with a fit in memory in the preset standard
BOTH = ("yes", "no")
# Samples last 0.2 ms: some tens give a median within one percent. A pass through the memory takes 0.1 s.
SAMPLING = {
    "quick": Sampling(0.02, 0.02, 6, 100),
    "standard": Sampling(0.02, 0.04, 8, 200),
    "full": Sampling(0.01, 0.1, 12, 400),
}
LONG = Sampling(0.02, 0.3, 5, 50)
demands = {"elements times stride must be below 2^32": lambda p: p["elements"] * p.get("stride", 1) < 1 << 32}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: each kernel with and without vectors in the first cache; lengths; polynomials beyond it; strides."""
    near, far = groups.fit_first_cache(machine), groups.exceed_second(machine)
    beyond, sampling = groups.exceed_caches(machine), SAMPLING[effort.name]
    strided = groups.STRIDED[:1] if effort.name == "quick" else groups.STRIDED
    blocks = [
        _block(groups.PLAIN, (near,), sampling, vectors=BOTH),
        _block(("strided_copy",), (near,), sampling, vectors=BOTH, stride=SPLIT),
        _block(strided, (near,), sampling, stride=STRIDES),
        _block(groups.INTENSITY, (far,), sampling, vectors=BOTH),
    ]
    if effort.name == "quick":
        return (*blocks, _block(groups.CHOSEN, (1, 8, 31, 100, near // 2, far), sampling))
    if effort.name == "standard":
        shorter = (1, 2, 5, 8, 15, 31, *(n for n in (100, 316, 1000, 3162, 10_000, 31_623, 100_000) if n < far), far)
        fitted = tuple(beyond * share // 32 * 8 for share in (2, 3, 4))
        return (
            *blocks,
            _block(groups.PLAIN, shorter, sampling),
            _block(groups.INTENSITY, (beyond,), LONG, vectors=BOTH),
            _block(FITTED, fitted, LONG),
        )

    def fits(point: Parameters) -> bool:
        """Returns whether the vectors have at most four times the size of the caches, or one length more."""
        held = groups.working_set(str(point["kernel"]), int(point["elements"]), int(point.get("stride", 1)))
        return held < min(
            4 * groups.last_cache(machine) * 10 ** (1 / 8), machine.memory_available * groups.LARGEST_SHARE
        )

    every = groups.list_lengths(2 * beyond)  # a single vector then has four times the size of the caches
    return (
        *blocks,
        _block(groups.PLAIN, tuple(n for n in every if n <= far), sampling),
        _block(groups.PLAIN, tuple(n for n in every if n > far), LONG, fits),
        _block(groups.PLAIN, (beyond,), LONG, vectors=BOTH),
        _block(groups.STRIDED, (far // 16, far), LONG, fits, stride=STRIDES),
    )


def _block(
    kernels: tuple[str, ...],
    elements: tuple[int, ...],
    sampling: Sampling,
    keep: Callable[[Parameters], bool] | None = None,
    vectors: tuple[str, ...] = ("yes",),
    stride: tuple[int, ...] = (),
) -> Axes:
    values: dict[str, tuple[Scalar, ...]] = {
        "kernel": kernels, "elements": elements, "vectors": vectors, **({"stride": stride} if stride else {}),
        "threads": (1,), "pinning": ("compact",),
    }  # fmt: skip
    return Axes(
        values,
        sampling,
        0.5 if sampling is LONG else 0.004,
        keep,
        choices={"vectors": BOTH},
        bounds={"threads": (1, 1)},
    )


def flops(seconds: float, record: Record) -> float | None:
    """Returns the formula's floating-point operations per second; None for loops that only move data, and for exp."""
    return record.work["flops"] / seconds if "flops" in record.work else None


def cycles(seconds: float, record: Record) -> float | None:
    """Returns the cycles of the true core clock for one element."""
    return cycles_of(seconds / record.work["results"], record)


metrics = (
    Metric("flops", "flop/s", "higher", "speed", flops),
    Metric("bandwidth", "B/s", "higher", "bandwidth of the words read and written", per_second("bytes")),
    Metric("rate", "1/s", "higher", "elements per second", per_second("results")),
    Metric("cycles", "cycle", "lower", "cycles for each element", cycles),
)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns one core's share of the node's flop/s, or the memory bandwidth if no cache holds the vectors."""
    if metric == "flops" and (whole := machine.limits.get("flops")) is not None:
        cores = usable_cores(machine)
        share = min(1.0, 1 / cores) if cores else 1.0
        return Limit(whole.value * share, whole.unit, f"1 thread's share ({share:.3g}) of {whole.source}")
    elements, stride = result.parameters.get("elements"), result.parameters.get("stride", 1)
    if metric == "bandwidth" and isinstance(elements, int) and isinstance(stride, int):
        held = groups.working_set(result.kernel, elements, stride)
        return machine.limits.get("memory_bandwidth") if held >= 3.9 * groups.last_cache(machine) else None
    return None
