"""`steelyard power`: a command of commands; one file each."""

from pathlib import Path

import typer

from steelyard.command_line.command_group import MARKUP, make_group

PLACE = 170

app = typer.Typer(
    name="power",
    cls=make_group(lambda: [{__name__: Path(__file__).parent}]),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=MARKUP,
    help="Power and energy: which sensors there are, what a command of yours costs, and the traces of many nodes.",
)


@app.callback()
def _power() -> None:
    """Nothing by itself: without a callback Typer takes a group without commands of its own for empty."""
