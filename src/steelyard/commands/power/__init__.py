"""`steelyard power`: a command of commands; one file each."""

import typer

from steelyard.commands.lookup import MARKUP, group

COMMANDS = (  # in the order of the help
    "sensors",
    "watch",
    "agent",
    "collect",
    "query",
    "export",
    "tail",
    "serve",
    "attach",
    "tidy",
)

app = typer.Typer(
    name="power",
    cls=group(__name__, COMMANDS),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=MARKUP,
    help="Power and energy: which sensors there are, what a command of yours costs, and the traces of many nodes.",
)


@app.callback()
def _power() -> None:
    """Nothing by itself: without a callback Typer takes a group without commands of its own for empty."""
