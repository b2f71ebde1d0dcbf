"""`steelyard systems`."""

from typing import Annotated

import typer

from steelyard.show.command_line.completion import complete_system
from steelyard.show.command_line.options import Json

PLACE = 105


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="SYSTEM",
            autocompletion=complete_system,
            help="System or file of a system whose figures are listed, such as Fugaku or my-system.toml (default: all systems).",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """List the published systems that runs are compared with; or the figures of one system, with their source.

    Examples: **steelyard systems** · **steelyard systems Fugaku** · **steelyard systems my-system.toml** (checks a file) ·
    **steelyard systems --json**
    """
    from steelyard.errors import UsageError
    from steelyard.measure.published import system_library
    from steelyard.show.command_line import system_tables

    if name is None:
        system_tables.show_systems(system_library.list_systems(), json_)
        return
    from steelyard.compare.published_side import find_known

    system = find_known(name)
    if system is None:
        raise UsageError(f"There is no system '{name}'. {system_library.suggest_system(name)}")
    system_tables.show_figures(system, json_)
