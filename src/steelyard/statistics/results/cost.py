"""Cost of a unit of a kernel's work (one access, one byte), and the ratio of two costs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from steelyard.model import Attempted, Result
from steelyard.statistics.difference.compare import compare
from steelyard.statistics.results.result import rests_on, used_attempts
from steelyard.statistics.results.usable_samples import undisturbed
from steelyard.statistics.samples.interval import Array

# The first of these that a kernel counts is its unit: an access for a latency, a byte for a bandwidth.
UNITS = {"accesses": "access", "messages": "message", "launches": "start", "bytes": "byte", "flops": "flop"}

# Bounds of the work of an operation: values beyond them come from a damaged record, and ratios would overflow.
LEAST, MOST = 1e-18, 1e30


@dataclass(frozen=True)
class Cost:
    """Seconds for one `unit` ("access", "byte" …) of the work of all threads together."""

    seconds: float
    unit: str


@dataclass(frozen=True)
class Ratio:
    """The cost of one result over that of another, with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Returns whether the interval excludes equal costs."""
        return self.low > 1 or self.high < 1


def launches(result: Result) -> list[Array]:
    """Returns the seconds per unit of work: the samples of each launch that the result uses; empty without any."""
    return list(launches_by_number(result).values())


def launch_costs(result: Result) -> Mapping[int, float]:
    """Returns the median seconds per unit of work of each launch that the result uses, by its number."""
    costs = ((attempt, find_work(attempt)) for attempt in used_attempts(result))
    return {attempt.launch: attempt.seconds / part[0] for attempt, part in costs if part and attempt.seconds}


def launches_by_number(result: Result) -> Mapping[int, Array]:
    """Returns `launches` by the number of the launch, without launches that have a sample that is not a positive time."""
    rows: dict[int, Array] = {}
    for record in rests_on(result):
        part = find_work(record)
        samples = undisturbed(record)
        if part and samples and ((row := np.array(samples)) > 0).all() and (row < math.inf).all():
            rows[record.launch] = row / part[0]
    return rows


def cost(result: Result) -> Cost | None:
    """Returns the median of the launches' medians; None without usable measurements."""
    unit = next((part[1] for attempt in result.attempts if (part := find_work(attempt))), None)
    costs = launch_costs(result)
    return Cost(median(costs.values()), unit) if costs and unit else None


def ratio(a: Result, b: Result) -> Ratio | None:
    """Returns the cost of `a` over that of `b`; None if one has none, or they count different work."""
    cost_a, cost_b = cost(a), cost(b)
    if cost_a is None or cost_b is None or cost_a.unit != cost_b.unit:
        return None
    comparison = compare(launches(b), launches(a))
    return Ratio(comparison.ratio, comparison.low, comparison.high)


def find_work(record: Attempted) -> tuple[float, str] | None:
    """Returns the work of one operation, and its unit; None if the kernel counts none."""
    for name, unit in UNITS.items():
        count = record.work.get(name)
        if count is not None and LEAST < count < MOST:
            return count, unit
    return None
