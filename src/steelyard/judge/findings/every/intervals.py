"""Rule: checks whether the intervals are as narrow as the plan requires."""

from statistics import median

from steelyard.judge.findings.open_questions import measure_again
from steelyard.model import Evaluation, Finding, Result, Value
from steelyard.model.units import percent, quantity
from steelyard.model.words import plural
from steelyard.statistics.results import cases
from steelyard.statistics.samples.launches import add_run_spread

EVERY_VARIANT = True
ENOUGH, FEW = 0.90, 0.50  # shares of the results that are within the width
NAMED = 5  # widest intervals in the list


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns a good finding if nine in ten results are within the width of the plan, a notice below half."""
    asked = _find_planned_widths(evaluation)
    half_widths = [
        (r, half, asked[r.benchmark])
        for r in cases.keep_measured(evaluation.results)
        if r.benchmark in asked and (half := _measure_half_width(r)) is not None
    ]
    if not half_widths:
        return []
    reached = sum(half <= width for _, half, width in half_widths)
    share = reached / len(half_widths)
    if FEW <= share < ENOUGH:
        return []
    widths = sorted({width for _, _, width in half_widths})
    wanted = " or ".join(f"± {quantity(w, '%', 2)}" for w in widths)
    claim = f"{reached} of {len(half_widths)} results ({percent(share)}) have a 95 % interval within {wanted}"
    without = len(cases.keep_measured(evaluation.results)) - len(half_widths)
    rest = f" {plural(without, 'more result')} {'has' if without == 1 else 'have'} no interval." if without else ""
    if share >= ENOUGH:
        cause = "The samples agree with each other, and so do the launches."
        return [Finding("intervals", "good", f"{claim}.{rest}", _list_widest(half_widths), cause, "", reach="figures")]
    return [
        Finding(
            "intervals",
            "notice",
            f"Only {claim}. The plan requires this width for all results.{rest}"
            if reached
            else f"None of {len(half_widths)} results has a 95 % interval within {wanted}, which is the width that "
            f"the plan requires.{rest}",
            (*_list_widest(half_widths), f"Each case had up to {_count_launches(evaluation)} launches."),
            "The launches differ from each other, the machine was disturbed, or the time for a case was too short.",
            measure_again(evaluation, "UNSETTLED"),
            effect=1 + median(half for _, half, _ in half_widths),
            reach="figures",
            about="measurement",
            brief=f"{f'Only {reached}' if reached else 'None'} of {len(half_widths)} values are as sure as planned ({wanted}).",
        )
    ]


def _find_planned_widths(evaluation: Evaluation) -> dict[str, float]:
    """Returns the widest interval that the plan allows for each benchmark, with the difference between runs added."""
    widest: dict[str, float] = {}
    for launch in evaluation.run.plan.launches:
        for case in launch.cases:
            widest[launch.benchmark] = max(widest.get(launch.benchmark, 0.0), case.sampling.width)
    return {name: add_run_spread(width) for name, width in widest.items()}


def _measure_half_width(result: Result) -> float | None:
    """Returns half of the relative interval of the first metric that has one."""
    for value in result.metrics.values():
        half = _find_half_width(value)
        if half is not None:
            return half
    return None


def _find_half_width(value: Value) -> float | None:
    if value.low is None or value.high is None or not value.value > 0:
        return None
    return (value.high - value.low) / 2 / value.value


def _list_widest(half_widths: list[tuple[Result, float, float]]) -> tuple[str, ...]:
    worst = sorted(half_widths, key=lambda k: -k[1] / k[2] if k[2] else 0)[:NAMED]
    return tuple(f"{r.benchmark} {cases.describe(r)}: ± {percent(half, 1)}." for r, half, _ in worst)


def _count_launches(evaluation: Evaluation) -> int:
    return max((len({x.launch for x in r.attempts}) for r in evaluation.results), default=0)
