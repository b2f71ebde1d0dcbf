"""Sentences about the cost of loss and noise: they cost time, they do not, or the draws are too few to decide."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from steelyard.units import nominal, quantity
from steelyard.whatif import growth
from steelyard.whatif.answer import Answer, Prediction
from steelyard.whatif.growth import list_lines, without_loss
from steelyard.whatif.question import Point
from steelyard.words import plural

TENTH_MORE = 1.1  # of the undisturbed time: a slowdown that people ask for
MOST_LOSSES = 3  # probabilities that the first sentences name, the greatest first
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
    def costs(self) -> bool | None:
        """Returns whether it costs more than a tenth of the time; None if the interval includes a tenth."""
        return True if self.low > TENTH_MORE else False if self.high <= TENTH_MORE else None

    @property
    def enough(self) -> int:
        """Returns a number of draws that suffices for an answer, if their mean and their spread stay as they are."""
        away = abs(self.times - TENTH_MORE)
        half = max(self.high - self.times, self.times - self.low)
        draws = len(self.prediction.times)
        factor = min(max((half / away) ** 2, 4), MOST_REPEATS) if away else MOST_REPEATS
        return int(min(MOST_REPEATS, 2 ** math.ceil(math.log2(draws * factor))))


Line = list[Slowdown]


def sentences(answer: Answer, ranks: int) -> tuple[str, ...]:
    """Returns first how much longer the program takes, then the ranks and the probability from which it costs a tenth."""
    slowdowns = [
        _slowdown(p, base.time)
        for p, base in zip(answer.predictions, answer.undisturbed, strict=True)
        if p.point.random and base.time
    ]
    if not slowdowns:
        return ()
    return (
        *_losses(slowdowns),
        *growth.sentences([(s.prediction, s.base) for s in slowdowns], ranks),
        _range(slowdowns),
        *_name_ranks(slowdowns, ranks),
        *_name_probability(slowdowns),
    )


def _slowdown(p: Prediction, base: float) -> Slowdown:
    low, high = (p.time if end is None else end for end in (p.low, p.high))
    return Slowdown(p, base, p.time / base, low / base, high / base)


def _losses(found: Line) -> Iterator[str]:
    """States the slowdown of each probability by time-out, for the largest share of ranks and the first other conditions."""
    lossy = [s for s in found if s.point.loss.probability]
    if not lossy:
        return

    def other(point: Point) -> Point:
        return replace(point, loss=replace(point.loss, probability=0.0, rto=0.0))

    widest = max(s.point.affected for s in lossy)
    first = other(next(s.point for s in lossy if s.point.affected == widest))
    alike = [s for s in lossy if other(s.point) == first]
    for probability in sorted({s.point.loss.probability for s in alike}, reverse=True)[:MOST_LOSSES]:
        line = [s for s in alike if s.point.loss.probability == probability]
        line.sort(key=lambda s: -s.point.loss.rto)
        parts = [
            f"by {s.times:.3g} with {'a time-out of ' if s == line[0] else ''}{nominal(s.point.loss.rto, 's', 6)}{_doubt(s)}"
            for s in line
        ]
        yield f"With {100 * probability:g} % loss, the time is multiplied {', '.join(parts)}."


def _doubt(s: Slowdown) -> str:
    return f" (95 % interval: {s.low:.3g} to {s.high:.3g})" if s.costs is None else ""


def _range(found: Line) -> str:
    """The worst of the disturbed points."""
    worst = max(found, key=lambda s: s.times)
    least, most = (extreme(worst.prediction.times) / worst.base for extreme in (min, max))
    return (
        f"In the worst condition, the mean of {plural(len(worst.prediction.times), 'random replay')} is "
        f"{worst.times:.3g} times the undisturbed time. These replays take between {least:.3g} and {most:.3g} "
        "times the undisturbed time."
    )


def _answered(line: Line, condition: str, where: Callable[[Point], str]) -> str:
    """Names the first point of a line that surely costs a tenth; or says that none does, or that the draws are too few."""
    over = next((s for s in line if s.costs), None)
    before = line if over is None else line[: line.index(over)]
    doubtful = [s for s in before if s.costs is None]
    if over:
        perhaps = f", perhaps from {where(doubtful[0].point)} on" if doubtful else ""
        return f"{condition}, the time grows by more than 10 % from {where(over.point)} on ({over.times:.3g} times){perhaps}."
    if doubtful:
        unsure = doubtful[-1]
        return (
            f"{condition}, {plural(len(unsure.prediction.times), 'random replay')} are too few to decide whether the "
            f"time grows by 10 % with {where(unsure.point)} (95 % interval: {unsure.low:.3g} to {unsure.high:.3g} "
            f"times). Use --set repeats={unsure.enough}."
        )
    last = line[-1]
    return f"{condition}, the time grows by less than 10 %, even with {where(last.point)} ({last.times:.3g} times)."


def _name_ranks(found: Line, ranks: int) -> Iterator[str]:
    """Names the fewest affected ranks that cost a tenth, under the harshest of the conditions that are swept over ranks."""

    def where(point: Point) -> str:
        return f"{plural(point.affected_ranks(ranks), 'rank')} of {ranks}"

    lines = list_lines(found, lambda s: s.point, lambda p: replace(p, affected=1.0), lambda p: p.affected)
    for line in sorted(lines, key=lambda line: -line[-1].times)[:1]:
        yield _answered(line, f"If some of the ranks have {_conditions(line[0].point)}", where)


def _name_probability(found: Line) -> Iterator[str]:
    """Names for each time-out the smallest probability of the sweep that costs a tenth."""
    for line in list_lines(found, lambda s: s.point, without_loss, lambda p: p.loss.probability):
        if line[0].point.affected == 1:
            rto = f"With a smallest time-out of {quantity(line[0].point.loss.rto, 's')}"
            yield _answered(line, rto, lambda point: f"a loss of {_loss(point)}")


def _loss(point: Point) -> str:
    return f"{100 * point.loss.probability:g} %"


def _conditions(point: Point) -> str:
    if point.loss.probability:
        return f"a loss of {_loss(point)} with a smallest time-out of {quantity(point.loss.rto, 's')}"
    return f"interruptions of {quantity(point.noise.duration, 's')}"
