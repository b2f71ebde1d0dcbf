"""An evaluation made by hand, as a run on a small two-node machine would give it, with hostile strings."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import builders
from builders import verdict_of
from steelyard.judge.evaluation.judging import add_result_limits
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.model import (
    Benchmark,
    Cache,
    Case,
    Check,
    Core,
    Evaluation,
    Finding,
    Launch,
    Level,
    Limit,
    Machine,
    MemoryModule,
    Metric,
    NumaNode,
    Plan,
    Record,
    Result,
    Run,
    Sampling,
    Scalar,
    Setting,
    Source,
    Tool,
    Value,
    Verdict,
)
from steelyard.model.figure import Axis, Figure, Mark, Point, Series
from steelyard.show.report import doubtful_values

HOSTILE = "<script>alert(1)</script>"
STOLEN = "The hypervisor took 12 % of the processor's time during 41 of 60 samples."
WRONG = "The check failed: a[17] is 0, expected 3.0 </script>."
BOUND = Limit(68.3e9, "B/s", "4 channels × 2133 MT/s × 8 B")
CLEAN = Verdict("CLEAN")
DISTURBED = verdict_of("DISTURBED", STOLEN)
UNSETTLED = verdict_of("UNSETTLED", "interval: ± 7.1 % of the value.")
# As a busy machine gives it: seven sentences of three kinds.
CROWDED = verdict_of(
    "DISTURBED",
    "competing load: in 26 of 513 samples a thread waited for its processor.",
    "competing load: other processes ran on the processors used for 0.3 s.",
    "competing load: other processes kept 1.3 cores of the machine busy meanwhile.",
    "core clock: the true clock dropped by 4.1 % during the case.",
    "autocorrelation: the 513 samples tell as much as 119 independent ones.",
    "competing load: in 21 of 61 samples a thread waited for its processor.",
    "core clock: the true clock dropped by 2.3 % during the case.",
)
INVALID = verdict_of("INVALID", WRONG)
THREADS = (1, 2, 4)
STRIDES = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536)
ALPHAS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
SIZES = tuple(4096 * 2**power for power in range(17))


def machine() -> Machine:
    """Two sockets with two cores each, one NUMA node a socket."""
    caches = [Cache(3, "unified", 12 << 20, 64, (2 * s, 2 * s + 1), True) for s in (0, 1)]
    for cpu in range(4):
        caches += [Cache(1, kind, 32 << 10, 64, (cpu,)) for kind in ("data", "instruction")]
        caches.append(Cache(2, "unified", 1 << 20, 64, (cpu,), False))
    return Machine(
        system="Linux 6.1.0 x86_64",
        host=HOSTILE,
        processor="Xeon E5-2697 v3 (model)",
        vendor="Intel",
        architecture="x86_64",
        cores=tuple(Core(n, n // 2, n // 2, (n,)) for n in range(4)),
        nodes=(NumaNode(0, (0, 1), 16 << 30, (10, 21)), NumaNode(1, (2, 3), 16 << 30, (21, 10))),
        caches=tuple(caches),
        cpus=(0, 1, 2, 3),
        cpu_quota=None,
        memory=32 << 30,
        memory_available=29 << 30,
        modules=tuple(MemoryModule(f"DIMM_{c}1", 8 << 30, "DDR4", 2133e6, c) for c in "ABCD"),
        fma_width=4,
        fma_units=2,
        settings=(
            Setting("transparent huge pages", "madvise", "/sys/kernel/mm/transparent_hugepage/enabled"),
            Setting("hypervisor", "KVM", "/sys/hypervisor"),
            Setting(
                "governor",
                None,
                "/sys/devices/system/cpu/cpu0/cpufreq",
                "the file is missing: a guest has no say in it",
            ),
        ),
        compilers=(Tool("g++", "/usr/bin/g++", "12.2.0"), Tool("clang++", "/usr/bin/clang++", "15.0.6")),
        mpis=(),
        limits={"memory_bandwidth": BOUND},
        notes=("The turbo state could not be read: /dev/cpu/0/msr needs root.",),
    )


def result(
    benchmark: str,
    kernel: str,
    parameters: Mapping[str, Scalar],
    metrics: Mapping[str, tuple[float, str, str]],
    verdict: Verdict = CLEAN,
) -> Result:
    """A result with three launches; each metric is (value, unit, better), its interval ± 1 %."""
    samples = tuple(1e-3 + 1e-6 * n for n in range(60))
    case = {"toolchain": "gcc 12.2.0", "pinning": "compact", **parameters}
    own = CLEAN if verdict.level == "UNSETTLED" else verdict  # too little is known of all launches together
    records = tuple(
        Record(
            benchmark=benchmark, kernel=kernel, parameters=case, launch=launch, case=0, attempt=1, samples=samples,
            operations=4, work={"bytes": 24.0 * int(parameters.get("elements", 1e6))},
            check=Check(verdict.level != "INVALID"), verdict=own, surroundings=builders.seen(SURROUNDINGS),
        )
        for launch in (1, 2, 3)
    )  # fmt: skip
    values = {n: Value(v, unit, v * 0.99, v * 1.01, better) for n, (v, unit, better) in metrics.items()}
    return builders.measured(
        Result(benchmark=benchmark, kernel=kernel, parameters=case, records=records, metrics=values, verdict=verdict)
    )


def long_bars() -> Figure:
    """Bars with such long names as the cases of other tools have."""
    names = tuple(f"write, HDF5, single-shared-file, collective, ranks {2**n}" for n in range(9))
    seconds, ends = tuple(float(n) for n in range(1, 10)), tuple(n + 0.5 for n in range(1, 10))
    series = (Series("time", names, seconds, seconds, ends),)
    return Figure("bars", "Time", "bars", Axis("case"), Axis("time", "s"), series=series)


def one_node() -> tuple[Figure, ...]:
    """The figures of a machine with one memory node and two processors: maps and lines with hardly anything."""
    cell = Figure(
        "placement", "Bandwidth from node to node", "heat", Axis("memory of node"), Axis("processors of node"),
        columns=("0",), rows=("0",), z=((9.36e9,),), value=Axis("bandwidth", "B/s"),
    )  # fmt: skip
    pair = replace(
        cell,
        name="cores",
        columns=("0", "1"),
        rows=("0", "1"),
        z=((None, 1.1e-7), (1.1e-7, None)),
        value=Axis("Time one way", "s"),
    )
    thread, cost = Axis("Threads", log=True), Axis("Cost of an access", "cycle", log=True)
    point = Figure("threads", "G against threads", "lines", thread, cost, (Series("G", (1,), (56.3,)),))
    bar = Figure(
        "five", "The placements", "bars", Axis("Placement"), Axis("Bandwidth", "B/s"),
        (
            Series("measured", ("full system",), (9.36e9,), (6.11e9,), (14.1e9,)),
            Series("Two sockets", ("full system", "local socket"), (116e9, 58e9), published=True),
        ),
        marks=(Mark("y", 25.6e9, "limit: 1 channel × 3200 MT/s × 8 B, as the firmware's table of memory modules says"),),
    )  # fmt: skip
    loaded = Figure(
        "loaded", "Latency under load", "lines", Axis("Injected bandwidth", "B/s"), Axis("Latency", "s"),
        (Series("latency", (0.0, 9.5e7, 9.9e9), (3.0e-7, 2.98e-7, 3.3e-7)),),
    )  # fmt: skip
    row = replace(cell, name="row", kind="surface", columns=(1, 16), z=((5.0, 2.0),), x=Axis("L"), y=Axis("α"))
    empty = replace(cell, name="empty", columns=(), rows=(), z=())
    none = replace(point, name="none", series=(Series("nothing", (1, 2), (None, None)),))
    return cell, pair, point, bar, loaded, row, empty, none


# What the harness says around the samples.
SURROUNDINGS = {
    "clock": {"source": "time-stamp counter", "frequency": 2.6e9, "resolution": 7e-10, "overhead": 1.2e-8},
    "core_clock": {"before": [2.59e9, 2.6e9], "after": [2.6e9, 2.6e9]},
    "phases": {"setup": 0.2, "sampling": 0.7, "check": 0.1},
}


def stream() -> tuple[Result, ...]:
    """Four kernels at three thread counts; one unsettled, one disturbed, one invalid."""
    rate = {"copy": 13.1e9, "scale": 12.9e9, "add": 14.2e9, "triad": 14.3e9}
    found = []
    for kernel, one in rate.items():
        for threads in THREADS:
            marked = {("add", 2): UNSETTLED, ("triad", 2): DISTURBED, ("scale", 4): INVALID}
            value = one * threads**0.93
            metrics = {"bandwidth": (value, "B/s", "higher"), "time": (2.4e7 / value, "s", "lower")}
            parameters = {"threads": threads, "elements": 16_777_216, "stores": "ordinary"}
            found.append(result("memory.stream", kernel, parameters, metrics, marked.get((kernel, threads), CLEAN)))
    return tuple(found)


def apexmap() -> tuple[Result, ...]:
    """The grid of ninety points, with one unsettled cell, and a disturbed one that has much evidence."""
    found = []
    for row, alpha in enumerate(ALPHAS):
        for column, stride in enumerate(STRIDES):
            cycles = 1.2 + 305 * alpha**0.8 / stride**0.75
            metrics = {"cycles": (cycles, "cycle", "lower"), "time": (cycles / 2.6e9, "s", "lower")}
            parameters = {"L": stride, "alpha": alpha, "threads": 1, "accumulators": 1}
            found.append(
                result(
                    "memory.apexmap",
                    "apexmap",
                    parameters,
                    metrics,
                    {(2, 6): UNSETTLED, (4, 4): CROWDED}.get((row, column), CLEAN),
                )
            )
    return tuple(found)


def latency() -> tuple[Result, ...]:
    """The ladder from the first cache to memory, for one chain and for eight; one step unsettled."""
    found = []
    for chains in (1, 8):
        for size in SIZES:
            steps = ((0, 1.6e-9), (32 << 10, 3.1e-9), (1 << 20, 14e-9), (12 << 20, 70e-9))
            seconds = sum(step / (1 + math.exp(-4 * math.log2(max(size, 1) / max(at, 1)))) for at, step in steps)
            metrics = {"latency": (seconds / chains**0.9, "s", "lower")}
            marked = UNSETTLED if (chains, size) == (8, SIZES[9]) else CLEAN
            found.append(result("memory.latency", "chase", {"working_set": size, "chains": chains}, metrics, marked))
    return tuple(found)


def placement() -> tuple[Result, ...]:
    """Triad from each CPU node to each memory node."""
    rates = ((28.1e9, 13.2e9), (13.0e9, 28.3e9))
    return tuple(
        result(
            "memory.placement",
            "triad",
            {"cpu_node": c, "memory_node": m},
            {"bandwidth": (v, "B/s", "higher")},
        )
        for c, line in enumerate(rates)
        for m, v in enumerate(line)
    )


def stream_figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Each kernel against threads with the limit, and the kernels as bars."""
    lines = []
    for kernel in dict.fromkeys(r.kernel for r in results):
        mine = sorted((r for r in results if r.kernel == kernel), key=lambda r: r.parameters["threads"])
        values = [r.metrics["bandwidth"] for r in mine]
        lines.append(
            Series(
                kernel,
                tuple(r.parameters["threads"] for r in mine),
                tuple(v.value for v in values),
                tuple(v.low for v in values),
                tuple(v.high for v in values),
            )
        )
    lines.append(Series(f"Other {HOSTILE}", (1, 2, 4, 8), (5e9, 9e9, 16e9, 24e9), published=True))
    threads = Figure(
        "threads", "Bandwidth against threads", "lines", Axis("Threads", log=True), Axis("Bandwidth", "B/s"),
        tuple(lines), marks=(Mark("y", BOUND.value, "limit of the memory modules"),),
        caption="Medians with their 95 % intervals. Where a line turns flat, memory is saturated.",
    )  # fmt: skip
    last = [r for r in results if r.parameters["threads"] == max(THREADS)]
    heights = tuple(r.metrics["bandwidth"].value for r in last)
    bars = Figure(
        "kernels", "The kernels at all threads", "bars", Axis("Kernel"), Axis("Bandwidth", "B/s"),
        (Series("4 threads", tuple(r.kernel for r in last), heights),),
    )  # fmt: skip
    return threads, bars


def apexmap_figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """The surface and the same as a heat map, with G and L."""
    cells = {(r.parameters["alpha"], r.parameters["L"]): r.metrics["cycles"].value for r in results}
    z = tuple(tuple(cells.get((alpha, stride)) for stride in STRIDES) for alpha in ALPHAS)
    surface = Figure(
        "surface", "The APEX surface", "surface", Axis("L", log=True), Axis("α", log=True), z=z,
        columns=STRIDES, rows=ALPHAS, value=Axis("Cost of an access", "cycle", log=True),
        points=(Point(1, 1.0, "G"), Point(65536, 0.001, "L")),
        caption="Low is good. G is the worst locality, L the best.",
    )  # fmt: skip
    heat = replace(surface, name="heat", title="The same as a map", kind="heat")
    own = Series("this machine", (1, 2, 4), (306.2, 158.0, 84.0), (300.0, 151.0, 80.0), (310.0, 163.0, 88.0))
    where = {"L": 1, "alpha": 1.0, "compiler": "gcc", "memory_policy": "interleave"}
    reference = draw_printed("memory.apexmap", "gather", "cost", "threads", (own,), where=where)
    corner = Figure(
        "g-threads", "G against threads", "lines", Axis("Threads", log=True),
        Axis("Cost of an access", "cycle", log=True),
        (own, *reference),
    )  # fmt: skip
    return surface, heat, corner


def latency_figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """The ladder with the caches' sizes."""
    lines = []
    for chains in (1, 8):
        mine = [r for r in results if r.parameters["chains"] == chains]
        values = [r.metrics["latency"] for r in mine]
        sizes = tuple(r.parameters["working_set"] for r in mine)
        ends = tuple(v.low for v in values), tuple(v.high for v in values)
        name = f"{chains} chain{'s' if chains > 1 else ''}"
        lines.append(Series(name, sizes, tuple(v.value for v in values), *ends))
    marks = (
        Mark("x", 32 << 10, "L1 32 KiB"),
        Mark("x", 1 << 20, "L2 1 MiB"),
        Mark("x", 12 << 20, "L3 12 MiB"),
    )
    ladder = Figure(
        "ladder", "The latency ladder", "lines", Axis("Working set", "B", log=True),
        Axis("Time of an access", "s", log=True), tuple(lines), marks=marks,
    )  # fmt: skip
    return (ladder,)


def placement_figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """The matrix of CPU nodes and memory nodes."""
    cells = {(r.parameters["cpu_node"], r.parameters["memory_node"]): r.metrics["bandwidth"].value for r in results}
    z = tuple(tuple(cells.get((cpu, memory)) for memory in (0, 1)) for cpu in (0, 1))
    matrix = Figure(
        "matrix", "Bandwidth from node to node", "heat", Axis("Memory on node"), Axis("Threads on node"), z=z,
        columns=("node 0", "node 1"), rows=("node 0", "node 1"), value=Axis("Bandwidth", "B/s"),
    )  # fmt: skip
    return (matrix,)


def benchmark(
    name: str, title: str, metrics: tuple[Metric, ...], figures: object, *, limited: bool = False
) -> Benchmark:
    """A declaration with prose of the usual length."""
    return Benchmark(
        name=name,
        title=title,
        summary=f"What {title} is about, in one sentence that fits beside its name.",
        reading=f"Reading {title}: compare the line with its limit; the distance is what is left to gain."
        "\n\nA flat line means that the resource is used up.",
        caution=f"Caution with {title}: a figure of one program is not a figure of the machine.",
        source="J. D. McCalpin: Memory Bandwidth and Machine Balance (1995). Measured as a variant.",
        sources=(Source(f"{name}.cpp"),),
        axes=lambda machine, effort: (),
        metrics=metrics,
        limit=lambda metric, result, machine: BOUND if limited and metric == "bandwidth" else None,
        figures=figures,
        roles=builders.roles(name),
    )


def metric(name: str, unit: str, better: str, title: str) -> Metric:
    """A metric whose value is given, not computed."""
    return Metric(name, unit, better, title, lambda seconds, record: seconds)


def benchmarks() -> dict[str, Benchmark]:
    """The four declarations."""
    bandwidth = metric("bandwidth", "B/s", "higher", "Bandwidth")
    time = metric("time", "s", "lower", "Time of an operation")
    cycles = metric("cycles", "cycle", "lower", "Cycles of an access")
    latency = metric("latency", "s", "lower", "Time of an access")
    found = (
        benchmark("memory.stream", "Memory bandwidth", (bandwidth, time), stream_figures, limited=True),
        benchmark("memory.apexmap", "Locality", (cycles, time), apexmap_figures),
        benchmark("memory.latency", "Memory latency", (latency,), latency_figures),
        benchmark("memory.placement", "Placement", (bandwidth,), placement_figures, limited=True),
    )
    return {b.name: b for b in found}


def findings() -> tuple[Finding, ...]:
    """One of each level."""
    return (
        Finding(
            "disturbed", "notice", "One Triad result was disturbed.",
            (STOLEN, "Launches 1, 2 and 3 were affected."),
            "Another guest shares the processor.",
            "Measure again on a quiet machine, or ask for dedicated cores.",
            "memory.stream",
        ),
        Finding(
            "check", "serious", "Scale with 4 threads computed a wrong result.", (WRONG,),
            "A fault of the memory or of the compiler.",
            "Run a memory test before using this machine.", "memory.stream",
        ),
        Finding(
            "tolerance", "good",
            "Triad is tolerant: with 4 threads an operation costs 0.28 of what it costs with one.",
            ("Bandwidth rises from 14.3 GB/s to 51.9 GB/s.",), "The threads hide each other's waiting.", "",
            "memory.stream",
        ),
    )  # fmt: skip


@cache
def evaluation() -> Evaluation:
    """The whole run, judged."""
    results = stream() + apexmap() + latency() + placement()
    cases = (Case("memory.stream", "triad", {"threads": 4}, Sampling(0.02, 1.0)),)
    run = Run(
        id="2025-11-20-1200-a1b2",
        path=f"runs/{HOSTILE}",
        started="2025-11-20 12:00:31 UTC",
        machine=machine(),
        plan=Plan("quick", 4711, (Launch(1, "memory.stream", "gcc", 1, cases),), 170.0),
        versions={"steelyard": "0.1.0", "python": "3.11.9", "gcc": "12.2.0", "libc": "2.36"},
        records=tuple(record for r in results for record in r.records),
        finished=True,
        notes=("The last line of the records was torn and was left out.",),
    )
    limited = tuple(add_result_limits(r, benchmarks(), run.machine) for r in results)
    return Evaluation(run=run, benchmarks=benchmarks(), results=limited, findings=findings())


def empty() -> Evaluation:
    """The same run before anything was measured."""
    full = evaluation()
    return replace(full, run=replace(full.run, records=(), finished=False), results=(), findings=())


def doubted(figure: Figure, level: Level) -> Figure:
    """The figure, all of whose values have this verdict."""

    def of(numbers: tuple[float | None, ...]) -> tuple[float | None, ...]:
        return tuple(None if y is None else doubtful_values.graded(y, level) for y in numbers)

    series = tuple(replace(s, y=of(s.y)) for s in figure.series)
    return replace(figure, series=series, z=tuple(map(of, figure.z)))
