"""Transfer of a cache line between cores

Two threads on two processors pass one cache line back and forth. The first writes a number, the second waits for it and answers
with the next number. Half of a round trip is the time until one core sees what another core has written. The figure shows it as
a matrix of processor pairs.

Reading: Dark blocks along the diagonal are processors that are close to each other: hardware threads of one core, cores that
share a cache, cores of one socket. Place threads that communicate often (locks, barriers, queues, reductions) within one block.
No lock or barrier between two processors can be faster than this time.

Caution: The place of the line in memory also has an effect. The line lies in the memory node of the first processor. A pair of
processors on another socket may have to send a request to this node. On large machines Steelyard does not measure every pair:
it measures at least one pair of each kind, and some of the other pairs, always the same random choice. Virtual machines hide
which processors are close to each other.

Source: The round trip of a modified line is a common measurement (for example pingpong of Google's multichase). The method here
is ours: each number is one larger than the number before, so the last number proves that every round trip took place.
"""

import random
from itertools import combinations

from steelyard.measure.benchmarks.cycles import cycles_of
from steelyard.measure.machine.places import Places
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure

MOST_PAIRS = {"quick": 120, "standard": 2016, "full": 8128}  # all pairs of 16, 64 and 128 processors
Pair = tuple[int, int]


def neighbourhood(places: Places, a: int, b: int) -> str:
    """Returns the nearest resource that two processors share."""
    core = places.core
    if a in core and core[a] is core.get(b):
        return "same core"
    for level in (2, 3, 4):
        if places.share_cache(level, a, b):
            return f"same L{level} cache"
    if a not in core or b not in core:
        return "unknown"
    if core[a].node == core[b].node:
        return "same node"
    return "same socket" if core[a].socket == core[b].socket else "other socket"


def pairs(machine: Machine, most: int) -> tuple[Pair, ...]:
    """Returns all pairs of processors, or `most`: one of each neighbourhood, the others drawn with a fixed seed."""
    every = list(combinations(sorted(machine.cpus), 2))
    if len(every) <= most:
        return tuple(every)
    random.Random(1).shuffle(every)
    first_pairs: dict[str, Pair] = {}
    places = Places(machine)
    for a, b in every:
        first_pairs.setdefault(neighbourhood(places, a, b), (a, b))
    chosen = dict.fromkeys([*first_pairs.values(), *every])  # keeps the order, drops duplicates
    return tuple(sorted(list(chosen)[:most]))


unread = ("page_size", "memory_policy")


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: each pair; none if there is only one processor."""
    chosen = pairs(machine, MOST_PAIRS[effort.name])
    if not chosen:
        return ()
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 0.012 if quick else 0.05, 6, 200)
    pinnings = tuple(f"{a},{b}" for a, b in chosen)
    values: dict[str, tuple[Scalar, ...]] = {"kernel": ("transfer",), "threads": (2,), "pinning": pinnings}
    return (Axes(values, sampling, 0.002, bounds={"threads": (2, 2)}),)


def transfer_latency(seconds: float, record: Record) -> float:
    """Returns the seconds of one way: half of a round trip."""
    return seconds / record.work["messages"]


def cycles(seconds: float, record: Record) -> float | None:
    """Returns the time of one way, in cycles of the true core clock."""
    return cycles_of(transfer_latency(seconds, record), record)


metrics = (
    Metric("transfer_latency", "s", "lower", "time of a cache line from core to core, one way", transfer_latency),
    Metric("cycles", "cycle", "lower", "cycles of a cache line from core to core, one way", cycles),
)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns None: a latency has no known bound."""
    return None


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the matrix of the first toolchain: the transfer of a line does not depend on the toolchain."""
    times: dict[Pair, float] = {}
    for r in results:
        ends = str(r.parameters["pinning"]).split(",")
        if len(ends) == 2 and all(e.isdigit() for e in ends) and "transfer_latency" in r.metrics:
            times.setdefault((int(ends[0]), int(ends[1])), r.metrics["transfer_latency"].value)
    cpus = sorted({cpu for pair in times for cpu in pair})
    possible = len(machine.cpus) * (len(machine.cpus) - 1) // 2
    return (
        Figure(
            name="cores-matrix",
            title="Transfer of a cache line between processors, one way",
            kind="heat",
            x=Axis("processor"),
            y=Axis("processor"),
            columns=tuple(str(cpu) for cpu in cpus),
            rows=tuple(str(cpu) for cpu in cpus),
            z=tuple(tuple(times.get((a, b), times.get((b, a))) for b in cpus) for a in cpus),
            value=Axis("time one way", "s"),
            caption=f"{len(times)} of {possible} pairs were measured. The time one way is half of the round trip, so "
            "it is the same in both directions.",
        ),
    )
