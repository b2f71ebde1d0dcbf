"""Compares the cases of a run in pairs that differ in one parameter only: its compilers, or its variants."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import geometric_mean
from typing import NamedTuple

from steelyard.judge.findings.open_questions import UNCERTAIN, measure_again, undecided
from steelyard.model import Evaluation, Finding, Remedy, Result
from steelyard.model.units import percent
from steelyard.statistics.difference.compare import Comparison, compare_all
from steelyard.statistics.results import cases
from steelyard.statistics.samples.interval import Array

NAMED = 12  # kernels that are listed


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question on the values of a parameter. `smallest` is the difference that counts; `samples` are the times of a result.

    `open` is the question without an answer, with the two values {a} and {b}. `causes` and `remedies` are for different and for
    equal times. `called` returns the words for a value.
    """

    rule: str
    parameter: str
    smallest: float
    samples: Callable[[Result], list[Array]]
    open: str
    causes: tuple[str, str]
    remedies: tuple[str | Remedy, str]
    called: Callable[[str], str] = str


class Pair(NamedTuple):
    """The same case with two values of the parameter, and the time of the second over that of the first."""

    first: Result
    second: Result
    comparison: Comparison


def find_alternatives(
    evaluation: Evaluation, usable: Sequence[Result], pairs: Iterable[tuple[str, str]], question: Question
) -> list[Finding]:
    """Returns one finding for each pair of values that have a case in common."""
    findings = []
    for a, b in pairs:
        matched = cases.pairs(usable, question.parameter, a, b)
        if matched:
            samples = [(question.samples(x), question.samples(y)) for x, y in matched]
            compared = compare_all(samples, question.smallest)
            made = [Pair(*pair, comparison) for pair, comparison in zip(matched, compared, strict=True)]
            findings.append(_finding(evaluation, question.called(a), question.called(b), made, question))
    return findings


def every_two(usable: Iterable[Result], parameter: str) -> list[tuple[str, str]]:
    """Returns each pair of values of the parameter, in the order of the results."""
    values = dict.fromkeys(str(r.parameters[parameter]) for r in usable if parameter in r.parameters)
    return list(combinations(values, 2))


def _finding(evaluation: Evaluation, a: str, b: str, pairs: Sequence[Pair], question: Question) -> Finding:
    kernels: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        kernels.setdefault((pair.first.benchmark, pair.first.kernel), []).append(pair)
    calls = [pair.comparison.call for pair in pairs]
    slower, faster = calls.count("SLOWER"), calls.count("FASTER")
    different = slower + faster
    claim = f"{b} is faster than {a} in {faster} of {len(calls)} cases and slower in {slower}."
    if alike := len(calls) - different:
        claim += f" In the other {alike}, no difference above {percent(question.smallest)} is certain."
    ordered = sorted(kernels.items(), key=lambda item: -_find_furthest_ratio(item[1]))[:NAMED]
    lines = tuple(_line(name, members, b, a) for name, members in ordered)
    if not different and 2 * calls.count("UNCLEAR") > len(calls):
        level = cases.doubt(*(result for pair in pairs for result in pair[:2]))
        again = measure_again(evaluation, level, *dict.fromkeys(name for name, _ in kernels))
        return undecided(question.rule, question.open.format(a=a, b=b), lines, UNCERTAIN, again)
    return Finding(
        question.rule,
        "notice" if different else "good",
        claim,
        lines,
        question.causes[not different],
        question.remedies[not different],
        effect=_find_furthest_ratio(pairs) if different else None,
        reach="program",
    )


def _find_furthest_ratio(pairs: Iterable[Pair]) -> float:
    return max(max(p.comparison.ratio, 1 / p.comparison.ratio) for p in pairs)


def _line(name: tuple[str, str], pairs: Sequence[Pair], b: str, a: str) -> str:
    ratios = [p.comparison.ratio for p in pairs]
    most = max(pairs, key=lambda p: max(p.comparison.ratio, 1 / p.comparison.ratio))
    text = f"{name[0]} {name[1]}: {b} takes {geometric_mean(ratios):.3f} times the time of {a}"
    if len(ratios) > 1:
        text += f" (geometric mean of {len(ratios)} cases, {min(ratios):.3f} to {max(ratios):.3f})"
    call = most.comparison.call
    furthest = (
        f"; largest difference: {cases.describe(most.first, but=('elements',))}, {call}" if call != "SAME" else ""
    )
    return f"{text}{furthest}.{cases.caution(*most[:2])}"
