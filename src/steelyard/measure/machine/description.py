"""Reads all facts of the machine from the system, and puts them together."""

import os
import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from steelyard.measure.machine.cgroups import Allowance, read_allowance
from steelyard.measure.machine.core_kinds import read_core_kinds
from steelyard.measure.machine.cpulist import format_cpu_list
from steelyard.measure.machine.devices import find_devices
from steelyard.measure.machine.emulation import EMULATION, describe_emulation
from steelyard.measure.machine.files import KernelFiles, parse_kibibytes
from steelyard.measure.machine.hwloc import ask_lstopo, read_hwloc
from steelyard.measure.machine.libraries import find_libraries
from steelyard.measure.machine.limits import explain_absent, limits
from steelyard.measure.machine.memory_modules import read_modules
from steelyard.measure.machine.memory_nodes import free_memory, main_nodes
from steelyard.measure.machine.mpi_settings import read_mpi_settings
from steelyard.measure.machine.network import read_networks
from steelyard.measure.machine.processors import architecture_of, identify, read_cpuinfo
from steelyard.measure.machine.settings import read_settings
from steelyard.measure.machine.sockets import read_sub_numa_clustering
from steelyard.measure.machine.system_file import load_system
from steelyard.measure.machine.tools import find_tools
from steelyard.measure.machine.topology import Topology, allowed_cpus, allowed_memory, read_topology
from steelyard.model import Cluster, Equipment, Machine, Setting

# Placeholders of makers in the firmware's fields.
_NO_NAMES = (
    "", "default string", "system product name", "system manufacturer", "to be filled by o.e.m.", "none", "o.e.m.",
)  # fmt: skip


def read_machine(root: Path, system_file: Path | None, whole: bool) -> Machine:
    """Returns all facts (see `machine.describe`)."""
    files = KernelFiles(root)
    cpuinfo, kinds = read_cpuinfo((files.text("/proc/cpuinfo") or "").splitlines())
    processor = identify(cpuinfo, kinds)
    given = load_system(system_file) if system_file else None
    allowance = read_allowance(files)
    modules, described, module_notes = read_modules(files)
    only_hbm = processor.has_only_hbm or (bool(modules) and all(module.kind.startswith("HBM") for module in modules))
    topology = _complete_topology(files, read_topology(files, processor, cpuinfo, "HBM" if only_hbm else "DRAM"))
    memory, available, memory_notes = _find_memory(files, topology, allowance)
    notes = [*topology.notes, *module_notes, *memory_notes]
    compilers, mpis, hanging = find_tools(mpis=whole) if files.live else ((), (), ())
    notes += hanging
    if not files.live:
        notes.append(
            f"This description comes from recorded files below {root}. Steelyard did not search for compilers, MPIs, "
            "libraries and OpenCL devices."
        )
    host = files.text("/proc/sys/kernel/hostname") or (socket.gethostname() if files.live else "") or "unknown"
    cpus = _find_usable_cpus(files, topology, allowance)
    machine = Machine(
        system=(given and given.name) or _read_product(files) or host,
        host=host,
        processor=processor.name,
        vendor=processor.vendor,
        architecture=_find_architecture(files, cpuinfo),
        cores=topology.cores,
        nodes=topology.nodes,
        caches=topology.caches,
        cpus=cpus,
        core_kinds=read_core_kinds(
            files, topology.online
        ),  # names follow from all online processors, so that a kind has the same name in all runs
        cpu_quota=allowance.cpu_quota,
        memory=memory,
        memory_available=available,
        modules=modules,
        fma_width=processor.fma_width,
        fma_units=processor.fma_units,
        settings=_list_settings(files, cpuinfo, allowance, topology, described),
        compilers=compilers,
        mpis=mpis,
        limits=given.limits if given else {},
        devices=find_devices() if files.live and whole else (),
        libraries=find_libraries() if files.live and whole else (),
        enclosures=given.enclosures if given else (),
        equipment=given.equipment if given else Equipment(),
        cluster=given.cluster if given else Cluster(),
        networks=read_networks(root, host) if whole else (),
        mpi_settings=read_mpi_settings(mpis, os.environ) if files.live and whole else None,
    )
    ceilings = limits(machine, None)
    if processor.fma_width is None and "flops" not in ceilings:
        notes.append(
            f"The peak flop/s of this machine is unknown: {processor.reason}. You can give it in a system file."
        )
    emulated = describe_emulation(machine.setting(EMULATION))
    notes += [*([emulated] if emulated else []), *explain_absent(ceilings, machine), *(given.notes if given else ())]
    return replace(machine, limits=ceilings, notes=tuple(notes))


def _complete_topology(files: KernelFiles, topology: Topology) -> Topology:
    """Returns the topology, completed by an installed lstopo if the kernel's files have no caches or cores."""
    if not files.live or (topology.caches and topology.cores):
        return topology
    answer = ask_lstopo()
    try:
        cores, nodes, caches = read_hwloc(answer) if answer else ((), (), ())
    except ValueError as problem:
        return replace(topology, notes=(*topology.notes, f"Steelyard cannot use the output of lstopo: {problem}."))
    if not caches and not (cores and not topology.cores):
        return topology
    note = "Some caches or cores are missing in the files of the kernel. Steelyard took them from lstopo."
    return replace(
        topology,
        cores=topology.cores or cores,
        nodes=topology.nodes or nodes,
        caches=topology.caches or caches,
        notes=(*topology.notes, note),
    )


def _find_usable_cpus(files: KernelFiles, topology: Topology, allowance: Allowance) -> tuple[int, ...]:
    """Returns the affinity, which respects the cpuset of a running system. In a recorded tree both are intersected."""
    allowed = allowed_cpus(files, topology.online)
    if files.live or not allowance.cpus:
        return allowed
    return tuple(cpu for cpu in allowed if cpu in allowance.cpus) or allowed


def _find_memory(files: KernelFiles, topology: Topology, allowance: Allowance) -> tuple[int, int, list[str]]:
    """Returns (bytes that may be used, bytes that are free now, notes)."""
    meminfo = files.pairs("/proc/meminfo")
    installed = parse_kibibytes(meminfo.get("MemTotal"))
    if installed is None and files.live:
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if installed is None:
        installed = sum(node.memory for node in topology.nodes) or None
    if installed is None:
        return 0, 0, ["The memory is unknown: /proc/meminfo is missing."]
    main = main_nodes(topology.nodes)
    others = [node for node in topology.nodes if node.memory and node not in main]
    installed = max(0, installed - sum(node.memory for node in others))
    # Kernels before 3.14 have no MemAvailable: free memory and caches are nearly the same.
    parts = [parse_kibibytes(meminfo.get(name)) or 0 for name in ("MemFree", "Buffers", "Cached")]
    available = parse_kibibytes(meminfo.get("MemAvailable")) or sum(parts)
    available = max(0, available - free_memory(files, others))
    bounds = [installed, allowance.memory_limit, allowed_memory(files, topology.nodes, allowance.nodes)]
    memory = min(bound for bound in bounds if bound is not None)
    left = allowance.memory_left
    return memory, min(available, memory, memory if left is None else left), []


def _read_product(files: KernelFiles) -> str:
    """Returns the names of the maker and the product from the firmware; "" if it has none."""
    names = [(files.text(f"/sys/class/dmi/id/{name}") or "").strip() for name in ("sys_vendor", "product_name")]
    vendor, product = ("" if name.lower() in _NO_NAMES else name for name in names)
    if not product:
        return (files.text("/sys/firmware/devicetree/base/model") or "").strip("\0")
    return product if product.startswith(vendor) else f"{vendor} {product}"


def _find_architecture(files: KernelFiles, cpuinfo: Mapping[str, str]) -> str:
    if files.live:
        return os.uname().machine
    return files.text("/proc/sys/kernel/arch") or architecture_of(cpuinfo)  # the file: since Linux 6.1


def _list_settings(
    files: KernelFiles, cpuinfo: Mapping[str, str], allowance: Allowance, topology: Topology, modules: Setting
) -> tuple[Setting, ...]:
    quota = "none" if allowance.cpu_quota is None else f"{allowance.cpu_quota:g} cores"
    online, source = format_cpu_list(topology.online), "/sys/devices/system/cpu/online"
    limit = "none" if allowance.memory_limit is None else f"{allowance.memory_limit} B"
    group = "/proc/self/cgroup"
    reason = files.read(group).reason
    allotted = [
        Setting("control_groups", None if reason else allowance.version, "/proc/self/mountinfo", reason),
        Setting("cpu_quota", None if reason else quota, allowance.cpu_quota_path or group, reason),
        Setting("memory_limit", None if reason else limit, allowance.memory_limit_path or group, reason),
        Setting(
            "online_cpus",
            online or None,
            source,
            "" if online else f"neither {source} nor /proc/cpuinfo contains it",
        ),
        read_sub_numa_clustering(topology.cores),
    ]
    return tuple(sorted([*read_settings(files, cpuinfo), *allotted, modules], key=lambda setting: setting.name))
