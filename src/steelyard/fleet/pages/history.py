"""The figures of the machine over the runs that lie in the same folder: changes, and what changed beside them."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from steelyard.fleet import history_screen
from steelyard.fleet.history import History, Renewal, make_history
from steelyard.fleet.printing import name_figure, nest
from steelyard.fleet.series import Series
from steelyard.model import Evaluation
from steelyard.model import figure as model
from steelyard.model.units import percent, quantity
from steelyard.model.words import plural
from steelyard.show.command_line.evaluated_run import list_beside, read_summary
from steelyard.show.report import drawing, figures
from steelyard.show.report.axes import Json, text
from steelyard.show.report.names import slug
from steelyard.show.report.summarised_run import summarised
from steelyard.show.report.summary import name_machine
from steelyard.statistics.difference.steps import LEAST

PLACE, TITLE = 8, "History"
IMPORTED = True

LEAST_POINTS = 2 * LEAST  # of a series: with fewer, no change can be found
MOST_FIGURES = 12
MOST_MARKS, MOST_LABELS = 20, 3  # changes of conditions in a figure, and those of them with a name
MOST_CASES = 300  # of imported runs, which may have thousands
HEADINGS = ("Run", "Date", "Value")


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: a figure with its number of values, usual range, newest value, and course in words."""

    figure: str
    runs: int
    usual: str
    newest: str
    course: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The data of the page. `sentences`: each with the sentences that belong to it. `hidden` figures are in the table only."""

    history: History
    sentences: tuple[tuple[str, tuple[str, ...]], ...]
    lines: tuple[Line, ...]
    figures: tuple[drawing.Drawn, ...]
    hidden: int


def data(evaluation: Evaluation) -> Page | None:
    """Returns the history of the machine; None with fewer than six runs (or dates of imported values) of any figure.

    Of the other runs in the folder, those count whose summary is stored: the page evaluates no run.
    """
    path = Path(evaluation.run.path)
    stored, is_older = read_summary(path, ()) or (None, True)
    own = summarised(evaluation) if stored is None or is_older else stored
    others = [] if evaluation.run.imported else list(list_beside(own))
    if not evaluation.run.imported and len(others) + 1 < LEAST_POINTS:
        return None
    history = make_history(name_machine(own.machine), [own, *others], most=MOST_CASES)
    shown = [series for series in history.series if len(series.points) >= LEAST_POINTS]
    if not shown:
        return None
    ordered = sorted(shown, key=lambda series: not (series.course.steps or series.course.lone))
    drawn = tuple(_draw(series, history.renewals) for series in ordered[:MOST_FIGURES])
    return Page(
        history=history,
        sentences=tuple(nest(history_screen.list_sentences(history, everything=True))),
        lines=tuple(map(_line, shown)),
        figures=drawn,
        hidden=len(ordered) - len(drawn),
    )


def has_figures(page: Page) -> bool:
    """Returns whether the page has figures."""
    return bool(page.figures)


def _line(series: Series) -> Line:
    values = [point.value for point in series.points]
    return Line(
        figure=name_figure(series.title, series.conditions),
        runs=len(values),
        usual=history_screen.describe_usual(series),
        newest=quantity(values[-1], series.unit),
        course="; ".join(_list_words(series)) or "no change",
    )


def _list_words(series: Series) -> Iterator[str]:
    """Yields the course of a series in words, for a cell or a title."""
    for step in series.course.steps:
        size = percent(abs(step.ratio - 1), 1)
        word = history_screen.choose_word(series.better, step.ratio)
        yield f"{size} {word} since {series.points[step.place].started[:10]}"
    if series.course.drift is not None:
        yield f"drifts by {percent(series.course.drift - 1, 1, signed=True)}"
    for begin, end in series.course.returned:
        first, last = (series.points[place].started[:10] for place in (begin, end - 1))
        yield f"other level from {first} to {last}"
    if series.course.lone:
        yield plural(len(series.course.lone), "single unusual value")


def _draw(series: Series, renewals: Sequence[Renewal]) -> drawing.Drawn:
    dates = tuple(point.started[:19] for point in series.points)
    anchor = f"history-{slug(name_figure(series.title, series.conditions))}"
    figure = model.Figure(
        name=anchor,
        title=": ".join(filter(None, (name_figure(series.title, series.conditions), "; ".join(_list_words(series))))),
        kind="lines",
        x=model.Axis("date"),
        y=model.Axis("value", series.unit),
        series=(
            model.Series("run", dates, tuple(point.value for point in series.points), connected=False),
            model.Series("level", *_find_levels(series, dates)),
        ),
    )
    plot = figures.plotly(figure)
    plot["layout"]["xaxis"] |= {"type": "date", "tickformat": "%Y-%m-%d", "nticks": 8}
    plot["layout"]["yaxis"] |= {"rangemode": "normal"}  # a change of some percent is invisible beside 0
    plot["layout"] |= {"height": 300, "showlegend": False}
    plot["data"][1]["mode"] = "lines"
    for number, renewal in enumerate(renewals[:MOST_MARKS]):
        _mark(plot["layout"], renewal, has_label=number < MOST_LABELS)
    rows = [(point.run, point.started[:10], quantity(point.value, series.unit)) for point in series.points]
    return drawing.with_plot(anchor, figure, plot, HEADINGS, rows)


def _mark(layout: Json, renewal: Renewal, *, has_label: bool) -> None:
    """Adds a line where conditions changed, with the name of the first one above the plot."""
    at = renewal.started[:19]
    layout["shapes"].append(
        {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at, "line": {"dash": "dot", "width": 1.2},
         "layer": "below"}
    )  # fmt: skip
    if has_label:
        label = text(renewal.differences[0].name.replace("_", " "))
        layout["annotations"].append(
            {"text": label, "showarrow": False, "font": {"size": 12}, "yref": "paper", "y": 1, "yanchor": "bottom",
             "x": at, "xanchor": "center", "name": "above"}
        )  # fmt: skip


def _find_levels(series: Series, dates: Sequence[str]) -> tuple[tuple[str, ...], tuple[float | None, ...]]:
    """Returns the ends of each level, with a gap behind it. A drift has no levels."""
    x, y = list[str](), list[float | None]()
    borders = [0, *(step.place for step in series.course.steps), len(dates)]
    for begin, end in itertools.pairwise(borders):
        level = median(point.value for point in series.points[begin:end])
        x += [dates[begin], dates[end - 1], dates[end - 1]]
        y += [level, level, None]
    return tuple(x), tuple(y)
