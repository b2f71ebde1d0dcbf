"""Rule: checks whether the bandwidth still falls as the vectors grow, so that it comes from a cache and not from the memory."""

from steelyard.judge.findings.memory import cache_rule
from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import binary_size, quantity
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import Ratio, ratio

BENCHMARK = "memory.stream"
# A slope above twice the usual width of an interval is not chance. Above 20 % the smaller vectors lie in a cache.
FALLING, CLIFF = 1.04, 1.20
# Ratio of the two sizes: close enough for one plateau, and far enough apart to show a slope.
NEAREST, FURTHEST = 1.5, 5.0


def find(evaluation: Evaluation) -> list[Finding]:
    """Compares the two largest sizes of each Triad curve: falling (serious above 20 %) or flat (good)."""
    triad = cases.find(evaluation.results, BENCHMARK, "triad")
    findings: list[Finding] = []
    too_small = bool(cache_rule.find(evaluation))  # a part of each pass may come from a cache, also on a plateau
    for group in cases.group(triad, "elements"):
        largest = group[-1]
        smaller = [r for r in group[:-1] if NEAREST <= _read_size(largest) / _read_size(r) <= FURTHEST]
        # Only curves up to the largest size of the run measure the memory.
        if smaller and largest in cases.select_greatest(triad, "elements"):
            slope = ratio(largest, smaller[-1])
            if slope:
                findings += _judge(smaller[-1], largest, slope, too_small)
    return findings


def _read_size(result: Result) -> float:
    return max(1.0, cases.number(result, "elements") or 1.0)


def _is_flat(slope: Ratio) -> bool:
    return slope.low > 1 / FALLING and slope.high < FALLING


def _judge(smaller: Result, largest: Result, slope: Ratio, too_small: bool) -> list[Finding]:
    evidence = tuple(_describe_result(r) for r in (smaller, largest))
    caution = cases.caution(smaller, largest)
    if slope.value > FALLING and slope.low > 1:
        elements = int(_read_size(largest))
        return [
            Finding(
                "plateau",
                "serious" if slope.low > CLIFF and not caution else "notice",
                f"The Triad bandwidth still falls with the size. The largest vectors cost "
                f"{quantity(slope.value - 1, '%', 2)} more per byte than vectors of "
                f"{binary_size(int(_read_size(smaller)) * 8)}.{caution}",
                (*evidence, f"The interval of the ratio is {slope.low:.3f} to {slope.high:.3f}."),
                "A cache still serves a part of the smaller vectors. The system does not report this cache or its size. "
                "The bandwidth at the largest size may also be too high.",
                advise(
                    "Measure larger vectors: ",
                    f"run --only {BENCHMARK} --set kernel=triad --set elements={elements * 2},{elements * 4}",
                ),
                BENCHMARK,
                effect=slope.value,
                reach="figures",
            )
        ]
    if _is_flat(slope) and not caution and not too_small:
        return [
            Finding(
                "plateau",
                "good",
                "The Triad bandwidth no longer falls with the size: Triad measured the memory, not a cache.",
                (*evidence, f"The ratio of the costs is {slope.value:.3f} ({slope.low:.3f} to {slope.high:.3f})."),
                "The vectors are larger than all caches.",
                "",
                BENCHMARK,
                reach="figures",
            )
        ]
    return []


def _describe_result(result: Result) -> str:
    bandwidth = result.metrics.get("bandwidth")
    speed = quantity(bandwidth.value, bandwidth.unit) if bandwidth else "the bandwidth is unknown"
    return f"Vectors of {binary_size(int(_read_size(result)) * 8)} each: {speed}."
