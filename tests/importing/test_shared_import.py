"""`steelyard import` of files that others shared: copied as they are, beside outputs of other tools."""

import json
from pathlib import Path

import pytest

from copied_runs import measure_small
from import_fixture import osu
from steelyard.measure.records import sums
from steelyard.show.command_line import cli


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measure_small(tmp_path_factory.mktemp("measured") / "runs", 2)


def say(words: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    assert cli.run_and_explain(lambda: cli.app(words)) == code
    return capsys.readouterr().out


def test_a_folder_of_shared_files_and_of_outputs_is_imported_with_one_command(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    got = tmp_path / "got"
    got.mkdir()
    say(["share", str(measured / "b0"), str(measured / "b1"), "-o", str(got / "two.zip")], capsys)
    content = bytearray((got / "two.zip").read_bytes())
    content[content.find(b"b0/records.jsonl") + 500] ^= 1
    (got / "damaged.zip").write_bytes(content)
    (got / "osu.txt").write_text(osu())
    words = ["import", str(got), "--runs", str(tmp_path / "runs"), "--json"]
    found = json.loads(say(words, capsys))
    assert [row["file"] for row in found["shared"]] == [str(got / "two.zip")] * 2
    assert [row["file"] for row in found["unread"]] == [str(got / "damaged.zip")]
    assert "refused" in found["unread"][0]["reason"]
    assert len(found["runs"]) == 1
    for name in ("b0", "b1"):
        assert sums.find_digest(tmp_path / "runs" / name) == sums.find_digest(measured / name)
    again = json.loads(say(words, capsys))
    assert (again["shared"], again["runs"]) == ([], [])
    assert {row["file"] for row in again["known"]} == {str(got / "two.zip"), str(got / "osu.txt")}


def test_a_shared_run_is_shown_and_compared_as_an_own_one(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say(["share", str(measured / "b0"), "--anonymous", "-o", str(tmp_path / "x.zip")], capsys)
    told = say(["import", str(tmp_path / "x.zip"), "--runs", str(tmp_path / "runs")], capsys)
    assert told.startswith("1 run that others shared:\n")
    assert "Run anonymous" in say(["show", "--all", "anonymous", "--runs", str(tmp_path / "runs")], capsys, 0)
    say(["compare", str(tmp_path / "runs" / "anonymous"), str(measured / "b1")], capsys)


def test_an_imported_run_is_shared_without_the_names_of_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "results" / "of-sam"
    logs.mkdir(parents=True)
    (logs / "osu.txt").write_text(osu())
    say(["import", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"), "--name", "logs"], capsys)
    say(["share", "logs", "--runs", str(tmp_path / "runs"), "--anonymous", "-o", str(tmp_path / "x.zip")], capsys)
    say(["import", str(tmp_path / "x.zip"), "--runs", str(tmp_path / "others")], capsys)
    (folder,) = (tmp_path / "others").iterdir()
    for name in ("run.json", "values.jsonl"):
        text = (folder / name).read_text()
        assert "of-sam" not in text
        assert "file1.txt" in text


def test_a_dry_run_copies_nothing(measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say(["share", str(measured / "b0"), "-o", str(tmp_path / "x.zip")], capsys)
    told = say(["import", str(tmp_path / "x.zip"), "--runs", str(tmp_path / "runs"), "--dry-run"], capsys)
    assert told.startswith("1 run that others shared, which would be copied:\n")
    assert not (tmp_path / "runs").exists()
