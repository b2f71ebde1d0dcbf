"""What the benchmarks of a cluster share: each rank's own rate, where all ranks have the same share of the work."""

from statistics import median

from steelyard.model import Record
from steelyard.statistics.results.messages import rank_seconds


def of_ranks(record: Record, work: str) -> tuple[float, ...]:
    """Each rank's rate of that work ("bytes": B/s, "flops": flop/s) by the median of its own times, by rank.

    A rank without times is left out; () where the record has no rank's times.
    """
    times = rank_seconds(record)
    each = record.work[work] * record.operations / max(1, len(times))
    return tuple(each / median(own) for own in times if own)
