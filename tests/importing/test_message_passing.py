"""Outputs of tools for messages: what they mean in Steelyard's words, and what is refused."""

import re

import pytest

from foreign_outputs import output
from foreign_outputs import read as read_all
from steelyard.importing import reading
from steelyard.importing.reading import Reading
from steelyard.model.foreign import ForeignValue

FORMATS = ("imb", "mpptest", "nccl_tests", "osu", "perftest")
LATENCY = "# OSU MPI Latency Test v7.1\n# Size          Latency (us)\n"
ALLREDUCE = "# OSU MPI Allreduce Latency Test v7.3\n"
PINGPONG = "# Benchmarking PingPong\n# #processes = 2\n       #bytes #repetitions      t[usec]   Mbytes/sec\n"
IMB = "#    Intel(R) MPI Benchmarks {}, MPI-1 part\n# Date                  : {}\n# IMB-MPI1 {} PingPong\n"
NCCL = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
MPPTEST = "set default\n 'type = blocking'\n#p0\tp1\tdist\tlen\tave time (us)\trate\n"
WRITE_BW = (
    "test: RDMA_Write_BW_Test,\nresults: {{\nMsgSize: 65536,\nBW_peak: {0},\nBW_average: {0},\nMsgRate: {1},\n}},\n"
)


def read(content: str, *tools: str) -> Reading:
    return reading.read(content.encode(), [form for form in reading.find_formats() if form.name in tools])


def only(found: Reading) -> ForeignValue:
    assert not found.problems
    (value,) = found.values
    return value


def by_size(found: Reading) -> dict[object, float]:
    return {v.parameters.get("message_bytes"): v.value for v in found.values}


def test_a_pingpong_has_two_ranks_also_in_a_job_of_more() -> None:
    launched = "".join(f"[0] MPI startup(): {rank}       {rank + 900}    node01\n" for rank in range(4))
    value = only(read(launched + LATENCY + "8   1.50\n", "osu"))
    assert (value.benchmark, value.kernel, value.metric) == ("network.pingpong", "pingpong", "latency")
    assert value.parameters == {"ranks": 2, "buffers": "reused", "message_bytes": 8}
    collective = only(read(launched + ALLREDUCE + "# Size       Avg Latency(us)\n8   1.50\n", "osu"))
    assert collective.parameters == {"ranks": 4, "message_bytes": 8}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("4   1,52   Pass", "line 4: '1,52' is not a number"), ("4   1.52   Fail", "line 4: its results were wrong"),
        ("4   nan   Pass", "line 4: 'nan' is not a number"), ("4   -1.52   Pass", "line 4: latency is negative"),
    ],
)  # fmt: skip
def test_one_row_of_osu_is_refused_and_the_next_ones_are_read(row: str, reason: str) -> None:
    heading = "# OSU MPI Latency Test v7.1\n# Size   Latency (us)   Validation\n"
    found = read(f"{heading}2   1.50   Pass\n{row}\nslurmstepd: a warning\n8   1.54   Pass\n", "osu")
    assert by_size(found) == pytest.approx({2: 1.50e-6, 8: 1.54e-6})
    assert len(found.problems) == 1
    assert reason in found.problems[0]


def test_a_row_without_one_column_is_refused_because_its_columns_are_unknown() -> None:
    found = read(ALLREDUCE + "# Size       Avg Latency(us)   Min Latency(us)\n4   1.5   1.2\n8   1.6\n", "osu")
    assert set(by_size(found)) == {4}
    assert "line 4 has 2 columns" in found.problems[0]


@pytest.mark.parametrize("lines", [("# Datatype: MPI_INT.", "# Size   Avg Latency(us)"), ("# Size   Avg Latency(us)",)])
def test_one_datatype_of_osu_is_not_a_parameter(lines: tuple[str, ...]) -> None:
    assert only(read(ALLREDUCE + "\n".join((*lines, "4   2.5\n")), "osu")).parameters == {"message_bytes": 4}


def test_several_datatypes_of_osu_are_several_cases() -> None:
    tables = "".join(f"# Datatype: MPI_{kind}.\n# Size   Avg Latency(us)\n4   2.5\n" for kind in ("INT", "FLOAT"))
    assert [v.parameters["datatype"] for v in read(ALLREDUCE + tables, "osu").values] == ["INT", "FLOAT"]


def test_only_a_barrier_of_osu_has_no_sizes() -> None:
    table = "# Avg Latency(us)\n8\n"
    assert only(read("# OSU MPI Barrier Latency Test v5.9\n" + table, "osu")).value == pytest.approx(8e-6)
    cut = read("# OSU MPI Alltoall Latency Test v5.9\n" + table, "osu")
    assert not cut.values
    assert "line 3: its table has no sizes" in cut.problems[0]


def test_two_runs_of_osu_in_one_file_are_two_repetitions() -> None:
    found = read((LATENCY + "8   1.50\n") + (LATENCY + "8   1.60\n"), "osu")
    assert [(v.repetition, v.value) for v in found.values] == [(0, pytest.approx(1.5e-6)), (1, pytest.approx(1.6e-6))]


@pytest.mark.parametrize(
    ("heading", "benchmark", "parameters"),
    [
        ("# OSU MPI_Put Latency Test v5.9\n# Synchronization: MPI_Win_flush", "network.onesided",
         {"ranks": 2, "buffers": "reused", "synchronisation": "flush", "window": 1}),
        ("# OSU MPI_Put Latency Test v5.9\n# Synchronization: MPI_Win_post/start/complete/wait", "osu.put_latency",
         {"synchronisation": "post/start/complete/wait"}),
        ("# OSU MPI-CUDA Latency Test v7.0\n# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)", "osu.latency",
         {"device": "CUDA", "memory": "D H"}),
        ("# OSU MPI-CUDA Latency Test v7.0\n# Send Buffer on HOST (H) and Receive Buffer on HOST (H)", "network.pingpong",
         {"ranks": 2, "buffers": "reused"}),
        ("# OSU MPI Multi-threaded Latency Test v5.6", "osu.latency_mt", {}),
    ],
)  # fmt: skip
def test_our_names_are_only_for_the_same_meaning(heading: str, benchmark: str, parameters: dict[str, object]) -> None:
    value = only(read(f"{heading}\n# Size          Latency (us)\n8   1.50\n", "osu"))
    assert (value.benchmark, value.parameters) == (benchmark, {**parameters, "message_bytes": 8})


def test_imb_says_whether_its_buffers_are_in_a_cache() -> None:
    warm, fresh = (
        only(read(IMB.format("2021.3", "x", option) + PINGPONG + "0         1000         1.05         0.00\n", "imb"))
        for option in ("", "-off_cache 32,64")
    )
    assert (warm.parameters["buffers"], fresh.parameters["buffers"]) == ("reused", "fresh")
    assert "cache" in warm.note
    assert not fresh.note


@pytest.mark.parametrize(
    ("head", "printed", "unit"),
    [(IMB.format("4.1", "x", ""), "16124.41", 2**20), (IMB.format("2019", "x", ""), "16907.46", 1e6),
     ("", "16124.41", 2**20), ("", "16907.46", 1e6)],
)  # fmt: skip
def test_the_megabyte_of_imb_is_that_of_its_version(head: str, printed: str, unit: float) -> None:
    found = read(f"{head}{PINGPONG}2097152           20       124.04     {printed}\n", "imb")
    assert [v.value for v in found.values if v.unit == "B/s"] == [pytest.approx(float(printed) * unit)]


def test_a_rate_of_imb_that_fits_no_megabyte_is_refused() -> None:
    found = read(PINGPONG + "2097152           20       124.04     12907.46\n", "imb")
    assert not found.values
    assert "fits its time and size in none of the units" in found.problems[0]


def test_what_imb_did_not_measure_is_no_value_and_is_named() -> None:
    rows = "8 1000 1.10 7.27\n16 time-out.; Time limit is over\n4194304 out-of-mem.; needed X=   1.1 GB\n"
    found = read(IMB.format("2021.3", "x", "") + PINGPONG + rows, "imb")
    assert set(by_size(found)) == {8}
    assert [problem.partition("line ")[2] for problem in found.problems] == [
        "8: 16 B was stopped by IMB's time limit",
        "9: 4 MiB was stopped by IMB's memory limit",
    ]


def test_defects_of_imb_refuse_their_row() -> None:
    heading = PINGPONG.replace("Mbytes/sec", "Mbytes/sec      defects")
    found = read(IMB.format("2021.3", "x", "") + heading + "8 1000 1.10 7.27 0.00\n16 1000 1.12 14.29 3.00\n", "imb")
    assert set(by_size(found)) == {8}
    assert re.search(r"line 8: .*defects.*3\.00", found.problems[0])


def test_runs_of_imb_at_several_dates_have_their_own() -> None:
    runs = "".join(IMB.format("2021.3", date, "") + PINGPONG + "0 1000 1.05 0.00\n" for date in ("Mon 1", "Tue 2"))
    assert [(v.started, v.repetition) for v in read(runs, "imb").values] == [("Mon 1", 0), ("Tue 2", 0)]


def test_nccl_tests_with_wrong_results_are_refused() -> None:
    row = "1048576 262144 float sum -1 51.30 20.44 35.77 {} 51.47 20.37 35.65 {}\n"
    found = read(NCCL + row.format(0, 0) + row.format(7, "N/A"), "nccl_tests")
    assert len(found.values) == 9
    assert len(found.problems) == 1
    assert "line 3: its results were wrong: #wrong is '7'" in found.problems[0]
    older = (NCCL + row.format(0, 0)).replace("#wrong", "") + "# Out of bounds values : 3 FAILED\n"
    assert not read(older.replace(" 0 51", " 51").replace(" 0\n", "\n"), "nccl_tests").values


def test_a_mean_of_nccl_tests_with_wrong_results_is_left_out() -> None:
    row = "           8             2     float     sum    10.31    0.00    0.00  {}    10.11    0.00    0.00  0\n"
    ends = "# Out of bounds values : {}\n# Avg bus bandwidth    : 54.1\n"
    right, wrong = (
        read(NCCL + row.format(n) + ends.format(end), "nccl_tests") for n, end in ((0, "0 OK"), (7, "7 FAILED"))
    )
    assert [len([v for v in found.values if v.metric == "bus_bandwidth"]) for found in (right, wrong)] == [1, 0]


def test_both_places_of_nccl_tests_are_cases_and_an_operation_is_known_by_its_bus() -> None:
    ranks = "".join(f"#  Rank  {n} Group  0 Pid 9 on node0{n // 4} device  {n % 4} [0x07] A100\n" for n in range(8))
    row = "1048576 262144 float sum -1 51.30 20.44 35.77 0 51.47 20.37 35.65 0\n"
    found = read(f"# nThread 1 nGpus 1\n{ranks}{NCCL}{row}", "nccl_tests")
    assert {(v.benchmark, v.parameters["ranks"], v.parameters["nodes"]) for v in found.values} == {
        ("nccl_tests.all_reduce", 8, 2)
    }
    times = {v.parameters["place"]: v.value for v in found.values if v.metric == "time"}
    assert times == pytest.approx({"out of place": 51.30e-6, "in place": 51.47e-6})


def test_the_pairs_of_mpptest_follow_from_its_rate() -> None:
    bisected = read(MPPTEST.replace("blocking", "blocking-bisect") + "0\t15\t15\t1000\t2.0\t4e9\n", "mpptest")
    assert {(v.benchmark, v.parameters["pairs"]) for v in bisected.values} == {("network.bisection", 8)}
    damaged = read(MPPTEST + "0\t15\t15\t1000\t2.0\t4.2e8\n", "mpptest")
    assert not damaged.values
    assert "its rate does not fit its time and length" in damaged.problems[0]


def test_the_collective_operations_of_mpptest_are_named_as_unread() -> None:
    found = read("set default\n#np time (us) for various sizes\n4 1.5 2.5\n", "mpptest")
    assert not found.values
    assert "-gop" in found.problems[0]


@pytest.mark.parametrize(("average", "rate", "bandwidth"), [("2229.27", "0.035668", 2229.27 * 2**20),
                                                            ("18.70", "0.035668", 18.70e9 / 8)])  # fmt: skip
def test_the_json_of_perftest_shows_its_unit_by_its_rate(average: str, rate: str, bandwidth: float) -> None:
    found = read(f"n_iterations: 1\n{WRITE_BW.format(average, rate)}", "perftest")
    assert found.values[0].value == pytest.approx(bandwidth)


def test_a_bandwidth_of_perftest_that_fits_no_unit_is_refused() -> None:
    found = read(f"n_iterations: 1\n{WRITE_BW.format('1500.00', '0.035668')}", "perftest")
    assert not found.values
    assert "'1500.00' fits its time and size in none of the units" in found.problems[0]


TABLE = """                    RDMA_Write BW Test
 #bytes     #iterations    BW peak[{0}]    BW average[{0}]   MsgRate[Mpps]
 4          1000             8.73               8.18   		     2.144697
 8          1000             17.70              17.49  		     2.292482
"""


def test_mebibytes_of_perftest_are_read() -> None:
    values = read(TABLE.format("MiB/sec"), "perftest").values
    assert [v.value for v in values if v.metric == "bandwidth"] == pytest.approx(
        [x * 2**20 for x in (8.18, 8.73, 17.49, 17.7)]
    )


def test_a_column_with_an_unknown_unit_is_refused_once() -> None:
    found = read(TABLE.format("MiB/min"), "perftest")
    assert [v.metric for v in found.values] == ["message_rate"] * 2
    assert [problem.partition("column ")[2][:9] for problem in found.problems] == ["'BW peak[", "'BW avera"]
    assert (
        "column 'Bandwidth (XB/s)' is unknown"
        in read("# OSU MPI Bandwidth Test v5.6\n# Size      Bandwidth (XB/s)\n8    1.05\n", "osu").problems[0]
    )


@pytest.mark.parametrize(
    ("before", "name"),
    [("$ ib_write_lat -s 8 node02", "write_latency"), ("   Send Latency Test", "send_latency"), ("", "messages")],
)
def test_a_table_of_perftest_is_named_by_its_heading_or_its_command(before: str, name: str) -> None:
    found = read(f"{before}\n #bytes #iterations    t_typical[usec]\n 8       1000          1.25\n", "perftest")
    assert only(found).benchmark == f"perftest.{name}"


def test_client_and_server_of_perftest_are_one_test() -> None:
    heading = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
    table = f"{heading}\n 65536      5000             92.56              92.50              0.176\n"
    found = read(f"                    RDMA_Write BW Test\n{table}---\n{table}", "perftest")
    assert [v.metric for v in found.values] == ["bandwidth", "bandwidth", "message_rate"]


@pytest.mark.parametrize("line", ["9" * 200_000, " " * 200_000, "8 " * 100_000, "MsgSize: " * 20_000])
def test_long_lines_neither_hang_nor_become_values(line: str) -> None:
    heads = (LATENCY, PINGPONG, NCCL, MPPTEST, "n_iterations RDMA_Write BW Test\n#bytes BW average[MB/sec]\n")
    found = [read(f"{head}{line}\n", *FORMATS) for head in heads]
    assert not any(reading.values for reading in found)


def test_a_table_that_names_a_column_twice_is_refused() -> None:
    """A page has put the results of several systems into one table, so each size has several latencies."""
    table = "# OSU MPI Broadcast Latency Test\n# Size    Avg Latency(us)    Avg Latency(us)\n1    0.45    3.00\n"
    result = read_all(table)
    assert not result.values
    assert result.problems == ("OSU micro-benchmarks: line 2 names the column 'Avg Latency(us)' twice",)


def test_a_list_of_ranks_without_its_begin_gives_no_number_of_ranks() -> None:
    result = read_all(output("nccl_last_ranks.txt"))
    assert {value.parameters.get("ranks") for value in result.values} == {None}


def test_the_command_of_an_osu_test_says_where_its_buffers_are() -> None:
    text = output("osu_commands.txt")
    assert [v.parameters["memory"] for v in read(text, "osu").values if v.kernel == "latency"] == ["D D", "H D"]


def test_a_remark_behind_a_row_is_left_out() -> None:
    assert by_size(read(f"{LATENCY}1 0.34\n2 8.43  ← protocol switch\n4 8.55\n", "osu")) == {
        1: pytest.approx(0.34e-6),
        2: pytest.approx(8.43e-6),
        4: pytest.approx(8.55e-6),
    }


def test_a_second_table_of_nccl_tests_inherits_no_ranks() -> None:
    rank = "#  Rank  0 Group  0 Pid 1 on node1 device  0 [0x01] GPU\n"
    row = "  1048576  262144  float  sum  -1  100.0  10.49  10.49  0  100.0  10.49  10.49  0\n"
    second = f"$ ./all_reduce_perf -g 4\n{NCCL}{row}"
    values = read(f"# nThread 1 nGpus 1\n{rank}{NCCL}{row}# Avg bus bandwidth : 10.49\n{second}", "nccl_tests").values
    assert {(v.kernel, v.parameters.get("ranks")) for v in values} == {("collective", 1), ("all_reduce", None)}


def test_a_heading_without_a_hash_begins_an_osu_test_if_it_has_a_version() -> None:
    bare = LATENCY.replace("# ", "")
    assert by_size(read(f"{bare}8 1.02\n", "osu")) == {8: pytest.approx(1.02e-6)}
    assert not read(f"{bare.replace(' v7.1', '')}8 1.02\n", "osu").values


def test_the_service_levels_of_perftest_are_cases() -> None:
    heading = " #bytes    #sl      #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    rows = "".join(
        f" 65536      {level}       5000      5612.10      561{level}.02      0.089760\n" for level in (0, 1)
    )
    values = read(f"RDMA_Write BW Test\n{heading}{rows}", "perftest").values
    assert {v.parameters["service_level"] for v in values} == {0, 1}
    assert {v.repetition for v in values} == {0}


@pytest.mark.parametrize("name", ["cuda_bandwidth.txt", "perftest_page.txt", "sysbench_cpu.txt"])
def test_a_table_ends_where_the_output_of_another_tool_begins(name: str) -> None:
    def figures(text: str) -> list[tuple[str, object]]:
        values = read_all(text).values
        return sorted((f"{v.tool} {v.metric} {v.value}", v.parameters.get("threads", "")) for v in values)

    other = output(name)
    for table in (f"{LATENCY}0 1.21\n1 1.22\n2 1.23\n", f"{IMB.format('2021', '', '')}{PINGPONG}0 1000 0.5 0.00\n"):
        assert figures(table + other) == sorted(figures(table) + figures(other))


def test_ucx_perftest_prints_a_median_in_double_spaced_pages_too() -> None:
    text = output("ucx_perftest.txt")
    once, twice = (read(lines, "ucx_perftest").values for lines in (text, text.replace("\n", "\n\n")))
    assert [v.statistic for v in once] == [v.statistic for v in twice]
    assert "median" in {v.statistic for v in once}


def test_the_programs_of_nccl_tests_with_mpi_are_the_same_tests() -> None:
    text = """# Collective test starting: all_gather_perf_mpi
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1000000        250000     float    none      -1   100.00   10.00    5.00      0   125.00    8.00    4.00      0
# Avg bus bandwidth    : 4.5
"""
    assert {v.kernel for v in read(text, "nccl_tests").values} == {"all_gather"}


@pytest.mark.parametrize("head", ["iterations", "\\#iterations"])
def test_a_page_may_lose_the_hash_before_the_iterations_of_perftest(head: str) -> None:
    text = f"""                    RDMA_Read BW Test
 Link type       : IB
 #bytes     {head}    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 1024       1000             510.00              500.00                 0.512000
"""
    assert {v.value for v in read(text, "perftest").values if v.statistic == "mean"} == {500 * 2**20, 512000}


def test_a_table_of_perftest_before_the_first_heading_is_read() -> None:
    head = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    table = f"{head} 1024 1000 {{0}}.00 {{0}}.00 0.512000\n"
    text = f"{table.format(400)}-----\n                    RDMA_Read BW Test\n{table.format(500)}-----\n"
    found = {
        v.kernel: v.value for v in read(text, "perftest").values if v.metric == "bandwidth" and v.statistic == "mean"
    }
    assert found == {"messages": 400 * 2**20, "read_bw": 500 * 2**20}


def test_small_rates_of_an_old_imb_have_the_unit_of_its_version() -> None:
    rows = (
        "            0         1000        61.20         0.00\n            1         1000        62.50         0.02\n"
    )
    found = read("#    Intel (R) MPI Benchmark Suite V3.1, MPI-1 part\n" + PINGPONG + rows, "imb")
    assert [v.value for v in found.values if v.metric == "bandwidth"] == pytest.approx([0.02 * 2**20])
    assert not read(PINGPONG + rows, "imb").values  # the version is not known


def test_a_pingpong_of_four_ranks_has_the_rates_of_two_pairs() -> None:
    heading = PINGPONG.replace("= 2", "= 4").replace("Mbytes/sec", "Mbytes/sec      Msg/sec")
    found = read(heading + "          512         1000        25.60        40.00        78125\n", "imb")
    assert {(v.parameters["ranks"], v.parameters["pairs"]) for v in found.values} == {(4, 2)}


def test_a_second_table_of_osu_without_a_heading_is_refused() -> None:
    found = read(f"{LATENCY}8 1.50\n\n# Size      Bandwidth (MB/s)\n8 21.30\n", "osu")
    assert by_size(found) == {8: pytest.approx(1.50e-6)}
    assert "no heading names the test of this table" in found.problems[0]


def test_the_places_of_osu_buffers_may_stand_in_parentheses() -> None:
    heading = LATENCY.replace("MPI", "MPI-CUDA")
    value = only(read(f"Case 3: osu_latency (D H)\n{heading}8 1.50\n", "osu"))
    assert value.parameters["memory"] == "D H"


def test_a_run_of_imb_behind_another_command_does_not_inherit_its_date() -> None:
    run = IMB.format("2021.3", "Mon 1", "") + PINGPONG + "0 1000 1.05 0.00\n"
    excerpt = f"$ mpirun -n 2 ./IMB-MPI1 PingPong\n{PINGPONG}0 1000 1.07 0.00\n"
    found = read(run + excerpt, "imb").values
    assert [(v.value, bool(v.started)) for v in found] == [
        (pytest.approx(1.05e-6), True),
        (pytest.approx(1.07e-6), False),
    ]


def write_bw(local: str, remote: str, **rates: int) -> str:
    head = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    for name, rate in rates.items():
        size = int(name.removeprefix("of_"))
        head += f" {size} 5000 {rate}.50 {rate}.00 {rate / size * 1.048576:.6f}\n"
    ends = "".join(
        f" {end} address: LID 0x01 QPN {number} PSN 0x1b2c\n" for end, number in (("local", local), ("remote", remote))
    )
    return f"                    RDMA_Write BW Test\n{ends}{head}"


def test_what_both_ends_of_a_run_of_perftest_print_counts_once() -> None:
    client, server = write_bw("0x0051", "0x0062", of_1024=900, of_2048=1800), write_bw("0x0062", "0x0051", of_2048=1800)
    values = read(f"{client}\nthe server:\n{server}", "perftest").values
    assert [(v.parameters["message_bytes"], v.repetition) for v in values if v.metric == "message_rate"] == [
        (1024, 0),
        (2048, 0),
    ]
    another = read(f"{client}{server.replace('0x0062', '0x0073')}", "perftest").values
    assert [v.repetition for v in another if v.metric == "message_rate"] == [0, 0, 1]


def test_report_both_of_perftest_names_the_side_of_each_rate() -> None:
    total = write_bw("0x0051", "0x0062", of_65536=3600)
    table = total[total.index(" #bytes") :]
    values = read(f"{total}---\n\n Local results: \n{table}\n Remote results: \n{table}", "perftest").values
    sides = [(v.parameters.get("side"), v.repetition) for v in values if v.metric == "message_rate"]
    assert sides == [(None, 0), ("local", 0), ("remote", 0)]


def test_only_a_latency_of_a_read_of_qperf_is_a_whole_round_trip() -> None:
    text = (
        "rc_lat:\n    latency  =  4.10 us\nrc_rdma_read_lat:\n    latency  =  7.80 us\nend\n    latency  =  9.00 us\n"
    )
    assert {v.kernel: bool(v.note) for v in read(text, "qperf").values} == {"rc_lat": True, "rc_rdma_read_lat": False}
