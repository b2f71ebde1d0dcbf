"""Disturbances of a device by its power limit or its temperature, if they lowered its clock and changed the figure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from steelyard.model.units import percent, quantity
from steelyard.model.words import joined
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.validity.core_pace import CLOCK_DIP, CLOCK_EFFECT
from steelyard.statistics.validity.observations import HIT_SHARE, Measured, Observation, numbers

# Bits of NVML's reasons (nvml.h, nvmlClocksEventReasons…): others, such as an idle device or a clock that the user set, disturb
# nothing.
POWER, HEAT, HARDWARE = "its power limit", "its temperature", "a slowdown by its hardware (power or temperature)"
_BITS = {0x04: POWER, 0x20: HEAT, 0x40: HEAT, 0x08: HARDWARE, 0x80: HARDWARE}
_MOST_BITS = 2**53  # a greater number is no exact whole number

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Readings:
    """Readings of the clock of a device (Hz) between the samples, at seconds since 1970, with the bits of the reasons for it.

    `most` is the greatest clock of the device in Hz, `power_limit` its limit in W. NaN: unknown.
    """

    at: Array
    clock: Array
    reasons: Array
    most: float
    power_limit: float

    @classmethod
    def of(cls, details: Mapping[str, Any] | None) -> Self | None:
        """Returns the readings in the details of a record; None without usable ones."""
        given: Any = (details or {}).get("clock")
        try:
            at, clock, reasons = (numbers(given[name]) for name in ("at", "clock", "reasons"))
            most, limit = numbers([given.get("most"), given.get("power_limit")])
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):  # details of another program, or null
            return None
        if at.ndim != 1 or not at.shape == clock.shape == reasons.shape or (np.diff(at) < 0).any():
            return None
        known = np.isfinite(at) & (clock > 0) & (reasons >= 0) & (reasons < _MOST_BITS)
        return cls(at[known], clock[known], reasons[known], float(most), float(limit)) if known.any() else None

    @property
    def best(self) -> float:
        """Returns the clock of the device when nothing lowers it: the greatest possible one, or that of the readings."""
        return self.most if self.most > 0 else float(self.clock.max())

    def lowered_by(self, reason: str) -> Mask:
        """Returns a mask of the readings in which this reason lowered the clock."""
        bits = sum(bit for bit, words in _BITS.items() if words == reason)
        named = (self.reasons.astype(np.int64) & bits) != 0
        return np.asarray(named & (self.clock < (1 - CLOCK_DIP) * self.best))


def device_clock(case: Measured) -> Observation | None:
    """Returns an observation if the power limit or the temperature of the device lowered its clock; None without readings."""
    readings = Readings.of(case.surroundings.details)
    if readings is None:
        return None
    masks = {reason: readings.lowered_by(reason) for reason in (POWER, HEAT, HARDWARE)}
    lowered = np.logical_or.reduce(list(masks.values()))
    hit = _spread_to_samples(case, readings.at, lowered)
    if hit is None or not hit.any():
        return None
    moved = case.moved(hit)
    # A device that draws its limit all the time is as fast as it can be, like a processor at its limit.
    limited = bool(hit.all()) and not (masks[HEAT].any() or masks[HARDWARE].any())
    disturbed = not limited and float(hit.mean()) > HIT_SHARE and moved > CLOCK_EFFECT
    least = float(readings.clock[lowered].min())
    named = [_name_reason(reason, readings) for reason, mask in masks.items() if mask.any()]
    if limited:
        effect = " So the result is that of the device at this limit."
    elif not disturbed:
        effect = " The result did not change with it."
    else:
        effect = f" This changed the median by {percent(moved, 1, signed=True)}." if np.isfinite(moved) else ""
    device = str((case.surroundings.details or {}).get("device") or "the device")
    text = (
        f"beside {hit.sum()} of {len(hit)} samples, {joined(named)} lowered the clock of {device} (lowest: "
        f"{quantity(least, 'Hz')}, possible: {quantity(readings.best, 'Hz')}).{effect}"
    )
    figures = {"samples": int(hit.sum()), "of": len(hit), "best": readings.best, "device_clock": least}
    return Observation.of("device clock", text, disturbed, **figures, moved=moved if disturbed else None)


def _name_reason(reason: str, readings: Readings) -> str:
    limited = reason == POWER and readings.power_limit > 0
    return f"{reason} of {quantity(readings.power_limit, 'W')}" if limited else reason


def _spread_to_samples(case: Measured, at: Array, lowered: Mask) -> Mask | None:
    """Returns the mask of the samples that the reading after them shows as lowered; None if no reading belongs to them.

    Not every sample has a reading of its own. The last samples have the last reading.
    """
    began, begins = case.surroundings.began, case.column(case.surroundings.samples.at)
    if began is None or begins is None or case.lengths is None:
        return None
    ends = began + begins + case.lengths
    if at[-1] < began:
        return None
    return np.asarray(lowered[np.minimum(np.searchsorted(at, ends), len(at) - 1)])
