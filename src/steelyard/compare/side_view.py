"""A side with the launch times of all its runs in one table, and the cases that two sides have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.compare.average import average
from steelyard.compare.launch_table import (
    CasePairs,
    Indexes,
    LaunchTable,
    make_table,
    merge_tables,
    pair_tables,
    read_table,
    trusted_rows,
)
from steelyard.compare.matching import Match, match
from steelyard.compare.pace import Readings
from steelyard.compare.schedule import own_round_seconds
from steelyard.compare.side import Facts, Side, SideCase
from steelyard.model import Level, Value
from steelyard.statistics.difference.case_estimates import CaseSums, sum_launches


@dataclass(frozen=True, eq=False)
class SideView:
    """A side and its launch times. `keys` has the keys of the cases of each run.

    `where` has for each case of the table the first run that has it, and its place there.
    """

    side: Side
    keys: Sequence[Sequence[str]]
    table: LaunchTable
    where: Sequence[tuple[int, int]]

    def case(self, index: int) -> SideCase:
        """Returns a case of the table, of the first run that has it."""
        run, place = self.where[index]
        return self.side.runs[run].cases[place]

    def value(self, index: int, metric: str) -> Value | None:
        """Returns the value of a case: of a group the mean of its runs, whose interval follows from their spread."""
        if not self.table.is_group:
            return self.case(index).metrics.get(metric)
        key = self.table.keys[index]
        cases = [run.cases[place[key]] for run, place in zip(self.side.runs, self._places, strict=True) if key in place]
        return average([value for case in cases if (value := case.metrics.get(metric))])

    def list_values(self, indexes: Sequence[int], metrics: Sequence[str]) -> list[Value | None]:
        """Returns the value of each of these cases, each with its own metric."""
        if self.table.is_group:
            return [self.value(index, metric) for index, metric in zip(indexes, metrics, strict=True)]
        cases = self.side.runs[0].cases
        return [cases[index].metrics.get(metric) for index, metric in zip(indexes, metrics, strict=True)]

    @cached_property
    def levels(self) -> list[Level]:
        """The verdicts of all cases; in a group those of the first run, unless all its runs are disturbed."""
        hit = self.table.disturbed_cases.tolist()
        runs = [run.cases for run in self.side.runs]
        return ["DISTURBED" if hit[n] else runs[run][place].level for n, (run, place) in enumerate(self.where)]

    @cached_property
    def readings(self) -> Readings:
        """The pace of the machine beside the trusted launches."""
        return read_table(self.table, self._trusted)

    def read_beside(self, cases: Indexes) -> Readings:
        """Returns the pace of the machine beside the trusted launches of these cases."""
        return read_table(self.table, self._trusted[np.isin(self.table.case[self._trusted], cases)])

    @cached_property
    def rates(self) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        """For each case the mean pace of the cores beside its launches, as a logarithm; NaN if it is unknown."""
        rows = self._trusted
        return sum_launches(self.table.case[rows], np.log(self.table.rate[rows]), len(self.table.keys)).mean

    @cached_property
    def _trusted(self) -> Indexes:
        return trusted_rows(self.table)

    @cached_property
    def _places(self) -> list[dict[str, int]]:
        return [{key: i for i, key in enumerate(keys)} for keys in self.keys]

    @cached_property
    def sums(self) -> CaseSums:
        """The means and squares of the launches of each case that its value rests on."""
        rows = self._trusted
        return sum_launches(self.table.case[rows], self.table.log_seconds[rows], len(self.table.keys))

    @cached_property
    def round_seconds(self) -> dict[str, float]:
        """The expected seconds of a round of each benchmark if the last run is measured in turn with an equal one."""
        plan = self.side.runs[-1].plan
        return own_round_seconds(plan) if plan else {}

    @cached_property
    def facts(self) -> Facts:
        """The conditions of all runs; where the runs of a group differ, all their values."""
        merged: dict[str, dict[str, dict[str, None]]] = {}
        for run in self.side.runs:
            for group, facts in run.facts.items():
                for name, text in facts.items():
                    merged.setdefault(group, {}).setdefault(name, {})[text] = None
        return {g: {name: " or ".join(texts) for name, texts in facts.items()} for g, facts in merged.items()}


def make_view(side: Side) -> SideView:
    """Returns the side with its launch times. A group of one run is like that run."""
    tables = [make_table(run.cases) for run in side.runs]
    keys = [table.keys for table in tables]
    if len(tables) == 1:
        return SideView(side, keys, tables[0], [(0, i) for i in range(len(tables[0].keys))])
    return SideView(side, keys, *merge_tables(tables))


@dataclass(frozen=True, eq=False)
class Common:
    """The cases that two sides have in common. `matches` has the pairs whose parameters differ, by the index in a."""

    pairs: CasePairs
    matches: dict[int, Match[SideCase]]
    only_a: Sequence[int]
    only_b: Sequence[int]


def find_common(a: SideView, b: SideView) -> Common:
    """Returns the comparable cases of two sides, as `matching.match` pairs them.

    Nearly all pairs agree in all parameters, and their keys show it. Only a benchmark with other cases on both sides is matched
    by its parameters.
    """
    places = {key: j for j, key in enumerate(b.table.keys)}
    partners = {i: j for i, key in enumerate(a.table.keys) if (j := places.get(key)) is not None}
    taken = set(partners.values())
    rest_a = {a.table.benchmarks[i] for i in range(len(a.table.keys)) if i not in partners}
    rest_b = {b.table.benchmarks[j] for j in range(len(b.table.keys)) if j not in taken}
    matches: dict[int, Match[SideCase]] = {}
    if differing := rest_a & rest_b:
        of_a, of_b = (
            {id(view.case(i)): i for i, name in enumerate(view.table.benchmarks) if name in differing}
            for view in (a, b)
        )
        matched = match([a.case(i) for i in of_a.values()], [b.case(j) for j in of_b.values()])
        for pair in matched.pairs:
            i = of_a[id(pair.a)]
            partners[i] = of_b[id(pair.b)]
            if pair.differing:
                matches[i] = pair
    ordered = sorted(partners.items())
    pairs = pair_tables(a.table, b.table, ordered, {i for i, pair in matches.items() if pair.differing_size})
    kept_a, kept_b = set(pairs.a.tolist()), set(pairs.b.tolist())
    return Common(
        pairs,
        matches,
        [i for i in range(len(a.table.keys)) if i not in kept_a],
        [j for j in range(len(b.table.keys)) if j not in kept_b],
    )
