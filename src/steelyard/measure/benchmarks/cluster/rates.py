"""Rates of single ranks that have equal shares of the work."""

from steelyard.measure.benchmarks.rates import Measure
from steelyard.model import Record
from steelyard.statistics.results.messages import rank_rates


def rates_of_ranks(record: Record, work: str) -> tuple[float, ...]:
    """Returns the `rank_rates` of the ranks that have one."""
    return tuple(rate for rate in rank_rates(record, work) if rate is not None)


def sum_of_ranks(work: str) -> Measure:
    """Returns the metric of the sum of the ranks' rates, each by its own time; None if it is not recorded."""
    return lambda seconds, record: sum(rates_of_ranks(record, work)) or None


def slowest_rank(work: str) -> Measure:
    """Returns the metric of the rate of the slowest rank."""
    return lambda seconds, record: min(rates_of_ranks(record, work), default=None)
