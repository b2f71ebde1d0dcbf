"""Where the engine keeps what it has read of a long text, so that a second question does not read it again."""

import contextlib
import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.files import is_file, others
from steelyard.user_cache import inside

FOLDER = "traces"  # in the cache
LEAST = 4 << 20  # bytes of a text: shorter ones are read at once
MOST = 1 << 30  # bytes of all that is kept
ABANDONED = 3600.0  # s: what is half written for so long nobody goes on with


def place(trace: Path, program: Path) -> Path | None:
    """The file for what this program makes of a trace; None for a short one, and where the cache cannot hold any.

    The engine reads it only where the trace's size, time and content are those that it was made of, and where no other user
    can have written it. What was used longest ago is removed where there is too much.
    """
    try:
        if not is_file(trace) or trace.stat().st_size < LEAST:
            return None
        folder = inside(FOLDER)
        if others(folder) or others(folder.parent):
            return None
        name = hashlib.sha256(f"{program}\0{trace.resolve()}".encode(errors="surrogateescape")).hexdigest()[:32]
        path = folder / f"{name}.schedule"
        _make_room(folder, path, trace.stat().st_size)
        return path
    except (OSError, ValueError, MachineFailed):
        return None


def _make_room(folder: Path, path: Path, more: int) -> None:
    """Marks the file as used now, or leaves room for it."""
    now = time.time()
    if there := is_file(path):
        path.touch()
    ages = sorted(_files(folder, now), key=lambda one: one[0])
    total = sum(size for _, size, _ in ages) + (0 if there else more)
    for _, size, old in ages:
        if total <= MOST:
            return
        if old != path:
            old.unlink(missing_ok=True)
            total -= size


def _files(folder: Path, now: float) -> Iterator[tuple[float, int, Path]]:
    """When each was used last, its bytes, and its path; without those that are being written."""
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            found = file.lstat()
            if file.suffix == ".schedule":
                yield found.st_mtime, found.st_size, file
            elif ".schedule.part" in file.name and now - found.st_mtime > ABANDONED:
                file.unlink(missing_ok=True)
