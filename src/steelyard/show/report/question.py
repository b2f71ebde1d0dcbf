"""Answers SQL over the tables `metrics` and `samples`: it reads the runs and nothing else, within limits of time and memory."""

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from steelyard.errors import MachineFailed, UsageError
from steelyard.model import Evaluation
from steelyard.model.units import binary_size, duration
from steelyard.results.basis import NO_BASIS
from steelyard.results.table import RESULTS, write_table
from steelyard.show.report import columns
from steelyard.show.report.columns import METRICS, SAMPLES, Table
from steelyard.system import signals, sql

AT_ONCE = 1000  # rows
LOOK = 0.05  # seconds between two looks at the limits
GRACE = 5.0  # seconds in which DuckDB may end what it has been told to end
BESIDE = 256 << 20  # bytes: what Python and an answer's rows may take beside DuckDB's own memory
COLUMNS = f"Tables are metrics ({METRICS}) and samples ({SAMPLES})."

Answer = TypeVar("Answer")
Row = tuple[Any, ...]
Files = Callable[[Table, Path], Iterable[Path]]  # of a table, each run's; what is not kept is made in that folder


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds in which DuckDB works for the query (without what the reader of the answer takes), and bytes of memory."""

    seconds: float = 60.0
    memory: int = field(default_factory=lambda: os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)


def query(
    asked_of: Iterable[Evaluation] | Files, asked: str, limits: Limits | None = None
) -> tuple[list[str], Iterator[Row]]:
    """Column names and rows, which come as they are read. UsageError with DuckDB's own words.

    MachineFailed beyond the limits. What DuckDB cannot be stopped in (to build one text of a gigabyte) ends the process then.
    """
    with signals.held():
        import duckdb

    try:
        if not duckdb.extract_statements(asked):
            raise UsageError(f'The query is empty. Give SQL, such as "select * from metrics limit 5".\n{COLUMNS}')
    except duckdb.Error as error:
        raise UsageError(f"The query cannot be answered: {error}\n{COLUMNS}") from error
    files = asked_of if callable(asked_of) else _write_files(list(asked_of))
    named = [table for table in columns.TABLES if table in asked.lower()]
    if len(named) == 1:
        # A query can make a table's name of pieces: where one is missing, all are there the next time.
        with contextlib.suppress(_Missing):
            return _read_columns(_answer_query(files, named, asked, limits or Limits()))
    # A name that does not exist is an error also on empty tables, before the samples of all runs are read.
    _read_columns(_answer_query(lambda table, folder: (), columns.TABLES, asked, limits or Limits()))
    return _read_columns(_answer_query(files, columns.TABLES, asked, limits or Limits()))


class _Missing(Exception):
    """A query of a table that is not loaded."""


def _read_columns(rows: Iterator[Row]) -> tuple[list[str], Iterator[Row]]:
    return list(next(rows)), rows


def _write_files(evaluations: Sequence[Evaluation]) -> Files:
    def files(table: Table, folder: Path) -> Iterator[Path]:
        for number, evaluation in enumerate(evaluations):
            yield write_source(evaluation, table, folder / f"{number}-{table}")

    return files


def write_source(evaluation: Evaluation, table: Table, folder: Path) -> Path:
    """Writes what the table of a run is loaded from into a new folder, and returns the file. OSError."""
    folder.mkdir()
    if table == "metrics":
        write_table(folder, evaluation, NO_BASIS)
        return folder / RESULTS
    columns.write(evaluation, table, folder / "samples.parquet")
    return folder / "samples.parquet"


def _answer_query(files: Files, tables: Sequence[Table], asked: str, limits: Limits) -> Iterator[Row]:
    """Yields the names of the columns, then the rows."""
    with signals.held():
        import duckdb

    # It writes nowhere: what does not fit into the memory is refused.
    settings: dict[str, Any] = {**sql.choose_threads(), "memory_limit": f"{limits.memory}B", "temp_directory": ""}
    with _found(files, tables) as by_table, _explain_errors(limits), contextlib.ExitStack() as stack:
        with signals.held():
            base = stack.enter_context(duckdb.connect(config=settings))
            guard = stack.enter_context(_Guard(limits, base.interrupt))
            with sql.ended_by_signal(base.interrupt):
                for table, paths in by_table.items():
                    columns.load(base, table, paths)
                base.execute("SET enable_external_access = false")
                base.execute("SET lock_configuration = true")
        try:
            answer = guard.during(lambda: base.execute(asked))
        except duckdb.CatalogException:
            if len(tables) < len(columns.TABLES):
                raise _Missing from None
            raise
        yield tuple(column[0] for column in answer.description or [])
        while rows := guard.during(lambda: answer.fetchmany(AT_ONCE)):
            yield from rows


@contextlib.contextmanager
def _found(files: Files, tables: Sequence[Table]) -> Iterator[Mapping[Table, Sequence[Path]]]:
    """The files of each table."""
    with tempfile.TemporaryDirectory() as folder:
        yield {table: list(files(table, Path(folder))) for table in tables}


@contextlib.contextmanager
def _explain_errors(limits: Limits) -> Iterator[None]:
    """Translates the errors of DuckDB."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException:
        raise MachineFailed(_too_large(limits)) from None
    except duckdb.InterruptException:
        raise MachineFailed(_too_long(limits)) from None
    except (duckdb.Error, ValueError, OverflowError) as error:  # the last two: an answer that Python has no form for
        raise UsageError(f"The query cannot be answered: {error}\n{COLUMNS}") from error


def _too_long(limits: Limits) -> str:
    return (
        f"The query takes longer than {duration(limits.seconds)}. Select fewer runs or columns, or allow more time with "
        "--limit-time."
    )


def _too_large(limits: Limits) -> str:
    return (
        f"The query needs more than {binary_size(limits.memory)} of memory. Select fewer runs or columns, or allow more memory "
        "with --limit-memory."
    )


class _Guard:
    """Checks the limits and signals in a separate thread while DuckDB works, and interrupts it."""

    def __init__(self, limits: Limits, interrupt: Callable[[], object]) -> None:
        self._limits, self._interrupt = limits, interrupt
        self._began: float | None = None  # when DuckDB began to work; None: it does not
        self._spent = 0.0
        self._ended = threading.Event()
        self._most = _resident() + limits.memory + BESIDE

    def __enter__(self) -> "_Guard":
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def during(self, work: Callable[[], Answer]) -> Answer:
        with signals.held():
            self._began = time.monotonic()
            try:
                return work()
            finally:
                self._spent += time.monotonic() - self._began
                self._began = None

    def _watch(self) -> None:
        since: float | None = None
        while not self._ended.wait(LOOK):
            began, now = self._began, time.monotonic()
            if began is None:
                continue
            large = _resident() > self._most
            came = signals.arrived()
            if large or came or self._spent + now - began > self._limits.seconds:
                self._interrupt()
                since = since or now
                if large or now - since > GRACE:
                    # Within one value DuckDB neither counts its memory nor hears of an interruption.
                    why = _too_large(self._limits) if large else "interrupted" if came else _too_long(self._limits)
                    os.write(2, f"steelyard: {why}\n".encode())
                    os._exit(MachineFailed.exit_code if large or not came else 128 + came[0])


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
