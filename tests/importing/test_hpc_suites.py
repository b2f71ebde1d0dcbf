"""HPL, HPCC, HPCG, NPB and Graph500: a result that is wrong, invalid or incomplete has no values, and the others keep theirs."""

import pytest

from foreign_outputs import output, read
from steelyard.importing.doubts import SEVERAL
from steelyard.importing.reading import Reading


def numbers(result: Reading, metric: str) -> list[float]:
    return [v.value for v in result.values if v.metric == metric]


def test_a_failed_residual_costs_its_own_result_only() -> None:
    text = output("hpl_several.txt").replace("0.0119959 ...... PASSED", "119.9590 ...... FAILED")
    result = read(text)
    assert numbers(result, "N") == [2000]
    assert result.problems == ("HPL: line 16: the check of the residual for N = 4000 failed",)


@pytest.mark.parametrize(("old", "new"), [("1.982e+00", "1.982e+03"), ("  4000", " 40000"), ("21.53", "2.153")])
def test_a_speed_that_does_not_follow_from_size_and_time_is_refused(old: str, new: str) -> None:
    result = read(output("hpl_several.txt").replace(old, new, 1))
    assert numbers(result, "N") == [2000]
    assert "do not fit N" in result.problems[0]


def test_a_row_with_a_decimal_comma_is_named_with_its_line() -> None:
    result = read(output("hpl_several.txt").replace("3.21", "3,21"))
    assert numbers(result, "N") == [4000]
    assert result.problems == ("HPL: line 8: '3,21' is not a number",)


def test_grids_of_as_many_ranks_are_cases_of_their_own() -> None:
    head = "T/V                N    NB     P     Q               Time                 Gflops\n"
    row = "WR11C2R4       30000   192     {}     {}             {}             {}\n"
    text = head + row.format(1, 16, "36.00", "5.0003e+02") + head + row.format(4, 4, "18.00", "1.00006e+03")
    speeds = [v for v in read(text).values if v.metric == "speed"]
    assert [(v.parameters["grid"], v.parameters["ranks"], v.repetition) for v in speeds] == [
        ("1x16", 16, 0),
        ("4x4", 16, 0),
    ]


def test_runs_of_hpcc_with_other_ranks_are_other_cases() -> None:
    text = output("hpcc.txt")
    second = (
        text.replace("Procs=4", "Procs=64")
        .replace("on 4 processors", "on 64 processors")
        .replace(" Oct 24 ", " Oct 25 ")
    )
    both = read(text + second).values
    assert len({v.benchmark for v in both}) == 4
    assert {(v.parameters.get("of_ranks", v.parameters["ranks"]), v.repetition, v.started[4:10]) for v in both} == {
        (4, 0, "Oct 24"), (64, 0, "Oct 25"),
    }  # fmt: skip
    assert not any(SEVERAL in value.note for value in both)


def test_two_summaries_of_hpcc_without_their_headings_are_two_runs() -> None:
    summary = "Begin of Summary section.\nCommWorldProcs={0}\nSuccess=1\nPTRANS_GBs=1.{0}\nEnd of Summary section.\n"
    found = [(v.parameters["ranks"], v.value) for v in read(summary.format(4) + summary.format(8)).values]
    assert found == [(4, pytest.approx(1.4e9)), (8, pytest.approx(1.8e9))]


def test_a_name_of_hpcc_with_two_values_has_none() -> None:
    result = read("StarSTREAM_Triad=3.5\nPTRANS_GBs=1.5\nStarSTREAM_Triad=4.5\nPTRANS_GBs=1.5\n")
    assert [v.kernel for v in result.values] == ["PTRANS"]
    assert result.problems == ("HPC Challenge: line 1: StarSTREAM_Triad has several values",)


def test_a_residual_that_nobody_checked_is_said() -> None:
    text = "\n".join(line for line in output("hpl.txt").splitlines() if "PASSED" not in line)
    assert {v.note for v in read(text + "\n").values if v.metric == "speed"} == {
        "The output does not say that the residual was checked."
    }


def test_a_size_that_failed_has_no_mean() -> None:
    text = output("linpack.txt").replace("3.510416e-02   pass", "3.510416e+02   fail", 1)
    result = read(text)
    assert {v.parameters["N"] for v in result.values} == {1000, 20000}
    assert len(result.problems) == 3  # both trials, and their mean


def test_speeds_of_gpus_that_do_not_add_up_are_refused() -> None:
    result = read(output("hpl_mxp.txt").replace("8.7877e+05", "8.7877e+06"))
    assert [v.kernel for v in result.values] == ["lu"]
    failed = read(output("hpl_mxp.txt").replace("PASSED", "FAILED"))
    assert not failed.values
    assert len(failed.problems) == 2


def test_hpcc_without_success_has_no_results() -> None:
    result = read(output("hpcc.txt").replace("Success=1", "Success=0"))
    assert result.tools == ("HPL",)  # its table has a check of its own
    assert "did not succeed" in result.problems[0]


def test_hpcc_without_a_summary_has_the_results_of_its_sections() -> None:
    result = read(output("hpcc.txt").partition("Begin of Summary section")[0])
    means = {v.kernel: v.value for v in result.values if v.statistic == "mean of the ranks"}
    assert means["StarSTREAM_Triad"] == pytest.approx(5.920759e9)
    assert means["StarDGEMM"] == pytest.approx(10.343155e9)
    alone = {v.kernel: v.value for v in result.values if v.statistic == "one run" and v.benchmark == "hpcc.summary"}
    assert (alone["MPIRandomAccess"], alone["MPIFFT"]) == (pytest.approx(0.013497181e9), pytest.approx(2.494e9))


def test_hpcc_has_the_same_results_as_a_list() -> None:
    summary = output("hpcc.txt").partition("Begin of Summary section.\n")[2].partition("End of Summary")[0]
    rows = [f"{name:<40} {value}\n" for name, _, value in (line.partition("=") for line in summary.splitlines())]
    listed = read(f"{'HPCCOUTF NAME':<40} VALUE\n{'-' * 60}\n{''.join(rows)}")
    values = [
        v for v in read(output("hpcc.txt")).values if v.tool == "HPC Challenge" and "st of the ranks" not in v.statistic
    ]
    assert [(v.kernel, v.value) for v in listed.values] == [(v.kernel, v.value) for v in values]


def test_two_runs_of_hpcc_in_one_file_keep_their_ranks() -> None:
    second = (
        output("hpcc.txt").replace("CommWorldProcs=4", "CommWorldProcs=8").replace("_Tflops=0.033", "_Tflops=0.066")
    )
    values = [v for v in read(output("hpcc.txt") + second).values if (v.benchmark, v.kernel) == ("hpcc.summary", "HPL")]
    assert [(v.parameters["ranks"], v.value) for v in values if v.metric == "flops"] == [
        (4, pytest.approx(33.1844e9)),
        (8, pytest.approx(66.1844e9)),
    ]


@pytest.mark.parametrize(
    "verdict",
    ["HPCG result is: INVALID.", "HPCG result is INVALID because SYMGS and SPMV were fused. GFLOP/s rating of 3.5"],
)
def test_an_invalid_report_costs_its_own_values_only(verdict: str) -> None:
    valid = output("hpcg_yaml.txt")
    invalid = valid.replace("HPCG result is VALID with a GFLOP/s rating of: 0.773896", verdict)
    assert not read(invalid).values
    assert numbers(read(invalid + valid), "rating") == [pytest.approx(0.773896e9)]
    assert "INVALID" in read(invalid + valid).problems[0]


def test_a_report_without_a_verdict_is_refused() -> None:
    result = read(output("hpcg_yaml.txt").partition("__________ Final Summary")[0])
    assert not result.values
    assert "does not say that the result is valid" in result.problems[0]


def test_a_program_that_is_not_verified_has_no_speed() -> None:
    text = output("npb_cg.txt").replace("    =               SUCCESSFUL", "    =             UNSUCCESSFUL")
    assert read(text).problems == ("NAS Parallel Benchmarks: line 32: CG was not verified (UNSUCCESSFUL)",)


def test_a_program_that_ended_early_is_named() -> None:
    result = read(output("npb_cg.txt").partition(" CG Benchmark Completed")[0])
    assert result.problems == ("NAS Parallel Benchmarks: a run of CG did not complete",)


def test_speeds_of_threads_and_of_all_must_agree() -> None:
    result = read(output("npb_mz.txt").replace("169157.12", "19157.12"))
    assert not result.values
    assert "contradict each other" in result.problems[0]


def test_threads_of_ranks_are_counted_for_each_rank() -> None:
    about = read(output("npb_mz.txt")).values[0].parameters
    assert (about["ranks"], about["threads"]) == (8, 6)


def test_searches_without_a_speed_are_refused() -> None:
    result = read(output("graph500_sssp.txt").replace("2.23902e+07", "0"))
    assert "harmonic mean" not in {v.statistic for v in result.values}
    assert "no speed" in result.problems[0]


def test_a_last_line_without_an_end_may_be_incomplete() -> None:
    cut = output("hpcc.txt").partition("HPL_Tflops=0.0331844")[0] + "HPL_Tflops=0.033"
    result = read(cut)
    assert "Tflop" not in str(
        [v.kernel for v in result.values if v.benchmark == "hpcc.summary" and v.metric == "flops"]
    )
    assert any("has no end" in problem for problem in result.problems)


ROCHPCG = """Local domain: 280 x 280 x 280
Global domain: 560 x 560 x 560
Process domain: 2 x 2 x 2

Total Time: 1823.10 sec

SpMV   =  1540.3 GFlop/s ( 9690.8 GB/s)     192.5 GFlop/s per process ( 1211.3 GB/s per process)
Final  =  1949.0 GFlop/s (14771.6 GB/s)     243.6 GFlop/s per process ( 1846.5 GB/s per process)
"""


def test_the_screen_of_another_maker_has_the_same_names() -> None:
    values = read(ROCHPCG).values
    assert {(v.kernel, v.metric): v.value for v in values} == {
        ("spmv", "flops"): 1540.3e9,
        ("spmv", "bandwidth"): 9690.8e9,
        ("hpcg", "rating"): 1949e9,
        ("hpcg", "bandwidth"): 14771.6e9,
    }
    assert values[0].parameters == {"nx": 280, "ny": 280, "nz": 280, "ranks": 8}
    assert not read(ROCHPCG.replace("Total", "*** WARNING *** INVALID RUN\n\nTotal")).values
    assert len(read(ROCHPCG.replace("1949.0", "19490")).values) == 2


def test_mixed_precision_is_not_mistaken_for_hpl() -> None:
    text = output("hpl.txt").replace("WR11C2R4      ", "WR0           ").replace("HPL_pdgesv()", "HPLMXP_pdgesv()")
    assert {v.benchmark for v in read(text).values} == {"hpl.mixed"}


def test_a_rounded_time_of_zero_is_no_value() -> None:
    result = read(output("hpl_page.txt"))
    assert [value.metric for value in result.values] == ["speed", "N"]


def test_lines_of_several_reports_of_hpcg_keep_their_sizes() -> None:
    values = read(output("hpcg_grep.txt")).values
    assert [(v.parameters.get("nx"), v.repetition) for v in values] == [(104, 0), (104, 1), (144, 0)]


def test_the_times_of_graph500_are_read_from_an_output_without_its_end() -> None:
    whole = output("graph500_3.txt")
    start = "\n".join(line for line in whole.splitlines() if "TEPS" not in line) + "\n"
    assert numbers(read(start), "time") == numbers(read(whole), "time") != []


def test_hpcc_with_another_table_is_another_case() -> None:
    part = "Begin of MPIRandomAccess section.\nTotal Main table size = 2^{0} = {1} words\n"
    part += "0.00{2} Billion(10^9) Updates    per second [GUP/s]\nEnd of MPIRandomAccess section.\n"
    head = "This is the DARPA/DOE HPC Challenge Benchmark version 1.4.1 October 2003\n"
    values = read("".join(head + part.format(n, 2**n, 1200 + n) for n in (25, 26))).values
    assert [value.parameters["N"] for value in values] == [2**25, 2**26]
    one = "Begin of SingleRandomAccess section.\nSingle GUP/s 0.003\nEnd of SingleRandomAccess section.\n"
    values = read("".join(head + part.replace("MPI", "Star").format(n, 2**n, 0) + one for n in (25, 26))).values
    assert [value.parameters["N"] for value in values if "Single" in value.kernel] == [2**25, 2**26]
