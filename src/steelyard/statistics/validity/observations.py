"""A case as the rules of disturbance see it: its samples, and what the harness saw around and inside them."""

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from steelyard.model import Evidence
from steelyard.statistics.samples.interval import Array, middle

# Of the samples: with one in ten hit, the median moves by an eighth of a standard deviation at most.
HIT_SHARE = 0.10

LISTS = (list, tuple, array)  # what a column may be; an array where it was read, see `records.compact`

# Seconds of an operation: no machine is so quick, and no run so long. What lies beyond is no time, and its ratios overflow.
SHORTEST, LONGEST = 1e-18, 1e9
GREATEST = 1e24  # of any number that was observed, in its unit: sums and ratios of such are still finite


@dataclass(frozen=True)
class Measured:
    """A case as the rules see it: `row` are its samples (seconds per operation), positive and finite."""

    row: Array
    surroundings: Mapping[str, Any]

    def column(self, name: str) -> Array | None:
        """A list of `surroundings["samples"]` with NaN for null; None if missing, all null or too short."""
        values = self.part("samples").get(name)
        if not isinstance(values, LISTS) or len(values) != len(self.row):
            return None
        column = numbers(values)
        return column if np.isfinite(column).any() else None

    def part(self, name: str) -> Mapping[str, Any]:
        return part(self.surroundings, name)

    @cached_property
    def lengths(self) -> Array | None:
        """Whole seconds of each sample."""
        return self.column("seconds")

    def only(self, wanted: NDArray[np.bool_]) -> Self:
        """The same with some of the samples."""
        if wanted.all():
            return self
        columns = {
            name: [value for value, keep in zip(values, wanted, strict=True) if keep]
            for name, values in self.part("samples").items()
            if isinstance(values, LISTS) and len(values) == len(wanted)
        }
        return replace(self, row=self.row[wanted], surroundings={**self.surroundings, "samples": columns})

    @property
    def cpus(self) -> int:
        return max(1, len(numbers(self.surroundings.get("cpus"))))

    @cached_property
    def elapsed(self) -> float | None:
        """Seconds from before the first sample to after the last."""
        given = number(self.part("processor_seconds").get("elapsed"))
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


def part(surroundings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """One of the surroundings' parts; an empty one where it was not observed."""
    found = surroundings.get(name)
    # The plain type first: to ask for the abstract one takes many times as long.
    return found if isinstance(found, (dict, Mapping)) else {}


def number(value: object) -> float | None:
    """`value` if it is a finite number, otherwise None."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def numbers(values: object) -> Array:
    """A list as an array, NaN for whatever is no number below `GREATEST`; anything else as an empty array."""
    if not isinstance(values, LISTS):
        return np.empty(0)
    try:
        array = np.array(values, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError):
        array = np.array([math.nan if (known := number(value)) is None else known for value in values])
    if array.ndim != 1:
        return np.empty(0)
    array[~(np.abs(array) < GREATEST)] = np.nan
    return array


def short_percent(share: float) -> str:
    """'2.5 %', with two digits; whole percents from 100 on."""
    return f"{share * 100:.2g} %" if share < 0.995 else f"{share * 100:.0f} %"
