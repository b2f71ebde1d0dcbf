"""RAPL by the kernel's perf events (the PMU `power`), for machines whose powercap files may not be read.

The kernel counts in 64 bits from 0 when an event is opened, in its own steps. The 32 bits of a register do not wrap here.
"""

import ctypes
import os
import platform
import re
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.measure.machine.cpulist import readable_cpu_list
from steelyard.measure.telemetry.sensors import Device, Found, Kind, powercap
from steelyard.measure.telemetry.sensors._files import label, listed, read_any, read_with_timestamp
from steelyard.measure.telemetry.sensors._words import number
from steelyard.model.sensor import Reading, Sensor, scope_of_rapl

FOLDER = "sys/bus/event_source/devices/power"
_PARANOID = "proc/sys/kernel/perf_event_paranoid"
# The kernel's names and our names, which are those of powercap: a domain has the same name in both ways of reading.
_DOMAINS = {"pkg": "", "cores": "/core", "gpu": "/uncore", "ram": "/dram", "psys": "psys"}
_UPDATE = 0.001  # as for the files of powercap, because the registers are the same
# J: the widest step of the registers that Linux knows. It does not say which a processor has; that of psys can be a whole joule.
_STEP, _STEP_PSYS = 2**-14, 1.0
_SYSTEM_CALL = {"x86_64": 298, "i686": 336}  # perf_event_open; RAPL is x86's
_ATTRIBUTES = struct.Struct("<IIQ48x")  # the first version of perf_event_attr: type, its own bytes, config
_CLOSE_ON_EXEC = 8
_PATIENCE = 0.05  # s; a processor that is awake counts within milliseconds

Opener = Callable[[int, int, int], int]


@dataclass(frozen=True, slots=True)
class Event:
    """A sensor, and the settings that open its counter: the PMU's type, the event, and a CPU of the package; `scale` in J."""

    sensor: Sensor
    type: int
    config: int
    cpu: int
    scale: float


class Events(Device):
    """A device of open events. OSError if one cannot be opened; then none stays open."""

    def __init__(self, events: Sequence[Event], opener: Opener) -> None:
        self.sensors = [event.sensor for event in events]
        self._open: list[tuple[Event, int]] = []
        try:
            for event in events:
                self._open.append((event, opener(event.type, event.config, event.cpu)))
        except OSError:
            self.close()
            raise

    def read(self) -> Sequence[Reading]:
        readings = []
        for event, file in self._open:
            data, at = read_with_timestamp(os.read, file, 8)
            if len(data) != 8:  # the kernel has given up this event
                raise OSError(f"{event.sensor.place} has stopped counting")
            readings.append(Reading(event.sensor.name, at, int.from_bytes(data, "little") * event.scale))
        return readings

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop()[1])


def open_event(kind: int, config: int, cpu: int) -> int:
    """Opens an event of all processes on a CPU. Returns its file. OSError if the kernel refuses."""
    attributes = ctypes.create_string_buffer(_ATTRIBUTES.pack(kind, _ATTRIBUTES.size, config), _ATTRIBUTES.size)
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    words = (ctypes.c_int(-1), ctypes.c_int(cpu), ctypes.c_int(-1), ctypes.c_ulong(_CLOSE_ON_EXEC))
    file = call(ctypes.c_long(_SYSTEM_CALL[platform.machine()]), attributes, *words)
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(file)


def find(root: Path, opener: Opener = open_event) -> Found:
    """Returns a device of the domains that powercap's files do not give, if the kernel allows it; else a sentence."""
    if platform.machine() not in _SYSTEM_CALL:
        return Found()
    had = {sensor.name for device in powercap.find(root).devices for sensor in device.sensors}
    events = [event for event in _list_events(root, had) if event.sensor.name not in had]
    if not events:
        return Found()
    try:
        counting = _select_counting(events, opener)
        still = [event.sensor.name for event in events if event not in counting]
        device = Events(_add_containers(counting, had), opener) if counting else None
    except OSError as problem:
        return Found((), (_explain_problem(root, problem),))
    refused = f"{', '.join(still)} of perf is left out: it counted nothing within {_PATIENCE * 1000:.0f} ms."
    return Found((device,) if device else (), (refused,) if still else ())


def _select_counting(events: Sequence[Event], opener: Opener) -> list[Event]:
    """Returns the events whose counters change: hypervisors and some firmware have counters that measure nothing."""
    device = Events(events, opener)
    try:
        end = time.monotonic() + _PATIENCE
        moved: set[str] = set()
        while len(moved) < len(events) and time.monotonic() < end:
            moved |= {reading.sensor for reading in device.read() if reading.value > 0}
            time.sleep(0.001)
    finally:
        device.close()
    return [event for event in events if event.sensor.name in moved]


def _list_events(root: Path, had: set[str]) -> list[Event]:
    """Returns every event of the PMU on one CPU of each package (the kernel's `cpumask`), those of the platform only once."""
    folder = root / FOLDER
    kind, cpus = read_any(folder / "type"), readable_cpu_list(label(folder / "cpumask"))
    if kind is None or not cpus:
        return []
    packages = _list_packages(root, cpus)
    events = []
    for path in listed(folder / "events", "energy-*"):
        domain = _DOMAINS.get(path.name.removeprefix("energy-"))
        config = re.fullmatch(r"event=0x([0-9a-fA-F]{1,8})", label(path))
        scale = number(label(path.with_name(f"{path.name}.scale")))
        if domain is None or config is None or not scale or label(path.with_name(f"{path.name}.unit")) != "Joules":
            continue
        for cpu, package in list(packages.items())[: 1 if domain == "psys" else None]:
            name = f"rapl/{domain}" if domain == "psys" else f"rapl/{package}{domain}"
            events.append(Event(_make_sensor(name, path, scale), int(kind), int(config[1], 16), cpu, scale))
    return events


def _list_packages(root: Path, cpus: Sequence[int]) -> dict[int, str]:
    """Returns powercap's name of the package of each processor: with the die if a package has several."""
    places = {}
    for cpu in cpus:
        topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        package, die = (int(read_any(topology / name) or 0) for name in ("physical_package_id", "die_id"))
        places[cpu] = package, die
    several = len({package for package, _ in places.values()}) < len(places)
    return {
        c: f"package-{package}-die-{die}" if several else f"package-{package}" for c, (package, die) in places.items()
    }


def _make_sensor(name: str, path: Path, scale: float) -> Sensor:
    step = _STEP_PSYS if name == "rapl/psys" else _STEP
    return Sensor(
        name, "energy", "RAPL (perf)", str(path), step, _UPDATE, range=2.0**64 * scale, scope=scope_of_rapl(name)
    )


def _add_containers(events: Sequence[Event], had: set[str]) -> list[Event]:
    """Returns the events with `part_of`, also for domains that powercap gives."""
    names = had | {event.sensor.name for event in events}
    return [_add_container(event, names) for event in events]


def _add_container(event: Event, names: set[str]) -> Event:
    name = event.sensor.name
    package, _, inner = name.removeprefix("rapl/").partition("/")
    holders = [f"rapl/{package}"] if inner in ("core", "uncore") else []
    holders += ["rapl/psys"] if name != "rapl/psys" else []
    return replace(event, sensor=replace(event.sensor, part_of=next((h for h in holders if h in names), "")))


def _explain_problem(root: Path, problem: OSError) -> str:
    """Returns why the events cannot be opened, and how to allow it."""
    if not isinstance(problem, PermissionError):
        return f"perf offers RAPL ({root / FOLDER}), but its events cannot be opened: {problem.strerror}."
    level = label(root / _PARANOID) or "not shown"
    return (
        f"perf offers RAPL ({root / FOLDER}), but you may not open its events: kernel.perf_event_paranoid is {level}. "
        "Root can allow all users with 'sysctl kernel.perf_event_paranoid=0'; they can then read all other perf events, too. "
        "Root can also allow a single program with the capability CAP_PERFMON."
    )


kind = Kind("perf", "RAPL: the energy of processor and memory (perf events)", find, light=True)
