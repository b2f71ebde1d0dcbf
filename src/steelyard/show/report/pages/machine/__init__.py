"""The machine: its topology as nested boxes, its memory, its settings, and the limits that follow."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median

from steelyard.measure.machine.cpulist import format_cpu_list
from steelyard.measure.machine.limits import limiting_quota
from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.model import Cache, Core, Device, Evaluation, Machine, NumaNode, Tool, units
from steelyard.model.machine import DOORS
from steelyard.show.report import cluster_table, counter_columns
from steelyard.show.report.pages.machine import network_tables
from steelyard.show.report.pages.machine.settings import SettingGroup, Unread, groups, unread
from steelyard.statistics.results.node_table import Column, node_columns

PLACE, TITLE = 20, "Machine"
IMPORTED = True
UNCHANGED = True

MOST_DETAILED_CORES = 8  # in one group; beyond this the caches of each core are said once for the group


@dataclass(frozen=True)
class CoreBox:
    """One core: its number, its hardware threads, whether this run may use it, and its own caches."""

    number: int
    threads: str
    usable: bool
    caches: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """The cores that share a last-level cache ("": there is none). `each`: the caches of every core."""

    cache: str
    cores: tuple[CoreBox, ...]
    each: str


@dataclass(frozen=True)
class NodeBox:
    """A NUMA node with its groups of cores."""

    number: int
    memory: str
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class SocketBox:
    """A socket with its NUMA nodes."""

    number: int
    nodes: tuple[NodeBox, ...]


@dataclass(frozen=True, kw_only=True)
class MachinePage:
    """Returns the data of the page."""

    facts: tuple[tuple[str, str], ...]
    described: bool
    sockets: tuple[SocketBox, ...]
    unusable: bool  # some cores are not this run's
    caches: tuple[tuple[str, ...], ...]
    modules: tuple[tuple[str, ...], ...]
    nodes: tuple[NumaNode, ...]
    memories: tuple[tuple[str, ...], ...]  # of several nodes: number, kind, memory, processors, what it is used for
    settings: tuple[SettingGroup, ...]
    unread: tuple[Unread, ...]
    unreadable: int  # settings
    tools: tuple[tuple[str, Tool], ...]
    limits: tuple[tuple[str, str, str], ...]
    notes: tuple[str, ...]
    host_columns: tuple[str, ...] = ()  # of several nodes, what each of them reached
    hosts: tuple[tuple[str, ...], ...] = ()
    cluster: tuple[cluster_table.Row, ...] = ()
    cluster_notes: tuple[str, ...] = ()
    interfaces: tuple[tuple[str, ...], ...] = ()
    network_settings: tuple[tuple[str, str, str], ...] = ()  # hosts ("": all of them), name, value
    network_notes: tuple[str, ...] = ()


def data(evaluation: Evaluation) -> MachinePage:
    """Plain data of the page; what the machine does not tell is left out or said with its reason."""
    columns = node_columns(evaluation.results)
    hosts = dict.fromkeys(host for column in columns for host in column.values)
    return replace(
        page(evaluation.run.machine, counter_columns.missing(evaluation)),
        host_columns=tuple(column.title for column in columns),
        hosts=tuple((host, *(_compare_with_median(column, host) for column in columns)) for host in hosts),
    )


def _compare_with_median(column: Column, host: str) -> str:
    """The value of a host, and by how much it differs from the median of all hosts."""
    if host not in column.values:
        return "–"
    value, middle = column.values[host], median(column.values.values())
    return f"{units.quantity(value, column.unit)} ({units.percent(value / middle - 1, signed=True)})"


def page(machine: Machine, notes: Iterable[str] = ()) -> MachinePage:
    """Returns the page of a machine with its own notes and further ones."""
    return MachinePage(
        facts=_facts(machine),
        described=described(machine),
        sockets=tuple(SocketBox(n, _nodes(machine, n)) for n in sorted({core.socket for core in machine.cores})),
        unusable=any(not set(core.cpus) & set(machine.cpus) for core in machine.cores),
        caches=_caches(machine.caches),
        modules=tuple(
            (m.slot, units.binary_size(m.size), m.kind, units.quantity(m.rate, "T/s", 4), m.channel or "–")
            for m in machine.modules
        ),
        nodes=machine.nodes,
        memories=_memories(machine) if len(machine.nodes) > 1 else (),
        settings=groups(machine.settings, machine.mpi_settings or ()),
        unread=unread(machine.settings),
        unreadable=sum(setting.value is None for setting in machine.settings),
        tools=(*(("Compiler", tool) for tool in machine.compilers), *(("MPI", tool) for tool in machine.mpis)),
        limits=tuple(
            (name.replace("_", " "), units.quantity(limit.value, limit.unit), limit.source)
            for name, limit in machine.limits.items()
        ),
        notes=(*machine.notes, *notes),
        cluster=cluster_table.list_parts(machine),
        cluster_notes=cluster_table.list_notes(machine),
        interfaces=network_tables.list_interfaces(machine.networks),
        network_settings=network_tables.list_settings(machine.networks),
        network_notes=network_tables.list_notes(machine.networks),
    )


def described(machine: Machine) -> bool:
    """Returns whether Steelyard described the machine; of the machine of an imported run, only the system file is known."""
    return bool(machine.cpus)


def _memory_of(device: Device) -> str:
    return "the host's" if device.shares_memory else "its own"


def _facts(machine: Machine) -> tuple[tuple[str, str], ...]:
    cores, threads = len(machine.cores), sum(len(core.cpus) for core in machine.cores)
    container = machine.setting("container").value or "none"
    boxed = {"none": "", "unnamed": "yes"}.get(container, container)
    unknown = "unknown for this processor"
    if not described(machine):
        return (("System", machine.system),)
    return (
        ("Host", machine.host),
        ("System", machine.system),
        ("Processor", f"{machine.processor} ({machine.vendor}, {machine.architecture})"),
        ("Cores", f"{cores} cores with {threads} hardware threads; this run may use {len(machine.cpus)} of them"),
        *([("Container", f"{boxed}; it can hide parts of the machine (steelyard doctor)")] if boxed else []),
        ("Processor quota", f"{quota:g} cores" if (quota := limiting_quota(machine)) else "none"),
        (
            "Memory",
            f"{units.binary_size(machine.memory)} usable, "
            f"{units.binary_size(machine.memory_available)} free at the start",
        ),
        (
            "Fused multiply-add",
            f"{machine.fma_width or '?'} doubles per instruction; units per core: {machine.fma_units or '?'}"
            if machine.fma_width or machine.fma_units
            else unknown,
        ),
        *((f"{DOORS[d.door]} device {d.number}", _describe_device(d)) for d in machine.devices),
        *(
            (f"Library, {library.kind.upper()}", library.file + ("" if library.threads else " (without threads)"))
            for library in machine.libraries
        ),
    )


def _describe_device(device: Device) -> str:
    """Returns "NVIDIA H200 (GPU), 140 GiB of its own memory; 132 units, 1.98 GHz at most; …" as far as the driver says it."""
    facts, limits = device.facts, device.limits
    parts = [f"{device.name} ({device.kind}), {units.binary_size(device.memory)} of {_memory_of(device)} memory"]
    if facts.get("units"):
        clock = facts.get("clock")
        parts.append(
            f"{facts['units']} compute units" + (f", {units.quantity(float(clock), 'Hz')} at most" if clock else "")
        )
    named = (
        ("bandwidth", "by its data: memory", "B/s"),
        ("flops", "double precision", "flop/s"),
        ("link", "link (each direction)", "B/s"),
    )
    parts += [f"{words} {units.quantity(limits[name], unit)}" for name, words, unit in named if limits.get(name)]
    if facts.get("power_limit"):
        parts.append(f"power limit {units.quantity(float(facts['power_limit']), 'W')}")
    if facts.get("driver"):
        parts.append(f"driver {facts['driver']}")
    if isinstance(node := facts.get("node"), int) and node >= 0:
        parts.append(f"closest memory node: {node}")
    return "; ".join(parts)


def _nodes(machine: Machine, socket: int) -> tuple[NodeBox, ...]:
    cores = [core for core in machine.cores if core.socket == socket]
    memory = {node.number: node.memory for node in machine.nodes}
    return tuple(
        NodeBox(
            number,
            units.binary_size(memory[number]) if memory.get(number) else "",
            _groups(machine, [core for core in cores if core.node == number]),
        )
        for number in sorted({core.node for core in cores})
    )


def _memories(machine: Machine) -> tuple[tuple[str, ...], ...]:
    main = main_nodes(machine.nodes)
    return tuple(
        (
            str(node.number),
            node.kind,
            units.binary_size(node.memory) if node.memory else "none",
            format_cpu_list(node.cpus) or "none",
            "main memory" if node in main else f"only with memory_policy=bind:{node.number}" if node.memory else "–",
        )
        for node in machine.nodes
    )


def _groups(machine: Machine, cores: list[Core]) -> tuple[Group, ...]:
    """The cores by the last-level cache that they share (level 3 and above)."""
    outer = [cache for cache in machine.caches if cache.level >= 3 and cache.kind != "instruction"]
    level = max((cache.level for cache in outer), default=0)
    by_cache: dict[Cache | None, list[Core]] = {}
    for core in cores:
        of_core = (c for c in outer if c.level == level and set(core.cpus) & set(c.cpus))
        by_cache.setdefault(next(of_core, None), []).append(core)
    return tuple(_group(machine, cache, members) for cache, members in by_cache.items())


def _group(machine: Machine, cache: Cache | None, cores: list[Core]) -> Group:
    caches = {core.number: _list_core_caches(machine, core) for core in cores}
    alike = len(set(caches.values())) == 1 and len(cores) > MOST_DETAILED_CORES
    boxes = tuple(
        CoreBox(
            core.number,
            ", ".join(str(cpu) for cpu in core.cpus),
            bool(set(core.cpus) & set(machine.cpus)),
            () if alike else caches[core.number],
        )
        for core in cores
    )
    text = ""
    if cache:
        here = {cpu for core in cores for cpu in core.cpus}
        elsewhere = " in part (shared with cores outside this box)" if set(cache.cpus) - here else ""
        text = f"L{cache.level} {units.binary_size(cache.size)}{elsewhere}"
    return Group(text, boxes, " · ".join(caches[cores[0].number]) if alike else "")


def _list_core_caches(machine: Machine, core: Core) -> tuple[str, ...]:
    """The caches of levels 1 and 2 that a core reaches, outermost first."""
    reached = [c for c in machine.caches if c.level < 3 and set(c.cpus) & set(core.cpus)]
    letters: Mapping[str, str] = {"data": "d", "instruction": "i"}
    return tuple(
        f"L{c.level}{letters.get(c.kind, '')} {units.binary_size(c.size)}"
        + (" shared" if set(c.cpus) - set(core.cpus) else "")
        for c in sorted(reached, key=lambda c: (-c.level, c.kind))
    )


def _caches(caches: tuple[Cache, ...]) -> tuple[tuple[str, ...], ...]:
    """Equal caches in one row: level, kind, instances, size, line, sharers, inclusive."""
    kinds = Counter((c.level, c.kind, c.size, c.line, len(c.cpus), c.inclusive) for c in caches)
    words = {None: "unknown", True: "yes", False: "no"}
    return tuple(
        (f"L{level}", kind, str(count), units.binary_size(size), f"{line} B", str(sharers), words[inclusive])
        for (level, kind, size, line, sharers, inclusive), count in sorted(kinds.items(), key=lambda item: item[0][:5])
    )
