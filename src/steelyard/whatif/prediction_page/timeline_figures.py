"""Two timelines of a program, undisturbed and disturbed, one above the other; and the times of its messages."""

from collections.abc import Sequence

from steelyard.model.figure import Axis, Figure, Series
from steelyard.show.report.values import quantity
from steelyard.whatif.conditions import disturbances, label
from steelyard.whatif.question import Point
from steelyard.whatif.timelines import Timeline, Timelines, edge
from steelyard.whatif.traced_run import TracedRun


def draw_timelines(found: Timelines | None, name: str, points: Sequence[Point]) -> list[Figure]:
    """Returns the two figures of a replay of one of the points; none if nothing disturbs the replay."""
    if found is None or not found.span:
        return []
    return [_draw_lines(found, name, points), _draw_messages(found, name)]


def draw_traced_run(run: TracedRun | None) -> list[Figure]:
    """Returns the traced run above its replay without losses, and the durations of its sends; none without such a run."""
    if run is None or not run.span:
        return []
    caption = (
        f"Above: the traced run, {quantity(run.traced.time, 's')}. Below: the replay of the same trace without losses and noise, "
        f"{quantity(run.replayed.time, 's')}. Dark colours mean computing; light colours mean time in MPI (above) or waiting "
        "(below)."
    )
    title = "Activity of the ranks, traced (above) and replayed without losses (below)"
    figures = [_draw_two("traced", title, (run.traced, "traced"), (run.replayed, "replayed"), run, caption)]
    if run.sends:
        figures.append(
            _draw_times(
                "sends",
                "Duration of the calls that send",
                [("traced run", run.traced)],
                Axis("duration, rounded down", "s", log=True),
                Axis("share of the calls", "%", log=True),
                f"Ten columns cover a factor of ten. The smallest time-out of TCP is {quantity(run.sends.wait, 's')} here.",
            )
        )
    return figures


def _draw_lines(found: Timelines, name: str, points: Sequence[Point]) -> Figure:
    point = found.disturbed.point
    affected = f", at {100 * point.affected:.3g} % of the ranks" if point.affected < 1 else ""
    others = label(point, points, "loss", "RTO", "noise", "affected")
    caption = (
        f"The figure shows one random replay with {disturbances(point)}{affected}{others}. It takes "
        f"{quantity(found.disturbed.time, 's')} instead of {quantity(found.undisturbed.time, 's')}. "
        "Dark colours mean computing and message overhead; light colours mean waiting."
    )
    title = "Activity of the ranks, undisturbed (above) and disturbed (below)"
    panels = (found.undisturbed, "undisturbed"), (found.disturbed, "disturbed")
    return _draw_two(f"{name}-timelines", title, *panels, found, caption)


Panel = tuple[Timeline, str]  # a timeline and its name


def _draw_two(name: str, title: str, upper: Panel, lower: Panel, found: Timelines | TracedRun, caption: str) -> Figure:
    above, below = (_list_waiting_shares(line, found.span) for line, _ in (upper, lower))
    steps, together = len(above[0]), found.together
    ranks = [str(first) if together == 1 else f"{first}…" for first in range(0, len(above) * together, together)]
    grouped = f" Each line is the mean of {together} neighbouring ranks." if together > 1 else ""
    return Figure(
        name=name,
        title=title,
        kind="heat",
        x=Axis("time", "s"),
        y=Axis("ranks"),
        z=(*above, (None,) * steps, *below),
        columns=tuple(found.span * step / steps for step in range(steps)),
        rows=(*(f"{rank} {upper[1]}" for rank in ranks), "", *(f"{rank} {lower[1]}" for rank in ranks)),
        value=Axis("waiting", "%"),
        caption=f"{caption}{grouped}",
    )


def _list_waiting_shares(line: Timeline, span: float) -> tuple[tuple[float | None, ...], ...]:
    """Returns the share of waiting in each step, up to the end of the replay."""
    steps = len(line.computing[0])
    width = span / steps

    def share(step: int, busy: float) -> float | None:
        within = min(line.time / width - step, 1.0)  # of the step, until the end
        return None if within <= 1e-9 else min(max(1 - busy / within, 0.0), 1.0)

    return tuple(
        tuple(share(step, a + b) for step, (a, b) in enumerate(zip(computing, talking, strict=True)))
        for computing, talking in zip(line.computing, line.talking, strict=True)
    )


def _draw_messages(found: Timelines, name: str) -> Figure:
    return _draw_times(
        f"{name}-sent",
        "Time of the messages from sender to receiver",
        [("undisturbed", found.undisturbed), ("disturbed", found.disturbed)],
        Axis("time until the arrival, rounded down", "s", log=True),
        Axis("share of the messages", "%", log=True),
        "The time begins at the network interface of the sender and ends at the arrival. Ten columns cover a "
        "factor of ten. Messages far to the right are late: they were lost and sent again, or they waited for "
        "such messages.",
    )


def _draw_times(name: str, title: str, lines: Sequence[tuple[str, Timeline]], x: Axis, y: Axis, caption: str) -> Figure:
    series = []
    for words, line in lines:
        bins = [(edge(at), count) for at, count in enumerate(line.sent) if count]
        total = sum(count for _, count in bins) or 1
        series.append(
            Series(words, tuple(at for at, _ in bins), tuple(count / total for _, count in bins), connected=False)
        )
    return Figure(name=name, title=title, kind="lines", x=x, y=y, series=tuple(series), caption=caption)
