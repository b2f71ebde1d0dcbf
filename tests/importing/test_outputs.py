"""Real outputs of other tools, from public repositories: each figure comes out with its value, unit and direction."""

import csv
from functools import cache
from pathlib import Path

import pytest

from steelyard.importing import reading
from steelyard.importing.reading import Reading
from steelyard.importing.values import UNITS
from steelyard.units import LOWER

OUTPUTS = Path(__file__).parent / "outputs"
WRITTEN = {"1": "", "GUP/s": "Gupdate/s", "GB/s busbw": "GB/s", "messages/s": "/s", "1/s": "/s", "Mop/s": "Mop/s"}
MEANT = {"perftest": {"MB/s": "MiB/s"}}  # perftest divides by 0x100000, as its column MsgRate shows


def rows() -> list[dict[str, str]]:
    """Returns the rows of both tables: that of the files, and that of the files of our own in the same formats."""
    return [row for table in sorted(OUTPUTS.glob("*.csv")) for row in csv.DictReader(table.open(encoding="utf-8"))]


@cache
def values(file: str) -> Reading:
    return reading.read((OUTPUTS / file).read_bytes(), reading.find_formats())


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['file']} {row['figure']}")
def test_a_printed_figure_comes_out(row: dict[str, str]) -> None:
    printed = MEANT.get(row["tool"].split()[0], {}).get(row["unit"], row["unit"])
    factor, unit = UNITS[WRITTEN.get(printed, printed)]
    wanted = float(row["value"]) * factor
    alike = [v for v in values(row["file"]).values if v.value == pytest.approx(wanted, rel=1e-12) and v.unit == unit]
    assert alike, f"{wanted} {unit} is none of {[(v.value, v.unit) for v in values(row['file']).values][:20]}"
    if unit:
        assert {v.better for v in alike} == {"lower" if unit in LOWER else "higher"}


@pytest.mark.parametrize("file", sorted({row["file"] for row in rows()}))
def test_a_real_output_has_no_problem(file: str) -> None:
    assert not [problem for problem in values(file).problems if "was stopped by IMB's" not in problem]
