"""Files in the SQL of DuckDB: in what is read, * ? [ stand for other letters; in what is written they do not."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# Why a file cannot be written, as DuckDB repeats it somewhere in its own words.
_REASONS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EACCES,
    errno.EROFS,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
)


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
        number = next((each for each in _REASONS if os.strerror(each) in str(error)), errno.EIO)
        raise OSError(number, os.strerror(number), str(path)) from error
