"""STREAM, MLC, BabelStream, LMbench, nvbandwidth, sysbench and stress-ng: the meaning of their values, and what is refused."""

import re

import pytest

from foreign_outputs import output, read
from steelyard.importing.dates import read_date
from steelyard.importing.reading import Reading

FAILED_ARRAY = "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)"


def keys(result: Reading) -> set[tuple[str, str, str, float, str]]:
    return {(v.benchmark, v.kernel, v.metric, v.value, v.statistic) for v in result.values}


@pytest.mark.parametrize(("file", "statistic"), [("stream.txt", "best of 9"), ("stream_rms.txt", "best of 10")])
def test_stream_leaves_the_first_pass_out_if_it_prints_the_mean(file: str, statistic: str) -> None:
    assert {v.statistic for v in read(output(file)).values if v.metric == "bandwidth"} == {statistic}


def test_a_failed_validation_costs_its_own_run_only() -> None:
    text = output("stream_mpi.txt")
    result = read(text.replace("Solution Validates", FAILED_ARRAY, 1))
    assert 0 < len(result.values) == len(read(text).values) / 2
    assert result.problems == ("STREAM: the check of the solution failed (Failed Validation on array a[],)",)


def test_a_heading_without_rows_does_not_hide_the_table_behind_it() -> None:
    text = output("stream.txt")
    heading = next(line for line in text.splitlines() if line.startswith("Function"))
    twice = read(text.replace(heading, f"{heading}\n{heading}"))
    assert [v.value for v in twice.values] == [v.value for v in read(text).values]


def test_a_decimal_comma_is_named() -> None:
    result = read(output("stream.txt").replace("342008.3", "342008,3"))
    assert "'342008,3' is not a number" in result.problems[0]
    assert not any(v.kernel == "copy" and v.metric == "bandwidth" for v in result.values)


def test_babelstream_without_a_correct_solution_has_no_values() -> None:
    failed = "Validation failed on a[]. Average error 0.1\n"
    result = read(output("babelstream.txt").replace("Function ", f"{failed}Function ", 1))
    assert not result.values
    assert "the check of the solution failed" in result.problems[0]


SUM = "Validation failed on sum. Error {}\nSum was {} but should be {}\n"
BABELSTREAM_CSV = """Using OpenCL device Ampere
{}function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime
Triad,100,33554432,8,605233.356,0.00133,0.00136,0.00134
"""


@pytest.mark.parametrize(
    ("check", "note"),
    [
        ("", ""),
        (
            SUM.format("5.14643e-08", "636.656592382618", "636.656592434083"),
            "Validation failed on sum. Error 5.14643e-08",
        ),
        (SUM.format("1.3", "635.356592", "636.656592434083"), None),  # the part of a thread is missing
        (SUM.format("inf", "inf", "636.656592434083"), None),
        ("Validation failed on sum. Error 5.14643e-08\n", None),  # without the sums
        (f"Validation failed on c[]. Average error 0.1\n{SUM.format('5e-08', '636.65659238', '636.65659243')}", None),
    ],
)
def test_a_rounded_sum_of_babelstream_is_a_note_and_a_wrong_one_is_refused(check: str, note: str | None) -> None:
    text = output("babelstream.txt")
    for whole, failed in (
        (text, text.replace("Function ", f"{check}Function ", 1)),
        (BABELSTREAM_CSV.format(""), BABELSTREAM_CSV.format(check)),
    ):
        result, values = read(failed), read(whole).values
        assert any("the check of the solution failed" in problem for problem in result.problems) == (note is None)
        assert [(v.case, v.value) for v in result.values] == [(v.case, v.value) for v in values if note is not None]
        assert {v.note for v in result.values} <= {f"BabelStream warns: '{note}'." if note else ""}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Pipe AF    TCP  File   Mmap  Bcopy", "Pipe AF    Bcopy  File   Mmap  TCP"),
        ("UNIX      reread reread (libc) (hand) read write", "ctxsw  ctxsw  ctxsw ctxsw  ctxsw   ctxsw   ctxsw"),
    ],
)
def test_a_table_of_lmbench_with_other_columns_is_refused(old: str, new: str) -> None:
    text = output("lmbench_summary.txt")
    assert old in text
    whole, result = read(text), read(text.replace(old, new))
    lost = {v.benchmark for v in whole.values} - {v.benchmark for v in result.values}
    assert lost == {"lmbench.local_communication_bandwidths"}
    assert result.problems == (
        "LMbench: the columns of the table '*Local* Communication bandwidths' have unknown names",
    )


def test_several_systems_of_a_host_are_cases_of_their_own() -> None:
    text = (
        "L M B E N C H  3 . 0   S U M M A R Y\n"
        "Basic integer operations - times in nanoseconds - smaller is better\n"
        "-------------------------------------------------------------------\n"
        "Host                 OS  intgr intgr  intgr  intgr  intgr\n"
        "                          bit   add    mul    div    mod\n"
        "--------- ------------- ------ ------ ------ ------ ------\n"
        "alpha      Linux 5.10.1 0.3100 0.3100 0.9400 7.6600 8.5000\n"
        "beta       Linux 5.10.1 0.4100 0.4100 1.0400 7.9600 8.6000\n"
        "beta        Linux 6.6.2 0.4000 0.4000 1.0300 7.9400 8.5900\n"
        "beta        Linux 6.6.2 0.4200 0.4200 1.0500 7.9300 8.5800\n"
    )
    adds = [(v.host, v.parameters.get("system"), v.repetition) for v in read(text).values if v.kernel == "integer_add"]
    assert adds == [
        ("alpha", None, 0),
        ("beta", "Linux 5.10.1", 0),
        ("beta", "Linux 6.6.2", 0),
        ("beta", "Linux 6.6.2", 1),
    ]


def test_csv_of_babelstream_has_the_device_and_the_columns_of_a_script() -> None:
    columns = "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime"
    row = "Copy,10,1048576,8,{}000.0,0.002,0.004,0.003"
    first = f"Using CUDA device Card A\nDriver: 12000\n{columns}\n{row.format(5)}\n"
    rows = [f"{row.format(rate)},{run},{threads}" for rate, run, threads in ((6, 1, 2), (7, 2, 2), (8, 1, 4))]
    second = "\n".join(("Using CUDA device Card B", f"{columns},run,OMP threads", *rows))
    found = [v for v in read(f"{first}{second}\n").values if v.metric == "bandwidth"]
    given = [(v.parameters["device"], v.parameters.get("omp_threads"), v.repetition) for v in found]
    assert given == [("Card A", None, 0), ("Card B", "2", 0), ("Card B", "2", 1), ("Card B", "4", 0)]


@pytest.mark.parametrize(("model", "door"), [("CUDA", "cuda"), ("HIP", "hip"), ("OpenMP", ""), ("SYCL", "")])
def test_babelstream_on_a_gpu_measures_what_device_stream_does(model: str, door: str) -> None:
    text = output("babelstream.txt").replace("Implementation: CUDA", f"Implementation: {model}")
    found = {(v.benchmark, v.kernel, v.parameters.get("door", "")) for v in read(text).values}
    ours = {("device.stream", kernel, door) for kernel in ("copy", "scale", "add", "triad")}
    theirs = {("babelstream.stream", kernel, "") for kernel in ("copy", "mul", "add", "triad", "dot")}
    assert found == (ours | {("babelstream.stream", "dot", "")} if door else theirs)


def test_copies_between_host_and_device_are_those_of_device_transfer() -> None:
    found = {
        name: {(v.benchmark, v.kernel) for v in read(output(f"{name}.txt")).values}
        for name in ("nvbandwidth", "cuda_bandwidth")
    }
    ours = {("device.transfer", "to_device"), ("device.transfer", "from_device")}
    assert all(ours < of for of in found.values())
    assert ("cuda.copy", "device_to_device") in found["cuda_bandwidth"]
    assert ("nvbandwidth.copy", "host_to_device_bidirectional_memcpy_ce") in found["nvbandwidth"]


def test_clpeak_on_a_gpu_measures_what_device_peak_does_and_a_processor_is_no_device() -> None:
    found = [(v.parameters["device"], v.benchmark, v.kernel) for v in read(output("clpeak_2013.txt")).values]
    gpu = {(benchmark, kernel) for device, benchmark, kernel in found if device == "Cayman"}
    assert {("device.peak", "vector"), ("device.transfer", "to_device"), ("device.transfer", "from_device")} < gpu
    assert {benchmark for device, benchmark, _ in found if device != "Cayman"} == {"clpeak.transfer"}, (
        "the rest was skipped"
    )


@pytest.mark.parametrize("heading", ["Half-precision compute (GFLOPS)", "Single-precision compute (GFLOPS)"])
def test_rows_of_clpeak_without_their_heading_are_refused(heading: str) -> None:
    result = read(output("clpeak.txt").replace(heading, "", 1))
    whole = read(output("clpeak.txt"))
    assert len(result.problems) == 1
    assert "whose rows end here" in result.problems[0]
    known = {(v.benchmark, v.kernel, v.value, str(v.parameters)) for v in whole.values}
    assert {(v.benchmark, v.kernel, v.value, str(v.parameters)) for v in result.values} < known


def test_babelstream_names_another_kind_of_memory() -> None:
    text = output("babelstream.txt")
    kinds = {
        memory: {v.parameters.get("memory") for v in read(text.replace("Function ", f"{memory}Function ", 1)).values}
        for memory in ("", "Memory: DEFAULT\n", "Memory: MANAGED\n")
    }
    assert list(kinds.values()) == [{None}, {None}, {"MANAGED"}]


def test_work_groups_of_likwid_bench_are_a_parameter() -> None:
    text = output("likwid_bench.txt")
    groups = {
        v.parameters.get("groups") for v in read(text.replace("Using 1 work groups", "Using 2 work groups", 1)).values
    }
    assert groups == {None, 2}
    assert {v.parameters.get("groups") for v in read(text).values} == {None}


def test_mlc_with_one_thread_of_each_core_is_another_case() -> None:
    text = output("mlc_matrix.txt")
    one = text.replace("Using all the threads from each core", "Using only one thread from each core")
    assert text != one
    both = [v for v in read(text + one).values if v.benchmark == "mlc.nodes" and v.metric == "bandwidth"]
    assert {v.repetition for v in both} == {0}
    assert {v.parameters.get("threads_per_core") for v in both} == {None, 1}


def test_likwid_perfctr_on_other_numbers_of_threads_is_another_case() -> None:
    def tables(threads: int) -> str:
        columns = "|".join(f" HWThread {at} " for at in range(threads))
        cells = "|".join(f" {100 + at} " for at in range(threads))
        metric, row = "Memory bandwidth [MBytes/s]", "Runtime (RDTSC) [s]"
        single = f"|  Metric  |{columns}|\n| {row} |{cells}|\n| {metric} |{cells}|\n"
        return (
            f"Group 1: MEM\n{single}|  Metric  | Sum | Min | Max | Avg |\n| {metric} STAT | 400 | 100 | 103 | 101 |\n"
        )

    sums = [v for v in read(tables(2) + tables(4)).values if v.statistic.startswith("sum")]
    assert [(v.parameters["threads"], v.repetition) for v in sums] == [(2, 0), (4, 0)]


def test_random_accesses_of_lmbench_end_with_the_results_of_their_machine() -> None:
    curve = '"stride=16\n0.00049 1.186\n"stride=64\n0.00098 1.187\n'
    random, strides = keys(read(f"Random load latency\n{curve}")), keys(read(curve))
    assert keys(read(f"Random load latency\n{curve}\n[Tue Mar 28 20:53:16 CST 2023]\n{curve}")) == random | strides
    assert {kernel for _, kernel, *_ in random} == {"chase"}


def test_mlc_says_whether_its_accesses_are_random() -> None:
    text = output("mlc_3_1.txt")
    plain, unable = read(text), read(text.replace("Measuring", "*** Unable to modify prefetchers\nMeasuring", 1))
    for result, word in ((plain, "sequential"), (unable, "random")):
        notes = {v.note for v in result.values if v.benchmark == "memory.latency"}
        assert notes
        assert all(f"accesses are {word}" in note for note in notes)


def test_mlc_measures_our_latency_only_from_the_first_node_to_itself() -> None:
    values = read(output("mlc_3_1.txt")).values
    assert [v.value for v in values if v.benchmark == "memory.latency"] == pytest.approx([106.9e-9])
    assert [v.value for v in values if v.kernel == "idle"] == pytest.approx([141.6e-9, 147.2e-9, 107.2e-9])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("latencies (in ns)", "latencies (in us)"),
        ("Bandwidths are in MB/sec", "Bandwidths are in MiB/sec"),
        ("(ns) ", "(us) "),
    ],
)
def test_a_section_of_mlc_in_another_unit_is_refused(old: str, new: str) -> None:
    text = output("mlc_3_1.txt")
    result = read(text.replace(old, new))
    assert "an unknown unit" in result.problems[0]
    assert keys(result) < keys(read(text))


@pytest.mark.parametrize(("old", "new"), [("760.10", "76.10"), ("0         1\n", "0         1         2\n")])
def test_a_matrix_that_contradicts_its_sum_or_heading_is_refused(old: str, new: str) -> None:
    result = read(output("nvbandwidth_0_10.txt").replace(old, new, 1))
    assert result.problems
    assert {v.kernel.rpartition("_")[2] for v in result.values} == {"read2", "total"}


def test_a_megabyte_of_old_sysbench_has_2_to_20_bytes() -> None:
    assert 3855.82 * 2**20 in [v.value for v in read(output("sysbench_0_4.txt")).values]


@pytest.mark.parametrize(
    ("pattern", "new", "reason"),
    [
        (r"(?<=events:)\s+1000", "  0", "line 3: its test made no event"),
        (r".*total file size", "", "line 3: it does not name its test"),
    ],
)
def test_a_run_of_sysbench_without_events_or_name_has_no_values(pattern: str, new: str, reason: str) -> None:
    result = read(re.sub(pattern, new, output("sysbench_kilobytes.txt")))
    assert not result.values
    assert result.problems == (f"sysbench: {reason}",)


def test_the_command_names_a_test_of_sysbench_that_prints_no_name() -> None:
    text = re.sub(r".*total file size", "", output("sysbench_kilobytes.txt"))
    result = read(f"$ sysbench threads --time=300 run\n{text}")
    assert {v.kernel for v in result.values} == {"threads"}


def test_sysbench_0_4_names_the_operation_of_its_test_of_memory() -> None:
    operations = {
        v.parameters.get("operation") for v in read(output("sysbench_0_4.txt")).values if v.kernel == "memory"
    }
    assert operations == {"write"}


def test_a_test_of_nvbandwidth_that_did_not_run_is_named() -> None:
    text = output("nvbandwidth.json.txt")
    for status in ("Waived", "Running"):
        (problem,) = read(text.replace("Waived", status)).problems
        assert f"device_to_device_memcpy_write_ce has no result: its status is '{status}'" in problem


def test_the_date_of_stress_ng_is_that_of_its_yaml() -> None:
    assert read_date(read(output("stress_ng.yaml.txt")).started) == "2022-04-29T20:23:43"


def test_a_failed_run_of_stress_ng_has_no_values() -> None:
    result = read(output("stress_ng.txt").replace("successful run", "unsuccessful run"))
    assert not result.values
    assert "failed (unsuccessful run completed)" in result.problems[0]


def test_bandwidths_of_mlc_without_their_heading_are_no_latencies() -> None:
    latencies = [v.value for v in read(output("mlc_page.txt")).values]
    assert max(latencies) == pytest.approx(138.9e-9)


def test_a_second_table_inherits_no_parameters() -> None:
    values = [v for v in read(output("stream_two_tables.txt")).values if v.kernel == "add" and v.metric == "bandwidth"]
    assert [v.parameters for v in values] == [{"threads": 18, "elements": 10_000_000}, {}]


def test_the_option_of_mlc_gives_the_size_and_the_order_of_its_accesses() -> None:
    text = output("mlc_idle_sizes.txt")
    sizes = [v.parameters["working_set_bytes"] for v in read(text).values]
    assert sizes == [64 << 10, 1 << 20, 96 << 20, 1_800_000 << 10]
    assert all("accesses are random" in v.note for v in read(text.replace("_latency -b", "_latency -r -b")).values)


def test_the_threads_of_likwid_are_not_the_columns_of_another_table() -> None:
    names = {v.parameters["hwthread"] for v in read(output("likwid_comparison.txt")).values}
    assert names == {"HWThread 0"}


def test_tinymembench_on_two_cores_has_two_cases() -> None:
    values = read(output("tinymembench_two_cores.txt")).values
    assert {v.parameters["cpu"] for v in values} == {"cpu0", "cpu4"}
    assert {v.repetition for v in values} == {0}


def test_an_output_in_the_comments_of_a_script_is_read() -> None:
    text = output("cuda_bandwidth_p2p.txt")
    script = "".join(f"# {line}\n" for line in text.splitlines())
    assert [v.value for v in read(script).values] == [v.value for v in read(text).values]


def test_each_run_of_the_cuda_bandwidth_test_has_its_device() -> None:
    text = output("cuda_bandwidth.txt")
    other = read(f"{text}\n{text.replace('Device 0:', 'Device 1:')}")
    assert len({v.parameters["device"] for v in other.values}) == 2
    failed = read(f"{text}\n{text.replace('Result = PASS', 'Result = FAIL')}")
    assert [v.value for v in failed.values] == [v.value for v in read(text).values]


LIKWID = (
    "TABLE,Region Solve,Group 1 Metric,MEM_DP,2,\nMetric,HWThread 0,HWThread 1,,\nRuntime (RDTSC) [s],10.1,10.2,,\n"
    "TABLE,Region Solve,Group 1 Metric STAT,MEM_DP,2,\nMetric,Sum,Min,Max,Avg\nPower [W] STAT,92.8,30.9,61.9,46.4\n"
)


def test_likwid_perfctr_is_read_as_csv_too() -> None:
    values = read(LIKWID).values
    assert [(v.metric, v.value, v.parameters.get("hwthread")) for v in values[:3]] == [
        ("runtime_rdtsc", 10.1, "HWThread 0"),
        ("runtime_rdtsc", 10.2, "HWThread 1"),
        ("power", 92.8, None),
    ]
    assert {(v.kernel, v.parameters["group"]) for v in values} == {("Solve", "MEM_DP")}
    assert len(read(LIKWID[:-2]).values) == 2


def test_the_option_of_lat_mem_rd_makes_its_accesses_random() -> None:
    for option, kernel in (("-t 256M 128", "chase"), ("256M 128", "stride")):
        (value,) = read(f'$ lat_mem_rd -P 1 {option}\n"stride=128\n64.00000 128.708\n').values
        assert value.kernel == kernel


def test_stress_ng_may_print_the_time_before_each_line() -> None:
    text = """stress-ng: 09:15:02.50 info:  [77] dispatching hogs: 2 pipe
stress-ng: 09:15:12.61 metrc: [77] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: 09:15:12.61 metrc: [77]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: 09:15:12.61 metrc: [77] pipe             50000     10.00      4.00     16.00      5000.00        2500.00
stress-ng: 09:15:12.61 metrc: [77] miscellaneous metrics:
stress-ng: 09:15:12.61 metrc: [77] pipe               320.50 MB per sec pipe write rate (harmonic mean of 2 instances)
"""
    values = {v.kernel: v for v in read(text).values if v.metric in ("rate", "bandwidth")}
    assert values["pipe"].value == 5000
    assert values["pipe"].parameters["workers"] == 2
    assert [v.value for name, v in values.items() if name != "pipe"] == [320.5 * 2**20]


def test_stress_ng_may_leave_out_the_times_of_a_stressor() -> None:
    text = """---
system-info:
      stress-ng-version: 0.15.06
metrics:
    - stressor: cpu
      bogo-ops: 300
      bogo-ops-per-second-real-time: 30.500000
...
"""
    assert [(v.metric, v.value) for v in read(text).values] == [("rate", 30.5)]


def test_the_figures_of_sysbench_need_no_banner() -> None:
    text = """$ sysbench memory run
Running memory speed test with the following options:
  block size: 1KiB
  operation: write

Total operations: 2048000 (204800.00 per second)
2000.00 MiB transferred (200.00 MiB/sec)
"""
    assert {v.value for v in read(text).values if v.metric == "bandwidth"} == {200 * 2**20}


def test_each_command_of_sysbench_begins_a_run() -> None:
    text = """# sysbench --test=fileio --file-test-mode=seqwr run
sysbench 0.4.12:  multi-threaded system evaluation benchmark
Read 0b  Written 1Gb  Total transferred 1Gb  (150.25Mb/sec)
# sysbench --test=fileio --file-test-mode=seqwr --file-fsync-freq=0 run
Read 0b  Written 1Gb  Total transferred 1Gb  (75.50Mb/sec)
"""
    found = [(v.kernel, v.value) for v in read(text).values]
    assert found == [("fileio", 150.25 * 2**20), ("fileio", 75.5 * 2**20)]


def test_reads_of_another_gpu_are_no_writes() -> None:
    matrix = "   D\\D     0      1\n     0 {} 20.10\n     1  20.20 900.10\n"
    text = "".join(
        f"Unidirectional P2P=Enabled Bandwidth (P2P {way}s) Matrix (GB/s)\n{matrix.format(first)}"
        for way, first in (("Write", "900.20"), ("Read", "901.30"))
    )
    found = {
        v.parameters["operation"]: v.value
        for v in read(text).values
        if v.parameters["row"] == v.parameters["column"] == 0
    }
    assert found == {"write": 900.2e9, "read": 901.3e9}


@pytest.mark.parametrize(
    ("result", "reason"),
    [("64.10 5120.25", "line 2: 64.10 MB are not the size"), ("64.00 5120.25\n64.00 5130.50", "with several results")],
)
def test_a_result_that_is_not_that_of_its_command_is_refused(result: str, reason: str) -> None:
    found = read(f"$ bw_mem 64M rd\n{result}\n")
    assert not found.values
    assert reason in found.problems[0]


def test_the_next_command_is_no_result_of_the_one_before_it() -> None:
    (value,) = read("$ bw_mem 64m wr\n$ bw_mem -P 2 64m cp\n67.11 5120.25\n").values
    assert (value.kernel, value.value) == ("unrolled_partial_bcopy_unaligned", 5120.25e6)
    assert value.parameters == {"bytes": 64 << 20, "processes": 2}


def test_a_remark_behind_the_row_of_a_matrix_is_left_out() -> None:
    heading = (
        "Intel(R) Memory Latency Checker - v3.9\nMeasuring idle latencies (in ns)...\n    Numa node\nNuma node    0\n"
    )
    (value,) = read(f"{heading}    0   98.5  // the same in each run\n").values
    assert value.value == pytest.approx(98.5e-9)
    assert not read(f"{heading}    0   98.5  99.5\n").values


def test_a_kernel_of_alpaka_whose_rate_contradicts_its_time_is_refused() -> None:
    found = read(output("babelstream_alpaka.txt").replace("13.981", "23.981"))
    assert {v.kernel for v in found.values} == {"copy", "triad"}
    assert "does not fit its time" in found.problems[0]


def test_likwid_perfctr_counts_micro_operations() -> None:
    result = read(LIKWID.replace("Power [W]", "Scalar [MUOPS/s]"))
    assert ("scalar", 92.8e6, "uop/s") in {(v.metric, v.value, v.unit) for v in result.values}


def test_a_line_picked_from_likwid_bench_belongs_to_the_command_above_it() -> None:
    first = "$ likwid-bench -t load -w S0:1GB:4 | grep MByte\nMByte/s:\t\t51200.50\n"
    second = "$ likwid-bench -t peakflops -W N:20kB | grep -e MFlops\nMFlops/s:\t\t9100.25\n"
    values = read(first + "the rate:\n" + second).values
    assert [(v.kernel, v.value, v.parameters) for v in values] == [
        ("load", 51200.5e6, {"threads": 4}),
        ("peakflops", 9100.25e6, {}),
    ]
    loop = read(first + "MByte/s:\t\t51300.50\n")
    assert not loop.values
    assert loop.problems == ("likwid-bench: line 1 is a command with several results",)
    assert not read("$ likwid-bench -t load -w S0:1GB:4\nStarting\nMByte/s:\t\t51200.50\n").values


@pytest.mark.parametrize(
    ("words", "kernel", "metric", "value", "unit"),
    [
        ("12.50 MB/sec read rate", "hdd_read_rate", "bandwidth", 12.5 * 2**20, "B/s"),
        ("12.50 write64 MB per sec", "hdd_write64", "bandwidth", 12.5 * 2**20, "B/s"),
        ("12.50 MB per sec copy rate", "hdd_copy_rate", "bandwidth", 12.5 * 2**20, "B/s"),
        ("12.50 Mflop per sec (double precision) compute rate", "hdd_double_precision_compute_rate", "flops", 12.5e6, "flop/s"),
        ("12.50 mpz ops/sec", "hdd_mpz_ops", "rate", 12.5, "1/s"),
        ("12.50 nanosec sleep overrun", "hdd_sleep_overrun", "time", 12.5e-9, "s"),
    ],
)  # fmt: skip
def test_a_metric_of_stress_ng_has_the_unit_in_its_words(
    words: str, kernel: str, metric: str, value: float, unit: str
) -> None:
    (found,) = read(f"stress-ng: metrc: [77] hdd {words} (harmonic mean of 3 instances)\n").values
    assert (found.kernel, found.metric, found.value, found.unit) == (kernel, metric, pytest.approx(value), unit)
    assert (found.statistic, found.parameters) == ("harmonic mean", {"workers": 3})
