"""The number of nodes of one machine that need the same time as some nodes of another, for the same application problem."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from steelyard.model import Evaluation, Level, Result, Value
from steelyard.statistics.results import applications, cases, messages
from steelyard.statistics.results.identity import Identity
from steelyard.statistics.validity import trust
from steelyard.units import quantity, significant
from steelyard.words import plural

Side = Literal["a", "b"]
TIME = "time"
# These parameters may differ between the machines if the problem is the same.
OWN = ("toolchain", "wait_policy")

Nodes = Mapping[int, Result]  # number of nodes → fastest result, whatever its ranks and threads


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """`nodes` nodes of `side` need as long as `others` nodes of the other run, which need `time`.

    `nodes` is interpolated between two measured counts, linearly in both logarithms. `low` and `high` follow from the intervals
    of all three times; None means that the end lies outside the measured counts. If `nodes` is None, even `most` nodes, the
    greatest count of that side, need `longer` times as long.
    """

    program: str  # the benchmark, with its kernel where it has several
    case: str
    side: Side
    others: int
    time: Value
    nodes: float | None
    low: float | None
    high: float | None
    most: int
    longer: float | None
    level: Level


def find_replacements(a: Evaluation, b: Evaluation) -> tuple[Replacement, ...]:
    """Returns the replacements for each problem that both runs solved, one of them on several numbers of nodes.

    Nothing is stated if fewer nodes than were measured would be enough.
    """
    problems_a, problems_b = _problems(a), _problems(b)
    replaced: list[Replacement] = []
    for problem in (p for p in problems_a if p in problems_b):
        replaced += _of_problem("a", problems_a[problem], problems_b[problem])
        replaced += _of_problem("b", problems_b[problem], problems_a[problem])
    return tuple(replaced)


def write_sentence(replaced: Replacement) -> str:
    """Returns '3.4 (3.0 to 3.9) nodes of a replace one of b in application.npb_cg (class B): 1.20 s.'"""
    other: Side = "b" if replaced.side == "a" else "a"
    what = f"{replaced.program}{f' ({replaced.case})' if replaced.case else ''}"
    ones = f"one of {other}" if replaced.others == 1 else f"{replaced.others} of {other}"
    time = quantity(replaced.time.value, replaced.time.unit)
    caution = trust.caution(replaced.level)
    if replaced.nodes is None:
        assert replaced.longer
        most = f"{plural(replaced.most, 'node')} of {replaced.side}, the most measured, do not replace {ones}"
        return f"{most} in {what}: they take {replaced.longer:.2f} times the {time}.{caution}"
    span = ""
    if replaced.low is not None or replaced.high is not None:
        low, high = (significant(end, 2) if end else "…" for end in (replaced.low, replaced.high))
        span = f" ({low} to {high})"
    return f"{significant(replaced.nodes, 2)}{span} nodes of {replaced.side} replace {ones} in {what}: {time}.{caution}"


def _problems(evaluation: Evaluation) -> dict[Identity, Nodes]:
    """Returns the problems of the applications, each with its fastest result for each number of nodes."""
    problems: dict[Identity, dict[int, Result]] = {}
    for result in applications.select_programs(evaluation.results):
        nodes = _nodes(result) if _usable(result) else None
        if nodes is None:
            continue
        of_problem = problems.setdefault(applications.problem(result, *OWN), {})
        if nodes not in of_problem or _time(result).value < _time(of_problem[nodes]).value:
            of_problem[nodes] = result
    return {problem: dict(sorted(by_nodes.items())) for problem, by_nodes in problems.items()}


def _usable(result: Result) -> bool:
    time = result.metrics.get(TIME)
    stated = time is not None and math.isfinite(time.value) and time.value > 0
    return stated and applications.timed(result) and not messages.oversubscribed(result)


def _nodes(result: Result) -> int | None:
    """Returns 1 for threads, and None for ranks whose hosts share a machine or are unknown."""
    if not applications.parallel(result):
        return 1
    if messages.apart(result) and not messages.over_a_network(result):
        return None
    return len(set(messages.hosts_of(result.records))) or None


def _time(result: Result) -> Value:
    return result.metrics[TIME]


def _of_problem(side: Side, many: Nodes, few: Nodes) -> Iterator[Replacement]:
    if len(many) < 2:
        return
    for count, one in few.items():
        time = _time(one)
        if time.value > _time(many[min(many)]).value:
            continue  # fewer than measured would be enough
        nodes, most = _crossing([(n, _time(r).value) for n, r in many.items()], time.value), max(many)
        if (most if nodes is None else nodes) < count:
            continue  # the nodes of the other side are slower, so the other direction states the replacement
        level = cases.doubt(one, *many.values())
        longer = None if nodes is not None else min(_time(r).value for r in many.values()) / time.value
        low, high = _ends(many, time) if nodes is not None else (None, None)
        case = applications.describe_parameters(one, (*applications.WHO, *OWN))
        program = applications.program(one)
        yield Replacement(
            program=program,
            case=case,
            side=side,
            others=count,
            time=time,
            nodes=nodes,
            low=low,
            high=high,
            most=most,
            longer=longer,
            level=level,
        )


def _ends(many: Nodes, time: Value) -> tuple[float | None, float | None]:
    """Returns the fewest and the most nodes that the intervals of the times allow."""
    times = [(n, _time(r)) for n, r in many.items()]
    low = high = None
    if time.high is not None:
        low = _crossing([(n, t.low) for n, t in times if t.low], time.high)
    if time.low:
        high = _crossing([(n, t.high) for n, t in times if t.high is not None], time.low)
    return low, high


def _crossing(points: Sequence[tuple[int, float]], time: float) -> float | None:
    """Returns the count at which the line through the points first falls to that time, or None."""
    for (n, above), (m, below) in pairwise(points):
        if above >= time >= below:
            share = math.log(above / time) / math.log(above / below) if above > below else 0.0
            return float(n * (m / n) ** share)
    return None
