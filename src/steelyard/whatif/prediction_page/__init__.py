"""The page of a replay: its predictions, sentences about them, and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.model.figure import Axis, Figure, Series
from steelyard.show import report
from steelyard.show.report import drawing
from steelyard.show.report.values import quantity
from steelyard.system import files
from steelyard.whatif import Account, Answer, Prediction, slowdowns
from steelyard.whatif.engine import Trace, Traced
from steelyard.whatif.prediction_page.phase_map import draw_phases
from steelyard.whatif.prediction_page.sweep_figures import draw_sweep, link
from steelyard.whatif.prediction_page.timeline_figures import draw_timelines, draw_traced_run
from steelyard.whatif.prediction_part import Part, describe_mode, make_table
from steelyard.whatif.sensitivity import FACTORS
from steelyard.whatif.sentences import describe_undisturbed, describe_waits

MOST_RANKS = 512  # on a figure: neighbours of more ranks share a point, their mean


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part in the form that the template shows."""

    title: str
    anchor: str
    sentences: tuple[str, ...]
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: tuple[drawing.Drawn, ...]


@dataclass(frozen=True)
class Page:
    """The content of the template: the sections, and the facts and figures that all parts have in common."""

    title: str
    facts: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]
    sections: tuple[Section, ...]
    figures: tuple[drawing.Drawn, ...]

    @property
    def drawn(self) -> bool:
        return bool(self.figures) or any(section.figures for section in self.sections)


def make_page(parts: Sequence[Part], trace: Trace, name: str) -> Page:
    """Returns the data of the page. The undisturbed replay of the first part stands for all parts."""
    answer, asked = parts[0].answer, parts[0].asked
    answers = [part.answer for part in parts]
    facts = (
        ("Trace", name),
        ("Ranks", f"{trace.ranks}"),
        ("Messages", f"{trace.messages}, {quantity(trace.bytes, 'B')}"),
        ("Mode", describe_mode(asked).removeprefix("mode ")),
        ("Seed", f"{asked.seed}"),
        ("Network", _describe_network([p for one in answers for p in one.undisturbed])),
        *([("Traced", _describe_trace(trace.traced))] if trace.traced else []),
        ("Engine", _describe_engine(answers)),
    )
    sections = tuple(_make_section(part, number, trace.ranks) for number, part in enumerate(parts, 1))
    figures = tuple(drawing.plain(figure) for figure in _draw_undisturbed(answer))
    said = tuple(filter(None, [describe_waits(trace.traced) if trace.traced else "", *describe_undisturbed(*answers)]))
    return Page(f"What if: {name}", facts, said, sections, figures)


def write(page: Page, path: Path) -> Path:
    """Writes the page to `path` and returns it. Errors as `files.write`."""
    template = Path(__file__).with_name("prediction.html")
    return files.write(path, "The page", report.fill(template, page.drawn, page=page))


def _describe_trace(traced: Traced) -> str:
    waited = f", {quantity(traced.preempted, 's')} of it waiting for a processor (the rank with the longest wait)"
    return f"{quantity(traced.time, 's')}{waited if traced.preempted else ''}"


def _describe_engine(answers: Sequence[Answer]) -> str:
    replays = sum(len(p.times) for answer in answers for p in answer.predictions)
    return f"{quantity(sum(answer.seconds for answer in answers), 's')} for {replays} replays"


def _describe_network(predictions: Sequence[Prediction]) -> str:
    found = predictions[0]
    if any(p.point.network != found.point.network for p in predictions):
        return "several (see the predictions)"
    protocol, name = link(found), found.point.network.name
    words = (
        f"latency L {quantity(protocol.L, 's')}, overhead o {quantity(protocol.o, 's')}, gap g "
        f"{quantity(protocol.g, 's')}, "
    )
    rate = quantity(1 / protocol.G, "B/s") if protocol.G else "unlimited bytes per second"
    return f"{name + ': ' if name else ''}{words}{rate}"


def _make_section(part: Part, number: int, ranks: int) -> Section:
    headings, rows = make_table(part.answer, ranks)
    lines = draw_timelines(part.answer.timelines, f"part-{number}", part.asked.points)
    figures = [*draw_sweep(part.answer, ranks, f"sweep-{number}"), *lines]
    return Section(
        title=part.title,
        anchor=f"part-{number}",
        sentences=slowdowns.describe(part.answer, ranks),
        headings=tuple(headings),
        rows=tuple(map(tuple, rows)),
        figures=tuple(drawing.plain(figure) for figure in figures),
    )


def _draw_undisturbed(answer: Answer) -> list[Figure]:
    traced = draw_traced_run(answer.traced_run)
    return [*traced, *_draw_ranks(answer.account), *draw_phases(answer.phases), *_draw_sensitivity(answer)]


def _draw_ranks(account: Account | None) -> list[Figure]:
    if account is None or len(account.computing) < 2:
        return []
    count = len(account.computing)
    together = -(-count // MOST_RANKS)
    x = tuple(float(first) for first in range(0, count, together))
    parts = (
        ("computing", account.computing),
        ("message overhead", account.talking),
        ("waiting", account.waiting),
    )
    lines = tuple(
        Series(name, x, tuple(sum(of[i : i + together]) / len(of[i : i + together]) for i in range(0, count, together)))
        for name, of in parts
    )
    caption = f" Each point is the mean of {together} neighbouring ranks." if together > 1 else ""
    return [
        Figure(
            name="ranks",
            title="Time of each rank, undisturbed",
            kind="lines",
            x=Axis("rank"),
            y=Axis("time", "s"),
            series=lines,
            caption=f"Ranks wait for messages, and at the end for the last rank.{caption}",
        )
    ]


def _draw_sensitivity(answer: Answer) -> list[Figure]:
    if not answer.sensitivities:
        return []
    lines = tuple(
        Series(s.name, tuple(100 * f for f in FACTORS), tuple(time / (s.times[0] or 1.0) for time in s.times))
        for s in answer.sensitivities
    )
    return [
        Figure(
            name="sensitivity",
            title="Predicted time if one cost is reduced",
            kind="lines",
            x=Axis("remaining part of the cost, %"),
            y=Axis("time / time today"),
            series=lines,
            caption="Each line shows the time if only this cost is reduced, without loss and noise. Bandwidth means "
            "the time for each byte. Cores means the time to compute. If a line is flat, a further reduction "
            "saves nothing.",
        )
    ]
