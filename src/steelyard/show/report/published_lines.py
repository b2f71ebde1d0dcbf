"""The published systems that a figure can be compared with, by system, each with its source."""

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.measure.published.system_library import list_shipped
from steelyard.model.figure import Series


@dataclass(frozen=True)
class Line:
    """One published line: the number of its series in the figure, and what tells it from the system's others."""

    series: int
    label: str


@dataclass(frozen=True)
class System:
    """A published system with its lines; `source` is "" where the package does not know it."""

    name: str
    source: str
    lines: tuple[Line, ...]


def systems(series: Iterable[Series]) -> tuple[System, ...]:
    """The published lines of a figure by system, in the order in which they come."""
    published = [(number, line) for number, line in enumerate(series) if line.published]
    sources = {system.name: system.source for system in list_shipped()} if published else {}
    grouped: dict[str, list[Line]] = {}
    for number, line in published:
        name, rest = split(line.name, sources)
        grouped.setdefault(name, []).append(Line(number, rest or name))
    return tuple(System(name, sources.get(name, ""), tuple(lines)) for name, lines in grouped.items())


def split(name: str, systems: Iterable[str]) -> tuple[str, str]:
    """Returns which of the systems a line is of, and what else names it: '4x AMD 8350 (gcc)' → ('4x AMD 8350', 'gcc')."""
    matching = [system for system in systems if name == system or name.startswith(f"{system} (")]
    if not matching:
        return name, ""
    system = max(matching, key=len)
    rest = name.removeprefix(system).strip()
    return system, rest.removeprefix("(").removesuffix(")").replace("_", " ")
