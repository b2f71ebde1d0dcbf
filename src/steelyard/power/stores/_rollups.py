"""The rollups of the embedded store: what its readings give, kept for hours that are over, so that a day is read in an instant.

    rollups/LEVEL/FIRST-LAST.parquet    of all sensors the stretches of LEVEL seconds in these hours (numbers since 1970)

An hour has rollups where a file of the longest level covers it: that one is written last. Readings that come late remove those of
their hours before they are stored, so that what is there is always right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import sql
from steelyard.model.sensor import Rollup
from steelyard.power.rollup import LEVELS, SECOND
from steelyard.power.stores._segments import copied, database

HOUR = 3600 * SECOND  # ns
COLUMNS = ("moment", "count", "least", "mean", "greatest", "joules", "known")
SPANS = (24, 24 * 30, 24 * 360)  # hours whose files become one when they are over


@dataclass(frozen=True, slots=True)
class File:
    """`first` and `last`: hours since 1970."""

    path: Path
    first: int
    last: int


class Rollups:
    """The rollups in a store's folder."""

    def __init__(self, folder: Path) -> None:
        self._folders = {level: folder / "rollups" / str(level) for level in LEVELS}

    def files(self, level: int) -> list[File]:
        """Those that hold the hours, in their order; what a wider one covers is left out."""
        found: list[File] = []
        for path in self._folders[level].glob("*.parquet"):
            first, _, last = path.stem.partition("-")
            if first.isdecimal() and last.isdecimal() and int(last) - int(first) < SPANS[-1] and path.is_file():
                found.append(File(path, int(first), int(last)))
        chosen: list[File] = []
        for file in sorted(found, key=lambda f: (f.first, -f.last)):
            if not chosen or file.first > chosen[-1].last:
                chosen.append(file)
        return chosen

    def hours(self, level: int = LEVELS[-1]) -> set[int]:
        """The hours that have rollups."""
        return {hour for file in self.files(level) for hour in range(file.first, file.last + 1)}

    def keep(self, hour: int, made: Sequence[Rollup]) -> None:
        for found in sorted(made, key=lambda each: each.seconds):
            self._write(found, self._path(found.seconds, hour, hour))

    def forget(self, hours: Sequence[int]) -> None:
        """These hours have no rollups any more."""
        if not self._folders[LEVELS[-1]].exists():
            return
        for level in reversed(LEVELS):
            for file in self.files(level):
                gone = [hour for hour in hours if file.first <= hour <= file.last]
                if gone:
                    self._without(level, file, min(gone), max(gone))

    def read(self, level: int, sensors: Sequence[tuple[str, str]], start: int, end: int) -> tuple[Rollup, set[int]]:
        """Of these sensors the stretches that begin from `start` up to `end`, and the hours of which they are all there are."""
        chosen = [f for f in self.files(level) if f.first * HOUR < end and (f.last + 1) * HOUR > start]
        hours = self.hours() & {hour for file in chosen for hour in range(file.first, file.last + 1)}
        return self._chosen(level, chosen, sensors, start, end, hours), hours

    def _chosen(
        self,
        level: int,
        chosen: Sequence[File],
        sensors: Sequence[tuple[str, str]],
        start: int,
        end: int,
        hours: set[int],
    ) -> Rollup:
        if not chosen or not sensors:
            return _rollup(level, sensors, {name: np.empty(0) for name in ("id", *COLUMNS)})
        with database() as opened:
            named(opened, sensors)
            found = opened.execute(
                f"select id, {', '.join(COLUMNS)} from read_parquet({sql.listed(f.path for f in chosen)}) "
                "join names using (node, sensor) where moment >= $1 and moment < $2 order by id, moment",
                [start, end],
            ).fetchnumpy()
        wanted = np.isin(found["moment"] // HOUR, list(hours)) if len(found["moment"]) else np.empty(0, dtype=bool)
        return _rollup(level, sensors, found if wanted.all() else {name: found[name][wanted] for name in found})

    def merge(self, now: int) -> None:
        """The files of a day that is over become one, as those of a month and of a year. All its readings have their rollups."""
        for level in LEVELS:
            for span in SPANS:
                groups: dict[int, list[File]] = {}
                for file in self.files(level):
                    if file.first // span == file.last // span and (file.first // span + 1) * span * HOUR < now - HOUR:
                        groups.setdefault(file.first // span, []).append(file)
                for members in groups.values():
                    if len(members) > 1:
                        self._one(level, members)

    def drop(self, level: int, before: int) -> None:
        """Removes what ended before a moment (ns since 1970)."""
        for file in self.files(level):
            if (file.last + 1) * HOUR <= before:
                file.path.unlink(missing_ok=True)

    def _one(self, level: int, members: Sequence[File]) -> None:
        with database() as opened:
            query = f"select * from read_parquet({sql.listed(f.path for f in members)}) order by node, sensor, moment"
            copied(opened, query, self._path(level, members[0].first, members[-1].last))
        for member in members:
            member.path.unlink(missing_ok=True)

    def _without(self, level: int, file: File, first: int, last: int) -> None:
        for begin, end in ((file.first, first - 1), (last + 1, file.last)):
            if begin <= end:
                with database() as opened:
                    query = (
                        f"select * from read_parquet({sql.listed([file.path])}) where moment >= {begin * HOUR} "
                        f"and moment < {(end + 1) * HOUR} order by node, sensor, moment"
                    )
                    copied(opened, query, self._path(level, begin, end))
        file.path.unlink(missing_ok=True)

    def _write(self, found: Rollup, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = {"id": found.number, "moment": found.at, **{name: getattr(found, name) for name in COLUMNS[1:]}}
        with database() as opened:
            named(opened, found.sensors)
            opened.register("rows", rows)
            query = f"select node, sensor, {', '.join(COLUMNS)} from rows join names using (id) order by node, sensor, moment"
            copied(opened, query, path)

    def _path(self, level: int, first: int, last: int) -> Path:
        return self._folders[level] / f"{first}-{last}.parquet"


def named(opened: Any, sensors: Sequence[tuple[str, str]]) -> None:
    """A table of the sensors and their numbers."""
    opened.execute(
        "create temp table names as "
        "select unnest($1::varchar[]) as node, unnest($2::varchar[]) as sensor, unnest($3::integer[]) as id",
        [[node for node, _ in sensors], [sensor for _, sensor in sensors], list(range(len(sensors)))],
    )


def _rollup(level: int, sensors: Sequence[tuple[str, str]], found: dict[str, Any]) -> Rollup:
    real = [np.ma.filled(found[name], np.nan).astype(np.float64, copy=False) for name in COLUMNS[2:]]
    return Rollup(
        level,
        tuple(sensors),
        found["id"].astype(np.int32, copy=False),
        found["moment"].astype(np.int64, copy=False),
        found["count"].astype(np.int64, copy=False),
        *real,
    )
