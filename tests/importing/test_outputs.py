"""Real outputs of other tools, from public repositories: each figure comes out with its value, unit and direction."""

import csv

import pytest

from foreign_outputs import OUTPUTS, output, read
from steelyard.importing.dates import read_date
from steelyard.importing.values import UNITS
from steelyard.model.units import LOWER

WRITTEN = {"1": "", "GUP/s": "Gupdate/s", "GB/s busbw": "GB/s", "messages/s": "/s", "1/s": "/s", "Mop/s": "Mop/s"}
MEANT = {"perftest": {"MB/s": "MiB/s"}}  # perftest divides by 0x100000, as its column MsgRate shows


def rows() -> dict[str, list[dict[str, str]]]:
    """Returns the rows of all tables by the first word of the tool, such as "IMB"."""
    by_tool: dict[str, list[dict[str, str]]] = {}
    for table in sorted(OUTPUTS.glob("*.csv")):
        for row in csv.DictReader(table.open(encoding="utf-8")):
            by_tool.setdefault(row["tool"].split()[0], []).append(row)
    return by_tool


ROWS = rows()


def find_fault(row: dict[str, str]) -> str:
    """Returns why the figure of a row does not come out, "" if it does."""
    printed = MEANT.get(row["tool"].split()[0], {}).get(row["unit"], row["unit"])
    factor, unit = UNITS[WRITTEN.get(printed, printed)]
    wanted, values = float(row["value"]) * factor, read(output(row["file"])).values
    alike = [v for v in values if v.value == pytest.approx(wanted, rel=1e-12) and v.unit == unit]
    if not alike:
        return f"{row['file']} {row['figure']}: {wanted} {unit} is none of {[(v.value, v.unit) for v in values][:20]}"
    right = not unit or {v.better for v in alike} == {"lower" if unit in LOWER else "higher"}
    return "" if right else f"{row['file']} {row['figure']}: the direction is wrong"


@pytest.mark.parametrize("tool", ROWS)
def test_the_figures_of_a_tool_come_out(tool: str) -> None:
    assert not [fault for row in ROWS[tool] if (fault := find_fault(row))]


def test_a_real_output_has_no_problem() -> None:
    files = {row["file"] for of_tool in ROWS.values() for row in of_tool}
    problems = [(file, problem) for file in files for problem in read(output(file)).problems]
    expected = ("was stopped by IMB's", "its status is 'Waived'")
    assert not [problem for problem in problems if not any(words in problem[1] for words in expected)]


def test_each_date_that_a_tool_prints_is_read() -> None:
    files = {row["file"] for of_tool in ROWS.values() for row in of_tool}
    printed = {
        file: {read(output(file)).started, *(v.started for v in read(output(file)).values)} - {""} for file in files
    }
    assert not [(file, date) for file, dates in printed.items() for date in dates if not read_date(date)]


def test_a_damaged_path_is_no_damaged_number() -> None:
    text = output("mdtest_4_ranks.txt")
    path, number = text.replace("/scratch/user/md", "/scratch1\ufffd/md2\x02"), text.replace("3105.221", "31\x0205.221")
    assert (read(path).values, read(path).problems) == (read(text).values, ())
    assert read(number).problems == ("line 13 has a damaged number",)
