"""Timelines of the ranks, undisturbed and disturbed, over the same time; and the times of messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.whatif.engine import Engine
from steelyard.whatif.question import PS, Point, Question, write_line

STEPS = 100  # of time: with 24 lines of ranks, twice, as many cells as a figure can show
CLEAR = 3.0  # slowdown above which the undisturbed timeline is too short to be read
NS, BINS = 1e-9, 10  # bins of the times of messages in each decade


@dataclass(frozen=True)
class Timeline:
    """A replay of `time` s: shares of each step's time by line of ranks; `sent`: number of messages by their time."""

    point: Point
    time: float
    computing: tuple[tuple[float, ...], ...]
    talking: tuple[tuple[float, ...], ...]
    sent: tuple[int, ...]


@dataclass(frozen=True)
class Timelines:
    """Both timelines over the time `span` (s) of the longer one; `together` neighbouring ranks share a line."""

    undisturbed: Timeline
    disturbed: Timeline
    span: float
    together: int


def choose_point(slowdowns: Sequence[tuple[Point, float]]) -> Point | None:
    """Returns the point with the greatest slowdown up to `CLEAR`, or else the one with the smallest slowdown."""
    candidates = [(point, slow) for point, slow in slowdowns if point.random and not point.noise.recording]
    clear = [pair for pair in candidates if pair[1] <= CLEAR]
    if clear:
        return max(clear, key=lambda pair: pair[1])[0]
    return min(candidates, key=lambda pair: pair[1])[0] if candidates else None


def replay_timelines(engine: Engine, question: Question, point: Point) -> Timelines:
    """Returns the timelines of the first draw, without contention."""
    # Later packets can reveal a loss only in mode event, which has no timelines.
    drawn = replace(point, loss=replace(point.loss, sack=False))
    asked = replace(question, points=(point.undisturbed, drawn), repeats=1, mode="dataflow", recording=None)
    reply = engine.ask(f"{write_line(asked)} timelines={STEPS}")
    times = [time / PS for time in reply["time"]]
    points = (point.undisturbed, point)
    before, after = (read_timeline(*line_of) for line_of in zip(points, times, reply["timelines"], strict=True))
    return Timelines(before, after, max(times), reply["together"])


def edge(number: int) -> float:
    """Returns the lower edge of a bin of times of messages, in s."""
    return float(NS * 10 ** (number / BINS))


def read_timeline(point: Point, time: float, found: Mapping[str, Any]) -> Timeline:
    """Returns the timeline in a reply of the engine, of a replay that took `time` s."""
    computing, talking = (tuple(map(tuple, found[name])) for name in ("computing", "talking"))
    return Timeline(point, time, computing, talking, tuple(found["sent"]))
