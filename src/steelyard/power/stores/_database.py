"""The file of an embedded store, an SQLite database in WAL mode, and transactions in it.

A store may come from somebody else: only a database with exactly our tables is read, and a question ends after a number of
steps that the size of the file bounds. Files beside it must be ordinary: SQLite writes to what it takes for its log.
"""

import contextlib
import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError
from steelyard.model.plain import visible
from steelyard.power.stores import Unavailable
from steelyard.system import keeper, signals

FILE = "readings.sqlite"
FORMAT = 2
APPLICATION = 0x5374796C  # application number in the header of SQLite: "Styl"
PAGES = 2_000  # pages that are released at once
WAIT = 60.0  # seconds that a writer waits for others
LONGEST_VALUE = 64 << 20  # bytes of a text or a blob
STEPS = 1_000_000  # steps of SQLite's machine between two looks at how many there were
FREE_STEPS, STEPS_A_BYTE = 200, 20  # looks that every question has, and steps for each byte of the file
SCHEMA = (
    "CREATE TABLE described (node text primary key, sensors text)",
    # The newest batches, unchanged.
    "CREATE TABLE batches (node text, writer blob, sequence integer, first integer, last integer, readings integer, body blob, "
    "primary key (node, writer, sequence))",
    # Which batches have become parts.
    "CREATE TABLE stored (node text, writer blob, first integer, last integer, primary key (node, writer, first)) without rowid",
    "CREATE TABLE parts (node text, sensor text, hour integer, first integer, last integer, readings integer, "
    "stored integer, body blob)",
    "CREATE INDEX parts_of_sensor on parts (node, sensor, hour, first, last)",
    "CREATE INDEX parts_of_hour on parts (hour)",
    "CREATE TABLE hours (node text, sensor text, hour integer, stale integer, primary key (node, sensor, hour)) without rowid",
    "CREATE INDEX stale_hours on hours (hour) where stale",
    "CREATE TABLE rollups (level integer, node text, sensor text, chunk integer, body blob, "
    "primary key (level, node, sensor, chunk))",
    "CREATE TABLE gaps (node text, gap text)",
    "CREATE INDEX gaps_of_node on gaps (node)",
    "CREATE TABLE settings (name text primary key, value real)",
)
# Codes of SQLite that say nothing of what is written: BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN, PROTOCOL.
MACHINE = (5, 6, 7, 8, 10, 13, 14, 15)
# The errors that reading a damaged value raises.
DAMAGE = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)


class _Steps:
    """Counts SQLite's looks at a question. A connection holds it; if that held the database, neither would ever be closed."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self.begin()

    def begin(self) -> None:
        self._left = FREE_STEPS + sum(map(_measure_file, self._files)) * STEPS_A_BYTE // STEPS

    def are_too_many(self) -> bool:
        self._left -= 1
        return self._left < 0


class Database:
    """Raises UsageError for a folder that is not a store, MachineFailed for a store that is unreadable or of another format."""

    def __init__(self, folder: Path, make: bool = False) -> None:
        self._folder, self._path = folder, folder / FILE
        self._turn = threading.RLock()
        self._steps = _Steps(self._files())
        with self._explain_errors("be opened"):
            if make:
                _make_database(folder)
            self._base = self._open_database()
            self._identity = _identify_file(self._path)
            self.close = weakref.finalize(self, self._base.close)
            try:
                self._expect_ours()
            except BaseException:
                self.close()
                raise

    @contextlib.contextmanager
    def reading(self, what: str = "be read") -> Iterator[sqlite3.Connection]:
        """Gives a transaction for reading: all queries within it read the same state of the store."""
        with self._transaction(what, "deferred") as base:
            yield base

    @contextlib.contextmanager
    def writing(self, what: str = "be written") -> Iterator[sqlite3.Connection]:
        """Gives a transaction for writing: all of it or nothing is done, and it is on the disk at the end. Writers take turns."""
        with self._transaction(what, "immediate") as base:
            yield base

    def shrink(self, until: float) -> None:
        """Returns free pages to the file system if there are many, until this time. Others may write in between."""
        with self._turn, self._explain_errors("be tidied up"):
            before = self._number("page_count")
            while self._number("freelist_count") * 4 > before and time.monotonic() < until:
                self._steps.begin()
                self._base.execute(f"pragma incremental_vacuum({PAGES})").fetchall()
                if (pages := self._number("page_count")) >= before:
                    return
                before = pages

    def _number(self, pragma: str) -> int:
        return int(self._base.execute(f"pragma {pragma}").fetchone()[0])

    @contextlib.contextmanager
    def _transaction(self, what: str, kind: str) -> Iterator[sqlite3.Connection]:
        with self._turn, self._explain_errors(what):
            if self._base.in_transaction:
                yield self._base
                return
            if _identify_file(self._path) != self._identity:
                raise OSError("its file was replaced")
            self._steps.begin()
            self._base.execute(f"begin {kind}")
            try:
                yield self._base
                self._base.execute("commit")
            finally:
                if self._base.in_transaction:
                    self._base.execute("rollback")

    def _open_database(self) -> sqlite3.Connection:
        if not os.path.lexists(self._path):
            if (self._folder / "format.json").exists():
                raise MachineFailed(
                    f"The store '{self._folder}' has the old format 1. Export its readings with the version of Steelyard that "
                    "wrote it (steelyard power export), and name a new folder here."
                )
            raise UsageError(f"'{self._folder}' is not a store of readings: it has no {FILE}. Name another folder.")
        for path in self._files():
            with contextlib.suppress(FileNotFoundError):  # who closes the store last removes the log
                if not stat.S_ISREG(path.lstat().st_mode):
                    raise OSError(f"'{path.name}' is not an ordinary file")
        # A journal may name any file, and SQLite removes that. Our databases have a log instead.
        if os.path.lexists(self._path.with_name(f"{FILE}-journal")):
            raise OSError(f"it contains a file '{FILE}-journal', which a store never has")
        mode = "mode=rw"
        if not os.access(self._folder, os.W_OK) or not os.access(self._path, os.W_OK):
            mode = "mode=ro" if self._files()[1].exists() else "mode=ro&immutable=1"
        base = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?{mode}", WAIT, isolation_level=None, check_same_thread=False, uri=True
        )
        base.text_factory = lambda text: text.decode(errors="replace")
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        base.set_progress_handler(self._steps.are_too_many, STEPS)
        # full: a commit is on the disk when it returns.
        for setting in ("trusted_schema = off", "cell_size_check = on", "mmap_size = 0", "synchronous = full"):
            base.execute(f"pragma {setting}")
        base.execute(f"pragma journal_size_limit = {LONGEST_VALUE}")
        return base

    def _expect_ours(self) -> None:
        with self.reading("be opened") as base:
            if self._number("application_id") != APPLICATION:
                raise MachineFailed(f"The store '{self._folder}' cannot be read: another program wrote its {FILE}.")
            if (version := self._number("user_version")) != FORMAT:
                raise MachineFailed(
                    f"The store '{self._folder}' has the format {version}, but this Steelyard reads only format {FORMAT}. Use "
                    "a newer version of Steelyard."
                )
            if {text for (text,) in base.execute("select sql from sqlite_master where sql is not null")} != {*SCHEMA}:
                raise MachineFailed(
                    f"The store '{self._folder}' cannot be read: its tables are not the tables of a store."
                )

    def _files(self) -> tuple[Path, Path, Path]:
        return self._path, self._path.with_name(f"{FILE}-wal"), self._path.with_name(f"{FILE}-shm")

    @contextlib.contextmanager
    def _explain_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error, *DAMAGE) as error:
            if signals.arrived():  # SQLite drops the interruption of a callback, and says "interrupted"
                raise signals.make_interruption() from None
            why = getattr(error, "strerror", None) or str(error).partition("\n")[0]
            of_machine = isinstance(error, OSError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in MACHINE
            kind = Unavailable if of_machine else MachineFailed
            raise kind(f"The store '{self._folder}' cannot {what}: {visible(why)}.") from error


def _make_database(folder: Path) -> None:
    """Makes the file under another name and renames it when it is complete, because others may make it at the same time."""
    names = {p.name for p in folder.iterdir() if not p.name.startswith(".steelyard-")} if folder.exists() else set()
    if FILE in names or "format.json" in names:
        return
    if names:
        raise UsageError(
            f"'{folder}' is not a store of readings and contains other files. Give the path of a new or empty folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with keeper.temporary_folder(folder) as making:
        path = making / FILE
        base = sqlite3.connect(path, isolation_level=None)
        try:
            base.execute("pragma page_size = 8192")
            base.execute("pragma auto_vacuum = incremental")
            base.execute("pragma journal_mode = wal")
            base.executescript(f"begin; {'; '.join(SCHEMA)}; commit;")
            base.execute(f"pragma application_id = {APPLICATION}")
            base.execute(f"pragma user_version = {FORMAT}")
        finally:
            base.close()
        with contextlib.suppress(FileExistsError):
            os.link(path, folder / FILE)
    folder_file = os.open(folder, os.O_RDONLY)
    os.fsync(folder_file)
    os.close(folder_file)


def _identify_file(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _measure_file(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
