"""A system of the library with its printed figures, and their descriptions in words."""

from dataclasses import dataclass

from steelyard.measure.published.our_case import OurCase
from steelyard.measure.published.wording import describe_case


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A printed number: `value` in the SI `unit`, and as it was `printed`. `topic` names the source's benchmark, or is "".

    It corresponds to `cases` of Steelyard, or to none for a `reason`. `conditions` are those of the source, in words, with a
    limit that was printed beside the number; `limit` is its value in the SI unit.
    """

    topic: str
    title: str
    printed: str
    value: float
    unit: str
    cases: tuple[OurCase, ...]
    reason: str
    conditions: str
    place: str
    note: str
    limit: float | None = None


@dataclass(frozen=True, kw_only=True)
class System:
    """A system with its printed figures. `path` is the user's file, "" if it is shipped.

    `year` is that of the system or of its figures; `cores` and `sockets` are those of a node; None if they are unknown. `models`
    are the names by which machines call their processor, and `devices` those by which drivers call its accelerators.
    """

    name: str
    kind: str
    year: int | None
    about: str
    source: str
    figures: tuple[Figure, ...]
    path: str = ""
    cores: int | None = None
    sockets: int | None = None
    models: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()

    @property
    def dated(self) -> str:
        """Returns the name with the year, if that is known: '2x EPYC 9654 (2025)'."""
        return f"{self.name} ({self.year})" if self.year else self.name


def name_figure(figure: Figure) -> str:
    """Returns the name of a figure with that of its benchmark: 'STREAM, Triad bandwidth'."""
    return ", ".join(filter(None, (figure.topic, figure.title)))


def describe_figure(figure: Figure) -> tuple[str, str]:
    """Returns a figure with its conditions and notes, and what it is compared with, or why it is compared with nothing."""
    said = "; ".join(filter(None, (figure.conditions, figure.note)))
    conditions = f" ({said})" if said else ""
    matched = "; ".join(map(describe_case, figure.cases)) or f"nothing: {figure.reason}"
    return f"{name_figure(figure)}{conditions}", matched


def count_comparable(system: System) -> int:
    """Returns the number of figures that a run can be compared with."""
    return sum(bool(figure.cases) for figure in system.figures)
