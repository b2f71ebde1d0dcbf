"""The text of a file of another tool: parts below headings, tables, and pairs of names and values."""

import json
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, TypeVar

from steelyard.importing import patterns
from steelyard.importing.margins import (
    change_lines,
    remove_comment,
    remove_indentation,
    remove_labels,
    remove_margins,
    remove_markup,
    remove_tags,
    remove_wrapping,
    split_found,
    without_remark,
)
from steelyard.importing.patterns import Match as Match  # noqa: PLC0414 - formats import it from here
from steelyard.importing.values import NUMBER, explain
from steelyard.importing.words import Word

OTHER_LINES = rf"(?!\s*{NUMBER.pattern}(?:\s|$))"  # lines between the rows of a table: their first word is no number
GAP = re.compile(r"\s{2,}|\t+")
T = TypeVar("T")
_OBJECT = re.compile(r"^[ \t]*\{", re.MULTILINE)
_NUMBER_ENDS = re.compile(r"\d[.eE+-]*$")


def find_last_before(found: Sequence[tuple[int, T]], line: int) -> T | None:
    """Returns what stands in the last of these lines, in their order, above that line; None if nothing does."""
    above = bisect_left(found, line, key=lambda one: one[0])
    return found[above - 1][1] if above else None


class Row(dict[str, str]):
    """The words of a row by the names of its columns; `line` is its number in the file."""

    line = 0

    @classmethod
    def of(cls, names: Sequence[str], words: Sequence[str], line: int) -> "Row":
        """Returns the row of this line. ValueError for another number of words than of names."""
        row = cls(zip(names, (Word.of(word, line) for word in words), strict=True))
        row.line = line
        return row


@dataclass(frozen=True)
class Text:
    """Lines of a file without their ends; `first` is the number of the first one.

    `problems` collects sentences on rows that could not be read; the parts of a text share it. `cut` says that the last line has
    no end, so it may be incomplete. `others` matches lines of other tools, which end a table. `files` has the names of the files
    in which grep found lines, by the numbers of these lines.
    """

    lines: tuple[str, ...]
    first: int = 1
    problems: list[str] = field(default_factory=list)
    cut: bool = False
    others: re.Pattern[str] | None = None
    files: Mapping[int, str] = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, content: str) -> "Text":
        """Returns the text without colours, and without what launchers and build servers wrote before each line."""
        plain = remove_tags(content)
        return cls(tuple(remove_labels(plain.splitlines())), cut=not plain.rstrip(" \t").endswith("\n"))

    def unquoted(self) -> "Text":
        """Returns the text without the tags of HTML, the marks of quotes in a mail, and the ranks of a launcher."""
        tagged = "</" in self.whole or "<br>" in self.whole
        bare = change_lines(remove_markup, self.lines) if tagged else self.lines
        return self._replace_lines(remove_labels(remove_margins(bare)))

    def uncommented(self, *, tight: bool = False) -> "Text":
        """Returns the text without the marks of comments; with `tight` also of those without a blank, and of items of lists."""
        return self._replace_lines(change_lines(partial(remove_comment, tight=tight), self.lines))

    def unfound(self) -> "Text":
        """Returns the text without the names of the files in which grep found its lines; `files` keeps them."""
        pairs = change_lines(split_found, self.lines)
        files = {self.first + at: file for at, (file, _) in enumerate(pairs) if file}
        return replace(self, lines=tuple(line for _, line in pairs), files=files)

    def unwrapped(self) -> "Text":
        """Returns the text without the marks of strings, and without labels that nearly all lines have in common."""
        return self._replace_lines(remove_wrapping(self.lines))

    def leveled(self) -> "Text":
        """Returns the text without the indentation that all lines of a block between lines without indentation have."""
        return self._replace_lines(remove_indentation(self.lines))

    def stripped(self) -> "Text":
        """Returns the text without any indentation, which pages and wikis add to some lines of an output."""
        return self._replace_lines(change_lines(str.lstrip, self.lines))

    def _replace_lines(self, lines: Iterable[str]) -> "Text":
        """Returns the text with other lines; the text itself if they are the same."""
        others = tuple(lines)
        return self if others == self.lines else replace(self, lines=others)

    @cached_property
    def whole(self) -> str:
        """All lines as one text."""
        return "\n".join(self.lines)

    def read_line(self, at: int) -> Word:
        """Returns the line of index `at` as a word, so that its parts know their line."""
        return Word.of(self.lines[at], self.first + at)

    def ended(self, *, strict: bool = False) -> "Text":
        """Returns the text without a last line that has no end. It becomes a problem if it ends like a number, or if `strict`."""
        if not self.cut or not self.lines:
            return self
        if not self.is_cut(len(self.lines) - 1) and strict:
            self.problems.append(f"line {self.first + len(self.lines) - 1} has no end, so it may be incomplete")
        return replace(self, lines=self.lines[:-1], cut=False)

    def is_cut(self, at: int, before: str = "") -> bool:
        """Returns whether the line of index `at` may lack digits, which becomes a problem.

        The last line may if it has no end and ends like a number, unless a line `before` it has as many decimals.
        """
        line = self.lines[at]
        if not self.cut or at < len(self.lines) - 1 or not _NUMBER_ENDS.search(line):
            return False
        if 0 < _decimals(line) == _decimals(before):
            return False
        self.problems.append(f"line {self.first + at} has no end, so it may be incomplete")
        return True

    def rewrite(self, pattern: str, by: str) -> "Text":
        """Returns the text with `by` instead of each match. "^" matches at each line. The number of lines must stay the same."""
        return replace(self, lines=tuple(patterns.replace(pattern, by, self.whole).split("\n")))

    def refuse(self, pattern: str, sentence: str) -> None:
        """Adds a problem with the sentence, at the first line, if the pattern is found."""
        if patterns.search(pattern, self.whole):
            self.problems.append(f"line {self.first}: {sentence}")

    @contextmanager
    def row(self, place: int) -> Iterator[None]:
        """Turns an error in the row of line `place` into a problem, so that the next row can be read."""
        try:
            yield
        except (ValueError, LookupError) as error:
            self.problems.append(f"line {place}: {explain(error)}")

    def find(self, pattern: str, default: str = "") -> str:
        """Returns the first group that the first match has (or the whole match), else `default`. "^" matches at each line.

        A match that ends with the last line may lack digits (`is_cut`), and is none then.
        """
        match = patterns.search(pattern, self.whole)
        if match and self.cut and match.end() == len(self.whole) and self.is_cut(len(self.lines) - 1):
            return default
        if not match:
            return default
        group = next((at for at, text in enumerate(match.groups(), 1) if text is not None), 0)
        word = match[group]
        begin = match.end(group) - len(word.lstrip())
        return self._word(word.strip(), begin)

    def _word(self, word: str, begin: int) -> str:
        """Returns the text that begins at this character with its line, or as it is if it has several lines."""
        return word if "\n" in word else Word.of(word, self.first + self.whole.count("\n", 0, begin))

    def integer(self, pattern: str) -> int | None:
        """Returns the first group of the first match as a number; None without a match, and for no integer."""
        digits = self.find(pattern).replace(",", "")
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None

    def integers(self, **patterns: str) -> dict[str, int]:
        """Returns parameters by their names: the first group of the first match of each pattern that matches."""
        present = {name: self.integer(pattern) for name, pattern in patterns.items()}
        return {name: number for name, number in present.items() if number is not None}

    def words(self, **patterns: str) -> dict[str, str]:
        """Returns parameters by their names as text, without those that are not found."""
        present = {name: self.find(pattern) for name, pattern in patterns.items()}
        return {name: word for name, word in present.items() if word}

    def match(self, pattern: str) -> Iterator[tuple[Match, int]]:
        """Yields the matches at the begin of lines, with the numbers of the lines, but none that may lack digits (`is_cut`)."""
        before = ""
        for match, at in patterns.match_lines(pattern, self.lines, self.whole):
            if not (match.end() == len(match.string) and self.is_cut(at, before)):
                before = match.string
                place = self.first + at
                yield Match(Word.of(before, place), match.spans, match.names), place

    def fit(self, names: Sequence[str], pattern: str, ending: str = "") -> Iterator[Row]:
        """Yields the lines that match as rows with these names; a line with another number of words becomes a problem.

        `ending` is a word that may end a row.
        """
        before = ""
        for match, place in self.match(pattern):
            words = match.string.split()
            words = words[:-1] if ending and words[-1].endswith(ending) else words
            if self.is_cut(place - self.first, before):
                return
            before = match.string
            if len(words) == len(names):
                yield Row.of(names, words, place)
            else:
                self.refuse_row(place, words, names)

    def refuse_row(self, place: int, words: Sequence[object], names: Sequence[object]) -> None:
        """Says that a row does not fit the names of its columns."""
        self.problems.append(f"line {place} has {len(words)} columns, but its heading has {len(names)}")

    def _lines_between(self, begin: int, end: int) -> "Text":
        """Returns the lines from the index `begin` up to that before `end`."""
        cut = self.cut and end == len(self.lines)
        return replace(self, lines=self.lines[begin:end], first=self.first + begin, cut=cut)

    def split_at(self, lines: Sequence[int]) -> "Iterator[tuple[int | None, Text]]":
        """Yields the lines from each of these indices up to the next one, with its place in `lines`; None: those before all."""
        yield None, self._lines_between(0, lines[0])
        for at, (begin, end) in enumerate(pairwise([*lines, len(self.lines)])):
            yield at, self._lines_between(begin, end)

    def parts(self, heading: str) -> Iterator[tuple[Match, "Text"]]:
        """Yields each heading, which begins a line, with the lines from it up to the next one."""
        heads = [(match, place - self.first) for match, place in self.match(heading)]
        ends = [*(at for _, at in heads[1:]), len(self.lines)]
        for (match, at), end in zip(heads, ends, strict=False):  # without a heading there is one end too many
            yield match, self._lines_between(at, end)

    def parts_or_whole(self, heading: str) -> "list[tuple[Match | None, Text]]":
        """Returns what stands before the first heading, the end of another run or the whole text, and what `parts` yields."""
        heads = [*self.parts(heading)]
        before = heads[0][1].first - self.first if heads else len(self.lines)
        return [*([(None, self._lines_between(0, before))] if before else []), *heads]

    def runs(self, heading: str) -> Iterator["Text"]:
        """Yields the runs in a file: what stands before the first heading, and each heading with the lines up to the next."""
        begun = False
        for _, part in self.parts(heading):
            if not begun and part.first > self.first:
                yield self._lines_between(0, part.first - self.first)
            begun = True
            yield part
        if not begun:
            yield self

    def split_tables(self, heading: str, row: str) -> Iterator["Text"]:
        """Yields each table with the lines since the last row of the table before it, so that no parameters are inherited."""
        heads = [place - self.first for _, place in self.match(heading)]
        rows = [at for _, at in patterns.match_lines(row, self.lines, self.whole)]
        ends = [max([a, *rows[bisect_left(rows, a) : bisect_left(rows, b)][-1:]]) + 1 for a, b in pairwise(heads)]
        for begin, end in pairwise([0, *ends, len(self.lines)]):
            yield self._lines_between(begin, end)

    def before(self, part: "Text", after: str, most: int = 40) -> str:
        """Returns up to `most` lines before a part, without those up to the last match of `after`, which end another run."""
        lines = self.lines[max(0, part.first - self.first - most) : part.first - self.first]
        ends = [at for _, at in patterns.match_lines(f".*(?:{after})", lines, "\n".join(lines))]
        return "\n".join(lines[ends[-1] + 1 if ends else 0 :])

    def tables(
        self, heading: str, *, gap: bool = False, skip: str = "", row: str = NUMBER.pattern
    ) -> Iterator[list[Row]]:
        """Yields the rows of each table whose heading line matches, blanks and "#" before it removed from the names.

        The columns are the words of the heading; with `gap`, two blanks separate them. The first word of a row matches `row`, by
        default a number. Lines that match `skip` may stand between rows of growing sizes. A remark behind a row is left out.
        A row that does not fit the heading ends the table and becomes a problem. The next heading ends it, too.
        """
        for _, part in self.parts(rf"\s*{heading}"):
            line = part.lines[0].strip().lstrip("#").strip()
            names = GAP.split(line) if gap else line.split()
            if twice := [name for name, times in Counter(names).items() if times > 1]:
                self.problems.append(f"line {part.first} names the column '{twice[0]}' twice")
                continue
            if rows := list(part._rows(names, skip, row)):
                yield rows

    def _rows(self, names: list[str], skip: str, row: str) -> Iterator[Row]:
        before, last, gap = "", -math.inf, False
        double = len(self.lines) > 1 and not self.lines[1].strip()  # an empty line stands behind each line
        for at in range(1, len(self.lines)):
            empty = not self.lines[at].strip()
            if (skip and patterns.match(skip, self.lines[at])) or (double and empty and self.lines[at - 1].strip()):
                if self.others and self.others.search(self.lines[at]):
                    return
                gap = gap or not empty
                continue
            words = without_remark(self.lines[at].split(), len(names))
            if not words or not re.fullmatch(row, words[0]) or self.is_cut(at, before):
                return
            if len(words) != len(names):
                self.refuse_row(self.first + at, words, names)
                return
            if NUMBER.fullmatch(words[0]):
                alike = float(words[0]) >= last and _are_alike(words, before.split())
                if gap and not alike:  # the rows of another table
                    return
                last, gap = float(words[0]), False
            before = self.lines[at]
            yield Row.of(names, words, self.first + at)

    def pairs(self, separator: str = "[:=]") -> dict[str, str]:
        """Returns names and values of lines of the form "name: value"; the first value of a name counts."""
        pairs: dict[str, str] = {}
        first: dict[str, int] = {}
        for at, line in enumerate(self.lines[:-1]):
            first.setdefault(line, at)
        last = len(self.lines) - 1  # may be cut, unlike an equal line before it
        for line, at in (*first.items(), *((line, last) for line in self.lines[-1:])):
            between = patterns.search(separator, line := line.strip())
            if between and between.end() < len(line) and not self.is_cut(at):
                word = Word.of(line[between.end() :].strip(), self.first + at)
                pairs.setdefault(line[: between.start()].strip(), word)
        return pairs

    def objects(self, strict: bool = False) -> Iterator[Any]:
        """Yields the JSON objects whose "{" begins a line. The first value of a doubled key counts; with `strict` both are equal.

        A damaged object becomes a problem, and ends the reading.
        """
        decoder = json.JSONDecoder(object_pairs_hook=_unite if strict else lambda pairs: dict(reversed(pairs)))
        at = 0
        while match := _OBJECT.search(self.whole, at):
            try:
                value, at = decoder.raw_decode(self.whole, match.end() - 1)
                yield value
            except ValueError as error:
                line = self.whole.count("\n", 0, match.end()) + 1
                self.problems.append(f"JSON that begins in line {line}: {error}")
                return


def _unite(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the object of these names and values. ValueError if a name has two values: lines between are missing."""
    united: dict[str, Any] = {}
    for name, value in pairs:
        if united.setdefault(name, value) != value:
            raise ValueError(f"'{name}' has two values")
    return united


def _are_alike(words: Sequence[str], before: Sequence[str]) -> bool:
    """Returns whether the numbers of two rows have as many decimals in each column."""
    numbers = [pair for pair in zip(words, before, strict=False) if all(map(NUMBER.fullmatch, pair))]
    return all(_decimals(word) == _decimals(other) for word, other in numbers)


def _decimals(line: str) -> int:
    """Returns the number of characters behind the point of the last number."""
    return len(re.split(r"[\s,;]", line)[-1].partition(".")[2])
