"""The report: one HTML file that holds everything it shows, opens without a network, and prints."""

import base64
import gzip
import importlib.util
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from steelyard import files
from steelyard.errors import MachineFailed
from steelyard.model import Evaluation
from steelyard.report import lamps, values
from steelyard.report.names import grouped
from steelyard.report.pages import (
    applications,
    benchmark,
    findings,
    machine,
    method,
    node_against,
    node_kernels,
    overview,
    pace,
    provenance,
    roofline,
    scaling,
)
from steelyard.statistics.trust import doubtful

_HERE = Path(__file__).parent


def write(evaluation: Evaluation, path: Path, base: Evaluation | None = None) -> Path:
    """Write the report of `evaluation` to `path` and return it; `base` as in `render`. Errors as `files.write`."""
    files.expect_output(path, "The report")
    page = render(evaluation, base)
    return files.write(path, "The report", page)


def render(evaluation: Evaluation, base: Evaluation | None = None) -> str:
    """The report as one HTML text; the node's kernels also against those of `base`, another system's, where one is given.

    UsageError where these have no kernel in common.
    """
    benchmarks = tuple(
        benchmark.data(evaluation, name) for names in grouped(evaluation.benchmarks).values() for name in names
    )
    roofs = roofline.data(evaluation)
    kernels = node_kernels.data(evaluation)
    against = node_against.data(evaluation, base) if base else None
    scaled = scaling.data(evaluation)
    programs = applications.data(evaluation)
    paced = pace.data(evaluation)
    found = (roofs, kernels, against, scaled, programs and programs.phases, paced and paced.figures)
    drawn = any(found) or any(figure for page in benchmarks for figure in page.figures if not figure.error)
    return (
        _environment()
        .get_template("layout.html")
        .render(
            run=evaluation.run,
            overview=overview.data(evaluation),
            findings=findings.data(evaluation),
            machine=machine.data(evaluation),
            roofline=roofs,
            node_kernels=kernels,
            node_against=against,
            scaling=scaled,
            applications=programs,
            benchmarks=benchmarks,
            pace=paced,
            method=method.data(evaluation),
            provenance=provenance.data(evaluation),
            style=Markup(_asset("style.css")),
            script=Markup(_asset("figures.js") + _asset("script.js")),
            plotly=Markup(plotly()) if drawn else "",
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader([_HERE, _HERE / "pages"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"percent": values.percent, "signs": lamps.SIGNS, "doubtful": doubtful}
    return environment


def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@cache
def plotly() -> str:
    """plotly.js as base64 of gzip: 2 MB instead of 5. MachineFailed where the package lacks it."""
    # The package itself is not imported: that takes a second, and only this one file of it is wanted.
    found = importlib.util.find_spec("plotly")
    folders = list(found.submodule_search_locations or []) if found else []
    for folder in folders:
        script = Path(folder, "package_data", "plotly.min.js")
        if script.is_file():
            return base64.b64encode(gzip.compress(script.read_bytes(), 9, mtime=0)).decode("ascii")
    raise MachineFailed("The package 'plotly' with its plotly.min.js is missing; install it: pip install 'plotly>=6'.")
