"""The readings of the reference systems: all systems of the library."""

from collections.abc import Collection, Mapping

from steelyard.compare.published_side import make_side
from steelyard.compare.quantities import Readings
from steelyard.compare.verdict.subject import read
from steelyard.measure.published.system import System
from steelyard.measure.published.system_library import list_readable


def read_references(without: Collection[str]) -> Mapping[str, Readings]:
    """Returns the readings of each system of the library by its name with its year, without the systems of these names."""
    return {s.dated: _read(s) for s in list_readable() if s.name not in without}


def _read(system: System) -> Readings:
    return read(make_side(system))
