"""ReFrame, hyperfine, Google Benchmark and Phoronix: whose values they are, their direction, and what is refused."""

import pytest

from foreign_outputs import output, read
from steelyard.importing.formats.google_benchmark import find_statistic

LINE = "2020-08-19T16:20:20+01:00|reframe 3.0-dev6 (rev: 3f0c45d4)|T on a:p using gnu|jobid=4|{}\n"


TABLE = """
---------------------------------------------------------------------------------
Benchmark                Time             CPU   Iterations bytes_per_second   Foo
---------------------------------------------------------------------------------
BM_copy/1024         0.017 us        0.012 us      2412768       82.3977G/s 1.23M
BM_copy/1024         0.019 us        0.012 us      2412768       82.6497G/s 1.23M
BM_copy/1024_mean    0.018 us        0.012 us            2       82.5237G/s 1.23M
BM_copy/1024_stddev  0.001 us        0.000 us            2       137.342M/s     0
BM_copy/1024_cv       4.66 %          0.16 %             2            0.16% 0.00%
BM_open          ERROR OCCURRED: 'no device'
BM_sleep/threads:2    11.4 ms         9.80 ms            2            500/s 1.23M
"""


def test_each_value_of_reframe_has_its_own_system_and_date() -> None:
    values = read(output("reframe_perflog.txt")).values
    assert {v.host for v in values} == {"alaska:ib-gcc9-openmpi4-ucx"}
    assert sorted({v.started for v in values}) == [
        "2020-08-19T16:20:20+01:00", "2020-09-09T10:30:12+01:00", "2020-09-11T15:04:23+01:00"
    ]  # fmt: skip
    assert {v.repetition for v in values} == {0}  # each is a run of its own


@pytest.mark.parametrize(
    ("bounds", "unit", "better"),
    [
        ("ref=0 (l=None, u=None)", "frames", "none"), ("ref=0 (l=null, u=null)", "frames", "none"),
        ("ref=60 (l=-0.1, u=None)", "frames", "higher"), ("ref=60 (l=None, u=0.1)", "frames", "lower"),
        ("ref=60 (l=-0.1, u=0.1)", "frames", "none"), ("ref=0 (l=None, u=None)", "s", "lower"),
        ("ref=0 (l=None, u=None)", "MB/s", "higher"),
    ],
)  # fmt: skip
def test_the_unit_or_the_bounds_of_reframe_tell_which_direction_is_better(bounds: str, unit: str, better: str) -> None:
    (value,) = read(LINE.format(f"speed=61.5|{bounds}|{unit}")).values
    assert (value.metric, value.better) == ("speed", better)
    (other,) = read(LINE.format(f"speed=61.5|{unit}|{bounds}")).values
    assert other == value


def test_tags_of_reframe_state_ranks_and_nodes() -> None:
    line = LINE.format("Gflops=66|Gflops|ref=None (l=None, u=None)|git=c86,num_nodes=1,single,num_procs=2")
    (value,) = read(line.replace("T on", "T_a_p_56 on")).values
    assert (value.benchmark, value.metric, value.value, value.unit) == ("reframe.T_56", "Gflops", 66e9, "flop/s")
    assert value.parameters == {"environment": "gnu", "git": "c86", "nodes": 1, "ranks": 2}


def test_reframe_separates_its_fields_as_its_settings_say() -> None:
    text = output("reframe_4_csv.txt")
    for separator in (";", "\t", "|"):
        assert read(text.replace(",", separator)).values == read(text).values


def test_a_row_of_reframe_without_some_of_its_fields_is_refused() -> None:
    text = output("reframe_4_csv.txt")
    result = read(text.replace("gnu,81351,", "gnu,"))
    assert "line 2 has 27 columns" in result.problems[0]
    assert {v.started for v in result.values} == {"2022-10-18T21:41:31"}


def test_a_command_that_failed_has_no_times() -> None:
    text = output("hyperfine.txt")
    failed = read(text.replace("        0,\n        0\n", "        0,\n        1\n"))
    assert not failed.values
    assert "the command 'sleep 0.020' failed" in failed.problems[0]
    assert "is not that of its times" in read(text.replace('"mean": 0.0215', '"mean": 0.0315')).problems[0]


def test_google_benchmark_has_times_of_repetitions_and_aggregates_that_are_times() -> None:
    values = read(output("google_benchmark.txt")).values
    copies = [v for v in values if (v.kernel, v.metric) == ("BM_Copy/4096/threads:2", "real_time")]
    assert [(v.statistic, v.repetition, v.value) for v in copies] == [
        ("one run", 0, pytest.approx(712.5e-9)),
        ("one run", 1, pytest.approx(713.5e-9)),
        ("mean", 0, pytest.approx(713e-9)),
    ]
    assert {(v.unit, v.better) for v in values if v.metric == "misses"} == {("", "none")}


def test_old_google_benchmark_appends_the_aggregate_to_the_name() -> None:
    times = [v for v in read(output("google_benchmark_old.txt")).values if v.metric == "real_time"]
    assert [(v.kernel, v.statistic) for v in times] == [("BM_memcpy/8", "one run"), ("BM_memcpy/8", "mean")]


def test_a_benchmark_with_an_error_has_no_values() -> None:
    text = output("google_benchmark.txt").replace(
        '"name": "BM_Sort/1024",', '"name": "BM_Sort/1024", "error_occurred": true, "error_message": "no data",'
    )
    result = read(text)
    assert result.problems == ("Google Benchmark: BM_Sort/1024: no data",)
    assert {v.benchmark for v in result.values} == {"google_benchmark.BM_Copy"}


def test_each_system_of_phoronix_has_its_own_date() -> None:
    values = [v for v in read(output("phoronix.txt")).values if v.statistic == "mean" and v.unit == "B/s"]
    assert [(v.host, v.started, v.value) for v in values] == [
        ("node17", "2023-03-01 10:00:00", pytest.approx(245310.4e6)),
        ("node18", "2023-03-02 11:00:00", pytest.approx(231007.2e6)),
    ]


@pytest.mark.parametrize(
    "text", [output("phoronix.txt")[:-40], output("phoronix.txt").replace("?>", '?><!DOCTYPE x [<!ENTITY a "b">]>', 1)]
)
def test_xml_that_is_cut_or_declares_entities_is_refused(text: str) -> None:
    result = read(text)
    assert not result.values
    assert result.problems


def test_google_benchmark_on_the_screen_counts_bytes_by_1024() -> None:
    result = read(TABLE)
    rates = [(v.kernel, v.statistic, v.value) for v in result.values if v.metric == "bandwidth"]
    gibibytes = [
        ("BM_copy/1024", way, n * 2**30) for way, n in (("one run", 82.3977), ("one run", 82.6497), ("mean", 82.5237))
    ]
    assert rates == [*gibibytes, ("BM_sleep/threads:2", "one run", 500.0)]
    assert result.problems == ("Google Benchmark: line 10: BM_open: no device",)
    assert {v.parameters.get("threads") for v in result.values if v.kernel == "BM_sleep/threads:2"} == {2}


def test_a_row_of_google_benchmark_without_a_counter_is_refused() -> None:
    result = read(TABLE.replace("82.3977G/s 1.23M", "82.3977G/s"))
    assert "line 5: BM_copy/1024 has 1 counters, but its heading has 2" in result.problems[0]
    assert 82.3977 * 2**30 not in [v.value for v in result.values]


STATISTICS = [
    ("BM_a_mean", {"BM_a_mean", "BM_a_stddev"}, ("BM_a", "mean")),
    ("BM_a_stddev", {"BM_a_mean", "BM_a_stddev"}, ("BM_a", "")),
    ("BM_a_fast", {"BM_a", "BM_a_fast"}, ("BM_a_fast", "one run")),
    ("BM_a_fast", {"BM_a_stddev", "BM_a_fast", "BM_a_fast_stddev"}, ("BM_a_fast", "one run")),
    ("BM_a_p90", {"BM_a", "BM_a_stddev", "BM_a_p90"}, ("BM_a", "")),
    ("BM_the_mean", {"BM_the_mean"}, ("BM_the_mean", "one run")),
    ("BM_a_BigO", {"BM_a/8", "BM_a_BigO"}, ("BM_a", "")),
]


def test_google_benchmark_appends_aggregates_to_names() -> None:
    for name, names, expected in STATISTICS:
        assert find_statistic(name, names) == expected


def test_a_skipped_benchmark_costs_no_other_its_values() -> None:
    entry = '{"name": "BM_gpu", "run_name": "BM_gpu", "run_type": "iteration", "skipped": true, "skip_message": "no device"},'
    text = output("google_benchmark.txt")
    result = read(text.replace('"benchmarks": [', f'"benchmarks": [{entry}', 1))
    assert result.values == read(text).values
    assert result.problems == ("Google Benchmark: BM_gpu: no device",)


@pytest.mark.parametrize("file", ["hyperfine_screen.txt", "hyperfine_csv.txt"])
def test_a_mean_of_hyperfine_outside_of_its_range_is_refused(file: str) -> None:
    text = output(file).replace(" 125.1 ms", " 225.1 ms").replace(",0.1251264604", ",0.2251264604")
    result = read(text)
    assert "is not between the least" in result.problems[0]
    assert {v.parameters["command"] for v in result.values if v.metric == "time" and v.statistic == "mean"} == {
        "ls -lR /usr/include"
    }


MARKDOWN = """
| Command | Mean [{unit}] | Min [{unit}] | Max [{unit}] | Relative |
|:---|---:|---:|---:|---:|
| `seq 9 \\| sort` | 3.4 ± 0.2 | 3.1 | 4.0 | 1.00 |
| `seq 99 \\| sort -n` | 7.5 ± 0.5 | 6.9 | 8.8 | 2.21 ± 0.20 |
"""


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1e-3), ("µs", 1e-6)])
def test_a_markdown_table_of_hyperfine_has_the_unit_of_its_heading(unit: str, factor: float) -> None:
    values = read(MARKDOWN.format(unit=unit)).values
    assert [(v.statistic, v.value / factor) for v in values[:3]] == [
        ("greatest", pytest.approx(4.0)), ("least", pytest.approx(3.1)), ("mean", pytest.approx(3.4))
    ]  # fmt: skip
    assert [v.parameters for v in values[::3]] == [{"command": "seq 9 | sort"}, {"command": "seq 99 | sort -n"}]


@pytest.mark.parametrize(
    "form", ["## {}\n", "Text.\n## {}\nSome words\nabout it.\n", "# Page\n\n**{}**\n", "# Page\n\n{}:\n"]
)
def test_the_same_command_below_two_titles_is_not_repeated(form: str) -> None:
    table = MARKDOWN.format(unit="ms")
    values = read(f"{form.format('Cold cache')}{table}\n{form.format('Warm cache')}{table}").values
    assert {v.repetition for v in values} == {0}
    assert {v.parameters["section"] for v in values} == {"Cold cache", "Warm cache"}


def test_a_markdown_row_whose_mean_is_outside_of_its_range_is_refused() -> None:
    result = read(MARKDOWN.format(unit="ms").replace("3.4 ±", "4.4 ±"))
    assert {v.parameters["command"] for v in result.values} == {"seq 99 | sort -n"}
    assert "line 4: the mean 4.4 of command is not between" in result.problems[0]


def test_the_range_of_hyperfine_may_have_two_units() -> None:
    text = (
        "Benchmark 1: make check\n"
        "  Time (mean ± σ):     985.2 ms ± 120.4 ms    [User: 1.204 s, System: 81.3 ms]\n"
        "  Range (min … max):   880.1 ms …  1.305 s    10 runs\n"
    )
    assert [(v.metric, v.statistic, v.value) for v in read(text).values] == [
        ("time", "greatest", pytest.approx(1.305)), ("time", "least", pytest.approx(0.8801)),
        ("time", "mean", pytest.approx(0.9852)), ("user_time", "mean", pytest.approx(1.204)),
        ("system_time", "mean", pytest.approx(0.0813)),
    ]  # fmt: skip


def test_columns_before_the_name_of_google_benchmark_are_parameters() -> None:
    text = (
        "engine,mode,name,iterations,real_time,cpu_time,time_unit,bytes_per_second,lambda,items_per_second\n"
        '"mrg32","ordered","generate<mrg32,ordered>/manual_time",410,2.25,2.31,ms,3.1e+11,,7.8e+10\n'
    )
    values = read(text).values
    assert [(v.metric, v.value) for v in values] == [
        ("real_time", pytest.approx(2.25e-3)), ("cpu_time", pytest.approx(2.31e-3)),
        ("bandwidth", pytest.approx(3.1e11)), ("rate", pytest.approx(7.8e10)),
    ]  # fmt: skip
    assert values[0].parameters == {"engine": "mrg32", "mode": "ordered"}


REPORT = """
PERFORMANCE REPORT
------------------------------------------------------------------------------
Solver
- node:gpu
  - gnu
      * num_tasks: 4
      * speed: 52.5 Gflop/s
      * share: 31.5 % (of the time in the solver)
  - intel
      * num_tasks: 8
      * speed: 71.5 Gflop/s
"""


@pytest.mark.parametrize("margin", ["", "  ", "    "])
def test_a_report_of_reframe_may_be_indented(margin: str) -> None:
    values = read("".join(f"{margin}{line}\n" for line in REPORT.splitlines())).values
    assert [(v.metric, v.value, v.unit, v.better, v.parameters) for v in values] == [
        ("speed", 52.5e9, "flop/s", "higher", {"environment": "gnu", "ranks": 4}),
        ("share", pytest.approx(0.315), "%", "none", {"environment": "gnu", "ranks": 4}),
        ("speed", 71.5e9, "flop/s", "higher", {"environment": "intel", "ranks": 8}),
    ]


def test_the_bounds_of_reframe_tell_the_direction_of_a_share() -> None:
    (value,) = read(LINE.format("efficiency=81.5|ref=80 (l=-0.1, u=None)|%")).values
    assert (value.value, value.better) == (pytest.approx(0.815), "higher")


def test_phoronix_on_the_screen_has_each_run_and_the_mean() -> None:
    result = read(output("phoronix_screen.txt"))
    assert not result.problems
    assert [(v.kernel, v.value, v.unit, v.statistic, v.better) for v in result.values[:5]] == [
        ("c-ray", 41.5, "s", "one run", "lower"), ("c-ray", 41.75, "s", "one run", "lower"),
        ("c-ray", 41.65, "s", "one run", "lower"), ("c-ray", 41.633, "s", "mean", "lower"),
        ("mix", 812.5, "Frames Per Second", "one run", "none"),
    ]  # fmt: skip
    assert result.values[-1].parameters == {"Scene": "Hall", "Size": "4K"}
    changed = read(output("phoronix_screen.txt").replace("Average: 41.633", "Average: 42.9")).values
    assert [v.statistic for v in changed[:4]] == ["one run"] * 3 + ["as printed"]


def test_two_programs_with_the_same_benchmark_are_told_apart() -> None:
    text = f"Running ./old\n{TABLE}\nRunning ./new\n{TABLE}"
    values = [v for v in read(text).values if v.kernel == "BM_sleep/threads:2"]
    assert {v.repetition for v in values} == {0}
    assert {v.parameters["program"] for v in values} == {"./old", "./new"}
    assert "program" not in read(f"Running ./old\n{TABLE}").values[0].parameters


def test_google_benchmark_may_write_the_letter_of_micro() -> None:
    assert read(TABLE.replace(" us ", " µs ")).values == read(TABLE).values


def test_a_row_of_reframe_without_a_test_costs_no_other_its_values() -> None:
    text = (
        "name|job_completion_time|system:partition|environ|bw_value|bw_unit|bw_ref\n"
        "|2024-02-21T22:51:16|site:cpu|gnu|11.5|MB/s|0\ncopy|2024-02-21T22:51:19|site:cpu|clang|12.5|MB/s|0\n"
    )
    result = read(text)
    assert [(v.kernel, v.value, v.host, v.parameters) for v in result.values] == [
        ("copy", 12.5e6, "site:cpu", {"environment": "clang"})
    ]
    assert result.problems == ("ReFrame: line 2: ' @site:cpu+gnu' names no test, system and partition",)


def test_a_file_without_values_says_why_though_its_block_is_indented() -> None:
    text = (
        "The log:\n\n    job_completion_time,system:partition,bw_value,bw_unit,bw_ref\n    2024,site:cpu,11.5,MB/s,0\n"
    )
    assert read(text).problems == ("ReFrame: line 4: ' @site:cpu+' names no test, system and partition",)


@pytest.mark.parametrize(("graph", "better"), [("> Higher", "higher"), ("< Lower", "lower")])
def test_a_graph_of_phoronix_tells_the_direction(graph: str, better: str) -> None:
    text = f"""    pts/sysbench-1.0.0 [Test: Memory]
        Started Run 1 @ 15:37:55
    Test: Memory:
        5577.5
    Average: 5577.5 Events Per Second

    Test: Memory
    Events Per Second {graph} Is Better
    mine . 5577.5
"""
    assert {v.better for v in read(text).values} == {better}


def test_a_row_of_reframe_that_its_nodes_divided_on_a_page_is_refused() -> None:
    text = (
        "|version      |info             |job_nodelist|num_tasks|time_value|time_unit|more|\n"
        "|-------------|-----------------|------------|---------|----------|---------|----|\n"
        "|reframe 4.7.2|sea @site:cpu+gnu|n1          |n2       |8         |16       |s   |\n"
        "|reframe 4.7.2|sea @site:cpu+gnu|n1          |4        |61.5      |s        |    |\n"
    )
    result = read(text)
    assert [(v.metric, v.value, v.parameters["ranks"]) for v in result.values] == [("time", 61.5, 4)]
    assert result.problems == ("ReFrame: line 3: '16' is no unit",)
