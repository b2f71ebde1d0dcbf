"""The table of a run's results: all that is shown of the run but its samples.

`results.jsonl` in the folder of the run has one line on the whole run, and one for each case with its metrics and verdict.
`attempts.jsonl` has for each case, in the same order, what its records say without their samples. Both are written when the run
ends, and again whenever the files of the run or the rules have changed. docs/formats.md explains each field.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from steelyard import records
from steelyard.errors import MachineFailed, one_line
from steelyard.files import lines, ordinary, others
from steelyard.model import (
    Attempt,
    Condition,
    Count,
    Evaluation,
    Finding,
    Limit,
    Machine,
    Parameters,
    Record,
    Result,
    Run,
    Value,
    Verdict,
)
from steelyard.model.plain import suspect, to_json
from steelyard.records.writing import write_whole
from steelyard.results.basis import Basis, find_basis, is_same
from steelyard.results.deferred import Deferred

FORMAT = 1
RESULTS, ATTEMPTS = "results.jsonl", "attempts.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The first line. `benchmarks` and `paths` are what the run measured, and the folders with further benchmarks.

    `records` is the number of records, `others` the indices of those without a result (of benchmarks that are not known here),
    `notes` the problems of their files.
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
    others: tuple[Count, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A case. `seconds` is the median time of one operation; None without usable records.

    By metric, `launches` has the values of the launches that the value uses, and `limits` the physical limit, if one is known.
    `records` are the indices of its records in the run.
    """

    benchmark: str
    kernel: str
    parameters: Parameters
    metrics: Mapping[str, Value]
    verdict: Verdict
    seconds: Value | None
    launches: Mapping[str, tuple[float, ...]]
    limits: Mapping[str, Limit]
    records: tuple[Count, ...]


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
        attempts = _read_attempts(path, head, len(rows))
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return None
    every = Deferred(head.records, lambda: _read_judged(path, head, rows, attempts))
    run = replace(run, machine=head.machine, records=every, notes=head.notes)
    return run, tuple(_restore(path, row, line, every) for row, line in zip(rows, attempts, strict=False))


def _decode_row(line: bytes) -> Row:
    if suspect(line):
        raise ValueError("a character acts on a terminal")
    return _ROW.decode(line)


def _read_attempts(path: Path, head: Head, rows: int) -> list[bytes]:
    """Returns a line for each row, and one for the other records. ValueError if they belong to another table."""
    with ordinary(path / ATTEMPTS) as file:
        first, *attempts = lines(file)
    if len(attempts) != rows + 1 or _BASIS.decode(first) != head.basis or others(path / ATTEMPTS):
        raise ValueError(f"{ATTEMPTS} does not belong to {RESULTS}")
    return attempts


def _restore(path: Path, row: Row, line: bytes, every: Sequence[Record]) -> Result:
    return Result(
        benchmark=row.benchmark,
        kernel=row.kernel,
        parameters=row.parameters,
        records=Deferred(len(row.records), lambda: [every[place] for place in row.records]),
        metrics=row.metrics,
        verdict=row.verdict,
        attempts=Deferred(len(row.records), lambda: _decode_attempts(path, line)),
        seconds=row.seconds,
        launches=row.launches,
        limits=row.limits,
    )


def _read_judged(path: Path, head: Head, rows: Iterable[Row], attempts: Iterable[bytes]) -> list[Record]:
    """Returns the records of the run with the verdicts of the table."""
    found = list(records.read(path).records)
    places = [*(row.records for row in rows), head.others]
    try:
        for of_line, line in zip(places, attempts, strict=True):
            for place, attempt in zip(of_line, _decode_attempts(path, line), strict=True):
                found[place] = replace(found[place], verdict=attempt.verdict, aside=attempt.aside)
    except (IndexError, ValueError):
        raise _describe_misfit(path) from None
    if len(found) != head.records:
        raise _describe_misfit(path)
    return found


def _decode_attempts(path: Path, line: bytes) -> tuple[Attempt, ...]:
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
    places = {id(record): place for place, record in enumerate(run.records)}
    of_results = [tuple(places.pop(id(record)) for record in r.records) for r in evaluation.results]
    others = tuple(places.values())
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
        notes=tuple(notes),
    )
    rows = (
        Row(
            benchmark=r.benchmark,
            kernel=r.kernel,
            parameters=r.parameters,
            metrics=r.metrics,
            verdict=r.verdict,
            seconds=r.seconds,
            launches=r.launches,
            limits=r.limits,
            records=of_result,
        )
        for r, of_result in zip(evaluation.results, of_results, strict=True)
    )
    attempts = (*(r.attempts for r in evaluation.results), reduce_records(run.records[n] for n in others))
    write_own(path / ATTEMPTS, _join([to_json(basis), *map(to_json, attempts)]))
    write_own(path / RESULTS, _join([to_json(head), *map(to_json, rows)]))


def write_own(path: Path, content: bytes) -> None:
    """Writes a file that only this user can change, whoever could change the file that it replaces. OSError."""
    with contextlib.suppress(FileNotFoundError):
        if others(path):
            path.unlink()
    write_whole(path, content)


def _join(encoded: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in encoded)
