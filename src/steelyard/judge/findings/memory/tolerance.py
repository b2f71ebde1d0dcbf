"""Rule: checks whether threads hide the latency of memory: the cost of an operation with n threads and with one."""

from steelyard.judge.findings.open_questions import UNCERTAIN, measure_again, name_doubt, undecided
from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Remedy
from steelyard.model.roles import TolerancePoint
from steelyard.model.units import percent
from steelyard.statistics.results.network_tolerance import PairTolerance
from steelyard.statistics.results.tolerance import Tolerance, list_points, tolerance
from steelyard.statistics.validity import trust

# Tolerant: n threads reduce the cost below 1.5/n of the cost with one. Little tolerant: a speed-up below 1.25.
TOLERANT, POOR = 1 / 1.5, 1.25
HIDES = {
    "tolerant": "Threads hide",
    "partly tolerant": "Threads hide only a part of",
    "little tolerant": "Threads hardly hide",
}
TOO_WIDE = 1.5  # greatest over least speed-up of the interval: a wider one contains two verdicts


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns a finding for each point that was measured with one thread and with more; the most threads decide."""
    usual = ((point.role, [t for t in tolerance(point) if t.usual]) for point in list_points(evaluation))
    return [_make_finding(evaluation, role, tolerances) for role, tolerances in usual if tolerances]


def _make_finding(evaluation: Evaluation, role: TolerancePoint, tolerances: list[Tolerance]) -> Finding:
    most = max(tolerances, key=lambda t: t.threads)
    judged = judge(most)
    caution = trust.caution(most.level)
    lines = tuple(
        f"{t.label}, {t.threads} threads: speed-up {t.ratio:.2f} ({t.low:.2f} to {t.high:.2f}), "
        f"efficiency {percent(t.efficiency)}."
        for t in sorted(tolerances, key=lambda t: t.threads)
    )
    if not judged:
        question = f"Steelyard cannot decide whether threads hide the latency of {role.title}. "
        question += f"The speed-up with {most.threads} threads is between {most.low:.2f} and {most.high:.2f}."
        again = measure_again(evaluation, most.level, most.benchmark)
        return undecided("tolerance", question, lines, name_doubt(most.level) or UNCERTAIN, again, most.benchmark)
    claim = f"{HIDES[judged]} the latency of {role.title}: {most.threads} threads are {most.ratio:.2f} times as fast as one "
    claim += f"({percent(most.efficiency)} of the ideal).{caution}"
    if judged == "tolerant":
        if caution:
            again = measure_again(evaluation, most.level, most.benchmark)
            return undecided("tolerance", claim, lines, name_doubt(most.level), again, most.benchmark)
        cause = "Each thread has the resources that it needs, and the threads wait for the memory at the same time."
        return Finding("tolerance", "good", claim, lines, cause, "", most.benchmark)
    return Finding(
        "tolerance", "notice", claim, lines, role.shared, _advise(role, most), most.benchmark, 1 / most.efficiency,
        brief=f"{most.threads} threads are only {most.ratio:.2f} times as fast as one in {role.title}.",
    )  # fmt: skip


def judge(one: Tolerance | PairTolerance) -> str:
    """Returns the verdict on threads or pairs in a word; '' if the interval is too wide."""
    if one.high > TOO_WIDE * one.low:
        return ""
    if one.efficiency >= TOLERANT:
        return "tolerant"
    return "partly tolerant" if one.ratio >= POOR else "little tolerant"


def _advise(role: TolerancePoint, most: Tolerance) -> str | Remedy:
    if role.remedy:
        text, command = (part.format(threads=most.threads) for part in (role.remedy, role.command))
        return advise(text, command) if command else text
    again = f"run --preset standard --only {most.benchmark}"
    return advise("Find the number of threads from which the cost no longer falls: ", again)
