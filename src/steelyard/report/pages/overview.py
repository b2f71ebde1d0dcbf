"""The overview: the verdict in five sentences, the main figures, and where to look first."""

from dataclasses import dataclass

from steelyard.model import Evaluation, Finding, Level
from steelyard.report import headline, values
from steelyard.report.names import grouped, slug


@dataclass(frozen=True)
class Entry:
    """A benchmark in the overview's list."""

    anchor: str
    title: str
    summary: str
    counts: dict[Level, int]


@dataclass(frozen=True)
class Overview:
    """What the overview shows."""

    sentences: tuple[str, ...]
    headlines: tuple[headline.Headline, ...]
    counts: dict[Level, int]
    first: tuple[Finding, ...]  # the findings that ask for action, the serious ones first
    more: int  # further findings on their own page
    benchmarks: dict[str, tuple[Entry, ...]]  # under the headings of their groups


def data(evaluation: Evaluation) -> Overview:
    """The overview's data; every part is empty where the run has nothing for it."""
    asking = [f for wanted in ("serious", "notice") for f in evaluation.findings if f.level == wanted]
    return Overview(
        headline.sentences(evaluation),
        headline.headlines(evaluation),
        values.counts(evaluation.results),
        tuple(asking[:3]),
        len(evaluation.findings) - len(asking[:3]),
        {
            group: tuple(_entry(evaluation, name) for name in names)
            for group, names in grouped(evaluation.benchmarks).items()
        },
    )


def _entry(evaluation: Evaluation, name: str) -> Entry:
    benchmark = evaluation.benchmarks[name]
    counts = values.counts(values.of_benchmark(evaluation, name))
    return Entry(slug(name), benchmark.title, benchmark.summary, counts)
