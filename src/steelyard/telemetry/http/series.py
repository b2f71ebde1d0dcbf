"""Sensors as Prometheus names them: a metric after the quantity and its unit, and labels that say which sensor it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from steelyard.errors import UsageError
from steelyard.model.sensor import Quantity, Sensor

Labels = tuple[tuple[str, str], ...]  # sorted by name
Sign = Literal["=", "!=", "=~", "!~"]

NAME = "__name__"
LONGEST_PATTERN = 10_000  # characters
PATTERN_MEMORY = 1 << 20  # bytes that a pattern may take


@dataclass(frozen=True, slots=True)
class Metric:
    """What the sensors of a quantity are together; a counter only grows, but for its going round."""

    name: str
    kind: Literal["gauge", "counter"]
    unit: str
    help: str


METRICS: dict[Quantity, Metric] = {
    "power": Metric("steelyard_power_watts", "gauge", "watts", "Power, as the sensor gives it."),
    "energy": Metric(
        "steelyard_energy_joules_total",
        "counter",
        "joules",
        "Energy since some moment; goes round as the device's does.",
    ),
    "temperature": Metric("steelyard_temperature_celsius", "gauge", "celsius", "Temperature."),
    "fan": Metric("steelyard_fan_rpm", "gauge", "", "Revolutions of a fan in a minute."),
    "clock": Metric("steelyard_clock_hertz", "gauge", "hertz", "Frequency of a clock."),
    "time": Metric("steelyard_time_seconds_total", "counter", "seconds", "Time since some moment, as of a processor."),
    "memory": Metric("steelyard_memory_bytes", "gauge", "bytes", "Memory in use."),
}


@dataclass(frozen=True, slots=True)
class Series:
    """A sensor of a node ("SYSTEM/NODE") under its labels, the metric's name among them."""

    labels: Labels
    node: str
    sensor: Sensor

    @property
    def counts(self) -> bool:
        return METRICS[self.sensor.quantity].kind == "counter"


@dataclass(frozen=True, slots=True)
class Matcher:
    """What a label's value must be or must not be; a label that is not there has the value ""."""

    label: str
    sign: Sign
    value: str


def listed(sensors: Mapping[str, Sequence[Sensor]]) -> list[Series]:
    """Every sensor of every node as a series."""
    return [Series(_labels(node, sensor), node, sensor) for node, each in sorted(sensors.items()) for sensor in each]


def chosen(series: Sequence[Series], matchers: Sequence[Matcher]) -> list[Series]:
    """Those that all matchers take. UsageError for a pattern that is none."""
    takes = [(matcher.label, _taking(matcher)) for matcher in matchers]
    return [each for each in series if all(take(dict(each.labels).get(label, "")) for label, take in takes)]


def _labels(node: str, sensor: Sensor) -> Labels:
    system, _, rest = node.partition("/")
    labels = {
        NAME: METRICS[sensor.quantity].name,
        "system": system,
        "node": rest,
        "sensor": sensor.name,
        "source": sensor.source,
        "part_of": sensor.part_of,
        "modelled": "true" if sensor.modelled else "",
    }
    return tuple(sorted((label, value) for label, value in labels.items() if value))


def _taking(matcher: Matcher) -> Callable[[str], bool]:
    wanted = matcher.value
    if matcher.sign == "=":
        return lambda value: value == wanted
    if matcher.sign == "!=":
        return lambda value: value != wanted
    found = _pattern(wanted)
    if matcher.sign == "=~":
        return found
    return lambda value: not found(value)


def _pattern(text: str) -> Callable[[str], bool]:
    """By RE2, as Prometheus: its time grows with the length only, whatever the pattern."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    options.max_mem = PATTERN_MEMORY
    if len(text) > LONGEST_PATTERN:
        raise UsageError(f"A pattern of {len(text)} characters is too long; at most {LONGEST_PATTERN} are taken.")
    try:
        compiled = re2.compile(text, options)
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise UsageError(f"'{text[:100]}' is no pattern that RE2 knows: {why}.") from None
    return lambda value: compiled.fullmatch(value) is not None
