"""What the summary on paper has beyond the overview: the main figures, the findings in short, the machine, the run.

Its length does not grow with the run, so that it stays within eight sheets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.judge.findings import select_decided, select_foremost
from steelyard.model import Evaluation, Finding
from steelyard.show.report import drawing, headline
from steelyard.show.report.pages import machine, provenance

MOST_FIGURES = 6
MOST = 9  # further findings
FACTS = 8  # lines on the machine


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What is printed; `more` findings and `others` figures are in the file only. `first`: the overview names some findings."""

    figures: tuple[drawing.Drawn, ...]
    others: int
    first: bool
    findings: tuple[Finding, ...]
    more: int
    facts: tuple[tuple[str, str], ...]
    run: tuple[tuple[str, str], ...]


def data(evaluation: Evaluation, drawn: Sequence[tuple[str, Sequence[drawing.Drawn]]]) -> Summary:
    """The summary; `drawn` are the figures of each benchmark, by its name."""
    chosen = tuple(_choose_first_figures(evaluation, dict(drawn)))
    shown = {kind.finding for kind in select_foremost(evaluation.findings)}
    rest = tuple(finding for finding in select_decided(evaluation.findings) if finding not in shown)
    return Summary(
        figures=chosen,
        others=sum(drawing.has_plot(f) for _, figures in drawn for f in figures) - len(chosen),
        first=bool(shown),
        findings=rest[:MOST],
        more=max(0, len(rest) - MOST),
        facts=machine.data(evaluation).facts[:FACTS],
        run=provenance.data(evaluation).facts,
    )


def _choose_first_figures(evaluation: Evaluation, drawn: dict[str, Sequence[drawing.Drawn]]) -> Iterator[drawing.Drawn]:
    """The first flat figure of each benchmark that has a main figure of the run."""
    names = dict.fromkeys(one.result.benchmark for one in headline.headlines(evaluation))
    flat = ([f for f in drawn.get(name, ()) if drawing.has_plot(f) and not f.webgl] for name in names)
    yield from [figures[0] for figures in flat if figures][:MOST_FIGURES]
