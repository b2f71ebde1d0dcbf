"""The pace of the cores in two runs of one machine: if it differs, their times do not compare."""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from steelyard.model import Record, Result
from steelyard.statistics.difference.compare import Comparison, Why, mark_unclear
from steelyard.statistics.results.result import rests_on
from steelyard.statistics.validity.pace import typical
from steelyard.units import percent

# Relative. A step of a turbo clock is 3 %, and another thread on the core takes up to half; the readings scatter by less.
UNLIKE = 0.04
# Relative, between the slow and the fast tenth of the records of a run. Above it, the pace of the machine is not constant.
UNSTEADY = 0.10
DECILES = 10


def measure_pace(results: Iterable[Result]) -> float | None:
    """Returns the additions per second of the cores around the samples (median of the records), or None without readings."""
    rates = _rates(results)
    return median(rates) if rates else None


def measure_unsteadiness(results: Iterable[Result]) -> float:
    """Returns how much faster the fast tenth of the records is than the slow tenth (relative); 0.0 without readings."""
    rates = sorted(_rates(results))
    tenth = len(rates) // DECILES
    return rates[-1 - tenth] / rates[tenth] - 1 if len(rates) >= DECILES else 0.0


def weaken_call(comparison: Comparison, a: Sequence[Result], b: Sequence[Result], unsteadiness: float) -> Comparison:
    """The comparison, UNCLEAR where the cores' own pace differed, too, or wandered in the runs (`unsteadiness`) further than it.

    To be asked of two runs whose machine and settings are the same; where these differ, the pace is part of the difference.
    """
    if comparison.call not in ("FASTER", "SLOWER"):
        return comparison
    first, second = measure_pace(a), measure_pace(b)
    if first is None or second is None:
        return comparison
    if abs(math.log(second / first)) > UNLIKE:
        kind: Why = "other pace"
        why = f"The cores themselves issued {percent(second / first - 1, signed=True)} additions per second in the second run"
    elif unsteadiness > UNSTEADY and abs(math.log(comparison.ratio)) < math.log1p(unsteadiness):
        kind = "unsteady pace"
        why = f"The additions per second that the cores issued differ by {percent(unsteadiness)} within these runs"
    else:
        return comparison
    cause = "the clock, or other hardware threads on them"
    text = f"{why} ({cause}). So the cause of the difference is not clear. Measure both in turn (--in-turn)."
    return mark_unclear(comparison, kind, text)


def _rates(results: Iterable[Result]) -> list[float]:
    return [rate for result in results for record in rests_on(result) if (rate := _rate(record)) is not None]


def _rate(record: Record) -> float | None:
    issued, clock = typical(record, "issued"), typical(record, "core_clock")
    return issued * clock if issued and clock else None
