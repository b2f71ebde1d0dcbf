"""What a request asks: its fields from the address and the body, and moments and steps as Prometheus writes them."""

import math
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import numpy as np

from steelyard.errors import UsageError
from steelyard.model.sensor import Moments

LARGEST = 64 * 1024  # bytes of a body
MOST_FIELDS = 100
MOST_POINTS = 11_000  # of a series, as in Prometheus
LATEST = 1 << 62  # ns since 1970
_STEP = re.compile(r"(?:\d{1,9}(?:ms|[smhdwy]))+")
_UNITS = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_UNITS |= {"d": 24 * _UNITS["h"], "w": 7 * 24 * _UNITS["h"], "y": 365 * 24 * _UNITS["h"]}

Fields = Mapping[str, Sequence[str]]


async def fields(request: Any) -> Fields:
    """Of the address and of a form that was posted, together. UsageError for what is none, or too much."""
    texts = [request.scope["query_string"].decode("latin-1")]
    if request.method == "POST":
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST:
                raise UsageError(f"The request's body is longer than {LARGEST} bytes.")
        texts.append(body.decode("latin-1"))
    found: dict[str, list[str]] = {}
    for text in texts:
        try:
            named = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
        except ValueError:
            raise UsageError(f"The request is no form in UTF-8 of at most {MOST_FIELDS} fields.") from None
        for name, values in named.items():
            found.setdefault(name, []).extend(values)
    return found


def one(of: Fields, name: str) -> str:
    """UsageError where it was not given."""
    if not of.get(name):
        raise UsageError(f"The parameter {name} is missing.")
    return of[name][0]


def moment(text: str, name: str) -> int:
    """ns since 1970: of seconds since then, or of a date and time as RFC 3339 writes it."""
    try:
        try:
            seconds = float(text)
        except ValueError:
            at = datetime.fromisoformat(text.strip())
            seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        found = round(seconds * 1000) * 10**6  # to a millisecond, as in Prometheus
    except (ValueError, OverflowError):
        found = -1
    if not 0 <= found < LATEST:
        raise UsageError(
            f"'{text}' (given by {name}) is no moment: expected seconds since 1970, or 2026-11-22T14:00:00Z."
        )
    return found


def instant(of: Fields) -> Moments:
    """The moment of a query; now where none is given."""
    text = of.get("time", ("",))[0]
    return np.array([moment(text, "time") if text else time.time_ns() // 10**6 * 10**6])


def steps(of: Fields) -> tuple[Moments, int]:
    """The moments from `start` to `end`, and the ns between two of them."""
    start, end = moment(one(of, "start"), "start"), moment(one(of, "end"), "end")
    step = _length(one(of, "step"))
    if end < start:
        raise UsageError("The end lies before the start.")
    if (end - start) // step >= MOST_POINTS:
        raise UsageError(
            f"exceeded maximum resolution of {MOST_POINTS:,} points per timeseries. Try a longer step (?step=XX)."
        )
    return np.arange(start, end + 1, step, dtype=np.int64), step


def _length(text: str) -> int:
    if _STEP.fullmatch(text):
        found = sum(int(n) * _UNITS[unit] for n, unit in re.findall(r"(\d+)(ms|[smhdwy])", text))
    else:
        try:
            seconds = float(text)
        except ValueError:
            seconds = math.nan
        found = round(seconds * 1000) * 10**6 if math.isfinite(seconds) else 0
    if not 0 < found < LATEST:
        raise UsageError(f"'{text}' (given by step) is no length of time above 0: expected seconds, or 1m30s.")
    return found
