"""Matches patterns in foreign texts in linear time, by RE2.

`re` tries all ways in which a pattern may fit, so that 12 KB can need hours. Patterns are written for `re`, and "^" matches at
each line. RE2 has no lookahead, no lookbehind and no references to groups; `re` matches a pattern with these. A test refuses such
a pattern of Steelyard if `re` may need more than linear time. See docs/decisions/0034-linear-patterns.md.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import re2

# Characters that `re` calls blanks, and letters or digits. RE2 knows only those of ASCII.
_SETS = {"s": r"\s\x0b\x1c-\x1f\x{85}\pZ", "w": r"\pL\pN_"}
_NEVER = r"[^\x00-\x{10FFFF}]"
# An escaped character, the begin or end of a set, a repeat that gives nothing back, or the pattern that matches nothing.
_PART = re.compile(
    r"\\(?P<escaped>.)|(?P<set>\[\^?\]?)|(?P<end>\])|(?<=[*+?}])(?P<possessive>\+)|(?P<never>\(\?!\))", re.DOTALL
)
# A letter of each match, unless it stands in a group; or something else. A literal is unclear with flags, and with escapes of
# several characters. A pattern that may match a line end, or asks for an end of the text, needs more than single lines.
_ATOM = re.compile(
    r"(?P<letter>\\[^A-Za-z0-9]|[^\\()\[\]{}|.^$*+?])(?![*?{])|\[\^?\]?(?:\\.|[^\]\\])*+\]?|\{[\d,]*+\}?|\\.|.",
    re.DOTALL,
)
_UNCLEAR = re.compile(r"\(\?[a-zA-Z#]*[ix#]|\\[xuUNpP\d]")
_CROSSING = re.compile(r"\\[sDWnrvfxuUNpPAZ\d]|\n|\[\^|\\t-|\(\?[a-zA-Z]*s")
_NO_CHARACTER = re.compile("[\ud800-\udfff]")  # a half of a character, which JSON may hold and UTF-8 may not


@dataclass(frozen=True, slots=True)
class Match:
    """A place where a pattern fits, like a match of `re`. `string` is the line or the text that was searched."""

    string: str
    spans: Sequence[tuple[int, int]]
    names: Mapping[str, int]

    def __getitem__(self, group: int | str) -> Any:
        begin, end = self.spans[self.names[group] if isinstance(group, str) else group]
        return self.string[begin:end] if begin >= 0 else None

    def groups(self) -> tuple[Any, ...]:
        return tuple(self[at] for at in range(1, len(self.spans)))

    def groupdict(self) -> dict[str, Any]:
        return {name: self[name] for name in self.names}

    def start(self, group: int = 0) -> int:
        return self.spans[group][0]

    def end(self, group: int = 0) -> int:
        return self.spans[group][1]

    @property
    def lastindex(self) -> int | None:
        """The last group that took part, None without any."""
        return next((at for at in range(len(self.spans) - 1, 0, -1) if self.spans[at][0] >= 0), None)


class _Pattern:
    """A pattern that RE2 matches, or `re` if RE2 cannot. With `line` a match begins a line and ends in it."""

    def __init__(self, pattern: str, line: bool) -> None:
        self.by_re2 = True
        try:
            options = re2.Options()
            options.log_errors, options.never_nl = False, line
            words = _translate(pattern)
            self._pattern: Any = re2.compile(f"(?m)^(?:{words})" if line else f"(?m){words}", options)
        except (re2.error, ValueError):
            self.by_re2 = False
            self._pattern = re.compile(pattern, re.MULTILINE)
        self.names: Mapping[str, int] = self._pattern.groupindex
        self._groups = range(self._pattern.groups + 1)
        self._literal = find_literal(pattern) if self.by_re2 else ""
        self._in_lines = bool(self._literal) and (line or not _CROSSING.search(pattern))

    def find(self, text: str) -> Iterator[Match]:
        """Yields the matches in the text."""
        bounds = self._find_bounds(text)
        if not bounds:
            return
        before, part = None, text[slice(*bounds)]
        for match in self._pattern.finditer(_bytes(part) if self.by_re2 else part):
            spans = _shift([match.span(at) for at in self._groups], bounds[0])
            if spans[0] != before:  # RE2 finds an empty match twice
                yield Match(text, spans, self.names)
            before = spans[0]

    def _find_bounds(self, text: str) -> tuple[int, int] | None:
        """Returns where the lines with the literal begin and end, as a literal is found sooner than a pattern; None without."""
        first = text.find(self._literal)
        if first < 0 or not self._in_lines:
            return (0, len(text)) if first >= 0 else None
        after = text.find("\n", text.rfind(self._literal))
        return text.rfind("\n", 0, first) + 1, after if after >= 0 else len(text)

    def begin(self, line: str) -> Match | None:
        """Returns the match at the begin of the line."""
        match = self._pattern.match(_bytes(line) if self.by_re2 else line)
        return Match(line, [match.span(at) for at in self._groups], self.names) if match else None


@lru_cache(maxsize=4096)
def prepare(pattern: str, line: bool = False) -> _Pattern:
    """Returns the pattern in the form in which it is matched. With `line` it is matched at the begin of lines."""
    return _Pattern(pattern, line)


def search(pattern: str, text: str) -> Match | None:
    """Returns the first match in the text."""
    return next(prepare(pattern).find(text), None)


def find_all(pattern: str, text: str) -> Iterator[Match]:
    """Yields the matches in the text."""
    return prepare(pattern).find(text)


def find_words(words: Sequence[str], text: str) -> set[str]:
    """Returns those of the words that are in the text, in one pass for all of them."""
    return {words[at] for at in _prepare_words(tuple(words)).Match(_bytes(text)) or ()} if words else set()


@lru_cache(maxsize=64)
def _prepare_words(words: tuple[str, ...]) -> Any:
    searched = re2.Set.SearchSet()
    for word in words:
        searched.Add(re2.escape(word))
    searched.Compile()
    return searched


def match(pattern: str, line: str) -> Match | None:
    """Returns the match at the begin of the line."""
    return prepare(pattern, True).begin(line)


def match_lines(pattern: str, lines: Sequence[str], whole: str) -> Iterator[tuple[Match, int]]:
    """Yields the matches at the begin of lines, with the indexes of the lines. `whole` has all lines."""
    prepared = prepare(pattern, True)
    if not prepared.by_re2:
        yield from ((found, at) for at, line in enumerate(lines) if (found := prepared.begin(line)))
        return
    at = counted = 0
    for found in prepared.find(whole):
        begin = found.start()
        at, counted = at + whole.count("\n", counted, begin), begin
        yield Match(lines[at], _shift(found.spans, -begin), found.names), at


def replace(pattern: str, by: str, text: str) -> str:
    """Returns the text with `by` instead of each match; "\\1" is its first group."""
    parts, end = [], 0
    for found in find_all(pattern, text):
        parts += [text[end : found.start()], re.sub(r"\\(\d)", partial(_group, found), by)]
        end = found.end()
    return "".join([*parts, text[end:]])


def _group(found: Match, number: re.Match[str]) -> str:
    return found[int(number[1])] or ""


def _shift(spans: Sequence[tuple[int, int]], by: int) -> Sequence[tuple[int, int]]:
    return [(a + by, b + by) if a >= 0 else (a, b) for a, b in spans] if by else spans


def _bytes(text: str) -> bytes | str:
    """Returns the text as RE2 takes it: bytes if they have the same places as the characters, which saves time."""
    try:
        words = text.encode()
    except UnicodeEncodeError:
        return _NO_CHARACTER.sub("?", text)
    return words if len(words) == len(text) else text


def find_literal(pattern: str) -> str:
    """Returns the longest text that each match of the pattern has, "" if it is not clear that there is one."""
    depth, words = 0, [""]
    for atom in _ATOM.finditer(pattern):
        depth += (atom[0] == "(") - (atom[0] == ")")
        if atom["letter"] and not depth:
            words[-1] += atom[0][-1]
        else:
            words.append("")
        if atom[0] == "|" and not depth:
            return ""
    return "" if _UNCLEAR.search(pattern) else max(words, key=len)


def _translate(pattern: str) -> str:
    """Returns the pattern in the words of RE2. ValueError for one that has no such form."""
    inside = False

    def write(part: re.Match[str]) -> str:
        nonlocal inside
        if letter := part["escaped"]:
            characters = _SETS.get(letter.lower())
            if not characters:
                return r"\z" if letter == "Z" else part[0]
            if inside and letter.isupper():
                raise ValueError("RE2 has no set without a set")
            return characters if inside else f"[{'^' * letter.isupper()}{characters}]"
        if inside:
            inside = not part["end"]
            return part[0]
        inside = bool(part["set"])
        return _NEVER if part["never"] else "" if part["possessive"] else part[0]

    return _PART.sub(write, pattern)
