"""The pages of the report: each module makes plain data, and the template of the same name shows it. The folder is the
registry, and so is the folder `pages` of each wing. A page with parts of its own is a folder: the template lies beside them.

A module is a page if it has `PLACE`, in the order of which the pages stand: those below `BENCHMARKS` before the benchmarks' own.
`TITLE` names it in the contents, with fields of its data where these are in it. `data(evaluation)` is what it shows, None where
the run has nothing for it. Where it may have figures `has_figures(data)` says whether it does; `count(data)` is a number to
stand beside the title.

A page that compares has `SIDES`, the least number of sides that it needs, and `data(evaluation, sides)` with `ReportSides`.
`evaluation` is then None if the report has published systems only.

Where `is_long(sides)`, a page is made in a second process, and its data must be picklable.

A page with `IMPORTED` also shows an imported run, which has no records. A page with `UNCHANGED` gets only the results of the
start without changes (see `plan.variants`).
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from steelyard import doors
from steelyard.model import Evaluation
from steelyard.report.sides_of_report import ReportSides, alone
from steelyard.second_process import SecondProcess
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
    return begin(evaluation, sides)()


def begin(evaluation: Evaluation | None, sides: ReportSides | None = None) -> Callable[[], tuple[Page, ...]]:
    """Starts the pages that take long, and returns a function that makes the other ones and returns all (see `pages`)."""
    unchanged = plain(evaluation) if evaluation else None
    sides = sides or (alone(evaluation) if evaluation else None)
    here: list[Callable[[], Page | None]] = []
    beside: list[Callable[[], Page | None]] = []
    for module in _modules():
        make = partial(_page, module, unchanged if hasattr(module, "UNCHANGED") else evaluation, sides)
        if sides and hasattr(module, "is_long") and module.is_long(sides):
            beside.append(SecondProcess(make).result)
        else:
            here.append(make)

    def finish() -> tuple[Page, ...]:
        made = filter(None, (make() for make in (*here, *beside)))
        return tuple(sorted(made, key=lambda page: (page.place, page.anchor)))

    return finish


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
