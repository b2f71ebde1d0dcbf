"""`steelyard power attach`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.power.command_line.connections import StorePlace
from steelyard.show.command_line.options import RunName, Runs

if TYPE_CHECKING:
    from steelyard.power.command_line.sensor_selection import Part

PLACE = 90


def command(
    store: StorePlace,
    run: RunName = None,
    sensor: Annotated[
        str | None,
        typer.Option(
            "--node",
            metavar="SYSTEM/NODE",
            help="Node whose sensors are attached, such as cluster/node7 (default: the run's host).",
        ),
    ] = None,
    runs: Runs = Path("runs"),
) -> None:
    """Copy the readings of a store into a run: its cases then have energy, and its report has the page Power.

    Use this for runs on nodes whose power an agent measures all the time. Only readings from the time of the run are copied.
    A sensor that the run already has stays unchanged.

    Example: **steelyard power attach --store readings 20261120-101500** (then: steelyard report 20261120-101500)
    """
    from steelyard.judge import evaluation
    from steelyard.measure import records
    from steelyard.measure.records import power
    from steelyard.power.command_line import connections, time_ranges
    from steelyard.power.command_line.sensor_selection import select_parts

    folder = records.find(runs, run)
    asked = time_ranges.read_run_period(runs, str(folder), ())
    with connections.open_store(store) as kept:
        if sensor:
            asked = time_ranges.When(asked.called, asked.stretches)
        chosen, _ = select_parts(kept, [sensor] if sensor else [], asked)
        added = power.add(folder, dict(_choose_part(chosen, asked.called).traces(kept)))
    if added:
        evaluation.evaluate(folder)  # its table of results gets the energies
    connections.say(
        f"Added to {asked.called}: readings of {', '.join(added)}."
        if added
        else f"Nothing was added: {asked.called} already has these readings."
    )


def _choose_part(chosen: "list[Part]", called: str) -> "Part":
    from steelyard.errors import UsageError

    if len(chosen) > 1:
        nodes = ", ".join(part.node for part in chosen)
        raise UsageError(
            f"{called} used several nodes ({nodes}). Choose one with --node; 'power query --run' shows the energy of each."
        )
    return chosen[0]
