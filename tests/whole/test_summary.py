"""What is said of a run without its records: `show --json`, the list of runs; and the export, written piece by piece."""

import hashlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import evaluation, triad
from steelyard.judge import findings
from steelyard.measure.benchmarks import texts
from steelyard.measure.plan import catalogue
from steelyard.model import Benchmark, Evidence, Verdict
from steelyard.show.command_line import cli, evaluated_run
from steelyard.show.report import export, summarised_run, summary


def said(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    assert cli.run_and_explain(lambda: cli.app(list(map(str, words)))) == 0
    return json.loads(capsys.readouterr().out)


def test_show_prints_a_summary_and_with_samples_the_whole_export(
    kept_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = said(capsys, "show", kept_run, "--json", "--samples")
    assert whole == said(capsys, "export", kept_run)
    first = said(capsys, "show", kept_run, "--json")
    monkeypatch.setattr(findings, "judge", None)  # what is in the table need not be judged again
    short = said(capsys, "show", kept_run, "--json")
    assert short == first
    levels = [result["verdict"]["level"] for result in whole["results"]]
    assert short["verdicts"] == {level: levels.count(level) for level in short["verdicts"]}
    assert sum(n for counts in short["benchmarks"].values() for n in counts.values()) == len(levels)
    assert short["measured"] == len({(r["launch"], r["case"]) for r in whole["records"]})
    assert {name: short[name] for name in ("run", "started", "machine", "findings")} == {
        name: whole[name] for name in ("run", "started", "machine", "findings")
    }
    (figure, *_) = short["figures"]
    values = [r["metrics"] for r in whole["results"] if r["parameters"] == figure["parameters"]]
    assert figure["value"] in [value for metrics in values for value in metrics.values()]


def test_the_summary_does_not_grow_with_the_cases() -> None:
    few, many = (summary.as_json(summarised_run.summarised(evaluation([triad(1e10)] * n))) for n in (1, 500))
    assert len(json.dumps(many)) < len(json.dumps(few)) + 100


def test_samples_without_json_are_refused(kept_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_and_explain(lambda: cli.app(["show", str(kept_run), "--samples"])) == 2
    assert "--samples adds every case, record and sample to the output of --json" in capsys.readouterr().err


def test_the_list_of_runs_has_verdicts_and_a_main_figure(kept_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (listed,) = said(capsys, "list", "--json", "--runs", kept_run.parent)["runs"]
    short = said(capsys, "show", kept_run, "--json")
    assert listed["verdicts"] == short["verdicts"]
    assert listed["figure"] == short["figures"][0]
    assert (listed["done"], listed["cases"]) == (short["measured"], short["cases"])
    cli.run_words(["list", "--runs", str(kept_run.parent)])
    table = capsys.readouterr().out
    assert f"● {short['verdicts']['CLEAN']} CLEAN" in table
    assert f"{listed['done']}/{listed['cases']} measurements" in table
    assert f"{listed['figure']['title']}: {listed['figure']['text']}" in " ".join(table.replace("│", " ").split())


def test_a_run_that_is_not_finished_is_listed_without_being_judged(
    kept_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (kept_run / "finished.json").unlink()
    monkeypatch.setattr(findings, "judge", None)
    (listed,) = said(capsys, "list", "--json", "--runs", kept_run.parent)["runs"]
    assert (listed["verdicts"], listed["figure"], listed["finished"]) == (None, None, False)
    assert listed["done"] > 0


def test_benchmarks_are_listed_from_their_texts_as_they_are_declared(benchmarks: dict[str, Benchmark]) -> None:
    assert [
        (b.name, b.title, b.summary, tuple(dict.fromkeys(s.path for s in b.sources))) for b in benchmarks.values()
    ] == [(b.name, b.title, b.summary, b.programs) for b in texts.list_own().values()]
    assert catalogue.listed() == list(texts.list_own().values())


def test_an_export_is_laid_out_as_ever_and_in_ascii() -> None:
    odd = Verdict("DISTURBED", (Evidence("clock", "2 – 3 µs “é” \U0001f600."),))
    of = evaluation([triad(1e10)])
    of = replace(of, run=replace(of.run, records=tuple(replace(r, verdict=odd) for r in of.run.records)))
    parts = list(export.parts(of, "json"))
    text = "".join(parts)
    assert text.isascii()
    assert max(map(len, parts)) < len(text) / 2
    plain = json.loads(text)
    assert plain["records"][0]["verdict"]["evidence"] == ["clock: 2 – 3 µs “é” \U0001f600."]
    assert plain["findings"] == []
    lines, expected = text.splitlines(), (json.dumps(plain, indent=1)).splitlines()
    assert len(lines) == len(expected)
    assert all(a == b for a, b in zip(lines, expected, strict=True) if "." not in a)


@pytest.fixture
def summarised(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each run whose summary was made."""
    made: list[str] = []
    make = summarised_run.summarised

    def counted(of: Any) -> summary.Summary:
        made.append(of.run.id)
        return make(of)

    monkeypatch.setattr(summarised_run, "summarised", counted)
    return made


def test_a_summary_is_stored_beside_the_table_and_names_the_folder_as_the_user_does(
    kept_run: Path, monkeypatch: pytest.MonkeyPatch, summarised: list[str]
) -> None:
    first = evaluated_run.find_summary(kept_run, [])
    monkeypatch.chdir(kept_run.parent)
    again = evaluated_run.find_summary(Path(kept_run.name), [])
    assert len(summarised) == 1
    assert again == replace(first, path=kept_run.name)


def test_a_copied_run_keeps_its_summary_and_its_records_are_read_once(
    kept_run: Path, summarised: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = evaluated_run.find_summary(kept_run, [])
    os.utime(kept_run / "records.jsonl", (1e9, 1e9))
    assert evaluated_run.find_summary(kept_run, []) == first
    monkeypatch.setattr(hashlib, "blake2b", None)  # to read a file again would fail
    assert evaluated_run.find_summary(kept_run, []) == first
    assert len(summarised) == 1


def test_a_history_takes_the_summary_of_an_earlier_version(kept_run: Path, summarised: list[str]) -> None:
    first = evaluated_run.find_summary(kept_run, [])
    file = kept_run / evaluated_run.SUMMARY
    file.write_bytes(re.sub(rb'"rules":"[^"]*"', b'"rules":"0.0.9"', file.read_bytes(), count=1))
    assert evaluated_run.find_older_summary(kept_run, []) == (first, True)
    assert len(summarised) == 1
    assert evaluated_run.find_summary(kept_run, []) == first
    assert len(summarised) == 2
    assert evaluated_run.find_older_summary(kept_run, []) == (first, False)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("damage", ["missing", "empty", "acting", "anyone's", "of another table", "of other records"])
def test_a_summary_that_cannot_be_used_is_made_again(kept_run: Path, summarised: list[str], damage: str) -> None:
    first = evaluated_run.find_summary(kept_run, [])
    file = kept_run / evaluated_run.SUMMARY
    content = file.read_bytes()
    spoiled = {
        "empty": b"", "acting": content.replace(b'"system":"', b'"system":"\\u001b', 1),
        "of another table": content.replace(b'"finished":true', b'"finished":false', 1),
    }  # fmt: skip
    file.write_bytes(spoiled.get(damage, content))
    if damage == "anyone's":
        file.chmod(0o666)
    if damage == "missing":
        file.unlink()
    if damage == "of other records":
        with (kept_run / "records.jsonl").open("ab") as records:
            records.write(b"{}\n")
    again = evaluated_run.find_summary(kept_run, [])
    assert len(summarised) == 2
    assert again.figures == first.figures
    assert evaluated_run.find_summary(kept_run, []) == again
    assert len(summarised) == 2
