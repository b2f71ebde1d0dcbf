"""Combines the plans of two runs into one schedule of rounds: short launches of the same cases, in pairs."""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from steelyard.compare.matching import match
from steelyard.errors import UsageError
from steelyard.measure.plan.cost import START_SECONDS
from steelyard.model import Case, Launch, Plan, Result, Sampling, Verdict

# Launches differ more than the samples of one launch, so many short launches show more than a few long ones.
CASE_SECONDS, LEAST_SAMPLES = 0.03, 3
# Expected seconds of the cases in one launch. The same case of the other run follows after it, on a hardly changed machine.
START_SPAN = 1.0

Side = Literal["a", "b"]
Planned = tuple[Launch, Case, Launch, Case]  # a case of a with its launch, and the same of b


@dataclass(frozen=True)
class Schedule:
    """Two plans whose launches of the same number form pairs. `first` is the side that begins each pair."""

    a: Plan
    b: Plan
    first: tuple[Side, ...]
    alone: tuple[int, int]  # number of cases that only a or only b has: they are not measured

    @property
    def rounds(self) -> int:
        """The number of measurements of each case on each side."""
        return self.a.launches[-1].repetition


def make_schedule(a: Plan, b: Plan, rounds: int, seed: int) -> Schedule:
    """Returns the launches of both plans. UsageError if the plans have no case in common.

    A round contains every common case once, in launches of about `START_SPAN` seconds. The side that begins is random, and each
    side begins equally often. So equal sides differ in either direction with the same probability, whatever the machine does.
    The cases of a launch have the same order on both sides.
    """
    starts, alone = _pair_launches(a, b)
    if not starts:
        raise UsageError("The two runs have no case in common. Compare runs with the same benchmarks and parameters.")
    chance = random.Random(seed)
    begins = [_choose_first_sides(rounds, chance) for _ in starts]
    launches: list[tuple[Launch, Launch]] = []
    first: list[Side] = []
    for repetition in range(1, rounds + 1):
        for index in chance.sample(range(len(starts)), len(starts)):
            number = len(launches) + 1
            one, other = (replace(launch, number=number, repetition=repetition) for launch in starts[index])
            launches.append((one, other))
            first.append(begins[index][repetition - 1])
    seconds = rounds * sum(_seconds(launch) for launch, _ in starts)
    launches_a, launches_b = (tuple(pair[side] for pair in launches) for side in (0, 1))
    return Schedule(
        Plan(a.preset, seed, launches_a, seconds), Plan(b.preset, seed, launches_b, seconds), tuple(first), alone
    )


def in_turn_seconds(a: Plan, b: Plan) -> dict[str, float]:
    """Returns the expected seconds of a round of `make_schedule` for each benchmark that both plans have."""
    seconds: dict[str, float] = {}
    for one, other in _pair_launches(a, b)[0]:
        seconds[one.benchmark] = seconds.get(one.benchmark, 0.0) + _seconds(one) + _seconds(other)
    return seconds


def own_round_seconds(plan: Plan) -> dict[str, float]:
    """Returns what `in_turn_seconds` returns for a plan and itself, whose cases need no matching."""
    seconds: dict[str, float] = {}
    for launch in sorted((x for x in plan.launches if x.repetition == 1), key=lambda x: x.number):
        for part in _parts((launch, case, launch, case) for case in launch.cases):
            of_part = START_SECONDS + sum(
                c.setup_seconds + min(c.sampling.seconds, CASE_SECONDS) for _, c, _, _ in part
            )
            seconds[launch.benchmark] = seconds.get(launch.benchmark, 0.0) + of_part + of_part
    return seconds


def _choose_first_sides(rounds: int, chance: random.Random) -> list[Side]:
    sides: list[Side] = ["a", "b"] * math.ceil(rounds / 2)
    chance.shuffle(sides)
    return sides


def _pair_launches(a: Plan, b: Plan) -> tuple[list[tuple[Launch, Launch]], tuple[int, int]]:
    """Returns the launches of both sides in pairs, and the number of cases that only one side has."""
    cases_a, cases_b = _list_planned_cases(a), _list_planned_cases(b)
    matched = match([r for r, _, _ in cases_a], [r for r, _, _ in cases_b])
    where_a, where_b = ({id(r): (launch, case) for r, launch, case in cases} for cases in (cases_a, cases_b))
    both = sorted(((*where_a[id(m.a)], *where_b[id(m.b)]) for m in matched.pairs), key=_number_launches)
    parts = [part for _, members in groupby(both, _number_launches) for part in _parts(members)]
    return [_start(part) for part in parts], (len(matched.only_a), len(matched.only_b))


def _list_planned_cases(plan: Plan) -> list[tuple[Result, Launch, Case]]:
    """Returns every case once, with its launch, as a result, so that plans can be matched like runs."""
    return [
        (
            Result(
                benchmark=c.benchmark,
                kernel=c.kernel,
                parameters={**c.parameters, "toolchain": x.toolchain},
                records=(),
                metrics={},
                verdict=Verdict("CLEAN"),
            ),
            x,
            c,
        )
        for x in plan.launches
        if x.repetition == 1
        for c in x.cases
    ]


def _number_launches(planned: Planned) -> tuple[int, int]:
    """Returns the numbers of the launches of a case. Cases of other launches may need another start of the program."""
    return planned[0].number, planned[2].number


def _parts(members: Iterable[Planned]) -> Iterable[list[Planned]]:
    """Yields the cases of one launch in short parts."""
    part: list[Planned] = []
    seconds = 0.0
    for member in members:
        part.append(member)
        seconds += member[1].setup_seconds + CASE_SECONDS
        if seconds >= START_SPAN:
            yield part
            part, seconds = [], 0.0
    if part:
        yield part


def _start(part: Sequence[Planned]) -> tuple[Launch, Launch]:
    sampling = [_sampling(x.sampling, y.sampling) for _, x, _, y in part]
    cases_a = tuple(replace(x, sampling=s) for (_, x, _, _), s in zip(part, sampling, strict=True))
    cases_b = tuple(replace(y, sampling=s) for (_, _, _, y), s in zip(part, sampling, strict=True))
    return replace(part[0][0], cases=cases_a), replace(part[0][2], cases=cases_b)


def _sampling(a: Sampling, b: Sampling) -> Sampling:
    most = min(a.most, b.most)
    return Sampling(min(a.width, b.width), min(a.seconds, b.seconds, CASE_SECONDS), min(LEAST_SAMPLES, most), most)


def _seconds(launch: Launch) -> float:
    return START_SECONDS + sum(c.setup_seconds + c.sampling.seconds for c in launch.cases)
