"""Power and energy of a machine: a sensor, and its readings over time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Quantity = Literal["energy", "power", "temperature", "fan", "clock", "time", "memory"]
Scope = Literal["", "node", "processors", "accelerators"]
UNITS: dict[Quantity, str] = {
    "energy": "J",
    "power": "W",
    "temperature": "°C",
    "fan": "rpm",
    "clock": "Hz",
    "time": "s",
    "memory": "B",
}

Moments = NDArray[np.int64]  # ns since 1970, UTC
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sensor:
    """One thing that a device measures. `name` is unique on its node: "rapl/package-0/dram".

    A sensor of "energy" counts joules since some moment, from 0 again after `range` of them (None: never, or not known); one of
    "power" gives watts, their mean over the last `window` seconds (0: at that moment). `update`: seconds after which the device
    has a new value; `resolution`: its smallest step. `error` is relative, as the maker states it (None: he does not).
    `part_of` names the sensor whose energy holds that of this one: the two are not added. `modelled`: computed, not measured.
    `scope`: what the sensors of its source that may be added hold all of, the whole node for example ("": not known).
    `source` is a word for the way it was had, as "RAPL (powercap)", `place` the file or command.
    """

    name: str
    quantity: Quantity
    source: str
    place: str = ""
    resolution: float = 0.0
    update: float = 0.0
    window: float = 0.0
    range: float | None = None
    error: float | None = None
    part_of: str = ""
    modelled: bool = False
    scope: Scope = ""

    @property
    def unit(self) -> str:
        return UNITS[self.quantity]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sensor said: `at` is the moment (ns since 1970) that the device gives, or else that of the asking."""

    sensor: str
    at: int
    value: float


@dataclass(frozen=True, slots=True)
class Trace:
    """The readings of a sensor in the order of time, as columns of one length; `value` in the sensor's unit."""

    sensor: Sensor
    at: Moments
    value: Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollup:
    """Stretches of `seconds`, from whole multiples of them since 1970, as columns of one length, sorted by sensor and time.

    `number` says which of `sensors` (node, sensor) a row is of, `at` when it begins (ns since 1970). `count` is the number of its
    readings; `least`, `mean` and `greatest` are theirs in the sensor's unit, in watts for one of energy (NaN without readings).
    `joules` is the energy of those `known` seconds of which readings tell (NaN where none do, and for other quantities).
    """

    seconds: int
    sensors: tuple[tuple[str, str], ...]
    number: NDArray[np.int32]
    at: Moments
    count: Moments
    least: Values
    mean: Values
    greatest: Values
    joules: Values
    known: Values


@dataclass(frozen=True, slots=True)
class Power:
    """Readings of the sensors of a run by name, and the idle time of the machine (ns since 1970).

    `busy` is the number of cores that others kept busy meanwhile (None: not known).
    """

    traces: Mapping[str, Trace] = field(default_factory=dict)
    idle: tuple[int, int] | None = None
    busy: float | None = None
    unread: tuple[str, ...] = ()  # what of their readings was left out, and why
