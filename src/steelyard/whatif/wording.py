"""Reads the values of a scenario: '2.5us', '100Gbit/s', '10%'. Each kind of value has a `Key`, which also writes it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.model import Scalar

_TIMES = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
LONGEST = 53 * 86400.0  # s: the end of what the engine can predict
_SIZES = {"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30}
_RATES = {"b/s": 1.0, "kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9, "kbit/s": 125.0, "mbit/s": 125e3, "gbit/s": 125e6}

Reader = Callable[[str], Any]


@dataclass(frozen=True)
class Key:
    """A key of a scenario. `read` raises ValueError with a sentence; `write` gives what `read` reads again, exactly."""

    read: Reader
    write: Callable[[Any], Scalar | bool] = lambda value: value
    is_list: bool = True  # several values make a sweep


@dataclass(frozen=True)
class Named:
    """A table whose keys the user chooses; `read` raises ValueError for a key that is not allowed."""

    read: Reader
    item: Any  # a Key, or the keys of a table


def parse_time(text: str) -> float:
    """Returns seconds: '2.5us' → 2.5e-06; '0' needs no unit."""
    return _parse_quantity(text, _TIMES, "a length of time such as 2500ns, 2.5us or 200ms")


def parse_size(text: str) -> int:
    """Returns bytes: '64k' → 65536."""
    return round(_parse_quantity(text, _SIZES, "a size such as 1448 or 64k"))


def make_whole_reader(least: int, most: int) -> Reader:
    """Returns a reader of whole numbers between two bounds."""

    def read(text: str) -> int:
        value = _parse_number(text, "a whole number")
        exact = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else int(value)
        if value != int(value) or not least <= exact <= most:
            raise ValueError(f"'{text}' is not a whole number from {least} to {most}")
        return exact

    return read


def parse_time_per_byte(text: str) -> float:
    """Returns s/B: '6ns/B', or the rate that it means, '167MB/s'."""
    expected = "a time for each byte such as 0.08ns/B, or a rate such as 12.5GB/s or 100Gbit/s"
    lower = text.lower()
    if lower.endswith("/b"):
        return _parse_quantity(lower.removesuffix("/b"), _TIMES, expected)
    rate = _parse_quantity(lower, _RATES, expected)
    return 1 / rate if rate else 0.0


def parse_share(text: str) -> float:
    """Returns a number from 0 to 1: '0.1' or '10%'."""
    value = _parse_number(text.removesuffix("%"), "a share such as 0.1 or 10%") / (100 if text.endswith("%") else 1)
    if not 0 <= value <= 1:
        raise ValueError(f"'{text}' is not a share: expected 0 to 1, or 0% to 100%")
    return value


def parse_factor(text: str) -> float:
    """Returns a number above 0."""
    value = _parse_number(text, "a factor such as 1.1")
    if not value > 0:
        raise ValueError(f"'{text}' is not a factor: expected a number above 0")
    return value


def parse_switch(text: str) -> bool:
    """Returns whether the text is 'on'; 'off' is the other one."""
    if text not in ("on", "off"):
        raise ValueError(f"'{text}' is neither on nor off")
    return text == "on"


def one_of(*words: str) -> Reader:
    """Returns a reader that allows these words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"'{text}' is not allowed: expected {', '.join(words[:-1])} or {words[-1]}")
        return text

    return read


TIME = Key(parse_time, lambda seconds: f"{seconds!r}s")
TIME_PER_BYTE = Key(parse_time_per_byte, lambda seconds: f"{seconds!r}s/B")
SIZE, SHARE, FACTOR, SWITCH = Key(parse_size), Key(parse_share), Key(parse_factor), Key(parse_switch)
COUNT = Key(make_whole_reader(1, 1 << 30))
NAME = Key(str, is_list=False)


def _parse_quantity(text: str, units: Mapping[str, float], expected: str) -> float:
    stripped = text.strip().lower()
    number = stripped.rstrip("abcdefghijklmnopqrstuvwxyzµ/ ")
    unit = stripped[len(number) :].strip()
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (0 <= value < math.inf) or (unit not in units and (value or unit)):
        raise ValueError(f"'{text}' is not {expected}")
    if units is _TIMES and not value * units.get(unit, 1) <= LONGEST:
        raise ValueError(f"'{text}' is too long: expected at most 53 days")
    return value * units.get(unit, 1)


def _parse_number(text: str, expected: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"'{text}' is not {expected}")
    return value
