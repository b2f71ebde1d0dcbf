"""Settings as users say them: 'L=2.5us,G=6ns/B', where a value may be a list, 'L=1us:10us:100us', which makes a sweep."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from steelyard.errors import UsageError, nearest

_TIMES = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_SIZES = {"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30}
_RATES = {"b/s": 1.0, "kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9, "kbit/s": 125.0, "mbit/s": 125e3, "gbit/s": 125e6}

Reader = Callable[[str], Any]


def settings(text: str, readers: Mapping[str, Reader], option: str) -> Iterator[dict[str, Any]]:
    """Each combination of the values in `text`, the last list fastest. UsageError names the option and the word."""
    lists: dict[str, list[Any]] = {}
    for word in text.split(","):
        name, equals, values = (part.strip() for part in word.partition("="))
        if not equals or not values:
            raise UsageError(f"{option}: '{word}' is not of the form name=value. Known are: {', '.join(readers)}.")
        if name not in readers:
            raise UsageError(f"{option} knows no '{name}'. {nearest(name, readers)}")
        if name in lists:
            raise UsageError(f"{option} names '{name}' twice; a list is written with colons, as {name}=1:2.")
        lists[name] = [_read(readers[name], value.strip(), f"{option}, {name}") for value in values.split(":")]
    for chosen in itertools.product(*lists.values()):
        yield dict(zip(lists, chosen, strict=True))


def values(text: str, reader: Reader, option: str) -> list[Any]:
    """A list of one kind: '1:1.1:2'."""
    return [_read(reader, value.strip(), option) for value in text.split(":")]


def time(text: str) -> float:
    """'2.5us' → 2.5e-06 s; '0' needs no unit."""
    return _quantity(text, _TIMES, "a length of time such as 2500ns, 2.5us or 200ms")


def size(text: str) -> int:
    """'64k' → 65536 B."""
    return round(_quantity(text, _SIZES, "a size such as 1448 or 64k"))


def count(text: str) -> int:
    """A whole number above 0."""
    value = _number(text, "a whole number above 0")
    if value < 1 or value != int(value) or value > 1 << 30:
        raise ValueError(f"'{text}' is not a whole number above 0")
    return int(value)


def time_per_byte(text: str) -> float:
    """'6ns/B' or the rate that it means, '167MB/s' → s/B."""
    expected = "a time for each byte such as 0.08ns/B, or a rate such as 12.5GB/s or 100Gbit/s"
    stripped = text.lower()
    if stripped.endswith("/b"):
        return _quantity(stripped.removesuffix("/b"), _TIMES, expected)
    rate = _quantity(stripped, _RATES, expected)
    return 1 / rate if rate else 0.0


def share(text: str) -> float:
    """A number from 0 to 1, or '10%'."""
    value = _number(text.removesuffix("%"), "a share such as 0.1 or 10%") / (100 if text.endswith("%") else 1)
    if not 0 <= value <= 1:
        raise ValueError(f"'{text}' is no share: expected 0 to 1, or 0% to 100%")
    return value


def factor(text: str) -> float:
    """A number above 0."""
    value = _number(text, "a factor such as 1.1")
    if not value > 0:
        raise ValueError(f"'{text}' is no factor: expected a number above 0")
    return value


def switch(text: str) -> bool:
    """'on' or 'off'."""
    if text not in ("on", "off"):
        raise ValueError(f"'{text}' is neither on nor off")
    return text == "on"


def _read(reader: Reader, text: str, where: str) -> Any:
    try:
        return reader(text)
    except ValueError as error:
        raise UsageError(f"{where}: {error}.") from None


def _quantity(text: str, units: Mapping[str, float], expected: str) -> float:
    stripped = text.strip().lower()
    number = stripped.rstrip("abcdefghijklmnopqrstuvwxyzµ/ ")
    unit = stripped[len(number) :].strip()
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (0 <= value < math.inf) or (unit not in units and (value or unit)):
        raise ValueError(f"'{text}' is not {expected}")
    return value * units.get(unit, 1)


def _number(text: str, expected: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"'{text}' is not {expected}")
    return value
