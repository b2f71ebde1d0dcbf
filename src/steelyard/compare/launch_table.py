"""The launch times of all cases of a side as columns, so that a hundred sides of a thousand cases compare in a second."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.compare.classes import Class
from steelyard.compare.matching import key_of
from steelyard.compare.pace import Readings
from steelyard.compare.side import SideCase
from steelyard.statistics.difference.block_sums import Blocks, sum_up
from steelyard.statistics.results.launch_medians import SECOND
from steelyard.statistics.samples.interval import Array

Indexes = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Seconds. Launches of one run that start within them share the state of the machine: on shared machines, the paces of cores and
# memory stay alike for about ten seconds.
BLOCK = 15.0


@dataclass(frozen=True, eq=False, kw_only=True)
class LaunchTable:
    """The launch times of a side. The first columns have an element for each case, the others a row for each launch of a case.

    `keys` identify the cases. `case` is the index of a row's case. In a group of runs, a launch is a whole run: its rows have
    the mean of the launches of that run. Unknown numbers are NaN.
    """

    keys: Sequence[str]
    benchmarks: Sequence[str]
    kinds: Sequence[Class]
    works: Sequence[str]
    disturbed_cases: Flags
    case: Indexes
    launch: Indexes
    began: Array
    log_seconds: Array
    disturbed: Flags
    rate: Array
    stream: Array
    is_group: bool = False
    sums: dict[bytes, Blocks] = field(default_factory=dict)  # what `sum_groups` computed

    @cached_property
    def places_of_launches(self) -> tuple[int, Indexes]:
        """The number of different launches, and for each row the place of its launch among them in rising order."""
        numbers, of_row = np.unique(self.launch, return_inverse=True)
        return len(numbers), of_row

    def count(self, clean: bool) -> Indexes:
        """Returns the number of launches of each case, or of its undisturbed launches."""
        rows = self.case[~self.disturbed] if clean else self.case
        return np.bincount(rows, minlength=len(self.keys))

    def rows(self, cases: Indexes, clean: Flags) -> Indexes:
        """Returns the rows of these cases; only undisturbed launches of those that are marked in `clean`."""
        marked = np.zeros(len(self.keys), dtype=np.int8)  # 0: not wanted, 1: undisturbed launches, 2: all launches
        marked[cases] = np.where(clean, 1, 2)
        return np.flatnonzero(marked[self.case] > self.disturbed)


def separate_launches(table: LaunchTable) -> LaunchTable:
    """Returns the table with each launch as a block of its own, if all launches of the run lie within one `BLOCK`.

    As a single block they would not show how they differ, and the launches of its cases would show more than those of all.
    """
    began = table.began[~np.isnan(table.began)]
    if table.is_group or not began.size or np.ptp(began) > BLOCK:
        return table
    return replace(table, began=np.full_like(table.began, math.nan), sums={})


def make_table(cases: Sequence[SideCase]) -> LaunchTable:
    """Returns the launch times of the cases of a run."""
    rows = [(index, time) for index, case in enumerate(cases) for time in case.times]
    times = [time for _, time in rows]
    return LaunchTable(
        keys=[write_key(case) for case in cases],
        benchmarks=[case.benchmark for case in cases],
        kinds=[case.kind for case in cases],
        works=[case.work for case in cases],
        disturbed_cases=np.array([case.level == "DISTURBED" for case in cases], dtype=bool),
        case=np.array([index for index, _ in rows], dtype=np.int64),
        launch=np.array([t.launch for t in times], dtype=np.int64),
        began=_column(t.began for t in times),
        log_seconds=np.array([math.log(t.seconds) for t in times]),
        disturbed=np.array([t.disturbed for t in times], dtype=bool),
        rate=_column(t.rate for t in times),
        stream=_column(t.stream for t in times),
    )


def write_key(case: SideCase) -> str:
    """Returns a text that is the same for the same case in other runs, and hardly ever for another case."""
    return blake2b(repr(key_of(case)).encode(errors="surrogatepass"), digest_size=12).hexdigest()


def _column(values: Iterable[float | None]) -> Array:
    return np.array([math.nan if value is None else value for value in values], dtype=float)


def merge_tables(runs: Sequence[LaunchTable]) -> tuple[LaunchTable, list[tuple[int, int]]]:
    """Returns the table of a group of runs: a row for each run of a case, with the mean of its launches.

    Also returns for each case the first run that has it, and its index in the table of that run. The undisturbed launches of
    a run are used if its case has a clean value, otherwise all.
    """
    first: dict[str, tuple[int, int]] = {}  # key → a run that has the case, and its index there
    for number, run in enumerate(runs):
        for index, key in enumerate(run.keys):
            first.setdefault(key, (number, index))
    place = {key: index for index, key in enumerate(first)}
    columns: list[tuple[NDArray[Any], ...]] = []
    for number, run in enumerate(runs):
        rows = np.flatnonzero(~run.disturbed | run.disturbed_cases[run.case])
        counts = np.bincount(run.case[rows], minlength=len(run.keys))
        measured = np.flatnonzero(counts)
        means = [
            (np.bincount(run.case[rows], column[rows], len(run.keys))[measured] / counts[measured])
            for column in (run.log_seconds, run.rate, run.stream)
        ]
        cases = np.array([place[key] for key in run.keys], dtype=np.int64)[measured]
        columns.append((cases, np.full(len(cases), number), *means, run.disturbed_cases[measured]))
    case, launch, log_seconds, rate, stream, disturbed = (np.concatenate(c) for c in zip(*columns, strict=True))
    undisturbed = np.bincount(case[~disturbed], minlength=len(first))
    where = list(first.values())
    merged = LaunchTable(
        keys=list(first),
        benchmarks=[runs[run].benchmarks[index] for run, index in where],
        kinds=[runs[run].kinds[index] for run, index in where],
        works=[runs[run].works[index] for run, index in where],
        disturbed_cases=undisturbed == 0,
        case=case,
        launch=launch,
        began=np.full(len(case), math.nan),
        log_seconds=log_seconds,
        disturbed=disturbed,
        rate=rate,
        stream=stream,
        is_group=True,
    )
    return merged, where


# --------------------------------------------------------------------------- pairs of cases


@dataclass(frozen=True, eq=False)
class CasePairs:
    """The cases that two sides have in common, as indexes of both tables. Their times are for the same work."""

    a: Indexes
    b: Indexes


def pair_tables(
    a: LaunchTable, b: LaunchTable, pairs: Sequence[tuple[int, int]], other_sizes: Collection[int]
) -> CasePairs:
    """Returns the pairs that can be compared. `other_sizes` are the cases of a whose partners have other problem sizes.

    Cases without a time, and cases of other sizes whose kernel does not count its work, cannot be compared.
    """
    of_a, of_b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    work = [a.works[i] == b.works[j] and not (i in other_sizes and a.works[i] == SECOND) for i, j in pairs]
    usable = np.array(work, dtype=bool) & (a.count(clean=False)[of_a] > 0) & (b.count(clean=False)[of_b] > 0)
    return CasePairs(of_a[usable], of_b[usable])


# --------------------------------------------------------------------------- blocks of time


Chosen = tuple[Indexes, Flags]  # cases of a table, and whether only their undisturbed launches count


def sum_groups(table: LaunchTable, groups: Sequence[Chosen], weights: Sequence[Array]) -> list[Blocks]:
    """Returns the sums of the blocks of each group of cases (see `block_sums`). No case is in two groups.

    The weights of a group follow from its cases and flags.
    """
    names = [cases.tobytes() + clean.tobytes() for cases, clean in groups]
    missing = [n for n, name in enumerate(names) if name not in table.sums]
    for n, times in zip(missing, arrange_groups(table, [groups[n] for n in missing]), strict=True):
        table.sums[names[n]] = sum_up(times, weights[n])
    return [table.sums[name] for name in names]


def arrange_blocks(table: LaunchTable, cases: Indexes, clean: Flags) -> Array:
    """Returns the mean logarithm of seconds of each case (row) in each block (column)."""
    (times,) = arrange_groups(table, [(cases, clean)])
    return times


def arrange_groups(table: LaunchTable, groups: Sequence[Chosen]) -> list[Array]:
    """Returns what `arrange_blocks` returns for each group of cases. No case is in two groups."""
    if not groups:
        return []
    sizes = np.array([len(cases) for cases, _ in groups], dtype=np.int64)
    every = np.concatenate([cases for cases, _ in groups])
    group, place = np.zeros((2, len(table.keys)), dtype=np.int64)
    group[every] = np.repeat(np.arange(len(groups)), sizes)
    place[every] = np.concatenate([np.arange(size) for size in sizes.tolist()])
    rows = table.rows(every, np.concatenate([clean for _, clean in groups]))
    case = table.case[rows]
    blocks, counts = _blocks(table, rows, group[case], len(groups))
    ends = np.cumsum(sizes * counts)
    cell = (ends - sizes * counts)[group[case]] + place[case] * counts[group[case]] + blocks
    numbers = np.bincount(cell, minlength=int(ends[-1]))
    sums = np.bincount(cell, table.log_seconds[rows], int(ends[-1]))
    with np.errstate(invalid="ignore"):
        times = sums / numbers
    return [of.reshape(size, -1) for of, size in zip(np.split(times, ends[:-1]), sizes.tolist(), strict=True)]


def _blocks(table: LaunchTable, rows: Indexes, group: Indexes, groups: int) -> tuple[Indexes, Indexes]:
    """Returns the number of the block of each row in its group, and the number of blocks of each group.

    Launches without a time are blocks of their own.
    """
    launches, of_row = table.places_of_launches
    key = group * launches + of_row[rows]
    present = np.zeros(groups * launches, dtype=bool)
    present[key] = True
    if table.is_group:
        numbers: Indexes = np.cumsum(present.reshape(groups, launches), axis=1)
        return numbers.ravel()[key] - 1, numbers[:, -1]
    began = np.full(len(present), math.inf)
    np.fmin.at(began, key, table.began[rows])
    keys = np.flatnonzero(present)
    keys = keys[np.lexsort((keys, began[keys], keys // launches))]
    blocks, counts = np.zeros(len(present), dtype=np.int64), np.zeros(groups, dtype=np.int64)
    last, count, start = -1, 0, -math.inf
    for number, of, at in zip(keys.tolist(), (keys // launches).tolist(), began[keys].tolist(), strict=True):
        if of != last:
            last, count, start = of, 0, -math.inf
        if at == math.inf or at - start > BLOCK:
            count, start = count + 1, at
        blocks[number], counts[of] = count - 1, count
    return blocks[key], counts


def read_table(table: LaunchTable, rows: Indexes) -> Readings:
    """Returns the pace beside the launches of these rows."""
    rates, streams = (column[rows] for column in (table.rate, table.stream))
    return Readings(rates[np.isfinite(rates)], streams[np.isfinite(streams)])


def trusted_rows(table: LaunchTable) -> Indexes:
    """Returns the rows that the values of the cases rest on: undisturbed launches, or all of a case that has none."""
    return np.flatnonzero(~table.disturbed | table.disturbed_cases[table.case])
