"""The pages of the report: each module makes plain data, and the template of the same name shows it. The folder is the
registry, and so is the folder `pages` of each wing. A page with parts of its own is a folder: the template lies beside them.

`PLACE` is the order of the pages: those below `BENCHMARKS` stand before the benchmarks' own. `TITLE` names a page in the
contents, with fields of its data where these are in it. `data(evaluation)` is what it shows, None where the run has nothing for
it. Where it may have figures `has_figures(data)` says whether it does; `count(data)` is a number to stand beside the title.

A page that compares has `SIDES`, the least number of sides that it needs, and `data(evaluation, sides)` with `ReportSides`.
`evaluation` is then None if the report has published systems only.

A page with `IMPORTED` also shows an imported run, which has no records. A page with `UNCHANGED` gets only the results of the
start without changes (see `plan.variants`). A page that fails is shown as the sentence that says so.
"""

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from steelyard import doors
from steelyard.model import Evaluation
from steelyard.show.report.sides_of_report import ReportSides, alone
from steelyard.statistics.results.variants import keep_unchanged

BENCHMARKS = 100
BESIDE = "benchmark"  # of the core: it shows a benchmark, and no page of its own
LATER = 20  # from this place on a page is made part of the document when it is opened: all at once are 100,000 elements


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page as the report's frame needs it; `count` stands beside its title where it is not 0.

    `data` is the error of a page that failed. `compares`: it is about all sides of the report, not about the baseline only.
    """

    part: doors.Part
    anchor: str
    title: str
    template: str
    data: Any
    drawn: bool
    count: int
    place: int
    compares: bool = False


def pages(evaluation: Evaluation | None, sides: ReportSides | None = None) -> tuple[Page, ...]:
    """Returns the pages that the run and its sides have something for, in their order."""
    unchanged = keep_unchanged(evaluation) if evaluation else None
    sides = sides or (alone(evaluation) if evaluation else None)
    parts = (part for part in doors.parts("page", doors.packages("pages")) if part.module != f"{__name__}.{BESIDE}")
    made = (_attempt(part, evaluation, unchanged, sides) for part in parts)
    return tuple(sorted((page for page in made if page), key=lambda page: (page.place, page.anchor)))


def show_failure(part: doors.Part, failure: doors.PartFailed) -> Page:
    """Returns the page that says why a page failed."""
    title = part.name.replace("_", " ").capitalize()
    anchor, place = part.name.replace("_", "-"), BENCHMARKS - 1
    return Page(
        part=part, anchor=anchor, title=title, template="failed.html", data=failure, drawn=False, count=0, place=place
    )


def folders() -> tuple[Path, ...]:
    """The folders that hold the templates of the pages."""
    return tuple(
        folder
        for root in doors.packages("pages").values()
        for folder in (root, *sorted(p.parent for p in root.glob("*/__init__.py")))
    )


def _attempt(
    part: doors.Part, evaluation: Evaluation | None, unchanged: Evaluation | None, sides: ReportSides | None
) -> Page | None:
    try:
        module = doors.load(part)
        run = unchanged if getattr(module, "UNCHANGED", False) else evaluation
        return doors.call(part, _page, part, module, run, sides)
    except doors.PartFailed as failure:
        return show_failure(part, failure)


def _data(module: ModuleType, evaluation: Evaluation | None, sides: ReportSides | None) -> Any:
    least = getattr(module, "SIDES", 0)
    if not least:
        # Most pages say how Steelyard measured: they have nothing to say of an imported run.
        shown = evaluation is not None and (not evaluation.run.imported or getattr(module, "IMPORTED", False))
        return module.data(evaluation) if shown else None
    return module.data(evaluation, sides) if sides and len(sides.sides) >= least else None


def _page(
    part: doors.Part, module: ModuleType, evaluation: Evaluation | None, sides: ReportSides | None
) -> Page | None:
    data = _data(module, evaluation, sides)
    if not data:
        return None
    if not (part.file.parent / f"{part.name}.html").is_file():
        raise doors.PartFailed(part, f"the template {part.name}.html is not in the folder of the page")
    drawn, count = getattr(module, "has_figures", lambda data: False), getattr(module, "count", lambda data: 0)
    return Page(
        part=part,
        anchor=part.name.replace("_", "-"),
        title=module.TITLE.format(page=data),
        template=f"{part.name}.html",
        data=data,
        drawn=bool(drawn(data)),
        count=count(data),
        place=module.PLACE,
        compares=hasattr(module, "SIDES"),
    )
