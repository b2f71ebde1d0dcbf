"""Moments in the forms that a user types."""

import time
from datetime import datetime

from steelyard.errors import UsageError
from steelyard.units import parse_duration


def moment(text: str, where: str, now: int | None = None) -> int:
    """Returns ns since 1970 for 'now', 'now-1h', a date and time ('2026-11-22 14:00', local without an offset), or ns."""
    present = time.time_ns() if now is None else now
    word = text.strip()
    try:
        if word == "now":
            return present
        if word.startswith("now-"):
            return present - round(parse_duration(word[4:]) * 1e9)
        if word.isdigit():
            return int(word)
        return round(datetime.fromisoformat(word).timestamp() * 1e9)
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"'{text}' {where} is not a valid time. Write 'now', 'now-1h', a date and time such as '2026-11-22 14:00', "
            "or ns since 1970."
        ) from None
