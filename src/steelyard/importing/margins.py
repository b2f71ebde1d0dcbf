"""What other programs write before the lines of an output: launchers, build servers, mails, wikis and comments."""

import json
import os
import quopri
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from html import unescape
from typing import TypeVar

from steelyard.importing.patterns import find_all, search

T = TypeVar("T")

# Colours of a terminal, and tags: "[1,0]<stdout>:" (Open MPI), "[0] " (MPICH, Intel MPI).
_TAG = r"^\[(?:[\w.-]+@)?\d+,\d+\](?:<std\w+>)?:"
_OTHER_TAGS = r"\x1b\[[0-9;]*[A-Za-z]|^\[\d+\] "
_TAGS = re.compile(rf"{_TAG}|{_OTHER_TAGS}", re.MULTILINE)
_TAGS_AND_BLANK = re.compile(rf"{_TAG} ?|{_OTHER_TAGS}", re.MULTILINE)
_WITHOUT_BLANK = re.compile(rf"{_TAG}[^ ]", re.MULTILINE)  # Open MPI writes a blank behind its tag from version 5 on
# Labels: the times of build servers (GitHub, GitLab, Jenkins and others) and of the system's log, the levels and streams of
# logging programs, the comments of a program, hosts of Mininet, containers (Docker Compose, Kubernetes), ranks (PALS of Cray,
# srun --label), and times with ranks (Open MPI).
_LABELS = (
    re.compile(r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?(?: \d\d[OE]\+?)?(?: |$)"),
    re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [^\s:\[]+(?:\[\d+\])?:(?:\s|$)"),
    re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: |$)"),
    re.compile(r"\d\d:\d\d:\d\d ?(?:\s|$)|\[\d\d:\d\d:\d\d(?:[.,]\d+)?\](?:\s|$)"),
    re.compile(r"(?:- )?(?:[\w.]+ - )?(?:DEBUG|INFO|WARNING|ERROR) ?[|:-]?(?:\s|$)"),
    re.compile(r"\[(?:std(?:out|err)|STD(?:OUT|ERR)|OUTPUT)\](?:\s|$)"),
    re.compile(r"//+(?: |$)"),
    re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}(?:\[[^]\s]*\])?<std\w+>: ?"),
    re.compile(r"<[a-z]+\d+>:(?:\s|$)"),
    re.compile(r"[a-z][\w.-]*[-_]\d+ +\|(?:\s|$)|\[pod/\S+\](?:\s|$)"),
    re.compile(r"[a-z](?:[^\W\d]|[.-])*\d[\w.-]* \d+:(?:\s|$)"),
    re.compile(r"\s*\d+:(?:\s|$)"),
)
_ANY_LABEL = re.compile("|".join(label.pattern for label in _LABELS))
# Nothing else begins like these labels, which only some programs of a job may have.
_CERTAIN = (_LABELS[0], *_LABELS[-5:-1])
_SEVERAL = 4  # lines with such a label, fewer of which may be sentences of a launcher
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>")
_BOLD = re.compile(r"\*\*([^*\s](?:[^*]*[^*\s])?)\*\*")
_COMMENT = re.compile(r"\s{0,8}(?://+|#)(?: |$)")
# Comments without a blank behind the mark, and the items of a list, which begin with a letter.
_TIGHT_COMMENT = re.compile(r"\s{0,8}(?://+|#|[*+-] +(?=[A-Za-z]))")
_ENCODED = re.compile(rb"^Content-Transfer-Encoding: quoted-printable\s*$", re.MULTILINE | re.IGNORECASE)
_MARGIN = re.compile(r"\s{0,8}(?:> ?)+|\s{0,8}\d+:(?: |$)")
_ANY_MARGIN = r"^\s{0,8}(?:>|\d+:(?: |$))|\*\*[^*\s]"  # of the lines of a text
_STRING = re.compile(r'\s*("(?:[^"\\]|\\.)*"),?\s*')  # a line of a notebook, or of a list of lines in JSON
_ESCAPED = r'"(?:[^"\\\n]|\\[^\n])*"'  # a string of JSON, whose line ends are written as "\n"
_SAME = re.compile(  # a bar, a host, the name of a program, or that of a file before lines that grep found
    r"\s*((?:[|!*;%]+|\[[^]\s]{1,64}\]|[^\s:|\[\"]{1,64}(?::|\s+\|))(?=\s|$)|(?=[^\s:]*[./])[\w./+=@%,-]{1,200}:)"
)
# The name of a file and the number of a line, which grep writes before the line.
_FOUND = re.compile(r"\s{0,8}(?:(?=[^\s:]*[./])([\w./+=@%,#-]{1,200}):)?(?:\d+:)?")
_REMARK = re.compile(r"#|//|\(|<-|[←→★⚠]")  # begins a remark that somebody wrote behind a row
_BLOCK = re.compile(r":\s[|>][-+]?$")  # a key of YAML, above the lines of its text
_SHARE = 0.9  # of the lines that begin with the same label


def remove_tags(content: str) -> str:
    """Returns the text without colours and tags."""
    if "\x1b" not in content and "\n[" not in content and content[:1] != "[":
        return content
    return (_TAGS if _WITHOUT_BLANK.search(content) else _TAGS_AND_BLANK).sub("", content)


def change_lines(change: Callable[[str], T], lines: Sequence[str]) -> list[T]:
    """Returns what becomes of each line. Equal lines, such as empty ones, are changed once: most of the time goes into this."""
    changed = {line: change(line) for line in dict.fromkeys(lines)}
    return [changed[line] for line in lines]


def remove_labels(lines: Sequence[str]) -> list[str]:
    """Returns the lines without a label that most have, the indentation of a block of a wiki, and blanks at their ends."""
    lines = list(map(str.rstrip, lines))
    if "^M" in "\n".join(lines):  # a line end of Windows on a page
        lines = [line.removesuffix("^M").rstrip() for line in lines]
    labels = _LABELS if any(map(_ANY_LABEL.match, lines[:: max(1, len(lines) // 64)])) else ()
    for label in labels:
        if not any(map(label.match, lines[:: max(1, len(lines) // 64)])):
            continue
        bare = change_lines(partial(_remove_label, label), lines)
        labelled = [text for text, line in zip(bare, lines, strict=True) if text != line]
        certain = label in _CERTAIN and sum(map(bool, labelled)) >= _SEVERAL
        if certain or 2 * len(labelled) > sum(map(bool, lines)):
            lines = bare
    return list(_unindent(lines)) if "```" in "\n".join(lines) else lines


def _remove_label(label: re.Pattern[str], line: str) -> str:
    match = label.match(line)
    return line[match.end() :] if match else line


def _unindent(lines: Iterable[str]) -> Iterator[str]:
    margin = ""  # of the fences of the block
    for line in lines:
        if (bare_line := line.lstrip()).startswith("```"):
            margin = "" if margin else line[: -len(bare_line)]
        yield line.removeprefix(margin)


def remove_margins(lines: Sequence[str]) -> Sequence[str]:
    """Returns the lines without the marks of quotes in a mail or the rank of a launcher, and without the marks of bold words."""
    return change_lines(_remove_margin, lines) if search(_ANY_MARGIN, "\n".join(lines)) else lines


def _remove_margin(line: str) -> str:
    match = _MARGIN.match(line)
    bare = line[match.end() :] if match else line
    return _BOLD.sub(r"\1", bare) if "**" in bare else bare


def remove_comment(line: str, *, tight: bool = False) -> str:
    """Returns a line without the mark of a comment, in which scripts and programs keep an output.

    With `tight`, a blank need not follow the mark, and the mark may be that of an item of a list.
    """
    match = (_TIGHT_COMMENT if tight else _COMMENT).match(line)
    return line[match.end() :] if match else line


def remove_wrapping(lines: Sequence[str]) -> list[str]:
    """Returns the lines without the marks of strings, and without up to three labels that nearly all of them have in common."""
    if '"' in "\n".join(lines):
        lines = change_lines(_read_string, lines)
    for _ in range(3):
        label = _find_common_label(lines)
        if not label:
            break
        lines = change_lines(partial(_remove_common_label, label), lines)
    return [*lines]


def _remove_common_label(label: str, line: str) -> str:
    match = _SAME.match(line)
    return line.lstrip()[len(label) :].removeprefix(" ") if match and match[1] == label else line


def _find_common_label(lines: Sequence[str]) -> str:
    """Returns the label that nearly all lines have, "" if there is none, which most texts show in their first tenth."""
    full = list(filter(None, lines))
    labels: Counter[str] = Counter()
    without = 0
    for line in full:
        if match := _SAME.match(line):
            labels[match[1]] += 1
            continue
        without += 1
        if len(full) - without < _SHARE * len(full):
            return ""
    label, times = labels.most_common(1)[0] if labels else ("", 0)
    return label if times >= _SHARE * len(full) else ""


def split_found(line: str) -> tuple[str, str]:
    """Returns the name of the file that grep wrote before a line, or "", and the line without it and without its number."""
    match = _FOUND.match(line)
    return (match[1] or "", line[match.end() :]) if match and ":" in match[0] else ("", line)


def without_remark(words: list[str], columns: int) -> list[str]:
    """Returns the words of a row with this number of columns without a remark that somebody wrote behind it."""
    return words[:columns] if len(words) > columns and _REMARK.match(words[columns]) else words


def _read_string(line: str) -> str:
    match = _STRING.fullmatch(line)
    try:
        text = str(json.loads(match[1])).rstrip() if match else line
    except ValueError:
        return line
    return line if "\n" in text else text


def read_strings(content: str) -> list[str]:
    """Returns the strings in JSON that have several lines; strings of one whole line each, as in logs of containers, are one."""
    strings = []
    for match in find_all(_ESCAPED, content):
        if "\\n" in match[0]:
            with suppress(ValueError):
                strings.append(str(json.loads(match[0])))
    whole = [text for text in strings if text.find("\n") == len(text) - 1]
    return [text for text in (*strings, "".join(whole)) if text.count("\n", 0, -1)]


def decode_mail(data: bytes) -> bytes:
    """Returns the mail with the characters that it encodes as "=3D", and with the lines that it wraps, as they were."""
    return quopri.decodestring(data) if b"quoted" in data.lower() and _ENCODED.search(data) else data


def remove_markup(line: str) -> str:
    """Returns a line of HTML as text. A blank replaces each tag, so no two numbers touch."""
    return unescape(_MARKUP.sub(" ", line)).replace("\xa0", " ").replace("\n", " ").strip()


def remove_indentation(lines: Sequence[str]) -> list[str]:
    """Returns the lines; a block between lines without indentation loses the indentation that all its lines have.

    In YAML, a block begins below a key that ends in "|" or ">".
    """
    edges = [
        at
        for at, line in enumerate(lines)
        if line and (not line[0].isspace() or (line[-1] in "|>+-" and _BLOCK.search(line)))
    ]
    leveled, begin = list[str](), 0
    for at in (*edges, len(lines)):
        if begin < at:
            leveled += _level(lines[begin:at])
        leveled += lines[at : at + 1]
        begin = at + 1
    return leveled


def _level(block: Sequence[str]) -> Sequence[str]:
    """Returns the lines without the indentation that all have that are not empty."""
    if "\t" in "".join(block):
        block = [line.expandtabs() for line in block]
    full = list(filter(str.strip, block))
    least = min(full, default="")
    margin = least[: len(least) - len(least.lstrip())]
    margin = os.path.commonprefix([margin, max(full, default="")])  # noqa: RUF071 - of texts, not of paths
    return [line[len(margin) :] for line in block] if margin else block
