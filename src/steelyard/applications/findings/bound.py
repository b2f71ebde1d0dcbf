"""Rule: finds programs that the memory or communication limits."""

from typing import NamedTuple

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.caches import MEMORY, level_of
from steelyard.model.units import percent, quantity
from steelyard.model.words import find_words, in_words
from steelyard.statistics.difference.compare import Comparison, compare
from steelyard.statistics.results import applications, cases, messages
from steelyard.statistics.results.roofs import bandwidths, working_set

NEAR = 0.6  # share of the Triad bandwidth with the same number of threads, as in the rule on roofs
BEYOND = 1.1  # times the Triad bandwidth: at such a rate, a large part of the bytes comes from caches
SLOWER = 1.1  # times the time of threads: ranks divide the work differently, which may cost some percent
NAMED = 12


class Near(NamedTuple):
    """A program that moves `rate` B/s to and from memory, and its share of the Triad bandwidth."""

    result: Result
    rate: float
    share: float


class Costly(NamedTuple):
    """Ranks and the same number of threads on one node, with the ratio of their times."""

    result: Result
    threads: Result
    comparison: Comparison


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all programs that the memory or communication limits."""
    timed = [r for r in applications.select_programs(evaluation.results) if applications.timed(r)]
    usable = [r for r in timed if not messages.oversubscribed(r)]
    near = [n for r in usable if (n := _find_memory_bound(r, evaluation)) is not None]
    costly = [c for r in usable if (c := _find_communication_bound(r, usable)) is not None]
    if not near and not costly:
        return []
    near.sort(key=lambda n: -n.share)
    costly.sort(key=lambda c: -c.comparison.ratio)
    said_so = [_claim_memory(near)] if near else []
    said_so += [_claim_messages(costly)] if costly else []
    caution = cases.caution(*(n.result for n in near), *(r for c in costly for r in (c.result, c.threads)))
    return [
        Finding(
            "bound",
            "notice" if costly else "good",
            f"{' '.join(said_so)}{caution}",
            (*(_describe_near(n) for n in near[:NAMED]), *(_describe_costly(c) for c in costly[:NAMED])),
            _explain_cause(near, costly),
            advise(
                "Use more ranks only if each has enough work. Use threads within a node if the program supports them. Check that "
                "the messages use the fast transport: ",
                "run --only network",
            )
            if costly
            else "",
            effect=costly[0].comparison.ratio if costly else None,
            reach="program",
        )
    ]


def _find_memory_bound(result: Result, evaluation: Evaluation) -> Near | None:
    """Returns None unless the rate of its bytes is near the Triad bandwidth with the same number of threads."""
    seconds, record = applications.seconds(result), result.attempts[0]
    moved = record.work.get("bytes_moved") or record.work.get("bytes")
    if not seconds or not moved or messages.is_apart(result):
        return None
    threads, size = applications.workers(result), working_set(result)
    roof = _find_bandwidth(evaluation, threads)
    if roof is None or (size and level_of(size, threads, evaluation.run.machine) != MEMORY):
        return None
    near = Near(result, moved / seconds, moved / seconds / roof)
    return near if NEAR <= near.share <= BEYOND else None


def _find_bandwidth(evaluation: Evaluation, threads: int) -> float | None:
    """Returns the Triad bandwidth with this number of threads; None if it was not measured, or is 0."""
    roofs = bandwidths(evaluation, threads)
    return next((roof.value for roof in roofs if roof.name == MEMORY and roof.value > 0), None)


def _find_communication_bound(result: Result, among: list[Result]) -> Costly | None:
    """Returns None unless it certainly takes longer than the same number of threads on one node for the same problem."""
    if not applications.is_parallel(result) or messages.is_apart(result) or applications.workers(result) < 2:
        return None
    for other in among:
        alike = (other.benchmark, other.kernel) == (result.benchmark, result.kernel) and not applications.is_parallel(
            other
        )
        alike = alike and applications.workers(other) == applications.workers(result)
        if alike and applications.problem(other) == applications.problem(result):
            comparison = compare(messages.seconds(other), messages.seconds(result))
            if comparison.low > 1 and comparison.ratio > SLOWER and comparison.call == "SLOWER":
                return Costly(result, other, comparison)
    return None


def _join_names(results: list[Result]) -> str:
    return ", ".join(dict.fromkeys(r.benchmark for r in results))


def _claim_memory(near: list[Near]) -> str:
    most = near[0]
    verb = "are" if len({n.result.benchmark for n in near}) > 1 else "is"
    return (
        f"{_join_names([n.result for n in near])} {verb} memory-bound. {most.result.benchmark} "
        f"({applications.describe_parameters(most.result)}) uses {percent(most.share)} of the Triad bandwidth."
    )


def _claim_messages(costly: list[Costly]) -> str:
    worst = costly[0]
    return (
        f"Communication takes a large part of the time of {_join_names([c.result for c in costly])}. {worst.result.benchmark} "
        f"({applications.describe_parameters(worst.result)}) takes {_format_ratio(worst)} times as long with "
        f"{in_words('ranks', worst.result.parameters['ranks'])} as with {_count_threads(worst)}."
    )


def _count_threads(costly: Costly) -> str:
    return in_words("threads", applications.workers(costly.threads))


def _format_ratio(costly: Costly) -> str:
    return f"{costly.comparison.ratio:.2f} ({costly.comparison.low:.2f} to {costly.comparison.high:.2f})"


def _describe_near(near: Near) -> str:
    return (
        f"{near.result.benchmark} ({applications.describe_parameters(near.result)}) moves "
        f"{quantity(near.rate, 'B/s')}, {percent(near.share)} "
        "of the Triad bandwidth with the same number of threads."
    )


def _describe_costly(costly: Costly) -> str:
    result, share = costly.result, 1 - 1 / costly.comparison.ratio
    named, model = applications.describe_parameters(result, ("model",)), find_words("model", applications.model(result))
    return (
        f"{result.benchmark} ({named}): {model} takes {_format_ratio(costly)} times as long as {_count_threads(costly)}. "
        f"Up to {percent(share)} of its time is communication."
    )


def _explain_cause(near: list[Near], costly: list[Costly]) -> str:
    parts = []
    if near:
        parts.append(
            "The algorithm must move these bytes, and the memory bandwidth limits their rate: a faster core changes nothing."
        )
    if costly:
        parts.append(
            "Ranks send data that threads read from shared memory, and they wait for each other. If the program divides its work "
            "differently for ranks, this is part of the difference."
        )
    return " ".join(parts)
