"""The agent of a node: reads its sensors at a set rate, and hands the readings on in batches."""

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np

from steelyard.errors import UsageError
from steelyard.measure.telemetry.labels import to_line
from steelyard.measure.telemetry.sensors import Device
from steelyard.model.sensor import Reading, Sensor
from steelyard.power.message import LATEST, MOST_SENSORS, Batch, Gap, is_name
from steelyard.power.sender import Outlet
from steelyard.system import signals

BATCH = 100  # readings; sixty times as many a second go through a broker as one by one
AGE = 1.0  # seconds that a reading waits for its batch to fill, at most
DRAIN = 5.0  # seconds that an agent that ends waits for the receipts of its last batches
FAILURE = 10.0  # seconds of a failure that one gap tells of: what an agent that is killed leaves unrecorded
# Seconds until a device that fails is tried again: the first pause is a second, each is twice the last.
LONGEST_PAUSE = 60.0
MOST_GAPS = 100  # gaps in a batch, so that they fit with their reasons; the other gaps follow


class Clock:
    """The clocks of the machine; tests replace them."""

    def monotonic(self) -> float:
        """Returns the seconds since a fixed moment; nobody can set this clock."""
        return time.monotonic()

    def wall(self) -> int:
        """Returns ns since 1970."""
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        signals.sleep(seconds)


class Cost(Device):
    """A device with the cost of the agent itself: processor time since its start, and resident memory."""

    sensors = (
        Sensor("steelyard/agent/processor", "time", "the process itself", resolution=1e-6),
        Sensor("steelyard/agent/memory", "memory", "the process itself", "/proc/self/statm"),
    )

    def read(self) -> Sequence[Reading]:
        at = time.time_ns()
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        processor, memory = (sensor.name for sensor in self.sensors)
        return Reading(processor, at, time.process_time()), Reading(memory, at, float(resident))


@dataclass
class Counts:
    """Counts of an agent: moments of reading, missed moments, readings, and readings without a usable value."""

    moments: int = 0
    missed: int = 0
    readings: int = 0
    senseless: int = 0


@dataclass
class _Failure:
    since: int  # ns since 1970: nothing is known from then on
    retry: float  # s of the monotonic clock
    pause: float
    why: str


@dataclass
class _Pending:
    """The batch that is being filled."""

    sensors: dict[str, int] = field(default_factory=dict)
    number: list[int] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def add(self, reading: Reading) -> None:
        self.number.append(self.sensors.setdefault(reading.sensor, len(self.sensors)))
        self.at.append(reading.at)
        self.value.append(reading.value)

    def batch(self, node: str, writer: UUID, sequence: int, gaps: Sequence[Gap]) -> Batch:
        columns = np.array(self.number, np.uint16), np.array(self.at, np.int64), np.array(self.value, np.float64)
        return Batch(node, writer, sequence, tuple(self.sensors), *columns, tuple(gaps))


class Agent:
    """Reads devices every `period` seconds. Each start is a new writer, whose batches are numbered from 0.

    UsageError for names that cannot be part of a topic, for two sensors of one name, and for too many sensors.
    """

    def __init__(
        self, node: str, devices: Sequence[Device], outlet: Outlet, period: float, clock: Clock | None = None
    ) -> None:
        sensors = [sensor for device in devices for sensor in device.sensors]
        expect_sensors(node, sensors)
        self.counts = Counts()
        self._names = frozenset(sensor.name for sensor in sensors)
        self._node, self._devices, self._outlet, self._period = node, devices, outlet, period
        self._clock = clock or Clock()
        self._writer, self._sequence = uuid4(), 0
        self._pending = _Pending()
        self._since = 0.0  # s of the monotonic clock: the age of the oldest that is pending
        self._gaps: list[Gap] = []
        self._failures: dict[int, _Failure] = {}

    def run(self, moments: int | None = None) -> None:
        """Reads at start + n × period, until `moments` are done or it is interrupted. It then sends the rest and closes."""
        start = self._clock.monotonic()
        due = 0
        try:
            while moments is None or self.counts.moments < moments:
                self._clock.sleep(max(0.0, start + due * self._period - self._clock.monotonic()))
                self._moment()
                # The first moment that is not over yet; those in between are left out, so that the rest stays in step.
                after = max(due + 1, math.ceil((self._clock.monotonic() - start) / self._period))
                self.counts.missed += after - due - 1
                due = after
        finally:
            self._end()

    def _end(self) -> None:
        for number, failure in self._failures.items():
            self._record(self._devices[number], failure)
        self._flush()
        end = self._clock.monotonic() + DRAIN
        while self._outlet.pump(self._clock.monotonic()) and self._clock.monotonic() < end:
            self._clock.sleep(0.05)
        self._outlet.close()
        for device in self._devices:
            device.close()

    def _moment(self) -> None:
        self.counts.moments += 1
        for number, device in enumerate(self._devices):
            for reading in self._readings(number, device):
                self._add(reading)
        wall = self._clock.wall()
        for number, failure in self._failures.items():
            if not 0 <= wall - failure.since < FAILURE * 1e9:
                self._record(self._devices[number], failure)
        now = self._clock.monotonic()
        if now + self._period - self._since > AGE:  # the batch would wait too long until the next moment
            self._flush()
        self._outlet.pump(now)

    def _readings(self, number: int, device: Device) -> Sequence[Reading]:
        """Returns the readings of the device; none while it fails, which becomes a gap."""
        failure = self._failures.get(number)
        if failure and self._clock.monotonic() < failure.retry:
            return ()
        try:
            readings = device.read()
        except OSError as error:
            self._fail(number, error)
            return ()
        if failure:
            self._record(device, self._failures.pop(number))
        return readings

    def _fail(self, number: int, error: OSError) -> None:
        now = self._clock.monotonic()
        failure = self._failures.get(number)
        pause = min(2 * failure.pause, LONGEST_PAUSE) if failure else 1.0
        since = failure.since if failure else self._clock.wall()
        self._failures[number] = _Failure(since, now + pause, pause, to_line(str(error)))

    def _record(self, device: Device, failure: _Failure) -> None:
        """Records a gap from the failure to now. The clock may have been set back in between."""
        now = self._clock.wall()
        start, end = sorted((failure.since, now))
        self._gaps.append(Gap(tuple(sensor.name for sensor in device.sensors), start, end, failure.why))
        failure.since = now

    def _add(self, reading: Reading) -> None:
        if reading.sensor not in self._names or not math.isfinite(reading.value) or not 0 <= reading.at < LATEST:
            self.counts.senseless += 1
            return
        if not self._pending.at:
            self._since = self._clock.monotonic()
        self._pending.add(reading)
        self.counts.readings += 1
        if len(self._pending.at) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        self._since = self._clock.monotonic()
        if not self._pending.at and not self._gaps:
            return
        gaps, self._gaps = _split_gaps(self._gaps)
        batch = self._pending.batch(self._node, self._writer, self._sequence, gaps)
        self._pending = _Pending()
        self._sequence += 1
        self._gaps += self._outlet.put(batch)


def expect_sensors(node: str, sensors: Sequence[Sensor]) -> None:
    """Raises UsageError if the names of the node and of its sensors cannot be used."""
    if not is_name(node) or node.count("/") != 1:
        raise UsageError(
            f"'{node}' is not the name of a node. Expected SYSTEM/NODE in printable characters, such as 'cluster/node17'."
        )
    names = [sensor.name for sensor in sensors]
    if len(names) > MOST_SENSORS:
        raise UsageError(
            f"This node has {len(names)} sensors, and an agent reads at most {MOST_SENSORS}. Start a second agent."
        )
    for name in names:
        if not is_name(name):
            raise UsageError(
                f"'{name}' is not the name of a sensor. Expected words separated by '/', such as 'rapl/package-0'."
            )
        if names.count(name) > 1:
            raise UsageError(f"Two sensors of '{node}' have the name '{name}'. Remove one of their devices.")


def _split_gaps(gaps: list[Gap]) -> tuple[list[Gap], list[Gap]]:
    """Returns the gaps that fit into one message, and the rest."""
    names, fitting = 0, 0
    for gap in gaps:
        names += len(gap.sensors)
        if names > MOST_SENSORS or fitting >= MOST_GAPS:
            break
        fitting += 1
    return gaps[:fitting], gaps[fitting:]
