"""Reads who used the processors between two moments: this process, other processes, or the host (steal)."""

import os
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from steelyard.model.proofs import Proofs

NAMED = 0.25  # a program is named if it has at least this share of the time of all other processes
LEAST_STEAL = 2  # ticks


@dataclass(frozen=True)
class Account:
    """The kernel's accounts at one moment: ticks (busy, stolen) by processor, and processes by their numbers."""

    at: float
    processors: Mapping[int, tuple[int, int]]
    processes: Mapping[int, "Process"]


class Process(NamedTuple):
    """The ticks that a process used, and the processor on which it ran last; None: not known."""

    name: str
    parent: int
    ticks: int
    cpu: int | None = None


def read_account(proc: Path = Path("/proc")) -> Account | None:
    """Returns the accounts; None if the system does not keep them."""
    processors = {}
    try:
        for name, *words in (line.split() for line in (proc / "stat").read_text().splitlines() if line[:3] == "cpu"):
            user, nice, system, *others = map(int, words)
            if name != "cpu":
                processors[int(name[3:])] = user + nice + system, others[4] if len(others) > 4 else 0
            elif not user + nice + system + sum(others):
                return None  # gVisor shows zeros
        pids = [entry for entry in os.listdir(proc) if entry.isdigit()]
    except (OSError, ValueError):
        return None
    processes = {int(pid): process for pid in pids if (process := _read_process(proc / pid / "stat"))}
    return Account(time.monotonic(), processors, processes)


def _read_process(stat: Path) -> Process | None:
    try:
        name, _, rest = stat.read_text(errors="replace").partition("(")[2].rpartition(")")
        words = rest.split()
        shown = "".join(letter if letter.isprintable() else "?" for letter in name)
        return Process(shown, int(words[1]), int(words[11]) + int(words[12]), int(words[36]) if words[36:] else None)
    except (OSError, ValueError, IndexError):
        return None  # the process has ended


def add_processor_use(
    proofs: Proofs, before: Account | None, after: Account | None, cpus: Collection[int], own: int
) -> Proofs:
    """Adds how other processes, and the host, used these processors between two accounts, if they are known.

    The process `own` and those that it started are not others. Only a program that ran on these processors is named.
    """
    counted = [cpu for cpu in cpus if before and after and cpu in before.processors and cpu in after.processors]
    if not counted or before is None or after is None or after.at <= before.at:
        return proofs
    ours, programs = 0, dict[str, dict[int, int]]()
    for pid, process in after.processes.items():
        used = process.ticks - (before.processes[pid].ticks if pid in before.processes else 0)
        if own in (pid, process.parent):
            ours += used
        elif used > 0 and (process.cpu is None or process.cpu in counted):
            programs.setdefault(process.name, {})[pid] = used
    busy, stolen = (sum(after.processors[c][i] - before.processors[c][i] for c in counted) for i in (0, 1))
    second = (after.at - before.at) * os.sysconf("SC_CLK_TCK")  # a second in ticks
    others = min(len(counted) * second, max(0, busy - ours))
    name, pids = max(programs.items(), key=lambda item: sum(item[1].values()), default=("", {}))
    most = min(sum(pids.values()), others)
    if most > 0 and most >= NAMED * others:
        more = f" and {len(pids) - 1} more" if len(pids) > 1 else ""
        which = f"{name} (pid {max(pids, key=pids.__getitem__)}{more})"
        proofs = replace(proofs, largest=which, largest_processors=most / second)
    possible = 0 <= stolen <= len(counted) * (second + LEAST_STEAL)  # the counters of guests jump
    steal = stolen / max(1, busy + stolen) if stolen >= LEAST_STEAL else 0.0
    return replace(proofs, processors=len(counted), others=others / second, steal=steal if possible else None)
