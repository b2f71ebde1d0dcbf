"""`steelyard export`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from steelyard.commands.options import Paths, RunName, Runs


def command(
    name: RunName = None,
    form: Annotated[str, typer.Option("--format", help="json, csv or parquet.")] = "json",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file; standard output when left out.")
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
) -> None:
    """Export a run for spreadsheets, data frames and scripts.

    Example: **steelyard export --format csv > run.csv**
    """
    from steelyard import files, records
    from steelyard.commands import outcome
    from steelyard.errors import UsageError, nearest
    from steelyard.report import export

    if form not in export.FORMATS:
        raise UsageError(f"There is no format '{form}' (given by --format). {nearest(form, export.FORMATS)}")
    if output:
        files.expect_output(output, export.WHAT)
    sys.stdout.write(export.write(outcome.read(records.find(runs, name), paths or []), form, output))
