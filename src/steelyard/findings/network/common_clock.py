"""Rule: how exactly the clocks of the ranks agree, by which collectives begin and end: measured where they are the same."""

import math
from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from steelyard.model import Evaluation, Finding, Record
from steelyard.statistics.results import messages
from steelyard.statistics.validity.observations import numbers
from steelyard.units import percent, quantity

EXACT = 1e-6  # s: some tenths of what the shortest collective takes within a machine
MATTERS = 0.01  # of a sample that began by the clock: half of the width that is usually asked
MOST = 0.95  # of the records, whose error is reported; the rest was hit by something else

SAME = "Ranks of one machine have one clock; measured by messages, it seems to differ by up to"
SEVERAL = "The clocks of ranks on several machines are brought together with an uncertainty of half a round trip, up to"
GOOD = "So exact is the common clock by which collectives begin and end."
GOOD_BETWEEN = "The way between the machines is short beside what is measured by the clock."
CAUSE = (
    "The offset of two clocks follows from the least of 60 round trips: it may be wrong by half of the difference between the "
    "way there and the way back, and each is longer where ranks wait for their processor."
)
REMEDY = (
    "Do not believe differences of times that began by the clock where they are smaller; let them begin by a barrier instead: "
    "--set start=barrier. Measure with one rank a processor on a quiet machine."
)


class Observed(NamedTuple):
    """A record and what is known of its clocks: the greatest `error` (s) within a machine, or the uncertainty between two."""

    record: Record
    error: float
    residual: float | None


def find(evaluation: Evaluation) -> list[Finding]:
    """One finding on ranks whose machine has one clock, so that the offset is the error, and one on those of several."""
    records = [r for r in evaluation.run.records if r.verdict.level != "INVALID"]
    alone = [r for r in records if not r.surroundings.oversubscribed] or records
    same = [observed for r in alone if (observed := _within(r))]
    several = [observed for r in alone if (observed := _between(r))]
    return [*_finding(same, SAME, GOOD), *_finding(several, SEVERAL, GOOD_BETWEEN)]


def _within(record: Record) -> Observed | None:
    offsets = [abs(offset) for offset, _, _, same in _clocks(record) if same and math.isfinite(offset)]
    return Observed(record, max(offsets), None) if offsets else None


def _between(record: Record) -> Observed | None:
    others = [(u, r) for _, u, r, same in _clocks(record) if not same and math.isfinite(u) and u >= 0]
    missed = [abs(r) for _, r in others if math.isfinite(r)]
    return Observed(record, max(u for u, _ in others), max(missed, default=None)) if others else None


def _clocks(record: Record) -> Iterable[tuple[float, float, float, bool]]:
    """Of each rank but the first: offset, uncertainty and residual (NaN: unknown), and whether it has rank 0's clock."""
    ranks, hosts = record.surroundings.ranks, messages.hosts(record)
    columns = [numbers(column) for column in (ranks.clock.offset, ranks.clock.uncertainty, ranks.clock.residual)]
    if not hosts or any(len(column) != len(hosts) for column in columns):
        return []
    same = [ranks.colocated or host == hosts[0] for host in hosts]
    return list(zip(*(column.tolist() for column in columns), same, strict=True))[1:]


def _finding(observed: list[Observed], what: str, good: str) -> list[Finding]:
    if not observed:
        return []
    usual = sorted(s.error for s in observed)[math.ceil(MOST * len(observed)) - 1]
    shortest = _shortest(observed)
    reported = f"{what} {quantity(usual, 's')} (in {percent(MOST)} of {len(observed)} records)."
    evidence = (*_spread(observed), *_by_transport(observed), *_share(shortest, usual))
    if usual < EXACT or (shortest is not None and usual < MATTERS * shortest):
        return [Finding("common_clock", "good", reported, evidence, good, "", reach="program")]
    effect = 1 + usual / shortest if shortest else None
    return [Finding("common_clock", "notice", reported, evidence, CAUSE, REMEDY, effect=effect, reach="program")]


def _spread(observed: list[Observed]) -> Iterable[str]:
    errors, missed = [s.error for s in observed], [s.residual for s in observed if s.residual is not None]
    yield f"The median is {quantity(median(errors), 's')}, the worst {quantity(max(errors), 's')}."
    if missed:
        yield f"New measurements missed what the older ones foretold by {quantity(median(missed), 's')} (their median)."


def _by_transport(observed: list[Observed]) -> list[str]:
    groups: dict[str, list[float]] = {}
    for s in observed:
        words = [str(s.record.parameters[n]) for n in ("mpi", "transport") if n in s.record.parameters]
        groups.setdefault(", ".join(w for w in words if w != "default"), []).append(s.error)
    return [
        f"{name}: the median is {quantity(median(e), 's')}." for name, e in sorted(groups.items()) if len(groups) > 1
    ]


def _shortest(observed: list[Observed]) -> float | None:
    """The median sample (s) of the record that began by the clock and has the shortest."""
    started = (s.record for s in observed if s.record.parameters.get("start") == "clock" and s.record.samples)
    return min((median(r.samples) * r.operations for r in started), default=None)


def _share(shortest: float | None, error: float) -> list[str]:
    if shortest is None or not shortest > 0:
        return []
    return [
        f"The shortest samples that began by the clock took {quantity(shortest, 's')}: it is "
        f"{percent(error / shortest, 1)} of them."
    ]
