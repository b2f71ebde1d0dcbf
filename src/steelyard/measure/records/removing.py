"""Removes the folder of a run, and only that."""

import os
import shutil
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError
from steelyard.measure.records.writing import lock


def expect_removable(folder: Path) -> None:
    """Raises UsageError for a folder that is not a run, is a link, or belongs to a run that is being measured."""
    if folder.is_symlink() or not (folder / "run.json").is_file():
        raise UsageError(f"'{folder}' is not the folder of a run: it has no run.json, or is a link.")
    try:
        file = os.open(folder / "records.jsonl", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return  # a run without records: nobody writes it
    try:
        lock(file, folder)
    finally:
        os.close(file)


def remove(folder: Path) -> None:
    """Removes the folder with its content; removes links in it without following them. MachineFailed if that fails."""
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise MachineFailed(f"The run {folder} cannot be removed: {error.strerror} ({error.filename}).") from error
