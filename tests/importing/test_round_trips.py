"""What Steelyard exports in the forms of other tools comes back by the import, with the same values, units and sizes."""

import json
from dataclasses import replace

import pytest

import builders
import exported_run
from steelyard.importing import reading
from steelyard.model import Evaluation, ForeignValue
from steelyard.report import export
from steelyard.report.exports.osu import DECIMALS

ROUNDED = 0.51 * 10**-DECIMALS  # of a printed number of OSU


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return exported_run.evaluation()


def read_back(evaluation: Evaluation, form: str) -> tuple[ForeignValue, ...]:
    text = "".join(export.parts(evaluation, form))
    read = reading.read(text.encode(), reading.find_formats())
    assert not read.problems
    return read.values


def measured(evaluation: Evaluation) -> list[tuple[str, float]]:
    """The unit and the value of each metric of each valid result, in the order of the export."""
    valid = (r for r in evaluation.results if r.verdict.level != "INVALID")
    return [(value.unit, value.value) for result in valid for value in result.metrics.values()]


def test_a_table_of_osu_comes_back(evaluation: Evaluation) -> None:
    values = read_back(evaluation, "osu")
    for benchmark, metric, unit in (("network.pingpong", "latency", "s"), ("network.rate", "bandwidth", "B/s")):
        wanted = [
            (int(result.parameters["message_bytes"]), result.metrics[metric].value)
            for result in evaluation.results
            if result.benchmark == benchmark and metric in result.metrics
        ]
        rounded = ROUNDED * (1e-6 if unit == "s" else 1e6)
        for size, value in wanted:
            alike = (v for v in values if v.parameters["message_bytes"] == size and v.unit == unit)
            assert any(v.value == pytest.approx(value, abs=rounded, rel=1e-9) for v in alike), (benchmark, size, value)
    pingpong = [v for v in values if v.benchmark == "network.pingpong"]
    assert len(pingpong) == 2 * len(exported_run.SIZES)
    assert {v.parameters.get("buffers") for v in pingpong} == {"reused", "fresh"}


def test_the_times_of_a_collective_over_the_ranks_come_back(evaluation: Evaluation) -> None:
    values = [v for v in read_back(evaluation, "osu") if "allreduce" in (v.kernel, v.benchmark.rpartition(".")[2])]
    of_size = [v for v in values if v.parameters["message_bytes"] == 4096]
    seconds = exported_run.allreduce(4096).metrics["time"].value
    assert sorted(v.value for v in of_size) == pytest.approx(
        [0.8 * seconds, 0.925 * seconds, seconds], abs=1e-6 * ROUNDED
    )


@pytest.mark.parametrize("form", ["reframe-log", "reframe-report"])
def test_a_log_and_a_report_of_reframe_come_back(evaluation: Evaluation, form: str) -> None:
    values = read_back(evaluation, form)
    came, wanted = sorted((v.unit, v.value) for v in values), sorted(measured(evaluation))
    assert [unit for unit, _ in came] == [unit for unit, _ in wanted]
    assert [value for _, value in came] == pytest.approx([value for _, value in wanted], rel=1e-15, abs=0)


def test_a_log_of_reframe_without_a_date_comes_back(evaluation: Evaluation) -> None:
    surroundings = builders.seen({})
    (triad,) = (r for r in evaluation.results if r.benchmark == "memory.stream")
    records = tuple(replace(record, surroundings=surroundings) for record in triad.records)
    undated = replace(evaluation, run=replace(evaluation.run, started=""), results=(replace(triad, records=records),))
    (value,) = read_back(undated, "reframe-log")
    assert (value.value, value.started) == (triad.metrics["bandwidth"].value, "")


def test_the_times_and_rates_of_google_benchmark_come_back(evaluation: Evaluation) -> None:
    values = read_back(evaluation, "google-benchmark")
    entries = json.loads("".join(export.parts(evaluation, "google-benchmark")))["benchmarks"]
    for kind, statistic in (("iteration", "one run"), ("median", "median"), ("mean", "mean")):
        written = [entry for entry in entries if kind in (entry["run_type"], entry.get("aggregate_name"))]
        times = [v.value for v in values if (v.metric, v.statistic) == ("real_time", statistic)]
        assert times == pytest.approx([entry["real_time"] * 1e-9 for entry in written], rel=1e-12)
    medians = [v for v in values if (v.metric, v.statistic, v.unit) == ("bandwidth", "median", "B/s")]
    wanted = [r.metrics["bandwidth"].value for r in evaluation.results if "bandwidth" in r.metrics]
    assert [v.value for v in medians] == wanted
