"""Keeps data that were derived from a run in the user's cache, under a hash of the run's files and of this package.

Such data follow from these two alone, so nothing is kept for a run with benchmarks from outside. The name of an entry contains
a hash of its content, so that a damaged or incomplete entry is made again.
"""

import contextlib
import hashlib
import importlib.util
import os
import platform
import time
from collections.abc import Iterable, Iterator
from functools import cache as once
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from steelyard import user_cache
from steelyard.files import appended, others
from steelyard.records.writing import write_whole

HOUSE = Path(__file__).parents[1]
FILES = ("run.json", "records.jsonl", "power.jsonl", "values.jsonl")
BLOCK = 1 << 20  # bytes that are hashed at once
DIGEST = 32  # bytes
DIGESTS = "digests"  # file of the remembered hashes, one in each line
LARGE, MOST_TEXT = 1 << 16, 1 << 20  # bytes: minimum size of a file whose hash is remembered, maximum size of DIGESTS
SETTLED = 3 * 10**9  # ns after the last change of a file: file systems count time in steps of up to 2 s
MOST = 2000  # entries
MOST_BYTES = 1 << 30  # of all entries


def key(path: Path) -> str:
    """Returns the key for data of the run in the folder `path` as it is now; "" if its files cannot be read."""
    hashed = hashlib.blake2b(_rules_once(HOUSE), digest_size=20)
    try:
        for name in FILES:
            hashed.update(digest(path / name))
    except OSError:
        return ""
    hashed.update(repr((path / "finished.json").exists()).encode())
    return hashed.hexdigest()


def digest(file: Path) -> bytes:
    """Returns the hash of a file's content; b"" if there is no file. Remembers the hash of a large file until it changes."""
    if not file.is_file():
        return b""
    with file.open("rb", buffering=0) as content:
        before = _identity(content)
        if remembered := _digests().get(before):
            return bytes.fromhex(remembered)
        hashed = hashlib.blake2b(digest_size=DIGEST)
        while block := content.read(BLOCK):
            hashed.update(block)
        _remember(before, _identity(content), hashed.hexdigest())
    return hashed.digest()


def _identity(file: BinaryIO | FileIO) -> str:
    """Returns the identity of an open file's present content. Each change of the file changes it."""
    s = os.fstat(file.fileno())
    return f"{s.st_dev}:{s.st_ino}:{s.st_size}:{s.st_mtime_ns}:{s.st_ctime_ns}"


@once
def _digests() -> dict[str, str]:
    file = _folder() / DIGESTS
    try:
        words = [] if others(file) else [line.split() for line in file.read_text(encoding="ascii").splitlines()]
    except (OSError, ValueError):
        return {}
    return {line[0]: line[1] for line in words if len(line) == 2 and len(line[1]) == 2 * DIGEST}


def _remember(before: str, after: str, digest_text: str) -> None:
    """Remembers the hash, except of a small file, of one that changed while it was read, and of one that changed just now."""
    size, changed = int(after.split(":")[2]), int(after.split(":")[4])
    if before != after or size < LARGE or time.time_ns() - changed < SETTLED:
        return
    _digests()[before] = digest_text
    with contextlib.suppress(OSError):
        user_cache.inside("runs")
        with appended(_folder() / DIGESTS) as file:
            if file.seek(0, os.SEEK_END) > MOST_TEXT:
                file.truncate(0)
            file.write(f"{before} {digest_text}\n".encode())


def _sources(folder: Path) -> Iterator[Path]:
    """Yields the files of this program that results depend on."""
    for where, inner, names in os.walk(folder):
        inner[:] = (name for name in inner if name != "__pycache__")
        yield from (Path(where, name) for name in names if name.endswith((".py", ".csv")))


def stamps(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Returns name, time of change (ns) and size of each file, sorted; an editor's link that leads nowhere is left out."""
    return [(str(f), s.st_mtime_ns, s.st_size) for f in sorted(files) if f.is_file() for s in [f.stat()]]


def rules(house: Path) -> bytes:
    """Returns bytes that change with the program in the folder `house`, with Python, NumPy and SciPy."""
    # One file stands for the version of a library, since reading its metadata takes longer than all the rest.
    places = [spec.origin for name in ("numpy", "scipy") if (spec := importlib.util.find_spec(name)) and spec.origin]
    tools = [(place, s.st_mtime_ns, s.st_size) for place in places for s in [os.stat(place)]]
    return repr((stamps(_sources(house)), tools, platform.python_version())).encode()


_rules_once = once(rules)


def find(name: str, what: str) -> Path | None:
    """Returns the file of the entry `what` under the key `name`; None if no complete entry of this user exists."""
    if not name:
        return None
    for file in _entries(_folder(), f"{name}.{what}"):
        with contextlib.suppress(OSError):
            if not others(file) and file.suffix[1:] == _short(file.read_bytes()):
                os.utime(file)
                return file
    return None


def save(name: str, what: str, content: bytes) -> None:
    """Keeps the entry. Does nothing if the cache cannot be written."""
    if not name:
        return
    with contextlib.suppress(OSError):
        user_cache.inside("runs")
        folder = _folder()
        for old in _entries(folder, f"{name}.{what}"):
            old.unlink(missing_ok=True)
        write_whole(folder / f"{name}.{what}.{_short(content)}", content)
        _tidy(folder)


_listed: dict[Path, tuple[int, dict[str, list[str]]]] = {}  # by the folder: the time of its last change, names of files


def _entries(folder: Path, entry: str) -> list[Path]:
    """Returns the files of an entry, also damaged ones. The folder is listed again only if it changed."""
    try:
        changed = folder.stat().st_mtime_ns
        if folder not in _listed or _listed[folder][0] != changed:
            files: dict[str, list[str]] = {}
            for file in os.listdir(folder):
                files.setdefault(file.rpartition(".")[0], []).append(file)
            # A second change within a step of the file system's clock would have the same time.
            _listed[folder] = (changed if time.time_ns() - changed > SETTLED else -1, files)
    except OSError:
        return []
    return [folder / file for file in _listed[folder][1].get(entry, ())]


def _short(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=10).hexdigest()


def _tidy(folder: Path) -> None:
    """Removes the entries that were used longest ago if there are too many, or if they are too large."""
    entries = sorted(
        ((s.st_mtime, s.st_size, e.path) for e in os.scandir(folder) if e.name != DIGESTS for s in [e.stat()]),
        reverse=True,
    )
    total = 0
    for number, (_, size, path) in enumerate(entries):
        total += size
        if number >= MOST or (total > MOST_BYTES and number):
            Path(path).unlink(missing_ok=True)


def _folder() -> Path:
    return user_cache.cache() / "runs"
