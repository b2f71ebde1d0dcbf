"""Text for a terminal of a given width: without control characters, folded at words, and shortened at clauses."""

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

COLUMNS, WIDEST = 80, 120  # of a pipe, and of a terminal at most: longer lines are hard to read
_PARENTHESES = re.compile(r" \((?!takes about )[^()]*\)")  # the time of a command stays
_SENTENCE = re.compile(r"(?<=[.!?])\)? (?=[A-Z(])")
_CLAUSE = re.compile(r"[:;](?= )|,(?= (?:so that|and|where|which|since|but) )|(?= –)")


def console() -> Console:
    """Where a screen is printed: as wide as the terminal within reason; plain text of 80 columns into a pipe."""
    if not sys.stdout.isatty():
        return Console(width=COLUMNS)
    return Console(width=min(Console().width, WIDEST))


def safe(text: str, style: str = "") -> Text:
    """Removes escape sequences, since a host name may hold some that a terminal would execute."""
    return Text(harmless(text), style=style)


def harmless(text: str) -> str:
    """Returns the text without control characters."""
    return "".join(c if c == "\n" or unicodedata.category(c)[0] != "C" else "\ufffd" for c in text)


def one_line(text: str) -> str:
    """Returns the text without control characters, its lines joined."""
    return harmless(re.sub(r"[ \t\n\r\f\v]+", " ", text).strip())


def fold(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken between words, or within one that is longer than a line."""
    lines, line = [], ""
    for word in _pieces(one_line(text).split(" "), width):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) > width:
            lines.append(line)
            joined = word
        line = joined
    return [*lines, line] if line else lines


def _pieces(words: Iterable[str], width: int) -> Iterator[str]:
    """The words, those that are longer than a line in pieces."""
    for word in words:
        piece = ""
        for character in word:
            if cell_len(piece + character) > width:
                yield piece
                piece = ""
            piece += character
        if piece:
            yield piece


def brief(text: str, width: int, most: int, ending: str = "") -> list[str]:
    """The text in at most `most` lines with `ending` behind it.

    Its later sentences, what stands in parentheses, or its last clauses are left out; where even the first clause is too long it
    is cut between two words.
    """
    whole = one_line(text)
    for shorter in _shorter(whole):
        lines = fold(f"{shorter}{ending}", width)
        if len(lines) <= most:
            return lines
    return cut(whole, width, most, ending)


def _shorter(text: str) -> Iterator[str]:
    yield text
    bare = _PARENTHESES.sub("", text)
    for kept in (text, bare):
        sentences = _SENTENCE.split(kept)
        for count in range(len(sentences) - 1 if kept is text else len(sentences), 0, -1):
            yield " ".join(sentences[:count])
    ends = [match.start() for match in _CLAUSE.finditer(bare)]
    for end in reversed(ends):
        yield f"{bare[:end].rstrip()}."


def cut(text: str, width: int, most: int, ending: str = "") -> list[str]:
    """Returns the text in at most `most` lines, with … where it was cut."""
    words = one_line(text).split(" ")
    for count in range(len(words), 0, -1):
        mark = "" if count == len(words) else " …"
        lines = fold(" ".join(words[:count]) + mark + ending, width)
        if len(lines) <= most:
            return lines
    return [*fold(words[0], width)[: most - 1], f"{_clip(words[0], width - 1)}…"] if words[0] else []


def listed(conditions: str, room: int, most: int = 1) -> str:
    """Returns as many whole conditions as fit into `most` lines, with … where some were left out."""
    parts = conditions.split(", ")
    for count in range(len(parts), 0, -1):
        text = ", ".join(parts[:count]) + (", …" if count < len(parts) else "")
        if len(fold(text, room)) <= most:
            return text
    return cut(conditions, room, 1)[0]


def _clip(text: str, width: int) -> str:
    while text and cell_len(text) > width:
        text = text[:-1]
    return text


def leading(entries: Sequence[str], width: int, most: int) -> int:
    """Returns how many of the entries, each on lines of its own, fit `most` lines; at least one."""
    rows = 0
    for count, entry in enumerate(entries):
        rows += len(fold(entry, width))
        if rows > most:
            return max(1, count)
    return len(entries)


def first_clause(text: str, width: int) -> str:
    """As much of an advice as fits one line and is complete by itself; '' where nothing is."""
    lines = next((lines for shorter in _shorter(one_line(text)) if len(lines := fold(shorter, width)) == 1), [])
    return lines[0] if lines else ""


def pad(text: str, width: int, right: bool = False) -> str:
    """The text with blanks up to `width` columns, before it (`right`) or behind it."""
    blanks = " " * max(0, width - cell_len(text))
    return f"{blanks}{text}" if right else f"{text}{blanks}"
