"""Memory bandwidth of long vectors (STREAM)

The kernel runs four loops over three long vectors of doubles: Copy c = a, Scale b = s·c, Add c = a + b, Triad a = b + s·c. It
runs them with every number of threads, and with vectors of many sizes, from the first-level cache to the memory. It is based on
a variant of the STREAM benchmark.

Reading: Bytes are counted as STREAM counts them: the words that the loop reads and writes. With ordinary stores the memory also
reads every line before it is written (write-allocate), so it really moves a third to a half more. The metric "traffic" shows
these bytes. With streaming stores, which do not read the line first, both counts are the same. If more threads do not increase
the bandwidth, the bandwidth of the memory is used up. The table shows the best of 10 and of 25 passes beside the medians. Runs
with a longer preset than quick also show the metric triad_by_copy. For it, all four loops run 25 times in turn. The metric is
the Triad bandwidth of the turn with the fastest Copy. A published evaluation of AMD nodes used this statistic.

Caution: With vectors that fit into a cache, the result is the bandwidth of the cache. Here the vectors are four times as large
as all last-level caches that the threads use, unless a finding says otherwise. The loops never call the function memcpy of the
C library, because it chooses its own kind of stores.

Source: J. D. McCalpin, Memory Bandwidth and Machine Balance in Current High Performance Computers, IEEE TCCA Newsletter, 1995.
The size of the vectors and the check follow STREAM 5.10. The statistic triad_by_copy: NICEVT 2008.
"""

from functools import partial

from steelyard.measure.benchmarks.axes import USUAL, page_sizes, thread_counts
from steelyard.measure.benchmarks.figures import against, cache_marks, select
from steelyard.measure.benchmarks.memory.nodes import is_main
from steelyard.measure.benchmarks.rates import Measure, per_second
from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.measure.published.our_case import DATA_SHEET, MACHINE
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.caches import reachable_cache
from steelyard.model.figure import Axis, Figure, Mark
from steelyard.model.roles import Bandwidth, Headline, TolerancePoint
from steelyard.statistics.results import cases
from steelyard.statistics.samples.summary import best_by_copy, classic_stream

VECTORS = 3
RUNS = 25  # as in NICEVT's evaluation of AMD nodes
STORES = ("ordinary", "streaming")
CACHE_RULE = 4  # STREAM's rule: each vector is at least four times all last-level caches together
# Bytes per second, only for the planned time. Two Xeon cores: 1.3e9 for new memory (half of the cases), 18e9 for a thread.
FILL_RATE, PASS_RATE = 2.5e9, 15e9
LARGEST_SHARE = 0.6  # of the available memory: other processes need the rest


def elements(machine: Machine) -> int:
    """Returns the elements of a vector by the rule, or as many as the memory allows."""
    wanted = CACHE_RULE * reachable_cache(machine, machine.cpus) // 8
    possible = int(machine.memory_available * LARGEST_SHARE) // (8 * VECTORS)
    return max(1_000_000, min(max(wanted, 10_000_000), possible)) // 8 * 8  # 10 million: STREAM's own default


def _expect(sampling: Sampling, nodes: int, point: Parameters) -> tuple[Sampling, float]:
    """Returns the set-up with the check and the least samples, which do not get fewer when the time is short."""
    size = 24 * int(point["elements"])
    rate = PASS_RATE * min(int(point["threads"]), 2 * nodes)
    return sampling, 0.01 + size / FILL_RATE + sampling.least * size / rate


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: four kernels with each number of threads; streaming stores, unpinned threads, working sets, page sizes."""
    n = (elements(machine),)
    threads = thread_counts(machine)
    quick, all_threads = effort.name == "quick", threads[-1:]
    every = tuple(sorted({1, *all_threads})) if quick else threads
    # One pass over memory takes a large part of a second: at least 10 samples, as STREAM takes.
    nodes = max(1, len(main_nodes(machine.nodes)))
    long = Sampling(effort.sampling.width, 1.0 if quick else 25 * 0.1, 8 if quick else 10, 25)
    rotated = Sampling(effort.sampling.width, *((2, 3, 10) if quick else (25 * 0.3, RUNS, RUNS)))
    short = Sampling(effort.sampling.width, 0.15, 20, 400)
    largest = 24 * n[0]
    sets = tuple(size // 24 // 8 * 8 for size in working_sets(machine, effort) if size < largest / 2)

    def block(sampling: Sampling = long, **values: tuple[Scalar, ...]) -> Axes:
        usual: dict[str, tuple[Scalar, ...]] = {
            "kernel": ("triad",),
            "threads": every,
            "pinning": ("compact",),
            "stores": ("ordinary",),
            "elements": n,
        }
        choices = {"stores": STORES} if len(values.get("stores", ())) > 1 else {}
        return Axes(usual | values, expected=partial(_expect, sampling, nodes), choices=choices)

    blocks = [
        block(threads=threads, stores=STORES),
        block(kernel=("copy", "scale", "add")),
        block(pinning=("none",)),
        # NICEVT's evaluation keeps the run with the best Copy, of 25, with threads that the system places. A quick run has no
        # time for them.
        block(rotated, kernel=("rotation",), threads=all_threads, pinning=("compact",))
        if quick
        else block(rotated, kernel=("rotation",), threads=threads, pinning=("none",)),
        # Smaller working sets: if the bandwidth still falls with the size, a cache holds a part of them.
        block(short, threads=(1,), elements=(*sets, n[0] // 16 * 8)),
    ]
    if not quick:
        blocks.append(block(threads=all_threads, pinning=("scatter",)))
        blocks.append(block(threads=all_threads, page_size=page_sizes(machine)))
    return tuple(blocks)


def working_sets(machine: Machine, effort: Effort) -> tuple[int, ...]:
    """Returns sizes of all three vectors together, from 16 KiB upward, each two or four times the one before."""
    step = 4 if effort.name == "quick" else 2
    sizes = [16 << 10]
    while sizes[-1] < 24 * elements(machine):
        sizes.append(sizes[-1] * step)
    return tuple(sizes)


def best_of(times: int) -> Measure:
    """Returns the metric by STREAM's rule: the best of `times` passes without the first. None with fewer passes."""

    def best(seconds: float, record: Record) -> float | None:
        fastest = (
            classic_stream(record.samples, times) if len(record.samples) >= times and record.operations == 1 else None
        )
        return record.work["bytes"] / fastest if fastest else None

    return best


def triad_by_copy(seconds: float, record: Record) -> float | None:
    """Returns Triad of the rotation with the best Copy of 25, as NICEVT's evaluation. None with fewer than 25 rotations."""
    details = record.surroundings.details
    if record.kernel != "rotation" or details is None:
        return None
    triad = best_by_copy(details.get("copy", ()), details.get("triad", ()), RUNS)
    return 24.0 * int(record.parameters["elements"]) / triad if triad else None


metrics = (
    Metric("bandwidth", "B/s", "higher", "bandwidth (STREAM's count)", per_second("bytes")),
    Metric("traffic", "B/s", "higher", "traffic (write-allocate included)", per_second("bytes_moved")),
    Metric("best_of_10", "B/s", "higher", "best of 10 without the first (STREAM's rule)", best_of(10)),
    Metric("best_of_25", "B/s", "higher", "best of 25 without the first", best_of(RUNS)),
    Metric(
        "triad_by_copy",
        "B/s",
        "higher",
        "Triad bandwidth of the turn with the fastest Copy, of 25 turns",
        triad_by_copy,
    ),
)

roles = (
    Headline(
        name="triad",
        title="Triad bandwidth",
        unit="B/s",
        order=10,
        kernel="triad",
        most=("threads", "elements"),
        usual=(*USUAL, ("pinning", "compact")),
        of_memory=True,
    ),
    Bandwidth("triad"),
    TolerancePoint(
        point="Triad",
        title="Triad",
        order=10,
        kernel="triad",
        shared="A few threads use the full bandwidth of the memory channels, and more threads share it.",
        at=lambda results: cases.select_greatest(results, "elements"),
        remedy="Use only as many threads as the memory bandwidth needs, and spread them over the memory nodes: ",
        command="run --only memory.stream --set kernel=triad --set pinning=compact,scatter --set threads=1,{threads}",
    ),
)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the memory's peak; None for working sets that a cache holds, and for memory that is not main memory."""
    other = not is_main(machine, str(result.parameters.get("memory_policy", "local")))
    length = cases.number(result, "elements") or 0
    if length < min(elements(machine), CACHE_RULE * reachable_cache(machine, machine.cpus) / 8) or other:
        return None
    return machine.limits.get("memory_bandwidth")


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of Triad against threads, by two statistics, and against the working set."""
    peak = machine.limits.get("memory_bandwidth")
    triad = cases.select_greatest(select(results, kernel="triad", page_size=None), "elements")
    lines = against("threads", "bandwidth", triad, names=("pinning", "stores", "toolchain"))
    threads = Figure(
        name="triad-threads",
        title="Triad bandwidth against threads",
        kind="lines",
        x=Axis("threads"),
        y=Axis("bandwidth", "B/s"),
        series=(
            *lines,
            *draw_printed("memory.stream", "triad", "bandwidth", "threads", lines),
            *draw_printed(MACHINE, DATA_SHEET, "memory_bandwidth", "threads", lines, words="limit of the memory"),
        ),
        marks=(Mark("y", peak.value, f"limit: {peak.source}"),) if peak else (),
        caption="Bytes by STREAM's count. Each point is a median with its 95 % interval.",
    )
    by_copy = Figure(
        name="triad-by-copy",
        title="Triad bandwidth of the turn with the fastest Copy, of 25 turns",
        kind="lines",
        x=Axis("threads"),
        y=Axis("bandwidth", "B/s"),
        series=against(
            "threads",
            "triad_by_copy",
            cases.select_greatest(select(results, kernel="rotation"), "elements"),
            names=("pinning", "toolchain"),
            label="this machine",
        ),
        marks=threads.marks,
        caption="The statistic of a published evaluation of AMD nodes. It is higher than the median of the Triad passes.",
    )
    sweep = Figure(
        name="triad-working-set",
        title="Triad bandwidth against the working set, one thread",
        kind="lines",
        x=Axis("three vectors together", "B", log=True),
        y=Axis("bandwidth", "B/s", log=True),
        series=against(
            "elements",
            "bandwidth",
            select(results, kernel="triad", threads=1, pinning="compact", stores="ordinary", page_size=None),
            names=("toolchain",),
            scale=24,
        ),
        marks=cache_marks(machine),
        caption="The line falls where the vectors no longer fit into a cache. If the last points lie on a level "
        "line, they show the bandwidth of the memory.",
    )
    return threads, *([by_copy] if by_copy.series else []), sweep
