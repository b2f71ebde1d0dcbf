"""Lists the conditions that differ between two runs: machine, settings, toolchains, versions, plan."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from steelyard.model import Evaluation, Machine, Run
from steelyard.units import binary_size, quantity

# They always differ, and the verdict of each record judges them better.
FLEETING = ("load_average",)
ELSEWHERE = ("memory_modules",)  # listed with the parts of the machine
# Versions and facts of plans that influence a figure; the order of the launches and the version of Python do not.
TELLING = ("steelyard", "kernel", "preset", "launches of a case")
NETWORKED = ("network.", "cluster.", "application.")  # groups whose benchmarks send messages
ABSENT = "unknown"


@dataclass(frozen=True)
class Difference:
    """A condition that differs. `group` is "machine", "setting", "toolchain", "version" or "plan"; `a`, `b` are texts."""

    group: str
    name: str
    a: str
    b: str


def find_differences(a: Run, b: Run) -> list[Difference]:
    """Returns all conditions that differ, the machine first. An empty list means that no difference is known."""
    sides = [
        ("machine", _machine(a.machine), _machine(b.machine)),
        ("setting", _settings(a.machine), _settings(b.machine)),
        ("toolchain", _toolchains(a), _toolchains(b)),
        ("version", a.versions, b.versions),
        ("plan", _plan(a), _plan(b)),
    ]
    return [d for group, facts_a, facts_b in sides for d in _between(group, facts_a, facts_b)]


def relevant_differences(a: Evaluation, b: Evaluation) -> list[Difference]:
    """Returns the differences that can change what both runs measured: those of their machines and of the tools they used."""
    common = {r.benchmark for r in a.results} & {r.benchmark for r in b.results}
    networked = any(name.startswith(NETWORKED) for name in common)
    relevant = []
    for d in find_differences(a.run, b.run):
        if d.group in ("toolchain", "version", "plan") and d.name not in TELLING:
            continue
        if d.group == "machine" and "network" in d.name and not networked:
            continue
        relevant.append(d)
    sides = [_used(e, common) for e in (a, b)]
    return [d for d in relevant if d.group != "toolchain"] + _between("toolchain", *sides)


def _used(evaluation: Evaluation, common: Collection[str]) -> dict[str, str]:
    """Returns the compilers and MPIs of the benchmarks that both runs have."""
    parameters = [r.parameters for r in evaluation.results if r.benchmark in common]
    named = {"compiler": "toolchain", "MPI": "mpi"}
    used = {word: sorted({str(p[name]) for p in parameters if name in p}) for word, name in named.items()}
    return {word: ", ".join(names) for word, names in used.items() if names}


def _between(group: str, a: Mapping[str, str], b: Mapping[str, str]) -> list[Difference]:
    both = ((name, a.get(name, ABSENT), b.get(name, ABSENT)) for name in dict.fromkeys((*a, *b)))
    return [Difference(group, name, x, y) for name, x, y in both if x != y]


def _node_kinds(machine: Machine) -> str:
    """Returns '2', or '2 DRAM, 6 GPU' if the memory nodes have several kinds."""
    kinds = Counter(node.kind for node in machine.nodes)
    return ", ".join(f"{n} {kind}" for kind, n in kinds.items()) if len(kinds) > 1 else str(len(machine.nodes))


def _machine(machine: Machine) -> dict[str, str]:
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
        "processors that may be used": str(len(machine.cpus)),
        "memory nodes": _node_kinds(machine),
        "memory": binary_size(machine.memory),
        "memory modules": ", ".join(f"{modules.count(m)} × {m}" for m in dict.fromkeys(modules)) or ABSENT,
        "processor quota": "none" if machine.cpu_quota is None else f"{machine.cpu_quota:g} cores",
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
    return {
        s.name: ABSENT if s.value is None else s.value
        for s in machine.settings
        if s.name not in (*FLEETING, *ELSEWHERE)
    }


def _toolchains(run: Run) -> dict[str, str]:
    used = ", ".join(sorted({launch.toolchain for launch in run.plan.launches}))
    installed = {tool.name: tool.version for tool in (*run.machine.compilers, *run.machine.mpis)}
    return {"used": used, **installed}


def _plan(run: Run) -> dict[str, str]:
    return {
        "preset": run.plan.preset,
        "seed": str(run.plan.seed),
        "benchmarks": ", ".join(sorted({launch.benchmark for launch in run.plan.launches})),
        "launches of a case": str(max((launch.repetition for launch in run.plan.launches), default=0)),
    }
