"""Ratios and other estimates as text, with their intervals."""

from collections.abc import Callable

from steelyard.model.units import significant

Writing = Callable[[float], str]


def write_ratio(ratio: float) -> str:
    """Returns a ratio with two decimals, a small or large one with three digits: '0.96', '12.3', '0.0123'."""
    return f"{ratio:.2f}" if 0.1 <= ratio < 10 else significant(ratio)


def write_interval(low: float | None, high: float | None, to: str = "–", write: Writing = write_ratio) -> str:
    """Returns '0.94 – 0.99', with '…' for an end that is unknown; '' if both are. `to` is the word between the ends."""
    if low is None and high is None:
        return ""
    first, last = ("…" if end is None else write(end) for end in (low, high))
    return f"{first} {to} {last}"


def with_interval(
    value: float, low: float | None, high: float | None, to: str = "–", write: Writing = write_ratio
) -> str:
    """Returns '0.96 (0.94 – 0.99)', without an interval if both ends are unknown."""
    inside = write_interval(low, high, to, write)
    return f"{write(value)} ({inside})" if inside else write(value)


def and_interval(value: float, low: float | None, high: float | None, to: str, write: Writing) -> str:
    """Returns '0.96, 0.94 to 0.99', as it stands within brackets; without an interval if both ends are unknown."""
    return ", ".join(filter(None, (write(value), write_interval(low, high, to, write))))
