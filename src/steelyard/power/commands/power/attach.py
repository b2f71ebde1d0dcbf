"""`steelyard power attach`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.command_line.options import RunName, Runs
from steelyard.power.command_line.connections import StorePlace

if TYPE_CHECKING:
    from steelyard.power.command_line.sensor_selection import Part

PLACE = 90


def command(
    store: StorePlace,
    run: RunName = None,
    sensor: Annotated[
        str | None,
        typer.Option(
            "--node", metavar="SYSTEM/NODE", help="Node whose sensors are attached (default: the run's host)."
        ),
    ] = None,
    runs: Runs = Path("runs"),
) -> None:
    """Put a store's readings of a run's time into the run: its cases have energy then, and its report a page of power.

    For runs on nodes whose power an agent or a BMC measures all the time. A sensor that the run has already stays as it is.

    Example: **steelyard power attach --store readings 20261120-101500** (then: steelyard report 20261120-101500)
    """
    import contextlib

    from steelyard import records
    from steelyard.power.command_line import connections, time_ranges
    from steelyard.power.command_line.sensor_selection import parts
    from steelyard.power.stores import opened
    from steelyard.records import power

    folder = records.find(runs, run)
    asked = time_ranges.of_run(runs, str(folder), ())
    with contextlib.closing(opened(store)) as kept:
        if sensor:
            asked = time_ranges.When(asked.called, asked.stretches)
        chosen, _ = parts(kept, [sensor] if sensor else [], asked)
        added = power.add(folder, dict(_one(chosen, asked.called).traces(kept)))
    connections.say(
        f"{asked.called} has readings of {', '.join(added)}" if added else f"{asked.called} had these readings already"
    )


def _one(chosen: "list[Part]", called: str) -> "Part":
    from steelyard.errors import UsageError

    if len(chosen) > 1:
        nodes = ", ".join(part.node for part in chosen)
        raise UsageError(
            f"{called} was on several nodes ({nodes}): name one by --node. 'power query --run' says what each used."
        )
    return chosen[0]
