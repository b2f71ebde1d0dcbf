"""Reads the load of the machine, and waits until it is quiet."""

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
QUIET = 0.05  # cores: below this, others do not move a median by more than the widths that are asked for
LOADED = 0.25  # cores: above this, a machine is not idle
LOOK = 0.25  # seconds: 25 ticks of the kernel's accounts, a resolution of 0.04 cores


def busy_cores(seconds: float = LOOK, stat: Path = STAT) -> float | None:
    """Cores kept busy by all processes together (this one included, which sleeps), over `seconds`; None: cannot be read."""
    before = busy_ticks(stat)
    time.sleep(seconds)
    after = busy_ticks(stat)
    if before is None or after is None:
        return None
    return (after - before) / os.sysconf("SC_CLK_TCK") / seconds


def wait_until_quiet(most: float) -> bool:
    """Waits until others use less than `QUIET` cores, at most `most` seconds; whether it became quiet."""
    deadline = time.monotonic() + most
    while True:
        busy = busy_cores(min(LOOK, max(0.05, most)))
        if busy is None or busy < QUIET:
            return True
        if time.monotonic() >= deadline:
            return False


def busy_ticks(stat: Path = STAT) -> int | None:
    """Ticks of the kernel's clock in which cores were busy since the start, those of all cores together; None: cannot be read."""
    try:
        words = stat.read_text().splitlines()[0].split()
        # user, nice, system, irq, softirq, steal; idle and iowait are columns 4 and 5
        return sum(int(words[i]) for i in (1, 2, 3, 6, 7, 8) if i < len(words))
    except (OSError, IndexError, ValueError):
        return None
