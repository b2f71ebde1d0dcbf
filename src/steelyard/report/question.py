"""Answers SQL over the tables `metrics` and `samples`: it reads the runs and nothing else, within limits of time and memory."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from steelyard.errors import MachineFailed, UsageError
from steelyard.model import Evaluation
from steelyard.report.export import METRICS, SAMPLES, fill, metric_rows, sample_rows
from steelyard.units import binary_size, duration

AT_ONCE = 1000  # rows
LOOK = 0.05  # seconds between two looks at the limits
GRACE = 5.0  # seconds in which DuckDB may end what it has been told to end
BESIDE = 256 << 20  # bytes: what Python and an answer's rows may take beside DuckDB's own memory
TABLES = f"Tables are metrics ({METRICS}) and samples ({SAMPLES})."

Answer = TypeVar("Answer")
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds in which DuckDB works for the question (without what the reader of the answer takes), and bytes of memory."""

    seconds: float = 60.0
    memory: int = field(default_factory=lambda: os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)


def query(
    evaluations: Iterable[Evaluation], asked: str, limits: Limits | None = None
) -> tuple[list[str], Iterator[Row]]:
    """Column names and rows, which come as they are read. UsageError with DuckDB's own words.

    MachineFailed beyond the limits. What DuckDB cannot be stopped in (to build one text of a gigabyte) ends the process then.
    """
    import duckdb

    try:
        if not duckdb.extract_statements(asked):
            raise UsageError(f'The question is empty: expected SQL, as in "select * from metrics limit 5".\n{TABLES}')
    except duckdb.Error as error:
        raise UsageError(f"The question cannot be answered: {error}\n{TABLES}") from error
    rows = _answered(list(evaluations), asked, limits or Limits())
    return list(next(rows)), rows


def _answered(found: Sequence[Evaluation], asked: str, limits: Limits) -> Iterator[Row]:
    """The names of the columns, then the rows."""
    import duckdb

    # It writes nowhere: what does not fit into the memory is refused.
    settings: dict[str, Any] = {"memory_limit": f"{limits.memory}B", "temp_directory": ""}
    with _refused(limits), duckdb.connect(config=settings) as base, _Guard(limits, base.interrupt) as guard:
        fill(base, "metrics", METRICS, [row for e in found for row in metric_rows(e)])
        fill(base, "samples", SAMPLES, [row for e in found for row in sample_rows(e)])
        base.execute("SET enable_external_access = false")
        base.execute("SET lock_configuration = true")
        answer = guard.during(lambda: base.execute(asked))
        yield tuple(column[0] for column in answer.description or [])
        while rows := guard.during(lambda: answer.fetchmany(AT_ONCE)):
            yield from rows


@contextlib.contextmanager
def _refused(limits: Limits) -> Iterator[None]:
    """What DuckDB raises, in our words."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException:
        raise MachineFailed(_too_large(limits)) from None
    except duckdb.InterruptException:
        raise MachineFailed(_too_long(limits)) from None
    except (duckdb.Error, ValueError, OverflowError) as error:  # the last two: an answer that Python has no form for
        raise UsageError(f"The question cannot be answered: {error}\n{TABLES}") from error


def _too_long(limits: Limits) -> str:
    return f"The answer takes longer than {duration(limits.seconds)}. Ask for less, or allow more: --limit-time."


def _too_large(limits: Limits) -> str:
    return f"The answer needs more than {binary_size(limits.memory)} of memory. Ask for less, or allow more: --limit-memory."


class _Guard:
    """Looks at the limits from a thread of its own while DuckDB works, and interrupts it."""

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
        self._began = time.monotonic()
        try:
            return work()
        finally:
            self._spent += time.monotonic() - self._began
            self._began = None

    def _watch(self) -> None:
        told: float | None = None
        while not self._ended.wait(LOOK):
            began, now = self._began, time.monotonic()
            if began is None:
                continue
            large = _resident() > self._most
            if large or self._spent + now - began > self._limits.seconds:
                self._interrupt()
                told = told or now
                if large or now - told > GRACE:
                    # Within one value DuckDB neither counts its memory nor hears of an interruption.
                    why = _too_large(self._limits) if large else _too_long(self._limits)
                    os.write(2, f"steelyard: {why}\n".encode())
                    os._exit(MachineFailed.exit_code)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
