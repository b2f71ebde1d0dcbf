"""Metrics that many benchmarks share: functions of the seconds of one operation and of the record."""

from collections.abc import Callable

from steelyard.model import Record

Measure = Callable[[float, Record], float | None]


def elapsed(seconds: float, record: Record) -> float:
    """Returns the seconds of one operation."""
    return seconds


def per_second(work: str, optional: bool = False) -> Measure:
    """Returns the metric of this work of all threads or ranks per second; None if an operation does none.

    `optional`: some kernels do not count it. Otherwise a record without it is damaged (KeyError).
    """
    return lambda seconds, record: (record.work.get(work, 0.0) if optional else record.work[work]) / seconds or None


def seconds_for_each(work: str) -> Measure:
    """Returns the metric of the seconds for each unit of this work."""
    return lambda seconds, record: seconds / record.work[work]
