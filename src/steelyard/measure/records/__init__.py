"""Reads the folder of a run: run.json has the plan and the machine, records.jsonl one line for each measured case."""

import contextlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import msgspec

from steelyard.errors import MachineFailed, UsageError, nearest
from steelyard.measure.records.compact import shortened
from steelyard.measure.records.writing import FORMAT, RunFolder, expect_new
from steelyard.model import Count, ForeignValue, Record, Run
from steelyard.model.evidence import KINDS
from steelyard.model.observed import remove_null_parts
from steelyard.model.plain import from_json, from_plain, suspect
from steelyard.model.words import plural
from steelyard.system.files import LINE, is_folder, lines, ordinary

__all__ = ["FORMAT", "RunFolder", "all_runs", "expect_new", "find", "finished_cases", "head", "read"]

END = b"\n"
LEAKED = "look"
VALUES = "values.jsonl"  # of an imported run, instead of records.jsonl
MOST_NOTES = 1000  # invalid lines, after which the rest of the file is not read


def read(path: Path) -> Run:
    """Reads a run from its folder. UsageError if it is not a run, MachineFailed if it cannot be read; bad lines become notes."""
    run = head(path)
    if run.imported:
        values, notes = _read_values(path)
        imported = replace(run.imported, values=tuple(values))
        return replace(run, imported=imported, notes=(*notes, *run.notes))
    with _open_file(path, "records.jsonl") as file:
        records, notes = _read_records(lines(file))
    return replace(run, records=tuple(records), notes=(*notes, *run.notes))


def head(path: Path) -> Run:
    """Reads a run without its records: only run.json."""
    with _open_file(path, "run.json") as file:
        text = file.read(LINE + 1)
    try:
        if len(text) > LINE:
            raise ValueError(f"it has more than {LINE >> 20} MiB")
        about = from_json(text)
        if not isinstance(about, dict):
            raise ValueError("an object was expected")
        version = about.get("format", FORMAT)
        if not isinstance(version, int):
            raise ValueError(f"'{version}' is not a format number")
        if version > FORMAT:
            raise _describe_newer(path, version)
        if about.get("slurm_job") and "job" not in about:  # the name in format 1
            about["job"] = f"slurm {about['slurm_job']}"
        state = {"path": str(path), "finished": (path / "finished.json").exists(), "records": [], "notes": []}
        return from_plain(Run, {**about, **state})
    except ValueError as error:
        raise MachineFailed(
            f"The run folder {path} cannot be read: run.json is not of the expected form ({error})."
        ) from None


def _describe_newer(path: Path, version: int) -> MachineFailed:
    return MachineFailed(
        f"The run folder {path} cannot be read: a newer Steelyard wrote it in format {version}, and this Steelyard reads formats "
        f"up to {FORMAT}. Install the newer Steelyard."
    )


@dataclass(frozen=True, slots=True)
class _Place:
    launch: Count
    case: Count


_PLACES = msgspec.json.Decoder(_Place)


def finished_cases(path: Path) -> int:
    """Returns how many cases of the run have a record. Reads only two fields of each, in a hundredth of the time of `read`."""
    cases = set()
    with _open_file(path, "records.jsonl") as file:
        for line in lines(file):
            with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
                if line.endswith(END):
                    cases.add(_PLACES.decode(line))
    return len(cases)


def find_seconds(path: Path) -> float | None:
    """Returns how long the run in the folder `path` took; None if it did not finish, or if this is not known."""
    with contextlib.suppress(OSError, ValueError), ordinary(path / "finished.json") as file:
        about = from_json(file.read())
        seconds = about.get("seconds") if isinstance(about, dict) else None
        if isinstance(seconds, int | float) and 0 < seconds < math.inf:
            return float(seconds)
    return None


@contextlib.contextmanager
def _open_file(path: Path, name: str) -> Iterator[BinaryIO]:
    """Opens a file of the run's folder for a block. Explains errors of the opening and of the block."""
    try:
        with ordinary(path / name) as opened:
            yield opened
    except FileNotFoundError:
        raise UsageError(f"'{path}' is not a run folder: it has no {name}.{_runs_near(path)}") from None
    except OSError as error:
        raise MachineFailed(f"The run folder {path} cannot be read: {name}: {error.strerror}.") from error


def _read_records(lines: Iterable[bytes]) -> tuple[list[Record], list[str]]:
    """Returns the records of the lines and notes on the others. A last line without an end is an incomplete record.

    A line that is there twice, such as after a copy that was repeated, is one record and no further launch.
    """
    records: list[Record] = []
    notes: list[str] = []
    known, repeated = set[int](), 0
    for number, line in enumerate(lines, 1):
        if line.endswith(END):
            if hash(line) in known:
                repeated += 1
                continue
            known.add(hash(line))
            try:
                records.append(_decode_current(line) or _record(line))
            except ValueError as error:
                notes.append(f"line {number} of records.jsonl was left out: {error}")
                if len(notes) == MOST_NOTES:
                    notes.append("the rest of records.jsonl was left out: too many of its lines are not records")
                    break
        elif len(line) == LINE:
            notes.append(f"line {number} of records.jsonl was left out: it has more than {LINE >> 20} MiB")
        elif line.strip():
            notes.append(
                "the last line of records.jsonl is incomplete, because the run was killed while it wrote this line; the line "
                "was left out"
            )
    if repeated:
        notes.append(
            f"{plural(repeated, 'line')} of records.jsonl {'repeat' if repeated > 1 else 'repeats'} earlier ones"
        )
    return records, notes


def _read_values(path: Path) -> tuple[list[ForeignValue], list[str]]:
    """Returns the values of an imported run, and notes on lines that are none."""
    values: list[ForeignValue] = []
    notes: list[str] = []
    with _open_file(path, VALUES) as file:
        for number, line in enumerate(lines(file), 1):
            try:
                values.append(from_plain(ForeignValue, from_json(line)))
            except ValueError as error:
                notes.append(f"line {number} of {VALUES} was left out: {error}")
                if len(notes) == MOST_NOTES:
                    break
    return values, notes


_WHOLE = msgspec.json.Decoder(Record)


def _decode_current(line: bytes) -> Record | None:
    """Returns the record of a line that this version wrote; None for any other, which `_record` reads in steps."""
    if suspect(line):
        return None
    try:
        record = _WHOLE.decode(line)
    except (msgspec.DecodeError, RecursionError, OverflowError):
        return None
    return shortened(_drop_look(record))


def _record(line: bytes) -> Record:
    content = from_json(line)
    if isinstance(content, dict):
        verdict, samples = content.get("verdict"), content.get("samples")
        if isinstance(verdict, dict) and isinstance(evidence := verdict.get("evidence"), list):
            verdict["evidence"] = [_convert_evidence(entry) for entry in evidence]
        if isinstance(samples, list) and None in samples:
            content["samples"] = [math.nan if seconds is None else seconds for seconds in samples]  # JSON has no NaN
        if isinstance(around := content.get("surroundings"), dict):
            content["surroundings"] = remove_null_parts(around)
    return _drop_look(from_plain(Record, content))


def _drop_look(record: Record) -> Record:
    """Returns the record without the parameter "look", which earlier versions added to every thread kernel by mistake."""
    if LEAKED not in record.parameters:
        return record
    return replace(record, parameters={name: value for name, value in record.parameters.items() if name != LEAKED})


def _convert_evidence(evidence: object) -> object:
    """Converts evidence of format 1, a sentence that begins with its kind, to an object. Returns any other as it is."""
    if not isinstance(evidence, str):
        return evidence
    kind, _, text = evidence.partition(": ")
    return {"kind": kind, "text": text} if kind in KINDS else {"kind": "", "text": evidence}


def find(runs: Path, name: str | None) -> Path:
    """Returns the folder of the run that a user names: a path, an id under `runs`, or None for the newest."""
    if name is None:
        existing = all_runs(runs)
        if not existing:
            raise UsageError(f"There is no run in '{runs}' yet. Start one with: steelyard run")
        return existing[-1]
    if not name:
        raise UsageError("The name of the run is empty. Give the id of a run or its folder.")
    for path in (Path(name), runs / name):
        if is_folder(path):
            return path
    raise UsageError(
        f"There is no run '{name}', neither as a folder nor in '{runs}'. {nearest(name, (p.name for p in all_runs(runs)))}"
    )


def find_each(runs: Path, names: Sequence[str] | None) -> list[Path]:
    """Returns the folder of each run that a user names, once; without any, that of the newest run."""
    return [find(runs, name) for name in dict.fromkeys(names)] if names else [find(runs, None)]


def all_runs(runs: Path) -> list[Path]:
    """Returns the run folders under `runs`, the oldest first."""
    return (
        sorted((p.parent for p in runs.glob("*/run.json")), key=lambda p: (p / "run.json").stat().st_mtime)
        if is_folder(runs)
        else []
    )


def _runs_near(path: Path) -> str:
    inside = all_runs(path)
    return f" It contains runs; the newest is '{inside[-1]}'." if inside else ""
