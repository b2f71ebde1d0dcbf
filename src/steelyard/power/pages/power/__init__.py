"""The page Power: the power of the node during each benchmark, the energy, and the sensors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from steelyard.judge.evaluation import energy
from steelyard.measure.telemetry import coverage, overlap, watched
from steelyard.measure.telemetry.coverage import Coverage
from steelyard.measure.telemetry.energy import Course, seconds_for
from steelyard.measure.telemetry.watched import Stretch, cost, courses, disagreements, name_load, total
from steelyard.model import Evaluation, Record, Result
from steelyard.model.figure import Axis, Band, Figure, Mark, Series
from steelyard.model.scope import words
from steelyard.model.units import duration, percent, quantity
from steelyard.model.words import in_words, plural
from steelyard.power.pages.power.published_rows import Printed, compare_published
from steelyard.power.pages.power.published_rows import draw_lines as published_lines
from steelyard.show.report import drawing, node_modes, values
from steelyard.show.report import figures as plots
from steelyard.show.report.energy_figures import Energies, energies
from steelyard.show.report.names import slug
from steelyard.show.report.published_lines import systems
from steelyard.statistics.results.energy_metrics import FLOPS, POWER

PLACE, TITLE = 55, "Power"

POINTS = 600  # points of a line: a screen shows no more
MOST_BANDS = 24  # stretches of one benchmark each; of more the names would lie upon each other
MODES = {"mode", "threads", "device", "pinning"}  # a case is named by its mode if cases differ in these parameters only
NANO = 1e-9


@dataclass(frozen=True)
class Row:
    """A benchmark: its page's anchor, and its cells."""

    name: str
    anchor: str
    cells: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The content of the page. `sensors`: rows of (name, scope, source, reading, error). `printed`: a published system."""

    sentences: tuple[str, ...]
    figure: drawing.Drawn
    energies: tuple[Energies, ...]
    rows: tuple[Row, ...]
    sensors: tuple[tuple[str, ...], ...]
    printed: Printed | None


def data(evaluation: Evaluation) -> Page | None:
    """Returns the page; None for a run without readings of power or energy."""
    resolved = courses(evaluation.power.traces) if evaluation.power else {}
    records = evaluation.run.records if resolved else ()
    timed = [(stretch, r) for r in records if (stretch := energy.find_stretch(r, r.benchmark))]
    if not timed:
        return None
    first = min(course.origin + round(course.at[0] / NANO) for course in resolved.values())
    last = max(course.origin + round(course.at[-1] / NANO) for course in resolved.values())
    spent, printed = energy.measure_run(evaluation), compare_published(evaluation)
    return Page(
        sentences=tuple(_sentences(evaluation, resolved, spent)),
        figure=_draw_stretches(evaluation, resolved, timed, (first, last), printed is not None),
        energies=energies(evaluation),
        rows=tuple(_make_rows(evaluation, resolved, timed, spent)),
        sensors=tuple(_describe_sensor(course) for course in resolved.values()),
        printed=printed,
    )


def has_figures(page: Page) -> bool:
    return True


def _sentences(evaluation: Evaluation, resolved: Mapping[str, Course], spent: energy.Spent | None) -> Iterable[str]:
    if all(course.sensor.modelled for course in resolved.values()):
        yield "These values are computed from the load by a model. They are estimates, not measurements."
    if spent:
        scope, joules = spent.coverage.scope, spent.energy
        lacks = coverage.absent(scope, evaluation.run.machine)
        resting = f", and the idle machine drew {quantity(spent.idle.power, 'W')} there" if spent.idle else ""
        yield (
            f"According to {_name_source(spent.coverage)}, the {words(scope)} used {quantity(joules.joules, 'J')} "
            f"({quantity(joules.low, 'J')} – {quantity(joules.high, 'J')}) from the first sample to the last, in "
            f"{quantity(joules.seconds, 's')}. The mean power was {quantity(joules.power, 'W')}{resting}."
        )
        if lacks:
            yield f"The energies of this page do not contain those of {lacks}, because no sensor measures these parts."
    yield from filter(None, (energy.name_uncovered(evaluation), name_load(energy.find_load(evaluation))))
    yield from overlap.sentences(resolved)
    if spent:
        whole = Stretch("run", *spent.stretch)
        yield from disagreements([course.sensor for course in resolved.values()], cost(resolved, whole).claims)
    yield from energy.describe_other_hosts(evaluation)
    yield from watched.describe_impossible(evaluation.power.traces if evaluation.power else {})
    if lost := evaluation.power.unread if evaluation.power else ():
        more = f" The page Provenance lists {len(lost) - 1} more." if len(lost) > 1 else ""
        yield f"Some readings cannot be used: {lost[0]}.{more}"
    usable = sum(bool(r.metrics) for r in evaluation.results)
    for reason, number in energy.count_missing_reasons(evaluation).items() if spent else ():
        cases, have = f"{number} of {plural(usable, 'case')}", "has" if number == 1 else "have"
        if reason:
            yield f"{cases} {have} no energy, because {reason} while {'it' if number == 1 else 'they'} ran."
            continue
        counted = [resolved[sensor.name] for sensor in spent.coverage.sensors] if spent else []
        longest = max(seconds_for(c.sensor, 0.02, float(np.median(np.diff(c.at)))) for c in counted)
        yield (
            f"{cases} {have} no energy, because {'it is' if number == 1 else 'they are'} too short for the sensor. For an "
            f"interval of ± 2 %, a case must last {duration(longest)}."
        )


def _describe_sensor(course: Course) -> tuple[str, ...]:
    sensor = course.sensor
    what = "energy counter" if sensor.quantity == "energy" else f"mean power over {quantity(sensor.window, 's')}"
    if sensor.quantity == "power" and not sensor.window:
        what = "momentary power"
    error = "not stated" if sensor.error is None else f"± {percent(sensor.error, 1)}"
    return (
        sensor.name,
        words(coverage.choose([sensor]).scope),
        sensor.source,
        f"{what}{', modelled' if sensor.modelled else ''}",
        error,
    )


def _draw_stretches(
    evaluation: Evaluation,
    resolved: Mapping[str, Course],
    timed: Sequence[tuple[Stretch, Record]],
    span: tuple[int, int],
    with_published: bool,
) -> drawing.Drawn:
    first, last = span
    figure = _make_figure(evaluation, resolved, timed, span, with_published)
    plot = plots.plotly(figure)
    for line in plot["data"]:
        line["mode"] = "lines"  # marks of so many points would hide them
    notes = plot["layout"]["annotations"]
    notes.sort(key=lambda note: note.get("name") == "limit")  # the idle line's name lies on those of the cases
    plot["layout"]["xaxis"]["range"] = [0, (last - first) * NANO]
    rows = [
        (line.name, quantity(x, "s"), quantity(y, "W"))
        for line in figure.series
        if not line.published
        for x, y in zip(line.x[::10], line.y[::10], strict=True)
        if isinstance(x, float)
    ]
    headings = ("Source", "Time", "Power")
    return drawing.with_plot("power-figure", figure, plot, headings, rows, published=systems(figure.series))


def _make_figure(
    evaluation: Evaluation,
    resolved: Mapping[str, Course],
    timed: Sequence[tuple[Stretch, Record]],
    span: tuple[int, int],
    with_published: bool,
) -> Figure:
    first, last = span
    edges = np.linspace(first, last, POINTS + 1).round().astype(np.int64)
    middle = tuple(float(x) for x in (edges[:-1] + np.diff(edges) / 2 - first) * NANO)
    lines = []
    for covered in coverage.by_source(course.sensor for course in resolved.values()).values():
        members = [resolved[sensor.name] for sensor in covered.sensors]
        watts = np.diff(sum(np.interp((edges - c.origin) * NANO, c.at, c.joules) for c in members)) / (
            np.diff(edges) * NANO
        )
        lines.append(Series(_name_sensors(covered), middle, tuple(map(float, watts))))
    spent = energy.measure_run(evaluation)
    marks = []
    if spent and spent.idle:
        marks.append(Mark("y", spent.idle.power, f"idle ({_name_sensors(spent.coverage)})"))
    bands = _make_bands(evaluation, timed, first)
    guess = all(course.sensor.modelled for course in resolved.values())
    title = "Modelled power against time" if guess else "Power against time"
    return Figure(
        "power", title, "lines", Axis("time", "s"), Axis("power", "W"),
        (*lines, *(published_lines((middle[0], middle[-1])) if with_published else ())),
        marks=tuple(marks), bands=bands,
        caption=f"Each point is the mean power over {quantity((last - first) * NANO / POINTS, 's')}."
        + (" The shaded bands show when the cases ran." if bands else ""),
    )  # fmt: skip


def _name_sensors(covered: Coverage) -> str:
    """Returns 'processors, by RAPL (powercap)'."""
    return f"{words(covered.scope)}, by {_name_source(covered)}"


def _name_source(covered: Coverage) -> str:
    if not any(sensor.modelled for sensor in covered.sensors):
        return covered.source
    return "a model of the load" if covered.source == "model" else f"{covered.source} (modelled)"


def _make_bands(evaluation: Evaluation, timed: Sequence[tuple[Stretch, Record]], first: int) -> tuple[Band, ...]:
    """Returns the time of each case in a run of one benchmark, else of each benchmark; nothing if there are too many."""
    names = {record.benchmark for _, record in timed}
    varying = values.varying(evaluation.results) if len(names) == 1 else ()

    def called(record: Record) -> str:
        if varying and "mode" in record.parameters and set(varying) <= MODES:
            return node_modes.called(node_modes.mode_of(record), evaluation.run.machine).replace(" (OpenCL)", "")
        words = [in_words(n, record.parameters.get(n)) for n in varying if n in record.parameters]
        return ", ".join(words) or (record.benchmark if len(names) > 1 else record.kernel)

    bands: list[Band] = []
    for stretch, record in sorted(timed, key=lambda pair: pair[0].begin):
        begin, end, name = (stretch.begin - first) * NANO, (stretch.end - first) * NANO, called(record)
        if bands and bands[-1].label == name:
            bands[-1] = Band(bands[-1].low, end, name)
        else:
            bands.append(Band(begin, end, name))
    return tuple(bands) if len(bands) <= MOST_BANDS else ()


def _make_rows(
    evaluation: Evaluation,
    resolved: Mapping[str, Course],
    timed: Sequence[tuple[Stretch, Record]],
    spent: energy.Spent | None,
) -> Iterable[Row]:
    counted = spent.coverage if spent else Coverage()
    whole = {name: [stretch for stretch, r in timed if r.benchmark == name] for name in evaluation.benchmarks}
    for name, stretches in whole.items():
        with_power = [r for r in evaluation.results if r.benchmark == name and POWER.name in r.metrics]
        if not with_power:
            continue
        joules = [used.joules for s in stretches if (used := total(resolved, counted, s))]
        yield Row(
            name,
            slug(name),
            (
                f"{len(with_power)} of {sum(r.benchmark == name for r in evaluation.results)}",
                _format_span(with_power, POWER.name, "W"),
                quantity(sum(joules), "J"),
                _format_span(with_power, FLOPS.name, "flop/J"),
            ),
        )


def _format_span(results: Sequence[Result], metric: str, unit: str) -> str:
    """Returns the median over the cases with the least and the greatest value; '–' if no case has the metric."""
    ordered = sorted(r.metrics[metric].value for r in results if metric in r.metrics)
    if not ordered:
        return "–"
    if len(ordered) == 1:
        return quantity(ordered[0], unit)
    return f"{quantity(median(ordered), unit)} ({quantity(ordered[0], unit)} – {quantity(ordered[-1], unit)})"
