"""Hardware counters of a result: medians over its launches, and the reasons if there are none."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from steelyard.model import Attempted, Result
from steelyard.model.scalars import Number
from steelyard.statistics.results.result import used_attempts


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Counts of one operation of all threads together, in user mode; None if it was not counted.

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
        """Returns the mean over the threads; None if one of the two counts is unknown."""
        return self.instructions / self.cycles if self.instructions is not None and self.cycles else None


def counted(result: Result) -> Counted | None:
    """Returns the medians over the records that the result uses; None if none has counts."""
    parts = [record.surroundings.counters for record in used_attempts(result)]
    counts = Counted(
        instructions=_take_median(part.instructions for part in parts),
        cycles=_take_median(part.cycles for part in parts),
        cache_misses=_take_median(part.cache_misses for part in parts),
        l1_misses=_take_median(part.l1_misses for part in parts),
        energy=_take_median(part.energy for part in parts),
        share=min(_select_sound(part.share for part in parts), default=None),
    )
    return counts if any(value is not None for value in (counts.instructions, counts.cycles, counts.energy)) else None


def reasons(records: Iterable[Attempted]) -> tuple[str, ...]:
    """Returns the reasons for missing counters, each once; empty if all records have counts or no reason."""
    return tuple(dict.fromkeys(reason for r in records if (reason := r.surroundings.counters.reason)))


def sources(records: Iterable[Attempted]) -> tuple[str, ...]:
    """Returns the energy meters of the records, each once."""
    return tuple(dict.fromkeys(source for r in records if (source := r.surroundings.counters.energy_source)))


def _select_sound(values: Iterable[Number]) -> list[float]:
    return [float(value) for value in values if value is not None and value >= 0]


def _take_median(values: Iterable[Number]) -> float | None:
    sound = _select_sound(values)
    return median(sound) if sound else None
