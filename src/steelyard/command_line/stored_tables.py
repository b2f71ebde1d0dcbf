"""The summary and the tables of a run in the user's cache, since commands need them again and again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from steelyard.garbage_collection import uncollected
from steelyard.model import Evaluation
from steelyard.model.plain import other, visible
from steelyard.records import result_cache
from steelyard.report import columns
from steelyard.report.summary import Summary, summarised

SUMMARY = "summary"
_READ = msgspec.msgpack.Decoder(Summary)


def find_table(path: Path, paths: Sequence[Path], which: columns.Table, folder: Path) -> Path:
    """Returns the file of a table of a run: from the cache, or in `folder` if the cache cannot be used. SteelyardError."""
    file = folder / f"{len(list(folder.iterdir()))}.parquet"

    def write(evaluation: Evaluation) -> bytes:
        columns.write(evaluation, which, file)
        return file.read_bytes()

    content = _find_content(path, paths, which, write)
    return content if isinstance(content, Path) else file


def find_summary(path: Path, paths: Sequence[Path]) -> Summary:
    """Returns the summary of a run. SteelyardError."""
    fresh: list[Summary] = []

    def pack(evaluation: Evaluation) -> bytes:
        fresh.append(summarised(evaluation))
        return _pack(fresh[0])

    content = _find_content(path, paths, SUMMARY, pack)
    return fresh[0] if fresh else _decode(content, path)


def find_kept_summary(path: Path) -> Summary | None:
    """Returns the summary of a run if the cache holds it, else None."""
    file = result_cache.find(result_cache.key(path), SUMMARY)
    return _decode(file, path) if file else None


def _decode(content: Path | bytes, path: Path) -> Summary:
    """Decodes a summary. Its folder is the path that the user gives now."""
    return replace(_READ.decode(content.read_bytes() if isinstance(content, Path) else content), path=str(path))


def _pack(short: Summary) -> bytes:
    try:
        return msgspec.msgpack.encode(short, enc_hook=other)
    except UnicodeEncodeError:  # a command line may contain words that are not UTF-8
        return msgspec.msgpack.encode(visible(msgspec.to_builtins(short, enc_hook=other)))


def keep(path: Path, paths: Sequence[Path], evaluation: Evaluation) -> None:
    """Saves the summary of a run that has just been evaluated."""
    name = result_cache.key(path)
    if not paths and _is_own(evaluation):
        result_cache.save(name, SUMMARY, _pack(summarised(evaluation)))


def _find_content(path: Path, paths: Sequence[Path], entry: str, make: Callable[[Evaluation], bytes]) -> Path | bytes:
    """Returns the cached file of an entry, or the bytes that `make` makes from the evaluation of the run. SteelyardError."""
    name = "" if paths else result_cache.key(path)
    if file := result_cache.find(name, entry):
        return file
    with uncollected():  # the modules stay as well
        from steelyard.command_line.evaluated_run import read

        evaluation = read(path, paths)
    content = make(evaluation)
    # The run may have grown meanwhile, and then the key does not fit the content.
    if name and _is_own(evaluation) and result_cache.key(path) == name:
        result_cache.save(name, entry, content)
    return content


def _is_own(evaluation: Evaluation) -> bool:
    """Returns whether the run uses benchmarks of this package only."""
    from steelyard.evaluation import list_benchmarks

    benchmarks = evaluation.benchmarks
    return not evaluation.run.paths and all(
        name in benchmarks
        and all(result_cache.HOUSE in Path(source.path).parents for source in benchmarks[name].sources)
        for name in list_benchmarks(evaluation.run)
    )
