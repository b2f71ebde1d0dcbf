"""Sockets, cores, hardware threads, memory nodes and caches, from the kernel's /sys/devices/system."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.measure.machine.cache_files import read_caches
from steelyard.measure.machine.cpulist import readable_cpu_list
from steelyard.measure.machine.files import KernelFiles, natural
from steelyard.measure.machine.memory_nodes import main_nodes, read_nodes
from steelyard.measure.machine.processors import Processor
from steelyard.measure.machine.sockets import merge_clusters, sockets_of
from steelyard.model import Cache, Core, NumaNode

_CPU = "/sys/devices/system/cpu"


@dataclass(frozen=True)
class Topology:
    """Reads the topology of the machine from the kernel; offline processors are left out."""

    online: tuple[int, ...]
    cores: tuple[Core, ...]
    nodes: tuple[NumaNode, ...]
    caches: tuple[Cache, ...]
    notes: tuple[str, ...]


def read_topology(files: KernelFiles, processor: Processor, cpuinfo: Mapping[str, str], near: str = "DRAM") -> Topology:
    """Returns the topology below `files`. `near` is the kind of the memory beside processors."""
    notes: list[str] = []
    online = _list_online(files)
    if not online:
        notes.append("No processor is listed: /sys/devices/system/cpu/online and /proc/cpuinfo are missing.")
    nodes, node_notes = read_nodes(files, online, cpuinfo, near)
    cores = _list_cores(files, online, nodes, notes)
    caches = read_caches(files, cores, cpuinfo, processor.inclusive_l3)
    if processor.is_arm:
        cores = merge_clusters(files, cores, caches, len(processor.kinds) > 1)
    if online and not caches:
        notes.append(
            "The kernel does not report the sizes of the caches. This is usual on boards with a device tree and in some "
            "virtual machines. Steelyard cannot derive the sizes of arrays from them."
        )
    return Topology(online, cores, nodes, caches, (*node_notes, *notes))


def _list_online(files: KernelFiles) -> tuple[int, ...]:
    """Returns the processors in use: by the list, else by their folders (kernels before 2.6.26), else by /proc/cpuinfo."""
    listed = readable_cpu_list(files.text(f"{_CPU}/online"))
    if listed:
        return listed
    folders = files.processors()
    present = tuple(sorted(cpu for cpu in folders if files.text(f"{folders[cpu]}/online") != "0"))
    if present:
        return present
    lines = (files.text("/proc/cpuinfo") or "").splitlines()
    numbers = (line.partition(":")[2].strip() for line in lines if line.startswith("processor"))
    return tuple(sorted({cpu for cpu in map(natural, numbers) if cpu is not None}))


def _list_cores(
    files: KernelFiles, online: tuple[int, ...], nodes: tuple[NumaNode, ...], notes: list[str]
) -> tuple[Core, ...]:
    node_of = {cpu: node.number for node in nodes for cpu in node.cpus}
    online_cpus, places, incomplete = set(online), [], False
    sockets = sockets_of(files, online)
    assigned: set[int] = set()
    for cpu in online:
        if cpu in assigned:
            continue
        folder = f"{_CPU}/cpu{cpu}/topology"
        listed = files.cpus(folder, "thread_siblings", "core_cpus", "thread_siblings_list", "core_cpus_list")
        incomplete |= listed is None
        siblings = tuple(other for other in listed or () if other in online_cpus and other not in assigned)
        if cpu not in siblings:
            siblings = (cpu,)
        assigned.update(siblings)
        places.append((sockets[cpu], node_of.get(cpu, 0), siblings))
    if incomplete:
        notes.append(
            "The kernel does not report which hardware threads share a core. Steelyard counts each hardware thread as a core."
        )
    return tuple(Core(number, socket, node, siblings) for number, (socket, node, siblings) in enumerate(sorted(places)))


def allowed_cpus(files: KernelFiles, online: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the processors in this process's affinity. In a recorded tree they are read from /proc/self/status."""
    if files.live:
        try:
            return tuple(sorted(os.sched_getaffinity(0)))
        except (AttributeError, OSError):
            return online
    listed = readable_cpu_list(files.pairs("/proc/self/status").get("Cpus_allowed_list"))
    online_cpus = set(online)
    return tuple(cpu for cpu in listed if cpu in online_cpus) if listed else online


def allowed_memory(files: KernelFiles, nodes: tuple[NumaNode, ...], group: tuple[int, ...] | None) -> int | None:
    """Returns the bytes of main memory on the nodes that this process may use; None when it may use all or nothing is reported.

    A recorded tree may have no /proc/self/status: then the nodes of its control `group` count.
    """
    nodes = main_nodes(nodes)
    allowed = set(readable_cpu_list(files.pairs("/proc/self/status").get("Mems_allowed_list")) or group or ())
    if not allowed or all(node.number in allowed for node in nodes):
        return None
    return sum(node.memory for node in nodes if node.number in allowed) or None
