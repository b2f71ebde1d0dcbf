"""Kernels side by side, as the pages of the node and of power show them: bars of ratios to a reference, and their table."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

from steelyard.model import Evaluation, Level, Result
from steelyard.model.figure import Figure, Series
from steelyard.model.units import quantity, significant
from steelyard.show.report import doubtful_values, drawing, figures, values
from steelyard.show.report.axes import Json
from steelyard.show.report.names import slug
from steelyard.show.report.node_modes import Measured, Mode, called
from steelyard.show.report.verdict_marks import signed
from steelyard.statistics.difference.compare import compare
from steelyard.statistics.results import messages
from steelyard.statistics.validity.trust import doubtful, worst

Pair = tuple[Result, Result]  # a result, and the one that it is set against: itself, where it is the reference
Ends = tuple[float, float, float]  # a value with its interval: value, low, high


@dataclass(frozen=True)
class Measure:
    """What the bars are of: a metric in its `unit`, and the ratio of a result's to that of its reference."""

    metric: str
    unit: str
    plural: str
    ratio: Callable[[Result, Result], Ends]


def _compare_times(result: Result, reference: Result) -> Ends:
    observed = compare(messages.seconds(reference), messages.seconds(result))
    return observed.ratio, observed.low, observed.high


SHORT = 4.0  # between the ends of an axis of ratios: on a longer one there are several powers of two
TIME = Measure("time", "s", "times", _compare_times)


@dataclass(frozen=True)
class Kernel:
    """A kernel, the anchor of its benchmark's page, and a pair for each mode in which it was measured."""

    name: str
    anchor: str
    pairs: Mapping[str, Pair]


@dataclass(frozen=True)
class Cell:
    """A kernel in a mode: its value, that over the reference's with its interval; "" where there is none."""

    value: str
    ratio: str
    interval: str
    level: Level
    evidence: str


@dataclass(frozen=True)
class Row:
    """A kernel, the anchor of its benchmark's page, and a cell for each mode; None where it was not measured."""

    name: str
    anchor: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, kw_only=True)
class Part:
    """The kernels of one toolchain. For each mode `sums` of the values (`what`, as "times"), and `means` of the ratios."""

    title: str
    figure: drawing.Drawn
    modes: tuple[str, ...]
    rows: tuple[Row, ...]
    sums: tuple[str, ...]
    means: tuple[str, ...]
    what: str = TIME.plural


@dataclass(frozen=True)
class _Ratio:
    """A kernel in a mode over its reference, and the worse verdict of both."""

    value: float
    low: float
    high: float
    level: Level


def part(
    title: str, anchor: str, empty: Figure, kernels: Sequence[Kernel], modes: Sequence[str], of: Measure = TIME
) -> Part:
    """The table of all modes, and the figure `empty` with bars for each mode but the reference."""
    ratios = {(k.name, mode): _ratio(*pair, of) for k in kernels for mode, pair in k.pairs.items()}
    rows = tuple(
        Row(
            k.name,
            k.anchor,
            tuple(_cell(k.pairs[mode], ratios[k.name, mode], of) if mode in k.pairs else None for mode in modes),
        )
        for k in kernels
    )
    return Part(
        title=title,
        figure=_draw_bars(anchor, empty, kernels, modes, ratios),
        modes=tuple(modes),
        rows=rows,
        sums=tuple(_write_sum(kernels, mode, of) for mode in modes),
        means=tuple(_mean([r for k in kernels if (r := ratios.get((k.name, mode)))], len(kernels)) for mode in modes),
        what=of.plural,
    )


def make_kernel(kernel: Measured, reference: Mode, evaluation: Evaluation) -> Kernel:
    """Returns a kernel with its modes in words, each beside the mode `reference`."""
    anchor = slug(kernel.benchmark) if kernel.benchmark in evaluation.benchmarks else ""
    base, machine = kernel.modes[reference], evaluation.run.machine
    return Kernel(kernel.name, anchor, {called(mode, machine): (r, base) for mode, r in sorted(kernel.modes.items())})


def usable(result: Result) -> bool:
    """Returns whether the result has times that may be believed."""
    return values.level(result) != "INVALID" and bool(messages.launch_seconds(result))


def _ratio(result: Result, reference: Result, of: Measure) -> _Ratio:
    level = worst((values.level(result), values.level(reference)))
    if result is reference:
        return _Ratio(1.0, 1.0, 1.0, level)
    return _Ratio(*of.ratio(result, reference), level)


def _cell(pair: Pair, ratio: _Ratio, of: Measure) -> Cell:
    result, reference = pair
    span = f"{significant(ratio.low)} – {significant(ratio.high)}"
    if doubtful(values.level(reference)):
        span += f"; the reference was {values.level(reference)}"
    return Cell(
        quantity(_value(result, of), of.unit),
        "1" if result is reference else significant(ratio.value),
        "" if result is reference else span,
        values.level(result),
        values.why(result),
    )


def _value(result: Result, of: Measure) -> float:
    value = result.metrics.get(of.metric)
    return value.value if value else math.nan


def _write_sum(kernels: Sequence[Kernel], mode: str, what: Measure) -> str:
    """The sum of the values over the kernels that have the mode, and what it is of the reference's over the same ones."""
    both = [k.pairs[mode] for k in kernels if mode in k.pairs]
    total, total_reference = (sum(_value(pair[side], what) for pair in both) for side in (0, 1))
    if not both or not math.isfinite(total + total_reference) or total_reference <= 0:
        return ""
    of_them = "" if len(both) == len(kernels) else f", {len(both)} of {len(kernels)} kernels"
    itself = all(result is reference for result, reference in both)
    level = values.weakest(*(pair[0] for pair in both), *(() if itself else (pair[1] for pair in both)))
    text = quantity(total, what.unit) + ("" if itself else f" ({significant(total / total_reference)} times{of_them})")
    return signed(text, level)


def _mean(ratios: list[_Ratio], of: int) -> str:
    mean = signed(significant(geometric_mean(r.value for r in ratios)), worst(r.level for r in ratios))
    return mean if len(ratios) == of else f"{mean} ({len(ratios)} of {of} kernels)"


def _widened(axis: Json, low: float, high: float) -> None:
    """Of a short axis the powers of two around it, which are its ticks: one alone would not tell the scale."""
    if low > 0 and high < SHORT * low:
        first, last = math.floor(math.log2(min(low, 1.0))), math.ceil(math.log2(max(high, 1.0)))
        ticks = [2.0**power for power in range(first, last + 1)]
        axis["range"] = [math.log10(ticks[0] / 1.05), math.log10(ticks[-1] * 1.05)]
        axis |= {"tickmode": "array", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _draw_bars(
    anchor: str,
    empty: Figure,
    kernels: Sequence[Kernel],
    modes: Sequence[str],
    ratios: Mapping[tuple[str, str], _Ratio],
) -> drawing.Drawn:
    series: list[Series] = []
    shown: list[_Ratio] = []
    for mode in modes:
        names = [k.name for k in kernels if mode in k.pairs and k.pairs[mode][0] is not k.pairs[mode][1]]
        if not names:
            continue
        drawn_ratios = [ratios[name, mode] for name in names]
        shown += drawn_ratios
        bars = (
            tuple(doubtful_values.graded(r.value, r.level) for r in drawn_ratios),
            tuple(r.low for r in drawn_ratios),
            tuple(r.high for r in drawn_ratios),
        )
        series.append(Series(mode, tuple(names), *bars))
    figure = replace(empty, series=tuple(series))
    plot = figures.plotly(figure)
    if figure.y.ratio and shown:
        _widened(plot["layout"]["yaxis"], min(r.low for r in shown), max(r.high for r in shown))
    rows = tuple(
        (s.name, str(x), significant(y or 0.0), f"{significant(low or 0.0)} – {significant(high or 0.0)}")
        for s in series
        for x, y, low, high in zip(s.x, s.y, s.low, s.high, strict=True)
    )
    return drawing.with_plot(
        anchor,
        figure,
        plot,
        ("Mode", "Kernel", "Ratio", "95 % interval"),
        rows,
        doubtful_values.notes((r.level for r in shown), "ratios", "bars"),
    )
