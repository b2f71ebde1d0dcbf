"""Published values beside those of runs and of other published systems: their ratios are shown, but no call is possible."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from steelyard.compare.cause import find_cause
from steelyard.compare.classes import CLASSES, Class
from steelyard.compare.compared_sides import NOT_JUDGED, CaseRow, Cell, OtherSide, Total
from steelyard.compare.like import find_like
from steelyard.compare.like_with_like import say_nothing_common
from steelyard.compare.side import SideCase
from steelyard.compare.side_view import SideView, average
from steelyard.model import Value

Key = tuple[str, str, str, str, tuple[tuple[str, str], ...]]  # benchmark, kernel, metric, unit, parameters

NO_INTERVAL = "Steelyard did not measure the published or imported values, so no call is possible."


@dataclass(frozen=True)
class Figure:
    """The value of a side for a published figure. `note` says in which condition it differs from others."""

    case: SideCase
    value: Value
    note: str


Figures = Mapping[Key, Figure]


def list_figures(views: Sequence[SideView]) -> list[Figures]:
    """Returns for each side its values of all figures that the published systems among the sides have."""
    published = [_list_published(view) for view in views if view.side.is_foreign]
    wanted = {key: figure.case for figures in published for key, figure in figures.items()}
    every = iter(published)
    return [next(every) if view.side.is_foreign else _list_alike(view, wanted) for view in views]


def _list_published(view: SideView) -> Figures:
    values: dict[Key, list[tuple[SideCase, Value]]] = {}
    for case in (case for run in view.side.runs for case in run.cases):
        rest = tuple(sorted((name, str(text)) for name, text in case.parameters.items()))
        for metric, value in case.metrics.items():
            values.setdefault((case.benchmark, case.kernel, metric, value.unit, rest), []).append((case, value))
    several = len(view.side.runs) > 1
    return {
        key: Figure(of[0][0], (several and average([value for _, value in of])) or of[0][1], of[0][0].note)
        for key, of in values.items()
    }


def _list_alike(view: SideView, wanted: Mapping[Key, SideCase]) -> Figures:
    """Returns the values of a run, or the means of those of a group, for published figures."""
    figures: dict[Key, Figure] = {}
    for key, case in wanted.items():
        alike = [like for run in view.side.runs if (like := find_like(case, run))]
        if alike:
            values = [like.value for like in alike]
            value = values[0] if len(values) == 1 else average(values) or values[0]
            figures[key] = Figure(alike[0].case, value, alike[0].remark)
    return figures


Seen = tuple[SideView, Figures]


def compare_published(letter: str, first: Seen, other: Seen) -> OtherSide:
    """Returns the ratios of the figures that both sides have, of which at least one is a published system."""
    ratios: dict[Class, dict[str, list[float]]] = {}
    whole: dict[str, list[float]] = {}
    for key, figure in first[1].items():
        ratio = time_ratio(figure.value, other[1][key].value) if key in other[1] else None
        if ratio is not None:
            log, case = math.log(ratio), figure.case
            ratios.setdefault(case.kind, {}).setdefault(case.benchmark, []).append(log)
            whole.setdefault(case.benchmark, []).append(log)
    classes = [(kind, ratios[kind]) for kind in CLASSES if kind in ratios] if len(whole) > 1 else []
    common = sum(map(len, whole.values()))
    system = other[0] if other[0].side.is_foreign else first[0]
    both = (figure for key in first[1] if key in other[1] for figure in (first[1][key], other[1][key]))
    notes = dict.fromkeys(f"{system.side.name}: {figure.note}." for figure in both if figure.note)
    # The remark of a pair repeats the note of its value.
    notes = {n: None for n in notes if not any(m != n and m.startswith(n.removesuffix(".")) for m in notes)}
    notes |= dict.fromkeys(_unlike(first, other))
    if not common:
        notes = {say_nothing_common(first[0], other[0]): None}
    lone = [len(figures) - common if view.side.is_foreign else 0 for view, figures in (first, other)]
    return OtherSide(
        letter=letter, cause=find_cause(first[0].side, other[0].side, whole), conditions=tuple(notes),
        classes=tuple(_total(kind, tuple(parts), parts) for kind, parts in classes),
        benchmarks=tuple(_total(name, (), {name: logs}) for name, logs in whole.items()),
        cases=(), counts={NOT_JUDGED: common}, disturbed=0, only_baseline=lone[0], only_side=lone[1],
    )  # fmt: skip


def _unlike(first: Seen, other: Seen) -> Iterator[str]:
    """Yields the statistics in which values of two foreign sides differ."""
    for key, figure in first[1].items():
        a, b = figure.case.statistic, other[1][key].case.statistic if key in other[1] else ""
        if a and b and a != b:
            yield f"{key[0]}, {key[2]}: the {b} of {other[0].side.name} beside the {a} of {first[0].side.name}."


def _total(name: str, members: tuple[str, ...], parts: Mapping[str, list[float]]) -> Total:
    """Returns the mean ratio. A benchmark weighs by the square root of the number of its figures, as in `wholes`."""
    weights = [math.sqrt(len(logs)) for logs in parts.values()]
    mean = sum(w * fmean(logs) for w, logs in zip(weights, parts.values(), strict=True)) / sum(weights)
    return Total(name=name, members=members, cases=sum(map(len, parts.values())), ratio=math.exp(mean), why=NO_INTERVAL)


def time_ratio(first: Value, other: Value) -> float | None:
    """Returns the time of the other for the same work over that of the first; None if a value is not positive."""
    if not (0 < first.value < math.inf and 0 < other.value < math.inf):
        return None
    return first.value / other.value if first.better == "higher" else other.value / first.value


def list_published_rows(sides: Mapping[str, Seen]) -> Iterator[CaseRow]:
    """Yields the published figures that at least two sides have; `sides` are given by their letters, the baseline first."""
    (first, base), *_ = sides.values()
    published = [figures for view, figures in sides.values() if view.side.is_foreign]
    for key in dict.fromkeys(key for figures in published for key in figures):
        cells = [
            _cell(
                letter,
                figures[key],
                None if view is first or not (view.side.is_foreign or first.side.is_foreign) else base.get(key),
            )
            for letter, (view, figures) in sides.items()
            if key in figures
        ]
        if len(cells) > 1:
            case = next(figures[key].case for figures in published if key in figures)
            yield CaseRow(
                benchmark=case.benchmark,
                kernel=case.kernel,
                parameters=case.parameters,
                metric=key[2],
                cells=tuple(cells),
            )


def _cell(letter: str, figure: Figure, base: Figure | None) -> Cell:
    """Returns the cell of a side; with a ratio to the figure `base` of the baseline if one of both is published."""
    ratio = time_ratio(base.value, figure.value) if base else None
    return Cell(
        letter=letter, value=figure.value, level=figure.case.level, ratio=ratio, call=NOT_JUDGED if ratio else None,
        why=figure.note,
    )  # fmt: skip
