"""Rule: measures the accuracy of the common clock of the ranks, by which collectives begin and end."""

import math
from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from steelyard.model import Evaluation, Finding, Record
from steelyard.model.units import percent, quantity
from steelyard.statistics.results import messages
from steelyard.statistics.validity.observations import numbers

EXACT = 1e-6  # s: some tenths of the duration of the shortest collective operation within a machine
MATTERS = 0.01  # uncertainty of the clock over the shortest sample; half of the usual width of an interval
MOST = 0.95  # share of the records; the error of the others has another cause

SAME = "The ranks of a machine use the same clock. Steelyard measures its offset by messages and is wrong by up to"
SEVERAL = "Steelyard knows the offset of the clocks of two machines to half a round trip, up to"
GOOD = "This is the accuracy of the times of collectives, which start by this clock."
GOOD_BETWEEN = "The latency between the machines is small compared with the times that the clock measures."
CAUSE = (
    "The offset of two clocks follows from the shortest of 60 round trips. It may be wrong by half of the difference between "
    "the two directions, and each direction is longer if ranks wait for their processor."
)
REMEDY = (
    "Ignore differences between collectives that are smaller than this. Let them start with a barrier instead: "
    "--set start=barrier. Use at most one rank per processor."
)


class ClockError(NamedTuple):
    """A record with its greatest clock `error` (s) within a machine, or its greatest uncertainty between two machines."""

    record: Record
    error: float
    residual: float | None


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on ranks of one machine, where the offset is the error, and one on ranks of several machines."""
    records = [r for r in evaluation.run.records if r.verdict.level != "INVALID"]
    alone = [r for r in records if not r.surroundings.oversubscribed] or records
    same = [error for r in alone if (error := _find_error_within(r))]
    several = [error for r in alone if (error := _find_error_between(r))]
    return [*_make_finding(same, SAME, GOOD), *_make_finding(several, SEVERAL, GOOD_BETWEEN)]


def _find_error_within(record: Record) -> ClockError | None:
    offsets = [abs(o) for o, u, _, same in _list_clocks(record) if same and u and math.isfinite(o)]
    return ClockError(record, max(offsets), None) if offsets else None


def _find_error_between(record: Record) -> ClockError | None:
    others = [(u, r) for _, u, r, same in _list_clocks(record) if not same and math.isfinite(u) and u >= 0]
    missed = [abs(r) for _, r in others if math.isfinite(r)]
    return ClockError(record, max(u for u, _ in others), max(missed, default=None)) if others else None


def _list_clocks(record: Record) -> Iterable[tuple[float, float, float, bool]]:
    """Returns offset, uncertainty (0: not measured) and residual of each rank but rank 0, and whether it has rank 0's clock."""
    ranks, hosts = record.surroundings.ranks, messages.hosts(record)
    columns = [numbers(column) for column in (ranks.clock.offset, ranks.clock.uncertainty, ranks.clock.residual)]
    if not hosts or any(len(column) != len(hosts) for column in columns):
        return []
    same = [ranks.colocated or host == hosts[0] for host in hosts]
    return list(zip(*(column.tolist() for column in columns), same, strict=True))[1:]


def _make_finding(errors: list[ClockError], what: str, good: str) -> list[Finding]:
    if not errors:
        return []
    usual = sorted(s.error for s in errors)[math.ceil(MOST * len(errors)) - 1]
    shortest = _find_shortest_sample(errors)
    claim = f"{what} {quantity(usual, 's')} (in {percent(MOST)} of {len(errors)} records)."
    evidence = (*_describe_spread(errors), *_describe_transports(errors), *_describe_share(shortest, usual))
    if usual < EXACT or (shortest is not None and usual < MATTERS * shortest):
        return [Finding("common_clock", "good", claim, evidence, good, "", reach="program")]
    effect = 1 + usual / shortest if shortest else None
    return [
        Finding(
            "common_clock",
            "notice",
            claim,
            evidence,
            CAUSE,
            REMEDY,
            effect=effect,
            reach="program",
            about="measurement",
        )
    ]


def _describe_spread(clock_errors: list[ClockError]) -> Iterable[str]:
    errors, missed = [s.error for s in clock_errors], [s.residual for s in clock_errors if s.residual is not None]
    yield f"The median is {quantity(median(errors), 's')}, the maximum {quantity(max(errors), 's')}."
    if missed:
        yield f"New measurements differ from the prediction of the older ones by {quantity(median(missed), 's')} (median)."


def _describe_transports(errors: list[ClockError]) -> list[str]:
    groups: dict[str, list[float]] = {}
    for s in errors:
        words = [str(s.record.parameters[n]) for n in ("mpi", "transport") if n in s.record.parameters]
        groups.setdefault(", ".join(w for w in words if w != "default"), []).append(s.error)
    return [
        f"{name}: the median is {quantity(median(e), 's')}." for name, e in sorted(groups.items()) if len(groups) > 1
    ]


def _find_shortest_sample(errors: list[ClockError]) -> float | None:
    """Returns the shortest median sample (s) of the records that began by the clock."""
    started = (s.record for s in errors if s.record.parameters.get("start") == "clock" and s.record.samples)
    return min((median(r.samples) * r.operations for r in started), default=None)


def _describe_share(shortest: float | None, error: float) -> list[str]:
    if shortest is None or not shortest > 0:
        return []
    return [
        f"The shortest samples that began by the clock took {quantity(shortest, 's')}. The error is "
        f"{percent(error / shortest, 1)} of this time."
    ]
