"""A comparison as tables in Markdown, for tickets, reviews and papers: what the page Comparison says."""

from collections.abc import Iterator

from steelyard.compare.compared_sides import SidesComparison, Total
from steelyard.model.units import significant
from steelyard.model.words import joined, plural
from steelyard.show.report.call_styles import name_call
from steelyard.show.report.changes import write_smallest, write_smallest_range
from steelyard.show.report.documents import mark, write_table
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

SIDES_APART = 3  # beside the baseline: each has rows of its own


def markdown(compared: SidesComparison) -> str:
    """Returns the comparison in GitHub's Markdown: who is faster, whole machines, equal settings, and conditions."""
    return "\n\n".join(filter(None, _parts(compared))) + "\n"


def _parts(compared: SidesComparison) -> Iterator[str]:
    about = page.describe(compared)
    names = [side.name for side in about.sides]
    yield f"# {mark(' and '.join(names) if len(names) == 2 else f'Comparison of {len(names)} sides')}"
    yield from map(mark, about.speeds)
    sides = [
        (title.letter, of.name, of.kind, of.what, of.started)
        for title, of in zip(compared.sides, about.sides, strict=True)
    ]
    yield write_table(("", "Side", "Kind", "System", "Started"), sides, [False] * 5)
    if about.machines:
        yield f"## {TITLE}"
        if about.in_columns:
            headings, rows = ("Quantity", *names), [(row.title, *map(_describe, row.cells)) for row in about.machines]
        else:
            headings = ("Side", *(row.title for row in about.machines))
            columns = [map(_describe, row.cells) for row in about.machines]
            rows = [(name, *cells) for name, *cells in zip(names, *columns, strict=True)]
        yield write_table(headings, rows, [False] * len(headings))
        yield mark(NOTE)
    for table in about.full_nodes:
        if table.main:
            yield f"## Full nodes: {mark(table.title)}"
            yield write_table(
                about.headings, (cells for _, cells in table.rows), [2 <= n <= 5 for n in range(len(about.headings))]
            )
    rows = list(_list_totals(compared))
    if rows:
        yield "## Matching cases"
        headings = ("Class or benchmark", "Side", "Cases", "Time", "Call", "Smallest")
        yield write_table(headings, rows, (False, False, True, True, False, True))
        yield mark(TIMES)
    for side in about.sides[1:]:
        if side.differences and side.alike:
            yield f"## Conditions of {mark(joined(side.alike))} that differ"
            heading = side.name if len(side.alike) == 1 else "The others"
            yield write_table(("Condition", names[0], heading), side.differences, [False] * 3)
    sentences = [text for side in about.sides for text in side.conditions]
    yield "\n".join(f"- {mark(text)}" for text in (*sentences, *about.notes))


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
