"""Reads the load of the machine, and waits until it is quiet."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from steelyard.model.account import Account

STAT = Path("/proc/stat")
# Share of the processors: a smaller load of other processes changes a median by less than the widths of the presets, and
# an idle power by a few percent. Daemons of an idle machine use about 0.003.
QUIET = 0.025
LOOK = 0.25  # seconds: 25 ticks of the kernel's account of each processor


@dataclass(frozen=True, slots=True)
class Ticks:
    """Ticks of all processors together since the start of the system, and their number; None: the kernel does not say it.

    `busy` are those of processes, without interrupts and steal.
    """

    busy: int
    steal: int | None
    interrupts: int | None
    processors: int


def measure_load(seconds: float = LOOK, stat: Path = STAT) -> Account | None:
    """Returns the processor time of all other processes over `seconds` (this process sleeps); None if it cannot be read."""
    before, own = read_ticks(stat), time.process_time()
    time.sleep(seconds)
    after, own = read_ticks(stat), time.process_time() - own
    if before is None or after is None:
        return None
    busy = (after.busy - before.busy) / os.sysconf("SC_CLK_TCK")
    return Account.of(max(0.0, busy - own), after.processors, seconds)


def wait_until_quiet(most: float) -> bool:
    """Waits until other processes use less than the share `QUIET`, at most `most` seconds. Returns whether that happened."""
    deadline = time.monotonic() + most
    while True:
        load = measure_load(min(LOOK, max(0.05, most)))
        if load is None or load.share < QUIET:
            return True
        if time.monotonic() >= deadline:
            return False


def busy_ticks(stat: Path = STAT) -> int | None:
    """Returns the ticks of processes and interrupts on all cores since the start of the system; None if they cannot be read."""
    ticks = read_ticks(stat)
    return ticks.busy + (ticks.interrupts or 0) if ticks else None


def read_ticks(stat: Path = STAT) -> Ticks | None:
    """Reads the accounts of all processors; None if they cannot be read."""
    try:
        first, *rest = stat.read_text().splitlines()
        # user, nice, system, irq, softirq, steal; idle and iowait are columns 4 and 5
        columns = dict(enumerate(map(int, first.split()[1:9]), 1))
        busy = sum(columns.get(i, 0) for i in (1, 2, 3))
    except (OSError, ValueError):
        return None
    processors = max(1, sum(line.startswith("cpu") for line in rest))
    return Ticks(busy, columns.get(8), columns[6] + columns[7] if 7 in columns else None, processors)
