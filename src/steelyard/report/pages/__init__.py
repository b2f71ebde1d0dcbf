"""The pages of the report: each module makes plain data, and the template of the same name shows it. The folder is the
registry, and so is the folder `pages` of each wing. A page with parts of its own is a folder: the template lies beside them.

A module is a page if it has `PLACE`, in the order of which the pages stand: those below `BENCHMARKS` before the benchmarks' own.
`TITLE` names it in the contents, with fields of its data where these are in it. `data(evaluation)` is what it shows, None where
the run has nothing for it; of a page with `AGAINST` it is `data(evaluation, base)`, asked for only where another run is given.
Where it may have figures `has_figures(data)` says whether it does; `count(data)` is a number to stand beside the title.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from steelyard import doors
from steelyard.model import Evaluation

BENCHMARKS = 100
LATER = 20  # from this place on a page is made part of the document when it is opened: all at once are 100,000 elements


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page as the report's frame needs it; `count` stands beside its title where it is not 0."""

    anchor: str
    title: str
    template: str
    data: Any
    drawn: bool
    count: int
    place: int


def pages(evaluation: Evaluation, base: Evaluation | None = None) -> tuple[Page, ...]:
    """Those that the run has something for, in their order. UsageError where `base` has nothing in common with it."""
    made = (_page(module, evaluation, base) for module in _modules())
    return tuple(sorted((page for page in made if page), key=lambda page: (page.place, page.anchor)))


def folders() -> tuple[Path, ...]:
    """The folders that hold the templates of the pages."""
    return tuple(
        folder
        for root in doors.packages("pages").values()
        for folder in (root, *sorted(p.parent for p in root.glob("*/__init__.py")))
    )


def _modules() -> Iterator[ModuleType]:
    names = [
        f"{package}.{module.name}"
        for package, folder in doors.packages("pages").items()
        for module in pkgutil.iter_modules([str(folder)])
    ]
    for name in sorted(names, key=lambda name: name.rpartition(".")[2]):
        module = importlib.import_module(name)
        if hasattr(module, "PLACE"):
            yield module


def _page(module: ModuleType, evaluation: Evaluation, base: Evaluation | None) -> Page | None:
    against = hasattr(module, "AGAINST")
    if against and base is None:
        return None
    data = module.data(evaluation, base) if against else module.data(evaluation)
    if not data:
        return None
    name = module.__name__.rpartition(".")[2]
    drawn, count = getattr(module, "has_figures", lambda data: False), getattr(module, "count", lambda data: 0)
    title = module.TITLE.format(page=data)
    return Page(
        anchor=name.replace("_", "-"),
        title=title,
        template=f"{name}.html",
        data=data,
        drawn=bool(drawn(data)),
        count=count(data),
        place=module.PLACE,
    )
