"""`steelyard mpi`: a group of commands, one per file."""

from pathlib import Path

import typer

from steelyard.command_line.command_group import MARKUP, make_group

PLACE = 135

app = typer.Typer(
    name="mpi",
    cls=make_group(lambda: [{__name__: Path(__file__).parent}]),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=MARKUP,
    help="List MPI libraries, and install further ones without root.",
)


@app.callback()
def _mpi() -> None:
    """Does nothing. Without a callback, Typer treats a group without own commands as empty."""
