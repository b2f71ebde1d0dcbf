"""A run is a folder: run.json says what was planned and where, records.jsonl has one line for each case measured."""

import contextlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import msgspec

from steelyard.errors import MachineFailed, UsageError, nearest
from steelyard.evidence import KINDS
from steelyard.files import LINE, is_folder, lines, ordinary
from steelyard.garbage_collection import uncollected
from steelyard.model import Count, Record, Run
from steelyard.model.observed import without_null_parts
from steelyard.model.plain import from_json, from_plain, suspect
from steelyard.records.compact import shortened
from steelyard.records.writing import FORMAT, RunFolder, expect_new

__all__ = ["FORMAT", "RunFolder", "all_runs", "expect_new", "find", "finished_cases", "head", "read"]

END = b"\n"
LEAKED = "look"
MOST_NOTES = 1000  # lines that are no records, until the rest is not read


def read(path: Path) -> Run:
    """A run from its folder. UsageError where it is none, MachineFailed where it cannot be read; bad lines become notes."""
    run = head(path)
    with uncollected(), _opened(path, "records.jsonl") as file:
        records, notes = _read_records(lines(file))
    return replace(run, records=tuple(records), notes=(*notes, *run.notes))


def head(path: Path) -> Run:
    """The same without its records: all of run.json."""
    with _opened(path, "run.json") as file:
        text = file.read(LINE + 1)
    try:
        if len(text) > LINE:
            raise ValueError(f"it has more than {LINE >> 20} MiB")
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
    """Returns how many cases of the run have a record. Only two fields of each are read: a hundredth of the time that all of
    it takes."""
    found = set()
    with _opened(path, "records.jsonl") as file:
        for line in lines(file):
            with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
                if line.endswith(END):
                    found.add(_PLACES.decode(line))
    return len(found)


@contextlib.contextmanager
def _opened(path: Path, name: str) -> Iterator[BinaryIO]:
    """A file of the run's folder, to be read within: what goes wrong meanwhile is said, too."""
    try:
        with ordinary(path / name) as opened:
            yield opened
    except FileNotFoundError:
        raise UsageError(f"'{path}' is not a run folder: it has no {name}.{_runs_near(path)}") from None
    except OSError as error:
        raise MachineFailed(f"The run folder {path} cannot be read: {name}: {error.strerror}.") from error


def _read_records(found: Iterable[bytes]) -> tuple[list[Record], list[str]]:
    """A record ends with a line's end: what stands behind the last one is half a record."""
    records: list[Record] = []
    notes: list[str] = []
    for number, line in enumerate(found, 1):
        if line.endswith(END):
            try:
                records.append(_as_written(line) or _record(line))
            except ValueError as error:
                notes.append(f"line {number} of records.jsonl was left out: {error}")
                if len(notes) == MOST_NOTES:
                    notes.append("the rest of records.jsonl was left out: too many of its lines are no records")
                    break
        elif len(line) == LINE:
            notes.append(f"line {number} of records.jsonl was left out: it has more than {LINE >> 20} MiB")
        elif line.strip():
            notes.append(
                "the last line of records.jsonl is torn (the run was killed while writing it) and was left out"
            )
    return records, notes


_WHOLE = msgspec.json.Decoder(Record)


def _as_written(line: bytes) -> Record | None:
    """The record of a line as this version writes them; None for any other, which is looked at piece by piece."""
    if suspect(line):
        return None
    try:
        record = _WHOLE.decode(line)
    except (msgspec.DecodeError, RecursionError, OverflowError):
        return None
    return shortened(_own(record))


def _record(line: bytes) -> Record:
    found = from_json(line)
    if isinstance(found, dict):
        verdict, samples = found.get("verdict"), found.get("samples")
        if isinstance(verdict, dict) and isinstance(evidence := verdict.get("evidence"), list):
            verdict["evidence"] = [_typed(each) for each in evidence]
        if isinstance(samples, list) and None in samples:
            found["samples"] = [math.nan if seconds is None else seconds for seconds in samples]  # JSON has no NaN
        if isinstance(around := found.get("surroundings"), dict):
            found["surroundings"] = without_null_parts(around)
    return _own(from_plain(Record, found))


def _own(record: Record) -> Record:
    """The record without a word of the harness that earlier versions wrote among the parameters of every thread kernel."""
    if LEAKED not in record.parameters:
        return record
    return replace(record, parameters={name: value for name, value in record.parameters.items() if name != LEAKED})


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
