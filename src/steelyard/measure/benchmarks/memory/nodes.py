"""Memory nodes with their processors, and the five placements of threads and memory."""

from dataclasses import dataclass

from steelyard.measure.machine.cpulist import format_cpu_list
from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.model import Limit, Machine, NumaNode

TITLES = {
    "full_system": "full system",
    "local_socket": "local socket",
    "local_numa_node": "local memory node",
    "remote_same_socket": "remote node, same socket",
    "remote_other_socket": "remote socket",
}


@dataclass(frozen=True)
class Placement:
    """One of the five placements: the processors, and the parameters of its Triad case."""

    name: str
    cpus: tuple[int, ...]
    pinning: str
    memory_policy: str
    limit: Limit | None

    @property
    def title(self) -> str:
        return TITLES[self.name]


def usable_cpus(machine: Machine, node: NumaNode) -> tuple[int, ...]:
    """Returns the node's processors that this process may use."""
    return tuple(sorted(cpu for cpu in node.cpus if cpu in machine.cpus))


def cpu_nodes(machine: Machine) -> tuple[NumaNode, ...]:
    """Returns the nodes with usable processors."""
    return tuple(node for node in machine.nodes if usable_cpus(machine, node))


def memory_nodes(machine: Machine) -> tuple[NumaNode, ...]:
    """Returns the nodes of main memory. Nodes of GPUs, CXL and other devices are used only if a user names one."""
    return main_nodes(machine.nodes)


def policy(machine: Machine, node: NumaNode) -> str:
    """Returns the policy for memory of `node`. A single node needs no binding, which containers forbid."""
    main = memory_nodes(machine)
    return "local" if len(main) == 1 and node in main else f"bind:{node.number}"


def is_main(machine: Machine, memory_policy: str) -> bool:
    """Returns whether this policy uses only main memory, for which the machine's bandwidth limit holds."""
    return not memory_policy.startswith("bind:") or memory_policy in [f"bind:{n.number}" for n in memory_nodes(machine)]


def socket_of(machine: Machine, node: NumaNode) -> int | None:
    """Returns the socket of a node's cores; None for a node without cores."""
    return next((core.socket for core in machine.cores if set(core.cpus) & set(node.cpus)), None)


def placements(machine: Machine) -> tuple[Placement, ...]:
    """Returns the placements that the machine has, with limits if the memory bandwidth is known."""
    near = [n for n in cpu_nodes(machine) if n.memory > 0]
    if not near:
        return ()
    home, sockets = near[0], {socket_of(machine, n) for n in near}
    siblings = [n for n in near if socket_of(machine, n) == socket_of(machine, home)]
    others = [n for n in near if n not in siblings]
    local = usable_cpus(machine, home)

    def place(name: str, cpus: tuple[int, ...], pinning: str, memory: str, nodes: int) -> Placement:
        return Placement(name, cpus, pinning, memory, share(machine, nodes, name.startswith("remote")))

    def place_home(name: str, node: NumaNode) -> Placement:
        return place(name, local, format_cpu_list(local), policy(machine, node), 1)

    if len(memory_nodes(machine)) == 1 and len(near) == 1:
        return (place("full_system", local, format_cpu_list(local), "local", 1),)
    chosen = [place("full_system", machine.cpus, "compact", "local", len(memory_nodes(machine)))]
    if len(sockets) > 1 and len(siblings) > 1:
        cpus = tuple(sorted(cpu for n in siblings for cpu in usable_cpus(machine, n)))
        chosen.append(place("local_socket", cpus, format_cpu_list(cpus), "local", len(siblings)))
    # If a socket has one node, both names mean the same placement. It then has the name of the socket.
    chosen.append(place_home("local_numa_node" if len(siblings) > 1 else "local_socket", home))
    if len(siblings) > 1:
        chosen.append(place_home("remote_same_socket", siblings[1]))
    if others:
        chosen.append(place_home("remote_other_socket", others[0]))
    return tuple(chosen)


def share(machine: Machine, nodes: int, remote: bool = False) -> Limit | None:
    """Returns the bandwidth of `nodes` memory nodes, if all nodes have equal numbers of channels."""
    whole, all_nodes = machine.limits.get("memory_bandwidth"), len(memory_nodes(machine))
    if whole is None or all_nodes == 0:
        return None
    source = whole.source if nodes == all_nodes else f"{nodes} of {all_nodes} memory nodes of {whole.source}"
    return Limit(whole.value * nodes / all_nodes, whole.unit, source + (" (the link may allow less)" if remote else ""))
