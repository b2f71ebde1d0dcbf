"""Progress of a build: how many programs are done, and how long the others will take."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 5e-5  # of one core for each unit of effort (AMD EPYC 7763, GCC 12): a first guess of the time of a build
GUESS = 0.1  # weight of the guess, as a share of the whole effort


@dataclass(frozen=True)
class Progress:
    """Progress of a build: how many of the missing programs are done."""

    done: int
    total: int
    seconds_left: float | None  # None: unknown
    waiting: str = ""  # the other process that builds in the same cache


Show = Callable[[Progress], None]


def guess(effort: float) -> float:
    """Returns the seconds that a build of this effort takes on the processors of this process."""
    return effort * SECONDS / len(os.sched_getaffinity(0))


class Pace:
    """Estimates the time left from the efforts of the steps that are done. `outputs` are the programs to count."""

    def __init__(self, efforts: Sequence[float], outputs: Sequence[Path], show: Show) -> None:
        self._efforts, self._outputs = efforts, outputs
        self._show, self._began = show, time.monotonic()
        show(Progress(0, len(outputs), guess(sum(efforts))))

    def finished(self, steps: int) -> None:
        """Shows the progress after the first `steps` steps."""
        done, whole = sum(self._efforts[:steps]), sum(self._efforts)
        # The first steps alone say little about the others.
        pace = (time.monotonic() - self._began + GUESS * guess(whole)) / (done + GUESS * whole)
        self._show(Progress(sum(path.exists() for path in self._outputs), len(self._outputs), (whole - done) * pace))
