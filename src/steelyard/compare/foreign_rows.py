"""Published and imported values beside those of runs and of each other: ratios, and a call where both sides have repetitions."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from steelyard.compare.average import average
from steelyard.compare.cause import find_cause
from steelyard.compare.classes import CLASSES, Class
from steelyard.compare.compared_sides import NOT_JUDGED, CaseRow, Cell, OtherSide, Total
from steelyard.compare.full_nodes import WHOLE, Question, SideSeries, name_use
from steelyard.compare.like import find_like
from steelyard.compare.like_with_like import say_nothing_common
from steelyard.compare.side import SideCase
from steelyard.compare.side_view import SideView
from steelyard.compare.time_ratios import Ratio, call_ratio, time_ratio
from steelyard.measure.published.our_case import AS_PRINTED, MACHINE, MEASURED_ONE
from steelyard.model import Value
from steelyard.model.words import in_words, joined

Key = tuple[str, str, str, str, tuple[tuple[str, str], ...]]  # benchmark, kernel, metric, unit, parameters

NO_INTERVAL = (
    "Steelyard did not measure published or imported values. A call needs five repetitions of imported ones each."
)
NO_SPEEDS = ("W", "J")  # units of values that are no part of a mean ratio of times
BEST = "best configuration"
# Conditions, not what was measured: imports that differ in one of them everywhere still have rows in common.
CONDITIONS = ("version", "build", "commit", "python_version", "options", "compiler", "toolchain", "MPI")
BY_TOOLS = "Repetitions of other tools: Steelyard did not see how they were measured."


@dataclass(frozen=True)
class Figure:
    """The value of a side for a published figure. `note` says in which condition it differs from others.

    `use` says how the machine was used if it is the best of all configurations of the side.
    """

    case: SideCase
    value: Value
    note: str
    use: str = ""


Figures = Mapping[Key, Figure]


def list_figures(views: Sequence[SideView], series: Sequence[Mapping[Question, SideSeries]]) -> list[Figures]:
    """Returns for each side its values of all figures that the published systems among the sides have.

    Where a side and the baseline have no case of a metric alike, the figures are those of their whole nodes (`series`).
    """
    published = [_list_published(view) for view in views if view.side.is_foreign]
    wanted = {key: figure.case for figures in published for key, figure in figures.items()}
    every = iter(published)
    alike = [next(every) if view.side.is_foreign else _list_alike(view, wanted) for view in views]
    for number in (n for n in range(1, len(views)) if "imported" in (views[0].side.kind, views[n].side.kind)):
        common = {key[:3] for key in alike[number] if key in alike[0]}
        for question in (q for q in series[0] if q in series[number] and q[:3] not in common):
            _add_wholes(question, [(alike[place], series[place][question]) for place in (0, number)])
    return [*alike]


def _add_wholes(question: Question, sides: Sequence[tuple[dict[Key, Figure], SideSeries]]) -> None:
    """Adds the values on each number of full nodes that both sides have, else those of their best configurations."""
    numbers = [nodes for nodes in sides[0][1].full if nodes in sides[1][1].full]
    for figures, of in sides:
        for name, point in {str(n): of.full[n] for n in numbers}.items() if numbers else [(BEST, of.best)]:
            what = ("full nodes", name) if numbers else ("use", name)
            case = replace(point.case, parameters={**point.case.parameters, what[0]: int(name) if numbers else name})
            figures[(*question[:4], (*question[4], what))] = Figure(case, point.value, "", name_use(point.use))


def _list_published(view: SideView) -> dict[Key, Figure]:
    values: dict[Key, list[tuple[SideCase, Value]]] = {}
    constant = _find_constant(view)
    for case in (case for run in view.side.runs for case in run.cases):
        kept = ((name, text) for name, text in case.parameters.items() if (case.benchmark, name) not in constant)
        rest = tuple(sorted((name, str(text)) for name, text in kept))
        for metric, value in case.metrics.items():
            values.setdefault((case.benchmark, case.kernel, metric, value.unit, rest), []).append((case, value))
    several = len(view.side.runs) > 1
    return {
        key: Figure(of[0][0], (several and average([value for _, value in of])) or of[0][1], of[0][0].note)
        for key, of in values.items()
    }


def _find_constant(view: SideView) -> set[tuple[str, str]]:
    """Returns the conditions, with their benchmarks, that have one value in all cases of an imported side."""
    found: dict[tuple[str, str], set[str]] = {}
    cases = [case for run in view.side.runs for case in run.cases] if view.side.kind == "imported" else []
    for case, name in ((case, name) for case in cases for name in CONDITIONS):
        found.setdefault((case.benchmark, name), set()).add(str(case.parameters.get(name)))
    return {key for key, values in found.items() if len(values) == 1}


def _list_alike(view: SideView, wanted: Mapping[Key, SideCase]) -> dict[Key, Figure]:
    """Returns the values of a run, or the means of those of a group, for published figures."""
    figures: dict[Key, Figure] = {}
    for key, case in wanted.items():
        bare = replace(case, note="")  # the note is that of the published system, and of no run or other system
        alike = [like for run in view.side.runs if (like := find_like(bare, run))]
        if alike:
            values = [like.value for like in alike]
            value = values[0] if len(values) == 1 else average(values) or values[0]
            figures[key] = Figure(alike[0].case, value, alike[0].remark)
    return figures


Seen = tuple[SideView, Figures]


def compare_published(letter: str, first: Seen, other: Seen) -> OtherSide:
    """Returns the ratios of the figures that both sides have, of which at least one is a published system."""
    ratios: dict[Class, dict[str, list[Ratio]]] = {}
    whole: dict[str, list[Ratio]] = {}
    counts: Counter[str] = Counter()
    foreign = first[0].side.is_foreign and other[0].side.is_foreign
    for key, figure in first[1].items():
        ratio = time_ratio(figure.value, other[1][key].value, foreign) if key in other[1] else None
        if ratio is None or (foreign and MEASURED_ONE in figure.note):
            continue
        counts[call_ratio(ratio)] += 1
        case = figure.case
        if key[3] not in NO_SPEEDS and key[0] != MACHINE:
            ratios.setdefault(case.kind, {}).setdefault(case.benchmark, []).append(ratio)
            whole.setdefault(case.benchmark, []).append(ratio)
    classes = [(kind, ratios[kind]) for kind in CLASSES if kind in ratios] if len(whole) > 1 else []
    common = sum(counts.values())
    system = other[0] if other[0].side.is_foreign else first[0]
    both = [(view, figures[key]) for key in first[1] if key in other[1] for view, figures in (first, other)]
    unlike = [(view, figure) for view, figure in both if not (foreign and MEASURED_ONE in figure.note)]
    named = ((view if view.side.is_foreign else system, figure.note) for view, figure in unlike if figure.note)
    notes = dict.fromkeys(f"{view.side.name}: {note}." for view, note in named)
    # The remark of a pair repeats the note of its value.
    notes = {n: None for n in notes if not any(m != n and m.startswith(n.removesuffix(".")) for m in notes)}
    notes |= dict.fromkeys(_list_differing_statistics(first, other))
    notes |= dict.fromkeys(_list_uses(first, other))
    notes |= dict.fromkeys(_list_differing_conditions(first, other))
    if not common:
        notes = {say_nothing_common(first[0], other[0]): None}
    lone = [len(figures) - common if view.side.is_foreign else 0 for view, figures in (first, other)]
    return OtherSide(
        letter=letter, cause=find_cause(first[0].side, other[0].side, whole), conditions=tuple(notes),
        classes=tuple(_average_ratios(kind, tuple(parts), parts) for kind, parts in classes),
        benchmarks=tuple(_average_ratios(name, (), {name: parts}) for name, parts in whole.items()),
        cases=(), counts=counts or {NOT_JUDGED: 0}, disturbed=0, only_baseline=lone[0], only_side=lone[1],
    )  # fmt: skip


def _list_differing_statistics(first: Seen, other: Seen) -> Iterator[str]:
    """Yields the statistics in which values of two foreign sides differ."""
    for key, figure in first[1].items():
        a, b = figure.case.statistic, other[1][key].case.statistic if key in other[1] else ""
        if a and b and a != b:
            of_other, of_first = ("value printed" if name == AS_PRINTED else name for name in (b, a))
            yield f"{key[0]}, {key[2]}: the {of_other} of {other[0].side.name} beside the {of_first} of {first[0].side.name}."


def _list_differing_conditions(first: Seen, other: Seen) -> Iterator[str]:
    """Yields the conditions of imported values that differ between both sides."""
    pairs = [
        (figure.case, other[1][key].case) for key, figure in first[1].items() if key in other[1] and not figure.use
    ]
    both = ((name, a.parameters.get(name), b.parameters.get(name)) for a, b in pairs for name in CONDITIONS)
    differing = dict.fromkeys(
        f"{in_words(name, x)} and {in_words(name, y)}" for name, x, y in both if x != y and x and y
    )
    if differing and "published" not in (first[0].side.kind, other[0].side.kind):
        yield f"The values are compared although these conditions differ: {joined(differing)}."


def _list_uses(first: Seen, other: Seen) -> Iterator[str]:
    """Yields what is compared for each benchmark without a case alike. The table of full nodes names the uses of its rows."""
    uses: dict[str, tuple[Figure, Figure]] = {}
    for key, figure in first[1].items():
        if figure.use and key in other[1]:
            uses.setdefault(key[0], (figure, other[1][key]))
    for benchmark, (a, b) in uses.items():
        names = f", such as {a.use} of {first[0].side.name} with {b.use} of {other[0].side.name}"
        shown = "" if a.case.kind in WHOLE else names
        compared = "Full nodes are compared, or the best configurations where no node is full"
        yield f"{benchmark}: no case has the same settings on both sides. {compared}{shown}."


def _average_ratios(name: str, members: tuple[str, ...], parts: Mapping[str, list[Ratio]]) -> Total:
    """Returns the mean ratio. A benchmark weighs by the square root of the number of its figures, as in `wholes`.

    Its ends are the means of those of the cases, which hold however the cases depend on each other.
    """
    weights = [math.sqrt(len(ratios)) for ratios in parts.values()]

    def mean(end: int) -> float | None:
        logs = [[math.log(number) for ratio in ratios if (number := ratio[end])] for ratios in parts.values()]
        if any(len(known) < len(ratios) for known, ratios in zip(logs, parts.values(), strict=True)):
            return None
        return math.exp(sum(w * fmean(known) for w, known in zip(weights, logs, strict=True)) / sum(weights))

    ratio: Ratio = (mean(0) or 1.0, mean(1), mean(2))
    call = call_ratio(ratio)
    return Total(
        name=name, members=members, cases=sum(map(len, parts.values())), ratio=ratio[0], low=ratio[1], high=ratio[2], call=call,
        smallest=ratio[2] / ratio[1] - 1 if call == "UNCLEAR" and ratio[1] and ratio[2] else None,
        why=NO_INTERVAL if call == NOT_JUDGED else BY_TOOLS,
    )  # fmt: skip


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
                view.side.is_foreign and first.side.is_foreign,
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


def _cell(letter: str, figure: Figure, base: Figure | None, foreign: bool) -> Cell:
    """Returns the cell of a side; with a ratio to the figure `base` of the baseline if one of both is published."""
    ratio = time_ratio(base.value, figure.value, foreign) if base else None
    if not ratio:
        return Cell(letter=letter, value=figure.value, level=figure.case.level, why=figure.note)
    return Cell(
        letter=letter, value=figure.value, level=figure.case.level, ratio=ratio[0], low=ratio[1], high=ratio[2],
        call=call_ratio(ratio), why=figure.note or figure.use,
    )  # fmt: skip
