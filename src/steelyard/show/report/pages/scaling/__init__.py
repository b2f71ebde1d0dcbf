"""How the run's programs scale: time, speed-up, efficiency, the laws that fit, and where one more core is not worth it."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from steelyard.model import Evaluation, Level
from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.show.report import drawing, figures, scaling_rows
from steelyard.show.report.axes import Json
from steelyard.show.report.names import slug
from steelyard.show.report.pages.scaling import borders, joint_figures
from steelyard.show.report.pages.scaling.lost_efficiency import Causes, causes
from steelyard.statistics.models.scaling import Point
from steelyard.statistics.models.scaling_models import Estimate, Fit, speedup
from steelyard.statistics.results.sweeps import Sweep, sweeps

PLACE, TITLE = 60, "Scaling"

FULL = "application."
# Their speed grows with the threads by what they are, or is that of something shared: their own pages show it.
ELSEWHERE = ("memory.", "core.")
MOST_LINES = 4  # in a figure; more cross each other too often to be followed
CURVE = 41  # points of a law's curve, which is smooth on logarithmic axes
_INK = 6  # the palettes' last colour, black on white: the ideal's


@dataclass(frozen=True)
class Row:
    """A count of a sweep: its cells as `scaling_rows.HEADINGS`, and its verdict."""

    count: int
    cells: tuple[str, ...]
    level: Level
    crowded: bool


@dataclass(frozen=True, kw_only=True)
class Line:
    """A sweep in words: what it rests on, its table, its laws, what must be said besides, and where to stop."""

    name: str
    over: str
    base: str
    rows: tuple[Row, ...]
    laws: tuple[str, ...]
    notes: tuple[str, ...]
    stop: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """A benchmark in full: pictures in groups that stand side by side, a line for each sweep, and the laws not fitted."""

    title: str
    anchor: str
    name: str
    figures: tuple[tuple[drawing.Drawn, ...], ...]
    lines: tuple[Line, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True)
class Brief:
    """A sweep in one row: its benchmark, itself, and at the greatest count its speed-up, efficiency and serial fraction."""

    benchmark: str
    anchor: str
    name: str
    cells: tuple[str, ...]
    level: Level


@dataclass(frozen=True, kw_only=True)
class Page:
    """Returns the data of the page. `together`: all applications in each figure; `choice`: which are shown in full, and why."""

    together: tuple[tuple[drawing.Drawn, ...], ...]
    sections: tuple[Section, ...]
    briefs: tuple[Brief, ...]
    brief_notes: tuple[str, ...]
    headings: tuple[str, ...]
    choice: str
    causes: Causes | None


def data(evaluation: Evaluation) -> Page | None:
    """The page's data; None where nothing was measured at two counts, and no trace is at hand."""
    swept = asked(evaluation)
    measured_sweeps = sweeps(evaluation, lambda name: swept or not name.startswith(ELSEWHERE))
    if not measured_sweeps and not evaluation.traces:
        return None
    full = {s.benchmark for s in measured_sweeps if swept or s.benchmark.startswith(FULL)}
    order = [name for name in evaluation.benchmarks if name in full]
    sections = tuple(_section(evaluation, name, [s for s in measured_sweeps if s.benchmark == name]) for name in order)
    rest = sorted((s for s in measured_sweeps if s.benchmark not in full), key=lambda s: s.benchmark)
    briefs = tuple(_brief(s, measured_sweeps) for s in rest)
    groups = joint_figures.groups(measured_sweeps, evaluation.run.machine.enclosures)
    choice = _choice(swept, bool(rest)) if measured_sweeps else ""
    return Page(
        together=groups,
        sections=sections,
        briefs=briefs,
        brief_notes=tuple(f"{s.benchmark} {s.kernel}: {note}" for s in rest for note in scaling_rows.excess(s)),
        headings=scaling_rows.HEADINGS,
        choice=choice,
        causes=causes(evaluation.traces),
    )


def asked(evaluation: Evaluation) -> bool:
    """Returns whether the run is one of `steelyard scale`: all of it was measured for this page."""
    return evaluation.run.command[1:2] == ("scale",)


def _choice(swept: bool, rest: bool) -> str:
    if swept:
        return ""
    short = ". The table at the end summarises the other benchmarks" if rest else ""
    return (
        f"This page shows figures and tables for applications only{short}. The benchmarks of memory and cores have their "
        "own pages. The benchmarks of messages and noise do not divide work, so they do not scale. To see another "
        "benchmark here with figures and tables, run: steelyard scale BENCHMARK"
    )


def _section(evaluation: Evaluation, name: str, own_sweeps: list[Sweep]) -> Section:
    ends = evaluation.run.machine.enclosures
    groups = tuple(
        _figures(name, number, part, own_sweeps, borders.marks(part, ends))
        for number, part in enumerate(_parts(list(filter(joint_figures.own_points, own_sweeps))), 1)
    )
    lines = tuple(_line(sweep, own_sweeps) for sweep in own_sweeps)
    return Section(
        title=evaluation.benchmarks[name].title,
        anchor=slug(name),
        name=name,
        figures=groups,
        lines=lines,
        refused=scaling_rows.refused(own_sweeps),
    )


def _parts(lines: Sequence[Sweep]) -> list[list[Sweep]]:
    """Sweeps that are drawn together: of the same kind of work, and few."""
    parts = []
    for weak in (False, True):
        alike = [s for s in lines if s.scaling.weak is weak]
        parts += [alike[at : at + MOST_LINES] for at in range(0, len(alike), MOST_LINES)]
    return parts


def _line(sweep: Sweep, among: Sequence[Sweep]) -> Line:
    rows = tuple(
        Row(p.count, scaling_rows.row(p), scaling_rows.level_at(sweep, p.count), p.crowded)
        for p in sweep.scaling.points
    )
    return Line(
        name=scaling_rows.named(sweep, among),
        over=scaling_rows.WORDS[sweep.over][1],
        base=scaling_rows.base(sweep),
        rows=rows,
        laws=scaling_rows.laws(sweep),
        notes=scaling_rows.notes(sweep),
        stop=scaling_rows.stop_here(sweep),
    )


def _brief(sweep: Sweep, among: Sequence[Sweep]) -> Brief:
    last = (joint_figures.own_points(sweep) or sweep.scaling.points)[-1]
    cells = scaling_rows.row(last)
    counts = ", ".join(str(p.count) for p in sweep.scaling.points)
    stop = sweep.scaling.stop
    texts = "–" if stop is None else f"{stop.count}{'' if stop.beyond else ' or more'}{'' if stop.certain else ' (?)'}"
    shown = (counts, f"{cells[1]} of {last.count}", *cells[2:5], texts)
    return Brief(sweep.benchmark, slug(sweep.benchmark), scaling_rows.named(sweep, among), shown, sweep.level)


# --------------------------------------------------------------------------- the figures


def _figures(
    name: str, number: int, part: Sequence[Sweep], among: Sequence[Sweep], ends: tuple[Mark, ...]
) -> tuple[drawing.Drawn, ...]:
    over = " or ".join(dict.fromkeys(scaling_rows.WORDS[s.over][1] for s in part))
    x, anchor = Axis(over, log=True), f"scaling-{slug(name)}-{number}"
    growing = ", growing work" if part[0].scaling.weak else ""

    def figure(kind: str, title: str, y: Axis, of: Callable[[Point], Estimate], caption: str, *more: Series) -> Figure:
        lines = tuple(joint_figures.draw_line(s, scaling_rows.named(s, among), of) for s in part)
        return Figure(kind, f"{title}{growing}", "lines", x, y, (*lines, *more), marks=ends, caption=caption)

    gained = figure(
        "speed-up",
        f"Speed-up over {over}",
        Axis("speed-up", log=True),
        lambda p: p.speedup,
        "Speed-up relative to the lowest measured number. The straight line is the ideal speed-up. Dashed curves are "
        "scaling laws, fitted to the measured times. They end at twice the greatest measured number, because "
        "they are not valid beyond it. On both axes, each step is a factor of two.",
        _draw_ideal(part),
    )
    share = figure(
        "efficiency",
        "Efficiency",
        Axis("efficiency", "%"),
        lambda p: p.efficiency,
        "The efficiency is the speed-up divided by the ideal speed-up. It is the share of the processors' "
        "performance that the program uses.",
        *(joint_figures.printed_lines(part[0].scaling.weak, part) if name.startswith(FULL) else ()),
    )
    share = replace(share, marks=(Mark("y", 0.5, "half is lost"), *ends))
    medians = "Each point is the median over the launches, with its 95 % interval."
    time = figure("time", "Time", Axis("time of an operation", "s", log=True), lambda p: p.time, medians)
    return tuple(_draw_sweeps(f"{anchor}-{f.name}", f, part, f is gained) for f in (gained, share, time))


def _draw_ideal(part: Sequence[Sweep]) -> Series:
    """From the least to the greatest count; of bases that differ, that of the first."""
    counts = [p.count for s in part for p in joint_figures.own_points(s)]
    ends = (float(min(counts)), float(max(counts)))
    base = part[0].scaling.base
    return Series("ideal", ends, tuple(end / base for end in ends))


def _curve(sweep: Sweep, fit: Fit) -> Series:
    low, high = sweep.scaling.base, fit.furthest
    counts = tuple(low * (high / low) ** (i / (CURVE - 1)) for i in range(CURVE))
    first = speedup(fit, low)
    return Series(fit.law, counts, tuple(speedup(fit, c) / first for c in counts))


def _draw_sweeps(anchor: str, figure: Figure, part: Sequence[Sweep], curves: bool) -> drawing.Drawn:
    laws = [(i, _curve(s, fit)) for i, s in enumerate(part) for fit in _shown(s, len(part) == 1)] if curves else []
    whole = replace(figure, series=(*figure.series, *(line for _, line in laws)))
    plot = _plot(whole, len(part), [i for i, _ in laws])
    return joint_figures.draw(anchor, figure, plot, len(part), "Line")


def _shown(sweep: Sweep, alone: bool) -> list[Fit]:
    """The laws that describe the sweep; beside other sweeps only the best of them."""
    fits = sorted((f for f in sweep.scaling.fits if f.follows), key=lambda f: f.deviation)
    return fits if alone else fits[:1]


def _plot(figure: Figure, lines: int, of_law: Sequence[int]) -> Json:
    """Plotly's JSON: a law in its line's colour, the ideal in ink, and ticks at the counts and the powers of two."""
    plot = figures.plotly(figure)
    owner = itertools.chain(range(lines), [_INK] * (len(figure.series) - lines - len(of_law)), of_law)
    for number, colour in enumerate(owner):
        if figure.series[number].published:
            continue
        for trace in (t for t in plot["data"] if t.get("legendgroup") == f"series{number}"):
            if number >= lines:
                ideal = number < len(figure.series) - len(of_law)
                joint_figures.draw_law(trace, colour, "solid" if ideal else "dash")
                continue
            trace["meta"] = {**trace["meta"], "colour": colour}
            if "fill" not in trace:
                trace["line"] = {**trace["line"], "dash": "solid"}
    joint_figures.ticks(plot["layout"], figure, lines)
    return plot


def has_figures(page: Page) -> bool:
    """Wherever there is a sweep there are figures, or a table of the short ones."""
    return bool(page.sections or page.briefs)
