"""`steelyard mpi`: a command of commands; one file each."""

import typer

from steelyard.commands.lookup import MARKUP, group

COMMANDS = ("list", "install", "remove")  # in the order of the help

app = typer.Typer(
    name="mpi",
    cls=group(__name__, COMMANDS),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=MARKUP,
    help="MPI libraries: which there are, and further ones that Steelyard installs for you, without root.",
)


@app.callback()
def _mpi() -> None:
    """Nothing by itself: without a callback Typer takes a group without commands of its own for empty."""
