"""Files in the SQL of DuckDB: in what is read, * ? [ stand for other letters; in what is written they do not."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any


def text(value: Path | str) -> str:
    """As a text in SQL, and so the name of a file that is written."""
    return "'" + str(value).replace("'", "''") + "'"


def listed(paths: Iterable[Path]) -> str:
    """Files that are read, by exactly these names."""
    return f"[{', '.join(text(''.join(f'[{c}]' if c in '*?[' else c for c in str(path))) for path in paths)}]"


def copied(base: Any, chosen: str, path: Path, options: str = "FORMAT parquet") -> None:
    """Writes a table, or a query in brackets, to a file. OSError where that cannot be written."""
    import duckdb

    try:
        base.execute(f"COPY {chosen} TO {text(path)} ({options})")
    except duckdb.IOException as error:
        raise OSError(str(error).partition("\n")[0]) from error
