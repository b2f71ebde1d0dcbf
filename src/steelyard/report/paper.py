"""What the summary on paper has beyond the overview: the main figures as pictures, the findings in short, the machine, the run.

Its length does not grow with the run, so that it stays within eight sheets.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.findings import decided, foremost
from steelyard.model import Evaluation, Finding
from steelyard.report import drawing, headline, pictures
from steelyard.report.pages import machine, provenance

MOST_FIGURES = 6
MOST = 9  # further findings
FACTS = 8  # lines on the machine
SIZE = (
    440.0,
    0.78,
)  # of a picture, two of which stand side by side: CSS pixels, and the part of its height on the screen


@dataclass(frozen=True)
class Picture:
    """A figure as an image."""

    title: str
    source: Markup
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What is printed; `more` findings and `others` figures are in the file only. `first`: the overview names some findings."""

    pictures: tuple[Picture, ...]
    others: int
    first: bool
    findings: tuple[Finding, ...]
    more: int
    facts: tuple[tuple[str, str], ...]
    run: tuple[tuple[str, str], ...]


def data(evaluation: Evaluation, drawn: Sequence[tuple[str, Sequence[drawing.Drawn]]]) -> Summary:
    """The summary; `drawn` are the figures of each benchmark, by its name."""
    chosen = list(_pictures(_first(evaluation, dict(drawn))))
    shown = {kind.finding for kind in foremost(evaluation.findings)}
    rest = tuple(finding for finding in decided(evaluation.findings) if finding not in shown)
    return Summary(
        pictures=tuple(chosen),
        others=sum(drawing.has_plot(f) for _, figures in drawn for f in figures) - len(chosen),
        first=bool(shown),
        findings=rest[:MOST],
        more=max(0, len(rest) - MOST),
        facts=machine.data(evaluation).facts[:FACTS],
        run=provenance.data(evaluation).facts,
    )


def _pictures(figures: Iterator[drawing.Drawn]) -> Iterator[Picture]:
    for figure in figures:
        # A benchmark may come from anyone: a figure that cannot be drawn must not take the whole report with it.
        with contextlib.suppress(Exception):
            yield Picture(figure.title, pictures.embedded(figure.plot, figure.title, *SIZE), figure.notes)


def _first(evaluation: Evaluation, drawn: dict[str, Sequence[drawing.Drawn]]) -> Iterator[drawing.Drawn]:
    """The first figure of each benchmark that has a main figure of the run."""
    names = dict.fromkeys(one.result.benchmark for one in headline.headlines(evaluation))
    firsts = (next(filter(drawing.has_plot, drawn.get(name, ())), None) for name in names)
    yield from [figure for figure in firsts if figure][:MOST_FIGURES]
