"""No room grows beyond its budget of lines unnoticed (docs/decisions/0037-budgets.md)."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from folders import ROOT

ROW = re.compile(r"\| (?P<room>`?[\w/ ]+`?(?: \(Python\))?) \| [\d,]+ \| [\d,]+ \| (?P<budget>[\d,]+) \|")
PAGE = ROOT / "docs" / "decisions" / "0037-budgets.md"
SOURCE = ROOT / "src" / "steelyard"
HOUSES = ("measure", "judge", "show")  # each of their rooms has a budget of its own


def read_budgets() -> dict[str, int]:
    """The budget of each room by its name in the table."""
    rows = (match for line in PAGE.read_text().splitlines() if (match := ROW.fullmatch(line)))
    return {row["room"].strip("`"): int(row["budget"].replace(",", "")) for row in rows}


def count(files: Iterable[Path], *endings: str) -> int:
    return sum(file.read_bytes().count(b"\n") for file in files if file.suffix in endings)


@cache
def count_rooms() -> dict[str, int]:
    """The lines of each room by the same names."""
    tops = [f for f in SOURCE.iterdir() if f.is_dir() and f.name not in HOUSES]
    folders = [*tops, *(f for house in HOUSES for f in (SOURCE / house).iterdir() if f.is_dir())]
    names = {str(f.relative_to(SOURCE)) + "/": f for f in folders if not f.name.startswith("__")}
    rooms = {name: count(folder.rglob("*"), ".py", ".cpp", ".h") for name, folder in names.items()}
    tests = count((ROOT / "tests").rglob("*"), ".py")
    return {**rooms, "files at the root": count(SOURCE.iterdir(), ".py"), "tests/` (Python)": tests}


def test_every_room_has_a_budget() -> None:
    assert read_budgets().keys() == count_rooms().keys()


@pytest.mark.parametrize("room", sorted(count_rooms()))
def test_a_room_keeps_within_its_budget(room: str) -> None:
    assert count_rooms()[room] <= read_budgets()[room]
