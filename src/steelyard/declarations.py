"""Finds declarations: one in each file of a folder, and one behind each entry point of other packages."""

import importlib
import pkgutil
from typing import TYPE_CHECKING, Protocol, TypeVar

from steelyard.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import (
        EntryPoint,  # forty modules: loaded by those commands alone that ask for what is found
    )


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Wanted = TypeVar("_Wanted", bound=_Named)


def declared(package: str, group: str, wanted: type[_Wanted]) -> dict[str, _Wanted]:
    """By name, sorted: what each file of the package declares under the name of its kind, and each entry point of the group.

    Files whose name begins with _ hold what others share. UsageError for an entry point that leads to nothing of the kind.
    """
    from importlib.metadata import entry_points

    folder = importlib.import_module(package).__path__
    files = [m.name for m in pkgutil.iter_modules(folder) if not m.name.startswith("_")]
    found = [getattr(importlib.import_module(f"{package}.{file}"), wanted.__name__.lower()) for file in files]
    found += [_loaded(point, wanted) for point in entry_points(group=group)]
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}


def _loaded(point: "EntryPoint", wanted: type[_Wanted]) -> _Wanted:
    try:
        found = point.load()
    except Exception as error:
        raise UsageError(
            f"The entry point {point.group}: {point.name} = {point.value} cannot be loaded ({type(error).__name__}: {error}). "
            "Mend the package that installs it, or remove that."
        ) from error
    if not isinstance(found, wanted):
        raise UsageError(
            f"The entry point {point.group}: {point.name} = {point.value} leads to a {type(found).__name__}; expected a "
            f"{wanted.__name__} of {wanted.__module__}, as MODULE:{wanted.__name__.lower()}."
        )
    return found
