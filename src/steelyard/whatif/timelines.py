"""What the ranks do at which time, undisturbed and disturbed, over the same time; and how long messages are on their way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.whatif.engine import Engine
from steelyard.whatif.question import PS, Point, Question, line

STEPS = 100  # of time: with 24 lines of ranks twice, so many cells as a picture can show
CLEAR = 3.0  # times the undisturbed time: beyond it the undisturbed replay is too short beside the other to be read
NS, BINS = 1e-9, 10  # of the time on the way, in each factor of ten


@dataclass(frozen=True)
class Timeline:
    """A replay of `time` s: shares of each step's time by line of ranks; `sent`: how many messages were so long on their way."""

    point: Point
    time: float
    computing: tuple[tuple[float, ...], ...]
    talking: tuple[tuple[float, ...], ...]
    sent: tuple[int, ...]


@dataclass(frozen=True)
class Timelines:
    """Both over the time `span` (s) of the longer; `together` neighbouring ranks share a line."""

    undisturbed: Timeline
    disturbed: Timeline
    span: float
    together: int


def chosen(slowdowns: Sequence[tuple[Point, float]]) -> Point | None:
    """The point that costs most of those that can be read beside the undisturbed one, or else that which costs least."""
    known = [(point, slow) for point, slow in slowdowns if point.random and not point.noise.recording]
    clear = [pair for pair in known if pair[1] <= CLEAR]
    if clear:
        return max(clear, key=lambda pair: pair[1])[0]
    return min(known, key=lambda pair: pair[1])[0] if known else None


def timelines(engine: Engine, question: Question, point: Point) -> Timelines:
    """Of the first draw, without contention."""
    # What follows on a connection can reveal a loss where there is an order of time only.
    drawn = replace(point, loss=replace(point.loss, sack=False))
    asked = replace(question, points=(point.undisturbed, drawn), repeats=1, mode="dataflow", recording=None)
    found = engine.ask(f"{line(asked)} timelines={STEPS}")
    times = [time / PS for time in found["time"]]
    points = (point.undisturbed, point)
    before, after = (_timeline(*each) for each in zip(points, times, found["timelines"], strict=True))
    return Timelines(before, after, max(times), found["together"])


def edge(number: int) -> float:
    """From which time on the way (s) a bin counts."""
    return float(NS * 10 ** (number / BINS))


def _timeline(point: Point, time: float, found: Mapping[str, Any]) -> Timeline:
    computing, talking = (tuple(map(tuple, found[name])) for name in ("computing", "talking"))
    return Timeline(point, time, computing, talking, tuple(found["sent"]))
