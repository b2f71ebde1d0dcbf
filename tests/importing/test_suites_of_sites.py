"""Suites and mini-applications that sites keep: what tells cases apart, and what is refused."""

import json

import pytest

from foreign_outputs import output, read
from steelyard.importing.dates import read_date
from steelyard.importing.reading import NO_FORMAT


def test_base_and_peak_of_spec_have_all_iterations_once() -> None:
    for file in ("spec_cpu_csv.txt", "spec_cpu_speed.txt"):
        times = [v for v in read(output(file)).values if (v.kernel, v.metric) == ("600.perlbench_s", "time")]
        threads = {v.parameters["tuning"]: v.parameters["threads"] for v in times}
        assert threads == {"base": 128, "peak": 1}
        assert sorted(v.repetition for v in times) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("spec_cpu_rate.txt", "64       1043       99.1  *", "64         --            CE"),
        ("spec_cpu_csv.txt", "230.257631,20.503121,1,S,128", "0,0,1,RE,128"),
    ],
)
def test_an_iteration_of_spec_that_failed_costs_itself_only(file: str, old: str, new: str) -> None:
    whole, result = read(output(file)), read(output(file).replace(old, new, 1))
    assert "failed" in result.problems[0]
    assert len(whole.values) - len(result.values) in (2, 4)  # in a row of CSV, peak stands behind base


def test_a_run_that_spec_calls_invalid_has_a_note() -> None:
    values = read(output("spec_cpu_csv.txt").replace("valid,1", "valid,0")).values
    assert {v.note for v in values} == {"SPEC CPU2017 warns: 'valid,0'."}


@pytest.mark.parametrize(("file", "last"), [("cloverleaf.txt", "First step"), ("tealeaf.txt", "Tea is finishing")])
def test_a_simulation_that_did_not_finish_has_no_time(file: str, last: str) -> None:
    text = output(file)
    assert read(text).values
    assert not read(text[: text.rindex(last)]).values


def test_a_simulation_with_a_wrong_result_has_no_time() -> None:
    for file in ("cloverleaf_cpp.txt", "tealeaf.txt"):
        result = read(output(file).replace("considered PASSED", "considered NOT PASSED"))
        assert not result.values
        assert "NOT PASSED" in result.problems[0]


def test_a_grid_of_opensbli_names_its_ranks() -> None:
    parameters = {"points": 134217728, "ranks": 32, "iterations": 100}
    assert all(v.parameters == parameters for v in read(output("opensbli.txt")).values)


def test_the_writes_of_benchio_differ_in_method_and_striping() -> None:
    rates = [v.parameters for v in read(output("benchio.txt")).values if v.metric == "bandwidth"]
    methods = [(method, way) for method in ("serial", "proc", "node", "mpiio") for way in ("unstriped", "fullstriped")]
    assert [(each["method"], each["striping"]) for each in rates] == methods


def test_a_bandwidth_of_gpcnet_is_exceeded_by_99_percent() -> None:
    values = [v for v in read(output("gpcnet_load.txt")).values if v.kernel == "rr_two_sided_bw_sync_131072_b"]
    tails = {v.parameters["section"]: v.value for v in values if v.statistic == "p1"}
    assert tails == {
        "Isolated Network Tests": pytest.approx(49.9 * 2**20),
        "Network Tests running with Congestion Tests": pytest.approx(70.8 * 2**20),
    }


def test_a_pair_of_mpigraph_is_named_by_its_hosts() -> None:
    values = read(output("mpigraph.txt")).values
    (pair,) = [
        v
        for v in values
        if v.kernel == "recv" and (v.parameters.get("row"), v.parameters.get("column")) == ("vm:2", "vm:1")
    ]
    assert pair.value == pytest.approx(1901.073 * 2**20)


@pytest.mark.parametrize(("old", "new"), [("3709.617\t", "4709.617\t"), ("vm:3 from", "vm:4 from"), ("\t1739.537", "")])
def test_a_matrix_that_does_not_fit_costs_itself_only(old: str, new: str) -> None:
    result = read(output("mpigraph.txt").replace(old, new))
    assert {v.kernel for v in result.values} == {"send"}
    assert len(result.problems) == 1


def test_columns_of_jube_without_a_unit_are_parameters() -> None:
    (value,) = read(output("jube.txt")).values
    assert (value.benchmark, value.metric) == ("jube.result", "runtime")
    assert value.parameters == {
        "systemname": "juwelsbooster", "error_code": 0, "batch_size": 512, "nodes": 10, "imagespersec_avg": "109163.45",
        "time_to_report_in_seconds": "1056.27",
    }  # fmt: skip


def test_a_table_without_a_name_is_none_of_jube() -> None:
    table = output("jube.txt").replace("result:\n", "See the results below.\n")
    assert read(table).problems == (NO_FORMAT,)
    assert not read(output("jube.txt").replace("|---------|", "| ------- |")).values


def test_a_region_of_caliper_has_the_regions_around_it_in_its_name() -> None:
    times = {(v.kernel, v.statistic): v.value for v in read(output("caliper.txt")).values}
    assert times["outside of MPI", "mean of the ranks"] == 0.353483
    assert times["main/lulesh.cycle/TimeIncrement/MPI_Allreduce", "greatest of the ranks"] == 0.071229
    assert times["main/MPI_Barrier", "least of the ranks"] == 0.000013


def test_a_column_of_caliper_may_be_empty() -> None:
    metrics = {v.metric for v in read(output("caliper_gpu.txt")).values if v.kernel.endswith("solve/dot_product")}
    assert metrics == {"time"}


def test_json_of_caliper_needs_units_and_one_row_for_each_region() -> None:
    text = output("caliper_json.txt")
    assert "has a unit" in read(text.replace('"attribute.unit": "sec"', '"attribute.unit": ""')).problems[0]
    doubled = json.loads(text)
    doubled["data"] += doubled["data"][-1:]
    assert "several rows" in read(json.dumps(doubled)).problems[0]


def test_a_benchmark_of_superbench_that_failed_has_no_values_on_its_node() -> None:
    result = read(output("superbench_old.txt"))
    assert {v.host for v in result.values if v.benchmark == "superbench.mem-bw"} == {"sb-validation-01"}
    assert result.problems == ("SuperBench: mem-bw failed on sb-validation-03: its code is 1",)


def test_deviations_in_a_diagnosis_of_superbench_are_no_values() -> None:
    node = '{{"index": "node-01", {}"kernel-launch/event_time:0": {}, "kernel-launch/return_code": 0}}\n'
    deviations = read(node.format('"Category": "KernelLaunch", "Defective Details": "", ', 15.77))
    assert not deviations.values
    assert "deviations from a baseline" in deviations.problems[0]
    measured = node.format("", 0.006)
    assert len(read(node.format('"Category": "x", "Defective Details": "", ', 15.77) + measured).values) == 1
    (value,) = read(node.format('"diagnosis/accept": false, "diagnosis/issue_num": 1, ', 0.006)).values
    assert (value.host, value.value, "accept=false" in value.note) == ("node-01", pytest.approx(6e-6), True)


def test_a_number_of_superbench_without_a_known_unit_has_none() -> None:
    values = read(output("superbench_old.txt")).values
    units = {v.benchmark.partition(".")[2]: (v.value, v.unit, v.better) for v in values if v.host == "sb-validation-01"}
    assert units["ib-loopback"] == (23935.21, "", "none")
    sizes = {v.parameters.get("message_bytes") for v in values if v.benchmark == "superbench.nccl-bw"}
    assert sizes == {1048576, 8388608}


def find_copies(file: str, kernel: str, row: object, column: object) -> list[float]:
    """The bandwidths of the copies from the device of a row to that of a column, in GB/s."""
    pair = {"row": row, "column": column}.items()
    return [v.value / 1e9 for v in read(output(file)).values if v.kernel == kernel and pair <= v.parameters.items()]


def test_a_copy_on_rocm_is_named_by_both_devices() -> None:
    assert find_copies("rocm_bandwidth.txt", "unidirectional", 3, 1) == pytest.approx([2.630607])
    assert find_copies("rocm_bandwidth.txt", "bidirectional", 2, 4) == pytest.approx([5.614854])
    to_from_both = find_copies("transferbench.txt", "bidirectional", "CPU 01", "GPU 02")
    assert to_from_both == pytest.approx([44.39, 54.96, 99.35])


@pytest.mark.parametrize(
    ("file", "old", "new", "lost"),
    [
        ("rocm_bandwidth.txt", "4.326627    13.049600", "4.326627", 20),  # the first row of a matrix with 20 entries
        ("transferbench.txt", "  104.88     90.09", "  104.88", 10),
    ],
)
def test_a_row_that_lacks_an_entry_has_no_values(file: str, old: str, new: str, lost: int) -> None:
    result = read(output(file).replace(old, new))
    assert "columns, but its heading has" in result.problems[0]
    assert len(read(output(file)).values) - len(result.values) == lost


OMP_TEXT = output("spec_omp2012.txt")
HPC_CSV = output("spec_hpc2021_csv.txt")
UMT = output("umt.txt")
PAIRS = output("nxnlatbw.txt")


def test_text_of_omp2012_has_base_and_peak() -> None:
    result = read(OMP_TEXT)
    found = [(v.kernel, v.metric, v.value, v.parameters["tuning"], v.parameters.get("threads")) for v in result.values]
    assert found == [
        ("350.md", "time", 434, "base", 64), ("350.md", "ratio", 10.7, "base", 64), ("350.md", "time", 400, "peak", 128),
        ("350.md", "ratio", 11.6, "peak", 128), ("351.bwaves", "time", 300, "base", 64),
        ("351.bwaves", "ratio", 15.1, "base", 64), ("score", "score", 12.7, "base", None),
        ("score", "score", 13.4, "peak", None),
    ]  # fmt: skip
    assert {v.benchmark for v in result.values} == {"spec_omp2012.omp"}
    assert (result.system, result.started) == ("Xeon 9", "2021-03-02 09:19:32")
    assert "351.bwaves (peak) failed" in result.problems[0]


def test_ranks_of_mpi2007_are_read() -> None:
    text = (
        OMP_TEXT.replace("OMPG2012", "MPIM2007")
        .replace("Threads", "Ranks  ")
        .replace("SPECompG_base2012", "SPECmpiM_base2007")
    )
    values = read(text).values
    assert {v.benchmark for v in values} == {"spec_mpi2007.m"}
    assert [v.parameters.get("ranks") for v in values[:3]] == [64, 64, 128]


def test_csv_of_spechpc_has_model_ranks_and_threads() -> None:
    result = read(HPC_CSV)
    about = {"tuning": "base", "model": "ACC", "ranks": 4, "threads": 16}
    assert [(v.kernel, v.metric, v.value, v.parameters) for v in result.values] == [
        ("505.lbm_t", "time", 45.125, about), ("505.lbm_t", "ratio", 49.86, about), ("score", "score", 49.9, {"tuning": "base"}),
    ]  # fmt: skip
    assert {v.benchmark for v in result.values} == {"spec_hpc2021.tiny"}
    assert result.problems == ("SPEC HPG: line 9: an iteration of 513.soma_t (base) failed: RE",)
    unknown = read(HPC_CSV.replace("Base Model", "Base Colour"))
    assert "the meaning of the column 'colour' is unknown" in unknown.problems[0]


def test_the_text_of_spechpc_is_refused_with_a_sentence() -> None:
    result = read("SPEChpc(TM) 2021 Small Result\n")
    assert result.problems == ("SPEC HPG: Steelyard does not read the text of SPEChpc 2021. Import the result as CSV",)


def test_merit_and_size_of_umt_are_read() -> None:
    result = read(UMT)
    assert [(v.metric, v.value) for v in result.values] == [
        ("merit", 1.06259e9),
        ("throughput", 2.41498e8),
        ("time", 100.527),
    ]
    about = {"ranks": 8, "problem": "UMT SP#1", "unknowns": 4855431168, "angles": 72, "groups": 128, "threads": 1}
    assert result.values[0].parameters == about
    assert not read(UMT.replace("CHECK PASSED", "CHECK FAILED")).values


def test_a_matrix_of_all_pairs_is_whole_or_refused() -> None:
    values = read(PAIRS).values
    assert len(values) == 12
    assert {v.parameters["ranks"] for v in values} == {3}
    first = [(v.metric, v.value, v.parameters["row"], v.parameters["column"]) for v in values[:2]]
    assert first == [("latency", 0.81e-6, 1, 0), ("bandwidth", 12041.5e6, 1, 0)]
    refused = read(PAIRS.replace("2,1,1.02,12008.0\n", ""))
    assert refused.problems == ("mpi_nxnlatbw: the file has 5 pairs, but 3 ranks have 6",)


@pytest.mark.parametrize(
    ("file", "started"),
    [
        ("comd.txt", "2020-11-10T10:00:00"),
        ("comd_report.txt", "2019-03-04T10:33:41"),
        ("gpu_burn_2019.txt", "2019-08-09T22:17:04"),
    ],
)
def test_the_date_of_a_log_is_that_of_its_values(file: str, started: str) -> None:
    result = read(output(file))
    assert {read_date(v.started or result.started) for v in result.values} == {started}


@pytest.mark.parametrize(
    ("head", "version"),
    [
        (" Version Number..  1.09", "1.09"), ("SNAP 2.1.0", "2.1.0"), ("version: 2.1", "2.1"), ("# Version 2.1", "2.1"),
        ("SNAP version 2.1", "2.1"), ("Compiler version: 9.3.0", ""),
    ],
)  # fmt: skip
def test_a_version_without_a_letter_is_read(head: str, version: str) -> None:
    heading = " SNAP: SN (Discrete Ordinates) Application Proxy\n"
    result = read(f"{heading}{head}\n  Total Execution time   3.4652E-02\n  Grind Time (nanoseconds)   1.1078E+01\n")
    assert result.conditions["SNAP"].get("version", "") == version
