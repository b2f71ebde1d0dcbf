"""Times of single accesses, and times in cycles of the clock at which the cores really ran."""

from statistics import fmean

from steelyard.model import Record


def core_clock(record: Record) -> float | None:
    """The true core clock (Hz): the mean over threads, before and after the samples; None where unknown."""
    around = record.surroundings.core_clock
    hertz = [value for value in (*(around.before or ()), *(around.after or ())) if value]
    return fmean(hertz) if hertz else None


def cycles_of(seconds: float | None, record: Record) -> float | None:
    """`seconds` in cycles of the record's true core clock."""
    clock = core_clock(record)
    return None if seconds is None or clock is None else seconds * clock


def access_time(seconds: float, record: Record) -> float:
    """Seconds that one thread takes for an access; `accesses` of the work are those of all threads."""
    return seconds * int(record.parameters.get("threads", 1)) / record.work["accesses"]


def access_cycles(seconds: float, record: Record) -> float | None:
    """The same in cycles."""
    return cycles_of(access_time(seconds, record), record)
