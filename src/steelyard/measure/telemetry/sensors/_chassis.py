"""Reads the power of each chassis from a Redfish service, in any of the schemas (DMTF DSP0268).

`Power` is deprecated since 2020.4; `EnvironmentMetrics`, the supplies of `PowerSubsystem` and the chassis' `Sensors` came in its
place. The first of them that gives the power of the whole chassis counts.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.measure.telemetry.sensors import _words as words
from steelyard.measure.telemetry.sensors._service import Service, link
from steelyard.measure.telemetry.sensors._supplies import find_feeding
from steelyard.measure.telemetry.sensors._words import slug
from steelyard.model.sensor import Quantity, Scope, is_power_of_node

COLLECTION = "/redfish/v1/Chassis"
_MOST_SENSORS = 200  # sensors of a chassis that are read one by one
_GREATEST = 1e12  # W or kWh
# The units of sensors and of the properties that hold an energy, and their factors to J.
_ENERGIES = {"EnergyJoules": 1.0, "EnergykWh": 3.6e6}
_CONTEXTS: dict[str, Scope] = {"GPU": "accelerators", "Accelerator": "accelerators", "CPU": "processors"}
# Chassis that are boxes by themselves, by ChassisType; and what makers call those that lie within one.
_BOX = {"Rack", "Blade", "Enclosure", "StandAlone", "RackMount", "Sled", "Pod", "StorageEnclosure", "RackGroup"}
_AROUND = {"Enclosure", "Rack", "RackGroup", "Pod", "Row", "Zone", "ImmersionTank"}  # of several machines
_MACHINES = {"Sled", "Blade", "RackMount", "StandAlone"}
_WITHIN = re.compile(r"hgx|gpu|cpu|pcie|nvme|riser|oam|backplane|fpga|dpu|nic|component")

Where = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Point:
    """A number in the resource at `path`, with the keys that lead to it.

    `factor` converts it to W or J, `step` is its step in the sensor's unit, and `window` the averaging time in s.
    """

    name: str
    path: str
    where: Where
    quantity: Quantity = "power"
    factor: float = 1.0
    step: float = 0.0
    window: float = 0.0
    scope: Scope = ""


@dataclass(kw_only=True)
class Chassis:
    """A chassis: the points whose sum is its power (`whole`), the power of its parts, and `problems` of its resources.

    `kind` is its ChassisType.
    """

    path: str
    label: str
    container: str = ""
    box: bool = True
    kind: str = ""
    whole: list[Point] = field(default_factory=list)
    parts: list[Point] = field(default_factory=list)
    energy: list[Point] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def number(resource: Any, where: Where) -> float | None:
    """Returns the finite number to which the keys lead; None if there is none. Some services write numbers as text."""
    for key in where:
        if isinstance(resource, dict) and isinstance(key, str):
            resource = resource.get(key)
        elif isinstance(resource, list) and isinstance(key, int) and key < len(resource):
            resource = resource[key]
        else:
            return None
    if isinstance(resource, str):
        resource = words.number(resource)
    usable = isinstance(resource, int | float) and not isinstance(resource, bool) and abs(resource) < _GREATEST
    return float(resource) if usable and math.isfinite(resource) else None


def survey(service: Service) -> list[Chassis]:
    """Returns every chassis. OSError if the collection cannot be read; failures of one chassis are in its `problems`."""
    by_path: dict[str, Chassis] = {}
    abouts: dict[str, dict[str, Any]] = {}
    inside: dict[str, str] = {}
    for path, _ in service.members(COLLECTION):
        chassis = by_path.setdefault(path, _make_chassis(path))
        try:
            abouts[path] = about = service.get(path)
        except OSError as problem:
            chassis.problems.append(str(problem))
            continue
        links = about.get("Links")
        links = links if isinstance(links, dict) else {}
        chassis.container = link(links.get("ContainedBy"))
        contained = links.get("Contains")
        inside |= {link(contained_link): path for contained_link in (contained if isinstance(contained, list) else ())}
        kind = about.get("ChassisType")
        chassis.kind = str(kind)
        chassis.box = not _WITHIN.match(chassis.label) and (kind in _BOX if isinstance(kind, str) else True)
    for path, chassis in by_path.items():
        chassis.container = chassis.container or inside.get(path, "")
    every = list(by_path.values())
    for chassis in sorted(every, key=lambda contained_link: not contained_link.box):
        # A board is left out if its box has a power: reading dozens of boards would make the readings rare.
        if chassis.path in abouts and (chassis.box or not holder(chassis, every)):
            _fill_chassis(service, chassis, abouts[chassis.path])
    return every


def _make_chassis(path: str) -> Chassis:
    label = slug(path.rstrip("/").rpartition("/")[2])
    return Chassis(path=path, label=label, box=not _WITHIN.match(label))


def _fill_chassis(service: Service, chassis: Chassis, about: Mapping[str, Any]) -> None:
    """Searches one schema after the other for the power of the whole chassis."""
    for name, look in _SCHEMAS:
        if chassis.whole or not (path := link(about.get(name))):
            continue
        earlier = len(chassis.problems)
        try:
            look(service, chassis, path)
        except OSError as problem:
            chassis.problems.append(str(problem))
        if chassis.whole:  # earlier failures do not matter
            del chassis.problems[:earlier]
    if not chassis.whole:
        chassis.whole, chassis.energy = chassis.energy, []


def _read_power(service: Service, chassis: Chassis, path: str) -> None:
    """Reads PowerControl. The first member is always the chassis. The others are parts, which PhysicalContext names."""
    power = service.get(path)
    controls = power.get("PowerControl")
    for place, control in enumerate(controls if isinstance(controls, list) else ()):
        where: Where = ("PowerControl", place, "PowerConsumedWatts")
        watts = number(power, where)
        if watts is None:
            continue
        name, context = str(control.get("Name") or control.get("MemberId") or place), control.get("PhysicalContext")
        point = Point(name=slug(name), path=path, where=where, scope=_CONTEXTS.get(str(context), ""))
        is_whole = place == 0 or context == "Chassis" or (context is None and bool(find_feeding([name])))
        if is_whole and not chassis.whole and _is_running(chassis, path, watts):
            chassis.whole.append(point)
        elif place > 0:
            chassis.parts.append(point)
    if not chassis.whole:
        minutes = number(power, ("PowerControl", 0, "PowerMetrics", "IntervalInMin"))
        where = ("PowerControl", 0, "PowerMetrics", "AverageConsumedWatts")
        if minutes and number(power, where):  # a mean over minutes, if there is no momentary power
            chassis.whole.append(Point(name="average-power", path=path, where=where, window=60 * minutes))
    if not chassis.whole:
        supplies = power.get("PowerSupplies")
        for place, supply in enumerate(supplies if isinstance(supplies, list) else ()):
            keys = ("PowerInputWatts", "PowerOutputWatts", "LastPowerOutputWatts")
            wheres: list[Where] = [("PowerSupplies", place, key) for key in keys]
            _add_supply(chassis, _name(supply, f"supply-{place}"), path, power, wheres)
        _drop_supplies_without_power(chassis, path, power)


def _read_environment(service: Service, chassis: Chassis, path: str) -> None:
    metrics = service.get(path)
    watts = number(metrics, ("PowerWatts", "Reading"))
    if watts is not None and _is_running(chassis, path, watts):
        chassis.whole.append(Point(name="power", path=path, where=("PowerWatts", "Reading")))
    for key, factor in _ENERGIES.items():
        where = (key, "Reading")
        counted = number(metrics, where)
        if counted and not chassis.energy:
            step = factor / 10.0 ** len(repr(counted).partition(".")[2].rstrip("0"))
            point = Point(name="energy", path=path, where=where, quantity="energy", factor=factor, step=step)
            chassis.energy.append(point)


def _read_power_subsystem(service: Service, chassis: Chassis, path: str) -> None:
    """Reads the supplies by their metrics: the input power, or else the output power."""
    supplies = link(service.get(path).get("PowerSupplies"))
    readings: dict[str, Any] = {}
    for member, embedded in service.members(supplies) if supplies else ():
        try:
            supply = embedded or service.get(member)
            metrics = link(supply.get("Metrics"))
            if metrics:
                readings[metrics] = service.get(metrics)
                wheres: list[Where] = [("InputPowerWatts", "Reading"), ("OutputPowerWatts", "Reading")]
                name = _name(supply, member.rstrip("/").rpartition("/")[2])
                _add_supply(chassis, name, metrics, readings[metrics], wheres)
        except OSError as problem:
            chassis.problems.append(str(problem))
    _drop_supplies_without_power(chassis, path, readings)


def _read_sensors(service: Service, chassis: Chassis, path: str) -> None:
    """Reads the power sensors. PhysicalContext, or else the makers' names, show which are of the whole chassis."""
    powers: list[tuple[str, Point, float]] = []
    contexts: list[str] = []
    for number_, (member, embedded) in enumerate(service.members(path)):
        if number_ == _MOST_SENSORS:
            chassis.problems.append(
                f"{service.url}{path} has more than {_MOST_SENSORS} sensors, and the rest was not read"
            )
            break
        try:
            sensor = embedded if "ReadingType" in embedded else service.get(member)
        except OSError as problem:
            chassis.problems.append(str(problem))
            continue
        watts = number(sensor, ("Reading",))
        if sensor.get("ReadingType") == "Power" and sensor.get("ReadingUnits", "W") == "W" and watts is not None:
            name, context = _name(sensor, member.rstrip("/").rpartition("/")[2]), str(sensor.get("PhysicalContext"))
            point = Point(name=slug(name), path=member, where=("Reading",), scope=_CONTEXTS.get(context, ""))
            contexts.append(context)
            powers.append((name, point, watts))
    of_all = [place for place, context in enumerate(contexts) if context == "Chassis"]
    top = of_all if len(of_all) == 1 else find_feeding([name for name, _, _ in powers])
    whole = top if sum(powers[place][2] for place in top) > 0 else []
    for place, (_, point, _) in enumerate(powers):
        (chassis.whole if place in whole else chassis.parts).append(point)


def _name(resource: Any, otherwise: str) -> str:
    name = resource.get("Name") or resource.get("MemberId") or resource.get("Id") if isinstance(resource, dict) else ""
    return str(name or otherwise)


def _add_supply(chassis: Chassis, name: str, path: str, resource: Any, wheres: Sequence[Where]) -> None:
    where = next((where for where in wheres if number(resource, where) is not None), None)
    if where:
        chassis.whole.append(Point(name=slug(name), path=path, where=where))


def _is_running(chassis: Chassis, path: str, watts: float) -> bool:
    """Returns whether the power can be right: a machine that answers draws more than 0 W."""
    if is_power_of_node(watts):
        return True
    chassis.problems.append(f"{path} reports {watts:g} W for the whole chassis, which cannot be right")
    return False


def _drop_supplies_without_power(chassis: Chassis, path: str, readings: Any) -> None:
    """Removes the supplies if their sum is 0 W."""
    values = [number(readings if p.path == path else readings.get(p.path), p.where) or 0.0 for p in chassis.whole]
    if chassis.whole and not _is_running(chassis, path, sum(values)):
        chassis.whole.clear()


_SCHEMAS: tuple[tuple[str, Callable[[Service, Chassis, str], None]], ...] = (
    ("Power", _read_power),
    ("EnvironmentMetrics", _read_environment),
    ("PowerSubsystem", _read_power_subsystem),
    ("Sensors", _read_sensors),
)


def machines_in(chassis: Chassis, every: Sequence[Chassis]) -> list[Chassis]:
    """Returns the machines in an enclosure or rack: sleds, blades and servers by themselves."""
    inside = (other for other in every if other.kind in _MACHINES and chassis in _list_containing(other, every))
    return [*inside] if chassis.kind in _AROUND else []


def is_around(chassis: Chassis, every: Sequence[Chassis]) -> bool:
    """Returns whether it is the enclosure of a machine whose power is known."""
    return any(machine.whole for machine in machines_in(chassis, every))


def _list_containing(chassis: Chassis, every: Sequence[Chassis]) -> Iterator[Chassis]:
    """Yields the chassis that contain it, the nearest first."""
    by_path = {other.path: other for other in every}
    passed = {chassis.path}
    above = by_path.get(chassis.container)
    while above and above.path not in passed:
        yield above
        passed.add(above.path)
        above = by_path.get(above.container)


def holder(chassis: Chassis, every: Sequence[Chassis]) -> Chassis | None:
    """Returns the nearest chassis that contains it and has a power; without links, the only box, for a board."""
    if inside := next((above for above in _list_containing(chassis, every) if above.whole), None):
        return inside
    boxes = [other for other in every if other.box and other.whole]
    return boxes[0] if not chassis.box and len(boxes) == 1 else None
