"""Adds launches of the cases whose results are not settled, in the time that a run has left. Pure."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from steelyard.measure.plan import EFFORTS, displaced
from steelyard.measure.plan.forecast import Forecast
from steelyard.model import Case, Launch, Plan, Record
from steelyard.statistics.results.result import judge_case

PASSES = 3  # further launches of a case; if it does not settle with three, one more does not help
PATIENCE = 1 / 2  # time for waiting until the machine is quiet, as a share of the other time
LONGEST_WAIT = 2.0  # seconds that one case waits at most: quiet periods are that far apart
SHORTEST_WAIT = 0.05  # seconds, after several waits without success

Records = Callable[[int, int], Sequence[Record]]  # (launch, case of the plan) → all records of that case so far


@dataclass
class Patience:
    """Time that cases may wait for a quiet machine, as a share of the other time, equal for early and late cases.

    After a wait without success the next case may wait half as long.
    """

    share: float = PATIENCE
    spent: float = 0.0
    offer: float = LONGEST_WAIT

    def ask(self, elapsed: float) -> float:
        """Returns how long the next case may wait, in seconds, at this time after the start of the run."""
        earned = self.share * (LONGEST_WAIT + elapsed - self.spent) - self.spent
        return max(0.0, min(earned, self.offer))

    def waited(self, seconds: float, offered: float) -> None:
        """Counts a wait. A case that waited for the whole time that was offered waited without success."""
        self.spent += seconds
        in_vain = offered > 0 and seconds >= offered
        self.offer = max(SHORTEST_WAIT, self.offer / 2) if in_vain else LONGEST_WAIT


def launches(
    plan: Plan, forecast: Forecast, records: Records, time_left: Callable[[], float], filled: bool = False
) -> Iterator[Launch]:
    """Yields launches to add. Each repeats the cases of a first launch that are not settled yet.

    If the time that is left must be `filled`, one launch of all cases follows. Calls `records` and `time_left` (seconds) before
    each launch, and stops when no time is left.
    """
    firsts = [launch for launch in plan.launches if launch.repetition == 1]
    number = max((launch.number for launch in plan.launches), default=0)
    repetition = max((launch.repetition for launch in plan.launches), default=0)
    chance = random.Random(plan.seed)
    for number_of_pass in range(PASSES + filled):
        repetition += 1
        firsts = displaced(firsts, chance)
        for first in firsts:
            left = time_left()
            if left <= 0:
                return
            open_cases = _list_unsettled(first, records) if number_of_pass < PASSES else first.cases
            if cases := select_affordable(open_cases, forecast, left - forecast.start(first.cases)):
                number += 1
                yield replace(first, number=number, repetition=repetition, cases=cases)


def added(plan: Plan) -> tuple[Launch, ...]:
    """Returns the launches that were added: repetitions beyond those of the preset, or with fewer cases than the first."""
    effort = EFFORTS.get(plan.preset)
    sizes = Counter[int]()
    for launch in plan.launches:
        sizes[launch.repetition] += len(launch.cases)
    usual = {r for r in sizes if sizes[r] == sizes[1] and (effort is None or r <= effort.launches)}
    return tuple(launch for launch in plan.launches if launch.repetition not in usual)


def _list_unsettled(first: Launch, records: Records) -> Iterator[Case]:
    for index, case in enumerate(first.cases):
        earlier = records(first.number, index)
        hopeless = any(r.surroundings.oversubscribed for r in earlier)
        if earlier and not hopeless and judge_case(earlier)[2].level in ("UNSETTLED", "DISTURBED"):
            yield case


def select_affordable(cases: Iterable[Case], forecast: Forecast, left: float) -> tuple[Case, ...]:
    """Returns as many of the cases as fit into the seconds that are left in a running program."""
    chosen: list[Case] = []
    for case in cases:
        left -= forecast.case(case)
        if left < 0:
            break
        chosen.append(case)
    return tuple(chosen)
