"""The node's power on Cray systems: /sys/cray/pm_counters, each counter with the moment at which it was measured."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

from steelyard.measure.telemetry.sensors import Device, Found, Kind
from steelyard.measure.telemetry.sensors._files import explain, keep, label, listed, read_any, text_of
from steelyard.measure.telemetry.sensors._words import parse_unit
from steelyard.model.sensor import Reading, Scope, Sensor

_LINE = re.compile(r"([0-9]{1,20}) (J|W|C)(?: ([0-9]{1,16}) us)?")
_COUNTER = re.compile(r"(?:\w+_)?(?:energy|power|temp)")
_SCOPES: dict[str, Scope] = {"": "node", "cpu": "processors", "memory": "memory", "accel": "accelerators"}
_EARLIEST = 10**15  # µs since 1970: a stamp before 2001 counts from something else
_MOST_TRIES = 5  # the counters change every 100 ms, and are read in less than one


class Counters(Device):
    """All counters, read at one moment: `freshness` changes with every update."""

    def __init__(self, folder: Path, sensors: Sequence[Sensor]) -> None:
        self._folder, self.sensors = folder, sensors

    def read(self) -> Sequence[Reading]:
        for _ in range(_MOST_TRIES):
            before = text_of(self._folder / "freshness")
            readings = [reading for sensor in self.sensors if (reading := _take_reading(sensor))]
            if text_of(self._folder / "freshness") == before:
                return readings
        raise OSError(f"{self._folder}: the counters changed during {_MOST_TRIES} attempts to read them")


def find(root: Path) -> Found:
    """Returns one device with every counter of the node and its parts, without limits such as power_cap."""
    folder = root / "sys/cray/pm_counters"
    rate = read_any(folder / "raw_scan_hz")
    update = 1 / rate if rate and rate > 0 else 0.0
    sensors: list[Sensor] = []
    refused: list[str] = []
    for path in listed(folder, "*"):
        if not _COUNTER.fullmatch(path.name):
            continue
        try:
            match = _LINE.fullmatch(text_of(path))
        except OSError as problem:
            refused.append(f"pm_counters/{path.name} cannot be read: {explain(path, problem)}.")
            continue
        if match is None:
            refused.append(f"{path} contains '{label(path)[:40]}'; expected a number in J, W or C, and a time in us.")
        elif path.name in ("energy", "power") and not int(match[1]):
            refused.append(f"pm_counters/{path.name} is left out: it reports 0 {match[2]} for the whole node.")
        else:
            sensors.append(_make_sensor(path, match[2], update))
    if sensors and not label(folder / "freshness"):
        return Found(
            (), (*refused, f"{folder} has no counter 'freshness'. Its values may belong to different moments.")
        )
    return Found((Counters(folder, keep(sensors)),) if sensors else (), tuple(refused))


def _make_sensor(path: Path, unit: str, update: float) -> Sensor:
    quantity = parse_unit(unit)
    assert quantity is not None
    form = path.name.rpartition("_")[2]
    # `energy` and `power` are both the whole node's, the accelerators' included; whole joules and watts are printed.
    inside = f"pm_counters/{form}" if path.name != form else "pm_counters/energy" if form == "power" else ""
    return Sensor(
        f"pm_counters/{path.name}",
        quantity[0],
        "Cray pm_counters",
        str(path),
        resolution=1.0,
        update=update,
        part_of=inside if form in ("energy", "power") else "",
        scope=_SCOPES.get(path.name.rpartition("_")[0].rstrip("0123456789"), ""),
    )


def _take_reading(sensor: Sensor) -> Reading | None:
    """Returns the reading of a counter, with its own time stamp if it has one; None if it has no usable value."""
    match = _LINE.fullmatch(label(sensor.place))
    if match is None:
        return None
    stamp = int(match[3] or 0)
    return Reading(sensor.name, stamp * 1000 if stamp >= _EARLIEST else time.time_ns(), float(match[1]))


kind = Kind("pm_counters", "The node's power on Cray systems (pm_counters)", find, light=True)
