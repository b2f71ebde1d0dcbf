"""RAPL, the energy counters of x86 processors, by the kernel's powercap files (Documentation/power/powercap).

The counters are below /sys/class/powercap/intel-rapl:*, also for AMD. The same package below intel-rapl-mmio is left out.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from steelyard.measure.telemetry.sensors import Found, Kind
from steelyard.measure.telemetry.sensors._files import File, Files, explain, keep, label, listed, read_all, read_any
from steelyard.measure.telemetry.sensors._words import number_duplicates, slug
from steelyard.model.sensor import Sensor, scope_of_rapl

# Intel's manual (SDM volume 3B, RAPL): the counters of package, cores, uncore and memory are updated about every millisecond.
_UPDATE = 0.001
_STATED = re.compile(r"package|core|uncore|dram")
# The register has 32 bits, and the driver's range is its greatest value: so many steps.
_STEPS = 2**32 - 1
_SCALE = 1e-6  # µJ
_DIE = re.compile(r"rapl/(package-[0-9]+)-die-[0-9]+")
_SAME = (
    1.0  # J: what a package uses between the readings of two files, and far less than what separate counters differ by
)
_ALLOW = (
    "Since 2020 the kernel hides these counters from ordinary users: fast readings reveal what other users compute "
    "(CVE-2020-8694, PLATYPUS). If the users of this machine trust each other, root can allow it until the next start: "
    "'chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj'. To allow it permanently, add a line to "
    "/etc/udev/rules.d/70-rapl.rules: "
    'ACTION=="add", SUBSYSTEM=="powercap", KERNEL=="intel-rapl:*", RUN+="/bin/chmod a+r /sys%p/energy_uj"'
)


def find(root: Path) -> Found:
    """Returns a device of all domains that can be read, and sentences for those that cannot."""
    good, bad = read_all(_domains(root / "sys/class/powercap"))
    denied = [file for file, problem in bad.items() if isinstance(problem, PermissionError)]
    refused = [f"This machine has RAPL, but only root may read {denied[0].sensor.place}. {_ALLOW}"] if denied else []
    refused += [
        f"{file.sensor.name} cannot be read: {explain(file.sensor.place, problem)}."
        for file, problem in bad.items()
        if file not in denied
    ]
    # A counter that runs since the start is 0 only if the firmware or the hypervisor has not connected it.
    refused += [
        f"{file.sensor.name} is left out: {file.sensor.place} stays at 0 J, so it counts nothing."
        for file, value in good.items()
        if value == 0
    ]
    counting = keep(_mark_repeated({file.sensor: value * _SCALE for file, value in good.items() if value != 0}))
    return Found((Files([File(sensor, _SCALE) for sensor in counting]),) if counting else (), tuple(refused))


def _mark_repeated(joules: Mapping[Sensor, float]) -> list[Sensor]:
    """Returns the sensors; dies that repeat the counter of the first die of a package are part of it.

    Linux 6.9 and 6.10 treated each core complex of AMD's processors as a die, and all of them show the counter of the package
    (fixed by "perf/x86/rapl: Fix the energy-pkg event for AMD CPUs"). Separate counters, such as those of Intel's multi-die
    packages, differ by more than the energy between two readings.
    """
    first: dict[str, tuple[str, float]] = {}
    sensors = []
    for sensor, value in joules.items():
        die = _DIE.fullmatch(sensor.name)
        name, counted = first.setdefault(die[1], (sensor.name, value)) if die else (sensor.name, value)
        again = name != sensor.name and not sensor.part_of and abs(value - counted) <= _SAME
        sensors.append(replace(sensor, part_of=name) if again else sensor)
    return sensors


def _domains(folder: Path) -> list[File]:
    """Returns every domain, named by its path, with the domain that contains it as `part_of`."""
    zones = listed(folder, "intel-rapl:*")
    labels = {zone.name: slug(label(zone / "name") or zone.name) for zone in zones}
    tops = {zone.name: ":".join(zone.name.split(":")[:2]) for zone in zones}  # intel-rapl:0:2 lies below intel-rapl:0
    paths = [labels[z] if z == top else f"{labels.get(top, top)}/{labels[z]}" for z, top in tops.items()]
    names = dict(zip(tops, number_duplicates(paths), strict=True))
    return [
        File(_sensor(zone, names[zone.name], _holder(names.get(tops[zone.name], ""), names[zone.name], names)), _SCALE)
        for zone in zones
    ]


def _holder(top: str, name: str, names: Mapping[str, str]) -> str:
    """Returns the domain that contains `name`. Memory is separate from its package, although its file lies below it."""
    if name != top and name.rpartition("/")[2] != "dram":
        return top
    socket = re.match(r"package-([0-9]+)", name)
    platforms = (f"psys-{socket[1]}" if socket else "", "psys")  # of several sockets all but the first have a number
    return "" if name in platforms else next((p for p in platforms if p in names.values()), "")


def _sensor(zone: Path, name: str, parent: str) -> Sensor:
    most = read_any(zone / "max_energy_range_uj")
    counted = most * _SCALE if most else None
    return Sensor(
        f"rapl/{name}",
        "energy",
        "RAPL (powercap)",
        str(zone / "energy_uj"),
        resolution=counted / _STEPS if counted else 0.0,
        update=_UPDATE if _STATED.match(name.rpartition("/")[2]) else 0.0,
        range=counted,
        part_of=f"rapl/{parent}" if parent else "",
        scope=scope_of_rapl(f"rapl/{name}"),
    )


kind = Kind("powercap", "RAPL: the energy of processor and memory (powercap)", find, light=True)
