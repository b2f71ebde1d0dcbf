"""A reduced run in the cache: its launch times as columns, and its cases in a part that is decoded only on demand."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, overload

import msgspec
import numpy as np

from steelyard.compare.launch_table import LaunchTable, make_table
from steelyard.compare.side import LaunchTime, Side, SideCase, SideRun
from steelyard.model.plain import to_msgpack
from steelyard.once_per_object import once
from steelyard.statistics.results.variants import select_plain

_LISTS = ("keys", "benchmarks", "kinds", "works")
_COLUMNS = tuple(f.name for f in fields(LaunchTable) if f.name not in (*_LISTS, "is_group", "sums"))


class StoredCases(Sequence[SideCase]):
    """The cases of a run in the cache. `table` has their launch times."""

    def __init__(self, table: LaunchTable, packed: bytes) -> None:
        self.table, self._packed = table, packed

    @cached_property
    def untimed(self) -> tuple[SideCase, ...]:
        """The cases without the times of their launches, which take most of the decoding."""
        return _CASES.decode(self._packed)

    @cached_property
    def _cases(self) -> tuple[SideCase, ...]:
        times = _list_times(self.table)
        return tuple(replace(case, times=of) for case, of in zip(self.untimed, times, strict=True))

    def __len__(self) -> int:
        return len(self.table.keys)

    def __iter__(self) -> Iterator[SideCase]:
        return iter(self._cases)

    @overload
    def __getitem__(self, place: int) -> SideCase: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[SideCase]: ...
    def __getitem__(self, place: int | slice) -> SideCase | Sequence[SideCase]:
        return self._cases[place]

    def __eq__(self, cases: object) -> bool:
        return isinstance(cases, Sequence) and self._cases == tuple(cases)

    def __hash__(self) -> int:
        return hash(self._packed)


@dataclass(frozen=True)
class _Stored:
    run: SideRun  # without its cases
    lists: tuple[list[str], ...]
    columns: tuple[tuple[str, bytes], ...]  # type of an element, and the elements
    cases: bytes


_CASES = msgspec.msgpack.Decoder(tuple[SideCase, ...])
_STORED = msgspec.msgpack.Decoder(_Stored)


def find_table(run: SideRun) -> LaunchTable:
    """Returns the launch times of a run, as stored or from its cases."""
    return run.cases.table if isinstance(run.cases, StoredCases) else make_table(run.cases)


def list_untimed(run: SideRun) -> Sequence[SideCase]:
    """Returns the cases of a run for readers of their values: those of a stored run have no times."""
    return run.cases.untimed if isinstance(run.cases, StoredCases) else run.cases


@once
def list_plain(side: Side) -> tuple[SideCase, ...]:
    """Returns the cases of all runs of a side without those of variants (see `select_plain`), for readers of their values."""
    return select_plain([case for run in side.runs for case in list_untimed(run)])


def pack(run: SideRun) -> bytes:
    """Returns the bytes from which `unpack` makes an equal run."""
    table = make_table(run.cases)
    columns = (getattr(table, name) for name in _COLUMNS)
    return to_msgpack(
        _Stored(
            run=replace(run, cases=()),
            lists=tuple(list(getattr(table, name)) for name in _LISTS),
            columns=tuple((column.dtype.str, column.tobytes()) for column in columns),
            cases=to_msgpack(tuple(replace(case, times=()) for case in run.cases)),
        )
    )


def unpack(content: bytes) -> SideRun:
    """Returns the run that `pack` was given."""
    stored = _STORED.decode(content)
    columns: dict[str, Any] = {
        name: np.frombuffer(data, dtype) for name, (dtype, data) in zip(_COLUMNS, stored.columns, strict=True)
    }
    table = LaunchTable(**dict(zip(_LISTS, stored.lists, strict=True)), **columns)  # type: ignore[arg-type]
    return replace(stored.run, cases=StoredCases(table, stored.cases))


def _list_times(table: LaunchTable) -> list[tuple[LaunchTime, ...]]:
    times: list[list[LaunchTime]] = [[] for _ in table.keys]
    names = [f.name for f in fields(LaunchTime)]
    for case, *row in zip(table.case.tolist(), *(getattr(table, name).tolist() for name in names), strict=True):
        known: dict[str, Any] = {
            name: None if math.isnan(value) else value for name, value in zip(names, row, strict=True)
        }
        times[case].append(LaunchTime(**known))
    return [tuple(of) for of in times]
