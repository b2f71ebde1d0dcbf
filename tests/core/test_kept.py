"""What was judged once and is kept: equal to what is judged anew, thrown away when anything that it follows from changes."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from damage import unpack
from steelyard import evaluation, findings
from steelyard.evaluation import kept
from steelyard.model import Evaluation


@pytest.fixture
def judged_apart() -> None:
    """The cache itself is what is tested."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small run, and a cache of its own."""
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    return unpack(tmp_path)


@pytest.fixture
def judgements(monkeypatch: pytest.MonkeyPatch) -> list[Evaluation]:
    """Each evaluation that the rules were asked about."""
    found: list[Evaluation] = []
    judge = findings.judge

    def counted(of: Evaluation) -> Evaluation:
        found.append(of)
        return judge(of)

    monkeypatch.setattr(findings, "judge", counted)
    return found


def said(of: Evaluation) -> tuple[object, ...]:
    return of.run, of.results, of.findings, list(of.benchmarks)


def files(folder: Path) -> list[Path]:
    return list((folder.parent / "cache" / "judged").iterdir())


def test_the_second_time_it_is_read_and_equal(run: Path, judgements: list[Evaluation]) -> None:
    first, second = evaluation.evaluate(run), evaluation.evaluate(run)
    assert len(judgements) == 1
    assert said(second) == said(first)
    assert [id(r) for result in second.results for r in result.records] == [
        id(second.run.records[second.run.records.index(r)]) for result in second.results for r in result.records
    ]


@pytest.mark.parametrize("change", ["records", "finished", "rules"])
def test_it_is_judged_anew_when_what_it_follows_from_changes(
    run: Path, judgements: list[Evaluation], change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if change == "rules":
        house = tmp_path / "house"
        house.mkdir()
        (house / "rule.py").write_text("LIMIT = 1\n")
        monkeypatch.setattr(kept, "HOUSE", house)
    evaluation.evaluate(run)
    if change == "records":
        lines = (run / "records.jsonl").read_bytes().splitlines(keepends=True)
        (run / "records.jsonl").write_bytes(b"".join(lines[:-1]))
    elif change == "finished":
        (run / "finished.json").unlink()
    else:
        (house / "rule.py").write_text("LIMIT = 22\n")
    evaluation.evaluate(run)
    assert len(judgements) == 2


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x94\xc0\xc0\xc0\xc0"])
def test_a_damaged_file_is_judged_anew_and_written_anew(
    run: Path, judgements: list[Evaluation], content: bytes
) -> None:
    first = evaluation.evaluate(run)
    (file,) = files(run)
    file.write_bytes(content)
    assert said(evaluation.evaluate(run)) == said(first)
    evaluation.evaluate(run)
    assert len(judgements) == 2


def test_of_a_benchmark_from_outside_the_files_around_it_count_and_nothing_below(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "theirs" / "left"
    (folder / "below").mkdir(parents=True)
    stream = evaluation.evaluate(run).benchmarks["memory.stream"]
    strange = {"left.behind": replace(stream, sources=(replace(stream.sources[0], path=str(folder / "behind.cpp")),))}
    keys = [kept.key(run, b"", strange)]
    for changed in ("behind.py", "../helpers.py", "below/other.py"):
        (folder / changed).write_text("X = 1\n")
        keys.append(kept.key(run, b"", strange))
    (folder / ".#behind.py").symlink_to("an-editor@its.host")  # leads nowhere
    assert kept.key(run, b"", strange) == keys[-1]
    assert len(set(keys)) == 3
    assert keys[2] == keys[3]


def test_the_newest_are_kept(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    folder = run.parent / "cache" / "judged"
    folder.mkdir(parents=True)
    for number in range(5):
        (folder / f"old{number}").write_bytes(b"")
        os.utime(folder / f"old{number}", (number, number))
    evaluation.evaluate(run)
    assert {f.name for f in files(run)} >= {"old4", "old3"}
    assert len(files(run)) == 3


def test_where_no_cache_can_be_written_it_is_judged(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = run.parent / "file"
    blocked.write_text("")
    monkeypatch.setenv("STEELYARD_CACHE", str(blocked))
    assert evaluation.evaluate(run).results
