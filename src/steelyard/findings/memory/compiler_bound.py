"""Rule: at the best corner of APEX-MAP one accumulator measures the latency of the addition."""

from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import Ratio, cost, ratio
from steelyard.statistics.results.tolerance import at_point
from steelyard.units import quantity

BENCHMARK = "memory.apexmap"
BOUND = 1.25  # from here the difference is the loop's, not a matter of the placement of code


def find(evaluation: Evaluation) -> list[Finding]:
    """One accumulator against the most that were measured, at the best corner with the fewest threads."""
    corner = at_point(evaluation, "L")
    alone = [r for r in corner if cases.number(r, "accumulators") == 1]
    compared: list[tuple[Result, Result, Ratio]] = []
    for few in alone:
        partners = [b for n in _numbers(corner) for a, b in cases.pairs(corner, "accumulators", 1, n) if a is few]
        found = [(few, many, r) for many in partners if (r := ratio(few, many)) is not None]
        compared += [max(found, key=lambda c: c[2].value)] if found else []
    if not compared:
        return []
    few, many, factor = min(compared, key=lambda c: cases.number(c[0], "threads") or 1)
    if factor.value < BOUND or factor.low <= 1:
        return []
    return [
        Finding(
            "compiler_bound",
            "notice",
            f"The best corner (L) is bound by the loop: an access costs {_describe(few)} with one accumulator "
            f"and {_describe(many)} with {cases.value(many, 'accumulators')}, a factor of "
            f"{factor.value:.2g}.{cases.caution(few, many)}",
            tuple(
                f"{cases.describe(a, but=('elements', 'accumulators'))}: {r.value:.2f} ({r.low:.2f} to "
                f"{r.high:.2f}) with 1 against {cases.value(b, 'accumulators')} accumulators."
                for a, b, r in compared
            ),
            "With one accumulator every addition waits for the one before it, some two to four cycles; the "
            "caches could deliver faster. Compilers may not reorder a sum of floating-point numbers unless "
            "they are told to.",
            "Take the figure with several accumulators for the memory. In your own sums let the compiler "
            "reorder: -fassociative-math -fno-signed-zeros -fno-trapping-math (or -ffast-math), or #pragma "
            "omp simd reduction(+:sum).",
            BENCHMARK,
            effect=factor.value,
            reach="program",
        )
    ]


def _numbers(corner: list[Result]) -> list[int]:
    found = {n for r in corner if (n := cases.number(r, "accumulators")) is not None and n > 1}
    return [int(n) for n in sorted(found)]


def _describe(result: Result) -> str:
    cycles = result.metrics.get("cycles")
    if cycles is not None and cycles.unit.startswith("cycle"):
        return f"{quantity(cycles.value, 'cycle', 2)}s"
    seconds = cost(result)
    return quantity(seconds.seconds if seconds else None, "s", 2)
