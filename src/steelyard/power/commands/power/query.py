"""`steelyard power query`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from steelyard.power.command_line.connections import StorePlace
from steelyard.power.command_line.rollup_rows import Each
from steelyard.power.command_line.time_ranges import OfCase, OfJob, OfRun, Since, Until
from steelyard.show.command_line.options import Json, Runs

if TYPE_CHECKING:
    from steelyard.power.command_line.sensor_selection import Part
    from steelyard.power.stores import Store

PLACE = 50


def command(
    store: StorePlace,
    sensor: Annotated[
        str | None,
        typer.Argument(
            metavar="[SYSTEM/NODE/SENSOR]",
            help="Sensor, node or system, such as cluster/node7: a node means all its sensors (default: list the sensors).",
        ),
    ] = None,
    since: Since = None,
    until: Until = None,
    run: OfRun = None,
    case: OfCase = None,
    job: OfJob = None,
    every: Each = None,
    clocks: Annotated[
        bool,
        typer.Option(
            "--clocks", help="Print by how much each sensor's clock lags behind that of the node's first sensor."
        ),
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the readings as CSV: Sensor,Time,Value.")] = False,
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """Print the energy in a period with its interval, the mean and the greatest power, and gaps in the readings.

    For a run or a job, it prints the energy of each node and the total. If you name a node or a sensor, it prints each sensor.

    Examples: **steelyard power query --store readings** (lists the sensors) ·
    **steelyard power query --store readings cluster/node7 --from now-2h** ·
    **steelyard power query --store readings --job 4711** · **steelyard power query --store readings --run 20261120-101500** ·
    **steelyard power query --store readings cluster/node7 --every 1min**
    """
    from steelyard.power.command_line import (
        clock_offsets,
        connections,
        readings_output,
        run_costs,
        store_tables,
        time_ranges,
    )
    from steelyard.power.command_line.sensor_selection import select_parts
    from steelyard.show.command_line import tables
    from steelyard.show.report import json_output

    asked = time_ranges.choose_period(since, until, run, case or [], job, runs)
    with connections.open_store(store) as kept:
        if sensor is None and not (asked.hosts or every or csv or clocks):
            columns, rows = store_tables.list_sensors(kept)
            if json_:
                json_output.print_named_rows(columns, rows)
            else:
                tables.print_rows(columns, rows, as_json=False)
            return
        chosen, unknown = select_parts(kept, [sensor] if sensor else [], asked)
        if csv:
            readings_output.print_lines(readings_output.format_texts(kept, chosen, "csv", every))
        elif clocks:
            clock_offsets.print_offsets(kept, chosen, json_)
        elif every:
            _print_rollups(kept, chosen, every, json_)
        elif asked.hosts and (sensor is None or "/" not in sensor):
            energies, above = run_costs.list_rows(kept, chosen, asked)
            run_costs.print_costs(
                energies, run_costs.add_totals(energies, len(chosen) + len(unknown)), above, asked, json_
            )
        else:
            rows_of_sensors = store_tables.list_costs(kept, chosen, asked)
            store_tables.print_costs(rows_of_sensors, json_)
            for sentence in store_tables.disagreements(rows_of_sensors):
                connections.say(sentence)
        store_tables.print_gaps(kept, chosen)


def _print_rollups(store: "Store", chosen: "list[Part]", every: str, as_json: bool) -> None:
    from steelyard.power.command_line import rollup_rows
    from steelyard.show.command_line import tables
    from steelyard.show.report import json_output

    seconds = rollup_rows.read_level(every)
    json_rows: list[tuple[Any, ...]] = []
    for part in chosen:
        for rollup in rollup_rows.read_rollups(store, part, seconds):
            if as_json:
                json_rows += rollup_rows.list_rows(rollup)
            else:
                cells = [rollup_rows.format_row(row, rollup.sensor) for row in rollup_rows.list_rows(rollup)]
                tables.print_narrow_table(rollup.name, rollup_rows.COLUMNS[1:], cells)
    if as_json:
        json_output.print_named_rows(rollup_rows.COLUMNS, json_rows)
