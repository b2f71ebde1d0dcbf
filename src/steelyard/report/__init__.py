"""The report: one HTML file that holds everything it shows, opens without a network, and prints."""

import base64
import contextlib
import functools
import gzip
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from steelyard import files
from steelyard.build import inside
from steelyard.errors import MachineFailed
from steelyard.model import Evaluation
from steelyard.report import lamps, paper, values
from steelyard.report import pages as found
from steelyard.report.names import grouped
from steelyard.report.pages import BENCHMARKS, LATER, benchmark, overview
from steelyard.statistics.validity.trust import doubtful
from steelyard.uncollected import uncollected

if TYPE_CHECKING:
    from steelyard.report.prediction import Page as Prediction

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
    with uncollected():
        benchmarks = tuple(
            benchmark.data(evaluation, name) for names in grouped(evaluation.benchmarks).values() for name in names
        )
        whole = found.pages(evaluation, base)
    drawn = any(page.drawn for page in whole) or any(f for page in benchmarks for f in page.figures if not f.error)
    return _filled(
        "layout.html",
        drawn,
        run=evaluation.run,
        before=[page for page in whole if page.place < BENCHMARKS],
        later=LATER,
        benchmarks=benchmarks,
        paper=paper.data(evaluation, [(page.name, page.figures) for page in benchmarks]),
        groups=overview.entries(evaluation),
        after=[page for page in whole if page.place >= BENCHMARKS],
    )


def write_prediction(page: "Prediction", path: Path) -> Path:
    """Write the page of a replay to `path` and return it. Errors as `files.write`."""
    return files.write(path, "The page", _filled("prediction.html", page.drawn, page=page))


def _filled(template: str, drawn: bool, **data: Any) -> str:
    """A page with what all of them have: style, scripts, and where something is drawn, plotly."""
    environment = _environment(tuple(found.__path__))
    return environment.get_template(template).render(
        **data,
        style=Markup(_asset("style.css")),
        script=Markup(_asset("figures.js") + _asset("script.js")),
        plotly=Markup(plotly()) if drawn else "",
    )


@functools.cache
def _environment(folders: tuple[str, ...]) -> Environment:
    """Kept: to read the templates takes longer than to fill them."""
    environment = Environment(
        loader=FileSystemLoader([_HERE, *folders]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled(),
    )
    environment.globals |= {"percent": values.percent, "signs": lamps.SIGNS, "doubtful": doubtful}
    return environment


class _Compiled(FileSystemBytecodeCache):
    """Templates kept as Python's code, a tenth of a report's time; a disk that is full keeps none.

    What another user can have written is compiled anew.
    """

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            if not files.others(Path(self._get_cache_filename(bucket))):
                super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def _compiled() -> _Compiled | None:
    try:
        return _Compiled(str(inside("templates")))
    except OSError:
        return None


def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@functools.cache
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
