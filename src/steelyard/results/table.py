"""The table of a run's results: all that is shown of the run but its samples.

`results.jsonl` in the folder of the run has one line on the whole run, and one for each case with its metrics and verdict.
`attempts.jsonl` has for each case, in the same order, what its records say without their samples. Both are written when the run
ends, and again whenever the files of the run or the rules have changed. docs/formats.md explains each field.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path

import msgspec

from steelyard.errors import MachineFailed, one_line
from steelyard.measure import records
from steelyard.measure.records.writing import write_whole
from steelyard.model import (
    Attempt,
    CaseSummary,
    Condition,
    Count,
    Evaluation,
    Finding,
    Machine,
    Record,
    Result,
    Run,
)
from steelyard.model.foreign import list_tools
from steelyard.model.plain import suspect, to_json
from steelyard.results.basis import Basis, find_basis, is_same
from steelyard.results.deferred import Deferred
from steelyard.system.files import LINE, lines, ordinary, others

FORMAT = 2
RESULTS, ATTEMPTS = "results.jsonl", "attempts.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The first line. `benchmarks` and `paths` are what the run measured, and the folders with further benchmarks.

    `records` is the number of records, `others` the indices of those without a result (of benchmarks that are not known here),
    `attempts` the size of `attempts.jsonl` in bytes, `notes` the problems of their files. An imported run has no records:
    `values` is the number of its values, and `tools` has the tools that measured them by benchmark.
    """

    format: int
    basis: Basis
    run: str
    started: str
    benchmarks: tuple[str, ...]
    paths: tuple[str, ...]
    machine: Machine
    condition: Condition
    findings: tuple[Finding, ...]
    records: Count
    others: tuple[Count, ...]
    attempts: Count
    notes: tuple[str, ...] = ()
    values: Count = 0
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(CaseSummary):
    """A case: all fields of its [summary](#casesummary), and the indices of its records in the run."""

    records: tuple[Count, ...]


_SHARED = [field.name for field in fields(CaseSummary)]
_HEAD = msgspec.json.Decoder(Head)
_ROW = msgspec.json.Decoder(Row)
_ATTEMPTS = msgspec.json.Decoder(tuple[Attempt, ...])
_BASIS = msgspec.json.Decoder(Basis)


def read_head(path: Path) -> Head | None:
    """Returns the first line of the table in the folder `path`; None if there is none that this version reads."""
    with (
        contextlib.suppress(OSError, ValueError, msgspec.MsgspecError, RecursionError),
        ordinary(path / RESULTS) as file,
    ):
        line = next(lines(file), b"")
        if not others(path / RESULTS) and not suspect(line):
            head = _HEAD.decode(line)
            return head if head.format == FORMAT else None
    return None


def read_current(path: Path) -> Head | None:
    """Returns the first line of the table if it belongs to the files as they are now, and no benchmarks from outside matter.

    None otherwise: then the table may still be the present one, and only who knows the benchmarks can tell.
    """
    head = read_head(path)
    with contextlib.suppress(OSError):
        if head and not head.paths and is_same(head.basis, find_basis(path, {}, head.basis)):
            return head
    return None


def restore(path: Path, head: Head, run: Run) -> tuple[Run, tuple[Result, ...]] | None:
    """Returns the run and its results as they were judged; None if the rest of the table cannot be read.

    Attempts and records are read when one is asked for.
    """
    try:
        with ordinary(path / RESULTS) as file:
            rows = [_decode_row(line) for line in list(lines(file))[1:]]
        _check_attempts(path, head)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return None
    if sum(len(row.records) for row in rows) + len(head.others) != head.records:
        return None
    encoded = Deferred(len(rows) + 1, lambda: _read_attempts(path, head, len(rows)))
    places = [*(row.records for row in rows), head.others]
    attempts = [Deferred(len(p), partial(_decode_attempts, path, encoded, n)) for n, p in enumerate(places)]
    every = Deferred(head.records, lambda: _read_judged(path, head, zip(places, attempts, strict=True)))
    run = replace(run, machine=head.machine, records=every, notes=head.notes)
    if run.imported:
        values = Deferred(head.values, lambda: imported.values if (imported := records.read(path).imported) else ())
        run = replace(run, imported=replace(run.imported, values=values))
    return run, tuple(_restore(row, of_row, every) for row, of_row in zip(rows, attempts, strict=False))


def _decode_row(line: bytes) -> Row:
    if suspect(line):
        raise ValueError("a character acts on a terminal")
    return _ROW.decode(line)


def _check_attempts(path: Path, head: Head) -> None:
    """Raises an error if the attempts are missing or belong to another table. Reads only their first line."""
    with ordinary(path / ATTEMPTS) as file:
        same = os.fstat(file.fileno()).st_size == head.attempts and _BASIS.decode(file.readline(LINE)) == head.basis
    if not same or others(path / ATTEMPTS):
        raise ValueError(f"{ATTEMPTS} does not belong to {RESULTS}")


def _read_attempts(path: Path, head: Head, rows: int) -> list[bytes]:
    """Returns a line for each row, and one for the other records."""
    try:
        _check_attempts(path, head)
        with ordinary(path / ATTEMPTS) as file:
            _, *attempts = lines(file)
    except (OSError, ValueError, msgspec.MsgspecError):
        attempts = []
    if len(attempts) != rows + 1:
        raise _describe_misfit(path)
    return attempts


def _restore(row: Row, attempts: Sequence[Attempt], every: Sequence[Record]) -> Result:
    return Result(
        **{name: getattr(row, name) for name in _SHARED},
        records=Deferred(len(row.records), lambda: [every[number] for number in row.records]),
        attempts=attempts,
    )


def _read_judged(path: Path, head: Head, attempts: Iterable[tuple[Sequence[Count], Sequence[Attempt]]]) -> list[Record]:
    """Returns the records of the run with the verdicts of the table."""
    found = list(records.read(path).records)
    try:
        for places, of_row in attempts:
            for place, attempt in zip(places, of_row, strict=True):
                found[place] = replace(found[place], verdict=attempt.verdict, aside=attempt.aside)
    except (IndexError, ValueError):
        raise _describe_misfit(path) from None
    if len(found) != head.records:
        raise _describe_misfit(path)
    return found


def _decode_attempts(path: Path, encoded: Sequence[bytes], place: int) -> tuple[Attempt, ...]:
    line = encoded[place]
    try:
        if not suspect(line):
            return _ATTEMPTS.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        pass
    raise _describe_misfit(path)


def _describe_misfit(path: Path) -> MachineFailed:
    return MachineFailed(
        f"The results of the run {one_line(str(path))} do not belong to its records. Make them again with: "
        f"steelyard judge {one_line(str(path))}"
    )


def keep_table(path: Path, evaluation: Evaluation, basis: Basis, notes: Sequence[str]) -> None:
    """Writes the table into the folder of its run, unless that cannot be written or belongs to another user."""
    with contextlib.suppress(OSError):
        if os.stat(path).st_uid == os.geteuid():
            write_table(path, evaluation, basis, notes)


def write_table(path: Path, evaluation: Evaluation, basis: Basis, notes: Sequence[str] = ()) -> None:
    """Writes the table into a folder. OSError."""
    from steelyard.statistics.results.attempts import reduce_records  # with NumPy, which readers do not need

    run = evaluation.run
    values = run.imported.values if run.imported else ()
    places = {id(record): place for place, record in enumerate(run.records)}
    of_results = [tuple(places.pop(id(record)) for record in r.records) for r in evaluation.results]
    others = tuple(places.values())
    attempts = (*(r.attempts for r in evaluation.results), reduce_records(run.records[n] for n in others))
    encoded_attempts = _join([to_json(basis), *map(to_json, attempts)])
    head = Head(
        format=FORMAT,
        basis=basis,
        run=run.id,
        started=run.started,
        benchmarks=tuple(sorted({launch.benchmark for launch in run.plan.launches})),
        paths=run.paths,
        machine=run.machine,
        condition=evaluation.condition,
        findings=evaluation.findings,
        records=len(run.records),
        others=others,
        attempts=len(encoded_attempts),
        notes=tuple(notes),
        values=len(values),
        tools=list_tools(values),
    )
    rows = (
        Row(**{name: getattr(result, name) for name in _SHARED}, records=of_result)
        for result, of_result in zip(evaluation.results, of_results, strict=True)
    )
    write_own(path / ATTEMPTS, encoded_attempts)
    write_own(path / RESULTS, _join([to_json(head), *map(to_json, rows)]))


def write_own(path: Path, content: bytes) -> None:
    """Writes a file that only this user can change, whoever could change the file that it replaces. OSError."""
    with contextlib.suppress(FileNotFoundError):
        if others(path):
            path.unlink()
    write_whole(path, content)


def _join(encoded: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in encoded)
