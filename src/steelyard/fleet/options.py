"""Options that several commands of this wing have."""

from typing import Annotated

import typer

from steelyard.show.command_line.options import OUTPUT

Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Print for another program: json, junit, github (annotations of a workflow), or markdown.",
        rich_help_panel=OUTPUT,
    ),
]
