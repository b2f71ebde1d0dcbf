"""A comparison of any number of sides in full: as text with every case, or as JSON."""

from collections.abc import Iterator

from rich.text import Text

from steelyard.compare.compared_sides import Cell, SidesComparison
from steelyard.model.units import quantity, significant
from steelyard.show.report import values
from steelyard.show.report.call_styles import STYLE
from steelyard.show.report.changes import write_smallest
from steelyard.show.report.full_node_tables import list_full_nodes
from steelyard.show.report.json_output import print_json
from steelyard.show.report.lines import column, console, cut, heading, pad
from steelyard.show.report.machine_table import list_machines
from steelyard.show.report.ratios import write_interval
from steelyard.show.report.screen import printed
from steelyard.show.report.sides_screen import list_conditions, list_differences, list_sides
from steelyard.show.report.sides_totals import list_totals
from steelyard.show.report.whole_table import title_case
from steelyard.statistics.validity import trust
from steelyard.statistics.validity.trust import WIDEST

EXPLANATION = (
    "Each case: value, range of the value of another run (of a group and of a single launch: 95 % interval), time for the same "
    "work relative to a with its 95 % interval, call, and the smallest difference that would be found."
)
MIX = (
    "Seconds relative to a for a mix in which each case takes as long as the others in a; in a class, a benchmark weighs by the "
    "square root of the number of its cases (T. Hoefler and R. Belli 2015, rule 4)."
)
VALUE, INTERVAL, RATIO = 14, 25, 22  # columns


def show(comparison: SidesComparison, as_json: bool) -> None:
    """Prints the comparison with all its cases."""
    if as_json:
        print_json(comparison)
        return
    on = console()
    printed(list_everything(comparison, on.width), on)


def list_everything(comparison: SidesComparison, width: int) -> Iterator[Text]:
    """Yields the lines: sides, conditions, differences, classes and benchmarks, and each case with the value of every side."""
    yield from list_sides(comparison, width, None)
    yield from list_conditions(comparison, width, None)
    yield from list_machines(comparison.machines, width, with_conditions=True)
    yield from list_differences(comparison, width)
    yield from list_full_nodes(comparison, width, None)
    yield from list_totals(comparison, width, None)
    yield from _list_mixes(comparison, width)
    if comparison.rows:
        yield Text()
        yield from (Text(line, style="dim") for line in cut(EXPLANATION, width, 4))
    benchmark = ""
    letters = max(len(side.letter) for side in comparison.sides) + 1
    for row in comparison.rows:
        if row.benchmark != benchmark:
            benchmark = row.benchmark
            yield from heading(benchmark)
        title = title_case(row.kernel, row.metric, row.parameters)
        yield from (Text(line) for line in cut(title, width, 3))
        yield from (_line(cell, letters, width) for cell in row.cells)


def _list_mixes(comparison: SidesComparison, width: int) -> Iterator[Text]:
    """Yields the ratios of total times of each class and benchmark, for each side."""
    mixes: dict[str, list[str]] = {}
    for other in comparison.others:
        for t in (*other.classes, *other.benchmarks):
            if t.mix:
                span = _write_span(t.mix.low, t.mix.high)
                mixes.setdefault(t.name, []).append(f"{other.letter} {t.mix.ratio:.3g}{span}")
    if mixes:
        yield from heading("Ratio of total times")
        yield from (Text(line, style="dim") for line in cut(MIX, width, 4))
    for name, texts in mixes.items():
        yield from (Text(line) for line in cut(f"{name}: {', '.join(texts)}", width, 99))


def _line(cell: Cell, letters: int, width: int) -> Text:
    value = cell.value
    shown = "–" if value is None else quantity(value.value, value.unit) if value.unit else significant(value.value)
    text = Text.assemble("  ", (pad(cell.letter, letters), "bold"), column(shown, VALUE))
    text.append(pad(f"  {_interval(cell)}", INTERVAL, True), "dim")
    if cell.ratio is not None:
        span = "" if cell.low is None or cell.high is None else _write_span(cell.low, cell.high)
        text.append(pad(f"  {cell.ratio:.3g}{span}", RATIO, True))
        finds = f" ({write_smallest(cell.smallest)})" if cell.smallest and cell.call in ("SAME", "UNCLEAR") else ""
        text.append(f"  {(cell.call or '').lower()}{finds}", STYLE.get(cell.call or "", "dim"))
    if cell.level != "FOREIGN":
        text.append(trust.write_if_doubtful(cell.level), "yellow")
    return text


def _write_span(low: float, high: float) -> str:
    return f" ({write_interval(low, high)})" if high < WIDEST * low else f" (beyond ×{WIDEST})"


def _interval(cell: Cell) -> str:
    """Returns the range of the value of another run, its interval, or the statistic of another tool; "" if none is known."""
    value = cell.value
    if value is None or value.statistic:
        return value.statistic if value else ""
    low, high = value.later or (value.low, value.high)
    return values.span(None if low is None or high is None else (low, high), value.unit)
