"""Rule: a bandwidth that still falls as the vectors grow is a cache's, not the memory's."""

from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import Ratio, ratio
from steelyard.units import binary_size, quantity

BENCHMARK = "memory.stream"
# Above twice the usual width of an interval it is no chance; a fifth less is another storage, not another
# mood.
FALLING, CLIFF = 1.04, 1.20
# The two sizes compared: close enough that both should lie on one plateau, far enough that a slope would
# show.
NEAREST, FURTHEST = 1.5, 5.0


def find(evaluation: Evaluation) -> list[Finding]:
    """For each line of Triad over sizes, the two largest: falling (serious beyond 20 %), or flat (good)."""
    triad = cases.of(evaluation.results, BENCHMARK, "triad")
    found: list[Finding] = []
    for group in cases.groups(triad, "elements"):
        largest = group[-1]
        smaller = [r for r in group[:-1] if NEAREST <= _size(largest) / _size(r) <= FURTHEST]
        # Only a line that reaches the run's largest size claims to have measured the memory.
        if smaller and largest in cases.with_most(triad, "elements"):
            slope = ratio(largest, smaller[-1])
            if slope:
                found += _judge(smaller[-1], largest, slope)
    return found


def _size(result: Result) -> float:
    return max(1.0, cases.number(result, "elements") or 1.0)


def _judge(smaller: Result, largest: Result, slope: Ratio) -> list[Finding]:
    evidence = tuple(_line(r) for r in (smaller, largest))
    caution = cases.caution(smaller, largest)
    if slope.value > FALLING and slope.low > 1:
        return [
            Finding(
                "plateau",
                "serious" if slope.low > CLIFF and not caution else "notice",
                "Triad still falls with the size: the largest vectors cost "
                f"{quantity(slope.value - 1, '%', 2)} more a byte than those of "
                f"{binary_size(int(_size(smaller)) * 8)}.{caution}",
                (*evidence, f"The interval of the ratio is {slope.low:.3f} to {slope.high:.3f}."),
                "A cache still serves a part of the smaller vectors: one that the system does not report, "
                "or one that is shared with other guests. The bandwidth at the largest size may be too "
                "high, too.",
                f"Measure larger ones: steelyard run --only {BENCHMARK} --set kernel=triad --set "
                f"elements={int(_size(largest)) * 2},{int(_size(largest)) * 4}",
                BENCHMARK,
                effect=slope.value,
                reach="figures",
            )
        ]
    if slope.low > 1 / FALLING and slope.high < FALLING and not caution:
        return [
            Finding(
                "plateau",
                "good",
                "Triad lies on a plateau: the memory was measured, not a cache.",
                (
                    *evidence,
                    f"The ratio of the costs is {slope.value:.3f} ({slope.low:.3f} to {slope.high:.3f}).",
                ),
                "The vectors exceed all caches.",
                "",
                BENCHMARK,
                reach="figures",
            )
        ]
    return []


def _line(result: Result) -> str:
    bandwidth = result.metrics.get("bandwidth")
    reported = quantity(bandwidth.value, bandwidth.unit) if bandwidth else "a bandwidth that is not known"
    return f"Vectors of {binary_size(int(_size(result)) * 8)} each: {reported}."
