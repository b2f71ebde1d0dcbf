"""Rule: finds limits of a control group (container, batch system) on processors or memory."""

import numpy as np

from steelyard.findings import settings
from steelyard.machine.limits import limiting_memory, limiting_quota
from steelyard.machine.settings import setting
from steelyard.model import Evaluation, Finding, Machine, Record
from steelyard.statistics.validity.disturbances import throttled
from steelyard.statistics.validity.observations import Measured
from steelyard.units import binary_size, quantity


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all active limits, with the time for which they stopped the measurement."""
    machine = evaluation.run.machine
    limits = [text for text in (_quota(machine), _processors(machine), _memory(machine)) if text]
    stopped = [r.surroundings.throttled or 0.0 for r in evaluation.run.records if _stopped(r)]
    if stopped:
        limits = limits or ["A processor quota is active."]
    if not limits or not evaluation.results:
        return []
    active = {"cpu_quota": limiting_quota(machine), "memory_limit": limiting_memory(machine)}
    evidence = [
        f"{limit.name}: {limit.value} ({limit.source})"
        for limit in (setting(machine, name) for name, amount in active.items() if amount is not None)
        if limit.value not in (None, "none")
    ]
    if stopped:
        total = quantity(sum(stopped), "s")
        evidence.append(f"The quota stopped {len(stopped)} measurements for {total} in total, added over processors.")
    return [
        Finding(
            "container",
            "serious" if len(stopped) * 2 > len(evaluation.run.records) else "notice",
            " ".join(limits),
            tuple(evidence),
            "A container or a batch system gives this process only a part of the machine. The figures describe that part.",
            settings.change(machine, "processor quota", "allowed processors", "memory limit")
            or "Remove the limit of the processor time.",
            effect=len(machine.cpus) / quota if (quota := limiting_quota(machine)) else None,
            reach="machine",
        )
    ]


def _stopped(record: Record) -> bool:
    """Returns whether a quota stopped the measurement for a share of its time that matters."""
    observation = throttled(Measured(np.asarray(record.samples), record.surroundings))
    return observation is not None and observation.disturbed


def _quota(machine: Machine) -> str:
    quota = limiting_quota(machine)
    if quota is None:
        return ""
    return f"A control group allows the processor time of {quota:g} cores on {len(machine.cpus)} processors."


def _processors(machine: Machine) -> str:
    if not machine.cpus or len(machine.cpus) >= machine.processors:
        return ""
    return f"This process may use {len(machine.cpus)} of {machine.processors} processors."


def _memory(machine: Machine) -> str:
    limit = limiting_memory(machine)
    return f"A control group allows {binary_size(limit)} of memory." if limit else ""
