"""Keeps data that were derived from a run in the user's cache, under a hash of the run's files and of this package.

`key` is that of what follows from these two alone: nothing of a run with benchmarks from outside is kept under it. An entry
names the hash of its own content, so that one that was cut off or damaged is made anew.
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
FILES = ("run.json", "records.jsonl", "power.jsonl")
BLOCK = 1 << 20  # bytes that are hashed at once
DIGEST = 32  # bytes
DIGESTS = "digests"  # the file of those that are remembered: a line each
LARGE, MOST_TEXT = 1 << 20, 1 << 20  # bytes of a file whose hash is remembered at least, and of DIGESTS at most
SETTLED = 3 * 10**9  # ns since a file was changed: file systems count time in steps of up to 2 s
MOST = 2000  # entries
MOST_BYTES = 1 << 30  # of all entries


def key(path: Path) -> str:
    """The name of what is made of the run in the folder `path` as it is now; "" where its files cannot be read."""
    found = hashlib.blake2b(_rules_once(HOUSE), digest_size=20)
    try:
        for name in FILES:
            found.update(digest(path / name))
    except OSError:
        return ""
    found.update(repr((path / "finished.json").exists()).encode())
    return found.hexdigest()


def digest(file: Path) -> bytes:
    """The hash of a file's content; b"" where there is none. That of a large file is remembered as long as nothing changes it."""
    if not file.is_file():
        return b""
    with file.open("rb", buffering=0) as content:
        before = _identity(content)
        if known := _digests().get(before):
            return bytes.fromhex(known)
        found = hashlib.blake2b(digest_size=DIGEST)
        while block := content.read(BLOCK):
            found.update(block)
        _remember(before, _identity(content), found.hexdigest())
    return found.digest()


def _identity(file: BinaryIO | FileIO) -> str:
    """Of what an open file holds now: each change of it changes one of these, at the latest its time of change."""
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


def _remember(before: str, after: str, found: str) -> None:
    """Not of a small file, nor of one that changed while it was read or so lately that it can change within the same tick."""
    size, changed = int(after.split(":")[2]), int(after.split(":")[4])
    if before != after or size < LARGE or time.time_ns() - changed < SETTLED:
        return
    _digests()[before] = found
    with contextlib.suppress(OSError):
        user_cache.inside("runs")
        with appended(_folder() / DIGESTS) as file:
            if file.seek(0, os.SEEK_END) > MOST_TEXT:
                file.truncate(0)
            file.write(f"{before} {found}\n".encode())


def _sources(folder: Path) -> Iterator[Path]:
    """The files of this program that a judgement follows from."""
    for where, inner, names in os.walk(folder):
        inner[:] = (name for name in inner if name != "__pycache__")
        yield from (Path(where, name) for name in names if name.endswith((".py", ".csv")))


def stamps(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Returns name, time of change (ns) and size of each file, sorted; an editor's link that leads nowhere is left out."""
    return [(str(f), s.st_mtime_ns, s.st_size) for f in sorted(files) if f.is_file() for s in [f.stat()]]


def rules(house: Path) -> bytes:
    """Returns what changes with the program in the folder `house`, with Python and with the libraries that judge."""
    # The version of a library is a file of it: to ask its metadata takes longer than all the rest.
    places = [spec.origin for name in ("numpy", "scipy") if (spec := importlib.util.find_spec(name)) and spec.origin]
    tools = [(place, s.st_mtime_ns, s.st_size) for place in places for s in [os.stat(place)]]
    return repr((stamps(_sources(house)), tools, platform.python_version())).encode()


_rules_once = once(rules)


def find(name: str, what: str) -> Path | None:
    """The entry `what` under that key, whole and this user's own; None where it has to be made."""
    if not name:
        return None
    for file in _folder().glob(f"{name}.{what}.*"):
        with contextlib.suppress(OSError):
            if not others(file) and file.suffix[1:] == _short(file.read_bytes()):
                os.utime(file)
                return file
    return None


def save(name: str, what: str, content: bytes) -> None:
    """Keeps the entry; where nothing can be written nothing is."""
    if not name:
        return
    with contextlib.suppress(OSError):
        user_cache.inside("runs")
        folder = _folder()
        for old in folder.glob(f"{name}.{what}.*"):
            old.unlink(missing_ok=True)
        write_whole(folder / f"{name}.{what}.{_short(content)}", content)
        _tidy(folder)


def _short(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=10).hexdigest()


def _tidy(folder: Path) -> None:
    """Removes the entries that were used longest ago, as far as there are too many, or too large ones."""
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
