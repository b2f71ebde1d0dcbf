"""Text for a terminal of a given width: without control characters, folded at words, and shortened between them."""

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

COLUMNS, WIDEST = 80, 120  # of a pipe, and of a terminal at most: longer lines are hard to read
_BARE_NUMBER = re.compile(r"\W?\d[\d.,]*")  # without the unit that follows


def console() -> Console:
    """Where a screen is printed: as wide as the terminal within reason; plain text of 80 columns into a pipe."""
    if not sys.stdout.isatty():
        return Console(width=COLUMNS)
    return Console(width=min(Console().width, WIDEST))


def dimmed(lines: Iterable[str]) -> list[Text]:
    """Returns the lines in the style of what is less important."""
    return [Text(line, style="dim") for line in lines]


def heading(words: str) -> list[Text]:
    """Returns a heading after an empty line."""
    return [Text(), Text(words, style="bold")]


def safe(text: str, style: str = "") -> Text:
    """Removes escape sequences, since a host name may hold some that a terminal would execute."""
    return Text(harmless(text), style=style)


def harmless(text: str) -> str:
    """Returns the text without control characters."""
    if text.isprintable():
        return text
    return "".join(c if c == "\n" or unicodedata.category(c)[0] != "C" else "\ufffd" for c in text)


def one_line(text: str) -> str:
    """Returns the text without control characters, its lines joined."""
    return harmless(re.sub(r"[ \t\n\r\f\v]+", " ", text).strip())


def fold(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken between words, or within one that is longer than a line."""
    lines, line = [], ""
    for word in _divide_long_words(one_line(text).split(" "), width):
        joined = f"{line} {word}" if line else word
        if (len(joined) if joined.isascii() else cell_len(joined)) > width:
            lines.append(line)
            joined = word
        line = joined
    return [*lines, line] if line else lines


def _divide_long_words(words: Iterable[str], width: int) -> Iterator[str]:
    """The words, those that are longer than a line in pieces."""
    for word in words:
        if word.isascii() and len(word) <= width:  # nearly all
            if word:
                yield word
            continue
        piece = ""
        for character in word:
            if cell_len(piece + character) > width:
                yield piece
                piece = ""
            piece += character
        if piece:
            yield piece


def fit(texts: Sequence[str], width: int, most: int) -> list[str]:
    """Returns the first of the texts, the longest first, that fits `most` lines; else the last one, with … where it was cut."""
    return next((lines for text in texts if len(lines := fold(text, width)) <= most), cut(texts[-1], width, most))


def cut(text: str, width: int, most: int, ending: str = "") -> list[str]:
    """Returns the text in at most `most` lines, with … where it was cut, but not between a number and its unit."""
    words = one_line(text).split(" ")
    for count in range(len(words), 0, -1):
        if 1 < count < len(words) and _BARE_NUMBER.fullmatch(words[count - 1]):
            continue
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


def pad(text: str, width: int, right: bool = False) -> str:
    """The text with blanks up to `width` columns, before it (`right`) or behind it."""
    blanks = " " * max(0, width - cell_len(text))
    return f"{blanks}{text}" if right else f"{text}{blanks}"


def column(text: str, width: int) -> str:
    """The text at the right end of a column of this width. A blank stands before it, even if it needs a wider column."""
    return f" {pad(text, width - 1, right=True)}"
