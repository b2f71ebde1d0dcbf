"""Reads the power of the chassis of a BMC by Redfish (DMTF DSP0266), over HTTPS."""

from collections.abc import Iterator, Mapping, Sequence

from steelyard.measure.telemetry.sensors import Device, Kind
from steelyard.measure.telemetry.sensors._chassis import (
    COLLECTION,
    Chassis,
    Point,
    holder,
    is_around,
    machines_in,
    number,
    survey,
)
from steelyard.measure.telemetry.sensors._files import keep, read_with_timestamp
from steelyard.measure.telemetry.sensors._service import Service, open_service
from steelyard.measure.telemetry.sensors._words import number_duplicates, slug
from steelyard.model.sensor import Reading, Scope, Sensor, is_power_of_node

SOURCE = "Redfish"
PARTS = "Redfish (parts)"  # a source of its own: their sum is not what the chassis draws
_MOST_NAMED = 4  # parts in a sentence


class Redfish(Device):
    """The chassis of one service that say what they draw. OSError where none does.

    `notes` are sentences on what the service does not say: chassis that cannot be read, and those of which it says parts alone.
    """

    def __init__(self, service: Service, host: str) -> None:
        self._service = service
        every = survey(service)
        powers = {
            (point.path, point.where): (chassis, point)
            for chassis in every
            if not is_around(chassis, every)
            for point in (*chassis.whole, *chassis.parts, *chassis.energy)
        }
        if not powers:
            reasons = [problem for chassis in every for problem in chassis.problems]
            more = f": {reasons[0]}" if reasons else " (EnvironmentMetrics, PowerSubsystem, Sensors, Power)"
            raise OSError(f"{service.url}{COLLECTION}: no chassis reports its power{more}")
        names = number_duplicates(
            [f"redfish/{slug(host)}/{chassis.label}/{point.name}" for chassis, point in powers.values()]
        )
        self._names = dict(zip(powers, names, strict=True))
        self._points = {name: point for (_, point), name in zip(powers.values(), names, strict=True)}
        self._alone = {
            self._names[c.whole[0].path, c.whole[0].where]
            for c in every
            if len(c.whole) == 1 and not is_around(c, every)
        }
        self.sensors = keep([self._sensor(*each, every) for each in powers.values()])
        self.notes = tuple(_list_notes(service, every))

    def read(self) -> Sequence[Reading]:
        readings: list[Reading] = []
        problem: OSError | None = None
        for path in dict.fromkeys(point.path for point in self._points.values()):
            try:
                resource, at = read_with_timestamp(self._service.get, path)
            except OSError as error:  # the others are read all the same
                problem = error
                continue
            for name, point in self._points.items():
                value = number(resource, point.where) if point.path == path else None
                if value is not None and (is_power_of_node(value) or name not in self._alone):
                    readings.append(Reading(name, at, value * point.factor))
        if problem and not readings:
            raise problem
        return readings

    def _sensor(self, chassis: Chassis, point: Point, every: Sequence[Chassis]) -> Sensor:
        name = self._names[point.path, point.where]
        is_whole = point in chassis.whole
        inside = holder(chassis, every) if is_whole or not chassis.whole else chassis
        inside = None if inside and is_around(inside, every) else inside
        others = any(chassis in (inner := machines_in(outer, every)) and len(inner) > 1 for outer in every)
        scope: Scope = "enclosure" if machines_in(chassis, every) else "" if others else "node"
        first = inside.whole[0] if inside else None
        # kWh in steps of a whole one say less than watts: where a chassis gives both, these count.
        return Sensor(
            name,
            point.quantity,
            SOURCE if (is_whole and chassis.box) or inside else PARTS,
            self._service.url + point.path,
            resolution=point.step,
            window=point.window,
            part_of=self._names[first.path, first.where] if first else "",
            scope=scope if is_whole and chassis.box else point.scope,
        )


def _list_notes(service: Service, every: Sequence[Chassis]) -> Iterator[str]:
    for chassis in every:
        if machines := machines_in(chassis, every):
            yield f"{service.url}{chassis.path} is an enclosure of machines. Its power is not that of one machine."
            if len(machines) > 1:
                yield f"It contains {len(machines)} machines, and the service does not say which is this one."
        elif chassis.whole:
            if chassis.problems:
                yield f"Redfish reports only a part of {service.url}{chassis.path}: {chassis.problems[0]}."
            if not chassis.box and not holder(chassis, every):
                yield (
                    f"Redfish reports the power of {service.url}{chassis.path}, but not of the chassis that contains it. "
                    "This is not the power of the node."
                )
        elif chassis.parts:
            names = ", ".join(point.name for point in chassis.parts[:_MOST_NAMED])
            more = f" and {len(chassis.parts) - _MOST_NAMED} more" if len(chassis.parts) > _MOST_NAMED else ""
            yield (
                f"Redfish does not report the power of all of {service.url}{chassis.path}, only of {names}{more}. "
                "This is not the power of the node."
            )
        elif chassis.problems:
            yield (
                f"Redfish does not report the power of {service.url}{chassis.path}: {chassis.problems[0]}. "
                "The other chassis are read."
            )


def make(settings: Mapping[str, str]) -> Device:
    """Opens the device of --sensor redfish:url=…."""
    return Redfish(*open_service(settings))


kind = Kind(
    "redfish",
    "A BMC by Redfish: the power of each chassis",
    open=make,
    words="url=https://ADDRESS,token-file=FILE or user=NAME,password-file=FILE; "
    "ca=FILE (for a BMC with a self-signed certificate)",
)
