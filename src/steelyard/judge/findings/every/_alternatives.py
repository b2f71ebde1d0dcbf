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

    @property
    def factor(self) -> float:
        """Returns by which factor the times differ, 1 or more."""
        return max(self.comparison.ratio, 1 / self.comparison.ratio)


def compare_values(
    usable: Sequence[Result], parameter: str, a: str, b: str, smallest: float, samples: Callable[[Result], list[Array]]
) -> list[Pair]:
    """Returns the cases that both values of the parameter have. `smallest` and `samples`: see `Question`."""
    matched = cases.pair(usable, parameter, a, b)
    compared = compare_all([(samples(x), samples(y)) for x, y in matched], smallest) if matched else ()
    return [Pair(*pair, comparison) for pair, comparison in zip(matched, compared, strict=True)]


def find_alternatives(
    evaluation: Evaluation, usable: Sequence[Result], pairs: Iterable[tuple[str, str]], question: Question
) -> list[Finding]:
    """Returns one finding for each pair of values that have a case in common."""
    findings = []
    for a, b in pairs:
        if made := compare_values(usable, question.parameter, a, b, question.smallest, question.samples):
            findings.append(_make_finding(evaluation, question.called(a), question.called(b), made, question))
    return findings


def list_value_pairs(usable: Iterable[Result], parameter: str) -> list[tuple[str, str]]:
    """Returns each pair of values of the parameter, in the order of the results."""
    values = dict.fromkeys(str(r.parameters[parameter]) for r in usable if parameter in r.parameters)
    return list(combinations(values, 2))


def _make_finding(evaluation: Evaluation, a: str, b: str, pairs: Sequence[Pair], question: Question) -> Finding:
    kernels: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        kernels.setdefault((pair.first.benchmark, pair.first.kernel), []).append(pair)
    calls = [pair.comparison.call for pair in pairs]
    slower, faster = calls.count("SLOWER"), calls.count("FASTER")
    different = slower + faster
    claim = f"{b} is faster than {a} in {faster} of {len(calls)} cases and slower in {slower}."
    if alike := len(calls) - different:
        claim += f" In the other {alike}, no difference above {percent(question.smallest)} is certain."
    ordered = sorted(kernels.items(), key=lambda item: -max(p.factor for p in item[1]))[:NAMED]
    lines = tuple(_describe_kernel(name, members, b, a) for name, members in ordered)
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
        effect=max(p.factor for p in pairs) if different else None,
        reach="program",
    )


def _describe_kernel(name: tuple[str, str], pairs: Sequence[Pair], b: str, a: str) -> str:
    ratios = [p.comparison.ratio for p in pairs]
    most = max(pairs, key=lambda p: p.factor)
    text = f"{name[0]} {name[1]}: {b} takes {geometric_mean(ratios):.3f} times the time of {a}"
    if len(ratios) > 1:
        text += f" (geometric mean of {len(ratios)} cases, {min(ratios):.3f} to {max(ratios):.3f})"
    call = most.comparison.call
    furthest = (
        f"; largest difference: {cases.describe(most.first, but=('elements',))}, {call}" if call != "SAME" else ""
    )
    return f"{text}{furthest}.{cases.caution(*most[:2])}"
