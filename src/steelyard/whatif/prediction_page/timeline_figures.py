"""Two timelines of one program, undisturbed and disturbed, one above the other; and how long messages are on their way."""

from steelyard.model.figure import Axis, Figure, Series
from steelyard.report.values import quantity
from steelyard.whatif.question import Point
from steelyard.whatif.timelines import Timeline, Timelines, edge


def timeline_figures(found: Timelines | None, name: str) -> list[Figure]:
    """None where nothing disturbs."""
    if found is None or not found.span:
        return []
    return [_lines(found, name), _sent(found, name)]


def _lines(found: Timelines, name: str) -> Figure:
    above, below = _waiting(found.undisturbed, found), _waiting(found.disturbed, found)
    steps, together = len(above[0]), found.together
    ranks = [str(first) if together == 1 else f"{first}…" for first in range(0, len(above) * together, together)]
    grouped = f" A line is the mean of {together} neighbouring ranks." if together > 1 else ""
    return Figure(
        name=f"{name}-timelines",
        title="What the ranks do, undisturbed (above) and disturbed (below)",
        kind="heat",
        x=Axis("time, from", "s"),
        y=Axis("ranks"),
        z=(*above, (None,) * steps, *below),
        columns=tuple(found.span * step / steps for step in range(steps)),
        rows=(*(f"{rank} undisturbed" for rank in ranks), "", *(f"{rank} disturbed" for rank in ranks)),
        value=Axis("waiting", "%"),
        caption=f"One draw with {_conditions(found.disturbed.point)}: {quantity(found.disturbed.time, 's')} instead of "
        f"{quantity(found.undisturbed.time, 's')}. "
        f"Dark: computing, and the processor's part of messages. Light: waiting.{grouped}",
    )


def _waiting(line: Timeline, found: Timelines) -> tuple[tuple[float | None, ...], ...]:
    """What is left of each step up to the end of the replay."""
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
        known = [(edge(at), count) for at, count in enumerate(line.sent) if count]
        total = sum(count for _, count in known) or 1
        series.append(
            Series(title, tuple(x for x, _ in known), tuple(count / total for _, count in known), connected=False)
        )
    return Figure(
        name=f"{name}-sent",
        title="How long messages are on their way",
        kind="lines",
        x=Axis("time until the message has arrived, from", "s", log=True),
        y=Axis("share of the messages", "%", log=True),
        series=tuple(series),
        caption="From where the sender hands a message over until it has arrived, in columns a tenth of a factor of ten wide. "
        "What is far to the right is late: lost and sent again, or it waits for what was.",
    )


def _conditions(point: Point) -> str:
    parts = []
    if point.loss.probability:
        parts.append(
            f"a loss of {100 * point.loss.probability:g} % and a least time-out of {quantity(point.loss.rto, 's')}"
        )
    if point.noise.any:
        parts.append(f"interruptions of {quantity(point.noise.duration, 's')}")
    if point.noise.period:
        parts[-1] += f" each {quantity(point.noise.period, 's')}"
    if point.affected < 1:
        parts.append(f"{100 * point.affected:.3g} % of the ranks concerned")
    return ", ".join(parts)
