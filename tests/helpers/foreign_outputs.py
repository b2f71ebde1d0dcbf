"""The recorded outputs of other tools, and what the formats read in a text, which is read once."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from steelyard.importing import reading
from steelyard.importing.reading import Reading

OUTPUTS = Path(__file__).parents[1] / "importing" / "outputs"


def output(file: str) -> str:
    """The text of a file of `OUTPUTS`."""
    return (OUTPUTS / file).read_text(encoding="utf-8")


@cache
def read(text: str) -> Reading:
    """What all formats read in the text."""
    return reading.read(text.encode(), reading.find_formats())


def every_third(cases: Sequence[object], first: int = 0) -> list[Any]:
    """The cases as parameters of a test; two of three run in `make test-long` only."""
    return [case if at % 3 == first else pytest.param(case, marks=pytest.mark.long) for at, case in enumerate(cases)]
