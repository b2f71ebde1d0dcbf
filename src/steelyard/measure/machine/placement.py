"""Chooses the processor of every thread: compact, scattered, or as listed."""

from steelyard.errors import UsageError, nearest
from steelyard.measure.machine.cpulist import format_cpu_list, parse_cpu_list
from steelyard.model import Core, Machine

_WORDS = ("none", "compact", "scatter")


def place(machine: Machine, threads: int, pinning: str) -> tuple[int, ...] | None:
    """Returns the processor of each thread, all different and allowed; None for "none": the kernel chooses.

    - "compact": neighbouring cores, one socket and memory node after the other;
    - "scatter": round robin over the memory nodes, sockets alternating;
    - a list such as "0,2-3": thread i on the i-th of the list.

    A second hardware thread of a core is used only when every core has one. Raises UsageError for more
    threads than processors, an unknown word, or a list that is too short or not allowed.
    """
    if threads < 1:
        raise UsageError(f"threads={threads} is not possible. Ask for at least 1 thread.")
    if threads > len(machine.cpus):
        raise UsageError(
            f"threads={threads} is more than the {len(machine.cpus)} processors that this process may use "
            f"({format_cpu_list(machine.cpus) or 'none known'}). Ask for at most {len(machine.cpus)} threads: if threads "
            "share a processor, the results show the scheduler of the operating system."
        )
    if pinning == "none":
        return None
    if pinning == "compact":
        return _order_by_layer(_list_allowed_cores(machine))[:threads]
    if pinning == "scatter":
        return _order_by_layer(_alternate_nodes(_list_allowed_cores(machine)))[:threads]
    return _list_cpus(machine, threads, pinning)


def _list_allowed_cores(machine: Machine) -> list[Core]:
    """Returns the cores with an allowed processor, by socket and node. A processor without a known core counts as a core."""
    allowed = set(machine.cpus)
    cores = [
        Core(core.number, core.socket, core.node, tuple(cpu for cpu in core.cpus if cpu in allowed))
        for core in machine.cores
    ]
    unknown = allowed.difference(*(core.cpus for core in cores))
    cores += [Core(len(cores) + cpu, 0, 0, (cpu,)) for cpu in sorted(unknown)]
    return sorted((core for core in cores if core.cpus), key=lambda core: (core.socket, core.node, core.number))


def _alternate_nodes(cores: list[Core]) -> list[Core]:
    """Returns the first core of each memory node, then the second of each …, with alternating sockets."""
    nodes: dict[tuple[int, int], list[Core]] = {}
    for core in cores:
        nodes.setdefault((core.socket, core.node), []).append(core)
    position = {
        key: [other for other in sorted(nodes) if other[0] == key[0]].index(key) for key in nodes
    }  # index of the node in its socket
    order = sorted(nodes, key=lambda key: (position[key], key))
    longest = max(map(len, nodes.values()), default=0)
    return [nodes[key][turn] for turn in range(longest) for key in order if turn < len(nodes[key])]


def _order_by_layer(cores: list[Core]) -> tuple[int, ...]:
    """Returns the first hardware thread of every core in order, then the second ones."""
    deepest = max((len(core.cpus) for core in cores), default=0)
    return tuple(core.cpus[layer] for layer in range(deepest) for core in cores if layer < len(core.cpus))


def _list_cpus(machine: Machine, threads: int, pinning: str) -> tuple[int, ...]:
    if not any(character.isdigit() for character in pinning):
        raise UsageError(
            f"pinning='{pinning}' is unknown. {nearest(pinning, _WORDS)} You can also give a list of processors, such as '0,2-3'."
        )
    try:
        cpus = parse_cpu_list(pinning)
    except ValueError as problem:
        raise UsageError(f"pinning='{pinning}' is not a list of processors: {problem}. Write it as '0,2-3'.") from None
    forbidden = [cpu for cpu in cpus if cpu not in machine.cpus]
    if forbidden:
        raise UsageError(
            f"pinning='{pinning}' names processors that this process may not use: "
            f"{format_cpu_list(forbidden)}. Allowed are {format_cpu_list(machine.cpus)}."
        )
    if len(cpus) < threads:
        raise UsageError(
            f"pinning='{pinning}' names {len(cpus)} different processors, but threads={threads}. "
            "Name one processor for each thread, or ask for another number of threads."
        )
    return cpus[:threads]
