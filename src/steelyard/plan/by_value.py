"""Chooses the cases that a small budget measures: the main figures first, then a typical case of each other benchmark. Pure."""

import heapq
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.model import Benchmark, Case, Launch, Machine, Result, Verdict
from steelyard.model.roles import Headline
from steelyard.plan import cost
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
) -> list[list[Start]]:
    """Returns the starts that fit into the budget (seconds), the most valuable first: main figures, typical cases, the rest.

    What is chosen does not depend on the seed, so that two runs with one budget can be compared. At least one case is chosen.
    """
    tiers: tuple[list[_Group], ...] = ([], [], [])
    for program, listed in cases.items():
        for tier, part in zip(tiers, _split(benchmarks[program[0]], listed), strict=True):
            tier += [(program, toolchain, group) for group in cost.groups(part) for toolchain in toolchains]
    mains, typical, rest = tiers
    shorter = _shorter((g for _, _, g in mains), machine, MAIN_SHARE * budget)
    chosen, left = _whole(mains, shorter, machine, budget)
    shorter = _shorter((g for _, _, g in (*typical, *rest)), machine, left)
    further, left = _whole(_cheapest_first(typical, machine), shorter, machine, left)
    last = _in_turn(rest, shorter, machine, left)
    if not (chosen or further or last):
        program, toolchain, group = (*mains, *typical, *rest)[0]
        chosen = [Start(program, toolchain, SHORTENED, group[:1])]
    return [starts for starts in (chosen, further, last) if starts]


def left_out(launches: Iterable[Launch], cases: Mapping[Program, Sequence[Case]], toolchains: int) -> dict[str, int]:
    """Returns by benchmark the number of cases that the launches do not have."""
    every: Counter[str] = Counter()
    for (name, _), listed in cases.items():
        every[name] += toolchains * len(listed)
    every.subtract(case.benchmark for launch in launches for case in launch.cases)
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


def _shorter(groups: Iterable[Sequence[Case]], machine: Machine, seconds: float) -> float:
    """Returns the factor for the time of samples with which these starts fit into the seconds, within its limits."""
    started = list(groups)
    fixed = sum(cost.start_seconds(g, machine) + sum(cost.setup_seconds(c, machine) for c in g) for g in started)
    sampled = sum(cost.sampling_seconds(c) for g in started for c in g)
    return min(1.0, max(SHORTENED, (seconds - fixed) / sampled)) if sampled else 1.0


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
            seconds = _seconds(start, case, machine)
            if seconds <= left + ROUNDING:
                start.cases.append(case)
                left -= seconds
        if start.cases:
            starts.append(start)
    return starts, left


def _in_turn(groups: Iterable[_Group], shorter: float, machine: Machine, left: float) -> list[Start]:
    """Returns the starts with cases of all groups: the next case always comes from the group with the least time so far."""
    starts: list[Start] = []
    waiting: list[tuple[float, int, list[Case]]] = []
    for number, (program, toolchain, group) in enumerate(groups):
        # A fixed order, not that of the axes, whose last values would always be left out.
        order = random.Random(number).sample(group, len(group))
        starts.append(Start(program, toolchain, shorter))
        heapq.heappush(waiting, (0.0, number, order))
    while waiting:
        spent, number, order = heapq.heappop(waiting)
        case = order.pop()
        seconds = _seconds(starts[number], case, machine)
        if seconds <= left + ROUNDING:
            starts[number].cases.append(case)
            left -= seconds
            spent += seconds
        if order:
            heapq.heappush(waiting, (spent, number, order))
    return [start for start in starts if start.cases]


def _seconds(start: Start, case: Case, machine: Machine) -> float:
    """Returns the seconds of one more case, with the start of the program if it is the first one."""
    begin = 0.0 if start.cases else cost.start_seconds([case], machine)
    return begin + cost.case_seconds(case, machine, start.shorter)
