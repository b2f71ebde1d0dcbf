"""`steelyard power tidy`."""

from typing import Annotated

import typer

from steelyard.power.command_line.connections import StorePlace

PLACE = 100

FOREVER = 1e12  # seconds
LONGEST = 120.0  # seconds


def command(
    store: StorePlace,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="WHAT=TIME",
            help="Keep readings or rollups (1s, 1min, 1h) for this time, such as readings=30d or 1h=forever "
            "(default: unchanged).",
        ),
    ] = None,
) -> None:
    """Summarize the readings of a store by second, minute and hour (rollups), and set how long the store keeps its data.

    An agent or collector that writes into the store makes rollups from time to time. Use this command for older readings, and to
    change how long data are kept. By default, a store keeps rollups of 1s for a week and all other data forever. Readings are
    deleted only after their averages (rollups) are stored. The command ends after two minutes and says if there is more to do.

    Example: **steelyard power tidy --store readings --keep readings=30d --keep 1min=1000d**
    """
    import contextlib
    import time

    from steelyard.power.command_line.connections import say
    from steelyard.power.stores import open_store

    asked = dict(_parse_limit(words) for words in keep or ())
    with contextlib.closing(open_store(store)) as kept:
        if asked:
            kept.keep(asked)
        kept.tidy(time.time_ns(), LONGEST)
        for note in kept.notes:
            say(note)


def _parse_limit(words: str) -> tuple[str, float]:
    from steelyard.errors import UsageError
    from steelyard.model.units import parse_duration
    from steelyard.power.rollup import NAMES

    what, _, length = words.partition("=")
    try:
        if what in ("readings", *NAMES):
            return what, FOREVER if length == "forever" else parse_duration(length)
    except ValueError as error:
        raise UsageError(f"{error} (given by --keep {words}).") from None
    raise UsageError(
        f"'--keep {words}' names no data that a store keeps. Expected {', '.join(('readings', *NAMES))}, such as readings=30d."
    )
