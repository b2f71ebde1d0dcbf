"""Readings in a file, `Sensor,Time,Value` with times in ns since 1970, as DCDB's dcdbquery -r prints: whole, or replayed."""

import csv
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.errors import UsageError
from steelyard.measure.telemetry.sensors import Device, Kind
from steelyard.measure.telemetry.sensors._words import expect, number, positive, scope_of, unit_of
from steelyard.model.numbers import GREATEST
from steelyard.model.sensor import Quantity, Reading, Scope, Sensor, Trace
from steelyard.system.files import SHORT, is_file, ordinary

HEADER = ["Sensor", "Time", "Value"]
# The file has no units: without one from the user, the last part of a sensor's name gives the quantity, in its SI unit.
_NAMED: dict[str, Quantity] = {
    "energy": "energy",
    "power": "power",
    "temp": "temperature",
    "fan": "fan",
    "freq": "clock",
    "clock": "clock",
}


@dataclass
class Replay(Device):
    """A device that replays a file at its own speed, from its first reading on; after the last reading it gives none.

    `read` returns every reading that has come due since the last call, with the moment at which it came due. `clock` gives
    nanoseconds, `wall` nanoseconds since 1970.
    """

    traces: Sequence[Trace]
    clock: Callable[[], int] = time.monotonic_ns
    wall: Callable[[], int] = time.time_ns

    def __post_init__(self) -> None:
        self.sensors = [trace.sensor for trace in self.traces]
        at = np.concatenate([trace.at for trace in self.traces])
        of = np.repeat(np.arange(len(self.traces)), [len(trace.at) for trace in self.traces])
        order = np.argsort(at, kind="stable")
        self._due = at[order] - at[order[0]]
        self._of = of[order]
        self._value = np.concatenate([trace.value for trace in self.traces])[order]
        self._given = 0
        self._began: tuple[int, int] | None = None

    def read(self) -> Sequence[Reading]:
        began, wall = self._began = self._began or (self.clock(), self.wall())
        end = int(np.searchsorted(self._due, self.clock() - began, side="right"))
        part = slice(self._given, end)
        self._given = end
        return [
            Reading(self.sensors[of].name, wall + due, value)
            for of, due, value in zip(
                self._of[part].tolist(), self._due[part].tolist(), self._value[part].tolist(), strict=True
            )
        ]


def traces(path: Path, unit: str = "", window: float = 0.0, scope: Scope = "") -> tuple[Trace, ...]:
    """Returns all readings of a file, one trace for each sensor, in the order of time. `unit` is that of all values.

    Without a unit, the names decide, and a sensor whose name has no quantity is left out (a file may contain bytes and packets).
    UsageError for a file of another format, with the line.
    """
    if not is_file(path):
        raise UsageError(f"The file '{path}' of readings does not exist. Name an existing file.")
    moments: dict[str, array[int]] = {}
    values: dict[str, array[float]] = {}
    for name, at, value in _read_lines(path):
        moments.setdefault(name, array("q")).append(at)
        values.setdefault(name, array("d")).append(value)
    result = []
    for name, at_of in moments.items():
        quantity_and_factor = unit_of(unit, "(the unit of the file's values)") if unit else _guess_quantity(name)
        if quantity_and_factor:
            quantity, factor = quantity_and_factor
            sensor = Sensor(
                name, quantity, "file", str(path), window=window if quantity == "power" else 0.0, scope=scope
            )
            columns = np.array(at_of, np.int64), np.array(values[name]) * factor
            order = np.argsort(columns[0], kind="stable")
            result.append(Trace(sensor, columns[0][order], columns[1][order]))
    if not result:
        raise UsageError(
            f"'{path}' contains no usable readings. Expected lines after the header '{','.join(HEADER)}' and names of sensors "
            f"that contain one of the words {', '.join(_NAMED)}. For other names, give a unit: --sensor csv:file={path},unit=W."
        )
    return tuple(result)


def _read_lines(path: Path) -> Iterator[tuple[str, int, float]]:
    """Yields (sensor, ns since 1970, value) of each line."""
    expected = "expected NAME,TIME,VALUE with the time in ns since 1970 (dcdbquery -r) and a number as the value"
    try:
        with ordinary(path) as file:
            rows = csv.reader(line.decode("utf-8", "replace") for line in iter(lambda: file.readline(SHORT), b""))
            first = [word.strip() for word in next(rows, [])]
            if first != HEADER:
                raise UsageError(
                    f"'{path}' begins with '{','.join(first)[:80]}'; expected '{','.join(HEADER)}', as DCDB writes it."
                )
            for row in rows:
                if row:
                    parsed = _parse_row(row)
                    if parsed is None:
                        raise UsageError(f"'{path}', line {rows.line_num}: '{','.join(row)[:80]}'; {expected}.")
                    yield parsed
    except (OSError, csv.Error) as problem:
        raise UsageError(f"'{path}' cannot be read as readings: {problem}.") from None


def _parse_row(row: list[str]) -> tuple[str, int, float] | None:
    if len(row) != 3:
        return None
    name, moment, value = row[0].strip().strip("/"), row[1].strip(), number(row[2])
    # The name becomes part of a topic, in which + and # stand for any name.
    named = name and name.isprintable() and not set("+#") & set(name)
    timed = moment.isascii() and moment.isdecimal() and len(moment) <= 19 and int(moment) <= GREATEST
    return (name, int(moment), value) if named and timed and value is not None else None


def _guess_quantity(name: str) -> tuple[Quantity, float] | None:
    last = name.rpartition("/")[2].lower()
    return next(((quantity, 1.0) for word, quantity in _NAMED.items() if word in last), None)


def make(settings: Mapping[str, str]) -> Device:
    """Opens the device of --sensor csv:file=…."""
    expect("csv", settings, ("file", "unit", "window", "scope"), ("file",))
    window = positive("csv", settings, "window", 0.0)
    return Replay(traces(Path(settings["file"]), settings.get("unit", ""), window, scope_of("csv", settings)))


kind = Kind(
    "csv",
    "Readings from a file (Sensor,Time,Value), replayed at the file's own speed",
    open=make,
    words="file=FILE,unit=W (of all values; default: from the names),window=SECONDS (averaging time of each power),scope=node "
    "(what they measure)",
)
