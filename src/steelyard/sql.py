"""Names of files in the SQL of DuckDB. In names of files that are read, * ? [ are wildcards; in written ones they are not."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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


def text(value: Path | str) -> str:
    """Returns the value as a text in SQL; it also serves as the name of a file that is written."""
    return "'" + str(value).replace("'", "''") + "'"


def listed(paths: Iterable[Path]) -> str:
    """Returns a list in SQL of files that are read, with exactly these names."""
    return f"[{', '.join(text(''.join(f'[{c}]' if c in '*?[' else c for c in str(path))) for path in paths)}]"


def copied(base: Any, chosen: str, path: Path, options: str = "FORMAT parquet") -> None:
    """Writes a table, or a query in brackets, to a file. OSError if the file cannot be written."""
    import duckdb

    try:
        base.execute(f"COPY {chosen} TO {text(path)} ({options})")
    except duckdb.IOException as error:
        number = next((code for code in _REASONS if os.strerror(code) in str(error)), errno.EIO)
        raise OSError(number, os.strerror(number), str(path)) from error
