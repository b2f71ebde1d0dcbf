"""Reads settings that a user wrote by hand (TOML), and names the line and the key of each mistake."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError, nearest
from steelyard.model.plain import visible
from steelyard.system.files import settings_in

Place = tuple[str | int, ...]  # of a key: ("figures", 0, "unit")

# Patterns for a line without blanks at its ends: the head of a table, and a key. Both take linear time.
_TABLE = re.compile(r"(\[\[?)([^\]]+)\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


@dataclass(frozen=True)
class SettingsFile:
    """The content of a file, and its text for the lines of its keys; "" if the format has no line numbers."""

    path: Path
    content: dict[str, Any]
    text: str

    def mistake(self, place: Place, sentence: str) -> UsageError:
        """Returns an error that names the file, the line and the key before the sentence."""
        key = "".join(f"[{p + 1}]" if isinstance(p, int) else f".{p}" for p in place).lstrip(".")
        named = f", key '{key}'" if key else ""
        line = f", line {line_of(place, lines_of_keys(self.text))}" if self.text else ""
        return UsageError(f"'{self.path}'{line}{named}: {sentence}")

    def expect_keys(self, place: Place, table: Iterable[str], keys: Iterable[str]) -> None:
        """Raises UsageError for a key of the table at `place` that is not one of `keys`."""
        for key in table:
            if key not in keys:
                raise self.mistake((*place, key), f"this key is unknown. {nearest(key, keys)}")


def read_settings(path: Path, title: str) -> SettingsFile:
    """Reads a TOML file. Raises UsageError, which begins with `title` ("The system file"), if it cannot be read."""
    try:
        text = settings_in(path)
        content = visible(tomllib.loads(text))
    except OSError as problem:
        raise UsageError(f"{title} '{path}' cannot be read: {problem.strerror or problem}.") from None
    except (ValueError, RecursionError) as problem:  # a number of thousands of digits is no TOMLDecodeError
        raise UsageError(f"{title} '{path}' is not a valid TOML file: {problem}.") from None
    return SettingsFile(path, content, text)


def lines_of_keys(text: str) -> dict[Place, int]:
    """Returns the line of every table and key. The first line is 1."""
    lines: dict[Place, int] = {}
    counts: dict[Place, int] = {}
    table: Place = ()
    closing = ""  # the quotes that end a text of several lines
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if closing:
            closing = "" if closing in line else closing
            continue
        if header := _TABLE.fullmatch(line):
            table = _find_table(_split_key(header[2]), header[1] == "[[", counts)
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_split_key(key[1])), number)
            closing = _find_open_quotes(line[key.end() :])
    return lines


def line_of(path: Place, lines: Mapping[Place, int]) -> int:
    """Returns the line of the key, or of the nearest table above it."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _split_key(words: str) -> Place:
    return tuple(part.strip("\"'") for part in _PART.findall(words))


def _find_table(parts: Place, many: bool, counts: dict[Place, int]) -> Place:
    """Returns the path of a table, with the index of each element of an array of tables."""
    if many:
        counts[parts] = counts.get(parts, -1) + 1
    path: Place = ()
    for end in range(1, len(parts) + 1):
        path = (*path, parts[end - 1])
        if parts[:end] in counts:
            path = (*path, counts[parts[:end]])
    return path


def _find_open_quotes(rest: str) -> str:
    """Returns the quotes that a value opens and does not close in its line; "" if there are none."""
    for quotes in ('"""', "'''"):
        if rest.lstrip().startswith(quotes) and rest.count(quotes) == 1:
            return quotes
    return ""
