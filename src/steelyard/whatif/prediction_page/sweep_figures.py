"""The figures of a sweep: the time against each condition, and noise as a map."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.show.report.values import quantity
from steelyard.whatif import Answer, Prediction, Protocol, growth
from steelyard.whatif.conditions import how_often, label

DECADES = 20  # ratio of the greatest to the smallest value from which an axis is logarithmic
MOST_LINES = 7  # the palette has no more colours

Value = Callable[[Prediction], float]
Words = Callable[[Prediction], str]
Scaled = Sequence[tuple[Prediction, float]]  # predictions, with the times by which theirs are divided


@dataclass(frozen=True)
class Swept:
    """A condition that can be an axis: its title and unit, and functions for its value and its label."""

    title: str
    unit: str
    value: Value
    words: Words


def link(found: Prediction) -> Protocol:
    """Returns the protocol of the smallest messages between nodes."""
    return found.point.network.across[0]


PROBABILITY = Swept(
    "probability of loss",
    "%",
    lambda p: p.point.loss.probability,
    lambda p: f"loss {100 * p.point.loss.probability:g} %",
)
PERIOD = Swept("period", "s", lambda p: p.point.noise.period, lambda p: how_often(p.point.noise))
SHARE = Swept("probability of noise", "%", lambda p: p.point.noise.probability, lambda p: how_often(p.point.noise))
# Conditions with words instead of a number: each combination of theirs has its own lines.
NUMBERED = ("network", "L", "o", "G", "loss", "RTO", "noise", "cores", "affected")


def _sweep_duration(phase: float | None) -> Swept:
    """Returns the length of an interruption: as a share of the typical computing phase in s if it is known."""
    if not phase:
        return Swept("interruption", "s", lambda p: p.point.noise.duration, _format_interruption)
    title = f"interruption / computing phase of {quantity(phase, 's')}"
    return Swept(title, "", lambda p: p.point.noise.duration / phase, _format_interruption)


def _format_interruption(found: Prediction) -> str:
    return quantity(found.point.noise.duration, "s")


def _list_swept(ranks: int, duration: Swept) -> tuple[Swept, Swept, tuple[Swept, ...]]:
    """Returns probability, affected ranks, and all conditions, those that are most often an axis first."""

    def concerned(found: Prediction) -> float:
        return found.point.count_affected_ranks(ranks)

    affected = Swept("affected ranks", "", concerned, lambda p: f"{concerned(p):g} of {ranks} ranks")
    others = (
        duration,
        PERIOD,
        SHARE,
        Swept("RTO", "s", lambda p: p.point.loss.rto, lambda p: f"RTO {quantity(p.point.loss.rto, 's')}"),
        Swept("latency L", "s", lambda p: link(p).L, lambda p: f"L {quantity(link(p).L, 's')}"),
        Swept("time for each byte G", "s/B", lambda p: link(p).G, lambda p: f"G {quantity(link(p).G, 's/B')}"),
        Swept("overhead o", "s", lambda p: link(p).o, lambda p: f"o {quantity(link(p).o, 's')}"),
        Swept("speed of the cores", "", lambda p: p.point.core, lambda p: f"cores × {p.point.core:g}"),
    )
    return PROBABILITY, affected, (PROBABILITY, affected, *others)


def draw_sweep(answer: Answer, ranks: int, name: str) -> list[Figure]:
    """Returns the figures of the conditions that vary: the time as a multiple of the undisturbed time, or in s.

    If the probability of loss and the affected ranks vary, each has a figure at the greatest value of the other.
    """
    predictions = answer.predictions
    cluster = answer.phases.main if answer.phases else None
    duration = _sweep_duration(cluster.typical if cluster else None)
    probability, affected, conditions = _list_swept(ranks, duration)
    varying = [s for s in conditions if len({s.value(p) for p in predictions}) > 1]
    if not varying:
        return []
    pairs = list(zip(predictions, answer.undisturbed, strict=True))
    beside = any(p.point != base.point for p, base in pairs)
    scaled = [(p, base.time if beside else 1.0) for p, base in pairs if base.time]
    if varying == [duration, PERIOD] and beside:
        return [_draw_map(scaled, name, duration), _draw(scaled, varying, beside, name + "-lines")]
    if probability in varying and affected in varying:
        return [
            _draw(_greatest(scaled, fixed), [s for s in varying if s is not fixed], beside, f"{name}{ending}", fixed)
            for fixed, ending in ((affected, ""), (probability, "-ranks"))
        ]
    return [_draw(scaled, varying, beside, name)]


def _greatest(scaled: Scaled, of: Swept) -> Scaled:
    most = max(of.value(p) for p, _ in scaled)
    return [pair for pair in scaled if of.value(pair[0]) == most]


def _draw_map(scaled: Scaled, name: str, duration: Swept) -> Figure:
    """Draws the period against the length of noise. Each cell has one prediction, or none."""
    cells = {(PERIOD.value(p), duration.value(p)): p.time / by for p, by in scaled}
    rows, columns = (tuple(sorted(set(values))) for values in zip(*cells, strict=True))
    return Figure(
        name=name,
        title="Time against the length and the period of noise",
        kind="heat",
        x=Axis(duration.title, duration.unit, log=min(columns) > 0),
        y=Axis("period", "s", log=min(rows) > 0),
        z=tuple(tuple(cells.get((row, column)) for column in columns) for row in rows),
        rows=rows,
        columns=columns,
        value=Axis("time / undisturbed time", log=True),
        caption=f"{_describe_points([p for p, _ in scaled])} The interruptions themselves take the share "
        "length / period of the time. The rest of the loss is time in which ranks wait for interrupted ranks.",
    )


def _describe_points(predictions: Sequence[Prediction]) -> str:
    """Returns what a point of a figure is: of a random replay, the mean of its draws."""
    if any(p.low is not None for p in predictions):
        return "Each point is the mean of several random replays, with its 95 % interval."
    return "Each point is one replay."


def _draw(scaled: Scaled, varying: Sequence[Swept], beside: bool, name: str, fixed: Swept | None = None) -> Figure:
    over, *others = varying

    points = [p.point for p, _ in scaled]

    def line(pair: tuple[Prediction, float]) -> tuple[object, ...]:
        return (label(pair[0].point, points, *NUMBERED), *(s.value(pair[0]) for s in others))

    lines = []
    for _, members in groupby(sorted(scaled, key=line), key=line):
        pairs = sorted(members, key=lambda pair: over.value(pair[0]))
        x = tuple(over.value(p) for p, _ in pairs)
        y = tuple(p.time / by for p, by in pairs)
        low = tuple((p.time if p.low is None else p.low) / by for p, by in pairs)
        high = tuple((p.time if p.high is None else p.high) / by for p, by in pairs)
        words = ", ".join(s.words(pairs[0][0]) for s in others) or "predicted"
        lines.append(Series(words + label(pairs[0][0].point, points, *NUMBERED), x, y, low, high))
    tall = _is_wide([y for line in lines for y in line.y if y is not None])
    more = (
        f" The figure shows the first {MOST_LINES} of {len(lines)} lines. The table shows all."
        if len(lines) > MOST_LINES
        else ""
    )
    fitted = _fit_lines(lines[:MOST_LINES]) if beside else []
    at = f" This holds for all points: {fixed.words(scaled[0][0])}." if fixed else ""
    return Figure(
        name=name,
        title=f"Time against {over.title.partition(' / ')[0]}",
        kind="lines",
        # On a logarithmic axis a straight line would look bent.
        x=Axis(over.title, over.unit, log=not fitted and _is_wide([over.value(p) for p, _ in scaled])),
        y=Axis("time / undisturbed time", log=tall) if beside else Axis("time", "s", log=tall),
        series=(*lines[:MOST_LINES], *fitted),
        marks=(Mark("y", 1.0, "undisturbed"),) if beside else (),
        caption=f"{_describe_points([p for p, _ in scaled])}{at}{more}".strip(),
    )


def _fit_lines(lines: Sequence[Series]) -> list[Series]:
    """Returns the straight line that fits the greatest of the lines, as far as it fits (see `growth.fit`)."""
    greatest = max(lines, key=lambda line: max(y or 0.0 for y in line.y))
    points = []
    for x, y, low, high in zip(greatest.x, greatest.y, greatest.low or (), greatest.high or (), strict=True):
        if isinstance(x, int | float) and y is not None and low is not None and high is not None:
            points.append((x, y - 1.0, (high - low) / 2))
    found = growth.fit(points)
    if found is None:
        return []
    fitted = [x for x, *_ in points if 0 < x <= found.until]
    name = "straight line" + (f" ({greatest.name})" if len(lines) > 1 else "")
    return [Series(name, tuple(fitted), tuple(1.0 + found.slope * x for x in fitted))]


def _is_wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) > DECADES * min(values)
