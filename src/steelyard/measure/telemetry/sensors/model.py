"""A model for nodes without sensors: the energy from the load and from the idle and full power that the user gives."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.measure.machine.load import STAT, busy_ticks
from steelyard.measure.telemetry.sensors import Device, Kind
from steelyard.measure.telemetry.sensors._words import expect, positive
from steelyard.model.sensor import Reading, Sensor

NAME = "model/node"


@dataclass(kw_only=True)
class Model(Device):
    """Joules since it was opened: `idle` watts all the time, and up to `full` in proportion to the busy share of `cpus`.

    It counts energy, so that no load between two readings is missed. Busy time that the kernel counts late, and that would exceed
    `full` since the last reading, moves to the following readings. `clock` gives nanoseconds.
    """

    idle: float
    full: float
    stat: Path = STAT
    cpus: int = field(default_factory=lambda: os.cpu_count() or 1)
    ticks: int = field(default_factory=lambda: os.sysconf("SC_CLK_TCK"))  # clock ticks in a second
    clock: Callable[[], int] = time.monotonic_ns

    def __post_init__(self) -> None:
        self._counted: float = self._busy()  # ticks
        self._at, self._joules = self.clock(), 0.0
        place = f"{self.stat}, {self.idle:g} W idle, {self.full:g} W full"
        step, update = self._joules_of_a_tick, 1 / self.ticks
        self.sensors = (Sensor(NAME, "energy", "model", place, step, update, modelled=True, scope="host"),)

    def read(self) -> Sequence[Reading]:
        busy = self._busy()
        now, at = self.clock(), time.time_ns()  # one after the other, so that a wait before them moves no energy
        seconds = (now - self._at) / 1e9
        new = max(0.0, min(busy - self._counted, seconds * self.ticks * self.cpus))
        self._at, self._counted = now, self._counted + new
        self._joules += self.idle * seconds + new * self._joules_of_a_tick
        return (Reading(NAME, at, self._joules),)

    @property
    def _joules_of_a_tick(self) -> float:
        return (self.full - self.idle) / self.ticks / self.cpus

    def _busy(self) -> int:
        busy = busy_ticks(self.stat)
        if busy is None:
            raise OSError(f"{self.stat} does not show how busy the processors are")
        return busy


def make(settings: Mapping[str, str]) -> Device:
    """Opens the device of --sensor model:idle=20,full=95 (watts)."""
    expect("model", settings, ("idle", "full"), ("idle", "full"))
    idle, full = (positive("model", settings, name) for name in ("idle", "full"))
    if full < idle:
        raise UsageError(
            f"The sensor 'model' has full={full:g} W, which is below idle={idle:g} W. Give a full power of at least {idle:g} W."
        )
    return Model(idle=idle, full=full)


kind = Kind(
    "model",
    "A model, marked as modelled: computes power from the load and from your idle and full power",
    open=make,
    words="idle=WATTS,full=WATTS",
)
