"""The cache of long texts that the engine has read, so that it does not read them again."""

import contextlib
import hashlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.system.files import is_file, others
from steelyard.system.user_cache import inside

FOLDER = "traces"  # in the cache
LEAST = 4 << 20  # bytes: shorter texts are read quickly
MOST = 1 << 30  # bytes of all entries, if there are several
SPARE = 2  # bytes that must be free for each byte of a text; its entry is about a third as large
ABANDONED = 3600.0  # s after which an unfinished entry is removed


def find_entry(trace: Path, program: Path) -> Path | None:
    """Returns the file for the entry of a trace; None for a short trace, or if the cache cannot be used.

    The engine uses an entry only if the size, time and content of the trace are the same, and if no other user can have
    written it. The entries that were used longest ago are removed if the cache is full. No entry is made if the disk is nearly
    full.
    """
    try:
        if not is_file(trace) or trace.stat().st_size < LEAST:
            return None
        folder = inside(FOLDER)
        if others(folder) or others(folder.parent):
            return None
        if shutil.disk_usage(folder).free < SPARE * trace.stat().st_size:
            return None
        name = hashlib.sha256(f"{program}\0{trace.resolve()}".encode(errors="surrogateescape")).hexdigest()[:32]
        path = folder / f"{name}.schedule"
        _make_room(folder, path, trace.stat().st_size)
        return path
    except (OSError, ValueError, MachineFailed):
        return None


def _make_room(folder: Path, path: Path, more: int) -> None:
    """Marks the entry as used now, or makes room for it."""
    now = time.time()
    if exists := is_file(path):
        path.touch()
    ages = sorted(_list_entries(folder, now), key=lambda one: one[0])
    total = sum(size for _, size, _ in ages) + (0 if exists else more)
    for _, size, old in ages:
        if total <= MOST:
            return
        if old != path:
            old.unlink(missing_ok=True)
            total -= size


def _list_entries(folder: Path, now: float) -> Iterator[tuple[float, int, Path]]:
    """Yields the time of the last use, the bytes and the path of each finished entry."""
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            status = file.lstat()
            if file.suffix == ".schedule":
                yield status.st_mtime, status.st_size, file
            elif ".schedule.part" in file.name and now - status.st_mtime > ABANDONED:
                file.unlink(missing_ok=True)
