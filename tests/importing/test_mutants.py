"""Damaged outputs of other tools end no reading, and give no value that they do not print under the same column and unit.

STEELYARD_MUTANTS=1000000 tries so many in `make test-long` (printed_values.py says what the oracle sees).
"""

import csv
import os
import random
from dataclasses import replace
from typing import Any

import pytest

import mutants
import printed_values
from foreign_outputs import OUTPUTS
from steelyard.importing.reading import find_formats, read

FEW = 350
MANY, PARTS = int(os.environ.get("STEELYARD_MUTANTS", "8000")), 4


@pytest.fixture(scope="module")
def files() -> list[bytes]:
    """The outputs of `figures.csv`, which stay as they are; `make test-long` takes all."""
    with (OUTPUTS / "figures.csv").open(encoding="utf-8") as table:
        names = {row["file"] for row in csv.DictReader(table)}
    return [data for name, data in mutants.cases(mutants.SHORT).items() if name in names]


@pytest.fixture(scope="module")
def every() -> tuple[list[bytes], Any]:
    """All outputs, and the values that they print."""
    files = list(mutants.cases(mutants.LONG).values())
    return files, printed_values.learn(files)


def expect_right(tried: mutants.Tried, number: int) -> None:
    assert not tried.wrong, "\n".join(sentence for sentence, _ in tried.wrong)
    assert tried.files == number
    assert tried.with_values > number // 3, "the damage must leave something to read"


def test_damaged_outputs_give_no_wrong_value(files: list[bytes]) -> None:
    expect_right(mutants.attempt(FEW, 1, files, printed_values.learn(files)), FEW)


@pytest.mark.long
@pytest.mark.timeout(100_000)
@pytest.mark.parametrize("part", range(PARTS))
def test_many_damaged_outputs_give_no_wrong_value(part: int, every: tuple[list[bytes], Any]) -> None:
    expect_right(mutants.attempt(MANY // PARTS, 1000 + part, *every), MANY // PARTS)


# --------------------------------------------------------------------------- the oracle itself


OSU = (
    b"# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0 1.00\n1 1.01\n2 1.01\n4 1.03\n8 1.02\n1024 2.05\n"
)


def wrong(data: bytes, **changed: Any) -> list[str]:
    """What the oracle says of the last value of a file, read with a mistake."""
    known = printed_values.learn([OSU])
    result = read(data, find_formats())
    values = (*result.values[:-1], replace(result.values[-1], **changed))
    return printed_values.find_wrong(data, replace(result, values=values), known)


def test_the_oracle_accepts_a_right_reading() -> None:
    assert not wrong(OSU)
    assert not wrong(OSU.replace(b"2.05", b"9.99"))


@pytest.mark.parametrize(
    "changed",
    [
        {"value": 2.06e-6},  # printed nowhere
        {"value": 2.05e-9},  # the factor of another unit
        {"value": 1024e-6},  # the column of sizes
        {"parameters": {"message_bytes": 8, "buffers": "reused"}},  # the size of another row
        {"unit": "B/s"},  # the unit of no column
    ],
)
def test_the_oracle_finds_a_planted_mistake(changed: Any) -> None:
    assert wrong(OSU, **changed)


def test_the_oracle_finds_a_unit_that_was_not_looked_at() -> None:
    milliseconds = OSU.replace(b"(us)", b"(ms)")
    result = read(OSU, find_formats())
    assert printed_values.find_wrong(milliseconds, result, printed_values.learn([OSU]))


def test_each_kind_of_damage_changes_a_file(files: list[bytes]) -> None:
    data = max(files, key=len)
    for kind in mutants.DAMAGES:
        chance = random.Random(1)
        assert any(kind(chance, data, files) != data for _ in range(20))
