"""The answers of our own API, field by field; `/openapi.json` describes the same."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorOf:
    """A sensor of a node. `model/sensor.py` describes the fields; `unit` is the unit of its readings."""

    node: str
    name: str
    quantity: str
    unit: str
    source: str
    place: str
    resolution: float
    update: float
    window: float
    range: float | None
    error: float | None
    part_of: str
    modelled: bool


@dataclass(frozen=True, slots=True)
class TraceOf:
    """Readings: `at` in ns since 1970, `value` in `unit`."""

    node: str
    sensor: str
    unit: str
    at: list[int]
    value: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupOf:
    """Intervals of `seconds` that begin `at` (ns since 1970): number of readings, the least, mean and greatest in `unit`.

    `joules` is the energy of the `known` seconds that the readings cover. null: there is none.
    """

    node: str
    sensor: str
    unit: str
    seconds: int
    at: list[int]
    count: list[int]
    least: list[float | None]
    mean: list[float | None]
    greatest: list[float | None]
    joules: list[float | None]
    known: list[float]


@dataclass(frozen=True, slots=True)
class GapOf:
    """An interval from `start` to `end` (ns since 1970) without readings of these sensors (none named: all)."""

    sensors: list[str]
    start: int
    end: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyOf:
    """Energy (J) with its 95 % interval, mean power and greatest power over `over` s (W), as in `steelyard power query`.

    They cover the `seconds` from `start` to `end` (ns since 1970) that lie between the first and the last reading.
    `missing` is the share of the time from `start` to `end` without readings. If readings cover less than half of the
    `seconds`, there is no energy, and all fields are null.
    """

    node: str
    sensor: str
    start: int
    end: int
    missing: float | None
    seconds: float | None = None
    joules: float | None = None
    low: float | None = None
    high: float | None = None
    power: float | None = None
    greatest: float | None = None
    over: float | None = None
