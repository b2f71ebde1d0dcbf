"""Reads the numbers of the command line: counts, sizes, lengths of time, and the values of --set, each with its bounds."""

import math
import re
from collections.abc import Callable

from steelyard.errors import UsageError
from steelyard.model import Scalar
from steelyard.model.plain import scalar
from steelyard.units import parse_duration, parse_size

GREATEST = 2**63 - 1  # what the programs can count
LEAST_PERIOD = 1e-3  # seconds between two readings of a sensor
MOST_SLOTS = 4096  # of a host: more than any machine has hardware threads (the largest of today have 1792)

SIZES = ("elements", "bytes", "message_bytes")  # parameters for which 4k and 2m are understood
COUNTS = ("threads", "ranks", "ranks_per_node")
WORDS = ("pinning", "page_size", "memory_policy", "kernel", "plant", "placement", "transport", "mapping", "mpi")


def whole(text: str, where: str, least: int = 1, most: int = GREATEST) -> int:
    """The whole number that `text` is; `where` says where it stands ("(given by --seed)"). UsageError outside of the bounds."""
    digits = text.strip()
    # Python reads no number of more than 4300 digits, and none of so many is within the bounds.
    if re.fullmatch(r"[+-]?[0-9]{1,40}", digits) and least <= int(digits) <= most:
        return int(digits)
    upper = f" to {most}" if most < GREATEST else ""
    beyond = " It is too large." if re.fullmatch(r"[0-9]+", digits) and (len(digits) > 40 or int(digits) > most) else ""
    raise UsageError(f"'{text}' {where} is not valid: expected a whole number from {least}{upper}.{beyond}")


def option(name: str, least: int = -GREATEST, most: int = GREATEST) -> Callable[[object], int]:
    """Returns a function that reads the integer of a command-line option."""
    return lambda text: whole(str(text), f"(given by {name})", least, most)


def length_of_time(text: str, where: str) -> float:
    """Seconds: '5m' → 300.0. UsageError for anything else than a positive number with a unit of time."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def size(text: str, where: str) -> int:
    """Bytes: '4k' → 4096. UsageError for anything else than a positive, whole number with a binary prefix."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise UsageError(f"{where}: {error}.") from None


def host_and_port(place: str) -> tuple[str, str]:
    """Splits 'host:80' into host and port; the port is "" if the text does not end with one."""
    host, _, port = place.rpartition(":")
    return (host, port) if port.isascii() and port.isdecimal() else (place, "")


def period(every: str) -> float:
    """Seconds between two readings, as --every names them. UsageError for less than a millisecond, which no reading takes."""
    found = length_of_time(every, "The time between two readings (given by --every)")
    if found < LEAST_PERIOD:
        raise UsageError(f"'{every}' (given by --every) is too short: expected 1 ms or more between two readings.")
    return found


def setting(name: str, text: str) -> Scalar:
    """A value of --set: a word, a size, a whole number or another one that is finite. UsageError for what is none of them."""
    where = f"(given by --set {name}=)"
    if name in WORDS:
        return text
    if name in COUNTS:
        return whole(text, where)
    if name in SIZES:
        return _size(name, text)
    value = scalar(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"'{text}' {where} is no number to measure with: expected a finite one.")
    if isinstance(value, int) and abs(value) > GREATEST:
        raise UsageError(f"'{text}' {where} is too large: whole numbers reach to {GREATEST}.")
    return value


def _size(name: str, text: str) -> int:
    if name == "message_bytes" and re.fullmatch("0+", text):
        return 0
    try:
        return parse_size(text)
    except ValueError as error:
        raise UsageError(f"--set {name}={text}: {error}") from None
