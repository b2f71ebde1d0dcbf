"""The pace of cores and memory between the runs of a program that cannot read it itself: by one of our own, which looks."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from steelyard.errors import ProgramFailed
from steelyard.launch import local
from steelyard.launch.program import Program
from steelyard.model import Machine

SECONDS = 0.1  # of a look: some 20 readings, in all
LIMIT = 30.0  # seconds after which the program hangs
KINDS = ("core_clock", "issued", "stream", "chase")

Reading = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Looks:
    """`program` is any kernel program of ours; None: nothing is read."""

    program: Path | None
    machine: Machine

    def read(self) -> Reading:
        """Of the slowest processor the median of its readings, by kind; {} where nothing can be read."""
        if self.program is None:
            return {}
        cpus = self.machine.cpus
        # Started for each look: a team that waits would take processors from the program that is measured.
        running = Program(local.argv(self.program), local.environment(self.machine))
        try:
            words = f"look={SECONDS:g} threads={len(cpus)} cpus={','.join(map(str, cpus))}"
            return slowest(running.ask(words, LIMIT).get("look", {}))
        except ProgramFailed:
            return {}
        finally:
            running.close()


def slowest(look: Mapping[str, Any]) -> Reading:
    """Of each kind the median of the processor that is slowest in it: an access takes longest, all else is least."""
    found: dict[str, float | None] = {}
    for kind in KINDS:
        of_cpu: dict[int, list[float]] = {}
        for cpu, value in zip(look.get("cpu", ()), look.get(kind) or (), strict=False):
            if value is not None:
                of_cpu.setdefault(cpu, []).append(value)
        medians = [median(values) for values in of_cpu.values()]
        found[kind] = (max(medians) if kind == "chase" else min(medians)) if medians else None
    return found if any(value is not None for value in found.values()) else {}
