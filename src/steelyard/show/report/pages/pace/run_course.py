"""The course of a run: its records in the order of time, each with the pace read beside it as a share of the best shown."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from steelyard.measure.records import best_pace
from steelyard.model import Record, Run
from steelyard.model.observed import Kind
from steelyard.statistics.validity.measures import MEASURES
from steelyard.statistics.validity.observations import Measured
from steelyard.statistics.validity.pace import Bounds, choose

State = Literal["kept", "aside", "disturbed", "invalid"]

STATES: Mapping[State, str] = {
    "kept": "all samples kept",
    "aside": "some set aside",
    "disturbed": "DISTURBED",
    "invalid": "INVALID",
}
LONG_PAUSE = 600.0  # seconds without a sample, beyond any setup: the run stood still, and was gone on with


@dataclass(frozen=True, kw_only=True)
class Step:
    """A record in its course: when (s since the first sample), and how long its samples took.

    `shares`: the medians of what was read beside it over the best shown for such a case (`bounds`); 1 is as good.
    """

    record: Record
    at: float
    seconds: float
    shares: Mapping[Kind, float]
    bounds: Bounds
    state: State

    def within(self, kinds: Iterable[Kind]) -> bool | None:
        """Returns whether all of these kinds were within bounds; None where none was read."""
        flags = [self.shares[kind] >= 1 - MEASURES[kind].loss for kind in kinds if kind in self.shares]
        return all(flags) if flags else None


@dataclass(frozen=True)
class Pause:
    """A long time without a sample, left out of the axis of time at `at` (s)."""

    at: float
    seconds: float


@dataclass(frozen=True)
class Course:
    """A run's steps, each state's together and in the order of time, the pauses between, and its length without these (s)."""

    steps: tuple[Step, ...]
    pauses: tuple[Pause, ...]
    seconds: float

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(kind for kind in MEASURES if any(kind in step.shares for step in self.steps))


def course(run: Run) -> Course | None:
    """None where no record tells when it began: runs were once kept without."""
    best = best_pace.Best(best_pace.trusted(run.shown), run.machine)
    for record in run.records:  # all of it counts as well for those before
        best.learn(record)
    begun = ((r.surroundings.began if r.samples else None, place) for place, r in enumerate(run.records))
    timed = sorted((when, place) for when, place in begun if when is not None)
    if not timed:
        return None
    steps: list[Step] = []
    pauses: list[Pause] = []
    first, left_out, end = timed[0][0], 0.0, 0.0
    for began, place in timed:
        record, when = run.records[place], began - first
        if when - end > LONG_PAUSE:
            pauses.append(Pause(end - left_out, when - end))
            left_out += when - end
        seconds = _elapsed(record)
        end = max(end, when + seconds)
        bounds = best.bounds_of(record)
        shares = {kind: share for kind, share in best.shares(record).items() if kind in bounds.best}
        steps.append(
            Step(record=record, at=when - left_out, seconds=seconds, shares=shares, bounds=bounds, state=_state(record))
        )
    order = list(STATES)
    ordered = sorted(steps, key=lambda step: order.index(step.state))
    return Course(tuple(ordered), tuple(pauses), end - left_out)


def causes(steps: Sequence[Step]) -> Counter[str]:
    """By what samples were set aside, with their number; several may share one."""
    counts = Counter[str]()
    for step in steps:
        if step.record.aside:
            counts.update(_causes(step))
    return counts


def _causes(step: Step) -> Mapping[str, int]:
    """As the record's own evidence has them; of records that lack it they are sought again."""
    for reason in step.record.verdict.evidence:
        if reason.kind == "set aside":
            return {name: int(number) for name, number in reason.numbers.items() if name not in ("samples", "of")}
    row = np.asarray(step.record.samples, dtype=np.float64)
    return choose(Measured(row, step.record.surroundings), step.bounds).causes


def _state(record: Record) -> State:
    if record.verdict.level == "INVALID":
        return "invalid"
    if record.verdict.level == "DISTURBED":
        return "disturbed"
    return "aside" if record.aside else "kept"


def _elapsed(record: Record) -> float:
    """Seconds from its first sample to its last."""
    seconds = record.surroundings.processor_seconds.elapsed
    if seconds is None:
        seconds = math.fsum(record.samples) * record.operations
    return max(0.0, seconds)
