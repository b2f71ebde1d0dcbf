"""Values against a limit that no value can exceed: above it, the limit or the value is wrong."""

from steelyard.model import Limit, Value

# Relative uncertainty of a limit by its unit: clocks move and are read to half a percent, rates of modules and links are exact.
UNCERTAINTY = {"flop/s": 0.03}
OF_RATES = 0.01


def share(value: Value, limit: Limit | None) -> float | None:
    """Returns the share of the limit that is reached; for a cost, limit / value. None without a limit."""
    if limit is None or value.value <= 0 or limit.value <= 0:
        return None
    return _share(value.value, limit.value, value.better)


def is_above(value: Value, limit: Limit | None, uncertainty: float | None = None) -> bool:
    """Returns whether the value is above its limit by more than its interval and the uncertainty of the limit.

    `uncertainty` is relative (None: the usual one of limits with this unit).
    """
    whole = share(value, limit)
    if whole is None or limit is None:
        return False
    nearer = (value.high if value.better == "lower" else value.low) or value.value
    allowed = 1 + (UNCERTAINTY.get(limit.unit, OF_RATES) if uncertainty is None else uncertainty)
    return min(whole, _share(nearer, limit.value, value.better)) > allowed


def _share(value: float, limit: float, better: str) -> float:
    return limit / value if better == "lower" else value / limit
