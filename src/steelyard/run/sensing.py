"""Reads sensors during a run into its folder."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from steelyard.machine.load import measure_load
from steelyard.records.power import PowerFile
from steelyard.run.screen import Screen
from steelyard.telemetry import sensors
from steelyard.telemetry.energy import seconds_for
from steelyard.telemetry.sampler import Sampler
from steelyard.telemetry.sensors import Device
from steelyard.telemetry.watched import not_idle

PERIOD = 0.1  # default seconds between two readings
IDLE = 3.0  # seconds of readings on the idle machine before the first case
IDLE_WINDOWS = 10  # minimum for the same, in windows of the slowest sensor


@dataclass(frozen=True)
class Sensing:
    """The devices to read, and the seconds between two readings. `wanted`: the user asked for them, so that cases last as
    long as the sensors need."""

    devices: tuple[Device, ...]
    period: float = PERIOD
    wanted: bool = False

    def seconds(self, width: float) -> float:
        """Returns how long a case must last, in seconds, for its energy to be known to ± `width`."""
        chosen = [s for device in self.devices for s in device.sensors if s.quantity in ("energy", "power")]
        return max(seconds_for(sensor, width, self.period) for sensor in chosen)


def asked(power: bool | None, words: Sequence[str], period: float, screen: Screen) -> Sensing | None:
    """Returns sensors of power and energy: the named ones, and those of this machine (`power` None: only undisturbing ones).

    None if there are none, or `power` is False. UsageError for words that name no sensor.
    """
    if power is False:
        return None
    named = [sensors.opened(word) for word in words]
    for sentence in sensors.notes(named):
        screen.warn(sentence)
    devices_here = sensors.find(light=not power)
    devices = (*(d for d in devices_here.devices if _tells_power(d)), *named)
    if power:
        for sentence in devices_here.refused:
            screen.warn(sentence)
        if not devices:
            screen.warn(f"{sensors.NONE} The run goes on without.")
    return Sensing(devices, period, wanted=bool(power or named)) if devices else None


def _tells_power(device: Device) -> bool:
    return any(s.quantity in ("energy", "power") for s in device.sensors)


@contextmanager
def recorded(sensing: Sensing | None, folder: Path, screen: Screen, afresh: bool) -> Iterator[None]:
    """Reads the sensors into the run's folder during the block. A new run (`afresh`) first reads the idle machine."""
    if sensing is None:
        yield
        return
    kept = PowerFile(folder)
    try:
        with Sampler(sensing.devices, sensing.period, kept):
            if afresh:
                windows = [sensor.window for device in sensing.devices for sensor in device.sensors]
                begin = time.time_ns()
                with screen.working("Reading the sensors of the idle machine"):
                    busy = measure_load(max(IDLE, IDLE_WINDOWS * max(windows, default=0.0)))
                kept.idle(begin, time.time_ns(), busy.cores if busy else None)
                if doubt := not_idle(busy):
                    screen.warn(doubt)
            yield
    finally:
        kept.close()
        if kept.trouble:
            screen.warn(kept.trouble)
