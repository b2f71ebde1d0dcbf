"""Large imports are read in several processes, with the same result as in one."""

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from import_fixture import hpl, imported, osu, write
from steelyard.importing import collecting, readers
from steelyard.show.command_line import cli

# Reads nothing in a copy of the process that does what it should not.
FORMAT = """
import multiprocessing, os, re, signal, time
TOOL = "odd"
MARKS = ("oddly",)
def read(text):
    for what, _ in text.match("oddly (.*)"):
        if what[1].startswith("slow"):
            re.search("(x+x+)+y", "x" * 60)
        elif multiprocessing.parent_process() is None:
            raise ValueError("the main process read it")
        elif what[1] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(60)
    yield from ()
"""


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with a format, from which even small imports are read in three processes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(readers, "LARGE", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    return write(tmp_path, {"formats/odd.py": FORMAT})


def read(capsys: Any, folder: Path, name: str, *words: str) -> dict[str, Any]:
    result: dict[str, Any] = imported(
        capsys, folder / "logs", "--path", folder / "formats", "--runs", folder / name, *words
    )
    for run in result["runs"]:
        run.pop("run")
    return result


@pytest.mark.sampled(1)
@pytest.mark.parametrize("most", [10**6, 7])
def test_several_processes_read_what_one_reads(
    capsys: Any, there: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Also files that are equal, empty, binary or slow, in their order, and up to the same file if there are too many values."""
    monkeypatch.setattr(collecting, "LEAST", 0.2)
    monkeypatch.setattr(collecting, "MOST_VALUES", most)
    texts = {f"logs/{at:02}.txt": osu(at % 7 + 1) if at % 3 else hpl(f"{at}\n") for at in range(20)}
    others = {"logs/05x.txt": "", "logs/06x.bin": b"\0\1", "logs/07x.txt": "no tool", "logs/03x.txt": "oddly slow\n"}
    write(there, {**texts, **others, "logs/19x.txt": "no tool"})
    several = read(capsys, there, "several")
    monkeypatch.setattr(readers, "LARGE", 10**9)
    assert several == read(capsys, there, "one")
    assert several["runs"]


def test_a_process_that_is_killed_loses_no_file(capsys: Any, there: Path) -> None:
    write(there, {**{f"logs/{at}.txt": osu(at + 1) for at in range(9)}, "logs/3x.txt": "oddly killed\n"})
    result = read(capsys, there, "runs")
    assert [row["reason"] for row in result["unread"]] == ["odd: the main process read it"]
    assert sum(len(run["files"]) for run in result["runs"]) == 9


def test_ctrl_c_ends_all_processes_and_keeps_what_was_read(capsys: Any, there: Path) -> None:
    write(there, {**{f"logs/{at:02}.txt": osu(at + 1) for at in range(12)}, "logs/12.txt": "oddly interrupted\n"})
    words = ["import", "logs", "--path", "formats", "--json"]
    assert cli.run_and_explain(lambda: cli.app(words)) == 130
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert sum(len(run["files"]) for run in runs) >= 6
    assert not multiprocessing.active_children()
