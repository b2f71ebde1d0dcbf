"""pytest-benchmark, NVBench, DCGM, elbencho, gpu-burn, CoreMark, UnixBench, perf stat and sacct: their cases, and refusals."""

import json

import pytest

from foreign_outputs import output, read
from steelyard.importing.values import explain

# perf 6.1 on a machine of two processors: counts of each processor, of intervals, and of intervals with -x.
EACH = """
 Performance counter stats for 'system wide':

CPU0                   222.75 msec task-clock                       #    1.057 CPUs utilized
CPU1                   210.83 msec task-clock                       #    1.000 CPUs utilized

       0.210807982 seconds time elapsed
"""
INTERVALS = """#           time             counts unit events
     0.101536031               0.74 msec task-clock                       #    0.007 CPUs utilized
     0.203503910      <not counted> msec task-clock
"""
SEPARATED_INTERVALS = "     0.100971795,0.80,msec,task-clock,803699,100.00,0.008,CPUs utilized\n"
# A page in Spanish, whose language writes a point between thousands.
POINTS = """ Performance counter stats for './profile_me_1.e':

      12086,420666 task-clock (msec)         #    0,998 CPUs utilized
             1.850 context-switches          #    0,153 K/sec
                11 cpu-migrations            #    0,001 K/sec
    44.349.423.499 cycles                    #    3,669 GHz

      12,111829521 seconds time elapsed
"""


@pytest.mark.parametrize("file", ["pytest_benchmark_3.txt", "pytest_benchmark_5.txt"])
def test_a_file_of_pytest_benchmark_is_not_one_of_hyperfine(file: str) -> None:
    damaged = read(output(file)[:-200])
    assert read(output(file)).tools == ("pytest-benchmark",)
    assert [problem.partition(":")[0] for problem in damaged.problems] == ["pytest-benchmark"]


def test_parameters_of_a_test_are_those_of_its_values() -> None:
    values = read(output("pytest_benchmark_3.txt")).values
    sorts = [v for v in values if v.kernel == "test_sort" and v.statistic == "median"]
    assert [v.parameters["n"] for v in sorts] == [1000, 20000]
    assert {v.repetition for v in values if v.statistic == "mean of a round"} == {*range(7)}


def test_words_for_a_number_are_the_name_of_the_case() -> None:
    text = output("pytest_benchmark_3.txt").replace('"n": 1000', '"threads": "two"')
    assert {v.parameters.get("param") for v in read(text).values} == {"1000", None}
    assert "threads" not in {name for v in read(text).values for name in v.parameters}


def test_a_mean_that_is_not_that_of_its_rounds_is_refused() -> None:
    text = output("pytest_benchmark_3.txt").replace('"mean": 2.0245713780501058e-05', '"mean": 2.1e-05')
    assert "the mean of test_sort.py::test_sort[1000] is not that of its rounds" in read(text).problems[0]


def test_axes_and_devices_of_nvbench_tell_cases_apart() -> None:
    cases = {v.kernel: dict(v.parameters) for v in read(output("nvbench.txt")).values}
    assert cases == {
        "simple": {"device": 0, "device_name": "Quadro GV100"},
        "single_float64_axis": {"Duration": 0.0, "device": 0, "device_name": "Quadro GV100"},
        "copy_type_conversion_sweep": {"In": "F64", "Out": "I64", "device": 1, "device_name": "Quadro GP100"},
    }


def test_skipped_states_of_nvbench_are_named() -> None:
    result = read(
        output("nvbench.txt").replace('"is_skipped": false', '"is_skipped": true, "skip_reason": "no memory"', 1)
    )
    assert "simple" not in {v.kernel for v in result.values}
    assert result.problems == ("NVBench: skipped states: 1, the first one of simple: no memory",)


def test_a_gigaflop_of_dcgm_has_2_to_the_30_operations() -> None:
    (speed,) = [v for v in read(output("dcgm_3.txt")).values if v.metric == "speed"]
    assert speed.value == pytest.approx(11103.02 * 2**30)
    assert "2^30" in speed.note


def test_a_test_of_dcgm_that_failed_has_no_values() -> None:
    content = json.loads(output("dcgm_3.txt"))
    content["DCGM GPU Diagnostic"]["test_categories"][1]["tests"][0]["results"][0]["status"] = "Fail"
    result = read(json.dumps(content))
    assert {v.benchmark for v in result.values} == {"dcgm.diagnostic", "dcgm.targeted_stress", "dcgm.targeted_power"}
    assert result.problems == ("DCGM: the test PCIe failed on GPU 0",)


def test_each_gpu_of_dcgm_has_its_own_values() -> None:
    values = [v for v in read(output("dcgm_1.txt")).values if (v.kernel, v.metric) == ("host_to_gpu", "latency")]
    assert {v.parameters["gpu"]: v.value for v in values} == {
        gpu: pytest.approx(us * 1e-6) for gpu, us in enumerate((4.2, 3.228, 3.016, 2.996))
    }


def test_options_of_elbencho_tell_cases_apart_without_its_keys() -> None:
    values = read(output("elbencho_3.txt")).values
    assert dict(values[0].parameters) == {
        "threads": 1, "dirs": 1, "files": 100000, "block_bytes": 262144, "file_bytes": 262144, "direct": 1, "nodes": 3
    }  # fmt: skip
    assert "access" not in str(values)


def test_tables_of_elbencho_without_commands_are_no_repetitions() -> None:
    table = output("elbencho_1_8.txt").partition("\n")[2]
    values = read(table + table).values
    assert {v.parameters["table"] for v in values} == {0, 1}
    assert {v.repetition for v in values} == {0}
    again = read(output("elbencho_1_8.txt") * 2).values
    assert {v.repetition for v in again} == {0, 1}


def test_a_table_of_elbencho_ends_before_the_lines_of_others() -> None:
    text = output("elbencho_1_8.txt").replace("---\n", "Command line : ior -a POSIX\nREADS     Files done : 2 3\n")
    assert read(text).values == read(output("elbencho_1_8.txt")).values
    assert not read(text).problems


def test_an_unknown_result_of_elbencho_is_named() -> None:
    text = output("elbencho_1_8.txt").replace("Throughput MiB/s", "Throughput parrots")
    assert read(text).problems == ("elbencho: line 6: the result 'Throughput parrots' of READ is unknown",)


def test_gpus_with_errors_have_no_speed() -> None:
    faulty = ", ".join(map(str, range(16)))
    assert read(output("gpu_burn_faulty.txt")).problems == (f"gpu-burn: line 1: these GPUs have errors: {faulty}",)
    result = read(output("gpu_burn.txt").replace("GPU 1: OK", "GPU 1: FAULTY"))
    assert [v.parameters["gpu"] for v in result.values] == [0]
    early = read(output("gpu_burn.txt").replace("errors: 0 - 0", "errors: 0 - 3  (WARNING!)", 1))
    assert [v.parameters["gpu"] for v in early.values] == [0]


def test_a_gpu_that_computed_nothing_has_no_speed() -> None:
    result = read(output("gpu_burn_2019.txt").replace("1908 (2273 Gflop/s)", "0 (0 Gflop/s)"))
    assert (result.values, len(result.problems)) == ((), 1)
    assert "these GPUs computed nothing: 0" in result.problems[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Correct operation validated. See", "Errors detected. See"), ("42168.886390", "421688.86390"),
        ("Iterations       : 1200000", "Iterations       : 120000"),
    ],
)  # fmt: skip
def test_a_run_of_coremark_that_is_not_sound_has_no_rate(old: str, new: str) -> None:
    result = read(output("coremark.txt").replace(old, new, 1))
    assert not result.values
    assert len(result.problems) == 1


def test_runs_of_unixbench_differ_in_copies_and_hosts() -> None:
    text = output("unixbench_5.txt")
    both = read(text + text.replace("System: armbian", "System: debian")).values
    pipes = [v for v in both if v.kernel == "pipe_throughput"]
    assert [(v.host, v.parameters["copies"], v.repetition) for v in pipes] == [
        ("armbian", 1, 0), ("armbian", 4, 0), ("debian", 1, 0), ("debian", 4, 0)
    ]  # fmt: skip


def test_an_index_of_unixbench_that_does_not_fit_is_refused() -> None:
    result = read(
        output("unixbench_5.txt").replace("Score                                         384.9", "Score  584.9")
    )
    assert "the index 584.9 is not the geometric mean" in result.problems[0]
    assert [v.value for v in result.values if v.kernel == "index"] == [1032.1]


@pytest.mark.parametrize("text", [EACH, INTERVALS, SEPARATED_INTERVALS])
def test_counts_of_processors_and_intervals_are_refused(text: str) -> None:
    result = read(text)
    assert not result.values
    assert "perf printed the counts of intervals, processors or sockets" in result.problems[0]


def test_a_point_between_thousands_makes_no_count() -> None:
    result = read(POINTS)
    assert [(v.kernel, v.value) for v in result.values] == [("cpu-migrations", 11)]
    assert len(result.problems) == 4


def test_a_counter_that_ran_partly_has_a_note() -> None:
    noted = {v.kernel for v in read(output("perf_stat_multiplexed.txt")).values if "a part of the time" in v.note}
    assert noted == {
        "cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "instructions", "branches", "branch-misses"
    }  # fmt: skip


def test_counts_without_a_command_are_no_repetitions() -> None:
    for file in ("perf_stat_energy.txt", "perf_stat_csv.txt"):
        assert {(v.parameters["table"], v.repetition) for v in read(output(file) * 2).values} == {(0, 0), (1, 0)}
    assert {v.repetition for v in read(output("perf_stat.txt") * 2).values} == {0, 1}


def test_steps_of_a_job_are_cases_of_their_own() -> None:
    values = [v for v in read(output("sacct_energy.txt")).values if v.metric == "energy"]
    assert {(v.parameters["step"], v.parameters.get("program")): v.value for v in values} == {
        ("whole job", None): 20543125.0, ("batch", None): 5094129.0, ("extern", None): 20543125.0,
        ("whole job", "cuda-vars.sh"): 20536917.0,
    }  # fmt: skip


def test_jobs_that_did_not_complete_have_no_energy() -> None:
    failed = read(output("sacct_energy.txt").replace("COMPLETED", "FAILED   "))
    assert failed.problems == ("sacct: jobs or steps that did not complete (FAILED): 4",)
    unmeasured = read(output("sacct_columns.txt").replace("4.58M", "    0").replace("4.57M", "    0"))
    assert unmeasured.problems == ("sacct: jobs or steps without energy: 4",)


@pytest.mark.parametrize(
    "heading", ["JobID|ConsumedEnergy|State", "ConsumedEnergyRaw|JobID|State", "JobID|ConsumedEnergyRaw"]
)
def test_the_energy_may_stand_in_any_column(heading: str) -> None:
    words = {"JobID": "7", "State": "COMPLETED", "ConsumedEnergy": "4.58M", "ConsumedEnergyRaw": "4580000"}
    names = [*heading.split("|"), "ElapsedRaw"]
    cells = "|".join(words.get(name, "60") for name in names)
    values = read(f"{'|'.join(names)}\n{cells}\n").values
    assert [v.value for v in values if v.metric == "energy"] == [4.58e6]


def test_energy_in_the_json_of_another_program_is_not_that_of_sacct() -> None:
    content = json.dumps({"time": {"ConsumedEnergyRaw": "4122382", "ConsumedEnergy": "4.12M"}}, indent=4)
    assert not read(content).values
    assert not any("sacct" in problem for problem in read(content).problems)


ELBENCHO = """ISO DATE start: 2026-08-12T14:21:31-0400
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
WRITE       Elapsed time     :       586ms      2m3.5s
            Files/s          :       16962       16978
            Throughput MB/s  :       35017       34972
            Files total      :        9949       10000
            Files latency    : [ min=108us avg=469us max=14.5ms ]
            Files lat % us   : [ 1%<=215 50%<=512 75%<=609 99%<=1024 ]
            Files lat hist   : [ 256: 500, 512: 4000 ]
---
"""


def test_latencies_and_decimal_units_of_elbencho_are_read() -> None:
    found = read(ELBENCHO)
    values = [(v.metric, v.statistic, v.value) for v in found.values]
    assert (found.problems, found.started) == ((), "2026-08-12T14:21:31-0400")
    assert [value for metric, _, value in values if metric == "bandwidth"] == [35017e6, 34972e6]
    latencies = [(of, value) for metric, of, value in values if metric == "entry_latency"]
    assert latencies == [
        ("least", pytest.approx(108e-6)),
        ("mean", pytest.approx(469e-6)),
        ("greatest", pytest.approx(14.5e-3)),
    ]
    assert [value for metric, _, value in values if metric == "time"] == [0.586, 123.5]


def test_no_words_of_a_python_error_reach_the_user() -> None:
    found = read(ELBENCHO.replace("16962       16978", "16962 16978 5"))
    assert found.problems == ("elbencho: line 5: its form is unknown",)
    errors = [ValueError("not enough values to unpack (expected 2, got 1)"), IndexError("list index out of range")]
    assert {explain(error) for error in errors} == {"its form is unknown"}
    with pytest.raises(ValueError, match="invalid literal") as raised:
        int("1.5")
    assert explain(raised.value) == "'1.5' is not a whole number"


def test_an_event_of_perf_may_have_commas_between_slashes() -> None:
    text = "123456,,cpu/event=0x3c,umask=0x0/,1234000000,50.00,,\n4567890123,,cycles,1234000000,100.00,3.700,GHz\n"
    assert {v.kernel: v.value for v in read(text).values} == {"cpu/event=0x3c,umask=0x0/": 123456, "cycles": 4567890123}


def test_two_parts_of_unixbench_in_a_mail_are_told_apart_by_their_titles() -> None:
    run = """80 CPUs in system; running 80 parallel copies of tests

System Call Overhead                    {rate} lps   (10.0 s, 1 samples)

System Benchmarks Partial Index              BASELINE       RESULT    INDEX
System Call Overhead                          15000.0    {rate}   {index}
                                                                   ========
System Benchmarks Index Score (Partial Only)                         {index}
"""
    first, second = run.format(rate=3789860.2, index=2526.6), run.format(rate=3951328.1, index=2634.2)
    values = read(f"before this patch\n{first}\nafter this patch\n{second}").values
    assert [(v.parameters["title"], v.value) for v in values if v.metric == "index"] == [
        ("before", 2526.6),
        ("after", 2634.2),
    ]
