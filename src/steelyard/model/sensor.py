"""Power and energy of a machine: a sensor, and its readings over time."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Quantity = Literal["energy", "power", "temperature", "fan", "clock", "time", "memory"]
# "platform" has the processors, the memory and what its maker chose, "host" is the node without its accelerators, "module" a
# board with processors, memory and perhaps an accelerator, "superchip" an accelerator whose counter may include the processors of
# its module, and "enclosure" more than the node.
Scope = Literal[
    "", "node", "platform", "host", "module", "superchip", "processors", "memory", "accelerators", "rest", "enclosure"
]
UNITS: dict[Quantity, str] = {
    "energy": "J",
    "power": "W",
    "temperature": "°C",
    "fan": "rpm",
    "clock": "Hz",
    "time": "s",
    "memory": "B",
}

# Names of accelerators whose counter may include the processors of their module: Grace Hopper, Grace Blackwell, MI300A.
SUPERCHIP = re.compile(r"\bG[HB][0-9]{2,3}\b|MI300A", re.IGNORECASE)
ONES = 65535.0  # W
Moments = NDArray[np.int64]  # ns since 1970, UTC
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sensor:
    """One quantity that a device measures. `name` is unique on its node: "rapl/package-0/dram".

    A sensor of "energy" counts joules, and starts again at 0 after `range` joules (None: never, or not known). A sensor of
    "power" gives watts, as the mean over the last `window` seconds (0: at that moment). `update`: seconds until the device has
    a new value; `resolution`: its smallest step. `error` is relative, as the maker states it (None: not stated).
    `part_of` names the sensor whose energy includes that of this one, so that the two must not be added. `modelled`: computed,
    not measured. `scope`: what the sensor covers, all or one of several ("": not known); `device` names that one: sensors of
    the same scope and device measure the same, also by two sources ("": the name of the sensor says it). `source` names the
    interface ("RAPL (powercap)"), `place` the file or command.
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
    device: str = ""

    @property
    def unit(self) -> str:
        return UNITS[self.quantity]


def scope_of_rapl(name: str) -> Scope:
    """Returns the scope of a domain of RAPL: psys is the platform, and cores alone are no processor."""
    domain = name.removeprefix("rapl/").rpartition("/")[2]
    scopes: dict[str, Scope] = {"psys": "platform", "package": "processors", "dram": "memory"}
    return next((scope for start, scope in scopes.items() if domain.startswith(start)), "")


def is_power_of_node(watts: float) -> bool:
    """Returns whether a running node can draw this power: some BMCs always answer 0 W, or 16 bits of ones."""
    return watts > 0 and watts != ONES


@dataclass(frozen=True, slots=True)
class Reading:
    """A value of a sensor; `at` is the time (ns since 1970) that the device gives, or else the time of the query."""

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
    """Readings summarised by intervals of `seconds`, in columns of equal length, sorted by sensor and time.

    Intervals begin at multiples of `seconds` since 1970. `number` is the index of a row's (node, sensor) in `sensors`, `at` the
    begin (ns since 1970), `count` the number of readings. `least`, `mean` and `greatest` are in the sensor's unit, but in watts
    for a sensor of energy (NaN without readings). `joules` is the energy in the `known` seconds that readings cover (NaN
    without such seconds, and for other quantities).
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

    `busy` is the number of cores that other processes kept busy during that time (None: not known).
    """

    traces: Mapping[str, Trace] = field(default_factory=dict)
    idle: tuple[int, int] | None = None
    busy: float | None = None
    unread: tuple[str, ...] = ()  # readings that were left out, and why
