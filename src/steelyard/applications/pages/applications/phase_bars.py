"""Where the time of applications goes: a bar for each run, of its phases."""

from dataclasses import dataclass

from steelyard import units
from steelyard.model import Level, Result
from steelyard.model.figure import Axis, Figure, Series
from steelyard.report import doubtful_values, drawing, figures
from steelyard.report.axes import label
from steelyard.statistics.results import applications
from steelyard.statistics.results.applications import phrase

NARROW = 3  # bars, at most, of figures that stand side by side
MOST_DRAWN = 16  # runs whose phases are drawn for a benchmark; the table has all


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Which run it is: its benchmark's name and anchor, class, model with what else differs, threads or ranks."""

    benchmark: str
    anchor: str
    letter: str
    model: str
    workers: int
    level: Level
    evidence: str


def phases(results: tuple[Result, ...], cells: list[Cell]) -> tuple[tuple[drawing.Drawn, ...], str, bool]:
    """Bars for each benchmark whose phases were timed, a sentence on what is not drawn, and whether all have few bars."""
    timed = [(r, c) for r, c in zip(results, cells, strict=True) if applications.phases(r) and applications.verified(r)]
    made, left, most = [], 0, 0
    for name in dict.fromkeys(c.benchmark for _, c in timed):
        mine = [(r, c) for r, c in timed if c.benchmark == name]
        # Of a class that is too small it is rather the starting of the phases that shows.
        shown = [(r, c) for r, c in mine if applications.large_enough(r)] or mine
        shown = shown[-MOST_DRAWN:]
        left, most = left + len(mine) - len(shown), max(most, len(shown))
        made.append(_bars(name, mine, [c for _, c in shown]))
    runs = "One run is" if left == 1 else f"{left} runs are"
    return tuple(made), f"{runs} in the numbers of the figures only." if left else "", most <= NARROW


def _bars(name: str, mine: list[tuple[Result, Cell]], bars: list[Cell]) -> drawing.Drawn:
    """The share of each phase in the time of all, a bar a run of `bars`, the largest problem and most workers last."""
    reported = [(named(c, [c for _, c in mine]), applications.phases(r), c) for r, c in mine]
    names = list(dict.fromkeys(phase for _, phases, _ in reported for phase in phases))
    shares = {
        (run, phase): doubtful_values.graded(s / sum(p.values()), c.level)
        for run, p, c in reported
        for phase, s in p.items()
        if sum(p.values()) > 0
    }
    shown = [run for run, _, c in reported if c in bars]
    figure = Figure(
        name=f"phases-{name.lower()}",
        title=f"NPB {name}: where the time goes",
        kind="bars",
        x=Axis("run"),
        y=Axis("share of the time", "%"),
        series=tuple(Series(p, tuple(shown), tuple(shares.get((run, p)) for run in shown)) for p in names),
        caption="By the view of one thread or of the first rank: what it waits for the others counts to the phase in which it "
        "waits. Timing the phases costs a little itself.",
    )
    plot = figures.plotly(figure)
    plot["layout"] |= {"barmode": "stack", "showlegend": True}
    plot["layout"]["yaxis"] |= {"range": [0, 100]}
    rows = tuple(
        (run, phase, units.quantity(seconds, "s"), label(shares.get((run, phase)), figure.y))
        for run, phases, _ in reported
        for phase, seconds in phases.items()
    )
    return drawing.Drawn(
        anchor=f"applications-{figure.name}",
        title=figure.title,
        caption=figure.caption,
        plot=drawing.embedded(plot),
        height=plot["layout"]["height"],
        wide=False,
        webgl=False,
        headings=("Run", "Phase", "Time", "Share"),
        rows=rows,
        notes=doubtful_values.notes((c.level for c in bars), "runs", "bars"),
    )


def named(cell: Cell, among: list[Cell]) -> str:
    """'A, MPI, 4 ranks', '2 threads': without the class where all runs have the same."""
    parts = [cell.letter] if len({c.letter for c in among}) > 1 else []
    unit, _, rest = cell.model.partition(", ")
    alone = unit == "threads"
    count = phrase("threads" if alone else "ranks", cell.workers)
    return ", ".join(part for part in (*parts, "" if alone else unit, count, rest) if part)
