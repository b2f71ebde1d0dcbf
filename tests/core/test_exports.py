"""Exports in the forms of other tools: each value with its verdict and interval, as these tools read it."""

import csv
import io
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import builders
import exported_run
import report_fixture
import steelyard
from builders import measured
from steelyard.errors import UsageError
from steelyard.model import Evaluation, Value
from steelyard.show.report import export, exports

HOSTILE = 'a "b"\\ |\n# c'


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return exported_run.evaluation()


def written(evaluation: Evaluation, form: str) -> str:
    return "".join(export.parts(evaluation, form))


def foreign() -> Evaluation:
    """A run as `steelyard import` makes it: values without records."""
    latency = {
        f"latency{e}": Value(v * 1e-6, "s", None, None, "lower", statistic=statistic)
        for e, v, statistic in (
            ("", 2, "mean of 9"),
            ("_least_of_the_ranks", 1, "least"),
            ("_greatest_of_the_ranks", 3, "most"),
        )
    }
    one = builders.result("osu.allreduce", "allreduce", {"message_bytes": 8, "api": "MPI"}, 1.0, {}, metrics=latency)
    imported = measured(one, records=(), verdict=builders.verdict_of("FOREIGN", "OSU measured it."))
    return replace(builders.evaluation([imported]), results=(imported,), benchmarks={})


def test_every_form_of_another_tool_is_a_format_of_the_export() -> None:
    assert set(exports.FORMS) == {"reframe-log", "reframe-report", "openmetrics"}
    assert set(exports.FORMS) < set(export.FORMATS)


@pytest.mark.parametrize("form", exports.FORMS)
def test_a_hostile_name_breaks_no_form(evaluation: Evaluation, form: str) -> None:
    machine = replace(evaluation.run.machine, host=HOSTILE, system=HOSTILE)
    result = replace(evaluation.results[0], parameters={**evaluation.results[0].parameters, "placement": HOSTILE})
    run = replace(evaluation.run, machine=machine)
    text = written(replace(evaluation, run=run, results=(result,)), form)
    assert "\n# c" not in text
    if form == "reframe-report":
        json.loads(text)
    if form == "openmetrics":
        assert list(text_string_to_metric_families(text))
    if form == "reframe-log":
        assert {line.count("|") for line in text.splitlines()} == {9}


def test_an_undated_run_has_no_empty_place_for_its_date() -> None:
    undated = replace(foreign(), run=replace(foreign().run, started="", versions={}))
    assert "Measured by Steelyard, run a." in written(undated, "markdown")
    assert '"time_start"' not in written(undated, "reframe-report")


@pytest.mark.parametrize("form", exports.FORMS)
def test_a_foreign_value_is_exported_with_the_statistic_of_its_tool(form: str) -> None:
    text = written(foreign(), form)
    assert "FOREIGN" in text
    assert "mean of 9" in text


# --------------------------------------------------------------------------- ReFrame


def test_a_line_of_the_log_has_value_unit_verdict_and_interval(evaluation: Evaluation) -> None:
    lines = [line.split("|") for line in written(evaluation, "reframe-log").splitlines()]
    (triad,) = (line for line in lines if "stream.triad" in line[2])
    assert triad[0] == "2026-11-20T10:15:00+01:00"
    assert re.fullmatch(
        r"memory\.stream\.triad %toolchain=gcc-12\.2\.0 .* on bench:default using gcc-12\.2\.0", triad[2]
    )
    assert triad[3:8] == [
        "jobid=slurm-4711",
        "bandwidth=12345678900.0",
        "ref=0 (l=None, u=None)",
        "B/s",
        "verdict=CLEAN",
    ]
    assert [float(word.partition("=")[2]) for word in triad[8:]] == pytest.approx([12222222111.0, 12469135689.0])


def test_a_share_is_written_in_percent(evaluation: Evaluation) -> None:
    (line,) = (line for line in written(evaluation, "reframe-log").splitlines() if "noise.quanta" in line)
    assert "|lost=1.23|ref=0 (l=None, u=None)|%|verdict=CLEAN|low=1.2|high=1.3" in line
    (case,) = (case for case in report(evaluation)["runs"][0]["testcases"] if case["name"].startswith("noise"))
    assert case["perfvalues"]["bench:default:lost"][0] == pytest.approx(1.23)


def report(evaluation: Evaluation) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(written(evaluation, "reframe-report"))
    return read


def test_a_test_case_of_the_report_has_the_metrics_of_a_result(evaluation: Evaluation) -> None:
    cases = report(evaluation)["runs"][0]["testcases"]
    assert len(cases) == len(evaluation.results)
    (triad,) = (case for case in cases if case["name"].startswith("memory.stream"))
    assert triad["perfvalues"] == {"bench:default:bandwidth": [12345678900.0, 0, None, None, "B/s", "pass"]}
    assert triad["intervals"]["bandwidth"] == pytest.approx([12222222111.0, 12469135689.0])
    assert (triad["result"], triad["verdict"], triad["check_params"]["threads"]) == ("pass", "CLEAN", 2)


def test_an_invalid_result_is_a_failed_test_case_without_a_value(evaluation: Evaluation) -> None:
    written_report = report(evaluation)
    (failed,) = (case for case in written_report["runs"][0]["testcases"] if case["result"] == "fail")
    assert failed["perfvalues"] == {}
    assert failed["fail_reason"] == "The message | arrived twice."
    assert written_report["session_info"]["num_failures"] == 1


# --------------------------------------------------------------------------- OpenMetrics


def test_openmetrics_has_a_sample_for_each_metric_and_both_ends_of_its_interval(evaluation: Evaluation) -> None:
    families = {f.name: f for f in text_string_to_metric_families(written(evaluation, "openmetrics"))}
    (triad,) = (
        s
        for s in families["steelyard_result_bandwidth_bytes_per_second"].samples
        if s.labels["benchmark"] == "memory.stream"
    )
    assert triad.value == 12345678900.0
    assert float(triad.timestamp) == 1795166100.0
    assert (triad.labels["verdict"], triad.labels["threads"]) == ("CLEAN", "2")
    assert families["steelyard_result_bandwidth_low_bytes_per_second"].unit == "bytes_per_second"
    assert "steelyard_result_message_rate_messages_per_second" in families
    counts = {s.labels["verdict"]: s.value for s in families["steelyard_results"].samples}
    assert counts["INVALID"] == 1


def test_a_unit_is_written_as_words() -> None:
    from steelyard.show.report.exports.openmetrics import name_unit

    words = {"B/s": "bytes_per_second", "flop/cycle": "flops_per_cycle", "1/s": "per_second", "J s": "joule_seconds",
             "particle-step/s": "particle_steps_per_second", "%": "ratio", "": ""}  # fmt: skip
    assert {unit: name_unit(unit) for unit in words} == words


# --------------------------------------------------------------------------- a part of a run


def test_only_and_main_choose_results_with_their_records(evaluation: Evaluation) -> None:
    stream = export.select(evaluation, ["memory"])
    assert {r.benchmark for r in stream.results} == {r.benchmark for r in stream.run.records} == {"memory.stream"}
    main = export.select(evaluation, [], main=True)
    assert 2 <= len(main.results) < len(evaluation.results)
    with pytest.raises(
        UsageError, match=r"no benchmark 'memory\.strem' \(given by --only\)\. Did you mean 'memory\.stream'"
    ):
        export.select(evaluation, ["memory.strem"])


def test_a_document_of_the_main_figures_is_one_table_that_explains_its_marks() -> None:
    run = report_fixture.evaluation()
    text = "".join(export.parts(run, "markdown", main=True))
    assert re.findall("^## .*", text, re.M) == ["## Main figures"]
    assert "| Triad bandwidth | 4 threads | 51.9 GB/s | 51.4 – 52.4 GB/s | 76 % | CLEAN |" in text
    assert "- CLEAN: Steelyard detected no disturbance" in text
    assert "DISTURBED:" not in text
    latex = "".join(export.parts(run, "latex", main=True))
    assert latex.count(r"\begin{longtable}") == 1
    assert r"{\footnotesize The interval is the 95 \% confidence interval" in latex


def test_no_cell_of_a_csv_file_is_a_formula_and_numbers_stay_numbers() -> None:
    chance = random.Random(7)
    texts = [
        "".join(chance.choices("=+-@\t\r\n\x00 ＝＋－＠|'\",;1.eE(x", k=chance.randint(0, 6))) for _ in range(20_000)
    ]
    numbers = ["-5", "+1.5e3", "-.5", "5", "1e-9"]
    names = [f"column {index}" for index in range(25)]
    rows = [dict(zip(names, [*texts[at : at + 24], -1.5], strict=True)) for at in range(0, len(texts) - 24, 24)]
    written = list(csv.reader(io.StringIO("".join(export._csv(rows)), newline="")))[1:]
    risky = re.compile(r"[\s\x00]*[=+@＝＋＠－-]|[\t\r\n]")
    number = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
    changed = 0
    for row, cells in zip(rows, written, strict=True):
        assert cells[-1] == "-1.5"
        for text, cell in zip(row.values(), cells[:-1], strict=False):
            assert cell in (text, f"'{text}")
            assert number.fullmatch(cell) or not risky.match(cell), cell
            changed += cell != text
    assert changed > 5_000
    assert list(map(export.neutralize, numbers)) == numbers


@pytest.mark.wings
def test_every_writer_of_csv_is_known() -> None:
    """A new one must neutralize formulas, as `export` does. The readings of `power` begin with a / or a number."""
    writing = re.compile(r"csv\.(writer|DictWriter)|Sensor,Time,Value\\n|FORMAT csv")
    package = Path(steelyard.__file__).parent
    found = {
        str(p.relative_to(package)) for p in package.rglob("*.py") if writing.search(p.read_text(encoding="utf-8"))
    }
    assert found == {
        "show/report/export.py",
        "power/command_line/readings_output.py",
        "whatif/table.py",
    }
