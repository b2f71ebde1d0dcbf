"""All applications of a run in one picture: speed-up and efficiency of the same work, and of work that grows."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from steelyard.measure import published
from steelyard.model import Enclosure
from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.model.units import percent
from steelyard.show.report import doubtful_values, drawing, figures, scaling_rows
from steelyard.show.report.axes import Json
from steelyard.show.report.pages.scaling import borders
from steelyard.show.report.published_lines import systems
from steelyard.statistics.models.scaling import Point
from steelyard.statistics.models.scaling_models import Estimate
from steelyard.statistics.results.sweeps import Sweep

APPLICATIONS = "application."
LINES = (0.5, 0.7, 0.9)  # efficiencies that are drawn: half is lost, and what authors ask for
_INK = 6  # the palettes' last colour: the ideal's
_KINDS = {False: ("strong scaling", "the same work"), True: ("weak scaling", "growing work")}

Of = Callable[[Point], Estimate]


def groups(all_sweeps: Sequence[Sweep], enclosures: Sequence[Enclosure]) -> tuple[tuple[drawing.Drawn, ...], ...]:
    """A pair of figures for each kind of scaling that two applications or more show, marked where blades or such end."""
    pairs = ((weak, _choose_sweeps(all_sweeps, weak)) for weak in (False, True))
    return tuple(_pair(weak, lines, enclosures) for weak, lines in pairs if len(lines) > 1)


def _choose_sweeps(all_sweeps: Sequence[Sweep], weak: bool) -> tuple[Sweep, ...]:
    """Of each application and kernel the sweep that goes the furthest; of several the one whose samples last longest."""
    best: dict[tuple[str, str], Sweep] = {}
    for sweep in all_sweeps:
        if not sweep.benchmark.startswith(APPLICATIONS) or sweep.scaling.weak is not weak or len(own_points(sweep)) < 2:
            continue
        key = (sweep.benchmark, sweep.kernel)
        if key not in best or _reach(sweep) > _reach(best[key]):
            best[key] = sweep
    return tuple(best.values())


def own_points(sweep: Sweep) -> list[Point]:
    """Returns the counts that had a processor for each; figures leave out the others, which are in the table."""
    return [point for point in sweep.scaling.points if not point.crowded]


def _reach(sweep: Sweep) -> tuple[int, float]:
    return own_points(sweep)[-1].count, sweep.shortest


def _pair(weak: bool, lines: Sequence[Sweep], enclosures: Sequence[Enclosure]) -> tuple[drawing.Drawn, ...]:
    kind, work = _KINDS[weak]
    x = Axis(" or ".join(dict.fromkeys(scaling_rows.WORDS[s.over][1] for s in lines)), log=True)
    bases = {s.scaling.base for s in lines}
    ends = borders.marks(lines, enclosures)
    names = [_name_sweep(s, lines) for s in lines]
    left = borders.sentence(lines, enclosures, names)
    each = ", ".join(f"{name}: {s.scaling.base}" for name, s in zip(names, lines, strict=True))
    least = f"the lowest number, {bases.pop()}" if len(bases) == 1 else f"the lowest number of each line ({each})"
    gains = [draw_line(s, name, lambda p: p.speedup) for name, s in zip(names, lines, strict=True)]
    shares = [draw_line(s, name, lambda p: p.efficiency) for name, s in zip(names, lines, strict=True)]
    gained = Figure(
        "speed-up",
        f"All applications, {kind}: speed-up",
        "lines",
        x,
        Axis("speed-up", log=True),
        (*gains, _draw_ideal(lines)),
        marks=ends,
        caption=f"Speed-up with {work}, relative to {least}. The straight line is the ideal speed-up. {left}".strip(),
    )
    share = Figure(
        "efficiency",
        f"All applications, {kind}: efficiency",
        "lines",
        x,
        Axis("efficiency", "%"),
        (*shares, *printed_lines(weak, lines)),
        marks=(*(Mark("y", level, percent(level)) for level in LINES), *ends),
        caption=f"The efficiency is the speed-up divided by the ideal speed-up. {_printed(weak)}".strip(),
    )
    return tuple(
        draw(
            f"scaling-all-{kind.split()[0]}-{figure.name}", figure, _plot(figure, len(lines)), len(lines), "Application"
        )
        for figure in (gained, share)
    )


def _name_sweep(sweep: Sweep, lines: Sequence[Sweep]) -> str:
    """The application's name, with its kernel where it has several, and what it has many of where the lines differ."""
    words = sweep.benchmark.removeprefix(APPLICATIONS).replace("npb_", "NPB ").replace("_", " ")
    words = words.upper() if words.startswith("NPB ") else words.capitalize()
    kernels = {s.kernel for s in lines if s.benchmark == sweep.benchmark}
    over = scaling_rows.WORDS[sweep.over][1]
    more = [sweep.kernel] if len(kernels) > 1 else []
    more += [over] if len({s.over for s in lines}) > 1 else []
    return ", ".join([words, *more])


def draw_line(sweep: Sweep, name: str, estimate: Of) -> Series:
    """Returns the estimates at the counts that had their processors, with their verdicts."""
    points = [(float(p.count), estimate(p)) for p in own_points(sweep)]
    counts, values = tuple(c for c, _ in points), [e for _, e in points]
    levels = (scaling_rows.level_at(sweep, int(count)) for count in counts)
    marked = tuple(doubtful_values.graded(e.value, level) for e, level in zip(values, levels, strict=True))
    return Series(name, counts, marked, tuple(e.low for e in values), tuple(e.high for e in values))


def _draw_ideal(lines: Sequence[Sweep]) -> Series:
    """Returns the line of ideal scaling, from the least base to the greatest count."""
    base = min(s.scaling.base for s in lines)
    last = max(own_points(s)[-1].count for s in lines)
    return Series("ideal", (float(base), float(last)), (1.0, last / base))


def _printed(weak: bool) -> str:
    """What was printed of other applications on the prototype, in a sentence."""
    texts = []
    for entry in published.select("applications", "weak_efficiency" if weak else "strong_efficiency"):
        where = f" at {entry.parameters['nodes']} nodes" if "nodes" in entry.parameters else ""
        above = "more than " if entry.parameters.get("bound") == "above" else ""
        texts.append(f"{entry.parameters['application']} {above}{percent(entry.value)}{where}")
    return f"Published values of the Mont-Blanc prototype: {', '.join(texts)}." if texts else ""


def printed_lines(weak: bool, lines: Sequence[Sweep]) -> tuple[Series, ...]:
    """The printed numbers where the run counts nodes as they do: points, or level lines if no number of nodes is printed."""
    if any(sweep.over != "nodes" for sweep in lines):
        return ()
    counts = [float(point.count) for sweep in lines for point in own_points(sweep)]
    printed = []
    for entry in published.select("applications", "weak_efficiency" if weak else "strong_efficiency"):
        given = entry.parameters
        at = (float(given["nodes"]),) if "nodes" in given else (min(counts), max(counts))
        name = f"{given['application']}{', a lower bound' if given.get('bound') == 'above' else ''}"
        printed.append(Series(f"{entry.system} ({name})", at, (entry.value,) * len(at), published=True))
    return tuple(printed)


def draw(anchor: str, figure: Figure, plot: Json, count: int, heading: str) -> drawing.Drawn:
    """Returns a figure of sweeps with its plot. The first `count` series are measured; the table calls them `heading`."""
    measured = figure.series[:count]
    headings = (heading, figure.x.title, figure.y.title, "95 % interval")
    rows = drawing.numbers_of(replace(figure, series=measured))
    levels = (doubtful_values.level_of(y) for line in measured for y in line.y)
    notes = doubtful_values.notes(levels, "values", "lines")
    return drawing.with_plot(anchor, figure, plot, headings, rows, notes, systems(figure.series))


def _plot(figure: Figure, lines: int) -> Json:
    plot = figures.plotly(figure)
    for trace in plot["data"]:
        if trace.get("name") == "ideal":
            draw_law(trace, _INK, "solid")
    ticks(plot["layout"], figure, lines)
    plot["layout"]["height"] = 460  # the legend has a line for each application
    return plot


def draw_law(trace: Json, colour: int, dash: str) -> None:
    """Makes a trace a thin line without marks: a law, or the ideal."""
    trace["meta"] = {**trace["meta"], "colour": colour}
    trace |= {"mode": "lines", "hoverinfo": "skip", "line": {"width": 1.4, "dash": dash}}
    trace.pop("hovertemplate", None)


def ticks(layout: Json, figure: Figure, lines: int) -> None:
    """At the counts of the first so many series and the powers of two; a speed-up's axis doubles with each, too."""
    ends = [float(x) for line in figure.series for x in line.x]
    powers = [2**k for k in range(int(max(ends)).bit_length()) if min(ends) <= 2**k <= max(ends)]
    measured = sorted({int(float(x)) for line in figure.series[:lines] for x in line.x if float(x).is_integer()})
    # Counts between two powers of two would stand too close to these.
    counts = powers if len(powers) > 1 and len(measured) > 8 else sorted({*powers, *measured})
    layout["xaxis"] |= {"tickmode": "array", "tickvals": counts, "ticktext": [str(c) for c in counts]}
    if figure.name == "speed-up":
        heights = [y for line in figure.series for y in line.y if y]
        doubles = [2.0**k for k in range(-3, 24) if min(heights) / 2 <= 2.0**k <= max(heights) * 2]
        layout["yaxis"] |= {"tickmode": "array", "tickvals": doubles, "ticktext": [f"{d:g}" for d in doubles]}
