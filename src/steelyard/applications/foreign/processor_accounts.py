"""The system's accounts around a foreign program: what the processors did, and what of it was the program's own."""

import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.machine.load import busy_ticks

STAT = Path("/proc/stat")


@dataclass(frozen=True, slots=True)
class Account:
    """Seconds of all processors together since the start of the machine; None: not known."""

    busy: float | None
    steal: float | None
    interrupts: float | None


def account(stat: Path = STAT) -> Account:
    """The accounts at this moment."""
    tick = os.sysconf("SC_CLK_TCK")
    busy = busy_ticks(stat)
    try:
        words = [int(w) for w in stat.read_text().splitlines()[0].split()[1:]]
        return Account(None if busy is None else busy / tick, words[7] / tick, (words[5] + words[6]) / tick)
    except (OSError, IndexError, ValueError):
        return Account(None if busy is None else busy / tick, None, None)


def used(usage: resource.struct_rusage) -> float:
    """Processor seconds of a program that ended, and of all its descendants for which it waited."""
    return usage.ru_utime + usage.ru_stime


def ours() -> float:
    """Processor seconds of this process, and of all that it started and that ended: runs, and looks between them."""
    return used(resource.getrusage(resource.RUSAGE_SELF)) + used(resource.getrusage(resource.RUSAGE_CHILDREN))


def between(before: Account, after: Account, own: float, elapsed: float, processors: int) -> dict[str, object]:
    """As records hold it: what others took of the whole machine while a program of ours used `own` seconds of it."""
    steal = _less(after.steal, before.steal)
    busy = _less(after.busy, before.busy)
    other = None if busy is None else max(0.0, busy - own - (steal or 0.0))
    cores = None if other is None or elapsed <= 0 else other / elapsed
    return {
        "processor_seconds": {
            "elapsed": elapsed,
            "steal": steal,
            "other": None,  # on which processors others ran is not known of a program that is not pinned
            "interrupts": _less(after.interrupts, before.interrupts),
        },
        "machine_other": cores,
        "cpus": list(range(processors)),
    }


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else max(0.0, after - before)


def phases_of(runs: list[Mapping[str, float]]) -> dict[str, float]:
    """Of each phase the seconds of all runs."""
    found: dict[str, float] = {}
    for run in runs:
        for name, seconds in run.items():
            found[name] = found.get(name, 0.0) + seconds
    return found
