"""A form of the output of a tool: how it is recognised, and how it is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from steelyard.importing.text import Text
from steelyard.importing.values import Values

NOTHING = "(?!)"  # the pattern that matches nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A form of the output of a tool. `name` is that of its file, which `--tool` accepts; `about` describes it.

    `host`, `started`, `doubts` and `output` are patterns, see `reading`.
    """

    name: str
    tool: str
    marks: Sequence[str]
    read: Callable[[Text], Values]
    about: str
    file: Path
    host: str = NOTHING
    started: str = NOTHING
    doubts: str = NOTHING
    output: str = NOTHING


def find_declared(module: ModuleType, file: Path) -> list[Format]:
    """Returns the formats that a module declares. AttributeError for a module that declares none."""
    readers = vars(module).get("READERS") or {module.read: module.MARKS}
    patterns = {
        name: vars(module)[name.upper()]
        for name in ("host", "started", "doubts", "output")
        if name.upper() in vars(module)
    }
    return [
        Format(
            name=file.stem, tool=module.TOOL, marks=marks, read=read, about=module.__doc__ or "", file=file, **patterns
        )
        for read, marks in readers.items()
    ]
