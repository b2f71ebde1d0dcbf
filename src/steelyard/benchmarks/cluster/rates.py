"""What the benchmarks of a cluster share: each rank's own rate, where all ranks have the same share of the work."""

from steelyard.model import Record
from steelyard.statistics.results.messages import rank_rates


def of_ranks(record: Record, work: str) -> tuple[float, ...]:
    """The `rank_rates` of those ranks that have one."""
    return tuple(rate for rate in rank_rates(record, work) if rate is not None)
