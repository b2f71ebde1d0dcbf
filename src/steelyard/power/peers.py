"""Nodes that draw more power than their peers at the same time: tested against their scatter, corrected for many tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from steelyard.measure.telemetry.coverage import best_of_parts
from steelyard.measure.telemetry.energy import NANO, Course, Energy, energy, seconds_for
from steelyard.measure.telemetry.overlap import doubtful
from steelyard.measure.telemetry.watched import Stretch, totals
from steelyard.model.sensor import Values
from steelyard.model.units import significant
from steelyard.statistics.difference.peers import LEAST_PEERS, LEVEL, slow_ranks
from steelyard.statistics.samples.interval import median_intervals

SLICE = 0.1  # relative: a slice of time is so long that its energy is known as well as that
MOST_SLICES = 100  # slices of the whole time
CONFIDENCE = 0.95
LEAST_CHANCE = 1e-6  # less is no better known


@dataclass(frozen=True)
class Member:
    """A node, the courses of its sensors, and the intervals in which it did the same work as its peers."""

    node: str
    of: Mapping[str, Course]
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, kw_only=True)
class Above:
    """A node that drew `factor` times the median power of `peers` nodes (itself among them) while a case ran ("": all the time).

    `low` … `high` hold the bounds of both, the scatter in time and the makers' errors; `p` is the chance that one of so many
    equal nodes looks so.
    """

    node: str
    case: str
    source: str
    peers: int
    factor: float
    low: float
    high: float
    p: float

    @property
    def sentence(self) -> str:
        chance = f"= {self.p:.1g}" if self.p >= LEAST_CHANCE else f"< {LEAST_CHANCE:g}"
        during = f" during {self.case}" if self.case else ""
        times, low, high = (significant(x, 3) for x in (self.factor, self.low, self.high))
        return (
            f"{self.node} draws {times} times ({low} – {high}) the median power of {self.peers} nodes{during}, by {self.source}. "
            f"The difference exceeds their scatter (p {chance}). Check its fans, its clock and power limits, and other processes."
        )


@dataclass(frozen=True)
class _Look:
    """Nodes with the same sensors of one source, and the intervals of one case that they share."""

    members: tuple[Member, ...]
    stretches: tuple[Stretch, ...]
    source: str


def find_above_peers(members: Sequence[Member], clock: float = 0.0) -> list[Above]:
    """Returns the nodes above their peers, the greatest first. Empty for fewer than three equal nodes or too short a time."""
    looks = list(_group_members(members))
    nodes_above = [node for look in looks for node in _find_above(look, clock, LEVEL / len(looks))]
    return sorted(nodes_above, key=lambda node: -node.factor)


def _group_members(members: Sequence[Member]) -> list[_Look]:
    """Returns the groups of equal nodes for each case and source: the same sensors over the same intervals."""
    groups: dict[tuple[tuple[Stretch, ...], str, tuple[str, ...]], list[Member]] = {}
    for member in members:
        sensors = [s for s in best_of_parts([course.sensor for course in member.of.values()]) if not s.modelled]
        for source in dict.fromkeys(s.source for s in sensors):
            names = tuple(sorted(_shorten_sensor_name(s.name) for s in sensors if s.source == source))
            for case in dict.fromkeys(stretch.name for stretch in member.stretches):
                times = tuple(stretch for stretch in member.stretches if stretch.name == case)
                groups.setdefault((times, source, names), []).append(member)
    return [
        _Look(tuple(alike), times, source) for (times, source, _), alike in groups.items() if len(alike) >= LEAST_PEERS
    ]


def _shorten_sensor_name(name: str) -> str:
    """Returns the first and last part of a sensor's name: the middle may name the node or its BMC."""
    first, *_, last = name.split("/") if "/" in name else (name, "")
    return f"{first}/{last}"


def _find_above(look: _Look, clock: float, level: float) -> list[Above]:
    slices = _slice_intervals(look)
    powers = [_measure_power(member, look.source, slices) for member in look.members]
    # A slice counts where all of them are known: what the nodes did in it is then the same for all.
    table = np.array(powers)
    table = table[:, np.isfinite(table).all(axis=0) & (table > 0).all(axis=0)]
    if table.shape[1] < 2:
        return []
    ratios = table / np.median(table, axis=0)
    nodes_above = []
    lows, highs = median_intervals(ratios, CONFIDENCE)
    for outlier in slow_ranks(ratios.tolist(), level=level) or ():
        index = outlier.ranks[0]
        candidate = _compare_whole_time(look, index, clock, outlier.p, (float(lows[index]), float(highs[index])))
        if candidate and candidate.low > 1:
            nodes_above.append(candidate)
    return nodes_above


def _slice_intervals(look: _Look) -> list[Stretch]:
    """Returns equal parts of the intervals, each long enough for the slowest sensor."""
    seconds = max(
        seconds_for(course.sensor, SLICE, float(np.median(np.diff(course.at))))
        for member in look.members
        for course in member.of.values()
        if course.sensor.source == look.source
    )
    whole = sum(stretch.end - stretch.begin for stretch in look.stretches) * NANO
    seconds = max(seconds, whole / MOST_SLICES)
    slices = []
    for stretch in look.stretches:
        parts = int((stretch.end - stretch.begin) * NANO / seconds)
        edges = np.linspace(stretch.begin, stretch.end, parts + 1).round().astype(np.int64).tolist()
        slices += [Stretch(stretch.name, *ends) for ends in pairwise(edges)]  # of a stretch that is too short none
    return slices


def _measure_power(member: Member, source: str, slices: Sequence[Stretch]) -> Values:
    """Returns W in each slice; NaN if too few readings lie in it."""
    spent = [_measure_energy(member, source, part, 0.0) for part in slices]
    return np.array([part.power if part else np.nan for part in spent])


def _measure_energy(member: Member, source: str, stretch: Stretch, clock: float) -> Energy | None:
    chosen = {name: course for name, course in member.of.items() if course.sensor.source == source}
    parts = {n: used for n, item in chosen.items() if (used := energy(item, stretch.begin, stretch.end, clock))}
    return totals(best_of_parts([item.sensor for item in member.of.values()]), parts, doubtful(member.of)).get(source)


def _compare_whole_time(look: _Look, index: int, clock: float, p: float, scatter: tuple[float, float]) -> Above | None:
    """Compares over all the time. The bounds include the `scatter` in time. None if a node has too few readings."""
    claims = []
    for member in look.members:
        spent = [_measure_energy(member, look.source, part, clock) for part in look.stretches]
        usable = [part for part in spent if part]
        if len(usable) < len(spent):
            return None
        error = max(c.sensor.error or 0.0 for c in member.of.values() if c.sensor.source == look.source)
        joules, low, high = (sum(getattr(part, name) for part in usable) for name in ("joules", "low", "high"))
        claims.append((joules, low * (1 - error), high * (1 + error)))
    middle, least, most = (median(claim[place] for claim in claims) for place in range(3))
    joules, low, high = claims[index]
    if least <= 0:
        return None
    case = look.stretches[0].name
    node, count = look.members[index].node, len(look.members)
    # Few slices give no interval, but NaN, which fmin and fmax leave out.
    bounds = np.fmin(low / most, scatter[0]), np.fmax(high / least, scatter[1])
    return Above(
        node=node,
        case=case,
        source=look.source,
        peers=count,
        factor=joules / middle,
        low=float(bounds[0]),
        high=float(bounds[1]),
        p=p,
    )
