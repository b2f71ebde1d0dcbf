"""Commands that are imported when they are looked up: half of the start would go into the others."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import typer
from typer.core import TyperGroup

MARKUP: Literal["markdown"] = "markdown"


def group(package: str, names: Sequence[str]) -> type[TyperGroup]:
    """A group of those commands of a package, in their order: modules with a `command`, or with an `app` of further ones."""

    class Group(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**{**settings, "commands": _Commands(package, names)})

    return Group


class _Commands(Mapping[str, Any]):
    def __init__(self, package: str, names: Sequence[str]) -> None:
        self._package, self._names = package, names

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return _command(self._package, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def _command(package: str, name: str) -> Any:
    module = importlib.import_module(f"{package}.{name}")
    if hasattr(module, "app"):
        return typer.main.get_command(module.app)
    alone = typer.Typer(add_completion=False, rich_markup_mode=MARKUP)
    alone.command(name)(module.command)
    return typer.main.get_command(alone)
