"""Chooses the cases that a small budget, or a preset on a large machine, measures. Pure.

The main figures come first, then a typical case of each other benchmark, then the rest.
"""

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.measure.plan import cost
from steelyard.model import Benchmark, Case, Launch, Machine, Plan, Result, Scalar, Verdict
from steelyard.model.roles import Headline
from steelyard.statistics.results import main_figures

SHORTENED = 0.1  # share of its time that a budget leaves each case, however many there are
MAIN_SHARE = 0.5  # of a budget: within it, the main figures keep their whole time
ROUNDING = 1e-6  # seconds by which sums may exceed a budget that they fit exactly

Program = tuple[str, str]  # the names of a benchmark and of its programming model


@dataclass
class Start:
    """The cases that one start of a program measures. `shorter` multiplies the time for their samples."""

    program: Program
    toolchain: str
    shorter: float
    cases: list[Case] = field(default_factory=list)


def choose(
    benchmarks: Mapping[str, Benchmark],
    cases: Mapping[Program, Sequence[Case]],
    toolchains: Sequence[str],
    machine: Machine,
    budget: float,
    least: float,
    twice: bool = False,
) -> list[list[Start]]:
    """Returns the starts that fit into the budget (seconds), the most valuable first: main figures, typical cases, the rest.

    Each case keeps at least the share `least` of its time. What is chosen does not depend on the seed, so that two runs with one
    budget can be compared. At least one case is chosen. If `twice`, the main figures come twice if half of the budget is enough.
    """
    tiers: tuple[list[_Group], ...] = ([], [], [])
    for program, listed in cases.items():
        for tier, part in zip(tiers, _split(benchmarks[program[0]], listed), strict=True):
            tier += [(program, toolchain, group) for group in cost.groups(part) for toolchain in toolchains]
    mains, typical, rest = tiers
    launches = 2 if twice and 2 * _shortest(mains, machine, least) <= MAIN_SHARE * budget else 1
    shorter = _fit_sample_time((g for _, _, g in mains), machine, MAIN_SHARE * budget / launches, least)
    chosen, left = _whole(mains, shorter, machine, budget)
    again = [replace(start) for start in chosen] if launches > 1 else []
    left -= expected_seconds(again, machine)
    shorter = _fit_sample_time((g for _, _, g in (*typical, *rest)), machine, left, least)
    further, left = _whole(_cheapest_first(typical, machine), shorter, machine, left)
    last = _start_in_turn(benchmarks, rest, shorter, machine, left)
    if not (chosen or further or last):
        program, toolchain, group = (*mains, *typical, *rest)[0]
        chosen = [Start(program, toolchain, least, group[:1])]
    return [starts for starts in (chosen, again, further, last) if starts]


def thin(
    benchmarks: Mapping[str, Benchmark],
    cases: Mapping[Program, Sequence[Case]],
    toolchains: Sequence[str],
    machine: Machine,
    budget: float,
    shorter: float,
) -> list[Start]:
    """Returns every start with the cases of the main figures and a typical one, and with the others that fit into the budget.

    The time for samples is multiplied by `shorter`. An empty list if even the first ones do not fit.
    """
    starts, further = list[Start](), list[list[Case]]()
    for program, listed in cases.items():
        *first, _ = _split(benchmarks[program[0]], listed)
        kept = {id(case) for case in itertools.chain(*first)}
        for group in cost.groups(listed):
            ordered = coarse_first(group, machine)
            kept |= set() if any(id(case) in kept for case in group) else {id(ordered[0])}
            for toolchain in toolchains:
                starts.append(Start(program, toolchain, shorter, [case for case in group if id(case) in kept]))
                further.append([case for case in ordered if id(case) not in kept])
    left = budget - expected_seconds(starts, machine)
    if left < 0:
        return []
    _fill(benchmarks, starts, further, machine, left)
    return starts


def main_places(benchmarks: Mapping[str, Benchmark], plan: Plan) -> frozenset[tuple[int, int]]:
    """Returns the numbers (launch, case) of all cases of the plan from which the main figures follow."""
    listed: dict[Program, dict[tuple[object, ...], Case]] = {}
    for launch in plan.launches:
        of_program = listed.setdefault((launch.benchmark, launch.model), {})
        of_program.update((_key(case), case) for case in launch.cases)
    main = {p: {_key(c) for c in _split(benchmarks[p[0]], [*cases.values()])[0]} for p, cases in listed.items()}
    return frozenset(
        (launch.number, number)
        for launch in plan.launches
        for number, case in enumerate(launch.cases)
        if _key(case) in main[launch.benchmark, launch.model]
    )


def _key(case: Case) -> tuple[object, ...]:
    return case.kernel, *case.parameters.items()


def expected_seconds(starts: Iterable[Start], machine: Machine) -> float:
    """Returns the expected seconds of these starts with their cases."""
    return sum(
        cost.start_seconds(s.cases, machine) + sum(cost.case_seconds(c, machine, s.shorter) for c in s.cases)
        for s in starts
    )


def left_out(launches: Iterable[Launch], cases: Mapping[Program, Sequence[Case]], toolchains: int) -> dict[str, int]:
    """Returns by benchmark the number of cases that the launches do not have."""
    every: Counter[str] = Counter()
    for (name, _), listed in cases.items():
        every[name] += toolchains * len(listed)
    every.subtract(case.benchmark for launch in launches if launch.repetition == 1 for case in launch.cases)
    return {name: number for name, number in every.items() if number > 0}


_Group = tuple[Program, str, list[Case]]


def _split(benchmark: Benchmark, cases: Sequence[Case]) -> tuple[list[Case], list[Case], list[Case]]:
    """Returns the cases of the main figures, the typical ones of a benchmark without main figures, and the rest."""
    unmeasured: dict[str, Any] = {"records": (), "metrics": {}, "verdict": Verdict("CLEAN")}
    as_results = [Result(benchmark=c.benchmark, kernel=c.kernel, parameters=c.parameters, **unmeasured) for c in cases]
    case_of = {id(r): c for r, c in zip(as_results, cases, strict=True)}
    roles = [role for role in benchmark.roles if isinstance(role, Headline)]
    main = {id(r) for role in roles for r in main_figures.candidates(role, as_results)}
    first = [r for r in as_results if r.kernel == as_results[0].kernel]
    typical = {id(r) for r in main_figures.typical(first)} if not main and as_results else set()
    rest = [c for i, c in case_of.items() if i not in main and i not in typical]
    return [case_of[i] for i in case_of if i in main], [case_of[i] for i in case_of if i in typical], rest


def _fit_sample_time(groups: Iterable[Sequence[Case]], machine: Machine, seconds: float, least: float) -> float:
    """Returns the factor for the time of samples with which these starts fit into the seconds, within its limits."""
    started = list(groups)
    fixed = sum(cost.start_seconds(g, machine) + sum(cost.setup_seconds(c, machine) for c in g) for g in started)
    sampled = sum(cost.sampling_seconds(c) for g in started for c in g)
    return min(1.0, max(least, (seconds - fixed) / sampled)) if sampled else 1.0


def _shortest(groups: Iterable[_Group], machine: Machine, least: float) -> float:
    """Returns the seconds of starts for these groups, if their samples get the share `least` of their time."""
    return expected_seconds((Start(program, toolchain, least, group) for program, toolchain, group in groups), machine)


def _cheapest_first(groups: Iterable[_Group], machine: Machine) -> list[_Group]:
    """Returns the groups in an order in which few seconds show many benchmarks: one program of each first, then the others."""
    earlier: Counter[str] = Counter()
    ranked = []
    for program, toolchain, group in sorted(
        groups, key=lambda g: cost.start_seconds(g[2], machine) + _length(g[2], machine)
    ):
        ranked.append((earlier[program[0]], (program, toolchain, group)))
        earlier[program[0]] += 1
    return [group for _, group in sorted(ranked, key=lambda pair: pair[0])]


def _length(cases: Iterable[Case], machine: Machine) -> float:
    return sum(cost.case_seconds(c, machine) for c in cases)


def _whole(groups: Iterable[_Group], shorter: float, machine: Machine, left: float) -> tuple[list[Start], float]:
    """Returns a start for each group, with its cases while they fit, and the seconds that are left."""
    starts = []
    for program, toolchain, group in groups:
        start = Start(program, toolchain, shorter)
        for case in group:
            left -= _add_fitting(start, case, machine, left)
        if start.cases:
            starts.append(start)
    return starts, left


def _start_in_turn(
    benchmarks: Mapping[str, Benchmark], groups: Iterable[_Group], shorter: float, machine: Machine, left: float
) -> list[Start]:
    """Returns the starts with cases of all groups that fit into the seconds that are left."""
    listed = list(groups)
    starts = [Start(program, toolchain, shorter) for program, toolchain, _ in listed]
    _fill(benchmarks, starts, [coarse_first(group, machine) for _, _, group in listed], machine, left)
    return [start for start in starts if start.cases]


def _fill(
    benchmarks: Mapping[str, Benchmark],
    starts: Sequence[Start],
    further: Sequence[Sequence[Case]],
    machine: Machine,
    left: float,
) -> None:
    """Adds the further cases of each start that fit, in their order.

    A benchmark gets time by the root of what all its cases need: more for more, but not all of it. Those with main figures count
    double. Each of its starts has a part of this in proportion to its cases.
    """
    main = {
        name for name, benchmark in benchmarks.items() if any(isinstance(role, Headline) for role in benchmark.roles)
    }
    lengths = [_length(cases, machine) for cases in further]
    whole: dict[str, float] = {}
    for start, length in zip(starts, lengths, strict=True):
        whole[start.program[0]] = whole.get(start.program[0], 0.0) + length
    weights = [
        length and length / math.sqrt(whole[start.program[0]]) * (2 if start.program[0] in main else 1)
        for start, length in zip(starts, lengths, strict=True)
    ]
    waiting = [(0.0, number, 0) for number, cases in enumerate(further) if cases]
    while waiting:
        spent, number, at = heapq.heappop(waiting)
        seconds = _add_fitting(starts[number], further[number][at], machine, left)
        left -= seconds
        spent += seconds / weights[number]
        if at + 1 < len(further[number]):
            heapq.heappush(waiting, (spent, number, at + 1))


def coarse_first(cases: Sequence[Case], machine: Machine) -> list[Case]:
    """Returns the cases so that the first ones lie on a coarse grid: ends of each axis of numbers, its middle, the quarters.

    The first value of an axis, at which a benchmark compares its other parameters, counts as an end, and both words of an axis of
    two, which are only worth something together. Of more words, such as the kernels, all but the first count as the middle. Half
    of the time counts as much as one halving of an axis.
    """
    axes: dict[str, dict[Scalar, None]] = {}
    for case in cases:
        for name, value in _words(case):
            axes.setdefault(name, {})[value] = None
    depths = {name: _count_halvings(list(values)) for name, values in axes.items()}

    def key(case: Case) -> tuple[float, int]:
        of_case = [depths[name][value] for name, value in _words(case)]
        return max(of_case) + math.log2(cost.case_seconds(case, machine)), sum(of_case)

    return sorted(cases, key=key)


def _words(case: Case) -> Iterable[tuple[str, Scalar]]:
    return (("kernel", case.kernel), *case.parameters.items())


def _count_halvings(axis: Sequence[Scalar]) -> dict[Scalar, int]:
    """Returns how often an axis of numbers is halved until a value is the middle of a part; 0 for its ends."""
    if any(isinstance(value, str) for value in axis):
        return {value: min(at, 1) if len(axis) > 2 else 0 for at, value in enumerate(axis)}
    values = sorted(axis)
    depths = {values[0]: 0, values[-1]: 0}
    parts, depth = [(0, len(values) - 1)], 1
    while parts:
        middles = [(begin, (begin + end) // 2, end) for begin, end in parts if end - begin > 1]
        depths.update((values[middle], depth) for _, middle, _ in middles)
        parts = [part for begin, middle, end in middles for part in ((begin, middle), (middle, end))]
        depth += 1
    return depths | {axis[0]: 0}


def _add_fitting(start: Start, case: Case, machine: Machine, left: float) -> float:
    """Adds the case if it fits into the seconds that are left. Returns its own, with the start for the first case; 0 if not."""
    begin = 0.0 if start.cases else cost.start_seconds([case], machine)
    seconds = begin + cost.case_seconds(case, machine, start.shorter)
    if seconds > left + ROUNDING:
        return 0.0
    start.cases.append(case)
    return seconds
