"""The user's own cache: where it is, and that nobody else can write to it."""

import contextlib
import os
import pwd
from functools import lru_cache
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.files import others


def cache() -> Path:
    """Where programs are kept: $STEELYARD_CACHE, or the user's own cache folder. MachineFailed where others can write to it.

    A user without a home, as a container may run as any number, has a folder among the temporary ones.
    """
    own = os.environ.get("STEELYARD_CACHE")
    return _unshared((Path(own) if own else _usual()).absolute())


def _usual() -> Path:
    if above := os.environ.get("XDG_CACHE_HOME"):
        return Path(above) / "steelyard"
    own = home()
    return own / ".cache" / "steelyard" if own else temporary() / f"steelyard-{os.getuid()}"


def home() -> Path | None:
    """The user's home; None where neither HOME nor the system's list of users names one."""
    with contextlib.suppress(KeyError):
        return Path(os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
    return None


def temporary() -> Path:
    """The folder for temporary files of all users."""
    return Path(os.environ.get("TMPDIR") or "/tmp")  # who can write there is checked


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


def expect_executable() -> None:
    """MachineFailed where the file system of the cache lets no program be started."""
    folder = cache()
    present = next(path for path in (folder, *folder.parents) if path.exists())
    if os.statvfs(present).f_flag & os.ST_NOEXEC:
        raise MachineFailed(
            f"Steelyard starts programs from its cache '{folder}', but that file system is mounted with noexec, so that no "
            "program can be started from it. Set STEELYARD_CACHE to a folder on another one."
        )
