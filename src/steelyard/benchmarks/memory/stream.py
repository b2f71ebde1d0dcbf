"""Memory bandwidth of long vectors (STREAM)

The kernel runs four loops over three long vectors of doubles: Copy c = a, Scale b = s·c, Add c = a + b, Triad a = b + s·c. It
runs them at every number of threads, and over working sets from the first-level cache to the memory. Based on a variant of the
STREAM benchmark.

Reading: Bytes are counted as STREAM counts them: the words that the loop reads and writes. With ordinary stores the memory also
reads every line before it is written (write-allocate), so it really moves a third to a half more; "traffic" is that figure.
With streaming stores both are the same. If more threads do not raise the bandwidth, the memory is full. The best of 10 and of
25 passes stand beside the medians. Runs longer than quick ones also show the metric triad_by_copy: of 25 rotations through all
four loops, the Triad of the one with the fastest Copy. An evaluation of AMD nodes used this statistic.

Caution: Vectors that fit into a cache measure the cache. The size here is four times all last-level caches that the threads
reach, unless a finding says otherwise. The memcpy of a C library chooses its own stores; these loops never call it.

Source: J. D. McCalpin, Memory Bandwidth and Machine Balance in Current High Performance Computers, IEEE TCCA Newsletter, 1995;
array rule and validation as STREAM 5.10 states them. The choice by the best Copy of 25 runs: NICEVT 2008.
"""

from collections.abc import Callable

from steelyard.benchmarks.axes import USUAL, page_sizes, thread_counts
from steelyard.benchmarks.figures import against, cache_marks, published, select
from steelyard.benchmarks.memory.nodes import is_main
from steelyard.machine.caches import reachable_cache
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Record, Result, Sampling
from steelyard.model.figure import Axis, Figure, Mark
from steelyard.model.roles import Bandwidth, Counterpart, Headline, TolerancePoint
from steelyard.statistics.results import cases
from steelyard.statistics.samples.summary import best_by_copy, classic_stream

VECTORS = 3
RUNS = 25  # of NICEVT's evaluation of AMD nodes
STORES = ("ordinary", "streaming")
CACHE_RULE = 4  # STREAM's rule: each vector is at least four times all last-level caches together
LARGEST_SHARE = 0.6  # of the available memory: the rest of the machine must go on living


def elements(machine: Machine) -> int:
    """Elements of a vector by the rule, or as many as the memory allows where the rule cannot be met."""
    wanted = CACHE_RULE * reachable_cache(machine, machine.cpus) // 8
    possible = int(machine.memory_available * LARGEST_SHARE) // (8 * VECTORS)
    return max(1_000_000, min(max(wanted, 10_000_000), possible)) // 8 * 8  # 10 million: STREAM's own default


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """The four kernels at every number of threads; streaming stores, unpinned threads, working sets, page sizes."""
    n = (elements(machine),)
    threads = thread_counts(machine)
    every = threads if effort.name != "quick" else tuple(sorted({1, threads[-1]}))
    # One pass over memory takes a good part of a second: at least N = 10 samples, as STREAM takes (25 in seed 000).
    quick = effort.name == "quick"
    long = Sampling(effort.sampling.width, 1.0 if quick else 25 * 0.1, 8 if quick else 10, 25)
    short = Sampling(effort.sampling.width, 0.15, 20, 400)
    largest = 24 * n[0]
    sets = tuple(size // 24 // 8 * 8 for size in working_sets(machine, effort) if size < largest / 2)
    blocks = [
        Axes(
            {
                "kernel": ("triad",),
                "threads": threads,
                "pinning": ("compact",),
                "stores": STORES,
                "elements": n,
            },
            long,
            0.5,
            choices={"stores": STORES},
        ),
        Axes(
            {
                "kernel": ("copy", "scale", "add"),
                "threads": every,
                "pinning": ("compact",),
                "stores": ("ordinary",),
                "elements": n,
            },
            long,
            0.5,
        ),
        Axes(
            {"kernel": ("triad",), "threads": every, "pinning": ("none",), "stores": ("ordinary",), "elements": n},
            long,
            0.5,
        ),
        Axes(
            {
                "kernel": ("rotation",),
                "threads": threads[-1:],
                "pinning": ("compact",),
                "stores": ("ordinary",),
                "elements": n,
            },
            # The 25 runs of which NICEVT's evaluation keeps the one with the best Copy; a quick run has no time for them.
            Sampling(effort.sampling.width, *((2, 3, 10) if effort.name == "quick" else (25 * 0.3, RUNS, RUNS))),
            1.0,
        ),
        # Half and twice the size: a bandwidth that still falls with size is a cache's.
        Axes(
            {
                "kernel": ("triad",),
                "threads": (1,),
                "pinning": ("compact",),
                "stores": ("ordinary",),
                "elements": (*sets, n[0] // 16 * 8),
            },
            short,
            0.05,
        ),
    ]
    if effort.name != "quick":
        blocks.append(
            Axes(
                {
                    "kernel": ("triad",),
                    "threads": threads[-1:],
                    "pinning": ("scatter",),
                    "stores": ("ordinary",),
                    "elements": n,
                },
                long,
                0.5,
            )
        )
        blocks.append(
            Axes(
                {
                    "kernel": ("triad",),
                    "threads": threads[-1:],
                    "pinning": ("compact",),
                    "stores": ("ordinary",),
                    "elements": n,
                    "page_size": page_sizes(machine),
                },
                long,
                1.0,
            )
        )
    return tuple(blocks)


def working_sets(machine: Machine, effort: Effort) -> tuple[int, ...]:
    """Bytes of all three vectors together, from half of a first cache upward, two or four steps an octave of four."""
    step = 4 if effort.name == "quick" else 2
    sizes = [16 << 10]
    while sizes[-1] < 24 * elements(machine):
        sizes.append(sizes[-1] * step)
    return tuple(sizes)


def bandwidth(seconds: float, record: Record) -> float:
    """As STREAM counts: bytes that the loop's own words read and write."""
    return record.work["bytes"] / seconds


def traffic(seconds: float, record: Record) -> float:
    """What the memory moves: with ordinary stores every line written is read first."""
    return record.work["bytes_moved"] / seconds


def best_of(times: int) -> Callable[[float, Record], float | None]:
    """STREAM's own statistic: the best of the first `times` passes, the very first left out. None where fewer were made."""

    def best(seconds: float, record: Record) -> float | None:
        fastest = (
            classic_stream(record.samples, times) if len(record.samples) >= times and record.operations == 1 else None
        )
        return record.work["bytes"] / fastest if fastest else None

    return best


def by_copy(seconds: float, record: Record) -> float | None:
    """The statistic of NICEVT's evaluation: Triad in the rotation with the best Copy of 25. None but for 25 rotations or more."""
    reported = record.surroundings.details
    if record.kernel != "rotation" or reported is None:
        return None
    triad = best_by_copy(reported.get("copy", ()), reported.get("triad", ()), RUNS)
    return 24.0 * int(record.parameters["elements"]) / triad if triad else None


metrics = (
    Metric("bandwidth", "B/s", "higher", "bandwidth (counted as STREAM counts)", bandwidth),
    Metric("traffic", "B/s", "higher", "traffic (write-allocate included)", traffic),
    Metric("best_of_10", "B/s", "higher", "best of 10 without the first (STREAM's rule)", best_of(10)),
    Metric("best_of_25", "B/s", "higher", "best of 25 without the first", best_of(RUNS)),
    Metric("triad_by_copy", "B/s", "higher", "Triad of the run with the best Copy, of 25", by_copy),
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
    Counterpart("stream", "triad"),
    TolerancePoint(
        point="Triad",
        title="Triad",
        order=10,
        kernel="triad",
        shared="A few threads fill the memory's channels; more of them share what is there.",
        at=lambda results: cases.select_greatest(results, "elements"),
        remedy="Use as many threads as fill the memory, and spread them over the memory nodes: steelyard run "
        "--only memory.stream --set kernel=triad --set pinning=compact,scatter --set threads=1,{threads}",
    ),
)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """The memory's own peak; none for working sets that a cache holds, and for memory that is not the main one."""
    other = not is_main(machine, str(result.parameters.get("memory_policy", "local")))
    if result.parameters.get("elements") != elements(machine) or other:
        return None
    return machine.limits.get("memory_bandwidth")


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Triad against threads, and Triad against the working set."""
    n = elements(machine)
    peak = machine.limits.get("memory_bandwidth")
    triad = select(results, kernel="triad", elements=n, page_size=None)
    threads = Figure(
        name="triad-threads",
        title="Triad bandwidth against threads",
        kind="lines",
        x=Axis("threads"),
        y=Axis("bandwidth", "B/s"),
        series=(
            *against("threads", "bandwidth", triad, names=("pinning", "stores", "toolchain")),
            *published("stream", "triad_bandwidth", x="threads"),
        ),
        marks=(Mark("y", peak.value, f"limit: {peak.source}"),) if peak else (),
        caption="Counted as STREAM counts. Every point is a median with its 95 % interval.",
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
        caption="Each step down is a cache that no longer holds the vectors. The last points must lie on a plateau: "
        "then the memory was measured.",
    )
    return threads, sweep
