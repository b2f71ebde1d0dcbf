"""Whether a case may be believed: CLEAN, DISTURBED or INVALID, with the evidence in sentences."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.model import Check, Level, Verdict
from steelyard.statistics.disturbances import RULES
from steelyard.statistics.interval import Array
from steelyard.statistics.seen import Seen, number
from steelyard.units import percent

# Of a sample. Below 0.1 % the clock does not matter (the harness makes samples that long). Up to 1 % the
# figure is still right within half of the interval that is usually asked, and repeating would not help: it
# stays CLEAN, and says so. Beyond 1 % the clock was measured, not the kernel.
CLOCK_NOTED, CLOCK_INVALID = 0.001, 0.01


def judge(
    samples: Sequence[float],
    surroundings: Mapping[str, Any] | None,
    check: Check | None,
    error: str | None = None,
) -> Verdict:
    """The verdict on one case of one launch.

    `samples` are seconds per operation in the order of time, `surroundings` what the harness saw (any key may
    be missing or null: what was not seen is not judged), `check` the kernel's own test of its result, `error`
    why it failed.

    INVALID: an error, a failed check, no samples, samples that are no positive times, or a clock too coarse
    for them. Few samples alone are not: they state no interval. DISTURBED: a rule of `disturbances` found
    what could move the median. CLEAN: otherwise; its evidence then holds what was seen and did not matter.
    Each sentence starts with a keyword and a colon: error, check, samples, clock resolution, competing load,
    steal, throttled, page faults, core clock, oversubscribed, interrupts, bimodal, drift, autocorrelation.
    """
    if error is not None:
        return Verdict("INVALID", (f"error: {error}",))
    row = np.asarray(samples, dtype=np.float64)
    sound = bool(row.size) and bool((np.isfinite(row) & (row > 0)).all())
    seen = Seen(row, surroundings or {})
    invalid = [*_wrong(row, sound, check), *_too_coarse(seen, CLOCK_INVALID)]
    observations = [found for rule in RULES if (found := rule(seen))] if sound else []
    disturbing = [observation.sentence for observation in observations if observation.disturbed]
    harmless = [observation.sentence for observation in observations if not observation.disturbed]
    if invalid:
        return Verdict("INVALID", (*invalid, *disturbing))
    level: Level = "DISTURBED" if disturbing else "CLEAN"
    return Verdict(level, (*disturbing, *harmless, *_too_coarse(seen, CLOCK_NOTED)))


def name_disturbance(verdict: Verdict) -> str | None:
    """The keyword of what spoiled the case ("competing load", "check" …); None for a CLEAN one."""
    return verdict.evidence[0].partition(":")[0] if verdict.level != "CLEAN" and verdict.evidence else None


def _wrong(row: Array, sound: bool, check: Check | None) -> Iterator[str]:
    if check is not None and not check.passed:
        yield f"check: the result is wrong; {check.detail or 'the kernel gave no detail'}"
    if not row.size:
        yield "samples: none was taken."
    elif not sound:
        wrong = np.count_nonzero(~(np.isfinite(row) & (row > 0)))
        yield f"samples: {wrong} of {row.size} are no positive, finite times."


def _too_coarse(seen: Seen, share: float) -> Iterator[str]:
    resolution = number(seen.part("clock").get("resolution"))
    if resolution is None or seen.lengths is None:
        return
    length = float(np.nanmedian(seen.lengths))
    if resolution > share * length:
        part = resolution / length if length > 0 else math.inf
        yield (
            f"clock resolution: the clock's step of {resolution:.2g} s is {percent(part, 2)} of a sample of "
            f"{length:.2g} s; expected at most {percent(CLOCK_NOTED, 1)}."
        )
