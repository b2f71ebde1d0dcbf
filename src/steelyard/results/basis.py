"""What a table of results follows from: the files of the run, and the rules that judged them."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from steelyard import __version__, doors
from steelyard.model import Benchmark, Count
from steelyard.system.files import ordinary

HOUSE = Path(__file__).parents[1]
FILES = ("run.json", "records.jsonl", "values.jsonl", "power.jsonl")
FINISHED = "finished.json"
BLOCK = 1 << 20  # bytes that are hashed at once


@dataclass(frozen=True, slots=True)
class State:
    """A file as it was judged: its size, the time of its last change (ns since 1970), and the hash of its content."""

    size: Count
    changed: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The files and the rules from which a table was made. `files` has the files of the run by name.

    `rules` is equal if the version of Steelyard is equal.
    """

    rules: str
    files: Mapping[str, State]
    finished: bool


NO_BASIS = Basis(rules="", files={}, finished=False)


def find_basis(path: Path, benchmarks: Mapping[str, Benchmark], known: Basis | None = None) -> Basis:
    """Returns the basis of the run in the folder `path` as it is now. OSError.

    A file of the same size and time as in `known` is taken for the same, and is not read.
    """
    of_known = known.files if known else {}
    states = {name: state for name in FILES if (state := _find_state(path / name, of_known.get(name)))}
    return Basis(rules=find_rules(benchmarks), files=states, finished=(path / FINISHED).exists())


def is_same(a: Basis, b: Basis) -> bool:
    """Returns whether both describe the same content, wherever it lies."""
    contents = [{name: (state.size, state.hash) for name, state in one.files.items()} for one in (a, b)]
    return (a.rules, a.finished) == (b.rules, b.finished) and contents[0] == contents[1]


def _find_state(file: Path, known: State | None) -> State | None:
    if not file.is_file():
        return None
    with ordinary(file) as content:
        found = os.fstat(content.fileno())
        if known and (found.st_size, found.st_mtime_ns) == (known.size, known.changed):
            return known
        hashed = hashlib.blake2b(digest_size=16)
        while block := content.read(BLOCK):
            hashed.update(block)
    return State(found.st_size, found.st_mtime_ns, hashed.hexdigest())


def find_rules(benchmarks: Mapping[str, Benchmark]) -> str:
    """Returns a text that changes with this program, and with rules and benchmarks that others have added."""
    beside = {Path(source.path).parent for b in benchmarks.values() for source in b.sources}
    strange = {folder for folder in beside if HOUSE not in (folder, *folder.parents)}
    # For a benchmark from outside: the files beside it and one folder above, no deeper, since that may be anything.
    added = {file for folder in strange for near in (folder, folder.parent) for file in near.glob("*.py")}
    # A rule may call any module of its wing.
    added |= {file for folder in doors.installed("findings").values() for file in folder.parent.rglob("*.py")}
    return f"{_find_own_rules(HOUSE)} {_hash(_stamps(added))}" if added else _find_own_rules(HOUSE)


@cache
def _find_own_rules(house: Path) -> str:
    """Returns the version, and a hash of the sizes of the program's files: it is the same wherever the program is installed."""
    sizes = sorted((file.removeprefix(f"{house}/"), os.stat(file).st_size) for file in _sources(house))
    return f"{__version__} {_hash(sizes)}"


def _sources(house: Path) -> Iterator[str]:
    for where, inner, names in os.walk(house):
        inner[:] = (name for name in inner if name != "__pycache__")
        yield from (os.path.join(where, name) for name in names if name.endswith((".py", ".csv")))


def _stamps(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Returns name, time of change (ns) and size of each file, sorted; an editor's link that leads nowhere is left out."""
    return [(str(f), s.st_mtime_ns, s.st_size) for f in sorted(files) if f.is_file() for s in [f.stat()]]


def _hash(value: object) -> str:
    return hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()
