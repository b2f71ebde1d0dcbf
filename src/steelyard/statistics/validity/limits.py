"""Values against a limit that no value can exceed: above it, the limit or the value is wrong."""

from dataclasses import replace

from steelyard.model import Limit, Value

# Relative uncertainty of a limit by its unit: clocks move and are read to half a percent, rates of modules and links are exact.
UNCERTAINTY = {"flop/s": 0.03}
OF_RATES = 0.01


def find_share(value: Value, limit: Limit | None) -> float | None:
    """Returns the share of the limit that is reached; for a cost, limit / value. None without a limit."""
    if limit is None or value.value <= 0 or limit.value <= 0:
        return None
    return limit.value / value.value if value.better == "lower" else value.value / limit.value


def is_above(value: Value, limit: Limit | None, uncertainty: float | None = None) -> bool:
    """Returns whether the value is above its limit by more than its interval and the uncertainty of the limit.

    `uncertainty` is relative (None: the usual one of limits with this unit).
    """
    nearer = (value.high if value.better == "lower" else value.low) or value.value
    known = UNCERTAINTY.get(limit.unit, OF_RATES) if limit and uncertainty is None else uncertainty or 0.0
    return all((find_share(replace(value, value=end), limit) or 0.0) > 1 + known for end in (nearer, value.value))
