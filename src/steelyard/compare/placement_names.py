"""Names of placements of threads and memory, by which runs of machines with different memory nodes are paired."""

from dataclasses import replace
from fractions import Fraction

from steelyard.measure.benchmarks.memory.nodes import (
    Placement,
    cpu_nodes,
    memory_nodes,
    placements,
    policy,
    socket_of,
    usable_cpus,
)
from steelyard.measure.machine.cpulist import format_cpu_list
from steelyard.model import Evaluation, Machine, NumaNode, Result
from steelyard.model.roles import Placed
from steelyard.statistics.results.benchmark_roles import find_roles
from steelyard.statistics.results.identity import Case

HALF = Fraction(1, 2)
# These parameters describe a named placement on one machine, and may differ between machines.
SPELT = ("pinning", "memory_policy", "threads")


def name_placements(evaluation: Evaluation) -> tuple[Result, ...]:
    """Returns the results, with a parameter `placement` for benchmarks that are placed on memory nodes.

    The value is the name of one of the five placements on whole nodes, or the counterpart for one processor of the first node.
    All other ways from node to node are named by the relation of both nodes and the number of nodes. So a way within a socket
    is never compared with a way between sockets only because the nodes have the same numbers. A placement whose threads fill
    only a part of a socket has this part in its name: the threads of half a socket do not compare with those of a whole one.
    """
    where, names = evaluation.run.machine, _names(evaluation.run.machine)
    kinds = {(name, role.kernel): role.whole for name, role in find_roles(evaluation, Placed)}
    results = []
    for r in evaluation.results:
        whole = kinds.get((r.benchmark, r.kernel))
        name = "" if whole is None else _name(r, whole, names, where)
        results.append(replace(r, parameters={**r.parameters, "placement": name}) if name else r)
    return tuple(results)


def free_parameters(result: Case) -> tuple[str, ...]:
    """Returns the parameters that may differ because the placement of the result has a name."""
    is_placed = {"placement", *SPELT} <= result.parameters.keys()  # ranks have a placement, too, but no `pinning`
    return SPELT if is_placed and not str(result.parameters["placement"]).startswith("node ") else ()


def _names(machine: Machine) -> dict[tuple[bool, str, str], str]:
    """Returns the names of the placements by (whole node, pinning, memory policy)."""
    titles = {
        (True, p.pinning, p.memory_policy): f"{p.title}{_part(machine, p)}" for p in reversed(placements(machine))
    }
    near = [n for n in cpu_nodes(machine) if n.memory > 0]
    for node in reversed(memory_nodes(machine) if near else ()):
        first = str(usable_cpus(machine, near[0])[0])
        titles[False, first, policy(machine, node)] = f"from the first node to {_relation(machine, near[0], node)}"
    # If several nodes have the same relation, the lowest number has the name, as for the five placements.
    taken: dict[tuple[bool, str], tuple[bool, str, str]] = {}
    for key in sorted(titles, key=lambda key: (key[0], key[2] != "local", len(key[2]), key[2])):
        taken.setdefault((key[0], titles[key]), key)
    return {key: titles[key] for key in taken.values()}


def _part(machine: Machine, placement: Placement) -> str:
    """Returns the part of a socket that the threads fill, in parentheses; "" if the name has it.

    The names are those of sockets with two memory nodes, so the placements on one node fill half a socket.
    """
    if placement.name in ("full_system", "local_socket"):
        return ""
    socket = next((core.socket for core in machine.cores if placement.cpus[0] in core.cpus), None)
    every = {cpu for core in machine.cores if core.socket == socket for cpu in core.cpus} & set(machine.cpus)
    part = Fraction(len(placement.cpus), len(every)) if every else HALF
    if part == HALF:
        return ""
    return " (threads on a whole socket)" if part == 1 else f" (threads on {part} of a socket)"


def _name(result: Result, whole: bool, names: dict[tuple[bool, str, str], str], machine: Machine) -> str:
    pinning, memory = (str(result.parameters.get(name, "")) for name in ("pinning", "memory_policy"))
    if title := names.get((whole, pinning, memory)):
        return title
    cpus = [(n, usable_cpus(machine, n)) for n in cpu_nodes(machine)]
    ends = [n for n, of in cpus if pinning in (format_cpu_list(of), str(of[0]))]
    memories = [n for n in machine.nodes if n.memory and policy(machine, n) == memory]
    if not ends or not memories:
        return ""
    return f"node {ends[0].number} of {len(machine.nodes)} to {_relation(machine, ends[0], memories[0])}"


def _relation(machine: Machine, near: NumaNode, memory: NumaNode) -> str:
    if near.number == memory.number:
        return "its own memory"
    if memory not in memory_nodes(machine):
        return f"node {memory.number} ({memory.kind})"
    near_socket, memory_socket = socket_of(machine, near), socket_of(machine, memory)
    return "another node of the socket" if near_socket == memory_socket else "another socket"
