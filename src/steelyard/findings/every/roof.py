"""Rule: kernels that stay far below their roof, the bandwidth or the arithmetic that this machine was observed to have"""

from collections.abc import Sequence
from statistics import median

from steelyard.model import Evaluation, Finding
from steelyard.statistics.results import cases
from steelyard.statistics.results.roofline import Place, Roofline, rooflines
from steelyard.statistics.results.roofs import MEMORY, SCALAR, working_set
from steelyard.statistics.validity import trust
from steelyard.units import percent, quantity
from steelyard.words import in_words

BELOW = 0.6  # of the roof: loops that only stream reach 0.8 and more of a roof that a Triad measured
# Times a roof, beyond which it cannot be one: loops that only read pass the Triad's bandwidth by a third, a peak nothing passes.
OVER_MEMORY, OVER_PEAK = 1.5, 1.1
LEAST = 0.001  # of a roof: what is below it is rather no roof of that kernel
MOST = 8  # lines of evidence: the lowest are named, the others counted
SHORT = 8 << 10  # bytes: passes over less take some tens of nanoseconds, and their calls and loop ends show
NEAR_SCALAR = 1.15  # times the scalar peak at most: vectors would be beyond
LOST = BELOW / 2  # disturbances that cost more than half are rare: below it there is another cause, too
# Causes, in the order in which they are looked for, and what each calls for.
DISTURBED, SLOW_LOOP = "disturbed", "not vectorised, by its speed"
OVERHEAD, ALLOCATE = (
    "short vectors: overheads of calls and loop ends",
    "lines read before they are written, not counted",
)
WAITING = "latency: of memory, of each result needed by the next, or of divisions and roots"
_REMEDIES = {
    DISTURBED: "measure again on a quiet machine",
    SLOW_LOOP: "look at the compiler's report on vectors (gcc -fopt-info-vec-missed, clang -Rpass-missed=loop-vectorize)",
    OVERHEAD: "give the loop longer vectors, or several short ones at once",
    ALLOCATE: "use streaming stores where the result is not read again soon",
    WAITING: "give the processor several independent chains of work, and data in the order in which it lies",
}


def find(evaluation: Evaluation) -> list[Finding]:
    """One finding for all: what lies below its roof, by its likely cause; good where nothing does."""
    lines = rooflines(evaluation)
    judged = [(p, p.share, line) for line in lines for p in line.places if p.share is not None and _judged(p, line)]
    low = sorted((item for item in judged if item[1] < BELOW), key=lambda item: item[1])
    if not judged:
        return []
    above = sorted((item for item in judged if _beyond(item[0])), key=lambda item: -item[1])
    return [*([_impossible([place for place, _, _ in above])] if above else []), *_below(judged, low)]


def _beyond(place: Place) -> bool:
    """Whether it is surely faster than what bounds it. A cache's roof is the Triad's own, and no bound for other loops."""
    if place.roof is None or not place.bound or place.speed.low is None:
        return False
    most = OVER_PEAK if place.roof.kind == "peak" else OVER_MEMORY if place.roof.name == MEMORY else None
    return most is not None and place.speed.low > most * place.bound


def _impossible(above: Sequence[Place]) -> Finding:
    most = above[0]
    return Finding(
        "roof",
        "notice",
        f"{_line(most)}: more than the roof cannot be, so that the roof or the kernel was measured wrongly. It is so for "
        f"{len(above)} kernel{'' if len(above) == 1 else 's'}.{cases.caution(most.result)}",
        tuple(f"{_line(place)}." for place in above[:MOST]),
        "The roof was measured while the core was shared or its clock was low, or the kernel's data came from a cache.",
        "Do not use these shares; measure both again: steelyard run --preset standard --only memory.stream --only core.peak "
        f"--only {most.result.benchmark}",
        most.result.benchmark,
        effect=most.share,
        reach="figures",
    )


def _below(
    judged: Sequence[tuple[Place, float, Roofline]], low: Sequence[tuple[Place, float, Roofline]]
) -> list[Finding]:
    large = [p for p, _, _ in judged if p.level == MEMORY]
    if not low:
        return [_good(len(judged), large)] if large else []
    causes = [why(place, line) for place, _, line in low]
    found = [f"{_line(place)}: {cause}." for (place, _, _), cause in zip(low, causes, strict=True)]
    if len(found) > MOST:
        found = [*found[:MOST], f"{len(found) - MOST} more: see the page Roofline."]
    counted = {cause: causes.count(cause) for cause in _REMEDIES if cause in causes}
    observed = (
        f"{len(low)} of {len(judged)} kernels stay below {percent(BELOW)} of the roof above them, the lowest at "
        f"{percent(low[0][1], 1)}{_reached(large)}.{cases.caution(*(place.result for place, _, _ in low[:1]))}"
    )
    return [
        Finding(
            "roof",
            "notice",
            observed,
            tuple(found),
            f"Likely: {'; '.join(f'{cause} ({count})' for cause, count in counted.items())}.",
            f"{'; '.join(_REMEDIES[cause] for cause in counted)}.",
            effect=1 / max(median(share for _, share, _ in low), LEAST),
            reach="program",
        )
    ]


def why(place: Place, line: Roofline) -> str:
    """The likeliest reason why a kernel lies below its roof, one of this module's causes."""
    result, scalar = place.result, line.roof(SCALAR)
    size = working_set(result)
    if result.verdict.level == "DISTURBED" and (place.share or 0) > LOST:
        return DISTURBED
    if size is not None and size < SHORT:
        return OVERHEAD
    compute = place.roof is not None and place.roof.kind == "peak"
    # Between a tenth and all of what scalars reach: slower ones wait for something else.
    if compute and scalar and 0.1 * scalar.value < place.speed.value <= NEAR_SCALAR * scalar.value:
        return SLOW_LOOP
    work = result.records[0].work
    if (
        place.level == MEMORY
        and not compute
        and "bytes_moved" not in work
        and cases.value(result, "stores") == "ordinary"
    ):
        return ALLOCATE
    return WAITING


def _judged(place: Place, line: Roofline) -> bool:
    """Not what a roof was measured by, nor what was kept scalar on purpose."""
    return place.result.parameters.get("vectors") != "no" and not any(
        roof.result is place.result for roof in line.roofs
    )


def _line(place: Place) -> str:
    roof = place.roof.name if place.roof else "unknown"
    above = "the peak, " if place.roof and place.roof.kind == "peak" else "the bandwidth of "
    mark = trust.word(place.result.verdict.level)
    return (
        f"{place.result.benchmark} {place.name} with {in_words('threads', place.threads)}, "
        f"{quantity(place.speed.value, 'flop/s')}{mark}, {percent(place.share or 0, 1)} of {above}{roof}"
    )


def _reached(large: Sequence[Place]) -> str:
    """How many of those that the memory bounds come near it."""
    reached = sum((place.share or 0) >= BELOW for place in large)
    return f"; of {len(large)} whose data lie in memory {reached} reach that" if large else ""


def _good(count: int, large: Sequence[Place]) -> Finding:
    best = max(large, key=lambda place: place.share or 0)
    return Finding(
        "roof",
        "good",
        f"All {count} kernels with a known roof reach at least {percent(BELOW)} of it."
        if count > 1
        else f"The only kernel with a known roof reaches {percent(best.share or 0)} of it.",
        tuple(f"{_line(place)}." for place in sorted(large, key=lambda p: p.share or 0)[:MOST]),
        "What bounds them is the machine: its memory, its caches or its arithmetic.",
        "",
    )
