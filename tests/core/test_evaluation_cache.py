"""What was judged once and is kept: equal to what is judged anew, thrown away when anything that it follows from changes."""

from dataclasses import replace
from pathlib import Path

import pytest

from steelyard import evaluation, findings
from steelyard.evaluation import evaluation_cache
from steelyard.model import Evaluation
from steelyard.records import result_cache


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


def test_the_second_time_it_is_read_and_equal(kept_run: Path, judgements: list[Evaluation]) -> None:
    first, second = evaluation.evaluate(kept_run), evaluation.evaluate(kept_run)
    assert len(judgements) == 1
    assert said(second) == said(first)
    assert [id(r) for result in second.results for r in result.records] == [
        id(second.run.records[second.run.records.index(r)]) for result in second.results for r in result.records
    ]


@pytest.mark.parametrize("change", ["records", "finished", "rules"])
def test_it_is_judged_anew_when_what_it_follows_from_changes(
    kept_run: Path, judgements: list[Evaluation], change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    evaluation.evaluate(kept_run)
    if change == "records":
        lines = (kept_run / "records.jsonl").read_bytes().splitlines(keepends=True)
        (kept_run / "records.jsonl").write_bytes(b"".join(lines[:-1]))
    elif change == "finished":
        (kept_run / "finished.json").unlink()
    else:
        (tmp_path / "rule.py").write_text("LIMIT = 22\n")
        monkeypatch.setattr(result_cache, "HOUSE", tmp_path)
    evaluation.evaluate(kept_run)
    assert len(judgements) == 2


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x94\xc0\xc0\xc0\xc0"])
def test_what_is_no_judgement_is_judged_anew_and_written_anew(
    kept_run: Path, judgements: list[Evaluation], content: bytes
) -> None:
    first = evaluation.evaluate(kept_run)
    (file,) = (kept_run.parents[1] / "cache" / "runs").glob(f"*.{evaluation_cache.ENTRY}.*")
    result_cache.save(file.name.partition(".")[0], evaluation_cache.ENTRY, content)
    assert said(evaluation.evaluate(kept_run)) == said(first)
    evaluation.evaluate(kept_run)
    assert len(judgements) == 2


def test_of_a_benchmark_from_outside_the_files_around_it_count_and_nothing_below(
    kept_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "theirs" / "left"
    (folder / "below").mkdir(parents=True)
    stream = evaluation.evaluate(kept_run).benchmarks["memory.stream"]
    strange = {"left.behind": replace(stream, sources=(replace(stream.sources[0], path=str(folder / "behind.cpp")),))}
    keys = [evaluation_cache.make_key(kept_run, "own", strange)]
    for changed in ("behind.py", "../helpers.py", "below/other.py"):
        (folder / changed).write_text("X = 1\n")
        keys.append(evaluation_cache.make_key(kept_run, "own", strange))
    (folder / ".#behind.py").symlink_to("an-editor@its.host")  # leads nowhere
    assert evaluation_cache.make_key(kept_run, "own", strange) == keys[-1]
    assert len(set(keys)) == 3
    assert keys[2] == keys[3]


def test_where_no_cache_can_be_written_it_is_judged(kept_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = kept_run.parent / "file"
    blocked.write_text("")
    monkeypatch.setenv("STEELYARD_CACHE", str(blocked))
    assert evaluation.evaluate(kept_run).results
