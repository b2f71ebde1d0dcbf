"""Golden files: a run of each format stays readable, and means the same, whatever changes here."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from damage import unpack
from folders import GOLDEN
from golden_runs import copied
from steelyard.compare import runs as comparing
from steelyard.judge.evaluation import evaluate
from steelyard.measure.records import RunFolder, read
from steelyard.model import Cluster, Equipment, Evaluation, Evidence
from steelyard.model.evidence import KINDS, sentence
from steelyard.model.plain import to_json, to_plain
from steelyard.show import report
from steelyard.show.command_line import output_forms
from steelyard.show.report import export, side_by_side
from steelyard.show.report.columns import metric_rows, sample_lists

FORMATS = ("run-format-1", "run-format-2")
ADDED = ("began", "ended", "monotonic")  # to the twin of format 2


def golden(name: str) -> Evaluation:
    """As if all lay in the same folder."""
    found = evaluate(copied(name))
    return replace(found, run=replace(found.run, path="runs/golden"))


def as_json(of: Evaluation) -> dict[str, Any]:
    """What `export --format json` writes."""
    plain: dict[str, Any] = json.loads(export.write(of, "json", None))
    return plain


def without_what_was_added(exported: dict[str, Any]) -> dict[str, Any]:
    for record in exported["records"]:
        for name in ADDED:
            record["surroundings"].pop(name, None)
    return exported


def rounded(value: object) -> object:
    """Returns the value with 12 digits of each number: quantiles of different versions of SciPy differ in the 15th."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def shorten(number: re.Match[str]) -> str:
    """Returns a number in a text with 9 digits, for the same reason."""
    return f"{float(number[0]):.9g}"


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_is_exported_as_ever(name: str) -> None:
    exported = as_json(evaluate(copied(name)))
    expected = json.loads((GOLDEN / "run-format-1.export.json").read_text())
    assert rounded({name: exported[name] for name in expected}) == rounded(expected)


def test_a_run_of_format_1_is_written_as_it_was_read() -> None:
    run = read(GOLDEN / "run-format-1")
    kept = [json.loads(line) for line in (GOLDEN / "run-format-1" / "records.jsonl").read_text().splitlines()]
    # What was added to the format since has its default.
    assert kept[0]["verdict"]["evidence"] == ["competing load: planted."]
    kept[0]["verdict"]["evidence"] = [{"kind": "competing load", "text": "planted.", "numbers": {}}]
    assert [to_plain(record) for record in run.records] == [{"aside": []} | record for record in kept]
    whole = json.loads((GOLDEN / "run-format-1" / "run.json").read_text())
    machine = {"hosts": [], "devices": [], "libraries": [], "enclosures": []} | whole["machine"]
    machine |= {
        "cluster": to_plain(Cluster()),
        "equipment": to_plain(Equipment()),
        "networks": [],
        "core_kinds": [],
        "mpi_settings": None,
        "start_factors": {},
    }
    machine["nodes"] = [{"kind": "DRAM"} | node for node in machine["nodes"]]
    assert to_plain(run.machine) == machine
    launches = [{"model": ""} | launch for launch in whole["plan"]["launches"]]
    assert to_plain(run.plan) == whole["plan"] | {"launches": launches, "left_out": {}}


def test_a_run_of_format_2_is_written_as_it_was_read() -> None:
    kept = (GOLDEN / "run-format-2" / "records.jsonl").read_text().splitlines()
    found = [to_plain(record) for record in read(GOLDEN / "run-format-2").records]
    assert found == [json.loads(line) for line in kept]
    (evidence,) = found[0]["verdict"]["evidence"]
    assert evidence["numbers"]["seconds"] == 0.004
    assert found[0]["surroundings"]["ended"] - found[0]["surroundings"]["began"] > 0.19


def test_the_evidence_of_a_real_run_of_format_1_has_its_kinds_and_reads_as_ever(tmp_path: Path) -> None:
    path = unpack(tmp_path)
    written = [json.loads(line)["verdict"]["evidence"] for line in (path / "records.jsonl").read_text().splitlines()]
    kept = read(path).records
    assert [[sentence(e) for e in record.verdict.evidence] for record in kept] == written
    kinds = {e.kind for record in kept for e in record.verdict.evidence}
    assert len(kinds) >= 5
    assert kinds <= set(KINDS)
    # Written as it is now, and read again, it is the same.
    (path / "records.jsonl").write_bytes(b"".join(to_json(record) + b"\n" for record in kept))
    assert to_plain(read(path).records) == to_plain(kept)


def test_both_formats_are_exported_shown_and_reported_alike(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = map(golden, FORMATS)
    assert rounded(without_what_was_added(as_json(new))) == rounded(without_what_was_added(as_json(old)))
    assert rounded(metric_rows(new)) == rounded(metric_rows(old))
    assert list(sample_lists(new)) == list(sample_lists(old))
    for form in ("screen", "all"):
        output_forms.show(old, form, None)
        said = capsys.readouterr().out
        output_forms.show(new, form, None)
        assert capsys.readouterr().out == said
    page = re.compile(r'<section class="page" id="memory-stream">.*?</section>', re.S)
    (of_old,), (of_new,) = (page.findall(report.render(found)) for found in (old, new))
    long = re.compile(r"\d+\.\d{9,}")
    assert long.sub(shorten, of_new) == long.sub(shorten, of_old)


def test_runs_of_both_formats_are_compared_as_two_of_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = map(golden, FORMATS)
    said = []
    for a, b in ((old, old), (old, new), (new, old)):
        side_by_side.show(a, b, comparing.compare(a, b))
        said.append(capsys.readouterr().out)
    assert "1 case in both" in said[0]
    assert said[1] == said[2] == said[0]


def test_a_run_of_format_1_that_is_gone_on_with_is_of_format_2(tmp_path: Path) -> None:
    path = tmp_path / "run"
    shutil.copytree(GOLDEN / "run-format-1", path)
    about = json.loads((path / "run.json").read_text())
    lines = (path / "records.jsonl").read_bytes()
    seen = read(GOLDEN / "run-format-2").records[0]
    folder = RunFolder(path)
    folder.append(replace(seen, attempt=3))
    folder.close()
    assert json.loads((path / "run.json").read_text()) == {**about, "format": 2}
    assert (path / "records.jsonl").read_bytes().startswith(lines)
    run = read(path)
    assert run.notes == ()
    first, *_, last = run.records
    assert first.verdict.evidence == (Evidence("competing load", "planted."),)
    assert last.verdict.evidence == seen.verdict.evidence


def test_the_disturbed_attempt_is_kept_and_the_clean_one_counts() -> None:
    (result,) = evaluate(copied("run-format-1")).results
    assert len(result.records) == 3
    assert result.verdict.level == "CLEAN"
    value = result.metrics["bandwidth"]
    # The median of the launches' medians, 0.006012 and 0.0061122 s: 192e6 B in 6.0621 ms.
    assert abs(value.value / (192e6 / 6.0621e-3) - 1) < 1e-6
    assert value.low is not None
    assert value.low < value.value < (value.high or 0)
