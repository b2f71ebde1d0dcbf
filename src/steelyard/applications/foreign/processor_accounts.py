"""Processor accounts of the system around an external program: its own time and the time of other processes."""

import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.measure.machine.cgroups import read_throttled
from steelyard.measure.machine.files import KernelFiles
from steelyard.measure.machine.load import Ticks, read_ticks


@dataclass(frozen=True, slots=True)
class Accounts:
    """The accounts of all processors, and the seconds for which a quota has stopped our processes; None: unknown."""

    ticks: Ticks | None
    throttled: float | None


def read_accounts() -> Accounts:
    """Reads the accounts."""
    return Accounts(read_ticks(), read_throttled(KernelFiles(Path("/"))))


def cpu_time(usage: resource.struct_rusage) -> float:
    """Processor seconds of a program that ended, and of all descendants for which it waited."""
    return usage.ru_utime + usage.ru_stime


def measure_own_seconds() -> float:
    """Processor seconds of this process and of the processes that it started and that ended: runs and pace readings."""
    return cpu_time(resource.getrusage(resource.RUSAGE_SELF)) + cpu_time(resource.getrusage(resource.RUSAGE_CHILDREN))


def make_accounts(before: Accounts, after: Accounts, own: float, elapsed: float, processors: int) -> dict[str, object]:
    """Returns the accounts as records hold them. `own`: processor seconds of the measured program and of Steelyard.

    They are of the whole machine, since the processors of a program that is not pinned are unknown.
    """
    first, last = before.ticks, after.ticks
    if first is None or last is None:
        return {"processor_seconds": {"elapsed": elapsed}, "cpus": list(range(processors))}
    other = max(0.0, (_subtract(first.busy, last.busy) or 0.0) - own)
    stopped = None if before.throttled is None or after.throttled is None else after.throttled - before.throttled
    return {
        "processor_seconds": {
            "elapsed": elapsed,
            "own": own,
            "steal": _subtract(first.steal, last.steal),
            "other": None,  # unknown for the processors of the program
            "interrupts": _subtract(first.interrupts, last.interrupts),
            "processors": last.processors,
        },
        "machine_other": other / elapsed if elapsed > 0 else None,
        "machine_processors": last.processors,
        "throttled": stopped,
        "cpus": list(range(processors)),
    }


def _subtract(before: int | None, after: int | None) -> float | None:
    return None if after is None or before is None else max(0, after - before) / os.sysconf("SC_CLK_TCK")


def sum_phases(runs: list[Mapping[str, float]]) -> dict[str, float]:
    """Sums the seconds of each phase over all runs."""
    sums: dict[str, float] = {}
    for run in runs:
        for name, seconds in run.items():
            sums[name] = sums.get(name, 0.0) + seconds
    return sums
