"""The memory nodes: their processors, bytes and distances, and whether the memory is DRAM, HBM, CXL's or a GPU's."""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from steelyard.measure.machine.cpulist import readable_cpu_list, readable_cpu_mask
from steelyard.measure.machine.files import KernelFiles, natural, parse_kibibytes
from steelyard.model import NumaNode

_NODE = "/sys/devices/system/node"
_DAX = "/sys/bus/dax/drivers/kmem"
_CXL = "/sys/bus/cxl/devices"
_NVIDIA = "/proc/driver/nvidia/gpus"
_TREE = "/sys/firmware/devicetree/base"
_TIERS = "/sys/devices/virtual/memory_tiering"
# The distance of a node to itself (ACPI 6, SLIT), and the kernel's for others where firmware is silent.
_LOCAL, _REMOTE = 10, 20
# The kernel puts DRAM into tier 4 (include/linux/memory-tiers.h: an abstract distance of 576, 128 a tier).
_DRAM_TIER = 4
# HMAT's bandwidth of HBM is 2 to 5 times that of DRAM beside it; sockets and channels of one kind differ by less than this.
_FASTER, _SLOWER = 1.5, 0.75
# OPAL numbers POWER's sockets from 0 and the memory of its GPUs downwards from 255, eight at most (skiboot, hw/npu2.c).
_FIRST_GPU_NODE = 248
_XEON_PHI = {"87", "133"}  # models of family 6: a node without processors is their MCDRAM
_CXL_PARENTS = ("ACPI0017", "dax_region", "cxl")  # ACPI's root of CXL, and the names of the kernel's driver


def read_nodes(
    files: KernelFiles, online: tuple[int, ...], cpuinfo: Mapping[str, str], near: str = "DRAM"
) -> tuple[tuple[NumaNode, ...], tuple[str, ...]]:
    """Returns the memory nodes below `files` with their kinds, and notes on what could not be read or is not main memory.

    `near` is the kind of the memory beside processors: HBM where the machine has nothing else.
    """
    numbers = [int(name[4:]) for name in files.names(_NODE) if name.startswith("node") and name[4:].isdecimal()]
    installed = parse_kibibytes(files.pairs("/proc/meminfo").get("MemTotal"))
    if len(numbers) <= 1:
        if not online and installed is None:
            return (), ()
        # A kernel that initialises memory lazily writes too small a size into the file of the node.
        number = numbers[0] if numbers else 0
        memory = max(installed or 0, _read_node_memory(files, number, "MemTotal") or 0)
        return (NumaNode(number, online, memory, (_LOCAL,), near),), ()
    online_cpus, bare, notes = set(online), [], []
    for number in numbers:
        folder = f"{_NODE}/node{number}"
        listed = files.cpus(folder, "cpumap", "cpulist")
        own_memory = _read_node_memory(files, number, "MemTotal")
        mask, text = readable_cpu_mask(files.text(f"{folder}/cpumap")), files.text(f"{folder}/cpulist")
        if own_memory is None or (mask is None and readable_cpu_list(text) is None):
            notes.append(
                f"Steelyard could not read all files of memory node {number} ({folder}). The node may have more memory than "
                "is shown."
            )
        words_of_distance = (natural(word) for word in (files.text(f"{folder}/distance") or "").split())
        distances = tuple(distance for distance in words_of_distance if distance is not None)
        cpus = tuple(cpu for cpu in listed or () if cpu in online_cpus)
        bare.append(NumaNode(number, cpus, own_memory or 0, distances))
    kinds = _find_kinds(files, bare, cpuinfo, near)
    nodes = tuple(replace(node, kind=kinds[node.number]) for node in bare)
    return nodes, (*notes, *_set_aside(nodes))


def main_nodes(nodes: Iterable[NumaNode]) -> tuple[NumaNode, ...]:
    """The nodes whose memory programs get by themselves: DRAM, and HBM of nodes with processors; all where there is neither.

    Memory of a GPU, behind CXL, persistent, or HBM beside DRAM is used only where a user names its node.
    """
    with_memory = [node for node in nodes if node.memory > 0]
    main = tuple(node for node in with_memory if node.kind == "DRAM" or (node.kind == "HBM" and node.cpus))
    return main or tuple(with_memory)


def free_memory(files: KernelFiles, nodes: Iterable[NumaNode]) -> int:
    """Returns the bytes that are free on these nodes. A node whose file has no such number counts as 0."""
    return sum(_read_node_memory(files, node.number, "MemFree") or 0 for node in nodes)


def _set_aside(nodes: tuple[NumaNode, ...]) -> list[str]:
    main = main_nodes(nodes)
    others = [node for node in nodes if node.memory and node not in main]
    words = {kind: [str(node.number) for node in others if node.kind == kind] for kind in (n.kind for n in others)}
    notes = [
        f"{_name_nodes(numbers)} ({_MEANING[kind]}) {'do' if len(numbers) > 1 else 'does'} not count as main memory. "
        "Steelyard measures such a node only with --set memory_policy=bind:NODE."
        for kind, numbers in words.items()
    ]
    lonely = [str(node.number) for node in main if not node.cpus]
    if lonely and len(lonely) < len(main):
        notes.append(
            f"{_name_nodes(lonely)} (without processors) {'count' if len(lonely) > 1 else 'counts'} as DRAM, because no file "
            "of the kernel gives another kind."
        )
    return notes


def _name_nodes(numbers: list[str]) -> str:
    return f"Memory node{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"


_MEANING = {
    "GPU": "the memory of a GPU",
    "HBM": "HBM beside DRAM",
    "CXL": "memory of a CXL device",
    "persistent": "persistent memory",
    "unknown": "without processors, of an unknown kind",
}


def _read_node_memory(files: KernelFiles, number: int, wanted: str) -> int | None:
    """Returns the bytes in the line 'Node 0 MemTotal:  4678212 kB'."""
    for line in (files.text(f"{_NODE}/node{number}/meminfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.split()[-1:] == [wanted]:
            return parse_kibibytes(value)
    return None


@dataclass(frozen=True, kw_only=True)
class _Evidence:
    """Facts of the kernel on a node without processors, or on one made of specific-purpose memory."""

    # Name by the driver or the firmware: "GPU", "CXL", "persistent", or "special" (of an unknown purpose); else "".
    named: str
    faster: bool  # than the memory beside processors
    slower: bool
    added: bool  # while the system ran, as memory that can be taken away: it is in no zone for the kernel's own data
    ordinary: bool  # the node has a zone for ordinary memory
    far: bool  # whether it is far from all processors


def _find_kinds(files: KernelFiles, nodes: list[NumaNode], cpuinfo: Mapping[str, str], near: str) -> dict[int, str]:
    """Returns the kind of each node: what a driver or the firmware names, else what speed, distance and zone allow."""
    kinds = {n.number: "none" if not n.memory else near if n.cpus else "DRAM" for n in nodes}
    if all(node.cpus for node in nodes if node.memory):
        return kinds
    named = _find_gpu_nodes(files) | _find_dax_nodes(files)
    tiers, speeds = _read_tiers(files), _read_speeds(files, nodes)
    ordinary = readable_cpu_list(files.text(f"{_NODE}/has_normal_memory")) or ()
    usual = _find_main_speed(nodes, speeds)
    for node in (n for n in nodes if n.memory and (not n.cpus or named.get(n.number) == "special")):
        ratio = speeds[node.number] / usual if usual and node.number in speeds else 1.0
        tier = tiers.get(node.number, _DRAM_TIER)
        evidence = _Evidence(
            named=named.get(node.number, ""),
            faster=ratio >= _FASTER or tier < _DRAM_TIER,
            slower=ratio <= _SLOWER or tier > _DRAM_TIER,
            added=bool(ordinary) and node.number not in ordinary,
            ordinary=node.number in ordinary,
            # POWER's distances double at each level of its firmware's hierarchy: they do not tell devices from sockets.
            far=not _is_power(cpuinfo) and _is_distant(node, nodes),
        )
        kinds[node.number] = _find_kind(files, node, cpuinfo, evidence) or kinds[node.number]
    return kinds


def _find_kind(files: KernelFiles, node: NumaNode, cpuinfo: Mapping[str, str], evidence: _Evidence) -> str:
    """Returns the kind that the evidence shows; "" if nothing speaks against ordinary memory."""
    if evidence.named and evidence.named != "special":
        return evidence.named
    if evidence.faster or (_has_stacked_memory(cpuinfo) and not node.cpus):
        return "HBM"
    if node.cpus:
        return ""
    if _has_cxl_memory(files):
        return "CXL"
    unlike = evidence.added or evidence.far
    by_number = _is_power(cpuinfo) and node.number >= _FIRST_GPU_NODE and not evidence.ordinary
    if by_number or (unlike and not evidence.slower and not evidence.named and files.names(_NVIDIA)):
        return "GPU"
    return "unknown" if unlike or evidence.slower or evidence.named else ""


def _has_stacked_memory(cpuinfo: Mapping[str, str]) -> bool:
    """Whether the processor has memory in its package (Xeon Phi, Xeon Max), which in flat mode makes nodes without processors."""
    phi = cpuinfo.get("cpu family") == "6" and cpuinfo.get("model") in _XEON_PHI
    return phi or "Xeon(R) CPU Max" in cpuinfo.get("model name", "")


def _is_power(cpuinfo: Mapping[str, str]) -> bool:
    return "POWER" in cpuinfo.get("cpu", "")


def _has_cxl_memory(files: KernelFiles) -> bool:
    return any(name.startswith("mem") for name in files.names(_CXL))


def _is_distant(node: NumaNode, nodes: list[NumaNode]) -> bool:
    """Returns whether no processors are as near to the node as the two processor nodes that are furthest from each other."""
    places = [place for place, other in enumerate(nodes) if other.cpus]
    distances = [node.distances[place] for place in places if place < len(node.distances)]
    between = [nodes[a].distances[b] for a in places for b in places if b < len(nodes[a].distances)]
    return bool(distances) and min(distances) > max([_REMOTE, *between])


def _find_gpu_nodes(files: KernelFiles) -> dict[int, str]:
    """Returns the nodes that NVIDIA's driver reports, or that POWER's firmware marks in the device tree."""
    kinds = {}
    for name in files.names(_NVIDIA):
        node = natural(files.pairs(f"{_NVIDIA}/{name}/numa_status").get("Node"))
        if node is not None:
            kinds[node] = "GPU"
    for name in (entry for entry in files.names(_TREE) if entry.startswith("memory@")):
        associativity, _ = files.read_bytes(f"{_TREE}/{name}/ibm,associativity")
        is_of_gpu = "coherent-device" in (files.text(f"{_TREE}/{name}/compatible") or "")
        if is_of_gpu and associativity and len(associativity) >= 4:
            kinds[struct.unpack(">I", associativity[-4:])[0]] = "GPU"
    return kinds


def _find_dax_nodes(files: KernelFiles) -> dict[int, str]:
    """Nodes that the driver kmem made of memory devices: CXL, persistent (NVDIMM), or "special" (EFI's specific purpose)."""
    kinds = {}
    for name in (entry for entry in files.names(_DAX) if entry.startswith("dax")):
        node = natural(files.text(f"{_DAX}/{name}/target_node"))
        parents = files.link(f"{_DAX}/{name}")
        if node is None:
            continue
        if any(word in parents for word in _CXL_PARENTS):
            kinds[node] = "CXL"
        else:
            kinds[node] = "persistent" if "ndbus" in parents else "special"
    return kinds


def _read_tiers(files: KernelFiles) -> dict[int, int]:
    """Returns the kernel's memory tier of each node (since Linux 6.1); the lower, the faster."""
    tiers = {}
    for name in files.names(_TIERS):
        tier = natural(name.removeprefix("memory_tier"))
        for node in readable_cpu_list(files.text(f"{_TIERS}/{name}/nodelist")) or ():
            tiers.update({} if tier is None else {node: tier})
    return tiers


def _read_speeds(files: KernelFiles, nodes: list[NumaNode]) -> dict[int, int]:
    """Bytes a second (in MB/s) from the nearest processors to each node, where the firmware has a table (HMAT)."""
    speeds: dict[int, int] = {}
    for node in nodes:
        for access in ("access1", "access0"):  # access1: the nearest processors, and not generic initiators
            speed = natural(files.text(f"{_NODE}/node{node.number}/{access}/initiators/read_bandwidth"))
            if speed:
                speeds.setdefault(node.number, speed)
    return speeds


def _find_main_speed(nodes: list[NumaNode], speeds: Mapping[int, int]) -> int | None:
    """The speed of the memory beside the first processors that have some; where none has, of the node of lowest number."""
    with_memory = [node for node in nodes if node.memory and node.number in speeds]
    near = [node for node in with_memory if node.cpus] or with_memory
    return speeds[near[0].number] if near else None
