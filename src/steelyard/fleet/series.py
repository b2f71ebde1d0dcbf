"""A figure over time: its values, each with its run and its date."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from steelyard.model import Better, Level
from steelyard.statistics.difference.newest import Newest
from steelyard.statistics.difference.steps import CONSTANT, Course


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The value of one run. `paces` has by kind the share of the machine's best pace that the run had.

    `source` is the file and line of a value that was imported.
    """

    run: str
    path: str
    started: str
    value: float
    level: Level
    paces: Mapping[str, float]
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A main figure over the runs of a machine, in the order of time. `course` has steps only if they are discoveries."""

    name: str
    title: str
    conditions: str
    benchmark: str
    metric: str
    unit: str
    better: Better
    points: tuple[Point, ...]
    course: Course = CONSTANT
    newest: Newest | None = None


def read_moment(text: str) -> datetime | None:
    """Returns the moment of a date in the form of ISO 8601, at this place if it names no zone; None if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.astimezone()
