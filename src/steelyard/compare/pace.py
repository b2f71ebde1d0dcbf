"""The pace of cores and memory in two runs of one machine: if it differs, their times do not compare."""

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
# Relative, of the bandwidth that a reading of the memory reaches; single readings scatter by 15 % where nobody else reads.
UNLIKE_MEMORY = 0.15
# Relative, between the slow and the fast tenth of the records of a run. Above it, the pace of the machine is not constant.
UNSTEADY = 0.10
DECILES = 10
MOST_WAITED = 0.99
CAUSES = "the clock, other hardware threads on them, or other programs"
REMEDY = "So the cause of the difference is not clear. Measure both in turn (--in-turn)."


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
    """The comparison, UNCLEAR where the pace differed, too, or wandered in the runs (`unsteadiness`) further than it.

    To be asked of two runs whose machine and settings are the same; where these differ, the pace is part of the difference.
    """
    if comparison.call not in ("FASTER", "SLOWER"):
        return comparison
    kind: Why = "other pace"
    text = differs_in_pace(a, b)
    if (
        not text
        and measure_pace(a)
        and unsteadiness > UNSTEADY
        and abs(math.log(comparison.ratio)) < math.log1p(unsteadiness)
    ):
        kind = "unsteady pace"
        why = f"The additions per second that the cores issued differ by {percent(unsteadiness)} within these runs"
        text = f"{why} ({CAUSES}). {REMEDY}"
    return mark_unclear(comparison, kind, text) if text else comparison


def differs_in_pace(a: Sequence[Result], b: Sequence[Result]) -> str:
    """Returns a sentence if the pace of the cores or of the memory beside the samples differs between the runs; "" if not."""
    first, second = measure_pace(a), measure_pace(b)
    if first and second and abs(math.log(second / first)) > UNLIKE:
        change = percent(second / first - 1, signed=True)
        return f"The cores themselves issued {change} additions per second in the second run ({CAUSES}). {REMEDY}"
    first, second = (_measure_stream(side) for side in (a, b))
    if first and second and abs(math.log(second / first)) > UNLIKE_MEMORY:
        change = percent(second / first - 1, signed=True)
        return f"Readings of the memory reached {change} bandwidth in the second run (other programs that use it). {REMEDY}"
    return ""


def describe_pace(a: Sequence[Result], b: Sequence[Result]) -> str:
    """Returns a sentence on the pace of two runs of one machine if no call is possible for what follows it; "" if it is alike."""
    return differs_in_pace(a, b)


def _rates(results: Iterable[Result]) -> list[float]:
    return [rate for result in results for record in rests_on(result) if (rate := _rate(record)) is not None]


def _rate(record: Record) -> float | None:
    issued, clock = typical(record, "issued"), typical(record, "core_clock")
    return issued * clock * (1 - _waited(record)) if issued and clock else None


def _waited(record: Record) -> float:
    """Returns the share of the samples for which a thread waited for its processor, because other programs had it."""
    samples = record.surroundings.samples
    waited, seconds = (sum(x for x in column or () if x is not None) for column in (samples.waited, samples.seconds))
    return min(waited / seconds, MOST_WAITED) if waited > 0 and 0 < seconds < math.inf else 0.0


def _measure_stream(results: Iterable[Result]) -> float | None:
    rates = [rate for result in results for record in rests_on(result) if (rate := typical(record, "stream"))]
    return median(rates) if rates else None
