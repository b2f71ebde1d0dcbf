"""The pages of the report: each module makes plain data, and the template of the same name shows it. The folder is the
registry, and so is the folder `pages` of each wing. A page with parts of its own is a folder: the template lies beside them.

A module is a page if it has `PLACE`, in the order of which the pages stand: those below `BENCHMARKS` before the benchmarks' own.
`TITLE` names it in the contents, with fields of its data where these are in it. `data(evaluation)` is what it shows, None where
the run has nothing for it. Where it may have figures `has_figures(data)` says whether it does; `count(data)` is a number to
stand beside the title.

A page that compares has `SIDES`, the least number of sides that it needs, and `data(evaluation, sides)` with `ReportSides`.
`evaluation` is then None if the report has published systems only.

A page with `IMPORTED` also shows an imported run, which has no records. A page with `UNCHANGED` gets only the results of the
start without changes (see `plan.variants`).
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
from steelyard.report.sides_of_report import ReportSides, alone
from steelyard.statistics.results.variants import plain

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


def pages(evaluation: Evaluation | None, sides: ReportSides | None = None) -> tuple[Page, ...]:
    """Returns the pages that the run and its sides have something for, in their order."""
    unchanged = plain(evaluation) if evaluation else None
    sides = sides or (alone(evaluation) if evaluation else None)
    made = (_page(m, unchanged if hasattr(m, "UNCHANGED") else evaluation, sides) for m in _modules())
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


def _data(module: ModuleType, evaluation: Evaluation | None, sides: ReportSides | None) -> Any:
    least = getattr(module, "SIDES", 0)
    if not least:
        # Most pages say how Steelyard measured: they have nothing to say of an imported run.
        shown = evaluation is not None and (not evaluation.run.imported or hasattr(module, "IMPORTED"))
        return module.data(evaluation) if shown else None
    return module.data(evaluation, sides) if sides and len(sides.sides) >= least else None


def _page(module: ModuleType, evaluation: Evaluation | None, sides: ReportSides | None) -> Page | None:
    data = _data(module, evaluation, sides)
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
