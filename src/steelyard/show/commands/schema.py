"""`steelyard schema`."""

from collections.abc import Iterator
from typing import Annotated

import typer

PLACE = 106


def _complete(incomplete: str) -> Iterator[str]:
    from steelyard.show import schemas

    yield from (name for name in schemas.list_names() if name.startswith(incomplete))


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            autocompletion=_complete,
            help="Command or file, such as show, power-query or run.json (default: list all).",
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of what a command prints with --json, or of a file of a run.

    Examples: **steelyard schema** (lists the names) · **steelyard schema show** · **steelyard schema results.jsonl**
    """
    import json

    from steelyard.show import schemas

    print("\n".join(schemas.list_names()) if name is None else json.dumps(schemas.read_schema(name), indent=1))
