"""mdtest, IO500, IOR, fio, sockperf, netperf and iperf3: the meaning of their values, and what is refused."""

import json
import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from foreign_outputs import output, read
from steelyard.model.foreign import ForeignValue

FIO_DATE = "%a %b %d %H:%M:%S %Y"


def values(file: str, metric: str, **parameters: object) -> list[ForeignValue]:
    return [v for v in read(output(file)).values if v.metric == metric and parameters.items() <= v.parameters.items()]


@pytest.mark.parametrize(
    ("file", "old", "new", "reason"),
    [
        ("io500.txt", "TOTAL 153.386640", "TOTAL 153.386640 [INVALID]", "line 15: the score is INVALID"),
        ("io500.txt", "TOTAL 153.386640", "TOTAL 253.386640", "not the geometric mean"),
        ("io500.txt", "24.132 seconds", "24.132 seconds [INVALID]", "line 7: the result of find is INVALID"),
        ("io500_scripts.txt", "[RESULT] BW ", "[RESULT-invalid] BW ", "ior-easy-write is INVALID"),
        ("io500_result.txt", "SCORE           = 483", "SCOR            = 483", "'SCORE' is missing or unknown"),
        ("mdtest_4_ranks.txt", " 12120.884", "", "does not fit the heading of its table"),
        ("mdtest_1.txt", "   1483281.640", "   9483281.640", "9483281.640"),
        ("ior.txt", "(240.17 MB/sec)", "(260.17 MB/sec)", "are not 260.17 MB/s"),
        ("ior_2.txt", "812.20     524288", "812.20", "line 29 has 8 columns, but its heading has 9"),
        ("ior_4.txt", "361270     180641", "361,270     180641", "'361,270' is not a number"),
        ("fio_3.txt", "(403MB/s)", "(503MB/s)", "385 MiB/s are not 479.698 MiB/s"),
        ("fio_3.txt", "jobs=4): err= 0", "jobs=4): err= 5", "the job 'randread' ended with error 5"),
        ("fio_json_3.txt", '"error" : 0', '"error" : 5', "the job 'randread' ended with error 5"),
        ("fio_json_3.txt", '"max" : 22010122', '"max" : 22010122, "max" : 880012', "'max' has two values"),
        ("fio_json_3.txt", '"99.000000" : 2211840', '"99.000000" : 29211840', "22010122 ns, is below its mean or a percentile"),
        ("fio_json_3.txt", '"bw" : 393209', '"bw" : 402646', "402646 KiB/s are not 402646473 B/s"),
        ("fio_terse.txt", ";77968;7796;", ";77968;9796;", "line 1: 77968 KiB in 10001 ms are not 9796 KiB/s"),
        ("sockperf_throughput.txt", "34.716 Mbps", "4.339 Mbps", "not eight times the bytes"),
        ("netperf_udp_stream.txt", " 26022634      0 ", " 26022634 ", "has 7 columns instead of 6"),
        ("iperf3_tcp.txt", "13.9 GBytes  11.9 Gbits", "13.9 GBytes  11.9 Mbits", "not the amount of data"),
        ("iperf3_streams.txt", "[SUM]", "[XXX]", "the sum of 2 streams is missing"),
        ("iperf3_json.txt", '"bytes":	209486848', '"bytes":	20948684', "not the amount of data"),
        ("iperf3_json.txt", '"intervals":', '"error":	"the server is busy",\n"intervals":', "iperf3 says: the server is busy"),
    ],
)  # fmt: skip
def test_a_contradiction_in_an_output_is_refused_with_its_reason(file: str, old: str, new: str, reason: str) -> None:
    text = output(file)
    assert old in text
    changed = read(text.replace(old, new))
    assert any(reason in problem for problem in changed.problems), changed.problems
    printed = [(v.kernel, v.metric, v.statistic, v.value) for v in read(text).values]
    rest = [(v.kernel, v.metric, v.statistic, v.value) for v in changed.values]
    assert len(rest) < len(printed)
    assert set(rest) < set(printed)


@pytest.mark.parametrize("file", ["io500.txt", "io500_scripts.txt", "io500_result.txt"])
def test_results_of_io500_that_are_in_a_file_twice_count_once(file: str) -> None:
    assert read(f"{output(file)}\n{output(file)}").values == read(output(file)).values


def test_the_score_of_io500_is_in_the_unit_of_its_results() -> None:
    """A version prints "GB/s" beside the mean of results in GiB/s."""
    (score,) = (v for v in read(output("io500_gb.txt")).values if v.statistic == "geometric mean" and v.unit == "B/s")
    assert score.value == pytest.approx(102.538088 * 2**30)


def test_mdtest_distinguishes_runs_by_their_options_and_prints_the_month_first() -> None:
    result = read(output("mdtest_1.txt"))
    means = [v for v in result.values if (v.kernel, v.statistic) == ("directory_creation", "mean")]
    assert [(v.value, v.parameters["options"]) for v in means] == [
        (100.331, "-v -I 32 -z 0 -b 0"),
        (25485.108, "-v -I 32 -z 0 -b 0 -u"),
    ]
    assert result.started.startswith("2018-12-31")


def test_the_heading_of_mdtest_names_its_columns() -> None:
    text = output("mdtest_1.txt")
    means = text.replace("Max            Min           Mean", "Mean           Min            Max")
    swapped = re.sub(r"^(   \w+ \w+ *: +)(\S+)( +\S+ +)(\S+)( +\S+)$", r"\1\4\3\2\5", means, flags=re.MULTILINE)
    assert means != text != swapped
    assert read(swapped).values == read(text).values
    assert {v.statistic for v in read(means).values} == {"one run"}


def test_mdtest_per_rank_is_another_metric_than_that_of_all_ranks() -> None:
    for metric, mean in (("rate", 11740.512), ("rate_per_rank", 2950.117)):
        rates = values("mdtest_4_ranks.txt", metric)
        assert mean in [v.value for v in rates if (v.kernel, v.statistic) == ("directory_creation", "mean")]


def test_ior_has_each_repetition_of_a_test_with_its_own_parameters() -> None:
    writes = [v for v in values("ior_2.txt", "bandwidth") if (v.kernel, v.statistic) == ("write", "one run")]
    assert [v.value for v in writes] == [pytest.approx(612.40 * 2**20), pytest.approx(600 * 2**20)]
    assert [v.repetition for v in writes] == [0, 1]
    assert {(v.parameters["ranks"], v.parameters["transfer_bytes"]) for v in writes} == {(16, 2**20)}


def test_ior_as_json_has_the_keys_that_it_repeats() -> None:
    doubled = output("ior_json.txt").replace('"TestID": 0,', '"TestID": 0, "TestID": 0,')
    writes = [v for v in read(doubled).values if (v.kernel, v.metric, v.statistic) == ("write", "rate", "one run")]
    assert [v.value for v in writes] == [1031.55, 1001.55]
    assert {(v.parameters["ranks"], v.parameters["block_bytes"]) for v in writes} == {(4, 64 * 2**20)}


def test_a_kilobyte_of_fio_2_has_1024_bytes() -> None:
    for file in ("fio_2.txt", "fio_json_2.txt"):
        assert [v.value for v in values(file, "bandwidth")] == [68118 * 1024]


def test_fio_may_count_in_bits() -> None:
    text = output("fio_3.txt")
    bits = re.sub(r"BW=385MiB/s \(403MB/s\)", "BW=3080Mibit/s (3224Mbit/s)", text)
    assert bits != text
    assert read(bits).values == read(text).values


def test_fio_may_report_reads_and_writes_together() -> None:
    mixed = read(output("fio_3.txt").replace("  read: IOPS", "  mixed: IOPS")).values
    assert {v.kernel for v in mixed} == {"mixed", "write"}
    assert [v.value for v in mixed] == [v.value for v in read(output("fio_3.txt")).values]


def test_terse_lines_of_fio_have_a_third_direction_from_version_4_on() -> None:
    fields = output("fio_terse.txt").split(";")
    trims = ["64", "32", "8", "2000", *["0"] * 8, *["0%=0"] * 20, *["0"] * 6, "0.0%", "0", "0"]
    newer = ";".join(["4", *fields[1:87], *trims, *fields[87:]])
    old, new = read(output("fio_terse.txt")).values, read(newer).values
    assert [v for v in new if v.kernel != "trim"] == list(old)
    assert [v.value for v in new if v.kernel == "trim"] == [32 * 1024, 8]


def interim(report: str, seconds: int) -> str:
    """The report that fio prints so many seconds before the end."""
    ended = re.search(r"pid=\d+: (.*)", report)
    assert ended
    date = (datetime.strptime(ended[1], FIO_DATE) - timedelta(seconds=seconds)).strftime(FIO_DATE)
    early = re.sub(r"/(\d+)msec\)", lambda run: f"/{int(run[1]) - 1000 * seconds}msec)", report)
    return early.replace(ended[1], date).replace("IOPS=98.5k", "IOPS=97.5k")


def test_interim_reports_of_fio_are_no_samples() -> None:
    text = output("fio_3.txt")
    report = text[text.index("randread: (groupid") : text.index("seqwrite: (groupid")]
    assert read(text.replace(report, interim(report, 30) + interim(report, 10) + report)).values == read(text).values
    again = report.replace("60001msec", "60002msec").replace("2019", "2020")  # another run of the same process number
    assert len(read(text + again).values) == len(read(text).values) + len(read(again).values)


def fio_object() -> dict[str, Any]:
    text = output("fio_json_3.txt")
    content: dict[str, Any] = json.JSONDecoder().raw_decode(text, text.index("{"))[0]
    return content


def test_interim_reports_of_fio_as_json_are_no_samples() -> None:
    last, early = fio_object(), fio_object()
    early["timestamp"] -= 30
    early["jobs"][0]["read"]["runtime"] -= 30_000
    both = read(f"{json.dumps(early)}\n{json.dumps(last)}\n")
    assert [v.value for v in both.values] == [v.value for v in read(output("fio_json_3.txt")).values]


def test_clients_of_fio_have_hosts_of_their_own() -> None:
    content = fio_object()
    (job,) = content.pop("jobs")
    content["client_stats"] = [job | {"hostname": host} for host in ("node1", "node2")]
    content["client_stats"].append(job | {"hostname": "node2", "jobname": "All clients"})
    result = read(json.dumps(content) + "\n")
    assert {(v.host, v.parameters["job"]) for v in result.values} == {
        ("node1", "randread"), ("node2", "randread"), ("", "All clients")
    }  # fmt: skip


def test_terse_lines_beside_the_text_of_fio_are_not_read_again() -> None:
    text = output("fio_3.txt")
    terse = output("fio_terse.txt")
    assert read(text + terse.replace(";16k-1-read;", ";randread;")).values == read(text).values
    assert len(read(text + terse).values) == len(read(text).values) + len(read(terse).values)


def test_a_score_may_stand_before_the_end_of_a_block() -> None:
    text = output("io500.txt").replace("TOTAL 153.386640", "TOTAL 153.386640```")
    assert read(text).values == read(output("io500.txt")).values


@pytest.mark.parametrize(
    ("file", "metric", "word"),
    [("sockperf_tcp.txt", "latency", "half"), ("sockperf_round_trip.txt", "round_trip", "whole"),
     ("sockperf_full_log.txt", "round_trip", "whole")],
)  # fmt: skip
def test_sockperf_says_whether_a_latency_is_a_whole_round_trip(file: str, metric: str, word: str) -> None:
    found = read(output(file)).values
    assert {v.metric for v in found} == {metric}
    assert all(word in v.note for v in found)
    assert {"mean", "p99", "least", "greatest"} <= {v.statistic for v in found}


def test_percentiles_of_sockperf_alone_may_be_those_of_half_round_trips() -> None:
    rows = [line for line in output("sockperf_full_log.txt").splitlines() if "--->" in line]
    assert not read("\n".join(rows) + "\n").values


def test_each_run_of_sockperf_has_the_size_of_its_own_command() -> None:
    run = output("sockperf_round_trip.txt")
    text = "".join(
        f"$ sockperf pp -m {size} -i 10.0.0.1\n{run[run.index('sockperf[CLIENT]') :]}" for size in (64, 1400)
    )
    assert [v.parameters["message_bytes"] for v in read(text).values if v.statistic == "median"] == [64, 1400]


def test_sockperf_prints_mebibytes_as_megabytes() -> None:
    (bandwidth,) = values("sockperf_throughput.txt", "bandwidth")
    assert bandwidth.value == 4.339 * 2**20
    assert bandwidth.value == pytest.approx(325020 * 14, rel=1e-3)


def test_netperf_and_iperf3_tell_sender_from_receiver() -> None:
    for file, sent, received in (("netperf_udp_stream.txt", 22728.8e6, 0.1e6), ("iperf3_tcp.txt", 11.9e9, 11.9e9)):
        for operation, rate in (("sent", sent), ("received", received)):
            assert [v.value for v in values(file, "bandwidth", operation=operation)] == [pytest.approx(rate / 8)]


def test_netperf_wraps_the_heading_of_its_results() -> None:
    text = output("netperf.txt")
    wide = text.replace("Percentile\nLatency", "Percentile Latency").replace("\nMicroseconds", " Microseconds")
    wide = wide.replace("Latency\nMicroseconds", "Latency Microseconds")
    assert wide != text
    assert read(wide).values == read(text).values
    assert [v.value for v in values("netperf.txt", "round_trip") if v.statistic == "p99"] == [pytest.approx(589e-6)]


def test_iperf3_has_the_sum_of_its_streams_only() -> None:
    rates = values("iperf3_streams.txt", "bandwidth")
    assert [(v.value, v.parameters["streams"]) for v in rates] == [(pytest.approx(47.6e9 / 8), 2)] * 2


def test_retransmissions_of_iperf3_are_a_count_in_both_forms() -> None:
    for file in ("iperf3_json.txt", "iperf3_tcp.txt"):
        assert {v.statistic for v in values(file, "retransmissions")} == {"one run"}


def test_a_sum_of_iperf3_without_its_streams_has_no_number_of_them() -> None:
    head = "[ ID] Interval           Transfer     Bitrate         Retr\n"
    one = "[  5]   0.00-10.00  sec  2.00 GBytes  1.72 Gbits/sec    7             sender\n"
    other = "[  7]   0.00-10.00  sec  1.00 GBytes   859 Mbits/sec    3             sender\n"
    both = "[SUM]   0.00-10.00  sec  3.00 GBytes  2.58 Gbits/sec   10             sender\n"
    for rows, streams in ((both * 2, None), (one + both, None), (one + other + both, 2), (one, 1)):
        found = [v for v in read(head + rows).values if v.metric == "bandwidth"]
        assert {v.parameters.get("streams") for v in found} == {streams}
        assert len(found) == rows.count(both) or streams == 1


def test_the_last_rows_of_iperf3_need_no_heading() -> None:
    rows = "[  4]   0.00-20.00  sec  4.00 GBytes  1.72 Gbits/sec                  receiver\n"
    assert [v.value for v in read(f"```\n{rows}```\n").values] == [1.72e9 / 8]


NETPERF_RATE = """Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  131072 1        1       10.00    8123.40
"""
NETPERF_LATENCY = """Mean         Transaction
Latency      Rate
Microseconds Tran/s

88.25        11331.250
"""


@pytest.mark.parametrize("table", [NETPERF_RATE, NETPERF_LATENCY])
@pytest.mark.parametrize("kind", ["TCP_RR", "UDP_RR"])
def test_the_command_names_a_test_of_netperf_whose_title_is_missing(table: str, kind: str) -> None:
    assert {v.kernel for v in read(f"$ netperf -H node2 -t {kind} -l 10\n{table}").values} == {kind.lower()}


@pytest.mark.parametrize("command", ["netperf -H node2", "netperf -H node2 -t TCP_MAERTS"])
def test_a_command_of_netperf_that_does_not_fit_its_table_is_refused(command: str) -> None:
    result = read(f"$ {command}\n{NETPERF_RATE}")
    assert not result.values
    assert "prints no table with the unit /s" in result.problems[0]


def test_the_greatest_bandwidths_of_ior_may_stand_alone() -> None:
    result = read(
        "$ grep Max ior.log\nMax Write: 500.00 MiB/sec (524.29 MB/sec)\nMax Read:  250.00 MiB/sec (262.14 MB/sec)\n"
    )
    assert {(v.kernel, v.value, v.statistic) for v in result.values} == {
        ("write", 500 * 2**20, "best"),
        ("read", 250 * 2**20, "best"),
    }


IOR_TEST = """\
IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Command line        : ior -a POSIX {flags}-t 1m -b 16m -o /scratch/file
TestID              : 0
Options:
api                 : POSIX
ordering inter file : {order}
tasks               : 8
repetitions         : 1
xfersize            : 1 MiB
Results:
access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
write     {rate}     16384      1024.00    0.001      0.250      0.001      0.252      0
"""


def test_tests_of_ior_with_other_options_are_other_cases() -> None:
    orders = ("no tasks offsets", "", 500), ("constant task offset", "", 510), ("no tasks offsets", "-we -B ", 90)
    text = "".join(IOR_TEST.format(order=order, flags=flags, rate=rate) for order, flags, rate in orders)
    mdtest = "Command line used: mdtest '-n' '64' '-e' '4096'\n"
    writes = [v for v in read(text + mdtest).values if v.metric == "bandwidth"]
    assert [v.repetition for v in writes] == [0, 0, 0]
    assert [v.parameters.get("options") for v in writes] == [None, None, "-B -e"]
    assert [v.parameters.get("order_of_ranks") for v in writes] == [None, "constant task offset", None]


def test_commands_of_ior_tell_tests_without_options_apart() -> None:
    table = "access    bw(MiB/s)  IOPS\nread      {}     {}\n\n"
    text = f"$ mpirun -np 4 ./ior -t 1m -i 2 -o /tmp/f\n{table}$ mpirun -np 4 ./ior -t 1m -C -o /tmp/f\n{table}"
    reads = [v for v in read(text.format("800.50", "801", "300.25", "301")).values if v.metric == "bandwidth"]
    assert [v.parameters for v in reads] == [{"options": "-t 1m"}, {"options": "-t 1m -C"}]


def test_a_summary_of_ior_without_its_options_names_them_in_its_row() -> None:
    heading = "Operation Max(MiB) Min(MiB) Mean(MiB) StdDev Mean(s) Test# #Tasks tPN reps segcnt blksiz xsize aggsize API RefNum"
    row = "write 900.00 800.00 850.00 50.00 8.5 0 16 4 2 1 16777216 1048576 268435456 POSIX 0"
    sizes = {"ranks": 16, "transfer_bytes": 2**20, "block_bytes": 2**24, "segments": 1}
    assert [v.parameters for v in read(f"{heading}\n{row}\n").values] == [{"api": "POSIX", **sizes}] * 3


def test_an_output_of_ior_may_be_indented_unevenly() -> None:
    plain = IOR_TEST.format(order="no tasks offsets", flags="", rate=500)
    page = "# Results\n   $ mkdir /scratch\n" + "".join(f"      {line}\n" for line in plain.splitlines())
    assert [v.value for v in read(page).values] == [v.value for v in read(plain).values] != []


def test_two_results_of_io500_have_ranks_of_their_own() -> None:
    text = "".join(
        f"; START 2024-05-0{day} 10:00:00\nconfig-hash     = 7E6C\nprocs           = {ranks}\n"
        f"[ior-easy-write]\nscore           = {rate}\nt_delta         = 301.0\n"
        for day, ranks, rate in ((1, 16, "2.5"), (2, 64, "7.5"))
    )
    found = [(v.parameters["ranks"], v.value / 2**30) for v in read(text).values if v.metric == "bandwidth"]
    assert found == [(16, 2.5), (64, 7.5)]


def test_io500_may_abbreviate_seconds() -> None:
    values = read("[RESULT]       ior-easy-write       12.500 GiB/s  : time 301.25 s\n").values
    assert [(v.metric, v.value) for v in values] == [("bandwidth", 12.5 * 2**30), ("time", 301.25)]


def test_rates_of_single_ranks_are_known_by_the_colons_of_old_mdtest() -> None:
    for colon, noted in ((":", True), (" ", False)):
        text = f"""SUMMARY rate: (of 2 iterations)
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
   File creation             {colon}       2000.500       1000.500       1500.500        500.000
"""
        assert {bool(v.note) for v in read(text).values} == {noted}


def test_jobs_of_fio_with_one_name_have_patterns_of_their_own() -> None:
    def report(group: int, rate: int) -> str:
        head = f"disk: (groupid={group}, jobs=1): err= 0: pid={rate}: Sun Jun 12 14:50:57 2016\n"
        return f"{head}  mixed: io=10MB, bw={rate}KB/s, iops=5, runt= 9msec\n"

    setups = "disk: (g=0): rw=write, bs=4K-4K\ndisk: (g=1): rw=randread, bs=4K-4K\n"
    again = "disk: (g=0): rw=read, bs=4K-4K\n"
    text = setups + report(0, 100) + report(1, 200) + again + report(0, 300)
    found = {v.value / 1024: v.parameters["pattern"] for v in read(text).values if v.metric == "bandwidth"}
    assert found == {100: "write", 200: "randread", 300: "read"}


def test_jobs_of_fio_with_one_name_differ_in_block_depth_and_engine() -> None:
    report = (
        "test: (g=0): rw=randread, bs={}, ioengine={}, iodepth={}\n"
        "test: (groupid=0, jobs=1): err= 0: pid={}: Sun Jun 12 14:50:57 2016\n"
        "  read: IOPS=200, BW={}KiB/s ({}kB/s)(8MiB/9msec)\n"
    )
    four, mega = "(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B", "1M-1M/1M-1M/1M-1M"
    mixed = "(R) 4096B-8192B, (W) 4096B-8192B, (T) 4096B-8192B"
    runs = (four, "libaio", 1), (four, "libaio", 32), (mega, "psync", 1), (mixed, "psync", 1)
    text = "".join(report.format(*run, at, 1000 * at, 1024 * at) for at, run in enumerate(runs, 1))
    found = [v.parameters for v in read(text).values if v.metric == "bandwidth"]
    blocks = [(4096, "libaio", 1), (4096, "libaio", 32), (2**20, "psync", 1), (mixed, "psync", 1)]
    assert [(p["block"], p["engine"], p["depth"]) for p in found] == blocks


def test_options_of_fio_that_change_what_is_measured_are_parameters() -> None:
    content = fio_object()
    content["jobs"][0]["job options"] = {"direct": "1", "rwmixread": "70", "fsync": "8"}
    parameters = read(json.dumps(content, indent=1)).values[0].parameters
    assert (parameters["direct"], parameters["read_percent"], parameters["fsync"]) == (1, 70, 8)


@pytest.mark.parametrize(("printed", "block"), [("4k", 4096), ("1M", 2**20), ("512", 512), ("4k,64k", "4k,64k")])
def test_a_block_of_fio_as_json_has_1024_bytes_for_a_k(printed: str, block: int | str) -> None:
    content = fio_object()
    content["jobs"][0]["job options"] = {"bs": printed}
    content.pop("global options", None)
    values = read(json.dumps(content, indent=1)).values
    assert {v.parameters["block"] for v in values} == {block}


def test_the_sum_of_iperf3_counts_where_nothing_is_received_by_its_own_words() -> None:
    received = {"seconds": 10.0, "bytes": 0, "bits_per_second": 0}
    whole = {"seconds": 10.0, "bytes": 12500, "bits_per_second": 10000.0, "jitter_ms": 0.25, "lost_percent": 7.5}
    content = {"start": {"test_start": {"protocol": "UDP"}}, "end": {"sum": whole, "sum_received": received}}
    found = {v.metric: v.value for v in read(json.dumps(content, indent=1)).values}
    assert found == {"bandwidth": 1250.0, "jitter": 0.25e-3, "loss": 0.075}


def test_megabytes_of_netperf_may_stand_apart_from_their_second() -> None:
    text = """TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to node2 () port 0 AF_INET
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    MBytes  /s  % S      % S      us/KB   us/KB

131072  16384  16384    20.00      1150.25   3.41     4.52     0.927   1.229
"""
    assert [v.value for v in read(text).values] == [1150.25 * 2**20]


def test_a_throughput_of_netperf_without_a_unit_is_refused_beside_its_latencies() -> None:
    text = """MIGRATED UDP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to node2 () port 0 AF_INET
Minimum      50th         99th         Throughput
Latency      Percentile   Percentile
Microseconds Latency      Latency
             Microseconds Microseconds
31           44           71           21500.40
"""
    found = read(text)
    assert {v.metric for v in found.values} == {"round_trip"}
    assert {v.statistic: v.value for v in found.values} == pytest.approx(
        {"least": 31e-6, "median": 44e-6, "p99": 71e-6}
    )
    assert "udp_rr: the throughput 21500.40 has no unit" in found.problems[0]


def test_hosts_of_mininet_are_labels() -> None:
    table = NETPERF_RATE.replace("\n\n", "\n")
    labelled = "".join(f"<h7>: {line}\n" for line in f"$ netperf -H node2 -t TCP_RR\n{table}".splitlines())
    assert [v.value for v in read(labelled).values] == [8123.40]


@pytest.mark.parametrize(("share", "loss"), [("1e+02%", 3.96 / 4), ("99%", 0.99), ("12%", None)])
def test_the_loss_of_iperf3_is_that_of_its_counts(share: str, loss: float | None) -> None:
    text = f"""[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-10.00  sec  11.4 KBytes  9.34 Kbits/sec  0.080 ms  396/400 ({share})  receiver
"""
    found = read(text)
    assert [v.value for v in found.values if v.metric == "loss"] == ([] if loss is None else [pytest.approx(loss)])
    assert ("396/400 lost datagrams are not 12 %" in " ".join(found.problems)) == (loss is None)


def test_the_extended_score_of_io500_is_another_case() -> None:
    lines = "[SCORE ] Bandwidth 2.631452 GiB/s : IOPS 59.850429 kiops : TOTAL 12.549643\n"
    lines += "[SCOREX] Bandwidth 1.958556 GiB/s : IOPS 81.864024 kiops : TOTAL 12.662357\n"
    scores = [
        value
        for value in read(output("io500.txt").partition("[SCORE")[0] + lines).values
        if value.benchmark == "io500.score"
    ]
    assert [value.parameters.get("score") for value in scores] == [None] * 3 + ["extended"] * 3


def test_mdtest_with_one_iteration_has_each_rate_once() -> None:
    text = "mdtest-1.9.4-rc1 was launched with 8 total task(s) on 2 node(s)\n"
    text += "V-1:   File stat         :        217.551 sec,      18827.741 ops/sec\n"
    text += "SUMMARY: (of {} iterations)\n   Operation      Max      Min      Mean      Std Dev\n"
    text += "   ---      ---      ---      ---      ---\n"
    text += "   File stat         :      18827.823      18827.823      18827.823          0.000\n"
    assert [value.value for value in read(text.format(1)).values] == [18827.823]
    assert 18827.741 in [value.value for value in read(text.format(2)).values]
