"""A system of the library with its printed figures, and their descriptions in words."""

from dataclasses import dataclass

from steelyard.published.our_case import AS_PRINTED, OurCase


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A printed number: `value` in the SI `unit`, and as it was `printed`. `topic` is the source's name of the benchmark, or "".

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

    `year` is that of the system or of its figures, None if it is unknown.
    """

    name: str
    kind: str
    year: int | None
    about: str
    source: str
    figures: tuple[Figure, ...]
    path: str = ""


def describe_case(case: OurCase) -> str:
    """Returns a case in words: 'memory.stream triad bandwidth (threads all, pinning compact), one of 8 nodes'."""
    where = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in case.parameters.items())
    words = f"{case.benchmark} {case.kernel} {case.metric.replace('_', ' ')}" + (f" ({where})" if where else "")
    statistic = "" if case.statistic == AS_PRINTED else case.statistic
    return ", ".join(filter(None, (words, statistic, case.note)))


def describe_figure(figure: Figure) -> tuple[str, str]:
    """Returns a figure with its conditions and notes, and what it is compared with, or why it is compared with nothing."""
    said = "; ".join(filter(None, (figure.conditions, figure.note)))
    conditions = f" ({said})" if said else ""
    matched = "; ".join(map(describe_case, figure.cases)) or f"nothing: {figure.reason}"
    return f"{figure.topic} {figure.title}{conditions}".strip(), matched


def count_comparable(system: System) -> int:
    """Returns the number of figures that a run can be compared with."""
    return sum(bool(figure.cases) for figure in system.figures)
