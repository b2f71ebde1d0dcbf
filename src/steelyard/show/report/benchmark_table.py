"""The table of a benchmark as data, and its lines on a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from steelyard.model import Count, Level, Parameters, Scalar
from steelyard.show.report import values
from steelyard.show.report.lines import cut, one_line, pad, safe
from steelyard.show.report.verdict_marks import LAMPS

LIMIT = "of limit"
WIDEST_HEADING = 32  # columns, on the screen
LEFT_OUT = ((), (LIMIT,), (LIMIT, "power"), (LIMIT, "power", "flop/J"))  # headings of a table that is too wide


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A case: its cells under the headings, and its verdict. `rank`: 0 is the row that a shorter table keeps longest."""

    kernel: str
    parameters: Parameters
    cells: tuple[str, ...]
    level: Level
    rank: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTable:
    """The rows of a benchmark with one main metric. `limited`: a row has a limit. `marked`: the values have the signs of their
    verdicts. `scope` says what its energies contain; "" without energies. `total`: its rows before it was shortened."""

    benchmark: str
    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    limited: bool
    marked: bool
    scope: str
    total: Count


def shortened(table: CaseTable, most: int) -> CaseTable:
    """Returns the table with at most that many rows, those of the lowest rank."""
    kept = sorted(row.rank for row in table.rows)[:most]
    return replace(table, rows=tuple(row for row in table.rows if row.rank <= kept[-1])) if kept else table


def fixed(rows: Sequence[values.HasParameters], but: Sequence[tuple[str, Scalar]] = ()) -> str:
    """Returns the parameters that all rows share, without those of `but`: "2 threads, pinned compact"."""
    return ", ".join(values.phrase(n, v) for n, v in values.constant(rows).items() if (n, v) not in but)


def drawn(table: CaseTable) -> Table:
    """Returns the table for a terminal."""
    labels, rows = _labels(table)
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for label in labels:
        grid.add_column(safe(label))
    for heading in table.headings:
        grid.add_column(safe(heading), justify="right")
    grid.add_column("verdict", no_wrap=True)
    for row, cells in zip(table.rows, rows, strict=True):
        word, colour = LAMPS[row.level]
        grid.add_row(*map(safe, (*cells, *row.cells)), Text(word, style=colour))
    return grid


def narrow(table: CaseTable, width: int) -> tuple[list[Text], bool]:
    """Returns the table as lines of at most that many columns, and whether it fits them.

    A verdict is its sign. If the table is too wide, there is less space between the columns, then there are fewer columns.
    """
    labels, rows = _labels(table)
    headings = [cut(heading.partition(" (")[0], WIDEST_HEADING, 1)[0] if heading else "" for heading in table.headings]
    columns = [[one_line(cell) for cell in column] for column in zip(*rows, strict=True)]
    sizes = [max(map(cell_len, (label, *column))) for label, column in zip(labels, columns, strict=True)]
    sizes += [max(map(cell_len, cells)) for cells in zip(headings, *(row.cells for row in table.rows), strict=True)]
    for left_out, space in product(LEFT_OUT, (2, 1)):
        kept = [i for i in range(len(sizes)) if i < len(labels) or table.headings[i - len(labels)] not in left_out]
        if fits := sum(sizes[i] + space for i in kept) + (-space if table.marked else 1) <= width:
            break

    def line(cells: Sequence[str], style: str = "") -> Text:
        padded = [pad(one_line(cells[i]), sizes[i], right=i >= len(labels)) for i in kept]
        return Text((" " * space).join(padded), style=style)

    texts = [line([*labels, *headings], "dim")]
    for row, cells in zip(table.rows, rows, strict=True):
        sign, colour = LAMPS[row.level][0][0], LAMPS[row.level][1]
        texts.append(line([*cells, *row.cells]))
        if not table.marked:
            texts[-1].append(" " * space).append(sign, colour)
    for text in texts:
        text.rstrip()
        text.truncate(width, overflow="ellipsis")
    return texts, fits


def _labels(table: CaseTable) -> tuple[list[str], list[list[str]]]:
    """Returns the headings and the cells of the columns in which the rows differ."""
    varying = [name for name in values.varying(table.rows) if name != "kernel"]
    kernel = len({row.kernel for row in table.rows}) > 1
    headings = [*(["kernel"] if kernel else []), *map(values.words, varying)]
    cells = [
        [*([row.kernel] if kernel else []), *(values.parameter(n, row.parameters.get(n)) for n in varying)]
        for row in table.rows
    ]
    return headings, cells
