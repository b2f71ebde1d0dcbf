"""Full nodes beside full nodes in words, cells and lines: the same on the screen and on the page."""

from dataclasses import dataclass

from rich.text import Text

from steelyard.compare.compared_sides import NodeSeries, SidesComparison, WholeCell, WholeRow
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.units import quantity
from steelyard.model.words import joined, plural
from steelyard.show.report import drawing
from steelyard.show.report.call_styles import STYLE, name_call
from steelyard.show.report.lines import column, cut, heading, pad
from steelyard.show.report.names import slug
from steelyard.show.report.ratios import with_interval, write_ratio
from steelyard.show.report.shown_sides import choose_sides
from steelyard.show.report.side_traces import MOST_DRAWN, MOST_SHOWN
from steelyard.show.report.whole_table import title_case

COLUMNS = {"Nodes": 9, "Side": 5, "Cores": 7, "Value": 15, "Time": 20, "Per core": 10}
HEADINGS = ("Nodes", "Side", "Cores", "Value", "Time", "Per core", "Call", "Use of the nodes")
BEST = "best"
EXPLANATION = (
    "All rows but 'best' use all known cores of their nodes. Time: for the same work, relative to a; below 1 is faster. "
    "Per core: the same for time × the number of cores (as stated, or the most that the side used on a node). Values with "
    "fewer than five repetitions have no interval and no call."
)


@dataclass(frozen=True, kw_only=True)
class NodeTable:
    """A series on the page: its title, the rows as in `HEADINGS` with the number of their side, and the lines over the nodes.

    `figure` is None if no side has several numbers of nodes. `main`: its metric is the main one of the kernel.
    """

    title: str
    main: bool
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    figure: drawing.Drawn | None
    note: str


def describe_full_nodes(comparison: SidesComparison) -> tuple[NodeTable, ...]:
    """Returns all series of a comparison for the page."""
    names = {side.letter: side.name for side in comparison.sides}
    numbers = {letter: number for number, letter in enumerate(names)}
    main = _list_main(comparison)
    return tuple(
        NodeTable(
            title=_title(series),
            main=series in main,
            rows=tuple(
                (numbers[cell.letter], _cells(row, cell, names[cell.letter]))
                for row in series.rows
                for cell in row.cells
            ),
            figure=_draw(series, comparison) if series in main else None,
            note=_note(series, names),
        )
        for series in comparison.full_nodes
    )


def _list_main(comparison: SidesComparison) -> list[NodeSeries]:
    """Returns the series of the main metric of each kernel."""
    main: dict[tuple[str, str], str] = {}
    for series in comparison.full_nodes:
        main.setdefault((series.benchmark, series.kernel), series.metric)
    return [s for s in comparison.full_nodes if s.metric == main[s.benchmark, s.kernel]]


def _title(series: NodeSeries) -> str:
    return title_case(series.kernel or series.benchmark, series.metric, series.parameters)


def _cells(row: WholeRow, cell: WholeCell, side: str) -> tuple[str, ...]:
    ratio = "" if cell.ratio is None else with_interval(cell.ratio, cell.low, cell.high)
    per_core = "" if cell.per_core is None else write_ratio(cell.per_core)
    nodes = f"{row.nodes:,}" if row.nodes else f"{BEST}: {cell.nodes:,}" if cell.nodes else BEST
    cores = "–" if cell.cores is None else f"{cell.cores:,}"
    value = quantity(cell.value.value, cell.value.unit)
    return nodes, side, cores, value, ratio, per_core, name_call(cell.call), cell.use


def _note(series: NodeSeries, names: dict[str, str]) -> str:
    """Returns which numbers of nodes a side has only with a part of their cores."""
    parts = [f"{', '.join(map(str, numbers))} of {names[letter]}" for letter, numbers in series.partial.items()]
    return f"These numbers of nodes were not used with all cores, and are left out: {joined(parts)}." if parts else ""


# --------------------------------------------------------------------------- the figure


def _draw(series: NodeSeries, comparison: SidesComparison) -> drawing.Drawn | None:
    """Returns the lines over the numbers of nodes; None if no side has two of them."""
    lines = []
    for number, side in enumerate(comparison.sides[:MOST_DRAWN]):
        points = [(row.nodes, cell.value) for row in series.rows for cell in row.cells if cell.letter == side.letter]
        full = [(float(nodes), value) for nodes, value in points if nodes]
        if full:
            lines.append(
                Series(
                    "full nodes", tuple(nodes for nodes, _ in full), tuple(value.value for _, value in full),
                    tuple(value.low for _, value in full), tuple(value.high for _, value in full), side=number,
                )
            )  # fmt: skip
    if max((len(line.x) for line in lines), default=0) < 2:
        return None
    unit = series.rows[0].cells[0].value.unit
    figure = Figure(
        name=slug(f"full-nodes-{series.benchmark}-{_title(series)}"),
        title=_state_result(series, comparison),
        kind="lines",
        x=Axis("full nodes", log=True),
        y=Axis(series.metric.replace("_", " "), unit, log=True),
        series=tuple(lines),
        caption="Each side uses all cores of its nodes. A point without a bar is a value without an interval.",
        sides=tuple(side.name for side in comparison.sides[:MOST_DRAWN]),
        shown=choose_sides(comparison, MOST_SHOWN),
    )
    return drawing.plain(figure)


def _state_result(series: NodeSeries, comparison: SidesComparison) -> str:
    """Returns the ratio of the fastest side on the fewest nodes that the baseline and another side have."""
    rows = ((row.nodes, [c for c in row.cells if c.ratio]) for row in series.rows if row.nodes)
    nodes, cells = next(((nodes, cells) for nodes, cells in rows if cells), (None, []))
    if not cells:
        return f"{_title(series)}: no number of nodes is common"
    best = min(cells, key=lambda cell: cell.ratio or 1.0)
    other, times = comparison.title(best.letter).name, write_ratio(best.ratio or 1.0)
    needs = f"{other} needs {times} times the time of {comparison.baseline.name}"
    return f"{_title(series)}: on {plural(nodes or 0, 'full node')}, {needs}"


# --------------------------------------------------------------------------- the screen


def list_full_nodes(comparison: SidesComparison, width: int, room: int | None) -> list[Text]:
    """Returns the tables in at most `room` lines: of the main metrics, the rows that have ratios. None: everything."""
    chosen = comparison.full_nodes if room is None else _list_main(comparison)
    if not chosen:
        return []
    letters = {side.letter: side.letter for side in comparison.sides}
    head = "".join(f"  {pad(name, 3)}" if name == "Side" else pad(name, size, True) for name, size in COLUMNS.items())
    lines = [*heading("Full nodes"), Text(head, style="dim")]
    end = [Text(line, style="dim") for line in cut(EXPLANATION, width, 5)]
    left = 0
    for series in chosen:
        title = [Text(line) for line in cut(_title(series), width, 2)]
        rows = [row for row in series.rows if room is None or any(cell.ratio for cell in row.cells)]
        blocks = [_list_row(row, width, room is None) for row in rows]
        note = [Text(line, style="dim") for line in cut(_note(series, letters), width, 3)] if series.partial else []
        for block in [*blocks, note] if note else blocks:
            if room is not None and (left or len(lines) + len(title) + len(block) + len(end) + 1 > room):
                left += 1
                continue
            lines += [*title, *block]
            title = []
    if room is not None and len(lines) < 4:
        return []
    return [*lines, *([Text(f"and {plural(left, 'more row')} with --all", style="dim")] if left else []), *end]


def _list_row(row: WholeRow, width: int, with_use: bool) -> list[Text]:
    lines: list[Text] = []
    sizes = list(COLUMNS.values())
    for number, cell in enumerate(row.cells):
        nodes, side, *rest, call, use = _cells(row, cell, cell.letter)
        text = Text(pad("" if number and row.nodes else nodes, sizes[0], True))
        text.append(f"  {pad(side, sizes[1] - 2)}", "bold")
        text.append("".join(column(given, size) for given, size in zip(rest, sizes[2:], strict=True)))
        text.append(f"  {call}", STYLE.get(cell.call or "", "dim"))
        lines.append(text)
        if with_use:
            lines += (Text(f"{'':11}{line}", style="dim") for line in cut(use, width - 11, 2))
    return lines
