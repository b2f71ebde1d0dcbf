"""Units as programs print them, in SI."""

_PREFIXES = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_UNITS = ("s", "flop/s", "B/s", "update/s", "step/s", "J", "W", "B", "Hz")
# What has another name or no prefix. ns/day: nanoseconds of the simulated world a day of the real one.
_OTHERS = {"1": ("1", 1.0), "min": ("s", 60.0), "h": ("s", 3600.0), "ns/day": ("s/s", 1e-9 / 86400)}


def si(unit: str) -> tuple[str, float] | None:
    """The SI unit, and how much of it one of `unit` is; None where it is not known."""
    if unit in _OTHERS:
        return _OTHERS[unit]
    found = [
        (base, _PREFIXES[unit[: -len(base)]])
        for base in _UNITS
        if unit.endswith(base) and unit[: -len(base)] in _PREFIXES
    ]
    return max(found, key=lambda each: len(each[0]), default=None)
