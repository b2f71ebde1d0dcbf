"""`steelyard power tidy`."""

from typing import Annotated

import typer

from steelyard.power.command_line.connections import StorePlace

PLACE = 100

FOREVER = 1e12  # seconds


def command(
    store: StorePlace,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="WHAT=TIME",
            help="How long to keep readings or means of 1s, 1min or 1h, such as readings=30d or 1h=forever (default: as before).",
        ),
    ] = None,
) -> None:
    """Make the rollups of a store, a second, a minute and an hour long, and say for how long it keeps what.

    Who writes into a store does the same now and then; this is for what was stored before, and for setting how long things are
    kept: readings for ever and rollups of a second for a week, as long as nothing else is said. Readings go only once their
    rollups are made.

    Example: **steelyard power tidy --store readings --keep readings=30d --keep 1min=1000d**
    """
    import contextlib
    import time

    from steelyard.power.stores import opened

    asked = dict(_asked(words) for words in keep or ())
    with contextlib.closing(opened(store)) as found:
        if asked:
            found.keep(asked)
        found.tidy(time.time_ns())


def _asked(words: str) -> tuple[str, float]:
    from steelyard.errors import UsageError
    from steelyard.power.rollup import NAMES
    from steelyard.units import parse_duration

    what, _, length = words.partition("=")
    try:
        if what in ("readings", *NAMES):
            return what, FOREVER if length == "forever" else parse_duration(length)
    except ValueError as error:
        raise UsageError(f"{error} (given by --keep {words}).") from None
    raise UsageError(
        f"'--keep {words}' names nothing that is kept: expected {', '.join(('readings', *NAMES))}, as readings=30d."
    )
