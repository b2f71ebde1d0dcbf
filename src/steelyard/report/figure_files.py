"""The figures of a run as files of their own."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

from steelyard import files
from steelyard.errors import UsageError, nearest
from steelyard.model import Evaluation
from steelyard.report import pages, pictures
from steelyard.report.drawing import Drawn, has_plot
from steelyard.report.pages import benchmark
from steelyard.report.pictures import Size
from steelyard.report.sides_of_report import ReportSides

WHAT = "A figure"


def write(
    evaluation: Evaluation | None,
    folder: Path,
    form: str,
    size: Size,
    sides: ReportSides | None = None,
) -> tuple[Path, ...]:
    """Writes each figure of the report into the folder, which is made where it is missing, and returns the files.

    A file is called as the figure's anchor in the report. UsageError for an unknown format; errors as `pictures.picture` and
    `files.write`.
    """
    if form not in pictures.FORMATS:
        raise UsageError(f"There is no format '{form}' for figures. {nearest(form, pictures.FORMATS)}")
    whole = pages.pages(evaluation, sides)
    by_anchor = {figure.anchor: figure for page in whole for figure in drawn(page.data)}
    records = next((page.data.records for page in whole if hasattr(page.data, "records")), Markup("{}"))
    if evaluation:
        for name in evaluation.benchmarks:
            figures = benchmark.figures(evaluation, name, sides.figures if sides else None)
            by_anchor |= {figure.anchor: figure for figure in drawn(figures)}
    files.expect_folder(folder, WHAT, "--figures")
    folder.mkdir(parents=True, exist_ok=True)
    plotted = [figure for figure in by_anchor.values() if has_plot(figure)]
    return tuple(_write(figure, folder / f"{figure.anchor}.{form}", form, size, records) for figure in plotted)


def _write(figure: Drawn, path: Path, form: str, size: Size, records: Markup) -> Path:
    content = pictures.picture(figure.plot, figure.title, form, size, records)
    return files.make(path, WHAT, lambda target: target.write_bytes(content))


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
