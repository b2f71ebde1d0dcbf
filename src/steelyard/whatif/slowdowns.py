"""Sentences about the cost of loss and noise: they cost time, they do not, or the draws are too few to decide."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from steelyard.model.units import nominal, quantity, significant
from steelyard.model.words import plural
from steelyard.whatif import growth
from steelyard.whatif.answer import Answer, Prediction
from steelyard.whatif.conditions import disturbances, how_often, label
from steelyard.whatif.growth import list_lines, without_loss
from steelyard.whatif.question import Point

TENTH_MORE = 1.1  # of the undisturbed time: a slowdown that people ask for
MOST_LOSSES = 3  # probabilities that the first sentences name, the greatest first
MOST_LINES = 6  # combinations of conditions with sentences of their own
MOST_REPEATS = 1 << 20


@dataclass(frozen=True)
class Slowdown:
    """The time of a disturbed point, as times the undisturbed one: the mean of the draws, and the interval of this mean."""

    prediction: Prediction
    base: float  # undisturbed time in s
    times: float
    low: float
    high: float

    @property
    def point(self) -> Point:
        """Its conditions."""
        return self.prediction.point

    @property
    def is_costly(self) -> bool | None:
        """Returns whether it costs more than a tenth of the time; None if the interval includes a tenth."""
        return True if self.low > TENTH_MORE else False if self.high <= TENTH_MORE else None

    @property
    def needed_draws(self) -> int:
        """Returns a number of draws that suffices for an answer, if their mean and their spread stay as they are."""
        away = abs(self.times - TENTH_MORE)
        half = max(self.high - self.times, self.times - self.low)
        draws = len(self.prediction.times)
        is_late = max(self.prediction.times) > min(self.prediction.times)
        power = 2 if is_late else 1  # without a late draw, only the upper end of their share shrinks
        factor = min(max((half / away) ** power, 4), MOST_REPEATS) if away else MOST_REPEATS
        return int(min(MOST_REPEATS, 2 ** math.ceil(math.log2(draws * factor))))


Line = list[Slowdown]


def describe(answer: Answer, ranks: int) -> tuple[str, ...]:
    """Returns first how much longer the program takes, then the ranks and the probability from which it costs a tenth."""
    slowdowns = [
        _compare_with_base(p, base.time)
        for p, base in zip(answer.predictions, answer.undisturbed, strict=True)
        if p.point.random and base.time
    ]
    if not slowdowns:
        return tuple(_describe_cores(answer))
    lossy = [_compare_with_base(s.prediction, answer.without[s.point][0]) for s in slowdowns]  # noise stays
    return (
        *_describe_cores(answer),
        *_describe_losses(lossy),
        *_describe_noises(answer),
        *growth.describe_growth(answer, ranks),
        _describe_range(slowdowns),
        *_name_ranks(slowdowns, ranks),
        *_name_probability(lossy),
    )


def _compare_with_base(p: Prediction, base: float) -> Slowdown:
    low, high = (p.time if end is None else end for end in (p.low, p.high))
    return Slowdown(p, base, p.time / base, low / base, high / base)


def _describe_cores(answer: Answer) -> Iterator[str]:
    """States what the changed cores alone do to the time."""
    pairs = dict.fromkeys(zip(answer.undisturbed, answer.unchanged, strict=True))
    changed = [(p, base) for p, base in pairs if p.point != base.point and base.time]
    others = [p.point for p, _ in changed]
    for p, base in changed[:MOST_LINES]:
        cores = [f"× {p.point.core:g}"] * (p.point.core != 1) + [str(speed) for speed in p.point.speeds]
        where = label(p.point, others, "cores", "some cores")
        yield (
            f"With cores {', '.join(cores)}{where}, the time is {_times(p.time / base.time)} times that of the cores as traced: "
            f"{quantity(p.time, 's', 4)} instead of {quantity(base.time, 's', 4)}, without loss and noise."
        )


def _describe_losses(found: Line) -> Iterator[str]:
    """States the slowdown of each probability by time-out, for the largest share of ranks and for all other conditions."""
    lossy = [s for s in found if s.point.loss.probability]
    if not lossy:
        return

    def other(point: Point) -> Point:
        return replace(point, loss=replace(point.loss, probability=0.0, rto=0.0))

    widest = max(s.point.affected for s in lossy)
    lines: dict[tuple[float, Point], Line] = {}
    for s in (s for s in lossy if s.point.affected == widest):
        lines.setdefault((-s.point.loss.probability, other(s.point)), []).append(s)
    greatest = sorted({key[0] for key in lines})[:MOST_LOSSES]
    for key in sorted((key for key in lines if key[0] in greatest), key=lambda key: key[0])[:MOST_LINES]:
        line = sorted(lines[key], key=lambda s: -s.point.loss.rto)
        where = label(line[0].point, [s.point for s in found], "loss", "RTO", "affected")
        parts = [
            f"by {_times(s.times)} with {'a time-out of ' if s == line[0] else ''}{nominal(s.point.loss.rto, 's', 6)}{_warn(s)}"
            for s in line
        ]
        yield f"With {_format_loss(line[0].point)} loss{where}, the time is multiplied {', '.join(parts)}."
    if len(lines) > MOST_LINES:
        yield f"The table shows the others of the {len(lines)} combinations of loss and other conditions."


def _describe_noises(answer: Answer) -> Iterator[str]:
    """States the slowdown by noise alone where there are losses, too."""
    found = [p for p in answer.predictions if p.point.loss.probability and p.point.noise.duration]
    for p in [p for p in found if answer.without[p.point][1]][:MOST_LINES]:
        what = f"interruptions of {quantity(p.point.noise.duration, 's')} {how_often(p.point.noise)}"
        others = label(p.point, [p.point for p in found], "noise")
        yield f"With {what}{others}, the time is multiplied by {significant(p.time / answer.without[p.point][1], 3)}."


def _times(ratio: float) -> str:
    """Returns a ratio with three digits and without an exponent: '1.4', '1552'."""
    return f"{ratio:.3g}" if ratio < 999.5 else f"{ratio:.0f}"


def _warn(s: Slowdown) -> str:
    return f" (95 % interval: {_times(s.low)} to {_times(s.high)})" if s.is_costly is None else ""


def _describe_range(found: Line) -> str:
    """Returns the worst of the disturbed points."""
    worst = max(found, key=lambda s: s.times)
    draws = [significant(extreme(worst.prediction.times) / worst.base, 3) for extreme in (min, max)]
    count = len(worst.prediction.times)
    condition = f"In the worst condition{label(worst.point, [s.point for s in found])}"
    if count == 1:
        return f"{condition}, the only random replay takes {draws[0]} times the undisturbed time."
    return (
        f"{condition}, the mean of {count} random replays is {significant(worst.times, 3)} times the undisturbed time. "
        f"These replays take between {draws[0]} and {draws[1]} times the undisturbed time."
    )


def _describe_first_cost(line: Line, condition: str, where: Callable[[Point], str]) -> str:
    """Names the first point of a line that surely costs a tenth; or says that none does, or that the draws are too few."""
    over = next((s for s in line if s.is_costly), None)
    before = line if over is None else line[: line.index(over)]
    doubtful = [s for s in before if s.is_costly is None]
    if over:
        perhaps = f", perhaps from {where(doubtful[0].point)} on" if doubtful else ""
        return f"{condition}, the time grows by more than 10 % from {where(over.point)} on ({_times(over.times)} times){perhaps}."
    if doubtful:
        unsure = doubtful[-1]
        return (
            f"{condition}, {plural(len(unsure.prediction.times), 'random replay')} are too few to decide whether the "
            f"time grows by 10 % with {where(unsure.point)} (95 % interval: {_times(unsure.low)} to {_times(unsure.high)} "
            f"times). Use --set repeats={unsure.needed_draws}."
        )
    last = line[-1]
    return f"{condition}, the time grows by less than 10 %, even with {where(last.point)} ({_times(last.times)} times)."


def _name_ranks(found: Line, ranks: int) -> Iterator[str]:
    """Names the fewest affected ranks that cost a tenth, under the harshest of the conditions that are swept over ranks."""

    def where(point: Point) -> str:
        return f"{plural(point.count_affected_ranks(ranks), 'rank')} of {ranks}"

    lines = list_lines(found, lambda s: s.point, lambda p: replace(p, affected=1.0), lambda p: p.affected)
    for line in sorted(lines, key=lambda line: -line[-1].times)[:1]:
        others = label(line[0].point, [s.point for s in found], "loss", "RTO", "noise", "affected")
        yield _describe_first_cost(line, f"If some of the ranks have {disturbances(line[0].point)}{others}", where)


def _name_probability(found: Line) -> Iterator[str]:
    """Names for each time-out the smallest probability of the sweep that costs a tenth."""
    lines = list_lines(found, lambda s: s.point, without_loss, lambda p: p.loss.probability)
    for line in [line for line in lines if line[0].point.affected == 1][:MOST_LINES]:
        others = label(line[0].point, [s.point for s in found], "loss", "RTO", "affected")
        rto = f"With a smallest time-out of {quantity(line[0].point.loss.rto, 's')}{others}"
        yield _describe_first_cost(line, rto, lambda point: f"a loss of {_format_loss(point)}")


def _format_loss(point: Point) -> str:
    return f"{100 * point.loss.probability:g} %"
