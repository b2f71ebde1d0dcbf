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
from collections.abc import Iterable, Iterator
from itertools import chain, combinations

from steelyard.measure.benchmarks.cycles import cycles_of
from steelyard.model import Axes, Effort, Machine, Metric, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure

MOST_PAIRS = {"quick": 120, "standard": 2016, "full": 8128}  # all pairs of 16, 64 and 128 processors
Pair = tuple[int, int]
Surrounding = tuple[str, frozenset[int]]  # the name of a shared resource, and the processors that share it


def list_surroundings(machine: Machine) -> dict[int, list[Surrounding]]:
    """Returns for each processor what it shares with which processors, from near to far; the last group has all processors."""
    every = frozenset(machine.cpus)
    of_node: dict[int, set[int]] = {}
    of_socket: dict[int, set[int]] = {}
    for core in machine.cores:
        of_node.setdefault(core.node, set()).update(core.cpus)
        of_socket.setdefault(core.socket, set()).update(core.cpus)
    around: dict[int, list[Surrounding]] = {cpu: [] for cpu in machine.cpus}

    def add(name: str, group: Iterable[int]) -> None:
        present = every.intersection(group)
        for cpu in present:
            around[cpu].append((name, present))

    for core in machine.cores:
        add("same core", core.cpus)
    for cache in sorted(machine.caches, key=lambda cache: cache.level):
        if cache.kind != "instruction" and cache.level > 1:
            add(f"same L{cache.level} cache", cache.cpus)
    for group in of_node.values():
        add("same node", group)
    for group in of_socket.values():
        add("same socket", group)
    add("other socket", chain.from_iterable(core.cpus for core in machine.cores))
    add("unknown", every)
    return around


def neighbourhood(surroundings: Iterable[Surrounding], cpu: int) -> str:
    """Returns the nearest resource that a processor with these surroundings shares with another one."""
    return next(name for name, group in surroundings if cpu in group)


def pairs(machine: Machine, most: int) -> tuple[Pair, ...]:
    """Returns all pairs of processors, or `most`: one of each neighbourhood, the others drawn with a fixed seed."""
    every = list(combinations(sorted(machine.cpus), 2))
    if len(every) <= most:
        return tuple(every)
    random.Random(1).shuffle(every)
    around = list_surroundings(machine)
    kinds = {name for cpu, groups in around.items() for name in _list_kinds(cpu, groups)}
    first_pairs: dict[str, Pair] = {}
    for a, b in every:
        first_pairs.setdefault(neighbourhood(around[a], b), (a, b))
        if len(first_pairs) == len(kinds):
            break
    chosen = dict.fromkeys([*first_pairs.values(), *every])  # keeps the order, drops duplicates
    return tuple(sorted(list(chosen)[:most]))


def _list_kinds(cpu: int, surroundings: Iterable[Surrounding]) -> Iterator[str]:
    """Yields the neighbourhoods that a processor has with at least one other."""
    near = {cpu}
    for name, group in surroundings:
        if not group <= near:
            yield name
            near |= group


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
