"""Rule: bandwidth of messages that only a reused buffer has: which cache feigns it, and what an application can count on."""

from collections.abc import Iterator
from typing import NamedTuple

from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics import cases, messages
from steelyard.statistics.artefact import Artefact, Caches, Point, artefact
from steelyard.units import binary_size, quantity, significant

# Buffers of the size of a message that each rank uses.
BUFFERS = {
    ("network.pingpong", "pingpong"): 2,
    ("network.sendrecv", "sendrecv"): 2,
    ("network.sendrecv", "exchange"): 4,
}
NAMED = 8  # curves that are listed
# Greatest over least bandwidth of a size's interval: of a wider one no factor can be told.
KNOWN = 1.5

CAUSE = (
    "The benchmark sends from the same buffer and receives into the same one again and again, so that the copy finds both "
    "in a cache. An application's message was computed or is used elsewhere, and comes from memory or another cache."
)
REMEDY = (
    "Count on the figures of fresh buffers (--set buffers=fresh); with the Intel MPI Benchmarks measure with -off_cache and "
    "the size of all last-level caches. Only a program that sends what it has just written gets more."
)


class Seen(NamedTuple):
    """What reuse feigns on the `curve` of reused buffers; `compared` sizes have both kinds."""

    curve: list[Result]
    compared: int
    caches: Caches
    artefact: Artefact


def find(evaluation: Evaluation) -> list[Finding]:
    """For each benchmark all its curves, by placement, number of ranks and MPI; nothing where reuse changes nothing."""
    found: list[Finding] = []
    for benchmark in dict.fromkeys(name for name, _ in BUFFERS):
        kernels = [kernel for name, kernel in BUFFERS if name == benchmark]
        seen = [s for kernel in kernels for s in _artefacts(evaluation, benchmark, kernel)]
        if seen:
            found.append(_finding(benchmark, sorted(seen, key=lambda s: -s.artefact.factor)))
    return found


def _artefacts(evaluation: Evaluation, benchmark: str, kernel: str) -> Iterator[Seen]:
    usual = cases.where(evaluation.results, transport="default")
    usual = [r for r in usual if r.benchmark == benchmark and not messages.oversubscribed(r)]
    fresh = {
        messages.alike(curve[0], messages.SIZE, "buffers"): _known(curve)
        for curve in messages.curves(cases.where(usual, buffers="fresh"), benchmark, kernel)
    }
    for curve in messages.curves(cases.where(usual, buffers="reused"), benchmark, kernel):
        reused = _known(curve)
        other = fresh.get(messages.alike(curve[0], messages.SIZE, "buffers"), [])
        caches = messages.caches(evaluation.run.machine, curve[0])
        seen = artefact(reused, other, caches, BUFFERS[benchmark, kernel])
        if seen:
            yield Seen(curve, len({p.size for p in reused} & {p.size for p in other}), caches, seen)


def _known(curve: list[Result]) -> list[Point]:
    found = messages.points(curve, "bandwidth")
    return [p for p in found if p.low is not None and p.high is not None and p.high <= KNOWN * p.low]


def _finding(benchmark: str, seen: list[Seen]) -> Finding:
    most = seen[0].artefact
    told = (
        f"Where buffers are used again, messages of {messages.sizes(most.first, most.last)} look up to "
        f"{significant(most.factor, 2)} times as fast as they are ({_called(seen[0])}): an application can count on "
        f"{quantity(most.bandwidth, 'B/s')} at {binary_size(int(most.size))}, not on {quantity(most.apparent, 'B/s')}."
        f"{cases.caution(*_at(seen[0]))}"
    )
    lines = tuple(line for s in seen[:NAMED] for line in _lines(s))
    return Finding("message_cache", "notice", told, lines, CAUSE, REMEDY, benchmark)


def _at(seen: Seen) -> list[Result]:
    return [r for r in seen.curve if messages.size(r) == seen.artefact.size]


def _called(seen: Seen) -> str:
    return f"{seen.curve[0].kernel}, {messages.called(seen.curve[0])}"


def _lines(seen: Seen) -> Iterator[str]:
    a, name = seen.artefact, _called(seen)
    interval = f" ({quantity(a.low, 'B/s')} to {quantity(a.high, 'B/s')})" if a.low is not None else ""
    yield (
        f"{name}: {len(a.sizes)} of {seen.compared} sizes, most at {binary_size(int(a.size))}: "
        f"{quantity(a.apparent, 'B/s')} with reused buffers, {quantity(a.bandwidth, 'B/s')}{interval} with fresh ones."
    )
    held = {"core": seen.caches.core, "last": seen.caches.last, "memory": None}
    for part in a.parts:
        size = f" ({binary_size(bytes_)})" if (bytes_ := held[part.place]) else ""
        yield f"{name}, {messages.sizes(part.first, part.last)}: {part.explanation}{size}."
