"""The readings of the reference systems: all systems of the library."""

from collections.abc import Collection, Mapping

from steelyard.compare.published_side import make_side
from steelyard.compare.verdict.quantities import Readings
from steelyard.compare.verdict.subject import read
from steelyard.errors import UsageError
from steelyard.published.system import System
from steelyard.published.system_library import list_shipped, list_systems


def read_references(without: Collection[str]) -> Mapping[str, Readings]:
    """Returns the readings of each system of the library by its name with its year, without the systems of these names."""
    try:
        systems = list_systems()
    except UsageError:  # a damaged file of the user, which `steelyard systems` names, must not stop the report of a run
        systems = list_shipped()
    return {f"{s.name} ({s.year})" if s.year else s.name: _read(s) for s in systems if s.name not in without}


def _read(system: System) -> Readings:
    return read(make_side(system))
