"""Prefixes and units of printed numbers; all other modules compute in SI units."""

import math
from collections.abc import Mapping

_PREFIXES = (
    (1e18, "E"),
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
)
_BINARY = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_FACTORS = {prefix: factor for factor, prefix in _PREFIXES if prefix} | {"u": 1e-6}
LOWER = ("s", "J", "W", "cycle")  # units of which less is better
# Units that take no prefix: one on a count or on a ratio would mislead, and "ns/day" has its own.
_BARE = {"", "1", "cycle", "cycle/access", "x", "ns/day"}


def quantity(value: float | None, unit: str, digits: int = 3) -> str:
    """Returns `value` with a prefix such that 1 ≤ mantissa < 1000: 3.05e10, 'B/s' → '30.5 GB/s'. None → 'unknown'."""
    if value is None:
        return "unknown"
    if unit.startswith("1/"):
        unit = unit[1:]  # '2.25 k/s', not '2.25 k1/s'
    if unit == "%":
        return f"{significant(value * 100, digits)} %"
    if not math.isfinite(value):
        return f"{value} {unit}"
    if value == 0 or unit in _BARE:
        return f"{significant(value, digits)} {unit}".rstrip()
    factor, prefix = next(((f, p) for f, p in _PREFIXES if abs(value) >= f * 0.9995), _PREFIXES[-1])
    return f"{significant(value / factor, digits)} {prefix}{unit}"


def span(low: float, high: float, unit: str, to: str = " – ", near: float | None = None) -> str:
    """Returns a range with one prefix, and enough digits to distinguish its ends: '0.537 – 1.06 Tflop/s'.

    The prefix is that of the value `near`, beside which the range stands, else the greater one. Ends that differ by a factor of
    more than 100 each have their unit.
    """
    (least, of_least), (most, of_most) = split_span(low, high, unit, near)
    return f"{least if of_least == of_most else f'{least} {of_least}'}{to}{f'{most} {of_most}'.rstrip()}"


def split_span(
    low: float, high: float, unit: str, near: float | None = None
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Returns the number and the unit of each end of a range, as in `span`."""
    for digits in (3, 4, 5):
        first, last = (quantity(end, unit, digits).partition(" ")[::2] for end in (low, high))
        if first != last or low == high:
            break
    if first[1] != last[1] and (low == 0 or high <= 100 * low):
        of = last[1] if near is None else quantity(near, unit).partition(" ")[2]
        first, last = ((significant(end / _find_factor(of, unit), digits), of) for end in (low, high))
    return (first[0], first[1]), (last[0], last[1])


def within(value: float, unit: str, near: float) -> str:
    """Returns the number of `value` with the prefix of the value `near`, without the unit: 1.2e10 near 3e11 B/s → '12.0'."""
    return significant(value / _find_factor(quantity(near, unit).partition(" ")[2], unit))


def _find_factor(prefixed: str, unit: str) -> float:
    """Returns the factor of the prefix that a unit has: "Gflop/s", "flop/s" → 1e9."""
    return next((f for f, prefix in _PREFIXES if prefixed == f"{prefix}{unit.removeprefix('1')}"), 1.0)


def nominal(value: float, unit: str, digits: int = 3) -> str:
    """Returns a quantity without zeros behind the decimal point: 0.2, 's' → '200 ms'; 1.5e9, 'bit/s' → '1.5 Gbit/s'."""
    number, _, rest = quantity(value, unit, digits).partition(" ")
    return f"{float(number):g} {rest}"


def percent(part: float, decimals: int = 0, signed: bool = False) -> str:
    """Returns a share as a percentage: 0.482 → '48 %', with a decimal '48.2 %', signed '+48 %'."""
    return f"{100 * part:{'+' if signed else ''}.{decimals}f} %"


def significant(value: float, digits: int = 3) -> str:
    """Returns `value` with this number of significant digits; only very small and large ones have an exponent: '0.0123'."""
    if value == 0:
        return "0"
    if not 1e-6 <= abs(value) < 1e9:
        return f"{value:.{digits}g}"
    rounded = float(f"{value:.{digits}g}")  # 0.9996 has the decimals of 1.00
    return (
        f"{rounded:.{max(0, digits - 1 - math.floor(math.log10(abs(rounded))))}f}"
        if abs(value) < 10**digits
        else f"{value:.0f}"
    )


def grouped(value: float) -> str:
    """Returns `value` with three significant digits, and thousands with commas: '0.0123', '2,560'."""
    return f"{round(value):,}" if abs(value) >= 999.5 else f"{value:.3g}"


def binary_size(count: int) -> str:
    """Returns a size of memory with a binary prefix and no needless decimals: 50331648 → '48 MiB'."""
    for factor, name in _BINARY:
        if count >= factor:
            return f"{count // factor if count % factor == 0 else significant(count / factor)} {name}"
    return f"{count} B"


def duration(seconds: float) -> str:
    """Returns a duration in words: 75 → '1 min 15 s'."""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if rest else f"{minutes} min"


_TIMES = {"ms": 1e-3, "": 1} | {
    word: seconds
    for words, seconds in (
        ("s sec secs second seconds", 1),
        ("m min mins minute minutes", 60),
        ("h hour hours", 3600),
        ("d day days", 86400),
    )
    for word in words.split()
}
_SIZES = {
    "": 1,
    "b": 1,
    "k": 1 << 10,
    "kib": 1 << 10,
    "m": 1 << 20,
    "mib": 1 << 20,
    "g": 1 << 30,
    "gib": 1 << 30,
    "t": 1 << 40,
    "tib": 1 << 40,
}
_LENGTHS = {"mm": 1e-3, "cm": 1e-2, "in": 0.0254, "pt": 0.0254 / 72}


def parse_duration(text: str) -> float:
    """Parses a duration: '5m' → 300.0 seconds. Raises ValueError unless it is a positive number with ms, s, m, h or d."""
    return _parse_quantity(text, _TIMES, "a length of time such as '90s', '5m' or '1h'")


def parse_size(text: str) -> int:
    """Parses a size: '48k' or '48 KiB' → 49152 bytes. Raises ValueError unless it is a positive, whole number."""
    expected = "a size such as '4k', '2m' or '1g'"
    value = _parse_quantity(text, _SIZES, expected)
    # 1.1m is rounded, but a fraction of a byte or element without a prefix is a mistake.
    if value < 1 or (text.strip()[-1].isdigit() and value != int(value)):
        raise ValueError(f"'{text}' is not {expected}: the number of bytes must be whole")
    return round(value)


def parse_length(text: str) -> float:
    """Parses a length: '85mm' → 0.085 m. Raises ValueError unless it is a positive number with mm, cm, in or pt."""
    return _parse_quantity(text, _LENGTHS, "a length such as '85mm', '8.5cm', '3.3in' or '240pt'")


def parse_quantity(text: str, unit: str) -> float:
    """Parses a value as it is printed: '36.6 GB/s' with the unit 'B/s' → 36.6e9. ValueError unless it is positive and finite."""
    expected = f"a value such as '3.5 {unit}', also with a prefix such as k, M, G, m, µ (or u), n"
    unit = unit.removeprefix("1")  # 1/s is printed as /s
    head, found = text.strip().removesuffix(unit).strip(), text.strip().endswith(unit)
    factor = _FACTORS.get(head[-1:])
    try:
        value = float(head if factor is None else head[:-1]) * (factor or 1.0) * (0.01 if unit == "%" else 1.0)
    except ValueError:
        found, value = False, 0.0
    if not (found and 0 < value < math.inf):
        raise ValueError(f"'{text}' is not {expected}")
    return value


def _parse_quantity(text: str, factors: Mapping[str, float], expected: str) -> float:
    stripped = text.strip().lower()
    number = stripped.rstrip("abcdefghijklmnopqrstuvwxyz ")
    suffix = stripped[len(number) :].strip()
    try:
        value = float(number) * factors[suffix]
    except (ValueError, KeyError):
        raise ValueError(f"'{text}' is not {expected}") from None
    if not value > 0 or not math.isfinite(value):
        raise ValueError(f"'{text}' is not {expected}: it must be positive and finite")
    return value
