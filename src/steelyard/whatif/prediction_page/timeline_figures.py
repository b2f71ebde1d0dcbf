"""Two timelines of a program, undisturbed and disturbed, one above the other; and the times of its messages."""

from steelyard.model.figure import Axis, Figure, Series
from steelyard.report.values import quantity
from steelyard.whatif.question import Point
from steelyard.whatif.timelines import Timeline, Timelines, edge


def timeline_figures(found: Timelines | None, name: str) -> list[Figure]:
    """Returns the two figures; none if nothing disturbs the replay."""
    if found is None or not found.span:
        return []
    return [_lines(found, name), _sent(found, name)]


def _lines(found: Timelines, name: str) -> Figure:
    above, below = _waiting(found.undisturbed, found), _waiting(found.disturbed, found)
    steps, together = len(above[0]), found.together
    ranks = [str(first) if together == 1 else f"{first}…" for first in range(0, len(above) * together, together)]
    grouped = f" Each line is the mean of {together} neighbouring ranks." if together > 1 else ""
    return Figure(
        name=f"{name}-timelines",
        title="Activity of the ranks, undisturbed (above) and disturbed (below)",
        kind="heat",
        x=Axis("time", "s"),
        y=Axis("ranks"),
        z=(*above, (None,) * steps, *below),
        columns=tuple(found.span * step / steps for step in range(steps)),
        rows=(*(f"{rank} undisturbed" for rank in ranks), "", *(f"{rank} disturbed" for rank in ranks)),
        value=Axis("waiting", "%"),
        caption=f"The figure shows one random replay with {_conditions(found.disturbed.point)}. It takes "
        f"{quantity(found.disturbed.time, 's')} instead of {quantity(found.undisturbed.time, 's')}. "
        f"Dark colours mean computing and message overhead; light colours mean waiting.{grouped}",
    )


def _waiting(line: Timeline, found: Timelines) -> tuple[tuple[float | None, ...], ...]:
    """Returns the share of waiting in each step, up to the end of the replay."""
    steps = len(line.computing[0])
    width = found.span / steps

    def share(step: int, busy: float) -> float | None:
        within = min(line.time / width - step, 1.0)  # of the step, until the end
        return None if within <= 1e-9 else min(max(1 - busy / within, 0.0), 1.0)

    return tuple(
        tuple(share(step, a + b) for step, (a, b) in enumerate(zip(computing, talking, strict=True)))
        for computing, talking in zip(line.computing, line.talking, strict=True)
    )


def _sent(found: Timelines, name: str) -> Figure:
    both = (("undisturbed", found.undisturbed), ("disturbed", found.disturbed))
    series = []
    for title, line in both:
        bins = [(edge(at), count) for at, count in enumerate(line.sent) if count]
        total = sum(count for _, count in bins) or 1
        series.append(
            Series(title, tuple(x for x, _ in bins), tuple(count / total for _, count in bins), connected=False)
        )
    return Figure(
        name=f"{name}-sent",
        title="Time of the messages from sender to receiver",
        kind="lines",
        x=Axis("time until the arrival, rounded down", "s", log=True),
        y=Axis("share of the messages", "%", log=True),
        series=tuple(series),
        caption="The time begins at the network interface of the sender and ends at the arrival. Ten columns cover a "
        "factor of ten. Messages far to the right are late: they were lost and sent again, or they waited for "
        "such messages.",
    )


def _conditions(point: Point) -> str:
    parts = []
    if point.loss.probability:
        parts.append(
            f"a loss of {100 * point.loss.probability:g} % and a smallest time-out of {quantity(point.loss.rto, 's')}"
        )
    if point.noise.any:
        parts.append(f"interruptions of {quantity(point.noise.duration, 's')}")
    if point.noise.period:
        parts[-1] += f" every {quantity(point.noise.period, 's')}"
    if point.affected < 1:
        parts.append(f"at {100 * point.affected:.3g} % of the ranks")
    return ", ".join(parts)
