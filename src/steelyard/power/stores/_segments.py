"""The segments of the embedded store: Parquet files, each written whole or not at all, whose metadata says what is in them."""

import contextlib
import functools
import itertools
import os
import uuid
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard import sql
from steelyard.model.plain import from_json, from_plain, to_json
from steelyard.power.message import Gap
from steelyard.power.stores import END

QUESTIONS = 100  # that an instance of DuckDB answers before a new one takes its place
KEY = "steelyard"  # of the metadata


@dataclass(frozen=True, slots=True)
class Metadata:
    """`batches`: of each writer the first and the last of sequences that follow each other.

    `removed`: up to which moment (ns since 1970) readings of these batches are kept no longer.
    """

    batches: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    gaps: list[tuple[str, Gap]] = field(default_factory=list)
    replaces: list[str] = field(default_factory=list)
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of readings from `first` to `last` (ns since 1970); both are 0 where it has none."""

    path: Path
    first: int
    last: int


class Sequences:
    """Whole numbers as stretches without a hole: those of a writer, who counts."""

    def __init__(self) -> None:
        self.stretches: list[tuple[int, int]] = []

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self.stretches, (number, END)) - 1
        return place >= 0 and number <= self.stretches[place][1]

    def add(self, first: int, last: int) -> None:
        touching = [s for s in self.stretches if s[0] <= last + 1 and s[1] >= first - 1]
        merged = (min([first, *(s[0] for s in touching)]), max([last, *(s[1] for s in touching)]))
        self.stretches = sorted([*(s for s in self.stretches if s not in touching), merged])


def named(path: Path) -> Segment:
    """The segment of that name. ValueError for another file's."""
    first, last, _ = path.name.split("-")
    return Segment(path, int(first), int(last))


def written(
    folder: Path, database: Any, chosen: str, span: tuple[int, int], about: Metadata, level: int = 3
) -> Segment:
    """A new segment of what a query gives in order, on the disk when this returns; `level` is zstd's."""
    text = sql.text(to_json(about).decode())
    path = folder / f"{span[0]}-{span[1]}-{uuid.uuid4().hex}.parquet"
    copied(database, chosen, path, f", compression_level {level}, kv_metadata {{{KEY}: {text}}}")
    return Segment(path, *span)


def copied(database: Any, query: str, path: Path, options: str = "") -> None:
    """What a query gives as a Parquet file that is there whole or not at all, and on the disk when this returns."""
    making = path.with_name(f"{path.name}.making")
    try:
        sql.copied(database, f"({query})", making, f"format parquet, compression zstd{options}")
        synced(making)
        os.replace(making, path)
        synced(path.parent)
    finally:
        making.unlink(missing_ok=True)


def metadata(paths: Sequence[Path]) -> dict[str, Metadata | Exception]:
    """By its name what each segment says of itself: ValueError for a damaged one, FileNotFoundError for one that was replaced."""
    import duckdb

    try:
        with database() as opened:
            rows = opened.execute(
                f"select parse_filename(file_name), value from parquet_kv_metadata({sql.listed(paths)}) where key = '{KEY}'"
            ).fetchall()
        found = {name: from_plain(Metadata, from_json(value)) for name, value in rows}
    except (duckdb.Error, ValueError) as error:
        if len(paths) > 1:  # one of them
            return {name: said for path in paths for name, said in metadata([path]).items()}
        gone = not paths[0].exists()
        return {paths[0].name: FileNotFoundError(paths[0]) if gone else ValueError(str(error).partition("\n")[0])}
    silent = ValueError("it says nothing of the batches in it")
    return {path.name: found.get(path.name, silent) for path in paths}


def together(parts: Sequence[tuple[Segment, Metadata]]) -> tuple[tuple[int, int], Metadata]:
    """From which to which moment, and the metadata, of what replaces these segments."""
    known: dict[str, Sequences] = {}
    for _, about in parts:
        for writer, stretches in about.batches.items():
            for stretch in stretches:
                known.setdefault(writer, Sequences()).add(*stretch)
    return (min(s.first for s, _ in parts), max(s.last for s, _ in parts)), Metadata(
        {writer: found.stretches for writer, found in known.items()},
        [gap for _, about in parts for gap in about.gaps],
        # What these have replaced themselves is gone, but where a writer was killed before it removed that.
        [
            name
            for segment, about in parts
            for name in (segment.path.name, *about.replaces)
            if segment.path.with_name(name).exists()
        ],
        max(about.removed for _, about in parts),
    )


@contextlib.contextmanager
def database() -> Iterator[Any]:
    """DuckDB in memory, for one question: what it makes and registers is gone afterwards, and nothing of files is held."""
    found = _instance(next(_questions) // QUESTIONS).cursor()
    try:
        yield found
    finally:
        found.close()


_questions = itertools.count()


@functools.lru_cache(maxsize=1)
def _instance(series: int) -> Any:
    """The process's own instance for a series of questions. To open one takes 10 ms, longer than most questions.

    The memory of an instance grows by some kilobytes with each question: 10 MB an hour where `tail` asks four sensors.
    """
    import duckdb

    # With a second thread the memory of a collector or of `tail` grows for hours, and large questions take as long.
    return duckdb.connect(":memory:", config={"threads": 1, "enable_external_file_cache": False})


def files(segments: Sequence[Segment]) -> str:
    """A table of all their readings."""
    return f"read_parquet({sql.listed(s.path for s in segments)})"


def synced(path: Path) -> None:
    """Forces a file or a folder to the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
