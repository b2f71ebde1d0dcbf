"""The newest reading of each sensor at /metrics, as OpenMetrics 1.0, for a Prometheus that scrapes it.

The form is that of https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md
"""

import math
from dataclasses import dataclass
from typing import Literal

from steelyard.model.openmetrics import escape, head
from steelyard.model.sensor import Quantity, Reading, Sensor
from steelyard.power.rollup import SECOND
from steelyard.power.stores import Store

FORM = "application/openmetrics-text; version=1.0.0; charset=utf-8"
OLDEST = 300 * SECOND  # ns: an older reading is left out


@dataclass(frozen=True, slots=True)
class Family:
    """The sensors of one quantity. `name` ends with `unit`; the samples of a counter are called `name`_total."""

    name: str
    kind: Literal["gauge", "counter"]
    unit: str
    help: str

    @property
    def sample(self) -> str:
        return f"{self.name}_total" if self.kind == "counter" else self.name


FAMILIES: dict[Quantity, Family] = {
    "power": Family("steelyard_power_watts", "gauge", "watts", "Power."),
    "energy": Family(
        "steelyard_energy_joules", "counter", "joules", "Energy since the counter of the device was last 0."
    ),
    "temperature": Family("steelyard_temperature_celsius", "gauge", "celsius", "Temperature."),
    "fan": Family("steelyard_fan_rpm", "gauge", "rpm", "Revolutions of a fan per minute."),
    "clock": Family("steelyard_clock_hertz", "gauge", "hertz", "Frequency of a clock."),
    "time": Family("steelyard_time_seconds", "counter", "seconds", "Time since the counter was last 0."),
    "memory": Family("steelyard_memory_bytes", "gauge", "bytes", "Memory in use."),
}


def write_metrics(store: Store, now: int) -> str:
    """Returns the newest reading of each sensor that is at most OLDEST before `now` (ns since 1970), and not after it."""
    newest = store.newest(now - OLDEST, now)
    samples: dict[Quantity, list[str]] = {quantity: [] for quantity in FAMILIES}
    for node, sensors in sorted(store.sensors().items()):
        for sensor in sensors:
            reading = newest.get((node, sensor.name))
            if reading and _is_allowed(FAMILIES[sensor.quantity], reading.value):
                samples[sensor.quantity].append(_write_sample(node, sensor, reading))
    text = ""
    for quantity, lines in samples.items():
        if lines:
            of = FAMILIES[quantity]
            text += head(of.name, of.kind, of.unit, of.help) + "".join(lines)
    return f"{text}# EOF\n"


def _is_allowed(family: Family, value: float) -> bool:
    """Returns whether the value may be shown: it must be finite, and a counter must not be negative."""
    return math.isfinite(value) and (family.kind == "gauge" or value >= 0)


def _write_sample(node: str, sensor: Sensor, reading: Reading) -> str:
    labels = ",".join(f'{name}="{escape(value)}"' for name, value in _make_labels(node, sensor).items() if value)
    seconds, rest = divmod(reading.at, SECOND)
    return f"{FAMILIES[sensor.quantity].sample}{{{labels}}} {float(reading.value)!r} {seconds}.{rest:09d}\n"


def _make_labels(node: str, sensor: Sensor) -> dict[str, str]:
    """Returns the labels by their names; an empty value means no label."""
    system, _, name = node.partition("/")
    return {
        "system": system,
        "node": name,
        "sensor": sensor.name,
        "source": sensor.source,
        "scope": sensor.scope,
        "part_of": sensor.part_of,
        "modelled": "true" if sensor.modelled else "",
    }
