"""A run is a folder: run.json says what was planned and where, records.jsonl has one line for each case measured.

Records are appended and forced to the disk one by one, so that a run that is killed loses none that was finished.
"""

import contextlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import MachineFailed, UsageError, nearest
from steelyard.evidence import KINDS
from steelyard.files import is_folder
from steelyard.model import Count, Machine, Plan, Record, Run
from steelyard.model.plain import from_json, from_plain, to_json, to_plain

FORMAT = 2  # of run.json and records.jsonl; one more for each change that older readers would misread


class RunFolder:
    """A run being written. One writer at a time: a lock on records.jsonl says so."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = self._open(path / "records.jsonl")
        try:
            # What is appended from here on may be of this format.
            self._change(lambda about: {"format": max(about.get("format", FORMAT), FORMAT)})
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, runs: Path, machine: Machine, plan: Plan, about: Mapping[str, Any]) -> "RunFolder":
        """A new folder under `runs`, named after the time; run.json is written whole or not at all."""
        path = runs
        made: list[Path] = []  # folders, of which none stays where the run cannot begin
        try:
            made, path = _new_folder(runs)
            content = {
                "format": FORMAT,
                "id": path.name,
                "started": datetime.now().astimezone().isoformat(timespec="seconds"),
                **about,
            }
            write_whole(
                path / "run.json",
                json.dumps({**content, "machine": to_plain(machine), "plan": to_plain(plan)}, indent=1),
            )
            return cls(path)
        except BaseException as error:
            _remove(made)
            if not isinstance(error, OSError):
                raise
            raise MachineFailed(
                f"The run folder {path} cannot be written: {error}. Choose another with --runs FOLDER."
            ) from error

    def append(self, record: Record) -> None:
        """One line, on the disk when this returns. After a failure the file is as it was before."""
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
            raise self._full(f"A record cannot be written to {self.path}: {error}.") from error

    def replan(self, plan: Plan) -> None:
        """Writes the plan with what was added to it."""
        self._change(lambda about: {"plan": to_plain(plan)})

    def _change(self, news: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Writes run.json anew where what `news` makes of it is not in it yet."""
        file = self.path / "run.json"
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            changed = {**content, **news(content)}
            if changed != content:
                write_whole(file, json.dumps(changed, indent=1))
        except (OSError, ValueError) as error:
            raise self._full(f"The run folder {self.path} cannot be written: {error}.") from error

    def _full(self, why: str) -> MachineFailed:
        return MachineFailed(
            f"{why} Nothing that was finished is lost; make room and go on with: steelyard resume {self.path}"
        )

    def finish(self, about: Mapping[str, Any]) -> None:
        """Says that the plan was carried out to its end."""
        try:
            write_whole(self.path / "finished.json", json.dumps(to_plain(about), indent=1))
        except OSError as error:
            raise MachineFailed(f"The run folder {self.path} cannot be written: {error}.") from error

    def close(self) -> None:
        os.close(self._file)

    @staticmethod
    def _open(path: Path) -> int:
        import fcntl

        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise MachineFailed(
                f"The run {path.parent} cannot be written: {error.strerror}. Copy it to where writing is allowed, or start a "
                "new run with --runs FOLDER."
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise UsageError(
                f"The run {path.parent} is being written by another process; wait until it ends."
            ) from None
        except OSError:
            pass  # a file system without locks (some NFS): one writer is then the user's own care
        _cut_torn_line(file)
        return file


def _new_folder(runs: Path) -> tuple[list[Path], Path]:
    """A folder named after the time; and all that were made for it, the innermost first."""
    missing = [folder for folder in (runs, *runs.parents) if not folder.exists()]
    runs.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, 1000):
        stem = datetime.now().strftime("%Y%m%d-%H%M%S")
        path = runs / (stem if attempt == 1 else f"{stem}-{attempt}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        except OSError:
            _remove(missing)
            raise
        return [path, *missing], path
    raise MachineFailed(f"'{runs}' holds a thousand runs of this second: choose another folder with --runs.")


def _remove(folders: list[Path]) -> None:
    """The first with all that it holds, the others where nothing else is in them."""
    for folder in folders[:1]:
        for file in folder.glob("*"):
            file.unlink(missing_ok=True)
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def write_whole(path: Path, text: str) -> None:
    """Writes a file so that a reader sees the old one or the new one, never half of it."""
    making = path.with_name(path.name + ".making")
    try:
        with making.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(making, path)
    except OSError:
        making.unlink(missing_ok=True)
        raise


def _cut_torn_line(file: int) -> None:
    """A process killed in the middle of a write leaves half a line: the case counts as not measured."""
    size = os.fstat(file).st_size
    step = 1 << 16
    at = size
    while at > 0:
        start = max(0, at - step)
        chunk = os.pread(file, at - start, start)
        found = chunk.rfind(b"\n")
        if found >= 0:
            at = start + found + 1
            break
        at = start
    if at != size:
        os.ftruncate(file, at)


def read(path: Path) -> Run:
    """A run from its folder. UsageError where it is none, MachineFailed where it cannot be read; bad lines become notes."""
    run = head(path)
    records, notes = _read_records(_content(path, "records.jsonl").split(b"\n"))
    return replace(run, records=tuple(records), notes=(*notes, *run.notes))


def head(path: Path) -> Run:
    """The same without its records: all of run.json."""
    text = _content(path, "run.json")
    try:
        about = from_json(text)
        if not isinstance(about, dict):
            raise ValueError("an object was expected")
        version = about.get("format", FORMAT)
        if not isinstance(version, int):
            raise ValueError(f"'{version}' is no format")
        newer = f"the run was written by a newer Steelyard (format {version}, this one knows {FORMAT})"
        if about.get("slurm_job") and "job" not in about:  # as it was called in format 1
            about["job"] = f"slurm {about['slurm_job']}"
        known = {"path": str(path), "finished": (path / "finished.json").exists(), "records": []}
        return from_plain(Run, {**about, **known, "notes": [newer] if version > FORMAT else []})
    except ValueError as error:
        raise MachineFailed(
            f"The run folder {path} cannot be read: run.json is not of the expected form ({error})."
        ) from None


@dataclass(frozen=True, slots=True)
class _Place:
    launch: Count
    case: Count


_PLACES = msgspec.json.Decoder(_Place)


def finished_cases(path: Path) -> int:
    """How many cases of the run have a record. Only two fields of each are read: a hundredth of the time that all of it takes."""
    found = set()
    for line in _content(path, "records.jsonl").split(b"\n")[:-1]:
        with contextlib.suppress(msgspec.MsgspecError, RecursionError):
            found.add(_PLACES.decode(line))
    return len(found)


def _content(path: Path, name: str) -> bytes:
    try:
        return (path / name).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"'{path}' is not a run folder: it has no {name}.{_runs_near(path)}") from None
    except OSError as error:
        raise MachineFailed(f"The run folder {path} cannot be read: {error}.") from error


def _read_records(lines: list[bytes]) -> tuple[list[Record], list[str]]:
    """A record ends with a line's end: what stands behind the last one is half a record."""
    records: list[Record] = []
    notes: list[str] = []
    *whole, rest = lines
    for number, line in enumerate(whole, 1):
        try:
            records.append(_record(line))
        except ValueError as error:
            notes.append(f"line {number} of records.jsonl was left out: {error}")
    if rest.strip():
        notes.append("the last line of records.jsonl is torn (the run was killed while writing it) and was left out")
    return records, notes


def _record(line: bytes) -> Record:
    found = from_json(line)
    if isinstance(found, dict):
        verdict, samples = found.get("verdict"), found.get("samples")
        if isinstance(verdict, dict) and isinstance(evidence := verdict.get("evidence"), list):
            verdict["evidence"] = [_typed(each) for each in evidence]
        if isinstance(samples, list) and None in samples:
            found["samples"] = [math.nan if seconds is None else seconds for seconds in samples]  # JSON has no NaN
    return from_plain(Record, found)


def _typed(evidence: object) -> object:
    """Evidence of format 1, a sentence that began with its kind, as an object; any other as it is."""
    if not isinstance(evidence, str):
        return evidence
    kind, _, text = evidence.partition(": ")
    return {"kind": kind, "text": text} if kind in KINDS else {"kind": "", "text": evidence}


def find(runs: Path, name: str | None) -> Path:
    """The folder of the run that a user names: a path, an id under `runs`, or None for the newest."""
    if name is None:
        known = all_runs(runs)
        if not known:
            raise UsageError(f"There is no run in '{runs}' yet. Make one with: steelyard run")
        return known[-1]
    if not name:
        raise UsageError("The name of the run is empty: expected its id or its folder.")
    for path in (Path(name), runs / name):
        if is_folder(path):
            return path
    raise UsageError(
        f"There is no run '{name}', neither as a folder nor in '{runs}'. {nearest(name, (p.name for p in all_runs(runs)))}"
    )


def all_runs(runs: Path) -> list[Path]:
    """The run folders under `runs`, oldest first."""
    return (
        sorted((p.parent for p in runs.glob("*/run.json")), key=lambda p: (p / "run.json").stat().st_mtime)
        if is_folder(runs)
        else []
    )


def _runs_near(path: Path) -> str:
    inside = all_runs(path)
    return f" It holds runs, though; the newest is '{inside[-1]}'." if inside else ""
