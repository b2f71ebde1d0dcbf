"""DuckDB: connections that a signal ends in good order, and names of files in its SQL.

An exception that a signal raises within DuckDB may be lost or abort the process. So signals are held back there, and another
thread ends the statement that runs. In names of files that are read, * ? [ are wildcards; in written ones they are not.
"""

import contextlib
import errno
import os
import resource
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.system import signals

if TYPE_CHECKING:
    import duckdb

LOOK = 0.05  # seconds between two looks for a signal

# Reasons why a file cannot be written; DuckDB's message contains the system's words for one of them.
_REASONS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EACCES,
    errno.EROFS,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
)


@contextlib.contextmanager
def connect(**settings: Any) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Opens a database in memory. A signal ends the statement that runs, and interrupts the end of the block."""
    with signals.held():
        import duckdb

        with duckdb.connect(config={**choose_threads(), **settings}) as base, ended_by_signal(base.interrupt):
            yield base


def choose_threads() -> dict[str, int]:
    """Returns the setting for one thread if the address space is limited: where a thread gets none, the process ends."""
    return {} if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY else {"threads": 1}


@contextlib.contextmanager
def ended_by_signal(interrupt: Callable[[], object]) -> Iterator[None]:
    """Calls `interrupt` again and again after a signal, until the block ends."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(LOOK):
            if signals.arrived():
                interrupt()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def text(value: Path | str) -> str:
    """Returns the value as a text in SQL; it also serves as the name of a file that is written."""
    return "'" + str(value).replace("'", "''") + "'"


def listed(paths: Iterable[Path]) -> str:
    """Returns a list in SQL of files that are read, with exactly these names."""
    return f"[{', '.join(text(''.join(f'[{c}]' if c in '*?[' else c for c in str(path))) for path in paths)}]"


def copy_rows(base: Any, chosen: str, path: Path, options: str = "FORMAT parquet") -> None:
    """Writes a table, or a query in brackets, to a file. OSError if the file cannot be written."""
    import duckdb

    try:
        base.execute(f"COPY {chosen} TO {text(path)} ({options})")
    except duckdb.IOException as error:
        number = next((code for code in _REASONS if os.strerror(code) in str(error)), errno.EIO)
        raise OSError(number, os.strerror(number), str(path)) from error
