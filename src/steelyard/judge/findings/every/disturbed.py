"""Rule: names the disturbed results, the causes, and the launches."""

from collections import Counter

from steelyard.judge.findings import disturbances
from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Machine, Result
from steelyard.model.evidence import sentence
from steelyard.model.units import percent
from steelyard.statistics.results import cases
from steelyard.statistics.results.result import used_attempts
from steelyard.statistics.validity.cause import explain

EVERY_VARIANT = True
# If more of the results are disturbed, the run describes the disturbances and not the machine.
TOO_MANY = 0.5
FEW = 0.05  # share of results below which other causes than the condition of the machine are not worth a finding
NAMED = 5  # kinds, launches and cases in the list; the report marks all of them


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all disturbed results; a good one if there are none; nothing without results."""
    measured = cases.keep_measured(evaluation.results)
    disturbed = [r for r in measured if r.verdict.level == "DISTURBED"]
    # The condition of the machine is stated once for the whole run, with the disturbances that it explains.
    unexplained = [r for r in disturbed if disturbances.name(r) not in evaluation.condition.causes]
    if not measured or (evaluation.condition.causes and len(unexplained) < FEW * len(measured)):
        return []
    if not disturbed:
        return [_report_quiet(evaluation, measured)]
    share = len(disturbed) / len(measured)
    clean = sum(1 for r in measured if r.verdict.level == "CLEAN")
    kinds = disturbances.count(disturbed)
    causes = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common(NAMED))

    return [
        Finding(
            "disturbed",
            "serious" if share > TOO_MANY else "notice",
            f"{len(disturbed)} of {cases.count_measured(evaluation.results)} ({percent(share)}) were disturbed: {causes}.",
            (*_list_examples(disturbed), *_list_disturbed_launches(evaluation), *_list_most_disturbed(measured)),
            explain(evaluation.condition.proofs) or "The evidence of each kind states what was observed.",
            advise(f"{_suggest_remedies(kinds, evaluation.run.machine)} Then run again: ", "run"),
            # This factor says how much the number of reliable results would grow.
            effect=(clean + len(disturbed)) / max(1, clean),
            reach="figures",
            about="measurement",
            brief=f"{len(disturbed)} of {len(measured)} values were disturbed: {kinds.most_common(1)[0][0]}.",
        )
    ]


def _suggest_remedies(kinds: Counter[str], machine: Machine) -> str:
    """Returns the remedies of the three most frequent kinds."""
    remedies = dict.fromkeys(disturbances.suggest_remedy(kind, machine) for kind, _ in kinds.most_common(3))
    return " ".join(filter(None, remedies))


def _report_quiet(evaluation: Evaluation, measured: list[Result]) -> Finding:
    repeated = sum(1 for r in evaluation.run.records if r.attempt > 1)
    left_out = sum(1 for r in measured if len(used_attempts(r)) < len({x.launch for x in r.attempts}))
    unsettled = sum(1 for r in measured if r.verdict.level == "UNSETTLED")
    evidence = [f"Steelyard repeated {repeated} disturbed launches or attempts."] if repeated else []
    if left_out:
        evidence.append(f"{left_out} results use fewer launches, because the disturbed launches were left out.")
    if unsettled:
        verb = "is" if unsettled == 1 else "are"
        evidence.append(f"{unsettled} of them {verb} UNSETTLED: the measurements are too few or differ too much.")
    return Finding(
        "disturbed",
        "good",
        f"None of the {cases.count_measured(evaluation.results)} was disturbed."
        if len(measured) > 1
        else f"The only result{' that was measured' if len(evaluation.results) > 1 else ''} was not disturbed.",
        (
            *evidence,
            "Steelyard checked competing load, steal, throttling, page faults, interrupts, the true clock, and the pace "
            "of the cores and the memory.",
        ),
        "The figures use only samples beside which no disturbance was detected.",
        "",
        reach="figures",
    )


def _list_examples(disturbed: list[Result]) -> list[str]:
    """Returns the first case of each kind with its evidence."""
    first: dict[str, Result] = {}
    for result in disturbed:
        first.setdefault(disturbances.name(result), result)
    return [
        f"{r.benchmark} {cases.describe(r)}: {sentence(r.verdict.evidence[0])}"
        for kind, r in list(first.items())[:NAMED]
        if kind
    ]


def _list_disturbed_launches(evaluation: Evaluation) -> list[str]:
    """Returns the launches with the greatest share of disturbed cases, counted by the last attempts."""
    last = {(r.launch, r.case): r for r in sorted(evaluation.run.records, key=lambda r: r.attempt)}
    all_, bad = (Counter(k[0] for k in last), Counter(k[0] for k, r in last.items() if r.verdict.level == "DISTURBED"))
    worst = sorted(bad, key=lambda number: (-bad[number] / all_[number], number))[:NAMED]
    words = ", ".join(f"launch {n}: {bad[n]} of {all_[n]} cases" for n in worst)
    return [f"The launches with the greatest share of disturbed cases: {words}."] if words else []


def _list_most_disturbed(measured: list[Result]) -> list[str]:
    """Returns the benchmarks with the greatest share of disturbed results."""
    all_ = Counter(r.benchmark for r in measured)
    bad = Counter(r.benchmark for r in measured if r.verdict.level == "DISTURBED")
    worst = sorted(bad, key=lambda name: (-bad[name] / all_[name], name))
    more = f", and {len(worst) - NAMED} more benchmarks" if len(worst) > NAMED else ""
    return ["By benchmark: " + ", ".join(f"{name} {bad[name]} of {all_[name]}" for name in worst[:NAMED]) + f"{more}."]
