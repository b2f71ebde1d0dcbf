"""`steelyard power export`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.power.command_line.connections import StorePlace
from steelyard.power.command_line.rollup_rows import Each
from steelyard.power.command_line.time_ranges import OfCase, OfJob, OfRun, Since, Until
from steelyard.show.command_line.options import Runs

PLACE = 60


def command(
    store: StorePlace,
    sensors: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SYSTEM/NODE/SENSOR]…",
            help="Sensors, nodes or systems, such as cluster/node7: a node means all its sensors (default: all).",
        ),
    ] = None,
    since: Since = None,
    until: Until = None,
    run: OfRun = None,
    case: OfCase = None,
    job: OfJob = None,
    every: Each = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--form",
            metavar="FORM",
            help="Format: csv, jsonl or parquet (default: from the ending of --output, else csv).",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write, such as a.csv (default: standard output)."),
    ] = None,
    runs: Runs = Path("runs"),
) -> None:
    """Write the readings of a store to a file, for spreadsheets, data frames and scripts.

    With --every, it writes one row for each second, minute or hour. Readings as CSV have the columns Sensor,Time,Value, which
    DCDB's tools write and read. Times are in ns since 1970.

    Examples: **steelyard power export --store readings cluster/node7 --from now-2h > trace.csv** ·
    **steelyard power export --store readings --job 4711 -o job.parquet** ·
    **steelyard power export --store readings --every 1min --form jsonl**
    """
    from steelyard.power.command_line import connections, readings_output, rollup_rows, store_tables, time_ranges
    from steelyard.power.command_line.sensor_selection import select_parts
    from steelyard.system import files

    if output:
        files.expect_output(output, readings_output.WHAT)
    made = readings_output.choose_format(form, output)
    if every:
        rollup_rows.read_level(every)
    asked = time_ranges.choose_period(since, until, run, case or [], job, runs)
    with connections.open_store(store) as kept:
        chosen, _ = select_parts(kept, sensors or [], asked)
        if output:
            readings_output.write_file(kept, chosen, made, every, output)
        else:
            readings_output.print_lines(readings_output.format_texts(kept, chosen, made, every))
        store_tables.print_gaps(kept, chosen)
