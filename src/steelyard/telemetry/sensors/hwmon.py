"""Power, energy, temperature and fans of the chips that the kernel knows (Documentation/hwmon/sysfs-interface)."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.model.sensor import Quantity, Sensor
from steelyard.telemetry.sensors import Found, Kind
from steelyard.telemetry.sensors._files import File, Files, label, listed, optional, readable, why
from steelyard.telemetry.sensors._words import distinct, slug

# By the names of the files, and the factor to the unit of the quantity: µW, µJ, m°C, rpm.
_CHANNELS: dict[str, tuple[Quantity, float]] = {
    "power": ("power", 1e-6),
    "energy": ("energy", 1e-6),
    "temp": ("temperature", 1e-3),
    "fan": ("fan", 1.0),
}
_METER = "power_meter"  # ACPI's: of the whole machine
_INPUT = re.compile(r"/(vdd_in|pom_5v_in)$")  # as NVIDIA's Jetson boards call the rail that feeds the others
# Their power is the mean over the time between two updates (TI, INA226 §6.4.1; Documentation/hwmon/ina2xx).
_AVERAGING = re.compile(r"ina2(26|30|31)")


def find(root: Path) -> Found:
    """A device for each chip: I2C is slow, so that one must not wait for the other."""
    chips = listed(root / "sys/class/hwmon", "hwmon*")
    meters = [
        f"hwmon/{name}/" for chip, name in zip(chips, _names(chips), strict=True) if label(chip / "name") == _METER
    ]
    devices: list[Files] = []
    refused: list[str] = []
    for chip, name in zip(chips, _names(chips), strict=True):
        good, bad = readable(_channels(chip, name))
        if good:
            devices.append(Files(list(good)))
        refused += [f"{file.sensor.name} cannot be read: {why(file.sensor.place, p)}." for file, p in bad.items()]
    return Found(tuple(_within(devices, tuple(meters))), tuple(refused))


def _within(devices: Sequence[Files], meters: tuple[str, ...]) -> list[Files]:
    """With the machine's power meter (ACPI), where there is one, as what holds the power of all other chips.

    Of a chip that has the rail of all others (Jetson's VDD_IN), that one holds them.
    """
    files = [file for device in devices for file in device.files if file.sensor.quantity in ("power", "energy")]
    whole = next((file.sensor.name for file in files if file.sensor.name.startswith(meters)), "") if meters else ""
    inputs = {f.sensor.name.rpartition("/")[0]: f.sensor.name for f in files if _INPUT.search(f.sensor.name)}

    def placed(file: File) -> File:
        sensor = file.sensor
        if sensor.quantity not in ("power", "energy"):
            return file
        if sensor.name == whole:
            return replace(file, sensor=replace(sensor, scope="node"))
        rail = inputs.get(sensor.name.rpartition("/")[0], "")
        return replace(file, sensor=replace(sensor, part_of=rail if rail not in ("", sensor.name) else whole))

    return [Files([placed(file) for file in device.files]) for device in devices]


def _names(chips: list[Path]) -> list[str]:
    """The chips' names; of those with equal ones with the bus address, which a restart does not change as hwmon's number."""
    names = [slug(label(chip / "name") or chip.name) for chip in chips]
    several = Counter(names)
    return distinct(
        [
            f"{name}-{slug((chip / 'device').resolve().name)}"
            if several[name] > 1 and (chip / "device").exists()
            else name
            for chip, name in zip(chips, names, strict=True)
        ]
    )


def _channels(chip: Path, name: str) -> list[File]:
    found = [
        (path, match[1], match[2])
        for path in listed(chip, "*_*")
        if (match := re.fullmatch(r"((?:power|energy|temp|fan)[0-9]{1,4})_(input|average)", path.name))
    ]
    # The mean over a known time misses nothing between two readings; the same channel is not taken twice.
    averaged = {channel for _, channel, form in found if form == "average"}
    chosen = [(path, channel) for path, channel, form in found if form == "average" or channel not in averaged]
    labels = distinct([slug(label(chip / f"{channel}_label") or channel) for _, channel in chosen])
    return [
        _file(chip, path, channel, f"hwmon/{name}/{label}")
        for (path, channel), label in zip(chosen, labels, strict=True)
    ]


def _file(chip: Path, path: Path, channel: str, name: str) -> File:
    quantity, scale = _CHANNELS[channel.rstrip("0123456789")]
    update = _milliseconds(chip / "update_interval")
    window = 0.0
    if path.name.endswith("_average"):
        window = _milliseconds(chip / f"{channel}_average_interval")
    elif quantity == "power" and _AVERAGING.match(label(chip / "name")):
        window = update
    return File(Sensor(name, quantity, "hwmon", str(path), update=update, window=window), scale)


def _milliseconds(path: Path) -> float:
    """Seconds; 0 where the chip does not say."""
    return max(0.0, optional(path) or 0.0) / 1000


kind = Kind("hwmon", "Sensors of the board and of devices (hwmon: INA2xx, PMBus, temperatures, fans)", find, light=True)
