"""A comparison as tables in Markdown or LaTeX, for tickets, reviews and papers, as on the page Comparison; or as CSV."""

import csv as writing
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.compare.compared_sides import Cell, SidesComparison, Total
from steelyard.model.units import quantity, significant
from steelyard.model.words import in_words, joined, plural
from steelyard.show.report.call_styles import name_call
from steelyard.show.report.changes import write_smallest, write_smallest_range
from steelyard.show.report.documents import LATEX_HEAD, mark, write_longtable, write_table
from steelyard.show.report.latex_letters import escaped
from steelyard.show.report.machine_table import TITLE
from steelyard.show.report.pages import sides as page
from steelyard.show.report.ratios import with_interval

NOTE = (
    "Value of each side with its best numbers of threads and ranks. × is the speed relative to the baseline, with its 95 % "
    "interval: above 1 is faster, also for times."
)
TIMES = (
    "Time over matching cases, relative to the baseline, with its 95 % interval: below 1 is faster. Calls allow for the number "
    "of comparisons. Last column: the smallest difference that this comparison would find."
)

COLUMNS = (
    "kind", "name", "condition", "cases", "side", "value", "unit", "verdict", "speed", "low", "high", "per_core", "call",
)  # fmt: skip
MOST_CASES = 100
SIDES_APART = 3  # beside the baseline: each has rows of its own


@dataclass(frozen=True)
class Table:
    """A table below its heading (""): none. `right`: whether a column is of numbers."""

    heading: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[bool]


Part = str | Table | tuple[str, ...]  # a paragraph, a table, or a list of sentences


def markdown(compared: SidesComparison) -> str:
    """Returns the comparison in GitHub's Markdown: who is faster, whole machines, equal settings, and conditions."""
    return "\n\n".join([f"# {mark(_title(compared))}", *filter(None, map(_mark_part, _parts(compared)))]) + "\n"


def latex(compared: SidesComparison) -> str:
    """Returns the same as a part of a document, to be read by \\input. It needs the packages booktabs and longtable."""
    head = rf"\section*{{{escaped(_title(compared))}}}"
    return "\n\n".join([LATEX_HEAD, head, *filter(None, map(_escape_part, _parts(compared)))]) + "\n"


def csv(compared: SidesComparison) -> str:
    """Returns the numbers of the comparison as rows in CSV: values in SI units, and speeds relative to the baseline.

    A row is a quantity of a whole machine, a class or benchmark over matching cases, or a case. `speed` above 1 is faster.
    """
    text = io.StringIO()
    writer = writing.DictWriter(text, COLUMNS, restval="")
    writer.writeheader()
    for row in _list_numbers(compared):
        writer.writerow({key: value for key, value in row.items() if value is not None})
    return text.getvalue()


WRITERS: Mapping[str, Callable[[SidesComparison], str]] = {"markdown": markdown, "latex": latex, "csv": csv}


def _mark_part(part: Part) -> str:
    if isinstance(part, str):
        return mark(part)
    if isinstance(part, tuple):
        return "\n".join(f"- {mark(text)}" for text in part)
    heading = f"## {mark(part.heading)}\n\n" if part.heading else ""
    return heading + write_table(part.headings, part.rows, part.right)


def _escape_part(part: Part) -> str:
    if isinstance(part, str):
        return f"{escaped(part)}\\par"
    if isinstance(part, tuple):
        items = "\n".join(rf"\item {escaped(text)}" for text in part)
        return f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}" if part else ""
    caption = rf"\caption*{{{escaped(part.heading)}}}\\" if part.heading else ""
    return write_longtable(caption, "", part.headings, part.rows, part.right)


def _list_numbers(compared: SidesComparison) -> Iterator[dict[str, Any]]:
    names = {side.letter: side.name for side in compared.sides}
    for figure in compared.machines:
        for cell in figure.cells:
            if cell.value:
                yield {
                    "kind": "whole machine", "name": figure.title, "condition": cell.condition, "side": names[cell.letter],
                    "value": cell.value.value, "unit": cell.value.unit, "verdict": cell.level, "speed": cell.speed,
                    "low": cell.low, "high": cell.high, "per_core": cell.per_core, "call": cell.call,
                }  # fmt: skip
    for other in compared.others:
        for total in (*other.classes, *other.benchmarks):
            yield {
                "kind": "matching cases", "name": total.name, "cases": total.cases, "side": names[other.letter],
                **_invert(total), "call": total.call,
            }  # fmt: skip
    for row in compared.rows:
        condition = ", ".join(f"{name} {value}" for name, value in row.parameters.items())
        for one in row.cells:
            if one.value:
                yield {
                    "kind": "case", "name": f"{row.benchmark} {row.kernel} {row.metric}", "condition": condition,
                    "side": names[one.letter], "value": one.value.value, "unit": one.value.unit, "verdict": one.level,
                    **_invert(one), "call": one.call,
                }  # fmt: skip


def _invert(one: Total | Cell) -> dict[str, float | None]:
    """Returns the ratio of times with its interval as a ratio of speeds."""
    ends = {"speed": one.ratio, "low": one.high, "high": one.low}
    return {name: 1 / time if time else None for name, time in ends.items()}


def _title(compared: SidesComparison) -> str:
    names = [side.name for side in compared.sides]
    return " and ".join(names) if len(names) == 2 else f"Comparison of {len(names)} sides"


def _parts(compared: SidesComparison) -> Iterator[Part]:
    about = page.describe(compared)
    names = [side.name for side in about.sides]
    yield from () if about.positions else about.speeds
    sides = [
        (title.letter, of.name, of.kind, of.what, of.started)
        for title, of in zip(compared.sides, about.sides, strict=True)
    ]
    yield Table("", ("", "Side", "Kind", "System", "Started"), sides, [False] * 5)
    if about.positions:
        places = [(p.title, p.value, p.place, p.slowest, p.fastest, p.middle) for p in about.positions]
        heads = ("Quantity", names[0], "Rank", "Slowest", "Fastest", "To the middle")
        yield Table(f"{names[0]} among all", heads, places, (False, True, False, False, False, True))
    if about.machines:
        described = [(row.title, *map(_describe, row.cells)) for row in about.machines]
        rows = [("Quantity" if about.in_columns else "Side", *names), *described]
        first, *others = rows if about.in_columns else zip(*rows, strict=True)
        yield Table(TITLE, first, others, [False] * len(first))
        yield NOTE
    for table in about.full_nodes:
        if table.main:
            right = [2 <= n <= 5 for n in range(len(about.headings))]
            yield Table(f"Full nodes: {table.title}", about.headings, [cells for _, cells in table.rows], right)
    totals = list(_list_totals(compared))
    if totals:
        headings = ("Class or benchmark", "Side", "Cases", "Time", "Call", "Smallest")
        yield Table("Matching cases", headings, totals, (False, False, True, True, False, True))
        yield TIMES
    if len(names) <= SIDES_APART and 0 < len(compared.rows) <= MOST_CASES:
        yield _table_cases(compared, names)
    for side in about.sides[1:]:
        if side.differences and side.alike:
            heading = side.name if len(side.alike) == 1 else "The others"
            title = f"Conditions of {joined(side.alike)} that differ"
            yield Table(title, ("Condition", names[0], heading), side.differences, [False] * 3)
    yield (*(text for side in about.sides for text in side.conditions), *about.notes)


def _table_cases(compared: SidesComparison, names: Sequence[str]) -> Table:
    """Returns the cases with the values of all sides, and the time of each other side relative to the baseline."""
    given: dict[tuple[str, str], set[object]] = {}
    for row in compared.rows:
        for name, value in row.parameters.items():
            given.setdefault((row.benchmark, name), set()).add(value)
    rows = []
    for row in compared.rows:
        own = [in_words(name, v) for name, v in row.parameters.items() if len(given[row.benchmark, name]) > 1]
        cells = [_write_value(one) for one in row.cells]
        times = [_write_time(one) for one in row.cells[1:]]
        condition = f" ({', '.join(own)})" if own else ""
        title = f"{row.benchmark} {row.kernel}{condition}, {row.metric}"
        rows.append((title, *cells, *times))
    return Table(
        "Cases",
        ("Case", *names, *(f"Time of {name}" for name in names[1:])),
        rows,
        [False, *[True] * (2 * len(names) - 1)],
    )


def _write_value(one: Cell) -> str:
    if one.value is None:
        return "–"
    marked = "" if one.level in ("CLEAN", "FOREIGN") else f" {one.level}"
    return f"{quantity(one.value.value, one.value.unit)}{marked}"


def _write_time(one: Cell) -> str:
    if one.ratio is None:
        return "–"
    return f"× {with_interval(one.ratio, one.low, one.high, write=significant)} {name_call(one.call)}".rstrip()


def _describe(cell: page.MachineText) -> str:
    marked = "" if cell.level in ("CLEAN", "FOREIGN") else f" {cell.level}"
    texts = (f"{cell.value}{marked}", f"{cell.speed} {cell.call}".strip(), cell.derived, cell.condition)
    return "; ".join(filter(None, texts)) if cell.value else "–"


def _list_totals(compared: SidesComparison) -> Iterator[tuple[str, ...]]:
    """Yields a row for each class or benchmark of each side. Of many sides, those that are the same have one row together."""
    totals = [
        (total, compared.title(other.letter).name)
        for other in compared.others
        for total in (*other.classes, *other.benchmarks)
    ]
    alike: dict[str, list[Total]] = {}
    for total, name in totals:
        if total.call == "SAME" and len(compared.others) > SIDES_APART:
            alike.setdefault(total.name, []).append(total)
            continue
        time = f"× {with_interval(total.ratio, total.low, total.high, write=significant)}"
        smallest = "" if total.smallest is None else write_smallest(total.smallest)
        yield total.name, name, str(total.cases), time, name_call(total.call), smallest
    for title, of in alike.items():
        time = " – ".join(dict.fromkeys(significant(end(t.ratio for t in of)) for end in (min, max)))
        smallest = write_smallest_range([total.smallest or 0.0 for total in of])
        cases = " – ".join(dict.fromkeys(str(end(t.cases for t in of)) for end in (min, max)))
        yield title, plural(len(of), "side"), cases, f"× {time}", name_call("SAME"), smallest
