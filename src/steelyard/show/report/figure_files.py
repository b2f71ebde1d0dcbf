"""The figures of a run as files of their own."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from markupsafe import Markup

from steelyard import doors
from steelyard.errors import SteelyardError, UsageError, nearest
from steelyard.model import Benchmark, Evaluation
from steelyard.show.report import captions, pages, pictures
from steelyard.show.report.drawing import Drawn, has_plot
from steelyard.show.report.pages import benchmark, pace
from steelyard.show.report.pictures import Look
from steelyard.show.report.sides_of_report import ReportSides
from steelyard.system import files

WHAT = "A figure"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plotted:
    """A figure with what made it. `benchmark` is the name of its benchmark, "" if it is of a page on the whole run."""

    part: doors.Part
    figure: Drawn
    benchmark: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of a report that are drawn, by name. `records`: JSON of what figures with a mark a record share."""

    evaluation: Evaluation | None
    sides: ReportSides | None
    plotted: Mapping[str, Plotted]
    records: Markup

    def find(self, name: str) -> Plotted:
        """Returns the figure of this name, or of this anchor in the report. UsageError without one."""
        known = {**self.plotted, **{one.figure.anchor: one for one in self.plotted.values()}}
        if name not in known:
            raise UsageError(f"There is no figure '{name}'. {nearest(name, self.plotted)}")
        return known[name]

    def draw(self, one: Plotted, form: str, look: Look) -> bytes | None:
        """Returns the figure as a file; None, with a warning, if it fails. MachineFailed without matplotlib."""
        count = len(self.sides.sides) if self.sides else 1
        draw = partial(doors.call, one.part, pictures.picture, passing=(SteelyardError,))
        return doors.attempt(draw, one.figure.plot, one.figure.title, form, look, self.records, count)

    def describe(self, one: Plotted) -> str:
        """Returns the caption of a figure for a paper."""
        return captions.describe(one.figure, one.benchmark, self.evaluation, self.sides)


def collect(evaluation: Evaluation | None, sides: ReportSides | None = None) -> Figures:
    """Returns the figures of the report, in its order. Warns of those that failed."""
    whole = pages.pages(evaluation, sides)
    parts = [(page.part, page.data, "") for page in whole]
    if evaluation:
        further = sides.joined if sides else None
        parts += [
            (_part_of(one), benchmark.figures(evaluation, name, further), name)
            for name, one in evaluation.benchmarks.items()
        ]
    found = [
        Plotted(part=part, figure=figure, benchmark=name)
        for part, data, name in parts
        for figure in _list_plotted(part, data)
    ]
    records = next((page.data.records for page in whole if isinstance(page.data, pace.Page)), Markup("{}"))
    return Figures(evaluation=evaluation, sides=sides, plotted=_name(found), records=records)


def write(figures: Figures, folder: Path, form: str, look: Look) -> tuple[Path, ...]:
    """Writes each figure into the folder, which is made where it is missing, and returns the files.

    A file is called as the figure's anchor in the report. Figures of several sides have their titles, which say the result.
    A figure that fails is left out with a warning. UsageError for an unknown format; errors as `files.write`.
    """
    pictures.expect_format(form)
    files.expect_folder(folder, WHAT, "--output")
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(
        write_figure(folder / f"{one.figure.anchor}.{form}", content)
        for one in figures.plotted.values()
        if (content := figures.draw(one, form, look))
    )


def write_figure(path: Path, content: bytes) -> Path:
    """Writes a figure. Errors as `files.write`."""
    return files.make(path, WHAT, partial(Path.write_bytes, data=content))


def _name(found: Sequence[Plotted]) -> dict[str, Plotted]:
    """Returns the figures by name: the part of the anchor that says what is drawn, or the whole anchor if others share it."""
    first = {one.figure.anchor: one for one in found}
    shortened = {anchor: anchor.partition("-figure-")[2].partition("-")[2] or anchor for anchor in first}
    counts = Counter(shortened.values())
    return {short if counts[short] == 1 else anchor: first[anchor] for anchor, short in shortened.items()}


def _part_of(declared: Benchmark) -> doors.Part:
    source = declared.sources[0].path if declared.sources else declared.name
    return doors.Part("benchmark", Path(source).with_suffix(".py"))


def _list_plotted(part: doors.Part, data: object) -> list[Drawn]:
    """Returns the figures in the data of a part that are drawn. Warns if the part or a figure of it failed."""
    if isinstance(data, doors.PartFailed):
        doors.warn(str(data))
        return []
    figures = doors.attempt(doors.call, part, lambda: list(drawn(data))) or []
    for figure in figures:
        if figure.error:
            doors.warn(f"{figure.title}: {figure.error}")
    return list(filter(has_plot, figures))


def drawn(data: object) -> Iterator[Drawn]:
    """All figures in the data of a page, however deep they lie."""
    if isinstance(data, Drawn):
        yield data
    elif dataclasses.is_dataclass(data):
        for field in dataclasses.fields(data):
            yield from drawn(getattr(data, field.name))
    elif isinstance(data, Sequence) and not isinstance(data, str):
        for one in data:
            yield from drawn(one)
