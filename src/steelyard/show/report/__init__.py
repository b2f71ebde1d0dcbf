"""The report: one HTML file that is complete, opens without a network, and can be printed."""

import base64
import functools
import gzip
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import doors
from steelyard.errors import MachineFailed
from steelyard.model import Evaluation
from steelyard.system import files
from steelyard.system.installation import install_command

# The screen and the tables need none of what draws pages: that is imported where it is used, half a second later.
if TYPE_CHECKING:
    from jinja2 import Environment

    from steelyard.show.report.drawing import Drawn
    from steelyard.show.report.sides_of_report import ReportSides

_HERE = Path(__file__).parent
SCRIPTS = ("numbers.js", "sides.js", "figures.js", "script.js")


def write(evaluation: Evaluation | None, path: Path, sides: "ReportSides | None" = None) -> Path:
    """Writes the report to `path` and returns the path. Arguments as in `render`; errors as `files.write`."""
    files.expect_output(path, "The report")
    page = render(evaluation, sides)
    return files.write(path, "The report", page)


def render(evaluation: Evaluation | None, sides: "ReportSides | None" = None) -> str:
    """Returns the report as one HTML text: the pages of a run, and those that compare it with the other `sides`.

    Without a run, the report has only the pages that compare.
    """
    from steelyard.show.report import pages, paper
    from steelyard.show.report.pages import BENCHMARKS, LATER, benchmark, overview
    from steelyard.show.report.side_traces import find_place

    whole = pages.pages(evaluation, sides)
    names = [side.name for side in sides.sides] if sides and len(sides.sides) > 1 else []
    shown = sides.shown if sides and names else ()
    figures = _draw_benchmarks(evaluation, sides) if evaluation else ()
    benchmarks = tuple(benchmark.data(evaluation, *each) for each in figures) if evaluation else ()
    drawn = any(page.drawn for page in whole) or any(f for page in benchmarks for f in page.figures if not f.error)
    return fill(
        _HERE / "layout.html",
        drawn,
        run=evaluation.run if evaluation else None,
        before=[page for page in whole if page.place < BENCHMARKS],
        later=LATER,
        benchmarks=benchmarks,
        paper=paper.data(evaluation, [(page.name, page.figures) for page in benchmarks]) if evaluation else None,
        groups=overview.entries(evaluation) if evaluation else {},
        after=[page for page in whole if page.place >= BENCHMARKS],
        sides=names,
        side_of_run=_name_side(evaluation, sides),
        shown=shown,
        places=[find_place(side, shown) for side in range(len(names))],
    )


def _name_side(evaluation: Evaluation | None, sides: "ReportSides | None") -> str:
    """Returns the name of the side whose run the pages describe; for a group, also the run."""
    run = evaluation.run.id if evaluation else ""
    mine = next((side for side in (sides.sides if sides else ()) if run in (one.run for one in side.runs)), None)
    return run if mine is None else mine.name if len(mine.runs) == 1 else f"{run} of {mine.name}"


def _draw_benchmarks(evaluation: Evaluation, sides: "ReportSides | None") -> Iterator[tuple[str, tuple["Drawn", ...]]]:
    """Yields the name and the figures of each benchmark in its order."""
    from steelyard.show.report.names import grouped
    from steelyard.show.report.pages import benchmark

    joined = sides.joined if sides else None
    for name in (name for group in grouped(evaluation.benchmarks).values() for name in group):
        yield name, benchmark.figures(evaluation, name, joined)


def fill(template: Path, drawn: bool, **data: Any) -> str:
    """Returns the filled template with the style, the scripts, and plotly if there is a figure."""
    from markupsafe import Markup

    from steelyard.show.report import pages

    environment = _environment((str(template.parent), *map(str, pages.folders())))

    def show(page: "pages.Page") -> Markup:
        def body(shown: "pages.Page") -> Markup:
            return Markup(environment.get_template(shown.template).render(**data, page=shown.data))

        try:
            return doors.call(page.part, body, page)
        except doors.PartFailed as failure:
            return body(pages.show_failure(page.part, failure))

    return environment.get_template(template.name).render(
        **data,
        show=show,
        style=Markup(_asset("style.css")),
        script=Markup("".join(map(_asset, SCRIPTS))),
        plotly=Markup(plotly()) if drawn else "",
    )


@functools.cache
def _environment(folders: tuple[str, ...]) -> "Environment":
    """Kept: to read the templates takes longer than to fill them."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from steelyard.judge.findings.remedies import describe
    from steelyard.show.report import values, verdict_marks
    from steelyard.show.report.templates import compiled
    from steelyard.statistics.validity.trust import doubtful

    environment = Environment(
        loader=FileSystemLoader([_HERE, *folders]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=compiled(),
    )
    environment.globals |= {
        "percent": values.percent,
        "energies": values.energies,
        "remedy": describe,
        "signs": verdict_marks.SIGNS,
        "doubtful": doubtful,
    }
    return environment


def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@functools.cache
def plotly() -> str:
    """Returns plotly.js as base64 of gzip: 2 MB instead of 5. MachineFailed if the package lacks it."""
    # The package itself is not imported: that takes a second, and only this one file of it is wanted.
    spec = importlib.util.find_spec("plotly")
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        script = Path(folder, "package_data", "plotly.min.js")
        if script.is_file():
            return base64.b64encode(gzip.compress(script.read_bytes(), 6, mtime=0)).decode("ascii")
    raise MachineFailed(
        f"The package 'plotly' or its plotly.min.js is missing. Install it: {install_command('plotly>=6')}"
    )
