"""The files and folders that a user names: whether they are there, and the one place where output is written to a file.

The rule for output: the folder of a file must be there (a mistyped path makes no folders), a file that is there already is
replaced whole or stays as it was, and after a failure nothing half-made is left. A folder of runs is made.
"""

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError


def is_folder(path: Path) -> bool:
    """Whether `path` is a folder that can be looked at; False also for a name that no file system takes."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether `path` is a file; False also for a name that no file system takes."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def expect_output(path: Path, what: str) -> None:
    """Refuses a file that cannot be written, before the work for it is done. `what` begins the sentence: "The report".

    UsageError for a folder, for a file in a folder that is missing, and for an impossible name; MachineFailed where writing is
    not allowed.
    """
    if is_folder(path):
        raise UsageError(f"{what} cannot be written to '{path}': that is a folder. Name a file in it.")
    if not is_folder(path.parent):
        there = "is a file" if is_file(path.parent) else "is not there"
        raise UsageError(
            f"{what} cannot be written to '{path}': the folder '{path.parent}' {there}. Make it first, or name another."
        )
    try:
        os.stat(path)
        asked = path
    except FileNotFoundError:
        asked = path.parent
    except OSError as error:  # a name that is too long, links in a circle
        raise UsageError(f"{what} cannot be written to '{path}': {error.strerror}. Name another file.") from None
    if not os.access(asked, os.W_OK):
        raise MachineFailed(f"{what} cannot be written to '{path}': writing is not allowed there. Name another file.")


def expect_own(path: Path, what: str) -> None:
    """Refuses a place in a run's folder, which may be a stranger's, where a link or a pipe stands. MachineFailed."""
    if path.is_symlink() or path.is_fifo():
        raise MachineFailed(
            f"{what} cannot be written to '{path}': that is no ordinary file. Remove it, or name another."
        )


def expect_folder(path: Path, what: str) -> None:
    """Refuses a folder that cannot be made or written in, as `expect_output`; what is missing of it will be made."""
    whole = path.absolute()
    there = next((p for p in (whole, *whole.parents) if is_folder(p) or is_file(p)), Path("/"))
    if is_file(there):
        raise MachineFailed(
            f"{what} cannot be made in '{path}': '{there}' is a file. Choose another with --runs FOLDER."
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise MachineFailed(
            f"{what} cannot be made in '{path}': '{there}' cannot be written in. Choose another with --runs FOLDER."
        )


def write(path: Path, what: str, text: str) -> Path:
    """Writes `text` to the file `path` and returns it, by the rule above; errors as `expect_output`'s."""
    content = text.encode("utf-8", "replace")
    return make(path, what, lambda target: target.write_bytes(content))


def make(path: Path, what: str, fill: Callable[[Path], object]) -> Path:
    """The file `path` as `fill` makes it under the name that it is given."""
    expect_output(path, what)
    special = path.exists() and (not is_file(path) or str(path).startswith(("/dev/", "/proc/")))  # a device, a pipe
    goal = path if special else path.resolve()  # of a link the file that it means
    direct = special or not os.access(goal.parent, os.W_OK)
    making = goal if direct else goal.with_name(f".steelyard-{os.getpid()}.making")
    try:
        fill(making)
        if not direct:
            if goal.exists():
                shutil.copymode(goal, making)
            os.replace(making, goal)
    except OSError as error:
        raise MachineFailed(
            f"{what} could not be written to '{path}': {error.strerror or error}. Make room there, or name another file."
        ) from error
    finally:
        if not direct:
            with contextlib.suppress(OSError):
                making.unlink(missing_ok=True)
    return path
