"""The condition of the machine in words, and how well the results are known."""

import math
from collections.abc import Iterable, Mapping
from typing import Literal

from steelyard.model import Condition, Had, Level, Result
from steelyard.model.units import percent
from steelyard.model.words import joined, plural
from steelyard.show.report import values
from steelyard.statistics.validity.cause import Cause, explain, find_cause
from steelyard.statistics.validity.trust import LOAD

Known = Literal["10 %", "25 %", "worse", "unknown"]
BOUNDS: tuple[tuple[Known, float], ...] = (("10 %", 0.10), ("25 %", 0.25))
FULL = 0.995  # share that is written as 100 %
WORTH_NAMING = 0.1  # share of the launches with other load from which it is named
FOREIGN = "Other tools measured these values, so Steelyard cannot judge them. Each value has the statistic of its tool."
_NAMES = {"issued": "its cores", "stream": "its memory", "exchange": "messages between ranks"}

_BRIEF = {
    Cause.PROCESSES: "Other programs of this machine slowed it",
    Cause.STEAL: "The hypervisor gave the processors to others",
    Cause.OTHER_GUEST: "Another user of this host slowed the cores",
    Cause.CLOCK: "The clock of the cores was low",
    Cause.CORES: "The cores were slow",
    Cause.MEMORY: "The memory was slow",
    Cause.MESSAGES: "Messages were slow",
}


def describe(condition: Condition, verdicts: Mapping[Level, int]) -> tuple[str, ...]:
    """Returns one or two sentences on the condition of the machine during the run; () if nothing is known of it.

    `verdicts` counts the results of each level. If all are INVALID, the readings show the speed of no result.
    """
    if condition.foreign:
        return (FOREIGN,)
    if none_is_valid(verdicts):
        total = verdicts["INVALID"]
        return (
            f"{f'All {total} results are' if total > 1 else 'The only result is'} INVALID, so the speed is unknown.",
        )
    had = {name: condition.had[kind] for kind, name in _NAMES.items() if kind in condition.had}
    load = ""
    if condition.load >= WORTH_NAMING:
        load = f"Other programs used the measured processors in {percent(condition.load)} of the launches."
    if not had or (not condition.shared and LOAD in condition.causes):
        own = explain(condition.proofs) if find_cause(condition.proofs) is Cause.PROCESSES else ""
        return tuple(filter(None, (own, load)))
    if not condition.shared:
        full = joined(f"{name} in {percent(one.full)}" for name, one in had.items())
        disturbed = verdicts.get("DISTURBED", 0)
        but = f", but {plural(disturbed, 'result')} {'is' if disturbed == 1 else 'are'} DISTURBED" if disturbed else ""
        return tuple(filter(None, (f"The machine had its full speed: {full} of the launches{but}.", load)))
    parts = "; ".join(_part(name, one, first=not i) for i, (name, one) in enumerate(had.items()))
    why = explain(condition.proofs) or "The machine was slower than at best."
    return tuple(filter(None, (f"{why} Full speed: {parts}.", load)))


def describe_briefly(condition: Condition) -> str:
    """Returns what slowed the machine, and how often, in few words; "" if nothing did."""
    full = min((one.full for one in condition.had.values()), default=1.0)
    cause = _BRIEF.get(find_cause(condition.proofs), "The machine was slower than at its best")
    if condition.shared:
        return f"{cause} in {percent(1 - full)} of measurements."
    if condition.load >= WORTH_NAMING:
        return f"Other programs used the processors in {percent(condition.load)} of measurements."
    return ""


def none_is_valid(verdicts: Mapping[Level, int]) -> bool:
    """Returns whether there are results, and all of them are INVALID."""
    return 0 < verdicts.get("INVALID", 0) == sum(verdicts.values())


def _part(name: str, had: Had, first: bool) -> str:
    """Returns for example: its cores in 85 % of the launches (median 100 %, slowest tenth below 75 %)."""
    spread = [f"median {percent(had.median)}", f"slowest tenth below {percent(had.low)}"]
    spread += [f"fastest tenth above {percent(had.high)}"] if had.high < FULL else []
    launches = " of the launches" if first else ""
    middle = f" ({', '.join(spread)})" if had.low < FULL else ""
    return f"{name} in {percent(had.full)}{launches}{middle}"


def known(results: Iterable[Result]) -> dict[Known, int]:
    """Returns how many results are known how well: by half of the range in which the value of another run lies."""
    counted: dict[Known, int] = {"10 %": 0, "25 %": 0, "worse": 0, "unknown": 0}
    for result in results:
        counted[_name_precision(result)] += 1
    return counted


def _name_precision(result: Result) -> Known:
    value = next(iter(result.metrics.values()), None)
    ends = (value.undisturbed or value.now) if value else None
    if values.level(result) == "INVALID" or ends is None or ends[0] <= 0:
        return "unknown"
    half = math.sqrt(ends[1] / ends[0]) - 1
    return next((name for name, bound in BOUNDS if half <= bound), "worse")


def describe_known(counted: Mapping[Known, int]) -> str:
    """Returns a sentence on how well the results are known."""
    worse = counted["worse"] + counted["unknown"]
    less = f", {worse} less well" if worse else ""
    well, fairly = counted["10 %"], counted["25 %"]
    return f"{plural(sum(counted.values()), 'case')}: {well} known to ± 10 %, {fairly} to ± 25 %{less}."
