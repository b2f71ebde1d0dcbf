"""What hardware counters tell of a result: medians over its launches, and why there are none."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from steelyard.model import Record, Result
from steelyard.model.scalars import Number
from steelyard.once_per_object import once
from steelyard.statistics.results.result import rests_on


@dataclass(frozen=True, kw_only=True)
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
    parts = [record.surroundings.counters for record in rests_on(result)]
    counts = Counted(
        instructions=_median(part.instructions for part in parts),
        cycles=_median(part.cycles for part in parts),
        cache_misses=_median(part.cache_misses for part in parts),
        l1_misses=_median(part.l1_misses for part in parts),
        energy=_median(part.energy for part in parts),
        share=min(_sound(part.share for part in parts), default=None),
    )
    return counts if any(value is not None for value in (counts.instructions, counts.cycles, counts.energy)) else None


def reasons(records: Iterable[Record]) -> tuple[str, ...]:
    """Why there are no counters, each reason once; empty where all records were counted, or none tells."""
    return tuple(dict.fromkeys(reason for r in records if (reason := r.surroundings.counters.reason)))


def sources(records: Iterable[Record]) -> tuple[str, ...]:
    """The meters of energy that the records name, each once."""
    return tuple(dict.fromkeys(source for r in records if (source := r.surroundings.counters.energy_source)))


def _sound(values: Iterable[Number]) -> list[float]:
    return [float(value) for value in values if value is not None and value >= 0]


def _median(values: Iterable[Number]) -> float | None:
    sound = _sound(values)
    return median(sound) if sound else None
