"""The history of a machine on the terminal and as plain data."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import median_high
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.compare.surroundings import Difference
from steelyard.fleet.history import PACES, Change, History, SeriesStep
from steelyard.fleet.printing import name_figure, print_sentences
from steelyard.fleet.series import Point, Series
from steelyard.model import Better
from steelyard.model.units import percent, quantity, span
from steelyard.model.words import joined, plural
from steelyard.show.report.lines import COLUMNS, safe
from steelyard.show.report.lines import console as open_console
from steelyard.statistics.difference.newest import are_unusual
from steelyard.statistics.difference.steps import LEAST

MOST_CHANGES, MOST_DIFFERENCES, MOST_SERIES, MOST_STEPS, MOST_LONE, MOST_RENEWALS = 4, 4, 10, 4, 3, 3  # on the screen
BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 16  # columns of the small graph of a series


def as_plain(history: History) -> dict[str, Any]:
    """Returns everything about a history as plain data. Ratios are values over earlier values, in the sense of the metric."""
    return {
        "system": history.system, "first": history.first, "last": history.last, "runs": list(history.runs),
        "series": [_series_as_plain(series) for series in history.series],
        "changes": [
            {"before": change.before.run, "after": change.after.run,
             "steps": [{"title": s.series.title, "conditions": s.series.conditions, "ratio": s.step.ratio, "low": s.step.low,
                        "high": s.step.high, "p": s.step.p, "paces": dict(s.paces)} for s in change.steps],
             "differences": [asdict(difference) for difference in change.differences]}
            for change in history.changes
        ],
        "renewals": [asdict(renewal) for renewal in history.renewals],
        "notes": list(history.notes),
    }  # fmt: skip


def _series_as_plain(series: Series) -> dict[str, Any]:
    newest = series.newest
    return {
        "title": series.title, "conditions": series.conditions, "benchmark": series.benchmark, "metric": series.metric,
        "unit": series.unit, "better": series.better, "p": series.course.p, "drift": series.course.drift,
        "returned": [[series.points[a].run, series.points[b - 1].run] for a, b in series.course.returned],
        "lone": [series.points[place].run for place in series.course.lone],
        "newest": None if newest is None else {**asdict(newest), "usual": newest.is_usual},
        "points": [{"run": p.run, "started": p.started, "value": p.value, "level": p.level,
                    "source": p.source} for p in series.points],
    }  # fmt: skip


def show(history: History, everything: bool) -> None:
    """Prints the changes with what changed beside them, the newest run, and a line for each series."""
    on = open_console()
    head = f"\n{history.system}: {plural(len(history.runs), 'run')} from {history.first[:10]} to {history.last[:10]}"
    on.print(safe(head, "bold"), highlight=False)
    print_sentences(on, list_sentences(history, everything=everything), whole=everything)
    changed_first = sorted(history.series, key=lambda series: not series.course.steps)
    _print_series(changed_first if everything else changed_first[:MOST_SERIES], on)
    for note in history.notes:
        on.print(safe(f"Note: {note}.", "dim"), highlight=False)
    if not everything and len(history.series) > MOST_SERIES:
        on.print(Text("For every figure: the same command with --all", style="dim"))


def list_sentences(history: History, *, everything: bool) -> Iterator[str]:
    """Yields the changes, what is no change, and how the newest run is. Sentences that belong to the one before are indented."""
    yield from _list_changes(history, everything)
    yield from _list_renewals(history, everything)
    yield from _list_shapes(history, everything)
    yield from _describe_newest(history)


def _list_changes(history: History, everything: bool) -> Iterator[str]:
    if not history.changes:
        longest = max((len(series.points) for series in history.series), default=0)
        few = "Too few runs to find a change: it needs three runs on each side of it."
        yield few if longest < 2 * LEAST else "No figure changed for sure."
    shown = history.changes if everything else history.changes[:MOST_CHANGES]
    for change in shown:
        before, after = change.before.started[:10], change.after.started[:10]
        yield f"Since {after} ({_name_point(change.after)}; the value before is of {before}):"
        steps = sorted(change.steps, key=lambda found: -abs(math.log(found.step.ratio)))
        for step in steps if everything else steps[:MOST_STEPS]:
            yield f"  {describe_step(step)}"
        if not everything and len(steps) > MOST_STEPS:
            yield f"  and {plural(len(steps) - MOST_STEPS, 'further figure')}"
        yield f"  {describe_differences(change, None if everything else MOST_DIFFERENCES)}"
    if more := len(history.changes) - len(shown):
        yield f"and {plural(more, 'earlier change')}"


def _list_renewals(history: History, everything: bool) -> Iterator[str]:
    """Yields the changes of conditions at which no figure changed."""
    named = {(change.before.run, change.after.run) for change in history.changes}
    found = [one for one in history.renewals if (one.before, one.run) not in named]
    for renewal in found if everything else found[:MOST_RENEWALS]:
        words = _join_differences(renewal.differences, None if everything else MOST_DIFFERENCES)
        yield f"Since {renewal.started[:10]} (run {renewal.run}), these conditions differ, but no figure changed: {words}."
    if not everything and (more := len(found) - MOST_RENEWALS) > 0:
        yield f"and {plural(more, 'earlier change')} of conditions: --all"


def _shorten(source: str) -> str:
    """Returns the file and the line without the folders, so that it fits a line; --json has the whole path."""
    return source.rpartition("/")[2]


def _name_point(point: Point) -> str:
    return f"file {point.run}" if point.source else f"run {point.run}"


def describe_step(found: SeriesStep) -> str:
    """Returns "Triad bandwidth is 6.1 % slower (5.4 to 6.8 %): 37.6 GB/s → 35.3 GB/s"."""
    series, step = found.series, found.step
    word = choose_word(series.better, step.ratio)
    ends = sorted(abs(end - 1) for end in (step.low, step.high))
    # An interval that contains no change, of a step that chance does not explain, begins at 0.
    least = 0.0 if (step.low - 1) * (step.high - 1) < 0 else ends[0]
    values = f"{quantity(step.before, series.unit)} → {quantity(step.after, series.unit)}"
    if word in ("slower", "faster") and series.better == "lower":
        size = f"takes {percent(abs(step.ratio - 1), 1)} {'more' if step.ratio > 1 else 'less'}"
    else:
        size = f"is {percent(abs(step.ratio - 1), 1)} {word}"
    pace = ""
    if found.paces:
        paces = [f"{PACES[kind]} ({percent(ratio - 1, 1, signed=True)})" for kind, ratio in found.paces.items()]
        pace = f". The pace (speed) of {joined(paces)} changed at the same time"
    room = f"range: {percent(least, 1)} to {percent(ends[1], 1)}"
    return f"{name_figure(series.title, series.conditions)} {size} ({room}): {values}{pace}"


def choose_word(better: Better, ratio: float) -> str:
    """Returns "slower" or "faster" for the ratio of two values; "lower" or "higher" if neither is better."""
    if better == "none":
        return "lower" if ratio < 1 else "higher"
    return "slower" if (ratio < 1) == (better != "lower") else "faster"


def describe_differences(change: Change, most: int | None) -> str:
    """Returns which conditions differ between the two runs beside a change."""
    if change.after.source:
        last, first = _shorten(change.before.source), _shorten(change.after.source)
        return f"Last value before the change: {last}. First value after it: {first}."
    if change.unread:
        return f"The conditions of these runs cannot be compared: {change.unread}"
    if not change.differences:
        return "No known condition differs between the two runs."
    return f"Between the two runs, these conditions changed: {_join_differences(change.differences, most)}."


def _join_differences(differences: Sequence[Difference], most: int | None) -> str:
    words = [_describe_difference(difference) for difference in differences[:most]]
    more = len(differences) - len(words)
    return "; ".join([*words, *([f"and {plural(more, 'further condition')}"] if more else [])])


def _describe_difference(difference: Difference) -> str:
    return f"{difference.name.replace('_', ' ')} {difference.a} → {difference.b}"


def _list_shapes(history: History, everything: bool) -> Iterator[str]:
    """Yields what is no step: drifts, levels that ended, and lone values."""
    for series in history.series:
        if series.course.drift is not None:
            change = percent(series.course.drift - 1, 1, signed=True)
            yield f"{series.title} drifts: {change} from the first run to the last, without a step."
        for begin, end in series.course.returned:
            first, last = series.points[begin], series.points[end - 1]
            yield (
                f"{series.title} was on another level from {first.started[:10]} to {last.started[:10]} "
                f"({plural(end - begin, 'run')}), and came back."
            )
    yield from _list_lone(history, None if everything else MOST_LONE)


def _list_lone(history: History, most: int | None) -> Iterator[str]:
    """Yields the single values that are far from their level, the furthest first."""
    found = [(_measure_distance(series, place), series, series.points[place])
             for series in history.series for place in series.course.lone]  # fmt: skip
    found.sort(key=lambda one: -abs(math.log(one[0])))
    for ratio, series, point in found[:most]:
        word = "higher" if ratio > 1 else "lower"
        where = f" in {_shorten(point.source)}" if point.source else f" (run {point.run})"
        name = name_figure(series.title, series.conditions)
        size = percent(abs(ratio - 1))
        value = quantity(point.value, series.unit)
        yield f"Single unusual value: {name} was {value} on {point.started[:10]}{where}, {size} {word} than usual."
    if most is not None and len(found) > most:
        yield f"and {plural(len(found) - most, 'further single value')}: --all"


def _measure_distance(series: Series, place: int) -> float:
    """Returns the value over the median of the values on its level."""
    borders = [0, *(step.place for step in series.course.steps), len(series.points)]
    begin, end = max(b for b in borders if b <= place), min(b for b in borders if b > place)
    return series.points[place].value / median_high(point.value for point in series.points[begin:end])


def _describe_newest(history: History) -> Iterator[str]:
    judged = [s for s in history.series if s.newest and s.points[-1].run == (history.runs[-1] if history.runs else "")]
    if not judged:
        return
    found = are_unusual([series.newest for series in judged if series.newest])
    unusual = [series for series, is_unusual in zip(judged, found, strict=True) if is_unusual]
    if not unusual:
        yield f"The newest run is as usual in {'all ' if len(judged) > 1 else ''}{plural(len(judged), 'figure')}."
    for series in unusual:
        if series.newest:
            ratio, count = series.newest.ratio, plural(series.newest.count, "run")
            size = f"{percent(abs(ratio - 1), 1)} {'higher' if ratio > 1 else 'lower'}"
            yield f"Newest run: {series.title} is {size} than in the {count} before it. One run can be an outlier: measure again."


def _print_series(shown: Sequence[Series], on: Console) -> None:
    table = Table(box=box.SIMPLE)
    for column, justify in (
        ("figure", "left"),
        ("runs", "right"),
        ("usual", "right"),
        ("newest", "right"),
        ("course", "left"),
    ):
        table.add_column(column, justify=justify, overflow="fold")  # type: ignore[arg-type]
    different = find_differences_of_names(shown)
    for series in shown:
        values = [point.value for point in series.points]
        name = name_figure(
            series.title, series.conditions if on.width > COLUMNS else different[series.name, series.conditions]
        )
        table.add_row(
            safe(name), str(len(values)), describe_usual(series), quantity(values[-1], series.unit),
            draw_bars(values),
        )  # fmt: skip
    on.print(table)


def find_differences_of_names(shown: Sequence[Series]) -> dict[tuple[str, str], str]:
    """Returns by name and conditions in what each series differs from the others of its title; "" for one alone."""
    alike: dict[str, list[set[str]]] = {}
    for series in shown:
        alike.setdefault(series.title, []).append({*series.conditions.split(", ")})
    common = {title: set.intersection(*sets) for title, sets in alike.items()}
    return {
        (series.name, series.conditions): ", ".join(
            word for word in series.conditions.split(", ") if word not in common[series.title]
        )
        for series in shown
    }


def describe_usual(series: Series) -> str:
    """Returns the range between the first and the last tenth of the values on the present level."""
    begin = series.course.steps[-1].place if series.course.steps else 0
    ordered, unit = sorted(point.value for point in series.points[begin:]), series.unit
    low, high = (ordered[round(share * (len(ordered) - 1))] for share in (0.1, 0.9))
    return quantity(low, unit) if len(ordered) < 3 else span(low, high, unit)


def draw_bars(values: Sequence[float]) -> str:
    """Returns a small graph of the values in the order of time, on a logarithmic scale; medians of neighbours if many."""
    groups = min(len(values), MOST_BARS)
    parts = [values[n * len(values) // groups : (n + 1) * len(values) // groups] for n in range(groups)]
    logs = [math.log(median_high(part)) for part in parts]
    low, room = min(logs), max(max(logs) - min(logs), math.log(1.02))
    return "".join(BARS[min(len(BARS) - 1, int((log - low) / room * len(BARS)))] for log in logs)
