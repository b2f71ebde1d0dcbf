"""The figures of a run as files of their own."""

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from markupsafe import Markup

from steelyard import doors
from steelyard.errors import SteelyardError, UsageError, nearest
from steelyard.model import Benchmark, Evaluation
from steelyard.show.report import pages, pictures
from steelyard.show.report.drawing import Drawn, has_plot
from steelyard.show.report.pages import benchmark, pace
from steelyard.show.report.pictures import Size
from steelyard.show.report.sides_of_report import ReportSides
from steelyard.system import files

WHAT = "A figure"


def write(
    evaluation: Evaluation | None,
    folder: Path,
    form: str,
    size: Size,
    sides: ReportSides | None = None,
) -> tuple[Path, ...]:
    """Writes each figure of the report into the folder, which is made where it is missing, and returns the files.

    A file is called as the figure's anchor in the report. Figures of several sides have their titles, which say the result; those
    of one run have captions where they are printed. A figure that fails is left out with a warning. UsageError for an
    unknown format; MachineFailed without matplotlib; errors as `files.write`.
    """
    if form not in pictures.FORMATS:
        raise UsageError(f"There is no format '{form}' for figures. {nearest(form, pictures.FORMATS)}")
    whole = pages.pages(evaluation, sides)
    parts = [(page.part, page.data) for page in whole]
    if evaluation:
        further = sides.joined if sides else None
        parts += [
            (_part_of(one), benchmark.figures(evaluation, name, further)) for name, one in evaluation.benchmarks.items()
        ]
    figures = {figure.anchor: (part, figure) for part, data in parts for figure in _list_plotted(part, data)}
    records = next((page.data.records for page in whole if isinstance(page.data, pace.Page)), Markup("{}"))
    files.expect_folder(folder, WHAT, "--figures")
    folder.mkdir(parents=True, exist_ok=True)
    count, written = len(sides.sides) if sides else 1, []
    for anchor, (part, figure) in figures.items():
        draw = partial(doors.call, part, pictures.picture, passing=(SteelyardError,))
        if content := doors.attempt(draw, figure.plot, figure.title, form, size, records, count):
            written.append(files.make(folder / f"{anchor}.{form}", WHAT, partial(Path.write_bytes, data=content)))
    return tuple(written)


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
