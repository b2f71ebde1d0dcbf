"""The median of each launch of a case, and its number of hosts. Comparisons of many runs read these instead of the attempts."""

import math
from dataclasses import replace

from steelyard.model import LaunchTime, Result
from steelyard.statistics.results import applications, messages
from steelyard.statistics.results.cost import find_work
from steelyard.statistics.results.result import last_attempts

SECOND = "second"  # the unit of work of kernels that count none: they are compared by their seconds


def add_launch_times(result: Result) -> Result:
    """Returns the result with the times of all launches, also of the disturbed ones, and with its hosts."""
    work, times = _list_times(result)
    return replace(result, work=work, times=times, hosts=_count_hosts(result), timed=applications.timed_alone(result))


def _count_hosts(result: Result) -> int:
    """Returns the number of machines that the ranks were on; hosts that are one machine count once."""
    return 1 if messages.shared_a_machine(result) else len(set(messages.hosts_of(result.attempts)))


def _list_times(result: Result) -> tuple[str, tuple[LaunchTime, ...]]:
    """Returns the unit of work and the times."""
    measured = [attempt for attempt in last_attempts(result.attempts) if attempt.verdict.level != "INVALID"]
    timed = [(attempt, attempt.seconds, find_work(attempt)) for attempt in measured if attempt.seconds]
    works = [work for *_, work in timed if work]
    began: dict[int, float] = {}  # the first attempt of each launch
    for attempt in result.attempts:
        if attempt.surroundings.began is not None:
            began[attempt.launch] = min(attempt.surroundings.began, began.get(attempt.launch, math.inf))
    return works[0][1] if works else SECOND, tuple(
        LaunchTime(
            launch=attempt.launch,
            began=began.get(attempt.launch),
            seconds=seconds / (work[0] if work else 1.0),
            disturbed=attempt.verdict.level == "DISTURBED",
            rate=attempt.rate,
            stream=attempt.stream,
        )
        for attempt, seconds, work in timed
        if work or not works
    )
