"""Speed of scalar arithmetic (Flops)

The kernel runs eight small computations (modules) in registers: a series for π, and seven integrals of polynomials and
fractions by the trapezoidal rule. They are plain loops, so the compiler decides which instructions run. The number of
operations of each pass is known exactly. Weighted sums of the modules give four mixes with 10, 9, 3 and 0 percent of divisions.
Each thread computes all of it for itself. The program is new and follows the definition of A. Aburto's flops.c.

Reading: Compare the mixes, not the modules. The mixes represent programs with more or fewer divisions. The modules are slower
than the peak because the compiler may not change the order of a sum. Every pass adds to the same sum, so it takes at least the
time of one addition.

Caution: Operations are counted as the formulas contain them. A fused multiplication and addition counts as two. The check
compares the error of the result with the theory of the trapezoidal rule. That error comes from the small number of intervals,
not from the machine. The original program runs each module for many seconds with up to 512 million intervals. Here the number
of intervals is smaller, but the operations of a pass are the same.

Source: A. Aburto, flops.c, version 2.0, 1992: its table of operations, constants, exact results and weights. Euler and
Maclaurin's formula for the error.
"""

from collections.abc import Iterable

from steelyard.measure.benchmarks.axes import thread_counts
from steelyard.measure.benchmarks.core.peak import cores_of
from steelyard.measure.benchmarks.figures import draw_values
from steelyard.measure.benchmarks.rates import per_second
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Record, Result, Sampling, Scalar
from steelyard.model.cores import usable_cores
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.units import quantity
from steelyard.model.words import plural
from steelyard.statistics.models.flops_mix import MIXES, MODULES, divisions, speeds

INTERVALS = 20_000  # a computation takes 40 to 150 µs
unread = ("page_size", "memory_policy")


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: the eight modules on one core and on all cores."""
    quick = effort.name == "quick"
    threads = tuple(sorted({1, thread_counts(machine)[-1]}))
    sampling = Sampling(effort.sampling.width, 0.12 if quick else 0.5, 10, 400)
    modules = tuple(f"module{number}" for number in MODULES)
    values: dict[str, tuple[Scalar, ...]] = {"kernel": modules, "threads": threads, "pinning": ("compact",)}
    return (Axes({**values, "intervals": (INTERVALS,)}, sampling, 0.01, bounds={"intervals": (100, 1 << 30)}),)


def pass_time(seconds: float, record: Record) -> float:
    """Returns the seconds of one pass of one thread: m of the definition."""
    return seconds * int(record.parameters.get("threads", 1)) / record.work["passes"]


metrics = (
    Metric("flops", "flop/s", "higher", "speed", per_second("flops")),
    Metric("pass_time", "s", "lower", "time of a pass, one thread", pass_time),
)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the peak of the cores on which the threads run."""
    peak = machine.limits.get("flops")
    if metric != "flops" or peak is None:
        return None
    cores = usable_cores(machine) or 1
    used = min(cores_of(result, machine), cores)
    share = "" if used == cores else f", with threads on {used:g}"
    return Limit(peak.value * used / cores, peak.unit, peak.source + share)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of the mixes, of the modules, and of the errors of their results."""
    groups = _groups(results)
    mixes = Figure(
        name="flops-mixes",
        title="Speed of the four mixes",
        kind="bars",
        x=Axis("mix"),
        y=Axis("speed", "flop/s"),
        series=tuple(_mixes(name, members) for name, members in groups.items()),
        caption="Mix 1 has 5 passes of module 2 and one of module 3. Mix 2 has one pass of modules 1, 3, 4, 5 and 6, "
        "and 4 passes of module 7. Mix 3 has one pass of each module except 2. Mix 4 has one pass of modules 3, "
        "4, 6 and 8. The interval of a mix follows from the lowest and the highest speeds of its modules.",
    )
    modules = Figure(
        name="flops-modules",
        title="Speed of the eight modules",
        kind="bars",
        x=Axis("module"),
        y=Axis("speed", "flop/s"),
        series=tuple(_modules(name, members) for name, members in groups.items()),
        caption="Modules 1 to 8 have 14, 7, 17, 15, 29, 29, 12 and 30 operations for each pass.",
    )
    errors = Figure(
        name="flops-errors",
        title="Relative error of the results",
        kind="bars",
        x=Axis("module"),
        y=Axis("relative error", log=True),
        series=tuple(_draw_errors(name, members) for name, members in list(groups.items())[:1]),
        caption=f"The figure shows the size of the errors, without the sign, for {INTERVALS} intervals. The "
        "trapezoidal rule causes these errors, not the machine. Module 2 is a series and has no such error.",
    )
    return mixes, modules, errors


def _groups(results: Iterable[Result]) -> dict[str, dict[int, Result]]:
    """Groups the modules by threads and, if there are several, by toolchain."""
    groups: dict[tuple[int, str], dict[int, Result]] = {}
    for result in results:
        if "flops" in result.metrics:
            key = (int(result.parameters.get("threads", 1)), str(result.parameters.get("toolchain", "")))
            groups.setdefault(key, {})[int(result.kernel.removeprefix("module"))] = result
    several = len({toolchain for _, toolchain in groups}) > 1
    return {
        f"{plural(threads, 'thread')}{f', {toolchain}' if several else ''}": members
        for (threads, toolchain), members in sorted(groups.items())
    }


def _mixes(name: str, members: dict[int, Result]) -> Series:
    values = {number: result.metrics["flops"] for number, result in members.items()}

    def of(rates: dict[int, float | None]) -> dict[int, float]:
        return speeds({number: MODULES[number].total / rate for number, rate in rates.items() if rate})

    middle, low, high = (
        of({number: getattr(value, end) for number, value in values.items()}) for end in ("value", "low", "high")
    )
    mixes = [mix for mix in MIXES if mix in middle]
    names = tuple(f"{mix} ({quantity(divisions(mix), '%', 2)} divisions)" for mix in mixes)
    least, greatest = (tuple(ends.get(mix) for mix in mixes) for ends in (low, high))
    return Series(name, names, tuple(middle[mix] for mix in mixes), least, greatest)


def _modules(name: str, members: dict[int, Result]) -> Series:
    order = sorted(members)
    return draw_values(name, list(map(str, order)), [members[number].metrics["flops"] for number in order])


def _draw_errors(name: str, members: dict[int, Result]) -> Series:
    errors = {number: error for number in sorted(members) if (error := _error(members[number])) is not None}
    return Series(name, tuple(map(str, errors)), tuple(errors.values()))


def _error(result: Result) -> float | None:
    """Returns the absolute relative error; None if it is zero or not recorded."""
    for record in result.attempts:
        details = record.surroundings.details or {}
        if details.get("exact") and isinstance(details.get("error"), int | float):
            return abs(details["error"] / details["exact"]) or None
    return None
