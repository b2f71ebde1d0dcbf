"""`steelyard remove`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.show.command_line.completion import complete_run
from steelyard.show.command_line.options import Runs

PLACE = 110


def command(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN", autocompletion=complete_run, help="Ids or folders of runs, such as 20261120-101500."
        ),
    ],
    runs: Runs = Path("runs"),
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
) -> None:
    """Remove runs with all their measurements.

    Examples: **steelyard remove 20261120-101500** · **steelyard remove old-1 old-2 --yes**
    """
    import sys

    from steelyard.errors import UsageError, one_line
    from steelyard.measure import records
    from steelyard.measure.records import removing

    folders = [records.find(runs, name) for name in dict.fromkeys(names)]
    for folder in folders:
        removing.expect_removable(folder)
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(
                "Nothing was removed, because there is no terminal to ask for confirmation. Use --yes to remove without asking."
            )
        listed = ", ".join(one_line(str(folder)) for folder in folders)
        if not typer.confirm(f"Remove {listed} with all measurements?", err=True):
            raise typer.Exit(1)
    for folder in folders:
        removing.remove(folder)
        print(f"removed {one_line(str(folder))}")
