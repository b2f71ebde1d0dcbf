"""`steelyard report`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.commands.options import Paths, RunName, Runs


def command(
    name: RunName = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The HTML file; into the run's folder when left out.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="RUN", help="Another system's run: the node's kernels are also shown over its times."
        ),
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
) -> None:
    """Write a run's HTML report anew: one file, no network needed.

    Examples: **steelyard report --output node17.html** · **steelyard report node17 --against node3**
    """
    from steelyard import files, records
    from steelyard.commands import outcome
    from steelyard.compare import modes
    from steelyard.errors import spelled

    if output:
        files.expect_output(output, "The report")
    base = modes.base(runs, against) if against else None
    print(spelled(str(outcome.write_report(records.find(runs, name), paths or [], output, base))))
