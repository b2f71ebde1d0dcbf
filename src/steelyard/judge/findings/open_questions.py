"""Questions that a rule cannot answer on a run: the reason, and the run that would answer them."""

from collections.abc import Sequence

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Level, Remedy

MANY = 3  # benchmarks in a command: for more, their groups are named
UNCERTAIN = "The intervals are too wide."
NO_LIMIT = "A limit of the machine is unknown."
_REASONS: dict[Level, str] = {"UNSETTLED": "The values are too uncertain.", "DISTURBED": "The values were disturbed."}
_NEXT = {"quick": "standard"}  # the preset with more launches and more time


def undecided(
    rule: str, question: str, evidence: Sequence[str], reason: str, remedy: str | Remedy, benchmark: str = ""
) -> Finding:
    """Returns a finding that only states why the question has no answer."""
    return Finding(rule, "undecided", question, tuple(evidence), reason, remedy, benchmark)


def name_doubt(level: Level) -> str:
    """Returns the reason why values of this level do not answer a question; "" if they do."""
    return _REASONS.get(level, "")


def measure_again(evaluation: Evaluation, level: Level, *benchmarks: str) -> Remedy:
    """Returns advice for unreliable values: undisturbed samples, or more launches and time for these benchmarks."""
    names = [*dict.fromkeys(filter(None, benchmarks))]
    if len(names) > MANY:
        names = [*dict.fromkeys(name.partition(".")[0] for name in names)]
    only = "".join(f" --only {name}" for name in names)
    if level == "DISTURBED":
        return advise("Measure again on a quiet machine: ", f"run{only}")
    preset = _NEXT.get(evaluation.run.plan.preset, "full")
    return advise("Use more launches and more time: ", f"run --preset {preset}{only}")
