"""Second looks: with the time that a run has left, further launches of the cases whose figures are not settled. Pure."""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from steelyard.model import Case, Launch, Plan, Record
from steelyard.plan import EFFORTS, PARALLEL_START_SECONDS, START_SECONDS
from steelyard.statistics.results.result import judge_case

PASSES = 3  # further launches of a case: what does not settle with them will not with one more
SPARE = 1.5  # of the planned time: with what is left cases are settled
RESTLESS = 1.5  # of its length may a run take where neighbours come and go
PATIENCE = 1 / 2  # of the time spent otherwise may go into waiting for quiet
LONGEST_WAIT = 2.0  # seconds that one case waits: quiet stretches are that far apart
SHORTEST_WAIT = 0.05  # the same, after waits that were in vain

Records = Callable[[int, int], Sequence[Record]]  # by launch and case of the plan, all records of that case so far


@dataclass
class Patience:
    """Time that cases may wait for a quiet machine: a share of the other time, the same for early and late cases.

    After a wait in vain the next case is offered half as long.
    """

    share: float = PATIENCE
    spent: float = 0.0
    offer: float = LONGEST_WAIT

    def ask(self, elapsed: float) -> float:
        """Returns how long the next case may wait, in seconds, at this time after the start of the run."""
        earned = self.share * (LONGEST_WAIT + elapsed - self.spent) - self.spent
        return max(0.0, min(earned, self.offer))

    def waited(self, seconds: float, offered: float) -> None:
        """A case waited so long of what it was offered: all of it means that it was in vain."""
        self.spent += seconds
        in_vain = offered > 0 and seconds >= offered
        self.offer = max(SHORTEST_WAIT, self.offer / 2) if in_vain else LONGEST_WAIT


def length(plan: Plan, restless: bool) -> float:
    """Seconds in which the run should have ended: somewhat more than planned, and no more than its preset promises.

    It is longer where neighbours come and go.
    """
    effort = EFFORTS.get(plan.preset)
    promised = effort.promised if effort and effort.promised else math.inf
    usual = min(promised * len({launch.toolchain for launch in plan.launches}), SPARE * plan.seconds)
    return usual * (RESTLESS if restless else 1.0)


def launches(plan: Plan, records: Records, time_left: Callable[[], float]) -> Iterator[Launch]:
    """Launches to add, one after the other, each of the cases of a first launch that are not settled by then.

    `records` and `time_left` (seconds) are asked anew before each; where no time is left, none follows.
    """
    firsts = [launch for launch in plan.launches if launch.repetition == 1]
    number = max((launch.number for launch in plan.launches), default=0)
    repetition = max((launch.repetition for launch in plan.launches), default=0)
    chance = random.Random(plan.seed)
    for _ in range(PASSES):
        repetition += 1
        chance.shuffle(firsts)
        for first in firsts:
            left = time_left()
            if left <= 0:
                return
            if cases := _affordable(first, _unsettled(first, records), left):
                number += 1
                yield replace(first, number=number, repetition=repetition, cases=cases)


def added(plan: Plan) -> tuple[Launch, ...]:
    """Returns the launches that were added: their repetition is beyond that of the preset, or cases of the first are missing."""
    effort = EFFORTS.get(plan.preset)
    sizes = Counter[int]()
    for launch in plan.launches:
        sizes[launch.repetition] += len(launch.cases)
    usual = {r for r in sizes if sizes[r] == sizes[1] and (effort is None or r <= effort.launches)}
    return tuple(launch for launch in plan.launches if launch.repetition not in usual)


def _unsettled(first: Launch, records: Records) -> Iterator[Case]:
    for index, case in enumerate(first.cases):
        known = records(first.number, index)
        hopeless = any(r.surroundings.oversubscribed for r in known)
        if known and not hopeless and judge_case(known)[2].level in ("UNSETTLED", "DISTURBED"):
            yield case


def _affordable(first: Launch, cases: Iterable[Case], seconds: float) -> tuple[Case, ...]:
    """As many of them as fit, with the start of the program."""
    left = seconds - (PARALLEL_START_SECONDS if any("mpi" in c.parameters for c in first.cases) else START_SECONDS)
    found: list[Case] = []
    for case in cases:
        left -= case.setup_seconds + case.sampling.seconds
        if left < 0:
            break
        found.append(case)
    return tuple(found)
