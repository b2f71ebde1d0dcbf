"""The files and folders that a user names: whether they are there, and the one place where output is written to a file.

The rule for output: the folder of a file must be there (a mistyped path makes no folders), a file that is there already is
replaced whole or stays as it was, and after a failure nothing half-made is left. A folder of runs is made.
"""

import contextlib
import errno
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from steelyard.errors import MachineFailed, UsageError

SHORT, LONG = 1 << 16, 1 << 20  # bytes that a file with one word, and one with settings, may have
LINE = 64 << 20  # bytes that a line may have in a file which another program wrote
BUFFER = 1 << 20  # bytes: a line of a record is longer than Python's usual buffer
PATIENCE = 10.0  # seconds until either has been read


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


def others(path: Path) -> str:
    """Why what is in `path` may be another user's: "it belongs to eve", "everyone can write to it"; "" where it cannot.

    Root counts as this user. So does a group that has the number of its owner, as many systems give each user one.
    """
    found = path.stat()
    if owner := _another(found):
        return f"it belongs to {owner}"
    if found.st_mode & stat.S_IWOTH:
        return "everyone can write to it"
    if found.st_mode & stat.S_IWGRP and found.st_gid not in (0, found.st_uid):
        return "its group can write to it"
    return ""


def secret(path: Path, what: str, insecure: bool | None = None) -> str:
    """The word that a file holds, without the end of its line. `what` is "password" or "token".

    UsageError where it cannot be read, is no text of at most 64 KiB, or (unless `insecure`) where others can read or write it.
    `insecure` None: the user has no such option.
    """
    try:
        content, found = _content(path, SHORT)
        text = content.decode()
    except (OSError, ValueError) as error:
        raise UsageError(f"The {what} file '{path}' cannot be read: {error}.") from None
    if stat.S_ISREG(found.st_mode) and not insecure:
        owner = _another(found)
        if owner or found.st_mode & 0o027:  # its group may read it
            why = f"it belongs to {owner}" if owner else f"mode {stat.S_IMODE(found.st_mode):o}"
            raise UsageError(
                f"Other users can read or write the {what} file '{path}' ({why}). Run: chmod 600 {path}"
                + ("" if insecure is None else "  (or accept it with --insecure)")
            )
    return text.strip("\r\n")


def settings_in(path: Path) -> str:
    """The text of a file that was written by hand. OSError; ValueError if it is no UTF-8 or has more than 1 MiB."""
    return _content(path, LONG)[0].decode()


def ordinary(path: Path) -> BinaryIO:
    """An ordinary file, opened to be read. OSError for anything else: a pipe would be waited for, some devices have no end."""
    return _ordinary(open(path, "rb", BUFFER, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)), path)


def appended(path: Path) -> BinaryIO:
    """An ordinary file, opened to be read and appended to, made where it is missing. OSError for a link, a pipe, or a device."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    return _ordinary(open(path, "a+b", opener=lambda name, _: os.open(name, flags, 0o644)), path)


def _ordinary(file: BinaryIO, path: Path) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
    return file


def append(path: Path, content: bytes) -> None:
    """Adds lines to a file, on the disk when this returns. Half a line that a killed writer left is ended before. OSError."""
    with appended(path) as file:
        if size := file.seek(0, os.SEEK_END):
            file.seek(size - 1)
            content = content if file.read(1) == b"\n" else b"\n" + content
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file with their ends; of one that is longer than LINE the first LINE bytes, without an end."""
    while line := file.readline(LINE):
        yield line
        while len(line) == LINE and line[-1:] != b"\n":
            line = file.readline(LINE)


def _content(path: Path, most: int) -> tuple[bytes, os.stat_result]:
    """The bytes of a file, or of a pipe as a shell makes it with <(command). ValueError for more than `most`, or no end."""
    content, until = b"", time.monotonic() + PATIENCE
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(file)
        while time.monotonic() < until:
            try:
                block = os.read(file, most + 1 - len(content))
            except BlockingIOError:
                time.sleep(0.01)
                continue
            content += block
            if not block and not content and stat.S_ISFIFO(found.st_mode):
                raise ValueError("it is a pipe, and nobody writes to it")
            if not block:
                return content, found
            if len(content) > most:
                raise ValueError(f"it is longer than {most >> 10} KiB")
        raise ValueError(f"it has not ended after {PATIENCE:.0f} s")
    finally:
        os.close(file)


def _another(found: os.stat_result) -> str:
    """The owner, where that is neither this user nor root; "" otherwise."""
    import pwd

    if found.st_uid in (0, os.geteuid()):
        return ""
    try:
        return pwd.getpwuid(found.st_uid).pw_name
    except KeyError:
        return f"user {found.st_uid}"


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


def expect_folder(path: Path, what: str, option: str = "--runs") -> None:
    """Refuses a folder that cannot be made or written in, as `expect_output`; what is missing of it will be made.

    `option`: by which the user names another.
    """
    whole = path.absolute()
    there = next((p for p in (whole, *whole.parents) if is_folder(p) or is_file(p)), Path("/"))
    if is_file(there):
        raise MachineFailed(
            f"{what} cannot be made in '{path}': '{there}' is a file. Choose another with {option} FOLDER."
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise MachineFailed(
            f"{what} cannot be made in '{path}': '{there}' cannot be written in. Choose another with {option} FOLDER."
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
    try:
        if special or not os.access(goal.parent, os.W_OK):
            fill(goal)
        else:
            with replacing(goal) as making:
                fill(making)
    except OSError as error:
        raise MachineFailed(
            f"{what} could not be written to '{path}': {error.strerror or error}. Make room there, or name another file."
        ) from error
    return path


@contextlib.contextmanager
def replacing(goal: Path) -> Iterator[Path]:
    """A name to write to: the file replaces `goal` whole at the end, and after an error `goal` is as it was.

    The name is in a new folder. No other user can enter it, so no other user can have put a link there.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix=".steelyard-", dir=goal.parent) as folder:
        making = Path(folder) / goal.name
        yield making
        if goal.exists():
            shutil.copymode(goal, making)
        os.replace(making, goal)
