"""`steelyard query`."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.errors import MachineFailed, SteelyardError, UsageError
from steelyard.show.command_line.options import Json, Paths, Runs

if TYPE_CHECKING:
    from steelyard.show.report.columns import Table
    from steelyard.show.report.question import Files

PLACE = 90


def command(
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="SQL query of the tables metrics and samples, as in the examples.")
    ],
    runs: Runs = Path("runs"),
    paths: Paths = None,
    limit_time: Annotated[
        str,
        typer.Option("--limit-time", metavar="TIME", help="Longest time for the query, such as 30s or 10m."),
    ] = "60s",
    limit_memory: Annotated[
        str | None,
        typer.Option(
            "--limit-memory",
            metavar="SIZE",
            help="Most memory for the query, such as 500m or 4g (default: half of this machine's memory).",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Query all runs at once in SQL (DuckDB). Each row is printed as soon as it is known.

    Examples: **steelyard query "select run, value from metrics where kernel = 'triad' and metric = 'bandwidth'"** ·
    **steelyard query "select * from samples" --limit-time 10m --json**
    """
    from steelyard.measure import records
    from steelyard.model.numbers import length_of_time, size
    from steelyard.show.command_line import tables
    from steelyard.show.report.question import Limits, query
    from steelyard.system import resource_limits

    try:
        # If the locale is not UTF-8, Python has decoded the bytes as other letters.
        sql = os.fsencode(sql).decode()
    except UnicodeError:
        raise UsageError("The query is not text in UTF-8. Write it in that encoding.") from None
    limits = Limits(length_of_time(limit_time, "The time for a query (given by --limit-time)"))
    if limit_memory:
        limits = replace(limits, memory=size(limit_memory, "The memory for a query (given by --limit-memory)"))
    if shortage := resource_limits.find_memory_shortage(resource_limits.QUERY):
        raise MachineFailed(shortage)
    tables.print_rows(*query(_find_files(records.all_runs(runs), paths or []), sql, limits), json_)


def _find_files(runs: Sequence[Path], paths: Sequence[Path]) -> "Files":
    """Returns the tables of all runs that can be read. For each other run it prints the reason once."""
    from steelyard.results.table import RESULTS, read_current
    from steelyard.show.report.question import write_source

    def find(path: Path, table: "Table", spare: Path) -> Path:
        if table == "metrics" and not paths and read_current(path):
            return path / RESULTS
        from steelyard.show.command_line.evaluated_run import read  # with NumPy, which a table does not need

        return write_source(read(path, paths), table, spare)

    unreadable: set[Path] = set()

    def files(table: "Table", folder: Path) -> Iterator[Path]:
        for number, path in enumerate(runs):
            if path in unreadable:
                continue
            try:
                yield find(path, table, folder / f"{table}-{number}")
            except SteelyardError as error:
                unreadable.add(path)
                print(f"steelyard: left out: {error.shown()}", file=sys.stderr)

    return files
