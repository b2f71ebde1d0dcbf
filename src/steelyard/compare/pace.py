"""How fast the measured cores went by themselves: whether two runs of one machine had the same machine under them."""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from steelyard.model import Record, Result
from steelyard.statistics.difference.compare import Comparison, Why, made_unclear
from steelyard.statistics.results.result import rests_on
from steelyard.statistics.validity.pace import typical
from steelyard.units import percent

# Relative. A step of a turbo clock is 3 %, another thread on the core takes up to half; below it the readings' own scatter.
UNLIKE = 0.04
# Between the slow and the fast tenth of a run's records: beyond it the machine has no pace of its own.
RESTLESS = 0.10
DECILES = 10


def pace(results: Iterable[Result]) -> float | None:
    """Additions per second that the cores issued beside the samples (median over the records); None where nothing was read."""
    rates = _rates(results)
    return median(rates) if rates else None


def unrest(results: Iterable[Result]) -> float:
    """How far the pace of the fast tenth of the records is above that of the slow tenth (relative); 0.0 where it was not read."""
    rates = sorted(_rates(results))
    tenth = len(rates) // DECILES
    return rates[-1 - tenth] / rates[tenth] - 1 if len(rates) >= DECILES else 0.0


def tempered(found: Comparison, a: Sequence[Result], b: Sequence[Result], restless: float) -> Comparison:
    """The comparison, UNCLEAR where the cores' own pace differed, too, or wandered in the runs (`restless`) further than it.

    To be asked of two runs whose machine and settings are the same; where these differ, the pace is part of the difference.
    """
    if found.call not in ("FASTER", "SLOWER"):
        return found
    first, second = pace(a), pace(b)
    if first is None or second is None:
        return found
    if abs(math.log(second / first)) > UNLIKE:
        kind: Why = "other pace"
        why = f"The cores themselves issued {percent(second / first - 1, signed=True)} additions per second in the second run"
    elif restless > RESTLESS and abs(math.log(found.ratio)) < math.log1p(restless):
        kind = "unsteady pace"
        why = f"The additions per second that the cores issued differ by {percent(restless)} within these runs"
    else:
        return found
    cause = "the clock, or other hardware threads on them"
    text = f"{why} ({cause}): a difference cannot be distinguished from that. Repeat both, in turn."
    return made_unclear(found, kind, text)


def _rates(results: Iterable[Result]) -> list[float]:
    return [rate for result in results for record in rests_on(result) if (rate := _rate(record)) is not None]


def _rate(record: Record) -> float | None:
    issued, clock = typical(record, "issued"), typical(record, "core_clock")
    return issued * clock if issued and clock else None
