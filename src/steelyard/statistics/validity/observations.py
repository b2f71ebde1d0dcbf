"""Input of the disturbance rules: the samples of a case, and the observations of the harness around them."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from steelyard.model import Evidence
from steelyard.model.observed import Column, Observed
from steelyard.statistics.samples.interval import Array, middle

# Share of the samples: if one in ten is hit, the median changes by an eighth of a standard deviation at most.
HIT_SHARE = 0.10

# Bounds of the seconds of an operation: other values are impossible, and their ratios overflow.
SHORTEST, LONGEST = 1e-18, 1e9
GREATEST = 1e24  # bound of any observed number, in its unit: sums and ratios stay finite


@dataclass(frozen=True)
class Measured:
    """The samples of a case (`row`, seconds per operation, positive and finite) and its surroundings.

    `kept` is the mask of these samples among those in `surroundings`; None: all.
    """

    row: Array
    surroundings: Observed
    kept: NDArray[np.bool_] | None = None
    _columns: dict[int, Array] = field(default_factory=dict, repr=False, compare=False)  # whole ones, by their identity

    def column(self, values: Column) -> Array | None:
        """Returns a column of the samples with NaN for null; None if it is missing, all null or too short."""
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
        """Returns the whole seconds of each sample."""
        return self.column(self.surroundings.samples.seconds)

    @cached_property
    def waited(self) -> Array | None:
        """Returns the seconds that a thread waited for its processor in each sample."""
        return self.column(self.surroundings.samples.waited)

    def only(self, wanted: NDArray[np.bool_]) -> Self:
        """Returns the case with some of the samples."""
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
        """Returns the seconds from before the first sample to after the last."""
        given = self.surroundings.processor_seconds.elapsed
        if given is None and self.lengths is not None:
            given = float(np.nansum(self.lengths))
        return given if given is not None and given > 0 else None

    def moved(self, hit: NDArray[np.bool_]) -> float:
        """Returns the relative change of the median that the hit samples cause (infinite if there are no others)."""
        spared = self.row[~hit]
        return middle(self.row) / middle(spared) - 1 if spared.size else math.inf


@dataclass(frozen=True)
class Observation:
    """The evidence of a disturbance rule, and whether it makes the case DISTURBED."""

    disturbed: bool
    evidence: Evidence


def times(row: Array) -> NDArray[np.bool_]:
    """Returns a mask of the samples that are possible times."""
    return (row > SHORTEST) & (row < LONGEST)


def numbers(values: Column) -> Array:
    """Returns a column as an array, with NaN for null and for values above `GREATEST`; empty without a column."""
    array = np.array(() if values is None else values, dtype=np.float64)  # None becomes NaN
    array[~(np.abs(array) < GREATEST)] = np.nan
    return array


def short_percent(share: float) -> str:
    """Returns a percentage with two digits, from 100 on without decimals: '2.5 %'."""
    return f"{share * 100:.2g} %" if share < 0.995 else f"{share * 100:.0f} %"
