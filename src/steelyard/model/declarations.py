"""Finds declarations: one in each file of a folder, and one behind each entry point of other packages."""

import importlib
import pkgutil
from typing import TYPE_CHECKING, Protocol, TypeVar

from steelyard.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import (
        EntryPoint,  # it imports forty modules, which few commands need
    )


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Wanted = TypeVar("_Wanted", bound=_Named)


def declared(package: str, group: str, wanted: type[_Wanted]) -> dict[str, _Wanted]:
    """Returns the declarations by name, sorted: one in each file of the package, and one behind each entry point of the group.

    A file declares it under the lower-case name of the class `wanted`. Files whose name begins with _ declare nothing.
    UsageError for an entry point that leads to something else.
    """
    from importlib.metadata import entry_points

    folder = importlib.import_module(package).__path__
    files = [m.name for m in pkgutil.iter_modules(folder) if not m.name.startswith("_")]
    declarations = [getattr(importlib.import_module(f"{package}.{file}"), wanted.__name__.lower()) for file in files]
    declarations += [_load_declaration(point, wanted) for point in entry_points(group=group)]
    return {item.name: item for item in sorted(declarations, key=lambda item: item.name)}


def _load_declaration(point: "EntryPoint", wanted: type[_Wanted]) -> _Wanted:
    try:
        declaration = point.load()
    except Exception as error:
        raise UsageError(
            f"The entry point {point.group}: {point.name} = {point.value} cannot be loaded ({type(error).__name__}: {error}). "
            "Repair or remove the package that installs it."
        ) from error
    if not isinstance(declaration, wanted):
        raise UsageError(
            f"The entry point {point.group}: {point.name} = {point.value} names a {type(declaration).__name__}, but it must "
            f"name a {wanted.__name__} of {wanted.__module__}. Write it as MODULE:{wanted.__name__.lower()}."
        )
    return declaration
