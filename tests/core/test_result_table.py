"""The table of a run's results: equal to what is judged, made again when anything that it follows from changes."""

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import evaluation as made_by_hand
from builders import measured, triad
from steelyard.errors import MachineFailed
from steelyard.judge import evaluation, findings
from steelyard.measure import records
from steelyard.model import Evaluation
from steelyard.results import basis, table
from steelyard.results.deferred import Deferred
from steelyard.show.command_line import cli
from steelyard.show.report import columns
from steelyard.show.report.question import query

COUNT = "select count(*) as n, round(sum(value)) as total from metrics"


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


@pytest.fixture
def ask(kept_run: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[dict[str, Any]]]:
    """Queries the folder of runs by the command line."""

    def asked(sql: str) -> list[dict[str, Any]]:
        command = ["query", sql, "--json", "--runs", str(kept_run.parent)]
        assert cli.run_and_explain(lambda: cli.app(command)) == 0
        rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
        return rows

    return asked


def said(of: Evaluation) -> tuple[object, ...]:
    return of.run, of.results, of.findings, of.condition, list(of.benchmarks)


def test_the_second_time_it_is_read_and_equal(kept_run: Path, judgements: list[Evaluation]) -> None:
    first, second = evaluation.evaluate(kept_run), evaluation.evaluate(kept_run)
    assert len(judgements) == 1
    assert said(second) == said(first)
    shared = {id(record) for record in second.run.records}
    assert all(id(record) in shared for result in second.results for record in result.records)


def test_what_needs_no_samples_reads_no_records(kept_run: Path, monkeypatch: pytest.MonkeyPatch, ask: Any) -> None:
    expected = ask(COUNT)

    def fail(path: Path) -> None:
        raise AssertionError(f"the records of {path} were read")

    monkeypatch.setattr(records, "read", fail)
    assert ask(COUNT) == expected
    cli.run_words(["compare", str(kept_run), "4x AMD 8350 Barcelona", "Mont-Blanc node", "--all"])
    stored = evaluation.evaluate(kept_run)
    assert sum(attempt.count for result in stored.results for attempt in result.attempts) > 100


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", ["records", "finished", "rules", "a byte"])
def test_it_is_judged_again_when_what_it_follows_from_changes(
    kept_run: Path, judgements: list[Evaluation], change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    evaluation.evaluate(kept_run)
    file = kept_run / "records.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    if change == "records":
        file.write_bytes(b"".join(lines[:-1]))
    elif change == "a byte":
        file.write_bytes(b"".join(lines).replace(b'"launch":1,', b'"launch":2,', 1))
    elif change == "finished":
        (kept_run / "finished.json").unlink()
    else:
        (tmp_path / "rule.py").write_text("LIMIT = 22\n")
        monkeypatch.setattr(basis, "HOUSE", tmp_path)
    evaluation.evaluate(kept_run)
    assert len(judgements) == 2


def test_a_copy_of_the_run_has_the_same_table(kept_run: Path, judgements: list[Evaluation]) -> None:
    first = evaluation.evaluate(kept_run)
    copied = shutil.copytree(kept_run, kept_run.with_name("copy"), copy_function=shutil.copy)  # with other times
    assert said(evaluation.evaluate(copied))[1:] == said(first)[1:]
    assert len(judgements) == 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("file", [table.RESULTS, table.ATTEMPTS])
@pytest.mark.parametrize(
    "damage", ["missing", "empty", "no JSON", "cut off", "anyone's", "of a later format", "acting"]
)
def test_a_table_that_cannot_be_used_is_made_again(
    kept_run: Path, judgements: list[Evaluation], file: str, damage: str
) -> None:
    first = evaluation.evaluate(kept_run)
    path = kept_run / file
    content = path.read_bytes()
    spoiled = {
        "empty": b"", "no JSON": b"\x00" + content, "cut off": content[: len(content) // 2],
        "of a later format": content.replace(b'"format":2', b'"format":3', 1) if file == table.RESULTS else b"{}\n",
        "acting": content.replace(b'"kernel":"', b'"kernel":"\\u001b', 1).replace(b'"level":"CLE', b'"level":"\x1bLE', 1),
    }  # fmt: skip
    path.write_bytes(spoiled.get(damage, content))
    if damage == "anyone's":
        path.chmod(0o666)
    if damage == "missing":
        path.unlink()
    second = evaluation.evaluate(kept_run)
    if (file, damage) == (table.ATTEMPTS, "acting"):
        with pytest.raises(MachineFailed, match=r"Make them again with: steelyard judge"):
            print([list(result.attempts) for result in second.results])
    else:
        assert said(second) == said(first)
    assert path.stat().st_mode & 0o022 == 0


def test_a_table_of_other_records_is_refused_when_they_are_read(kept_run: Path) -> None:
    evaluation.evaluate(kept_run)
    path = kept_run / table.RESULTS
    head, *rows = path.read_bytes().splitlines(keepends=True)
    changed = [row.replace(b'"records":[', b'"records":[99', 1) for row in rows]
    path.write_bytes(b"".join([head, *changed]))
    stored = evaluation.evaluate(kept_run)
    with pytest.raises(MachineFailed, match=r"do not belong to its records\. Make them again with: steelyard judge"):
        list(stored.run.records)


def test_where_no_table_can_be_written_the_run_is_judged(
    kept_run: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "keep_table", lambda *_: None)
    assert evaluation.evaluate(kept_run).results
    assert ask(COUNT)[0]["n"] > 10
    assert not (kept_run / table.RESULTS).exists()


def test_nothing_is_written_into_the_folder_of_another_user(kept_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(entries(kept_run))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert evaluation.evaluate(kept_run).results
    assert list(entries(kept_run)) == before


def test_of_a_benchmark_from_outside_the_files_around_it_count_and_nothing_below(
    kept_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "theirs" / "left"
    (folder / "below").mkdir(parents=True)
    stream = evaluation.evaluate(kept_run).benchmarks["memory.stream"]
    strange = {"left.behind": replace(stream, sources=(replace(stream.sources[0], path=str(folder / "behind.cpp")),))}
    rules = [basis.find_rules(strange)]
    for changed in ("behind.py", "../helpers.py", "below/other.py"):
        (folder / changed).write_text("X = 1\n")
        rules.append(basis.find_rules(strange))
    (folder / ".#behind.py").symlink_to("an-editor@its.host")  # leads nowhere
    assert basis.find_rules(strange) == rules[-1]
    assert len(set(rules)) == 3
    assert rules[2] == rules[3]


def test_judge_makes_the_table_again(kept_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluation.evaluate(kept_run)
    path = kept_run / table.RESULTS
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"level":"CLEAN"', b'"level":"INVALID"'))
    cli.run_words(["judge", str(kept_run)])
    assert path.read_bytes() == content
    assert capsys.readouterr().out.startswith("20261122-141829: ")


def test_a_run_that_grows_is_answered_as_it_is_now(kept_run: Path, ask: Any) -> None:
    lines = (kept_run / "records.jsonl").read_bytes().splitlines(keepends=True)
    (kept_run / "finished.json").unlink()
    counts = []
    for end in (len(lines) - 2, len(lines) - 1, len(lines)):
        (kept_run / "records.jsonl").write_bytes(b"".join(lines[:end]))
        counts.append([ask("select count(*) as n from samples")[0]["n"] for _ in range(2)])
    sizes = [len(json.loads(line)["samples"]) for line in lines]
    assert counts == [[sum(sizes[:end])] * 2 for end in (len(lines) - 2, len(lines) - 1, len(lines))]


def test_a_query_of_both_tables_and_of_a_name_made_of_pieces_is_answered(ask: Any) -> None:
    (pieces,) = ask("from query('select count(*) as n from sam' || 'ples'), (select 1 as x from metrics limit 1)")
    assert pieces["n"] == ask("select count(*) as n from samples")[0]["n"] > 100


def test_the_table_of_metrics_is_that_of_the_export(kept_run: Path, ask: Any) -> None:
    rows = ask("select * from metrics")
    expected = columns.metric_rows(evaluation.evaluate(kept_run))
    assert [{**row, "parameters": json.loads(row["parameters"])} for row in rows] == [
        {n: None if v == "" else v for n, v in row.items()} | {"parameters": json.loads(row["parameters"])}
        for row in expected
    ]


def test_the_table_of_samples_says_what_the_evaluation_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "AT_ONCE", 4)  # samples in a row of the file
    of = made_by_hand([triad(1e10), triad(2e10)])
    records = tuple(replace(r, aside=(1, 4), samples=(*r.samples[:5], math.nan)) for r in of.run.records)
    of = replace(of, run=replace(of.run, records=records))
    names, rows = query([of], "select * from samples")
    assert names == [
        "run", "benchmark", "kernel", "parameters", "launch", "attempt", "sample", "seconds", "aside", "verdict",
    ]  # fmt: skip
    listed = list(rows)
    assert [row[7] for row in listed] == [None if math.isnan(s) else s for r in records for s in r.samples]
    assert [row[6] for row in listed] == [1, 2, 3, 4, 5, 6] * len(records)
    assert [row[8] for row in listed] == [False, True, False, False, True, False] * len(records)
    assert json.loads(listed[0][3]) == dict(records[0].parameters)
    assert listed[0][:3] == (of.run.id, "memory.stream", "triad")


def test_a_report_of_several_runs_reads_each_once(
    kept_run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: list[Path] = []
    evaluate = evaluation.evaluate

    def counted(path: Path, *more: Any) -> Evaluation:
        found.append(path)
        return evaluate(path, *more)

    monkeypatch.setattr(evaluation, "evaluate", counted)
    other = shutil.copytree(kept_run, kept_run.with_name("other"))
    about = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps(about | {"id": "other"}))
    cli.run_words(["report", str(kept_run), str(other), "--output", str(tmp_path / "report.html")])
    assert found == [kept_run, other]
    assert 'id="node-against"' in (tmp_path / "report.html").read_text()


def test_an_attempt_says_what_its_record_says(kept_run: Path) -> None:
    stored = evaluation.evaluate(kept_run)
    pairs = [pair for result in stored.results for pair in zip(result.attempts, result.records, strict=True)]
    for attempt, record in pairs:
        assert (attempt.launch, attempt.case, attempt.attempt) == (record.launch, record.case, record.attempt)
        assert (attempt.verdict, attempt.aside, attempt.error) == (record.verdict, record.aside, record.error)
        assert (attempt.count, attempt.work) == (len(record.samples), record.work)
        assert attempt.surroundings.cpus == record.surroundings.cpus
    assert len(pairs) == sum(record.benchmark in stored.benchmarks for record in stored.run.records)


def test_a_sequence_is_read_when_an_element_is_asked_for() -> None:
    def load() -> list[int]:
        loaded.append(True)
        return [1, 2, 3]

    loaded: list[bool] = []
    numbers = Deferred(3, load)
    assert (len(numbers), bool(numbers), loaded) == (3, True, [])
    assert numbers == (1, 2, 3)
    assert (numbers[0], numbers[1:], list(numbers), loaded) == (1, (2, 3), [1, 2, 3], [True])
    assert numbers != [1, 2]


def test_a_result_has_the_values_of_its_launches_and_its_limits(kept_run: Path) -> None:
    stored = evaluation.evaluate(kept_run)
    used = [result for result in stored.results if result.metrics]
    assert all(result.launches.keys() == result.metrics.keys() for result in used)
    assert any(result.limits for result in used)
    again = measured(used[0])
    assert again.seconds == used[0].seconds


def entries(folder: Path) -> Iterator[str]:
    yield from sorted(path.name for path in folder.iterdir())


def test_the_table_is_written_whole(kept_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(entries(kept_run))
    monkeypatch.setattr(os, "fsync", lambda file: (_ for _ in ()).throw(OSError("the disk is full")))
    assert evaluation.evaluate(kept_run).results
    assert list(entries(kept_run)) == before
