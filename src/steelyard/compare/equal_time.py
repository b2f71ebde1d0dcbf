"""How many ranks or nodes of one system reach the time of another for the same program and input, and what both need.

Source: N. Rajovic et al. 2016, The Mont-Blanc prototype, SC16 (at equal time: table 4; at equal ranks: figure 13).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from steelyard.compare.needs import Needs, measured_needs, ratio_of, solved_needs
from steelyard.compare.program_points import POWER, Point, Problem, find_points, has_interval, log_error
from steelyard.compare.quantities import find_power
from steelyard.compare.side import Side, SideCase, list_plain
from steelyard.errors import UsageError
from steelyard.measure.telemetry.coverage import kinds
from steelyard.model import Equipment
from steelyard.model.scope import NODE, words
from steelyard.model.words import joined
from steelyard.statistics.models.equal_time import Reached, solve_count
from steelyard.statistics.models.scaling_models import Estimate

Points = Mapping[int, Point]  # by the number of ranks or nodes: the fastest


@dataclass(frozen=True, kw_only=True)
class EqualTime:
    """What `other` needs to reach the time of `base`. The ratios are other / base.

    `unit` is what is counted: "nodes", "ranks", "threads" or "workers". `measured` are the counts of `other` whose times are
    known. `counts` is the ratio of the counts; `time` and `energy` are those of the needs (energy None: unknown).
    """

    program: str
    case: str
    unit: str
    base: Needs
    other: Needs
    reached: Reached
    measured: tuple[int, ...]
    counts: Estimate
    time: Estimate
    energy: Estimate | None


@dataclass(frozen=True, kw_only=True)
class EqualRanks:
    """A program with the same number of ranks (or threads) on both sides. `time` and `energy` are the ratios other / base."""

    program: str
    case: str
    unit: str
    count: int
    base: Needs
    other: Needs
    time: Estimate
    energy: Estimate | None


@dataclass(frozen=True, kw_only=True)
class Mean:
    """The geometric means of the ratios of the programs at equal ranks, each program at its greatest common number."""

    base: str
    other: str
    programs: int
    time: Estimate
    energy: Estimate | None
    energies: int  # programs whose energy is known on both sides


@dataclass(frozen=True, kw_only=True)
class EqualTimes:
    """The comparisons at equal time and at equal ranks of each of the `sides` with the first one, `base`."""

    base: str
    sides: tuple[str, ...]
    rows: tuple[EqualTime, ...]
    ranks: tuple[EqualRanks, ...]
    means: tuple[Mean, ...]
    notes: tuple[str, ...]


def compare_sides(sides: Sequence[Side], equipment: Mapping[str, Equipment] | None = None) -> EqualTimes:
    """Returns the comparisons of all sides with the first one. `equipment` is that of the sides by their names.

    UsageError if there are fewer than two sides, or if no other side has the time of a program that the first one has.
    """
    if len(sides) < 2:
        raise UsageError("A comparison at equal time needs two sides. Give two runs, groups or published systems.")
    known, cases = equipment or {}, zip(sides, _list_cases(sides), strict=True)
    points = [find_points(of_side, side.kind == "imported") for side, of_side in cases]
    rows: list[EqualTime] = []
    ranks: list[EqualRanks] = []
    for side, of_side in zip(sides[1:], points[1:], strict=True):
        for problem in (p for p in points[0] if p in of_side):
            pair = _Pair(sides[0].name, side.name, problem, known)
            rows += pair.at_equal_time(points[0][problem], of_side[problem])
            ranks += pair.at_equal_ranks(points[0][problem], of_side[problem])
    if not rows and not ranks:
        raise UsageError(_explain_nothing_common(sides, points))
    means = [mean for side in sides[1:] if (mean := _average_ratios(sides[0].name, side.name, ranks))]
    return EqualTimes(
        base=sides[0].name, sides=tuple(side.name for side in sides), rows=tuple(rows), ranks=tuple(ranks),
        means=tuple(means), notes=tuple(_notes(sides, points)),
    )  # fmt: skip


def replace_nodes(a: Iterable[SideCase], b: Iterable[SideCase]) -> tuple[EqualTime, ...]:
    """Returns how many nodes of run "b" replace fewer or as many of "a", and the reverse; () without such a program."""
    of_a, of_b = find_points(a), find_points(b)
    rows: list[EqualTime] = []
    for problem in (p for p in of_a if p in of_b):
        for base, other, points in (("a", "b", (of_a, of_b)), ("b", "a", (of_b, of_a))):
            found = _Pair(base, other, problem, {}).at_equal_time(*(of[problem] for of in points))
            rows += [row for row in found if row.unit == "nodes" and row.counts.value > 1 and _is_answer(row)]
    return tuple(rows)


def _is_answer(row: EqualTime) -> bool:
    """Returns whether the row says more than that one number of nodes is faster than another."""
    return row.reached.how != "fewer" and (row.reached.how != "more" or len(row.measured) > 1)


@dataclass(frozen=True)
class _Pair:
    """Two sides and a program that both ran."""

    base: str
    other: str
    problem: Problem
    equipment: Mapping[str, Equipment]

    def at_equal_time(self, base: Sequence[Point], other: Sequence[Point]) -> Iterator[EqualTime]:
        unit = _choose_count_unit(base, other)
        if not unit:
            return
        few, many = _find_fastest_by_count(base, unit), _find_fastest_by_count(other, unit)
        logs = [math.log(point.time.value) for point in many.values()]
        errors = [log_error(point.time) for point in many.values()]
        for count, one in few.items():
            reached = solve_count(tuple(many), logs, errors, math.log(one.time.value), log_error(one.time))
            if not all(has_interval(point.time) for point in (one, *many.values())):
                reached = replace(reached, low=None, high=None)
            at_base = measured_needs(self.base, one, self._of(self.base))
            if reached.how in ("interpolated", "extrapolated"):
                at_other = solved_needs(self.other, many, reached, unit, one.time, self._of(self.other))
            else:
                at_other = measured_needs(self.other, many[round(reached.count)], self._of(self.other))
            yield EqualTime(
                program=self.problem.program,
                case=self.problem.case,
                unit=unit,
                base=at_base,
                other=at_other,
                reached=reached,
                measured=tuple(many),
                counts=Estimate(reached.count / count, *(end and end / count for end in (reached.low, reached.high))),
                time=ratio_of(at_other.time, at_base.time),
                energy=_compare_energies(at_other, at_base),
            )

    def at_equal_ranks(self, base: Sequence[Point], other: Sequence[Point]) -> Iterator[EqualRanks]:
        unit = _name_workers(base, other)
        one, two = _find_fastest_by_count(base, unit), _find_fastest_by_count(other, unit)
        for count in (c for c in one if c in two):
            at_base = measured_needs(self.base, one[count], self._of(self.base))
            at_other = measured_needs(self.other, two[count], self._of(self.other))
            yield EqualRanks(
                program=self.problem.program,
                case=self.problem.case,
                unit=unit,
                count=count,
                base=at_base,
                other=at_other,
                time=ratio_of(at_other.time, at_base.time),
                energy=_compare_energies(at_other, at_base),
            )

    def _of(self, side: str) -> Equipment:
        return self.equipment.get(side, Equipment())


def _choose_count_unit(base: Sequence[Point], other: Sequence[Point]) -> str:
    """Returns what is counted: nodes if all are known and one side used several, otherwise ranks; "" if neither is known."""
    nodes = [point.nodes for point in (*base, *other)]
    if all(nodes) and max(n or 0 for n in nodes) > 1:
        return "nodes"
    return _name_workers(base, other) if all(any(p.workers for p in side) for side in (base, other)) else ""


def _name_workers(base: Sequence[Point], other: Sequence[Point]) -> str:
    """Returns "ranks" or "threads"; "workers" if the sides have both, of which the fastest count."""
    units = {point.unit for point in (*base, *other)}
    return units.pop() if len(units) == 1 else "workers"


def _find_fastest_by_count(points: Sequence[Point], unit: str) -> dict[int, Point]:
    """Returns the fastest point of each number of ranks or nodes, in rising order."""
    fastest: dict[int, Point] = {}
    for point in points:
        count = point.nodes if unit == "nodes" else point.workers
        if count and (count not in fastest or point.time.value < fastest[count].time.value):
            fastest[count] = point
    return dict(sorted(fastest.items()))


def _compare_energies(other: Needs, base: Needs) -> Estimate | None:
    return ratio_of(other.energy, base.energy) if other.energy and base.energy else None


# --------------------------------------------------------------------------- all programs


def _average_ratios(base: str, other: str, ranks: Sequence[EqualRanks]) -> Mean | None:
    greatest: dict[tuple[str, str], EqualRanks] = {}
    for row in (r for r in ranks if r.other.side == other):
        key = row.program, row.case
        if key not in greatest or row.count > greatest[key].count:
            greatest[key] = row
    if not greatest:
        return None
    energies = [row.energy for row in greatest.values() if row.energy]
    return Mean(
        base=base,
        other=other,
        programs=len(greatest),
        time=_average_geometrically([row.time for row in greatest.values()]),
        energy=_average_geometrically(energies) if energies else None,
        energies=len(energies),
    )


def _average_geometrically(ratios: Sequence[Estimate]) -> Estimate:
    """Returns the geometric mean of ratios whose errors are independent; its interval is that of these programs only."""
    halves = [math.log(r.high / r.low) / 2 for r in ratios if r.low and r.high]
    middle = math.exp(fmean(math.log(r.value) for r in ratios))
    if len(halves) < len(ratios):
        return Estimate(middle)
    half = math.sqrt(sum(h**2 for h in halves)) / len(ratios)
    return Estimate(middle, middle / math.exp(half), middle * math.exp(half))


def _notes(sides: Sequence[Side], points: Sequence[Mapping[Problem, Sequence[Point]]]) -> Iterator[str]:
    guessed = [side.name for side in sides if _is_modelled(side)]
    if guessed:
        whole = "Energies are modelled" if len(guessed) == len(sides) else "No energy is compared with it"
        yield f"The power of {joined(guessed)} was calculated from the load and not measured. {whole}."
    common = {problem for problem in points[0] if any(problem in of for of in points[1:])}
    pairs = zip(sides, points, strict=True)
    every = [(side, problem, p) for side, of in pairs for problem in of if problem in common for p in of[problem]]
    single = [p.time for _, _, p in every if not has_interval(p.time)]
    if single:
        yield (
            "Values without repetitions have no interval, and what follows from them has none. Times that differ by less than "
            f"the usual difference between two launches (a standard error of {100 * log_error(single[0]):.0f} %) count as equal."
        )
    remarks = {(note, f"{problem.program} on {side.name}") for side, problem, p in every for note in p.notes}
    yield from (f"{where}: {note}." for note, where in sorted(remarks, key=lambda r: r[1]))
    scopes = [(side.name, words(tuple(sorted(scope)))) for side in sides for scope in sorted(_scopes(side), key=sorted)]
    if len({scope for _, scope in scopes}) > 1:
        parts = joined(f"the {scope} of {name}" for name, scope in scopes)
        yield f"No energy is compared, because the power meters cover different parts: {parts}."
    elif scopes and scopes[0][1] != NODE:
        yield f"Power and energy are those of the {scopes[0][1]}, not of whole nodes."


def _list_cases(sides: Sequence[Side]) -> Iterator[Sequence[SideCase]]:
    """Yields the cases of each side without those of variants.

    A power that was calculated is left out, unless all were; all are left out if the meters cover different parts.
    """
    guessed = [_is_modelled(side) for side in sides]
    unequal = len({scope for side in sides for scope in _scopes(side)}) > 1
    for side, guess in zip(sides, guessed, strict=True):
        left_out = (POWER,) if unequal or (guess and not all(guessed)) else ()
        yield [replace(c, metrics={n: v for n, v in c.metrics.items() if n not in left_out}) for c in list_plain(side)]


def _scopes(side: Side) -> set[frozenset[str]]:
    """Returns the parts whose power the side has. Publications state the power of whole nodes."""
    return {kinds(power.scope) for case in list_plain(side) if (power := find_power(case))}


def _is_modelled(side: Side) -> bool:
    return any(run.modelled_power for run in side.runs)


def _explain_nothing_common(sides: Sequence[Side], points: Sequence[Mapping[Problem, Sequence[Point]]]) -> str:
    def listed(index: int) -> str:
        names = joined(sorted({f"{p.program} ({p.case})" if p.case else p.program for p in points[index]}))
        return names or "no program with a valid time"

    has = "; ".join(f"'{side.name}' has {listed(i)}" for i, side in enumerate(sides))
    return (
        f"No program was run with the same input on '{sides[0].name}' and another side: {has}. "
        "Measure the same program on both: steelyard run --only application"
    )
