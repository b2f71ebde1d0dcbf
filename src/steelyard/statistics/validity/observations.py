"""Input of the disturbance rules: the samples of a case, and the observations of the harness around them."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from steelyard.model import Evidence
from steelyard.model.account import Account
from steelyard.model.evidence import noted
from steelyard.model.observed import Column, Observed
from steelyard.model.scalars import Number
from steelyard.model.units import grouped
from steelyard.statistics.samples.interval import Array, find_median

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

    @cached_property
    def threads(self) -> int:
        """Returns the number of threads or ranks that took part, at least 1."""
        around = self.surroundings
        return max(1, len(around.core_clock.before or around.cpus or ()))

    @cached_property
    def processors(self) -> float:
        """Returns the number of processors that the accounts cover; at least that, if an older record does not say it."""
        around, ranks = self.surroundings, self.surroundings.ranks
        if (given := around.processor_seconds.processors or 0) >= 1:
            return given
        hosts = ranks.hosts or ("",)
        pinned = {place for place in zip(hosts, ranks.cpus or (), strict=False) if place[1] >= 0}
        of_hosts = len(set(hosts)) * (around.machine_processors or 0)
        return len(pinned or set(around.cpus or ())) or max(self.threads, of_hosts)

    def account(self, seconds: Number) -> Account | None:
        """Returns the account of seconds that were added over the measured processors; None if it is unknown."""
        return Account.of(seconds, self.processors, self.elapsed)

    @property
    def others(self) -> Account | None:
        """Returns what other processes used on the whole machine, which may have more processors than were measured."""
        used, elapsed = self.surroundings.machine_other, self.elapsed or 0.0
        processors = self.surroundings.machine_processors or self.processors
        return None if used is None else Account.of(used * elapsed, processors, elapsed)

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
        return find_median(self.row) / find_median(spared) - 1 if spared.size else math.inf


@dataclass(frozen=True)
class Observation:
    """The evidence of a disturbance rule, and whether it makes the case DISTURBED."""

    disturbed: bool
    evidence: Evidence

    @classmethod
    def of(cls, kind: str, text: str, disturbed: bool = True, /, **numbers: float | None) -> Self:
        """Returns an observation with evidence of this kind."""
        return cls(disturbed, noted(kind, text, **numbers))


def times(row: Array) -> NDArray[np.bool_]:
    """Returns a mask of the samples that are possible times."""
    return (row > SHORTEST) & (row < LONGEST)


def numbers(values: Column) -> Array:
    """Returns a column as an array, with NaN for null and for values above `GREATEST`; empty without a column."""
    array = np.array(() if values is None else values, dtype=np.float64)  # None becomes NaN
    array[~(np.abs(array) < GREATEST)] = np.nan
    return array


def state_share(account: Account) -> str:
    """Returns "21.8 s, which is 3.3 % of the time of 16 processors (651 s)"."""
    count, whole = account.processors, account.processors * account.elapsed
    whose = f"{count:.0f} processors ({grouped(whole)} s)" if count > 1 else f"the case ({grouped(whole)} s)"
    return f"{grouped(account.seconds)} s, which is {short_percent(account.share)} of the time of {whose}"


def list_numbers(account: Account) -> dict[str, float]:
    """Returns the account and its share as numbers of an evidence."""
    share = account.share
    return {"seconds": account.seconds, "processors": account.processors, "elapsed": account.elapsed, "share": share}


def short_percent(share: float) -> str:
    """Returns a percentage with two digits, from 100 on without decimals: '2.5 %'."""
    return f"{share * 100:.2g} %" if share < 0.995 else f"{share * 100:.0f} %"
