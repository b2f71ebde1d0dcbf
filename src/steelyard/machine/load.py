"""Reads the load of the machine, and waits until it is quiet."""

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
QUIET = 0.05  # cores: a smaller load of other processes changes a median by less than the widths of the presets
LOADED = 0.25  # cores: above this load, a machine is not idle
LOOK = 0.25  # seconds: 25 ticks of the kernel's accounts, a resolution of 0.04 cores


def busy_cores(seconds: float = LOOK, stat: Path = STAT) -> float | None:
    """Returns the busy cores of all processes, over `seconds` (this process sleeps meanwhile); None if it cannot be read."""
    before = busy_ticks(stat)
    time.sleep(seconds)
    after = busy_ticks(stat)
    if before is None or after is None:
        return None
    return (after - before) / os.sysconf("SC_CLK_TCK") / seconds


def wait_until_quiet(most: float) -> bool:
    """Waits until other processes use less than `QUIET` cores, at most `most` seconds. Returns whether that happened."""
    deadline = time.monotonic() + most
    while True:
        busy = busy_cores(min(LOOK, max(0.05, most)))
        if busy is None or busy < QUIET:
            return True
        if time.monotonic() >= deadline:
            return False


def busy_ticks(stat: Path = STAT) -> int | None:
    """Returns the busy ticks of all cores since the start of the system; None if they cannot be read."""
    try:
        words = stat.read_text().splitlines()[0].split()
        # user, nice, system, irq, softirq, steal; idle and iowait are columns 4 and 5
        return sum(int(words[i]) for i in (1, 2, 3, 6, 7, 8) if i < len(words))
    except (OSError, IndexError, ValueError):
        return None
