"""Compares whole benchmarks and classes of benchmarks of two sides, with the variation between times in the interval."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from steelyard.compare.classes import CLASSES, Class
from steelyard.compare.launch_table import (
    BLOCK,
    CasePairs,
    Flags,
    Indexes,
    LaunchTable,
    read_table,
    separate_launches,
    sum_groups,
)
from steelyard.compare.mix import Mix, compare_mix
from steelyard.compare.pace import find_other_pace
from steelyard.compare.pace_dependence import explain_by_pace
from steelyard.model.units import percent
from steelyard.statistics.difference.block_sums import contrast
from steelyard.statistics.difference.blocks import (
    FEWEST_DEGREES,
    Estimate,
    Judgement,
    combine,
    judge,
    moderate,
    widen,
)
from steelyard.statistics.difference.compare import Unclear
from steelyard.statistics.samples.interval import Array

WANTED = 0.05  # relative difference that a further measurement is to find
MOST_RUNS = 20  # of each side; nobody measures more for one answer
STEEPEST = 2.0  # power of the pace that the time of a program follows at most (within shared runs: 0 to 2)
ENOUGH = 0.5  # share of the cases with undisturbed launches in both runs from which only these launches are compared

HARDLY_MORE = (
    "The interval excludes 1, but two runs of one machine may differ by 2 % from hour to hour, and one of many comparisons by "
    "chance. More runs of each side decide (--group), or both in turn (--in-turn)."
)
VAST = 9.0  # relative: a smallest difference beyond this says nothing more


T = TypeVar("T")
AnyArray = TypeVar("AnyArray", Indexes, Flags, Array)


@dataclass(frozen=True, kw_only=True)
class Whole(Judgement):
    """The judgement on a benchmark, or on a class of benchmarks (`members`), over all its comparable cases.

    In a class, a benchmark weighs by the square root of the number of its cases. For runs that were measured in turn, the ratio
    comes from the median case of each round. `disturbed`: the launches include disturbed ones. `rounds` and `seconds` are those
    of a measurement in turn that would decide an UNCLEAR call (None: not possible). `runs` is the number of runs of each side,
    compared as groups, that would find a difference of `WANTED` if they scatter as these (None: too many). `mix` is the ratio
    of the total times.
    """

    name: str
    members: tuple[str, ...] = ()
    cases: int
    disturbed: bool
    unclear: Unclear | None = None
    rounds: int | None = None
    seconds: float | None = None
    runs: int | None = None
    mix: Mix | None = None


@dataclass(frozen=True, eq=False)
class _Cases:
    """Cases of a benchmark whose launches are compared, as indexes of both tables."""

    a: Indexes
    b: Indexes
    disturbed: bool
    estimate: Estimate | None = None  # if it is known


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparable:
    """Two sides and their estimates of benchmarks and classes before the calls.

    `check_pace`: both are single runs of one machine, so a different pace explains a difference. `other_pace`: the pace of the
    whole runs differs, so each interval also includes what the pace may cause.
    """

    a: LaunchTable
    b: LaunchTable
    check_pace: bool
    other_pace: bool
    groups: Mapping[str, _Cases]
    benchmarks: Sequence[Estimate]
    few: Sequence[bool]  # benchmarks whose launches do not show how much they differ
    parts: Mapping[str, Mapping[str, _Cases]]
    classes: Sequence[Estimate]
    with_mix: bool


Tables = tuple[tuple[Whole, ...], tuple[Whole, ...]]


def estimate_wholes(
    a: LaunchTable, b: LaunchTable, pairs: CasePairs, check_pace: bool, other_pace: bool, with_mix: bool = True
) -> Comparable:
    """Returns the estimates of the benchmarks as a whole, and of the classes unless there is only one benchmark.

    A benchmark is compared by its undisturbed launches if at least `ENOUGH` of its cases have some on both sides; otherwise by
    all launches, since a choice among few would not be like with like.
    """
    if not check_pace:  # of one machine, the state of a few seconds may be all that differs
        a, b = separate_launches(a), separate_launches(b)
    places: dict[str, list[int]] = {}
    for place, index in enumerate(pairs.a.tolist()):
        places.setdefault(a.benchmarks[index], []).append(place)
    choice = _Choice(a, b)
    groups = choice.choose({name: (pairs.a[where], pairs.b[where]) for name, where in places.items()})
    classes = by_class({n: _split(a, g) for n, g in groups.items()}, lambda kind_and_cases: kind_and_cases[0])
    several = len(groups) > 1
    parts = {kind: {n: cases for n, [(_, cases)] in of.items()} for kind, of in classes.items() if several}
    estimates = choice.estimate([[cases] for cases in groups.values()])
    return Comparable(
        a=a, b=b, check_pace=check_pace, other_pace=other_pace, with_mix=with_mix, groups=groups,
        benchmarks=_moderate(list(groups.values()), estimates), few=[e.freedom < 2 * FEWEST_DEGREES for e in estimates],
        parts=parts, classes=choice.combine([list(of_class.values()) for of_class in parts.values()]),
    )  # fmt: skip


def judge_wholes(c: Comparable) -> Tables:
    """Returns the classes of a pair of sides, and the benchmarks as a whole, with calls.

    The calls are corrected for the number of all benchmarks and of all classes, and for the table of cases of the same page.
    """
    tables = 3 if c.parts else 2
    of_classes, of_benchmarks = judge(c.classes, tables), judge(c.benchmarks, tables)
    classes = tuple(
        _whole(c, kind, tuple(parts), list(parts.values()), e, False, judged)
        for (kind, parts), e, judged in zip(c.parts.items(), c.classes, of_classes, strict=True)
    )
    benchmarks = tuple(
        _whole(c, name, (), [cases], e, few, judged)
        for (name, cases), e, few, judged in zip(c.groups.items(), c.benchmarks, c.few, of_benchmarks, strict=True)
    )
    return classes, benchmarks


def by_class(groups: Mapping[str, Iterable[T]], class_of: Callable[[T], Class]) -> dict[str, dict[str, list[T]]]:
    """Returns for each class the cases of each benchmark in it."""
    classes: dict[str, dict[str, list[T]]] = {kind: {} for kind in CLASSES}
    for name, members in groups.items():
        for member in members:
            classes[class_of(member)].setdefault(name, []).append(member)
    return {kind: of_class for kind, of_class in classes.items() if of_class}


def _split(table: LaunchTable, cases: _Cases) -> list[tuple[Class, _Cases]]:
    """Returns the cases of a benchmark for each class."""
    kinds = [table.kinds[index] for index in cases.a.tolist()]
    if len(set(kinds)) == 1:
        return [(kinds[0], cases)]
    places = {kind: [i for i, other in enumerate(kinds) if other == kind] for kind in dict.fromkeys(kinds)}
    return [(kind, _Cases(cases.a[of], cases.b[of], cases.disturbed)) for kind, of in places.items()]


def _moderate(groups: Sequence[_Cases], estimates: Sequence[Estimate]) -> list[Estimate]:
    """Returns the estimates with moderated variances; undisturbed and disturbed benchmarks have usual variances of their own."""
    drawn = {
        disturbed: iter(moderate([e for g, e in zip(groups, estimates, strict=True) if g.disturbed == disturbed]))
        for disturbed in (False, True)
    }
    return [next(drawn[g.disturbed]) for g in groups]


# --------------------------------------------------------------------------- which launches


class _Choice:
    """Chooses the launches of two sides that are compared, and estimates their difference."""

    def __init__(self, a: LaunchTable, b: LaunchTable) -> None:
        self.a, self.b = a, b
        self.clean = tuple(np.where(t.disturbed_cases, 0, t.count(clean=True)) for t in (a, b))

    def choose(self, benchmarks: Mapping[str, tuple[Indexes, Indexes]]) -> dict[str, _Cases]:
        """Returns the cases of each benchmark: the first candidates whose launches show how much they differ, or the last."""
        left = {name: self._list_candidates(a, b) for name, (a, b) in benchmarks.items()}
        chosen: dict[str, _Cases] = {}
        while left:
            estimates = self.estimate([candidates[:1] for candidates in left.values()])
            for (name, candidates), e in zip(list(left.items()), estimates, strict=True):
                first = candidates.pop(0)
                if e.freedom >= FEWEST_DEGREES or not candidates:
                    chosen[name] = replace(first, estimate=e)
                    del left[name]
        return {name: chosen[name] for name in benchmarks}

    def _list_candidates(self, a: Indexes, b: Indexes) -> list[_Cases]:
        fewest = np.minimum(self.clean[0][a], self.clean[1][b])
        flags = [of for of in (fewest > 1, fewest > 0) if of.any() and of.sum() >= ENOUGH * len(a)]
        return [*(_Cases(a[of], b[of], False) for of in flags), _Cases(a, b, disturbed=bool((fewest == 0).any()))]

    def estimate(self, groups: Sequence[Sequence[_Cases]]) -> list[Estimate]:
        """Returns the estimate of each group of benchmarks, the blocks of time of its benchmarks together.

        A benchmark weighs by the square root of the number of its cases: neither a lone case nor 151 kernels decide for a class.
        """
        known = [group[0].estimate if len(group) == 1 else None for group in groups]
        unknown = [group for group, estimate in zip(groups, known, strict=True) if estimate is None]
        weights, clean = list(map(_weigh, unknown)), list(map(_mask_undisturbed, unknown))
        of_a = [(_join_arrays([cases.a for cases in group]), of) for group, of in zip(unknown, clean, strict=True)]
        of_b = [(_join_arrays([cases.b for cases in group]), of) for group, of in zip(unknown, clean, strict=True)]
        sums = zip(sum_groups(self.a, of_a, weights), sum_groups(self.b, of_b, weights), strict=True)
        fresh = (contrast(a, b, (self.a.is_group, self.b.is_group)) for a, b in sums)
        return [estimate or next(fresh) for estimate in known]

    def combine(self, classes: Sequence[Sequence[_Cases]]) -> list[Estimate]:
        """Returns the estimate of each class of benchmarks."""
        every = [part for parts in classes for part in parts]
        of_parts = iter(_moderate(every, self.estimate([[part] for part in every])))
        estimates = []
        for parts, together in zip(classes, self.estimate(classes), strict=True):
            roots = [math.sqrt(len(part.a)) for part in parts]
            weights = [root / sum(roots) for root in roots]
            estimates.append(combine(moderate([together])[0], [next(of_parts) for _ in parts], weights))
        return estimates


def _weigh(groups: Sequence[_Cases]) -> Array:
    roots = _join_arrays([np.full(len(g.a), 1 / math.sqrt(len(g.a))) for g in groups])
    weights: Array = roots / roots.sum()
    return weights


def _mask_undisturbed(groups: Sequence[_Cases]) -> Flags:
    return _join_arrays([np.full(len(g.a), not g.disturbed) for g in groups])


def _join_arrays(parts: Sequence[AnyArray]) -> AnyArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


# --------------------------------------------------------------------------- the call


def _whole(
    c: Comparable, name: str, members: tuple[str, ...], groups: Sequence[_Cases], e: Estimate, few: bool,
    j: Judgement,
) -> Whole:  # fmt: skip
    unclear = None
    clean = _mask_undisturbed(groups)
    sides = (c.a, _join_arrays([g.a for g in groups])), (c.b, _join_arrays([g.b for g in groups]))
    is_paced = c.check_pace and (c.other_pace or j.call in ("FASTER", "SLOWER"))
    rows = [(table, table.rows(cases, clean)) for table, cases in sides] if is_paced else []
    other = find_other_pace(*(read_table(table, of) for table, of in rows)) if rows else None
    if other and c.other_pace:
        j = widen(j, other.ratio**-STEEPEST)
    if other:
        expected = explain_by_pace(rows)
        explained = (
            "" if expected is None else f" The pace alone explains {expected:.2f} times the time, as the launches show."
        )
        j, unclear = replace(j, call="UNCLEAR"), Unclear("other pace", other.sentence + explained)
    elif j.call == "UNCLEAR" and few:
        unclear = Unclear(
            "few launches",
            f"Launches within {BLOCK:.0f} s see the same state of the machine and count as one. "
            "Too few are left to show how launches differ.",
        )
    elif j.call == "UNCLEAR":
        hardly = j.low > 1 or j.high < 1
        reason = f"{HARDLY_MORE} " if hardly else ""
        unclear = Unclear("hardly so large" if hardly else "too wide", f"{reason}{state_smallest(j.smallest)}")
    disturbed = any(cases.disturbed for cases in groups)
    runs = _count_runs(e, j.smallest, c.a.is_group and c.b.is_group) if j.call == "UNCLEAR" else None
    mix = compare_mix(*sides, clean, _weigh(groups), j) if c.with_mix else None
    return Whole(
        name=name,
        members=members,
        cases=len(clean),
        disturbed=disturbed,
        unclear=unclear,
        runs=runs,
        mix=mix,
        **vars(j),
    )


def state_smallest(smallest: float) -> str:
    """Returns in a sentence from which relative difference on a difference would be found."""
    found = f"from {percent(smallest)} on" if smallest < VAST else "only if one side takes several times as long"
    return f"A difference would be found {found}."


def _count_runs(e: Estimate, smallest: float, groups: bool) -> int | None:
    """Returns the runs of each side that find `WANTED`: the error falls with the square root of the number of blocks."""
    factor = ((math.log1p(smallest) - e.least) / (math.log1p(WANTED) - e.least)) ** 2
    runs = max(2, math.ceil(factor * (2 / e.share if groups else 1.0)))
    return runs if runs <= MOST_RUNS else None
