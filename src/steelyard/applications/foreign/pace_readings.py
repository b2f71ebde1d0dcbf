"""Reads the pace of cores and memory between the runs of an external program, by one of Steelyard's kernels."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from steelyard.errors import ProgramFailed
from steelyard.measure.launch import local
from steelyard.measure.launch.program import Program
from steelyard.model import Machine

SECONDS = 0.1  # duration of one look, with about 20 readings
LIMIT = 30.0  # seconds after which the kernel program counts as hanging
KINDS = ("core_clock", "issued", "stream", "chase")

Reading = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Looks:
    """Reads the pace by `program`, any kernel program; None: the pace is not read."""

    program: Path | None
    machine: Machine

    def read(self) -> Reading:
        """Returns the median reading of the slowest processor, by kind; {} if nothing can be read."""
        if self.program is None:
            return {}
        cpus = self.machine.cpus
        # A new process for each look: waiting threads would take processor time from the measured program.
        running = Program([str(self.program)], local.environment(self.machine))
        try:
            words = f"look={SECONDS:g} threads={len(cpus)} cpus={','.join(map(str, cpus))}"
            return summarise_slowest(running.ask(words, LIMIT).get("look", {}))
        except ProgramFailed:
            return {}
        finally:
            running.close()


def summarise_slowest(look: Mapping[str, Any]) -> Reading:
    """Returns for each kind the median of the slowest processor: the longest access time, the lowest of the other kinds."""
    reading: dict[str, float | None] = {}
    for kind in KINDS:
        by_cpu: dict[int, list[float]] = {}
        for cpu, value in zip(look.get("cpu", ()), look.get(kind) or (), strict=False):
            if value is not None:
                by_cpu.setdefault(cpu, []).append(value)
        medians = [median(values) for values in by_cpu.values()]
        reading[kind] = (max(medians) if kind == "chase" else min(medians)) if medians else None
    return reading if any(value is not None for value in reading.values()) else {}
