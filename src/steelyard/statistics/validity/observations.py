"""A case as the rules of disturbance see it: its samples, and what the harness saw around and inside them."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from steelyard.model import Evidence
from steelyard.model.observed import Column, Observed
from steelyard.statistics.samples.interval import Array, middle

# Of the samples: with one in ten hit, the median moves by an eighth of a standard deviation at most.
HIT_SHARE = 0.10

# Seconds of an operation: no machine is so quick, and no run so long. What lies beyond is no time, and its ratios overflow.
SHORTEST, LONGEST = 1e-18, 1e9
GREATEST = 1e24  # of any number that was observed, in its unit: sums and ratios of such are still finite


@dataclass(frozen=True)
class Measured:
    """A case as the rules see it: `row` are its samples (seconds per operation), positive and finite.

    `kept`: which of the samples that `surroundings` tell of these are; None: all.
    """

    row: Array
    surroundings: Observed
    kept: NDArray[np.bool_] | None = None
    _columns: dict[int, Array] = field(default_factory=dict, repr=False, compare=False)  # whole ones, by their identity

    def column(self, values: Column) -> Array | None:
        """One of the samples' columns with NaN for null; None if missing, all null or too short."""
        if values is None or len(values) != (len(self.row) if self.kept is None else len(self.kept)):
            return None
        column = self._columns.get(id(values))
        if column is None:
            column = self._columns[id(values)] = numbers(values)
        if self.kept is not None:
            column = column[self.kept]
        return column if np.isfinite(column).any() else None

    @cached_property
    def lengths(self) -> Array | None:
        """Whole seconds of each sample."""
        return self.column(self.surroundings.samples.seconds)

    @cached_property
    def waited(self) -> Array | None:
        """Seconds that a thread waited for its processor in each sample."""
        return self.column(self.surroundings.samples.waited)

    def only(self, wanted: NDArray[np.bool_]) -> Self:
        """The same with some of the samples."""
        if wanted.all():
            return self
        kept = wanted
        if self.kept is not None:
            kept = self.kept.copy()
            kept[kept] = wanted
        return replace(self, row=self.row[wanted], kept=kept)

    @property
    def cpus(self) -> int:
        return max(1, len(self.surroundings.cpus or ()))

    @cached_property
    def elapsed(self) -> float | None:
        """Seconds from before the first sample to after the last."""
        given = self.surroundings.processor_seconds.elapsed
        if given is None and self.lengths is not None:
            given = float(np.nansum(self.lengths))
        return given if given is not None and given > 0 else None

    def moved(self, hit: NDArray[np.bool_]) -> float:
        """How far those that were hit move the median from the others' (relative; infinite: no others)."""
        spared = self.row[~hit]
        return middle(self.row) / middle(spared) - 1 if spared.size else math.inf


@dataclass(frozen=True)
class Observation:
    """What a rule of disturbance saw, and whether it makes the case DISTURBED."""

    disturbed: bool
    evidence: Evidence


def times(row: Array) -> NDArray[np.bool_]:
    """Which samples are times that an operation can take."""
    return (row > SHORTEST) & (row < LONGEST)


def numbers(values: Column) -> Array:
    """A column as an array, NaN for null and whatever is not below `GREATEST`; an empty one where there is none."""
    array = np.array(() if values is None else values, dtype=np.float64)  # None becomes NaN
    array[~(np.abs(array) < GREATEST)] = np.nan
    return array


def short_percent(share: float) -> str:
    """'2.5 %', with two digits; whole percents from 100 on."""
    return f"{share * 100:.2g} %" if share < 0.995 else f"{share * 100:.0f} %"
