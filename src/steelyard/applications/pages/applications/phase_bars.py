"""Bars of the phases of applications: one bar for each run."""

from dataclasses import dataclass

from steelyard.model import Level, Result, units
from steelyard.model.figure import Axis, Figure, Series
from steelyard.show.report import doubtful_values, drawing, figures
from steelyard.show.report.axes import label
from steelyard.statistics.results import applications
from steelyard.statistics.results.applications import phrase

NARROW = 3  # most bars of a figure that stands beside another one
MOST_DRAWN = 16  # runs whose phases are drawn for a benchmark; the table has all


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A run: name and anchor of its benchmark, class, model with other differing parameters, threads or ranks."""

    benchmark: str
    anchor: str
    letter: str
    model: str
    workers: int
    level: Level
    evidence: str


def draw_phases(results: tuple[Result, ...], cells: list[Cell]) -> tuple[tuple[drawing.Drawn, ...], str, bool]:
    """Returns bars for each benchmark with timed phases, a sentence on runs not drawn, and whether all have few bars."""
    timed = [(r, c) for r, c in zip(results, cells, strict=True) if applications.phases(r) and applications.verified(r)]
    made, left, most = [], 0, 0
    for name in dict.fromkeys(c.benchmark for _, c in timed):
        of_name = [(r, c) for r, c in timed if c.benchmark == name]
        # In a class that is too small, the start of each phase dominates its time.
        shown = [(r, c) for r, c in of_name if applications.is_large(r)] or of_name
        shown = shown[-MOST_DRAWN:]
        left, most = left + len(of_name) - len(shown), max(most, len(shown))
        made.append(_draw_bars(name, of_name, [c for _, c in shown]))
    runs = "1 run" if left == 1 else f"{left} runs"
    return (
        tuple(made),
        f"The figures leave out {runs}. The tables below them contain all runs." if left else "",
        most <= NARROW,
    )


def _draw_bars(name: str, runs: list[tuple[Result, Cell]], bars: list[Cell]) -> drawing.Drawn:
    """Draws the share of each phase in the time: one bar for each run of `bars`, the largest problem and most workers last."""
    times = [(describe_cell(c, [c for _, c in runs]), applications.phases(r), c) for r, c in runs]
    names = list(dict.fromkeys(phase for _, phases, _ in times for phase in phases))
    shares = {
        (run, phase): doubtful_values.graded(s / sum(p.values()), c.level)
        for run, p, c in times
        for phase, s in p.items()
        if sum(p.values()) > 0
    }
    shown = [run for run, _, c in times if c in bars]
    figure = Figure(
        name=f"phases-{name.lower()}",
        title=f"NPB {name}: where the time goes",
        kind="bars",
        x=Axis("run"),
        y=Axis("share of the time", "%"),
        series=tuple(Series(p, tuple(shown), tuple(shares.get((run, p)) for run in shown)) for p in names),
        caption="One thread, or the first rank, measures the time of each phase. Time in which it waits for the "
        "others counts in the phase in which it waits. The timing adds a small overhead.",
    )
    plot = figures.plotly(figure)
    plot["layout"] |= {"barmode": "stack", "showlegend": True}
    plot["layout"]["yaxis"] |= {"range": [0, 100]}
    rows = tuple(
        (run, phase, units.quantity(seconds, "s"), label(shares.get((run, phase)), figure.y))
        for run, phases, _ in times
        for phase, seconds in phases.items()
    )
    return drawing.with_plot(
        f"applications-{figure.name}",
        figure,
        plot,
        ("Run", "Phase", "Time", "Share"),
        rows,
        doubtful_values.notes((c.level for c in bars), "runs", "bars"),
    )


def describe_cell(cell: Cell, among: list[Cell]) -> str:
    """Returns 'A, MPI, 4 ranks' or '2 threads'; without the class if all runs have the same class."""
    parts = [cell.letter] if len({c.letter for c in among}) > 1 else []
    unit, _, rest = cell.model.partition(", ")
    alone = unit == "threads"
    count = phrase("threads" if alone else "ranks", cell.workers)
    return ", ".join(part for part in (*parts, "" if alone else unit, count, rest) if part)
