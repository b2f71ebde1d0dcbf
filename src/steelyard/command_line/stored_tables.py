"""What is asked of a run again and again, kept in the user's cache: its summary, and its tables as columns."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from steelyard.model import Evaluation
from steelyard.model.plain import other, visible
from steelyard.records import result_cache
from steelyard.report import columns
from steelyard.report.summary import Summary, summarised

SUMMARY = "summary"
_READ = msgspec.msgpack.Decoder(Summary)


def table(path: Path, paths: Sequence[Path], which: columns.Table, folder: Path) -> Path:
    """The file of a run's table: the kept one, or where nothing may be kept one in `folder`. SteelyardError."""
    file = folder / f"{len(list(folder.iterdir()))}.parquet"

    def made(evaluation: Evaluation) -> bytes:
        columns.write(evaluation, which, file)
        return file.read_bytes()

    kept = _content(path, paths, which, made)
    return kept if isinstance(kept, Path) else file


def summary(path: Path, paths: Sequence[Path]) -> Summary:
    """The run in a few figures. SteelyardError."""
    fresh: list[Summary] = []

    def made(evaluation: Evaluation) -> bytes:
        fresh.append(summarised(evaluation))
        return _packed(fresh[0])

    found = _content(path, paths, SUMMARY, made)
    return fresh[0] if fresh else _read(found, path)


def kept_summary(path: Path) -> Summary | None:
    """The same where it is kept already; None otherwise."""
    file = result_cache.find(result_cache.key(path), SUMMARY)
    return _read(file, path) if file else None


def _read(content: Path | bytes, path: Path) -> Summary:
    """The folder stands in it as the user names it now."""
    return replace(_READ.decode(content.read_bytes() if isinstance(content, Path) else content), path=str(path))


def _packed(of: Summary) -> bytes:
    try:
        return msgspec.msgpack.encode(of, enc_hook=other)
    except UnicodeEncodeError:  # a word of a command line that is no UTF-8
        return msgspec.msgpack.encode(visible(msgspec.to_builtins(of, enc_hook=other)))


def keep(path: Path, paths: Sequence[Path], evaluation: Evaluation) -> None:
    """Keeps the summary of a run that was evaluated just now."""
    name = result_cache.key(path)
    if not paths and _own(evaluation):
        result_cache.save(name, SUMMARY, _packed(summarised(evaluation)))


def _content(path: Path, paths: Sequence[Path], what: str, make: Callable[[Evaluation], bytes]) -> Path | bytes:
    """The entry of that run: the file in which it is kept, or as `make` makes it of the run's evaluation. SteelyardError."""
    name = "" if paths else result_cache.key(path)
    if file := result_cache.find(name, what):
        return file
    from steelyard.command_line.evaluated_run import read

    evaluation = read(path, paths)
    found = make(evaluation)
    # Not where the run has grown meanwhile, nor where other files decide, too.
    if name and _own(evaluation) and result_cache.key(path) == name:
        result_cache.save(name, what, found)
    return found


def _own(evaluation: Evaluation) -> bool:
    """Whether all that the run names is of this package."""
    from steelyard.evaluation import benchmarks_of

    known = evaluation.benchmarks
    return not evaluation.run.paths and all(
        name in known and all(result_cache.HOUSE in Path(source.path).parents for source in known[name].sources)
        for name in benchmarks_of(evaluation.run)
    )
