"""Golden files: a run of format 1 stays readable, and means the same, whatever changes here."""

import json
from pathlib import Path

from steelyard.evaluation import evaluate
from steelyard.model.plain import to_plain
from steelyard.records import read
from steelyard.report.export import as_json

GOLDEN = Path(__file__).with_name("golden")


def test_a_run_of_format_1_is_exported_as_ever() -> None:
    exported = as_json(evaluate(GOLDEN / "run-format-1"))
    expected = json.loads((GOLDEN / "run-format-1.export.json").read_text())
    assert {name: exported[name] for name in expected} == expected


def test_a_run_of_format_1_is_written_as_it_was_read() -> None:
    run = read(GOLDEN / "run-format-1")
    kept = [json.loads(line) for line in (GOLDEN / "run-format-1" / "records.jsonl").read_text().splitlines()]
    # What was added to the format since has its default.
    assert [to_plain(record) for record in run.records] == [{"aside": []} | record for record in kept]
    whole = json.loads((GOLDEN / "run-format-1" / "run.json").read_text())
    assert to_plain(run.machine) == {"hosts": [], "devices": [], "libraries": []} | whole["machine"]
    launches = [{"model": ""} | launch for launch in whole["plan"]["launches"]]
    assert to_plain(run.plan) == whole["plan"] | {"launches": launches}


def test_the_disturbed_attempt_is_kept_and_the_clean_one_counts() -> None:
    (result,) = evaluate(GOLDEN / "run-format-1").results
    assert len(result.records) == 3
    assert result.verdict.level == "CLEAN"
    value = result.metrics["bandwidth"]
    # The median of the launches' medians, 0.006012 and 0.0061122 s: 192e6 B in 6.0621 ms.
    assert abs(value.value / (192e6 / 6.0621e-3) - 1) < 1e-6
    assert value.low is not None
    assert value.low < value.value < (value.high or 0)
