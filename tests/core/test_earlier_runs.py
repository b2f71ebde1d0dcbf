"""The screen of a run says how its main figures stand to the earlier runs of the machine in the same folder."""

from dataclasses import replace
from pathlib import Path

import pytest

from copied_runs import write_copy
from steelyard.show.command_line.earlier_runs import describe
from steelyard.show.command_line.evaluated_run import find_summary
from steelyard.show.report.summary import Summary


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Summary]:
    """Seven usual runs of a machine on seven days, and an eighth one that takes 8 % more time; another machine between them."""
    folder = tmp_path_factory.mktemp("runs")
    for day in range(1, 9):
        started = f"2026-03-0{day}T10:00:00+00:00"
        write_copy(folder / f"r{day}", started=started, seed=day, factor=1.08 if day == 8 else 1.0)
        write_copy(folder / f"other{day}", started=started, seed=day, host="node2", factor=2.0)
    return {path.name: find_summary(path, ()) for path in sorted(folder.iterdir())}


def test_a_usual_run_is_as_usual_and_a_slow_one_is_named_with_its_figures(runs: dict[str, Summary]) -> None:
    folder = Path(runs["r7"].path).parent
    command = f"All values: steelyard history --runs {folder}"
    assert describe(runs["r7"]) == f"5 figures as in the 6 runs before. {command}"
    slow = describe(runs["r8"])
    assert "Triad bandwidth is 7." in slow
    assert "Memory latency is 8." in slow or "Memory latency is 7." in slow
    assert slow.endswith(f" than in the 7 runs before. {command}")


def test_few_earlier_runs_and_imports_say_nothing(runs: dict[str, Summary]) -> None:
    assert describe(runs["r5"]) == ""
    foreign = replace(runs["r8"], condition=replace(runs["r8"].condition, foreign=True))
    assert describe(foreign) == ""
    assert describe(replace(runs["r8"], path="/nowhere/r8")) == ""


def test_a_run_without_a_stored_summary_does_not_count(tmp_path: Path) -> None:
    for day in range(1, 8):
        write_copy(tmp_path / f"r{day}", started=f"2026-03-0{day}T10:00:00+00:00", seed=day)
    assert describe(find_summary(tmp_path / "r7", ())) == ""
