"""What one unit of a kernel's work costs (one access, one byte), and by how much two results differ in it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from steelyard.model import Record, Result
from steelyard.once_per_object import once
from steelyard.statistics.difference.compare import compare
from steelyard.statistics.results.result import rests_on, undisturbed
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.summary import medians

# The first of these that a kernel counts is its unit: an access is what a latency is reported for, a byte what a
# bandwidth is reported for.
UNITS = {"accesses": "access", "messages": "message", "bytes": "byte", "flops": "flop"}

# Of any unit's work in one operation: beyond, a damaged record was read, and ratios of costs would overflow.
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
        """Whether the interval excludes that both cost the same."""
        return self.low > 1 or self.high < 1


def launches(result: Result) -> list[Array]:
    """Seconds for one unit of work: the samples of each launch on which the result rests; empty: none."""
    return list(by_launch(result).values())


@once
def by_launch(result: Result) -> Mapping[int, Array]:
    """The same by the launch's number. A launch with a sample that is no positive time is left out."""
    rows: dict[int, Array] = {}
    for record in rests_on(result):
        part = _work(record)
        samples = undisturbed(record)
        if part and samples and ((row := np.array(samples)) > 0).all() and (row < math.inf).all():
            rows[record.launch] = row / part[0]
    return rows


@once
def cost(result: Result) -> Cost | None:
    """The median of the launches' medians; None where nothing usable was measured."""
    unit = next((part[1] for record in result.records if (part := _work(record))), None)
    rows = launches(result)
    return Cost(median(medians(rows).tolist()), unit) if rows and unit else None


def ratio(a: Result, b: Result) -> Ratio | None:
    """The cost of `a` over that of `b`; None where one has none, or they count different work."""
    cost_a, cost_b = cost(a), cost(b)
    if cost_a is None or cost_b is None or cost_a.unit != cost_b.unit:
        return None
    comparison = compare(launches(b), launches(a))
    return Ratio(comparison.ratio, comparison.low, comparison.high)


def _work(record: Record) -> tuple[float, str] | None:
    for name, unit in UNITS.items():
        count = record.work.get(name)
        if count is not None and LEAST < count < MOST:
            return count, unit
    return None
