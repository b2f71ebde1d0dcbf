"""Rule: whether the intervals are as narrow as was asked for."""

from statistics import median

from steelyard.model import Evaluation, Finding, Result, Value
from steelyard.statistics.results import cases
from steelyard.statistics.samples.launches import with_runs
from steelyard.units import percent, quantity

ENOUGH, FEW = 0.90, 0.50  # shares of the results that reach the width
NAMED = 5  # of the widest that are listed


def find(evaluation: Evaluation) -> list[Finding]:
    """How many results reach the width that the plan asked; good from nine in ten, a notice below half."""
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
                "The samples agree, and so do the launches.",
                "",
                reach="figures",
            )
        ]
    return [
        Finding(
            "intervals",
            "notice",
            f"Only {observed}, as the plan asked."
            if reached
            else f"None of {len(known)} results has a 95 % interval within {wanted}, as the plan asked.",
            (*_widest(known), f"There were up to {_launches(evaluation)} launches of a case."),
            "The launches differ among themselves, the machine was disturbed, or the time for a case was too short.",
            "Take more launches and more time: steelyard run --preset full (or without --budget).",
            effect=1 + median(half for _, half, _ in known),
            reach="figures",
        )
    ]


def _asked(evaluation: Evaluation) -> dict[str, float]:
    """The widest interval that the plan asked of each benchmark's cases, with what runs differ by."""
    found: dict[str, float] = {}
    for launch in evaluation.run.plan.launches:
        for case in launch.cases:
            found[launch.benchmark] = max(found.get(launch.benchmark, 0.0), case.sampling.width)
    return {name: with_runs(width) for name, width in found.items()}


def _half(result: Result) -> float | None:
    """Half of the interval's width, relative, of the first metric that has one."""
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
