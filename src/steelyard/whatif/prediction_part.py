"""A question with its answer, as the screen and the page show it: the predictions as a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.model.units import quantity
from steelyard.model.words import plural
from steelyard.whatif.answer import Answer
from steelyard.whatif.conditions import COLUMNS, UNITS, Shown
from steelyard.whatif.question import Question


@dataclass(frozen=True)
class Part:
    """`whole` are the single values of the scenario; `title` is "" if there is one question."""

    asked: Question
    answer: Answer
    whole: Mapping[str, Any]
    title: str = ""


def describe_mode(asked: Question) -> str:
    """Returns the mode, or the rule that replaces it if all points have it."""
    return "receive=stream" if all(p.network.receive == "stream" for p in asked.points) else f"mode {asked.mode}"


def make_table(found: Answer, ranks: int) -> tuple[list[str], list[list[str]]]:
    """Returns the headings and rows of the predictions, with a column for each condition that varies, and for draws."""
    points = [p.point for p in found.predictions]
    columns: tuple[tuple[str, Shown], ...] = (
        *COLUMNS,
        ("affected", lambda p: f"{100 * p.affected:g} % ({p.count_affected_ranks(ranks)} of {plural(ranks, 'rank')})"),
    )
    varying = [(name, say) for name, say in columns if len({say(p) for p in points}) > 1]
    traced = found.unchanged[0].point
    varying = varying or [(name, say) for name, say in columns if say(points[0]) != say(traced)]
    varying = varying or [(name, say) for name, say in COLUMNS[: 1 + len(UNITS)] if say(points[0]).strip("0 s/B")]
    headings = [*(name for name, _ in varying), "time"]
    drawn = any(p.low is not None for p in found.predictions)
    beside = any(p.point != base.point for p, base in zip(found.predictions, found.undisturbed, strict=True))
    faster = any(p.point != base.point for p, base in zip(found.predictions, found.as_traced, strict=True))
    headings += ["95 % of mean"] * drawn + ["undisturbed"] * beside + ["cores as traced"] * faster
    rows = []
    for prediction, base, as_traced in zip(found.predictions, found.undisturbed, found.as_traced, strict=True):
        row = [*(say(prediction.point) for _, say in varying), quantity(prediction.time, "s", 4)]
        if drawn:
            low, high = prediction.low, prediction.high
            row.append("" if low is None or high is None else f"{quantity(low, 's', 4)} – {quantity(high, 's', 4)}")
        if beside:
            row.append(_format_ratio(prediction.time, base.time))
        if faster:
            row.append(_format_ratio(prediction.time, as_traced.time))
        rows.append(row)
    return headings, rows


def _format_ratio(time: float, base: float) -> str:
    """Returns a ratio with four digits and without an exponent, or "" if its base is nothing."""
    return "" if not base else f"× {time / base:.4g}" if time < 9999.5 * base else f"× {time / base:.0f}"
