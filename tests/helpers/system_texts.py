"""System files that a test writes and that must be refused."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.measure.machine.system_file import load_system


def expect_refused(folder: Path, text: str, parts: Iterable[str]) -> None:
    """The error for a system file of this text names the file and has these parts."""
    path = folder / "bad.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_system(path)
    for part in (str(path), *parts):
        assert part in str(caught.value)
