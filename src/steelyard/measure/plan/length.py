"""Expected length of a run under the present condition of the machine. Pure.

`plan` shows it, `run` states it before the first case and keeps to it, and the progress counts down from it.
"""

import math
from dataclasses import replace

from steelyard.measure.plan import EFFORTS
from steelyard.model import Effort, Plan

SPARE = 1.5  # length of a run in multiples of the planned time, for further launches of cases that are not settled
RESTLESS = 1.5  # factor by which a run takes longer on a machine that others use,
LATEST = 1.2  # up to this multiple of the greatest length of the preset
OTHERS = 0.4  # share of the time in which others use the machine, from which that factor applies in full
UNNOTICED = 0.05  # share of the greatest length that a set-up may take before the measurement gets shorter
LOOKING = 6.5  # seconds at most in which a run observes whether the machine is quiet, after the set-up
CERTAIN = 0.985  # share of the limit of a command for which a run is planned: its last case may be a long one
EVALUATING_LEAST, EVALUATING = 2.0, 0.004  # seconds of the evaluation and the report: at least, and for each record


def shorten(effort: Effort, spent: float) -> Effort:
    """Returns the preset after a set-up of this number of seconds for each toolchain, most of which is the build.

    A run on a machine that others use then ends as early as without the set-up, but a plan keeps half of its greatest length.
    A short set-up does not change the plan.
    """
    if effort.most is None or effort.promised is None or effort.limit is None:
        return effort
    least = effort.most / 2
    most = effort.most if spent <= UNNOTICED * effort.most else max(least, effort.most - spent / LATEST)
    limit = max(LATEST * least, effort.limit - spent - LOOKING)
    return replace(effort, promised=min(effort.promised, most), most=most, limit=limit)


def measuring(plan: Plan, free: float = 1.0, budget: float | None = None, effort: Effort | None = None) -> float:
    """Returns the seconds from the first to the last case, with further launches of cases that are not settled.

    `free` is the share of the time in which nobody else uses the machine. `effort`: the preset, if it is shortened.
    """
    effort = effort or EFFORTS.get(plan.preset)
    if budget is not None and all(launch.repetition == 1 for launch in plan.launches):
        return budget  # each case needs further launches, which fill the time
    toolchains = len({launch.toolchain for launch in plan.launches})
    seconds = lengthened(effort, plan.seconds, toolchains, free)
    if (
        effort and effort.limit and effort.most and plan.seconds <= toolchains * effort.most + 1
    ):  # not chosen by the user
        seconds = min(seconds, CERTAIN * toolchains * effort.limit - evaluating(plan) * _slow_down(free))
    return seconds if budget is None else min(budget, seconds)


def lengthened(effort: Effort | None, seconds: float, toolchains: int, free: float = 1.0) -> float:
    """Returns the seconds that a run takes without a budget whose launches take `seconds` on a quiet machine."""
    promised = effort.promised if effort and effort.promised else math.inf
    usual = max(seconds, min(promised * toolchains, SPARE * seconds))
    latest = LATEST * toolchains * effort.most if effort and effort.most else math.inf
    return max(usual, min(latest, usual * _slow_down(free)))


def _slow_down(free: float) -> float:
    """Returns the factor by which everything takes longer, if nobody else uses the machine in the share `free` of the time."""
    return 1 + (RESTLESS - 1) * min(1.0, (1 - free) / OTHERS)


def evaluating(plan: Plan) -> float:
    """Returns the seconds from the last case to the end of the command."""
    return evaluating_records(sum(len(launch.cases) for launch in plan.launches))


def evaluating_records(records: int) -> float:
    """Returns the seconds for the evaluation and the report of this number of records."""
    return EVALUATING_LEAST + EVALUATING * records


def whole(plan: Plan, free: float = 1.0, budget: float | None = None, effort: Effort | None = None) -> float:
    """Returns the seconds from the first case to the end of the command."""
    return measuring(plan, free, budget, effort) + evaluating(plan) * _slow_down(free)


def shortest(plan: Plan, free: float = 1.0) -> float:
    """Returns the seconds from the first case to the end of the command, if no case needs further launches."""
    return (plan.seconds + evaluating(plan)) * _slow_down(free)


def cases(plan: Plan) -> int:
    """Returns the number of cases as the result counts them: each once, however many launches it has."""
    return sum(len(launch.cases) for launch in plan.launches if launch.repetition == 1)
