"""A form of the output of a tool: how it is recognised, and how it is read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard import doors
from steelyard.doors import Part
from steelyard.importing.text import Text
from steelyard.importing.values import Values

NOTHING = "(?!)"  # the pattern that matches nothing
# Lines in which most programs doubt what they do. The output may hold those of a launcher, too.
WARNINGS = (
    r"^[ \t*>-]*(?:[\w.-]{1,30}:? )?(?:WARNING|Warning|FATAL|Fatal|ERROR|Error)(?: ERROR| error)?\s?[:!]+[ \t]*(.+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A form of the output of a tool. `name` is that of its file, which `--tool` accepts; `about` describes it.

    `system`, `host`, `started`, `doubts`, `output` and `settings` are patterns, `conditions` some by name, see `reading`.
    """

    name: str
    tool: str
    marks: Sequence[str]
    read: Callable[[Text], Values]
    about: str
    file: Path
    system: str = NOTHING
    host: str = NOTHING
    started: str = NOTHING
    doubts: str = WARNINGS
    output: str = NOTHING
    settings: str = NOTHING
    conditions: Mapping[str, str] = field(default_factory=dict)

    @property
    def part(self) -> Part:
        """The file of the format, which has the fault if the format fails."""
        return Part("format", self.file)


def find_declared(part: Part) -> list[Format]:
    """Returns the formats that a part declares. PartFailed for a mistake in it."""
    module, file = doors.load(part), part.file
    readers = vars(module).get("READERS") or {module.read: module.MARKS}
    patterns = {
        name: vars(module)[name.upper()]
        for name in ("system", "host", "started", "doubts", "output", "settings", "conditions")
        if name.upper() in vars(module)
    }
    return [
        Format(
            name=file.stem, tool=module.TOOL, marks=marks, read=read, about=module.__doc__ or "", file=file, **patterns
        )
        for read, marks in readers.items()
    ]
