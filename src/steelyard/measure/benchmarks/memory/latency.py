"""Latency of caches and memory (pointer chase)

A thread follows a ring of cache lines in random order. Each line holds the address of the next line, so a load cannot begin
before the last one has ended. The time of a step is the latency. Working sets from 4 KiB to four times the last-level cache
give a curve with a step for each cache. With several rings at the same time, the kernel shows how many loads a core processes
at once (memory-level parallelism).

Reading: Each flat part of the curve belongs to one cache or to the memory, and its height is the latency. A flat part ends near
the size of its cache. If it ends at a much smaller size, other programs or guests use a part of this cache. With small pages
the curve rises where it should be flat, because every access also waits for an address translation. The curve for large pages
shows how much of the time this takes. With several chains, the time per access falls until the core cannot process more loads
at the same time.

Caution: The order of the lines is random, so prefetchers do not help. Most real programs have a more regular order and wait
less. In a virtual machine an address translation costs up to five times as much. Its last-level cache may be shared with other
guests that Steelyard cannot detect.

Source: L. McVoy and C. Staelin, lmbench: Portable Tools for Performance Analysis, USENIX 1996 (memory read latency); random
order and parallel chains are common practice today.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from statistics import median

from steelyard.measure.benchmarks.axes import USUAL, page_sizes, thread_counts
from steelyard.measure.benchmarks.cycles import access_cycles, access_time
from steelyard.measure.benchmarks.figures import against, cache_marks, select
from steelyard.measure.benchmarks.rates import per_second
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.model import Axes, Effort, Machine, Metric, Parameters, Result, Sampling, Scalar
from steelyard.model.caches import cache_levels, reachable_cache
from steelyard.model.figure import Axis, Figure
from steelyard.model.roles import SIZES, Headline, TolerancePoint
from steelyard.model.units import binary_size, quantity
from steelyard.statistics.results import cases

SMALLEST = 4 << 10  # bytes: below every first cache
BEYOND = 4  # times the last-level cache, which then holds at most a quarter of the lines
UNKNOWN_CACHE = 64 << 20  # bytes, if the system reports no cache sizes: more than most last-level caches
LARGEST_SHARE = 0.5  # of the available memory
EDGE = 0.18  # logarithm of 1.2: a greater deviation at the end of a flat piece belongs to a slope
CHAINS = (1, 2, 4, 8, 16)
BUILD_RATE = 0.6e9  # bytes of a ring built per second (measured: 0.3e9 to 1.2e9); only for the planned time


@dataclass(frozen=True)
class Level:
    """A flat part of the ladder: working sets from `smallest` to `largest` bytes have `latency` seconds."""

    smallest: int
    largest: int
    latency: float


def memory_bytes(machine: Machine, threads: int = 1) -> int:
    """Returns a working set of four times the last-level cache, or what the memory allows for `threads` threads."""
    wanted = BEYOND * (reachable_cache(machine, machine.cpus[:1]) or UNKNOWN_CACHE)
    possible = int(machine.memory_available * LARGEST_SHARE) // threads
    return max(SMALLEST, min(wanted, possible) >> 20 << 20)


def working_sets(machine: Machine, steps: int) -> tuple[int, ...]:
    """Returns sizes in bytes from 4 KiB to `memory_bytes`, `steps` for each octave."""
    last, sizes, i = memory_bytes(machine), [SMALLEST], 0
    while sizes[-1] < last:
        i += 1
        sizes.append(int(SMALLEST * 2 ** (i / steps)) >> 10 << 10)
    # A neighbour within a fifth of the last size would measure the same again.
    return (*(s for s in sizes if s * 1.2 < last), last)


def held_sets(machine: Machine) -> tuple[int, ...]:
    """Returns a working set of about half of each cache, and one for the memory. All are on the ladder."""
    ladder = working_sets(machine, 1)
    caches = [cache.size for cache in cache_levels(machine, machine.cpus[0])] if machine.cpus else []
    fitting = (max((s for s in ladder if s <= size / 2), default=ladder[0]) for size in caches)
    return tuple(sorted({*fitting, ladder[-1]}))


demands = {"bytes must be from 1024 to below 2^38": lambda p: 1024 <= p.get("bytes", 1024) < 1 << 38}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: the ladder; parallel chains at each level; all threads at once; page sizes."""
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 0.15 if quick else 0.4, 8, 1000)
    threads = thread_counts(machine)
    ladder = working_sets(machine, 1 if quick else 2)
    largest = memory_bytes(machine)

    def expected(point: Parameters) -> tuple[Sampling, float]:
        return sampling, 0.01 + int(point["bytes"]) / BUILD_RATE

    def block(**values: tuple[Scalar, ...]) -> Axes:
        every: dict[str, tuple[Scalar, ...]] = {"kernel": ("chase",), "threads": (1,), "pinning": ("compact",)}
        every |= {"bytes": (largest,), "chains": (1,)}
        return Axes(every | values, choices={"chains": CHAINS}, expected=expected)

    blocks = [
        block(bytes=ladder),
        block(bytes=held_sets(machine), chains=CHAINS),
        block(bytes=ladder if not quick else (largest,), page_size=page_sizes(machine)),
    ]
    if len(threads) > 1:
        blocks.append(block(threads=threads, bytes=(memory_bytes(machine, threads[-1]),)))
    return tuple(blocks)


metrics = (
    Metric("latency", "s", "lower", "time of an access of one thread (one chain: the latency)", access_time),
    Metric("cycles", "cycle", "lower", "cycles of an access of one thread", access_cycles),
    Metric("bandwidth", "B/s", "higher", "bandwidth of the lines loaded", per_second("bytes")),
)


def _memory_results(results: Sequence[Result]) -> list[Result]:
    """Returns results of one chain over the largest working sets of one thread and of several threads."""
    chase = [r for r in results if cases.number(r, "chains") == 1]
    most = cases.select_greatest(chase, "bytes")
    together = cases.select_greatest([r for r in chase if (cases.number(r, "threads") or 1) > 1], "bytes")
    sizes = {cases.number(r, "bytes") for r in (*most, *together)}
    return [r for r in chase if cases.number(r, "bytes") in sizes]


roles = (
    Headline(
        name="latency",
        title="Memory latency",
        unit="s",
        order=20,
        least=("threads", "chains"),
        most=SIZES,
        usual=USUAL,
        of_memory=True,
    ),
    TolerancePoint(
        point="latency",
        title="a chain of dependent accesses",
        order=40,
        kernel="chase",
        shared="Dependent accesses load the memory little. The threads slow each other down in a shared cache or link.",
        at=_memory_results,
    ),
)


def levels(results: Sequence[Result]) -> tuple[Level, ...]:
    """Returns the levels in the ladder of one thread and one chain, nearest first.

    It uses the page size with the most points, and the larger pages if two are equal. Empty: no part is flat.
    """
    ladders: dict[str, list[Result]] = {}
    for r in select(results, kernel="chase", threads=1, chains=1):
        if "latency" in r.metrics:
            ladders.setdefault(str(r.parameters.get("page_size", "default")), []).append(r)
    if not ladders:
        return ()
    order = ("4k", "default", "transparent", "huge")
    best = max(ladders, key=lambda pages: (_sizes(ladders[pages]), order.index(pages)))
    times: dict[int, list[float]] = {}
    for r in ladders[best]:  # the same size may have been measured with several toolchains
        times.setdefault(int(r.parameters["bytes"]), []).append(r.metrics["latency"].value)
    return plateaus(sorted(times), [median(times[size]) for size in sorted(times)])


def _sizes(results: Sequence[Result]) -> int:
    return len({r.parameters["bytes"] for r in results})


def plateaus(sizes: Sequence[int], times: Sequence[float]) -> tuple[Level, ...]:
    """Returns the flat parts of a ladder, without the steps and slopes between them.

    The logarithms of the times are divided into constant pieces with the least sum of squared errors plus a price
    for each piece (optimal partitioning: Jackson et al., IEEE Signal Processing Letters 12, 2005). The error of a
    point is estimated from the differences of neighbours, most of which lie on flat parts. A flat piece covers a
    factor of at least 1.5 in size. Neighbouring pieces that differ by less than a quarter are joined.
    """
    if len(sizes) < 3:
        return ()
    y = [log(t) for t in times]
    sigma = min(
        0.1, max(0.02, median(abs(b - a) for a, b in pairwise(y)) / 0.954)
    )  # 0.954: median of the absolute difference of two normal values with sigma 1
    flat: list[Level] = []
    for piece in _pieces(y, 4 * log(len(y)) * sigma**2):
        first, last = _trim_slopes(y, *piece)
        latency = median(times[first:last])
        if sizes[last - 1] < 1.5 * sizes[first] or max(times[first:last]) > 1.5 * min(times[first:last]):
            continue
        if flat and max(latency, flat[-1].latency) < 1.25 * min(latency, flat[-1].latency):
            inside = [t for s, t in zip(sizes, times, strict=True) if flat[-1].smallest <= s <= sizes[last - 1]]
            flat[-1] = Level(flat[-1].smallest, sizes[last - 1], median(inside))
        else:
            flat.append(Level(sizes[first], sizes[last - 1], latency))
    return tuple(flat)


def _trim_slopes(y: Sequence[float], first: int, last: int) -> tuple[int, int]:
    """Returns the piece without the points at its ends that belong to a slope."""
    middle = median(y[first:last])
    while abs(y[first] - middle) > EDGE and first + 1 < last:
        first += 1
    while abs(y[last - 1] - middle) > EDGE and first + 1 < last:
        last -= 1
    return first, last


def _pieces(y: Sequence[float], price: float) -> list[tuple[int, int]]:
    """Returns the constant pieces [first, last) of `y` with the least squared error plus `price` for each piece."""
    best = [0.0] + [float("inf")] * len(y)
    start = [0] * (len(y) + 1)
    for last in range(1, len(y) + 1):
        total = squares = 0.0
        for first in range(last - 1, -1, -1):
            total += y[first]
            squares += y[first] ** 2
            cost = best[first] + max(0.0, squares - total**2 / (last - first)) + price
            if cost < best[last]:
                best[last], start[last] = cost, first
    pieces, last = [], len(y)
    while last > 0:
        pieces.append((start[last], last))
        last = start[last]
    return pieces[::-1]


def describe(levels: Sequence[Level], machine: Machine) -> str:
    """Describes the levels in the ladder and the caches that the system reports."""
    if not levels:
        return "No part of the line is flat enough to show the latency of a cache or of the memory."
    latencies = "; ".join(f"{quantity(lv.latency, 's')} up to {binary_size(lv.largest)}" for lv in levels)
    caches = cache_levels(machine, machine.cpus[0]) if machine.cpus else []
    sizes = ", ".join(f"L{c.level} {binary_size(c.size)}" for c in caches) or "none"
    return f"Flat parts of the line: {latencies}. The system reports these caches: {sizes}."


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of the ladder, the parallel chains, and all threads at once."""
    alone = select(results, kernel="chase", threads=1)
    lines = against("bytes", "latency", select(alone, chains=1), names=("page_size", "toolchain"), label="latency")
    ladder = Figure(
        name="latency-ladder",
        title="Latency against the working set, one thread",
        kind="lines",
        x=Axis("working set", "B", log=True),
        y=Axis("latency", "s", log=True),
        series=(*lines, *draw_printed("memory.latency", "chase", "latency", "bytes", lines)),
        marks=cache_marks(machine),
        caption=describe(levels(results), machine),
    )
    held = [r for r in select(alone, page_size=None) if r.parameters["bytes"] in held_sets(machine)]
    parallel = Figure(
        name="latency-parallel",
        title="Memory-level parallelism: time per access against parallel chains",
        kind="lines",
        x=Axis("chains", log=True),
        y=Axis("time per access", "s", log=True),
        series=against("chains", "latency", held, names=("bytes", "toolchain")),
        caption="Each line belongs to one working set. If twice the chains halve the time, all loads overlap.",
    )
    threads = Figure(
        name="latency-threads",
        title="Memory latency against threads",
        kind="lines",
        x=Axis("threads"),
        y=Axis("latency", "s"),
        series=against("threads", "latency", _select_swept(results), names=("bytes", "toolchain"), label="latency"),
        caption="Each thread follows its own ring. If the line is level, the threads do not slow each other down.",
    )
    return (ladder, parallel, threads) if threads.series else (ladder, parallel)


def _select_swept(results: tuple[Result, ...]) -> tuple[Result, ...]:
    at_one_size = select(results, kernel="chase", chains=1, page_size=None)
    swept = {r.parameters["bytes"] for r in at_one_size if int(r.parameters.get("threads", 1)) > 1}
    return tuple(r for r in at_one_size if r.parameters["bytes"] in swept)
