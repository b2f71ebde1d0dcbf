"""Kernels side by side, as the pages of the node show them: bars of times over a reference's, and their table."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

from steelyard.model import Level, Result
from steelyard.model.figure import Figure, Series
from steelyard.report import doubts, drawn, figures, values
from steelyard.statistics import messages
from steelyard.statistics.compare import compare
from steelyard.statistics.trust import doubtful, worst
from steelyard.units import quantity, significant

Pair = tuple[Result, Result]  # a result, and the one that it is set against: itself, where it is the reference


@dataclass(frozen=True)
class Kernel:
    """A kernel, the anchor of its benchmark's page, and a pair for each mode in which it was measured."""

    name: str
    anchor: str
    pairs: Mapping[str, Pair]


@dataclass(frozen=True)
class Cell:
    """A kernel in a mode: its time, that over the reference's with its interval; "" where there is none."""

    time: str
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


@dataclass(frozen=True)
class Part:
    """The kernels of one toolchain. `sums`: of the times, a sentence for each mode; `means`: of the ratios."""

    title: str
    figure: drawn.Drawn
    modes: tuple[str, ...]
    rows: tuple[Row, ...]
    sums: tuple[str, ...]
    means: tuple[str, ...]


@dataclass(frozen=True)
class _Ratio:
    """The time of a kernel in a mode over the reference's, and the worse verdict of both."""

    value: float
    low: float
    high: float
    level: Level


def part(title: str, anchor: str, empty: Figure, kernels: Sequence[Kernel], modes: Sequence[str]) -> Part:
    """The table of all modes, and the figure `empty` with bars for each mode but the reference."""
    ratios = {(k.name, mode): _ratio(*pair) for k in kernels for mode, pair in k.pairs.items()}
    rows = tuple(
        Row(
            k.name,
            k.anchor,
            tuple(_cell(k.pairs[mode], ratios[k.name, mode]) if mode in k.pairs else None for mode in modes),
        )
        for k in kernels
    )
    return Part(
        title,
        _drawn(anchor, empty, kernels, modes, ratios),
        tuple(modes),
        rows,
        tuple(_sum(kernels, mode) for mode in modes),
        tuple(_mean([r for k in kernels if (r := ratios.get((k.name, mode)))], len(kernels)) for mode in modes),
    )


def usable(result: Result) -> bool:
    """Whether the result has times that may be believed."""
    return values.level(result) != "INVALID" and bool(messages.seconds(result))


def _ratio(result: Result, reference: Result) -> _Ratio:
    level = worst((values.level(result), values.level(reference)))
    if result is reference:
        return _Ratio(1.0, 1.0, 1.0, level)
    seen = compare(messages.seconds(reference), messages.seconds(result))
    return _Ratio(seen.ratio, seen.low, seen.high, level)


def _cell(pair: Pair, ratio: _Ratio) -> Cell:
    result, reference = pair
    told = f"{significant(ratio.low)} – {significant(ratio.high)}"
    if doubtful(values.level(reference)):
        told += f"; what it is set against was {values.level(reference)}"
    return Cell(
        quantity(_time(result), "s"),
        "1" if result is reference else significant(ratio.value),
        "" if result is reference else told,
        values.level(result),
        values.why(result),
    )


def _time(result: Result) -> float:
    value = result.metrics.get("time")
    return value.value if value else math.nan


def _sum(kernels: Sequence[Kernel], mode: str) -> str:
    """The sum of the times over the kernels that have the mode, and what it is of the reference's over the same ones."""
    both = [k.pairs[mode] for k in kernels if mode in k.pairs]
    total, of = (sum(_time(pair[side]) for pair in both) for side in (0, 1))
    if not both or not math.isfinite(total + of) or of <= 0:
        return ""
    of_them = "" if len(both) == len(kernels) else f", {len(both)} of {len(kernels)} kernels"
    itself = all(result is reference for result, reference in both)
    return quantity(total, "s") + ("" if itself else f" ({significant(total / of)} times{of_them})")


def _mean(ratios: list[_Ratio], of: int) -> str:
    mean = significant(geometric_mean(r.value for r in ratios))
    return mean if len(ratios) == of else f"{mean} ({len(ratios)} of {of} kernels)"


def _drawn(
    anchor: str,
    empty: Figure,
    kernels: Sequence[Kernel],
    modes: Sequence[str],
    ratios: Mapping[tuple[str, str], _Ratio],
) -> drawn.Drawn:
    series: list[Series] = []
    shown: list[_Ratio] = []
    for mode in modes:
        mine = [k.name for k in kernels if mode in k.pairs and k.pairs[mode][0] is not k.pairs[mode][1]]
        if not mine:
            continue
        of = [ratios[name, mode] for name in mine]
        shown += of
        bars = tuple(r.value for r in of), tuple(r.low for r in of), tuple(r.high for r in of)
        series.append(Series(mode, tuple(mine), *bars))
    figure = replace(empty, series=tuple(series))
    plot = figures.plotly(figure, doubts.of((r.value, r.level) for r in shown))
    rows = tuple(
        (s.name, str(x), significant(y or 0.0), f"{significant(low or 0.0)} – {significant(high or 0.0)}")
        for s in series
        for x, y, low, high in zip(s.x, s.y, s.low, s.high, strict=True)
    )
    return drawn.Drawn(
        anchor=anchor,
        title=figure.title,
        caption=figure.caption,
        plot=drawn.embedded(plot),
        height=plot["layout"]["height"],
        wide=False,
        webgl=False,
        headings=("Mode", "Kernel", "Ratio", "95 % interval"),
        rows=rows,
        notes=doubts.notes((r.level for r in shown), "ratios", "bars"),
    )
