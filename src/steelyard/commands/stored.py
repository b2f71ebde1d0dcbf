"""What is asked of a run again and again, kept in the user's cache: its tables as columns."""

from collections.abc import Callable, Sequence
from pathlib import Path

from steelyard.model import Evaluation
from steelyard.records import result_cache
from steelyard.report import columns


def table(path: Path, paths: Sequence[Path], which: columns.Table, folder: Path) -> Path:
    """The file of a run's table: the kept one, or where nothing may be kept one in `folder`. SteelyardError."""
    file = folder / f"{len(list(folder.iterdir()))}.parquet"

    def made(evaluation: Evaluation) -> bytes:
        columns.write(evaluation, which, file)
        return file.read_bytes()

    kept = content(path, paths, which, made)
    return kept if isinstance(kept, Path) else file


def content(path: Path, paths: Sequence[Path], what: str, make: Callable[[Evaluation], bytes]) -> Path | bytes:
    """The entry of that run: the file in which it is kept, or as `make` makes it of the run's evaluation. SteelyardError."""
    name = "" if paths else result_cache.key(path)
    if file := result_cache.find(name, what):
        return file
    from steelyard.commands import outcome

    evaluation = outcome.read(path, paths)
    found = make(evaluation)
    # Not where the run has grown meanwhile, nor where other files decide, too.
    if name and _own(evaluation) and result_cache.key(path) == name:
        result_cache.save(name, what, found)
    return found


def _own(evaluation: Evaluation) -> bool:
    """Whether all that the run's plan names is of this package."""
    from steelyard.evaluation import benchmarks_of

    known = evaluation.benchmarks
    return all(
        name in known and all(result_cache.HOUSE in Path(source.path).parents for source in known[name].sources)
        for name in benchmarks_of(evaluation.run)
    )
