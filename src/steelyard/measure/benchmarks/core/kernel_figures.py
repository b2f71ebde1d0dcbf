"""Figures of core.kernels: speed over length with r∞ and n½, over intensity, gain of vectors, strides, compilers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import harmonic_mean

from steelyard.measure.benchmarks.core import groups
from steelyard.measure.benchmarks.figures import against, draw_values, select
from steelyard.model import Machine, Result
from steelyard.model.cores import usable_cores
from steelyard.model.figure import Axis, Figure, Mark, Point, Series
from steelyard.model.units import significant
from steelyard.statistics.models.rinf import Curve, fit, rate, select_regime
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import ratio

DRAWN = ("add", "triad", "dot", "recurrence1", "horner9")
STRAIGHT = 0.9  # least R² of a straight line: the steps of whole vectors alone give about 0.95
REGIMES = ("within the first cache", "beyond all caches")


@dataclass(frozen=True)
class Fitted:
    """A kernel's line in one regime. `flops`: operations for each element; None if they are not counted."""

    kernel: str
    toolchain: str
    regime: str
    curve: Curve
    flops: float | None


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns all figures that have results, and the first one always."""
    fitted = fits(results, machine)
    drawn = [
        *_draw_over_length(results, fitted),
        *_draw_constants(fitted),
        _draw_over_intensity(results, machine),
        _draw_gain(results, machine),
    ]
    drawn += [_draw_strides(results), _draw_toolchains(results, machine)]
    return tuple(figure for n, figure in enumerate(drawn) if n == 0 or any(series.x for series in figure.series))


def fits(results: Iterable[Result], machine: Machine) -> tuple[Fitted, ...]:
    """Returns r∞ and n½ of each vectorised kernel and toolchain, if three lengths of a regime were measured."""
    lines: dict[tuple[str, str], list[Result]] = {}
    for r in select(results, vectors="yes"):
        if r.kernel in groups.PLAIN and _is_usual(r) and "rate" in r.metrics:
            lines.setdefault((r.kernel, _toolchain(r)), []).append(r)
    fitted = []
    for kernel, toolchain in sorted(lines, key=lambda key: (groups.KERNELS.index(key[0]), key[1])):
        members = lines[kernel, toolchain]
        members.sort(key=_read_elements)
        points = [(_read_elements(r), seconds_of_pass(r)) for r in members]
        flops = next(
            (r.metrics["flops"].value / r.metrics["rate"].value for r in members if "flops" in r.metrics), None
        )
        bytes_ = groups.working_set(kernel, 1)
        ends = ((1, groups.first_cache(machine) / bytes_), (groups.last_cache(machine) / bytes_, float("inf")))
        for regime, (first, last) in zip(REGIMES, ends, strict=True):
            shortest = [r for r in members if _read_elements(r) >= first][:1]  # it determines the start-up time
            curve = fit(select_regime(points, first, last), sum(map(_find_resolution, shortest)))
            if curve:
                fitted.append(Fitted(kernel, toolchain, regime, curve, flops))
    return tuple(fitted)


def seconds_of_pass(result: Result) -> float:
    """Returns the seconds in which all elements are processed once."""
    return _read_elements(result) / result.metrics["rate"].value


def _find_resolution(result: Result) -> float:
    """Returns the timer's resolution for one pass, in seconds; a sample has many passes. 0 if it is unknown."""
    resolutions = [
        resolution / r.operations
        for r in result.attempts
        if r.operations and (resolution := r.surroundings.clock.resolution)
    ]
    return float(max(resolutions, default=0.0))


def _draw_over_length(results: Sequence[Result], fitted: Sequence[Fitted]) -> list[Figure]:
    """Draws a figure for each toolchain: in one figure, the lines would hide each other."""
    chosen = [r for r in select(results, vectors="yes") if r.kernel in DRAWN and _is_usual(r)]
    toolchains = sorted({_toolchain(r) for r in chosen}) or [""]
    figures = []
    for name in toolchains:
        points = [
            Point(f.curve.half, endless / 2, f"n½ {significant(f.curve.half, 2)}")
            for f in fitted
            if f.kernel in DRAWN and f.regime == REGIMES[0] and f.toolchain == name
            if f.curve.half and f.curve.half >= 1 and f.flops and (endless := rate(f.curve, f.flops))
        ]
        figures.append(
            Figure(
                name=f"kernels-length-{name}" if len(toolchains) > 1 else "kernels-length",
                title="Speed against the length of the vectors" + (f", {name}" if len(toolchains) > 1 else ""),
                kind="lines",
                x=Axis("elements", log=True),
                y=Axis("speed", "flop/s", log=True),
                series=against("elements", "flops", [r for r in chosen if _toolchain(r) == name], names=("kernel",)),
                points=tuple(points),
                caption="r∞ is the speed for very long vectors, and n½ is the length of a vector that reaches half of it. "
                "Both come from a straight line, fitted to the times of vectors within the first-level cache.",
            )
        )
    return figures


def _draw_constants(fitted: Sequence[Fitted]) -> tuple[Figure, ...]:
    """Draws r∞ and n½ of all kernels, with bars for each regime and toolchain. Poor fits are left out."""
    several = len({f.toolchain for f in fitted}) > 1
    sets: dict[str, list[Fitted]] = {}
    for f in fitted:
        sets.setdefault(f"{f.regime}, {f.toolchain}" if several else f.regime, []).append(f)
    speed, length, vague, without = [], [], [], []
    for name, members in sets.items():
        good = [f for f in members if f.curve.r_squared is not None and f.curve.r_squared >= STRAIGHT]
        counted = [(f.kernel, endless) for f in good if f.flops and (endless := rate(f.curve, f.flops))]
        halves = [(f.kernel, f.curve.half) for f in good if f.curve.half is not None and not f.curve.uncertain]
        speed.append(Series(name, tuple(k for k, _ in counted), tuple(v for _, v in counted)))
        length.append(Series(name, tuple(k for k, _ in halves), tuple(v for _, v in halves)))
        vague += [f"{f.kernel} {name}" for f in members if f not in good]
        without += [f"{f.kernel} {name}" for f in good if f.kernel not in dict(halves)]
    worst = min((f.curve.r_squared for f in fitted if f.curve.r_squared is not None), default=None)
    quality = f"The lowest R² of a fit is {worst:.3f} (1 is a perfect straight line). " if worst is not None else ""
    left = (
        f"These are left out, because no straight line fits their times (R² below {STRAIGHT}): {', '.join(vague)}. "
        if vague
        else ""
    )
    none = f"These have no n½, because the line starts below zero or below the resolution of the timer: {', '.join(without)}."
    axes = (Axis("kernel"), Axis("r∞", "flop/s", log=True)), (Axis("kernel"), Axis("n½ in elements", log=True))
    return (
        Figure(
            "kernels-r",
            "r∞: speed for very long vectors",
            "bars",
            *axes[0],
            tuple(speed),
            caption=(quality + left).strip(),
        ),
        Figure(
            "kernels-n",
            "n½: length that reaches half of that speed",
            "bars",
            *axes[1],
            tuple(length),
            caption=(quality + left + (none if without else "")).strip(),
        ),
    )


def _draw_over_intensity(results: Sequence[Result], machine: Machine) -> Figure:
    sizes = {
        groups.fit_first_cache(machine): "first cache",
        groups.exceed_second(machine): "behind the second cache",
        groups.exceed_caches(machine): "memory",
    }
    several = len(set(map(_toolchain, results))) > 1
    lines: dict[tuple[str, str, str], list[tuple[float, Result]]] = {}
    for r in results:
        size = sizes.get(int(r.parameters.get("elements", 0)))
        if r.kernel in groups.INTENSITY and "flops" in r.metrics and size:
            toolchain = _toolchain(r) if several else ""
            words = "vectors" if r.parameters.get("vectors", "yes") == "yes" else "scalar"
            # f/(L+S): the bandwidth counts the words that are read and written, of eight bytes.
            intensity = 8 * r.metrics["flops"].value / r.metrics["bandwidth"].value
            lines.setdefault((size, words, toolchain), []).append((intensity, r))
    limit = machine.limits.get("flops")
    cores = max(1, usable_cores(machine))  # with a quota below one core, a core still has at most the whole limit
    return Figure(
        name="kernels-intensity",
        title="Speed against operations for each memory access",
        kind="lines",
        x=Axis("operations for each word read or written", log=True),
        y=Axis("speed", "flop/s", log=True),
        series=tuple(_line(", ".join(filter(None, key)), members, "flops") for key, members in sorted(lines.items())),
        marks=(Mark("y", limit.value / cores, "limit for one core"),) if limit else (),
        caption="The kernels are polynomials of degree 1, 3, 5, 9 and 17 (Horner's rule). For each element, they "
        "read one word and write one. Where a line rises straight, the memory or a cache limits the speed. "
        "Beyond the bend, the core limits it.",
    )


def _draw_gain(results: Sequence[Result], machine: Machine) -> Figure:
    several = len(set(map(_toolchain, results))) > 1
    sets: dict[str, list[tuple[str, float, float, float]]] = {}
    for kernel in groups.KERNELS:
        near = select(cases.find(results, "core.kernels", kernel), elements=groups.fit_first_cache(machine))
        for scalar, vectors in cases.pair(near, "vectors", "no", "yes"):
            gained = ratio(scalar, vectors)
            if gained and _is_usual(scalar):
                name = _toolchain(scalar) if several else "gain"
                sets.setdefault(name, []).append((kernel, gained.value, gained.low, gained.high))
    width = machine.fma_width
    return Figure(
        name="kernels-gain",
        title="Gain by vectorisation: time of the scalar loop divided by the time of the vectorised loop",
        kind="bars",
        x=Axis("kernel"),
        y=Axis("gain", "x"),
        series=tuple(_bars(name, members) for name, members in sets.items()),
        marks=(Mark("y", 1, "none"), *((Mark("y", width, f"{width} doubles in a vector"),) if width else ())),
        caption=f"The vectors have {groups.fit_first_cache(machine)} elements and fit into the first-level cache. A recurrence "
        "cannot be vectorised.",
    )


def _draw_strides(results: Sequence[Result]) -> Figure:
    chosen = []
    for r in select(results, vectors="yes"):
        if r.kernel in (*groups.STRIDED, "strided_copy"):
            chosen.append(replace(r, parameters={"stride": 1, **r.parameters}))
    strided = {(r.kernel, r.parameters["elements"]) for r in chosen if r.parameters["stride"] != 1}
    return Figure(
        name="kernels-stride",
        title="Elements per second against the stride",
        kind="lines",
        x=Axis("stride in words of 8 bytes", log=True),
        y=Axis("elements per second", "1/s", log=True),
        series=against(
            "stride", "rate", [r for r in chosen if (r.kernel, r.parameters["elements"]) in strided],
            names=("kernel", "elements", "toolchain"),
        ),
        caption="From a stride of 8 words on, each element lies in a cache line of its own. With strides that are "
        "powers of two, the elements compete for a few places in the cache.",
    )  # fmt: skip


def _draw_toolchains(results: Sequence[Result], machine: Machine) -> Figure:
    """Draws each kernel by each compiler, and the mean: all elements over the total time of the kernels."""
    sets: dict[str, dict[str, Result]] = {}
    for r in select(results, vectors="yes", elements=groups.fit_first_cache(machine)):
        if "rate" in r.metrics and _is_usual(r):
            sets.setdefault(_toolchain(r), {})[r.kernel] = r
    common = [k for k in groups.KERNELS if sets and all(k in members for members in sets.values())]
    series = []
    for name, members in sorted(sets.items()):
        values = [members[k].metrics["rate"] for k in common]
        mean = (harmonic_mean([v.value for v in values]),) if values else ()
        series.append(
            Series(
                name=name,
                x=(*common, *(("all, weighted by time",) if values else ())),
                y=(*(v.value for v in values), *mean),
                low=(*(v.low for v in values), *((None,) if values else ())),
                high=(*(v.high for v in values), *((None,) if values else ())),
            )
        )
    return Figure(
        name="kernels-toolchains",
        title="The same loops by different compilers",
        kind="bars",
        x=Axis("kernel"),
        y=Axis("elements per second", "1/s", log=True),
        series=tuple(series) if len(series) > 1 else (),
        caption=f"The vectors have {groups.fit_first_cache(machine)} elements and fit into the first-level cache. The last bars "
        "show the elements of all kernels divided by their total time.",
    )


def _toolchain(result: Result) -> str:
    return str(result.parameters.get("toolchain", ""))


def _read_elements(result: Result) -> float:
    return float(result.parameters["elements"])


def _is_usual(result: Result) -> bool:
    return groups.has_usual_stride(result.kernel, result.parameters.get("stride"))


def _line(name: str, members: list[tuple[float, Result]], metric: str) -> Series:
    members.sort(key=lambda member: member[0])
    return draw_values(name, [x for x, _ in members], [r.metrics[metric] for _, r in members])


def _bars(name: str, members: Sequence[tuple[str, float, float, float]]) -> Series:
    kernels, values, low, high = zip(*members, strict=True)
    return Series(name, kernels, values, low, high)
