"""What a function makes of the readings in each of many windows of time, from the readings themselves or from rollups.

A window holds what was read from its begin up to, and without, its end: windows that follow each other share no reading, and
those of whole minutes are exactly what rollups are kept of.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.errors import UsageError
from steelyard.model.sensor import Moments, Rollup, Sensor, Trace, Values
from steelyard.telemetry.energy import NANO, Mask, course
from steelyard.telemetry.http.language import OF_COUNTERS
from steelyard.telemetry.http.readings import Query, TooMuch
from steelyard.telemetry.http.series import METRICS, Series
from steelyard.telemetry.rollup import SECOND

LONG = (
    7200 * SECOND
)  # from here on a window begins and ends at whole minutes: moved by less than a hundredth of its length
MARGIN = 600 * SECOND  # of readings around a window, between which the energy at its edges lies
TOLD = 0.5  # share of a window of which readings must tell
BACK = 300 * SECOND  # how old a reading may be that still counts, as in Prometheus
MOST_LOOKS = 200_000_000  # readings, counted once for each window that holds them
MINUTE = 60 * SECOND


@dataclass(frozen=True, slots=True)
class Column:
    """A value at each moment of a query; what is not `there` has none."""

    value: Values
    there: Mask


@dataclass(frozen=True, slots=True)
class _Rows:
    """Readings, or stretches of them, in the order of time."""

    at: Moments
    count: Values
    total: Values
    least: Values
    greatest: Values


def over(query: Query, series: Sequence[Series], function: str, begins: Moments, ends: Moments) -> list[Column]:
    """Of each series the function over each window (ns since 1970, in order). UsageError for a rate of what does not count."""
    counting = function in OF_COUNTERS
    for each in series:
        if counting and not each.counts:
            raise UsageError(
                f"{function} is of counters; {METRICS[each.sensor.quantity].name} is a gauge: take avg_over_time."
            )
    length = int(ends[0] - begins[0])
    if length >= LONG:
        begins, ends = begins // MINUTE * MINUTE, ends // MINUTE * MINUTE
    level = next((s for s in (3600, 60) if not (begins % (s * SECOND)).any() and not (ends % (s * SECOND)).any()), 0)
    # A rollup tells the power of a counter of energy, not what it counts.
    rolled = [s for s in series if level and (s.sensor.quantity == "energy" if counting else not s.counts)]
    names = [(each.node, each.sensor.name) for each in rolled]
    found: dict[tuple[str, str], Column] = {}
    for name, stretches in query.rollup(names, level, int(begins[0]), int(ends[-1])) if names else ():
        found[name] = _of_rollup(stretches, function, begins, ends, length)
    return [
        found.get((each.node, each.sensor.name)) or _of_readings(query, each, function, begins, ends, length)
        for each in series
    ]


def last(query: Query, series: Sequence[Series], moments: Moments) -> list[Column]:
    """Of each series the last reading before each moment or at it, if it is not more than five minutes old."""
    return [_last(query.trace(each.node, each.sensor, moments - BACK, moments + 1), moments) for each in series]


def last_minutes(query: Query, series: Sequence[Series], moments: Moments) -> list[Column]:
    """Of each gauge the mean of the last whole minute before each moment that has readings, not more than five minutes old."""
    names = [(each.node, each.sensor.name) for each in series]
    start = (int(moments[0]) - BACK) // MINUTE * MINUTE
    columns = []
    for _, found in query.rollup(names, 60, start, int(moments[-1])) if names else ():
        reported = found.count > 0
        minutes = Trace(Sensor("", "power", ""), found.at[reported] + MINUTE, found.mean[reported])
        columns.append(_last(minutes, moments))
    return columns


def _last(trace: Trace, moments: Moments) -> Column:
    place = np.searchsorted(trace.at, moments, side="right") - 1
    if not len(trace.at):
        return Column(np.full(len(moments), np.nan), np.zeros(len(moments), dtype=bool))
    at, value = trace.at[np.maximum(place, 0)], trace.value[np.maximum(place, 0)]
    return Column(value, (place >= 0) & (at > moments - BACK))


def _of_rollup(of: Rollup, function: str, begins: Moments, ends: Moments, length: int) -> Column:
    if function in OF_COUNTERS:
        whole = np.concatenate(([0.0], np.cumsum(np.where(of.known > 0, of.joules, 0.0))))
        known = np.concatenate(([0.0], np.cumsum(of.known)))
        low, high = np.searchsorted(of.at, begins), np.searchsorted(of.at, ends)
        return _mean_power(function, whole[high] - whole[low], known[high] - known[low], length)
    reported = of.count > 0
    count = of.count[reported].astype(np.float64)
    return _reduced(
        _Rows(of.at[reported], count, of.mean[reported] * count, of.least[reported], of.greatest[reported]),
        function,
        begins,
        ends,
    )


def _of_readings(query: Query, of: Series, function: str, begins: Moments, ends: Moments, length: int) -> Column:
    if function not in OF_COUNTERS:
        trace = query.trace(of.node, of.sensor, begins, ends)
        one = np.ones(len(trace.at))
        return _reduced(_Rows(trace.at, one, trace.value, trace.value, trace.value), function, begins, ends)
    trace = query.trace(of.node, of.sensor, begins - MARGIN, ends + MARGIN)
    known = course(replace(trace, sensor=replace(of.sensor, quantity="energy")))
    if known is None:
        return Column(np.full(len(ends), np.nan), np.zeros(len(ends), dtype=bool))
    reported = known.gap == 0
    joules = np.concatenate(([0.0], np.cumsum(np.where(reported, np.diff(known.joules), 0.0))))
    seconds = np.concatenate(([0.0], np.cumsum(np.where(reported, np.diff(known.at), 0.0))))
    edges = ((begins - known.origin) * NANO, (ends - known.origin) * NANO)
    spent, over_seconds = (
        np.interp(edges[1], known.at, column) - np.interp(edges[0], known.at, column) for column in (joules, seconds)
    )
    return _mean_power(function, spent, over_seconds, length)


def _mean_power(function: str, joules: Values, known: Values, length: int) -> Column:
    """What no reading tells of is filled with the mean of the rest, where that is half of the window or more."""
    there = known >= TOLD * length * NANO
    power = np.divide(joules, known, out=np.full(len(known), np.nan), where=there)
    return Column(power * (length * NANO if function == "increase" else 1.0), there)


def _reduced(rows: _Rows, function: str, begins: Moments, ends: Moments) -> Column:
    low, high = np.searchsorted(rows.at, begins), np.searchsorted(rows.at, ends)
    looks = int((high - low).sum())
    if looks > MOST_LOOKS:
        raise TooMuch(
            f"The windows of the query hold {looks} readings in all; at most {MOST_LOOKS} are looked at. "
            "Take a longer step, a shorter range, or a range and steps of whole minutes."
        )
    there = high > low
    if function == "min_over_time":
        value = _each(np.minimum, rows.least, low, high)
    elif function == "max_over_time":
        value = _each(np.maximum, rows.greatest, low, high)
    else:
        count = _each(np.add, rows.count, low, high)
        value = count if function == "count_over_time" else _each(np.add, rows.total, low, high)
        if function == "avg_over_time":
            value = value / count
    return Column(value, there)


def _each(reduce: np.ufunc, values: Values, low: Moments, high: Moments) -> Values:
    """The values from `low` up to `high` made one; NaN where there are none."""
    found = np.full(len(low), np.nan)
    some = high > low
    if some.any():
        bounds = np.stack((low[some], high[some]), axis=1).ravel()
        found[some] = reduce.reduceat(np.append(values, values[-1]), bounds)[::2]
    return found
