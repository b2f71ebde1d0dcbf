"""Text for a terminal of a given width: without control characters, folded at words, and shortened at clauses."""

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from steelyard.judge.findings.remedies import STAND_IN

COLUMNS, WIDEST = 80, 120  # of a pipe, and of a terminal at most: longer lines are hard to read
_PARENTHESES = re.compile(r" \([^()]*\)")
_SENTENCE = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<! vs\.)(?<! No\.)(?<! Fig\.)(?<!approx\.)(?<! (?:max|min)\.)\)? (?=[A-Z(\d])"
)
_CLAUSE = re.compile(r"[:;](?= )|,(?= (?:so that|and|where|which|since|but) )|(?= –)")
# A clause is a claim of its own if it has a verb. Verbs that are also nouns are missing here, which only costs a whole clause.
_VERB = re.compile(
    r"(?<!that )(?<!which )(?<!who )\b(?:is|are|was|were|has|have|had|does|do|did|can|cannot|could|may|must|will|should|"
    r"reach(?:es)?|comes?|takes?|uses|makes?|gives?|moves?|keeps?|gets?|allows?|reduces?|saves?|depends?|differs?|var(?:y|ies)|"
    r"hides?|grows?|falls?|rises?|changed|draws?|lasts?|needs?|shows?|stays?|remains?|lacks?|lies|computes?|counts?)\b"
)
_BESIDE = re.compile(
    r"^(?:If|When|Where|While|Because|Since|As|In|With|Without|At|Of|On|From|For|Below|Above)\b[^,]*(?:,|$)"
)
_CAUTION = re.compile(r" \([A-Z][a-z]+: take this with care\.\)$")  # see statistics.validity.trust
_NUMBER = re.compile(r"(?<![\w.-])\d")
_OPEN = re.compile(r"\b(?:in|of|by|from|to|at|for|with|and|or)\W*$")  # ends a part without its object
_BARE_NUMBER = re.compile(r"\W?\d[\d.,]*")  # without the unit that follows


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


def brief(text: str, width: int, most: int, ending: str = "") -> list[str]:
    """The text in at most `most` lines with `ending` behind it.

    Its later sentences, what stands in parentheses, its last clauses, or a title before a colon are left out, but neither its
    verb nor its only number, nor a caution at its end. Where no such part fits, it is cut between two words.
    """
    whole = one_line(text)
    if caution := _CAUTION.search(whole):
        whole, ending = whole[: caution.start()], f"{caution[0]}{ending}"
    title, _, claim = whole.partition(": ")
    is_title = (
        not _VERB.search(title) and title.count("(") == title.count(")") and _VERB.search(_SENTENCE.split(claim)[0])
    )
    untitled = f"{claim[:1].upper()}{claim[1:]}" if is_title else whole
    for shorter in chain(_list_shorter(whole, ":;,–"), _list_shorter(untitled, ":;,–")):
        lines = fold(f"{shorter}{ending}", width)
        if len(lines) <= most and _is_claim(shorter, whole):
            return lines
    cuts = [cut(part, width, most, ending) for part in (_PARENTHESES.sub("", whole), whole, untitled)]
    return next((lines for lines in cuts if _is_claim(" ".join(lines).removesuffix(ending), whole)), cuts[0])


def _is_claim(part: str, whole: str) -> bool:
    """Returns whether a part of a text has a verb and a number, each only if the whole text has one."""
    title = whole.partition(":")[0]
    if part != whole and (_OPEN.search(part) or (part.rstrip(".") == title and not _VERB.search(title))):
        return False
    verb = _VERB.search(_BESIDE.sub("", part)) or not _VERB.search(whole)
    return bool(verb and (_NUMBER.search(part) or not _NUMBER.search(whole)))


def _list_shorter(text: str, pauses: str) -> Iterator[str]:
    """Yields the text, then ever shorter parts of it, which end with a sentence or before one of these signs."""
    yield text
    bare = _PARENTHESES.sub("", text)
    for kept in (text, bare):
        sentences = _SENTENCE.split(kept)
        for count in range(len(sentences) - 1 if kept is text else len(sentences), 0, -1):
            yield " ".join(sentences[:count])
    for match in reversed([*_CLAUSE.finditer(bare)]):
        if (match[0] or "–") in pauses:
            yield f"{bare[: match.start()].rstrip()}."


def shorten_advice(width: int, text: str, command: str = "") -> list[str]:
    """Returns an advice in one line, else in two. The text has STAND_IN where the command stands, which stays whole."""
    whole = one_line(text)
    parts = [_fold_above_command(part, command, width) for part in _list_shorter(whole, ";,–")]
    fitting = (lines for most in (1, 2) for lines in parts if len(lines) <= most)
    if lines := next(fitting, None):
        return lines
    head, colon, rest = whole.rpartition(": ")
    if not colon:
        return cut(whole.replace(STAND_IN, command), width, 2)
    return [*cut(f"{head}:", width, 1), *fold(rest.replace(STAND_IN, command), width)]


def _fold_above_command(text: str, command: str, width: int) -> list[str]:
    """Returns the text folded, what stands behind its colon on lines of its own where that takes no more lines."""
    lines, (head, colon, rest) = fold(text.replace(STAND_IN, command), width), text.rpartition(": ")
    apart = [*fold(f"{head}:", width), *fold(rest.replace(STAND_IN, command), width)]
    return apart if colon and 1 < len(apart) <= len(lines) else lines


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
