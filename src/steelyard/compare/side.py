"""The sides of a comparison as values of cases without samples: runs, groups of runs of one system, and published systems.

A comparison of a hundred runs must not read their records, so it has only what their tables of results hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from steelyard.compare.classes import Class
from steelyard.model import (
    Count,
    LaunchTime,
    Level,
    Limit,
    Machine,
    Parameters,
    Plan,
    Value,
)
from steelyard.statistics.results.variants import select_plain

Facts = Mapping[str, Mapping[str, str]]  # the conditions of a run: group → name → text
Kind = Literal["run", "group", "published", "imported"]
FOREIGN: tuple[Kind, ...] = ("published", "imported")  # Steelyard did not measure their values


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCase:
    """A case of one side. `metrics` has the values by name, the main metric first; a case without values is not listed.

    `work`, `times`, `hosts` and `timed` are those of the result. `statistic` says how a FOREIGN value was made, such as
    "best of 10"; "" for the values of Steelyard. `note` says what differs in meaning between a FOREIGN value and ours, `remark`
    what the library says about it. `limit` is the physical limit of the main metric.
    """

    benchmark: str
    kernel: str
    parameters: Parameters
    kind: Class
    metrics: Mapping[str, Value]
    level: Level
    statistic: str = ""
    note: str = ""
    remark: str = ""
    limit: Limit | None = None
    hosts: Count = 0
    work: str = ""
    times: tuple[LaunchTime, ...] = ()
    timed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRun:
    """One run of a side. `facts` are its conditions by group and name (see `surroundings.list_facts`).

    `machine` and `plan` are None for a published system. `modelled_power`: its power was calculated and not measured.
    `imported`: other tools measured the values. `cores` are those of a node that may be used; None if they are unknown.
    """

    run: str
    path: str
    started: str
    finished: bool
    machine: Machine | None
    facts: Facts
    cases: tuple[SideCase, ...]
    plan: Plan | None = None
    notes: tuple[str, ...] = ()
    modelled_power: bool = False
    imported: bool = False
    cores: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison, under the name that the user reads. Only a group and an imported side may have several runs."""

    name: str
    kind: Kind
    runs: tuple[SideRun, ...]

    @property
    def is_foreign(self) -> bool:
        """Returns whether Steelyard did not measure the values."""
        return self.kind in FOREIGN


def list_plain(side: Side) -> tuple[SideCase, ...]:
    """Returns the cases of all runs of a side without those of variants (see `select_plain`)."""
    return select_plain([case for run in side.runs for case in run.cases])
