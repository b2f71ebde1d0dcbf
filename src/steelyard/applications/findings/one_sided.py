"""Rule: compares one-sided communication (MPI or OpenSHMEM) with messages in programs that have both"""

from typing import NamedTuple

from steelyard.applications.benchmarks.application.npb import results as npb
from steelyard.findings.open_questions import UNCERTAIN, measure_again, undecided
from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.difference.compare import Comparison, compare_all
from steelyard.statistics.results import applications, cases, messages
from steelyard.units import percent
from steelyard.words import find_words

SMALLEST = 0.05  # two launches of a program differ by some percent, since the placement of ranks and buffers differs
ONE_SIDED = ("rma", "shmem")
NAMED = 12


class Pair(NamedTuple):
    """The same class on the same number of ranks: the one-sided program and the program with messages."""

    sided: Result
    sent: Result
    comparison: Comparison


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all programs, without oversubscribed results and without runs that are too short."""
    timed = [r for r in npb.of(evaluation.results) if applications.timed(r)]
    usable = [r for r in timed if applications.workers(r) > 1 and not messages.oversubscribed(r)]
    matched = [(sent, sided) for model in ONE_SIDED for sent, sided in cases.pairs(usable, "model", "mpi", model)]
    if not matched:
        return []
    comparisons = compare_all([(messages.seconds(sent), messages.seconds(sided)) for sent, sided in matched], SMALLEST)
    pairs = [Pair(sided, sent, comparison) for (sent, sided), comparison in zip(matched, comparisons, strict=True)]
    models = [m for m in ONE_SIDED if any(applications.model(p.sided) == m for p in pairs)]
    calls = [p.comparison.call for p in pairs]
    different, clear = "FASTER" in calls or "SLOWER" in calls, "UNCLEAR" not in calls
    furthest = sorted(pairs, key=lambda p: -max(p.comparison.ratio, 1 / p.comparison.ratio))[:NAMED]
    lines = tuple(_line(p) for p in furthest)
    if not different and not clear:
        level = cases.doubt(*(result for p in pairs for result in (p.sided, p.sent)))
        again = measure_again(evaluation, level, *dict.fromkeys(p.sided.benchmark for p in pairs))
        names = " or ".join(find_words("model", model) or model for model in models)
        question = f"Steelyard cannot decide whether {names} is faster than MPI messages."
        return [undecided("one_sided", question, lines, UNCERTAIN, again)]
    return [
        Finding(
            "one_sided",
            "notice" if different else "good",
            " ".join(_claim(m, [p for p in pairs if applications.model(p.sided) == m]) for m in models),
            lines,
            _cause(different),
            "Use the faster variant for such exchanges. The difference is valid for this MPI and this transport only."
            if different
            else "",
            effect=max(max(p.comparison.ratio, 1 / p.comparison.ratio) for p in pairs) if different else None,
            reach="program",
        )
    ]


def _cause(different: bool) -> str:
    if different:
        return (
            "Writing into the memory of another rank needs no matching of messages, but each exchange needs a separate "
            "synchronisation. Many MPIs implement one of them with the other."
        )
    return "The programs mostly compute, or both variants copy the data in the same way."


def _claim(model: str, pairs: list[Pair]) -> str:
    """Returns for example 'OpenSHMEM is up to 1.12 (1.08 to 1.16) times as fast as MPI messages.'"""
    name, calls = find_words("model", model) or model, [p.comparison.call for p in pairs]
    faster, slower = calls.count("FASTER"), calls.count("SLOWER")
    best = min(pairs, key=lambda p: p.comparison.ratio)
    worst = max(pairs, key=lambda p: p.comparison.ratio)
    rest = f"in {max(faster, slower)} of {len(pairs)} cases" if len(pairs) > 1 else "in the only case"
    if faster and slower:
        return f"{name} is faster than MPI messages in {faster} of {len(pairs)} cases and slower in {slower}.{_care(pairs)}"
    if faster:
        return f"{name} is up to {_speed(best)} times as fast as MPI messages. It is certainly faster {rest}.{_care(pairs)}"
    if slower:
        return f"{name} is only {_speed(worst)} times as fast as MPI messages. It is certainly slower {rest}.{_care(pairs)}"
    if "UNCLEAR" in calls:
        return f"The intervals are too wide to compare {name} with MPI messages.{_care(pairs)}"
    where = f" in any of {len(pairs)} cases" if len(pairs) > 1 else ""
    return f"{name} and MPI messages do not differ by more than {percent(SMALLEST)}{where}.{_care(pairs)}"


def _care(pairs: list[Pair]) -> str:
    return cases.caution(*(r for p in pairs for r in (p.sided, p.sent)))


def _speed(pair: Pair) -> str:
    comparison = pair.comparison
    return f"{1 / comparison.ratio:.2f} ({1 / comparison.high:.2f} to {1 / comparison.low:.2f})"


def _line(pair: Pair) -> str:
    call = {"FASTER": "faster", "SLOWER": "slower", "SAME": "no difference"}.get(pair.comparison.call, "not decided")
    named = applications.describe_parameters(pair.sided)
    return f"{pair.sided.benchmark} ({named}): {_speed(pair)} times as fast as with MPI messages ({call})."
