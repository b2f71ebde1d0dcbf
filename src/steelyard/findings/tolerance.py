"""Rule: whether threads hide the latency of memory: the cost of an operation at n threads against one."""

from typing import Literal

from steelyard.model import Evaluation, Finding
from steelyard.statistics import trust
from steelyard.statistics.tolerance import Tolerance, tolerance
from steelyard.units import percent

# n threads bring the cost to less than 1.5/n of one thread's; and, at the other end, hardly below it.
TOLERANT, POOR = 1 / 1.5, 1.25
TOO_WIDE = 1.5  # greatest over least speed-up of the interval: wider than that it holds two verdicts
AGAIN = "Measure again on a quiet machine: steelyard run"

WHAT = {
    "Triad": "Triad",
    "G": "the worst corner of APEX-MAP (G)",
    "L": "the best corner of APEX-MAP (L)",
    "latency": "a chain of dependent accesses",
}
CAUSES = {
    "Triad": "A few threads fill the memory's channels; more of them share what is there.",
    "G": "The threads wait for the same thing: the memory's channels or banks, or the shared cache's queues.",
    "L": "The threads share what should be each one's own: a clock that drops, or one core's units.",
    "latency": "Dependent accesses load the memory little: what hinders them is shared, a cache or a link.",
}


def find(evaluation: Evaluation) -> list[Finding]:
    """A finding for each point that was measured with one thread and with more, told at the most threads."""
    found = tolerance(evaluation.results)
    return [_finding(point, mine) for point in WHAT if (mine := [t for t in found if t.point == point and t.usual])]


def _finding(point: str, mine: list[Tolerance]) -> Finding:
    most = max(mine, key=lambda t: t.threads)
    judged = _judged(most)
    caution = trust.caution(most.level)
    lines = tuple(
        f"{t.label}, {t.threads} threads: a speed-up of {t.ratio:.2f} ({t.low:.2f} to {t.high:.2f}), "
        f"efficiency {percent(t.efficiency)}."
        for t in sorted(mine, key=lambda t: t.threads)
    )
    if not judged:
        seen = f"Whether threads hide the latency cannot be said for {WHAT[point]}: the speed-up with "
        seen += f"{most.threads} threads lies between {most.low:.2f} and {most.high:.2f}.{caution}"
        cause = "The launches or the samples differ too much."
        return Finding("tolerance", "notice", seen, lines, cause, AGAIN, most.benchmark)
    seen = f"The machine is {judged} for {WHAT[point]}: with {most.threads} threads an operation costs "
    seen += f"{1 / most.ratio:.2g} of what it costs with one, {percent(most.efficiency)} of the ideal.{caution}"
    if judged == "tolerant":
        cause = "Each thread has what it needs, and they wait side by side."
        level: Literal["notice", "good"] = "notice" if caution else "good"
        return Finding("tolerance", level, seen, lines, cause, trust.again(most.level), most.benchmark)
    return Finding(
        "tolerance", "notice", seen, lines, CAUSES[point], _remedy(point, most), most.benchmark, 1 / most.efficiency
    )


def _judged(most: Tolerance) -> str:
    """In a word; '' where the interval is too wide for one."""
    if most.high > TOO_WIDE * most.low:
        return ""
    if most.efficiency >= TOLERANT:
        return "tolerant"
    return "partly tolerant" if most.ratio >= POOR else "little tolerant"


def _remedy(point: str, most: Tolerance) -> str:
    """See where it stops rising, and use so many threads."""
    if point == "Triad":
        return (
            "Use as many threads as fill the memory, and spread them over the memory nodes: steelyard run "
            "--only memory.stream --set kernel=triad --set pinning=compact,scatter --set "
            f"threads=1,{most.threads}"
        )
    command = f"steelyard run --preset standard --only {most.benchmark}"
    return f"See from how many threads on it no longer falls: {command}"
