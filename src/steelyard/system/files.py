"""Checks the files and folders that a user names, and writes all output files.

Rules for output: the folder of a file must exist, since a mistyped path must not make folders. An existing file is replaced
as a whole or stays as it was. A failure leaves no incomplete file. A missing folder of runs is made.
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

SHORT, LONG = 1 << 16, 1 << 20  # maximum size in bytes of a file with one word, and of a file with settings
LINE = 64 << 20  # maximum length in bytes of a line in a file that another program wrote
BUFFER = 1 << 20  # bytes: a line of a record is longer than Python's usual buffer
PATIENCE = 10.0  # seconds within which such a file must be read


def is_folder(path: Path) -> bool:
    """Returns whether `path` is a readable folder; False also for a name that no file system allows."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Returns whether `path` is a file; False also for a name that no file system allows."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def others(path: Path) -> str:
    """Returns why another user may have written `path` ("it belongs to eve", "everyone can write to it"); "" if none can.

    Root counts as this user. So does a group that has the number of its owner, as many systems give each user one.
    """
    state = path.stat()
    if owner := _name_other_owner(state):
        return f"it belongs to {owner}"
    if state.st_mode & stat.S_IWOTH:
        return "everyone can write to it"
    if state.st_mode & stat.S_IWGRP and state.st_gid not in (0, state.st_uid):
        return "its group can write to it"
    return ""


def secret(path: Path, what: str, insecure: bool | None = None) -> str:
    """Returns the word in a file, without the end of its line. `what` is "password" or "token".

    UsageError if the file cannot be read, is not text, is longer than 64 KiB, or (unless `insecure`) if others can read or
    write it. `insecure` None: the user has no such option.
    """
    try:
        content, state = _content(path, SHORT)
        text = content.decode()
    except (OSError, ValueError) as error:
        raise UsageError(f"The {what} file '{path}' cannot be read: {error}.") from None
    if stat.S_ISREG(state.st_mode) and not insecure:
        owner = _name_other_owner(state)
        if owner or state.st_mode & 0o027:  # its group may read it
            why = f"it belongs to {owner}" if owner else f"mode {stat.S_IMODE(state.st_mode):o}"
            raise UsageError(
                f"Other users can read or write the {what} file '{path}' ({why}). Run: chmod 600 {path}"
                + ("" if insecure is None else "  (or accept it with --insecure)")
            )
    return text.strip("\r\n")


def settings_in(path: Path) -> str:
    """Returns the text of a file that was written by hand. OSError; ValueError if it is not UTF-8 or longer than 1 MiB."""
    return _content(path, LONG)[0].decode()


def ordinary(path: Path) -> BinaryIO:
    """Opens an ordinary file to be read. OSError for anything else: a pipe may block, and some devices have no end."""
    return _ordinary(open(path, "rb", BUFFER, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)), path)


def appended(path: Path) -> BinaryIO:
    """Opens an ordinary file to be read and appended to; a missing file is made. OSError for a link, a pipe or a device."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    return _ordinary(open(path, "a+b", opener=lambda name, _: os.open(name, flags, 0o644)), path)


def _ordinary(file: BinaryIO, path: Path) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not an ordinary file", str(path))
    return file


def append(path: Path, content: bytes) -> None:
    """Adds lines to a file, on the disk when this returns. Ends an incomplete last line of a killed writer first. OSError."""
    with appended(path) as file:
        if size := file.seek(0, os.SEEK_END):
            file.seek(size - 1)
            content = content if file.read(1) == b"\n" else b"\n" + content
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def lines(file: BinaryIO) -> Iterator[bytes]:
    """Yields the lines of a file with their ends. A line longer than LINE is cut to LINE bytes, without an end."""
    while line := file.readline(LINE):
        yield line
        while len(line) == LINE and line[-1:] != b"\n":
            line = file.readline(LINE)


def _content(path: Path, most: int) -> tuple[bytes, os.stat_result]:
    """Returns the bytes of a file, or of a pipe that a shell made with <(command). ValueError for more than `most`, or no end."""
    content, until = b"", time.monotonic() + PATIENCE
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        state = os.fstat(file)
        while time.monotonic() < until:
            try:
                block = os.read(file, most + 1 - len(content))
            except BlockingIOError:
                time.sleep(0.01)
                continue
            content += block
            if not block and not content and stat.S_ISFIFO(state.st_mode):
                raise ValueError("it is a pipe, and nobody writes to it")
            if not block:
                return content, state
            if len(content) > most:
                raise ValueError(f"it is longer than {most >> 10} KiB")
        raise ValueError(f"reading it took longer than {PATIENCE:.0f} s")
    finally:
        os.close(file)


def _name_other_owner(state: os.stat_result) -> str:
    """Returns the name of the owner if it is neither this user nor root; "" otherwise."""
    import pwd

    if state.st_uid in (0, os.geteuid()):
        return ""
    try:
        return pwd.getpwuid(state.st_uid).pw_name
    except KeyError:
        return f"user {state.st_uid}"


def expect_output(path: Path, what: str) -> None:
    """Refuses a file that cannot be written, before the work for it begins. `what` begins the sentence: "The report".

    UsageError for a folder, for a file in a missing folder, and for an impossible name; MachineFailed if writing is not
    allowed.
    """
    if is_folder(path):
        raise UsageError(f"{what} cannot be written to '{path}': it is a folder. Name a file in it.")
    if not is_folder(path.parent):
        problem = "is a file" if is_file(path.parent) else "does not exist"
        raise UsageError(
            f"{what} cannot be written to '{path}': the folder '{path.parent}' {problem}. Create this folder first, or name "
            "another file."
        )
    try:
        os.stat(path)
        asked = path
    except FileNotFoundError:
        asked = path.parent
    except OSError as error:  # a name that is too long, links in a circle
        raise UsageError(f"{what} cannot be written to '{path}': {error.strerror}. Name another file.") from None
    if not os.access(asked, os.W_OK):
        raise MachineFailed(
            f"{what} cannot be written to '{path}': you cannot write there. Check the permissions, or name another file."
        )


def refuse_link_or_pipe(path: Path, what: str) -> None:
    """Refuses a link or a pipe in a run's folder, which another user may have made. MachineFailed."""
    if path.is_symlink() or path.is_fifo():
        raise MachineFailed(
            f"{what} cannot be written to '{path}': it is not an ordinary file. Remove it, or name another file."
        )


def expect_folder(path: Path, what: str, option: str = "--runs") -> None:
    """Refuses a folder that cannot be made or written in, as `expect_output` does. Missing parents are allowed.

    `option` is the option by which the user names another folder.
    """
    whole = path.absolute()
    nearest = next((p for p in (whole, *whole.parents) if is_folder(p) or is_file(p)), Path("/"))
    if is_file(nearest):
        raise MachineFailed(
            f"{what} cannot be created in '{path}', because '{nearest}' is a file. Choose another folder with {option} FOLDER."
        )
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise MachineFailed(
            f"{what} cannot be created in '{path}', because you may not write to '{nearest}'. Choose another folder with "
            f"{option} FOLDER."
        )


def write(path: Path, what: str, text: str) -> Path:
    """Writes `text` to the file `path` by the rules above, and returns the path. Raises the errors of `expect_output`."""
    content = text.encode("utf-8", "replace")
    return make(path, what, lambda target: target.write_bytes(content))


def make(path: Path, what: str, fill: Callable[[Path], object]) -> Path:
    """Makes the file `path` by `fill`, which gets the name to write to, and returns the path."""
    expect_output(path, what)
    special = path.exists() and (not is_file(path) or str(path).startswith(("/dev/std", "/dev/fd/", "/proc/")))
    goal = path if special else path.resolve()  # a device or a pipe itself; a link: the file that it leads to
    try:
        if special or not os.access(goal.parent, os.W_OK):
            fill(goal)
        else:
            with replacing(goal) as making:
                fill(making)
    except OSError as error:
        raise MachineFailed(
            f"{what} could not be written to '{path}': {error.strerror or error}. Free space there, or name another file."
        ) from error
    return path


@contextlib.contextmanager
def replacing(goal: Path) -> Iterator[Path]:
    """Yields a name to write to. The file replaces `goal` at the end; after an error `goal` is as it was.

    The name is in a new folder. No other user can enter it, so no other user can have put a link there.
    """
    from steelyard.system.keeper import temporary_folder

    with temporary_folder(goal.parent) as folder:
        making = folder / goal.name
        yield making
        if goal.exists():
            shutil.copymode(goal, making)
        os.replace(making, goal)
