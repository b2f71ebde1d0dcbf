"""Reads sensors during a run into its folder."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.measure.machine.load import measure_load
from steelyard.measure.records.power import PowerFile
from steelyard.measure.screen import Screen
from steelyard.measure.telemetry import sensors
from steelyard.measure.telemetry.coverage import Coverage, choose, missing
from steelyard.measure.telemetry.energy import seconds_for
from steelyard.measure.telemetry.sampler import Sampler
from steelyard.measure.telemetry.sensors import Device
from steelyard.measure.telemetry.watched import name_load
from steelyard.model import Case, Machine, Plan, Sampling

PERIOD = 0.1  # default seconds between two readings
IDLE = 3.0  # seconds of readings on the idle machine before the first case
IDLE_WINDOWS = 10  # least time for which the idle machine is read, in windows of the slowest sensor
MANY = 100_000  # samples: enough to fill the time with a short operation; each needs 200 bytes in the record
ENDS_AT = 4  # a case ends after this multiple of its seconds, even with fewer than the minimum of samples


@dataclass(frozen=True)
class Sensing:
    """The devices to read, and the seconds between two readings. `wanted`: the user asked for them, so that cases last as
    long as the sensors need."""

    devices: tuple[Device, ...]
    period: float = PERIOD
    wanted: bool = False

    def coverage(self, machine: Machine | None = None) -> Coverage:
        """Returns the sensors that count for the energy of a case, and what they cover."""
        return choose((sensor for device in self.devices for sensor in device.sensors), machine)

    def seconds(self, width: float) -> float:
        """Returns how long a case must last, in seconds, for its energy to be known to ± `width` by the sensors that count."""
        return max(seconds_for(sensor, width, self.period) for sensor in self.coverage().sensors)

    def lengthen(self, plan: Plan, width: float, machine: Machine) -> Plan:
        """Returns the plan in which each case whose energy the sensors cover lasts long enough for them."""
        scope = self.coverage(machine).scope
        return extend_cases(
            plan, self.seconds(width), lambda case: bool(scope) and not missing(scope, case.parameters, machine)
        )


def extend_cases(plan: Plan, seconds: float, is_wanted: Callable[[Case], bool] = lambda case: True) -> Plan:
    """Returns the plan in which the wanted cases last at least so many seconds. Longer cases stay as they are."""

    def longer(case: Case) -> Case:
        return _lengthen_case(case, seconds) if is_wanted(case) else case

    launches = tuple(replace(x, cases=tuple(map(longer, x.cases))) for x in plan.launches)
    old, new = (sum(_expect_seconds(c.sampling) for x in part for c in x.cases) for part in (plan.launches, launches))
    return replace(plan, launches=launches, seconds=plan.seconds + new - old)


def _lengthen_case(case: Case, seconds: float) -> Case:
    if case.sampling.seconds >= seconds:
        return case
    # Only the time ends such a case, since it never reaches its least number of samples.
    return replace(case, sampling=replace(case.sampling, seconds=seconds / ENDS_AT, least=MANY, most=MANY))


def _expect_seconds(sampling: Sampling) -> float:
    return sampling.seconds * (ENDS_AT if sampling.least == MANY else 1)


def asked(power: bool | None, words: Sequence[str], period: float, screen: Screen) -> Sensing | None:
    """Returns sensors of power and energy: the named ones, and those of this machine (`power` None: only undisturbing ones).

    None if there are none, or `power` is False. UsageError for words that name no sensor.
    """
    if power is False:
        return None
    named = [sensors.open_device(word) for word in words]
    for sentence in (note for device in named for note in device.notes):
        screen.warn(sentence)
    devices_here = sensors.find(light=not power)
    devices = (*(d for d in devices_here.devices if _has_power(d)), *named)
    if power:
        for sentence in devices_here.refused:
            screen.warn(sentence)
        if not devices:
            screen.warn(f"{sensors.NONE} The run goes on without.")
    for sensor in (s for device in named for s in device.sensors if s.quantity in ("energy", "power")):
        if not choose([sensor]).scope:
            screen.warn(
                f"{sensor.name} does not say what it measures: no case has an energy by it. Add scope=node or another scope."
            )
    return Sensing(devices, period, wanted=bool(power or named)) if devices else None


def _has_power(device: Device) -> bool:
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
                windows = [sensor.window for sensor in sensing.coverage().sensors]
                begin = time.time_ns()
                with screen.working("Reading the sensors of the idle machine"):
                    busy = measure_load(max(IDLE, IDLE_WINDOWS * max(windows, default=0.0)))
                kept.idle(begin, time.time_ns(), busy.cores if busy else None)
                if doubt := name_load(busy):
                    screen.warn(doubt)
            yield
    finally:
        kept.close()
        if kept.trouble:
            screen.warn(kept.trouble)
