"""From values to places on a sheet: the axes of a plot as Plotly's JSON has them, with their ticks."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.report.pictures.sheet import lines_of, width_of

Json = dict[str, Any]
MOST_TICKS = 6  # of a linear axis that names none


@dataclass(frozen=True, kw_only=True)
class Scale:
    """An axis: `low` and `high` in its own numbers (logarithms where it is one), at the pixels `start` and `end`."""

    kind: str  # "linear", "log" or "category"
    names: tuple[str, ...]  # of categories
    low: float
    high: float
    start: float
    end: float

    def number(self, value: object) -> float | None:
        """The value in the axis's own numbers; None where it has no place."""
        if value is None:
            return None
        if self.kind == "category":
            return float(self.names.index(str(value))) if str(value) in self.names else None
        number = float(value)  # type: ignore[arg-type]
        if self.kind == "log":
            return math.log10(number) if number > 0 else None
        return number if math.isfinite(number) else None

    def at(self, number: float) -> float:
        """The pixel of one of the axis's own numbers."""
        return self.start + (number - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)

    def place(self, value: object) -> float | None:
        """The pixel of a value."""
        number = self.number(value)
        return None if number is None else self.at(number)

    @property
    def step(self) -> float:
        """The pixels of one of its own numbers: the room of a category."""
        return abs(self.end - self.start) / (abs(self.high - self.low) or 1.0)


def scale(axis: Json, positions: Iterable[object], start: float, end: float, bars: bool = False) -> Scale:
    """The axis over these values, or over its own range; `bars` stand on zero, and have half a place beside them."""
    values = [value for value in positions if value is not None]
    if axis.get("type") == "category":
        names = tuple(axis.get("categoryarray") or dict.fromkeys(map(str, values)))
        low, high = -0.5, max(0, len(names) - 1) + 0.5
        if axis.get("autorange") == "reversed":
            low, high = high, low
        return Scale(kind="category", names=names, low=low, high=high, start=start, end=end)
    log = axis.get("type") == "log"
    raw = Scale(kind="log" if log else "linear", names=(), low=0, high=1, start=start, end=end)
    numbers = [number for value in values if (number := raw.number(value)) is not None] or [0.0, 1.0]
    low, high = min(numbers), max(numbers)
    if "range" in axis:
        low, high = axis["range"]
    else:
        if not log and (bars or axis.get("rangemode") == "tozero"):
            low, high = min(low, 0.0), max(high, 0.0)
        margin = 0.05 * (high - low) or (0.3 if log else 0.5)
        standing = not log and axis.get("rangemode") == "tozero"
        low, high = (
            (low if standing and low == 0 else low - margin),
            (high if standing and high == 0 else high + margin),
        )
    if axis.get("autorange") == "reversed":
        low, high = high, low
    return Scale(kind=raw.kind, names=(), low=low, high=high, start=start, end=end)


def ticks(axis: Json, axis_scale: Scale) -> list[tuple[float, str]]:
    """Pixels and labels of the ticks that lie on the axis."""
    if axis_scale.kind == "category":
        return [(axis_scale.at(float(number)), name) for number, name in enumerate(axis_scale.names)]
    if "tickvals" in axis:
        pairs = zip(axis["tickvals"], axis.get("ticktext") or map(str, axis["tickvals"]), strict=True)
        named = [(axis_scale.number(value), label) for value, label in pairs]
    else:
        named = [(value, f"{value:.6g}") for value in _round(axis_scale)]
    low, high = sorted((axis_scale.low, axis_scale.high))
    slack = 1e-6 * (high - low)
    return [
        (axis_scale.at(n), lines_of(label)[0])
        for n, label in named
        if n is not None and low - slack <= n <= high + slack
    ]


def _round(axis_scale: Scale) -> list[float]:
    """Round numbers on a linear axis, between three and `MOST_TICKS` of them."""
    low, high = sorted((axis_scale.low, axis_scale.high))
    rough = (high - low) / MOST_TICKS or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough)
    return [round(n * step, 12) for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def thinned(labels: Sequence[tuple[float, str]], room: float, size: float) -> list[tuple[float, str]]:
    """Those of the ticks of a horizontal axis whose labels stay apart, from the first on."""
    kept: list[tuple[float, str]] = []
    for at, label in labels:
        half = width_of(label, size) / 2
        if not kept or at - half > kept[-1][0] + width_of(kept[-1][1], size) / 2 + room:
            kept.append((at, label))
    return kept
