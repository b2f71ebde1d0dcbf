"""A query's value at each of its moments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import UsageError
from steelyard.model.sensor import Moments, Values
from steelyard.telemetry.http import windows
from steelyard.telemetry.http.language import (
    Arithmetic,
    Expression,
    Group,
    Negative,
    Number,
    Selector,
    Window,
)
from steelyard.telemetry.http.readings import Query, TooMuch
from steelyard.telemetry.http.series import NAME, Labels, Series, chosen, listed
from steelyard.telemetry.http.windows import MINUTE, Column

MOST_SERIES = 10_000
MOST_POINTS = 5_000_000  # of all series together: 45 MB

Vector = list[tuple[Labels, Column]]
Value = Values | Vector  # a number at each moment, or series


@dataclass(frozen=True)
class Asked:
    """What a query is evaluated with: its moments (ns since 1970), `step` ns apart (0: one alone), and the store."""

    query: Query
    moments: Moments
    step: int


def evaluated(of: Expression, asked: Asked) -> Value:
    """The value at each moment. UsageError where the query's parts do not fit, TooMuch where it is of too much."""
    if isinstance(of, Number):
        return np.full(len(asked.moments), of.value)
    if isinstance(of, Selector):
        return _selected(of, asked)
    if isinstance(of, Window):
        return _windowed(of, asked)
    if isinstance(of, Group):
        return _grouped(of, asked)
    if isinstance(of, Negative):
        return _negative(evaluated(of.of, asked))
    return _computed(of, asked)


def _series(of: Selector, asked: Asked) -> list[Series]:
    found = chosen(listed(asked.query.sensors()), of.matchers)
    if len(found) > MOST_SERIES or len(found) * len(asked.moments) > MOST_POINTS:
        raise TooMuch(
            f"The query is of {len(found)} series at {len(asked.moments)} moments; at most {MOST_SERIES} series and "
            f"{MOST_POINTS} points in all are taken. Choose fewer series, or a longer step."
        )
    return found


def _selected(of: Selector, asked: Asked) -> Vector:
    """In steps of a minute or more a gauge is the mean of the last minute: readings of a moment would stand for too much."""
    series, moments = _series(of, asked), asked.moments - of.offset
    plain = [each for each in series if each.counts or asked.step < MINUTE]
    rolled = [each for each in series if not each.counts and asked.step >= MINUTE]
    columns = [*windows.last(asked.query, plain, moments), *windows.last_minutes(asked.query, rolled, moments)]
    return [(each.labels, column) for each, column in zip((*plain, *rolled), columns, strict=True)]


def _windowed(of: Window, asked: Asked) -> Vector:
    series, ends = _series(of.of, asked), asked.moments - of.of.offset
    columns = windows.over(asked.query, series, of.function, ends - of.length, ends)
    return _distinct([(_unnamed(each.labels), column) for each, column in zip(series, columns, strict=True)])


def _grouped(of: Group, asked: Asked) -> Vector:
    members: dict[Labels, list[Column]] = {}
    for labels, column in _vector(evaluated(of.of, asked), of.function):
        if of.by:
            kept = tuple(pair for pair in labels if pair[0] in of.labels)
        else:
            kept = tuple(pair for pair in labels if pair[0] not in (*of.labels, NAME))
        members.setdefault(kept, []).append(column)
    return [(labels, _together(of.function, columns)) for labels, columns in members.items()]


def _together(function: str, columns: Sequence[Column]) -> Column:
    count = np.sum([column.there for column in columns], axis=0)
    there = count > 0
    if function == "count":
        return Column(count.astype(np.float64), there)
    if function in ("min", "max"):
        reduce = np.fmin if function == "min" else np.fmax
        value = np.full(len(count), np.nan)
        for column in columns:
            value = reduce(value, np.where(column.there, column.value, np.nan))
        return Column(value, there)
    total = np.zeros(len(count))
    for column in columns:
        total += np.where(column.there, column.value, 0.0)
    return Column(total / np.maximum(count, 1) if function == "avg" else total, there)


def _negative(value: Value) -> Value:
    if isinstance(value, np.ndarray):
        return -value
    return _distinct([(_unnamed(labels), Column(-column.value, column.there)) for labels, column in value])


def _computed(of: Arithmetic, asked: Asked) -> Value:
    compute = _SIGNS[of.sign]
    left, right = evaluated(of.left, asked), evaluated(of.right, asked)
    with np.errstate(all="ignore"):
        if isinstance(left, np.ndarray):
            if isinstance(right, np.ndarray):
                return compute(left, right)
            return _distinct([(_unnamed(n), Column(compute(left, c.value), c.there)) for n, c in right])
        if isinstance(right, np.ndarray):
            return _distinct([(_unnamed(n), Column(compute(c.value, right), c.there)) for n, c in left])
        ours = _distinct([(_unnamed(labels), column) for labels, column in left])
        theirs = dict(_distinct([(_unnamed(labels), column) for labels, column in right]))
        return [
            (labels, Column(compute(c.value, other.value), c.there & other.there))
            for labels, c in ours
            if (other := theirs.get(labels))
        ]


def _vector(value: Value, function: str) -> Vector:
    if isinstance(value, np.ndarray):
        raise UsageError(f"{function} is of series, not of a number.")
    return value


def _unnamed(labels: Labels) -> Labels:
    return tuple(pair for pair in labels if pair[0] != NAME)


def _distinct(vector: Vector) -> Vector:
    if len({labels for labels, _ in vector}) < len(vector):
        raise UsageError("Without their metric's name several series have the same labels. Select a single metric.")
    return vector


_SIGNS: dict[str, Callable[[Values, Values], Values]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "^": np.power,
}
