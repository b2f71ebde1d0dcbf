"""Processor accounts of the system around an external program: its own time and the time of other processes."""

import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.machine.load import busy_ticks

STAT = Path("/proc/stat")


@dataclass(frozen=True, slots=True)
class Account:
    """Seconds of all processors together since the boot of the machine; None: unknown."""

    busy: float | None
    steal: float | None
    interrupts: float | None


def account(stat: Path = STAT) -> Account:
    """Reads the accounts."""
    tick = os.sysconf("SC_CLK_TCK")
    busy = busy_ticks(stat)
    try:
        words = [int(w) for w in stat.read_text().splitlines()[0].split()[1:]]
        return Account(None if busy is None else busy / tick, words[7] / tick, (words[5] + words[6]) / tick)
    except (OSError, IndexError, ValueError):
        return Account(None if busy is None else busy / tick, None, None)


def used(usage: resource.struct_rusage) -> float:
    """Processor seconds of a program that ended, and of all descendants for which it waited."""
    return usage.ru_utime + usage.ru_stime


def ours() -> float:
    """Processor seconds of this process and of the processes that it started and that ended: runs and pace readings."""
    return used(resource.getrusage(resource.RUSAGE_SELF)) + used(resource.getrusage(resource.RUSAGE_CHILDREN))


def between(before: Account, after: Account, own: float, elapsed: float, processors: int) -> dict[str, object]:
    """Returns the accounts as records hold them. `own`: processor seconds of the measured program and of Steelyard."""
    steal = _less(after.steal, before.steal)
    busy = _less(after.busy, before.busy)
    other = None if busy is None else max(0.0, busy - own - (steal or 0.0))
    cores = None if other is None or elapsed <= 0 else other / elapsed
    return {
        "processor_seconds": {
            "elapsed": elapsed,
            "steal": steal,
            "other": None,  # unknown for a program that is not pinned: its processors are unknown
            "interrupts": _less(after.interrupts, before.interrupts),
        },
        "machine_other": cores,
        "cpus": list(range(processors)),
    }


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else max(0.0, after - before)


def phases_of(runs: list[Mapping[str, float]]) -> dict[str, float]:
    """Sums the seconds of each phase over all runs."""
    sums: dict[str, float] = {}
    for run in runs:
        for name, seconds in run.items():
            sums[name] = sums.get(name, 0.0) + seconds
    return sums
