"""Rule: finds figures above a limit of the machine, where the limit or the figure is wrong."""

from typing import NamedTuple

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Limit, Result, Value
from steelyard.model.units import percent, quantity
from steelyard.statistics.results import cases
from steelyard.statistics.validity.limits import find_share, is_above

NAMED = 8


class Excess(NamedTuple):
    """A figure with its limit; `share` is the part of the limit that it reaches."""

    result: Result
    value: Value
    limit: Limit
    share: float


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each benchmark with such figures, the case furthest above its limit first."""
    findings = []
    for name in evaluation.benchmarks:
        results = [r for r in evaluation.results if r.benchmark == name and r.verdict.level != "INVALID"]
        excesses = [s for r in results if (s := _find_excess(evaluation, r)) is not None]
        if excesses:
            findings.append(_make_finding(name, sorted(excesses, key=lambda s: -s.share), len(results)))
    return findings


def _find_excess(evaluation: Evaluation, result: Result) -> Excess | None:
    """Returns the first metric above its limit; None if there is none."""
    for metric, value in result.metrics.items():
        limit = result.limits.get(metric)
        if limit and is_above(value, limit):
            return Excess(result, value, limit, find_share(value, limit) or 1.0)
    return None


def _make_finding(name: str, excesses: list[Excess], count: int) -> Finding:
    most = excesses[0]
    claim = (
        f"{_label(most)} reaches {quantity(most.value.value, most.value.unit)}: {percent(most.share)} of its limit of "
        f"{quantity(most.limit.value, most.limit.unit)}. No figure can be above its limit, but {len(excesses)} of {count} "
        f"results of {name} are.{cases.caution(most.result)}"
    )
    evidence = (*(_describe_excess(s) for s in excesses[:NAMED]), f"The limit: {most.limit.source}.")
    cause = (
        "The limit is too low (a wrong system file, wrong firmware data or table of processors, or a clock that rose after "
        "Steelyard read it). Or the figure counts work that a cache or the compiler saved."
    )
    remedy = advise(
        "Use neither the figure nor its share of the limit. Compare a limit of memory with the modules (sudo dmidecode -t "
        "memory). Set the limit yourself: ",
        "run --system FILE.toml",
    )
    brief = f"{most.result.benchmark} {most.result.kernel} is {percent(most.share)} of its limit: one of both is wrong."
    return Finding(
        "above_limit", "notice", claim, evidence, cause, remedy, name, effect=most.share, reach="figures", brief=brief
    )


def _label(excess: Excess) -> str:
    return f"{excess.result.benchmark} {cases.describe(excess.result, but=('elements',))}"


def _describe_excess(excess: Excess) -> str:
    return f"{_label(excess)}: {quantity(excess.value.value, excess.value.unit)}, {percent(excess.share)} of the limit."
