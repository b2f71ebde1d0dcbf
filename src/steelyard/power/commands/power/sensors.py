"""`steelyard power sensors`."""

from typing import Any

from steelyard.model.units import quantity, significant
from steelyard.show.command_line.options import Json, Sensors

PLACE = 10


def command(sensor: Sensors = None, json_: Json = False) -> None:
    """List the sensors of power, energy, temperature, fans and clocks, each with its current reading.

    Examples: **steelyard power sensors** · **steelyard power sensors --sensor model:idle=20,full=95**
    """
    from steelyard.measure.telemetry.sensors import NONE
    from steelyard.model.plain import to_plain
    from steelyard.power.command_line import device_options
    from steelyard.power.command_line.connections import say
    from steelyard.show.command_line import tables
    from steelyard.show.report.json_output import print_json

    rows = []
    for device in device_options.open_devices(sensor):
        try:
            now = {reading.sensor: reading.value for reading in device.read()}
        except OSError as error:
            now = {}
            say(f"{device.sensors[0].name}: {error}")
        rows += [{**to_plain(s), "unit": s.unit, "now": now.get(s.name)} for s in device.sensors]
    if json_:
        print_json(rows)
    elif rows:
        tables.print_rows(
            ("sensor", "quantity", "now", "covers", "source"), [_write_short_row(row) for row in rows], as_json=False
        )
    else:
        print(NONE)


def _write_short_row(row: dict[str, Any]) -> tuple[str, ...]:
    """The value of a joule counter means nothing by itself. The others are a mean over a time, or are updated once in it."""
    what = f"{row['quantity']}, modelled" if row["modelled"] else row["quantity"]
    every = row["window"] or row["update"]
    now = (
        "counts"
        if row["quantity"] == "energy"
        else f"{significant(row['now'])} {row['unit']}"
        if row["now"] is not None
        else "–"
    )
    return (
        row["name"],
        what,
        f"{now} (every {quantity(every, 's')})" if every else now,
        row["scope"] or "–",
        row["source"],
    )
