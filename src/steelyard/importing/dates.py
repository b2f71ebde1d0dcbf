"""Reads dates as tools print them. A date whose day and month could be confused is no date."""

import re
from datetime import UTC, datetime

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<word>{'|'.join(_MONTHS)})[a-z]*\.?"
_TIME = r"(?P<h>\d\d?):(?P<min>\d\d)(?::(?P<s>\d\d))?(?:\s*(?P<half>[AP]\.?M\b))?"
_ZONE = rf"(?!(?:{'|'.join(_MONTHS)})\b)(?-i:[A-Z]{{2,5}})"  # a weekday and a month in another language look alike: mar 7 nov
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<!\d)(?P<y>\d{{4}})[-./](?P<m>\d\d)[-./](?P<d>\d\d)(?:(?:[T _-]|, ){_TIME})?(?!\d)",  # ISO 8601
        r"(?<!\d)(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)(?:[T_-]?(?P<h>\d\d)(?P<min>\d\d)(?P<s>\d\d))?(?!\d)",
        rf"\b{_MONTH}\s+(?P<d>\d\d?),?\s+(?:{_TIME}\s+)?(?:{_ZONE}\s+)?(?P<y>\d{{4}})\b",  # ctime
        rf"\b(?P<d>\d\d?)[ -]?{_MONTH}[ -]?(?P<y>\d{{4}})\b(?:\s+(?:at\s+)?{_TIME})?",
    )
)
_EPOCH = re.compile(r"\s*(1\d{9})(?:\.\d+)?\s*")  # seconds since 1970, from 2001 to 2033
FOREIGN_MONTHS = {  # German and French ones that begin with other letters
    "maerz": "mar", "mai": "may", "okt": "oct", "dez": "dec", "fev": "feb", "avr": "apr", "juin": "jun", "juil": "jul",
    "aout": "aug",
}  # fmt: skip
_FOREIGN = re.compile(rf"(?<![a-z])(?:{'|'.join(FOREIGN_MONTHS)})", re.IGNORECASE)
FIRST, LAST = 1985, 2040  # years of a plausible date


def read_date(text: str) -> str:
    """Returns the date, with the time if it is printed, as in ISO 8601; "" if the text has no date that is certain.

    The time stays that of the place where it was printed: names of time zones are ambiguous.
    """
    if seconds := _EPOCH.fullmatch(text[:40]):
        return datetime.fromtimestamp(int(seconds[1]), UTC).isoformat(timespec="seconds")
    for form in _FORMS:
        for match in form.finditer(text[:200]):
            if date := _date(match.groupdict()):
                return date
    return ""


def read_date_of_name(text: str) -> str:
    """Returns the date that a part of a name states; "." and "_" may divide its numbers, too. "" if none is certain."""
    text = _FOREIGN.sub(lambda month: FOREIGN_MONTHS[month[0].lower()], text)
    text = re.sub(r"(\d{4})[-_.]([a-z]+)[-_.](\d\d?)", r"\2 \3 \1", text, flags=re.IGNORECASE)
    compact = re.match(r"(?:19|20)\d{6}(?=[-_T.]?\d{4})", text)  # of 202302081527 the day
    return read_date(re.sub(r"(?<=\d)[_.](?=\d\d)", "-", text, count=2)) or read_date(compact[0] if compact else "")


def _date(parts: dict[str, str | None]) -> str:
    month = parts.get("m") or 1 + _MONTHS.index((parts.get("word") or "")[:3].lower())
    try:
        day = datetime(int(parts["y"] or 0), int(month), int(parts["d"] or 0))
        if not FIRST <= day.year <= LAST:
            return ""
        if parts["h"] is None or parts.get("half"):
            return day.date().isoformat()
        return day.replace(hour=int(parts["h"]), minute=int(parts["min"] or 0), second=int(parts["s"] or 0)).isoformat()
    except ValueError:
        return ""
