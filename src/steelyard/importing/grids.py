"""Tables of other forms than a heading with rows below it: separated, stacked, matrices, aligned to dashes, and records."""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from steelyard.importing.margins import without_remark
from steelyard.importing.patterns import find_all
from steelyard.importing.text import Row, Text
from steelyard.importing.values import NUMBER

_LONGEST, _FAR = 80, 500  # letters of a title, and lines between it and its table
_INDEX = re.compile(r"[0-9]{1,6}")


def read_separated(text: Text, heading: str, separator: str = ",", *, wrapped: bool = False) -> Iterator[Row]:
    """Yields the rows below each line that matches, with its words as names, up to a line without the separator.

    A heading that is `wrapped` may go on in up to ten further lines. Rows that do not fit become problems.
    """
    heads = list(text.match(heading))
    others = {match.string for match, _ in heads}
    for match, place in heads:
        head, below = match.string, place - text.first + 1
        for line in text.lines[below : below + 10] if wrapped else ():
            if line.count(separator) == head.count(separator) or re.match(r"-?\d", line):
                break
            head, below = f"{head} {line}", below + 1
        names = [" ".join(name.split()) for name in head.split(separator)]
        for at in range(below, len(text.lines)):
            words = [word.strip() for word in next(csv.reader([text.lines[at]], delimiter=separator), [])]
            if len(words) < 2 or text.lines[at] in others or text.is_cut(at):
                break
            if len(words) == len(names):
                yield Row.of(names, words, text.first + at)
            else:
                text.refuse_row(text.first + at, words, names)


def read_stacked(text: Text, heading: str, row: str) -> Iterator[Row]:
    """Yields the rows that match below a heading of several lines, in which the words of a name stand below each other.

    The words of the first line are where the columns begin. A row that does not fit has the named groups of its match.
    """
    for head, part in text.parts(heading):
        begins = [word.start() for word in re.finditer(r"\S+", head.string)]
        columns, names = list(pairwise([*begins, None])), list[str]()
        for match, place in part.match(row):
            if not names:  # the lines above the first row
                above = part.lines[: place - part.first]
                names = [" ".join(" ".join(line[a:b] for line in above).split()) for a, b in columns]
            given, words = match.groupdict(), match.string.split()
            if len(words) == len(names):
                given = dict(zip(names, words, strict=True))
            yield Row.of([*given], [*given.values()], place)


def read_cells(text: Text, heading: str) -> Iterator[tuple[int, int, str]]:
    """Yields row, column and word of each entry of the matrices below the heading lines, which end with numbers of columns.

    "-" and "N/A" are no entries. A remark behind a row is left out. A row with another number of entries ends its matrix and
    becomes a problem.
    """
    heads = list(text.match(heading))
    others = {place - text.first for _, place in heads}
    for match, place in heads:
        columns = [int(word) for word in match.string.split() if _INDEX.fullmatch(word)]
        for at in range(place - text.first + 1, len(text.lines)):
            row, *words = text.read_line(at).split() or [""]
            again = at in others and at > place - text.first + 1  # a first row may look like a heading
            if again or not _INDEX.fullmatch(row) or text.is_cut(at, text.lines[at - 1]):
                break
            words = without_remark(words, len(columns))
            if len(words) != len(columns):
                text.refuse_row(text.first + at, words, columns)
                break
            yield from ((int(row), c, w) for c, w in zip(columns, words, strict=True) if w not in ("-", "N/A"))


def read_aligned(text: Text, dashes: str, labels: int) -> Iterator[list[str]]:
    """Yields the words of each column, "" without any, of the rows below the first line of dashes that matches.

    A word belongs to the column whose dashes it overlaps most. Behind the first `labels` columns are numbers; a letter there
    begins a remark, which is left out. An empty line ends a table. A row that does not fit becomes a problem.
    """
    for match, place in islice(text.match(dashes), 1):
        columns = [dash.span() for dash in re.finditer("-+", match.string)]
        for at in range(place - text.first + 1, len(text.lines)):
            if not text.lines[at].strip() or text.is_cut(at, text.lines[at - 1]):
                return
            entries, numbers = [""] * len(columns), columns[labels - 1][1]
            for word in find_all(r"\S+", text.read_line(at)):
                if word[0][0].isalpha() and word.start() > numbers:
                    break
                overlaps = [min(word.end(), end) - max(word.start(), begin) for begin, end in columns]
                column = overlaps.index(max(overlaps))
                if overlaps[column] <= 0:
                    entries = []
                    break
                entries[column] = f"{entries[column]} {word[0]}" if entries[column] else word[0]
            if entries and not any(NUMBER.fullmatch(label or "0") for label in entries[:labels]):
                yield entries
            else:
                text.problems.append(f"line {text.first + at} does not fit the columns of its table")


def read_records(text: Text, first: str, pattern: str) -> Iterator[Row]:
    """Yields rows of names and values in the form of JSON, also without quotes, whose names match `pattern`.

    A row begins with the name `first`.
    """
    rows: list[Row] = []
    for match, place in text.match(rf'[\s{{]*"?(?P<name>{first}|{pattern})"?\s*:\s*"?(?P<word>[^\s",}}]+)'):
        if match["name"] == first or not rows:
            rows.append(Row.of([], [], place))
        rows[-1][match["name"]] = match["word"]
    yield from rows


def find_title(lines: Sequence[str], end: int) -> str | None:
    """Returns the title of a table at line `end`: a line that stands alone right before it, else the last heading."""
    words = [line.strip() for line in lines[max(0, end - _FAR) : end]]
    while words and not words[-1]:
        words.pop()
    alone = len(words) > 1 and not words[-2] and words[-1][0] not in "`|<" and not words[-1].endswith(".")
    headings = [word for word in words if word.startswith("#")]
    return (words[-1] if alone else headings[-1] if headings else "").strip("#*: ")[:_LONGEST] or None
