"""Converts traces of ours to two Parquet files with one row per record, and back without loss."""

import tempfile
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.model import Machine
from steelyard.system import files, signals, sql
from steelyard.whatif import program

RANKS, RECORDS = "ranks.parquet", "records.parquet"

# The header of a rank's file. Ticks and keys of 64 bits are written as signed numbers.
_RANKS = ("rank", "ranks", "shift", "finished", "begin_ticks", "begin_ns", "end_ticks", "end_ns", "offset_begin",
          "offset_end", "offset_error", "offset_known", "first_ticks", "host")  # fmt: skip
_RECORDS = {
    "rank": "UINTEGER", "number": "UBIGINT", "kind": "UTINYINT", "communicator": "UINTEGER", "gap": "UBIGINT",
    "duration": "UBIGINT", "begin": "DOUBLE", "seconds": "DOUBLE", "numbers": "VARCHAR",
}  # fmt: skip
_AS_LIST = "CASE WHEN numbers IS NULL THEN []::BIGINT[] ELSE string_split(numbers, ' ')::BIGINT[] END"


def is_table(path: Path) -> bool:
    """Returns whether the path is a folder with the two files."""
    return files.is_file(path / RANKS) and files.is_file(path / RECORDS)


def export(trace: Path, output: Path, machine: Machine) -> dict[str, Any]:
    """Writes a trace of ours as a folder of Parquet files."""
    with tempfile.TemporaryDirectory(prefix="steelyard-") as name:
        folder = Path(name)
        answer = program.ask_exporter([str(trace), "1e9", "table", str(folder)], machine)
        output.mkdir(exist_ok=True)
        rows = [line.split(",", len(_RANKS) - 1) for line in _read_lines(folder / "ranks.csv")]
        with sql.connect() as base:
            base.execute(f"CREATE TABLE ranks ({', '.join(f'{n} {_find_type(n)}' for n in _RANKS)})")
            base.executemany(f"INSERT INTO ranks VALUES ({', '.join('?' * len(_RANKS))})", rows)
            sql.copy_rows(base, "ranks", output / RANKS)
            sql.copy_rows(
                base,
                f"(SELECT * REPLACE ({_AS_LIST} AS numbers) FROM read_csv({sql.listed([folder / 'records.csv'])}, "
                f"header = false, delim = ',', quote = '', escape = '', auto_detect = false, columns = {_RECORDS}))",
                output / RECORDS,
                "FORMAT parquet, COMPRESSION zstd",
            )
    return answer


def rebuild(table: Path, folder: Path, machine: Machine) -> None:
    """Writes the ranks' files of a table into `folder`. UsageError if the table cannot be read."""
    with signals.held():
        import duckdb

    try:
        with sql.connect() as base:
            ranks = base.execute(
                f"SELECT {', '.join(_RANKS)} FROM read_parquet({sql.listed([table / RANKS])}) ORDER BY rank"
            ).fetchall()
            sql.copy_rows(
                base,
                "(SELECT rank, kind, communicator, gap, duration, nullif(array_to_string(numbers, ' '), '') "
                f"FROM read_parquet({sql.listed([table / RECORDS])}) ORDER BY rank, number)",
                folder / "records.csv",
                "FORMAT csv, HEADER false",
            )
    except duckdb.Error as error:
        first = str(error).splitlines()[0]
        raise UsageError(f"The table of a trace in '{table}' cannot be read: {first}") from None
    lines = (",".join(map(str, row)) + "\n" for row in ranks)
    (folder / "ranks.csv").write_text("".join(lines), encoding="utf-8")
    program.ask_exporter([str(folder), "1e9", "rebuilt", str(folder)], machine)


def _find_type(name: str) -> str:
    return "VARCHAR" if name == "host" else "BIGINT"


def _read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()
