"""Runs that are reduced to what a comparison needs, and all other data derived from a run, in the user's cache."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.compare import stored_side
from steelyard.compare.side import SideRun, reduce_run
from steelyard.garbage_collection import uncollected
from steelyard.model import Evaluation
from steelyard.records import result_cache

SIDE = "side"
Content = Path | bytes  # a file of the cache, or what it would hold
Make = Callable[[Evaluation], bytes]


def find_side_run(path: Path, paths: Sequence[Path]) -> SideRun:
    """Returns a run as a side of a comparison. SteelyardError."""
    return unpack_side_run(find_content(path, paths, SIDE, pack_side_run), path)


def pack_side_run(evaluation: Evaluation) -> bytes:
    """Returns the content from which `unpack_side_run` makes the run as a side."""
    return stored_side.pack(reduce_run(evaluation))


def unpack_side_run(content: Content, path: Path) -> SideRun:
    """Returns the run in the folder `path` as a side of a comparison."""
    return replace(stored_side.unpack(read_content(content)), path=str(path))


def read_content(content: Content) -> bytes:
    """Returns the bytes of a content."""
    return content.read_bytes() if isinstance(content, Path) else content


def find_content(path: Path, paths: Sequence[Path], entry: str, make: Make) -> Content:
    """Returns one content of a run (see `find_contents`). SteelyardError."""
    return find_contents(path, paths, {entry: make})[entry]


def find_contents(path: Path, paths: Sequence[Path], makers: Mapping[str, Make]) -> dict[str, Content]:
    """Returns for each entry its file in the cache, or the bytes that its maker makes from the evaluation of the run.

    The run is evaluated once for all entries that the cache lacks. SteelyardError.
    """
    name = "" if paths else result_cache.key(path)
    contents: dict[str, Content] = {entry: file for entry in makers if (file := result_cache.find(name, entry))}
    if len(contents) == len(makers):
        return contents
    with uncollected():  # the modules stay as well
        from steelyard.command_line.evaluated_run import read

        evaluation = read(path, paths)
    made = {entry: make(evaluation) for entry, make in makers.items() if entry not in contents}
    # The run may have grown meanwhile, and then the key does not fit the content.
    if name and is_own(evaluation) and result_cache.key(path) == name:
        for entry, content in made.items():
            result_cache.save(name, entry, content)
    return contents | made


def is_own(evaluation: Evaluation) -> bool:
    """Returns whether the run uses benchmarks of this package only."""
    from steelyard.evaluation import list_benchmarks

    benchmarks = evaluation.benchmarks
    return not evaluation.run.paths and all(
        name in benchmarks
        and all(result_cache.HOUSE in Path(source.path).parents for source in benchmarks[name].sources)
        for name in list_benchmarks(evaluation.run)
    )
