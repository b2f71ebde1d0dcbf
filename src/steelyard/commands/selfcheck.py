"""`steelyard selfcheck`."""

from typing import Annotated

import typer

from steelyard.commands.options import Json


def command(
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this check (may be repeated).")] = None,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="100 repetitions, as the guarantees are stated for; some 20 minutes.")
    ] = False,
    json_: Json = False,
) -> None:
    """Plant known disturbances and see whether each is found and named.

    Example: **steelyard selfcheck**
    """
    from steelyard.run import selfcheck

    raise typer.Exit(selfcheck.main(only or [], thorough, json_))
