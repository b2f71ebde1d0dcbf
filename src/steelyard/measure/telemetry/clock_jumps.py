"""Notices that somebody sets the clock of this machine."""

import time

from steelyard.model.units import duration

LEAST = 1.0  # seconds: services of time correct less by a slower or faster clock
DOUBT = 0.1  # seconds between the readings of both clocks: with more, a process that was stopped looks like a jump


class ClockWatch:
    """Compares the time of day with the time since the machine started. Nobody can set the second one."""

    def __init__(self) -> None:
        self._measure_clock_difference = _measure_clock_difference()

    def jump(self) -> str:
        """Returns a sentence if the clock was set since the last call, else an empty text."""
        before, self._measure_clock_difference = self._measure_clock_difference, _measure_clock_difference()
        seconds = self._measure_clock_difference - before
        if abs(seconds) < LEAST:
            return ""
        return f"The clock of this machine was set {'forward' if seconds > 0 else 'back'} by {duration(abs(seconds))}."


def _measure_clock_difference() -> float:
    while True:
        first, wall, second = (
            time.clock_gettime(time.CLOCK_BOOTTIME),
            time.time(),
            time.clock_gettime(time.CLOCK_BOOTTIME),
        )
        if second - first < DOUBT:
            return wall - first
