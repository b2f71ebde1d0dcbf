"""The plans of two runs as one schedule: short launches of the same cases in pairs, round by round. Pure."""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from steelyard.compare.matching import match
from steelyard.errors import UsageError
from steelyard.model import Case, Launch, Plan, Result, Sampling, Verdict
from steelyard.plan import START_SECONDS

# Launches lie further apart than the samples of one: many short launches tell more than few long ones.
CASE_SECONDS, LEAST_SAMPLES = 0.03, 3
# Expected, of the cases in one start: the same case of the other side comes so much later, when the machine has hardly changed.
START_SPAN = 1.0

Side = Literal["a", "b"]
Planned = tuple[Launch, Case, Launch, Case]  # a case of a with its launch, and the same of b


@dataclass(frozen=True)
class Schedule:
    """Two plans whose launches of the same number belong together; `first` tells which side begins each pair."""

    a: Plan
    b: Plan
    first: tuple[Side, ...]
    alone: tuple[int, int]  # how many cases only a, only b has: they are not measured

    @property
    def rounds(self) -> int:
        """How often each case is measured on either side."""
        return self.a.launches[-1].repetition


def schedule(a: Plan, b: Plan, rounds: int, seed: int) -> Schedule:
    """The launches of both. UsageError where the plans have no case in common.

    A round holds every case that both have once; it is cut into starts of about `START_SPAN` seconds. Which side begins is
    left to chance, each as often as the other: so equal sides differ in either direction with the same probability,
    whatever the machine does. The cases of a start come in the same order on both sides.
    """
    starts, alone = _starts(a, b)
    if not starts:
        raise UsageError("The two runs have no case in common: nothing of them can be measured in turn.")
    chance = random.Random(seed)
    begins = [_begins(rounds, chance) for _ in starts]
    launches: list[tuple[Launch, Launch]] = []
    first: list[Side] = []
    for repetition in range(1, rounds + 1):
        for index in chance.sample(range(len(starts)), len(starts)):
            number = len(launches) + 1
            one, other = (replace(launch, number=number, repetition=repetition) for launch in starts[index])
            launches.append((one, other))
            first.append(begins[index][repetition - 1])
    seconds = rounds * sum(_seconds(launch) for launch, _ in starts)
    mine, theirs = (tuple(pair[side] for pair in launches) for side in (0, 1))
    return Schedule(Plan(a.preset, seed, mine, seconds), Plan(b.preset, seed, theirs, seconds), tuple(first), alone)


def _begins(rounds: int, chance: random.Random) -> list[Side]:
    sides: list[Side] = ["a", "b"] * math.ceil(rounds / 2)
    chance.shuffle(sides)
    return sides


def _starts(a: Plan, b: Plan) -> tuple[list[tuple[Launch, Launch]], tuple[int, int]]:
    """What one start of either side measures, in pairs; and how many cases only one of them has."""
    cases_a, cases_b = _planned(a), _planned(b)
    matched = match([r for r, _, _ in cases_a], [r for r, _, _ in cases_b])
    where_a, where_b = ({id(r): (launch, case) for r, launch, case in cases} for cases in (cases_a, cases_b))
    both = sorted(((*where_a[id(m.a)], *where_b[id(m.b)]) for m in matched.pairs), key=_launches)
    parts = [part for _, members in groupby(both, _launches) for part in _parts(members)]
    return [_start(part) for part in parts], (len(matched.only_a), len(matched.only_b))


def _planned(plan: Plan) -> list[tuple[Result, Launch, Case]]:
    """Every case once, with its launch, as the result that it will be: plans match as runs do."""
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


def _launches(planned: Planned) -> tuple[int, int]:
    """One start serves only cases that are in one launch of either plan: others may have to be started differently."""
    return planned[0].number, planned[2].number


def _parts(members: Iterable[Planned]) -> Iterable[list[Planned]]:
    """Cases that could be one start, cut into starts that are short."""
    part: list[Planned] = []
    for member in members:
        part.append(member)
        if sum(x.setup_seconds + CASE_SECONDS for _, x, _, _ in part) >= START_SPAN:
            yield part
            part = []
    if part:
        yield part


def _start(part: Sequence[Planned]) -> tuple[Launch, Launch]:
    sampling = [_sampling(x.sampling, y.sampling) for _, x, _, y in part]
    mine = tuple(replace(x, sampling=s) for (_, x, _, _), s in zip(part, sampling, strict=True))
    theirs = tuple(replace(y, sampling=s) for (_, _, _, y), s in zip(part, sampling, strict=True))
    return replace(part[0][0], cases=mine), replace(part[0][2], cases=theirs)


def _sampling(a: Sampling, b: Sampling) -> Sampling:
    most = min(a.most, b.most)
    return Sampling(min(a.width, b.width), min(a.seconds, b.seconds, CASE_SECONDS), min(LEAST_SAMPLES, most), most)


def _seconds(launch: Launch) -> float:
    return START_SECONDS + sum(c.setup_seconds + c.sampling.seconds for c in launch.cases)
