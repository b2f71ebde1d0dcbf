"""Predictions of a replay with their intervals, and where the time goes."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from steelyard.errors import UsageError
from steelyard.whatif import phases, sensitivity, timelines
from steelyard.whatif.engine import Engine, Traced
from steelyard.whatif.factors import Efficiency, compute_efficiency
from steelyard.whatif.network import IDEAL
from steelyard.whatif.phases import Phases
from steelyard.whatif.question import PS, Point, Question, group_points, write_line
from steelyard.whatif.sensitivity import Sensitivity
from steelyard.whatif.timelines import Timelines
from steelyard.whatif.traced_run import TracedRun

DRAWS = 16  # of a random point for each single change: the same draws, so that their difference is that of the change


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The time of a point in s: the mean of its draws, with the 95 % interval of this mean if there are random draws."""

    point: Point
    time: float
    low: float | None
    high: float | None
    times: tuple[float, ...]
    seconds: float  # of the engine, for this point


@dataclass(frozen=True)
class Account:
    """The times of each rank in the undisturbed replay, in s."""

    computing: tuple[float, ...]
    talking: tuple[float, ...]  # message overhead of the processor
    waiting: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class CriticalPath:
    """The chain of waits that ends with the last rank, without contention: s of each kind, and s on each rank."""

    computing: float
    talking: float
    network: float
    messages: int  # on the path
    visited: int  # ranks, also those that need no time
    ranks: tuple[float, ...]

    @property
    def time(self) -> float:
        """Returns the length of the path in s."""
        return self.computing + self.talking + self.network


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Predictions in the order of the points; `undisturbed` are those without loss and noise, `unchanged` also with the cores
    of the trace. `as_traced` differ only in the cores, which are those of the trace.

    `shares`, `account`, `path` and `sensitivities` are of the replay `base`, where all points have the same one; `phases`
    are the trace's own, and `traced` its run (`comparable`: its time is that of the whole replay). `gains` are of `worst`, the
    slowest random point, or else of `base`; `without` has the time of each point without its losses, and without its noise.
    """

    predictions: tuple[Prediction, ...]
    undisturbed: tuple[Prediction, ...]
    unchanged: tuple[Prediction, ...]
    as_traced: tuple[Prediction, ...]
    shares: Efficiency | None
    account: Account | None
    path: CriticalPath | None
    sensitivities: tuple[Sensitivity, ...]
    seconds: float  # of the engine
    phases: Phases | None = None
    traced: Traced | None = None
    comparable: bool = False
    timelines: Timelines | None = None  # None if nothing disturbs the replay
    base: Prediction | None = None
    worst: Prediction | None = None
    gains: tuple[Sensitivity, ...] = ()
    without: Mapping[Point, tuple[float, float]] = field(default_factory=dict)
    traced_run: TracedRun | None = None  # of the first answer of a page: its reader takes the whole trace once more


Detail = Literal["times", "words", "whole"]  # predictions alone; also for the sentences; also for the figures


def answer(
    engine: Engine,
    question: Question,
    show: Callable[[int, int], None] = lambda done, of: None,
    detail: Detail = "whole",
) -> Answer:
    """Answers a question with the engine. Calls `show` with the number of finished replays and of all replays."""
    points = question.points
    plain = tuple(dict.fromkeys(p.undisturbed for p in points))
    plain = plain if len(plain) == 1 else tuple(dict.fromkeys(p.unchanged for p in points))
    account = _account_for_time(engine, question, plain[0]) if len(plain) == 1 and detail != "times" else None
    by_point = {plain[0]: account.prediction} if account else {}
    predictions: list[Prediction] = []
    if account and points == plain:
        predictions.append(account.prediction)
    else:
        total = sum(question.repeats if p.random else 1 for p in points)
        for part, words in group_points(question):
            predictions += _make_predictions(part, engine.ask(words))
            show(sum(len(p.times) for p in predictions), total)
        predictions = _narrow_intervals(engine, question, predictions)
    by_point |= {p.point: p for p in predictions}
    bases = dict.fromkeys(
        base for p in points for base in (p.undisturbed, p.unchanged, p.as_traced, p.without_loss, p.without_noise)
    )
    missing = replace(question, points=tuple(base for base in bases if base not in by_point))
    by_point |= {p.point: p for p in _replay_question(engine, missing)}
    seconds = sum(p.seconds for p in by_point.values())
    worst = max((p for p in predictions if p.point.random), key=lambda p: p.time, default=None)
    explained = worst if account and worst and worst.time and detail != "times" else None
    # In words, the gains of the slowest prediction take their place.
    base = account.prediction if account and (detail == "whole" or not explained) else None
    sensitivities = _find_sensitivities(engine, question, base, detail == "whole") if base else ()
    return Answer(
        predictions=tuple(predictions),
        undisturbed=tuple(by_point[p.undisturbed] for p in points),
        unchanged=tuple(by_point[p.unchanged] for p in points),
        as_traced=tuple(by_point[p.as_traced] for p in points),
        shares=account.shares if account else None,
        account=account.ranks if account else None,
        path=account.path if account else None,
        sensitivities=sensitivities,
        base=account.prediction if account else None,
        worst=explained,
        gains=_find_sensitivities(engine, question, explained, False) if explained else sensitivities,
        without={p: (by_point[p.without_loss].time, by_point[p.without_noise].time) for p in points},
        traced=engine.trace.traced,
        comparable=engine.trace.comparable,
        seconds=seconds,
        phases=account.phases if account else None,
        timelines=_make_timelines(engine, question, predictions, by_point) if detail == "whole" else None,
    )


def _make_timelines(
    engine: Engine, question: Question, predictions: list[Prediction], by_point: dict[Point, Prediction]
) -> Timelines | None:
    slowdowns = [(p.point, p.time / base) for p in predictions if (base := by_point[p.point.undisturbed].time)]
    point = timelines.choose_point(slowdowns)
    return timelines.replay_timelines(engine, question, point) if point else None


def _find_sensitivities(engine: Engine, question: Question, base: Prediction, whole: bool) -> tuple[Sensitivity, ...]:
    # A change saves as much in all draws as in the first ones, but these may have more or fewer losses than the others.
    shift = base.time - statistics.fmean(base.times[:DRAWS])

    def ask(points: Sequence[Point]) -> list[float]:
        asked = replace(question, points=tuple(points), repeats=min(question.repeats, DRAWS))
        return [max(p.time + shift, 0.0) for p in _replay_question(engine, asked)]

    return sensitivity.measure_gains(base.point, base.time, ask, whole)


def _replay_question(engine: Engine, question: Question) -> list[Prediction]:
    return [p for part, words in group_points(question) for p in _make_predictions(part, engine.ask(words))]


def _narrow_intervals(engine: Engine, question: Question, predictions: list[Prediction]) -> list[Prediction]:
    """Removes the doubt of draws that all are undisturbed, if the replay with certain disturbances takes no longer, either.

    Then nothing can be lost or interrupted: there are no messages, they stay within a node, or no rank is affected.
    """
    same = [p for p in predictions if p.high is not None and p.high > p.time >= max(p.times) * (1 - 1e-9)]
    certain = {p.point: p.point.certain for p in same}
    asked = replace(question, points=tuple(dict.fromkeys(certain.values())), repeats=min(question.repeats, DRAWS))
    try:
        times = {p.point: max(p.times) for p in _replay_question(engine, asked)}
    except UsageError:  # so long that it cannot be predicted
        return predictions
    exact = {p.point for p in same if times[certain[p.point]] <= p.time * (1 + 1e-9)}
    return [replace(p, high=p.time) if p.point in exact else p for p in predictions]


def _make_predictions(part: Question, reply: dict[str, object]) -> list[Prediction]:
    times = [x / PS for x in reply["time"]]  # type: ignore[attr-defined]
    seconds = float(reply["seconds"]) / len(part.points)  # type: ignore[arg-type]
    return [
        _make_prediction(point, tuple(times[i * part.repeats : (i + 1) * part.repeats]), seconds)
        for i, point in enumerate(part.points)
    ]


def _make_prediction(point: Point, times: tuple[float, ...], seconds: float) -> Prediction:
    mean = statistics.fmean(times)
    if len(times) < 2:
        return Prediction(point=point, time=mean, low=None, high=None, times=times, seconds=seconds)
    low, high = estimate_interval(times, _find_delay(point))
    return Prediction(point=point, time=mean, low=low, high=high, times=times, seconds=seconds)


def estimate_interval(times: Sequence[float], delay: float) -> tuple[float, float]:
    """Returns the 95 % interval of the mean of these times. `delay`: cost of one disturbance in s; 0 if all draws have some.

    It is Student's interval, within two bounds. It does not begin below the smallest draw, because no draw makes a replay
    shorter. If only few draws are longer than the smallest one, or none is, their share is uncertain. The upper end is then at
    least the upper end of that share (Clopper and Pearson 1934), times the mean delay of those draws.
    """
    from steelyard.statistics.samples.distribution_functions import betaincinv, stdtrit

    count, least, mean = len(times), min(times), statistics.fmean(times)
    half = float(stdtrit(count - 1, 0.975)) * statistics.stdev(times) / math.sqrt(count)
    late = [time - least for time in times if time > least * (1 + 1e-9)]
    share = float(betaincinv(len(late) + 1, count - len(late), 0.975)) if len(late) < count else 1.0
    more = share * (statistics.fmean(late) if late else delay)
    return max(least, mean - half), max(mean + half, least + more)


def _find_delay(point: Point) -> float:
    if point.loss.probability:
        return point.loss.round_to_ticks(point.loss.rto) if point.loss.probability < 1 else 0.0
    return point.noise.duration if point.noise.probability else 0.0


def _read_path(reply: Mapping[str, Any]) -> CriticalPath:
    times = {name: reply[name] / PS for name in ("computing", "talking", "network")}
    ranks = tuple(x / PS for x in reply["ranks"])
    return CriticalPath(**times, messages=reply["messages"], visited=reply["visited"], ranks=ranks)


@dataclass(frozen=True)
class _Whole:
    """The answers about an undisturbed replay."""

    prediction: Prediction
    shares: Efficiency | None
    ranks: Account
    path: CriticalPath | None
    phases: Phases | None


def _account_for_time(engine: Engine, question: Question, point: Point) -> _Whole:
    """Replays a point without disturbances. There are no shares if no rank computes."""
    asked = Question((point,), 1, question.seed, question.mode, question.ranks_per_node)
    path = "path=yes " if point.network.receive == "whole" else ""
    reply = engine.ask(f"{write_line(asked)} accounts=yes {path}phases=yes")
    (prediction,) = _make_predictions(asked, reply)
    account = Account(*(tuple(x / PS for x in reply[name]) for name in ("computing", "talking", "waiting")))
    shares = _find_shares(engine, asked, reply) if reply["time"][0] and max(reply["computing"]) else None
    return _Whole(
        prediction, shares, account, _read_path(reply["path"]) if path else None, phases.read_phases(reply["phases"])
    )


def _find_shares(engine: Engine, asked: Question, reply: Mapping[str, Any]) -> Efficiency:
    """Compares with an ideal network, which has no contention: both modes give the same time."""
    (point,) = asked.points
    # The order of independent operations depends on the rule of receiving.
    network = replace(IDEAL, receive=point.network.receive)
    ideal_point = Point(network=network, core=point.core, speeds=point.speeds, ranks_per_node=point.ranks_per_node)
    ideal = replace(asked, points=(ideal_point,), mode="dataflow")
    return compute_efficiency(reply["computing"], engine.ask(write_line(ideal))["time"][0], reply["time"][0])
