"""`steelyard power tail`."""

from typing import Annotated

import typer

from steelyard.power.command_line.connections import StorePlace
from steelyard.power.command_line.rollup_rows import Each

PLACE = 70


def command(
    store: StorePlace,
    sensor: Annotated[
        str | None,
        typer.Argument(
            metavar="[SYSTEM/NODE/SENSOR]",
            help="Sensor, node or system, such as cluster/node7: a node means all its sensors (default: all).",
        ),
    ] = None,
    every: Each = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object per line, for other programs.")] = False,
) -> None:
    """Print the last ten readings of a store, then each new reading as it arrives. Ctrl-C stops it.

    Examples: **steelyard power tail --store readings cluster/node7/rapl/package-0** ·
    **steelyard power tail --store readings cluster --every 1s --json**
    """
    from steelyard.power.command_line import connections, live_readings, rollup_rows

    seconds = rollup_rows.read_level(every) if every else None
    with connections.open_store(store) as kept, connections.interrupt_waits() as wait:
        live_readings.follow(kept, sensor, seconds, json_, wait)
