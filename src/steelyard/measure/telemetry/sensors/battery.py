"""A laptop's battery: the power of the machine without a mains adapter (Documentation/ABI/testing/sysfs-class-power)."""

from collections.abc import Sequence
from pathlib import Path

from steelyard.measure.telemetry.sensors import Device, Found, Kind
from steelyard.measure.telemetry.sensors._files import (
    explain,
    label,
    listed,
    read_any,
    read_with_timestamp,
    text_of,
    value_of,
)
from steelyard.measure.telemetry.sensors._words import number_duplicates, slug
from steelyard.model.sensor import Reading, Sensor

_MICRO = 1e-6
_DRAWN = "Discharging"


class Battery(Device):
    """A battery below /sys/class/power_supply, in watts."""

    def __init__(self, folder: Path, sensor: Sensor) -> None:
        self._folder, self.sensors = folder, (sensor,)

    def read(self) -> Sequence[Reading]:
        if text_of(self._folder / "status") != _DRAWN:
            return ()
        watts, at = read_with_timestamp(self._watts)
        # Drivers use different signs for the outgoing current.
        return (Reading(self.sensors[0].name, at, abs(watts)),)

    def _watts(self) -> float:
        power = self._folder / "power_now"
        if power.exists():
            return value_of(power) * _MICRO
        return value_of(self._folder / "current_now") * _MICRO * value_of(self._folder / "voltage_now") * _MICRO


def find(root: Path) -> Found:
    """Returns the batteries that feed the machine now, and the reason for each other one."""
    folders = [f for f in listed(root / "sys/class/power_supply", "*") if _feeds_the_machine(f)]
    devices: list[Device] = []
    refused: list[str] = []
    for folder, name in zip(folders, number_duplicates([slug(folder.name) for folder in folders]), strict=True):
        place = folder / ("power_now" if (folder / "power_now").exists() else "current_now")
        battery = Battery(folder, Sensor(f"battery/{name}", "power", "battery", str(place), scope="node"))
        status = label(folder / "status")
        try:
            if battery.read():
                devices.append(battery)
            else:
                refused.append(
                    f"The battery {folder.name} shows the machine's power only while it discharges. Its state is '{status}'. "
                    "Unplug the mains adapter."
                )
        except OSError as problem:
            refused.append(f"The battery {folder.name} cannot be read: {explain(place, problem)}.")
    return Found(tuple(devices), tuple(refused))


def _feeds_the_machine(folder: Path) -> bool:
    """Returns whether it is a battery of the machine, not of a device such as a mouse."""
    return (
        label(folder / "type") == "Battery"
        and label(folder / "scope") != "Device"
        and read_any(folder / "present") != 0
    )


kind = Kind("battery", "A laptop's battery, while it discharges", find)
