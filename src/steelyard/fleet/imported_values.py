"""The values of imported runs over time: other tools measured them, and each value has its own date."""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from steelyard.errors import SteelyardError, one_line
from steelyard.fleet.series import Point, Series, read_moment
from steelyard.measure import records
from steelyard.model import ForeignValue
from steelyard.model.words import plural
from steelyard.show.report.summary import Figure, Summary

RULES = "imported_"  # beginning of the names of the rules on imported values
ENDS = ("greatest", "least")  # statistics of single passes: no property of the machine


def list_imported(summaries: Sequence[Summary]) -> tuple[list[Series], list[str]]:
    """Returns the first value of each case over the dates, and notes: values without a date, and what is doubtful."""
    values: dict[tuple[object, ...], list[tuple[ForeignValue, Summary]]] = {}
    titles: dict[tuple[str, str, str], Figure] = {}
    notes: list[str] = []
    for summary in summaries:
        notes += [finding.seen.rstrip(".") for finding in summary.findings if finding.rule.startswith(RULES)]
        titles |= {(figure.benchmark, figure.kernel, figure.metric): figure for figure in summary.figures}
        for value in _choose(_read_values(summary, notes)):
            values.setdefault((value.host, *value.case), []).append((value, summary))
    series, undated = [], 0
    for members in values.values():
        points = [point for value, summary in members if (point := _make_point(value, summary))]
        undated += len(members) - len(points)
        if points:
            first = members[0][0]
            series.append(
                _name(first, titles.get((first.benchmark, first.kernel, first.metric)), sorted(points, key=_time))
            )
    main = {figure.title for figure in titles.values()}
    series.sort(key=lambda one: (one.title not in main, -len(one.points)))
    if undated:
        notes.append(f"{plural(undated, 'value')} without a date left out")
    return series, notes


def _read_values(summary: Summary, notes: list[str]) -> Iterable[ForeignValue]:
    try:
        imported = records.read(Path(summary.path)).imported
    except SteelyardError as error:
        notes.append(f"left out: {one_line(str(error))}")
        return ()
    return imported.values if imported else ()


def _choose(values: Iterable[ForeignValue]) -> Iterator[ForeignValue]:
    """Yields the values of the first metric of each case that is no extreme of its passes, and that can be a ratio."""
    chosen: dict[tuple[object, ...], tuple[str, str]] = {}
    for value in values:
        if value.statistic.startswith(ENDS) or not (math.isfinite(value.value) and value.value > 0):
            continue
        case = (value.host, value.benchmark, value.kernel, *sorted(value.parameters.items()))
        if chosen.setdefault(case, (value.metric, value.statistic)) == (value.metric, value.statistic):
            yield value


def _make_point(value: ForeignValue, summary: Summary) -> Point | None:
    started = value.started or summary.started
    if not read_moment(started):
        return None
    return Point(run=Path(value.file).name or summary.run, path=summary.path, started=started, value=value.value,
                 level="FOREIGN", paces={}, source=value.source)  # fmt: skip


def _time(point: Point) -> tuple[float, str]:
    moment = read_moment(point.started)
    return moment.timestamp() if moment else 0.0, point.source


def _name(first: ForeignValue, figure: Figure | None, points: Sequence[Point]) -> Series:
    parameters = [f"{name}={value}" for name, value in first.parameters.items()]
    conditions = ", ".join([*([first.host] if first.host else []), *parameters])
    title = figure.title if figure else " ".join(filter(None, (first.benchmark, first.kernel, first.metric)))
    return Series(name=title, title=title.replace("_", " "), conditions=conditions, benchmark=first.benchmark,
                  metric=first.metric, unit=first.unit, better=first.better, points=tuple(points))  # fmt: skip
