"""Spread of latency and bandwidth over the partners of rank 0."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from steelyard.model import Result
from steelyard.statistics.results import cases
from steelyard.statistics.results.identity import Identity, identity

LEAST = 2  # partners that are needed for a spread
LARGE = 1 << 20  # bytes of the messages whose bandwidth is compared


@dataclass(frozen=True)
class Spread:
    """`share` is (greatest − least) / median over the partners: 0.07 is 7 %. `results` are in the order of the partners."""

    metric: str
    share: float
    results: tuple[Result, ...]

    @property
    def ends(self) -> tuple[Result, Result]:
        """Returns the results with the least and the greatest value."""
        ordered = sorted(self.results, key=lambda r: r.metrics[self.metric].value)
        return ordered[0], ordered[-1]


def spread(results: Sequence[Result], metric: str) -> Spread | None:
    """Returns the spread over results that differ only in the partner; None for fewer than two partners."""
    usable = [r for r in results if metric in r.metrics and r.verdict.level != "INVALID"]
    usable = [r for r in usable if 0 < r.metrics[metric].value < math.inf and cases.number(r, "partner") is not None]
    usable.sort(key=lambda r: cases.number(r, "partner") or 0.0)
    values = [r.metrics[metric].value for r in usable]
    if len(values) < LEAST:
        return None
    return Spread(metric, (max(values) - min(values)) / median(values), tuple(usable))


def spreads(results: Iterable[Result]) -> list[Spread]:
    """Returns the spreads of the latency of empty messages and of the bandwidth of large ones, by transport, MPI and compiler."""
    groups: dict[Identity, list[Result]] = {}
    for r in results:
        if "partner" in r.parameters and r.parameters.get("message_bytes") in (0, LARGE):
            groups.setdefault(identity(r, "partner"), []).append(r)
    metric = {True: "bandwidth", False: "latency"}
    candidates = (
        spread(members, metric[members[0].parameters["message_bytes"] == LARGE]) for members in groups.values()
    )
    return [one for one in candidates if one]
