"""The table of all cases of all sides as packed columns, since a hundred sides have 100,000 cells."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from steelyard.compare.case_calls import SAME, UNCLEAR, WHY, CaseCalls
from steelyard.compare.compared_sides import CaseRow, Cell, Differing, Total
from steelyard.compare.foreign_rows import list_published_rows
from steelyard.compare.launch_table import Indexes
from steelyard.compare.matching import is_same_by_default
from steelyard.compare.sides import JudgedSides, list_common
from steelyard.model import Level, Value
from steelyard.show.report import drawing, values
from steelyard.show.report.changes import MOST_FACTOR, write_smallest
from steelyard.statistics.difference.blocks import CALLS
from steelyard.statistics.samples.interval import Array

OPEN = ("SAME", "UNCLEAR")  # calls beside which the smallest difference stands that would have been found
DIGITS = 4  # significant digits of a number in the table, which shows three
NUMBERS = ("value", "low", "high", "ratio", "least", "most")
WORDS = ("level", "call", "smallest", "note", "why")
LEVEL, CALL, SMALLEST, NOTE, REASON = range(len(WORDS))


@dataclass(frozen=True)
class SideTable:
    """The tables as base64 of gzip of JSON, and the number of cases."""

    packed: str
    cases: int


def make_table(judged: JudgedSides, titles: Mapping[str, str]) -> SideTable:
    """Returns the tables of the classes, of the benchmarks, and of the cases of each benchmark.

    Benchmarks that have `titles` come first, in their order. `totals` is the number of groups before those of cases.
    `columns` has for each of `NUMBERS` and `WORDS` the cells of all sides, row by row: a number, or the place of a word in
    `words`. None is an unknown number, and a cell without a value. "smallest" is known if no difference was found. "note" says
    in which conditions a case differs, "why" the reason for an open call.
    """
    others = judged.comparison.others
    common = dict(list_common(judged.baseline, judged.calls))
    rows = [*common.values(), *list_published_rows(judged.seen)]
    by_benchmark: dict[str, list[CaseRow]] = {name: [] for name in titles}
    for row in rows:
        by_benchmark.setdefault(row.benchmark, []).append(row)
    cases = {name: of for name, of in by_benchmark.items() if of}
    totals = {
        "Class": _totals([(o.letter, o.classes) for o in others], {}),
        "Benchmark": _totals([(o.letter, o.benchmarks) for o in others], titles),
    }
    every = [row for of in (*totals.values(), *cases.values()) for row in of]
    columns = _Columns([side.letter for side in judged.comparison.sides], every)
    for letter, calls in judged.calls.items():
        columns.add_calls(letter, calls, [common[index] for index in calls.common.pairs.a.tolist()])
    groups = [{"title": name, "rows": [(row.kernel, "", "") for row in of]} for name, of in totals.items()]
    groups += [{"title": titles.get(name) or name, "rows": list(_rows(of))} for name, of in cases.items()]
    table = {"totals": len(totals), "groups": groups, "columns": columns.listed(), "words": list(columns.places)}
    return SideTable(drawing.packed(msgspec.json.encode(table).decode()), len(rows))


def _totals(sides: Sequence[tuple[str, Sequence[Total]]], titles: Mapping[str, str]) -> list[CaseRow]:
    """Returns a row for each class or benchmark: the ratio of its total times for each side, under the letters of the sides."""
    given = {total.name for _, totals in sides for total in totals}
    cells: dict[str, list[Cell]] = {name: [] for name in titles if name in given}
    for letter, totals in sides:
        for t in totals:
            cell = Cell(
                letter=letter, value=None, level="CLEAN", ratio=t.ratio, low=t.low, high=t.high, call=t.call,
                smallest=t.smallest, why=t.why,
            )  # fmt: skip
            cells.setdefault(t.name, []).append(cell)
    return [
        CaseRow(benchmark="", kernel=titles.get(name) or name, parameters={}, metric="", cells=tuple(row))
        for name, row in cells.items()
    ]


def _rows(rows: Sequence[CaseRow]) -> Iterator[tuple[str, str, str]]:
    """Yields the name, the metric and the unit of each case of a benchmark. What all cases share is not in the name."""
    varying = values.varying(rows)
    kernels = len({row.kernel for row in rows}) > 1
    for row in rows:
        names = (n for n in varying if n in row.parameters and not (kernels and n == "kernel"))
        parts = [values.phrase(name, row.parameters[name]) for name in names]
        label = ", ".join([*([row.kernel] if kernels or not parts else []), *parts])
        unit = next((cell.value.unit for cell in row.cells if cell.value), "")
        yield label, values.words(row.metric), unit


class _Columns:
    """The cells of all rows (first axis) and sides (second axis): `NUMBERS`, and the places of `WORDS` in `places`."""

    def __init__(self, letters: Sequence[str], rows: Sequence[CaseRow]) -> None:
        self.places: dict[str, int] = {"": 0}
        self._sides = {letter: n for n, letter in enumerate(letters)}
        self._rows = {id(row): n for n, row in enumerate(rows)}
        self._numbers = np.full((len(rows), len(letters), len(NUMBERS)), np.nan)
        self._words = np.zeros((len(rows), len(letters), len(WORDS)), dtype=np.int64)
        for n, row in enumerate(rows):
            for cell in row.cells:
                if cell.value is not None or cell.ratio is not None:
                    self._add(n, cell)

    def _add(self, row: int, cell: Cell) -> None:
        at = row, self._sides[cell.letter]
        value = (cell.value.value, cell.value.low, cell.value.high) if cell.value else (None, None, None)
        self._numbers[at] = (*value, cell.ratio, cell.low, cell.high)  # None becomes NaN
        smallest = cell.smallest if cell.call in OPEN else None
        finds = "" if smallest is None or not np.isfinite(smallest) else write_smallest(smallest)
        texts = (_level(cell.level), cell.call or "", finds, _note(cell.value, cell.differing), cell.why)
        self._words[at] = self._number_texts(texts)

    def _number_texts(self, texts: Iterable[str]) -> Indexes:
        places = self.places
        return np.array([places.setdefault(text, len(places)) for text in texts], dtype=np.int64)

    def add_calls(self, letter: str, calls: CaseCalls, rows: Sequence[CaseRow]) -> None:
        """Adds the cells of a side that was measured to the `rows` of its pairs of cases."""
        (a, b), j = (calls.common.pairs.a.tolist(), calls.common.pairs.b.tolist()), calls.judged
        at = np.array([self._rows[id(row)] for row in rows], dtype=np.int64), self._sides[letter]
        measured = calls.b.list_values(b, [row.metric for row in rows])
        numbers = [(v.value, v.low, v.high) if v else (None, None, None) for v in measured]
        self._numbers[at] = np.column_stack(
            (np.array(numbers, dtype=float).reshape(-1, 3), j.ratio, j.low, j.high),
        )
        words = np.zeros((len(a), len(WORDS)), dtype=np.int64)
        levels = calls.b.levels
        words[:, LEVEL] = self._number_texts(_level(levels[index]) for index in b)
        words[:, CALL] = self._number_texts(CALLS)[j.call.astype(np.int64)]
        words[:, REASON] = self._number_texts(WHY)[calls.why]
        found_none = np.isin(j.call, (SAME, UNCLEAR)) & np.isfinite(j.smallest)
        words[found_none, SMALLEST] = self._index_difference_texts(j.smallest[found_none])
        differing = [match.differing if (match := calls.common.matches.get(index)) else () for index in a]
        words[:, NOTE] = self._number_texts(map(_note, measured, differing))
        self._words[at] = words

    def _index_difference_texts(self, smallest: Array) -> Indexes:
        """Returns the places of the texts of smallest differences, each text made once (see `write_smallest`)."""
        percents, factors = np.round(100 * smallest), 1000 + np.round(10 * np.minimum(smallest, MOST_FACTOR))
        steps = np.where(smallest < 1, percents, np.where(smallest < MOST_FACTOR - 1, factors, np.inf))
        _, firsts, of = np.unique(steps, return_index=True, return_inverse=True)
        return self._number_texts(write_smallest(s) for s in smallest[firsts].tolist())[of]

    def listed(self) -> dict[str, list[Any]]:
        """Returns each column, row by row."""
        numbers = _rounded(self._numbers.reshape(-1, len(NUMBERS)))
        words = self._words.reshape(-1, len(WORDS))
        columns: dict[str, list[Any]] = {name: numbers[:, n].tolist() for n, name in enumerate(NUMBERS)}
        return columns | {name: words[:, n].tolist() for n, name in enumerate(WORDS)}


def _level(level: Level) -> str:
    return "" if level in ("CLEAN", "FOREIGN") else level


def _rounded(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the numbers with `DIGITS` significant digits. JSON has null for those that are not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.floor(np.log10(np.abs(cells))) - (DIGITS - 1)
        power = np.where(np.isfinite(power), power, 0.0)
        # Powers of ten are exact up to 22, so each quotient is the number that is nearest to its decimals.
        large, small = 10.0 ** np.maximum(power, 0), 10.0 ** np.maximum(-power, 0)
        rounded: NDArray[np.float64] = np.round(cells / large * small) / small * large
    return rounded


def _note(value: Value | None, differing: Differing) -> str:
    """Returns the statistic of another tool, or the parameters in which the pair differs."""
    if value and value.statistic:
        return value.statistic
    return "; ".join(
        f"{values.words(name)}: {values.parameter(name, here)} instead of {values.parameter(name, there)}"
        for name, there, here in differing
        if not is_same_by_default(name, there, here)
    )
