"""Compares any number of sides with a baseline: runs, groups of runs, and published systems."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice, product
from string import ascii_lowercase

from steelyard.compare import ENDED_EARLY
from steelyard.compare.case_calls import WHY, CaseCalls, judge_cases, list_differences
from steelyard.compare.cause import find_cause
from steelyard.compare.compared_sides import (
    CaseRow,
    Cell,
    OtherSide,
    SidesComparison,
    SideTitle,
    Total,
)
from steelyard.compare.foreign_rows import NO_INTERVAL, Seen, compare_published, list_figures, list_published_rows
from steelyard.compare.full_nodes import compare_full_nodes, find_series
from steelyard.compare.like_with_like import list_conditions
from steelyard.compare.machine_figures import compare_machines
from steelyard.compare.measuring_again import add_side_measurements, write_command, write_run
from steelyard.compare.pace import OtherPace, find_other_pace
from steelyard.compare.side import Side, SideCase
from steelyard.compare.side_view import Common, SideView, find_common, make_view
from steelyard.compare.wholes import Comparable, Tables, Whole, estimate_wholes, judge_wholes
from steelyard.errors import UsageError, nearest
from steelyard.statistics.difference.blocks import CALLS


def compare_sides(
    sides: Sequence[Side], baseline: str | None = None, with_rows: bool = False, with_mix: bool = False
) -> SidesComparison:
    """Compares each side with the baseline (None: the first side).

    Over all classes, benchmarks and cases of a pair of sides, at least one FASTER or SLOWER is false with a probability of 5 % at
    most. `with_rows`: the table of all cases, too; `with_mix`: the ratios of total times. UsageError for an
    unknown baseline, and for fewer than two sides.
    """
    judged = judge_sides(sides, baseline, with_mix)
    return replace(judged.comparison, rows=judged.list_rows()) if with_rows else judged.comparison


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedSides:
    """The comparison of sides without its rows, and what these follow from.

    By the letters of the sides: `seen` has all sides with their published figures, the baseline first, `calls` the calls of the
    cases of those that were measured.
    """

    comparison: SidesComparison
    seen: Mapping[str, Seen]
    calls: Mapping[str, CaseCalls]

    @property
    def baseline(self) -> SideView:
        """Returns the first side."""
        return next(view for view, _ in self.seen.values())

    def list_rows(self) -> tuple[CaseRow, ...]:
        """Returns the table of all cases."""
        return (*_rows(self.baseline, self.calls), *list_published_rows(self.seen))


def judge_sides(sides: Sequence[Side], baseline: str | None = None, with_mix: bool = False) -> JudgedSides:
    """Returns what `compare_sides` returns without rows, and the calls of all cases."""
    ordered = order_sides(sides, baseline)
    views = [make_view(side) for side in ordered]
    series = [find_series(view) if any(s.kind == "imported" for s in ordered) else {} for view in views]
    figures = list_figures(views, series)
    first, *others = views
    pairs = [_pair(first, v, with_mix) for v in others if not (first.side.is_foreign or v.side.is_foreign)]
    # Each pair of sides is judged on its own: a further side must not hide a difference between two others.
    measured = {id(pair[0]): (pair, *_judge(first, pair)) for pair in pairs}
    letters = list(islice(list_letters(), len(views)))
    compared = [
        _other(letter, first, other, *measured[id(other)])
        if id(other) in measured
        else compare_published(letter, (first, figures[0]), (other, of_other))
        for letter, other, of_other in zip(letters[1:], others, figures[1:], strict=True)
    ]
    of_sides = zip(letters[1:], others, strict=True)
    calls = {letter: measured[id(other)][2] for letter, other in of_sides if id(other) in measured}
    return JudgedSides(
        comparison=SidesComparison(
            sides=tuple(map(_title, letters, ordered)),
            others=tuple(compared),
            rows=(),
            notes=tuple(_notes(ordered)),
            machines=compare_machines(ordered, letters, calls),
            full_nodes=tuple(compare_full_nodes(dict(zip(letters, zip(views, series, strict=True), strict=True)))),
        ),
        seen=dict(zip(letters, zip(views, figures, strict=True), strict=True)),
        calls=calls,
    )


def order_sides(sides: Sequence[Side], baseline: str | None) -> list[Side]:
    """Returns the sides, the baseline first. UsageError if it is unknown, and for fewer than two sides."""
    if len(sides) < 2:
        raise UsageError(
            f"A comparison needs two sides, but only '{sides[0].name}' is given. "
            "Add another run, a --group, or a published system."
        )
    names = [side.name for side in sides]
    if baseline is None:
        return list(sides)
    if baseline not in names:
        raise UsageError(
            f"The baseline '{baseline}' is not one of the sides (given by --baseline). {nearest(baseline, names)}"
        )
    first = names.index(baseline)
    return [sides[first], *sides[:first], *sides[first + 1 :]]


def list_letters() -> Iterator[str]:
    """Yields a, b … z, aa, ab …"""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _title(letter: str, side: Side) -> SideTitle:
    machine = next((run.machine for run in side.runs if run.machine), None)
    return SideTitle(
        letter=letter, name=side.name, kind=side.kind, runs=tuple(run.run for run in side.runs),
        started=min(run.started for run in side.runs), system=(machine.processor or machine.system) if machine else side.name,
    )  # fmt: skip


# --------------------------------------------------------------------------- measured sides

_Pair = tuple[SideView, Common, Comparable, OtherPace | None]


def _pair(first: SideView, other: SideView, with_mix: bool) -> _Pair:
    common = find_common(first, other)
    same_machine = all(first.facts.get(group) == other.facts.get(group) for group in ("machine", "setting"))
    # The spread of a group holds what the pace of its runs causes.
    check_pace = same_machine and not (first.table.is_group or other.table.is_group)
    pairs = common.pairs
    pace = find_other_pace(first.read_beside(pairs.a), other.read_beside(pairs.b)) if check_pace else None
    comparable = estimate_wholes(first.table, other.table, common.pairs, check_pace, pace is not None, with_mix)
    return other, common, comparable, pace


def _judge(first: SideView, pair: _Pair) -> tuple[Tables, CaseCalls]:
    other, common, comparable, _ = pair
    tables = judge_wholes(comparable)
    return tables, judge_cases(first, other, common, comparable.check_pace, tables[1])


def judge_cases_of(a: SideView, b: SideView) -> CaseCalls:
    """Returns the calls of all cases of two measured sides, as `judge_sides` has them."""
    return _judge(a, _pair(a, b, with_mix=False))[1]


def _other(letter: str, first: SideView, view: SideView, pair: _Pair, tables: Tables, calls: CaseCalls) -> OtherSide:
    _, common, _, pace = pair
    runs = (first.side.runs[-1], view.side.runs[-1])
    classes, benchmarks = add_side_measurements(tables, first, view)
    decided = [w for w in benchmarks if w.call == "UNCLEAR" and w.seconds]
    again = tuple(write_run(run.run, run.path) for run in runs) if decided else ()
    said = {w.name: w.call for w in benchmarks}
    names = {first.table.benchmarks[i] for i in common.pairs.a.tolist()}
    return OtherSide(
        letter=letter,
        cause=find_cause(first.side, view.side, names, _unlike(first, view, common)),
        conditions=(*list_conditions(first, view, common), *([pace.note] if pace else [])),
        classes=tuple(map(_total, classes)),
        benchmarks=tuple(map(_total, benchmarks)),
        cases=list_differences(calls, said),
        counts=calls.counts(),
        disturbed=int(calls.disturbed.sum()),
        only_baseline=len(common.only_a),
        only_side=len(common.only_b),
        again=again,
        command=write_command(again[0], again[1], [w.name for w in decided]) if decided else "",
    )


def _unlike(a: SideView, b: SideView, common: Common) -> tuple[list[SideCase], list[SideCase]]:
    """Returns the cases of both sides of the benchmarks in which the parameters of a pair differ."""
    names = {match.a.benchmark for match in common.matches.values()}
    of_a, of_b = ([v.case(i) for i, name in enumerate(v.table.benchmarks) if name in names] for v in (a, b))
    return of_a, of_b


def _total(w: Whole) -> Total:
    kept = {name: value for name, value in vars(w).items() if name != "unclear"}
    return Total(**kept, why=w.unclear.text if w.unclear else "")


def _rows(first: SideView, calls: Mapping[str, CaseCalls]) -> Iterator[CaseRow]:
    """Yields the cases of the baseline that at least one other side has."""
    places = {letter: {i: p for p, i in enumerate(c.common.pairs.a.tolist())} for letter, c in calls.items()}
    for index, row in list_common(first, calls):
        having = ((letter, c, places[letter][index]) for letter, c in calls.items() if index in places[letter])
        yield replace(row, cells=(*row.cells, *(_cell(letter, c, p, row.metric) for letter, c, p in having)))


def list_common(first: SideView, calls: Mapping[str, CaseCalls]) -> Iterator[tuple[int, CaseRow]]:
    """Yields the cases of the baseline that at least one other side has, with their places in its table, and only its cell."""
    for index in sorted({index for c in calls.values() for index in c.common.pairs.a.tolist()}):
        case = first.case(index)
        metric = next(iter(case.metrics), "time")
        cell = Cell(letter="a", value=first.value(index, metric), level=first.levels[index])
        yield (
            index,
            CaseRow(
                benchmark=case.benchmark, kernel=case.kernel, parameters=case.parameters, metric=metric, cells=(cell,)
            ),
        )


def _cell(letter: str, calls: CaseCalls, place: int, metric: str) -> Cell:
    j, other = calls.judged, int(calls.common.pairs.b[place])
    match = calls.common.matches.get(int(calls.common.pairs.a[place]))
    ratio, low, high, p, smallest = calls.numbers[place]
    return Cell(
        letter=letter, value=calls.b.value(other, metric), level=calls.b.levels[other], call=CALLS[j.call[place]],
        why=WHY[calls.why[place]], differing=match.differing if match else (),
        ratio=ratio, low=low, high=high, p=p, smallest=smallest,
    )  # fmt: skip


def _notes(sides: Sequence[Side]) -> Iterator[str]:
    if any(side.is_foreign for side in sides):
        yield NO_INTERVAL
    for side in sides:
        for run in side.runs:
            if not run.finished:
                yield ENDED_EARLY.format(run.run)
        if side.is_foreign:
            yield from (f"{side.name}: {note}" for note in side.runs[0].notes)


def restrict_sides(sides: Sequence[Side], only: Sequence[str]) -> tuple[Side, ...]:
    """Returns the sides with the cases of these benchmarks or groups; all if there are none.

    UsageError for a name that no side has.
    """
    from steelyard.compare.restriction import choose

    if not only:
        return tuple(sides)
    having = {case.benchmark for side in sides for run in side.runs for case in run.cases}
    names = choose(having, only, "No side has a")
    return tuple(
        replace(
            side,
            runs=tuple(replace(r, cases=tuple(c for c in r.cases if c.benchmark in names)) for r in side.runs),
        )
        for side in sides
    )
