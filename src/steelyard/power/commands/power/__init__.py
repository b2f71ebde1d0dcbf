"""`steelyard power`: a group of commands, one file each."""

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
    help="Power and energy: list the sensors, measure the energy of a command, and collect the readings of many nodes.",
)


@app.callback()
def _power() -> None:
    """Does nothing. Typer treats a group without a callback and without own commands as empty."""
