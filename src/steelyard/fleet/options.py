"""Options that several commands of this wing have."""

from typing import Annotated

import typer

from steelyard.errors import UsageError
from steelyard.show.command_line.options import OUTPUT

UNDECIDED = 5  # exit code

Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Print for another program: json, junit, github (annotations of a workflow), or markdown.",
        rich_help_panel=OUTPUT,
    ),
]


def read_slowness(percent: float) -> float:
    """Returns the share of a percentage of --slow. UsageError if it is not between 0 and 100."""
    if not 0 < percent < 100:
        raise UsageError(f"'{percent:g}' (given by --slow) is not a percentage between 0 and 100. Give one, such as 5.")
    return percent / 100
