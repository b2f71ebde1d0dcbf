"""Placements of threads and memory called by their names, by which runs of machines with other memory nodes are paired."""

from dataclasses import replace

from steelyard.benchmarks.memory.nodes import cpu_nodes, memory_nodes, placements, policy, socket_of, usable_cpus
from steelyard.machine.cpulist import format_cpu_list
from steelyard.model import Evaluation, Machine, NumaNode, Result
from steelyard.model.roles import Placed
from steelyard.statistics.results.benchmark_roles import playing

# With these parameters a machine spells out a placement that has a name: they need not agree.
SPELT = ("pinning", "memory_policy", "threads")


def named(evaluation: Evaluation) -> tuple[Result, ...]:
    """The results; those of a benchmark that is placed on memory nodes with a parameter `placement` besides.

    It is the name of one of the five (on whole nodes), and of a single processor's from the first node their counterpart. All
    other ways from node to node are called by the relation of both nodes and the number of nodes, so that a way within a socket
    is never compared with one between sockets because the nodes have the same numbers.
    """
    where, names = evaluation.run.machine, _names(evaluation.run.machine)
    kinds = {(name, role.kernel): role.whole for name, role in playing(evaluation, Placed)}
    found = []
    for r in evaluation.results:
        whole = kinds.get((r.benchmark, r.kernel))
        name = "" if whole is None else _name(r, whole, names, where)
        found.append(replace(r, parameters={**r.parameters, "placement": name}) if name else r)
    return tuple(found)


def spelt(result: Result) -> tuple[str, ...]:
    """The parameters that need not agree where the result has a name of its own."""
    own = {"placement", *SPELT} <= result.parameters.keys()  # ranks have a placement, too, but no `pinning`
    return SPELT if own and not str(result.parameters["placement"]).startswith("node ") else ()


def _names(machine: Machine) -> dict[tuple[bool, str, str], str]:
    """(whole, pinning, policy) → the name."""
    found = {(True, p.pinning, p.memory_policy): p.title for p in reversed(placements(machine))}
    near = [n for n in cpu_nodes(machine) if n.memory > 0]
    for node in reversed(memory_nodes(machine) if near else ()):
        first = str(usable_cpus(machine, near[0])[0])
        found[False, first, policy(machine, node)] = f"from the first node to {_relation(machine, near[0], node)}"
    # Of several nodes of one relation the one of lowest number has the name, as with the five.
    taken: dict[tuple[bool, str], tuple[bool, str, str]] = {}
    for key in sorted(found, key=lambda key: (key[0], key[2] != "local", len(key[2]), key[2])):
        taken.setdefault((key[0], found[key]), key)
    return {key: found[key] for key in taken.values()}


def _name(result: Result, whole: bool, names: dict[tuple[bool, str, str], str], machine: Machine) -> str:
    pinning, memory = (str(result.parameters.get(name, "")) for name in ("pinning", "memory_policy"))
    if known := names.get((whole, pinning, memory)):
        return known
    ends = [n for n in cpu_nodes(machine) if pinning in (format_cpu_list(usable_cpus(machine, n)), _first(machine, n))]
    there = [n for n in machine.nodes if n.memory and policy(machine, n) == memory]
    if not ends or not there:
        return ""
    return f"node {ends[0].number} of {len(machine.nodes)} to {_relation(machine, ends[0], there[0])}"


def _first(machine: Machine, node: NumaNode) -> str:
    return str(usable_cpus(machine, node)[0])


def _relation(machine: Machine, near: NumaNode, memory: NumaNode) -> str:
    if near.number == memory.number:
        return "its own memory"
    if memory not in memory_nodes(machine):
        return f"node {memory.number} ({memory.kind})"
    here, there = socket_of(machine, near), socket_of(machine, memory)
    return "another node of the socket" if here == there else "another socket"
