"""Axes of the figures: prefixes, ticks and labels for Plotly."""

import html
import math
import re
from collections.abc import Iterable
from typing import Any

from steelyard.model import units
from steelyard.model.figure import Axis
from steelyard.show.report import values

Json = dict[str, Any]

MOST_NAMED_TICKS = 12  # beyond this the labels of an axis run into each other


def scale(reference: float, unit: str) -> tuple[float, str]:
    """Returns the factor and the prefixed unit of `units.quantity` for `reference`: 3e10 B/s → (1e9, 'GB/s')."""
    if not math.isfinite(reference) or reference == 0:
        return 0.01 if unit == "%" else 1.0, unit
    mantissa, _, label = units.quantity(reference, unit, 6).partition(" ")
    return 10.0 ** round(math.log10(abs(reference) / abs(float(mantissa)))), label


def title(axis: Axis, unit: str) -> str:
    """Returns the title of an axis with its unit in brackets."""
    return text(f"{capital(axis.title)} ({unit})" if unit else capital(axis.title))


def capital(name: str) -> str:
    """Returns the name with a capital letter, unless it is a symbol such as α."""
    return name[:1].upper() + name[1:] if name[:2].isascii() and name[:2].islower() and len(name) > 1 else name


def label(value: float | str | None, axis: Axis, digits: int = 3) -> str:
    """Returns a position on an axis as text: bytes with binary prefixes, all other units by `units.quantity`."""
    if value is None or isinstance(value, str):
        return "–" if value is None else value
    if axis.unit == "B" and float(value).is_integer() and value >= 0:
        return units.binary_size(int(value))
    if axis.unit == "" and float(value).is_integer():
        return f"{int(value):,}".replace(",", "\u202f")
    return values.quantity(value, axis.unit, digits)


def text(raw: str) -> str:
    """Returns `raw` with escapes, since Plotly reads a subset of HTML in every text."""
    return html.escape(raw, quote=False)


def tick(value: float | str, axis: Axis) -> str:
    """Returns the `label` of a tick without trailing zeros: '0.05', '10 ns'."""
    return re.sub(r"(\.\d*?)0+(?=\s|$)", lambda zeros: zeros[1].rstrip("."), label(value, axis))


def plotted(axis: Axis, positions: list[Any], ends: Iterable[float | None] = ()) -> tuple[float, Json]:
    """Returns the factor that divides the values, and Plotly's axis. A category axis has the factor 1.

    `ends` are the ends of the intervals. The axis contains them too.
    """
    numbers = [float(v) for v in positions if not isinstance(v, str) and math.isfinite(v)]
    if len(numbers) < len(positions) or not numbers:
        return 1.0, {"type": "category", "title": {"text": title(axis, axis.unit)}, "automargin": True}
    if axis.log:
        positive = [n for n in numbers if n > 0]
        shown: Json = {"type": "log", "title": {"text": title(axis, "")}, "automargin": True}
        within = [*positive, *(end for end in ends if end is not None and 0 < end < math.inf)]
        # Intervals that are far wider than the values stretch the axis, and its ticks must not stand in one place.
        wide = _decades(within) > _decades(positive) + 1
        return 1.0, shown | _framed(log_ticks(within if wide else positive, axis), within, axis)
    if axis.unit == "B" and 1 < len(set(numbers)) <= MOST_NAMED_TICKS:
        ticks = sorted(set(numbers))
        return 1.0, {"type": "linear", "title": {"text": title(axis, "")}, "automargin": True} | _label(ticks, axis)
    factor, unit = scale(max(numbers, key=abs), axis.unit)
    linear: Json = {"type": "linear", "title": {"text": title(axis, unit)}, "automargin": True}
    whole = sorted(set(numbers))
    if axis.unit == "" and 1 < len(whole) <= MOST_NAMED_TICKS and all(n.is_integer() for n in whole):
        linear |= {"tickmode": "array", "tickvals": whole, "ticktext": [tick(n, axis) for n in whole]}
        return 1.0, linear
    return factor, linear


def _decades(positive: list[float]) -> float:
    return math.log10(max(positive) / min(positive)) if positive else 0.0


def _label(ticks: list[float], axis: Axis) -> Json:
    return {"tickmode": "array", "tickvals": ticks, "ticktext": [tick(at, axis) for at in ticks]}


def _framed(ticks: list[float], within: list[float], axis: Axis) -> Json:
    """Returns the ticks of a logarithmic axis. With fewer than two ticks within its values, it extends to round numbers."""
    if not within:
        return _label(ticks, axis)
    low, high = min(within), max(within)
    inside = [at for at in ticks if low <= at <= high]
    if len(inside) > 1:
        return _label(ticks, axis)
    counts = axis.unit == "B" or (axis.unit == "" and all(n.is_integer() for n in within))
    steps = (1, 2, 4, 8) if axis.ratio or counts else (1, 1.5, 2, 3, 5, 7)
    base = 16.0 if axis.ratio or counts else 10.0
    first, last = math.floor(math.log(low, base)) - 1, math.ceil(math.log(high, base)) + 1
    rounds = [step * base**power for power in range(first, last + 1) for step in steps]
    rounds = [at for at in rounds if at >= 1] if counts and low >= 1 else rounds
    below, above = [at for at in rounds if at < low][-1:], [at for at in rounds if at > high][:1]
    framing = sorted({*below, *inside, *above})
    ends = math.log10(min(low, *framing) / 1.04), math.log10(max(high, *framing) * 1.04)
    return _label(framing, axis) | {"range": list(ends)}


def log_ticks(numbers: list[float], axis: Axis) -> list[float]:
    """Returns a few round ticks of a logarithmic axis: the values, powers of two (always for ratios), or 1-2-5."""
    if not numbers:
        return []
    whole = sorted(set(numbers))
    if not axis.ratio and axis.unit == "" and len(whole) <= MOST_NAMED_TICKS and all(n.is_integer() for n in whole):
        return whole
    low, high = min(numbers), max(numbers)
    if axis.ratio or (axis.unit in {"B", ""} and all(n.is_integer() for n in whole)):
        first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
        step = max(1, math.ceil((last - first) / 8))
        return [2.0**power for power in range(first - first % step, last + 1, step)]
    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high))
    decades = math.log10(high / low)
    # Between four and eight ticks, whatever the span.
    mantissas: tuple[float, ...] = (1, 1.5, 2, 3, 4, 5, 6, 8)
    for least, fewer in ((0.7, (1, 2, 5)), (1.7, (1, 3)), (4, (1,))):
        mantissas = fewer if decades > least else mantissas
    # A little beyond the ends, so that a short axis has its ticks too.
    margin = 1.3 if decades <= 0.7 else 2.5
    ticks = [m * 10.0**power for power in range(first, last + 1) for m in mantissas]
    return [tick for tick in ticks if low / margin <= tick <= high * margin]


def divided(value: float | None, factor: float) -> float | None:
    """Returns `value / factor`, or None without a finite value."""
    return None if value is None or not math.isfinite(value) else value / factor
