"""`steelyard query`."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from steelyard.commands.options import Json, Paths, Runs
from steelyard.errors import SteelyardError, UsageError
from steelyard.model import Evaluation


def command(
    sql: Annotated[str, typer.Argument(help="SQL over the tables metrics and samples.")],
    runs: Runs = Path("runs"),
    paths: Paths = None,
    json_: Json = False,
) -> None:
    """Ask all runs at once, in SQL (DuckDB).

    Example: **steelyard query "select run, value from metrics where kernel = 'triad' and metric = 'bandwidth'"**
    """
    from steelyard import records
    from steelyard.commands import tables
    from steelyard.report import export

    try:
        # As bytes: where the locale is not UTF-8, Python has read them as other letters.
        sql = os.fsencode(sql).decode()
    except UnicodeError:
        raise UsageError("The question is no text in UTF-8: write its letters in that encoding.") from None
    tables.table(*export.query(_readable(records.all_runs(runs), paths or []), sql), json_)


def _readable(runs: Iterable[Path], paths: Sequence[Path]) -> Iterator[Evaluation]:
    """The evaluations of those runs that can be read; of the others it says why not."""
    from steelyard.commands import outcome

    for path in runs:
        try:
            yield outcome.read(path, paths)
        except SteelyardError as error:
            print(f"steelyard: left out: {error.shown()}", file=sys.stderr)
