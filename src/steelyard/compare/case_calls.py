"""The calls of all single cases of a pair of sides, corrected together."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from steelyard.compare.compared_sides import CaseDifference
from steelyard.compare.launch_table import Flags, Indexes
from steelyard.compare.pace import UNLIKE, UNSTEADY, measure_unsteadiness
from steelyard.compare.quantities import Reading
from steelyard.compare.side_view import Common, SideView
from steelyard.compare.wholes import STEEPEST, Whole
from steelyard.model import scalars
from steelyard.statistics.difference.blocks import CALLS, Estimates, Judgements, judge_columns, moderate_columns
from steelyard.statistics.difference.case_estimates import estimate_cases
from steelyard.statistics.samples.interval import Array

FEWEST_LAUNCHES, FEWEST_RUNS = 3, 2  # of a side, for the call of a single case
# No other pace explains a greater log ratio, if it is also above `STEEPEST` times the log ratio of the paces.
BEYOND_PACE = math.log(3.0)
BEYOND_LAUNCHES = 1.5  # factor by which launches do not differ (43 % were seen): a greater ratio needs no third one
WHY = (
    "",
    "The interval of the ratio is too wide for a call.",
    "Too few launches show how much launches differ. Use --preset standard (five launches), or give several runs as a group.",
    "The pace of the cores differs by more than 4 % beside this case. Measure both in turn (--in-turn).",
    "The pace of the cores varied more within these runs than the case differs. Measure both in turn (--in-turn).",
)
TOO_WIDE, FEW, OTHER_PACE, UNSTEADY_PACE = range(1, len(WHY))
UNCLEAR, SAME, FASTER, SLOWER = range(len(CALLS))
TABLES = 3  # whose calls are corrected together: classes, benchmarks, cases


@dataclass(frozen=True, eq=False, kw_only=True)
class CaseCalls:
    """The judgements of the common cases of a side and the baseline, in the order of their pairs; `why` are places in `WHY`."""

    a: SideView
    b: SideView
    common: Common
    judged: Judgements
    why: Indexes
    disturbed: Flags

    @cached_property
    def numbers(self) -> list[tuple[float, ...]]:
        """The ratio, its interval, p and the smallest difference of each case, as numbers of Python."""
        columns = (getattr(self.judged, name).tolist() for name in ("ratio", "low", "high", "p", "smallest"))
        return list(zip(*columns, strict=True))

    @cached_property
    def paces(self) -> list[float]:
        """The pace of the cores beside each case of b over that of a; NaN if it is unknown."""
        paces: list[float] = np.exp(self.b.rates[self.common.pairs.b] - self.a.rates[self.common.pairs.a]).tolist()
        return paces

    def find(self, first: Reading, other: Reading) -> scalars.Call | None:
        """Returns the call of the pair of cases whose values these are; None without a certain one."""
        pairs = zip(self.common.pairs.a.tolist(), self.common.pairs.b.tolist(), strict=True)
        for place, (i, j) in enumerate(pairs):
            if self.a.table.benchmarks[i] == first.benchmark and first.is_of(self.a.case(i)):
                call = CALLS[self.judged.call[place]]
                return call if other.is_of(self.b.case(j)) and call != "UNCLEAR" else None
        return None

    def counts(self) -> dict[str, int]:
        """Returns the number of cases for each call."""
        numbers = np.bincount(self.judged.call, minlength=len(CALLS)).tolist()
        return {call: numbers[CALLS.index(call)] for call in ("SLOWER", "FASTER", "SAME", "UNCLEAR")}


def judge_cases(a: SideView, b: SideView, common: Common, check_pace: bool, wholes: Sequence[Whole]) -> CaseCalls:
    """Returns the calls of the common cases of a pair of sides, corrected for their number and for the further `TABLES`.

    Few launches suffice if the case's benchmark as a whole (`wholes`) has the same call. `check_pace`: both sides are single runs
    of one machine, so that a different pace explains a difference.
    """
    disturbed = a.table.disturbed_cases[common.pairs.a] | b.table.disturbed_cases[common.pairs.b]
    groups = (a.table.is_group, b.table.is_group)
    estimates = estimate_cases(a.sums.of(common.pairs.a), b.sums.of(common.pairs.b), groups)
    judged = judge_columns(_moderate(estimates, disturbed), TABLES)
    said = {(w.name, w.call) for w in wholes}
    names = (a.table.benchmarks[i] for i in common.pairs.a.tolist())
    calls = zip(names, judged.call.tolist(), strict=True)
    confirmed = np.fromiter(((name, CALLS[call]) in said for name, call in calls), bool, len(judged.call))
    why = _weaken(a, b, common, judged, check_pace, confirmed)
    return CaseCalls(a=a, b=b, common=common, judged=judged, why=why, disturbed=disturbed)


def _moderate(e: Estimates, disturbed: Flags) -> Estimates:
    """Returns moderated estimates; undisturbed and disturbed cases have usual variances of their own."""
    variance, freedom = e.variance.copy(), e.freedom.copy()
    for part in (disturbed, ~disturbed):
        if part.any():
            drawn = moderate_columns(Estimates(**{f.name: getattr(e, f.name)[part] for f in fields(Estimates)}))
            variance[part], freedom[part] = drawn.variance, drawn.freedom
    return replace(e, variance=variance, freedom=freedom)


def _weaken(
    a: SideView, b: SideView, common: Common, judged: Judgements, check_pace: bool, confirmed: Flags
) -> Indexes:
    """Makes calls UNCLEAR that too few launches or another pace do not allow, and returns the reasons of all UNCLEAR calls.

    If the whole interval is beyond what launches can change, few of them suffice.
    """
    call, effect = judged.call, np.abs(np.log(judged.ratio))
    why = np.where(call == UNCLEAR, TOO_WIDE, 0)
    few = np.zeros(len(call), dtype=bool)
    for side, cases in ((a, common.pairs.a), (b, common.pairs.b)):
        few |= side.sums.count[cases] < (FEWEST_RUNS if side.table.is_group else FEWEST_LAUNCHES)
    within = (judged.low <= BEYOND_LAUNCHES) & (judged.high >= 1 / BEYOND_LAUNCHES)
    reasons = [(few & within & ~confirmed, FEW)]
    if check_pace:
        reasons += _find_other_paces(a, b, common, effect)
    for weak, reason in reasons:
        weakened = weak & ((call == FASTER) | (call == SLOWER))
        call[weakened], why[weakened] = UNCLEAR, reason
    return why


def _find_other_paces(a: SideView, b: SideView, common: Common, effect: Array) -> list[tuple[Flags, int]]:
    change = np.abs(b.rates[common.pairs.b] - a.rates[common.pairs.a])
    unsteadiness = measure_unsteadiness((a.readings, b.readings))
    within = np.isfinite(change) & (effect < np.log1p(unsteadiness)) & (unsteadiness > UNSTEADY)
    explained = effect <= np.maximum(BEYOND_PACE, STEEPEST * change)
    return [((change > UNLIKE) & explained, OTHER_PACE), (within, UNSTEADY_PACE)]


def list_differences(calls: CaseCalls, said: Mapping[str, str]) -> tuple[CaseDifference, ...]:
    """Returns the greatest difference of each benchmark and direction, without benchmarks that have that call as a whole.

    `said` has the call of each benchmark as a whole.
    """
    j, table = calls.judged, calls.a.table
    groups: dict[tuple[str, str], list[int]] = {}
    for place in np.flatnonzero((j.call == FASTER) | (j.call == SLOWER)).tolist():
        name, call = table.benchmarks[calls.common.pairs.a[place]], CALLS[j.call[place]]
        if said.get(name) != call:
            groups.setdefault((name, call), []).append(place)
    effect = np.abs(np.log(j.ratio))
    found = []
    for (name, _), places in groups.items():
        place = min(places, key=lambda p: (bool(calls.disturbed[p]), -effect[p]))
        case = calls.a.case(int(calls.common.pairs.a[place]))
        found.append(
            CaseDifference(
                benchmark=name, kernel=case.kernel, parameters=case.parameters, ratio=float(j.ratio[place]),
                low=float(j.low[place]), high=float(j.high[place]), call=CALLS[j.call[place]],
                disturbed=bool(calls.disturbed[place]), further=len(places) - 1,
            )
        )  # fmt: skip
    return tuple(found)
