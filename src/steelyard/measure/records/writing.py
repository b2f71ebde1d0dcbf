"""Writes a run. Each record is appended and forced to the disk at once, so that a killed run loses none."""

import contextlib
import errno
import itertools
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from steelyard.errors import MachineFailed, UsageError
from steelyard.measure.records import sums
from steelyard.model import Machine, Plan, Record
from steelyard.model.plain import to_json, to_plain
from steelyard.system.files import replacing
from steelyard.system.keeper import temporary_folder

FORMAT = 2  # of run.json and records.jsonl; increased by each change that older versions would misread

NAME = re.compile(r"[^\W_][\w.-]{0,99}")  # of a run


class RunFolder:
    """The folder of a run that is being written. A lock on records.jsonl allows one writer at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = self._open(path / "records.jsonl")
        try:
            # The records that follow have the current format, so run.json must name it first.
            self._change(lambda about: {"format": max(about.get("format", FORMAT), FORMAT)})
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(
        cls, runs: Path, machine: Machine, plan: Plan, about: Mapping[str, Any], name: str = "",
        contents: Mapping[str, str | bytes] = MappingProxyType({}),
    ) -> "RunFolder":  # fmt: skip
        """Makes a new folder under `runs` with this name, or named after the time, completely or not at all.

        It has run.json, no records, and the files of `contents`.
        """
        path = runs
        missing = [folder for folder in (runs, *runs.parents) if not folder.exists()]
        started = datetime.now().astimezone().isoformat(timespec="seconds")
        whole = {**about, "machine": to_plain(machine), "plan": to_plain(plan)}
        try:
            runs.mkdir(parents=True, exist_ok=True)
            with temporary_folder(runs) as made:
                making = made / "run"
                making.mkdir()
                for file, content in {"records.jsonl": "", **contents}.items():
                    write_whole(making / file, content)
                for path in list_new_names(runs, name):
                    named = {"format": FORMAT, "id": path.name, "started": started, **whole}
                    write_whole(making / "run.json", json.dumps(named, indent=1))
                    try:
                        making.rename(path)
                        break
                    except OSError as error:
                        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                            raise
            return cls(path)
        except BaseException as error:
            for folder in missing:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            if not isinstance(error, OSError):
                raise
            raise MachineFailed(
                f"The run folder {path} cannot be written: {error}. Choose another with --runs FOLDER."
            ) from error

    def append(self, record: Record) -> None:
        """Adds a record as a line, which is on the disk when this returns. After a failure the file is as before."""
        line = to_json(record) + b"\n"
        end = os.lseek(self._file, 0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, end)
            raise self._explain_full_disk(f"A record cannot be written to {self.path}: {error}.") from error

    def replan(self, plan: Plan) -> None:
        """Writes the plan again, with the launches that were added."""
        self._change(lambda about: {"plan": to_plain(plan)})

    def _change(self, news: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Writes run.json again if the fields that `news` returns differ from its content."""
        file = self.path / "run.json"
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            changed = {**content, **news(content)}
            if changed != content:
                write_whole(file, json.dumps(changed, indent=1))
        except (OSError, ValueError) as error:
            raise self._explain_full_disk(f"The run folder {self.path} cannot be written: {error}.") from error

    def _explain_full_disk(self, why: str) -> MachineFailed:
        return MachineFailed(
            f"{why} All finished cases are kept. Make space on the disk and continue with: "
            f"steelyard resume {shlex.quote(str(self.path))}"
        )

    def finish(self, about: Mapping[str, Any]) -> None:
        """Marks the run as finished, with the checksums of its files."""
        try:
            write_whole(self.path / "finished.json", json.dumps(to_plain(about), indent=1))
            write_whole(self.path / sums.SUMS, sums.text(self.path))
        except OSError as error:
            raise MachineFailed(f"The run folder {self.path} cannot be written: {error}.") from error

    def close(self) -> None:
        os.close(self._file)

    @staticmethod
    def _open(path: Path) -> int:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise MachineFailed(
                f"The run {path.parent} cannot be written: {error.strerror}. Copy the run to a folder that you may write to, "
                "or start a new run with --runs FOLDER."
            ) from error
        try:
            lock(file, path.parent)
        except UsageError:
            os.close(file)
            raise
        _cut_torn_line(file)
        return file


def lock(file: int, run: Path) -> None:
    """Locks the open records of a run until they are closed. UsageError if another process writes them."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(f"Another process is writing the run {run}. Wait until it ends.") from None
    except OSError:
        pass  # a file system without locks (some NFS): the user must avoid two writers


def expect_new(runs: Path, name: str) -> None:
    """Raises UsageError for a name that no new run can have under `runs`."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' (given by --name) is not a valid name for a run. Use at most 100 characters: letters, digits, '.', "
            "'_' and '-'. The first must be a letter or a digit."
        )
    if (runs / name).exists() or (runs / name).is_symlink():
        raise UsageError(
            f"The folder '{runs}' already has a run with the name '{name}'. Choose another name with --name, or remove that "
            f"run: steelyard remove {name}"
        )


def list_new_names(runs: Path, name: str) -> Iterator[Path]:
    """Yields folders for a run of this name ("": the time) that do not exist yet. Another run may take one at the same time."""
    for attempt in itertools.count(1):
        stem = name or datetime.now().strftime("%Y%m%d-%H%M%S")
        path = runs / (stem if attempt == 1 else f"{stem}-{attempt}")
        if not (path.exists() or path.is_symlink()):
            yield path


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file so that a reader sees the old content or the new content, never a mixture."""
    with replacing(path) as making, making.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


def _cut_torn_line(file: int) -> None:
    """Removes an incomplete last line, which a killed process leaves. The case counts as not measured."""
    size = os.fstat(file).st_size
    step = 1 << 16
    at = size
    while at > 0:
        start = max(0, at - step)
        chunk = os.pread(file, at - start, start)
        line_end = chunk.rfind(b"\n")
        if line_end >= 0:
            at = start + line_end + 1
            break
        at = start
    if at != size:
        os.ftruncate(file, at)
