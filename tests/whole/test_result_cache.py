"""What is kept of a run for questions: read the second time, made anew when the run, the program or the file itself changes."""

import json
import math
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import evaluation as made_by_hand
from builders import triad
from steelyard import evaluation
from steelyard.command_line import cli
from steelyard.evaluation.evaluation_cache import ENTRY
from steelyard.records import result_cache
from steelyard.report import columns
from steelyard.report.question import query

COUNT = "select count(*) as n, round(sum(value)) as total from metrics"


@pytest.fixture
def asked(kept_run: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[dict[str, Any]]]:
    """Asks the folder of runs by the command line."""

    def ask(sql: str, *words: str) -> list[dict[str, Any]]:
        assert (
            cli.run_and_explain(lambda: cli.app(["query", sql, "--json", "--runs", str(kept_run.parent), *words])) == 0
        )
        rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
        return rows

    return ask


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Each run that was evaluated."""
    found: list[Path] = []
    evaluate = evaluation.evaluate

    def counted(path: Path, paths: Any = ()) -> Any:
        found.append(path)
        return evaluate(path, paths)

    monkeypatch.setattr(evaluation, "evaluate", counted)
    return found


def entries(kept_run: Path) -> list[Path]:
    """The tables that are kept of it."""
    kept = (kept_run.parents[1] / "cache" / "runs").glob("*.*.*")
    return sorted(entry for entry in kept if f".{ENTRY}." not in entry.name)


def test_a_table_is_made_once_and_only_the_one_that_is_asked(
    kept_run: Path, asked: Callable[..., Any], evaluated: list[Path]
) -> None:
    first = asked(COUNT)
    assert asked(COUNT) == first
    assert first[0]["n"] > 10
    assert evaluated == [kept_run]
    assert [e.name.split(".")[1] for e in entries(kept_run)] == ["metrics"]
    (pieces,) = asked("from query('select count(*) as n from sam' || 'ples'), (select 1 as x from metrics limit 1)")
    assert pieces["n"] == asked("select count(*) as n from samples")[0]["n"] > 100


def test_a_report_of_runs_that_the_cache_lacks_evaluates_each_once(
    kept_run: Path, evaluated: list[Path], tmp_path: Path
) -> None:
    other = kept_run.with_name("other")
    shutil.copytree(kept_run, other)
    about = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps(about | {"id": "other"}))
    words = ["report", str(kept_run), str(other), "--output", str(tmp_path / "report.html")]
    cli.run_words(words)
    assert evaluated == [kept_run, other]
    first = (tmp_path / "report.html").read_text()
    evaluated.clear()
    cli.run_words(words)
    assert evaluated == [kept_run]  # its pages have more than the cache keeps
    assert (tmp_path / "report.html").read_text() == first
    assert 'id="node-against"' in first


def test_a_run_that_grows_is_answered_as_it_is_now(kept_run: Path, asked: Callable[..., Any]) -> None:
    lines = (kept_run / "records.jsonl").read_bytes().splitlines(keepends=True)
    (kept_run / "finished.json").unlink()
    counts = []
    for end in (len(lines) - 2, len(lines) - 1, len(lines)):
        (kept_run / "records.jsonl").write_bytes(b"".join(lines[:end]))
        counts.append([asked("select count(*) as n from samples")[0]["n"] for _ in range(2)])
    sizes = [len(json.loads(line)["samples"]) for line in lines]
    assert counts == [[sum(sizes[:end])] * 2 for end in (len(lines) - 2, len(lines) - 1, len(lines))]


def test_a_run_that_grows_while_it_is_read_is_not_kept(
    kept_run: Path, asked: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = evaluation.evaluate

    def growing(path: Path, paths: Any = ()) -> Any:
        found = evaluate(path, paths)
        with (path / "records.jsonl").open("ab") as file:
            file.write(b"{}\n")
        return found

    monkeypatch.setattr(evaluation, "evaluate", growing)
    asked(COUNT)
    assert entries(kept_run) == []


@pytest.mark.parametrize("damage", ["cut off", "a bit", "empty", "anyone's"])
def test_an_entry_that_cannot_be_trusted_is_made_anew(
    kept_run: Path, asked: Callable[..., Any], evaluated: list[Path], damage: str
) -> None:
    first = asked(COUNT)
    (entry,) = entries(kept_run)
    content = entry.read_bytes()
    spoiled = {"cut off": content[:-10], "empty": b"", "a bit": content[:90] + bytes([content[90] ^ 1]) + content[91:]}
    entry.write_bytes(spoiled.get(damage, content))
    if damage == "anyone's":
        entry.chmod(0o666)
    assert asked(COUNT) == first
    assert len(evaluated) == 2
    assert [e.read_bytes() == content for e in entries(kept_run)] == [True]
    assert entries(kept_run)[0].stat().st_mode & 0o022 == 0


@pytest.mark.parametrize("change", ["records", "finished", "program", "place"])
def test_a_key_follows_from_the_run_and_the_program_wherever_the_run_is(
    kept_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    before = result_cache.key(kept_run)
    assert result_cache.key(kept_run) == before
    if change == "records":
        with (kept_run / "records.jsonl").open("ab") as file:
            file.write(b"\n")
    elif change == "finished":
        (kept_run / "finished.json").unlink()
    elif change == "place":
        kept_run = kept_run.rename(tmp_path / "elsewhere")
    else:
        (tmp_path / "house").mkdir()
        (tmp_path / "house" / "rule.py").write_text("LIMIT = 1\n")
        monkeypatch.setattr(result_cache, "HOUSE", tmp_path / "house")
    assert (result_cache.key(kept_run) == before) == (change == "place")
    assert result_cache.key(kept_run.parent) != before


def test_of_a_run_with_benchmarks_from_outside_nothing_is_kept(
    kept_run: Path, asked: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_cache, "HOUSE", kept_run.parents[1])
    assert asked(COUNT)[0]["n"] > 10
    assert entries(kept_run) == []


def test_the_entries_that_were_used_last_are_kept(kept_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        result_cache.save(f"key{number}", "metrics", b"x" * 100)
        (entry,) = (e for e in entries(kept_run) if e.name.startswith(f"key{number}."))
        os.utime(entry, (number, number))
    monkeypatch.setattr(result_cache, "MOST_BYTES", 350)
    assert result_cache.find("key0", "metrics")  # used now
    result_cache.save("key4", "metrics", b"x" * 100)
    assert [e.name.split(".")[0] for e in entries(kept_run)] == ["key0", "key3", "key4"]
    monkeypatch.setattr(result_cache, "MOST", 1)
    result_cache.save("key5", "metrics", b"")
    assert [e.name.split(".")[0] for e in entries(kept_run)] == ["key5"]


def test_tables_say_what_the_evaluation_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "AT_ONCE", 4)  # samples in a row of the file
    of = made_by_hand([triad(1e10), triad(2e10)])
    records = tuple(replace(r, aside=(1, 4), samples=(*r.samples[:5], math.nan)) for r in of.run.records)
    of = replace(of, run=replace(of.run, records=records))
    names, rows = query([of], "select * from samples")
    assert names == [
        "run",
        "benchmark",
        "kernel",
        "parameters",
        "launch",
        "attempt",
        "sample",
        "seconds",
        "aside",
        "verdict",
    ]
    listed = list(rows)
    assert [row[7] for row in listed] == [None if math.isnan(s) else s for r in records for s in r.samples]
    assert [row[6] for row in listed] == [1, 2, 3, 4, 5, 6] * len(records)
    assert [row[8] for row in listed] == [False, True, False, False, True, False] * len(records)
    assert json.loads(listed[0][3]) == dict(records[0].parameters)
    assert listed[0][:3] == (of.run.id, "memory.stream", "triad")


def test_the_hash_of_a_large_file_is_remembered_until_the_file_changes(
    kept_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest() -> bytes:
        result_cache._digests.cache_clear()  # as in a new process
        return result_cache.digest(file)

    def is_remembered() -> bool:
        result_cache._digests.cache_clear()
        with file.open("rb") as opened:
            return result_cache._identity(opened) in result_cache._digests()

    file = kept_run / "records.jsonl"
    monkeypatch.setattr(result_cache, "LARGE", 100)
    first = digest()
    assert not is_remembered()  # changed just now
    monkeypatch.setattr(result_cache, "SETTLED", 0)
    assert digest() == first
    assert is_remembered()
    times = file.stat()
    content = file.read_bytes()
    file.write_bytes(content[:-2] + b" \n")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # the same size and time of writing
    assert not is_remembered()
    assert digest() not in (first, b"")
    (result_cache._folder() / "digests").write_text("torn\nx y z\n" * 3)
    assert digest() not in (first, b"")
    (result_cache._folder() / "digests").chmod(0o666)
    assert not is_remembered()


def test_an_entry_that_another_process_saves_is_found(kept_run: Path) -> None:
    result_cache.save("key", "first", b"1")
    folder = result_cache._folder()
    os.utime(folder, ns=(0, 0))  # as if nothing had changed for long, so that the list of its files is kept
    assert result_cache.find("key", "second") is None
    (folder / f"key.second.{result_cache._short(b'2')}").write_bytes(b"2")
    assert result_cache.find("key", "second")
    result_cache.save("key", "second", b"3")
    found = result_cache.find("key", "second")
    assert found
    assert found.read_bytes() == b"3"
    assert len(list(folder.iterdir())) == 2
