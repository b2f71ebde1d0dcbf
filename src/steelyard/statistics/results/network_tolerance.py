"""Tolerance of the network: the rate of all pairs as more pairs exchange messages at once (bisection, message rate).

A node tolerates the network's latency where n pairs get n times what one pair gets: the messages of one are under way while those
of the others are, too. NICEVT (2008) judged two InfiniBand networks so, by the bisection bandwidth against the number of pairs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.model import Result
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.cost import ratio


@dataclass(frozen=True, kw_only=True)
class PairTolerance:
    """`ratio` (`low` … `high`) is the rate of `pairs` pairs over that of one, `efficiency` is `ratio` / `pairs`."""

    size: int
    pairs: int
    ratio: float
    low: float
    high: float
    efficiency: float
    one: Result
    many: Result


def tolerances(results: Iterable[Result]) -> list[list[PairTolerance]]:
    """Returns the tolerance of each size, kind of ranks, transport and MPI for two or more pairs, ordered by size.

    The results are of one kernel; oversubscribed ones are left out.
    """
    usable = [r for r in cases.keep_usable(results) if not messages.oversubscribed(r)]
    usable = [r for r in usable if r.parameters.get("matching", "halves") == "halves"]
    curves = []
    for group in cases.group(usable, "pairs"):
        if cases.number(group[0], "pairs") == 1 and (curve := _make_curve(group)):
            curves.append(curve)
    return sorted(curves, key=lambda rows: rows[0].size)


def _make_curve(group: Sequence[Result]) -> list[PairTolerance]:
    one, curve = group[0], []
    for many in group[1:]:
        gain, pairs = ratio(one, many), int(cases.number(many, "pairs") or 0)
        if gain and pairs > 1:
            curve.append(
                PairTolerance(
                    size=messages.size(one),
                    pairs=pairs,
                    ratio=gain.value,
                    low=gain.low,
                    high=gain.high,
                    efficiency=gain.value / pairs,
                    one=one,
                    many=many,
                )
            )
    return curve
