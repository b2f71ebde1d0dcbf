"""Units that programs print, in SI units."""

_PREFIXES = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_UNITS = ("s", "flop/s", "B/s", "update/s", "step/s", "J", "W", "B", "Hz")
# Units with another name or without a prefix. ns/day: simulated nanoseconds for each day of computing.
_OTHERS = {"1": ("1", 1.0), "min": ("s", 60.0), "h": ("s", 3600.0), "ns/day": ("s/s", 1e-9 / 86400)}


def convert_to_si(unit: str) -> tuple[str, float] | None:
    """Returns the SI unit and the factor from `unit` to it; None for an unknown unit."""
    if unit in _OTHERS:
        return _OTHERS[unit]
    candidates = [
        (base, _PREFIXES[unit[: -len(base)]])
        for base in _UNITS
        if unit.endswith(base) and unit[: -len(base)] in _PREFIXES
    ]
    return max(candidates, key=lambda candidate: len(candidate[0]), default=None)
