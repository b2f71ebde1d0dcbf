"""Sockets, cores, hardware threads, memory nodes and caches, from the kernel's /sys/devices/system."""

import os
from dataclasses import dataclass

from steelyard.machine.cpulist import parse_cpu_list, readable_cpu_list
from steelyard.machine.files import KernelFiles, kibibytes, natural
from steelyard.model import Cache, Core, NumaNode

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"
_LOCAL_DISTANCE = 10  # ACPI 6, SLIT: the distance of a node to itself


@dataclass(frozen=True)
class Topology:
    """What the kernel tells of the machine's build; processors that are offline are left out."""

    online: tuple[int, ...]
    cores: tuple[Core, ...]
    nodes: tuple[NumaNode, ...]
    caches: tuple[Cache, ...]
    notes: tuple[str, ...]


def read_topology(files: KernelFiles, inclusive_l3: bool | None) -> Topology:
    """The topology below `files`. `inclusive_l3` is the processor family's: the kernel does not tell it."""
    notes: list[str] = []
    online = _online(files)
    if not online:
        notes.append("No processor is listed: /sys/devices/system/cpu/online and /proc/cpuinfo are missing.")
    nodes = _nodes(files, online, notes)
    caches = _caches(files, online, inclusive_l3)
    if online and not caches:
        notes.append(
            "The kernel tells no cache sizes (usual on boards with a device tree and in some guests): "
            "array sizes cannot be derived from them."
        )
    return Topology(online, _cores(files, online, nodes, notes), nodes, caches, tuple(notes))


def _online(files: KernelFiles) -> tuple[int, ...]:
    listed = readable_cpu_list(files.text(f"{_CPU}/online"))
    if listed:
        return listed
    lines = (files.text("/proc/cpuinfo") or "").splitlines()
    numbers = (line.partition(":")[2].strip() for line in lines if line.startswith("processor"))
    return tuple(sorted({cpu for cpu in map(natural, numbers) if cpu is not None}))


def _cores(
    files: KernelFiles, online: tuple[int, ...], nodes: tuple[NumaNode, ...], notes: list[str]
) -> tuple[Core, ...]:
    node_of = {cpu: node.number for node in nodes for cpu in node.cpus}
    known, found, untold = set(online), [], False
    observed: set[int] = set()
    for cpu in online:
        if cpu in observed:
            continue
        folder = f"{_CPU}/cpu{cpu}/topology"
        listed = readable_cpu_list(files.text(f"{folder}/thread_siblings_list"))
        untold |= listed is None
        siblings = tuple(other for other in listed or () if other in known and other not in observed)
        if cpu not in siblings:
            siblings = (cpu,)
        observed.update(siblings)
        socket = files.number(f"{folder}/physical_package_id")
        # Some boards answer -1: the firmware names no package.
        found.append((max(0, socket or 0), node_of.get(cpu, 0), siblings))
    if untold:
        notes.append("The kernel does not tell which hardware threads share a core: each was taken for a core.")
    return tuple(Core(number, socket, node, siblings) for number, (socket, node, siblings) in enumerate(sorted(found)))


def _nodes(files: KernelFiles, online: tuple[int, ...], notes: list[str]) -> tuple[NumaNode, ...]:
    numbers = [int(name[4:]) for name in files.names(_NODE) if name.startswith("node") and name[4:].isdecimal()]
    installed = kibibytes(files.pairs("/proc/meminfo").get("MemTotal"))
    if len(numbers) <= 1:
        # One node has all the memory. Its own file is not asked: where the kernel initialises memory lazily
        # it tells less than there is.
        if not online and installed is None:
            return ()
        number = numbers[0] if numbers else 0
        return (NumaNode(number, online, installed or 0, (_LOCAL_DISTANCE,)),)
    found = []
    for number in numbers:
        folder = f"{_NODE}/node{number}"
        listed = readable_cpu_list(files.text(f"{folder}/cpulist"))
        memory = _node_memory(files.text(f"{folder}/meminfo"))
        if listed is None or memory is None:
            notes.append(f"Memory node {number} could not be read whole ({folder}): it may be described too small.")
        reported = (natural(word) for word in (files.text(f"{folder}/distance") or "").split())
        distances = tuple(distance for distance in reported if distance is not None)
        cpus = tuple(cpu for cpu in listed or () if cpu in set(online))
        found.append(NumaNode(number, cpus, memory or 0, distances))
    return tuple(found)


def _node_memory(meminfo: str | None) -> int | None:
    """Bytes in the line 'Node 0 MemTotal:  4678212 kB'."""
    for line in (meminfo or "").splitlines():
        key, _, value = line.partition(":")
        if key.split()[-1:] == ["MemTotal"]:
            return kibibytes(value)
    return None


def _caches(files: KernelFiles, online: tuple[int, ...], inclusive_l3: bool | None) -> tuple[Cache, ...]:
    found: list[Cache] = []
    covered: dict[str, set[int]] = {}
    known = set(online)
    for cpu in online:
        if covered and all(cpu in cpus for cpus in covered.values()):
            continue
        folder = f"{_CPU}/cpu{cpu}/cache"
        for index in (name for name in files.names(folder) if name.startswith("index")):
            # A shared cache is read once, not once for each processor that shares it.
            if cpu in covered.setdefault(index, set()):
                continue
            cache = _cache(files, f"{folder}/{index}", cpu, known, inclusive_l3)
            if cache is not None:
                covered[index].update(cache.cpus)
                found.append(cache)
    return tuple(sorted(set(found), key=lambda cache: (cache.level, cache.kind, cache.cpus)))


def _cache(files: KernelFiles, folder: str, cpu: int, known: set[int], inclusive_l3: bool | None) -> Cache | None:
    level, size = files.number(f"{folder}/level"), _size(files.text(f"{folder}/size"))
    if not level or not size:
        return None
    listed = readable_cpu_list(files.text(f"{folder}/shared_cpu_list")) or (cpu,)
    cpus = tuple(other for other in listed if other in known) or (cpu,)
    kind = (files.text(f"{folder}/type") or "unified").lower()
    # 64 bytes is the line of every x86 processor and of nearly all others that do not tell.
    line = files.number(f"{folder}/coherency_line_size") or 64
    return Cache(level, kind, size, line, cpus, inclusive_l3 if level == 3 else None)


def _size(text: str | None) -> int | None:
    """Bytes in '48K' or '32M', as sysfs writes the size of a cache."""
    digits, suffix = (text or "")[:-1], (text or "")[-1:].upper()
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(suffix)
    number = natural(digits)
    return number * factor if factor and number is not None else None


def allowed_cpus(files: KernelFiles, online: tuple[int, ...]) -> tuple[int, ...]:
    """The processors in this process's affinity; in a recorded tree /proc/self/status tells it."""
    if files.live:
        try:
            return tuple(sorted(os.sched_getaffinity(0)))
        except (AttributeError, OSError):
            return online
    listed = readable_cpu_list(files.pairs("/proc/self/status").get("Cpus_allowed_list"))
    return tuple(cpu for cpu in listed if cpu in set(online)) if listed else online


def allowed_memory(files: KernelFiles, nodes: tuple[NumaNode, ...]) -> int | None:
    """Bytes on the memory nodes that this process may use; None when it may use all or nothing is reported."""
    try:
        allowed = set(parse_cpu_list(files.pairs("/proc/self/status").get("Mems_allowed_list", "")))
    except ValueError:
        return None
    if not allowed or all(node.number in allowed for node in nodes):
        return None
    return sum(node.memory for node in nodes if node.number in allowed) or None
