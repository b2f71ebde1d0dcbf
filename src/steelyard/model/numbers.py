"""Reads the numbers of the command line: counts, sizes, durations, and the values of --set, each with its bounds."""

import math
import re
from collections.abc import Callable

from steelyard.errors import UsageError
from steelyard.model import Scalar
from steelyard.model.plain import scalar
from steelyard.model.units import parse_duration, parse_size

GREATEST = 2**63 - 1  # the largest number of the programs
LEAST_PERIOD = 1e-3  # seconds between two readings of a sensor
MOST_SLOTS = 4096  # of a host: more than the hardware threads of any machine (1792 in 2025)

SIZES = ("elements", "bytes", "message_bytes")  # parameters that accept 4k and 2m
COUNTS = ("threads", "ranks", "ranks_per_node")
WORDS = (
    "pinning",
    "page_size",
    "memory_policy",
    "kernel",
    "plant",
    "placement",
    "transport",
    "mapping",
    "mpi",
    "variant",
)


def whole(text: str, where: str, least: int = 1, most: int = GREATEST) -> int:
    """Parses a whole number; `where` names its origin ("(given by --seed)"). Raises UsageError outside of the bounds."""
    digits = text.strip()
    # Python refuses numbers with more than 4300 digits, which are out of bounds anyway.
    if re.fullmatch(r"[+-]?[0-9]{1,40}", digits) and least <= int(digits) <= most:
        return int(digits)
    upper = f" to {most}" if most < GREATEST else ""
    beyond = " It is too large." if re.fullmatch(r"[0-9]+", digits) and (len(digits) > 40 or int(digits) > most) else ""
    raise UsageError(f"'{text}' {where} is not valid: expected a whole number from {least}{upper}.{beyond}")


def option(name: str, least: int = -GREATEST, most: int = GREATEST) -> Callable[[object], int]:
    """Returns a function that reads the integer of a command-line option."""
    return lambda text: whole(str(text), f"(given by {name})", least, most)


def length_of_time(text: str, where: str) -> float:
    """Parses a duration into seconds: '5m' → 300.0. Raises UsageError unless it is a positive number with a unit of time."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def size(text: str, where: str) -> int:
    """Parses a size into bytes: '4k' → 4096. Raises UsageError unless it is a positive, whole number."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise UsageError(f"{where}: {error}.") from None


def host_and_port(place: str) -> tuple[str, str]:
    """Splits 'host:80' into host and port; the port is "" if the text does not end with one."""
    host, _, port = place.rpartition(":")
    return (host, port) if port.isascii() and port.isdecimal() else (place, "")


def period(every: str) -> float:
    """Parses the seconds between two readings (--every). Raises UsageError below one millisecond."""
    seconds = length_of_time(every, "The time between two readings (given by --every)")
    if seconds < LEAST_PERIOD:
        raise UsageError(f"'{every}' (given by --every) is too short: expected 1 ms or more between two readings.")
    return seconds


def setting(name: str, text: str) -> Scalar:
    """Parses a value of --set: a word, a size, or a finite number. Raises UsageError for other values."""
    where = f"(given by --set {name}=)"
    if name in WORDS:
        return text
    if name in COUNTS:
        return whole(text, where)
    if name in SIZES:
        return _size(name, text)
    value = scalar(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"'{text}' {where} is not a finite number. Use a finite number.")
    if isinstance(value, int) and abs(value) > GREATEST:
        raise UsageError(f"'{text}' {where} is too large: the largest whole number is {GREATEST}.")
    return value


def _size(name: str, text: str) -> int:
    if name == "message_bytes" and re.fullmatch("0+", text):
        return 0
    try:
        return parse_size(text)
    except ValueError as error:
        raise UsageError(f"--set {name}={text}: {error}") from None
