"""Readings and rollups for other programs as CSV, JSON lines or Parquet, sensor by sensor, so that memory does not fill."""

import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import UsageError, nearest
from steelyard.model.sensor import Trace
from steelyard.power.command_line import rollup_rows
from steelyard.power.command_line.sensor_selection import Part
from steelyard.power.command_line.store_tables import find_inside

if TYPE_CHECKING:
    from steelyard.power.stores import Store

FORMS = ("csv", "jsonl", "parquet")
WHAT = "The readings"
HEADER = "Sensor,Time,Value\n"  # DCDB's, times in ns since 1970
PIECE = 10_000  # lines that are printed at once
READINGS = "sensor varchar, time bigint, value double"
ROLLUPS = (
    'sensor varchar, "from" bigint, readings bigint, '
    "least double, mean double, greatest double, energy double, known double"
)


def choose_format(asked: str | None, output: Path | None) -> str:
    """Returns one of FORMS: as the user says, or from the ending of the file's name. UsageError for another one."""
    if asked is None and output is None:
        return "csv"
    name = asked if asked is not None else output.suffix.lower().removeprefix(".") if output else ""
    if name not in FORMS:
        if asked is None:
            raise UsageError(
                f"The name '{output}' does not end with .csv, .jsonl or .parquet. Use such a name, or give the format with "
                "--form."
            )
        raise UsageError(f"There is no format '{asked}' (given by --form). {nearest(asked, FORMS)}")
    if name == "parquet" and output is None:
        raise UsageError("Parquet is a binary format and needs a file. Name one with --output FILE.parquet.")
    return name


def format_texts(store: "Store", parts: Iterable[Part], form: str, every: str | None) -> Iterator[str]:
    """Yields the lines, as "csv" or "jsonl"."""
    if every:
        yield from _format_rollups(store, parts, form, rollup_rows.read_level(every))
        return
    if form == "csv":
        yield HEADER
    for name, trace in read_readings(store, parts):
        yield from format_csv(f"/{name}", trace) if form == "csv" else format_json_lines(name, trace)


def read_readings(store: "Store", parts: Iterable[Part]) -> Iterator[tuple[str, Trace]]:
    """Yields the name ("SYSTEM/NODE/SENSOR") and the readings of each sensor in its period."""
    for part in parts:
        for sensor, trace in part.traces(store, margin=0):
            within = find_inside(trace.at, part.stretches)
            yield f"{part.node}/{sensor.name}", Trace(sensor, trace.at[within], trace.value[within])


def format_csv(name: str, trace: Trace) -> Iterator[str]:
    """Yields lines of CSV without a header."""
    quoted = f'"{name}"' if "," in name else name  # a name never contains a quote
    for at, value in zip(trace.at.tolist(), trace.value.tolist(), strict=True):
        yield f"{quoted},{at},{_format_number(value)}\n"


def format_json_lines(name: str, trace: Trace) -> Iterator[str]:
    """Yields JSON lines."""
    for at, value in zip(trace.at.tolist(), trace.value.tolist(), strict=True):
        yield f"{format_json_line(name, at, value)}\n"


def format_json_line(name: str, at: int, value: float) -> str:
    """Returns a reading as a JSON object."""
    return f'{{"sensor": {json.dumps(name)}, "time": {at}, "value": {value!r}}}'


def _format_number(value: float) -> str:
    """Returns the shortest text that gives the same number when it is read."""
    return repr(value).removesuffix(".0")


def _format_rollups(store: "Store", parts: Iterable[Part], form: str, seconds: int) -> Iterator[str]:
    if form == "csv":
        yield ",".join(name.capitalize() for name in rollup_rows.COLUMNS) + "\n"
    for part in parts:
        for rollup in rollup_rows.read_rollups(store, part, seconds):
            yield from (_format_row(row, form) for row in rollup_rows.list_rows(rollup))


def _format_row(row: Sequence[Any], form: str) -> str:
    if form == "jsonl":
        return json.dumps(dict(zip(rollup_rows.COLUMNS, row, strict=True))) + "\n"
    name, *rest = row
    quoted = f'"/{name}"' if "," in name else f"/{name}"
    return ",".join([quoted, *("" if v is None else _format_number(v) for v in rest)]) + "\n"


def print_lines(lines: Iterable[str]) -> None:
    """Prints to standard output, until nobody reads it."""
    from steelyard.show.command_line import streams

    left = iter(lines)
    while (piece := [*itertools.islice(left, PIECE)]) and not streams.is_reader_gone():
        sys.stdout.write("".join(piece))


def write_file(store: "Store", parts: Iterable[Part], form: str, every: str | None, output: Path) -> None:
    """Writes a complete file or none. MachineFailed if the disk is full."""
    from steelyard.system import files

    if form == "parquet":
        files.make(output, WHAT, lambda target: _write_parquet(store, parts, every, target))
        return

    def fill(target: Path) -> None:
        with target.open("w", encoding="utf-8") as file:
            file.writelines(format_texts(store, parts, form, every))

    files.make(output, WHAT, fill)


def _write_parquet(store: "Store", parts: Iterable[Part], every: str | None, path: Path) -> None:
    from steelyard.system import sql

    with sql.connect() as base:
        base.execute(f"create table made ({ROLLUPS if every else READINGS})")
        for name, columns in _read_columns(store, parts, every):
            base.register("come", columns)
            base.execute("insert into made select $1, * from come", [name])
            base.unregister("come")
        sql.copy_rows(base, "made", path)


def _read_columns(store: "Store", parts: Iterable[Part], every: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the columns of each sensor in the order of the table; NaN stays NaN."""
    if not every:
        for name, trace in read_readings(store, parts):
            yield name, {"time": trace.at, "value": trace.value}
        return
    from steelyard.power import rollup as rollups

    seconds = rollup_rows.read_level(every)
    for part in parts:
        for rollup in rollup_rows.read_rollups(store, part, seconds):
            yield rollup.name, {column: getattr(rollup.rows, column) for column in rollups.COLUMNS}
