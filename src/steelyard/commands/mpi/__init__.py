"""`steelyard mpi`: a command of commands; one file each."""

from pathlib import Path

import typer

from steelyard.command_line.command_group import MARKUP, group

PLACE = 135

app = typer.Typer(
    name="mpi",
    cls=group(lambda: [{__name__: Path(__file__).parent}]),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=MARKUP,
    help="MPI libraries: which there are, and further ones that Steelyard installs for you, without root.",
)


@app.callback()
def _mpi() -> None:
    """Nothing by itself: without a callback Typer takes a group without commands of its own for empty."""
