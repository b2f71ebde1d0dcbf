"""Findings on imported runs, from values of known truth."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import builders
from steelyard.importing.doubts import SEVERAL, STOPPED
from steelyard.importing.values import make
from steelyard.importing.write_runs import describe_machine, write_run
from steelyard.judge.evaluation import evaluate
from steelyard.judge.evaluation.foreign_results import draw, evaluate_imported
from steelyard.measure.machine.system_file import load_system
from steelyard.model import Evaluation, Finding, ForeignValue, Imported, Limit
from steelyard.show.command_line import cli
from steelyard.show.report.forms_of_figures import fitted
from steelyard.show.report.headline import headlines


def evaluated(folder: Path, values: list[ForeignValue], system: str = "") -> Evaluation:
    file = folder / "system.toml"
    file.write_text(system)
    machine = describe_machine("cluster", load_system(file) if system else None)
    return evaluate(
        write_run(folder / "runs", "imported", machine, "", Imported(tools={"STREAM": 1}, values=tuple(values)))
    )


def _seen(values: list[ForeignValue], limit: float = 0.0) -> Evaluation:
    """An imported run in memory, on a machine with this limit of its memory in B/s."""
    machine = describe_machine("cluster")
    if limit:
        machine = replace(machine, limits={"memory_bandwidth": Limit(limit, "B/s", "its data sheet")})
    run = replace(
        builders.evaluation([]).run, machine=machine, imported=Imported(tools={"STREAM": 1}, values=tuple(values))
    )
    return evaluate_imported(run, run.imported, {})


SPEAKS = {
    "imported_doubts": lambda: _seen([stopped()]),
    "imported_limits": lambda: _seen([triad("n1", 50_000)], 1e11),
    "imported_outliers": lambda: _seen([*(triad(f"n{i}", 1e5 + i) for i in range(7)), triad("bad", 5e4)]),
    "imported_repetitions": lambda: _seen(jobs(190, 195, 198, 200, 204, 207, 300, 793)),
    "imported_same_node": lambda: _seen([pingpong(0.3)]),
    "imported_warm_buffers": lambda: _seen([pingpong(1.3)]),
}
SILENT = {
    "imported_doubts": lambda: _seen([triad("n1", 50_000)]),
    "imported_limits": lambda: _seen([triad("n1", 50_000)]),
    "imported_outliers": lambda: _seen([triad(f"n{i}", 1e5 + i) for i in range(8)]),
    "imported_repetitions": lambda: _seen(jobs(190, 195, 198, 200, 204, 207)),
    "imported_same_node": lambda: _seen([pingpong(1.3)]),
    "imported_warm_buffers": lambda: _seen([triad("n1", 50_000)]),
}


def findings(evaluation: Evaluation) -> dict[str, Finding]:
    assert not [f for f in evaluation.findings if "failed on this run" in f.seen]
    return {finding.rule: finding for finding in evaluation.findings}


def triad(host: str, megabytes: float) -> ForeignValue:
    value = make("memory.stream", "triad", "bandwidth", megabytes, "MB/s", "best of 9", {"threads": 8})
    return replace(value, host=host, tool="STREAM")


def stopped() -> ForeignValue:
    note = f"The bytes are counted as in STREAM. {STOPPED} (line 40: 'Killed')."
    return replace(triad("n1", 50_000), note=note, file="logs/a.out", line=31)


def pingpong(microseconds: float) -> ForeignValue:
    parameters = {"message_bytes": 8, "buffers": "reused"}
    return replace(make("network.pingpong", "pingpong", "latency", microseconds, "us", "mean", parameters), tool="OSU")


def jobs(*times: float) -> list[ForeignValue]:
    made = make("snap.run", "snap", "time", 0, "s", "one run", {"ranks": 32})
    return [
        replace(made, value=seconds, repetition=at, tool="SNAP", file=f"job{at}.out")
        for at, seconds in enumerate(times)
    ]


def test_repetitions_far_from_the_others_are_named_with_their_files(tmp_path: Path) -> None:
    values = jobs(190, 793, 193, 195, 198, 200, 202, 204, 207, 300)
    finding = findings(evaluated(tmp_path, values))["imported_repetitions"]
    assert finding.seen.startswith(
        "In snap.run, 2 of 10 repetitions are far from the others: 793 s and 300 s, where the "
    )
    assert "middle of the others is 199 s." in finding.seen
    assert finding.evidence[1:] == ("793 s: job1.out", "300 s: job9.out")


@pytest.mark.parametrize("times", [(190, 793, 195, 198), (190, 230, 200, 210, 240), (5, 5, 5, 5, 5)])
def test_few_or_evenly_spread_repetitions_have_no_outlier(tmp_path: Path, times: tuple[float, ...]) -> None:
    assert "imported_repetitions" not in findings(evaluated(tmp_path, jobs(*times)))


@pytest.mark.parametrize(
    ("microseconds", "named"),
    [
        ((300, 300, 300, 300, 300, 400), False),  # one printed step
        ((300, 300, 300, 300, 300, 200), False),
        ((300, 300, 300, 300, 0, 300), True),
        ((300, 300, 300, 300, 300, 500), True),
        ((300, 301, 300, 300, 300, 400), True),  # the tool prints finer steps
        ((0, 0, 0, 0, 0, 0), False),
    ],
)
def test_one_printed_step_is_no_outlier(tmp_path: Path, microseconds: tuple[int, ...], named: bool) -> None:
    values = jobs(*(time * 1e-6 for time in microseconds))
    assert ("imported_repetitions" in findings(evaluated(tmp_path, values))) == named


@pytest.mark.parametrize("several", [True, False])
def test_outputs_in_one_file_are_no_outliers_of_each_other(tmp_path: Path, several: bool) -> None:
    note = f"{SEVERAL} SNAP, which begin in lines 1, 30, 60." * several
    values = [replace(value, note=note) for value in jobs(190, 193, 195, 198, 200, 793)]
    assert ("imported_repetitions" in findings(evaluated(tmp_path, values))) != several


@pytest.mark.parametrize(("slow", "named"), [(60_000, True), (95_000, False)])
def test_a_host_that_is_much_slower_than_the_others_is_named(tmp_path: Path, slow: float, named: bool) -> None:
    values = [*(triad(f"n{i}", 100_000 + 500 * i) for i in range(7)), triad("bad", slow)]
    outliers = findings(evaluated(tmp_path, values)).get("imported_outliers")
    assert (outliers is not None and "bad is slower" in outliers.seen) == named


@pytest.mark.parametrize(
    ("statistic", "named"), [("mean", True), ("greatest", False), ("greatest of the pairs", False)]
)
def test_one_slow_event_accuses_no_host(tmp_path: Path, statistic: str, named: bool) -> None:
    times = [make("sysbench.cpu", "cpu", "latency", 0.44 + at / 1000, "ms", statistic, {}) for at in range(7)]
    values = [
        replace(value, host=f"n{at}", tool="sysbench")
        for at, value in enumerate([*times, replace(times[0], value=0.012)])
    ]
    assert ("imported_outliers" in findings(evaluated(tmp_path, values))) == named


@pytest.mark.parametrize(("slow", "named"), [(0.03, False), (0.04, True)])
def test_a_rounded_time_accuses_a_host_by_more_than_one_digit(tmp_path: Path, slow: float, named: bool) -> None:
    times = [make("sysbench.fileio", "fileio", "latency", ms, "ms", "mean", {}) for ms in (*[0.02] * 7, slow)]
    values = [replace(value, host=f"n{at}", tool="sysbench") for at, value in enumerate(times)]
    assert ("imported_outliers" in findings(evaluated(tmp_path, values))) == named


def test_few_hosts_have_no_outlier(tmp_path: Path) -> None:
    values = [triad("a", 100_000), triad("b", 100_000), triad("c", 30_000)]
    assert "imported_outliers" not in findings(evaluated(tmp_path, values))


@pytest.mark.parametrize(("microseconds", "named"), [(0.35, True), (1.05, False)])
def test_the_latency_of_shared_memory_is_recognised(tmp_path: Path, microseconds: float, named: bool) -> None:
    found = findings(evaluated(tmp_path, [pingpong(microseconds)]))
    assert ("imported_same_node" in found) == named
    assert "imported_warm_buffers" in found


@pytest.mark.parametrize(("limit", "level"), [("120e9", "good"), ("400e9", "notice"), ("90e9", "notice")])
def test_a_value_is_set_against_the_limit_of_the_system_file(tmp_path: Path, limit: str, level: str) -> None:
    found = findings(evaluated(tmp_path, [triad("n1", 100_000)], f"memory_bandwidth = {limit}\n"))["imported_limits"]
    assert found.level == level
    assert ("No value can be above" in found.seen) == (limit == "90e9")
    assert "best of 9" in found.seen


def test_repetitions_are_samples_and_give_an_interval(tmp_path: Path) -> None:
    rates = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 99.0]
    values = [replace(triad("", rate * 1e3), repetition=i) for i, rate in enumerate(rates)]
    (result,) = evaluated(tmp_path, values).results
    value = result.metrics["bandwidth"]
    assert (result.verdict.level, value.value, value.statistic) == ("FOREIGN", 102e9, "best of 9 (median of 7)")
    assert value.low is not None
    assert value.high is not None
    assert value.low < value.value < value.high


def test_one_value_has_no_interval(tmp_path: Path) -> None:
    (result,) = evaluated(tmp_path, [triad("", 1e5)]).results
    assert (result.metrics["bandwidth"].low, result.metrics["bandwidth"].high) == (None, None)


def test_a_further_statistic_has_a_name_of_its_own(tmp_path: Path) -> None:
    values = [pingpong(1.5), replace(pingpong(1.1), statistic="least")]
    (result,) = evaluated(tmp_path, values).results
    assert {name: v.value for name, v in result.metrics.items()} == pytest.approx(
        {"latency": 1.5e-6, "latency_least": 1.1e-6}
    )


# --------------------------------------------------------------------------- what stands for a tool, and its figures


def _ior(kernel: str, metric: str, value: float, unit: str, **parameters: Any) -> ForeignValue:
    return replace(make("ior.file", kernel, metric, value, unit, "one run", parameters), tool="IOR")


def test_a_rate_stands_before_the_times_that_it_consists_of() -> None:
    seen = _seen([_ior("write", "open_time", 3.0, "s"), _ior("write", "bandwidth", 2e3, "MB/s", api="POSIX")])
    assert [metric.name for metric in seen.benchmarks["ior.file"].metrics] == ["bandwidth", "open_time"]
    (headline,) = headlines(seen)
    assert (headline.title, headline.metric) == ("IOR: write", "bandwidth")


def test_triad_stands_for_the_kernels_of_stream() -> None:
    kernels = ("init", "copy", "triad")
    seen = _seen([make("babelstream.stream", k, "bandwidth", 9e3, "MB/s", "best of 99") for k in kernels])
    assert [headline.result.kernel for headline in headlines(seen)] == ["triad"]


def test_cases_without_a_size_are_bars_beside_the_lines_of_the_others() -> None:
    sizes = [_ior("write", "bandwidth", 1e3 + n, "MB/s", transfer_bytes=n) for n in (1024, 2048, 1 << 20)]
    lone = [_ior("read", "bandwidth", 4e4, "MB/s", api="POSIX", ranks=12000), _ior("read", "bandwidth", 1e3, "MB/s")]
    seen = _seen([*sizes, *lone])
    lines, bars = seen.benchmarks["ior.file"].figures(seen.results, seen.run.machine)
    assert (lines.kind, lines.x.title, lines.series[0].x) == ("lines", "transfer size", (1024, 2048, 1 << 20))
    assert (bars.kind, bars.title) == ("bars", "file: bandwidth (cases without a transfer size)")
    assert bars.series[0].x == ("read, POSIX, ranks 12\u202f000", "read")
    assert fitted(bars).y.log
    assert not fitted(replace(bars, series=(replace(bars.series[0], y=(4e10, 3e10)),))).y.log


def test_a_single_point_is_no_line_of_our_figure() -> None:
    seen = _seen([triad("n1", 5e4)])
    (figure,) = seen.benchmarks["memory.stream"].figures(seen.results, seen.run.machine)
    assert (figure.kind, figure.series[0].x) == ("bars", ("triad",))


@pytest.mark.parametrize(
    ("times", "call"),
    [
        ((1150, 1230, 1330, 1480, 1590), "FASTER"),
        ((4150, 4230, 4330, 4480, 4590), "SLOWER"),
        ((2200, 2400, 2450, 2600, 2700), "UNCLEAR"),
        ((1150, 1230, 1330, 1480), "NOT JUDGED"),
    ],
)
def test_five_repetitions_on_both_sides_allow_a_call(
    tmp_path: Path, capsys: Any, times: tuple[float, ...], call: str
) -> None:
    paths = []
    for name, seconds in (("a", (2370, 2450, 2500, 2610, 2770)), ("b", times)):
        imported = Imported(tools={"SNAP": 1}, values=tuple(jobs(*seconds)))
        paths.append(str(write_run(tmp_path / "runs", name, describe_machine(name), "", imported)))
    cli.run_words(["compare", *paths, "--json"])
    (other,) = json.loads(capsys.readouterr().out)["others"]
    assert [total["call"] for total in other["benchmarks"]] == [call]
    assert ("other tools" in other["benchmarks"][0]["why"]) == (call != "NOT JUDGED")


def test_a_doubtful_value_is_named_with_file_and_line(tmp_path: Path) -> None:
    finding = findings(evaluated(tmp_path, [stopped(), triad("n1", 50_000)]))["imported_doubts"]
    assert finding.seen == "1 value of 1 file is doubtful. The first one is in logs/a.out:31."
    assert finding.evidence == (f"logs/a.out:31: {STOPPED} (line 40: 'Killed').",)


def test_a_latency_within_a_node_names_its_file(tmp_path: Path) -> None:
    finding = findings(evaluated(tmp_path, [replace(pingpong(0.3), file="logs/osu.txt")]))["imported_same_node"]
    assert "The value stands in logs/osu.txt." in finding.evidence


def stream(threads: int, elements: int, gigabytes: float) -> list[ForeignValue]:
    case: dict[str, Any] = {"threads": threads, "elements": elements}
    made = [
        make("memory.stream", "triad", "bandwidth", gigabytes, "GB/s", "best of 9", case),
        make("memory.stream", "triad", "pass_time", elements * 24e-9 / gigabytes, "s", "mean", case),
    ]
    return [replace(value, tool="STREAM") for value in made]


def test_without_a_case_alike_the_best_configurations_are_compared(tmp_path: Path, capsys: Any) -> None:
    sides = {
        "a": [*stream(16, 10**8, 180), *stream(32, 10**8, 360)],
        "b": [*stream(64, 3 * 10**8, 240)],
        "c": stream(32, 10**8, 90),
    }
    paths = [
        str(write_run(tmp_path / "runs", name, describe_machine(name), "", Imported(tools={}, values=tuple(values))))
        for name, values in sides.items()
    ]
    cli.run_words(["compare", *paths, "--json"])
    printed = json.loads(capsys.readouterr().out)
    b, c = printed["others"]
    assert [total["ratio"] for total in (*b["benchmarks"], *c["benchmarks"])] == pytest.approx([1.5, 4.0], rel=1e-3)
    assert "no case has the same settings" in " ".join(b["conditions"])
    assert "no case has the same settings" not in " ".join(c["conditions"]), "both have a case with 32 threads"
    (row,) = printed["full_nodes"][0]["rows"]
    used = [(cell["letter"], cell["use"].split(",")[0], cell["cores"], cell["per_core"]) for cell in row["cells"]]
    assert used == [("a", "threads 32", 32, None), ("b", "threads 64", 64, 3.0), ("c", "threads 32", 32, 4.0)]
    assert sum(b["counts"].values()) == 1, "times of other numbers of elements are not compared"


def test_numbers_that_grow_with_the_axis_tell_no_lines_apart() -> None:
    made = [
        replace(
            make(
                "amg.run",
                "amg",
                "merit",
                1e9 * nodes / problem,
                "/s",
                "one run",
                {"ranks": 108 * nodes, "problem": problem, "nodes": nodes},
            ),
            tool="AMG",
        )
        for nodes in (64, 32, 128)
        for problem in (1, 2)
    ]
    (figure,) = draw("amg.run", _seen(made).results, "AMG")
    assert (figure.title, figure.x.title) == ("AMG: merit", "ranks (nodes 32 to 128)")
    assert [(series.name, series.x) for series in figure.series] == [
        ("amg, problem 1", (3456.0, 6912.0, 13824.0)), ("amg, problem 2", (3456.0, 6912.0, 13824.0)),
    ]  # fmt: skip
