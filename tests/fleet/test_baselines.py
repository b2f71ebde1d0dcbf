"""What a gate compares with, saved under a name: kept, listed, removed, and refused when its runs are not as they were."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from copied_runs import measure_small, write_peers
from output_schemas import read_output
from steelyard.errors import SteelyardError
from steelyard.show.command_line.cli import app

pytestmark = pytest.mark.wings


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measure_small(tmp_path_factory.mktemp("measured"))


@pytest.fixture
def nodes(measured: Path, tmp_path: Path) -> Path:
    return write_peers(measured, tmp_path / "nodes", 1.0)


def invoke(runs: Path, *words: str) -> Any:
    return CliRunner().invoke(app, ["gate", *words, "--runs", str(runs)])


def refused(runs: Path, *words: str) -> str:
    done = invoke(runs, *words)
    assert isinstance(done.exception, SteelyardError)
    return str(done.exception)


def test_a_saved_baseline_is_listed_used_and_removed(nodes: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert invoke(runs, "list").output == "There are no baselines. Save one: steelyard gate save NAME RUN…\n"
    assert invoke(runs, "save", "healthy", str(nodes)).output.startswith("healthy: 5 runs, saved 2")
    (listed,) = read_output("gate", invoke(runs, "list", "--json").output)
    assert sorted(Path(run["folder"]).name for run in listed["runs"]) == [f"n{n}" for n in range(5)]
    answer = read_output("gate", invoke(runs, "healthy", "--budget", "6s", "--json").output)
    assert answer["reference"] == "peers"
    assert invoke(runs, "remove", "healthy").output == "removed the baseline healthy\n"
    assert "There is no baseline 'healthy'" in refused(runs, "remove", "healthy")
    assert "There is no run 'healthy'" in refused(runs, "healthy")
    assert len(list(nodes.iterdir())) == 5


def test_a_value_that_was_given_is_saved_too(nodes: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    invoke(runs, "save", "floor", str(nodes / "n0"), "--expect", "Triad bandwidth=1 MB/s")
    answer = read_output("gate", invoke(runs, "floor", "--budget", "6s", "--json").output)
    assert answer["reference"] == "given values"
    assert answer["answer"] != "slower"  # on a busy machine it may be undecided


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_baseline_whose_runs_are_not_as_they_were_is_refused(nodes: Path, tmp_path: Path, damage: str) -> None:
    runs = tmp_path / "runs"
    invoke(runs, "save", "healthy", str(nodes))
    if damage == "missing":
        shutil.rmtree(nodes / "n3")
    else:
        with (nodes / "n3" / "records.jsonl").open("a") as file:
            file.write("\n")
    assert "The baseline 'healthy' cannot be used: b3 is missing or changed." in refused(runs, "healthy")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("save",), "Use: steelyard gate save NAME RUN…"),
        (("list", "x"), "Use: steelyard gate list"),
        (("remove",), "Use: steelyard gate remove NAME"),
        (("remove", "../../x"), "There is no baseline '../../x'."),
        (("save", "../x", "nodes"), "'../x' is not a valid name for a baseline."),
        (("save", "list", "nodes"), "'list' is not a valid name for a baseline."),
    ],
)
def test_words_without_a_meaning_are_refused(
    nodes: Path, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    given = [str(nodes) if word == "nodes" else word for word in words]
    assert sentence in refused(tmp_path / "runs", *given)


def test_a_name_that_is_taken_and_a_damaged_file_are_refused(nodes: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    invoke(runs, "save", "healthy", str(nodes))
    assert "There is a baseline 'healthy' already." in refused(runs, "save", "healthy", str(nodes))
    (runs / "baselines" / "healthy.json").write_text('{"name": 1}')
    assert "healthy.json cannot be read" in refused(runs, "healthy")
