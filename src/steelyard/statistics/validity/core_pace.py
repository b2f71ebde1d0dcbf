"""Disturbances by the clock of the core or another hardware thread on it, if they changed the figure."""

from collections.abc import Callable

import numpy as np

from steelyard.model.units import percent
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.plateau import Levels
from steelyard.statistics.validity.observations import HIT_SHARE, Measured, Observation, numbers, short_percent

# Relative: a sample's below the fastest; from before to after, the median thread's and any one thread's.
CLOCK_DIP, CLOCK_CHANGE, CLOCK_CHANGE_OF_ONE = 0.02, 0.015, 0.05
# Turbo clocks step by 100 MHz (some 3 %) as neighbours come and go, and what waits for memory does not care: a step
# counts where it moved the figure by more than half of the width that is usually asked.
CLOCK_EFFECT = 0.01
ISSUE_DIP = 0.15  # relative: a second thread on the core takes up to half, and readings scatter by some percent
CLOCK_READINGS = 4  # fewer are judged by what was read before and after all samples


def core_clock(case: Measured) -> Observation | None:
    """Returns an observation if the true core clock changed and the figure changed with it."""
    around = case.surroundings.core_clock
    clocks = case.column(case.surroundings.samples.core_clock)
    if clocks is None or np.isfinite(clocks).sum() < CLOCK_READINGS:
        return _judge_clock_change(case, numbers(around.before), numbers(around.after))
    return _judge_dips(
        case,
        "core clock",
        "core_clock",
        clocks,
        CLOCK_DIP,
        lambda border, least, most: (
            f"in {{}} samples, the true clock was more than {short_percent(CLOCK_DIP)} below {most / 1e9:.3g} GHz "
            f"(lowest: {least / 1e9:.3g} GHz)"
        ),
    )


def shared_core(case: Measured) -> Observation | None:
    """Returns an observation if another hardware thread used the core, which no system account shows."""
    issued = case.column(case.surroundings.samples.issued)
    if issued is None or np.isfinite(issued).sum() < CLOCK_READINGS:
        return None
    return _judge_dips(
        case,
        "shared core",
        "issued",
        issued,
        ISSUE_DIP,
        lambda border, least, most: (
            f"in {{}} samples, the core issued fewer than {border:.2g} additions per cycle (lowest: {least:.2g}, "
            f"usual: {most:.2g})"
        ),
        because=", because another hardware thread used the core",
    )


def _judge_dips(
    case: Measured, kind: str, name: str, readings: Array, dip: float, say: Callable[[float, float, float], str],
    because: str = "",
) -> Observation | None:  # fmt: skip
    """Returns an observation if the pace of the core was sometimes below its usual best by the share `dip`.

    `kind` is that of the evidence, `name` that of the readings. `say` makes the sentence from the border, the least and
    the most reading, with {} for the number of samples. `because` is the cause, which only an effect on the figure proves:
    threads on two kinds of cores are read by turns, too.
    """
    levels = Levels()
    levels.add(readings.tolist())
    most = levels.plateau(dip / 4, higher=True)
    steady = _fill_clock(readings)
    if most is None:
        return None
    slow = steady < (1 - dip) * most
    if not slow.any():
        return None
    moved = case.moved(slow)
    # A slower core makes samples longer; where those are not, the core is not what the figure follows.
    disturbed = float(slow.mean()) > HIT_SHARE and moved > CLOCK_EFFECT
    changed = f"{because}. This changed the median by {percent(moved, 1, signed=True)}"
    effect = changed if disturbed else ". The result did not change with it"
    border, least = (1 - dip) * most, float(steady.min())
    words = say(border, least, most).format(f"{slow.sum()} of {len(slow)}")
    numbers = {"samples": int(slow.sum()), "of": len(slow), name: least, "best": most, "bound": border}
    return Observation.of(kind, f"{words}{effect}.", disturbed, **numbers, moved=moved if disturbed else None)


def _fill_clock(clocks: Array) -> Array:
    """Returns the clock at each sample, from readings that only some of them have (NaN: none).

    A reading is low, too, where an interrupt hit it. A clock that drops stays down, so that of a reading and its
    neighbours the highest counts. A sample without a reading has the one before it, the first ones the first.
    """
    at = np.flatnonzero(np.isfinite(clocks))
    readings = clocks[at]
    highest = readings.copy()
    np.maximum(highest[:-1], readings[1:], out=highest[:-1])
    np.maximum(highest[1:], readings[:-1], out=highest[1:])
    if len(readings) == len(clocks):
        return highest
    return np.asarray(highest[np.maximum(0, np.searchsorted(at, np.arange(len(clocks)), side="right") - 1)])


def _judge_clock_change(case: Measured, before: Array, after: Array) -> Observation | None:
    if len(before) != len(after):
        return None
    usable = (before > 0) & (after > 0)
    if not usable.any():
        return None
    ratios = after[usable] / before[usable]
    typical, furthest = float(np.median(ratios)), float(ratios[np.argmax(np.abs(ratios - 1))])
    if abs(typical - 1) <= CLOCK_CHANGE and abs(furthest - 1) <= CLOCK_CHANGE_OF_ONE:
        return None
    change = typical if abs(typical - 1) > CLOCK_CHANGE else furthest
    word = "rose" if change > 1 else "dropped"
    quarter = max(1, len(case.row) // 4)
    moved = float(np.median(case.row[-quarter:]) / np.median(case.row[:quarter])) - 1
    disturbed = abs(moved) > CLOCK_EFFECT
    changed = f"The time changed by {percent(moved, 1, signed=True)} during the case"
    effect = changed if disturbed else "The result did not change with it"
    first, last = float(np.median(before[usable])), float(np.median(after[usable]))
    text = (
        f"the true clock {word} by {short_percent(abs(change - 1))} during the case (median of the threads: from "
        f"{first / 1e9:.3g} to {last / 1e9:.3g} GHz). {effect}."
    )
    figures = {"change": change - 1, "before": first, "after": last, "moved": moved if disturbed else None}
    return Observation.of("core clock", text, disturbed, **figures)
