"""Parts of the screen of a run: its figures with each compiler, MPI or variant, and the tables of its benchmarks."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from steelyard.model import Scalar
from steelyard.model.words import plural
from steelyard.show.report import benchmark_table
from steelyard.show.report.benchmark_table import CaseTable
from steelyard.show.report.lines import cut, fold, listed, pad
from steelyard.show.report.summary import Figure
from steelyard.show.report.values import quantity
from steelyard.show.report.verdict_marks import signed
from steelyard.statistics.results.parameters import USUAL

SIDE, RATIO, CALL = 14, 20, 9  # columns, where two are compared
OF_THREE = 19  # columns, where three are
LEAST_ROWS = 3  # of a table beside others
STEPS = (16, 12, 8, 6, 4, LEAST_ROWS)  # rows of each table
CALLS = {"SLOWER": "red", "FASTER": "green", "UNCLEAR": "dim", "SAME": ""}


# --------------------------------------------------------------------------- compilers, MPIs or variants beside each other


def compared(
    figures: Sequence[Figure], width: int, meanings: Mapping[str, str], answers: Mapping[str, Text]
) -> list[Text]:
    """Returns two or three lines for each figure: its value with each compiler, MPI or variant, and the ratios of the times.

    `meanings` has what each variant changes, by its name, and `answers` whether a figure is good, by the name of the figure.
    """
    if not figures:
        return []
    names = [alternative.name for alternative in figures[0].alternatives]
    two = len(names) == 2
    side = SIDE if two else OF_THREE
    left = width - len(names) * side - (RATIO + CALL if two else 0)
    letters = _heads(names, side - 1)
    heads = "".join(pad(head, side, right=True) for head in letters) + (pad("time ratio", RATIO, True) if two else "")
    lines = [Text(), Text.assemble((pad("Main figures", left), "bold"), (heads, "dim"))]
    for figure in figures:
        lines += _write_two_columns(figure, left, width) if two else _write_three_columns(figure, left)
        lines += [answers[figure.name]] if figure.name in answers else []
        lines += _energies(figure, left, side)
    for letter, name in zip(letters, names, strict=True):
        words = [*([name] if letter != name else []), *([meanings[name]] if name in meanings else [])]
        lines += [Text(line, style="dim") for line in cut(f"{letter}: {', '.join(words)}", width, 2) if words]
    note = (
        f"Time ratio with its 95 % interval: above 1, {letters[1]} is slower."
        if two
        else f"Below a value: its time over that with {letters[0]}, with the 95 % interval."
    )
    if two and any(figure.alternatives[1].call == "UNCLEAR" for figure in figures):
        note += " Unclear: among all cases that were compared, the difference may be chance."
    return [*lines, *(Text(line, style="dim") for line in cut(note, width, 3))]


def _heads(names: Sequence[str], room: int) -> list[str]:
    """Returns the names if they fit a column, else letters."""
    return list(names) if all(len(name) <= room for name in names) else [*"abc"[: len(names)]]


def _write_two_columns(figure: Figure, left: int, width: int) -> list[Text]:
    second = figure.alternatives[1]
    line = Text(pad(cut(figure.title, left - 1, 1)[0], left))
    line.append("".join(pad(text, SIDE, True) for text in _values(figure, SIDE)), "bold")
    line.append(pad(second.span or "–", RATIO, True)).append(f"  {second.called}", CALLS.get(second.call or "", ""))
    conditions = _conditions(figure)
    return [line, Text(f"  {listed(conditions, width - 2)}", style="dim")] if conditions else [line]


def _write_three_columns(figure: Figure, left: int) -> list[Text]:
    line = Text(pad(cut(figure.title, left - 1, 1)[0], left))
    line.append("".join(pad(text, OF_THREE, True) for text in _values(figure, OF_THREE)), "bold")
    conditions = _conditions(figure)
    below = Text(pad(f"  {listed(conditions, left - 3)}" if conditions else "", left), style="dim")
    spans = ["1", *(alternative.span or "–" for alternative in figure.alternatives[1:])]
    return [line, below.append("".join(pad(span, OF_THREE, True) for span in spans), "not dim")]


def _energies(figure: Figure, left: int, side: int) -> list[Text]:
    """Returns a line with the energy of an operation with each; nothing without energies."""
    if not any(alternative.energy for alternative in figure.alternatives):
        return []
    cells = (quantity(a.energy.value, a.energy.unit) if a.energy else "–" for a in figure.alternatives)
    title = pad(cut("  energy per operation", left - 1, 1)[0], left)
    return [Text.assemble((title, "dim"), *(pad(cell, side, True) for cell in cells))]


def _values(figure: Figure, side: int) -> list[str]:
    texts = (signed(a.shown.value or "–", a.shown.level) for a in figure.alternatives)
    return [cut(text, side - 1, 1)[0] for text in texts]


def _conditions(figure: Figure) -> str:
    names = {alternative.name for alternative in figure.alternatives}
    return ", ".join(part for part in figure.conditions.split(", ") if part not in names)


# --------------------------------------------------------------------------- tables


def tables(
    chosen: Sequence[CaseTable], width: int, room: int, known: Sequence[tuple[str, Scalar]] = (), whole: bool = False
) -> list[Text]:
    """Returns the tables with as many rows as fit into `room` lines, without parameters that the screen names (`known`).

    If not even the shortest ones fit, it returns the first tables, or nothing if all are needed (`whole`).
    """
    count = len(chosen)
    while count and len(_write_all(chosen[:count], LEAST_ROWS, width, known)) > room:
        count -= 1
    if count < len(chosen) and whole:
        return []
    drawn = (_write_all(chosen[:count], most, width, known) for most in STEPS)
    return next((lines for lines in drawn if len(lines) <= room), [])  # main figures alone may need more than the room


def _write_all(chosen: Sequence[CaseTable], most: int, width: int, known: Sequence[tuple[str, Scalar]]) -> list[Text]:
    lines: list[Text] = []
    before = ""
    for table in chosen:
        lines += _table(table, most, width, known, table.benchmark != before)
        before = table.benchmark
    return lines


def _table(full: CaseTable, most: int, width: int, known: Sequence[tuple[str, Scalar]], titled: bool) -> list[Text]:
    """Returns the table with at most that many rows; with fewer if their parameters need too many columns."""
    for step in (step for step in STEPS if step <= most):
        table = benchmark_table.shortened(full, step)
        rows, fits = benchmark_table.narrow(table, width)
        if fits:
            break
    heads = cut(f"{table.title}  {table.benchmark}", width, 1) if titled else []
    notes = fold(_notes(table, width, known), width)
    return [Text(), *(Text(head, style="bold") for head in heads), *(Text(note, style="dim") for note in notes), *rows]


def _notes(table: CaseTable, width: int, known: Sequence[tuple[str, Scalar]]) -> str:
    shared = benchmark_table.fixed(table.rows, (*USUAL, *known))
    more = table.total - len(table.rows)
    notes = (
        listed(f"In every row: {shared}", width, 2) if shared else "",
        f"Power and energy: {table.scope}" if table.scope else "",
        f"{plural(more, 'more row')} with --all" if more else "",
    )
    return "".join(f"{note}. " for note in notes if note)
