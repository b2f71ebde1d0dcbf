"""Words of users and of devices: the settings of a device, names of sensors, and units as devices print them."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from steelyard.errors import UsageError, nearest
from steelyard.model.sensor import Quantity

# What devices and their programs print, and its factor to the unit of the quantity.
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
MOST_DIGITS = 40  # of a printed number; more is none of a device's, and slow to convert


def measured(unit: str) -> tuple[Quantity, float] | None:
    """Returns the quantity of a printed unit, and its factor to the SI unit: 'mW' → ('power', 0.001). None: not known."""
    return _PRINTED.get(unit.strip())


def unit_of(unit: str, where: str) -> tuple[Quantity, float]:
    """As `measured`, for a unit that a user gives; `where` says where it stands. UsageError where it is not known."""
    known = measured(unit)
    if known is None:
        raise UsageError(f"'{unit}' {where} is not a unit of a sensor. Use one of {', '.join(_PRINTED)}.")
    return known


def number(text: str) -> float | None:
    """The finite decimal number that `text` is; None for anything else."""
    stripped = text.strip()
    if len(stripped) > MOST_DIGITS or not re.fullmatch(
        r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", stripped
    ):
        return None
    value = float(stripped)
    return value if math.isfinite(value) else None


def slug(text: str) -> str:
    """A label as one part of a sensor's name, without signs that mean something in a topic: 'Package id 0' → 'package-id-0'."""
    return re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-") or "unnamed"


def distinct(names: Sequence[str]) -> list[str]:
    """The names in their order; one that came before gets its number: fan, fan → fan, fan-2."""
    observed: Counter[str] = Counter()
    taken = set(names)
    result = []
    for name in names:
        observed[name] += 1
        chosen = name
        while observed[name] > 1 and (chosen := f"{name}-{observed[name]}") in taken:
            observed[name] += 1
        taken.add(chosen)
        result.append(chosen)
    return result


def expect(kind: str, settings: Mapping[str, str], known: Sequence[str], needed: Sequence[str] = ()) -> None:
    """Refuses settings that a kind of sensors does not know, and the lack of one that it needs, with a UsageError."""
    for name in settings:
        if name not in known:
            raise UsageError(f"The sensor '{kind}' has no setting '{name}'. {nearest(name, known)}")
    for name in needed:
        if not settings.get(name):
            raise UsageError(f"The sensor '{kind}' needs the setting '{name}'. Write --sensor {kind}:{name}=….")


def positive(kind: str, settings: Mapping[str, str], name: str, default: float | None = None) -> float:
    """The number, 0 or more, that a setting is. UsageError for anything else, and where it is missing without a default."""
    if name not in settings and default is not None:
        return default
    value = number(settings.get(name, ""))
    if value is None or value < 0:
        raise UsageError(
            f"'{settings.get(name, '')}' (given by --sensor {kind}:{name}=) is not valid: expected a number of 0 or more."
        )
    return value
