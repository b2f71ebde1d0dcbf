"""Energy of the node's kernels in their modes: over that of a reference as bars, and against the time as points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from steelyard.judge.evaluation.energy import name_uncovered
from steelyard.measure.telemetry.watched import is_modelled
from steelyard.model import Evaluation, Level, Machine, Result, Value
from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.model.scope import Parts, words
from steelyard.model.units import quantity
from steelyard.show.report import doubtful_values, drawing, figures, kernel_bars, side_traces, values
from steelyard.show.report.axes import Json, text
from steelyard.show.report.kernel_bars import Ends, Measure, Part
from steelyard.show.report.names import slug
from steelyard.show.report.node_modes import Measured, Mode, called, measured
from steelyard.statistics.results.energy_metrics import ENERGY
from steelyard.statistics.results.pareto_front import find_front
from steelyard.statistics.validity.trust import is_marked

GUESS = "The energy is modelled from the load, not measured. "
BARS = (
    "Shorter bars are better: 1 is the energy with {reference}. Each interval includes the uncertainty of both energies. If an "
    "interval contains 1, it is not clear which of the two energies is lower."
)
POINTS = (
    "Points closer to the lower left corner are better. Each colour stands for a kernel, each shape for a mode. A large mark "
    "means that no other mode of this kernel is both faster and needs less energy. A line joins the large marks of a kernel. If "
    "a kernel has only one large mark, the mode of that mark is the fastest and needs the least energy."
)

NAMES = " Several kernels share a colour. The name of a kernel is beside its mode of least energy."


@dataclass(frozen=True)
class Energies:
    """Of one toolchain, named in `title` where there are several. `times`: time and energy as points.

    `against` is None where no kernel was measured in two modes.
    """

    title: str
    against: Part | None
    times: drawing.Drawn


@dataclass(frozen=True)
class _Point:
    kernel: str
    mode: str
    seconds: Value
    joules: Value
    level: Level


def energies(evaluation: Evaluation) -> tuple[Energies, ...]:
    """For each toolchain that made kernels of the node whose energy is known; () where there is none."""
    usable = [r for r in evaluation.results if "mode" in r.parameters and known(r)]
    toolchains = dict.fromkeys(str(r.parameters.get("toolchain", "")) for r in usable)
    tables = []
    for toolchain in toolchains:
        kernels = measured(r for r in usable if str(r.parameters.get("toolchain", "")) == toolchain)
        title = toolchain if len(toolchains) > 1 else ""
        several = any(len(k.modes) > 1 for k in kernels)
        against = _against(title, kernels, evaluation) if several else None
        tables.append(Energies(title, against, _times(title, kernels, evaluation)))
    return tuple(tables)


def known(result: Result) -> bool:
    """Returns whether it has a time and an energy with intervals, and may be believed."""
    both = [result.metrics.get(name) for name in ("time", ENERGY.name)]
    ends = [end for value in both if value for end in (value.value, value.low, value.high)]
    bounded = len(ends) == 6 and all(end is not None and isfinite(end) and end > 0 for end in ends)
    return bounded and values.level(result) != "INVALID"


def scope_of(result: Result) -> Parts:
    """Returns the parts of the machine whose energy the result has; () without an energy."""
    energy = result.metrics.get(ENERGY.name)
    return energy.scope if energy else ()


# --------------------------------------------------------------------------- over a reference


def over(result: Result, reference: Result) -> Ends:
    """The energy of an operation over the reference's; the interval holds those of both."""
    a, b = result.metrics[ENERGY.name], reference.metrics[ENERGY.name]
    return a.value / b.value, (a.low or 0.0) / (b.high or b.value), (a.high or a.value) / (b.low or b.value)


LARGER, USUAL = 4, 8  # pixels: what a best point's mark has more; one that is hollow only must not look like these
OF = Measure(ENERGY.name, ENERGY.unit, "energies", over)


def _against(title: str, kernels: Sequence[Measured], evaluation: Evaluation) -> Part:
    machine, guess = evaluation.run.machine, is_guess(evaluation)
    scope = _name_scope(kernels)
    first = {min(k.modes) for k in kernels}
    base = called(next(iter(first)), machine) if len(first) == 1 else "each kernel's first mode"
    figure = Figure(
        name="energy-against",
        title=f"{_name_quantity('Energy of an iteration', guess)} ({scope}) divided by the energy with {base}{_of(title)}",
        kind="bars",
        x=Axis("kernel"),
        y=Axis(f"{_name_quantity('energy', guess)} / energy with {base}", log=True, ratio=True),
        marks=(Mark("y", 1.0, base),),
        caption=_describe_coverage(evaluation) + BARS.format(reference=base),
    )
    rows = [kernel_bars.make_kernel(k, min(k.modes), evaluation) for k in kernels]
    modes = [called(mode, machine) for mode in sorted({mode for k in kernels for mode in k.modes})]
    return kernel_bars.part(title, f"energy-against{_make_anchor(title)}", figure, rows, modes, OF)


def is_guess(evaluation: Evaluation) -> bool:
    """Returns whether its energies rest on a model."""
    return evaluation.power is not None and is_modelled(evaluation.power.traces)


def _describe_coverage(evaluation: Evaluation) -> str:
    """Returns the sentences on a model, and on the cases whose energy no sensor covers."""
    return "".join(f"{text.rstrip()} " for text in (GUESS * is_guess(evaluation), name_uncovered(evaluation)) if text)


def _name_scope(kernels: Sequence[Measured]) -> str:
    return words(next(scope_of(result) for kernel in kernels for result in kernel.modes.values()))


def _name_quantity(what: str, guess: bool) -> str:
    return f"Modelled {what[0].lower()}{what[1:]}" if guess else what


def _of(title: str) -> str:
    return f", {title}" if title else ""


def _make_anchor(title: str) -> str:
    return f"-{slug(title)}" if title else ""


# --------------------------------------------------------------------------- against the time


def _times(title: str, kernels: Sequence[Measured], evaluation: Evaluation) -> drawing.Drawn:
    modes = sorted({mode for k in kernels for mode in k.modes})
    points = {k.name: [_make_point(k, mode, evaluation.run.machine) for mode in sorted(k.modes)] for k in kernels}
    best = {name: find_front([(p.seconds.value, p.joules.value) for p in mine]) for name, mine in points.items()}
    guess, scope = is_guess(evaluation), _name_scope(kernels)
    figure = Figure(
        name="time-energy",
        title=f"{_name_quantity('Energy', guess)} of an iteration ({scope}) against its time{_of(title)}",
        kind="lines",
        x=Axis("time of an iteration", "s", log=True),
        y=Axis(f"{_name_quantity('energy of an iteration', guess)} ({scope})", "J", log=True),
        series=tuple(_series(name, mine) for name, mine in points.items()),
        caption=_describe_coverage(evaluation) + POINTS + (NAMES if len(points) > figures.COLOURS else ""),
    )
    every = [p for mine in points.values() for p in mine]
    plot = _plot(figure, points, best, [called(mode, evaluation.run.machine) for mode in modes])
    headings = ("Kernel", "Mode", "Time", "95 % interval", "Energy", "95 % interval", "Best")
    rows = (_row(p, place in best[name]) for name, mine in points.items() for place, p in enumerate(mine))
    notes = doubtful_values.notes((p.level for p in every), "points", "lines")
    return drawing.with_plot(f"time-energy{_make_anchor(title)}", figure, plot, headings, rows, notes)


def _make_point(kernel: Measured, mode: Mode, machine: Machine) -> _Point:
    result = kernel.modes[mode]
    metrics = result.metrics
    return _Point(kernel.name, called(mode, machine), metrics["time"], metrics[ENERGY.name], values.level(result))


def _row(point: _Point, best: bool) -> tuple[str, ...]:
    cells = [cell for v in (point.seconds, point.joules) for cell in (quantity(v.value, v.unit), values.interval(v))]
    return point.kernel, point.mode, *cells, "yes" if best else ""


def _series(name: str, points: Sequence[_Point]) -> Series:
    joules = [p.joules for p in points]
    return Series(
        name,
        tuple(p.seconds.value for p in points),
        tuple(doubtful_values.graded(p.joules.value, p.level) for p in points),
        tuple(v.low for v in joules),
        tuple(v.high for v in joules),
        connected=False,
    )


def _plot(
    figure: Figure, points: Mapping[str, Sequence[_Point]], best: Mapping[str, Sequence[int]], modes: Sequence[str]
) -> Json:
    plot = figures.plotly(figure)
    lines: list[Json] = []
    for number, (trace, (name, mine)) in enumerate(zip(plot["data"], points.items(), strict=True)):
        shapes = [side_traces.SYMBOLS[modes.index(p.mode) % len(side_traces.SYMBOLS)] for p in mine]
        trace["marker"]["symbol"] = [
            s + doubtful_values.HOLLOW.get(p.level, "") for s, p in zip(shapes, mine, strict=True)
        ]
        sizes = [USUAL if p.level == "DISTURBED" else doubtful_values.SIZES[p.level][0] for p in mine]
        trace["marker"]["size"] = [size + LARGER * (place in best[name]) for place, size in enumerate(sizes)]
        trace["error_y"]["width"] = 0  # short intervals would be nothing but their caps
        trace["error_x"] = trace["error_y"] | _list_ends([p.seconds for p in mine])
        trace["customdata"] = [text(_write_hover(p)) for p in mine]
        chosen = [mine[place] for place in best[name]]
        if len(points) > figures.COLOURS:  # the colours repeat
            trace |= {
                "mode": "markers+text",
                "textposition": "bottom right",
                "textfont": {"size": 11},
                "cliponaxis": False,
            }
            trace["text"] = [text(name) if p is chosen[-1] else "" for p in mine]
        dash = side_traces.DASHES[number // figures.COLOURS % len(side_traces.DASHES)]
        lines.append(
            {
                "type": "scatter", "mode": "lines", "x": [p.seconds.value for p in chosen],
                "y": [p.joules.value for p in chosen], "line": {"dash": dash, "width": 1.4}, "hoverinfo": "skip",
                "showlegend": False, "legendgroup": trace["legendgroup"], "meta": {"colour": number},
            }
        )  # fmt: skip
    plot["data"] = [*lines, *plot["data"], *_make_legend(modes)]
    plot["layout"] |= {"height": 460, "showlegend": True}
    return plot


def _list_ends(quantities: Sequence[Value]) -> Json:
    up, down = [(v.high or v.value) - v.value for v in quantities], [v.value - (v.low or v.value) for v in quantities]
    return {"array": up, "arrayminus": down}


def _make_legend(modes: Sequence[str]) -> list[Json]:
    """An entry for each shape, beside those of the colours."""
    shapes = [side_traces.SYMBOLS[number % len(side_traces.SYMBOLS)] for number in range(len(modes))]
    return [
        {
            "type": "scatter", "mode": "markers", "x": [None], "y": [None], "name": text(mode), "hoverinfo": "skip",
            "marker": {"symbol": shape, "size": 8}, "meta": {"points": True, "colour": 0},
        }
        for mode, shape in zip(modes, shapes, strict=True)
    ]  # fmt: skip


def _write_hover(point: _Point) -> str:
    seconds, joules = (f"{quantity(v.value, v.unit)} ({values.interval(v)})" for v in (point.seconds, point.joules))
    mark = f" ({point.level})" if is_marked(point.level) else ""
    return f"{point.kernel}, {point.mode}: {joules} in {seconds}{mark}"
