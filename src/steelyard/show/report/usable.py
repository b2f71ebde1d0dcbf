"""Whether a run can be used, and for which of its main figures: those that another run would repeat."""

import math
from collections.abc import Sequence

from steelyard.judge import findings
from steelyard.model import Finding, units
from steelyard.model.record import Span
from steelyard.model.words import joined
from steelyard.show.report import values
from steelyard.show.report.summary import Figure

TITLES = {  # in plainer words than those of the benchmarks, and short ones
    "triad": "Triad (memory)", "G": "Random access", "L": "Access in order", "message": "Short message",
    "messages": "Long messages", "device_triad": "Device (Triad)", "device_flops": "Device, FP64",
    "device_matrix": "Device, FP16",
}  # fmt: skip
MOST_FIGURES = 6
DROPPED = ("L", "G", "device_launch", "device_latency", "device_from_device", "messages")  # first, of too many figures
SURE = 0.25  # half of the range of another run, up to which a figure can be used


def describe(figures: Sequence[Figure], all_findings: Sequence[Finding]) -> str:
    """Returns a sentence on whether the run can be used, and for which figures not."""
    chosen = choose(figures)
    poor = [f for f in chosen if not _is_sure(f)]
    if not chosen:
        return "No main figure was measured."
    if any(finding.rule == findings.WRONG for finding in all_findings):
        return "Not usable before it is known why results are wrong (see below)."
    if not poor:
        return f"Usable: each figure is sure to ± {units.percent(SURE)} or better."
    reason = f"doubtful, or not within ± {units.percent(SURE)}"
    good = [f for f in chosen if f not in poor]
    if not good:
        return f"Not usable: each figure is {reason}."
    if len(good) < len(poor):
        return f"Usable only for {joined(map(name_figure, good))}: the others are {reason}."
    return f"Usable, but not for {joined(map(name_figure, poor))} ({reason})."


def choose(figures: Sequence[Figure]) -> list[Figure]:
    """Returns at most `MOST_FIGURES`: of more, those go first that say the least about a machine."""
    chosen = list(figures)
    for name in DROPPED:
        chosen = [f for f in chosen if f.name != name] if len(chosen) > MOST_FIGURES else chosen
    return chosen[:MOST_FIGURES]


def name_figure(figure: Figure) -> str:
    """Returns the title of a figure in a few plain words."""
    return TITLES.get(figure.name, figure.title)


def find_range(figure: Figure) -> Span | None:
    """Returns the range in which another run lies, up to the limit; None if it is unknown, or no value of Steelyard."""
    value = figure.value
    if value is None or value.statistic or not figure.shown.value:
        return None
    ends = value.undisturbed or value.now or (value.low, value.high)
    low, high = ends
    whole = None if low is None or high is None or low <= 0 else (low, high)
    return values.limit_span(whole, value, figure.limit)


def half_range(figure: Figure) -> float | None:
    """Returns half of the range in which another run lies, relative to the value; None if it is unknown."""
    ends = find_range(figure)
    return math.sqrt(ends[1] / ends[0]) - 1 if ends else None


def _is_sure(figure: Figure) -> bool:
    """Returns whether the figure can be used: nothing doubts it, and another run is not far from it."""
    half = half_range(figure)
    return half is not None and half <= SURE and not (figure.shown.above or figure.doubted)
