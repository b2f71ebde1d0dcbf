"""`steelyard history`: a planted step is named with its date and what changed; damaged runs cost only themselves."""

import json
import random
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from copied_runs import write_copy
from output_schemas import read_output
from steelyard.errors import UsageError
from steelyard.fleet import run_folders
from steelyard.fleet.history import find_paces
from steelyard.fleet.series import Point, Series
from steelyard.show.command_line.cli import app
from steelyard.statistics.difference.steps import find_course

pytestmark = pytest.mark.wings
RUNS, PLACE = 14, 8


def is_memory(record: dict[str, Any]) -> bool:
    return bool(record["benchmark"] == "memory.stream")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of one machine, a week apart; from the ninth on, with another kernel, STREAM takes 7 % more time."""
    folder = tmp_path_factory.mktemp("runs")
    for number in range(RUNS):
        late = number >= PLACE
        write_copy(
            folder / f"r{number:02d}",
            started=f"2026-{1 + number // 4:02d}-{1 + 7 * (number % 4):02d}T10:00:00+00:00",
            factor=lambda record, late=late: 1.07 if late and is_memory(record) else 1.0,
            seed=number,
            kernel="6.8.0" if late else "6.1.0",
        )
    return folder


def told(folder: Path, *words: str) -> Any:
    found = CliRunner().invoke(app, ["history", *words, "--runs", str(folder), "--json"])
    assert found.exit_code == 0, found.output
    return read_output("history", found.stdout)


def test_a_step_is_named_with_its_run_its_size_and_the_new_kernel(machine: Path) -> None:
    answer = told(machine)
    assert (answer["system"], len(answer["runs"])) == ("node1", RUNS)
    (change,) = answer["changes"]
    assert (change["before"], change["after"]) == ("r07", "r08")
    (step,) = change["steps"]
    assert step["title"] == "Triad bandwidth"
    assert step["low"] < 1 / 1.07 < step["high"]
    assert [(d["name"], d["a"], d["b"]) for d in change["differences"]] == [("kernel", "6.1.0", "6.8.0")]
    assert {series["title"]: len(series["points"]) for series in answer["series"]}["Triad bandwidth"] == RUNS


def test_the_screen_says_it_in_words(machine: Path) -> None:
    found = CliRunner().invoke(app, ["history", "node1", "--runs", str(machine)])
    assert found.exit_code == 0, found.output
    text = " ".join(found.stdout.split())
    assert "Since 2026-03-01 (run r08; the value before is of 2026-02-22):" in text
    assert re.search(
        r"Triad bandwidth \(ordinary stores, 2 threads\) is 6\.\d % slower \(range: \d\.\d % to \d\.\d %\): ", text
    )
    assert "Between the two runs, these conditions changed: kernel 6.1.0 → 6.8.0." in text
    assert "The newest run is as usual in all" in text


def test_what_cannot_be_read_costs_only_itself(machine: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for number in range(7):
        write_copy(runs / f"r{number}", started=f"2026-01-{number // 2 + 1:02d}T10:00:00+00:00", seed=number)
    write_copy(runs / "other", started="2026-01-02T10:00:00+00:00", host="node2")
    (runs / "r6" / "run.json").write_text("{")
    write_copy(runs / "undated", started="yesterday")
    answer = told(runs, "node1")
    assert answer["runs"] == ["r0", "r1", "r2", "r3", "r4", "r5"]
    notes = " ".join(answer["notes"])
    assert "run.json is not of the expected form" in notes
    assert "1 run without a date left out: undated" in notes
    assert "runs of 1 other machine are in this folder, such as node2" in notes
    assert "have the same time, so their order is that of their names" in notes


def test_a_renewed_kernel_is_named_also_if_no_figure_changed(tmp_path: Path) -> None:
    for number in range(8):
        write_copy(tmp_path / f"r{number}", started=f"2026-05-{10 + number}T10:00:00+00:00", seed=number,
                   kernel="6.8.0" if number >= 5 else "6.1.0")  # fmt: skip
    (renewal,) = told(tmp_path)["renewals"]
    assert (renewal["before"], renewal["run"], renewal["started"][:10]) == ("r4", "r5", "2026-05-15")
    assert [(d["name"], d["a"], d["b"]) for d in renewal["differences"]] == [("kernel", "6.1.0", "6.8.0")]
    shown = CliRunner().invoke(app, ["history", "--runs", str(tmp_path)]).stdout
    assert "Since 2026-05-15 (run r5), these conditions differ, but no figure changed" in " ".join(shown.split())


def test_dates_that_cannot_be_right_are_named(tmp_path: Path) -> None:
    days = [10, 11, 12, 13, 9, 15, 16, 17, 18, 19, 20, 21]
    for number, day in enumerate(days):
        year = 9000 if number == 7 else 2026
        write_copy(tmp_path / f"r{number:02d}", started=f"{year}-05-{day:02d}T10:00:00+00:00", seed=number)
    notes = " ".join(told(tmp_path)["notes"])
    assert "the date of r07 is in the future" in notes
    assert "by their names, r04 came after runs with a later date" in notes
    assert "r08" not in notes


def test_a_renamed_machine_is_shown_with_both_names(tmp_path: Path) -> None:
    for number in range(8):
        write_copy(tmp_path / f"r{number}", started=f"2026-05-{10 + number}T10:00:00+00:00", seed=number,
                   host="old" if number < 4 else "new")  # fmt: skip
    alone = told(tmp_path)
    assert (alone["system"], len(alone["runs"])) == ("new", 4)
    assert "show both: steelyard history new old" in " ".join(alone["notes"])
    both = told(tmp_path, "new", "old")
    assert (both["system"], len(both["runs"]), both["notes"]) == ("new and old", 8, [])
    assert both["renewals"] == []


@pytest.mark.parametrize(
    ("change", "noise", "least", "most"), [(0.05, 0.004, 20, 20), (0.0, 0.1, 0, 3), (-0.05, 0.004, 0, 0)]
)
def test_only_a_pace_that_changed_explains_a_step(change: float, noise: float, least: int, most: int) -> None:
    explained = 0
    for seed in range(20):
        chance = np.random.default_rng(seed)
        values = np.exp(0.004 * chance.standard_normal(12) - np.repeat([0, 0.05], 6))
        paces = 0.9 * np.exp(noise * chance.standard_normal(12) - np.repeat([0, change], 6))
        points = tuple(
            Point(
                run=f"r{n}", path="", started=f"2026-01-{n + 1:02d}", value=value, level="CLEAN", paces={"stream": pace}
            )
            for n, (value, pace) in enumerate(zip(values.tolist(), paces.tolist(), strict=True))
        )
        series = Series(name="triad", title="Triad", conditions="", benchmark="memory.stream", metric="bandwidth", unit="B/s",
                        better="higher", points=points)  # fmt: skip
        (step,) = find_course(values.tolist()).steps
        explained += bool(find_paces(series, step))
    assert least <= explained <= most


def test_an_outlier_is_no_change_and_the_newest_run_is_judged(machine: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for number in range(9):
        factor = 1.3 if number in (4, 8) else 1.0
        write_copy(runs / f"r{number}", started=f"2026-01-{number + 1:02d}T10:00:00+00:00", seed=number, factor=factor)
    answer = told(runs)
    assert answer["changes"] == []
    newest = [series["newest"] for series in answer["series"] if series["title"] == "Triad bandwidth"]
    assert [(one["usual"], one["count"]) for one in newest] == [(False, 8)]


def test_a_machine_without_runs_is_refused_with_the_nearest_name(machine: Path, tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["history", "nod1", "--runs", str(machine)])
    assert isinstance(found.exception, UsageError)
    assert "There is no run of 'nod1'" in str(found.exception)
    assert "node1" in str(found.exception)
    assert isinstance(CliRunner().invoke(app, ["history", "--runs", str(tmp_path)]).exception, UsageError)


def test_json_is_of_finite_numbers(machine: Path) -> None:
    text = CliRunner().invoke(app, ["history", "--runs", str(machine), "--json"]).stdout
    assert "NaN" not in text
    json.loads(text, parse_constant=pytest.fail)


def osu_at(number: int) -> str:
    """An output of osu_latency; from the 21st on, it takes 8 % more time, and the seventh twice as long."""
    chance = random.Random(number)
    level = 2.0 if number == 6 else 1.08 if number >= 20 else 1.0
    rows = "".join(f"{size}  {base * level * chance.gauss(1, 0.004):.3f}\n" for size, base in ((0, 20.0), (8, 21.0)))
    return f"# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n{rows}"


def test_imported_files_of_many_dates_are_a_history(tmp_path: Path) -> None:
    for number in range(36):
        day = date(2023, 1, 5) + timedelta(days=20 * number)
        for system, text in (("alpha", osu_at(number)), ("beta", osu_at(0).replace("20.", f"20.{number}"))):
            file = tmp_path / "logs" / system / f"latency_{day:%Y%m%d}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    done = CliRunner().invoke(app, ["import", str(tmp_path / "logs"), "--runs", str(tmp_path / "runs")])
    assert done.exit_code == 0, done.output
    assert "Over time: steelyard history alpha" in " ".join(done.output.split())
    answer = told(tmp_path / "runs", "alpha")
    assert (len(answer["runs"]), answer["first"], answer["last"]) == (36, "2023-01-05", "2024-12-05")
    (change,) = answer["changes"]
    assert change["after"] == "latency_20240209.txt"
    assert len(change["steps"]) == 2
    assert all(step["low"] < 1.08 < step["high"] for step in change["steps"])
    for series in answer["series"]:
        assert series["lone"] == ["latency_20230505.txt"]
        assert series["points"][6]["source"].endswith(f"latency_20230505.txt:{3 + answer['series'].index(series)}")
    screen = CliRunner().invoke(app, ["history", "alpha", "--runs", str(tmp_path / "runs")]).output
    words = " ".join(screen.split())
    assert "Since 2024-02-09 (file latency_20240209.txt; the value before is of 2024-01-20):" in words
    assert re.search(r"Single unusual value: .{,90} was 4\d\.\d µs on 2023-05-05 in latency_20230505.txt:\d", words), (
        words
    )
    assert told(tmp_path / "runs", "beta")["changes"] == []


def test_rows_of_one_title_say_in_what_they_differ(tmp_path: Path) -> None:
    for number in range(4):
        for nodes in (2, 4):
            file = tmp_path / "logs" / f"x_{nodes}nodes_2024-05-0{1 + number}.txt"
            file.parent.mkdir(exist_ok=True)
            file.write_text(osu_at(number + nodes))
    runner, runs = CliRunner(), ["--runs", str(tmp_path / "runs")]
    assert runner.invoke(app, ["import", str(tmp_path / "logs"), *runs]).exit_code == 0
    words = " ".join(runner.invoke(app, ["history", *runs]).output.split())
    assert "nodes=2" in words
    assert "nodes=4" in words
    assert "buffers=reused" not in words


def test_many_runs_are_judged_side_by_side_in_their_order(tmp_path: Path) -> None:
    folders = [write_copy(tmp_path / f"r{number:02d}", seed=number) for number in range(run_folders.MANY + 2)]
    (folders[3] / "records.jsonl").unlink()
    answers = run_folders.read_summaries(folders, [], quiet=True)
    assert "records.jsonl" in str(answers[3])
    assert [answer[0].run for answer in answers if not isinstance(answer, str)] == [
        f.name for f in folders if f != folders[3]
    ]
    assert all((folder / "summary.json").is_file() for folder in folders if folder != folders[3])
    assert run_folders.read_summaries(folders, [], quiet=True) == answers
