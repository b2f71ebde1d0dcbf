"""JUBE 2: the tables of `jube result` in the style "pretty". Columns with a unit, such as time[s], are values. The other columns
are parameters, because the table does not say which of them were measured.

https://www.fz-juelich.de/jsc/jube
"""

import re

from steelyard.importing import patterns
from steelyard.importing.text import Row, Text
from steelyard.importing.values import UNITS, Given, Values, expect_plausible, make_name, make_printed, read_word, spell
from steelyard.model.foreign import ForeignValue

TOOL = "JUBE"
MARKS = (":\n|",)  # the name of a table, and its heading
NAME = r"\s*(?P<name>\w+):\s*$"
DASHES = re.compile(r"\s*\|(?:-+\|)+\s*")
COLUMN = r"(?P<name>.+?)(?:_(?P<way>avg|min|max|std|sum|first|last))? ?\[(?P<unit>[^\]]+)\]$"
WAYS = {
    None: "as printed", "avg": "mean", "min": "least", "max": "greatest", "sum": "sum", "first": "first", "last": "last",
}  # fmt: skip
COUNTERS = re.compile(r"jube_wp\w*|jube_benchmark_id|job_?id|wp|id", re.IGNORECASE)


def read(text: Text) -> Values:
    """Yields the values of each row. Amounts such as size[MiB] are parameters, too."""
    for head, place in text.match(NAME):
        begin = place - text.first + 1
        if len(text.lines) < begin + 2 or not DASHES.fullmatch(text.lines[begin + 1]):
            continue
        names = _split(text.lines[begin])
        for at in range(begin + 2, len(text.lines)):
            if not text.lines[at].strip().startswith("|") or text.is_cut(at):
                break
            words = _split(text.lines[at])
            if len(words) != len(names):
                text.refuse_row(text.first + at, words, names)
                break
            with text.row(text.first + at):
                yield from _read_row(head["name"], Row.of(names, words, text.first + at))


def _split(line: str) -> list[str]:
    return [word.strip() for word in line.strip().strip("|").split("|")]


def _read_row(table: str, row: Row) -> list[ForeignValue]:
    columns = {name: match for name in row if (match := patterns.match(COLUMN, name)) and not _is_amount(match["unit"])}
    others = {name: word for name, word in row.items() if name not in columns and not COUNTERS.fullmatch(name)}
    about: Given = {name: read_word(word) for name, word in others.items() if word}
    values = []
    for name, match in columns.items():
        if row[name] and match["way"] != "std":
            metric, statistic = make_name(match["name"]), WAYS[match["way"]]
            values.append(make_printed(f"jube.{table}", table, metric, row[name], match["unit"], statistic, about))
    for value in values:
        expect_plausible(value)
    return values


def _is_amount(unit: str) -> bool:
    return UNITS.get(spell(unit) or "", (0, ""))[1] == "B"
