"""AMD's GPUs by rocm-smi, which prints the driver's values as JSON."""

import json
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from steelyard.measure.telemetry.sensors import Found, Kind
from steelyard.measure.telemetry.sensors._programs import Program
from steelyard.measure.telemetry.sensors._words import number, slug
from steelyard.model.sensor import Quantity, Sensor
from steelyard.system.starts import find_program

_COMMAND = ("rocm-smi", "--showbus", "--showpower", "--showenergycounter", "--showtemp", "--showclocks", "--json")
_CARD = re.compile(r"card[0-9]{1,4}")
_MOST_TRIES = 100  # braces at which the answer may begin
_MEAN = "Average"  # a version that prints the mean and the momentary power prints both of one counter: the mean counts
_BUS = "PCI Bus"
# The keys change from version to version; the end of a sensor's name, the quantity, and the factor to its unit. The
# accumulated energy is that since the driver was loaded.
_KEYS: tuple[tuple[re.Pattern[str], str, Quantity, float], ...] = (
    (re.compile(r"(?:Average|Current Socket) Graphics Package Power \(W\)"), "power", "power", 1.0),
    (re.compile(r"Accumulated Energy \(uJ\)"), "energy", "energy", 1e-6),
    (re.compile(r"Temperature \(Sensor ([^)]{1,40})\) \(C\)"), "temperature", "temperature", 1.0),
    (re.compile(r"sclk clock speed:"), "clock", "clock", 1e6),
)


def parse(text: str) -> dict[Sensor, float]:
    """Reads one object for each GPU, such as 'card0', with values as text. 'N/A' and an energy or a power of 0 are left out.

    The second die of a card has these: the first one shows the power of both. Warnings may come before and after the answer.
    """
    readings: dict[Sensor, float] = {}
    for card, keys in _parse_answer(text).items():
        if not _CARD.fullmatch(card) or not isinstance(keys, dict):
            continue
        of_card: dict[str, tuple[Sensor, float]] = {}
        for key, printed in keys.items():
            sensor, factor = _make_sensor(card, key, str(keys.get(_BUS, "")).lower())
            value = number(str(printed).strip("()").removesuffix("Mhz"))
            if not sensor or value is None or (sensor.quantity in ("energy", "power") and value == 0):
                continue
            if sensor.name not in of_card or key.startswith(_MEAN):
                of_card[sensor.name] = sensor, value * factor
        readings |= of_card.values()
    return dict(zip(_mark_repeated([*readings]), readings.values(), strict=True))


def _parse_answer(text: str) -> dict[str, Any]:
    """Returns the first object in the text that has a card; {} if there is none."""
    decoder = json.JSONDecoder()
    for start in islice(re.finditer(r"\{", text), _MOST_TRIES):
        try:
            answer, _ = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            continue
        if any(_CARD.fullmatch(key) for key in answer):
            return dict(answer)
    return {}


def _mark_repeated(sensors: list[Sensor]) -> list[Sensor]:
    """Returns the sensors; the power of a card is part of its energy counter, because both measure the same."""
    names = {sensor.name for sensor in sensors}
    holders = [f"{s.name.rpartition('/')[0]}/energy" if s.quantity == "power" else "" for s in sensors]
    return [replace(s, part_of=holder) if holder in names else s for s, holder in zip(sensors, holders, strict=True)]


def _make_sensor(card: str, key: str, bus: str) -> tuple[Sensor | None, float]:
    for pattern, end, quantity, factor in _KEYS:
        match = pattern.fullmatch(key)
        if match:
            part = f"-{slug(match[1])}" if match.groups() else ""
            sensor = Sensor(f"rocm/{card}/{end}{part}", quantity, "ROCm (rocm-smi)", key, scope="accelerators")
            return (replace(sensor, device=f"pci:{bus}") if bus else sensor), factor
    return None, 0.0


def find(root: Path) -> Found:
    """Returns the GPUs of this machine if AMD's driver for computing is loaded."""
    if not (root / "dev/kfd").exists():
        return Found()
    if not find_program("rocm-smi"):
        return Found(
            (), ("AMD's driver for GPUs is loaded, but rocm-smi is not in PATH. Install rocm-smi to read the GPUs.",)
        )
    try:
        return Found((Program(_COMMAND, parse),))
    except OSError as problem:
        return Found((), (f"AMD's GPUs cannot be read: {problem}.",))


kind = Kind("rocm", "AMD's GPUs: energy, power, temperature, clock (rocm-smi)", find)
