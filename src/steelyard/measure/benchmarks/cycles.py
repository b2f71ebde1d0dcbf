"""Times of single accesses, in seconds and in cycles of the true core clock."""

from statistics import fmean

from steelyard.model import Record


def core_clock(record: Record) -> float | None:
    """Returns the true core clock (Hz): the mean over threads, before and after the samples; None if unknown."""
    around = record.surroundings.core_clock
    hertz = [value for value in (*(around.before or ()), *(around.after or ())) if value]
    return fmean(hertz) if hertz else None


def cycles_of(seconds: float | None, record: Record) -> float | None:
    """Returns `seconds` in cycles of the record's true core clock."""
    clock = core_clock(record)
    return None if seconds is None or clock is None else seconds * clock


def access_time(seconds: float, record: Record) -> float:
    """Returns the seconds of one access of one thread. `accesses` of the work counts all threads."""
    return seconds * int(record.parameters.get("threads", 1)) / record.work["accesses"]


def access_cycles(seconds: float, record: Record) -> float | None:
    """Returns the cycles of one access of one thread."""
    return cycles_of(access_time(seconds, record), record)
