"""Lists the conditions that differ between two runs: machine, settings, toolchains, versions, plan."""

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.compare.side import Facts
from steelyard.measure.machine import network
from steelyard.measure.machine.limits import limiting_memory, limiting_quota
from steelyard.measure.plan import mpi_in_effect
from steelyard.measure.plan.variants import meanings
from steelyard.model import Machine, Run
from steelyard.model.mpi_settings import describe
from steelyard.model.units import binary_size, quantity

# They change from run to run on one machine. The verdict of each record judges them better.
FLEETING = ("load_average", "swap_used", "huge_pages_2MiB_free", "huge_pages_1GiB_free")
ELSEWHERE = ("memory_modules",)  # listed with the parts of the machine
ABSENT = "unknown"
NETWORK = "network"  # the group of the hosts' network; empty in runs of versions that did not describe it
MPI = "MPI"  # the group of what steers the MPIs; empty in runs without ranks


@dataclass(frozen=True)
class Difference:
    """A condition that differs. `a` and `b` are texts.

    `group` is "machine", "setting", "network", "MPI", "toolchain", "version" or "plan".
    """

    group: str
    name: str
    a: str
    b: str


def find_differences(a: Run, b: Run) -> list[Difference]:
    """Returns all conditions that differ, the machine first. An empty list means that no difference is known."""
    return compare_facts(list_facts(a), list_facts(b))


def compare_facts(a: Facts, b: Facts) -> list[Difference]:
    """Returns the conditions that differ, in the order of the groups of `a`."""
    return [d for group in a for d in _list_differences(group, a[group], b[group])]


def list_facts(run: Run) -> Facts:
    """Returns the conditions of a run by group, as in `Difference`."""
    used = {"used": ", ".join(sorted({launch.toolchain for launch in run.plan.launches}))}
    facts = {group: dict(values) for group, values in list_machine_facts(run.machine, run.versions).items()}
    return {**facts, MPI: _describe_mpi(run), "toolchain": {**used, **facts["toolchain"]}, "plan": _describe_plan(run)}


def list_machine_facts(machine: Machine, versions: Mapping[str, str]) -> Facts:
    """Returns what is known without the plan of a run, by the same groups; nothing on its MPI."""
    return {
        "machine": _describe_machine(machine),
        "setting": _settings(machine),
        NETWORK: network.list_facts(machine),
        MPI: {},
        "toolchain": {tool.name: tool.version for tool in (*machine.compilers, *machine.mpis)},
        "version": versions,
    }


def _list_differences(group: str, a: Mapping[str, str], b: Mapping[str, str]) -> list[Difference]:
    if group in (NETWORK, MPI) and not (a and b):
        return []
    both = ((name, a.get(name, ABSENT), b.get(name, ABSENT)) for name in dict.fromkeys((*a, *b)))
    return [Difference(group, name, x, y) for name, x, y in both if x != y]


def _count_node_kinds(machine: Machine) -> str:
    """Returns '2', or '2 DRAM, 6 GPU' if the memory nodes have several kinds."""
    kinds = Counter(node.kind for node in machine.nodes)
    return ", ".join(f"{n} {kind}" for kind, n in kinds.items()) if len(kinds) > 1 else str(len(machine.nodes))


def _count_usable(machine: Machine) -> str:
    """Returns '4', or '1 of 4' if this process may use only some of the hardware threads."""
    usable, every = len(machine.cpus), machine.processors
    return f"{usable} of {every}" if usable < every else str(usable)


def _describe_machine(machine: Machine) -> dict[str, str]:
    caches: dict[str, list[int]] = {}
    for cache in machine.caches:
        if cache.kind != "instruction":
            caches.setdefault(f"L{cache.level}", []).append(cache.size)
    modules = [
        f"{m.kind} {binary_size(m.size)}" + (f" {m.rate / 1e6:.0f} MT/s" if m.rate else "") for m in machine.modules
    ]
    return {
        "system": machine.system,
        "host": machine.host,
        "processor": machine.processor,
        "architecture": machine.architecture,
        "sockets": str(len({core.socket for core in machine.cores})),
        "cores": str(len(machine.cores)),
        "processors that may be used": _count_usable(machine),
        "memory nodes": _count_node_kinds(machine),
        "memory": binary_size(machine.memory),
        "memory modules": ", ".join(f"{modules.count(m)} × {m}" for m in dict.fromkeys(modules)) or ABSENT,
        "processor quota": f"{quota:g} cores" if (quota := limiting_quota(machine)) else "none",
        **{
            name: ", ".join(f"{sizes.count(s)} × {binary_size(s)}" for s in dict.fromkeys(sizes))
            for name, sizes in sorted(caches.items())
        },
        **{
            f"limit of {name.replace('_', ' ')}": quantity(limit.value, limit.unit)
            for name, limit in sorted(machine.limits.items())
            if name != "flops"  # it follows from the measured clock, so it always differs
        },
    }


def _settings(machine: Machine) -> dict[str, str]:
    limits = {"cpu_quota": limiting_quota(machine), "memory_limit": limiting_memory(machine)}
    return {
        s.name: ABSENT if s.value is None else "none" if limits.get(s.name, 1) is None else s.value
        for s in machine.settings
        if s.name not in (*FLEETING, *ELSEWHERE)
    }


def _describe_mpi(run: Run) -> dict[str, str]:
    """Returns what reaches the ranks of the run besides its plan; {} for a run without ranks."""
    if not any("mpi" in case.parameters for launch in run.plan.launches for case in launch.cases):
        return {}
    settings = mpi_in_effect.list_of_run(run)
    return {
        "configuration of the MPI": ABSENT if settings is None else describe(settings),
        "launcher": run.site.launcher,
        "launcher options": shlex.join(run.site.extra) or "none",
    }


def _describe_plan(run: Run) -> dict[str, str]:
    return {
        "preset": run.plan.preset,
        "seed": str(run.plan.seed),
        "benchmarks": ", ".join(sorted({launch.benchmark for launch in run.plan.launches})),
        **{f"variant {name}": text for name, text in meanings(run.site.variants).items()},
        "launches of a case": str(max((launch.repetition for launch in run.plan.launches), default=0)),
    }
