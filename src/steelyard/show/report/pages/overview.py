"""The overview, in the order of the terminal's screen: the main figures, how certain they are, the findings that matter most."""

from dataclasses import dataclass

from steelyard.compare.standing import Standing
from steelyard.judge.findings import Kind, select_decided, select_foremost
from steelyard.measure.telemetry.watched import is_modelled
from steelyard.model import Evaluation, Level
from steelyard.show.report import condition, headline, sentences, usable, values
from steelyard.show.report.names import grouped, slug
from steelyard.show.report.range_axis import make_axis
from steelyard.show.report.summarised_run import make_figure
from steelyard.show.report.summary import find_standings

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
class Answer:
    """Whether a main figure is good. `at`, `range` and `normal` are places in the drawing (see `RangeAxis`)."""

    title: str
    standing: Standing
    at: float
    range: tuple[float, float]
    normal: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Returns the data of the overview."""

    machine: str
    use: str
    trust: str
    headlines: tuple[headline.Headline, ...]
    standings: tuple[Standing | None, ...]  # whether each of them is good
    answers: tuple[Answer, ...]  # the standings, drawn
    figures: tuple[str, ...]  # what the figures say, in sentences
    counts: dict[Level, int]
    first: tuple[Kind, ...]  # the findings that matter most, one of each kind
    modelled: bool  # its energies come from a model
    more: int  # further findings on their own page
    benchmarks: dict[str, tuple[Entry, ...]]  # under the headings of their groups


def data(evaluation: Evaluation) -> Overview:
    """The overview's data; every part is empty where the run has nothing for it."""
    first = select_foremost(evaluation.findings)
    main = headline.headlines(evaluation)
    named = {one.name: one for one in main}
    figures = (sentences.memory(named), sentences.locality(named, evaluation.findings))
    standings = tuple(find_standings(map(make_figure, main), evaluation.run.machine))
    counts = values.counts(evaluation.results)
    untold = evaluation.condition.foreign or condition.none_is_valid(counts) or not evaluation.results
    return Overview(
        machine=sentences.machine(evaluation),
        use="" if untold else usable.describe(tuple(map(make_figure, main)), evaluation.findings),
        trust=sentences.trust(evaluation),
        headlines=main,
        standings=standings,
        answers=tuple(draw(one.title, standing) for one, standing in zip(main, standings, strict=True) if standing),
        figures=tuple(filter(None, figures)),
        counts=counts,
        first=first,
        modelled=evaluation.power is not None and is_modelled(evaluation.power.traces),
        more=len(select_decided(evaluation.findings)) - sum(1 + kind.others for kind in first),
        benchmarks=entries(evaluation),
    )


def draw(title: str, standing: Standing) -> Answer:
    """Returns the places of the value, its range and what is normal, on an axis on which right is better."""
    value = standing.value
    ends = (value.low or value.value, value.high or value.value)
    normal = standing.normal or (standing.least * value.value / standing.ratio, value.value / standing.ratio)
    axis = make_axis((value.value, *ends, *normal), reverse=value.better == "lower")
    return Answer(
        title=title, standing=standing, at=axis.place(value.value), range=axis.span(ends), normal=axis.span(normal)
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
