"""Readings of sensors while something runs: a thread reads all devices at a set rate and passes the readings on."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from steelyard.measure.telemetry.sensors import Device
from steelyard.model.sensor import Reading, Sensor, Trace

SHARE = 0.01  # share of the time that reading a device may take


@dataclass(frozen=True)
class Clocks:
    """The clocks of a sampler; tests replace them. `wait` sleeps until the event is set or the seconds are over."""

    monotonic: Callable[[], float] = time.monotonic
    processor: Callable[[], float] = time.thread_time
    wait: Callable[[threading.Event, float], bool] = threading.Event.wait


class Memory:
    """Keeps readings in memory, 16 B each, and returns them as traces."""

    def __init__(self) -> None:
        self._sensors: dict[str, Sensor] = {}
        self._readings: dict[str, tuple[list[int], list[float]]] = {}

    def describe(self, sensors: Sequence[Sensor]) -> None:
        for sensor in sensors:
            self._sensors[sensor.name] = sensor
            self._readings.setdefault(sensor.name, ([], []))

    def add(self, readings: Sequence[Reading]) -> None:
        for reading in readings:
            at, values = self._readings[reading.sensor]
            at.append(reading.at)
            values.append(reading.value)

    def traces(self) -> dict[str, Trace]:
        """Returns the traces by the sensor's name, without sensors that gave no reading."""
        return {
            name: Trace(self._sensors[name], np.array(at, dtype=np.int64), np.array(values, dtype=np.float64))
            for name, (at, values) in self._readings.items()
            if at
        }


class Keeper(Protocol):
    """The receiver of readings: memory, a file, a store."""

    def describe(self, sensors: Sequence[Sensor]) -> None: ...

    def add(self, readings: Sequence[Reading]) -> None: ...


class Sampler:
    """Reads the devices every `period` seconds within its context, and at least once at each end.

    A device that fails is read again at the next turn; `failures` counts this. A slow device is read so rarely that reading takes
    a hundredth of the time, because it must not disturb a measurement.
    """

    def __init__(self, devices: Sequence[Device], period: float, keeper: Keeper, clocks: Clocks | None = None) -> None:
        self._devices, self._period, self._keeper, self._clocks = devices, period, keeper, clocks or Clocks()
        keeper.describe([sensor for device in devices for sensor in device.sensors])
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sensors", daemon=True)
        self._due = dict.fromkeys(range(len(devices)), 0.0)
        self.failures: dict[str, int] = {}
        self.cost = 0.0  # seconds of a processor

    def __enter__(self) -> Self:
        self._ask()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        # Moments are multiples of the period after the start, so that none drifts; those that were missed are left out.
        began, turn = self._clocks.monotonic(), 0
        while True:
            turn = max(turn + 1, int((self._clocks.monotonic() - began) / self._period) + 1)
            ended = self._clocks.wait(self._ended, began + turn * self._period - self._clocks.monotonic())
            self._ask()
            self.cost = self._clocks.processor()
            if ended:
                return

    def _ask(self) -> None:
        for number, device in enumerate(self._devices):
            began = self._clocks.monotonic()
            if began < self._due[number] and not self._ended.is_set():
                continue
            try:
                self._keeper.add(device.read())
            except OSError:
                for sensor in device.sensors:
                    self.failures[sensor.name] = self.failures.get(sensor.name, 0) + 1
            ended = self._clocks.monotonic()
            self._due[number] = ended + (ended - began) / SHARE


def select_summed(sensors: Sequence[Sensor]) -> list[Sensor]:
    """Returns the sensors of energy and power that may be added: no sensor that another one of its source contains, and no
    modelled one beside measured ones."""
    usable = [s for s in sensors if s.quantity in ("energy", "power")]
    names = {s.name for s in usable}
    whole = [s for s in usable if s.part_of not in names]
    measured = [s for s in whole if not s.modelled]
    return measured or whole
