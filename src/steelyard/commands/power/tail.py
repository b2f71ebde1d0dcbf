"""`steelyard power tail`."""

from typing import Annotated

import typer

from steelyard.commands.power.links import StorePlace
from steelyard.commands.power.rolled import Each


def command(
    store: StorePlace,
    sensor: Annotated[
        str | None,
        typer.Argument(
            metavar="[SYSTEM/NODE/SENSOR]", help="Sensor, or node or system for all their sensors (default: all)."
        ),
    ] = None,
    every: Each = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object per line, for other programs.")] = False,
) -> None:
    """Follow what comes into a store: the last ten readings, then each as it comes. Ctrl-C ends it.

    Examples: **steelyard power tail --store readings cluster/node7/rapl/package-0** ·
    **steelyard power tail --store readings cluster --every 1s --json**
    """
    import contextlib

    from steelyard.commands.power import following, links, rolled
    from steelyard.telemetry.stores import opened

    seconds = rolled.level(every) if every else None
    with contextlib.closing(opened(store)) as kept, links.between_lines() as wait:
        for note in kept.notes:
            links.say(note)
        following.follow(kept, sensor, seconds, json_, wait)
