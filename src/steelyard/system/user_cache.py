"""The cache folder of the user, and the check that nobody else can write to it."""

import contextlib
import os
import pwd
from functools import lru_cache
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.system.files import others


def cache() -> Path:
    """Returns the folder for programs: $STEELYARD_CACHE, or the user's cache folder. MachineFailed if others can write to it.

    A user without a home, as in some containers, gets a temporary folder.
    """
    chosen = os.environ.get("STEELYARD_CACHE")
    return _unshared((Path(chosen) if chosen else _choose_usual_folder()).absolute())


def _choose_usual_folder() -> Path:
    if above := os.environ.get("XDG_CACHE_HOME"):
        return Path(above) / "steelyard"
    folder = home()
    return folder / ".cache" / "steelyard" if folder else temporary() / f"steelyard-{os.getuid()}"


def home() -> Path | None:
    """Returns the user's home; None if neither HOME nor the system's list of users names one."""
    with contextlib.suppress(KeyError):
        return Path(os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
    return None


def temporary() -> Path:
    """Returns the folder for temporary files of all users."""
    return Path(os.environ.get("TMPDIR") or "/tmp")  # `expect_unshared` checks who can write there


@lru_cache
def _unshared(folder: Path) -> Path:
    with contextlib.suppress(OSError):  # it does not exist yet, or its reader reports the problem
        expect_unshared(folder)
    return folder


def inside(name: str = "") -> Path:
    """Returns the folder of that name in the cache. Makes it if it is missing, so that only this user can enter the cache."""
    folder = cache()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / name).mkdir(mode=0o755, exist_ok=True)
    return folder / name


def expect_unshared(path: Path) -> None:
    """Refuses a file or folder of the cache that another user may have written. MachineFailed."""
    if why := others(path):
        raise MachineFailed(
            f"Steelyard starts programs from its cache, so nobody else may change it. '{path}' is not safe: {why}. Delete it, "
            "or set STEELYARD_CACHE to a folder that only you can write to."
        )


def expect_executable() -> None:
    """Raises MachineFailed if the file system of the cache does not allow programs to be started."""
    folder = cache()
    present = next(path for path in (folder, *folder.parents) if path.exists())
    if os.statvfs(present).f_flag & os.ST_NOEXEC:
        raise MachineFailed(
            f"Steelyard starts programs from its cache '{folder}', but its file system is mounted with noexec, so no program "
            "can be started from it. Set STEELYARD_CACHE to a folder on another file system."
        )
