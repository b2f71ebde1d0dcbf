"""Texts of users and devices: the settings of a device, names of sensors, and printed units."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from steelyard.errors import UsageError, nearest
from steelyard.model.sensor import Quantity, Scope

# Units that devices and their programs print, and the factor to the unit of the quantity.
_PRINTED: dict[str, tuple[Quantity, float]] = {
    "W": ("power", 1.0),
    "Watts": ("power", 1.0),
    "kW": ("power", 1e3),
    "mW": ("power", 1e-3),
    "uW": ("power", 1e-6),
    "µW": ("power", 1e-6),
    "J": ("energy", 1.0),
    "kJ": ("energy", 1e3),
    "mJ": ("energy", 1e-3),
    "uJ": ("energy", 1e-6),
    "µJ": ("energy", 1e-6),
    "Wh": ("energy", 3600.0),
    "kWh": ("energy", 3.6e6),
    "C": ("temperature", 1.0),
    "°C": ("temperature", 1.0),
    "degrees C": ("temperature", 1.0),
    "rpm": ("fan", 1.0),
    "RPM": ("fan", 1.0),
    "Hz": ("clock", 1.0),
    "kHz": ("clock", 1e3),
    "MHz": ("clock", 1e6),
    "Mhz": ("clock", 1e6),
    "GHz": ("clock", 1e9),
}
_SCOPES: tuple[Scope, ...] = ("", "node", "host", "processors", "memory", "accelerators", "rest")
MOST_DIGITS = 40  # digits of a printed number; no device prints more, and more would be slow to convert


def parse_unit(unit: str) -> tuple[Quantity, float] | None:
    """Returns the quantity of a printed unit, and its factor to the SI unit: 'mW' → ('power', 0.001). None: not known."""
    return _PRINTED.get(unit.strip())


def unit_of(unit: str, where: str) -> tuple[Quantity, float]:
    """Returns the result of `parse_unit` for a unit of a user; `where` says where it was given. UsageError if unknown."""
    result = parse_unit(unit)
    if result is None:
        raise UsageError(f"'{unit}' {where} is not a unit of a sensor. Use one of {', '.join(_PRINTED)}.")
    return result


def number(text: str) -> float | None:
    """Returns the finite decimal number in `text`; None for anything else."""
    stripped = text.strip()
    if len(stripped) > MOST_DIGITS or not re.fullmatch(
        r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", stripped
    ):
        return None
    value = float(stripped)
    return value if math.isfinite(value) else None


def slug(text: str) -> str:
    """Returns a label as one part of a sensor's name, without special signs of topics: 'Package id 0' → 'package-id-0'."""
    return re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-") or "unnamed"


def number_duplicates(names: Sequence[str]) -> list[str]:
    """Returns the names in their order; a repeated name gets a number: fan, fan → fan, fan-2."""
    counts: Counter[str] = Counter()
    taken = set(names)
    result = []
    for name in names:
        counts[name] += 1
        chosen = name
        while counts[name] > 1 and (chosen := f"{name}-{counts[name]}") in taken:
            counts[name] += 1
        taken.add(chosen)
        result.append(chosen)
    return result


def expect(kind: str, settings: Mapping[str, str], allowed: Sequence[str], needed: Sequence[str] = ()) -> None:
    """Raises UsageError for unknown settings, and for a missing one that the kind of sensors needs."""
    for name in settings:
        if name not in allowed:
            raise UsageError(f"The sensor '{kind}' has no setting '{name}'. {nearest(name, allowed)}")
    for name in needed:
        if not settings.get(name):
            raise UsageError(f"The sensor '{kind}' needs the setting '{name}'. Write --sensor {kind}:{name}=….")


def scope_of(kind: str, settings: Mapping[str, str]) -> Scope:
    """Returns what the sensor measures, as the user says it; "" without a setting. UsageError for an unknown word."""
    word = settings.get("scope", "")
    for scope in _SCOPES:
        if word == scope:
            return scope
    expected = ", ".join(filter(None, _SCOPES))
    raise UsageError(f"'{word}' (given by --sensor {kind}:scope=) is not valid: expected {expected}.")


def positive(kind: str, settings: Mapping[str, str], name: str, default: float | None = None) -> float:
    """Returns a setting as a number of 0 or more. UsageError for anything else, and if it is missing without a default."""
    if name not in settings and default is not None:
        return default
    value = number(settings.get(name, ""))
    if value is None or value < 0:
        raise UsageError(
            f"'{settings.get(name, '')}' (given by --sensor {kind}:{name}=) is not valid: expected a number of 0 or more."
        )
    return value
