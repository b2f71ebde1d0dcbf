"""The summary and the tables of a run in the user's cache, since commands need them again and again."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from steelyard.command_line.stored_runs import Content, find_content, is_own, read_content
from steelyard.model import Evaluation
from steelyard.model.plain import to_msgpack
from steelyard.records import result_cache
from steelyard.report import columns
from steelyard.report.run_figures import RunFigures, StoredFigure, reduce_figures, restore
from steelyard.report.summary import Summary, summarised

SUMMARY, FIGURES = "summary", "figures"
_READ = msgspec.msgpack.Decoder(Summary)
_READ_FIGURES = msgspec.msgpack.Decoder(tuple[StoredFigure, ...])


def find_table(path: Path, paths: Sequence[Path], which: columns.Table, folder: Path) -> Path:
    """Returns the file of a table of a run: from the cache, or in `folder` if the cache cannot be used. SteelyardError."""
    file = folder / f"{len(list(folder.iterdir()))}.parquet"

    def write(evaluation: Evaluation) -> bytes:
        columns.write(evaluation, which, file)
        return file.read_bytes()

    content = find_content(path, paths, which, write)
    return content if isinstance(content, Path) else file


def find_summary(path: Path, paths: Sequence[Path]) -> Summary:
    """Returns the summary of a run. SteelyardError."""
    fresh: list[Summary] = []

    def pack(evaluation: Evaluation) -> bytes:
        fresh.append(summarised(evaluation))
        return to_msgpack(fresh[0])

    content = find_content(path, paths, SUMMARY, pack)
    return fresh[0] if fresh else _decode(content, path)


def find_kept_summary(path: Path) -> Summary | None:
    """Returns the summary of a run if the cache holds it, else None."""
    file = result_cache.find(result_cache.key(path), SUMMARY)
    return _decode(file, path) if file else None


def pack_figures(evaluation: Evaluation) -> bytes:
    """Returns the content from which `unpack_figures` makes the figures of a run."""
    return to_msgpack(reduce_figures(evaluation))


def unpack_figures(content: Content) -> RunFigures:
    """Returns the figures of a run by benchmark."""
    return restore(_READ_FIGURES.decode(read_content(content)))


def _decode(content: Content, path: Path) -> Summary:
    """Decodes a summary. Its folder is the path that the user gives now."""
    return replace(_READ.decode(read_content(content)), path=str(path))


def keep(path: Path, paths: Sequence[Path], evaluation: Evaluation) -> None:
    """Saves the summary of a run that has just been evaluated."""
    name = result_cache.key(path)
    if not paths and is_own(evaluation):
        result_cache.save(name, SUMMARY, to_msgpack(summarised(evaluation)))
