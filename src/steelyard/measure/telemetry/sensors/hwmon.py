"""Power, energy, temperature and fans of the chips that the kernel knows (Documentation/hwmon/sysfs-interface)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_lowercase

from steelyard.measure.telemetry.sensors import Found, Kind
from steelyard.measure.telemetry.sensors._chips import grace_holders, holder, is_whole, scope_of
from steelyard.measure.telemetry.sensors._files import File, Files, explain, label, listed, read_all, read_any
from steelyard.measure.telemetry.sensors._words import number_duplicates, slug
from steelyard.model.sensor import Quantity, Scope, Sensor

# By the names of the files, and the factor to the unit of the quantity: µW, µJ, m°C, rpm.
_CHANNELS: dict[str, tuple[Quantity, float]] = {
    "power": ("power", 1e-6),
    "energy": ("energy", 1e-6),
    "temp": ("temperature", 1e-3),
    "fan": ("fan", 1.0),
}
_INPUT = re.compile(r"(?:vdd_in|vdd_mux|pom_5v_in)")  # as NVIDIA's Jetson boards call the rail that feeds the others
_RAILS = re.compile(r"ina[0-9]{3}\w*")  # the chips that measure them
# Limits and fans that amdgpu shows for cards alone: without them it is an APU, whose power contains the processor's
# (Documentation/gpu/amdgpu/thermal).
_CARD = ("power1_cap", "fan1_input", "pwm1")
_WITHIN_APU = re.compile(r"zenpower.*|amd_energy|k10temp|fam15h_power")
_TILE = re.compile(r"i915_gt[0-9]+")
# Their power is the mean over the time between two updates (TI, INA226 §6.4.1; Documentation/hwmon/ina2xx).
_AVERAGING = re.compile(r"ina2(26|30|31)")


@dataclass(frozen=True)
class _Channel:
    """A file of a chip of that driver; `word` is the driver's label, or else the number: "pin", "1"."""

    file: File
    chip: Path
    driver: str
    word: str

    @property
    def sensor(self) -> Sensor:
        return self.file.sensor


def find(root: Path) -> Found:
    """Returns a device for each chip: I2C is slow, and one chip must not wait for another."""
    chips = listed(root / "sys/class/hwmon", "hwmon*")
    every = [channel for chip, name in zip(chips, _names(chips), strict=True) for channel in _list_channels(chip, name)]
    good, bad = read_all(channel.file for channel in every)
    silent = [c for c in every if is_whole(c.driver, c.word) and good.get(c.file) == 0]  # a machine never draws 0 W
    usable = [channel for channel in every if channel.file in good and channel not in silent]
    devices: dict[Path, list[File]] = {}
    for channel, file in zip(usable, _add_containers(usable), strict=True):
        devices.setdefault(channel.chip, []).append(file)
    refused = [f"{file.sensor.name} cannot be read: {explain(file.sensor.place, p)}." for file, p in bad.items()]
    refused += [f"{c.sensor.name} is left out: it reports 0 {c.sensor.unit} for the whole machine." for c in silent]
    return Found(tuple(Files(files) for files in devices.values()), tuple(refused))


def _add_containers(channels: Sequence[_Channel]) -> list[File]:
    """Returns the files with `part_of`: the channel that contains each, or else the machine's power meter."""
    powers = [channel for channel in channels if channel.sensor.quantity in ("power", "energy")]
    whole = next((c.sensor.name for c in powers if is_whole(c.driver, c.word)), "")

    def placed(channel: _Channel) -> File:
        sensor = channel.sensor
        if sensor.quantity not in ("power", "energy"):
            return channel.file
        if sensor.name == whole:
            return replace(channel.file, sensor=replace(sensor, scope="node"))
        device = f"pci:{bus}" if (bus := _read_bus(channel.chip)) else ""
        sensor = replace(sensor, scope=_scope(channel), device=device if _scope(channel) == "accelerators" else "")
        inside = next((c.sensor.name for c in _list_including_channels(channel, powers)), "") or whole
        return replace(channel.file, sensor=replace(sensor, part_of=inside))

    return [placed(channel) for channel in channels]


def _list_including_channels(channel: _Channel, powers: Sequence[_Channel]) -> Iterator[_Channel]:
    alike = [c for c in powers if c.sensor.quantity == channel.sensor.quantity]
    siblings = {c.word: c for c in alike if c.chip == channel.chip}
    if inside := holder(channel.driver, channel.word, siblings):
        yield siblings[inside]
    if channel.sensor.quantity == "power":  # a chip that also counts the joules of a channel
        yield from (
            c for c in powers if c.sensor.quantity == "energy" and (c.chip, c.word) == (channel.chip, channel.word)
        )
    if _TILE.fullmatch(channel.driver):  # i915: a chip for the device, and one for each tile of it
        yield from (c for c in alike if c.driver == "i915" and _find_device(c.chip) == _find_device(channel.chip))
    if _WITHIN_APU.fullmatch(channel.driver):
        yield from (c for c in alike if c.driver == "amdgpu" and _scope(c) == "processors")
    if grace := grace_holders(channel.word):
        words = {c.word: c for c in alike if c.driver == channel.driver}
        yield from (words[word] for word in grace if word in words)
    if _RAILS.fullmatch(channel.driver):
        rails = [c for c in alike if _RAILS.fullmatch(c.driver) and _INPUT.fullmatch(c.word)]
        first = next((c for c in rails if c.word == "vdd_mux"), rails[0] if rails else channel)
        if first is not channel:
            yield first


def _scope(channel: _Channel) -> Scope:
    if channel.driver == "amdgpu" and not any((channel.chip / name).exists() for name in _CARD):
        return "processors"
    if _RAILS.fullmatch(channel.driver) and _INPUT.fullmatch(channel.word):
        return "node"  # the sensor measures the supply of the board
    return scope_of(channel.driver, channel.word)


def _read_bus(chip: Path) -> str:
    """Returns the PCI address of the chip's device; "" if it has none."""
    name = (chip / "device").resolve().name if (chip / "device").exists() else ""
    return name if re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", name) else ""


def _find_device(chip: Path) -> str:
    return str((chip / "device").resolve()) if (chip / "device").exists() else ""


def _names(chips: list[Path]) -> list[str]:
    """Returns the names of the chips. Equal names get the bus address, which a restart does not change."""
    names = [slug(label(chip / "name") or chip.name) for chip in chips]
    several = Counter(names)
    makers = [_maker_text(chip, "power1") for chip in chips]
    return number_duplicates(
        [
            f"{name}/{slug(text)}"
            if text and makers.count(text) == 1
            else f"{name}-{slug((chip / 'device').resolve().name)}"
            if several[name] > 1 and (chip / "device").exists()
            else name
            for chip, name, text in zip(chips, names, makers, strict=True)
        ]
    )


def _maker_text(chip: Path, channel: str) -> str:
    """Returns what an ACPI power meter measures, in the maker's words (Documentation/hwmon/acpi_power_meter)."""
    return label(chip / f"{channel}_oem_info") or label(chip / "device" / f"{channel}_oem_info")


def _list_channels(chip: Path, name: str) -> list[_Channel]:
    files = [
        (path, match[1], match[2])
        for path in listed(chip, "*_*")
        if (match := re.fullmatch(r"((?:power|energy|temp|fan)[0-9]{1,4})_(input|average)", path.name))
    ]
    # A mean over a known time includes all between two readings. The same channel is not taken twice.
    averaged = {channel for _, channel, form in files if form == "average"}
    chosen = [(path, channel) for path, channel, form in files if form == "average" or channel not in averaged]
    words = [slug(text) if (text := label(chip / f"{channel}_label")) else "" for _, channel in chosen]
    labels = number_duplicates([word or channel for word, (_, channel) in zip(words, chosen, strict=True)])
    words = [
        w or (slug(text) if (text := _maker_text(chip, c)) else "") for w, (_, c) in zip(words, chosen, strict=True)
    ]
    driver = label(chip / "name")
    return [
        _Channel(
            _file(chip, path, channel, f"hwmon/{name}/{called}"), chip, driver, word or channel.lstrip(ascii_lowercase)
        )
        for (path, channel), called, word in zip(chosen, labels, words, strict=True)
    ]


def _file(chip: Path, path: Path, channel: str, name: str) -> File:
    quantity, scale = _CHANNELS[channel.rstrip("0123456789")]
    update = _read_milliseconds(chip / "update_interval")
    window = 0.0
    if path.name.endswith("_average"):
        name_of_window = f"{channel}_average_interval"
        window = _read_milliseconds(chip / name_of_window) or _read_milliseconds(chip / "device" / name_of_window)
    elif quantity == "power" and _AVERAGING.match(label(chip / "name")):
        window = update
    return File(Sensor(name, quantity, "hwmon", str(path), update=update, window=window), scale)


def _read_milliseconds(path: Path) -> float:
    """Returns seconds; 0 if the chip does not state it."""
    return max(0.0, read_any(path) or 0.0) / 1000


kind = Kind(
    "hwmon", "Sensors of the board and its devices (hwmon: INA2xx, PMBus, temperatures, fans)", find, light=True
)
