"""Placement of threads and memory (NUMA)

On a machine with several memory nodes, the speed of the memory depends on the node that holds it. A memory node (NUMA node) is
a part of the memory with the processors closest to it. The kernel measures every pair of a node with processors and a node with
memory. It measures the Triad bandwidth with all processors of a node, and the latency with its first processor. Another series
measures the latency under load: one thread measures the latency, and the other threads run Triad with pauses.

Reading: The diagonal of a matrix shows local memory. The firmware states relative distances in a table named SLIT, where 10
means local. Ten times a latency divided by the local latency should equal the entry of this table. If they differ, an operating
system that relies on the table places memory badly. The five placements are the full system, a socket, a node with its own
memory, and a node with the memory of another node in the same or another socket. The figure shows each placement with its
limit. The latency under load stays the same until the load reaches nearly the full bandwidth, and then rises steeply. The
bandwidth at this bend is what programs can use without longer waiting times.

Caution: The limit of a remote node is that node's own share of the memory bandwidth. The link between the nodes usually allows
less, and Steelyard does not know its bandwidth. (The published measurements in the figure use the bandwidth of one channel as
the limit of remote memory.) The bandwidth of the load counts bytes as STREAM does. With write-allocate (a store first reads its
cache line), the memory moves a third more. A few processors may not be able to use the full bandwidth. The curve then does not
reach the bend.

Source: The five placements: measurements of a two-socket Xeon E5 v3 server under different firmware settings, which are among
the published systems. SLIT: ACPI specification, chapter 5. Curves of the latency under load are common in studies of memory.
"""

from collections.abc import Sequence

from steelyard.measure.benchmarks.cycles import cycles_of
from steelyard.measure.benchmarks.memory import placement_figures
from steelyard.measure.benchmarks.memory.latency import demands as demands_of_chains
from steelyard.measure.benchmarks.memory.latency import memory_bytes
from steelyard.measure.benchmarks.memory.nodes import (
    cpu_nodes,
    is_main,
    memory_nodes,
    placements,
    policy,
    share,
    usable_cpus,
)
from steelyard.measure.machine.cpulist import format_cpu_list
from steelyard.model import Axes, Effort, Limit, Machine, Metric, NumaNode, Record, Result, Sampling, Scalar
from steelyard.model.caches import reachable_cache
from steelyard.model.roles import Placed

CACHE_RULE = 4  # STREAM's rule: each vector is at least four times all last-level caches together
LARGEST_SHARE = 0.5  # of a node's memory for three vectors
MOST_QUICK_NODES = 4  # most nodes from which the quick preset measures, spread over the sockets
IDLE = 1.0  # seconds of pause: longer than any sample, so that there is no load
PAUSES = (IDLE, 64e-6, 16e-6, 4e-6, 2e-6, 1e-6, 0.5e-6, 0.0)  # a chunk itself takes about 0.5 µs
MORE_PAUSES = (32e-6, 8e-6, 0.25e-6)


def elements(machine: Machine, cpus: Sequence[int], memory: int) -> int:
    """Returns the elements of a vector by STREAM's rule for these processors, or as many as `memory` bytes allow."""
    wanted = max(10_000_000, CACHE_RULE * reachable_cache(machine, cpus) // 8)
    possible = int(min(memory, machine.memory_available) * LARGEST_SHARE) // 24
    return max(1 << 17, min(wanted, possible)) // 8 * 8


def loading_cpus(machine: Machine) -> tuple[int, ...]:
    """Returns the processor that measures the latency, then the loading ones of its node, but not of its core."""
    for cpus in (*(usable_cpus(machine, n) for n in cpu_nodes(machine)[:1]), machine.cpus):
        shared = next((set(core.cpus) for core in machine.cores if cpus and cpus[0] in core.cpus), set())
        chosen = cpus[:1] + tuple(cpu for cpu in cpus[1:] if cpu not in shared)
        if len(chosen) > 1:
            return chosen
    return machine.cpus if len(machine.cpus) > 1 else ()


def measured_nodes(machine: Machine, effort: Effort) -> tuple[NumaNode, ...]:
    """Returns the nodes from which the matrix is measured: all, or a few in the quick preset."""
    nodes = cpu_nodes(machine)
    step = max(1, -(-len(nodes) // MOST_QUICK_NODES)) if effort.name == "quick" else 1
    return nodes[::step]


demands = {
    **demands_of_chains,
    "the loaded latency needs 2 threads or more": lambda p: p["kernel"] != "loaded" or p["threads"] >= 2,
    "the loaded latency needs 256 elements or more": lambda p: p["kernel"] != "loaded" or p["elements"] >= 256,
}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: Triad and latency from node to node, Triad of the wider placements, and the latency under load."""
    quick = effort.name == "quick"
    width = effort.sampling.width
    long = Sampling(width, 0.6 if quick else 2.0, 6, 25)
    short = Sampling(width, 0.2 if quick else 0.6, 8, 1000)
    least = min((n.memory for n in memory_nodes(machine)), default=machine.memory)
    blocks = []
    for node in measured_nodes(machine, effort):
        cpus = usable_cpus(machine, node)
        memories = tuple(policy(machine, m) for m in memory_nodes(machine))
        near: dict[str, tuple[Scalar, ...]] = {"threads": (len(cpus),), "pinning": (format_cpu_list(cpus),)}
        n = elements(machine, cpus, least)
        blocks.append(
            Axes({"kernel": ("triad",)} | near | {"memory_policy": memories, "elements": (n,)}, long, n / 2e8)
        )
        first: dict[str, tuple[Scalar, ...]] = {"threads": (1,), "pinning": (str(cpus[0]),)}
        ring = min(memory_bytes(machine), least // 2 >> 20 << 20)
        blocks.append(
            Axes({"kernel": ("chase",)} | first | {"memory_policy": memories, "bytes": (ring,)}, short, ring / 0.5e9)
        )
    for placement in placements(machine):
        if placement.memory_policy == "local" and len(memory_nodes(machine)) > 1:
            count = elements(machine, placement.cpus, machine.memory)
            values: dict[str, tuple[Scalar, ...]] = {"kernel": ("triad",), "threads": (len(placement.cpus),)}
            values |= {"pinning": (placement.pinning,), "memory_policy": ("local",), "elements": (count,)}
            blocks.append(Axes(values, long, count / 2e8))
    return (*blocks, *_make_loaded_axes(machine, short, PAUSES if quick else PAUSES + MORE_PAUSES))


def _make_loaded_axes(machine: Machine, sampling: Sampling, pauses: tuple[float, ...]) -> tuple[Axes, ...]:
    cpus = loading_cpus(machine)
    if not cpus:
        return ()
    ring, injectors = memory_bytes(machine, 2), len(cpus) - 1
    wanted = max(1 << 20, CACHE_RULE * reachable_cache(machine, cpus) // (24 * injectors))
    possible = int(machine.memory_available * 0.3) // (24 * injectors)
    values: dict[str, tuple[Scalar, ...]] = {
        "kernel": ("loaded",), "threads": (len(cpus),), "pinning": (format_cpu_list(cpus),),
        "bytes": (ring,), "elements": (max(1 << 16, min(wanted, possible)) // 256 * 256,), "pause": pauses,
    }  # fmt: skip
    return (Axes(values, sampling, ring / 0.5e9 / len(pauses) + 0.1),)


def bandwidth(seconds: float, record: Record) -> float | None:
    """Returns the Triad bandwidth by STREAM's count, in B/s."""
    return record.work["bytes"] / seconds if record.kernel == "triad" else None


def latency(seconds: float, record: Record) -> float | None:
    """Returns the seconds of one access of the measuring thread."""
    return None if record.kernel == "triad" else seconds / record.work["accesses"]


def cycles(seconds: float, record: Record) -> float | None:
    """Returns the latency in cycles of the true core clock."""
    return cycles_of(latency(seconds, record), record)


def injected_bandwidth(seconds: float, record: Record) -> float | None:
    """Returns the bandwidth of the other threads at the same time, by STREAM's count."""
    injected = record.work.get("injected_bytes")
    return injected / seconds if injected else None


metrics = (
    Metric("bandwidth", "B/s", "higher", "Triad bandwidth (STREAM's count)", bandwidth),
    Metric("latency", "s", "lower", "latency", latency),
    Metric("cycles", "cycle", "lower", "latency in cycles", cycles),
    Metric("injected_bandwidth", "B/s", "none", "bandwidth of the load", injected_bandwidth),
)

figures = placement_figures.figures
roles = (Placed("triad", whole=True), Placed("chase", whole=False))


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the limit of Triad: its memory nodes' share of the memory bandwidth."""
    if metric != "bandwidth" or result.kernel != "triad":
        return None
    if not is_main(machine, str(result.parameters.get("memory_policy", "local"))):
        return None
    asked = (result.parameters.get("pinning"), result.parameters.get("memory_policy", "local"))
    for placement in placements(machine):
        if (placement.pinning, placement.memory_policy) == asked:
            return placement.limit
    return share(machine, 1) if str(asked[1]).startswith("bind:") else machine.limits.get("memory_bandwidth")
