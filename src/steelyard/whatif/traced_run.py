"""The traced run itself beside its undisturbed replay: the activity of its ranks, and how long its sends took."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from steelyard.model.units import percent, quantity
from steelyard.whatif.engine import Engine, Traced
from steelyard.whatif.perturbation import RTO
from steelyard.whatif.question import PS, Point, Question, write_line
from steelyard.whatif.timelines import STEPS, Timeline, read_timeline

ALIKE = 0.05  # difference of both times, as a share of the traced time, that needs no explanation


@dataclass(frozen=True, kw_only=True)
class Sends:
    """Durations in s of the calls that send. `longer` of them took at least `wait`, the smallest time-out of TCP."""

    count: int
    mean: float
    best: float
    late: float  # 95 % took less
    longer: int
    wait: float


@dataclass(frozen=True, kw_only=True)
class TracedRun:
    """The traced run and its replay without loss and noise, over `span` s; `together` neighbouring ranks share a line.

    `sends` is None if no rank sends. In `traced`, `sent` counts the calls that send by their durations.
    """

    traced: Timeline
    replayed: Timeline
    span: float
    together: int
    sends: Sends | None


def read_traced_run(engine: Engine, question: Question, point: Point) -> TracedRun | None:
    """Returns the traced run beside the replay of an undisturbed point; None if the trace has no times of a run."""
    if engine.trace.traced is None or engine.trace.crossing is not None:
        return None
    asked = replace(question, points=(point,), repeats=1, mode="dataflow", recording=None)
    wait = min((p.loss.rto for p in question.points if p.loss.probability), default=RTO)
    reply = engine.ask(f"{write_line(asked)} timelines={STEPS} traced={round(wait * PS)}")
    run, (time,) = reply["traced"], reply["time"]
    return TracedRun(
        traced=read_timeline(point, run["span"] / PS, run["activity"]),
        replayed=read_timeline(point, time / PS, reply["timelines"][0]),
        span=max(run["span"], time) / PS,
        together=reply["together"],
        sends=_count_sends(run, wait) if run["sends"] else None,
    )


def _count_sends(run: Mapping[str, Any], wait: float) -> Sends:
    mean, best, late = (run[name] / PS for name in ("mean", "best", "late"))
    return Sends(count=run["sends"], mean=mean, best=best, late=late, longer=run["longer"], wait=wait)


def compare_times(traced: Traced, replayed: float) -> Iterator[str]:
    """States and explains the ratio of the traced time and of the undisturbed replay (in s), unless they are alike."""
    if traced.time and replayed and abs(replayed / traced.time - 1) > ALIKE:
        without, between = "losses and noise", "traced computing time between the calls of MPI"
        if traced.without_waits:
            without, between = "losses, noise and waits for a processor", f"{between} without these waits"
        yield (
            f"The traced run took {traced.time / replayed:.3g} times as long as its replay without {without} "
            f"({quantity(traced.time, 's', 4)} and {quantity(replayed, 's', 4)}). The replay uses the {between}, and the "
            "modelled network for the time within MPI. In the traced run, the time within MPI also "
            "contains the real network, waits for a processor, and the overhead of the tracer."
        )


def describe_sends(run: TracedRun | None) -> Iterator[str]:
    """States how long the sends of the traced run took."""
    if run and run.replayed.time and run.sends:
        s = run.sends
        mean, best, late, wait = (quantity(x, "s") for x in (s.mean, s.best, s.late, s.wait))
        yield (
            f"A call that sends took {mean} on average (best: {best}; 95 % took less than {late}). "
            f"{percent(s.longer / s.count, 1)} of the {s.count} calls took longer than {wait}, the smallest time-out of TCP."
        )
