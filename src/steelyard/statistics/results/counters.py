"""What hardware counters tell of a result: medians over its launches, and why there are none."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from steelyard.model import Record, Result
from steelyard.model.observed import Counters
from steelyard.once import once
from steelyard.statistics.results.result import rests_on


@dataclass(frozen=True)
class Counted:
    """Of one operation of all threads together, in user mode; None where it was not counted.

    `energy` is in joules, of all packages of the machine. `share` is the least part of the time in which the counters were on
    the processor: below 1 the counts are scaled up.
    """

    instructions: float | None
    cycles: float | None
    cache_misses: float | None
    l1_misses: float | None
    energy: float | None
    share: float | None

    @property
    def instructions_per_cycle(self) -> float | None:
        """Of one thread on average; None where one of the two is unknown."""
        return self.instructions / self.cycles if self.instructions is not None and self.cycles else None


@once
def counted(result: Result) -> Counted | None:
    """The medians over the records on which the result rests; None where nothing was counted for any of them."""
    parts = [part for record in rests_on(result) if (part := _part(record))]
    shares = _numbers(parts, "share")
    found = Counted(
        _median(parts, "instructions"),
        _median(parts, "cycles"),
        _median(parts, "cache_misses"),
        _median(parts, "l1_misses"),
        _median(parts, "energy"),
        min(shares) if shares else None,
    )
    return found if any(value is not None for value in (found.instructions, found.cycles, found.energy)) else None


def reasons(records: Iterable[Record]) -> tuple[str, ...]:
    """Why there are no counters, each reason once; empty where all records were counted, or none tells."""
    reported = (_part(record).get("reason") for record in records)
    return tuple(dict.fromkeys(str(reason) for reason in reported if reason))


def sources(records: Iterable[Record]) -> tuple[str, ...]:
    """The meters of energy that the records name, each once."""
    reported = (_part(record).get("energy_source") for record in records)
    return tuple(dict.fromkeys(str(source) for source in reported if source))


def _part(record: Record) -> Counters:
    return record.surroundings.get("counters") or {}


def _numbers(parts: Sequence[Counters], name: str) -> list[float]:
    given = [part.get(name) for part in parts]
    return [
        float(v)
        for v in given
        if isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) and v >= 0
    ]


def _median(parts: Sequence[Counters], name: str) -> float | None:
    observed = _numbers(parts, name)
    return median(observed) if observed else None
