"""Steadiness of topologies: the variation of their throughput over the message sizes at which it is high."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, pstdev

from steelyard.model import Result
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity, identity

LEAST_RANKS = 4  # with two or three ranks, ring and chaos have the same channels
LEAST_SIZES = 3  # with fewer sizes, a variation means nothing
CLIMBED = 0.8  # share of the best throughput: below it, a topology still climbs and varies for that reason


@dataclass(frozen=True, kw_only=True)
class Steadiness:
    """`variation` is the coefficient of variation of a topology's throughput over the sizes `first` … `last` (bytes).

    It is the mean over the directions; `ways` holds that of each. The sizes are the same for all topologies of a setting: from
    the first on at which each of them, in each direction, has reached four fifths of its own best.
    """

    topology: str
    variation: float
    ways: tuple[tuple[str, float], ...]
    first: int
    last: int
    results: tuple[Result, ...]


def steadiness(results: Iterable[Result]) -> list[list[Steadiness]]:
    """Returns the topologies of each setting (ranks, transport, MPI …), the steadiest first."""
    settings: dict[Identity, dict[tuple[str, str], dict[int, Result]]] = {}
    for r in results:
        if "topology" in r.parameters and _is_usable(r):
            key = identity(r, "topology", "direction", "message_bytes")
            line = (str(r.parameters.get("topology")), str(r.parameters.get("direction")))
            settings.setdefault(key, {}).setdefault(line, {})[messages.size(r)] = r
    return [rows for lines in settings.values() if (rows := _make_rows(lines))]


def _is_usable(result: Result) -> bool:
    value = result.metrics.get("throughput")
    return value is not None and 0 < value.value < math.inf and (cases.number(result, "ranks") or 0) >= LEAST_RANKS


def _make_rows(lines: dict[tuple[str, str], dict[int, Result]]) -> list[Steadiness]:
    common = sorted(set.intersection(*(set(line) for line in lines.values())))
    values = {name: {size: line[size].metrics["throughput"].value for size in common} for name, line in lines.items()}
    if not common or len({topology for topology, _ in lines}) < 2:
        return []
    climbed = max(next(s for s in common if line[s] >= CLIMBED * max(line.values())) for line in values.values())
    sizes = [size for size in common if size >= climbed]
    if len(sizes) < LEAST_SIZES:
        return []
    steadinesses = []
    for topology in dict.fromkeys(topology for topology, _ in lines):
        rows = {way: [values[topology, way][s] for s in sizes] for t, way in lines if t == topology}
        ways = tuple((way, pstdev(row) / fmean(row)) for way, row in sorted(rows.items()))
        used = tuple(lines[topology, way][s] for way, _ in ways for s in sizes)
        steadinesses.append(
            Steadiness(
                topology=topology,
                variation=fmean(v for _, v in ways),
                ways=ways,
                first=sizes[0],
                last=sizes[-1],
                results=used,
            )
        )
    return sorted(steadinesses, key=lambda s: s.variation)
