"""Rule: checks whether the best corner of APEX-MAP with one accumulator measures the latency of the addition."""

from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import quantity
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import Ratio, cost, ratio
from steelyard.statistics.results.tolerance import results_at_point

BENCHMARK = "memory.apexmap"
BOUND = 1.25  # a greater factor comes from the loop, not from the placement of code


def find(evaluation: Evaluation) -> list[Finding]:
    """Compares one accumulator with the most that were measured, at the best corner, with the fewest threads."""
    corner = results_at_point(evaluation, "L")
    alone = [r for r in corner if cases.number(r, "accumulators") == 1]
    compared: list[tuple[Result, Result, Ratio]] = []
    for few in alone:
        partners = [b for n in _read_numbers(corner) for a, b in cases.pair(corner, "accumulators", 1, n) if a is few]
        ratios = [(few, many, r) for many in partners if (r := ratio(few, many)) is not None]
        compared += [max(ratios, key=lambda c: c[2].value)] if ratios else []
    if not compared:
        return []
    few, many, factor = min(compared, key=lambda c: cases.number(c[0], "threads") or 1)
    if factor.value < BOUND or factor.low <= 1:
        return []
    return [
        Finding(
            "compiler_bound",
            "notice",
            f"The best corner of APEX-MAP (L) is {factor.value:.2g} times as fast if the loop adds into "
            f"{cases.value(many, 'accumulators')} variables instead of one ({_describe(many)} instead of {_describe(few)} for an "
            f"access). The additions of the loop are its limit, not the memory.{cases.caution(few, many)}",
            tuple(
                f"{cases.describe(a, but=('elements', 'accumulators'))}: an access with 1 accumulator costs {r.value:.2f} times "
                f"({r.low:.2f} to {r.high:.2f}) as much as with {cases.value(b, 'accumulators')}."
                for a, b, r in compared
            ),
            "With one accumulator, each addition waits two to four cycles for the previous one, although the caches could "
            "deliver data faster. By default, compilers may not reorder a sum of floating-point numbers.",
            "Use the figure with several accumulators to judge the memory. For your own sums, allow the compiler to reorder: "
            "-fassociative-math -fno-signed-zeros -fno-trapping-math (or -ffast-math), or #pragma omp simd "
            "reduction(+:sum).",
            BENCHMARK,
            effect=factor.value,
            reach="program",
        )
    ]


def _read_numbers(corner: list[Result]) -> list[int]:
    counts = {n for r in corner if (n := cases.number(r, "accumulators")) is not None and n > 1}
    return [int(n) for n in sorted(counts)]


def _describe(result: Result) -> str:
    cycles = result.metrics.get("cycles")
    if cycles is not None and cycles.unit.startswith("cycle"):
        return f"{quantity(cycles.value, 'cycle', 2)}s"
    seconds = cost(result)
    return quantity(seconds.seconds if seconds else None, "s", 2)
