"""JSON objects within the output of a tool."""

import json
import re
from collections.abc import Iterator
from typing import Any

_BEGIN = re.compile(r"^[ \t]*\{", re.MULTILINE)


def read_objects(content: str, problems: list[str], strict: bool = False) -> Iterator[Any]:
    """Yields the JSON objects whose "{" begins a line. The first value of a doubled key counts; with `strict` both are equal.

    A damaged object becomes a problem, and ends the reading.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_unite if strict else lambda pairs: dict(reversed(pairs)))
    at = 0
    while match := _BEGIN.search(content, at):
        try:
            value, at = decoder.raw_decode(content, match.end() - 1)
            yield value
        except ValueError as error:
            problems.append(f"JSON that begins in line {content.count(chr(10), 0, match.end()) + 1}: {error}")
            return


def _unite(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the object of these names and values. ValueError if a name has two values: lines between are missing."""
    united: dict[str, Any] = {}
    for name, value in pairs:
        if united.setdefault(name, value) != value:
            raise ValueError(f"'{name}' has two values")
    return united
