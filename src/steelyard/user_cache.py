"""The user's own cache: where it is, and that nobody else can write to it."""

import contextlib
import os
from functools import lru_cache
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.files import others


def cache() -> Path:
    """Where programs are kept: $STEELYARD_CACHE, or the user's own cache folder. MachineFailed where others can write to it."""
    own = os.environ.get("STEELYARD_CACHE")
    folder = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steelyard"
    return _unshared(folder.absolute())


@lru_cache
def _unshared(folder: Path) -> Path:
    with contextlib.suppress(OSError):  # it is not there yet, or who reads it says what is wrong
        expect_unshared(folder)
    return folder


def inside(name: str = "") -> Path:
    """The folder of that name in the cache, made where it is missing: the cache for this user alone, whatever the umask."""
    folder = cache()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / name).mkdir(mode=0o755, exist_ok=True)
    return folder / name


def expect_unshared(path: Path) -> None:
    """Refuses a file or folder of the cache that another user can have written. MachineFailed."""
    if why := others(path):
        raise MachineFailed(
            f"Steelyard starts programs from its cache, and '{path}' cannot be trusted: {why}. Delete it, "
            "or set STEELYARD_CACHE to a folder that only you can write to."
        )
