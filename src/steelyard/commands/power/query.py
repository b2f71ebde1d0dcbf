"""`steelyard power query`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from steelyard.commands.options import Json, Runs
from steelyard.commands.power.links import StorePlace
from steelyard.commands.power.rolled import Each
from steelyard.commands.power.when import OfCase, OfJob, OfRun, Since, Until

if TYPE_CHECKING:
    from steelyard.commands.power.parts import Part
    from steelyard.telemetry.stores import Store


def command(
    store: StorePlace,
    sensor: Annotated[
        str | None,
        typer.Argument(
            metavar="[SYSTEM/NODE/SENSOR]", help="Sensor, or node or system for all their sensors (default: list all)."
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
            "--clocks", help="Print how far the clock of each sensor lags behind that of the node's first sensor."
        ),
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the readings themselves as Sensor,Time,Value.")] = False,
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """What a store says of sensors in a stretch of time: energy with its interval, mean and greatest power, and gaps.

    Of a run or a job it says what each node used and all of them together; with a node or a sensor named, what that said.

    Examples: **steelyard power query --store readings** (which sensors there are) ·
    **steelyard power query --store readings cluster/node7 --from now-2h** ·
    **steelyard power query --store readings --job 4711** · **steelyard power query --store readings --run 20261120-101500** ·
    **steelyard power query --store readings cluster/node7 --every 1min**
    """
    import contextlib

    from steelyard.commands import tables
    from steelyard.commands.power import asking, links, offsets, spent, when, writing
    from steelyard.commands.power.parts import parts
    from steelyard.telemetry.stores import opened

    asked = when.asked(since, until, run, case or [], job, runs)
    with contextlib.closing(opened(store)) as kept:
        for note in kept.notes:
            links.say(note)
        if sensor is None and not (asked.hosts or every or csv or clocks):
            tables.table(*asking.listed(kept), json_)
            return
        chosen, unknown = parts(kept, [sensor] if sensor else [], asked)
        if unknown:
            links.say(f"The store knows nothing of {', '.join(unknown)}, where {asked.called} was, too.")
        if csv:
            writing.printed(writing.texts(kept, chosen, "csv", every))
        elif clocks:
            offsets.show(kept, chosen, json_)
        elif every:
            _rollups(kept, chosen, every, json_)
        elif asked.hosts and (sensor is None or "/" not in sensor):
            rows, above = spent.rows(kept, chosen, asked)
            spent.show(rows, spent.totals(rows, len(chosen) + len(unknown)), above, asked, json_)
        else:
            reported = asking.costs(kept, chosen, asked)
            asking.show(reported, json_)
            for sentence in asking.disagreements(reported):
                links.say(sentence)
        asking.notes(kept, chosen)


def _rollups(store: "Store", chosen: "list[Part]", every: str, as_json: bool) -> None:
    from steelyard.commands import tables
    from steelyard.commands.power import rolled

    seconds = rolled.level(every)
    found: list[tuple[Any, ...]] = []
    for part in chosen:
        for of in rolled.rolled(store, part, seconds):
            if as_json:
                found += rolled.rows(of)
            else:
                cells = [rolled.words(row, of.sensor) for row in rolled.rows(of)]
                tables.narrow(f"{of.node}/{of.sensor.name}", rolled.COLUMNS[1:], cells)
    if as_json:
        tables.table(rolled.COLUMNS, found, True)
