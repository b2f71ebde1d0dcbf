"""Rule: finds limits of a control group (container, batch system) on processors or memory."""

import numpy as np

from steelyard.judge.findings import settings
from steelyard.measure.machine.limits import limiting_memory, limiting_quota
from steelyard.model import Evaluation, Finding, Machine, Record
from steelyard.model.units import binary_size, quantity
from steelyard.model.words import joined, plural
from steelyard.statistics.validity.observations import Measured
from steelyard.statistics.validity.quotas import HIT, Stop, list_stops


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all active limits, with the time for which they stopped the measurement."""
    machine = evaluation.run.machine
    limits = [text for text in (_name_quota(machine), _name_processors(machine), _name_memory(machine)) if text]
    stopped = [stops for record in evaluation.run.records if (stops := _list_stops(record))]
    hosts = list(dict.fromkeys(stop.host for stops in stopped for stop in stops if stop.host))
    if stopped:
        where = f" on {joined(hosts)}" if hosts else ""
        limits = limits or [f"A processor quota is active{where}."]
    if not limits or not evaluation.results:
        return []
    active = {"cpu_quota": limiting_quota(machine), "memory_limit": limiting_memory(machine)}
    evidence = [
        f"{limit.name}: {limit.value} ({limit.source})"
        for limit in (machine.setting(name) for name, amount in active.items() if amount is not None)
        if limit.value not in (None, "none")
    ]
    if stopped:
        total = quantity(sum(stop.seconds for stops in stopped for stop in stops), "s")
        evidence.append(
            f"The quota stopped {len(stopped)} measurements{where} for {total} in total, added over processors."
        )
    return [
        Finding(
            "container",
            "serious" if len(stopped) * 2 > len(evaluation.run.records) else "notice",
            " ".join(limits),
            tuple(evidence),
            "A container or a batch system gives this process only a part of the machine. The figures describe that part.",
            settings.suggest(machine, "processor quota", "allowed processors", "memory limit")
            or "Remove the limit of the processor time.",
            effect=len(machine.cpus) / quota if (quota := limiting_quota(machine)) else None,
            reach="machine",
        )
    ]


def _list_stops(record: Record) -> list[Stop]:
    """Returns the stops by quotas for a share of the time that matters."""
    return [stop for stop in list_stops(Measured(np.asarray(record.samples), record.surroundings)) if stop.share > HIT]


def _name_quota(machine: Machine) -> str:
    quota = limiting_quota(machine)
    if quota is None:
        return ""
    return (
        f"A control group limits the processor time to that of {quota:g} of {plural(len(machine.cpus), 'processor')}."
    )


def _name_processors(machine: Machine) -> str:
    if not machine.cpus or len(machine.cpus) >= machine.processors:
        return ""
    return f"This process may use {len(machine.cpus)} of {machine.processors} processors."


def _name_memory(machine: Machine) -> str:
    limit = limiting_memory(machine)
    return f"A control group allows {binary_size(limit)} of memory." if limit else ""
