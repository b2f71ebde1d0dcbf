"""Compares whole benchmarks and classes of benchmarks of two runs, with the variation between times in the interval."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TypeVar

import numpy as np

from steelyard.compare.classes import CLASSES, find_class
from steelyard.compare.launch_times import Launches, find_sides, with_disturbed_launches
from steelyard.compare.matching import Match
from steelyard.compare.pace import find_other_pace
from steelyard.compare.pace_dependence import explain_by_pace
from steelyard.model import Result
from steelyard.statistics.difference.blocks import (
    FEWEST_DEGREES,
    Estimate,
    Judgement,
    add_floor,
    combine,
    estimate,
    judge,
    moderate,
    widen,
)
from steelyard.statistics.difference.compare import Unclear
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.summary import medians
from steelyard.units import percent

# Seconds. Launches of one run that start within them share the state of the machine: on shared machines, the paces of cores and
# memory stay alike for about ten seconds.
BLOCK = 15.0
STEEPEST = 2.0  # power of the pace that the time of a program follows at most (within shared runs: 0 to 2)
ENOUGH = 0.5  # share of the cases with undisturbed launches in both runs from which only these launches are compared


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Whole(Judgement):
    """The judgement on a benchmark, or on a class of benchmarks (`members`), over all its comparable cases.

    In a class, a benchmark weighs by the square root of the number of its cases. For runs that were measured in turn, the ratio
    comes from the median case of each round. `disturbed`: the launches include disturbed ones. `rounds` and `seconds` are those
    of a measurement in turn that would decide an UNCLEAR call (None: not possible).
    """

    name: str
    members: tuple[str, ...] = ()
    cases: int
    disturbed: bool
    unclear: Unclear | None = None
    rounds: int | None = None
    seconds: float | None = None


Member = tuple[Match, Launches, Launches]


@dataclass(frozen=True)
class _Cases:
    """Cases of a benchmark whose launches are compared."""

    pairs: tuple[Member, ...]
    disturbed: bool


def compare_wholes(
    pairs: Sequence[Match], same_machine: bool, other_pace: bool
) -> tuple[tuple[Whole, ...], tuple[Whole, ...]]:
    """Returns the classes, and the benchmarks as a whole; no classes if the runs have one benchmark only.

    A benchmark is compared by its undisturbed launches if at least `ENOUGH` of its cases have some in both runs; otherwise by
    all launches, since a choice among few would not be like with like. Calls are corrected for their number. `other_pace`: the
    pace of the whole runs differs, so each interval also includes what the pace may cause.
    """
    matches: dict[str, list[Match]] = {}
    for pair in pairs:
        matches.setdefault(pair.a.benchmark, []).append(pair)
    groups = {name: cases for name, members in matches.items() if (cases := _choose(members)).pairs}
    benchmarks = [_estimate([cases]) for cases in groups.values()]
    several = len(groups) > 1
    classes = by_class({name: cases.pairs for name, cases in groups.items()}, _result) if several else {}
    parts = {
        kind: [_Cases(tuple(members), groups[name].disturbed) for name, members in of_class.items()]
        for kind, of_class in classes.items()
    }
    summed = _combine(list(parts.values()))
    tables = 2 if several else 1
    judged = judge(_moderate(list(groups.values()), benchmarks), tables), judge(summed, tables)
    of_classes = tuple(
        _whole(kind, tuple(classes[kind]), cases, e, j, same_machine, other_pace)
        for (kind, cases), e, j in zip(parts.items(), summed, judged[1], strict=True)
    )
    return of_classes, tuple(
        _whole(name, (), [cases], e, j, same_machine, other_pace)
        for (name, cases), e, j in zip(groups.items(), benchmarks, judged[0], strict=True)
    )


def _moderate(groups: Sequence[_Cases], estimates: Sequence[Estimate]) -> list[Estimate]:
    """Returns the estimates with moderated variances; undisturbed and disturbed benchmarks have usual variances of their own."""
    drawn = {
        disturbed: iter(moderate([e for g, e in zip(groups, estimates, strict=True) if g.disturbed == disturbed]))
        for disturbed in (False, True)
    }
    return [next(drawn[g.disturbed]) for g in groups]


def _combine(classes: Sequence[Sequence[_Cases]]) -> list[Estimate]:
    """Returns the estimate of each class of benchmarks."""
    every = [part for parts in classes for part in parts]
    of_parts = iter(_moderate(every, [_estimate([part]) for part in every]))
    estimates = []
    for parts in classes:
        roots = [math.sqrt(len(part.pairs)) for part in parts]
        weights = [root / sum(roots) for root in roots]
        estimates.append(combine(add_floor(_estimate(parts)), [next(of_parts) for _ in parts], weights))
    return estimates


def by_class(groups: Mapping[str, Sequence[T]], result_of: Callable[[T], Result]) -> dict[str, dict[str, list[T]]]:
    """Returns for each class the cases of each benchmark in it."""
    classes: dict[str, dict[str, list[T]]] = {kind: {} for kind in CLASSES}
    for name, members in groups.items():
        for member in members:
            classes[find_class(result_of(member))].setdefault(name, []).append(member)
    return {kind: of_class for kind, of_class in classes.items() if of_class}


def _result(member: Member) -> Result:
    return member[0].a


def _choose(pairs: Sequence[Match]) -> _Cases:
    every = tuple(_members(map(with_disturbed_launches, pairs)))
    clean = tuple(_members(p for p in pairs if "DISTURBED" not in (p.a.verdict.level, p.b.verdict.level)))
    repeated = tuple(member for member in clean if min(map(len, member[1:])) > 1)
    for chosen in (repeated, clean):
        if len(chosen) >= ENOUGH * len(every) and _estimate([_Cases(chosen, False)]).freedom >= FEWEST_DEGREES:
            return _Cases(chosen, False)
    return _Cases(clean, False) if len(clean) == len(every) else _Cases(every, True)


def _members(pairs: Iterable[Match]) -> Iterator[Member]:
    for pair in pairs:
        sides = find_sides(pair)
        if not isinstance(sides, str):
            yield (pair, *sides)


# --------------------------------------------------------------------------- the blocks of time


def _estimate(groups: Sequence[_Cases]) -> Estimate:
    """Returns the estimate of all these benchmarks, their blocks of time together.

    A benchmark weighs by the square root of the number of its cases: neither a lone case nor 151 kernels decide for a class.
    """
    members = [member for cases in groups for member in cases.pairs]
    weights = np.array([1 / math.sqrt(len(cases.pairs)) for cases in groups for _ in cases.pairs])
    return estimate(_times(members, 0), _times(members, 1), weights / weights.sum())


def _times(members: Sequence[Member], side: int) -> Array:
    results = [(pair.a, pair.b)[side] for pair, *_ in members]
    rows = [launches[side] for _, *launches in members]
    block_of = _blocks(results, {number for row in rows for number in row})
    times = np.full((len(rows), len(set(block_of.values()))), np.nan)
    for i, row in enumerate(rows):
        of_blocks: dict[int, list[float]] = {}
        for number, middle in zip(row, medians(list(row.values())).tolist(), strict=True):
            of_blocks.setdefault(block_of[number], []).append(math.log(middle))
        for block, logs in of_blocks.items():
            times[i, block] = fmean(logs)
    return times


def _blocks(results: Sequence[Result], launches: set[int]) -> dict[int, int]:
    """Returns the number of the block of each launch. Launches without a time are blocks of their own."""
    began: dict[int, float] = {}
    for record in (r for result in results for r in result.records):
        at = record.surroundings.began
        if at is not None and record.launch in launches:
            began[record.launch] = min(at, began.get(record.launch, math.inf))
    blocks: dict[int, int] = {}
    count, start = 0, -math.inf
    for number in sorted(launches, key=lambda number: (began.get(number, math.inf), number)):
        at = began.get(number)
        if at is None or at - start > BLOCK:
            count, start = count + 1, math.inf if at is None else at
        blocks[number] = count - 1
    return blocks


# --------------------------------------------------------------------------- the call


def _whole(
    name: str, members: tuple[str, ...], groups: Sequence[_Cases], e: Estimate, j: Judgement, same_machine: bool,
    other_pace: bool,
) -> Whole:  # fmt: skip
    pairs = [pair for cases in groups for pair, *_ in cases.pairs]
    unclear = None
    other = find_other_pace([p.a for p in pairs], [p.b for p in pairs]) if same_machine else None
    if other and other_pace:
        j = widen(j, other.ratio**-STEEPEST)
    if other and (other_pace or j.call in ("FASTER", "SLOWER")):
        j, unclear = replace(j, call="UNCLEAR"), Unclear("other pace", other.sentence + _expected(groups))
    elif j.call == "UNCLEAR" and e.freedom < FEWEST_DEGREES:
        unclear = Unclear("few launches", "One launch per run cannot show how much launches differ.")
    elif j.call == "UNCLEAR":
        unclear = Unclear("too wide", f"Only a difference of {percent(j.smallest)} or more would be found.")
    disturbed = any(cases.disturbed for cases in groups)
    return Whole(name=name, members=members, cases=len(pairs), disturbed=disturbed, unclear=unclear, **vars(j))


def _expected(groups: Sequence[_Cases]) -> str:
    expected = explain_by_pace([member for cases in groups for member in cases.pairs])
    return "" if expected is None else f" The pace alone explains {expected:.2f} times the time, as the launches show."
