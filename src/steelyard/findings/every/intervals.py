"""Rule: checks whether the intervals are as narrow as the plan requires."""

from statistics import median

from steelyard.model import Evaluation, Finding, Result, Value
from steelyard.statistics.results import cases
from steelyard.statistics.samples.launches import with_runs
from steelyard.units import percent, quantity

ENOUGH, FEW = 0.90, 0.50  # shares of the results that are within the width
NAMED = 5  # widest intervals in the list


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns a good finding if nine in ten results are within the width of the plan, a notice below half."""
    asked = _asked(evaluation)
    known = [
        (r, half, asked[r.benchmark])
        for r in evaluation.results
        if r.benchmark in asked and (half := _half(r)) is not None
    ]
    if not known:
        return []
    reached = sum(half <= width for _, half, width in known)
    share = reached / len(known)
    if FEW <= share < ENOUGH:
        return []
    widths = sorted({width for _, _, width in known})
    wanted = " or ".join(f"± {quantity(w, '%', 2)}" for w in widths)
    observed = f"{reached} of {len(known)} results ({percent(share)}) have a 95 % interval within {wanted}"
    if share >= ENOUGH:
        return [
            Finding(
                "intervals",
                "good",
                f"{observed}.",
                _widest(known),
                "The samples agree with each other, and so do the launches.",
                "",
                reach="figures",
            )
        ]
    return [
        Finding(
            "intervals",
            "notice",
            f"Only {observed}, which is the width that the plan requires."
            if reached
            else f"None of {len(known)} results has a 95 % interval within {wanted}, which is the width that the plan requires.",
            (*_widest(known), f"Each case had up to {_launches(evaluation)} launches."),
            "The launches differ from each other, the machine was disturbed, or the time for a case was too short.",
            "Use more launches and more time: steelyard run --preset full (or run without --budget).",
            effect=1 + median(half for _, half, _ in known),
            reach="figures",
        )
    ]


def _asked(evaluation: Evaluation) -> dict[str, float]:
    """Returns the widest interval that the plan allows for each benchmark, with the difference between runs added."""
    found: dict[str, float] = {}
    for launch in evaluation.run.plan.launches:
        for case in launch.cases:
            found[launch.benchmark] = max(found.get(launch.benchmark, 0.0), case.sampling.width)
    return {name: with_runs(width) for name, width in found.items()}


def _half(result: Result) -> float | None:
    """Returns half of the relative interval of the first metric that has one."""
    for value in result.metrics.values():
        half = _relative(value)
        if half is not None:
            return half
    return None


def _relative(value: Value) -> float | None:
    if value.low is None or value.high is None or not value.value > 0:
        return None
    return (value.high - value.low) / 2 / value.value


def _widest(known: list[tuple[Result, float, float]]) -> tuple[str, ...]:
    worst = sorted(known, key=lambda k: -k[1] / k[2] if k[2] else 0)[:NAMED]
    return tuple(f"{r.benchmark} {cases.describe(r)}: ± {percent(half, 1)}." for r, half, _ in worst)


def _launches(evaluation: Evaluation) -> int:
    return max((len({x.launch for x in r.records}) for r in evaluation.results), default=0)
