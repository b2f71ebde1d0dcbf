"""The socket of each processor: by the kernel's numbers where they are unambiguous, else by the sets of siblings."""

from collections.abc import Sequence

from steelyard.measure.machine.files import KernelFiles
from steelyard.model import Cache, Core, Setting

_CPU = "/sys/devices/system/cpu"
_TREE = "/sys/firmware/devicetree/base/cpus"
_SIBLINGS = ("core_siblings", "package_cpus", "core_siblings_list", "package_cpus_list")


def sockets_of(files: KernelFiles, online: tuple[int, ...]) -> dict[int, int]:
    """Returns the number of the socket of each processor.

    A socket is a set of siblings with one physical_package_id. Neither is enough alone: the number is -1 or missing on POWER and
    s390, and repeats from book to book and on Itanium; the siblings of some firmware reach beyond the package.
    Numbers that are not the kernel's own count from 0, in the order of the processors.
    """
    packages = {cpu: files.number(f"{_CPU}/cpu{cpu}/topology/physical_package_id") for cpu in online}
    number_of: dict[int, int] = {}  # processor → position of its socket in `given`
    given: list[int | None] = []
    by_package: dict[int | None, set[int]] = {}
    for cpu, package in packages.items():
        by_package.setdefault(package, set()).add(cpu)
    for cpu in online:
        if cpu in number_of:
            continue
        alike = by_package[packages[cpu]]
        siblings = files.cpus(f"{_CPU}/cpu{cpu}/topology", *_SIBLINGS)
        members = {cpu} | (alike if siblings is None else alike.intersection(siblings))
        # A wrong file of one processor does not split a socket: the other processors of the socket name this one as a sibling.
        position = next((number_of[other] for other in members if other in number_of), len(given))
        number_of.update(dict.fromkeys(members.difference(number_of), position))
        if position == len(given):
            given.append(packages[cpu])
    usable = [number for number in given if number is not None and number >= 0]
    if len(set(usable)) < len(given):
        return number_of
    return {cpu: usable[position] for cpu, position in number_of.items()}


def merge_clusters(
    files: KernelFiles, cores: tuple[Core, ...], caches: tuple[Cache, ...], several_kinds: bool
) -> tuple[Core, ...]:
    """The cores of an Arm machine with its clusters in one socket, where a kernel before 6.0 called each cluster a package.

    Three facts show it: the device tree has clusters and no sockets (Documentation/devicetree/bindings/cpu/cpu-topology.txt),
    the packages share a cache, or they have cores of different kinds.
    """
    socket_of = {cpu: core.socket for core in cores for cpu in core.cpus}
    shared = any(len({socket_of[cpu] for cpu in cache.cpus}) > 1 for cache in caches)
    entries = files.names(f"{_TREE}/cpu-map")
    flat = bool(entries) and not any(entry.startswith("socket") for entry in entries)
    if not (several_kinds or shared or flat):
        return cores
    merged = sorted((core.node, core.cpus) for core in cores)
    first = min((core.socket for core in cores), default=0)
    return tuple(Core(number, first, node, cpus) for number, (node, cpus) in enumerate(merged))


def read_sub_numa_clustering(cores: Sequence[Core]) -> Setting:
    """Returns whether the firmware splits each socket into several memory nodes (Sub-NUMA Clustering, Cluster-on-Die, NPS).

    No file states it, so it follows from the nodes of the cores of each socket.
    """
    name, source = "sub_numa_clustering", "/sys/devices/system/node"
    nodes: dict[int, set[int]] = {}
    for core in cores:
        nodes.setdefault(core.socket, set()).add(core.node)
    counts = sorted({len(of_socket) for of_socket in nodes.values()})
    if not counts:
        return Setting(name, None, source, "the sockets of the cores are unknown")
    if counts == [1]:
        return Setting(name, "off", source)
    return Setting(name, f"{' or '.join(map(str, counts))} memory nodes in a socket", source)
