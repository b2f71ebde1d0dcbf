"""Placement of threads and memory (NUMA)

Where a machine has several memory nodes, the way to the memory depends on whose it is. Triad bandwidth (all
processors of a node) and latency (its first processor) are measured from every node with processors to
every node with memory. A further series shows the latency while other processors load the memory: one
thread walks along its ring, the others run Triad with pauses.

Reading: The diagonal of a matrix is local memory. The ratio of a latency to the local one, times ten, is
what the firmware's distance table (SLIT) claims to be; where both differ, an operating system that trusts
the table places memory badly. The five placements are the full system, a socket and a node with its own
memory, then the memory of another node in the same socket and in another socket, each beside its limit. The
loaded latency stays flat until the memory is nearly full, and then rises steeply: the knee is the bandwidth
that can be used without making everyone wait.

Caution: The limit of a remote node is that node's own share of the memory's bandwidth; the link between the
nodes mostly allows less, and its bandwidth is not known to this program. (The published example below took
one channel as the limit of remote memory.) The injected bandwidth is counted as STREAM counts; with
write-allocate the memory moves a third more. Injected bandwidth of few processors does not fill the memory:
then the knee is not reached.

Source: The five placements: measurements of a two-socket Xeon E5 v3 server under different firmware
settings, which are among the published systems. SLIT: ACPI specification, chapter 5. Loaded latency as a
curve is common practice of memory characterisation.
"""

from collections.abc import Sequence
from dataclasses import replace

from steelyard.benchmarks.cycles import cycles_of
from steelyard.benchmarks.figures import select
from steelyard.benchmarks.memory.latency import memory_bytes
from steelyard.benchmarks.memory.nodes import (
    TITLES,
    cpu_nodes,
    is_main,
    memory_nodes,
    placements,
    policy,
    share,
    usable_cpus,
)
from steelyard.machine.caches import reachable_cache
from steelyard.machine.cpulist import format_cpu_list
from steelyard.model import Axes, Effort, Limit, Machine, Metric, NumaNode, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.roles import Placed
from steelyard.published import select as select_published
from steelyard.published import series as published_series
from steelyard.published import theoretical

CACHE_RULE = 4  # STREAM's rule: each vector is at least four times all last-level caches together
LARGEST_SHARE = 0.5  # of a node's memory for three vectors
MOST_QUICK_NODES = 4  # the quick preset measures from so many nodes at most, spread over the sockets
IDLE = 1.0  # seconds of pause: longer than any sample, so that nothing is injected
PAUSES = (IDLE, 64e-6, 16e-6, 4e-6, 2e-6, 1e-6, 0.5e-6, 0.0)  # a chunk itself takes some 0.5 µs
METRICS = {"triad": "bandwidth", "chase": "latency"}  # of the matrices
MORE_PAUSES = (32e-6, 8e-6, 0.25e-6)


def elements(machine: Machine, cpus: Sequence[int], memory: int) -> int:
    """Elements of a vector by STREAM's rule for these processors, or as many as `memory` bytes allow."""
    wanted = max(10_000_000, CACHE_RULE * reachable_cache(machine, cpus) // 8)
    possible = int(min(memory, machine.memory_available) * LARGEST_SHARE) // 24
    return max(1 << 17, min(wanted, possible)) // 8 * 8


def loading_cpus(machine: Machine) -> tuple[int, ...]:
    """The walker first, then those of its node that load the memory, but none of the walker's own core."""
    for cpus in (*(usable_cpus(machine, n) for n in cpu_nodes(machine)[:1]), machine.cpus):
        shared = next((set(core.cpus) for core in machine.cores if cpus and cpus[0] in core.cpus), set())
        chosen = cpus[:1] + tuple(cpu for cpu in cpus[1:] if cpu not in shared)
        if len(chosen) > 1:
            return chosen
    return machine.cpus if len(machine.cpus) > 1 else ()


def measured_nodes(machine: Machine, effort: Effort) -> tuple[NumaNode, ...]:
    """The nodes from which the matrix is measured: all, or in the quick preset a few."""
    nodes = cpu_nodes(machine)
    step = max(1, -(-len(nodes) // MOST_QUICK_NODES)) if effort.name == "quick" else 1
    return nodes[::step]


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Triad and latency from node to node, Triad of the wider placements, and the loaded latency."""
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
    return (*blocks, *_loaded(machine, short, PAUSES if quick else PAUSES + MORE_PAUSES))


def _loaded(machine: Machine, sampling: Sampling, pauses: tuple[float, ...]) -> tuple[Axes, ...]:
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
    """Of Triad, as STREAM counts."""
    return record.work["bytes"] / seconds if record.kernel == "triad" else None


def latency(seconds: float, record: Record) -> float | None:
    """Of the one thread that walks."""
    return None if record.kernel == "triad" else seconds / record.work["accesses"]


def cycles(seconds: float, record: Record) -> float | None:
    """The latency in cycles of the true core clock."""
    return cycles_of(latency(seconds, record), record)


def injected_bandwidth(seconds: float, record: Record) -> float | None:
    """What the other threads read and wrote meanwhile, as STREAM counts."""
    injected = record.work.get("injected_bytes")
    return injected / seconds if injected else None


metrics = (
    Metric("bandwidth", "B/s", "higher", "Triad bandwidth (counted as STREAM counts)", bandwidth),
    Metric("latency", "s", "lower", "latency", latency),
    Metric("cycles", "cycle", "lower", "latency in cycles", cycles),
    Metric("injected_bandwidth", "B/s", "none", "bandwidth of the load meanwhile", injected_bandwidth),
)

roles = (Placed("triad", whole=True), Placed("chase", whole=False))


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Of Triad: the share that its memory nodes have of the memory's bandwidth."""
    if metric != "bandwidth" or result.kernel != "triad":
        return None
    if not is_main(machine, str(result.parameters.get("memory_policy", "local"))):
        return None
    asked = (result.parameters.get("pinning"), result.parameters.get("memory_policy", "local"))
    for placement in placements(machine):
        if (placement.pinning, placement.memory_policy) == asked:
            return placement.limit
    return share(machine, 1) if str(asked[1]).startswith("bind:") else machine.limits.get("memory_bandwidth")


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """The matrices, the distances beside the measured ratios, the five placements, the loaded latency."""
    several = len(memory_nodes(machine)) > 1
    alone = (
        "" if several else "This machine has one memory node: there is nothing to compare, and the one is measured. "
    )
    found = [
        _matrix(results, machine, "triad", alone + "Rows: where the threads run."),
        _matrix(results, machine, "chase", alone + "Rows: where the thread runs."),
    ]
    if several:
        found += _distances(machine, found[1])
    loaded = _loaded_latency(results)
    return *found, _five(results, machine), *((loaded,) if loaded.series else ())


def _matrix(results: Sequence[Result], machine: Machine, kernel: str, caption: str) -> Figure:
    metric = METRICS[kernel]
    rows = [n for n in cpu_nodes(machine) if any(_cell(results, machine, kernel, (n, m)) for m in machine.nodes)]
    main = memory_nodes(machine)
    # Other nodes are measured where a user names them.
    columns = [n for n in machine.nodes if n in main or any(_cell(results, machine, kernel, (row, n)) for row in rows)]
    return Figure(
        name=f"placement-{metric}",
        title=f"{'Triad bandwidth' if kernel == 'triad' else 'Latency'} by processor node and memory node",
        kind="heat",
        x=Axis("memory of node"),
        y=Axis("processors of node"),
        columns=tuple(str(n.number) for n in columns),
        rows=tuple(str(n.number) for n in rows),
        z=tuple(tuple(_cell(results, machine, kernel, (row, column)) for column in columns) for row in rows),
        value=Axis(metric, "B/s" if kernel == "triad" else "s"),
        caption=caption,
    )


def _cell(results: Sequence[Result], machine: Machine, kernel: str, way: tuple[NumaNode, NumaNode]) -> float | None:
    """What was measured from the processors of the first node to the memory of the second."""
    near, memory = way
    cpus = usable_cpus(machine, near)
    pinning = format_cpu_list(cpus) if kernel == "triad" else str(cpus[0])
    there = select(results, kernel=kernel, pinning=pinning, memory_policy=policy(machine, memory))
    return next((r.metrics[METRICS[kernel]].value for r in there if METRICS[kernel] in r.metrics), None)


def _distances(machine: Machine, latency: Figure) -> list[Figure]:
    """The firmware's table beside ten times the ratio of each latency to the local one of its row."""
    nodes = {str(n.number): n for n in machine.nodes}
    place = {number: i for i, number in enumerate(nodes)}
    slit = [
        tuple(_at(nodes[str(row)].distances, place[str(column)]) for column in latency.columns) for row in latency.rows
    ]
    ratios = []
    for row, line in zip(latency.rows, latency.z, strict=True):
        local = line[latency.columns.index(row)] if row in latency.columns else None
        ratios.append(tuple(10 * t / local if t and local else None for t in line))
    reported = "Both figures should agree: the operating system places memory by the firmware's."
    common = replace(latency, value=Axis("distance, local = 10"), caption=reported)
    reported, measured = (
        "Distance as the firmware reports it (SLIT)",
        "Distance as measured: 10 × latency / local latency",
    )
    return [
        replace(common, name="placement-slit", title=reported, z=tuple(slit)),
        replace(common, name="placement-ratio", title=measured, z=tuple(ratios)),
    ]


def _at(distances: Sequence[int], index: int) -> float | None:
    return distances[index] if index < len(distances) else None


def _five(results: Sequence[Result], machine: Machine) -> Figure:
    known = placements(machine)
    bars: list[Series] = []
    measured = []
    for p in known:
        there = select(results, kernel="triad", pinning=p.pinning, memory_policy=p.memory_policy)
        measured.append(next((r.metrics["bandwidth"] for r in there if "bandwidth" in r.metrics), None))
    names = tuple(p.title for p in known)
    if any(measured):
        bars.append(
            Series(
                "measured",
                names,
                y=tuple(v.value if v else None for v in measured),
                low=tuple(v.low if v else None for v in measured),
                high=tuple(v.high if v else None for v in measured),
            )
        )
    if any(p.limit for p in known):
        bars.append(Series("limit", names, tuple(p.limit.value if p.limit else None for p in known)))
    return Figure(
        name="placement-five",
        title="Triad bandwidth of the placements",
        kind="bars",
        x=Axis("placement"),
        y=Axis("bandwidth", "B/s"),
        series=(*bars, *_published()),
        caption="The limit of a remote node is its share of the memory's bandwidth; the link may allow less. Published "
        "with their limits: a Xeon E5 v3 server, whose text says that the other socket's memory is 58 % slower than a node's "
        "own, while its table gives 28 and 13 GB/s: 54 %.",
    )


def _published() -> list[Series]:
    """Others' five placements, and the limit that they state for each."""
    entries = [e for e in select_published("stream", "triad_bandwidth") if "placement" in e.parameters]
    limits = [replace(e, value=t) for e in entries if (t := theoretical(e))]
    lines = list(published_series(entries, x="placement"))
    lines += [replace(s, name=f"{s.name} (limit)") for s in published_series(limits, x="placement")]
    return [replace(s, x=tuple(TITLES.get(str(x), x) for x in s.x)) for s in lines]


def _loaded_latency(results: Sequence[Result]) -> Figure:
    lines: dict[str, list[Result]] = {}
    for r in select(results, kernel="loaded"):
        if {"latency", "injected_bandwidth"} <= r.metrics.keys():
            lines.setdefault(str(r.parameters.get("toolchain", "")), []).append(r)
    series = []
    for toolchain, members in sorted(lines.items()):
        members.sort(key=lambda r: -float(r.parameters["pause"]))  # from idle to full load
        values = [r.metrics["latency"] for r in members]
        series.append(
            Series(
                name=toolchain if len(lines) > 1 else "latency",
                x=tuple(r.metrics["injected_bandwidth"].value for r in members),
                y=tuple(v.value for v in values),
                low=tuple(v.low for v in values),
                high=tuple(v.high for v in values),
            )
        )
    return Figure(
        name="placement-loaded",
        title="Latency under load",
        kind="lines",
        x=Axis("injected bandwidth", "B/s"),
        y=Axis("latency", "s"),
        series=tuple(series),
        caption="One thread walks along its ring, the others of its node run Triad with ever shorter pauses.",
    )
