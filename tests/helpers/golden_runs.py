"""Copies of the recorded runs in tests/golden, which the tests may judge: that writes a table beside the records."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from folders import GOLDEN


@cache
def copied(name: str) -> Path:
    """The folder of a copy, which stays until the tests end."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(shutil.copytree(GOLDEN / name, folder / name))
