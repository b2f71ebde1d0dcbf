"""Rates of single ranks that have equal shares of the work."""

from steelyard.model import Record
from steelyard.statistics.results.messages import rank_rates


def rates_of_ranks(record: Record, work: str) -> tuple[float, ...]:
    """Returns the `rank_rates` of the ranks that have one."""
    return tuple(rate for rate in rank_rates(record, work) if rate is not None)
