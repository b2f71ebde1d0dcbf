"""Rule: finds kernels far below their roofline limit, the measured bandwidth or arithmetic of this machine."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding
from steelyard.model.caches import MEMORY
from steelyard.model.units import percent, quantity
from steelyard.model.words import in_words, plural
from steelyard.statistics.results import cases
from steelyard.statistics.results.roofline import Place, Roofline, rooflines
from steelyard.statistics.results.roofs import SCALAR, working_set
from steelyard.statistics.validity import trust

BELOW = 0.6  # share of the limit: streaming loops reach 0.8 and more of a limit that Triad measured
LEAST = 0.001  # share of the limit: if it is smaller, the limit does not apply to the kernel
MOST = 8  # lines of evidence: the lowest kernels are named, the others are counted
SHORT = 8 << 10  # bytes: a shorter pass takes some tens of nanoseconds, so calls and loop ends matter
NEAR_SCALAR = 1.15  # times the scalar peak: vectorised loops are faster
LOST = BELOW / 2  # disturbances rarely cost more than half: below this share there is another cause, too
# Causes in the order of the search, each with its remedy.
DISTURBED, SLOW_LOOP = "disturbed", "not vectorised (judged by its speed)"
OVERHEAD, ALLOCATE = (
    "short vectors: the start and the end of the loop take most of the time",
    "ordinary stores: they read each cache line before they write it, and these reads are not counted",
)
WAITING = "waiting: for the memory, for the previous operation, or for divisions and square roots"
_REMEDIES = {
    DISTURBED: "Measure again on a quiet machine.",
    SLOW_LOOP: "Read the vectorisation report of the compiler (gcc -fopt-info-vec-missed, "
    "clang -Rpass-missed=loop-vectorize).",
    OVERHEAD: "Use longer vectors, or process several short ones at once.",
    ALLOCATE: "Use streaming stores if the result is not read again soon.",
    WAITING: "Use several independent operations at once, and access the data in the order of its addresses.",
}


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all kernels below their limit, by likely cause; a good one if there are none."""
    lines = rooflines(evaluation)
    judged = [(p, p.share, line) for line in lines for p in line.places if p.share is not None and _is_judged(p, line)]
    low = sorted((item for item in judged if item[1] < BELOW), key=lambda item: item[1])
    if not judged:
        return []
    above = sorted((item for item in judged if item[0].is_above), key=lambda item: -item[1])
    if above:
        return [_report_above_limit([place for place, _, _ in above]), *(_report_below(judged, low) if low else [])]
    return _report_below(judged, low)


def _report_above_limit(above: Sequence[Place]) -> Finding:
    most = above[0]
    claim = (
        f"{_describe_kernel(most)}. No kernel can exceed its roofline limit: the limit or the kernel was measured wrongly. "
        f"This concerns {plural(len(above), 'kernel')}.{cases.caution(most.result)}"
    )
    evidence = tuple(f"{_describe_kernel(place)}." for place in above[:MOST])
    cause = "The limit was measured while the core was shared or its clock was low, or the data of the kernel came from a cache."
    remedy = advise(
        "Do not use these shares of the limit. Measure the limit and the kernel again: ",
        f"run --preset standard --only memory.stream --only core.peak --only {most.result.benchmark}",
    )
    return Finding(
        "roof", "notice", claim, evidence, cause, remedy, most.result.benchmark, effect=most.share, reach="figures",
        brief=f"{most.result.benchmark} exceeds its limit ({percent(most.share or 0)}): one of both is wrong.",
    )  # fmt: skip


def _report_below(
    judged: Sequence[tuple[Place, float, Roofline]], low: Sequence[tuple[Place, float, Roofline]]
) -> list[Finding]:
    large = [p for p, _, _ in judged if p.level == MEMORY and not p.is_above]
    if not low:
        return [_report_good(len(judged), large)] if large else []
    causes = [explain_low_speed(place, line) for place, _, line in low]
    lines = [f"{_describe_kernel(place)}: {cause}." for (place, _, _), cause in zip(low, causes, strict=True)]
    if len(lines) > MOST:
        lines = [*lines[:MOST], f"The Roofline page shows {len(lines) - MOST} more."]
    counted = dict(Counter(causes).most_common())
    claim = (
        f"{len(low)} of {len(judged)} kernels reach less than {percent(BELOW)} of their roofline limit (lowest: "
        f"{percent(low[0][1], 1)}).{_describe_memory_bound(large)}{cases.caution(*(place.result for place, _, _ in low[:1]))}"
    )
    return [
        Finding(
            "roof",
            "notice",
            claim,
            tuple(lines),
            f"Likely causes: {'; '.join(f'{cause} ({count})' for cause, count in counted.items())}.",
            " ".join(_REMEDIES[cause] for cause in counted),
            effect=1 / max(median(share for _, share, _ in low), LEAST),
            reach="program",
        )
    ]


def explain_low_speed(place: Place, line: Roofline) -> str:
    """Returns the likeliest reason why a kernel is below its limit: one of the causes of this module."""
    result, scalar = place.result, line.roof(SCALAR)
    size = working_set(result)
    if result.verdict.level == "DISTURBED" and (place.share or 0) > LOST:
        return DISTURBED
    if size is not None and size < SHORT:
        return OVERHEAD
    compute = place.roof is not None and place.roof.kind == "peak"
    # A kernel below a tenth of the scalar peak waits for something else.
    if compute and scalar and 0.1 * scalar.value < place.speed.value <= NEAR_SCALAR * scalar.value:
        return SLOW_LOOP
    work = result.attempts[0].work
    if (
        place.level == MEMORY
        and not compute
        and "bytes_moved" not in work
        and cases.value(result, "stores") == "ordinary"
    ):
        return ALLOCATE
    return WAITING


def _is_judged(place: Place, line: Roofline) -> bool:
    """Returns whether a kernel is judged: no limit was measured with it, and it is not scalar on purpose."""
    return place.result.parameters.get("vectors") != "no" and not any(
        roof.result is place.result for roof in line.roofs
    )


def _describe_kernel(place: Place) -> str:
    roof = place.roof.name if place.roof else "unknown"
    limit = f"the peak ({roof})" if place.roof and place.roof.kind == "peak" else f"the bandwidth of {roof}"
    mark = trust.write_if_doubtful(place.result.verdict.level)
    return (
        f"{place.result.benchmark} {place.name} with {in_words('threads', place.threads)}, "
        f"{quantity(place.speed.value, 'flop/s')}{mark}, {percent(place.share or 0, 1)} of {limit}"
    )


def _describe_memory_bound(large: Sequence[Place]) -> str:
    """Returns a sentence on how many memory-bound kernels reach the share."""
    reached = sum((place.share or 0) >= BELOW for place in large)
    if not large:
        return ""
    reach = f"{reached} {'reaches' if reached == 1 else 'reach'} {percent(BELOW)}"
    return f" Of {plural(len(large), 'kernel')} with their data in memory, {reach}."


def _report_good(count: int, large: Sequence[Place]) -> Finding:
    best = max(large, key=lambda place: place.share or 0)
    claim = (
        f"All {count} kernels with a roofline limit reach at least {percent(BELOW)} of it."
        if count > 1
        else f"The only kernel with a roofline limit reaches {percent(best.share or 0)} of it."
    )
    evidence = tuple(f"{_describe_kernel(place)}." for place in sorted(large, key=lambda p: p.share or 0)[:MOST])
    cause = "The memory, the caches or the arithmetic of this machine limits them."
    return Finding("roof", "good", claim, evidence, cause, "")
