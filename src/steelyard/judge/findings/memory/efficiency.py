"""Rule: compares the Triad bandwidth with the memory limit, or says how to set an unknown limit."""

from steelyard.judge.findings import settings
from steelyard.judge.findings.open_questions import NO_LIMIT, measure_again, name_doubt, undecided
from steelyard.judge.findings.remedies import advise
from steelyard.measure.machine.limits import bandwidth_unknown
from steelyard.model import Evaluation, Finding, Limit, Machine, Remedy, Result, Value
from steelyard.model.units import percent, quantity
from steelyard.statistics.results import cases
from steelyard.statistics.validity import trust
from steelyard.statistics.validity.limits import is_above

BENCHMARK = "memory.stream"
# Well-tuned systems reach 75 to 90 % of the modules' rate with STREAM (refresh and turnarounds take the
# rest): the PowerEdge R730xd of `published.csv` reached 116 of 136 GB/s, 85 %.
NEAR = 0.75


def find(evaluation: Evaluation) -> list[Finding]:
    """Compares the best Triad at the most threads, counted by the bytes that the memory moves, with the limit."""
    triad = cases.select_greatest(cases.find(evaluation.results, BENCHMARK, "triad"), "elements")
    triad = [r for r in cases.select_greatest(triad, "threads") if "bandwidth" in r.metrics]
    if not triad:
        return []
    trusted = trust.select_most_trusted(triad)
    best = max(trusted, key=lambda r: _choose_traffic(r).value)
    limit = _limit(evaluation, best)
    if limit is not None and limit.value > 0:
        # The rule "above_limit" reports a limit that is exceeded.
        return [] if is_above(_choose_traffic(best), limit) else [_compare_with_limit(evaluation, best, limit)]
    given = evaluation.run.machine.limits.get("memory_bandwidth")
    fastest = max(trusted, key=lambda r: r.metrics["bandwidth"].value)
    return [] if given else [_report_unknown_limit(evaluation, fastest)]


def _choose_traffic(result: Result) -> Value:
    return result.metrics.get("traffic") or result.metrics["bandwidth"]


def _limit(evaluation: Evaluation, result: Result) -> Limit | None:
    benchmark = evaluation.benchmarks.get(BENCHMARK)
    if benchmark is None:
        return evaluation.run.machine.limits.get("memory_bandwidth")
    return benchmark.known_limit("traffic", result, evaluation.run.machine)


def _compare_with_limit(evaluation: Evaluation, best: Result, limit: Limit) -> Finding:
    moved, counted = _choose_traffic(best), best.metrics["bandwidth"]
    share = moved.value / limit.value
    caution = cases.caution(best)
    claim = (
        f"Triad moves {quantity(moved.value, moved.unit)}: {percent(share)} of the limit of "
        f"{quantity(limit.value, limit.unit)} ({cases.describe(best, but=('elements',))}).{caution}"
    )
    evidence = (
        f"The limit: {limit.source}.",
        f"By STREAM's count, Triad reaches {quantity(counted.value, counted.unit)}: {percent(counted.value / limit.value)} of "
        "the limit.",
    )
    if share >= NEAR:
        if reason := name_doubt(cases.doubt(best)):
            again = measure_again(evaluation, best.verdict.level, BENCHMARK)
            return undecided("efficiency", claim, evidence, reason, again, BENCHMARK)
        cause = "The memory itself is the limit."
        return Finding("efficiency", "good", claim, evidence, cause, "", BENCHMARK)
    cause, remedy = _explain_low(int(cases.number(best, "threads") or 1), evaluation.run.machine)
    return Finding(
        "efficiency", "notice", claim, evidence, cause, remedy, BENCHMARK, effect=1 / share if share > 0 else None,
        brief=f"The memory reaches only {percent(share)} of its limit.",
    )  # fmt: skip


def _explain_low(threads: int, machine: Machine) -> tuple[str, Remedy]:
    """Returns the likely cause and the remedy."""
    processors = len(machine.cpus)
    if threads < processors:
        cause = f"Only {threads} of {processors} processors were used: too few to fill the memory channels."
        return cause, advise("Use all processors: ", f"run --only {BENCHMARK} --set threads={processors}")
    return (
        "Possible causes: threads and memory are unevenly spread over the nodes, processors are throttled, the memory "
        "channels hold unequal modules, or something else uses the memory.",
        advise(
            f"{settings.advise_check(machine)}Compare placements: ",
            "run --preset standard --only memory.stream --only memory.placement",
        ),
    )


def _describe_conditions(best: Result) -> str:
    return cases.describe(best, but=("elements",)).partition(" (")[2].removesuffix(")")


def _report_unknown_limit(evaluation: Evaluation, best: Result) -> Finding:
    bandwidth = best.metrics["bandwidth"]
    question = (
        "Steelyard cannot compute which share of the memory limit Triad reaches. It moves "
        f"{quantity(bandwidth.value, bandwidth.unit)} ({_describe_conditions(best)}), but the limit is unknown."
    )
    again = advise(
        "Run Steelyard once as root. Or write the memory data into a file, for example memory_channels = 2 and "
        "memory_rate = 4800e6 for two channels of DDR5-4800: ",
        "run --system FILE.toml",
    )
    return undecided("efficiency", question, (bandwidth_unknown(evaluation.run.machine),), NO_LIMIT, again, BENCHMARK)
