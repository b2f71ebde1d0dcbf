"""The readings of a sensor that can be right: a power that a part can draw, and a counter that does not jump for a moment."""

import numpy as np
from numpy.typing import NDArray

from steelyard.model.sensor import ONES, Trace, Values

Mask = NDArray[np.bool_]
HUGE = 5000.0  # W: no single part draws more, and a node that does draws at least a twentieth of it all the time
SOARING = 20.0  # times the greatest power otherwise: above it, a counter that fell was reset and did not wrap


def find_possible(trace: Trace, several: bool = False) -> Mask:
    """Returns which readings can be right. `several`: the sensor is one of several supplies, which may deliver nothing.

    No part of a machine draws less than 0 W or more than 16 bits can say, and a machine draws more than 0 W. A part may be
    switched off, but a meter that always shows 0 W measures nothing. No part draws `HUGE` and also `SOARING` times its median. A
    sensor without a scope may show anything.
    """
    usable: Mask = np.isfinite(trace.value)
    if trace.sensor.quantity == "energy":
        usable[usable] = ~_slipped(trace.value[usable])
    if trace.sensor.quantity != "power" or trace.sensor.scope in ("", "enclosure"):
        return usable
    usable &= (trace.value >= 0) & (trace.value < ONES)
    if usable.any():
        usable &= trace.value <= max(HUGE, SOARING * float(np.median(trace.value[usable])))
    if trace.sensor.scope == "node":
        return usable if several else usable & (trace.value > 0)
    return usable & bool((trace.value[usable] > 0).any())


def _slipped(count: Values) -> Mask:
    """Returns which readings of a counter lie far outside of their neighbours, though it counted on: 0, -1, 64 bits of ones."""
    if len(count) < 3:
        return np.zeros(len(count), dtype=bool)
    begins = np.flatnonzero(np.concatenate(([True], np.diff(count) != 0)))
    values = count[begins]
    before, value, after = values[:-2], values[1:-1], values[2:]
    least = SOARING * (after - before)
    slips = (after >= before) & (np.abs(value - before) > least) & (np.abs(value - after) > least)
    slips &= (value < before) | (value > after)
    lengths = np.diff(np.append(begins, len(count)))
    return np.repeat(np.concatenate(([False], slips, [False]))[: len(begins)], lengths)
