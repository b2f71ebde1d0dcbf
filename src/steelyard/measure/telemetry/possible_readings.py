"""The readings of a sensor that can be right: a power that a part can draw, and a counter that does not jump for a moment."""

import re

import numpy as np
from numpy.typing import NDArray

from steelyard.model.sensor import ONES, Scope, Sensor, Trace, Values

Mask = NDArray[np.bool_]
HUGE = 5000.0  # W: no single part draws more, and a node that does draws at least a twentieth of it all the time
SOARING = 20.0  # times the greatest power otherwise: above it, a counter that fell was reset and did not wrap
# W: no machine leaves these bounds with all of its parts of a scope, nor with its only one while it is read. A sensor beyond has
# another unit, such as mW or kW. Lower: a Raspberry Pi Zero 2 W draws 0.4 W, a processor in deep sleep 0.2 W, a refresh of
# LPDDR5 some hundredths of a watt, and the smallest cards some tenths. Upper: a Cerebras CS-3 draws 23 kW, most of it on its
# wafer, and 16 GPUs of 1.4 kW as much; 32 sockets of 250 W draw 8 kW, and their 384 memory modules of 12 W 4.6 kW.
BOUNDS: dict[Scope, tuple[float, float]] = {
    "node": (0.3, 50_000.0), "platform": (0.3, 15_000.0), "host": (0.3, 50_000.0), "rest": (0.0, 50_000.0),
    "module": (0.3, 10_000.0), "superchip": (0.1, 10_000.0), "processors": (0.1, 10_000.0), "memory": (0.01, 5_000.0),
    "accelerators": (0.1, 30_000.0),
}  # fmt: skip
ONE_OF_SEVERAL = re.compile(r"(?:gpu|card|accel|package|socket|cpu)[-_ ]?[0-9]", re.IGNORECASE)  # draws `HUGE` at most
ODD = 0.05  # of the readings of a power: more of different values beyond a bound are no faults of single readings
CODES = 2  # different values: a meter may report as many instead of a reading (16 bits of ones)
STRETCHES = 20  # parts of a counter's readings


def find_possible(trace: Trace, several: bool = False) -> Mask:
    """Returns which readings can be right. `several`: the sensor is one of several supplies, which may deliver nothing.

    No part of a machine draws less than 0 W or more than 16 bits can say, and a machine draws more than 0 W. A part may be
    switched off, but a meter that always shows 0 W measures nothing. No part draws `HUGE` and also `SOARING` times its median. A
    sensor without a scope may show anything. A sensor whose power is that of no machine has another unit (`find_wrong_power`).
    """
    usable: Mask = np.isfinite(trace.value)
    if find_wrong_power(trace, several) is not None:
        return np.zeros(len(usable), dtype=bool)
    if trace.sensor.quantity == "energy":
        usable[usable] = ~_find_slips(trace.value[usable])
    if trace.sensor.quantity != "power" or trace.sensor.scope in ("", "enclosure"):
        return usable
    usable &= (trace.value >= 0) & (trace.value < ONES)
    if usable.any():
        usable &= trace.value <= max(HUGE, SOARING * float(np.median(trace.value[usable])))
    if trace.sensor.scope == "node":
        return usable if several else usable & (trace.value > 0)
    return usable & bool((trace.value[usable] > 0).any())


def find_wrong_power(trace: Trace, several: bool = False) -> float | None:
    """Returns a power (W) of the sensor that no such part draws, which shows a wrong unit; None for a possible sensor.

    One of `several` supplies may deliver very little.
    """
    if trace.sensor.quantity not in ("energy", "power") or trace.sensor.scope not in BOUNDS:
        return None
    least, most = _find_bounds(trace.sensor)
    finite = np.isfinite(trace.value)
    if trace.sensor.quantity == "energy":
        watts: Values = _list_powers(np.float64(1e-9) * trace.at[finite], trace.value[finite])
        usual = min(float(np.median(watts)), float(np.mean(watts))) if watts.size else 0.0
        greatest = float(watts.max()) if watts.size else 0.0
    else:
        watts = trace.value[finite & (trace.value > 0)]
        beyond = watts[watts > most]
        wrong = beyond.size > ODD * trace.value.size and np.unique(beyond).size > CODES
        usual = float(np.median(beyond)) if wrong else 0.0
        greatest = float(np.quantile(watts, 1 - ODD)) if watts.size else 0.0
    return usual if usual > most else greatest if 0 < greatest < least and not several else None


def _find_bounds(sensor: Sensor) -> tuple[float, float]:
    least, most = BOUNDS[sensor.scope]
    one = sensor.scope in ("processors", "memory", "accelerators", "superchip") and ONE_OF_SEVERAL.search(sensor.name)
    return least, min(most, HUGE) if one else most


def _list_powers(seconds: Values, count: Values) -> Values:
    """Returns the mean power of a counter in stretches of equal length. It does not count where it falls."""
    if len(count) < 2 or not seconds[-1] > seconds[0] or not (np.diff(seconds) >= 0).all():
        return np.empty(0)
    joules = np.concatenate(([0.0], np.cumsum(np.maximum(np.diff(count), 0.0))))
    edges = np.linspace(seconds[0], seconds[-1], min(STRETCHES, len(count) - 1) + 1)
    return np.asarray(np.diff(np.interp(edges, seconds, joules)) / np.diff(edges))


def _find_slips(count: Values) -> Mask:
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
