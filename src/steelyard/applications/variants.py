"""The finding on two variants of the same programs, such as two kinds of threads: one is faster, they are alike, or undecided."""

from collections.abc import Callable, Sequence

from steelyard.judge.findings.open_questions import UNCERTAIN, measure_again, undecided
from steelyard.model import Evaluation, Finding, Remedy
from steelyard.statistics.results import cases
from steelyard.statistics.results.alternatives import Rivals

NAMED = 12
CALLS = {"FASTER": "faster", "SLOWER": "slower", "SAME": "no difference"}


def call_of(pair: Rivals) -> str:
    """Returns the call of a comparison in words."""
    return CALLS.get(pair.comparison.call, "not decided")


def warn_of_doubt(rivals: Sequence[Rivals]) -> str:
    """Returns a sentence on results that other programs disturbed; "" if there is none."""
    return cases.caution(*(result for r in rivals for result in (r.first, r.second)))


def compare_variants(
    name: str,
    evaluation: Evaluation,
    rivals: Sequence[Rivals],
    describe: Callable[[Rivals], str],
    *,
    question: str,
    claim: str,
    different: tuple[str, str | Remedy],
    alike: str,
) -> list[Finding]:
    """Returns the finding `name`: an open question, or the claim with its cause. `different`: the cause and the remedy."""
    decided = [r for r in rivals if r.comparison.call in ("FASTER", "SLOWER")]
    lines = tuple(describe(r) for r in sorted(rivals, key=lambda r: -r.effect)[:NAMED])
    if not decided and any(r.comparison.call == "UNCLEAR" for r in rivals):
        level = cases.doubt(*(result for r in rivals for result in (r.first, r.second)))
        again = measure_again(evaluation, level, *dict.fromkeys(r.second.benchmark for r in rivals))
        return [undecided(name, question, lines, UNCERTAIN, again)]
    if not decided:
        return [Finding(name, "good", claim, lines, alike, "", reach="program")]
    effect = max(r.effect for r in decided)
    return [Finding(name, "notice", claim, lines, *different, effect=effect, reach="program")]
