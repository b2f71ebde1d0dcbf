"""The JSON that commands print. docs/formats.md names the schema of each output."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from steelyard.model.plain import to_json, to_plain

FORMAT = 1  # of all outputs; increased by each change that programs for earlier outputs would misread
_OTHER = re.compile("[^\\x00-\\x7f]")


def print_json(value: Any) -> None:
    """Prints an object, or a list of objects, each with its `format` first."""
    plain = to_plain(value)
    numbered = [_add_format(item) for item in plain] if isinstance(plain, list) else _add_format(plain)
    print(format_json(numbered))


def print_named_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Prints a list of objects, one for each row, with the columns as their fields."""
    print_json([dict(zip(columns, row, strict=True)) for row in rows])


def _add_format(item: dict[str, Any]) -> dict[str, Any]:
    return {"format": FORMAT, **item}


def format_json(value: Any, depth: int = 0) -> str:
    """Returns JSON in lines. All letters are ASCII. The lines after the first are indented by `depth` more."""
    text = msgspec.json.format(to_json(value), indent=1).replace(b"\n", b"\n" + b" " * depth)
    if text.isascii():
        return text.decode("ascii")
    return _OTHER.sub(lambda found: json.dumps(found[0])[1:-1], text.decode())
