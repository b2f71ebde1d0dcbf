"""Readings by the second, the minute or the hour, as rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from steelyard.errors import UsageError
from steelyard.model.sensor import Rollup, Sensor
from steelyard.power.command_line.sensor_selection import Part
from steelyard.power.command_line.time_ranges import SECOND

if TYPE_CHECKING:
    from steelyard.power.stores import Store

COLUMNS = ("sensor", "from", "readings", "least", "mean", "greatest", "energy", "known")

Each = Annotated[
    str | None,
    typer.Option(
        "--every",
        metavar="1s|1min|1h",
        help="Aggregate the readings by second, minute or hour, such as 1min (default: do not aggregate).",
    ),
]


@dataclass(frozen=True)
class Rolled:
    """The rollups of one sensor; `name` is SYSTEM/NODE/SENSOR."""

    name: str
    sensor: Sensor
    rows: Rollup


def read_level(text: str) -> int:
    """Returns the seconds of an interval. UsageError for anything but a second, a minute or an hour."""
    from steelyard.model.numbers import length_of_time
    from steelyard.power.rollup import LEVELS

    seconds = length_of_time(text, "The interval (given by --every)")
    if seconds not in LEVELS:
        raise UsageError(f"'{text}' (given by --every) is not valid: expected 1s, 1min or 1h.")
    return int(seconds)


def read_rollups(store: "Store", part: Part, seconds: int) -> Iterator[Rolled]:
    """Yields the rollups of each sensor: every whole second (minute, hour) that the period touches, once."""
    from steelyard.power.rollup import join_rollups

    width = seconds * SECOND
    for sensor in part.sensors:
        pieces, done = [], 0
        for stretch in sorted(part.stretches, key=lambda s: s.begin):
            start = max(stretch.begin // width * width, done)
            done = max(done, -(-stretch.end // width) * width)
            if start < done:
                pieces.append(store.rollup([(part.node, sensor.name)], seconds, start, done))
        yield Rolled(f"{part.node}/{sensor.name}", sensor, join_rollups(pieces, seconds))


def list_rows(rollup: Rolled) -> Iterator[tuple[Any, ...]]:
    """Yields rows in the order of COLUMNS; `from` is in ns since 1970, an unknown value is None."""
    from steelyard.power import rollup as rollups

    columns = (getattr(rollup.rows, name).tolist() for name in rollups.COLUMNS)
    for at, count, *figures in zip(*columns, strict=True):
        yield (rollup.name, at, count, *(None if np.isnan(figure) else figure for figure in figures))


def format_row(row: tuple[Any, ...], sensor: Sensor) -> tuple[str, ...]:
    """Returns a row without the sensor as text, with dates and units."""
    from steelyard.model.units import quantity, significant

    _, at, count, *values, joules, seconds = row
    unit = "W" if sensor.quantity == "energy" else sensor.unit
    when = datetime.fromtimestamp(at / SECOND).isoformat(" ", "seconds")
    figures = ("–" if value is None else quantity(value, unit) for value in values)
    return (
        when,
        str(count),
        *figures,
        "–" if joules is None else quantity(joules, "J"),
        f"{significant(seconds)} s",
    )
