"""Rule: finds limits of a control group (container, batch system) on processors or memory."""

from steelyard.findings import settings
from steelyard.machine.settings import setting
from steelyard.model import Evaluation, Finding, Machine
from steelyard.units import binary_size, quantity


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all active limits, with the time for which they stopped the measurement."""
    machine = evaluation.run.machine
    limits = [text for text in (_quota(machine), _processors(machine), _memory(machine)) if text]
    stopped = [
        (record, float(seconds))
        for record in evaluation.run.records
        if (seconds := record.surroundings.throttled or 0) > 0
    ]
    if stopped:
        limits = limits or ["A processor quota is active."]
    if not limits or not evaluation.results:
        return []
    evidence = [
        f"{limit.name}: {limit.value} ({limit.source})"
        for limit in (setting(machine, "cpu_quota"), setting(machine, "memory_limit"))
        if limit.value not in (None, "none")
    ]
    if stopped:
        total = sum(seconds for _, seconds in stopped)
        evidence.append(f"The quota stopped {len(stopped)} measurements for {quantity(total, 's')} in total.")
    return [
        Finding(
            "container",
            "serious" if len(stopped) * 2 > len(evaluation.run.records) else "notice",
            " ".join(limits),
            tuple(evidence),
            "A container or a batch system gives this process only a part of the machine. The figures describe that part.",
            settings.change(machine, "processor quota", "allowed processors", "memory limit")
            or "Remove the limit of the processor time.",
            effect=max(1.0, len(machine.cpus) / machine.cpu_quota) if machine.cpu_quota else None,
            reach="machine",
        )
    ]


def _quota(machine: Machine) -> str:
    if machine.cpu_quota is None:
        return ""
    allowed = len(machine.cpus)
    return f"A control group allows the processor time of {machine.cpu_quota:g} cores on {allowed} processors."


def _processors(machine: Machine) -> str:
    present = {cpu for core in machine.cores for cpu in core.cpus}
    if not machine.cpus or len(machine.cpus) >= len(present):
        return ""
    return f"This process may use {len(machine.cpus)} of {len(present)} processors."


def _memory(machine: Machine) -> str:
    text = (setting(machine, "memory_limit").value or "none").removesuffix(" B")
    return f"A control group allows {binary_size(int(text))} of memory." if text.isdigit() else ""
