"""How many nodes of one run's machine take the time that some of the other's take, for the same problem of an application."""

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
# Who computes is each machine's own matter, as long as it is the same problem.
OWN = ("toolchain", "wait_policy")

Nodes = Mapping[int, Result]  # by their count the fastest result, however it loads them


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """`nodes` of `side` take as long as `others` of the other run, which take `time`.

    `nodes` lies between two measured counts, on the straight line of both logarithms; `low` … `high` follow from the intervals of
    all three times (None: that end lies beyond what was measured). None: even `most` nodes, the most of that side, take `longer`
    times as long.
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


def replacements(a: Evaluation, b: Evaluation) -> tuple[Replacement, ...]:
    """For each problem that both solved, one of them on several numbers of nodes.

    Nothing is stated where fewer nodes than were measured would be enough.
    """
    mine, theirs = _problems(a), _problems(b)
    found: list[Replacement] = []
    for problem in (p for p in mine if p in theirs):
        found += _of_problem("a", mine[problem], theirs[problem])
        found += _of_problem("b", theirs[problem], mine[problem])
    return tuple(found)


def sentence(found: Replacement) -> str:
    """'3.4 (3.0 to 3.9) nodes of a replace one of b in application.npb_cg (class B): 1.20 s.'"""
    other: Side = "b" if found.side == "a" else "a"
    what = f"{found.program}{f' ({found.case})' if found.case else ''}"
    ones = f"one of {other}" if found.others == 1 else f"{found.others} of {other}"
    time = quantity(found.time.value, found.time.unit)
    caution = trust.caution(found.level)
    if found.nodes is None:
        assert found.longer
        most = f"{plural(found.most, 'node')} of {found.side}, the most measured, do not replace {ones}"
        return f"{most} in {what}: they take {found.longer:.2f} times the {time}.{caution}"
    span = ""
    if found.low is not None or found.high is not None:
        low, high = (significant(end, 2) if end else "…" for end in (found.low, found.high))
        span = f" ({low} to {high})"
    return f"{significant(found.nodes, 2)}{span} nodes of {found.side} replace {ones} in {what}: {time}.{caution}"


def _problems(evaluation: Evaluation) -> dict[Identity, Nodes]:
    """The applications' problems, each with its fastest result on each number of nodes."""
    found: dict[Identity, dict[int, Result]] = {}
    for result in applications.of_all(evaluation.results):
        nodes = _nodes(result) if _usable(result) else None
        if nodes is None:
            continue
        of_problem = found.setdefault(applications.problem(result, *OWN), {})
        if nodes not in of_problem or _time(result).value < _time(of_problem[nodes]).value:
            of_problem[nodes] = result
    return {problem: dict(sorted(of.items())) for problem, of in found.items()}


def _usable(result: Result) -> bool:
    time = result.metrics.get(TIME)
    stated = time is not None and math.isfinite(time.value) and time.value > 0
    return stated and applications.timed(result) and not messages.oversubscribed(result)


def _nodes(result: Result) -> int | None:
    """One for threads; None of ranks whose hosts share a machine, or are not known."""
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
            continue  # the other side's nodes are the slower ones: the other direction says it
        level = cases.doubt(one, *many.values())
        longer = None if nodes is not None else min(_time(r).value for r in many.values()) / time.value
        low, high = _ends(many, time) if nodes is not None else (None, None)
        case = applications.named(one, (*applications.WHO, *OWN))
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
    """Fewer nodes if theirs are as fast and the other's time as long as may be, and more the other way round."""
    of = [(n, _time(r)) for n, r in many.items()]
    low = high = None
    if time.high is not None:
        low = _crossing([(n, t.low) for n, t in of if t.low], time.high)
    if time.low:
        high = _crossing([(n, t.high) for n, t in of if t.high is not None], time.low)
    return low, high


def _crossing(points: Sequence[tuple[int, float]], time: float) -> float | None:
    """Where the line through the points, in the order of their counts, first comes down to that time; None where it does not."""
    for (n, above), (m, below) in pairwise(points):
        if above >= time >= below:
            share = math.log(above / time) / math.log(above / below) if above > below else 0.0
            return float(n * (m / n) ** share)
    return None
