"""What launchers, build servers, mails and wikis write around an output changes no value."""

import html
import json
import quopri
import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from foreign_outputs import every_third, output, read
from steelyard.importing import reading
from steelyard.importing.reading import Reading

FILES = [
    "osu_latency",
    "imb_pingpong",
    "stream",
    "hpl",
    "hpcg_yaml",
    "npb_mpi",
    "nccl_allreduce",
    "gromacs",
    "espresso",
    "fio_3",
]
FRAGILE = FILES.index("hpcg_yaml")  # its indentation has a meaning, so that most faults change its values
MARGINS: dict[str, Callable[[int], str]] = {
    "srun --label": lambda line: "0: ",
    "PALS": lambda line: "x3005c0s13b0n0.hsn.example.org 0: ",
    "Open MPI 4": lambda line: "[1,0]<stdout>:",
    "Open MPI 5": lambda line: "[prterun-node01-4711@1,0]<stdout>: ",
    "GitHub": lambda line: f"2024-05-03T09:{line // 60 % 60:02}:{line % 60:02}.1234567Z ",
    "GitLab": lambda line: f"2024-05-03T09:{line // 60 % 60:02}:{line % 60:02}.123456Z 01O ",
    "Jenkins": lambda line: f"[2024-05-03T09:{line // 60 % 60:02}:{line % 60:02}.123Z] ",
    "journalctl": lambda line: f"Jul  8 09:{line // 60 % 60:02}:{line % 60:02} node17 bench[1310]: ",
    "logging of Python": lambda line: f"2024-05-03 09:{line // 60 % 60:02}:{line % 60:02},123 - bench.run - INFO - ",
    "Avocado": lambda line: f"09:{line // 60 % 60:02}:{line % 60:02} DEBUG| [stdout] ",
    "the timestamper of Jenkins": lambda line: f"[09:{line // 60 % 60:02}:{line % 60:02}] ",
    "grep in a file": lambda line: "runs/17/job.out:",
    "ts": lambda line: f"May 13 09:{line // 60 % 60:02}:{line % 60:02} ",
    "Docker Compose with numbers": lambda line: "bench-1  | ",
    "Kubernetes": lambda line: "[pod/bench-worker-0/bench] ",
    "a comment in C++": lambda line: "// ",
    "pdsh": lambda line: "node17: ",
    "kubectl logs --prefix": lambda line: "[pod/bench/run] ",
    "Docker Compose": lambda line: "bench | ",
    "a comment in C": lambda line: " * ",
    "the indentation of a block": lambda line: "      ",
    "a mail": lambda line: "> ",
    "a mail in a mail": lambda line: ">> ",
}  # fmt: skip


OTHERS = [
    "fio_2", "fio_json_3", "google_benchmark", "hyperfine", "imb_parts", "io500", "ior_2", "ior_json", "iperf3_streams",
    "mdtest_4_ranks", "mpptest_cit", "netperf", "osu_7", "perftest_others", "rccl_allreduce", "reframe_2", "reframe_4_csv",
    "reframe_screen_3", "sockperf_tcp",
]  # fmt: skip
CUT = [
    "babelstream.csv", "fio_3", "gpustream_2", "io500", "io500_result", "ior_2", "iperf3_streams", "likwid_perfctr",
    "lmbench_summary_2", "mdtest_4_ranks", "mlc_3_1", "mlc_matrix", "netperf_keys", "netperf_table", "netperf_udp_stream",
    "nvbandwidth_0_10", "reframe_2", "reframe_4_csv", "sockperf_tcp", "sockperf_throughput", "stream_rms", "stress_ng_metrics",
    "sysbench_0_4",
]  # fmt: skip


def content(file: str) -> str:
    return output(f"{file}.txt").rstrip("\n") + "\n"


def cases(result: Reading) -> Counter[tuple[object, ...]]:
    def each() -> Iterator[tuple[object, ...]]:
        for value in result.values:
            about = tuple(sorted(value.parameters.items()))
            yield value.benchmark, value.metric, value.statistic, value.value, value.unit, value.repetition, about

    return Counter(each())


@pytest.mark.parametrize(
    ("margin", "file"),
    [
        pytest.param(margin, file, marks=[pytest.mark.long] * (place not in {at % len(FILES), FRAGILE}))
        for at, margin in enumerate(MARGINS)
        for place, file in enumerate(FILES)
    ],
)
def test_the_margin_of_lines_changes_no_value(margin: str, file: str) -> None:
    lines = content(file).splitlines(keepends=True)
    marked = "".join(MARGINS[margin](at) + line for at, line in enumerate(lines))
    before = "" if "mail" in margin else "Job 17 begins\n"
    assert cases(read(f"{before}{marked}")) == cases(read(content(file)))


@pytest.mark.parametrize("file", every_third([*FILES, *OTHERS]))
def test_what_editors_and_launchers_change_alters_no_value(file: str) -> None:
    text = content(file)
    ends = (text.replace("\n", "\r\n"), text.replace("\n", "   \n"))
    for changed in (*ends, f"\ufeff{text}", "Loading module gcc/12\n" * 3 + text + "\nJob finished: 0\n"):
        assert cases(read(changed)) == cases(read(text))


@pytest.mark.parametrize("file", every_third(CUT, 1))
def test_a_cut_file_has_no_shortened_numbers(file: str) -> None:
    text = output(f"{file}.txt")
    whole = {(v.benchmark, v.kernel, v.metric, v.value, v.statistic) for v in read(text).values}
    for end in range(len(text) - 1, 0, -max(1, len(text) // 25)):
        found = {(v.benchmark, v.kernel, v.metric, v.value, v.statistic) for v in read(text[:end]).values}
        assert found <= whole, text[:end][-40:]


@pytest.mark.parametrize("file", every_third([*FILES, "sockperf_tcp", "stress_ng_metrics"]))
def test_an_encoded_mail_changes_no_value(file: str) -> None:
    quoted = content(file).replace("\n", "\n> ").encode()
    mail = b"Content-Transfer-Encoding: quoted-printable\n\n> " + quopri.encodestring(quoted)
    assert cases(reading.read(mail, reading.find_formats())) == cases(read(content(file)))


@pytest.mark.parametrize("file", every_third([file for file in FILES if file != "gromacs"], 1))
def test_a_page_of_html_changes_no_value(file: str) -> None:
    page = html.escape(content(file)).replace("  ", "&nbsp; ").replace("\n", "<br>\n")
    assert cases(read(f"<p>{page}</p>\n")) == cases(read(content(file)))


@pytest.mark.parametrize("file", every_third(FILES, 2))
def test_the_lines_of_a_notebook_change_no_value(file: str) -> None:
    lines = ",\n".join(f"    {json.dumps(line)}" for line in content(file).splitlines(keepends=True))
    assert cases(read(f'{{"text": [\n{lines}\n]}}\n')) == cases(read(content(file)))


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("file", every_third([*FILES, "hyperfine_screen", "stress_ng_misc", "sysbench_cpu"]))
def test_an_output_in_a_string_of_json_is_read(file: str, ascii_only: bool) -> None:
    record = json.dumps({"job": 17, "stdout": content(file)}, ensure_ascii=ascii_only)
    assert cases(read(f"{record}\n")) == cases(read(content(file)))


def test_a_comment_of_a_program_puts_no_value_into_another_test() -> None:
    text = content("sysbench_cpu")
    assert cases(read(re.sub("^", "# ", text, flags=re.MULTILINE))) == cases(read(text))


def test_a_table_with_an_empty_line_behind_each_row_is_read() -> None:
    text = content("osu_latency")
    assert cases(read(text.replace("\n", "\n\n"))) == cases(read(text))


def test_lines_of_several_hosts_are_not_mixed() -> None:
    lines = content("osu_latency").splitlines(keepends=True)
    assert not read("".join(f"node1: {line}node2: {line}" for line in lines)).values


def test_bold_numbers_of_a_wiki_are_read() -> None:
    text = content("sockperf_tcp")
    assert cases(read(re.sub(r"= *(\S+)\n", r"= **\1**\n", text))) == cases(read(text))


@pytest.mark.parametrize("mark", ["# ", "// "])
def test_an_output_in_the_comments_of_a_program_is_read(mark: str) -> None:
    text = content("ior_4")
    program = "import os\n" * text.count("\n") * 2
    assert cases(read(f"{program}{re.sub('^', mark, text, flags=re.MULTILINE)}\n{program}")) == cases(read(text))


def test_an_output_before_the_first_banner_is_read() -> None:
    text = content("ior_4")
    cut = text[text.index("Results:") :]
    assert len(read(cut + text).values) == len(read(cut).values) + len(read(text).values)


@pytest.mark.parametrize("file", every_third(FILES))
def test_an_output_in_an_indented_block_keeps_its_parameters(file: str) -> None:
    block = re.sub("^(?=.)", "    ", content(file), flags=re.MULTILINE)
    assert cases(read(f"The log of the job:\n\n{block}\nIt ended.\n")) == cases(read(content(file)))


@pytest.mark.parametrize("margin", ["> ", "    "])
def test_each_output_of_a_file_is_read_in_its_own_form(margin: str) -> None:
    quoted, plain = content("npb_mpi"), content("osu_latency")
    text = f"{plain}Another run:\n\n{re.sub('^', margin, quoted, flags=re.MULTILINE)}\n"
    assert cases(read(text)) == cases(read(plain)) + cases(read(quoted))


@pytest.mark.parametrize("file", every_third(FILES, 2))
def test_a_block_of_a_wiki_may_be_indented(file: str) -> None:
    lines = ["```", *content(file).splitlines(), "```"]
    page = "\n".join(["1. Run it:", "", *(f"   {line}" for line in lines), "", "2. Go on.", ""])
    assert cases(read(page)) == cases(read(content(file)))


def test_a_value_that_a_mail_quotes_twice_counts_once() -> None:
    quoted = "".join(f"> {line}" for line in content("osu_latency").splitlines(keepends=True))
    again = "".join(f"> {line}" for line in quoted.splitlines(keepends=True))
    assert cases(read(f"{quoted}\nSame here.\n{again}")) == cases(read(content("osu_latency")))


def test_tags_of_html_join_no_numbers() -> None:
    page = "<pre># OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n<td>1</td><td>2</td> 3.50</pre><br>\n"
    assert not read(page).values


@pytest.mark.parametrize("margin", ["PALS", "GitHub", "Docker Compose with numbers"])
def test_labels_of_one_program_among_others_change_no_value(margin: str) -> None:
    first, second = content("hpl"), content("osu_latency")
    labelled = "".join(MARGINS[margin](at) + line for at, line in enumerate(second.splitlines(keepends=True)))
    assert cases(read(first + labelled)) == cases(read(first)) + cases(read(second))


# --------------------------------------------------------------------------- several programs in the log of a job


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("osu_mbw_mr", "mlc_3_1"),  # a table of MLC has as many columns
        ("imb_biband", "mlc_3_11"),
        ("imb_pingpong", "linpack"),  # Linpack prints "Number of threads: 8"
        ("linpack", "imb_parts"),  # the groups of IMB begin with three whole numbers, like the summary of Linpack
        ("hpl_ai_refined", "hpl_several"),  # the first one has a column of refined speeds
        ("hpcg_nvidia", "hpcg_keys"),
        ("minife", "hpcg_lines"),  # both name the sizes nx, ny and nz
        ("gromacs_own", "gromacs_4"),
    ],
)
def test_a_program_takes_nothing_of_another_one(first: str, second: str) -> None:
    both = cases(read(content(first) + "+ mpirun ./second\n" + content(second)))
    assert both == cases(read(content(first))) + cases(read(content(second)))


def test_an_output_in_a_string_of_json_is_read_once() -> None:
    output = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n0             1.25\n8             1.31\n"
    other = "# Size          Latency (us)\n16                       9.99\n"
    found = read(json.dumps({"rc": 0, "stdout": output, "log": other, "again": output}, indent=2))
    assert [v.value for v in found.values] == pytest.approx([1.25e-6, 1.31e-6])
    damaged = read(json.dumps({"stdout": output + "16    1,40\n"}))
    assert "in its strings: OSU micro-benchmarks: line 5" in damaged.problems[0]


def test_an_output_in_comments_without_a_blank_is_read() -> None:
    lines = content("hpl").splitlines()
    assert cases(read("\n".join(f"#{line}" for line in lines) + "\n")) == cases(read(content("hpl")))


def test_an_output_in_the_items_of_a_list_is_read() -> None:
    found = read(
        "# System calls\n* getpid\n\t* Simple syscall: 0.0620 microseconds\n\t* Simple write: 0.0910 microseconds\n"
    )
    assert [v.value for v in found.values] == pytest.approx([62e-9, 91e-9])
