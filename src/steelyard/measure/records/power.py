"""The readings of a run's sensors in power.jsonl: descriptions of the sensors, the idle time of the machine, and columns.

Each line is an object with one of the fields of `Line`. The run appends a line about once a second, so that a killed run
loses at most one second.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from steelyard.errors import MachineFailed, UsageError
from steelyard.model.plain import from_json, from_plain, to_json
from steelyard.model.sensor import Power, Reading, Sensor, Trace
from steelyard.system import files

FILE = "power.jsonl"
MOST_NOTES = 1000  # invalid lines, after which the rest of the file is not read
SECOND = 10**9
MOST = 1 << 62  # ns: later moments are mistakes
GREATEST = 1e24  # limit of a sensor's numbers in its unit: sums and products of such numbers are still finite
LONGEST = 1e9  # maximum window of a sensor in seconds: thirty years


@dataclass(frozen=True, slots=True)
class Columns:
    """The readings of a sensor: `at` in ns since 1970, `value` in its unit."""

    sensor: str
    at: list[int]
    value: list[float]


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `sensors` describes the sensors of the next columns; `idle` is the time when nothing ran (ns since 1970), and
    `busy` the number of cores that other processes kept busy then (None: not known)."""

    sensors: tuple[Sensor, ...] = ()
    idle: tuple[int, int] | None = None
    columns: tuple[Columns, ...] = ()
    busy: float | None = None


class PowerFile:
    """Writes readings, which come from another thread. If the disk is full it stops writing, and `trouble` says so."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[list[int], list[float]]] = {}
        self._since: int | None = None
        self.trouble = ""

    def describe(self, sensors: Sequence[Sensor]) -> None:
        with self._lock:
            self._write(Line(sensors=tuple(sensors)))

    def idle(self, begin: int, end: int, busy: float | None = None) -> None:
        with self._lock:
            self._write(Line(idle=(begin, end), busy=busy))

    def add(self, readings: Sequence[Reading]) -> None:
        with self._lock:
            for reading in readings:
                at, values = self._waiting.setdefault(reading.sensor, ([], []))
                at.append(reading.at)
                values.append(reading.value)
                self._since = reading.at if self._since is None else self._since
                if not 0 <= reading.at - self._since < SECOND:
                    self._flush()

    def close(self) -> None:
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._write(Line(columns=tuple(Columns(name, at, values) for name, (at, values) in self._waiting.items())))
        self._waiting, self._since = {}, None

    def _write(self, line: Line) -> None:
        if self.trouble:
            return
        try:
            with files.appended(self._path) as file:
                file.write(to_json(line) + b"\n")
        except OSError as error:
            self.trouble = f"The readings of the sensors could no longer be written at some point: {error.strerror}."


def add(folder: Path, traces: Mapping[Sensor, Trace]) -> list[str]:
    """Adds readings of sensors that a run does not have yet, and returns the names of these sensors.

    UsageError if there are no readings; MachineFailed if the file cannot be written.
    """
    had = read(folder).traces
    some = {sensor: trace for sensor, trace in traces.items() if len(trace.at)}
    if not some:
        raise UsageError("There are no readings of that time.")
    new = {sensor: trace for sensor, trace in some.items() if sensor.name not in had}
    columns = tuple(Columns(s.name, trace.at.tolist(), trace.value.tolist()) for s, trace in new.items())
    if new:
        try:
            lines = (Line(sensors=tuple(new)), Line(columns=columns))
            files.append(folder / FILE, b"".join(to_json(line) + b"\n" for line in lines))
        except OSError as error:
            raise MachineFailed(f"The readings cannot be written into '{folder}': {error.strerror}.") from error
    return [sensor.name for sensor in new]


def read(folder: Path) -> Power:
    """Reads the readings of the run in `folder`, empty if it has none. `unread` names the lines that were left out."""
    sensors: dict[str, Sensor] = {}
    columns: dict[str, tuple[list[int], list[float]]] = {}
    idle, busy, notes = None, None, []
    try:
        file = files.ordinary(folder / FILE)
    except FileNotFoundError:
        return Power()
    except OSError as error:
        return Power(unread=(f"{FILE} was left out: {error.strerror}",))
    with file:
        for number, text in enumerate(files.lines(file), 1):
            if not text.endswith(b"\n"):
                if len(text) == files.LINE:
                    notes.append(f"line {number} of {FILE} was left out: it has more than {files.LINE >> 20} MiB")
                continue  # half a line: the run was killed
            try:
                line = from_plain(Line, from_json(text))
                _check_line(line)
            except (ValueError, msgspec.MsgspecError) as error:
                notes.append(f"line {number} of {FILE} was left out: {error}")
                if len(notes) == MOST_NOTES:
                    notes.append(f"the rest of {FILE} was left out: too many of its lines are not readings")
                    break
                continue
            sensors |= {sensor.name: sensor for sensor in line.sensors}
            idle, busy = (line.idle, line.busy) if line.idle else (idle, busy)
            for column in line.columns:
                at, values = columns.setdefault(column.sensor, ([], []))
                at += column.at
                values += column.value
    traces = {
        name: Trace(sensors[name], np.array(at, dtype=np.int64), np.array(values, dtype=np.float64))
        for name, (at, values) in columns.items()
        if name in sensors
    }
    return Power(traces, idle, busy, tuple(notes))


def _check_line(line: Line) -> None:
    for column in line.columns:
        if len(column.at) != len(column.value):
            raise ValueError(f"the columns of '{column.sensor}' are of different lengths")
        if not all(abs(value) < GREATEST for value in column.value):
            raise ValueError(f"the columns of '{column.sensor}' contain an impossible value")
    moments = [moment for column in line.columns for moment in column.at] + list(line.idle or ())
    if not all(0 <= moment < MOST for moment in moments):
        raise ValueError("an impossible time")
    if line.idle and line.idle[0] >= line.idle[1]:
        raise ValueError("the machine's idle time ends before it begins")
    if not 0 <= (line.busy or 0.0) < GREATEST:
        raise ValueError("an impossible number of busy cores")
    for sensor in line.sensors:
        amounts, times = (sensor.resolution, sensor.range or 1.0), (sensor.update, sensor.window)
        if not all(0 <= amount < GREATEST for amount in amounts) or not all(
            0 <= seconds < LONGEST for seconds in times
        ):
            raise ValueError(f"the sensor '{sensor.name}' has a property that is negative or impossibly large")
