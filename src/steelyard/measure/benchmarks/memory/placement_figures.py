"""Figures of `memory.placement`: matrices from node to node, distances, placements, latency under load."""

from collections.abc import Sequence
from dataclasses import replace

from steelyard.measure.benchmarks.figures import draw_values, select
from steelyard.measure.benchmarks.memory.nodes import cpu_nodes, memory_nodes, placements, policy, usable_cpus
from steelyard.measure.machine.cpulist import format_cpu_list
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.model import Machine, NumaNode, Result
from steelyard.model.figure import Axis, Figure, Series

METRICS = {"triad": "bandwidth", "chase": "latency"}  # metric of each matrix


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the matrices, the distances beside the measured ratios, the placements, and the latency under load."""
    several = len(memory_nodes(machine)) > 1
    alone = "" if several else "This machine has one memory node, so there is no other node to compare. "
    drawn = [
        _matrix(results, machine, "triad", alone + "Rows: node on which the threads run."),
        _matrix(results, machine, "chase", alone + "Rows: node on which the thread runs."),
    ]
    if several:
        drawn += _distances(machine, drawn[1])
    loaded = _draw_loaded_latency(results)
    return *drawn, _five(results, machine), *((loaded,) if loaded.series else ())


def _matrix(results: Sequence[Result], machine: Machine, kernel: str, caption: str) -> Figure:
    metric = METRICS[kernel]
    rows = [n for n in cpu_nodes(machine) if any(_cell(results, machine, kernel, (n, m)) for m in machine.nodes)]
    main = memory_nodes(machine)
    # Other nodes are measured only if a user names them.
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
    """Returns the value from the processors of the first node to the memory of the second."""
    near, memory = way
    cpus = usable_cpus(machine, near)
    pinning = format_cpu_list(cpus) if kernel == "triad" else str(cpus[0])
    members = select(results, kernel=kernel, pinning=pinning, memory_policy=policy(machine, memory))
    return next((r.metrics[METRICS[kernel]].value for r in members if METRICS[kernel] in r.metrics), None)


def _distances(machine: Machine, latency: Figure) -> list[Figure]:
    """Draws the firmware's table and ten times the ratio of each latency to the local latency of its row."""
    nodes = {str(n.number): n for n in machine.nodes}
    place = {number: i for i, number in enumerate(nodes)}
    slit = [
        tuple(_at(nodes[str(row)].distances, place[str(column)]) for column in latency.columns) for row in latency.rows
    ]
    ratios = []
    for row, line in zip(latency.rows, latency.z, strict=True):
        local = line[latency.columns.index(row)] if row in latency.columns else None
        ratios.append(tuple(10 * t / local if t and local else None for t in line))
    caption = "Both figures should agree: the operating system uses the firmware's distances to place memory."
    common = replace(latency, value=Axis("distance, local = 10"), caption=caption)
    firmware, measured = "Distance that the firmware reports (SLIT)", "Measured distance: 10 × latency / local latency"
    return [
        replace(common, name="placement-slit", title=firmware, z=tuple(slit)),
        replace(common, name="placement-ratio", title=measured, z=tuple(ratios)),
    ]


def _at(distances: Sequence[int], index: int) -> float | None:
    return distances[index] if index < len(distances) else None


def _five(results: Sequence[Result], machine: Machine) -> Figure:
    places = placements(machine)
    bars: list[Series] = []
    measured = []
    for p in places:
        members = select(results, kernel="triad", pinning=p.pinning, memory_policy=p.memory_policy)
        measured.append(next((r.metrics["bandwidth"] for r in members if "bandwidth" in r.metrics), None))
    names = tuple(p.title for p in places)
    if any(measured):
        bars.append(draw_values("measured", names, measured))
    if any(p.limit for p in places):
        bars.append(Series("limit", names, tuple(p.limit.value if p.limit else None for p in places)))
    return Figure(
        name="placement-five",
        title="Triad bandwidth of the placements",
        kind="bars",
        x=Axis("placement"),
        y=Axis("bandwidth", "B/s"),
        series=(*bars, *_list_published(names)),
        caption="The limit of a remote node is its share of the memory bandwidth; the link may allow less. The published "
        "values and limits are from a Xeon E5 v3 server. The text of this publication says that memory of the other socket "
        "is 58 % slower than local memory. Its table gives 28 and 13 GB/s, which is 54 % slower.",
    )


def _list_published(names: tuple[str, ...]) -> tuple[Series, ...]:
    """Returns published placements and their published limits."""
    wanted = ("memory.placement", "triad", "bandwidth", "placement", (Series("places", names, ()),))
    return (*draw_printed(*wanted), *draw_printed(*wanted, limits=True))


def _draw_loaded_latency(results: Sequence[Result]) -> Figure:
    lines: dict[str, list[Result]] = {}
    for r in select(results, kernel="loaded"):
        if {"latency", "injected_bandwidth"} <= r.metrics.keys():
            lines.setdefault(str(r.parameters.get("toolchain", "")), []).append(r)
    series = []
    for toolchain, members in sorted(lines.items()):
        members.sort(key=lambda r: -float(r.parameters["pause"]))  # from idle to full load
        loads = [r.metrics["injected_bandwidth"].value for r in members]
        name = toolchain if len(lines) > 1 else "latency"
        series.append(draw_values(name, loads, [r.metrics["latency"] for r in members]))
    return Figure(
        name="placement-loaded",
        title="Latency under load",
        kind="lines",
        x=Axis("bandwidth of the load", "B/s"),
        y=Axis("latency", "s"),
        series=tuple(series),
        caption="One thread measures the latency. The other threads of its node load the memory: they run Triad, and "
        "their pauses become shorter from point to point.",
    )
