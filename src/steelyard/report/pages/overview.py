"""The overview, in the order of the terminal's screen: the verdict, the main figures, the findings that matter most."""

from dataclasses import dataclass

from steelyard.findings import Kind, decided, foremost
from steelyard.model import Evaluation, Level
from steelyard.report import headline, sentences, values
from steelyard.report.names import grouped, slug
from steelyard.telemetry.watched import modelled

PLACE, TITLE = 0, "Overview"
IMPORTED = True


@dataclass(frozen=True)
class Entry:
    """A benchmark in the overview's list: how many results have each verdict."""

    anchor: str
    title: str
    summary: str
    counts: dict[Level, int]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Returns the data of the overview."""

    verdict: tuple[str, ...]
    headlines: tuple[headline.Headline, ...]
    figures: tuple[str, ...]  # what the figures say, in sentences
    counts: dict[Level, int]
    first: tuple[Kind, ...]  # the findings that matter most, one of each kind
    modelled: bool  # its energies come from a model
    more: int  # further findings on their own page
    benchmarks: dict[str, tuple[Entry, ...]]  # under the headings of their groups


def data(evaluation: Evaluation) -> Overview:
    """The overview's data; every part is empty where the run has nothing for it."""
    first = foremost(evaluation.findings)
    main = headline.headlines(evaluation)
    named = {one.name: one for one in main}
    figures = (sentences.memory(named), sentences.locality(named, evaluation.findings))
    return Overview(
        verdict=(sentences.machine(evaluation), sentences.trust(evaluation)),
        headlines=main,
        figures=tuple(filter(None, figures)),
        counts=values.counts(evaluation.results),
        first=first,
        modelled=evaluation.power is not None and modelled(evaluation.power.traces),
        more=len(decided(evaluation.findings)) - sum(1 + kind.others for kind in first),
        benchmarks=entries(evaluation),
    )


def entries(evaluation: Evaluation) -> dict[str, tuple[Entry, ...]]:
    """The benchmarks under the headings of their groups."""
    return {
        group: tuple(_entry(evaluation, name) for name in names)
        for group, names in grouped(evaluation.benchmarks).items()
    }


def _entry(evaluation: Evaluation, name: str) -> Entry:
    benchmark = evaluation.benchmarks[name]
    results = values.of_benchmark(evaluation, name)
    return Entry(slug(name), benchmark.title, benchmark.summary, values.counts(results))
